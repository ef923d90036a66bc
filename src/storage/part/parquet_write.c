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

static alm_status to_file(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    pq_part_writer *p = arg;
    ALM_TRY(alm_io_write_all(cx, p->io, p->handle, bytes, n, p->at, p->path));
    p->at += (int64_t)n;
    return ALM_OK;
}

static alm_status put_u32(alm_ctx *cx, alm_buf *buf, uint32_t x)
{
    return alm_buf_append(cx, buf, &x, sizeof x);
}

static alm_status note_codes(alm_ctx *cx, void *arg, uint32_t row_group, uint32_t column,
                             const alm_dict *dict, const uint32_t *code, uint32_t n)
{
    pq_part_writer *p = arg;
    if (dict == NULL)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "'%s': symbols without a dictionary", p->path);
    ALM_TRY(put_u32(cx, &p->codes, row_group));
    ALM_TRY(put_u32(cx, &p->codes, column));
    ALM_TRY(put_u32(cx, &p->codes, n));
    return n > 0 ? alm_buf_append(cx, &p->codes, code, n * sizeof *code) : ALM_OK;
}

/* ---------------------------------------------------------------------- rows */

/* Views of rows order[0..n) in address form. */
static void gather_texts(const alm_part_spec *spec, uint32_t col, const uint64_t *order, uint32_t n,
                         alm_view *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const alm_vec *v = &spec->chunks[order[i] >> 32].cols[col];
        out[i] = ((const alm_view *)v->data)[v->is_const ? 0 : (uint32_t)order[i]];
        if (!alm_view_is_null(&out[i]) && out[i].len > ALM_VIEW_INLINE)
            out[i].off += (uint64_t)(uintptr_t)v->heap;
    }
}

static const alm_dict *dict_of(const alm_part_spec *spec, uint32_t col)
{
    for (size_t c = 0; c < spec->n_chunks; c++)
        if (spec->chunks[c].cols[col].dict != NULL)
            return spec->chunks[c].cols[col].dict;
    return NULL;
}

static alm_status write_ordered(alm_ctx *cx, pq_part_writer *p, alm_arena *arena)
{
    const alm_part_spec *spec = p->spec;
    alm_vec *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, arena, spec->n_cols, &cols));
    for (uint32_t c = 0; c < spec->n_cols; c++) {
        const alm_type type = spec->cols[c].type;
        const uint32_t width = type.id == ALM_T_SYMBOL ? sizeof(uint32_t) : alm_type_width(type);
        cols[c] = (alm_vec){.type = type, .width = (uint8_t)width};
        if (type.id == ALM_T_SYMBOL)
            cols[c].dict = dict_of(spec, c);
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)SLICE_ROWS * width, &cols[c].data));
    }
    alm_batch batch = {.n_cols = spec->n_cols, .cols = cols};
    for (int64_t row = 0; row < p->plan->footer.rows; row += batch.rows) {
        ALM_TRY(alm_check(cx));
        batch.rows = (uint32_t)ALM_MIN(p->plan->footer.rows - row, (int64_t)SLICE_ROWS);
        for (uint32_t c = 0; c < spec->n_cols; c++) {
            if (alm_part_has_heap(cols[c].type))
                gather_texts(spec, c, p->plan->order + row, batch.rows, cols[c].data);
            else
                alm_part_gather(spec, c, p->plan->order + row, batch.rows, cols[c].data);
        }
        ALM_TRY(alm_pq_write(cx, p->w, &batch, 0, batch.rows));
    }
    return ALM_OK;
}

