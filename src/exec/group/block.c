/*
 * block.c - see block.h.
 *
 * Batches are packed side by side into pending columns; a full set is put in order by one counting sort
 * over the top bits of the hashes: places first, then one scatter per column.
 */
#include "exec/group/block.h"

#include "exec/data/blend.h"

_Static_assert(ALM_GROUP_PARTS == 1 << (64 - ALM_GROUP_PART_SHIFT), "top bits of the hash");

static alm_block_col col_of(const alm_agg_call *c, alm_type t)
{
    const bool codes = t.id == ALM_T_SYMBOL && (c->fn->flags & ALM_FN_SYMBOLS);
    const bool text = alm_has_views(t) && !codes;
    return (alm_block_col){.type = t,
                           .text = text,
                           .codes = codes,
                           .width = text    ? (uint8_t)sizeof(alm_view)
                                    : codes ? (uint8_t)sizeof(uint32_t)
                                            : (uint8_t)alm_type_width(t)};
}

alm_status alm_group_block_shape(alm_ctx *cx, const alm_aggs *a, alm_block_shape *shape)
{
    *shape = (alm_block_shape){.first = a->n_keys, .n_cols = a->n_vecs - a->n_keys};
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols + 1, &shape->col));
    for (uint32_t i = 0; i < a->n_states; i++) {
        const alm_agg_state *st = &a->state[i];
        alm_block_col *col = shape->col + (st->first_arg - a->n_keys);
        for (uint32_t k = 0; k < st->call->n_args; k++)
            col[k] = col_of(st->call, st->call->args[k]->type);
        if (st->filter >= 0)
            shape->col[(uint32_t)st->filter - a->n_keys] = col_of(st->call, ALM_TY(BOOLEAN));
    }
    return ALM_OK;
}

/* What only a batch tells: the form of the keys, dictionaries. */
static alm_status settle_shape(alm_ctx *cx, alm_block_shape *shape, const alm_aggs *a,
                               const alm_keymap *form)
{
    if (shape->words == 0) {
        uint32_t *at = NULL; /* copies of a shape, each of one thread, part here */
        alm_block_col *col = NULL;
        ALM_TRY(ALM_NEWN(cx, cx->arena, a->n_keys + 1, &at));
        ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols + 1, &col));
        if (shape->n_cols > 0)
            memcpy(col, shape->col, shape->n_cols * sizeof *col);
        shape->col = col;
        shape->words = alm_keymap_words(form);
        shape->n_texts = alm_keymap_text_words(form, at);
        shape->text = at;
    }
    bool same = shape->words == alm_keymap_words(form);
    for (uint32_t k = 0; k < shape->n_cols; k++) {
        const alm_vec *v = &a->vec[shape->first + k];
        alm_block_col *c = &shape->col[k];
        if (!c->codes)
            continue;
        if (c->dict == NULL)
            c->dict = v->dict;
        same &= v->dict != NULL && v->dict->id == c->dict->id;
    }
    return same ? ALM_OK
                : alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol column changed its dictionary");
}

/* ---------------------------------------------------------------------------------- blocks */

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Columns for ALM_BLOCK_ROWS rows in one piece of memory; hash NULL: without. */
static alm_status columns(alm_ctx *cx, const alm_block_shape *shape, alm_pool *pool,
                          uint64_t **hash, uint64_t **row, char ***col)
{
    char *at = NULL;
    const size_t words = ALM_BLOCK_ROWS * ((size_t)shape->words + (hash != NULL));
    size_t bytes = words * 8;
    for (uint32_t k = 0; k < shape->n_cols; k++)
        bytes += padded((size_t)ALM_BLOCK_ROWS * shape->col[k].width);
    ALM_TRY(alm_pool_alloc(cx, pool, (shape->n_cols + 1) * sizeof **col, col));
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &at));
    *row = (uint64_t *)(void *)at;
    if (hash != NULL)
        *hash = *row + (size_t)ALM_BLOCK_ROWS * shape->words;
    at += words * 8;
    for (uint32_t k = 0; k < shape->n_cols; k++) {
        (*col)[k] = at;
        at += padded((size_t)ALM_BLOCK_ROWS * shape->col[k].width);
    }
    return ALM_OK;
}

static bool keeps_hash(const alm_block_shape *shape)
{
    return shape->words > 2 || shape->n_texts > 0;
}

/* The next unused block of a list, a new one behind the last if there is none. */
static alm_status next_block(alm_ctx *cx, const alm_block_shape *shape, alm_pool *pool,
                             alm_block_list *list, alm_group_block **out)
{
    alm_group_block **at = &list->first;
    for (uint32_t i = 0; i < list->n_used; i++)
        at = &(*at)->next;
    if (*at == NULL) {
        ALM_TRY(alm_pool_zero(cx, pool, sizeof **at, at));
        ALM_TRY(columns(cx, shape, pool, keeps_hash(shape) ? &(*at)->hash : NULL, &(*at)->row,
                        &(*at)->col));
    }
    list->n_used++;
    *out = *at;
    return ALM_OK;
}

