/* query_run.c - see query_run.h. */
#include "net/http/query_run.h"

#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/json_text.h"

/* Statements longer than this are parsed on a query thread. */
enum { INLINE_TEXT_MAX = 32 << 10 };

typedef struct query_run {
    alm_http *h;
    alm_session *session;
    alm_query_options opt;
    alm_str query; /* as sent */
    alm_str text;  /* as run: the query, or wrapped for "the last n rows" */
    int32_t text_shift;
    alm_prepared *prepared;
    alm_cursor *cursor;
    alm_ctx cx;
    alm_arena arena;
    alm_buf out;
    alm_result_writer *writer;
    uint32_t *cols; /* of the `cols` parameter */
    uint32_t n_cols;
    size_t piece_bytes;
    int64_t rows_seen, rows_sent;
    bool finished, failed, waiting;
    int64_t waiting_since_ns; /* for the client to read */
    alm_error err;
} query_run;

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

static alm_status run_failed(query_run *run, const alm_error *err)
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

static alm_status put_columns(query_run *run, const alm_plan_col *cols, uint32_t n)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    (void)n;
    ALM_TRY(alm_buf_text(cx, out, "\"columns\":["));
    for (uint32_t i = 0; i < run->n_cols; i++) {
        const alm_plan_col *col = &cols[run->cols[i]];
        ALM_TRY(alm_buf_text(cx, out, i > 0 ? ",{\"name\":" : "{\"name\":"));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(col->name)));
        if (col->type.id == ALM_T_ARRAY)
            ALM_TRY(alm_buf_printf(cx, out,
                                   ",\"type\":\"ARRAY\",\"dim\":%u,\"elemType\":\"DOUBLE\"}",
                                   col->type.dims));
        else
            ALM_TRY(alm_buf_printf(cx, out, ",\"type\":\"%s\"}", type_name(col->type)));
    }
    return alm_buf_text(cx, out, "],");
}

static alm_status json_head(query_run *run, const alm_plan_col *cols, uint32_t n)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    if (run->opt.no_meta)
        return alm_buf_text(cx, out, "{\"dataset\":[");
    ALM_TRY(alm_buf_text(cx, out, "{\"query\":"));
    ALM_TRY(alm_json_put_string(cx, out, run->query));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(put_columns(run, cols, n));
    int32_t ts = -1;
    for (uint32_t i = 0; i < run->n_cols; i++)
        if ((int32_t)run->cols[i] == alm_cursor_ts_col(run->cursor))
            ts = (int32_t)i;
    return alm_buf_printf(cx, out, "\"timestamp\":%d,\"dataset\":[", (int)ts);
}

static alm_status csv_head(query_run *run, const alm_plan_col *cols)
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

static alm_status json_tail(query_run *run)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    const int64_t count = run->opt.count_all ? run->rows_seen : run->rows_sent;
    ALM_TRY(alm_buf_printf(cx, out, "],\"count\":%lld", (long long)count));
    if (run->opt.timings) {
        int64_t compile_ns = 0, execute_ns = 0;
        alm_cursor_times(run->cursor, &compile_ns, &execute_ns);
        ALM_TRY(alm_buf_printf(cx, out,
                               ",\"timings\":{\"authentication\":0,\"compiler\":%lld,"
                               "\"execute\":%lld,\"count\":0}",
                               (long long)compile_ns, (long long)execute_ns));
    }
    if (run->opt.explain)
        ALM_TRY(alm_buf_text(cx, out, ",\"explain\":{\"jitCompiled\":false}"));
    return alm_buf_text(cx, out, "}");
}

static alm_status choose_cols(query_run *run, const alm_plan_col *cols, uint32_t n)
{
    alm_ctx *cx = &run->cx;
    if (run->opt.cols.ptr == NULL || run->opt.cols.len == 0) {
        ALM_TRY(ALM_NEWN(cx, &run->arena, n + 1, &run->cols));
        for (uint32_t i = 0; i < n; i++)
            run->cols[i] = i;
        run->n_cols = n;
        return ALM_OK;
    }
    const alm_str list = run->opt.cols;
    ALM_TRY(ALM_NEWN(cx, &run->arena, list.len + 1, &run->cols));
    for (size_t at = 0; at <= list.len;) {
        const char *comma = memchr(list.ptr + at, ',', list.len - at);
        const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
        const alm_str name = {list.ptr + at, end - at};
        at = end + 1;
        uint32_t i = 0;
        while (i < n && !alm_str_ieq(alm_str_of(cols[i].name), name))
            i++;
        if (i == n)
            return alm_fail(cx, ALM_E_NAME, -1, "column not found: '%.*s'", (int)name.len,
                            name.ptr);
        run->cols[run->n_cols++] = i;
    }
    return ALM_OK;
}

