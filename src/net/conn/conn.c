/*
 * conn.c - one TCP connection on the loop: input buffer, send queue, pieces of work, closing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/hash.h"
#include "base/log.h"
#include "net/conn/loop_state.h"

enum {
    READ_STEP = 16 << 10,
    IN_FREE = 96 << 10,  /* bytes of input that are in no account: as many as a login takes */
    IN_KEPT = 256 << 10, /* a buffer that large is given back when a large request is over */
    /* Bytes of TLS without any of the client that are taken; a record may come in pieces. */
    TLS_ALONE_MAX = 64 << 10,
    TLS_ALONE_FREE = 64,  /* beside bytes of the client: of a record that came in pieces */
    OUT_MARK = 1 << 20,   /* unsent bytes over which no more input is handled */
    SEAL_STEP = 16 << 10, /* a record of TLS */
    LINGER_MS = 2000
};

typedef struct write_request {
    uv_write_t req;
    alm_conn *conn;
    size_t n;
    char *bytes; /* owned */
} write_request;

static void net_conn_feed(alm_conn *conn);
static void drop_input(alm_conn *conn);

void *alm_conn_state(alm_conn *conn)
{
    return conn->state;
}
void *alm_conn_arg(const alm_conn *conn)
{
    return conn->listener->conf.arg;
}
alm_db *alm_conn_db(const alm_conn *conn)
{
    return conn->listener->loop->db;
}
alm_loop *alm_conn_loop(const alm_conn *conn)
{
    return conn->listener->loop;
}
uint64_t alm_conn_id(const alm_conn *conn)
{
    return conn->id;
}
size_t alm_conn_unsent(const alm_conn *conn)
{
    return conn->unsent;
}
bool alm_conn_is_closing(const alm_conn *conn)
{
    return conn->closing || conn->finishing;
}
size_t alm_conn_unread(const alm_conn *conn)
{
    return conn->in_len;
}
const char *alm_conn_refusal(const alm_conn *conn)
{
    return conn->refusal;
}
bool alm_conn_is_working(const alm_conn *conn)
{
    return conn->working;
}
void alm_conn_known(alm_conn *conn)
{
    if (!conn->known)
        alm_peers_known(conn);
    conn->known = true;
}
void alm_conn_input_max(alm_conn *conn, size_t bytes)
{
    conn->in_max = bytes;
}

bool alm_conn_has_tls(const alm_conn *conn)
{
    return conn->tls != NULL;
}
alm_str alm_conn_tls_binding(const alm_conn *conn)
{
    return conn->tls != NULL ? alm_tls_binding(conn->tls) : (alm_str){0};
}

bool alm_conn_tls_named(const alm_conn *conn)
{
    return conn->tls != NULL && alm_tls_named_protocol(conn->tls);
}

void alm_conn_deadline(alm_conn *conn, int64_t millis)
{
    conn->deadline_ms = millis > 0 ? (int64_t)uv_now(&conn->lane->uv) + millis : 0;
}

bool alm_conn_is_late(const alm_conn *conn)
{
    return conn->deadline_ms > 0 && (int64_t)uv_now(&conn->lane->uv) >= conn->deadline_ms;
}

void alm_conn_touch(alm_conn *conn)
{
    conn->active_ms = (int64_t)uv_now(&conn->lane->uv);
}

/* ------------------------------------------------------------------ closing */

static alm_traffic *traffic_of(const alm_conn *conn)
{
    return conn->listener->conf.traffic;
}

static void free_conn(alm_conn *conn)
{
    alm_lane *lane = conn->lane;
    alm_peers_remove(conn);
    if (conn->prev != NULL)
        conn->prev->next = conn->next;
    else
        lane->conns = conn->next;
    if (conn->next != NULL)
        conn->next->prev = conn->prev;
    drop_input(conn);
    conn->listener->conf.protocol->close(conn);
    alm_tls_stream_free(conn->tls);
    free(conn->refusal);
    alm_conn_uncount(conn);
    free(conn);
    if (atomic_load(&lane->loop->stopping))
        (void)uv_async_send(&lane->wake);
}

