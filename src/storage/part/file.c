/*
 * file.c - the registry of files under tables/: names, references, removal when nobody needs them.
 *
 * A file whose last reference goes while the storage is open is reachable from no version: it is
 * unlinked by whoever let it go. The registry holds every file with references, so that the sweep
 * after a crash removes only what nobody knows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "storage/part/pack.h"
#include "storage/part/retired.h"
#include "storage/state.h"

static size_t part_file_slot_of(const alm_storage *storage, uint64_t id)
{
    size_t offset = (size_t)alm_hash_u64(id) & (storage->files_cap - 1);
    while (storage->files[offset].file != NULL && storage->files[offset].file->id != id)
        offset = (offset + 1) & (storage->files_cap - 1);
    return offset;
}

static alm_status registry_room(alm_ctx *cx, alm_storage *storage)
{
    if ((storage->n_files + 1) * 4 <= storage->files_cap * 3)
        return ALM_OK;
    file_slot *old = storage->files;
    const size_t old_cap = storage->files_cap;
    const size_t cap = ALM_MAX((size_t)64, old_cap * 2);
    file_slot *bigger = calloc(cap, sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the registry of files");
    storage->files = bigger;
    storage->files_cap = cap;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].file != NULL)
            bigger[part_file_slot_of(storage, old[i].file->id)] = old[i];
    free(old);
    return ALM_OK;
}

/* Linear probing without tombstones: what follows moves up. */
static void registry_remove(alm_storage *storage, uint64_t id)
{
    size_t offset = part_file_slot_of(storage, id);
    ALM_ASSERT(storage->files[offset].file != NULL);
    const size_t mask = storage->files_cap - 1;
    for (size_t next = (offset + 1) & mask; storage->files[next].file != NULL;
         next = (next + 1) & mask) {
        const size_t home = (size_t)alm_hash_u64(storage->files[next].file->id) & mask;
        if (((next - home) & mask) >= ((next - offset) & mask)) {
            storage->files[offset] = storage->files[next];
            offset = next;
        }
    }
    storage->files[offset].file = NULL;
    storage->n_files--;
}

void alm_storage_table_dir(const alm_storage *storage, uint64_t table_id, char *dir,
                           size_t dir_size)
{
    (void)snprintf(dir, dir_size, "%s/tables/%llu", storage->root, (unsigned long long)table_id);
}

void alm_storage_table_dir_drop(alm_storage *storage, uint64_t table_id)
{
    char dir[ALM_PATH_MAX];
    if (storage->closing || atomic_load(&storage->failed))
        return;
    alm_storage_table_dir(storage, table_id, dir, sizeof dir);
    (void)storage->io->rmdir(storage->io, dir);
}

static alm_status file_make(alm_ctx *cx, alm_storage *storage, const alm_part_claim *claim,
                            alm_file **out)
{
    const uint64_t id = claim->file_id;
    alm_file *file = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *file, "a file", &file));
    *file = (alm_file){.refs = 1,
                       .id = id,
                       .table_id = claim->table_id,
                       .bytes = claim->bytes,
                       .rows = claim->rows,
                       .min_ts = claim->min_ts,
                       .max_ts = claim->max_ts,
                       .footer_crc = claim->footer_crc,
                       .st = storage,
                       .unsynced.handle = -1};
    (void)pthread_mutex_lock(&storage->file_lock);
    const alm_status status = registry_room(cx, storage);
    if (status == ALM_OK) {
        const size_t offset = part_file_slot_of(storage, id);
        ALM_ASSERT(storage->files[offset].file == NULL);
        storage->files[offset].file = file;
        storage->n_files++;
    }
    (void)pthread_mutex_unlock(&storage->file_lock);
    if (status != ALM_OK) {
        free(file);
        return status;
    }
    *out = file;
    return ALM_OK;
}

alm_status alm_file_new(alm_ctx *cx, alm_storage *storage, uint64_t table_id, uint64_t format,
                        alm_file **out)
{
    alm_unsynced fresh;
    ALM_TRY(alm_unsynced_begin(cx, storage, table_id, &fresh));
    const uint64_t id = atomic_fetch_add(&storage->next_file_id, 1);
    const alm_part_claim claim = {.table_id = table_id, .file_id = id | format};
    ALM_ASSERT((id & ALM_FILE_FORMATS) == 0);
    ALM_TRY(file_make(cx, storage, &claim, out));
    (*out)->unsynced = fresh;
    return ALM_OK;
}

