/*
 * cursor.c - one execution: its context, limits and snapshot, what it tells the client, and its end. What runs in it is the
 * business of statement/ and transfer/.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "session/core/session_state.h"

int64_t alm_session_timeout_ms(const alm_session *session)
{
    const int64_t configured = session->db->conf != NULL ? session->db->conf->query_timeout : 60000;
    const int64_t server = session->timeout_max_ms > 0 ? session->timeout_max_ms : configured;
    if (session->timeout_ms <= 0)
        return server;
    return server > 0 ? ALM_MIN(server, session->timeout_ms) : session->timeout_ms;
}

void alm_cursor_context(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    cursor->mem = (alm_mem){.limit_bytes = session->db->query_mem_bytes,
                            .parent = alm_session_memory(session),
                            .name = "query",
                            .setting = "query.memory.max"};
    alm_arena_init(&cursor->arena, &cursor->mem);
    cursor->cx = (alm_ctx){.arena = &cursor->arena,
                           .mem = &cursor->mem,
                           .lasting = alm_session_memory(session),
                           .files = alm_session_files(session),
                           .symbols = alm_session_symbols(session),
                           .conf = session->db->conf,
                           .io = session->db->io,
                           .zones = session->db->zones,
                           .cancel = &session->cancel,
                           .yield_ns = &cursor->yield_ns,
                           .user = session->user,
                           .session = session,
                           .may_wait = session->brief_ns == 0};
    cursor->cx.started_ns = alm_monotonic_ns();
    cursor->cx.now_ns = session->db->io->wall_ns(session->db->io);
    cursor->map_faults = session->db->io->map_faults(session->db->io);
    cursor->cx.timeout_ms = alm_session_timeout_ms(session);
    cursor->cx.deadline_ns =
        cursor->cx.timeout_ms > 0 ? cursor->cx.started_ns + cursor->cx.timeout_ms * 1000000 : 0;
    cursor->cx.seed = alm_hash_u128(session->seed, cursor->statement);
}

void alm_cursor_begin(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    atomic_store(&session->cancel,
                 atomic_load(&session->db->stopping) || atomic_load(&session->gone));
    cursor->statement = atomic_fetch_add(&session->db->next_statement, 1) + 1;
    session->last_statement = cursor->statement;
    atomic_store(&session->statement, cursor->statement);
    alm_cursor_context(cursor);
}

void alm_cursor_ages(alm_cursor *cursor)
{
    const struct alm_conf *conf = cursor->session->db->conf;
    cursor->cx.snapshot_age_ms = conf != NULL ? conf->storage_snapshot_age_max : 0;
    cursor->cx.snapshot_until_ns = cursor->cx.snapshot_age_ms > 0
                                       ? alm_monotonic_ns() + cursor->cx.snapshot_age_ms * 1000000
                                       : 0;
}

alm_status alm_cursor_keeps_table(alm_cursor *cursor, const alm_table **table)
{
    alm_snapshot *narrow = NULL;
    ALM_TRY(alm_snapshot_narrow(&cursor->cx, cursor->snapshot, *table, &narrow));
    if (*table != NULL) {
        *table = alm_snapshot_find(narrow, alm_str_of((*table)->name));
        ALM_ASSERT(*table != NULL);
    }
    alm_snapshot_release(cursor->snapshot);
    cursor->snapshot = narrow;
    cursor->cx.snapshot_until_ns = 0;
    return ALM_OK;
}

bool alm_cursor_is_aged(const alm_cursor *cursor, alm_error *err)
{
    if (cursor->snapshot == NULL || cursor->cx.snapshot_until_ns == 0 ||
        alm_monotonic_ns() < cursor->cx.snapshot_until_ns)
        return false;
    alm_ctx cx = {.snapshot_age_ms = cursor->cx.snapshot_age_ms};
    (void)alm_fail_age(&cx);
    *err = cx.err;
    return true;
}

alm_status alm_cursor_look_again(alm_cursor *cursor)
{
    alm_snapshot_release(cursor->snapshot);
    cursor->snapshot = NULL;
    alm_cursor_ages(cursor);
    return alm_snapshot_acquire(&cursor->cx, cursor->session->db->storage, &cursor->snapshot);
}

void alm_cursor_access_over(alm_cursor *cursor)
{
    if (cursor->rights == NULL)
        return;
    alm_account_leave_maker(cursor);
    cursor->cx.access = NULL;
    cursor->cx.user = cursor->session->user;
    cursor->cx.symbols = alm_session_symbols(cursor->session);
    alm_rights_release(cursor->rights);
    cursor->rights = NULL;
}

alm_mem *alm_cursor_memory(alm_cursor *cursor)
{
    return &cursor->mem;
}

void alm_cursor_ended(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    uint64_t mine = cursor->statement;
    alm_cursor **at = &session->open;
    while (cursor->is_open && *at != cursor)
        at = &(*at)->open_next;
    if (cursor->is_open)
        *at = cursor->open_next;
    cursor->is_open = false;
    /* what the session is known by from here on: a cursor that stands still, if there is one */
    (void)atomic_compare_exchange_strong(&session->statement, &mine,
                                         session->open != NULL ? session->open->statement : 0);
}

