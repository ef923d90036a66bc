/*
 * op_splice.c - SPLICE JOIN: the rows of both inputs in time order, each beside the row of the other
 * side that prevails at that time and has its key. Rows of both sides with equal time and key are
 * paired in their order; what is left over on one side pairs with the last of the other.
 *
 * Both inputs are held in memory (data/rows.h), each behind a row of nulls (row 0) that stands for "none".
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

static alm_status append_nulls(alm_ctx *cx, op_splice *s, alm_rows *rows, const alm_batch *like)
{
    alm_vec *nulls = NULL;
    ALM_TRY(ALM_NEWN(cx, &s->scratch, rows->n_cols + 1, &nulls));
    for (uint32_t c = 0; c < rows->n_cols; c++) {
        ALM_TRY(alm_vec_null(cx, &s->scratch, rows->col[c].type, &nulls[c]));
        if (like != NULL && like->cols[c].dict != NULL) {
            nulls[c].dict = like->cols[c].dict;
            nulls[c].width = sizeof(uint32_t);
            memset(nulls[c].data, 0, nulls[c].width);
        }
    }
    return alm_rows_append_picked(cx, rows, nulls, NULL, 1);
}

static alm_status add_numbers(alm_ctx *cx, op_splice *s, side *d, alm_batch *in, uint32_t *room)
{
    const uint32_t at = d->rows.n;
    if (at + in->rows > *room) {
        const uint32_t more = ALM_MAX(*room * 2, at + in->rows);
        ALM_TRY(alm_pool_grow(cx, &s->pool, &d->number, (size_t)at * sizeof *d->number,
                              (size_t)more * sizeof *d->number));
        *room = more;
    }
    if (s->map == NULL) {
        memset(d->number + at, 0, in->rows * sizeof *d->number);
        return ALM_OK;
    }
    ALM_TRY(alm_eval_run(cx, d->eval, &s->scratch, in, d->key));
    return alm_keymap_add(cx, s->map, d->key, in->rows, d->number + at);
}

static alm_status read_side(alm_ctx *cx, op_splice *s, uint32_t which, uint32_t ts_col)
{
    side *d = &s->side[which];
    const alm_plan *plan = s->op.plan->child[which];
    uint32_t room = 0;
    ALM_TRY(alm_rows_init(cx, &d->rows, &s->pool, plan->cols, plan->n_cols));
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_op_next(cx, s->op.child[which], &in));
        alm_arena_reset(&s->scratch);
        if (d->rows.n == 0)
            ALM_TRY(append_nulls(cx, s, &d->rows, in));
        if (in == NULL)
            break;
        ALM_TRY(add_numbers(cx, s, d, in, &room));
        ALM_TRY(alm_rows_append(cx, &d->rows, &s->scratch, in));
    }
    d->at = 1;
    d->ts = (const int64_t *)(void *)d->rows.col[ts_col].data;
    return ALM_OK;
}

static alm_status get_ready(alm_ctx *cx, op_splice *s)
{
    s->units = alm_asof_units_of(s->op.plan);
    ALM_TRY(read_side(cx, s, 0, s->op.plan->join.left_ts));
    ALM_TRY(read_side(cx, s, 1, s->op.plan->join.right_ts));
    const size_t keys = s->map == NULL ? 1 : alm_keymap_count(s->map) + 1;
    const size_t right = s->side[1].rows.n;
    ALM_TRY(alm_pool_zero(cx, &s->pool, keys * sizeof *s->head, &s->head));
    ALM_TRY(alm_pool_zero(cx, &s->pool, keys * sizeof *s->head, &s->side[0].last));
    ALM_TRY(alm_pool_zero(cx, &s->pool, keys * sizeof *s->head, &s->side[1].last));
    ALM_TRY(alm_pool_zero(cx, &s->pool, right * sizeof *s->next, &s->next));
    ALM_TRY(alm_pool_zero(cx, &s->pool, right, &s->used));
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &s->pick[i]));
    s->ready = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- merge */

/* Rows of a side at its next time, none where the group is of the other side. */
static void end_group(side *d, bool taken)
{
    d->group_end = d->at;
    while (taken && d->group_end < d->rows.n && d->ts[d->group_end] == d->ts[d->at])
        d->group_end++;
}

