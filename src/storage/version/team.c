/*
 * team.c - threads for one piece of work (team.h). They live as long as the work does: to make one takes some 20 us.
 */
#include "storage/version/team.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct team {
    alm_team_task *task;
    void *arg;
    uint32_t n;
    _Atomic uint32_t next;
    atomic_bool failed;
} team;

typedef struct member {
    team *t;
    uint32_t number;
    alm_ctx cx;
    pthread_t thread;
    uint32_t failed_at; /* the task whose error cx has; n: none failed */
} member;

static void team_work(member *found)
{
    team *t = found->t;
    while (!atomic_load(&t->failed)) {
        const uint32_t i = atomic_fetch_add(&t->next, 1);
        if (i >= t->n)
            return;
        if (t->task(&found->cx, t->arg, found->number, i) == ALM_OK)
            continue;
        found->failed_at = i;
        atomic_store(&t->failed, true);
    }
}

static void *member_main(void *arg)
{
    team_work(arg);
    return NULL;
}

/* What a thread may use of the caller: neither arena nor account, which are not of several threads. */
static alm_ctx context_of(const alm_ctx *cx)
{
    return (alm_ctx){.io = cx->io,
                     .conf = cx->conf,
                     .cancel = cx->cancel,
                     .deadline_ns = cx->deadline_ns,
                     .started_ns = cx->started_ns,
                     .timeout_ms = cx->timeout_ms};
}

alm_status alm_team_run(alm_ctx *cx, uint32_t threads, uint32_t n, alm_team_task *task, void *arg)
{
    team self = {.task = task, .arg = arg, .n = n};
    member members[ALM_TEAM_MAX];
    const uint32_t wanted = ALM_MAX(ALM_MIN(ALM_MIN(threads, n), (uint32_t)ALM_TEAM_MAX), 1U);
    uint32_t have = 1;
    for (uint32_t i = 0; i < wanted; i++)
        members[i] = (member){.t = &self, .number = i, .cx = context_of(cx), .failed_at = n};
    while (have < wanted &&
           pthread_create(&members[have].thread, NULL, member_main, &members[have]) == 0)
        have++;
    team_work(&members[0]);
    const member *first = &members[0];
    for (uint32_t i = 1; i < have; i++) {
        (void)pthread_join(members[i].thread, NULL);
        if (members[i].failed_at < first->failed_at)
            first = &members[i];
    }
    ALM_ASSERT(atomic_load(&self.failed) || atomic_load(&self.next) >= n);
    if (first->failed_at == n)
        return ALM_OK;
    cx->err = first->cx.err;
    return cx->err.code;
}
