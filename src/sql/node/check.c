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

#include "sql/node/check.h"
#include "sql/node/walk.h"

struct alm_checked_place { /* of a node, or of an expression in a list of one */
    const void *at;
    alm_plan *node;
};

alm_status alm_check_wrong(const alm_checking *checking, const char *what)
{
    return alm_fail(checking->p->cx, ALM_E_INTERNAL, checking->node->pos,
                    "the plan does not fit together after %s: %s: %s", checking->when,
                    alm_plan_op_name(checking->node->op), what);
}

/* ------------------------------------------------------------------ expressions */

/* Untyped nulls get their type by a rule. */
bool alm_check_same_type(alm_type a, alm_type b)
{
    return alm_type_eq(a, b) || a.id == ALM_T_NULL || b.id == ALM_T_NULL;
}

/* Texts of several types may be compared. */
bool alm_check_fits(alm_type a, alm_type b, bool compared)
{
    return alm_check_same_type(a, b) || (compared && alm_type_is_text(a) && alm_type_is_text(b));
}

static bool check_col(void *arg, const alm_expr *col)
{
    alm_checking *checking = arg;
    const uint32_t marks = ALM_COL_AGG | ALM_COL_WIN | ALM_COL_OUTER | ALM_COL_DEP;
    if ((col->col & marks) != 0)
        checking->wrong = "a column of another query or stage is left";
    else if (col->col >= checking->n_left + checking->n_right)
        checking->wrong = "a column that the input has not";
    else if (!alm_check_same_type(col->type,
                                  col->col < checking->n_left
                                      ? checking->left[col->col].type
                                      : checking->right[col->col - checking->n_left].type))
        checking->wrong = "a column of another type";
    return checking->wrong == NULL;
}

static alm_status node_check_own(alm_checking *checking, const void *ptr)
{
    if (!checking->owners)
        return ALM_OK;
    ALM_TRY(alm_grow(checking->p->cx, &checking->owned, checking->n_owned, &checking->cap_owned,
                     sizeof *checking->owned));
    checking->owned[checking->n_owned++] = (alm_checked_place){ptr, checking->node};
    return ALM_OK;
}

alm_status alm_check_read(alm_checking *checking, const alm_expr *expr)
{
    if (expr == NULL)
        return alm_check_wrong(checking, "an expression is missing");
    ALM_TRY(alm_steps_add(checking->p->cx, 1 + (int64_t)expr->size));
    (void)alm_expr_each_col(expr, check_col, checking);
    return checking->wrong == NULL ? ALM_OK : alm_check_wrong(checking, checking->wrong);
}

alm_status alm_check_expr(void *checking, alm_expr **expr)
{
    ALM_TRY(alm_check_read(checking, *expr));
    return node_check_own(checking, expr);
}

void alm_check_over(alm_checking *checking, const alm_plan *left, const alm_plan *right)
{
    checking->left = left != NULL ? left->cols : NULL;
    checking->n_left = left != NULL ? left->n_cols : 0;
    checking->right = right != NULL ? right->cols : NULL;
    checking->n_right = right != NULL ? right->n_cols : 0;
}

void alm_check_over_cols(alm_checking *checking, const alm_plan_col *cols, uint32_t n)
{
    checking->left = cols;
    checking->n_left = n;
    checking->n_right = 0;
}

alm_status alm_check_each(alm_checking *checking, alm_expr **list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(alm_check_expr(checking, &list[i]));
    return ALM_OK;
}

alm_status alm_check_exprs(alm_checking *checking)
{
    if (checking->node->n_children > 0)
        alm_check_over(checking, checking->node->child[0], NULL);
    return alm_plan_exprs(checking->node, alm_check_expr, checking);
}

