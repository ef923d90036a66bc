/*
 * read.c - reads the spans of a scan: direct ones by pointing into the mapped file or the chunk,
 * merged ones by gathering rows in an order that is computed on the first read of the span and kept
 * in the cursor.
 *
 * Cost        A direct read is a few pointer sums per column. Entries of columns are looked up once
 *             per span and column, blocks are verified at their first touch.
 */
#include "storage/part/damage.h"
#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "type/int256.h"

/* ------------------------------------------------------------------- pieces */

static const int64_t *chunk_times(const alm_version *version, const alm_chunk *chunk)
{
    const uint32_t ts_id = version->table.cols[version->table.ts_col].id;
    const int32_t place = alm_schema_find(chunk->schema, ts_id);
    ALM_ASSERT(place >= 0); /* the designated timestamp cannot be dropped */
    return chunk->cols[place];
}

static alm_status part_times(alm_ctx *cx, const alm_scan_piece *piece, const int64_t **ts)
{
    alm_part *part = NULL;
    ALM_TRY(alm_file_part(cx, piece->part->file, &part));
    const int32_t entry = alm_part_info(part)->ts_entry;
    if (entry < 0)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s' lacks the designated timestamp",
                        alm_part_path(part));
    ALM_TRY(alm_part_touch(cx, part, (uint32_t)entry, piece->lo, piece->hi - piece->lo));
    ALM_TRY(alm_part_col_usable(cx, part, (uint32_t)entry));
    *ts = alm_part_data(part, (uint32_t)entry);
    return ALM_OK;
}

alm_status alm_scan_piece_times(alm_ctx *cx, const alm_version *version,
                                const alm_scan_piece *piece, const int64_t **ts)
{
    if (piece->part == NULL) {
        *ts = chunk_times(version, piece->chunk);
        return ALM_OK;
    }
    return alm_damage_of_table(cx, version->table.name, piece->part->file,
                               part_times(cx, piece, ts));
}

static alm_file *file_of(const alm_part_ref *ref, uint32_t col_id)
{
    return ref->n_overlays == 0 ? ref->file : alm_part_ref_file(ref, col_id);
}

static alm_status scan_read_find_col(alm_ctx *cx, const alm_part_ref *ref, uint32_t col_id,
                                     uint32_t hint, alm_part **part, int32_t *entry)
{
    ALM_TRY(alm_file_part(cx, file_of(ref, col_id), part));
    if (alm_part_info(*part)->rows != ref->rows)
        return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s' has %lld rows, not %lld",
                        alm_part_path(*part), (long long)alm_part_info(*part)->rows,
                        (long long)ref->rows);
    *entry = alm_part_find(*part, col_id, hint);
    return ALM_OK;
}

alm_status alm_scan_part_col(alm_ctx *cx, const alm_version *version, const alm_part_ref *ref,
                             uint32_t col_id, uint32_t hint, alm_part **part, int32_t *entry)
{
    const alm_status status = scan_read_find_col(cx, ref, col_id, hint, part, entry);
    return status == ALM_OK
               ? status
               : alm_damage_of_table(cx, version->table.name, file_of(ref, col_id), status);
}

/* A column that the source lacks. */
static alm_status missing_vec(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                              uint32_t col, alm_vec *out)
{
    const alm_column *def = &version->table.cols[col];
    if (def->type.id != ALM_T_SYMBOL)
        return alm_vec_null(cx, arena, def->type, out);
    uint32_t *code = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &code));
    *out =
        (alm_vec){.type = def->type, .width = 4, .is_const = true, .data = code, .dict = def->dict};
    return ALM_OK;
}

static bool type_has_null(alm_type type)
{
    return alm_type_info_of(type)->null != ALM_NULL_NONE;
}

