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

static bool bit_get(const alm_part *part, uint32_t entry, uint32_t b)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + b;
    return atomic_load(&part->verified[bit / 64]) >> (bit % 64) & 1;
}

static void bit_set(const alm_part *part, uint32_t entry, uint32_t b)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + b;
    atomic_fetch_or(&part->verified[bit / 64], UINT64_C(1) << (bit % 64));
}

/* Bits of word w that belong to [from, to). */
static uint64_t mask_of(uint64_t w, uint64_t from, uint64_t to)
{
    uint64_t mask = UINT64_MAX;
    if (w == from / 64)
        mask &= UINT64_MAX << (from % 64);
    if (w == (to - 1) / 64)
        mask &= UINT64_MAX >> (63 - (to - 1) % 64);
    return mask;
}

/* See decoded.h. */
static bool drop_column(void *arg, alm_decoded_col *col, uint64_t touched)
{
    alm_part_parquet *q = arg;
    const alm_part *part = q->part;
    const uint32_t entry = (uint32_t)(col - q->cols);
    const uint64_t from = (uint64_t)entry * part->footer->n_blocks;
    const uint64_t to = from + part->footer->n_blocks;
    bool goes = true;
    (void)pthread_mutex_lock(&q->lock);
    for (uint32_t u = 0; u < q->n_units; u++)
        goes = goes && !q->busy[(size_t)entry * q->n_units + u];
    for (uint64_t w = from / 64; goes && w <= (to - 1) / 64; w++) {
        const uint64_t mask = mask_of(w, from, to);
        q->saved[w - from / 64] = atomic_fetch_and(&part->verified[w], ~mask) & mask;
    }
    if (goes && atomic_load(&col->touched) != touched) {
        for (uint64_t w = from / 64; w <= (to - 1) / 64; w++)
            atomic_fetch_or(&part->verified[w], q->saved[w - from / 64]);
        goes = false;
    }
    (void)pthread_mutex_unlock(&q->lock);
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

static alm_status bad_values(alm_ctx *cx, const filling *f, uint32_t group, const char *what)
{
    return alm_fail(
        cx, ALM_E_CORRUPT, -1, "part file '%s', column '%s', row group %u: %s", f->q->part->path,
        alm_pq_columns(f->q->file, &(uint32_t){0})[f->q->col[f->entry]].name, group, what);
}

static alm_status fill_codes(alm_ctx *cx, filling *f, uint32_t group, int64_t row, uint32_t n,
                             uint8_t *out)
{
    const pq_codes *list = &f->q->codes[(size_t)group * f->q->part->footer->n_cols + f->entry];
    bool coded = false, good = true;
    if (list->n == 0) { /* nothing but nulls: no dictionary page */
        memset(out, 0, (size_t)n * f->col->width);
        return ALM_OK;
    }
    ALM_TRY(alm_pq_read_codes(cx, f->cur, group, row, n, f->codes, &coded));
    for (uint32_t i = 0; i < n && coded; i++) {
        good = good && f->codes[i] <= list->n;
        f->codes[i] = !good || f->codes[i] == 0 ? 0 : list->code[f->codes[i] - 1];
    }
    if (!coded || !good)
        return bad_values(cx, f, group, "symbols that its dictionary does not have");
    if (f->col->width == 1)
        for (uint32_t i = 0; i < n; i++)
            out[i] = (uint8_t)f->codes[i];
    else if (f->col->width == 2)
        for (uint32_t i = 0; i < n; i++)
            ((uint16_t *)(void *)out)[i] = (uint16_t)f->codes[i];
    else
        memcpy(out, f->codes, n * sizeof *f->codes);
    return ALM_OK;
}

/* Views as part.h has them: long texts one after the other in the heap. */
static alm_status fill_texts(alm_ctx *cx, filling *f, uint32_t group, const alm_vec *v, uint32_t n,
                             alm_view *out)
{
    char *heap = (char *)f->q->image + f->col->heap_off;
    for (uint32_t i = 0; i < n; i++) {
        const alm_view *in = &((const alm_view *)v->data)[v->is_const ? 0 : i];
        if (alm_view_is_null(in)) {
            out[i] = alm_view_null();
            continue;
        }
        out[i] = *in;
        if (in->len <= ALM_VIEW_INLINE)
            continue;
        if (in->len > f->heap_end - f->heap)
            return bad_values(cx, f, group, "texts are longer than they were");
        memcpy(heap + f->heap, alm_view_ptr(in, v->heap), in->len);
        out[i].off = f->heap;
        f->heap += in->len;
    }
    return ALM_OK;
}

static alm_status fill_batch(alm_ctx *cx, filling *f, uint32_t group, int64_t row, uint32_t n,
                             uint8_t *out)
{
    const uint32_t width = f->col->width;
    alm_vec v;
    if (f->col->type.id == ALM_T_SYMBOL)
        return fill_codes(cx, f, group, row, n, out);
    alm_arena_reset(&f->arena);
    ALM_TRY(alm_pq_read(cx, f->cur, group, row, n, &f->arena, &v));
    if (!alm_type_eq(v.type, f->col->type) || v.width != width)
        return bad_values(cx, f, group, "values of another type");
    if (alm_part_has_heap(v.type))
        return fill_texts(cx, f, group, &v, n, (alm_view *)(void *)out);
    for (uint32_t i = 0; v.is_const && i < n; i++)
        memcpy(out + (size_t)i * width, v.data, width);
    if (!v.is_const)
        memcpy(out, v.data, (size_t)n * width);
    return ALM_OK;
}

/* Reads the bytes of a column chunk ahead: a disk that cannot is an error here. */
static alm_status fetch(alm_ctx *cx, const filling *f, uint32_t group)
{
    const alm_part *part = f->q->part;
    const alm_str bytes = alm_pq_chunk_bytes(f->q->file, group, f->q->col[f->entry]);
    if (bytes.ptr == NULL)
        return ALM_OK; /* the reader says what is wrong */
    if (part->io->prefetch(part->io, bytes.ptr, bytes.len) == -EFAULT)
        return alm_fail(cx, ALM_E_IO, -1, "part file '%s', offset %llu: %llu bytes cannot be read",
                        part->path, (unsigned long long)(bytes.ptr - (const char *)part->map),
                        (unsigned long long)bytes.len);
    return ALM_OK;
}

static alm_status decode_rows(alm_ctx *cx, filling *f, int64_t row, int64_t n)
{
    const alm_part_parquet *q = f->q;
    uint8_t *out = q->image + f->col->data_off + (uint64_t)row * f->col->width;
    for (const int64_t end = row + n; row < end;) {
        const uint32_t group = (uint32_t)(row / q->group_rows);
        const int64_t first = row % q->group_rows;
        const int64_t left = ALM_MIN(end - row, q->group_rows - first);
        const uint32_t m = (uint32_t)ALM_MIN(left, (int64_t)ALM_BATCH_ROWS);
        if (first == 0)
            ALM_TRY(fetch(cx, f, group));
        ALM_TRY(alm_check(cx));
        ALM_TRY(fill_batch(cx, f, group, first, m, out));
        out += (size_t)m * f->col->width;
        row += m;
    }
    return ALM_OK;
}

/* What the reader found wrong with the file is damage of the table. */
static alm_status as_damage(alm_ctx *cx, const alm_part *part, alm_status st)
{
    if (st != ALM_E_FORMAT && st != ALM_E_UNSUPPORTED)
        return st;
    alm_error was = cx->err;
    alm_error_clear(cx);
    ALM_TRY(alm_part_usable(cx, part)); /* zeros in place of what cannot be read */
    return alm_fail(cx, ALM_E_CORRUPT, -1, "a part is damaged: %s", was.msg);
}

static alm_status decode(alm_ctx *cx, filling *f, uint32_t unit)
{
    alm_part_parquet *q = f->q;
    const alm_part *part = q->part;
    const alm_part_block *blocks = alm_part_blocks(part, f->entry);
    const int64_t row = unit * q->unit_rows;
    const int64_t n = ALM_MIN(part->footer->rows - row, q->unit_rows);
    const uint32_t b = unit * q->unit_blocks;
    const uint32_t b_end = ALM_MIN(b + q->unit_blocks, part->footer->n_blocks);
    if (alm_part_has_heap(f->col->type)) {
        f->heap = b == 0 ? 0 : blocks[b - 1].heap_end;
        f->heap_end = blocks[b_end - 1].heap_end;
    }
    const uint64_t heap_at = f->col->heap_off - f->col->data_off + f->heap;
    ALM_TRY(alm_decoded_take(cx, q->decoded, &q->cols[f->entry], (size_t)row * f->col->width,
                             (size_t)n * f->col->width));
    if (f->heap_end > f->heap)
        ALM_TRY(
            alm_decoded_take(cx, q->decoded, &q->cols[f->entry], heap_at, f->heap_end - f->heap));
    ALM_TRY(as_damage(cx, part, alm_pq_cursor_new(cx, q->file, q->col[f->entry], &f->cur)));
    ALM_TRY(as_damage(cx, part, decode_rows(cx, f, row, n)));
    for (uint32_t i = b; i < b_end; i++)
        if (!alm_part_block_is_good(part, f->entry, i)) {
            ALM_TRY(alm_part_usable(cx, part));
            return bad_values(cx, f, (uint32_t)(i * (int64_t)ALM_STATS_BLOCK_ROWS / q->group_rows),
                              "the values fail their checksum");
        }
    for (uint32_t i = b; i < b_end; i++)
        bit_set(part, f->entry, i);
    return ALM_OK;
}

static alm_status fill_unit(alm_ctx *cx, alm_part_parquet *q, uint32_t entry, uint32_t unit)
{
    filling f = {.q = q, .entry = entry, .col = &q->part->cols[entry]};
    alm_arena_init(&f.arena, NULL);
    alm_status st = ALM_OK;
    if (f.col->type.id == ALM_T_SYMBOL) {
        f.codes = malloc(ALM_BATCH_ROWS * sizeof *f.codes);
        if (f.codes == NULL)
            st = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read part file '%s'", q->part->path);
    }
    if (st == ALM_OK)
        st = decode(cx, &f, unit);
    alm_pq_cursor_free(f.cur);
    free(f.codes);
    alm_arena_deinit(&f.arena);
    return st;
}

/* One thread fills, others wait for it. */
static alm_status touch_unit(alm_ctx *cx, alm_part_parquet *q, uint32_t entry, uint32_t unit)
{
    bool *busy = &q->busy[(size_t)entry * q->n_units + unit];
    const uint32_t b = unit * q->unit_blocks;
    (void)pthread_mutex_lock(&q->lock);
    while (*busy)
        (void)pthread_cond_wait(&q->filled, &q->lock);
    const bool there = bit_get(q->part, entry, b);
    *busy = !there;
    (void)pthread_mutex_unlock(&q->lock);
    if (there)
        return ALM_OK;
    const alm_status st = fill_unit(cx, q, entry, unit);
    (void)pthread_mutex_lock(&q->lock);
    *busy = false;
    (void)pthread_cond_broadcast(&q->filled);
    (void)pthread_mutex_unlock(&q->lock);
    return st;
}

/* Did the disk lose what the system wrote out of the temporary files? */
static bool is_broken(const alm_part *part, uint32_t entry, uint32_t first, uint32_t last)
{
    const alm_part_parquet *q = part->parquet;
    const alm_part_col *col = &part->cols[entry];
    bool broken = false;
    for (uint32_t u = first / q->unit_blocks; u <= last / q->unit_blocks && !broken; u++) {
        const uint32_t b = u * q->unit_blocks;
        const uint64_t heap =
            b == 0 ? 0 : alm_part_blocks(part, entry)[b - 1].heap_end + ALM_PART_PAGE - 1;
        const uint8_t *data = q->image + col->data_off + (uint64_t)(u * q->unit_rows) * col->width;
        broken = part->io->map_is_broken(part->io, data) ||
                 (alm_part_has_heap(col->type) &&
                  part->io->map_is_broken(part->io, q->image + col->heap_off +
                                                        heap / ALM_PART_PAGE * ALM_PART_PAGE));
    }
    return broken;
}

/* What was decoded for others may have changed in memory, or in the temporary file that it was written out to. */
static alm_status compare_again(alm_ctx *cx, const alm_part *part, uint32_t entry, uint32_t b)
{
    const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + b;
    if (alm_part_compared(part, bit, cx->rewrite))
        return ALM_OK;
    if (!alm_part_block_is_good(part, entry, b)) {
        ALM_TRY(alm_part_usable(cx, part));
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s', column %u, row %lld: decoded values fail their checksum",
                        part->path, part->cols[entry].id, (long long)b * ALM_STATS_BLOCK_ROWS);
    }
    alm_part_set_compared(part, bit, cx->rewrite);
    return ALM_OK;
}

