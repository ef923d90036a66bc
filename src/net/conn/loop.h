/*
 * loop.h - event loop threads with their connections, and the query threads that do what is too
 * long for them. Private to net/.
 *
 * Lanes           Each loop thread is a lane (net.loop.count). A connection lives on one lane from its first byte to
 *                 its last: "the loop thread" of a connection is that of its lane. What connections share has locks.
 * A protocol (HTTP, PG wire, health) is a table of callbacks that run on the loop thread. It never
 * blocks: what may take long it hands to a query thread with alm_conn_work, one piece at a time per
 * connection, and goes on in `done`, on the loop thread again.
 *
 * Back-pressure   Bytes to send queue up in the connection. A protocol that streams makes its next
 *                 piece only while alm_conn_unsent is below its mark, and continues in `drained`. While
 *                 a client does not read, its query holds a snapshot and this buffer, no thread.
 *                 Input is not read while alm_conn_pause holds.
 * Lifetime        A connection that is closed while a piece of work runs stays until the piece is done
 *                 (its query is cancelled by the protocol's `closing`), then `close` is called once.
 * Limits          connections per listener, and of all of them so many that descriptors are left for
 *                 files; whoever is over gets the reason (`refuse`). Idle time: what brings less than
 *                 a message in it is idle too.
 */
#ifndef ALM_NET_LOOP_H
#define ALM_NET_LOOP_H

#include "base/counter.h"
#include "net/conn/tls.h"
#include "session/session.h"

typedef struct alm_loop alm_loop;
typedef struct alm_conn alm_conn;
typedef struct alm_listener alm_listener;

typedef struct alm_protocol {
    const char *name;
    size_t state_bytes; /* zeroed memory per connection: alm_conn_state */
    /* First call for a connection. */
    void (*open)(alm_conn *conn);
    /* All unread bytes so far. Returns how many were taken; the rest comes again with more behind it.
     * Not called while paused or while work runs. */
    size_t (*data)(alm_conn *conn, const char *bytes, size_t n);
    /* There is no memory for more unread bytes (input_mem), and `data` wants them: it must be able to
     * take those that are there now. NULL: the connection is closed. */
    void (*starved)(alm_conn *conn);
    /* The send queue is empty. */
    void (*drained)(alm_conn *conn);
    /* The client is gone (or is being closed) while work may be running: cancel it. Any state. */
    void (*closing)(alm_conn *conn);
    /* Last call: free what hangs on the state. */
    void (*close)(alm_conn *conn);
    /* Idle for the listener's time, or past its deadline: say something; it is closed then. NULL: close
     * silently. */
    void (*idle)(alm_conn *conn);
    /* Asked four times a second, whether work runs or not: is the connection to end, whatever its client does? It has said why
     * then, and is closed as one that was idle. NULL: never. */
    bool (*over)(alm_conn *conn);
    /* The server stops, nothing of the connection runs: says so; it is closed then. NULL: silently. */
    void (*stopping)(alm_conn *conn);
    /* Says why to a connection that finds no place, before it is closed. */
    void (*refuse)(alm_conn *conn, const char *why);
    /* Connections over the limit are taken (up to twice the limit); the protocol asks
     * alm_conn_refusal and says so in its own words when its client can hear it. */
    bool refuses_late;
    /* What came before the client ended its side is handed to `data` still; then the connection ends. */
    bool half_close;
} alm_protocol;

/* ------------------------------------------------------------------------ loop */

/* lanes 0: one for each processor, at most 4. */
ALM_NODISCARD alm_status alm_loop_new(alm_ctx *cx, alm_db *db, uint32_t lanes,
                                      uint32_t query_threads, alm_loop **out);
/* Starts the loop threads; listeners are added before. */
ALM_NODISCARD alm_status alm_loop_start(alm_ctx *cx, alm_loop *loop);
/* Stops accepting, closes idle connections, waits up to grace_ms for the others, then cancels. */
void alm_loop_stop(alm_loop *loop, int64_t grace_ms);
void alm_loop_free(alm_loop *loop);
alm_db *alm_loop_db(const alm_loop *loop);
bool alm_loop_is_stopping(const alm_loop *loop);
/* Another number of query threads from now on. */
void alm_loop_query_threads(alm_loop *loop, uint32_t threads);

