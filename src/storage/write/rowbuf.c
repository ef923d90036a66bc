/*
 * rowbuf.c - rows in memory, column by column, until they are enough for a part.
 *
 * Method      Chunks grow from 1 k to 64 k rows, so that thousands of partitions with few rows each
 *             stay small; within a chunk a column is one array. Copies are loops over a column, never
 *             over a row.
 */
#include <stdlib.h>

#include "storage/write/bulk.h"
#include "type/int256.h"

enum { FIRST_ROWS = 1024, CHUNK_ROWS = 65536 };

void alm_rowbuf_init(alm_rowbuf *buf, const alm_schema *schema)
{
    *buf = (alm_rowbuf){.schema = schema};
    alm_arena_init(&buf->texts, NULL);
}

void alm_rowbuf_clear(alm_rowbuf *buf)
{
    for (size_t i = 0; i < buf->n_chunks; i++)
        free((void *)(uintptr_t)buf->chunks[i].cols); /* columns and their data are one block */
    free(buf->chunks);
    alm_arena_deinit(&buf->texts);
    alm_rowbuf_init(buf, buf->schema);
}

static size_t rowbuf_aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* A chunk of `rows` rows as the last one. */
static alm_status rowbuf_add_chunk(alm_ctx *cx, alm_rowbuf *buf, uint32_t rows)
{
    const alm_schema *schema = buf->schema;
    if (buf->n_chunks == buf->cap_chunks) {
        const size_t cap = buf->cap_chunks == 0 ? 8 : buf->cap_chunks * 2;
        alm_part_chunk *grown = realloc(buf->chunks, cap * sizeof(*grown));
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "bulk load: no memory for rows");
        buf->chunks = grown;
        buf->cap_chunks = cap;
    }
    size_t bytes = rowbuf_aligned(schema->n_cols * sizeof(alm_vec));
    for (uint32_t col = 0; col < schema->n_cols; col++)
        bytes += rowbuf_aligned((size_t)rows * alm_type_width(schema->cols[col].type));
    uint8_t *block = aligned_alloc(64, bytes);
    if (block == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "bulk load: no memory for %zu bytes", bytes);
    alm_vec *cols = (alm_vec *)(void *)block;
    uint8_t *ptr = block + rowbuf_aligned(schema->n_cols * sizeof(alm_vec));
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        const alm_type type = schema->cols[col].type;
        cols[col] = (alm_vec){.type = type, .width = (uint8_t)alm_type_width(type), .data = ptr};
        ptr += rowbuf_aligned((size_t)rows * cols[col].width);
    }
    buf->chunks[buf->n_chunks++] = (alm_part_chunk){.rows = 0, .cols = cols};
    buf->room = rows;
    buf->bytes += (int64_t)bytes;
    return ALM_OK;
}

#define DEFINE_TAKE(name, type)                                                                    \
    static void name(const alm_vec *in, const uint32_t *restrict idx, uint32_t n,                  \
                     type *restrict out)                                                           \
    {                                                                                              \
        const type *restrict from = in->data;                                                      \
        for (uint32_t i = 0; i < n; i++)                                                           \
            out[i] = from[idx[i]];                                                                 \
    }
typedef struct wide {
    uint64_t half[2];
} wide;
DEFINE_TAKE(take_8, uint8_t)
DEFINE_TAKE(take_16, uint16_t)
DEFINE_TAKE(take_32, uint32_t)
DEFINE_TAKE(take_64, uint64_t)
DEFINE_TAKE(take_wide, wide)
DEFINE_TAKE(take_256, alm_i256)

static void rowbuf_copy_fixed(const alm_vec *vec, const uint32_t *idx, uint32_t first,
                              uint32_t n_rows, uint32_t width, void *out)
{
    if (vec->is_const) {
        for (uint32_t i = 0; i < n_rows; i++)
            memcpy((char *)out + (size_t)i * width, vec->data, width);
    } else if (idx == NULL) {
        memcpy(out, (const char *)vec->data + (size_t)first * width, (size_t)n_rows * width);
    } else if (width == 1) {
        take_8(vec, idx, n_rows, out);
    } else if (width == 2) {
        take_16(vec, idx, n_rows, out);
    } else if (width == 4) {
        take_32(vec, idx, n_rows, out);
    } else if (width == 8) {
        take_64(vec, idx, n_rows, out);
    } else if (width == 32) {
        take_256(vec, idx, n_rows, out);
    } else {
        ALM_DASSERT(width == 16);
        take_wide(vec, idx, n_rows, out);
    }
}

/* Views that were copied with offsets of the batch's heap: long texts move into the buffer. */
static alm_status rowbuf_own_texts(alm_ctx *cx, alm_rowbuf *buf, const char *heap, alm_view *views,
                                   uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        char *copy = NULL;
        ALM_TRY(alm_arena_bytes(cx, &buf->texts, views[i].len, &copy));
        memcpy(copy, alm_view_ptr(&views[i], heap), views[i].len);
        views[i].off = (uint64_t)(uintptr_t)copy;
        buf->bytes += views[i].len;
    }
    return ALM_OK;
}

static alm_status append_run(alm_ctx *cx, alm_rowbuf *buf, const alm_vec *cols, const uint32_t *idx,
                             uint32_t first, uint32_t n)
{
    alm_part_chunk *chunk = &buf->chunks[buf->n_chunks - 1];
    for (uint32_t col = 0; col < buf->schema->n_cols; col++) {
        const alm_vec *to = &chunk->cols[col];
        void *out = (char *)to->data + (size_t)chunk->rows * to->width;
        rowbuf_copy_fixed(&cols[col], idx, first, n, to->width, out);
        if (alm_type_has_heap(to->type))
            ALM_TRY(rowbuf_own_texts(cx, buf, cols[col].heap, out, n));
    }
    chunk->rows += n;
    buf->room -= n;
    buf->rows += n;
    return ALM_OK;
}

alm_status alm_rowbuf_append(alm_ctx *cx, alm_rowbuf *buf, const alm_vec *cols, const uint32_t *idx,
                             uint32_t first, uint32_t n_rows)
{
    for (uint32_t done = 0; done < n_rows;) {
        if (buf->room == 0) {
            const uint32_t last = buf->n_chunks == 0 ? 0 : buf->chunks[buf->n_chunks - 1].rows;
            const uint32_t rows =
                ALM_MIN(ALM_MAX(last * 2, (uint32_t)FIRST_ROWS), (uint32_t)CHUNK_ROWS);
            ALM_TRY(rowbuf_add_chunk(cx, buf, rows));
        }
        const uint32_t m = ALM_MIN(n_rows - done, buf->room);
        ALM_TRY(append_run(cx, buf, cols, idx == NULL ? NULL : idx + done, first + done, m));
        done += m;
    }
    return ALM_OK;
}
