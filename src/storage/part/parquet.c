/*
 * parquet.c - an open Parquet part: its columns are decoded into reserved memory at their first touch, where they
 * lie as those of a native part do (parquet.h, inner.h).
 *
 * Fill        A unit of a column is decoded by one thread, others that want it wait; different units and columns are
 *             decoded at the same time. Its blocks count as touched when their checksums, which the
 *             plan made when the file was written, fit what was decoded.
 * Drop        decoded.h. The bits of the blocks go first; then the memory.
 * Errors      ALM_E_CORRUPT names file, column and row group; ALM_E_IO: bytes of the file cannot be read.
 */
#include "storage/part/parquet.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/crc32c.h"
#include "codec/parquet/reader.h"
#include "storage/part/format.h"
#include "storage/part/inner.h"

typedef struct pq_codes { /* of one row group and SYMBOL column */
    const uint32_t *code;
    uint32_t n;
} pq_codes;

typedef struct alm_part_parquet {
    struct alm_part *part;
    alm_decoded *decoded; /* NULL: without a bound */
    alm_arena arena;      /* metadata of the file */
    const alm_pq_file *file;
    uint8_t *blob; /* the value of ALM_PART_PQ_KEY */
    uint8_t *image;
    size_t image_bytes;
    uint32_t *col; /* of the reader, by entry */
    const int32_t **last;
    pq_codes *codes; /* n_groups x entries; NULL: no symbols */
    int64_t group_rows, unit_rows;
    uint32_t n_groups, n_units, unit_blocks;
    alm_decoded_col *cols; /* by entry */
    pthread_mutex_t lock;  /* busy, and the drop of bits */
    pthread_cond_t filled;
    bool locks_made;
    bool *busy;      /* entries x n_units: being filled */
    uint64_t *saved; /* bits of one column */
} alm_part_parquet;

bool alm_part_is_parquet(const uint8_t *map, size_t bytes)
{
    return bytes >= ALM_PQ_MAGIC_BYTES && memcmp(map, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES) == 0;
}

const int32_t *alm_part_parquet_last(const alm_part *part, uint32_t entry)
{
    return part->parquet->last[entry];
}

/* ---------------------------------------------------------------------- bits */

static bool part_parquet_bit_get(const alm_part *part, uint32_t entry, uint32_t block)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + block;
    return atomic_load(&part->verified[bit / 64]) >> (bit % 64) & 1;
}

static void part_parquet_bit_set(const alm_part *part, uint32_t entry, uint32_t block)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + block;
    atomic_fetch_or(&part->verified[bit / 64], UINT64_C(1) << (bit % 64));
}

/* Bits of word word that belong to [from, to). */
static uint64_t mask_of(uint64_t word, uint64_t from, uint64_t to)
{
    uint64_t mask = UINT64_MAX;
    if (word == from / 64)
        mask &= UINT64_MAX << (from % 64);
    if (word == (to - 1) / 64)
        mask &= UINT64_MAX >> (63 - (to - 1) % 64);
    return mask;
}

/* See decoded.h. */
static bool drop_column(void *arg, alm_decoded_col *col, uint64_t touched)
{
    alm_part_parquet *parquet = arg;
    const alm_part *part = parquet->part;
    const uint32_t entry = (uint32_t)(col - parquet->cols);
    const uint64_t from = (uint64_t)entry * part->footer->n_blocks;
    const uint64_t to = from + part->footer->n_blocks;
    bool goes = true;
    (void)pthread_mutex_lock(&parquet->lock);
    for (uint32_t unit = 0; unit < parquet->n_units; unit++)
        goes = goes && !parquet->busy[(size_t)entry * parquet->n_units + unit];
    for (uint64_t w = from / 64; goes && w <= (to - 1) / 64; w++) {
        const uint64_t mask = mask_of(w, from, to);
        parquet->saved[w - from / 64] = atomic_fetch_and(&part->verified[w], ~mask) & mask;
    }
    if (goes && atomic_load(&col->touched) != touched) {
        for (uint64_t w = from / 64; w <= (to - 1) / 64; w++)
            atomic_fetch_or(&part->verified[w], parquet->saved[w - from / 64]);
        goes = false;
    }
    (void)pthread_mutex_unlock(&parquet->lock);
    return goes;
}

