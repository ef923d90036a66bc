/*
 * op_sort.c - rows in another order: all of them, or the first few.
 *
 * All      rows are kept column by column, the order is found on row numbers, the result is gathered
 *          batch by batch.
 * Top k    every thread keeps the best rows of its morsels; the code of its k-th best is a threshold
 *          that turns most batches away after one compare per row, before other columns are touched.
 *          Ties go to the earlier row (morsel, row), so the result does not depend on threads.
 * Memory   charged as "sort"; the error names it. Nothing is spilled.
 */
#include "exec/eval.h"
#include "exec/op_make.h"
#include "exec/sortkey.h"

enum { TOP_MAX = 1 << 16 };

/* Kept rows with their keys: columns of the plan, then computed keys, then (top k) the sequence. */
typedef struct sort_store {
    alm_pool pool, other; /* two: pruning copies the winners and drops the rest with their texts */
    alm_rows rows;
    alm_sort_item *item, *spare;
    uint32_t cap;
} sort_store;

typedef struct sort_slot {
    sort_store store;
    alm_eval *eval;
    alm_sort_order *order;
    alm_pool ranks;
    alm_arena scratch;
    alm_vec *computed, *cols;
    uint64_t *code;
    uint32_t *pick, *under;
    uint64_t threshold;
    bool full, ready; /* full: threshold holds */
} sort_slot;

typedef struct op_sort {
    alm_op op;
    const alm_sort_key *keys;
    uint32_t n_keys, n_computed, n_cols; /* n_cols: of the store */
    const alm_expr **computed;
    uint32_t *key_col; /* column of the store per key; the last one is the sequence (top k) */
    alm_plan_col *cols;
    int64_t limit; /* -1: all */
    bool top;
    alm_pipe *pipe;
    sort_slot *slot;
    uint32_t n_slots;
    sort_slot own;
    uint32_t at, n;
    uint32_t *result; /* row numbers in order */
    bool read;
} op_sort;

/* ------------------------------------------------------------------------------------- stores */

static alm_status slot_ready(alm_ctx *cx, const op_sort *s, sort_slot *slot)
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
        slot->order[k] =
            (alm_sort_order){.desc = s->keys[k].desc, .nulls_first = s->keys[k].nulls_first};
    slot->order[s->n_keys] = (alm_sort_order){.nulls_first = true}; /* the sequence */
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_computed + 1, &slot->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_cols + 1, &slot->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->code));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->under));
    return alm_eval_new(cx, s->computed, s->n_computed, &slot->eval);
}

static void slot_close(sort_slot *slot)
{
    if (!slot->ready)
        return;
    alm_eval_free(slot->eval);
    alm_pool_deinit(&slot->store.pool);
    alm_pool_deinit(&slot->store.other);
    alm_pool_deinit(&slot->ranks);
    alm_arena_deinit(&slot->scratch);
}

static alm_status reserve_items(alm_ctx *cx, sort_slot *slot)
{
    const uint32_t n = slot->store.rows.n;
    if (n <= slot->store.cap)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(n, 1024U);
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &slot->store.item, 0, cap * sizeof(alm_sort_item)));
    ALM_TRY(alm_pool_grow(cx, &slot->ranks, &slot->store.spare, 0, cap * sizeof(alm_sort_item)));
    slot->store.cap = cap;
    return ALM_OK;
}

/* Puts the rows of the store in order: store.item[i].row. */
static alm_status order_rows(alm_ctx *cx, const op_sort *s, sort_slot *slot)
{
    const uint32_t n_keys = s->n_keys + (s->top ? 1 : 0), n = slot->store.rows.n;
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
    return alm_sort_items(cx, key, slot->order, n_keys, slot->store.item, slot->store.spare, n);
}

/* -------------------------------------------------------------------------------------- all */

static alm_status keep_all(alm_ctx *cx, op_sort *s, sort_slot *slot, alm_batch *in)
{
    alm_batch all = {.rows = in->rows, .n_cols = s->n_cols, .cols = slot->cols, .sel = in->sel};
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_eval_run(cx, slot->eval, &slot->scratch, in, slot->computed));
    memcpy(slot->cols, in->cols, in->n_cols * sizeof *slot->cols);
    memcpy(slot->cols + in->n_cols, slot->computed, s->n_computed * sizeof *slot->cols);
    return alm_rows_append(cx, &slot->store.rows, &slot->scratch, &all);
}

static alm_status sort_all(alm_ctx *cx, op_sort *s)
{
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, s->op.child[0], &in));
        if (in == NULL)
            break;
        ALM_TRY(keep_all(cx, s, &s->own, in));
    }
    return order_rows(cx, s, &s->own);
}