void alm_group_block_clear(alm_block_list *list)
{
    list->n_used = 0;
    list->rows = 0;
}

/* ------------------------------------------------------------------------------- partitions */

typedef struct words2 {
    uint64_t half[2];
} words2;

#define DEFINE_PLACE(name, type)                                                                   \
    static void place_##name(const void *restrict from_, const uint32_t *restrict place,           \
                             uint32_t n, void *restrict to_)                                       \
    {                                                                                              \
        const type *from = from_;                                                                  \
        type *to = to_;                                                                            \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[place[i]] = from[i];                                                                \
    }
DEFINE_PLACE(1, uint8_t)
DEFINE_PLACE(2, uint16_t)
DEFINE_PLACE(4, uint32_t)
DEFINE_PLACE(8, uint64_t)
DEFINE_PLACE(16, words2)

static void place_any(const char *from, const uint32_t *place, uint32_t n, size_t width, char *to)
{
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + place[i] * width, from + i * width, width);
}

static void place_column(const void *from, const uint32_t *place, uint32_t n, size_t width,
                         void *to)
{
    if (width == 1)
        place_1(from, place, n, to);
    else if (width == 2)
        place_2(from, place, n, to);
    else if (width == 4)
        place_4(from, place, n, to);
    else if (width == 8)
        place_8(from, place, n, to);
    else if (width == 16)
        place_16(from, place, n, to);
    else
        place_any(from, place, n, width, to);
}

/* ------------------------------------------------------------------------------------ texts */

/* Bytes of the long texts of a column of views by partition; views lie `stride` bytes apart. */
static void add_lengths(const char *view, size_t stride, const uint64_t *hash, uint32_t n,
                        size_t *bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t len;
        memcpy(&len, view + i * stride, sizeof len);
        const bool is_long = len > ALM_VIEW_INLINE && len != ALM_VIEW_NULL;
        bytes[hash[i] >> ALM_GROUP_PART_SHIFT] += is_long ? len : 0;
    }
}

/* Copies the texts and lets the views point to the copies; at[p]: where those of partition p go. */
static void copy_texts(char *view, size_t stride, const uint64_t *hash, uint32_t n, char **at)
{
    for (uint32_t i = 0; i < n; i++) {
        alm_view v;
        memcpy(&v, view + i * stride, sizeof v);
        if (v.len <= ALM_VIEW_INLINE || v.len == ALM_VIEW_NULL)
            continue;
        char **to = &at[hash[i] >> ALM_GROUP_PART_SHIFT];
        memcpy(*to, alm_view_ptr(&v, NULL), v.len);
        v.off = (uint64_t)(uintptr_t)*to;
        *to += v.len;
        memcpy(view + i * stride, &v, sizeof v);
    }
}

static bool any_text(const alm_block_shape *shape)
{
    bool any = shape->n_texts > 0;
    for (uint32_t k = 0; k < shape->n_cols; k++)
        any |= shape->col[k].text;
    return any;
}

/* Moves the texts of all pending views into the block. */
static alm_status take_texts(alm_ctx *cx, const alm_block_shape *shape, alm_block_pending *p,
                             alm_pool *pool, alm_group_block *b)
{
    size_t bytes[ALM_GROUP_PARTS] = {0}, sum = 0;
    char *at[ALM_GROUP_PARTS];
    const size_t stride = (size_t)shape->words * 8;
    for (uint32_t t = 0; t < shape->n_texts; t++)
        add_lengths((char *)(p->row + shape->text[t]), stride, p->hash, p->n, bytes);
    for (uint32_t k = 0; k < shape->n_cols; k++)
        if (shape->col[k].text)
            add_lengths(p->col[k], sizeof(alm_view), p->hash, p->n, bytes);
    for (uint32_t i = 0; i < ALM_GROUP_PARTS; i++)
        sum += bytes[i];
    if (sum > b->text_cap) {
        ALM_TRY(alm_pool_grow(cx, pool, &b->text, 0, sum + sum / 8));
        b->text_cap = sum + sum / 8;
    }
    char *next = b->text;
    for (uint32_t i = 0; i < ALM_GROUP_PARTS && sum > 0; i++) {
        at[i] = next;
        next += bytes[i];
    }
    for (uint32_t t = 0; t < shape->n_texts && sum > 0; t++)
        copy_texts((char *)(p->row + shape->text[t]), stride, p->hash, p->n, at);
    for (uint32_t k = 0; k < shape->n_cols && sum > 0; k++)
        if (shape->col[k].text)
            copy_texts(p->col[k], sizeof(alm_view), p->hash, p->n, at);
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- flushing */

alm_status alm_group_block_flush(alm_ctx *cx, const alm_block_shape *shape,
                                 alm_block_pending *pending, alm_pool *pool, alm_block_list *list)
{
    const uint32_t n = pending->n;
    uint32_t at[ALM_GROUP_PARTS] = {0}, sum = 0;
    alm_group_block *b = NULL;
    if (n == 0)
        return ALM_OK;
    ALM_TRY(next_block(cx, shape, pool, list, &b));
    if (any_text(shape))
        ALM_TRY(take_texts(cx, shape, pending, pool, b));
    for (uint32_t i = 0; i < n; i++)
        at[pending->hash[i] >> ALM_GROUP_PART_SHIFT]++;
    for (uint32_t p = 0; p < ALM_GROUP_PARTS; p++) {
        b->start[p] = sum;
        sum += at[p];
        at[p] = b->start[p];
    }
    b->start[ALM_GROUP_PARTS] = b->n = n;
    for (uint32_t i = 0; i < n; i++)
        pending->place[i] = at[pending->hash[i] >> ALM_GROUP_PART_SHIFT]++;
    if (b->hash != NULL)
        place_8(pending->hash, pending->place, n, b->hash);
    place_column(pending->row, pending->place, n, (size_t)shape->words * 8, b->row);
    for (uint32_t k = 0; k < shape->n_cols; k++)
        place_column(pending->col[k], pending->place, n, shape->col[k].width, b->col[k]);
    list->rows += n;
    pending->n = 0;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ rows */

static void append_codes(const alm_vec *v, uint32_t n, uint32_t *to)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = alm_vec_code(v, i);
}

/* Views in address form. */
static void append_views(const alm_vec *v, uint32_t n, alm_view *to)
{
    const alm_view *from = v->data;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[v->is_const ? 0 : i];
        if (to[i].len > ALM_VIEW_INLINE && to[i].len != ALM_VIEW_NULL)
            to[i].off += (uint64_t)(uintptr_t)v->heap;
    }
}

