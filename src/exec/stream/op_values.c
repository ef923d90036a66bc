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
static void slice_vectors(op_values *values)
{
    for (uint32_t i = 0; i < values->op.out.n_cols; i++) {
        values->op.out.cols[i] = values->op.plan->values.vecs[i];
        if (!values->op.out.cols[i].is_const)
            values->op.out.cols[i].data = (char *)values->op.out.cols[i].data +
                                          (size_t)values->at * values->op.out.cols[i].width;
    }
}

/* Column col of rows [at, at + n). */
static alm_status op_values_fill_column(alm_ctx *cx, op_values *values, uint32_t col, uint32_t n)
{
    alm_vec *out = &values->op.out.cols[col];
    ALM_TRY(alm_vec_new(cx, &values->op.batch, values->op.plan->cols[col].type, n, out));
    for (uint32_t i = 0; i < n; i++) {
        const alm_expr *expr = values->op.plan->values.rows[values->at + i][col];
        alm_vec value = expr->value;
        if (expr->kind != ALM_X_CONST)
            ALM_TRY(alm_exec_constant(cx, expr, &value));
        value.is_const = true;
        alm_blend_copy(&value, 1, (char *)out->data + (size_t)i * out->width, out->width);
    }
    return ALM_OK;
}

static alm_status values_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_values *values = (op_values *)op;
    *out = NULL;
    if (values->at >= op->plan->values.n_rows)
        return ALM_OK;
    const uint32_t n_rows = ALM_MIN((uint32_t)ALM_BATCH_ROWS, op->plan->values.n_rows - values->at);
    alm_arena_reset(&op->batch);
    if (op->plan->values.vecs != NULL)
        slice_vectors(values);
    else
        for (uint32_t i = 0; i < op->out.n_cols; i++)
            ALM_TRY(op_values_fill_column(cx, values, i, n_rows));
    values->at += n_rows;
    op->out.rows = n_rows;
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
    op_values *values = (op_values *)op;
    values->at = (uint32_t)ALM_MIN((int64_t)op->plan->values.n_rows, values->at + rows);
    return true;
}

static const alm_op_vt values_vt = {
    .name = "values", .next = values_next, .count = values_count, .skip = values_skip};

alm_status alm_op_values_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_values *values = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &values));
    ALM_TRY(alm_op_init(cx, &values->op, &values_vt, run, plan, pipe));
    *out = &values->op;
    return ALM_OK;
}
