/*
 * redo.c - log records applied again by the functions of version/change.h: the two passes of recovery.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "storage/dict/dict.h"
#include "storage/recover/redo.h"
#include "storage/version/change.h"
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/version/records.h"
#include "storage/version/touched.h"
#include "storage/version/view.h"
#include "storage/write/alter.h"
#include "storage/write/expire.h"

/* ---------------------------------------------------------------- flush marks */

static size_t mark_slot(const alm_flush_marks *marks, uint64_t table_id)
{
    size_t offset = (size_t)alm_hash_u64(table_id) & (marks->cap - 1);
    while (marks->rows[offset].table_id != 0 && marks->rows[offset].table_id != table_id)
        offset = (offset + 1) & (marks->cap - 1);
    return offset;
}

uint64_t alm_flush_marks_get(const alm_flush_marks *marks, uint64_t table_id)
{
    return marks->cap == 0 ? 0 : marks->rows[mark_slot(marks, table_id)].lsn;
}

alm_status alm_flush_marks_raise(alm_ctx *cx, alm_flush_marks *marks, uint64_t table_id,
                                 uint64_t lsn)
{
    if ((marks->n + 1) * 2 > marks->cap) {
        alm_flush_marks bigger = {.cap = ALM_MAX((size_t)64, marks->cap * 2), .n = marks->n};
        ALM_TRY(alm_heap_bytes(cx, bigger.cap * sizeof *bigger.rows, "recovery", &bigger.rows));
        for (size_t i = 0; i < marks->cap; i++)
            if (marks->rows[i].table_id != 0)
                bigger.rows[mark_slot(&bigger, marks->rows[i].table_id)] = marks->rows[i];
        free(marks->rows);
        *marks = bigger;
    }
    const size_t offset = mark_slot(marks, table_id);
    marks->n += marks->rows[offset].table_id == 0;
    marks->rows[offset].table_id = table_id;
    marks->rows[offset].lsn = ALM_MAX(marks->rows[offset].lsn, lsn);
    return ALM_OK;
}

void alm_flush_marks_free(alm_flush_marks *marks)
{
    free(marks->rows);
    *marks = (alm_flush_marks){0};
}

alm_status alm_redo_bad(alm_ctx *cx, uint64_t lsn, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "log record %llu cannot be applied: %s",
                    (unsigned long long)lsn, what);
}

alm_status alm_redo_marks(alm_ctx *cx, alm_flush_marks *marks, const char *payload, size_t bytes)
{
    alm_reader reader = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&reader, &kind, &body)) {
        if (kind != ALM_OP_PARTS)
            continue;
        const uint64_t table_id = alm_get_u64(&body);
        const uint64_t flushed = alm_get_u64(&body);
        if (!body.bad && table_id != 0 && flushed != 0)
            ALM_TRY(alm_flush_marks_raise(cx, marks, table_id, flushed));
    }
    return reader.bad ? alm_redo_bad(cx, 0, "unknown operation") : ALM_OK;
}

/* ---------------------------------------------------------------- operations */

static alm_status redo_rows(alm_ctx *cx, alm_build *build, const alm_flush_marks *marks,
                            alm_redo_rows *rows, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return alm_redo_bad(cx, build->lsn, "rows of a table that does not exist");
    if (build->lsn <= alm_flush_marks_get(marks, table_id) || build->lsn <= version->flushed_lsn)
        return ALM_OK; /* in parts already */
    ALM_TRY(alm_get_rows_body(cx, reader, version->schema, &rows->body));
    return alm_redo_rows_put(cx, build, rows, version);
}

static alm_status redo_symbols(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const uint32_t col_id = alm_get_u32(reader), first = alm_get_u32(reader),
                   n = alm_get_u32(reader);
    (void)alm_get_u32(reader);
    const alm_version *version = alm_build_find(build, table_id);
    const int32_t col = version == NULL ? -1 : alm_schema_find(version->schema, col_id);
    if (reader->bad || col < 0 || version->schema->symbols[col] == NULL)
        return alm_redo_bad(cx, build->lsn, "symbols of a column that does not exist");
    alm_reader lengths = *reader;
    if (alm_get_bytes(reader, (uint64_t)n * 4) == NULL)
        return alm_redo_bad(cx, build->lsn, "symbols");
    if (build->gaps)
        ALM_TRY(alm_symbols_pad(cx, version->schema->symbols[col], first));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t len = alm_get_u32(&lengths);
        const char *text = alm_get_bytes(reader, len);
        if (text == NULL)
            return alm_redo_bad(cx, build->lsn, "symbols");
        ALM_TRY(
            alm_symbols_put(cx, version->schema->symbols[col], first + i, (alm_str){text, len}));
    }
    return ALM_OK;
}

static alm_status redo_create(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    alm_version *version = NULL;
    uint32_t *counts = NULL;
    ALM_TRY(alm_get_table(cx, build->st, reader, &version, &counts));
    free(counts); /* a new table has no symbols but those that follow */
    if (atomic_load(&build->st->next_table_id) <= version->table.id)
        atomic_store(&build->st->next_table_id, version->table.id + 1);
    const alm_status status = alm_build_find(build, version->table.id) != NULL
                                  ? alm_redo_bad(cx, build->lsn, "a table that exists already")
                                  : alm_change_create(cx, build, version);
    if (status != ALM_OK)
        alm_version_release(version);
    return status;
}

