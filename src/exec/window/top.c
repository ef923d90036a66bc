/*
 * top.c - see top.h.
 *
 * Store       What a thread keeps: columns of the child, keys that are no plain columns, partition
 *             number, sequence (morsel and row). When it has grown it is sorted by partition, keys and
 *             sequence, and all but the first rows go.
 * Threshold   Lowered with every row where few rows are asked for (their codes are kept in order),
 *             else when the store is pruned.
 */
#include "exec/window/top.h"

#include "exec/data/keymap.h"
#include "exec/eval/eval.h"
#include "exec/sort/sortkey.h"

enum { STORE_MIN = 8192, CODES_MAX = 32 };

/* Two pools: pruning copies the winners and drops the rest with their texts. */
typedef struct top_store {
    alm_pool pool, other;
    alm_rows rows;
    uint32_t kept; /* rows after it was pruned last */
} top_store;

typedef struct top_slot {
    top_store store;
    alm_pool pool;
    alm_arena scratch;
    alm_eval *eval;
    alm_sort_order *order;
    alm_vec *vec;  /* results of eval: partition keys, ORDER BY keys */
    alm_vec *cols; /* columns of the store */
    alm_keymap *map;
    const alm_dict *dict; /* numbers are its codes */
    uint32_t *number, *pick, *under;
    uint64_t *code;
    /* by partition: codes of the first rows, ascending, the last one is the threshold */
    uint64_t *best;
    uint32_t n_parts;
    bool ready;
} top_slot;

struct alm_window_top {
    const alm_plan *plan;
    const alm_window_call *call;
    uint32_t top, n_codes; /* rows per partition; codes kept per partition */
    bool ties;             /* rows that tie with the last one count too */
    uint32_t n_child, n_keys, n_exprs, n_cols;
    uint32_t *key_col; /* of the store: number, keys, sequence */
    const alm_expr **expr;
    alm_plan_col *col;
    alm_pipe *pipe;
    alm_run *run;
    top_slot *slot, own;
    uint32_t n_slots, at;
    uint32_t *result;
    alm_batch out;
    bool read;
};

/* ------------------------------------------------------------------------------------ slots */

static alm_status window_top_slot_ready(alm_ctx *cx, const alm_window_top *top, top_slot *slot)
{
    if (slot->ready)
        return ALM_OK;
    alm_pool_init(&slot->store.pool, cx->mem, "window");
    alm_pool_init(&slot->store.other, cx->mem, "window");
    alm_pool_init(&slot->pool, cx->mem, "window");
    alm_arena_init(&slot->scratch, cx->mem);
    slot->ready = true;
    ALM_TRY(alm_rows_init(cx, &slot->store.rows, &slot->store.pool, top->col, top->n_cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_keys, &slot->order));
    slot->order[0] = slot->order[top->n_keys - 1] = (alm_sort_order){.nulls_first = true};
    for (uint32_t order = 0; order < top->call->n_order; order++)
        slot->order[order + 1] =
            (alm_sort_order){.desc = top->call->order[order].desc,
                             .nulls_first = top->call->order[order].nulls_first};
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_exprs + 1, &slot->vec));
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_cols + 1, &slot->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->pick));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->under));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &slot->code));
    return alm_eval_new(cx, top->expr, top->n_exprs, &slot->eval);
}

static void window_top_slot_close(top_slot *slot)
{
    if (!slot->ready)
        return;
    alm_eval_free(slot->eval);
    alm_pool_deinit(&slot->store.pool);
    alm_pool_deinit(&slot->store.other);
    alm_pool_deinit(&slot->pool);
    alm_arena_deinit(&slot->scratch);
}

/* ---------------------------------------------------------------------------------- pruning */

/* Row numbers of the store in order of partition, keys and sequence. */
static alm_status order_rows(alm_ctx *cx, const alm_window_top *top, top_slot *slot,
                             uint32_t first_key, alm_vec *key, alm_sort_item **out)
{
    const uint32_t n_rows = slot->store.rows.n;
    alm_sort_item *item = NULL;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, ((size_t)n_rows + 1) * 2 * sizeof *item, &item));
    for (uint32_t k = 0; k < top->n_keys; k++) {
        alm_rows_slice(&slot->store.rows, top->key_col[k], 0, &key[k]);
        ALM_TRY(alm_sort_rank(cx, &slot->pool, &key[k], &slot->order[k]));
    }
    for (uint32_t i = 0; i < n_rows; i++)
        item[i] = (alm_sort_item){.row = i};
    ALM_TRY(alm_sort_items(cx, key + first_key, slot->order + first_key, top->n_keys - first_key,
                           item, item + n_rows, n_rows));
    *out = item;
    return ALM_OK;
}