/* ------------------------------------------------------------------------------------- top k */

/* Keeps the best `limit` rows of the store and sets the threshold. */
static alm_status prune(alm_ctx *cx, const op_sort *s, sort_slot *slot)
{
    sort_store *st = &slot->store;
    const uint32_t k = (uint32_t)s->limit;
    uint32_t *pick = NULL;
    alm_vec *cols = NULL;
    alm_rows kept;
    ALM_TRY(order_rows(cx, s, slot));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, k + 1, &pick));
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, s->n_cols + 1, &cols));
    for (uint32_t i = 0; i < k; i++)
        pick[i] = st->item[i].row;
    for (uint32_t c = 0; c < s->n_cols; c++)
        alm_rows_slice(&st->rows, c, 0, &cols[c]);
    alm_sort_encode(&cols[s->key_col[0]], &slot->order[0], &pick[k - 1], 1, &slot->threshold);
    slot->full = true;
    kept = st->rows;
    kept.pool = &st->other;
    kept.n = kept.cap = 0;
    kept.text = NULL;
    kept.text_left = 0;
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, s->n_cols + 1, &kept.col));
    for (uint32_t c = 0; c < s->n_cols; c++) {
        kept.col[c] = st->rows.col[c];
        kept.col[c].data = NULL;
    }
    ALM_TRY(alm_rows_append_picked(cx, &kept, cols, pick, k));
    alm_pool_deinit(&st->pool);
    const alm_pool swap = st->pool;
    st->pool = st->other;
    st->other = swap;
    memcpy(st->rows.col, kept.col, s->n_cols * sizeof *kept.col);
    st->rows.n = kept.n;
    st->rows.cap = kept.cap;
    st->rows.text = kept.text;
    st->rows.text_left = kept.text_left;
    return ALM_OK;
}

ALM_SIMD static uint32_t count_below(const uint64_t *code, uint32_t n, uint64_t threshold)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        m += code[i] <= threshold;
    return m;
}

/* Rows of the batch that may be among the best. */
static uint32_t candidates(const op_sort *s, sort_slot *slot, const alm_vec *key, uint32_t n)
{
    uint64_t limit = UINT64_MAX;
    if (slot->full) {
        limit = slot->threshold;
        /* with one exact key an equal row loses against the earlier one */
        if (s->n_keys == 1 && alm_sort_exact(key, &slot->order[0])) {
            if (limit == 0)
                return 0;
            limit--;
        }
        if (count_below(slot->code, n, limit) == 0)
            return 0;
    }
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        slot->pick[m] = i;
        m += slot->code[i] <= limit;
    }
    return m;
}

/* Column c of the batch at the picked rows, whatever form it is in. */
static alm_status picked_column(alm_ctx *cx, sort_slot *slot, const alm_batch *in,
                                const alm_vec *col, uint32_t m, alm_vec *out)
{
    if (col->is_const) {
        *out = *col;
        return ALM_OK;
    }
    alm_vec plain = *col;
    plain.indirect = false;
    if (!col->indirect)
        return alm_vec_gather(cx, &slot->scratch, &plain, slot->pick, m, out);
    for (uint32_t i = 0; i < m; i++)
        slot->under[i] = in->sel[slot->pick[i]];
    return alm_vec_gather(cx, &slot->scratch, &plain, slot->under, m, out);
}

static alm_status take_batch(alm_ctx *cx, op_sort *s, sort_slot *slot, alm_batch *in,
                             uint64_t *sequence)
{
    alm_vec *key = NULL;
    int64_t *number = NULL;
    const uint64_t first = *sequence;
    *sequence += in->rows;
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_eval_run(cx, slot->eval, &slot->scratch, in, slot->computed));
    if (s->key_col[0] < in->n_cols)
        ALM_TRY(alm_batch_column(cx, &slot->scratch, in, s->key_col[0], &key));
    else
        key = &slot->computed[s->key_col[0] - in->n_cols];
    ALM_TRY(alm_sort_rank(cx, &slot->ranks, key, &slot->order[0]));
    alm_sort_encode(key, &slot->order[0], NULL, in->rows, slot->code);
    const uint32_t m = candidates(s, slot, key, in->rows);
    if (m == 0)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, m * sizeof *number, &number));
    for (uint32_t i = 0; i < m; i++)
        number[i] = (int64_t)(first + slot->pick[i]);
    for (uint32_t c = 0; c < in->n_cols; c++)
        ALM_TRY(picked_column(cx, slot, in, &in->cols[c], m, &slot->cols[c]));
    for (uint32_t c = 0; c < s->n_computed; c++)
        ALM_TRY(picked_column(cx, slot, in, &slot->computed[c], m, &slot->cols[in->n_cols + c]));
    slot->cols[s->n_cols - 1] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = number};
    alm_batch some = {.rows = m, .n_cols = s->n_cols, .cols = slot->cols};
    ALM_TRY(alm_rows_append(cx, &slot->store.rows, &slot->scratch, &some));
    const uint32_t k = (uint32_t)s->limit;
    return slot->store.rows.n >= k + ALM_MAX(k, 512U) ? prune(cx, s, slot) : ALM_OK;
}

