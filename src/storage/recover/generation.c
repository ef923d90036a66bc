/*
 * generation.c - see generation.h.
 *
 * Crash       `catalog` gets the name catalog.1, then catalog.tmp, of which the name is on disk, too, the name `catalog`, and the directory is
 *             synced. In between there is no `catalog`; catalog.tmp is whole then, and the log has everything behind catalog.1, because nothing of it is given up
 *             before that sync.
 * Files       Recovery from the previous catalogue does not need the parts and dictionaries that were removed after it was
 *             written: the log records behind it that remove them are replayed without reading their files.
 */
#include "storage/recover/generation.h"
#include "storage/recover/recover.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"

static void path_of(const alm_storage *st, const char *name, char *path)
{
    (void)snprintf(path, ALM_PATH_MAX, "%s/%s", st->root, name);
}

static alm_status rename_to(alm_ctx *cx, alm_storage *st, const char *from, const char *to)
{
    char path[ALM_PATH_MAX], target[ALM_PATH_MAX];
    path_of(st, from, path);
    path_of(st, to, target);
    const int e = alm_io_rename_over(st->io, path, target);
    return e < 0 ? alm_io_fail(cx, e, "rename the catalogue") : ALM_OK;
}

static alm_status sync_names(alm_ctx *cx, alm_storage *st)
{
    const int e = st->io->sync_dir(st->io, st->root);
    return e < 0 ? alm_io_fail(cx, e, "sync the directory of the catalogue") : ALM_OK;
}

/* ----------------------------------------------------------------------- writing */

static alm_status write_next(alm_ctx *cx, alm_storage *st, const alm_catver *cat)
{
    static const alm_catalog_choice all = {NULL, 0};
    char path[ALM_PATH_MAX];
    path_of(st, ALM_CATALOG_NEXT, path);
    return alm_catalog_write_to(cx, st, cat, &all, path);
}

/* May the catalogue on the disk become the previous one? One that rotted must not take the place of a sound one. */
static bool is_sound(alm_storage *st)
{
    alm_ctx cx = {.io = st->io};
    int64_t bytes = 0;
    const alm_status e =
        alm_catalog_compare(&cx, st, ALM_CATALOG, atomic_load(&st->checkpoint_lsn), &bytes);
    if (e == ALM_E_CORRUPT || e == ALM_E_UNSUPPORTED)
        alm_damage_add(st, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 0}, cx.err.msg);
    return e == ALM_OK && bytes > 0;
}

static bool is_near(alm_storage *st, uint64_t from, uint64_t to)
{
    const int64_t max = atomic_load(&st->reserve_spent) ? 0 : st->conf.previous_wal_bytes;
    return !alm_damage_has_log(st) && from <= to &&
           alm_wal_bytes_between(&st->wal, from, to) <= max;
}

static alm_status put_in_place(alm_ctx *cx, alm_storage *st, bool keeps)
{
    if (keeps) {
        /* The name of the new one, which tells a checkpoint that was cut off. */
        ALM_TRY(sync_names(cx, st));
        ALM_TRY(rename_to(cx, st, ALM_CATALOG, ALM_CATALOG_PREVIOUS));
        st->generation.kept = true;
        st->generation.lsn = atomic_load(&st->checkpoint_lsn);
    }
    ALM_TRY(rename_to(cx, st, ALM_CATALOG_NEXT, ALM_CATALOG));
    return sync_names(cx, st);
}

static alm_status write_copy(alm_ctx *cx, alm_storage *st, const alm_catver *cat)
{
    ALM_TRY(write_next(cx, st, cat));
    ALM_TRY(rename_to(cx, st, ALM_CATALOG_NEXT, ALM_CATALOG_PREVIOUS));
    return sync_names(cx, st);
}

/* The checkpoint stands without it: what hinders it (a full disk) may end only when the log goes. */
static void copy(alm_storage *st, const alm_catver *cat)
{
    alm_ctx cx = {.io = st->io};
    char path[ALM_PATH_MAX];
    st->generation.kept = write_copy(&cx, st, cat) == ALM_OK;
    st->generation.lsn = cat->lsn;
    if (st->generation.kept)
        return;
    alm_log_warn("storage",
                 "there is no second copy of the catalogue until the next checkpoint: %s",
                 cx.err.msg);
    path_of(st, ALM_CATALOG_PREVIOUS, path);
    (void)st->io->unlink(st->io, path);
}

alm_status alm_generation_write(alm_ctx *cx, alm_storage *st, const alm_catver *cat, bool copies)
{
    alm_generation *g = &st->generation;
    ALM_TRY(write_next(cx, st, cat));
    const bool sound = is_sound(st);
    const uint64_t from = sound ? atomic_load(&st->checkpoint_lsn) : g->lsn;
    const bool keeps = !copies && (sound || g->kept) && is_near(st, from, cat->lsn);
    ALM_TRY(put_in_place(cx, st, keeps && sound));
    if (!keeps)
        copy(st, cat);
    atomic_store(&g->alone, false);
    atomic_store(&g->passed, false);
    alm_damage_end(st, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 0});
    if (keeps && !sound)
        return ALM_OK; /* the previous one stays, as it is */
    alm_damage_end(st, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 1});
    return ALM_OK;
}

uint64_t alm_generation_log(const alm_storage *st, uint64_t lsn)
{
    return st->generation.kept ? ALM_MIN(st->generation.lsn, lsn) : lsn;
}

