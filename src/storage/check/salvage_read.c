/*
 * salvage_read.c - the state of a directory that a start refuses: the catalogue, if it is sound, and every whole record of the log
 * behind it. Recovery (recover/recover.c) ends where the chain of records ends, and is an error if more must have been there; here what is
 * damaged is passed over, and a record that cannot be applied any more is left out whole or in part.
 *
 * Without a catalogue the tables are those that the log makes, and those that part files speak of (salvage_found.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/check/salvage.h"
#include "storage/log/payload.h"
#include "storage/recover/generation.h"
#include "storage/recover/recover.h"
#include "storage/recover/redo.h"
#include "storage/version/change.h"

typedef struct reading {
    alm_salvage *s;
    alm_build build;
    alm_flush_marks marks;
    alm_redo_rows rows;
    alm_dict_list made; /* tables that the log creates; column 0 */
    alm_catalog_file catalog;
    alm_wal_gaps gaps;
    uint64_t left_out; /* records that cannot be applied */
    alm_error first;   /* why the first of them cannot */
} reading;

/* ----------------------------------------------------------------------- records */

static alm_status first_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                             size_t bytes)
{
    reading *r = arg;
    alm_reader ops = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    (void)lsn;
    while (alm_get_op(&ops, &kind, &body))
        if (kind == ALM_OP_CREATE)
            ALM_TRY(alm_dict_list_add(cx, &r->made, (alm_dict_id){alm_get_u64(&body), 0}));
    const alm_status st = alm_redo_marks(cx, &r->marks, payload, bytes);
    if (st == ALM_E_CORRUPT)
        alm_error_clear(cx); /* the second pass says so */
    return st == ALM_E_CORRUPT ? ALM_OK : st;
}

static alm_status second_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                              size_t bytes)
{
    reading *r = arg;
    ALM_TRY(alm_check(cx));
    r->build.lsn = lsn;
    const alm_status st = alm_redo(cx, &r->build, &r->marks, &r->rows, payload, bytes);
    r->build.next->lsn = lsn;
    if (st == ALM_OK || st == ALM_E_MEMORY || st == ALM_E_CANCEL)
        return st;
    if (r->left_out++ == 0)
        r->first = cx->err;
    alm_error_clear(cx);
    return ALM_OK;
}

/* ------------------------------------------------------------------ whose files */

/* The id of the first segment that has one, 0: none does. */
static uint64_t id_of_log(alm_salvage *s)
{
    alm_wal *wal = &s->st->wal;
    const size_t n = wal->n_segments;
    uint64_t id = 0;
    for (wal->n_segments = 1; wal->n_segments <= n && id == 0; wal->n_segments++)
        if (alm_wal_identify(s->cx, wal, "the catalogue", &id) != ALM_OK)
            alm_error_clear(s->cx);
    wal->n_segments = n;
    return id;
}

static alm_status lose_catalog(reading *r, const char *why)
{
    alm_catalog_unmap(r->s->st, &r->catalog);
    return alm_salvage_note(r->s, NULL, "catalog", ALM_SAVED_LOST, why);
}

/* Parts say of which database the directory is; files of others do not count. */
static alm_status identify(reading *r)
{
    alm_storage *st = r->s->st;
    uint64_t id = 0;
    char why[256];
    const uint64_t of_catalog = r->catalog.database_id;
    ALM_TRY(alm_salvage_database_id(r->s, &id));
    if (id != 0 && of_catalog != 0 && of_catalog != id) {
        (void)snprintf(why, sizeof why,
                       "it is of another database: it has database id %016" PRIx64
                       ", parts have %016" PRIx64,
                       of_catalog, id);
        ALM_TRY(lose_catalog(r, why));
    } else if (of_catalog != 0) {
        id = of_catalog;
    }
    st->database_id = id != 0 ? id : id_of_log(r->s);
    st->wal.database_id = st->database_id;
    return ALM_OK;
}

static alm_status damaged_catalog(reading *r, alm_status st)
{
    if (!alm_is_damage(st))
        return st;
    const alm_error why = r->s->cx->err;
    alm_error_clear(r->s->cx);
    return lose_catalog(r, why.msg);
}

