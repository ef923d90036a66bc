/*
 * update.c - UPDATE: the touched columns of the touched parts are written anew, as overlay files that
 * lie over the part; the rest is shared. Readers keep their snapshot. DELETE and changes of a column's
 * type collect their rows here too.
 *
 * Method      alm_update_begin keeps other writers out (ALM_TAB_MAINT, then ALM_TAB_ALONE) and
 *             flushes the head, so that all rows lie in parts. New values are collected per part
 *             with their row numbers; the commit copies each touched column of each touched part,
 *             puts the values in, writes the overlay, and changes all parts with one record.
 *             In a transaction the locks are held only until the head is in parts; the rows of the
 *             transaction become parts of its own, and the changed parts are left with it, with undos
 *             of those that a savepoint lists (txn_part.h).
 * DEDUP       Rows that newer ones replace lie in their parts still. Where a change could bring them
 *             back, or make rows equal (DELETE, new values of keys), the parts that overlap are
 *             merged first.
 * Parquet     A Parquet part is written anew as a whole, so that its file stays true for those who read it in
 *             place. Only a new type leaves an overlay: CONVERT PARTITION again puts it in.
 * Memory      the collected values, and the touched columns of one part at a time. A new type writes
 *             the overlay of a part as soon as all its rows are there.
 */
#include <stdlib.h>

#include "storage/dict/dict.h"
#include "storage/version/view.h"
#include "storage/write/bulk.h"
#include "storage/write/compact.h"
#include "storage/write/overlay.h"
#include "storage/write/parts_commit.h"
#include "storage/write/update.h"

/* What the calls of the update read is read to be written again. */
static uint64_t enter(alm_ctx *cx, const alm_update *up)
{
    const uint64_t before = cx->rewrite;
    ALM_ASSERT(up != NULL);
    ALM_ASSERT(up->rewrite != 0);
    cx->rewrite = ALM_MAX(before, up->rewrite);
    if (before == 0)
        cx->map_faults = up->map_faults;
    return before;
}

static void update_free(alm_update *up)
{
    if (up->parts != NULL) {
        for (uint32_t i = 0; i < up->v->parts->n; i++) {
            alm_rowbuf_clear(&up->parts[i].values);
            free(up->parts[i].rows);
            alm_part_ref_release(up->parts[i].done);
            alm_undo_free(up->parts[i].undo);
        }
        free(up->parts);
    }
    free(up->order);
    alm_arena_deinit(&up->scratch);
    alm_arena_deinit(&up->arena);
    if (up->snap != NULL)
        alm_snapshot_release(up->snap);
    alm_schema_release(up->made);
    alm_interning_end(&up->interning);
    alm_table_let_go(&up->held);
    free(up);
}

/* ------------------------------------------------------------------ opening */

static const alm_table *find_table(alm_ctx *cx, const alm_snapshot *snap, alm_str name,
                                   alm_status *st)
{
    const alm_table *table = alm_snapshot_find(snap, name);
    if (table == NULL)
        *st = alm_no_table(cx, snap, name, -1);
    return table;
}

/* Does the change decide which rows of a dedup table are visible? */
static bool concerns_dedup(const alm_update *up, const alm_table *table, const uint32_t *cols,
                           uint32_t n_cols)
{
    bool keys = up->kind != ALM_UPDATE_VALUES;
    for (uint32_t c = 0; c < n_cols && !keys; c++)
        keys = cols[c] < table->n_cols && table->cols[cols[c]].dedup_key;
    return table->dedup && keys;
}

/* The version that the transaction sees, all of it in parts. */
static alm_status see_own(alm_ctx *cx, alm_update *up, alm_txn_table *t, alm_str name)
{
    alm_status st = ALM_OK;
    ALM_TRY(alm_txn_rows_to_parts(cx, up->st, t));
    ALM_TRY(alm_txn_snapshot(cx, up->txn, &up->snap));
    const alm_table *table = find_table(cx, up->snap, name, &st);
    ALM_TRY(st);
    if (table->id != t->id)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%s' was replaced", table->name);
    up->v = alm_version_of(table);
    return ALM_OK;
}

