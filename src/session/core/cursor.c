/*
 * cursor.c - one execution: its context, limits and snapshot, what it tells the client, and its end. What runs in it is the
 * business of statement/ and transfer/.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "session/core/session_state.h"

int64_t alm_session_timeout_ms(const alm_session *s)
{
    const int64_t configured = s->db->conf != NULL ? s->db->conf->query_timeout : 60000;
    const int64_t server = s->timeout_max_ms > 0 ? s->timeout_max_ms : configured;
    if (s->timeout_ms <= 0)
        return server;
    return server > 0 ? ALM_MIN(server, s->timeout_ms) : s->timeout_ms;
}

void alm_cursor_context(alm_cursor *c)
{
    alm_session *s = c->session;
    c->mem = (alm_mem){.limit_bytes = s->db->query_mem_bytes,
                       .parent = alm_session_memory(s),
                       .name = "query",
                       .setting = "query.memory.max"};
    alm_arena_init(&c->arena, &c->mem);
    c->cx = (alm_ctx){.arena = &c->arena,
                      .mem = &c->mem,
                      .lasting = alm_session_memory(s),
                      .files = alm_session_files(s),
                      .symbols = alm_session_symbols(s),
                      .conf = s->db->conf,
                      .io = s->db->io,
                      .zones = s->db->zones,
                      .cancel = &s->cancel,
                      .yield_ns = &c->yield_ns,
                      .user = s->user,
                      .session = s,
                      .may_wait = s->brief_ns == 0};
    c->cx.started_ns = alm_monotonic_ns();
    c->cx.now_ns = s->db->io->wall_ns(s->db->io);
    c->map_faults = s->db->io->map_faults(s->db->io);
    c->cx.timeout_ms = alm_session_timeout_ms(s);
    c->cx.deadline_ns = c->cx.timeout_ms > 0 ? c->cx.started_ns + c->cx.timeout_ms * 1000000 : 0;
    c->cx.seed = alm_hash_u128(s->seed, c->statement);
}

void alm_cursor_begin(alm_cursor *c)
{
    alm_session *s = c->session;
    atomic_store(&s->cancel, atomic_load(&s->db->stopping) || atomic_load(&s->gone));
    c->statement = atomic_fetch_add(&s->db->next_statement, 1) + 1;
    s->last_statement = c->statement;
    atomic_store(&s->statement, c->statement);
    alm_cursor_context(c);
}

void alm_cursor_ages(alm_cursor *c)
{
    const struct alm_conf *conf = c->session->db->conf;
    c->cx.snapshot_age_ms = conf != NULL ? conf->storage_snapshot_age_max : 0;
    c->cx.snapshot_until_ns =
        c->cx.snapshot_age_ms > 0 ? alm_monotonic_ns() + c->cx.snapshot_age_ms * 1000000 : 0;
}

alm_status alm_cursor_keeps_table(alm_cursor *c, const alm_table **table)
{
    alm_snapshot *narrow = NULL;
    ALM_TRY(alm_snapshot_narrow(&c->cx, c->snapshot, *table, &narrow));
    if (*table != NULL) {
        *table = alm_snapshot_find(narrow, alm_str_of((*table)->name));
        ALM_ASSERT(*table != NULL);
    }
    alm_snapshot_release(c->snapshot);
    c->snapshot = narrow;
    c->cx.snapshot_until_ns = 0;
    return ALM_OK;
}

bool alm_cursor_is_aged(const alm_cursor *c, alm_error *err)
{
    if (c->snapshot == NULL || c->cx.snapshot_until_ns == 0 ||
        alm_monotonic_ns() < c->cx.snapshot_until_ns)
        return false;
    alm_ctx cx = {.snapshot_age_ms = c->cx.snapshot_age_ms};
    (void)alm_fail_age(&cx);
    *err = cx.err;
    return true;
}

alm_status alm_cursor_look_again(alm_cursor *c)
{
    alm_snapshot_release(c->snapshot);
    c->snapshot = NULL;
    alm_cursor_ages(c);
    return alm_snapshot_acquire(&c->cx, c->session->db->storage, &c->snapshot);
}

void alm_cursor_access_over(alm_cursor *c)
{
    if (c->rights == NULL)
        return;
    alm_account_leave_maker(c);
    c->cx.access = NULL;
    c->cx.user = c->session->user;
    c->cx.symbols = alm_session_symbols(c->session);
    alm_rights_release(c->rights);
    c->rights = NULL;
}

alm_mem *alm_cursor_memory(alm_cursor *c)
{
    return &c->mem;
}

void alm_cursor_ended(alm_cursor *c)
{
    alm_session *s = c->session;
    uint64_t mine = c->statement;
    alm_cursor **at = &s->open;
    while (c->is_open && *at != c)
        at = &(*at)->open_next;
    if (c->is_open)
        *at = c->open_next;
    c->is_open = false;
    /* what the session is known by from here on: a cursor that stands still, if there is one */
    (void)atomic_compare_exchange_strong(&s->statement, &mine,
                                         s->open != NULL ? s->open->statement : 0);
}

