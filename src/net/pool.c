/* pool.c - query threads over one queue. */
#include "net/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/wait.h"

enum { IDLE_MS = 10000 };
/* A statement of sql.nesting.max levels takes some 3 kB of stack a level in all its steps; only what is used
 * is memory. */
enum { STACK_BYTES = 8 << 20 };

struct alm_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    alm_thread_pool_item *head, *tail;
    uint32_t threads, idle, threads_max, waiting_items;
    bool stop;
};

static alm_thread_pool_item *take(alm_thread_pool *pool)
{
    alm_thread_pool_item *item = pool->head;
    pool->head = item->next;
    if (pool->head == NULL)
        pool->tail = NULL;
    pool->waiting_items--;
    return item;
}

/* With the lock held: waits for an item; NULL: this thread shall end. */
static alm_thread_pool_item *wait_for_item(alm_thread_pool *pool)
{
    while (pool->head == NULL) {
        if (pool->stop)
            return NULL;
        pool->idle++;
        const bool woken = alm_cond_wait_ms(&pool->work, &pool->lock, IDLE_MS);
        pool->idle--;
        if (!woken && pool->head == NULL && pool->threads > 1)
            return NULL;
    }
    return take(pool);
}

static void *run_thread(void *arg)
{
    alm_thread_pool *pool = arg;
    (void)pthread_mutex_lock(&pool->lock);
    for (;;) {
        alm_thread_pool_item *item = wait_for_item(pool);
        if (item == NULL)
            break;
        (void)pthread_mutex_unlock(&pool->lock);
        item->run(item);
        (void)pthread_mutex_lock(&pool->lock);
    }
    pool->threads--;
    (void)pthread_cond_broadcast(&pool->ended);
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* With the lock held. Failing is no harm while one thread lives. */
static bool add_thread(alm_thread_pool *pool)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    const bool made = pthread_create(&thread, &attr, run_thread, pool) == 0;
    (void)pthread_attr_destroy(&attr);
    pool->threads += made;
    return made;
}

alm_status alm_thread_pool_new(alm_ctx *cx, uint32_t threads_max, alm_thread_pool **out)
{
    alm_thread_pool *pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->work, NULL);
    (void)pthread_cond_init(&pool->ended, NULL);
    pool->threads_max = ALM_MAX(threads_max, 1u);
    (void)pthread_mutex_lock(&pool->lock);
    const bool made = add_thread(pool);
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
    (void)pthread_mutex_lock(&pool->lock);
    if (pool->tail != NULL)
        pool->tail->next = item;
    else
        pool->head = item;
    pool->tail = item;
    pool->waiting_items++;
    if (pool->waiting_items > pool->idle && pool->threads < pool->threads_max)
        (void)add_thread(pool);
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
    while (pool->threads > 0)
        (void)pthread_cond_wait(&pool->ended, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_cond_destroy(&pool->ended);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}
