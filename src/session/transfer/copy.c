/*
 * copy.c - COPY FROM STDIN and TO STDOUT: the statement, and the bytes a protocol hands over for it.
 *
 * All or nothing   Rows are visible when alm_copy_end has returned, in a transaction block with its
 *                  COMMIT.
 * Way of the rows  Few bytes wait here until they are all there and go through the log as one
 *                  transaction; more of them become a bulk load, which writes parts as they come.
 * Memory           Of a bulk load: a block of rows, and what the load collects for its parts.
 */
#include "session/transfer/copy.h"
#include "session/access/standing.h"
#include "session/statement/statement.h"
#include "session/transfer/export.h"
#include "session/transfer/transfer.h"

#include <stdlib.h>

typedef struct alm_copy_in {
    alm_load load;
    alm_buf first;  /* bytes that wait for the decision */
    bool started;   /* it was made */
    alm_bulk *bulk; /* NULL: rows go to the transaction */
    alm_txn *txn;   /* of its own; NULL: the session's */
    int64_t rows;
    bool silent;
    alm_copy_format format;
} alm_copy_in;

static alm_status transfer_copy_take_rows(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    alm_cursor *cursor = arg;
    alm_copy_in *in = cursor->copy_in;
    ALM_TRY(alm_check(cx));
    in->rows += batch->rows;
    if (in->bulk != NULL)
        return alm_bulk_append(cx, in->bulk, batch);
    return alm_txn_append(cx, in->txn != NULL ? in->txn : cursor->session->txn, in->load.table,
                          batch);
}

/* ---------------------------------------------------------------- the statement */

static alm_status refuse_stream(alm_cursor *cursor, const alm_stmt *stmt)
{
    const alm_copy *copy = stmt->ext;
    if (cursor->session->streams)
        return ALM_OK;
    return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, copy->file_pos,
                    "COPY %s needs a connection of the PostgreSQL protocol",
                    stmt->kind == ALM_STMT_COPY_TO ? "TO STDOUT" : "FROM STDIN");
}

alm_status alm_copy_columns(alm_ctx *cx, const alm_stmt *stmt, const alm_table *table,
                            uint32_t **out, uint32_t *n)
{
    bool *taken = NULL;
    *n = stmt->n_insert_cols > 0 ? stmt->n_insert_cols : table->n_cols;
    ALM_TRY(ALM_NEWN(cx, cx->arena, *n, out));
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols, &taken));
    for (uint32_t i = 0; i < *n; i++) {
        int32_t col = (int32_t)i;
        if (stmt->n_insert_cols > 0)
            col = alm_table_col(table, stmt->insert_cols[i]);
        if (col < 0)
            return alm_fail(cx, ALM_E_NAME, stmt->insert_pos[i], "Invalid column: %.*s",
                            (int)stmt->insert_cols[i].len, stmt->insert_cols[i].ptr);
        if (taken[col])
            return alm_fail(cx, ALM_E_DUPLICATE, stmt->insert_pos[i],
                            "column \"%s\" specified more than once", table->cols[col].name);
        taken[col] = true;
        (*out)[i] = (uint32_t)col;
    }
    if (table->ts_col >= 0 && !taken[table->ts_col])
        return alm_fail(cx, ALM_E_NAME, stmt->insert_pos[0],
                        "the designated timestamp '%s' must be among the columns",
                        table->cols[table->ts_col].name);
    return ALM_OK;
}

static alm_status column_names(alm_ctx *cx, const alm_table *table, const uint32_t *cols,
                               uint32_t n_cols, const char *const **out)
{
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &names));
    for (uint32_t i = 0; i < n_cols; i++)
        names[i] = table->cols[cols[i]].name;
    *out = (const char *const *)names;
    return ALM_OK;
}

static size_t record_bytes_max(const alm_ctx *cx)
{
    return cx->conf != NULL ? (size_t)cx->conf->copy_record_bytes_max : (size_t)64 << 20;
}

static alm_status read_where(alm_cursor *cursor, const alm_stmt *stmt, const alm_table *table,
                             alm_filter **out)
{
    const alm_copy *copy = stmt->ext;
    const alm_expr *const *conjuncts = NULL;
    alm_plan_env env;
    uint32_t n = 0;
    if (copy->where == NULL)
        return ALM_OK;
    alm_plan_env_init(&env, cursor, NULL, 0);
    ALM_TRY(alm_plan_copy_where(&cursor->cx, &env, stmt, table, &conjuncts, &n));
    return n > 0 ? alm_filter_new(&cursor->cx, conjuncts, n, out) : ALM_OK;
}

/* Frees what a COPY FROM STDIN holds; what was not committed is dropped. */
static void free_in(alm_cursor *cursor)
{
    alm_copy_in *in = cursor->copy_in;
    if (in == NULL)
        return;
    cursor->copy_in = NULL;
    alm_bulk_rollback(in->bulk);
    alm_txn_rollback(in->txn);
    alm_load_deinit(&in->load);
    alm_buf_deinit(&in->first);
}

