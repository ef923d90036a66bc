/*
 * ep_exec.c - /exec: statements, JSON result; /exp: one query, CSV file; both in the other formats; /api/v1/sql/validate, which
 * runs nothing (validate.h). Parameters come in the URL, or in a form or JSON body (POST), which have no limit on the length of
 * the statement but sql.text.max.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "io/io.h"
#include "net/http/query/json.h"
#include "net/http/query/run.h"
#include "net/http/query/tagged.h"
#include "net/http/validate.h"
#include "net/shared.h"

typedef struct collected_body { /* POST: h->work until the body is complete */
    alm_buf bytes;
    size_t bytes_max;
} collected_body;

static bool is_true(const alm_http *http, const char *name)
{
    return alm_http_param_is(&http->req, name, "true");
}

/* Milliseconds of the header Statement-Timeout or the parameter `timeout` (seconds), 0: none. */
static int64_t timeout_ms(const alm_http *http)
{
    int64_t millis = 0, seconds = 0;
    const alm_str header = alm_http_header(&http->req, "Statement-Timeout");
    if (header.ptr == NULL || alm_int64_parse(header, &millis) != ALM_NUM_OK || millis < 0)
        millis = 0;
    const alm_str param = alm_http_param(&http->req, "timeout");
    if (param.ptr != NULL && alm_int64_parse(param, &seconds) == ALM_NUM_OK && seconds > 0 &&
        seconds < INT64_MAX / 1000 && (millis == 0 || seconds * 1000 < millis))
        millis = seconds * 1000;
    return millis;
}

/* -------------------------------------------------------------------- formats */

/* By fmt, else by the highest q of Accept, where `own` is what stands for everything; NULL: no such format,
 * the error was sent. */
static const alm_answer_format *choose_format(alm_http *http, const alm_answer_format *own,
                                              alm_str query)
{
    const alm_str name = alm_http_param(&http->req, "fmt");
    const alm_str accept = alm_http_header(&http->req, "Accept");
    const alm_answer_format *best = own;
    int32_t best_q = ALM_MAX(alm_http_quality(accept, alm_str_of(own->accept)),
                             alm_http_quality(accept, ALM_STR("*/*")));
    for (size_t i = 0; i < ALM_ANSWER_COUNT; i++) {
        const int32_t q = alm_http_quality(accept, alm_str_of(alm_answer_formats[i].accept));
        if (name.ptr != NULL && alm_str_ieq(name, alm_str_of(alm_answer_formats[i].name)))
            return &alm_answer_formats[i];
        if (q > 0 && q > best_q) {
            best = &alm_answer_formats[i];
            best_q = q;
        }
    }
    if (name.ptr == NULL)
        return best;
    const char *message = "unrecognised format";
    if (alm_arena_printf(&http->cx, &http->arena, &message, "unrecognised format [format=%.*s]",
                         (int)ALM_MIN(name.len, (size_t)64), name.ptr) != ALM_OK)
        message = "unrecognised format";
    alm_http_reply_error(http, 400, query, message, 0);
    return NULL;
}

/* Can it stand between fields of which numbers and the like have no quotes? */
static bool is_delimiter(char byte)
{
    return (byte < '0' || byte > '9') && ((byte | 0x20) < 'a' || (byte | 0x20) > 'z') &&
           byte != 0 && strchr("+-.\"\r\n", byte) == NULL;
}

