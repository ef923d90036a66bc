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
static uint64_t write_update_enter(alm_ctx *cx, const alm_update *update)
{
    const uint64_t before = cx->rewrite;
    ALM_ASSERT(update != NULL);
    ALM_ASSERT(update->rewrite != 0);
    cx->rewrite = ALM_MAX(before, update->rewrite);
    if (before == 0)
        cx->map_faults = update->map_faults;
    return before;
}

static void update_free(alm_update *update)
{
    if (update->parts != NULL) {
        for (uint32_t i = 0; i < update->v->parts->n; i++) {
            alm_rowbuf_clear(&update->parts[i].values);
            free(update->parts[i].rows);
            alm_part_ref_release(update->parts[i].done);
            alm_undo_free(update->parts[i].undo);
        }
        free(update->parts);
    }
    free(update->order);
    alm_arena_deinit(&update->scratch);
    alm_arena_deinit(&update->arena);
    if (update->snap != NULL)
        alm_snapshot_release(update->snap);
    alm_schema_release(update->made);
    alm_interning_end(&update->interning);
    alm_table_let_go(&update->held);
    free(update);
}

/* ------------------------------------------------------------------ opening */

static const alm_table *write_update_find_table(alm_ctx *cx, const alm_snapshot *snap, alm_str name,
                                                alm_status *status)
{
    const alm_table *table = alm_snapshot_find(snap, name);
    if (table == NULL)
        *status = alm_no_table(cx, snap, name, -1);
    return table;
}

/* Does the change decide which rows of a dedup table are visible? */
static bool concerns_dedup(const alm_update *update, const alm_table *table, const uint32_t *cols,
                           uint32_t n_cols)
{
    bool keys = update->kind != ALM_UPDATE_VALUES;
    for (uint32_t col = 0; col < n_cols && !keys; col++)
        keys = cols[col] < table->n_cols && table->cols[cols[col]].dedup_key;
    return table->dedup && keys;
}

/* The version that the transaction sees, all of it in parts. */
static alm_status see_own(alm_ctx *cx, alm_update *update, alm_txn_table *txn_table, alm_str name)
{
    alm_status status = ALM_OK;
    ALM_TRY(alm_txn_rows_to_parts(cx, update->st, txn_table));
    ALM_TRY(alm_txn_snapshot(cx, update->txn, &update->snap));
    const alm_table *table = write_update_find_table(cx, update->snap, name, &status);
    ALM_TRY(status);
    if (table->id != txn_table->id)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%s' was replaced", table->name);
    update->v = alm_version_of(table);
    return ALM_OK;
}

static alm_status join_txn(alm_ctx *cx, alm_update *update, alm_str name, const uint32_t *cols,
                           uint32_t n_cols)
{
    alm_snapshot *snap = NULL;
    alm_status status = ALM_OK;
    alm_txn_table *txn_table = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, update->st, &snap));
    const alm_table *table = write_update_find_table(cx, snap, name, &status);
    if (table != NULL)
        status = alm_txn_table_of(cx, update->txn, table, &txn_table);
    const bool dedup = status == ALM_OK && concerns_dedup(update, table, cols, n_cols);
    if (dedup && (alm_txn_has_rows(txn_table) || alm_txn_has_parts(txn_table)))
        status =
            alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                     "DELETE, or UPDATE of a DEDUP key, after other changes of table '%s' in the "
                     "same transaction is not supported",
                     table->name);
    if (status == ALM_OK)
        status = alm_table_hold(cx, update->st, alm_version_of(table)->tab, &update->held);
    if (status == ALM_OK && dedup)
        status = alm_compact_overlaps(cx, update->st, txn_table->id);
    if (status == ALM_OK)
        alm_txn_claim(txn_table); /* before a merge can take the table */
    alm_snapshot_release(snap);
    if (status == ALM_OK)
        status = see_own(cx, update, txn_table, name);
    alm_table_let_go(&update->held); /* what others write from here on is not seen */
    return status;
}

