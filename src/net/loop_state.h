/* loop_state.h - the structs behind loop.h, shared by loop.c and conn.c. All owned by the loop thread
 * but where a lock is named. */
#ifndef ALM_NET_LOOP_STATE_H
#define ALM_NET_LOOP_STATE_H

#include <pthread.h>
#include <uv.h>

#include "net/loop.h"
#include "net/pool.h"
#include "net/tls.h"

struct alm_listener {
    alm_loop *loop;
    uv_tcp_t tcp;
    alm_listen_conf conf;
    char address[128];
    char full[128]; /* why a connection finds no place */
    _Atomic int64_t connections;
    bool starved; /* a connection waits for memory */
    alm_listener *next;
};

struct alm_conn {
    alm_listener *listener;
    alm_conn *prev, *next;
    uint64_t id;
    uv_tcp_t tcp;
    char *in; /* unread bytes */
    size_t in_len, in_cap, in_max;
    size_t in_charged; /* of in_cap, to input_mem */
    size_t unsent;
    int64_t active_ms;       /* loop time of the last bytes either way */
    int32_t writes;          /* write requests under way */
    int64_t deadline_ms;     /* 0: none; see alm_conn_deadline */
    int64_t linger_until_ms; /* 0: not lingering */
    bool reading, paused, working, feeding, finishing, closing, closed, eof, sealed_end;
    const char *refusal;
    alm_tls_stream *tls; /* NULL: plain */
    alm_thread_pool_item item;
    alm_conn *done_next;
    void (*work)(void *arg);
    void (*done)(alm_conn *conn, void *arg);
    void (*drop)(void *arg);
    void *work_arg;
    _Alignas(16) char state[];
};

struct alm_loop {
    alm_db *db;
    char sealed[16 << 10]; /* bytes of TLS between the socket and the connection */
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t tick; /* idle connections */
    pthread_t thread;
    bool started;
    alm_thread_pool *pool;
    alm_thread_pool_item lead; /* of commits that nobody waits for; one at a time */
    alm_listener *listeners;
    alm_conn *conns;
    int64_t n_conns, conns_max; /* descriptors that connections may have */
    char full[128];
    uint64_t next_id;
    _Atomic bool stopping, cancel_all;
    bool stop_seen;
    pthread_mutex_t lock; /* done_head */
    alm_conn *done_head;
};

void alm_conn_accept(alm_listener *listener);
void alm_conn_work_done(alm_conn *conn);   /* loop thread, after the piece of work */
void alm_conn_spare_input(alm_conn *conn); /* frees the input buffer if nothing is in it */
void alm_conn_close_now(alm_conn *conn);

#endif
