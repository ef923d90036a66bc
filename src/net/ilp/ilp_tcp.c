/*
 * ilp_tcp.c - lines from a TCP connection into tables.
 */
#include "net/ilp/ilp_tcp.h"

#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/lookup.h"
#include "io/io.h"
#include "net/shared.h"
#include "session/access/login.h"
#include "session/core/requests.h"
#include "session/transfer/lines.h"

/* A piece of work reads as much as is there, up to PIECE_BYTES: a client that sends fast gets large commits. */
enum { PIECE_BYTES = 4 << 20, REASON_BYTES = 400, LOGIN_LINE_MAX = 256, BARRED_BYTES = 64 << 10 };

typedef enum phase {
    TCP_LINES, /* first, where there is no login */
    TCP_NAME,  /* waiting for the name of a key */
    TCP_SIGNATURE,
    TCP_WAITS /* the signature is there; it is looked at when the address has waited for its failures */
} phase;

typedef struct tcp {
    alm_conn *conn;
    alm_net_shared *shared;
    alm_session *session;
    phase phase;
    char kid[LOGIN_LINE_MAX + 1];
    alm_principal *who; /* with access control; or NULL */
    alm_seen seen;      /* of its login */
    char challenge[ALM_LINE_CHALLENGE];
    char signature[LOGIN_LINE_MAX];
    size_t signature_len;
    char net[64];            /* the address, as failures are counted */
    alm_buf in;              /* lines that wait, the last of them may be incomplete */
    size_t line_max;         /* line.tcp.max.measurement.size */
    bool may_write;          /* some table; false: not asked yet */
    bool failed, within_bad; /* the start of the line was bad, its end has not come */
    char reason[REASON_BYTES];
} tcp;

/* With access control: the key of a user of the catalogue. */
static bool needs_user(const tcp *self)
{
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(self->conn));
    return conf->acl_enabled && conf->line_tcp_acl_enabled;
}

static void tcp_open(alm_conn *conn)
{
    tcp *c = alm_conn_state(conn);
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(conn));
    c->conn = conn;
    c->shared = alm_conn_arg(conn);
    c->phase = c->shared->line_keys != NULL || needs_user(c) ? TCP_NAME : TCP_LINES;
    c->line_max = (size_t)conf->line_tcp_max_measurement_size;
    alm_buf_init(&c->in, NULL);
    alm_conn_input_max(conn, 1 << 20);
}

static alm_ilp_unit ilp_tcp_unit_of(const char *name)
{
    return strcmp(name, "n") == 0 || strcmp(name, "ns") == 0   ? ALM_ILP_NS
           : strcmp(name, "u") == 0 || strcmp(name, "us") == 0 ? ALM_ILP_US
           : strcmp(name, "ms") == 0                           ? ALM_ILP_MS
           : strcmp(name, "s") == 0                            ? ALM_ILP_SECOND
           : strcmp(name, "m") == 0                            ? ALM_ILP_MINUTE
                                                               : ALM_ILP_HOUR;
}

static void ilp_tcp_fail(tcp *self, const char *message)
{
    self->failed = true;
    (void)snprintf(self->reason, sizeof self->reason, "%.*s", REASON_BYTES - 1, message);
}

/* Lines that have come and will not be stored, but the first `used` bytes. An LF within a value counts too. */
static int64_t lines_behind(const tcp *self, size_t used)
{
    int64_t count = 0;
    for (size_t i = used; i < self->in.len; i++)
        count += self->in.ptr[i] == '\n';
    return count;
}

/* Bad lines: the good ones before the first are stored, or all good ones, as configured. */
static void note_bad_lines(tcp *self, const alm_lines *lines, size_t used)
{
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(self->conn));
    const unsigned long long id = alm_conn_id(self->conn);
    alm_count(&self->shared->line_tcp_dropped, alm_lines_error_count(lines));
    if (conf->line_tcp_disconnect_on_error) {
        ilp_tcp_fail(self, alm_lines_error_at(lines, 0)->message);
        alm_count(&self->shared->line_tcp_dropped, lines_behind(self, used));
    } else if (!conf->line_log_message_on_error) {
        alm_log_warn("line tcp", "connection %llu: %lld bad lines", id,
                     (long long)alm_lines_error_count(lines));
    } else {
        for (size_t i = 0; alm_lines_error_at(lines, i) != NULL; i++)
            alm_log_warn("line tcp", "connection %llu: %s", id,
                         alm_lines_error_at(lines, i)->message);
    }
}

