/*
 * sortkey.h - order of values as order of unsigned 64-bit numbers.
 *
 * alm_sort_encode maps values so that a before b means code(a) <= code(b), direction and place of
 * nulls included. Exact codes are equal only for equal values; text and 16-byte values have inexact
 * ones (their first 8 bytes) and ties ask alm_sort_compare.
 */
#ifndef ALM_EXEC_SORTKEY_H
#define ALM_EXEC_SORTKEY_H

#include "exec/data/rows.h"
#include "exec/run/op.h"

typedef struct alm_sort_order {
    bool desc, nulls_first;
    /* SYMBOL as codes: place of each code among the texts of its dictionary */
    const uint32_t *rank;
    uint32_t rank_dict, rank_count;
} alm_sort_order;

/* Makes ranks for a vector of symbol codes, if it is one with a small dictionary and has none. */
ALM_NODISCARD alm_status alm_sort_rank(alm_ctx *cx, alm_pool *pool, const alm_vec *vec,
                                       alm_sort_order *order);
bool alm_sort_exact(const alm_vec *vec, const alm_sort_order *order);
/* out[i] = code of row (pick ? pick[i] : i) of a dense or const vector. */
void alm_sort_encode(const alm_vec *v, const alm_sort_order *order, const uint32_t *pick,
                     uint32_t n, uint64_t *out);
/*
 * Exact codes of a part of the value; rows whose codes are equal at all earlier levels are ordered by the
 * next one. Types with exact codes have only level 0. Others: level 0 tells null (0 or 1 by nulls_first)
 * from the rest, then 8 bytes of text per level, or one word.
 */
void alm_sort_encode_at(const alm_vec *vec, const alm_sort_order *order, uint32_t level,
                        const uint32_t *pick, uint32_t n_rows, uint64_t *out);
bool alm_sort_is_text(const alm_vec *vec); /* text or codes of text */
uint32_t alm_sort_text_len(const alm_vec *vec, uint32_t row);
/* Row a of one vector and row b of another of the same type; ranks are not looked at. */
int alm_sort_compare_two(const alm_vec *vec, uint32_t a, const alm_vec *w, uint32_t b,
                         const alm_sort_order *order);
/* Rows a and b of a dense vector: < 0, 0, > 0 in the order asked for. */
int alm_sort_compare(const alm_vec *vec, const alm_sort_order *order, uint32_t a, uint32_t b);

/* Do the statistics of a column of this type have its order? */
bool alm_sort_has_stats(alm_type type);
/* The least code of a value in a block with these statistics (valid, of at least one row). */
uint64_t alm_sort_best_code(alm_type type, const alm_sort_order *order, const alm_col_stats *stats);

/* A row to be sorted. */
typedef struct alm_sort_item {
    uint64_t code;
    uint32_t row;
} alm_sort_item;

/* By code alone. */
void alm_sort_codes(alm_sort_item *item, alm_sort_item *spare, uint32_t n);
/*
 * Sorts item[0..n) (row set) by key columns key[0..n_keys) of kept rows; stable. spare: room for n.
 */
ALM_NODISCARD alm_status alm_sort_items(alm_ctx *cx, const alm_vec *key,
                                        const alm_sort_order *order, uint32_t n_keys,
                                        alm_sort_item *item, alm_sort_item *spare, uint32_t n_rows);
/* The same on all threads. The ranks in `order` must be made before (alm_sort_rank). */
ALM_NODISCARD alm_status alm_sort_items_on(alm_ctx *cx, alm_workers *workers, const alm_vec *key,
                                           const alm_sort_order *order, uint32_t n_keys,
                                           alm_sort_item *item, alm_sort_item *spare,
                                           uint32_t n_rows);

#endif
