/*
 * interval.c - INTERVAL: two times in microseconds, both included. Null: both are null. Not stored in tables.
 */
#include "time/timestamp.h"
#include "type/ops.h"

static size_t format_interval(ALM_UNUSED alm_type type, const void *ptr,
                              ALM_UNUSED alm_text_style style, char *out)
{
    const int64_t *us = ptr;
    if (us[0] == ALM_TS_NULL && us[1] == ALM_TS_NULL)
        return 0;
    size_t count = 0;
    out[count++] = '(';
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            out[count++] = ',';
            out[count++] = ' ';
        }
        out[count++] = '\'';
        count += alm_time_format(alm_time_rescale(us[i], ALM_TIME_US, ALM_TIME_MS), ALM_TIME_MS,
                                 ALM_TIME_ISO, out + count);
        out[count++] = '\'';
    }
    out[count++] = ')';
    return count;
}

/* The form of text out: ('lo', 'hi'). */
static alm_scan_result scan_interval(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    alm_interval_us got;
    const char *end = text.ptr + text.len;
    const char *comma = text.len < 4 ? NULL : memchr(text.ptr, ',', text.len);
    if (comma == NULL || text.ptr[0] != '(' || end[-1] != ')')
        return ALM_SCAN_BAD;
    alm_str lo = {text.ptr + 1, (size_t)(comma - text.ptr) - 1};
    alm_str hi = {comma + 1, (size_t)(end - 1 - (comma + 1))};
    while (hi.len > 0 && hi.ptr[0] == ' ')
        hi = (alm_str){hi.ptr + 1, hi.len - 1};
    alm_str *const sides[2] = {&lo, &hi};
    for (int i = 0; i < 2; i++) {
        alm_str *s = sides[i];
        if (s->len < 2 || s->ptr[0] != '\'' || s->ptr[s->len - 1] != '\'')
            return ALM_SCAN_BAD;
        *s = (alm_str){s->ptr + 1, s->len - 2};
    }
    if (!alm_time_parse(lo, ALM_TIME_US, &got.lo_us) ||
        !alm_time_parse(hi, ALM_TIME_US, &got.hi_us) || got.lo_us > got.hi_us)
        return ALM_SCAN_BAD;
    *(alm_interval_us *)out = got;
    return ALM_SCAN_OK;
}

/* Two INT64, least byte first. */
static alm_parquet_form parquet_interval(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_fixed(16, ALM_PQ_ORDER_NONE);
}

const alm_type_ops alm_type_ops_INTERVAL = {
    .format = format_interval,
    .scan = scan_interval,
    .parquet = parquet_interval,
};
