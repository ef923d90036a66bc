/*
 * pg_login.c - start-up and login: TLS, GSS refusal, cancel requests, SCRAM-SHA-256, over TLS also bound to
 * the certificate (SCRAM-SHA-256-PLUS), clear text where pg.auth.cleartext allows it.
 *
 * An unknown user takes the same steps in the same time as a wrong password, and gets the same answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "auth/rights.h"
#include "base/log.h"
#include "base/lookup.h"
#include "base/utf8.h"
#include "net/pgwire/pg_state.h"
#include "session/access/login.h"
#include "session/core/requests.h"

enum {
    CODE_CANCEL = 80877102,
    CODE_SSL = 80877103,
    CODE_GSS = 80877104,
    VERSION_MAJOR = 3,
    VERSION_MINOR = 2, /* newest; there has been no 3.1 */
    STARTUP_MAX = 10000,
    PASSWORD_MAX = 65536
};

#define PLAIN ALM_STR("SCRAM-SHA-256")
#define PLUS  ALM_STR("SCRAM-SHA-256-PLUS")

void pg_fatal(pg_conn *c, alm_status code, const char *text)
{
    alm_error err = {.code = code, .sql_pos = -1};
    if (code == ALM_E_PROTOCOL)
        alm_conn_fault(c->conn, PG_BROKEN, text);
    (void)snprintf(err.msg, sizeof(err.msg), "%s", text);
    pg_send_error(c, &err, (alm_str){0}, true);
    pg_flush(c);
    alm_conn_finish(c->conn);
}

void pg_auth_message(pg_conn *c, alm_pg_auth code, alm_str data)
{
    size_t at = 0;
    pg_begin(c, ALM_PG_SERVER_AUTHENTICATION, &at);
    pg_put32(c, (int32_t)code);
    pg_put(c, data.ptr, data.len);
    pg_end(c, at);
}

static bool account(const pg_conn *c, alm_str user, bool *read_only, alm_scram_verifier *out)
{
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    const bool admin = alm_str_eq(user, alm_str_of(conf->pg_user));
    *read_only = !admin && conf->pg_readonly_user_enabled &&
                 alm_str_eq(user, alm_str_of(conf->pg_readonly_user));
    if (!admin && !*read_only)
        return false;
    (void)pthread_mutex_lock(&c->pg->lock);
    *out = admin ? c->pg->accounts.admin : c->pg->accounts.reader;
    (void)pthread_mutex_unlock(&c->pg->lock);
    return true;
}

bool pg_account_stands(const pg_conn *c, alm_ctx *cx)
{
    alm_scram_verifier now;
    bool read_only = false;
    if (c->who != NULL)
        return true;
    if (account(c, alm_str_of(c->user), &read_only, &now) && read_only == c->read_only &&
        CRYPTO_memcmp(now.stored_key, c->scram.verifier.stored_key, sizeof(now.stored_key)) == 0)
        return true;
    return alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                    "the login of \"%s\" has ended: the password has changed", c->user) == ALM_OK;
}

static void ask_clear_text(pg_conn *c)
{
    pg_auth_message(c, ALM_PG_AUTH_CLEAR_TEXT, (alm_str){"", 0});
    c->phase = PG_PASSWORD;
    pg_flush(c);
}

static void ask_bearer(pg_conn *c)
{
    static const char mechanisms[] = "OAUTHBEARER\0"; /* and the end of the list */
    pg_auth_message(c, ALM_PG_AUTH_SASL, (alm_str){mechanisms, sizeof mechanisms});
    c->phase = PG_OAUTH_FIRST;
    pg_flush(c);
}

/* True: the identity provider has the say, or nobody. */
static bool ask_external(pg_conn *c)
{
    const alm_status st = pg_external_find(c);
    if (st != ALM_OK) {
        pg_fatal(c, st, c->cx.err.msg);
        return true;
    }
    if (c->external == PG_LOCAL)
        return false;
    if (!alm_conn_has_tls(c->conn) && !alm_db_conf(c->pg->db)->pg_auth_cleartext)
        pg_fatal(c, ALM_E_AUTH_SPEC, "a token needs TLS, or pg.auth.cleartext=true");
    else if (c->external == PG_BY_OAUTH)
        ask_bearer(c);
    else
        ask_clear_text(c);
    return true;
}

