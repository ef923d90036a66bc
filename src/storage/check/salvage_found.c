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

static int list_one(void *arg, const char *name)
{
    listing *l = arg;
    char *end = NULL;
    uint64_t id = 0;
    if (l->tables) {
        id = strtoull(name, &end, 10);
        if (end == name || *end != 0)
            return 0;
    } else if (!alm_file_id_of_name(name, &id)) {
        return 0;
    }
    if (l->n == l->cap) {
        const size_t cap = ALM_MAX((size_t)64, l->cap * 2);
        uint64_t *bigger = realloc(l->ids, cap * sizeof *bigger);
        if (bigger == NULL) {
            l->st = alm_fail(l->s->cx, ALM_E_MEMORY, -1, "no memory for a list of files");
            return 1;
        }
        l->ids = bigger;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Numbers of the tables that have directories, or of the part files of one, ascending. A directory that cannot be read has none. */
static alm_status list(alm_salvage *s, const char *dir, bool tables, listing *out)
{
    *out = (listing){.s = s, .tables = tables};
    (void)s->io->list(s->io, dir, list_one, out);
    if (out->st == ALM_OK && out->n > 0)
        qsort(out->ids, out->n, sizeof *out->ids, by_number);
    return out->st;
}

/* ------------------------------------------------------------------------- packs */

static bool is_header(const char *at)
{
    alm_part_header head;
    memcpy(&head, at, sizeof head);
    return memcmp(head.magic, ALM_PART_MAGIC, sizeof head.magic) == 0 &&
           head.crc == alm_crc32c(0, &head, offsetof(alm_part_header, crc));
}

/* Bytes of the part that begins at `at`, 0: it has no sound end. */
static int64_t part_bytes(const char *at, int64_t left)
{
    alm_part_trailer tail;
    for (int64_t end = ALM_PART_HEADER; end + ALM_PART_TRAILER <= left; end += ALM_PART_ALIGN) {
        memcpy(&tail, at + end, sizeof tail);
        if (memcmp(tail.magic, ALM_PART_END_MAGIC, sizeof tail.magic) == 0 &&
            tail.footer_off < (uint64_t)end &&
            tail.footer_bytes == (uint64_t)end - tail.footer_off &&
            tail.crc == alm_crc32c(0, at + tail.footer_off, tail.footer_bytes))
            return end + ALM_PART_TRAILER;
    }
    return 0;
}

static alm_status parts_of_map(alm_salvage *s, const char *path, uint64_t id, const char *map,
                               int64_t size, each_part each, void *arg)
{
    for (int64_t at = 0; at + ALM_PART_HEADER <= size;) {
        alm_part_place place = {.offset = at};
        if (is_header(map + at))
            place.bytes = part_bytes(map + at, size - at);
        if (place.bytes > 0)
            ALM_TRY(each(s, arg, path, &place, id));
        at += ALM_MAX(place.bytes, (int64_t)1) + ALM_PART_PACKED - 1;
        at -= at % ALM_PART_PACKED;
    }
    return ALM_OK;
}

static alm_status parts_of_pack(alm_salvage *s, const char *path, uint64_t id, each_part each,
                                void *arg)
{
    alm_io_stat meta;
    const void *map = NULL;
    if (s->io->stat(s->io, path, &meta) < 0 || meta.size_bytes <= 0)
        return ALM_OK;
    const int h = s->io->open(s->io, path, ALM_IO_READ);
    if (h < 0)
        return ALM_OK;
    const int e = s->io->map(s->io, h, (size_t)meta.size_bytes, &map);
    (void)s->io->close(s->io, h); /* read-only */
    if (e < 0)
        return ALM_OK;
    alm_status st = ALM_OK;
    if (s->io->prefetch(s->io, map, (size_t)meta.size_bytes) >= 0)
        st = parts_of_map(s, path, id, map, meta.size_bytes, each, arg);
    (void)s->io->unmap(s->io, map, (size_t)meta.size_bytes);
    return st;
}

/* Calls for each part of a table; `named` false: of the files that nothing names alone. */
static alm_status parts_of_table(alm_salvage *s, uint64_t table_id, bool named, each_part each,
                                 void *arg)
{
    char dir[ALM_PATH_MAX - 64], name[ALM_NAME_MAX], path[ALM_PATH_MAX];
    listing files;
    alm_storage_table_dir(s->st, table_id, dir, sizeof dir);
    alm_status st = list(s, dir, false, &files);
    for (size_t i = 0; i < files.n && st == ALM_OK; i++) {
        if (!named && alm_file_is_registered(s->st, files.ids[i]))
            continue;
        alm_file_id_name(files.ids[i], name, sizeof name);
        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        st = (files.ids[i] & ALM_FILE_PACK) != 0 ? parts_of_pack(s, path, files.ids[i], each, arg)
                                                 : each(s, arg, path, NULL, files.ids[i]);
    }
    free(files.ids);
    return st;
}

/* ------------------------------------------------------- tables by what files say */

/* Damage says nothing. *out NULL: it cannot be opened. */
static alm_status open_quietly(alm_salvage *s, uint64_t table_id, const char *path,
                               const alm_part_place *place, alm_part **out)
{
    *out = NULL;
    const alm_status st = alm_part_open(s->cx, s->io, path, place, table_id, NULL, out);
    if (!alm_is_damage(st))
        return st;
    alm_error_clear(s->cx);
    return ALM_OK;
}

typedef struct seen_columns {
    uint64_t table_id;
    alm_tab *tab;
    alm_column *cols; /* ascending ids */
    uint32_t n, cap;
    uint32_t ts_id; /* 0: none was seen */
} seen_columns;

static alm_status see_column(alm_salvage *s, seen_columns *seen, const alm_part *part,
                             uint32_t entry)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    const char *field = alm_part_field(part, entry);
    uint32_t at = 0;
    while (at < seen->n && seen->cols[at].id < col->id)
        at++;
    if (at == seen->n || seen->cols[at].id != col->id) {
        if (seen->n == seen->cap) {
            const uint32_t cap = ALM_MAX(16u, seen->cap * 2);
            alm_column *bigger = realloc(seen->cols, cap * sizeof *bigger);
            if (bigger == NULL)
                return alm_fail(s->cx, ALM_E_MEMORY, -1, "no memory for columns");
            seen->cols = bigger;
            seen->cap = cap;
        }
        memmove(seen->cols + at + 1, seen->cols + at, (seen->n - at) * sizeof *seen->cols);
        seen->cols[at] = (alm_column){.id = col->id, .type = col->type};
        seen->n++;
    }
    return field != NULL && seen->cols[at].name == NULL
               ? alm_tab_text(s->cx, seen->tab, alm_str_of(field), &seen->cols[at].name)
               : ALM_OK;
}

static alm_status see_part(alm_salvage *s, void *arg, const char *path, const alm_part_place *place,
                           uint64_t id)
{
    seen_columns *seen = arg;
    alm_part *part = NULL;
    (void)id;
    ALM_TRY(open_quietly(s, seen->table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const alm_part_footer *f = alm_part_info(part);
    alm_status st = ALM_OK;
    const bool foreign =
        f->database_id != 0 && s->st->database_id != 0 && f->database_id != s->st->database_id;
    for (uint32_t e = 0; e < f->n_cols && st == ALM_OK && !foreign; e++)
        st = see_column(s, seen, part, e);
    if (f->ts_entry >= 0 && !foreign)
        seen->ts_id = alm_part_col_at(part, (uint32_t)f->ts_entry)->id;
    alm_part_release(part);
    return st;
}

static alm_status name_columns(alm_salvage *s, const seen_columns *seen)
{
    char name[32];
    for (uint32_t i = 0; i < seen->n; i++) {
        (void)snprintf(name, sizeof name, "c%u", seen->cols[i].id);
        for (uint32_t j = 0; j < seen->n; j++) /* a column that has a name may be called so */
            if (seen->cols[j].name != NULL && strcmp(seen->cols[j].name, name) == 0)
                (void)snprintf(name, sizeof name, "c%u_%u", seen->cols[i].id, j);
        if (seen->cols[i].name == NULL)
            ALM_TRY(alm_tab_text(s->cx, seen->tab, alm_str_of(name), &seen->cols[i].name));
    }
    return ALM_OK;
}

/* Words of dictionaries whose count nobody says. */
static alm_status learn_dicts(alm_salvage *s, const alm_version *v)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(s->st, v->table.id, dir, sizeof dir);
    for (uint32_t c = 0; c < v->schema->n_cols; c++) {
        (void)snprintf(path, sizeof path, "%s/%u.dict", dir, v->schema->cols[c].id);
        if (v->schema->symbols[c] != NULL)
            ALM_TRY(alm_symbols_learn_file(s->cx, v->schema->symbols[c], s->io, path, 0, 0, false));
    }
    return ALM_OK;
}

static alm_status add_table(alm_salvage *s, alm_build *b, const seen_columns *seen)
{
    char name[64];
    alm_version v = {.refs = 1, .tab = seen->tab}, *made = NULL;
    (void)snprintf(name, sizeof name, "table-%" PRIu64, seen->table_id);
    v.table = (alm_table){.id = seen->table_id,
                          .cols = seen->cols,
                          .n_cols = seen->n,
                          .ts_col = -1,
                          .kept_from = INT64_MIN};
    for (uint32_t i = 0; i < seen->n; i++)
        if (seen->cols[i].id == seen->ts_id && alm_type_is_timestamp(seen->cols[i].type))
            v.table.ts_col = (int32_t)i;
    v.next_col_id = seen->cols[seen->n - 1].id + 1;
    ALM_TRY(name_columns(s, seen));
    ALM_TRY(alm_tab_text(s->cx, seen->tab, alm_str_of(name), &v.table.name));
    ALM_TRY(alm_schema_new(s->cx, s->st, seen->tab, seen->cols, seen->n, NULL, NULL, &v.schema));
    alm_status st = alm_version_bare(s->cx, &v, &made);
    alm_schema_release(v.schema);
    if (st == ALM_OK)
        st = learn_dicts(s, made);
    if (st == ALM_OK)
        st = alm_build_add(s->cx, b, made);
    if (st != ALM_OK)
        alm_version_release(made);
    return st;
}

static alm_status rebuild(alm_salvage *s, alm_build *b, uint64_t table_id)
{
    seen_columns seen = {.table_id = table_id};
    ALM_TRY(alm_tab_new(s->cx, s->st, table_id, &seen.tab));
    alm_status st = parts_of_table(s, table_id, true, see_part, &seen);
    if (st == ALM_OK && seen.n > 0)
        st = add_table(s, b, &seen);
    free(seen.cols);
    alm_tab_release(seen.tab);
    return st;
}

static void tables_dir(const alm_salvage *s, char *dir, size_t size)
{
    (void)snprintf(dir, size, "%s/tables", s->st->root);
}

alm_status alm_salvage_rebuild(alm_salvage *s, alm_build *b, const alm_dict_list *made)
{
    char dir[ALM_PATH_MAX];
    listing tables;
    tables_dir(s, dir, sizeof dir);
    alm_status st = list(s, dir, true, &tables);
    for (size_t i = 0; i < tables.n && st == ALM_OK; i++)
        if (alm_build_find(b, tables.ids[i]) == NULL &&
            !alm_dict_list_has(made, (alm_dict_id){tables.ids[i], 0}))
            st = rebuild(s, b, tables.ids[i]);
    free(tables.ids);
    return st;
}

/* ------------------------------------------------------------------ which database */

typedef struct votes {
    uint64_t table_id, id;
    int64_t n; /* for it, less those for others */
} votes;

static alm_status vote(alm_salvage *s, void *arg, const char *path, const alm_part_place *place,
                       uint64_t id)
{
    votes *v = arg;
    alm_part *part = NULL;
    (void)id;
    ALM_TRY(open_quietly(s, v->table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const uint64_t of = alm_part_info(part)->database_id;
    if (of != 0 && v->n == 0)
        v->id = of;
    if (of != 0)
        v->n += of == v->id ? 1 : -1;
    alm_part_release(part);
    return ALM_OK;
}

alm_status alm_salvage_database_id(alm_salvage *s, uint64_t *id)
{
    char dir[ALM_PATH_MAX];
    listing tables;
    votes v = {0};
    tables_dir(s, dir, sizeof dir);
    alm_status st = list(s, dir, true, &tables);
    for (size_t i = 0; i < tables.n && st == ALM_OK; i++) {
        v.table_id = tables.ids[i];
        st = parts_of_table(s, v.table_id, true, vote, &v);
    }
    free(tables.ids);
    *id = v.n > 0 ? v.id : 0;
    return st;
}

/* ------------------------------------------------------------ files without a name */

static alm_status save(alm_salvage *s, void *arg, const char *path, const alm_part_place *place,
                       uint64_t id)
{
    return alm_salvage_found_part(
        s, arg, path, place, id,
        "nothing names the file: it may be a part that was replaced, or new values for one");
}

alm_status alm_salvage_found(alm_salvage *s)
{
    for (size_t i = 0; i < s->st->current->n && s->gaps; i++) {
        alm_version *v = alm_catver_at(s->st->current, i);
        ALM_TRY(parts_of_table(s, v->table.id, false, save, v));
    }
    return ALM_OK;
}

/* Table of a native part, as its header says; else the one whose directory it is in. */
static uint64_t table_of(alm_salvage *s, const char *path, const alm_part_place *place,
                         uint64_t otherwise)
{
    char bytes[sizeof(alm_part_header)];
    alm_part_header head;
    const int h = s->io->open(s->io, path, ALM_IO_READ);
    if (h < 0)
        return otherwise;
    const int64_t n = s->io->read(s->io, h, bytes, sizeof bytes, place != NULL ? place->offset : 0);
    (void)s->io->close(s->io, h); /* read-only */
    if (n != (int64_t)sizeof bytes || !is_header(bytes))
        return otherwise;
    memcpy(&head, bytes, sizeof head);
    return head.table_id;
}

alm_status alm_salvage_misplaced(alm_salvage *s, const alm_version *v, const char *path,
                                 const alm_part_place *place, uint64_t id)
{
    alm_part *part = NULL;
    const uint64_t table_id = table_of(s, path, place, v->table.id);
    const int64_t pos = alm_catver_by_id(s->st->current, table_id);
    if (pos < 0)
        return ALM_OK;
    ALM_TRY(open_quietly(s, table_id, path, place, &part));
    if (part == NULL)
        return ALM_OK;
    const uint64_t of = alm_part_info(part)->database_id;
    alm_part_release(part);
    if (of != 0 && of != s->st->database_id)
        return ALM_OK; /* its numbers are those of other tables */
    return alm_salvage_found_part(s, alm_catver_at(s->st->current, (size_t)pos), path, place, id,
                                  "the file stands in the place of another part");
}
