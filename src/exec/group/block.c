/*
 * block.c - see block.h.
 *
 * Batches are packed side by side into pending columns; a full set is put in order by one counting sort
 * over the top bits of the hashes: places first, then one scatter per column.
 */
#include "exec/group/block.h"

#include "exec/data/blend.h"

_Static_assert(ALM_GROUP_PARTS == 1 << (64 - ALM_GROUP_PART_SHIFT), "top bits of the hash");

static alm_block_col col_of(const alm_agg_call *call, alm_type type)
{
    const bool codes = type.id == ALM_T_SYMBOL && (call->fn->flags & ALM_FN_SYMBOLS);
    const bool text = alm_has_views(type) && !codes;
    return (alm_block_col){.type = type,
                           .text = text,
                           .codes = codes,
                           .width = text    ? (uint8_t)sizeof(alm_view)
                                    : codes ? (uint8_t)sizeof(uint32_t)
                                            : (uint8_t)alm_type_width(type)};
}

alm_status alm_group_block_shape(alm_ctx *cx, const alm_aggs *aggs, alm_block_shape *shape)
{
    *shape = (alm_block_shape){.first = aggs->n_keys, .n_cols = aggs->n_vecs - aggs->n_keys};
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols + 1, &shape->col));
    for (uint32_t i = 0; i < aggs->n_states; i++) {
        const alm_agg_state *agg = &aggs->state[i];
        alm_block_col *col = shape->col + (agg->first_arg - aggs->n_keys);
        for (uint32_t arg = 0; arg < agg->call->n_args; arg++)
            col[arg] = col_of(agg->call, agg->call->args[arg]->type);
        if (agg->filter >= 0)
            shape->col[(uint32_t)agg->filter - aggs->n_keys] = col_of(agg->call, ALM_TY(BOOLEAN));
    }
    return ALM_OK;
}

/* What only a batch tells: the form of the keys, dictionaries. */
static alm_status settle_shape(alm_ctx *cx, alm_block_shape *shape, const alm_aggs *aggs,
                               const alm_keymap *form)
{
    if (shape->words == 0) {
        uint32_t *at = NULL; /* copies of a shape, each of one thread, part here */
        alm_block_col *col = NULL;
        ALM_TRY(ALM_NEWN(cx, cx->arena, aggs->n_keys + 1, &at));
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
        const alm_vec *vec = &aggs->vec[shape->first + k];
        alm_block_col *block_col = &shape->col[k];
        if (!block_col->codes)
            continue;
        if (block_col->dict == NULL)
            block_col->dict = vec->dict;
        same &= vec->dict != NULL && vec->dict->id == block_col->dict->id;
    }
    return same ? ALM_OK
                : alm_fail(cx, ALM_E_INTERNAL, -1, "a symbol column changed its dictionary");
}

/* ---------------------------------------------------------------------------------- blocks */

static size_t group_block_padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Columns for ALM_BLOCK_ROWS rows in one piece of memory; hash NULL: without. */
static alm_status group_block_columns(alm_ctx *cx, const alm_block_shape *shape, alm_pool *pool,
                                      uint64_t **hash, uint64_t **row, char ***col)
{
    char *ptr = NULL;
    const size_t words = ALM_BLOCK_ROWS * ((size_t)shape->words + (hash != NULL));
    size_t bytes = words * 8;
    for (uint32_t k = 0; k < shape->n_cols; k++)
        bytes += group_block_padded((size_t)ALM_BLOCK_ROWS * shape->col[k].width);
    ALM_TRY(alm_pool_alloc(cx, pool, (shape->n_cols + 1) * sizeof **col, col));
    ALM_TRY(alm_pool_alloc(cx, pool, bytes, &ptr));
    *row = (uint64_t *)(void *)ptr;
    if (hash != NULL)
        *hash = *row + (size_t)ALM_BLOCK_ROWS * shape->words;
    ptr += words * 8;
    for (uint32_t k = 0; k < shape->n_cols; k++) {
        (*col)[k] = ptr;
        ptr += group_block_padded((size_t)ALM_BLOCK_ROWS * shape->col[k].width);
    }
    return ALM_OK;
}

static bool keeps_hash(const alm_block_shape *shape)
{
    return shape->words > 2 || shape->n_texts > 0;
}

