/* turns.c - see turns.h. */
#include "net/conn/turns.h"

#include "net/conn/loop_state.h"

void alm_turns_init(alm_turns *turns)
{
    (void)pthread_mutex_init(&turns->lock, NULL);
}

void alm_turns_deinit(alm_turns *turns)
{
    ALM_ASSERT(turns->first == NULL);
    (void)pthread_mutex_destroy(&turns->lock);
}

static alm_turns *turns_of(const alm_conn *conn)
{
    return &conn->listener->loop->turns;
}

static int64_t running_of(const alm_turns *turns, const uint64_t net[2])
{
    int64_t count = 0;
    for (size_t i = 0; i < turns->n_running; i++)
        count += turns->running[i][0] == net[0] && turns->running[i][1] == net[1];
    return count;
}

static bool unlink_waiting(alm_turns *turns, const alm_conn *conn)
{
    alm_conn *before = NULL, *it = turns->first;
    while (it != NULL && it != conn) {
        before = it;
        it = it->turn_next;
    }
    if (it == NULL)
        return false;
    *(before != NULL ? &before->turn_next : &turns->first) = it->turn_next;
    if (turns->last == it)
        turns->last = before;
    return true;
}

bool alm_turns_take_out(alm_conn *conn)
{
    alm_turns *turns = turns_of(conn);
    (void)pthread_mutex_lock(&turns->lock);
    const bool waited = unlink_waiting(turns, conn);
    (void)pthread_mutex_unlock(&turns->lock);
    return waited;
}

/* Whose turn it is; NULL: nobody's. With the lock held. */
static alm_conn *turns_next_of(const alm_turns *turns)
{
    alm_conn *best = NULL;
    int64_t best_n = turns->address_max;
    if ((int64_t)turns->n_running >= turns->all_max)
        return NULL;
    for (alm_conn *conn = turns->first; conn != NULL && best_n > 0; conn = conn->turn_next) {
        const int64_t n = running_of(turns, conn->net);
        if (n < best_n) {
            best = conn;
            best_n = n;
        }
    }
    return best;
}

static void start_all(alm_turns *turns);

static void run_turn(alm_thread_pool_item *item)
{
    alm_conn *conn = (alm_conn *)((char *)item - offsetof(alm_conn, item));
    alm_turns *turns = turns_of(conn);
    const uint64_t net[2] = {conn->net[0], conn->net[1]};
    conn->work(conn->work_arg);
    (void)pthread_mutex_lock(&turns->lock);
    size_t offset = 0;
    while (turns->running[offset][0] != net[0] || turns->running[offset][1] != net[1])
        offset++;
    ALM_ASSERT(offset < turns->n_running);
    (void)memcpy(turns->running[offset], turns->running[--turns->n_running],
                 sizeof turns->running[offset]);
    start_all(turns);
    (void)pthread_mutex_unlock(&turns->lock);
    alm_conn_work_over(conn);
}

/* With the lock held. */
static void start_all(alm_turns *turns)
{
    for (alm_conn *conn = turns_next_of(turns); conn != NULL; conn = turns_next_of(turns)) {
        (void)unlink_waiting(turns, conn);
        (void)memcpy(turns->running[turns->n_running++], conn->net, sizeof conn->net);
        conn->item.run = run_turn;
        conn->item.owner = 0;
        alm_thread_pool_submit(conn->listener->loop->desk, &conn->item);
    }
}

void alm_conn_work_in_turn(alm_conn *conn, int64_t all_max, int64_t address_max,
                           void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                           void (*drop)(void *arg), void *arg)
{
    alm_turns *turns = turns_of(conn);
    ALM_ASSERT(all_max > 0 && address_max > 0);
    alm_conn_wait(conn, done, drop, arg);
    conn->work = work;
    conn->turn_next = NULL;
    (void)pthread_mutex_lock(&turns->lock);
    turns->all_max = ALM_MIN(all_max, (int64_t)ALM_TURNS_MAX);
    turns->address_max = address_max;
    *(turns->last != NULL ? &turns->last->turn_next : &turns->first) = conn;
    turns->last = conn;
    start_all(turns);
    (void)pthread_mutex_unlock(&turns->lock);
}
