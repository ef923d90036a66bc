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

static alm_status first_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                             size_t bytes)
{
    recovery *rec = arg;
    (void)lsn;
    return alm_redo_marks(cx, &rec->marks, payload, bytes);
}

static alm_status second_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
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

alm_status alm_build_show_symbols(alm_ctx *cx, alm_build *b)
{
    for (size_t i = 0; i < b->next->n; i++) {
        const alm_version *v = alm_catver_at(b->next, i);
        alm_schema *schema = NULL;
        alm_version *next = NULL;
        ALM_TRY(alm_change_dicts(cx, b->st, v, NULL, 0, NULL, &schema));
        if (schema == NULL)
            continue;
        alm_status e = alm_version_copy(cx, v, 0, &next);
        if (e == ALM_OK)
            e = alm_build_own(cx, b, v->table.id);
        if (e != ALM_OK) {
            alm_version_release(next);
            alm_schema_release(schema);
            return e;
        }
        alm_schema_release(next->schema);
        next->schema = schema;
        alm_version_settle(next);
        alm_build_put(b, next);
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
    const int n = snprintf(path, sizeof path, "%s/tables/%s", seen->st->root, name);
    if (n > 0 && (size_t)n < sizeof path)
        (void)seen->st->io->list(seen->st->io, path, see_file, &seen->any);
    return seen->any;
}

/*
 * A database without a catalogue has all of its log, and one with a catalogue may have none of it. With neither it is new, unless there
 * are files of tables: then both were lost, and to open it would be to remove these files as orphans.
 */
static alm_status check_not_lost(alm_ctx *cx, const alm_storage *st, const alm_catalog_file *file)
{
    char path[ALM_PATH_MAX];
    tables_seen seen = {.st = st};
    if (file->bytes > 0 || st->wal.n_segments > 0)
        return ALM_OK;
    (void)snprintf(path, sizeof path, "%s/tables", st->root);
    const int e = st->io->list(st->io, path, see_table, &seen);
    if (e < 0 && e != -ENOENT)
        return alm_io_fail(cx, e, path);
    return !seen.any
               ? ALM_OK
               : alm_fail(
                     cx, ALM_E_CORRUPT, -1,
                     "'%s' has files of tables, but neither a catalogue nor a log: it is not "
                     "opened, because "
                     "that would remove them. Bring back 'catalog' and 'wal', or restore a backup",
                     st->root);
}

/*
 * The catalogue says which database it is; without one, or with that of an older program, segments of the log do. Where neither does,
 * the database is new, or gets its id now: whatever has that id is written behind a segment of the log that has it, or with a catalogue.
 */
static alm_status identify(alm_ctx *cx, alm_storage *st, uint64_t of_catalogue)
{
    uint64_t id = of_catalogue;
    const alm_status e = alm_wal_identify(cx, &st->wal, "the catalogue", &id);
    st->foreign = e == ALM_E_CORRUPT;
    ALM_TRY(e);
    while (id == 0) {
        const int failed = st->io->random(st->io, &id, sizeof id);
        if (failed < 0)
            return alm_io_fail(cx, failed, "a random number for the id of the database");
    }
    st->database_id = st->wal.database_id = id;
    return ALM_OK;
}

typedef struct attempt {
    const char *catalog; /* file that it begins with */
    bool
        log; /* false: the catalogue alone counts; what there is of a log is left out of the chain */
    bool blames; /* it failed, because the catalogue is damaged or missing */
} attempt;

static alm_status read_catalog(alm_ctx *cx, alm_storage *st, attempt *a, alm_catalog_file *file)
{
    alm_status e = alm_catalog_read(cx, st, a->catalog, file);
    if (e == ALM_OK && file->bytes == 0 && alm_generation_is_there(st))
        e = alm_fail(cx, ALM_E_CORRUPT, -1, "'%s/%s' is missing", st->root, a->catalog);
    a->blames = e == ALM_E_CORRUPT;
    return e;
}

static uint32_t processors(const alm_storage *st)
{
    alm_machine machine;
    st->io->machine(st->io, &machine);
    return machine.processors;
}

static alm_status recover_once(alm_ctx *cx, alm_storage *st, attempt *a, alm_wal_scan *scan)
{
    alm_catalog_file file;
    recovery rec = {0};
    const bool log = a->log;
    const int64_t faults = st->io->map_faults(st->io);
    alm_dict_list_free(&st->catalog_dicts);
    ALM_TRY(read_catalog(cx, st, a, &file));
    st->checkpoint_lsn = file.lsn;
    if (st->hold.marked && st->hold.copy && !alm_hold_is_copy(st)) {
        alm_catalog_unmap(st, &file);
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "'%s' is not complete: it is a copy or was being restored, and its "
                        "catalogue is missing or another",
                        st->root);
    }
    st->closing = true; /* what recovery lets go of must stay on disk */
    alm_status e = alm_wal_list(cx, &st->wal);
    *scan = (alm_wal_scan){.last_lsn = file.lsn, .segment = st->wal.n_segments};
    if (e == ALM_OK)
        e = check_not_lost(cx, st, &file);
    if (e == ALM_OK)
        e = identify(cx, st, file.database_id);
    if (e == ALM_OK && log)
        e = alm_wal_read(cx, &st->wal, file.lsn, first_pass, &rec, NULL, scan);
    if (e == ALM_OK)
        e = alm_build_begin(cx, st, &rec.build);
    if (e == ALM_OK) {
        rec.build.redo = true;
        rec.rows.borrow = true;
        rec.rows.threads = processors(st);
        e = alm_catalog_load(cx, &rec.build, &file, &rec.marks);
        a->blames = e == ALM_E_CORRUPT;
        if (e == ALM_OK && log)
            e = alm_wal_read(cx, &st->wal, file.lsn, second_pass, &rec, &rec.maps, scan);
        if (e == ALM_OK)
            e = alm_redo_rows_settle_all(cx, &rec.build, &rec.rows);
        if (e == ALM_OK)
            e = alm_build_show_symbols(cx, &rec.build);
        if (e == ALM_OK && atomic_load(&st->next_file_id) >= ALM_FILE_PACK)
            e = alm_fail(cx, ALM_E_CORRUPT, -1,
                         "'%s': the catalogue or the log has a number of a file that none can have",
                         st->root);
        if (e == ALM_OK && log && alm_hold_is_copy(st))
            e = alm_hold_files_there(cx, &rec.build);
        if (e == ALM_OK && st->io->map_faults(st->io) != faults)
            /* behind the checksums, so that zeros were taken for values */
            e = alm_fail(cx, ALM_E_IO, -1,
                         "'%s': the disk failed while the catalogue and the log were read",
                         st->root);
        if (e == ALM_OK)
            alm_build_publish(&rec.build);
        else
            alm_build_abandon(&rec.build);
    }
    st->closing = false;
    st->rows_redone = rec.rows.moved;
    alm_redo_rows_free(&rec.rows);
    alm_wal_maps_free(st->io, &rec.maps);
    alm_flush_marks_free(&rec.marks);
    alm_catalog_unmap(st, &file);
    return e;
}

