/*
 * window_sort.c - window order: partitions, order within them, peers. See window.h.
 *
 * Rows are sorted by ORDER BY (not at all where the input comes in that order), then dealt to their
 * partitions by a counting sort, which keeps the order.
 */
#include "exec/keymap.h"
#include "exec/sortkey.h"
#include "exec/window.h"

/* ------------------------------------------------------------------------------ partitions */

static alm_status number_partitions(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                                    const alm_window_call *call, const alm_window_cols *cols,
                                    uint32_t *number, uint32_t *n_parts)
{
    const uint32_t n_keys = call->n_partition;
    if (n_keys == 1 && rows->col[cols->partition[0]].dict != NULL) {
        const alm_rows_col *col = &rows->col[cols->partition[0]];
        memcpy(number, col->data, (size_t)n * sizeof *number);
        *n_parts = col->dict->count;
        return ALM_OK;
    }
    alm_pool keys_pool;
    alm_keymap *map = NULL;
    alm_type *types = NULL;
    alm_vec *keys = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &types));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys, &keys));
    for (uint32_t k = 0; k < n_keys; k++)
        types[k] = call->partition[k]->type;
    alm_pool_init(&keys_pool, cx->mem, pool->who);
    alm_status st = alm_keymap_new(cx, &keys_pool, types, n_keys, &map);
    for (uint32_t at = 0; at < n && st == ALM_OK; at += ALM_BATCH_ROWS) {
        for (uint32_t k = 0; k < n_keys; k++)
            alm_rows_slice(rows, cols->partition[k], at, &keys[k]);
        st = alm_check(cx);
        if (st == ALM_OK)
            st = alm_keymap_add(cx, map, keys, ALM_MIN((uint32_t)ALM_BATCH_ROWS, n - at),
                                number + at);
    }
    *n_parts = map != NULL ? alm_keymap_count(map) : 0;
    alm_pool_deinit(&keys_pool);
    return st;
}

/* ------------------------------------------------------------------------------------ order */

/* Rows in the order of ORDER BY, as a permutation. */
static alm_status sort_rows(alm_ctx *cx, alm_pool *pool, alm_workers *workers, uint32_t n,
                            const alm_vec *key, alm_sort_order *order, uint32_t n_keys,
                            uint32_t *perm)
{
    alm_sort_item *item = NULL;
    ALM_TRY(alm_pool_alloc(cx, pool, 2 * (size_t)n * sizeof *item, &item));
    for (uint32_t i = 0; i < n; i++)
        item[i].row = i;
    ALM_TRY(alm_sort_items_on(cx, workers, key, order, n_keys, item, item + n, n));
    for (uint32_t i = 0; i < n; i++)
        perm[i] = item[i].row;
    alm_pool_free(pool, item);
    return ALM_OK;
}

/* Deals the rows of perm (NULL: in input order) to their partitions. */
static alm_status deal(alm_ctx *cx, alm_pool *pool, uint32_t n, const uint32_t *number,
                       const uint32_t *perm, alm_window_order *o)
{
    uint32_t *to = NULL;
    ALM_TRY(alm_pool_zero(cx, pool, ((size_t)o->n_parts + 2) * sizeof *o->start, &o->start));
    ALM_TRY(alm_pool_alloc(cx, pool, (size_t)n * sizeof *to, &to));
    uint32_t *next = o->start + 1;
    for (uint32_t i = 0; i < n; i++)
        next[number[i]]++;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < o->n_parts; p++) {
        const uint32_t size = next[p];
        next[p] = sum;
        sum += size;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = perm != NULL ? perm[i] : i;
        to[next[number[row]]++] = row;
    }
    o->perm = to;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ peers */

enum { CHUNK = 1024 };

/* tie[i], where it is set: do rows row[i - 1] and row[i] have equal values of the key? */
static uint32_t test_ties(const alm_vec *key, const alm_sort_order *order, const uint32_t *row,
                          uint32_t m, uint8_t *tie)
{
    const bool exact = alm_sort_exact(key, order);
    uint64_t code[CHUNK + 1];
    uint32_t left = 0;
    alm_sort_encode(key, order, row, m, code);
    for (uint32_t i = 1; i < m; i++) {
        bool equal = tie[i] && code[i] == code[i - 1];
        if (equal && !exact)
            equal = alm_sort_compare(key, order, row[i - 1], row[i]) == 0;
        tie[i] = equal;
        left += equal;
    }
    return left;
}

/* First position of the group each position is in. The rows lie anywhere in memory: their keys are
 * fetched for many rows at once. */
static void find_groups(const alm_window_order *o, uint32_t p, const alm_vec *key,
                        const alm_sort_order *order, uint32_t n_keys, uint32_t *group)
{
    const uint32_t start = o->start[p], n = o->start[p + 1] - start;
    uint32_t row[CHUNK + 1];
    uint8_t tie[CHUNK + 1];
    group[start] = 0;
    for (uint32_t at = 0; at + 1 < n; at += CHUNK) { /* positions at .. at + m - 1 */
        const uint32_t m = ALM_MIN((uint32_t)CHUNK + 1, n - at);
        uint32_t left = m;
        for (uint32_t i = 0; i < m; i++)
            row[i] = o->perm != NULL ? o->perm[start + at + i] : start + at + i;
        memset(tie, 1, m);
        for (uint32_t k = 0; k < n_keys && left > 0; k++)
            left = test_ties(&key[k], &order[k], row, m, tie);
        for (uint32_t i = 1; i < m; i++)
            group[start + at + i] = tie[i] ? group[start + at + i - 1] : at + i;
    }
}