static void ask_password(pg_conn *c)
{
    const bool acl = alm_db_conf(c->pg->db)->acl_enabled;
    if (acl && ask_external(c))
        return;
    c->scram.known = !acl && account(c, alm_str_of(c->user), &c->read_only, &c->scram.verifier);
    if (acl) {
        const alm_status st = alm_login_verifier(&c->cx, c->pg->db, alm_str_of(c->user),
                                                 &c->scram.verifier, &c->scram.known);
        if (st != ALM_OK) {
            pg_fatal(c, st, c->cx.err.msg);
            return;
        }
    } else if (!c->scram.known &&
               alm_scram_verifier_fake(&c->cx, c->pg->secret, alm_str_of(c->user),
                                       ALM_SCRAM_ITERATIONS, &c->scram.verifier) != ALM_OK) {
        pg_fatal(c, c->cx.err.code, c->cx.err.msg);
        return;
    }
    if (alm_db_conf(c->pg->db)->pg_auth_cleartext) {
        ask_clear_text(c);
        return;
    }
    static const char both[] = "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"; /* and the end of the list */
    const size_t plus = sizeof("SCRAM-SHA-256-PLUS");
    c->scram.binding = alm_conn_tls_binding(c->conn);
    pg_auth_message(c, ALM_PG_AUTH_SASL,
                    c->scram.binding.len > 0 ? (alm_str){both, sizeof(both)}
                                             : (alm_str){both + plus, sizeof(both) - plus});
    c->phase = PG_SASL_FIRST;
    pg_flush(c);
}

/* ------------------------------------------------------------------- start-up */

static alm_status keep_setting(pg_conn *c, alm_str name, alm_str value)
{
    pg_start_setting *s = NULL;
    ALM_TRY(ALM_NEW(&c->cx, &c->arena, &s));
    ALM_TRY(alm_arena_zstr(&c->cx, &c->arena, name, &s->name));
    ALM_TRY(alm_arena_zstr(&c->cx, &c->arena, value, &s->value));
    s->next = c->start_settings;
    c->start_settings = s;
    return ALM_OK;
}

/* "-c name=value --other-name=value": a backslash takes the next character as it is. */
static alm_status read_options(pg_conn *c, alm_str options)
{
    char *word = NULL;
    ALM_TRY(alm_arena_bytes(&c->cx, &c->arena, options.len + 1, &word));
    for (size_t at = 0; at < options.len;) {
        size_t n = 0;
        while (at < options.len && options.ptr[at] == ' ')
            at++;
        for (; at < options.len && options.ptr[at] != ' '; at++) {
            if (options.ptr[at] == '\\' && at + 1 < options.len)
                at++;
            word[n++] = options.ptr[at];
        }
        alm_str rest = {word, n};
        if (n >= 2 && word[0] == '-' && (word[1] == 'c' || word[1] == '-')) {
            rest.ptr += 2;
            rest.len -= 2;
        }
        const char *eq = memchr(rest.ptr, '=', rest.len);
        if (eq == NULL)
            continue; /* "-c" alone: its setting is the next word */
        const alm_str name = {rest.ptr, (size_t)(eq - rest.ptr)};
        for (size_t i = 0; i < name.len; i++)
            if (name.ptr[i] == '-')
                word[(size_t)(name.ptr - word) + i] = '_';
        ALM_TRY(keep_setting(c, name, (alm_str){eq + 1, rest.len - name.len - 1}));
    }
    return ALM_OK;
}

static alm_status read_parameter(pg_conn *c, alm_str name, alm_str value)
{
    if (alm_str_eq(name, ALM_STR("user"))) {
        c->user_too_long = value.len >= sizeof(c->user);
        (void)snprintf(c->user, sizeof(c->user), "%.*s", (int)value.len, value.ptr);
        return ALM_OK;
    }
    if (alm_str_eq(name, ALM_STR("options")))
        return read_options(c, value);
    if (name.len > 5 && memcmp(name.ptr, "_pq_.", 5) == 0) {
        if (c->n_unknown_options == PG_OPTIONS_MAX)
            return ALM_OK;
        return alm_arena_zstr(&c->cx, &c->arena, name, &c->unknown_options[c->n_unknown_options++]);
    }
    if (alm_str_eq(name, ALM_STR("database")) || alm_str_eq(name, ALM_STR("replication")))
        return ALM_OK;
    return keep_setting(c, name, value);
}

static bool read_parameters(pg_conn *c, pg_reader *r)
{
    while (!r->bad && r->at < r->end && *r->at != 0) {
        const alm_str name = pg_read_text(r);
        const alm_str value = pg_read_text(r);
        if (r->bad || read_parameter(c, name, value) != ALM_OK)
            return false;
    }
    return !r->bad;
}

