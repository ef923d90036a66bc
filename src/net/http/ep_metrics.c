/*
 * ep_metrics.c - /metrics of the health port: the rows of net/metric.def as Prometheus reads them (text format
 * 0.0.4): a family is its HELP, its TYPE and its samples; families are apart by an empty line.
 */
#include "base/conf.h"
#include "io/process.h"
#include "net/http/exchange/http.h"
#include "net/http/query/held.h"
#include "net/shared.h"
#include "session/access/login.h"

/* What all rows are computed from, taken once for an answer. */
typedef struct sample {
    const alm_net_shared *net;
    const alm_traffic *http, *pg, *line, *health;
    const struct alm_conf *conf;
    alm_process_use process;
    alm_io_map_counts maps;
    int64_t ram_bytes, processors;
    alm_storage_stats storage;
    const alm_storage_counters *stored;
    const alm_times *syncs, *checkpoints, *merges, *statements;
    alm_backup_status backup;
    alm_scrub_status scrub;
    const alm_mem *queries;
    alm_db_load load;
    alm_held_stats held;
    alm_oidc_counts oidc;      /* zeros: there is no provider */
    const alm_counter *errors; /* by alm_status */
    struct {
        int64_t started, completed, errors, parsed, parsed_before, rows;
    } by[ALM_BY_COUNT];
    int64_t unhandled, suspended, mem_used;
} sample;

static void take_sample(alm_http *http, sample *reading)
{
    alm_db *db = alm_conn_db(http->conn);
    alm_storage *storage = alm_db_storage(db);
    const alm_db_counters *counters = alm_db_counters_of(db);
    const alm_net_shared *net = alm_conn_arg(http->conn);
    *reading = (sample){.net = net,
                        .http = &net->traffic[ALM_NET_HTTP],
                        .pg = &net->traffic[ALM_NET_PG],
                        .line = &net->traffic[ALM_NET_LINE],
                        .health = &net->traffic[ALM_NET_HEALTH],
                        .conf = http->cx.conf,
                        .stored = alm_storage_counters_of(storage),
                        .statements = &counters->statements,
                        .errors = counters->errors,
                        .queries = alm_db_memory(db),
                        .unhandled = alm_db_unhandled_errors(db)};
    reading->syncs = &reading->stored->log_syncs;
    reading->checkpoints = &reading->stored->checkpoints;
    reading->merges = &reading->stored->merges;
    for (int i = 0; i < ALM_BY_COUNT; i++) {
        reading->by[i].started = alm_counted(&counters->by[i].started);
        reading->by[i].completed = alm_counted(&counters->by[i].completed);
        reading->by[i].errors = alm_counted(&counters->by[i].errors);
        reading->by[i].parsed = alm_counted(&counters->by[i].parsed);
        reading->by[i].parsed_before = alm_counted(&counters->by[i].parsed_before);
        reading->by[i].rows = alm_counted(&counters->by[i].rows);
    }
    alm_process_use_get(&reading->process);
    alm_io_posix()->map_counts(alm_io_posix(), &reading->maps);
    reading->ram_bytes = alm_db_ram_bytes(db);
    reading->processors = alm_db_processors(db);
    alm_storage_stats_get(storage, &reading->storage);
    alm_storage_backup_status(storage, &reading->backup);
    alm_storage_scrub_status(storage, &reading->scrub);
    alm_db_load_get(db, &reading->load);
    alm_held_stats_get(net->held, reading->conf, &reading->held);
    if (alm_login_oidc(db) != NULL)
        alm_oidc_counts_get(alm_login_oidc(db), &reading->oidc);
    reading->suspended = reading->storage.read_only ? reading->storage.tables : 0;
    reading->mem_used = reading->queries->used_bytes + reading->storage.head_bytes;
}

/* ----------------------------------------------------------------------- rows */

typedef enum metric_kind {
    KIND_counter,
    KIND_gauge,
    KIND_counter_seconds,
    KIND_gauge_seconds,
    KIND_times,
    KIND_codes
} metric_kind;

static const struct {
    const char *type, *end; /* as Prometheus calls it; behind the name */
} KINDS[] = {[KIND_counter] = {"counter", "_total"},
             [KIND_gauge] = {"gauge", ""},
             [KIND_counter_seconds] = {"counter", "_total"},
             [KIND_gauge_seconds] = {"gauge", ""},
             [KIND_times] = {"histogram", ""},
             [KIND_codes] = {"counter", "_total"}};

typedef union metric_value {
    int64_t number;
    const alm_times *times;
    const alm_counter *codes;
} metric_value;

#define TAKE_counter(value)                                                                        \
    (metric_value)                                                                                 \
    {                                                                                              \
        .number = (value)                                                                          \
    }
#define TAKE_gauge(value)                                                                          \
    (metric_value)                                                                                 \
    {                                                                                              \
        .number = (value)                                                                          \
    }
#define TAKE_counter_seconds(value)                                                                \
    (metric_value)                                                                                 \
    {                                                                                              \
        .number = (value)                                                                          \
    }
#define TAKE_gauge_seconds(value)                                                                  \
    (metric_value)                                                                                 \
    {                                                                                              \
        .number = (value)                                                                          \
    }
