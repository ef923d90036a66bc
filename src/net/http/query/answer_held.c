/* held.c - the rows of a statement over HTTP go to a held result, and answers are read from one: see run_state.h. */
#include "base/conf.h"
#include "codec/json_text.h"
#include "net/http/query/run_state.h"
#include "net/shared.h"

alm_status alm_query_held_head(alm_query_run *run, const alm_plan_col *cols)
{
    ALM_TRY(alm_answer_json_facts(run, cols));
    ALM_TRY(alm_held_new(&run->cx, alm_session_identity(run->session),
                         (alm_str){run->out.ptr, run->out.len}, &run->held));
    run->out.len = 0;
    return ALM_OK;
}

/* Of the rows that were added behind byte `from` of the tail, those of the window go out at once. */
static alm_status send_added(alm_query_run *run, size_t from, uint32_t rows)
{
    const alm_buf *tail = alm_held_tail(run->held);
    const int64_t first = alm_held_rows(run->held);
    const int64_t lo = ALM_MAX(run->opt.window.lo - first, (int64_t)0);
    const int64_t hi = ALM_MIN(run->opt.window.hi - first, (int64_t)rows);
    if (lo >= hi)
        return ALM_OK;
    const char *end = tail->ptr + tail->len;
    const char *begin = alm_held_skip_rows(tail->ptr + from, end, lo);
    const char *stop = hi == rows ? end : alm_held_skip_rows(begin, end, hi - lo);
    if (run->rows_sent == 0 && *begin == ',')
        begin++;
    run->rows_sent += hi - lo;
    return alm_buf_append(&run->cx, &run->out, begin, (size_t)(stop - begin));
}

/* The next rows of the batch: whole ones, as each is a line of what is held. */
static alm_status hold_some(alm_query_run *run, bool send)
{
    const int64_t bytes_max = run->cx.conf->http_snapshot_result_bytes_max;
    const uint32_t first = run->row;
    const uint32_t to = first + ALM_MIN(alm_held_room(run->held), run->row_end - first);
    alm_buf *tail = alm_held_tail(run->held);
    const size_t from = tail->len;
    ALM_TRY(alm_result_rows(&run->cx, run->writer, run->batch, &run->row, to, ALM_HELD_BLOCK_BYTES,
                            tail));
    if (alm_result_in_row(run->writer))
        ALM_TRY(alm_result_rows(&run->cx, run->writer, run->batch, &run->row, run->row + 1,
                                SIZE_MAX, tail));
    const uint32_t rows = run->row - first;
    ALM_ASSERT(rows > 0);
    if (send)
        ALM_TRY(send_added(run, from, rows));
    if (run->row == run->row_end)
        run->batch = NULL;
    ALM_TRY(alm_held_added(&run->cx, run->held, rows, bytes_max, &run->held_full));
    atomic_store_explicit(&run->tagged.rows, alm_held_rows(run->held), memory_order_relaxed);
    return ALM_OK;
}

