/*
 * symbol.c - a comparison of a SYMBOL column with a text its dictionary does not have is settled
 * here: equality is false, and the scan below need not run. Kernels compare codes for the others.
 */
#include "sql/opt/opt.h"

/* The dictionary of the scan's column, NULL if expr is no symbol column. */
static const alm_dict *symbol_dict_of(const alm_plan *scan, const alm_expr *expr)
{
    if (expr->kind != ALM_X_COL || expr->type.id != ALM_T_SYMBOL)
        return NULL;
    const uint32_t col = scan->scan.cols[expr->col];
    return col == ALM_SCAN_ROW ? NULL : scan->scan.table->cols[col].dict;
}

/* 1 true for every row, 0 false for every row, -1 depends. */
static int symbol_settle(const alm_plan *scan, const alm_expr *expr)
{
    if (expr->kind != ALM_X_CALL)
        return -1;
    const bool eq = strcmp(expr->fn->name, "=") == 0;
    const bool ne = strcmp(expr->fn->name, "!=") == 0 || strcmp(expr->fn->name, "<>") == 0;
    if (expr->n_args == 2 && (eq || ne)) {
        const bool first = expr->args[0]->kind == ALM_X_COL;
        const alm_expr *text = expr->args[first ? 1 : 0];
        const alm_dict *dict = symbol_dict_of(scan, expr->args[first ? 0 : 1]);
        if (dict == NULL || dict->find == NULL || text->kind != ALM_X_CONST ||
            !alm_type_is_text(text->type) || alm_expr_is_null(text))
            return -1;
        return dict->find(dict, alm_vec_text(&text->value, 0)) == 0 ? ne : -1;
    }
    if (strcmp(expr->fn->name, "in") == 0 && expr->n_args > 1) {
        const alm_dict *dict = symbol_dict_of(scan, expr->args[0]);
        if (dict == NULL || dict->find == NULL)
            return -1;
        for (uint32_t i = 1; i < expr->n_args; i++) {
            const alm_expr *text = expr->args[i];
            if (text->kind != ALM_X_CONST || !alm_type_is_text(text->type) ||
                alm_expr_is_null(text) || dict->find(dict, alm_vec_text(&text->value, 0)) != 0)
                return -1;
        }
        return 0;
    }
    return -1;
}

static alm_status symbol_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *scan = *slot;
    if (scan->op != ALM_P_SCAN || alm_plan_updates(scan))
        return ALM_OK;
    uint32_t kept = 0;
    bool nothing = false;
    for (uint32_t i = 0; i < scan->scan.n_filters; i++) {
        const int known = symbol_settle(scan, scan->scan.filter[i]);
        nothing |= known == 0 || alm_expr_is_false(scan->scan.filter[i]);
        if (known < 0)
            scan->scan.filter[kept++] = scan->scan.filter[i];
    }
    scan->scan.n_filters = kept;
    return nothing ? alm_plan_limit(planner, slot, 0, 0) : ALM_OK;
}

alm_status alm_rule_symbol(alm_planner *planner, alm_plan **plan)
{
    if (planner->env->as_template) /* dictionaries grow */
        return ALM_OK;
    return alm_plan_bottom_up(planner, plan, symbol_visit);
}
