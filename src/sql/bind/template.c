/*
 * template.c - plans for other values of their parameters and other rows of their tables.
 *
 * Template    A plan made with env->as_template. Where a parameter stands beside something in a comparison, IN or
 *             BETWEEN, the test stays open: a call of one of the functions below, which the binder's own code turns
 *             into what it means once there are values. Rules that look at rows or dictionaries wait, too
 *             (opt/symbol.c, opt/interval.c).
 * Instance    A copy of the template's nodes with the tables of a snapshot, whose tests are bound with the values as
 *             they would have been, and to which the rules that use constants are applied. It shares expressions
 *             with the template.
 * Which       Every parameter stands in such a test, the tests are parts of conditions joined by AND and OR alone,
 *             and the nodes are those of OPEN_OPS: what speaks of its rows in other ways is planned each time. Then
 *             uses->once is set, and the plan is of no use.
 * Null rule   A null has rules of its own in comparisons; they are met when the test is bound.
 */
#include "sql/bind/bind.h"
#include "sql/node/copy.h"
#include "sql/node/ops.h"
#include "sql/node/walk.h"
#include "sql/opt/opt.h"

static const alm_fn TESTS[] = {
    [ALM_OPEN_COMPARE] = {.name = "open comparison", .kind = ALM_FN_SCALAR},
    [ALM_OPEN_IN_VALUE] = {.name = "open in value", .kind = ALM_FN_SCALAR},
    [ALM_OPEN_IN] = {.name = "open in", .kind = ALM_FN_SCALAR},
    [ALM_OPEN_BETWEEN] = {.name = "open between", .kind = ALM_FN_SCALAR},
};

static bool template_is_test(const alm_expr *expr)
{
    return expr->kind == ALM_X_CALL && expr->fn >= TESTS && expr->fn < TESTS + ALM_COUNT(TESTS);
}

bool alm_has_open(const alm_expr *expr)
{
    bool found = template_is_test(expr) || expr->kind == ALM_X_PARAM;
    for (uint32_t i = 0; !found && i < expr->n_args; i++)
        found = alm_has_open(expr->args[i]);
    return found;
}

bool alm_is_open(const alm_planner *planner, alm_expr *const *args, uint32_t n)
{
    for (uint32_t i = 0; planner->env->as_template && i < n; i++)
        if (args[i]->kind == ALM_X_PARAM)
            return true;
    return false;
}

alm_status alm_open_test(alm_planner *planner, alm_open_kind kind, const char *op, int32_t pos,
                         alm_expr *const *args, uint32_t n_args, alm_expr **out)
{
    alm_expr *expr = NULL;
    ALM_TRY(ALM_NEW(planner->cx, planner->cx->arena, &expr));
    *expr = (alm_expr){.kind = ALM_X_CALL,
                       .type = ALM_TY(BOOLEAN),
                       .pos = pos,
                       .fn = &TESTS[kind],
                       .data = op,
                       .n_args = n_args};
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, n_args, &expr->args));
    memcpy(expr->args, args, n_args * sizeof *args);
    for (uint32_t i = 0; i < n_args; i++)
        planner->env->uses->open -= args[i]->kind == ALM_X_PARAM;
    *out = expr;
    return alm_expr_measure(planner->cx, expr);
}

/* --------------------------------------------------------------------- templates */

/* Is every test a part of a conjunction or alternative? Parameters stand in tests alone. */
static bool is_condition(const alm_expr *expr)
{
    if (!alm_has_open(expr))
        return true;
    if (template_is_test(expr)) {
        for (uint32_t i = 0; i < expr->n_args; i++)
            if (expr->args[i]->kind != ALM_X_PARAM && alm_has_open(expr->args[i]))
                return false;
        return true;
    }
    if (!alm_expr_is_call(expr, "and") && !alm_expr_is_call(expr, "or"))
        return false;
    for (uint32_t i = 0; i < expr->n_args; i++)
        if (!is_condition(expr->args[i]))
            return false;
    return true;
}

static alm_status find_test(void *arg, alm_expr **expr)
{
    *(bool *)arg |= alm_has_open(*expr);
    return ALM_OK;
}

static bool is_conditional(const alm_plan *plan)
{
    return plan->op == ALM_P_SCAN || plan->op == ALM_P_FILTER;
}

static void conditions_of(alm_plan *plan, alm_expr ****list, uint32_t **n)
{
    const bool scan = plan->op == ALM_P_SCAN;
    *list = scan ? &plan->scan.filter : &plan->filter.conjunct;
    *n = scan ? &plan->scan.n_filters : &plan->filter.n;
}

static bool is_complete(alm_plan *plan)
{
    bool found = false;
    if (!alm_node_is(plan, ALM_NODE_OPEN) || (plan->op == ALM_P_SCAN && alm_plan_updates(plan)))
        return false;
    if (is_conditional(plan)) {
        alm_expr ***list = NULL;
        uint32_t *n = NULL;
        conditions_of(plan, &list, &n);
        for (uint32_t i = 0; i < *n; i++)
            if (!is_condition((*list)[i]))
                return false;
    } else if (alm_plan_exprs(plan, find_test, &found) != ALM_OK || found) {
        return false;
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        if (!is_complete(plan->child[i]))
            return false;
    return true;
}

static alm_status template_keep_names(alm_ctx *cx, alm_plan_col **cols, uint32_t n_kepts)
{
    alm_plan_col *kept = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_kepts + 1, &kept));
    for (uint32_t i = 0; i < n_kepts; i++) {
        kept[i] = (*cols)[i];
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of((*cols)[i].name), &kept[i].name));
    }
    *cols = kept;
    return ALM_OK;
}