void alm_cursor_over(alm_cursor *cursor)
{
    alm_cursor_ended(cursor);
    alm_cursor_access_over(cursor);
    alm_mem_release(&cursor->mem, cursor->snapshot_bytes);
    cursor->snapshot_bytes = 0;
    alm_arena_deinit(&cursor->arena);
}

void alm_cursor_waited(alm_cursor *cursor, int64_t nanos)
{
    if (cursor->cx.deadline_ns > 0)
        cursor->cx.deadline_ns += nanos;
}

void alm_cursor_restart_time_limit(alm_cursor *cursor)
{
    if (cursor->cx.timeout_ms > 0)
        cursor->cx.deadline_ns = alm_monotonic_ns() + cursor->cx.timeout_ms * 1000000;
}

void alm_cursor_resume(alm_cursor *cursor)
{
    alm_session *session = cursor->session;
    /* a cancel that came while it stood still was for it */
    if (atomic_load(&session->statement) != cursor->statement)
        atomic_store(&session->cancel,
                     atomic_load(&session->db->stopping) || atomic_load(&session->gone));
    atomic_store(&session->statement, cursor->statement);
    alm_cursor_restart_time_limit(cursor);
}

void alm_cursor_note(alm_cursor *cursor, bool warning, const char *sqlstate, const char *format,
                     ...)
{
    enum { TEXT_BYTES = 512 };
    char *text = NULL;
    alm_notice *notice = NULL;
    va_list args;
    va_start(args, format);
    if (alm_arena_bytes(&cursor->cx, &cursor->arena, TEXT_BYTES, &text) == ALM_OK &&
        ALM_NEW(&cursor->cx, &cursor->arena, &notice) == ALM_OK) {
        (void)vsnprintf(text, TEXT_BYTES, format, args);
        *notice = (alm_notice){.warning = warning, .sqlstate = sqlstate, .text = text};
        if (cursor->last_notice != NULL)
            cursor->last_notice->next = notice;
        else
            cursor->notices = notice;
        cursor->last_notice = notice;
    } else {
        alm_error_clear(&cursor->cx); /* what it says is not worth a failure */
    }
    va_end(args);
}

bool alm_cursor_has_rows(const alm_cursor *cursor)
{
    return cursor->has_rows;
}
int32_t alm_cursor_ts_col(const alm_cursor *cursor)
{
    return cursor->ts_col;
}
uint64_t alm_cursor_statement(const alm_cursor *cursor)
{
    return cursor->statement;
}
int64_t alm_cursor_affected(const alm_cursor *cursor)
{
    return cursor->affected;
}
int64_t alm_cursor_rows_before(const alm_cursor *cursor)
{
    return cursor->rows_before;
}

const char *alm_cursor_tag(const alm_cursor *cursor)
{
    return cursor->tag;
}
const alm_notice *alm_cursor_notice(const alm_cursor *cursor)
{
    return cursor->notices;
}

const alm_plan_col *alm_cursor_cols(const alm_cursor *cursor, uint32_t *n)
{
    *n = cursor->n_cols;
    return cursor->cols;
}

void alm_cursor_times(const alm_cursor *cursor, int64_t *compile_ns, int64_t *execute_ns)
{
    *compile_ns = cursor->compile_ns;
    *execute_ns = cursor->execute_ns;
}
