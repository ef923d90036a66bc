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

static alm_status sort_by(const sorter *self, uint32_t key, uint32_t level, alm_sort_item *item,
                          alm_sort_item *spare, uint32_t n);

/* ---------------------------------------------------------------------------- one code range */

static void sort_items_insertion(alm_sort_item *item, uint32_t n_items)
{
    for (uint32_t i = 1; i < n_items; i++) {
        const alm_sort_item sort_item = item[i];
        uint32_t place = i;
        for (; place > 0 && item[place - 1].code > sort_item.code; place--)
            item[place] = item[place - 1];
        item[place] = sort_item;
    }
}

/* True: in order already. */
static bool span_of(const alm_sort_item *item, uint32_t n_items, uint64_t *least, uint64_t *most)
{
    uint64_t lo = item[0].code, hi = lo, before = lo;
    bool falls = false;
    for (uint32_t i = 1; i < n_items; i++) {
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
    for (uint32_t byte = 0; byte < 1 << MID_BITS; byte++) {
        const uint32_t count = at[byte];
        at[byte] = sum;
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
static void sort_wide(alm_sort_item *item, alm_sort_item *spare, uint32_t n_items, uint64_t base,
                      uint32_t bits)
{
    const uint32_t shift = bits > DEAL_BITS ? bits - DEAL_BITS : 0;
    uint32_t at[DEAL] = {0}, sum = 0;
    for (uint32_t i = 0; i < n_items; i++)
        at[(item[i].code - base) >> shift]++;
    for (uint32_t bucket = 0; bucket < DEAL; bucket++) {
        const uint32_t count = at[bucket];
        at[bucket] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n_items; i++)
        spare[at[(item[i].code - base) >> shift]++] = item[i];
    uint32_t lo = 0;
    for (uint32_t bucket = 0; bucket < DEAL; bucket++) {
        if (shift > 0)
            alm_sort_codes(spare + lo, item + lo, at[bucket] - lo);
        lo = at[bucket];
    }
    memcpy(item, spare, n_items * sizeof *item);
}

/* The result is in `item` again. */
void alm_sort_codes(alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    uint64_t lo = 0, hi = 0;
    if (n <= INSERTION_MAX) {
        sort_items_insertion(item, n);
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

static int compare_rows(const sorter *self, uint32_t key, uint32_t a, uint32_t b)
{
    for (uint32_t k = key; k < self->n_keys; k++) {
        const int c = alm_sort_compare(&self->key[k], &self->order[k], a, b);
        if (c != 0)
            return c;
    }
    return 0;
}

/* Merge sort by comparison of keys `key` and later. */
static alm_status merge_sort(const sorter *self, uint32_t key, alm_sort_item *item,
                             alm_sort_item *spare, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8) /* short runs first */
        for (uint32_t j = i + 1; j < ALM_MIN(i + 8, n); j++) {
            const alm_sort_item sort_item = item[j];
            uint32_t place = j;
            for (; place > i && compare_rows(self, key, item[place - 1].row, sort_item.row) > 0;
                 place--)
                item[place] = item[place - 1];
            item[place] = sort_item;
        }
    for (uint64_t width = 8; width < n; width *= 2) {
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            const uint64_t mid = ALM_MIN(lo + width, n), hi = ALM_MIN(lo + 2 * width, n);
            uint64_t a = lo, b = mid, to = lo;
            while (a < mid && b < hi) {
                if ((to & (CHUNK - 1)) == 0)
                    ALM_TRY(alm_check(self->cx));
                spare[to++] =
                    compare_rows(self, key, item[a].row, item[b].row) <= 0 ? item[a++] : item[b++];
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
__attribute__((noinline)) static void encode_items(const sorter *self, uint32_t key, uint32_t level,
                                                   alm_sort_item *item, uint32_t n)
{
    uint32_t pick[CHUNK];
    uint64_t code[CHUNK];
    for (uint32_t place = 0; place < n; place += CHUNK) {
        const uint32_t m = ALM_MIN((uint32_t)CHUNK, n - place);
        for (uint32_t i = 0; i < m; i++)
            pick[i] = item[place + i].row;
        alm_sort_encode_at(&self->key[key], &self->order[key], level, pick, m, code);
        for (uint32_t i = 0; i < m; i++)
            item[place + i].code = code[i];
    }
}

typedef enum tie_next { TIE_VALUE_ENDS, TIE_VALUE_GOES_ON, TIE_COMPARE } tie_next;

/* What decides between rows whose codes are equal up to `level`: codes of the next level, nothing of
 * this key, or a comparison. */
static tie_next after_level(const sorter *self, uint32_t key, uint32_t level,
                            const alm_sort_item *item, uint32_t n)
{
    const alm_vec *vec = &self->key[key];
    const alm_sort_order *order = &self->order[key];
    if (alm_sort_exact(vec, order) || (level == 0 && item[0].code != order->nulls_first))
        return TIE_VALUE_ENDS; /* equal, or null */
    if (n <= 8)
        return TIE_COMPARE;
    if (!alm_sort_is_text(vec))
        return level < vec->width / 8U ? TIE_VALUE_GOES_ON : TIE_VALUE_ENDS;
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < n && level > 0; i++) {
        const uint32_t len = alm_sort_text_len(vec, item[i].row);
        least = ALM_MIN(least, len);
        most = ALM_MAX(most, len);
    }
    if (level > 0 && most <= 8 * level)
        return least == most ? TIE_VALUE_ENDS : TIE_COMPARE; /* bytes 0 at the end */
    return level < LEVELS_MAX ? TIE_VALUE_GOES_ON : TIE_COMPARE;
}

/* Rows whose codes of `key` are equal up to `level`. */
static alm_status sort_tie(const sorter *self, uint32_t key, uint32_t level, alm_sort_item *item,
                           alm_sort_item *spare, uint32_t n)
{
    switch (after_level(self, key, level, item, n)) {
    case TIE_VALUE_GOES_ON:
        return sort_by(self, key, level + 1, item, spare, n);
    case TIE_COMPARE:
        return merge_sort(self, key, item, spare, n);
    case TIE_VALUE_ENDS:
        break;
    }
    if (key + 1 == self->n_keys)
        return ALM_OK;
    return n <= 8 ? merge_sort(self, key + 1, item, spare, n)
                  : sort_by(self, key + 1, 0, item, spare, n);
}

/* Is there nothing to decide between rows with equal codes? */
static bool codes_decide(const sorter *self, uint32_t key)
{
    return key + 1 == self->n_keys && alm_sort_exact(&self->key[key], &self->order[key]);
}

/* Short runs of equal codes that wait for the codes of the next key. */
typedef struct tie_batch {
    uint32_t n, n_rows;
    uint32_t lo[CHUNK / 2], hi[CHUNK / 2];
} tie_batch;

static alm_status sort_ties(const sorter *self, uint32_t key, uint32_t level, alm_sort_item *item,
                            alm_sort_item *spare, uint32_t n);

/* One look at the next key for all of them: the rows lie anywhere in memory, so that many fetches at
 * once are much faster than comparisons one after the other. */
__attribute__((noinline)) static void encode_ties(const sorter *self, uint32_t key,
                                                  const tie_batch *batch, alm_sort_item *item)
{
    uint32_t pick[CHUNK], m = 0;
    uint64_t code[CHUNK];
    for (uint32_t t = 0; t < batch->n; t++)
        for (uint32_t i = batch->lo[t]; i < batch->hi[t]; i++)
            pick[m++] = item[i].row;
    alm_sort_encode_at(&self->key[key], &self->order[key], 0, pick, m, code);
    m = 0;
    for (uint32_t t = 0; t < batch->n; t++)
        for (uint32_t i = batch->lo[t]; i < batch->hi[t]; i++)
            item[i].code = code[m++];
}

static alm_status settle_ties(const sorter *self, uint32_t key, tie_batch *batch,
                              alm_sort_item *item, alm_sort_item *spare)
{
    encode_ties(self, key, batch, item);
    for (uint32_t t = 0; t < batch->n; t++) {
        const uint32_t lo = batch->lo[t], n = batch->hi[t] - lo;
        sort_items_insertion(item + lo, n);
        if (!codes_decide(self, key))
            ALM_TRY(sort_ties(self, key, 0, item + lo, spare + lo, n));
    }
    batch->n = batch->n_rows = 0;
    return ALM_OK;
}

/* Runs of equal codes of an exact key that is not the last one. */
__attribute__((noinline)) static alm_status sort_exact_ties(const sorter *self, uint32_t key,
                                                            alm_sort_item *item,
                                                            alm_sort_item *spare, uint32_t n)
{
    tie_batch batch;
    batch.n = batch.n_rows = 0;
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && item[hi].code == item[lo].code;)
            hi++;
        if (hi - lo > INSERTION_MAX) {
            ALM_TRY(sort_by(self, key + 1, 0, item + lo, spare + lo, hi - lo));
        } else if (hi - lo > 1) {
            if (batch.n_rows + (hi - lo) > CHUNK)
                ALM_TRY(settle_ties(self, key + 1, &batch, item, spare));
            batch.lo[batch.n] = lo;
            batch.hi[batch.n++] = hi;
            batch.n_rows += hi - lo;
        }
    }
    return batch.n > 0 ? settle_ties(self, key + 1, &batch, item, spare) : ALM_OK;
}

static alm_status sort_ties(const sorter *self, uint32_t key, uint32_t level, alm_sort_item *item,
                            alm_sort_item *spare, uint32_t n)
{
    if (codes_decide(self, key))
        return ALM_OK;
    if (n > INSERTION_MAX && key < BATCHED_KEYS &&
        alm_sort_exact(&self->key[key], &self->order[key]))
        return sort_exact_ties(self, key, item, spare, n);
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && item[hi].code == item[lo].code;)
            hi++;
        if (hi - lo > 1)
            ALM_TRY(sort_tie(self, key, level, item + lo, spare + lo, hi - lo));
    }
    return ALM_OK;
}

/* The depth of the recursion is bounded by the number of keys and of levels. */
static alm_status sort_by(const sorter *self, uint32_t key, uint32_t level, alm_sort_item *item,
                          alm_sort_item *spare, uint32_t n)
{
    ALM_TRY(alm_check(self->cx));
    encode_items(self, key, level, item, n);
    alm_sort_codes(item, spare, n);
    return sort_ties(self, key, level, item, spare, n);
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
    deal *self = arg;
    sorter own = *self->r;
    own.cx = &self->slot[slot];
    if (atomic_load_explicit(&self->failed, memory_order_relaxed))
        return;
    if (alm_check(own.cx) != ALM_OK || self->step(self, &own, i) != ALM_OK)
        atomic_store_explicit(&self->failed, true, memory_order_relaxed);
}

static alm_status run_steps(deal *self, uint32_t n,
                            alm_status (*step)(deal *d, const sorter *r, uint32_t i))
{
    alm_ctx *cx = self->r->cx;
    self->step = step;
    for (uint32_t slot = 0; slot < self->n_slots; slot++)
        alm_ctx_fork(cx, &self->slot[slot]);
    if (self->workers != NULL)
        alm_workers_run(self->workers, n, deal_step, self);
    else
        for (uint32_t i = 0; i < n; i++)
            deal_step(self, i, 0);
    alm_status status = ALM_OK;
    for (uint32_t slot = 0; slot < self->n_slots; slot++) {
        const alm_status slot_st = alm_ctx_join(cx, &self->slot[slot]);
        status = status == ALM_OK ? slot_st : status;
    }
    return status;
}

static uint32_t piece_rows(const deal *self, uint32_t i)
{
    return ALM_MIN((uint32_t)PIECE, self->n - i * PIECE);
}

static alm_status encode_piece(deal *self, const sorter *r, uint32_t i)
{
    encode_items(r, self->key, self->level, self->item + (size_t)i * PIECE, piece_rows(self, i));
    return ALM_OK;
}

static alm_status span_piece(deal *self, const sorter *r, uint32_t i)
{
    (void)r;
    self->rises[i] = span_of(self->item + (size_t)i * PIECE, piece_rows(self, i), &self->least[i],
                             &self->most[i]);
    return ALM_OK;
}

static alm_status count_piece(deal *self, const sorter *r, uint32_t i)
{
    const alm_sort_item *item = self->item + (size_t)i * PIECE;
    uint32_t *at = self->at + (size_t)i * DEAL;
    const uint32_t n_items = piece_rows(self, i);
    (void)r;
    memset(at, 0, DEAL * sizeof *at);
    for (uint32_t k = 0; k < n_items; k++)
        at[(item[k].code - self->base) >> self->shift]++;
    return ALM_OK;
}

static alm_status deal_piece(deal *self, const sorter *r, uint32_t i)
{
    const alm_sort_item *item = self->item + (size_t)i * PIECE;
    uint32_t *at = self->at + (size_t)i * DEAL;
    const uint32_t n_items = piece_rows(self, i);
    (void)r;
    for (uint32_t k = 0; k < n_items; k++)
        self->spare[at[(item[k].code - self->base) >> self->shift]++] = item[k];
    return ALM_OK;
}

/* Some buckets, from spare to item; big ones are only moved. */
static alm_status sort_buckets(deal *self, const sorter *r, uint32_t i)
{
    for (uint32_t bucket = self->task[i]; bucket < self->task[i + 1]; bucket++) {
        const uint32_t lo = self->start[bucket], n = self->start[bucket + 1] - lo;
        if (n == 0)
            continue;
        ALM_TRY(alm_check(r->cx));
        if (n <= BIG) {
            alm_sort_codes(self->spare + lo, self->item + lo, n);
            ALM_TRY(sort_ties(r, self->key, self->level, self->spare + lo, self->item + lo, n));
        }
        memcpy(self->item + lo, self->spare + lo, n * sizeof *self->item);
    }
    return ALM_OK;
}

/* Where each piece puts its rows of each bucket: pieces in order, which keeps it stable. */
static uint32_t place_buckets(deal *self)
{
    uint32_t sum = 0, n_tasks = 0, in_task = 0;
    for (uint32_t bucket = 0; bucket < DEAL; bucket++) {
        self->start[bucket] = sum;
        for (uint32_t i = 0; i < self->n_pieces; i++) {
            uint32_t *at = &self->at[(size_t)i * DEAL + bucket];
            const uint32_t count = *at;
            *at = sum;
            sum += count;
        }
        if (bucket == 0 || in_task >= PIECE / 4) {
            self->task[n_tasks++] = bucket;
            in_task = 0;
        }
        in_task += sum - self->start[bucket];
    }
    self->start[DEAL] = sum;
    self->task[n_tasks] = DEAL;
    return n_tasks;
}

static alm_status sort_big(const sorter *self, alm_workers *workers, uint32_t key, uint32_t level,
                           alm_sort_item *item, alm_sort_item *spare, uint32_t n);
static alm_status sort_big_codes(deal *self);

/* Rows of equal codes, many of them perhaps. */
static alm_status big_tie(const deal *self, alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    const sorter *r = self->r;
    if (n <= BIG)
        return sort_tie(r, self->key, self->level, item, spare, n);
    switch (after_level(r, self->key, self->level, item, n)) {
    case TIE_VALUE_GOES_ON:
        return sort_big(r, self->workers, self->key, self->level + 1, item, spare, n);
    case TIE_COMPARE:
        return merge_sort(r, self->key, item, spare, n);
    case TIE_VALUE_ENDS:
        break;
    }
    return self->key + 1 == r->n_keys
               ? ALM_OK
               : sort_big(r, self->workers, self->key + 1, 0, item, spare, n);
}

static alm_status big_ties(const deal *self)
{
    if (codes_decide(self->r, self->key))
        return ALM_OK;
    for (uint32_t lo = 0, hi = 0; lo < self->n; lo = hi) {
        for (hi = lo + 1; hi < self->n && self->item[hi].code == self->item[lo].code;)
            hi++;
        if (hi - lo > 1)
            ALM_TRY(big_tie(self, self->item + lo, self->spare + lo, hi - lo));
    }
    return ALM_OK;
}

static alm_status deal_new(const deal *like, alm_sort_item *item, alm_sort_item *spare, uint32_t n,
                           deal *self)
{
    alm_ctx *cx = like->r->cx;
    *self = (deal){.r = like->r,
                   .workers = like->workers,
                   .slot = like->slot,
                   .n_slots = like->n_slots,
                   .key = like->key,
                   .level = like->level,
                   .item = item,
                   .spare = spare,
                   .n = n,
                   .n_pieces = (n + PIECE - 1) / PIECE};
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n_pieces, &self->least));
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n_pieces, &self->most));
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n_pieces, &self->rises));
    return ALM_OK;
}

