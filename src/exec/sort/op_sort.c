/*
 * op_sort.c - rows in another order: all of them, or the first few. See sort.h.
 *
 * Input    read through a pipe: every thread keeps the rows of its morsels column by column. Their
 *          order is found on row numbers, the result is gathered batch by batch.
 * Memory   charged as "sort". What does not fit goes to temporary files (spill.c); where there are
 *          none the error names the sort.
 */
#include "exec/run/op_make.h"
#include "exec/sort/sort.h"

enum { TOP_MAX = 1 << 16, MORSEL_SHIFT = 36 /* a morsel has fewer rows; one morsel may be all */ };

/* ------------------------------------------------------------------------------------- slots */

alm_status alm_sort_slot_ready(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot)
{
    if (slot->ready)
        return ALM_OK;
    alm_pool_init(&slot->store.pool, cx->mem, "sort");
    alm_pool_init(&slot->store.other, cx->mem, "sort");
    alm_pool_init(&slot->ranks, cx->mem, "sort");
    alm_arena_init(&slot->scratch, cx->mem);
    slot->ready = true;
    ALM_TRY(alm_rows_init(cx, &slot->store.rows, &slot->store.pool, sort->cols, sort->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_keys + 2, &slot->order));
    for (uint32_t key = 0; key < sort->n_keys; key++)
        slot->order[key] =
            (alm_sort_order){.desc = sort->keys[key].desc != sort->last,
                             .nulls_first = sort->keys[key].nulls_first != sort->last};
    slot->order[sort->n_keys] =
        (alm_sort_order){.desc = sort->last, .nulls_first = true}; /* sequence */
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_computed + 1, &slot->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_cols + 1, &slot->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->code));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->under));
    return alm_eval_new(cx, sort->computed, sort->n_computed, &slot->eval);
}

static void op_sort_slot_close(alm_sort_slot *slot)
{
    if (!slot->ready)
        return;
    alm_eval_free(slot->eval);
    alm_pool_deinit(&slot->store.pool);
    alm_pool_deinit(&slot->store.other);
    alm_pool_deinit(&slot->ranks);
    alm_arena_deinit(&slot->scratch);
    alm_spill_free(slot->spill);
    slot->spill = NULL;
    slot->ready = false;
}

/* ------------------------------------------------------------------------------------ stores */

static alm_status reserve_items(alm_ctx *cx, alm_sort_slot *slot)
{
    alm_sort_store *store = &slot->store;
    const uint32_t n_rows = store->rows.n;
    if (n_rows <= store->cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n_rows, 1024U);
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &store->item, 0, cap * sizeof(alm_sort_item)));
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &store->spare, 0, cap * sizeof(alm_sort_item)));
    store->cap = cap;
    return ALM_OK;
}

alm_status alm_sort_store_order(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot,
                                bool by_sequence)
{
    const uint32_t n_keys = sort->n_keys + by_sequence, n_rows = slot->store.rows.n;
    alm_vec *key = NULL;
    alm_arena_reset(&slot->scratch);
    ALM_TRY(reserve_items(cx, slot));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, n_keys + 1, &key));
    for (uint32_t k = 0; k < n_keys; k++) {
        alm_rows_slice(&slot->store.rows, sort->key_col[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, &slot->ranks, &key[k], &slot->order[k]));
    }
    for (uint32_t i = 0; i < n_rows; i++)
        slot->store.item[i] = (alm_sort_item){.row = i};
    /* the caller's store has all rows; the others are sorted side by side */
    alm_workers *workers = slot == &sort->own ? sort->op.run->env.workers : NULL;
    return alm_sort_items_on(cx, workers, key, slot->order, n_keys, slot->store.item,
                             slot->store.spare, n_rows);
}

/* Column of the batch at the picked rows (NULL: all), whatever form it is in. */
static alm_status op_sort_picked_column(alm_ctx *cx, alm_sort_slot *slot, const alm_batch *batch,
                                        const alm_vec *col, const uint32_t *pick, uint32_t m,
                                        alm_vec *out)
{
    if (col->is_const || (pick == NULL && !col->indirect)) {
        *out = *col;
        return ALM_OK;
    }
    alm_vec plain = *col;
    plain.indirect = false;
    if (!col->indirect)
        return alm_vec_gather(cx, &slot->scratch, &plain, pick, m, out);
    for (uint32_t i = 0; i < m; i++)
        slot->under[i] = batch->sel[pick != NULL ? pick[i] : i];
    return alm_vec_gather(cx, &slot->scratch, &plain, slot->under, m, out);
}

