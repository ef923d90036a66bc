/* run.c - see run.h. */
#include "net/http/query/run_state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/number.h"
#include "base/utf8.h"
#include "net/http/login/login.h"
#include "net/http/query/json.h"
#include "net/shared.h"

/* Statements longer than this, with their parameters and names of columns, are parsed on a query thread. */
enum { INLINE_TEXT_MAX = 32 << 10 };

/* ---------------------------------------------------------------- statement */

alm_status alm_query_failed(alm_query_run *run, const alm_error *err)
{
    run->failed = true;
    run->finished = true;
    run->err = *err;
    return err->code;
}

alm_status alm_query_open(alm_query_run *run, const alm_execute_options *options)
{
    const alm_status status = alm_execute_with(run->session, run->prepared, run->values,
                                               run->n_values, options, &run->cursor);
    return status == ALM_OK || status == ALM_E_YIELD
               ? status
               : alm_query_failed(run, alm_session_error(run->session));
}

/* X-Query-Id: N, by which the statement can be ended. */
static alm_status add_query_id(alm_query_run *run)
{
    static const char name[] = "X-Query-Id: ";
    const size_t had = strlen(run->opt.headers);
    char *lines = NULL;
    ALM_TRY(
        alm_arena_bytes(&run->cx, &run->arena, had + sizeof name + ALM_LONG_TEXT_MAX + 3, &lines));
    (void)memcpy(lines, run->opt.headers, had);
    (void)memcpy(lines + had, name, sizeof name - 1);
    size_t n = had + sizeof name - 1;
    n += alm_uint64_format(alm_cursor_statement(run->cursor), lines + n);
    (void)memcpy(lines + n, "\r\n", 3);
    run->opt.headers = lines;
    return ALM_OK;
}

/* What the answer is made in is memory of the statement from here on. */
static void charge_cursor(alm_query_run *run)
{
    ALM_ASSERT(run->out.cap == 0 && run->packed.cap == 0);
    run->cx.mem = alm_cursor_memory(run->cursor);
    alm_buf_init(&run->out, run->cx.mem);
    alm_buf_init(&run->packed, run->cx.mem);
}

/* With all that has memory of it, the cursor last. */
static void close_cursor(alm_query_run *run)
{
    if (run->opt.format->ops->close != NULL)
        run->opt.format->ops->close(run);
    alm_held_release(run->held);
    alm_packer_free(run->packer);
    run->held = NULL;
    run->packer = NULL;
    run->batch = NULL;
    alm_buf_deinit(&run->out);
    alm_buf_deinit(&run->packed);
    run->cx.mem = &run->mem;
    alm_buf_init(&run->out, &run->mem);
    alm_buf_init(&run->packed, &run->mem);
    alm_cursor_close(run->cursor);
    run->cursor = NULL;
}

/* The cursor of the rows that are asked for. A held result keeps all of them. */
static alm_status open_answer(alm_query_run *run)
{
    const alm_execute_options options = {.last_rows = run->opt.hold ? 0 : run->opt.window.last,
                                         .count_all = run->opt.count_all};
    ALM_TRY(alm_query_open(run, &options));
    if (options.last_rows == 0)
        return ALM_OK;
    run->rows_seen = alm_cursor_rows_before(run->cursor);
    run->opt.window = (alm_row_window){.lo = run->rows_seen, .hi = INT64_MAX};
    return ALM_OK;
}

static alm_status query_run_execute(alm_query_run *run)
{
    if (run->opt.params.ptr != NULL)
        ALM_TRY(alm_query_json_values(&run->cx, run->session, run->prepared, run->opt.params,
                                      &run->values, &run->n_values));
    ALM_TRY(open_answer(run));
    ALM_TRY(add_query_id(run));
    charge_cursor(run);
    return alm_query_begin_answer(run);
}

static alm_status make_piece(alm_query_run *run)
{
    if (run->opt.held != NULL) {
        ALM_TRY(alm_query_held_piece(run));
        return alm_query_pack_piece(run);
    }
    if (run->prepared == NULL)
        ALM_TRY(alm_script_prepare(run));
    ALM_TRY(alm_script_run_leading(run));
    if (run->cursor == NULL)
        ALM_TRY(query_run_execute(run));
    if (!run->finished)
        ALM_TRY(alm_query_fill_piece(run));
    ALM_TRY(alm_script_commit(run));
    return alm_query_pack_piece(run);
}

static void query_run_work(void *arg)
{
    alm_query_run *run = arg;
    if (make_piece(run) == ALM_OK)
        return;
    if (!run->failed)
        (void)alm_query_failed(run, &run->cx.err);
    alm_script_drop(run);
}

/* ------------------------------------------------------------------ delivery */

static void query_run_next_piece(alm_query_run *run);

