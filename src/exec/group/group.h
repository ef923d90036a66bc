/*
 * group.h - the three ways of GROUP BY, and what they share.
 *
 *   plain    no keys: one group of states per morsel, merged in morsel order; minima, maxima and
 *            counts of whole columns come from block statistics without touching data.
 *   direct   keys are dictionary codes, booleans, bytes or stored integers, with a small product of
 *            ranges: the codes index arrays of states. A morsel's touched groups are packed, then merged.
 *   hash     anything else: a hash table per morsel while that makes rows fewer, else the rows as they
 *            are, cut into partitions (block.h); the partitions are merged in parallel.
 *
 * Order       Partial results are merged in morsel order, and morsel borders depend on data alone, so
 *             sums are the same for any number of threads.
 * Threads     group_slot belongs to one thread of the pipe; everything else to the caller.
 */
#ifndef ALM_EXEC_GROUP_H
#define ALM_EXEC_GROUP_H

#include "exec/group/block.h"

/* What a thread needs to take in rows. */
typedef struct alm_group_slot {
    alm_aggs *aggs;
    alm_arena lasting; /* what states point to */
    alm_arena scratch; /* one batch */
    alm_pool pool;
    uint32_t *number;          /* ALM_BATCH_ROWS group numbers */
    alm_states states;         /* direct: all groups, `sets` times */
    uint32_t *rows;            /* direct: rows of the morsel per group, `sets` times */
    alm_fused_row **fused;     /* direct: per alm_agg_fused, like states */
    alm_block_pending pending; /* hash: rows on their way into blocks */
    alm_keymap *form;          /* spill: packs keys for their hashes, holds none */
    struct alm_spill *spill;   /* rows by partition; NULL: none */
    bool ready;
} alm_group_slot;

typedef enum alm_group_way { ALM_GROUP_PLAIN, ALM_GROUP_DIRECT, ALM_GROUP_HASH } alm_group_way;

enum {
    ALM_GROUP_ROUND = 16, /* morsels between merges: bounds the memory of partial results */
    ALM_GROUP_DIRECT_MAX = 1 << 20,
    ALM_GROUP_RANGE_MAX = 1 << 16 /* of an integer: less certain to be dense than a dictionary */
};

/* Results (and partial results) of the hash way. */
typedef struct alm_group_table {
    alm_pool pool;
    alm_keymap *map;
    alm_states states;
    uint32_t *order;                     /* numbers by partition */
    uint32_t start[ALM_GROUP_PARTS + 1]; /* in order */
    alm_states sorted;                   /* states in that order */
    uint64_t *sorted_row, *sorted_hash;  /* keys in that order, packed */
    uint32_t order_cap, sorted_cap;
    bool raw;              /* partial results: from some row on, rows went into blocks */
    alm_block_shape shape; /* of the blocks */
    alm_block_list blocks; /* their rows come behind those of the groups */
} alm_group_table;

typedef struct alm_group {
    alm_op op;
    alm_expr **keys;
    uint32_t n_keys;
    alm_group_way way;
    alm_pipe *pipe;
    alm_group_slot *slot;
    uint32_t n_slots;
    alm_group_slot own; /* of the caller: merges and finishes */
    /* direct */
    uint32_t *card; /* range of each key */
    int64_t *least; /* integers: the value of code 1 */
    bool *ranged;   /* integers */
    const alm_dict **dict;
    uint32_t n_groups;
    uint32_t sets; /* 1, 2 or 4 interleaved copies of the states */
    bool fused;    /* alm_fused_row in use: its arrays fit the first-level cache, more or less */
    uint8_t *seen;
    uint32_t *present; /* numbers of the groups there are */
    uint32_t n_present;
    /* hash */
    alm_group_table *table; /* 1 or ALM_GROUP_PARTS results */
    uint32_t n_tables;
    alm_group_table *round; /* ALM_GROUP_ROUND partial results */
    uint32_t round_lo;
    alm_block_shape shape; /* without words */
    bool raw_fits;         /* rows may go into blocks */
    bool raw_first;        /* all morsels of the round before ended so: no table is tried first */
    bool spilled;          /* the rest of the rows of each table is in the files of the slots */
    alm_states states;     /* plain and direct results */
    /* output */
    struct alm_op *whole; /* hands out everything, where nobody asks for parts */
} alm_group;

