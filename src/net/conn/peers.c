/* peers.c - see peers.h. */
#include "net/conn/peers.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "base/hash.h"
#include "net/conn/loop_state.h"

/* Of the reserve, the part that one address may have. */
enum { RESERVE_SHARES = 8 };

void alm_peers_init(alm_peers *peers)
{
    (void)pthread_mutex_init(&peers->lock, NULL);
    peers->seed = (uint64_t)alm_monotonic_ns();
}

void alm_peers_deinit(alm_peers *peers)
{
    for (size_t i = 0; i < ALM_PEER_BUCKETS; i++)
        ALM_ASSERT(peers->buckets[i] == NULL);
    (void)pthread_mutex_destroy(&peers->lock);
}

void alm_peer_net(const struct sockaddr_storage *from, uint64_t net[2])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint32_t v4 = 0;
    net[0] = net[1] = 0;
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
        const uint8_t *bytes = in6->sin6_addr.s6_addr;
        if (memcmp(bytes, mapped, sizeof mapped) != 0) {
            (void)memcpy(&net[0], bytes, sizeof net[0]);
            net[1] = 1;
            return;
        }
        (void)memcpy(&v4, bytes + sizeof mapped, sizeof v4);
    } else if (from->ss_family == AF_INET) {
        v4 = ((const struct sockaddr_in *)from)->sin_addr.s_addr;
    }
    net[0] = v4;
}

static alm_peer **peers_bucket_of(alm_peers *peers, const uint64_t net[2])
{
    return &peers->buckets[alm_hash_u128(net[0] ^ peers->seed, net[1]) % ALM_PEER_BUCKETS];
}

/* NULL: no memory. */
static alm_peer *peers_find_or_make(alm_peers *peers, const uint64_t net[2])
{
    alm_peer **bucket = peers_bucket_of(peers, net);
    alm_peer *peer = *bucket;
    while (peer != NULL && (peer->net[0] != net[0] || peer->net[1] != net[1]))
        peer = peer->chain;
    if (peer != NULL || (peer = calloc(1, sizeof *peer)) == NULL)
        return peer;
    peer->net[0] = net[0];
    peer->net[1] = net[1];
    peer->chain = *bucket;
    *bucket = peer;
    return peer;
}

static void drop_if_empty(alm_peers *peers, alm_peer *peer)
{
    if (peer->places > 0)
        return;
    ALM_ASSERT(peer->first_young == NULL);
    alm_peer **at = peers_bucket_of(peers, peer->net);
    while (*at != peer)
        at = &(*at)->chain;
    *at = peer->chain;
    free(peer);
}

static void unlink_young(alm_conn *conn)
{
    alm_peer *peer = conn->peer;
    if (!conn->young)
        return;
    *(conn->young_prev != NULL ? &conn->young_prev->young_next : &peer->first_young) =
        conn->young_next;
    *(conn->young_next != NULL ? &conn->young_next->young_prev : &peer->last_young) =
        conn->young_prev;
    conn->young = false;
}

static void link_young(alm_conn *conn, alm_peer *peer)
{
    conn->young = true;
    conn->young_next = NULL;
    conn->young_prev = peer->last_young;
    *(peer->last_young != NULL ? &peer->last_young->young_next : &peer->first_young) = conn;
    peer->last_young = conn;
}

static int64_t of_setting(const int64_t *setting)
{
    return setting != NULL ? *setting : 0;
}

/* The oldest connection of this address that may be asked to go. */
static alm_conn *eldest(const alm_peer *peer, bool at_once, int64_t silent_ms, int64_t now_ms)
{
    alm_conn *conn = peer->first_young;
    if (conn != NULL && now_ms - conn->came_ms >= silent_ms)
        return conn;
    while (conn != NULL && !(at_once && !atomic_load(&conn->spoke)))
        conn = conn->young_next;
    return conn;
}