static alm_vec scan_read_chunk_vec(const alm_version *version, const alm_chunk *chunk,
                                   int32_t place, uint32_t col)
{
    const alm_column *def = &version->table.cols[col];
    return (alm_vec){.type = def->type,
                     .width = (uint8_t)alm_type_width(def->type),
                     .no_nulls = !type_has_null(def->type) || (int32_t)col == version->table.ts_col,
                     .data = chunk->cols[place],
                     .dict = def->dict};
}

static alm_status part_vec(alm_ctx *cx, const alm_version *version, const alm_part *part,
                           uint32_t entry, uint32_t col, alm_vec *out)
{
    const alm_column *def = &version->table.cols[col];
    const alm_part_col *at = alm_part_col_at(part, entry);
    ALM_TRY(alm_part_col_usable(cx, part, entry));
    if (!alm_type_eq(at->type, def->type))
        return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s' holds column '%s' as %s, not %s",
                        alm_part_path(part), def->name, alm_type_name(at->type),
                        alm_type_name(def->type));
    if (def->dict != NULL && at->max_code >= def->dict->count)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s' has code %u in column '%s', whose dictionary has %u",
                        alm_part_path(part), at->max_code, def->name, def->dict->count - 1);
    *out = (alm_vec){.type = def->type,
                     .width = (uint8_t)at->width,
                     .no_nulls = at->nulls == 0,
                     .data = (void *)(uintptr_t)alm_part_data(part, entry),
                     .heap = alm_part_has_heap(def->type) ? alm_part_heap(part, entry) : NULL,
                     .dict = def->dict};
    return ALM_OK;
}

alm_status alm_scan_piece_vec(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                              const alm_scan_piece *piece, uint32_t col, alm_vec *out)
{
    const uint32_t id = version->table.cols[col].id;
    if (piece->part == NULL) {
        const int32_t place = alm_schema_find(piece->chunk->schema, id);
        if (place < 0)
            return missing_vec(cx, arena, version, col, out);
        *out = scan_read_chunk_vec(version, piece->chunk, place, col);
        return ALM_OK;
    }
    alm_part *part = NULL;
    int32_t entry = -1;
    ALM_TRY(alm_scan_part_col(cx, version, piece->part, id, col, &part, &entry));
    if (entry < 0)
        return missing_vec(cx, arena, version, col, out);
    alm_status status = alm_part_touch(cx, part, (uint32_t)entry, piece->lo, piece->hi - piece->lo);
    if (status == ALM_OK)
        status = part_vec(cx, version, part, (uint32_t)entry, col, out);
    return status == ALM_OK
               ? status
               : alm_damage_of_table(cx, version->table.name, file_of(piece->part, id), status);
}

alm_status alm_scan_span_order(alm_ctx *cx, alm_arena *arena, const alm_scan *scan, size_t i,
                               uint64_t *order)
{
    const alm_scan_span *span = &scan->spans[i];
    if (span->order != NULL) {
        memcpy(order, span->order, (size_t)span->rows * sizeof(*order));
        return ALM_OK;
    }
    alm_merge_src *srcs = NULL;
    uint32_t *heap = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, span->n_pieces, &srcs));
    ALM_TRY(ALM_NEWN(cx, arena, span->n_pieces, &heap));
    for (uint32_t k = 0; k < span->n_pieces; k++) {
        const alm_scan_piece *piece = &scan->pieces[span->piece + k];
        ALM_TRY(alm_scan_piece_times(cx, scan->version, piece, &srcs[k].ts));
        srcs[k].lo = piece->lo;
        srcs[k].hi = piece->hi;
    }
    alm_merge merge;
    alm_merge_init(&merge, srcs, span->n_pieces, heap);
    const int64_t n = alm_merge_next(&merge, order, span->rows);
    if (n != span->rows)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "merged %lld of %lld rows", (long long)n,
                        (long long)span->rows);
    return ALM_OK;
}

/* ------------------------------------------------------------------- cursor */

