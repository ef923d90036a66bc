/*
 * items.c - alm_sort_items: puts rows in order by the codes of their keys (sortkey.h).
 *
 * One range of codes: its least and greatest code are found, and the rows are dealt to buckets by the
 * highest bits in which codes of the range differ; so the same few passes serve any distribution. Small
 * ranges take two passes of 8 bits, least first, and insertion for what still ties; tiny ones insertion
 * alone. Runs of equal codes go on with the next part of the value (text, 16 and 32 bytes) or the next
 * key. All steps are stable, so the order is unique and does not depend on the number of threads.
 *
 * Threads     Ranges over BIG rows are encoded, counted and dealt in chunks, and their small buckets
 *             sorted, by all workers; big buckets one after the other in the same way.
 * Cancel      alm_check per chunk and per bucket.
 */
#include "exec/sort/sortkey.h"

enum {
    INSERTION_MAX = 40,
    CHUNK = 1024,    /* rows encoded at once */
    BIG = 1 << 17,   /* rows that are worth dealing by all threads */
    PIECE = 1 << 16, /* of them, per task */
    DEAL_BITS = 10,  /* of big ranges */
    DEAL = 1 << DEAL_BITS,
    MID = 1 << 14, /* rows sorted in two passes */
    MID_BITS = 8,
    BATCHED_KEYS = 32, /* of more, the stack would be too small */
    LEVELS_MAX = 16    /* parts of a text before comparison takes over */
};

typedef struct sorter {
    alm_ctx *cx;
    const alm_vec *key;
    const alm_sort_order *order;
    uint32_t n_keys;
} sorter;

static alm_status sort_by(const sorter *r, uint32_t key, uint32_t level, alm_sort_item *item,
                          alm_sort_item *spare, uint32_t n);

/* ---------------------------------------------------------------------------- one code range */

static void insertion(alm_sort_item *item, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const alm_sort_item x = item[i];
        uint32_t at = i;
        for (; at > 0 && item[at - 1].code > x.code; at--)
            item[at] = item[at - 1];
        item[at] = x;
    }
}

/* True: in order already. */
static bool span_of(const alm_sort_item *item, uint32_t n, uint64_t *least, uint64_t *most)
{
    uint64_t lo = item[0].code, hi = lo, before = lo;
    bool falls = false;
    for (uint32_t i = 1; i < n; i++) {
        const uint64_t code = item[i].code;
        falls |= code < before;
        before = code;
        lo = code < lo ? code : lo;
        hi = code > hi ? code : hi;
    }
    *least = lo;
    *most = hi;
    return !falls;
}