static alm_status join_txn(alm_ctx *cx, alm_update *up, alm_str name, const uint32_t *cols,
                           uint32_t n_cols)
{
    alm_snapshot *snap = NULL;
    alm_status st = ALM_OK;
    alm_txn_table *t = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, up->st, &snap));
    const alm_table *table = find_table(cx, snap, name, &st);
    if (table != NULL)
        st = alm_txn_table_of(cx, up->txn, table, &t);
    const bool dedup = st == ALM_OK && concerns_dedup(up, table, cols, n_cols);
    if (dedup && (alm_txn_has_rows(t) || alm_txn_has_parts(t)))
        st = alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                      "DELETE, or UPDATE of a DEDUP key, after other changes of table '%s' in the "
                      "same transaction is not supported",
                      table->name);
    if (st == ALM_OK)
        st = alm_table_hold(cx, up->st, alm_version_of(table)->tab, &up->held);
    if (st == ALM_OK && dedup)
        st = alm_compact_overlaps(cx, up->st, t->id);
    if (st == ALM_OK)
        alm_txn_claim(t); /* before a merge can take the table */
    alm_snapshot_release(snap);
    if (st == ALM_OK)
        st = see_own(cx, up, t, name);
    alm_table_let_go(&up->held); /* what others write from here on is not seen */
    return st;
}

/* Locks the table of that name, and makes sure that the name still stands for it. */
static alm_status lock_table(alm_ctx *cx, alm_update *up, alm_str name, const uint32_t *cols,
                             uint32_t n_cols)
{
    alm_status st = ALM_OK;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, up->st, &snap));
    const alm_table *table = find_table(cx, snap, name, &st);
    uint64_t id = 0;
    if (table != NULL)
        st = alm_refuse_rows(cx, table);
    if (st == ALM_OK) {
        id = table->id;
        st = alm_table_hold(cx, up->st, alm_version_of(table)->tab, &up->held);
        if (st == ALM_OK && concerns_dedup(up, table, cols, n_cols))
            st = alm_compact_overlaps(cx, up->st, id);
    }
    alm_snapshot_release(snap);
    ALM_TRY(st);
    ALM_TRY(alm_snapshot_acquire(cx, up->st, &up->snap));
    table = find_table(cx, up->snap, name, &st);
    ALM_TRY(st);
    if (table->id != id)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%s' was replaced", table->name);
    up->v = alm_version_of(table);
    return ALM_OK;
}

/* Scan of all rows: its spans are those of the caller's scan, whatever columns that has. */
static alm_status prepare_scan(alm_ctx *cx, alm_update *up)
{
    const alm_version *v = up->v;
    if (v->n_lanes > 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "rows of table '%s' are not in parts",
                        v->table.name);
    ALM_TRY(alm_scan_new_version(cx, &up->arena, v, &(alm_scan_spec){.all = true}, &up->scan));
    up->parts = calloc(v->parts->n + 1u, sizeof(*up->parts));
    if (up->parts == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory");
    for (uint32_t i = 0; i < v->parts->n; i++) {
        up->parts[i].ref = v->parts->parts[i];
        alm_rowbuf_init(&up->parts[i].values, &up->values);
    }
    return ALM_OK;
}

static alm_status prepare_columns(alm_ctx *cx, alm_update *up, const uint32_t *cols,
                                  uint32_t n_cols)
{
    const alm_version *v = up->v;
    ALM_TRY(ALM_NEWN(cx, &up->arena, n_cols + 1, &up->cols));
    up->n_cols = n_cols;
    up->values.n_cols = n_cols;
    ALM_TRY(ALM_NEWN(cx, &up->arena, n_cols + 1, &up->values.cols));
    ALM_TRY(ALM_NEWN(cx, &up->arena, n_cols + 1, &up->symbols));
    ALM_TRY(alm_interning_begin(cx, v->tab, v->schema, &up->interning));
    for (uint32_t c = 0; c < n_cols; c++) {
        if (cols[c] >= v->table.n_cols)
            return alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed",
                            v->table.name);
        if ((int32_t)cols[c] == v->table.ts_col)
            return alm_fail(cx, ALM_E_ARG, -1, "Designated timestamp column cannot be updated");
        up->cols[c] = cols[c];
        up->values.cols[c] = v->table.cols[cols[c]];
        up->symbols[c] = v->schema->symbols[cols[c]];
    }
    return ALM_OK;
}

