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

static void reset(alm_http *h);

/* -------------------------------------------------------------- life cycle */

void alm_http_open(alm_conn *conn, const alm_http_site *site, bool health)
{
    alm_http *h = alm_conn_state(conn);
    h->conn = conn;
    h->site = site;
    h->health = health;
    alm_arena_init(&h->arena, NULL);
    reset(h);
}

static void release_charge(alm_http *h)
{
    alm_mem_release(h->charged_to, h->charged);
    h->charged_to = NULL;
    h->charged = 0;
}

alm_status alm_http_charge(alm_http *h, size_t bytes)
{
    if (h->charged_to == NULL) {
        alm_session *session = alm_http_session(h);
        alm_request_user *user = session != NULL ? alm_session_requests(session) : NULL;
        if (user == NULL)
            return alm_fail(&h->cx, ALM_E_MEMORY, -1, "out of memory");
        h->charged_to = &user->requests;
    }
    ALM_TRY(alm_mem_charge(&h->cx, h->charged_to, (int64_t)bytes, "body"));
    h->charged += (int64_t)bytes;
    return ALM_OK;
}

static void forget_request(alm_session *session)
{
    alm_session_forget_settings(session);
    alm_session_halt(session, ALM_OK);
}

static void reset(alm_http *h)
{
    release_charge(h);
    alm_principal_release(h->who);
    h->who = NULL;
    h->seen = (alm_seen){0};
    alm_renewal_end(&h->renewal);
    h->site->forget_login(h);
    h->renewed = false;
    if (h->route != NULL && h->route->handler->close != NULL)
        h->route->handler->close(h);
    if (h->session != NULL) /* the next request may be another client's, behind a proxy or a pool */
        forget_request(h->session);
    if (h->req.has_body) { /* a statement in a form may be long: its memory goes */
        alm_arena_deinit(&h->arena);
        alm_arena_init(&h->arena, NULL);
    } else {
        alm_arena_reset(&h->arena);
    }
    h->state = ALM_HTTP_HEAD;
    h->cx = (alm_ctx){.arena = &h->arena, .conf = alm_db_conf(alm_conn_db(h->conn))};
    /* a whole head must fit; a body comes in pieces of what is read ahead */
    alm_conn_input_max(h->conn, (size_t)ALM_MAX(h->cx.conf->http_request_header_buffer_size + 4,
                                                h->cx.conf->http_recv_buffer_size));
    h->req = (alm_http_request){.minor = 1, .method = ALM_STR("GET"), .content_length = -1};
    h->route = NULL;
    h->work = NULL;
    h->body_left = h->body_seen = h->body_due_from = 0;
    h->trailer_bytes = 0;
    h->head_due = false;
    alm_conn_deadline(h->conn, 0);
    h->chunk_phase = CHUNK_SIZE;
    h->discard_from = 0;
    h->headers = NULL;
    h->answered = h->head_sent = h->streaming = h->continue_due = h->foreign = h->unmarked = false;
    h->known = h->login_free = h->is_public = false;
}

void alm_http_closing(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    if (h->session != NULL)
        alm_session_abandon(h->session);
    if (h->route != NULL && h->route->handler->closing != NULL)
        h->route->handler->closing(h);
}

void alm_http_close(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    if (h->route != NULL && h->route->handler->close != NULL)
        h->route->handler->close(h);
    release_charge(h);
    alm_session_free(h->session);
    alm_renewal_end(&h->renewal);
    h->site->forget_login(h);
    h->renewed = false;
    alm_principal_release(h->who);
    alm_arena_deinit(&h->arena);
}

/* A statement of somebody whose login has ended is cancelled; rows that wait for a slow client go no further. */
bool alm_http_over(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    if (!alm_conn_is_working(conn) && h->state == ALM_HTTP_ANSWER && h->route != NULL &&
        h->route->handler->stuck != NULL && h->route->handler->stuck(h)) {
        alm_conn_reset(conn);
        return true;
    }
    if (!h->site->is_cut(h) || !h->streaming || alm_conn_is_working(conn))
        return false; /* a piece that runs ends by itself */
    alm_conn_reset(conn);
    return true;
}

/* What is there can be taken at any time but while a request is answered, when nobody asks for more. */
void alm_http_starved(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    h->close_after = true;
    if (!h->answered && (h->state == ALM_HTTP_HEAD || h->state == ALM_HTTP_BODY)) {
        alm_http_add_headers(h, "Retry-After: 1\r\n");
        alm_http_reply_text(
            h, 503,
            "No memory for the request: the limit for those of all clients is request.memory.max");
    }
    alm_conn_finish(conn);
}