/* One column of the span at hand. */
typedef struct col_at {
    bool ready;
    alm_vec vec;    /* direct: over all rows of the source; or a const null */
    alm_part *part; /* direct from a part */
    uint32_t entry;
    alm_vec *pieces; /* merged: a vector per piece */
    uint32_t cap_pieces;
    void *buffer; /* merged: gathered values, ALM_BATCH_ROWS elements */
    uint32_t buffer_width;
    bool null_made; /* missing: made once per cursor */
    alm_vec null_vec;
} col_at;

struct alm_scan_cursor {
    const alm_scan *scan;
    alm_arena *arena;
    size_t span; /* SIZE_MAX: none yet */
    col_at *cols;
    uint64_t *order; /* merged rows of the span */
    int64_t order_cap;
    const uint64_t *order_at; /* order, or that of the scan */
};

alm_status alm_scan_cursor_new(alm_ctx *cx, alm_arena *arena, const alm_scan *scan,
                               alm_scan_cursor **out)
{
    alm_scan_cursor *cur = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &cur));
    ALM_TRY(ALM_NEWN(cx, arena, scan->n_cols + 1, &cur->cols));
    cur->scan = scan;
    cur->arena = arena;
    cur->span = SIZE_MAX;
    *out = cur;
    return ALM_OK;
}

static alm_status cursor_missing(alm_ctx *cx, alm_scan_cursor *cur, uint32_t col, col_at *at)
{
    if (!at->null_made) {
        ALM_TRY(
            missing_vec(cx, cur->arena, cur->scan->version, cur->scan->cols[col], &at->null_vec));
        at->null_made = true;
    }
    at->vec = at->null_vec;
    at->part = NULL;
    return ALM_OK;
}

/* Finds a column in the source of a direct span. */
static alm_status resolve_direct(alm_ctx *cx, alm_scan_cursor *cur, const alm_scan_piece *piece,
                                 uint32_t column, col_at *at)
{
    const alm_version *version = cur->scan->version;
    const uint32_t col = cur->scan->cols[column];
    const uint32_t id = version->table.cols[col].id;
    at->part = NULL;
    if (piece->part == NULL) {
        const int32_t pos = alm_schema_find(piece->chunk->schema, id);
        if (pos < 0)
            return cursor_missing(cx, cur, column, at);
        at->vec = scan_read_chunk_vec(version, piece->chunk, pos, col);
        return ALM_OK;
    }
    alm_part *part = NULL;
    int32_t entry = -1;
    ALM_TRY(alm_scan_part_col(cx, version, piece->part, id, col, &part, &entry));
    if (entry < 0)
        return cursor_missing(cx, cur, column, at);
    const alm_status status = part_vec(cx, version, part, (uint32_t)entry, col, &at->vec);
    if (status != ALM_OK)
        return alm_damage_of_table(cx, version->table.name, file_of(piece->part, id), status);
    at->part = part;
    at->entry = (uint32_t)entry;
    return ALM_OK;
}

/* Is there no null in rows [row, row + n) of a part, as far as its blocks tell? */
static bool blocks_no_nulls(const alm_part *part, uint32_t entry, int64_t row, int64_t n)
{
    const alm_part_block *blocks = alm_part_blocks(part, entry);
    const int64_t last = (row + n - 1) / ALM_STATS_BLOCK_ROWS;
    for (int64_t b = row / ALM_STATS_BLOCK_ROWS; b <= last; b++)
        if (blocks[b].nulls > 0)
            return false;
    return true;
}

static alm_status column_damage(alm_ctx *cx, const alm_scan_cursor *cur,
                                const alm_scan_piece *piece, uint32_t col, alm_status status)
{
    const alm_table *table = &cur->scan->version->table;
    return alm_damage_of_table(cx, table->name,
                               file_of(piece->part, table->cols[cur->scan->cols[col]].id), status);
}