/* What has come is lost, for a reason that is not in the lines. */
static void fail_all(tcp *self)
{
    ilp_tcp_fail(self, alm_session_error(self->session)->msg);
    alm_count(&self->shared->line_tcp_dropped, lines_behind(self, 0));
}

static void ilp_tcp_work(void *arg)
{
    tcp *self = arg;
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(self->conn));
    const alm_lines_options options = {.unit = ilp_tcp_unit_of(conf->line_tcp_timestamp),
                                       .stop_at_error = conf->line_tcp_disconnect_on_error,
                                       .within_bad = self->within_bad};
    alm_lines *lines = NULL;
    size_t used = 0;
    alm_status status = alm_lines_begin(self->session, &options, &lines);
    if (status == ALM_OK)
        status = alm_lines_feed(lines, self->in.ptr, self->in.len, false, &used);
    if (status != ALM_OK) {
        fail_all(self);
        alm_lines_drop(lines);
        return;
    }
    if (alm_lines_error_count(lines) > 0)
        note_bad_lines(self, lines, used);
    self->within_bad = alm_lines_within_bad(lines);
    const int64_t rows = alm_lines_rows(lines);
    if (alm_lines_commit(lines) != ALM_OK)
        fail_all(self);
    else
        alm_count(&self->shared->line_tcp_rows, rows);
    self->in.len -= used;
    if (self->in.len > 0 && used > 0)
        (void)memmove(self->in.ptr, self->in.ptr + used, self->in.len);
    if (!self->failed && self->in.len > self->line_max)
        ilp_tcp_fail(self, "a line is longer than line.tcp.max.measurement.size");
}

static void tcp_refuse(alm_conn *conn, const char *why)
{
    char text[REASON_BYTES + 40];
    const int len = snprintf(text, sizeof text, "error: %s\n", why);
    alm_conn_send_bytes(conn, text, (size_t)len);
}

static void hang_up(tcp *self)
{
    const bool says = alm_db_conf(alm_conn_db(self->conn))->line_log_message_on_error;
    alm_log_warn("line tcp", "connection %llu closed: %s",
                 (unsigned long long)alm_conn_id(self->conn), says ? self->reason : "an error");
    alm_count(&self->shared->line_tcp_disconnects, 1);
    tcp_refuse(self->conn, self->reason);
    alm_conn_finish(self->conn);
}

static void done(alm_conn *conn, void *arg)
{
    tcp *self = arg;
    (void)conn;
    if (self->failed)
        hang_up(self);
}

static bool has_line(const char *bytes, size_t n)
{
    return memchr(bytes, '\n', n) != NULL;
}

static size_t ilp_tcp_give_up(tcp *self, const char *why, size_t n)
{
    ilp_tcp_fail(self, why);
    hang_up(self);
    return n;
}

/* ------------------------------------------------------------------------- login */

static bool send_challenge(tcp *self, alm_str kid)
{
    const alm_io *io = alm_io_posix();
    memcpy(self->kid, kid.ptr, kid.len);
    self->kid[kid.len] = 0;
    if (io->random(io, self->challenge, sizeof self->challenge) < 0)
        return false;
    alm_line_challenge(self->challenge);
    alm_conn_send_bytes(self->conn, self->challenge, sizeof self->challenge);
    alm_conn_send_bytes(self->conn, "\n", 1);
    self->phase = TCP_SIGNATURE;
    return true;
}