/* One pass by 8 bits of (code - base) at `shift`. */
static void pass(const alm_sort_item *from, alm_sort_item *to, uint32_t n, uint64_t base,
                 uint32_t shift)
{
    uint32_t at[1 << MID_BITS] = {0}, sum = 0;
    for (uint32_t i = 0; i < n; i++)
        at[((from[i].code - base) >> shift) & ((1 << MID_BITS) - 1)]++;
    for (uint32_t b = 0; b < 1 << MID_BITS; b++) {
        const uint32_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[at[((from[i].code - base) >> shift) & ((1 << MID_BITS) - 1)]++] = from[i];
}

/* Up to MID rows whose codes span [base, base + 2^bits). */
static void sort_mid(alm_sort_item *item, alm_sort_item *spare, uint32_t n, uint64_t base,
                     uint32_t bits)
{
    const uint32_t low = bits > 2 * MID_BITS ? bits - 2 * MID_BITS : 0;
    pass(item, spare, n, base, low);
    pass(spare, item, n, base, low + MID_BITS);
    for (uint32_t lo = 0, hi = 0; low > 0 && lo < n; lo = hi) {
        const uint64_t top = (item[lo].code - base) >> low;
        for (hi = lo + 1; hi < n && (item[hi].code - base) >> low == top;)
            hi++;
        if (hi - lo > 1)
            alm_sort_codes(item + lo, spare + lo, hi - lo);
    }
}

/* Deals to DEAL buckets by the highest bits of the range, then each bucket. Every round settles
 * DEAL_BITS bits, which bounds the depth. */
static void sort_wide(alm_sort_item *item, alm_sort_item *spare, uint32_t n, uint64_t base,
                      uint32_t bits)
{
    const uint32_t shift = bits > DEAL_BITS ? bits - DEAL_BITS : 0;
    uint32_t at[DEAL] = {0}, sum = 0;
    for (uint32_t i = 0; i < n; i++)
        at[(item[i].code - base) >> shift]++;
    for (uint32_t b = 0; b < DEAL; b++) {
        const uint32_t count = at[b];
        at[b] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        spare[at[(item[i].code - base) >> shift]++] = item[i];
    uint32_t lo = 0;
    for (uint32_t b = 0; b < DEAL; b++) {
        if (shift > 0)
            alm_sort_codes(spare + lo, item + lo, at[b] - lo);
        lo = at[b];
    }
    memcpy(item, spare, n * sizeof *item);
}

/* The result is in `item` again. */
void alm_sort_codes(alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    uint64_t lo = 0, hi = 0;
    if (n <= INSERTION_MAX) {
        insertion(item, n);
        return;
    }
    if (span_of(item, n, &lo, &hi))
        return;
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(hi - lo); /* hi > lo: something falls */
    if (n <= MID)
        sort_mid(item, spare, n, lo, bits);
    else
        sort_wide(item, spare, n, lo, bits);
}

/* ------------------------------------------------------------------------------ by comparison */

static int compare_rows(const sorter *r, uint32_t key, uint32_t a, uint32_t b)
{
    for (uint32_t k = key; k < r->n_keys; k++) {
        const int c = alm_sort_compare(&r->key[k], &r->order[k], a, b);
        if (c != 0)
            return c;
    }
    return 0;
}

/* Merge sort by comparison of keys `key` and later. */
static alm_status merge_sort(const sorter *r, uint32_t key, alm_sort_item *item,
                             alm_sort_item *spare, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8) /* short runs first */
        for (uint32_t j = i + 1; j < ALM_MIN(i + 8, n); j++) {
            const alm_sort_item x = item[j];
            uint32_t at = j;
            for (; at > i && compare_rows(r, key, item[at - 1].row, x.row) > 0; at--)
                item[at] = item[at - 1];
            item[at] = x;
        }
    for (uint64_t width = 8; width < n; width *= 2) {
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            const uint64_t mid = ALM_MIN(lo + width, n), hi = ALM_MIN(lo + 2 * width, n);
            uint64_t a = lo, b = mid, to = lo;
            while (a < mid && b < hi) {
                if ((to & (CHUNK - 1)) == 0)
                    ALM_TRY(alm_check(r->cx));
                spare[to++] =
                    compare_rows(r, key, item[a].row, item[b].row) <= 0 ? item[a++] : item[b++];
            }
            memcpy(spare + to, item + a, (mid - a) * sizeof *item);
            memcpy(spare + to + (mid - a), item + b, (hi - b) * sizeof *item);
        }
        memcpy(item, spare, n * sizeof *item);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- ties */

/* A function of its own, so that its arrays are not on the stack of the recursion. */
__attribute__((noinline)) static void encode_items(const sorter *r, uint32_t key, uint32_t level,
                                                   alm_sort_item *item, uint32_t n)
{
    uint32_t pick[CHUNK];
    uint64_t code[CHUNK];
    for (uint32_t at = 0; at < n; at += CHUNK) {
        const uint32_t m = ALM_MIN((uint32_t)CHUNK, n - at);
        for (uint32_t i = 0; i < m; i++)
            pick[i] = item[at + i].row;
        alm_sort_encode_at(&r->key[key], &r->order[key], level, pick, m, code);
        for (uint32_t i = 0; i < m; i++)
            item[at + i].code = code[i];
    }
}

typedef enum tie_next { TIE_VALUE_ENDS, TIE_VALUE_GOES_ON, TIE_COMPARE } tie_next;

/* What decides between rows whose codes are equal up to `level`: codes of the next level, nothing of
 * this key, or a comparison. */
static tie_next after_level(const sorter *r, uint32_t key, uint32_t level,
                            const alm_sort_item *item, uint32_t n)
{
    const alm_vec *v = &r->key[key];
    const alm_sort_order *o = &r->order[key];
    if (alm_sort_exact(v, o) || (level == 0 && item[0].code != o->nulls_first))
        return TIE_VALUE_ENDS; /* equal, or null */
    if (n <= 8)
        return TIE_COMPARE;
    if (!alm_sort_is_text(v))
        return level < v->width / 8U ? TIE_VALUE_GOES_ON : TIE_VALUE_ENDS;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < n && level > 0; i++) {
        const uint32_t len = alm_sort_text_len(v, item[i].row);
        least = ALM_MIN(least, len);
        most = ALM_MAX(most, len);
    }
    if (level > 0 && most <= 8 * level)
        return least == most ? TIE_VALUE_ENDS : TIE_COMPARE; /* bytes 0 at the end */
    return level < LEVELS_MAX ? TIE_VALUE_GOES_ON : TIE_COMPARE;
}

/* Rows whose codes of `key` are equal up to `level`. */
static alm_status sort_tie(const sorter *r, uint32_t key, uint32_t level, alm_sort_item *item,
                           alm_sort_item *spare, uint32_t n)
{
    switch (after_level(r, key, level, item, n)) {
    case TIE_VALUE_GOES_ON:
        return sort_by(r, key, level + 1, item, spare, n);
    case TIE_COMPARE:
        return merge_sort(r, key, item, spare, n);
    case TIE_VALUE_ENDS:
        break;
    }
    if (key + 1 == r->n_keys)
        return ALM_OK;
    return n <= 8 ? merge_sort(r, key + 1, item, spare, n) : sort_by(r, key + 1, 0, item, spare, n);
}

/* Is there nothing to decide between rows with equal codes? */
static bool codes_decide(const sorter *r, uint32_t key)
{
    return key + 1 == r->n_keys && alm_sort_exact(&r->key[key], &r->order[key]);
}

/* Short runs of equal codes that wait for the codes of the next key. */
typedef struct tie_batch {
    uint32_t n, n_rows;
    uint32_t lo[CHUNK / 2], hi[CHUNK / 2];
} tie_batch;

static alm_status sort_ties(const sorter *r, uint32_t key, uint32_t level, alm_sort_item *item,
                            alm_sort_item *spare, uint32_t n);

/* One look at the next key for all of them: the rows lie anywhere in memory, so that many fetches at
 * once are much faster than comparisons one after the other. */
__attribute__((noinline)) static void encode_ties(const sorter *r, uint32_t key,
                                                  const tie_batch *batch, alm_sort_item *item)
{
    uint32_t pick[CHUNK], m = 0;
    uint64_t code[CHUNK];
    for (uint32_t t = 0; t < batch->n; t++)
        for (uint32_t i = batch->lo[t]; i < batch->hi[t]; i++)
            pick[m++] = item[i].row;
    alm_sort_encode_at(&r->key[key], &r->order[key], 0, pick, m, code);
    m = 0;
    for (uint32_t t = 0; t < batch->n; t++)
        for (uint32_t i = batch->lo[t]; i < batch->hi[t]; i++)
            item[i].code = code[m++];
}

static alm_status settle_ties(const sorter *r, uint32_t key, tie_batch *batch, alm_sort_item *item,
                              alm_sort_item *spare)
{
    encode_ties(r, key, batch, item);
    for (uint32_t t = 0; t < batch->n; t++) {
        const uint32_t lo = batch->lo[t], n = batch->hi[t] - lo;
        insertion(item + lo, n);
        if (!codes_decide(r, key))
            ALM_TRY(sort_ties(r, key, 0, item + lo, spare + lo, n));
    }
    batch->n = batch->n_rows = 0;
    return ALM_OK;
}

/* Runs of equal codes of an exact key that is not the last one. */
__attribute__((noinline)) static alm_status sort_exact_ties(const sorter *r, uint32_t key,
                                                            alm_sort_item *item,
                                                            alm_sort_item *spare, uint32_t n)
{
    tie_batch batch;
    batch.n = batch.n_rows = 0;
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && item[hi].code == item[lo].code;)
            hi++;
        if (hi - lo > INSERTION_MAX) {
            ALM_TRY(sort_by(r, key + 1, 0, item + lo, spare + lo, hi - lo));
        } else if (hi - lo > 1) {
            if (batch.n_rows + (hi - lo) > CHUNK)
                ALM_TRY(settle_ties(r, key + 1, &batch, item, spare));
            batch.lo[batch.n] = lo;
            batch.hi[batch.n++] = hi;
            batch.n_rows += hi - lo;
        }
    }
    return batch.n > 0 ? settle_ties(r, key + 1, &batch, item, spare) : ALM_OK;
}