static alm_status find_peers(alm_ctx *cx, alm_pool *pool, uint32_t n, const alm_vec *key,
                             const alm_sort_order *order, uint32_t n_keys, alm_window_order *o)
{
    ALM_TRY(alm_pool_alloc(cx, pool, (size_t)n * sizeof *o->peer_lo, &o->peer_lo));
    ALM_TRY(alm_pool_alloc(cx, pool, (size_t)n * sizeof *o->peer_hi, &o->peer_hi));
    for (uint32_t p = 0; p < o->n_parts; p++) {
        const uint32_t start = o->start[p], size = o->start[p + 1] - start;
        if (size == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (n_keys == 0) {
            memset(o->peer_lo + start, 0, size * sizeof *o->peer_lo);
            for (uint32_t i = 0; i < size; i++)
                o->peer_hi[start + i] = size;
            continue;
        }
        find_groups(o, p, key, order, n_keys, o->peer_lo);
        for (uint32_t i = size; i-- > 0;) {
            const bool last = i + 1 == size || o->peer_lo[start + i + 1] == i + 1;
            o->peer_hi[start + i] = last ? i + 1 : o->peer_hi[start + i + 1];
        }
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- all */

alm_status alm_window_sort(alm_ctx *cx, alm_pool *pool, alm_workers *workers, const alm_rows *rows,
                           uint32_t n, const alm_window_call *call, const alm_window_cols *cols,
                           alm_window_order *out)
{
    alm_vec *key = NULL;
    alm_sort_order *order = NULL;
    uint32_t *perm = NULL, *number = NULL;
    alm_window_order o = {.n_parts = 1};
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &order));
    for (uint32_t k = 0; k < call->n_order; k++) {
        order[k] = (alm_sort_order){.desc = call->order[k].desc,
                                    .nulls_first = call->order[k].nulls_first};
        alm_rows_slice(rows, cols->order[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, pool, &key[k], &order[k]));
    }
    if (call->n_order > 0 && !call->order_is_ts) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *perm, &perm));
        ALM_TRY(sort_rows(cx, pool, workers, n, key, order, call->n_order, perm));
    }
    if (call->n_partition > 0) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *number, &number));
        ALM_TRY(number_partitions(cx, pool, rows, n, call, cols, number, &o.n_parts));
        ALM_TRY(deal(cx, pool, n, number, perm, &o));
        alm_pool_free(pool, number);
        alm_pool_free(pool, perm);
    } else {
        ALM_TRY(alm_pool_zero(cx, pool, 2 * sizeof *o.start, &o.start));
        o.start[1] = n;
        o.perm = perm;
    }
    ALM_TRY(find_peers(cx, pool, n, key, order, call->n_order, &o));
    *out = o;
    return ALM_OK;
}

void alm_window_order_free(alm_pool *pool, alm_window_order *o)
{
    alm_pool_free(pool, o->perm);
    alm_pool_free(pool, o->start);
    alm_pool_free(pool, o->peer_lo);
    alm_pool_free(pool, o->peer_hi);
    *o = (alm_window_order){0};
}

#define DEFINE_ORDERED(bits, type)                                                                 \
    static void ordered_##bits(const type *restrict from, const uint32_t *restrict perm,           \
                               uint32_t n, type *restrict to)                                      \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            to[i] = from[perm[i]];                                                                 \
    }
typedef struct wide {
    uint64_t half[2];
} wide;
DEFINE_ORDERED(8, uint8_t)
DEFINE_ORDERED(16, uint16_t)
DEFINE_ORDERED(32, uint32_t)
DEFINE_ORDERED(64, uint64_t)
DEFINE_ORDERED(128, wide)
typedef struct widest {
    uint64_t part[4];
} widest;
DEFINE_ORDERED(256, widest)

alm_status alm_window_column(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                             const alm_window_order *o, uint32_t col, alm_vec *out, void **owned)
{
    void *to = NULL;
    alm_rows_slice(rows, col, 0, out);
    *owned = NULL;
    if (o->perm == NULL)
        return ALM_OK;
    ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * out->width, &to));
    switch (out->width) {
    case 1:
        ordered_8(out->data, o->perm, n, to);
        break;
    case 2:
        ordered_16(out->data, o->perm, n, to);
        break;
    case 4:
        ordered_32(out->data, o->perm, n, to);
        break;
    case 8:
        ordered_64(out->data, o->perm, n, to);
        break;
    case 16:
        ordered_128(out->data, o->perm, n, to);
        break;
    default:
        ALM_ASSERT(out->width == 32);
        ordered_256(out->data, o->perm, n, to);
    }
    out->data = *owned = to;
    return ALM_OK;
}
