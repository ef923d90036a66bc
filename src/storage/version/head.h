/*
 * head.h - rows in memory: chunks, sorting and deduplicating a batch, appending it to the lanes of a
 * version, merging lanes.
 *
 * Threads     chunks are filled by one thread at a time: a transaction its own, the leader of a
 *             commit group those of versions. Readers see published rows only.
 */
#ifndef ALM_STORAGE_HEAD_H
#define ALM_STORAGE_HEAD_H

#include "storage/version/version.h"

enum {
    ALM_CHUNK_ROWS_FIRST = 256,
    ALM_CHUNK_ROWS_MAX = 65536,
    ALM_CHUNK_BYTES_MAX = 8 << 20,
    ALM_ADOPT_ROWS = 4096, /* a batch of that many rows becomes a chunk as it is */
    ALM_LANES_MAX = 8      /* not frozen; more are merged */
};

typedef struct alm_chunk_heap {
    struct alm_chunk_heap *next;
    size_t len, cap;
    char bytes[];
} alm_chunk_heap;

/* Takes a reference to the schema. The columns are zeroed. refs = 1. */
ALM_NODISCARD alm_status alm_chunk_new(alm_ctx *cx, alm_schema *schema, uint32_t cap,
                                       alm_chunk **out);
/* The same over columns that are there: lent[c], or NULL: an array of its own, of any content. It is full. */
ALM_NODISCARD alm_status alm_chunk_borrow(alm_ctx *cx, alm_schema *schema, uint32_t rows,
                                          const char *const *lent, alm_chunk **out);
alm_chunk *alm_chunk_retain(alm_chunk *chunk);
void alm_chunk_release(alm_chunk *chunk);
/* Charges `account` (NULL: nobody) for all bytes that the chunk has now; always the same account for a chunk. On an error it is charged
 * for what it was before. By who has all references to it, or who alone changes it. */
ALM_NODISCARD alm_status alm_chunk_charge(alm_ctx *cx, alm_chunk *chunk, alm_mem *account);
/* The chunk may outlive the account from now on. The last release does the same. */
void alm_chunk_uncharge(alm_chunk *chunk);
/* Room for text in the chunk's heap, contiguous. */
ALM_NODISCARD alm_status alm_chunk_text(alm_ctx *cx, alm_chunk *chunk, size_t bytes, char **out);

/* Long texts of views that point elsewhere are copied into the chunk's heap. */
ALM_NODISCARD alm_status alm_chunk_own_text(alm_ctx *cx, alm_chunk *chunk, alm_view *views,
                                            uint32_t n);

/* Columns of chunks by the position that they have in one schema, found once for many copies. Read-only while they are copied. */
typedef struct alm_sources {
    const alm_schema *schema;
    uint32_t n;
    const void **cols; /* [column * n + source], NULL: the source lacks it */
    bool *gaps;        /* does a source lack the column? In the block of cols */
} alm_sources;
ALM_NODISCARD alm_status alm_sources_new(alm_ctx *cx, const alm_schema *schema,
                                         alm_chunk *const *chunks, uint32_t n_chunks,
                                         alm_sources *out);
void alm_sources_free(alm_sources *sources);
/* alm_chunk_copy of rows of these sources, into a chunk of their schema. */
ALM_NODISCARD alm_status alm_sources_copy(alm_ctx *cx, const alm_sources *sources, alm_chunk *to,
                                          uint32_t at, const uint64_t *order, uint32_t first,
                                          uint32_t n);

/* The same for rows that come from many sources, of a whole order, into the first rows of the chunk (chunk_copy.c). */
typedef struct alm_scatter {
    uint32_t rows_max;
    uint64_t *rows; /* source << 32 | row, by source */
    uint32_t *at;   /* where the rows of the order are in `rows` */
    uint32_t *ends; /* by source */
    void *values;   /* of one column, as `rows` */
} alm_scatter;
ALM_NODISCARD alm_status alm_scatter_new(alm_ctx *cx, const alm_sources *sources, uint32_t rows_max,
                                         alm_scatter *out);
void alm_scatter_free(alm_scatter *scatter);
ALM_NODISCARD alm_status alm_sources_scatter(alm_ctx *cx, const alm_sources *sources,
                                             alm_scatter *scatter, alm_chunk *to,
                                             const uint64_t *order, uint32_t n);