static alm_status sort_ties(const sorter *r, uint32_t key, uint32_t level, alm_sort_item *item,
                            alm_sort_item *spare, uint32_t n)
{
    if (codes_decide(r, key))
        return ALM_OK;
    if (n > INSERTION_MAX && key < BATCHED_KEYS && alm_sort_exact(&r->key[key], &r->order[key]))
        return sort_exact_ties(r, key, item, spare, n);
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && item[hi].code == item[lo].code;)
            hi++;
        if (hi - lo > 1)
            ALM_TRY(sort_tie(r, key, level, item + lo, spare + lo, hi - lo));
    }
    return ALM_OK;
}

/* The depth of the recursion is bounded by the number of keys and of levels. */
static alm_status sort_by(const sorter *r, uint32_t key, uint32_t level, alm_sort_item *item,
                          alm_sort_item *spare, uint32_t n)
{
    ALM_TRY(alm_check(r->cx));
    encode_items(r, key, level, item, n);
    alm_sort_codes(item, spare, n);
    return sort_ties(r, key, level, item, spare, n);
}

/* --------------------------------------------------------------------------------- big ranges */

typedef struct deal {
    const sorter *r;
    alm_workers *workers; /* NULL: none */
    alm_ctx *slot;        /* one context per thread */
    uint32_t n_slots;
    atomic_bool failed;
    uint32_t key, level;
    alm_sort_item *item, *spare;
    uint32_t n, n_pieces;
    uint32_t shift;
    uint64_t base;
    uint64_t *least, *most; /* by piece */
    bool *rises;
    uint32_t *at;    /* [piece][bucket]: counts, then where the next row goes */
    uint32_t *start; /* by bucket, DEAL + 1 entries */
    uint32_t *task;  /* first bucket of each task */
    alm_status (*step)(struct deal *d, const sorter *r, uint32_t i);
} deal;

