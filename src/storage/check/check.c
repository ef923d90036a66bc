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
static void note(checking *c, const char *what, const char *done, const char *path)
{
    char line[ALM_PATH_MAX + 256];
    (void)snprintf(line, sizeof line, "note: '%s' %s%s", path, what, c->repair ? done : "");
    alm_findings_note(&c->found, line);
}

static uint32_t dict_count(void *arg, uint32_t col_id)
{
    const checking *c = arg;
    const int32_t at = alm_schema_find(c->v->schema, col_id);
    return at < 0 || c->v->schema->symbols[at] == NULL ? 0 : c->v->schema->dicts[at].count;
}

/* Findings end up in the report, not in the context; only cancel and memory stop the check. */
static alm_status part_file(checking *c, const alm_part_ref *part, const alm_file *file)
{
    char path[ALM_PATH_MAX], line[ALM_PATH_MAX + 256];
    alm_io_stat meta;
    alm_part_claim claim;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    ALM_TRY(alm_check(c->cx));
    const int e = c->st->io->stat(c->st->io, path, &meta);
    if (e < 0 || !alm_place_fits(&place, shared, meta.size_bytes)) {
        (void)snprintf(line, sizeof line,
                       "table '%s': '%s' is missing or has not the %lld bytes of the catalogue",
                       c->v->table.name, path, (long long)file->bytes);
        alm_findings_add(c, line);
        return ALM_OK;
    }
    alm_part_check_arg arg = {.report = alm_findings_add, .arg = c, .dict_count = dict_count};
    const alm_status s =
        alm_part_check(c->cx, c->st->io, path, shared ? &place : NULL, &claim, &arg);
    if (s == ALM_E_CORRUPT || s == ALM_E_UNSUPPORTED || s == ALM_E_IO) {
        (void)snprintf(line, sizeof line, "table '%s': %s", c->v->table.name, c->cx->err.msg);
        alm_findings_add(c, line);
        alm_error_clear(c->cx);
        return ALM_OK;
    }
    (void)part;
    return s;
}

/* Times of a lane must ascend, symbols be in their dictionaries. */
static void lane(checking *c, const alm_lane *l)
{
    const int32_t ts_col = c->v->table.ts_col;
    char line[256];
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < l->n_chunks; i++) {
        const alm_chunk *chunk = l->chunks[i].chunk;
        for (uint32_t col = 0; col < chunk->n_cols; col++) {
            if (c->v->schema->symbols[col] == NULL)
                continue;
            const uint32_t *codes = chunk->cols[col];
            for (uint32_t row = 0; row < l->chunks[i].rows; row++) {
                if (codes[row] < c->v->schema->dicts[col].count)
                    continue;
                (void)snprintf(line, sizeof line,
                               "table '%.64s', column '%.64s': code %u is not in the dictionary",
                               c->v->table.name, c->v->table.cols[col].name, codes[row]);
                alm_findings_add(c, line);
                break;
            }
        }
        if (ts_col < 0)
            continue;
        const int64_t *ts = chunk->cols[ts_col];
        for (uint32_t row = 0; row < l->chunks[i].rows; row++) {
            if (ts[row] < last) {
                (void)snprintf(line, sizeof line, "table '%.64s': new rows are not in order",
                               c->v->table.name);
                alm_findings_add(c, line);
                return;
            }
            last = ts[row];
        }
    }
}

static alm_status parts(checking *c, const alm_part_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_part_ref *part = set->parts[i];
        ALM_TRY(part_file(c, part, part->file));
        for (uint32_t j = 0; j < part->n_overlays; j++)
            ALM_TRY(part_file(c, part, part->overlays[j].file));
    }
    return ALM_OK;
}

static void closed(checking *c)
{
    alm_error_clear(c->cx);
    if (alm_table_is_open(c->cx, &c->v->table, -1) == ALM_OK)
        return;
    alm_findings_add(c, c->cx->err.msg);
    alm_error_clear(c->cx);
}

static alm_status table(checking *c)
{
    closed(c);
    for (uint32_t i = 0; i < c->v->n_lanes; i++)
        lane(c, &c->v->lanes[i]);
    ALM_TRY(parts(c, c->v->parts));
    return c->v->detached != NULL ? parts(c, c->v->detached) : ALM_OK;
}

/* ------------------------------------------------------------------ what is left over */

static bool is_named_file(const checking *c, const char *name)
{
    char *end = NULL;
    uint64_t file_id = 0;
    const size_t n = strlen(name);
    if (alm_file_id_of_name(name, &file_id))
        return alm_file_is_registered(c->st, file_id);
    if (n <= 5 || strcmp(name + n - 5, ".dict") != 0)
        return true; /* not ours */
    const int64_t pos = alm_catver_by_id(c->st->current, c->table_id);
    const uint32_t id = (uint32_t)strtoul(name, &end, 10);
    if (alm_catalog_names_dict(c->st, c->table_id, id))
        return true;
    return pos >= 0 && alm_schema_find(alm_catver_at(c->st->current, (size_t)pos)->schema, id) >= 0;
}

