/*
 * http.c - the HTTP protocol on a connection: heads, bodies (by length and chunked), one exchange after another. Routes and
 * logins come from the site (alm_http_site).
 */
#include "net/http/exchange/http.h"

#include <stdio.h>

#include "auth/rights.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/number.h"
#include "net/http/exchange/cors.h"
#include "net/http/exchange/host.h"
#include "session/core/requests.h"

enum {
    CHUNK_SIZE, /* waiting for the size line */
    CHUNK_DATA,
    CHUNK_DATA_END, /* CRLF behind the data */
    CHUNK_TRAILER,
    CHUNK_DONE
};

enum { CHUNK_LINE_MAX = 4096, DISCARD_MAX = 1 << 20, BODY_STEP = 64 << 10 };

static const char TOO_LONG[] = "The body is longer than http.request.body.max";

static void reset(alm_http *http);

/* -------------------------------------------------------------- life cycle */

void alm_http_open(alm_conn *conn, const alm_http_site *site, bool health)
{
    alm_http *http = alm_conn_state(conn);
    http->conn = conn;
    http->site = site;
    http->health = health;
    alm_arena_init(&http->arena, NULL);
    reset(http);
}

static void release_charge(alm_http *http)
{
    alm_mem_release(http->charged_to, http->charged);
    http->charged_to = NULL;
    http->charged = 0;
}

alm_status alm_http_charge(alm_http *http, size_t bytes)
{
    if (http->charged_to == NULL) {
        alm_session *session = alm_http_session(http);
        alm_request_user *user = session != NULL ? alm_session_requests(session) : NULL;
        if (user == NULL)
            return alm_fail(&http->cx, ALM_E_MEMORY, -1, "out of memory");
        http->charged_to = &user->requests;
    }
    ALM_TRY(alm_mem_charge(&http->cx, http->charged_to, (int64_t)bytes, "body"));
    http->charged += (int64_t)bytes;
    return ALM_OK;
}

static void forget_request(alm_session *session)
{
    alm_session_forget_settings(session);
    alm_session_halt(session, ALM_OK);
}

static void reset(alm_http *http)
{
    release_charge(http);
    alm_principal_release(http->who);
    http->who = NULL;
    http->seen = (alm_seen){0};
    alm_renewal_end(&http->renewal);
    http->site->forget_login(http);
    http->renewed = false;
    if (http->route != NULL && http->route->handler->close != NULL)
        http->route->handler->close(http);
    if (http->session !=
        NULL) /* the next request may be another client's, behind a proxy or a pool */
        forget_request(http->session);
    if (http->req.has_body) { /* a statement in a form may be long: its memory goes */
        alm_arena_deinit(&http->arena);
        alm_arena_init(&http->arena, NULL);
    } else {
        alm_arena_reset(&http->arena);
    }
    http->state = ALM_HTTP_HEAD;
    http->cx = (alm_ctx){.arena = &http->arena, .conf = alm_db_conf(alm_conn_db(http->conn))};
    /* a whole head must fit; a body comes in pieces of what is read ahead */
    alm_conn_input_max(http->conn,
                       (size_t)ALM_MAX(http->cx.conf->http_request_header_buffer_size + 4,
                                       http->cx.conf->http_recv_buffer_size));
    http->req = (alm_http_request){.minor = 1, .method = ALM_STR("GET"), .content_length = -1};
    http->route = NULL;
    http->work = NULL;
    http->body_left = http->body_seen = http->body_due_from = 0;
    http->trailer_bytes = 0;
    http->head_due = false;
    alm_conn_deadline(http->conn, 0);
    http->chunk_phase = CHUNK_SIZE;
    http->discard_from = 0;
    http->headers = NULL;
    http->answered = http->head_sent = http->streaming = http->continue_due = http->foreign =
        http->unmarked = false;
    http->known = http->login_free = http->is_public = false;
}

void alm_http_closing(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    if (http->session != NULL)
        alm_session_abandon(http->session);
    if (http->route != NULL && http->route->handler->closing != NULL)
        http->route->handler->closing(http);
}

