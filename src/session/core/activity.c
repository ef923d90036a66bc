/*
 * activity.c - what the sessions do right now, and what the database has done since it was opened. statement/activity_list.c lists it.
 *
 * Threads     A session writes its line under its own lock, once per statement.
 */
#include <stdio.h>
#include <string.h>

#include "session/core/session_state.h"

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
