/*
 * pg_run.c - statements of a PG connection as they run: on the loop thread while they are short, else
 * on a query thread, piece by piece. A simple query is a small loop of prepare, execute, rows over the
 * statements of its text; an Execute is one turn of the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "net/pgwire/pg_state.h"

typedef enum step_result { STEP_PIECE, STEP_THREAD, STEP_END } step_result;

static alm_str pg_run_text(const pg_run *run)
{
    if (run->simple || run->sync)
        return (alm_str){run->text, run->text_len};
    size_t n = 0;
    const char *text = alm_prepared_text(run->portal->statement->prepared, &n);
    return (alm_str){text, n};
}

static step_result run_failed(pg_conn *conn)
{
    conn->run.err = *alm_session_error(conn->session);
    conn->run.failed = true;
    return STEP_END;
}

static step_result own_failure(pg_run *run, alm_status code, const char *text)
{
    run->err = (alm_error){.code = code, .sql_pos = -1};
    (void)snprintf(run->err.msg, sizeof(run->err.msg), "%s", text);
    run->failed = true;
    return STEP_END;
}

/* Is there more than white space and semicolons behind the statement? */
static bool pg_run_has_more(const pg_run *run)
{
    return alm_text_goes_on((alm_str){run->text, run->text_len}, run->offset);
}

/*
 * Before a statement runs. Unless it is the last, it begins or goes on with an implicit transaction. So do
 * plain rows even as the last: they wait for nothing then, and their commit needs no thread of its own.
 */
static void open_transaction(pg_conn *conn, const alm_prepared *prepared, bool last)
{
    conn->run.last = last;
    conn->run.alone = last && !alm_session_pending(conn->session);
    if (!last || alm_prepared_is_values(prepared))
        alm_session_implicit(conn->session);
}

/* --------------------------------------------------------------------- pieces */

/* How the columns of the portal are written; again where a batch has a column in another type. */
static alm_status set_up_cells(pg_conn *conn, pg_portal *portal, const alm_batch *batch)
{
    if (portal->cells == NULL)
        portal->cells = calloc(batch->n_cols + 1U, sizeof(*portal->cells));
    if (portal->cells == NULL)
        return alm_fail(&conn->cx, ALM_E_MEMORY, -1, "out of memory");
    for (uint32_t i = 0; i < batch->n_cols; i++) {
        const int16_t format = portal->n_formats == 0   ? 0
                               : portal->n_formats == 1 ? portal->formats[0]
                                                        : portal->formats[i];
        alm_pg_cell *cell = &portal->cells[i];
        if (cell->put != NULL && cell->type == (alm_type_id)batch->cols[i].type.id)
            continue;
        alm_pg_cell_init(conn->cx.conf, cell, batch->cols[i].type, format == 1);
        if (batch->cols[i].type.id == ALM_T_BINARY &&
            alm_str_ieq(alm_str_of(alm_session_setting(conn->session, "bytea_output")),
                        ALM_STR("escape")))
            alm_pg_cell_escapes(cell);
    }
    portal->by_column = alm_pg_rows_can(portal->cells, batch->n_cols);
    return ALM_OK;
}

static alm_status put_cells(pg_conn *conn, pg_portal *portal, const alm_batch *batch, uint32_t row)
{
    alm_buf *out = &conn->out;
    ALM_TRY(alm_buf_reserve(&conn->cx, out, 7));
    const size_t offset = out->len;
    out->ptr[offset] = ALM_PG_SERVER_DATA_ROW;
    alm_be_put16(out->ptr + offset + 5, (uint16_t)batch->n_cols);
    out->len += 7;
    for (uint32_t i = 0; i < batch->n_cols; i++)
        ALM_TRY(alm_pg_cell_put(&conn->cx, &portal->cells[i], &batch->cols[i], row, out));
    alm_be_put32(out->ptr + offset + 1, (uint32_t)(out->len - offset - 1));
    return ALM_OK;
}

/* The whole message, or nothing of it. */
static alm_status pg_run_put_row(pg_conn *conn, pg_portal *portal, const alm_batch *batch,
                                 uint32_t row)
{
    const size_t offset = conn->out.len;
    const alm_status status = put_cells(conn, portal, batch, row);
    if (status != ALM_OK)
        conn->out.len = offset;
    return status;
}

