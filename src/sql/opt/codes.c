/*
 * codes.c - a text column of files that is written by dictionaries is grouped and compared by its codes.
 *
 * The source offers such a column a second time as SYMBOL. Keys of GROUP and SAMPLE that are the column itself
 * take that one, and become text again above the node, once for each group. So do comparisons with constants that
 * the source tests: once for each value of the dictionary.
 */
#include "sql/opt/opt.h"

static bool is_text_column(const alm_expr *expr)
{
    return expr->kind == ALM_X_COL && alm_type_is_text(expr->type);
}

static alm_status codes_ask(alm_planner *planner, const alm_plan *source, uint32_t col,
                            int32_t *twin)
{
    const alm_source_if *sources = planner->env->sources;
    *twin = -1;
    if (source->source.all == NULL || sources->codes == NULL)
        return ALM_OK;
    return sources->codes(planner->cx, source->source.function, source->source.data,
                          source->source.cols[col], twin);
}

/* ------------------------------------------------------------------------------------------ one column more */

static alm_status more_cols(alm_planner *planner, alm_plan *plan, const char *name)
{
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
    memcpy(cols, plan->cols, plan->n_cols * sizeof *cols);
    cols[plan->n_cols] = (alm_plan_col){name, ALM_TY(SYMBOL)};
    plan->cols = cols;
    plan->n_cols++;
    return ALM_OK;
}

static alm_status codes_add_read(alm_planner *planner, alm_plan *source, uint32_t twin,
                                 uint32_t *at)
{
    uint32_t *cols = NULL;
    const uint32_t n_cols = source->source.n_cols;
    for (*at = 0; *at < n_cols && source->source.cols[*at] != twin; (*at)++)
        ;
    if (*at < n_cols)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_cols + 1, &cols));
    memcpy(cols, source->source.cols, n_cols * sizeof *cols);
    cols[n_cols] = twin;
    source->source.cols = cols;
    source->source.n_cols++;
    return ALM_OK;
}

/* Behind all others; those only the conditions read come later. */
static alm_status widen_source(alm_planner *planner, alm_plan *plan, uint32_t col, int32_t *out)
{
    int32_t twin = -1;
    uint32_t place = 0;
    *out = -1;
    if (plan->source.all == NULL || plan->source.n_out != plan->source.n_cols)
        return ALM_OK;
    ALM_TRY(codes_ask(planner, plan, col, &twin));
    if (twin < 0)
        return ALM_OK;
    ALM_TRY(codes_add_read(planner, plan, (uint32_t)twin, &place));
    if (place == plan->n_cols) {
        ALM_TRY(more_cols(planner, plan, plan->cols[col].name));
        plan->source.n_out++;
    }
    *out = (int32_t)place;
    return ALM_OK;
}

static alm_status codes_widen(alm_planner *p, alm_plan *plan, uint32_t col, int32_t *out);

static alm_status widen_project(alm_planner *planner, alm_plan *plan, uint32_t col, int32_t *out)
{
    const alm_expr *from = plan->project.expr[col];
    alm_expr **expr = NULL;
    *out = -1;
    if (!is_text_column(from))
        return ALM_OK;
    ALM_TRY(codes_widen(planner, plan->child[0], from->col, out));
    if (*out < 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &expr));
    memcpy(expr, plan->project.expr, plan->n_cols * sizeof(alm_expr *));
    ALM_TRY(
        alm_expr_col(planner->cx, (uint32_t)*out, ALM_TY(SYMBOL), from->pos, &expr[plan->n_cols]));
    plan->project.expr = expr;
    *out = (int32_t)plan->n_cols;
    return more_cols(planner, plan, plan->cols[col].name);
}

