/*
 * time.c - casts among DATE, TIMESTAMP and TIMESTAMP_NS: a change of unit.
 *
 * Null rule   Null to null. Coarser rounds down; finer that does not fit 64 bits is null where the cast is written
 *             (::), and refused where it is not (=>).
 * Rising      Null is no value of an order: who searches by monotone_arg looks at the ends of the times it has.
 */
#include "func/registry.h"
#include "func/value/tables.h"
#include "time/timestamp.h"

#define RESCALE(name, from, to)                                                                    \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        alm_time_rescale_all(args[0].data, n, from, to, out->data);                                \
        return ALM_OK;                                                                             \
    }
RESCALE(ms_to_us, ALM_TIME_MS, ALM_TIME_US)
RESCALE(ms_to_ns, ALM_TIME_MS, ALM_TIME_NS)
RESCALE(us_to_ms, ALM_TIME_US, ALM_TIME_MS)
RESCALE(us_to_ns, ALM_TIME_US, ALM_TIME_NS)
RESCALE(ns_to_ms, ALM_TIME_NS, ALM_TIME_MS)
RESCALE(ns_to_us, ALM_TIME_NS, ALM_TIME_US)

static alm_status cast_time_same(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                 alm_vec *out)
{
    memcpy(out->data, args[0].data, n_rows * sizeof(int64_t));
    return ALM_OK;
}

/* The ends of the type are bounds for comparisons, 'infinity'::timestamp; no row keeps them. */
static alm_status finite_time(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const int64_t *time = args[0].data;
    size_t ends = 0;
    for (size_t i = 0; i < n_rows; i++)
        ends += (time[i] == INT64_MAX) | (time[i] == ALM_TS_NULL + 1);
    if (ends > 0)
        return alm_fail(call->cx, ALM_E_VALUE, call->pos, "infinity is no time that can be stored");
    return cast_time_same(call, n_rows, args, out);
}

static alm_status cast_time_refuse(const alm_call *call, int64_t time, alm_type from,
                                   alm_time_unit unit)
{
    char text[ALM_TIME_TEXT_MAX];
    const size_t len = alm_time_format(time, unit, ALM_TIME_ISO, text);
    return alm_fail(call->cx, ALM_E_TIME_RANGE, call->pos, "inconvertible value: `%.*s` [%s -> %s]",
                    (int)len, text, alm_type_name(from), alm_type_name(call->result));
}

#define FINER(name, from)                                                                          \
    static alm_status name##_strict(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)   \
    {                                                                                              \
        const int64_t *time = args[0].data, *finer = out->data;                                    \
        size_t lost = 0;                                                                           \
        ALM_TRY(name(call, n, args, out));                                                         \
        for (size_t i = 0; i < n; i++)                                                             \
            lost += (finer[i] == ALM_TS_NULL) & (time[i] != ALM_TS_NULL);                          \
        for (size_t i = 0; lost > 0 && i < n; i++)                                                 \
            if (finer[i] == ALM_TS_NULL && time[i] != ALM_TS_NULL)                                 \
                return cast_time_refuse(call, time[i], args[0].type, from);                        \
        return ALM_OK;                                                                             \
    }
FINER(ms_to_us, ALM_TIME_MS)
FINER(ms_to_ns, ALM_TIME_MS)
FINER(us_to_ns, ALM_TIME_US)

#define ROW(name_, from, to, kernel_)                                                              \
    {.name = name_,                                                                                \
     .signature = "(" from ") " to,                                                                \
     .flags = ALM_FN_INTERNAL | ALM_FN_NULL_OUT,                                                   \
     .kernel = kernel_,                                                                            \
     .monotone_arg = 1,                                                                            \
     .doc = "Cast of " from " to " to ".",                                                         \
     .example = "cast(x as " to ")",                                                               \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("::date", "DATE", "DATE", cast_time_same),
    ROW("::date", "TIMESTAMP", "DATE", us_to_ms),
    ROW("::date", "TIMESTAMP_NS", "DATE", ns_to_ms),
    ROW("::timestamp", "DATE", "TIMESTAMP", ms_to_us),
    ROW("::timestamp", "TIMESTAMP", "TIMESTAMP", cast_time_same),
    ROW("::timestamp", "TIMESTAMP_NS", "TIMESTAMP", ns_to_us),
    ROW("::timestamp_ns", "DATE", "TIMESTAMP_NS", ms_to_ns),
    ROW("::timestamp_ns", "TIMESTAMP", "TIMESTAMP_NS", us_to_ns),
    ROW("::timestamp_ns", "TIMESTAMP_NS", "TIMESTAMP_NS", cast_time_same),
    ROW("=>finite", "DATE", "DATE", finite_time),
    ROW("=>finite", "TIMESTAMP", "TIMESTAMP", finite_time),
    ROW("=>timestamp", "DATE", "TIMESTAMP", ms_to_us_strict),
    ROW("=>timestamp_ns", "DATE", "TIMESTAMP_NS", ms_to_ns_strict),
    ROW("=>timestamp_ns", "TIMESTAMP", "TIMESTAMP_NS", us_to_ns_strict),
};
ALM_FN_TABLE(cast_time, ROWS);
