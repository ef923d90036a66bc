/*
 * write.c - writes a part file (format: part.h), column by column, block by block.
 *
 * Cost        A block whose rows lie together in one chunk in the form of the file is written from
 *             where it lies; others are gathered into one block buffer. Bytes are read once for the
 *             gather, once for checksum and statistics while they are in the cache. What is small and follows each
 *             other in the file is written with one call.
 * Memory      one block of 16-byte values, one heap buffer, footer; see alm_part_sort for the order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/part/format.h"
#include "storage/part/inner.h"
#include "storage/part/part.h"
#include "storage/part/stats.h"
#include "type/int256.h"
#include "type/value.h"

enum { HEAP_BUFFER = 1 << 20, SMALL_BUFFER = 64 << 10, CACHE_LINE = 64 };

typedef struct part_writer {
    const alm_io *io;
    int handle;
    int64_t base; /* where the part begins in its file */
    char path[1024];
    const alm_part_spec *spec;
    alm_part_plan *plan;   /* nothing is written, it is only said what would be; or NULL */
    const uint64_t *order; /* NULL: rows as the chunks come */
    int64_t rows;
    uint32_t n_blocks;
    uint32_t n_cols; /* that have an entry */
    uint64_t offset; /* end of what is written */
    uint8_t
        *small; /* bytes [small_at, small_at + small_len) of the file that are not written yet */
    uint64_t small_at;
    size_t small_len;
    uint8_t *block; /* ALM_STATS_BLOCK_ROWS of the widest values */
    char *heap;     /* long texts that are not written yet */
    size_t heap_len;
    uint64_t heap_at; /* bytes of the heap segment written */
    int32_t *last;    /* ALM_PART_LAST_MAX entries */
    alm_part_col *cols;
    alm_part_block *blocks;
    alm_part_footer footer;
    uint32_t footer_crc;
} part_writer;

/* Where a column without order stands: row `row` of chunk `chunk` comes next. */
typedef struct chunk_at {
    size_t chunk;
    uint32_t row;
} chunk_at;

/* Offsets are of the part. */
static alm_status part_write_out(alm_ctx *cx, const part_writer *writer, const void *bytes,
                                 size_t n, uint64_t offset)
{
    return alm_io_write_all(cx, writer->io, writer->handle, bytes, n,
                            writer->base + (int64_t)offset, writer->path);
}

static alm_status write_small(alm_ctx *cx, part_writer *writer)
{
    const size_t n = writer->small_len;
    writer->small_len = 0;
    return n == 0 ? ALM_OK : part_write_out(cx, writer, writer->small, n, writer->small_at);
}

/* Does it go on where the small buffer ends, but for padding? A gap below a cache line is nothing else. What is written out
 * of turn is the heap of a text column that is flushed before the last values: if that is less than a cache line, the rest
 * of it does not fit here. */
_Static_assert(HEAP_BUFFER - CACHE_LINE > SMALL_BUFFER, "the rest of a heap that was flushed");
static bool follows_small(const part_writer *writer, size_t n, uint64_t offset)
{
    const uint64_t end = writer->small_at + writer->small_len;
    return writer->small_len > 0 && offset >= end && offset - end < CACHE_LINE &&
           offset + n - writer->small_at <= SMALL_BUFFER;
}

static alm_status write_at(alm_ctx *cx, part_writer *writer, const void *bytes, size_t n,
                           uint64_t offset)
{
    if (writer->plan != NULL || n == 0)
        return ALM_OK;
    if (!follows_small(writer, n, offset)) {
        ALM_TRY(write_small(cx, writer));
        if (n > SMALL_BUFFER / 2)
            return part_write_out(cx, writer, bytes, n, offset);
        writer->small_at = offset;
    }
    const size_t place = (size_t)(offset - writer->small_at);
    memset(writer->small + writer->small_len, 0, place - writer->small_len);
    memcpy(writer->small + place, bytes, n);
    writer->small_len = place + n;
    return ALM_OK;
}

static uint64_t part_write_align_up(uint64_t offset, uint64_t align)
{
    return (offset + align - 1) / align * align;
}

/* What a segment of so many bytes is aligned to. The image of a Parquet part has whole pages: its columns are given back
 * one by one. */
