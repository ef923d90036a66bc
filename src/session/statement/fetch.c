/*
 * fetch.c - the rows of a cursor, batch by batch, and its end. A cursor on a network thread that works too long yields: it starts over on
 * a query thread, and passes over the rows that it has given.
 */
#include <stdlib.h>

#include "base/look.h"
#include "codec/parquet/writer.h"
#include "session/access/standing.h"
#include "session/statement/statement.h"

alm_status alm_cursor_texts(alm_cursor *cursor, const char *column, const char *const *texts,
                            size_t n)
{
    alm_ctx *cx = &cursor->cx;
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->ready));
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->ready->cols));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(column), &cursor->cols[0].name));
    cursor->cols[0].type = ALM_TY(STRING);
    cursor->n_cols = 1;
    cursor->has_rows = true;
    ALM_TRY(alm_vec_new(cx, cx->arena, ALM_TY(STRING), n, &cursor->ready->cols[0]));
    alm_view *views = cursor->ready->cols[0].data;
    for (size_t i = 0; i < n; i++)
        views[i] = alm_view_of(alm_str_of(texts[i]));
    cursor->ready->n_cols = 1;
    cursor->ready->rows = (uint32_t)n;
    return ALM_OK;
}

static alm_status next_ready(alm_cursor *cursor, alm_batch **out)
{
    const uint32_t left = cursor->ready->rows - cursor->ready_row;
    if (left == 0) {
        *out = NULL;
        return ALM_OK;
    }
    alm_batch *piece = NULL;
    ALM_TRY(ALM_NEW(&cursor->cx, &cursor->arena, &piece));
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, cursor->ready->n_cols, &piece->cols));
    for (uint32_t i = 0; i < cursor->ready->n_cols; i++) {
        piece->cols[i] = cursor->ready->cols[i];
        piece->cols[i].data =
            (char *)cursor->ready->cols[i].data + cursor->ready_row * cursor->ready->cols[i].width;
    }
    piece->n_cols = cursor->ready->n_cols;
    piece->rows = ALM_MIN(left, (uint32_t)ALM_BATCH_ROWS);
    cursor->ready_row += piece->rows;
    *out = piece;
    return ALM_OK;
}

/* The rows of a batch behind the first n; its vectors belong to the operators until the next call. */
static alm_status fetch_behind(alm_cursor *cursor, const alm_batch *batch, uint32_t n,
                               alm_batch **out)
{
    alm_batch *rest = NULL;
    ALM_TRY(ALM_NEW(&cursor->cx, &cursor->arena, &rest));
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, batch->n_cols + 1, &rest->cols));
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        rest->cols[i] = batch->cols[i];
        if (!batch->cols[i].is_const)
            rest->cols[i].data = (char *)batch->cols[i].data + (size_t)n * batch->cols[i].width;
    }
    rest->n_cols = batch->n_cols;
    rest->rows = batch->rows - n;
    *out = rest;
    return ALM_OK;
}

static alm_status next_of_plan(alm_cursor *cursor, alm_batch **out)
{
    if (cursor->exec == NULL)
        ALM_TRY(alm_cursor_open_plan(cursor));
    return alm_exec_next(&cursor->cx, cursor->exec, out);
}

/* What it has made is for nothing. */
static void start_over(alm_cursor *cursor)
{
    alm_error_clear(&cursor->cx);
    if (cursor->exec != NULL)
        alm_exec_close(cursor->exec);
    cursor->exec = NULL;
    cursor->yielded = true;
    cursor->rows_to_pass = cursor->rows_before + cursor->rows_given;
}

static alm_status next_brief(alm_cursor *cursor, alm_batch **out)
{
    const int64_t until_ns =
        cursor->yielded || cursor->plan->effects ? 0 : cursor->session->brief_ns;
    atomic_store_explicit(&cursor->yield_ns, until_ns, memory_order_relaxed);
    const alm_status status = next_of_plan(cursor, out);
    atomic_store_explicit(&cursor->yield_ns, 0, memory_order_relaxed);
    ALM_ASSERT(status != ALM_E_YIELD || until_ns != 0);
    return status;
}

static alm_status next_of_any(alm_cursor *cursor, alm_batch **out)
{
    if (!cursor->returns)
        return cursor->ready != NULL ? next_ready(cursor, out) : next_brief(cursor, out);
    alm_returning_next(cursor, out);
    return ALM_OK;
}

/* The next batch without the rows that are to be skipped. A plan gives the same rows in the same order each time in one
 * snapshot, so a cursor that yielded skips as many rows as it has given. */
static alm_status fetch_next_batch(alm_cursor *cursor, alm_batch **out)
{
    ALM_TRY(next_of_any(cursor, out));
    while (*out != NULL && cursor->rows_to_pass > 0 && cursor->rows_to_pass >= (*out)->rows) {
        cursor->rows_to_pass -= (*out)->rows;
        ALM_TRY(next_of_any(cursor, out));
    }
    if (*out == NULL || cursor->rows_to_pass == 0)
        return ALM_OK;
    const uint32_t n = (uint32_t)cursor->rows_to_pass;
    cursor->rows_to_pass = 0;
    return fetch_behind(cursor, *out, n, out);
}

