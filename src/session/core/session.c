/*
 * session.c - sessions: their life, cancel, limits, error of the last call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "session/core/session_state.h"

/* What a client may ask for at most; nanoseconds of it fit 64 bits many times over. */
static const int64_t TIMEOUT_MAX_MS = INT64_C(1000000000);

alm_status alm_session_new(alm_ctx *cx, alm_db *db, const char *user, const char *protocol,
                           alm_session **out)
{
    if (atomic_load(&db->stopping))
        return alm_fail(cx, ALM_E_SHUTDOWN, -1, "the server is stopping");
    alm_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    session->db = db;
    session->tx_state = ALM_TX_IDLE;
    session->since_us = db->io->wall_ns(db->io) / 1000;
    session->activity.settings_version = ~alm_session_settings_version(session);
    (void)db->io->random(db->io, &session->seed, sizeof(session->seed));
    session->mem.name = "session";
    session->mem.limit_bytes = INT64_C(256) << 20;
    (void)snprintf(session->user, sizeof(session->user), "%s", user);
    session->identity = session->user;
    (void)snprintf(session->protocol, sizeof(session->protocol), "%s", protocol);
    session->by = strcmp(protocol, "http") == 0   ? ALM_BY_HTTP
                  : strcmp(protocol, "pg") == 0   ? ALM_BY_PG
                  : strcmp(protocol, "line") == 0 ? ALM_BY_LINE
                                                  : ALM_BY_OTHER;
    alm_arena_init(&session->arena, &session->mem);
    (void)pthread_mutex_init(&session->activity.lock, NULL);
    (void)pthread_mutex_lock(&db->lock);
    session->next = db->sessions;
    if (session->next != NULL)
        session->next->prev = session;
    db->sessions = session;
    db->n_sessions++;
    (void)pthread_mutex_unlock(&db->lock);
    *out = session;
    return ALM_OK;
}

void alm_session_free(alm_session *session)
{
    if (session == NULL)
        return;
    if (session->commit != NULL) { /* it is over, nobody hears how */
        const alm_status unheard = alm_session_commit_end(session);
        (void)unheard;
    }
    if (session->txn != NULL)
        alm_txn_rollback(session->txn);
    alm_savepoints_clear(session); /* what they hold is charged to the account */
    alm_db *db = session->db;
    alm_session_become(session, NULL);
    alm_session_requests_over(session);
    alm_account_leave(session);
    (void)pthread_mutex_lock(&db->lock);
    if (session->prev != NULL)
        session->prev->next = session->next;
    else
        db->sessions = session->next;
    if (session->next != NULL)
        session->next->prev = session->prev;
    db->n_sessions--;
    (void)pthread_mutex_unlock(&db->lock);
    alm_settings_deinit(session);
    alm_arena_deinit(&session->arena);
    (void)pthread_mutex_destroy(&session->activity.lock);
    free(session);
}

void alm_session_abandon(alm_session *session)
{
    atomic_store(&session->gone, true);
    atomic_store(&session->cancel, true);
}

void alm_session_halt(alm_session *session, alm_status why)
{
    ALM_ASSERT(why == ALM_OK || why == ALM_E_LOGIN_OVER || why == ALM_E_PROVIDER);
    atomic_store(&session->halted, (int)why);
    if (why != ALM_OK)
        atomic_store(&session->cancel, true);
}

bool alm_session_is_ended(const alm_session *session)
{
    return atomic_load(&session->ended);
}

void alm_session_cancel(alm_session *session, uint64_t statement)
{
    const uint64_t running = atomic_load(&session->statement);
    if (running != 0 && (statement == 0 || statement == running))
        atomic_store(&session->cancel, true);
}

bool alm_session_take_cancel(alm_session *session, const alm_error **why)
{
    static const alm_error cancelled = {
        .code = ALM_E_CANCEL, .sql_pos = -1, .msg = "cancelled by user"};
    static const alm_error gave_way = {
        .code = ALM_E_MEMORY,
        .sql_pos = -1,
        .msg = "memory limit of all queries exceeded; the one that used most was ended "
               "[setting=query.memory.total.max]"};
    if (atomic_load(&session->gone) || atomic_load(&session->db->stopping))
        return false;
    const bool gives =
        atomic_load(&session->gives_way) && atomic_exchange(&session->gives_way, false);
    if (!gives && !atomic_load(&session->cancel))
        return false;
    atomic_store(&session->cancel, false);
    *why = gives ? &gave_way : &cancelled;
    return true;
}

bool alm_session_gives_way(alm_session *session, const alm_error **why)
{
    return atomic_load_explicit(&session->gives_way, memory_order_relaxed) &&
           alm_session_take_cancel(session, why);
}

