/*
 * buf.c - growable bytes on the heap. Capacity doubles; the account is charged before growing, so a
 * refused charge leaves the buffer as it was.
 */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAP_MIN = 256 };

void alm_buf_init(alm_buf *buf, alm_mem *mem)
{
    *buf = (alm_buf){.mem = mem};
}

void alm_buf_deinit(alm_buf *buf)
{
    free(buf->ptr);
    if (buf->mem != NULL)
        alm_mem_release(buf->mem, (int64_t)buf->cap);
    alm_buf_init(buf, buf->mem);
}

alm_status alm_buf_reserve(alm_ctx *cx, alm_buf *buf, size_t more_bytes)
{
    if (more_bytes <= buf->cap - buf->len)
        return ALM_OK;
    if (more_bytes > (size_t)INT64_MAX / 4 - buf->len)
        return alm_fail(cx, ALM_E_MEMORY, -1, "a buffer of %zu bytes is too large", more_bytes);
    size_t cap = ALM_MAX(buf->cap + buf->cap / 2, (size_t)CAP_MIN);
    cap = ALM_MAX(cap, buf->len + more_bytes);
    cap = (cap + 63) & ~(size_t)63;
    const int64_t grown_bytes = (int64_t)(cap - buf->cap);
    if (buf->mem != NULL)
        ALM_TRY(alm_mem_charge(cx, buf->mem, grown_bytes, "buffer"));
    char *ptr = realloc(buf->ptr, cap);
    if (ptr == NULL) {
        if (buf->mem != NULL)
            alm_mem_release(buf->mem, grown_bytes);
        return alm_fail(cx, ALM_E_MEMORY, -1, "the machine has no memory left for %zu bytes", cap);
    }
    buf->ptr = ptr;
    buf->cap = cap;
    return ALM_OK;
}

alm_buf alm_buf_renew(alm_buf *buf)
{
    alm_ctx cx = {0};
    const alm_buf old = *buf;
    alm_buf_init(buf, old.mem);
    if (alm_buf_reserve(&cx, buf, old.cap) != ALM_OK)
        alm_buf_init(buf, old.mem);
    return old;
}

alm_status alm_buf_printf(alm_ctx *cx, alm_buf *buf, const char *format, ...)
{
    ALM_TRY(alm_buf_reserve(cx, buf, 128));
    const size_t room = buf->cap - buf->len;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(buf->ptr + buf->len, room, format, args);
    va_end(args);
    if (n < 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "bad format '%s'", format);
    if ((size_t)n >= room) {
        ALM_TRY(alm_buf_reserve(cx, buf, (size_t)n + 1));
        va_start(args, format);
        (void)vsnprintf(buf->ptr + buf->len, (size_t)n + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)n;
    return ALM_OK;
}
