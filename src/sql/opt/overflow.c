/*
 * overflow.c - integer arithmetic below aggregates: an overflow must not become a null there, since nulls do not
 * count and a row would be lost without a word.
 *
 * Wider       An argument that INT is too small for is computed in 64 bits where the result of the aggregate has the
 *             same type then (sum, avg, count; not max, which is an INT of INTs).
 * Refused     What may still leave its type fails (plan/widen.c), in the rows that count: those that pass FILTER,
 *             and the result of a CASE that is taken. What nodes below have computed fails in each row, since
 *             they do not know the FILTER above.
 * Stored      What INSERT and CREATE TABLE AS take from a query is refused alike, wherever it is computed.
 * Reach       The arguments, and what they are made of in the projections below: as long as rows go up as they are,
 *             through joins, set operations and the keys of groups too.
 */
#include "sql/node/range.h"
#include "sql/opt/opt.h"

static alm_status overflow_widen(alm_planner *planner, alm_agg_call *agg, alm_expr *expr)
{
    alm_expr *args[1] = {NULL};
    alm_resolved resolved;
    ALM_TRY(alm_expr_widen(planner, expr, &args[0]));
    const alm_status status = alm_args_resolve(planner, alm_str_of(agg->fn->name), ALM_FN_AGGREGATE,
                                               agg->pos, args, 1, &resolved);
    if (status == ALM_E_MEMORY)
        return status;
    if (status != ALM_OK) { /* it has no such variant */
        alm_error_clear(planner->cx);
        return ALM_OK;
    }
    if (!alm_type_eq(resolved.result, agg->type))
        return ALM_OK;
    agg->fn = resolved.fn;
    agg->data = resolved.data;
    agg->args[0] = args[0];
    return ALM_OK;
}

/* A computed column of a projection that holds an INT which may exceed: computed again behind the others, wider. */
static alm_status widen_column(alm_planner *planner, alm_plan *project, alm_agg_call *agg)
{
    const alm_expr *col = agg->args[0];
    alm_expr *expr = project->project.expr[col->col], *wide = NULL, *at = NULL;
    alm_expr **exprs = NULL, *before = agg->args[0];
    alm_plan_col *cols = NULL;
    const uint32_t n_cols = project->n_cols;
    if (!alm_expr_may_exceed(expr) || alm_expr_volatile(expr))
        return ALM_OK;
    ALM_TRY(alm_expr_widen(planner, expr, &wide));
    ALM_TRY(alm_expr_col(planner->cx, n_cols, wide->type, col->pos, &at));
    ALM_TRY(overflow_widen(planner, agg, at));
    if (agg->args[0] == before)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &cols));
    memcpy(exprs, project->project.expr, n_cols * sizeof *exprs);
    memcpy(cols, project->cols, n_cols * sizeof *cols);
    exprs[n_cols] = wide;
    cols[n_cols] = (alm_plan_col){cols[col->col].name, wide->type, 0, 0};
    project->project.expr = exprs;
    project->cols = cols;
    project->n_cols = n_cols + 1;
    return ALM_OK;
}

/* ------------------------------------------------------------------- below other nodes */

enum { STEPS_MAX = 64 };

/* A column on its way up: column `col` of `plan`. */
typedef struct step {
    alm_plan *plan;
    uint32_t col;
} step;

static bool overflow_is_other(void *arg, const alm_expr *col)
{
    return col->col != *(const uint32_t *)arg;
}

static bool overflow_reads(alm_expr *const *list, uint32_t n, uint32_t col)
{
    for (uint32_t i = 0; i < n; i++)
        if (!alm_expr_each_col(list[i], overflow_is_other, &col))
            return true;
    return false;
}

static alm_plan *passed_by_join(const alm_plan *join, uint32_t *col)
{
    const uint32_t n_left = join->child[0]->n_cols;
    if (overflow_reads(join->join.residual, join->join.n_residual, *col))
        return NULL;
    if (*col < n_left)
        return overflow_reads(join->join.left_keys, join->join.n_keys, *col) ? NULL
                                                                             : join->child[0];
    *col -= n_left;
    return overflow_reads(join->join.right_keys, join->join.n_keys, *col) ? NULL : join->child[1];
}

static alm_plan *passed_by_project(const alm_plan *project, uint32_t *col)
{
    const alm_expr *expr = project->project.expr[*col];
    if (expr->kind != ALM_X_COL)
        return NULL;
    for (uint32_t i = 0; i < project->n_cols; i++)
        if (i != *col && overflow_reads(&project->project.expr[i], 1, expr->col))
            return NULL;
    *col = expr->col;
    return project->child[0];
}

