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

static void pg_external_free(void *arg)
{
    external *self = arg;
    alm_conn_pace_over(self->c->conn);
    alm_principal_release(self->wait.who);
    alm_secret_free(self->wait.token);
    alm_secret_free(self->secret);
    free(self);
}

static void pg_external_wake(alm_oidc_wait *wait)
{
    alm_conn_work_over(((external *)wait)->c->conn);
}

static alm_oidc *oidc_of(const pg_conn *conn)
{
    return alm_login_oidc(conn->pg->db);
}

static external *pg_external_new(pg_conn *conn, alm_str secret)
{
    external *x = calloc(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->wait.done = pg_external_wake;
    x->c = conn;
    x->secret = strndup(secret.ptr, secret.len);
    if (x->secret != NULL)
        return x;
    pg_external_free(x);
    return NULL;
}

/* ---------------------------------------------------------------------------- logins */

static bool names_nobody(const pg_conn *conn)
{
    return conn->user[0] == 0 || strcmp(conn->user, "_sso") == 0;
}

alm_status pg_external_find(pg_conn *conn)
{
    const struct alm_conf *conf = alm_db_conf(conn->pg->db);
    bool elsewhere = names_nobody(conn);
    conn->external = PG_LOCAL;
    if (oidc_of(conn) == NULL)
        return ALM_OK;
    if (elsewhere && conf->acl_oidc_pg_token_as_password_enabled)
        conn->external = PG_BY_TOKEN;
    else if (elsewhere && conf->acl_oidc_pg_oauthbearer_enabled)
        conn->external = PG_BY_OAUTH;
    if (elsewhere)
        return ALM_OK;
    if (!alm_conn_has_tls(conn->conn) && !conf->pg_auth_cleartext)
        return ALM_OK; /* SCRAM, which nobody of those passes */
    ALM_TRY(alm_login_is_elsewhere(&conn->cx, conn->pg->db, alm_str_of(conn->user), &elsewhere));
    if (elsewhere && conf->acl_oidc_pg_oauthbearer_enabled)
        conn->external = PG_BY_OAUTH;
    if (conn->external == PG_BY_OAUTH)
        return ALM_OK;
    ALM_TRY(alm_login_is_external(&conn->cx, conn->pg->db, alm_str_of(conn->user), &elsewhere));
    if (elsewhere)
        conn->external = PG_BY_PASSWORD;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- OAUTHBEARER */

/* Where a client finds the provider. */
static void configuration_of(pg_conn *conn, char *out, size_t size)
{
    static const char well_known[] = "/.well-known/openid-configuration";
    const char *set = alm_db_conf(conn->pg->db)->acl_oidc_configuration_url;
    alm_oidc_endpoints at;
    alm_oidc_endpoints_get(oidc_of(conn), &at);
    const size_t len = strlen(at.issuer);
    if (set[0] != 0 || len == 0)
        (void)snprintf(out, size, "%s", set);
    else
        (void)snprintf(out, size, "%.*s%s", (int)(len - (at.issuer[len - 1] == '/')), at.issuer,
                       well_known);
}

/* RFC 7628, 3.2.2: what a client without a token, or with one that is refused, needs to get one. */
static alm_status put_refusal(pg_conn *conn, alm_buf *out)
{
    char configuration[ALM_OIDC_URL_MAX + 40];
    configuration_of(conn, configuration, sizeof configuration);
    ALM_TRY(alm_buf_text(&conn->cx, out, "{\"status\":\"invalid_token\",\"scope\":"));
    ALM_TRY(
        alm_json_put_string(&conn->cx, out, alm_str_of(alm_db_conf(conn->pg->db)->acl_oidc_scope)));
    if (configuration[0] != 0) {
        ALM_TRY(alm_buf_text(&conn->cx, out, ",\"openid-configuration\":"));
        ALM_TRY(alm_json_put_string(&conn->cx, out, alm_str_of(configuration)));
    }
    return alm_buf_text(&conn->cx, out, "}");
}

/* The client answers, and hears the error then. */
static void refuse_oauth(pg_conn *conn, const char *why)
{
    alm_buf json;
    conn->oauth_why = why;
    alm_buf_init(&json, NULL);
    if (put_refusal(conn, &json) != ALM_OK) {
        pg_fatal(conn, conn->cx.err.code, conn->cx.err.msg);
    } else {
        pg_auth_message(conn, ALM_PG_AUTH_SASL_CONTINUE, (alm_str){json.ptr, json.len});
        conn->phase = PG_OAUTH_REFUSED;
        pg_flush(conn);
    }
    alm_buf_deinit(&json);
}

void pg_oauth_refused(pg_conn *conn)
{
    ALM_ASSERT(conn->oauth_why != NULL);
    pg_fatal(conn, ALM_E_AUTH_SPEC, conn->oauth_why);
}

void pg_oauth_first(pg_conn *conn, const char *body, size_t n)
{
    pg_reader reader = {.at = body, .end = body + n};
    alm_str token = {0};
    const alm_str mechanism = pg_read_text(&reader);
    const int32_t length = pg_read32(&reader);
    const alm_str message = pg_read_bytes(&reader, length > 0 ? (size_t)length : 0);
    if (reader.bad || !alm_str_eq(mechanism, ALM_STR("OAUTHBEARER")))
        pg_fatal(conn, ALM_E_PROTOCOL, "the server takes the SASL mechanism OAUTHBEARER alone");
    else if (alm_oauthbearer_read(&conn->cx, message, &token) != ALM_OK)
        pg_fatal(conn, ALM_E_PROTOCOL, conn->cx.err.msg);
    else if (token.len == 0)
        refuse_oauth(conn, "a bearer token is required");
    else
        pg_external_login(conn, token);
}

/* The user that the client asked to be: by name or subject; one that names nobody is whoever the token is of. */
static bool pg_external_is_asked_for(const pg_conn *conn, const alm_principal *who)
{
    static const char subject[] = "sub:";
    return names_nobody(conn) || strcmp(conn->user, who->name) == 0 ||
           (strncmp(who->identity, subject, sizeof subject - 1) == 0 &&
            strcmp(conn->user, who->identity + sizeof subject - 1) == 0);
}

/* ------------------------------------------------------------------------------- ends */

/* From here on the connection is the user's, as long as the token is. False: no memory. */
static bool pg_external_keep(pg_conn *conn, external *self)
{
    char **text = self->wait.token != NULL ? &self->wait.token : &self->secret, *token = *text;
    *text = NULL;
    alm_renewal_end(&conn->renewal);
    return alm_renewal_begin(&conn->renewal, token, NULL, NULL, &self->wait);
}

static void pg_external_settle(external *self)
{
    pg_conn *conn = self->c;
    char address[64], net[64];
    const bool by_name = conn->external == PG_BY_PASSWORD;
    alm_conn_peer(conn->conn, address, sizeof address);
    alm_login_note_external(conn->pg->db, &self->wait, by_name ? conn->user : NULL, "pg", address);
    alm_conn_net_text(conn->conn, net, sizeof net);
    if (by_name && self->wait.verdict != ALM_OIDC_AWAY)
        alm_login_result(conn->pg->db, alm_str_of(net), alm_str_of(conn->user),
                         self->wait.verdict == ALM_OIDC_KNOWN);
    if (self->wait.verdict == ALM_OIDC_AWAY) {
        pg_fatal(conn, ALM_E_PROVIDER, "identity provider not reachable");
    } else if (conn->external == PG_BY_OAUTH && self->wait.verdict != ALM_OIDC_KNOWN) {
        refuse_oauth(conn, "the token is not valid");
    } else if (conn->external == PG_BY_OAUTH && !pg_external_is_asked_for(conn, self->wait.who)) {
        alm_login_note(conn->pg->db, self->wait.who->name, self->wait.who, "pg", address,
                       "asked to be another user", false);
        refuse_oauth(conn, "the token is of another user than the one that the client names");
    } else if (self->wait.verdict == ALM_OIDC_KNOWN) {
        if (pg_external_keep(conn, self))
            pg_let_in(conn, self->wait.who);
        else
            pg_fatal(conn, ALM_E_MEMORY, "out of memory");
    } else if (by_name) {
        pg_fatal(conn, ALM_E_AUTH, "invalid username/password");
    } else {
        pg_fatal(conn, ALM_E_AUTH_SPEC, "the token is not valid");
    }
}

static void settled(alm_conn *conn, void *arg)
{
    (void)conn;
    pg_external_settle(arg);
    pg_external_free(arg);
}

static void pg_external_ask(external *self)
{
    pg_conn *conn = self->c;
    const alm_str secret = alm_str_of(self->secret);
    alm_conn_wait(conn->conn, settled, pg_external_free, self);
    const bool now =
        conn->external == PG_BY_PASSWORD
            ? alm_oidc_ask_password(oidc_of(conn), alm_str_of(conn->user), secret, &self->wait)
            : alm_oidc_ask(oidc_of(conn), secret, &self->wait);
    if (!now)
        return;
    alm_conn_wait_not(conn->conn);
    settled(conn->conn, self);
}

static void pg_external_its_turn(alm_conn *conn, void *arg)
{
    (void)conn;
    pg_external_ask(arg);
}

/* In turn with the other questions of its address. */
static void pg_external_slept(alm_conn *conn, void *arg)
{
    external *self = arg;
    const pg_conn *wire = self->c;
    const alm_str secret = alm_str_of(self->secret);
    const bool is_new =
        wire->external == PG_BY_PASSWORD
            ? alm_oidc_is_new_password(oidc_of(wire), alm_str_of(wire->user), secret)
            : alm_oidc_is_new(oidc_of(wire), secret);
    if (!is_new ||
        alm_conn_pace(conn, alm_db_conf(wire->pg->db)->acl_oidc_address_calls_max,
                      ALM_OIDC_ADDRESS_PENDING_MAX, pg_external_its_turn, pg_external_free, self))
        pg_external_ask(self);
}

void pg_external_login(pg_conn *conn, alm_str secret)
{
    char net[64];
    alm_login_wait wait = {0};
    external *x = pg_external_new(conn, secret);
    if (x == NULL) {
        pg_fatal(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    x->wait.wants_token = conn->external == PG_BY_PASSWORD;
    alm_conn_net_text(conn->conn, net, sizeof net);
    if (conn->external == PG_BY_PASSWORD)
        alm_login_delays(conn->pg->db, alm_str_of(net), alm_str_of(conn->user), &wait);
    if (wait.ms == 0)
        pg_external_slept(conn->conn, x);
    else
        alm_conn_sleep(conn->conn, wait.ms, pg_external_slept, pg_external_free, x);
}

/* ------------------------------------------------------------------------ statements */

typedef struct question {
    alm_oidc_wait wait; /* first: `done` has no other */
    pg_conn *c;
    void (*work)(void *arg); /* that waits; NULL: a message does */
    void (*done)(alm_conn *conn, void *arg);
} question;

static void pg_external_question_free(void *arg)
{
    question *asked = arg;
    alm_principal_release(asked->wait.who);
    alm_secret_free(asked->wait.token);
    free(asked);
}

static void wake_again(alm_oidc_wait *wait)
{
    alm_conn_work_over(((question *)wait)->c->conn);
}

/* Nothing of the connection runs: from here on it is for who he is now. */
static void pg_external_become_newer(pg_conn *conn)
{
    ALM_ASSERT(!alm_conn_is_working(conn->conn));
    if (conn->renewal.newer == NULL)
        return;
    alm_principal_release(conn->who);
    conn->who = conn->renewal.newer;
    conn->renewal.newer = NULL;
    conn->seen = (alm_seen){0};
    alm_session_become(conn->session, conn->who);
}

/* The message that waits is looked at, however short the answer counts. */
static void pg_external_go_on(question *asked, alm_renewed how)
{
    pg_conn *conn = asked->c;
    if (how == ALM_RENEWAL_OVER) {
        pg_fatal(conn, ALM_E_AUTH_SPEC, "the token of this connection is not valid any more");
        return;
    }
    conn->away = how == ALM_RENEWAL_AWAY;
    conn->renewed = true;
}

/* The piece goes on, and hears from the session that the login is over; the tick ends the connection then. */
static void start_piece(const question *asked, alm_renewed how)
{
    pg_conn *conn = asked->c;
    if (how == ALM_RENEWAL_AWAY)
        pg_run_cancel(conn);
    alm_conn_work(conn->conn, asked->work, asked->done, NULL, conn);
}

static void went_on(alm_conn *conn, void *arg)
{
    question *asked = arg;
    pg_conn *wire = asked->c;
    (void)conn;
    const alm_renewed how = alm_renewal_take(&wire->renewal, wire->pg->db, wire->who, &asked->wait);
    pg_external_become_newer(wire);
    if (asked->work != NULL)
        start_piece(asked, how);
    else
        pg_external_go_on(asked, how);
    pg_external_question_free(asked);
}

/* False: no memory. */
static bool pg_external_ask_again(pg_conn *conn, const question *like)
{
    question *asked = calloc(1, sizeof *asked);
    if (asked == NULL)
        return false;
    *asked = *like;
    asked->wait.done = wake_again;
    asked->c = conn;
    alm_conn_wait(conn->conn, went_on, pg_external_question_free, asked);
    if (!alm_renewal_ask(&conn->renewal, conn->pg->db, &asked->wait))
        return true;
    alm_conn_wait_not(conn->conn);
    went_on(conn->conn, asked);
    return true;
}

/* A statement is asked about when it begins; what comes for one that has begun, and the end of a transaction, where it is due. */
static bool needs_asking(const pg_conn *conn, char type)
{
    const bool begins = memchr("QPBEF", type, 5) != NULL && !conn->copying && !conn->skip;
    if (begins)
        return alm_renewal_is_stale(&conn->renewal, conn->pg->db);
    const bool goes_on = conn->copying
                             ? type == ALM_PG_CLIENT_COPY_DATA || type == ALM_PG_CLIENT_COPY_DONE
                             : type == ALM_PG_CLIENT_SYNC && !conn->skip;
    return goes_on && alm_renewal_is_due(&conn->renewal, conn->pg->db);
}

pg_admission pg_external_admits(pg_conn *conn, char type)
{
    static const question none = {.work = NULL};
    if (!alm_renewal_is_one(&conn->renewal))
        return PG_ADMITTED;
    if (!conn->renewed) {
        if (!needs_asking(conn, type))
            return PG_ADMITTED;
        if (!pg_external_ask_again(conn, &none))
            return PG_NOT_NOW;
        if (!conn->renewed)
            return PG_WAITS; /* or it is over */
    }
    conn->renewed = false;
    return conn->away ? PG_NOT_NOW : PG_ADMITTED;
}

void pg_external_work(pg_conn *wire, void (*work)(void *arg),
                      void (*done)(alm_conn *conn, void *arg))
{
    const question piece = {.work = work, .done = done};
    if (!alm_renewal_is_one(&wire->renewal)) {
        alm_conn_work(wire->conn, work, done, NULL, wire);
        return;
    }
    pg_external_become_newer(wire);
    if (alm_renewal_is_due(&wire->renewal, wire->pg->db)) {
        if (pg_external_ask_again(wire, &piece))
            return;
        pg_run_cancel(wire);
    }
    alm_conn_work(wire->conn, work, done, NULL, wire);
}

bool pg_external_stands(pg_conn *conn)
{
    return !alm_renewal_is_one(&conn->renewal) ||
           alm_renewal_beside(&conn->renewal, conn->pg->db, conn->who) == ALM_RENEWED;
}
