/*
 * recover.c - the state that a directory has: catalogue and log into memory. Nothing is written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "storage/dict/dict.h"
#include "storage/recover/generation.h"
#include "storage/recover/hold.h"
#include "storage/recover/recover.h"
#include "storage/recover/redo.h"
#include "storage/version/change.h"

/* So much of the log stays mapped, and in so many maps, because rows are read where they stand. */
static const int64_t LOG_MAPPED_MAX = INT64_C(1) << 30;
enum { LOG_MAPS_MAX = 1024 };

typedef struct recovery {
    alm_build build;
    alm_flush_marks marks;
    alm_redo_rows rows;
    alm_wal_maps maps; /* where rows are that have not been copied yet */
} recovery;

static alm_status recover_first_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                     size_t bytes)
{
    recovery *rec = arg;
    (void)lsn;
    return alm_redo_marks(cx, &rec->marks, payload, bytes);
}

static alm_status recover_second_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                      size_t bytes)
{
    recovery *rec = arg;
    rec->build.lsn = lsn;
    ALM_TRY(alm_redo(cx, &rec->build, &rec->marks, &rec->rows, payload, bytes));
    rec->build.next->lsn = lsn;
    if (rec->maps.bytes < LOG_MAPPED_MAX && rec->maps.n < LOG_MAPS_MAX)
        return ALM_OK;
    ALM_TRY(alm_redo_rows_own(cx, &rec->build, &rec->rows));
    alm_wal_maps_free(rec->build.st->io, &rec->maps);
    return ALM_OK;
}

alm_status alm_build_show_symbols(alm_ctx *cx, alm_build *build)
{
    for (size_t i = 0; i < build->next->n; i++) {
        const alm_version *version = alm_catver_at(build->next, i);
        alm_schema *schema = NULL;
        alm_version *next = NULL;
        ALM_TRY(alm_change_dicts(cx, build->st, version, NULL, 0, NULL, &schema));
        if (schema == NULL)
            continue;
        alm_status status = alm_version_copy(cx, version, 0, &next);
        if (status == ALM_OK)
            status = alm_build_own(cx, build, version->table.id);
        if (status != ALM_OK) {
            alm_version_release(next);
            alm_schema_release(schema);
            return status;
        }
        alm_schema_release(next->schema);
        next->schema = schema;
        alm_version_settle(next);
        alm_build_put(build, next);
    }
    return ALM_OK;
}

typedef struct tables_seen {
    const alm_storage *st;
    bool any; /* a file in the directory of a table */
} tables_seen;

static int see_file(void *arg, const char *name)
{
    (void)name;
    *(bool *)arg = true;
    return 1;
}

static int see_table(void *arg, const char *name)
{
    tables_seen *seen = arg;
    char path[ALM_PATH_MAX];
    const int len = snprintf(path, sizeof path, "%s/tables/%s", seen->st->root, name);
    if (len > 0 && (size_t)len < sizeof path)
        (void)seen->st->io->list(seen->st->io, path, see_file, &seen->any);
    return seen->any;
}

/*
 * A database without a catalogue has all of its log, and one with a catalogue may have none of it. With neither it is new, unless there
 * are files of tables: then both were lost, and to open it would be to remove these files as orphans.
 */
static alm_status check_not_lost(alm_ctx *cx, const alm_storage *storage,
                                 const alm_catalog_file *file)
{
    char path[ALM_PATH_MAX];
    tables_seen seen = {.st = storage};
    if (file->bytes > 0 || storage->wal.n_segments > 0)
        return ALM_OK;
    (void)snprintf(path, sizeof path, "%s/tables", storage->root);
    const int code = storage->io->list(storage->io, path, see_table, &seen);
    if (code < 0 && code != -ENOENT)
        return alm_io_fail(cx, code, path);
    return !seen.any
               ? ALM_OK
               : alm_fail(
                     cx, ALM_E_CORRUPT, -1,
                     "'%s' has files of tables, but neither a catalogue nor a log: it is not "
                     "opened, because "
                     "that would remove them. Bring back 'catalog' and 'wal', or restore a backup",
                     storage->root);
}

