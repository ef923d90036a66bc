/*
 * status.c - status tables (rows of err.def), the statement context: errors, time-out, cancel, and
 * the contexts of parallel workers.
 */
#include "base/base.h"

#include "base/conf.h"
#include "base/look.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct status_row {
    const char *name, *sqlstate;
    int http;
} status_row;

static const status_row STATUS[ALM_STATUS_COUNT] = {
    [ALM_OK] = {"OK", "00000", 200},
#define ALM_ERR(name, sqlstate, http, doc) [ALM_E_##name] = {#name, sqlstate, http},
#include "base/err.def"
#undef ALM_ERR
};

static const status_row *base_status_of(alm_status status)
{
    ALM_ASSERT((unsigned)status < ALM_STATUS_COUNT);
    return &STATUS[status];
}

const char *alm_status_name(alm_status status)
{
    return base_status_of(status)->name;
}
const char *alm_status_sqlstate(alm_status status)
{
    return base_status_of(status)->sqlstate;
}
int alm_status_http(alm_status status)
{
    return base_status_of(status)->http;
}

void alm_assert_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, cond);
    abort();
}

/* Cuts an over-long message at a character boundary, so that it stays valid UTF-8. */
static void cut_at_character(char *msg, size_t cap)
{
    size_t len = cap - 1;
    while (len > 0 && ((unsigned char)msg[len - 1] & 0xC0) == 0x80)
        len--;
    if (len > 0 && (unsigned char)msg[len - 1] >= 0xC0)
        len--;
    msg[len] = '\0';
}

alm_status alm_fail(alm_ctx *cx, alm_status code, int32_t sql_pos, const char *format, ...)
{
    ALM_ASSERT(code != ALM_OK);
    if (cx->err.code != ALM_OK)
        return cx->err.code;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(cx->err.msg, sizeof(cx->err.msg), format, args);
    va_end(args);
    if (n < 0)
        cx->err.msg[0] = '\0';
    else if ((size_t)n >= sizeof(cx->err.msg))
        cut_at_character(cx->err.msg, sizeof(cx->err.msg));
    cx->err.code = code;
    cx->err.sql_pos = sql_pos;
    return code;
}

void alm_error_clear(alm_ctx *cx)
{
    cx->err.code = ALM_OK;
    cx->err.sql_pos = -1;
    cx->err.msg[0] = '\0';
}

int64_t alm_monotonic_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The monotonic clock as of the last tick of the system, which a point query reads often and nearly for nothing. */
static int64_t tick_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

enum { TICK_NS_MAX = 20000000 }; /* ticks are 1 to 10 ms apart */

alm_status alm_fail_age(alm_ctx *cx)
{
    return alm_fail(
        cx, ALM_E_SNAPSHOT_AGE, -1,
        "snapshot too old: the statement has read its state of the data for longer than "
        "storage.snapshot.age.max (%lld ms)",
        (long long)cx->snapshot_age_ms);
}

alm_status alm_check(alm_ctx *cx)
{
    const int64_t until_ns = cx->snapshot_until_ns;
    alm_look(__builtin_return_address(0));
    if (cx->mem != NULL && atomic_load_explicit(&cx->mem->gives_way, memory_order_relaxed) != NULL)
        return alm_fail_way(cx);
    if (cx->cancel != NULL && atomic_load_explicit(cx->cancel, memory_order_relaxed))
        return alm_fail(cx, ALM_E_CANCEL, -1, "cancelled by user");
    const int64_t yield_ns =
        cx->yield_ns != NULL ? atomic_load_explicit(cx->yield_ns, memory_order_relaxed) : 0;
    if (cx->deadline_ns == 0 && until_ns == 0 && yield_ns == 0)
        return ALM_OK;
    const int64_t first_ns = cx->deadline_ns == 0 ? until_ns
                             : until_ns == 0      ? cx->deadline_ns
                                                  : ALM_MIN(cx->deadline_ns, until_ns);
    const int64_t tick = tick_ns();
    if (yield_ns != 0 && tick >= yield_ns)
        return alm_fail(cx, ALM_E_YIELD, -1, "the statement goes on elsewhere");
    if (first_ns == 0 || tick < first_ns - TICK_NS_MAX)
        return ALM_OK;
    const int64_t now_ns = alm_monotonic_ns();
    if (now_ns < first_ns)
        return ALM_OK;
    if (cx->deadline_ns == 0 || now_ns < cx->deadline_ns)
        return alm_fail_age(cx);
    const long long ran_ms = (now_ns - cx->started_ns) / 1000000;
    return alm_fail(cx, ALM_E_TIMEOUT, -1,
                    "timeout, query aborted [runtime=%lldms, timeout=%lldms]", ran_ms,
                    (long long)cx->timeout_ms);
}

alm_status alm_nodes_look(alm_ctx *cx, int32_t sql_pos)
{
    const int64_t max = cx->conf != NULL ? cx->conf->sql_nodes_max : 0;
    if (max > 0 && cx->nodes > max)
        return alm_fail(cx, ALM_E_LIMIT, sql_pos,
                        "statement is too large: it has more than sql.nodes.max (%lld) nodes",
                        (long long)max);
    return alm_check(cx);
}

void alm_ctx_fork(const alm_ctx *parent, alm_ctx *child)
{
    /* Field by field but the error: its kilobyte may be written by the parent's thread just now. */
    child->arena = NULL;
    child->mem = parent->mem;
    child->lasting = parent->lasting;
    child->files = parent->files;
    child->conf = parent->conf;
    child->io = parent->io;
    child->zones = parent->zones;
    child->cancel = parent->cancel;
    child->deadline_ns = parent->deadline_ns;
    child->started_ns = parent->started_ns;
    child->timeout_ms = parent->timeout_ms;
    child->yield_ns = parent->yield_ns;
    child->snapshot_until_ns = parent->snapshot_until_ns;
    child->snapshot_age_ms = parent->snapshot_age_ms;
    child->now_ns = parent->now_ns;
    child->seed = parent->seed;
    child->user = parent->user;
    child->session = parent->session;
    child->lookup = parent->lookup;
    child->access = parent->access;
    child->rewrite = parent->rewrite;
    child->may_wait = parent->may_wait;
    child->map_faults = parent->map_faults;
    child->nodes = child->steps = 0;
    alm_error_clear(child);
}

alm_status alm_ctx_join(alm_ctx *parent, const alm_ctx *child)
{
    if (child->err.code == ALM_OK)
        return parent->err.code;
    if (parent->err.code == ALM_OK)
        parent->err = child->err;
    return parent->err.code;
}
