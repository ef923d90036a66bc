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

static void generation_path_of(const alm_storage *storage, const char *name, char *path)
{
    (void)snprintf(path, ALM_PATH_MAX, "%s/%s", storage->root, name);
}

static alm_status rename_to(alm_ctx *cx, alm_storage *storage, const char *from, const char *dest)
{
    char path[ALM_PATH_MAX], target[ALM_PATH_MAX];
    generation_path_of(storage, from, path);
    generation_path_of(storage, dest, target);
    const int code = alm_io_rename_over(storage->io, path, target);
    return code < 0 ? alm_io_fail(cx, code, "rename the catalogue") : ALM_OK;
}

static alm_status sync_names(alm_ctx *cx, alm_storage *storage)
{
    const int code = storage->io->sync_dir(storage->io, storage->root);
    return code < 0 ? alm_io_fail(cx, code, "sync the directory of the catalogue") : ALM_OK;
}

/* ----------------------------------------------------------------------- writing */

static alm_status write_next(alm_ctx *cx, alm_storage *storage, const alm_catver *cat)
{
    static const alm_catalog_choice all = {NULL, 0};
    char path[ALM_PATH_MAX];
    generation_path_of(storage, ALM_CATALOG_NEXT, path);
    return alm_catalog_write_to(cx, storage, cat, &all, path);
}

/* May the catalogue on the disk become the previous one? One that rotted must not take the place of a sound one. */
static bool generation_is_sound(alm_storage *storage)
{
    alm_ctx cx = {.io = storage->io};
    int64_t bytes = 0;
    const alm_status status = alm_catalog_compare(&cx, storage, ALM_CATALOG,
                                                  atomic_load(&storage->checkpoint_lsn), &bytes);
    if (status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED)
        alm_damage_add(storage, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 0}, cx.err.msg);
    return status == ALM_OK && bytes > 0;
}

static bool is_near(alm_storage *storage, uint64_t from, uint64_t to)
{
    const int64_t max = atomic_load(&storage->reserve_spent) ? 0 : storage->conf.previous_wal_bytes;
    return !alm_damage_has_log(storage) && from <= to &&
           alm_wal_bytes_between(&storage->wal, from, to) <= max;
}

static alm_status put_in_place(alm_ctx *cx, alm_storage *storage, bool keeps)
{
    if (keeps) {
        /* The name of the new one, which tells a checkpoint that was cut off. */
        ALM_TRY(sync_names(cx, storage));
        ALM_TRY(rename_to(cx, storage, ALM_CATALOG, ALM_CATALOG_PREVIOUS));
        storage->generation.kept = true;
        storage->generation.lsn = atomic_load(&storage->checkpoint_lsn);
    }
    ALM_TRY(rename_to(cx, storage, ALM_CATALOG_NEXT, ALM_CATALOG));
    return sync_names(cx, storage);
}

static alm_status write_copy(alm_ctx *cx, alm_storage *storage, const alm_catver *cat)
{
    ALM_TRY(write_next(cx, storage, cat));
    ALM_TRY(rename_to(cx, storage, ALM_CATALOG_NEXT, ALM_CATALOG_PREVIOUS));
    return sync_names(cx, storage);
}

/* The checkpoint stands without it: what hinders it (a full disk) may end only when the log goes. */
static void copy(alm_storage *storage, const alm_catver *cat)
{
    alm_ctx cx = {.io = storage->io};
    char path[ALM_PATH_MAX];
    storage->generation.kept = write_copy(&cx, storage, cat) == ALM_OK;
    storage->generation.lsn = cat->lsn;
    if (storage->generation.kept)
        return;
    alm_log_warn("storage",
                 "there is no second copy of the catalogue until the next checkpoint: %s",
                 cx.err.msg);
    generation_path_of(storage, ALM_CATALOG_PREVIOUS, path);
    (void)storage->io->unlink(storage->io, path);
}

alm_status alm_generation_write(alm_ctx *cx, alm_storage *storage, const alm_catver *cat,
                                bool copies)
{
    alm_generation *generation = &storage->generation;
    ALM_TRY(write_next(cx, storage, cat));
    const bool sound = generation_is_sound(storage);
    const uint64_t from = sound ? atomic_load(&storage->checkpoint_lsn) : generation->lsn;
    const bool keeps = !copies && (sound || generation->kept) && is_near(storage, from, cat->lsn);
    ALM_TRY(put_in_place(cx, storage, keeps && sound));
    if (!keeps)
        copy(storage, cat);
    atomic_store(&generation->alone, false);
    atomic_store(&generation->passed, false);
    alm_damage_end(storage, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 0});
    if (keeps && !sound)
        return ALM_OK; /* the previous one stays, as it is */
    alm_damage_end(storage, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, 1});
    return ALM_OK;
}

uint64_t alm_generation_log(const alm_storage *storage, uint64_t lsn)
{
    return storage->generation.kept ? ALM_MIN(storage->generation.lsn, lsn) : lsn;
}

alm_status alm_generation_compare(alm_ctx *cx, alm_storage *storage, int64_t *bytes)
{
    *bytes = 0;
    return storage->generation.kept ? alm_catalog_compare(cx, storage, ALM_CATALOG_PREVIOUS,
                                                          storage->generation.lsn, bytes)
                                    : ALM_OK;
}

/* ---------------------------------------------------------------------- recovery */

bool alm_generation_is_there(alm_storage *storage)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    generation_path_of(storage, ALM_CATALOG_PREVIOUS, path);
    return storage->io->stat(storage->io, path, &meta) >= 0;
}

