/*
 * bulk.h - inner side of the bulk load: the rows of one partition on their way to a part.
 */
#ifndef ALM_STORAGE_BULK_H
#define ALM_STORAGE_BULK_H

#include "storage/part/part.h"
#include "storage/version/version.h"

/* Rows of a table in memory, column by column, in order of arrival. SYMBOL: 4-byte codes; text in
 * address form. Belongs to one thread. */
typedef struct alm_rowbuf {
    const alm_schema *schema; /* borrowed */
    alm_part_chunk *chunks;
    size_t n_chunks, cap_chunks;
    uint32_t room;   /* rows the last chunk can still take */
    alm_arena texts; /* long texts */
    int64_t rows, bytes;
} alm_rowbuf;

void alm_rowbuf_init(alm_rowbuf *buf, const alm_schema *schema);
/* Gives the memory back; the buffer is empty and usable again. */
void alm_rowbuf_clear(alm_rowbuf *buf);
/* Appends rows idx[0..n) of dense or const vectors, or rows first.. where idx is NULL. Symbols are
 * 4-byte codes already. */
ALM_NODISCARD alm_status alm_rowbuf_append(alm_ctx *cx, alm_rowbuf *buf, const alm_vec *cols,
                                           const uint32_t *idx, uint32_t first, uint32_t n_rows);

/* Writes rows of chunks (all columns of the schema, in its order) as one part of the table, sorted,
 * and without what DEDUP UPSERT KEYS replaces. One reference to the caller. The file goes when the
 * part is released before it was committed. `pack`: for a small one; or NULL. */
ALM_NODISCARD alm_status alm_rows_to_part(alm_ctx *cx, alm_storage *storage,
                                          const alm_version *version, const alm_part_chunk *chunks,
                                          size_t n_chunks, int64_t bucket, alm_part_pack *pack,
                                          alm_part_ref **out);

/* Writes the rows of a spec as a part of its table; seq 0: the newest. */
ALM_NODISCARD alm_status alm_spec_to_part(alm_ctx *cx, alm_storage *storage,
                                          const alm_part_spec *spec, int64_t bucket, uint64_t seq,
                                          alm_part_ref **out);

/* alm_bulk_begin for views, too. */
ALM_NODISCARD alm_status alm_bulk_begin_any(alm_ctx *cx, alm_storage *storage,
                                            const alm_table *table, alm_bulk **out);
/* Writes what is left and gives all parts, borrowed; the caller commits them and then ends the load by
 * alm_bulk_rollback, which keeps what was committed. */
ALM_NODISCARD alm_status alm_bulk_parts(alm_ctx *cx, alm_bulk *bulk, alm_part_ref *const **parts,
                                        uint32_t *n);
int64_t alm_bulk_rows(const alm_bulk *bulk); /* given so far */
/* alm_bulk_begin of a table that comes into being with the commit. Takes `pending` over, also when
 * it fails. */
ALM_NODISCARD alm_status alm_bulk_new_pending(alm_ctx *cx, alm_storage *storage,
                                              struct alm_pending *pending, alm_bulk **out);

/* A value of VARCHAR(n) that is too long: ALM_E_LENGTH names it (text_length.c). */
ALM_NODISCARD alm_status alm_text_length_check(alm_ctx *cx, const alm_column *col,
                                               const alm_vec *vec, uint32_t rows);

#endif
