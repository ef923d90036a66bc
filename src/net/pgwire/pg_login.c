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

void pg_fatal(pg_conn *conn, alm_status code, const char *text)
{
    alm_error err = {.code = code, .sql_pos = -1};
    if (code == ALM_E_PROTOCOL)
        alm_conn_fault(conn->conn, PG_BROKEN, text);
    (void)snprintf(err.msg, sizeof(err.msg), "%s", text);
    pg_send_error(conn, &err, (alm_str){0}, true);
    pg_flush(conn);
    alm_conn_finish(conn->conn);
}

void pg_auth_message(pg_conn *conn, alm_pg_auth code, alm_str data)
{
    size_t offset = 0;
    pg_begin(conn, ALM_PG_SERVER_AUTHENTICATION, &offset);
    pg_put32(conn, (int32_t)code);
    pg_put(conn, data.ptr, data.len);
    pg_end(conn, offset);
}

static bool account(const pg_conn *conn, alm_str user, bool *read_only, alm_scram_verifier *out)
{
    const struct alm_conf *conf = alm_db_conf(conn->pg->db);
    const bool admin = alm_str_eq(user, alm_str_of(conf->pg_user));
    *read_only = !admin && conf->pg_readonly_user_enabled &&
                 alm_str_eq(user, alm_str_of(conf->pg_readonly_user));
    if (!admin && !*read_only)
        return false;
    (void)pthread_mutex_lock(&conn->pg->lock);
    *out = admin ? conn->pg->accounts.admin : conn->pg->accounts.reader;
    (void)pthread_mutex_unlock(&conn->pg->lock);
    return true;
}

bool pg_account_stands(const pg_conn *conn, alm_ctx *cx)
{
    alm_scram_verifier now;
    bool read_only = false;
    if (conn->who != NULL)
        return true;
    if (account(conn, alm_str_of(conn->user), &read_only, &now) && read_only == conn->read_only &&
        CRYPTO_memcmp(now.stored_key, conn->scram.verifier.stored_key, sizeof(now.stored_key)) == 0)
        return true;
    return alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                    "the login of \"%s\" has ended: the password has changed",
                    conn->user) == ALM_OK;
}

static void ask_clear_text(pg_conn *conn)
{
    pg_auth_message(conn, ALM_PG_AUTH_CLEAR_TEXT, (alm_str){"", 0});
    conn->phase = PG_PASSWORD;
    pg_flush(conn);
}

static void ask_bearer(pg_conn *conn)
{
    static const char mechanisms[] = "OAUTHBEARER\0"; /* and the end of the list */
    pg_auth_message(conn, ALM_PG_AUTH_SASL, (alm_str){mechanisms, sizeof mechanisms});
    conn->phase = PG_OAUTH_FIRST;
    pg_flush(conn);
}

/* True: the identity provider has the say, or nobody. */
static bool ask_external(pg_conn *conn)
{
    const alm_status status = pg_external_find(conn);
    if (status != ALM_OK) {
        pg_fatal(conn, status, conn->cx.err.msg);
        return true;
    }
    if (conn->external == PG_LOCAL)
        return false;
    if (!alm_conn_has_tls(conn->conn) && !alm_db_conf(conn->pg->db)->pg_auth_cleartext)
        pg_fatal(conn, ALM_E_AUTH_SPEC, "a token needs TLS, or pg.auth.cleartext=true");
    else if (conn->external == PG_BY_OAUTH)
        ask_bearer(conn);
    else
        ask_clear_text(conn);
    return true;
}