void alm_http_drained(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    /* until then h->work may be what a body is collected in */
    if (h->state == ALM_HTTP_ANSWER && h->route != NULL && h->route->handler->drained != NULL)
        h->route->handler->drained(h);
}

static void open_session(alm_http *h)
{
    const char *user = h->cx.conf->http_user[0] != 0 ? h->cx.conf->http_user : "admin";
    const alm_status st = alm_session_new(&h->cx, alm_conn_db(h->conn), user, "http", &h->session);
    if (st != ALM_OK) {
        alm_http_reply_error(h, alm_status_http(st), (alm_str){0}, h->cx.err.msg, -1);
        return;
    }
    alm_ends ends;
    alm_conn_ends(h->conn, &ends);
    alm_session_ends(h->session, &ends);
    alm_session_no_blocks(h->session);
    if (h->cx.conf->http_security_readonly)
        alm_session_read_only(h->session, true);
}

/* The session is the connection's; who asks, what may be done and what SET says is the request's. */
alm_session *alm_http_session(alm_http *h)
{
    if (h->session == NULL)
        open_session(h);
    if (h->session == NULL)
        return NULL;
    if (h->who != NULL) {
        alm_session_become(h->session, h->who);
        alm_session_lives_by(h->session, h->renewal.credential);
    }
    alm_session_exports(h->session, h->route != NULL && strcmp(h->route->path, "/exp") == 0);
    alm_session_reads_only(h->session, h->foreign    ? ALM_SESSION_FOREIGN
                                       : h->unmarked ? ALM_SESSION_UNMARKED
                                       : alm_http_param_is(&h->req, "readonly", "true")
                                           ? ALM_SESSION_READING
                                           : NULL);
    return h->session;
}

/* ------------------------------------------------------------------ routing */

/* A page of another site may have anything but GET and HEAD sent by a form or script, and not read the answer:
 * the statement of a GET is held to reading later, by the session. True: the answer was sent. */
static bool is_unwanted(alm_http *h, const alm_http_route *route)
{
    const alm_str method = h->req.method;
    if (alm_str_eq(method, ALM_STR("GET")) || alm_str_eq(method, ALM_STR("HEAD")))
        return false;
    if (!h->foreign && (!h->unmarked || route->handler->runs_statements))
        return false;
    const char *why = h->foreign ? ALM_SESSION_FOREIGN : ALM_SESSION_UNMARKED;
    alm_http_fault(h, 403, why);
    alm_http_reply_text(h, 403, why);
    return true;
}

static bool has_credentials(const alm_http *h)
{
    return alm_http_header(&h->req, "Authorization").ptr != NULL ||
           alm_http_cookie(&h->req, alm_http_session_cookie(h)).ptr != NULL;
}

static void begin_request(alm_http *h)
{
    const alm_http_request *req = &h->req;
    h->continue_due = req->has_body && req->expect_continue;
    alm_cors_answer(h);
    if (!alm_http_host_is_ours(h->cx.conf, h->req.host)) {
        static const char why[] =
            "The Host header names another server: http.host.names lists the names of this one";
        alm_http_fault(h, 421, why);
        alm_http_reply_text(h, 421, why);
        return;
    }
    if (h->health) {
        h->site->health(h);
        return;
    }
    const alm_http_route *route = h->site->find_route(h);
    h->foreign = alm_cors_is_foreign(h);
    h->unmarked = alm_cors_is_unmarked(h);
    if (route == NULL || is_unwanted(h, route))
        return;
    h->route_wanted = route;
    h->login_free = !route->needs_login;
    if (h->login_free && !(route->handler->tells_users && has_credentials(h)))
        h->known = !h->cx.conf->acl_enabled && h->cx.conf->http_user[0] == 0;
    else {
        h->site->login(h);
        return;
    }
    alm_http_let_in(h);
}

