/*
 * fetch.c - the rows of a cursor, batch by batch, and its end. A cursor on a network thread that works too long yields: it starts over on
 * a query thread, and passes over the rows that it has given.
 */
#include <stdlib.h>

#include "base/look.h"
#include "codec/parquet/writer.h"
#include "session/access/standing.h"
#include "session/statement/statement.h"

alm_status alm_cursor_texts(alm_cursor *c, const char *column, const char *const *texts, size_t n)
{
    alm_ctx *cx = &c->cx;
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->cols));
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->ready));
    ALM_TRY(ALM_NEW(cx, cx->arena, &c->ready->cols));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(column), &c->cols[0].name));
    c->cols[0].type = ALM_TY(STRING);
    c->n_cols = 1;
    c->has_rows = true;
    ALM_TRY(alm_vec_new(cx, cx->arena, ALM_TY(STRING), n, &c->ready->cols[0]));
    alm_view *views = c->ready->cols[0].data;
    for (size_t i = 0; i < n; i++)
        views[i] = alm_view_of(alm_str_of(texts[i]));
    c->ready->n_cols = 1;
    c->ready->rows = (uint32_t)n;
    return ALM_OK;
}

static alm_status next_ready(alm_cursor *c, alm_batch **out)
{
    const uint32_t left = c->ready->rows - c->ready_row;
    if (left == 0) {
        *out = NULL;
        return ALM_OK;
    }
    alm_batch *piece = NULL;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &piece));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, c->ready->n_cols, &piece->cols));
    for (uint32_t i = 0; i < c->ready->n_cols; i++) {
        piece->cols[i] = c->ready->cols[i];
        piece->cols[i].data =
            (char *)c->ready->cols[i].data + c->ready_row * c->ready->cols[i].width;
    }
    piece->n_cols = c->ready->n_cols;
    piece->rows = ALM_MIN(left, (uint32_t)ALM_BATCH_ROWS);
    c->ready_row += piece->rows;
    *out = piece;
    return ALM_OK;
}

/* The rows of a batch behind the first n; its vectors belong to the operators until the next call. */
static alm_status behind(alm_cursor *c, const alm_batch *batch, uint32_t n, alm_batch **out)
{
    alm_batch *rest = NULL;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &rest));
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, batch->n_cols + 1, &rest->cols));
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

static alm_status next_of_plan(alm_cursor *c, alm_batch **out)
{
    if (c->exec == NULL)
        ALM_TRY(alm_cursor_open_plan(c));
    return alm_exec_next(&c->cx, c->exec, out);
}

/* What it has made is for nothing. */
static void start_over(alm_cursor *c)
{
    alm_error_clear(&c->cx);
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    c->exec = NULL;
    c->yielded = true;
    c->rows_to_pass = c->rows_before + c->rows_given;
}

static alm_status next_brief(alm_cursor *c, alm_batch **out)
{
    const int64_t until_ns = c->yielded || c->plan->effects ? 0 : c->session->brief_ns;
    atomic_store_explicit(&c->yield_ns, until_ns, memory_order_relaxed);
    const alm_status st = next_of_plan(c, out);
    atomic_store_explicit(&c->yield_ns, 0, memory_order_relaxed);
    ALM_ASSERT(st != ALM_E_YIELD || until_ns != 0);
    return st;
}

static alm_status next_of_any(alm_cursor *c, alm_batch **out)
{
    if (!c->returns)
        return c->ready != NULL ? next_ready(c, out) : next_brief(c, out);
    alm_returning_next(c, out);
    return ALM_OK;
}

/* The next batch without the rows that are to be skipped. A plan gives the same rows in the same order each time in one
 * snapshot, so a cursor that yielded skips as many rows as it has given. */
static alm_status next_batch(alm_cursor *c, alm_batch **out)
{
    ALM_TRY(next_of_any(c, out));
    while (*out != NULL && c->rows_to_pass > 0 && c->rows_to_pass >= (*out)->rows) {
        c->rows_to_pass -= (*out)->rows;
        ALM_TRY(next_of_any(c, out));
    }
    if (*out == NULL || c->rows_to_pass == 0)
        return ALM_OK;
    const uint32_t n = (uint32_t)c->rows_to_pass;
    c->rows_to_pass = 0;
    return behind(c, *out, n, out);
}

