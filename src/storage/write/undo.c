/*
 * undo.c - see undo.h.
 *
 * Block       alm_undo, then an undo_col for each column, then the packed bytes of the columns. A column unpacked is its row
 *             numbers, each as the difference from the one before, and its values: fixed-width ones as in memory, texts as
 *             their lengths (ALM_VIEW_NULL: null) and behind those their bytes. Numbers and fixed-width values are stored
 *             plane by plane: first the lowest byte of all, then the next.
 */
#include "storage/write/undo.h"

#include <stdlib.h>

#include "codec/compress/block.h"
#include "storage/part/format.h"
#include "storage/scan/scan.h"
#include "storage/state.h"

typedef struct undo_col {
    uint32_t id;
    uint32_t n;              /* rows */
    size_t at;               /* of its bytes, behind the columns */
    size_t packed, unpacked; /* equal: it is not packed */
} undo_col;

typedef struct undo_maker {
    alm_arena *arena;
    alm_block_codec codec;
    alm_buf bytes;
    undo_col *cols;
    uint32_t n_cols;
} undo_maker;

enum { PACKED_MIN = 128 }; /* fewer bytes hardly become fewer */

static undo_col *undo_columns(const alm_undo *undo)
{
    return (undo_col *)(uintptr_t)(undo + 1);
}

/* --------------------------------------------------------------------------- making */

/* Byte p of value i goes to p * n + i, or comes back from there. */
static void to_planes(const uint8_t *from, size_t n, size_t width, uint8_t *dest)
{
    for (size_t p = 0; p < width; p++)
        for (size_t i = 0; i < n; i++)
            dest[p * n + i] = from[i * width + p];
}

static void from_planes(const uint8_t *from, size_t n, size_t width, uint8_t *dest)
{
    for (size_t p = 0; p < width; p++)
        for (size_t i = 0; i < n; i++)
            dest[i * width + p] = from[p * n + i];
}

/* The row numbers, ascending, each once. */
static alm_status in_order(alm_ctx *cx, alm_arena *arena, const uint32_t *rows, size_t n_rows,
                           int64_t part_rows, uint32_t **out, uint32_t *n_out)
{
    bool *chosen = NULL;
    uint32_t *sorted = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, part_rows, &chosen));
    ALM_TRY(alm_arena_bytes(cx, arena, ALM_MIN(n_rows, (size_t)part_rows) * sizeof *sorted + 1,
                            &sorted));
    for (size_t i = 0; i < n_rows; i++) {
        ALM_ASSERT(rows[i] < part_rows);
        chosen[rows[i]] = true;
    }
    uint32_t m = 0;
    for (int64_t row = 0; row < part_rows; row++)
        if (chosen[row])
            sorted[m++] = (uint32_t)row;
    *out = sorted;
    *n_out = m;
    return ALM_OK;
}

static bool same_view(const alm_view *a, const char *heap, const alm_view *b)
{
    if (alm_view_is_null(a) || alm_view_is_null(b))
        return alm_view_is_null(a) && alm_view_is_null(b);
    return alm_view_eq(a, heap, b, NULL);
}

/* Does row `row` have the same value before and after? SYMBOL: old codes may be narrower. */
static bool undo_same_value(const alm_vec *old, const alm_vec *now, size_t row)
{
    if (now->type.id == ALM_T_SYMBOL)
        return alm_vec_code(old, row) == ((const uint32_t *)now->data)[row];
    const size_t offset = old->is_const ? 0 : row;
    if (alm_part_has_heap(now->type))
        return same_view((const alm_view *)old->data + offset, old->heap,
                         (const alm_view *)now->data + row);
    return memcmp((const char *)old->data + offset * now->width,
                  (const char *)now->data + row * now->width, now->width) == 0;
}

static alm_status fixed_values(alm_ctx *cx, undo_maker *maker, const alm_vec *old,
                               const uint32_t *rows, uint32_t n_rows, alm_buf *raw)
{
    const size_t width = alm_type_width(old->type);
    uint8_t *values = NULL, *planes = NULL;
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * width, &values));
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * width, &planes));
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t code = old->type.id == ALM_T_SYMBOL ? alm_vec_code(old, rows[i]) : 0;
        const char *from = old->type.id == ALM_T_SYMBOL
                               ? (const char *)&code
                               : (const char *)old->data + (old->is_const ? 0 : rows[i] * width);
        memcpy(values + i * width, from, width);
    }
    to_planes(values, n_rows, width, planes);
    return alm_buf_append(cx, raw, planes, n_rows * width);
}