/* The slot's own program and buffers, on first use by its thread. */
ALM_NODISCARD alm_status alm_group_slot_ready(alm_ctx *cx, const alm_group *group,
                                              alm_group_slot *slot);

/* *out: an equal plan that counts distinct values by grouping twice, or plan itself. */
ALM_NODISCARD alm_status alm_group_rewrite(alm_ctx *cx, const alm_run *run, const alm_plan *plan,
                                           const alm_plan **out);
ALM_NODISCARD alm_status alm_group_plain(alm_ctx *cx, alm_group *group);
/* Can the codes of the keys index arrays? Sets card, dict and n_groups. */
ALM_NODISCARD alm_status alm_group_direct_fits(alm_ctx *cx, alm_group *group, bool *fits);
ALM_NODISCARD alm_status alm_group_direct(alm_ctx *cx, alm_group *group);
/* Key column `key` of groups number[0..n). */
ALM_NODISCARD alm_status alm_group_direct_key(alm_ctx *cx, const alm_group *group, alm_arena *arena,
                                              uint32_t key, const uint32_t *number, uint32_t n_rows,
                                              alm_vec *out);
/* Group numbers of a batch from its code vectors: mixed radix over card[]. */
ALM_NODISCARD alm_status alm_group_codes(alm_ctx *cx, const alm_vec *keys, uint32_t n_keys,
                                         const uint32_t *card, const alm_dict *const *dict,
                                         uint32_t n, uint32_t *number);
/* Largest code + 1 of a key whose values are codes; 0: it has none. *dict for symbols. */
uint32_t alm_group_card(const alm_plan *input, const alm_expr *key, const alm_dict **dict);
/* Range of an integer key: *card codes from *least on; 0: not known, or too wide. */
ALM_NODISCARD alm_status alm_group_range(alm_ctx *cx, const alm_group *group, const alm_expr *key,
                                         int64_t *least, uint32_t *card);
/* Its values as codes of 4 bytes, and one back. */
ALM_NODISCARD alm_status alm_group_range_codes(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                               uint32_t n_rows, int64_t least, uint32_t card,
                                               alm_vec *out);
void alm_group_range_value(alm_type type, int64_t least, uint32_t code, void *out);
/* Reads the input; the groups are ready to be handed out after it. */
ALM_NODISCARD alm_status alm_group_read(alm_ctx *cx, alm_group *group);
ALM_NODISCARD alm_status alm_group_hash(alm_ctx *cx, alm_group *group);
void alm_group_hash_close(alm_group *group);
/* Makes the map and states of a table on first use. */
ALM_NODISCARD alm_status alm_group_table_ready(alm_ctx *cx, const alm_group *group, alm_aggs *aggs,
                                               alm_group_table *table);

/* ---------------------------------------------------------------------- spill.c */

/* Is it time to keep no more groups than there are? After a round, with many result tables. */
bool alm_group_tight(const alm_ctx *cx, const alm_group *group);
/* How many morsels of a round fit in memory. */
uint32_t alm_group_round_morsels(const alm_group *group);
/* Rows of the batch that the slot evaluated last, to its files. morsel: rising per slot. */
ALM_NODISCARD alm_status alm_group_spill_batch(alm_ctx *cx, alm_group *group, alm_group_slot *slot,
                                               uint32_t morsel, uint32_t n);
/* Everything is written. */
ALM_NODISCARD alm_status alm_group_spill_end(alm_ctx *cx, alm_group *group);
/* Takes the rows of partition p into its table. */
ALM_NODISCARD alm_status alm_group_spill_load(alm_ctx *cx, const alm_group *group, alm_aggs *aggs,
                                              uint32_t p, uint32_t *number);

#endif