/* The next group: all rows of both sides with the least time there is. False: the end. */
static bool next_group(op_splice *s)
{
    side *l = &s->side[0], *r = &s->side[1];
    const bool has_l = l->at < l->rows.n, has_r = r->at < r->rows.n;
    if (!has_l && !has_r)
        return false;
    bool take_l = has_l, take_r = has_r;
    if (has_l && has_r) {
        const alm_i128 lt = (alm_i128)l->ts[l->at] * s->units.left;
        const alm_i128 rt = (alm_i128)r->ts[r->at] * s->units.right;
        take_l = lt <= rt;
        take_r = rt <= lt;
    }
    end_group(l, take_l);
    end_group(r, take_r);
    for (uint32_t i = r->group_end; l->at < l->group_end && i-- > r->at;) {
        const uint32_t k = r->number[i];
        s->next[i] = s->head[k];
        s->head[k] = i;
    }
    s->in_group = true;
    return true;
}

static uint32_t merge(op_splice *s)
{
    side *l = &s->side[0], *r = &s->side[1];
    uint32_t n = 0;
    while (n < ALM_BATCH_ROWS && (s->in_group || next_group(s))) {
        uint32_t row[2];
        if (l->at < l->group_end) { /* a left row, with its pair if one is left */
            const uint32_t k = l->number[l->at], pair = s->head[k];
            l->last[k] = l->at;
            if (pair != 0) {
                s->head[k] = s->next[pair];
                s->used[pair] = 1;
                r->last[k] = pair;
            }
            row[0] = l->at++;
            row[1] = r->last[k];
        } else if (r->at < r->group_end) {
            const uint32_t i = r->at++, k = r->number[i];
            s->head[k] = 0;
            if (s->used[i])
                continue;
            r->last[k] = i;
            row[0] = l->last[k];
            row[1] = i;
        } else {
            s->in_group = false;
            continue;
        }
        s->pick[0][n] = row[0];
        s->pick[1][n++] = row[1];
    }
    return n;
}

static alm_status splice_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_splice *s = (op_splice *)op;
    *out = NULL;
    if (!s->ready)
        ALM_TRY(get_ready(cx, s));
    alm_arena_reset(&op->batch);
    const uint32_t n = merge(s), n_left = s->side[0].rows.n_cols;
    if (n == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < 2; i++)
        ALM_TRY(alm_rows_gather(cx, &s->side[i].rows, &op->batch, s->pick[i], n,
                                op->out.cols + (i == 0 ? 0 : n_left)));
    op->out.rows = n;
    *out = &op->out;
    return ALM_OK;
}

static void splice_close(alm_op *op)
{
    op_splice *s = (op_splice *)op;
    alm_eval_free(s->side[0].eval);
    alm_eval_free(s->side[1].eval);
    alm_pool_deinit(&s->pool);
    alm_arena_deinit(&s->scratch);
}

static const alm_op_vt splice_vt = {
    .name = "splice join", .next = splice_next, .close = splice_close};

static alm_status make_keys(alm_ctx *cx, op_splice *s, const alm_plan *plan)
{
    const uint32_t n = s->n_keys = plan->join.n_keys;
    alm_type *types = NULL;
    if (n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &types));
    for (uint32_t k = 0; k < n; k++) {
        types[k] = plan->join.left_keys[k]->type;
        if (plan->join.right_keys[k]->type.id != types[k].id)
            types[k] = ALM_TY(VARCHAR); /* kinds of text may mix */
    }
    for (uint32_t i = 0; i < 2; i++) {
        alm_expr **keys = i == 0 ? plan->join.left_keys : plan->join.right_keys;
        ALM_TRY(ALM_NEWN(cx, cx->arena, n, &s->side[i].key));
        ALM_TRY(alm_eval_new(cx, (const alm_expr *const *)keys, n, &s->side[i].eval));
    }
    return alm_keymap_new(cx, &s->pool, types, n, &s->map);
}

alm_status alm_op_splice_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_splice *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &splice_vt, run, plan, pipe));
    alm_pool_init(&s->pool, cx->mem, splice_vt.name);
    alm_arena_init(&s->scratch, cx->mem);
    *out = &s->op;
    ALM_TRY(alm_op_child(cx, &s->op, 0));
    ALM_TRY(alm_op_child(cx, &s->op, 1));
    return make_keys(cx, s, plan);
}
