/* run.c - see run.h. */
#include "net/http/query/run_state.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/map.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/json_text.h"
#include "net/http/login/login.h"
#include "net/http/query/json.h"
#include "net/shared.h"

/* Statements longer than this, with their parameters and names of columns, are parsed on a query thread. */
enum { INLINE_TEXT_MAX = 32 << 10 };
/* Whole answers below this are not packed: they fit a packet or two as they are. */
enum { PACK_LEAST = 2048 };
enum { PIECES_MOST = 4 };

/* ------------------------------------------------------------------- window */

static bool window_number(alm_str text, int64_t *out)
{
    return alm_int64_parse(text, out) == ALM_NUM_OK && text.ptr[0] != '+';
}

bool alm_row_window_parse(alm_str text, bool inclusive, alm_row_window *out)
{
    const char *comma = memchr(text.ptr, ',', text.len);
    int64_t lo = 0, hi = 0;
    if (comma == NULL) {
        if (!window_number(text, &hi))
            return false;
        *out = hi < 0 ? (alm_row_window){.hi = INT64_MAX, .last = hi == INT64_MIN ? INT64_MAX : -hi}
                      : (alm_row_window){.hi = hi};
        return true;
    }
    const alm_str first = {text.ptr, (size_t)(comma - text.ptr)};
    const alm_str second = {comma + 1, text.len - first.len - 1};
    if (!window_number(first, &lo) || lo < 0)
        return false;
    hi = INT64_MAX;
    if (second.len > 0 && (!window_number(second, &hi) || hi < 0))
        return false;
    /* row numbers start at 1; 0 as the lower end means "from the start, so many" */
    if (second.len > 0 && hi < INT64_MAX && !inclusive && lo > 0)
        hi -= 1;
    *out = (alm_row_window){.lo = lo > 0 ? lo - 1 : 0, .hi = hi};
    return true;
}

/* ------------------------------------------------------------------- pieces */

alm_status alm_query_failed(alm_query_run *run, const alm_error *err)
{
    run->failed = true;
    run->finished = true;
    run->err = *err;
    return err->code;
}

static const char *type_name(alm_type type)
{
    return type.id == ALM_T_NULL ? "STRING" : alm_type_name(type);
}

alm_status alm_query_json_column(alm_ctx *cx, alm_buf *out, const alm_plan_col *col)
{
    ALM_TRY(alm_buf_text(cx, out, "{\"name\":"));
    ALM_TRY(alm_json_put_string(cx, out, alm_str_of(col->name)));
    if (col->type.id == ALM_T_ARRAY)
        return alm_buf_printf(cx, out, ",\"type\":\"ARRAY\",\"dim\":%u,\"elemType\":\"DOUBLE\"}",
                              col->type.dims);
    ALM_TRY(alm_buf_text(cx, out, ",\"type\":\""));
    ALM_TRY(alm_buf_text(cx, out, type_name(col->type)));
    return alm_buf_text(cx, out, "\"}");
}

static alm_status put_columns(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    ALM_TRY(alm_buf_text(cx, out, "\"columns\":["));
    for (uint32_t i = 0; i < run->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, out, ","));
        ALM_TRY(alm_query_json_column(cx, out, &cols[run->cols[i]]));
    }
    return alm_buf_text(cx, out, "],");
}

alm_status alm_query_json_facts(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    ALM_TRY(alm_buf_text(cx, out, "\"query\":"));
    ALM_TRY(alm_json_put_string(cx, out, run->query));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(put_columns(run, cols));
    int32_t ts = -1;
    for (uint32_t i = 0; i < run->n_cols; i++)
        if ((int32_t)run->cols[i] == alm_cursor_ts_col(run->cursor))
            ts = (int32_t)i;
    ALM_TRY(alm_buf_text(cx, out, "\"timestamp\":"));
    ALM_TRY(alm_buf_int64(cx, out, ts));
    return alm_buf_text(cx, out, ",");
}

static alm_status json_head(alm_query_run *run, const alm_plan_col *cols)
{
    /* a small answer in one go */
    enum { FACTS_BYTES = 512, COLUMN_BYTES = 64 };
    const size_t room = FACTS_BYTES + 2 * run->query.len + (size_t)run->n_cols * COLUMN_BYTES;
    ALM_TRY(alm_buf_reserve(&run->cx, &run->out, room));
    ALM_TRY(alm_buf_text(&run->cx, &run->out, "{"));
    if (!run->opt.no_meta)
        ALM_TRY(alm_query_json_facts(run, cols));
    return alm_buf_text(&run->cx, &run->out, "\"dataset\":[");
}