/* In the same time whatever the bytes are. */
static bool same_key(const pg_conn *c, alm_str key)
{
    uint8_t differ = key.len != c->key_bytes;
    for (size_t i = 0; i < key.len && i < c->key_bytes; i++)
        differ |= (uint8_t)(c->key[i] ^ (uint8_t)key.ptr[i]);
    return differ == 0;
}

/* On the loop thread of the other connection. */
static void cancel_other(alm_conn *target, alm_conn *conn)
{
    const pg_conn *c = alm_conn_state(conn);
    pg_conn *other = alm_conn_arg(target) == c->pg ? alm_conn_state(target) : NULL;
    if (other != NULL && other->session != NULL &&
        same_key(other, (alm_str){(const char *)c->key, c->key_bytes}))
        pg_run_cancel(other);
}

static void cancel_over(alm_conn *conn, void *arg)
{
    (void)arg;
    alm_conn_finish(conn);
}

/* Whoever asks hears the end of its connection when the other one was told: what that is sent afterwards is
 * not meant. */
static void cancel_request(pg_conn *c, const char *body, size_t n)
{
    pg_reader r = {.at = body + 4, .end = body + n};
    const int32_t pid = pg_read32(&r);
    const alm_str key = {r.at, (size_t)(r.end - r.at)};
    if (r.bad || key.len > sizeof(c->key)) {
        alm_conn_finish(c->conn);
        return;
    }
    (void)memcpy(c->key, key.ptr, key.len);
    c->key_bytes = key.len;
    alm_conn_tell(c->conn, (uint32_t)pid, cancel_other, cancel_over, c);
}

/* Minor versions and options that are not known here: the client hears what the connection speaks from here
 * on. The version is said whole, as PostgreSQL does: libpq takes a lone minor for one below 3.0. */
static void negotiate(pg_conn *c)
{
    size_t at = 0;
    pg_begin(c, ALM_PG_SERVER_NEGOTIATE_VERSION, &at);
    pg_put32(c, (int32_t)(VERSION_MAJOR << 16 | c->minor));
    pg_put32(c, (int32_t)c->n_unknown_options);
    for (uint32_t i = 0; i < c->n_unknown_options; i++)
        pg_put_text(c, c->unknown_options[i]);
    pg_end(c, at);
}

/* Whoever sits between could have put bytes behind the request, to be taken for those of the client. */
static void start_tls(pg_conn *c)
{
    if (c->more || alm_conn_has_tls(c->conn)) {
        pg_fatal(c, ALM_E_PROTOCOL, "received unencrypted data after SSL request");
        return;
    }
    pg_put(c, "S", 1);
    pg_flush(c);
    alm_conn_start_tls(c->conn, c->pg->tls, NULL, 0);
}

/* A token says itself who it is of. */
static bool has_user(pg_conn *c)
{
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    const bool by_token = conf->acl_oidc_enabled && (conf->acl_oidc_pg_token_as_password_enabled ||
                                                     conf->acl_oidc_pg_oauthbearer_enabled);
    if (c->user_too_long) /* how it begins may be somebody's name */
        pg_fatal(c, ALM_E_AUTH_SPEC, "the user name is too long: 255 bytes may be");
    else if (c->user[0] == 0 && !by_token)
        pg_fatal(c, ALM_E_AUTH_SPEC, "no PostgreSQL user name specified in start-up packet");
    else
        return true;
    return false;
}

