/*
 * reply.c - answers: heads, whole bodies, chunked streams, JSON errors.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/conf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/json_text.h"
#include "net/http/exchange/http.h"
#include "net/shared.h"
#include "session/session.h"

static const struct {
    int status;
    const char *reason;
} reasons[] = {{100, "Continue"},
               {200, "OK"},
               {204, "No Content"},
               {206, "Partial Content"},
               {301, "Moved Permanently"},
               {304, "Not Modified"},
               {400, "Bad Request"},
               {401, "Unauthorized"},
               {403, "Forbidden"},
               {404, "Not Found"},
               {405, "Method Not Allowed"},
               {408, "Request Timeout"},
               {409, "Conflict"},
               {411, "Length Required"},
               {412, "Precondition Failed"},
               {413, "Content Too Large"},
               {414, "URI Too Long"},
               {415, "Unsupported Media Type"},
               {416, "Range Not Satisfiable"},
               {417, "Expectation Failed"},
               {421, "Misdirected Request"},
               {429, "Too Many Requests"},
               {431, "Request Header Fields Too Large"},
               {500, "Internal Server Error"},
               {501, "Not Implemented"},
               {503, "Service Unavailable"},
               {505, "HTTP Version Not Supported"},
               {507, "Insufficient Storage"}};

const char *alm_http_reason(int status)
{
    for (size_t i = 0; i < ALM_COUNT(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

static void write_date(time_t now, char out[40])
{
    /* English names whatever the locale */
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;
    (void)gmtime_r(&now, &tm);
    (void)snprintf(out, 40, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
                   months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* Written once a second: it takes as long as the rest of a head. */
static const char *date_text(alm_http *http)
{
    const time_t now = time(NULL);
    if (http->date_s != (int64_t)now)
        write_date(now, http->date);
    http->date_s = (int64_t)now;
    return http->date;
}

/* A head of our own lines fits; those of handlers come on top. */
enum { HEAD_BYTES = 640 };

#define PUT(literal) ALM_TRY(alm_buf_append(cx, out, "" literal, sizeof(literal) - 1))

static alm_status put_status(alm_http *http, alm_buf *out, int status)
{
    alm_ctx *cx = &http->cx;
    PUT("HTTP/1.1 ");
    ALM_TRY(alm_buf_int64(cx, out, status));
    PUT(" ");
    ALM_TRY(alm_buf_text(cx, out, alm_http_reason(status)));
    PUT("\r\nServer: almanac\r\nDate: ");
    ALM_TRY(alm_buf_text(cx, out, date_text(http)));
    PUT("\r\n");
    return ALM_OK;
}

alm_str alm_http_session_cookie(const alm_http *http)
{
    return alm_conn_has_tls(http->conn) ? ALM_STR("__Host-qdb_session=") : ALM_STR("qdb_session=");
}

/* Does the connection go on, and how long? */
static alm_status put_connection(alm_http *http, alm_buf *out)
{
    alm_ctx *cx = &http->cx;
    if (http->close_after) {
        PUT("Connection: close\r\n");
    } else if (http->req.minor == 0) {
        PUT("Connection: keep-alive\r\n");
    } else {
        PUT("Keep-Alive: timeout=");
        ALM_TRY(alm_buf_int64(cx, out, cx->conf->http_keep_alive_timeout));
        PUT(", max=");
        ALM_TRY(alm_buf_int64(cx, out, cx->conf->http_keep_alive_max));
        PUT("\r\n");
    }
    return ALM_OK;
}

/* Head of an answer; length < 0: chunked (or until close for HTTP/1.0). */
static alm_status reply_put_head(alm_http *http, alm_buf *out, int status, const char *type,
                                 const char *headers, int64_t length)
{
    alm_ctx *cx = &http->cx;
    const bool stream = length < 0;
    alm_net_shared *shared = alm_conn_arg(http->conn);
    if (shared != NULL)
        alm_count(&shared->http_answers[status / 100], 1);
    /* a client that was not told to go on may or may not send its body: what comes next could be either */
    if ((stream && http->req.minor == 0) || http->continue_due)
        http->close_after = true;
    ALM_TRY(alm_buf_reserve(cx, out, HEAD_BYTES));
    ALM_TRY(put_status(http, out, status));
    if (stream && http->req.minor != 0) {
        PUT("Transfer-Encoding: chunked\r\n");
    } else if (!stream && status != 204 && status != 304) {
        PUT("Content-Length: ");
        ALM_TRY(alm_buf_int64(cx, out, length));
        PUT("\r\n");
    }
    if (type != NULL) {
        PUT("Content-Type: ");
        ALM_TRY(alm_buf_text(cx, out, type));
        PUT("\r\n");
    }
    if (headers != NULL)
        ALM_TRY(alm_buf_text(cx, out, headers));
    if (http->headers != NULL)
        ALM_TRY(alm_buf_text(cx, out, http->headers));
    if (!http->is_public) /* data: nothing of it is kept, shown as a page, or put into one of another site */
        PUT("Cache-Control: no-store\r\n"
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
            "Cross-Origin-Resource-Policy: ");
    if (!http->is_public && cx->conf->http_cors_origins[0] != 0)
        PUT("cross-origin\r\n");
    else if (!http->is_public)
        PUT("same-origin\r\n");
    if (alm_conn_has_tls(http->conn) && cx->conf->http_tls_hsts_max_age > 0) {
        PUT("Strict-Transport-Security: max-age=");
        ALM_TRY(alm_buf_int64(cx, out, cx->conf->http_tls_hsts_max_age / 1000));
        PUT("\r\n");
    }
    PUT("X-Content-Type-Options: nosniff\r\n");
    ALM_TRY(put_connection(http, out));
    PUT("\r\n");
    return ALM_OK;
}

void alm_http_add_headers(alm_http *http, const char *format, ...)
{
    va_list args;
    char *lines = NULL;
    const size_t had = http->headers != NULL ? strlen(http->headers) : 0;
    va_start(args, format);
    const int more = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (more < 0 ||
        alm_arena_bytes(&http->cx, &http->arena, had + (size_t)more + 1, &lines) != ALM_OK) {
        alm_error_clear(&http->cx); /* without memory the answer goes without them */
        return;
    }
    if (had > 0)
        (void)memcpy(lines, http->headers, had);
    va_start(args, format);
    (void)vsnprintf(lines + had, (size_t)more + 1, format, args);
    va_end(args);
    http->headers = lines;
}

static bool is_head(const alm_http *http)
{
    return alm_str_eq(http->req.method, ALM_STR("HEAD"));
}

void alm_http_reply(alm_http *http, int status, const char *type, const char *headers, alm_str body)
{
    if (http->answered)
        return;
    alm_buf out;
    alm_buf_init(&out, NULL);
    http->answered = true;
    http->head_sent = true;
    alm_status outcome = alm_buf_reserve(&http->cx, &out, HEAD_BYTES + body.len);
    if (outcome == ALM_OK)
        outcome = reply_put_head(http, &out, status, type, headers, (int64_t)body.len);
    if (outcome == ALM_OK && !is_head(http) && status != 204 && status != 304)
        outcome = alm_buf_append(&http->cx, &out, body.ptr, body.len);
    if (outcome == ALM_OK)
        alm_conn_send_bytes(http->conn, out.ptr, out.len);
    else
        alm_conn_abort(http->conn);
    alm_buf_deinit(&out);
}

void alm_http_reply_text(alm_http *http, int status, const char *text)
{
    char body[1200];
    const int len = snprintf(body, sizeof(body), "%s\r\n", text);
    alm_http_reply(http, status, "text/plain; charset=utf-8", NULL,
                   (alm_str){body, ALM_MIN((size_t)len, sizeof(body) - 1)});
}

void alm_http_fault(alm_http *http, int status, const char *why)
{
    alm_conn_fault(http->conn,
                   status == 403 || status == 421 ? "refused request of another page"
                                                  : "refused request",
                   why);
}

/* What the session refuses for the sake of the page that asks. */
static bool is_of_site(const alm_http *http, int status, const char *message)
{
    return status == 403 && (http->foreign || http->unmarked) &&
           (strcmp(message, ALM_SESSION_FOREIGN) == 0 ||
            strcmp(message, ALM_SESSION_UNMARKED) == 0);
}

/* The position counts characters for the client, as the editor that shows it does. */
int64_t alm_http_units_before(alm_str text, int32_t bytes)
{
    if (bytes <= 0)
        return 0;
    const size_t n = ALM_MIN((size_t)bytes, text.len);
    return (int64_t)alm_utf8_count_utf16((alm_str){text.ptr, n}) + (bytes - (int64_t)n);
}

void alm_http_reply_error(alm_http *http, int status, alm_str query, const char *message,
                          int32_t position_bytes)
{
    alm_ctx *cx = &http->cx;
    alm_buf out;
    alm_buf_init(&out, NULL);
    if (is_of_site(http, status, message))
        alm_http_fault(http, status, message);
    alm_error_clear(cx);
    alm_status outcome = alm_buf_text(cx, &out, "{");
    if (outcome == ALM_OK && query.ptr != NULL) {
        outcome = alm_buf_text(cx, &out, "\"query\":");
        if (outcome == ALM_OK)
            outcome = alm_json_put_string(cx, &out, query);
        if (outcome == ALM_OK)
            outcome = alm_buf_text(cx, &out, ",");
    }
    if (outcome == ALM_OK)
        outcome = alm_buf_text(cx, &out, "\"error\":");
    if (outcome == ALM_OK)
        outcome = alm_json_put_string(cx, &out, alm_str_of(message));
    if (outcome == ALM_OK && query.ptr != NULL)
        outcome = alm_buf_printf(cx, &out, ",\"position\":%lld",
                                 (long long)alm_http_units_before(query, position_bytes));
    if (outcome == ALM_OK)
        outcome = alm_buf_text(cx, &out, "}");
    if (outcome == ALM_OK)
        alm_http_reply(http, status, "application/json; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_conn_abort(http->conn);
    alm_buf_deinit(&out);
}

/* ------------------------------------------------------------------- streams */

void alm_http_stream_begin(alm_http *http, int status, const char *type, const char *headers)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    http->answered = true;
    http->head_sent = true;
    http->streaming = true;
    if (reply_put_head(http, &out, status, type, headers, -1) == ALM_OK)
        alm_conn_send_bytes(http->conn, out.ptr, out.len);
    else
        alm_conn_abort(http->conn);
    alm_buf_deinit(&out);
}

void alm_http_whole_begin(alm_http *http, int status, const char *type, int64_t bytes)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    http->answered = true;
    http->head_sent = true;
    http->streaming = !is_head(http) && bytes > 0;
    if (reply_put_head(http, &out, status, type, NULL, bytes) == ALM_OK)
        alm_conn_send_bytes(http->conn, out.ptr, out.len);
    else
        alm_conn_abort(http->conn);
    alm_buf_deinit(&out);
}

