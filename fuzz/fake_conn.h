/*
 * fake_conn.h - a connection without a socket: the functions of net/conn/loop.h over memory, so that a
 * protocol can be driven byte by byte in one thread. Included once by a harness; what is defined here
 * takes the place of net/conn/conn.c and net/conn/loop.c at link time.
 *
 * The database is made once per process, in a directory below TMPDIR. Where an input chooses the
 * statements it is read-only: those of one input must not be seen by the next.
 */
#ifndef ALM_FUZZ_FAKE_CONN_H
#define ALM_FUZZ_FAKE_CONN_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/lookup.h"
#include "net/conn/loop.h"

/* Small, so that short inputs come to the other side of them. */
enum { COPY_LOG_BYTES = 200, COPY_RECORD_BYTES = 64 << 10 };

struct alm_conn {
    alm_db *db;
    void *arg, *state;
    bool closing, paused, working;
    void (*work)(void *arg); /* NULL: somebody else does it */
    atomic_bool over;        /* and has done it */
    void (*done)(alm_conn *conn, void *arg);
    void *work_arg;
    alm_buf sent;
};

void *alm_conn_state(alm_conn *conn)
{
    return conn->state;
}
void *alm_conn_arg(const alm_conn *conn)
{
    return conn->arg;
}
alm_db *alm_conn_db(const alm_conn *conn)
{
    return conn->db;
}
alm_loop *alm_conn_loop(const alm_conn *conn)
{
    (void)conn;
    return NULL;
}
uint64_t alm_conn_id(const alm_conn *conn)
{
    (void)conn;
    return 1;
}
void alm_conn_fault(alm_conn *conn, const char *what, const char *why)
{
    (void)conn;
    (void)what;
    (void)why;
}
void alm_conn_peer(const alm_conn *conn, char *out, size_t size)
{
    (void)conn;
    (void)snprintf(out, size, "127.0.0.1");
}
void alm_conn_ends(const alm_conn *conn, struct alm_ends *out)
{
    (void)conn;
    *out = (alm_ends){"127.0.0.1", "127.0.0.1", 50000, 8812};
}
bool alm_loop_is_stopping(const alm_loop *loop)
{
    (void)loop;
    return false;
}
size_t alm_conn_unsent(const alm_conn *conn)
{
    (void)conn;
    return 0;
}
void alm_conn_finish(alm_conn *conn)
{
    conn->closing = true;
}
void alm_conn_abort(alm_conn *conn)
{
    conn->closing = true;
}
void alm_conn_reset(alm_conn *conn)
{
    conn->closing = true;
}
bool alm_conn_is_closing(const alm_conn *conn)
{
    return conn->closing;
}
const char *alm_conn_refusal(const alm_conn *conn)
{
    (void)conn;
    return NULL;
}
size_t alm_conn_unread(const alm_conn *conn)
{
    (void)conn;
    return 0;
}
bool alm_conn_is_working(const alm_conn *conn)
{
    return conn->working;
}
void alm_conn_pause(alm_conn *conn)
{
    conn->paused = true;
}
void alm_conn_resume(alm_conn *conn)
{
    conn->paused = false;
}
void alm_conn_input_max(alm_conn *conn, size_t bytes)
{
    (void)conn;
    (void)bytes;
}

void alm_conn_start_tls(alm_conn *conn, alm_tls_slot *tls, const char *bytes, size_t n)
{
    (void)conn;
    (void)tls;
    (void)bytes;
    (void)n;
}
bool alm_conn_has_tls(const alm_conn *conn)
{
    (void)conn;
    return false;
}
bool alm_conn_is_local(const alm_conn *conn)
{
    (void)conn;
    return true;
}
alm_str alm_conn_tls_binding(const alm_conn *conn)
{
    (void)conn;
    return (alm_str){0};
}
bool alm_conn_tls_named(const alm_conn *conn)
{
    (void)conn;
    return false;
}
void alm_conn_deadline(alm_conn *conn, int64_t ms)
{
    (void)conn;
    (void)ms;
}
bool alm_conn_is_late(const alm_conn *conn)
{
    (void)conn;
    return false;
}

void alm_conn_send_bytes(alm_conn *conn, const void *bytes, size_t n)
{
    alm_ctx cx = {0};
    if (!conn->closing)
        ALM_ASSERT(alm_buf_append(&cx, &conn->sent, bytes, n) == ALM_OK);
}

void alm_conn_send(alm_conn *conn, alm_buf *buf)
{
    alm_conn_send_bytes(conn, buf->ptr, buf->len);
    alm_buf_deinit(buf);
    alm_buf_init(buf, NULL);
}

void alm_conn_wait(alm_conn *conn, void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg),
                   void *arg)
{
    (void)drop;
    ALM_ASSERT(!conn->working); /* one piece at a time */
    conn->working = true;
    conn->work = NULL;
    conn->done = done;
    conn->work_arg = arg;
    atomic_store(&conn->over, false);
}

void alm_conn_work_over(alm_conn *conn)
{
    atomic_store(&conn->over, true);
}

void alm_conn_wait_not(alm_conn *conn)
{
    conn->working = false;
}

void alm_conn_work(alm_conn *conn, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void (*drop)(void *arg), void *arg)
{
    alm_conn_wait(conn, done, drop, arg);
    conn->work = work;
}

void alm_conn_wait_at_most(alm_conn *conn, int64_t ms, bool (*late)(void *arg), void *arg)
{
    (void)conn;
    (void)ms;
    (void)late;
    (void)arg;
}

void alm_conn_sleep(alm_conn *conn, int64_t ms, void (*done)(alm_conn *conn, void *arg),
                    void (*drop)(void *arg), void *arg)
{
    (void)ms;
    alm_conn_wait(conn, done, drop, arg);
    alm_conn_work_over(conn);
}

