/*
 * chunk_copy.c - rows from chunks to chunks, column by column (head.h).
 *
 * Method      Rows that follow each other in the order of time are of many chunks where they came late: reading them one after another
 *             waits for memory, and for the table of pages, with each value. So rows of a chunk that is filled are sorted by their source
 *             first; values of a column are read source by source, with those that come next fetched ahead, into an array that a
 *             cache holds, and go to their places from there. That saves a third of the time where a source gives ten rows.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/state.h"
#include "storage/version/head.h"

/* ------------------------------------------------------------------- one column */

typedef struct wide {
    uint64_t half[2];
} wide;

typedef struct wider {
    uint64_t word[4];
} wider;

#define FOR_WIDTH(width, DO)                                                                       \
    do {                                                                                           \
        switch (width) {                                                                           \
        case 1:                                                                                    \
            DO(uint8_t);                                                                           \
            break;                                                                                 \
        case 2:                                                                                    \
            DO(uint16_t);                                                                          \
            break;                                                                                 \
        case 4:                                                                                    \
            DO(uint32_t);                                                                          \
            break;                                                                                 \
        case 8:                                                                                    \
            DO(uint64_t);                                                                          \
            break;                                                                                 \
        case 16:                                                                                   \
            DO(wide);                                                                              \
            break;                                                                                 \
        default:                                                                                   \
            ALM_ASSERT((width) == sizeof(wider));                                                  \
            DO(wider);                                                                             \
        }                                                                                          \
    } while (0)

#define VALUE_OF(type, row) (&((const type *)from[(row) >> 32])[(uint32_t)(row)])
#define GATHER(type)                                                                               \
    do {                                                                                           \
        type *restrict to_ = to;                                                                   \
        for (uint32_t i_ = 0; i_ < n; i_++)                                                        \
            to_[i_] = *VALUE_OF(type, order[i_]);                                                  \
    } while (0)

static void chunk_copy_gather(void *to, const void *const *from, const uint64_t *order, uint32_t n,
                              size_t width)
{
    FOR_WIDTH(width, GATHER);
}

/* Rows by source: one in STEP says what is needed soon, for its neighbours are near in memory. */
enum { AHEAD = 256, STEP = 4 };
#define COLLECT(type)                                                                              \
    do {                                                                                           \
        type *restrict to_ = to;                                                                   \
        uint32_t i_ = 0;                                                                           \
        for (; (uint64_t)i_ + AHEAD < n; i_ += STEP) {                                             \
            __builtin_prefetch(VALUE_OF(type, order[i_ + AHEAD]));                                 \
            for (uint32_t k_ = 0; k_ < STEP; k_++)                                                 \
                to_[i_ + k_] = *VALUE_OF(type, order[i_ + k_]);                                    \
        }                                                                                          \
        for (; i_ < n; i_++)                                                                       \
            to_[i_] = *VALUE_OF(type, order[i_]);                                                  \
    } while (0)

static void chunk_copy_collect(void *to, const void *const *from, const uint64_t *order, uint32_t n,
                               size_t width)
{
    FOR_WIDTH(width, COLLECT);
}

#define PLACE(type)                                                                                \
    do {                                                                                           \
        type *restrict to_ = to;                                                                   \
        const type *restrict from_ = from;                                                         \
        for (uint32_t i_ = 0; i_ < n; i_++)                                                        \
            to_[i_] = from_[at[i_]];                                                               \
    } while (0)

static void chunk_copy_place(void *to, const void *from, const uint32_t *at, uint32_t n,
                             size_t width)
{
    FOR_WIDTH(width, PLACE);
}

alm_status alm_chunk_own_text(alm_ctx *cx, alm_chunk *to, alm_view *views, uint32_t n)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!alm_view_is_null(&views[i]) && views[i].len > ALM_VIEW_INLINE)
            bytes += views[i].len;
    if (bytes == 0)
        return ALM_OK;
    char *text = NULL;
    ALM_TRY(alm_chunk_text(cx, to, bytes, &text));
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        memcpy(text, alm_view_ptr(&views[i], NULL), views[i].len);
        views[i].off = (uintptr_t)text;
        text += views[i].len;
    }
    return ALM_OK;
}

/* One column that all sources have (from[s] != NULL). */
static void copy_column(void *dest, const void *const *from, const uint64_t *order, uint32_t first,
                        uint32_t n, size_t width)
{
    if (order != NULL)
        chunk_copy_gather(dest, from, order, n, width);
    else
        memcpy(dest, (const char *)from[0] + first * width, n * width);
}

