/*
 * activity.c - what the sessions do right now, for query_activity() and pg_stat_activity; memory.
 *
 * Threads     A session writes its line under its own lock, once per statement; a reader holds the
 *             lock of the list, which keeps sessions from going away, and each line's lock for a copy.
 * Rights      A read-only session sees the texts of its own user's statements alone. With access control who has not SQL
 *             ENGINE ADMIN sees, and ends, those of his user alone.
 */
#include <stdio.h>
#include <string.h>

#include "session/access/access.h"
#include "sql/sql.h"

void alm_activity_settings(alm_session *s)
{
    alm_activity *a = &s->activity;
    const uint64_t version = alm_session_settings_version(s);
    if (version == a->settings_version)
        return;
    const char *name = alm_session_setting(s, "application_name");
    (void)pthread_mutex_lock(&a->lock);
    (void)snprintf(a->application, sizeof a->application, "%s", name != NULL ? name : "");
    a->settings_version = version;
    (void)pthread_mutex_unlock(&a->lock);
}

void alm_activity_begin(alm_session *s, alm_str text, int64_t now_us)
{
    alm_activity *a = &s->activity;
    const size_t n = ALM_MIN(text.len, sizeof a->text - 1);
    if (a->fixed)
        return;
    alm_activity_settings(s);
    (void)pthread_mutex_lock(&a->lock);
    memcpy(a->text, text.ptr == NULL ? "" : text.ptr, n);
    a->text[n] = 0;
    a->begin_us = now_us;
    (void)pthread_mutex_unlock(&a->lock);
}

void alm_activity_fix(alm_session *s, alm_str text, int64_t now_us)
{
    alm_activity_begin(s, text, now_us);
    s->activity.fixed = true;
}

void alm_session_work_begin(alm_session *s, alm_ctx *cx, alm_str text)
{
    alm_db *db = s->db;
    atomic_store(&s->cancel, atomic_load(&db->stopping) || atomic_load(&s->gone));
    s->last_statement = atomic_fetch_add(&db->next_statement, 1) + 1;
    alm_activity_begin(s, text, db->io->wall_ns(db->io) / 1000);
    atomic_store(&s->statement, s->last_statement);
    cx->cancel = &s->cancel;
}

void alm_session_work_text(alm_session *s, alm_str text)
{
    alm_activity_begin(s, text, s->activity.begin_us);
}

void alm_session_work_end(alm_session *s)
{
    atomic_store(&s->statement, 0);
}

const alm_db_counters *alm_db_counters_of(const alm_db *db)
{
    return &db->counters;
}

int64_t alm_db_unhandled_errors(const alm_db *db)
{
    int64_t n = 0;
    for (int code = ALM_OK + 1; code < ALM_STATUS_COUNT; code++)
        if (alm_status_http((alm_status)code) == 500)
            n += alm_counted(&db->counters.errors[code]);
    return n;
}

void alm_db_load_get(alm_db *db, alm_db_load *out)
{
    *out = (alm_db_load){0};
    (void)pthread_mutex_lock(&db->lock);
    for (const alm_session *s = db->sessions; s != NULL; s = s->next) {
        out->sessions++;
        out->running += atomic_load(&s->statement) != 0;
    }
    (void)pthread_mutex_unlock(&db->lock);
}

static alm_status number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static const char *state_of(const alm_session *s, uint64_t statement)
{
    const char block = s->tx_state;
    if (statement != 0)
        return "active";
    return block == 'T'   ? "idle in transaction"
           : block == 'E' ? "idle in transaction (aborted)"
                          : "idle";
}