void alm_conn_work_now(alm_conn *conn, void (*work)(void *arg),
                       void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg)
{
    alm_conn_work(conn, work, done, drop, arg);
}

void alm_conn_user(alm_conn *conn, const char *identity, bool administrator)
{
    (void)conn;
    (void)identity;
    (void)administrator;
}

void alm_conn_work_in_turn(alm_conn *conn, int64_t all_max, int64_t address_max,
                           void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                           void (*drop)(void *arg), void *arg)
{
    (void)all_max;
    (void)address_max;
    alm_conn_work(conn, work, done, drop, arg);
}

bool alm_conn_pace(alm_conn *conn, int64_t per_second, int64_t running_max,
                   void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg)
{
    (void)conn;
    (void)per_second;
    (void)running_max;
    (void)done;
    (void)drop;
    (void)arg;
    return true;
}

void alm_conn_pace_over(alm_conn *conn)
{
    (void)conn;
}

void alm_conn_input_user(alm_conn *conn, alm_mem *mem)
{
    (void)conn;
    (void)mem;
}

bool alm_conn_short_of_user(const alm_conn *conn)
{
    (void)conn;
    return false;
}

void alm_conn_known(alm_conn *conn)
{
    (void)conn;
}

const uint64_t *alm_conn_net(const alm_conn *conn)
{
    static const uint64_t net[2] = {1, 0};
    (void)conn;
    return net;
}

void alm_conn_net_text(const alm_conn *conn, char *out, size_t size)
{
    alm_conn_peer(conn, out, size);
}

/* There is no other connection. */
void alm_conn_tell(alm_conn *conn, uint64_t id, void (*tell)(alm_conn *other, alm_conn *conn),
                   void (*done)(alm_conn *conn, void *arg), void *arg)
{
    (void)id;
    (void)tell;
    alm_conn_wait(conn, done, NULL, arg);
    alm_conn_work_over(conn);
}

static void fake_run_work(alm_conn *conn)
{
    while (conn->working && (!conn->closing || conn->work == NULL)) {
        if (conn->work != NULL)
            conn->work(conn->work_arg);
        while (conn->work == NULL && !atomic_load(&conn->over))
            (void)usleep(20);
        conn->working = false;
        conn->done(conn, conn->work_arg);
    }
    conn->working = false;
}

static void fake_open(alm_conn *conn, const alm_protocol *protocol, alm_db *db, void *arg)
{
    *conn = (alm_conn){.db = db, .arg = arg, .state = calloc(1, protocol->state_bytes)};
    ALM_ASSERT(conn->state != NULL);
    alm_buf_init(&conn->sent, NULL);
    protocol->open(conn);
}

/* Bytes in pieces, as the loop hands them over: what is not taken comes again with more behind it. */
static void fake_feed(alm_conn *conn, const alm_protocol *protocol, alm_str bytes, size_t piece)
{
    size_t start = 0;
    for (size_t end = 0; end < bytes.len && !conn->closing;) {
        end = ALM_MIN(end + piece, bytes.len);
        while (start < end && !conn->closing) {
            ALM_ASSERT(!conn->paused);
            const size_t n = end - start;
            char *copy = malloc(n);
            ALM_ASSERT(copy != NULL);
            (void)memcpy(copy, bytes.ptr + start, n);
            const size_t taken = protocol->data(conn, copy, n);
            free(copy);
            ALM_ASSERT(taken <= n);
            start += taken;
            const bool worked = conn->working;
            fake_run_work(conn);
            if (taken == 0 && !worked)
                break;
        }
    }
}

static void fake_close(alm_conn *conn, const alm_protocol *protocol)
{
    protocol->closing(conn);
    protocol->close(conn);
    alm_buf_deinit(&conn->sent);
    free(conn->state);
}

static alm_db *fake_database(bool read_only)
{
    static alm_conf conf;
    static alm_db *db;
    static alm_arena arena;
    if (db != NULL)
        return db;
    char root[4096];
    const char *tmp = getenv("TMPDIR");
    alm_ctx cx = {.arena = &arena};
    alm_arena_init(&arena, NULL);
    (void)snprintf(root, sizeof(root), "%s/almanac-fuzz-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ALM_ASSERT(mkdtemp(root) != NULL);
    ALM_ASSERT(alm_conf_init(&cx, &conf) == ALM_OK);
    conf.query_timeout = read_only ? 20 : 10000;
    conf.pg_auth_cleartext = true;
    conf.pg_security_readonly = read_only;
    conf.http_security_readonly = read_only;
    conf.copy_log_bytes_max = COPY_LOG_BYTES;
    conf.copy_record_bytes_max = COPY_RECORD_BYTES;
    if (!read_only)
        conf.wal_sync = "off";
    ALM_ASSERT(alm_db_new(&cx, alm_io_posix(), root, &conf, &db) == ALM_OK);
    return db;
}

/* Settings of the next connection. */
static inline alm_conf *fake_conf(alm_db *db)
{
    return (alm_conf *)(uintptr_t)alm_db_conf(db);
}

static inline void fake_execute(alm_db *db, const char *text)
{
    alm_ctx cx = {0};
    alm_session *s = NULL;
    alm_prepared *p = NULL;
    alm_cursor *c = NULL;
    ALM_ASSERT(alm_session_new(&cx, db, "admin", "fuzz", &s) == ALM_OK);
    ALM_ASSERT(alm_prepare(s, alm_str_of(text), NULL, &p) == ALM_OK);
    ALM_ASSERT(alm_execute(s, p, NULL, 0, &c) == ALM_OK);
    alm_cursor_close(c);
    alm_prepared_free(p);
    alm_session_free(s);
}

#endif