static uint64_t align_of(const part_writer *writer, uint64_t bytes)
{
    if (writer->plan != NULL || bytes >= ALM_PART_LARGE)
        return ALM_PART_PAGE;
    return bytes >= CACHE_LINE ? CACHE_LINE : ALM_PART_ALIGN;
}

/* ------------------------------------------------------- gathering a block */

/* Copies rows of one chunk, or the rows an order names, as elements of a fixed width. */
#define DEFINE_COPY(name, type)                                                                    \
    static void name##_order(const alm_part_spec *s, uint32_t col, const uint64_t *restrict order, \
                             uint32_t n, type *restrict out)                                       \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const alm_vec *v = &s->chunks[order[i] >> 32].cols[col];                               \
            out[i] = ((const type *)v->data)[v->is_const ? 0 : (uint32_t)order[i]];                \
        }                                                                                          \
    }
typedef struct wide {
    uint64_t half[2];
} wide;
DEFINE_COPY(copy8, uint8_t)
DEFINE_COPY(copy16, uint16_t)
DEFINE_COPY(copy32, uint32_t)
DEFINE_COPY(copy64, uint64_t)
DEFINE_COPY(copy128, wide)
DEFINE_COPY(copy256, alm_i256)

static void copy_ordered(const alm_part_spec *part_spec, uint32_t col, uint32_t width,
                         const uint64_t *order, uint32_t n, void *out)
{
    switch (width) {
    case 1:
        copy8_order(part_spec, col, order, n, out);
        break;
    case 2:
        copy16_order(part_spec, col, order, n, out);
        break;
    case 4:
        copy32_order(part_spec, col, order, n, out);
        break;
    case 8:
        copy64_order(part_spec, col, order, n, out);
        break;
    case 32:
        copy256_order(part_spec, col, order, n, out);
        break;
    default:
        ALM_ASSERT(width == 16);
        copy128_order(part_spec, col, order, n, out);
        break;
    }
}

static void copy_run(const alm_vec *vec, uint32_t row, uint32_t n_rows, uint32_t width,
                     uint8_t *out)
{
    if (!vec->is_const) {
        memcpy(out, (const uint8_t *)vec->data + (size_t)row * width, (size_t)n_rows * width);
        return;
    }
    for (uint32_t i = 0; i < n_rows; i++)
        memcpy(out + (size_t)i * width, vec->data, width);
}

static inline uint32_t part_write_code_at(const alm_vec *vec, uint32_t row)
{
    return vec->width == sizeof(alm_view) ? 0
                                          : alm_vec_code(vec, row); /* const null view: missing */
}

static void store_codes(const uint32_t *restrict codes, uint32_t n, uint32_t width, void *out)
{
    if (width == 1) {
        for (uint32_t i = 0; i < n; i++)
            ((uint8_t *)out)[i] = (uint8_t)codes[i];
    } else if (width == 2) {
        for (uint32_t i = 0; i < n; i++)
            ((uint16_t *)out)[i] = (uint16_t)codes[i];
    } else {
        memcpy(out, codes, (size_t)n * sizeof(*codes));
    }
}

/* Codes of up to 1,024 rows at a time go through a small array. */
static void copy_codes_run(const alm_vec *vec, uint32_t row, uint32_t n_rows, uint32_t width,
                           uint8_t *out)
{
    uint32_t codes[1024];
    for (uint32_t done = 0; done < n_rows;) {
        const uint32_t m = ALM_MIN(n_rows - done, (uint32_t)ALM_COUNT(codes));
        for (uint32_t i = 0; i < m; i++)
            codes[i] = part_write_code_at(vec, row + done + i);
        store_codes(codes, m, width, out + (size_t)done * width);
        done += m;
    }
}

static void copy_codes_ordered(const alm_part_spec *part_spec, uint32_t col, uint32_t width,
                               const uint64_t *order, uint32_t n, uint8_t *out)
{
    uint32_t codes[1024];
    for (uint32_t done = 0; done < n;) {
        const uint32_t m = ALM_MIN(n - done, (uint32_t)ALM_COUNT(codes));
        for (uint32_t i = 0; i < m; i++) {
            const uint64_t place = order[done + i];
            codes[i] =
                part_write_code_at(&part_spec->chunks[place >> 32].cols[col], (uint32_t)place);
        }
        store_codes(codes, m, width, out + (size_t)done * width);
        done += m;
    }
}

