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

static int64_t count_codes(const alm_symbols *symbols, const alm_vec *v, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i++)
        n += !alm_symbols_knows(symbols, alm_vec_code(v, (size_t)i));
    return n;
}

/* A part that is damaged is counted whole: its codes are not known. */
static alm_status count_part(rebuilding *r, const alm_version *v, uint32_t col,
                             const alm_part_ref *ref, int64_t *rows)
{
    const alm_column *c = &v->schema->cols[col];
    struct alm_part *part = NULL;
    alm_vec codes;
    alm_arena_reset(&r->arena);
    alm_status st = alm_file_part(r->cx, alm_part_ref_file(ref, c->id), &part);
    if (st == ALM_OK)
        st = alm_part_vec(r->cx, &r->arena, part, c->id, c->type, &codes);
    if (st == ALM_OK && !codes.is_const)
        *rows += count_codes(v->schema->symbols[col], &codes, ref->rows);
    if (!alm_is_damage(st))
        return st;
    alm_error_clear(r->cx);
    *rows += ref->rows;
    return ALM_OK;
}

static alm_status count_set(rebuilding *r, const alm_version *v, uint32_t col,
                            const alm_part_set *set, int64_t *rows)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        ALM_TRY(alm_check(r->cx));
        ALM_TRY(count_part(r, v, col, set->parts[i], rows));
    }
    return ALM_OK;
}

static int64_t count_head(const alm_version *v, uint32_t col)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < v->n_lanes; i++) {
        for (uint32_t j = 0; j < v->lanes[i].n_chunks; j++) {
            const alm_lane_chunk *c = &v->lanes[i].chunks[j];
            const int32_t at = alm_schema_find(c->chunk->schema, v->schema->cols[col].id);
            const alm_vec codes = {.width = sizeof(uint32_t),
                                   .data = at < 0 ? NULL : c->chunk->cols[(size_t)at]};
            if (at >= 0)
                rows += count_codes(v->schema->symbols[col], &codes, c->rows);
        }
    }
    return rows;
}

/* -------------------------------------------------------------------- the column */

static void dict_path(const rebuilding *r, alm_dict_id id, const char *end, char *path, size_t size)
{
    char dir[ALM_PATH_MAX - 64];
    alm_storage_table_dir(r->st, id.table_id, dir, sizeof dir);
    (void)snprintf(path, size, "%s/%u.dict%s", dir, id.col_id, end);
}

static void tell(const rebuilding *r, const alm_version *v, uint32_t col, uint32_t lost,
                 int64_t rows, const char *prefix)
{
    char line[1024], names[128] = "";
    if (lost > 0)
        (void)snprintf(names, sizeof names, ", which have '%sCODE' there", prefix);
    (void)snprintf(line, sizeof line,
                   "table '%.128s', column '%.128s': %u of %u symbols are lost, in %" PRId64
                   " rows%s",
                   v->table.name, v->schema->cols[col].name, lost,
                   alm_symbols_count(v->schema->symbols[col]) - 1, rows, names);
    if (r->tell != NULL)
        r->tell(r->tell_arg, line);
}

static alm_status rebuild_column(rebuilding *r, const alm_version *v, uint32_t col)
{
    char path[ALM_PATH_MAX], prefix[64];
    alm_symbols *symbols = v->schema->symbols[col];
    uint32_t lost = 0;
    ALM_TRY(alm_words_find(r->cx, r->st, v, col));
    int64_t rows = count_head(v, col);
    ALM_TRY(count_set(r, v, col, v->parts, &rows));
    ALM_TRY(count_set(r, v, col, v->detached, &rows));
    ALM_TRY(alm_symbols_name_lost(r->cx, symbols, prefix, sizeof prefix, &lost));
    if (lost == 0)
        rows = 0; /* those of damaged parts have words, too */
    alm_symbols_view(symbols, alm_symbols_count(symbols), &v->schema->dicts[col]);
    dict_path(r, (alm_dict_id){v->table.id, v->schema->cols[col].id}, ".repair", path, sizeof path);
    ALM_TRY(alm_symbols_regain(r->cx, symbols, r->io, path));
    tell(r, v, col, lost, rows, prefix);
    r->done->columns++;
    r->done->symbols += alm_symbols_count(symbols) - 1;
    r->done->lost += lost;
    r->done->rows += rows;
    return ALM_OK;
}

/* ------------------------------------------------------------------ all of them */

static alm_status rebuild_table(rebuilding *r, const alm_version *v)
{
    for (uint32_t c = 0; c < v->schema->n_cols; c++) {
        const alm_symbols *symbols = v->schema->symbols[c];
        if (symbols == NULL || alm_symbols_lost(symbols) == NULL)
            continue;
        ALM_TRY(alm_dict_list_add(r->cx, &r->rebuilt,
                                  (alm_dict_id){v->table.id, v->schema->cols[c].id}));
        ALM_TRY(rebuild_column(r, v, c));
    }
    return ALM_OK;
}

