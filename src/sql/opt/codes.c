/*
 * codes.c - a text column of files that is written by dictionaries is grouped and compared by its codes.
 *
 * The source offers such a column a second time as SYMBOL. Keys of GROUP and SAMPLE that are the column itself
 * take that one, and become text again above the node, once for each group. So do comparisons with constants that
 * the source tests: once for each value of the dictionary.
 */
#include "sql/opt/opt.h"

static bool is_text_column(const alm_expr *e)
{
    return e->kind == ALM_X_COL && alm_type_is_text(e->type);
}

static alm_status ask(alm_planner *p, const alm_plan *source, uint32_t col, int32_t *twin)
{
    const alm_source_if *sources = p->env->sources;
    *twin = -1;
    if (source->source.all == NULL || sources->codes == NULL)
        return ALM_OK;
    return sources->codes(p->cx, source->source.function, source->source.data,
                          source->source.cols[col], twin);
}

/* ------------------------------------------------------------------------------------------ one column more */

static alm_status more_cols(alm_planner *p, alm_plan *plan, const char *name)
{
    alm_plan_col *cols = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &cols));
    memcpy(cols, plan->cols, plan->n_cols * sizeof *cols);
    cols[plan->n_cols] = (alm_plan_col){name, ALM_TY(SYMBOL)};
    plan->cols = cols;
    plan->n_cols++;
    return ALM_OK;
}

static alm_status add_read(alm_planner *p, alm_plan *source, uint32_t twin, uint32_t *at)
{
    uint32_t *cols = NULL;
    const uint32_t n = source->source.n_cols;
    for (*at = 0; *at < n && source->source.cols[*at] != twin; (*at)++)
        ;
    if (*at < n)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, n + 1, &cols));
    memcpy(cols, source->source.cols, n * sizeof *cols);
    cols[n] = twin;
    source->source.cols = cols;
    source->source.n_cols++;
    return ALM_OK;
}

/* Behind all others; those only the conditions read come later. */
static alm_status widen_source(alm_planner *p, alm_plan *plan, uint32_t col, int32_t *out)
{
    int32_t twin = -1;
    uint32_t at = 0;
    *out = -1;
    if (plan->source.all == NULL || plan->source.n_out != plan->source.n_cols)
        return ALM_OK;
    ALM_TRY(ask(p, plan, col, &twin));
    if (twin < 0)
        return ALM_OK;
    ALM_TRY(add_read(p, plan, (uint32_t)twin, &at));
    if (at == plan->n_cols) {
        ALM_TRY(more_cols(p, plan, plan->cols[col].name));
        plan->source.n_out++;
    }
    *out = (int32_t)at;
    return ALM_OK;
}

static alm_status widen(alm_planner *p, alm_plan *plan, uint32_t col, int32_t *out);

static alm_status widen_project(alm_planner *p, alm_plan *plan, uint32_t col, int32_t *out)
{
    const alm_expr *from = plan->project.expr[col];
    alm_expr **expr = NULL;
    *out = -1;
    if (!is_text_column(from))
        return ALM_OK;
    ALM_TRY(widen(p, plan->child[0], from->col, out));
    if (*out < 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &expr));
    memcpy(expr, plan->project.expr, plan->n_cols * sizeof(alm_expr *));
    ALM_TRY(alm_expr_col(p->cx, (uint32_t)*out, ALM_TY(SYMBOL), from->pos, &expr[plan->n_cols]));
    plan->project.expr = expr;
    *out = (int32_t)plan->n_cols;
    return more_cols(p, plan, plan->cols[col].name);
}

