/*
 * salvage_found.c - parts by their files alone, where the catalogue or the log cannot say which there are: what tables they are of,
 * and the rows of those that nothing names.
 *
 * Tables      A part file has the numbers and types of its columns, a Parquet part their names, too. A table that is known by its
 *             files alone is called `table-ID`, a column without a name `cID`.
 * Packs       Have no list: parts in them are found by their headers and trailers, whose checksums must fit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/check/salvage.h"
#include "storage/part/format.h"

/* A part file, or a part in a pack (`place`), of the directory of a table. */
typedef alm_status (*each_part)(alm_salvage *s, void *arg, const char *path,
                                const alm_part_place *place, uint64_t id);

typedef struct listing {
    alm_salvage *s;
    uint64_t *ids; /* of tables, or of files */
    size_t n, cap;
    alm_status st;
    bool tables;
} listing;

static int salvage_found_list_one(void *arg, const char *name)
{
    listing *self = arg;
    char *end = NULL;
    uint64_t id = 0;
    if (self->tables) {
        id = strtoull(name, &end, 10);
        if (end == name || *end != 0)
            return 0;
    } else if (!alm_file_id_of_name(name, &id)) {
        return 0;
    }
    if (self->n == self->cap) {
        const size_t cap = ALM_MAX((size_t)64, self->cap * 2);
        uint64_t *bigger = realloc(self->ids, cap * sizeof *bigger);
        if (bigger == NULL) {
            self->st = alm_fail(self->s->cx, ALM_E_MEMORY, -1, "no memory for a list of files");
            return 1;
        }
        self->ids = bigger;
        self->cap = cap;
    }
    self->ids[self->n++] = id;
    return 0;
}

static int salvage_found_by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Numbers of the tables that have directories, or of the part files of one, ascending. A directory that cannot be read has none. */
static alm_status salvage_found_list(alm_salvage *salvage, const char *dir, bool tables,
                                     listing *out)
{
    *out = (listing){.s = salvage, .tables = tables};
    (void)salvage->io->list(salvage->io, dir, salvage_found_list_one, out);
    if (out->st == ALM_OK && out->n > 0)
        qsort(out->ids, out->n, sizeof *out->ids, salvage_found_by_number);
    return out->st;
}

/* ------------------------------------------------------------------------- packs */

static bool salvage_found_is_header(const char *ptr)
{
    alm_part_header head;
    memcpy(&head, ptr, sizeof head);
    return memcmp(head.magic, ALM_PART_MAGIC, sizeof head.magic) == 0 &&
           head.crc == alm_crc32c(0, &head, offsetof(alm_part_header, crc));
}

/* Bytes of the part that begins at `ptr`, 0: it has no sound end. */
static int64_t salvage_found_part_bytes(const char *ptr, int64_t left)
{
    alm_part_trailer tail;
    for (int64_t end = ALM_PART_HEADER; end + ALM_PART_TRAILER <= left; end += ALM_PART_ALIGN) {
        memcpy(&tail, ptr + end, sizeof tail);
        if (memcmp(tail.magic, ALM_PART_END_MAGIC, sizeof tail.magic) == 0 &&
            tail.footer_off < (uint64_t)end &&
            tail.footer_bytes == (uint64_t)end - tail.footer_off &&
            tail.crc == alm_crc32c(0, ptr + tail.footer_off, tail.footer_bytes))
            return end + ALM_PART_TRAILER;
    }
    return 0;
}

static alm_status parts_of_map(alm_salvage *salvage, const char *path, uint64_t id, const char *map,
                               int64_t size, each_part each, void *arg)
{
    for (int64_t offset = 0; offset + ALM_PART_HEADER <= size;) {
        alm_part_place place = {.offset = offset};
        if (salvage_found_is_header(map + offset))
            place.bytes = salvage_found_part_bytes(map + offset, size - offset);
        if (place.bytes > 0)
            ALM_TRY(each(salvage, arg, path, &place, id));
        offset += ALM_MAX(place.bytes, (int64_t)1) + ALM_PART_PACKED - 1;
        offset -= offset % ALM_PART_PACKED;
    }
    return ALM_OK;
}