static alm_status update_new(alm_ctx *cx, alm_storage *st, alm_txn *txn, alm_update_kind kind,
                             alm_update **out)
{
    alm_update *up = calloc(1, sizeof(*up));
    if (up == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory");
    up->st = st;
    up->txn = txn;
    up->kind = kind;
    up->order_span = SIZE_MAX;
    const uint64_t before = alm_rewrite_begin(cx, st);
    up->rewrite = cx->rewrite;
    up->map_faults = cx->map_faults;
    alm_rewrite_end(cx, before);
    alm_arena_init(&up->arena, NULL);
    alm_arena_init(&up->scratch, NULL);
    *out = up;
    return ALM_OK;
}

static alm_status begin(alm_ctx *cx, alm_storage *st, alm_txn *txn, alm_update_kind kind,
                        alm_str table, const uint32_t *cols, uint32_t n_cols, alm_update **out)
{
    alm_update *up = NULL;
    ALM_TRY(update_new(cx, st, txn, kind, &up));
    const uint64_t before = enter(cx, up);
    alm_status status = txn != NULL ? join_txn(cx, up, table, cols, n_cols)
                                    : lock_table(cx, up, table, cols, n_cols);
    if (status == ALM_OK)
        status = prepare_columns(cx, up, cols, n_cols);
    if (status == ALM_OK)
        status = prepare_scan(cx, up);
    cx->rewrite = before;
    if (status != ALM_OK) {
        update_free(up);
        return status;
    }
    *out = up;
    return ALM_OK;
}

alm_status alm_update_begin(alm_ctx *cx, alm_storage *st, alm_txn *txn, alm_str table,
                            const uint32_t *cols, uint32_t n_cols, alm_update **out)
{
    return begin(cx, st, txn, ALM_UPDATE_VALUES, table, cols, n_cols, out);
}

alm_status alm_delete_begin(alm_ctx *cx, alm_storage *st, alm_txn *txn, alm_str table,
                            alm_update **out)
{
    return begin(cx, st, txn, ALM_UPDATE_DELETE, table, NULL, 0, out);
}

alm_status alm_retype_begin(alm_ctx *cx, alm_storage *st, const alm_table *was, uint32_t at,
                            const alm_column *col, alm_update **out)
{
    alm_update *up = NULL;
    ALM_TRY(update_new(cx, st, NULL, ALM_UPDATE_RETYPE, &up));
    const uint64_t before = enter(cx, up);
    alm_status status = lock_table(cx, up, alm_str_of(was->name), NULL, 0);
    if (status == ALM_OK)
        status = alm_retype_prepare(cx, up, was, at, col);
    if (status == ALM_OK)
        status = prepare_scan(cx, up);
    cx->rewrite = before;
    if (status != ALM_OK) {
        update_free(up);
        return status;
    }
    *out = up;
    return ALM_OK;
}

alm_snapshot *alm_update_snapshot(alm_update *up)
{
    return up->snap;
}

/* --------------------------------------------------------------- collecting */

static update_part *part_of(alm_update *up, const alm_scan_piece *piece)
{
    const alm_part_set *set = up->v->parts;
    for (uint32_t i = 0; i < set->n; i++)
        if (set->parts[i] == piece->part)
            return &up->parts[i];
    ALM_ASSERT(false); /* pieces of a version without lanes lie in its parts */
    return NULL;
}

/* Values idx[0..n) of `cols` for rows of one part. */
static alm_status collect(alm_ctx *cx, update_part *part, const uint32_t *rows, const alm_vec *cols,
                          const uint32_t *idx, uint32_t n)
{
    if (part->n + n > part->cap) {
        const size_t cap = ALM_MAX(part->cap * 2, part->n + n);
        uint32_t *grown = realloc(part->rows, cap * sizeof(*grown));
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory for %zu rows", cap);
        part->rows = grown;
        part->cap = cap;
    }
    if (part->values.schema->n_cols > 0)
        ALM_TRY(alm_rowbuf_append(cx, &part->values, cols, idx, 0, n));
    memcpy(part->rows + part->n, rows, n * sizeof(*rows));
    part->n += n;
    return ALM_OK;
}

static alm_status load_order(alm_ctx *cx, alm_update *up, size_t i)
{
    const alm_scan_span *span = &up->scan->spans[i];
    if (up->order_span == i)
        return ALM_OK;
    up->order_span = SIZE_MAX;
    if (span->rows > up->order_cap) {
        free(up->order);
        up->order_cap = 0;
        up->order = malloc((size_t)span->rows * sizeof(*up->order));
        if (up->order == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory to merge rows");
        up->order_cap = span->rows;
    }
    ALM_TRY(alm_scan_span_order(cx, &up->scratch, up->scan, i, up->order));
    up->order_span = i;
    return ALM_OK;
}

/* Rows of a merged span: piece by piece, those that lie in it. */
static alm_status collect_merged(alm_ctx *cx, alm_update *up, size_t i, const int64_t *rows,
                                 uint32_t n, const alm_vec *cols)
{
    const alm_scan_span *span = &up->scan->spans[i];
    uint32_t *at = NULL, *idx = NULL;
    ALM_TRY(ALM_NEWN(cx, &up->scratch, n, &at));
    ALM_TRY(ALM_NEWN(cx, &up->scratch, n, &idx));
    ALM_TRY(load_order(cx, up, i));
    for (uint32_t k = 0; k < span->n_pieces; k++) {
        uint32_t m = 0;
        for (uint32_t r = 0; r < n; r++) {
            const uint64_t from = up->order[rows[r]];
            if (from >> 32 != k)
                continue;
            at[m] = (uint32_t)from;
            idx[m++] = r;
        }
        if (m > 0)
            ALM_TRY(collect(cx, part_of(up, &up->scan->pieces[span->piece + k]), at, cols, idx, m));
    }
    return ALM_OK;
}

static alm_status collect_direct(alm_ctx *cx, alm_update *up, size_t i, const int64_t *rows,
                                 uint32_t n, const alm_vec *cols)
{
    const alm_scan_piece *piece = &up->scan->pieces[up->scan->spans[i].piece];
    uint32_t *at = NULL, *idx = NULL;
    ALM_TRY(ALM_NEWN(cx, &up->scratch, n, &at));
    ALM_TRY(ALM_NEWN(cx, &up->scratch, n, &idx));
    for (uint32_t r = 0; r < n; r++) {
        at[r] = (uint32_t)(piece->lo + rows[r]);
        idx[r] = r;
    }
    return collect(cx, part_of(up, piece), at, cols, idx, n);
}

/* Symbols as codes of the table. */
static alm_status encode(alm_ctx *cx, alm_update *up, const alm_vec *values, uint32_t n,
                         alm_vec *cols)
{
    for (uint32_t c = 0; c < up->n_cols; c++) {
        const alm_type type = up->values.cols[c].type;
        cols[c] = values[c];
        if (type.id == ALM_T_SYMBOL) {
            uint32_t *codes = NULL;
            const size_t m = values[c].is_const ? 1 : n;
            ALM_TRY(alm_arena_bytes(cx, &up->scratch, m * sizeof(*codes), &codes));
            ALM_TRY(alm_symbols_encode(cx, up->symbols[c], &values[c], m, codes));
            cols[c] =
                (alm_vec){.type = type, .width = 4, .is_const = values[c].is_const, .data = codes};
        } else if (!alm_type_eq(values[c].type, type)) {
            return alm_fail(cx, ALM_E_INTERNAL, -1, "update: column '%s' is %s, not %s",
                            up->values.cols[c].name, alm_type_name(values[c].type),
                            alm_type_name(type));
        }
        ALM_TRY(alm_text_length_check(cx, &up->values.cols[c], &cols[c], n));
    }
    return ALM_OK;
}

static alm_status rewrite_part(alm_ctx *cx, alm_update *up, update_part *part, alm_part_ref **out);

/* Parts of the span that have all their new values are written, and their values go. */
static alm_status finish_parts(alm_ctx *cx, alm_update *up, size_t i)
{
    const alm_scan_span *span = &up->scan->spans[i];
    for (uint32_t k = 0; k < span->n_pieces; k++) {
        update_part *part = part_of(up, &up->scan->pieces[span->piece + k]);
        if (part->done != NULL || (int64_t)part->n < part->ref->rows)
            continue;
        ALM_TRY(rewrite_part(cx, up, part, &part->done));
        alm_rowbuf_clear(&part->values);
        free(part->rows);
        part->rows = NULL;
        part->cap = 0;
    }
    return ALM_OK;
}

static alm_status take_rows(alm_ctx *cx, alm_update *up, size_t span, const int64_t *rows,
                            uint32_t n, const alm_vec *values)
{
    ALM_TRY(alm_check(cx));
    ALM_ASSERT(span < up->scan->n_spans);
    if (n == 0)
        return ALM_OK;
    for (uint32_t r = 0; r < n; r++)
        ALM_ASSERT(rows[r] >= 0 && rows[r] < up->scan->spans[span].rows);
    alm_arena_reset(&up->scratch);
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &up->scratch, up->n_cols + 1, &cols));
    ALM_TRY(encode(cx, up, values, n, cols));
    up->rows += n;
    ALM_TRY(up->scan->spans[span].n_pieces == 1 ? collect_direct(cx, up, span, rows, n, cols)
                                                : collect_merged(cx, up, span, rows, n, cols));
    return up->kind == ALM_UPDATE_RETYPE ? finish_parts(cx, up, span) : ALM_OK;
}