/* The user of that name has that key, and may send lines. *why is set where he is who he says, and may not. */
static bool check_user(tcp *self, alm_str signature, alm_error *why)
{
    alm_ctx cx = {0};
    alm_acl *acl = NULL;
    alm_db *db = alm_conn_db(self->conn);
    char address[64];
    if (alm_db_acl(&cx, db, &acl) != ALM_OK)
        return false;
    const alm_entity *entity = alm_acl_entity(acl, self->kid);
    const bool there = entity != NULL && entity->has_key && entity->enabled;
    bool good =
        alm_line_key_verify(alm_str_of(there ? entity->key_x : ""),
                            alm_str_of(there ? entity->key_y : ""), self->challenge, signature);
    if (good)
        good = there && alm_login_key(&cx, entity, &self->who) == ALM_OK &&
               alm_access_end_point(&cx, db, self->who, "ILP") == ALM_OK;
    if (cx.err.code == ALM_E_DENIED)
        *why = cx.err;
    alm_acl_release(acl);
    alm_conn_peer(self->conn, address, sizeof address);
    alm_login_note(db, self->kid, self->who, "line", address,
                   cx.err.code == ALM_E_DENIED ? "no permission ILP" : "key", good);
    return good;
}

static bool check_key(tcp *self, alm_error *why)
{
    const alm_str signature = {self->signature, self->signature_len};
    return needs_user(self) ? check_user(self, signature, why)
                            : alm_line_keys_verify(self->shared->line_keys, alm_str_of(self->kid),
                                                   self->challenge, signature);
}

static void check_signature(alm_conn *conn, void *arg)
{
    tcp *self = arg;
    alm_error why = {.msg = "the login failed"};
    const bool good = check_key(self, &why);
    alm_login_result(alm_conn_db(conn), alm_str_of(self->net), alm_str_of(self->kid), good);
    if (!good) {
        alm_count(&self->shared->line_tcp_logins_failed, 1);
        ilp_tcp_fail(self, why.msg);
        hang_up(self);
        return;
    }
    self->phase = TCP_LINES;
    alm_conn_known(conn);
}

/* The signature waits as long as passwords would after failures of the address; no thread waits with it. */
static bool take_signature(tcp *self, alm_str signature)
{
    alm_login_wait wait;
    ALM_ASSERT(signature.len < sizeof self->signature);
    memcpy(self->signature, signature.ptr, signature.len);
    self->signature_len = signature.len;
    self->phase = TCP_WAITS;
    alm_conn_deadline(self->conn, 0);
    alm_conn_net_text(self->conn, self->net, sizeof self->net);
    alm_login_delays(alm_conn_db(self->conn), alm_str_of(self->net), alm_str_of(self->kid), &wait);
    if (wait.ms > 0)
        alm_conn_sleep(self->conn, wait.ms, check_signature, NULL, self);
    else
        check_signature(self->conn, self);
    return true;
}

/* The name of a key, then the signature of the challenge, each on a line. */
static size_t login_data(tcp *self, const char *bytes, size_t n)
{
    const char *line_end = memchr(bytes, '\n', ALM_MIN(n, (size_t)LOGIN_LINE_MAX));
    if (line_end == NULL && n < LOGIN_LINE_MAX)
        return 0;
    alm_str line = {bytes, line_end != NULL ? (size_t)(line_end - bytes) : 0};
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    ALM_ASSERT(self->phase == TCP_NAME || self->phase == TCP_SIGNATURE);
    if (line_end != NULL &&
        (self->phase == TCP_NAME ? send_challenge(self, line) : take_signature(self, line)))
        return (size_t)(line_end + 1 - bytes);
    alm_count(&self->shared->line_tcp_logins_failed, 1);
    return ilp_tcp_give_up(self, "the login failed", n);
}

/* ------------------------------------------------------------------------- lines */

