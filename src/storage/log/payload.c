/*
 * payload.c - numbers, texts and operations as bytes, and back (payload.h).
 */
#include "storage/log/payload.h"

#include <string.h>

/* -------------------------------------------------------------------- writing */

alm_status alm_put_u32(alm_ctx *cx, alm_buf *buf, uint32_t value)
{
    return alm_buf_append(cx, buf, &value, sizeof value);
}

alm_status alm_put_u64(alm_ctx *cx, alm_buf *buf, uint64_t value)
{
    return alm_buf_append(cx, buf, &value, sizeof value);
}

alm_status alm_put_i64(alm_ctx *cx, alm_buf *buf, int64_t value)
{
    return alm_buf_append(cx, buf, &value, sizeof value);
}

alm_status alm_put_text(alm_ctx *cx, alm_buf *buf, alm_str text)
{
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)text.len));
    return text.len > 0 ? alm_buf_append(cx, buf, text.ptr, text.len) : ALM_OK;
}

alm_status alm_put_padding(alm_ctx *cx, alm_buf *buf, size_t written)
{
    static const char zeros[8];
    const size_t n = (8 - written % 8) % 8;
    return n > 0 ? alm_buf_append(cx, buf, zeros, n) : ALM_OK;
}

alm_status alm_op_begin(alm_ctx *cx, alm_buf *buf, alm_op_kind kind, size_t *mark)
{
    *mark = buf->len;
    ALM_ASSERT(buf->len % 8 == 0);
    ALM_TRY(alm_put_u32(cx, buf, (uint32_t)kind));
    ALM_TRY(alm_put_u32(cx, buf, kind == ALM_OP_PARTS ? ALM_PARTS_FORM : 0));
    return alm_put_u64(cx, buf, 0);
}

alm_status alm_op_end(alm_ctx *cx, alm_buf *buf, size_t mark)
{
    const uint64_t body = buf->len - mark - 16;
    ALM_TRY(alm_put_padding(cx, buf, body));
    memcpy(buf->ptr + mark + 8, &body, sizeof body);
    return ALM_OK;
}

/* -------------------------------------------------------------------- reading */

const char *alm_get_bytes(alm_reader *reader, uint64_t n)
{
    if (reader->bad || n > (uint64_t)(reader->end - reader->at)) {
        reader->bad = true;
        return NULL;
    }
    const char *ptr = reader->at;
    reader->at += n;
    return ptr;
}

uint8_t alm_get_u8(alm_reader *reader)
{
    const char *ptr = alm_get_bytes(reader, 1);
    return ptr == NULL ? 0 : (uint8_t)*ptr;
}

uint32_t alm_get_u32(alm_reader *reader)
{
    uint32_t value = 0;
    const char *ptr = alm_get_bytes(reader, sizeof value);
    if (ptr != NULL)
        memcpy(&value, ptr, sizeof value);
    return value;
}

uint64_t alm_get_u64(alm_reader *reader)
{
    uint64_t value = 0;
    const char *ptr = alm_get_bytes(reader, sizeof value);
    if (ptr != NULL)
        memcpy(&value, ptr, sizeof value);
    return value;
}

int64_t alm_get_i64(alm_reader *reader)
{
    int64_t value = 0;
    const char *ptr = alm_get_bytes(reader, sizeof value);
    if (ptr != NULL)
        memcpy(&value, ptr, sizeof value);
    return value;
}

alm_str alm_get_text(alm_reader *reader)
{
    const uint32_t len = alm_get_u32(reader);
    const char *ptr = alm_get_bytes(reader, len);
    return ptr == NULL ? (alm_str){"", 0} : (alm_str){ptr, len};
}

bool alm_get_op(alm_reader *reader, alm_op_kind *kind, alm_reader *body)
{
    if (reader->bad || reader->at == reader->end)
        return false;
    const uint32_t k = alm_get_u32(reader);
    const uint32_t form = alm_get_u32(reader);
    const uint64_t n = alm_get_u64(reader);
    const char *ptr = n > (uint64_t)1 << 62 ? NULL : alm_get_bytes(reader, alm_padded(n));
    if (ptr == NULL || k < ALM_OP_ROWS || k > ALM_OP_LAST ||
        form > (k == ALM_OP_PARTS ? ALM_PARTS_FORM : 0)) {
        reader->bad = true;
        return false;
    }
    *kind = (alm_op_kind)k;
    *body = (alm_reader){.at = ptr, .end = ptr + n, .form = form};
    return true;
}
