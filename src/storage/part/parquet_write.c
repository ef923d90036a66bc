/*
 * parquet_write.c - writes a part as a Parquet file that any reader takes, and that this one reads as it would a
 * native part (parquet.h).
 *
 * Method      The plan goes over all values once for checksums and statistics, as if a native part were
 *             written (write.c). Then the rows go to the writer of codec/parquet, chunk by chunk or in slices of
 *             an order. The file is synced (unless that comes later), opened, decoded and compared with the checksums of the plan,
 *             before the directory is synced: what does not come back bit by bit is never committed. Where a
 *             column of type ARRAY or CHAR does not (a shape without elements, half of a surrogate pair), it is
 *             written as plain bytes or numbers.
 * Memory      What the plan takes (write.c), a slice of all columns, and the writer's row group; a decoded
 *             column at a time.
 */
#include <stdlib.h>

#include "base/base64.h"
#include "base/crc32c.h"
#include "codec/parquet/writer.h"
#include "storage/part/format.h"
#include "storage/part/inner.h"
#include "storage/part/parquet.h"

enum { SLICE_ROWS = 8192 };

typedef struct pq_part_writer {
    const alm_io *io;
    const char *path;
    const alm_part_spec *spec;
    const alm_part_plan *plan;
    int handle;
    int64_t at; /* bytes written */
    int64_t group_rows;
    uint32_t crc; /* of the description */
    alm_buf codes;
    alm_pq_writer *w;
    alm_pq_column *cols;
    bool *raw; /* by column of the spec */
} pq_part_writer;

static alm_status parquet_write_to_file(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    pq_part_writer *writer = arg;
    ALM_TRY(alm_io_write_all(cx, writer->io, writer->handle, bytes, n, writer->at, writer->path));
    writer->at += (int64_t)n;
    return ALM_OK;
}

static alm_status put_u32(alm_ctx *cx, alm_buf *buf, uint32_t value)
{
    return alm_buf_append(cx, buf, &value, sizeof value);
}

static alm_status note_codes(alm_ctx *cx, void *arg, uint32_t row_group, uint32_t column,
                             const alm_dict *dict, const uint32_t *code, uint32_t n)
{
    pq_part_writer *writer = arg;
    if (dict == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "'%s': symbols without a dictionary", writer->path);
    ALM_TRY(put_u32(cx, &writer->codes, row_group));
    ALM_TRY(put_u32(cx, &writer->codes, column));
    ALM_TRY(put_u32(cx, &writer->codes, n));
    return n > 0 ? alm_buf_append(cx, &writer->codes, code, n * sizeof *code) : ALM_OK;
}

/* ---------------------------------------------------------------------- rows */

/* Views of rows order[0..n) in address form. */
static void parquet_write_gather_texts(const alm_part_spec *spec, uint32_t col,
                                       const uint64_t *order, uint32_t n, alm_view *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const alm_vec *vec = &spec->chunks[order[i] >> 32].cols[col];
        out[i] = ((const alm_view *)vec->data)[vec->is_const ? 0 : (uint32_t)order[i]];
        if (!alm_view_is_null(&out[i]) && out[i].len > ALM_VIEW_INLINE)
            out[i].off += (uint64_t)(uintptr_t)vec->heap;
    }
}

static const alm_dict *parquet_write_dict_of(const alm_part_spec *spec, uint32_t col)
{
    for (size_t chunk = 0; chunk < spec->n_chunks; chunk++)
        if (spec->chunks[chunk].cols[col].dict != NULL)
            return spec->chunks[chunk].cols[col].dict;
    return NULL;
}

