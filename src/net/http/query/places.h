/*
 * places.h - so many statements of a kind run at once (http.export.connection.limit); whoever comes beyond waits for a place, in
 * the order of coming, up to a time. No thread waits. Private to net/http.
 *
 * Threads     Any loop thread; a lock.
 */
#ifndef ALM_NET_HTTP_PLACES_H
#define ALM_NET_HTTP_PLACES_H

#include "net/http/exchange/http.h"

typedef struct alm_place {
    struct alm_places *of; /* NULL: it has none, and waits for none */
    alm_conn *conn;
    struct alm_place *next; /* that waits */
    bool has;
} alm_place;

struct alm_places;
struct alm_places *alm_places_new(void); /* NULL: no memory */
void alm_places_free(struct alm_places *places);

/* A place, if fewer than `max` are taken (-1: any number). */
bool alm_places_take(struct alm_places *places, alm_place *place, int64_t max);
/* The connection waits for one (alm_conn_wait), wait_ms at most; done: has one (place->has), or not. */
void alm_places_wait(alm_place *place, struct alm_places *places, alm_conn *conn, int64_t wait_ms,
                     void (*done)(alm_conn *conn, void *arg), void *arg);
/* Gives it back: to the first that waits, where there is room for it. */
void alm_places_leave(alm_place *place, int64_t max);
/* The client is gone: waits no more. */
void alm_places_give_up(alm_place *place);

#endif
