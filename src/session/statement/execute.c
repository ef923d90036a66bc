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

static alm_status check_state(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const alm_stmt_info *info = alm_stmt_info_of(stmt->kind);
    const bool writes = (info->does & ALM_S_WRITES) != 0, reads = (info->does & ALM_S_READS) != 0;
    ALM_TRY(alm_session_goes_on(&c->cx, s));
    if (writes || !reads || (info->does & ALM_S_EXPORTS) != 0)
        ALM_TRY(alm_session_may_act(&c->cx, s, stmt->pos));
    if (writes)
        ALM_TRY(alm_session_may_write(&c->cx, s, stmt->pos));
    if (s->tx_state == ALM_TX_FAILED && (info->does & ALM_S_FAILED_BLOCK) == 0)
        return alm_fail(&c->cx, ALM_E_ABORTED, stmt->pos,
                        "current transaction is aborted, commands ignored until end of "
                        "transaction block");
    if (writes && alm_session_refuses_writes(s))
        return alm_fail(&c->cx, ALM_E_READONLY, stmt->pos,
                        "cannot execute %s in a read-only transaction", info->tag);
    s->tx_looked |= writes || reads;
    return ALM_OK;
}

static alm_status take_params(alm_ctx *cx, const alm_stmt *stmt, const alm_vec *values, uint32_t n,
                              alm_param **out)
{
    alm_param *params = NULL;
    if (n < stmt->n_params)
        return alm_fail(cx, ALM_E_PARAM, stmt->pos,
                        "the statement has %u parameters, %u values were given", stmt->n_params, n);
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &params));
    for (uint32_t i = 0; i < n; i++) {
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
static alm_status look(alm_cursor *c, const alm_stmt *stmt)
{
    alm_session *s = c->session;
    const bool values = stmt->kind == ALM_STMT_INSERT && stmt->select == NULL;
    alm_cursor_ages(c);
    if (s->txn != NULL && alm_stmt_does_any(stmt->kind, ALM_S_READS) && !values) {
        const int64_t bytes = alm_txn_snapshot_bytes(s->txn);
        ALM_ASSERT(c->snapshot_bytes == 0);
        ALM_TRY(alm_mem_charge(&c->cx, &c->mem, bytes, "transaction"));
        c->snapshot_bytes = bytes;
        return alm_txn_snapshot(&c->cx, s->txn, &c->snapshot);
    }
    return alm_snapshot_acquire(&c->cx, s->db->storage, &c->snapshot);
}

/* Of an administrator: what frees space, or keeps who took it from going on. */
static bool ends_a_full_disk(const alm_stmt *stmt)
{
    const alm_alter *alter = stmt->kind == ALM_STMT_ALTER_TABLE ? stmt->ext : NULL;
    return alm_stmt_does_any(stmt->kind, ALM_S_FREES) ||
           (alter != NULL &&
            (alter->kind == ALM_ALTER_DROP_PARTITION || alter->kind == ALM_ALTER_DROP_COLUMN));
}

static alm_status run(alm_cursor *c, const alm_stmt *stmt, const alm_vec *values, uint32_t n)
{
    alm_param *params = NULL;
    ALM_TRY(check_state(c, stmt));
    ALM_TRY(take_params(&c->cx, stmt, values, n, &params));
    ALM_TRY(look(c, stmt));
    ALM_TRY(alm_cursor_access(c));
    c->cx.frees = (c->rights == NULL || c->rights->all) && ends_a_full_disk(stmt);
    const bool to_file = c->session->copies || c->session->exports;
    if (alm_stmt_does_any(stmt->kind, ALM_S_WRITES | ALM_S_EXPORTS) || to_file)
        (void)alm_rewrite_begin(&c->cx, c->session->db->storage);
    ALM_TRY(c->session->db->kinds[stmt->kind].run(c, stmt, params, n));
    /* A change by itself was looked at before it was logged. */
    if (c->cx.rewrite != 0 &&
        (c->session->txn != NULL || !alm_stmt_does_any(stmt->kind, ALM_S_WRITES)))
        ALM_TRY(alm_cursor_check_maps(c));
    const struct alm_conf *conf = c->session->db->conf;
    if (conf != NULL && (conf->audit_ddl || conf->audit_export))
        alm_audit_statement(c, stmt);
    return alm_views_settle(c, stmt->kind);
}

/* For /metrics. Statements that the server makes itself (refreshes ...) are not executed here. */
static void count_start(alm_cursor *c, alm_prepared *p)
{
    alm_db_counters *counters = &c->session->db->counters;
    const uint8_t by = c->session->by;
    c->counted = true;
    if (p->yielded)
        return; /* it was counted when it began */
    alm_count(&counters->by[by].started, 1);
    if (p->stmt->kind == ALM_STMT_SELECT)
        alm_count(p->ran || p->origin != NULL ? &counters->by[by].parsed_before
                                              : &counters->by[by].parsed,
                  1);
    p->ran = true;
}

/* It has rows to come: others may end it while it stands still. */
static void stands_open(alm_cursor *c)
{
    c->open_next = c->session->open;
    c->session->open = c;
    c->is_open = true;
}

alm_status alm_execute(alm_session *s, alm_prepared *p, const alm_vec *values, uint32_t n_values,
                       alm_cursor **out)
{
    static const alm_execute_options all = {0};
    return alm_execute_with(s, p, values, n_values, &all, out);
}

alm_status alm_execute_with(alm_session *s, alm_prepared *p, const alm_vec *values,
                            uint32_t n_values, const alm_execute_options *options, alm_cursor **out)
{
    ALM_ASSERT(options->last_rows >= 0);
    alm_cursor *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        s->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    c->session = s;
    c->prepared = p;
    c->options = *options;
    c->affected = -1;
    c->ts_col = -1;
    c->tag = alm_stmt_info_of(p->stmt->kind)->tag;
    alm_cursor_begin(c);
    alm_cursor_lookup(c);
    alm_statement_hold(c);
    alm_activity_begin(s, p->text, c->cx.now_ns / 1000);
    c->compile_ns = p->parse_ns;
    count_start(c, p);
    if (p->stmt->kind == ALM_STMT_SELECT)
        atomic_store_explicit(&c->yield_ns, s->brief_ns, memory_order_relaxed);
    alm_look_begin();
    const alm_status st = run(c, p->stmt, values, n_values);
    alm_statement_looked(p->text);
    atomic_store_explicit(&c->yield_ns, 0, memory_order_relaxed);
    c->execute_ns = alm_monotonic_ns() - c->cx.started_ns - (c->compile_ns - p->parse_ns);
    p->yielded = st == ALM_E_YIELD;
    if (p->yielded) {
        c->counted = false;
        alm_cursor_close(c);
        return st;
    }
    if (st != ALM_OK) {
        const alm_status code = alm_session_failed(s, &c->cx);
        c->failed = true;
        alm_cursor_close(c);
        return code;
    }
    if (!c->has_rows && c->copy_in == NULL)
        alm_cursor_ended(c);
    else
        stands_open(c);
    const alm_status skipped = alm_cursor_skip_to_last(c);
    if (skipped != ALM_OK)
        alm_cursor_close(c);
    else
        *out = c;
    return skipped;
}
