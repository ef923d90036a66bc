/*
 * text_length.c - VARCHAR(n): no way into a table takes a text of more characters.
 *
 * Rows of INSERT, COPY, files and lines come through alm_txn_append and alm_bulk_append, new values of UPDATE and of
 * ALTER COLUMN TYPE through alm_update_rows: these three ask here. Who reads files and lines asks before, to say which
 * one it is.
 */
#include "base/utf8.h"
#include "storage/version/change.h"
#include "storage/write/bulk.h"

bool alm_text_exceeds(const alm_column *col, alm_str text, size_t *chars)
{
    if (col->length == 0 || text.ptr == NULL || text.len <= col->length)
        return false; /* bytes: no fewer than characters */
    *chars = alm_utf8_count(text);
    return *chars > col->length;
}

alm_status alm_text_length_check(alm_ctx *cx, const alm_column *col, const alm_vec *vec,
                                 uint32_t rows)
{
    if (col->length == 0)
        return ALM_OK;
    const uint32_t n = vec->is_const ? ALM_MIN(rows, 1U) : rows;
    for (uint32_t i = 0; i < n; i++) {
        size_t chars = 0;
        if (alm_text_exceeds(col, alm_vec_text(vec, i), &chars))
            return alm_fail(cx, ALM_E_LENGTH, -1,
                            "value too long for type character varying(%u) [column=%s, length=%zu]",
                            col->length, col->name, chars);
    }
    return ALM_OK;
}