static bool ilp_tcp_open_session(alm_ctx *cx, tcp *self)
{
    const char *user = self->kid[0] != 0 ? self->kid : "admin";
    if (alm_session_new(cx, alm_conn_db(self->conn), user, "line", &self->session) != ALM_OK)
        return false;
    alm_ends ends;
    alm_conn_ends(self->conn, &ends);
    alm_session_ends(self->session, &ends);
    alm_session_pid(self->session, (int32_t)alm_conn_id(self->conn));
    alm_session_no_blocks(self->session);
    if (self->who != NULL)
        alm_session_become(self->session, self->who);
    alm_request_user *requests = alm_session_requests(self->session);
    if (requests == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory") == ALM_OK;
    alm_buf_init(&self->in, &requests->requests);
    return true;
}

static size_t tcp_data(alm_conn *conn, const char *bytes, size_t n)
{
    tcp *c = alm_conn_state(conn);
    alm_ctx cx = {0};
    if (c->failed)
        return n;
    const struct alm_conf *conf = alm_db_conf(alm_conn_db(conn));
    if (conf->acl_enabled && conf->acl_require_tls && c->session == NULL &&
        !alm_conn_has_tls(conn) && !alm_conn_is_local(conn))
        return ilp_tcp_give_up(c, "acl.require.tls: logins from other hosts need TLS", n);
    if (c->phase != TCP_LINES)
        return login_data(c, bytes, n);
    if (c->session == NULL && !ilp_tcp_open_session(&cx, c))
        return ilp_tcp_give_up(c, cx.err.msg, n);
    const size_t take = ALM_MIN(n, (size_t)PIECE_BYTES);
    if (alm_buf_append(&cx, &c->in, bytes, take) != ALM_OK)
        return ilp_tcp_give_up(c, cx.err.msg, n);
    /* of who may write no table a line is read, to say which permission it needs, not one without end */
    if (c->in.len > BARRED_BYTES && !has_line(bytes, take) && !c->may_write) {
        c->may_write = alm_session_may_ingest(c->session, false) == ALM_OK;
        if (!c->may_write)
            return ilp_tcp_give_up(c, alm_session_error(c->session)->msg, n);
    }
    alm_count(&c->shared->line_tcp_bytes, (int64_t)take);
    if (has_line(bytes, take)) /* where there is no login, a line is what a client is known by */
        alm_conn_known(conn);
    if (has_line(bytes, take) || c->in.len > c->line_max)
        alm_conn_work(conn, ilp_tcp_work, done, NULL, c);
    return take;
}

static void tcp_idle(alm_conn *conn)
{
    const tcp *c = alm_conn_state(conn);
    if (alm_conn_is_late(conn) && c->phase != TCP_LINES) {
        alm_count(&c->shared->line_tcp_logins_failed, 1);
        tcp_refuse(conn, "the login took longer than line.tcp.login.timeout");
    }
}

/* The key was dropped, say. What came with the last piece is settled by now. */
static bool tcp_over(alm_conn *conn)
{
    tcp *c = alm_conn_state(conn);
    alm_ctx cx = {0};
    if (c->failed || alm_conn_is_working(conn))
        return false;
    if (c->session != NULL && alm_session_is_ended(c->session))
        ilp_tcp_fail(c, "the session was ended by an administrator");
    else if (c->who != NULL &&
             alm_login_stands(&cx, alm_conn_db(conn), c->who, &c->seen) == ALM_E_LOGIN_OVER)
        ilp_tcp_fail(c, cx.err.msg);
    else
        return false;
    hang_up(c);
    return true;
}

static void tcp_closing(alm_conn *conn)
{
    (void)conn; /* what arrived before the end is stored */
}

static void tcp_close(alm_conn *conn)
{
    tcp *c = alm_conn_state(conn);
    if (c->in.len > 0 && !c->failed) {
        alm_count(&c->shared->line_tcp_dropped, !c->within_bad);
        alm_log_warn("line tcp", "connection %llu ended within a line: %zu bytes are dropped",
                     (unsigned long long)alm_conn_id(conn), c->in.len);
    }
    alm_buf_deinit(&c->in);
    alm_session_free(c->session);
    alm_principal_release(c->who);
}

const alm_protocol alm_ilp_protocol = {.name = "line",
                                       .state_bytes = sizeof(tcp),
                                       .open = tcp_open,
                                       .data = tcp_data,
                                       .closing = tcp_closing,
                                       .over = tcp_over,
                                       .close = tcp_close,
                                       .idle = tcp_idle,
                                       .refuse = tcp_refuse,
                                       .half_close = true};