alm_status alm_update_rows(alm_ctx *cx, alm_update *up, size_t span, const int64_t *rows,
                           uint32_t n, const alm_vec *values)
{
    const uint64_t before = enter(cx, up);
    const alm_status st = take_rows(cx, up, span, rows, n, values);
    cx->rewrite = before;
    return st;
}

/* ------------------------------------------------------------------ writing */

/* Room for a whole column: every row is given. */
static alm_status no_values(alm_ctx *cx, alm_update *up, const update_part *part, uint32_t c,
                            alm_vec *out)
{
    const alm_type type = up->values.cols[c].type;
    const size_t width = alm_type_width(type);
    uint8_t *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, &up->scratch, (size_t)part->ref->rows * width, &data));
    *out = (alm_vec){.type = type, .width = (uint8_t)width, .data = data};
    return ALM_OK;
}

/* Puts the collected values of column c over the old ones. */
static void put_values(const update_part *part, uint32_t c, alm_vec *into)
{
    size_t at = 0;
    for (size_t k = 0; k < part->values.n_chunks; k++) {
        const alm_part_chunk *chunk = &part->values.chunks[k];
        const char *from = chunk->cols[c].data;
        for (uint32_t i = 0; i < chunk->rows; i++, at++)
            memcpy((char *)into->data + (size_t)part->rows[at] * into->width,
                   from + (size_t)i * into->width, into->width);
    }
}

