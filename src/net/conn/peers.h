/*
 * peers.h - the places of a listener, by the addresses that hold them. Private to loop.c and conn.c.
 *
 * Place       A connection that is served has one; one that is refused has none. `limit` places are for whoever comes first; beyond
 *             them a reserve is for addresses that hold few, so that one address cannot keep all others out.
 * Address     An IPv4 address, or the first 64 bits of an IPv6 one: whoever has one such network has all of its addresses.
 * Young       A connection is young until its protocol knows the client (alm_conn_known). When a listener is full, the oldest young
 *             one of the address that holds most gives its place to a newcomer: at once where it never sent a byte and clients
 *             have to log in, else after silent_ms.
 * Threads     Any; a lock of the listener. A connection is in the lists until alm_peers_remove, which its lane calls before it is freed.
 */
#ifndef ALM_NET_PEERS_H
#define ALM_NET_PEERS_H

#include <pthread.h>

#include "base/base.h"

struct alm_conn;
struct alm_lane;
struct sockaddr_storage;

typedef struct alm_peer {
    uint64_t net[2];
    int64_t places;
    struct alm_conn *first_young, *last_young; /* by age, the oldest first */
    struct alm_peer *chain;
} alm_peer;

enum { ALM_PEER_BUCKETS = 1024 };

typedef struct alm_peers {
    pthread_mutex_t lock;
    alm_peer *buckets[ALM_PEER_BUCKETS];
    uint64_t seed;
    int64_t places;
} alm_peers;

void alm_peers_init(alm_peers *peers);
void alm_peers_deinit(alm_peers *peers);

typedef enum alm_place_verdict {
    ALM_PLACE_TAKEN,
    ALM_PLACE_FULL,         /* connection_max */
    ALM_PLACE_ADDRESS_FULL, /* address_max */
    ALM_PLACE_FILES,        /* descriptors of the process */
    ALM_PLACE_MEMORY
} alm_place_verdict;

/* A place for a new connection. *wake: the lane of a connection that gives its own (`evicted` is set), which closes it; or NULL. */
alm_place_verdict alm_peers_take(struct alm_conn *conn, const struct sockaddr_storage *from,
                                 int64_t now_ms, struct alm_lane **wake);
void alm_peers_known(struct alm_conn *conn);
void alm_peers_remove(struct alm_conn *conn);
/* Bits of an address that limits count by. */
void alm_peer_net(const struct sockaddr_storage *from, uint64_t net[2]);

#endif
