/*
 * pg_copy.c - COPY on a connection: CopyData both ways.
 *
 * In          The statement runs until it waits for bytes; then the connection takes messages again.
 *             CopyData is collected to pieces, and each is one piece of work on a query thread, while
 *             which nothing more is read: a client that is faster than the load waits. CopyDone
 *             commits, CopyFail and every other message but Flush and Sync end the COPY by an error.
 *             CopyData that is under way then is ignored.
 * Out         One CopyData for each row (clients count on it), pieces as for other rows. The head of a
 *             binary copy stands before its first row. A Parquet file is CopyData of any length.
 */
#include <stdio.h>

#include "codec/copy/copy.h"
#include "net/pgwire/pg_state.h"
#include "session/transfer/parquet.h"

enum { PIECE_BYTES = 1 << 20 };

/* CopyInResponse, CopyOutResponse: format as a whole and of each column. */
static void put_response(pg_conn *conn, alm_pg_server type, const alm_copy_stream *stream)
{
    const bool binary = stream->format->kind == ALM_COPY_BINARY;
    size_t offset = 0;
    pg_begin(conn, type, &offset);
    pg_put(conn, binary ? "\1" : "\0", 1);
    pg_put16(conn, (int32_t)stream->n_cols);
    for (uint32_t i = 0; i < stream->n_cols; i++)
        pg_put16(conn, binary);
    pg_end(conn, offset);
}

/* ------------------------------------------------------------------------ out */

static alm_status pg_copy_put_head(pg_conn *conn, const alm_copy_stream *stream)
{
    return alm_copy_put_head(&conn->cx, stream->format, stream->names, stream->n_cols, &conn->out);
}

void pg_copy_begin(pg_conn *conn, const alm_copy_stream *stream)
{
    size_t offset = 0;
    alm_error_clear(&conn->cx);
    conn->copy_data.len = 0;
    put_response(conn, stream->in ? ALM_PG_SERVER_COPY_IN : ALM_PG_SERVER_COPY_OUT, stream);
    conn->run.step = stream->in ? PG_COPY_IN : PG_COPY_OUT;
    conn->copy_head = stream->format->kind == ALM_COPY_BINARY && !stream->parquet;
    if (stream->in || !stream->format->header)
        return;
    pg_begin(conn, ALM_PG_SERVER_COPY_DATA, &offset);
    if (pg_copy_put_head(conn, stream) != ALM_OK)
        conn->torn = true;
    pg_end(conn, offset);
}

/* batch NULL: what comes behind the rows. */
static alm_status put_data(pg_conn *conn, const alm_copy_stream *stream, const alm_batch *batch,
                           uint32_t row)
{
    const bool head = conn->copy_head;
    conn->copy_head = false;
    if (head)
        ALM_TRY(pg_copy_put_head(conn, stream));
    if (batch == NULL)
        return alm_copy_put_tail(&conn->cx, stream->format, &conn->out);
    return alm_copy_put_row(&conn->cx, stream->format, batch, row, &conn->copy_data, &conn->out);
}

static alm_status pg_copy_put_row(pg_conn *conn, const alm_copy_stream *stream,
                                  const alm_batch *batch, uint32_t row)
{
    const size_t start = conn->out.len;
    size_t offset = 0;
    pg_begin(conn, ALM_PG_SERVER_COPY_DATA, &offset);
    const alm_status status = put_data(conn, stream, batch, row);
    if (status == ALM_OK)
        pg_end(conn, offset);
    else
        conn->out.len = start;
    return status;
}

static alm_status put_end(pg_conn *conn, const alm_copy_stream *stream)
{
    if (stream->format->kind == ALM_COPY_BINARY)
        ALM_TRY(pg_copy_put_row(conn, stream, NULL, 0));
    pg_simple_message(conn, ALM_PG_SERVER_COPY_DONE);
    return ALM_OK;
}

/* The next bytes of a Parquet file. */
static alm_status pg_copy_put_file(pg_conn *conn, bool *done)
{
    pg_portal *portal = conn->run.portal;
    int64_t rows = 0;
    conn->copy_data.len = 0;
    ALM_TRY(alm_copy_parquet(&conn->cx, portal->cursor, conn->piece_bytes, &conn->copy_data, &rows,
                             done));
    portal->sent += rows;
    for (size_t from = 0; from < conn->copy_data.len; from += PIECE_BYTES) {
        size_t offset = 0;
        pg_begin(conn, ALM_PG_SERVER_COPY_DATA, &offset);
        pg_put(conn, conn->copy_data.ptr + from,
               ALM_MIN(conn->copy_data.len - from, (size_t)PIECE_BYTES));
        pg_end(conn, offset);
    }
    if (*done)
        pg_simple_message(conn, ALM_PG_SERVER_COPY_DONE);
    return ALM_OK;
}