static alm_status text_values(alm_ctx *cx, undo_maker *maker, const alm_vec *old,
                              const uint32_t *rows, uint32_t n_rows, alm_buf *raw)
{
    const alm_view *views = old->data;
    uint32_t *lengths = NULL;
    uint8_t *planes = NULL;
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * sizeof *lengths, &lengths));
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * sizeof *lengths, &planes));
    for (uint32_t i = 0; i < n_rows; i++)
        lengths[i] = views[old->is_const ? 0 : rows[i]].len;
    to_planes((const uint8_t *)lengths, n_rows, sizeof *lengths, planes);
    ALM_TRY(alm_buf_append(cx, raw, planes, n_rows * sizeof *lengths));
    for (uint32_t i = 0; i < n_rows; i++) {
        const alm_view *view = &views[old->is_const ? 0 : rows[i]];
        if (!alm_view_is_null(view) && view->len > 0)
            ALM_TRY(alm_buf_append(cx, raw, alm_view_ptr(view, old->heap), view->len));
    }
    return ALM_OK;
}

static alm_status row_numbers(alm_ctx *cx, undo_maker *maker, const uint32_t *rows, uint32_t n_rows,
                              alm_buf *raw)
{
    uint32_t *steps = NULL;
    uint8_t *planes = NULL;
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * sizeof *steps, &steps));
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * sizeof *steps, &planes));
    for (uint32_t i = 0; i < n_rows; i++)
        steps[i] = i == 0 ? rows[0] : rows[i] - rows[i - 1];
    to_planes((const uint8_t *)steps, n_rows, sizeof *steps, planes);
    return alm_buf_append(cx, raw, planes, n_rows * sizeof *steps);
}

static alm_status undo_pack(alm_ctx *cx, undo_maker *maker, alm_str raw, undo_col *col)
{
    col->at = maker->bytes.len;
    col->unpacked = raw.len;
    if (raw.len >= PACKED_MIN)
        ALM_TRY(alm_block_pack(cx, &maker->codec, ALM_BLOCK_ZSTD, 1, raw, &maker->bytes));
    col->packed = maker->bytes.len - col->at;
    if (col->packed > 0 && col->packed < raw.len)
        return ALM_OK;
    maker->bytes.len = col->at;
    col->packed = raw.len;
    return alm_buf_append(cx, &maker->bytes, raw.ptr, raw.len);
}

static alm_status undo_put_column(alm_ctx *cx, undo_maker *maker, uint32_t id, const alm_vec *old,
                                  const uint32_t *rows, uint32_t n_rows)
{
    undo_col *col = &maker->cols[maker->n_cols];
    alm_buf raw;
    if (n_rows == 0)
        return ALM_OK;
    *col = (undo_col){.id = id, .n = n_rows};
    alm_buf_init(&raw, NULL);
    alm_status status = row_numbers(cx, maker, rows, n_rows, &raw);
    if (status == ALM_OK)
        status = alm_part_has_heap(old->type) ? text_values(cx, maker, old, rows, n_rows, &raw)
                                              : fixed_values(cx, maker, old, rows, n_rows, &raw);
    if (status == ALM_OK)
        status = undo_pack(cx, maker, (alm_str){raw.ptr, raw.len}, col);
    alm_buf_deinit(&raw);
    maker->n_cols += status == ALM_OK;
    return status;
}

static alm_status undo_finish(alm_ctx *cx, undo_maker *maker, alm_mem *mem, int64_t gone,
                              alm_undo **out)
{
    alm_undo *undo = NULL;
    const size_t head = sizeof *undo + maker->n_cols * sizeof(undo_col);
    const int64_t bytes = (int64_t)(head + maker->bytes.len);
    if (mem != NULL)
        ALM_TRY(alm_mem_charge(cx, mem, bytes, "savepoint"));
    const alm_status status = alm_heap_bytes(cx, (size_t)bytes, "a savepoint", &undo);
    if (status != ALM_OK) {
        if (mem != NULL)
            alm_mem_release(mem, bytes);
        return status;
    }
    *undo = (alm_undo){.mem = mem, .bytes = bytes, .gone = gone, .n_cols = maker->n_cols};
    if (maker->n_cols > 0) {
        memcpy(undo_columns(undo), maker->cols, maker->n_cols * sizeof(undo_col));
        memcpy((char *)undo + head, maker->bytes.ptr, maker->bytes.len);
    }
    *out = undo;
    return ALM_OK;
}

