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

alm_status alm_sort_slot_ready(alm_ctx *cx, const alm_sort *s, alm_sort_slot *slot)
{
    if (slot->ready)
        return ALM_OK;
    alm_pool_init(&slot->store.pool, cx->mem, "sort");
    alm_pool_init(&slot->store.other, cx->mem, "sort");
    alm_pool_init(&slot->ranks, cx->mem, "sort");
    alm_arena_init(&slot->scratch, cx->mem);
    slot->ready = true;
    ALM_TRY(alm_rows_init(cx, &slot->store.rows, &slot->store.pool, s->cols, s->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_keys + 2, &slot->order));
    for (uint32_t k = 0; k < s->n_keys; k++)
        slot->order[k] = (alm_sort_order){.desc = s->keys[k].desc != s->last,
                                          .nulls_first = s->keys[k].nulls_first != s->last};
    slot->order[s->n_keys] = (alm_sort_order){.desc = s->last, .nulls_first = true}; /* sequence */
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_computed + 1, &slot->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_cols + 1, &slot->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->code));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->under));
    return alm_eval_new(cx, s->computed, s->n_computed, &slot->eval);
}

static void slot_close(alm_sort_slot *slot)
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
    alm_sort_store *st = &slot->store;
    const uint32_t n = st->rows.n;
    if (n <= st->cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 1024U);
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &st->item, 0, cap * sizeof(alm_sort_item)));
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &st->spare, 0, cap * sizeof(alm_sort_item)));
    st->cap = cap;
    return ALM_OK;
}

alm_status alm_sort_store_order(alm_ctx *cx, const alm_sort *s, alm_sort_slot *slot,
                                bool by_sequence)
{
    const uint32_t n_keys = s->n_keys + by_sequence, n = slot->store.rows.n;
    alm_vec *key = NULL;
    alm_arena_reset(&slot->scratch);
    ALM_TRY(reserve_items(cx, slot));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, n_keys + 1, &key));
    for (uint32_t k = 0; k < n_keys; k++) {
        alm_rows_slice(&slot->store.rows, s->key_col[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, &slot->ranks, &key[k], &slot->order[k]));
    }
    for (uint32_t i = 0; i < n; i++)
        slot->store.item[i] = (alm_sort_item){.row = i};
    /* the caller's store has all rows; the others are sorted side by side */
    alm_workers *workers = slot == &s->own ? s->op.run->env.workers : NULL;
    return alm_sort_items_on(cx, workers, key, slot->order, n_keys, slot->store.item,
                             slot->store.spare, n);
}

/* Column of the batch at the picked rows (NULL: all), whatever form it is in. */
static alm_status picked_column(alm_ctx *cx, alm_sort_slot *slot, const alm_batch *in,
                                const alm_vec *col, const uint32_t *pick, uint32_t m, alm_vec *out)
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
        slot->under[i] = in->sel[pick != NULL ? pick[i] : i];
    return alm_vec_gather(cx, &slot->scratch, &plain, slot->under, m, out);
}

alm_status alm_sort_keep(alm_ctx *cx, const alm_sort *s, alm_sort_slot *slot, const alm_batch *in,
                         const uint32_t *pick, uint32_t m, uint64_t first)
{
    int64_t *number = NULL;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, m * sizeof *number, &number));
    for (uint32_t i = 0; i < m; i++)
        number[i] = (int64_t)(first + (pick != NULL ? pick[i] : i));
    for (uint32_t c = 0; c < in->n_cols; c++)
        ALM_TRY(picked_column(cx, slot, in, &in->cols[c], pick, m, &slot->cols[c]));
    for (uint32_t c = 0; c < s->n_computed; c++)
        ALM_TRY(
            picked_column(cx, slot, in, &slot->computed[c], pick, m, &slot->cols[in->n_cols + c]));
    slot->cols[s->n_cols - 1] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = number};
    alm_batch some = {.rows = m, .n_cols = s->n_cols, .cols = slot->cols};
    return alm_rows_append(cx, &slot->store.rows, &slot->scratch, &some);
}

