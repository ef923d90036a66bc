/* places.c - see places.h. */
#include "net/http/query/places.h"

#include <pthread.h>
#include <stdlib.h>

struct alm_places {
    pthread_mutex_t lock;
    int64_t taken;
    alm_place *first, *last; /* that wait */
};

struct alm_places *alm_places_new(void)
{
    struct alm_places *places = calloc(1, sizeof(*places));
    if (places != NULL)
        (void)pthread_mutex_init(&places->lock, NULL);
    return places;
}

void alm_places_free(struct alm_places *places)
{
    if (places == NULL)
        return;
    (void)pthread_mutex_destroy(&places->lock);
    free(places);
}

static bool is_room(const struct alm_places *places, int64_t max)
{
    return max < 0 || places->taken < max;
}

bool alm_places_take(struct alm_places *places, alm_place *place, int64_t max)
{
    (void)pthread_mutex_lock(&places->lock);
    place->has = is_room(places, max) && places->first == NULL;
    if (place->has) {
        place->of = places;
        places->taken++;
    }
    (void)pthread_mutex_unlock(&places->lock);
    return place->has;
}

/* Is it among those that wait? Then not any more. Under the lock. */
static bool places_take_out(struct alm_places *places, alm_place *place)
{
    alm_place *before = NULL, *it = places->first;
    while (it != NULL && it != place) {
        before = it;
        it = it->next;
    }
    if (it == NULL)
        return false;
    if (before == NULL)
        places->first = it->next;
    else
        before->next = it->next;
    if (places->last == it)
        places->last = before;
    return true;
}

/* It waited long enough. False: it has a place in this moment. */
static bool too_late(void *arg)
{
    alm_place *place = arg;
    struct alm_places *places = place->of;
    (void)pthread_mutex_lock(&places->lock);
    const bool waited = places_take_out(places, place);
    (void)pthread_mutex_unlock(&places->lock);
    if (waited)
        place->of = NULL;
    return waited;
}

void alm_places_wait(alm_place *place, struct alm_places *places, alm_conn *conn, int64_t wait_ms,
                     void (*done)(alm_conn *conn, void *arg), void *arg)
{
    *place = (alm_place){.of = places, .conn = conn};
    alm_conn_wait(conn, done, NULL, arg);
    alm_conn_wait_at_most(conn, wait_ms, too_late, place);
    (void)pthread_mutex_lock(&places->lock);
    if (places->last != NULL)
        places->last->next = place;
    else
        places->first = place;
    places->last = place;
    (void)pthread_mutex_unlock(&places->lock);
}

void alm_places_leave(alm_place *place, int64_t max)
{
    struct alm_places *places = place->of;
    if (places == NULL || !place->has)
        return;
    place->of = NULL;
    place->has = false;
    (void)pthread_mutex_lock(&places->lock);
    places->taken--;
    while (places->first != NULL && is_room(places, max)) { /* several, if the limit went up */
        alm_place *next = places->first;
        (void)places_take_out(places, next);
        next->has = true;
        places->taken++;
        alm_conn_work_over(next->conn);
    }
    (void)pthread_mutex_unlock(&places->lock);
}

void alm_places_give_up(alm_place *place)
{
    if (place->of != NULL && !place->has && too_late(place))
        alm_conn_work_over(place->conn);
}