/* Locks the table of that name, and makes sure that the name still stands for it. */
static alm_status lock_table(alm_ctx *cx, alm_update *update, alm_str name, const uint32_t *cols,
                             uint32_t n_cols)
{
    alm_status status = ALM_OK;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, update->st, &snap));
    const alm_table *table = write_update_find_table(cx, snap, name, &status);
    uint64_t id = 0;
    if (table != NULL)
        status = alm_refuse_rows(cx, table);
    if (status == ALM_OK) {
        id = table->id;
        status = alm_table_hold(cx, update->st, alm_version_of(table)->tab, &update->held);
        if (status == ALM_OK && concerns_dedup(update, table, cols, n_cols))
            status = alm_compact_overlaps(cx, update->st, id);
    }
    alm_snapshot_release(snap);
    ALM_TRY(status);
    ALM_TRY(alm_snapshot_acquire(cx, update->st, &update->snap));
    table = write_update_find_table(cx, update->snap, name, &status);
    ALM_TRY(status);
    if (table->id != id)
        return alm_fail(cx, ALM_E_CONFLICT, -1, "table '%s' was replaced", table->name);
    update->v = alm_version_of(table);
    return ALM_OK;
}

/* Scan of all rows: its spans are those of the caller's scan, whatever columns that has. */
static alm_status prepare_scan(alm_ctx *cx, alm_update *update)
{
    const alm_version *version = update->v;
    if (version->n_lanes > 0)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "rows of table '%s' are not in parts",
                        version->table.name);
    ALM_TRY(alm_scan_new_version(cx, &update->arena, version, &(alm_scan_spec){.all = true},
                                 &update->scan));
    update->parts = calloc(version->parts->n + 1u, sizeof(*update->parts));
    if (update->parts == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory");
    for (uint32_t i = 0; i < version->parts->n; i++) {
        update->parts[i].ref = version->parts->parts[i];
        alm_rowbuf_init(&update->parts[i].values, &update->values);
    }
    return ALM_OK;
}

static alm_status prepare_columns(alm_ctx *cx, alm_update *update, const uint32_t *cols,
                                  uint32_t n_cols)
{
    const alm_version *version = update->v;
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_cols + 1, &update->cols));
    update->n_cols = n_cols;
    update->values.n_cols = n_cols;
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_cols + 1, &update->values.cols));
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_cols + 1, &update->symbols));
    ALM_TRY(alm_interning_begin(cx, version->tab, version->schema, &update->interning));
    for (uint32_t col = 0; col < n_cols; col++) {
        if (cols[col] >= version->table.n_cols)
            return alm_fail(cx, ALM_E_STALE, -1, "columns of table '%s' were changed",
                            version->table.name);
        if ((int32_t)cols[col] == version->table.ts_col)
            return alm_fail(cx, ALM_E_ARG, -1, "Designated timestamp column cannot be updated");
        update->cols[col] = cols[col];
        update->values.cols[col] = version->table.cols[cols[col]];
        update->symbols[col] = version->schema->symbols[cols[col]];
    }
    return ALM_OK;
}