static alm_status copy_in_new(alm_cursor *cursor, const alm_stmt *stmt,
                              const alm_copy_options *options, const alm_table *table)
{
    alm_ctx *cx = &cursor->cx;
    alm_copy_in *in = NULL;
    uint32_t *cols = NULL, n = 0;
    const char *const *names = NULL;
    const char *what = NULL;
    ALM_TRY(alm_copy_columns(cx, stmt, table, &cols, &n));
    ALM_TRY(column_names(cx, table, cols, n, &names));
    ALM_TRY(ALM_NEW(cx, cx->arena, &in));
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->stream));
    in->format = options->format;
    in->silent = options->silent;
    ALM_TRY(alm_copy_options_columns(cx, stmt, names, n, &in->format));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &what, "COPY %s, ", table->name));
    in->load = (alm_load){.table = table,
                          .n_cols = n,
                          .table_col = cols,
                          .rule = options->rule,
                          .skip_max = options->reject_limit,
                          .strict = true,
                          .header = options->format.header,
                          .names = options->match ? names : NULL,
                          .what = alm_str_of(what),
                          .workers = cursor->session->db->workers,
                          .sink = transfer_copy_take_rows,
                          .arg = cursor};
    alm_buf_init(&in->first, cx->mem);
    *cursor->stream =
        (alm_copy_stream){.in = true, .format = &in->format, .n_cols = n, .names = names};
    cursor->copy_in = in;
    cursor->release = free_in;
    ALM_TRY(alm_copy_reader_new(cx, cx->arena, cx->mem, &in->format, n, record_bytes_max(cx),
                                &in->load.reader));
    ALM_TRY(read_where(cursor, stmt, table, &in->load.where));
    return alm_load_init(cx, cx->arena, &in->load, options->verbose);
}

alm_status alm_run_copy_from(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params,
                             uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    const alm_copy *copy = stmt->ext;
    alm_copy_options options;
    (void)params;
    (void)n;
    if (copy->place == ALM_COPY_AT_FILE)
        return alm_run_copy_file(cursor, stmt);
    if (copy->place == ALM_COPY_AT_CANCEL)
        return alm_run_copy_cancel(cursor, stmt);
    ALM_TRY(refuse_stream(cursor, stmt));
    ALM_TRY(alm_access_name(cx, alm_stmt_permission(stmt), stmt->table, stmt->table_pos));
    const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
    if (table == NULL)
        return alm_no_table(cx, cursor->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_refuse_view(cx, table, stmt->table_pos));
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), table->name, stmt->table_pos));
    ALM_TRY(alm_copy_options_read(cx, stmt, &options));
    ALM_TRY(alm_cursor_keeps_table(cursor, &table));
    ALM_TRY(copy_in_new(cursor, stmt, &options, table));
    /* as long as the client sends, but for a limit it has set itself */
    const int64_t own_ms = cursor->session->timeout_ms;
    cx->timeout_ms = own_ms;
    cx->deadline_ns = own_ms > 0 ? cx->started_ns + own_ms * 1000000 : 0;
    return ALM_OK;
}

alm_status alm_run_copy_to(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    alm_ctx *cx = &cursor->cx;
    const alm_copy *copy = stmt->ext;
    alm_copy_options options;
    alm_copy_format *format = NULL;
    const char **names = NULL;
    if (copy->place == ALM_COPY_AT_STREAM)
        ALM_TRY(refuse_stream(cursor, stmt));
    ALM_TRY(alm_copy_options_read(cx, stmt, &options));
    if (copy->place == ALM_COPY_AT_FILE)
        return alm_run_export(cursor, stmt, &options);
    ALM_TRY(alm_run_select(cursor, stmt->select, params, n));
    ALM_TRY(ALM_NEWN(cx, cx->arena, cursor->n_cols + 1, &names));
    for (uint32_t i = 0; i < cursor->n_cols; i++)
        names[i] = cursor->cols[i].name;
    ALM_TRY(ALM_NEW(cx, cx->arena, &format));
    ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->stream));
    *format = options.format;
    if (options.parquet) {
        format->kind = ALM_COPY_BINARY; /* as clients are told */
        ALM_TRY(ALM_NEW(cx, cx->arena, &cursor->parquet_request));
        *cursor->parquet_request = options.parquet_request;
    } else {
        ALM_TRY(
            alm_copy_options_columns(cx, stmt, (const char *const *)names, cursor->n_cols, format));
    }
    *cursor->stream = (alm_copy_stream){.parquet = options.parquet,
                                        .format = format,
                                        .n_cols = cursor->n_cols,
                                        .names = (const char *const *)names};
    return ALM_OK;
}

