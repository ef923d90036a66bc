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

static void ep_logout_begin(alm_http *http)
{
    if (alm_login_oidc(alm_conn_db(http->conn)) == NULL ||
        !http->cx.conf->acl_oidc_backchannel_logout_enabled) {
        alm_http_reply_text(http, 404, "Not Found");
    } else if (http->req.content_length > BODY_MAX) {
        alm_http_reply_text(http, 413, "The body is too long for a logout token");
    } else {
        logout_run *run = calloc(1, sizeof *run);
        if (run == NULL) {
            alm_http_reply_text(http, 503, "out of memory");
            return;
        }
        run->h = http;
        alm_buf_init(&run->body, NULL);
        http->work = run;
    }
    if (!http->answered && !http->req.has_body)
        alm_http_reply_text(http, 400, "the form parameter logout_token is missing");
}

static bool ep_logout_take_body(alm_http *http, const char *bytes, size_t n)
{
    logout_run *run = http->work;
    if (run->body.len + n > BODY_MAX)
        alm_http_reply_text(http, 413, "The body is too long for a logout token");
    else if (alm_buf_append(&http->cx, &run->body, bytes, n) != ALM_OK)
        alm_http_reply_text(http, 503, "out of memory");
    return !http->answered;
}

static void ep_logout_question_free(void *arg)
{
    question *asked = arg;
    free(asked->token);
    free(asked);
}

/* The provider hears whether it worked, no more: anybody may ask. */
static void ep_logout_settle(question *asked)
{
    alm_http *http = asked->h;
    char address[64], net[64];
    alm_conn_peer(http->conn, address, sizeof address);
    alm_conn_net_text(http->conn, net, sizeof net);
    alm_login_note_log_out(alm_conn_db(http->conn), &asked->wait, address);
    if (asked->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(alm_conn_db(http->conn), alm_str_of(net), COUNTED_AS,
                         asked->wait.verdict == ALM_OIDC_KNOWN);
    if (asked->wait.verdict == ALM_OIDC_KNOWN) {
        alm_http_reply(http, 200, NULL, NULL, (alm_str){0});
    } else if (asked->wait.verdict == ALM_OIDC_REFUSED) {
        alm_http_reply(http, 400, "application/json", NULL,
                       ALM_STR("{\"error\":\"invalid_request\"}"));
    } else {
        alm_http_add_headers(http, "Retry-After: 1\r\n");
        alm_http_reply_text(http, 503, "the logout token cannot be taken now");
    }
}

static void ep_logout_answered(alm_conn *conn, void *arg)
{
    question *asked = arg;
    alm_http *http = asked->h;
    (void)conn;
    ep_logout_settle(asked);
    ep_logout_question_free(asked);
    alm_http_finished(http);
}

/* On the thread of the answer. */
static void ep_logout_wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->conn);
}

/* True: the answer is there. */
static bool ep_logout_ask(question *asked)
{
    alm_conn_wait(asked->conn, ep_logout_answered, ep_logout_question_free, asked);
    if (!alm_oidc_ask_logout(alm_login_oidc(alm_conn_db(asked->conn)), alm_str_of(asked->token),
                             &asked->wait))
        return false;
    alm_conn_wait_not(asked->conn);
    return true;
}

static void ep_logout_slept(alm_conn *conn, void *arg)
{
    if (ep_logout_ask(arg))
        ep_logout_answered(conn, arg);
}

/* An address whose tokens were none waits, as after log-ins that failed. */
static void ep_logout_start(alm_http *http, alm_str token)
{
    char net[64];
    alm_login_wait wait;
    question *asked = calloc(1, sizeof *asked);
    if (asked != NULL)
        asked->token = strndup(token.ptr, token.len);
    if (asked == NULL || asked->token == NULL) {
        free(asked);
        alm_http_reply_text(http, 503, "out of memory");
        return;
    }
    asked->wait.done = ep_logout_wake;
    asked->h = http;
    asked->conn = http->conn;
    alm_conn_net_text(http->conn, net, sizeof net);
    alm_login_delays(alm_conn_db(http->conn), alm_str_of(net), COUNTED_AS, &wait);
    if (wait.ms > 0) {
        alm_conn_sleep(http->conn, wait.ms, ep_logout_slept, ep_logout_question_free, asked);
    } else if (ep_logout_ask(asked)) {
        ep_logout_settle(asked);
        ep_logout_question_free(asked);
    }
}

static void ep_logout_end_body(alm_http *http)
{
    const logout_run *run = http->work;
    http->req.n_params = 0; /* the token counts in the body alone */
    if (!alm_http_parse_params(&http->cx, &http->arena, (alm_str){run->body.ptr, run->body.len},
                               &http->req)) {
        alm_http_reply_text(http, 400, "the body is no form");
        return;
    }
    const alm_str token = alm_http_param(&http->req, "logout_token");
    if (token.len == 0)
        alm_http_reply_text(http, 400, "the form parameter logout_token is missing");
    else
        ep_logout_start(http, token);
}

static void ep_logout_close_run(alm_http *http)
{
    logout_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->body);
    free(run);
}

const alm_http_handler alm_ep_logout = {.begin = ep_logout_begin,
                                        .body = ep_logout_take_body,
                                        .end = ep_logout_end_body,
                                        .close = ep_logout_close_run};