void alm_part_gather(const alm_part_spec *spec, uint32_t col, const uint64_t *order, uint32_t n,
                     void *out)
{
    const alm_type type = spec->cols[col].type;
    if (type.id == ALM_T_SYMBOL)
        copy_codes_ordered(spec, col, sizeof(uint32_t), order, n, out);
    else
        copy_ordered(spec, col, alm_type_width(type), order, n, out);
}

/* ------------------------------------------------------------------- texts */

static alm_status heap_flush(alm_ctx *cx, part_writer *writer, const alm_part_col *col)
{
    if (writer->heap_len == 0)
        return ALM_OK;
    ALM_TRY(write_at(cx, writer, writer->heap, writer->heap_len, col->heap_off + writer->heap_at));
    writer->heap_at += writer->heap_len;
    writer->heap_len = 0;
    return ALM_OK;
}

/* Takes one long text into the heap segment. */
static alm_status heap_put(alm_ctx *cx, part_writer *writer, const alm_part_col *col,
                           const char *text, size_t len, alm_part_block *block)
{
    block->heap_crc = alm_crc32c(block->heap_crc, text, len);
    if (writer->heap_len + len > HEAP_BUFFER)
        ALM_TRY(heap_flush(cx, writer, col));
    if (len > HEAP_BUFFER) {
        ALM_TRY(write_at(cx, writer, text, len, col->heap_off + writer->heap_at));
        writer->heap_at += len;
        return ALM_OK;
    }
    memcpy(writer->heap + writer->heap_len, text, len);
    writer->heap_len += len;
    return ALM_OK;
}

/* Appends one view to the block in offset form. */
static inline alm_status put_view(alm_ctx *cx, part_writer *writer, const alm_part_col *col,
                                  const alm_vec *vec, uint32_t row, alm_part_block *block,
                                  alm_view *out)
{
    const alm_view *in = &((const alm_view *)vec->data)[vec->is_const ? 0 : row];
    if (alm_view_is_null(in)) {
        *out = alm_view_null();
        return ALM_OK;
    }
    *out = *in;
    if (in->len <= ALM_VIEW_INLINE)
        return ALM_OK;
    out->off = writer->heap_at + writer->heap_len;
    return heap_put(cx, writer, col, alm_view_ptr(in, vec->heap), in->len, block);
}

/* Moves `at` on by n rows; calls for each run inside one chunk are made by the callers' loops. */
static uint32_t run_of(const part_writer *writer, chunk_at *at, uint32_t n)
{
    while (at->row == writer->spec->chunks[at->chunk].rows) {
        at->chunk++;
        at->row = 0;
    }
    return ALM_MIN(n, writer->spec->chunks[at->chunk].rows - at->row);
}

static alm_status gather_text(alm_ctx *cx, part_writer *writer, uint32_t col,
                              const alm_part_col *entry, chunk_at *at, int64_t row, uint32_t n,
                              alm_part_block *block)
{
    alm_view *out = (alm_view *)(void *)writer->block;
    if (writer->order != NULL) {
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t o = writer->order[row + i];
            ALM_TRY(put_view(cx, writer, entry, &writer->spec->chunks[o >> 32].cols[col],
                             (uint32_t)o, block, &out[i]));
        }
    } else {
        for (uint32_t done = 0; done < n;) {
            const uint32_t m = run_of(writer, at, n - done);
            const alm_vec *vec = &writer->spec->chunks[at->chunk].cols[col];
            for (uint32_t i = 0; i < m; i++)
                ALM_TRY(put_view(cx, writer, entry, vec, at->row + i, block, &out[done + i]));
            at->row += m;
            done += m;
        }
    }
    block->heap_end = writer->heap_at + writer->heap_len;
    return ALM_OK;
}

