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
    alm_session *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    s->db = db;
    s->tx_state = ALM_TX_IDLE;
    s->since_us = db->io->wall_ns(db->io) / 1000;
    s->activity.settings_version = ~alm_session_settings_version(s);
    (void)db->io->random(db->io, &s->seed, sizeof(s->seed));
    s->mem.name = "session";
    s->mem.limit_bytes = INT64_C(256) << 20;
    (void)snprintf(s->user, sizeof(s->user), "%s", user);
    s->identity = s->user;
    (void)snprintf(s->protocol, sizeof(s->protocol), "%s", protocol);
    s->by = strcmp(protocol, "http") == 0   ? ALM_BY_HTTP
            : strcmp(protocol, "pg") == 0   ? ALM_BY_PG
            : strcmp(protocol, "line") == 0 ? ALM_BY_LINE
                                            : ALM_BY_OTHER;
    alm_arena_init(&s->arena, &s->mem);
    (void)pthread_mutex_init(&s->activity.lock, NULL);
    (void)pthread_mutex_lock(&db->lock);
    s->next = db->sessions;
    if (s->next != NULL)
        s->next->prev = s;
    db->sessions = s;
    db->n_sessions++;
    (void)pthread_mutex_unlock(&db->lock);
    *out = s;
    return ALM_OK;
}

void alm_session_free(alm_session *s)
{
    if (s == NULL)
        return;
    if (s->commit != NULL) { /* it is over, nobody hears how */
        const alm_status unheard = alm_session_commit_end(s);
        (void)unheard;
    }
    if (s->txn != NULL)
        alm_txn_rollback(s->txn);
    alm_savepoints_clear(s); /* what they hold is charged to the account */
    alm_db *db = s->db;
    alm_session_become(s, NULL);
    alm_session_requests_over(s);
    alm_account_leave(s);
    (void)pthread_mutex_lock(&db->lock);
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        db->sessions = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
    db->n_sessions--;
    (void)pthread_mutex_unlock(&db->lock);
    alm_settings_deinit(s);
    alm_arena_deinit(&s->arena);
    (void)pthread_mutex_destroy(&s->activity.lock);
    free(s);
}

void alm_session_abandon(alm_session *s)
{
    atomic_store(&s->gone, true);
    atomic_store(&s->cancel, true);
}

void alm_session_halt(alm_session *s, alm_status why)
{
    ALM_ASSERT(why == ALM_OK || why == ALM_E_LOGIN_OVER || why == ALM_E_PROVIDER);
    atomic_store(&s->halted, (int)why);
    if (why != ALM_OK)
        atomic_store(&s->cancel, true);
}

bool alm_session_is_ended(const alm_session *s)
{
    return atomic_load(&s->ended);
}

void alm_session_cancel(alm_session *s, uint64_t statement)
{
    const uint64_t running = atomic_load(&s->statement);
    if (running != 0 && (statement == 0 || statement == running))
        atomic_store(&s->cancel, true);
}

bool alm_session_take_cancel(alm_session *s, const alm_error **why)
{
    static const alm_error cancelled = {
        .code = ALM_E_CANCEL, .sql_pos = -1, .msg = "cancelled by user"};
    static const alm_error gave_way = {
        .code = ALM_E_MEMORY,
        .sql_pos = -1,
        .msg = "memory limit of all queries exceeded; the one that used most was ended "
               "[setting=query.memory.total.max]"};
    if (atomic_load(&s->gone) || atomic_load(&s->db->stopping))
        return false;
    const bool gives = atomic_load(&s->gives_way) && atomic_exchange(&s->gives_way, false);
    if (!gives && !atomic_load(&s->cancel))
        return false;
    atomic_store(&s->cancel, false);
    *why = gives ? &gave_way : &cancelled;
    return true;
}

bool alm_session_gives_way(alm_session *s, const alm_error **why)
{
    return atomic_load_explicit(&s->gives_way, memory_order_relaxed) &&
           alm_session_take_cancel(s, why);
}

uint64_t alm_session_statement(const alm_session *s)
{
    return atomic_load(&s->statement);
}
uint64_t alm_session_last_statement(const alm_session *s)
{
    return s->last_statement;
}
alm_tx_state alm_session_tx_state(const alm_session *s)
{
    return s->tx_state;
}
const alm_error *alm_session_error(const alm_session *s)
{
    return &s->err;
}
void alm_session_timeout_max(alm_session *s, int64_t timeout_ms)
{
    s->timeout_max_ms = ALM_MIN(timeout_ms, TIMEOUT_MAX_MS);
}
void alm_session_timeout(alm_session *s, int64_t timeout_ms)
{
    s->timeout_ms = ALM_MIN(timeout_ms, TIMEOUT_MAX_MS);
}
void alm_session_lists_by(alm_session *s, alm_session_list_fn list, void *arg)
{
    s->list = list;
    s->list_arg = arg;
}

