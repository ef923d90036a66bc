/*
 * top.c - ORDER BY with a small LIMIT: every thread keeps the best rows of its morsels.
 *
 * Threshold   The code of the first key of a k-th best row: rows with a greater code are not wanted. A
 *             thread has one as soon as it holds k rows, and shares it in the bound; the scan below
 *             skips blocks whose statistics cannot pass it. Where no row is filtered out the statistics
 *             alone give the first bound: k blocks have a row each that is as good as their best value.
 * Ties        go to the earlier row (sequence), so the result does not depend on threads.
 */
#include "exec/eval/origin.h"
#include "exec/sort/sort.h"

/* ------------------------------------------------------------------------------------- bound */

/* The scan whose column the first key is, if its statistics have the order of the key. */
static const alm_plan *bound_scan(const alm_sort *sort, alm_origin *origin)
{
    const alm_plan *input = sort->op.plan->child[0];
    if (!alm_pipe_parallel(sort->pipe) || !alm_origin_of(input, sort->keys[0].expr, origin))
        return NULL;
    if (!alm_sort_has_stats(sort->keys[0].expr->type) || origin->scan->scan.backward)
        return NULL;
    return origin->scan;
}

/* Best codes of the blocks that are whole, one each, in any order. */
static alm_status best_codes(alm_ctx *cx, const alm_scan_plan *scan, const alm_scan_bound *bound,
                             uint64_t **codes, uint32_t *n)
{
    const size_t spans = scan->scans->span_count(scan->scan);
    size_t cap = 0;
    for (size_t i = 0; i < spans; i++)
        cap += (size_t)(scan->scans->span_at(scan->scan, i).rows / ALM_STATS_BLOCK_ROWS) + 2;
    *n = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, cap + 1, codes));
    for (size_t i = 0; i < spans; i++) {
        const int64_t rows = scan->scans->span_at(scan->scan, i).rows;
        for (int64_t row = 0; row < rows;) {
            alm_col_stats stats;
            int64_t left = 0;
            scan->scans->block_stats(scan->scan, i, row, bound->stored_col, &left, &stats);
            if (stats.valid && stats.has_minmax && *n < cap)
                (*codes)[(*n)++] = alm_sort_best_code(bound->type, &bound->order, &stats);
            row += left > 0 ? left : rows;
        }
    }
    return ALM_OK;
}

/* The k-th least of n codes, k <= n. */
static alm_status kth_code(alm_ctx *cx, const uint64_t *codes, uint32_t n_items, uint32_t k,
                           uint64_t *out)
{
    alm_sort_item *item = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 2 * (size_t)n_items, &item));
    for (uint32_t i = 0; i < n_items; i++)
        item[i].code = codes[i];
    alm_sort_codes(item, item + n_items, n_items);
    *out = item[k - 1].code;
    return ALM_OK;
}

alm_status alm_sort_top_prepare(alm_ctx *cx, alm_sort *sort)
{
    alm_origin origin;
    alm_scan_plan *scan_plan = NULL;
    uint64_t *codes = NULL;
    uint32_t n = 0;
    const alm_plan *scan = bound_scan(sort, &origin);
    if (scan == NULL)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, sort->op.run, scan, &scan_plan));
    ALM_TRY(ALM_NEW(cx, cx->arena, &sort->bound));
    *sort->bound = (alm_scan_bound){.stored_col = alm_scan_stored(scan_plan, origin.scan_col),
                                    .type = sort->keys[0].expr->type,
                                    .order = sort->own.order[0],
                                    .code = UINT64_MAX};
    scan_plan->bound = sort->bound;
    if (origin.filtered)
        return ALM_OK;
    ALM_TRY(best_codes(cx, scan_plan, sort->bound, &codes, &n));
    uint64_t code = UINT64_MAX;
    if (n >= (uint64_t)sort->limit)
        ALM_TRY(kth_code(cx, codes, n, (uint32_t)sort->limit, &code));
    atomic_store(&sort->bound->code, code);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- prune */

static void share_threshold(const alm_sort *sort, uint64_t threshold)
{
    if (sort->bound == NULL)
        return;
    uint64_t before = atomic_load_explicit(&sort->bound->code, memory_order_relaxed);
    while (threshold < before &&
           !atomic_compare_exchange_weak_explicit(&sort->bound->code, &before, threshold,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Keeps the best `limit` rows of the store and sets the threshold. */
static alm_status sort_top_prune(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot)
{
    alm_sort_store *store = &slot->store;
    const uint32_t k = (uint32_t)sort->limit;
    uint32_t *pick = NULL;
    alm_vec first_key;
    ALM_TRY(alm_sort_store_order(cx, sort, slot, true));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, k + 1, &pick));
    for (uint32_t i = 0; i < k; i++)
        pick[i] = store->item[i].row;
    alm_rows_slice(&store->rows, sort->key_col[0], 0, &first_key);
    alm_sort_encode(&first_key, &slot->order[0], &pick[k - 1], 1, &slot->threshold);
    slot->full = true;
    share_threshold(sort, slot->threshold);
    return alm_rows_keep_moved(cx, &store->rows, &store->other, &slot->scratch, pick, k);
}

/* -------------------------------------------------------------------------------- candidates */

ALM_SIMD static uint32_t count_below(const uint64_t *code, uint32_t n_codes, uint64_t threshold)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n_codes; i++)
        m += code[i] <= threshold;
    return m;
}

/* Rows of the batch that may be among the best. */
static uint32_t sort_top_candidates(const alm_sort *sort, alm_sort_slot *slot, const alm_vec *key,
                                    uint32_t n_rows)
{
    uint64_t limit = sort->bound != NULL
                         ? atomic_load_explicit(&sort->bound->code, memory_order_relaxed)
                         : UINT64_MAX;
    if (slot->full && slot->threshold <= limit) {
        limit = slot->threshold;
        /* with one exact key an equal row loses against the earlier ones of this thread */
        if (sort->n_keys == 1 && !sort->last && alm_sort_exact(key, &slot->order[0])) {
            if (limit == 0)
                return 0;
            limit--;
        }
    }
    if (limit != UINT64_MAX && count_below(slot->code, n_rows, limit) == 0)
        return 0;
    uint32_t m = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        slot->pick[m] = i;
        m += slot->code[i] <= limit;
    }
    return m;
}

alm_status alm_sort_top_batch(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot, alm_batch *batch,
                              uint64_t first)
{
    alm_vec *key = NULL;
    if (sort->key_col[0] < batch->n_cols)
        ALM_TRY(alm_batch_column(cx, &slot->scratch, batch, sort->key_col[0], &key));
    else
        key = &slot->computed[sort->key_col[0] - batch->n_cols];
    ALM_TRY(alm_sort_rank(cx, &slot->ranks, key, &slot->order[0]));
    alm_sort_encode(key, &slot->order[0], NULL, batch->rows, slot->code);
    const uint32_t m = sort_top_candidates(sort, slot, key, batch->rows);
    if (m == 0)
        return ALM_OK;
    ALM_TRY(alm_sort_keep(cx, sort, slot, batch, slot->pick, m, first));
    const uint32_t k = (uint32_t)sort->limit;
    return slot->store.rows.n >= k + ALM_MAX(k, 512U) ? sort_top_prune(cx, sort, slot) : ALM_OK;
}
