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

static alm_status link_dir_session_failed(alm_ctx *cx, dir_link *link)
{
    const alm_error *err = alm_session_error(link->session);
    (void)snprintf(link->link.sqlstate, sizeof(link->link.sqlstate), "%s",
                   alm_status_sqlstate(err->code));
    return alm_fail(cx, err->code, err->sql_pos, "%s", err->msg);
}

static alm_status rows_make(alm_ctx *cx, dir_link *link, const alm_cursor *cursor, rows *self)
{
    const alm_plan_col *cols = alm_cursor_cols(cursor, &self->n);
    ALM_TRY(ALM_NEWN(cx, &link->run_arena, self->n + 1U, &self->cols));
    ALM_TRY(ALM_NEWN(cx, &link->run_arena, self->n + 1U, &self->cells));
    ALM_TRY(ALM_NEWN(cx, &link->run_arena, self->n + 1U, &self->texts));
    ALM_TRY(ALM_NEWN(cx, &link->run_arena, self->n + 1U, &self->ends));
    for (uint32_t i = 0; i < self->n; i++)
        self->cols[i] = (alm_out_col){cols[i].name,
                                      alm_link_kind((uint32_t)alm_pg_oid(cx->conf, cols[i].type))};
    return ALM_OK;
}

/* Texts point into the buffer, which may move until the row is whole. */
static alm_status link_dir_put_row(alm_ctx *cx, rows *self, const alm_batch *batch, uint32_t row,
                                   alm_out *out)
{
    self->buf.len = 0;
    for (uint32_t i = 0; i < self->n; i++) {
        ALM_TRY(alm_pg_cell_put(cx, &self->cells[i], &batch->cols[i], row, &self->buf));
        self->ends[i] = self->buf.len;
    }
    size_t offset = 0;
    for (uint32_t i = 0; i < self->n; i++) {
        const bool null = alm_be_get32(self->buf.ptr + offset) == UINT32_MAX;
        self->texts[i] =
            (alm_str){null ? NULL : self->buf.ptr + offset + 4, self->ends[i] - offset - 4};
        offset = self->ends[i];
    }
    return alm_out_row(cx, out, self->texts);
}

static alm_status link_dir_put_rows(alm_ctx *cx, dir_link *link, alm_cursor *cursor, rows *self,
                                    alm_out *out)
{
    ALM_TRY(alm_out_begin(cx, out, self->cols, self->n));
    for (;;) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(cursor, &batch) != ALM_OK)
            return link_dir_session_failed(cx, link);
        if (batch == NULL)
            return alm_out_end(cx, out);
        for (uint32_t i = 0; i < self->n; i++)
            alm_pg_cell_init(cx->conf, &self->cells[i], batch->cols[i].type, false);
        for (uint32_t row = 0; row < batch->rows; row++)
            ALM_TRY(link_dir_put_row(cx, self, batch, row, out));
    }
}

static alm_status link_dir_take_bytes(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    return alm_out_raw(cx, arg, bytes, n);
}

static alm_status link_dir_write_file(alm_ctx *cx, dir_link *link, alm_cursor *cursor,
                                      alm_pq_writer *writer)
{
    for (;;) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(cursor, &batch) != ALM_OK)
            return link_dir_session_failed(cx, link);
        if (batch == NULL)
            return alm_pq_finish(cx, writer);
        ALM_TRY(alm_pq_write(cx, writer, batch, 0, batch->rows));
    }
}

/* The result as a Parquet file. */
static alm_status link_dir_put_file(alm_ctx *cx, dir_link *link, alm_cursor *cursor, alm_out *out)
{
    alm_pq_writer *writer = NULL;
    alm_pq_request request;
    alm_ctx own = {.arena = &link->run_arena};
    uint32_t n_cols = 0, *cols = NULL;
    (void)alm_cursor_cols(cursor, &n_cols);
    ALM_TRY(ALM_NEWN(cx, &link->run_arena, n_cols + 1, &cols));
    for (uint32_t i = 0; i < n_cols; i++)
        cols[i] = i;
    alm_pq_request_init(&request);
    if (alm_cursor_parquet(&own, cursor, cols, n_cols, &request, link_dir_take_bytes, out,
                           &writer) != ALM_OK)
        return alm_fail(cx, own.err.code, -1, "%s", own.err.msg);
    const alm_status status = link_dir_write_file(cx, link, cursor, writer);
    alm_pq_writer_free(writer);
    return status == ALM_OK ? alm_out_tag(cx, out, NULL) : status;
}

