/*
 * timestamp.c - DATE, TIMESTAMP and TIMESTAMP_NS: milli-, micro- and nanoseconds since 1970 in 8 bytes. Null is the
 * least number.
 */
#include "type/ops.h"

static size_t format_time(alm_type type, const void *at, alm_text_style style, char *out)
{
    const int64_t ticks = *(const int64_t *)at;
    return ticks == ALM_TS_NULL
               ? 0
               : alm_time_format(ticks, alm_type_unit(type),
                                 style == ALM_TEXT_PG ? ALM_TIME_PG : ALM_TIME_ISO, out);
}

static alm_scan_result scan_time(alm_type type, alm_str text, void *out)
{
    return alm_time_read(text, alm_type_unit(type), out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
}

static alm_parquet_form parquet_time(alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form f = alm_parquet_of(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
    const alm_time_unit unit = alm_type_unit(type);
    f.logical = ALM_PQ_L_TIMESTAMP;
    f.utc = true;
    f.unit = unit == ALM_TIME_MS   ? ALM_PQ_MILLIS
             : unit == ALM_TIME_US ? ALM_PQ_MICROS
                                   : ALM_PQ_NANOS;
    f.converted = unit == ALM_TIME_MS   ? ALM_PQ_C_TIMESTAMP_MILLIS
                  : unit == ALM_TIME_US ? ALM_PQ_C_TIMESTAMP_MICROS
                                        : ALM_PQ_C_NONE;
    return f;
}

const alm_type_ops alm_type_ops_DATE = {
    .unit = ALM_TIME_MS,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
};
const alm_type_ops alm_type_ops_TIMESTAMP = {
    .aliases = {"timestamptz", "timestamp with time zone", "timestamp without time zone"},
    .unit = ALM_TIME_US,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
};
const alm_type_ops alm_type_ops_TIMESTAMP_NS = {
    .unit = ALM_TIME_NS,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
};
