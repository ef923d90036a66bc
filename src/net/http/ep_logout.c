/*
 * ep_logout.c - /oidc/backchannel-logout: the identity provider tells that a user has logged out there (OpenID Connect Back-Channel Logout 1.0).
 * Its logout token is all the proof there is, so anybody may ask; the body is short, and a token that is none costs a check of a signature.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "net/http/exchange/http.h"
#include "session/access/login.h"

enum { BODY_MAX = 3 * ALM_OIDC_TOKEN_MAX + 256 };

typedef struct logout_run {
    alm_http *h;
    alm_buf body;
} logout_run;

typedef struct question {
    alm_oidc_wait wait; /* first: `done` has no other */
    alm_http *h;
    alm_conn *conn;
    char *token;
} question;

/* Under which failures of an address are counted, beside those of its log-ins. */
#define COUNTED_AS ALM_STR("/oidc/backchannel-logout")

static void begin(alm_http *h)
{
    if (alm_login_oidc(alm_conn_db(h->conn)) == NULL ||
        !h->cx.conf->acl_oidc_backchannel_logout_enabled) {
        alm_http_reply_text(h, 404, "Not Found");
    } else if (h->req.content_length > BODY_MAX) {
        alm_http_reply_text(h, 413, "The body is too long for a logout token");
    } else {
        logout_run *run = calloc(1, sizeof *run);
        if (run == NULL) {
            alm_http_reply_text(h, 503, "out of memory");
            return;
        }
        run->h = h;
        alm_buf_init(&run->body, NULL);
        h->work = run;
    }
    if (!h->answered && !h->req.has_body)
        alm_http_reply_text(h, 400, "the form parameter logout_token is missing");
}

static bool take_body(alm_http *h, const char *bytes, size_t n)
{
    logout_run *run = h->work;
    if (run->body.len + n > BODY_MAX)
        alm_http_reply_text(h, 413, "The body is too long for a logout token");
    else if (alm_buf_append(&h->cx, &run->body, bytes, n) != ALM_OK)
        alm_http_reply_text(h, 503, "out of memory");
    return !h->answered;
}

static void question_free(void *arg)
{
    question *q = arg;
    free(q->token);
    free(q);
}

/* The provider hears whether it worked, no more: anybody may ask. */
static void settle(question *q)
{
    alm_http *h = q->h;
    char address[64], net[64];
    alm_conn_peer(h->conn, address, sizeof address);
    alm_conn_net_text(h->conn, net, sizeof net);
    alm_login_note_log_out(alm_conn_db(h->conn), &q->wait, address);
    if (q->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(alm_conn_db(h->conn), alm_str_of(net), COUNTED_AS,
                         q->wait.verdict == ALM_OIDC_KNOWN);
    if (q->wait.verdict == ALM_OIDC_KNOWN) {
        alm_http_reply(h, 200, NULL, NULL, (alm_str){0});
    } else if (q->wait.verdict == ALM_OIDC_REFUSED) {
        alm_http_reply(h, 400, "application/json", NULL,
                       ALM_STR("{\"error\":\"invalid_request\"}"));
    } else {
        alm_http_add_headers(h, "Retry-After: 1\r\n");
        alm_http_reply_text(h, 503, "the logout token cannot be taken now");
    }
}

static void answered(alm_conn *conn, void *arg)
{
    question *q = arg;
    alm_http *h = q->h;
    (void)conn;
    settle(q);
    question_free(q);
    alm_http_finished(h);
}

/* On the thread of the answer. */
static void wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->conn);
}

/* True: the answer is there. */
static bool ask(question *q)
{
    alm_conn_wait(q->conn, answered, question_free, q);
    if (!alm_oidc_ask_logout(alm_login_oidc(alm_conn_db(q->conn)), alm_str_of(q->token), &q->wait))
        return false;
    alm_conn_wait_not(q->conn);
    return true;
}

static void slept(alm_conn *conn, void *arg)
{
    if (ask(arg))
        answered(conn, arg);
}

/* An address whose tokens were none waits, as after log-ins that failed. */
static void start(alm_http *h, alm_str token)
{
    char net[64];
    alm_login_wait wait;
    question *q = calloc(1, sizeof *q);
    if (q != NULL)
        q->token = strndup(token.ptr, token.len);
    if (q == NULL || q->token == NULL) {
        free(q);
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    q->wait.done = wake;
    q->h = h;
    q->conn = h->conn;
    alm_conn_net_text(h->conn, net, sizeof net);
    alm_login_delays(alm_conn_db(h->conn), alm_str_of(net), COUNTED_AS, &wait);
    if (wait.ms > 0) {
        alm_conn_sleep(h->conn, wait.ms, slept, question_free, q);
    } else if (ask(q)) {
        settle(q);
        question_free(q);
    }
}

static void end_body(alm_http *h)
{
    const logout_run *run = h->work;
    h->req.n_params = 0; /* the token counts in the body alone */
    if (!alm_http_parse_params(&h->cx, &h->arena, (alm_str){run->body.ptr, run->body.len},
                               &h->req)) {
        alm_http_reply_text(h, 400, "the body is no form");
        return;
    }
    const alm_str token = alm_http_param(&h->req, "logout_token");
    if (token.len == 0)
        alm_http_reply_text(h, 400, "the form parameter logout_token is missing");
    else
        start(h, token);
}

static void close_run(alm_http *h)
{
    logout_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->body);
    free(run);
}

const alm_http_handler alm_ep_logout = {
    .begin = begin, .body = take_body, .end = end_body, .close = close_run};
