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
static alm_status test_rows(alm_ctx *cx, op_filter *f, const alm_batch *in, const uint16_t **sel,
                            uint32_t *kept)
{
    alm_batch dense = *in;
    memcpy(f->dense, in->cols, in->n_cols * sizeof *f->dense);
    dense.cols = f->dense;
    for (uint32_t i = 0; in->sel != NULL && i < in->n_cols; i++)
        if (f->used[i]) {
            alm_vec *col = NULL;
            ALM_TRY(alm_batch_column(cx, &f->op.batch, &dense, i, &col));
        }
    dense.sel = NULL;
    return alm_filter_run(cx, f->filter, &dense, sel, kept);
}

/* Rows kept[i] of a batch that had a selection already. */
static alm_status compose(alm_ctx *cx, op_filter *f, const alm_batch *in, const uint16_t *kept)
{
    alm_batch *out = &f->op.out;
    if (f->sel == NULL) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->sel));
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->rows));
    }
    for (uint32_t i = 0; i < out->rows; i++) {
        f->sel[i] = in->sel[kept[i]];
        f->rows[i] = kept[i];
    }
    for (uint32_t i = 0; i < out->n_cols; i++)
        if (!in->cols[i].indirect && !in->cols[i].is_const)
            ALM_TRY(
                alm_vec_gather(cx, &f->op.batch, &in->cols[i], f->rows, out->rows, &out->cols[i]));
    out->sel = f->sel;
    return ALM_OK;
}

static alm_status filter_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_filter *f = (op_filter *)op;
    for (;;) {
        alm_batch *in = NULL;
        const uint16_t *sel = NULL;
        uint32_t kept = 0;
        alm_arena_reset(&op->batch);
        ALM_TRY(alm_op_next(cx, op->child[0], &in));
        *out = NULL;
        if (in == NULL)
            return ALM_OK;
        ALM_TRY(test_rows(cx, f, in, &sel, &kept));
        if (kept == 0)
            continue;
        memcpy(op->out.cols, in->cols, in->n_cols * sizeof *in->cols);
        op->out.rows = kept;
        op->out.sel = in->sel;
        *out = &op->out;
        if (sel == NULL)
            return ALM_OK;
        if (in->sel != NULL)
            return compose(cx, f, in, sel);
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
    op_filter *f = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &f));
    ALM_TRY(alm_op_init(cx, &f->op, &filter_vt, run, plan, pipe));
    *out = &f->op;
    ALM_TRY(alm_op_child(cx, &f->op, 0));
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols);
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &f->used));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &f->dense));
    for (uint32_t i = 0; i < plan->filter.n; i++)
        alm_expr_cols(plan->filter.conjunct[i], f->used, plan->n_cols);
    return alm_filter_new(cx, (const alm_expr *const *)plan->filter.conjunct, plan->filter.n,
                          &f->filter);
}
