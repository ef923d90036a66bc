/*
 * cast_time.c - casts among DATE, TIMESTAMP and TIMESTAMP_NS: a change of unit.
 *
 * Null rule   Null to null. Coarser rounds down; finer that does not fit 64 bits is null.
 */
#include "func/registry.h"
#include "func/tables.h"
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

static alm_status same(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    memcpy(out->data, args[0].data, n * sizeof(int64_t));
    return ALM_OK;
}

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
    ROW("::date", "DATE", "DATE", same),
    ROW("::date", "TIMESTAMP", "DATE", us_to_ms),
    ROW("::date", "TIMESTAMP_NS", "DATE", ns_to_ms),
    ROW("::timestamp", "DATE", "TIMESTAMP", ms_to_us),
    ROW("::timestamp", "TIMESTAMP", "TIMESTAMP", same),
    ROW("::timestamp", "TIMESTAMP_NS", "TIMESTAMP", ns_to_us),
    ROW("::timestamp_ns", "DATE", "TIMESTAMP_NS", ms_to_ns),
    ROW("::timestamp_ns", "TIMESTAMP", "TIMESTAMP_NS", us_to_ns),
    ROW("::timestamp_ns", "TIMESTAMP_NS", "TIMESTAMP_NS", same),
};
ALM_FN_TABLE(cast_time, ROWS);
