/*
 * pg_external.c - users of the identity provider: a token as password (user _sso, or none), name and password that the provider
 * checks. Both come in clear text, so over TLS, or where pg.auth.cleartext allows it. The connection lives by the token: once
 * the answer about it is stale, the next statement waits for another one, and a refusal ends the connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "auth/token.h"
#include "net/pgwire/pg_state.h"
#include "session/login.h"

typedef struct external {
    alm_oidc_wait wait; /* first: `done` has no other */
    pg_conn *c;
    char *secret; /* token or password */
    int64_t delay_ms;
    bool sleeps; /* counted in logins_waiting */
} external;

static void external_free(void *arg)
{
    external *x = arg;
    if (x->sleeps)
        atomic_fetch_sub(&x->c->pg->logins_waiting, 1);
    alm_principal_release(x->wait.who);
    alm_secret_free(x->wait.token);
    alm_secret_free(x->secret);
    free(x);
}

static void wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((external *)wait)->c->conn);
}

static alm_oidc *oidc_of(const pg_conn *c)
{
    return alm_login_oidc(c->pg->db);
}

static external *external_new(pg_conn *c, alm_str secret)
{
    external *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->wait.done = wake;
    x->c = c;
    x->secret = strndup(secret.ptr, secret.len);
    if (x->secret != NULL)
        return x;
    external_free(x);
    return NULL;
}

/* ---------------------------------------------------------------------------- logins */

alm_status pg_external_find(pg_conn *c)
{
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    bool elsewhere = false;
    c->external = PG_LOCAL;
    if (oidc_of(c) == NULL)
        return ALM_OK;
    if (conf->acl_oidc_pg_token_as_password_enabled &&
        (c->user[0] == 0 || strcmp(c->user, "_sso") == 0)) {
        c->external = PG_BY_TOKEN;
        return ALM_OK;
    }
    ALM_TRY(alm_login_is_external(&c->cx, c->pg->db, alm_str_of(c->user), &elsewhere));
    if (elsewhere && (alm_conn_has_tls(c->conn) || conf->pg_auth_cleartext))
        c->external = PG_BY_PASSWORD; /* else SCRAM, which nobody of that name passes */
    return ALM_OK;
}

/* From here on the connection is the user's, as long as the token is. */
static void keep(pg_conn *c, external *x)
{
    char **token = x->wait.token != NULL ? &x->wait.token : &x->secret;
    alm_secret_free(c->token);
    c->token = *token;
    *token = NULL;
    c->token_until_ns = x->wait.until_ns;
    c->token_forgets = x->wait.forgets;
}

static void settle(external *x)
{
    pg_conn *c = x->c;
    char address[64];
    const bool by_name = c->external == PG_BY_PASSWORD;
    alm_conn_peer(c->conn, address, sizeof address);
    alm_login_note_external(c->pg->db, &x->wait, by_name ? c->user : NULL, "pg", address);
    if (by_name && x->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(c->pg->db, alm_str_of(address), alm_str_of(c->user),
                         x->wait.verdict == ALM_OIDC_KNOWN);
    if (x->wait.verdict == ALM_OIDC_AWAY) {
        pg_fatal(c, ALM_E_PROVIDER, "identity provider not reachable");
    } else if (x->wait.verdict == ALM_OIDC_KNOWN) {
        keep(c, x);
        pg_let_in(c, x->wait.who);
    } else if (by_name) {
        pg_fatal(c, ALM_E_AUTH, "invalid username/password");
    } else {
        pg_fatal(c, ALM_E_AUTH_SPEC, "the token is not valid");
    }
}

static void settled(alm_conn *conn, void *arg)
{
    (void)conn;
    settle(arg);
    external_free(arg);
}

static void ask(external *x)
{
    pg_conn *c = x->c;
    const alm_str secret = alm_str_of(x->secret);
    alm_conn_wait(c->conn, settled, external_free, x);
    const bool now = c->external == PG_BY_TOKEN
                         ? alm_oidc_ask(oidc_of(c), secret, &x->wait)
                         : alm_oidc_ask_password(oidc_of(c), alm_str_of(c->user), secret, &x->wait);
    if (!now)
        return;
    alm_conn_wait_not(c->conn);
    settled(c->conn, x);
}

static void sleep_on(void *arg)
{
    const external *x = arg;
    (void)usleep((useconds_t)(x->delay_ms * 1000));
}

static void slept(alm_conn *conn, void *arg)
{
    (void)conn;
    ask(arg);
}

void pg_external_login(pg_conn *c, alm_str secret)
{
    char address[64];
    external *x = external_new(c, secret);
    if (x == NULL) {
        pg_fatal(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    alm_conn_peer(c->conn, address, sizeof address);
    x->wait.wants_token = c->external == PG_BY_PASSWORD;
    if (c->external == PG_BY_PASSWORD)
        x->delay_ms = alm_login_delay_ms(c->pg->db, alm_str_of(address), alm_str_of(c->user));
    if (x->delay_ms == 0) {
        ask(x);
        return;
    }
    x->sleeps = true;
    if (atomic_fetch_add(&c->pg->logins_waiting, 1) >= PG_LOGINS_WAITING_MAX) {
        external_free(x);
        pg_fatal(c, ALM_E_BUSY, "too many logins at once");
        return;
    }
    alm_conn_work(c->conn, sleep_on, slept, external_free, x);
}

/* ------------------------------------------------------------------------ statements */

static void go_on(external *x)
{
    pg_conn *c = x->c;
    if (x->wait.verdict == ALM_OIDC_REFUSED) {
        pg_fatal(c, ALM_E_AUTH_SPEC, "the token of this connection is not valid any more");
        return;
    }
    c->token_away = x->wait.verdict == ALM_OIDC_AWAY;
    c->token_checked = true; /* for the message that waits, however short the answer counts */
    if (c->token_away)
        return;
    c->token_until_ns = x->wait.until_ns;
    c->token_forgets = x->wait.forgets;
    if (c->who == x->wait.who)
        return;
    alm_principal_release(c->who);
    c->who = alm_principal_retain(x->wait.who);
    alm_session_become(c->session, c->who);
}

static void went_on(alm_conn *conn, void *arg)
{
    (void)conn;
    go_on(arg);
    external_free(arg);
}

pg_admission pg_external_admits(pg_conn *c, char type)
{
    const bool begins = memchr("QPBEF", type, 5) != NULL && !c->copying && !c->skip;
    if (c->token == NULL || !begins)
        return PG_ADMITTED;
    if (c->token_checked) {
        c->token_checked = false;
        return c->token_away ? PG_NOT_NOW : PG_ADMITTED;
    }
    if (alm_monotonic_ns() < c->token_until_ns && c->token_forgets == alm_oidc_forgets(oidc_of(c)))
        return PG_ADMITTED;
    external *x = external_new(c, alm_str_of(c->token));
    if (x == NULL)
        return PG_NOT_NOW;
    alm_conn_wait(c->conn, went_on, external_free, x);
    if (!alm_oidc_ask(oidc_of(c), alm_str_of(c->token), &x->wait))
        return PG_WAITS;
    alm_conn_wait_not(c->conn);
    const bool refused = x->wait.verdict == ALM_OIDC_REFUSED;
    went_on(c->conn, x);
    return refused ? PG_WAITS : pg_external_admits(c, type);
}
