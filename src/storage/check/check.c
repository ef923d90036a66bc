/*
 * check.c - offline verification: catalogue and log as recovery reads them, every dictionary, every
 * part; what a crash left behind. Changes nothing unless it shall repair.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/findings.h"
#include "storage/part/pack.h"
#include "storage/recover/recover.h"
#include "storage/version/change.h"

typedef struct checking {
    alm_findings found; /* first: its address is that of the whole */
    alm_ctx *cx;
    alm_storage *st;
    const alm_version *v;
    bool repair;
    char dir[ALM_PATH_MAX - 128]; /* that is listed */
    uint64_t table_id;            /* whose directory it is */
} checking;

/* What a crash leaves, and any start removes: told, not counted. */
static void storage_check_note(checking *self, const char *what, const char *done, const char *path)
{
    char line[ALM_PATH_MAX + 256];
    (void)snprintf(line, sizeof line, "note: '%s' %s%s", path, what, self->repair ? done : "");
    alm_findings_note(&self->found, line);
}

static uint32_t dict_count(void *arg, uint32_t col_id)
{
    const checking *self = arg;
    const int32_t place = alm_schema_find(self->v->schema, col_id);
    return place < 0 || self->v->schema->symbols[place] == NULL
               ? 0
               : self->v->schema->dicts[place].count;
}

/* Findings end up in the report, not in the context; only cancel and memory stop the check. */
static alm_status part_file(checking *self, const alm_part_ref *part, const alm_file *file)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    alm_io_stat meta;
    alm_part_claim claim;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    ALM_TRY(alm_check(self->cx));
    const int code = self->st->io->stat(self->st->io, path, &meta);
    if (code < 0 || !alm_place_fits(&place, shared, meta.size_bytes)) {
        (void)snprintf(line, sizeof line,
                       "table '%s': '%s' is missing or has not the %lld bytes of the catalogue",
                       self->v->table.name, path, (long long)file->bytes);
        alm_findings_add(self, line);
        return ALM_OK;
    }
    alm_part_check_arg arg = {.report = alm_findings_add, .arg = self, .dict_count = dict_count};
    const alm_status status =
        alm_part_check(self->cx, self->st->io, path, shared ? &place : NULL, &claim, &arg);
    if (status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED || status == ALM_E_IO) {
        (void)snprintf(line, sizeof line, "table '%s': %s", self->v->table.name, self->cx->err.msg);
        alm_findings_add(self, line);
        alm_error_clear(self->cx);
        return ALM_OK;
    }
    (void)part;
    return status;
}

/* Times of a lane must ascend, symbols be in their dictionaries. */
static void lane(checking *self, const alm_lane *l)
{
    const int32_t ts_col = self->v->table.ts_col;
    char line[256];
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < l->n_chunks; i++) {
        const alm_chunk *chunk = l->chunks[i].chunk;
        for (uint32_t col = 0; col < chunk->n_cols; col++) {
            if (self->v->schema->symbols[col] == NULL)
                continue;
            const uint32_t *codes = chunk->cols[col];
            for (uint32_t row = 0; row < l->chunks[i].rows; row++) {
                if (codes[row] < self->v->schema->dicts[col].count)
                    continue;
                (void)snprintf(line, sizeof line,
                               "table '%.64s', column '%.64s': code %u is not in the dictionary",
                               self->v->table.name, self->v->table.cols[col].name, codes[row]);
                alm_findings_add(self, line);
                break;
            }
        }
        if (ts_col < 0)
            continue;
        const int64_t *ts = chunk->cols[ts_col];
        for (uint32_t row = 0; row < l->chunks[i].rows; row++) {
            if (ts[row] < last) {
                (void)snprintf(line, sizeof line, "table '%.64s': new rows are not in order",
                               self->v->table.name);
                alm_findings_add(self, line);
                return;
            }
            last = ts[row];
        }
    }
}

static alm_status storage_check_parts(checking *self, const alm_part_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_part_ref *part = set->parts[i];
        ALM_TRY(part_file(self, part, part->file));
        for (uint32_t j = 0; j < part->n_overlays; j++)
            ALM_TRY(part_file(self, part, part->overlays[j].file));
    }
    return ALM_OK;
}

static void closed(checking *self)
{
    alm_error_clear(self->cx);
    if (alm_table_is_open(self->cx, &self->v->table, -1) == ALM_OK)
        return;
    alm_findings_add(self, self->cx->err.msg);
    alm_error_clear(self->cx);
}

static alm_status table(checking *self)
{
    closed(self);
    for (uint32_t i = 0; i < self->v->n_lanes; i++)
        lane(self, &self->v->lanes[i]);
    ALM_TRY(storage_check_parts(self, self->v->parts));
    return self->v->detached != NULL ? storage_check_parts(self, self->v->detached) : ALM_OK;
}

/* ------------------------------------------------------------------ what is left over */

static bool is_named_file(const checking *self, const char *name)
{
    char *end = NULL;
    uint64_t file_id = 0;
    const size_t len = strlen(name);
    if (alm_file_id_of_name(name, &file_id))
        return alm_file_is_registered(self->st, file_id);
    if (len <= 5 || strcmp(name + len - 5, ".dict") != 0)
        return true; /* not ours */
    const int64_t pos = alm_catver_by_id(self->st->current, self->table_id);
    const uint32_t id = (uint32_t)strtoul(name, &end, 10);
    if (alm_catalog_names_dict(self->st, self->table_id, id))
        return true;
    return pos >= 0 &&
           alm_schema_find(alm_catver_at(self->st->current, (size_t)pos)->schema, id) >= 0;
}

