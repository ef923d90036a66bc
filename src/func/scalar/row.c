/*
 * row.c - ROW(a, b, ...) and (a, b, ...) as a value: the text of a record of PostgreSQL,
 * "(1,t,\"a b\",)". Drivers get a record, array_agg over rows a list of them.
 *
 * Null rule   A null is no text between its commas, an empty text is "". The row itself is never null.
 * Types       Values stand as PostgreSQL writes them: t and f, times with a blank.
 * Source      "Composite Type Input and Output Syntax", PostgreSQL 15.
 */
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/text.h"

static alm_status bind_row(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                           ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args, alm_type *result,
                           ALM_UNUSED void **data)
{
    for (uint32_t i = 0; i < argc; i++) {
        const alm_type_class cls = alm_type_info_of(args[i].type)->cls;
        const bool as_it_is = cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING ||
                              cls == ALM_TC_TIME || args[i].type.id == ALM_T_BOOLEAN ||
                              args[i].type.id == ALM_T_UUID || args[i].type.id == ALM_T_DECIMAL;
        if (!as_it_is)
            args[i].type = ALM_TY(STRING);
    }
    *result = alm_type_list(ALM_LIST_NONE_BUT_ROW);
    return ALM_OK;
}

static bool scalar_row_needs_quotes(alm_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        if (byte == '"' || byte == '\\' || byte == '(' || byte == ')' || byte == ',' ||
            byte == ' ' || (byte >= '\t' && byte <= '\r'))
            return true;
    }
    return text.len == 0;
}

/* Into `dest`, which has room for 2 * len + 2 bytes. */
static size_t write_field(alm_str text, char *dest)
{
    char *ptr = dest;
    if (!scalar_row_needs_quotes(text)) {
        memcpy(dest, text.ptr, text.len);
        return text.len;
    }
    *ptr++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            *ptr++ = text.ptr[i];
        *ptr++ = text.ptr[i];
    }
    *ptr++ = '"';
    return (size_t)(ptr - dest);
}

/* False: null. A text of another value stands in the scratch. */
static bool field_text(const alm_vec *vec, size_t i, char scratch[ALM_VALUE_TEXT_MAX], alm_str *out)
{
    if (alm_type_is_text(vec->type)) {
        *out = alm_vec_text(vec, vec->is_const ? 0 : i);
        return out->ptr != NULL;
    }
    return alm_value_text(vec, i, ALM_TEXT_PG, scratch, out);
}

/* Bytes that row i can take at most. */
static size_t room_of(const alm_call *call, const alm_vec *args, size_t i)
{
    size_t bytes = 2;
    for (uint32_t k = 0; k < call->argc; k++)
        bytes += alm_type_is_text(args[k].type)
                     ? 2 * alm_vec_text(&args[k], args[k].is_const ? 0 : i).len + 3
                     : ALM_VALUE_TEXT_MAX + 3;
    return bytes;
}

static alm_status row(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        char *dest = NULL, scratch[ALM_VALUE_TEXT_MAX];
        size_t len = 0;
        const size_t most = room_of(call, args, i);
        ALM_TRY(alm_text_room(&writer, most, &dest));
        for (uint32_t k = 0; k < call->argc; k++) {
            alm_str text;
            dest[len++] = k == 0 ? '(' : ',';
            if (field_text(&args[k], i, scratch, &text))
                len += write_field(text, dest + len);
        }
        dest[len++] = ')';
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

static const alm_fn ROWS[] = {
    {.name = "row",
     .signature = "(ANY, ANY...) ?",
     .bind = bind_row,
     .kernel = row,
     .doc = "A row of values, as PostgreSQL writes it; (a, b) is short for ROW(a, b). Drivers get "
            "a record.",
     .example = "row(1, 'a b', true, null)",
     .since = "0.1"},
};
ALM_FN_TABLE(row, ROWS);