static void pg_login_ask_password(pg_conn *conn)
{
    const bool acl = alm_db_conf(conn->pg->db)->acl_enabled;
    if (acl && ask_external(conn))
        return;
    conn->scram.known =
        !acl && account(conn, alm_str_of(conn->user), &conn->read_only, &conn->scram.verifier);
    if (acl) {
        const alm_status status =
            alm_login_verifier(&conn->cx, conn->pg->db, alm_str_of(conn->user),
                               &conn->scram.verifier, &conn->scram.known);
        if (status != ALM_OK) {
            pg_fatal(conn, status, conn->cx.err.msg);
            return;
        }
    } else if (!conn->scram.known &&
               alm_scram_verifier_fake(&conn->cx, conn->pg->secret, alm_str_of(conn->user),
                                       ALM_SCRAM_ITERATIONS, &conn->scram.verifier) != ALM_OK) {
        pg_fatal(conn, conn->cx.err.code, conn->cx.err.msg);
        return;
    }
    if (alm_db_conf(conn->pg->db)->pg_auth_cleartext) {
        ask_clear_text(conn);
        return;
    }
    static const char both[] = "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"; /* and the end of the list */
    const size_t plus = sizeof("SCRAM-SHA-256-PLUS");
    conn->scram.binding = alm_conn_tls_binding(conn->conn);
    pg_auth_message(conn, ALM_PG_AUTH_SASL,
                    conn->scram.binding.len > 0 ? (alm_str){both, sizeof(both)}
                                                : (alm_str){both + plus, sizeof(both) - plus});
    conn->phase = PG_SASL_FIRST;
    pg_flush(conn);
}

/* ------------------------------------------------------------------- start-up */

static alm_status keep_setting(pg_conn *conn, alm_str name, alm_str value)
{
    pg_start_setting *setting = NULL;
    ALM_TRY(ALM_NEW(&conn->cx, &conn->arena, &setting));
    ALM_TRY(alm_arena_zstr(&conn->cx, &conn->arena, name, &setting->name));
    ALM_TRY(alm_arena_zstr(&conn->cx, &conn->arena, value, &setting->value));
    setting->next = conn->start_settings;
    conn->start_settings = setting;
    return ALM_OK;
}

