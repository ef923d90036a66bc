/*
 * read.c - opens part files and checks what is touched (format: part.h).
 *
 * Cost        Opening reads header, footer and trailer; statistics are used where they are mapped.
 *             A touched block costs one relaxed load; the first touch reads its bytes once (with
 *             population of the pages asked for ahead) for the checksum. For a rewrite
 *             (alm_rewrite_begin) each block is compared again, once for the rewrite.
 * Errors      Everything that is read from the file before its checksum is compared against the size
 *             of the file first: a damaged file is an error, never a crash.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/dict/dict.h"
#include "storage/part/format.h"
#include "storage/part/inner.h"
#include "storage/part/part.h"

alm_status alm_part_corrupt(alm_ctx *cx, const char *path, uint64_t offset, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s', offset %llu: %s", path,
                    (unsigned long long)offset, what);
}

static alm_status newer(alm_ctx *cx, const char *path, uint32_t version)
{
    return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                    "part file '%s' has version %u, newer than %d: use a newer server", path,
                    version, ALM_PART_VERSION);
}

/* Reads bytes ahead: a disk that cannot read them is an error here, and no fault later. */
static alm_status part_read_fetch(alm_ctx *cx, const alm_part *part, uint64_t off, uint64_t size)
{
    if (size > 0 && part->copy == NULL &&
        part->io->prefetch(part->io, part->map + off, size) == -EFAULT)
        return alm_fail(cx, ALM_E_IO, -1, "part file '%s', offset %llu: %llu bytes cannot be read",
                        part->path, (unsigned long long)off, (unsigned long long)size);
    return ALM_OK;
}

/* The state of a part changes behind its const face: what was found good is remembered. */
static alm_part *part_read_state_of(const alm_part *part)
{
    return (alm_part *)(uintptr_t)part;
}

/* Header, footer and trailer as they are mapped now. */
static alm_status compare_footer(alm_ctx *cx, const alm_part *part)
{
    alm_part_header head;
    alm_part_trailer tail;
    const alm_part_footer *footer = part->guard != NULL ? part->guard->mapped : part->footer;
    const uint64_t place = part->bytes - sizeof tail;
    const uint64_t off = (uint64_t)((const uint8_t *)footer - part->map);
    ALM_ASSERT(off >= sizeof head && off < place);
    ALM_TRY(part_read_fetch(cx, part, 0, sizeof head));
    ALM_TRY(part_read_fetch(cx, part, off, part->bytes - off));
    memcpy(&head, part->map, sizeof head);
    memcpy(&tail, part->map + place, sizeof tail);
    if (memcmp(head.magic, ALM_PART_MAGIC, sizeof head.magic) != 0 ||
        head.crc != alm_crc32c(0, &head, offsetof(alm_part_header, crc)))
        return alm_part_corrupt(cx, part->path, 0, "the header fails its checksum");
    if (memcmp(tail.magic, ALM_PART_END_MAGIC, sizeof tail.magic) != 0 || tail.footer_off != off ||
        tail.footer_bytes != place - off || tail.crc != alm_crc32c(0, footer, place - off))
        return alm_part_corrupt(cx, part->path, off, "the footer fails its checksum");
    if (tail.crc != part->footer_crc)
        return alm_part_corrupt(cx, part->path, off, "another part was written over it");
    return ALM_OK;
}

static void raise_to(_Atomic uint64_t *at, uint64_t number)
{
    uint64_t before = atomic_load_explicit(at, memory_order_relaxed);
    while (before < number && !atomic_compare_exchange_weak(at, &before, number)) {
    }
}

/* Once for a rewrite; each time as long as it fails. */
static alm_status footer_again(alm_ctx *cx, const alm_part *part)
{
    const alm_status status = compare_footer(cx, part);
    atomic_store(&part_read_state_of(part)->doubted, status != ALM_OK);
    if (status == ALM_OK)
        raise_to(&part_read_state_of(part)->footer_compared, cx->rewrite);
    return status;
}