void alm_http_close(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    if (http->route != NULL && http->route->handler->close != NULL)
        http->route->handler->close(http);
    release_charge(http);
    alm_session_free(http->session);
    alm_renewal_end(&http->renewal);
    http->site->forget_login(http);
    http->renewed = false;
    alm_principal_release(http->who);
    alm_arena_deinit(&http->arena);
}

/* A statement of somebody whose login has ended is cancelled; rows that wait for a slow client go no further. */
bool alm_http_over(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    if (!alm_conn_is_working(conn) && http->state == ALM_HTTP_ANSWER && http->route != NULL &&
        http->route->handler->stuck != NULL && http->route->handler->stuck(http)) {
        alm_conn_reset(conn);
        return true;
    }
    if (!http->site->is_cut(http) || !http->streaming || alm_conn_is_working(conn))
        return false; /* a piece that runs ends by itself */
    alm_conn_reset(conn);
    return true;
}

/* What is there can be taken at any time but while a request is answered, when nobody asks for more. */
void alm_http_starved(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    http->close_after = true;
    if (!http->answered && (http->state == ALM_HTTP_HEAD || http->state == ALM_HTTP_BODY)) {
        alm_http_add_headers(http, "Retry-After: 1\r\n");
        alm_http_reply_text(
            http, 503,
            "No memory for the request: the limit for those of all clients is request.memory.max");
    }
    alm_conn_finish(conn);
}

void alm_http_drained(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    /* until then http->work may be what a body is collected in */
    if (http->state == ALM_HTTP_ANSWER && http->route != NULL &&
        http->route->handler->drained != NULL)
        http->route->handler->drained(http);
}

static void http_open_session(alm_http *http)
{
    const char *user = http->cx.conf->http_user[0] != 0 ? http->cx.conf->http_user : "admin";
    const alm_status status =
        alm_session_new(&http->cx, alm_conn_db(http->conn), user, "http", &http->session);
    if (status != ALM_OK) {
        alm_http_reply_error(http, alm_status_http(status), (alm_str){0}, http->cx.err.msg, -1);
        return;
    }
    alm_ends ends;
    alm_conn_ends(http->conn, &ends);
    alm_session_ends(http->session, &ends);
    alm_session_no_blocks(http->session);
    if (http->cx.conf->http_security_readonly)
        alm_session_read_only(http->session, true);
}

/* The session is the connection's; who asks, what may be done and what SET says is the request's. */
alm_session *alm_http_session(alm_http *http)
{
    if (http->session == NULL)
        http_open_session(http);
    if (http->session == NULL)
        return NULL;
    if (http->who != NULL) {
        alm_session_become(http->session, http->who);
        alm_session_lives_by(http->session, http->renewal.credential);
    }
    alm_session_exports(http->session,
                        http->route != NULL && strcmp(http->route->path, "/exp") == 0);
    alm_session_reads_only(http->session, http->foreign    ? ALM_SESSION_FOREIGN
                                          : http->unmarked ? ALM_SESSION_UNMARKED
                                          : alm_http_param_is(&http->req, "readonly", "true")
                                              ? ALM_SESSION_READING
                                              : NULL);
    return http->session;
}

/* ------------------------------------------------------------------ routing */

/* A page of another site may have anything but GET and HEAD sent by a form or script, and not read the answer:
 * the statement of a GET is held to reading later, by the session. True: the answer was sent. */
static bool is_unwanted(alm_http *http, const alm_http_route *route)
{
    const alm_str method = http->req.method;
    if (alm_str_eq(method, ALM_STR("GET")) || alm_str_eq(method, ALM_STR("HEAD")))
        return false;
    if (!http->foreign && (!http->unmarked || route->handler->runs_statements))
        return false;
    const char *why = http->foreign ? ALM_SESSION_FOREIGN : ALM_SESSION_UNMARKED;
    alm_http_fault(http, 403, why);
    alm_http_reply_text(http, 403, why);
    return true;
}

