/*
 * ep_exec.c - /exec: one statement, JSON result; /exp: one query, CSV file. Parameters come in the
 * URL, or in a form body (POST), which has no limit on the length of the statement but sql.text.max.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "net/http/query_run.h"

typedef struct collected_body { /* POST: h->work until the body is complete */
    alm_buf bytes;
} collected_body;

static bool is_true(const alm_http *h, const char *name)
{
    return alm_http_param_is(&h->req, name, "true");
}

/* Milliseconds of the header Statement-Timeout or the parameter `timeout` (seconds), 0: none. */
static int64_t timeout_ms(const alm_http *h)
{
    int64_t ms = 0, seconds = 0;
    const alm_str header = alm_http_header(&h->req, "Statement-Timeout");
    if (header.ptr == NULL || alm_int64_parse(header, &ms) != ALM_NUM_OK || ms < 0)
        ms = 0;
    const alm_str param = alm_http_param(&h->req, "timeout");
    if (param.ptr != NULL && alm_int64_parse(param, &seconds) == ALM_NUM_OK && seconds > 0 &&
        seconds < INT64_MAX / 1000 && (ms == 0 || seconds * 1000 < ms))
        ms = seconds * 1000;
    return ms;
}

static bool read_window(alm_http *h, bool inclusive, alm_str query, alm_row_window *out)
{
    const alm_str limit = alm_http_param(&h->req, "limit");
    *out = (alm_row_window){.hi = INT64_MAX};
    if (limit.ptr == NULL || limit.len == 0 || alm_row_window_parse(limit, inclusive, out))
        return true;
    const char *message = "invalid limit";
    if (alm_arena_printf(&h->cx, &h->arena, &message,
                         "invalid limit '%.*s': n, lo,hi, lo, or -n expected",
                         (int)ALM_MIN(limit.len, (size_t)64), limit.ptr) != ALM_OK)
        message = "invalid limit";
    alm_http_reply_error(h, 400, query, message, 0);
    return false;
}

static void run_exec(alm_http *h)
{
    const alm_str query = alm_http_param(&h->req, "query");
    alm_query_options opt = {.form = ALM_RESULT_JSON,
                             .count_all = is_true(h, "count"),
                             .no_meta = is_true(h, "nm"),
                             .timings = is_true(h, "timings"),
                             .explain = is_true(h, "explain"),
                             .quote_long = is_true(h, "quoteLargeNum") ||
                                           alm_http_param_is(&h->req, "src", "con"),
                             .timeout_ms = timeout_ms(h),
                             .cols = alm_http_param(&h->req, "cols"),
                             .type = "application/json; charset=utf-8"};
    if (query.ptr == NULL || query.len == 0) {
        alm_http_reply_error(h, 400, (alm_str){"", 0}, "No query text", 0);
        return;
    }
    if (read_window(h, true, query, &opt.window))
        alm_query_run_start(h, query, &opt);
}

/* ---------------------------------------------------------------------- /exp */

/* Content-Disposition with a name that cannot break the header (RFC 6266). */
static alm_status disposition(alm_http *h, const char **out)
{
    const alm_str given = alm_http_param(&h->req, "filename");
    alm_buf name;
    alm_buf_init(&name, NULL);
    alm_status st = ALM_OK;
    bool plain = true;
    for (size_t i = 0; st == ALM_OK && i < given.len && name.len < 200; i++) {
        const unsigned char c = (unsigned char)given.ptr[i];
        const bool bad = c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '/' || c == ';';
        plain = plain && c < 0x80;
        st = alm_buf_append(&h->cx, &name, bad ? "_" : given.ptr + i, 1);
    }
    if (st == ALM_OK && name.len == 0)
        st = alm_buf_printf(&h->cx, &name, "almanac-query-%lld",
                            (long long)(alm_monotonic_ns() / 1000000));
    if (st == ALM_OK && plain)
        st = alm_arena_printf(&h->cx, &h->arena, out,
                              "Content-Disposition: attachment; filename=\"%.*s.csv\"\r\n",
                              (int)name.len, name.ptr);
    if (st == ALM_OK && !plain) {
        alm_buf escaped;
        alm_buf_init(&escaped, NULL);
        for (size_t i = 0; st == ALM_OK && i < name.len; i++)
            st = alm_buf_printf(&h->cx, &escaped, "%%%02X", (unsigned)(unsigned char)name.ptr[i]);
        if (st == ALM_OK)
            st = alm_arena_printf(&h->cx, &h->arena, out,
                                  "Content-Disposition: attachment; filename=\"query.csv\"; "
                                  "filename*=UTF-8''%.*s.csv\r\n",
                                  (int)escaped.len, escaped.ptr);
        alm_buf_deinit(&escaped);
    }
    alm_buf_deinit(&name);
    return st;
}