alm_status alm_sort_keep(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot,
                         const alm_batch *batch, const uint32_t *pick, uint32_t m, uint64_t first)
{
    int64_t *number = NULL;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, m * sizeof *number, &number));
    for (uint32_t i = 0; i < m; i++)
        number[i] = (int64_t)(first + (pick != NULL ? pick[i] : i));
    for (uint32_t col = 0; col < batch->n_cols; col++)
        ALM_TRY(
            op_sort_picked_column(cx, slot, batch, &batch->cols[col], pick, m, &slot->cols[col]));
    for (uint32_t computed = 0; computed < sort->n_computed; computed++)
        ALM_TRY(op_sort_picked_column(cx, slot, batch, &slot->computed[computed], pick, m,
                                      &slot->cols[batch->n_cols + computed]));
    slot->cols[sort->n_cols - 1] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = number};
    alm_batch some = {.rows = m, .n_cols = sort->n_cols, .cols = slot->cols};
    return alm_rows_append(cx, &slot->store.rows, &slot->scratch, &some);
}

/* ------------------------------------------------------------------------------------- input */

static alm_status op_sort_take_batch(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot,
                                     alm_batch *batch, uint64_t first)
{
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_eval_run(cx, slot->eval, &slot->scratch, batch, slot->computed));
    if (sort->top)
        return alm_sort_top_batch(cx, sort, slot, batch, first);
    ALM_TRY(alm_sort_make_room(cx, sort, slot, batch->rows));
    return alm_sort_keep(cx, sort, slot, batch, NULL, batch->rows, first);
}

static alm_status op_sort_take_morsel(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t morsel,
                                      alm_op *input)
{
    alm_sort *sort = arg;
    alm_sort_slot *slot = &sort->slot[slot_no];
    uint64_t sequence = (uint64_t)morsel << MORSEL_SHIFT;
    ALM_TRY(alm_sort_slot_ready(cx, sort, slot));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        const uint32_t rows = batch->rows;
        ALM_TRY(op_sort_take_batch(cx, sort, slot, batch, sequence));
        sequence += rows;
    }
}

/* The rows of all slots into the caller's store; a single slot's are taken over. */
static alm_status bring_together(alm_ctx *cx, alm_sort *sort, bool *mixed)
{
    uint32_t filled = 0, last = 0;
    for (uint32_t i = 0; i < sort->n_slots; i++)
        if (sort->slot[i].ready && sort->slot[i].store.rows.n > 0) {
            filled++;
            last = i;
        }
    *mixed = filled > 1;
    if (filled == 1) {
        alm_sort_store *from = &sort->slot[last].store, *to = &sort->own.store;
        to->pool = from->pool;
        const alm_rows rows = from->rows;
        to->rows.n = rows.n;
        to->rows.cap = rows.cap;
        memcpy(to->rows.col, rows.col, sort->n_cols * sizeof *rows.col);
        alm_pool_init(&from->pool, cx->mem, "sort");
        from->rows.n = from->rows.cap = 0;
        return ALM_OK;
    }
    for (uint32_t i = 0; i < sort->n_slots && filled > 0; i++) {
        alm_sort_store *from = &sort->slot[i].store;
        if (!sort->slot[i].ready || from->rows.n == 0)
            continue;
        for (uint32_t col = 0; col < sort->n_cols; col++)
            alm_rows_slice(&from->rows, col, 0, &sort->own.cols[col]);
        alm_batch all = {.rows = from->rows.n, .n_cols = sort->n_cols, .cols = sort->own.cols};
        alm_arena_reset(&sort->own.scratch);
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_rows_append(cx, &sort->own.store.rows, &sort->own.scratch, &all));
        alm_pool_deinit(&from->pool);
        from->rows.n = from->rows.cap = 0;
    }
    return ALM_OK;
}

static bool spilled(const alm_sort *sort)
{
    for (uint32_t i = 0; i < sort->n_slots; i++)
        if (sort->slot[i].spill != NULL)
            return true;
    return false;
}

static alm_status write_last_run(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i)
{
    alm_sort *sort = arg;
    (void)slot;
    return sort->slot[i].ready ? alm_sort_write_run(cx, sort, &sort->slot[i]) : ALM_OK;
}

