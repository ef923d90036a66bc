/* copy.c - WHERE of COPY FROM: a condition over the rows that come, before they are a table's. */
#include "sql/bind/bind.h"

/* What stands for the rows: the columns of the table. Symbols come as texts. */
static alm_status rows_to_come(alm_planner *planner, const alm_stmt *stmt, const alm_table *table,
                               alm_plan **out)
{
    alm_plan *node = NULL;
    ALM_TRY(alm_plan_new(planner, ALM_P_VALUES, stmt->table_pos, NULL, &node));
    ALM_TRY(ALM_NEWN(planner->cx, planner->cx->arena, table->n_cols, &node->cols));
    for (uint32_t i = 0; i < table->n_cols; i++) {
        const alm_type type = table->cols[i].type;
        node->cols[i] =
            (alm_plan_col){table->cols[i].name, type.id == ALM_T_SYMBOL ? ALM_TY(VARCHAR) : type};
    }
    node->n_cols = table->n_cols;
    node->ts_col = -1;
    *out = node;
    return ALM_OK;
}

alm_status alm_plan_copy_where(alm_ctx *cx, const alm_plan_env *env, const alm_stmt *stmt,
                               const alm_table *table, const alm_expr *const **conjuncts,
                               uint32_t *n)
{
    const alm_copy *copy = stmt->ext;
    alm_planner planner = {.cx = cx, .env = env};
    alm_select none = {.pos = stmt->pos};
    alm_scope scope = {.p = &planner, .sel = &none};
    alm_plan *rows = NULL;
    ALM_TRY(rows_to_come(&planner, stmt, table, &rows));
    scope.plan = rows;
    ALM_TRY(alm_scope_add(&scope, stmt->table, NULL, rows, 0));
    ALM_TRY(alm_bind_where(&scope, copy->where));
    *n = 0;
    if (scope.plan == rows)
        return ALM_OK; /* it always holds */
    if (scope.plan->op != ALM_P_FILTER || scope.plan->child[0] != rows)
        return alm_fail(cx, ALM_E_UNSUPPORTED, copy->where->pos,
                        "WHERE of COPY cannot have a subquery");
    *conjuncts = (const alm_expr *const *)scope.plan->filter.conjunct;
    *n = scope.plan->filter.n;
    return ALM_OK;
}
