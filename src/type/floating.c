/*
 * floating.c - FLOAT and DOUBLE. What is not finite is null.
 */
#include "base/be.h"
#include "base/number.h"
#include "type/ops.h"

static bool is_number(double d)
{
    return __builtin_isfinite(d) != 0;
}

static alm_num_form form_of(alm_text_style style)
{
    return style == ALM_TEXT_PG ? ALM_NUM_PG : ALM_NUM_DIALECT;
}

static size_t format_float(ALM_UNUSED alm_type type, const void *at, alm_text_style style,
                           char *out)
{
    const float x = *(const float *)at;
    return is_number((double)x) ? alm_float_format(x, form_of(style), out) : 0;
}

static size_t format_double(ALM_UNUSED alm_type type, const void *at, alm_text_style style,
                            char *out)
{
    const double x = *(const double *)at;
    return is_number(x) ? alm_double_format(x, form_of(style), out) : 0;
}

/* Blanks around, and the letter of a literal (1.5d, 1.5f) behind, do not count. */
static alm_str number_core(alm_str text)
{
    while (text.len > 0 && (uint8_t)text.ptr[0] <= ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && (uint8_t)text.ptr[text.len - 1] <= ' ')
        text.len--;
    if (text.len > 1) {
        const char last = (char)(text.ptr[text.len - 1] | 0x20), before = text.ptr[text.len - 2];
        if ((last == 'd' || last == 'f') && ((before >= '0' && before <= '9') || before == '.'))
            text.len--;
    }
    return text;
}

static alm_scan_result scan_double(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    double value = 0;
    const alm_num_parse got = alm_double_parse(number_core(text), &value);
    if (got == ALM_NUM_OK)
        *(double *)out = is_number(value) ? value : __builtin_nan("");
    return alm_scan_of_number(got);
}

static alm_scan_result scan_float(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    float value = 0;
    const alm_num_parse got = alm_float_parse(number_core(text), &value);
    if (got == ALM_NUM_OK)
        *(float *)out = is_number((double)value) ? value : __builtin_nanf("");
    return alm_scan_of_number(got);
}

static alm_parquet_form parquet_float(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form f = alm_parquet_of(ALM_PQ_FLOAT, ALM_PQ_ORDER_FLOAT);
    f.by_field = true;
    return f;
}

static alm_parquet_form parquet_double(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form f = alm_parquet_of(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    f.by_field = true;
    return f;
}

static size_t send_float(ALM_UNUSED alm_type type, const void *at, char *to)
{
    alm_be_put32(to, *(const uint32_t *)at);
    return 4;
}

static size_t send_double(ALM_UNUSED alm_type type, const void *at, char *to)
{
    alm_be_put64(to, *(const uint64_t *)at);
    return 8;
}

static alm_status receive_float(alm_ctx *cx, uint32_t index, alm_type type, alm_str in, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 4, in.len));
    *(uint32_t *)out = alm_be_get32(in.ptr);
    alm_values_settle(type, out, 1);
    return ALM_OK;
}

static alm_status receive_double(alm_ctx *cx, uint32_t index, alm_type type, alm_str in, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 8, in.len));
    *(uint64_t *)out = alm_be_get64(in.ptr);
    alm_values_settle(type, out, 1);
    return ALM_OK;
}

const alm_type_ops alm_type_ops_FLOAT = {
    .aliases = {"real", "float4"},
    .format = format_float,
    .scan = scan_float,
    .parquet = parquet_float,
    .pg_send = send_float,
    .pg_receive = receive_float,
};
const alm_type_ops alm_type_ops_DOUBLE = {
    .aliases = {"float8", "double precision"},
    .format = format_double,
    .scan = scan_double,
    .parquet = parquet_double,
    .pg_send = send_double,
    .pg_receive = receive_double,
};