/*
 * The catalogue says which database it is; without one, or with that of an older program, segments of the log do. Where neither does,
 * the database is new, or gets its id now: whatever has that id is written behind a segment of the log that has it, or with a catalogue.
 */
static alm_status recover_identify(alm_ctx *cx, alm_storage *storage, uint64_t of_catalogue)
{
    uint64_t id = of_catalogue;
    const alm_status status = alm_wal_identify(cx, &storage->wal, "the catalogue", &id);
    storage->foreign = status == ALM_E_CORRUPT;
    ALM_TRY(status);
    while (id == 0) {
        const int failed = storage->io->random(storage->io, &id, sizeof id);
        if (failed < 0)
            return alm_io_fail(cx, failed, "a random number for the id of the database");
    }
    storage->database_id = storage->wal.database_id = id;
    return ALM_OK;
}

typedef struct attempt {
    const char *catalog; /* file that it begins with */
    bool
        log; /* false: the catalogue alone counts; what there is of a log is left out of the chain */
    bool blames; /* it failed, because the catalogue is damaged or missing */
} attempt;

static alm_status recover_read_catalog(alm_ctx *cx, alm_storage *storage, attempt *self,
                                       alm_catalog_file *file)
{
    alm_status status = alm_catalog_read(cx, storage, self->catalog, file);
    if (status == ALM_OK && file->bytes == 0 && alm_generation_is_there(storage))
        status =
            alm_fail(cx, ALM_E_CORRUPT, -1, "'%s/%s' is missing", storage->root, self->catalog);
    self->blames = status == ALM_E_CORRUPT;
    return status;
}

static uint32_t processors(const alm_storage *storage)
{
    alm_machine machine;
    storage->io->machine(storage->io, &machine);
    return machine.processors;
}

static alm_status recover_once(alm_ctx *cx, alm_storage *storage, attempt *self, alm_wal_scan *scan)
{
    alm_catalog_file file;
    recovery rec = {0};
    const bool log = self->log;
    const int64_t faults = storage->io->map_faults(storage->io);
    alm_dict_list_free(&storage->catalog_dicts);
    ALM_TRY(recover_read_catalog(cx, storage, self, &file));
    storage->checkpoint_lsn = file.lsn;
    if (storage->hold.marked && storage->hold.copy && !alm_hold_is_copy(storage)) {
        alm_catalog_unmap(storage, &file);
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "'%s' is not complete: it is a copy or was being restored, and its "
                        "catalogue is missing or another",
                        storage->root);
    }
    storage->closing = true; /* what recovery lets go of must stay on disk */
    alm_status status = alm_wal_list(cx, &storage->wal);
    *scan = (alm_wal_scan){.last_lsn = file.lsn, .segment = storage->wal.n_segments};
    if (status == ALM_OK)
        status = check_not_lost(cx, storage, &file);
    if (status == ALM_OK)
        status = recover_identify(cx, storage, file.database_id);
    if (status == ALM_OK && log)
        status = alm_wal_read(cx, &storage->wal, file.lsn, recover_first_pass, &rec, NULL, scan);
    if (status == ALM_OK)
        status = alm_build_begin(cx, storage, &rec.build);
    if (status == ALM_OK) {
        rec.build.redo = true;
        rec.rows.borrow = true;
        rec.rows.threads = processors(storage);
        status = alm_catalog_load(cx, &rec.build, &file, &rec.marks);
        self->blames = status == ALM_E_CORRUPT;
        if (status == ALM_OK && log)
            status = alm_wal_read(cx, &storage->wal, file.lsn, recover_second_pass, &rec, &rec.maps,
                                  scan);
        if (status == ALM_OK)
            status = alm_redo_rows_settle_all(cx, &rec.build, &rec.rows);
        if (status == ALM_OK)
            status = alm_build_show_symbols(cx, &rec.build);
        if (status == ALM_OK && atomic_load(&storage->next_file_id) >= ALM_FILE_PACK)
            status =
                alm_fail(cx, ALM_E_CORRUPT, -1,
                         "'%s': the catalogue or the log has a number of a file that none can have",
                         storage->root);
        if (status == ALM_OK && log && alm_hold_is_copy(storage))
            status = alm_hold_files_there(cx, &rec.build);
        if (status == ALM_OK && storage->io->map_faults(storage->io) != faults)
            /* behind the checksums, so that zeros were taken for values */
            status = alm_fail(cx, ALM_E_IO, -1,
                              "'%s': the disk failed while the catalogue and the log were read",
                              storage->root);
        if (status == ALM_OK)
            alm_build_publish(&rec.build);
        else
            alm_build_abandon(&rec.build);
    }
    storage->closing = false;
    storage->rows_redone = rec.rows.moved;
    alm_redo_rows_free(&rec.rows);
    alm_wal_maps_free(storage->io, &rec.maps);
    alm_flush_marks_free(&rec.marks);
    alm_catalog_unmap(storage, &file);
    return status;
}

