/*
 * loop_state.h - the structs behind loop.h, shared by loop.c and conn.c.
 *
 * Threads     A lane, its connections and their handles belong to the thread of the lane, but where a lock is named;
 *             the listeners and all of alm_loop that is no constant and not atomic to that of the first lane, which
 *             accepts. It hands a connection to the lane that has the fewest.
 */
#ifndef ALM_NET_LOOP_STATE_H
#define ALM_NET_LOOP_STATE_H

#include <pthread.h>
#include <uv.h>

#include "net/conn/faults.h"
#include "net/conn/loop.h"
#include "net/conn/pace.h"
#include "net/conn/peers.h"
#include "net/conn/pool.h"
#include "net/conn/tls.h"
#include "net/conn/turns.h"

struct alm_listener {
    alm_loop *loop;
    uv_tcp_t tcp;
    alm_listen_conf conf;
    char address[128];
    _Atomic int64_t connections;
    alm_peers peers; /* who has a place */
    bool starved;    /* a connection waits for memory */
    alm_listener *next;
};

typedef struct alm_lane alm_lane;
enum { ALM_CONN_INPUT_DEFAULT = 64 << 10 }; /* bytes that are read ahead */

struct alm_conn {
    alm_listener *listener;
    alm_lane *lane;
    alm_conn *prev, *next; /* of the lane */
    int fd;                /* on its way to the lane; -1: the lane accepts it */
    bool lingers;          /* when it is refused */
    uint64_t id;
    alm_peer *peer;  /* of peers.h, whose lock it has, as the next four; NULL: no place */
    uint64_t net[2]; /* the client's: alm_peer_net */
    alm_conn *young_prev, *young_next;
    int64_t came_ms;
    bool young;
    _Atomic bool evicted, spoke; /* it gave its place to another; a byte has come */
    bool known;                  /* alm_conn_known was called */
    uint64_t owner;              /* of its pieces of work: pool.h */
    bool first;                  /* of the administrator: alm_conn_user */
    uv_tcp_t tcp;
    char *in; /* unread bytes */
    size_t in_len, in_cap, in_max;
    size_t in_charged;  /* of in_cap, to input_mem and user_mem */
    alm_mem *user_mem;  /* of who it is known to be; or NULL */
    bool short_of_user; /* that was full, and not input_mem */
    size_t unsent;
    int64_t active_ms;       /* loop time of the last bytes either way */
    int32_t writes;          /* write requests under way */
    int64_t deadline_ms;     /* 0: none; see alm_conn_deadline */
    int64_t linger_until_ms; /* 0: not lingering */
    bool reading, paused, working, sleeping, feeding, finishing, closing, closed, eof, sealed_end;
    size_t
        tls_alone; /* bytes of TLS that brought none of the client, less what those that did have made good */
    char *refusal;       /* owned */
    alm_tls_stream *tls; /* NULL: plain */
    alm_thread_pool_item item;
    alm_conn *turn_next; /* of turns.h */
    alm_conn *pace_next; /* of pace.h */
    bool paced;          /* counted there as running */
    alm_conn *done_next; /* in `done` or `come` of the lane */
    alm_conn *tell_next; /* in `told` of another */
    uint64_t tell_id;
    void (*tell)(alm_conn *other, alm_conn *conn);
    void (*work)(void *arg);
    void (*done)(alm_conn *conn, void *arg);
    void (*drop)(void *arg);
    bool (*late)(void *arg); /* of alm_conn_wait_at_most; NULL: no end */
    void *late_arg;
    int64_t late_ms;
    void *work_arg;
    _Alignas(16) char state[];
};

struct alm_lane {
    alm_loop *loop;
    uint32_t number;
    char sealed[16 << 10]; /* bytes of TLS between the socket and the connection */
    uv_loop_t uv;
    bool has_uv;
    uv_async_t wake;
    uv_timer_t tick; /* idle connections */
    pthread_t thread;
    bool started, stop_seen;
    alm_conn *conns;
    _Atomic int64_t n_conns; /* and those on their way */
    pthread_mutex_t lock;    /* the lists that other threads add to */
    alm_conn *done, *come, *told;
    _Atomic bool evicts; /* a connection of it has `evicted` */
};

struct alm_loop {
    alm_db *db;
    alm_thread_pool *pool;
    alm_thread_pool *
        desk; /* for what may not wait until statements end: log-ins, commits; the administrator when all places are taken */
    alm_turns turns;
    alm_pace pace;
    alm_faults faults;
    alm_thread_pool_item lead; /* of commits that nobody waits for; one at a time */
    alm_listener *listeners;
    _Atomic int64_t n_conns;
    int64_t conns_max; /* descriptors that connections may have */
    char full[128];
    uint64_t next_id;
    _Atomic bool stopping, cancel_all;
    uint32_t n_lanes;
    alm_lane *lanes;
};

/* accept.c */
void alm_conn_accept(alm_listener *listener);
void alm_conn_come(alm_conn *conn);    /* starts on its lane */
void alm_conn_uncount(alm_conn *conn); /* it is gone: last what alm_loop_stop waits for */
void alm_lane_evict(alm_lane *lane);   /* closes those that gave their places */

/* conn.c */
void alm_conn_start_reading(alm_conn *conn);
void alm_conn_touch(alm_conn *conn);       /* something came or went */
void alm_conn_work_done(alm_conn *conn);   /* loop thread, after the piece of work */
void alm_conn_spare_input(alm_conn *conn); /* frees the input buffer if nothing is in it */
void alm_conn_close_now(alm_conn *conn);
void alm_conn_late_tls(alm_conn *conn); /* it is too late: a handshake that has begun is a fault */

#endif
