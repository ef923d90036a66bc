/*
 * op_horizon.c - HORIZON: each batch of the input once per offset, with the offset and the time moved by
 * it. Rows with the same offset come in time order; what follows tells them apart by the offset, which
 * is one value per batch.
 */
#include "exec/run/op_make.h"

typedef struct op_horizon {
    alm_op op;
    alm_arena arena; /* as long as the input batch */
    alm_batch *in;
    uint32_t at; /* next offset */
} op_horizon;

static alm_status op_horizon_fetch(alm_ctx *cx, op_horizon *horizon)
{
    horizon->at = 0;
    alm_arena_reset(&horizon->arena);
    ALM_TRY(alm_op_next(cx, horizon->op.child[0], &horizon->in));
    for (uint32_t col = 0; horizon->in != NULL && col < horizon->in->n_cols; col++) {
        alm_vec *dense = NULL; /* once, not once per offset */
        ALM_TRY(alm_batch_column(cx, &horizon->arena, horizon->in, col, &dense));
    }
    return ALM_OK;
}

static alm_status horizon_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_horizon *horizon = (op_horizon *)op;
    const alm_plan *plan = op->plan;
    *out = NULL;
    ALM_TRY(alm_check(cx));
    alm_arena_reset(&op->batch);
    if (horizon->in == NULL || horizon->at == plan->horizon.n_offsets)
        ALM_TRY(op_horizon_fetch(cx, horizon));
    if (horizon->in == NULL)
        return ALM_OK;
    const uint32_t n_rows = horizon->in->rows, n_cols = horizon->in->n_cols;
    const alm_vec *ts = &horizon->in->cols[plan->horizon.ts_col];
    const int64_t *from = ts->data, by = plan->horizon.offset[horizon->at++];
    const size_t step = ts->is_const ? 0 : 1;
    int64_t *offset = NULL, *time = NULL;
    ALM_TRY(alm_arena_bytes(cx, &op->batch, sizeof *offset, &offset));
    ALM_TRY(alm_arena_bytes(cx, &op->batch, n_rows * sizeof *time, &time));
    *offset = by;
    for (uint32_t i = 0; i < n_rows; i++) {
        const int64_t t = from[i * step];
        if (t == ALM_LONG_NULL || __builtin_add_overflow(t, by, &time[i]))
            time[i] = t == ALM_LONG_NULL || by < 0 ? ALM_LONG_NULL : INT64_MAX;
    }
    for (uint32_t col = 0; col < n_cols; col++)
        op->out.cols[col] = horizon->in->cols[col];
    op->out.cols[n_cols] =
        (alm_vec){.type = plan->cols[n_cols].type, .width = 8, .is_const = true, .data = offset};
    op->out.cols[n_cols + 1] =
        (alm_vec){.type = plan->cols[n_cols + 1].type, .width = 8, .data = time};
    op->out.rows = n_rows;
    op->out.sel = NULL;
    *out = &op->out;
    return ALM_OK;
}

static alm_status horizon_start(alm_ctx *cx, alm_op *op, uint32_t morsel)
{
    ((op_horizon *)op)->in = NULL;
    return alm_op_start(cx, op->child[0], morsel);
}

static void horizon_close(alm_op *op)
{
    alm_arena_deinit(&((op_horizon *)op)->arena);
}

static const alm_op_vt horizon_vt = {
    .name = "horizon", .next = horizon_next, .start = horizon_start, .close = horizon_close};

alm_status alm_op_horizon_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_horizon *horizon = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &horizon));
    ALM_TRY(alm_op_init(cx, &horizon->op, &horizon_vt, run, plan, pipe));
    alm_arena_init(&horizon->arena, cx->mem);
    *out = &horizon->op;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols + 2);
    return alm_op_child(cx, &horizon->op, 0);
}