static alm_status update_new(alm_ctx *cx, alm_storage *storage, alm_txn *txn, alm_update_kind kind,
                             alm_update **out)
{
    alm_update *update = calloc(1, sizeof(*update));
    if (update == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory");
    update->st = storage;
    update->txn = txn;
    update->kind = kind;
    update->order_span = SIZE_MAX;
    const uint64_t before = alm_rewrite_begin(cx, storage);
    update->rewrite = cx->rewrite;
    update->map_faults = cx->map_faults;
    alm_rewrite_end(cx, before);
    alm_arena_init(&update->arena, NULL);
    alm_arena_init(&update->scratch, NULL);
    *out = update;
    return ALM_OK;
}

static alm_status write_update_begin(alm_ctx *cx, alm_storage *storage, alm_txn *txn,
                                     alm_update_kind kind, alm_str table, const uint32_t *cols,
                                     uint32_t n_cols, alm_update **out)
{
    alm_update *update = NULL;
    ALM_TRY(update_new(cx, storage, txn, kind, &update));
    const uint64_t before = write_update_enter(cx, update);
    alm_status status = txn != NULL ? join_txn(cx, update, table, cols, n_cols)
                                    : lock_table(cx, update, table, cols, n_cols);
    if (status == ALM_OK)
        status = prepare_columns(cx, update, cols, n_cols);
    if (status == ALM_OK)
        status = prepare_scan(cx, update);
    cx->rewrite = before;
    if (status != ALM_OK) {
        update_free(update);
        return status;
    }
    *out = update;
    return ALM_OK;
}

alm_status alm_update_begin(alm_ctx *cx, alm_storage *storage, alm_txn *txn, alm_str table,
                            const uint32_t *cols, uint32_t n_cols, alm_update **out)
{
    return write_update_begin(cx, storage, txn, ALM_UPDATE_VALUES, table, cols, n_cols, out);
}

alm_status alm_delete_begin(alm_ctx *cx, alm_storage *storage, alm_txn *txn, alm_str table,
                            alm_update **out)
{
    return write_update_begin(cx, storage, txn, ALM_UPDATE_DELETE, table, NULL, 0, out);
}

alm_status alm_retype_begin(alm_ctx *cx, alm_storage *storage, const alm_table *was, uint32_t place,
                            const alm_column *col, alm_update **out)
{
    alm_update *update = NULL;
    ALM_TRY(update_new(cx, storage, NULL, ALM_UPDATE_RETYPE, &update));
    const uint64_t before = write_update_enter(cx, update);
    alm_status status = lock_table(cx, update, alm_str_of(was->name), NULL, 0);
    if (status == ALM_OK)
        status = alm_retype_prepare(cx, update, was, place, col);
    if (status == ALM_OK)
        status = prepare_scan(cx, update);
    cx->rewrite = before;
    if (status != ALM_OK) {
        update_free(update);
        return status;
    }
    *out = update;
    return ALM_OK;
}

alm_snapshot *alm_update_snapshot(alm_update *update)
{
    return update->snap;
}

/* --------------------------------------------------------------- collecting */

static update_part *write_update_part_of(alm_update *update, const alm_scan_piece *piece)
{
    const alm_part_set *set = update->v->parts;
    for (uint32_t i = 0; i < set->n; i++)
        if (set->parts[i] == piece->part)
            return &update->parts[i];
    ALM_ASSERT(false); /* pieces of a version without lanes lie in its parts */
    return NULL;
}

/* Values idx[0..n) of `cols` for rows of one part. */
static alm_status write_update_collect(alm_ctx *cx, update_part *part, const uint32_t *rows,
                                       const alm_vec *cols, const uint32_t *idx, uint32_t n_rows)
{
    if (part->n + n_rows > part->cap) {
        const size_t cap = ALM_MAX(part->cap * 2, part->n + n_rows);
        uint32_t *grown = realloc(part->rows, cap * sizeof(*grown));
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory for %zu rows", cap);
        part->rows = grown;
        part->cap = cap;
    }
    if (part->values.schema->n_cols > 0)
        ALM_TRY(alm_rowbuf_append(cx, &part->values, cols, idx, 0, n_rows));
    memcpy(part->rows + part->n, rows, n_rows * sizeof(*rows));
    part->n += n_rows;
    return ALM_OK;
}

static alm_status load_order(alm_ctx *cx, alm_update *update, size_t i)
{
    const alm_scan_span *span = &update->scan->spans[i];
    if (update->order_span == i)
        return ALM_OK;
    update->order_span = SIZE_MAX;
    if (span->rows > update->order_cap) {
        free(update->order);
        update->order_cap = 0;
        update->order = malloc((size_t)span->rows * sizeof(*update->order));
        if (update->order == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "update: no memory to merge rows");
        update->order_cap = span->rows;
    }
    ALM_TRY(alm_scan_span_order(cx, &update->scratch, update->scan, i, update->order));
    update->order_span = i;
    return ALM_OK;
}

/* Rows of a merged span: piece by piece, those that lie in it. */
static alm_status collect_merged(alm_ctx *cx, alm_update *update, size_t i, const int64_t *rows,
                                 uint32_t n_rows, const alm_vec *cols)
{
    const alm_scan_span *span = &update->scan->spans[i];
    uint32_t *at = NULL, *idx = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->scratch, n_rows, &at));
    ALM_TRY(ALM_NEWN(cx, &update->scratch, n_rows, &idx));
    ALM_TRY(load_order(cx, update, i));
    for (uint32_t piece = 0; piece < span->n_pieces; piece++) {
        uint32_t m = 0;
        for (uint32_t row = 0; row < n_rows; row++) {
            const uint64_t from = update->order[rows[row]];
            if (from >> 32 != piece)
                continue;
            at[m] = (uint32_t)from;
            idx[m++] = row;
        }
        if (m > 0)
            ALM_TRY(write_update_collect(
                cx, write_update_part_of(update, &update->scan->pieces[span->piece + piece]), at,
                cols, idx, m));
    }
    return ALM_OK;
}

