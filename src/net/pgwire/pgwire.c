/* pgwire.c - the PG protocol on a connection: framing of messages, life of a connection. */
#include "net/pgwire/pgwire.h"

#include <stdio.h>
#include <stdlib.h>

#include "auth/rights.h"
#include "base/log.h"
#include "net/pgwire/pg_state.h"
#include "session/core/requests.h"

enum { LOGIN_BYTES_MAX = 70000, TLS_HANDSHAKE = 0x16 };

alm_status alm_pg_new(alm_ctx *cx, alm_db *db, alm_pg **out)
{
    const alm_io *io = alm_io_posix();
    alm_pg *pg = calloc(1, sizeof(*pg));
    if (pg == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    pg->db = db;
    alm_status status = ALM_OK;
    const int code = ALM_MIN(io->random(io, pg->secret, sizeof(pg->secret)),
                             io->random(io, pg->salt, sizeof(pg->salt)));
    if (code < 0)
        status = alm_io_fail(cx, code, "random bytes");
    if (status == ALM_OK)
        status = alm_pg_accounts_make(cx, pg, alm_db_conf(db), &pg->accounts);
    if (status != ALM_OK) {
        free(pg);
        return status;
    }
    (void)pthread_mutex_init(&pg->lock, NULL);
    *out = pg;
    return ALM_OK;
}

void alm_pg_free(alm_pg *pg)
{
    if (pg == NULL)
        return;
    (void)pthread_mutex_destroy(&pg->lock);
    free(pg);
}

alm_status alm_pg_accounts_make(alm_ctx *cx, const alm_pg *pg, const struct alm_conf *conf,
                                alm_pg_accounts *out)
{
    ALM_TRY(alm_scram_verifier_make(cx, alm_str_of(conf->pg_password), pg->salt,
                                    ALM_SCRAM_ITERATIONS, &out->admin));
    return alm_scram_verifier_make(cx, alm_str_of(conf->pg_readonly_password), pg->salt,
                                   ALM_SCRAM_ITERATIONS, &out->reader);
}

void alm_pg_accounts_take(alm_pg *pg, const alm_pg_accounts *accounts)
{
    (void)pthread_mutex_lock(&pg->lock);
    pg->accounts = *accounts;
    (void)pthread_mutex_unlock(&pg->lock);
}

void alm_pg_use_tls(alm_pg *pg, alm_tls_slot *tls)
{
    pg->tls = tls;
}

static void pg_open(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    wire->conn = conn;
    wire->pg = alm_conn_arg(conn);
    alm_arena_init(&wire->arena, NULL);
    alm_buf_init(&wire->out, NULL);
    alm_buf_init(&wire->copy_data, NULL);
    alm_map_init(&wire->statements, false);
    alm_map_init(&wire->portals, false);
    wire->cx = (alm_ctx){.arena = &wire->arena, .conf = alm_db_conf(wire->pg->db)};
    wire->piece_bytes = (size_t)wire->cx.conf->pg_send_buffer_size;
    alm_conn_input_max(conn, LOGIN_BYTES_MAX);
    alm_conn_deadline(conn, wire->cx.conf->pg_login_timeout);
}

static void pg_closing(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    if (wire->session != NULL)
        alm_session_abandon(wire->session);
}

static void pg_close(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    pg_run_clear(wire);
    pg_drop_all(wire);
    alm_map_deinit(&wire->statements);
    alm_map_deinit(&wire->portals);
    alm_buf_deinit(&wire->copy_data);
    alm_session_free(wire->session);
    alm_requests_leave(wire->pg->db, wire->requests);
    alm_principal_release(wire->who);
    alm_renewal_end(&wire->renewal);
    alm_buf_deinit(&wire->out);
    alm_arena_deinit(&wire->arena);
}

static void too_long(pg_conn *conn, uint32_t length)
{
    alm_error err = {.code = ALM_E_LIMIT, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg),
                   "message of %u bytes: the limit is pg.message.bytes.max", length);
    pg_send_error(conn, &err, (alm_str){0}, true);
    pg_flush(conn);
    alm_conn_finish(conn->conn);
}

/* A message larger than what is read ahead is read up to its end. */
static void want(pg_conn *conn, size_t bytes)
{
    const size_t ahead = (size_t)conn->cx.conf->pg_recv_buffer_size;
    if (conn->phase != PG_READY || conn->wants == bytes)
        return;
    conn->wants = bytes;
    alm_conn_input_max(conn->conn, ALM_MAX(ahead, bytes));
}

