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

static size_t mark_slot(const alm_flush_marks *m, uint64_t table_id)
{
    size_t at = (size_t)alm_hash_u64(table_id) & (m->cap - 1);
    while (m->rows[at].table_id != 0 && m->rows[at].table_id != table_id)
        at = (at + 1) & (m->cap - 1);
    return at;
}

uint64_t alm_flush_marks_get(const alm_flush_marks *m, uint64_t table_id)
{
    return m->cap == 0 ? 0 : m->rows[mark_slot(m, table_id)].lsn;
}

alm_status alm_flush_marks_raise(alm_ctx *cx, alm_flush_marks *m, uint64_t table_id, uint64_t lsn)
{
    if ((m->n + 1) * 2 > m->cap) {
        alm_flush_marks bigger = {.cap = ALM_MAX((size_t)64, m->cap * 2), .n = m->n};
        ALM_TRY(alm_heap_bytes(cx, bigger.cap * sizeof *bigger.rows, "recovery", &bigger.rows));
        for (size_t i = 0; i < m->cap; i++)
            if (m->rows[i].table_id != 0)
                bigger.rows[mark_slot(&bigger, m->rows[i].table_id)] = m->rows[i];
        free(m->rows);
        *m = bigger;
    }
    const size_t at = mark_slot(m, table_id);
    m->n += m->rows[at].table_id == 0;
    m->rows[at].table_id = table_id;
    m->rows[at].lsn = ALM_MAX(m->rows[at].lsn, lsn);
    return ALM_OK;
}

void alm_flush_marks_free(alm_flush_marks *m)
{
    free(m->rows);
    *m = (alm_flush_marks){0};
}

alm_status alm_redo_bad(alm_ctx *cx, uint64_t lsn, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "log record %llu cannot be applied: %s",
                    (unsigned long long)lsn, what);
}

alm_status alm_redo_marks(alm_ctx *cx, alm_flush_marks *m, const char *payload, size_t bytes)
{
    alm_reader r = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&r, &kind, &body)) {
        if (kind != ALM_OP_PARTS)
            continue;
        const uint64_t table_id = alm_get_u64(&body);
        const uint64_t flushed = alm_get_u64(&body);
        if (!body.bad && table_id != 0 && flushed != 0)
            ALM_TRY(alm_flush_marks_raise(cx, m, table_id, flushed));
    }
    return r.bad ? alm_redo_bad(cx, 0, "unknown operation") : ALM_OK;
}

/* ---------------------------------------------------------------- operations */

static alm_status redo_rows(alm_ctx *cx, alm_build *b, const alm_flush_marks *m,
                            alm_redo_rows *rows, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return alm_redo_bad(cx, b->lsn, "rows of a table that does not exist");
    if (b->lsn <= alm_flush_marks_get(m, table_id) || b->lsn <= v->flushed_lsn)
        return ALM_OK; /* in parts already */
    ALM_TRY(alm_get_rows_body(cx, r, v->schema, &rows->body));
    return alm_redo_rows_put(cx, b, rows, v);
}

static alm_status redo_symbols(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const uint32_t col_id = alm_get_u32(r), first = alm_get_u32(r), n = alm_get_u32(r);
    (void)alm_get_u32(r);
    const alm_version *v = alm_build_find(b, table_id);
    const int32_t c = v == NULL ? -1 : alm_schema_find(v->schema, col_id);
    if (r->bad || c < 0 || v->schema->symbols[c] == NULL)
        return alm_redo_bad(cx, b->lsn, "symbols of a column that does not exist");
    alm_reader lengths = *r;
    if (alm_get_bytes(r, (uint64_t)n * 4) == NULL)
        return alm_redo_bad(cx, b->lsn, "symbols");
    if (b->gaps)
        ALM_TRY(alm_symbols_pad(cx, v->schema->symbols[c], first));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t len = alm_get_u32(&lengths);
        const char *text = alm_get_bytes(r, len);
        if (text == NULL)
            return alm_redo_bad(cx, b->lsn, "symbols");
        ALM_TRY(alm_symbols_put(cx, v->schema->symbols[c], first + i, (alm_str){text, len}));
    }
    return ALM_OK;
}

static alm_status redo_create(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    alm_version *v = NULL;
    uint32_t *counts = NULL;
    ALM_TRY(alm_get_table(cx, b->st, r, &v, &counts));
    free(counts); /* a new table has no symbols but those that follow */
    if (atomic_load(&b->st->next_table_id) <= v->table.id)
        atomic_store(&b->st->next_table_id, v->table.id + 1);
    const alm_status e = alm_build_find(b, v->table.id) != NULL
                             ? alm_redo_bad(cx, b->lsn, "a table that exists already")
                             : alm_change_create(cx, b, v);
    if (e != ALM_OK)
        alm_version_release(v);
    return e;
}

