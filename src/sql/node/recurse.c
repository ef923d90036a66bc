/*
 * recurse.c - RECURSE and WORKING: a query over its own rows until no new ones come, and the rows found last.
 *
 * Outside     Over columns of the query around it, it becomes one recursion for all outer rows at once, whose rows say
 *             for which of them they are.
 *
 * Carried     What the start carries, and each outer column the step uses. The rows found last (WORKING)
 *             bring these into the step, so that it never needs the domain for them.
 * Limit       Each row of the step has to follow from a row found last: otherwise outer rows whose own
 *             recursion has ended would get more rows as long as another one goes on.
 */
#include "sql/node/check.h"
#include "sql/node/decorrelate.h"
#include "sql/node/explain.h"
#include "sql/node/ops.h"
#include "sql/node/prune.h"
#include "sql/node/range.h"
#include "sql/node/walk.h"

static alm_status recurse_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " %s%s", plan->recurse.name,
                          plan->recurse.distinct ? " new rows only" : "");
}

static alm_status recurse_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node, *step = plan->child[1];
    for (uint32_t i = 0; i < plan->n_cols; i++)
        if (!alm_check_fits(plan->cols[i].type, step->cols[i].type, false))
            return alm_check_wrong(checking, "type of a column that is passed on");
    return ALM_OK;
}

/* What nobody knows: enough not to run it on the thread of the connection. */
static const double RECURSION_ROWS = 100000;

static void recurse_estimate(alm_plan *plan, double left, double right)
{
    plan->est_rows = ALM_MAX(left + right, RECURSION_ROWS);
}

/* Start and step give the same columns: all of them. */
static alm_status recurse_prune(alm_planner *planner, alm_plan **slot, ALM_UNUSED const bool *need,
                                uint32_t **map)
{
    alm_plan *plan = *slot;
    bool *wanted = NULL;
    uint32_t *below = NULL;
    ALM_TRY(alm_prune_flags(planner, plan->n_cols, &wanted));
    memset(wanted, 1, plan->n_cols * sizeof *wanted);
    for (uint32_t side = 0; side < 2; side++) {
        ALM_TRY(alm_prune(planner, &plan->child[side], wanted, &below));
        ALM_TRY(alm_prune_exact(planner, &plan->child[side], wanted, plan->n_cols, below));
    }
    return alm_prune_identity(planner, plan->n_cols, map);
}

static alm_status recurse_range(alm_planner *planner, alm_plan *plan, const bool *used)
{
    /* the step reads itself by a WORKING, which is a leaf */
    ALM_TRY(alm_range_below(planner, plan->child[1], used));
    return alm_range_below(planner, plan->child[0], used);
}

/* ---------------------------------------------------------------------------- the step */

static bool joins_follow(const alm_plan *plan, const alm_plan *recursion);

/* Is there no row without one of those found last? */
static bool recurse_follows(const alm_plan *plan, const alm_plan *recursion)
{
    for (;; plan = plan->child[0]) {
        switch ((int)plan->op) {
        case ALM_P_WORKING:
            return plan->working.of == recursion;
        case ALM_P_JOIN:
        case ALM_P_SETOP:
            return joins_follow(plan, recursion);
        case ALM_P_SHARED:
            return recurse_follows(plan->shared.of, recursion);
        case ALM_P_GROUP:
            if (plan->group.n_keys == 0)
                return false;
            break;
        default:
            if (!alm_node_is(plan, ALM_NODE_FOLLOWS))
                return false;
            break;
        }
    }
}

static bool joins_follow(const alm_plan *plan, const alm_plan *recursion)
{
    const bool left = recurse_follows(plan->child[0], recursion);
    if (plan->op == ALM_P_SETOP) {
        const bool both = plan->setop.kind == ALM_SETOP_UNION_ALL;
        return left && (!both || recurse_follows(plan->child[1], recursion));
    }
    switch (plan->join.kind) {
    case ALM_JOIN_INNER:
    case ALM_JOIN_CROSS:
        return left || recurse_follows(plan->child[1], recursion);
    case ALM_JOIN_RIGHT:
        return recurse_follows(plan->child[1], recursion);
    case ALM_JOIN_FULL:
    case ALM_JOIN_SPLICE:
        return left && recurse_follows(plan->child[1], recursion);
    default: /* rows of the left side alone */
        return left;
    }
}

typedef struct reading { /* the rows found last, wherever the step reads them */
    const alm_dep_ctx *d;
    const alm_plan *of;
    const alm_exprs *carried;
} reading;

static alm_status mark_readers(const reading *self, alm_plan *plan, bool kept)
{
    if (plan->op == ALM_P_WORKING && plan->working.of == self->of) {
        if (kept)
            return alm_dep_too_hard(self->d, plan, "a WITH over its own rows in a WITH RECURSIVE");
        plan->working.carried = self->carried;
    }
    if (plan->op == ALM_P_SHARED)
        ALM_TRY(mark_readers(self, plan->shared.of, true));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(mark_readers(self, plan->child[i], kept));
    return ALM_OK;
}

/* What recursions around this one bring into its step. */
static alm_status gather_readers(const alm_dep_ctx *dep, const alm_plan *plan, alm_exprs *want)
{
    if (plan->op == ALM_P_WORKING && plan->working.carried != NULL)
        for (uint32_t i = 0; i < plan->working.carried->n; i++)
            ALM_TRY(alm_exprs_add(dep->p->cx, want, plan->working.carried->at[i]));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(gather_readers(dep, plan->child[i], want));
    return ALM_OK;
}

