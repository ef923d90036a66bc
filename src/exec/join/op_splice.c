/*
 * op_splice.c - SPLICE JOIN: the rows of both inputs in time order, each beside the row of the other
 * side that prevails at that time and has its key. Rows of both sides with equal time and key are
 * paired in their order; what is left over on one side pairs with the last of the other.
 *
 * Both inputs are held in memory (data/rows.h). Row 0 of each is a row of nulls and means "no match"; data starts at row 1.
 * Null rule   Null keys are equal.
 */
#include "exec/join/asof.h"
#include "exec/run/op_make.h"

typedef struct side {
    alm_rows rows; /* row 0 is null */
    alm_eval *eval;
    alm_vec *key;
    const int64_t *ts;  /* by row; [0] unused */
    uint32_t *number;   /* key number by row */
    uint32_t *last;     /* by key number: the row that prevails */
    uint32_t at;        /* next row */
    uint32_t group_end; /* rows [at, group_end) have the time of the group */
} side;

typedef struct op_splice {
    alm_op op;
    alm_pool pool;
    alm_arena scratch;
    alm_keymap *map; /* NULL: no keys */
    uint32_t n_keys;
    alm_asof_units units;
    side side[2];
    uint32_t *head; /* by key number: first row of the right side in the group not paired yet */
    uint32_t *next; /* by right row */
    uint8_t *used;  /* by right row */
    bool ready, in_group;
    uint32_t *pick[2];
} op_splice;

/* --------------------------------------------------------------------------------- reading */

static alm_status op_splice_append_nulls(alm_ctx *cx, op_splice *splice, alm_rows *rows,
                                         const alm_batch *like)
{
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, &splice->scratch, rows->n_cols + 1, &nulls));
    for (uint32_t col = 0; col < rows->n_cols; col++) {
        ALM_TRY(alm_vec_null(cx, &splice->scratch, rows->col[col].type, &nulls[col]));
        if (like != NULL && like->cols[col].dict != NULL) {
            nulls[col].dict = like->cols[col].dict;
            nulls[col].width = sizeof(uint32_t);
            memset(nulls[col].data, 0, nulls[col].width);
        }
    }
    return alm_rows_append_picked(cx, rows, nulls, NULL, 1);
}

static alm_status op_splice_add_numbers(alm_ctx *cx, op_splice *splice, side *half,
                                        alm_batch *batch, uint32_t *room)
{
    const uint32_t place = half->rows.n;
    if (place + batch->rows > *room) {
        const uint32_t more = ALM_MAX(*room * 2, place + batch->rows);
        ALM_TRY(alm_pool_grow(cx, &splice->pool, &half->number,
                              (size_t)place * sizeof *half->number,
                              (size_t)more * sizeof *half->number));
        *room = more;
    }
    if (splice->map == NULL) {
        memset(half->number + place, 0, batch->rows * sizeof *half->number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, half->eval, &splice->scratch, batch, half->key));
    return alm_keymap_add(cx, splice->map, half->key, batch->rows, half->number + place);
}

static alm_status read_side(alm_ctx *cx, op_splice *splice, uint32_t which, uint32_t ts_col)
{
    side *half = &splice->side[which];
    const alm_plan *plan = splice->op.plan->child[which];
    uint32_t room = 0;
    ALM_TRY(alm_rows_init(cx, &half->rows, &splice->pool, plan->cols, plan->n_cols));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_op_next(cx, splice->op.child[which], &batch));
        alm_arena_reset(&splice->scratch);
        if (half->rows.n == 0)
            ALM_TRY(op_splice_append_nulls(cx, splice, &half->rows, batch));
        if (batch == NULL)
            break;
        ALM_TRY(op_splice_add_numbers(cx, splice, half, batch, &room));
        ALM_TRY(alm_rows_append(cx, &half->rows, &splice->scratch, batch));
    }
    half->at = 1;
    half->ts = (const int64_t *)(void *)half->rows.col[ts_col].data;
    return ALM_OK;
}

static alm_status op_splice_get_ready(alm_ctx *cx, op_splice *splice)
{
    splice->units = alm_asof_units_of(splice->op.plan);
    ALM_TRY(read_side(cx, splice, 0, splice->op.plan->join.left_ts));
    ALM_TRY(read_side(cx, splice, 1, splice->op.plan->join.right_ts));
    const size_t keys = splice->map == NULL ? 1 : alm_keymap_count(splice->map) + 1;
    const size_t right = splice->side[1].rows.n;
    ALM_TRY(alm_pool_zero(cx, &splice->pool, keys * sizeof *splice->head, &splice->head));
    ALM_TRY(alm_pool_zero(cx, &splice->pool, keys * sizeof *splice->head, &splice->side[0].last));
    ALM_TRY(alm_pool_zero(cx, &splice->pool, keys * sizeof *splice->head, &splice->side[1].last));
    ALM_TRY(alm_pool_zero(cx, &splice->pool, right * sizeof *splice->next, &splice->next));
    ALM_TRY(alm_pool_zero(cx, &splice->pool, right, &splice->used));
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &splice->pick[i]));
    splice->ready = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- merge */

