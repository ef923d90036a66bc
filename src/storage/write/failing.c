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
static alm_failing *failing_find(alm_storage *storage, uint64_t table_id, alm_work_step step)
{
    for (uint32_t i = 0; i < atomic_load(&storage->n_failing); i++)
        if (storage->failing[i].table_id == table_id && storage->failing[i].step == step)
            return &storage->failing[i];
    return NULL;
}

static alm_failing *failing_add(alm_storage *storage, uint64_t table_id, alm_work_step step)
{
    const uint32_t n = atomic_load(&storage->n_failing);
    if (n == storage->cap_failing) {
        const uint32_t cap = n == 0 ? 8 : n * 2;
        alm_failing *bigger = realloc(storage->failing, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        storage->failing = bigger;
        storage->cap_failing = cap;
    }
    ALM_ASSERT(n < storage->cap_failing);
    storage->failing[n] = (alm_failing){.table_id = table_id, .step = step};
    atomic_store(&storage->n_failing, n + 1);
    return &storage->failing[n];
}

/* Moves the last entry to its place. */
static void failing_remove_one(alm_storage *storage, alm_failing *failing)
{
    const uint32_t n = atomic_load(&storage->n_failing);
    ALM_ASSERT(n > 0);
    ALM_ASSERT(failing >= storage->failing && failing < storage->failing + n);
    *failing = storage->failing[n - 1];
    atomic_store(&storage->n_failing, n - 1);
}

bool alm_work_pauses(alm_storage *storage, uint64_t table_id, alm_work_step step)
{
    if (atomic_load(&storage->n_failing) == 0)
        return false;
    (void)pthread_mutex_lock(&storage->work_lock);
    const alm_failing *failing = failing_find(storage, table_id, step);
    const bool pauses = failing != NULL && storage->io->mono_ns(storage->io) < failing->again_ns;
    (void)pthread_mutex_unlock(&storage->work_lock);
    return pauses;
}

bool alm_work_fails(alm_storage *storage, uint64_t table_id, alm_work_step step, alm_error *why)
{
    if (atomic_load(&storage->n_failing) == 0)
        return false;
    (void)pthread_mutex_lock(&storage->work_lock);
    const alm_failing *failing = failing_find(storage, table_id, step);
    if (failing != NULL && why != NULL)
        *why = failing->why;
    (void)pthread_mutex_unlock(&storage->work_lock);
    return failing != NULL;
}

alm_error alm_work_error(alm_storage *storage)
{
    alm_error out = {.code = ALM_OK};
    (void)pthread_mutex_lock(&storage->work_lock);
    if (atomic_load(&storage->n_failing) > 0)
        out = storage->failing[0].why;
    (void)pthread_mutex_unlock(&storage->work_lock);
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

static void succeeded(alm_storage *storage, uint64_t table_id, alm_work_step step)
{
    if (atomic_load(&storage->n_failing) == 0)
        return;
    (void)pthread_mutex_lock(&storage->work_lock);
    alm_failing *failing = failing_find(storage, table_id, step);
    if (failing != NULL)
        failing_remove_one(storage, failing);
    (void)pthread_mutex_unlock(&storage->work_lock);
    if (failing != NULL)
        alm_damage_end(storage, damage_of(table_id, step));
}

/* Returns the number of failures so far; 0 if there is no memory for the entry. */
static uint32_t failing_failed(alm_storage *storage, uint64_t table_id, alm_work_step step,
                               const alm_error *why)
{
    uint32_t tries = 0;
    (void)pthread_mutex_lock(&storage->work_lock);
    alm_failing *failing = failing_find(storage, table_id, step);
    if (failing == NULL)
        failing = failing_add(storage, table_id, step);
    if (failing != NULL) {
        tries = ++failing->tries;
        failing->why = *why;
        failing->again_ns = storage->io->mono_ns(storage->io) + pause_ms(why->code, tries) * MS;
    }
    (void)pthread_cond_broadcast(&storage->work_cond);
    (void)pthread_mutex_unlock(&storage->work_lock);
    return tries;
}

alm_status alm_work_result(alm_ctx *cx, alm_storage *storage, uint64_t table_id, const char *table,
                           alm_work_step step, alm_status status)
{
    static const char *const names[] = {
        [ALM_WORK_FLUSH] = "new rows are not written", [ALM_WORK_MERGE] = "parts are not merged"};
    if (status == ALM_OK) {
        succeeded(storage, table_id, step);
        return ALM_OK;
    }
    if (status != ALM_E_CORRUPT && status != ALM_E_IO)
        return status;
    ALM_ASSERT(cx->err.code == status);
    const uint32_t tries = failing_failed(storage, table_id, step, &cx->err);
    if (tries == 0)
        return status;
    char what[sizeof cx->err.msg + 256];
    (void)snprintf(what, sizeof what, "table '%s': %s: %s", table, names[step], cx->err.msg);
    if (tries == 1)
        alm_log_warn("storage", "%s; it will be tried again", what);
    if (tries == LASTING && status != ALM_E_CORRUPT) /* damage is told by its file */
        alm_damage_add(storage, damage_of(table_id, step), what);
    alm_error_clear(cx);
    return ALM_OK;
}

static bool first_gone(alm_storage *storage, const alm_catver *cat, alm_failing *out)
{
    bool found = false;
    (void)pthread_mutex_lock(&storage->work_lock);
    for (uint32_t i = 0; i < atomic_load(&storage->n_failing) && !found; i++) {
        *out = storage->failing[i];
        found = alm_catver_by_id(cat, out->table_id) < 0;
    }
    (void)pthread_mutex_unlock(&storage->work_lock);
    return found;
}

void alm_work_forget(alm_storage *storage, const alm_catver *cat)
{
    alm_failing gone;
    while (atomic_load(&storage->n_failing) > 0 && first_gone(storage, cat, &gone))
        succeeded(storage, gone.table_id, gone.step);
}