/* ------------------------------------------------------------------------------------- input */

static alm_status take_batch(alm_ctx *cx, alm_sort *s, alm_sort_slot *slot, alm_batch *in,
                             uint64_t first)
{
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_eval_run(cx, slot->eval, &slot->scratch, in, slot->computed));
    if (s->top)
        return alm_sort_top_batch(cx, s, slot, in, first);
    ALM_TRY(alm_sort_make_room(cx, s, slot, in->rows));
    return alm_sort_keep(cx, s, slot, in, NULL, in->rows, first);
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t morsel,
                              alm_op *input)
{
    alm_sort *s = arg;
    alm_sort_slot *slot = &s->slot[slot_no];
    uint64_t sequence = (uint64_t)morsel << MORSEL_SHIFT;
    ALM_TRY(alm_sort_slot_ready(cx, s, slot));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        const uint32_t rows = in->rows;
        ALM_TRY(take_batch(cx, s, slot, in, sequence));
        sequence += rows;
    }
}

/* The rows of all slots into the caller's store; a single slot's are taken over. */
static alm_status bring_together(alm_ctx *cx, alm_sort *s, bool *mixed)
{
    uint32_t filled = 0, last = 0;
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].ready && s->slot[i].store.rows.n > 0) {
            filled++;
            last = i;
        }
    *mixed = filled > 1;
    if (filled == 1) {
        alm_sort_store *from = &s->slot[last].store, *to = &s->own.store;
        to->pool = from->pool;
        const alm_rows rows = from->rows;
        to->rows.n = rows.n;
        to->rows.cap = rows.cap;
        memcpy(to->rows.col, rows.col, s->n_cols * sizeof *rows.col);
        alm_pool_init(&from->pool, cx->mem, "sort");
        from->rows.n = from->rows.cap = 0;
        return ALM_OK;
    }
    for (uint32_t i = 0; i < s->n_slots && filled > 0; i++) {
        alm_sort_store *from = &s->slot[i].store;
        if (!s->slot[i].ready || from->rows.n == 0)
            continue;
        for (uint32_t c = 0; c < s->n_cols; c++)
            alm_rows_slice(&from->rows, c, 0, &s->own.cols[c]);
        alm_batch all = {.rows = from->rows.n, .n_cols = s->n_cols, .cols = s->own.cols};
        alm_arena_reset(&s->own.scratch);
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_rows_append(cx, &s->own.store.rows, &s->own.scratch, &all));
        alm_pool_deinit(&from->pool);
        from->rows.n = from->rows.cap = 0;
    }
    return ALM_OK;
}

static bool spilled(const alm_sort *s)
{
    for (uint32_t i = 0; i < s->n_slots; i++)
        if (s->slot[i].spill != NULL)
            return true;
    return false;
}

static alm_status write_last_run(alm_ctx *cx, void *arg, uint32_t slot, uint32_t i)
{
    alm_sort *s = arg;
    (void)slot;
    return s->slot[i].ready ? alm_sort_write_run(cx, s, &s->slot[i]) : ALM_OK;
}

static alm_status read_input(alm_ctx *cx, alm_sort *s)
{
    bool mixed = false;
    ALM_TRY(alm_sort_slot_ready(cx, s, &s->own));
    ALM_TRY(alm_pipe_new(cx, s->op.run, s->op.plan->child[0], s->op.plan, &s->pipe));
    s->n_slots = alm_pipe_slots(s->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_slots, &s->slot));
    if (s->top)
        ALM_TRY(alm_sort_top_prepare(cx, s));
    ALM_TRY(alm_pipe_run(cx, s->pipe, 0, alm_pipe_morsels(s->pipe), take_morsel, s));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->result));
    if (spilled(s) || (!s->last && !alm_sort_fits(s))) {
        ALM_TRY(alm_pipe_each(cx, s->pipe, s->n_slots, write_last_run, s));
        s->n = s->limit >= 0 ? s->limit : INT64_MAX;
        return alm_sort_merge_open(cx, s);
    }
    ALM_TRY(bring_together(cx, s, &mixed));
    ALM_TRY(alm_sort_store_order(cx, s, &s->own, mixed || s->top));
    s->n = s->own.store.rows.n;
    if (s->limit >= 0)
        s->n = ALM_MIN(s->n, s->limit);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ output */