/* One message at the start of the bytes; bytes taken, 0: not complete. */
static size_t one_message(pg_conn *conn, const char *bytes, size_t n)
{
    const size_t head = conn->phase == PG_STARTUP ? 4 : 5;
    if (conn->phase == PG_STARTUP && bytes[0] == TLS_HANDSHAKE && conn->pg->tls != NULL &&
        !alm_conn_has_tls(conn->conn)) {
        conn->direct = true; /* without asking first */
        alm_conn_start_tls(conn->conn, conn->pg->tls, bytes, n);
        return n;
    }
    if (n < head)
        return 0;
    const uint32_t length = alm_be_get32(bytes + head - 4);
    const int64_t max =
        conn->phase == PG_READY ? conn->cx.conf->pg_message_bytes_max : LOGIN_BYTES_MAX;
    if (conn->phase == PG_STARTUP && (length < 8 || length > 10000)) {
        alm_conn_fault(conn->conn, PG_BROKEN, "not a start-up packet");
        alm_conn_abort(conn->conn); /* not a PG client */
        return n;
    }
    if (length < 4) {
        alm_error err = {.code = ALM_E_PROTOCOL, .sql_pos = -1, .msg = "invalid message length"};
        alm_conn_fault(conn->conn, PG_BROKEN, err.msg);
        pg_send_error(conn, &err, (alm_str){0}, true);
        pg_flush(conn);
        alm_conn_finish(conn->conn);
        return n;
    }
    if ((int64_t)length > max) {
        too_long(conn, length);
        return n;
    }
    const size_t total = head - 4 + length;
    /* An Execute is looked at when it is known what follows: nobody waits for it without a Sync or Flush. */
    const bool look_ahead = conn->phase == PG_READY && bytes[0] == ALM_PG_CLIENT_EXECUTE &&
                            !conn->skip && !conn->copying;
    if (n < total + look_ahead) {
        conn->message_type = bytes[0];
        conn->message_bytes = total;
        want(conn, total + look_ahead);
        return 0;
    }
    const pg_admission admission =
        conn->phase == PG_READY ? pg_external_admits(conn, bytes[0]) : PG_ADMITTED;
    if (admission == PG_WAITS)
        return alm_conn_is_closing(conn->conn) ? n : 0;
    want(conn, 0);
    if (admission == PG_NOT_NOW) {
        pg_message_refused(conn, bytes[0], ALM_E_PROVIDER, "identity provider not reachable");
        return total;
    }
    conn->ahead = look_ahead ? bytes[total] : 0;
    conn->more = n > total;
    const char *body = bytes + head;
    const alm_error *why;
    if (conn->phase == PG_READY && alm_session_gives_way(conn->session, &why))
        pg_cursors_give_back(conn, 0, why->code, why->msg);
    if (conn->phase == PG_STARTUP)
        (void)pg_startup(conn, body, length - 4);
    else if (conn->phase == PG_READY)
        pg_message(conn, bytes[0], body, length - 4);
    else
        pg_login_message(conn, bytes[0], body, length - 4);
    return total;
}

static size_t pg_data(alm_conn *conn, const char *bytes, size_t n)
{
    pg_conn *wire = alm_conn_state(conn);
    size_t taken = 0;
    while (taken < n && !wire->running && !alm_conn_is_working(conn) &&
           !alm_conn_is_closing(conn)) {
        if (wire->dropping > 0) {
            const size_t gone = ALM_MIN(wire->dropping, n - taken);
            wire->dropping -= gone;
            taken += gone;
            continue;
        }
        const size_t step = one_message(wire, bytes + taken, n - taken);
        if (step == 0)
            break;
        taken += step;
        if (!wire->running &&
            wire->out.len >= wire->piece_bytes) /* a query thread may be writing it */
            pg_flush(wire);
    }
    return alm_conn_is_closing(conn) ? n : taken;
}

/* The message that comes in is answered now; the rest of it goes as it comes. */
static void pg_starved(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    char text[200];
    const size_t bytes = wire->wants;
    if (wire->phase != PG_READY || bytes == 0) {
        alm_conn_abort(conn);
        return;
    }
    want(wire, 0);
    if (alm_conn_short_of_user(conn))
        (void)snprintf(
            text, sizeof(text),
            "no memory for a message of %zu bytes: the limit is request.memory.user.max, or "
            "request.memory.max for all clients",
            bytes);
    else
        (void)snprintf(
            text, sizeof(text),
            "no memory for a message of %zu bytes: the limit for those of all connections is "
            "pg.input.memory.max (%lld)",
            bytes, (long long)wire->cx.conf->pg_input_memory_max);
    wire->dropping = wire->message_bytes;
    pg_message_refused(wire, wire->message_type, ALM_E_MEMORY, text);
}

static void pg_drained(alm_conn *conn)
{
    pg_run_drained(alm_conn_state(conn));
}

static void pg_idle(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    alm_error err = {.code = ALM_E_IDLE, .sql_pos = -1};
    const char *why = "connection was idle longer than pg.net.connection.timeout";
    if (wire->phase == PG_STARTUP)
        return;
    if (wire->phase != PG_READY) {
        err.code = ALM_E_TIMEOUT;
        why = "canceling authentication due to timeout: pg.login.timeout";
    } else if (alm_conn_is_late(conn) && alm_session_tx_state(wire->session) == ALM_TX_IDLE) {
        why = "terminating connection due to idle-session timeout: idle_session_timeout";
    } else if (alm_conn_is_late(conn)) {
        err.code = ALM_E_IDLE_BLOCK;
        why = "terminating connection due to idle-in-transaction timeout: "
              "idle_in_transaction_session_timeout";
    }
    (void)snprintf(err.msg, sizeof(err.msg), "%s", why);
    pg_send_error(wire, &err, (alm_str){0}, true);
    pg_flush(wire);
}

