/*
 * pg_record.c - rows of values, "(1,\"a b\",)", as records of the wire.
 *
 * In binary: the number of fields, then of each its type, its length and its bytes; length -1 is null. A
 * row is a text here and does not keep the types of what was in it, so fields are texts.
 */
#include "codec/pg/pg_value.h"
#include "type/pg_oid.h"

enum { HEAD = 8, PER_FIELD = 8 };

/* The field at `at`, its quotes and escapes resolved, behind its type and its length. Gives what is
 * behind it: a comma, or the end of the row. */
static const char *put_field(const char *at, const char *end, alm_buf *out)
{
    char *head = out->ptr + out->len, *to = head + PER_FIELD;
    bool quoted = false, null = true;
    for (; at < end; at++) {
        if (!quoted && (*at == ',' || *at == ')'))
            break;
        null = false;
        if (*at == '"' && !(quoted && at + 1 < end && at[1] == '"')) {
            quoted = !quoted;
            continue;
        }
        if ((*at == '\\' || *at == '"') && at + 1 < end)
            at++;
        *to++ = *at;
    }
    const size_t len = (size_t)(to - head) - PER_FIELD;
    alm_be_put32(head, ALM_PG_OID_TEXT);
    alm_be_put32(head + 4, null ? UINT32_MAX : (uint32_t)len);
    out->len += PER_FIELD + len;
    return at;
}

alm_status alm_pg_put_record(alm_ctx *cx, alm_str text, alm_buf *out)
{
    const size_t start = out->len;
    const char *at = text.ptr, *const end = text.ptr + text.len;
    uint32_t n = 0;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD));
    out->len += HEAD;
    while (at < end && (*at == '(' || *at == ',')) {
        at++;
        ALM_TRY(alm_buf_reserve(cx, out, PER_FIELD + (size_t)(end - at)));
        at = put_field(at, end, out);
        n++;
    }
    alm_be_put32(out->ptr + start, (uint32_t)(out->len - start - 4));
    alm_be_put32(out->ptr + start + 4, n);
    return ALM_OK;
}
