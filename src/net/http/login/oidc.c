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

static void login_oidc_external_free(void *arg)
{
    external *self = arg;
    alm_conn_pace_over(self->conn);
    alm_principal_release(self->wait.who);
    alm_secret_free(self->wait.token);
    alm_secret_free(self->asked);
    alm_secret_free(self->token);
    alm_secret_free(self->password);
    free(self->name);
    free(self);
}

/* ------------------------------------------------------------------------ refusals */

static const char *reason_of(alm_http *http, const alm_principal *who)
{
    alm_acl *acl = NULL;
    if (who->n_groups == 0)
        return "the identity provider names no groups of this user";
    if (alm_db_acl(&http->cx, alm_conn_db(http->conn), &acl) != ALM_OK) {
        alm_error_clear(&http->cx);
        return "";
    }
    const bool mapped = alm_principal_is_mapped(who, acl);
    alm_acl_release(acl);
    return mapped ? "no group of this user has the permission HTTP"
                  : "none of this user's groups is the external alias of a group here";
}

static alm_status put_denial(alm_http *http, alm_buf *out, const char *message, const char *reason)
{
    ALM_TRY(alm_buf_text(&http->cx, out, "{\"error\":"));
    ALM_TRY(alm_json_put_string(&http->cx, out, alm_str_of(message)));
    ALM_TRY(alm_buf_text(&http->cx, out, ",\"reason\":"));
    ALM_TRY(alm_json_put_string(&http->cx, out, alm_str_of(reason)));
    return alm_buf_text(&http->cx, out, "}");
}

void alm_http_deny_external(alm_http *http, const alm_principal *who, const char *message)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    if (put_denial(http, &out, message, reason_of(http, who)) == ALM_OK)
        alm_http_reply(http, 403, "application/json; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void away(alm_http *http)
{
    if (alm_http_goes_on_as_nobody(http))
        return;
    alm_http_add_headers(http, "Retry-After: 1\r\n");
    alm_http_reply_error(http, 503, (alm_str){0}, "identity provider not reachable", -1);
}

/* ------------------------------------------------------------------------- answers */

static void login_oidc_settle(external *self)
{
    alm_http *http = self->h;
    char address[64], net[64];
    alm_conn_peer(http->conn, address, sizeof address);
    alm_conn_net_text(http->conn, net, sizeof net);
    alm_login_note_external(alm_conn_db(http->conn), &self->wait, self->name, "http", address);
    if (self->name != NULL && self->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(alm_conn_db(http->conn), alm_str_of(net), alm_str_of(self->name),
                         self->wait.verdict == ALM_OIDC_KNOWN);
    if (self->wait.verdict == ALM_OIDC_AWAY) {
        away(http);
    } else if (self->wait.verdict == ALM_OIDC_REFUSED) {
        if (self->by_cookie)
            (void)alm_session_store_end(http);
        alm_http_unauthorized(http, true);
    } else {
        const char *token = self->name != NULL ? self->wait.token : self->token;
        const bool keeps =
            alm_renewal_begin(&http->renewal, self->asked, self->name, self->password, &self->wait);
        self->asked = self->name = self->password = NULL;
        if (!keeps) {
            alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
            return;
        }
        alm_http_let_principal_in(http, self->wait.who,
                                  token != NULL ? alm_str_of(token) : (alm_str){0},
                                  self->by_cookie);
    }
}

static void login_oidc_answered(alm_conn *conn, void *arg)
{
    external *self = arg;
    alm_http *http = self->h;
    (void)conn;
    login_oidc_settle(self);
    login_oidc_external_free(self);
    alm_http_begun(http);
    alm_http_finished(http);
}

/* On the thread of the answer. */
static void login_oidc_wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((external *)wait)->conn);
}

static external *login_oidc_external_new(alm_http *http)
{
    external *x = calloc(1, sizeof *x);
    if (x == NULL) {
        alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
        return NULL;
    }
    x->wait.done = login_oidc_wake;
    x->h = http;
    x->conn = http->conn;
    return x;
}

/* True: the answer is there, in self->wait. */
static bool login_oidc_ask(external *self)
{
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(self->conn));
    alm_conn_wait(self->conn, login_oidc_answered, login_oidc_external_free, self);
    const bool now = self->name != NULL
                         ? alm_oidc_ask_password(oidc, alm_str_of(self->name),
                                                 alm_str_of(self->password), &self->wait)
                         : alm_oidc_ask(oidc, alm_str_of(self->asked), &self->wait);
    if (now)
        alm_conn_wait_not(self->conn);
    return now;
}

static void login_oidc_its_turn(alm_conn *conn, void *arg)
{
    external *self = arg;
    if (login_oidc_ask(self))
        login_oidc_answered(conn, self);
}

void alm_http_login_external(alm_http *http, alm_str token, bool by_cookie)
{
    external *x = login_oidc_external_new(http);
    if (x == NULL)
        return;
    x->by_cookie = by_cookie;
    x->wait.began_ns = by_cookie ? alm_session_store_born(http) : 0;
    x->asked = strndup(token.ptr, token.len);
    const bool begins = !by_cookie && alm_http_param_is(&http->req, "session", "true");
    if (begins)
        x->token = strndup(token.ptr, token.len);
    if (x->asked == NULL || (begins && x->token == NULL)) {
        alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
        login_oidc_external_free(x);
        return;
    }
    if (!by_cookie && alm_oidc_is_new(alm_login_oidc(alm_conn_db(http->conn)), token) &&
        !alm_conn_pace(http->conn, http->cx.conf->acl_oidc_address_calls_max,
                       ALM_OIDC_ADDRESS_PENDING_MAX, login_oidc_its_turn, login_oidc_external_free,
                       x))
        return;
    if (!login_oidc_ask(x))
        return;
    login_oidc_settle(x);
    login_oidc_external_free(x);
}

/* ------------------------------------------------------------------------ passwords */

static bool waits_for_turn(external *self)
{
    return alm_oidc_is_new_password(alm_login_oidc(alm_conn_db(self->conn)), alm_str_of(self->name),
                                    alm_str_of(self->password)) &&
           !alm_conn_pace(self->conn, self->h->cx.conf->acl_oidc_address_calls_max,
                          ALM_OIDC_ADDRESS_PENDING_MAX, login_oidc_its_turn,
                          login_oidc_external_free, self);
}

static void login_oidc_slept(alm_conn *conn, void *arg)
{
    if (!waits_for_turn(arg))
        login_oidc_its_turn(conn, arg);
}

void alm_http_login_password(alm_http *http, alm_str name, alm_str password, int64_t delay_ms)
{
    external *x = login_oidc_external_new(http);
    if (x == NULL)
        return;
    x->name = strndup(name.ptr, name.len);
    x->password = strndup(password.ptr, password.len);
    x->wait.wants_token = alm_http_param_is(&http->req, "session", "true");
    if (x->name == NULL || x->password == NULL) {
        alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
        login_oidc_external_free(x);
        return;
    }
    if (delay_ms > 0) {
        alm_conn_sleep(http->conn, delay_ms, login_oidc_slept, login_oidc_external_free, x);
        return;
    }
    if (waits_for_turn(x) || !login_oidc_ask(x))
        return;
    login_oidc_settle(x);
    login_oidc_external_free(x);
}