alm_status alm_part_parquet_touch(alm_ctx *cx, const alm_part *part, uint32_t entry, uint32_t first,
                                  uint32_t last)
{
    alm_part_parquet *q = part->parquet;
    alm_decoded_touch(q->decoded, &q->cols[entry]);
    for (uint32_t b = first; b <= last; b++) {
        if (!bit_get(part, entry, b))
            ALM_TRY(touch_unit(cx, q, entry, b / q->unit_blocks));
        if (cx->rewrite != 0)
            ALM_TRY(compare_again(cx, part, entry, b));
    }
    if (part->io->map_faults(part->io) > 0 && is_broken(part, entry, first, last))
        return alm_fail(cx, ALM_E_IO, -1, "decoded values of '%s' could not be read any more",
                        part->path);
    return ALM_OK;
}

alm_status alm_part_parquet_read_all(alm_ctx *cx, struct alm_part *part, uint32_t *entry)
{
    alm_part_parquet *q = part->parquet;
    ALM_ASSERT(q->decoded == NULL);
    for (*entry = 0; *entry < part->footer->n_cols; ++*entry) {
        ALM_TRY(alm_part_parquet_touch(cx, part, *entry, 0, part->footer->n_blocks - 1));
        alm_part_parquet_forget(part, *entry);
    }
    return ALM_OK;
}

