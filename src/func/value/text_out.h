/*
 * text_out.h - where kernels put the text they make: views into blocks of the call's arena.
 *
 * Texts of up to 12 bytes live in the view. Longer ones are cut from blocks that grow up to 64 KiB: a batch costs a few
 * allocations, and a constant, of which a statement may have many, not much more than its text. Views are in address form; the result vector has no heap.
 *
 * Bound       No text is made for which a function asks more room than query.text.bytes.max: functions look at the time limit between
 *             texts, or seldom within one, so that the time for one text must be short; and nested calls double a text each.
 */
#ifndef ALM_FUNC_TEXT_OUT_H
#define ALM_FUNC_TEXT_OUT_H

#include "func/registry.h"

/* query.text.bytes.max */
size_t alm_text_bytes_max(const alm_ctx *cx);
/* ALM_E_LIMIT: `bytes` is above it. */
ALM_NODISCARD alm_status alm_text_bounded(const alm_call *call, size_t bytes);

typedef struct alm_text_out {
    const alm_call *call;
    alm_ctx *cx;
    alm_arena *arena;
    char *at, *end;
    size_t block; /* bytes of the last one */
} alm_text_out;

enum { ALM_TEXT_BLOCK_LEAST = 256, ALM_TEXT_BLOCK_BYTES = 64 * 1024 };

static inline alm_text_out alm_text_out_of(const alm_call *call)
{
    return (alm_text_out){.call = call, .cx = call->cx, .arena = call->arena};
}

/* Room for `bytes`, ALM_E_LIMIT if that is above query.text.bytes.max; *ptr stays valid with the arena. Nothing is taken until alm_text_take. */
ALM_NODISCARD static inline alm_status alm_text_room(alm_text_out *writer, size_t bytes, char **ptr)
{
    if (writer->at == NULL ||
        (size_t)(writer->end - writer->at) < bytes) { /* no bytes are a text too */
        writer->block = writer->block == 0
                            ? (size_t)ALM_TEXT_BLOCK_LEAST
                            : ALM_MIN(8 * writer->block, (size_t)ALM_TEXT_BLOCK_BYTES);
        const size_t block = ALM_MAX(bytes, writer->block);
        char *fresh = NULL;
        if (block >= ALM_TEXT_BLOCK_BYTES) { /* the rows of a batch may be long */
            ALM_TRY(alm_text_bounded(writer->call, bytes));
            ALM_TRY(alm_check(writer->cx));
        }
        ALM_TRY(alm_arena_bytes(writer->cx, writer->arena, block, &fresh));
        writer->at = fresh;
        writer->end = fresh + block;
    }
    *ptr = writer->at;
    return ALM_OK;
}

/* The first `len` bytes of the room are a text. */
static inline alm_view alm_text_take(alm_text_out *writer, size_t len)
{
    const alm_view view = alm_view_of((alm_str){writer->at, len});
    if (len > ALM_VIEW_INLINE)
        writer->at += len;
    return view;
}

/* A copy of text that does not live long enough by itself. */
ALM_NODISCARD static inline alm_status alm_text_copy(alm_text_out *writer, alm_str text,
                                                     alm_view *out)
{
    if (text.ptr != NULL && text.len > ALM_VIEW_INLINE) {
        char *ptr;
        ALM_TRY(alm_text_room(writer, text.len, &ptr));
        memcpy(ptr, text.ptr, text.len);
        *out = alm_text_take(writer, text.len);
    } else {
        *out = alm_view_of(text);
    }
    return ALM_OK;
}

#endif