/* Of the address that has most places; of `only`, where that is given. */
static alm_conn *victim(const alm_listener *listener, const alm_peer *only, bool files,
                        int64_t now_ms)
{
    const int64_t silent_ms = of_setting(listener->conf.silent_ms);
    const bool at_once = listener->conf.logins && !files;
    alm_conn *best = NULL;
    if (silent_ms == 0)
        return NULL;
    if (only != NULL)
        return eldest(only, at_once, silent_ms, now_ms);
    for (size_t i = 0; i < ALM_PEER_BUCKETS; i++) {
        for (const alm_peer *peer = listener->peers.buckets[i]; peer != NULL; peer = peer->chain) {
            if (best != NULL && peer->places <= best->peer->places)
                continue;
            alm_conn *found = eldest(peer, at_once, silent_ms, now_ms);
            best = found != NULL ? found : best;
        }
    }
    return best;
}

static bool peers_has_room(const alm_listener *listener, const alm_peer *peer)
{
    const int64_t max = *listener->conf.connection_max;
    const int64_t reserve = (max * of_setting(listener->conf.reserve_percent) + 99) / 100;
    const int64_t share = ALM_MAX(reserve / RESERVE_SHARES, (int64_t)1);
    return listener->peers.places < max ||
           (listener->peers.places < max + reserve && peer->places < share);
}

/* With the lock held: who evicts takes the place of the one that goes. */
static alm_place_verdict peers_judge(alm_conn *conn, alm_peer *peer, int64_t now_ms,
                                     alm_conn **evict)
{
    const alm_listener *listener = conn->listener;
    const int64_t most = of_setting(listener->conf.address_max);
    const bool files = atomic_load(&listener->loop->n_conns) > listener->loop->conns_max;
    const bool address_full = most > 0 && peer->places >= most;
    if (!files && !address_full && peers_has_room(listener, peer))
        return ALM_PLACE_TAKEN;
    *evict = victim(listener, address_full ? peer : NULL, files, now_ms);
    return *evict != NULL ? ALM_PLACE_TAKEN
           : files        ? ALM_PLACE_FILES
           : address_full ? ALM_PLACE_ADDRESS_FULL
                          : ALM_PLACE_FULL;
}

static void peers_leave(alm_conn *conn)
{
    alm_peers *peers = &conn->listener->peers;
    alm_peer *peer = conn->peer;
    unlink_young(conn);
    conn->peer = NULL;
    peer->places--;
    peers->places--;
    drop_if_empty(peers, peer);
}

alm_place_verdict alm_peers_take(alm_conn *conn, const struct sockaddr_storage *from,
                                 int64_t now_ms, alm_lane **wake)
{
    alm_peers *peers = &conn->listener->peers;
    uint64_t net[2];
    alm_conn *evict = NULL;
    alm_peer_net(from, net);
    *wake = NULL;
    (void)pthread_mutex_lock(&peers->lock);
    alm_peer *peer = peers_find_or_make(peers, net);
    const alm_place_verdict verdict =
        peer != NULL ? peers_judge(conn, peer, now_ms, &evict) : ALM_PLACE_MEMORY;
    if (verdict == ALM_PLACE_TAKEN) {
        conn->peer = peer;
        conn->came_ms = now_ms;
        peer->places++;
        peers->places++;
        link_young(conn, peer);
    } else if (peer != NULL) {
        drop_if_empty(peers, peer);
    }
    if (evict != NULL) { /* it is not freed before this lock is given back: see free_conn */
        peers_leave(evict);
        *wake = evict->lane;
        atomic_store(&evict->evicted, true);
    }
    (void)pthread_mutex_unlock(&peers->lock);
    return verdict;
}

void alm_peers_known(alm_conn *conn)
{
    alm_peers *peers = &conn->listener->peers;
    (void)pthread_mutex_lock(&peers->lock);
    if (conn->peer != NULL)
        unlink_young(conn);
    (void)pthread_mutex_unlock(&peers->lock);
}

void alm_peers_remove(alm_conn *conn)
{
    alm_peers *peers = &conn->listener->peers;
    (void)pthread_mutex_lock(&peers->lock);
    if (conn->peer != NULL)
        peers_leave(conn);
    (void)pthread_mutex_unlock(&peers->lock);
}
