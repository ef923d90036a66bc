/*
 * held.h - results that the server keeps for clients that read them page by page (/exec?snapshot=new, /snapshot/NAME): encoded once, so
 * that page 2 belongs to page 1 whatever is written meanwhile, and none is computed twice. Private to net/http.
 *
 * Form        JSON rows, one a line, in blocks packed by zstd: a page unpacks the blocks it touches.
 * Names       128 random bits, in hex. A result is found by its name and the user who made it, and by nobody else; he must
 *             have the login that it began with, and what it reads, at each page.
 * Bounds      One result by http.snapshot.result.bytes.max of packed bytes and of its head: it is cut there, and says so. All of them by
 *             http.snapshot.bytes.max and http.snapshot.count.max: of the user who has most, those read longest ago go. Those of one user
 *             by http.snapshot.user.bytes.max and http.snapshot.user.count.max. One that nobody reads for
 *             http.snapshot.timeout goes too, when the next one is asked for or made.
 * Threads     The store: any. A result that is in it is not changed any more; one that is made belongs to one thread.
 * Ownership   alm_held_find counts; a result that went is freed with its last reader.
 */
#ifndef ALM_NET_HTTP_HELD_H
#define ALM_NET_HTTP_HELD_H

#include "base/base.h"

struct alm_conf;
struct alm_questions; /* session/session.h */

typedef struct alm_held_store alm_held_store;
typedef struct alm_held alm_held;

enum {
    ALM_HELD_NAME_BYTES = 33,        /* and the 0 */
    ALM_HELD_BLOCK_BYTES = 256 << 10 /* a block ends with the row that has it so large */
};

/* `bytes_max`: of all results, where http.snapshot.bytes.max is 0. */
ALM_NODISCARD alm_status alm_held_store_new(alm_ctx *cx, int64_t bytes_max, alm_held_store **out);
void alm_held_store_free(alm_held_store *store); /* NULL is fine */

/* A result that is still to be filled, whose last block is charged to cx->mem until it is entered. head: how its answers begin behind
 * the query (columns ...). */
ALM_NODISCARD alm_status alm_held_new(alm_ctx *cx, const char *user, alm_str head, alm_held **out);
/* Rows that fit the next block: at least 1. Encode at most so many into alm_held_tail, no more when that has ALM_HELD_BLOCK_BYTES, then
 * say how many. */
uint32_t alm_held_room(const alm_held *held);
/* Where rows are encoded to: each ends with "]\n" and all but the first of the result begin with a comma. */
alm_buf *alm_held_tail(alm_held *held);
/* Behind the n-th row of such bytes; there are so many. */
const char *alm_held_skip_rows(const char *ptr, const char *end, int64_t n);
/* *full: the limit is reached, what comes now is left out. */
ALM_NODISCARD alm_status alm_held_added(alm_ctx *cx, alm_held *held, uint32_t rows,
                                        int64_t bytes_max, bool *full);
/* Complete, and in the store: it may be found from here on. The caller's reference stays. questions: what it was allowed to
 * read, to be asked again for each page; the result owns them, also on failure. */
ALM_NODISCARD alm_status alm_held_enter(alm_ctx *cx, alm_held_store *store, alm_held *held,
                                        struct alm_questions *questions, bool complete);

typedef struct alm_held_stats {
    int64_t results, bytes; /* that are held; packed bytes */
    int64_t made, found,
        missed;               /* since the start: entered; alm_held_find with and without success */
    int64_t expired, evicted; /* went for their age, for the limits of all of them */
    int64_t bytes_max;        /* as http.snapshot.bytes.max or the memory of the machine has it */
} alm_held_stats;

void alm_held_stats_get(alm_held_store *store, const struct alm_conf *conf, alm_held_stats *out);

/* NULL: there is none of that name for that user (any more). */
alm_held *alm_held_find(alm_held_store *store, const struct alm_conf *conf, alm_str name,
                        const char *user);
void alm_held_release(alm_held *held); /* NULL is fine */
/* False: there was none. */
bool alm_held_drop(alm_held_store *store, alm_str name, const char *user);

const char *alm_held_name(const alm_held *held);
const struct alm_questions *alm_held_questions(const alm_held *held); /* NULL: none */
alm_str alm_held_head(const alm_held *held);
int64_t alm_held_rows(const alm_held *held);
bool alm_held_complete(const alm_held *held);
/* Appends rows from `from` on, at most up to `to`, until out has `bytes` or more; *rows: how many. The first of them has
 * no comma before it if `first`. */
ALM_NODISCARD alm_status alm_held_read(alm_ctx *cx, const alm_held *held, int64_t from, int64_t to,
                                       size_t bytes, bool first, alm_buf *out, int64_t *rows);

#endif