/* ------------------------------------------------------------------- the bytes */

const alm_copy_stream *alm_cursor_copy(const alm_cursor *cursor)
{
    return cursor->stream;
}

/* Where the rows go is known when the first of them are there: few bytes and no more are few rows. */
static alm_status transfer_copy_start(alm_cursor *cursor, bool all)
{
    alm_ctx *cx = &cursor->cx;
    alm_session *session = cursor->session;
    alm_copy_in *in = cursor->copy_in;
    const bool block = alm_in_transaction(session);
    in->started = true;
    if (block && session->txn == NULL)
        ALM_TRY(alm_txn_begin(cx, session->db->storage, &session->txn));
    if (!all)
        ALM_TRY(alm_bulk_begin(cx, session->db->storage, in->load.table, &in->bulk));
    else if (!block)
        ALM_TRY(alm_txn_begin(cx, session->db->storage, &in->txn));
    ALM_TRY(alm_csv_feed(cx, in->load.reader, in->first.ptr, in->first.len));
    alm_buf_deinit(&in->first);
    alm_buf_init(&in->first, cx->mem);
    return ALM_OK;
}

static int64_t log_bytes_max(const alm_ctx *cx)
{
    return cx->conf != NULL ? cx->conf->copy_log_bytes_max : INT64_C(4) << 20;
}

static alm_status transfer_copy_feed(alm_cursor *cursor, const char *bytes, size_t n)
{
    alm_ctx *cx = &cursor->cx;
    alm_copy_in *in = cursor->copy_in;
    ALM_TRY(alm_check(cx));
    if (in->started)
        ALM_TRY(alm_csv_feed(cx, in->load.reader, bytes, n));
    else
        ALM_TRY(alm_buf_append(cx, &in->first, bytes, n));
    if (!in->started && (int64_t)in->first.len < log_bytes_max(cx))
        return ALM_OK;
    if (!in->started)
        ALM_TRY(transfer_copy_start(cursor, false));
    return alm_load_rows(cx, &in->load, false);
}

static alm_status transfer_copy_finish(alm_cursor *cursor)
{
    alm_ctx *cx = &cursor->cx;
    alm_copy_in *in = cursor->copy_in;
    uint64_t lsn = 0;
    ALM_TRY(alm_check(cx));
    if (!in->started)
        ALM_TRY(transfer_copy_start(cursor, true));
    ALM_TRY(alm_load_rows(cx, &in->load, true));
    ALM_TRY(alm_copy_complete(cx, in->load.reader));
    alm_bulk *bulk = in->bulk;
    alm_txn *txn = in->txn;
    in->bulk = NULL; /* gone either way */
    in->txn = NULL;
    cursor->affected = in->rows;
    if (bulk != NULL && alm_in_transaction(cursor->session))
        return alm_bulk_into_txn(cx, bulk, cursor->session->txn, &cursor->affected);
    if (bulk != NULL)
        return alm_bulk_commit(cx, bulk, &cursor->affected);
    return txn != NULL ? alm_txn_commit(cx, txn, &lsn) : ALM_OK;
}

alm_status alm_copy_feed(alm_cursor *cursor, const char *bytes, size_t n)
{
    const int64_t began = alm_monotonic_ns();
    alm_status status = alm_cursor_check(cursor);
    if (status == ALM_OK)
        status = transfer_copy_feed(cursor, bytes, n);
    cursor->execute_ns += alm_monotonic_ns() - began;
    return status == ALM_OK ? ALM_OK : alm_session_failed(cursor->session, &cursor->cx);
}

alm_status alm_copy_end(alm_cursor *cursor)
{
    alm_status status = alm_cursor_check(cursor);
    if (status == ALM_OK)
        status = transfer_copy_finish(cursor);
    return status == ALM_OK ? ALM_OK : alm_session_failed(cursor->session, &cursor->cx);
}

void alm_copy_told(const alm_cursor *cursor, alm_copy_faults *out)
{
    const alm_copy_in *in = cursor->copy_in;
    *out = (alm_copy_faults){0};
    if (in == NULL || in->silent)
        return;
    out->skipped = in->load.rejected;
    out->nulled = in->load.n_faulty - in->load.rejected;
    out->texts = in->load.faults;
    if (out->texts != NULL)
        out->n_texts = (uint32_t)ALM_MIN(in->load.n_faulty, (int64_t)ALM_LOAD_FAULTS_MAX);
}

alm_status alm_check_copy_to(alm_cursor *cursor, const alm_plan_env *env, const alm_stmt *stmt,
                             alm_checked *out)
{
    alm_plan *unused = NULL;
    return stmt->select != NULL ? alm_plan_select(&cursor->cx, env, stmt->select, &unused)
                                : alm_check_tables(cursor, env, stmt, out);
}