static void append_column(const alm_block_col *c, const alm_vec *v, uint32_t n, char *to)
{
    const size_t width = c->width;
    if (c->codes)
        append_codes(v, n, (uint32_t *)(void *)to);
    else if (c->text)
        append_views(v, n, (alm_view *)(void *)to);
    else if (!v->is_const)
        memcpy(to, v->data, n * width);
    else
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + i * width, v->data, width);
}

static alm_status pending_ready(alm_ctx *cx, const alm_block_shape *shape,
                                alm_block_pending *pending)
{
    if (pending->hash != NULL)
        return ALM_OK;
    ALM_TRY(alm_pool_alloc(cx, pending->pool, ALM_BLOCK_ROWS * sizeof *pending->place,
                           &pending->place));
    return columns(cx, shape, pending->pool, &pending->hash, &pending->row, &pending->col);
}

alm_status alm_group_block_add(alm_ctx *cx, alm_block_shape *shape, const alm_aggs *a,
                               const alm_keymap *form, uint32_t n, alm_block_pending *pending,
                               alm_pool *pool, alm_block_list *list)
{
    ALM_ASSERT(n <= ALM_BATCH_ROWS);
    ALM_TRY(settle_shape(cx, shape, a, form));
    ALM_TRY(pending_ready(cx, shape, pending));
    if (pending->n + n > ALM_BLOCK_ROWS)
        ALM_TRY(alm_group_block_flush(cx, shape, pending, pool, list));
    const size_t at = pending->n;
    alm_keymap_pack_batch(form, a->vec, n, pending->row + at * shape->words, pending->hash + at);
    for (uint32_t k = 0; k < shape->n_cols; k++)
        append_column(&shape->col[k], &a->vec[shape->first + k], n,
                      pending->col[k] + at * shape->col[k].width);
    pending->n += n;
    return any_text(shape) && !shape->texts_last
               ? alm_group_block_flush(cx, shape, pending, pool, list)
               : ALM_OK;
}

alm_status alm_group_block_collect(alm_ctx *cx, const alm_block_shape *shape,
                                   const alm_keymap *form, const alm_group_block *b, uint32_t *at,
                                   uint32_t end, alm_block_pending *pending)
{
    ALM_TRY(pending_ready(cx, shape, pending));
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS - pending->n, end - *at);
    const size_t from = *at, to = pending->n, words = shape->words;
    memcpy(pending->row + to * words, b->row + from * words, n * words * sizeof *b->row);
    if (b->hash != NULL)
        memcpy(pending->hash + to, b->hash + from, n * sizeof *b->hash);
    else
        alm_keymap_hash_packed(form, b->row + from * words, n, pending->hash + to);
    for (uint32_t k = 0; k < shape->n_cols; k++) {
        const size_t width = shape->col[k].width;
        memcpy(pending->col[k] + to * width, b->col[k] + from * width, n * width);
    }
    pending->n += n;
    *at += n;
    return ALM_OK;
}

void alm_group_block_args(const alm_block_shape *shape, const alm_block_pending *pending,
                          alm_aggs *a)
{
    for (uint32_t k = 0; k < shape->n_cols; k++) {
        const alm_block_col *c = &shape->col[k];
        a->vec[shape->first + k] =
            (alm_vec){.type = c->type, .width = c->width, .dict = c->dict, .data = pending->col[k]};
    }
}