/* "-conn name=value --other-name=value": a backslash takes the next character as it is. */
static alm_status read_options(pg_conn *conn, alm_str options)
{
    char *word = NULL;
    ALM_TRY(alm_arena_bytes(&conn->cx, &conn->arena, options.len + 1, &word));
    for (size_t offset = 0; offset < options.len;) {
        size_t count = 0;
        while (offset < options.len && options.ptr[offset] == ' ')
            offset++;
        for (; offset < options.len && options.ptr[offset] != ' '; offset++) {
            if (options.ptr[offset] == '\\' && offset + 1 < options.len)
                offset++;
            word[count++] = options.ptr[offset];
        }
        alm_str rest = {word, count};
        if (count >= 2 && word[0] == '-' && (word[1] == 'c' || word[1] == '-')) {
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
        ALM_TRY(keep_setting(conn, name, (alm_str){eq + 1, rest.len - name.len - 1}));
    }
    return ALM_OK;
}

static alm_status read_parameter(pg_conn *conn, alm_str name, alm_str value)
{
    if (alm_str_eq(name, ALM_STR("user"))) {
        conn->user_too_long = value.len >= sizeof(conn->user);
        (void)snprintf(conn->user, sizeof(conn->user), "%.*s", (int)value.len, value.ptr);
        return ALM_OK;
    }
    if (alm_str_eq(name, ALM_STR("options")))
        return read_options(conn, value);
    if (name.len > 5 && memcmp(name.ptr, "_pq_.", 5) == 0) {
        if (conn->n_unknown_options == PG_OPTIONS_MAX)
            return ALM_OK;
        return alm_arena_zstr(&conn->cx, &conn->arena, name,
                              &conn->unknown_options[conn->n_unknown_options++]);
    }
    if (alm_str_eq(name, ALM_STR("database")) || alm_str_eq(name, ALM_STR("replication")))
        return ALM_OK;
    return keep_setting(conn, name, value);
}

static bool pg_login_read_parameters(pg_conn *conn, pg_reader *reader)
{
    while (!reader->bad && reader->at < reader->end && *reader->at != 0) {
        const alm_str name = pg_read_text(reader);
        const alm_str value = pg_read_text(reader);
        if (reader->bad || read_parameter(conn, name, value) != ALM_OK)
            return false;
    }
    return !reader->bad;
}

/* In the same time whatever the bytes are. */
static bool pg_login_same_key(const pg_conn *conn, alm_str key)
{
    uint8_t differ = key.len != conn->key_bytes;
    for (size_t i = 0; i < key.len && i < conn->key_bytes; i++)
        differ |= (uint8_t)(conn->key[i] ^ (uint8_t)key.ptr[i]);
    return differ == 0;
}

/* On the loop thread of the other connection. */
static void cancel_other(alm_conn *target, alm_conn *conn)
{
    const pg_conn *wire = alm_conn_state(conn);
    pg_conn *other = alm_conn_arg(target) == wire->pg ? alm_conn_state(target) : NULL;
    if (other != NULL && other->session != NULL &&
        pg_login_same_key(other, (alm_str){(const char *)wire->key, wire->key_bytes}))
        pg_run_cancel(other);
}

static void cancel_over(alm_conn *conn, void *arg)
{
    (void)arg;
    alm_conn_finish(conn);
}

/* Whoever asks hears the end of its connection when the other one was told: what that is sent afterwards is
 * not meant. */
static void cancel_request(pg_conn *conn, const char *body, size_t n)
{
    pg_reader reader = {.at = body + 4, .end = body + n};
    const int32_t pid = pg_read32(&reader);
    const alm_str key = {reader.at, (size_t)(reader.end - reader.at)};
    if (reader.bad || key.len > sizeof(conn->key)) {
        alm_conn_finish(conn->conn);
        return;
    }
    (void)memcpy(conn->key, key.ptr, key.len);
    conn->key_bytes = key.len;
    alm_conn_tell(conn->conn, (uint32_t)pid, cancel_other, cancel_over, conn);
}

/* Minor versions and options that are not known here: the client hears what the connection speaks from here
 * on. The version is said whole, as PostgreSQL does: libpq takes a lone minor for one below 3.0. */
static void negotiate(pg_conn *conn)
{
    size_t offset = 0;
    pg_begin(conn, ALM_PG_SERVER_NEGOTIATE_VERSION, &offset);
    pg_put32(conn, (int32_t)(VERSION_MAJOR << 16 | conn->minor));
    pg_put32(conn, (int32_t)conn->n_unknown_options);
    for (uint32_t i = 0; i < conn->n_unknown_options; i++)
        pg_put_text(conn, conn->unknown_options[i]);
    pg_end(conn, offset);
}

/* Whoever sits between could have put bytes behind the request, to be taken for those of the client. */
static void start_tls(pg_conn *conn)
{
    if (conn->more || alm_conn_has_tls(conn->conn)) {
        pg_fatal(conn, ALM_E_PROTOCOL, "received unencrypted data after SSL request");
        return;
    }
    pg_put(conn, "S", 1);
    pg_flush(conn);
    alm_conn_start_tls(conn->conn, conn->pg->tls, NULL, 0);
}

/* A token says itself who it is of. */
static bool has_user(pg_conn *conn)
{
    const struct alm_conf *conf = alm_db_conf(conn->pg->db);
    const bool by_token = conf->acl_oidc_enabled && (conf->acl_oidc_pg_token_as_password_enabled ||
                                                     conf->acl_oidc_pg_oauthbearer_enabled);
    if (conn->user_too_long) /* how it begins may be somebody's name */
        pg_fatal(conn, ALM_E_AUTH_SPEC, "the user name is too long: 255 bytes may be");
    else if (conn->user[0] == 0 && !by_token)
        pg_fatal(conn, ALM_E_AUTH_SPEC, "no PostgreSQL user name specified in start-up packet");
    else
        return true;
    return false;
}

bool pg_startup(pg_conn *conn, const char *body, size_t n)
{
    if (n < 4 || n > STARTUP_MAX) {
        alm_conn_abort(conn->conn);
        return false;
    }
    const uint32_t code = alm_be_get32(body);
    if (code == CODE_SSL && conn->pg->tls != NULL) {
        start_tls(conn);
        return true;
    }
    if (code == CODE_SSL || code == CODE_GSS) {
        pg_put(conn, "N", 1);
        pg_flush(conn);
        return true;
    }
    if (conn->direct && !alm_conn_tls_named(conn->conn)) {
        pg_fatal(conn, ALM_E_PROTOCOL, "TLS from the first byte on needs ALPN \"postgresql\"");
        return false;
    }
    if (code == CODE_CANCEL) {
        cancel_request(conn, body, n);
        return false;
    }
    if (code >> 16 != VERSION_MAJOR) {
        pg_fatal(conn, ALM_E_UNSUPPORTED,
                 "unsupported frontend protocol: the server speaks 3.0 to 3.2");
        return false;
    }
    conn->minor = ALM_MIN(code & 0xffff, (uint32_t)VERSION_MINOR);
    pg_reader reader = {.at = body + 4, .end = body + n};
    if (!pg_login_read_parameters(conn, &reader)) {
        pg_fatal(conn, ALM_E_PROTOCOL, "invalid start-up packet layout");
        return false;
    }
    if (alm_conn_refusal(conn->conn) != NULL) {
        pg_fatal(conn, ALM_E_BUSY, alm_conn_refusal(conn->conn));
        return false;
    }
    if (alm_db_conf(conn->pg->db)->pg_tls_required && !alm_conn_has_tls(conn->conn)) {
        pg_fatal(conn, ALM_E_AUTH_SPEC,
                 "the server takes connections over TLS alone: sslmode=require");
        return false;
    }
    if (alm_db_conf(conn->pg->db)->acl_enabled && alm_db_conf(conn->pg->db)->acl_require_tls &&
        !alm_conn_has_tls(conn->conn) && !alm_conn_is_local(conn->conn)) {
        pg_fatal(conn, ALM_E_AUTH_SPEC,
                 "acl.require.tls: logins from other hosts need TLS: sslmode=require");
        return false;
    }
    if ((code & 0xffff) != conn->minor || conn->n_unknown_options > 0)
        negotiate(conn);
    if (!has_user(conn))
        return false;
    pg_login_ask_password(conn);
    return true;
}

/* ---------------------------------------------------------------------- login */

static void say_refused(pg_conn *conn)
{
    char user[2 * sizeof conn->user];
    alm_utf8_escape(user, sizeof user, conn->user, true);
    alm_log_warn("pg", "login of '%s' failed", user);
    pg_fatal(conn, ALM_E_AUTH, "invalid username/password");
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

static void logged_in(pg_conn *conn);

void pg_let_in(pg_conn *conn, alm_principal *who)
{
    const alm_status status = alm_access_end_point(&conn->cx, conn->pg->db, who, "PGWIRE");
    if (status != ALM_OK) {
        char address[64];
        alm_conn_peer(conn->conn, address, sizeof address);
        if (status == ALM_E_DENIED)
            alm_login_note(conn->pg->db, who->name, who, "pg", address, "no permission PGWIRE",
                           false);
        pg_fatal(conn, status, conn->cx.err.msg);
        return;
    }
    conn->who = alm_principal_retain(who);
    logged_in(conn);
}

static void attempt_done(alm_conn *conn, void *arg)
{
    pg_attempt *a = arg;
    pg_conn *wire = a->c;
    (void)conn;
    alm_login_result(a->db, alm_str_of(a->net), alm_str_of(a->user), a->who != NULL);
    alm_login_note(a->db, a->user, a->who, "pg", a->address, "password", a->who != NULL);
    if (a->status != ALM_OK)
        pg_fatal(wire, a->status, a->cx.err.msg);
    else if (a->who != NULL)
        pg_let_in(wire, a->who);
    else
        say_refused(wire);
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
static void attempt(pg_conn *conn, const alm_str *password)
{
    pg_attempt *a = calloc(1, sizeof *a);
    alm_login_wait wait;
    if (a == NULL) {
        pg_fatal(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    a->c = conn;
    a->db = conn->pg->db;
    (void)snprintf(a->user, sizeof a->user, "%s", conn->user);
    alm_conn_peer(conn->conn, a->address, sizeof a->address);
    alm_conn_net_text(conn->conn, a->net, sizeof a->net);
    alm_login_delays(a->db, alm_str_of(a->net), alm_str_of(a->user), &wait);
    if (password != NULL) {
        a->bytes = password->len;
        a->password = malloc(a->bytes + 1);
        if (a->password == NULL) {
            pg_attempt_free(a);
            pg_fatal(conn, ALM_E_MEMORY, "out of memory");
            return;
        }
        memcpy(a->password, password->ptr, a->bytes);
    }
    if (wait.ms > 0)
        alm_conn_sleep(conn->conn, wait.ms, attempt_begin, pg_attempt_free, a);
    else
        attempt_begin(conn->conn, a);
}

static void refused(pg_conn *conn)
{
    attempt(conn, NULL);
}

/* The exchange went well: who it is. */
static void proved(pg_conn *conn)
{
    char address[64], net[64];
    alm_principal *who = NULL;
    alm_conn_net_text(conn->conn, net, sizeof net);
    if (!alm_db_conf(conn->pg->db)->acl_enabled) {
        alm_login_result(conn->pg->db, alm_str_of(net), alm_str_of(conn->user), true);
        logged_in(conn);
        return;
    }
    alm_conn_peer(conn->conn, address, sizeof address);
    const alm_status status = alm_login_name(&conn->cx, conn->pg->db, alm_str_of(conn->user),
                                             &conn->scram.verifier, &who);
    if (status != ALM_OK)
        pg_fatal(conn, status, conn->cx.err.msg);
    else if (who == NULL)
        say_refused(conn);
    else
        pg_let_in(conn, who);
    alm_login_result(conn->pg->db, alm_str_of(net), alm_str_of(conn->user), who != NULL);
    alm_login_note(conn->pg->db, conn->user, who, "pg", address, "password", who != NULL);
    alm_principal_release(who);
}

/* The list is newest first: what was said last must be set last. Values that cannot be are left. */
static void apply_settings(pg_conn *conn)
{
    pg_start_setting *list = NULL;
    while (conn->start_settings != NULL) {
        pg_start_setting *setting = conn->start_settings;
        conn->start_settings = setting->next;
        setting->next = list;
        list = setting;
    }
    for (; list != NULL; list = list->next)
        if (alm_session_set(&conn->cx, conn->session, list->name, list->value) != ALM_OK)
            alm_error_clear(&conn->cx);
}

static void logged_in(pg_conn *conn)
{
    size_t offset = 0;
    alm_ends ends;
    conn->cx = (alm_ctx){.arena = &conn->arena, .conf = alm_db_conf(conn->pg->db)};
    const alm_io *io = alm_io_posix();
    const int code = io->random(io, conn->key, sizeof(conn->key));
    if ((code < 0 && alm_io_fail(&conn->cx, code, "random bytes") != ALM_OK) ||
        alm_session_new(&conn->cx, conn->pg->db, conn->user, "pg", &conn->session) != ALM_OK) {
        pg_fatal(conn, conn->cx.err.code, conn->cx.err.msg);
        return;
    }
    const struct alm_conf *conf = alm_db_conf(conn->pg->db);
    if (alm_requests_join(&conn->cx, conn->pg->db, conn->who != NULL ? conn->who->identity : NULL,
                          &conn->requests) != ALM_OK) {
        pg_fatal(conn, conn->cx.err.code, conn->cx.err.msg);
        return;
    }
    alm_conn_input_user(conn->conn, &conn->requests->requests);
    alm_conn_user(conn->conn, conn->who != NULL ? conn->who->identity : NULL,
                  conn->who != NULL && conn->who->kind == ALM_PRINCIPAL_ADMIN);
    alm_buf_init(&conn->copy_data, &conn->requests->requests);
    conn->prepared = (alm_mem){.limit_bytes = conf->pg_prepared_memory_max,
                               .parent = &conn->requests->prepared,
                               .name = "pg.prepared.memory.max"};
    if (conn->who != NULL) {
        alm_session_become(conn->session, conn->who);
        alm_session_lives_by(conn->session, conn->renewal.credential);
    }
    alm_session_read_only(conn->session, conn->read_only);
    if (conf->pg_security_readonly)
        alm_session_read_only_interface(conn->session);
    alm_session_streams(conn->session);
    alm_session_lists_by(conn->session, pg_session_lists, conn);
    apply_settings(conn);
    alm_session_started(conn->session);
    if (ALM_NEWN(&conn->cx, &conn->arena, alm_session_setting_count(), &conn->settings_sent) !=
        ALM_OK) {
        pg_fatal(conn, ALM_E_MEMORY, "out of memory");
        return;
    }
    conn->phase = PG_READY;
    alm_conn_known(conn->conn);
    alm_conn_deadline(conn->conn, 0);
    conn->pid = (int32_t)alm_conn_id(conn->conn);
    alm_session_pid(conn->session, conn->pid);
    alm_conn_ends(conn->conn, &ends);
    alm_session_ends(conn->session, &ends);
    alm_conn_input_max(conn->conn, (size_t)conf->pg_recv_buffer_size);
    pg_auth_message(conn, ALM_PG_AUTH_OK, (alm_str){"", 0});
    conn->settings_version = ~alm_session_settings_version(conn->session);
    pg_send_settings(conn);
    pg_begin(conn, ALM_PG_SERVER_BACKEND_KEY, &offset);
    pg_put32(conn, conn->pid);
    conn->key_bytes = conn->minor >= VERSION_MINOR ? PG_KEY_LONG : PG_KEY_SHORT;
    pg_put(conn, conn->key, conn->key_bytes);
    pg_end(conn, offset);
    pg_send_ready(conn);
}

static void sasl_first(pg_conn *conn, const char *body, size_t n)
{
    uint8_t random[18];
    const alm_io *io = alm_io_posix();
    pg_reader reader = {.at = body, .end = body + n};
    const alm_str mechanism = pg_read_text(&reader);
    const bool bound = alm_str_eq(mechanism, PLUS) && conn->scram.binding.len > 0;
    const int32_t length = pg_read32(&reader);
    const alm_str message = pg_read_bytes(&reader, length > 0 ? (size_t)length : 0);
    if (reader.bad || !(bound || alm_str_eq(mechanism, PLAIN)) ||
        io->random(io, random, sizeof(random)) < 0 ||
        alm_scram_first(&conn->cx, &conn->scram, message, bound, random) != ALM_OK) {
        pg_fatal(conn, ALM_E_PROTOCOL, "malformed SCRAM message");
        return;
    }
    pg_auth_message(conn, ALM_PG_AUTH_SASL_CONTINUE, alm_str_of(conn->scram.server_first));
    conn->phase = PG_SASL_FINAL;
    pg_flush(conn);
}

/* The password was not looked at: the client may try again. */
static void not_computed(pg_conn *conn)
{
    pg_fatal(conn, ALM_E_MEMORY, "out of memory");
}

static void sasl_final(pg_conn *conn, const char *body, size_t n)
{
    char answer[ALM_SCRAM_MSG_MAX];
    const alm_status status = alm_scram_final(&conn->cx, &conn->scram, (alm_str){body, n}, answer);
    if (status == ALM_E_PROTOCOL) {
        pg_fatal(conn, status, "malformed SCRAM message");
    } else if (status == ALM_E_INTERNAL) {
        not_computed(conn);
    } else if (status != ALM_OK) {
        refused(conn);
    } else {
        pg_auth_message(conn, ALM_PG_AUTH_SASL_FINAL, alm_str_of(answer));
        proved(conn);
    }
}

static void clear_text(pg_conn *conn, const char *body, size_t n)
{
    pg_reader reader = {.at = body, .end = body + n};
    const alm_str password = pg_read_text(&reader);
    bool fits = false;
    if (reader.bad || password.len > PASSWORD_MAX) {
        pg_fatal(conn, ALM_E_PROTOCOL, "malformed password message");
        return;
    }
    if (conn->external != PG_LOCAL) {
        pg_external_login(conn, password);
        return;
    }
    if (alm_db_conf(conn->pg->db)->acl_enabled) {
        attempt(conn, &password);
        return;
    }
    if (alm_scram_check_password(&conn->cx, &conn->scram.verifier, password, &fits) != ALM_OK)
        not_computed(conn);
    else if (!fits || !conn->scram.known)
        refused(conn);
    else
        logged_in(conn);
}

void pg_login_message(pg_conn *conn, char type, const char *body, size_t n)
{
    if (type != ALM_PG_CLIENT_PASSWORD)
        pg_fatal(conn, ALM_E_PROTOCOL, "expected a password message");
    else if (conn->phase == PG_SASL_FIRST)
        sasl_first(conn, body, n);
    else if (conn->phase == PG_SASL_FINAL)
        sasl_final(conn, body, n);
    else if (conn->phase == PG_OAUTH_FIRST)
        pg_oauth_first(conn, body, n);
    else if (conn->phase == PG_OAUTH_REFUSED)
        pg_oauth_refused(conn);
    else
        clear_text(conn, body, n);
}