static alm_status words_of_group(alm_ctx *cx, const alm_part_parquet *q, alm_pq_cursor *cur,
                                 uint32_t entry, uint32_t group, alm_part_word each, void *arg)
{
    const pq_codes *list = &q->codes[(size_t)group * q->part->footer->n_cols + entry];
    const alm_view *views = NULL;
    uint32_t n = 0;
    if (list->n == 0)
        return ALM_OK;
    ALM_TRY(as_damage(cx, q->part, alm_pq_dictionary(cx, cur, group, &views, &n)));
    if (n != list->n + 1) /* views[0] is null */
        return alm_part_corrupt(cx, q->part->path, 0, "a dictionary has another number of values");
    for (uint32_t i = 0; i < list->n; i++)
        ALM_TRY(each(cx, arg, list->code[i], alm_view_str(&views[i + 1], NULL)));
    return ALM_OK;
}

alm_status alm_part_words(alm_ctx *cx, const alm_part *part, uint32_t entry, alm_part_word each,
                          void *arg)
{
    const alm_part_parquet *q = part->parquet;
    alm_pq_cursor *cur = NULL;
    if (q == NULL || part->cols[entry].type.id != ALM_T_SYMBOL)
        return ALM_OK;
    alm_status st = as_damage(cx, part, alm_pq_cursor_new(cx, q->file, q->col[entry], &cur));
    for (uint32_t g = 0; g < q->n_groups && st == ALM_OK; g++)
        st = words_of_group(cx, q, cur, entry, g, each, arg);
    alm_pq_cursor_free(cur);
    return st;
}