/* *done: none comes, or no more are held. */
static alm_status answer_held_next_batch(alm_query_run *run, bool *done)
{
    alm_batch *batch = NULL;
    if (alm_cursor_next(run->cursor, &batch) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    if (batch != NULL)
        run->rows_seen += batch->rows;
    *done = batch == NULL || run->held_full;
    if (*done || batch->rows == 0)
        return ALM_OK;
    run->batch = batch;
    run->row = 0;
    run->row_end = batch->rows;
    return ALM_OK;
}

/* The first page goes out when the rows behind it take longer than this. */
static const int64_t PAGE_NS = 50 * INT64_C(1000000);

static bool piece_is_due(const alm_query_run *run, int64_t begin_ns)
{
    const bool page = !run->begun && run->rows_sent > 0 &&
                      alm_held_rows(run->held) >= run->opt.window.hi &&
                      alm_monotonic_ns() - begin_ns >= PAGE_NS;
    return page || run->out.len >= run->piece_bytes;
}

/* Rows of the cursor to where they are held, all of them, or as many as one result may have; with `send` until a piece is there to go
 * out. *done: no more is to come. */
static alm_status hold_rows(alm_query_run *run, bool send, bool *done)
{
    const int64_t begin_ns = alm_monotonic_ns();
    *done = false;
    if (run->batch != NULL && alm_cursor_goes_on(run->cursor) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    while (!*done && !(send && piece_is_due(run, begin_ns))) {
        if (run->batch == NULL)
            ALM_TRY(answer_held_next_batch(run, done));
        if (run->batch != NULL)
            ALM_TRY(hold_some(run, send));
        *done |= run->batch != NULL && run->held_full;
    }
    run->held_ns += alm_monotonic_ns() - begin_ns;
    return ALM_OK;
}

static alm_status answer_held_enter(alm_query_run *run)
{
    const alm_net_shared *shared = alm_conn_arg(run->h->conn);
    alm_questions *questions = NULL;
    ALM_TRY(alm_cursor_questions(&run->cx, run->cursor, &questions));
    return alm_held_enter(&run->cx, shared->held, run->held, questions,
                          alm_held_rows(run->held) == run->rows_seen);
}

static alm_status answer_held_put_head(alm_query_run *run)
{
    const alm_str facts = alm_held_head(run->held);
    ALM_TRY(alm_buf_text(&run->cx, &run->out, "{"));
    if (!run->opt.no_meta)
        ALM_TRY(alm_buf_append(&run->cx, &run->out, facts.ptr, facts.len));
    return alm_buf_text(&run->cx, &run->out, "\"dataset\":[");
}

/* Part of the answer is out already: the error goes behind the rows. */
static alm_status end_by_error(alm_query_run *run)
{
    const alm_error err = run->err;
    run->failed = false;
    ALM_TRY(alm_buf_text(&run->cx, &run->out, "],\"error\":"));
    ALM_TRY(alm_json_put_string(&run->cx, &run->out, alm_str_of(err.msg)));
    return alm_buf_printf(&run->cx, &run->out, ",\"position\":%lld}",
                          (long long)alm_http_units_before(run->query, err.sql_pos));
}

static alm_status hold_and_send(alm_query_run *run)
{
    bool done = false;
    if (!run->held_begun)
        ALM_TRY(answer_held_put_head(run));
    run->held_begun = true;
    const alm_status status = hold_rows(run, true, &done);
    if (status != ALM_OK && run->failed && run->begun)
        return end_by_error(run);
    if (status != ALM_OK || !done)
        return status;
    ALM_TRY(answer_held_enter(run));
    run->finished = true;
    return alm_answer_json_end(run);
}

alm_status alm_query_hold_piece(alm_query_run *run)
{
    bool done = false;
    if (run->opt.window.last == 0)
        return hold_and_send(run);
    if (!run->held_begun) { /* which rows these are is known when all are there */
        run->held_begun = true;
        ALM_TRY(hold_rows(run, false, &done));
        ALM_TRY(answer_held_enter(run));
    }
    return alm_query_held_piece(run);
}

/* From the first row that is asked for. */
static alm_status begin_held(alm_query_run *run)
{
    const int64_t rows = alm_held_rows(run->held);
    run->held_ready = true;
    if (run->opt.window.last > 0)
        run->opt.window =
            (alm_row_window){.lo = ALM_MAX(rows - run->opt.window.last, (int64_t)0), .hi = rows};
    run->held_next = run->opt.window.lo;
    return answer_held_put_head(run);
}

alm_status alm_query_held_piece(alm_query_run *run)
{
    const bool begins = !run->held_ready;
    int64_t n = 0;
    if (begins)
        ALM_TRY(begin_held(run));
    ALM_TRY(alm_held_read(&run->cx, run->held, run->held_next, run->opt.window.hi, run->piece_bytes,
                          begins, &run->out, &n));
    run->held_next += n;
    run->rows_sent += n;
    if (run->held_next < ALM_MIN(run->opt.window.hi, alm_held_rows(run->held)))
        return ALM_OK;
    run->finished = true;
    return alm_answer_json_end(run);
}