static void tag_of(dir_link *link, const alm_cursor *cursor)
{
    const char *name = alm_cursor_tag(cursor);
    const long long n = (long long)alm_cursor_affected(cursor);
    if (strcmp(name, "INSERT") == 0 && n >= 0)
        (void)snprintf(link->tag, sizeof(link->tag), "INSERT 0 %lld", n);
    else if (n >= 0)
        (void)snprintf(link->tag, sizeof(link->tag), "%s %lld", name, n);
    else
        (void)snprintf(link->tag, sizeof(link->tag), "%s", name);
}

static alm_status run_cursor(alm_ctx *cx, dir_link *link, alm_cursor *cursor, alm_out *out)
{
    tag_of(link, cursor);
    if (!alm_cursor_has_rows(cursor))
        return alm_out_tag(cx, out, link->tag);
    if (out->form->parquet)
        return link_dir_put_file(cx, link, cursor, out);
    rows self = {0};
    alm_buf_init(&self.buf, NULL);
    alm_status status = rows_make(cx, link, cursor, &self);
    if (status == ALM_OK)
        status = link_dir_put_rows(cx, link, cursor, &self, out);
    if (status != ALM_OK)
        alm_out_drop(out);
    alm_buf_deinit(&self.buf);
    return status;
}

static void say_notices(const alm_cursor *cursor)
{
    for (const alm_notice *notice = alm_cursor_notice(cursor); notice != NULL;
         notice = notice->next)
        (void)fprintf(stderr, "%s: %s\n", notice->warning ? "WARNING" : "NOTICE", notice->text);
}

static alm_status link_dir_run(alm_ctx *cx, alm_link *link, alm_str sql, alm_out *out,
                               const char **tag)
{
    dir_link *d = (dir_link *)link;
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    link->sqlstate[0] = 0;
    alm_arena_reset(&d->run_arena);
    *tag = d->tag;
    if (alm_prepare(d->session, sql, NULL, &prepared) != ALM_OK)
        return link_dir_session_failed(cx, d);
    alm_status status = ALM_OK;
    if (alm_execute(d->session, prepared, NULL, 0, &cursor) != ALM_OK)
        status = link_dir_session_failed(cx, d);
    else
        status = run_cursor(cx, d, cursor, out);
    if (status == ALM_OK)
        say_notices(cursor);
    alm_cursor_close(cursor);
    alm_prepared_free(prepared);
    return status;
}

static void link_dir_cancel(alm_link *link)
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
static alm_status link_open_dir(alm_ctx *cx, dir_link *link, const char *dir)
{
    struct stat meta;
    if (stat(dir, &meta) != 0 || !S_ISDIR(meta.st_mode))
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not a directory", dir);
    ALM_TRY(alm_db_new(cx, alm_io_posix(), dir, &link->conf, &link->db));
    return alm_session_new(cx, link->db, "admin", "cli", &link->session);
}

alm_status alm_link_dir(alm_ctx *cx, const char *dir, alm_link **out)
{
    dir_link *link = calloc(1, sizeof(*link));
    if (link == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    link->link = (alm_link){.run = link_dir_run, .cancel = link_dir_cancel, .close = close_dir};
    alm_log_set_level(ALM_LOG_ERROR);
    alm_arena_init(&link->arena, NULL);
    alm_arena_init(&link->run_arena, NULL);
    alm_ctx open_cx = {.arena = &link->arena};
    alm_status status = alm_conf_init(&open_cx, &link->conf);
    if (status == ALM_OK)
        status = link_open_dir(&open_cx, link, dir);
    if (status != ALM_OK) {
        status = alm_fail(cx, status, -1, "%s", open_cx.err.msg);
        close_dir(&link->link);
        return status;
    }
    *out = &link->link;
    return ALM_OK;
}
