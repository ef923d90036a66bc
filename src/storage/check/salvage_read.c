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

static alm_status salvage_read_first_pass(alm_ctx *cx, void *arg, uint64_t lsn, const char *payload,
                                          size_t bytes)
{
    reading *self = arg;
    alm_reader ops = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    (void)lsn;
    while (alm_get_op(&ops, &kind, &body))
        if (kind == ALM_OP_CREATE)
            ALM_TRY(alm_dict_list_add(cx, &self->made, (alm_dict_id){alm_get_u64(&body), 0}));
    const alm_status status = alm_redo_marks(cx, &self->marks, payload, bytes);
    if (status == ALM_E_CORRUPT)
        alm_error_clear(cx); /* the second pass says so */
    return status == ALM_E_CORRUPT ? ALM_OK : status;
}

static alm_status salvage_read_second_pass(alm_ctx *cx, void *arg, uint64_t lsn,
                                           const char *payload, size_t bytes)
{
    reading *self = arg;
    ALM_TRY(alm_check(cx));
    self->build.lsn = lsn;
    const alm_status status = alm_redo(cx, &self->build, &self->marks, &self->rows, payload, bytes);
    self->build.next->lsn = lsn;
    if (status == ALM_OK || status == ALM_E_MEMORY || status == ALM_E_CANCEL)
        return status;
    if (self->left_out++ == 0)
        self->first = cx->err;
    alm_error_clear(cx);
    return ALM_OK;
}

/* ------------------------------------------------------------------ whose files */

/* The id of the first segment that has one, 0: none does. */
static uint64_t id_of_log(alm_salvage *salvage)
{
    alm_wal *wal = &salvage->st->wal;
    const size_t n_segments = wal->n_segments;
    uint64_t id = 0;
    for (wal->n_segments = 1; wal->n_segments <= n_segments && id == 0; wal->n_segments++)
        if (alm_wal_identify(salvage->cx, wal, "the catalogue", &id) != ALM_OK)
            alm_error_clear(salvage->cx);
    wal->n_segments = n_segments;
    return id;
}

static alm_status lose_catalog(reading *self, const char *why)
{
    alm_catalog_unmap(self->s->st, &self->catalog);
    return alm_salvage_note(self->s, NULL, "catalog", ALM_SAVED_LOST, why);
}

/* Parts say of which database the directory is; files of others do not count. */
static alm_status salvage_read_identify(reading *self)
{
    alm_storage *storage = self->s->st;
    uint64_t id = 0;
    char why[256];
    const uint64_t of_catalog = self->catalog.database_id;
    ALM_TRY(alm_salvage_database_id(self->s, &id));
    if (id != 0 && of_catalog != 0 && of_catalog != id) {
        (void)snprintf(why, sizeof why,
                       "it is of another database: it has database id %016" PRIx64
                       ", parts have %016" PRIx64,
                       of_catalog, id);
        ALM_TRY(lose_catalog(self, why));
    } else if (of_catalog != 0) {
        id = of_catalog;
    }
    storage->database_id = id != 0 ? id : id_of_log(self->s);
    storage->wal.database_id = storage->database_id;
    return ALM_OK;
}

static alm_status damaged_catalog(reading *self, alm_status status)
{
    if (!alm_is_damage(status))
        return status;
    const alm_error why = self->s->cx->err;
    alm_error_clear(self->s->cx);
    return lose_catalog(self, why.msg);
}

static alm_status salvage_read_catalog(reading *self)
{
    alm_status status = alm_catalog_read(self->s->cx, self->s->st, ALM_CATALOG, &self->catalog);
    if (status == ALM_OK && self->catalog.bytes > 0)
        return ALM_OK;
    ALM_TRY(status == ALM_OK ? lose_catalog(self, "there is none") : damaged_catalog(self, status));
    if (!alm_generation_is_there(self->s->st))
        return ALM_OK;
    status = alm_catalog_read(self->s->cx, self->s->st, ALM_CATALOG_PREVIOUS, &self->catalog);
    return status == ALM_OK ? ALM_OK : damaged_catalog(self, status);
}

