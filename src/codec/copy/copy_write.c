/*
 * copy_write.c - rows as COPY sends them. Values have the text and the binary form of the wire
 * (codec/pg); here they get the escapes, quotes and separators of the format.
 */
#include "codec/copy/copy_state.h"
#include "codec/pg/pg_value.h"

static alm_status copy_write_put_char(alm_ctx *cx, alm_buf *out, char byte)
{
    return alm_buf_append(cx, out, &byte, 1);
}

static alm_status copy_write_put_escaped(alm_ctx *cx, const alm_copy_format *format, alm_str text,
                                         alm_buf *out)
{
    static const char bytes[] = "\b\f\n\r\t\v\\", letters[] = "bfnrtv\\";
    ALM_TRY(alm_buf_reserve(cx, out, 2 * text.len));
    char *dest = out->ptr + out->len;
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        const bool control = (unsigned char)byte <= '\r' || byte == '\\';
        const char *found = control && byte != 0 ? strchr(bytes, byte) : NULL;
        if (found != NULL || byte == format->delimiter)
            *dest++ = '\\';
        *dest++ = found != NULL ? letters[found - bytes] : byte;
    }
    out->len = (size_t)(dest - out->ptr);
    return ALM_OK;
}

static bool copy_write_needs_quotes(const alm_copy_format *format, alm_str text, bool alone)
{
    if (alm_str_eq(text, format->null) || (alone && alm_str_eq(text, ALM_STR("\\."))))
        return true;
    for (size_t i = 0; i < text.len; i++) {
        const char byte = text.ptr[i];
        if (byte == format->delimiter || byte == format->quote || byte == '\n' || byte == '\r')
            return true;
    }
    return false;
}

static alm_status copy_write_put_quoted(alm_ctx *cx, const alm_copy_format *format, alm_str text,
                                        alm_buf *out)
{
    ALM_TRY(alm_buf_reserve(cx, out, 2 * text.len + 2));
    char *dest = out->ptr + out->len;
    *dest++ = format->quote;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == format->quote || text.ptr[i] == format->escape)
            *dest++ = format->escape;
        *dest++ = text.ptr[i];
    }
    *dest++ = format->quote;
    out->len = (size_t)(dest - out->ptr);
    return ALM_OK;
}

/* text.ptr NULL: null. */
static alm_status copy_write_put_field(alm_ctx *cx, const alm_copy_format *format, alm_str text,
                                       uint32_t col, uint32_t n_cols, bool forced, alm_buf *out)
{
    if (col > 0)
        ALM_TRY(copy_write_put_char(cx, out, format->delimiter));
    if (text.ptr == NULL)
        return alm_buf_append(cx, out, format->null.ptr, format->null.len);
    if (format->kind == ALM_COPY_TEXT)
        return copy_write_put_escaped(cx, format, text, out);
    if (forced || copy_write_needs_quotes(format, text, n_cols == 1))
        return copy_write_put_quoted(cx, format, text, out);
    return alm_buf_append(cx, out, text.ptr, text.len);
}

alm_status alm_copy_put_head(alm_ctx *cx, const alm_copy_format *format, const char *const *names,
                             uint32_t n_names, alm_buf *out)
{
    if (format->kind == ALM_COPY_BINARY) {
        static const char zeros[8] = {0}; /* flags, length of the extension */
        ALM_TRY(alm_buf_append(cx, out, ALM_COPY_SIGNATURE, sizeof(ALM_COPY_SIGNATURE)));
        return alm_buf_append(cx, out, zeros, sizeof(zeros));
    }
    if (!format->header)
        return ALM_OK;
    for (uint32_t i = 0; i < n_names; i++)
        ALM_TRY(copy_write_put_field(cx, format, alm_str_of(names[i]), i, n_names, false, out));
    return copy_write_put_char(cx, out, '\n');
}

alm_status alm_copy_put_row(alm_ctx *cx, const alm_copy_format *format, const alm_batch *batch,
                            uint32_t row, alm_buf *scratch, alm_buf *out)
{
    if (format->kind == ALM_COPY_BINARY) {
        ALM_TRY(alm_buf_reserve(cx, out, 2));
        alm_be_put16(out->ptr + out->len, (uint16_t)batch->n_cols);
        out->len += 2;
        for (uint32_t i = 0; i < batch->n_cols; i++)
            ALM_TRY(alm_pg_put_cell(cx, &batch->cols[i], row, true, out));
        return ALM_OK;
    }
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        scratch->len = 0;
        ALM_TRY(alm_pg_put_cell(cx, &batch->cols[i], row, false, scratch));
        const bool null = alm_be_get32(scratch->ptr) == UINT32_MAX;
        const alm_str text = {null ? NULL : scratch->ptr + 4, scratch->len - 4};
        const bool forced = format->force_quote != NULL && format->force_quote[i];
        ALM_TRY(copy_write_put_field(cx, format, text, i, batch->n_cols, forced, out));
    }
    return copy_write_put_char(cx, out, '\n');
}

alm_status alm_copy_put_tail(alm_ctx *cx, const alm_copy_format *format, alm_buf *out)
{
    return format->kind == ALM_COPY_BINARY ? alm_buf_append(cx, out, "\377\377", 2) : ALM_OK;
}
