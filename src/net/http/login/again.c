/*
 * again.c - a request that goes on for a while: a body, a statement, an answer. Does what it was sent with count still? The catalogue
 * and the session of the cookie say so at once; about users of the identity provider that is asked again (renewal.h).
 */
#include <stdlib.h>

#include "auth/token.h"
#include "base/conf.h"
#include "net/http/login/login.h"
#include "net/http/login/session_store.h"

typedef struct question {
    alm_oidc_wait wait; /* first: `done` has no other */
    alm_http *h;
    alm_conn *conn;
    void (*work)(void *arg); /* that waits; NULL: bytes of the body do */
    void (*done)(alm_conn *conn, void *arg);
    void *arg;
} question;

static void again_question_free(void *arg)
{
    question *asked = arg;
    alm_principal_release(asked->wait.who);
    alm_secret_free(asked->wait.token);
    free(asked);
}

static void again_wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->conn);
}

/* What the handler does next fails with the reason, as an answer of its own form. */
static void halt(alm_http *http, alm_status why)
{
    alm_session *session = http->session != NULL || alm_conn_is_working(http->conn)
                               ? http->session
                               : alm_http_session(http);
    if (session != NULL)
        alm_session_halt(session, why);
}

static bool again_is_over(alm_http *http)
{
    alm_ctx cx = {.conf = http->cx.conf};
    return (http->cookie != NULL && alm_cookie_is_over(http->cookie, http->cx.conf)) ||
           alm_login_stands(&cx, alm_conn_db(http->conn), http->who, &http->seen) ==
               ALM_E_LOGIN_OVER;
}

/* Nothing of the request runs: from here on it is for who he is now. */
static void again_become_newer(alm_http *http)
{
    ALM_ASSERT(!alm_conn_is_working(http->conn));
    if (http->renewal.newer == NULL)
        return;
    alm_principal_release(http->who);
    http->who = http->renewal.newer;
    http->renewal.newer = NULL;
    http->seen = (alm_seen){0};
    if (http->session != NULL)
        alm_session_become(http->session, http->who);
}

static void again_take(question *asked)
{
    alm_http *http = asked->h;
    if (alm_renewal_take(&http->renewal, alm_conn_db(http->conn), http->who, &asked->wait) ==
        ALM_RENEWAL_AWAY)
        halt(http, ALM_E_PROVIDER);
    else
        again_become_newer(http); /* whose login is over hears it from the session */
}

static void again_answered(alm_conn *conn, void *arg)
{
    question *asked = arg;
    alm_http *http = asked->h;
    again_take(asked);
    if (asked->work != NULL)
        alm_conn_work(conn, asked->work, asked->done, NULL, asked->arg);
    else
        http->renewed = true;
    again_question_free(asked);
}

/* False: the connection waits. */
static bool again_ask(question *asked)
{
    alm_conn_wait(asked->conn, again_answered, again_question_free, asked);
    if (!alm_renewal_ask(&asked->h->renewal, alm_conn_db(asked->conn), &asked->wait))
        return false;
    alm_conn_wait_not(asked->conn);
    again_take(asked);
    again_question_free(asked);
    return true;
}

/* True: the next piece may be worked on, or fails by what it finds out. */
static bool again_look(alm_http *http, const question *like)
{
    if (http->who == NULL)
        return true;
    if (again_is_over(http)) {
        halt(http, ALM_E_LOGIN_OVER);
        return true;
    }
    again_become_newer(http);
    if (!alm_renewal_is_due(&http->renewal, alm_conn_db(http->conn)))
        return true;
    question *asked = calloc(1, sizeof *asked);
    if (asked == NULL) {
        halt(http, ALM_E_PROVIDER);
        return true;
    }
    *asked = *like;
    asked->wait.done = again_wake;
    asked->h = http;
    asked->conn = http->conn;
    return again_ask(asked);
}

bool alm_http_piece_may(alm_http *http)
{
    static const question none = {.work = NULL};
    const bool asked = http->renewed;
    http->renewed = false;
    const bool may = asked || again_look(http, &none);
    alm_http_begun(http); /* where there was no memory for a session it is answered */
    return may;
}

void alm_http_work(alm_http *http, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void *arg)
{
    const question piece = {.work = work, .done = done, .arg = arg};
    if (again_look(http, &piece))
        alm_conn_work(http->conn, work, done, NULL, arg);
}

bool alm_http_is_cut(alm_http *http)
{
    alm_status why = ALM_OK;
    if (http->who == NULL || http->session == NULL)
        return false;
    if (again_is_over(http))
        why = ALM_E_LOGIN_OVER;
    else if (http->state == ALM_HTTP_ANSWER) {
        const alm_renewed how =
            alm_renewal_beside(&http->renewal, alm_conn_db(http->conn), http->who);
        why = how == ALM_RENEWED        ? ALM_OK
              : how == ALM_RENEWAL_AWAY ? ALM_E_PROVIDER
                                        : ALM_E_LOGIN_OVER;
    }
    if (why != ALM_OK)
        alm_session_halt(http->session, why);
    return why != ALM_OK;
}
