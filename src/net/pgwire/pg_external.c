/*
 * pg_external.c - users of the identity provider: a token as password (user _sso, or none) or by OAUTHBEARER (RFC 7628), name and
 * password that the provider checks. All come in clear text, so over TLS, or where pg.auth.cleartext allows it. The connection lives by the token: once
 * the answer about it is stale, the next statement waits for another one, and a refusal ends the connection.
 */
#include <stdio.h>
#include <stdlib.h>

#include "auth/oauthbearer.h"
#include "auth/token.h"
#include "base/conf.h"
#include "codec/json_text.h"
#include "net/pgwire/pg_state.h"
#include "session/access/login.h"

typedef struct external {
    alm_oidc_wait wait; /* first: `done` has no other */
    pg_conn *c;
    char *secret; /* token or password */
} external;

static void external_free(void *arg)
{
    external *x = arg;
    alm_conn_pace_over(x->c->conn);
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

static bool names_nobody(const pg_conn *c)
{
    return c->user[0] == 0 || strcmp(c->user, "_sso") == 0;
}

alm_status pg_external_find(pg_conn *c)
{
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    bool elsewhere = names_nobody(c);
    c->external = PG_LOCAL;
    if (oidc_of(c) == NULL)
        return ALM_OK;
    if (elsewhere && conf->acl_oidc_pg_token_as_password_enabled)
        c->external = PG_BY_TOKEN;
    else if (elsewhere && conf->acl_oidc_pg_oauthbearer_enabled)
        c->external = PG_BY_OAUTH;
    if (elsewhere)
        return ALM_OK;
    if (!alm_conn_has_tls(c->conn) && !conf->pg_auth_cleartext)
        return ALM_OK; /* SCRAM, which nobody of those passes */
    ALM_TRY(alm_login_is_elsewhere(&c->cx, c->pg->db, alm_str_of(c->user), &elsewhere));
    if (elsewhere && conf->acl_oidc_pg_oauthbearer_enabled)
        c->external = PG_BY_OAUTH;
    if (c->external == PG_BY_OAUTH)
        return ALM_OK;
    ALM_TRY(alm_login_is_external(&c->cx, c->pg->db, alm_str_of(c->user), &elsewhere));
    if (elsewhere)
        c->external = PG_BY_PASSWORD;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- OAUTHBEARER */

/* Where a client finds the provider. */
static void configuration_of(pg_conn *c, char *out, size_t size)
{
    static const char well_known[] = "/.well-known/openid-configuration";
    const char *set = alm_db_conf(c->pg->db)->acl_oidc_configuration_url;
    alm_oidc_endpoints at;
    alm_oidc_endpoints_get(oidc_of(c), &at);
    const size_t n = strlen(at.issuer);
    if (set[0] != 0 || n == 0)
        (void)snprintf(out, size, "%s", set);
    else
        (void)snprintf(out, size, "%.*s%s", (int)(n - (at.issuer[n - 1] == '/')), at.issuer,
                       well_known);
}

/* RFC 7628, 3.2.2: what a client without a token, or with one that is refused, needs to get one. */
static alm_status put_refusal(pg_conn *c, alm_buf *out)
{
    char configuration[ALM_OIDC_URL_MAX + 40];
    configuration_of(c, configuration, sizeof configuration);
    ALM_TRY(alm_buf_text(&c->cx, out, "{\"status\":\"invalid_token\",\"scope\":"));
    ALM_TRY(alm_json_put_string(&c->cx, out, alm_str_of(alm_db_conf(c->pg->db)->acl_oidc_scope)));
    if (configuration[0] != 0) {
        ALM_TRY(alm_buf_text(&c->cx, out, ",\"openid-configuration\":"));
        ALM_TRY(alm_json_put_string(&c->cx, out, alm_str_of(configuration)));
    }
    return alm_buf_text(&c->cx, out, "}");
}

/* The client answers, and hears the error then. */
static void refuse_oauth(pg_conn *c, const char *why)
{
    alm_buf json;
    c->oauth_why = why;
    alm_buf_init(&json, NULL);
    if (put_refusal(c, &json) != ALM_OK) {
        pg_fatal(c, c->cx.err.code, c->cx.err.msg);
    } else {
        pg_auth_message(c, ALM_PG_AUTH_SASL_CONTINUE, (alm_str){json.ptr, json.len});
        c->phase = PG_OAUTH_REFUSED;
        pg_flush(c);
    }
    alm_buf_deinit(&json);
}

void pg_oauth_refused(pg_conn *c)
{
    ALM_ASSERT(c->oauth_why != NULL);
    pg_fatal(c, ALM_E_AUTH_SPEC, c->oauth_why);
}

void pg_oauth_first(pg_conn *c, const char *body, size_t n)
{
    pg_reader r = {.at = body, .end = body + n};
    alm_str token = {0};
    const alm_str mechanism = pg_read_text(&r);
    const int32_t length = pg_read32(&r);
    const alm_str message = pg_read_bytes(&r, length > 0 ? (size_t)length : 0);
    if (r.bad || !alm_str_eq(mechanism, ALM_STR("OAUTHBEARER")))
        pg_fatal(c, ALM_E_PROTOCOL, "the server takes the SASL mechanism OAUTHBEARER alone");
    else if (alm_oauthbearer_read(&c->cx, message, &token) != ALM_OK)
        pg_fatal(c, ALM_E_PROTOCOL, c->cx.err.msg);
    else if (token.len == 0)
        refuse_oauth(c, "a bearer token is required");
    else
        pg_external_login(c, token);
}

/* The user that the client asked to be: by name or subject; one that names nobody is whoever the token is of. */
static bool is_asked_for(const pg_conn *c, const alm_principal *who)
{
    static const char subject[] = "sub:";
    return names_nobody(c) || strcmp(c->user, who->name) == 0 ||
           (strncmp(who->identity, subject, sizeof subject - 1) == 0 &&
            strcmp(c->user, who->identity + sizeof subject - 1) == 0);
}

/* ------------------------------------------------------------------------------- ends */

/* From here on the connection is the user's, as long as the token is. False: no memory. */
static bool keep(pg_conn *c, external *x)
{
    char **text = x->wait.token != NULL ? &x->wait.token : &x->secret, *token = *text;
    *text = NULL;
    alm_renewal_end(&c->renewal);
    return alm_renewal_begin(&c->renewal, token, NULL, NULL, &x->wait);
}

static void settle(external *x)
{
    pg_conn *c = x->c;
    char address[64], net[64];
    const bool by_name = c->external == PG_BY_PASSWORD;
    alm_conn_peer(c->conn, address, sizeof address);
    alm_login_note_external(c->pg->db, &x->wait, by_name ? c->user : NULL, "pg", address);
    alm_conn_net_text(c->conn, net, sizeof net);
    if (by_name && x->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(c->pg->db, alm_str_of(net), alm_str_of(c->user),
                         x->wait.verdict == ALM_OIDC_KNOWN);
    if (x->wait.verdict == ALM_OIDC_AWAY) {
        pg_fatal(c, ALM_E_PROVIDER, "identity provider not reachable");
    } else if (c->external == PG_BY_OAUTH && x->wait.verdict != ALM_OIDC_KNOWN) {
        refuse_oauth(c, "the token is not valid");
    } else if (c->external == PG_BY_OAUTH && !is_asked_for(c, x->wait.who)) {
        alm_login_note(c->pg->db, x->wait.who->name, x->wait.who, "pg", address,
                       "asked to be another user", false);
        refuse_oauth(c, "the token is of another user than the one that the client names");
    } else if (x->wait.verdict == ALM_OIDC_KNOWN) {
        if (keep(c, x))
            pg_let_in(c, x->wait.who);
        else
            pg_fatal(c, ALM_E_MEMORY, "out of memory");
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
    const bool now = c->external == PG_BY_PASSWORD
                         ? alm_oidc_ask_password(oidc_of(c), alm_str_of(c->user), secret, &x->wait)
                         : alm_oidc_ask(oidc_of(c), secret, &x->wait);
    if (!now)
        return;
    alm_conn_wait_not(c->conn);
    settled(c->conn, x);
}

static void its_turn(alm_conn *conn, void *arg)
{
    (void)conn;
    ask(arg);
}

/* In turn with the other questions of its address. */
static void slept(alm_conn *conn, void *arg)
{
    external *x = arg;
    const pg_conn *c = x->c;
    const alm_str secret = alm_str_of(x->secret);
    const bool is_new = c->external == PG_BY_PASSWORD
                            ? alm_oidc_is_new_password(oidc_of(c), alm_str_of(c->user), secret)
                            : alm_oidc_is_new(oidc_of(c), secret);
    if (!is_new || alm_conn_pace(conn, alm_db_conf(c->pg->db)->acl_oidc_address_calls_max,
                                 ALM_OIDC_ADDRESS_PENDING_MAX, its_turn, external_free, x))
        ask(x);
}

void pg_external_login(pg_conn *c, alm_str secret)
{
    char net[64];
    alm_login_wait wait = {0};
    external *x = external_new(c, secret);
    if (x == NULL) {
        pg_fatal(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    x->wait.wants_token = c->external == PG_BY_PASSWORD;
    alm_conn_net_text(c->conn, net, sizeof net);
    if (c->external == PG_BY_PASSWORD)
        alm_login_delays(c->pg->db, alm_str_of(net), alm_str_of(c->user), &wait);
    if (wait.ms == 0)
        slept(c->conn, x);
    else
        alm_conn_sleep(c->conn, wait.ms, slept, external_free, x);
}

/* ------------------------------------------------------------------------ statements */

typedef struct question {
    alm_oidc_wait wait; /* first: `done` has no other */
    pg_conn *c;
    void (*work)(void *arg); /* that waits; NULL: a message does */
    void (*done)(alm_conn *conn, void *arg);
} question;

static void question_free(void *arg)
{
    question *q = arg;
    alm_principal_release(q->wait.who);
    alm_secret_free(q->wait.token);
    free(q);
}

static void wake_again(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->c->conn);
}

/* Nothing of the connection runs: from here on it is for who he is now. */
static void become_newer(pg_conn *c)
{
    ALM_ASSERT(!alm_conn_is_working(c->conn));
    if (c->renewal.newer == NULL)
        return;
    alm_principal_release(c->who);
    c->who = c->renewal.newer;
    c->renewal.newer = NULL;
    c->seen = (alm_seen){0};
    alm_session_become(c->session, c->who);
}

/* The message that waits is looked at, however short the answer counts. */
static void go_on(question *q, alm_renewed how)
{
    pg_conn *c = q->c;
    if (how == ALM_RENEWAL_OVER) {
        pg_fatal(c, ALM_E_AUTH_SPEC, "the token of this connection is not valid any more");
        return;
    }
    c->away = how == ALM_RENEWAL_AWAY;
    c->renewed = true;
}

/* The piece goes on, and hears from the session that the login is over; the tick ends the connection then. */
static void start_piece(const question *q, alm_renewed how)
{
    pg_conn *c = q->c;
    if (how == ALM_RENEWAL_AWAY)
        pg_run_cancel(c);
    alm_conn_work(c->conn, q->work, q->done, NULL, c);
}

static void went_on(alm_conn *conn, void *arg)
{
    question *q = arg;
    pg_conn *c = q->c;
    (void)conn;
    const alm_renewed how = alm_renewal_take(&c->renewal, c->pg->db, c->who, &q->wait);
    become_newer(c);
    if (q->work != NULL)
        start_piece(q, how);
    else
        go_on(q, how);
    question_free(q);
}

/* False: no memory. */
static bool ask_again(pg_conn *c, const question *like)
{
    question *q = calloc(1, sizeof *q);
    if (q == NULL)
        return false;
    *q = *like;
    q->wait.done = wake_again;
    q->c = c;
    alm_conn_wait(c->conn, went_on, question_free, q);
    if (!alm_renewal_ask(&c->renewal, c->pg->db, &q->wait))
        return true;
    alm_conn_wait_not(c->conn);
    went_on(c->conn, q);
    return true;
}

/* A statement is asked about when it begins; what comes for one that has begun, and the end of a transaction, where it is due. */
static bool needs_asking(const pg_conn *c, char type)
{
    const bool begins = memchr("QPBEF", type, 5) != NULL && !c->copying && !c->skip;
    if (begins)
        return alm_renewal_is_stale(&c->renewal, c->pg->db);
    const bool goes_on = c->copying
                             ? type == ALM_PG_CLIENT_COPY_DATA || type == ALM_PG_CLIENT_COPY_DONE
                             : type == ALM_PG_CLIENT_SYNC && !c->skip;
    return goes_on && alm_renewal_is_due(&c->renewal, c->pg->db);
}

pg_admission pg_external_admits(pg_conn *c, char type)
{
    static const question none = {.work = NULL};
    if (!alm_renewal_is_one(&c->renewal))
        return PG_ADMITTED;
    if (!c->renewed) {
        if (!needs_asking(c, type))
            return PG_ADMITTED;
        if (!ask_again(c, &none))
            return PG_NOT_NOW;
        if (!c->renewed)
            return PG_WAITS; /* or it is over */
    }
    c->renewed = false;
    return c->away ? PG_NOT_NOW : PG_ADMITTED;
}

void pg_external_work(pg_conn *c, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg))
{
    const question piece = {.work = work, .done = done};
    if (!alm_renewal_is_one(&c->renewal)) {
        alm_conn_work(c->conn, work, done, NULL, c);
        return;
    }
    become_newer(c);
    if (alm_renewal_is_due(&c->renewal, c->pg->db)) {
        if (ask_again(c, &piece))
            return;
        pg_run_cancel(c);
    }
    alm_conn_work(c->conn, work, done, NULL, c);
}

bool pg_external_stands(pg_conn *c)
{
    return !alm_renewal_is_one(&c->renewal) ||
           alm_renewal_beside(&c->renewal, c->pg->db, c->who) == ALM_RENEWED;
}
