/*
 * loop.c - event loop threads: listeners, results of query threads, idle connections, stopping.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/log.h"
#include "net/conn/loop_state.h"

enum { TICK_MS = 250, BACKLOG = 1024, FILES_KEPT = 128 };
/* A connection that rests for so long gives its input buffer back. */
enum { INPUT_KEPT_MS = 1000 };
/* Of small statements one thread answers as many as a machine of four processors asks for; query threads take the rest. */
enum { LANES_DEFAULT_MAX = 4 };

alm_db *alm_loop_db(const alm_loop *loop)
{
    return loop->db;
}
bool alm_loop_is_stopping(const alm_loop *loop)
{
    return atomic_load(&loop->stopping);
}
const char *alm_listener_address(const alm_listener *listener)
{
    return listener->address;
}

int64_t alm_listener_connections(const alm_listener *listener)
{
    return atomic_load(&listener->connections);
}

static alm_conn *conn_loop_find(const alm_lane *lane, uint64_t id)
{
    for (alm_conn *conn = lane->conns; conn != NULL; conn = conn->next)
        if (conn->id == id)
            return conn->closing ? NULL : conn;
    return NULL;
}

/* ------------------------------------------------------------------ stopping */

static void close_listeners(alm_loop *loop)
{
    for (alm_listener *listener = loop->listeners; listener != NULL; listener = listener->next)
        if (!uv_is_closing((uv_handle_t *)&listener->tcp))
            uv_close((uv_handle_t *)&listener->tcp, NULL);
}

/* A lane ends when no lane has a connection any more: those of others may have something to tell. */
static void stop_step(alm_lane *lane)
{
    alm_loop *loop = lane->loop;
    const bool all = atomic_load(&loop->cancel_all);
    if (!lane->stop_seen && lane->number == 0)
        close_listeners(loop);
    lane->stop_seen = true;
    alm_conn *next = NULL;
    for (alm_conn *conn = lane->conns; conn != NULL; conn = next) {
        next = conn->next;
        const bool rests = conn->sleeping || (!conn->working && !conn->paused && conn->unsent == 0);
        if (rests && !conn->sleeping && !conn->closing && !conn->finishing &&
            conn->listener->conf.protocol->stopping != NULL)
            conn->listener->conf.protocol->stopping(conn);
        if (all || rests)
            alm_conn_close_now(conn);
    }
    if (all && atomic_load(&loop->n_conns) == 0 && !uv_is_closing((uv_handle_t *)&lane->wake)) {
        uv_close((uv_handle_t *)&lane->wake, NULL);
        uv_close((uv_handle_t *)&lane->tick, NULL);
    }
}

static void on_wake(uv_async_t *async)
{
    alm_lane *lane = async->data;
    (void)pthread_mutex_lock(&lane->lock);
    alm_conn *done = lane->done, *come = lane->come, *told = lane->told;
    lane->done = lane->come = lane->told = NULL;
    (void)pthread_mutex_unlock(&lane->lock);
    while (come != NULL) {
        alm_conn *next = come->done_next;
        alm_conn_come(come);
        come = next;
    }
    while (told != NULL) {
        alm_conn *next = told->tell_next, *other = conn_loop_find(lane, told->tell_id);
        if (other != NULL)
            told->tell(other, told);
        alm_conn_work_over(told);
        told = next;
    }
    while (done != NULL) {
        alm_conn *next = done->done_next;
        alm_conn_work_done(done);
        done = next;
    }
    alm_lane_evict(lane);
    if (atomic_load(&lane->loop->stopping))
        stop_step(lane);
}

/* Says why it is closed, then waits for the client to go, for a moment. */
static void say_end(alm_conn *conn, int64_t now)
{
    alm_conn_finish(conn);
    alm_conn_deadline(conn, 0);
    conn->active_ms = now;
}

static bool conn_loop_is_over(alm_conn *conn)
{
    bool (*over)(alm_conn *conn) = conn->listener->conf.protocol->over;
    return over != NULL && !conn->closing && !conn->finishing && over(conn);
}

static void on_tick(uv_timer_t *timer)
{
    alm_lane *lane = timer->data;
    if (atomic_load(&lane->loop->stopping)) {
        stop_step(lane);
        return;
    }
    for (alm_listener *listener = lane->number == 0 ? lane->loop->listeners : NULL;
         listener != NULL; listener = listener->next)
        if (listener->starved)
            alm_conn_accept(listener);
    if (lane->number == 0) {
        alm_pace_tick(&lane->loop->pace);
        alm_faults_tick(&lane->loop->faults);
    }
    const int64_t now = (int64_t)uv_now(&lane->uv);
    alm_conn *next = NULL;
    for (alm_conn *conn = lane->conns; conn != NULL; conn = next) {
        next = conn->next;
        if (conn->linger_until_ms > 0 && now >= conn->linger_until_ms) {
            alm_conn_close_now(conn);
            continue;
        }
        if (conn_loop_is_over(conn)) {
            if (!conn->closing)
                say_end(conn, now);
            continue;
        }
        if (now - conn->active_ms >= INPUT_KEPT_MS)
            alm_conn_spare_input(conn);
        if (conn->working && conn->late != NULL && now >= conn->late_ms &&
            conn->late(conn->late_arg)) {
            alm_conn_work_done(conn);
            continue;
        }
        const int64_t *idle_ms = conn->listener->conf.idle_ms;
        const int64_t limit = idle_ms != NULL ? *idle_ms : 0;
        const bool idle = limit > 0 && now - conn->active_ms >= limit;
        if (conn->working || conn->closing || !(idle || alm_conn_is_late(conn)))
            continue;
        alm_conn_late_tls(conn);
        alm_count(&conn->listener->conf.traffic->idle_closed, 1);
        if (conn->listener->conf.protocol->idle != NULL && !conn->finishing) {
            conn->listener->conf.protocol->idle(conn);
            say_end(conn, now);
        } else {
            alm_conn_close_now(conn);
        }
    }
}