static alm_status read_catalog(reading *r)
{
    alm_status e = alm_catalog_read(r->s->cx, r->s->st, ALM_CATALOG, &r->catalog);
    if (e == ALM_OK && r->catalog.bytes > 0)
        return ALM_OK;
    ALM_TRY(e == ALM_OK ? lose_catalog(r, "there is none") : damaged_catalog(r, e));
    if (!alm_generation_is_there(r->s->st))
        return ALM_OK;
    e = alm_catalog_read(r->s->cx, r->s->st, ALM_CATALOG_PREVIOUS, &r->catalog);
    return e == ALM_OK ? ALM_OK : damaged_catalog(r, e);
}

static alm_status begin(reading *r)
{
    ALM_TRY(alm_build_begin(r->s->cx, r->s->st, &r->build));
    r->build.redo = r->build.gaps = true;
    return ALM_OK;
}

/* Before version 12 no checksum covers the version: what was read as another one may be no catalogue. */
static alm_status load_catalog(reading *r)
{
    const alm_status e = alm_catalog_load(r->s->cx, &r->build, &r->catalog, &r->marks);
    if (e == ALM_OK || !alm_is_damage(e))
        return e;
    alm_build_abandon(&r->build);
    r->build = (alm_build){0};
    ALM_TRY(damaged_catalog(r, e));
    return begin(r);
}

/* ------------------------------------------------------------------------ report */

static alm_status tell_log(const reading *r, const char *why)
{
    char line[2 * sizeof r->first.msg];
    size_t n = 0;
    const bool all = r->gaps.n == 0 && r->gaps.unread == 0 && r->left_out == 0;
    if (why[0] != 0)
        n += (size_t)snprintf(line, sizeof line, "%s; ", why);
    n += (size_t)snprintf(line + n, sizeof line - n,
                          "whole records were read up to lsn %" PRIu64
                          "; %u stretches of the log are missing",
                          r->gaps.last_lsn, r->gaps.n);
    if (r->gaps.n > 0 && n < sizeof line)
        n += (size_t)snprintf(line + n, sizeof line - n,
                              ", the first between lsn %" PRIu64 " and %" PRIu64, r->gaps.from,
                              r->gaps.to);
    if (r->gaps.unread > 0 && n < sizeof line)
        n += (size_t)snprintf(line + n, sizeof line - n, "; %u segments cannot be read",
                              r->gaps.unread);
    if (r->left_out > 0 && n < sizeof line)
        (void)snprintf(line + n, sizeof line - n,
                       "; %" PRIu64 " records cannot be applied, the first because: %s",
                       r->left_out, r->first.msg);
    return alm_salvage_note(r->s, NULL, "wal", all ? ALM_SAVED : ALM_SAVED_PARTIAL, line);
}

/* ----------------------------------------------------------------------- reading */

static alm_status apply(reading *r)
{
    alm_ctx *cx = r->s->cx;
    alm_wal *wal = &r->s->st->wal;
    ALM_TRY(alm_wal_read_whole(cx, wal, r->catalog.lsn, first_pass, r, &r->gaps));
    alm_dict_list_sort(&r->made);
    ALM_TRY(load_catalog(r));
    ALM_TRY(alm_salvage_rebuild(r->s, &r->build, &r->made));
    ALM_TRY(alm_wal_read_whole(cx, wal, r->catalog.lsn, second_pass, r, &r->gaps));
    ALM_TRY(alm_redo_rows_settle_all(cx, &r->build, &r->rows));
    return alm_build_show_symbols(cx, &r->build);
}

static alm_status read_all(reading *r)
{
    alm_storage *st = r->s->st;
    ALM_TRY(read_catalog(r));
    ALM_TRY(alm_wal_list(r->s->cx, &st->wal));
    ALM_TRY(identify(r));
    ALM_TRY(begin(r));
    const alm_status e = apply(r);
    if (e == ALM_OK)
        alm_build_publish(&r->build);
    else if (r->build.next != NULL)
        alm_build_abandon(&r->build);
    return e;
}

alm_status alm_salvage_read(alm_salvage *s, const char *why)
{
    reading r = {.s = s};
    alm_status e = read_all(&r);
    if (e == ALM_OK)
        e = tell_log(&r, why);
    alm_redo_rows_free(&r.rows);
    alm_flush_marks_free(&r.marks);
    alm_dict_list_free(&r.made);
    alm_catalog_unmap(s->st, &r.catalog);
    return e;
}