static void maybe_free(alm_conn *conn)
{
    if (conn->closed && !conn->working && !conn->feeding)
        free_conn(conn);
}

static void net_conn_on_close(uv_handle_t *handle)
{
    alm_conn *conn = handle->data;
    conn->closed = true;
    if (conn->working && (conn->sleeping || alm_turns_take_out(conn) ||
                          alm_pace_take_out(conn))) { /* nobody else ends it */
        alm_conn_work_done(conn);
        return;
    }
    maybe_free(conn);
}

/* False: it is closing already. */
static bool begin_closing(alm_conn *conn)
{
    if (conn->closing)
        return false;
    conn->closing = true;
    conn->listener->conf.protocol->closing(conn);
    return true;
}

void alm_conn_close_now(alm_conn *conn)
{
    if (begin_closing(conn))
        uv_close((uv_handle_t *)&conn->tcp, net_conn_on_close);
}

void alm_conn_abort(alm_conn *conn)
{
    alm_conn_close_now(conn);
}

void alm_conn_reset(alm_conn *conn)
{
    if (begin_closing(conn) &&
        uv_tcp_close_reset(&conn->tcp, net_conn_on_close) != 0) /* a shutdown is on its way */
        uv_close((uv_handle_t *)&conn->tcp, net_conn_on_close);
}

static void start_lingering(alm_conn *conn);
static void flush_sealed(alm_conn *conn);

static void on_shutdown(uv_shutdown_t *req, int status)
{
    alm_conn *conn = req->data;
    free(req);
    if (status < 0 || conn->eof)
        alm_conn_close_now(conn);
    else
        start_lingering(conn);
}

/*
 * The last bytes are out: tell the peer, then read and drop what it still sends until it closes too,
 * for a while. Closing with unread input would reset the connection, and the peer could lose the
 * answer (RFC 9112 9.6).
 */
static void shut_down(alm_conn *conn)
{
    if (conn->tls != NULL && !conn->sealed_end) {
        conn->sealed_end = true;
        alm_tls_end(conn->tls);
        flush_sealed(conn);
        if (conn->writes > 0 || conn->closing)
            return; /* on_written comes back */
    }
    uv_shutdown_t *req = malloc(sizeof(*req));
    if (req == NULL) {
        alm_conn_close_now(conn);
        return;
    }
    req->data = conn;
    if (uv_shutdown(req, (uv_stream_t *)&conn->tcp, on_shutdown) != 0) {
        free(req);
        alm_conn_close_now(conn);
    }
}

void alm_conn_finish(alm_conn *conn)
{
    if (conn->finishing || conn->closing)
        return;
    conn->finishing = true;
    conn->in_len = 0;
    if (conn->writes == 0)
        shut_down(conn);
}

/* ------------------------------------------------------------------ sending */

static void on_written(uv_write_t *req, int status)
{
    write_request *write = (write_request *)req;
    alm_conn *conn = write->conn;
    conn->unsent -= write->n;
    conn->writes--;
    free(write->bytes);
    free(write);
    alm_conn_touch(conn);
    if (status < 0) {
        alm_conn_close_now(conn);
        return;
    }
    if (conn->writes > 0 || conn->closing)
        return;
    if (conn->finishing) {
        shut_down(conn);
        return;
    }
    if (conn->listener->conf.protocol->drained != NULL)
        conn->listener->conf.protocol->drained(conn);
    net_conn_feed(conn); /* requests that waited for the client to read */
}