/* The touched columns of a part as they are from now on. */
static alm_status new_values(alm_ctx *cx, alm_update *up, const update_part *part, alm_vec **out)
{
    ALM_TRY(ALM_NEWN(cx, &up->scratch, up->n_cols, out));
    for (uint32_t c = 0; c < up->n_cols; c++) {
        ALM_TRY(alm_check(cx));
        if (up->kind == ALM_UPDATE_RETYPE)
            ALM_TRY(no_values(cx, up, part, c, &(*out)[c]));
        else
            ALM_TRY(alm_overlay_column(cx, &up->scratch, up->v, part->ref, up->cols[c],
                                       part->ref->rows, &(*out)[c]));
        put_values(part, c, &(*out)[c]);
    }
    return ALM_OK;
}

/* A Parquet part is written anew: others read the file, and know of no overlays. */
static alm_status rewrite_parquet(alm_ctx *cx, alm_update *up, const update_part *part,
                                  const alm_vec *values, alm_part_ref **out)
{
    const alm_scan_piece piece = {.part = part->ref, .hi = part->ref->rows};
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &up->scratch, up->v->table.n_cols, &cols));
    for (uint32_t c = 0; c < up->v->table.n_cols; c++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_scan_piece_vec(cx, &up->scratch, up->v, &piece, c, &cols[c]));
    }
    for (uint32_t c = 0; c < up->n_cols; c++)
        cols[up->cols[c]] = values[c];
    return alm_overlay_whole(cx, up->st, &up->scratch, up->v, part->ref, part->ref->rows, cols,
                             out);
}