static bool ties(const alm_window_top *top, const top_slot *slot, const alm_vec *key, uint32_t a,
                 uint32_t b)
{
    for (uint32_t k = 1; k <= top->call->n_order; k++)
        if (alm_sort_compare(&key[k], &slot->order[k], a, b) != 0)
            return false;
    return true;
}

/* Drops what is not among the first of its partition, and sets thresholds where no codes are kept. */
static alm_status window_top_prune(alm_ctx *cx, const alm_window_top *top, top_slot *slot)
{
    alm_sort_item *item = NULL;
    alm_vec *key = NULL;
    uint32_t *pick = NULL, m = 0;
    const uint32_t n_rows = slot->store.rows.n;
    ALM_TRY(ALM_NEWN(cx, &slot->scratch, top->n_keys, &key));
    ALM_TRY(order_rows(cx, top, slot, 0, key, &item));
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, ((size_t)n_rows + 1) * sizeof *pick, &pick));
    const uint32_t *number = key[0].data;
    for (uint32_t lo = 0, hi = 0; lo < n_rows; lo = hi) {
        const uint32_t part = number[item[lo].row];
        for (hi = lo; hi < n_rows && number[item[hi].row] == part;)
            hi++;
        uint32_t end = ALM_MIN(hi, lo + top->top);
        while (top->ties && end < hi && ties(top, slot, key, item[end - 1].row, item[end].row))
            end++;
        if (top->n_codes == 1 && top->top > 1 && hi - lo >= top->top)
            alm_sort_encode(&key[1], &slot->order[1], &item[lo + top->top - 1].row, 1,
                            &slot->best[part]);
        for (uint32_t i = lo; i < end; i++)
            pick[m++] = item[i].row;
    }
    ALM_TRY(
        alm_rows_keep_moved(cx, &slot->store.rows, &slot->store.other, &slot->scratch, pick, m));
    slot->store.kept = m;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- partitions */

static alm_status map_codes(alm_ctx *cx, const alm_window_top *top, top_slot *slot)
{
    alm_type *types = NULL;
    const uint32_t n_keys = top->call->n_partition;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t key = 0; key < n_keys; key++)
        types[key] = top->call->partition[key]->type;
    ALM_TRY(alm_keymap_new(cx, &slot->pool, types, n_keys, &slot->map));
    for (uint32_t place = 0; slot->dict != NULL && place < slot->dict->count;
         place += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, slot->dict->count - place);
        for (uint32_t i = 0; i < n_rows; i++)
            slot->under[i] = place + i;
        const alm_vec vec = {.type = types[0],
                             .width = sizeof *slot->under,
                             .dict = slot->dict,
                             .data = slot->under};
        ALM_TRY(alm_keymap_add(cx, slot->map, &vec, n_rows, slot->number));
    }
    slot->dict = NULL;
    return ALM_OK;
}

static alm_status window_top_number_rows(alm_ctx *cx, const alm_window_top *top, top_slot *slot,
                                         uint32_t n)
{
    const uint32_t n_keys = top->call->n_partition;
    const alm_vec *vec = slot->vec;
    uint32_t parts = 1;
    if (n_keys == 1 && vec->dict != NULL && slot->map == NULL &&
        (slot->dict == NULL || slot->dict->id == vec->dict->id)) {
        slot->dict = vec->dict;
        parts = vec->dict->count;
        for (uint32_t i = 0; i < n; i++)
            slot->number[i] = alm_vec_code(vec, i);
    } else if (n_keys > 0) {
        if (slot->map == NULL)
            ALM_TRY(map_codes(cx, top, slot));
        ALM_TRY(alm_keymap_add(cx, slot->map, vec, n, slot->number));
        parts = alm_keymap_count(slot->map);
    }
    if (parts <= slot->n_parts)
        return ALM_OK;
    parts = ALM_MAX(parts, 2 * slot->n_parts);
    const size_t old = (size_t)slot->n_parts * top->n_codes, all = (size_t)parts * top->n_codes;
    ALM_TRY(alm_pool_grow(cx, &slot->pool, &slot->best, old * sizeof *slot->best,
                          all * sizeof *slot->best));
    memset(slot->best + old, 0xff, (all - old) * sizeof *slot->best);
    slot->n_parts = parts;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

/* The code takes its place among the best of its partition. */
static void note_code(uint64_t *best, uint32_t n, uint64_t code)
{
    uint32_t place = n - 1;
    for (; place > 0 && best[place - 1] > code; place--)
        best[place] = best[place - 1];
    best[place] = code;
}

/* Rows that may be among the first of their partition. strict: a row that ties comes too late. */
static uint32_t window_top_candidates(const alm_window_top *top, top_slot *slot, uint32_t n,
                                      bool strict)
{
    const uint32_t k = top->n_codes;
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *best = &slot->best[(size_t)slot->number[i] * k];
        const uint64_t code = slot->code[i], limit = best[k - 1];
        if (code > limit || (strict && code == limit && code != UINT64_MAX))
            continue;
        slot->pick[m++] = i;
        if (top->top == k && code < limit)
            note_code(best, k, code);
    }
    return m;
}