/* How many rows more the client wants now. */
static int64_t pg_run_wanted(const pg_run *run, const pg_portal *portal)
{
    const int64_t owed = run->from != NULL ? run->from->owed : INT64_MAX;
    return run->limit > 0 ? ALM_MIN(owed, run->limit - portal->sent) : owed;
}

/* The next row or rows; *n: so many. */
static alm_status pg_run_put_some(pg_conn *conn, pg_portal *portal, const alm_batch *batch,
                                  uint32_t row, int64_t *n)
{
    uint32_t end = row + 1;
    if (row == 0 || portal->cells == NULL)
        ALM_TRY(set_up_cells(conn, portal, batch));
    if (portal->by_column) {
        const int64_t left = batch->rows - row;
        const uint32_t to = row + (uint32_t)ALM_MIN(left, pg_run_wanted(&conn->run, portal));
        ALM_TRY(alm_pg_rows_put(&conn->cx, portal->cells, batch, row, to,
                                conn->piece_bytes - conn->out.len, &conn->out, &end));
    } else {
        ALM_TRY(pg_run_put_row(conn, portal, batch, row));
    }
    *n = end - row;
    return ALM_OK;
}

/* What the connection itself could not do. */
static step_result pg_run_conn_failed(pg_conn *conn)
{
    conn->run.err = conn->cx.err;
    conn->run.failed = true;
    alm_error_clear(&conn->cx);
    return STEP_END;
}

static bool at_limit(const pg_run *run, const pg_portal *portal)
{
    return run->limit > 0 && portal->sent >= run->limit;
}

/* A FETCH has given what it was asked for. */
static bool fetched(const pg_run *run)
{
    return run->from != NULL && run->from->owed == 0;
}

static void pg_run_count_rows(pg_run *run, int64_t n)
{
    run->portal->sent += n;
    run->portal->given += n;
    if (run->from != NULL && run->from->owed != INT64_MAX)
        run->from->owed -= n;
}

static step_result rows_failed(pg_conn *conn, pg_portal *from)
{
    from->failed = true;
    from->batch = NULL;
    (void)run_failed(conn);
    if (conn->run.from != NULL) /* the place would be in the text of the DECLARE */
        conn->run.err.sql_pos = -1;
    return STEP_END;
}

/* Rows of the batch in hand that are not sent: those of a FETCH that was left, those of a MOVE. */
static bool pg_run_pass_over(pg_run *run, pg_portal *from)
{
    const int64_t here = from->batch->rows - from->row;
    const int64_t n = ALM_MIN(here, run->skip > 0 ? run->skip : from->owed);
    if (run->skip == 0 && !run->discard)
        return false;
    from->row += (uint32_t)n;
    if (run->skip == 0)
        pg_run_count_rows(run, n);
    else if (run->skip != INT64_MAX)
        run->skip -= n;
    return true;
}

/* The next batch, if the one in hand is sent. False: rows are over, or it failed. */
static bool have_row(pg_conn *conn, pg_portal *from, step_result *end)
{
    pg_run *run = &conn->run;
    while (from->batch == NULL || from->row == from->batch->rows) {
        from->row = 0;
        if (from->done) {
            from->batch = NULL;
        } else {
            const alm_status status = alm_cursor_next(from->cursor, &from->batch);
            if (status != ALM_OK) {
                *end = status == ALM_E_YIELD ? STEP_THREAD : rows_failed(conn, from);
                return false;
            }
        }
        if (from->batch != NULL)
            continue;
        from->done = run->portal->done = true;
        from->owed = 0;
        run->step = PG_DONE;
        *end = STEP_END;
        return false;
    }
    return true;
}