/* What the socket takes at once is written at once; the rest waits in the loop. */
static void send_owned(alm_conn *conn, char *bytes, size_t n)
{
    uv_buf_t buf = uv_buf_init(bytes, (unsigned int)n);
    size_t done = 0;
    alm_count(&traffic_of(conn)->bytes_out, (int64_t)n);
    if (conn->writes == 0) {
        const int wrote = uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
        if (wrote > 0)
            done = (size_t)wrote;
        alm_conn_touch(conn);
        if (done == n) {
            free(bytes);
            return;
        }
    }
    write_request *write = malloc(sizeof(*write));
    if (write == NULL) {
        free(bytes);
        alm_conn_close_now(conn);
        return;
    }
    *write = (write_request){.conn = conn, .n = n - done, .bytes = bytes};
    buf = uv_buf_init(bytes + done, (unsigned int)(n - done));
    if (uv_write(&write->req, (uv_stream_t *)&conn->tcp, &buf, 1, on_written) != 0) {
        free(bytes);
        free(write);
        alm_conn_close_now(conn);
        return;
    }
    conn->writes++;
    conn->unsent += n - done;
}

/* What TLS has for the peer goes to the end of `out`. */
static bool take_sealed(alm_conn *conn, alm_buf *out)
{
    alm_ctx cx = {0};
    const size_t n = alm_tls_pending(conn->tls);
    if (alm_buf_reserve(&cx, out, n) != ALM_OK)
        return false;
    if (n > 0)
        alm_tls_output(conn->tls, out->ptr + out->len, n);
    out->len += n;
    return true;
}

static void send_or_free(alm_conn *conn, alm_buf *out, bool ok)
{
    if (ok && out->len > 0 && !conn->closing) {
        send_owned(conn, out->ptr, out->len);
        return;
    }
    alm_buf_deinit(out);
    if (!ok)
        alm_conn_close_now(conn);
}

/* Messages of TLS itself: handshake, alerts, its end. */
static void flush_sealed(alm_conn *conn)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    send_or_free(conn, &out, take_sealed(conn, &out));
}

/* A record at a time, so that the memory between is small. Before the handshake nothing can be said. */
static void send_sealed(alm_conn *conn, const char *bytes, size_t n)
{
    alm_buf out;
    bool ok = true;
    if (!alm_tls_is_open(conn->tls) || conn->sealed_end)
        return;
    alm_buf_init(&out, NULL);
    for (size_t offset = 0; ok && offset < n; offset += SEAL_STEP)
        ok = alm_tls_write(conn->tls, bytes + offset, ALM_MIN(n - offset, (size_t)SEAL_STEP)) &&
             take_sealed(conn, &out);
    send_or_free(conn, &out, ok);
}

void alm_conn_send(alm_conn *conn, alm_buf *buf)
{
    char *bytes = buf->ptr;
    const size_t len = buf->len;
    if (buf->mem != NULL)
        alm_mem_release(buf->mem, (int64_t)buf->cap);
    buf->ptr = NULL;
    buf->len = buf->cap = 0;
    if (len == 0 || conn->closing) {
        free(bytes);
        return;
    }
    if (conn->tls != NULL) {
        send_sealed(conn, bytes, len);
        free(bytes);
        return;
    }
    send_owned(conn, bytes, len);
}

void alm_conn_send_bytes(alm_conn *conn, const void *bytes, size_t n)
{
    if (n == 0 || conn->closing)
        return;
    if (conn->tls != NULL) {
        send_sealed(conn, bytes, n);
        return;
    }
    if (conn->writes == 0) { /* small answers: no allocation when the socket has room */
        uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned int)n);
        const int wrote = uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
        alm_conn_touch(conn);
        alm_count(&traffic_of(conn)->bytes_out, ALM_MAX(wrote, 0));
        if (wrote == (int)n)
            return;
        if (wrote > 0) {
            bytes = (const char *)bytes + wrote;
            n -= (size_t)wrote;
        }
    }
    char *copy = malloc(n);
    if (copy == NULL) {
        alm_conn_close_now(conn);
        return;
    }
    (void)memcpy(copy, bytes, n);
    send_owned(conn, copy, n);
}

/* ------------------------------------------------------------------ reading */

static bool charge_input(alm_conn *conn, size_t bytes)
{
    alm_ctx cx = {0};
    alm_mem *mem = conn->listener->conf.input_mem;
    conn->short_of_user = false;
    if (alm_mem_charge(&cx, mem, (int64_t)bytes, "input") != ALM_OK)
        return false;
    if (alm_mem_charge(&cx, conn->user_mem, (int64_t)bytes, "input") == ALM_OK)
        return true;
    conn->short_of_user = true;
    alm_mem_release(mem, (int64_t)bytes);
    return false;
}

