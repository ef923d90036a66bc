/*
 * ep_write.c - /write and /api/v2/write: lines of the InfluxDB line protocol, all of them or none, on query
 * threads, streaming.
 *
 * The answer is 204 without a body, or JSON: {"code","message","line","errorId"} as InfluxDB clients read it,
 * and "errors", a list of the bad lines. A request that the server cannot take now answers 5xx, which makes
 * clients try again; one that is wrong answers 4xx.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "codec/compress/unpack.h"
#include "codec/json_text.h"
#include "net/http/exchange/multipart.h"
#include "net/http/login/login.h"
#include "net/shared.h"
#include "session/core/requests.h"
#include "session/transfer/lines.h"

enum { PIECE_BYTES = 1 << 20, PACKED_PIECE_BYTES = 64 << 10 };
/* A body of who may write no table is read up to so many bytes, to say which permission its first line needs. */
enum { BARRED_BYTES = 64 << 10 };

typedef struct write_run {
    alm_http *h;
    alm_net_shared *shared;
    bool left; /* it is counted no more */
    alm_session *session;
    alm_ctx cx;
    alm_mem mem;
    alm_arena arena;
    alm_lines *lines;
    alm_multipart parts;
    alm_buf in;             /* lines that wait for work */
    size_t enough;          /* in `in`: more is worked off */
    alm_buf packed;         /* bytes of a packed body that wait for work */
    alm_unpacker *unpacker; /* NULL: the body is not packed */
    bool is_multipart, last;
    uint64_t number; /* of the unit; in the answer and in the log */
    bool failed;     /* not by bad lines */
    bool too_long;   /* unpacked */
    alm_status code;
    int64_t rows, n_bad;
    alm_line_error bad[ALM_LINES_ERRORS_MAX]; /* the first n_bad; not cleared at the beginning */
} write_run;

/* ------------------------------------------------------------------------ answers */

static alm_status put_bad_lines(write_run *run, alm_ctx *cx, alm_buf *out)
{
    const int64_t kept = ALM_MIN(run->n_bad, (int64_t)ALM_LINES_ERRORS_MAX);
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status =
        alm_buf_text(cx, &text, "failed to parse line protocol:errors encountered on line(s):");
    for (int64_t i = 0; status == ALM_OK && i < kept; i++)
        status = alm_buf_printf(cx, &text, "\nerror in line %lld: %s", (long long)run->bad[i].line,
                                run->bad[i].message);
    if (status == ALM_OK && run->n_bad > kept)
        status = alm_buf_printf(cx, &text, "\nand %lld more", (long long)(run->n_bad - kept));
    if (status == ALM_OK)
        status = alm_json_put_string(cx, out, (alm_str){text.ptr, text.len});
    alm_buf_deinit(&text);
    ALM_TRY(status);
    ALM_TRY(alm_buf_printf(cx, out, ",\"line\":%lld,\"errors\":[", (long long)run->bad[0].line));
    for (int64_t i = 0; i < kept; i++) {
        ALM_TRY(alm_buf_printf(cx, out, "%s{\"line\":%lld,\"message\":", i > 0 ? "," : "",
                               (long long)run->bad[i].line));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(run->bad[i].message)));
        ALM_TRY(alm_buf_text(cx, out, "}"));
    }
    return alm_buf_text(cx, out, "]");
}

static const char *code_name(int status)
{
    return status == 415 || status == 405 ? "not supported"
           : status == 421                ? "not accepting writes"
           : status == 403                ? "access denied"
           : status >= 500                ? "internal error"
                                          : "invalid";
}