static alm_status rebuild_tables(rebuilding *r)
{
    for (size_t i = 0; i < r->st->current->n; i++)
        ALM_TRY(rebuild_table(r, alm_catver_at(r->st->current, i)));
    return ALM_OK;
}

static alm_status sync_dir_of(rebuilding *r, alm_dict_id id)
{
    char dir[ALM_PATH_MAX];
    alm_storage_table_dir(r->st, id.table_id, dir, sizeof dir);
    const int e = r->io->sync_dir(r->io, dir);
    return e < 0 ? alm_io_fail(r->cx, e, dir) : ALM_OK;
}

static alm_status rename_file(rebuilding *r, alm_dict_id id)
{
    char path[ALM_PATH_MAX], fresh[ALM_PATH_MAX], old[ALM_PATH_MAX];
    alm_io_stat meta;
    dict_path(r, id, "", path, sizeof path);
    dict_path(r, id, ".repair", fresh, sizeof fresh);
    dict_path(r, id, ".damaged", old, sizeof old);
    int e = r->io->stat(r->io, path, &meta) >= 0 ? r->io->rename(r->io, path, old) : 0;
    if (e >= 0)
        e = r->io->rename(r->io, fresh, path);
    return e < 0 ? alm_io_fail(r->cx, e, path) : sync_dir_of(r, id);
}

/* What was read of the log may not be on disk yet, and the catalogue goes up to its end. */
static alm_status sync_log(rebuilding *r)
{
    const alm_wal *wal = &r->st->wal;
    char path[ALM_PATH_MAX];
    for (size_t i = 0; i < wal->n_segments; i++) {
        (void)snprintf(path, sizeof path, "%s/%016" PRIx64 ".wal", wal->dir,
                       wal->segments[i].number);
        const int h = r->io->open(r->io, path, ALM_IO_READ | ALM_IO_WRITE);
        int e = h < 0 ? h : r->io->sync(r->io, h);
        if (h >= 0)
            (void)r->io->close(r->io, h); /* synced */
        if (e < 0)
            return alm_io_fail(r->cx, e, path);
    }
    return ALM_OK;
}

static alm_status rebuild_all(rebuilding *r)
{
    ALM_TRY(rebuild_tables(r));
    if (r->rebuilt.n == 0)
        return ALM_OK;
    for (size_t i = 0; i < r->rebuilt.n; i++)
        ALM_TRY(sync_dir_of(r, r->rebuilt.ids[i]));
    ALM_TRY(sync_log(r));
    ALM_TRY(alm_dicts_save(r->cx, r->st, r->st->current));
    /* The catalogue before means the files that are lost. */
    ALM_TRY(alm_generation_write(r->cx, r->st, r->st->current, true));
    for (size_t i = 0; i < r->rebuilt.n; i++)
        ALM_TRY(rename_file(r, r->rebuilt.ids[i]));
    return ALM_OK;
}

/* A checkpoint that is held, or a copy of one, has the catalogue that it has. */
static alm_status open_root(rebuilding *r, const char *root)
{
    alm_wal_scan scan;
    ALM_TRY(alm_restore_refuse(r->cx, r->io, root));
    ALM_TRY(alm_storage_new(r->cx, r->io, root, NULL, &r->st));
    r->st->closing = true;
    ALM_TRY(alm_owner_take(r->cx, r->io, r->st->root, true, &r->st->owner));
    ALM_TRY(alm_durable_open(r->cx, r->st));
    ALM_TRY(alm_storage_recover(r->cx, r->st, &scan));
    r->st->closing = true;
    return !r->st->hold.marked
               ? ALM_OK
               : alm_fail(
                     r->cx, ALM_E_ARG, -1,
                     "a checkpoint of '%s' is held, or it is a copy of one: start it once, and "
                     "release the checkpoint",
                     root);
}

alm_status alm_storage_rebuild_symbols(alm_ctx *cx, const alm_io *io, const char *root,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       alm_rebuild_result *done)
{
    rebuilding r = {.cx = cx, .io = io, .tell = report, .tell_arg = arg, .done = done};
    *done = (alm_rebuild_result){0};
    ALM_TRY(alm_salvage_check_root(cx, io, root));
    alm_arena_init(&r.arena, NULL);
    alm_status e = open_root(&r, root);
    if (e == ALM_OK)
        e = rebuild_all(&r);
    if (r.st != NULL)
        alm_storage_free(r.st);
    alm_dict_list_free(&r.rebuilt);
    alm_arena_deinit(&r.arena);
    return e;
}