static void run_exp(alm_http *h)
{
    const alm_str query = alm_http_param(&h->req, "query");
    const alm_str delimiter = alm_http_param(&h->req, "delimiter");
    const alm_str format = alm_http_param(&h->req, "fmt");
    alm_query_options opt = {.form = ALM_RESULT_CSV,
                             .no_meta = is_true(h, "nm"),
                             .select_only = true,
                             .timeout_ms = timeout_ms(h),
                             .cols = alm_http_param(&h->req, "cols"),
                             .delimiter = ',',
                             .type = "text/csv; charset=utf-8"};
    if (delimiter.ptr != NULL && delimiter.len == 1 && (unsigned char)delimiter.ptr[0] < 0x80)
        opt.delimiter = delimiter.ptr[0];
    if (query.ptr == NULL || query.len == 0) {
        alm_http_reply_error(h, 400, (alm_str){"", 0}, "No query text", 0);
        return;
    }
    if (format.ptr != NULL && !alm_str_ieq(format, ALM_STR("csv"))) {
        const char *message = "unrecognised format";
        if (alm_arena_printf(&h->cx, &h->arena, &message, "unrecognised format [format=%.*s]",
                             (int)ALM_MIN(format.len, (size_t)64), format.ptr) != ALM_OK)
            message = "unrecognised format";
        alm_http_reply_error(h, 400, query, message, 0);
        return;
    }
    if (disposition(h, &opt.headers) != ALM_OK) {
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    if (read_window(h, false, query, &opt.window))
        alm_query_run_start(h, query, &opt);
}

/* ---------------------------------------------------------------------- body */

static void begin(alm_http *h, void (*run)(alm_http *h))
{
    if (!h->req.has_body) {
        run(h);
        return;
    }
    if (!alm_str_eq(h->req.method, ALM_STR("POST"))) {
        alm_http_reply_text(h, 400, "GET request method cannot have content");
        return;
    }
    collected_body *body = calloc(1, sizeof(*body));
    if (body == NULL) {
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    alm_buf_init(&body->bytes, NULL);
    h->work = body;
}

static void begin_exec(alm_http *h)
{
    begin(h, run_exec);
}
static void begin_exp(alm_http *h)
{
    begin(h, run_exp);
}

static void free_body(alm_http *h)
{
    collected_body *body = h->work;
    h->work = NULL;
    if (body != NULL)
        alm_buf_deinit(&body->bytes);
    free(body);
}

static bool take_body(alm_http *h, const char *bytes, size_t n)
{
    collected_body *body = h->work;
    /* a form escapes every byte as three at the worst */
    const size_t limit = 3 * (size_t)h->cx.conf->sql_text_max + 4096;
    if (body->bytes.len + n > limit) {
        free_body(h);
        alm_http_reply_text(h, 413, "The statement is longer than sql.text.max");
        return false;
    }
    if (alm_buf_append(&h->cx, &body->bytes, bytes, n) != ALM_OK) {
        free_body(h);
        alm_http_reply_text(h, 503, "out of memory");
        return false;
    }
    return true;
}

static void end_body(alm_http *h, void (*run)(alm_http *h))
{
    collected_body *body = h->work;
    const alm_str type = alm_http_header(&h->req, "Content-Type");
    const alm_str form = ALM_STR("application/x-www-form-urlencoded");
    const bool is_form = type.len >= form.len && alm_str_ieq((alm_str){type.ptr, form.len}, form);
    const bool ok =
        is_form && alm_http_parse_params(&h->cx, &h->arena,
                                         (alm_str){body->bytes.ptr, body->bytes.len}, &h->req);
    free_body(h);
    if (!is_form)
        alm_http_reply_text(h, 415, "The body must be application/x-www-form-urlencoded");
    else if (!ok)
        alm_http_reply_text(h, 400, "Bad escape in the form, or too many parameters");
    else
        run(h);
}

static void end_exec(alm_http *h)
{
    end_body(h, run_exec);
}
static void end_exp(alm_http *h)
{
    end_body(h, run_exp);
}

static void close_any(alm_http *h)
{
    if (h->state == ALM_HTTP_BODY || h->state == ALM_HTTP_DISCARD)
        free_body(h);
    else
        alm_query_run_close(h);
}

const alm_http_handler alm_ep_exec = {.begin = begin_exec,
                                      .body = take_body,
                                      .end = end_exec,
                                      .close = close_any,
                                      .drained = alm_query_run_drained};
const alm_http_handler alm_ep_exp = {.begin = begin_exp,
                                     .body = take_body,
                                     .end = end_exp,
                                     .close = close_any,
                                     .drained = alm_query_run_drained};