alm_status alm_file_write(alm_ctx *cx, alm_file *file, const alm_part_spec *spec,
                          alm_part_written *out)
{
    char dir[ALM_PATH_MAX], name[ALM_NAME_MAX];
    alm_part_spec later = *spec;
    later.later = true;
    later.database_id = file->st->database_id;
    later.file_id = file->id;
    alm_file_dir(file, dir, sizeof dir);
    alm_file_name(file, name, sizeof name);
    ALM_TRY(alm_part_write(cx, file->st->io, dir, name, &later, out));
    file->bytes = out->bytes;
    file->rows = out->rows;
    file->min_ts = out->min_ts;
    file->max_ts = out->max_ts;
    atomic_store(&file->footer_crc, out->footer_crc);
    if (out->packed) {
        file->pack = alm_file_retain(spec->pack->file);
        file->offset = out->offset;
        return ALM_OK; /* the pack is synced as a whole */
    }
    return alm_unsynced_written(cx, file->st, &file->unsynced, out->handle, out->bytes, name);
}

alm_file *alm_file_find(alm_storage *storage, uint64_t id)
{
    (void)pthread_mutex_lock(&storage->file_lock);
    alm_file *file =
        storage->files_cap > 0 ? storage->files[part_file_slot_of(storage, id)].file : NULL;
    if (file != NULL)
        (void)atomic_fetch_add(&file->refs, 1);
    (void)pthread_mutex_unlock(&storage->file_lock);
    return file;
}

/* Several descriptions of one file must agree. */
static alm_status part_file_settle_claims(alm_ctx *cx, alm_file *file, const alm_part_claim *claim)
{
    const uint32_t known = atomic_load(&file->footer_crc);
    if (file->table_id != claim->table_id)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "file %016llx belongs to tables %llu and %llu",
                        (unsigned long long)file->id, (unsigned long long)file->table_id,
                        (unsigned long long)claim->table_id);
    if (known != 0 && claim->footer_crc != 0 && known != claim->footer_crc)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "file %016llx of table %llu has two checksums: %08x and %08x",
                        (unsigned long long)file->id, (unsigned long long)file->table_id, known,
                        claim->footer_crc);
    if ((file->pack != NULL ? file->pack->id : 0) != claim->pack || file->offset != claim->offset)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "file %016llx of table %llu has two places",
                        (unsigned long long)file->id, (unsigned long long)file->table_id);
    if (known == 0)
        atomic_store(&file->footer_crc, claim->footer_crc);
    return ALM_OK;
}

/* A file that is not registered yet, and its pack. */
static alm_status make_known(alm_ctx *cx, alm_storage *storage, const alm_part_claim *claim,
                             alm_file **out)
{
    const alm_part_claim shared = {.table_id = claim->table_id, .file_id = claim->pack};
    ALM_TRY(file_make(cx, storage, claim, out));
    const alm_status status =
        claim->pack == 0 ? ALM_OK : alm_file_known(cx, storage, &shared, &(*out)->pack);
    if (status != ALM_OK)
        alm_file_release(*out);
    else
        (*out)->offset = claim->offset;
    return status;
}

alm_status alm_file_known(alm_ctx *cx, alm_storage *storage, const alm_part_claim *claim,
                          alm_file **out)
{
    alm_file *file = alm_file_find(storage, claim->file_id);
    ALM_ASSERT(claim->pack == 0 || claim->pack != claim->file_id);
    if (file == NULL)
        return make_known(cx, storage, claim, out);
    const alm_status status = part_file_settle_claims(cx, file, claim);
    if (status == ALM_OK)
        *out = file;
    else
        alm_file_release(file);
    return status;
}

void alm_file_claim(const alm_file *file, alm_part_claim *out)
{
    *out = (alm_part_claim){.table_id = file->table_id,
                            .database_id = file->st->database_id,
                            .file_id = file->id,
                            .bytes = file->bytes,
                            .rows = file->rows,
                            .min_ts = file->min_ts,
                            .max_ts = file->max_ts,
                            .footer_crc = atomic_load(&file->footer_crc),
                            .pack = file->pack != NULL ? file->pack->id : 0,
                            .offset = file->offset};
}

bool alm_file_is_registered(alm_storage *storage, uint64_t id)
{
    (void)pthread_mutex_lock(&storage->file_lock);
    const bool there =
        storage->files_cap > 0 && storage->files[part_file_slot_of(storage, id)].file != NULL;
    (void)pthread_mutex_unlock(&storage->file_lock);
    return there;
}

alm_file *alm_file_retain(alm_file *file)
{
    const uint32_t before = atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return file;
}