/* The statement and the options that both endpoints have; false: the error was sent. */
static bool read_request(alm_http *http, const alm_answer_format *own, bool inclusive,
                         alm_str *query, alm_query_options *opt)
{
    const alm_str delimiter = alm_http_param(&http->req, "delimiter");
    *query = alm_http_param(&http->req, "query");
    if (query->ptr == NULL || query->len == 0) {
        alm_http_reply_error(http, 400, (alm_str){"", 0}, "No query text", 0);
        return false;
    }
    const alm_answer_format *format = choose_format(http, own, *query);
    if (format == NULL)
        return false;
    *opt = (alm_query_options){.format = format,
                               .no_meta = is_true(http, "nm"),
                               .quote_long = is_true(http, "quoteLargeNum") ||
                                             alm_http_param_is(&http->req, "src", "con"),
                               .timeout_ms = timeout_ms(http),
                               .cols = alm_http_param(&http->req, "cols"),
                               .params = alm_http_param(&http->req, "params"),
                               .delimiter = ','};
    if (delimiter.len == 1 && !is_delimiter(delimiter.ptr[0])) {
        alm_http_reply_error(http, 400, *query,
                             "invalid delimiter: letters, digits, '+', '-', '.', quotes and line "
                             "ends stand in fields",
                             0);
        return false;
    }
    if (delimiter.len == 1 && (unsigned char)delimiter.ptr[0] < 0x80)
        opt->delimiter = delimiter.ptr[0];
    if (format->ops->read != NULL && !format->ops->read(http, *query, &opt->answer))
        return false;
    return alm_row_window_read(http, inclusive, *query, &opt->window);
}

/* snapshot, tag; false: the error was sent. */
static bool ep_exec_read_names(alm_http *http, alm_str query, alm_query_options *opt)
{
    const char *wrong = NULL;
    const alm_str snapshot = alm_http_param(&http->req, "snapshot");
    opt->tag = alm_http_param(&http->req, "tag");
    opt->hold = snapshot.len > 0;
    if (opt->hold && !alm_str_eq(snapshot, ALM_STR("new")))
        wrong = "'snapshot' must be new; what is held is read by /snapshot/NAME";
    else if (opt->hold && opt->format->ops->begin_held == NULL)
        wrong = "'snapshot' goes with fmt=json";
    else if (opt->tag.ptr != NULL && !alm_tag_is_good(opt->tag))
        wrong = "'tag' must be a letter, then up to 63 letters, digits, - and _";
    if (wrong != NULL)
        alm_http_reply_error(http, 400, query, wrong, 0);
    return wrong == NULL;
}

static void run_exec(alm_http *http)
{
    alm_str query;
    alm_query_options opt;
    if (!read_request(http, &alm_answer_formats[ALM_ANSWER_JSON], true, &query, &opt) ||
        !ep_exec_read_names(http, query, &opt))
        return;
    opt.count_all = is_true(http, "count");
    opt.timings = is_true(http, "timings");
    opt.explain = is_true(http, "explain");
    opt.headers = "Vary: Accept, Accept-Encoding\r\n";
    opt.places = ((const alm_net_shared *)alm_conn_arg(http->conn))->json_queries;
    opt.places_max = &http->cx.conf->http_json_query_connection_limit;
    opt.limit_name = "http.json.query.connection.limit";
    alm_query_run_start(http, query, &opt);
}

/* ---------------------------------------------------------------------- /exp */

/* Content-Disposition with a name that cannot break the header (RFC 6266). */
static alm_status disposition(alm_http *http, const char *extension, const char **out)
{
    enum { NAME_BYTES = 200 };
    alm_str given = alm_http_param(&http->req, "filename");
    alm_buf name;
    if (!alm_utf8_is_valid(given))
        given.len = 0; /* it cannot be said in the header */
    given.len = ALM_MIN(given.len, (size_t)NAME_BYTES);
    while (given.len > 0 && !alm_utf8_is_valid(given))
        given.len--; /* a character that the limit cut in two */
    alm_buf_init(&name, NULL);
    alm_status status = ALM_OK;
    bool plain = true;
    for (size_t i = 0; status == ALM_OK && i < given.len; i++) {
        const unsigned char byte = (unsigned char)given.ptr[i];
        const bool bad = byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\' ||
                         byte == '/' || byte == ';';
        plain = plain && byte < 0x80;
        status = alm_buf_append(&http->cx, &name, bad ? "_" : given.ptr + i, 1);
    }
    if (status == ALM_OK && name.len == 0)
        status = alm_buf_printf(&http->cx, &name, "almanac-query-%lld",
                                (long long)(alm_io_posix()->wall_ns(alm_io_posix()) / 1000000));
    if (status == ALM_OK && plain)
        status = alm_arena_printf(&http->cx, &http->arena, out,
                                  "Content-Disposition: attachment; filename=\"%.*s.%s\"\r\n"
                                  "Vary: Accept, Accept-Encoding\r\n",
                                  (int)name.len, name.ptr, extension);
    if (status == ALM_OK && !plain) {
        alm_buf escaped;
        alm_buf_init(&escaped, NULL);
        for (size_t i = 0; status == ALM_OK && i < name.len; i++)
            status =
                alm_buf_printf(&http->cx, &escaped, "%%%02X", (unsigned)(unsigned char)name.ptr[i]);
        if (status == ALM_OK)
            status =
                alm_arena_printf(&http->cx, &http->arena, out,
                                 "Content-Disposition: attachment; filename=\"query.%s\"; "
                                 "filename*=UTF-8''%.*s.%s\r\nVary: Accept, Accept-Encoding\r\n",
                                 extension, (int)escaped.len, escaped.ptr, extension);
        alm_buf_deinit(&escaped);
    }
    alm_buf_deinit(&name);
    return status;
}