static alm_status start_rows(query_run *run)
{
    alm_ctx *cx = &run->cx;
    uint32_t n = 0;
    const alm_plan_col *cols = alm_cursor_cols(run->cursor, &n);
    alm_type *types = NULL;
    ALM_TRY(choose_cols(run, cols, n));
    ALM_TRY(ALM_NEWN(cx, &run->arena, n + 1, &types));
    for (uint32_t i = 0; i < n; i++)
        types[i] = cols[i].type;
    const alm_result_options options = {.form = run->opt.form,
                                        .quote_long = run->opt.quote_long,
                                        .delimiter = run->opt.delimiter,
                                        .cols = run->cols,
                                        .n_cols = run->n_cols};
    ALM_TRY(alm_result_writer_new(cx, &run->arena, types, n, &options, &run->writer));
    return run->opt.form == ALM_RESULT_JSON ? json_head(run, cols, n) : csv_head(run, cols);
}

/* A statement without rows has run. */
static alm_status no_rows(query_run *run)
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

static alm_status put_batch(query_run *run, const alm_batch *batch)
{
    const int64_t first = run->rows_seen;
    run->rows_seen += batch->rows;
    const int64_t lo = ALM_MAX(run->opt.window.lo - first, (int64_t)0);
    const int64_t hi = ALM_MIN(run->opt.window.hi - first, (int64_t)batch->rows);
    if (lo >= hi)
        return ALM_OK;
    run->rows_sent += hi - lo;
    return alm_result_rows(&run->cx, run->writer, batch, (uint32_t)lo, (uint32_t)hi, &run->out);
}

/* Encodes until the piece is full or the rows are over. */
static alm_status fill_piece(query_run *run)
{
    while (run->out.len < run->piece_bytes) {
        alm_batch *batch = NULL;
        const bool enough = run->rows_seen >= run->opt.window.hi && !run->opt.count_all;
        if (!enough && alm_cursor_next(run->cursor, &batch) != ALM_OK)
            return run_failed(run, alm_session_error(run->session));
        if (batch == NULL) {
            run->finished = true;
            return run->opt.form == ALM_RESULT_JSON ? json_tail(run) : ALM_OK;
        }
        ALM_TRY(put_batch(run, batch));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------- statement */

static const char wrap_before[] = "SELECT * FROM (";

/* The statement in parentheses, with a LIMIT behind it that the optimizer sees; only where it surely
 * can stand there, else it stays as it is. */
static alm_status wrap_last(query_run *run)
{
    alm_str q = run->query;
    while (q.len > 0 && (q.ptr[q.len - 1] == ';' || q.ptr[q.len - 1] == ' ' ||
                         q.ptr[q.len - 1] == '\n' || q.ptr[q.len - 1] == '\t'))
        q.len--;
    if (q.len < 7 || !alm_str_ieq((alm_str){q.ptr, 7}, ALM_STR("select ")) ||
        memchr(q.ptr, ';', q.len) != NULL || memchr(q.ptr, 0, q.len) != NULL)
        return ALM_OK;
    const char *text = NULL;
    ALM_TRY(alm_arena_printf(&run->cx, &run->arena, &text, "%s%.*s\n) LIMIT -%lld", wrap_before,
                             (int)q.len, q.ptr, (long long)run->opt.window.last));
    run->text = alm_str_of(text);
    run->text_shift = (int32_t)sizeof(wrap_before) - 1;
    return ALM_OK;
}

/* The last rows of what is no query in parentheses, or of what is counted anyway: counted first. */
static alm_status count_first(query_run *run)
{
    int64_t rows = 0;
    for (;;) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(run->cursor, &batch) != ALM_OK)
            return run_failed(run, alm_session_error(run->session));
        if (batch == NULL)
            break;
        rows += batch->rows;
    }
    run->opt.window =
        (alm_row_window){.lo = ALM_MAX(rows - run->opt.window.last, (int64_t)0), .hi = INT64_MAX};
    alm_cursor_close(run->cursor);
    run->cursor = NULL;
    if (alm_execute(run->session, run->prepared, NULL, 0, &run->cursor) != ALM_OK)
        return run_failed(run, alm_session_error(run->session));
    return ALM_OK;
}

static alm_status prepare(query_run *run)
{
    alm_session_timeout(run->session, run->opt.timeout_ms);
    if (alm_prepare(run->session, run->text, NULL, &run->prepared) != ALM_OK)
        return run_failed(run, alm_session_error(run->session));
    const alm_stmt_kind kind = alm_prepared_kind(run->prepared);
    if (kind == ALM_STMT_EMPTY)
        return alm_fail(&run->cx, ALM_E_SYNTAX, 0, "empty query");
    const bool reads = kind == ALM_STMT_SELECT || kind == ALM_STMT_SHOW || kind == ALM_STMT_EXPLAIN;
    if (run->opt.select_only && !reads)
        return alm_fail(&run->cx, ALM_E_ARG, 0, "/exp endpoint only accepts SELECT");
    if (run->opt.window.last == 0 || kind != ALM_STMT_SELECT || run->opt.count_all)
        return ALM_OK;
    ALM_TRY(wrap_last(run));
    if (run->text_shift == 0)
        return ALM_OK;
    alm_prepared_free(run->prepared);
    run->prepared = NULL;
    if (alm_prepare(run->session, run->text, NULL, &run->prepared) != ALM_OK)
        return run_failed(run, alm_session_error(run->session));
    return ALM_OK;
}