static alm_status collect_direct(alm_ctx *cx, alm_update *update, size_t i, const int64_t *rows,
                                 uint32_t n_rows, const alm_vec *cols)
{
    const alm_scan_piece *piece = &update->scan->pieces[update->scan->spans[i].piece];
    uint32_t *at = NULL, *idx = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->scratch, n_rows, &at));
    ALM_TRY(ALM_NEWN(cx, &update->scratch, n_rows, &idx));
    for (uint32_t row = 0; row < n_rows; row++) {
        at[row] = (uint32_t)(piece->lo + rows[row]);
        idx[row] = row;
    }
    return write_update_collect(cx, write_update_part_of(update, piece), at, cols, idx, n_rows);
}

/* Symbols as codes of the table. */
static alm_status encode(alm_ctx *cx, alm_update *update, const alm_vec *values, uint32_t n,
                         alm_vec *cols)
{
    for (uint32_t col = 0; col < update->n_cols; col++) {
        const alm_type type = update->values.cols[col].type;
        cols[col] = values[col];
        if (type.id == ALM_T_SYMBOL) {
            uint32_t *codes = NULL;
            const size_t more = values[col].is_const ? 1 : n;
            ALM_TRY(alm_arena_bytes(cx, &update->scratch, more * sizeof(*codes), &codes));
            ALM_TRY(alm_symbols_encode(cx, update->symbols[col], &values[col], more, codes));
            cols[col] = (alm_vec){
                .type = type, .width = 4, .is_const = values[col].is_const, .data = codes};
        } else if (!alm_type_eq(values[col].type, type)) {
            return alm_fail(cx, ALM_E_INTERNAL, -1, "update: column '%s' is %s, not %s",
                            update->values.cols[col].name, alm_type_name(values[col].type),
                            alm_type_name(type));
        }
        ALM_TRY(alm_text_length_check(cx, &update->values.cols[col], &cols[col], n));
    }
    return ALM_OK;
}

static alm_status rewrite_part(alm_ctx *cx, alm_update *update, update_part *part,
                               alm_part_ref **out);

/* Parts of the span that have all their new values are written, and their values go. */
static alm_status finish_parts(alm_ctx *cx, alm_update *update, size_t i)
{
    const alm_scan_span *span = &update->scan->spans[i];
    for (uint32_t piece = 0; piece < span->n_pieces; piece++) {
        update_part *part =
            write_update_part_of(update, &update->scan->pieces[span->piece + piece]);
        if (part->done != NULL || (int64_t)part->n < part->ref->rows)
            continue;
        ALM_TRY(rewrite_part(cx, update, part, &part->done));
        alm_rowbuf_clear(&part->values);
        free(part->rows);
        part->rows = NULL;
        part->cap = 0;
    }
    return ALM_OK;
}