/* Parts of a record: those that go, by id, and new ones. */
typedef struct redo_change {
    alm_part_ref **remove, **add;
    uint32_t n_remove, n_add, n_read; /* n_read: of add, to be released */
} redo_change;

static alm_status read_parts(alm_ctx *cx, alm_build *b, alm_reader *r, const alm_version *v,
                             redo_change *parts)
{
    alm_part_ref **remove = parts->remove;
    for (uint32_t i = 0; i < parts->n_remove; i++) {
        const uint64_t id = alm_get_u64(r);
        for (uint32_t j = 0; j < v->parts->n && remove[i] == NULL; j++)
            if (v->parts->parts[j]->id == id)
                remove[i] = v->parts->parts[j];
        if (r->bad || remove[i] == NULL)
            return alm_redo_bad(cx, b->lsn, "removal of a part that does not exist");
    }
    for (uint32_t i = 0; i < parts->n_add; i++) {
        ALM_TRY(alm_get_part(cx, b->st, v->table.id, r, &parts->add[i]));
        parts->n_read = i + 1;
    }
    return ALM_OK;
}

static alm_status redo_parts(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r), flushed = alm_get_u64(r);
    const uint32_t n_remove = alm_get_u32(r), n_add = alm_get_u32(r);
    const alm_version *v = alm_build_find(b, table_id);
    const uint64_t left = (uint64_t)(r->end - r->at);
    if (r->bad || v == NULL || (uint64_t)n_remove * 8 > left || (uint64_t)n_add * 8 > left)
        return alm_redo_bad(cx, b->lsn, "parts of a table that does not exist");
    alm_part_ref **parts = NULL;
    ALM_TRY(alm_heap_bytes(cx, ((size_t)n_remove + n_add) * sizeof *parts, "parts", &parts));
    redo_change read = {
        .remove = parts, .add = parts + n_remove, .n_remove = n_remove, .n_add = n_add};
    alm_status e = read_parts(cx, b, r, v, &read);
    if (e == ALM_OK) {
        const alm_parts_change change = {.table_id = table_id,
                                         .add = read.add,
                                         .n_add = n_add,
                                         .remove = parts,
                                         .n_remove = n_remove,
                                         .flush = flushed != 0};
        e = alm_change_parts(cx, b, &change, NULL, flushed, true, NULL);
    }
    for (uint32_t i = 0; i < read.n_read; i++)
        alm_part_ref_release(read.add[i]);
    free((void *)parts);
    return e;
}

static alm_status redo_add_column(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return alm_redo_bad(cx, b->lsn, "a column of a table that does not exist");
    alm_column col;
    uint32_t count;
    ALM_TRY(alm_get_column(cx, r, v->tab, &col, &count));
    return alm_change_add_column(cx, b, table_id, &col);
}

static alm_status redo_alter(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    alm_reader head = *r;
    const uint64_t table_id = alm_get_u64(&head);
    const alm_version *v = alm_build_find(b, table_id);
    if (v == NULL)
        return alm_redo_bad(cx, b->lsn, "a change of a table that does not exist");
    alm_description d;
    alm_version *next = NULL;
    ALM_TRY(alm_get_description(cx, r, v->tab, &d));
    alm_status e = alm_change_alter(cx, b, v, &d.table, d.next_col_id, NULL, &next);
    alm_description_free(&d);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, table_id);
    if (e == ALM_OK)
        alm_build_put(b, next);
    else
        alm_version_release(next);
    return e;
}

static alm_status redo_move(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const uint32_t move = alm_get_u32(r), n = alm_get_u32(r);
    const char *at = alm_get_bytes(r, (uint64_t)n * sizeof(uint64_t));
    uint64_t *ids = NULL;
    if (at == NULL || move > ALM_PARTITION_FORGET)
        return alm_redo_bad(cx, b->lsn, "a move of partitions");
    ALM_TRY(alm_heap_bytes(cx, n * sizeof *ids, "parts", &ids));
    memcpy(ids, at, n * sizeof *ids);
    const alm_status e = alm_change_move(cx, b, table_id, (alm_partition_move)move, ids, n);
    free(ids);
    return e;
}

static alm_status redo_view(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t id = alm_get_u64(r);
    const alm_version *v = alm_build_find(b, id);
    alm_view_obj *view = NULL;
    if (v == NULL || v->view == NULL)
        return alm_redo_bad(cx, b->lsn, "a view that does not exist");
    ALM_TRY(alm_get_view(cx, r, &view));
    return alm_change_view(cx, b, id, view);
}