static alm_status execute(query_run *run)
{
    if (alm_execute(run->session, run->prepared, NULL, 0, &run->cursor) != ALM_OK)
        return run_failed(run, alm_session_error(run->session));
    if (run->opt.window.last > 0 && run->text_shift == 0 && alm_cursor_has_rows(run->cursor))
        ALM_TRY(count_first(run));
    return alm_cursor_has_rows(run->cursor) ? start_rows(run) : no_rows(run);
}

static alm_status make_piece(query_run *run)
{
    if (run->prepared == NULL)
        ALM_TRY(prepare(run));
    if (run->cursor == NULL)
        ALM_TRY(execute(run));
    return run->finished ? ALM_OK : fill_piece(run);
}

static void work(void *arg)
{
    query_run *run = arg;
    if (make_piece(run) != ALM_OK && !run->failed)
        (void)run_failed(run, &run->cx.err);
}

/* ------------------------------------------------------------------ delivery */

static void next_piece(query_run *run);

static void reply_failed(query_run *run)
{
    alm_http *h = run->h;
    if (h->head_sent) {
        alm_http_stream_break(h);
        return;
    }
    const int32_t pos = run->err.sql_pos > run->text_shift ? run->err.sql_pos - run->text_shift : 0;
    alm_http_reply_error(h, alm_status_http(run->err.code), run->query, run->err.msg, pos);
}

static void deliver(query_run *run)
{
    alm_http *h = run->h;
    if (run->failed) {
        reply_failed(run);
    } else if (run->finished && !h->head_sent) {
        const bool rows = alm_cursor_has_rows(run->cursor);
        alm_http_reply(h, 200, rows ? run->opt.type : "application/json; charset=utf-8",
                       rows ? run->opt.headers : NULL, (alm_str){run->out.ptr, run->out.len});
    } else {
        if (!h->head_sent)
            alm_http_stream_begin(h, 200, run->opt.type, run->opt.headers);
        alm_http_stream_chunk(h, &run->out);
        if (run->finished)
            alm_http_stream_end(h);
    }
    if (run->finished) {
        /* the snapshot goes now, not when the client sends its next request */
        alm_cursor_close(run->cursor);
        run->cursor = NULL;
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
    query_run *run = arg;
    (void)conn;
    deliver(run);
    alm_http_finished(run->h);
}

static void next_piece(query_run *run)
{
    alm_conn_work(run->h->conn, work, work_done, NULL, run);
}

void alm_query_run_drained(alm_http *h)
{
    query_run *run = h->work;
    if (run == NULL || !run->waiting)
        return;
    run->waiting = false;
    alm_cursor_waited(run->cursor, alm_monotonic_ns() - run->waiting_since_ns);
    next_piece(run);
    alm_conn_resume(h->conn);
}

void alm_query_run_close(alm_http *h)
{
    query_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    alm_cursor_close(run->cursor);
    alm_prepared_free(run->prepared);
    alm_buf_deinit(&run->out);
    alm_arena_deinit(&run->arena);
    free(run);
}

/* --------------------------------------------------------------------- start */

/* Short statements run here and now; anything else goes to a query thread. */
static bool run_inline(query_run *run)
{
    if (run->query.len > INLINE_TEXT_MAX || run->opt.window.last > 0)
        return false;
    alm_status st = prepare(run);
    if (st == ALM_OK && !alm_prepared_is_short(run->session, run->prepared))
        return false;
    if (st == ALM_OK)
        st = execute(run);
    if (st == ALM_OK && !run->finished && !alm_cursor_is_short(run->cursor))
        return false;
    if (st == ALM_OK && !run->finished)
        st = fill_piece(run);
    if (st != ALM_OK && !run->failed)
        (void)run_failed(run, &run->cx.err);
    return true;
}

void alm_query_run_start(alm_http *h, alm_str query, const alm_query_options *options)
{
    alm_session *session = alm_http_session(h);
    if (session == NULL)
        return;
    if (!alm_utf8_is_valid(query)) {
        alm_http_reply_error(h, 400, (alm_str){"", 0}, "Bad UTF8 encoding in query text", 0);
        return;
    }
    query_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    run->h = h;
    run->session = session;
    run->opt = *options;
    run->query = run->text = query;
    run->piece_bytes = (size_t)h->cx.conf->http_send_buffer_size;
    alm_arena_init(&run->arena, NULL);
    alm_buf_init(&run->out, NULL);
    run->cx = (alm_ctx){.arena = &run->arena, .conf = h->cx.conf};
    h->work = run;
    if (run_inline(run))
        deliver(run);
    else
        next_piece(run);
}