/* The child whose column *col the column *col of `plan` is; NULL: it is none, or something else reads it there. */
static alm_plan *passed_by(const alm_plan *plan, uint32_t *col)
{
    switch ((int)plan->op) {
    case ALM_P_FILTER:
        return overflow_reads(plan->filter.conjunct, plan->filter.n, *col) ? NULL : plan->child[0];
    case ALM_P_SORT:
        for (uint32_t i = 0; i < plan->sort.n_keys; i++)
            if (overflow_reads(&plan->sort.keys[i].expr, 1, *col))
                return NULL;
        return plan->child[0];
    case ALM_P_LIMIT:
        return plan->child[0];
    case ALM_P_JOIN:
        return passed_by_join(plan, col);
    case ALM_P_PROJECT:
        return passed_by_project(plan, col);
    default:
        return NULL;
    }
}

/* The way of a column from the projection that computes it, which is the last step; 0: there is none. */
static uint32_t overflow_way_of(alm_plan *plan, uint32_t col, step *way)
{
    for (uint32_t count = 0; plan != NULL && count < STEPS_MAX;) {
        way[count++] = (step){plan, col};
        if (plan->op == ALM_P_PROJECT && alm_expr_may_exceed(plan->project.expr[col]))
            return alm_expr_volatile(plan->project.expr[col]) ? 0 : count;
        plan = passed_by(plan, &col);
    }
    return 0;
}

/* Makes the column of each step a LONG, computed by `wide`. */
static alm_status widen_way(alm_planner *planner, const step *way, uint32_t n_ways, alm_expr *wide)
{
    for (uint32_t i = 0; i < n_ways; i++) {
        alm_plan *plan = way[i].plan;
        const uint32_t col = way[i].col;
        alm_plan_col *cols = NULL;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
        memcpy(cols, plan->cols, plan->n_cols * sizeof *cols);
        cols[col].type = wide->type;
        plan->cols = cols;
        if (plan->op != ALM_P_PROJECT)
            continue;
        alm_expr **exprs = NULL, *passed = wide;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &exprs));
        memcpy(exprs, plan->project.expr, plan->n_cols * sizeof *exprs);
        if (i + 1 < n_ways)
            ALM_TRY(
                alm_expr_col(planner->cx, exprs[col]->col, wide->type, exprs[col]->pos, &passed));
        exprs[col] = passed;
        plan->project.expr = exprs;
    }
    return ALM_OK;
}

/* Aggregates in whose column an INT may be lost that is computed below other nodes, if nothing but aggregates whose
 * result stays the same reads it: the column becomes a LONG on its way. */
static alm_status widen_below(alm_planner *planner, alm_plan *child, alm_agg_call *aggs,
                              uint32_t n_aggs, uint32_t of, alm_expr *const *keys, uint32_t n_keys)
{
    const alm_expr *arg = aggs[of].args[0];
    const uint32_t col = arg->col;
    step way[STEPS_MAX];
    alm_expr *wide = NULL;
    alm_agg_call *wider = NULL;
    const uint32_t n_steps =
        overflow_reads(keys, n_keys, col) ? 0 : overflow_way_of(child, col, way);
    if (n_steps == 0)
        return ALM_OK;
    ALM_TRY(
        alm_expr_widen(planner, way[n_steps - 1].plan->project.expr[way[n_steps - 1].col], &wide));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_aggs, &wider));
    memcpy(wider, aggs, n_aggs * sizeof *wider);
    for (uint32_t i = 0; i < n_aggs; i++) {
        alm_expr *at = NULL, *const before = aggs[i].n_args == 1 ? aggs[i].args[0] : NULL;
        if (aggs[i].filter != NULL && overflow_reads(&aggs[i].filter, 1, col))
            return ALM_OK;
        if (!overflow_reads(aggs[i].args, aggs[i].n_args, col))
            continue;
        if (before == NULL || before->kind != ALM_X_COL || aggs[i].fn == NULL)
            return ALM_OK;
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &wider[i].args));
        wider[i].args[0] = before;
        ALM_TRY(alm_expr_col(planner->cx, col, wide->type, before->pos, &at));
        ALM_TRY(overflow_widen(planner, &wider[i], at));
        if (wider[i].args[0] == before)
            return ALM_OK;
    }
    memcpy(aggs, wider, n_aggs * sizeof *aggs);
    return widen_way(planner, way, n_steps, wide);
}

/* ------------------------------------------------------------------- refused */