static void release_input(alm_conn *conn, size_t bytes)
{
    alm_mem_release(conn->listener->conf.input_mem, (int64_t)bytes);
    alm_mem_release(conn->user_mem, (int64_t)bytes);
}

void alm_conn_input_user(alm_conn *conn, alm_mem *mem)
{
    ALM_ASSERT(conn->user_mem == NULL);
    if (conn->in_charged ==
        0) /* else a log-in was larger than it may be: its bytes stay where they are */
        conn->user_mem = mem;
}

bool alm_conn_short_of_user(const alm_conn *conn)
{
    return conn->short_of_user;
}

/* Room for `cap` bytes of input; those above IN_FREE are charged. Forced: if that can be, else they come all
 * the same. */
static bool resize_input(alm_conn *conn, size_t cap, bool forced)
{
    const bool counts = conn->listener->conf.input_mem != NULL;
    size_t charge = counts && cap > IN_FREE ? cap - IN_FREE : 0;
    if (charge > conn->in_charged && !charge_input(conn, charge - conn->in_charged)) {
        if (!forced)
            return false;
        charge = conn->in_charged;
    }
    char *input = realloc(conn->in, cap);
    const bool done = input != NULL;
    if (done) {
        conn->in = input;
        conn->in_cap = cap;
    }
    const size_t kept = done ? charge : conn->in_charged;
    if (ALM_MAX(charge, conn->in_charged) > kept)
        release_input(conn, ALM_MAX(charge, conn->in_charged) - kept);
    conn->in_charged = kept;
    return done;
}

static void drop_input(alm_conn *conn)
{
    free(conn->in);
    conn->in = NULL;
    conn->in_cap = 0;
    if (conn->in_charged > 0)
        release_input(conn, conn->in_charged);
    conn->in_charged = 0;
}

/* A large request is over: what it took goes back. */
static void shrink_input(alm_conn *conn)
{
    if (conn->in_len == 0 && conn->in_cap > IN_KEPT)
        drop_input(conn);
    else if (conn->in_charged > 0 && conn->in_len <= IN_FREE / 2 && conn->in_max <= IN_FREE)
        (void)resize_input(conn, IN_FREE, true);
}

/* Room for one reading more. */
static bool net_conn_make_room(alm_conn *conn)
{
    if (conn->in_cap - conn->in_len >= READ_STEP)
        return true;
    const size_t need = conn->in_len + READ_STEP;
    const size_t cap = ALM_MAX(need, ALM_MIN(conn->in_cap * 2, conn->in_max + READ_STEP));
    return resize_input(conn, cap, false) || (cap > need && resize_input(conn, need, false));
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    alm_conn *conn = handle->data;
    alm_lane *lane = conn->lane;
    *out = uv_buf_init(NULL, 0);
    if (conn->tls != NULL) { /* read and opened in one go: see on_read */
        *out = uv_buf_init(lane->sealed, sizeof(lane->sealed));
        return;
    }
    (void)net_conn_make_room(conn); /* start_reading saw to it */
    if (conn->in_cap > conn->in_len)
        *out = uv_buf_init(conn->in + conn->in_len, (unsigned int)(conn->in_cap - conn->in_len));
}

void alm_conn_spare_input(alm_conn *conn)
{
    if (conn->in_len > 0 || conn->feeding)
        return;
    drop_input(conn);
}

static void stop_reading(alm_conn *conn)
{
    if (conn->reading)
        (void)uv_read_stop((uv_stream_t *)&conn->tcp);
    conn->reading = false;
}

static const char handshake_failed[] = "the handshake of TLS failed";

/* Has the client begun one, and come to no end? */
static bool is_in_handshake(const alm_conn *conn)
{
    return conn->tls != NULL && !alm_tls_is_open(conn->tls) && atomic_load(&conn->spoke) &&
           !conn->finishing && !conn->closing;
}

