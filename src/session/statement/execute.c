/*
 * execute.c - one execution: what may run now, its parameters and snapshot, and its runner from the table of kinds.
 *
 * A statement that returns rows is planned and opened here and pulled by alm_cursor_next (fetch.c). One that
 * does not (INSERT, UPDATE, DDL, SET ...) has run when alm_execute returns.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/look.h"
#include "session/access/access.h"
#include "session/access/standing.h"
#include "session/statement/statement.h"

static alm_status check_state(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    const alm_stmt_info *info = alm_stmt_info_of(stmt->kind);
    const bool writes = (info->does & ALM_S_WRITES) != 0, reads = (info->does & ALM_S_READS) != 0;
    ALM_TRY(alm_session_goes_on(&cursor->cx, session));
    if (writes || !reads || (info->does & ALM_S_EXPORTS) != 0)
        ALM_TRY(alm_session_may_act(&cursor->cx, session, stmt->pos));
    if (writes)
        ALM_TRY(alm_session_may_write(&cursor->cx, session, stmt->pos));
    if (session->tx_state == ALM_TX_FAILED && (info->does & ALM_S_FAILED_BLOCK) == 0)
        return alm_fail(&cursor->cx, ALM_E_ABORTED, stmt->pos,
                        "current transaction is aborted, commands ignored until end of "
                        "transaction block");
    if (writes && alm_session_refuses_writes(session))
        return alm_fail(&cursor->cx, ALM_E_READONLY, stmt->pos,
                        "cannot execute %s in a read-only transaction", info->tag);
    session->tx_looked |= writes || reads;
    return ALM_OK;
}

static alm_status take_params(alm_ctx *cx, const alm_stmt *stmt, const alm_vec *values,
                              uint32_t n_values, alm_param **out)
{
    alm_param *params = NULL;
    if (n_values < stmt->n_params)
        return alm_fail(cx, ALM_E_PARAM, stmt->pos,
                        "the statement has %u parameters, %u values were given", stmt->n_params,
                        n_values);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_values + 1, &params));
    for (uint32_t i = 0; i < n_values; i++) {
        static const uint32_t first = 0;
        alm_vec *copy = NULL;
        ALM_TRY(ALM_NEW(cx, cx->arena, &copy));
        ALM_TRY(alm_vec_gather(cx, cx->arena, &values[i], &first, 1, copy));
        copy->is_const = true;
        if (alm_type_is_text(copy->type)) { /* long texts point into the caller's memory: copy */
            alm_view *view = copy->data;
            const alm_str text = alm_vec_text(copy, 0);
            alm_str kept;
            if (text.ptr != NULL) {
                ALM_TRY(alm_arena_copy(cx, cx->arena, text, &kept));
                *view = alm_view_of(kept);
            }
        }
        params[i] = (alm_param){.type = values[i].type, .value = copy};
    }
    *out = params;
    return ALM_OK;
}

/* In a block that has written: with what it wrote. VALUES read no rows, and a block may insert many. */
static alm_status execute_look(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_session *session = cursor->session;
    const bool values = stmt->kind == ALM_STMT_INSERT && stmt->select == NULL;
    alm_cursor_ages(cursor);
    if (session->txn != NULL && alm_stmt_does_any(stmt->kind, ALM_S_READS) && !values) {
        const int64_t bytes = alm_txn_snapshot_bytes(session->txn);
        ALM_ASSERT(cursor->snapshot_bytes == 0);
        ALM_TRY(alm_mem_charge(&cursor->cx, &cursor->mem, bytes, "transaction"));
        cursor->snapshot_bytes = bytes;
        return alm_txn_snapshot(&cursor->cx, session->txn, &cursor->snapshot);
    }
    return alm_snapshot_acquire(&cursor->cx, session->db->storage, &cursor->snapshot);
}

/* Of an administrator: what frees space, or keeps who took it from going on. */
static bool ends_a_full_disk(const alm_stmt *stmt)
{
    const alm_alter *alter = stmt->kind == ALM_STMT_ALTER_TABLE ? stmt->ext : NULL;
    return alm_stmt_does_any(stmt->kind, ALM_S_FREES) ||
           (alter != NULL &&
            (alter->kind == ALM_ALTER_DROP_PARTITION || alter->kind == ALM_ALTER_DROP_COLUMN));
}