void alm_http_whole_end(alm_http *http)
{
    ALM_ASSERT(http->streaming);
    http->streaming = false;
}

void alm_http_stream_chunk(alm_http *http, alm_buf *buf)
{
    if (buf->len == 0 || is_head(http)) {
        buf->len = 0;
        return;
    }
    if (http->req.minor == 0) {
        alm_conn_send(http->conn, buf);
        return;
    }
    char size[24];
    const int len = snprintf(size, sizeof(size), "%zx\r\n", buf->len);
    if (buf->len < 4096) { /* one packet for small answers */
        char small[4096 + 32];
        (void)memcpy(small, size, (size_t)len);
        (void)memcpy(small + len, buf->ptr, buf->len);
        (void)memcpy(small + (size_t)len + buf->len, "\r\n", 2);
        alm_conn_send_bytes(http->conn, small, (size_t)len + buf->len + 2);
        buf->len = 0;
        return;
    }
    alm_conn_send_bytes(http->conn, size, (size_t)len);
    alm_conn_send(http->conn, buf);
    alm_conn_send_bytes(http->conn, "\r\n", 2);
}

void alm_http_stream_end(alm_http *http)
{
    http->streaming = false;
    if (http->req.minor != 0 && !is_head(http))
        alm_conn_send_bytes(http->conn, "0\r\n\r\n", 5);
}

void alm_http_stream_break(alm_http *http)
{
    http->streaming = false;
    http->close_after = true;
    if (http->req.minor == 0)
        alm_conn_reset(http->conn); /* its close in order would say that the answer is complete */
    else
        alm_conn_finish(http->conn);
}