static alm_status write_update_take_rows(alm_ctx *cx, alm_update *update, size_t span,
                                         const int64_t *rows, uint32_t n_rows,
                                         const alm_vec *values)
{
    ALM_TRY(alm_check(cx));
    ALM_ASSERT(span < update->scan->n_spans);
    if (n_rows == 0)
        return ALM_OK;
    for (uint32_t row = 0; row < n_rows; row++)
        ALM_ASSERT(rows[row] >= 0 && rows[row] < update->scan->spans[span].rows);
    alm_arena_reset(&update->scratch);
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->scratch, update->n_cols + 1, &cols));
    ALM_TRY(encode(cx, update, values, n_rows, cols));
    update->rows += n_rows;
    ALM_TRY(update->scan->spans[span].n_pieces == 1
                ? collect_direct(cx, update, span, rows, n_rows, cols)
                : collect_merged(cx, update, span, rows, n_rows, cols));
    return update->kind == ALM_UPDATE_RETYPE ? finish_parts(cx, update, span) : ALM_OK;
}

alm_status alm_update_rows(alm_ctx *cx, alm_update *update, size_t span, const int64_t *rows,
                           uint32_t n_rows, const alm_vec *values)
{
    const uint64_t before = write_update_enter(cx, update);
    const alm_status status = write_update_take_rows(cx, update, span, rows, n_rows, values);
    cx->rewrite = before;
    return status;
}

/* ------------------------------------------------------------------ writing */

/* Room for a whole column: every row is given. */
static alm_status no_values(alm_ctx *cx, alm_update *update, const update_part *part, uint32_t col,
                            alm_vec *out)
{
    const alm_type type = update->values.cols[col].type;
    const size_t width = alm_type_width(type);
    uint8_t *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, &update->scratch, (size_t)part->ref->rows * width, &data));
    *out = (alm_vec){.type = type, .width = (uint8_t)width, .data = data};
    return ALM_OK;
}

/* Puts the collected values of column col over the old ones. */
static void write_update_put_values(const update_part *part, uint32_t col, alm_vec *into)
{
    size_t offset = 0;
    for (size_t k = 0; k < part->values.n_chunks; k++) {
        const alm_part_chunk *chunk = &part->values.chunks[k];
        const char *from = chunk->cols[col].data;
        for (uint32_t i = 0; i < chunk->rows; i++, offset++)
            memcpy((char *)into->data + (size_t)part->rows[offset] * into->width,
                   from + (size_t)i * into->width, into->width);
    }
}

/* The touched columns of a part as they are from now on. */
static alm_status new_values(alm_ctx *cx, alm_update *update, const update_part *part,
                             alm_vec **out)
{
    ALM_TRY(ALM_NEWN(cx, &update->scratch, update->n_cols, out));
    for (uint32_t col = 0; col < update->n_cols; col++) {
        ALM_TRY(alm_check(cx));
        if (update->kind == ALM_UPDATE_RETYPE)
            ALM_TRY(no_values(cx, update, part, col, &(*out)[col]));
        else
            ALM_TRY(alm_overlay_column(cx, &update->scratch, update->v, part->ref,
                                       update->cols[col], part->ref->rows, &(*out)[col]));
        write_update_put_values(part, col, &(*out)[col]);
    }
    return ALM_OK;
}