void alm_conn_late_tls(alm_conn *conn)
{
    if (is_in_handshake(conn))
        alm_conn_fault(conn, handshake_failed, "it took too long");
}

/* The client ended its side: nobody waits for an answer. */
static void peer_ended(alm_conn *conn, bool in_order)
{
    if (is_in_handshake(conn))
        alm_conn_fault(conn, handshake_failed, "the client ended it");
    conn->eof = true;
    if (in_order && conn->listener->conf.protocol->half_close && !conn->finishing) {
        stop_reading(conn);
        net_conn_feed(conn);
        return;
    }
    alm_conn_close_now(conn);
}

static void came_in(alm_conn *conn, size_t n)
{
    if (!atomic_load_explicit(&conn->spoke, memory_order_relaxed))
        atomic_store(&conn->spoke, true);
    const size_t before = conn->in_len;
    conn->in_len += n;
    /* A byte now and then, of a head that never ends, keeps no connection. */
    if (conn->in_len / READ_STEP != before / READ_STEP)
        alm_conn_touch(conn);
}

/* All that the bytes of the client hold; it is no more than they are. */
static alm_tls_state open_sealed(alm_conn *conn, const char *bytes, size_t n)
{
    alm_tls_state state = ALM_TLS_MORE;
    size_t got = 0;
    if (!alm_tls_take(conn->tls, bytes, n))
        return ALM_TLS_FAILED;
    do {
        if (!net_conn_make_room(conn) && !resize_input(conn, conn->in_len + READ_STEP, true))
            return ALM_TLS_FAILED;
        const size_t room = conn->in_cap - conn->in_len;
        state = alm_tls_read(conn->tls, conn->in + conn->in_len, room, &got);
        came_in(conn, got);
        if (got < room)
            break;
    } while (state == ALM_TLS_MORE);
    flush_sealed(conn);
    return state;
}

static void tls_failed(alm_conn *conn)
{
    alm_conn_fault(conn, alm_tls_is_open(conn->tls) ? "TLS failed" : handshake_failed,
                   alm_tls_reason());
    alm_conn_close_now(conn);
}

/*
 * Does the client send messages of TLS and nothing else? Each KeyUpdate that asks for one is answered, read or not, and none of them
 * is input that a limit counts.
 */
static bool is_tls_alone(alm_conn *conn, size_t n, size_t got)
{
    if (!alm_tls_is_open(conn->tls))
        return false; /* a handshake has its time */
    if (got == 0)
        conn->tls_alone += n;
    else
        conn->tls_alone -= ALM_MIN(conn->tls_alone, got + TLS_ALONE_FREE);
    return conn->tls_alone > TLS_ALONE_MAX;
}

static void read_sealed(alm_conn *conn, const char *bytes, size_t n)
{
    const bool was_open = alm_tls_is_open(conn->tls);
    const size_t before = conn->in_len;
    const alm_tls_state state = open_sealed(conn, bytes, n);
    if (!was_open && conn->listener->conf.tls != NULL && alm_tls_is_open(conn->tls))
        alm_conn_deadline(conn, conn->listener->conf.login_ms != NULL
                                    ? *conn->listener->conf.login_ms
                                    : 0); /* that of the handshake is over */
    if (is_tls_alone(conn, n, conn->in_len - before)) {
        alm_conn_fault(conn, "TLS failed", "the client sends messages of TLS alone");
        alm_conn_close_now(conn);
        return;
    }
    if (state == ALM_TLS_FAILED)
        tls_failed(conn);
    else
        net_conn_feed(conn);
    if (state == ALM_TLS_CLOSED && !conn->closing)
        peer_ended(conn, true);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    alm_conn *conn = stream->data;
    if (n == 0)
        return;
    if (n < 0) {
        peer_ended(conn, n == UV_EOF);
        return;
    }
    alm_count(&traffic_of(conn)->bytes_in, n);
    if (conn->finishing)
        return; /* dropped: see shut_down */
    if (conn->tls != NULL) {
        read_sealed(conn, buf->base, (size_t)n);
        return;
    }
    came_in(conn, (size_t)n);
    net_conn_feed(conn);
}