static void deal_step(void *arg, uint32_t i, uint32_t slot)
{
    deal *d = arg;
    sorter own = *d->r;
    own.cx = &d->slot[slot];
    if (atomic_load_explicit(&d->failed, memory_order_relaxed))
        return;
    if (alm_check(own.cx) != ALM_OK || d->step(d, &own, i) != ALM_OK)
        atomic_store_explicit(&d->failed, true, memory_order_relaxed);
}

static alm_status run_steps(deal *d, uint32_t n,
                            alm_status (*step)(deal *d, const sorter *r, uint32_t i))
{
    alm_ctx *cx = d->r->cx;
    d->step = step;
    for (uint32_t s = 0; s < d->n_slots; s++)
        alm_ctx_fork(cx, &d->slot[s]);
    if (d->workers != NULL)
        alm_workers_run(d->workers, n, deal_step, d);
    else
        for (uint32_t i = 0; i < n; i++)
            deal_step(d, i, 0);
    alm_status st = ALM_OK;
    for (uint32_t s = 0; s < d->n_slots; s++) {
        const alm_status slot_st = alm_ctx_join(cx, &d->slot[s]);
        st = st == ALM_OK ? slot_st : st;
    }
    return st;
}

static uint32_t piece_rows(const deal *d, uint32_t i)
{
    return ALM_MIN((uint32_t)PIECE, d->n - i * PIECE);
}

static alm_status encode_piece(deal *d, const sorter *r, uint32_t i)
{
    encode_items(r, d->key, d->level, d->item + (size_t)i * PIECE, piece_rows(d, i));
    return ALM_OK;
}

