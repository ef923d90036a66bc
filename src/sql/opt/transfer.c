/*
 * transfer.c - what holds of a join key on one side holds of its partner on the other: conditions on
 * the key of one input become filters of the scan of the other one.
 *
 * Which       Conditions that read nothing but the key column, found on the way down from the join, where
 *             both key columns have one type. Right rows matter only through equal keys in INNER, LEFT,
 *             SEMI, ANTI, ASOF, LT and WINDOW joins; left rows only in INNER and SEMI ones.
 * ASOF        looks at single right rows where they lie, so a filter pays only where it is sharp and
 *             the left side reads about as much as the filter would.
 */
#include "sql/opt/opt.h"

enum { SHARP = 8 };
static const double FAR_MORE = 4;

typedef struct key_use {
    uint32_t col;
} key_use;

static bool only_key(void *arg, const alm_expr *col)
{
    return col->col == ((const key_use *)arg)->col;
}

typedef struct swap_arg {
    const alm_expr *with;
} swap_arg;

static alm_status swap_col(void *arg, alm_expr *expr, alm_expr **out)
{
    if (expr->kind == ALM_X_COL)
        *out = (alm_expr *)(uintptr_t)((const swap_arg *)arg)->with;
    return ALM_OK;
}

/* Conditions of a list that speak of column `col` alone, with `with` in its place. */
static alm_status transfer_take(alm_planner *planner, alm_expr *const *list, uint32_t n,
                                uint32_t col, const alm_expr *with, alm_exprs *out)
{
    for (uint32_t i = 0; i < n; i++) {
        key_use use = {col};
        alm_expr *expr = NULL;
        if (alm_expr_volatile(list[i]) || !alm_expr_has_col(list[i]) ||
            !alm_expr_each_col(list[i], only_key, &use) || !alm_expr_by_equality(planner, list[i]))
            continue;
        swap_arg arg = {with};
        ALM_TRY(alm_expr_map(planner->cx, list[i], swap_col, &arg, &expr));
        ALM_TRY(alm_exprs_add(planner->cx, out, expr));
    }
    return ALM_OK;
}

/* Do its rows have the columns of its first child as they are? */
static bool passes_rows(const alm_plan *plan)
{
    if (plan->op == ALM_P_JOIN)
        return plan->join.kind != ALM_JOIN_RIGHT && plan->join.kind != ALM_JOIN_FULL &&
               plan->join.kind != ALM_JOIN_SPLICE;
    return alm_node_is(plan, ALM_NODE_SAME_ROWS | ALM_NODE_LEFT_FIRST);
}

/* All that is known of column `col` of a plan; *scan: where it comes from, if that is plain. */
static alm_status transfer_collect(alm_planner *planner, const alm_plan *plan, uint32_t col,
                                   const alm_expr *with, alm_exprs *out, const alm_plan **scan)
{
    for (;; plan = plan->child[0]) {
        if (plan->op == ALM_P_SCAN) {
            *scan = plan;
            return transfer_take(planner, plan->scan.filter, plan->scan.n_filters, col, with, out);
        }
        while (plan->op == ALM_P_JOIN && col >= plan->child[0]->n_cols) {
            if (plan->join.kind != ALM_JOIN_INNER && plan->join.kind != ALM_JOIN_CROSS)
                return ALM_OK;
            col -= plan->child[0]->n_cols;
            plan = plan->child[1];
        }
        if (plan->op == ALM_P_SCAN)
            return transfer_collect(planner, plan, col, with, out, scan);
        if (plan->op == ALM_P_FILTER) {
            ALM_TRY(transfer_take(planner, plan->filter.conjunct, plan->filter.n, col, with, out));
        } else if (plan->op == ALM_P_PROJECT) {
            if (plan->project.expr[col]->kind != ALM_X_COL)
                return ALM_OK;
            col = plan->project.expr[col]->col;
        } else if (!passes_rows(plan) || col >= plan->child[0]->n_cols) {
            return ALM_OK;
        }
    }
}

