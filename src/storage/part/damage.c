/*
 * damage.c - see damage.h.
 */
#include "storage/part/damage.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/part/part.h"
#include "storage/state.h"

void alm_damages_init(alm_damages *damages)
{
    *damages = (alm_damages){.n = 0};
    (void)pthread_mutex_init(&damages->lock, NULL);
}

void alm_damages_deinit(alm_damages *damages)
{
    for (size_t i = 0; i < damages->n; i++)
        free(damages->list[i].what);
    free(damages->list);
    (void)pthread_mutex_destroy(&damages->lock);
}

static bool damage_same(const alm_damage_key *a, const alm_damage_key *b)
{
    return a->kind == b->kind && a->table_id == b->table_id && a->id == b->id;
}

static alm_damage *damage_find(alm_damages *damages, const alm_damage_key *key)
{
    for (size_t i = 0; i < damages->n; i++)
        if (damage_same(&damages->list[i].key, key))
            return &damages->list[i];
    return NULL;
}

/* A place for one more, NULL: there is no memory. */
static alm_damage *damage_place(alm_damages *damages)
{
    if (damages->n == damages->cap) {
        const size_t cap = damages->cap == 0 ? 16 : damages->cap * 2;
        alm_damage *bigger = realloc(damages->list, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        damages->list = bigger;
        damages->cap = cap;
    }
    return &damages->list[damages->n];
}

void alm_damage_add(alm_storage *storage, alm_damage_key key, const char *what)
{
    alm_damages *damages = &storage->damages;
    ALM_ASSERT(what[0] != 0);
    (void)pthread_mutex_lock(&damages->lock);
    const bool fresh = damage_find(damages, &key) == NULL;
    alm_damage *at = fresh ? damage_place(damages) : NULL;
    if (at != NULL) {
        *at = (alm_damage){key, storage->io->wall_ns(storage->io) / 1000, strdup(what)};
        if (at->what != NULL)
            damages->n++;
    }
    if (fresh)
        alm_count(&damages->found, 1);
    atomic_store(&damages->known, (int64_t)damages->n);
    (void)pthread_mutex_unlock(&damages->lock);
    if (fresh)
        alm_log_error("storage", "damage: %s", what);
}

static void damage_remove_at(alm_damages *damages, size_t i)
{
    ALM_ASSERT(i < damages->n);
    free(damages->list[i].what);
    damages->list[i] = damages->list[--damages->n];
    atomic_store(&damages->known, (int64_t)damages->n);
}

void alm_damage_end(alm_storage *storage, alm_damage_key key)
{
    alm_damages *damages = &storage->damages;
    if (atomic_load(&damages->known) == 0)
        return;
    (void)pthread_mutex_lock(&damages->lock);
    alm_damage *at = damage_find(damages, &key);
    if (at != NULL)
        damage_remove_at(damages, (size_t)(at - damages->list));
    (void)pthread_mutex_unlock(&damages->lock);
}

bool alm_damage_has_log(alm_storage *storage)
{
    alm_damages *damages = &storage->damages;
    bool has = false;
    (void)pthread_mutex_lock(&damages->lock);
    for (size_t i = 0; i < damages->n && !has; i++)
        has = damages->list[i].key.kind == ALM_DAMAGE_LOG;
    (void)pthread_mutex_unlock(&damages->lock);
    return has;
}

void alm_damage_end_log(alm_storage *storage, uint64_t number)
{
    alm_damages *damages = &storage->damages;
    if (atomic_load(&damages->known) == 0)
        return;
    (void)pthread_mutex_lock(&damages->lock);
    for (size_t i = damages->n; i-- > 0;)
        if (damages->list[i].key.kind == ALM_DAMAGE_LOG && damages->list[i].key.id <= number)
            damage_remove_at(damages, i);
    (void)pthread_mutex_unlock(&damages->lock);
}

/* The error once more, with the table in front. */
static void name_table(alm_ctx *cx, const char *table)
{
    const alm_error was = cx->err;
    if (strncmp(was.msg, "table '", 7) == 0)
        return;
    alm_error_clear(cx);
    (void)alm_fail(cx, was.code, was.sql_pos, "table '%s': %s", table, was.msg);
}

void alm_damage_of_file(const alm_file *file, const char *what)
{
    const alm_damage_key key = {ALM_DAMAGE_PART, file->table_id, file->id};
    alm_part *part = atomic_load(&file->part);
    if (part != NULL)
        alm_part_doubt(part);
    alm_damage_add(file->st, key, what);
}

alm_status alm_damage_of_table(alm_ctx *cx, const char *table, const alm_file *file,
                               alm_status status)
{
    if (status != ALM_E_CORRUPT && status != ALM_E_IO)
        return status;
    name_table(cx, table);
    if (status == ALM_E_CORRUPT)
        alm_damage_of_file(file, cx->err.msg);
    return status;
}

/* ---------------------------------------------------------------------- the list */

bool alm_storage_is_damaged(const alm_storage *storage)
{
    return atomic_load(&storage->damages.known) > 0;
}

static int by_table(const void *a, const void *b)
{
    const alm_damaged *x = a, *y = b;
    if (x->table_id != y->table_id)
        return x->table_id < y->table_id ? -1 : 1;
    return (x->since_us > y->since_us) - (x->since_us < y->since_us);
}

/* Files are named from the data directory on, as in errors of statements. */
static void shorten(const alm_storage *storage, char *text)
{
    const size_t len = strlen(storage->root) - strlen("db"); /* with the slash */
    ALM_ASSERT(strcmp(storage->root + len, "db") == 0);
    for (char *ptr = text; *ptr != 0; ptr++)
        if (*ptr == '\'' && strncmp(ptr + 1, storage->root, len) == 0)
            (void)memmove(ptr + 1, ptr + 1 + len, strlen(ptr + 1 + len) + 1);
}

/* One row for each file; then those of a table are one. */
static alm_status copy_list(alm_ctx *cx, alm_arena *arena, const alm_storage *storage,
                            alm_damaged **out)
{
    const alm_damages *damages = &storage->damages;
    ALM_TRY(ALM_NEWN(cx, arena, damages->n + 1, out));
    for (size_t i = 0; i < damages->n; i++) {
        const alm_damage *from = &damages->list[i];
        (*out)[i] =
            (alm_damaged){.table_id = from->key.table_id, .files = 1, .since_us = from->since_us};
        const char *what = NULL;
        ALM_TRY(alm_arena_zstr(cx, arena, alm_str_of(from->what), &what));
        shorten(storage, (char *)(uintptr_t)what); /* a copy of its own */
        (*out)[i].what = what;
    }
    return ALM_OK;
}

alm_status alm_storage_damage(alm_ctx *cx, alm_arena *arena, alm_storage *storage,
                              alm_damaged **out, size_t *n)
{
    alm_damages *damages = &storage->damages;
    alm_damaged *all = NULL;
    size_t kept = 0;
    (void)pthread_mutex_lock(&damages->lock);
    const size_t n_files = damages->n;
    const alm_status status = copy_list(cx, arena, storage, &all);
    (void)pthread_mutex_unlock(&damages->lock);
    ALM_TRY(status);
    qsort(all, n_files, sizeof *all, by_table);
    for (size_t i = 0; i < n_files; i++) {
        if (kept > 0 && all[kept - 1].table_id == all[i].table_id)
            all[kept - 1].files++;
        else
            all[kept++] = all[i];
    }
    *out = all;
    *n = kept;
    return ALM_OK;
}
