/*
 * copy_parquet.c - COPY t FROM 'file' (FORMAT parquet): the rows of read_parquet('file') into a table that is there, columns by their
 * names, or that is made. A statement of SQL does it, so that the rows take the way of INSERT SELECT: parts, all at once.
 */
#include "session/transfer/copy_parquet.h"
#include "session/statement/statement.h"

#include "session/transfer/copy.h"
#include "session/transfer/transfer.h"

static alm_status quoted(alm_ctx *cx, alm_buf *out, alm_str text, char quote)
{
    ALM_TRY(alm_buf_append(cx, out, &quote, 1));
    for (size_t i = 0; i < text.len; i++) {
        ALM_TRY(alm_buf_append(cx, out, text.ptr + i, 1));
        if (text.ptr[i] == quote)
            ALM_TRY(alm_buf_append(cx, out, &quote, 1));
    }
    return alm_buf_append(cx, out, &quote, 1);
}

static alm_status put_file(alm_ctx *cx, alm_buf *out, alm_str file)
{
    ALM_TRY(alm_buf_text(cx, out, " FROM read_parquet("));
    ALM_TRY(quoted(cx, out, file, '\''));
    return alm_buf_text(cx, out, ")");
}

/* A new table: all columns of the file. */
static alm_status create_text(alm_ctx *cx, const alm_stmt *stmt, const alm_copy_options *o,
                              alm_buf *out)
{
    const alm_copy *copy = stmt->ext;
    if (stmt->n_insert_cols > 0)
        return alm_fail(cx, ALM_E_NAME, stmt->table_pos, "table does not exist [table=%.*s]",
                        (int)stmt->table.len, stmt->table.ptr);
    ALM_TRY(alm_buf_text(cx, out, "CREATE TABLE "));
    ALM_TRY(quoted(cx, out, stmt->table, '"'));
    ALM_TRY(alm_buf_text(cx, out, " AS (SELECT *"));
    ALM_TRY(put_file(cx, out, copy->file));
    ALM_TRY(alm_buf_text(cx, out, ")"));
    if (o->timestamp.ptr != NULL) {
        ALM_TRY(alm_buf_text(cx, out, " TIMESTAMP("));
        ALM_TRY(quoted(cx, out, o->timestamp, '"'));
        ALM_TRY(alm_buf_text(cx, out, ")"));
    }
    if (o->partition_by.ptr != NULL)
        ALM_TRY(alm_buf_printf(cx, out, " PARTITION BY %.*s", (int)o->partition_by.len,
                               o->partition_by.ptr));
    return ALM_OK;
}

/* Columns of the file, by describing the query that reads it. */
static alm_status file_columns(alm_cursor *c, alm_session *s, alm_str file, alm_prepared **out,
                               const alm_plan_col **cols, uint32_t *n)
{
    alm_ctx *cx = &c->cx;
    const alm_type *types = NULL;
    uint32_t n_types = 0;
    alm_buf text;
    alm_buf_init(&text, cx->mem);
    alm_status st = alm_buf_text(cx, &text, "SELECT *");
    if (st == ALM_OK)
        st = put_file(cx, &text, file);
    if (st == ALM_OK && (alm_prepare(s, (alm_str){text.ptr, text.len}, NULL, out) != ALM_OK ||
                         alm_describe(s, *out, NULL, 0, &types, &n_types, cols, n) != ALM_OK))
        st = alm_fail(cx, alm_session_error(s)->code, -1, "%s", alm_session_error(s)->msg);
    alm_buf_deinit(&text);
    return st;
}

/* By name; a column of the file that the table has not is a fault, unless others are listed. */
static alm_status insert_text(alm_cursor *c, const alm_stmt *stmt, const alm_table *table,
                              const alm_plan_col *cols, uint32_t n, alm_buf *out)
{
    alm_ctx *cx = &c->cx;
    const alm_copy *copy = stmt->ext;
    const bool listed = stmt->n_insert_cols > 0;
    const uint32_t count = listed ? stmt->n_insert_cols : n;
    alm_buf names;
    alm_status st = ALM_OK;
    alm_buf_init(&names, cx->mem);
    for (uint32_t i = 0; st == ALM_OK && i < count; i++) {
        const alm_str name = listed ? stmt->insert_cols[i] : alm_str_of(cols[i].name);
        if (alm_table_col(table, name) < 0)
            st = alm_fail(cx, ALM_E_NAME, listed ? stmt->insert_pos[i] : copy->file_pos,
                          "Invalid column: %.*s", (int)name.len, name.ptr);
        if (st == ALM_OK && i > 0)
            st = alm_buf_text(cx, &names, ", ");
        if (st == ALM_OK)
            st = quoted(cx, &names, name, '"');
    }
    if (st == ALM_OK)
        st = alm_buf_text(cx, out, "INSERT INTO ");
    if (st == ALM_OK)
        st = quoted(cx, out, stmt->table, '"');
    if (st == ALM_OK)
        st = alm_buf_printf(cx, out, " (%.*s) SELECT %.*s", (int)names.len, names.ptr,
                            (int)names.len, names.ptr);
    alm_buf_deinit(&names);
    return st == ALM_OK ? put_file(cx, out, copy->file) : st;
}

static alm_status make_text(alm_cursor *c, alm_session *s, const alm_stmt *stmt,
                            const alm_copy_options *o, alm_buf *out)
{
    alm_prepared *described = NULL;
    const alm_plan_col *cols = NULL;
    uint32_t n = 0;
    const alm_copy *copy = stmt->ext;
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    alm_status st = file_columns(c, s, copy->file, &described, &cols, &n);
    if (st == ALM_OK && table != NULL)
        st = alm_refuse_view(&c->cx, table, stmt->table_pos);
    if (st == ALM_OK)
        st = table == NULL ? create_text(&c->cx, stmt, o, out)
                           : insert_text(c, stmt, table, cols, n, out);
    alm_prepared_free(described);
    if (st != ALM_OK && c->cx.err.sql_pos < 0)
        c->cx.err.sql_pos = copy->file_pos;
    return st;
}

alm_status alm_copy_parquet_text(alm_cursor *c, alm_session *s, alm_arena *arena,
                                 const alm_stmt *stmt, const alm_copy_options *o, const char **out)
{
    alm_buf text;
    alm_buf_init(&text, c->cx.mem);
    alm_status st = make_text(c, s, stmt, o, &text);
    if (st == ALM_OK)
        st = alm_arena_zstr(&c->cx, arena, (alm_str){text.ptr, text.len}, out);
    alm_buf_deinit(&text);
    return st;
}

alm_status alm_copy_parquet_run(alm_ctx *cx, alm_session *s, const char *text, int64_t *rows)
{
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    alm_session_timeout_max(s, ALM_COPY_TIMEOUT_MS);
    alm_status st = alm_prepare(s, alm_str_of(text), NULL, &prepared);
    if (st == ALM_OK)
        st = alm_execute(s, prepared, NULL, 0, &cursor);
    if (st == ALM_OK)
        *rows = ALM_MAX(alm_cursor_affected(cursor), INT64_C(0));
    else
        st = alm_fail(cx, st, -1, "%s", alm_session_error(s)->msg);
    alm_cursor_close(cursor);
    alm_prepared_free(prepared);
    return st;
}