/* The scan below projections of plain columns, and which of its columns `col` is; NULL: none. */
static alm_plan *scan_of(alm_plan *plan, uint32_t *col)
{
    for (; plan->op != ALM_P_SCAN; plan = plan->child[0]) {
        if (plan->op != ALM_P_PROJECT || plan->project.expr[*col]->kind != ALM_X_COL)
            return NULL;
        *col = plan->project.expr[*col]->col;
    }
    return plan;
}

static bool known_already(const alm_plan *scan, const alm_expr *expr)
{
    for (uint32_t i = 0; i < scan->scan.n_filters; i++)
        if (alm_expr_equal(scan->scan.filter[i], expr))
            return true;
    return false;
}

static bool is_sharp(const alm_plan *scan, const alm_expr *expr)
{
    if (!alm_expr_is_call(expr, "=") || expr->n_args != 2)
        return false;
    const alm_expr *col = expr->args[0]->kind == ALM_X_COL ? expr->args[0] : expr->args[1];
    if (col->kind != ALM_X_COL || col->type.id != ALM_T_SYMBOL)
        return false;
    const alm_dict *dict = scan->scan.table->cols[scan->scan.cols[col->col]].dict;
    return dict != NULL && dict->count > SHARP;
}

/* From the key of one side to that of the other. */
static alm_status transfer(alm_planner *planner, alm_plan *from, const alm_expr *a, alm_plan *to,
                           const alm_expr *b, bool asof)
{
    alm_exprs found = {0};
    const alm_plan *source = NULL;
    if (a->kind != ALM_X_COL || b->kind != ALM_X_COL || !alm_type_eq(a->type, b->type))
        return ALM_OK;
    uint32_t col = b->col;
    alm_plan *scan = scan_of(to, &col);
    alm_expr *with = NULL;
    if (scan == NULL || alm_plan_updates(scan))
        return ALM_OK;
    ALM_TRY(alm_expr_col(planner->cx, col, b->type, b->pos, &with));
    ALM_TRY(transfer_collect(planner, from, a->col, with, &found, &source));
    for (uint32_t i = 0; i < found.n; i++) {
        if (known_already(scan, found.at[i]))
            continue;
        if (asof && (!is_sharp(scan, found.at[i]) || source == NULL ||
                     alm_scan_estimate(source) * FAR_MORE < alm_scan_estimate(scan)))
            continue;
        alm_exprs all = {0};
        ALM_TRY(alm_exprs_add(planner->cx, &all, found.at[i])); /* cheap, and it leaves few rows */
        for (uint32_t filter = 0; filter < scan->scan.n_filters; filter++)
            ALM_TRY(alm_exprs_add(planner->cx, &all, scan->scan.filter[filter]));
        scan->scan.filter = all.at;
        scan->scan.n_filters = all.n;
    }
    return ALM_OK;
}

static alm_status transfer_visit(alm_planner *planner, alm_plan **slot)
{
    alm_plan *plan = *slot;
    if (plan->op == ALM_P_WINDOW_JOIN) {
        for (uint32_t key = 0; key < plan->winjoin.n_keys; key++)
            ALM_TRY(transfer(planner, plan->child[0], plan->winjoin.left_keys[key], plan->child[1],
                             plan->winjoin.right_keys[key], false));
        return ALM_OK;
    }
    if (plan->op != ALM_P_JOIN)
        return ALM_OK;
    const uint8_t kind = plan->join.kind;
    const bool asof = kind == ALM_JOIN_ASOF || kind == ALM_JOIN_LT;
    const bool both = kind == ALM_JOIN_INNER || kind == ALM_JOIN_SEMI;
    if (!asof && !both && kind != ALM_JOIN_LEFT && kind != ALM_JOIN_ANTI)
        return ALM_OK;
    for (uint32_t key = 0; key < plan->join.n_keys; key++) {
        const alm_expr *a = plan->join.left_keys[key], *b = plan->join.right_keys[key];
        ALM_TRY(transfer(planner, plan->child[0], a, plan->child[1], b, asof));
        if (both)
            ALM_TRY(transfer(planner, plan->child[1], b, plan->child[0], a, false));
    }
    return ALM_OK;
}

alm_status alm_rule_transfer(alm_planner *planner, alm_plan **plan)
{
    return alm_plan_bottom_up(planner, plan, transfer_visit);
}
