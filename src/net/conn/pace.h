/*
 * pace.h - questions to somebody else (the identity provider) on behalf of clients who are not known yet: so many a second for an address,
 * and so many under way. Who asks beyond waits for his turn, and is not refused.
 *
 * Rate        An address that was quiet may ask a second's worth at once. Turns are given in the order in which they were asked for, by the
 *             first lane, four times a second.
 * Threads     Any; a lock. A connection that waits is taken out by its lane when it is closed.
 */
#ifndef ALM_NET_PACE_H
#define ALM_NET_PACE_H

#include <pthread.h>

#include "base/base.h"

struct alm_conn;

enum { ALM_PACE_BUCKETS = 256 };

typedef struct alm_pace_peer {
    uint64_t net[2];
    double turns; /* it may take now; at most a second's worth */
    int64_t filled_ns;
    int64_t running;
    struct alm_conn *first, *last; /* that wait */
    struct alm_pace_peer *chain;
} alm_pace_peer;

typedef struct alm_pace {
    pthread_mutex_t lock;
    int64_t per_second, running_max; /* as they were said last */
    _Atomic int64_t n_peers;
    alm_pace_peer *buckets[ALM_PACE_BUCKETS];
} alm_pace;

void alm_pace_init(alm_pace *pace);
void alm_pace_deinit(alm_pace *pace);
void alm_pace_tick(alm_pace *pace); /* gives turns */
/* It is no longer among those that wait; false: it was not. */
bool alm_pace_take_out(struct alm_conn *conn);

#endif