/* Rows until the piece is full, the limit is reached or the rows are over. */
static step_result pg_run_put_rows(pg_conn *conn)
{
    pg_run *run = &conn->run;
    pg_portal *portal = run->portal, *from = run->from != NULL ? run->from : portal;
    step_result end = STEP_END;
    if (alm_cursor_still(from->cursor) != ALM_OK)
        return rows_failed(conn, from);
    while (conn->out.len < conn->piece_bytes && !at_limit(run, portal) && !fetched(run)) {
        if (!have_row(conn, from, &end))
            return end;
        if (run->from != NULL && pg_run_pass_over(run, from))
            continue;
        int64_t n = 0;
        if (pg_run_put_some(conn, portal, from->batch, from->row, &n) != ALM_OK)
            return pg_run_conn_failed(conn);
        from->row += (uint32_t)n;
        pg_run_count_rows(run, n);
    }
    if (!at_limit(run, portal) && !fetched(run))
        return STEP_PIECE;
    portal->done = !at_limit(run, portal);
    run->step = PG_DONE;
    return STEP_END;
}

/* A cursor outlives the text it came in: its statement gets one of its own. */
static bool pg_run_keep_text(pg_conn *conn, pg_statement *statement)
{
    pg_run *run = &conn->run;
    size_t next = run->offset;
    alm_prepared_free(statement->prepared);
    statement->prepared = NULL;
    statement->text = malloc(run->text_len + 1);
    if (statement->text == NULL) {
        (void)own_failure(run, ALM_E_MEMORY, "out of memory");
        return false;
    }
    (void)memcpy(statement->text, run->text, run->text_len + 1);
    return alm_prepare(conn->session, (alm_str){statement->text, run->text_len}, &next,
                       &statement->prepared) == ALM_OK;
}

static step_result prepare_next(pg_conn *conn)
{
    pg_run *run = &conn->run;
    pg_statement *statement = calloc(1, sizeof(*statement));
    if (statement == NULL)
        return own_failure(run, ALM_E_MEMORY, "out of memory");
    statement->refs = 1;
    run->statement = statement;
    size_t next = run->offset;
    if (alm_prepare(conn->session, (alm_str){run->text, run->text_len}, &next,
                    &statement->prepared) != ALM_OK)
        return run_failed(conn);
    if (alm_prepared_kind(statement->prepared) == ALM_STMT_DECLARE_CURSOR &&
        !pg_run_keep_text(conn, statement))
        return run->failed ? STEP_END : run_failed(conn);
    run->offset = next;
    if (alm_prepared_kind(statement->prepared) == ALM_STMT_EMPTY) {
        run->step = PG_COMMIT;
        return STEP_PIECE;
    }
    run->any = true;
    open_transaction(conn, statement->prepared, !pg_run_has_more(run));
    run->portal = pg_portal_new(conn, (alm_str){"", 0}, statement);
    if (run->portal == NULL)
        return own_failure(run, ALM_E_MEMORY, "out of memory");
    run->step = PG_EXECUTE;
    return STEP_PIECE;
}

/* Do the rows have the types that the client was told? */
static bool same_shape(const pg_statement *statement, const alm_plan_col *cols, uint32_t n_cols)
{
    if (n_cols != statement->n_cols)
        return false;
    for (uint32_t i = 0; i < n_cols; i++)
        if (cols[i].type.id != statement->cols[i].type.id)
            return false;
    return true;
}

static step_result execute_cursor(pg_conn *conn, bool fetch)
{
    pg_run *run = &conn->run;
    pg_portal *portal = run->portal;
    uint32_t n = 0;
    run->failed = fetch ? !pg_cursor_fetch(conn, run) : !pg_cursor_declare(conn, portal, &run->err);
    if (run->failed)
        return STEP_END;
    if (!fetch) {
        portal->done = true;
        run->step = PG_DONE;
        return STEP_END;
    }
    if (run->simple && !run->discard) {
        const alm_plan_col *cols = alm_cursor_cols(run->from->cursor, &n);
        pg_send_row_description(conn, cols, n, portal->formats, portal->n_formats);
    }
    run->step = PG_ROWS;
    return STEP_PIECE;
}

