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
        const alm_type t = cols[i].type;
        rows->col[i] = (alm_rows_col){.type = t, .width = alm_rows_width(t)};
    }
    return ALM_OK;
}

static alm_status reserve(alm_ctx *cx, alm_rows *rows, uint32_t more)
{
    if ((uint64_t)rows->n + more >= UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "%s holds too many rows (limit %u)", rows->pool->who,
                        UINT32_MAX - 1);
    if (rows->n + more <= rows->cap)
        return ALM_OK;
    const uint64_t twice = ALM_MAX(2 * (uint64_t)rows->cap, ROWS_MIN);
    const uint32_t cap = (uint32_t)ALM_MIN(ALM_MAX(twice, (uint64_t)rows->n + more), UINT32_MAX);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        alm_rows_col *c = &rows->col[i];
        ALM_TRY(alm_pool_grow(cx, rows->pool, &c->data, (size_t)rows->n * c->width,
                              (size_t)cap * c->width));
    }
    rows->cap = cap;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- symbols */

/* Codes of one dictionary so far; the first batch decides, another dictionary ends it. */
static alm_status settle_symbols(alm_ctx *cx, alm_rows *rows, alm_rows_col *c, const alm_vec *v)
{
    if (c->type.id != ALM_T_SYMBOL)
        return ALM_OK;
    if (rows->n == 0 && v->dict != NULL) {
        c->dict = v->dict;
        c->width = sizeof(uint32_t); /* fits the room made for views */
        return ALM_OK;
    }
    if (c->dict == NULL || (v->dict != NULL && v->dict->id == c->dict->id)) {
        if (c->dict != NULL && v->dict->count > c->dict->count)
            c->dict = v->dict;
        return ALM_OK;
    }
    const alm_vec codes = {.type = c->type, .width = 4, .data = c->data, .dict = c->dict};
    alm_view *views = NULL;
    ALM_TRY(alm_pool_alloc(cx, rows->pool, (size_t)rows->cap * sizeof *views, &views));
    alm_blend_copy(&codes, rows->n, views, sizeof *views);
    alm_pool_free(rows->pool, c->data);
    c->data = (char *)views;
    c->width = sizeof *views;
    c->dict = NULL;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- text */

static alm_status own_text(alm_ctx *cx, alm_rows *rows, alm_view *views, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        alm_view *v = &views[i];
        if (v->len <= ALM_VIEW_INLINE || v->len == ALM_VIEW_NULL)
            continue;
        if (v->len > rows->text_left) {
            const size_t bytes = ALM_MAX((size_t)TEXT_CHUNK, v->len);
            ALM_TRY(alm_pool_alloc(cx, rows->pool, bytes, &rows->text));
            rows->text_left = bytes;
        }
        memcpy(rows->text, alm_view_ptr(v, NULL), v->len);
        v->off = (uint64_t)(uintptr_t)rows->text;
        rows->text += v->len;
        rows->text_left -= v->len;
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

void alm_rows_pick(const void *from, uint8_t width, const uint32_t *pick, uint32_t n, void *to)
{
    switch (width) {
    case 1:
        pick_8(from, pick, n, to);
        return;
    case 2:
        pick_16(from, pick, n, to);
        return;
    case 4:
        pick_32(from, pick, n, to);
        return;
    case 8:
        pick_64(from, pick, n, to);
        return;
    case 32:
        pick_256(from, pick, n, to);
        return;
    default:
        ALM_DASSERT(width == 16);
        pick_128(from, pick, n, to);
    }
}

/* Codes of any width as 4-byte codes. */
static void copy_codes(const alm_vec *v, const uint32_t *pick, uint32_t n, uint32_t *to)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = alm_vec_code(v, pick != NULL ? pick[i] : i);
}

static alm_status append_column(alm_ctx *cx, alm_rows *rows, alm_rows_col *c, const alm_vec *v,
                                const uint32_t *pick, uint32_t n)
{
    char *to = c->data + (size_t)rows->n * c->width;
    if (c->dict != NULL) {
        copy_codes(v, pick, n, (uint32_t *)(void *)to);
        return ALM_OK;
    }
    if (pick == NULL || v->is_const) {
        alm_blend_copy(v, n, to, c->width);
    } else if (v->dict != NULL) {
        for (uint32_t i = 0; i < n; i++)
            ((alm_view *)(void *)to)[i] = v->dict->views[alm_vec_code(v, pick[i])];
    } else {
        ALM_DASSERT(v->width == c->width);
        alm_rows_pick(v->data, c->width, pick, n, to);
        for (uint32_t i = 0; v->heap != NULL && i < n; i++) {
            alm_view *view = (alm_view *)(void *)to + i;
            if (view->len > ALM_VIEW_INLINE && view->len != ALM_VIEW_NULL)
                view->off += (uint64_t)(uintptr_t)v->heap;
        }
    }
    if (alm_has_views(c->type) && v->dict == NULL)
        return own_text(cx, rows, (alm_view *)(void *)to, n);
    return ALM_OK;
}

static alm_status append_vectors(alm_ctx *cx, alm_rows *rows, const alm_vec *vecs,
                                 const uint32_t *pick, uint32_t n)
{
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < rows->n_cols; i++)
        ALM_TRY(settle_symbols(cx, rows, &rows->col[i], &vecs[i]));
    ALM_TRY(reserve(cx, rows, n));
    for (uint32_t i = 0; i < rows->n_cols; i++)
        ALM_TRY(append_column(cx, rows, &rows->col[i], &vecs[i], pick, n));
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
                                  const uint32_t *pick, uint32_t n)
{
    return append_vectors(cx, rows, vecs, pick, n);
}

