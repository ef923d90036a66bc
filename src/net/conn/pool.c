/* pool.c - query threads over one queue, and the thread that minds them. */
#include "net/conn/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <uv.h>

#include "base/wait.h"

enum { IDLE_MS = 10000 };
/* An item that has run for a round is long: it holds up nobody. */
enum { ROUND_US = 1000 };
/* A statement of sql.nesting.max levels takes some 3 kB of stack a level in all its steps; only what is used
 * is memory. */
enum { STACK_BYTES = 8 << 20 };

/*
 * Waking a thread costs more than a small statement: two switches, and the network thread loses its core.
 * So no thread is woken while as many as there are cores run items that began just now: they come back for
 * what waits. What they may have begun is long, though; while items wait, the minder looks once a round,
 * takes all that runs for long, and wakes others.
 */
struct alm_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, ended, mind;
    alm_thread_pool_item *head, *tail;
    uint32_t threads, idle, threads_max, waiting_items;
    uint64_t *running; /* owners of what runs */
    uint32_t n_running, running_cap;
    uint32_t woken; /* threads on their way to the queue: idle ones that were signalled, new ones */
    uint32_t short_running; /* items that began in this round */
    uint32_t short_max;
    uint32_t round; /* looks of the minder */
    bool minding;   /* else the minder sleeps until something has to wait */
    bool stop;
    pthread_t minder;
    bool has_minder;
};

/* Threads that the pieces of one owner may have. */
static uint32_t share_of_one(const alm_thread_pool *pool)
{
    enum { RESERVE = 8 }; /* one in so many */
    return pool->threads_max -
           (pool->threads_max > 1 ? ALM_MAX(pool->threads_max / RESERVE, 1u) : 0);
}

static bool has_share(const alm_thread_pool *pool, uint64_t owner)
{
    uint32_t count = 0;
    if (owner == 0 || pool->stop)
        return true;
    for (uint32_t i = 0; i < pool->n_running; i++)
        count += pool->running[i] == owner;
    return count < share_of_one(pool);
}

/* The first item that may run; *before: the one in front of it. Neighbours of one owner are asked about once. */
static alm_thread_pool_item *conn_pool_next_of(const alm_thread_pool *pool,
                                               alm_thread_pool_item **before)
{
    uint64_t refused = 0;
    *before = NULL;
    for (alm_thread_pool_item *item = pool->head; item != NULL; *before = item, item = item->next) {
        if (refused != 0 && item->owner == refused)
            continue;
        if (has_share(pool, item->owner))
            return item;
        refused = item->owner;
    }
    return NULL;
}

static bool has_work(const alm_thread_pool *pool)
{
    alm_thread_pool_item *before = NULL;
    return conn_pool_next_of(pool, &before) != NULL;
}

static alm_thread_pool_item *conn_pool_take(alm_thread_pool *pool)
{
    alm_thread_pool_item *before = NULL, *item = conn_pool_next_of(pool, &before);
    if (item == NULL)
        return NULL;
    *(before != NULL ? &before->next : &pool->head) = item->next;
    if (pool->tail == item)
        pool->tail = before;
    pool->waiting_items--;
    ALM_ASSERT(pool->n_running < pool->running_cap); /* add_thread sees to it */
    pool->running[pool->n_running++] = item->owner;
    return item;
}

/* What ran of that owner is done. */
static void has_run(alm_thread_pool *pool, uint64_t owner)
{
    uint32_t place = 0;
    while (place < pool->n_running && pool->running[place] != owner)
        place++;
    ALM_ASSERT(place < pool->n_running);
    pool->running[place] = pool->running[--pool->n_running];
}

static void has_come(alm_thread_pool *pool)
{
    if (pool->woken > 0)
        pool->woken--;
}

/* With the lock held: waits for an item; NULL: this thread shall end. */
static alm_thread_pool_item *wait_for_item(alm_thread_pool *pool)
{
    alm_thread_pool_item *item = NULL;
    while ((item = conn_pool_take(pool)) == NULL) {
        if (pool->stop)
            return NULL;
        pool->idle++;
        const bool woken = alm_cond_wait_ms(&pool->work, &pool->lock, IDLE_MS);
        pool->idle--;
        has_come(pool);
        if (pool->threads > pool->threads_max)
            return NULL; /* the limit has gone down: others take what waits */
        if (!woken && pool->threads > 1 && !has_work(pool))
            return NULL;
    }
    return item;
}

static bool wake_one(alm_thread_pool *pool);