/* Only a handshake can have come: text of the client follows on our answer. */
void alm_conn_start_tls(alm_conn *conn, alm_tls_slot *tls, const char *bytes, size_t n)
{
    char none = 0;
    size_t got = 0;
    conn->tls = alm_tls_stream_new(tls);
    if (conn->tls == NULL) {
        alm_conn_close_now(conn);
        return;
    }
    if (n == 0)
        return;
    if (!alm_tls_take(conn->tls, bytes, n) ||
        alm_tls_read(conn->tls, &none, 1, &got) != ALM_TLS_MORE || got > 0) {
        flush_sealed(conn);
        tls_failed(conn);
        return;
    }
    flush_sealed(conn);
}

void alm_conn_start_reading(alm_conn *conn)
{
    if (conn->reading || conn->closing || conn->finishing)
        return;
    if (uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) != 0) {
        alm_conn_close_now(conn);
        return;
    }
    conn->reading = true;
}

static void start_lingering(alm_conn *conn)
{
    conn->linger_until_ms = (int64_t)uv_now(&conn->lane->uv) + LINGER_MS;
    if (!conn->reading && uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read) != 0)
        alm_conn_close_now(conn);
    conn->reading = true;
}

/* Nothing is read until the protocol has taken some; one that waits for more must give in. */
static void no_room(alm_conn *conn)
{
    stop_reading(conn);
    if (conn->paused || conn->working || conn->unsent > OUT_MARK)
        return; /* feed comes again */
    if (conn->listener->conf.protocol->starved == NULL) {
        alm_conn_close_now(conn);
        return;
    }
    conn->listener->conf.protocol->starved(conn);
    net_conn_feed(conn);
}

/*
 * Hands input to the protocol while it takes some, and while the client reads the answers. While a
 * protocol is paused or works, reading goes on up to the input limit, so that a client that goes away
 * is noticed.
 */
static void net_conn_feed(alm_conn *conn)
{
    if (conn->feeding)
        return;
    conn->feeding = true;
    size_t offset = 0; /* what is left moves to the front once, not behind each small message */
    while (offset < conn->in_len && !conn->paused && !conn->working && !conn->closing &&
           !conn->finishing && conn->unsent <= OUT_MARK) {
        const size_t taken =
            conn->listener->conf.protocol->data(conn, conn->in + offset, conn->in_len - offset);
        ALM_ASSERT(offset + taken <= conn->in_len || conn->finishing);
        offset += taken;
        if (taken == 0)
            break;
        alm_conn_touch(conn);
    }
    if (offset > 0 && !conn->finishing && !conn->closing) {
        (void)memmove(conn->in, conn->in + offset, conn->in_len - offset);
        conn->in_len -= offset;
    }
    conn->feeding = false;
    if (conn->closing) {
        maybe_free(conn);
        return;
    }
    if (conn->finishing) {
        conn->in_len = 0;
        return;
    }
    if (conn->eof) { /* half closed: what came before is worked off, then it is over */
        if (!conn->working && !conn->paused)
            alm_conn_finish(conn);
        return;
    }
    shrink_input(conn);
    if (conn->in_len >= conn->in_max || (conn->tls != NULL && conn->unsent > OUT_MARK))
        stop_reading(conn); /* TLS answers of itself; on_written comes here again */
    else if (conn->in_len == 0 ||
             net_conn_make_room(conn)) /* none: on_alloc makes it when bytes come */
        alm_conn_start_reading(conn);
    else
        no_room(conn);
}

void alm_conn_pause(alm_conn *conn)
{
    conn->paused = true;
}

void alm_conn_resume(alm_conn *conn)
{
    conn->paused = false;
    if (!conn->working)
        net_conn_feed(conn);
}

/* --------------------------------------------------------------------- work */

