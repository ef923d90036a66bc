/*
 * timestamp.c - DATE, TIMESTAMP and TIMESTAMP_NS: milli-, micro- and nanoseconds since 1970 in 8 bytes. Null is the
 * least number.
 */
#include "base/be.h"
#include "type/ops.h"

static size_t format_time(alm_type type, const void *ptr, alm_text_style style, char *out)
{
    const int64_t ticks = *(const int64_t *)ptr;
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
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_INT64, ALM_PQ_ORDER_INT64);
    const alm_time_unit unit = alm_type_unit(type);
    parquet_form.logical = ALM_PQ_L_TIMESTAMP;
    parquet_form.utc = true;
    parquet_form.unit = unit == ALM_TIME_MS   ? ALM_PQ_MILLIS
                        : unit == ALM_TIME_US ? ALM_PQ_MICROS
                                              : ALM_PQ_NANOS;
    parquet_form.converted = unit == ALM_TIME_MS   ? ALM_PQ_C_TIMESTAMP_MILLIS
                             : unit == ALM_TIME_US ? ALM_PQ_C_TIMESTAMP_MICROS
                                                   : ALM_PQ_C_NONE;
    return parquet_form;
}

int64_t alm_pg_time(alm_type type, int64_t value)
{
    const alm_time_unit unit = alm_type_unit(type);
    int64_t micros = 0;
    if (unit != ALM_TIME_NS && (value == INT64_MAX || value == ALM_TS_NULL + 1))
        return value < 0 ? INT64_MIN : INT64_MAX; /* what a cast makes of infinity */
    if (__builtin_sub_overflow(alm_time_rescale(value, unit, ALM_TIME_US), ALM_PG_EPOCH_US,
                               &micros))
        return INT64_MIN; /* -infinity, to the client */
    return micros;
}

alm_status alm_pg_time_param(alm_ctx *cx, uint32_t index, alm_type type, int64_t value, void *out)
{
    int64_t micros = 0, time = ALM_TS_NULL;
    if (value == INT64_MAX || value == INT64_MIN)
        return alm_fail(cx, ALM_E_TIME_RANGE, -1, "time parameter %u is %sinfinity", index + 1,
                        value < 0 ? "-" : "");
    if (!__builtin_add_overflow(value, ALM_PG_EPOCH_US, &micros))
        time = alm_time_rescale(micros, ALM_TIME_US, alm_type_unit(type));
    if (time == ALM_TS_NULL)
        return alm_fail(cx, ALM_E_TIME_RANGE, -1, "time parameter %u is out of range", index + 1);
    (void)memcpy(out, &time, sizeof(time));
    return ALM_OK;
}

static size_t send_time(alm_type type, const void *ptr, char *dest)
{
    alm_be_put64(dest, (uint64_t)alm_pg_time(type, *(const int64_t *)ptr));
    return 8;
}

static alm_status receive_time(alm_ctx *cx, uint32_t index, alm_type type, alm_str text, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 8, text.len));
    return alm_pg_time_param(cx, index, type, (int64_t)alm_be_get64(text.ptr), out);
}

const alm_type_ops alm_type_ops_DATE = {
    .unit = ALM_TIME_MS,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
    .pg_send = send_time,
    .pg_receive = receive_time,
};
const alm_type_ops alm_type_ops_TIMESTAMP = {
    .aliases = {"timestamptz", "timestamp with time zone", "timestamp without time zone"},
    .unit = ALM_TIME_US,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
    .pg_send = send_time,
    .pg_receive = receive_time,
};
const alm_type_ops alm_type_ops_TIMESTAMP_NS = {
    .unit = ALM_TIME_NS,
    .format = format_time,
    .scan = scan_time,
    .parquet = parquet_time,
    .pg_send = send_time,
    .pg_receive = receive_time,
};