static void *run_thread(void *arg)
{
    alm_thread_pool *pool = arg;
    (void)pthread_mutex_lock(&pool->lock);
    has_come(pool);
    for (;;) {
        alm_thread_pool_item *item = wait_for_item(pool);
        if (item == NULL)
            break;
        const uint32_t round = pool->round;
        const uint64_t owner = item->owner; /* the item may be gone when it has run */
        pool->short_running++;
        (void)pthread_mutex_unlock(&pool->lock);
        item->run(item);
        (void)pthread_mutex_lock(&pool->lock);
        has_run(pool, owner);
        if (round == pool->round)
            pool->short_running--;
        if (pool->threads > pool->threads_max)
            break;
    }
    pool->threads--;
    if (has_work(pool) && !pool->stop && wake_one(pool))
        (void)pthread_cond_signal(&pool->work);
    (void)pthread_cond_broadcast(&pool->ended);
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* For the owners of one thread more. */
static bool conn_pool_has_room(alm_thread_pool *pool)
{
    if (pool->threads < pool->running_cap)
        return true;
    const uint32_t cap = ALM_MAX(2 * pool->running_cap, 16u);
    uint64_t *grown = realloc(pool->running, cap * sizeof *grown);
    if (grown == NULL)
        return false;
    pool->running = grown;
    pool->running_cap = cap;
    return true;
}

/* With the lock held. Failing is no harm while one thread lives. */
static bool add_thread(alm_thread_pool *pool)
{
    pthread_t thread;
    pthread_attr_t attr;
    if (!conn_pool_has_room(pool))
        return false;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const bool made = pthread_create(&thread, &attr, run_thread, pool) == 0;
    (void)pthread_attr_destroy(&attr);
    pool->threads += made;
    pool->woken += made;
    return made;
}

/* With the lock held: one thread more for the queue. True: `work` has to be signalled, best without the lock. */
static bool wake_one(alm_thread_pool *pool)
{
    if (pool->idle > pool->woken) {
        pool->woken++;
        return true;
    }
    if (pool->threads < pool->threads_max)
        (void)add_thread(pool);
    return false;
}

static void *run_minder(void *arg)
{
    alm_thread_pool *pool = arg;
    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        if (!pool->minding) {
            (void)pthread_cond_wait(&pool->mind, &pool->lock);
            continue;
        }
        (void)alm_cond_wait_us(&pool->mind, &pool->lock, ROUND_US);
        pool->round++;
        pool->short_running = 0;
        pool->minding = has_work(pool); /* what waits for its owner's share is taken by who ends */
        for (uint32_t count = 0;
             pool->minding && count < pool->waiting_items && pool->woken < pool->short_max;
             count++) {
            if (wake_one(pool))
                (void)pthread_cond_signal(&pool->work);
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

alm_status alm_thread_pool_new(alm_ctx *cx, uint32_t threads_max, uint32_t processors,
                               alm_thread_pool **out)
{
    alm_thread_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->work, NULL);
    (void)pthread_cond_init(&pool->ended, NULL);
    (void)pthread_cond_init(&pool->mind, NULL);
    pool->threads_max = ALM_MAX(threads_max, 1u);
    pool->short_max = processors;
    (void)pthread_mutex_lock(&pool->lock);
    pool->has_minder = pthread_create(&pool->minder, NULL, run_minder, pool) == 0;
    const bool made = pool->has_minder && add_thread(pool);
    (void)pthread_mutex_unlock(&pool->lock);
    if (!made) {
        alm_thread_pool_free(pool);
        return alm_fail(cx, ALM_E_IO, -1, "cannot create a query thread");
    }
    *out = pool;
    return ALM_OK;
}

void alm_thread_pool_submit(alm_thread_pool *pool, alm_thread_pool_item *item)
{
    item->next = NULL;
    bool signal = false, mind = false;
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->tail != NULL)
        pool->tail->next = item;
    else
        pool->head = item;
    pool->tail = item;
    pool->waiting_items++;
    if (pool->woken + pool->short_running < pool->short_max)
        signal = wake_one(pool);
    else if (!pool->minding)
        mind = pool->minding = true;
    (void)pthread_mutex_unlock(&pool->lock);
    if (signal)
        (void)pthread_cond_signal(&pool->work);
    if (mind)
        (void)pthread_cond_signal(&pool->mind);
}

bool alm_thread_pool_is_full(alm_thread_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    const bool full = pool->n_running + pool->waiting_items >= pool->threads_max;
    (void)pthread_mutex_unlock(&pool->lock);
    return full;
}

void alm_thread_pool_limit(alm_thread_pool *pool, uint32_t threads_max)
{
    (void)pthread_mutex_lock(&pool->lock);
    pool->threads_max = ALM_MAX(threads_max, 1u);
    if (pool->threads > pool->threads_max && !has_work(pool)) { /* idle ones see to it */
        pool->woken = pool->idle;
        (void)pthread_cond_broadcast(&pool->work);
    }
    for (uint32_t count = 0; count < pool->waiting_items; count++)
        if (wake_one(pool))
            (void)pthread_cond_signal(&pool->work);
    (void)pthread_mutex_unlock(&pool->lock);
}

void alm_thread_pool_free(alm_thread_pool *pool)
{
    if (pool == NULL)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    (void)pthread_cond_broadcast(&pool->work);
    (void)pthread_cond_broadcast(&pool->mind);
    while (pool->threads > 0)
        (void)pthread_cond_wait(&pool->ended, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
    if (pool->has_minder)
        (void)pthread_join(pool->minder, NULL);
    free(pool->running);
    (void)pthread_cond_destroy(&pool->mind);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->ended);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}
