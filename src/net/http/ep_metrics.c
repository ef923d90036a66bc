/* ep_metrics.c - /metrics of the health port: the counters of net/metric.def as Prometheus reads them. */
#include "base/conf.h"
#include "net/http/http.h"
#include "net/shared.h"

typedef struct metric {
    const char *name, *kind, *doc;
    size_t offset; /* in alm_net_shared */
} metric;

static const metric METRICS[] = {
#define ALM_METRIC(kind, field, name, doc) {name, #kind, doc, offsetof(alm_net_shared, field)},
#include "net/metric.def"
#undef ALM_METRIC
};

static alm_status put(alm_ctx *cx, const alm_net_shared *shared, const metric *m, alm_buf *out)
{
    const char *end = strcmp(m->kind, "counter") == 0 ? "_total" : "";
    const _Atomic int64_t *value =
        (const _Atomic int64_t *)(const void *)((const char *)shared + m->offset);
    return alm_buf_printf(cx, out, "# HELP %s%s %s\n# TYPE %s%s %s\n%s%s %lld\n\n", m->name, end,
                          m->doc, m->name, end, m->kind, m->name, end,
                          (long long)atomic_load_explicit(value, memory_order_relaxed));
}

void alm_http_metrics(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_status st = ALM_OK;
    for (size_t i = 0; st == ALM_OK && i < ALM_COUNT(METRICS); i++)
        st = put(&h->cx, shared, &METRICS[i], &out);
    if (st == ALM_OK)
        alm_http_reply(h, 200, "text/plain; version=0.0.4; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(h, 503, "out of memory");
    alm_buf_deinit(&out);
}