static alm_status next_stored(alm_ctx *cx, alm_sort *s, uint32_t n)
{
    alm_op *op = &s->op;
    alm_arena_reset(&op->batch);
    for (uint32_t i = 0; i < n; i++)
        s->result[i] = s->own.store.item[s->last ? s->n - 1 - s->at - i : s->at + i].row;
    alm_rows shown = s->own.store.rows;
    shown.n_cols = op->out.n_cols; /* without the computed keys */
    return alm_rows_gather(cx, &shown, &op->batch, s->result, n, op->out.cols);
}

static alm_status next_merged(alm_ctx *cx, alm_sort *s, uint32_t *n)
{
    alm_batch *in = NULL;
    ALM_TRY(alm_sort_merge_next(cx, s->merge, &in));
    *n = in == NULL ? 0 : ALM_MIN(*n, in->rows);
    if (in != NULL)
        memcpy(s->op.out.cols, in->cols, s->op.out.n_cols * sizeof *in->cols);
    return ALM_OK;
}

static alm_status sort_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    alm_sort *s = (alm_sort *)op;
    *out = NULL;
    if (!s->read) {
        if (s->limit == 0)
            return ALM_OK;
        ALM_TRY(read_input(cx, s));
        s->read = true;
    }
    uint32_t n = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, s->n - s->at);
    if (n == 0)
        return ALM_OK;
    ALM_TRY(s->merge != NULL ? next_merged(cx, s, &n) : next_stored(cx, s, n));
    if (n == 0)
        return ALM_OK;
    op->out.rows = n;
    s->at += n;
    *out = &op->out;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- life cycle */

static void sort_close(alm_op *op)
{
    alm_sort *s = (alm_sort *)op;
    alm_sort_merge_close(s->merge);
    for (uint32_t i = 0; s->slot != NULL && i < s->n_slots; i++)
        slot_close(&s->slot[i]);
    slot_close(&s->own);
    alm_pipe_free(s->pipe); /* last: the slots live in its arenas */
}

static const alm_op_vt sort_vt = {.name = "sort", .next = sort_next, .close = sort_close};

static alm_status lay_out(alm_ctx *cx, alm_sort *s)
{
    const alm_plan *p = s->op.plan;
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_keys + 1, &s->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_keys + 2, &s->key_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, p->n_cols + s->n_keys + 2, &s->cols));
    memcpy(s->cols, p->child[0]->cols, p->n_cols * sizeof *s->cols);
    s->n_cols = p->n_cols;
    for (uint32_t k = 0; k < s->n_keys; k++) {
        const alm_expr *e = s->keys[k].expr;
        if (e->kind == ALM_X_COL) {
            s->key_col[k] = e->col;
            continue;
        }
        s->key_col[k] = s->n_cols;
        s->cols[s->n_cols++] = (alm_plan_col){"", e->type};
        s->computed[s->n_computed++] = e;
    }
    s->key_col[s->n_keys] = s->n_cols;
    s->cols[s->n_cols++] = (alm_plan_col){"", ALM_TY(LONG)};
    return ALM_OK;
}

alm_status alm_op_sort_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    alm_sort *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &sort_vt, run, plan, pipe));
    *out = &s->op;
    s->keys = plan->sort.keys;
    s->n_keys = plan->sort.n_keys;
    s->limit = plan->sort.limit;
    s->last = s->limit < -1 && s->limit >= -1 - TOP_MAX;
    s->limit = s->last ? -1 - s->limit : ALM_MAX(s->limit, -1);
    s->top = s->limit > 0 && s->limit <= TOP_MAX;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    return lay_out(cx, s);
}