static alm_status salvage_read_begin(reading *self)
{
    ALM_TRY(alm_build_begin(self->s->cx, self->s->st, &self->build));
    self->build.redo = self->build.gaps = true;
    return ALM_OK;
}

/* Before version 12 no checksum covers the version: what was read as another one may be no catalogue. */
static alm_status load_catalog(reading *self)
{
    const alm_status status =
        alm_catalog_load(self->s->cx, &self->build, &self->catalog, &self->marks);
    if (status == ALM_OK || !alm_is_damage(status))
        return status;
    alm_build_abandon(&self->build);
    self->build = (alm_build){0};
    ALM_TRY(damaged_catalog(self, status));
    return salvage_read_begin(self);
}

/* ------------------------------------------------------------------------ report */

static alm_status tell_log(const reading *self, const char *why)
{
    char line[2 * sizeof self->first.msg];
    size_t count = 0;
    const bool all = self->gaps.n == 0 && self->gaps.unread == 0 && self->left_out == 0;
    if (why[0] != 0)
        count += (size_t)snprintf(line, sizeof line, "%s; ", why);
    count += (size_t)snprintf(line + count, sizeof line - count,
                              "whole records were read up to lsn %" PRIu64
                              "; %u stretches of the log are missing",
                              self->gaps.last_lsn, self->gaps.n);
    if (self->gaps.n > 0 && count < sizeof line)
        count += (size_t)snprintf(line + count, sizeof line - count,
                                  ", the first between lsn %" PRIu64 " and %" PRIu64,
                                  self->gaps.from, self->gaps.to);
    if (self->gaps.unread > 0 && count < sizeof line)
        count += (size_t)snprintf(line + count, sizeof line - count, "; %u segments cannot be read",
                                  self->gaps.unread);
    if (self->left_out > 0 && count < sizeof line)
        (void)snprintf(line + count, sizeof line - count,
                       "; %" PRIu64 " records cannot be applied, the first because: %s",
                       self->left_out, self->first.msg);
    return alm_salvage_note(self->s, NULL, "wal", all ? ALM_SAVED : ALM_SAVED_PARTIAL, line);
}

/* ----------------------------------------------------------------------- reading */

static alm_status salvage_read_apply(reading *self)
{
    alm_ctx *cx = self->s->cx;
    alm_wal *wal = &self->s->st->wal;
    ALM_TRY(
        alm_wal_read_whole(cx, wal, self->catalog.lsn, salvage_read_first_pass, self, &self->gaps));
    alm_dict_list_sort(&self->made);
    ALM_TRY(load_catalog(self));
    ALM_TRY(alm_salvage_rebuild(self->s, &self->build, &self->made));
    ALM_TRY(alm_wal_read_whole(cx, wal, self->catalog.lsn, salvage_read_second_pass, self,
                               &self->gaps));
    ALM_TRY(alm_redo_rows_settle_all(cx, &self->build, &self->rows));
    return alm_build_show_symbols(cx, &self->build);
}

static alm_status salvage_read_all(reading *self)
{
    alm_storage *storage = self->s->st;
    ALM_TRY(salvage_read_catalog(self));
    ALM_TRY(alm_wal_list(self->s->cx, &storage->wal));
    ALM_TRY(salvage_read_identify(self));
    ALM_TRY(salvage_read_begin(self));
    const alm_status status = salvage_read_apply(self);
    if (status == ALM_OK)
        alm_build_publish(&self->build);
    else if (self->build.next != NULL)
        alm_build_abandon(&self->build);
    return status;
}

alm_status alm_salvage_read(alm_salvage *salvage, const char *why)
{
    reading self = {.s = salvage};
    alm_status status = salvage_read_all(&self);
    if (status == ALM_OK)
        status = tell_log(&self, why);
    alm_redo_rows_free(&self.rows);
    alm_flush_marks_free(&self.marks);
    alm_dict_list_free(&self.made);
    alm_catalog_unmap(salvage->st, &self.catalog);
    return status;
}