/* A range of known least and greatest code: dealt, then bucket by bucket. */
static alm_status sort_dealt(deal *self, uint64_t lo, uint64_t hi)
{
    alm_ctx *cx = self->r->cx;
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(hi - lo);
    self->base = lo;
    self->shift = bits > DEAL_BITS ? bits - DEAL_BITS : 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)self->n_pieces * DEAL, &self->at));
    ALM_TRY(ALM_NEWN(cx, cx->arena, DEAL + 1, &self->start));
    ALM_TRY(ALM_NEWN(cx, cx->arena, DEAL + 1, &self->task));
    ALM_TRY(run_steps(self, self->n_pieces, count_piece));
    const uint32_t n_tasks = place_buckets(self);
    ALM_TRY(run_steps(self, self->n_pieces, deal_piece));
    ALM_TRY(run_steps(self, n_tasks, sort_buckets));
    for (uint32_t bucket = 0; bucket < DEAL; bucket++) {
        const uint32_t place = self->start[bucket], n = self->start[bucket + 1] - place;
        deal below;
        if (n <= BIG)
            continue;
        ALM_TRY(deal_new(self, self->item + place, self->spare + place, n, &below));
        ALM_TRY(sort_big_codes(&below));
    }
    return ALM_OK;
}

/* The codes are there. Every round settles DEAL_BITS bits: the depth is bounded. */
static alm_status sort_big_codes(deal *self)
{
    ALM_TRY(run_steps(self, self->n_pieces, span_piece));
    uint64_t lo = self->least[0], hi = self->most[0];
    bool rises = self->rises[0];
    for (uint32_t i = 1; i < self->n_pieces; i++) {
        const size_t first = (size_t)i * PIECE;
        rises = rises && self->rises[i] && self->item[first - 1].code <= self->item[first].code;
        lo = ALM_MIN(lo, self->least[i]);
        hi = ALM_MAX(hi, self->most[i]);
    }
    return rises ? big_ties(self) : sort_dealt(self, lo, hi);
}