void alm_cursor_over(alm_cursor *c)
{
    alm_cursor_ended(c);
    alm_cursor_access_over(c);
    alm_mem_release(&c->mem, c->snapshot_bytes);
    c->snapshot_bytes = 0;
    alm_arena_deinit(&c->arena);
}

void alm_cursor_waited(alm_cursor *c, int64_t ns)
{
    if (c->cx.deadline_ns > 0)
        c->cx.deadline_ns += ns;
}

void alm_cursor_restart_time_limit(alm_cursor *c)
{
    if (c->cx.timeout_ms > 0)
        c->cx.deadline_ns = alm_monotonic_ns() + c->cx.timeout_ms * 1000000;
}

void alm_cursor_resume(alm_cursor *c)
{
    alm_session *s = c->session;
    /* a cancel that came while it stood still was for it */
    if (atomic_load(&s->statement) != c->statement)
        atomic_store(&s->cancel, atomic_load(&s->db->stopping) || atomic_load(&s->gone));
    atomic_store(&s->statement, c->statement);
    alm_cursor_restart_time_limit(c);
}

void alm_cursor_note(alm_cursor *c, bool warning, const char *sqlstate, const char *format, ...)
{
    enum { TEXT_BYTES = 512 };
    char *text = NULL;
    alm_notice *notice = NULL;
    va_list args;
    va_start(args, format);
    if (alm_arena_bytes(&c->cx, &c->arena, TEXT_BYTES, &text) == ALM_OK &&
        ALM_NEW(&c->cx, &c->arena, &notice) == ALM_OK) {
        (void)vsnprintf(text, TEXT_BYTES, format, args);
        *notice = (alm_notice){.warning = warning, .sqlstate = sqlstate, .text = text};
        if (c->last_notice != NULL)
            c->last_notice->next = notice;
        else
            c->notices = notice;
        c->last_notice = notice;
    } else {
        alm_error_clear(&c->cx); /* what it says is not worth a failure */
    }
    va_end(args);
}

bool alm_cursor_has_rows(const alm_cursor *c)
{
    return c->has_rows;
}
int32_t alm_cursor_ts_col(const alm_cursor *c)
{
    return c->ts_col;
}
uint64_t alm_cursor_statement(const alm_cursor *c)
{
    return c->statement;
}
int64_t alm_cursor_affected(const alm_cursor *c)
{
    return c->affected;
}
int64_t alm_cursor_rows_before(const alm_cursor *c)
{
    return c->rows_before;
}

const char *alm_cursor_tag(const alm_cursor *c)
{
    return c->tag;
}
const alm_notice *alm_cursor_notice(const alm_cursor *c)
{
    return c->notices;
}

const alm_plan_col *alm_cursor_cols(const alm_cursor *c, uint32_t *n)
{
    *n = c->n_cols;
    return c->cols;
}

void alm_cursor_times(const alm_cursor *c, int64_t *compile_ns, int64_t *execute_ns)
{
    *compile_ns = c->compile_ns;
    *execute_ns = c->execute_ns;
}