static int storage_check_left_over(void *arg, const char *name)
{
    checking *self = arg;
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", self->dir, name);
    if (is_named_file(self, name))
        return 0;
    const bool gone = self->repair && self->st->io->unlink(self->st->io, path) == 0;
    storage_check_note(self, "is named by nothing", gone ? "; removed" : "; it cannot be removed",
                       path);
    return 0;
}

static int left_over_table(void *arg, const char *name)
{
    checking *self = arg;
    char *end = NULL;
    self->table_id = strtoull(name, &end, 10);
    if (*end != 0)
        return 0;
    alm_storage_table_dir(self->st, self->table_id, self->dir, sizeof self->dir);
    (void)self->st->io->list(self->st->io, self->dir, storage_check_left_over, self);
    return 0;
}

/* Files of a copy, or of a checkpoint that is held, may be more than what is named. */
static void storage_check_left_overs(checking *self)
{
    char dir[ALM_PATH_MAX];
    if (self->st->hold.marked)
        return;
    (void)snprintf(dir, sizeof dir, "%s/tables", self->st->root);
    (void)self->st->io->list(self->st->io, dir, left_over_table, self);
}

/* A record that was begun behind the last one: it was never acknowledged, unless it is damaged. */
static alm_status torn_end(checking *self, const alm_wal_scan *scan)
{
    char line[ALM_PATH_MAX + 256];
    alm_wal *wal = &self->st->wal;
    bool torn = false;
    if (self->st->hold.marked && self->st->hold.copy)
        return ALM_OK;
    ALM_TRY(alm_wal_is_torn(self->cx, wal, scan, &torn));
    if (!torn)
        return ALM_OK;
    if (self->repair)
        ALM_TRY(alm_wal_cut(self->cx, wal, scan));
    (void)snprintf(line, sizeof line,
                   "%sthe log ends within a record: segment '%s/%016llx.wal', offset %lld%s",
                   self->repair ? "note: " : "", wal->dir,
                   (unsigned long long)wal->segments[scan->segment].number, (long long)scan->at,
                   self->repair ? "; cut there" : "; the next start, or --repair, cuts it there");
    if (!self->repair)
        self->found.n++;
    alm_findings_note(&self->found, line);
    return ALM_OK;
}

static bool storage_check_is_there(const alm_storage *storage, const char *name)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(path, sizeof path, "%s/%s", storage->root, name);
    return storage->io->stat(storage->io, path, &meta) >= 0;
}

/* Held while checking: no server may write meanwhile. */
static alm_status storage_check_own(alm_ctx *cx, alm_storage *storage)
{
    if (!storage_check_is_there(storage, "lock") && !storage_check_is_there(storage, "catalog") &&
        !storage_check_is_there(storage, "wal"))
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not a data directory", storage->root);
    return alm_owner_take(cx, storage->io, storage->root, false, &storage->owner);
}

static alm_status storage_check_all(checking *self, const alm_io *io, const char *root,
                                    int64_t *n_findings)
{
    alm_ctx *cx = self->cx;
    alm_storage *storage = NULL;
    alm_wal_scan scan = {0};
    ALM_TRY(alm_storage_new(cx, io, root, NULL, &storage));
    self->st = storage;
    alm_status status = storage_check_own(cx, storage);
    bool read = false;
    if (status == ALM_OK) {
        status = alm_storage_recover(cx, storage, &scan);
        read = status == ALM_OK;
        if (status == ALM_E_CORRUPT || status == ALM_E_UNSUPPORTED || status == ALM_E_IO) {
            alm_findings_add(self, cx->err.msg); /* nothing behind it can be judged */
            alm_error_clear(cx);
            status = ALM_OK;
        }
    }
    storage->closing = true; /* nothing that goes may go from the disk */
    if (read && storage->generation.why.code != ALM_OK)
        alm_findings_add(self, storage->generation.why.msg);
    if (read && scan.passed.segment != 0) {
        char line[ALM_PATH_MAX + 256];
        alm_wal_passed_text(&storage->wal, &scan, line, sizeof line);
        alm_findings_add(self, line);
    }
    if (status == ALM_OK && read)
        status = torn_end(self, &scan);
    for (size_t i = 0; i < storage->current->n && status == ALM_OK; i++) {
        self->v = alm_catver_at(storage->current, i);
        status = table(self);
    }
    if (status == ALM_OK && read)
        storage_check_left_overs(self);
    alm_storage_free(storage);
    if (status == ALM_OK)
        *n_findings = self->found.n;
    return status;
}

alm_status alm_storage_check(alm_ctx *cx, const alm_io *io, const char *root,
                             void (*report)(void *arg, const char *line), void *arg,
                             int64_t *n_findings)
{
    checking self = {.cx = cx, .found = {report, arg, 0}};
    return storage_check_all(&self, io, root, n_findings);
}

alm_status alm_storage_repair(alm_ctx *cx, const alm_io *io, const char *root,
                              void (*report)(void *arg, const char *line), void *arg,
                              int64_t *n_findings)
{
    checking self = {.cx = cx, .found = {report, arg, 0}, .repair = true};
    return storage_check_all(&self, io, root, n_findings);
}