/* Parts of a record: those that go, by id, and new ones. */
typedef struct redo_change {
    alm_part_ref **remove, **add;
    uint32_t n_remove, n_add, n_read; /* n_read: of add, to be released */
} redo_change;

static alm_status read_parts(alm_ctx *cx, alm_build *build, alm_reader *reader,
                             const alm_version *version, redo_change *parts)
{
    alm_part_ref **remove = parts->remove;
    for (uint32_t i = 0; i < parts->n_remove; i++) {
        const uint64_t id = alm_get_u64(reader);
        for (uint32_t j = 0; j < version->parts->n && remove[i] == NULL; j++)
            if (version->parts->parts[j]->id == id)
                remove[i] = version->parts->parts[j];
        if (reader->bad || remove[i] == NULL)
            return alm_redo_bad(cx, build->lsn, "removal of a part that does not exist");
    }
    for (uint32_t i = 0; i < parts->n_add; i++) {
        ALM_TRY(alm_get_part(cx, build->st, version->table.id, reader, &parts->add[i]));
        parts->n_read = i + 1;
    }
    return ALM_OK;
}

static alm_status redo_parts(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader), flushed = alm_get_u64(reader);
    const uint32_t n_remove = alm_get_u32(reader), n_add = alm_get_u32(reader);
    const alm_version *version = alm_build_find(build, table_id);
    const uint64_t left = (uint64_t)(reader->end - reader->at);
    if (reader->bad || version == NULL || (uint64_t)n_remove * 8 > left ||
        (uint64_t)n_add * 8 > left)
        return alm_redo_bad(cx, build->lsn, "parts of a table that does not exist");
    alm_part_ref **parts = NULL;
    ALM_TRY(alm_heap_bytes(cx, ((size_t)n_remove + n_add) * sizeof *parts, "parts", &parts));
    redo_change read = {
        .remove = parts, .add = parts + n_remove, .n_remove = n_remove, .n_add = n_add};
    alm_status status = read_parts(cx, build, reader, version, &read);
    if (status == ALM_OK) {
        const alm_parts_change change = {.table_id = table_id,
                                         .add = read.add,
                                         .n_add = n_add,
                                         .remove = parts,
                                         .n_remove = n_remove,
                                         .flush = flushed != 0};
        status = alm_change_parts(cx, build, &change, NULL, flushed, true, NULL);
    }
    for (uint32_t i = 0; i < read.n_read; i++)
        alm_part_ref_release(read.add[i]);
    free((void *)parts);
    return status;
}

static alm_status redo_add_column(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return alm_redo_bad(cx, build->lsn, "a column of a table that does not exist");
    alm_column col;
    uint32_t count;
    ALM_TRY(alm_get_column(cx, reader, version->tab, &col, &count));
    return alm_change_add_column(cx, build, table_id, &col);
}

static alm_status redo_alter(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    alm_reader head = *reader;
    const uint64_t table_id = alm_get_u64(&head);
    const alm_version *version = alm_build_find(build, table_id);
    if (version == NULL)
        return alm_redo_bad(cx, build->lsn, "a change of a table that does not exist");
    alm_description description;
    alm_version *next = NULL;
    ALM_TRY(alm_get_description(cx, reader, version->tab, &description));
    alm_status status = alm_change_alter(cx, build, version, &description.table,
                                         description.next_col_id, NULL, &next);
    alm_description_free(&description);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, table_id);
    if (status == ALM_OK)
        alm_build_put(build, next);
    else
        alm_version_release(next);
    return status;
}

static alm_status redo_move(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const uint32_t move = alm_get_u32(reader), n = alm_get_u32(reader);
    const char *ptr = alm_get_bytes(reader, (uint64_t)n * sizeof(uint64_t));
    uint64_t *ids = NULL;
    if (ptr == NULL || move > ALM_PARTITION_FORGET)
        return alm_redo_bad(cx, build->lsn, "a move of partitions");
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *ids, "parts", &ids));
    memcpy(ids, ptr, n * sizeof *ids);
    const alm_status status =
        alm_change_move(cx, build, table_id, (alm_partition_move)move, ids, n);
    free(ids);
    return status;
}

static alm_status redo_view(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t id = alm_get_u64(reader);
    const alm_version *version = alm_build_find(build, id);
    alm_view_obj *view = NULL;
    if (version == NULL || version->view == NULL)
        return alm_redo_bad(cx, build->lsn, "a view that does not exist");
    ALM_TRY(alm_get_view(cx, reader, &view));
    return alm_change_view(cx, build, id, view);
}