/* A Parquet part is written anew: others read the file, and know of no overlays. */
static alm_status rewrite_parquet(alm_ctx *cx, alm_update *update, const update_part *part,
                                  const alm_vec *values, alm_part_ref **out)
{
    const alm_scan_piece piece = {.part = part->ref, .hi = part->ref->rows};
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->scratch, update->v->table.n_cols, &cols));
    for (uint32_t col = 0; col < update->v->table.n_cols; col++) {
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_scan_piece_vec(cx, &update->scratch, update->v, &piece, col, &cols[col]));
    }
    for (uint32_t col = 0; col < update->n_cols; col++)
        cols[update->cols[col]] = values[col];
    return alm_overlay_whole(cx, update->st, &update->scratch, update->v, part->ref,
                             part->ref->rows, cols, out);
}

/* For a savepoint that has the part as it was. */
static alm_status note_update(alm_ctx *cx, alm_update *update, update_part *part,
                              const alm_overlay_change *change)
{
    if (!part->marked)
        return ALM_OK;
    ALM_ASSERT(update->kind == ALM_UPDATE_VALUES);
    const alm_undo_rows of = {update->v, part->ref, part->rows, part->n};
    return alm_undo_of_update(cx, update->txn->account, &update->scratch, &of, change, &part->undo);
}

static alm_status rewrite_part(alm_ctx *cx, alm_update *update, update_part *part,
                               alm_part_ref **out)
{
    alm_vec *values = NULL;
    alm_arena_reset(&update->scratch);
    update->order_span = SIZE_MAX;
    ALM_TRY(new_values(cx, update, part, &values));
    const alm_overlay_change change = {
        .cols = update->cols, .as = update->values.cols, .values = values, .n = update->n_cols};
    ALM_TRY(note_update(cx, update, part, &change));
    if (alm_part_ref_is_parquet(part->ref) && update->kind == ALM_UPDATE_VALUES)
        return rewrite_parquet(cx, update, part, values, out);
    return alm_overlay_put(cx, update->st, &update->scratch, update->v, part->ref, &change, out);
}

/* What a part becomes; *out NULL: nothing is left of it. */
static alm_status change_part(alm_ctx *cx, alm_update *update, update_part *part,
                              alm_part_ref **out)
{
    if (update->kind == ALM_UPDATE_DELETE)
        return alm_delete_part(cx, update, part, out);
    if (update->kind == ALM_UPDATE_VALUES)
        return rewrite_part(cx, update, part, out);
    if (part->done == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "table '%s': %zu of %lld rows have a new value",
                        update->v->table.name, part->n, (long long)part->ref->rows);
    *out = part->done;
    part->done = NULL;
    return ALM_OK;
}

/* The times of the rows that change in one part, for what follows the table. */
static alm_status touched_times(alm_ctx *cx, const alm_update *update, const update_part *part,
                                alm_scan_range *out)
{
    *out = (alm_scan_range){part->ref->min_ts, part->ref->max_ts};
    if (update->v->touched == NULL || update->v->table.ts_col < 0 ||
        update->kind == ALM_UPDATE_RETYPE)
        return ALM_OK;
    const alm_scan_piece piece = {.part = part->ref, .hi = part->ref->rows};
    const int64_t *ts = NULL;
    uint32_t first = UINT32_MAX, last = 0;
    ALM_TRY(alm_scan_piece_times(cx, update->v, &piece, &ts));
    for (size_t i = 0; i < part->n; i++) {
        first = ALM_MIN(first, part->rows[i]);
        last = ALM_MAX(last, part->rows[i]);
    }
    *out = (alm_scan_range){ts[first], ts[last]};
    return ALM_OK;
}

/* What becomes of each part that changes: owned by the caller, also after an error. */
static alm_status change_parts(alm_ctx *cx, alm_update *update, alm_txn_change *changes,
                               uint32_t *n)
{
    alm_txn_table *txn_table = NULL;
    if (update->txn != NULL)
        ALM_TRY(alm_txn_table_of(cx, update->txn, &update->v->table, &txn_table));
    for (uint32_t i = 0; i < update->v->parts->n; i++) {
        if (update->parts[i].n == 0 && update->kind != ALM_UPDATE_RETYPE)
            continue;
        alm_txn_change *change = &changes[*n];
        change->was = update->v->parts->parts[i];
        update->parts[i].marked = txn_table != NULL && alm_txn_is_marked(txn_table, change->was);
        ALM_TRY(touched_times(cx, update, &update->parts[i], &change->touch));
        ALM_TRY(change_part(cx, update, &update->parts[i], &change->now));
        (*n)++;
    }
    return ALM_OK;
}

