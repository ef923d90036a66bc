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
    for (uint32_t key = 0; key < n_keys; key++)
        types[key] = call->partition[key]->type;
    alm_pool_init(&keys_pool, cx->mem, pool->who);
    alm_status status = alm_keymap_new(cx, &keys_pool, types, n_keys, &map);
    for (uint32_t place = 0; place < n && status == ALM_OK; place += ALM_BATCH_ROWS) {
        for (uint32_t key = 0; key < n_keys; key++)
            alm_rows_slice(rows, cols->partition[key], place, &keys[key]);
        status = alm_check(cx);
        if (status == ALM_OK)
            status = alm_keymap_add(cx, map, keys, ALM_MIN((uint32_t)ALM_BATCH_ROWS, n - place),
                                    number + place);
    }
    *n_parts = map != NULL ? alm_keymap_count(map) : 0;
    alm_pool_deinit(&keys_pool);
    return status;
}

/* ------------------------------------------------------------------------------------ order */

/* Deals the rows, in input order, to their partitions. */
static alm_status window_sort_deal(alm_ctx *cx, alm_pool *pool, uint32_t n, const uint32_t *number,
                                   alm_window_order *order)
{
    uint32_t *dest = NULL;
    ALM_TRY(alm_pool_zero(cx, pool, ((size_t)order->n_parts + 2) * sizeof *order->start,
                          &order->start));
    ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *dest, &dest));
    uint32_t *next = order->start + 1;
    for (uint32_t i = 0; i < n; i++)
        next[number[i]]++;
    uint32_t sum = 0;
    for (uint32_t part = 0; part < order->n_parts; part++) {
        const uint32_t size = next[part];
        next[part] = sum;
        sum += size;
    }
    for (uint32_t i = 0; i < n; i++)
        dest[next[number[i]]++] = i;
    order->perm = dest;
    return ALM_OK;
}

static alm_status one_partition(alm_ctx *cx, alm_pool *pool, uint32_t n, alm_window_order *order)
{
    ALM_TRY(alm_pool_zero(cx, pool, 2 * sizeof *order->start, &order->start));
    order->start[1] = n;
    if (order->as_it_comes)
        return ALM_OK;
    ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *order->perm, &order->perm));
    for (uint32_t i = 0; i < n; i++)
        order->perm[i] = i;
    return ALM_OK;
}

alm_status alm_window_deal(alm_ctx *cx, alm_pool *pool, const alm_rows *rows, uint32_t n,
                           const alm_window_call *call, const alm_window_cols *cols, bool peers,
                           alm_window_order *out)
{
    alm_vec *key = NULL;
    alm_sort_order *order = NULL;
    uint32_t *number = NULL;
    alm_window_order window_order = {.n_parts = 1,
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
    window_order.key = key;
    window_order.order = order;
    if (peers) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *window_order.peer_lo,
                               &window_order.peer_lo));
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *window_order.peer_hi,
                               &window_order.peer_hi));
    }
    if (call->n_partition > 0) {
        ALM_TRY(alm_pool_alloc(cx, pool, ((size_t)n + 1) * sizeof *number, &number));
        ALM_TRY(alm_window_numbers(cx, pool, rows, n, call, cols, number, &window_order.n_parts));
        ALM_TRY(window_sort_deal(cx, pool, n, number, &window_order));
        alm_pool_free(pool, number);
    } else {
        ALM_TRY(one_partition(cx, pool, n, &window_order));
    }
    *out = window_order;
    return ALM_OK;
}

void alm_window_order_free(alm_pool *pool, alm_window_order *order)
{
    alm_pool_free(pool, order->perm);
    alm_pool_free(pool, order->start);
    alm_pool_free(pool, order->peer_lo);
    alm_pool_free(pool, order->peer_hi);
}

/* workers: NULL for the calling thread alone. */
static alm_status sort_partition(alm_ctx *cx, alm_workers *workers, const alm_window_order *order,
                                 uint32_t *perm, uint32_t n_perms, alm_sort_item *item)
{
    for (uint32_t i = 0; i < n_perms; i++)
        item[i].row = perm[i];
    if (workers != NULL)
        ALM_TRY(alm_sort_items_on(cx, workers, order->key, order->order, order->n_keys, item,
                                  item + n_perms, n_perms));
    else
        ALM_TRY(alm_sort_items(cx, order->key, order->order, order->n_keys, item, item + n_perms,
                               n_perms));
    for (uint32_t i = 0; i < n_perms; i++)
        perm[i] = item[i].row;
    return ALM_OK;
}

