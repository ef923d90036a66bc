/*
 * joined.h - aggregate states that grow a text: string_agg, array_agg.
 */
#ifndef ALM_FUNC_JOINED_H
#define ALM_FUNC_JOINED_H

#include "func/value/text_out.h"

typedef struct alm_joined {
    char *ptr; /* in the arena of the call */
    size_t len, cap;
    uint32_t count; /* pieces in it */
} alm_joined;

/* Room for `more` bytes behind what is there; *to is where they go. Nothing is taken. */
ALM_NODISCARD static inline alm_status alm_joined_room(const alm_call *call, alm_joined *s,
                                                       size_t more, char **to)
{
    enum { LONG_BYTES = 4096 };
    const size_t need = s->len + more;
    if (more >= LONG_BYTES)
        ALM_TRY(alm_text_work(call->cx, more));
    if (need > s->cap) {
        ALM_TRY(alm_text_bounded(call, need));
        const size_t cap = ALM_MAX(need, ALM_MIN(s->cap * 2 + 32, alm_text_bytes_max(call->cx)));
        char *wider = NULL;
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &wider));
        ALM_TRY(alm_text_work(call->cx, s->len));
        if (s->len > 0)
            memcpy(wider, s->ptr, s->len);
        s->ptr = wider;
        s->cap = cap;
    }
    *to = s->ptr == NULL ? NULL : s->ptr + s->len; /* NULL: no bytes are asked for */
    return ALM_OK;
}

/* A text with `by` between it and what is there. */
ALM_NODISCARD static inline alm_status alm_joined_add(const alm_call *call, alm_joined *s,
                                                      alm_str by, alm_str text, uint32_t pieces)
{
    const size_t gap = s->count > 0 ? by.len : 0;
    char *to = NULL;
    ALM_TRY(alm_joined_room(call, s, gap + text.len, &to));
    if (gap > 0)
        memcpy(to, by.ptr, gap);
    if (text.len > 0)
        memcpy(to + gap, text.ptr, text.len);
    s->len += gap + text.len;
    s->count += pieces;
    return ALM_OK;
}

#endif