static alm_status span_piece(deal *d, const sorter *r, uint32_t i)
{
    (void)r;
    d->rises[i] = span_of(d->item + (size_t)i * PIECE, piece_rows(d, i), &d->least[i], &d->most[i]);
    return ALM_OK;
}

static alm_status count_piece(deal *d, const sorter *r, uint32_t i)
{
    const alm_sort_item *item = d->item + (size_t)i * PIECE;
    uint32_t *at = d->at + (size_t)i * DEAL;
    const uint32_t n = piece_rows(d, i);
    (void)r;
    memset(at, 0, DEAL * sizeof *at);
    for (uint32_t k = 0; k < n; k++)
        at[(item[k].code - d->base) >> d->shift]++;
    return ALM_OK;
}

static alm_status deal_piece(deal *d, const sorter *r, uint32_t i)
{
    const alm_sort_item *item = d->item + (size_t)i * PIECE;
    uint32_t *at = d->at + (size_t)i * DEAL;
    const uint32_t n = piece_rows(d, i);
    (void)r;
    for (uint32_t k = 0; k < n; k++)
        d->spare[at[(item[k].code - d->base) >> d->shift]++] = item[k];
    return ALM_OK;
}

/* Some buckets, from spare to item; big ones are only moved. */
static alm_status sort_buckets(deal *d, const sorter *r, uint32_t i)
{
    for (uint32_t b = d->task[i]; b < d->task[i + 1]; b++) {
        const uint32_t lo = d->start[b], n = d->start[b + 1] - lo;
        if (n == 0)
            continue;
        ALM_TRY(alm_check(r->cx));
        if (n <= BIG) {
            alm_sort_codes(d->spare + lo, d->item + lo, n);
            ALM_TRY(sort_ties(r, d->key, d->level, d->spare + lo, d->item + lo, n));
        }
        memcpy(d->item + lo, d->spare + lo, n * sizeof *d->item);
    }
    return ALM_OK;
}

/* Where each piece puts its rows of each bucket: pieces in order, which keeps it stable. */
static uint32_t place_buckets(deal *d)
{
    uint32_t sum = 0, n_tasks = 0, in_task = 0;
    for (uint32_t b = 0; b < DEAL; b++) {
        d->start[b] = sum;
        for (uint32_t i = 0; i < d->n_pieces; i++) {
            uint32_t *at = &d->at[(size_t)i * DEAL + b];
            const uint32_t count = *at;
            *at = sum;
            sum += count;
        }
        if (b == 0 || in_task >= PIECE / 4) {
            d->task[n_tasks++] = b;
            in_task = 0;
        }
        in_task += sum - d->start[b];
    }
    d->start[DEAL] = sum;
    d->task[n_tasks] = DEAL;
    return n_tasks;
}

static alm_status sort_big(const sorter *r, alm_workers *workers, uint32_t key, uint32_t level,
                           alm_sort_item *item, alm_sort_item *spare, uint32_t n);
static alm_status sort_big_codes(deal *d);

/* Rows of equal codes, many of them perhaps. */
static alm_status big_tie(const deal *up, alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    const sorter *r = up->r;
    if (n <= BIG)
        return sort_tie(r, up->key, up->level, item, spare, n);
    switch (after_level(r, up->key, up->level, item, n)) {
    case TIE_VALUE_GOES_ON:
        return sort_big(r, up->workers, up->key, up->level + 1, item, spare, n);
    case TIE_COMPARE:
        return merge_sort(r, up->key, item, spare, n);
    case TIE_VALUE_ENDS:
        break;
    }
    return up->key + 1 == r->n_keys ? ALM_OK
                                    : sort_big(r, up->workers, up->key + 1, 0, item, spare, n);
}

static alm_status big_ties(const deal *d)
{
    if (codes_decide(d->r, d->key))
        return ALM_OK;
    for (uint32_t lo = 0, hi = 0; lo < d->n; lo = hi) {
        for (hi = lo + 1; hi < d->n && d->item[hi].code == d->item[lo].code;)
            hi++;
        if (hi - lo > 1)
            ALM_TRY(big_tie(d, d->item + lo, d->spare + lo, hi - lo));
    }
    return ALM_OK;
}