/* Of all connections of a listener. Bytes as they are on the wire. */
typedef struct alm_traffic {
    alm_counter connections; /* now */
    alm_counter accepted, refused, idle_closed, bytes_in, bytes_out;
} alm_traffic;

typedef struct alm_listen_conf {
    const char *address; /* host:port, [v6]:port; port 0: the system picks */
    const alm_protocol *protocol;
    void *arg;                     /* alm_conn_arg */
    const int64_t *connection_max; /* read again for each connection: settings change */
    const char *limit_name;        /* the setting behind connection_max */
    const int64_t
        *address_max; /* connections of one address; NULL, or 0 in it: no limit of its own */
    const char *address_name; /* the setting behind it */
    const int64_t *
        reserve_percent; /* of connection_max: places beyond it, for addresses that have few; NULL: none */
    const int64_t *
        silent_ms; /* so long a connection may be unknown while others wait for its place; NULL: for ever */
    const int64_t *
        login_ms; /* what a connection has until the protocol takes its deadline back; NULL: no limit */
    bool logins;            /* clients are unknown until they have logged in (alm_conn_known) */
    const int64_t *idle_ms; /* of a setting, too; NULL, or 0 in it: for ever */
    alm_tls_slot *tls;      /* connections speak TLS from their first byte on; NULL: they do not */
    const int64_t *tls_ms;  /* with tls: time for the handshake */
    alm_traffic *traffic;   /* counted there */
    const int64_t *rcvbuf,
        *sndbuf;        /* of the socket, in bytes; NULL, or -1: as the system has them */
    alm_mem *input_mem; /* account of unread bytes but the first 96 KiB of each, or NULL */
} alm_listen_conf;
ALM_NODISCARD alm_status alm_loop_listen(alm_ctx *cx, alm_loop *loop, const alm_listen_conf *conf,
                                         alm_listener **out);
const char *alm_listener_address(const alm_listener *listener); /* with the real port */
int64_t alm_listener_connections(const alm_listener *listener);
/* "host:port", "[v6]:port" into its parts. */
bool alm_address_split(const char *address, char host[64], int *port);
/* Is the host part of "host:port" a loopback address? */
bool alm_address_is_loopback(const char *address);

/* ------------------------------------------------------------------ connections */

void *alm_conn_state(alm_conn *conn);
void *alm_conn_arg(const alm_conn *conn);
alm_db *alm_conn_db(const alm_conn *conn);
alm_loop *alm_conn_loop(const alm_conn *conn);
uint64_t alm_conn_id(const alm_conn *conn); /* never reused while the process lives */
/* Calls tell(other, conn) on the loop thread of the connection with that id, if it is there still, then
 * done(conn, arg) on that of `conn`, which waits meanwhile: `tell` may read its state. */
void alm_conn_tell(alm_conn *conn, uint64_t id, void (*tell)(alm_conn *other, alm_conn *conn),
                   void (*done)(alm_conn *conn, void *arg), void *arg);

