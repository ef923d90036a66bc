/*
 * sample.h - SAMPLE BY in three stages.
 *
 *   collect  (sample_collect.c) on all threads: a morsel of time-ordered rows becomes groups in order
 *            of bucket: bucket start, key, states. Borders are found by galloping through the sorted
 *            timestamps; the rows between two borders are a slice.
 *   combine  (op_sample.c) on the caller, in morsel order: the last bucket of a morsel and the first
 *            of the next may be the same one; everything else is final as it is.
 *   fill     (sample_fill.c) rows for buckets (and keys) without data; sample_way.c: what is measured along a way.
 *
 * Keys        Codes of dictionaries index an array (direct); other keys are numbered by a keymap per
 *             morsel. Either way `last` maps a key's number to its group in the bucket at hand.
 * Threads     sample_slot belongs to a thread, sample_part to one morsel.
 */
#ifndef ALM_EXEC_SAMPLE_H
#define ALM_EXEC_SAMPLE_H

#include "exec/data/keymap.h"
#include "exec/data/rows.h"
#include "exec/group/aggs.h"
#include "exec/group/group.h"
#include "exec/run/op.h"
#include "time/bucket.h"

enum { ALM_SAMPLE_ROUND = 32, ALM_SAMPLE_DIRECT_MAX = 1 << 18 };

/* Groups in order of bucket. */
typedef struct alm_sample_part {
    alm_pool pool;
    int64_t *bucket; /* start, per group */
    uint32_t *key;   /* code (direct) or number in map, per group */
    uint32_t n, cap;
    alm_keymap *map;
    alm_states states;
} alm_sample_part;

typedef struct alm_sample_slot {
    alm_aggs *aggs;
    alm_arena lasting, scratch;
    alm_pool pool;
    uint32_t *number; /* of the key, then of the group, per row */
    uint32_t *last;   /* by key: last group + 1 */
    uint32_t last_cap;
    bool ready;
    /* the bucket at hand, of one morsel */
    int64_t start, end;
    uint32_t first; /* its first group */
    bool open;
    bool many;      /* many rows of the run before opened a group */
    int64_t newest; /* greatest timestamp so far */
} alm_sample_slot;

typedef struct alm_sample {
    alm_op op;
    const alm_sample_spec *spec;
    alm_bucketer bucketer;
    bool have_bucketer; /* first observation: known when the first row is */
    bool sorted;        /* the input promises order */
    bool direct;
    uint32_t *card;
    const alm_dict **dict;
    uint32_t n_codes;
    alm_pipe *pipe;
    alm_sample_slot *slot;
    uint32_t n_slots;
    alm_sample_slot own;
    alm_sample_part *round; /* ALM_SAMPLE_ROUND */
    uint32_t round_lo, round_n, next_morsel, round_size;
    bool prepared, ended;
    /* combine */
    alm_sample_part carry;  /* the bucket that may go on in the next morsel */
    alm_sample_part closed; /* carry that is being handed out */
    uint32_t part_at;       /* of the round */
    enum { ALM_SAMPLE_HEAD, ALM_SAMPLE_BODY, ALM_SAMPLE_TAIL } stage; /* of that part */
    uint32_t body;                  /* its first group behind the bucket shared with carry */
    const alm_sample_part *handing; /* whose groups [group_at, group_end) are handed out */
    uint32_t group_at, group_end;
    int64_t hint;
    /* fill */
    struct alm_sample_fill *fill;
} alm_sample;

ALM_NODISCARD alm_status alm_sample_slot_ready(alm_ctx *cx, const alm_sample *sample,
                                               alm_sample_slot *slot);
ALM_NODISCARD alm_status alm_sample_part_ready(alm_ctx *cx, const alm_sample *sample,
                                               const alm_sample_slot *slot, alm_sample_part *part);
/* Body of the pipe: rows of a morsel into round[morsel - round_lo]. */
ALM_NODISCARD alm_status alm_sample_collect(alm_ctx *cx, void *sample, uint32_t slot,
                                            uint32_t morsel, alm_op *input);
/* Body: finds the first timestamp (ALIGN TO FIRST OBSERVATION), then does nothing more. */
ALM_NODISCARD alm_status alm_sample_first(alm_ctx *cx, void *sample, uint32_t slot, uint32_t morsel,
                                          alm_op *input);
ALM_NODISCARD alm_status alm_sample_bucketer(alm_ctx *cx, alm_sample *sample, int64_t first_ts);

/* Rows as combine gives them (bucket, keys, aggregates) -> rows with all buckets. */
typedef alm_status (*alm_sample_rows)(alm_ctx *cx, alm_sample *s, alm_batch **out);
ALM_NODISCARD alm_status alm_sample_fill_new(alm_ctx *cx, alm_sample *sample,
                                             struct alm_sample_fill **out);
ALM_NODISCARD alm_status alm_sample_fill_next(alm_ctx *cx, alm_sample *sample, alm_sample_rows rows,
                                              alm_batch **out);
void alm_sample_fill_close(struct alm_sample_fill *sample_fill);

/* LINEAR over an aggregate that has `between` (registry.h): the states of all rows of the result. */
typedef struct alm_sample_way {
    const alm_agg_ops *ops;
    char *states; /* of each row */
    uint32_t *prev,
        *next; /* row -> the same key's rows beside it that have a point; NO_ROW: none */
    uint32_t n;
} alm_sample_way;

enum { ALM_SAMPLE_NO_ROW = UINT32_MAX };

/* The way of call i; NULL: there is none. */
const alm_agg_ops *alm_sample_way_of(const alm_sample *sample, uint32_t i);
/* Takes in the states of the n rows that have just been handed out. */
ALM_NODISCARD alm_status alm_sample_way_add(alm_ctx *cx, const alm_sample *sample, uint32_t i,
                                            alm_pool *pool, uint32_t n, alm_sample_way *way);
/* Once all rows are there. value: of each row; next: row -> the same key's next row. */
ALM_NODISCARD alm_status alm_sample_way_link(alm_ctx *cx, alm_pool *pool, const double *value,
                                             const uint32_t *next, alm_sample_way *way);
/* The value of a bucket from its row (or none), and the rows of its key before and behind it. */
double alm_sample_way_value(const alm_sample *sample, const alm_sample_way *way, uint32_t i,
                            const double *value, int64_t bucket, uint32_t real, uint32_t prev,
                            uint32_t next);

#endif