static alm_status map_failed(alm_ctx *cx, const alm_part *part, int code)
{
    if (code == -EIO)
        return alm_fail(
            cx, ALM_E_CORRUPT, -1,
            "part file '%s' could not be read any more: the disk failed, or the file was cut",
            part->path);
    if (code == -ESTALE)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s' is another file than the one that was read before",
                        part->path);
    if (code == -ENOMEM) {
        alm_io_map_counts maps = {0};
        part->io->map_counts(part->io, &maps);
        return alm_fail(cx, ALM_E_MEMORY, -1,
                        "part file '%s' cannot be mapped: the process has no memory, or "
                        "vm.max_map_count maps [storage.maps.max=%lld, mapped=%lld]",
                        part->path, (long long)maps.limit, (long long)maps.in);
    }
    return alm_part_no_file(cx, code, part->path);
}

alm_status alm_part_usable(alm_ctx *cx, const alm_part *part)
{
    if (part->copy != NULL)
        return ALM_OK;
    if (!alm_io_map_is_ready(part->file)) {
        const int code = part->io->use_map(part->io, part->file);
        if (code < 0)
            return map_failed(cx, part, code);
    }
    if (part->parquet != NULL || /* what is used of its footer is a copy */
        (cx->rewrite <= atomic_load_explicit(&part->footer_compared, memory_order_relaxed) &&
         !atomic_load_explicit(&part->doubted, memory_order_relaxed)))
        return ALM_OK;
    return footer_again(cx, part);
}

/* ------------------------------------------------------------------ opening */

static alm_status part_read_check_header(alm_ctx *cx, alm_part *part, uint64_t table_id,
                                         uint32_t *version)
{
    alm_part_header head;
    if (part->bytes < ALM_PART_HEADER + sizeof(alm_part_footer) + ALM_PART_TRAILER)
        return alm_part_corrupt(cx, part->path, 0, "the file is too short");
    ALM_TRY(part_read_fetch(cx, part, 0, sizeof head));
    ALM_TRY(part_read_fetch(cx, part, part->bytes - sizeof(alm_part_trailer),
                            sizeof(alm_part_trailer)));
    memcpy(&head, part->map, sizeof(head));
    if (memcmp(head.magic, ALM_PART_MAGIC, sizeof(head.magic)) != 0)
        return alm_part_corrupt(cx, part->path, 0, "not a part file");
    if (head.version > ALM_PART_VERSION) { /* the end of the file says so, too, or it is damage */
        alm_part_trailer tail;
        memcpy(&tail, part->map + part->bytes - sizeof tail, sizeof tail);
        return tail.version == head.version
                   ? newer(cx, part->path, head.version)
                   : alm_part_corrupt(cx, part->path, 0,
                                      "header and end are of different versions");
    }
    if (head.crc != alm_crc32c(0, &head, offsetof(alm_part_header, crc)))
        return alm_part_corrupt(cx, part->path, 0, "the header fails its checksum");
    if (head.align != (head.version == 1 ? ALM_PART_PAGE : ALM_PART_ALIGN))
        return alm_part_corrupt(cx, part->path, 0, "unknown alignment");
    part->align = head.align;
    *version = head.version;
    if (head.table_id != table_id)
        return alm_part_corrupt(cx, part->path, 0, "the file belongs to another table");
    return ALM_OK;
}

static alm_status find_footer(alm_ctx *cx, alm_part *part, uint32_t version)
{
    alm_part_trailer tail;
    const size_t offset = part->bytes - sizeof(tail);
    memcpy(&tail, part->map + offset, sizeof(tail));
    if (memcmp(tail.magic, ALM_PART_END_MAGIC, sizeof(tail.magic)) != 0)
        return alm_part_corrupt(cx, part->path, offset, "the end of the file is missing");
    if (tail.version != version)
        return alm_part_corrupt(cx, part->path, offset, "header and end are of different versions");
    if (tail.footer_off < ALM_PART_HEADER || tail.footer_off % part->align != 0 ||
        tail.footer_off > offset || tail.footer_bytes != offset - tail.footer_off ||
        tail.footer_bytes < sizeof(alm_part_footer))
        return alm_part_corrupt(cx, part->path, offset, "the footer lies outside of the file");
    ALM_TRY(part_read_fetch(cx, part, tail.footer_off, tail.footer_bytes));
    const void *footer = part->map + tail.footer_off;
    if (tail.crc != alm_crc32c(0, footer, tail.footer_bytes))
        return alm_part_corrupt(cx, part->path, tail.footer_off, "the footer fails its checksum");
    part->footer_crc = tail.crc;
    return alm_part_set_footer(cx, part, footer, tail.footer_bytes, tail.footer_off);
}