bool pg_startup(pg_conn *c, const char *body, size_t n)
{
    if (n < 4 || n > STARTUP_MAX) {
        alm_conn_abort(c->conn);
        return false;
    }
    const uint32_t code = alm_be_get32(body);
    if (code == CODE_SSL && c->pg->tls != NULL) {
        start_tls(c);
        return true;
    }
    if (code == CODE_SSL || code == CODE_GSS) {
        pg_put(c, "N", 1);
        pg_flush(c);
        return true;
    }
    if (c->direct && !alm_conn_tls_named(c->conn)) {
        pg_fatal(c, ALM_E_PROTOCOL, "TLS from the first byte on needs ALPN \"postgresql\"");
        return false;
    }
    if (code == CODE_CANCEL) {
        cancel_request(c, body, n);
        return false;
    }
    if (code >> 16 != VERSION_MAJOR) {
        pg_fatal(c, ALM_E_UNSUPPORTED,
                 "unsupported frontend protocol: the server speaks 3.0 to 3.2");
        return false;
    }
    c->minor = ALM_MIN(code & 0xffff, (uint32_t)VERSION_MINOR);
    pg_reader r = {.at = body + 4, .end = body + n};
    if (!read_parameters(c, &r)) {
        pg_fatal(c, ALM_E_PROTOCOL, "invalid start-up packet layout");
        return false;
    }
    if (alm_conn_refusal(c->conn) != NULL) {
        pg_fatal(c, ALM_E_BUSY, alm_conn_refusal(c->conn));
        return false;
    }
    if (alm_db_conf(c->pg->db)->pg_tls_required && !alm_conn_has_tls(c->conn)) {
        pg_fatal(c, ALM_E_AUTH_SPEC,
                 "the server takes connections over TLS alone: sslmode=require");
        return false;
    }
    if (alm_db_conf(c->pg->db)->acl_enabled && alm_db_conf(c->pg->db)->acl_require_tls &&
        !alm_conn_has_tls(c->conn) && !alm_conn_is_local(c->conn)) {
        pg_fatal(c, ALM_E_AUTH_SPEC,
                 "acl.require.tls: logins from other hosts need TLS: sslmode=require");
        return false;
    }
    if ((code & 0xffff) != c->minor || c->n_unknown_options > 0)
        negotiate(c);
    if (!has_user(c))
        return false;
    ask_password(c);
    return true;
}

/* ---------------------------------------------------------------------- login */

static void say_refused(pg_conn *c)
{
    char user[2 * sizeof c->user];
    alm_utf8_escape(user, sizeof user, c->user, true);
    alm_log_warn("pg", "login of '%s' failed", user);
    pg_fatal(c, ALM_E_AUTH, "invalid username/password");
}

/* ---- with access control: answers that wait, passwords that are hashed in turns on query threads */

typedef struct pg_attempt {
    pg_conn *c;
    alm_db *db;
    alm_ctx cx;
    char user[ALM_ENTITY_NAME_MAX + 1], address[64],
        net[64];    /* net: what failures are counted by */
    char *password; /* NULL: the exchange has failed already */
    size_t bytes;
    alm_principal *who;
    alm_status status;
} pg_attempt;

static void pg_attempt_free(void *arg)
{
    pg_attempt *a = arg;
    if (a->password != NULL)
        OPENSSL_cleanse(a->password, a->bytes);
    free(a->password);
    alm_principal_release(a->who);
    free(a);
}

static void attempt_work(void *arg)
{
    pg_attempt *a = arg;
    const alm_str password = {a->password, a->bytes};
    a->status = a->bytes > 3 && memcmp(a->password, "qt1", 3) == 0
                    ? alm_login_token(&a->cx, a->db, alm_str_of(a->user), password, NULL, &a->who)
                    : alm_login_password(&a->cx, a->db, alm_str_of(a->user), password, &a->who);
}

static void logged_in(pg_conn *c);

void pg_let_in(pg_conn *c, alm_principal *who)
{
    const alm_status st = alm_access_end_point(&c->cx, c->pg->db, who, "PGWIRE");
    if (st != ALM_OK) {
        char address[64];
        alm_conn_peer(c->conn, address, sizeof address);
        if (st == ALM_E_DENIED)
            alm_login_note(c->pg->db, who->name, who, "pg", address, "no permission PGWIRE", false);
        pg_fatal(c, st, c->cx.err.msg);
        return;
    }
    c->who = alm_principal_retain(who);
    logged_in(c);
}

static void attempt_done(alm_conn *conn, void *arg)
{
    pg_attempt *a = arg;
    pg_conn *c = a->c;
    (void)conn;
    alm_login_result(a->db, alm_str_of(a->net), alm_str_of(a->user), a->who != NULL);
    alm_login_note(a->db, a->user, a->who, "pg", a->address, "password", a->who != NULL);
    if (a->status != ALM_OK)
        pg_fatal(c, a->status, a->cx.err.msg);
    else if (a->who != NULL)
        pg_let_in(c, a->who);
    else
        say_refused(c);
    pg_attempt_free(a);
}

static void attempt_begin(alm_conn *conn, void *arg)
{
    pg_attempt *a = arg;
    const struct alm_conf *conf = alm_db_conf(a->db);
    if (a->password == NULL)
        attempt_done(conn, a);
    else
        alm_conn_work_in_turn(conn, conf->acl_password_check_max,
                              conf->acl_password_check_address_max, attempt_work, attempt_done,
                              pg_attempt_free, a);
}