static alm_status read_direct(alm_ctx *cx, alm_scan_cursor *cur, const alm_scan_span *span,
                              int64_t row, uint32_t n_rows, uint32_t col, alm_vec *out)
{
    const alm_scan_piece *piece = &cur->scan->pieces[span->piece];
    col_at *at = &cur->cols[col];
    if (!at->ready) {
        ALM_TRY(resolve_direct(cx, cur, piece, col, at));
        at->ready = true;
    }
    alm_vec vec = at->vec;
    const int64_t first = piece->lo + row;
    if (at->part != NULL) {
        const alm_status status = alm_part_touch(cx, at->part, at->entry, first, n_rows);
        if (status != ALM_OK)
            return column_damage(cx, cur, piece, col, status);
        vec.no_nulls = vec.no_nulls || blocks_no_nulls(at->part, at->entry, first, n_rows);
    }
    if (!vec.is_const)
        vec.data = (char *)vec.data + (size_t)first * vec.width;
    *out = vec;
    return ALM_OK;
}

/* ------------------------------------------------------------ merged spans */

#define DEFINE_GATHER(name, type)                                                                  \
    static void name(const alm_vec *restrict pieces, const uint64_t *restrict order, uint32_t n,   \
                     type *restrict out)                                                           \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const alm_vec *v = &pieces[order[i] >> 32];                                            \
            out[i] = ((const type *)v->data)[v->is_const ? 0 : (uint32_t)order[i]];                \
        }                                                                                          \
    }
typedef struct wide {
    uint64_t half[2];
} wide;
DEFINE_GATHER(scan_read_gather_8, uint8_t)
DEFINE_GATHER(scan_read_gather_16, uint16_t)
DEFINE_GATHER(scan_read_gather_32, uint32_t)
DEFINE_GATHER(gather_64, uint64_t)
DEFINE_GATHER(gather_wide, wide)
DEFINE_GATHER(gather_256, alm_i256)

/* Sources may hold codes of different widths: 4 bytes come out. */
static void gather_codes(const alm_vec *pieces, const uint64_t *order, uint32_t n, uint32_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = alm_vec_code(&pieces[order[i] >> 32], (uint32_t)order[i]);
}

/* Address form, so that texts of several heaps stand in one vector. */
static void gather_views(const alm_vec *pieces, const uint64_t *order, uint32_t n, alm_view *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const alm_vec *vec = &pieces[order[i] >> 32];
        out[i] = ((const alm_view *)vec->data)[vec->is_const ? 0 : (uint32_t)order[i]];
        if (!alm_view_is_null(&out[i]) && out[i].len > ALM_VIEW_INLINE)
            out[i].off += (uint64_t)(uintptr_t)vec->heap;
    }
}

static alm_status resolve_merged(alm_ctx *cx, alm_scan_cursor *cur, const alm_scan_span *span,
                                 uint32_t col, col_at *at)
{
    if (span->n_pieces > at->cap_pieces) {
        ALM_TRY(ALM_NEWN(cx, cur->arena, span->n_pieces, &at->pieces));
        at->cap_pieces = span->n_pieces;
    }
    const alm_version *version = cur->scan->version;
    const alm_type type = version->table.cols[cur->scan->cols[col]].type;
    if (at->buffer == NULL) {
        at->buffer_width = alm_type_width(type);
        ALM_TRY(alm_arena_bytes(cx, cur->arena, (size_t)ALM_BATCH_ROWS * at->buffer_width,
                                &at->buffer));
    }
    for (uint32_t piece = 0; piece < span->n_pieces; piece++)
        ALM_TRY(alm_scan_piece_vec(cx, cur->arena, version, &cur->scan->pieces[span->piece + piece],
                                   cur->scan->cols[col], &at->pieces[piece]));
    return ALM_OK;
}

