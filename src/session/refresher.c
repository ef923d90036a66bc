/*
 * refresher.c - the thread that refreshes materialized views by itself: after commits that touched their
 * base (IMMEDIATE), by the clock (EVERY), for the first time after they were created.
 *
 * Latency     Commits wake it; it gives a burst of them a moment to end, and what comes while a view is
 *             refreshed is taken together by the next round.
 * Restart     What to do is seen in the catalogue (touched times, state of the view) alone, so a start
 *             goes on where the process ended.
 * Failure     that makes no view invalid (no room, no memory) is tried again a second later.
 */
#include <unistd.h>

#include "base/log.h"
#include "session/matview.h"

enum { BURST_MS = 5, IDLE_MS = 1000 };

typedef struct refresher {
    alm_session *session;
    alm_error told; /* the last failure that was logged */
} refresher;

typedef struct round_plan {
    const alm_table *view, *base;
    int64_t now_us, next_us; /* when to look again at the latest */
} round_plan;

static const alm_table *base_of(const alm_snapshot *snap, const alm_view_def *v)
{
    const alm_table *base = alm_snapshot_find(snap, alm_str_of(v->base));
    return base != NULL && base->id == v->base_id ? base : NULL;
}

static alm_status is_due(alm_ctx *cx, round_plan *p, bool *due)
{
    const alm_view_def *v = p->view->view;
    int64_t period_hi = 0;
    *due = false;
    ALM_TRY(alm_matview_period_hi(cx, v, p->base, p->now_us, &period_hi));
    const bool behind =
        alm_table_is_touched(p->base, v->lsn) || (v->lsn > 0 && period_hi != v->period_hi);
    if (v->refresh == ALM_REFRESH_TIMER) {
        int64_t last = 0, next = 0;
        ALM_TRY(alm_matview_timer(cx, v, p->now_us, &last, &next));
        p->next_us = ALM_MIN(p->next_us, next);
        const int64_t since = v->started_us != ALM_TS_NULL ? v->started_us : v->status_us;
        const bool rang = since < last;
        *due = v->lsn == 0 ? rang || !v->deferred : rang && behind;
        return ALM_OK;
    }
    if (v->lsn == 0)
        *due = !v->deferred || (v->refresh == ALM_REFRESH_IMMEDIATE && behind);
    else
        *due = v->refresh == ALM_REFRESH_IMMEDIATE && behind;
    return ALM_OK;
}

/* Names of the views to refresh now, one after the other with a zero byte behind each. */
static alm_status collect(alm_ctx *cx, alm_db *db, alm_buf *names, int64_t *next_us)
{
    alm_snapshot *snap = NULL;
    round_plan p = {.now_us = db->io->wall_ns(db->io) / 1000, .next_us = *next_us};
    alm_status st = alm_snapshot_acquire(cx, db->storage, &snap);
    for (size_t i = 0; st == ALM_OK && i < alm_snapshot_count(snap); i++) {
        bool due = false;
        p.view = alm_snapshot_at(snap, i);
        if (p.view->kind != ALM_TABLE_MATVIEW || p.view->view->reason[0] != 0)
            continue;
        p.base = base_of(snap, p.view->view);
        if (p.base == NULL)
            continue;
        if (is_due(cx, &p, &due) != ALM_OK) { /* its zone is gone, say: the others go on */
            alm_log_warn("views", "'%s' is not refreshed: %s", p.view->name, cx->err.msg);
            alm_error_clear(cx);
            continue;
        }
        if (due)
            st = alm_buf_append(cx, names, p.view->name, strlen(p.view->name) + 1);
    }
    alm_snapshot_release(snap);
    *next_us = p.next_us;
    return st;
}

