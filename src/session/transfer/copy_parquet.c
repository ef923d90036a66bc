/*
 * copy_parquet.c - COPY t FROM 'file' (FORMAT parquet): the rows of read_parquet('file') into a table that is there, columns by their
 * names, or that is made. A statement of SQL does it, so that the rows take the way of INSERT SELECT: parts, all at once.
 */
#include "session/transfer/copy_parquet.h"
#include "session/statement/statement.h"

#include "session/transfer/copy.h"
#include "session/transfer/transfer.h"

static alm_status copy_parquet_quoted(alm_ctx *cx, alm_buf *out, alm_str text, char quote)
{
    ALM_TRY(alm_buf_append(cx, out, &quote, 1));
    for (size_t i = 0; i < text.len; i++) {
        ALM_TRY(alm_buf_append(cx, out, text.ptr + i, 1));
        if (text.ptr[i] == quote)
            ALM_TRY(alm_buf_append(cx, out, &quote, 1));
    }
    return alm_buf_append(cx, out, &quote, 1);
}

static alm_status copy_parquet_put_file(alm_ctx *cx, alm_buf *out, alm_str file)
{
    ALM_TRY(alm_buf_text(cx, out, " FROM read_parquet("));
    ALM_TRY(copy_parquet_quoted(cx, out, file, '\''));
    return alm_buf_text(cx, out, ")");
}

/* A new table: all columns of the file. */
static alm_status create_text(alm_ctx *cx, const alm_stmt *stmt, const alm_copy_options *options,
                              alm_buf *out)
{
    const alm_copy *copy = stmt->ext;
    if (stmt->n_insert_cols > 0)
        return alm_fail(cx, ALM_E_NAME, stmt->table_pos, "table does not exist [table=%.*s]",
                        (int)stmt->table.len, stmt->table.ptr);
    ALM_TRY(alm_buf_text(cx, out, "CREATE TABLE "));
    ALM_TRY(copy_parquet_quoted(cx, out, stmt->table, '"'));
    ALM_TRY(alm_buf_text(cx, out, " AS (SELECT *"));
    ALM_TRY(copy_parquet_put_file(cx, out, copy->file));
    ALM_TRY(alm_buf_text(cx, out, ")"));
    if (options->timestamp.ptr != NULL) {
        ALM_TRY(alm_buf_text(cx, out, " TIMESTAMP("));
        ALM_TRY(copy_parquet_quoted(cx, out, options->timestamp, '"'));
        ALM_TRY(alm_buf_text(cx, out, ")"));
    }
    if (options->partition_by.ptr != NULL)
        ALM_TRY(alm_buf_printf(cx, out, " PARTITION BY %.*s", (int)options->partition_by.len,
                               options->partition_by.ptr));
    return ALM_OK;
}

/* Columns of the file, by describing the query that reads it. */
static alm_status file_columns(alm_cursor *cursor, alm_session *session, alm_str file,
                               alm_prepared **out, const alm_plan_col **cols, uint32_t *n)
{
    alm_ctx *cx = &cursor->cx;
    const alm_type *types = NULL;
    uint32_t n_types = 0;
    alm_buf text;
    alm_buf_init(&text, cx->mem);
    alm_status status = alm_buf_text(cx, &text, "SELECT *");
    if (status == ALM_OK)
        status = copy_parquet_put_file(cx, &text, file);
    if (status == ALM_OK &&
        (alm_prepare(session, (alm_str){text.ptr, text.len}, NULL, out) != ALM_OK ||
         alm_describe(session, *out, NULL, 0, &types, &n_types, cols, n) != ALM_OK))
        status = alm_fail(cx, alm_session_error(session)->code, -1, "%s",
                          alm_session_error(session)->msg);
    alm_buf_deinit(&text);
    return status;
}