static void *run_lane(void *arg)
{
    alm_lane *lane = arg;
    (void)uv_run(&lane->uv, UV_RUN_DEFAULT);
    return NULL;
}

/* ---------------------------------------------------------------------- commits */

/* All turns of log-ins at once, and some. */
enum { DESK_THREADS = ALM_TURNS_MAX + 16 };

static void run_lead(alm_thread_pool_item *item)
{
    const alm_loop *loop = (alm_loop *)((char *)item - offsetof(alm_loop, lead));
    alm_storage_lead(alm_db_storage(loop->db));
}

static void call_leader(void *arg)
{
    alm_loop *loop = arg;
    loop->lead.run = run_lead;
    alm_thread_pool_submit(loop->desk, &loop->lead);
}

/* ----------------------------------------------------------------- life cycle */

/* Connections leave descriptors to the files of the database: FILES_KEPT of them, or half of a few. */
static void limit_conns(alm_loop *loop)
{
    struct rlimit files = {.rlim_cur = RLIM_INFINITY};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    const int64_t all = (int64_t)ALM_MIN(files.rlim_cur, (rlim_t)INT32_MAX);
    loop->conns_max = all - ALM_MIN((int64_t)FILES_KEPT, all / 2);
    (void)snprintf(loop->full, sizeof(loop->full),
                   "too many connections: the server may open %lld files (ulimit -n)",
                   (long long)all);
}

static int init_lane(alm_loop *loop, uint32_t number)
{
    alm_lane *lane = &loop->lanes[number];
    lane->loop = loop;
    lane->number = number;
    (void)pthread_mutex_init(&lane->lock, NULL);
    int code = uv_loop_init(&lane->uv);
    lane->has_uv = code == 0;
    if (code == 0)
        code = uv_async_init(&lane->uv, &lane->wake, on_wake);
    if (code == 0)
        code = uv_timer_init(&lane->uv, &lane->tick);
    if (code == 0)
        code = uv_timer_start(&lane->tick, on_tick, TICK_MS, TICK_MS);
    lane->wake.data = lane;
    lane->tick.data = lane;
    return code;
}