static alm_status deal_new(const deal *like, alm_sort_item *item, alm_sort_item *spare, uint32_t n,
                           deal *d)
{
    alm_ctx *cx = like->r->cx;
    *d = (deal){.r = like->r,
                .workers = like->workers,
                .slot = like->slot,
                .n_slots = like->n_slots,
                .key = like->key,
                .level = like->level,
                .item = item,
                .spare = spare,
                .n = n,
                .n_pieces = (n + PIECE - 1) / PIECE};
    ALM_TRY(ALM_NEWN(cx, cx->arena, d->n_pieces, &d->least));
    ALM_TRY(ALM_NEWN(cx, cx->arena, d->n_pieces, &d->most));
    ALM_TRY(ALM_NEWN(cx, cx->arena, d->n_pieces, &d->rises));
    return ALM_OK;
}

/* A range of known least and greatest code: dealt, then bucket by bucket. */
static alm_status sort_dealt(deal *d, uint64_t lo, uint64_t hi)
{
    alm_ctx *cx = d->r->cx;
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(hi - lo);
    d->base = lo;
    d->shift = bits > DEAL_BITS ? bits - DEAL_BITS : 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)d->n_pieces * DEAL, &d->at));
    ALM_TRY(ALM_NEWN(cx, cx->arena, DEAL + 1, &d->start));
    ALM_TRY(ALM_NEWN(cx, cx->arena, DEAL + 1, &d->task));
    ALM_TRY(run_steps(d, d->n_pieces, count_piece));
    const uint32_t n_tasks = place_buckets(d);
    ALM_TRY(run_steps(d, d->n_pieces, deal_piece));
    ALM_TRY(run_steps(d, n_tasks, sort_buckets));
    for (uint32_t b = 0; b < DEAL; b++) {
        const uint32_t at = d->start[b], n = d->start[b + 1] - at;
        deal below;
        if (n <= BIG)
            continue;
        ALM_TRY(deal_new(d, d->item + at, d->spare + at, n, &below));
        ALM_TRY(sort_big_codes(&below));
    }
    return ALM_OK;
}

/* The codes are there. Every round settles DEAL_BITS bits: the depth is bounded. */
static alm_status sort_big_codes(deal *d)
{
    ALM_TRY(run_steps(d, d->n_pieces, span_piece));
    uint64_t lo = d->least[0], hi = d->most[0];
    bool rises = d->rises[0];
    for (uint32_t i = 1; i < d->n_pieces; i++) {
        const size_t first = (size_t)i * PIECE;
        rises = rises && d->rises[i] && d->item[first - 1].code <= d->item[first].code;
        lo = ALM_MIN(lo, d->least[i]);
        hi = ALM_MAX(hi, d->most[i]);
    }
    return rises ? big_ties(d) : sort_dealt(d, lo, hi);
}

static alm_status sort_big(const sorter *r, alm_workers *workers, uint32_t key, uint32_t level,
                           alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    deal d, like = {.r = r, .workers = workers, .key = key, .level = level, .n_slots = 1};
    if (n <= BIG)
        return sort_by(r, key, level, item, spare, n);
    if (workers != NULL)
        like.n_slots = alm_workers_count(workers);
    ALM_TRY(ALM_NEWN(r->cx, r->cx->arena, like.n_slots, &like.slot));
    ALM_TRY(deal_new(&like, item, spare, n, &d));
    ALM_TRY(run_steps(&d, d.n_pieces, encode_piece));
    return sort_big_codes(&d);
}

alm_status alm_sort_items_on(alm_ctx *cx, alm_workers *workers, const alm_vec *key,
                             const alm_sort_order *order, uint32_t n_keys, alm_sort_item *item,
                             alm_sort_item *spare, uint32_t n)
{
    const sorter r = {.cx = cx, .key = key, .order = order, .n_keys = n_keys};
    if (n < 2 || n_keys == 0)
        return ALM_OK;
    return sort_big(&r, workers, 0, 0, item, spare, n);
}

alm_status alm_sort_items(alm_ctx *cx, const alm_vec *key, const alm_sort_order *order,
                          uint32_t n_keys, alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    return alm_sort_items_on(cx, NULL, key, order, n_keys, item, spare, n);
}