/* By name; a column of the file that the table has not is a fault, unless others are listed. */
static alm_status insert_text(alm_cursor *cursor, const alm_stmt *stmt, const alm_table *table,
                              const alm_plan_col *cols, uint32_t n, alm_buf *out)
{
    alm_ctx *cx = &cursor->cx;
    const alm_copy *copy = stmt->ext;
    const bool listed = stmt->n_insert_cols > 0;
    const uint32_t count = listed ? stmt->n_insert_cols : n;
    alm_buf names;
    alm_status status = ALM_OK;
    alm_buf_init(&names, cx->mem);
    for (uint32_t i = 0; status == ALM_OK && i < count; i++) {
        const alm_str name = listed ? stmt->insert_cols[i] : alm_str_of(cols[i].name);
        if (alm_table_col(table, name) < 0)
            status = alm_fail(cx, ALM_E_NAME, listed ? stmt->insert_pos[i] : copy->file_pos,
                              "Invalid column: %.*s", (int)name.len, name.ptr);
        if (status == ALM_OK && i > 0)
            status = alm_buf_text(cx, &names, ", ");
        if (status == ALM_OK)
            status = copy_parquet_quoted(cx, &names, name, '"');
    }
    if (status == ALM_OK)
        status = alm_buf_text(cx, out, "INSERT INTO ");
    if (status == ALM_OK)
        status = copy_parquet_quoted(cx, out, stmt->table, '"');
    if (status == ALM_OK)
        status = alm_buf_printf(cx, out, " (%.*s) SELECT %.*s", (int)names.len, names.ptr,
                                (int)names.len, names.ptr);
    alm_buf_deinit(&names);
    return status == ALM_OK ? copy_parquet_put_file(cx, out, copy->file) : status;
}

static alm_status make_text(alm_cursor *cursor, alm_session *session, const alm_stmt *stmt,
                            const alm_copy_options *options, alm_buf *out)
{
    alm_prepared *described = NULL;
    const alm_plan_col *cols = NULL;
    uint32_t n = 0;
    const alm_copy *copy = stmt->ext;
    const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
    alm_status status = file_columns(cursor, session, copy->file, &described, &cols, &n);
    if (status == ALM_OK && table != NULL)
        status = alm_refuse_view(&cursor->cx, table, stmt->table_pos);
    if (status == ALM_OK)
        status = table == NULL ? create_text(&cursor->cx, stmt, options, out)
                               : insert_text(cursor, stmt, table, cols, n, out);
    alm_prepared_free(described);
    if (status != ALM_OK && cursor->cx.err.sql_pos < 0)
        cursor->cx.err.sql_pos = copy->file_pos;
    return status;
}

alm_status alm_copy_parquet_text(alm_cursor *cursor, alm_session *session, alm_arena *arena,
                                 const alm_stmt *stmt, const alm_copy_options *options,
                                 const char **out)
{
    alm_buf text;
    alm_buf_init(&text, cursor->cx.mem);
    alm_status status = make_text(cursor, session, stmt, options, &text);
    if (status == ALM_OK)
        status = alm_arena_zstr(&cursor->cx, arena, (alm_str){text.ptr, text.len}, out);
    alm_buf_deinit(&text);
    return status;
}

alm_status alm_copy_parquet_run(alm_ctx *cx, alm_session *session, const char *text, int64_t *rows)
{
    alm_prepared *prepared = NULL;
    alm_cursor *cursor = NULL;
    alm_session_timeout_max(session, ALM_COPY_TIMEOUT_MS);
    alm_status status = alm_prepare(session, alm_str_of(text), NULL, &prepared);
    if (status == ALM_OK)
        status = alm_execute(session, prepared, NULL, 0, &cursor);
    if (status == ALM_OK)
        *rows = ALM_MAX(alm_cursor_affected(cursor), INT64_C(0));
    else
        status = alm_fail(cx, status, -1, "%s", alm_session_error(session)->msg);
    alm_cursor_close(cursor);
    alm_prepared_free(prepared);
    return status;
}