static alm_status csv_head(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    if (run->opt.no_meta)
        return ALM_OK;
    for (uint32_t i = 0; i < run->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_append(cx, &run->out, &run->opt.delimiter, 1));
        ALM_TRY(alm_csv_put_quoted(cx, &run->out, alm_str_of(cols[run->cols[i]].name)));
    }
    return alm_buf_text(cx, &run->out, "\r\n");
}

alm_status alm_query_json_tail(alm_query_run *run)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    const int64_t count = run->held != NULL    ? alm_held_rows(run->held)
                          : run->opt.count_all ? run->rows_seen
                                               : run->rows_sent;
    ALM_TRY(alm_buf_text(cx, out, "],\"count\":"));
    ALM_TRY(alm_buf_int64(cx, out, count));
    if (run->held != NULL)
        ALM_TRY(alm_buf_printf(cx, out, ",\"snapshot\":\"%s\",\"complete\":%s",
                               alm_held_name(run->held),
                               alm_held_complete(run->held) ? "true" : "false"));
    if (run->opt.timings && run->cursor != NULL) {
        int64_t compile_ns = 0, execute_ns = 0;
        alm_cursor_times(run->cursor, &compile_ns, &execute_ns);
        ALM_TRY(alm_buf_printf(cx, out,
                               ",\"timings\":{\"authentication\":0,\"compiler\":%lld,"
                               "\"execute\":%lld,\"count\":0",
                               (long long)compile_ns, (long long)execute_ns));
        if (run->held != NULL)
            ALM_TRY(alm_buf_printf(cx, out, ",\"hold\":%lld",
                                   (long long)ALM_MAX(run->held_ns - execute_ns, (int64_t)0)));
        ALM_TRY(alm_buf_text(cx, out, "}"));
    }
    if (run->opt.explain)
        ALM_TRY(alm_buf_text(cx, out, ",\"explain\":{\"jitCompiled\":false}"));
    return alm_buf_text(cx, out, "}");
}