alm_status alm_check_pairs(alm_checking *checking, alm_expr **left_keys, alm_expr **right_keys,
                           uint32_t n_right_keys)
{
    const alm_plan *left = checking->node->child[0], *right = checking->node->child[1];
    alm_check_over(checking, left, NULL);
    ALM_TRY(alm_check_each(checking, left_keys, n_right_keys));
    alm_check_over(checking, right, NULL);
    ALM_TRY(alm_check_each(checking, right_keys, n_right_keys));
    for (uint32_t i = 0; i < n_right_keys; i++) {
        if (!alm_check_fits(left_keys[i]->type, right_keys[i]->type, true))
            return alm_check_wrong(checking, "keys of a join have different types");
    }
    alm_check_over(checking, left, right);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- columns */

bool alm_check_is_column(const alm_plan *plan, uint32_t col)
{
    return col < plan->n_cols;
}

bool alm_check_is_time(const alm_plan *plan, uint32_t col)
{
    return alm_check_is_column(plan, col) && alm_type_is_timestamp(plan->cols[col].type);
}

alm_status alm_check_time(alm_checking *checking, uint32_t time)
{
    if (!alm_check_is_time(checking->node->child[0], time))
        return alm_check_wrong(checking, "the time it goes by");
    return alm_check_exprs(checking);
}

/* How many columns a node of its kind gives, over the children it has. */
static uint32_t node_check_width_of(const alm_plan *plan)
{
    const alm_node_ops *ops = alm_node_ops_of(plan->op);
    if (ops->width != NULL)
        return ops->width(plan);
    return (ops->flags & ALM_NODE_SAME_COLUMNS) != 0 ? plan->child[0]->n_cols : plan->n_cols;
}

static alm_status check_shape(alm_checking *checking)
{
    const alm_plan *plan = checking->node;
    const bool passes = alm_node_is(plan, ALM_NODE_SAME_COLUMNS);
    if (plan->n_children != alm_node_ops_of(plan->op)->n_children)
        return alm_check_wrong(checking, "number of children");
    if (plan->n_cols != node_check_width_of(plan))
        return alm_check_wrong(checking, "number of columns");
    for (uint32_t k = 0; passes && k < plan->n_children; k++)
        if (plan->child[k]->n_cols != plan->n_cols)
            return alm_check_wrong(checking, "number of columns of a child");
    for (uint32_t i = 0; passes && i < plan->n_cols; i++)
        if (!alm_check_fits(plan->cols[i].type, plan->child[0]->cols[i].type, false))
            return alm_check_wrong(checking, "type of a column that is passed on");
    if (plan->ts_col >= 0 && !alm_check_is_time(plan, (uint32_t)plan->ts_col))
        return alm_check_wrong(checking, "the designated timestamp is none");
    return ALM_OK;
}

static alm_status check_own(alm_checking *checking)
{
    const alm_node_ops *ops = alm_node_ops_of(checking->node->op);
    return ops->check != NULL ? ops->check(checking) : alm_check_exprs(checking);
}

static alm_status check_tree(alm_checking *checking, alm_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(check_tree(checking, plan->child[i]));
    checking->node = plan;
    ALM_TRY(check_shape(checking));
    ALM_TRY(check_own(checking));
    return node_check_own(checking, plan);
}

/* --------------------------------------------------------------------- the whole */

static int compare_places(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const alm_checked_place *)a)->at,
                    y = (uintptr_t)((const alm_checked_place *)b)->at;
    return (x > y) - (x < y);
}

static alm_status check_owners(alm_checking *checking)
{
    if (checking->n_owned > 0)
        qsort(checking->owned, checking->n_owned, sizeof *checking->owned, compare_places);
    for (uint32_t i = 1; i < checking->n_owned; i++) {
        checking->node = checking->owned[i].node;
        if (checking->owned[i].at == checking->owned[i - 1].at)
            return alm_check_wrong(checking, checking->node == checking->owned[i - 1].node
                                                 ? "a node has two parents"
                                                 : "two nodes have one list");
    }
    return ALM_OK;
}

alm_status alm_plan_check(alm_planner *planner, alm_plan *plan, const char *when, bool owners)
{
    alm_checking checking = {.p = planner, .when = when, .owners = owners};
    for (uint32_t kept = 0; kept < planner->n_kept; kept++)
        if (planner->kept[kept]->materialise.refs > 0)
            ALM_TRY(check_tree(&checking, planner->kept[kept]));
    ALM_TRY(check_tree(&checking, plan));
    return check_owners(&checking);
}