/*
 * The catalogue cannot be read: the one before and the log behind it come to the same state. Where they do not, the error is that of the
 * catalogue.
 */
static alm_status recover_previous(alm_ctx *cx, alm_storage *storage, alm_wal_scan *scan)
{
    const alm_error why = cx->err;
    attempt self = {.catalog = ALM_CATALOG_PREVIOUS, .log = true};
    alm_error_clear(cx);
    alm_wal_forget(&storage->wal);
    alm_status status = recover_once(cx, storage, &self, scan);
    if (status == ALM_OK)
        status = alm_generation_took_over(cx, storage, why.msg, scan->last_lsn);
    if (status != ALM_E_CORRUPT && status != ALM_E_UNSUPPORTED && status != ALM_E_IO)
        return status;
    const alm_error then = cx->err;
    alm_error_clear(cx);
    return alm_fail(cx, why.code, -1, "%.400s; nor can it be recovered from the one before: %.400s",
                    why.msg, then.msg);
}

/*
 * The log of a copy was written to while it was copied: where it has a hole, or names files that came
 * too late for the copy, the copy is what the checkpoint was.
 */
static alm_status recover_copy(alm_ctx *cx, alm_storage *storage, alm_wal_scan *scan)
{
    attempt self = {.catalog = ALM_CATALOG};
    if (storage->hold.since_us != 0) /* a backup has no log */
        alm_log_warn("storage",
                     "'%s' is a copy of the checkpoint at lsn %llu; later changes are left "
                     "out, because the copy has not all of them: %s",
                     storage->root, (unsigned long long)storage->hold.lsn, cx->err.msg);
    alm_error_clear(cx);
    alm_wal_forget(&storage->wal);
    return recover_once(cx, storage, &self, scan);
}

alm_status alm_storage_recover(alm_ctx *cx, alm_storage *storage, alm_wal_scan *scan)
{
    attempt self = {.catalog = ALM_CATALOG, .log = true};
    ALM_TRY(alm_hold_read(cx, storage));
    const alm_status status = recover_once(cx, storage, &self, scan);
    if (status == ALM_OK)
        return alm_generation_look(cx, storage, scan);
    const bool older = status == ALM_E_CORRUPT && !self.blames && alm_generation_is_newer(storage);
    if ((self.blames || older) && !storage->hold.copy && !storage->foreign &&
        alm_generation_is_there(storage))
        return recover_previous(cx, storage, scan);
    if (status != ALM_E_CORRUPT || !alm_hold_is_copy(storage) || storage->conf.whole_log ||
        storage->foreign)
        return status;
    return recover_copy(cx, storage, scan);
}