/* Rows of a side at its next time, none where the group is of the other side. */
static void end_group(side *half, bool taken)
{
    half->group_end = half->at;
    while (taken && half->group_end < half->rows.n &&
           half->ts[half->group_end] == half->ts[half->at])
        half->group_end++;
}

/* The next group: all rows of both sides with the least time there is. False: the end. */
static bool next_group(op_splice *splice)
{
    side *left = &splice->side[0], *right = &splice->side[1];
    const bool has_l = left->at < left->rows.n, has_r = right->at < right->rows.n;
    if (!has_l && !has_r)
        return false;
    bool take_l = has_l, take_r = has_r;
    if (has_l && has_r) {
        const alm_i128 i128 = (alm_i128)left->ts[left->at] * splice->units.left;
        const alm_i128 rt = (alm_i128)right->ts[right->at] * splice->units.right;
        take_l = i128 <= rt;
        take_r = rt <= i128;
    }
    end_group(left, take_l);
    end_group(right, take_r);
    for (uint32_t i = right->group_end; left->at < left->group_end && i-- > right->at;) {
        const uint32_t k = right->number[i];
        splice->next[i] = splice->head[k];
        splice->head[k] = i;
    }
    splice->in_group = true;
    return true;
}

static uint32_t op_splice_merge(op_splice *splice)
{
    side *left = &splice->side[0], *right = &splice->side[1];
    uint32_t count = 0;
    while (count < ALM_BATCH_ROWS && (splice->in_group || next_group(splice))) {
        uint32_t row[2];
        if (left->at < left->group_end) { /* a left row, with its pair if one is left */
            const uint32_t k = left->number[left->at], pair = splice->head[k];
            left->last[k] = left->at;
            if (pair != 0) {
                splice->head[k] = splice->next[pair];
                splice->used[pair] = 1;
                right->last[k] = pair;
            }
            row[0] = left->at++;
            row[1] = right->last[k];
        } else if (right->at < right->group_end) {
            const uint32_t i = right->at++, k = right->number[i];
            splice->head[k] = 0;
            if (splice->used[i])
                continue;
            right->last[k] = i;
            row[0] = left->last[k];
            row[1] = i;
        } else {
            splice->in_group = false;
            continue;
        }
        splice->pick[0][count] = row[0];
        splice->pick[1][count++] = row[1];
    }
    return count;
}

static alm_status splice_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_splice *splice = (op_splice *)op;
    *out = NULL;
    if (!splice->ready)
        ALM_TRY(op_splice_get_ready(cx, splice));
    alm_arena_reset(&op->batch);
    const uint32_t n = op_splice_merge(splice), n_left = splice->side[0].rows.n_cols;
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(alm_rows_gather(cx, &splice->side[i].rows, &op->batch, splice->pick[i], n,
                                op->out.cols + (i == 0 ? 0 : n_left)));
    op->out.rows = n;
    *out = &op->out;
    return ALM_OK;
}

static void splice_close(alm_op *op)
{
    op_splice *splice = (op_splice *)op;
    alm_eval_free(splice->side[0].eval);
    alm_eval_free(splice->side[1].eval);
    alm_pool_deinit(&splice->pool);
    alm_arena_deinit(&splice->scratch);
}

static const alm_op_vt splice_vt = {
    .name = "splice join", .next = splice_next, .close = splice_close};

static alm_status op_splice_make_keys(alm_ctx *cx, op_splice *splice, const alm_plan *plan)
{
    const uint32_t n_types = splice->n_keys = plan->join.n_keys;
    alm_type *types = NULL;
    if (n_types == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_types, &types));
    for (uint32_t k = 0; k < n_types; k++) {
        types[k] = plan->join.left_keys[k]->type;
        if (plan->join.right_keys[k]->type.id != types[k].id)
            types[k] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    for (uint32_t i = 0; i < 2; i++) {
        alm_expr **keys = i == 0 ? plan->join.left_keys : plan->join.right_keys;
        ALM_TRY(ALM_NEWN(cx, cx->arena, n_types, &splice->side[i].key));
        ALM_TRY(alm_eval_new(cx, (const alm_expr *const *)keys, n_types, &splice->side[i].eval));
    }
    return alm_keymap_new(cx, &splice->pool, types, n_types, &splice->map);
}

alm_status alm_op_splice_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_splice *splice = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &splice));
    ALM_TRY(alm_op_init(cx, &splice->op, &splice_vt, run, plan, pipe));
    alm_pool_init(&splice->pool, cx->mem, splice_vt.name);
    alm_arena_init(&splice->scratch, cx->mem);
    *out = &splice->op;
    ALM_TRY(alm_op_child(cx, &splice->op, 0));
    ALM_TRY(alm_op_child(cx, &splice->op, 1));
    return op_splice_make_keys(cx, splice, plan);
}