static alm_status write_rows(alm_ctx *cx, pq_part_writer *p)
{
    if (p->plan->order != NULL) {
        alm_arena arena;
        alm_arena_init(&arena, NULL);
        const alm_status st = write_ordered(cx, p, &arena);
        alm_arena_deinit(&arena);
        return st;
    }
    for (size_t i = 0; i < p->spec->n_chunks; i++) {
        const alm_part_chunk *chunk = &p->spec->chunks[i];
        alm_batch batch = {.rows = chunk->rows, .n_cols = p->spec->n_cols};
        batch.cols = (alm_vec *)(uintptr_t)chunk->cols; /* not written to */
        for (uint32_t row = 0; row < chunk->rows;) {
            const uint32_t n = ALM_MIN(chunk->rows - row, (uint32_t)ALM_STATS_BLOCK_ROWS);
            ALM_TRY(alm_check(cx));
            ALM_TRY(alm_pq_write(cx, p->w, &batch, row, row + n));
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

static alm_status describe(alm_ctx *cx, pq_part_writer *p, alm_buf *out)
{
    const alm_part_plan *plan = p->plan;
    const alm_part_footer *f = &plan->footer;
    const size_t cols = f->n_cols * sizeof(alm_part_col);
    const size_t blocks = (size_t)f->n_cols * f->n_blocks * sizeof(alm_part_block);
    alm_part_pq_head head = {.version = ALM_PART_PQ_VERSION,
                             .table_id = f->table_id,
                             .image_bytes = plan->image_bytes,
                             .footer_bytes = sizeof(*f) + cols + blocks,
                             .last_bytes = (plan->last.len + 7) / 8 * 8,
                             .codes_bytes = p->codes.len,
                             .group_rows = (uint32_t)p->group_rows,
                             .n_groups = (uint32_t)((f->rows + p->group_rows - 1) / p->group_rows),
                             .n_cols = f->n_cols};
    memcpy(head.magic, ALM_PART_PQ_MAGIC, sizeof head.magic);
    ALM_TRY(alm_buf_append(cx, out, &head, sizeof head));
    ALM_TRY(alm_buf_append(cx, out, plan->by_id, f->n_cols * sizeof *plan->by_id));
    ALM_TRY(pad8(cx, out));
    ALM_TRY(alm_buf_append(cx, out, f, sizeof *f));
    ALM_TRY(alm_buf_append(cx, out, plan->cols, cols));
    ALM_TRY(alm_buf_append(cx, out, plan->blocks, blocks));
    if (plan->last.len > 0)
        ALM_TRY(alm_buf_append(cx, out, plan->last.ptr, plan->last.len));
    ALM_TRY(pad8(cx, out));
    if (p->codes.len > 0)
        ALM_TRY(alm_buf_append(cx, out, p->codes.ptr, p->codes.len));
    const size_t from = offsetof(alm_part_pq_head, crc) + sizeof head.crc;
    p->crc = alm_crc32c(0, out->ptr + from, out->len - from);
    memcpy(out->ptr + offsetof(alm_part_pq_head, crc), &p->crc, sizeof p->crc);
    return ALM_OK;
}

static alm_status put_description(alm_ctx *cx, pq_part_writer *p)
{
    alm_buf bytes;
    alm_buf_init(&bytes, NULL);
    alm_status st = describe(cx, p, &bytes);
    char *text = st == ALM_OK ? malloc((bytes.len + 2) / 3 * 4 + 1) : NULL;
    if (st == ALM_OK && text == NULL)
        st = alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the footer of '%s'", p->path);
    if (st == ALM_OK) {
        const size_t n = alm_base64_encode((alm_str){bytes.ptr, bytes.len}, text);
        st = alm_pq_put_key_value(cx, p->w, alm_str_of(ALM_PART_PQ_KEY), (alm_str){text, n});
    }
    free(text);
    alm_buf_deinit(&bytes);
    return st;
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

static alm_status open_writer(alm_ctx *cx, pq_part_writer *p)
{
    const alm_part_spec *spec = p->spec;
    for (uint32_t c = 0; c < spec->n_cols; c++)
        p->cols[c] =
            (alm_pq_column){.name = spec->cols[c].name,
                            .type = spec->cols[c].type,
                            .hint = spec->cols[c].type.id == ALM_T_SYMBOL ? ALM_PQ_HINT_DICTIONARY
                                                                          : ALM_PQ_HINT_AUTO,
                            .required = (int32_t)c == spec->ts_col,
                            .raw = p->raw[c]};
    const alm_pq_sorting by_time = {.column = (uint32_t)spec->ts_col};
    alm_pq_options options;
    alm_pq_options_init(&options);
    options.row_group_rows = p->group_rows;
    options.row_group_bytes = INT32_MAX;
    options.sorting = spec->ts_col >= 0 ? &by_time : NULL;
    options.n_sorting = spec->ts_col >= 0;
    options.ts_col = spec->ts_col;
    options.on_symbols = note_codes;
    options.symbols_arg = p;
    return alm_pq_writer_new(cx, p->cols, spec->n_cols, &options, to_file, p, &p->w);
}

static alm_status write_all(alm_ctx *cx, pq_part_writer *p)
{
    ALM_TRY(open_writer(cx, p));
    ALM_TRY(write_rows(cx, p));
    ALM_TRY(alm_pq_end_row_group(cx, p->w));
    ALM_TRY(put_description(cx, p));
    ALM_TRY(alm_pq_finish(cx, p->w));
    const int e = p->spec->later ? 0 : p->io->sync(p->io, p->handle);
    return e < 0 ? alm_io_fail(cx, e, p->path) : ALM_OK;
}

static int close_file(pq_part_writer *p)
{
    const int e = p->handle >= 0 ? p->io->close(p->io, p->handle) : 0;
    p->handle = -1;
    return e;
}

static alm_status write_file(alm_ctx *cx, pq_part_writer *p)
{
    p->at = 0;
    p->codes.len = 0;
    p->handle =
        p->io->open(p->io, p->path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (p->handle < 0)
        return alm_io_fail(cx, p->handle, p->path);
    alm_status st = write_all(cx, p);
    alm_pq_writer_free(p->w);
    p->w = NULL;
    if (st == ALM_OK && p->spec->later)
        return ALM_OK;
    const int e = close_file(p);
    return st == ALM_OK && e < 0 ? alm_io_fail(cx, e, p->path) : st;
}

/* What was written, read again. *bad: the column of the spec that differs; UINT32_MAX: none. */
static alm_status read_back(alm_ctx *cx, const pq_part_writer *p, uint32_t *bad)
{
    alm_part *part = NULL;
    uint32_t entry = 0;
    *bad = UINT32_MAX;
    ALM_TRY(alm_part_open(cx, p->io, p->path, NULL, p->spec->table_id, NULL, &part));
    const alm_status st = alm_part_parquet_read_all(cx, part, &entry);
    alm_part_release(part);
    if (st == ALM_E_CORRUPT)
        *bad = p->plan->by_id[entry];
    return st;
}

static bool may_be_raw(alm_type type)
{
    return type.id == ALM_T_ARRAY || type.id == ALM_T_CHAR;
}

static alm_status write_checked(alm_ctx *cx, pq_part_writer *p)
{
    for (;;) {
        uint32_t bad = 0;
        ALM_TRY(write_file(cx, p));
        const alm_status st = read_back(cx, p, &bad);
        if (st != ALM_E_CORRUPT)
            return st;
        if (bad == UINT32_MAX || p->raw[bad] || !may_be_raw(p->spec->cols[bad].type))
            return st;
        alm_error_clear(cx);
        p->raw[bad] = true;
        (void)close_file(p); /* it is written anew */
    }
}

alm_status alm_part_parquet_write(alm_ctx *cx, const alm_io *io, const char *dir, const char *path,
                                  const alm_part_spec *spec, alm_part_written *out)
{
    alm_part_plan plan;
    pq_part_writer p = {.io = io, .path = path, .spec = spec, .plan = &plan, .handle = -1};
    alm_buf_init(&p.codes, NULL);
    alm_status st = alm_part_plan_make(cx, path, spec, &plan);
    p.cols = calloc(spec->n_cols, sizeof *p.cols);
    p.raw = calloc(spec->n_cols, sizeof *p.raw);
    if (st == ALM_OK && (p.cols == NULL || p.raw == NULL))
        st = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to write part '%s'", path);
    if (st == ALM_OK) {
        p.group_rows = rows_of_group(&plan);
        st = write_checked(cx, &p);
        const int e = st == ALM_OK && !spec->later ? io->sync_dir(io, dir) : 0;
        if (e < 0)
            st = alm_io_fail(cx, e, dir);
        if (st != ALM_OK) {
            (void)close_file(&p);
            (void)io->unlink(io, path); /* not named by the catalogue: a leftover at worst */
        }
    }
    if (st == ALM_OK)
        *out = (alm_part_written){.rows = plan.footer.rows,
                                  .bytes = p.at,
                                  .min_ts = plan.footer.min_ts,
                                  .max_ts = plan.footer.max_ts,
                                  .footer_crc = p.crc,
                                  .handle = p.handle};
    free(p.cols);
    free(p.raw);
    alm_buf_deinit(&p.codes);
    alm_part_plan_free(&plan);
    return st;
}
