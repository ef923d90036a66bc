/*
 * rows.c - see rows.h. Arrays double; a pick is one typed loop per width.
 */
#include "exec/data/rows.h"

#include "exec/data/blend.h"
#include "exec/data/wide.h"

enum { TEXT_CHUNK = 256 * 1024, ROWS_MIN = 256 };

uint8_t alm_rows_width(alm_type type)
{
    return alm_has_views(type) ? sizeof(alm_view) : (uint8_t)alm_type_width(type);
}

alm_status alm_rows_init(alm_ctx *cx, alm_rows *rows, alm_pool *pool, const alm_plan_col *cols,
                         uint32_t n_cols)
{
    *rows = (alm_rows){.pool = pool, .n_cols = n_cols};
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &rows->col));
    for (uint32_t i = 0; i < n_cols; i++) {
        const alm_type type = cols[i].type;
        rows->col[i] = (alm_rows_col){.type = type, .width = alm_rows_width(type)};
    }
    return ALM_OK;
}

static alm_status data_rows_reserve(alm_ctx *cx, alm_rows *rows, uint32_t more)
{
    if ((uint64_t)rows->n + more >= UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "%s holds too many rows (limit %u)", rows->pool->who,
                        UINT32_MAX - 1);
    if (rows->n + more <= rows->cap)
        return ALM_OK;
    const uint64_t twice = ALM_MAX(2 * (uint64_t)rows->cap, ROWS_MIN);
    const uint32_t cap = (uint32_t)ALM_MIN(ALM_MAX(twice, (uint64_t)rows->n + more), UINT32_MAX);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        alm_rows_col *col = &rows->col[i];
        ALM_TRY(alm_pool_grow(cx, rows->pool, &col->data, (size_t)rows->n * col->width,
                              (size_t)cap * col->width));
    }
    rows->cap = cap;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- symbols */

/* Codes of one dictionary so far; the first batch decides, another dictionary ends it. */
static alm_status data_rows_settle_symbols(alm_ctx *cx, alm_rows *rows, alm_rows_col *col,
                                           const alm_vec *vec)
{
    if (col->type.id != ALM_T_SYMBOL)
        return ALM_OK;
    if (rows->n == 0 && vec->dict != NULL) {
        col->dict = vec->dict;
        col->width = sizeof(uint32_t); /* fits the room made for views */
        return ALM_OK;
    }
    if (col->dict == NULL || (vec->dict != NULL && vec->dict->id == col->dict->id)) {
        if (col->dict != NULL && vec->dict->count > col->dict->count)
            col->dict = vec->dict;
        return ALM_OK;
    }
    const alm_vec codes = {.type = col->type, .width = 4, .data = col->data, .dict = col->dict};
    alm_view *views = NULL;
    ALM_TRY(alm_pool_alloc(cx, rows->pool, (size_t)rows->cap * sizeof *views, &views));
    alm_blend_copy(&codes, rows->n, views, sizeof *views);
    alm_pool_free(rows->pool, col->data);
    col->data = (char *)views;
    col->width = sizeof *views;
    col->dict = NULL;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- text */

static alm_status own_text(alm_ctx *cx, alm_rows *rows, alm_view *views, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        alm_view *view = &views[i];
        if (view->len <= ALM_VIEW_INLINE || view->len == ALM_VIEW_NULL)
            continue;
        if (view->len > rows->text_left) {
            const size_t bytes = ALM_MAX((size_t)TEXT_CHUNK, view->len);
            ALM_TRY(alm_pool_alloc(cx, rows->pool, bytes, &rows->text));
            rows->text_left = bytes;
        }
        memcpy(rows->text, alm_view_ptr(view, NULL), view->len);
        view->off = (uint64_t)(uintptr_t)rows->text;
        rows->text += view->len;
        rows->text_left -= view->len;
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------------- moves */

#define DEFINE_PICK(bits, type)                                                                    \
    static void pick_##bits(const type *restrict from, const uint32_t *restrict pick, uint32_t n,  \
                            type *restrict to)                                                     \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[i] = from[pick[i]];                                                                 \
    }
DEFINE_PICK(8, uint8_t)
DEFINE_PICK(16, uint16_t)
DEFINE_PICK(32, uint32_t)
DEFINE_PICK(64, uint64_t)
DEFINE_PICK(128, alm_wide16)
DEFINE_PICK(256, alm_wide32)

void alm_rows_pick(const void *from, uint8_t width, const uint32_t *pick, uint32_t n, void *dest)
{
    switch (width) {
    case 1:
        pick_8(from, pick, n, dest);
        return;
    case 2:
        pick_16(from, pick, n, dest);
        return;
    case 4:
        pick_32(from, pick, n, dest);
        return;
    case 8:
        pick_64(from, pick, n, dest);
        return;
    case 32:
        pick_256(from, pick, n, dest);
        return;
    default:
        ALM_DASSERT(width == 16);
        pick_128(from, pick, n, dest);
    }
}

/* Codes of any width as 4-byte codes. */
static void copy_codes(const alm_vec *vec, const uint32_t *pick, uint32_t n_picks, uint32_t *dest)
{
    for (uint32_t i = 0; i < n_picks; i++)
        dest[i] = alm_vec_code(vec, pick != NULL ? pick[i] : i);
}

