/*
 * accept.c - a connection finds its place and its lane, or is told why not; and gives its place to another (peers.h).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "net/conn/loop_state.h"

void alm_conn_uncount(alm_conn *conn)
{
    atomic_fetch_sub(&conn->lane->n_conns, 1);
    atomic_fetch_sub(&conn->listener->loop->n_conns, 1);
    alm_count(&conn->listener->conf.traffic->connections, -1);
    atomic_fetch_sub(&conn->listener->connections, 1);
}

/* Whoever is refused may linger, to be sure of the reason, as long as these are not too many. */
static void accept_refuse(alm_conn *conn, const char *why, bool linger)
{
    alm_log_warn(conn->listener->conf.protocol->name, "%s", why);
    conn->listener->conf.protocol->refuse(conn, why);
    if (linger)
        alm_conn_finish(conn);
    else
        alm_conn_close_now(conn);
}

/* What the system refuses it leaves as it was. */
static void set_buffers(alm_conn *conn)
{
    const alm_listen_conf *conf = &conn->listener->conf;
    int bytes = conf->rcvbuf != NULL ? (int)*conf->rcvbuf : -1;
    if (bytes > 0)
        (void)uv_recv_buffer_size((uv_handle_t *)&conn->tcp, &bytes);
    bytes = conf->sndbuf != NULL ? (int)*conf->sndbuf : -1;
    if (bytes > 0)
        (void)uv_send_buffer_size((uv_handle_t *)&conn->tcp, &bytes);
}

/* ------------------------------------------------------------------------- places */

/* Why a connection more finds no place, to be freed; NULL: no memory. */
static char *reason(const alm_listener *listener, alm_place_verdict verdict)
{
    const alm_listen_conf *conf = &listener->conf;
    char *text = NULL;
    int n = -1;
    if (verdict == ALM_PLACE_FILES)
        return strdup(listener->loop->full);
    if (verdict == ALM_PLACE_MEMORY)
        return strdup("too many connections: out of memory");
    if (verdict == ALM_PLACE_ADDRESS_FULL)
        n = asprintf(&text, "too many connections from this address: the limit is %s=%lld",
                     conf->address_name, (long long)*conf->address_max);
    else
        n = asprintf(&text, "too many connections: the limit is %s=%lld", conf->limit_name,
                     (long long)*conf->connection_max);
    return n < 0 ? NULL : text;
}

static void wake_to_evict(alm_lane *lane)
{
    if (lane == NULL)
        return;
    atomic_store(&lane->evicts, true);
    (void)uv_async_send(&lane->wake);
}

/* On the thread that accepts. False: no memory for the reason. */
static bool find_place(alm_conn *conn, const struct sockaddr_storage *from)
{
    alm_lane *wake = NULL;
    alm_peer_net(from, conn->net);
    const alm_place_verdict verdict =
        alm_peers_take(conn, from, alm_monotonic_ns() / 1000000, &wake);
    wake_to_evict(wake);
    if (verdict == ALM_PLACE_TAKEN)
        return true;
    conn->refusal = reason(conn->listener, verdict);
    alm_count(&conn->listener->conf.traffic->refused, 1);
    return conn->refusal != NULL;
}

void alm_lane_evict(alm_lane *lane)
{
    static const char why[] = "too many connections: this one had not logged in "
                              "(net.connection.silent.timeout), another one has its place";
    alm_conn *next = NULL;
    if (!atomic_exchange(&lane->evicts, false))
        return;
    for (alm_conn *conn = lane->conns; conn != NULL; conn = next) {
        next = conn->next;
        if (!atomic_load(&conn->evicted) || conn->closing)
            continue;
        alm_count(&conn->listener->conf.traffic->idle_closed, 1);
        if (conn->finishing || conn->working)
            alm_conn_close_now(conn);
        else
            accept_refuse(conn, why, false);
    }
}

/* ------------------------------------------------------------------------- accept */

static bool came_from(const alm_conn *conn, struct sockaddr_storage *from)
{
    int n = sizeof *from;
    return uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)from, &n) == 0;
}