/* Bytes of rows [row, row + n) in the form of the file. */
static const uint8_t *gather_fixed(part_writer *writer, uint32_t col, const alm_part_col *entry,
                                   chunk_at *at, int64_t row, uint32_t n)
{
    const bool codes = entry->type.id == ALM_T_SYMBOL;
    const uint32_t width = entry->width;
    if (writer->order != NULL) {
        if (codes)
            copy_codes_ordered(writer->spec, col, width, writer->order + row, n, writer->block);
        else
            copy_ordered(writer->spec, col, width, writer->order + row, n, writer->block);
        return writer->block;
    }
    for (uint32_t done = 0; done < n;) {
        const uint32_t m = run_of(writer, at, n - done);
        const alm_vec *vec = &writer->spec->chunks[at->chunk].cols[col];
        const uint32_t first = at->row;
        at->row += m;
        if (m == n && !vec->is_const && vec->width == width)
            return (const uint8_t *)vec->data + (size_t)first * width;
        if (codes && (vec->is_const || vec->width != width))
            copy_codes_run(vec, first, m, width, writer->block + (size_t)done * width);
        else
            copy_run(vec, first, m, width, writer->block + (size_t)done * width);
        done += m;
    }
    return writer->block;
}

/* ----------------------------------------------------------------- columns */

static alm_status largest_code(alm_ctx *cx, const part_writer *writer, uint32_t col, uint32_t *out)
{
    uint32_t most = 0;
    for (size_t c = 0; c < writer->spec->n_chunks; c++) {
        ALM_TRY(alm_check(cx));
        const alm_part_chunk *chunk = &writer->spec->chunks[c];
        const alm_vec *vec = &chunk->cols[col];
        const uint32_t n = vec->is_const ? ALM_MIN(chunk->rows, 1u) : chunk->rows;
        if (vec->width == 4) {
            const uint32_t *codes = vec->data;
            for (uint32_t i = 0; i < n; i++)
                most = codes[i] > most ? codes[i] : most;
        } else {
            for (uint32_t i = 0; i < n; i++)
                most = ALM_MAX(most, part_write_code_at(vec, i));
        }
    }
    *out = most;
    return ALM_OK;
}

static void note_last(int32_t *restrict last, const alm_part_col *col, const uint8_t *bytes,
                      int64_t row, uint32_t n_bytes)
{
    if (col->width == 1) {
        for (uint32_t i = 0; i < n_bytes; i++)
            last[bytes[i]] = (int32_t)(row + i);
    } else if (col->width == 2) {
        const uint16_t *codes = (const uint16_t *)(const void *)bytes;
        for (uint32_t i = 0; i < n_bytes; i++)
            last[codes[i]] = (int32_t)(row + i);
    } else {
        const uint32_t *codes = (const uint32_t *)(const void *)bytes;
        for (uint32_t i = 0; i < n_bytes; i++)
            last[codes[i]] = (int32_t)(row + i);
    }
}

static alm_status open_column(alm_ctx *cx, part_writer *writer, uint32_t col, alm_part_col *entry)
{
    const alm_part_coldef *def = &writer->spec->cols[col];
    *entry = (alm_part_col){.id = def->id, .type = def->type, .width = alm_type_width(def->type)};
    if (def->type.id == ALM_T_SYMBOL) {
        ALM_TRY(largest_code(cx, writer, col, &entry->max_code));
        entry->width = entry->max_code <= UINT8_MAX ? 1 : entry->max_code <= UINT16_MAX ? 2 : 4;
        if (entry->max_code < ALM_PART_LAST_MAX) {
            entry->n_last = entry->max_code + 1;
            memset(writer->last, 0xff, entry->n_last * sizeof(*writer->last));
        }
    }
    const uint64_t bytes = (uint64_t)writer->rows * entry->width;
    const uint64_t align = align_of(writer, bytes);
    entry->data_off = part_write_align_up(writer->offset, align);
    writer->offset = entry->data_off + bytes;
    if (alm_part_has_heap(def->type)) /* its length is not known yet, but it is of the same order */
        writer->offset = entry->heap_off = part_write_align_up(writer->offset, align);
    writer->heap_len = 0;
    writer->heap_at = 0;
    return ALM_OK;
}

