/* write_bloom.c - see write_bloom.h. */
#include "codec/parquet/write_bloom.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec/parquet/meta_write.h"

enum { BLOCK_WORDS = 8, BLOCK_BYTES = 32, LEAST = 32, MOST = 1 << 20, BITS_PER_VALUE = 10 };

static const uint32_t salt[BLOCK_WORDS] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                           0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};

typedef struct filter {
    uint32_t *word;
    uint64_t blocks;
} filter;

/* The filter is the end of `out`. */
static alm_status write_bloom_begin(alm_ctx *cx, alm_arena *arena, uint32_t n, alm_buf *out,
                                    filter *self)
{
    uint64_t bytes = LEAST;
    while (bytes < MOST && bytes * 8 < (uint64_t)n * BITS_PER_VALUE)
        bytes *= 2;
    ALM_TRY(alm_pq_write_bloom_header(cx, (int32_t)bytes, out));
    self->blocks = bytes / BLOCK_BYTES;
    return alm_arena_zero(cx, arena, bytes, &self->word);
}

static void write_bloom_add(filter *self, const void *bytes, size_t n)
{
    const uint64_t hash = XXH64(bytes, n, 0);
    uint32_t *block = self->word + ((hash >> 32) * self->blocks >> 32) * BLOCK_WORDS;
    for (uint32_t i = 0; i < BLOCK_WORDS; i++)
        block[i] |= UINT32_C(1) << ((uint32_t)hash * salt[i] >> 27);
}

alm_status alm_pq_bloom_of(alm_ctx *cx, alm_arena *arena, const void *data, uint32_t width,
                           uint32_t n, alm_buf *out)
{
    filter self;
    ALM_TRY(write_bloom_begin(cx, arena, n, out, &self));
    for (uint32_t i = 0; i < n; i++)
        write_bloom_add(&self, (const char *)data + (size_t)i * width, width);
    return alm_buf_append(cx, out, self.word, self.blocks * BLOCK_BYTES);
}

alm_status alm_pq_bloom_of_texts(alm_ctx *cx, alm_arena *arena, const char *bytes,
                                 const uint32_t *len, uint32_t n, alm_buf *out)
{
    filter self;
    ALM_TRY(write_bloom_begin(cx, arena, n, out, &self));
    for (uint32_t i = 0; i < n; i++) {
        write_bloom_add(&self, bytes, len[i]);
        bytes += len[i];
    }
    return alm_buf_append(cx, out, self.word, self.blocks * BLOCK_BYTES);
}