/* Rows of other chunks: order[i] = source << 32 | row for i in [0, n), or NULL: rows
 * [first, first + n) of source 0. Columns of `to` that a source lacks become null. */
ALM_NODISCARD alm_status alm_chunk_copy(alm_ctx *cx, alm_chunk *to, uint32_t at,
                                        alm_chunk *const *sources, uint32_t n_sources,
                                        const uint64_t *order, uint32_t first, uint32_t n);
/* Rows [at, at + n) of column col become null. */
ALM_NODISCARD alm_status alm_chunk_null(alm_ctx *cx, alm_chunk *chunk, uint32_t col, uint32_t place,
                                        uint32_t n);
/* Values are views in storage too (SYMBOL has codes there). */
static inline bool alm_type_holds_views(alm_type type)
{
    return alm_type_info_of(type)->null == ALM_NULL_VIEW;
}

bool alm_chunk_in_order(const alm_chunk *chunk, int32_t ts_col, uint32_t rows);

/* The order of the rows of some chunks by time (stable), in a dedup table without duplicates (the last stays): *kept rows. *order
 * NULL: as they come, all of them. The caller frees it. */
ALM_NODISCARD alm_status alm_rows_order(alm_ctx *cx, const alm_table *table,
                                        alm_chunk *const *chunks, const uint32_t *rows,
                                        uint32_t n_chunks, uint64_t **order, int64_t *kept);
/* The rows of some chunks as one chunk in order of time (stable), in a dedup table without
 * duplicates (the last stays). Without designated timestamp: as they come. */
ALM_NODISCARD alm_status alm_rows_settle(alm_ctx *cx, const alm_table *table,
                                         alm_chunk *const *chunks, const uint32_t *rows,
                                         uint32_t n_chunks, alm_chunk **out, uint32_t *out_rows);
/* alm_dedup_rows over chunks of the table. */
ALM_NODISCARD alm_status alm_head_dedup(alm_ctx *cx, const alm_table *table,
                                        alm_chunk *const *chunks, uint32_t n_chunks,
                                        uint64_t *order, int64_t n, int64_t *kept);

/* A version like `version` with the settled rows appended. */
ALM_NODISCARD alm_status alm_version_append(alm_ctx *cx, const alm_version *version,
                                            alm_chunk *rows, uint32_t n, uint64_t lsn,
                                            alm_version **out);

/* The newest lanes of a version in the making become one as long as that copies `rows` rows at the most, or
 * few beside those that came late: what is merged once, no reader has to. */
ALM_NODISCARD alm_status alm_lanes_merge(alm_ctx *cx, alm_version *version, int64_t rows);

/* A lane was put behind the others: it is merged with those before it where that costs little beside it, and there are at most
 * ALM_LANES_MAX. */
ALM_NODISCARD alm_status alm_lanes_settle(alm_ctx *cx, alm_version *version);
/* Room of the chunk that follows one of last_cap rows (0: the first one) and is to take `rows` rows. */
uint32_t alm_chunk_next_cap(const alm_schema *schema, uint32_t last_cap, uint32_t rows);
/* Appends rows [from, from + n) of a chunk to a lane of a version in the making. */
ALM_NODISCARD alm_status alm_lane_append(alm_ctx *cx, const alm_version *version, alm_lane *lane,
                                         alm_chunk *rows, uint32_t from, uint32_t n);
/* A lane of the rows order[0..n) (alm_chunk_copy), in chunks of their own; its times are left to the caller. What it has after
 * an error is released by alm_lanes_clear. mixed: so many threads may work, because rows
 * that follow each other are of many sources; 0: they are of few. */
ALM_NODISCARD alm_status alm_lane_fill(alm_ctx *cx, const alm_version *version,
                                       alm_chunk *const *sources, uint32_t n_sources,
                                       const uint64_t *order, int64_t n, uint32_t mixed,
                                       alm_lane *out);
ALM_NODISCARD alm_status alm_lane_copy(alm_ctx *cx, const alm_lane *lane, uint32_t more_chunks,
                                       alm_lane *out);

#endif