/* ------------------------------------------------------------------ decoding */

typedef struct filling {
    alm_part_parquet *q;
    const alm_part_col *col;
    uint32_t entry;
    alm_pq_cursor *cur;
    alm_arena arena; /* of one batch */
    uint64_t heap,
        heap_end;    /* of the column: where the next long text goes, and the end of the unit's */
    uint32_t *codes; /* of one batch */
} filling;

static alm_status bad_values(alm_ctx *cx, const filling *self, uint32_t group, const char *what)
{
    return alm_fail(
        cx, ALM_E_CORRUPT, -1, "part file '%s', column '%s', row group %u: %s", self->q->part->path,
        alm_pq_columns(self->q->file, &(uint32_t){0})[self->q->col[self->entry]].name, group, what);
}

static alm_status fill_codes(alm_ctx *cx, filling *self, uint32_t group, int64_t row, uint32_t n,
                             uint8_t *out)
{
    const pq_codes *list =
        &self->q->codes[(size_t)group * self->q->part->footer->n_cols + self->entry];
    bool coded = false, good = true;
    if (list->n == 0) { /* nothing but nulls: no dictionary page */
        memset(out, 0, (size_t)n * self->col->width);
        return ALM_OK;
    }
    ALM_TRY(alm_pq_read_codes(cx, self->cur, group, row, n, self->codes, &coded));
    for (uint32_t i = 0; i < n && coded; i++) {
        good = good && self->codes[i] <= list->n;
        self->codes[i] = !good || self->codes[i] == 0 ? 0 : list->code[self->codes[i] - 1];
    }
    if (!coded || !good)
        return bad_values(cx, self, group, "symbols that its dictionary does not have");
    if (self->col->width == 1)
        for (uint32_t i = 0; i < n; i++)
            out[i] = (uint8_t)self->codes[i];
    else if (self->col->width == 2)
        for (uint32_t i = 0; i < n; i++)
            ((uint16_t *)(void *)out)[i] = (uint16_t)self->codes[i];
    else
        memcpy(out, self->codes, n * sizeof *self->codes);
    return ALM_OK;
}

/* Views as part.h has them: long texts one after the other in the heap. */
static alm_status part_parquet_fill_texts(alm_ctx *cx, filling *self, uint32_t group,
                                          const alm_vec *vec, uint32_t n_rows, alm_view *out)
{
    char *heap = (char *)self->q->image + self->col->heap_off;
    for (uint32_t i = 0; i < n_rows; i++) {
        const alm_view *in = &((const alm_view *)vec->data)[vec->is_const ? 0 : i];
        if (alm_view_is_null(in)) {
            out[i] = alm_view_null();
            continue;
        }
        out[i] = *in;
        if (in->len <= ALM_VIEW_INLINE)
            continue;
        if (in->len > self->heap_end - self->heap)
            return bad_values(cx, self, group, "texts are longer than they were");
        memcpy(heap + self->heap, alm_view_ptr(in, vec->heap), in->len);
        out[i].off = self->heap;
        self->heap += in->len;
    }
    return ALM_OK;
}

static alm_status fill_batch(alm_ctx *cx, filling *self, uint32_t group, int64_t row, uint32_t n,
                             uint8_t *out)
{
    const uint32_t width = self->col->width;
    alm_vec vec;
    if (self->col->type.id == ALM_T_SYMBOL)
        return fill_codes(cx, self, group, row, n, out);
    alm_arena_reset(&self->arena);
    ALM_TRY(alm_pq_read(cx, self->cur, group, row, n, &self->arena, &vec));
    if (!alm_type_eq(vec.type, self->col->type) || vec.width != width)
        return bad_values(cx, self, group, "values of another type");
    if (alm_part_has_heap(vec.type))
        return part_parquet_fill_texts(cx, self, group, &vec, n, (alm_view *)(void *)out);
    for (uint32_t i = 0; vec.is_const && i < n; i++)
        memcpy(out + (size_t)i * width, vec.data, width);
    if (!vec.is_const)
        memcpy(out, vec.data, (size_t)n * width);
    return ALM_OK;
}