/* Heap or last rows behind the data. */
static alm_status close_column(alm_ctx *cx, part_writer *writer, alm_part_col *entry)
{
    if (alm_part_has_heap(entry->type)) {
        ALM_TRY(heap_flush(cx, writer, entry));
        entry->heap_bytes = writer->heap_at;
        writer->offset = entry->heap_off + entry->heap_bytes;
    }
    if (entry->n_last > 0) {
        const size_t bytes = entry->n_last * sizeof(*writer->last);
        entry->last_off = part_write_align_up(writer->offset, align_of(writer, bytes));
        entry->last_crc = alm_crc32c(0, writer->last, bytes);
        ALM_TRY(write_at(cx, writer, writer->last, bytes, entry->last_off));
        if (writer->plan != NULL)
            ALM_TRY(alm_buf_append(cx, &writer->plan->last, writer->last, bytes));
        writer->offset = entry->last_off + bytes;
    }
    return ALM_OK;
}

#define DEFINE_ONE_NULL(name, type, NULLV)                                                         \
    static bool name(const type *restrict in, uint32_t n, type *restrict out)                      \
    {                                                                                              \
        bool same = true;                                                                          \
        type null;                                                                                 \
        alm_value_set_null(NULLV, &null);                                                          \
        for (uint32_t i = 0; i < n; i++)                                                           \
            same &= in[i] - in[i] == 0 || memcmp(&in[i], &null, sizeof null) == 0;                 \
        for (uint32_t i = 0; i < n && !same; i++)                                                  \
            out[i] = in[i] - in[i] == 0 ? in[i] : null;                                            \
        return same;                                                                               \
    }
DEFINE_ONE_NULL(one_null32, float, ALM_TY(FLOAT))
DEFINE_ONE_NULL(one_null64, double, ALM_TY(DOUBLE))

/* What is not a finite number is null and reads as one bit pattern from a Parquet file. */
static const uint8_t *one_null(part_writer *writer, alm_type type, const uint8_t *bytes, uint32_t n)
{
    const void *input = bytes;
    void *out = writer->block;
    if (type.id == ALM_T_FLOAT)
        return one_null32(input, n, out) ? bytes : writer->block;
    if (type.id == ALM_T_DOUBLE)
        return one_null64(input, n, out) ? bytes : writer->block;
    return bytes;
}

static alm_status write_column(alm_ctx *cx, part_writer *writer, uint32_t col, alm_part_col *entry,
                               alm_part_block *blocks)
{
    ALM_TRY(open_column(cx, writer, col, entry));
    chunk_at at = {0};
    for (uint32_t block = 0; block < writer->n_blocks; block++) {
        ALM_TRY(alm_check(cx));
        const int64_t row = (int64_t)block * ALM_STATS_BLOCK_ROWS;
        const uint32_t n = (uint32_t)ALM_MIN(writer->rows - row, (int64_t)ALM_STATS_BLOCK_ROWS);
        const uint8_t *bytes = writer->block;
        if (alm_part_has_heap(entry->type))
            ALM_TRY(gather_text(cx, writer, col, entry, &at, row, n, &blocks[block]));
        else
            bytes = gather_fixed(writer, col, entry, &at, row, n);
        if (writer->plan != NULL)
            bytes = one_null(writer, entry->type, bytes, n);
        const size_t size = (size_t)n * entry->width;
        ALM_TRY(write_at(cx, writer, bytes, size, entry->data_off + (uint64_t)row * entry->width));
        blocks[block].crc = alm_crc32c(0, bytes, size);
        alm_part_block_stats(entry->type, entry->width, bytes, n, &blocks[block]);
        entry->nulls += blocks[block].nulls;
        if (entry->n_last > 0)
            note_last(writer->last, entry, bytes, row, n);
    }
    return close_column(cx, writer, entry);
}

/* -------------------------------------------------------------------- file */

static alm_status part_write_header(alm_ctx *cx, part_writer *writer)
{
    alm_part_header head = {
        .version = ALM_PART_VERSION, .align = ALM_PART_ALIGN, .table_id = writer->spec->table_id};
    memcpy(head.magic, ALM_PART_MAGIC, sizeof(head.magic));
    head.crc = alm_crc32c(0, &head, offsetof(alm_part_header, crc));
    uint8_t bytes[ALM_PART_HEADER] = {0};
    memcpy(bytes, &head, sizeof(head));
    writer->offset = sizeof(bytes);
    return write_at(cx, writer, bytes, sizeof(bytes), 0);
}

