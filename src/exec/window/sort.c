/*
 * sort.c - window order: partitions, order within them, peers. See window.h.
 *
 * Rows are dealt to their partitions by a counting sort, which keeps their order; then each partition
 * is sorted by ORDER BY, unless the input comes in that order.
 */
#include "exec/data/keymap.h"
#include "exec/window/window.h"

enum { LARGE_MIN = 1 << 18 };

/* ------------------------------------------------------------------------------ partitions */

alm_status alm_window_numbers(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                              const alm_window_call *call, const alm_window_cols *cols,
                              uint32_t *number, uint32_t *n_parts)
{
    const uint32_t n_keys = call->n_partition;
    if (n_keys == 0) {
        memset(number, 0, (size_t)n * sizeof *number);
        *n_parts = 1;
        return ALM_OK;
    }
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

/* Deals the rows, in input order, to their partitions. */
static alm_status deal(alm_ctx *cx, alm_pool *pool, uint32_t n, const uint32_t *number,
                       alm_window_order *o)
{
    uint32_t *to = NULL;
    ALM_TRY(alm_pool_zero(cx, pool, ((size_t)o->n_parts + 2) * sizeof *o->start, &o->start));
    ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *to, &to));
    uint32_t *next = o->start + 1;
    for (uint32_t i = 0; i < n; i++)
        next[number[i]]++;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < o->n_parts; p++) {
        const uint32_t size = next[p];
        next[p] = sum;
        sum += size;
    }
    for (uint32_t i = 0; i < n; i++)
        to[next[number[i]]++] = i;
    o->perm = to;
    return ALM_OK;
}

static alm_status one_partition(alm_ctx *cx, alm_pool *pool, uint32_t n, alm_window_order *o)
{
    ALM_TRY(alm_pool_zero(cx, pool, 2 * sizeof *o->start, &o->start));
    o->start[1] = n;
    if (o->as_it_comes)
        return ALM_OK;
    ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *o->perm, &o->perm));
    for (uint32_t i = 0; i < n; i++)
        o->perm[i] = i;
    return ALM_OK;
}

alm_status alm_window_deal(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                           const alm_window_call *call, const alm_window_cols *cols, bool peers,
                           alm_window_order *out)
{
    alm_vec *key = NULL;
    alm_sort_order *order = NULL;
    uint32_t *number = NULL;
    alm_window_order o = {.n_parts = 1,
                          .n_keys = call->n_order,
                          .as_it_comes = call->n_order == 0 || call->order_is_ts};
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &order));
    for (uint32_t k = 0; k < call->n_order; k++) {
        order[k] = (alm_sort_order){.desc = call->order[k].desc,
                                    .nulls_first = call->order[k].nulls_first};
        alm_rows_slice(rows, cols->order[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, pool, &key[k], &order[k]));
    }
    o.key = key;
    o.order = order;
    if (peers) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *o.peer_lo, &o.peer_lo));
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *o.peer_hi, &o.peer_hi));
    }
    if (call->n_partition > 0) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *number, &number));
        ALM_TRY(alm_window_numbers(cx, pool, rows, n, call, cols, number, &o.n_parts));
        ALM_TRY(deal(cx, pool, n, number, &o));
        alm_pool_free(pool, number);
    } else {
        ALM_TRY(one_partition(cx, pool, n, &o));
    }
    *out = o;
    return ALM_OK;
}

void alm_window_order_free(alm_pool *pool, alm_window_order *o)
{
    alm_pool_free(pool, o->perm);
    alm_pool_free(pool, o->start);
    alm_pool_free(pool, o->peer_lo);
    alm_pool_free(pool, o->peer_hi);
}

/* workers: NULL for the calling thread alone. */
static alm_status sort_partition(alm_ctx *cx, alm_workers *workers, const alm_window_order *o,
                                 uint32_t *perm, uint32_t n, alm_sort_item *item)
{
    for (uint32_t i = 0; i < n; i++)
        item[i].row = perm[i];
    if (workers != NULL)
        ALM_TRY(alm_sort_items_on(cx, workers, o->key, o->order, o->n_keys, item, item + n, n));
    else
        ALM_TRY(alm_sort_items(cx, o->key, o->order, o->n_keys, item, item + n, n));
    for (uint32_t i = 0; i < n; i++)
        perm[i] = item[i].row;
    return ALM_OK;
}