/* A name may come again, but not for nothing: each counts as a node of the statement does, and what is made for it is memory of it. */
static alm_status choose_named(alm_query_run *run, const alm_plan_col *cols, const alm_map *by_name)
{
    alm_ctx *cx = &run->cx;
    const alm_str list = run->opt.cols;
    size_t names = 1;
    for (size_t i = 0; i < list.len; i++)
        names += list.ptr[i] == ',';
    ALM_TRY(alm_nodes_add(cx, (int64_t)names, -1));
    ALM_TRY(ALM_NEWN(cx, &run->arena, names, &run->cols));
    for (size_t at = 0; at <= list.len;) {
        const char *comma = memchr(list.ptr + at, ',', list.len - at);
        const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
        const alm_str name = {list.ptr + at, end - at};
        at = end + 1;
        const alm_plan_col *col = alm_map_get(by_name, name);
        if (col == NULL)
            return alm_fail(cx, ALM_E_NAME, -1, "column not found: '%.*s'", (int)name.len,
                            name.ptr);
        run->cols[run->n_cols++] = (uint32_t)(col - cols);
        if (run->n_cols % ALM_NODES_LOOK == 0 && alm_cursor_goes_on(run->cursor) != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
    }
    ALM_ASSERT(run->n_cols == names);
    return ALM_OK;
}

static alm_status choose_cols(alm_query_run *run, const alm_plan_col *cols, uint32_t n)
{
    alm_ctx *cx = &run->cx;
    if (run->opt.cols.ptr == NULL || run->opt.cols.len == 0) {
        ALM_TRY(ALM_NEWN(cx, &run->arena, n + 1, &run->cols));
        for (uint32_t i = 0; i < n; i++)
            run->cols[i] = i;
        run->n_cols = n;
        return ALM_OK;
    }
    alm_map by_name;
    alm_map_init(&by_name, true);
    alm_status st = ALM_OK;
    for (uint32_t i = 0; st == ALM_OK && i < n; i++) /* of several of one name the first */
        if (alm_map_get(&by_name, alm_str_of(cols[i].name)) == NULL)
            st = alm_map_put(cx, &by_name, alm_str_of(cols[i].name), (void *)(uintptr_t)&cols[i],
                             NULL);
    if (st == ALM_OK)
        st = choose_named(run, cols, &by_name);
    alm_map_deinit(&by_name);
    return st;
}

/* Columns that are null in every row travel as texts. */
static alm_type arrow_type(alm_type type)
{
    return type.id == ALM_T_NULL ? ALM_TY(STRING) : type;
}

static alm_status arrow_head(alm_query_run *run, const alm_plan_col *cols)
{
    ALM_TRY(ALM_NEWN(&run->cx, &run->arena, run->n_cols + 1, &run->fields));
    for (uint32_t i = 0; i < run->n_cols; i++) {
        const alm_plan_col *col = &cols[run->cols[i]];
        run->fields[i] = (alm_arrow_field){.name = col->name, .type = arrow_type(col->type)};
    }
    return alm_arrow_ipc_schema(&run->cx, run->fields, run->n_cols, &run->out);
}

/* A message of the next rows. */
static alm_status arrow_rows(alm_query_run *run)
{
    for (uint32_t i = 0; i < run->n_cols; i++) {
        alm_vec *vec = &run->chosen[i];
        *vec = run->batch->cols[run->cols[i]];
        vec->type = arrow_type(vec->type);
        if (!vec->is_const)
            vec->data = (char *)vec->data + (size_t)run->row * vec->width;
    }
    const alm_batch rows = {
        .rows = run->row_end - run->row, .n_cols = run->n_cols, .cols = run->chosen};
    uint32_t n = 0;
    ALM_TRY(alm_arrow_ipc_batch(&run->cx, run->fields, &rows, &n, &run->out));
    run->row += n;
    return ALM_OK;
}

static alm_status parquet_head(alm_query_run *run)
{
    return alm_cursor_parquet(&run->cx, run->cursor, run->cols, run->n_cols, run->opt.parquet,
                              alm_pq_sink_buf, &run->out, &run->parquet);
}

/* A row group at a time, as these may be of one row. */
static alm_status parquet_rows(alm_query_run *run)
{
    const int64_t group_rows = run->opt.parquet->options.row_group_rows;
    const uint32_t from = run->row, left = run->row_end - from;
    const uint32_t n = (uint32_t)ALM_MIN(ALM_MAX(group_rows, INT64_C(1)), (int64_t)left);
    for (uint32_t i = 0; i < run->n_cols; i++)
        run->chosen[i] = run->batch->cols[run->cols[i]];
    const alm_batch rows = {.rows = run->batch->rows, .n_cols = run->n_cols, .cols = run->chosen};
    run->row += n;
    return alm_pq_write(&run->cx, run->parquet, &rows, from, from + n);
}

static alm_status text_writer(alm_query_run *run, const alm_plan_col *cols, uint32_t n)
{
    alm_ctx *cx = &run->cx;
    alm_type *types = NULL;
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(cx, &run->arena, n + 1, &types));
    ALM_TRY(ALM_NEWN(cx, &run->arena, n + 1, &names));
    for (uint32_t i = 0; i < n; i++) {
        types[i] = cols[i].type;
        names[i] = cols[i].name;
    }
    const alm_result_options options = {.form = run->opt.form,
                                        .quote_long = run->opt.quote_long,
                                        .lines = run->opt.hold,
                                        .delimiter = run->opt.delimiter,
                                        .cols = run->cols,
                                        .n_cols = run->n_cols,
                                        .names = names};
    return alm_result_writer_new(cx, &run->arena, types, n, &options, &run->writer);
}

static alm_status start_rows(alm_query_run *run)
{
    uint32_t n = 0;
    const alm_plan_col *cols = alm_cursor_cols(run->cursor, &n);
    ALM_TRY(choose_cols(run, cols, n));
    ALM_TRY(ALM_NEWN(&run->cx, &run->arena, run->n_cols + 1, &run->chosen));
    if (run->opt.form == ALM_RESULT_ARROW)
        return arrow_head(run, cols);
    if (run->opt.form == ALM_RESULT_PARQUET)
        return parquet_head(run);
    ALM_TRY(text_writer(run, cols, n));
    if (run->opt.hold)
        return alm_query_held_head(run, cols);
    if (run->opt.form == ALM_RESULT_JSON)
        return json_head(run, cols);
    return run->opt.form == ALM_RESULT_CSV ? csv_head(run, cols) : ALM_OK;
}

static alm_status end_rows(alm_query_run *run)
{
    if (run->opt.form == ALM_RESULT_ARROW)
        return alm_arrow_ipc_end(&run->cx, &run->out);
    if (run->opt.form == ALM_RESULT_PARQUET)
        return alm_pq_finish(&run->cx, run->parquet);
    return run->opt.form == ALM_RESULT_JSON ? alm_query_json_tail(run) : ALM_OK;
}