alm_status alm_generation_compare(alm_ctx *cx, alm_storage *st, int64_t *bytes)
{
    *bytes = 0;
    return st->generation.kept
               ? alm_catalog_compare(cx, st, ALM_CATALOG_PREVIOUS, st->generation.lsn, bytes)
               : ALM_OK;
}

/* ---------------------------------------------------------------------- recovery */

bool alm_generation_is_there(alm_storage *st)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    path_of(st, ALM_CATALOG_PREVIOUS, path);
    return st->io->stat(st->io, path, &meta) >= 0;
}

bool alm_generation_is_newer(alm_storage *st)
{
    alm_ctx cx = {.io = st->io};
    alm_catalog_file file = {.bytes = 0};
    return alm_catalog_peek(&cx, st, ALM_CATALOG_PREVIOUS, &file) == ALM_OK && file.bytes > 0 &&
           file.lsn > st->checkpoint_lsn;
}

alm_status alm_generation_look(alm_ctx *cx, alm_storage *st, const alm_wal_scan *scan)
{
    alm_generation *g = &st->generation;
    alm_catalog_file file = {.bytes = 0};
    if (st->hold.copy) /* its log may have holes */
        return ALM_OK;
    const alm_status e = alm_catalog_peek(cx, st, ALM_CATALOG_PREVIOUS, &file);
    if (e == ALM_E_MEMORY)
        return e;
    if (e != ALM_OK) {
        g->why = cx->err;
        alm_error_clear(cx);
        return ALM_OK;
    }
    if (file.bytes > 0 && file.lsn > scan->last_lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "'%s/" ALM_CATALOG_PREVIOUS
                        "' is of lsn %llu, but the catalogue and the log end at lsn %llu: they are "
                        "older copies. Bring back the newer ones, or remove '" ALM_CATALOG_PREVIOUS
                        "' to open the older state",
                        st->root, (unsigned long long)file.lsn, (unsigned long long)scan->last_lsn);
    if (file.bytes > 0 && file.lsn <= st->checkpoint_lsn && scan->passed.segment == 0)
        ALM_TRY(alm_wal_reach_back(cx, &st->wal, file.lsn, &g->kept));
    g->lsn = file.lsn;
    return ALM_OK;
}

/* A checkpoint was cut off between its two renames: the catalogue is not lost, it has another name. */
static alm_status was_cut(alm_ctx *cx, alm_storage *st, bool *cut)
{
    alm_catalog_file file = {.bytes = 0}, next = {.bytes = 0};
    *cut = false;
    if (alm_catalog_peek(cx, st, ALM_CATALOG, &file) == ALM_OK && file.bytes == 0 &&
        alm_catalog_peek(cx, st, ALM_CATALOG_NEXT, &next) == ALM_OK)
        *cut = next.bytes > 0 && next.lsn >= st->checkpoint_lsn;
    const alm_status e = cx->err.code;
    alm_error_clear(cx);
    return e == ALM_E_MEMORY ? alm_fail(cx, e, -1, "no memory for a catalogue") : ALM_OK;
}

alm_status alm_generation_took_over(alm_ctx *cx, alm_storage *st, const char *why, uint64_t end)
{
    alm_generation *g = &st->generation;
    bool cut = false;
    if (g->lost_lsn > end)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log ends at lsn %llu, and the damaged catalogue is of lsn %llu",
                        (unsigned long long)end, (unsigned long long)g->lost_lsn);
    ALM_TRY(was_cut(cx, st, &cut));
    g->cut = cut;
    atomic_store(&g->alone, !cut);
    g->kept = !cut;
    g->lsn = st->checkpoint_lsn;
    g->since_ns = st->io->mono_ns(st->io);
    g->why = (alm_error){.code = ALM_E_CORRUPT};
    (void)snprintf(g->why.msg, sizeof g->why.msg,
                   "%.800s; the state is that of 'db/" ALM_CATALOG_PREVIOUS
                   "', of lsn %llu, and of the log behind it",
                   why, (unsigned long long)g->lsn);
    return ALM_OK;
}

/* The newest damaged one is kept. A name that cannot be changed is no reason not to start. */
static void set_aside(alm_storage *st)
{
    alm_ctx cx = {.io = st->io};
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    path_of(st, ALM_CATALOG, path);
    if (st->io->stat(st->io, path, &meta) == -ENOENT)
        return;
    path_of(st, ALM_CATALOG_ASIDE, path);
    (void)st->io->unlink(st->io, path);
    alm_status e =
        sync_names(&cx, st); /* catalog.tmp is gone, else this looked like a checkpoint */
    if (e == ALM_OK)
        e = rename_to(&cx, st, ALM_CATALOG, ALM_CATALOG_ASIDE);
    if (e == ALM_OK)
        e = sync_names(&cx, st);
    if (e == ALM_OK)
        alm_log_info("storage", "the damaged catalogue is kept as '%s'", path);
    else
        alm_log_warn("storage", "the damaged catalogue is not kept: %s", cx.err.msg);
}

alm_status alm_generation_settle(alm_ctx *cx, alm_storage *st)
{
    alm_generation *g = &st->generation;
    char path[ALM_PATH_MAX];
    if (g->cut) {
        ALM_TRY(rename_to(cx, st, ALM_CATALOG_PREVIOUS, ALM_CATALOG));
        return sync_names(cx, st);
    }
    path_of(st, ALM_CATALOG_NEXT, path);
    (void)st->io->unlink(st->io, path); /* of a checkpoint that came to nothing */
    if (atomic_load(&g->alone))
        set_aside(st);
    if (g->why.code != ALM_OK)
        alm_damage_add(st, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, !g->alone}, g->why.msg);
    return ALM_OK;
}
