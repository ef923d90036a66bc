/*
 * decoded.h - memory of decoded columns: how much there may be, who may still look at it, what goes first.
 *
 * Use         An open Parquet part has a reserved range of addresses in which its columns lie as they do in a
 *             native part; rows are decoded into it at their first touch (parquet.h). Each column
 *             is an alm_decoded_col here. Pages are taken before they are filled (alm_decoded_take).
 * Limit       `max` bytes in memory. Over it, columns that nobody can look at any more are given back, those
 *             not touched for the longest time first. Where that is not enough, the pages are those of a
 *             temporary file: the system writes them out when it needs the memory. These
 *             count for query.spill.max; over that, and with 0, a statement fails with an error that
 *             names both limits. So what a statement reads is not bounded by memory.
 * Readers     Vectors of a scan point into this memory as long as the snapshot lives. Who reads is an
 *             alm_reading, with a number that ascends: each snapshot is one, and compaction. A column
 *             remembers the newest number there was when it was touched. It goes when all
 *             readings that are left began later: who touched it before has ended, so no pointer is left.
 *             A touch that comes while a column goes either finds its blocks gone and decodes them
 *             again, or is seen in time, and the column stays (alm_decoded_touch).
 *             What is in temporary files goes as soon as its last reader has ended.
 * Locks       `lock`: the columns with memory, and while some go; below it the lock of a part. `read_lock`: the
 *             readings; below all others.
 */
#ifndef ALM_STORAGE_DECODED_H
#define ALM_STORAGE_DECODED_H

#include <pthread.h>

#include "storage/spill/spill.h"

typedef struct alm_reading {
    uint64_t number;
    struct alm_reading *prev, *next; /* by number */
} alm_reading;

typedef struct alm_decoded_col {
    uint8_t *at; /* whole pages */
    size_t size;
    _Atomic uint64_t touched; /* the newest reading when it was touched last */
    int64_t bytes, spilled;   /* taken: in memory, in temporary files; under the lock */
    uint64_t tried;           /* the last search for room that it did not serve */
    /* Forgets what is decoded unless it is touched after number `touched` or being filled; false: it
     * stays. The memory is given back by the caller. */
    bool (*drop)(void *arg, struct alm_decoded_col *col, uint64_t touched);
    void *arg;
    struct alm_decoded_col *prev, *next; /* those with memory */
} alm_decoded_col;

typedef struct alm_decoded {
    const alm_io *io;
    alm_spill_space *spill;
    int64_t max;
    pthread_mutex_t read_lock;
    _Atomic uint64_t newest;
    alm_reading *first, *last;
    pthread_mutex_t lock;
    int64_t bytes; /* of all columns */
    _Atomic int64_t spilled;
    uint64_t searches;
    alm_decoded_col *cols;
    _Atomic int64_t drops, fills; /* since the start */
    _Atomic int64_t copies;       /* bytes of copies of small parts (copy.c) */
    int64_t copies_max;
} alm_decoded;

void alm_decoded_init(alm_decoded *decoded, const alm_io *io, alm_spill_space *spill, int64_t max);
/* All columns are gone, all readings have ended. */
void alm_decoded_deinit(alm_decoded *decoded);

void alm_reading_begin(alm_decoded *decoded, alm_reading *reading);
void alm_reading_end(alm_decoded *decoded, alm_reading *reading);

/* Says that a reading looks at the column; before it looks whether a block is decoded (both in one total
 * order). `decoded` NULL: nothing ever goes. */
void alm_decoded_touch(alm_decoded *decoded, alm_decoded_col *col);

/* Memory for [from, from + n) of a column, before it is filled. */
ALM_NODISCARD alm_status alm_decoded_take(alm_ctx *cx, alm_decoded *decoded, alm_decoded_col *col,
                                          size_t from, size_t n);
/* All memory of the column, at its end. */
void alm_decoded_give(alm_decoded *decoded, alm_decoded_col *col);

/* Drops all that nobody looks at; for tests. */
void alm_decoded_drop_all(alm_decoded *decoded);

#endif