/* What the end of a block, or a way back in it, does to cursors; and what the client is to hear. */
static void after_statement(pg_conn *conn, const alm_cursor *cursor, alm_stmt_kind kind)
{
    for (const alm_notice *notice = alm_cursor_notice(cursor); notice != NULL;
         notice = notice->next)
        pg_send_notice(conn, notice->warning, notice->sqlstate, notice->text);
    const bool back = strcmp(alm_cursor_tag(cursor), "ROLLBACK") == 0;
    if (kind == ALM_STMT_COMMIT || kind == ALM_STMT_ROLLBACK)
        pg_cursors_block_over(conn, back);
    else if (kind == ALM_STMT_SAVEPOINT && back)
        pg_cursors_went_back(conn);
}

/* The statement that runs: of an EXECUTE the one that it names. */
static const pg_statement *runs(const pg_portal *portal)
{
    return portal->executes != NULL ? portal->executes : portal->statement;
}

/* Into portal->cursor. */
static step_result pg_run_begin(pg_conn *conn)
{
    pg_run *run = &conn->run;
    pg_portal *portal = run->portal;
    const bool named = alm_prepared_execute(portal->statement->prepared) != NULL;
    if (named && !pg_sql_execute(conn, portal, &run->err)) {
        if (run->err.code == ALM_E_YIELD)
            return STEP_THREAD;
        run->failed = true;
        return STEP_END;
    }
    const alm_status status = alm_execute(conn->session, runs(portal)->prepared, portal->values,
                                          portal->n_values, &portal->cursor);
    if (status == ALM_OK)
        return STEP_PIECE;
    if (status == ALM_E_YIELD)
        return STEP_THREAD;
    (void)run_failed(conn);
    if (named)
        run->err.sql_pos = -1; /* it is in another text */
    return STEP_END;
}

static step_result pg_run_execute(pg_conn *conn)
{
    pg_run *run = &conn->run;
    pg_portal *portal = run->portal;
    if (!atomic_load(&run->cancelled)) {
        const step_result result = pg_run_begin(conn);
        if (result != STEP_PIECE)
            return result;
    }
    /* a cancel that came before the statement had a number */
    if (atomic_load(&run->cancelled) &&
        (portal->cursor == NULL || alm_cursor_has_rows(portal->cursor)))
        return own_failure(run, ALM_E_CANCEL, "cancelled by user");
    const alm_stmt_kind kind = alm_prepared_kind(runs(portal)->prepared);
    if (kind == ALM_STMT_DECLARE_CURSOR || kind == ALM_STMT_FETCH)
        return execute_cursor(conn, kind == ALM_STMT_FETCH);
    after_statement(conn, portal->cursor, kind);
    const alm_copy_stream *stream = alm_cursor_copy(portal->cursor);
    if (stream != NULL) {
        run->failed = !pg_cols_fit(stream->n_cols, PG_COPY_COLS_MAX, &run->err);
        if (run->failed)
            return STEP_END;
        pg_copy_begin(conn, stream);
        return STEP_PIECE;
    }
    if (!alm_cursor_has_rows(portal->cursor)) {
        const pg_statement *statement = runs(portal);
        run->failed =
            (kind == ALM_STMT_SET && !pg_drop_named(conn, statement->prepared, &run->err)) ||
            (kind == ALM_STMT_PREPARE && !pg_sql_prepare(conn, statement, &run->err));
        if (run->failed)
            return STEP_END;
        portal->done = true;
        run->step = run->last && alm_session_pending(conn->session) ? PG_COMMIT : PG_DONE;
        return STEP_END;
    }
    uint32_t n = 0;
    const alm_plan_col *cols = alm_cursor_cols(portal->cursor, &n);
    run->failed = !pg_cols_fit(n, PG_COLS_MAX, &run->err);
    if (run->failed)
        return STEP_END;
    if (run->simple) {
        pg_send_row_description(conn, cols, n, NULL, 0);
    } else if (!same_shape(runs(portal), cols, n)) {
        return own_failure(run, ALM_E_PLAN_CHANGED, "cached plan must not change result type");
    }
    run->step = PG_ROWS;
    return STEP_PIECE;
}

static step_result fetch_more(pg_conn *conn)
{
    conn->run.failed = !pg_cursor_go_on(conn, &conn->run);
    conn->run.step = PG_ROWS;
    return conn->run.failed ? STEP_END : STEP_PIECE;
}

