/*
 * dict_rebuild.c - `almanac check ROOT --rebuild-symbols`: dictionaries that are lost, written anew of what their files and Parquet
 * parts still say, so that their tables open again.
 *
 * Lost codes  Parts hold codes only, so that rows of a lost symbol can still be told from others: each of these codes gets a name that
 *             says that it is lost, and that no symbol has. An UPDATE can give them their values, or null.
 * Crash       The new file is written beside the old one (ID.dict.repair), then the catalogue with its checksum, then the names are
 *             changed. A crash before the catalogue leaves all as it was; behind it the table is still closed, and the next repair
 *             finds the new file, which the catalogue proves. The old file stays as ID.dict.damaged.
 * Log         Nothing is written to it, and no segment is given up: the next start reads it from the new catalogue on.
 */
#include <inttypes.h>
#include <stdio.h>

#include "storage/backup/backup.h"
#include "storage/check/salvage.h"
#include "storage/recover/generation.h"
#include "storage/recover/hold.h"
#include "storage/recover/recover.h"

typedef struct rebuilding {
    alm_ctx *cx;
    const alm_io *io;
    alm_storage *st;
    alm_arena arena;
    alm_dict_list rebuilt;
    void (*tell)(void *arg, const char *line); /* may be NULL */
    void *tell_arg;
    alm_rebuild_result *done;
} rebuilding;

/* ----------------------------------------------------------- rows without a word */

static int64_t count_codes(const alm_symbols *symbols, const alm_vec *vec, int64_t rows)
{
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++)
        count += !alm_symbols_knows(symbols, alm_vec_code(vec, (size_t)i));
    return count;
}

/* A part that is damaged is counted whole: its codes are not known. */
static alm_status count_part(rebuilding *self, const alm_version *version, uint32_t col,
                             const alm_part_ref *ref, int64_t *rows)
{
    const alm_column *column = &version->schema->cols[col];
    struct alm_part *part = NULL;
    alm_vec codes;
    alm_arena_reset(&self->arena);
    alm_status status = alm_file_part(self->cx, alm_part_ref_file(ref, column->id), &part);
    if (status == ALM_OK)
        status = alm_part_vec(self->cx, &self->arena, part, column->id, column->type, &codes);
    if (status == ALM_OK && !codes.is_const)
        *rows += count_codes(version->schema->symbols[col], &codes, ref->rows);
    if (!alm_is_damage(status))
        return status;
    alm_error_clear(self->cx);
    *rows += ref->rows;
    return ALM_OK;
}

static alm_status count_set(rebuilding *self, const alm_version *version, uint32_t col,
                            const alm_part_set *set, int64_t *rows)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(alm_check(self->cx));
        ALM_TRY(count_part(self, version, col, set->parts[i], rows));
    }
    return ALM_OK;
}

static int64_t count_head(const alm_version *version, uint32_t col)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < version->n_lanes; i++) {
        for (uint32_t j = 0; j < version->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *chunk = &version->lanes[i].chunks[j];
            const int32_t place =
                alm_schema_find(chunk->chunk->schema, version->schema->cols[col].id);
            const alm_vec codes = {.width = sizeof(uint32_t),
                                   .data = place < 0 ? NULL : chunk->chunk->cols[(size_t)place]};
            if (place >= 0)
                rows += count_codes(version->schema->symbols[col], &codes, chunk->rows);
        }
    }
    return rows;
}

/* -------------------------------------------------------------------- the column */

static void dict_path(const rebuilding *self, alm_dict_id id, const char *end, char *path,
                      size_t size)
{
    char dir[ALM_PATH_MAX - 64];
    alm_storage_table_dir(self->st, id.table_id, dir, sizeof dir);
    (void)snprintf(path, size, "%s/%u.dict%s", dir, id.col_id, end);
}

static void dict_rebuild_tell(const rebuilding *self, const alm_version *version, uint32_t col,
                              uint32_t lost, int64_t rows, const char *prefix)
{
    char line[1024], names[128] = "";
    if (lost > 0)
        (void)snprintf(names, sizeof names, ", which have '%sCODE' there", prefix);
    (void)snprintf(line, sizeof line,
                   "table '%.128s', column '%.128s': %u of %u symbols are lost, in %" PRId64
                   " rows%s",
                   version->table.name, version->schema->cols[col].name, lost,
                   alm_symbols_count(version->schema->symbols[col]) - 1, rows, names);
    if (self->tell != NULL)
        self->tell(self->tell_arg, line);
}

static alm_status rebuild_column(rebuilding *self, const alm_version *version, uint32_t col)
{
    char path[ALM_PATH_MAX], prefix[64];
    alm_symbols *symbols = version->schema->symbols[col];
    uint32_t lost = 0;
    ALM_TRY(alm_words_find(self->cx, self->st, version, col));
    int64_t rows = count_head(version, col);
    ALM_TRY(count_set(self, version, col, version->parts, &rows));
    ALM_TRY(count_set(self, version, col, version->detached, &rows));
    ALM_TRY(alm_symbols_name_lost(self->cx, symbols, prefix, sizeof prefix, &lost));
    if (lost == 0)
        rows = 0; /* those of damaged parts have words, too */
    alm_symbols_view(symbols, alm_symbols_count(symbols), &version->schema->dicts[col]);
    dict_path(self, (alm_dict_id){version->table.id, version->schema->cols[col].id}, ".repair",
              path, sizeof path);
    ALM_TRY(alm_symbols_regain(self->cx, symbols, self->io, path));
    dict_rebuild_tell(self, version, col, lost, rows, prefix);
    self->done->columns++;
    self->done->symbols += alm_symbols_count(symbols) - 1;
    self->done->lost += lost;
    self->done->rows += rows;
    return ALM_OK;
}