alm_status alm_loop_new(alm_ctx *cx, alm_db *db, uint32_t lanes, uint32_t query_threads,
                        alm_loop **out)
{
    alm_loop *loop = calloc(1, sizeof(*loop));
    int code = 0;
    if (loop == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    loop->db = db;
    alm_turns_init(&loop->turns);
    alm_pace_init(&loop->pace);
    alm_faults_init(&loop->faults);
    limit_conns(loop);
    if (lanes == 0)
        lanes = ALM_MIN(alm_db_processors(db), (uint32_t)LANES_DEFAULT_MAX);
    loop->lanes = calloc(lanes, sizeof(*loop->lanes));
    if (loop->lanes == NULL) {
        alm_turns_deinit(&loop->turns);
        alm_pace_deinit(&loop->pace);
        alm_faults_deinit(&loop->faults);
        free(loop);
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    for (; code == 0 && loop->n_lanes < lanes; loop->n_lanes++)
        code = init_lane(loop, loop->n_lanes);
    alm_status status =
        code == 0 ? alm_thread_pool_new(cx, query_threads, alm_db_processors(db), &loop->pool)
                  : alm_fail(cx, ALM_E_IO, -1, "cannot make an event loop: %s", uv_strerror(code));
    if (status == ALM_OK)
        status = alm_thread_pool_new(cx, DESK_THREADS, alm_db_processors(db), &loop->desk);
    if (status != ALM_OK) {
        alm_loop_free(loop);
        return status;
    }
    alm_storage_lead_by(alm_db_storage(db), call_leader, loop);
    *out = loop;
    return ALM_OK;
}

alm_status alm_loop_start(alm_ctx *cx, alm_loop *loop)
{
    for (uint32_t i = loop->n_lanes; i > 0; i--) { /* the one that accepts last */
        alm_lane *lane = &loop->lanes[i - 1];
        if (pthread_create(&lane->thread, NULL, run_lane, lane) != 0) {
            alm_loop_stop(loop, 0);
            return alm_fail(cx, ALM_E_IO, -1, "cannot create a network thread");
        }
        lane->started = true;
    }
    return ALM_OK;
}

static void wake_lanes(alm_loop *loop)
{
    for (uint32_t i = 0; i < loop->n_lanes; i++)
        (void)uv_async_send(&loop->lanes[i].wake);
}

void alm_loop_stop(alm_loop *loop, int64_t grace_ms)
{
    atomic_store(&loop->stopping, true);
    wake_lanes(loop);
    struct timespec step = {.tv_nsec = 5000000};
    const int64_t until = alm_monotonic_ns() + grace_ms * 1000000;
    for (;;) {
        int64_t open = 0;
        for (const alm_listener *listener = loop->listeners; listener != NULL;
             listener = listener->next)
            open += alm_listener_connections(listener);
        if (open == 0 || alm_monotonic_ns() >= until)
            break;
        (void)nanosleep(&step, NULL);
    }
    atomic_store(&loop->cancel_all, true);
    wake_lanes(loop); /* at the latest the next tick sees it */
    for (uint32_t i = 0; i < loop->n_lanes; i++) {
        if (loop->lanes[i].started)
            (void)pthread_join(loop->lanes[i].thread, NULL);
        loop->lanes[i].started = false;
    }
}

static void conn_loop_close_any(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void deinit_lane(alm_lane *lane)
{
    ALM_ASSERT(!lane->started);
    if (lane->has_uv) {
        uv_walk(&lane->uv, conn_loop_close_any,
                NULL); /* a loop that never ran still has its handles */
        (void)uv_run(&lane->uv, UV_RUN_DEFAULT);
        (void)uv_loop_close(&lane->uv);
    }
    (void)pthread_mutex_destroy(&lane->lock);
}

void alm_loop_query_threads(alm_loop *loop, uint32_t threads)
{
    alm_thread_pool_limit(loop->pool, threads);
}

void alm_loop_free(alm_loop *loop)
{
    if (loop == NULL)
        return;
    for (uint32_t i = 0; i < loop->n_lanes; i++)
        deinit_lane(&loop->lanes[i]);
    alm_storage_lead_by(alm_db_storage(loop->db), NULL, NULL);
    alm_thread_pool_free(loop->pool);
    alm_thread_pool_free(loop->desk);
    for (alm_listener *listener = loop->listeners; listener != NULL;) {
        alm_listener *next = listener->next;
        alm_peers_deinit(&listener->peers);
        free(listener);
        listener = next;
    }
    alm_turns_deinit(&loop->turns);
    alm_pace_deinit(&loop->pace);
    alm_faults_deinit(&loop->faults);
    free(loop->lanes);
    free(loop);
}

/* ------------------------------------------------------------------ listeners */

static void on_connection(uv_stream_t *stream, int status)
{
    alm_listener *listener = stream->data;
    if (status < 0) {
        alm_log_warn("net", "accept on %s: %s", listener->address, uv_strerror(status));
        return;
    }
    alm_conn_accept(listener);
}

static void write_address(alm_listener *listener)
{
    struct sockaddr_storage bound;
    int size = (int)sizeof(bound);
    char host[64] = "";
    (void)uv_tcp_getsockname(&listener->tcp, (struct sockaddr *)&bound, &size);
    if (bound.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&bound;
        (void)uv_ip6_name(in6, host, sizeof(host));
        (void)snprintf(listener->address, sizeof(listener->address), "[%s]:%d", host,
                       (int)ntohs(in6->sin6_port));
        return;
    }
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&bound;
    (void)uv_ip4_name(v4, host, sizeof(host));
    (void)snprintf(listener->address, sizeof(listener->address), "%s:%d", host,
                   (int)ntohs(v4->sin_port));
}

static int bind_and_listen(alm_listener *listener, const char *host, int port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 in6;
    const char *ip = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    int code = UV_EINVAL;
    if (uv_ip4_addr(ip, port, &v4) == 0)
        code = uv_tcp_bind(&listener->tcp, (const struct sockaddr *)&v4, 0);
    else if (uv_ip6_addr(ip, port, &in6) == 0)
        code = uv_tcp_bind(&listener->tcp, (const struct sockaddr *)&in6, 0);
    if (code == 0)
        code = uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection);
    return code;
}

alm_status alm_loop_listen(alm_ctx *cx, alm_loop *loop, const alm_listen_conf *conf,
                           alm_listener **out)
{
    char host[64];
    int port = 0;
    if (!alm_address_split(conf->address, host, &port))
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not an address of the form HOST:PORT",
                        conf->address);
    alm_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    listener->loop = loop;
    listener->conf = *conf;
    alm_peers_init(&listener->peers);
    (void)uv_tcp_init(&loop->lanes[0].uv, &listener->tcp);
    listener->tcp.data = listener;
    listener->next = loop->listeners;
    loop->listeners = listener; /* freed with the loop, whatever happens next */
    const int code = bind_and_listen(listener, host, port);
    if (code != 0)
        return alm_fail(cx, ALM_E_IO, -1, "cannot listen on %s: %s", conf->address,
                        uv_strerror(code));
    write_address(listener);
    *out = listener;
    return ALM_OK;
}