uint64_t alm_session_statement(const alm_session *session)
{
    return atomic_load(&session->statement);
}
uint64_t alm_session_last_statement(const alm_session *session)
{
    return session->last_statement;
}
alm_tx_state alm_session_tx_state(const alm_session *session)
{
    return session->tx_state;
}
const alm_error *alm_session_error(const alm_session *session)
{
    return &session->err;
}
void alm_session_timeout_max(alm_session *session, int64_t timeout_ms)
{
    session->timeout_max_ms = ALM_MIN(timeout_ms, TIMEOUT_MAX_MS);
}
void alm_session_timeout(alm_session *session, int64_t timeout_ms)
{
    session->timeout_ms = ALM_MIN(timeout_ms, TIMEOUT_MAX_MS);
}
void alm_session_lists_by(alm_session *session, alm_session_list_fn list, void *arg)
{
    session->list = list;
    session->list_arg = arg;
}

void alm_session_pid(alm_session *session, int32_t pid)
{
    (void)pthread_mutex_lock(&session->activity.lock); /* the session is listed already */
    session->pid = pid;
    (void)pthread_mutex_unlock(&session->activity.lock);
}
void alm_session_exports(alm_session *session, bool exports)
{
    session->exports = exports;
}

void alm_session_ends(alm_session *session, const alm_ends *ends)
{
    (void)pthread_mutex_lock(&session->activity.lock);
    session->ends = *ends;
    (void)pthread_mutex_unlock(&session->activity.lock);
}
void alm_session_read_only(alm_session *session, bool on)
{
    session->read_only = on ? ALM_READ_ONLY_USER : ALM_READ_WRITE;
}
void alm_session_reads_only(alm_session *session, const char *why)
{
    session->reads_only = why;
}
void alm_session_read_only_interface(alm_session *session)
{
    session->read_only = ALM_READ_ONLY_INTERFACE;
}
const char *alm_session_user(const alm_session *session)
{
    return session->user;
}
const char *alm_session_identity(const alm_session *session)
{
    return session->identity;
}
bool alm_session_is_of(alm_session *session, const char *identity)
{
    (void)pthread_mutex_lock(&session->activity.lock);
    const bool same = strcmp(session->identity, identity) == 0;
    (void)pthread_mutex_unlock(&session->activity.lock);
    return same;
}
alm_db *alm_session_db(const alm_session *session)
{
    return session->db;
}

void alm_session_streams(alm_session *session)
{
    session->streams = true;
}

void alm_session_no_blocks(alm_session *session)
{
    session->no_blocks = true;
}

void alm_session_fail_block(alm_session *session)
{
    if (session->tx_state == ALM_TX_BLOCK) {
        session->tx_state = ALM_TX_FAILED;
        alm_drop_failed_writes(session);
    }
    if (session->tx_state == ALM_TX_IDLE) {
        alm_drop_writes(session);
        alm_settings_back_to(session, 0);
    }
    session->implicit = false;
}

/* Where the data lies on the machine is nobody's business who may only ask: files are named from the data directory on. */
static void hide_root(alm_error *err, const char *root)
{
    const size_t len = strlen(root);
    for (char *ptr = err->msg; *ptr != 0; ptr++) {
        if (*ptr != '\'' || strncmp(ptr + 1, root, len) != 0 || ptr[1 + len] != '/')
            continue;
        (void)memmove(ptr + 1, ptr + 1 + len + 1, strlen(ptr + 1 + len + 1) + 1);
    }
}

alm_status alm_session_failed(alm_session *session, const alm_ctx *cx)
{
    session->err = cx->err;
    hide_root(&session->err, session->db->root);
    alm_count(&session->db->counters.by[session->by].errors, 1);
    alm_count(&session->db->counters.errors[cx->err.code], 1);
    alm_session_fail_block(session);
    return cx->err.code;
}

alm_status alm_session_goes_on(alm_ctx *cx, const alm_session *session)
{
    return !atomic_load(&session->ended)
               ? ALM_OK
               : alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                          "terminating connection due to administrator command");
}

alm_status alm_session_is_halted(alm_ctx *cx, const alm_session *session)
{
    const alm_status why = (alm_status)atomic_load_explicit(&session->halted, memory_order_acquire);
    if (why == ALM_OK)
        return ALM_OK;
    return alm_fail(cx, why, -1,
                    why == ALM_E_PROVIDER ? "identity provider not reachable"
                                          : "the session of this request has ended");
}

bool alm_text_goes_on(alm_str text, size_t offset)
{
    while (offset < text.len && text.ptr[offset] != 0 &&
           strchr(" \t\r\n\f\v;", text.ptr[offset]) != NULL)
        offset++;
    return offset < text.len;
}

alm_status alm_session_may_write(alm_ctx *cx, const alm_session *session, int32_t pos)
{
    if (session->read_only == ALM_READ_WRITE)
        return ALM_OK;
    return alm_fail(cx,
                    session->read_only == ALM_READ_ONLY_INTERFACE ? ALM_E_READONLY : ALM_E_DENIED,
                    pos, "Write permission denied");
}

alm_status alm_session_may_act(alm_ctx *cx, const alm_session *session, int32_t pos)
{
    return session->reads_only == NULL ? ALM_OK
                                       : alm_fail(cx, ALM_E_DENIED, pos, "%s", session->reads_only);
}
