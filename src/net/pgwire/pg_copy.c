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
static void put_response(pg_conn *c, alm_pg_server type, const alm_copy_stream *stream)
{
    const bool binary = stream->format->kind == ALM_COPY_BINARY;
    size_t at = 0;
    pg_begin(c, type, &at);
    pg_put(c, binary ? "\1" : "\0", 1);
    pg_put16(c, (int32_t)stream->n_cols);
    for (uint32_t i = 0; i < stream->n_cols; i++)
        pg_put16(c, binary);
    pg_end(c, at);
}

/* ------------------------------------------------------------------------ out */

static alm_status put_head(pg_conn *c, const alm_copy_stream *stream)
{
    return alm_copy_put_head(&c->cx, stream->format, stream->names, stream->n_cols, &c->out);
}

void pg_copy_begin(pg_conn *c, const alm_copy_stream *stream)
{
    size_t at = 0;
    alm_error_clear(&c->cx);
    c->copy_data.len = 0;
    put_response(c, stream->in ? ALM_PG_SERVER_COPY_IN : ALM_PG_SERVER_COPY_OUT, stream);
    c->run.step = stream->in ? PG_COPY_IN : PG_COPY_OUT;
    c->copy_head = stream->format->kind == ALM_COPY_BINARY && !stream->parquet;
    if (stream->in || !stream->format->header)
        return;
    pg_begin(c, ALM_PG_SERVER_COPY_DATA, &at);
    if (put_head(c, stream) != ALM_OK)
        c->torn = true;
    pg_end(c, at);
}

/* batch NULL: what comes behind the rows. */
static alm_status put_data(pg_conn *c, const alm_copy_stream *stream, const alm_batch *batch,
                           uint32_t row)
{
    const bool head = c->copy_head;
    c->copy_head = false;
    if (head)
        ALM_TRY(put_head(c, stream));
    if (batch == NULL)
        return alm_copy_put_tail(&c->cx, stream->format, &c->out);
    return alm_copy_put_row(&c->cx, stream->format, batch, row, &c->copy_data, &c->out);
}

static alm_status put_row(pg_conn *c, const alm_copy_stream *stream, const alm_batch *batch,
                          uint32_t row)
{
    const size_t start = c->out.len;
    size_t at = 0;
    pg_begin(c, ALM_PG_SERVER_COPY_DATA, &at);
    const alm_status st = put_data(c, stream, batch, row);
    if (st == ALM_OK)
        pg_end(c, at);
    else
        c->out.len = start;
    return st;
}

static alm_status put_end(pg_conn *c, const alm_copy_stream *stream)
{
    if (stream->format->kind == ALM_COPY_BINARY)
        ALM_TRY(put_row(c, stream, NULL, 0));
    pg_simple_message(c, ALM_PG_SERVER_COPY_DONE);
    return ALM_OK;
}

/* The next bytes of a Parquet file. */
static alm_status put_file(pg_conn *c, bool *done)
{
    pg_portal *portal = c->run.portal;
    int64_t rows = 0;
    c->copy_data.len = 0;
    ALM_TRY(alm_copy_parquet(&c->cx, portal->cursor, c->piece_bytes, &c->copy_data, &rows, done));
    portal->sent += rows;
    for (size_t from = 0; from < c->copy_data.len; from += PIECE_BYTES) {
        size_t at = 0;
        pg_begin(c, ALM_PG_SERVER_COPY_DATA, &at);
        pg_put(c, c->copy_data.ptr + from, ALM_MIN(c->copy_data.len - from, (size_t)PIECE_BYTES));
        pg_end(c, at);
    }
    if (*done)
        pg_simple_message(c, ALM_PG_SERVER_COPY_DONE);
    return ALM_OK;
}