static alm_status parts_of_pack(alm_salvage *salvage, const char *path, uint64_t id, each_part each,
                                void *arg)
{
    alm_io_stat meta;
    const void *map = NULL;
    if (salvage->io->stat(salvage->io, path, &meta) < 0 || meta.size_bytes <= 0)
        return ALM_OK;
    const int handle = salvage->io->open(salvage->io, path, ALM_IO_READ);
    if (handle < 0)
        return ALM_OK;
    const int code = salvage->io->map(salvage->io, handle, (size_t)meta.size_bytes, &map);
    (void)salvage->io->close(salvage->io, handle); /* read-only */
    if (code < 0)
        return ALM_OK;
    alm_status status = ALM_OK;
    if (salvage->io->prefetch(salvage->io, map, (size_t)meta.size_bytes) >= 0)
        status = parts_of_map(salvage, path, id, map, meta.size_bytes, each, arg);
    (void)salvage->io->unmap(salvage->io, map, (size_t)meta.size_bytes);
    return status;
}

/* Calls for each part of a table; `named` false: of the files that nothing names alone. */
static alm_status parts_of_table(alm_salvage *salvage, uint64_t table_id, bool named,
                                 each_part each, void *arg)
{
    char dir[ALM_PATH_MAX - 64], name[ALM_NAME_MAX], path[ALM_PATH_MAX];
    listing files;
    alm_storage_table_dir(salvage->st, table_id, dir, sizeof dir);
    alm_status status = salvage_found_list(salvage, dir, false, &files);
    for (size_t i = 0; i < files.n && status == ALM_OK; i++) {
        if (!named && alm_file_is_registered(salvage->st, files.ids[i]))
            continue;
        alm_file_id_name(files.ids[i], name, sizeof name);
        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        status = (files.ids[i] & ALM_FILE_PACK) != 0
                     ? parts_of_pack(salvage, path, files.ids[i], each, arg)
                     : each(salvage, arg, path, NULL, files.ids[i]);
    }
    free(files.ids);
    return status;
}

/* ------------------------------------------------------- tables by what files say */

/* Damage says nothing. *out NULL: it cannot be opened. */
static alm_status open_quietly(alm_salvage *salvage, uint64_t table_id, const char *path,
                               const alm_part_place *place, alm_part **out)
{
    *out = NULL;
    const alm_status status =
        alm_part_open(salvage->cx, salvage->io, path, place, table_id, NULL, out);
    if (!alm_is_damage(status))
        return status;
    alm_error_clear(salvage->cx);
    return ALM_OK;
}

typedef struct seen_columns {
    uint64_t table_id;
    alm_tab *tab;
    alm_column *cols; /* ascending ids */
    uint32_t n, cap;
    uint32_t ts_id; /* 0: none was seen */
} seen_columns;

static alm_status see_column(alm_salvage *salvage, seen_columns *seen, const alm_part *part,
                             uint32_t entry)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    const char *field = alm_part_field(part, entry);
    uint32_t place = 0;
    while (place < seen->n && seen->cols[place].id < col->id)
        place++;
    if (place == seen->n || seen->cols[place].id != col->id) {
        if (seen->n == seen->cap) {
            const uint32_t cap = ALM_MAX(16u, seen->cap * 2);
            alm_column *bigger = realloc(seen->cols, cap * sizeof *bigger);
            if (bigger == NULL)
                return alm_fail(salvage->cx, ALM_E_MEMORY, -1, "no memory for columns");
            seen->cols = bigger;
            seen->cap = cap;
        }
        memmove(seen->cols + place + 1, seen->cols + place, (seen->n - place) * sizeof *seen->cols);
        seen->cols[place] = (alm_column){.id = col->id, .type = col->type};
        seen->n++;
    }
    return field != NULL && seen->cols[place].name == NULL
               ? alm_tab_text(salvage->cx, seen->tab, alm_str_of(field), &seen->cols[place].name)
               : ALM_OK;
}