/* password NULL: only the waiting is left to do. */
static void attempt(pg_conn *c, const alm_str *password)
{
    pg_attempt *a = calloc(1, sizeof *a);
    alm_login_wait wait;
    if (a == NULL) {
        pg_fatal(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    a->c = c;
    a->db = c->pg->db;
    (void)snprintf(a->user, sizeof a->user, "%s", c->user);
    alm_conn_peer(c->conn, a->address, sizeof a->address);
    alm_conn_net_text(c->conn, a->net, sizeof a->net);
    alm_login_delays(a->db, alm_str_of(a->net), alm_str_of(a->user), &wait);
    if (password != NULL) {
        a->bytes = password->len;
        a->password = malloc(a->bytes + 1);
        if (a->password == NULL) {
            pg_attempt_free(a);
            pg_fatal(c, ALM_E_MEMORY, "out of memory");
            return;
        }
        memcpy(a->password, password->ptr, a->bytes);
    }
    if (wait.ms > 0)
        alm_conn_sleep(c->conn, wait.ms, attempt_begin, pg_attempt_free, a);
    else
        attempt_begin(c->conn, a);
}

static void refused(pg_conn *c)
{
    attempt(c, NULL);
}

/* The exchange went well: who it is. */
static void proved(pg_conn *c)
{
    char address[64], net[64];
    alm_principal *who = NULL;
    alm_conn_net_text(c->conn, net, sizeof net);
    if (!alm_db_conf(c->pg->db)->acl_enabled) {
        alm_login_result(c->pg->db, alm_str_of(net), alm_str_of(c->user), true);
        logged_in(c);
        return;
    }
    alm_conn_peer(c->conn, address, sizeof address);
    const alm_status st =
        alm_login_name(&c->cx, c->pg->db, alm_str_of(c->user), &c->scram.verifier, &who);
    if (st != ALM_OK)
        pg_fatal(c, st, c->cx.err.msg);
    else if (who == NULL)
        say_refused(c);
    else
        pg_let_in(c, who);
    alm_login_result(c->pg->db, alm_str_of(net), alm_str_of(c->user), who != NULL);
    alm_login_note(c->pg->db, c->user, who, "pg", address, "password", who != NULL);
    alm_principal_release(who);
}

/* The list is newest first: what was said last must be set last. Values that cannot be are left. */
static void apply_settings(pg_conn *c)
{
    pg_start_setting *list = NULL;
    while (c->start_settings != NULL) {
        pg_start_setting *s = c->start_settings;
        c->start_settings = s->next;
        s->next = list;
        list = s;
    }
    for (; list != NULL; list = list->next)
        if (alm_session_set(&c->cx, c->session, list->name, list->value) != ALM_OK)
            alm_error_clear(&c->cx);
}

static void logged_in(pg_conn *c)
{
    size_t at = 0;
    alm_ends ends;
    c->cx = (alm_ctx){.arena = &c->arena, .conf = alm_db_conf(c->pg->db)};
    const alm_io *io = alm_io_posix();
    const int code = io->random(io, c->key, sizeof(c->key));
    if ((code < 0 && alm_io_fail(&c->cx, code, "random bytes") != ALM_OK) ||
        alm_session_new(&c->cx, c->pg->db, c->user, "pg", &c->session) != ALM_OK) {
        pg_fatal(c, c->cx.err.code, c->cx.err.msg);
        return;
    }
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    if (alm_requests_join(&c->cx, c->pg->db, c->who != NULL ? c->who->identity : NULL,
                          &c->requests) != ALM_OK) {
        pg_fatal(c, c->cx.err.code, c->cx.err.msg);
        return;
    }
    alm_conn_input_user(c->conn, &c->requests->requests);
    alm_conn_user(c->conn, c->who != NULL ? c->who->identity : NULL,
                  c->who != NULL && c->who->kind == ALM_PRINCIPAL_ADMIN);
    alm_buf_init(&c->copy_data, &c->requests->requests);
    c->prepared = (alm_mem){.limit_bytes = conf->pg_prepared_memory_max,
                            .parent = &c->requests->prepared,
                            .name = "pg.prepared.memory.max"};
    if (c->who != NULL) {
        alm_session_become(c->session, c->who);
        alm_session_lives_by(c->session, c->renewal.credential);
    }
    alm_session_read_only(c->session, c->read_only);
    if (conf->pg_security_readonly)
        alm_session_read_only_interface(c->session);
    alm_session_streams(c->session);
    alm_session_lists_by(c->session, pg_session_lists, c);
    apply_settings(c);
    alm_session_started(c->session);
    if (ALM_NEWN(&c->cx, &c->arena, alm_session_setting_count(), &c->settings_sent) != ALM_OK) {
        pg_fatal(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    c->phase = PG_READY;
    alm_conn_known(c->conn);
    alm_conn_deadline(c->conn, 0);
    c->pid = (int32_t)alm_conn_id(c->conn);
    alm_session_pid(c->session, c->pid);
    alm_conn_ends(c->conn, &ends);
    alm_session_ends(c->session, &ends);
    alm_conn_input_max(c->conn, (size_t)conf->pg_recv_buffer_size);
    pg_auth_message(c, ALM_PG_AUTH_OK, (alm_str){"", 0});
    c->settings_version = ~alm_session_settings_version(c->session);
    pg_send_settings(c);
    pg_begin(c, ALM_PG_SERVER_BACKEND_KEY, &at);
    pg_put32(c, c->pid);
    c->key_bytes = c->minor >= VERSION_MINOR ? PG_KEY_LONG : PG_KEY_SHORT;
    pg_put(c, c->key, c->key_bytes);
    pg_end(c, at);
    pg_send_ready(c);
}

static void sasl_first(pg_conn *c, const char *body, size_t n)
{
    uint8_t random[18];
    const alm_io *io = alm_io_posix();
    pg_reader r = {.at = body, .end = body + n};
    const alm_str mechanism = pg_read_text(&r);
    const bool bound = alm_str_eq(mechanism, PLUS) && c->scram.binding.len > 0;
    const int32_t length = pg_read32(&r);
    const alm_str message = pg_read_bytes(&r, length > 0 ? (size_t)length : 0);
    if (r.bad || !(bound || alm_str_eq(mechanism, PLAIN)) ||
        io->random(io, random, sizeof(random)) < 0 ||
        alm_scram_first(&c->cx, &c->scram, message, bound, random) != ALM_OK) {
        pg_fatal(c, ALM_E_PROTOCOL, "malformed SCRAM message");
        return;
    }
    pg_auth_message(c, ALM_PG_AUTH_SASL_CONTINUE, alm_str_of(c->scram.server_first));
    c->phase = PG_SASL_FINAL;
    pg_flush(c);
}

/* The password was not looked at: the client may try again. */
static void not_computed(pg_conn *c)
{
    pg_fatal(c, ALM_E_MEMORY, "out of memory");
}

static void sasl_final(pg_conn *c, const char *body, size_t n)
{
    char answer[ALM_SCRAM_MSG_MAX];
    const alm_status st = alm_scram_final(&c->cx, &c->scram, (alm_str){body, n}, answer);
    if (st == ALM_E_PROTOCOL) {
        pg_fatal(c, st, "malformed SCRAM message");
    } else if (st == ALM_E_INTERNAL) {
        not_computed(c);
    } else if (st != ALM_OK) {
        refused(c);
    } else {
        pg_auth_message(c, ALM_PG_AUTH_SASL_FINAL, alm_str_of(answer));
        proved(c);
    }
}

static void clear_text(pg_conn *c, const char *body, size_t n)
{
    pg_reader r = {.at = body, .end = body + n};
    const alm_str password = pg_read_text(&r);
    bool fits = false;
    if (r.bad || password.len > PASSWORD_MAX) {
        pg_fatal(c, ALM_E_PROTOCOL, "malformed password message");
        return;
    }
    if (c->external != PG_LOCAL) {
        pg_external_login(c, password);
        return;
    }
    if (alm_db_conf(c->pg->db)->acl_enabled) {
        attempt(c, &password);
        return;
    }
    if (alm_scram_check_password(&c->cx, &c->scram.verifier, password, &fits) != ALM_OK)
        not_computed(c);
    else if (!fits || !c->scram.known)
        refused(c);
    else
        logged_in(c);
}

void pg_login_message(pg_conn *c, char type, const char *body, size_t n)
{
    if (type != ALM_PG_CLIENT_PASSWORD)
        pg_fatal(c, ALM_E_PROTOCOL, "expected a password message");
    else if (c->phase == PG_SASL_FIRST)
        sasl_first(c, body, n);
    else if (c->phase == PG_SASL_FINAL)
        sasl_final(c, body, n);
    else if (c->phase == PG_OAUTH_FIRST)
        pg_oauth_first(c, body, n);
    else if (c->phase == PG_OAUTH_REFUSED)
        pg_oauth_refused(c);
    else
        clear_text(c, body, n);
}
