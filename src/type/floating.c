/*
 * floating.c - FLOAT and DOUBLE. What is not finite is null.
 */
#include "base/be.h"
#include "base/number.h"
#include "type/ops.h"

static bool floating_is_number(double value)
{
    return __builtin_isfinite(value) != 0;
}

static alm_num_form floating_form_of(alm_text_style style)
{
    return style == ALM_TEXT_PG ? ALM_NUM_PG : ALM_NUM_DIALECT;
}

static size_t format_float(ALM_UNUSED alm_type type, const void *ptr, alm_text_style style,
                           char *out)
{
    const float value = *(const float *)ptr;
    return floating_is_number((double)value) ? alm_float_format(value, floating_form_of(style), out)
                                             : 0;
}

static size_t format_double(ALM_UNUSED alm_type type, const void *ptr, alm_text_style style,
                            char *out)
{
    const double value = *(const double *)ptr;
    return floating_is_number(value) ? alm_double_format(value, floating_form_of(style), out) : 0;
}

/* Blanks around, and the letter of a literal (1.5d, 1.5f) behind, do not count. */
static alm_str floating_number_core(alm_str text)
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
    const alm_num_parse got = alm_double_parse(floating_number_core(text), &value);
    if (got == ALM_NUM_OK)
        *(double *)out = floating_is_number(value) ? value : __builtin_nan("");
    return alm_scan_of_number(got);
}

static alm_scan_result scan_float(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    float value = 0;
    const alm_num_parse got = alm_float_parse(floating_number_core(text), &value);
    if (got == ALM_NUM_OK)
        *(float *)out = floating_is_number((double)value) ? value : __builtin_nanf("");
    return alm_scan_of_number(got);
}

static alm_parquet_form parquet_float(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_FLOAT, ALM_PQ_ORDER_FLOAT);
    parquet_form.by_field = true;
    return parquet_form;
}

static alm_parquet_form parquet_double(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    parquet_form.by_field = true;
    return parquet_form;
}

static size_t send_float(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put32(dest, *(const uint32_t *)ptr);
    return 4;
}

static size_t send_double(ALM_UNUSED alm_type type, const void *ptr, char *dest)
{
    alm_be_put64(dest, *(const uint64_t *)ptr);
    return 8;
}

static alm_status receive_float(alm_ctx *cx, uint32_t index, alm_type type, alm_str text, void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 4, text.len));
    *(uint32_t *)out = alm_be_get32(text.ptr);
    alm_values_settle(type, out, 1);
    return ALM_OK;
}

static alm_status receive_double(alm_ctx *cx, uint32_t index, alm_type type, alm_str text,
                                 void *out)
{
    ALM_TRY(alm_pg_length(cx, index, 8, text.len));
    *(uint64_t *)out = alm_be_get64(text.ptr);
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