static alm_status see_part(alm_salvage *salvage, void *arg, const char *path,
                           const alm_part_place *place, uint64_t id)
{
    seen_columns *seen = arg;
    alm_part *part = NULL;
    (void)id;
    ALM_TRY(open_quietly(salvage, seen->table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const alm_part_footer *footer = alm_part_info(part);
    alm_status status = ALM_OK;
    const bool foreign = footer->database_id != 0 && salvage->st->database_id != 0 &&
                         footer->database_id != salvage->st->database_id;
    for (uint32_t col = 0; col < footer->n_cols && status == ALM_OK && !foreign; col++)
        status = see_column(salvage, seen, part, col);
    if (footer->ts_entry >= 0 && !foreign)
        seen->ts_id = alm_part_col_at(part, (uint32_t)footer->ts_entry)->id;
    alm_part_release(part);
    return status;
}

static alm_status salvage_found_name_columns(alm_salvage *salvage, const seen_columns *seen)
{
    char name[32];
    for (uint32_t i = 0; i < seen->n; i++) {
        (void)snprintf(name, sizeof name, "c%u", seen->cols[i].id);
        for (uint32_t j = 0; j < seen->n; j++) /* a column that has a name may be called so */
            if (seen->cols[j].name != NULL && strcmp(seen->cols[j].name, name) == 0)
                (void)snprintf(name, sizeof name, "c%u_%u", seen->cols[i].id, j);
        if (seen->cols[i].name == NULL)
            ALM_TRY(alm_tab_text(salvage->cx, seen->tab, alm_str_of(name), &seen->cols[i].name));
    }
    return ALM_OK;
}

/* Words of dictionaries whose count nobody says. */
static alm_status learn_dicts(alm_salvage *salvage, const alm_version *version)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(salvage->st, version->table.id, dir, sizeof dir);
    for (uint32_t col = 0; col < version->schema->n_cols; col++) {
        (void)snprintf(path, sizeof path, "%s/%u.dict", dir, version->schema->cols[col].id);
        if (version->schema->symbols[col] != NULL)
            ALM_TRY(alm_symbols_learn_file(salvage->cx, version->schema->symbols[col], salvage->io,
                                           path, 0, 0, false));
    }
    return ALM_OK;
}

static alm_status add_table(alm_salvage *salvage, alm_build *build, const seen_columns *seen)
{
    char name[64];
    alm_version version = {.refs = 1, .tab = seen->tab}, *made = NULL;
    (void)snprintf(name, sizeof name, "table-%" PRIu64, seen->table_id);
    version.table = (alm_table){.id = seen->table_id,
                                .cols = seen->cols,
                                .n_cols = seen->n,
                                .ts_col = -1,
                                .kept_from = INT64_MIN};
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->cols[i].id == seen->ts_id && alm_type_is_timestamp(seen->cols[i].type))
            version.table.ts_col = (int32_t)i;
    version.next_col_id = seen->cols[seen->n - 1].id + 1;
    ALM_TRY(salvage_found_name_columns(salvage, seen));
    ALM_TRY(alm_tab_text(salvage->cx, seen->tab, alm_str_of(name), &version.table.name));
    ALM_TRY(alm_schema_new(salvage->cx, salvage->st, seen->tab, seen->cols, seen->n, NULL, NULL,
                           &version.schema));
    alm_status status = alm_version_bare(salvage->cx, &version, &made);
    alm_schema_release(version.schema);
    if (status == ALM_OK)
        status = learn_dicts(salvage, made);
    if (status == ALM_OK)
        status = alm_build_add(salvage->cx, build, made);
    if (status != ALM_OK)
        alm_version_release(made);
    return status;
}

static alm_status rebuild(alm_salvage *salvage, alm_build *build, uint64_t table_id)
{
    seen_columns seen = {.table_id = table_id};
    ALM_TRY(alm_tab_new(salvage->cx, salvage->st, table_id, &seen.tab));
    alm_status status = parts_of_table(salvage, table_id, true, see_part, &seen);
    if (status == ALM_OK && seen.n > 0)
        status = add_table(salvage, build, &seen);
    free(seen.cols);
    alm_tab_release(seen.tab);
    return status;
}

static void salvage_found_tables_dir(const alm_salvage *salvage, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s/tables", salvage->st->root);
}

