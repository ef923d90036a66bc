/*
 * turns.h - work that is dear and that anybody may ask for: so many pieces at once, so many of one address; who asks beyond waits.
 *
 * Order       The one that waits longest among those whose addresses run least goes next.
 * Threads     Any; a lock. A connection that waits is taken out by its lane when it is closed.
 */
#ifndef ALM_NET_TURNS_H
#define ALM_NET_TURNS_H

#include <pthread.h>

#include "base/base.h"

struct alm_conn;

enum { ALM_TURNS_MAX = 64 }; /* that run */

typedef struct alm_turns {
    pthread_mutex_t lock;
    int64_t all_max, address_max; /* as they were said last */
    size_t n_running;
    uint64_t running[ALM_TURNS_MAX][2]; /* addresses */
    struct alm_conn *first, *last;      /* that wait */
} alm_turns;

void alm_turns_init(alm_turns *turns);
void alm_turns_deinit(alm_turns *turns);
/* It is no longer among those that wait; false: it was not. */
bool alm_turns_take_out(struct alm_conn *conn);

#endif
