/*
 * sort.h - what the files of ORDER BY share: the operator's state, its stores of rows.
 *
 *   op_sort.c     the operator: rows are taken in by all threads, put in order, given out
 *   top.c    only the first k: thresholds that turn rows, batches and whole blocks away
 *   spill.c  over the memory limit: sorted runs in temporary files, merged
 *
 * Stores      Columns of the plan, then computed keys, then the sequence: the number of the row in the
 *             input (morsel, row). It is the last key, so the order is total and the result the same for
 *             any number of threads, with and without temporary files.
 */
#ifndef ALM_EXEC_SORT_H
#define ALM_EXEC_SORT_H

#include "exec/data/rows.h"
#include "exec/eval/eval.h"
#include "exec/run/op.h"
#include "exec/run/scan_plan.h"
#include "exec/sort/sortkey.h"
#include "storage/spill/spill.h"

/* Kept rows and the order found on them. */
typedef struct alm_sort_store {
    alm_pool pool, other; /* two: pruning copies the winners and drops the rest with their texts */
    alm_rows rows;
    alm_sort_item *item, *spare;
    uint32_t cap;
} alm_sort_store;

/* Of one thread. */
typedef struct alm_sort_slot {
    alm_sort_store store;
    alm_eval *eval;
    alm_sort_order *order; /* keys, then the sequence */
    alm_pool ranks;
    alm_arena scratch;
    alm_vec *computed, *cols;
    uint64_t *code;
    uint32_t *pick, *under;
    uint64_t threshold;
    bool full, ready; /* full: threshold holds */
    alm_spill *spill; /* sorted runs */
} alm_sort_slot;

typedef struct alm_sort_merge alm_sort_merge;

typedef struct alm_sort {
    alm_op op;
    const alm_sort_key *keys;
    uint32_t n_keys, n_computed, n_cols; /* n_cols: of the store */
    const alm_expr **computed;
    uint32_t *key_col; /* column of the store per key; the last one is the sequence */
    alm_plan_col *cols;
    int64_t limit; /* -1: all */
    bool top;      /* few enough for top.c */
    bool last;     /* the last ones: all orders are turned, and the result is given out backward */
    alm_pipe *pipe;
    alm_sort_slot *slot;
    uint32_t n_slots;
    alm_scan_bound *bound; /* top: what the scan below is told; NULL: nothing */
    alm_sort_slot own;
    int64_t at, n; /* rows given out, and to be given out (merge: at the most) */
    uint32_t *result;
    alm_sort_merge *merge; /* NULL: all rows are in own.store */
    bool read;
} alm_sort;

ALM_NODISCARD alm_status alm_sort_slot_ready(alm_ctx *cx, const alm_sort *sort,
                                             alm_sort_slot *slot);
/* Puts the rows of the store in order: store.item[i].row. The sequence is looked at only if asked for:
 * a store filled by one thread has it in order. */
ALM_NODISCARD alm_status alm_sort_store_order(alm_ctx *cx, const alm_sort *sort,
                                              alm_sort_slot *slot, bool by_sequence);
/* m picked rows of a batch with computed keys and sequence (from `first`) at the end of the store. */
ALM_NODISCARD alm_status alm_sort_keep(alm_ctx *cx, const alm_sort *sort, alm_sort_slot *slot,
                                       const alm_batch *batch, const uint32_t *pick, uint32_t m,
                                       uint64_t first);

/* ------------------------------------------------------------------------------ top.c */

/* Before the input runs: finds out what the scan can be told. */
ALM_NODISCARD alm_status alm_sort_top_prepare(alm_ctx *cx, alm_sort *sort);
ALM_NODISCARD alm_status alm_sort_top_batch(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot,
                                            alm_batch *batch, uint64_t first);

/* ---------------------------------------------------------------------------- spill.c */

/* Before `rows` more rows are kept: writes the store to a run if memory is tight. */
ALM_NODISCARD alm_status alm_sort_make_room(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot,
                                            uint32_t rows);
/* Writes the rows of the store as a run, or some, and empties it. */
ALM_NODISCARD alm_status alm_sort_write_run(alm_ctx *cx, alm_sort *sort, alm_sort_slot *slot);
/* Could the stores of all slots be put into one? */
bool alm_sort_fits(const alm_sort *sort);
/* All rows are in runs of the slots: makes sort->merge. */
ALM_NODISCARD alm_status alm_sort_merge_open(alm_ctx *cx, alm_sort *sort);
/* The next rows in order, columns of the store; *out = NULL: the end. */
ALM_NODISCARD alm_status alm_sort_merge_next(alm_ctx *cx, alm_sort_merge *merge, alm_batch **out);
void alm_sort_merge_close(alm_sort_merge *merge); /* NULL is fine */

#endif
