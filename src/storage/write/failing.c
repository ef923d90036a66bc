/* failing.c - see failing.h. */
#include "storage/write/failing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

static const int64_t MS = 1000000;
enum {
    DAMAGE_PAUSE_MS = 1000,
    DAMAGE_PAUSE_MS_MAX = 60000,
    ERROR_PAUSE_MS = 250,
    LASTING = 20 /* tries without success */
};

/* Under work_lock. */
static alm_failing *find(alm_storage *st, uint64_t table_id, alm_work_step step)
{
    for (uint32_t i = 0; i < atomic_load(&st->n_failing); i++)
        if (st->failing[i].table_id == table_id && st->failing[i].step == step)
            return &st->failing[i];
    return NULL;
}

static alm_failing *add(alm_storage *st, uint64_t table_id, alm_work_step step)
{
    const uint32_t n = atomic_load(&st->n_failing);
    if (n == st->cap_failing) {
        const uint32_t cap = n == 0 ? 8 : n * 2;
        alm_failing *bigger = realloc(st->failing, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        st->failing = bigger;
        st->cap_failing = cap;
    }
    ALM_ASSERT(n < st->cap_failing);
    st->failing[n] = (alm_failing){.table_id = table_id, .step = step};
    atomic_store(&st->n_failing, n + 1);
    return &st->failing[n];
}

/* Moves the last entry to its place. */
static void remove_one(alm_storage *st, alm_failing *f)
{
    const uint32_t n = atomic_load(&st->n_failing);
    ALM_ASSERT(n > 0);
    ALM_ASSERT(f >= st->failing && f < st->failing + n);
    *f = st->failing[n - 1];
    atomic_store(&st->n_failing, n - 1);
}

bool alm_work_pauses(alm_storage *st, uint64_t table_id, alm_work_step step)
{
    if (atomic_load(&st->n_failing) == 0)
        return false;
    (void)pthread_mutex_lock(&st->work_lock);
    const alm_failing *f = find(st, table_id, step);
    const bool pauses = f != NULL && st->io->mono_ns(st->io) < f->again_ns;
    (void)pthread_mutex_unlock(&st->work_lock);
    return pauses;
}

bool alm_work_fails(alm_storage *st, uint64_t table_id, alm_work_step step, alm_error *why)
{
    if (atomic_load(&st->n_failing) == 0)
        return false;
    (void)pthread_mutex_lock(&st->work_lock);
    const alm_failing *f = find(st, table_id, step);
    if (f != NULL && why != NULL)
        *why = f->why;
    (void)pthread_mutex_unlock(&st->work_lock);
    return f != NULL;
}

alm_error alm_work_error(alm_storage *st)
{
    alm_error out = {.code = ALM_OK};
    (void)pthread_mutex_lock(&st->work_lock);
    if (atomic_load(&st->n_failing) > 0)
        out = st->failing[0].why;
    (void)pthread_mutex_unlock(&st->work_lock);
    return out;
}

static int64_t pause_ms(alm_status status, uint32_t tries)
{
    if (status != ALM_E_CORRUPT)
        return ERROR_PAUSE_MS;
    const uint32_t doublings = ALM_MIN(tries - 1, 6U);
    return ALM_MIN((int64_t)DAMAGE_PAUSE_MS << doublings, (int64_t)DAMAGE_PAUSE_MS_MAX);
}

static alm_damage_key damage_of(uint64_t table_id, alm_work_step step)
{
    return (alm_damage_key){ALM_DAMAGE_WORK, table_id, (uint64_t)step};
}

static void succeeded(alm_storage *st, uint64_t table_id, alm_work_step step)
{
    if (atomic_load(&st->n_failing) == 0)
        return;
    (void)pthread_mutex_lock(&st->work_lock);
    alm_failing *f = find(st, table_id, step);
    if (f != NULL)
        remove_one(st, f);
    (void)pthread_mutex_unlock(&st->work_lock);
    if (f != NULL)
        alm_damage_end(st, damage_of(table_id, step));
}

/* Returns the number of failures so far; 0 if there is no memory for the entry. */
static uint32_t failed(alm_storage *st, uint64_t table_id, alm_work_step step, const alm_error *why)
{
    uint32_t tries = 0;
    (void)pthread_mutex_lock(&st->work_lock);
    alm_failing *f = find(st, table_id, step);
    if (f == NULL)
        f = add(st, table_id, step);
    if (f != NULL) {
        tries = ++f->tries;
        f->why = *why;
        f->again_ns = st->io->mono_ns(st->io) + pause_ms(why->code, tries) * MS;
    }
    (void)pthread_cond_broadcast(&st->work_cond);
    (void)pthread_mutex_unlock(&st->work_lock);
    return tries;
}

alm_status alm_work_result(alm_ctx *cx, alm_storage *st, uint64_t table_id, const char *table,
                           alm_work_step step, alm_status status)
{
    static const char *const names[] = {
        [ALM_WORK_FLUSH] = "new rows are not written", [ALM_WORK_MERGE] = "parts are not merged"};
    if (status == ALM_OK) {
        succeeded(st, table_id, step);
        return ALM_OK;
    }
    if (status != ALM_E_CORRUPT && status != ALM_E_IO)
        return status;
    ALM_ASSERT(cx->err.code == status);
    const uint32_t tries = failed(st, table_id, step, &cx->err);
    if (tries == 0)
        return status;
    char what[sizeof cx->err.msg + 256];
    (void)snprintf(what, sizeof what, "table '%s': %s: %s", table, names[step], cx->err.msg);
    if (tries == 1)
        alm_log_warn("storage", "%s; it will be tried again", what);
    if (tries == LASTING && status != ALM_E_CORRUPT) /* damage is told by its file */
        alm_damage_add(st, damage_of(table_id, step), what);
    alm_error_clear(cx);
    return ALM_OK;
}

static bool first_gone(alm_storage *st, const alm_catver *cat, alm_failing *out)
{
    bool found = false;
    (void)pthread_mutex_lock(&st->work_lock);
    for (uint32_t i = 0; i < atomic_load(&st->n_failing) && !found; i++) {
        *out = st->failing[i];
        found = alm_catver_by_id(cat, out->table_id) < 0;
    }
    (void)pthread_mutex_unlock(&st->work_lock);
    return found;
}

void alm_work_forget(alm_storage *st, const alm_catver *cat)
{
    alm_failing gone;
    while (atomic_load(&st->n_failing) > 0 && first_gone(st, cat, &gone))
        succeeded(st, gone.table_id, gone.step);
}
