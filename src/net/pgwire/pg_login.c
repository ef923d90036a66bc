/*
 * pg_login.c - start-up and login: TLS, GSS refusal, cancel requests, SCRAM-SHA-256, over TLS also bound to
 * the certificate (SCRAM-SHA-256-PLUS), clear text where pg.auth.cleartext allows it.
 *
 * An unknown user takes the same steps in the same time as a wrong password, and gets the same answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "net/pgwire/pg_state.h"

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

static void fatal(pg_conn *c, alm_status code, const char *text)
{
    alm_error err = {.code = code, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "%s", text);
    pg_send_error(c, &err, (alm_str){0}, true);
    pg_flush(c);
    alm_conn_finish(c->conn);
}

static void auth_message(pg_conn *c, int32_t code, alm_str data)
{
    size_t at = 0;
    pg_begin(c, 'R', &at);
    pg_put32(c, code);
    pg_put(c, data.ptr, data.len);
    pg_end(c, at);
}

static const alm_scram_verifier *account(const pg_conn *c, alm_str user, bool *read_only)
{
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    *read_only = false;
    if (alm_str_eq(user, alm_str_of(conf->pg_user)))
        return &c->pg->admin;
    if (conf->pg_readonly_user_enabled && alm_str_eq(user, alm_str_of(conf->pg_readonly_user))) {
        *read_only = true;
        return &c->pg->reader;
    }
    return NULL;
}

static void ask_password(pg_conn *c)
{
    const alm_scram_verifier *verifier = account(c, alm_str_of(c->user), &c->read_only);
    c->scram.known = verifier != NULL;
    if (verifier != NULL) {
        c->scram.verifier = *verifier;
    } else if (alm_scram_verifier_fake(&c->cx, c->pg->secret, alm_str_of(c->user),
                                       &c->scram.verifier) != ALM_OK) {
        fatal(c, c->cx.err.code, c->cx.err.msg);
        return;
    }
    if (alm_db_conf(c->pg->db)->pg_auth_cleartext) {
        auth_message(c, 3, (alm_str){"", 0});
        c->phase = PG_PASSWORD;
    } else {
        static const char both[] =
            "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"; /* and the end of the list */
        const size_t plus = sizeof("SCRAM-SHA-256-PLUS");
        c->scram.binding = alm_conn_has_tls(c->conn) ? alm_tls_binding(c->pg->tls) : (alm_str){0};
        auth_message(c, 10,
                     c->scram.binding.len > 0 ? (alm_str){both, sizeof(both)}
                                              : (alm_str){both + plus, sizeof(both) - plus});
        c->phase = PG_SASL_FIRST;
    }
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

static void cancel_request(pg_conn *c, const char *body, size_t n)
{
    pg_reader r = {.at = body + 4, .end = body + n};
    const int32_t pid = pg_read32(&r);
    const alm_str key = {r.at, (size_t)(r.end - r.at)};
    alm_conn *target = r.bad ? NULL : alm_loop_find(alm_conn_loop(c->conn), (uint32_t)pid);
    if (target == NULL || alm_conn_arg(target) != c->pg)
        return;
    pg_conn *other = alm_conn_state(target);
    if (other->session != NULL && same_key(other, key))
        pg_run_cancel(other);
}

/* Minor versions and options that are not known here: the client hears what the connection speaks from here
 * on. The version is said whole, as PostgreSQL does: libpq takes a lone minor for one below 3.0. */
static void negotiate(pg_conn *c)
{
    size_t at = 0;
    pg_begin(c, 'v', &at);
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
        fatal(c, ALM_E_PROTOCOL, "received unencrypted data after SSL request");
        return;
    }
    pg_put(c, "S", 1);
    pg_flush(c);
    alm_conn_start_tls(c->conn, c->pg->tls, NULL, 0);
}

