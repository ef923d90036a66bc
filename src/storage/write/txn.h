/*
 * txn.h - inner side of transactions: what one has written so far, table by table. Nothing of it can
 * be reached from a published version before the commit, and nothing in it locks out anybody.
 *
 * Rows        come into chunks; to be read they are settled (sorted, deduplicated) into runs, whose
 *             sizes at least double from the newest to the oldest, so that reading after every insert
 *             stays cheap; of those that a mark keeps up to seven have about one size. Before an UPDATE or
 *             DELETE the runs become parts that are the transaction's own.
 * Parts       UPDATE and DELETE put parts of the transaction in the place of published ones, or of its
 *             own. At the commit those that go must still be there: who commits first wins.
 * Mark        A copy of this state that shares runs and parts, and keeps their symbols as the transaction does (interning.h);
 *             chunks are settled before. Parts that only marks list are
 *             kept as what changed (txn_part.h) and made again before they are read.
 */
#ifndef ALM_STORAGE_TXN_H
#define ALM_STORAGE_TXN_H

#include "storage/version/change.h"
#include "storage/write/interning.h"
#include "storage/write/txn_part.h"

enum { ALM_TXN_RUNS_MAX = 32 }; /* before there are more, the newest half becomes one */

typedef struct alm_txn_run {
    alm_chunk *chunk; /* settled */
    uint32_t rows;
} alm_txn_run;

typedef struct alm_txn_table {
    uint64_t id;
    alm_mem *account;  /* that of the transaction */
    alm_version *bare; /* schema, identity, options as of the first change */
    alm_interning interning;
    alm_chunk **chunks;
    uint32_t *rows;
    uint32_t n_chunks, cap_chunks;
    alm_txn_run runs[ALM_TXN_RUNS_MAX]; /* oldest first; older than the chunks */
    uint32_t n_runs;
    alm_txn_part **parts; /* of the transaction; counted */
    alm_part_ref **add;   /* alm_txn_make: the same as parts that can be read; borrowed */
    bool *own;      /* parts[i] has rows that the transaction inserted: none of them is published */
    uint32_t n_add; /* of parts, add and own */
    alm_part_ref **gone;   /* published parts that it replaced; counted */
    alm_scan_range *touch; /* times that changed in them, and in parts of its own that changed */
    uint32_t n_gone, n_touch;
    uint32_t merge_at; /* with so many, ranges of touch that overlap become one */
    bool claims;       /* counted in the claims of the table */
    /* While a commit is prepared. */
    alm_chunk *settled;
    uint32_t n_settled;
    alm_version *next;
    bool maint, shared, alone; /* locks of the table that are held */
} alm_txn_table;

struct alm_txn {
    alm_storage *st;
    alm_mem *account;       /* what its rows are charged to, or NULL; outlives it and its marks */
    alm_txn_table **tables; /* by id */
    size_t n, cap;
    int64_t bytes; /* of all chunks that were filled: what going back to a mark gave up counts on */
    bool is_late;  /* rows older than some that are in memory; while a commit is prepared */
    alm_buf payload; /* operations of the rows */
    alm_buf expired; /* what goes for the TTL of the tables, behind them */
};

struct alm_txn_mark {
    alm_storage *st;
    alm_mem *account; /* that of the transaction */
    int64_t charged;  /* to it, for the lists; runs are charged by themselves */
    alm_txn_table **tables;
    size_t n;
};

/* What the transaction writes to this table; made when it is not there. ALM_E_STALE when its columns
 * are others than at the first change. */
ALM_NODISCARD alm_status alm_txn_table_of(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                                          alm_txn_table **out);
void alm_txn_table_free(alm_storage *storage, alm_txn_table *txn_table);
static inline bool alm_txn_has_rows(const alm_txn_table *txn_table)
{
    return txn_table->n_runs > 0 || (txn_table->n_chunks > 0 && txn_table->rows[0] > 0);
}
static inline bool alm_txn_has_parts(const alm_txn_table *txn_table)
{
    return txn_table->n_add + txn_table->n_gone > 0;
}
/* Chunks to runs. */
/* Can these be designated timestamps? ALM_E_VALUE says of the first that cannot why. */
ALM_NODISCARD alm_status alm_times_storable(alm_ctx *cx, const int64_t *ts, uint32_t n, bool nanos);
ALM_NODISCARD alm_status alm_txn_settle(alm_ctx *cx, alm_txn_table *txn_table);
/* `base` with the runs and parts of the transaction; not published, ever. */
ALM_NODISCARD alm_status alm_txn_version(alm_ctx *cx, alm_storage *storage, const alm_version *base,
                                         const alm_txn_table *txn_table, alm_version **out);
/* Runs to parts of its own. */
ALM_NODISCARD alm_status alm_txn_rows_to_parts(alm_ctx *cx, alm_storage *storage,
                                               alm_txn_table *txn_table);

/* Parts of a bulk load, newer than what the transaction has of the table; takes references of its own. */
ALM_NODISCARD alm_status alm_txn_put_load(alm_ctx *cx, alm_txn *txn, const alm_table *table,
                                          alm_part_ref *const *parts, uint32_t n_parts);

/* The parts that a mark brought back can be read: txn_table->add. */
ALM_NODISCARD alm_status alm_txn_make(alm_ctx *cx, alm_storage *storage, alm_txn_table *txn_table);

/* From now on merges leave the table alone. The caller holds its maintenance lock, or has before. */
void alm_txn_claim(alm_txn_table *txn_table);
/* Part `was` of the transaction's view `v` became `now` (NULL: nothing is left of it). Takes references of
 * its own, and undos, which become NULL then. */
typedef struct alm_txn_change {
    alm_part_ref *was, *now;
    alm_scan_range touch;
    alm_undo *undo; /* what makes `was` of `now`, or NULL */
} alm_txn_change;
ALM_NODISCARD alm_status alm_txn_take_parts(alm_ctx *cx, alm_storage *storage,
                                            alm_txn_table *txn_table, const alm_version *version,
                                            alm_txn_change *changes, uint32_t n_changes);
/* Does a mark list the part of the transaction, so that an undo of its change is of use? */
bool alm_txn_is_marked(const alm_txn_table *txn_table, const alm_part_ref *part);

#endif