/* Its client may keep a cursor that failed until the end of a block: memory and temporary files go at once. */
static void give_up(alm_cursor *c)
{
    c->failed = true;
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    c->exec = NULL;
}

alm_status alm_cursor_next(alm_cursor *c, alm_batch **out)
{
    *out = NULL;
    if (!c->has_rows)
        return ALM_OK;
    if (c->failed)
        return alm_session_failed(c->session, &c->cx);
    const int64_t start = alm_monotonic_ns();
    c->cx.may_wait = c->session->brief_ns == 0;
    alm_look_begin();
    alm_status st = next_batch(c, out);
    alm_statement_looked(c->prepared != NULL ? c->prepared->text : (alm_str){"", 0});
    if (st == ALM_E_YIELD) {
        *out = NULL;
        start_over(c);
        c->execute_ns += alm_monotonic_ns() - start;
        return st;
    }
    if (st == ALM_OK)
        st = alm_cursor_check_maps(c);
    if (st == ALM_OK) /* behind the work: it may have taken long */
        st = alm_cursor_check(c);
    c->execute_ns += alm_monotonic_ns() - start;
    if (st != ALM_OK) {
        *out = NULL;
        give_up(c);
        return alm_session_failed(c->session, &c->cx);
    }
    if (*out != NULL && c->counted)
        alm_count(&c->session->db->counters.by[c->session->by].rows, (*out)->rows);
    c->rows_given += *out != NULL ? (*out)->rows : 0;
    return ALM_OK;
}

/* Rows that the cursor has made already, as those of RETURNING and SHOW; -1: it makes them as they are asked for. */
static int64_t rows_made(const alm_cursor *c)
{
    if (c->returns)
        return alm_returning_rows(c);
    return c->ready != NULL ? (int64_t)(c->ready->rows - c->ready_row) : -1;
}

/*
 * Leaves out the rows before the last options.last_rows, where the plan does not. Rows that are not made yet are counted by
 * running the plan to its end; it then starts over in the same snapshot, with the time limit of a new execution.
 */
alm_status alm_cursor_skip_to_last(alm_cursor *c)
{
    if (c->options.last_rows == 0 || !c->has_rows || alm_cursor_plan_limit(c) > 0)
        return ALM_OK;
    int64_t rows = rows_made(c);
    if (rows < 0) {
        alm_batch *batch = NULL;
        do
            ALM_TRY(alm_cursor_next(c, &batch));
        while (batch != NULL);
        rows = c->rows_given;
        c->rows_given = 0;
        start_over(c);
        alm_cursor_restart_time_limit(c);
    }
    c->rows_before = ALM_MAX(rows - c->options.last_rows, (int64_t)0);
    c->rows_to_pass = c->rows_before;
    return ALM_OK;
}

/* Rows that were read since the statement began may be zeros in the place of bytes that were gone. */
alm_status alm_cursor_check_maps(alm_cursor *c)
{
    const alm_io *io = c->session->db->io;
    if (io->map_faults(io) == c->map_faults)
        return ALM_OK;
    return alm_fail(
        &c->cx, ALM_E_IO, -1,
        "a file of the database could not be read: the disk failed, or the file was cut");
}

alm_status alm_cursor_still(alm_cursor *c)
{
    const alm_status st = alm_cursor_check(c);
    if (st == ALM_OK)
        return ALM_OK;
    c->failed = true;
    return alm_session_failed(c->session, &c->cx);
}

alm_status alm_cursor_goes_on(alm_cursor *c)
{
    if (alm_check(&c->cx) == ALM_OK)
        return alm_cursor_still(c);
    c->failed = true;
    return alm_session_failed(c->session, &c->cx);
}

static void count_end(const alm_cursor *c)
{
    alm_db_counters *counters = &c->session->db->counters;
    if (!c->counted)
        return;
    alm_count(&counters->by[c->session->by].completed, !c->failed);
    alm_times_add(&counters->statements, c->compile_ns + c->execute_ns);
}

void alm_cursor_close(alm_cursor *c)
{
    if (c == NULL)
        return;
    count_end(c);
    if (c->release != NULL)
        c->release(c);
    alm_pq_writer_free(c->parquet);
    if (c->exec != NULL)
        alm_exec_close(c->exec);
    alm_kept_plan_release(c->kept);
    if (c->snapshot != NULL)
        alm_snapshot_release(c->snapshot);
    alm_cursor_over(c);
    alm_statement_release(c);
    free(c);
}
