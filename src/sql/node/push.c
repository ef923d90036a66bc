/* push.c - see push.h. */
#include "sql/node/push.h"

alm_status alm_push_child(alm_planner *planner, alm_plan *plan, uint32_t i, alm_exprs *conjuncts)
{
    ALM_TRY(alm_push(planner, &plan->child[i], conjuncts));
    return ALM_OK;
}

alm_status alm_push_nothing(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                            alm_exprs *stay)
{
    *stay = *in;
    for (uint32_t i = 0; i < plan->n_children; i++) {
        alm_exprs none = {0};
        ALM_TRY(alm_push_child(planner, plan, i, &none));
    }
    return ALM_OK;
}

alm_status alm_push_split(alm_planner *planner, const alm_exprs *in,
                          bool (*passes)(const void *arg, const alm_expr *e), const void *arg,
                          alm_exprs *down, alm_exprs *stay)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const bool pass = !alm_expr_volatile(in->at[i]) &&
                          alm_expr_by_equality(planner, in->at[i]) && passes(arg, in->at[i]);
        ALM_TRY(alm_exprs_add(planner->cx, pass ? down : stay, in->at[i]));
    }
    return ALM_OK;
}

typedef struct key_range {
    uint32_t lo, hi;
} key_range;

static bool in_keys(const void *arg, const alm_expr *expr)
{
    const key_range *range = arg;
    return alm_expr_has_col(expr) && alm_expr_within(expr, range->lo, range->hi);
}

alm_status alm_push_keys(alm_planner *planner, alm_plan *plan, const alm_exprs *in, uint32_t first,
                         alm_expr **keys, uint32_t n_keys, alm_exprs *stay)
{
    const key_range range = {first, first + n_keys};
    alm_exprs pass = {0}, down = {0};
    ALM_TRY(alm_push_split(planner, in, in_keys, &range, &pass, stay));
    for (uint32_t i = 0; i < pass.n; i++) {
        alm_expr *expr = NULL;
        ALM_TRY(alm_expr_shift(planner->cx, pass.at[i], -(int64_t)first, &expr));
        ALM_TRY(alm_expr_substitute(planner->cx, expr, keys, &expr));
        ALM_TRY(alm_exprs_split(planner->cx, &down, expr));
    }
    return alm_push_child(planner, plan, 0, &down);
}

static bool is_key_column(void *arg, const alm_expr *col)
{
    const alm_push_columns *set = arg;
    for (uint32_t i = 0; i < set->n; i++)
        if (set->keys[i]->kind == ALM_X_COL && set->keys[i]->col == col->col)
            return true;
    return false;
}

bool alm_push_of_columns(const void *arg, const alm_expr *expr)
{
    alm_push_columns set = *(const alm_push_columns *)arg;
    return alm_expr_has_col(expr) && alm_expr_each_col(expr, is_key_column, &set);
}

alm_status alm_push_split_left(alm_planner *planner, const alm_plan *plan, const alm_exprs *in,
                               alm_exprs *down, alm_exprs *stay)
{
    for (uint32_t i = 0; i < in->n; i++) {
        const bool pass =
            !alm_expr_volatile(in->at[i]) && alm_expr_within(in->at[i], 0, plan->child[0]->n_cols);
        ALM_TRY(alm_exprs_add(planner->cx, pass ? down : stay, in->at[i]));
    }
    return ALM_OK;
}

/* Cheap comparisons first, in the order written otherwise. */
static int expr_cost(const alm_expr *expr)
{
    int cost = expr->kind == ALM_X_CALL ? 1 : 0;
    if (expr->kind == ALM_X_COL && alm_type_is_text(expr->type) && expr->type.id != ALM_T_SYMBOL)
        cost = 4;
    for (uint32_t i = 0; i < expr->n_args; i++)
        cost += expr_cost(expr->args[i]);
    return cost;
}

alm_status alm_push_leaf(alm_planner *planner, const alm_exprs *in, alm_expr ***filter,
                         uint32_t *n_filters)
{
    alm_exprs all = {0};
    for (uint32_t i = 0; i < *n_filters; i++)
        ALM_TRY(alm_exprs_add(planner->cx, &all, (*filter)[i]));
    for (uint32_t i = 0; i < in->n; i++)
        ALM_TRY(alm_exprs_add(planner->cx, &all, in->at[i]));
    for (uint32_t i = 1; i < all.n; i++) {
        alm_expr *expr = all.at[i];
        const int cost = expr_cost(expr);
        uint32_t j = i;
        for (; j > 0 && expr_cost(all.at[j - 1]) > cost; j--)
            all.at[j] = all.at[j - 1];
        all.at[j] = expr;
    }
    *filter = all.at;
    *n_filters = all.n;
    return ALM_OK;
}

static alm_status push_into(alm_planner *planner, alm_plan *plan, const alm_exprs *in,
                            alm_exprs *stay)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    return ops->push != NULL ? ops->push(planner, plan, in, stay)
                             : alm_push_nothing(planner, plan, in, stay);
}

alm_status alm_push(alm_planner *planner, alm_plan **slot, alm_exprs *conjuncts)
{
    alm_plan *plan = *slot;
    alm_exprs all = *conjuncts, stay = {0};
    while (plan->op == ALM_P_FILTER) {
        alm_exprs more = {0};
        for (uint32_t i = 0; i < plan->filter.n; i++)
            ALM_TRY(alm_exprs_add(planner->cx, &more, plan->filter.conjunct[i]));
        for (uint32_t i = 0; i < all.n; i++)
            ALM_TRY(alm_exprs_add(planner->cx, &more, all.at[i]));
        all = more;
        plan = plan->child[0];
    }
    for (uint32_t i = 0; i < all.n; i++) {
        if (!alm_expr_is_false(all.at[i]))
            continue;
        alm_exprs none = {0};
        ALM_TRY(alm_push(planner, &plan, &none));
        ALM_TRY(alm_plan_limit(planner, &plan, 0, 0));
        *slot = plan;
        return ALM_OK;
    }
    ALM_TRY(push_into(planner, plan, &all, &stay));
    ALM_TRY(alm_plan_filter(planner, &plan, &stay));
    *slot = plan;
    return ALM_OK;
}
