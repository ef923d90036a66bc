/*
 * payload.c - numbers, texts and operations as bytes, and back (payload.h).
 */
#include "storage/log/payload.h"

#include <string.h>

/* -------------------------------------------------------------------- writing */

alm_status alm_put_u32(alm_ctx *cx, alm_buf *buf, uint32_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
}

alm_status alm_put_u64(alm_ctx *cx, alm_buf *buf, uint64_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
}

alm_status alm_put_i64(alm_ctx *cx, alm_buf *buf, int64_t v)
{
    return alm_buf_append(cx, buf, &v, sizeof v);
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

const char *alm_get_bytes(alm_reader *r, uint64_t n)
{
    if (r->bad || n > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return NULL;
    }
    const char *at = r->at;
    r->at += n;
    return at;
}

uint8_t alm_get_u8(alm_reader *r)
{
    const char *at = alm_get_bytes(r, 1);
    return at == NULL ? 0 : (uint8_t)*at;
}

uint32_t alm_get_u32(alm_reader *r)
{
    uint32_t v = 0;
    const char *at = alm_get_bytes(r, sizeof v);
    if (at != NULL)
        memcpy(&v, at, sizeof v);
    return v;
}

uint64_t alm_get_u64(alm_reader *r)
{
    uint64_t v = 0;
    const char *at = alm_get_bytes(r, sizeof v);
    if (at != NULL)
        memcpy(&v, at, sizeof v);
    return v;
}

int64_t alm_get_i64(alm_reader *r)
{
    int64_t v = 0;
    const char *at = alm_get_bytes(r, sizeof v);
    if (at != NULL)
        memcpy(&v, at, sizeof v);
    return v;
}

alm_str alm_get_text(alm_reader *r)
{
    const uint32_t len = alm_get_u32(r);
    const char *at = alm_get_bytes(r, len);
    return at == NULL ? (alm_str){"", 0} : (alm_str){at, len};
}

bool alm_get_op(alm_reader *r, alm_op_kind *kind, alm_reader *body)
{
    if (r->bad || r->at == r->end)
        return false;
    const uint32_t k = alm_get_u32(r);
    const uint32_t form = alm_get_u32(r);
    const uint64_t n = alm_get_u64(r);
    const char *at = n > (uint64_t)1 << 62 ? NULL : alm_get_bytes(r, alm_padded(n));
    if (at == NULL || k < ALM_OP_ROWS || k > ALM_OP_LAST ||
        form > (k == ALM_OP_PARTS ? ALM_PARTS_FORM : 0)) {
        r->bad = true;
        return false;
    }
    *kind = (alm_op_kind)k;
    *body = (alm_reader){.at = at, .end = at + n, .form = form};
    return true;
}