static bool has_credentials(const alm_http *http)
{
    return alm_http_header(&http->req, "Authorization").ptr != NULL ||
           alm_http_cookie(&http->req, alm_http_session_cookie(http)).ptr != NULL;
}

static void begin_request(alm_http *http)
{
    const alm_http_request *req = &http->req;
    http->continue_due = req->has_body && req->expect_continue;
    alm_cors_answer(http);
    if (!alm_http_host_is_ours(http->cx.conf, http->req.host)) {
        static const char why[] =
            "The Host header names another server: http.host.names lists the names of this one";
        alm_http_fault(http, 421, why);
        alm_http_reply_text(http, 421, why);
        return;
    }
    if (http->health) {
        http->site->health(http);
        return;
    }
    const alm_http_route *route = http->site->find_route(http);
    http->foreign = alm_cors_is_foreign(http);
    http->unmarked = alm_cors_is_unmarked(http);
    if (route == NULL || is_unwanted(http, route))
        return;
    http->route_wanted = route;
    http->login_free = !route->needs_login;
    if (http->login_free && !(route->handler->tells_users && has_credentials(http)))
        http->known = !http->cx.conf->acl_enabled && http->cx.conf->http_user[0] == 0;
    else {
        http->site->login(http);
        return;
    }
    alm_http_let_in(http);
}