static step_result copy_rows(pg_conn *conn)
{
    bool done = false;
    if (pg_copy_rows(conn, &done) != ALM_OK)
        return pg_run_conn_failed(conn);
    if (!done)
        return STEP_PIECE;
    conn->run.portal->done = true;
    conn->run.step = PG_DONE;
    return STEP_END;
}

/* The table was altered between the plan of the only statement and its commit: it runs again, with a
 * transaction of its own. */
static bool runs_again(pg_conn *conn)
{
    pg_run *run = &conn->run;
    if (alm_session_error(conn->session)->code != ALM_E_STALE || run->portal == NULL || !run->alone)
        return false;
    run->alone = false;
    alm_cursor_close(run->portal->cursor);
    run->portal->cursor = NULL;
    run->portal->done = false;
    run->step = PG_EXECUTE;
    return true;
}

/* Behind the commit comes the end of the last statement, or of the text. */
static step_result pg_run_committed(pg_conn *conn, alm_status status)
{
    pg_run *run = &conn->run;
    if (status != ALM_OK)
        return runs_again(conn) ? STEP_PIECE : run_failed(conn);
    if (run->portal != NULL)
        run->step = PG_DONE;
    else
        run->finished = true;
    return STEP_PIECE;
}

static step_result pg_run_commit(pg_conn *conn)
{
    return pg_run_committed(conn, alm_session_implicit_end(conn->session));
}

/* One statement is over: its tag, and on to the next one of the text. */
static void pg_run_complete(pg_conn *conn)
{
    pg_run *run = &conn->run;
    pg_portal *portal = run->portal;
    if (!portal->done)
        pg_simple_message(conn, ALM_PG_SERVER_PORTAL_SUSPENDED);
    else
        pg_send_complete(conn, portal);
    if (!run->simple) {
        if (portal->done) { /* the snapshot goes; another Execute finds no rows */
            portal->batch = NULL;
            portal->sent = 0;
        }
        run->finished = true;
        return;
    }
    pg_portal_free(portal);
    pg_statement_release(run->statement);
    run->portal = NULL;
    run->statement = NULL;
    run->step = PG_PREPARE;
}

/* The portal whose query runs. */
static pg_portal *pg_run_rows_of(const pg_run *run)
{
    return run->from != NULL ? run->from : run->portal;
}

/* Goes on until there is a piece to send, a thread is needed (only when `inline_only`), or the end. */
static step_result pg_run_advance(pg_conn *conn, bool inline_only)
{
    pg_run *run = &conn->run;
    while (!run->finished && !run->failed) {
        step_result result = STEP_PIECE;
        switch (run->step) {
        case PG_PREPARE:
            result = prepare_next(conn);
            break;
        case PG_EXECUTE:
            if (inline_only &&
                !alm_prepared_is_short(conn->session, run->portal->statement->prepared))
                return STEP_THREAD;
            result = pg_run_execute(conn);
            if (result == STEP_THREAD)
                return result;
            break;
        case PG_FETCH_MORE:
            result = fetch_more(conn);
            break;
        case PG_ROWS:
            if (inline_only && !alm_cursor_is_short(pg_run_rows_of(run)->cursor))
                return STEP_THREAD;
            result = pg_run_put_rows(conn);
            if (result != STEP_END)
                return result;
            break;
        case PG_COPY_OUT:
            if (inline_only)
                return STEP_THREAD;
            result = copy_rows(conn);
            if (result == STEP_PIECE)
                return STEP_PIECE;
            break;
        case PG_COPY_IN:
            return STEP_PIECE;
        case PG_DONE:
            pg_run_complete(conn);
            break;
        case PG_COMMIT:
            if (inline_only && alm_session_pending(conn->session))
                return STEP_THREAD;
            result = pg_run_commit(conn);
            break;
        }
        if (conn->out.len >= conn->piece_bytes)
            return STEP_PIECE;
    }
    return STEP_END;
}

/* ------------------------------------------------------------------ delivery */

