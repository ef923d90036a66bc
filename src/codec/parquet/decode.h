/*
 * decode.h - the encodings of values and levels, as streams: n at a time, or n left out. Private to
 * codec/parquet.
 *
 * Shapes      Physical values: BOOLEAN a byte, INT32 FLOAT 4 bytes, INT64 DOUBLE 8, INT96 12, FIXED its length,
 *             BYTE_ARRAY a view in address form. Bytes of views lie in the page, or in the arena given.
 * Errors      NULL, or the reason; reading never goes beyond `end`. What a stream says about its length is
 *             not believed: memory is that of the values asked for.
 * Source      Encodings.md of parquet-format.
 */
#ifndef ALM_CODEC_PARQUET_DECODE_H
#define ALM_CODEC_PARQUET_DECODE_H

#include "codec/parquet/reader_state.h"

/* Runs of equal numbers and packed ones (RLE), or only packed ones from the highest bit (BIT_PACKED). */
typedef struct alm_pq_runs {
    const uint8_t *at, *end;
    uint32_t width;         /* bits, 0..32 */
    bool high_first;        /* BIT_PACKED */
    uint64_t equal, packed; /* numbers left in the run */
    uint32_t value;         /* of `equal` */
    uint32_t bit;           /* of `packed`: bits of *at that are used up */
} alm_pq_runs;

void alm_pq_runs_init(alm_pq_runs *runs, const uint8_t *ptr, const uint8_t *end, uint32_t width);
/* False: the bytes end before. out NULL: left out. */
bool alm_pq_runs_take(alm_pq_runs *runs, size_t n, uint32_t *out);
/* Levels: numbers below 256. *all: they all are `full`, and `out` was not written. */
bool alm_pq_runs_levels(alm_pq_runs *runs, size_t n, uint32_t full, uint8_t *out, bool *all);

/* DELTA_BINARY_PACKED. */
typedef struct alm_pq_delta {
    const uint8_t *at, *end;
    uint64_t left;               /* values still to come */
    uint64_t value;              /* the last one; sums wrap */
    uint64_t min;                /* of the block */
    uint32_t block, minis, mini; /* values of a block, miniblocks in it, values of one */
    const uint8_t *widths;
    uint32_t next_mini; /* of the block */
    uint32_t in_mini;   /* values left in the miniblock */
    uint32_t width, bit;
    bool first;
} alm_pq_delta;

const char *alm_pq_delta_init(alm_pq_delta *delta, const uint8_t *ptr, const uint8_t *end);
const char *alm_pq_delta_take(alm_pq_delta *delta, size_t n, int64_t *out);
/* Where the stream ends; delta has been taken from no value yet. */
const char *alm_pq_delta_end(const alm_pq_delta *delta, const uint8_t **end);

typedef struct alm_pq_decoder {
    const alm_pq_leaf *leaf;
    uint32_t encoding; /* alm_pq_encoding */
    const uint8_t *at, *end, *base;
    size_t stride;    /* of BYTE_STREAM_SPLIT: values of the page */
    size_t taken;     /* of it, and of PLAIN booleans */
    alm_pq_runs runs; /* dictionary, RLE booleans */
    alm_pq_delta delta, suffix;
    alm_buf *last; /* the value before, of DELTA_BYTE_ARRAY */
} alm_pq_decoder;

/* The values of a page; not of a dictionary. `last` is the caller's, emptied. */
const char *alm_pq_decoder_init(alm_pq_decoder *decoder, const alm_pq_leaf *leaf, int32_t encoding,
                                const uint8_t *ptr, const uint8_t *end, alm_buf *last);
/* out NULL: left out. */
ALM_NODISCARD alm_status alm_pq_decode(alm_ctx *cx, alm_arena *arena, alm_pq_decoder *decoder,
                                       size_t n, void *out, const char **bad);

/* A view of n bytes, of which `room` >= n can be read. */
static inline alm_view alm_pq_view(const uint8_t *ptr, uint32_t n, size_t room)
{
    alm_view view = {.len = n};
    if (n > ALM_VIEW_INLINE) {
        memcpy(view.prefix, ptr, sizeof view.prefix);
        view.off = (uint64_t)(uintptr_t)ptr;
    } else if (room >= ALM_VIEW_INLINE) {
        uint32_t a;
        uint64_t b;
        memcpy(&a, ptr, sizeof a);
        memcpy(&b, ptr + sizeof a, sizeof b);
        a &= n >= 4 ? UINT32_MAX : (1U << (8 * n)) - 1;
        b &= n <= 4 ? 0 : UINT64_MAX >> (8 * (ALM_VIEW_INLINE - n));
        memcpy(view.prefix, &a, sizeof a);
        memcpy(view.tail, &b, sizeof b);
    } else if (n > 0) {
        char input[ALM_VIEW_INLINE] = {0};
        memcpy(input, ptr, n);
        memcpy(view.prefix, input, sizeof view.prefix);
        memcpy(view.tail, input + sizeof view.prefix, sizeof view.tail);
    }
    return view;
}

#endif