/* Queues the bytes of `buf`, which is left empty (its memory goes with the write). */
void alm_conn_send(alm_conn *conn, alm_buf *buf);
/* Queues a copy. */
void alm_conn_send_bytes(alm_conn *conn, const void *bytes, size_t n);
size_t alm_conn_unsent(const alm_conn *conn);
size_t alm_conn_unread(const alm_conn *conn); /* bytes that the protocol has not taken */
/* From here on the connection speaks TLS, from the n bytes of the client on, which the protocol takes. */
void alm_conn_start_tls(alm_conn *conn, alm_tls_slot *tls, const char *bytes, size_t n);
bool alm_conn_has_tls(const alm_conn *conn);
/* The channel binding of the certificate that it began with; len 0: none. */
alm_str alm_conn_tls_binding(const alm_conn *conn);
/* Unread bytes are charged to this account, too, from here on; the charge is given back before `close` is called. */
void alm_conn_input_user(alm_conn *conn, alm_mem *mem);
/* In `starved`: is it the account of the user that is full? */
bool alm_conn_short_of_user(const alm_conn *conn);
/* Who it is is known, or need not be: its place is its own now. Cheap after the first time. */
void alm_conn_known(alm_conn *conn);
/* The address that limits per client count by: v4 in net[0]; v6: the first 64 bits, and net[1] is 1. */
const uint64_t *alm_conn_net(const alm_conn *conn);
/* The same as text, terminated: "192.0.2.1", "2001:db8:0:1::/64"; "" when the peer is gone. */
void alm_conn_net_text(const alm_conn *conn, char *out, size_t size);
/* Is the peer on this machine? */
bool alm_conn_is_local(const alm_conn *conn);
/* The peer's address without its port, terminated; "" when it is gone. */
void alm_conn_peer(const alm_conn *conn, char *out, size_t size);
/* The client did what it may not: a line of the log at most (faults.h). what: a kind of fault, a constant; why: nothing that the client sent. */
void alm_conn_fault(alm_conn *conn, const char *what, const char *why);
struct alm_ends; /* base/lookup.h */
void alm_conn_ends(const alm_conn *conn, struct alm_ends *out);
/* Did the client name the protocol when it started TLS? */
bool alm_conn_tls_named(const alm_conn *conn);
/* Unless that is taken back (millis 0) the connection ends after so long, whatever it sends. */
void alm_conn_deadline(alm_conn *conn, int64_t millis);
/* Is it over? Else `idle` is called for other reasons. */
bool alm_conn_is_late(const alm_conn *conn);
/* No more input; closes when the queue is empty and the peer has closed too, or after two seconds. */
void alm_conn_finish(alm_conn *conn);
/* Closes now; queued bytes are lost. */
void alm_conn_abort(alm_conn *conn);
/* The same, and the peer hears that what it has is not all (RST); with TLS by the missing close_notify, too. */
void alm_conn_reset(alm_conn *conn);
bool alm_conn_is_closing(const alm_conn *conn);
/* Why the connection finds no place; NULL: it has one. */
const char *alm_conn_refusal(const alm_conn *conn);
void alm_conn_pause(alm_conn *conn);
/* Reads again; bytes that are there already are handed to `data` soon. */
void alm_conn_resume(alm_conn *conn);
/* No more is read while so many bytes stand unread in the connection (the buffer grows up to it). */
void alm_conn_input_max(alm_conn *conn, size_t bytes);

/*
 * Runs work(arg) on a query thread, then done(conn, arg) on the loop thread. Not while another piece
 * of the same connection runs. The connection is paused meanwhile. done is not called when the
 * connection was closed; drop(arg), if given, is called then instead.
 */
void alm_conn_work(alm_conn *conn, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void (*drop)(void *arg), void *arg);
/* The same for what is short and may not wait until statements end: log-ins. */
void alm_conn_work_now(alm_conn *conn, void (*work)(void *arg),
                       void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg);
/* Whose pieces of work these are from here on: those of one user leave query threads to others, and the administrator's
 * go on when all are taken. NULL: nobody logged in. */
void alm_conn_user(alm_conn *conn, const char *identity, bool administrator);
/* Work that somebody else does: as above, but instead of a query thread who has done it calls
 * alm_conn_work_over, from any thread. */
void alm_conn_wait(alm_conn *conn, void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg),
                   void *arg);
/* The wait ends after so many millis (looked at four times a second), if late(arg) says that nobody else ends it any more. */
void alm_conn_wait_at_most(alm_conn *conn, int64_t millis, bool (*late)(void *arg), void *arg);
void alm_conn_work_over(alm_conn *conn);
/* Calls done after so many millis (looked at four times a second). No thread waits; it ends at once where the connection does. */
void alm_conn_sleep(alm_conn *conn, int64_t millis, void (*done)(alm_conn *conn, void *arg),
                    void (*drop)(void *arg), void *arg);
/* As alm_conn_work, for work that is dear and that anybody may ask for (passwords): no more than all_max pieces at once, and address_max
 * of one address; the others wait for their turns, without a thread. */
void alm_conn_work_in_turn(alm_conn *conn, int64_t all_max, int64_t address_max,
                           void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                           void (*drop)(void *arg), void *arg);
/* A question to somebody else, so many a second for an address and so many under way (pace.h). True: now. False: the connection waits, and
 * done is called when it may. Either way alm_conn_pace_over says that the answer came; where it was not begun, nothing. */
bool alm_conn_pace(alm_conn *conn, int64_t per_second, int64_t running_max,
                   void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg);
void alm_conn_pace_over(alm_conn *conn);
void alm_conn_wait_not(alm_conn *conn); /* nobody does it after all */
bool alm_conn_is_working(const alm_conn *conn);

#endif