void pg_run_clear(pg_conn *conn)
{
    pg_run *run = &conn->run;
    if (run->simple)
        pg_portal_free(run->portal);
    if (run->simple || run->parsing)
        pg_statement_release(run->statement);
    free(run->text);
    *run = (pg_run){0};
    conn->running = conn->copying = false;
}

static void pg_run_end(pg_conn *conn)
{
    pg_run *run = &conn->run;
    const bool simple = run->simple, sync = run->sync;
    if (run->failed) {
        alm_session_fail_block(conn->session);
        if (alm_session_tx_state(conn->session) == ALM_TX_IDLE)
            pg_cursors_block_over(conn, true);
        pg_send_error(conn, &run->err, pg_run_text(run), false);
        if (!simple && !sync) {
            conn->skip = true;
            run->portal->done = true;
            pg_flush(conn);
        }
    } else if (simple && !run->any) {
        pg_simple_message(conn, ALM_PG_SERVER_EMPTY_QUERY);
    }
    pg_run_clear(conn);
    if (simple)
        pg_send_ready(conn);
    else if (sync)
        pg_synced(conn);
}

static void pg_run_work(void *arg)
{
    pg_conn *conn = arg;
    (void)pg_run_advance(conn, false);
}

static void pg_run_deliver(pg_conn *conn);
static void pg_run_go_on(pg_conn *conn);

static void pg_run_work_done(alm_conn *conn, void *arg)
{
    (void)conn;
    pg_run_deliver(arg);
}

static void commit_over(void *arg)
{
    const pg_conn *conn = arg;
    alm_conn_work_over(conn->conn);
}

static void commit_done(alm_conn *conn, void *arg)
{
    pg_conn *wire = arg;
    (void)conn;
    (void)pg_run_committed(wire, alm_session_commit_end(wire->session));
    pg_run_go_on(wire);
}

/* A commit that nobody waits for. False: it has to be waited for, or has failed at once. */
static bool start_commit(pg_conn *conn)
{
    bool started = false;
    alm_conn_wait(conn->conn, commit_done, NULL, conn); /* dropped: the session ends it */
    const alm_status status = alm_session_commit_start(conn->session, commit_over, conn, &started);
    if (started)
        return true;
    alm_conn_wait_not(conn->conn);
    if (status != ALM_OK)
        (void)pg_run_committed(conn, status);
    return false;
}

static void pg_run_next_piece(pg_conn *conn)
{
    if (conn->run.step == PG_COMMIT && start_commit(conn))
        return;
    pg_external_work(conn, pg_run_work, pg_run_work_done);
}

/*
 * The next piece is made while this one is sent. Only while nothing waits in the socket: a client that reads
 * slowly has one piece waiting, as before, and at most one more that is made.
 */
static bool pg_run_send_beside(pg_conn *conn)
{
    const bool makes_rows = conn->run.step == PG_ROWS || conn->run.step == PG_COPY_OUT;
    if (conn->torn || !makes_rows || conn->out.len < conn->piece_bytes ||
        alm_conn_unsent(conn->conn) > 0)
        return false;
    alm_buf piece = alm_buf_renew(&conn->out);
    pg_run_next_piece(conn);
    alm_conn_send(conn->conn, &piece);
    return true;
}

static void pg_run_deliver(pg_conn *conn)
{
    pg_run *run = &conn->run;
    if (run->failed || run->finished) {
        pg_run_end(conn);
        if (conn->out.len >= conn->piece_bytes)
            pg_flush(conn);
        return;
    }
    if (run->step == PG_COPY_IN) {
        pg_copy_wait(conn);
        return;
    }
    if (pg_run_send_beside(conn))
        return;
    pg_flush(conn);
    if (alm_conn_unsent(conn->conn) > conn->piece_bytes) {
        run->waiting = true;
        run->waiting_since_ns = alm_monotonic_ns();
        alm_conn_pause(conn->conn);
        return;
    }
    pg_run_next_piece(conn);
}

void pg_run_drained(pg_conn *conn)
{
    if (!conn->running || !conn->run.waiting)
        return;
    conn->run.waiting = false;
    const pg_portal *rows = pg_run_rows_of(&conn->run);
    if (rows != NULL && rows->cursor != NULL)
        alm_cursor_waited(rows->cursor, alm_monotonic_ns() - conn->run.waiting_since_ns);
    pg_run_next_piece(conn);
    alm_conn_resume(conn->conn);
}

