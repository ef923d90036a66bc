/*
 * protocol.c - DECLARE, FETCH, MOVE, PREPARE and EXECUTE: the protocol keeps what they name, so only a connection of the PostgreSQL
 * protocol runs them. Here their rights and places are checked and their values computed.
 */
#include "session/statement/statement.h"

/* A cursor stands between statements: only a connection that says where can have one. */
static alm_status needs_connection(alm_cursor *cursor, const alm_stmt *stmt)
{
    if (cursor->session->streams)
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, stmt->pos,
                    "%.*s needs a connection by the PostgreSQL protocol", (int)stmt->text.len,
                    stmt->text.ptr);
}

alm_status alm_run_declare(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    const alm_cursor_words *words = stmt->ext;
    ALM_TRY(needs_connection(cursor, stmt));
    if (!words->hold && !alm_in_transaction(cursor->session))
        return alm_fail(&cursor->cx, ALM_E_NO_BLOCK, stmt->pos,
                        "DECLARE CURSOR can only be used in transaction blocks, or WITH HOLD");
    cursor->tag = "SELECT"; /* of the rows; DECLARE itself has none */
    return alm_run_select(cursor, stmt->select, params, n);
}

/* The rows are those of the cursor, which the protocol has. */
alm_status alm_run_fetch(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    const alm_cursor_words *words = stmt->ext;
    (void)params;
    (void)n;
    if (words->move)
        cursor->tag = "MOVE";
    return needs_connection(cursor, stmt);
}

/* What is prepared stays with the protocol, by its name. */
alm_status alm_run_prepare(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    return needs_connection(cursor, stmt);
}

/* The row of its values; what they are for is run by the protocol. */
alm_status alm_run_execute(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    ALM_TRY(needs_connection(cursor, stmt));
    return stmt->select != NULL ? alm_run_select(cursor, stmt->select, params, n) : ALM_OK;
}

/* DECLARE, EXECUTE: the query, or that of the values. */
alm_status alm_check_values(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                            alm_checked *out)
{
    (void)out;
    alm_plan *unused = NULL;
    return stmt->select != NULL ? alm_plan_select(&cursor->cx, env, stmt->select, &unused) : ALM_OK;
}
