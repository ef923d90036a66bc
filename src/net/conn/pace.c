/* pace.c - see pace.h. */
#include "net/conn/pace.h"

#include <stdlib.h>

#include "base/hash.h"
#include "net/conn/loop_state.h"

void alm_pace_init(alm_pace *pace)
{
    (void)pthread_mutex_init(&pace->lock, NULL);
}

void alm_pace_deinit(alm_pace *pace)
{
    for (size_t i = 0; i < ALM_PACE_BUCKETS; i++) {
        for (alm_pace_peer *peer = pace->buckets[i]; peer != NULL;) {
            alm_pace_peer *next = peer->chain;
            ALM_ASSERT(peer->first == NULL);
            free(peer);
            peer = next;
        }
    }
    (void)pthread_mutex_destroy(&pace->lock);
}

static alm_pace *pace_of(const alm_conn *conn)
{
    return &conn->listener->loop->pace;
}

static alm_pace_peer **pace_bucket_of(alm_pace *pace, const uint64_t net[2])
{
    return &pace->buckets[alm_hash_u128(net[0], net[1]) % ALM_PACE_BUCKETS];
}

static alm_pace_peer *pace_find(alm_pace *pace, const uint64_t net[2])
{
    alm_pace_peer *peer = *pace_bucket_of(pace, net);
    while (peer != NULL && (peer->net[0] != net[0] || peer->net[1] != net[1]))
        peer = peer->chain;
    return peer;
}

/* NULL: no memory. */
static alm_pace_peer *pace_find_or_make(alm_pace *pace, const uint64_t net[2])
{
    alm_pace_peer *peer = pace_find(pace, net);
    if (peer != NULL || (peer = calloc(1, sizeof *peer)) == NULL)
        return peer;
    (void)memcpy(peer->net, net, sizeof peer->net);
    peer->turns = (double)pace->per_second;
    peer->filled_ns = alm_monotonic_ns();
    peer->chain = *pace_bucket_of(pace, net);
    *pace_bucket_of(pace, net) = peer;
    atomic_fetch_add(&pace->n_peers, 1);
    return peer;
}

static void refill(const alm_pace *pace, alm_pace_peer *peer)
{
    const int64_t now_ns = alm_monotonic_ns();
    const double more = (double)(now_ns - peer->filled_ns) / 1e9 * (double)pace->per_second;
    peer->turns = ALM_MIN(peer->turns + more, (double)pace->per_second);
    peer->filled_ns = now_ns;
}

static bool takes_turn(const alm_pace *pace, alm_pace_peer *peer)
{
    if (peer->turns < 1 || peer->running >= pace->running_max)
        return false;
    peer->turns -= 1;
    peer->running++;
    return true;
}

bool alm_conn_pace(alm_conn *conn, int64_t per_second, int64_t running_max,
                   void (*done)(alm_conn *conn, void *arg), void (*drop)(void *arg), void *arg)
{
    alm_pace *pace = pace_of(conn);
    ALM_ASSERT(per_second > 0 && running_max > 0 && !conn->paced);
    (void)pthread_mutex_lock(&pace->lock);
    pace->per_second = per_second;
    pace->running_max = running_max;
    alm_pace_peer *peer = pace_find_or_make(pace, conn->net);
    if (peer != NULL)
        refill(pace, peer);
    const bool now = peer == NULL || (peer->first == NULL && takes_turn(pace, peer));
    conn->paced = now && peer != NULL;
    if (!now) {
        alm_conn_wait(conn, done, drop, arg);
        conn->pace_next = NULL;
        *(peer->last != NULL ? &peer->last->pace_next : &peer->first) = conn;
        peer->last = conn;
    }
    (void)pthread_mutex_unlock(&pace->lock);
    return now;
}

void alm_conn_pace_over(alm_conn *conn)
{
    alm_pace *pace = pace_of(conn);
    if (!conn->paced)
        return;
    conn->paced = false;
    (void)pthread_mutex_lock(&pace->lock);
    alm_pace_peer *peer = pace_find(pace, conn->net);
    ALM_ASSERT(peer != NULL && peer->running > 0);
    peer->running--;
    (void)pthread_mutex_unlock(&pace->lock);
}

bool alm_pace_take_out(alm_conn *conn)
{
    alm_pace *pace = pace_of(conn);
    (void)pthread_mutex_lock(&pace->lock);
    alm_pace_peer *peer = pace_find(pace, conn->net);
    alm_conn *before = NULL, *it = peer != NULL ? peer->first : NULL;
    while (it != NULL && it != conn) {
        before = it;
        it = it->pace_next;
    }
    if (it != NULL) {
        *(before != NULL ? &before->pace_next : &peer->first) = it->pace_next;
        if (peer->last == it)
            peer->last = before;
    }
    (void)pthread_mutex_unlock(&pace->lock);
    return it != NULL;
}

static void give_turns(const alm_pace *pace, alm_pace_peer *peer)
{
    refill(pace, peer);
    while (peer->first != NULL && takes_turn(pace, peer)) {
        alm_conn *conn = peer->first;
        peer->first = conn->pace_next;
        if (peer->first == NULL)
            peer->last = NULL;
        conn->paced = true;
        alm_conn_work_over(conn);
    }
}

/* An address that has nothing and has been quiet for a second is as one that never came. */
void alm_pace_tick(alm_pace *pace)
{
    if (atomic_load_explicit(&pace->n_peers, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&pace->lock);
    for (size_t i = 0; i < ALM_PACE_BUCKETS; i++) {
        for (alm_pace_peer **at = &pace->buckets[i]; *at != NULL;) {
            alm_pace_peer *peer = *at;
            give_turns(pace, peer);
            if (peer->first != NULL || peer->running > 0 ||
                peer->turns < (double)pace->per_second) {
                at = &peer->chain;
                continue;
            }
            *at = peer->chain;
            free(peer);
            atomic_fetch_sub(&pace->n_peers, 1);
        }
    }
    (void)pthread_mutex_unlock(&pace->lock);
}