void pg_run_break(pg_conn *conn, const alm_error *err)
{
    ALM_ASSERT(conn->running && conn->run.waiting);
    conn->run.waiting = false;
    conn->run.failed = true;
    conn->run.err = *err;
    pg_run_end(conn);
}

bool pg_run_is_aged(const pg_conn *conn, alm_error *err)
{
    const pg_portal *from = conn->run.from != NULL ? conn->run.from : conn->run.portal;
    return from != NULL && from->cursor != NULL && alm_cursor_is_aged(from->cursor, err);
}

void pg_run_cancel(pg_conn *conn)
{
    if (conn->copying)
        pg_copy_fail(conn, ALM_E_CANCEL, "cancelled by user");
    if (!conn->running) {
        alm_session_cancel(conn->session,
                           0); /* rows that stand still are given back: see pg_look */
        return;
    }
    atomic_store(&conn->run.cancelled, true);
    alm_session_cancel(conn->session, 0);
}

/* Here and now as far as that is short, then on a thread. */
static void pg_run_go_on(pg_conn *conn)
{
    alm_session_brief(conn->session, true);
    const step_result result = pg_run_advance(conn, true);
    alm_session_brief(conn->session, false);
    if (result != STEP_THREAD)
        pg_run_deliver(conn);
    else
        pg_run_next_piece(conn);
}

static void pg_run_start(pg_conn *conn, bool try_inline)
{
    conn->running = true;
    if (try_inline)
        pg_run_go_on(conn);
    else
        pg_run_next_piece(conn);
}

void pg_run_sync(pg_conn *conn)
{
    conn->run = (pg_run){.step = PG_COMMIT, .sync = true};
    pg_run_start(conn, false);
}

void pg_run_failed(pg_conn *conn)
{
    pg_run_end(conn);
}

void pg_run_resume(pg_conn *conn)
{
    pg_run_start(conn, true);
}

void pg_run_simple(pg_conn *conn, alm_str text)
{
    pg_run *run = &conn->run;
    conn->skip = false;
    if (!alm_utf8_is_valid(text)) {
        pg_fail(conn, ALM_E_UTF8, "the statement is not UTF-8");
        conn->skip = false;
        pg_send_ready(conn);
        return;
    }
    *run = (pg_run){.step = PG_PREPARE, .simple = true, .text_len = text.len};
    run->text = malloc(text.len + 1);
    if (run->text == NULL) {
        pg_fail(conn, ALM_E_MEMORY, "out of memory");
        conn->skip = false;
        pg_send_ready(conn);
        return;
    }
    (void)memcpy(run->text, text.ptr, text.len);
    run->text[text.len] = 0;
    pg_run_start(conn, text.len <= PG_INLINE_TEXT_MAX);
}

void pg_run_portal(pg_conn *conn, pg_portal *portal, int64_t limit, bool last)
{
    if (alm_prepared_kind(portal->statement->prepared) == ALM_STMT_EMPTY) {
        pg_simple_message(conn, ALM_PG_SERVER_EMPTY_QUERY);
        portal->done = true;
        return;
    }
    pg_step step = PG_EXECUTE;
    if (portal->cursor != NULL)
        step = portal->done ? PG_DONE : pg_is_fetch(portal) ? PG_FETCH_MORE : PG_ROWS;
    if (!pg_is_fetch(portal))
        portal->owed = 0; /* what a FETCH in it has left is not passed over */
    portal->sent = 0;
    portal->idle_since_ns = 0;
    if (step == PG_DONE)
        portal->given = 0;
    if (step == PG_ROWS)
        alm_cursor_resume(portal->cursor);
    conn->run = (pg_run){.step = step, .portal = portal, .limit = limit};
    open_transaction(conn, portal->statement->prepared, last);
    pg_run_start(conn, portal->cursor != NULL || pg_run_text(&conn->run).len <= PG_INLINE_TEXT_MAX);
}