/* Reads the bytes of a column chunk ahead: a disk that cannot is an error here. */
static alm_status part_parquet_fetch(alm_ctx *cx, const filling *self, uint32_t group)
{
    const alm_part *part = self->q->part;
    const alm_str bytes = alm_pq_chunk_bytes(self->q->file, group, self->q->col[self->entry]);
    if (bytes.ptr == NULL)
        return ALM_OK; /* the reader says what is wrong */
    if (part->io->prefetch(part->io, bytes.ptr, bytes.len) == -EFAULT)
        return alm_fail(cx, ALM_E_IO, -1, "part file '%s', offset %llu: %llu bytes cannot be read",
                        part->path, (unsigned long long)(bytes.ptr - (const char *)part->map),
                        (unsigned long long)bytes.len);
    return ALM_OK;
}

static alm_status decode_rows(alm_ctx *cx, filling *self, int64_t row, int64_t n)
{
    const alm_part_parquet *parquet = self->q;
    uint8_t *out = parquet->image + self->col->data_off + (uint64_t)row * self->col->width;
    for (const int64_t end = row + n; row < end;) {
        const uint32_t group = (uint32_t)(row / parquet->group_rows);
        const int64_t first = row % parquet->group_rows;
        const int64_t left = ALM_MIN(end - row, parquet->group_rows - first);
        const uint32_t m = (uint32_t)ALM_MIN(left, (int64_t)ALM_BATCH_ROWS);
        if (first == 0)
            ALM_TRY(part_parquet_fetch(cx, self, group));
        ALM_TRY(alm_check(cx));
        ALM_TRY(fill_batch(cx, self, group, first, m, out));
        out += (size_t)m * self->col->width;
        row += m;
    }
    return ALM_OK;
}

/* What the reader found wrong with the file is damage of the table. */
static alm_status as_damage(alm_ctx *cx, const alm_part *part, alm_status status)
{
    if (status != ALM_E_FORMAT && status != ALM_E_UNSUPPORTED)
        return status;
    alm_error was = cx->err;
    alm_error_clear(cx);
    ALM_TRY(alm_part_usable(cx, part)); /* zeros in place of what cannot be read */
    return alm_fail(cx, ALM_E_CORRUPT, -1, "a part is damaged: %s", was.msg);
}

static alm_status part_parquet_decode(alm_ctx *cx, filling *self, uint32_t unit)
{
    alm_part_parquet *parquet = self->q;
    const alm_part *part = parquet->part;
    const alm_part_block *blocks = alm_part_blocks(part, self->entry);
    const int64_t row = unit * parquet->unit_rows;
    const int64_t n = ALM_MIN(part->footer->rows - row, parquet->unit_rows);
    const uint32_t block = unit * parquet->unit_blocks;
    const uint32_t b_end = ALM_MIN(block + parquet->unit_blocks, part->footer->n_blocks);
    if (alm_part_has_heap(self->col->type)) {
        self->heap = block == 0 ? 0 : blocks[block - 1].heap_end;
        self->heap_end = blocks[b_end - 1].heap_end;
    }
    const uint64_t heap_at = self->col->heap_off - self->col->data_off + self->heap;
    ALM_TRY(alm_decoded_take(cx, parquet->decoded, &parquet->cols[self->entry],
                             (size_t)row * self->col->width, (size_t)n * self->col->width));
    if (self->heap_end > self->heap)
        ALM_TRY(alm_decoded_take(cx, parquet->decoded, &parquet->cols[self->entry], heap_at,
                                 self->heap_end - self->heap));
    ALM_TRY(as_damage(cx, part,
                      alm_pq_cursor_new(cx, parquet->file, parquet->col[self->entry], &self->cur)));
    ALM_TRY(as_damage(cx, part, decode_rows(cx, self, row, n)));
    for (uint32_t i = block; i < b_end; i++)
        if (!alm_part_block_is_good(part, self->entry, i)) {
            ALM_TRY(alm_part_usable(cx, part));
            return bad_values(cx, self,
                              (uint32_t)(i * (int64_t)ALM_STATS_BLOCK_ROWS / parquet->group_rows),
                              "the values fail their checksum");
        }
    for (uint32_t i = block; i < b_end; i++)
        part_parquet_bit_set(part, self->entry, i);
    return ALM_OK;
}