/* Column `col` of the plan as codes: the number of another column, -1 where it does not come as it is from a source. */
static alm_status codes_widen(alm_planner *planner, alm_plan *plan, uint32_t col, int32_t *out)
{
    *out = -1;
    if (plan->op == ALM_P_SOURCE)
        return widen_source(planner, plan, col, out);
    if (plan->op == ALM_P_PROJECT)
        return widen_project(planner, plan, col, out);
    if (plan->op != ALM_P_FILTER && plan->op != ALM_P_SORT && plan->op != ALM_P_LIMIT)
        return ALM_OK;
    ALM_TRY(codes_widen(planner, plan->child[0], col, out));
    plan->cols = plan->child[0]->cols;
    plan->n_cols = plan->child[0]->n_cols;
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------------------- groups */

/* Keys are the result columns from `first` on. */
static alm_status keys_as_codes(alm_planner *planner, alm_plan **slot, alm_expr **keys,
                                uint32_t n_keys, uint32_t first)
{
    alm_plan *plan = *slot;
    alm_plan_col *cols = NULL;
    alm_type *was = NULL;
    bool any = false;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &was));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        cols[i] = plan->cols[i];
        was[i] = plan->cols[i].type;
    }
    for (uint32_t key = 0; key < n_keys; key++) {
        int32_t place = -1;
        if (!is_text_column(keys[key]))
            continue;
        ALM_TRY(codes_widen(planner, plan->child[0], keys[key]->col, &place));
        if (place < 0)
            continue;
        ALM_TRY(
            alm_expr_col(planner->cx, (uint32_t)place, ALM_TY(SYMBOL), keys[key]->pos, &keys[key]));
        cols[first + key].type = ALM_TY(SYMBOL);
        any = true;
    }
    if (!any)
        return ALM_OK;
    plan->cols = cols;
    return alm_plan_cast(planner, slot, was, ALM_CAST_EXPLICIT);
}

static alm_status visit_group(alm_planner *planner, alm_plan **slot)
{
    alm_node_groups groups;
    if (!alm_node_groups_of(*slot, &groups) || groups.n_keys == 0)
        return ALM_OK;
    return keys_as_codes(planner, slot, groups.keys, groups.n_keys, groups.first);
}

/* ----------------------------------------------------------------------------------------------- conditions */

/* Of one text column and constants, true or false by the text alone. */
static bool is_comparison(const alm_expr *expr)
{
    static const char *const names[] = {"=", "!=", "<>", "in", "like", "ilike", "~", "!~"};
    uint32_t n_columns = 0;
    bool known = false;
    if (expr->kind != ALM_X_CALL || expr->n_args < 2)
        return false;
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        known |= strcmp(expr->fn->name, names[i]) == 0;
    for (uint32_t i = 0; i < expr->n_args; i++) {
        n_columns += is_text_column(expr->args[i]);
        known &= is_text_column(expr->args[i]) || expr->args[i]->kind == ALM_X_CONST;
    }
    return known && n_columns == 1;
}

static alm_status compare_codes(alm_planner *planner, alm_plan *source, alm_expr **slot)
{
    alm_expr *expr = *slot, **args = NULL;
    int32_t twin = -1;
    uint32_t place = 0, which = 0;
    if (expr->kind == ALM_X_CALL && expr->n_args == 1 && strcmp(expr->fn->name, "not") == 0)
        return compare_codes(planner, source, &expr->args[0]);
    if (!is_comparison(expr))
        return ALM_OK;
    while (!is_text_column(expr->args[which]))
        which++;
    ALM_TRY(codes_ask(planner, source, expr->args[which]->col, &twin));
    if (twin < 0)
        return ALM_OK;
    ALM_TRY(codes_add_read(planner, source, (uint32_t)twin, &place));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, expr->n_args + 1, &args));
    memcpy(args, expr->args, expr->n_args * sizeof(alm_expr *));
    ALM_TRY(alm_expr_col(planner->cx, place, ALM_TY(SYMBOL), args[which]->pos, &args[which]));
    return alm_expr_call_str(planner, alm_str_of(expr->fn->name), expr->pos, args, expr->n_args,
                             slot);
}

static alm_status visit_source(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op != ALM_P_SOURCE || plan->source.all == NULL)
        return ALM_OK;
    for (uint32_t i = 0; i < plan->source.n_filters; i++)
        ALM_TRY(compare_codes(planner, plan, &plan->source.filter[i]));
    return ALM_OK;
}

alm_status alm_rule_codes(alm_planner *planner, alm_plan **plan)
{
    ALM_TRY(alm_plan_bottom_up(planner, plan, visit_group));
    return alm_plan_bottom_up(planner, plan, visit_source);
}