void alm_session_pid(alm_session *s, int32_t pid)
{
    (void)pthread_mutex_lock(&s->activity.lock); /* the session is listed already */
    s->pid = pid;
    (void)pthread_mutex_unlock(&s->activity.lock);
}
void alm_session_exports(alm_session *s, bool exports)
{
    s->exports = exports;
}

void alm_session_ends(alm_session *s, const alm_ends *ends)
{
    (void)pthread_mutex_lock(&s->activity.lock);
    s->ends = *ends;
    (void)pthread_mutex_unlock(&s->activity.lock);
}
void alm_session_read_only(alm_session *s, bool on)
{
    s->read_only = on ? ALM_READ_ONLY_USER : ALM_READ_WRITE;
}
void alm_session_reads_only(alm_session *s, const char *why)
{
    s->reads_only = why;
}
void alm_session_read_only_interface(alm_session *s)
{
    s->read_only = ALM_READ_ONLY_INTERFACE;
}
const char *alm_session_user(const alm_session *s)
{
    return s->user;
}
const char *alm_session_identity(const alm_session *s)
{
    return s->identity;
}
bool alm_session_is_of(alm_session *s, const char *identity)
{
    (void)pthread_mutex_lock(&s->activity.lock);
    const bool same = strcmp(s->identity, identity) == 0;
    (void)pthread_mutex_unlock(&s->activity.lock);
    return same;
}
alm_db *alm_session_db(const alm_session *s)
{
    return s->db;
}

void alm_session_streams(alm_session *s)
{
    s->streams = true;
}

void alm_session_no_blocks(alm_session *s)
{
    s->no_blocks = true;
}

void alm_session_fail_block(alm_session *s)
{
    if (s->tx_state == ALM_TX_BLOCK) {
        s->tx_state = ALM_TX_FAILED;
        alm_drop_failed_writes(s);
    }
    if (s->tx_state == ALM_TX_IDLE) {
        alm_drop_writes(s);
        alm_settings_back_to(s, 0);
    }
    s->implicit = false;
}

/* Where the data lies on the machine is nobody's business who may only ask: files are named from the data directory on. */
static void hide_root(alm_error *err, const char *root)
{
    const size_t n = strlen(root);
    for (char *at = err->msg; *at != 0; at++) {
        if (*at != '\'' || strncmp(at + 1, root, n) != 0 || at[1 + n] != '/')
            continue;
        (void)memmove(at + 1, at + 1 + n + 1, strlen(at + 1 + n + 1) + 1);
    }
}

alm_status alm_session_failed(alm_session *s, const alm_ctx *cx)
{
    s->err = cx->err;
    hide_root(&s->err, s->db->root);
    alm_count(&s->db->counters.by[s->by].errors, 1);
    alm_count(&s->db->counters.errors[cx->err.code], 1);
    alm_session_fail_block(s);
    return cx->err.code;
}

alm_status alm_session_goes_on(alm_ctx *cx, const alm_session *s)
{
    return !atomic_load(&s->ended)
               ? ALM_OK
               : alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                          "terminating connection due to administrator command");
}

alm_status alm_session_is_halted(alm_ctx *cx, const alm_session *s)
{
    const alm_status why = (alm_status)atomic_load_explicit(&s->halted, memory_order_acquire);
    if (why == ALM_OK)
        return ALM_OK;
    return alm_fail(cx, why, -1,
                    why == ALM_E_PROVIDER ? "identity provider not reachable"
                                          : "the session of this request has ended");
}

bool alm_text_goes_on(alm_str text, size_t at)
{
    while (at < text.len && text.ptr[at] != 0 && strchr(" \t\r\n\f\v;", text.ptr[at]) != NULL)
        at++;
    return at < text.len;
}

alm_status alm_session_may_write(alm_ctx *cx, const alm_session *s, int32_t pos)
{
    if (s->read_only == ALM_READ_WRITE)
        return ALM_OK;
    return alm_fail(cx, s->read_only == ALM_READ_ONLY_INTERFACE ? ALM_E_READONLY : ALM_E_DENIED,
                    pos, "Write permission denied");
}

alm_status alm_session_may_act(alm_ctx *cx, const alm_session *s, int32_t pos)
{
    return s->reads_only == NULL ? ALM_OK : alm_fail(cx, ALM_E_DENIED, pos, "%s", s->reads_only);
}
