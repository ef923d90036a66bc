/*
 * inner.h - what the files that read and write parts share. Private to part/.
 *
 * Image       The columns of an open part lie in memory as part.h lays them out: that is the map of a native file,
 *             and reserved memory of the same layout for a Parquet file. Offsets of columns
 *             (alm_part_col) are of the image.
 */
#ifndef ALM_STORAGE_PART_INNER_H
#define ALM_STORAGE_PART_INNER_H

#include "base/crc32c.h"
#include "storage/part/decoded.h"
#include "storage/part/part.h"

struct alm_part_parquet; /* parquet.c */

struct alm_part {
    _Atomic uint32_t refs;
    const alm_io *io;
    char *path;      /* as messages name it: with the offset where it shares its file */
    char *file_path; /* the same without it */
    alm_part_place place;
    alm_io_map *file;   /* NULL: there is a copy */
    const uint8_t *map; /* file->at, or the copy */
    size_t bytes;       /* of the file */
    uint8_t *copy;      /* owned; copy.c */
    int64_t copy_bytes;
    _Atomic int64_t *copies;       /* where they are counted */
    const uint8_t *image;          /* the map, or the memory of `parquet` */
    uint32_t align;                /* of its segments */
    const alm_part_footer *footer; /* in `guard`, where the file is mapped */
    struct alm_part_guard *guard;  /* NULL: all of the footer is memory */
    const alm_part_col *cols;
    const alm_part_block *blocks;
    uint32_t footer_crc; /* as it was when the part was opened */
    /* One bit per entry and block found good, then one per entry for its last rows. */
    _Atomic uint64_t *verified;
    /* For each of these bits the newest rewrite (alm_ctx.rewrite) that its block was compared for; NULL: none yet. */
    _Atomic(_Atomic uint64_t *) compared;
    _Atomic uint64_t footer_compared;
    uint64_t n_bits;
    atomic_bool doubted; /* footer and blocks are compared again before they are used */
    struct alm_part_parquet *parquet; /* NULL: a native file */
};

/* ---------------------------------------------------------------- read.c */

/* The column was looked at and is not looked at again soon: its pages, or what was decoded of it, take no memory. Of a
 * part that nobody else uses. */
void alm_part_let_go(alm_part *part, uint32_t entry);

alm_status alm_part_corrupt(alm_ctx *cx, const char *path, uint64_t offset, const char *what);
/* Are footer, columns and blocks within `bytes` (of them) and of an image of `image_bytes`? */
ALM_NODISCARD alm_status alm_part_set_footer(alm_ctx *cx, alm_part *part, const void *footer,
                                             uint64_t bytes, uint64_t image_bytes);
/* Was what the bit stands for compared for this rewrite? 0: there is none. */
bool alm_part_compared(const alm_part *part, uint64_t bit, uint64_t rewrite);
void alm_part_set_compared(const alm_part *part, uint64_t bit, uint64_t rewrite);
/* Do the bytes of a block that are in the image have their checksums? */
bool alm_part_block_is_good(const alm_part *part, uint32_t entry, uint32_t block);

/* --------------------------------------------------------------- guard.c */

/*
 * What a mapped footer was when it was compared with its checksum. It may rot while the part is open, and then offsets would
 * lead out of the map: so the counts are read here, and the description of a column is compared before it is followed.
 */
typedef struct alm_part_guard {
    alm_part_footer footer;
    const alm_part_footer *mapped;
    uint32_t crcs[]; /* of the alm_part_col of each column */
} alm_part_guard;
ALM_NODISCARD alm_status alm_part_guard_new(alm_ctx *cx, alm_part *part);
/* Is the description of the column what it was? */
static inline bool alm_part_col_is_sound(const alm_part *part, uint32_t entry)
{
    const alm_part_guard *guard = part->guard;
    return guard == NULL ||
           alm_crc32c(0, &part->cols[entry], sizeof *part->cols) == guard->crcs[entry];
}

/* --------------------------------------------------------------- copy.c */

/* Reads the file of a part that is opened, if it should be a copy: then it has one, of the layout of the file. */
ALM_NODISCARD alm_status alm_part_copy_read(alm_ctx *cx, alm_part *part, alm_decoded *decoded);
/* Verifies the copy and packs it. */
ALM_NODISCARD alm_status alm_part_copy_pack(alm_ctx *cx, alm_part *part);
void alm_part_copy_free(alm_part *part);

/* --------------------------------------------------------------- write.c */

/* What a part would be in memory: its footer, with checksums of all blocks, but no bytes. FLOAT and DOUBLE have one
 * null only. */
typedef struct alm_part_plan {
    const alm_part_spec *spec;
    const uint64_t *order; /* NULL: as the chunks come */
    uint64_t *sorted;      /* owned */
    uint32_t *by_id;       /* columns of the spec by ascending id: the entries; owned */
    alm_part_footer footer;
    alm_part_col *cols; /* owned */
    alm_part_block *blocks;
    alm_buf last; /* last rows, entry after entry */
    uint64_t image_bytes;
} alm_part_plan;
/* Must be freed whatever it returns. */
ALM_NODISCARD alm_status alm_part_plan_make(alm_ctx *cx, const char *path,
                                            const alm_part_spec *spec, alm_part_plan *out);
void alm_part_plan_free(alm_part_plan *plan);
/* Rows order[0..n) of a column: fixed-width values, or codes of 4 bytes. */
void alm_part_gather(const alm_part_spec *spec, uint32_t col, const uint64_t *order, uint32_t n,
                     void *out);

/* --------------------------------------------------------------- null.c */

/* Does each row of a column have the value that a part without the column reads as? `order`, of `rows` rows, may be
 * NULL: all rows of the chunks. */
ALM_NODISCARD alm_status alm_part_is_missing(alm_ctx *cx, const alm_part_spec *spec, uint32_t col,
                                             const uint64_t *order, int64_t rows, bool *out);

/* ------------------------------------------------------- parquet_write.c */

/* alm_part_write of a Parquet file; `dir` and `path` of it. */
ALM_NODISCARD alm_status alm_part_parquet_write(alm_ctx *cx, const alm_io *io, const char *dir,
                                                const char *path, const alm_part_spec *spec,
                                                alm_part_written *out);

/* ------------------------------------------------------------- parquet.c */

bool alm_part_is_parquet(const uint8_t *map, size_t bytes);
/* Footer, columns and blocks of the mapped file; the image is reserved. */
ALM_NODISCARD alm_status alm_part_parquet_open(alm_ctx *cx, alm_part *part, uint64_t table_id,
                                               alm_decoded *decoded);
void alm_part_parquet_close(alm_part *part);
ALM_NODISCARD alm_status alm_part_parquet_touch(alm_ctx *cx, const alm_part *part, uint32_t entry,
                                                uint32_t first_block, uint32_t last_block);
/* Memory of a column that was looked at, where there is no bound; nobody else uses the part. */
void alm_part_parquet_forget(alm_part *part, uint32_t entry);
const int32_t *alm_part_parquet_last(const alm_part *part, uint32_t entry);

#endif
