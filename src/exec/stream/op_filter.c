/*
 * op_filter.c - rows for which all conditions hold. Streaming. Data is not moved: the result has the
 * child's columns under a selection; only columns that were dense under an earlier selection are
 * gathered.
 */
#include "exec/eval/eval.h"
#include "exec/run/op_make.h"

typedef struct op_filter {
    alm_op op;
    alm_filter *filter;
    bool *used;     /* columns the conditions read */
    alm_vec *dense; /* those columns under the child's selection */
    uint16_t *sel;
    uint32_t *rows;
} op_filter;

/* The conditions over the rows of the child's batch, numbered from 0 whatever its selection. */
static alm_status test_rows(alm_ctx *cx, op_filter *filter, const alm_batch *batch,
                            const uint16_t **sel, uint32_t *kept)
{
    alm_batch dense = *batch;
    memcpy(filter->dense, batch->cols, batch->n_cols * sizeof *filter->dense);
    dense.cols = filter->dense;
    for (uint32_t i = 0; batch->sel != NULL && i < batch->n_cols; i++)
        if (filter->used[i]) {
            alm_vec *col = NULL;
            ALM_TRY(alm_batch_column(cx, &filter->op.batch, &dense, i, &col));
        }
    dense.sel = NULL;
    return alm_filter_run(cx, filter->filter, &dense, sel, kept);
}

/* Rows kept[i] of a batch that had a selection already. */
static alm_status op_filter_compose(alm_ctx *cx, op_filter *filter, const alm_batch *batch,
                                    const uint16_t *kept)
{
    alm_batch *out = &filter->op.out;
    if (filter->sel == NULL) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &filter->sel));
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &filter->rows));
    }
    for (uint32_t i = 0; i < out->rows; i++) {
        filter->sel[i] = batch->sel[kept[i]];
        filter->rows[i] = kept[i];
    }
    for (uint32_t i = 0; i < out->n_cols; i++)
        if (!batch->cols[i].indirect && !batch->cols[i].is_const)
            ALM_TRY(alm_vec_gather(cx, &filter->op.batch, &batch->cols[i], filter->rows, out->rows,
                                   &out->cols[i]));
    out->sel = filter->sel;
    return ALM_OK;
}

static alm_status filter_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_filter *filter = (op_filter *)op;
    for (;;) {
        alm_batch *batch = NULL;
        const uint16_t *sel = NULL;
        uint32_t kept = 0;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_op_next(cx, op->child[0], &batch));
        *out = NULL;
        if (batch == NULL)
            return ALM_OK;
        ALM_TRY(test_rows(cx, filter, batch, &sel, &kept));
        if (kept == 0)
            continue;
        memcpy(op->out.cols, batch->cols, batch->n_cols * sizeof *batch->cols);
        op->out.rows = kept;
        op->out.sel = batch->sel;
        *out = &op->out;
        if (sel == NULL)
            return ALM_OK;
        if (batch->sel != NULL)
            return op_filter_compose(cx, filter, batch, sel);
        for (uint32_t i = 0; i < op->out.n_cols; i++)
            op->out.cols[i].indirect = !op->out.cols[i].is_const;
        op->out.sel = sel;
        return ALM_OK;
    }
}

static void filter_close(alm_op *op)
{
    alm_filter_free(((op_filter *)op)->filter);
}

static const alm_op_vt filter_vt = {.name = "filter", .next = filter_next, .close = filter_close};

alm_status alm_op_filter_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_filter *filter = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &filter));
    ALM_TRY(alm_op_init(cx, &filter->op, &filter_vt, run, plan, pipe));
    *out = &filter->op;
    ALM_TRY(alm_op_child(cx, &filter->op, 0));
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &filter->used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &filter->dense));
    for (uint32_t i = 0; i < plan->filter.n; i++)
        alm_expr_cols(plan->filter.conjunct[i], filter->used, plan->n_cols);
    return alm_filter_new(cx, (const alm_expr *const *)plan->filter.conjunct, plan->filter.n,
                          &filter->filter);
}