/* The right rows of a WINDOW JOIN are behind the left ones for its aggregates. */
static alm_status check_inputs(alm_planner *planner, const alm_plan *plan, const bool *used)
{
    for (uint32_t i = 0; i < plan->n_children; i++) {
        ALM_TRY(alm_range_below(planner, plan->child[i], used));
        used += plan->child[i]->n_cols;
    }
    return ALM_OK;
}

static alm_status check_aggs(alm_planner *planner, alm_plan *plan, alm_agg_call *aggs,
                             uint32_t n_aggs, alm_expr *const *keys, uint32_t n_keys)
{
    bool *used = NULL;
    uint32_t n_cols = 0;
    alm_plan *child = plan->n_children == 1 ? plan->child[0] : NULL;
    if (n_aggs == 0)
        return ALM_OK;
    for (uint32_t i = 0; child != NULL && i < n_aggs; i++) {
        alm_agg_call *agg = &aggs[i];
        if (agg->fn == NULL || agg->n_args != 1)
            continue;
        if (alm_expr_may_exceed(agg->args[0]))
            ALM_TRY(overflow_widen(planner, agg, agg->args[0]));
        else if (agg->args[0]->kind != ALM_X_COL || agg->args[0]->type.id != ALM_T_INT)
            continue;
        else if (child->op == ALM_P_PROJECT &&
                 child->project.expr[agg->args[0]->col]->kind != ALM_X_COL)
            ALM_TRY(widen_column(planner, child, agg));
        else if (plan->op != ALM_P_WINDOW) /* whose result has the columns of its child */
            ALM_TRY(widen_below(planner, child, aggs, n_aggs, i, keys, n_keys));
    }
    for (uint32_t i = 0; i < n_aggs; i++)
        for (uint32_t k = 0; k < aggs[i].n_args - aggs[i].n_order; k++)
            ALM_TRY(alm_expr_check_range(planner, aggs[i].filter, &aggs[i].args[k]));
    for (uint32_t i = 0; i < plan->n_children; i++)
        n_cols += plan->child[i]->n_cols;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &used));
    for (uint32_t i = 0; i < n_aggs; i++)
        for (uint32_t arg = 0; arg < aggs[i].n_args; arg++)
            (void)alm_expr_each_col(aggs[i].args[arg], alm_range_note, used);
    return check_inputs(planner, plan, used);
}

/* The columns that check_windows added to the child of a WINDOW are put behind the old ones, before its calls: nobody
 * above is to see them. */
static alm_status hide_added(alm_planner *planner, alm_plan **slot, uint32_t n_before)
{
    alm_plan *plan = *slot, *child = plan->child[0];
    const uint32_t added = child->n_cols - n_before, n_cols = plan->n_cols;
    alm_plan_col *cols = NULL;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    if (added == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + added, &cols));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols, &names));
    memcpy(cols, plan->cols, n_before * sizeof *cols);
    memcpy(cols + n_before, child->cols + n_before, added * sizeof *cols);
    memcpy(cols + n_before + added, plan->cols + n_before, (n_cols - n_before) * sizeof *cols);
    plan->cols = cols;
    plan->n_cols = n_cols + added;
    for (uint32_t i = 0; i < n_cols; i++) {
        const uint32_t place = i < n_before ? i : i + added;
        names[i] = cols[place].name;
        ALM_TRY(alm_expr_col(planner->cx, place, cols[place].type, plan->pos, &exprs[i]));
    }
    return alm_plan_project(planner, plan, exprs, names, n_cols, slot);
}

/* Window functions see nulls and show them; aggregates over a frame do not. */
static alm_status check_windows(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    const uint32_t n_before = plan->child[0]->n_cols;
    for (uint32_t i = 0; i < plan->window.n_calls; i++) {
        alm_window_call *call = &plan->window.calls[i];
        alm_agg_call agg = {.fn = call->fn,
                            .data = call->data,
                            .args = call->args,
                            .n_args = call->n_args,
                            .filter = call->filter,
                            .type = call->type,
                            .pos = call->pos};
        if (call->fn == NULL || call->fn->kind != ALM_FN_AGGREGATE)
            continue;
        ALM_TRY(check_aggs(planner, plan, &agg, 1, NULL, 0));
        call->fn = agg.fn;
        call->data = agg.data;
    }
    return hide_added(planner, slot, n_before);
}

static alm_status overflow_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    alm_node_groups groups;
    if (plan->op == ALM_P_WINDOW)
        return check_windows(planner, slot);
    if (!alm_node_groups_of(plan, &groups))
        return ALM_OK;
    return check_aggs(planner, plan, groups.aggs, groups.n_aggs, groups.keys, groups.n_keys);
}

alm_status alm_rule_overflow(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, overflow_visit);
}