bool alm_generation_is_newer(alm_storage *storage)
{
    alm_ctx cx = {.io = storage->io};
    alm_catalog_file file = {.bytes = 0};
    return alm_catalog_peek(&cx, storage, ALM_CATALOG_PREVIOUS, &file) == ALM_OK &&
           file.bytes > 0 && file.lsn > storage->checkpoint_lsn;
}

alm_status alm_generation_look(alm_ctx *cx, alm_storage *storage, const alm_wal_scan *scan)
{
    alm_generation *generation = &storage->generation;
    alm_catalog_file file = {.bytes = 0};
    if (storage->hold.copy) /* its log may have holes */
        return ALM_OK;
    const alm_status status = alm_catalog_peek(cx, storage, ALM_CATALOG_PREVIOUS, &file);
    if (status == ALM_E_MEMORY)
        return status;
    if (status != ALM_OK) {
        generation->why = cx->err;
        alm_error_clear(cx);
        return ALM_OK;
    }
    if (file.bytes > 0 && file.lsn > scan->last_lsn)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "'%s/" ALM_CATALOG_PREVIOUS
                        "' is of lsn %llu, but the catalogue and the log end at lsn %llu: they are "
                        "older copies. Bring back the newer ones, or remove '" ALM_CATALOG_PREVIOUS
                        "' to open the older state",
                        storage->root, (unsigned long long)file.lsn,
                        (unsigned long long)scan->last_lsn);
    if (file.bytes > 0 && file.lsn <= storage->checkpoint_lsn && scan->passed.segment == 0)
        ALM_TRY(alm_wal_reach_back(cx, &storage->wal, file.lsn, &generation->kept));
    generation->lsn = file.lsn;
    return ALM_OK;
}

/* A checkpoint was cut off between its two renames: the catalogue is not lost, it has another name. */
static alm_status was_cut(alm_ctx *cx, alm_storage *storage, bool *cut)
{
    alm_catalog_file file = {.bytes = 0}, next = {.bytes = 0};
    *cut = false;
    if (alm_catalog_peek(cx, storage, ALM_CATALOG, &file) == ALM_OK && file.bytes == 0 &&
        alm_catalog_peek(cx, storage, ALM_CATALOG_NEXT, &next) == ALM_OK)
        *cut = next.bytes > 0 && next.lsn >= storage->checkpoint_lsn;
    const alm_status status = cx->err.code;
    alm_error_clear(cx);
    return status == ALM_E_MEMORY ? alm_fail(cx, status, -1, "no memory for a catalogue") : ALM_OK;
}

alm_status alm_generation_took_over(alm_ctx *cx, alm_storage *storage, const char *why,
                                    uint64_t end)
{
    alm_generation *generation = &storage->generation;
    bool cut = false;
    if (generation->lost_lsn > end)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "the log ends at lsn %llu, and the damaged catalogue is of lsn %llu",
                        (unsigned long long)end, (unsigned long long)generation->lost_lsn);
    ALM_TRY(was_cut(cx, storage, &cut));
    generation->cut = cut;
    atomic_store(&generation->alone, !cut);
    generation->kept = !cut;
    generation->lsn = storage->checkpoint_lsn;
    generation->since_ns = storage->io->mono_ns(storage->io);
    generation->why = (alm_error){.code = ALM_E_CORRUPT};
    (void)snprintf(generation->why.msg, sizeof generation->why.msg,
                   "%.800s; the state is that of 'db/" ALM_CATALOG_PREVIOUS
                   "', of lsn %llu, and of the log behind it",
                   why, (unsigned long long)generation->lsn);
    return ALM_OK;
}

/* The newest damaged one is kept. A name that cannot be changed is no reason not to start. */
static void generation_set_aside(alm_storage *storage)
{
    alm_ctx cx = {.io = storage->io};
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    generation_path_of(storage, ALM_CATALOG, path);
    if (storage->io->stat(storage->io, path, &meta) == -ENOENT)
        return;
    generation_path_of(storage, ALM_CATALOG_ASIDE, path);
    (void)storage->io->unlink(storage->io, path);
    alm_status status =
        sync_names(&cx, storage); /* catalog.tmp is gone, else this looked like a checkpoint */
    if (status == ALM_OK)
        status = rename_to(&cx, storage, ALM_CATALOG, ALM_CATALOG_ASIDE);
    if (status == ALM_OK)
        status = sync_names(&cx, storage);
    if (status == ALM_OK)
        alm_log_info("storage", "the damaged catalogue is kept as '%s'", path);
    else
        alm_log_warn("storage", "the damaged catalogue is not kept: %s", cx.err.msg);
}

alm_status alm_generation_settle(alm_ctx *cx, alm_storage *storage)
{
    alm_generation *generation = &storage->generation;
    char path[ALM_PATH_MAX];
    if (generation->cut) {
        ALM_TRY(rename_to(cx, storage, ALM_CATALOG_PREVIOUS, ALM_CATALOG));
        return sync_names(cx, storage);
    }
    generation_path_of(storage, ALM_CATALOG_NEXT, path);
    (void)storage->io->unlink(storage->io, path); /* of a checkpoint that came to nothing */
    if (atomic_load(&generation->alone))
        generation_set_aside(storage);
    if (generation->why.code != ALM_OK)
        alm_damage_add(storage, (alm_damage_key){ALM_DAMAGE_CATALOGUE, 0, !generation->alone},
                       generation->why.msg);
    return ALM_OK;
}