static alm_status sort_big(const sorter *self, alm_workers *workers, uint32_t key, uint32_t level,
                           alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    deal d, like = {.r = self, .workers = workers, .key = key, .level = level, .n_slots = 1};
    if (n <= BIG)
        return sort_by(self, key, level, item, spare, n);
    if (workers != NULL)
        like.n_slots = alm_workers_count(workers);
    ALM_TRY(ALM_NEWN(self->cx, self->cx->arena, like.n_slots, &like.slot));
    ALM_TRY(deal_new(&like, item, spare, n, &d));
    ALM_TRY(run_steps(&d, d.n_pieces, encode_piece));
    return sort_big_codes(&d);
}

alm_status alm_sort_items_on(alm_ctx *cx, alm_workers *workers, const alm_vec *key,
                             const alm_sort_order *order, uint32_t n_keys, alm_sort_item *item,
                             alm_sort_item *spare, uint32_t n_rows)
{
    const sorter self = {.cx = cx, .key = key, .order = order, .n_keys = n_keys};
    if (n_rows < 2 || n_keys == 0)
        return ALM_OK;
    return sort_big(&self, workers, 0, 0, item, spare, n_rows);
}

alm_status alm_sort_items(alm_ctx *cx, const alm_vec *key, const alm_sort_order *order,
                          uint32_t n_keys, alm_sort_item *item, alm_sort_item *spare,
                          uint32_t n_rows)
{
    return alm_sort_items_on(cx, NULL, key, order, n_keys, item, spare, n_rows);
}
