/*
 * activity.c - what the sessions do right now, and what the database has done since it was opened. statement/activity_list.c lists it.
 *
 * Threads     A session writes its line under its own lock, once per statement.
 */
#include <stdio.h>
#include <string.h>

#include "session/core/session_state.h"

void alm_activity_settings(alm_session *session)
{
    alm_activity *activity = &session->activity;
    const uint64_t version = alm_session_settings_version(session);
    if (version == activity->settings_version)
        return;
    const char *name = alm_session_setting(session, "application_name");
    (void)pthread_mutex_lock(&activity->lock);
    (void)snprintf(activity->application, sizeof activity->application, "%s",
                   name != NULL ? name : "");
    activity->settings_version = version;
    (void)pthread_mutex_unlock(&activity->lock);
}

void alm_activity_begin(alm_session *session, alm_str text, int64_t now_us)
{
    alm_activity *activity = &session->activity;
    const size_t n = ALM_MIN(text.len, sizeof activity->text - 1);
    if (activity->fixed)
        return;
    alm_activity_settings(session);
    (void)pthread_mutex_lock(&activity->lock);
    memcpy(activity->text, text.ptr == NULL ? "" : text.ptr, n);
    activity->text[n] = 0;
    activity->begin_us = now_us;
    (void)pthread_mutex_unlock(&activity->lock);
}

void alm_activity_fix(alm_session *session, alm_str text, int64_t now_us)
{
    alm_activity_begin(session, text, now_us);
    session->activity.fixed = true;
}

void alm_session_work_begin(alm_session *session, alm_ctx *cx, alm_str text)
{
    alm_db *db = session->db;
    atomic_store(&session->cancel, atomic_load(&db->stopping) || atomic_load(&session->gone));
    session->last_statement = atomic_fetch_add(&db->next_statement, 1) + 1;
    alm_activity_begin(session, text, db->io->wall_ns(db->io) / 1000);
    atomic_store(&session->statement, session->last_statement);
    cx->cancel = &session->cancel;
}

void alm_session_work_text(alm_session *session, alm_str text)
{
    alm_activity_begin(session, text, session->activity.begin_us);
}

void alm_session_work_end(alm_session *session)
{
    atomic_store(&session->statement, 0);
}

const alm_db_counters *alm_db_counters_of(const alm_db *db)
{
    return &db->counters;
}

int64_t alm_db_unhandled_errors(const alm_db *db)
{
    int64_t count = 0;
    for (int code = ALM_OK + 1; code < ALM_STATUS_COUNT; code++)
        if (alm_status_http((alm_status)code) == 500)
            count += alm_counted(&db->counters.errors[code]);
    return count;
}

void alm_db_load_get(alm_db *db, alm_db_load *out)
{
    *out = (alm_db_load){0};
    (void)pthread_mutex_lock(&db->lock);
    for (const alm_session *session = db->sessions; session != NULL; session = session->next) {
        out->sessions++;
        out->running += atomic_load(&session->statement) != 0;
    }
    (void)pthread_mutex_unlock(&db->lock);
}
