/*
 * check.c - do the parts of a plan fit together? What the binder and the rules uphold, and what
 * exec relies on without asking.
 *
 * Fits        Every column of an expression is one of its node's input and has its type; marks of the
 *             binder are gone; a node has the columns its kind gives; it has one parent, and its lists
 *             of expressions are its own, so that who rewrites them changes nothing else.
 * When        alm_optimise asks before the first rule and behind the last; debug builds behind each, and
 *             for the owners of lists, too.
 * Else        ALM_E_INTERNAL: the statement fails, and nothing more than it; debug builds stop.
 */
#include <stdlib.h>

#include "sql/plan/check.h"
#include "sql/plan/walk.h"

typedef struct place { /* of a node, or of an expression in a list of one */
    const void *at;
    alm_plan *node;
} place;

typedef struct checking {
    alm_planner *p;
    const char *when;
    alm_plan *node;
    const alm_plan_col *left, *right; /* input of the expression that is looked at */
    uint32_t n_left, n_right;
    const char *wrong; /* NULL: nothing so far */
    bool owners;       /* are asked for, too */
    place *owned;      /* met so far */
    uint32_t n_owned, cap_owned;
} checking;

static alm_status wrong(const checking *c, const char *what)
{
    return alm_fail(c->p->cx, ALM_E_INTERNAL, c->node->pos,
                    "the plan does not fit together after %s: %s: %s", c->when,
                    alm_plan_op_name(c->node->op), what);
}

/* ------------------------------------------------------------------ expressions */

/* Untyped nulls get their type by a rule. */
static bool same_type(alm_type a, alm_type b)
{
    return alm_type_eq(a, b) || a.id == ALM_T_NULL || b.id == ALM_T_NULL;
}

/* Texts of several types may be compared. */
static bool fits(alm_type a, alm_type b, bool compared)
{
    return same_type(a, b) || (compared && alm_type_is_text(a) && alm_type_is_text(b));
}

static bool check_col(void *arg, const alm_expr *col)
{
    checking *c = arg;
    const uint32_t marks = ALM_COL_AGG | ALM_COL_WIN | ALM_COL_OUTER | ALM_COL_DEP;
    if ((col->col & marks) != 0)
        c->wrong = "a column of another query or stage is left";
    else if (col->col >= c->n_left + c->n_right)
        c->wrong = "a column that the input has not";
    else if (!same_type(col->type, col->col < c->n_left ? c->left[col->col].type
                                                        : c->right[col->col - c->n_left].type))
        c->wrong = "a column of another type";
    return c->wrong == NULL;
}

static alm_status own(checking *c, const void *at)
{
    if (!c->owners)
        return ALM_OK;
    ALM_TRY(alm_grow(c->p->cx, &c->owned, c->n_owned, &c->cap_owned, sizeof *c->owned));
    c->owned[c->n_owned++] = (place){at, c->node};
    return ALM_OK;
}

static alm_status check_read(checking *c, const alm_expr *e)
{
    if (e == NULL)
        return wrong(c, "an expression is missing");
    ALM_TRY(alm_steps_add(c->p->cx, 1 + (int64_t)e->size));
    (void)alm_expr_each_col(e, check_col, c);
    return c->wrong == NULL ? ALM_OK : wrong(c, c->wrong);
}

static alm_status check_expr(void *arg, alm_expr **e)
{
    ALM_TRY(check_read(arg, *e));
    return own(arg, e);
}

static void reads(checking *c, const alm_plan *left, const alm_plan *right)
{
    c->left = left != NULL ? left->cols : NULL;
    c->n_left = left != NULL ? left->n_cols : 0;
    c->right = right != NULL ? right->cols : NULL;
    c->n_right = right != NULL ? right->n_cols : 0;
}

static alm_status check_each(checking *c, alm_expr **list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(check_expr(c, &list[i]));
    return ALM_OK;
}