static int left_over(void *arg, const char *name)
{
    checking *c = arg;
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    if (is_named_file(c, name))
        return 0;
    const bool gone = c->repair && c->st->io->unlink(c->st->io, path) == 0;
    note(c, "is named by nothing", gone ? "; removed" : "; it cannot be removed", path);
    return 0;
}

static int left_over_table(void *arg, const char *name)
{
    checking *c = arg;
    char *end = NULL;
    c->table_id = strtoull(name, &end, 10);
    if (*end != 0)
        return 0;
    alm_storage_table_dir(c->st, c->table_id, c->dir, sizeof c->dir);
    (void)c->st->io->list(c->st->io, c->dir, left_over, c);
    return 0;
}

/* Files of a copy, or of a checkpoint that is held, may be more than what is named. */
static void left_overs(checking *c)
{
    char dir[ALM_PATH_MAX];
    if (c->st->hold.marked)
        return;
    (void)snprintf(dir, sizeof dir, "%s/tables", c->st->root);
    (void)c->st->io->list(c->st->io, dir, left_over_table, c);
}

/* A record that was begun behind the last one: it was never acknowledged, unless it is damaged. */
static alm_status torn_end(checking *c, const alm_wal_scan *scan)
{
    char line[ALM_PATH_MAX + 256];
    alm_wal *wal = &c->st->wal;
    bool torn = false;
    if (c->st->hold.marked && c->st->hold.copy)
        return ALM_OK;
    ALM_TRY(alm_wal_is_torn(c->cx, wal, scan, &torn));
    if (!torn)
        return ALM_OK;
    if (c->repair)
        ALM_TRY(alm_wal_cut(c->cx, wal, scan));
    (void)snprintf(line, sizeof line,
                   "%sthe log ends within a record: segment '%s/%016llx.wal', offset %lld%s",
                   c->repair ? "note: " : "", wal->dir,
                   (unsigned long long)wal->segments[scan->segment].number, (long long)scan->at,
                   c->repair ? "; cut there" : "; the next start, or --repair, cuts it there");
    if (!c->repair)
        c->found.n++;
    alm_findings_note(&c->found, line);
    return ALM_OK;
}

static bool is_there(const alm_storage *st, const char *name)
{
    char path[ALM_PATH_MAX];
    alm_io_stat meta;
    (void)snprintf(path, sizeof path, "%s/%s", st->root, name);
    return st->io->stat(st->io, path, &meta) >= 0;
}

/* Held while checking: no server may write meanwhile. */
static alm_status own(alm_ctx *cx, alm_storage *st)
{
    if (!is_there(st, "lock") && !is_there(st, "catalog") && !is_there(st, "wal"))
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not a data directory", st->root);
    return alm_owner_take(cx, st->io, st->root, false, &st->owner);
}

static alm_status check_all(checking *c, const alm_io *io, const char *root, int64_t *n_findings)
{
    alm_ctx *cx = c->cx;
    alm_storage *st = NULL;
    alm_wal_scan scan = {0};
    ALM_TRY(alm_storage_new(cx, io, root, NULL, &st));
    c->st = st;
    alm_status e = own(cx, st);
    bool read = false;
    if (e == ALM_OK) {
        e = alm_storage_recover(cx, st, &scan);
        read = e == ALM_OK;
        if (e == ALM_E_CORRUPT || e == ALM_E_UNSUPPORTED || e == ALM_E_IO) {
            alm_findings_add(c, cx->err.msg); /* nothing behind it can be judged */
            alm_error_clear(cx);
            e = ALM_OK;
        }
    }
    st->closing = true; /* nothing that goes may go from the disk */
    if (read && st->generation.why.code != ALM_OK)
        alm_findings_add(c, st->generation.why.msg);
    if (read && scan.passed.segment != 0) {
        char line[ALM_PATH_MAX + 256];
        alm_wal_passed_text(&st->wal, &scan, line, sizeof line);
        alm_findings_add(c, line);
    }
    if (e == ALM_OK && read)
        e = torn_end(c, &scan);
    for (size_t i = 0; i < st->current->n && e == ALM_OK; i++) {
        c->v = alm_catver_at(st->current, i);
        e = table(c);
    }
    if (e == ALM_OK && read)
        left_overs(c);
    alm_storage_free(st);
    if (e == ALM_OK)
        *n_findings = c->found.n;
    return e;
}

alm_status alm_storage_check(alm_ctx *cx, const alm_io *io, const char *root,
                             void (*report)(void *arg, const char *line), void *arg,
                             int64_t *n_findings)
{
    checking c = {.cx = cx, .found = {report, arg, 0}};
    return check_all(&c, io, root, n_findings);
}

alm_status alm_storage_repair(alm_ctx *cx, const alm_io *io, const char *root,
                              void (*report)(void *arg, const char *line), void *arg,
                              int64_t *n_findings)
{
    checking c = {.cx = cx, .found = {report, arg, 0}, .repair = true};
    return check_all(&c, io, root, n_findings);
}