static alm_status fill_unit(alm_ctx *cx, alm_part_parquet *parquet, uint32_t entry, uint32_t unit)
{
    filling self = {.q = parquet, .entry = entry, .col = &parquet->part->cols[entry]};
    alm_arena_init(&self.arena, NULL);
    alm_status status = ALM_OK;
    if (self.col->type.id == ALM_T_SYMBOL) {
        self.codes = malloc(ALM_BATCH_ROWS * sizeof *self.codes);
        if (self.codes == NULL)
            status = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read part file '%s'",
                              parquet->part->path);
    }
    if (status == ALM_OK)
        status = part_parquet_decode(cx, &self, unit);
    alm_pq_cursor_free(self.cur);
    free(self.codes);
    alm_arena_deinit(&self.arena);
    return status;
}

/* One thread fills, others wait for it. */
static alm_status touch_unit(alm_ctx *cx, alm_part_parquet *parquet, uint32_t entry, uint32_t unit)
{
    bool *busy = &parquet->busy[(size_t)entry * parquet->n_units + unit];
    const uint32_t block = unit * parquet->unit_blocks;
    (void)pthread_mutex_lock(&parquet->lock);
    while (*busy)
        (void)pthread_cond_wait(&parquet->filled, &parquet->lock);
    const bool there = part_parquet_bit_get(parquet->part, entry, block);
    *busy = !there;
    (void)pthread_mutex_unlock(&parquet->lock);
    if (there)
        return ALM_OK;
    const alm_status status = fill_unit(cx, parquet, entry, unit);
    (void)pthread_mutex_lock(&parquet->lock);
    *busy = false;
    (void)pthread_cond_broadcast(&parquet->filled);
    (void)pthread_mutex_unlock(&parquet->lock);
    return status;
}

/* Did the disk lose what the system wrote out of the temporary files? */
static bool is_broken(const alm_part *part, uint32_t entry, uint32_t first, uint32_t last)
{
    const alm_part_parquet *parquet = part->parquet;
    const alm_part_col *col = &part->cols[entry];
    bool broken = false;
    for (uint32_t u = first / parquet->unit_blocks; u <= last / parquet->unit_blocks && !broken;
         u++) {
        const uint32_t block = u * parquet->unit_blocks;
        const uint64_t heap =
            block == 0 ? 0 : alm_part_blocks(part, entry)[block - 1].heap_end + ALM_PART_PAGE - 1;
        const uint8_t *data =
            parquet->image + col->data_off + (uint64_t)(u * parquet->unit_rows) * col->width;
        broken = part->io->map_is_broken(part->io, data) ||
                 (alm_part_has_heap(col->type) &&
                  part->io->map_is_broken(part->io, parquet->image + col->heap_off +
                                                        heap / ALM_PART_PAGE * ALM_PART_PAGE));
    }
    return broken;
}

/* What was decoded for others may have changed in memory, or in the temporary file that it was written out to. */
static alm_status compare_again(alm_ctx *cx, const alm_part *part, uint32_t entry, uint32_t block)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + block;
    if (alm_part_compared(part, bit, cx->rewrite))
        return ALM_OK;
    if (!alm_part_block_is_good(part, entry, block)) {
        ALM_TRY(alm_part_usable(cx, part));
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s', column %u, row %lld: decoded values fail their checksum",
                        part->path, part->cols[entry].id, (long long)block * ALM_STATS_BLOCK_ROWS);
    }
    alm_part_set_compared(part, bit, cx->rewrite);
    return ALM_OK;
}