/* Its client may keep a cursor that failed until the end of a block: memory and temporary files go at once. */
static void fetch_give_up(alm_cursor *cursor)
{
    cursor->failed = true;
    if (cursor->exec != NULL)
        alm_exec_close(cursor->exec);
    cursor->exec = NULL;
}

alm_status alm_cursor_next(alm_cursor *cursor, alm_batch **out)
{
    *out = NULL;
    if (!cursor->has_rows)
        return ALM_OK;
    if (cursor->failed)
        return alm_session_failed(cursor->session, &cursor->cx);
    const int64_t start = alm_monotonic_ns();
    cursor->cx.may_wait = cursor->session->brief_ns == 0;
    alm_look_begin();
    alm_status status = fetch_next_batch(cursor, out);
    alm_statement_looked(cursor->prepared != NULL ? cursor->prepared->text : (alm_str){"", 0});
    if (status == ALM_E_YIELD) {
        *out = NULL;
        start_over(cursor);
        cursor->execute_ns += alm_monotonic_ns() - start;
        return status;
    }
    if (status == ALM_OK)
        status = alm_cursor_check_maps(cursor);
    if (status == ALM_OK) /* behind the work: it may have taken long */
        status = alm_cursor_check(cursor);
    cursor->execute_ns += alm_monotonic_ns() - start;
    if (status != ALM_OK) {
        *out = NULL;
        fetch_give_up(cursor);
        return alm_session_failed(cursor->session, &cursor->cx);
    }
    if (*out != NULL && cursor->counted)
        alm_count(&cursor->session->db->counters.by[cursor->session->by].rows, (*out)->rows);
    cursor->rows_given += *out != NULL ? (*out)->rows : 0;
    return ALM_OK;
}

/* Rows that the cursor has made already, as those of RETURNING and SHOW; -1: it makes them as they are asked for. */
static int64_t rows_made(const alm_cursor *cursor)
{
    if (cursor->returns)
        return alm_returning_rows(cursor);
    return cursor->ready != NULL ? (int64_t)(cursor->ready->rows - cursor->ready_row) : -1;
}

/*
 * Leaves out the rows before the last options.last_rows, where the plan does not. Rows that are not made yet are counted by
 * running the plan to its end; it then starts over in the same snapshot, with the time limit of a new execution.
 */
alm_status alm_cursor_skip_to_last(alm_cursor *cursor)
{
    if (cursor->options.last_rows == 0 || !cursor->has_rows || alm_cursor_plan_limit(cursor) > 0)
        return ALM_OK;
    int64_t rows = rows_made(cursor);
    if (rows < 0) {
        alm_batch *batch = NULL;
        do
            ALM_TRY(alm_cursor_next(cursor, &batch));
        while (batch != NULL);
        rows = cursor->rows_given;
        cursor->rows_given = 0;
        start_over(cursor);
        alm_cursor_restart_time_limit(cursor);
    }
    cursor->rows_before = ALM_MAX(rows - cursor->options.last_rows, (int64_t)0);
    cursor->rows_to_pass = cursor->rows_before;
    return ALM_OK;
}

/* Rows that were read since the statement began may be zeros in the place of bytes that were gone. */
alm_status alm_cursor_check_maps(alm_cursor *cursor)
{
    const alm_io *io = cursor->session->db->io;
    if (io->map_faults(io) == cursor->map_faults)
        return ALM_OK;
    return alm_fail(
        &cursor->cx, ALM_E_IO, -1,
        "a file of the database could not be read: the disk failed, or the file was cut");
}

alm_status alm_cursor_still(alm_cursor *cursor)
{
    const alm_status status = alm_cursor_check(cursor);
    if (status == ALM_OK)
        return ALM_OK;
    cursor->failed = true;
    return alm_session_failed(cursor->session, &cursor->cx);
}

alm_status alm_cursor_goes_on(alm_cursor *cursor)
{
    if (alm_check(&cursor->cx) == ALM_OK)
        return alm_cursor_still(cursor);
    cursor->failed = true;
    return alm_session_failed(cursor->session, &cursor->cx);
}

static void count_end(const alm_cursor *cursor)
{
    alm_db_counters *counters = &cursor->session->db->counters;
    if (!cursor->counted)
        return;
    alm_count(&counters->by[cursor->session->by].completed, !cursor->failed);
    alm_times_add(&counters->statements, cursor->compile_ns + cursor->execute_ns);
}

void alm_cursor_close(alm_cursor *cursor)
{
    if (cursor == NULL)
        return;
    count_end(cursor);
    if (cursor->release != NULL)
        cursor->release(cursor);
    alm_pq_writer_free(cursor->parquet);
    if (cursor->exec != NULL)
        alm_exec_close(cursor->exec);
    alm_kept_plan_release(cursor->kept);
    if (cursor->snapshot != NULL)
        alm_snapshot_release(cursor->snapshot);
    alm_cursor_over(cursor);
    alm_statement_release(cursor);
    free(cursor);
}