/* Cells of one session; its texts are copied. */
static alm_status line(alm_ctx *cx, alm_session *s, const char **cell)
{
    const alm_session *me = cx->session;
    const uint64_t statement = atomic_load(&s->statement);
    const bool open = me == NULL || !me->read_only || strcmp(me->identity, s->identity) == 0;
    ALM_TRY(number(cx, (int64_t)statement, &cell[0]));
    ALM_TRY(number(cx, s->pid, &cell[1]));
    ALM_TRY(number(cx, s->activity.begin_us, &cell[2]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(s->user), &cell[3]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(s->protocol), &cell[4]));
    cell[5] = state_of(s, statement);
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(s->activity.application), &cell[7]));
    cell[8] = cell[9] = NULL;
    if (s->ends.client[0] != 0) {
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(s->ends.client), &cell[8]));
        ALM_TRY(number(cx, s->ends.client_port, &cell[9]));
    }
    ALM_TRY(number(cx, s->since_us, &cell[10]));
    if (!open)
        return alm_arena_zstr(cx, cx->arena, ALM_STR("<insufficient privilege>"), &cell[6]);
    /* secrets are left out here, not once for every statement: seldom anybody looks */
    return alm_sql_masked(cx, alm_str_of(s->activity.text), &cell[6]);
}

alm_cancelled alm_activity_cancel(const alm_session *me, int64_t number, bool of_connection)
{
    alm_db *db = me->db;
    alm_cancelled done = ALM_CANCEL_NONE;
    (void)pthread_mutex_lock(&db->lock);
    for (alm_session *s = db->sessions; s != NULL && number > 0; s = s->next) {
        const uint64_t running = atomic_load(&s->statement);
        const int64_t of = of_connection ? s->pid : (int64_t)running;
        if (running == 0 || of != number)
            continue;
        done = ALM_CANCEL_DENIED;
        if (me->reads_only != NULL ||
            ((me->read_only || !alm_may_see_others(me)) && !alm_session_is_of(s, me->identity)))
            continue;
        alm_session_cancel(s, running);
        done = ALM_CANCEL_DONE;
    }
    (void)pthread_mutex_unlock(&db->lock);
    return done;
}

alm_cancelled alm_session_cancel_query(alm_session *me, int64_t statement)
{
    /* it may not have run a statement yet, or not since a GRANT */
    (void)alm_session_holds(me, "SQL ENGINE ADMIN");
    return alm_activity_cancel(me, statement, false);
}

static alm_status lines(alm_ctx *cx, alm_db *db, const char **cell, size_t cap, size_t *rows)
{
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&db->lock);
    const alm_session *me = cx->session;
    const bool all = me == NULL || alm_may_see_others(me);
    for (alm_session *s = db->sessions; s != NULL && st == ALM_OK && *rows < cap; s = s->next) {
        if (!all && !alm_session_is_of(s, me->identity))
            continue;
        (void)pthread_mutex_lock(&s->activity.lock);
        st = line(cx, s, cell + ALM_ACTIVITY_CELLS * *rows);
        (void)pthread_mutex_unlock(&s->activity.lock);
        ++*rows;
    }
    (void)pthread_mutex_unlock(&db->lock);
    return st;
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
    return cx->session == NULL || alm_may_see_others(cx->session) ? number(cx, bytes, out) : ALM_OK;
}

alm_status alm_memory_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_db *db = cx->session->db;
    const char **cell = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 10, &cell));
    cell[0] = "QUERIES";
    ALM_TRY(held(cx, atomic_load(&db->mem.used_bytes), &cell[1]));
    cell[2] = "QUERIES_LIMIT";
    ALM_TRY(number(cx, db->mem.limit_bytes, &cell[3]));
    cell[4] = "THIS_QUERY";
    ALM_TRY(held(cx, cx->mem != NULL ? atomic_load(&cx->mem->used_bytes) : 0, &cell[5]));
    cell[6] = "REQUESTS";
    ALM_TRY(held(cx, atomic_load(&db->requests.all.used_bytes), &cell[7]));
    cell[8] = "REQUESTS_LIMIT";
    ALM_TRY(number(cx, db->requests.all.limit_bytes, &cell[9]));
    *cells = cell;
    *rows = 5;
    return ALM_OK;
}