static void maker_deinit(undo_maker *maker)
{
    alm_block_codec_deinit(&maker->codec);
    alm_buf_deinit(&maker->bytes);
}

static alm_status changed_column(alm_ctx *cx, undo_maker *maker, const alm_version *version,
                                 const alm_part_ref *ref, uint32_t col, const alm_vec *now,
                                 const uint32_t *rows, uint32_t n_rows)
{
    const alm_scan_piece piece = {.part = ref, .hi = ref->rows};
    alm_vec old;
    uint32_t *others = NULL, n_others = 0;
    ALM_TRY(alm_scan_piece_vec(cx, maker->arena, version, &piece, col, &old));
    ALM_TRY(alm_arena_bytes(cx, maker->arena, n_rows * sizeof *others + 1, &others));
    for (uint32_t i = 0; i < n_rows; i++)
        if (!undo_same_value(&old, now, rows[i]))
            others[n_others++] = rows[i];
    return undo_put_column(cx, maker, version->table.cols[col].id, &old, others, n_others);
}

alm_status alm_undo_of_update(alm_ctx *cx, alm_mem *mem, alm_arena *arena, const alm_undo_rows *of,
                              const alm_overlay_change *change, alm_undo **out)
{
    undo_maker maker = {.arena = arena};
    uint32_t *sorted = NULL, n_sorted = 0;
    alm_buf_init(&maker.bytes, NULL);
    alm_status status = in_order(cx, arena, of->rows, of->n, of->ref->rows, &sorted, &n_sorted);
    if (status == ALM_OK)
        status = ALM_NEWN(cx, arena, change->n + 1, &maker.cols);
    for (uint32_t col = 0; col < change->n && status == ALM_OK; col++)
        status = changed_column(cx, &maker, of->v, of->ref, change->cols[col], &change->values[col],
                                sorted, n_sorted);
    if (status == ALM_OK)
        status = undo_finish(cx, &maker, mem, 0, out);
    maker_deinit(&maker);
    return status;
}

alm_status alm_undo_of_delete(alm_ctx *cx, alm_mem *mem, alm_arena *arena, const alm_undo_rows *of,
                              alm_undo **out)
{
    const alm_version *version = of->v;
    undo_maker maker = {.arena = arena};
    const alm_scan_piece piece = {.part = of->ref, .hi = of->ref->rows};
    uint32_t *sorted = NULL, n_sorted = 0;
    alm_buf_init(&maker.bytes, NULL);
    alm_status status = in_order(cx, arena, of->rows, of->n, of->ref->rows, &sorted, &n_sorted);
    if (status == ALM_OK)
        status = ALM_NEWN(cx, arena, version->table.n_cols, &maker.cols);
    for (uint32_t col = 0; col < version->table.n_cols && status == ALM_OK; col++) {
        alm_vec old;
        status = alm_scan_piece_vec(cx, arena, version, &piece, col, &old);
        if (status == ALM_OK)
            status =
                undo_put_column(cx, &maker, version->table.cols[col].id, &old, sorted, n_sorted);
    }
    if (status == ALM_OK)
        status = undo_finish(cx, &maker, mem, n_sorted, out);
    maker_deinit(&maker);
    return status;
}

void alm_undo_free(alm_undo *undo)
{
    if (undo == NULL)
        return;
    if (undo->mem != NULL)
        alm_mem_release(undo->mem, undo->bytes);
    free(undo);
}

/* ------------------------------------------------------------------------- applying */

static const undo_col *undo_find(const alm_undo *undo, uint32_t id)
{
    for (uint32_t col = 0; col < undo->n_cols; col++)
        if (undo_columns(undo)[col].id == id)
            return &undo_columns(undo)[col];
    return NULL;
}

bool alm_undo_has(const alm_undo *undo, uint32_t col_id)
{
    return undo_find(undo, col_id) != NULL;
}

int64_t alm_undo_unpacked(const alm_undo *undo, uint32_t col_id)
{
    const undo_col *col = undo_find(undo, col_id);
    return col == NULL ? 0 : (int64_t)col->unpacked;
}