static void run_exp(alm_http *http)
{
    alm_str query;
    alm_query_options opt;
    if (!read_request(http, &alm_answer_formats[ALM_ANSWER_CSV], false, &query, &opt))
        return;
    opt.select_only = true;
    opt.places = ((const alm_net_shared *)alm_conn_arg(http->conn))->exports;
    opt.places_max = &http->cx.conf->http_export_connection_limit;
    opt.places_0_is_any = true;
    opt.places_wait_ms = http->cx.conf->http_export_queue_timeout;
    opt.limit_name = "http.export.connection.limit";
    if (disposition(http, opt.format->name, &opt.headers) == ALM_OK)
        alm_query_run_start(http, query, &opt);
    else
        alm_http_reply_text(http, 503, "out of memory");
}

/* ---------------------------------------------------------------------- body */

/* Whatever parameters (charset) stand behind it. */
static bool is_media_type(alm_str given, alm_str type)
{
    return given.len >= type.len && alm_str_ieq((alm_str){given.ptr, type.len}, type) &&
           (given.len == type.len || strchr("; \t", given.ptr[type.len]) != NULL);
}

static void free_body(alm_http *http)
{
    collected_body *body = http->work;
    http->work = NULL;
    if (body != NULL)
        alm_buf_deinit(&body->bytes);
    free(body);
}

/* JSON escapes a byte as six at the worst, a form as three. */
static size_t body_max(alm_http *http)
{
    const alm_str type = alm_http_header(&http->req, "Content-Type");
    const size_t worst = is_media_type(type, ALM_STR("application/json")) ? 6 : 3;
    return worst * (size_t)http->cx.conf->sql_text_max + 4096;
}

/* A body that would be refused is, before it is sent. */
static bool is_acceptable(alm_http *http)
{
    const alm_str type = alm_http_header(&http->req, "Content-Type");
    if (!is_media_type(type, ALM_STR("application/json")) &&
        !is_media_type(type, ALM_STR("application/x-www-form-urlencoded")))
        alm_http_reply_text(http, 415,
                            "The body must be application/json or "
                            "application/x-www-form-urlencoded");
    else if (alm_http_header(&http->req, "Content-Encoding").len > 0)
        alm_http_reply_text(http, 415, "The body must have no Content-Encoding");
    else if (http->req.content_length > (int64_t)body_max(http))
        alm_http_reply_text(http, 413, "The statement is longer than sql.text.max");
    return !http->answered;
}

static void ep_exec_begin(alm_http *http, void (*run)(alm_http *h))
{
    if (!http->req.has_body) {
        run(http);
        return;
    }
    if (!alm_str_eq(http->req.method, ALM_STR("POST"))) {
        alm_http_reply_text(http, 400, "GET request method cannot have content");
        return;
    }
    if (!is_acceptable(http))
        return;
    collected_body *body = calloc(1, sizeof(*body));
    if (body == NULL) {
        alm_http_reply_text(http, 503, "out of memory");
        return;
    }
    body->bytes_max = body_max(http);
    alm_buf_init(&body->bytes, NULL);
    http->work = body;
    /* no copies while it grows; pages are taken as bytes come */
    if (http->req.content_length > 0 &&
        alm_buf_reserve(&http->cx, &body->bytes, (size_t)http->req.content_length) != ALM_OK) {
        free_body(http);
        alm_http_reply_text(http, 503, "out of memory");
    }
}

