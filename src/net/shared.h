/*
 * shared.h - what the connections of one server share: counters, who may send lines over TCP, preferences. Private
 * to net/. It is the `arg` of the listeners of HTTP and of the line protocol.
 *
 * Threads     Counters are atomic, any thread adds; the keys are read-only.
 */
#ifndef ALM_NET_SHARED_H
#define ALM_NET_SHARED_H

#include "auth/line_keys.h"
#include "net/conn/loop.h"

enum { ALM_NET_HTTP, ALM_NET_PG, ALM_NET_LINE, ALM_NET_HEALTH, ALM_NET_PROTOCOLS };

typedef struct alm_net_shared {
    alm_traffic traffic[ALM_NET_PROTOCOLS];
    alm_counter http_answers[6];   /* by the first digit of the status */
    alm_counter line_http_running; /* requests */
    alm_counter line_http_bytes, line_http_rows, line_http_refused;
    alm_counter line_tcp_bytes, line_tcp_rows, line_tcp_dropped; /* dropped: lines */
    alm_counter line_tcp_disconnects, line_tcp_logins_failed;
    alm_line_keys *line_keys; /* NULL: no login */
    struct alm_preferences *preferences;
    struct alm_held_store *held;               /* results that are read page by page */
    struct alm_tagged_list *tagged;            /* statements that have a name */
    unsigned char session_key[32];             /* of session_cookie.h */
    struct alm_ended_sessions *ended;          /* of session_cookie.h */
    char *public_dir;                          /* of static files; NULL: there is none */
    struct alm_places *exports, *json_queries; /* that run: places.h */
    struct alm_session_store *sessions;        /* of session_store.h */
} alm_net_shared;

#endif