/* The start carries all that the step will use. */
static alm_status push_start(const alm_dep_ctx *dep, alm_plan *node, alm_exprs *carried)
{
    alm_exprs own = {0}, want = {0};
    alm_dep_gathering gathering = {dep->p->cx, &want, ALM_OK};
    ALM_TRY(alm_dep_push(dep, &node->child[0], &own));
    ALM_TRY(alm_plan_each_expr(node->child[1], alm_dep_gather_one, &gathering));
    ALM_TRY(gather_readers(dep, node->child[1], &want));
    for (uint32_t i = 0; i < own.n + want.n; i++) {
        alm_expr *expr = i < own.n ? own.at[i] : want.at[i - own.n];
        if (alm_dep_find_outer(carried, expr) < 0)
            ALM_TRY(alm_exprs_add(dep->p->cx, carried, expr));
    }
    return alm_dep_align(dep, &node->child[0], node->n_cols, &own, carried);
}

/* Expressions over the outer plan read what a plan carries. */
static alm_status land_outer(void *arg, alm_expr *expr, alm_expr **out)
{
    const alm_dep_landing *landing = arg;
    if (expr->kind != ALM_X_COL)
        return ALM_OK;
    const int32_t place = alm_dep_find_outer(landing->carried, expr);
    ALM_ASSERT(place >= 0);
    return alm_dep_col_of(landing->p, landing->child, landing->first + (uint32_t)place, out);
}

/* What the step carries beyond `carried` follows from it: a condition takes its place. */
static alm_status hold_step(const alm_dep_ctx *dep, alm_plan **step, uint32_t n, alm_exprs *own,
                            const alm_exprs *carried)
{
    alm_planner *planner = dep->p;
    alm_exprs tests = {0};
    ALM_TRY(alm_dep_ensure(dep, step, own, carried));
    for (uint32_t i = 0; i < own->n; i++) {
        alm_expr *args[2] = {NULL, NULL}, *same = NULL;
        alm_dep_landing landing = {planner, *step, own, n};
        if (alm_dep_find_outer(carried, own->at[i]) >= 0)
            continue;
        ALM_TRY(alm_dep_col_of(planner, *step, n + i, &args[0]));
        ALM_TRY(alm_expr_map(planner->cx, own->at[i], land_outer, &landing, &args[1]));
        ALM_TRY(alm_expr_call(planner, "=", (*step)->pos, args, 2, &same));
        ALM_TRY(alm_exprs_add(planner->cx, &tests, same));
    }
    return alm_plan_filter(planner, step, &tests);
}

/* ----------------------------------------------------------------------- the recursion */

static alm_status recurse_decorrelate(const alm_dep_ctx *dep, alm_plan **plan, alm_exprs *carried)
{
    alm_plan *node = *plan;
    const uint32_t n_cols = node->n_cols;
    alm_exprs own = {0};
    if (!recurse_follows(node->child[1], node))
        return alm_dep_too_hard(dep, node, "a WITH RECURSIVE whose step has rows of its own");
    ALM_TRY(push_start(dep, node, carried));
    ALM_TRY(alm_dep_insert_cols(dep->p, node, n_cols, node->child[0], n_cols, carried->n));
    const reading self = {dep, node, carried};
    ALM_TRY(mark_readers(&self, node->child[1], false));
    ALM_TRY(alm_dep_push(dep, &node->child[1], &own));
    ALM_TRY(hold_step(dep, &node->child[1], n_cols, &own, carried));
    return alm_dep_align(dep, &node->child[1], n_cols, &own, carried);
}

const alm_node_ops alm_node_recurse = {
    .pg_name = "Recursive Union",
    .n_children = 2,
    .flags = ALM_NODE_SAME_COLUMNS | ALM_NODE_HEAVY | ALM_NODE_MAY_LEAK,
    .check = recurse_check,
    .explain = recurse_explain,
    .estimate = recurse_estimate,
    .prune = recurse_prune,
    .decorrelate = recurse_decorrelate,
    .range = recurse_range,
};

/* ------------------------------------------------------------------------- WORKING */

static alm_status working_explain(alm_printer *printer, const alm_plan *plan)
{
    return alm_buf_printf(printer->cx, &printer->buf, " %s", plan->working.of->recurse.name);
}

static alm_status working_check(alm_checking *checking)
{
    const alm_plan *plan = checking->node;
    return plan->working.of->n_cols == plan->n_cols
               ? ALM_OK
               : alm_check_wrong(checking, "number of columns");
}

static void working_estimate(alm_plan *plan, ALM_UNUSED double left, ALM_UNUSED double right)
{
    plan->est_rows = RECURSION_ROWS;
}

static alm_status working_decorrelate(const alm_dep_ctx *dep, alm_plan **slot, alm_exprs *carried)
{
    alm_plan *plan = *slot;
    const alm_exprs *gets = plan->working.carried;
    const uint32_t n_cols = plan->n_cols;
    ALM_ASSERT(gets != NULL);
    ALM_ASSERT(plan->working.of->n_cols == n_cols + gets->n);
    ALM_TRY(alm_dep_insert_cols(dep->p, plan, n_cols, plan->working.of, n_cols, gets->n));
    for (uint32_t i = 0; i < gets->n; i++)
        ALM_TRY(alm_exprs_add(dep->p->cx, carried, gets->at[i]));
    plan->working.carried = NULL;
    return ALM_OK;
}

const alm_node_ops alm_node_working = {
    .pg_name = "WorkTable Scan",
    .flags = ALM_NODE_CHEAP,
    .check = working_check,
    .explain = working_explain,
    .estimate = working_estimate,
    .decorrelate = working_decorrelate,
};