void alm_http_let_in(alm_http *http)
{
    if (http->health) {
        http->site->answer_health(http);
        return;
    }
    if (http->known)
        alm_conn_known(http->conn);
    alm_conn_user(http->conn, http->who != NULL ? http->who->identity : NULL,
                  http->who != NULL && http->who->kind == ALM_PRINCIPAL_ADMIN);
    const alm_http_route *route = http->route_wanted;
    const alm_http_request *req = &http->req;
    if (req->has_body && route->handler->body == NULL) {
        alm_http_reply_text(http, 400, "GET request method cannot have content");
        return;
    }
    if (req->content_length > http->cx.conf->http_request_body_max) {
        alm_http_fault(http, 413, TOO_LONG);
        alm_http_reply_text(http, 413, TOO_LONG);
        return;
    }
    http->route = route;
    route->handler->begin(http);
    if (http->continue_due && !http->answered)
        alm_conn_send_bytes(http->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    http->continue_due = http->continue_due && http->answered;
}

/* ------------------------------------------------------------------- bodies */

/* The next step of the body has its time from now on. */
static void body_due(alm_http *http)
{
    http->body_due_from = http->body_seen;
    alm_conn_deadline(http->conn, http->cx.conf->http_request_body_timeout);
}

/* Hands a piece on, or drops it where the answer is out already. */
static void body_piece(alm_http *http, const char *bytes, size_t n)
{
    http->body_seen += (int64_t)n;
    if (http->body_seen - http->body_due_from >= BODY_STEP)
        body_due(http);
    if (http->state == ALM_HTTP_BODY && http->body_seen > http->cx.conf->http_request_body_max) {
        alm_http_fault(http, 413, TOO_LONG);
        alm_http_reply_text(http, 413, TOO_LONG);
        http->state = ALM_HTTP_DISCARD;
    }
    if (http->state == ALM_HTTP_BODY && !http->route->handler->body(http, bytes, n))
        http->state = ALM_HTTP_DISCARD;
}

static void body_bad(alm_http *http, const char *why)
{
    http->close_after = true;
    alm_http_fault(http, 400, why);
    if (!http->head_sent)
        alm_http_reply_text(http, 400, why);
    alm_conn_finish(http->conn);
}

static void body_end(alm_http *http)
{
    alm_conn_deadline(http->conn, 0);
    if (http->state == ALM_HTTP_BODY) {
        http->state = ALM_HTTP_ANSWER;
        if (http->route->handler->end != NULL)
            http->route->handler->end(http);
    } else {
        http->state = ALM_HTTP_ANSWER;
    }
}

/* A CRLF-ended line of chunked framing: its length with CRLF, 0: incomplete, -1: bad. */
static int64_t framing_line(const char *bytes, size_t n)
{
    const char *line_end = memchr(bytes, '\n', ALM_MIN(n, (size_t)CHUNK_LINE_MAX));
    if (line_end == NULL)
        return n >= CHUNK_LINE_MAX ? -1 : 0;
    if (line_end == bytes || line_end[-1] != '\r')
        return -1;
    return line_end - bytes + 1;
}

/* Behind the size of a chunk: nothing, or ';' after white space and no control characters behind it. */
static bool is_extension(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && (text[i] == ' ' || text[i] == '\t'))
        i++;
    if (n > 0 && (i == n || text[i] != ';'))
        return false;
    for (; i < n; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return true;
}

static int64_t chunk_size(const char *line, size_t n_lines)
{
    int64_t size = 0;
    size_t i = 0;
    for (; i < n_lines; i++) {
        const int digit = alm_hex_digit(line[i]);
        if (digit < 0)
            break;
        if (size > (INT64_MAX >> 8))
            return -1;
        size = size * 16 + digit;
    }
    return i > 0 && is_extension(line + i, n_lines - i) ? size : -1;
}

/* Trailers are read as headers are, and dropped. */
static bool is_trailer(alm_http *http, const char *line, size_t n)
{
    http->trailer_bytes += n;
    return http->trailer_bytes <= (size_t)http->cx.conf->http_request_header_buffer_size &&
           alm_http_is_field((alm_str){line, n});
}

/* One step of chunked framing; bytes taken, 0: needs more. */
static size_t chunked_step(alm_http *http, const char *bytes, size_t n)
{
    if (http->chunk_phase == CHUNK_DATA) {
        const size_t take = ALM_MIN(n, (size_t)http->body_left);
        body_piece(http, bytes, take);
        http->body_left -= (int64_t)take;
        if (http->body_left == 0)
            http->chunk_phase = CHUNK_DATA_END;
        return take;
    }
    const int64_t line = framing_line(bytes, n);
    if (line <= 0) {
        if (line < 0)
            body_bad(http, "Bad chunked body");
        return 0;
    }
    if (http->chunk_phase == CHUNK_DATA_END) {
        if (line != 2)
            body_bad(http, "Bad chunked body");
        http->chunk_phase = CHUNK_SIZE;
    } else if (http->chunk_phase == CHUNK_SIZE) {
        http->body_left = chunk_size(bytes, (size_t)line - 2);
        if (http->body_left < 0)
            body_bad(http, "Bad chunk size");
        http->chunk_phase = http->body_left == 0 ? CHUNK_TRAILER : CHUNK_DATA;
    } else if (line == 2) {
        http->chunk_phase = CHUNK_DONE;
        body_end(http);
    } else if (!is_trailer(http, bytes, (size_t)line - 2)) {
        body_bad(http, "Bad trailer");
    }
    return (size_t)line;
}

static size_t body_data(alm_http *http, const char *bytes, size_t n)
{
    if (http->req.chunked)
        return chunked_step(http, bytes, n);
    const size_t take = ALM_MIN(n, (size_t)http->body_left);
    body_piece(http, bytes, take);
    http->body_left -= (int64_t)take;
    if (http->body_left == 0)
        body_end(http);
    return take;
}

/* ------------------------------------------------------------------ requests */

void alm_http_begun(alm_http *http)
{
    if (http->req.has_body && http->answered && http->state == ALM_HTTP_BODY)
        http->state = http->continue_due ? ALM_HTTP_ANSWER : ALM_HTTP_DISCARD;
}

static size_t head_data(alm_http *http, const char *bytes, size_t n)
{
    size_t taken = 0;
    int status = 400;
    const char *why = "";
    const size_t limit = (size_t)http->cx.conf->http_request_header_buffer_size;
    const alm_http_parse parsed = alm_http_parse_head(&http->cx, &http->arena, (alm_str){bytes, n},
                                                      limit, &http->req, &taken, &status, &why);
    if (parsed == ALM_HTTP_MORE) {
        if (!http->head_due)
            alm_conn_deadline(http->conn, http->cx.conf->http_request_head_timeout);
        http->head_due = true;
        return 0;
    }
    http->head_due = false;
    alm_conn_deadline(http->conn, 0);
    if (parsed == ALM_HTTP_BAD) {
        http->close_after = true;
        http->req.method = ALM_STR("GET");
        alm_http_fault(http, status, why);
        alm_http_reply_text(http, status, why);
        alm_conn_finish(http->conn);
        return n;
    }
    http->close_after = !http->req.keep_alive || !http->cx.conf->http_server_keep_alive ||
                        alm_loop_is_stopping(alm_conn_loop(http->conn));
    http->body_left = http->req.chunked ? 0 : ALM_MAX(http->req.content_length, (int64_t)0);
    http->state = http->req.has_body ? ALM_HTTP_BODY : ALM_HTTP_ANSWER;
    if (http->req.has_body)
        body_due(http);
    begin_request(http);
    alm_http_begun(http);
    return taken;
}

static bool is_finished(const alm_http *http)
{
    return http->state == ALM_HTTP_ANSWER && http->answered && !http->streaming;
}

static void finish_exchange(alm_http *http)
{
    if (http->close_after) {
        alm_conn_finish(http->conn);
        return;
    }
    reset(http);
}

size_t alm_http_data(alm_conn *conn, const char *bytes, size_t n)
{
    alm_http *http = alm_conn_state(conn);
    size_t taken = 0;
    if (http->state == ALM_HTTP_ANSWER && is_finished(http))
        finish_exchange(http);
    if (alm_conn_is_closing(conn))
        return n;
    switch (http->state) {
    case ALM_HTTP_HEAD:
        taken = head_data(http, bytes, n);
        break;
    case ALM_HTTP_BODY:
        taken = http->site->piece_may(http) ? body_data(http, bytes, n) : 0;
        break;
    case ALM_HTTP_DISCARD:
        /* a refused upload: a short rest is read so that the client sees the answer */
        if (http->discard_from == 0)
            http->discard_from = http->body_seen + 1;
        if (http->body_left > DISCARD_MAX || http->body_seen - http->discard_from > DISCARD_MAX) {
            alm_conn_finish(conn);
            return n;
        }
        taken = body_data(http, bytes, n);
        break;
    case ALM_HTTP_ANSWER:
        return 0;
    }
    if (!alm_conn_is_closing(conn) && is_finished(http))
        finish_exchange(http);
    return taken;
}

void alm_http_finished(alm_http *http)
{
    if (is_finished(http) && !alm_conn_is_closing(http->conn)) {
        finish_exchange(http);
        if (!alm_conn_is_closing(http->conn))
            alm_conn_resume(http->conn);
    }
}

void alm_http_refuse(alm_conn *conn, const char *why)
{
    char text[512];
    const int len = snprintf(text, sizeof(text),
                             "HTTP/1.1 503 Service Unavailable\r\n"
                             "Content-Type: text/plain; charset=utf-8\r\n"
                             "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                             strlen(why), why);
    alm_conn_send_bytes(conn, text, (size_t)len);
}

/* A request that came to a stop in the middle is answered; between requests there is nothing to say. */
void alm_http_idle(alm_conn *conn)
{
    alm_http *http = alm_conn_state(conn);
    const bool in_head = http->state == ALM_HTTP_HEAD && alm_conn_unread(conn) > 0;
    if (!in_head && (http->state != ALM_HTTP_BODY || http->answered))
        return;
    const bool late = alm_conn_is_late(conn);
    const char *why =
        !late     ? "The request did not go on for http.net.connection.timeout"
        : in_head ? "The head of the request took longer than http.request.head.timeout"
                  : "64 kB of the body, or its rest, took longer than http.request.body.timeout";
    http->close_after = true;
    alm_http_fault(http, 408, why);
    alm_http_reply_text(http, 408, why);
}