static alm_status redo_touch(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const uint32_t n_ranges = alm_get_u32(reader);
    (void)alm_get_u32(reader);
    alm_scan_range ranges[ALM_TOUCH_MAX];
    if (reader->bad || n_ranges > ALM_TOUCH_MAX)
        return alm_redo_bad(cx, build->lsn, "touched times");
    for (uint32_t i = 0; i < n_ranges; i++) {
        ranges[i].lo = alm_get_i64(reader);
        ranges[i].hi = alm_get_i64(reader);
        if (ranges[i].lo > ranges[i].hi)
            return alm_redo_bad(cx, build->lsn, "touched times");
    }
    return reader->bad ? ALM_OK : alm_redo_touch(cx, build, table_id, ranges, n_ranges);
}

static alm_status redo_comment(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    const uint32_t col_id = alm_get_u32(reader);
    const alm_str text = alm_get_text(reader);
    return reader->bad ? ALM_OK : alm_change_comment(cx, build, table_id, col_id, text);
}

static alm_status redo_expire(alm_ctx *cx, alm_build *build, alm_reader *reader)
{
    const uint64_t table_id = alm_get_u64(reader);
    alm_expiry expiry = {.keep = alm_get_i64(reader)};
    expiry.hide = reader->at < reader->end ? alm_get_i64(reader) : expiry.keep; /* of older logs */
    return reader->bad ? ALM_OK : alm_change_expire(cx, build, table_id, expiry);
}

/* Rows that were collected go into the head before an operation that needs them there, or gives the table other columns. */
static alm_status settle_before(alm_ctx *cx, alm_build *build, alm_redo_rows *rows,
                                alm_op_kind kind, const alm_reader *reader)
{
    alm_reader head = *reader;
    switch (kind) {
    case ALM_OP_DROP:
    case ALM_OP_TRUNCATE:
        alm_redo_rows_forget(rows, alm_get_u64(&head));
        return ALM_OK;
    case ALM_OP_ADD_COLUMN:
    case ALM_OP_ALTER: /* a description begins with the number of its table */
    case ALM_OP_MOVE:
    case ALM_OP_EXPIRE:
        return alm_redo_rows_settle(cx, build, rows, alm_get_u64(&head));
    case ALM_OP_ROWS:
    case ALM_OP_SYMBOLS:
    case ALM_OP_CREATE:
    case ALM_OP_RENAME:
    case ALM_OP_PARTS: /* of a flush: what it wrote was not collected, because the first pass found its mark */
    case ALM_OP_VIEW:
    case ALM_OP_TOUCH:
    case ALM_OP_COMMENT:
    case ALM_OP_TIME:
    case ALM_OP_RECORDS:
        return ALM_OK;
    }
    return ALM_OK;
}

static alm_status redo_op(alm_ctx *cx, alm_build *build, const alm_flush_marks *marks,
                          alm_redo_rows *rows, alm_op_kind kind, alm_reader *reader)
{
    uint64_t table_id;
    ALM_TRY(settle_before(cx, build, rows, kind, reader));
    switch (kind) {
    case ALM_OP_ROWS:
        return redo_rows(cx, build, marks, rows, reader);
    case ALM_OP_SYMBOLS:
        return redo_symbols(cx, build, reader);
    case ALM_OP_CREATE:
        return redo_create(cx, build, reader);
    case ALM_OP_DROP:
        table_id = alm_get_u64(reader);
        if (alm_build_find(build, table_id) == NULL)
            return alm_redo_bad(cx, build->lsn, "drop of a table that does not exist");
        return alm_change_drop(cx, build, table_id);
    case ALM_OP_RENAME:
        table_id = alm_get_u64(reader);
        return alm_change_rename(cx, build, table_id, alm_get_text(reader));
    case ALM_OP_TRUNCATE:
        table_id = alm_get_u64(reader);
        return alm_change_truncate(cx, build, &table_id, 1, NULL);
    case ALM_OP_ADD_COLUMN:
        return redo_add_column(cx, build, reader);
    case ALM_OP_PARTS:
        return redo_parts(cx, build, reader);
    case ALM_OP_ALTER:
        return redo_alter(cx, build, reader);
    case ALM_OP_MOVE:
        return redo_move(cx, build, reader);
    case ALM_OP_VIEW:
        return redo_view(cx, build, reader);
    case ALM_OP_TOUCH:
        return redo_touch(cx, build, reader);
    case ALM_OP_COMMENT:
        return redo_comment(cx, build, reader);
    case ALM_OP_EXPIRE:
        return redo_expire(cx, build, reader);
    case ALM_OP_TIME: /* for restores */
        return ALM_OK;
    case ALM_OP_RECORDS:
        return alm_redo_records(cx, build, reader);
    }
    return alm_redo_bad(cx, build->lsn, "unknown operation");
}

alm_status alm_redo(alm_ctx *cx, alm_build *build, const alm_flush_marks *marks,
                    alm_redo_rows *rows, const char *payload, size_t bytes)
{
    alm_reader reader = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&reader, &kind, &body)) {
        ALM_TRY(redo_op(cx, build, marks, rows, kind, &body));
        if (body.bad)
            return alm_redo_bad(cx, build->lsn, "an operation is too short");
    }
    return reader.bad ? alm_redo_bad(cx, build->lsn, "unknown operation") : ALM_OK;
}