static alm_status take_morsel(alm_ctx *cx, void *arg, uint32_t slot_no, uint32_t morsel,
                              alm_op *input)
{
    op_sort *s = arg;
    sort_slot *slot = &s->slot[slot_no];
    uint64_t sequence = (uint64_t)morsel << 36; /* a morsel has fewer rows; one morsel may be all */
    ALM_TRY(slot_ready(cx, s, slot));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, input, &in));
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(take_batch(cx, s, slot, in, &sequence));
    }
}

static alm_status sort_top(alm_ctx *cx, op_sort *s)
{
    ALM_TRY(alm_pipe_new(cx, s->op.run, s->op.plan->child[0], s->op.plan, &s->pipe));
    s->n_slots = alm_pipe_slots(s->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_slots, &s->slot));
    ALM_TRY(alm_pipe_run(cx, s->pipe, 0, alm_pipe_morsels(s->pipe), take_morsel, s));
    for (uint32_t i = 0; i < s->n_slots; i++) {
        const alm_rows *from = &s->slot[i].store.rows;
        if (!s->slot[i].ready || from->n == 0)
            continue;
        for (uint32_t c = 0; c < s->n_cols; c++)
            alm_rows_slice(from, c, 0, &s->own.cols[c]);
        alm_batch all = {.rows = from->n, .n_cols = s->n_cols, .cols = s->own.cols};
        alm_arena_reset(&s->own.scratch);
        ALM_TRY(alm_rows_append(cx, &s->own.store.rows, &s->own.scratch, &all));
    }
    return order_rows(cx, s, &s->own);
}

/* --------------------------------------------------------------------------------- life cycle */

static alm_status read_input(alm_ctx *cx, op_sort *s)
{
    ALM_TRY(slot_ready(cx, s, &s->own));
    ALM_TRY(s->top ? sort_top(cx, s) : sort_all(cx, s));
    s->n = s->own.store.rows.n;
    if (s->limit >= 0)
        s->n = (uint32_t)ALM_MIN((int64_t)s->n, s->limit);
    return ALM_NEWN(cx, cx->arena, ALM_MIN(s->n, (uint32_t)ALM_BATCH_ROWS) + 1, &s->result);
}

static alm_status sort_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_sort *s = (op_sort *)op;
    *out = NULL;
    if (!s->read) {
        if (s->limit == 0)
            return ALM_OK;
        ALM_TRY(read_input(cx, s));
        s->read = true;
    }
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, s->n - s->at);
    if (n == 0)
        return ALM_OK;
    alm_arena_reset(&op->batch);
    for (uint32_t i = 0; i < n; i++)
        s->result[i] = s->own.store.item[s->at + i].row;
    alm_rows shown = s->own.store.rows;
    shown.n_cols = op->out.n_cols; /* without the computed keys */
    ALM_TRY(alm_rows_gather(cx, &shown, &op->batch, s->result, n, op->out.cols));
    op->out.rows = n;
    s->at += n;
    *out = &op->out;
    return ALM_OK;
}

static void sort_close(alm_op *op)
{
    op_sort *s = (op_sort *)op;
    for (uint32_t i = 0; s->slot != NULL && i < s->n_slots; i++)
        slot_close(&s->slot[i]);
    slot_close(&s->own);
    alm_pipe_free(s->pipe); /* last: the slots live in its arenas */
}

static const alm_op_vt sort_vt = {.name = "sort", .next = sort_next, .close = sort_close};

static alm_status lay_out(alm_ctx *cx, op_sort *s)
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
    if (s->top)
        s->cols[s->n_cols++] = (alm_plan_col){"", ALM_TY(LONG)};
    return ALM_OK;
}

alm_status alm_op_sort_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                            alm_op **out)
{
    op_sort *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &sort_vt, run, plan, pipe));
    *out = &s->op;
    s->keys = plan->sort.keys;
    s->n_keys = plan->sort.n_keys;
    s->limit = plan->sort.limit;
    s->top = s->limit > 0 && s->limit <= TOP_MAX;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    ALM_TRY(lay_out(cx, s));
    return s->top ? ALM_OK : alm_op_child(cx, &s->op, 0);
}