/* Column `col` of the plan as codes: the number of another column, -1 where it does not come as it is from a source. */
static alm_status widen(alm_planner *p, alm_plan *plan, uint32_t col, int32_t *out)
{
    *out = -1;
    if (plan->op == ALM_P_SOURCE)
        return widen_source(p, plan, col, out);
    if (plan->op == ALM_P_PROJECT)
        return widen_project(p, plan, col, out);
    if (plan->op != ALM_P_FILTER && plan->op != ALM_P_SORT && plan->op != ALM_P_LIMIT)
        return ALM_OK;
    ALM_TRY(widen(p, plan->child[0], col, out));
    plan->cols = plan->child[0]->cols;
    plan->n_cols = plan->child[0]->n_cols;
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------------------- groups */

/* Keys are the result columns from `first` on. */
static alm_status keys_as_codes(alm_planner *p, alm_plan **slot, alm_expr **keys, uint32_t n_keys,
                                uint32_t first)
{
    alm_plan *plan = *slot;
    alm_plan_col *cols = NULL;
    alm_type *was = NULL;
    bool any = false;
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &was));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, plan->n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        cols[i] = plan->cols[i];
        was[i] = plan->cols[i].type;
    }
    for (uint32_t k = 0; k < n_keys; k++) {
        int32_t at = -1;
        if (!is_text_column(keys[k]))
            continue;
        ALM_TRY(widen(p, plan->child[0], keys[k]->col, &at));
        if (at < 0)
            continue;
        ALM_TRY(alm_expr_col(p->cx, (uint32_t)at, ALM_TY(SYMBOL), keys[k]->pos, &keys[k]));
        cols[first + k].type = ALM_TY(SYMBOL);
        any = true;
    }
    if (!any)
        return ALM_OK;
    plan->cols = cols;
    return alm_plan_cast(p, slot, was, ALM_CAST_EXPLICIT);
}

static alm_status visit_group(alm_planner *p, alm_plan **slot)
{
    alm_node_groups groups;
    if (!alm_node_groups_of(*slot, &groups) || groups.n_keys == 0)
        return ALM_OK;
    return keys_as_codes(p, slot, groups.keys, groups.n_keys, groups.first);
}

/* ----------------------------------------------------------------------------------------------- conditions */

/* Of one text column and constants, true or false by the text alone. */
static bool is_comparison(const alm_expr *e)
{
    static const char *const names[] = {"=", "!=", "<>", "in", "like", "ilike", "~", "!~"};
    uint32_t n_columns = 0;
    bool known = false;
    if (e->kind != ALM_X_CALL || e->n_args < 2)
        return false;
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        known |= strcmp(e->fn->name, names[i]) == 0;
    for (uint32_t i = 0; i < e->n_args; i++) {
        n_columns += is_text_column(e->args[i]);
        known &= is_text_column(e->args[i]) || e->args[i]->kind == ALM_X_CONST;
    }
    return known && n_columns == 1;
}

static alm_status compare_codes(alm_planner *p, alm_plan *source, alm_expr **slot)
{
    alm_expr *e = *slot, **args = NULL;
    int32_t twin = -1;
    uint32_t at = 0, which = 0;
    if (e->kind == ALM_X_CALL && e->n_args == 1 && strcmp(e->fn->name, "not") == 0)
        return compare_codes(p, source, &e->args[0]);
    if (!is_comparison(e))
        return ALM_OK;
    while (!is_text_column(e->args[which]))
        which++;
    ALM_TRY(ask(p, source, e->args[which]->col, &twin));
    if (twin < 0)
        return ALM_OK;
    ALM_TRY(add_read(p, source, (uint32_t)twin, &at));
    ALM_TRY(ALM_NEWN(p->cx, p->cx->arena, e->n_args + 1, &args));
    memcpy(args, e->args, e->n_args * sizeof(alm_expr *));
    ALM_TRY(alm_expr_col(p->cx, at, ALM_TY(SYMBOL), args[which]->pos, &args[which]));
    return alm_expr_call_str(p, alm_str_of(e->fn->name), e->pos, args, e->n_args, slot);
}

static alm_status visit_source(alm_planner *p, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op != ALM_P_SOURCE || plan->source.all == NULL)
        return ALM_OK;
    for (uint32_t i = 0; i < plan->source.n_filters; i++)
        ALM_TRY(compare_codes(p, plan, &plan->source.filter[i]));
    return ALM_OK;
}

alm_status alm_rule_codes(alm_planner *p, alm_plan **plan)
{
    ALM_TRY(alm_plan_bottom_up(p, plan, visit_group));
    return alm_plan_bottom_up(p, plan, visit_source);
}