alm_status pg_copy_rows(pg_conn *conn, bool *done)
{
    pg_portal *portal = conn->run.portal;
    const alm_copy_stream *stream = alm_cursor_copy(portal->cursor);
    *done = false;
    if (stream->parquet)
        return pg_copy_put_file(conn, done);
    while (conn->out.len < conn->piece_bytes) {
        if (portal->batch == NULL || portal->row == portal->batch->rows) {
            portal->row = 0;
            const alm_status status = alm_cursor_next(portal->cursor, &portal->batch);
            if (status != ALM_OK) {
                conn->cx.err = *alm_session_error(conn->session);
                return status;
            }
            if (portal->batch == NULL) {
                *done = true;
                return put_end(conn, stream);
            }
            continue;
        }
        ALM_TRY(pg_copy_put_row(conn, stream, portal->batch, portal->row));
        portal->row++;
        portal->sent++;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------- in */

static void pg_copy_work(void *arg)
{
    pg_conn *conn = arg;
    pg_run *run = &conn->run;
    alm_cursor *cursor = run->portal->cursor;
    alm_status status = alm_copy_feed(cursor, conn->copy_data.ptr, conn->copy_data.len);
    conn->copy_data.len = 0;
    if (status == ALM_OK && conn->copy_last)
        status = alm_copy_end(cursor);
    if (status == ALM_OK)
        return;
    run->err = *alm_session_error(conn->session);
    run->failed = true;
}

/* Lines that did not come into the table as they were sent. */
static void tell_faults(pg_conn *conn)
{
    alm_copy_faults faults;
    char text[120];
    alm_copy_told(conn->run.portal->cursor, &faults);
    for (uint32_t i = 0; i < faults.n_texts; i++)
        pg_send_notice(conn, false, "00000", faults.texts[i]);
    if (faults.skipped > 0) {
        (void)snprintf(text, sizeof(text), "%lld row%s skipped due to data type incompatibility",
                       (long long)faults.skipped, faults.skipped == 1 ? " was" : "s were");
        pg_send_notice(conn, false, "00000", text);
    }
    if (faults.nulled > 0) {
        (void)snprintf(text, sizeof(text),
                       "in %lld row%s columns were set to null due to data type incompatibility",
                       (long long)faults.nulled, faults.nulled == 1 ? "," : "s,");
        pg_send_notice(conn, false, "00000", text);
    }
}

static void pg_copy_work_done(alm_conn *conn, void *arg)
{
    pg_conn *wire = arg;
    (void)conn;
    if (wire->run.failed) {
        pg_run_failed(wire);
    } else if (wire->copy_last) {
        tell_faults(wire);
        wire->run.portal->done = true;
        wire->run.step = PG_DONE;
        pg_run_resume(wire);
    } else {
        pg_copy_wait(wire);
    }
}

void pg_copy_wait(pg_conn *conn)
{
    conn->copying = true;
    conn->running = false;
    conn->copy_last = false;
    pg_flush(conn);
}

static void take_piece(pg_conn *conn, bool last)
{
    conn->copying = false;
    conn->running = true;
    conn->copy_last = last;
    alm_conn_work(conn->conn, pg_copy_work, pg_copy_work_done, NULL, conn);
}

void pg_copy_fail(pg_conn *conn, alm_status code, const char *text)
{
    pg_run *run = &conn->run;
    conn->copying = false;
    conn->copy_data.len = 0;
    run->err = (alm_error){.code = code, .sql_pos = -1};
    (void)snprintf(run->err.msg, sizeof(run->err.msg), "%s", text);
    run->failed = true;
    alm_cursor_close(run->portal->cursor); /* what came is dropped now */
    run->portal->cursor = NULL;
    pg_run_failed(conn);
}

void pg_copy_message(pg_conn *conn, char type, const char *body, size_t n)
{
    char text[600];
    switch (type) {
    case ALM_PG_CLIENT_COPY_DATA:
        alm_error_clear(&conn->cx);
        if (alm_buf_append(&conn->cx, &conn->copy_data, body, n) != ALM_OK)
            pg_copy_fail(conn, conn->cx.err.code, conn->cx.err.msg);
        else if (conn->copy_data.len >= PIECE_BYTES)
            take_piece(conn, false);
        return;
    case ALM_PG_CLIENT_COPY_DONE:
        take_piece(conn, true);
        return;
    case ALM_PG_CLIENT_COPY_FAIL:
        (void)snprintf(text, sizeof(text), "COPY from stdin failed: %.*s",
                       (int)ALM_MIN(n, (size_t)500), body);
        pg_copy_fail(conn, ALM_E_CANCEL, text);
        return;
    case ALM_PG_CLIENT_FLUSH:
    case ALM_PG_CLIENT_SYNC:
        return;
    case ALM_PG_CLIENT_TERMINATE:
        alm_conn_finish(conn->conn);
        return;
    default:
        (void)snprintf(text, sizeof(text), "unexpected message type 0x%02X during COPY from stdin",
                       (unsigned)(unsigned char)type);
        pg_copy_fail(conn, ALM_E_PROTOCOL, text);
        return;
    }
}