/* A statement without rows has run. */
static alm_status no_rows(alm_query_run *run)
{
    alm_ctx *cx = &run->cx;
    const char *tag = alm_cursor_tag(run->cursor);
    run->finished = true;
    if (strcmp(tag, "UPDATE") == 0 || strcmp(tag, "DELETE") == 0)
        return alm_buf_printf(cx, &run->out, "{\"dml\":\"OK\",\"updated\":%lld}",
                              (long long)alm_cursor_affected(run->cursor));
    if (strcmp(tag, "INSERT") == 0)
        return alm_buf_text(cx, &run->out, "{\"dml\":\"OK\"}");
    return alm_buf_text(cx, &run->out, "{\"ddl\":\"OK\"}");
}

/* The rows of the batch that are asked for are to be written. */
static void take_batch(alm_query_run *run, const alm_batch *batch)
{
    ALM_ASSERT(run->batch == NULL);
    const int64_t first = run->rows_seen;
    run->rows_seen += batch->rows;
    atomic_store_explicit(&run->tagged.rows, run->rows_seen, memory_order_relaxed);
    const int64_t lo = ALM_MAX(run->opt.window.lo - first, (int64_t)0);
    const int64_t hi = ALM_MIN(run->opt.window.hi - first, (int64_t)batch->rows);
    if (lo >= hi)
        return;
    run->rows_sent += hi - lo;
    run->batch = batch;
    run->row = (uint32_t)lo;
    run->row_end = (uint32_t)hi;
}

/*
 * Rows of the batch until the piece is PIECES_MOST times as large as it has to be: the rest waits for the next one, as a batch may be any
 * number of bytes. Most are less: to cut them all would be more turns between the threads.
 */
static alm_status put_rows(alm_query_run *run)
{
    ALM_ASSERT(run->row < run->row_end);
    if (run->opt.form == ALM_RESULT_ARROW)
        ALM_TRY(arrow_rows(run));
    else if (run->opt.form == ALM_RESULT_PARQUET)
        ALM_TRY(parquet_rows(run));
    else
        ALM_TRY(alm_result_rows(&run->cx, run->writer, run->batch, &run->row, run->row_end,
                                PIECES_MOST * run->piece_bytes, &run->out));
    if (run->row == run->row_end)
        run->batch = NULL;
    return ALM_OK;
}