void alm_conn_work_over(alm_conn *conn)
{
    alm_lane *lane = conn->lane; /* the connection may be gone once it is in the list */
    (void)pthread_mutex_lock(&lane->lock);
    conn->done_next = lane->done;
    lane->done = conn;
    (void)pthread_mutex_unlock(&lane->lock);
    (void)uv_async_send(&lane->wake);
}

static void run_work(alm_thread_pool_item *item)
{
    alm_conn *conn = (alm_conn *)((char *)item - offsetof(alm_conn, item));
    conn->work(conn->work_arg);
    alm_conn_work_over(conn);
}

void alm_conn_wait(alm_conn *conn, void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg),
                   void *arg)
{
    ALM_ASSERT(!conn->working);
    conn->working = true;
    conn->done = done;
    conn->drop = drop;
    conn->work_arg = arg;
    conn->late = NULL;
    conn->sleeping = false;
}

static bool net_conn_slept(void *arg)
{
    (void)arg;
    return true;
}

void alm_conn_sleep(alm_conn *conn, int64_t millis, void (*done)(alm_conn *conn, void *arg),
                    void (*drop)(void *arg), void *arg)
{
    alm_conn_wait(conn, done, drop, arg);
    alm_conn_wait_at_most(conn, millis, net_conn_slept, NULL);
    conn->sleeping = true;
}

void alm_conn_wait_at_most(alm_conn *conn, int64_t millis, bool (*late)(void *arg), void *arg)
{
    conn->late = late;
    conn->late_arg = arg;
    conn->late_ms = (int64_t)uv_now(&conn->lane->uv) + millis;
}

void alm_conn_wait_not(alm_conn *conn)
{
    conn->working = false;
}

void alm_conn_work(alm_conn *conn, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void (*drop)(void *arg), void *arg)
{
    alm_loop *loop = conn->listener->loop;
    alm_conn_wait(conn, done, drop, arg);
    conn->work = work;
    conn->item.run = run_work;
    conn->item.owner = conn->owner;
    const bool desk = conn->first && alm_thread_pool_is_full(loop->pool);
    alm_thread_pool_submit(desk ? loop->desk : loop->pool, &conn->item);
}

void alm_conn_work_now(alm_conn *conn, void (*work)(void *arg),
                       void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg)
{
    alm_conn_wait(conn, done, drop, arg);
    conn->work = work;
    conn->item.run = run_work;
    conn->item.owner = 0;
    alm_thread_pool_submit(conn->listener->loop->desk, &conn->item);
}

void alm_conn_user(alm_conn *conn, const char *identity, bool administrator)
{
    ALM_ASSERT(!conn->working);
    conn->first = administrator;
    conn->owner = 0;
    if (identity != NULL)
        conn->owner = alm_hash_str(alm_str_of(identity)) | 1;
    else if (alm_db_conf(conn->listener->loop->db)->acl_enabled) /* nobody, who has an address */
        conn->owner = alm_hash_u128(conn->net[0], conn->net[1]) | 1;
}

void alm_conn_work_done(alm_conn *conn)
{
    conn->working = conn->sleeping = false;
    alm_conn_touch(conn);
    if (conn->closing) {
        if (conn->drop != NULL)
            conn->drop(conn->work_arg);
        maybe_free(conn);
        return;
    }
    conn->done(conn, conn->work_arg);
    if (!conn->working && !conn->paused)
        net_conn_feed(conn);
}

void alm_conn_tell(alm_conn *conn, uint64_t id, void (*tell)(alm_conn *other, alm_conn *conn),
                   void (*done)(alm_conn *conn, void *arg), void *arg)
{
    const alm_loop *loop = conn->listener->loop;
    alm_lane *lane = &loop->lanes[id % loop->n_lanes];
    alm_conn_wait(conn, done, NULL, arg);
    conn->tell_id = id;
    conn->tell = tell;
    (void)pthread_mutex_lock(&lane->lock);
    conn->tell_next = lane->told;
    lane->told = conn;
    (void)pthread_mutex_unlock(&lane->lock);
    (void)uv_async_send(&lane->wake);
}
