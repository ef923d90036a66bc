/*
 * op_project.c - expressions over each row. Streaming. Plain columns are passed on as they are
 * (still in storage position under a selection); the others are evaluated over the selected rows.
 */
#include "exec/eval/eval.h"
#include "exec/run/op_make.h"

typedef struct op_project {
    alm_op op;
    alm_eval *eval;
    uint32_t *computed; /* result columns that are evaluated */
    uint32_t n_computed;
    alm_vec *values;
} op_project;

static alm_status project_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_project *project = (op_project *)op;
    alm_batch *batch = NULL;
    alm_arena_reset(&op->batch);
    ALM_TRY(alm_op_next(cx, op->child[0], &batch));
    *out = NULL;
    if (batch == NULL)
        return ALM_OK;
    ALM_TRY(alm_eval_run(cx, project->eval, &op->batch, batch, project->values));
    for (uint32_t i = 0; i < project->n_computed; i++)
        op->out.cols[project->computed[i]] = project->values[i];
    for (uint32_t i = 0; i < op->out.n_cols; i++)
        if (op->plan->project.expr[i]->kind == ALM_X_COL)
            op->out.cols[i] = batch->cols[op->plan->project.expr[i]->col];
    op->out.rows = batch->rows;
    op->out.sel = batch->sel;
    *out = &op->out;
    return ALM_OK;
}

static void project_close(alm_op *op)
{
    alm_eval_free(((op_project *)op)->eval);
}

static void project_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

static int64_t project_count(alm_ctx *cx, alm_op *op)
{
    return alm_op_count(cx, op->child[0]);
}

static bool project_skip(alm_op *op, int64_t rows)
{
    return alm_op_skip(op->child[0], rows);
}

static const alm_op_vt project_vt = {.name = "project",
                                     .next = project_next,
                                     .close = project_close,
                                     .hint = project_hint,
                                     .count = project_count,
                                     .skip = project_skip};

alm_status alm_op_project_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                               alm_op **out)
{
    op_project *project = NULL;
    const alm_expr **exprs = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &project));
    ALM_TRY(alm_op_init(cx, &project->op, &project_vt, run, plan, pipe));
    *out = &project->op;
    ALM_TRY(alm_op_child(cx, &project->op, 0));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &project->computed));
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, &project->values));
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (plan->project.expr[i]->kind != ALM_X_COL) {
            exprs[project->n_computed] = plan->project.expr[i];
            project->computed[project->n_computed++] = i;
        }
    return alm_eval_new(cx, exprs, project->n_computed, &project->eval);
}