static alm_status parquet_write_ordered(alm_ctx *cx, pq_part_writer *writer, alm_arena *arena)
{
    const alm_part_spec *spec = writer->spec;
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, spec->n_cols, &cols));
    for (uint32_t col = 0; col < spec->n_cols; col++) {
        const alm_type type = spec->cols[col].type;
        const uint32_t width = type.id == ALM_T_SYMBOL ? sizeof(uint32_t) : alm_type_width(type);
        cols[col] = (alm_vec){.type = type, .width = (uint8_t)width};
        if (type.id == ALM_T_SYMBOL)
            cols[col].dict = parquet_write_dict_of(spec, col);
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)SLICE_ROWS * width, &cols[col].data));
    }
    alm_batch batch = {.n_cols = spec->n_cols, .cols = cols};
    for (int64_t row = 0; row < writer->plan->footer.rows; row += batch.rows) {
        ALM_TRY(alm_check(cx));
        batch.rows = (uint32_t)ALM_MIN(writer->plan->footer.rows - row, (int64_t)SLICE_ROWS);
        for (uint32_t col = 0; col < spec->n_cols; col++) {
            if (alm_part_has_heap(cols[col].type))
                parquet_write_gather_texts(spec, col, writer->plan->order + row, batch.rows,
                                           cols[col].data);
            else
                alm_part_gather(spec, col, writer->plan->order + row, batch.rows, cols[col].data);
        }
        ALM_TRY(alm_pq_write(cx, writer->w, &batch, 0, batch.rows));
    }
    return ALM_OK;
}

