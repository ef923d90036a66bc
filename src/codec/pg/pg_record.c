/*
 * pg_record.c - rows of values, "(1,\"a b\",)", as records of the wire.
 *
 * In binary: the number of fields, then of each its type, its length and its bytes; length -1 is null. A
 * row is a text here and does not keep the types of what was in it, so fields are texts.
 */
#include "codec/pg/pg_value.h"
#include "type/pg_oid.h"

enum { HEAD = 8, PER_FIELD = 8 };

/* The field at `ptr`, its quotes and escapes resolved, behind its type and its length. Gives what is
 * behind it: a comma, or the end of the row. */
static const char *pg_record_put_field(const char *ptr, const char *end, alm_buf *out)
{
    char *head = out->ptr + out->len, *dest = head + PER_FIELD;
    bool quoted = false, null = true;
    for (; ptr < end; ptr++) {
        if (!quoted && (*ptr == ',' || *ptr == ')'))
            break;
        null = false;
        if (*ptr == '"' && !(quoted && ptr + 1 < end && ptr[1] == '"')) {
            quoted = !quoted;
            continue;
        }
        if ((*ptr == '\\' || *ptr == '"') && ptr + 1 < end)
            ptr++;
        *dest++ = *ptr;
    }
    const size_t len = (size_t)(dest - head) - PER_FIELD;
    alm_be_put32(head, ALM_PG_OID_TEXT);
    alm_be_put32(head + 4, null ? UINT32_MAX : (uint32_t)len);
    out->len += PER_FIELD + len;
    return ptr;
}

alm_status alm_pg_put_record(alm_ctx *cx, alm_str text, alm_buf *out)
{
    const size_t start = out->len;
    const char *ptr = text.ptr, *const end = text.ptr + text.len;
    uint32_t count = 0;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD));
    out->len += HEAD;
    while (ptr < end && (*ptr == '(' || *ptr == ',')) {
        ptr++;
        ALM_TRY(alm_buf_reserve(cx, out, PER_FIELD + (size_t)(end - ptr)));
        ptr = pg_record_put_field(ptr, end, out);
        count++;
    }
    alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
    alm_be_put32(out->ptr + start + 4, count);
    return ALM_OK;
}