static void reply_failed(alm_query_run *run)
{
    alm_http *http = run->h;
    if (http->head_sent) {
        alm_http_stream_break(http);
        return;
    }
    const uint64_t number = alm_session_last_statement(run->session);
    if (number != 0)
        alm_http_add_headers(http, "X-Query-Id: %llu\r\n", (unsigned long long)number);
    alm_http_reply_error(http, alm_status_http(run->err.code), run->query, run->err.msg,
                         ALM_MAX(run->err.sql_pos, 0));
}

/* The next piece is made while this one is sent; only while nothing waits in the socket, so that a client that
 * reads slowly has one piece waiting, and at most one more that is made. */
static bool query_run_send_beside(alm_query_run *run)
{
    alm_http *http = run->h;
    if (run->finished || alm_conn_unsent(http->conn) > 0)
        return false;
    alm_buf piece = alm_buf_renew(&run->out);
    query_run_next_piece(run);
    alm_http_stream_chunk(http, &piece);
    alm_buf_deinit(&piece);
    return true;
}

static int64_t places_max(const alm_query_run *run)
{
    const int64_t max = run->opt.places_max != NULL ? *run->opt.places_max : -1;
    return max == 0 && run->opt.places_0_is_any ? -1 : max;
}

/* Before the end of the answer: who has that may come again, on another lane. */
static void query_run_leave(alm_query_run *run)
{
    alm_places_leave(&run->place, places_max(run));
    if (run->cursor != NULL)
        alm_cursor_ended(run->cursor);
    alm_tagged_leave(&run->tagged);
}

static void query_run_deliver(alm_query_run *run)
{
    alm_http *http = run->h;
    if (run->failed || run->finished)
        query_run_leave(run);
    if (run->failed) {
        reply_failed(run);
    } else if (run->finished && !http->head_sent) {
        const bool rows = run->held != NULL || alm_cursor_has_rows(run->cursor);
        alm_http_reply(http, 200, rows ? run->opt.format->type : "application/json; charset=utf-8",
                       run->opt.headers, (alm_str){run->out.ptr, run->out.len});
    } else {
        if (!http->head_sent)
            alm_http_stream_begin(http, 200, run->opt.format->type, run->opt.headers);
        if (query_run_send_beside(run))
            return;
        alm_http_stream_chunk(http, &run->out);
        if (run->finished)
            alm_http_stream_end(http);
    }
    if (run->finished) {
        /* the snapshot goes now, not when the client sends its next request */
        close_cursor(run);
    } else if (alm_conn_unsent(http->conn) > run->piece_bytes) {
        run->waiting = true;
        run->waiting_since_ns = alm_monotonic_ns();
        alm_conn_pause(http->conn);
    } else {
        query_run_next_piece(run);
    }
}

static void query_run_work_done(alm_conn *conn, void *arg)
{
    alm_query_run *run = arg;
    (void)conn;
    query_run_deliver(run);
    alm_http_finished(run->h);
}

static void query_run_next_piece(alm_query_run *run)
{
    alm_http_work(run->h, query_run_work, query_run_work_done, run);
}

void alm_query_run_drained(alm_http *http)
{
    alm_query_run *run = http->work;
    if (run == NULL || !run->waiting)
        return;
    run->waiting = false;
    if (run->cursor != NULL)
        alm_cursor_waited(run->cursor, alm_monotonic_ns() - run->waiting_since_ns);
    query_run_next_piece(run);
    alm_conn_resume(http->conn);
}

bool alm_query_run_is_stuck(alm_http *http)
{
    const alm_query_run *run = http->work;
    const int64_t limit_ms = http->cx.conf->http_send_timeout;
    if (run == NULL || !run->waiting)
        return false;
    const alm_error *why;
    alm_error aged;
    const int64_t waited_ms = (alm_monotonic_ns() - run->waiting_since_ns) / 1000000;
    if (run->cursor != NULL && alm_session_take_cancel(run->session, &why)) {
        alm_log_info("http", "an answer that waited for its reader was broken off: %s", why->msg);
        return true;
    }
    if (run->cursor != NULL && alm_cursor_is_aged(run->cursor, &aged)) {
        alm_log_warn("http", "an answer that waited for its reader was broken off: %s", aged.msg);
        return true;
    }
    if (waited_ms < limit_ms)
        return false;
    alm_log_warn("http",
                 "an answer was broken off: its client has read nothing of it for longer than "
                 "http.send.timeout (%lld ms)",
                 (long long)limit_ms);
    return true;
}

void alm_query_run_close(alm_http *http)
{
    alm_query_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    query_run_leave(run);
    close_cursor(run);
    alm_prepared_free(run->prepared);
    alm_prepared_free(run->following);
    alm_arena_deinit(&run->arena);
    ALM_ASSERT(atomic_load(&run->mem.used_bytes) == 0);
    free(run);
}

