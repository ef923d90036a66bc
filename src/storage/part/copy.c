/*
 * copy.c - small parts as copies in memory, where files to map are many.
 *
 * Reason      A process has few maps, and mapping a file again costs more than reading the few rows of a small part. Where half
 *             of the maps are in use, a native part of at most SMALL bytes that is opened is read instead, verified whole,
 *             and packed. So is a part that shares its file with others, always.
 * Layout      Footer, then the segments of each column at multiples of 64 bytes, with offsets to match: without the
 *             padding to pages a part of one row takes less than a kilobyte.
 * Limit       alm_decoded.copies_max for all of them. They go with their files: what is beyond is mapped.
 * Rot         What is in the copy was compared with its checksums; nothing is read from the file again.
 */
#include <stdlib.h>

#include "storage/part/inner.h"

enum { SMALL = 64 << 10, ALIGN = 64 };

static size_t part_copy_aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t footer_bytes(const alm_part_footer *footer)
{
    return sizeof *footer + footer->n_cols * sizeof(alm_part_col) +
           (size_t)footer->n_cols * footer->n_blocks * sizeof(alm_part_block);
}

static size_t copy_bytes(const alm_part *part)
{
    const alm_part_footer *footer = part->footer;
    size_t n = part_copy_aligned(footer_bytes(footer));
    for (uint32_t col = 0; col < footer->n_cols; col++)
        n += part_copy_aligned((size_t)footer->rows * part->cols[col].width) +
             part_copy_aligned(part->cols[col].heap_bytes) +
             part_copy_aligned(part->cols[col].n_last * sizeof(int32_t));
    return n;
}

static alm_status verify_all(alm_ctx *cx, const alm_part *part)
{
    for (uint32_t col = 0; col < part->footer->n_cols; col++) {
        const int32_t *last = NULL;
        uint32_t n = 0;
        ALM_TRY(alm_part_touch(cx, part, col, 0, part->footer->rows));
        ALM_TRY(alm_part_last(cx, part, col, &last, &n));
    }
    return ALM_OK;
}

/* Moves a segment to *at, which ascends; gives its new offset. */
static uint64_t part_copy_put(const alm_part *part, uint8_t *dest, size_t *at, uint64_t off,
                              size_t n)
{
    const size_t place = *at;
    if (n > 0)
        memcpy(dest + place, part->map + off, n);
    *at += part_copy_aligned(n);
    return place;
}

static void part_copy_fill(const alm_part *part, uint8_t *dest, size_t size)
{
    const alm_part_footer *footer = part->footer;
    alm_part_col *cols = (alm_part_col *)(void *)(dest + sizeof *footer);
    size_t offset = part_copy_aligned(footer_bytes(footer));
    memcpy(dest, footer, footer_bytes(footer));
    for (uint32_t col = 0; col < footer->n_cols; col++) {
        const alm_part_col *from = &part->cols[col];
        cols[col].data_off =
            part_copy_put(part, dest, &offset, from->data_off, (size_t)footer->rows * from->width);
        cols[col].heap_off = part_copy_put(part, dest, &offset, from->heap_off, from->heap_bytes);
        cols[col].last_off =
            part_copy_put(part, dest, &offset, from->last_off, from->n_last * sizeof(int32_t));
    }
    ALM_ASSERT(offset == size);
}

static bool wants_copy(const alm_part *part, const alm_decoded *decoded, size_t *bytes)
{
    alm_io_map_counts maps;
    alm_io_stat meta = {.size_bytes = part->place.bytes};
    if (decoded == NULL || atomic_load(&decoded->copies) >= decoded->copies_max)
        return false;
    part->io->map_counts(part->io, &maps);
    if (part->place.bytes == 0 && (maps.limit == 0 || maps.in < maps.limit / 2 ||
                                   part->io->stat(part->io, part->file_path, &meta) < 0))
        return false;
    if (meta.size_bytes <= 0 || meta.size_bytes > SMALL)
        return false;
    *bytes = (size_t)meta.size_bytes;
    return true;
}

alm_status alm_part_copy_read(alm_ctx *cx, alm_part *part, alm_decoded *decoded)
{
    const alm_io *io = part->io;
    size_t bytes = 0;
    if (!wants_copy(part, decoded, &bytes))
        return ALM_OK;
    uint8_t *whole = aligned_alloc(ALIGN, part_copy_aligned(bytes));
    if (whole == NULL)
        return ALM_OK; /* it is mapped instead */
    const int handle = io->open(io, part->file_path, ALM_IO_READ);
    alm_status status =
        handle < 0 ? alm_part_no_file(cx, handle, part->path)
                   : alm_io_read_all(cx, io, handle, whole, bytes, part->place.offset, part->path);
    if (handle >= 0)
        (void)io->close(io, handle); /* read-only: nothing to lose */
    if (status != ALM_OK || alm_part_is_parquet(whole, bytes)) {
        free(whole);
        return status;
    }
    part->copy = whole;
    part->map = whole;
    part->bytes = bytes;
    part->copies = &decoded->copies;
    return ALM_OK;
}

alm_status alm_part_copy_pack(alm_ctx *cx, alm_part *part)
{
    ALM_ASSERT(part->copy != NULL);
    ALM_ASSERT(part->copy_bytes == 0);
    ALM_TRY(verify_all(cx, part));
    const size_t size = copy_bytes(part);
    uint8_t *packed = aligned_alloc(ALIGN, size);
    if (packed == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to open part file '%s'", part->path);
    part_copy_fill(part, packed, size);
    free(part->copy);
    part->copy = packed;
    part->copy_bytes = (int64_t)size;
    atomic_fetch_add(part->copies, part->copy_bytes);
    part->map = part->image = packed;
    part->footer = (const alm_part_footer *)(const void *)packed;
    part->cols = (const alm_part_col *)(const void *)(part->footer + 1);
    part->blocks = (const alm_part_block *)(const void *)(part->cols + part->footer->n_cols);
    return ALM_OK;
}

void alm_part_copy_free(alm_part *part)
{
    if (part->copy == NULL)
        return;
    atomic_fetch_sub(part->copies, part->copy_bytes);
    free(part->copy);
    part->copy = NULL;
}