alm_status pg_copy_rows(pg_conn *c, bool *done)
{
    pg_portal *portal = c->run.portal;
    const alm_copy_stream *stream = alm_cursor_copy(portal->cursor);
    *done = false;
    if (stream->parquet)
        return put_file(c, done);
    while (c->out.len < c->piece_bytes) {
        if (portal->batch == NULL || portal->row == portal->batch->rows) {
            portal->row = 0;
            const alm_status st = alm_cursor_next(portal->cursor, &portal->batch);
            if (st != ALM_OK) {
                c->cx.err = *alm_session_error(c->session);
                return st;
            }
            if (portal->batch == NULL) {
                *done = true;
                return put_end(c, stream);
            }
            continue;
        }
        ALM_TRY(put_row(c, stream, portal->batch, portal->row));
        portal->row++;
        portal->sent++;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------- in */

static void work(void *arg)
{
    pg_conn *c = arg;
    pg_run *run = &c->run;
    alm_cursor *cursor = run->portal->cursor;
    alm_status st = alm_copy_feed(cursor, c->copy_data.ptr, c->copy_data.len);
    c->copy_data.len = 0;
    if (st == ALM_OK && c->copy_last)
        st = alm_copy_end(cursor);
    if (st == ALM_OK)
        return;
    run->err = *alm_session_error(c->session);
    run->failed = true;
}

/* Lines that did not come into the table as they were sent. */
static void tell_faults(pg_conn *c)
{
    alm_copy_faults faults;
    char text[120];
    alm_copy_told(c->run.portal->cursor, &faults);
    for (uint32_t i = 0; i < faults.n_texts; i++)
        pg_send_notice(c, false, "00000", faults.texts[i]);
    if (faults.skipped > 0) {
        (void)snprintf(text, sizeof(text), "%lld row%s skipped due to data type incompatibility",
                       (long long)faults.skipped, faults.skipped == 1 ? " was" : "s were");
        pg_send_notice(c, false, "00000", text);
    }
    if (faults.nulled > 0) {
        (void)snprintf(text, sizeof(text),
                       "in %lld row%s columns were set to null due to data type incompatibility",
                       (long long)faults.nulled, faults.nulled == 1 ? "," : "s,");
        pg_send_notice(c, false, "00000", text);
    }
}

static void work_done(alm_conn *conn, void *arg)
{
    pg_conn *c = arg;
    (void)conn;
    if (c->run.failed) {
        pg_run_failed(c);
    } else if (c->copy_last) {
        tell_faults(c);
        c->run.portal->done = true;
        c->run.step = PG_DONE;
        pg_run_resume(c);
    } else {
        pg_copy_wait(c);
    }
}

void pg_copy_wait(pg_conn *c)
{
    c->copying = true;
    c->running = false;
    c->copy_last = false;
    pg_flush(c);
}

static void take_piece(pg_conn *c, bool last)
{
    c->copying = false;
    c->running = true;
    c->copy_last = last;
    alm_conn_work(c->conn, work, work_done, NULL, c);
}

void pg_copy_fail(pg_conn *c, alm_status code, const char *text)
{
    pg_run *run = &c->run;
    c->copying = false;
    c->copy_data.len = 0;
    run->err = (alm_error){.code = code, .sql_pos = -1};
    (void)snprintf(run->err.msg, sizeof(run->err.msg), "%s", text);
    run->failed = true;
    alm_cursor_close(run->portal->cursor); /* what came is dropped now */
    run->portal->cursor = NULL;
    pg_run_failed(c);
}

void pg_copy_message(pg_conn *c, char type, const char *body, size_t n)
{
    char text[600];
    switch (type) {
    case ALM_PG_CLIENT_COPY_DATA:
        alm_error_clear(&c->cx);
        if (alm_buf_append(&c->cx, &c->copy_data, body, n) != ALM_OK)
            pg_copy_fail(c, c->cx.err.code, c->cx.err.msg);
        else if (c->copy_data.len >= PIECE_BYTES)
            take_piece(c, false);
        return;
    case ALM_PG_CLIENT_COPY_DONE:
        take_piece(c, true);
        return;
    case ALM_PG_CLIENT_COPY_FAIL:
        (void)snprintf(text, sizeof(text), "COPY from stdin failed: %.*s",
                       (int)ALM_MIN(n, (size_t)500), body);
        pg_copy_fail(c, ALM_E_CANCEL, text);
        return;
    case ALM_PG_CLIENT_FLUSH:
    case ALM_PG_CLIENT_SYNC:
        return;
    case ALM_PG_CLIENT_TERMINATE:
        alm_conn_finish(c->conn);
        return;
    default:
        (void)snprintf(text, sizeof(text), "unexpected message type 0x%02X during COPY from stdin",
                       (unsigned)(unsigned char)type);
        pg_copy_fail(c, ALM_E_PROTOCOL, text);
        return;
    }
}
