/*
 * link_dir.c - a data directory in this process, which no server holds. Cells are written as the server
 * writes them to the wire, so that both links give the same text.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/conf.h"
#include "base/log.h"
#include "cli/link.h"
#include "codec/pg/pg_cell.h"
#include "io/io.h"
#include "session/transfer/parquet.h"

typedef struct dir_link {
    alm_link link;
    alm_arena arena; /* of the settings */
    alm_conf conf;
    alm_db *db;
    alm_session *session;
    alm_arena run_arena;
    char tag[96];
} dir_link;

/* Columns of a cursor as they are written. */
typedef struct rows {
    alm_out_col *cols;
    alm_pg_cell *cells;
    alm_str *texts;
    size_t *ends;
    uint32_t n;
    alm_buf buf;
} rows;

static alm_status session_failed(alm_ctx *cx, dir_link *d)
{
    const alm_error *err = alm_session_error(d->session);
    (void)snprintf(d->link.sqlstate, sizeof(d->link.sqlstate), "%s",
                   alm_status_sqlstate(err->code));
    return alm_fail(cx, err->code, err->sql_pos, "%s", err->msg);
}

static alm_status rows_make(alm_ctx *cx, dir_link *d, const alm_cursor *cursor, rows *r)
{
    const alm_plan_col *cols = alm_cursor_cols(cursor, &r->n);
    ALM_TRY(ALM_NEWN(cx, &d->run_arena, r->n + 1U, &r->cols));
    ALM_TRY(ALM_NEWN(cx, &d->run_arena, r->n + 1U, &r->cells));
    ALM_TRY(ALM_NEWN(cx, &d->run_arena, r->n + 1U, &r->texts));
    ALM_TRY(ALM_NEWN(cx, &d->run_arena, r->n + 1U, &r->ends));
    for (uint32_t i = 0; i < r->n; i++)
        r->cols[i] = (alm_out_col){cols[i].name,
                                   alm_link_kind((uint32_t)alm_pg_oid(cx->conf, cols[i].type))};
    return ALM_OK;
}

/* Texts point into the buffer, which may move until the row is whole. */
static alm_status put_row(alm_ctx *cx, rows *r, const alm_batch *batch, uint32_t row, alm_out *out)
{
    r->buf.len = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        ALM_TRY(alm_pg_cell_put(cx, &r->cells[i], &batch->cols[i], row, &r->buf));
        r->ends[i] = r->buf.len;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const bool null = alm_be_get32(r->buf.ptr + at) == UINT32_MAX;
        r->texts[i] = (alm_str){null ? NULL : r->buf.ptr + at + 4, r->ends[i] - at - 4};
        at = r->ends[i];
    }
    return alm_out_row(cx, out, r->texts);
}

static alm_status put_rows(alm_ctx *cx, dir_link *d, alm_cursor *cursor, rows *r, alm_out *out)
{
    ALM_TRY(alm_out_begin(cx, out, r->cols, r->n));
    for (;;) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(cursor, &batch) != ALM_OK)
            return session_failed(cx, d);
        if (batch == NULL)
            return alm_out_end(cx, out);
        for (uint32_t i = 0; i < r->n; i++)
            alm_pg_cell_init(cx->conf, &r->cells[i], batch->cols[i].type, false);
        for (uint32_t row = 0; row < batch->rows; row++)
            ALM_TRY(put_row(cx, r, batch, row, out));
    }
}

static alm_status take_bytes(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    return alm_out_raw(cx, arg, bytes, n);
}

static alm_status write_file(alm_ctx *cx, dir_link *d, alm_cursor *cursor, alm_pq_writer *w)
{
    for (;;) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(cursor, &batch) != ALM_OK)
            return session_failed(cx, d);
        if (batch == NULL)
            return alm_pq_finish(cx, w);
        ALM_TRY(alm_pq_write(cx, w, batch, 0, batch->rows));
    }
}

/* The result as a Parquet file. */
static alm_status put_file(alm_ctx *cx, dir_link *d, alm_cursor *cursor, alm_out *out)
{
    alm_pq_writer *w = NULL;
    alm_pq_request request;
    alm_ctx own = {.arena = &d->run_arena};
    uint32_t n = 0, *cols = NULL;
    (void)alm_cursor_cols(cursor, &n);
    ALM_TRY(ALM_NEWN(cx, &d->run_arena, n + 1, &cols));
    for (uint32_t i = 0; i < n; i++)
        cols[i] = i;
    alm_pq_request_init(&request);
    if (alm_cursor_parquet(&own, cursor, cols, n, &request, take_bytes, out, &w) != ALM_OK)
        return alm_fail(cx, own.err.code, -1, "%s", own.err.msg);
    const alm_status st = write_file(cx, d, cursor, w);
    alm_pq_writer_free(w);
    return st == ALM_OK ? alm_out_tag(cx, out, NULL) : st;
}