static alm_status data_rows_append_column(alm_ctx *cx, alm_rows *rows, alm_rows_col *col,
                                          const alm_vec *vec, const uint32_t *pick,
                                          uint32_t n_picks)
{
    char *dest = col->data + (size_t)rows->n * col->width;
    if (col->dict != NULL) {
        copy_codes(vec, pick, n_picks, (uint32_t *)(void *)dest);
        return ALM_OK;
    }
    if (pick == NULL || vec->is_const) {
        alm_blend_copy(vec, n_picks, dest, col->width);
    } else if (vec->dict != NULL) {
        for (uint32_t i = 0; i < n_picks; i++)
            ((alm_view *)(void *)dest)[i] = vec->dict->views[alm_vec_code(vec, pick[i])];
    } else {
        ALM_DASSERT(vec->width == col->width);
        alm_rows_pick(vec->data, col->width, pick, n_picks, dest);
        for (uint32_t i = 0; vec->heap != NULL && i < n_picks; i++) {
            alm_view *view = (alm_view *)(void *)dest + i;
            if (view->len > ALM_VIEW_INLINE && view->len != ALM_VIEW_NULL)
                view->off += (uint64_t)(uintptr_t)vec->heap;
        }
    }
    if (alm_has_views(col->type) && vec->dict == NULL)
        return own_text(cx, rows, (alm_view *)(void *)dest, n_picks);
    return ALM_OK;
}

static alm_status append_vectors(alm_ctx *cx, alm_rows *rows, const alm_vec *vecs,
                                 const uint32_t *pick, uint32_t n)
{
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < rows->n_cols; i++)
        ALM_TRY(data_rows_settle_symbols(cx, rows, &rows->col[i], &vecs[i]));
    ALM_TRY(data_rows_reserve(cx, rows, n));
    for (uint32_t i = 0; i < rows->n_cols; i++)
        ALM_TRY(data_rows_append_column(cx, rows, &rows->col[i], &vecs[i], pick, n));
    rows->n += n;
    return ALM_OK;
}

alm_status alm_rows_append(alm_ctx *cx, alm_rows *rows, alm_arena *scratch, alm_batch *batch)
{
    ALM_ASSERT(batch->n_cols >= rows->n_cols);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        alm_vec *dense = NULL;
        ALM_TRY(alm_batch_column(cx, scratch, batch, i, &dense));
    }
    return append_vectors(cx, rows, batch->cols, NULL, batch->rows);
}

alm_status alm_rows_append_picked(alm_ctx *cx, alm_rows *rows, const alm_vec *vecs,
                                  const uint32_t *pick, uint32_t n_rows)
{
    return append_vectors(cx, rows, vecs, pick, n_rows);
}

void alm_rows_slice(const alm_rows *rows, uint32_t col, uint32_t place, alm_vec *out)
{
    const alm_rows_col *rows_col = &rows->col[col];
    *out = (alm_vec){
        .type = rows_col->type,
        .width = rows_col->width,
        .dict = rows_col->dict,
        .data = rows_col->data != NULL ? rows_col->data + (size_t)place * rows_col->width : NULL};
}

alm_status alm_rows_gather(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                           const uint32_t *pick, uint32_t n_rows, alm_vec *out)
{
    return alm_rows_gather_some(cx, rows, arena, pick, n_rows, NULL, out);
}

alm_status alm_rows_gather_some(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                                const uint32_t *pick, uint32_t n, const bool *skip, alm_vec *out)
{
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        const alm_rows_col *col = &rows->col[i];
        void *data = NULL;
        if (skip != NULL && skip[i])
            continue;
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * col->width, &data));
        alm_rows_pick(col->data, col->width, pick, n, data);
        out[i] = (alm_vec){.type = col->type, .width = col->width, .dict = col->dict, .data = data};
    }
    return ALM_OK;
}

alm_status alm_rows_keep(alm_ctx *cx, alm_rows *rows, const uint32_t *pick, uint32_t n)
{
    ALM_ASSERT(n <= rows->n);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        alm_rows_col *col = &rows->col[i];
        char *data = NULL;
        ALM_TRY(alm_pool_alloc(cx, rows->pool, (size_t)rows->cap * col->width, &data));
        alm_rows_pick(col->data, col->width, pick, n, data);
        alm_pool_free(rows->pool, col->data);
        col->data = data;
    }
    rows->n = n;
    return ALM_OK;
}

alm_status alm_rows_keep_moved(alm_ctx *cx, alm_rows *rows, alm_pool *other, alm_arena *scratch,
                               const uint32_t *pick, uint32_t n)
{
    alm_pool *own = rows->pool;
    alm_rows kept = *rows;
    alm_vec *cols = NULL;
    kept.pool = other;
    kept.n = kept.cap = 0;
    kept.text = NULL;
    kept.text_left = 0;
    ALM_TRY(ALM_NEWN(cx, scratch, rows->n_cols + 1, &cols));
    ALM_TRY(ALM_NEWN(cx, scratch, rows->n_cols + 1, &kept.col));
    for (uint32_t col = 0; col < rows->n_cols; col++) {
        alm_rows_slice(rows, col, 0, &cols[col]);
        kept.col[col] = rows->col[col];
        kept.col[col].data = NULL;
    }
    ALM_TRY(alm_rows_append_picked(cx, &kept, cols, pick, n));
    alm_pool_deinit(own);
    const alm_pool swap = *own;
    *own = *other;
    *other = swap;
    memcpy(rows->col, kept.col, rows->n_cols * sizeof *kept.col);
    kept.col = rows->col;
    kept.pool = own;
    *rows = kept;
    return ALM_OK;
}

void alm_rows_drop(alm_rows *rows, uint32_t n)
{
    ALM_ASSERT(n <= rows->n);
    for (uint32_t i = 0; n > 0 && i < rows->n_cols; i++) {
        alm_rows_col *col = &rows->col[i];
        memmove(col->data, col->data + (size_t)n * col->width, (size_t)(rows->n - n) * col->width);
    }
    rows->n -= n;
}