/* Encodes until the piece is full or the rows are over. */
static alm_status fill_piece(alm_query_run *run)
{
    if (run->held != NULL)
        return alm_query_hold_piece(run);
    if (run->batch != NULL && alm_cursor_goes_on(run->cursor) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    while (run->out.len < run->piece_bytes) {
        alm_batch *batch = NULL;
        if (run->batch != NULL) {
            ALM_TRY(put_rows(run));
            continue;
        }
        const bool enough = run->rows_seen >= run->opt.window.hi && !run->opt.count_all;
        const alm_status st = enough ? ALM_OK : alm_cursor_next(run->cursor, &batch);
        if (st == ALM_E_YIELD)
            return st; /* what the piece has of it stays */
        if (st != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
        if (batch == NULL) {
            run->finished = true;
            return end_rows(run);
        }
        take_batch(run, batch);
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------- statement */

static alm_status open_cursor(alm_query_run *run, const alm_execute_options *options)
{
    const alm_status st = alm_execute_with(run->session, run->prepared, run->values, run->n_values,
                                           options, &run->cursor);
    return st == ALM_OK || st == ALM_E_YIELD
               ? st
               : alm_query_failed(run, alm_session_error(run->session));
}

/* Looks for a statement behind `prepared`. */
static alm_status find_following(alm_query_run *run)
{
    alm_prepared *found = NULL;
    if (!alm_text_goes_on(run->query, run->next))
        return ALM_OK;
    if (alm_prepare(run->session, run->query, &run->next, &found) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    if (alm_prepared_kind(found) == ALM_STMT_EMPTY) {
        alm_prepared_free(found);
        found = NULL;
    }
    run->following = found;
    return ALM_OK;
}

/* A change whose rows may turn out not to fit the answer, as columns that are not among them: it is kept when the answer is
 * made, as that of a script is, so that who is told of an error may send it again. */
static bool may_have_no_answer(const alm_query_run *run, alm_stmt_kind kind)
{
    const bool changes =
        kind == ALM_STMT_INSERT || kind == ALM_STMT_UPDATE || kind == ALM_STMT_DELETE;
    return changes && (run->opt.cols.len > 0 || run->opt.form == ALM_RESULT_ARROW ||
                       run->opt.form == ALM_RESULT_PARQUET);
}

static alm_status prepare(alm_query_run *run)
{
    alm_session_timeout(run->session, run->opt.timeout_ms);
    alm_session_timeout_max(run->session,
                            run->opt.select_only ? run->cx.conf->http_export_timeout : 0);
    if (alm_prepare(run->session, run->query, &run->next, &run->prepared) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    const alm_stmt_kind kind = alm_prepared_kind(run->prepared);
    if (kind == ALM_STMT_EMPTY)
        return alm_fail(&run->cx, ALM_E_SYNTAX, 0, "empty query");
    const bool reads = kind == ALM_STMT_SELECT || kind == ALM_STMT_SHOW || kind == ALM_STMT_EXPLAIN;
    if (run->opt.select_only && !reads)
        return alm_fail(&run->cx, ALM_E_ARG, 0, "/exp endpoint only accepts SELECT");
    ALM_TRY(find_following(run));
    run->script = run->following != NULL;
    if (run->script && (run->opt.select_only || run->opt.params.ptr != NULL))
        return alm_fail(&run->cx, ALM_E_ARG, 0, "%s takes one statement",
                        run->opt.select_only ? "/exp" : "'params'");
    run->script |= may_have_no_answer(run, kind);
    return ALM_OK;
}

/* X-Query-Id: N, by which the statement can be ended. */
static alm_status add_query_id(alm_query_run *run)
{
    static const char name[] = "X-Query-Id: ";
    const size_t had = strlen(run->opt.headers);
    char *lines = NULL;
    ALM_TRY(
        alm_arena_bytes(&run->cx, &run->arena, had + sizeof name + ALM_LONG_TEXT_MAX + 3, &lines));
    (void)memcpy(lines, run->opt.headers, had);
    (void)memcpy(lines + had, name, sizeof name - 1);
    size_t n = had + sizeof name - 1;
    n += alm_uint64_format(alm_cursor_statement(run->cursor), lines + n);
    (void)memcpy(lines + n, "\r\n", 3);
    run->opt.headers = lines;
    return ALM_OK;
}

/* What the answer is made in is memory of the statement from here on. */
static void charge_cursor(alm_query_run *run)
{
    ALM_ASSERT(run->out.cap == 0 && run->packed.cap == 0);
    run->cx.mem = alm_cursor_memory(run->cursor);
    alm_buf_init(&run->out, run->cx.mem);
    alm_buf_init(&run->packed, run->cx.mem);
}

/* With all that has memory of it, the cursor last. */
static void close_cursor(alm_query_run *run)
{
    alm_pq_writer_free(run->parquet);
    alm_held_release(run->held);
    alm_packer_free(run->packer);
    run->parquet = NULL;
    run->held = NULL;
    run->packer = NULL;
    run->batch = NULL;
    alm_buf_deinit(&run->out);
    alm_buf_deinit(&run->packed);
    run->cx.mem = &run->mem;
    alm_buf_init(&run->out, &run->mem);
    alm_buf_init(&run->packed, &run->mem);
    alm_cursor_close(run->cursor);
    run->cursor = NULL;
}

/* The cursor of the rows that are asked for. A held result keeps all of them. */
static alm_status open_answer(alm_query_run *run)
{
    const alm_execute_options options = {.last_rows = run->opt.hold ? 0 : run->opt.window.last,
                                         .count_all = run->opt.count_all};
    ALM_TRY(open_cursor(run, &options));
    if (options.last_rows == 0)
        return ALM_OK;
    run->rows_seen = alm_cursor_rows_before(run->cursor);
    run->opt.window = (alm_row_window){.lo = run->rows_seen, .hi = INT64_MAX};
    return ALM_OK;
}

static alm_status execute(alm_query_run *run)
{
    if (run->opt.params.ptr != NULL)
        ALM_TRY(alm_query_json_values(&run->cx, run->session, run->prepared, run->opt.params,
                                      &run->values, &run->n_values));
    ALM_TRY(open_answer(run));
    ALM_TRY(add_query_id(run));
    charge_cursor(run);
    return alm_cursor_has_rows(run->cursor) ? start_rows(run) : no_rows(run);
}

/* A statement before the last: its rows are computed and go nowhere. */
static alm_status run_to_the_end(alm_query_run *run)
{
    static const alm_execute_options all = {0};
    alm_batch *batch = NULL;
    alm_session_script(run->session);
    ALM_TRY(open_cursor(run, &all));
    do {
        if (alm_cursor_next(run->cursor, &batch) != ALM_OK)
            return alm_query_failed(run, alm_session_error(run->session));
    } while (batch != NULL);
    alm_cursor_close(run->cursor);
    run->cursor = NULL;
    alm_prepared_free(run->prepared);
    run->prepared = run->following;
    run->following = NULL;
    return find_following(run);
}

/* Before anything of the answer goes out, so that it never tells what was not stored. */
static alm_status commit_script(alm_query_run *run)
{
    if (!run->script)
        return ALM_OK;
    run->script = false;
    if (alm_session_script_end(run->session) != ALM_OK)
        return alm_query_failed(run, alm_session_error(run->session));
    if (!run->finished)
        alm_cursor_resume(run->cursor);
    return ALM_OK;
}

static alm_pack_form pack_form(const alm_query_run *run)
{
    if (run->opt.form == ALM_RESULT_PARQUET)
        return ALM_PACK_NONE; /* its pages are packed */
    const alm_str accept = alm_http_header(&run->h->req, "Accept-Encoding");
    const int32_t any = alm_http_quality(accept, ALM_STR("*"));
    int32_t gzip = alm_http_quality(accept, ALM_STR("gzip"));
    const int32_t zstd = alm_http_quality(accept, ALM_STR("zstd"));
    if (gzip < 0)
        gzip = any;
    if (!run->cx.conf->http_allow_deflate_before_send || ALM_MAX(gzip, zstd) <= 0)
        return ALM_PACK_NONE;
    return zstd >= gzip ? ALM_PACK_ZSTD : ALM_PACK_GZIP;
}

static alm_status begin_packing(alm_query_run *run, alm_pack_form form)
{
    ALM_TRY(alm_arena_printf(&run->cx, &run->arena, &run->opt.headers, "%sContent-Encoding: %s\r\n",
                             run->opt.headers, form == ALM_PACK_GZIP ? "gzip" : "zstd"));
    return alm_packer_new(&run->cx, form, &run->packer);
}

/* The first piece decides whether the answer is packed. */
static alm_status pack_piece(alm_query_run *run)
{
    const bool whole = run->finished && !run->begun;
    if (!run->begun && !(whole && run->out.len < PACK_LEAST)) {
        const alm_pack_form form = pack_form(run);
        if (form != ALM_PACK_NONE)
            ALM_TRY(begin_packing(run, form));
    }
    run->begun = true;
    if (run->packer == NULL)
        return ALM_OK;
    ALM_TRY(alm_pack(&run->cx, run->packer, (alm_str){run->out.ptr, run->out.len}, run->finished,
                     &run->packed));
    const alm_buf plain = run->out;
    run->out = run->packed;
    run->packed = plain;
    run->packed.len = 0;
    return ALM_OK;
}

static alm_status make_piece(alm_query_run *run)
{
    if (run->opt.held != NULL) {
        ALM_TRY(alm_query_held_piece(run));
        return pack_piece(run);
    }
    if (run->prepared == NULL)
        ALM_TRY(prepare(run));
    while (run->following != NULL)
        ALM_TRY(run_to_the_end(run));
    if (run->script)
        alm_session_script(run->session);
    if (run->cursor == NULL)
        ALM_TRY(execute(run));
    if (!run->finished)
        ALM_TRY(fill_piece(run));
    ALM_TRY(commit_script(run));
    return pack_piece(run);
}

static void work(void *arg)
{
    alm_query_run *run = arg;
    if (make_piece(run) == ALM_OK)
        return;
    if (!run->failed)
        (void)alm_query_failed(run, &run->cx.err);
    if (run->script)
        alm_session_script_drop(run->session);
    run->script = false;
}

/* ------------------------------------------------------------------ delivery */

static void next_piece(alm_query_run *run);

static void reply_failed(alm_query_run *run)
{
    alm_http *h = run->h;
    if (h->head_sent) {
        alm_http_stream_break(h);
        return;
    }
    const uint64_t number = alm_session_last_statement(run->session);
    if (number != 0)
        alm_http_add_headers(h, "X-Query-Id: %llu\r\n", (unsigned long long)number);
    alm_http_reply_error(h, alm_status_http(run->err.code), run->query, run->err.msg,
                         ALM_MAX(run->err.sql_pos, 0));
}

/* The next piece is made while this one is sent; only while nothing waits in the socket, so that a client that
 * reads slowly has one piece waiting, and at most one more that is made. */
static bool send_beside(alm_query_run *run)
{
    alm_http *h = run->h;
    if (run->finished || alm_conn_unsent(h->conn) > 0)
        return false;
    alm_buf piece = alm_buf_renew(&run->out);
    next_piece(run);
    alm_http_stream_chunk(h, &piece);
    alm_buf_deinit(&piece);
    return true;
}

static int64_t places_max(const alm_query_run *run)
{
    const int64_t max = run->opt.places_max != NULL ? *run->opt.places_max : -1;
    return max == 0 && run->opt.places_0_is_any ? -1 : max;
}

/* Before the end of the answer: who has that may come again, on another lane. */
static void leave(alm_query_run *run)
{
    alm_places_leave(&run->place, places_max(run));
    if (run->cursor != NULL)
        alm_cursor_ended(run->cursor);
    alm_tagged_leave(&run->tagged);
}

static void deliver(alm_query_run *run)
{
    alm_http *h = run->h;
    if (run->failed || run->finished)
        leave(run);
    if (run->failed) {
        reply_failed(run);
    } else if (run->finished && !h->head_sent) {
        const bool rows = run->held != NULL || alm_cursor_has_rows(run->cursor);
        alm_http_reply(h, 200, rows ? run->opt.type : "application/json; charset=utf-8",
                       run->opt.headers, (alm_str){run->out.ptr, run->out.len});
    } else {
        if (!h->head_sent)
            alm_http_stream_begin(h, 200, run->opt.type, run->opt.headers);
        if (send_beside(run))
            return;
        alm_http_stream_chunk(h, &run->out);
        if (run->finished)
            alm_http_stream_end(h);
    }
    if (run->finished) {
        /* the snapshot goes now, not when the client sends its next request */
        close_cursor(run);
    } else if (alm_conn_unsent(h->conn) > run->piece_bytes) {
        run->waiting = true;
        run->waiting_since_ns = alm_monotonic_ns();
        alm_conn_pause(h->conn);
    } else {
        next_piece(run);
    }
}

static void work_done(alm_conn *conn, void *arg)
{
    alm_query_run *run = arg;
    (void)conn;
    deliver(run);
    alm_http_finished(run->h);
}

static void next_piece(alm_query_run *run)
{
    alm_http_work(run->h, work, work_done, run);
}

void alm_query_run_drained(alm_http *h)
{
    alm_query_run *run = h->work;
    if (run == NULL || !run->waiting)
        return;
    run->waiting = false;
    if (run->cursor != NULL)
        alm_cursor_waited(run->cursor, alm_monotonic_ns() - run->waiting_since_ns);
    next_piece(run);
    alm_conn_resume(h->conn);
}

bool alm_query_run_is_stuck(alm_http *h)
{
    const alm_query_run *run = h->work;
    const int64_t limit_ms = h->cx.conf->http_send_timeout;
    if (run == NULL || !run->waiting)
        return false;
    const alm_error *why;
    alm_error aged;
    const int64_t waited_ms = (alm_monotonic_ns() - run->waiting_since_ns) / 1000000;
    if (run->cursor != NULL && alm_session_take_cancel(run->session, &why)) {
        alm_log_info("http", "an answer that waited for its reader was broken off: %s", why->msg);
        return true;
    }
    if (run->cursor != NULL && alm_cursor_is_aged(run->cursor, &aged)) {
        alm_log_warn("http", "an answer that waited for its reader was broken off: %s", aged.msg);
        return true;
    }
    if (waited_ms < limit_ms)
        return false;
    alm_log_warn("http",
                 "an answer was broken off: its client has read nothing of it for longer than "
                 "http.send.timeout (%lld ms)",
                 (long long)limit_ms);
    return true;
}

void alm_query_run_close(alm_http *h)
{
    alm_query_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    leave(run);
    close_cursor(run);
    alm_prepared_free(run->prepared);
    alm_prepared_free(run->following);
    alm_arena_deinit(&run->arena);
    ALM_ASSERT(atomic_load(&run->mem.used_bytes) == 0);
    free(run);
}

/* --------------------------------------------------------------------- start */

/* Into the piece what can be had here; ALM_E_YIELD: the rest takes longer than others can wait. */
static alm_status run_briefly(alm_query_run *run)
{
    alm_session_brief(run->session, true);
    alm_status st = execute(run);
    if (st == ALM_OK && !run->finished && !alm_cursor_is_short(run->cursor))
        st = ALM_E_YIELD;
    if (st == ALM_OK && !run->finished)
        st = fill_piece(run);
    alm_session_brief(run->session, false);
    return st;
}

/* Short statements run here and now; anything else goes to a query thread. */
static bool run_inline(alm_query_run *run)
{
    const size_t text = run->query.len + run->opt.cols.len + run->opt.params.len;
    if (text > INLINE_TEXT_MAX || run->opt.window.last > 0 || run->opt.held != NULL ||
        run->opt.hold)
        return false;
    alm_status st = prepare(run);
    if (st == ALM_OK && run->script)
        return false;
    if (st == ALM_OK && !alm_prepared_is_short(run->session, run->prepared))
        return false;
    if (st == ALM_OK)
        st = run_briefly(run);
    if (st == ALM_E_YIELD)
        return false;
    if (st == ALM_OK)
        st = pack_piece(run);
    if (st != ALM_OK && !run->failed)
        (void)alm_query_failed(run, &run->cx.err);
    return true;
}

/* http.security.max.response.rows */
static void cut_window(alm_row_window *window, int64_t rows_max)
{
    window->last = ALM_MIN(window->last, rows_max);
    if (window->lo <= INT64_MAX - rows_max)
        window->hi = ALM_MIN(window->hi, window->lo + rows_max);
}

static void refuse(alm_query_run *run)
{
    alm_http *h = run->h;
    char why[128];
    (void)snprintf(why, sizeof(why), "%s requests of that kind run already, try again",
                   run->opt.limit_name);
    alm_http_add_headers(h, "Retry-After: 1\r\n");
    alm_http_reply_error(h, 429, run->query, why, 0);
}

static void begin(alm_query_run *run)
{
    alm_http *h = run->h;
    if (run->opt.tag.ptr != NULL)
        alm_tagged_enter(((const alm_net_shared *)alm_conn_arg(h->conn))->tagged, &run->tagged,
                         run->opt.tag, run->session);
    if (run_inline(run))
        deliver(run);
    else
        next_piece(run);
}

/* For a place: it has one now, or it waited in vain. */
static void waited(alm_conn *conn, void *arg)
{
    alm_query_run *run = arg;
    (void)conn;
    if (run->place.has)
        begin(run);
    else
        refuse(run);
    alm_http_finished(run->h);
}

void alm_query_run_closing(alm_http *h)
{
    alm_query_run *run = h->work;
    if (run != NULL)
        alm_places_give_up(&run->place);
}

void alm_query_run_start(alm_http *h, alm_str query, const alm_query_options *options)
{
    alm_session *session = alm_http_session(h);
    alm_query_run *run = NULL;
    if (session != NULL && !alm_utf8_is_valid(query))
        alm_http_reply_error(h, 400, (alm_str){"", 0}, "Bad UTF8 encoding in query text", 0);
    else if (session != NULL && (run = malloc(sizeof *run)) == NULL)
        alm_http_reply_text(h, 503, "out of memory");
    if (run == NULL) {
        alm_held_release(options->held);
        return;
    }
    memset(run, 0, offsetof(alm_query_run, err.msg));
    run->err.msg[0] = 0;
    run->h = h;
    run->session = session;
    run->opt = *options;
    run->query = query;
    run->held = run->opt.held;
    cut_window(&run->opt.window, h->cx.conf->http_security_max_response_rows);
    run->piece_bytes = (size_t)h->cx.conf->http_send_buffer_size;
    run->mem = (alm_mem){.limit_bytes = alm_session_memory_max(session),
                         .parent = alm_session_memory(session),
                         .name = "query",
                         .setting = "query.memory.max"};
    alm_arena_init(&run->arena, &run->mem);
    alm_buf_init(&run->out, &run->mem);
    alm_buf_init(&run->packed, &run->mem);
    run->cx = (alm_ctx){.arena = &run->arena, .mem = &run->mem, .conf = h->cx.conf};
    h->work = run;
    if (run->opt.places == NULL || alm_places_take(run->opt.places, &run->place, places_max(run)))
        begin(run);
    else if (run->opt.places_wait_ms > 0)
        alm_places_wait(&run->place, run->opt.places, h->conn, run->opt.places_wait_ms, waited,
                        run);
    else
        refuse(run);
}