static alm_status window_top_picked_column(alm_ctx *cx, top_slot *slot, const alm_batch *batch,
                                           const alm_vec *col, uint32_t m, alm_vec *out)
{
    if (col->is_const)
        return alm_vec_expand(cx, &slot->scratch, col, m, out);
    alm_vec plain = *col;
    plain.indirect = false;
    if (!col->indirect)
        return alm_vec_gather(cx, &slot->scratch, &plain, slot->pick, m, out);
    for (uint32_t i = 0; i < m; i++)
        slot->under[i] = batch->sel[slot->pick[i]];
    return alm_vec_gather(cx, &slot->scratch, &plain, slot->under, m, out);
}

static alm_status store_rows(alm_ctx *cx, const alm_window_top *top, top_slot *slot,
                             const alm_batch *batch, uint32_t m, uint64_t sequence)
{
    int64_t *row = NULL;
    uint32_t *number = NULL, col = 0;
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, m * sizeof *row, &row));
    ALM_TRY(alm_arena_bytes(cx, &slot->scratch, m * sizeof *number, &number));
    for (uint32_t i = 0; i < m; i++) {
        row[i] = (int64_t)(sequence + slot->pick[i]);
        number[i] = slot->number[slot->pick[i]];
    }
    for (; col < top->n_child; col++)
        ALM_TRY(window_top_picked_column(cx, slot, batch, &batch->cols[col], m, &slot->cols[col]));
    for (uint32_t order = 0; order < top->call->n_order; order++)
        if (top->key_col[order + 1] >= top->n_child)
            ALM_TRY(window_top_picked_column(cx, slot, batch,
                                             &slot->vec[top->call->n_partition + order], m,
                                             &slot->cols[col++]));
    slot->cols[col++] = (alm_vec){.type = ALM_TY(INT), .width = 4, .data = number};
    slot->cols[col++] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = row};
    ALM_ASSERT(col == top->n_cols);
    return alm_rows_append_picked(cx, &slot->store.rows, slot->cols, NULL, m);
}

static alm_status window_top_take_batch(alm_ctx *cx, const alm_window_top *top, top_slot *slot,
                                        alm_batch *batch, uint64_t sequence)
{
    alm_arena_reset(&slot->scratch);
    ALM_TRY(alm_eval_run(cx, slot->eval, &slot->scratch, batch, slot->vec));
    ALM_TRY(window_top_number_rows(cx, top, slot, batch->rows));
    const alm_vec *key = &slot->vec[top->call->n_partition];
    ALM_TRY(alm_sort_rank(cx, &slot->pool, key, &slot->order[1]));
    alm_sort_encode(key, &slot->order[1], NULL, batch->rows, slot->code);
    const bool strict =
        !top->ties && top->call->n_order == 1 && alm_sort_exact(key, &slot->order[1]);
    const uint32_t m = window_top_candidates(top, slot, batch->rows, strict);
    if (m == 0)
        return ALM_OK;
    ALM_TRY(store_rows(cx, top, slot, batch, m, sequence));
    return slot->store.rows.n > 2 * slot->store.kept + STORE_MIN ? window_top_prune(cx, top, slot)
                                                                 : ALM_OK;
}

static alm_status window_top_take_morsel(alm_ctx *cx, void *arg, uint32_t slot, uint32_t morsel,
                                         alm_op *input)
{
    alm_window_top *top = arg;
    uint64_t sequence = (uint64_t)morsel << 36; /* a morsel has fewer rows; one morsel may be all */
    ALM_TRY(window_top_slot_ready(cx, top, &top->slot[slot]));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, input, &batch));
        if (batch == NULL)
            return ALM_OK;
        const uint32_t n_rows = batch->rows;
        if (n_rows > 0)
            ALM_TRY(window_top_take_batch(cx, top, &top->slot[slot], batch, sequence));
        sequence += n_rows;
    }
}

/* ----------------------------------------------------------------------------------- results */