static void tag_of(dir_link *d, const alm_cursor *cursor)
{
    const char *name = alm_cursor_tag(cursor);
    const long long n = (long long)alm_cursor_affected(cursor);
    if (strcmp(name, "INSERT") == 0 && n >= 0)
        (void)snprintf(d->tag, sizeof(d->tag), "INSERT 0 %lld", n);
    else if (n >= 0)
        (void)snprintf(d->tag, sizeof(d->tag), "%s %lld", name, n);
    else
        (void)snprintf(d->tag, sizeof(d->tag), "%s", name);
}

static alm_status run_cursor(alm_ctx *cx, dir_link *d, alm_cursor *cursor, alm_out *out)
{
    tag_of(d, cursor);
    if (!alm_cursor_has_rows(cursor))
        return alm_out_tag(cx, out, d->tag);
    if (out->form->parquet)
        return put_file(cx, d, cursor, out);
    rows r = {0};
    alm_buf_init(&r.buf, NULL);
    alm_status st = rows_make(cx, d, cursor, &r);
    if (st == ALM_OK)
        st = put_rows(cx, d, cursor, &r, out);
    if (st != ALM_OK)
        alm_out_drop(out);
    alm_buf_deinit(&r.buf);
    return st;
}

static void say_notices(const alm_cursor *cursor)
{
    for (const alm_notice *n = alm_cursor_notice(cursor); n != NULL; n = n->next)
        (void)fprintf(stderr, "%s: %s\n", n->warning ? "WARNING" : "NOTICE", n->text);
}

static alm_status run(alm_ctx *cx, alm_link *link, alm_str sql, alm_out *out, const char **tag)
{
    dir_link *d = (dir_link *)link;
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    link->sqlstate[0] = 0;
    alm_arena_reset(&d->run_arena);
    *tag = d->tag;
    if (alm_prepare(d->session, sql, NULL, &prepared) != ALM_OK)
        return session_failed(cx, d);
    alm_status st = ALM_OK;
    if (alm_execute(d->session, prepared, NULL, 0, &cursor) != ALM_OK)
        st = session_failed(cx, d);
    else
        st = run_cursor(cx, d, cursor, out);
    if (st == ALM_OK)
        say_notices(cursor);
    alm_cursor_close(cursor);
    alm_prepared_free(prepared);
    return st;
}

static void cancel(alm_link *link)
{
    alm_session_cancel(((dir_link *)link)->session, 0); /* two atomics: safe in a handler */
}

static void close_dir(alm_link *link)
{
    dir_link *d = (dir_link *)link;
    if (d->session != NULL)
        alm_session_free(d->session);
    if (d->db != NULL)
        alm_db_free(d->db, 0);
    alm_conf_deinit(&d->conf);
    alm_arena_deinit(&d->run_arena);
    alm_arena_deinit(&d->arena);
    free(d);
}

/* The directory must be there: a slip of the pen makes no new database. */
static alm_status open_dir(alm_ctx *cx, dir_link *d, const char *dir)
{
    struct stat meta;
    if (stat(dir, &meta) != 0 || !S_ISDIR(meta.st_mode))
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not a directory", dir);
    ALM_TRY(alm_db_new(cx, alm_io_posix(), dir, &d->conf, &d->db));
    return alm_session_new(cx, d->db, "admin", "cli", &d->session);
}

alm_status alm_link_dir(alm_ctx *cx, const char *dir, alm_link **out)
{
    dir_link *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    d->link = (alm_link){.run = run, .cancel = cancel, .close = close_dir};
    alm_log_set_level(ALM_LOG_ERROR);
    alm_arena_init(&d->arena, NULL);
    alm_arena_init(&d->run_arena, NULL);
    alm_ctx open_cx = {.arena = &d->arena};
    alm_status st = alm_conf_init(&open_cx, &d->conf);
    if (st == ALM_OK)
        st = open_dir(&open_cx, d, dir);
    if (st != ALM_OK) {
        st = alm_fail(cx, st, -1, "%s", open_cx.err.msg);
        close_dir(&d->link);
        return st;
    }
    *out = &d->link;
    return ALM_OK;
}