/* --------------------------------------------------------------------- start */

/* Into the piece what can be had here; ALM_E_YIELD: the rest takes longer than others can wait. */
static alm_status run_briefly(alm_query_run *run)
{
    alm_session_brief(run->session, true);
    alm_status status = query_run_execute(run);
    if (status == ALM_OK && !run->finished && !alm_cursor_is_short(run->cursor))
        status = ALM_E_YIELD;
    if (status == ALM_OK && !run->finished)
        status = alm_query_fill_piece(run);
    alm_session_brief(run->session, false);
    return status;
}

/* Short statements run here and now; anything else goes to a query thread. */
static bool run_inline(alm_query_run *run)
{
    const size_t text = run->query.len + run->opt.cols.len + run->opt.params.len;
    if (text > INLINE_TEXT_MAX || run->opt.window.last > 0 || run->opt.held != NULL ||
        run->opt.hold)
        return false;
    alm_status status = alm_script_prepare(run);
    if (status == ALM_OK && run->script)
        return false;
    if (status == ALM_OK && !alm_prepared_is_short(run->session, run->prepared))
        return false;
    if (status == ALM_OK)
        status = run_briefly(run);
    if (status == ALM_E_YIELD)
        return false;
    if (status == ALM_OK)
        status = alm_query_pack_piece(run);
    if (status != ALM_OK && !run->failed)
        (void)alm_query_failed(run, &run->cx.err);
    return true;
}

/* http.security.max.response.rows */
static void cut_window(alm_row_window *window, int64_t rows_max)
{
    window->last = ALM_MIN(window->last, rows_max);
    if (window->lo <= INT64_MAX - rows_max)
        window->hi = ALM_MIN(window->hi, window->lo + rows_max);
}

static void query_run_refuse(alm_query_run *run)
{
    alm_http *http = run->h;
    char why[128];
    (void)snprintf(why, sizeof(why), "%s requests of that kind run already, try again",
                   run->opt.limit_name);
    alm_http_add_headers(http, "Retry-After: 1\r\n");
    alm_http_reply_error(http, 429, run->query, why, 0);
}

static void query_run_begin(alm_query_run *run)
{
    alm_http *http = run->h;
    if (run->opt.tag.ptr != NULL)
        alm_tagged_enter(((const alm_net_shared *)alm_conn_arg(http->conn))->tagged, &run->tagged,
                         run->opt.tag, run->session);
    if (run_inline(run))
        query_run_deliver(run);
    else
        query_run_next_piece(run);
}

/* For a place: it has one now, or it waited in vain. */
static void query_run_waited(alm_conn *conn, void *arg)
{
    alm_query_run *run = arg;
    (void)conn;
    if (run->place.has)
        query_run_begin(run);
    else
        query_run_refuse(run);
    alm_http_finished(run->h);
}

void alm_query_run_closing(alm_http *http)
{
    alm_query_run *run = http->work;
    if (run != NULL)
        alm_places_give_up(&run->place);
}

void alm_query_run_start(alm_http *http, alm_str query, const alm_query_options *options)
{
    alm_session *session = alm_http_session(http);
    alm_query_run *run = NULL;
    if (session != NULL && !alm_utf8_is_valid(query))
        alm_http_reply_error(http, 400, (alm_str){"", 0}, "Bad UTF8 encoding in query text", 0);
    else if (session != NULL && (run = malloc(sizeof *run)) == NULL)
        alm_http_reply_text(http, 503, "out of memory");
    if (run == NULL) {
        alm_held_release(options->held);
        return;
    }
    memset(run, 0, offsetof(alm_query_run, err.msg));
    run->err.msg[0] = 0;
    run->h = http;
    run->session = session;
    run->opt = *options;
    run->query = query;
    run->held = run->opt.held;
    cut_window(&run->opt.window, http->cx.conf->http_security_max_response_rows);
    run->piece_bytes = (size_t)http->cx.conf->http_send_buffer_size;
    run->mem = (alm_mem){.limit_bytes = alm_session_memory_max(session),
                         .parent = alm_session_memory(session),
                         .name = "query",
                         .setting = "query.memory.max"};
    alm_arena_init(&run->arena, &run->mem);
    alm_buf_init(&run->out, &run->mem);
    alm_buf_init(&run->packed, &run->mem);
    run->cx = (alm_ctx){.arena = &run->arena, .mem = &run->mem, .conf = http->cx.conf};
    http->work = run;
    if (run->opt.places == NULL || alm_places_take(run->opt.places, &run->place, places_max(run)))
        query_run_begin(run);
    else if (run->opt.places_wait_ms > 0)
        alm_places_wait(&run->place, run->opt.places, http->conn, run->opt.places_wait_ms,
                        query_run_waited, run);
    else
        query_run_refuse(run);
}