/* What the threads kept, in input order. */
static alm_status window_top_read_input(alm_ctx *cx, alm_window_top *top)
{
    alm_vec *key = NULL;
    alm_sort_item *item = NULL;
    ALM_TRY(alm_pipe_new(cx, top->run, top->plan->child[0], top->plan, &top->pipe));
    top->n_slots = alm_pipe_slots(top->pipe);
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_slots, &top->slot));
    ALM_TRY(
        alm_pipe_run(cx, top->pipe, 0, alm_pipe_morsels(top->pipe), window_top_take_morsel, top));
    ALM_TRY(window_top_slot_ready(cx, top, &top->own));
    for (uint32_t i = 0; i < top->n_slots; i++) {
        top_slot *slot = &top->slot[i];
        if (!slot->ready || slot->store.rows.n == 0)
            continue;
        alm_arena_reset(&slot->scratch);
        ALM_TRY(window_top_prune(cx, top, slot));
        for (uint32_t col = 0; col < top->n_cols; col++)
            alm_rows_slice(&slot->store.rows, col, 0, &top->own.cols[col]);
        ALM_TRY(alm_rows_append_picked(cx, &top->own.store.rows, top->own.cols, NULL,
                                       slot->store.rows.n));
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_keys, &key));
    ALM_TRY(order_rows(cx, top, &top->own, top->n_keys - 1, key, &item));
    const uint32_t n_rows = top->own.store.rows.n;
    ALM_TRY(alm_pool_alloc(cx, &top->own.pool, ((size_t)n_rows + 1) * sizeof *top->result,
                           &top->result));
    for (uint32_t i = 0; i < n_rows; i++)
        top->result[i] = item[i].row;
    return ALM_OK;
}

alm_status alm_window_top_next(alm_ctx *cx, alm_window_top *top, alm_batch **out)
{
    *out = NULL;
    if (!top->read) {
        ALM_TRY(window_top_read_input(cx, top));
        top->read = true;
    }
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, top->own.store.rows.n - top->at);
    if (n_rows == 0)
        return ALM_OK;
    alm_rows shown = top->own.store.rows;
    shown.n_cols = top->n_child;
    alm_arena_reset(&top->own.scratch);
    ALM_TRY(alm_rows_gather(cx, &shown, &top->own.scratch, top->result + top->at, n_rows,
                            top->out.cols));
    top->out.rows = n_rows;
    top->out.n_cols = top->n_child;
    top->at += n_rows;
    *out = &top->out;
    return ALM_OK;
}

/* Columns of the store: the child's, keys that are none of them, number, sequence. */
static alm_status window_top_lay_out(alm_ctx *cx, alm_window_top *top)
{
    const alm_window_call *call = top->call;
    top->n_exprs = call->n_partition + call->n_order;
    top->n_keys = call->n_order + 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_exprs + 1, &top->expr));
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_keys, &top->key_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_child + top->n_keys, &top->col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, top->n_child + 1, &top->out.cols));
    memcpy(top->col, top->plan->child[0]->cols, top->n_child * sizeof *top->col);
    top->n_cols = top->n_child;
    for (uint32_t partition = 0; partition < call->n_partition; partition++)
        top->expr[partition] = call->partition[partition];
    for (uint32_t order = 0; order < call->n_order; order++) {
        const alm_expr *expr = top->expr[call->n_partition + order] = call->order[order].expr;
        top->key_col[order + 1] = expr->kind == ALM_X_COL ? expr->col : top->n_cols;
        if (expr->kind != ALM_X_COL)
            top->col[top->n_cols++] = (alm_plan_col){"", expr->type};
    }
    top->key_col[0] = top->n_cols;
    top->col[top->n_cols++] = (alm_plan_col){"", ALM_TY(INT)};
    top->key_col[top->n_keys - 1] = top->n_cols;
    top->col[top->n_cols++] = (alm_plan_col){"", ALM_TY(LONG)};
    return ALM_OK;
}

alm_status alm_window_top_new(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_window_top **out)
{
    alm_window_top *top = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &top));
    top->plan = plan;
    top->run = run;
    top->call = &plan->window.calls[0];
    top->top = (uint32_t)plan->window.top;
    top->ties = plan->window.top_ties;
    top->n_codes = top->top <= CODES_MAX ? top->top : 1;
    top->n_child = plan->child[0]->n_cols;
    ALM_ASSERT(top->call->n_order > 0);
    *out = top;
    return window_top_lay_out(cx, top);
}

void alm_window_top_free(alm_window_top *top)
{
    if (top == NULL)
        return;
    for (uint32_t i = 0; top->slot != NULL && i < top->n_slots; i++)
        window_top_slot_close(&top->slot[i]);
    window_top_slot_close(&top->own);
    alm_pipe_free(top->pipe); /* last: the slots live in its arenas */
}
