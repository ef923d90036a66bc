/* plan_select.c - a query to its plan: binding, optimising. */
#include "sql/bind/bind.h"
#include "sql/node/ops.h"
#include "sql/opt/opt.h"

/* A parameter nobody gave a type is a text; one that stands nowhere has no type. */
static void settle_params(const alm_plan_env *env)
{
    for (uint32_t i = 0; i < env->n_params; i++)
        if (env->params[i].value == NULL && env->params[i].type.id == ALM_T_NONE &&
            env->params[i].pos != 0)
            env->params[i].type = ALM_TY(STRING);
}

/* Functions of pg_type leave the query by their names, as regproc does in PostgreSQL. */
static alm_status name_functions(alm_planner *planner, alm_plan **plan)
{
    alm_plan *child = *plan;
    alm_expr **exprs = NULL;
    const char **names = NULL;
    bool any = false;
    for (uint32_t i = 0; i < child->n_cols; i++)
        any |= alm_type_is_regproc(child->cols[i].type);
    if (!any)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols, &exprs));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, child->n_cols, &names));
    for (uint32_t i = 0; i < child->n_cols; i++) {
        names[i] = child->cols[i].name;
        ALM_TRY(alm_expr_col(planner->cx, i, child->cols[i].type, child->pos, &exprs[i]));
        if (alm_type_is_regproc(child->cols[i].type))
            ALM_TRY(alm_expr_call(planner, "regprocout", child->pos, &exprs[i], 1, &exprs[i]));
    }
    return alm_plan_project(planner, child, exprs, names, child->n_cols, plan);
}

/* Column `col` of a bound plan, down to the column of a table or view that it is, if it is one. */
static void find_table_col(alm_plan *plan, uint32_t col, alm_plan_col *out)
{
    alm_node_groups groups;
    for (;;) {
        if (plan->view != NULL) {
            out->table_id = plan->view->id;
            out->table_col = col + 1;
            return;
        }
        const alm_expr *expr = NULL;
        alm_plan *from = plan->n_children > 0 ? plan->child[0] : NULL;
        switch ((int)plan->op) {
        case ALM_P_SCAN:
            if (plan->scan.cols[col] == ALM_SCAN_ROW)
                return;
            out->table_id = plan->scan.table->id;
            out->table_col = plan->scan.cols[col] + 1;
            return;
        case ALM_P_MATERIALISE:
        case ALM_P_BARRIER:
            break;
        case ALM_P_SHARED:
            from = plan->shared.of;
            col = plan->shared.cols[col];
            break;
        case ALM_P_PROJECT:
            expr = plan->project.expr[col];
            break;
        case ALM_P_JOIN:
            if (col >= from->n_cols) {
                col -= from->n_cols;
                from = plan->child[1];
            }
            break;
        default:
            if (alm_node_is(plan, ALM_NODE_SAME_ROWS))
                break;
            if (alm_node_is(plan, ALM_NODE_LEFT_FIRST) && col < from->n_cols)
                break; /* what it adds is computed */
            if (!alm_node_groups_of(plan, &groups) || col < groups.first ||
                col >= groups.first + groups.n_keys)
                return;
            expr = groups.keys[col - groups.first];
            break;
        }
        if (expr != NULL && expr->kind != ALM_X_COL)
            return;
        col = expr != NULL ? expr->col : col;
        plan = from;
    }
}

static alm_status find_table_cols(alm_ctx *cx, alm_plan *plan, alm_plan_col **out)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, plan->n_cols + 1, out));
    for (uint32_t i = 0; i < plan->n_cols; i++)
        find_table_col(plan, i, &(*out)[i]);
    return ALM_OK;
}

alm_status alm_plan_select(alm_ctx *cx, const alm_plan_env *env, alm_select *sel, alm_plan **out)
{
    alm_planner planner = {.cx = cx, .env = env, .view = env->as_view};
    alm_plan *plan = NULL;
    alm_plan_col *found = NULL;
    ALM_TRY(alm_bind_query(&planner, NULL, sel, &plan));
    ALM_TRY(name_functions(&planner, &plan));
    if (env->last_rows > 0)
        ALM_TRY(alm_plan_limit(&planner, &plan, -env->last_rows, INT64_MAX));
    settle_params(env);
    ALM_TRY(find_table_cols(cx, plan, &found));
    ALM_TRY(alm_optimise(&planner, &plan));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        plan->cols[i].table_id = found[i].table_id;
        plan->cols[i].table_col = found[i].table_col;
    }
    plan->waits = cx->waits;
    plan->effects = cx->effects;
    *out = plan;
    return env->as_template ? alm_template_finish(&planner, plan) : ALM_OK;
}