static void reply(alm_http *http, int status, const char *code, alm_str body)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_status outcome = alm_buf_printf(&http->cx, &out, "{\"code\":\"%s\",\"message\":", code);
    if (outcome == ALM_OK)
        outcome = alm_buf_append(&http->cx, &out, body.ptr, body.len);
    if (outcome == ALM_OK)
        outcome = alm_buf_text(&http->cx, &out, "}");
    if (outcome == ALM_OK)
        alm_http_reply(http, status, "application/json", NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

/* Refused before any line was read. An instance that takes no writes names no line. */
static void ep_write_refuse(alm_http *http, int status, const char *code, const char *message)
{
    const char *more = status == 421 ? ",\"errorId\":\"\"" : ",\"line\":0,\"errorId\":\"\"";
    alm_buf body;
    alm_buf_init(&body, NULL);
    if (alm_json_put_string(&http->cx, &body, alm_str_of(message)) == ALM_OK &&
        alm_buf_text(&http->cx, &body, more) == ALM_OK)
        reply(http, status, code, (alm_str){body.ptr, body.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&body);
}

/* What passes by itself is 503: clients send the same request again. */
static int ep_write_status_of(const alm_http *http, alm_status code)
{
    const bool passes = code == ALM_E_MEMORY || code == ALM_E_STALE || code == ALM_E_CONFLICT ||
                        code == ALM_E_READONLY ||
                        (code == ALM_E_CANCEL && alm_loop_is_stopping(alm_conn_loop(http->conn)));
    if (passes)
        return 503;
    /* an instance that takes no writes: another one may; who lacks a permission lacks it there, too */
    const bool elsewhere = code == ALM_E_DENIED && http->cx.conf->http_security_readonly;
    return elsewhere ? 421 : alm_status_http(code);
}

static void log_refusal(const write_run *run)
{
    const unsigned long long number = run->number;
    if (run->failed)
        alm_log_warn("write", "request %llx refused: %s", number, run->cx.err.msg);
    else if (run->cx.conf->line_log_message_on_error)
        alm_log_warn("write", "request %llx refused: %s", number, run->bad[0].message);
    else
        alm_log_warn("write", "request %llx refused: %lld bad lines, the first is line %lld",
                     number, (long long)run->n_bad, (long long)run->bad[0].line);
}

static void refuse_for(alm_http *http, alm_status code, const char *message)
{
    const int status = ep_write_status_of(http, code);
    ep_write_refuse(http, status, code_name(status), message);
}

/* Before the answer: who has that may come again, on another lane. */
static void ep_write_leave(write_run *run)
{
    if (!run->left)
        alm_count(&run->shared->line_http_running, -1);
    run->left = true;
}

static void ep_write_answer(write_run *run)
{
    alm_http *http = run->h;
    alm_buf body;
    alm_error_clear(&http->cx);
    ep_write_leave(run);
    alm_count(&run->shared->line_http_bytes, http->body_seen);
    if (!run->failed && run->n_bad == 0) {
        alm_count(&run->shared->line_http_rows, run->rows);
        alm_http_reply(http, 204, NULL, NULL, (alm_str){0});
        return;
    }
    alm_count(&run->shared->line_http_refused, 1);
    alm_buf_init(&body, NULL);
    const int status = run->too_long ? 413
                       : run->failed ? ep_write_status_of(http, run->code)
                                     : 400;
    alm_status outcome = run->failed
                             ? alm_json_put_string(&http->cx, &body, alm_str_of(run->cx.err.msg))
                             : put_bad_lines(run, &http->cx, &body);
    if (outcome == ALM_OK)
        outcome = alm_buf_printf(&http->cx, &body, "%s,\"errorId\":\"%llx\"",
                                 run->failed ? ",\"line\":0" : "", (unsigned long long)run->number);
    log_refusal(run);
    if (outcome == ALM_OK)
        reply(http, status, code_name(status), (alm_str){body.ptr, body.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&body);
}

/* --------------------------------------------------------------------------- work */

static alm_status from_session(write_run *run)
{
    const alm_error *err = alm_session_error(run->session);
    return alm_fail(&run->cx, err->code, -1, "%s", err->msg);
}

static alm_status ep_write_feed(write_run *run, const char *bytes, size_t n, bool last,
                                size_t *used)
{
    if (alm_lines_feed(run->lines, bytes, n, last, used) != ALM_OK)
        return from_session(run);
    return ALM_OK;
}

/* Complete lines go, the rest stays in front. A line is read from its start each time: one that is
 * very long is looked at when it has doubled, so that reading it takes time by its length. */
static alm_status feed_in(write_run *run, bool last)
{
    size_t used = 0;
    ALM_TRY(ep_write_feed(run, run->in.ptr, run->in.len, last, &used));
    run->in.len -= used;
    run->enough = ALM_MAX((size_t)PIECE_BYTES, 2 * run->in.len);
    if (run->in.len > 0 && used > 0)
        (void)memmove(run->in.ptr, run->in.ptr + used, run->in.len);
    return ALM_OK;
}

/* What was packed goes on as lines in pieces, so that no more than one of them is in memory. */
static alm_status ep_write_take_unpacked(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    write_run *run = arg;
    ALM_TRY(alm_buf_append(cx, &run->in, bytes, n));
    return run->in.len >= run->enough ? feed_in(run, false) : ALM_OK;
}

static alm_status ep_write_unpack(write_run *run)
{
    const alm_status status =
        alm_unpack(&run->cx, run->unpacker, (alm_str){run->packed.ptr, run->packed.len},
                   ep_write_take_unpacked, run);
    run->packed.len = 0;
    if (status != ALM_E_LIMIT && status != ALM_E_FORMAT)
        return status;
    run->too_long = status == ALM_E_LIMIT;
    alm_error_clear(&run->cx);
    return run->too_long ? alm_fail(&run->cx, status, -1,
                                    "the body is over %lld bytes when unpacked: the limit is "
                                    "line.http.max.recv.buffer.size",
                                    (long long)run->cx.conf->line_http_max_recv_buffer_size)
                         : alm_fail(&run->cx, status, -1, "the body is not gzip, or damaged");
}

static alm_status ep_write_finish(write_run *run)
{
    if (run->unpacker != NULL && !alm_unpacker_is_whole(run->unpacker))
        return alm_fail(&run->cx, ALM_E_FORMAT, -1, "the body is not gzip, or damaged");
    if (run->is_multipart)
        ALM_TRY(alm_multipart_end(&run->cx, &run->parts));
    ALM_TRY(feed_in(run, true));
    alm_lines *lines = run->lines;
    run->rows = alm_lines_rows(lines);
    run->n_bad = alm_lines_error_count(lines);
    for (size_t i = 0; i < ALM_COUNT(run->bad); i++)
        if (alm_lines_error_at(lines, i) != NULL)
            run->bad[i] = *alm_lines_error_at(lines, i);
    run->lines = NULL;
    if (run->n_bad > 0)
        alm_lines_drop(lines);
    else if (alm_lines_commit(lines) != ALM_OK)
        return from_session(run);
    return ALM_OK;
}

static void ep_write_work(void *arg)
{
    write_run *run = arg;
    alm_status status = run->unpacker != NULL ? ep_write_unpack(run) : ALM_OK;
    if (status == ALM_OK)
        status = run->last ? ep_write_finish(run) : feed_in(run, false);
    if (status != ALM_OK) {
        run->failed = true;
        run->code = status;
        alm_lines_drop(run->lines);
        run->lines = NULL;
    }
}

static void ep_write_work_done(alm_conn *conn, void *arg)
{
    write_run *run = arg;
    alm_http *http = run->h;
    (void)conn;
    if (!run->failed && !run->last)
        return;
    ep_write_answer(run);
    if (http->state == ALM_HTTP_BODY)
        http->state = ALM_HTTP_DISCARD;
    alm_http_finished(http);
}

/* ------------------------------------------------------------------------ the body */

static alm_status ep_write_on_part(alm_ctx *cx, void *arg, alm_str name, alm_str filename)
{
    (void)cx;
    (void)arg;
    (void)name;
    (void)filename;
    return ALM_OK;
}

static alm_status ep_write_on_bytes(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    write_run *run = arg;
    return alm_buf_append(cx, run->unpacker != NULL ? &run->packed : &run->in, bytes, n);
}

static bool ep_write_take_body(alm_http *http, const char *bytes, size_t n)
{
    write_run *run = http->work;
    if (http->body_seen > run->cx.conf->line_http_max_recv_buffer_size) {
        ep_write_refuse(http, 413, "invalid",
                        "the body is longer than line.http.max.recv.buffer.size");
        return false;
    }
    const alm_status status = run->is_multipart
                                  ? alm_multipart_feed(&run->cx, &run->parts, bytes, n)
                                  : ep_write_on_bytes(&run->cx, run, bytes, n);
    if (status != ALM_OK) {
        refuse_for(http, status, run->cx.err.msg);
        return false;
    }
    const bool is_last = !http->req.chunked && http->body_left == (int64_t)n;
    const bool much =
        run->unpacker != NULL ? run->packed.len >= PACKED_PIECE_BYTES : run->in.len >= run->enough;
    if (much && !is_last)
        alm_http_work(http, ep_write_work, ep_write_work_done, run);
    return true;
}

static void ep_write_end_body(alm_http *http)
{
    write_run *run = http->work;
    run->last = true;
    alm_http_work(http, ep_write_work, ep_write_work_done, run);
}

/* ---------------------------------------------------------------------- the request */

/* Unit of times without a suffix; NO_UNIT: there is no such precision. */
static alm_ilp_unit precision(alm_str name)
{
    static const struct {
        const char *name;
        alm_ilp_unit unit;
    } rows[] = {{"", ALM_ILP_NS},      {"n", ALM_ILP_NS},     {"ns", ALM_ILP_NS},
                {"u", ALM_ILP_US},     {"us", ALM_ILP_US},    {"ms", ALM_ILP_MS},
                {"s", ALM_ILP_SECOND}, {"m", ALM_ILP_MINUTE}, {"h", ALM_ILP_HOUR}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_eq(name, alm_str_of(rows[i].name)))
            return rows[i].unit;
    return ALM_ILP_NO_UNIT;
}

/* More at once than http.ilp.connection.limit? Counted and looked at in one step. */
static bool ep_write_enter(alm_http *http)
{
    alm_net_shared *shared = alm_conn_arg(http->conn);
    const int64_t limit = http->cx.conf->http_ilp_connection_limit;
    if (atomic_fetch_add(&shared->line_http_running, 1) < limit || limit < 0)
        return true;
    alm_count(&shared->line_http_running, -1);
    ep_write_refuse(http, 503, "internal error",
                    "http.ilp.connection.limit requests of the line protocol run already");
    return false;
}

static void ep_write_start(alm_http *http, alm_ilp_unit unit, bool gzip, alm_str boundary)
{
    alm_session *session = alm_http_session(http);
    if (session == NULL || !ep_write_enter(http))
        return;
    alm_request_user *user = alm_session_requests(session);
    const bool is_short = !http->req.chunked && http->req.content_length <= BARRED_BYTES;
    if (user == NULL || (!is_short && alm_session_may_ingest(session, false) != ALM_OK)) {
        const alm_error *err = alm_session_error(session);
        alm_count(&((alm_net_shared *)alm_conn_arg(http->conn))->line_http_running, -1);
        alm_count(&((alm_net_shared *)alm_conn_arg(http->conn))->line_http_refused, 1);
        refuse_for(http, err->code, err->msg);
        return;
    }
    write_run *run = malloc(sizeof *run);
    if (run == NULL) {
        alm_count(&((alm_net_shared *)alm_conn_arg(http->conn))->line_http_running, -1);
        alm_http_reply_text(http, 503, "out of memory");
        return;
    }
    memset(run, 0, offsetof(write_run, bad));
    run->h = http;
    run->session = session;
    run->shared = alm_conn_arg(http->conn);
    run->enough = PIECE_BYTES;
    run->is_multipart = boundary.ptr != NULL;
    run->mem = (alm_mem){.name = "line protocol request",
                         .limit_bytes = 2 * http->cx.conf->line_http_max_recv_buffer_size,
                         .parent = &user->requests};
    alm_arena_init(&run->arena, &run->mem);
    alm_buf_init(&run->in, &run->mem);
    alm_buf_init(&run->packed, &run->mem);
    run->cx = (alm_ctx){.arena = &run->arena, .mem = &run->mem, .conf = http->cx.conf};
    http->work = run;
    const alm_lines_options options = {.unit = unit};
    if (alm_lines_begin(session, &options, &run->lines) != ALM_OK) {
        const alm_error *err = alm_session_error(session);
        refuse_for(http, err->code, err->msg);
        return;
    }
    if (gzip && alm_unpacker_new(&run->cx, ALM_PACK_GZIP,
                                 (uint64_t)http->cx.conf->line_http_max_recv_buffer_size,
                                 "line.http.max.recv.buffer.size", &run->unpacker) != ALM_OK) {
        refuse_for(http, run->cx.err.code, run->cx.err.msg);
        return;
    }
    run->number = alm_session_statement(session);
    const alm_multipart_events events = {
        .part = ep_write_on_part, .bytes = ep_write_on_bytes, .arg = run};
    if (run->is_multipart && alm_multipart_init(&run->cx, &run->parts, boundary, &events) != ALM_OK)
        alm_http_reply_text(http, 503, "out of memory");
    alm_conn_input_max(http->conn, PIECE_BYTES); /* the next piece comes while one is worked off */
}

static void ep_write_begin(alm_http *http)
{
    if (!http->cx.conf->line_http_enabled) {
        alm_http_reply_text(http, 404, "Not Found");
        return;
    }
    const alm_str encoding = alm_http_header(&http->req, "Content-Encoding");
    const bool gzip = alm_str_ieq(encoding, ALM_STR("gzip"));
    const alm_ilp_unit unit = precision(alm_http_param(&http->req, "precision"));
    if (unit == ALM_ILP_NO_UNIT)
        ep_write_refuse(http, 400, "not supported", "unsupported precision");
    else if (encoding.len > 0 && !gzip && !alm_str_ieq(encoding, ALM_STR("identity")))
        ep_write_refuse(http, 415, "not supported", "the body may be plain or gzip");
    else if (http->req.content_length > http->cx.conf->line_http_max_recv_buffer_size)
        ep_write_refuse(http, 413, "invalid",
                        "the body is longer than line.http.max.recv.buffer.size");
    else if (!http->req.has_body)
        alm_http_reply(http, 204, NULL, NULL, (alm_str){0});
    else
        ep_write_start(http, unit, gzip,
                       alm_multipart_boundary(alm_http_header(&http->req, "Content-Type")));
}

static void ep_write_close_run(alm_http *http)
{
    write_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    ep_write_leave(run);
    alm_lines_drop(run->lines);
    if (run->is_multipart)
        alm_multipart_deinit(&run->parts);
    alm_unpacker_free(run->unpacker);
    alm_buf_deinit(&run->packed);
    alm_buf_deinit(&run->in);
    alm_arena_deinit(&run->arena);
    free(run);
}

const alm_http_handler alm_ep_write = {.begin = ep_write_begin,
                                       .body = ep_write_take_body,
                                       .end = ep_write_end_body,
                                       .close = ep_write_close_run};