/* The next unused block of a list, a new one behind the last if there is none. */
static alm_status group_next_block(alm_ctx *cx, const alm_block_shape *shape, alm_pool *pool,
                                   alm_block_list *list, alm_group_block **out)
{
    alm_group_block **at = &list->first;
    for (uint32_t i = 0; i < list->n_used; i++)
        at = &(*at)->next;
    if (*at == NULL) {
        ALM_TRY(alm_pool_zero(cx, pool, sizeof **at, at));
        ALM_TRY(group_block_columns(cx, shape, pool, keeps_hash(shape) ? &(*at)->hash : NULL,
                                    &(*at)->row, &(*at)->col));
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

static void place_any(const char *from, const uint32_t *place, uint32_t n_places, size_t width,
                      char *dest)
{
    for (uint32_t i = 0; i < n_places; i++)
        memcpy(dest + place[i] * width, from + i * width, width);
}

static void place_column(const void *from, const uint32_t *place, uint32_t n, size_t width,
                         void *dest)
{
    if (width == 1)
        place_1(from, place, n, dest);
    else if (width == 2)
        place_2(from, place, n, dest);
    else if (width == 4)
        place_4(from, place, n, dest);
    else if (width == 8)
        place_8(from, place, n, dest);
    else if (width == 16)
        place_16(from, place, n, dest);
    else
        place_any(from, place, n, width, dest);
}

/* ------------------------------------------------------------------------------------ texts */

/* Bytes of the long texts of a column of views by partition; views lie `stride` bytes apart. */
static void group_block_add_lengths(const char *view, size_t stride, const uint64_t *hash,
                                    uint32_t n, size_t *bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t len;
        memcpy(&len, view + i * stride, sizeof len);
        const bool is_long = len > ALM_VIEW_INLINE && len != ALM_VIEW_NULL;
        bytes[hash[i] >> ALM_GROUP_PART_SHIFT] += is_long ? len : 0;
    }
}

/* Copies the texts and lets the views point to the copies; ptr[p]: where those of partition p go. */
static void copy_texts(char *view, size_t stride, const uint64_t *hash, uint32_t n, char **ptr)
{
    for (uint32_t i = 0; i < n; i++) {
        alm_view v;
        memcpy(&v, view + i * stride, sizeof v);
        if (v.len <= ALM_VIEW_INLINE || v.len == ALM_VIEW_NULL)
            continue;
        char **dest = &ptr[hash[i] >> ALM_GROUP_PART_SHIFT];
        memcpy(*dest, alm_view_ptr(&v, NULL), v.len);
        v.off = (uint64_t)(uintptr_t)*dest;
        *dest += v.len;
        memcpy(view + i * stride, &v, sizeof v);
    }
}

static bool any_text(const alm_block_shape *shape)
{
    bool any = shape->n_texts > 0;
    for (uint32_t col = 0; col < shape->n_cols; col++)
        any |= shape->col[col].text;
    return any;
}

/* Moves the texts of all pending views into the block. */
static alm_status take_texts(alm_ctx *cx, const alm_block_shape *shape, alm_block_pending *pending,
                             alm_pool *pool, alm_group_block *block)
{
    size_t bytes[ALM_GROUP_PARTS] = {0}, sum = 0;
    char *ptr[ALM_GROUP_PARTS];
    const size_t stride = (size_t)shape->words * 8;
    for (uint32_t text = 0; text < shape->n_texts; text++)
        group_block_add_lengths((char *)(pending->row + shape->text[text]), stride, pending->hash,
                                pending->n, bytes);
    for (uint32_t col = 0; col < shape->n_cols; col++)
        if (shape->col[col].text)
            group_block_add_lengths(pending->col[col], sizeof(alm_view), pending->hash, pending->n,
                                    bytes);
    for (uint32_t i = 0; i < ALM_GROUP_PARTS; i++)
        sum += bytes[i];
    if (sum > block->text_cap) {
        ALM_TRY(alm_pool_grow(cx, pool, &block->text, 0, sum + sum / 8));
        block->text_cap = sum + sum / 8;
    }
    char *next = block->text;
    for (uint32_t i = 0; i < ALM_GROUP_PARTS && sum > 0; i++) {
        ptr[i] = next;
        next += bytes[i];
    }
    for (uint32_t text = 0; text < shape->n_texts && sum > 0; text++)
        copy_texts((char *)(pending->row + shape->text[text]), stride, pending->hash, pending->n,
                   ptr);
    for (uint32_t col = 0; col < shape->n_cols && sum > 0; col++)
        if (shape->col[col].text)
            copy_texts(pending->col[col], sizeof(alm_view), pending->hash, pending->n, ptr);
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- flushing */

alm_status alm_group_block_flush(alm_ctx *cx, const alm_block_shape *shape,
                                 alm_block_pending *pending, alm_pool *pool, alm_block_list *list)
{
    const uint32_t n_pendings = pending->n;
    uint32_t at[ALM_GROUP_PARTS] = {0}, sum = 0;
    alm_group_block *block = NULL;
    if (n_pendings == 0)
        return ALM_OK;
    ALM_TRY(group_next_block(cx, shape, pool, list, &block));
    if (any_text(shape))
        ALM_TRY(take_texts(cx, shape, pending, pool, block));
    for (uint32_t i = 0; i < n_pendings; i++)
        at[pending->hash[i] >> ALM_GROUP_PART_SHIFT]++;
    for (uint32_t part = 0; part < ALM_GROUP_PARTS; part++) {
        block->start[part] = sum;
        sum += at[part];
        at[part] = block->start[part];
    }
    block->start[ALM_GROUP_PARTS] = block->n = n_pendings;
    for (uint32_t i = 0; i < n_pendings; i++)
        pending->place[i] = at[pending->hash[i] >> ALM_GROUP_PART_SHIFT]++;
    if (block->hash != NULL)
        place_8(pending->hash, pending->place, n_pendings, block->hash);
    place_column(pending->row, pending->place, n_pendings, (size_t)shape->words * 8, block->row);
    for (uint32_t col = 0; col < shape->n_cols; col++)
        place_column(pending->col[col], pending->place, n_pendings, shape->col[col].width,
                     block->col[col]);
    list->rows += n_pendings;
    pending->n = 0;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ rows */

static void append_codes(const alm_vec *vec, uint32_t n_rows, uint32_t *dest)
{
    for (uint32_t i = 0; i < n_rows; i++)
        dest[i] = alm_vec_code(vec, i);
}

/* Views in address form. */
static void append_views(const alm_vec *vec, uint32_t n_rows, alm_view *dest)
{
    const alm_view *from = vec->data;
    for (uint32_t i = 0; i < n_rows; i++) {
        dest[i] = from[vec->is_const ? 0 : i];
        if (dest[i].len > ALM_VIEW_INLINE && dest[i].len != ALM_VIEW_NULL)
            dest[i].off += (uint64_t)(uintptr_t)vec->heap;
    }
}

static void group_block_append_column(const alm_block_col *block_col, const alm_vec *vec,
                                      uint32_t n_rows, char *dest)
{
    const size_t width = block_col->width;
    if (block_col->codes)
        append_codes(vec, n_rows, (uint32_t *)(void *)dest);
    else if (block_col->text)
        append_views(vec, n_rows, (alm_view *)(void *)dest);
    else if (!vec->is_const)
        memcpy(dest, vec->data, n_rows * width);
    else
        for (uint32_t i = 0; i < n_rows; i++)
            memcpy(dest + i * width, vec->data, width);
}

static alm_status pending_ready(alm_ctx *cx, const alm_block_shape *shape,
                                alm_block_pending *pending)
{
    if (pending->hash != NULL)
        return ALM_OK;
    ALM_TRY(alm_pool_alloc(cx, pending->pool, ALM_BLOCK_ROWS * sizeof *pending->place,
                           &pending->place));
    return group_block_columns(cx, shape, pending->pool, &pending->hash, &pending->row,
                               &pending->col);
}

alm_status alm_group_block_add(alm_ctx *cx, alm_block_shape *shape, const alm_aggs *aggs,
                               const alm_keymap *form, uint32_t n, alm_block_pending *pending,
                               alm_pool *pool, alm_block_list *list)
{
    ALM_ASSERT(n <= ALM_BATCH_ROWS);
    ALM_TRY(settle_shape(cx, shape, aggs, form));
    ALM_TRY(pending_ready(cx, shape, pending));
    if (pending->n + n > ALM_BLOCK_ROWS)
        ALM_TRY(alm_group_block_flush(cx, shape, pending, pool, list));
    const size_t offset = pending->n;
    alm_keymap_pack_batch(form, aggs->vec, n, pending->row + offset * shape->words,
                          pending->hash + offset);
    for (uint32_t col = 0; col < shape->n_cols; col++)
        group_block_append_column(&shape->col[col], &aggs->vec[shape->first + col], n,
                                  pending->col[col] + offset * shape->col[col].width);
    pending->n += n;
    return any_text(shape) && !shape->texts_last
               ? alm_group_block_flush(cx, shape, pending, pool, list)
               : ALM_OK;
}

alm_status alm_group_block_collect(alm_ctx *cx, const alm_block_shape *shape,
                                   const alm_keymap *form, const alm_group_block *block,
                                   uint32_t *at, uint32_t end, alm_block_pending *pending)
{
    ALM_TRY(pending_ready(cx, shape, pending));
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS - pending->n, end - *at);
    const size_t from = *at, to = pending->n, words = shape->words;
    memcpy(pending->row + to * words, block->row + from * words,
           n_rows * words * sizeof *block->row);
    if (block->hash != NULL)
        memcpy(pending->hash + to, block->hash + from, n_rows * sizeof *block->hash);
    else
        alm_keymap_hash_packed(form, block->row + from * words, n_rows, pending->hash + to);
    for (uint32_t col = 0; col < shape->n_cols; col++) {
        const size_t width = shape->col[col].width;
        memcpy(pending->col[col] + to * width, block->col[col] + from * width, n_rows * width);
    }
    pending->n += n_rows;
    *at += n_rows;
    return ALM_OK;
}

void alm_group_block_args(const alm_block_shape *shape, const alm_block_pending *pending,
                          alm_aggs *aggs)
{
    for (uint32_t col = 0; col < shape->n_cols; col++) {
        const alm_block_col *block_col = &shape->col[col];
        aggs->vec[shape->first + col] = (alm_vec){.type = block_col->type,
                                                  .width = block_col->width,
                                                  .dict = block_col->dict,
                                                  .data = pending->col[col]};
    }
}
