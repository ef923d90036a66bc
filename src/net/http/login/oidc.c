/*
 * oidc.c - requests of users of the identity provider. The answer about a token is in memory, or the connection waits for it
 * while the loop goes on; no thread waits.
 */
#include <stdlib.h>

#include "auth/token.h"
#include "base/conf.h"
#include "codec/json_text.h"
#include "net/http/login/login.h"
#include "net/http/login/session_store.h"
#include "session/access/login.h"

typedef struct external {
    alm_oidc_wait wait; /* first: `done` has no other */
    alm_http *h;
    alm_conn *conn;
    char *asked; /* the token */
    char *token; /* a session may begin with it; NULL: none does */
    bool by_cookie;
    char *name, *password; /* NULL: it is a token */
} external;

static void external_free(void *arg)
{
    external *x = arg;
    alm_conn_pace_over(x->conn);
    alm_principal_release(x->wait.who);
    alm_secret_free(x->wait.token);
    alm_secret_free(x->asked);
    alm_secret_free(x->token);
    alm_secret_free(x->password);
    free(x->name);
    free(x);
}

/* ------------------------------------------------------------------------ refusals */

static const char *reason_of(alm_http *h, const alm_principal *who)
{
    alm_acl *acl = NULL;
    if (who->n_groups == 0)
        return "the identity provider names no groups of this user";
    if (alm_db_acl(&h->cx, alm_conn_db(h->conn), &acl) != ALM_OK) {
        alm_error_clear(&h->cx);
        return "";
    }
    const bool mapped = alm_principal_is_mapped(who, acl);
    alm_acl_release(acl);
    return mapped ? "no group of this user has the permission HTTP"
                  : "none of this user's groups is the external alias of a group here";
}

static alm_status put_denial(alm_http *h, alm_buf *out, const char *message, const char *reason)
{
    ALM_TRY(alm_buf_text(&h->cx, out, "{\"error\":"));
    ALM_TRY(alm_json_put_string(&h->cx, out, alm_str_of(message)));
    ALM_TRY(alm_buf_text(&h->cx, out, ",\"reason\":"));
    ALM_TRY(alm_json_put_string(&h->cx, out, alm_str_of(reason)));
    return alm_buf_text(&h->cx, out, "}");
}

void alm_http_deny_external(alm_http *h, const alm_principal *who, const char *message)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    if (put_denial(h, &out, message, reason_of(h, who)) == ALM_OK)
        alm_http_reply(h, 403, "application/json; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(h, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void away(alm_http *h)
{
    if (alm_http_goes_on_as_nobody(h))
        return;
    alm_http_add_headers(h, "Retry-After: 1\r\n");
    alm_http_reply_error(h, 503, (alm_str){0}, "identity provider not reachable", -1);
}

/* ------------------------------------------------------------------------- answers */

static void settle(external *x)
{
    alm_http *h = x->h;
    char address[64], net[64];
    alm_conn_peer(h->conn, address, sizeof address);
    alm_conn_net_text(h->conn, net, sizeof net);
    alm_login_note_external(alm_conn_db(h->conn), &x->wait, x->name, "http", address);
    if (x->name != NULL && x->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(alm_conn_db(h->conn), alm_str_of(net), alm_str_of(x->name),
                         x->wait.verdict == ALM_OIDC_KNOWN);
    if (x->wait.verdict == ALM_OIDC_AWAY) {
        away(h);
    } else if (x->wait.verdict == ALM_OIDC_REFUSED) {
        if (x->by_cookie)
            (void)alm_session_store_end(h);
        alm_http_unauthorized(h, true);
    } else {
        const char *token = x->name != NULL ? x->wait.token : x->token;
        const bool keeps = alm_renewal_begin(&h->renewal, x->asked, x->name, x->password, &x->wait);
        x->asked = x->name = x->password = NULL;
        if (!keeps) {
            alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
            return;
        }
        alm_http_let_principal_in(h, x->wait.who, token != NULL ? alm_str_of(token) : (alm_str){0},
                                  x->by_cookie);
    }
}

static void answered(alm_conn *conn, void *arg)
{
    external *x = arg;
    alm_http *h = x->h;
    (void)conn;
    settle(x);
    external_free(x);
    alm_http_begun(h);
    alm_http_finished(h);
}

/* On the thread of the answer. */
static void wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((external *)wait)->conn);
}

static external *external_new(alm_http *h)
{
    external *x = calloc(1, sizeof *x);
    if (x == NULL) {
        alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
        return NULL;
    }
    x->wait.done = wake;
    x->h = h;
    x->conn = h->conn;
    return x;
}

/* True: the answer is there, in x->wait. */
static bool ask(external *x)
{
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(x->conn));
    alm_conn_wait(x->conn, answered, external_free, x);
    const bool now = x->name != NULL ? alm_oidc_ask_password(oidc, alm_str_of(x->name),
                                                             alm_str_of(x->password), &x->wait)
                                     : alm_oidc_ask(oidc, alm_str_of(x->asked), &x->wait);
    if (now)
        alm_conn_wait_not(x->conn);
    return now;
}

static void its_turn(alm_conn *conn, void *arg)
{
    external *x = arg;
    if (ask(x))
        answered(conn, x);
}

void alm_http_login_external(alm_http *h, alm_str token, bool by_cookie)
{
    external *x = external_new(h);
    if (x == NULL)
        return;
    x->by_cookie = by_cookie;
    x->wait.began_ns = by_cookie ? alm_session_store_born(h) : 0;
    x->asked = strndup(token.ptr, token.len);
    const bool begins = !by_cookie && alm_http_param_is(&h->req, "session", "true");
    if (begins)
        x->token = strndup(token.ptr, token.len);
    if (x->asked == NULL || (begins && x->token == NULL)) {
        alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
        external_free(x);
        return;
    }
    if (!by_cookie && alm_oidc_is_new(alm_login_oidc(alm_conn_db(h->conn)), token) &&
        !alm_conn_pace(h->conn, h->cx.conf->acl_oidc_address_calls_max,
                       ALM_OIDC_ADDRESS_PENDING_MAX, its_turn, external_free, x))
        return;
    if (!ask(x))
        return;
    settle(x);
    external_free(x);
}

/* ------------------------------------------------------------------------ passwords */

static bool waits_for_turn(external *x)
{
    return alm_oidc_is_new_password(alm_login_oidc(alm_conn_db(x->conn)), alm_str_of(x->name),
                                    alm_str_of(x->password)) &&
           !alm_conn_pace(x->conn, x->h->cx.conf->acl_oidc_address_calls_max,
                          ALM_OIDC_ADDRESS_PENDING_MAX, its_turn, external_free, x);
}

static void slept(alm_conn *conn, void *arg)
{
    if (!waits_for_turn(arg))
        its_turn(conn, arg);
}

void alm_http_login_password(alm_http *h, alm_str name, alm_str password, int64_t delay_ms)
{
    external *x = external_new(h);
    if (x == NULL)
        return;
    x->name = strndup(name.ptr, name.len);
    x->password = strndup(password.ptr, password.len);
    x->wait.wants_token = alm_http_param_is(&h->req, "session", "true");
    if (x->name == NULL || x->password == NULL) {
        alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
        external_free(x);
        return;
    }
    if (delay_ms > 0) {
        alm_conn_sleep(h->conn, delay_ms, slept, external_free, x);
        return;
    }
    if (waits_for_turn(x) || !ask(x))
        return;
    settle(x);
    external_free(x);
}