void alm_file_release(alm_file *file)
{
    if (file == NULL)
        return;
    alm_storage *storage = file->st;
    /* Under the lock, so that alm_file_known cannot find a file that is about to go. */
    (void)pthread_mutex_lock(&storage->file_lock);
    const uint32_t before = atomic_fetch_sub(&file->refs, 1);
    ALM_ASSERT(before > 0);
    bool stays = storage->closing || atomic_load(&storage->failed);
    if (before == 1) {
        registry_remove(storage, file->id);
        /* A log record that failed to sync may be on disk all the same and name this file. */
        stays = stays || alm_file_retire(storage, file);
    }
    (void)pthread_mutex_unlock(&storage->file_lock);
    if (before > 1)
        return;
    alm_part *part = atomic_load(&file->part);
    if (part != NULL)
        alm_part_release(part);
    alm_unsynced_drop(storage, &file->unsynced);
    alm_damage_end(storage, (alm_damage_key){ALM_DAMAGE_PART, file->table_id, file->id});
    if (!stays) {
        char path[ALM_PATH_MAX];
        alm_file_path(file, path, sizeof path);
        (void)storage->io->unlink(storage->io, path); /* if not: the sweep after the next start */
    }
    alm_file *pack = file->pack;
    free(file);
    alm_file_release(pack); /* which is in no pack */
}

alm_unsynced *alm_file_unsynced(alm_file *file)
{
    return file->pack != NULL ? &file->pack->unsynced : &file->unsynced;
}

void alm_file_dir(const alm_file *file, char *dir, size_t dir_size)
{
    alm_storage_table_dir(file->st, file->table_id, dir, dir_size);
}

void alm_file_id_name(uint64_t id, char *name, size_t name_size)
{
    const char *const format = (id & ALM_FILE_PARQUET) != 0 ? "parquet"
                               : (id & ALM_FILE_PACK) != 0  ? "pack"
                                                            : "part";
    (void)snprintf(name, name_size, "%016llx.%s", (unsigned long long)(id & ~ALM_FILE_FORMATS),
                   format);
}

bool alm_file_id_of_name(const char *name, uint64_t *id)
{
    char *end = NULL;
    char again[ALM_NAME_MAX];
    *id = strtoull(name, &end, 16);
    if (strcmp(end, ".parquet") == 0)
        *id |= ALM_FILE_PARQUET;
    if (strcmp(end, ".pack") == 0)
        *id |= ALM_FILE_PACK;
    alm_file_id_name(*id, again, sizeof again); /* no other way to write the number */
    return strcmp(name, again) == 0;
}

void alm_file_name(const alm_file *file, char *name, size_t name_size)
{
    alm_file_id_name(file->id, name, name_size);
}

void alm_file_path(const alm_file *file, char *path, size_t path_size)
{
    char dir[ALM_PATH_MAX - 64], name[ALM_NAME_MAX];
    alm_file_dir(file, dir, sizeof dir);
    alm_file_name(file, name, sizeof name);
    (void)snprintf(path, path_size, "%s/%s", dir, name);
}

/* The part that the catalogue means, and no other of that name. What an older catalogue did not say is known from then on. */
static alm_status open_meant(alm_ctx *cx, alm_file *file, alm_part **out)
{
    char path[ALM_PATH_MAX];
    alm_part_claim claim;
    alm_part_place place;
    bool shared = false;
    alm_part *part = NULL;
    alm_file_claim(file, &claim);
    alm_file_where(file, path, sizeof path, &place, &shared);
    ALM_TRY(alm_part_open(cx, file->st->io, path, shared ? &place : NULL, file->table_id,
                          &file->st->decoded, &part));
    const alm_status status = alm_part_match(cx, part, &claim);
    if (status != ALM_OK) {
        alm_part_release(part);
        return status;
    }
    if (claim.footer_crc == 0)
        atomic_store(&file->footer_crc, alm_part_footer_crc(part));
    *out = part;
    return ALM_OK;
}

alm_status alm_file_part(alm_ctx *cx, alm_file *file, struct alm_part **out)
{
    alm_part *part = atomic_load_explicit(&file->part, memory_order_acquire);
    if (part == NULL) {
        alm_part *fresh = NULL;
        ALM_TRY(open_meant(cx, file, &fresh));
        if (atomic_compare_exchange_strong(&file->part, &part, fresh))
            part = fresh;
        else
            alm_part_release(fresh); /* another thread was faster */
    }
    ALM_TRY(alm_part_usable(cx, part));
    *out = part;
    return ALM_OK;
}