/* Partitions that are too large for one thread. */
static bool is_large(const alm_window_order *o, uint32_t p)
{
    return o->start[p + 1] - o->start[p] >= LARGE_MIN;
}

alm_status alm_window_sort_large(alm_ctx *cx, alm_pool *pool, alm_workers *workers,
                                 const alm_window_order *o)
{
    for (uint32_t p = 0; p < o->n_parts && !o->as_it_comes; p++) {
        alm_sort_item *item = NULL;
        const uint32_t n = o->start[p + 1] - o->start[p];
        if (!is_large(o, p))
            continue;
        ALM_TRY(alm_pool_alloc(cx, pool, 2 * (size_t)n * sizeof *item, &item));
        ALM_TRY(sort_partition(cx, workers, o, o->perm + o->start[p], n, item));
        alm_pool_free(pool, item);
    }
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
static void find_groups(const alm_window_order *o, uint32_t from, uint32_t n, uint32_t *group)
{
    uint32_t row[CHUNK + 1];
    uint8_t tie[CHUNK + 1];
    group[0] = 0;
    for (uint32_t at = 0; at + 1 < n; at += CHUNK) { /* positions at .. at + m - 1 */
        const uint32_t m = ALM_MIN((uint32_t)CHUNK + 1, n - at);
        uint32_t left = m;
        for (uint32_t i = 0; i < m; i++)
            row[i] = o->perm != NULL ? o->perm[from + at + i] : from + at + i;
        memset(tie, 1, m);
        for (uint32_t k = 0; k < o->n_keys && left > 0; k++)
            left = test_ties(&o->key[k], &o->order[k], row, m, tie);
        for (uint32_t i = 1; i < m; i++)
            group[at + i] = tie[i] ? group[at + i - 1] : at + i;
    }
}

static void find_peers(const alm_window_order *o, uint32_t from, uint32_t n)
{
    uint32_t *lo = o->peer_lo + from, *hi = o->peer_hi + from;
    if (o->n_keys == 0) {
        memset(lo, 0, n * sizeof *lo);
        for (uint32_t i = 0; i < n; i++)
            hi[i] = n;
        return;
    }
    find_groups(o, from, n, lo);
    for (uint32_t i = n; i-- > 0;)
        hi[i] = i + 1 == n || lo[i + 1] == i + 1 ? i + 1 : hi[i + 1];
}

alm_status alm_window_arrange(alm_ctx *cx, const alm_window_slice *s)
{
    const alm_window_order *o = s->order;
    uint32_t most = 0;
    alm_sort_item *item = NULL;
    for (uint32_t p = s->lo; p < s->hi; p++)
        most = is_large(o, p) ? most : ALM_MAX(most, o->start[p + 1] - o->start[p]);
    if (!o->as_it_comes)
        ALM_TRY(alm_arena_bytes(cx, s->arena, (2 * (size_t)most + 1) * sizeof *item, &item));
    for (uint32_t p = s->lo; p < s->hi; p++) {
        const uint32_t from = o->start[p], n = o->start[p + 1] - from;
        if (n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (!o->as_it_comes && !is_large(o, p))
            ALM_TRY(sort_partition(cx, NULL, o, o->perm + from, n, item));
        if (o->peer_lo != NULL)
            find_peers(o, from, n);
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- columns */

alm_status alm_window_column(alm_ctx *cx, const alm_window_slice *s, uint32_t col, alm_vec *out)
{
    const uint32_t n = s->to - s->from;
    void *to = NULL;
    if (s->order->perm == NULL) {
        alm_rows_slice(s->rows, col, s->from, out);
        return ALM_OK;
    }
    const uint32_t *perm = s->order->perm + s->from;
    alm_rows_slice(s->rows, col, 0, out);
    ALM_TRY(alm_arena_bytes(cx, s->arena, ((size_t)n + 1) * out->width, &to));
    alm_rows_pick(out->data, out->width, perm, n, to);
    out->data = to;
    return ALM_OK;
}