#define TAKE_times(value)                                                                          \
    (metric_value)                                                                                 \
    {                                                                                              \
        .times = (value)                                                                           \
    }
#define TAKE_codes(value)                                                                          \
    (metric_value)                                                                                 \
    {                                                                                              \
        .codes = (value)                                                                           \
    }
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

/* One function for each row, named after its line. */
#define ALM_METRIC(kind, name, labels, value, doc)                                                 \
    static metric_value JOIN(value_, __LINE__)(ALM_UNUSED const sample *m)                         \
    {                                                                                              \
        return TAKE_##kind(value);                                                                 \
    }
#include "net/metric.def"
#undef ALM_METRIC

typedef struct metric {
    metric_kind kind;
    const char *name, *labels, *doc;
    metric_value (*value)(const sample *m);
} metric;

static const metric METRICS[] = {
#define ALM_METRIC(kind, name, labels, value, doc)                                                 \
    {KIND_##kind, name, labels, doc, JOIN(value_, __LINE__)},
#include "net/metric.def"
#undef ALM_METRIC
};

/* ----------------------------------------------------------------------- text */

static const int64_t NS = 1000000000;

static alm_status put_seconds(alm_ctx *cx, int64_t nanos, alm_buf *out)
{
    return alm_buf_printf(cx, out, "%lld.%09lld\n", (long long)(nanos / NS),
                          (long long)(nanos % NS));
}

static alm_status put_times(alm_ctx *cx, const metric *row, const alm_times *times, alm_buf *out)
{
    int64_t count = 0;
    for (int i = 0; i < ALM_TIMES_BOUNDS; i++) {
        count += alm_counted(&times->buckets[i]);
        ALM_TRY(alm_buf_printf(cx, out, "%s_bucket{le=\"%g\"} %lld\n", row->name,
                               (double)alm_times_bound_us[i] / 1e6, (long long)count));
    }
    count += alm_counted(&times->buckets[ALM_TIMES_BOUNDS]);
    ALM_TRY(alm_buf_printf(cx, out, "%s_bucket{le=\"+Inf\"} %lld\n%s_count %lld\n%s_sum ",
                           row->name, (long long)count, row->name, (long long)count, row->name));
    return put_seconds(cx, alm_counted(&times->sum_ns), out);
}

static alm_status put_codes(alm_ctx *cx, const metric *row, const alm_counter *codes, alm_buf *out)
{
    for (int code = ALM_OK + 1; code < ALM_STATUS_COUNT; code++)
        ALM_TRY(alm_buf_printf(cx, out, "%s_total{code=\"%s\",sqlstate=\"%s\"} %lld\n", row->name,
                               alm_status_name((alm_status)code),
                               alm_status_sqlstate((alm_status)code),
                               (long long)alm_counted(&codes[code])));
    return ALM_OK;
}

static alm_status put_labels(alm_ctx *cx, const char *labels, alm_buf *out)
{
    const size_t name = strcspn(labels, "=");
    if (labels[0] == 0)
        return alm_buf_text(cx, out, " ");
    const char *value = labels[name + 1] != 0 ? labels + name + 1 : ALM_VERSION;
    return alm_buf_printf(cx, out, "{%.*s=\"%s\"} ", (int)name, labels, value);
}

static alm_status put_metric(alm_ctx *cx, const metric *row, const sample *reading, alm_buf *out)
{
    const metric_value value = row->value(reading);
    if (row->kind == KIND_times)
        return put_times(cx, row, value.times, out);
    if (row->kind == KIND_codes)
        return put_codes(cx, row, value.codes, out);
    ALM_TRY(alm_buf_printf(cx, out, "%s%s", row->name, KINDS[row->kind].end));
    ALM_TRY(put_labels(cx, row->labels, out));
    if (row->kind == KIND_counter_seconds || row->kind == KIND_gauge_seconds)
        return put_seconds(cx, value.number, out);
    return alm_buf_printf(cx, out, "%lld\n", (long long)value.number);
}

static alm_status put_all(alm_ctx *cx, const sample *reading, alm_buf *out)
{
    for (size_t i = 0; i < ALM_COUNT(METRICS); i++) {
        const metric *row = &METRICS[i];
        const char *end = KINDS[row->kind].end;
        const bool first = i == 0 || strcmp(row[-1].name, row->name) != 0;
        if (first)
            ALM_TRY(alm_buf_printf(cx, out, "%s# HELP %s%s %s\n# TYPE %s%s %s\n", i > 0 ? "\n" : "",
                                   row->name, end, row->doc, row->name, end,
                                   KINDS[row->kind].type));
        ALM_TRY(put_metric(cx, row, reading, out));
    }
    return ALM_OK;
}

void alm_http_metrics(alm_http *http)
{
    sample reading;
    alm_buf out;
    alm_buf_init(&out, NULL);
    take_sample(http, &reading);
    if (put_all(&http->cx, &reading, &out) == ALM_OK)
        alm_http_reply(http, 200, "text/plain; version=0.0.4; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

const alm_http_handler alm_ep_metrics = {.begin = alm_http_metrics};