/*
 * The catalogue cannot be read: the one before and the log behind it come to the same state. Where they do not, the error is that of the
 * catalogue.
 */
static alm_status recover_previous(alm_ctx *cx, alm_storage *st, alm_wal_scan *scan)
{
    const alm_error why = cx->err;
    attempt a = {.catalog = ALM_CATALOG_PREVIOUS, .log = true};
    alm_error_clear(cx);
    alm_wal_forget(&st->wal);
    alm_status e = recover_once(cx, st, &a, scan);
    if (e == ALM_OK)
        e = alm_generation_took_over(cx, st, why.msg, scan->last_lsn);
    if (e != ALM_E_CORRUPT && e != ALM_E_UNSUPPORTED && e != ALM_E_IO)
        return e;
    const alm_error then = cx->err;
    alm_error_clear(cx);
    return alm_fail(cx, why.code, -1, "%.400s; nor can it be recovered from the one before: %.400s",
                    why.msg, then.msg);
}

/*
 * The log of a copy was written to while it was copied: where it has a hole, or names files that came
 * too late for the copy, the copy is what the checkpoint was.
 */
static alm_status recover_copy(alm_ctx *cx, alm_storage *st, alm_wal_scan *scan)
{
    attempt a = {.catalog = ALM_CATALOG};
    if (st->hold.since_us != 0) /* a backup has no log */
        alm_log_warn("storage",
                     "'%s' is a copy of the checkpoint at lsn %llu; later changes are left "
                     "out, because the copy has not all of them: %s",
                     st->root, (unsigned long long)st->hold.lsn, cx->err.msg);
    alm_error_clear(cx);
    alm_wal_forget(&st->wal);
    return recover_once(cx, st, &a, scan);
}

alm_status alm_storage_recover(alm_ctx *cx, alm_storage *st, alm_wal_scan *scan)
{
    attempt a = {.catalog = ALM_CATALOG, .log = true};
    ALM_TRY(alm_hold_read(cx, st));
    const alm_status e = recover_once(cx, st, &a, scan);
    if (e == ALM_OK)
        return alm_generation_look(cx, st, scan);
    const bool older = e == ALM_E_CORRUPT && !a.blames && alm_generation_is_newer(st);
    if ((a.blames || older) && !st->hold.copy && !st->foreign && alm_generation_is_there(st))
        return recover_previous(cx, st, scan);
    if (e != ALM_E_CORRUPT || !alm_hold_is_copy(st) || st->conf.whole_log || st->foreign)
        return e;
    return recover_copy(cx, st, scan);
}
