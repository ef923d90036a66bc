/*
 * block.h - rows of a GROUP BY that were not grouped yet, cut into partitions of their keys.
 *
 * Where a morsel has nearly as many groups as rows, a table per morsel is work for nothing. Its rows
 * go into blocks instead: packed keys, hashes and arguments of aggregates, in the order of the
 * partitions, inside a partition in row order. A merge of one partition then runs over the parts of all
 * blocks with a table that fits the second-level cache.
 *
 * Layout      A block has room for ALM_BLOCK_ROWS rows, column by column: hash[] (but for keys of one or
 *             two words, whose hash costs less than its memory), row[] (words of the keymap), one array
 *             per argument. Partition p is [start[p], start[p + 1]). Views point to
 *             copies of their texts, which lie in the same order, so that a merge reads forward only.
 * Symbols     Arguments are kept as codes of the dictionary of the first batch; others are refused.
 * Ownership   Blocks live in the pool of their list and are used again after a clear.
 * Threads     A list belongs to one thread while rows are added, and is read by many afterwards.
 */
#ifndef ALM_EXEC_GROUP_BLOCK_H
#define ALM_EXEC_GROUP_BLOCK_H

#include "exec/data/keymap.h"
#include "exec/group/aggs.h"

enum { ALM_BLOCK_ROWS = 16384, ALM_GROUP_PARTS = 64, ALM_GROUP_PART_SHIFT = 58 };

typedef struct alm_group_block {
    struct alm_group_block *next;
    uint32_t n;
    uint32_t start[ALM_GROUP_PARTS + 1];
    uint64_t *hash, *row; /* hash: NULL where it is made again */
    char **col;
    char *text;
    size_t text_cap;
} alm_group_block;

/* An argument of an aggregate, or its condition. */
typedef struct alm_block_col {
    alm_type type;
    uint8_t width;
    bool text;            /* views, whose texts are copied */
    bool codes;           /* of a symbol */
    const alm_dict *dict; /* of codes, known with the first batch */
} alm_block_col;

typedef struct alm_block_shape {
    uint32_t words;          /* of a key; with n_texts and text known with the first batch */
    uint32_t n_texts, *text; /* words of a key where views begin */
    uint32_t first;          /* number of the first argument in aggs->vec */
    uint32_t n_cols;
    alm_block_col *col;
    bool texts_last; /* texts outlive their batch: many batches may be pending */
} alm_block_shape;

typedef struct alm_block_list {
    alm_group_block *first;
    uint32_t n_used; /* blocks from the first on that hold rows */
    uint64_t rows;
} alm_block_list;

/* Rows on their way into blocks, and out of them, one set per thread. Texts of a batch end with it: one batch is
 * pending at the most where there are any that do not last. */
typedef struct alm_block_pending {
    alm_pool *pool; /* of the arrays */
    uint32_t n;
    uint64_t *hash, *row;
    char **col;
    uint32_t *place; /* in the block, by row */
} alm_block_pending;

/* The part of a shape that follows from the calls. */
ALM_NODISCARD alm_status alm_group_block_shape(alm_ctx *cx, const alm_aggs *aggs,
                                               alm_block_shape *shape);
/* Adds the batch that `aggs` evaluated last; keys are packed by `form`, which must be settled. */
ALM_NODISCARD alm_status alm_group_block_add(alm_ctx *cx, alm_block_shape *shape,
                                             const alm_aggs *aggs, const alm_keymap *form,
                                             uint32_t n, alm_block_pending *pending, alm_pool *pool,
                                             alm_block_list *list);
/* Writes what is pending: at the end of a morsel. */
ALM_NODISCARD alm_status alm_group_block_flush(alm_ctx *cx, const alm_block_shape *shape,
                                               alm_block_pending *pending, alm_pool *pool,
                                               alm_block_list *list);
void alm_group_block_clear(alm_block_list *list); /* keeps the memory */
/* Copies rows [*at, end) of a block to those pending, ALM_BATCH_ROWS at the most; *at moves on. For
 * merges: `pending` is then a batch of one partition. */
ALM_NODISCARD alm_status alm_group_block_collect(alm_ctx *cx, const alm_block_shape *shape,
                                                 const alm_keymap *form,
                                                 const alm_group_block *block, uint32_t *at,
                                                 uint32_t end, alm_block_pending *pending);
/* Lets aggs->vec[shape->first ...] be the arguments of the pending rows. */
void alm_group_block_args(const alm_block_shape *shape, const alm_block_pending *pending,
                          alm_aggs *aggs);

#endif