static alm_status undo_unpack(alm_ctx *cx, alm_arena *arena, const alm_undo *undo,
                              const undo_col *col, const uint8_t **out)
{
    const char *bytes = (const char *)(undo_columns(undo) + undo->n_cols) + col->at;
    uint8_t *raw = NULL;
    alm_block_codec codec = {0};
    if (col->packed == col->unpacked) {
        *out = (const uint8_t *)bytes;
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, arena, col->unpacked, &raw));
    const char *why =
        alm_block_unpack(&codec, ALM_BLOCK_ZSTD, (alm_str){bytes, col->packed}, raw, col->unpacked);
    alm_block_codec_deinit(&codec);
    if (why != NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "values of a savepoint: %s", why);
    *out = raw;
    return ALM_OK;
}

static alm_status texts_of(alm_ctx *cx, alm_arena *texts, alm_arena *scratch, const uint8_t *raw,
                           uint32_t n_lengths, alm_view *out)
{
    uint32_t *lengths = NULL;
    size_t bytes = 0;
    ALM_TRY(alm_arena_bytes(cx, scratch, n_lengths * sizeof *lengths, &lengths));
    from_planes(raw, n_lengths, sizeof *lengths, (uint8_t *)lengths);
    for (uint32_t i = 0; i < n_lengths; i++)
        bytes += lengths[i] == ALM_VIEW_NULL ? 0 : lengths[i];
    char *text = NULL;
    ALM_TRY(alm_arena_bytes(cx, texts, bytes + 1, &text));
    memcpy(text, raw + n_lengths * sizeof *lengths, bytes);
    for (uint32_t i = 0; i < n_lengths; i++) {
        out[i] = lengths[i] == ALM_VIEW_NULL ? alm_view_null()
                                             : alm_view_of((alm_str){text, lengths[i]});
        text += lengths[i] == ALM_VIEW_NULL ? 0 : lengths[i];
    }
    return ALM_OK;
}

/* Values of rows that are there. */
static void undo_put_back(uint8_t *data, size_t width, const uint32_t *rows, uint32_t n_rows,
                          const uint8_t *values)
{
    for (uint32_t i = 0; i < n_rows; i++)
        memcpy(data + rows[i] * width, values + i * width, width);
}

/* Rows that went come between those that stayed, which move up from the last one on. */
static void insert_back(uint8_t *data, size_t width, int64_t had, const uint32_t *rows, uint32_t n,
                        const uint8_t *values)
{
    size_t end = (size_t)had + n; /* of the rows that are in their place; `left` rows are not */
    size_t left = (size_t)had;
    for (uint32_t i = n; i-- > 0;) {
        const size_t move = end - rows[i] - 1;
        ALM_ASSERT(move <= left);
        left -= move;
        memmove(data + (rows[i] + 1) * width, data + left * width, move * width);
        memcpy(data + rows[i] * width, values + i * width, width);
        end = rows[i];
    }
    ALM_ASSERT(left == end); /* what stands before the first of them does not move */
}

alm_status alm_undo_apply(alm_ctx *cx, alm_arena *texts, alm_arena *scratch, const alm_undo *undo,
                          uint32_t col_id, alm_vec *column, int64_t *rows)
{
    const undo_col *col = undo_find(undo, col_id);
    const uint8_t *raw = NULL;
    uint8_t *values = NULL;
    uint32_t *at = NULL;
    if (col == NULL)
        return ALM_OK;
    const size_t width = alm_type_width(column->type);
    ALM_ASSERT(undo->gone == 0 || undo->gone == col->n);
    ALM_TRY(alm_check(cx));
    ALM_TRY(undo_unpack(cx, scratch, undo, col, &raw));
    ALM_TRY(alm_arena_bytes(cx, scratch, col->n * sizeof *at, &at));
    ALM_TRY(alm_arena_bytes(cx, scratch, col->n * width, &values));
    from_planes(raw, col->n, sizeof *at, (uint8_t *)at);
    for (uint32_t i = 1; i < col->n; i++)
        at[i] += at[i - 1];
    raw += col->n * sizeof *at;
    if (alm_part_has_heap(column->type))
        ALM_TRY(texts_of(cx, texts, scratch, raw, col->n, (alm_view *)(void *)values));
    else
        from_planes(raw, col->n, width, values);
    ALM_ASSERT(at[col->n - 1] < *rows + undo->gone);
    if (undo->gone > 0)
        insert_back(column->data, width, *rows, at, col->n, values);
    else
        undo_put_back(column->data, width, at, col->n, values);
    *rows += undo->gone;
    return ALM_OK;
}