/* One column that some sources lack. */
static alm_status copy_with_gaps(alm_ctx *cx, alm_chunk *to, uint32_t col, uint32_t at,
                                 const void *const *from, const uint64_t *order, uint32_t first,
                                 uint32_t n)
{
    const size_t width = alm_type_width(to->schema->cols[col].type);
    ALM_TRY(alm_chunk_null(cx, to, col, at, n));
    char *out = (char *)to->cols[col] + at * width;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t row = order != NULL ? order[i] : first + i;
        const char *src = from[row >> 32];
        if (src != NULL)
            memcpy(out + i * width, src + (uint32_t)row * width, width);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ all columns */

alm_status alm_sources_new(alm_ctx *cx, const alm_schema *schema, alm_chunk *const *chunks,
                           uint32_t n_chunks, alm_sources *out)
{
    alm_sources sources = {.schema = schema, .n = n_chunks};
    const size_t places = (size_t)schema->n_cols * n_chunks;
    ALM_TRY(alm_heap_bytes(cx,
                           places * sizeof *sources.cols + schema->n_cols * sizeof *sources.gaps,
                           "a merge", &sources.cols));
    sources.gaps = (bool *)(void *)(sources.cols + places);
    for (uint32_t i = 0; i < n_chunks; i++)
        for (uint32_t c = 0; c < schema->n_cols; c++) {
            const alm_chunk *src = chunks[i];
            const int32_t pos = src->schema == schema
                                    ? (int32_t)c
                                    : alm_schema_find(src->schema, schema->cols[c].id);
            const void *col = pos >= 0 && (uint32_t)pos < src->n_cols ? src->cols[pos] : NULL;
            sources.cols[(size_t)c * n_chunks + i] = col;
            sources.gaps[c] |= col == NULL;
        }
    *out = sources;
    return ALM_OK;
}

void alm_sources_free(alm_sources *sources)
{
    free((void *)sources->cols);
    *sources = (alm_sources){0};
}

alm_status alm_sources_copy(alm_ctx *cx, const alm_sources *sources, alm_chunk *to, uint32_t at,
                            const uint64_t *order, uint32_t first, uint32_t n)
{
    ALM_ASSERT(at + n <= to->cap && to->schema == sources->schema);
    for (uint32_t col = 0; col < to->n_cols; col++) {
        const alm_type type = to->schema->cols[col].type;
        const size_t width = alm_type_width(type);
        const void *const *from = sources->cols + (size_t)col * sources->n;
        char *out = (char *)to->cols[col] + at * width;
        if (sources->gaps[col])
            ALM_TRY(copy_with_gaps(cx, to, col, at, from, order, first, n));
        else
            copy_column(out, from, order, first, n, width);
        if (alm_type_holds_views(type))
            ALM_TRY(alm_chunk_own_text(cx, to, (alm_view *)(void *)out, n));
    }
    return ALM_OK;
}

alm_status alm_chunk_copy(alm_ctx *cx, alm_chunk *to, uint32_t at, alm_chunk *const *sources,
                          uint32_t n_sources, const uint64_t *order, uint32_t first, uint32_t n)
{
    alm_sources s;
    ALM_TRY(alm_sources_new(cx, to->schema, sources, n_sources, &s));
    const alm_status status = alm_sources_copy(cx, &s, to, at, order, first, n);
    alm_sources_free(&s);
    return status;
}

/* ------------------------------------------------------------ rows of many sources */

alm_status alm_scatter_new(alm_ctx *cx, const alm_sources *sources, uint32_t rows_max,
                           alm_scatter *out)
{
    size_t width = 1;
    for (uint32_t col = 0; col < sources->schema->n_cols; col++)
        width = ALM_MAX(width, alm_type_width(sources->schema->cols[col].type));
    *out = (alm_scatter){.rows_max = rows_max};
    alm_status status = alm_heap_bytes(cx, rows_max * sizeof *out->rows, "a merge", &out->rows);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, rows_max * sizeof *out->at, "a merge", &out->at);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, sources->n * sizeof *out->ends, "a merge", &out->ends);
    if (status == ALM_OK)
        status = alm_heap_bytes(cx, rows_max * width, "a merge", &out->values);
    if (status != ALM_OK)
        alm_scatter_free(out);
    return status;
}

void alm_scatter_free(alm_scatter *scatter)
{
    free(scatter->rows);
    free(scatter->at);
    free(scatter->ends);
    free(scatter->values);
    *scatter = (alm_scatter){0};
}

/* A counting sort of the rows of an order by their source. */
static void sort_by_source(const alm_sources *sources, alm_scatter *scatter, const uint64_t *order,
                           uint32_t n)
{
    memset(scatter->ends, 0, sources->n * sizeof *scatter->ends);
    for (uint32_t i = 0; i < n; i++)
        scatter->ends[order[i] >> 32]++;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < sources->n; k++) {
        const uint32_t count = scatter->ends[k];
        scatter->ends[k] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = scatter->ends[order[i] >> 32]++;
        scatter->rows[at] = order[i];
        scatter->at[i] = at;
    }
}

alm_status alm_sources_scatter(alm_ctx *cx, const alm_sources *sources, alm_scatter *scatter,
                               alm_chunk *to, const uint64_t *order, uint32_t n)
{
    ALM_ASSERT(n <= to->cap && n <= scatter->rows_max && to->schema == sources->schema);
    sort_by_source(sources, scatter, order, n);
    for (uint32_t col = 0; col < to->n_cols; col++) {
        const alm_type type = to->schema->cols[col].type;
        const size_t width = alm_type_width(type);
        const void *const *from = sources->cols + (size_t)col * sources->n;
        if (sources->gaps[col]) {
            ALM_TRY(copy_with_gaps(cx, to, col, 0, from, order, 0, n));
        } else {
            chunk_copy_collect(scatter->values, from, scatter->rows, n, width);
            chunk_copy_place(to->cols[col], scatter->values, scatter->at, n, width);
        }
        if (alm_type_holds_views(type))
            ALM_TRY(alm_chunk_own_text(cx, to, to->cols[col], n));
    }
    return ALM_OK;
}