static alm_status redo_touch(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const uint32_t n = alm_get_u32(r);
    (void)alm_get_u32(r);
    alm_scan_range ranges[ALM_TOUCH_MAX];
    if (r->bad || n > ALM_TOUCH_MAX)
        return alm_redo_bad(cx, b->lsn, "touched times");
    for (uint32_t i = 0; i < n; i++) {
        ranges[i].lo = alm_get_i64(r);
        ranges[i].hi = alm_get_i64(r);
        if (ranges[i].lo > ranges[i].hi)
            return alm_redo_bad(cx, b->lsn, "touched times");
    }
    return r->bad ? ALM_OK : alm_redo_touch(cx, b, table_id, ranges, n);
}

static alm_status redo_comment(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    const uint32_t col_id = alm_get_u32(r);
    const alm_str text = alm_get_text(r);
    return r->bad ? ALM_OK : alm_change_comment(cx, b, table_id, col_id, text);
}

static alm_status redo_expire(alm_ctx *cx, alm_build *b, alm_reader *r)
{
    const uint64_t table_id = alm_get_u64(r);
    alm_expiry e = {.keep = alm_get_i64(r)};
    e.hide = r->at < r->end ? alm_get_i64(r) : e.keep; /* of older logs */
    return r->bad ? ALM_OK : alm_change_expire(cx, b, table_id, e);
}

/* Rows that were collected go into the head before an operation that needs them there, or gives the table other columns. */
static alm_status settle_before(alm_ctx *cx, alm_build *b, alm_redo_rows *rows, alm_op_kind kind,
                                const alm_reader *r)
{
    alm_reader head = *r;
    switch (kind) {
    case ALM_OP_DROP:
    case ALM_OP_TRUNCATE:
        alm_redo_rows_forget(rows, alm_get_u64(&head));
        return ALM_OK;
    case ALM_OP_ADD_COLUMN:
    case ALM_OP_ALTER: /* a description begins with the number of its table */
    case ALM_OP_MOVE:
    case ALM_OP_EXPIRE:
        return alm_redo_rows_settle(cx, b, rows, alm_get_u64(&head));
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

static alm_status redo_op(alm_ctx *cx, alm_build *b, const alm_flush_marks *m, alm_redo_rows *rows,
                          alm_op_kind kind, alm_reader *r)
{
    uint64_t table_id;
    ALM_TRY(settle_before(cx, b, rows, kind, r));
    switch (kind) {
    case ALM_OP_ROWS:
        return redo_rows(cx, b, m, rows, r);
    case ALM_OP_SYMBOLS:
        return redo_symbols(cx, b, r);
    case ALM_OP_CREATE:
        return redo_create(cx, b, r);
    case ALM_OP_DROP:
        table_id = alm_get_u64(r);
        if (alm_build_find(b, table_id) == NULL)
            return alm_redo_bad(cx, b->lsn, "drop of a table that does not exist");
        return alm_change_drop(cx, b, table_id);
    case ALM_OP_RENAME:
        table_id = alm_get_u64(r);
        return alm_change_rename(cx, b, table_id, alm_get_text(r));
    case ALM_OP_TRUNCATE:
        table_id = alm_get_u64(r);
        return alm_change_truncate(cx, b, &table_id, 1, NULL);
    case ALM_OP_ADD_COLUMN:
        return redo_add_column(cx, b, r);
    case ALM_OP_PARTS:
        return redo_parts(cx, b, r);
    case ALM_OP_ALTER:
        return redo_alter(cx, b, r);
    case ALM_OP_MOVE:
        return redo_move(cx, b, r);
    case ALM_OP_VIEW:
        return redo_view(cx, b, r);
    case ALM_OP_TOUCH:
        return redo_touch(cx, b, r);
    case ALM_OP_COMMENT:
        return redo_comment(cx, b, r);
    case ALM_OP_EXPIRE:
        return redo_expire(cx, b, r);
    case ALM_OP_TIME: /* for restores */
        return ALM_OK;
    case ALM_OP_RECORDS:
        return alm_redo_records(cx, b, r);
    }
    return alm_redo_bad(cx, b->lsn, "unknown operation");
}

alm_status alm_redo(alm_ctx *cx, alm_build *b, const alm_flush_marks *m, alm_redo_rows *rows,
                    const char *payload, size_t bytes)
{
    alm_reader r = {.at = payload, .end = payload + bytes}, body;
    alm_op_kind kind;
    while (alm_get_op(&r, &kind, &body)) {
        ALM_TRY(redo_op(cx, b, m, rows, kind, &body));
        if (body.bad)
            return alm_redo_bad(cx, b->lsn, "an operation is too short");
    }
    return r.bad ? alm_redo_bad(cx, b->lsn, "unknown operation") : ALM_OK;
}