/* Nothing of the snapshot is left in the nodes but what a table is found by. */
static alm_status detach(alm_ctx *cx, alm_plan *plan)
{
    alm_table *named = NULL;
    ALM_TRY(template_keep_names(cx, &plan->cols, plan->n_cols));
    plan->view = NULL;
    if (plan->op == ALM_P_SCAN) {
        ALM_TRY(ALM_NEW(cx, cx->arena, &named));
        named->id = plan->scan.table->id;
        named->ts_col = -1;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(plan->scan.table->name), &named->name));
        plan->scan.table = named;
        if (plan->scan.view != NULL)
            ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(plan->scan.view), &plan->scan.view));
    }
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(detach(cx, plan->child[i]));
    return ALM_OK;
}

alm_status alm_template_finish(alm_planner *planner, alm_plan *plan)
{
    alm_plan_uses *uses = planner->env->uses;
    bool bare = true; /* every table is a table, whose rows change and nothing else */
    for (uint32_t i = 0; i < uses->n_names; i++)
        bare =
            bare && (uses->names[i].table == NULL || uses->names[i].table->kind == ALM_TABLE_BASE);
    if (uses->open != 0 || !bare || planner->n_kept > 0 || !is_complete(plan)) {
        alm_use_once(planner);
        return ALM_OK;
    }
    return uses->once ? ALM_OK : detach(planner->cx, plan);
}

/* --------------------------------------------------------------------- instances */

static alm_status bind_test(alm_planner *planner, const alm_expr *test, alm_expr **out)
{
    static const alm_select none = {0};
    alm_scope scope = {.p = planner, .sel = &none};
    alm_expr **args = NULL;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, test->n_args, &args));
    for (uint32_t i = 0; i < test->n_args; i++) {
        args[i] = test->args[i];
        if (args[i]->kind == ALM_X_PARAM) {
            ALM_TRY(alm_expr_const(planner->cx, planner->env->params[args[i]->col].value,
                                   args[i]->pos, &args[i]));
            args[i]->bound = true;
        }
    }
    switch ((alm_open_kind)(test->fn - TESTS)) {
    case ALM_OPEN_COMPARE:
        return alm_bind_compare(&scope, test->data, test->pos, args[0], args[1], out);
    case ALM_OPEN_IN_VALUE:
        return alm_bind_in_value(&scope, args[0], args[1], test->pos, out);
    case ALM_OPEN_IN:
        return alm_bind_in_values(&scope, args, test->n_args, test->pos, out);
    case ALM_OPEN_BETWEEN:
        break;
    }
    return alm_bind_within(&scope, args, test->pos, out);
}

static alm_status close_condition(alm_planner *planner, alm_expr *expr, alm_expr **out)
{
    *out = expr;
    if (template_is_test(expr))
        return bind_test(planner, expr, out);
    if (!alm_has_open(expr))
        return ALM_OK;
    alm_expr *args[2] = {NULL, NULL}; /* of AND, OR */
    ALM_TRY(close_condition(planner, expr->args[0], &args[0]));
    ALM_TRY(close_condition(planner, expr->args[1], &args[1]));
    if (alm_expr_is_call(expr, "and"))
        return alm_expr_and(planner, args[0], args[1], out);
    return alm_expr_call(planner, "or", expr->pos, args, 2, out);
}

static alm_status close_conditions(alm_planner *planner, alm_plan *plan)
{
    alm_expr ***list = NULL;
    uint32_t *n = NULL;
    alm_exprs closed = {0};
    conditions_of(plan, &list, &n);
    for (uint32_t i = 0; i < *n; i++) {
        alm_expr *expr = NULL;
        ALM_TRY(close_condition(planner, (*list)[i], &expr));
        ALM_TRY(alm_exprs_split(planner->cx, &closed, expr));
    }
    if (closed.n == 0)
        ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, 1, &closed.at));
    *list = closed.at;
    *n = closed.n;
    return ALM_OK;
}

static alm_status open_node(alm_planner *planner, alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN) {
        const alm_table *table =
            alm_snapshot_find(planner->env->snapshot, alm_str_of(plan->scan.table->name));
        ALM_ASSERT(table != NULL && table->id == plan->scan.table->id);
        plan->scan.table = table;
    }
    if (is_conditional(plan))
        ALM_TRY(close_conditions(planner, plan));
    for (uint32_t i = 0; i < plan->n_children; i++)
        ALM_TRY(open_node(planner, plan->child[i]));
    return ALM_OK;
}

alm_status alm_plan_instance(alm_ctx *cx, const alm_plan_env *env, const alm_plan *from,
                             alm_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env};
    alm_plan *plan = NULL;
    ALM_TRY(alm_plan_copy(&planner, from, &plan));
    ALM_TRY(open_node(&planner, plan));
    ALM_TRY(alm_optimise_instance(&planner, &plan));
    plan->waits = from->waits;
    plan->effects = from->effects;
    *out = plan;
    return ALM_OK;
}