static alm_status parquet_write_rows(alm_ctx *cx, pq_part_writer *writer)
{
    if (writer->plan->order != NULL) {
        alm_arena arena;
        alm_arena_init(&arena, NULL);
        const alm_status status = parquet_write_ordered(cx, writer, &arena);
        alm_arena_deinit(&arena);
        return status;
    }
    for (size_t i = 0; i < writer->spec->n_chunks; i++) {
        const alm_part_chunk *chunk = &writer->spec->chunks[i];
        alm_batch batch = {.rows = chunk->rows, .n_cols = writer->spec->n_cols};
        batch.cols = (alm_vec *)(uintptr_t)chunk->cols; /* not written to */
        for (uint32_t row = 0; row < chunk->rows;) {
            const uint32_t n = ALM_MIN(chunk->rows - row, (uint32_t)ALM_STATS_BLOCK_ROWS);
            ALM_TRY(alm_check(cx));
            ALM_TRY(alm_pq_write(cx, writer->w, &batch, row, row + n));
            row += n;
        }
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------- description */

static alm_status pad8(alm_ctx *cx, alm_buf *buf)
{
    static const char zeros[8];
    const size_t n = (8 - buf->len % 8) % 8;
    return n > 0 ? alm_buf_append(cx, buf, zeros, n) : ALM_OK;
}

static alm_status parquet_write_describe(alm_ctx *cx, pq_part_writer *writer, alm_buf *out)
{
    const alm_part_plan *plan = writer->plan;
    const alm_part_footer *footer = &plan->footer;
    const size_t cols = footer->n_cols * sizeof(alm_part_col);
    const size_t blocks = (size_t)footer->n_cols * footer->n_blocks * sizeof(alm_part_block);
    alm_part_pq_head head = {
        .version = ALM_PART_PQ_VERSION,
        .table_id = footer->table_id,
        .image_bytes = plan->image_bytes,
        .footer_bytes = sizeof(*footer) + cols + blocks,
        .last_bytes = (plan->last.len + 7) / 8 * 8,
        .codes_bytes = writer->codes.len,
        .group_rows = (uint32_t)writer->group_rows,
        .n_groups = (uint32_t)((footer->rows + writer->group_rows - 1) / writer->group_rows),
        .n_cols = footer->n_cols};
    memcpy(head.magic, ALM_PART_PQ_MAGIC, sizeof head.magic);
    ALM_TRY(alm_buf_append(cx, out, &head, sizeof head));
    ALM_TRY(alm_buf_append(cx, out, plan->by_id, footer->n_cols * sizeof *plan->by_id));
    ALM_TRY(pad8(cx, out));
    ALM_TRY(alm_buf_append(cx, out, footer, sizeof *footer));
    ALM_TRY(alm_buf_append(cx, out, plan->cols, cols));
    ALM_TRY(alm_buf_append(cx, out, plan->blocks, blocks));
    if (plan->last.len > 0)
        ALM_TRY(alm_buf_append(cx, out, plan->last.ptr, plan->last.len));
    ALM_TRY(pad8(cx, out));
    if (writer->codes.len > 0)
        ALM_TRY(alm_buf_append(cx, out, writer->codes.ptr, writer->codes.len));
    const size_t from = offsetof(alm_part_pq_head, crc) + sizeof head.crc;
    writer->crc = alm_crc32c(0, out->ptr + from, out->len - from);
    memcpy(out->ptr + offsetof(alm_part_pq_head, crc), &writer->crc, sizeof writer->crc);
    return ALM_OK;
}

static alm_status parquet_write_put_description(alm_ctx *cx, pq_part_writer *writer)
{
    alm_buf bytes;
    alm_buf_init(&bytes, NULL);
    alm_status status = parquet_write_describe(cx, writer, &bytes);
    char *text = status == ALM_OK ? malloc((bytes.len + 2) / 3 * 4 + 1) : NULL;
    if (status == ALM_OK && text == NULL)
        status = alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the footer of '%s'", writer->path);
    if (status == ALM_OK) {
        const size_t n = alm_base64_encode((alm_str){bytes.ptr, bytes.len}, text);
        status =
            alm_pq_put_key_value(cx, writer->w, alm_str_of(ALM_PART_PQ_KEY), (alm_str){text, n});
    }
    free(text);
    alm_buf_deinit(&bytes);
    return status;
}

/* ---------------------------------------------------------------------- file */

/* A power of 2, so that row groups and blocks fit each other. */
static int64_t rows_of_group(const alm_part_plan *plan)
{
    const uint64_t per_row = plan->image_bytes / (uint64_t)plan->footer.rows + 1;
    int64_t rows = ALM_PART_PQ_GROUP_ROWS;
    while (rows > ALM_PART_PQ_GROUP_ROWS_MIN && (uint64_t)rows * per_row > ALM_PART_PQ_GROUP_BYTES)
        rows /= 2;
    return rows;
}

static alm_status open_writer(alm_ctx *cx, pq_part_writer *writer)
{
    const alm_part_spec *spec = writer->spec;
    for (uint32_t col = 0; col < spec->n_cols; col++)
        writer->cols[col] =
            (alm_pq_column){.name = spec->cols[col].name,
                            .type = spec->cols[col].type,
                            .hint = spec->cols[col].type.id == ALM_T_SYMBOL ? ALM_PQ_HINT_DICTIONARY
                                                                            : ALM_PQ_HINT_AUTO,
                            .required = (int32_t)col == spec->ts_col,
                            .raw = writer->raw[col]};
    const alm_pq_sorting by_time = {.column = (uint32_t)spec->ts_col};
    alm_pq_options options;
    alm_pq_options_init(&options);
    options.row_group_rows = writer->group_rows;
    options.row_group_bytes = INT32_MAX;
    options.sorting = spec->ts_col >= 0 ? &by_time : NULL;
    options.n_sorting = spec->ts_col >= 0;
    options.ts_col = spec->ts_col;
    options.on_symbols = note_codes;
    options.symbols_arg = writer;
    return alm_pq_writer_new(cx, writer->cols, spec->n_cols, &options, parquet_write_to_file,
                             writer, &writer->w);
}

static alm_status write_all(alm_ctx *cx, pq_part_writer *writer)
{
    ALM_TRY(open_writer(cx, writer));
    ALM_TRY(parquet_write_rows(cx, writer));
    ALM_TRY(alm_pq_end_row_group(cx, writer->w));
    ALM_TRY(parquet_write_put_description(cx, writer));
    ALM_TRY(alm_pq_finish(cx, writer->w));
    const int code = writer->spec->later ? 0 : writer->io->sync(writer->io, writer->handle);
    return code < 0 ? alm_io_fail(cx, code, writer->path) : ALM_OK;
}

static int parquet_write_close_file(pq_part_writer *writer)
{
    const int code = writer->handle >= 0 ? writer->io->close(writer->io, writer->handle) : 0;
    writer->handle = -1;
    return code;
}

static alm_status parquet_write_file(alm_ctx *cx, pq_part_writer *writer)
{
    writer->at = 0;
    writer->codes.len = 0;
    writer->handle = writer->io->open(writer->io, writer->path,
                                      ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (writer->handle < 0)
        return alm_io_fail(cx, writer->handle, writer->path);
    alm_status status = write_all(cx, writer);
    alm_pq_writer_free(writer->w);
    writer->w = NULL;
    if (status == ALM_OK && writer->spec->later)
        return ALM_OK;
    const int code = parquet_write_close_file(writer);
    return status == ALM_OK && code < 0 ? alm_io_fail(cx, code, writer->path) : status;
}

/* What was written, read again. *bad: the column of the spec that differs; UINT32_MAX: none. */
static alm_status read_back(alm_ctx *cx, const pq_part_writer *writer, uint32_t *bad)
{
    alm_part *part = NULL;
    uint32_t entry = 0;
    *bad = UINT32_MAX;
    ALM_TRY(alm_part_open(cx, writer->io, writer->path, NULL, writer->spec->table_id, NULL, &part));
    const alm_status status = alm_part_parquet_read_all(cx, part, &entry);
    alm_part_release(part);
    if (status == ALM_E_CORRUPT)
        *bad = writer->plan->by_id[entry];
    return status;
}

static bool may_be_raw(alm_type type)
{
    return type.id == ALM_T_ARRAY || type.id == ALM_T_CHAR;
}

static alm_status parquet_write_checked(alm_ctx *cx, pq_part_writer *writer)
{
    for (;;) {
        uint32_t bad = 0;
        ALM_TRY(parquet_write_file(cx, writer));
        const alm_status status = read_back(cx, writer, &bad);
        if (status != ALM_E_CORRUPT)
            return status;
        if (bad == UINT32_MAX || writer->raw[bad] || !may_be_raw(writer->spec->cols[bad].type))
            return status;
        alm_error_clear(cx);
        writer->raw[bad] = true;
        (void)parquet_write_close_file(writer); /* it is written anew */
    }
}

alm_status alm_part_parquet_write(alm_ctx *cx, const alm_io *io, const char *dir, const char *path,
                                  const alm_part_spec *spec, alm_part_written *out)
{
    alm_part_plan plan;
    pq_part_writer writer = {.io = io, .path = path, .spec = spec, .plan = &plan, .handle = -1};
    alm_buf_init(&writer.codes, NULL);
    alm_status status = alm_part_plan_make(cx, path, spec, &plan);
    writer.cols = calloc(spec->n_cols, sizeof *writer.cols);
    writer.raw = calloc(spec->n_cols, sizeof *writer.raw);
    if (status == ALM_OK && (writer.cols == NULL || writer.raw == NULL))
        status = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to write part '%s'", path);
    if (status == ALM_OK) {
        writer.group_rows = rows_of_group(&plan);
        status = parquet_write_checked(cx, &writer);
        const int code = status == ALM_OK && !spec->later ? io->sync_dir(io, dir) : 0;
        if (code < 0)
            status = alm_io_fail(cx, code, dir);
        if (status != ALM_OK) {
            (void)parquet_write_close_file(&writer);
            (void)io->unlink(io, path); /* not named by the catalogue: a leftover at worst */
        }
    }
    if (status == ALM_OK)
        *out = (alm_part_written){.rows = plan.footer.rows,
                                  .bytes = writer.at,
                                  .min_ts = plan.footer.min_ts,
                                  .max_ts = plan.footer.max_ts,
                                  .footer_crc = writer.crc,
                                  .handle = writer.handle};
    free(writer.cols);
    free(writer.raw);
    alm_buf_deinit(&writer.codes);
    alm_part_plan_free(&plan);
    return status;
}
