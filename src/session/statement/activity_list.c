/*
 * activity_list.c - the lists of what sessions run, for query_activity() and pg_stat_activity, and of memory; CANCEL QUERY.
 *
 * Threads     A reader holds the lock of the list, which keeps sessions from going away, and each line's lock for a copy.
 * Rights      A read-only session sees the texts of its own user's statements alone. With access control who has not SQL
 *             ENGINE ADMIN sees, and ends, those of his user alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_status activity_list_number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static const char *activity_list_state_of(const alm_session *session, uint64_t statement)
{
    const alm_tx_state block = session->tx_state;
    if (statement != 0)
        return "active";
    return block == ALM_TX_BLOCK    ? "idle in transaction"
           : block == ALM_TX_FAILED ? "idle in transaction (aborted)"
                                    : "idle";
}

/* Cells of one session; its texts are copied. */
static alm_status line(alm_ctx *cx, alm_session *session, const char **cell)
{
    const alm_session *me = cx->session;
    const uint64_t statement = atomic_load(&session->statement);
    const bool open = me == NULL || me->read_only == ALM_READ_WRITE ||
                      strcmp(me->identity, session->identity) == 0;
    ALM_TRY(activity_list_number(cx, (int64_t)statement, &cell[0]));
    ALM_TRY(activity_list_number(cx, session->pid, &cell[1]));
    ALM_TRY(activity_list_number(cx, session->activity.begin_us, &cell[2]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(session->user), &cell[3]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(session->protocol), &cell[4]));
    cell[5] = activity_list_state_of(session, statement);
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(session->activity.application), &cell[7]));
    cell[8] = cell[9] = NULL;
    if (session->ends.client[0] != 0) {
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(session->ends.client), &cell[8]));
        ALM_TRY(activity_list_number(cx, session->ends.client_port, &cell[9]));
    }
    ALM_TRY(activity_list_number(cx, session->since_us, &cell[10]));
    if (!open)
        return alm_arena_zstr(cx, cx->arena, ALM_STR("<insufficient privilege>"), &cell[6]);
    /* secrets are left out here, not once for every statement: seldom anybody looks */
    return alm_sql_masked(cx, alm_str_of(session->activity.text), &cell[6]);
}

static alm_status lines(alm_ctx *cx, alm_db *db, const char **cell, size_t cap, size_t *rows)
{
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&db->lock);
    const alm_session *session = cx->session;
    const bool all = session == NULL || alm_may_see_others(session);
    for (alm_session *s = db->sessions; s != NULL && status == ALM_OK && *rows < cap; s = s->next) {
        if (!all && !alm_session_is_of(s, session->identity))
            continue;
        (void)pthread_mutex_lock(&s->activity.lock);
        status = line(cx, s, cell + ALM_ACTIVITY_CELLS * *rows);
        (void)pthread_mutex_unlock(&s->activity.lock);
        ++*rows;
    }
    (void)pthread_mutex_unlock(&db->lock);
    return status;
}

alm_status alm_activity_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_db *db = cx->session->db;
    const char **cell = NULL;
    (void)pthread_mutex_lock(&db->lock);
    const size_t cap = (size_t)db->n_sessions + 16; /* who comes later is left out */
    (void)pthread_mutex_unlock(&db->lock);
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_ACTIVITY_CELLS * cap, &cell));
    *cells = cell;
    *rows = 0;
    return lines(cx, db, cell, cap, rows);
}

/* What a statement holds counts rows that a view hides from who runs it, and what all of them hold tells what others do. */
static alm_status held(alm_ctx *cx, int64_t bytes, const char **out)
{
    *out = NULL;
    return cx->session == NULL || alm_may_see_others(cx->session)
               ? activity_list_number(cx, bytes, out)
               : ALM_OK;
}

alm_status alm_memory_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_db *db = cx->session->db;
    const char **cell = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 10, &cell));
    cell[0] = "QUERIES";
    ALM_TRY(held(cx, atomic_load(&db->mem.used_bytes), &cell[1]));
    cell[2] = "QUERIES_LIMIT";
    ALM_TRY(activity_list_number(cx, db->mem.limit_bytes, &cell[3]));
    cell[4] = "THIS_QUERY";
    ALM_TRY(held(cx, cx->mem != NULL ? atomic_load(&cx->mem->used_bytes) : 0, &cell[5]));
    cell[6] = "REQUESTS";
    ALM_TRY(held(cx, atomic_load(&db->requests.all.used_bytes), &cell[7]));
    cell[8] = "REQUESTS_LIMIT";
    ALM_TRY(activity_list_number(cx, db->requests.all.limit_bytes, &cell[9]));
    *cells = cell;
    *rows = 5;
    return ALM_OK;
}

alm_cancelled alm_activity_cancel(const alm_session *session, int64_t number, bool of_connection)
{
    alm_db *db = session->db;
    alm_cancelled done = ALM_CANCEL_NONE;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *s = db->sessions; s != NULL && number > 0; s = s->next) {
        const uint64_t running = atomic_load(&s->statement);
        const int64_t of = of_connection ? s->pid : (int64_t)running;
        if (running == 0 || of != number)
            continue;
        done = ALM_CANCEL_DENIED;
        if (session->reads_only != NULL ||
            ((session->read_only != ALM_READ_WRITE || !alm_may_see_others(session)) &&
             !alm_session_is_of(s, session->identity)))
            continue;
        alm_session_cancel(s, running);
        done = ALM_CANCEL_DONE;
    }
    (void)pthread_mutex_unlock(&db->lock);
    return done;
}

alm_cancelled alm_session_cancel_query(alm_session *session, int64_t statement)
{
    /* it may not have run a statement yet, or not since a GRANT */
    (void)alm_session_holds(session, "SQL ENGINE ADMIN");
    return alm_activity_cancel(session, statement, false);
}

alm_status alm_run_cancel(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    int64_t number = 0;
    (void)params;
    (void)n;
    if (alm_int64_parse(stmt->value, &number) != ALM_NUM_OK)
        return alm_fail(&cursor->cx, ALM_E_SYNTAX, stmt->what_pos, "number of a query expected");
    switch (alm_activity_cancel(cursor->session, number, false)) {
    case ALM_CANCEL_DONE:
        return ALM_OK;
    case ALM_CANCEL_DENIED:
        if (cursor->rights != NULL)
            return alm_access_denied(cursor, stmt->what_pos, alm_stmt_permission(stmt));
        return alm_fail(&cursor->cx, ALM_E_DENIED, stmt->what_pos,
                        "Access denied: the query of another user [id=%lld]", (long long)number);
    case ALM_CANCEL_NONE:
        break;
    }
    return alm_fail(&cursor->cx, ALM_E_ARG, stmt->what_pos,
                    "query to cancel not found in registry [id=%lld]", (long long)number);
}