static bool width_fits(const alm_part_col *col)
{
    if (col->type.id == ALM_T_SYMBOL)
        return col->width == 1 || col->width == 2 || col->width == 4;
    return alm_type_is_valid(col->type) && col->width == alm_type_width(col->type);
}

static bool segment_fits(const alm_part *part, uint64_t end, uint64_t off, uint64_t bytes)
{
    return off % part->align == 0 && off <= end && bytes <= end - off;
}

static alm_status part_read_check_columns(alm_ctx *cx, const alm_part *part, uint64_t end)
{
    const alm_part_footer *footer = part->footer;
    for (uint32_t column = 0; column < footer->n_cols; column++) {
        const alm_part_col *col = &part->cols[column];
        const uint64_t place = col->data_off;
        if (!width_fits(col) || (column > 0 && col->id <= part->cols[column - 1].id) ||
            !segment_fits(part, end, col->data_off, (uint64_t)footer->rows * col->width) ||
            !segment_fits(part, end, col->heap_off, col->heap_bytes) ||
            !segment_fits(part, end, col->last_off, (uint64_t)col->n_last * sizeof(int32_t)))
            return alm_part_corrupt(cx, part->path, place, "a column lies outside of the file");
        const alm_part_block *blocks = alm_part_blocks(part, column);
        uint64_t heap_end = 0;
        for (uint32_t block = 0; alm_part_has_heap(col->type) && block < footer->n_blocks;
             block++) {
            if (blocks[block].heap_end < heap_end || blocks[block].heap_end > col->heap_bytes)
                return alm_part_corrupt(cx, part->path, place,
                                        "a text heap lies outside of the file");
            heap_end = blocks[block].heap_end;
        }
    }
    if (footer->ts_entry >= 0 && part->cols[footer->ts_entry].width != sizeof(int64_t))
        return alm_part_corrupt(cx, part->path, 0, "the designated timestamp has another type");
    return ALM_OK;
}

alm_status alm_part_set_footer(alm_ctx *cx, alm_part *part, const void *footer, uint64_t bytes,
                               uint64_t image_bytes)
{
    const alm_part_footer *part_footer = footer;
    if (bytes < sizeof(*part_footer))
        return alm_part_corrupt(cx, part->path, image_bytes, "the footer contradicts itself");
    const uint64_t blocks =
        part_footer->rows <= 0
            ? 0
            : ((uint64_t)part_footer->rows + ALM_STATS_BLOCK_ROWS - 1) / ALM_STATS_BLOCK_ROWS;
    const uint64_t need =
        sizeof(*part_footer) + (uint64_t)part_footer->n_cols * sizeof(alm_part_col) +
        (uint64_t)part_footer->n_cols * part_footer->n_blocks * sizeof(alm_part_block);
    if (part_footer->rows <= 0 || part_footer->rows > ALM_PART_ROWS_LIMIT ||
        part_footer->n_blocks != blocks || part_footer->block_rows != ALM_STATS_BLOCK_ROWS ||
        part_footer->n_cols == 0 || need != bytes ||
        part_footer->ts_entry >= (int64_t)part_footer->n_cols)
        return alm_part_corrupt(cx, part->path, image_bytes, "the footer contradicts itself");
    part->footer = part_footer;
    part->cols = (const alm_part_col *)(const void *)(part_footer + 1);
    part->blocks = (const alm_part_block *)(const void *)(part->cols + part_footer->n_cols);
    return part_read_check_columns(cx, part, image_bytes);
}

static alm_status map_file(alm_ctx *cx, alm_part *part)
{
    const int code = part->io->map_file(part->io, part->file_path, &part->file);
    if (code == -ENODATA)
        return alm_part_corrupt(cx, part->path, 0, "the file is too short");
    if (code < 0)
        return map_failed(cx, part, code);
    part->map = part->file->at;
    part->bytes = part->file->bytes;
    if (part->place.bytes == 0)
        return ALM_OK;
    if ((uint64_t)part->place.offset + (uint64_t)part->place.bytes > part->bytes)
        return alm_part_corrupt(cx, part->path, 0, "the file is too short");
    part->map += part->place.offset;
    part->bytes = (size_t)part->place.bytes;
    return ALM_OK;
}