alm_status alm_salvage_rebuild(alm_salvage *salvage, alm_build *build, const alm_dict_list *made)
{
    char dir[ALM_PATH_MAX];
    listing tables;
    salvage_found_tables_dir(salvage, dir, sizeof dir);
    alm_status status = salvage_found_list(salvage, dir, true, &tables);
    for (size_t i = 0; i < tables.n && status == ALM_OK; i++)
        if (alm_build_find(build, tables.ids[i]) == NULL &&
            !alm_dict_list_has(made, (alm_dict_id){tables.ids[i], 0}))
            status = rebuild(salvage, build, tables.ids[i]);
    free(tables.ids);
    return status;
}

/* ------------------------------------------------------------------ which database */

typedef struct votes {
    uint64_t table_id, id;
    int64_t n; /* for it, less those for others */
} votes;

static alm_status vote(alm_salvage *salvage, void *arg, const char *path,
                       const alm_part_place *place, uint64_t id)
{
    votes *self = arg;
    alm_part *part = NULL;
    (void)id;
    ALM_TRY(open_quietly(salvage, self->table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const uint64_t of = alm_part_info(part)->database_id;
    if (of != 0 && self->n == 0)
        self->id = of;
    if (of != 0)
        self->n += of == self->id ? 1 : -1;
    alm_part_release(part);
    return ALM_OK;
}

alm_status alm_salvage_database_id(alm_salvage *salvage, uint64_t *id)
{
    char dir[ALM_PATH_MAX];
    listing tables;
    votes self = {0};
    salvage_found_tables_dir(salvage, dir, sizeof dir);
    alm_status status = salvage_found_list(salvage, dir, true, &tables);
    for (size_t i = 0; i < tables.n && status == ALM_OK; i++) {
        self.table_id = tables.ids[i];
        status = parts_of_table(salvage, self.table_id, true, vote, &self);
    }
    free(tables.ids);
    *id = self.n > 0 ? self.id : 0;
    return status;
}

/* ------------------------------------------------------------ files without a name */

static alm_status save(alm_salvage *salvage, void *arg, const char *path,
                       const alm_part_place *place, uint64_t id)
{
    return alm_salvage_found_part(
        salvage, arg, path, place, id,
        "nothing names the file: it may be a part that was replaced, or new values for one");
}

alm_status alm_salvage_found(alm_salvage *salvage)
{
    for (size_t i = 0; i < salvage->st->current->n && salvage->gaps; i++) {
        alm_version *version = alm_catver_at(salvage->st->current, i);
        ALM_TRY(parts_of_table(salvage, version->table.id, false, save, version));
    }
    return ALM_OK;
}

/* Table of a native part, as its header says; else the one whose directory it is in. */
static uint64_t salvage_found_table_of(alm_salvage *salvage, const char *path,
                                       const alm_part_place *place, uint64_t otherwise)
{
    char bytes[sizeof(alm_part_header)];
    alm_part_header head;
    const int handle = salvage->io->open(salvage->io, path, ALM_IO_READ);
    if (handle < 0)
        return otherwise;
    const int64_t got = salvage->io->read(salvage->io, handle, bytes, sizeof bytes,
                                          place != NULL ? place->offset : 0);
    (void)salvage->io->close(salvage->io, handle); /* read-only */
    if (got != (int64_t)sizeof bytes || !salvage_found_is_header(bytes))
        return otherwise;
    memcpy(&head, bytes, sizeof head);
    return head.table_id;
}

alm_status alm_salvage_misplaced(alm_salvage *salvage, const alm_version *version, const char *path,
                                 const alm_part_place *place, uint64_t id)
{
    alm_part *part = NULL;
    const uint64_t table_id = salvage_found_table_of(salvage, path, place, version->table.id);
    const int64_t pos = alm_catver_by_id(salvage->st->current, table_id);
    if (pos < 0)
        return ALM_OK;
    ALM_TRY(open_quietly(salvage, table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const uint64_t of = alm_part_info(part)->database_id;
    alm_part_release(part);
    if (of != 0 && of != salvage->st->database_id)
        return ALM_OK; /* its numbers are those of other tables */
    return alm_salvage_found_part(salvage, alm_catver_at(salvage->st->current, (size_t)pos), path,
                                  place, id, "the file stands in the place of another part");
}
