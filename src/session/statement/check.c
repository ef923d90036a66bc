/*
 * check.c - checks a statement without running it: names, types, permissions, by its row of sql/parse/statement.def.
 */
#include "session/statement/statement.h"

alm_status alm_stmt_check(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                          alm_checked *out)
{
    *out = (alm_checked){0};
    return cursor->session->db->kinds[stmt->kind].check(cursor, env, stmt, out);
}

alm_status alm_check_nothing(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                             alm_checked *out)
{
    (void)cursor;
    (void)env;
    (void)stmt;
    (void)out;
    return ALM_OK;
}

/* EXPLAIN, PREPARE: what they are of. */
alm_status alm_check_inner(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    if (stmt->inner->kind == ALM_STMT_EXPLAIN)
        return ALM_OK;
    ALM_TRY(alm_stmt_check(cursor, env, stmt->inner, out));
    out->plan = NULL;
    return ALM_OK;
}

alm_status alm_check_other(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                           alm_checked *out)
{
    (void)env;
    (void)out;
    return alm_run_other(cursor, stmt, NULL, 0);
}

alm_status alm_run_empty(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)cursor;
    (void)stmt;
    (void)params;
    (void)n;
    return ALM_OK;
}

alm_status alm_run_other(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, stmt->pos, "%.*s is not supported",
                    (int)stmt->text.len, stmt->text.ptr);
}