/* Says why a refresh failed, but not each second the same. */
static void tell(refresher *r, const char *name)
{
    const alm_error *e = &r->session->err;
    if (atomic_load(&r->session->db->stopping) || e->code == ALM_E_CONFLICT ||
        e->code == ALM_E_TABLE || strcmp(e->msg, r->told.msg) == 0)
        return; /* or the view was dropped meanwhile */
    alm_log_warn("views", "refresh of '%s' failed: %s", name, e->msg);
    r->told = *e;
}

static alm_status refresh_one(alm_ctx *cx, refresher *r, const char *name)
{
    alm_session *s = r->session;
    alm_buf sql;
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    alm_buf_init(&sql, NULL);
    alm_status st = alm_buf_text(cx, &sql, "refresh materialized view \"");
    for (const char *at = name; *at != 0 && st == ALM_OK; at++)
        st = alm_buf_append(cx, &sql, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
    if (st == ALM_OK)
        st = alm_buf_text(cx, &sql, "\" incremental");
    if (st == ALM_OK)
        st = alm_prepare(s, (alm_str){sql.ptr, sql.len}, NULL, &prepared);
    if (st == ALM_OK)
        st = alm_execute(s, prepared, NULL, 0, &cursor);
    if (st != ALM_OK)
        tell(r, name);
    if (cursor != NULL)
        alm_cursor_close(cursor);
    if (prepared != NULL)
        alm_prepared_free(prepared);
    alm_buf_deinit(&sql);
    return st;
}

static void one_round(refresher *r, int64_t *next_us, bool *failed)
{
    alm_session *s = r->session;
    alm_arena arena;
    alm_buf names;
    alm_arena_init(&arena, NULL);
    alm_buf_init(&names, NULL);
    alm_ctx cx = {.arena = &arena, .io = s->db->io, .zones = s->db->zones, .conf = s->db->conf};
    *failed = collect(&cx, s->db, &names, next_us) != ALM_OK;
    for (size_t at = 0; at < names.len && !atomic_load(&s->db->stopping);
         at += strlen(names.ptr + at) + 1)
        *failed |= refresh_one(&cx, r, names.ptr + at) != ALM_OK;
    alm_buf_deinit(&names);
    alm_arena_deinit(&arena);
}

static void *refresher_main(void *arg)
{
    refresher r = {.session = arg};
    alm_db *db = r.session->db;
    uint64_t seen = alm_touch_wait(db->storage, 0, 0);
    while (!atomic_load(&db->stopping)) {
        const int64_t now_us = db->io->wall_ns(db->io) / 1000;
        int64_t next_us = now_us + IDLE_MS * 1000;
        bool failed = false;
        one_round(&r, &next_us, &failed);
        const int64_t ms = ALM_MIN(ALM_MAX((next_us - now_us) / 1000, 1), (int64_t)IDLE_MS);
        if (failed) { /* not at once again, whatever is written meanwhile */
            for (int i = 0; i < IDLE_MS / 10 && !atomic_load(&db->stopping); i++)
                (void)usleep(10000);
            continue;
        }
        seen = alm_touch_wait(db->storage, seen, ms);
        if (!atomic_load(&db->stopping))
            (void)usleep(BURST_MS * 1000);
    }
    return NULL;
}

alm_status alm_refresher_start(alm_ctx *cx, alm_db *db)
{
    alm_session *s = NULL;
    ALM_TRY(alm_session_new(cx, db, "refresher", "refresh", &s));
    const int e = pthread_create(&db->refresher, NULL, refresher_main, s);
    if (e != 0) {
        alm_session_free(s);
        return alm_io_fail(cx, -e, "start the thread that refreshes materialized views");
    }
    db->refresher_session = s;
    return ALM_OK;
}

void alm_refresher_stop(alm_db *db)
{
    if (db->refresher_session == NULL)
        return;
    alm_session_abandon(db->refresher_session);
    alm_touch_wake(db->storage);
    (void)pthread_join(db->refresher, NULL);
    alm_session_free(db->refresher_session);
    db->refresher_session = NULL;
}
