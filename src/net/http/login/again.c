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

static void question_free(void *arg)
{
    question *q = arg;
    alm_principal_release(q->wait.who);
    alm_secret_free(q->wait.token);
    free(q);
}

static void wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->conn);
}

/* What the handler does next fails with the reason, as an answer of its own form. */
static void halt(alm_http *h, alm_status why)
{
    alm_session *session =
        h->session != NULL || alm_conn_is_working(h->conn) ? h->session : alm_http_session(h);
    if (session != NULL)
        alm_session_halt(session, why);
}

static bool is_over(alm_http *h)
{
    alm_ctx cx = {.conf = h->cx.conf};
    return (h->cookie != NULL && alm_cookie_is_over(h->cookie, h->cx.conf)) ||
           alm_login_stands(&cx, alm_conn_db(h->conn), h->who, &h->seen) == ALM_E_LOGIN_OVER;
}

/* Nothing of the request runs: from here on it is for who he is now. */
static void become_newer(alm_http *h)
{
    ALM_ASSERT(!alm_conn_is_working(h->conn));
    if (h->renewal.newer == NULL)
        return;
    alm_principal_release(h->who);
    h->who = h->renewal.newer;
    h->renewal.newer = NULL;
    h->seen = (alm_seen){0};
    if (h->session != NULL)
        alm_session_become(h->session, h->who);
}

static void take(question *q)
{
    alm_http *h = q->h;
    if (alm_renewal_take(&h->renewal, alm_conn_db(h->conn), h->who, &q->wait) == ALM_RENEWAL_AWAY)
        halt(h, ALM_E_PROVIDER);
    else
        become_newer(h); /* whose login is over hears it from the session */
}

static void answered(alm_conn *conn, void *arg)
{
    question *q = arg;
    alm_http *h = q->h;
    take(q);
    if (q->work != NULL)
        alm_conn_work(conn, q->work, q->done, NULL, q->arg);
    else
        h->renewed = true;
    question_free(q);
}

/* False: the connection waits. */
static bool ask(question *q)
{
    alm_conn_wait(q->conn, answered, question_free, q);
    if (!alm_renewal_ask(&q->h->renewal, alm_conn_db(q->conn), &q->wait))
        return false;
    alm_conn_wait_not(q->conn);
    take(q);
    question_free(q);
    return true;
}

/* True: the next piece may be worked on, or fails by what it finds out. */
static bool look(alm_http *h, const question *like)
{
    if (h->who == NULL)
        return true;
    if (is_over(h)) {
        halt(h, ALM_E_LOGIN_OVER);
        return true;
    }
    become_newer(h);
    if (!alm_renewal_is_due(&h->renewal, alm_conn_db(h->conn)))
        return true;
    question *q = calloc(1, sizeof *q);
    if (q == NULL) {
        halt(h, ALM_E_PROVIDER);
        return true;
    }
    *q = *like;
    q->wait.done = wake;
    q->h = h;
    q->conn = h->conn;
    return ask(q);
}

bool alm_http_piece_may(alm_http *h)
{
    static const question none = {.work = NULL};
    const bool asked = h->renewed;
    h->renewed = false;
    const bool may = asked || look(h, &none);
    alm_http_begun(h); /* where there was no memory for a session it is answered */
    return may;
}

void alm_http_work(alm_http *h, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void *arg)
{
    const question piece = {.work = work, .done = done, .arg = arg};
    if (look(h, &piece))
        alm_conn_work(h->conn, work, done, NULL, arg);
}

bool alm_http_is_cut(alm_http *h)
{
    alm_status why = ALM_OK;
    if (h->who == NULL || h->session == NULL)
        return false;
    if (is_over(h))
        why = ALM_E_LOGIN_OVER;
    else if (h->state == ALM_HTTP_ANSWER) {
        const alm_renewed how = alm_renewal_beside(&h->renewal, alm_conn_db(h->conn), h->who);
        why = how == ALM_RENEWED        ? ALM_OK
              : how == ALM_RENEWAL_AWAY ? ALM_E_PROVIDER
                                        : ALM_E_LOGIN_OVER;
    }
    if (why != ALM_OK)
        alm_session_halt(h->session, why);
    return why != ALM_OK;
}
