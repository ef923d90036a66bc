/*
 * check.c - checks a statement without running it: names, types, permissions, by its row of sql/parse/statement.def.
 */
#include "session/statement/statement.h"

alm_status alm_stmt_check(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_checked *out)
{
    *out = (alm_checked){0};
    return c->session->db->kinds[stmt->kind].check(c, env, stmt, out);
}

alm_status alm_check_nothing(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                             alm_checked *out)
{
    (void)c;
    (void)env;
    (void)stmt;
    (void)out;
    return ALM_OK;
}

/* EXPLAIN, PREPARE: what they are of. */
alm_status alm_check_inner(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    if (stmt->inner->kind == ALM_STMT_EXPLAIN)
        return ALM_OK;
    ALM_TRY(alm_stmt_check(c, env, stmt->inner, out));
    out->plan = NULL;
    return ALM_OK;
}

alm_status alm_check_other(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    (void)env;
    (void)out;
    return alm_run_other(c, stmt, NULL, 0);
}

alm_status alm_run_empty(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)c;
    (void)stmt;
    (void)params;
    (void)n;
    return ALM_OK;
}

alm_status alm_run_other(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos, "%.*s is not supported",
                    (int)stmt->text.len, stmt->text.ptr);
}