/*
 * No query thread is at work: rows that stand still, and those that wait for their reader, hold memory for as long as
 * their client likes, up to here. True: the connection is over.
 */
static bool pgwire_look(pg_conn *conn)
{
    const struct alm_conf *conf = conn->cx.conf;
    const alm_error *why;
    alm_error aged;
    const bool waiting = conn->running && conn->run.waiting;
    if (conn->phase != PG_READY || (conn->running && !waiting))
        return false;
    if (alm_session_take_cancel(conn->session, &why)) {
        if (waiting)
            pg_run_break(conn, why);
        pg_cursors_give_back(conn, 0, why->code, why->msg);
        if (waiting)
            alm_conn_resume(conn->conn); /* the next message may run at once */
        return false;
    }
    if (waiting && pg_run_is_aged(conn, &aged)) {
        pg_run_break(conn, &aged);
        pg_cursors_drop_aged(conn);
        alm_conn_resume(conn->conn);
        return false;
    }
    pg_cursors_drop_aged(conn);
    if (conf->pg_cursor_idle_timeout > 0)
        pg_cursors_give_back(conn, conf->pg_cursor_idle_timeout * 1000000, ALM_E_PORTAL,
                             "it was idle longer than pg.cursor.idle.timeout");
    const int64_t waited_ms =
        waiting ? (alm_monotonic_ns() - conn->run.waiting_since_ns) / 1000000 : 0;
    if (!waiting || waited_ms < conf->pg_send_timeout)
        return false;
    alm_log_warn("pg",
                 "a connection was closed: its client has not read for longer than pg.send.timeout "
                 "(%lld ms)",
                 (long long)conf->pg_send_timeout);
    alm_conn_abort(conn->conn);
    return true;
}

/* The login has ended, or somebody ended the session: its cursors and its transaction go with it. */
static bool pg_over(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    alm_ctx cx = {.conf = wire->cx.conf};
    alm_error err = {.code = ALM_E_SHUTDOWN,
                     .sql_pos = -1,
                     .msg = "terminating connection due to administrator command"};
    if (wire->session == NULL)
        return false;
    const bool ended = alm_session_is_ended(wire->session);
    if (alm_conn_is_working(conn)) { /* the session is that of a query thread now */
        if (wire->who != NULL &&
            (alm_login_stands(&cx, wire->pg->db, wire->who, &wire->seen) == ALM_E_LOGIN_OVER ||
             !pg_external_stands(wire)))
            alm_session_cancel(wire->session, 0);
        return false;
    }
    const bool cut = wire->running && !pg_external_stands(wire); /* rows wait for their reader */
    if (!ended && !cut && alm_session_still(&cx, wire->session) != ALM_E_LOGIN_OVER &&
        pg_account_stands(wire, &cx))
        return pgwire_look(wire);
    if (!ended)
        err = cx.err;
    if (!ended && wire->who != NULL && atomic_load(&wire->who->over)) /* as a message hears it */
        err = (alm_error){.code = ALM_E_AUTH_SPEC,
                          .sql_pos = -1,
                          .msg = "the token of this connection is not valid any more"};
    if (wire->running) { /* its client does not read: there is no place for a message */
        alm_conn_abort(conn);
        return true;
    }
    pg_send_error(wire, &err, (alm_str){0}, true);
    pg_flush(wire);
    return true;
}

static void pg_stopping(alm_conn *conn)
{
    pg_conn *wire = alm_conn_state(conn);
    const alm_error err = {.code = ALM_E_SHUTDOWN,
                           .sql_pos = -1,
                           .msg = "terminating connection due to administrator command"};
    if (wire->phase == PG_STARTUP)
        return;
    pg_send_error(wire, &err, (alm_str){0}, true);
    pg_flush(wire);
}

/* Far over the limit: before the client said a word. */
static void pg_refuse(alm_conn *conn, const char *why)
{
    pg_conn *wire = alm_conn_state(conn);
    alm_error err = {.code = ALM_E_BUSY, .sql_pos = -1};
    (void)snprintf(err.msg, sizeof(err.msg), "%s", why);
    pg_send_error(wire, &err, (alm_str){0}, true);
    pg_flush(wire);
}

const alm_protocol alm_pg_protocol = {.name = "pg",
                                      .state_bytes = sizeof(pg_conn),
                                      .open = pg_open,
                                      .data = pg_data,
                                      .starved = pg_starved,
                                      .drained = pg_drained,
                                      .closing = pg_closing,
                                      .close = pg_close,
                                      .idle = pg_idle,
                                      .over = pg_over,
                                      .stopping = pg_stopping,
                                      .refuse = pg_refuse,
                                      .refuses_late = true};