alm_status alm_part_parquet_touch(alm_ctx *cx, const alm_part *part, uint32_t entry, uint32_t first,
                                  uint32_t last)
{
    alm_part_parquet *parquet = part->parquet;
    alm_decoded_touch(parquet->decoded, &parquet->cols[entry]);
    for (uint32_t block = first; block <= last; block++) {
        if (!part_parquet_bit_get(part, entry, block))
            ALM_TRY(touch_unit(cx, parquet, entry, block / parquet->unit_blocks));
        if (cx->rewrite != 0)
            ALM_TRY(compare_again(cx, part, entry, block));
    }
    if (part->io->map_faults(part->io) > 0 && is_broken(part, entry, first, last))
        return alm_fail(cx, ALM_E_IO, -1, "decoded values of '%s' could not be read any more",
                        part->path);
    return ALM_OK;
}

alm_status alm_part_parquet_read_all(alm_ctx *cx, struct alm_part *part, uint32_t *entry)
{
    alm_part_parquet *parquet = part->parquet;
    ALM_ASSERT(parquet->decoded == NULL);
    for (*entry = 0; *entry < part->footer->n_cols; ++*entry) {
        ALM_TRY(alm_part_parquet_touch(cx, part, *entry, 0, part->footer->n_blocks - 1));
        alm_part_parquet_forget(part, *entry);
    }
    return ALM_OK;
}

static alm_status words_of_group(alm_ctx *cx, const alm_part_parquet *parquet, alm_pq_cursor *cur,
                                 uint32_t entry, uint32_t group, alm_part_word each, void *arg)
{
    const pq_codes *list = &parquet->codes[(size_t)group * parquet->part->footer->n_cols + entry];
    const alm_view *views = NULL;
    uint32_t n = 0;
    if (list->n == 0)
        return ALM_OK;
    ALM_TRY(as_damage(cx, parquet->part, alm_pq_dictionary(cx, cur, group, &views, &n)));
    if (n != list->n + 1) /* views[0] is null */
        return alm_part_corrupt(cx, parquet->part->path, 0,
                                "a dictionary has another number of values");
    for (uint32_t i = 0; i < list->n; i++)
        ALM_TRY(each(cx, arg, list->code[i], alm_view_str(&views[i + 1], NULL)));
    return ALM_OK;
}

alm_status alm_part_words(alm_ctx *cx, const alm_part *part, uint32_t entry, alm_part_word each,
                          void *arg)
{
    const alm_part_parquet *parquet = part->parquet;
    alm_pq_cursor *cur = NULL;
    if (parquet == NULL || part->cols[entry].type.id != ALM_T_SYMBOL)
        return ALM_OK;
    alm_status status =
        as_damage(cx, part, alm_pq_cursor_new(cx, parquet->file, parquet->col[entry], &cur));
    for (uint32_t group = 0; group < parquet->n_groups && status == ALM_OK; group++)
        status = words_of_group(cx, parquet, cur, entry, group, each, arg);
    alm_pq_cursor_free(cur);
    return status;
}

const char *alm_part_field(const alm_part *part, uint32_t entry)
{
    const alm_part_parquet *parquet = part->parquet;
    return parquet == NULL
               ? NULL
               : alm_pq_columns(parquet->file, &(uint32_t){0})[parquet->col[entry]].name;
}

void alm_part_parquet_forget(alm_part *part, uint32_t entry)
{
    alm_part_parquet *parquet = part->parquet;
    if (parquet == NULL || parquet->decoded != NULL)
        return;
    (void)drop_column(parquet, &parquet->cols[entry], atomic_load(&parquet->cols[entry].touched));
    (void)part->io->forget(part->io, parquet->cols[entry].at, parquet->cols[entry].size);
}

/* The footer of the file, and the eight bytes of its length and the magic. */
uint32_t alm_part_footer_sum(const alm_part *part)
{
    uint32_t count = 0;
    ALM_ASSERT(part->parquet != NULL);
    memcpy(&count, part->map + part->bytes - ALM_PQ_TAIL_BYTES, sizeof count);
    count += ALM_PQ_TAIL_BYTES; /* it was read, so it is within the file */
    return alm_crc32c(0, part->map + part->bytes - count, count);
}