static void scan_read_gather(const col_at *at, alm_type type, const uint64_t *order, uint32_t n)
{
    if (type.id == ALM_T_SYMBOL)
        gather_codes(at->pieces, order, n, at->buffer);
    else if (alm_part_has_heap(type))
        gather_views(at->pieces, order, n, at->buffer);
    else if (at->buffer_width == 1)
        scan_read_gather_8(at->pieces, order, n, at->buffer);
    else if (at->buffer_width == 2)
        scan_read_gather_16(at->pieces, order, n, at->buffer);
    else if (at->buffer_width == 4)
        scan_read_gather_32(at->pieces, order, n, at->buffer);
    else if (at->buffer_width == 8)
        gather_64(at->pieces, order, n, at->buffer);
    else if (at->buffer_width == 16)
        gather_wide(at->pieces, order, n, at->buffer);
    else
        gather_256(at->pieces, order, n, at->buffer);
}

static alm_status read_merged(alm_ctx *cx, alm_scan_cursor *cur, const alm_scan_span *span,
                              int64_t row, uint32_t n_rows, uint32_t col, alm_vec *out)
{
    col_at *at = &cur->cols[col];
    if (!at->ready) {
        ALM_TRY(resolve_merged(cx, cur, span, col, at));
        at->ready = true;
    }
    const alm_column *def = &cur->scan->version->table.cols[cur->scan->cols[col]];
    bool no_nulls = true;
    for (uint32_t piece = 0; piece < span->n_pieces; piece++)
        no_nulls = no_nulls && at->pieces[piece].no_nulls;
    scan_read_gather(at, def->type, cur->order_at + row, n_rows);
    *out = (alm_vec){.type = def->type,
                     .width = (uint8_t)at->buffer_width,
                     .no_nulls = no_nulls,
                     .data = at->buffer,
                     .dict = def->dict};
    return ALM_OK;
}

/* Makes span i the one at hand. */
static alm_status enter_span(alm_ctx *cx, alm_scan_cursor *cur, size_t i)
{
    const alm_scan_span *span = &cur->scan->spans[i];
    cur->span = SIZE_MAX;
    for (uint32_t col = 0; col < cur->scan->n_cols; col++)
        cur->cols[col].ready = false;
    if (span->n_pieces > 1 && span->order != NULL) {
        cur->order_at = span->order;
    } else if (span->n_pieces > 1) {
        if (span->rows > cur->order_cap) {
            cur->order_cap = ALM_MAX(span->rows, (int64_t)ALM_SCAN_SPAN_ROWS);
            ALM_TRY(alm_arena_bytes(cx, cur->arena, (size_t)cur->order_cap * sizeof(*cur->order),
                                    &cur->order));
        }
        ALM_TRY(alm_scan_span_order(cx, cur->arena, cur->scan, i, cur->order));
        cur->order_at = cur->order;
    }
    cur->span = i;
    return ALM_OK;
}

alm_status alm_scan_read(alm_ctx *cx, alm_scan_cursor *cur, size_t i, int64_t row, uint32_t n,
                         const bool *wanted, alm_vec *vecs)
{
    ALM_ASSERT(i < cur->scan->n_spans && n > 0 && n <= ALM_BATCH_ROWS);
    const alm_scan_span *span = &cur->scan->spans[i];
    ALM_ASSERT(row >= 0 && row + n <= span->rows);
    if (cur->span != i)
        ALM_TRY(enter_span(cx, cur, i));
    for (uint32_t col = 0; col < cur->scan->n_cols; col++) {
        if (wanted != NULL && !wanted[col])
            continue;
        if (span->n_pieces == 1)
            ALM_TRY(read_direct(cx, cur, span, row, n, col, &vecs[col]));
        else
            ALM_TRY(read_merged(cx, cur, span, row, n, col, &vecs[col]));
    }
    return ALM_OK;
}

const alm_scan_ops alm_storage_scans = {.open = alm_scan_new,
                                        .span_count = alm_scan_span_count,
                                        .span_at = alm_scan_span_at,
                                        .rows = alm_scan_rows,
                                        .cursor_new = alm_scan_cursor_new,
                                        .read = alm_scan_read,
                                        .block_stats = alm_scan_block_stats,
                                        .last_rows = alm_scan_last_rows};