/* Partitions that are too large for one thread. */
static bool is_large(const alm_window_order *order, uint32_t partition)
{
    return order->start[partition + 1] - order->start[partition] >= LARGE_MIN;
}

alm_status alm_window_sort_large(alm_ctx *cx, alm_pool *pool, alm_workers *workers,
                                 const alm_window_order *order)
{
    for (uint32_t part = 0; part < order->n_parts && !order->as_it_comes; part++) {
        alm_sort_item *item = NULL;
        const uint32_t n = order->start[part + 1] - order->start[part];
        if (!is_large(order, part))
            continue;
        ALM_TRY(alm_pool_alloc(cx, pool, 2 * (size_t)n * sizeof *item, &item));
        ALM_TRY(sort_partition(cx, workers, order, order->perm + order->start[part], n, item));
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
static void window_sort_find_groups(const alm_window_order *order, uint32_t from, uint32_t n,
                                    uint32_t *group)
{
    uint32_t row[CHUNK + 1];
    uint8_t tie[CHUNK + 1];
    group[0] = 0;
    for (uint32_t place = 0; place + 1 < n; place += CHUNK) { /* positions at .. at + m - 1 */
        const uint32_t m = ALM_MIN((uint32_t)CHUNK + 1, n - place);
        uint32_t left = m;
        for (uint32_t i = 0; i < m; i++)
            row[i] = order->perm != NULL ? order->perm[from + place + i] : from + place + i;
        memset(tie, 1, m);
        for (uint32_t key = 0; key < order->n_keys && left > 0; key++)
            left = test_ties(&order->key[key], &order->order[key], row, m, tie);
        for (uint32_t i = 1; i < m; i++)
            group[place + i] = tie[i] ? group[place + i - 1] : place + i;
    }
}

static void find_peers(const alm_window_order *order, uint32_t from, uint32_t n)
{
    uint32_t *lo = order->peer_lo + from, *hi = order->peer_hi + from;
    if (order->n_keys == 0) {
        memset(lo, 0, n * sizeof *lo);
        for (uint32_t i = 0; i < n; i++)
            hi[i] = n;
        return;
    }
    window_sort_find_groups(order, from, n, lo);
    for (uint32_t i = n; i-- > 0;)
        hi[i] = i + 1 == n || lo[i + 1] == i + 1 ? i + 1 : hi[i + 1];
}

alm_status alm_window_arrange(alm_ctx *cx, const alm_window_slice *slice)
{
    const alm_window_order *order = slice->order;
    uint32_t most = 0;
    alm_sort_item *item = NULL;
    for (uint32_t partition = slice->lo; partition < slice->hi; partition++)
        most = is_large(order, partition)
                   ? most
                   : ALM_MAX(most, order->start[partition + 1] - order->start[partition]);
    if (!order->as_it_comes)
        ALM_TRY(alm_arena_bytes(cx, slice->arena, (2 * (size_t)most + 1) * sizeof *item, &item));
    for (uint32_t partition = slice->lo; partition < slice->hi; partition++) {
        const uint32_t from = order->start[partition], n = order->start[partition + 1] - from;
        if (n == 0)
            continue;
        ALM_TRY(alm_check(cx));
        if (!order->as_it_comes && !is_large(order, partition))
            ALM_TRY(sort_partition(cx, NULL, order, order->perm + from, n, item));
        if (order->peer_lo != NULL)
            find_peers(order, from, n);
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- columns */

alm_status alm_window_column(alm_ctx *cx, const alm_window_slice *slice, uint32_t col, alm_vec *out)
{
    const uint32_t n = slice->to - slice->from;
    void *dest = NULL;
    if (slice->order->perm == NULL) {
        alm_rows_slice(slice->rows, col, slice->from, out);
        return ALM_OK;
    }
    const uint32_t *perm = slice->order->perm + slice->from;
    alm_rows_slice(slice->rows, col, 0, out);
    ALM_TRY(alm_arena_bytes(cx, slice->arena, ((size_t)n + 1) * out->width, &dest));
    alm_rows_pick(out->data, out->width, perm, n, dest);
    out->data = dest;
    return ALM_OK;
}