void alm_http_let_in(alm_http *h)
{
    if (h->health) {
        h->site->answer_health(h);
        return;
    }
    if (h->known)
        alm_conn_known(h->conn);
    alm_conn_user(h->conn, h->who != NULL ? h->who->identity : NULL,
                  h->who != NULL && h->who->kind == ALM_PRINCIPAL_ADMIN);
    const alm_http_route *route = h->route_wanted;
    const alm_http_request *req = &h->req;
    if (req->has_body && route->handler->body == NULL) {
        alm_http_reply_text(h, 400, "GET request method cannot have content");
        return;
    }
    if (req->content_length > h->cx.conf->http_request_body_max) {
        alm_http_fault(h, 413, TOO_LONG);
        alm_http_reply_text(h, 413, TOO_LONG);
        return;
    }
    h->route = route;
    route->handler->begin(h);
    if (h->continue_due && !h->answered)
        alm_conn_send_bytes(h->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    h->continue_due = h->continue_due && h->answered;
}

/* ------------------------------------------------------------------- bodies */

/* The next step of the body has its time from now on. */
static void body_due(alm_http *h)
{
    h->body_due_from = h->body_seen;
    alm_conn_deadline(h->conn, h->cx.conf->http_request_body_timeout);
}

/* Hands a piece on, or drops it where the answer is out already. */
static void body_piece(alm_http *h, const char *bytes, size_t n)
{
    h->body_seen += (int64_t)n;
    if (h->body_seen - h->body_due_from >= BODY_STEP)
        body_due(h);
    if (h->state == ALM_HTTP_BODY && h->body_seen > h->cx.conf->http_request_body_max) {
        alm_http_fault(h, 413, TOO_LONG);
        alm_http_reply_text(h, 413, TOO_LONG);
        h->state = ALM_HTTP_DISCARD;
    }
    if (h->state == ALM_HTTP_BODY && !h->route->handler->body(h, bytes, n))
        h->state = ALM_HTTP_DISCARD;
}

static void body_bad(alm_http *h, const char *why)
{
    h->close_after = true;
    alm_http_fault(h, 400, why);
    if (!h->head_sent)
        alm_http_reply_text(h, 400, why);
    alm_conn_finish(h->conn);
}

static void body_end(alm_http *h)
{
    alm_conn_deadline(h->conn, 0);
    if (h->state == ALM_HTTP_BODY) {
        h->state = ALM_HTTP_ANSWER;
        if (h->route->handler->end != NULL)
            h->route->handler->end(h);
    } else {
        h->state = ALM_HTTP_ANSWER;
    }
}

/* A CRLF-ended line of chunked framing: its length with CRLF, 0: incomplete, -1: bad. */
static int64_t framing_line(const char *bytes, size_t n)
{
    const char *lf = memchr(bytes, '\n', ALM_MIN(n, (size_t)CHUNK_LINE_MAX));
    if (lf == NULL)
        return n >= CHUNK_LINE_MAX ? -1 : 0;
    if (lf == bytes || lf[-1] != '\r')
        return -1;
    return lf - bytes + 1;
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

static int64_t chunk_size(const char *line, size_t n)
{
    int64_t size = 0;
    size_t i = 0;
    for (; i < n; i++) {
        const int digit = alm_hex_digit(line[i]);
        if (digit < 0)
            break;
        if (size > (INT64_MAX >> 8))
            return -1;
        size = size * 16 + digit;
    }
    return i > 0 && is_extension(line + i, n - i) ? size : -1;
}

/* Trailers are read as headers are, and dropped. */
static bool is_trailer(alm_http *h, const char *line, size_t n)
{
    h->trailer_bytes += n;
    return h->trailer_bytes <= (size_t)h->cx.conf->http_request_header_buffer_size &&
           alm_http_is_field((alm_str){line, n});
}

/* One step of chunked framing; bytes taken, 0: needs more. */
static size_t chunked_step(alm_http *h, const char *bytes, size_t n)
{
    if (h->chunk_phase == CHUNK_DATA) {
        const size_t take = ALM_MIN(n, (size_t)h->body_left);
        body_piece(h, bytes, take);
        h->body_left -= (int64_t)take;
        if (h->body_left == 0)
            h->chunk_phase = CHUNK_DATA_END;
        return take;
    }
    const int64_t line = framing_line(bytes, n);
    if (line <= 0) {
        if (line < 0)
            body_bad(h, "Bad chunked body");
        return 0;
    }
    if (h->chunk_phase == CHUNK_DATA_END) {
        if (line != 2)
            body_bad(h, "Bad chunked body");
        h->chunk_phase = CHUNK_SIZE;
    } else if (h->chunk_phase == CHUNK_SIZE) {
        h->body_left = chunk_size(bytes, (size_t)line - 2);
        if (h->body_left < 0)
            body_bad(h, "Bad chunk size");
        h->chunk_phase = h->body_left == 0 ? CHUNK_TRAILER : CHUNK_DATA;
    } else if (line == 2) {
        h->chunk_phase = CHUNK_DONE;
        body_end(h);
    } else if (!is_trailer(h, bytes, (size_t)line - 2)) {
        body_bad(h, "Bad trailer");
    }
    return (size_t)line;
}

static size_t body_data(alm_http *h, const char *bytes, size_t n)
{
    if (h->req.chunked)
        return chunked_step(h, bytes, n);
    const size_t take = ALM_MIN(n, (size_t)h->body_left);
    body_piece(h, bytes, take);
    h->body_left -= (int64_t)take;
    if (h->body_left == 0)
        body_end(h);
    return take;
}

/* ------------------------------------------------------------------ requests */

void alm_http_begun(alm_http *h)
{
    if (h->req.has_body && h->answered && h->state == ALM_HTTP_BODY)
        h->state = h->continue_due ? ALM_HTTP_ANSWER : ALM_HTTP_DISCARD;
}

static size_t head_data(alm_http *h, const char *bytes, size_t n)
{
    size_t taken = 0;
    int status = 400;
    const char *why = "";
    const size_t limit = (size_t)h->cx.conf->http_request_header_buffer_size;
    const alm_http_parse parsed = alm_http_parse_head(&h->cx, &h->arena, (alm_str){bytes, n}, limit,
                                                      &h->req, &taken, &status, &why);
    if (parsed == ALM_HTTP_MORE) {
        if (!h->head_due)
            alm_conn_deadline(h->conn, h->cx.conf->http_request_head_timeout);
        h->head_due = true;
        return 0;
    }
    h->head_due = false;
    alm_conn_deadline(h->conn, 0);
    if (parsed == ALM_HTTP_BAD) {
        h->close_after = true;
        h->req.method = ALM_STR("GET");
        alm_http_fault(h, status, why);
        alm_http_reply_text(h, status, why);
        alm_conn_finish(h->conn);
        return n;
    }
    h->close_after = !h->req.keep_alive || !h->cx.conf->http_server_keep_alive ||
                     alm_loop_is_stopping(alm_conn_loop(h->conn));
    h->body_left = h->req.chunked ? 0 : ALM_MAX(h->req.content_length, (int64_t)0);
    h->state = h->req.has_body ? ALM_HTTP_BODY : ALM_HTTP_ANSWER;
    if (h->req.has_body)
        body_due(h);
    begin_request(h);
    alm_http_begun(h);
    return taken;
}

static bool is_finished(const alm_http *h)
{
    return h->state == ALM_HTTP_ANSWER && h->answered && !h->streaming;
}

static void finish_exchange(alm_http *h)
{
    if (h->close_after) {
        alm_conn_finish(h->conn);
        return;
    }
    reset(h);
}

size_t alm_http_data(alm_conn *conn, const char *bytes, size_t n)
{
    alm_http *h = alm_conn_state(conn);
    size_t taken = 0;
    if (h->state == ALM_HTTP_ANSWER && is_finished(h))
        finish_exchange(h);
    if (alm_conn_is_closing(conn))
        return n;
    switch (h->state) {
    case ALM_HTTP_HEAD:
        taken = head_data(h, bytes, n);
        break;
    case ALM_HTTP_BODY:
        taken = h->site->piece_may(h) ? body_data(h, bytes, n) : 0;
        break;
    case ALM_HTTP_DISCARD:
        /* a refused upload: a short rest is read so that the client sees the answer */
        if (h->discard_from == 0)
            h->discard_from = h->body_seen + 1;
        if (h->body_left > DISCARD_MAX || h->body_seen - h->discard_from > DISCARD_MAX) {
            alm_conn_finish(conn);
            return n;
        }
        taken = body_data(h, bytes, n);
        break;
    case ALM_HTTP_ANSWER:
        return 0;
    }
    if (!alm_conn_is_closing(conn) && is_finished(h))
        finish_exchange(h);
    return taken;
}

void alm_http_finished(alm_http *h)
{
    if (is_finished(h) && !alm_conn_is_closing(h->conn)) {
        finish_exchange(h);
        if (!alm_conn_is_closing(h->conn))
            alm_conn_resume(h->conn);
    }
}

void alm_http_refuse(alm_conn *conn, const char *why)
{
    char text[512];
    const int n = snprintf(text, sizeof(text),
                           "HTTP/1.1 503 Service Unavailable\r\n"
                           "Content-Type: text/plain; charset=utf-8\r\n"
                           "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                           strlen(why), why);
    alm_conn_send_bytes(conn, text, (size_t)n);
}

/* A request that came to a stop in the middle is answered; between requests there is nothing to say. */
void alm_http_idle(alm_conn *conn)
{
    alm_http *h = alm_conn_state(conn);
    const bool in_head = h->state == ALM_HTTP_HEAD && alm_conn_unread(conn) > 0;
    if (!in_head && (h->state != ALM_HTTP_BODY || h->answered))
        return;
    const bool late = alm_conn_is_late(conn);
    const char *why =
        !late     ? "The request did not go on for http.net.connection.timeout"
        : in_head ? "The head of the request took longer than http.request.head.timeout"
                  : "64 kB of the body, or its rest, took longer than http.request.body.timeout";
    h->close_after = true;
    alm_http_fault(h, 408, why);
    alm_http_reply_text(h, 408, why);
}
