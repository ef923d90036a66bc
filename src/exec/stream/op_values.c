/*
 * op_values.c - literal rows: expressions row by row, or vectors made by INSERT.
 *
 * Rows of expressions are evaluated one program per batch of rows: constants are copied, everything
 * else goes through an evaluator over one row without columns.
 */
#include "exec/data/blend.h"
#include "exec/eval/eval.h"
#include "exec/run/op_make.h"

typedef struct op_values {
    alm_op op;
    uint32_t at;
} op_values;

/* Rows from `at` on of the vectors given by INSERT. */
static void slice_vectors(op_values *v)
{
    for (uint32_t i = 0; i < v->op.out.n_cols; i++) {
        v->op.out.cols[i] = v->op.plan->values.vecs[i];
        if (!v->op.out.cols[i].is_const)
            v->op.out.cols[i].data =
                (char *)v->op.out.cols[i].data + (size_t)v->at * v->op.out.cols[i].width;
    }
}

/* Column c of rows [at, at + n). */
static alm_status fill_column(alm_ctx *cx, op_values *v, uint32_t c, uint32_t n)
{
    alm_vec *out = &v->op.out.cols[c];
    ALM_TRY(alm_vec_new(cx, &v->op.batch, v->op.plan->cols[c].type, n, out));
    for (uint32_t i = 0; i < n; i++) {
        const alm_expr *e = v->op.plan->values.rows[v->at + i][c];
        alm_vec value = e->value;
        if (e->kind != ALM_X_CONST)
            ALM_TRY(alm_exec_constant(cx, e, &value));
        value.is_const = true;
        alm_blend_copy(&value, 1, (char *)out->data + (size_t)i * out->width, out->width);
    }
    return ALM_OK;
}

static alm_status values_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_values *v = (op_values *)op;
    *out = NULL;
    if (v->at >= op->plan->values.n_rows)
        return ALM_OK;
    const uint32_t n = ALM_MIN((uint32_t)ALM_BATCH_ROWS, op->plan->values.n_rows - v->at);
    alm_arena_reset(&op->batch);
    if (op->plan->values.vecs != NULL)
        slice_vectors(v);
    else
        for (uint32_t i = 0; i < op->out.n_cols; i++)
            ALM_TRY(fill_column(cx, v, i, n));
    v->at += n;
    op->out.rows = n;
    *out = &op->out;
    return ALM_OK;
}

static int64_t values_count(alm_ctx *cx, alm_op *op)
{
    (void)cx;
    return op->plan->values.n_rows;
}

static bool values_skip(alm_op *op, int64_t rows)
{
    op_values *v = (op_values *)op;
    v->at = (uint32_t)ALM_MIN((int64_t)op->plan->values.n_rows, v->at + rows);
    return true;
}

static const alm_op_vt values_vt = {
    .name = "values", .next = values_next, .count = values_count, .skip = values_skip};

alm_status alm_op_values_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_values *v = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &v));
    ALM_TRY(alm_op_init(cx, &v->op, &values_vt, run, plan, pipe));
    *out = &v->op;
    return ALM_OK;
}