/* For a savepoint that has the part as it was. */
static alm_status note_update(alm_ctx *cx, alm_update *up, update_part *part,
                              const alm_overlay_change *change)
{
    if (!part->marked)
        return ALM_OK;
    ALM_ASSERT(up->kind == ALM_UPDATE_VALUES);
    const alm_undo_rows of = {up->v, part->ref, part->rows, part->n};
    return alm_undo_of_update(cx, up->txn->account, &up->scratch, &of, change, &part->undo);
}

static alm_status rewrite_part(alm_ctx *cx, alm_update *up, update_part *part, alm_part_ref **out)
{
    alm_vec *values = NULL;
    alm_arena_reset(&up->scratch);
    up->order_span = SIZE_MAX;
    ALM_TRY(new_values(cx, up, part, &values));
    const alm_overlay_change change = {
        .cols = up->cols, .as = up->values.cols, .values = values, .n = up->n_cols};
    ALM_TRY(note_update(cx, up, part, &change));
    if (alm_part_ref_is_parquet(part->ref) && up->kind == ALM_UPDATE_VALUES)
        return rewrite_parquet(cx, up, part, values, out);
    return alm_overlay_put(cx, up->st, &up->scratch, up->v, part->ref, &change, out);
}

/* What a part becomes; *out NULL: nothing is left of it. */
static alm_status change_part(alm_ctx *cx, alm_update *up, update_part *part, alm_part_ref **out)
{
    if (up->kind == ALM_UPDATE_DELETE)
        return alm_delete_part(cx, up, part, out);
    if (up->kind == ALM_UPDATE_VALUES)
        return rewrite_part(cx, up, part, out);
    if (part->done == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "table '%s': %zu of %lld rows have a new value",
                        up->v->table.name, part->n, (long long)part->ref->rows);
    *out = part->done;
    part->done = NULL;
    return ALM_OK;
}

/* The times of the rows that change in one part, for what follows the table. */
static alm_status touched_times(alm_ctx *cx, const alm_update *up, const update_part *part,
                                alm_scan_range *out)
{
    *out = (alm_scan_range){part->ref->min_ts, part->ref->max_ts};
    if (up->v->touched == NULL || up->v->table.ts_col < 0 || up->kind == ALM_UPDATE_RETYPE)
        return ALM_OK;
    const alm_scan_piece piece = {.part = part->ref, .hi = part->ref->rows};
    const int64_t *ts = NULL;
    uint32_t first = UINT32_MAX, last = 0;
    ALM_TRY(alm_scan_piece_times(cx, up->v, &piece, &ts));
    for (size_t i = 0; i < part->n; i++) {
        first = ALM_MIN(first, part->rows[i]);
        last = ALM_MAX(last, part->rows[i]);
    }
    *out = (alm_scan_range){ts[first], ts[last]};
    return ALM_OK;
}