/* ------------------------------------------------------------------ all of them */

static alm_status rebuild_table(rebuilding *self, const alm_version *version)
{
    for (uint32_t col = 0; col < version->schema->n_cols; col++) {
        const alm_symbols *symbols = version->schema->symbols[col];
        if (symbols == NULL || alm_symbols_lost(symbols) == NULL)
            continue;
        ALM_TRY(alm_dict_list_add(self->cx, &self->rebuilt,
                                  (alm_dict_id){version->table.id, version->schema->cols[col].id}));
        ALM_TRY(rebuild_column(self, version, col));
    }
    return ALM_OK;
}

static alm_status rebuild_tables(rebuilding *self)
{
    for (size_t i = 0; i < self->st->current->n; i++)
        ALM_TRY(rebuild_table(self, alm_catver_at(self->st->current, i)));
    return ALM_OK;
}

static alm_status sync_dir_of(rebuilding *self, alm_dict_id id)
{
    char dir[ALM_PATH_MAX];
    alm_storage_table_dir(self->st, id.table_id, dir, sizeof dir);
    const int code = self->io->sync_dir(self->io, dir);
    return code < 0 ? alm_io_fail(self->cx, code, dir) : ALM_OK;
}

static alm_status rename_file(rebuilding *self, alm_dict_id id)
{
    char path[ALM_PATH_MAX], fresh[ALM_PATH_MAX], old[ALM_PATH_MAX];
    alm_io_stat meta;
    dict_path(self, id, "", path, sizeof path);
    dict_path(self, id, ".repair", fresh, sizeof fresh);
    dict_path(self, id, ".damaged", old, sizeof old);
    int code =
        self->io->stat(self->io, path, &meta) >= 0 ? self->io->rename(self->io, path, old) : 0;
    if (code >= 0)
        code = self->io->rename(self->io, fresh, path);
    return code < 0 ? alm_io_fail(self->cx, code, path) : sync_dir_of(self, id);
}

/* What was read of the log may not be on disk yet, and the catalogue goes up to its end. */
static alm_status dict_rebuild_sync_log(rebuilding *self)
{
    const alm_wal *wal = &self->st->wal;
    char path[ALM_PATH_MAX];
    for (size_t i = 0; i < wal->n_segments; i++) {
        (void)snprintf(path, sizeof path, "%s/%016" PRIx64 ".wal", wal->dir,
                       wal->segments[i].number);
        const int handle = self->io->open(self->io, path, ALM_IO_READ | ALM_IO_WRITE);
        int code = handle < 0 ? handle : self->io->sync(self->io, handle);
        if (handle >= 0)
            (void)self->io->close(self->io, handle); /* synced */
        if (code < 0)
            return alm_io_fail(self->cx, code, path);
    }
    return ALM_OK;
}

static alm_status rebuild_all(rebuilding *self)
{
    ALM_TRY(rebuild_tables(self));
    if (self->rebuilt.n == 0)
        return ALM_OK;
    for (size_t i = 0; i < self->rebuilt.n; i++)
        ALM_TRY(sync_dir_of(self, self->rebuilt.ids[i]));
    ALM_TRY(dict_rebuild_sync_log(self));
    ALM_TRY(alm_dicts_save(self->cx, self->st, self->st->current));
    /* The catalogue before means the files that are lost. */
    ALM_TRY(alm_generation_write(self->cx, self->st, self->st->current, true));
    for (size_t i = 0; i < self->rebuilt.n; i++)
        ALM_TRY(rename_file(self, self->rebuilt.ids[i]));
    return ALM_OK;
}

/* A checkpoint that is held, or a copy of one, has the catalogue that it has. */
static alm_status dict_rebuild_open_root(rebuilding *self, const char *root)
{
    alm_wal_scan scan;
    ALM_TRY(alm_restore_refuse(self->cx, self->io, root));
    ALM_TRY(alm_storage_new(self->cx, self->io, root, NULL, &self->st));
    self->st->closing = true;
    ALM_TRY(alm_owner_take(self->cx, self->io, self->st->root, true, &self->st->owner));
    ALM_TRY(alm_durable_open(self->cx, self->st));
    ALM_TRY(alm_storage_recover(self->cx, self->st, &scan));
    self->st->closing = true;
    return !self->st->hold.marked
               ? ALM_OK
               : alm_fail(
                     self->cx, ALM_E_ARG, -1,
                     "a checkpoint of '%s' is held, or it is a copy of one: start it once, and "
                     "release the checkpoint",
                     root);
}

alm_status alm_storage_rebuild_symbols(alm_ctx *cx, const alm_io *io, const char *root,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       alm_rebuild_result *done)
{
    rebuilding self = {.cx = cx, .io = io, .tell = report, .tell_arg = arg, .done = done};
    *done = (alm_rebuild_result){0};
    ALM_TRY(alm_salvage_check_root(cx, io, root));
    alm_arena_init(&self.arena, NULL);
    alm_status status = dict_rebuild_open_root(&self, root);
    if (status == ALM_OK)
        status = rebuild_all(&self);
    if (self.st != NULL)
        alm_storage_free(self.st);
    alm_dict_list_free(&self.rebuilt);
    alm_arena_deinit(&self.arena);
    return status;
}