/* On its lane from here on. */
void alm_conn_come(alm_conn *conn)
{
    alm_lane *lane = conn->lane;
    alm_listener *listener = conn->listener;
    const alm_protocol *protocol = listener->conf.protocol;
    struct sockaddr_storage from = {0};
    const bool here = conn->fd < 0; /* the lane that accepts: its place is still to be found */
    (void)uv_tcp_init(&lane->uv, &conn->tcp);
    conn->tcp.data = conn;
    conn->next = lane->conns;
    if (conn->next != NULL)
        conn->next->prev = conn;
    lane->conns = conn;
    protocol->open(conn);
    const int code = here ? uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&conn->tcp)
                          : uv_tcp_open(&conn->tcp, conn->fd);
    if (code != 0 && !here)
        (void)close(conn->fd);
    if (code != 0 || (here && !(came_from(conn, &from) && find_place(conn, &from)))) {
        alm_conn_close_now(conn);
        return;
    }
    if (atomic_load(&conn->evicted)) { /* on its way here */
        alm_conn_close_now(conn);
        return;
    }
    (void)uv_tcp_nodelay(&conn->tcp, 1);
    set_buffers(conn);
    alm_conn_touch(conn);
    if (listener->conf.tls != NULL) {
        alm_conn_start_tls(conn, listener->conf.tls, NULL, 0);
        alm_conn_deadline(conn, *listener->conf.tls_ms);
    } else if (listener->conf.login_ms != NULL) {
        alm_conn_deadline(conn, *listener->conf.login_ms);
    }
    if (conn->refusal != NULL && !(protocol->refuses_late && conn->lingers))
        accept_refuse(conn, conn->refusal, conn->lingers);
    else
        alm_conn_start_reading(conn);
}

static alm_lane *least_busy(const alm_loop *loop)
{
    alm_lane *best = &loop->lanes[0];
    for (uint32_t i = 1; i < loop->n_lanes; i++)
        if (atomic_load(&loop->lanes[i].n_conns) < atomic_load(&best->n_conns))
            best = &loop->lanes[i];
    return best;
}

/* NULL: no memory. Counted, whether it finds a place or not. */
static alm_conn *new_conn(alm_listener *listener)
{
    alm_loop *loop = listener->loop;
    alm_conn *conn = calloc(1, sizeof(*conn) + listener->conf.protocol->state_bytes);
    if (conn == NULL)
        return NULL;
    conn->listener = listener;
    conn->lane = least_busy(loop);
    conn->fd = -1;
    conn->id = ++loop->next_id * loop->n_lanes + conn->lane->number;
    conn->in_max = ALM_CONN_INPUT_DEFAULT;
    const int64_t others = atomic_fetch_add(&listener->connections, 1);
    const int64_t all = atomic_fetch_add(&loop->n_conns, 1) + 1;
    atomic_fetch_add(&conn->lane->n_conns, 1);
    alm_count(&listener->conf.traffic->connections, 1);
    alm_count(&listener->conf.traffic->accepted, 1);
    conn->lingers = others < 2 * *listener->conf.connection_max && all <= loop->conns_max;
    return conn;
}

static void free_door(uv_handle_t *door)
{
    free(door);
}

/* The descriptor of the connection that waits at the listener; -1: there is none to be had. A handle belongs to
 * the loop that made it, so the descriptor leaves the one that accepted under another number. */
static int take_descriptor(alm_listener *listener, uv_tcp_t *door, struct sockaddr_storage *from)
{
    uv_os_fd_t fd = -1;
    int copy = -1, n = sizeof *from;
    (void)uv_tcp_init(&listener->loop->lanes[0].uv, door);
    if (uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)door) == 0 &&
        uv_fileno((uv_handle_t *)door, &fd) == 0 &&
        uv_tcp_getpeername(door, (struct sockaddr *)from, &n) == 0)
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    uv_close((uv_handle_t *)door, free_door);
    return copy;
}

static void hand_over(alm_conn *conn)
{
    alm_lane *lane = conn->lane;
    (void)pthread_mutex_lock(&lane->lock);
    conn->done_next = lane->come;
    lane->come = conn;
    (void)pthread_mutex_unlock(&lane->lock);
    (void)uv_async_send(&lane->wake);
}

void alm_conn_accept(alm_listener *listener)
{
    alm_conn *conn = new_conn(listener);
    uv_tcp_t *door = NULL;
    struct sockaddr_storage from = {0};
    const bool away = conn != NULL && conn->lane->number != 0;
    if (away)
        door = malloc(sizeof(*door));
    listener->starved = conn == NULL || (away && door == NULL); /* it waits: see on_tick */
    if (conn != NULL && !away) {
        alm_conn_come(conn);
        return;
    }
    if (door != NULL)
        conn->fd = take_descriptor(listener, door, &from);
    if (conn != NULL && conn->fd >= 0 && find_place(conn, &from)) {
        hand_over(conn);
    } else if (conn != NULL) {
        if (conn->fd >= 0)
            (void)close(conn->fd);
        alm_conn_uncount(conn);
        free(conn);
    }
}