const char *alm_part_field(const alm_part *part, uint32_t entry)
{
    const alm_part_parquet *q = part->parquet;
    return q == NULL ? NULL : alm_pq_columns(q->file, &(uint32_t){0})[q->col[entry]].name;
}

void alm_part_parquet_forget(alm_part *part, uint32_t entry)
{
    alm_part_parquet *q = part->parquet;
    if (q == NULL || q->decoded != NULL)
        return;
    (void)drop_column(q, &q->cols[entry], atomic_load(&q->cols[entry].touched));
    (void)part->io->forget(part->io, q->cols[entry].at, q->cols[entry].size);
}

/* The footer of the file, and the eight bytes of its length and the magic. */
uint32_t alm_part_footer_sum(const alm_part *part)
{
    uint32_t n = 0;
    ALM_ASSERT(part->parquet != NULL);
    memcpy(&n, part->map + part->bytes - ALM_PQ_TAIL_BYTES, sizeof n);
    n += ALM_PQ_TAIL_BYTES; /* it was read, so it is within the file */
    return alm_crc32c(0, part->map + part->bytes - n, n);
}

bool alm_part_is_as(const alm_part *part, const alm_column *cols, uint32_t n)
{
    const alm_part_parquet *q = part->parquet;
    if (q == NULL || part->footer->n_cols != n)
        return false;
    uint32_t n_fields = 0;
    const alm_pq_read_col *fields = alm_pq_columns(q->file, &n_fields);
    for (uint32_t c = 0; c < n; c++) {
        const int32_t e = alm_part_find(part, cols[c].id, c);
        if (e < 0 || fields[q->col[e]].field != c ||
            strcmp(fields[q->col[e]].name, cols[c].name) != 0)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- opening */

static alm_status no_memory(alm_ctx *cx, const alm_part *part)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", part->path);
}

static alm_status find_blob(alm_ctx *cx, alm_part_parquet *q, size_t *bytes)
{
    const alm_pq_file_meta *meta = alm_pq_meta(q->file);
    alm_str value = {0};
    for (uint32_t i = 0; i < meta->n_key_value; i++)
        if (alm_str_eq(meta->key_value[i].key, alm_str_of(ALM_PART_PQ_KEY)))
            value = meta->key_value[i].value;
    if (value.ptr == NULL)
        return alm_part_corrupt(cx, q->part->path, 0, "a Parquet file, but not of a table");
    q->blob = malloc(alm_base64_bytes_max(value.len));
    if (q->blob == NULL)
        return no_memory(cx, q->part);
    if (!alm_base64_decode(value, q->blob, bytes) || *bytes < sizeof(alm_part_pq_head))
        return alm_part_corrupt(cx, q->part->path, 0, "its description is cut off");
    return ALM_OK;
}

static alm_status check_head(alm_ctx *cx, const alm_part_parquet *q, const alm_part_pq_head *h,
                             uint64_t bytes, uint64_t table_id)
{
    const char *path = q->part->path;
    const size_t from = offsetof(alm_part_pq_head, crc) + sizeof h->crc;
    if (memcmp(h->magic, ALM_PART_PQ_MAGIC, sizeof h->magic) != 0)
        return alm_part_corrupt(cx, path, 0, "its description is none");
    if (h->version > ALM_PART_PQ_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "part file '%s' has version %u, newer than %d: use a newer server", path,
                        h->version, ALM_PART_PQ_VERSION);
    if (h->crc != alm_crc32c(0, q->blob + from, bytes - from))
        return alm_part_corrupt(cx, path, 0, "its description fails its checksum");
    if (h->table_id != table_id)
        return alm_part_corrupt(cx, path, 0, "the file belongs to another table");
    const uint64_t cols = ((uint64_t)h->n_cols + 1) / 2 * 8, left = bytes - sizeof *h;
    const bool power =
        h->group_rows >= ALM_PART_PQ_GROUP_ROWS_MIN && (h->group_rows & (h->group_rows - 1)) == 0;
    if (!power || cols > left || h->footer_bytes > left - cols ||
        h->last_bytes > left - cols - h->footer_bytes ||
        h->codes_bytes != left - cols - h->footer_bytes - h->last_bytes ||
        h->footer_bytes % 8 != 0 || h->last_bytes % 8 != 0 || h->codes_bytes % 4 != 0)
        return alm_part_corrupt(cx, path, 0, "its description contradicts itself");
    return ALM_OK;
}

static alm_status find_columns(alm_ctx *cx, alm_part_parquet *q, const uint32_t *field)
{
    const alm_part *part = q->part;
    uint32_t n = 0;
    const alm_pq_read_col *cols = alm_pq_columns(q->file, &n);
    for (uint32_t e = 0; e < part->footer->n_cols; e++) {
        uint32_t at = 0;
        while (at < n && cols[at].field != field[e])
            at++;
        if (at == n || cols[at].refused != NULL || !alm_type_eq(cols[at].type, part->cols[e].type))
            return alm_fail(cx, ALM_E_CORRUPT, -1,
                            "part file '%s': column %u is not there, or has another type",
                            part->path, part->cols[e].id);
        q->col[e] = at;
    }
    return ALM_OK;
}

static alm_status find_last(alm_ctx *cx, alm_part_parquet *q, const uint8_t *at, uint64_t left)
{
    const alm_part *part = q->part;
    for (uint32_t e = 0; e < part->footer->n_cols; e++) {
        const uint64_t bytes = (uint64_t)part->cols[e].n_last * sizeof(int32_t);
        if (bytes > left)
            return alm_part_corrupt(cx, part->path, 0, "last rows of symbols are cut off");
        q->last[e] = (const int32_t *)(const void *)at;
        at += bytes;
        left -= bytes;
    }
    return ALM_OK;
}

static alm_status find_codes(alm_ctx *cx, alm_part_parquet *q, const uint32_t *field,
                             const uint32_t *at, uint64_t left)
{
    const uint32_t n_cols = q->part->footer->n_cols;
    while (left >= 3) {
        const uint32_t group = at[0], n = at[2];
        uint32_t e = 0;
        while (e < n_cols && field[e] != at[1])
            e++;
        at += 3;
        left -= 3;
        if (group >= q->n_groups || e == n_cols || n > left)
            return alm_part_corrupt(cx, q->part->path, 0, "codes of symbols are cut off");
        q->codes[(size_t)group * n_cols + e] = (pq_codes){at, n};
        at += n;
        left -= n;
    }
    return left == 0 ? ALM_OK
                     : alm_part_corrupt(cx, q->part->path, 0, "codes of symbols are cut off");
}

/* Row groups must be those of the description. */
static alm_status check_groups(alm_ctx *cx, alm_part_parquet *q, const alm_part_pq_head *h)
{
    const int64_t rows = q->part->footer->rows;
    q->group_rows = h->group_rows;
    q->n_groups = (uint32_t)((rows + q->group_rows - 1) / q->group_rows);
    q->unit_rows = ALM_MAX(q->group_rows, (int64_t)ALM_STATS_BLOCK_ROWS);
    q->unit_blocks = (uint32_t)(q->unit_rows / ALM_STATS_BLOCK_ROWS);
    q->n_units = (uint32_t)((rows + q->unit_rows - 1) / q->unit_rows);
    bool good = alm_pq_rows(q->file) == rows && alm_pq_groups(q->file) == q->n_groups &&
                h->n_groups == q->n_groups;
    for (uint32_t g = 0; good && g < q->n_groups; g++)
        good = alm_pq_group_rows(q->file, g) ==
               ALM_MIN(q->group_rows, rows - (int64_t)g * q->group_rows);
    return good ? ALM_OK
                : alm_part_corrupt(cx, q->part->path, 0, "its row groups are not those it says");
}

static alm_status make_image(alm_ctx *cx, alm_part_parquet *q, uint64_t bytes)
{
    alm_part *part = q->part;
    void *image = NULL;
    const int e = part->io->reserve(part->io, bytes, &image);
    if (e < 0)
        return alm_io_fail(cx, e, part->path);
    q->image = image;
    q->image_bytes = bytes;
    part->image = image;
    for (uint32_t i = 0; i < part->footer->n_cols; i++) {
        const alm_part_col *col = &part->cols[i];
        uint64_t end = col->data_off + (uint64_t)part->footer->rows * col->width;
        if (alm_part_has_heap(col->type))
            end = ALM_MAX(end, col->heap_off + col->heap_bytes);
        end = (end + ALM_PART_PAGE - 1) / ALM_PART_PAGE * ALM_PART_PAGE;
        q->cols[i] = (alm_decoded_col){.at = q->image + col->data_off,
                                       .size = end - col->data_off,
                                       .drop = drop_column,
                                       .arg = q};
    }
    return ALM_OK;
}

static alm_status allocate(alm_ctx *cx, alm_part_parquet *q)
{
    const alm_part_footer *f = q->part->footer;
    q->col = calloc(f->n_cols, sizeof *q->col);
    q->last = calloc(f->n_cols, sizeof *q->last);
    q->cols = calloc(f->n_cols, sizeof *q->cols);
    q->codes = calloc((size_t)f->n_cols * q->n_groups, sizeof *q->codes);
    q->busy = calloc((size_t)f->n_cols * q->n_units, sizeof *q->busy);
    q->saved = calloc(f->n_blocks / 64 + 2, sizeof *q->saved);
    const bool good = q->col != NULL && q->last != NULL && q->cols != NULL && q->codes != NULL &&
                      q->busy != NULL && q->saved != NULL;
    return good ? ALM_OK : no_memory(cx, q->part);
}

static alm_status describe(alm_ctx *cx, alm_part_parquet *q, uint64_t table_id)
{
    alm_part *part = q->part;
    size_t bytes = 0;
    alm_part_pq_head h;
    ALM_TRY(find_blob(cx, q, &bytes));
    memcpy(&h, q->blob, sizeof h);
    ALM_TRY(check_head(cx, q, &h, bytes, table_id));
    part->footer_crc = h.crc;
    const uint32_t *field = (const uint32_t *)(const void *)(q->blob + sizeof h);
    const uint8_t *footer = q->blob + sizeof h + ((size_t)h.n_cols + 1) / 2 * 8;
    if (h.image_bytes % ALM_PART_PAGE != 0)
        return alm_part_corrupt(cx, part->path, 0, "its description contradicts itself");
    part->align = ALM_PART_PAGE;
    ALM_TRY(alm_part_set_footer(cx, part, footer, h.footer_bytes, h.image_bytes));
    if (part->footer->n_cols != h.n_cols)
        return alm_part_corrupt(cx, part->path, 0, "its description contradicts itself");
    ALM_TRY(check_groups(cx, q, &h));
    ALM_TRY(allocate(cx, q));
    ALM_TRY(find_columns(cx, q, field));
    ALM_TRY(find_last(cx, q, footer + h.footer_bytes, h.last_bytes));
    ALM_TRY(find_codes(cx, q, field,
                       (const uint32_t *)(const void *)(footer + h.footer_bytes + h.last_bytes),
                       h.codes_bytes / sizeof(uint32_t)));
    return make_image(cx, q, h.image_bytes);
}

alm_status alm_part_parquet_open(alm_ctx *cx, alm_part *part, uint64_t table_id,
                                 alm_decoded *decoded)
{
    alm_part_parquet *q = calloc(1, sizeof *q);
    if (q == NULL)
        return no_memory(cx, part);
    part->parquet = q;
    q->part = part;
    q->decoded = decoded;
    alm_arena_init(&q->arena, NULL);
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->filled, NULL);
    q->locks_made = true;
    const alm_str bytes = {(const char *)part->map, part->bytes};
    ALM_TRY(as_damage(cx, part, alm_pq_open(cx, &q->arena, part->path, bytes, &q->file)));
    return describe(cx, q, table_id);
}

void alm_part_parquet_close(alm_part *part)
{
    alm_part_parquet *q = part->parquet;
    if (q == NULL)
        return;
    for (uint32_t i = 0; q->image != NULL && i < part->footer->n_cols; i++)
        alm_decoded_give(q->decoded, &q->cols[i]);
    if (q->image != NULL)
        (void)part->io->unmap(part->io, q->image, q->image_bytes);
    if (q->locks_made) {
        (void)pthread_mutex_destroy(&q->lock);
        (void)pthread_cond_destroy(&q->filled);
    }
    free(q->col);
    free((void *)q->last);
    free(q->cols);
    free(q->codes);
    free(q->busy);
    free(q->saved);
    free(q->blob);
    alm_arena_deinit(&q->arena);
    free(q);
    part->parquet = NULL;
}
