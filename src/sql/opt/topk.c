/*
 * topk.c - conditions like row_number() <= n on ranks: the window keeps the first n rows of each
 * partition and drops the others as they come, so that it neither holds nor sorts them.
 *
 * The condition stays where it is: rows may be dropped, need not be. It is used where every call of
 * the node ranks by the same order, or looks at rows before its own, which are all still there.
 */
#include "sql/opt/opt.h"

enum { TOP_MAX = 1 << 16 };

static bool topk_same_keys(const alm_window_call *a, const alm_window_call *b)
{
    if (a->n_partition != b->n_partition || a->n_order != b->n_order)
        return false;
    for (uint32_t i = 0; i < a->n_partition; i++)
        if (!alm_expr_equal(a->partition[i], b->partition[i]))
            return false;
    for (uint32_t i = 0; i < a->n_order; i++)
        if (a->order[i].desc != b->order[i].desc ||
            a->order[i].nulls_first != b->order[i].nulls_first ||
            !alm_expr_equal(a->order[i].expr, b->order[i].expr))
            return false;
    return true;
}

static bool is_rank(const alm_window_call *call, const char *name)
{
    return call->fn->kind == ALM_FN_WINDOW && strcmp(call->fn->name, name) == 0;
}

static bool looks_back(const alm_window_call *call)
{
    return is_rank(call, "row_number") || is_rank(call, "rank") || is_rank(call, "dense_rank") ||
           is_rank(call, "lag");
}

/* Rows that come in window order are computed as they come: nothing to be gained. */
static bool qualifies(const alm_plan *window)
{
    const alm_window_call *first = &window->window.calls[0];
    bool sorts = false;
    for (uint32_t i = 0; i < window->window.n_calls; i++) {
        const alm_window_call *call = &window->window.calls[i];
        if (!looks_back(call) || !topk_same_keys(first, call))
            return false;
        sorts |= call->n_order > 0 && !call->order_is_ts;
    }
    return sorts;
}

/* A condition "column <op> constant": the greatest value that passes, 0: not of this kind. */
static int64_t upper_bound(const alm_expr *expr, uint32_t *col)
{
    static const struct {
        const char *name;
        bool column_left;
        int64_t less;
    } forms[] = {{"<=", true, 0},  {"<", true, 1},  {"=", true, 0},
                 {">=", false, 0}, {">", false, 1}, {"=", false, 0}};
    int64_t n = 0;
    if (expr->kind != ALM_X_CALL || expr->n_args != 2)
        return 0;
    for (size_t i = 0; i < ALM_COUNT(forms); i++) {
        const alm_expr *c = expr->args[forms[i].column_left ? 0 : 1];
        const alm_expr *v = expr->args[forms[i].column_left ? 1 : 0];
        if (!alm_expr_is_call(expr, forms[i].name) || c->kind != ALM_X_COL || !alm_expr_int(v, &n))
            continue;
        *col = c->col;
        return n > INT64_MIN ? n - forms[i].less : 0;
    }
    return 0;
}

static alm_status bound_window(alm_planner *planner, alm_plan **slot)
{
    alm_plan *filter = *slot;
    (void)planner;
    if (filter->op != ALM_P_FILTER || filter->child[0]->op != ALM_P_WINDOW)
        return ALM_OK;
    alm_plan *window = filter->child[0];
    const uint32_t first = window->child[0]->n_cols;
    if (!qualifies(window))
        return ALM_OK;
    for (uint32_t i = 0; i < filter->filter.n; i++) {
        uint32_t col = 0;
        const int64_t n = upper_bound(filter->filter.conjunct[i], &col);
        if (n <= 0 || n > TOP_MAX || col < first || col >= window->n_cols)
            continue;
        const alm_window_call *call = &window->window.calls[col - first];
        const bool number = is_rank(call, "row_number");
        if (!number && !is_rank(call, "rank"))
            continue;
        if (window->window.top == 0 || n < window->window.top) {
            window->window.top = n;
            window->window.top_ties = !number;
        }
    }
    return ALM_OK;
}

alm_status alm_rule_topk(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, bound_window);
}