static alm_status op_sort_read_input(alm_ctx *cx, alm_sort *sort)
{
    bool mixed = false;
    ALM_TRY(alm_sort_slot_ready(cx, sort, &sort->own));
    ALM_TRY(alm_pipe_new(cx, sort->op.run, sort->op.plan->child[0], sort->op.plan, &sort->pipe));
    sort->n_slots = alm_pipe_slots(sort->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_slots, &sort->slot));
    if (sort->top)
        ALM_TRY(alm_sort_top_prepare(cx, sort));
    ALM_TRY(
        alm_pipe_run(cx, sort->pipe, 0, alm_pipe_morsels(sort->pipe), op_sort_take_morsel, sort));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &sort->result));
    if (spilled(sort) || (!sort->last && !alm_sort_fits(sort))) {
        ALM_TRY(alm_pipe_each(cx, sort->pipe, sort->n_slots, write_last_run, sort));
        sort->n = sort->limit >= 0 ? sort->limit : INT64_MAX;
        return alm_sort_merge_open(cx, sort);
    }
    ALM_TRY(bring_together(cx, sort, &mixed));
    ALM_TRY(alm_sort_store_order(cx, sort, &sort->own, mixed || sort->top));
    sort->n = sort->own.store.rows.n;
    if (sort->limit >= 0)
        sort->n = ALM_MIN(sort->n, sort->limit);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ output */

static alm_status next_stored(alm_ctx *cx, alm_sort *sort, uint32_t n)
{
    alm_op *op = &sort->op;
    alm_arena_reset(&op->batch);
    for (uint32_t i = 0; i < n; i++)
        sort->result[i] =
            sort->own.store.item[sort->last ? sort->n - 1 - sort->at - i : sort->at + i].row;
    alm_rows shown = sort->own.store.rows;
    shown.n_cols = op->out.n_cols; /* without the computed keys */
    return alm_rows_gather(cx, &shown, &op->batch, sort->result, n, op->out.cols);
}

static alm_status next_merged(alm_ctx *cx, alm_sort *sort, uint32_t *n)
{
    alm_batch *batch = NULL;
    ALM_TRY(alm_sort_merge_next(cx, sort->merge, &batch));
    *n = batch == NULL ? 0 : ALM_MIN(*n, batch->rows);
    if (batch != NULL)
        memcpy(sort->op.out.cols, batch->cols, sort->op.out.n_cols * sizeof *batch->cols);
    return ALM_OK;
}

static alm_status sort_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_sort *sort = (alm_sort *)op;
    *out = NULL;
    if (!sort->read) {
        if (sort->limit == 0)
            return ALM_OK;
        ALM_TRY(op_sort_read_input(cx, sort));
        sort->read = true;
    }
    uint32_t n_rows = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, sort->n - sort->at);
    if (n_rows == 0)
        return ALM_OK;
    ALM_TRY(sort->merge != NULL ? next_merged(cx, sort, &n_rows) : next_stored(cx, sort, n_rows));
    if (n_rows == 0)
        return ALM_OK;
    op->out.rows = n_rows;
    sort->at += n_rows;
    *out = &op->out;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- life cycle */

static void sort_close(alm_op *op)
{
    alm_sort *sort = (alm_sort *)op;
    alm_sort_merge_close(sort->merge);
    for (uint32_t i = 0; sort->slot != NULL && i < sort->n_slots; i++)
        op_sort_slot_close(&sort->slot[i]);
    op_sort_slot_close(&sort->own);
    alm_pipe_free(sort->pipe); /* last: the slots live in its arenas */
}

static const alm_op_vt sort_vt = {.name = "sort", .next = sort_next, .close = sort_close};

static alm_status op_sort_lay_out(alm_ctx *cx, alm_sort *sort)
{
    const alm_plan *plan = sort->op.plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_keys + 1, &sort->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, sort->n_keys + 2, &sort->key_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + sort->n_keys + 2, &sort->cols));
    memcpy(sort->cols, plan->child[0]->cols, plan->n_cols * sizeof *sort->cols);
    sort->n_cols = plan->n_cols;
    for (uint32_t key = 0; key < sort->n_keys; key++) {
        const alm_expr *expr = sort->keys[key].expr;
        if (expr->kind == ALM_X_COL) {
            sort->key_col[key] = expr->col;
            continue;
        }
        sort->key_col[key] = sort->n_cols;
        sort->cols[sort->n_cols++] = (alm_plan_col){"", expr->type};
        sort->computed[sort->n_computed++] = expr;
    }
    sort->key_col[sort->n_keys] = sort->n_cols;
    sort->cols[sort->n_cols++] = (alm_plan_col){"", ALM_TY(LONG)};
    return ALM_OK;
}

alm_status alm_op_sort_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    alm_sort *sort = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &sort));
    ALM_TRY(alm_op_init(cx, &sort->op, &sort_vt, run, plan, pipe));
    *out = &sort->op;
    sort->keys = plan->sort.keys;
    sort->n_keys = plan->sort.n_keys;
    sort->limit = plan->sort.limit;
    sort->last = sort->limit < -1 && sort->limit >= -1 - TOP_MAX;
    sort->limit = sort->last ? -1 - sort->limit : ALM_MAX(sort->limit, -1);
    sort->top = sort->limit > 0 && sort->limit <= TOP_MAX;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    return op_sort_lay_out(cx, sort);
}