void alm_rows_slice(const alm_rows *rows, uint32_t col, uint32_t at, alm_vec *out)
{
    const alm_rows_col *c = &rows->col[col];
    *out = (alm_vec){.type = c->type,
                     .width = c->width,
                     .dict = c->dict,
                     .data = c->data != NULL ? c->data + (size_t)at * c->width : NULL};
}

alm_status alm_rows_gather(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                           const uint32_t *pick, uint32_t n, alm_vec *out)
{
    return alm_rows_gather_some(cx, rows, arena, pick, n, NULL, out);
}

alm_status alm_rows_gather_some(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                                const uint32_t *pick, uint32_t n, const bool *skip, alm_vec *out)
{
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        const alm_rows_col *c = &rows->col[i];
        void *data = NULL;
        if (skip != NULL && skip[i])
            continue;
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * c->width, &data));
        alm_rows_pick(c->data, c->width, pick, n, data);
        out[i] = (alm_vec){.type = c->type, .width = c->width, .dict = c->dict, .data = data};
    }
    return ALM_OK;
}

alm_status alm_rows_keep(alm_ctx *cx, alm_rows *rows, const uint32_t *pick, uint32_t n)
{
    ALM_ASSERT(n <= rows->n);
    for (uint32_t i = 0; i < rows->n_cols; i++) {
        alm_rows_col *c = &rows->col[i];
        char *data = NULL;
        ALM_TRY(alm_pool_alloc(cx, rows->pool, (size_t)rows->cap * c->width, &data));
        alm_rows_pick(c->data, c->width, pick, n, data);
        alm_pool_free(rows->pool, c->data);
        c->data = data;
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
    for (uint32_t c = 0; c < rows->n_cols; c++) {
        alm_rows_slice(rows, c, 0, &cols[c]);
        kept.col[c] = rows->col[c];
        kept.col[c].data = NULL;
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
        alm_rows_col *c = &rows->col[i];
        memmove(c->data, c->data + (size_t)n * c->width, (size_t)(rows->n - n) * c->width);
    }
    rows->n -= n;
}
