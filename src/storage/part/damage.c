/*
 * damage.c - see damage.h.
 */
#include "storage/part/damage.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/part/part.h"
#include "storage/state.h"

void alm_damages_init(alm_damages *d)
{
    *d = (alm_damages){.n = 0};
    (void)pthread_mutex_init(&d->lock, NULL);
}

void alm_damages_deinit(alm_damages *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->list[i].what);
    free(d->list);
    (void)pthread_mutex_destroy(&d->lock);
}

static bool same(const alm_damage_key *a, const alm_damage_key *b)
{
    return a->kind == b->kind && a->table_id == b->table_id && a->id == b->id;
}

static alm_damage *find(alm_damages *d, const alm_damage_key *key)
{
    for (size_t i = 0; i < d->n; i++)
        if (same(&d->list[i].key, key))
            return &d->list[i];
    return NULL;
}

/* A place for one more, NULL: there is no memory. */
static alm_damage *place(alm_damages *d)
{
    if (d->n == d->cap) {
        const size_t cap = d->cap == 0 ? 16 : d->cap * 2;
        alm_damage *bigger = realloc(d->list, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        d->list = bigger;
        d->cap = cap;
    }
    return &d->list[d->n];
}

void alm_damage_add(alm_storage *st, alm_damage_key key, const char *what)
{
    alm_damages *d = &st->damages;
    ALM_ASSERT(what[0] != 0);
    (void)pthread_mutex_lock(&d->lock);
    const bool fresh = find(d, &key) == NULL;
    alm_damage *at = fresh ? place(d) : NULL;
    if (at != NULL) {
        *at = (alm_damage){key, st->io->wall_ns(st->io) / 1000, strdup(what)};
        if (at->what != NULL)
            d->n++;
    }
    if (fresh)
        alm_count(&d->found, 1);
    atomic_store(&d->known, (int64_t)d->n);
    (void)pthread_mutex_unlock(&d->lock);
    if (fresh)
        alm_log_error("storage", "damage: %s", what);
}

static void remove_at(alm_damages *d, size_t i)
{
    ALM_ASSERT(i < d->n);
    free(d->list[i].what);
    d->list[i] = d->list[--d->n];
    atomic_store(&d->known, (int64_t)d->n);
}

void alm_damage_end(alm_storage *st, alm_damage_key key)
{
    alm_damages *d = &st->damages;
    if (atomic_load(&d->known) == 0)
        return;
    (void)pthread_mutex_lock(&d->lock);
    alm_damage *at = find(d, &key);
    if (at != NULL)
        remove_at(d, (size_t)(at - d->list));
    (void)pthread_mutex_unlock(&d->lock);
}

bool alm_damage_has_log(alm_storage *st)
{
    alm_damages *d = &st->damages;
    bool has = false;
    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->n && !has; i++)
        has = d->list[i].key.kind == ALM_DAMAGE_LOG;
    (void)pthread_mutex_unlock(&d->lock);
    return has;
}

void alm_damage_end_log(alm_storage *st, uint64_t number)
{
    alm_damages *d = &st->damages;
    if (atomic_load(&d->known) == 0)
        return;
    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = d->n; i-- > 0;)
        if (d->list[i].key.kind == ALM_DAMAGE_LOG && d->list[i].key.id <= number)
            remove_at(d, i);
    (void)pthread_mutex_unlock(&d->lock);
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

bool alm_storage_is_damaged(const alm_storage *st)
{
    return atomic_load(&st->damages.known) > 0;
}

static int by_table(const void *a, const void *b)
{
    const alm_damaged *x = a, *y = b;
    if (x->table_id != y->table_id)
        return x->table_id < y->table_id ? -1 : 1;
    return (x->since_us > y->since_us) - (x->since_us < y->since_us);
}

/* Files are named from the data directory on, as in errors of statements. */
static void shorten(const alm_storage *st, char *text)
{
    const size_t n = strlen(st->root) - strlen("db"); /* with the slash */
    ALM_ASSERT(strcmp(st->root + n, "db") == 0);
    for (char *at = text; *at != 0; at++)
        if (*at == '\'' && strncmp(at + 1, st->root, n) == 0)
            (void)memmove(at + 1, at + 1 + n, strlen(at + 1 + n) + 1);
}

/* One row for each file; then those of a table are one. */
static alm_status copy_list(alm_ctx *cx, alm_arena *arena, const alm_storage *st, alm_damaged **out)
{
    const alm_damages *d = &st->damages;
    ALM_TRY(ALM_NEWN(cx, arena, d->n + 1, out));
    for (size_t i = 0; i < d->n; i++) {
        const alm_damage *from = &d->list[i];
        (*out)[i] =
            (alm_damaged){.table_id = from->key.table_id, .files = 1, .since_us = from->since_us};
        const char *what = NULL;
        ALM_TRY(alm_arena_zstr(cx, arena, alm_str_of(from->what), &what));
        shorten(st, (char *)(uintptr_t)what); /* a copy of its own */
        (*out)[i].what = what;
    }
    return ALM_OK;
}

alm_status alm_storage_damage(alm_ctx *cx, alm_arena *arena, alm_storage *st, alm_damaged **out,
                              size_t *n)
{
    alm_damages *d = &st->damages;
    alm_damaged *all = NULL;
    size_t kept = 0;
    (void)pthread_mutex_lock(&d->lock);
    const size_t n_files = d->n;
    const alm_status e = copy_list(cx, arena, st, &all);
    (void)pthread_mutex_unlock(&d->lock);
    ALM_TRY(e);
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