/* Footer and trailer in one write. */
static alm_status write_footer(alm_ctx *cx, part_writer *writer, int64_t *file_bytes)
{
    const size_t cols = writer->n_cols * sizeof(alm_part_col);
    const size_t blocks = (size_t)writer->n_cols * writer->n_blocks * sizeof(alm_part_block);
    const size_t footer = sizeof(alm_part_footer) + cols + blocks;
    char *buf = malloc(footer + ALM_PART_TRAILER);
    if (buf == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the footer of '%s'", writer->path);
    memcpy(buf, &writer->footer, sizeof(writer->footer));
    memcpy(buf + sizeof(writer->footer), writer->cols, cols);
    memcpy(buf + sizeof(writer->footer) + cols, writer->blocks, blocks);
    writer->offset = part_write_align_up(writer->offset, ALM_PART_ALIGN);
    alm_part_trailer tail = {.footer_off = writer->offset,
                             .footer_bytes = footer,
                             .crc = alm_crc32c(0, buf, footer),
                             .version = ALM_PART_VERSION};
    memcpy(tail.magic, ALM_PART_END_MAGIC, sizeof(tail.magic));
    memcpy(buf + footer, &tail, sizeof(tail));
    alm_status status = write_at(cx, writer, buf, footer + sizeof(tail), writer->offset);
    free(buf);
    if (status == ALM_OK)
        status = write_small(cx, writer);
    *file_bytes = (int64_t)(writer->offset + footer + sizeof(tail));
    writer->footer_crc = tail.crc;
    return status;
}

/* Column numbers of the spec by ascending id: at most a few thousand, nearly in order. */
static void order_columns(const alm_part_spec *spec, uint32_t *by_id)
{
    for (uint32_t i = 0; i < spec->n_cols; i++) {
        uint32_t place = i;
        for (; place > 0 && spec->cols[by_id[place - 1]].id > spec->cols[i].id; place--)
            by_id[place] = by_id[place - 1];
        by_id[place] = i;
    }
}

/* Leaves out of by_id, which is in order of ids, the columns that need no bytes. A Parquet file has them all. */
static alm_status leave_out(alm_ctx *cx, part_writer *writer, uint32_t *by_id)
{
    const uint32_t n_cols = writer->spec->n_cols;
    writer->n_cols = writer->plan != NULL ? n_cols : 0;
    for (uint32_t i = 0; writer->plan == NULL && i < n_cols; i++) {
        const uint32_t col = by_id[i];
        bool missing = false;
        if ((int32_t)col != writer->spec->ts_col)
            ALM_TRY(
                alm_part_is_missing(cx, writer->spec, col, writer->order, writer->rows, &missing));
        if (!missing)
            by_id[writer->n_cols++] = col;
    }
    if (writer->n_cols == 0) /* by_id[0] was not written over */
        writer->n_cols = 1;
    return ALM_OK;
}

static void part_write_set_times(part_writer *writer)
{
    writer->footer.min_ts = INT64_MAX;
    writer->footer.max_ts = INT64_MIN;
    if (writer->footer.ts_entry < 0)
        return;
    const alm_part_block *blocks =
        writer->blocks + (size_t)writer->footer.ts_entry * writer->n_blocks;
    writer->footer.min_ts = (int64_t)blocks[0].min; /* rows are in order and have no null */
    writer->footer.max_ts = (int64_t)blocks[writer->n_blocks - 1].max;
}

static alm_status write_columns(alm_ctx *cx, part_writer *writer, const uint32_t *by_id)
{
    writer->footer = (alm_part_footer){.table_id = writer->spec->table_id,
                                       .database_id = writer->spec->database_id,
                                       .file_id = writer->spec->file_id,
                                       .rows = writer->rows,
                                       .ts_entry = -1,
                                       .n_cols = writer->n_cols,
                                       .n_blocks = writer->n_blocks,
                                       .block_rows = ALM_STATS_BLOCK_ROWS};
    for (uint32_t i = 0; i < writer->n_cols; i++) {
        if ((int32_t)by_id[i] == writer->spec->ts_col)
            writer->footer.ts_entry = (int32_t)i;
        ALM_TRY(write_column(cx, writer, by_id[i], &writer->cols[i],
                             writer->blocks + (size_t)i * writer->n_blocks));
    }
    part_write_set_times(writer);
    return ALM_OK;
}

static alm_status part_write_file(alm_ctx *cx, part_writer *writer, const uint32_t *by_id,
                                  int64_t *bytes)
{
    ALM_TRY(part_write_header(cx, writer));
    ALM_TRY(write_columns(cx, writer, by_id));
    ALM_TRY(write_footer(cx, writer, bytes));
    const int code = writer->spec->later ? 0 : writer->io->sync(writer->io, writer->handle);
    return code < 0 ? alm_io_fail(cx, code, writer->path) : ALM_OK;
}

/* Does the part go behind others? Texts are not counted, whose length is not known yet. */
static bool is_packed(const part_writer *writer, const uint32_t *by_id)
{
    const alm_part_pack *pack = writer->spec->pack;
    uint64_t bytes = 0;
    for (uint32_t i = 0; pack != NULL && i < writer->n_cols; i++)
        bytes += (uint64_t)writer->rows * alm_type_width(writer->spec->cols[by_id[i]].type) +
                 sizeof(alm_part_col) + writer->n_blocks * sizeof(alm_part_block);
    return pack != NULL && bytes <= (uint64_t)pack->bytes_max;
}

/* What a failed write leaves there is not named, and written over. */
static alm_status add_to_pack(alm_ctx *cx, part_writer *writer, const uint32_t *by_id,
                              int64_t *bytes)
{
    alm_part_pack *pack = writer->spec->pack;
    ALM_ASSERT(writer->spec->later && pack->end % ALM_PART_PACKED == 0);
    writer->handle = pack->handle;
    writer->base = pack->end;
    (void)snprintf(writer->path, sizeof(writer->path), "%s", pack->path);
    const alm_status status = part_write_file(cx, writer, by_id, bytes);
    writer->handle = -1;
    if (status == ALM_OK)
        pack->end =
            (int64_t)part_write_align_up((uint64_t)(writer->base + *bytes), ALM_PART_PACKED);
    return status;
}

/* Creates the file, writes it, makes its name durable (unless that comes later); removes it when anything fails. */
static alm_status create_file(alm_ctx *cx, part_writer *writer, const char *dir,
                              const uint32_t *by_id, int64_t *bytes)
{
    writer->handle = writer->io->open(writer->io, writer->path,
                                      ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (writer->handle < 0)
        return alm_io_fail(cx, writer->handle, writer->path);
    alm_status status = part_write_file(cx, writer, by_id, bytes);
    if (status == ALM_OK && writer->spec->later)
        return ALM_OK;
    const int code = writer->io->close(writer->io, writer->handle);
    writer->handle = -1;
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(cx, code, writer->path);
    if (status == ALM_OK) {
        const int synced = writer->io->sync_dir(writer->io, dir);
        if (synced < 0)
            status = alm_io_fail(cx, synced, dir);
    }
    if (status != ALM_OK)
        (void)writer->io->unlink(
            writer->io, writer->path); /* not named by the catalogue: a leftover at worst */
    return status;
}

/* Row count and, if asked, the order of the rows. */
static alm_status settle_order(alm_ctx *cx, part_writer *writer, uint64_t **sorted)
{
    const alm_part_spec *spec = writer->spec;
    *sorted = NULL;
    writer->order = spec->order;
    writer->rows = spec->n_order;
    if (spec->order == NULL && spec->sort && spec->ts_col >= 0) {
        ALM_TRY(alm_part_sort(cx, spec->chunks, spec->n_chunks, (uint32_t)spec->ts_col, sorted,
                              &writer->rows));
        writer->order = *sorted;
    } else if (spec->order == NULL) {
        writer->rows = 0;
        for (size_t chunk = 0; chunk < spec->n_chunks; chunk++)
            writer->rows += spec->chunks[chunk].rows;
    }
    if (writer->rows <= 0 || writer->rows > ALM_PART_ROWS_LIMIT)
        return alm_fail(cx, ALM_E_ARG, -1, "part '%s' of %lld rows", writer->path,
                        (long long)writer->rows);
    writer->n_blocks = (uint32_t)((writer->rows + ALM_STATS_BLOCK_ROWS - 1) / ALM_STATS_BLOCK_ROWS);
    return ALM_OK;
}

static alm_status part_write_no_memory(alm_ctx *cx, const part_writer *writer)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to write part '%s'", writer->path);
}

/* The columns that are written, by ascending id, and room for them. */
static alm_status part_write_allocate(alm_ctx *cx, part_writer *writer, uint32_t **by_id)
{
    *by_id = calloc(writer->spec->n_cols, sizeof(**by_id));
    if (*by_id == NULL)
        return part_write_no_memory(cx, writer);
    order_columns(writer->spec, *by_id);
    ALM_TRY(leave_out(cx, writer, *by_id));
    const size_t n_cols = writer->n_cols;
    writer->block = malloc((size_t)ALM_STATS_BLOCK_ROWS * sizeof(alm_i256));
    writer->heap = malloc(HEAP_BUFFER);
    writer->small = malloc(SMALL_BUFFER);
    writer->last = malloc(ALM_PART_LAST_MAX * sizeof(*writer->last));
    writer->cols = calloc(n_cols, sizeof(*writer->cols));
    writer->blocks = calloc(n_cols * writer->n_blocks, sizeof(*writer->blocks));
    if (writer->block == NULL || writer->heap == NULL || writer->small == NULL ||
        writer->last == NULL || writer->cols == NULL || writer->blocks == NULL)
        return part_write_no_memory(cx, writer);
    return ALM_OK;
}

static void free_buffers(part_writer *writer)
{
    free(writer->block);
    free(writer->heap);
    free(writer->small);
    free(writer->last);
}

alm_status alm_part_write(alm_ctx *cx, const alm_io *io, const char *dir, const char *name,
                          const alm_part_spec *spec, alm_part_written *out)
{
    part_writer writer = {.io = io, .spec = spec, .handle = -1};
    if (snprintf(writer.path, sizeof(writer.path), "%s/%s", dir, name) >= (int)sizeof(writer.path))
        return alm_fail(cx, ALM_E_LIMIT, -1, "path '%s/%s' is too long", dir, name);
    if (spec->n_cols == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "part '%s' without columns", writer.path);
    if (spec->parquet)
        return alm_part_parquet_write(cx, io, dir, writer.path, spec, out);
    uint64_t *sorted = NULL;
    uint32_t *by_id = NULL;
    int64_t bytes = 0;
    alm_status status = settle_order(cx, &writer, &sorted);
    if (status == ALM_OK)
        status = part_write_allocate(cx, &writer, &by_id);
    const bool packed = status == ALM_OK && is_packed(&writer, by_id);
    if (status == ALM_OK)
        status = packed ? add_to_pack(cx, &writer, by_id, &bytes)
                        : create_file(cx, &writer, dir, by_id, &bytes);
    if (status == ALM_OK)
        *out = (alm_part_written){.rows = writer.rows,
                                  .bytes = bytes,
                                  .min_ts = writer.footer.min_ts,
                                  .max_ts = writer.footer.max_ts,
                                  .footer_crc = writer.footer_crc,
                                  .handle = writer.handle,
                                  .packed = packed,
                                  .offset = writer.base};
    free_buffers(&writer);
    free(writer.cols);
    free(writer.blocks);
    free(by_id);
    free(sorted);
    return status;
}

/* --------------------------------------------------------------- the plan alone */

alm_status alm_part_plan_make(alm_ctx *cx, const char *path, const alm_part_spec *spec,
                              alm_part_plan *out)
{
    *out = (alm_part_plan){.spec = spec};
    alm_buf_init(&out->last, NULL);
    part_writer writer = {.spec = spec, .handle = -1, .plan = out, .offset = ALM_PART_PAGE};
    (void)snprintf(writer.path, sizeof(writer.path), "%s", path);
    alm_status status = settle_order(cx, &writer, &out->sorted);
    if (status == ALM_OK)
        status = part_write_allocate(cx, &writer, &out->by_id);
    if (status == ALM_OK)
        status = write_columns(cx, &writer, out->by_id);
    out->order = writer.order;
    out->footer = writer.footer;
    out->cols = writer.cols;
    out->blocks = writer.blocks;
    out->image_bytes = part_write_align_up(writer.offset, ALM_PART_PAGE);
    free_buffers(&writer);
    return status;
}

void alm_part_plan_free(alm_part_plan *plan)
{
    free(plan->sorted);
    free(plan->by_id);
    free(plan->cols);
    free(plan->blocks);
    alm_buf_deinit(&plan->last);
}