static void begin_exec(alm_http *http)
{
    ep_exec_begin(http, run_exec);
}
static void begin_exp(alm_http *http)
{
    ep_exec_begin(http, run_exp);
}

static void begin_validate(alm_http *http)
{
    ep_exec_begin(http, alm_validate_run);
}

static bool ep_exec_take_body(alm_http *http, const char *bytes, size_t n)
{
    collected_body *body = http->work;
    if (body->bytes.len + n > body->bytes_max) {
        free_body(http);
        alm_http_reply_text(http, 413, "The statement is longer than sql.text.max");
        return false;
    }
    if (alm_http_charge(http, n) != ALM_OK ||
        alm_buf_append(&http->cx, &body->bytes, bytes, n) != ALM_OK) {
        const alm_error err = http->cx.err;
        free_body(http);
        alm_error_clear(&http->cx);
        alm_http_reply_error(http, 503, (alm_str){0}, err.msg, -1);
        return false;
    }
    return true;
}

/* False: the error was sent; its position counts bytes of the body. */
static bool take_json(alm_http *http, alm_str body)
{
    if (alm_query_json_members(&http->cx, &http->arena, body, &http->req) == ALM_OK)
        return true;
    const alm_error err = http->cx.err;
    alm_http_reply_error(http, alm_status_http(err.code), (alm_str){"", 0}, err.msg, err.sql_pos);
    return false;
}

static void ep_exec_end_body(alm_http *http, void (*run)(alm_http *h))
{
    collected_body *body = http->work;
    const alm_str bytes = {body->bytes.ptr, body->bytes.len};
    const alm_str type = alm_http_header(&http->req, "Content-Type");
    bool ready = false;
    if (is_media_type(type, ALM_STR("application/json")))
        ready = take_json(http, bytes);
    else if (alm_http_parse_params(&http->cx, &http->arena, bytes, &http->req))
        ready = true;
    else
        alm_http_reply_text(http, 400, "Bad escape in the form, or too many parameters");
    free_body(http);
    if (ready)
        run(http);
}

static void end_exec(alm_http *http)
{
    ep_exec_end_body(http, run_exec);
}
static void end_exp(alm_http *http)
{
    ep_exec_end_body(http, run_exp);
}
static void end_validate(alm_http *http)
{
    ep_exec_end_body(http, alm_validate_run);
}

static void close_validate(alm_http *http)
{
    if (http->state == ALM_HTTP_BODY || http->state == ALM_HTTP_DISCARD)
        free_body(http);
    else
        alm_validate_close(http);
}

static void ep_exec_close_any(alm_http *http)
{
    if (http->state == ALM_HTTP_BODY || http->state == ALM_HTTP_DISCARD)
        free_body(http);
    else
        alm_query_run_close(http);
}

/* http->work is the run once the body is there. */
static void ep_exec_closing(alm_http *http)
{
    if (http->state != ALM_HTTP_BODY && http->state != ALM_HTTP_DISCARD)
        alm_query_run_closing(http);
}

const alm_http_handler alm_ep_exec = {.runs_statements = true,
                                      .gives_cookie = true,
                                      .begin = begin_exec,
                                      .body = ep_exec_take_body,
                                      .end = end_exec,
                                      .close = ep_exec_close_any,
                                      .drained = alm_query_run_drained,
                                      .stuck = alm_query_run_is_stuck,
                                      .closing = ep_exec_closing};
const alm_http_handler alm_ep_validate = {.runs_statements = true,
                                          .begin = begin_validate,
                                          .body = ep_exec_take_body,
                                          .end = end_validate,
                                          .close = close_validate};
const alm_http_handler alm_ep_exp = {.runs_statements = true,
                                     .begin = begin_exp,
                                     .body = ep_exec_take_body,
                                     .end = end_exp,
                                     .close = ep_exec_close_any,
                                     .drained = alm_query_run_drained,
                                     .stuck = alm_query_run_is_stuck,
                                     .closing = ep_exec_closing};