static alm_status check_pairs(checking *c, alm_expr **left_keys, alm_expr **right_keys, uint32_t n)
{
    const alm_plan *left = c->node->child[0], *right = c->node->child[1];
    reads(c, left, NULL);
    ALM_TRY(check_each(c, left_keys, n));
    reads(c, right, NULL);
    ALM_TRY(check_each(c, right_keys, n));
    for (uint32_t i = 0; i < n; i++) {
        if (!fits(left_keys[i]->type, right_keys[i]->type, true))
            return wrong(c, "keys of a join have different types");
    }
    reads(c, left, right);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- columns */

static bool is_column(const alm_plan *plan, uint32_t col)
{
    return col < plan->n_cols;
}

static bool is_time(const alm_plan *plan, uint32_t col)
{
    return is_column(plan, col) && alm_type_is_timestamp(plan->cols[col].type);
}

static uint32_t children_of(alm_plan_op op)
{
    switch (op) {
    case ALM_P_SCAN:
    case ALM_P_SOURCE:
    case ALM_P_VALUES:
    case ALM_P_SHARED:
    case ALM_P_WORKING:
    case ALM_PLAN_OP_COUNT:
        return 0;
    case ALM_P_JOIN:
    case ALM_P_WINDOW_JOIN:
    case ALM_P_SETOP:
    case ALM_P_RECURSE:
        return 2;
    case ALM_P_FILTER:
    case ALM_P_PROJECT:
    case ALM_P_GROUP:
    case ALM_P_SAMPLE:
    case ALM_P_SORT:
    case ALM_P_LIMIT:
    case ALM_P_HORIZON:
    case ALM_P_WINDOW:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_LATEST:
        break;
    }
    return 1;
}

/* How many columns a node of its kind gives, over the children it has. */
static uint32_t width_of(const alm_plan *plan)
{
    const uint32_t left = plan->n_children > 0 ? plan->child[0]->n_cols : 0;
    switch (plan->op) {
    case ALM_P_SCAN:
        return plan->scan.n_out;
    case ALM_P_SOURCE:
        return plan->source.all != NULL ? plan->source.n_out : plan->n_cols;
    case ALM_P_GROUP:
        return plan->group.n_keys + plan->group.n_aggs;
    case ALM_P_SAMPLE:
        return 1 + plan->sample.n_keys + plan->sample.n_aggs;
    case ALM_P_HORIZON:
        return left + 2;
    case ALM_P_WINDOW:
        return left + plan->window.n_calls;
    case ALM_P_WINDOW_JOIN:
        return left + plan->winjoin.n_aggs;
    case ALM_P_JOIN:
        return plan->join.kind == 'S' || plan->join.kind == 'A' ? left
                                                                : left + plan->child[1]->n_cols;
    case ALM_P_FILTER:
    case ALM_P_SORT:
    case ALM_P_LIMIT:
    case ALM_P_LATEST:
    case ALM_P_SETOP:
    case ALM_P_RECURSE:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
        return left;
    case ALM_P_VALUES:
    case ALM_P_PROJECT:
    case ALM_P_SHARED:
    case ALM_P_WORKING:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    return plan->n_cols;
}

static bool passes_on(alm_plan_op op)
{
    return op == ALM_P_FILTER || op == ALM_P_SORT || op == ALM_P_LIMIT || op == ALM_P_LATEST ||
           op == ALM_P_MATERIALISE || op == ALM_P_BARRIER || op == ALM_P_SETOP ||
           op == ALM_P_RECURSE;
}

static alm_status check_shape(checking *c)
{
    const alm_plan *plan = c->node;
    if (plan->n_children != children_of(plan->op))
        return wrong(c, "number of children");
    if (plan->n_cols != width_of(plan))
        return wrong(c, "number of columns");
    for (uint32_t k = 0; passes_on(plan->op) && k < plan->n_children; k++) {
        if (plan->child[k]->n_cols != plan->n_cols)
            return wrong(c, "number of columns of a child");
        const bool compared = k > 0 && plan->op == ALM_P_SETOP && /* rows of it are not given */
                              plan->setop.kind != ALM_SETOP_UNION_ALL;
        for (uint32_t i = 0; i < plan->n_cols; i++)
            if (!fits(plan->cols[i].type, plan->child[k]->cols[i].type, compared))
                return wrong(c, "type of a column that is passed on");
    }
    if (plan->ts_col >= 0 && !is_time(plan, (uint32_t)plan->ts_col))
        return wrong(c, "the designated timestamp is none");
    return ALM_OK;
}

/* ------------------------------------------------------------------------ nodes */

static alm_status check_scan(checking *c)
{
    const alm_plan *plan = c->node;
    const alm_table *table = plan->scan.table;
    alm_plan_col *cols = NULL;
    if (plan->scan.n_filters > 0)
        ALM_TRY(ALM_NEWN(c->p->cx, c->p->cx->arena, plan->scan.n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->scan.n_cols; i++) {
        const uint32_t at = plan->scan.cols[i];
        if (at != ALM_SCAN_ROW && at >= table->n_cols)
            return wrong(c, "a column that the table has not");
        if (cols != NULL)
            cols[i].type = at == ALM_SCAN_ROW ? ALM_TY(LONG) : table->cols[at].type;
    }
    c->left = cols;
    c->n_left = plan->scan.n_cols;
    c->n_right = 0;
    return check_each(c, plan->scan.filter, plan->scan.n_filters);
}

static alm_status check_values(checking *c)
{
    const alm_plan *plan = c->node;
    reads(c, NULL, NULL);
    for (uint32_t r = 0; plan->values.rows != NULL && r < plan->values.n_rows; r++)
        ALM_TRY(check_each(c, plan->values.rows[r], plan->n_cols));
    return ALM_OK;
}

/* Constants, which copies of the node share. */
static alm_status check_source(checking *c)
{
    reads(c, NULL, NULL);
    const alm_plan *plan = c->node;
    alm_plan_col *cols = NULL;
    for (uint32_t i = 0; i < plan->source.n_args; i++)
        ALM_TRY(check_read(c, plan->source.args[i]));
    if (plan->source.n_filters == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(c->p->cx, c->p->cx->arena, plan->source.n_cols + 1, &cols));
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        if (plan->source.cols[i] >= plan->source.n_all)
            return wrong(c, "a column that the source has not");
        cols[i].type = plan->source.all[plan->source.cols[i]].type;
    }
    c->left = cols;
    c->n_left = plan->source.n_cols;
    c->n_right = 0;
    return check_each(c, plan->source.filter, plan->source.n_filters);
}

static alm_status check_join(checking *c)
{
    const alm_plan *plan = c->node, *left = plan->child[0], *right = plan->child[1];
    const uint8_t kind = plan->join.kind;
    ALM_TRY(check_pairs(c, plan->join.left_keys, plan->join.right_keys, plan->join.n_keys));
    ALM_TRY(check_each(c, plan->join.residual, plan->join.n_residual));
    if (kind != ALM_JOIN_ASOF && kind != ALM_JOIN_LT && kind != ALM_JOIN_SPLICE)
        return ALM_OK;
    if (!is_time(left, plan->join.left_ts) || !is_time(right, plan->join.right_ts) ||
        (plan->join.has_lane && !is_column(left, plan->join.lane_col)))
        return wrong(c, "times of a join");
    return ALM_OK;
}

static alm_status check_window_join(checking *c)
{
    const alm_plan *plan = c->node, *left = plan->child[0];
    ALM_TRY(
        check_pairs(c, plan->winjoin.left_keys, plan->winjoin.right_keys, plan->winjoin.n_keys));
    ALM_TRY(alm_aggs_exprs(plan->winjoin.aggs, plan->winjoin.n_aggs, check_expr, c));
    if (!is_time(left, plan->winjoin.left_ts) || !is_time(plan->child[1], plan->winjoin.right_ts) ||
        (plan->winjoin.lo_col >= 0 && !is_column(left, (uint32_t)plan->winjoin.lo_col)) ||
        (plan->winjoin.hi_col >= 0 && !is_column(left, (uint32_t)plan->winjoin.hi_col)))
        return wrong(c, "times of a join");
    return ALM_OK;
}

static alm_status check_shared(checking *c)
{
    const alm_plan *plan = c->node, *of = plan->shared.of;
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (!is_column(of, plan->shared.cols[i]) ||
            !same_type(plan->cols[i].type, of->cols[plan->shared.cols[i]].type))
            return wrong(c, "a column that the shared rows have not");
    return ALM_OK;
}

/* Which column of its child a node with one goes by, or NULL. */
static const uint32_t *time_of(const alm_plan *plan)
{
    return plan->op == ALM_P_SAMPLE    ? &plan->sample.ts_col
           : plan->op == ALM_P_LATEST  ? &plan->latest.ts_col
           : plan->op == ALM_P_HORIZON ? &plan->horizon.ts_col
                                       : NULL;
}

static alm_status check_own(checking *c)
{
    alm_plan *plan = c->node;
    switch (plan->op) {
    case ALM_P_SCAN:
        return check_scan(c);
    case ALM_P_VALUES:
        return check_values(c);
    case ALM_P_SOURCE:
        return check_source(c);
    case ALM_P_JOIN:
        return check_join(c);
    case ALM_P_WINDOW_JOIN:
        return check_window_join(c);
    case ALM_P_SHARED:
        return check_shared(c);
    case ALM_P_WORKING:
        return plan->working.of->n_cols == plan->n_cols ? ALM_OK : wrong(c, "number of columns");
    case ALM_P_PROJECT:
        for (uint32_t i = 0; i < plan->n_cols; i++)
            if (!same_type(plan->cols[i].type, plan->project.expr[i]->type))
                return wrong(c, "type of a result");
        break;
    case ALM_P_FILTER:
    case ALM_P_GROUP:
    case ALM_P_SAMPLE:
    case ALM_P_SORT:
    case ALM_P_LIMIT:
    case ALM_P_LATEST:
    case ALM_P_SETOP:
    case ALM_P_WINDOW:
    case ALM_P_HORIZON:
    case ALM_P_MATERIALISE:
    case ALM_P_BARRIER:
    case ALM_P_RECURSE:
    case ALM_PLAN_OP_COUNT:
        break;
    }
    const uint32_t *time = time_of(plan);
    if (time != NULL && !is_time(plan->child[0], *time))
        return wrong(c, "the time it goes by");
    if (plan->n_children > 0)
        reads(c, plan->child[0], NULL);
    return alm_plan_exprs(plan, check_expr, c);
}

static alm_status check_tree(checking *c, alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(check_tree(c, plan->child[i]));
    c->node = plan;
    ALM_TRY(check_shape(c));
    ALM_TRY(check_own(c));
    return own(c, plan);
}

/* --------------------------------------------------------------------- the whole */

static int compare_places(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const place *)a)->at, y = (uintptr_t)((const place *)b)->at;
    return (x > y) - (x < y);
}

static alm_status check_owners(checking *c)
{
    if (c->n_owned > 0)
        qsort(c->owned, c->n_owned, sizeof *c->owned, compare_places);
    for (uint32_t i = 1; i < c->n_owned; i++) {
        c->node = c->owned[i].node;
        if (c->owned[i].at == c->owned[i - 1].at)
            return wrong(c, c->node == c->owned[i - 1].node ? "a node has two parents"
                                                            : "two nodes have one list");
    }
    return ALM_OK;
}

alm_status alm_plan_check(alm_planner *p, alm_plan *plan, const char *when, bool owners)
{
    checking c = {.p = p, .when = when, .owners = owners};
    for (uint32_t k = 0; k < p->n_kept; k++)
        if (p->kept[k]->materialise.refs > 0)
            ALM_TRY(check_tree(&c, p->kept[k]));
    ALM_TRY(check_tree(&c, plan));
    return check_owners(&c);
}