/* What becomes of each part that changes: owned by the caller, also after an error. */
static alm_status change_parts(alm_ctx *cx, alm_update *up, alm_txn_change *changes, uint32_t *n)
{
    alm_txn_table *t = NULL;
    if (up->txn != NULL)
        ALM_TRY(alm_txn_table_of(cx, up->txn, &up->v->table, &t));
    for (uint32_t i = 0; i < up->v->parts->n; i++) {
        if (up->parts[i].n == 0 && up->kind != ALM_UPDATE_RETYPE)
            continue;
        alm_txn_change *change = &changes[*n];
        change->was = up->v->parts->parts[i];
        up->parts[i].marked = t != NULL && alm_txn_is_marked(t, change->was);
        ALM_TRY(touched_times(cx, up, &up->parts[i], &change->touch));
        ALM_TRY(change_part(cx, up, &up->parts[i], &change->now));
        (*n)++;
    }
    return ALM_OK;
}

/* As one durable change. */
static alm_status publish_parts(alm_ctx *cx, alm_update *up, const alm_txn_change *changes,
                                uint32_t n)
{
    alm_part_ref **add = NULL, **gone = NULL;
    alm_scan_range *touch = NULL;
    uint32_t n_add = 0;
    uint64_t lsn = 0;
    ALM_TRY(ALM_NEWN(cx, &up->arena, n + 1u, &add));
    ALM_TRY(ALM_NEWN(cx, &up->arena, n + 1u, &gone));
    ALM_TRY(ALM_NEWN(cx, &up->arena, n + 1u, &touch));
    for (uint32_t i = 0; i < n; i++) {
        gone[i] = changes[i].was;
        touch[i] = changes[i].touch;
        if (changes[i].now != NULL)
            add[n_add++] = changes[i].now;
    }
    const alm_parts_change change = {.table_id = up->v->table.id,
                                     .add = add,
                                     .n_add = n_add,
                                     .remove = gone,
                                     .n_remove = n,
                                     .data = true,
                                     .touch = touch,
                                     .n_touch = n,
                                     .alter = up->kind == ALM_UPDATE_RETYPE ? &up->alter : NULL};
    return alm_parts_commit(cx, up->st, &change, &lsn);
}

/* Into the transaction that the update belongs to, with the undos of the parts. */
static alm_status leave_parts(alm_ctx *cx, alm_update *up, alm_txn_change *changes, uint32_t n)
{
    alm_txn_table *t = NULL;
    uint32_t at = 0;
    ALM_TRY(alm_txn_table_of(cx, up->txn, &up->v->table, &t));
    for (uint32_t i = 0; i < up->v->parts->n; i++) {
        if (up->parts[i].n == 0)
            continue;
        ALM_ASSERT(changes[at].was == up->parts[i].ref);
        changes[at++].undo = up->parts[i].undo;
        up->parts[i].undo = NULL;
    }
    ALM_ASSERT(at == n);
    const alm_status e = alm_txn_take_parts(cx, up->st, t, up->v, changes, n);
    for (uint32_t i = 0; i < n; i++)
        alm_undo_free(changes[i].undo);
    return e;
}

static alm_status commit_parts(alm_ctx *cx, alm_update *up)
{
    alm_txn_change *changes = NULL;
    uint32_t n = 0;
    ALM_TRY(ALM_NEWN(cx, &up->arena, up->v->parts->n + 1u, &changes));
    alm_status st = change_parts(cx, up, changes, &n);
    if (st == ALM_OK && up->txn != NULL && n > 0)
        st = leave_parts(cx, up, changes, n);
    else if (st == ALM_OK && up->txn == NULL && (n > 0 || up->kind == ALM_UPDATE_RETYPE))
        st = publish_parts(cx, up, changes, n);
    for (uint32_t i = 0; i < n; i++)
        alm_part_ref_release(changes[i].now);
    return st;
}

alm_status alm_update_commit(alm_ctx *cx, alm_update *up, int64_t *rows)
{
    const uint64_t before = alm_rewrite_begin(cx, up->st); /* the values were read long ago */
    if (before == 0)
        cx->map_faults = up->map_faults;
    const alm_status st = commit_parts(cx, up);
    alm_rewrite_end(cx, before);
    if (st == ALM_OK)
        *rows = up->rows;
    update_free(up);
    return st;
}

void alm_update_rollback(alm_update *up)
{
    if (up != NULL)
        update_free(up);
}