bool alm_part_is_as(const alm_part *part, const alm_column *cols, uint32_t n_cols)
{
    const alm_part_parquet *parquet = part->parquet;
    if (parquet == NULL || part->footer->n_cols != n_cols)
        return false;
    uint32_t n_fields = 0;
    const alm_pq_read_col *fields = alm_pq_columns(parquet->file, &n_fields);
    for (uint32_t col = 0; col < n_cols; col++) {
        const int32_t e = alm_part_find(part, cols[col].id, col);
        if (e < 0 || fields[parquet->col[e]].field != col ||
            strcmp(fields[parquet->col[e]].name, cols[col].name) != 0)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- opening */

static alm_status part_parquet_no_memory(alm_ctx *cx, const alm_part *part)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", part->path);
}

static alm_status find_blob(alm_ctx *cx, alm_part_parquet *parquet, size_t *bytes)
{
    const alm_pq_file_meta *meta = alm_pq_meta(parquet->file);
    alm_str value = {0};
    for (uint32_t i = 0; i < meta->n_key_value; i++)
        if (alm_str_eq(meta->key_value[i].key, alm_str_of(ALM_PART_PQ_KEY)))
            value = meta->key_value[i].value;
    if (value.ptr == NULL)
        return alm_part_corrupt(cx, parquet->part->path, 0, "a Parquet file, but not of a table");
    parquet->blob = malloc(alm_base64_bytes_max(value.len));
    if (parquet->blob == NULL)
        return part_parquet_no_memory(cx, parquet->part);
    if (!alm_base64_decode(value, parquet->blob, bytes) || *bytes < sizeof(alm_part_pq_head))
        return alm_part_corrupt(cx, parquet->part->path, 0, "its description is cut off");
    return ALM_OK;
}

static alm_status check_head(alm_ctx *cx, const alm_part_parquet *parquet,
                             const alm_part_pq_head *head, uint64_t bytes, uint64_t table_id)
{
    const char *path = parquet->part->path;
    const size_t from = offsetof(alm_part_pq_head, crc) + sizeof head->crc;
    if (memcmp(head->magic, ALM_PART_PQ_MAGIC, sizeof head->magic) != 0)
        return alm_part_corrupt(cx, path, 0, "its description is none");
    if (head->version > ALM_PART_PQ_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "part file '%s' has version %u, newer than %d: use a newer server", path,
                        head->version, ALM_PART_PQ_VERSION);
    if (head->crc != alm_crc32c(0, parquet->blob + from, bytes - from))
        return alm_part_corrupt(cx, path, 0, "its description fails its checksum");
    if (head->table_id != table_id)
        return alm_part_corrupt(cx, path, 0, "the file belongs to another table");
    const uint64_t cols = ((uint64_t)head->n_cols + 1) / 2 * 8, left = bytes - sizeof *head;
    const bool power = head->group_rows >= ALM_PART_PQ_GROUP_ROWS_MIN &&
                       (head->group_rows & (head->group_rows - 1)) == 0;
    if (!power || cols > left || head->footer_bytes > left - cols ||
        head->last_bytes > left - cols - head->footer_bytes ||
        head->codes_bytes != left - cols - head->footer_bytes - head->last_bytes ||
        head->footer_bytes % 8 != 0 || head->last_bytes % 8 != 0 || head->codes_bytes % 4 != 0)
        return alm_part_corrupt(cx, path, 0, "its description contradicts itself");
    return ALM_OK;
}

static alm_status part_parquet_find_columns(alm_ctx *cx, alm_part_parquet *parquet,
                                            const uint32_t *field)
{
    const alm_part *part = parquet->part;
    uint32_t n = 0;
    const alm_pq_read_col *cols = alm_pq_columns(parquet->file, &n);
    for (uint32_t col = 0; col < part->footer->n_cols; col++) {
        uint32_t place = 0;
        while (place < n && cols[place].field != field[col])
            place++;
        if (place == n || cols[place].refused != NULL ||
            !alm_type_eq(cols[place].type, part->cols[col].type))
            return alm_fail(cx, ALM_E_CORRUPT, -1,
                            "part file '%s': column %u is not there, or has another type",
                            part->path, part->cols[col].id);
        parquet->col[col] = place;
    }
    return ALM_OK;
}

static alm_status part_parquet_find_last(alm_ctx *cx, alm_part_parquet *parquet, const uint8_t *ptr,
                                         uint64_t left)
{
    const alm_part *part = parquet->part;
    for (uint32_t col = 0; col < part->footer->n_cols; col++) {
        const uint64_t bytes = (uint64_t)part->cols[col].n_last * sizeof(int32_t);
        if (bytes > left)
            return alm_part_corrupt(cx, part->path, 0, "last rows of symbols are cut off");
        parquet->last[col] = (const int32_t *)(const void *)ptr;
        ptr += bytes;
        left -= bytes;
    }
    return ALM_OK;
}

static alm_status find_codes(alm_ctx *cx, alm_part_parquet *parquet, const uint32_t *field,
                             const uint32_t *at, uint64_t left)
{
    const uint32_t n_cols = parquet->part->footer->n_cols;
    while (left >= 3) {
        const uint32_t group = at[0], n = at[2];
        uint32_t e = 0;
        while (e < n_cols && field[e] != at[1])
            e++;
        at += 3;
        left -= 3;
        if (group >= parquet->n_groups || e == n_cols || n > left)
            return alm_part_corrupt(cx, parquet->part->path, 0, "codes of symbols are cut off");
        parquet->codes[(size_t)group * n_cols + e] = (pq_codes){at, n};
        at += n;
        left -= n;
    }
    return left == 0 ? ALM_OK
                     : alm_part_corrupt(cx, parquet->part->path, 0, "codes of symbols are cut off");
}

/* Row groups must be those of the description. */
static alm_status part_parquet_check_groups(alm_ctx *cx, alm_part_parquet *parquet,
                                            const alm_part_pq_head *head)
{
    const int64_t rows = parquet->part->footer->rows;
    parquet->group_rows = head->group_rows;
    parquet->n_groups = (uint32_t)((rows + parquet->group_rows - 1) / parquet->group_rows);
    parquet->unit_rows = ALM_MAX(parquet->group_rows, (int64_t)ALM_STATS_BLOCK_ROWS);
    parquet->unit_blocks = (uint32_t)(parquet->unit_rows / ALM_STATS_BLOCK_ROWS);
    parquet->n_units = (uint32_t)((rows + parquet->unit_rows - 1) / parquet->unit_rows);
    bool good = alm_pq_rows(parquet->file) == rows &&
                alm_pq_groups(parquet->file) == parquet->n_groups &&
                head->n_groups == parquet->n_groups;
    for (uint32_t group = 0; good && group < parquet->n_groups; group++)
        good = alm_pq_group_rows(parquet->file, group) ==
               ALM_MIN(parquet->group_rows, rows - (int64_t)group * parquet->group_rows);
    return good ? ALM_OK
                : alm_part_corrupt(cx, parquet->part->path, 0,
                                   "its row groups are not those it says");
}

static alm_status make_image(alm_ctx *cx, alm_part_parquet *parquet, uint64_t bytes)
{
    alm_part *part = parquet->part;
    void *image = NULL;
    const int code = part->io->reserve(part->io, bytes, &image);
    if (code < 0)
        return alm_io_fail(cx, code, part->path);
    parquet->image = image;
    parquet->image_bytes = bytes;
    part->image = image;
    for (uint32_t i = 0; i < part->footer->n_cols; i++) {
        const alm_part_col *col = &part->cols[i];
        uint64_t end = col->data_off + (uint64_t)part->footer->rows * col->width;
        if (alm_part_has_heap(col->type))
            end = ALM_MAX(end, col->heap_off + col->heap_bytes);
        end = (end + ALM_PART_PAGE - 1) / ALM_PART_PAGE * ALM_PART_PAGE;
        parquet->cols[i] = (alm_decoded_col){.at = parquet->image + col->data_off,
                                             .size = end - col->data_off,
                                             .drop = drop_column,
                                             .arg = parquet};
    }
    return ALM_OK;
}

static alm_status part_parquet_allocate(alm_ctx *cx, alm_part_parquet *parquet)
{
    const alm_part_footer *footer = parquet->part->footer;
    parquet->col = calloc(footer->n_cols, sizeof *parquet->col);
    parquet->last = calloc(footer->n_cols, sizeof *parquet->last);
    parquet->cols = calloc(footer->n_cols, sizeof *parquet->cols);
    parquet->codes = calloc((size_t)footer->n_cols * parquet->n_groups, sizeof *parquet->codes);
    parquet->busy = calloc((size_t)footer->n_cols * parquet->n_units, sizeof *parquet->busy);
    parquet->saved = calloc(footer->n_blocks / 64 + 2, sizeof *parquet->saved);
    const bool good = parquet->col != NULL && parquet->last != NULL && parquet->cols != NULL &&
                      parquet->codes != NULL && parquet->busy != NULL && parquet->saved != NULL;
    return good ? ALM_OK : part_parquet_no_memory(cx, parquet->part);
}

static alm_status part_parquet_describe(alm_ctx *cx, alm_part_parquet *parquet, uint64_t table_id)
{
    alm_part *part = parquet->part;
    size_t bytes = 0;
    alm_part_pq_head head;
    ALM_TRY(find_blob(cx, parquet, &bytes));
    memcpy(&head, parquet->blob, sizeof head);
    ALM_TRY(check_head(cx, parquet, &head, bytes, table_id));
    part->footer_crc = head.crc;
    const uint32_t *field = (const uint32_t *)(const void *)(parquet->blob + sizeof head);
    const uint8_t *footer = parquet->blob + sizeof head + ((size_t)head.n_cols + 1) / 2 * 8;
    if (head.image_bytes % ALM_PART_PAGE != 0)
        return alm_part_corrupt(cx, part->path, 0, "its description contradicts itself");
    part->align = ALM_PART_PAGE;
    ALM_TRY(alm_part_set_footer(cx, part, footer, head.footer_bytes, head.image_bytes));
    if (part->footer->n_cols != head.n_cols)
        return alm_part_corrupt(cx, part->path, 0, "its description contradicts itself");
    ALM_TRY(part_parquet_check_groups(cx, parquet, &head));
    ALM_TRY(part_parquet_allocate(cx, parquet));
    ALM_TRY(part_parquet_find_columns(cx, parquet, field));
    ALM_TRY(part_parquet_find_last(cx, parquet, footer + head.footer_bytes, head.last_bytes));
    ALM_TRY(
        find_codes(cx, parquet, field,
                   (const uint32_t *)(const void *)(footer + head.footer_bytes + head.last_bytes),
                   head.codes_bytes / sizeof(uint32_t)));
    return make_image(cx, parquet, head.image_bytes);
}

alm_status alm_part_parquet_open(alm_ctx *cx, alm_part *part, uint64_t table_id,
                                 alm_decoded *decoded)
{
    alm_part_parquet *parquet = calloc(1, sizeof *parquet);
    if (parquet == NULL)
        return part_parquet_no_memory(cx, part);
    part->parquet = parquet;
    parquet->part = part;
    parquet->decoded = decoded;
    alm_arena_init(&parquet->arena, NULL);
    (void)pthread_mutex_init(&parquet->lock, NULL);
    (void)pthread_cond_init(&parquet->filled, NULL);
    parquet->locks_made = true;
    const alm_str bytes = {(const char *)part->map, part->bytes};
    ALM_TRY(
        as_damage(cx, part, alm_pq_open(cx, &parquet->arena, part->path, bytes, &parquet->file)));
    return part_parquet_describe(cx, parquet, table_id);
}

void alm_part_parquet_close(alm_part *part)
{
    alm_part_parquet *parquet = part->parquet;
    if (parquet == NULL)
        return;
    for (uint32_t i = 0; parquet->image != NULL && i < part->footer->n_cols; i++)
        alm_decoded_give(parquet->decoded, &parquet->cols[i]);
    if (parquet->image != NULL)
        (void)part->io->unmap(part->io, parquet->image, parquet->image_bytes);
    if (parquet->locks_made) {
        (void)pthread_mutex_destroy(&parquet->lock);
        (void)pthread_cond_destroy(&parquet->filled);
    }
    free(parquet->col);
    free((void *)parquet->last);
    free(parquet->cols);
    free(parquet->codes);
    free(parquet->busy);
    free(parquet->saved);
    free(parquet->blob);
    alm_arena_deinit(&parquet->arena);
    free(parquet);
    part->parquet = NULL;
}
