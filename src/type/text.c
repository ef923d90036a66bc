/*
 * text.c - values as text and text as values.
 */
#include "type/text.h"

#include "type/ops.h"

/* ---------------------------------------------------------------- text out */

bool alm_value_text(const alm_vec *vec, size_t i, alm_text_style style,
                    char scratch[ALM_VALUE_TEXT_MAX], alm_str *out)
{
    ALM_DASSERT(!vec->indirect);
    const alm_type_ops *ops = alm_type_info_of(vec->type)->ops;
    if (ops->format == NULL) { /* views; those with `append` have no text in place */
        *out = ops->append == NULL ? alm_vec_text(vec, i) : (alm_str){0};
        return out->ptr != NULL;
    }
    const char *ptr = (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width;
    *out = (alm_str){scratch, ops->format(vec->type, ptr, style, scratch)};
    ALM_DASSERT(out->len <= ALM_VALUE_TEXT_MAX);
    return out->len > 0;
}

alm_status alm_value_format(alm_ctx *cx, const alm_vec *vec, size_t i, alm_text_style style,
                            alm_buf *out, bool *is_null)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text;
    const alm_type_ops *ops = alm_type_info_of(vec->type)->ops;
    if (ops->append != NULL)
        return ops->append(cx, vec, i, style, out, is_null);
    *is_null = !alm_value_text(vec, i, style, scratch, &text);
    return *is_null ? ALM_OK : alm_buf_append(cx, out, text.ptr, text.len);
}

/* ----------------------------------------------------------------- text in */

alm_scan_result alm_scan_of_number(alm_num_parse got)
{
    return got == ALM_NUM_OK ? ALM_SCAN_OK : got == ALM_NUM_BAD ? ALM_SCAN_BAD : ALM_SCAN_RANGE;
}

alm_scan_result alm_value_scan(alm_type type, alm_str text, void *out)
{
    const alm_type_ops *ops = alm_type_info_of(type)->ops;
    if (text.ptr == NULL) {
        alm_value_set_null(type, out);
        return ALM_SCAN_OK;
    }
    return ops->scan != NULL ? ops->scan(type, text, out) : ALM_SCAN_BAD;
}

alm_scan_result alm_value_scan_stored(alm_type type, alm_str text, void *out)
{
    const alm_type_ops *ops = alm_type_info_of(type)->ops;
    return ops->scan_stored != NULL ? ops->scan_stored(type, text, out)
                                    : alm_value_scan(type, text, out);
}

alm_status alm_value_parse(alm_ctx *cx, int32_t pos, alm_type type, alm_str text, void *out)
{
    const alm_type_ops *ops = alm_type_info_of(type)->ops;
    alm_scan_result got = alm_value_scan(type, text, out);
    if (ops->parse != NULL && text.ptr != NULL) {
        bool good = false;
        ALM_TRY(ops->parse(cx, pos, type, text, out, &good));
        got = good ? ALM_SCAN_OK : ALM_SCAN_BAD;
    }
    if (got == ALM_SCAN_OK)
        return ALM_OK;
    const int shown = (int)ALM_MIN(text.len, (size_t)200);
    if (ops->bad_text != NULL)
        return alm_fail(cx, ALM_E_VALUE, pos, "%s: %.*s", ops->bad_text, shown, text.ptr);
    return alm_fail(cx, got == ALM_SCAN_RANGE ? ALM_E_RANGE : ALM_E_VALUE, pos,
                    "inconvertible value: `%.*s` [STRING -> %s]", shown, text.ptr,
                    alm_type_name(type));
}

alm_status alm_vec_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, alm_type type, alm_str text,
                         alm_vec *out)
{
    alm_vec one;
    alm_str copy = text;
    ALM_TRY(alm_vec_null(cx, arena, type, &one));
    if (alm_type_info_of(type)->ops->scan == alm_scan_view && text.ptr != NULL)
        ALM_TRY(alm_arena_copy(cx, arena, text, &copy));
    ALM_TRY(alm_value_parse(cx, pos, type, copy, one.data));
    *out = one;
    return ALM_OK;
}