bool pg_startup(pg_conn *c, const char *body, size_t n)
{
    if (n < 4 || n > STARTUP_MAX) {
        alm_conn_abort(c->conn);
        return false;
    }
    const uint32_t code = alm_pg_get32(body);
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
        fatal(c, ALM_E_PROTOCOL, "TLS from the first byte on needs ALPN \"postgresql\"");
        return false;
    }
    if (code == CODE_CANCEL) {
        cancel_request(c, body, n);
        alm_conn_finish(c->conn);
        return false;
    }
    if (code >> 16 != VERSION_MAJOR) {
        fatal(c, ALM_E_UNSUPPORTED, "unsupported frontend protocol: the server speaks 3.0 to 3.2");
        return false;
    }
    c->minor = ALM_MIN(code & 0xffff, (uint32_t)VERSION_MINOR);
    pg_reader r = {.at = body + 4, .end = body + n};
    if (!read_parameters(c, &r)) {
        fatal(c, ALM_E_PROTOCOL, "invalid start-up packet layout");
        return false;
    }
    if (alm_conn_refusal(c->conn) != NULL) {
        fatal(c, ALM_E_BUSY, alm_conn_refusal(c->conn));
        return false;
    }
    if (alm_db_conf(c->pg->db)->pg_tls_required && !alm_conn_has_tls(c->conn)) {
        fatal(c, ALM_E_AUTH_SPEC, "the server takes connections over TLS alone: sslmode=require");
        return false;
    }
    if ((code & 0xffff) != c->minor || c->n_unknown_options > 0)
        negotiate(c);
    if (c->user[0] == 0) {
        fatal(c, ALM_E_AUTH_SPEC, "no PostgreSQL user name specified in start-up packet");
        return false;
    }
    ask_password(c);
    return true;
}

/* ---------------------------------------------------------------------- login */

static void refused(pg_conn *c)
{
    alm_log_warn("pg", "login of '%s' failed", c->user);
    fatal(c, ALM_E_AUTH, "invalid username/password");
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
    c->cx = (alm_ctx){.arena = &c->arena, .conf = alm_db_conf(c->pg->db)};
    const alm_io *io = alm_io_posix();
    const int code = io->random(io, c->key, sizeof(c->key));
    if ((code < 0 && alm_io_fail(&c->cx, code, "random bytes") != ALM_OK) ||
        alm_session_new(&c->cx, c->pg->db, c->user, "pg", &c->session) != ALM_OK) {
        fatal(c, c->cx.err.code, c->cx.err.msg);
        return;
    }
    const struct alm_conf *conf = alm_db_conf(c->pg->db);
    alm_session_read_only(c->session, c->read_only);
    if (conf->pg_security_readonly)
        alm_session_read_only_interface(c->session);
    alm_session_streams(c->session);
    apply_settings(c);
    alm_session_started(c->session);
    if (ALM_NEWN(&c->cx, &c->arena, alm_session_setting_count(), &c->settings_sent) != ALM_OK) {
        fatal(c, ALM_E_MEMORY, "out of memory");
        return;
    }
    c->phase = PG_READY;
    alm_conn_deadline(c->conn, 0);
    c->pid = (int32_t)alm_conn_id(c->conn);
    alm_session_pid(c->session, c->pid);
    alm_conn_input_max(c->conn, (size_t)conf->pg_recv_buffer_size);
    auth_message(c, 0, (alm_str){"", 0});
    c->settings_version = ~alm_session_settings_version(c->session);
    pg_send_settings(c);
    pg_begin(c, 'K', &at);
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
        fatal(c, ALM_E_PROTOCOL, "malformed SCRAM message");
        return;
    }
    auth_message(c, 11, alm_str_of(c->scram.server_first));
    c->phase = PG_SASL_FINAL;
    pg_flush(c);
}

/* The password was not looked at: the client may try again. */
static void not_computed(pg_conn *c)
{
    fatal(c, ALM_E_MEMORY, "out of memory");
}

static void sasl_final(pg_conn *c, const char *body, size_t n)
{
    char answer[ALM_SCRAM_MSG_MAX];
    const alm_status st = alm_scram_final(&c->cx, &c->scram, (alm_str){body, n}, answer);
    if (st == ALM_E_PROTOCOL) {
        fatal(c, st, "malformed SCRAM message");
    } else if (st == ALM_E_INTERNAL) {
        not_computed(c);
    } else if (st != ALM_OK) {
        refused(c);
    } else {
        auth_message(c, 12, alm_str_of(answer));
        logged_in(c);
    }
}

static void clear_text(pg_conn *c, const char *body, size_t n)
{
    pg_reader r = {.at = body, .end = body + n};
    const alm_str password = pg_read_text(&r);
    bool fits = false;
    if (r.bad || password.len > PASSWORD_MAX) {
        fatal(c, ALM_E_PROTOCOL, "malformed password message");
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
    if (type != 'p')
        fatal(c, ALM_E_PROTOCOL, "expected a password message");
    else if (c->phase == PG_SASL_FIRST)
        sasl_first(c, body, n);
    else if (c->phase == PG_SASL_FINAL)
        sasl_final(c, body, n);
    else
        clear_text(c, body, n);
}
