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
ALM_NODISCARD static inline alm_status alm_joined_room(const alm_call *call, alm_joined *joined,
                                                       size_t more, char **dest)
{
    enum { LONG_BYTES = 4096 };
    const size_t need = joined->len + more;
    if (more >= LONG_BYTES)
        ALM_TRY(alm_text_work(call->cx, more));
    if (need > joined->cap) {
        ALM_TRY(alm_text_bounded(call, need));
        const size_t cap =
            ALM_MAX(need, ALM_MIN(joined->cap * 2 + 32, alm_text_bytes_max(call->cx)));
        char *wider = NULL;
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &wider));
        ALM_TRY(alm_text_work(call->cx, joined->len));
        if (joined->len > 0)
            memcpy(wider, joined->ptr, joined->len);
        joined->ptr = wider;
        joined->cap = cap;
    }
    *dest =
        joined->ptr == NULL ? NULL : joined->ptr + joined->len; /* NULL: no bytes are asked for */
    return ALM_OK;
}

/* A text with `by` between it and what is there. */
ALM_NODISCARD static inline alm_status alm_joined_add(const alm_call *call, alm_joined *joined,
                                                      alm_str by, alm_str text, uint32_t pieces)
{
    const size_t gap = joined->count > 0 ? by.len : 0;
    char *dest = NULL;
    ALM_TRY(alm_joined_room(call, joined, gap + text.len, &dest));
    if (gap > 0)
        memcpy(dest, by.ptr, gap);
    if (text.len > 0)
        memcpy(dest + gap, text.ptr, text.len);
    joined->len += gap + text.len;
    joined->count += pieces;
    return ALM_OK;
}

#endif