/* As one durable change. */
static alm_status publish_parts(alm_ctx *cx, alm_update *update, const alm_txn_change *changes,
                                uint32_t n_changes)
{
    alm_part_ref **add = NULL, **gone = NULL;
    alm_scan_range *touch = NULL;
    uint32_t n_add = 0;
    uint64_t lsn = 0;
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_changes + 1u, &add));
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_changes + 1u, &gone));
    ALM_TRY(ALM_NEWN(cx, &update->arena, n_changes + 1u, &touch));
    for (uint32_t i = 0; i < n_changes; i++) {
        gone[i] = changes[i].was;
        touch[i] = changes[i].touch;
        if (changes[i].now != NULL)
            add[n_add++] = changes[i].now;
    }
    const alm_parts_change change = {.table_id = update->v->table.id,
                                     .add = add,
                                     .n_add = n_add,
                                     .remove = gone,
                                     .n_remove = n_changes,
                                     .data = true,
                                     .touch = touch,
                                     .n_touch = n_changes,
                                     .alter =
                                         update->kind == ALM_UPDATE_RETYPE ? &update->alter : NULL};
    return alm_parts_commit(cx, update->st, &change, &lsn);
}

/* Into the transaction that the update belongs to, with the undos of the parts. */
static alm_status leave_parts(alm_ctx *cx, alm_update *update, alm_txn_change *changes,
                              uint32_t n_changes)
{
    alm_txn_table *txn_table = NULL;
    uint32_t place = 0;
    ALM_TRY(alm_txn_table_of(cx, update->txn, &update->v->table, &txn_table));
    for (uint32_t i = 0; i < update->v->parts->n; i++) {
        if (update->parts[i].n == 0)
            continue;
        ALM_ASSERT(changes[place].was == update->parts[i].ref);
        changes[place++].undo = update->parts[i].undo;
        update->parts[i].undo = NULL;
    }
    ALM_ASSERT(place == n_changes);
    const alm_status status =
        alm_txn_take_parts(cx, update->st, txn_table, update->v, changes, n_changes);
    for (uint32_t i = 0; i < n_changes; i++)
        alm_undo_free(changes[i].undo);
    return status;
}

static alm_status write_update_commit_parts(alm_ctx *cx, alm_update *update)
{
    alm_txn_change *changes = NULL;
    uint32_t n_changes = 0;
    ALM_TRY(ALM_NEWN(cx, &update->arena, update->v->parts->n + 1u, &changes));
    alm_status status = change_parts(cx, update, changes, &n_changes);
    if (status == ALM_OK && update->txn != NULL && n_changes > 0)
        status = leave_parts(cx, update, changes, n_changes);
    else if (status == ALM_OK && update->txn == NULL &&
             (n_changes > 0 || update->kind == ALM_UPDATE_RETYPE))
        status = publish_parts(cx, update, changes, n_changes);
    for (uint32_t i = 0; i < n_changes; i++)
        alm_part_ref_release(changes[i].now);
    return status;
}

alm_status alm_update_commit(alm_ctx *cx, alm_update *update, int64_t *rows)
{
    const uint64_t before = alm_rewrite_begin(cx, update->st); /* the values were read long ago */
    if (before == 0)
        cx->map_faults = update->map_faults;
    const alm_status status = write_update_commit_parts(cx, update);
    alm_rewrite_end(cx, before);
    if (status == ALM_OK)
        *rows = update->rows;
    update_free(update);
    return status;
}

void alm_update_rollback(alm_update *update)
{
    if (update != NULL)
        update_free(update);
}