static alm_status open_part(alm_ctx *cx, alm_part *part, uint64_t table_id, alm_decoded *decoded)
{
    ALM_TRY(alm_part_copy_read(cx, part, decoded));
    if (part->copy == NULL)
        ALM_TRY(map_file(cx, part));
    if (alm_part_is_parquet(part->map, part->bytes)) {
        ALM_TRY(alm_part_parquet_open(cx, part, table_id, decoded));
    } else {
        uint32_t version = 0;
        part->image = part->map;
        ALM_TRY(part_read_check_header(cx, part, table_id, &version));
        ALM_TRY(find_footer(cx, part, version));
    }
    part->n_bits = (uint64_t)part->footer->n_cols * part->footer->n_blocks + part->footer->n_cols;
    part->verified = calloc(part->n_bits / 64 + 1, sizeof(*part->verified));
    if (part->verified == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", part->path);
    if (part->copy != NULL)
        return alm_part_copy_pack(cx, part);
    return part->parquet == NULL ? alm_part_guard_new(cx, part) : ALM_OK;
}

static void set_place(alm_part *part, const char *path, const alm_part_place *place)
{
    part->file_path = strdup(path);
    if (place == NULL) {
        part->path = strdup(path);
        return;
    }
    ALM_ASSERT(place->offset >= 0 && place->bytes > 0);
    part->place = *place;
    const size_t size = strlen(path) + 32;
    part->path = malloc(size);
    if (part->path != NULL)
        (void)snprintf(part->path, size, "%s@%lld", path, (long long)place->offset);
}

alm_status alm_part_open(alm_ctx *cx, const alm_io *io, const char *path,
                         const alm_part_place *place, uint64_t table_id,
                         struct alm_decoded *decoded, alm_part **out)
{
    alm_part *part = calloc(1, sizeof(*part));
    if (part == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", path);
    part->io = io;
    part->refs = 1;
    set_place(part, path, place);
    alm_status status = ALM_OK;
    if (part->path == NULL || part->file_path == NULL)
        status = alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", path);
    else
        status = open_part(cx, part, table_id, decoded);
    if (status != ALM_OK) {
        alm_part_release(part);
        return status;
    }
    *out = part;
    return ALM_OK;
}

alm_part *alm_part_retain(alm_part *part)
{
    atomic_fetch_add_explicit(&part->refs, 1, memory_order_relaxed);
    return part;
}

void alm_part_release(alm_part *part)
{
    if (part == NULL || atomic_fetch_sub_explicit(&part->refs, 1, memory_order_acq_rel) != 1)
        return;
    alm_part_parquet_close(part);
    alm_part_copy_free(part);
    if (part->file != NULL)
        part->io->unmap_file(part->io, part->file);
    free(atomic_load(&part->compared));
    free(part->verified);
    free(part->guard);
    free(part->path);
    free(part->file_path);
    free(part);
}

/* ---------------------------------------------------------------- accessors */

const char *alm_part_path(const alm_part *part)
{
    return part->path;
}
const alm_part_footer *alm_part_info(const alm_part *part)
{
    return part->footer;
}
int64_t alm_part_bytes(const alm_part *part)
{
    return (int64_t)part->bytes;
}
uint32_t alm_part_footer_crc(const alm_part *part)
{
    return part->footer_crc;
}

int32_t alm_part_find(const alm_part *part, uint32_t id, uint32_t hint)
{
    if (hint < part->footer->n_cols && part->cols[hint].id == id)
        return (int32_t)hint;
    uint32_t lo = 0, hi = part->footer->n_cols;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (part->cols[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < part->footer->n_cols && part->cols[lo].id == id ? (int32_t)lo : -1;
}

const alm_part_col *alm_part_col_at(const alm_part *part, uint32_t entry)
{
    ALM_ASSERT(entry < part->footer->n_cols);
    return &part->cols[entry];
}

const alm_part_block *alm_part_blocks(const alm_part *part, uint32_t entry)
{
    return part->blocks + (size_t)entry * part->footer->n_blocks;
}

const void *alm_part_data(const alm_part *part, uint32_t entry)
{
    return part->image + part->cols[entry].data_off;
}

const char *alm_part_heap(const alm_part *part, uint32_t entry)
{
    return (const char *)part->image + part->cols[entry].heap_off;
}

/* ------------------------------------------------------------- verification */

/* Views of a block may point into the block's own heap bytes only. */
static bool views_fit(const alm_view *views, uint32_t n, uint64_t heap_start, uint64_t heap_end)
{
    bool good = true;
    for (uint32_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        good &= views[i].off >= heap_start && views[i].off <= heap_end &&
                views[i].len <= heap_end - views[i].off;
    }
    return good;
}

/* Readers look codes up in the dictionary, which has those up to max_code: it was compared when the part was opened. */
static bool codes_fit(const alm_part_col *col, const void *codes, size_t n)
{
    return col->type.id != ALM_T_SYMBOL || alm_codes_largest(codes, col->width, n) <= col->max_code;
}

bool alm_part_block_is_good(const alm_part *part, uint32_t entry, uint32_t block)
{
    const alm_part_col *col = &part->cols[entry];
    const alm_part_block *blocks = alm_part_blocks(part, entry);
    const uint64_t row = (uint64_t)block * ALM_STATS_BLOCK_ROWS;
    const uint64_t n = ALM_MIN((uint64_t)part->footer->rows - row, (uint64_t)ALM_STATS_BLOCK_ROWS);
    const uint8_t *data = part->image + col->data_off + row * col->width;
    if (alm_crc32c(0, data, (size_t)n * col->width) != blocks[block].crc ||
        !codes_fit(col, data, (size_t)n))
        return false;
    if (!alm_part_has_heap(col->type))
        return true;
    const uint64_t start = block == 0 ? 0 : blocks[block - 1].heap_end,
                   end = blocks[block].heap_end;
    return alm_crc32c(0, part->image + col->heap_off + start, end - start) ==
               blocks[block].heap_crc &&
           views_fit((const alm_view *)(const void *)data, (uint32_t)n, start, end);
}

static alm_status verify_block(alm_ctx *cx, const alm_part *part, uint32_t entry, uint32_t block)
{
    const alm_part_col *col = &part->cols[entry];
    const alm_part_block *blocks = alm_part_blocks(part, entry);
    const uint64_t row = (uint64_t)block * ALM_STATS_BLOCK_ROWS;
    const uint64_t n = ALM_MIN((uint64_t)part->footer->rows - row, (uint64_t)ALM_STATS_BLOCK_ROWS);
    const uint64_t off = col->data_off + row * col->width;
    const size_t size = (size_t)n * col->width;
    ALM_TRY(part_read_fetch(cx, part, off, size));
    if (alm_crc32c(0, part->map + off, size) != blocks[block].crc)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s', column %u, offset %llu: block of %zu bytes fails its "
                        "checksum",
                        part->path, col->id, (unsigned long long)off, size);
    if (!codes_fit(col, part->map + off, (size_t)n))
        return alm_part_corrupt(cx, part->path, off, "a code is above the largest of its column");
    if (!alm_part_has_heap(col->type))
        return ALM_OK;
    const uint64_t start = block == 0 ? 0 : blocks[block - 1].heap_end;
    const uint64_t end = blocks[block].heap_end;
    if (start > end || end > col->heap_bytes)
        return alm_part_corrupt(cx, part->path, off, "a text heap lies outside of the file");
    const uint8_t *heap = part->map + col->heap_off;
    ALM_TRY(part_read_fetch(cx, part, col->heap_off + start, end - start));
    if (alm_crc32c(0, heap + start, end - start) != blocks[block].heap_crc ||
        !views_fit((const alm_view *)(const void *)(part->map + off), (uint32_t)n, start, end))
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "part file '%s', column %u, offset %llu: texts of %llu bytes fail their "
                        "checksum",
                        part->path, col->id, (unsigned long long)(col->heap_off + start),
                        (unsigned long long)(end - start));
    return ALM_OK;
}

bool alm_part_compared(const alm_part *part, uint64_t bit, uint64_t rewrite)
{
    ALM_DASSERT(bit < part->n_bits);
    const _Atomic uint64_t *at = atomic_load_explicit(&part->compared, memory_order_acquire);
    return rewrite == 0 || (at != NULL && atomic_load(&at[bit]) >= rewrite);
}

void alm_part_set_compared(const alm_part *part, uint64_t bit, uint64_t rewrite)
{
    _Atomic uint64_t *at = atomic_load_explicit(&part->compared, memory_order_acquire);
    if (rewrite == 0)
        return;
    if (at == NULL) {
        _Atomic uint64_t *fresh = calloc(part->n_bits, sizeof(*fresh));
        if (fresh == NULL)
            return; /* it is compared for each batch then */
        if (atomic_compare_exchange_strong(&part_read_state_of(part)->compared, &at, fresh))
            at = fresh;
        else
            free(fresh); /* another thread was faster */
    }
    raise_to(&at[bit], rewrite);
}

static bool part_read_bit_get(const alm_ctx *cx, const alm_part *part, uint64_t bit)
{
    const bool good =
        atomic_load_explicit(&part->verified[bit / 64], memory_order_relaxed) >> (bit % 64) & 1;
    return good && (cx->rewrite == 0 || alm_part_compared(part, bit, cx->rewrite));
}

static void part_read_bit_set(const alm_ctx *cx, const alm_part *part, uint64_t bit)
{
    atomic_fetch_or_explicit(&part->verified[bit / 64], UINT64_C(1) << (bit % 64),
                             memory_order_relaxed);
    alm_part_set_compared(part, bit, cx->rewrite);
}

/* What rotted after it was found good is not read any more either. */
static void bit_clear(const alm_part *part, uint64_t bit)
{
    atomic_fetch_and_explicit(&part->verified[bit / 64], ~(UINT64_C(1) << (bit % 64)),
                              memory_order_relaxed);
}

void alm_part_doubt(alm_part *part)
{
    if (part->copy != NULL)
        return; /* memory, which was compared */
    if (part->parquet != NULL)
        return; /* its bits say what is decoded: memory, which was compared */
    for (uint64_t w = 0; w <= part->n_bits / 64; w++)
        atomic_store(&part->verified[w], 0);
    atomic_store(&part->doubted, true);
}

alm_status alm_part_col_usable(alm_ctx *cx, const alm_part *part, uint32_t entry)
{
    return alm_part_col_is_sound(part, entry) ? ALM_OK : footer_again(cx, part);
}

alm_status alm_part_touch(alm_ctx *cx, const alm_part *part, uint32_t entry, int64_t row, int64_t n)
{
    ALM_DASSERT(entry < part->footer->n_cols && row >= 0 && n > 0 && row + n <= part->footer->rows);
    const uint32_t first = (uint32_t)(row / ALM_STATS_BLOCK_ROWS);
    const uint32_t last = (uint32_t)((row + n - 1) / ALM_STATS_BLOCK_ROWS);
    ALM_TRY(alm_part_usable(cx, part));
    if (part->parquet != NULL)
        return alm_part_parquet_touch(cx, part, entry, first, last);
    for (uint32_t block = first; block <= last; block++) {
        const uint64_t bit = (uint64_t)entry * part->footer->n_blocks + block;
        if (part_read_bit_get(cx, part, bit))
            continue;
        ALM_TRY(alm_part_col_usable(cx, part, entry));
        const alm_status status = verify_block(cx, part, entry, block);
        if (status != ALM_OK) {
            bit_clear(part, bit);
            return status;
        }
        part_read_bit_set(cx, part, bit);
    }
    return ALM_OK;
}

void alm_part_let_go(alm_part *part, uint32_t entry)
{
    const alm_part_col *col = &part->cols[entry];
    if (part->copy != NULL)
        return;
    if (part->parquet != NULL) {
        alm_part_parquet_forget(part, entry);
        return;
    }
    part->io->release(part->io, part->map + col->data_off, (size_t)part->footer->rows * col->width);
    if (col->heap_bytes > 0)
        part->io->release(part->io, part->map + col->heap_off, col->heap_bytes);
}

alm_status alm_part_last(alm_ctx *cx, const alm_part *part, uint32_t entry, const int32_t **rows,
                         uint32_t *n)
{
    const alm_part_col *col = alm_part_col_at(part, entry);
    *rows = NULL;
    *n = 0;
    ALM_TRY(alm_part_col_usable(cx, part, entry));
    if (col->n_last == 0)
        return ALM_OK;
    const int32_t *last = part->parquet != NULL
                              ? alm_part_parquet_last(part, entry)
                              : (const int32_t *)(const void *)(part->map + col->last_off);
    const uint64_t bit = (uint64_t)part->footer->n_cols * part->footer->n_blocks + entry;
    if (!part_read_bit_get(cx, part, bit)) {
        if (part->parquet == NULL)
            ALM_TRY(part_read_fetch(cx, part, col->last_off, col->n_last * sizeof(*last)));
        if (alm_crc32c(0, last, col->n_last * sizeof(*last)) != col->last_crc) {
            bit_clear(part, bit);
            return alm_fail(cx, ALM_E_CORRUPT, -1,
                            "part file '%s', column %u, offset %llu: last rows fail their checksum",
                            part->path, col->id, (unsigned long long)col->last_off);
        }
        part_read_bit_set(cx, part, bit);
    }
    *rows = last;
    *n = col->n_last;
    return ALM_OK;
}

alm_status alm_part_vec(alm_ctx *cx, alm_arena *arena, const alm_part *part, uint32_t id,
                        alm_type type, alm_vec *out)
{
    const int32_t found = alm_part_find(part, id, UINT32_MAX);
    if (found < 0)
        return alm_vec_null(cx, arena, type, out);
    const uint32_t entry = (uint32_t)found;
    const alm_part_col *col = &part->cols[entry];
    ALM_TRY(alm_part_col_usable(cx, part, entry));
    if (!alm_type_eq(col->type, type))
        return alm_part_corrupt(cx, part->path, col->data_off,
                                "a column has another type than its table");
    ALM_TRY(alm_part_touch(cx, part, entry, 0, part->footer->rows));
    *out = (alm_vec){.type = type,
                     .width = (uint8_t)col->width,
                     .no_nulls = col->nulls == 0,
                     .data = (void *)(uintptr_t)alm_part_data(part, entry),
                     .heap = alm_part_has_heap(type) ? alm_part_heap(part, entry) : NULL};
    return ALM_OK;
}

/* ---------------------------------------------------------- search in times */

/* First block whose largest time is >= bound. */
static uint32_t part_read_block_of(const alm_part_block *blocks, uint32_t n, int64_t bound)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if ((int64_t)blocks[mid].max < bound)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

alm_status alm_part_lower_bound(alm_ctx *cx, const alm_part *part, int64_t bound, int64_t *row)
{
    const alm_part_footer *footer = part->footer;
    if (footer->ts_entry < 0)
        return alm_part_corrupt(cx, part->path, 0, "the part lacks the designated timestamp");
    const uint32_t entry = (uint32_t)footer->ts_entry;
    const alm_part_block *blocks = alm_part_blocks(part, entry);
    const uint32_t block = part_read_block_of(blocks, footer->n_blocks, bound);
    const int64_t first = (int64_t)block * ALM_STATS_BLOCK_ROWS;
    if (block == footer->n_blocks || (int64_t)blocks[block].min >= bound) {
        *row = ALM_MIN(first, footer->rows);
        return ALM_OK;
    }
    const int64_t n = ALM_MIN(footer->rows - first, (int64_t)ALM_STATS_BLOCK_ROWS);
    ALM_TRY(alm_part_touch(cx, part, entry, first, n));
    ALM_TRY(alm_part_col_usable(cx, part, entry));
    const int64_t *ts = (const int64_t *)alm_part_data(part, entry) + first;
    *row = first + alm_times_lower_bound(ts, n, bound);
    return ALM_OK;
}

int64_t alm_times_lower_bound(const int64_t *ts, int64_t n, int64_t bound)
{
    int64_t lo = 0, hi = n; /* ts[lo - 1] < bound <= ts[hi] */
    /* A few steps of interpolation: rows come about evenly in time, so that they land next to the
     * border; then plain bisection, whatever the data. */
    for (int step = 0; step < 3 && hi - lo > 64; step++) {
        const double span = (double)ts[hi - 1] - (double)ts[lo];
        if (ts[lo] >= bound)
            return lo;
        if (ts[hi - 1] < bound)
            return hi;
        if (!(span > 0))
            break;
        const double part = ((double)bound - (double)ts[lo]) / span;
        int64_t mid = lo + (int64_t)(part * (double)(hi - lo - 1));
        mid = ALM_MAX(lo, ALM_MIN(mid, hi - 1));
        const int64_t left = ALM_MAX(lo, mid - 32), right = ALM_MIN(hi - 1, mid + 32);
        if (ts[left] < bound)
            lo = left + 1;
        else
            hi = left;
        if (right >= lo && right < hi) {
            if (ts[right] < bound)
                lo = right + 1;
            else
                hi = right;
        }
    }
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (ts[mid] < bound)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