static alm_status execute_run(alm_cursor *cursor, const alm_stmt *stmt, const alm_vec *values,
                              uint32_t n_rows)
{
    alm_param *params = NULL;
    ALM_TRY(check_state(cursor, stmt));
    ALM_TRY(take_params(&cursor->cx, stmt, values, n_rows, &params));
    ALM_TRY(execute_look(cursor, stmt));
    ALM_TRY(alm_cursor_access(cursor));
    cursor->cx.frees = (cursor->rights == NULL || cursor->rights->all) && ends_a_full_disk(stmt);
    const bool to_file = cursor->session->copies || cursor->session->exports;
    if (alm_stmt_does_any(stmt->kind, ALM_S_WRITES | ALM_S_EXPORTS) || to_file)
        (void)alm_rewrite_begin(&cursor->cx, cursor->session->db->storage);
    ALM_TRY(cursor->session->db->kinds[stmt->kind].run(cursor, stmt, params, n_rows));
    /* A change by itself was looked at before it was logged. */
    if (cursor->cx.rewrite != 0 &&
        (cursor->session->txn != NULL || !alm_stmt_does_any(stmt->kind, ALM_S_WRITES)))
        ALM_TRY(alm_cursor_check_maps(cursor));
    const struct alm_conf *conf = cursor->session->db->conf;
    if (conf != NULL && (conf->audit_ddl || conf->audit_export))
        alm_audit_statement(cursor, stmt);
    return alm_views_settle(cursor, stmt->kind);
}

/* For /metrics. Statements that the server makes itself (refreshes ...) are not executed here. */
static void count_start(alm_cursor *cursor, alm_prepared *prepared)
{
    alm_db_counters *counters = &cursor->session->db->counters;
    const uint8_t by = cursor->session->by;
    cursor->counted = true;
    if (prepared->yielded)
        return; /* it was counted when it began */
    alm_count(&counters->by[by].started, 1);
    if (prepared->stmt->kind == ALM_STMT_SELECT)
        alm_count(prepared->ran || prepared->origin != NULL ? &counters->by[by].parsed_before
                                                            : &counters->by[by].parsed,
                  1);
    prepared->ran = true;
}

/* It has rows to come: others may end it while it stands still. */
static void stands_open(alm_cursor *cursor)
{
    cursor->open_next = cursor->session->open;
    cursor->session->open = cursor;
    cursor->is_open = true;
}

alm_status alm_execute(alm_session *session, alm_prepared *prepared, const alm_vec *values,
                       uint32_t n_values, alm_cursor **out)
{
    static const alm_execute_options all = {0};
    return alm_execute_with(session, prepared, values, n_values, &all, out);
}

alm_status alm_execute_with(alm_session *session, alm_prepared *prepared, const alm_vec *values,
                            uint32_t n_values, const alm_execute_options *options, alm_cursor **out)
{
    ALM_ASSERT(options->last_rows >= 0);
    alm_cursor *cursor = calloc(1, sizeof(*cursor));
    if (cursor == NULL) {
        session->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    cursor->session = session;
    cursor->prepared = prepared;
    cursor->options = *options;
    cursor->affected = -1;
    cursor->ts_col = -1;
    cursor->tag = alm_stmt_info_of(prepared->stmt->kind)->tag;
    alm_cursor_begin(cursor);
    alm_cursor_lookup(cursor);
    alm_statement_hold(cursor);
    alm_activity_begin(session, prepared->text, cursor->cx.now_ns / 1000);
    cursor->compile_ns = prepared->parse_ns;
    count_start(cursor, prepared);
    if (prepared->stmt->kind == ALM_STMT_SELECT)
        atomic_store_explicit(&cursor->yield_ns, session->brief_ns, memory_order_relaxed);
    alm_look_begin();
    const alm_status status = execute_run(cursor, prepared->stmt, values, n_values);
    alm_statement_looked(prepared->text);
    atomic_store_explicit(&cursor->yield_ns, 0, memory_order_relaxed);
    cursor->execute_ns =
        alm_monotonic_ns() - cursor->cx.started_ns - (cursor->compile_ns - prepared->parse_ns);
    prepared->yielded = status == ALM_E_YIELD;
    if (prepared->yielded) {
        cursor->counted = false;
        alm_cursor_close(cursor);
        return status;
    }
    if (status != ALM_OK) {
        const alm_status code = alm_session_failed(session, &cursor->cx);
        cursor->failed = true;
        alm_cursor_close(cursor);
        return code;
    }
    if (!cursor->has_rows && cursor->copy_in == NULL)
        alm_cursor_ended(cursor);
    else
        stands_open(cursor);
    const alm_status skipped = alm_cursor_skip_to_last(cursor);
    if (skipped != ALM_OK)
        alm_cursor_close(cursor);
    else
        *out = cursor;
    return skipped;
}
