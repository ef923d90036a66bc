/*
 * shared.h - what the connections of one server share: counters, who may send lines over TCP, preferences. Private to
 * net/. It is the `arg` of the listeners of HTTP and of the line protocol.
 *
 * Threads     Counters are atomic, any thread adds; the keys are read-only.
 */
#ifndef ALM_NET_SHARED_H
#define ALM_NET_SHARED_H

#include <stdatomic.h>

#include "auth/line_keys.h"

typedef struct alm_net_shared {
#define ALM_METRIC(kind, field, name, doc) _Atomic int64_t field;
#include "net/metric.def"
#undef ALM_METRIC
    alm_line_keys *line_keys; /* NULL: no login */
    struct alm_preferences *preferences;
} alm_net_shared;

/* Adds without order: nothing else hangs on it. */
#define ALM_COUNT_ADD(counter, n)                                                                  \
    (void)atomic_fetch_add_explicit(&(counter), (int64_t)(n), memory_order_relaxed)

#endif
