/*
 * ranges.c - see ranges.h.
 *
 * Order       The writer makes `changes` odd, stores with release order, and makes it even. A search loads `changes`,
 *             loads with acquire order, and loads `changes` again: if it has read anything of a change, it sees the odd
 *             number or a later one.
 */
#include "io/ranges.h"

#include <sched.h>
#include <stdlib.h>

typedef struct range {
    _Atomic uintptr_t from;
    _Atomic size_t bytes;
    _Atomic(void *) owner;
} range;

typedef struct alm_ranges_leaf {
    _Atomic uint32_t n;           /* > 0 while it is in the top */
    struct alm_ranges_leaf *next; /* of the spare ones */
    range at[ALM_RANGES_LEAF];    /* ascending */
} leaf;

typedef struct alm_ranges_top {
    struct alm_ranges_top *outgrown;
    uint32_t cap;
    _Atomic uint32_t n;
    _Atomic(leaf *) leaves[]; /* ascending */
} top;

static uintptr_t from_of(const leaf *l, uint32_t i)
{
    return atomic_load_explicit(&l->at[i].from, memory_order_acquire);
}

static leaf *leaf_at(const top *t, uint32_t i)
{
    return atomic_load_explicit(&t->leaves[i], memory_order_acquire);
}

/* The last leaf that begins at or before the address; cap: none. */
static uint32_t find_leaf(const top *t, uintptr_t at)
{
    uint32_t lo = 0, hi = atomic_load_explicit(&t->n, memory_order_acquire);
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (from_of(leaf_at(t, mid), 0) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? t->cap : lo - 1;
}

/* The first range of the leaf that begins behind the address. */
static uint32_t behind(const leaf *l, uintptr_t at)
{
    uint32_t lo = 0, hi = atomic_load_explicit(&l->n, memory_order_acquire);
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (from_of(l, mid) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ------------------------------------------------------------------ searching */

static void *find_once(const alm_ranges *r, uintptr_t at)
{
    const top *t = atomic_load_explicit(&r->top, memory_order_acquire);
    const uint32_t i = t != NULL ? find_leaf(t, at) : 0;
    if (t == NULL || i == t->cap)
        return NULL;
    const leaf *l = leaf_at(t, i);
    const uint32_t next = behind(l, at);
    if (next == 0) /* the leaf has changed meanwhile */
        return NULL;
    const range *found = &l->at[next - 1];
    const uintptr_t from = atomic_load_explicit(&found->from, memory_order_acquire);
    void *owner = atomic_load_explicit(&found->owner, memory_order_acquire);
    return at - from < atomic_load_explicit(&found->bytes, memory_order_acquire) ? owner : NULL;
}

void *alm_ranges_find(alm_ranges *r, const void *at)
{
    for (;;) {
        const uint32_t before = atomic_load_explicit(&r->changes, memory_order_acquire);
        void *owner = before % 2 == 0 ? find_once(r, (uintptr_t)at) : NULL;
        if (before % 2 == 0 && atomic_load_explicit(&r->changes, memory_order_relaxed) == before)
            return owner;
        (void)sched_yield();
    }
}

void *alm_ranges_first(alm_ranges *r, const void *at, size_t bytes)
{
    void *owner = NULL;
    (void)pthread_mutex_lock(&r->lock);
    const top *t = atomic_load(&r->top);
    const uint32_t n = t != NULL ? atomic_load(&t->n) : 0;
    if (n > 0) {
        uint32_t i = find_leaf(t, (uintptr_t)at), k = 0;
        if (i == t->cap)
            i = 0; /* every range begins after `at` */
        else if ((k = behind(leaf_at(t, i), (uintptr_t)at)) > 0 &&
                 from_of(leaf_at(t, i), k - 1) == (uintptr_t)at)
            k--;
        if (k == atomic_load(&leaf_at(t, i)->n)) {
            i++;
            k = 0;
        }
        if (i < n && from_of(leaf_at(t, i), k) - (uintptr_t)at < bytes)
            owner = atomic_load(&leaf_at(t, i)->at[k].owner);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return owner;
}

/* ------------------------------------------------------------------- changing */

static void begin_change(alm_ranges *r)
{
    (void)pthread_mutex_lock(&r->lock);
    const uint32_t before = atomic_fetch_add_explicit(&r->changes, 1, memory_order_acq_rel);
    ALM_ASSERT(before % 2 == 0);
}

static void end_change(alm_ranges *r)
{
    (void)atomic_fetch_add_explicit(&r->changes, 1, memory_order_release);
    (void)pthread_mutex_unlock(&r->lock);
}

static void set_n(_Atomic uint32_t *at, uint32_t n)
{
    atomic_store_explicit(at, n, memory_order_release);
}

static void range_set(range *to, uintptr_t from, size_t bytes, void *owner)
{
    atomic_store_explicit(&to->from, from, memory_order_release);
    atomic_store_explicit(&to->bytes, bytes, memory_order_release);
    atomic_store_explicit(&to->owner, owner, memory_order_release);
}

static void range_copy(range *to, const range *from)
{
    range_set(to, atomic_load_explicit(&from->from, memory_order_relaxed),
              atomic_load_explicit(&from->bytes, memory_order_relaxed),
              atomic_load_explicit(&from->owner, memory_order_relaxed));
}

static leaf *leaf_new(alm_ranges *r)
{
    leaf *l = r->spare;
    if (l == NULL)
        return calloc(1, sizeof *l);
    r->spare = l->next;
    return l;
}

static bool top_room(alm_ranges *r)
{
    top *t = atomic_load(&r->top);
    const uint32_t n = t != NULL ? atomic_load(&t->n) : 0;
    if (t != NULL && n < t->cap)
        return true;
    const uint32_t cap = t != NULL ? t->cap * 2 : 64;
    top *bigger = calloc(1, sizeof *bigger + cap * sizeof bigger->leaves[0]);
    if (bigger == NULL)
        return false;
    bigger->outgrown = t;
    bigger->cap = cap;
    for (uint32_t i = 0; i < n; i++)
        atomic_store(&bigger->leaves[i], leaf_at(t, i));
    set_n(&bigger->n, n);
    atomic_store(&r->top, bigger);
    return true;
}

static void put_leaf(top *t, uint32_t at, leaf *l)
{
    const uint32_t n = atomic_load(&t->n);
    for (uint32_t i = n; i > at; i--)
        atomic_store_explicit(&t->leaves[i], leaf_at(t, i - 1), memory_order_release);
    atomic_store_explicit(&t->leaves[at], l, memory_order_release);
    set_n(&t->n, n + 1);
}

/* Moves the upper half of a full leaf to a new leaf, which follows it. */
static bool split(alm_ranges *r, uint32_t at)
{
    enum { HALF = ALM_RANGES_LEAF / 2 };
    leaf *right = leaf_new(r);
    if (right == NULL)
        return false;
    leaf *left = leaf_at(atomic_load(&r->top), at);
    for (uint32_t i = 0; i < HALF; i++)
        range_copy(&right->at[i], &left->at[HALF + i]);
    set_n(&right->n, HALF);
    set_n(&left->n, HALF);
    put_leaf(atomic_load(&r->top), at + 1, right);
    return true;
}

static void leaf_put(leaf *l, uintptr_t from, size_t bytes, void *owner)
{
    const uint32_t n = atomic_load(&l->n), at = behind(l, from);
    ALM_ASSERT(n < ALM_RANGES_LEAF);
    ALM_ASSERT(at == 0 || from - from_of(l, at - 1) >= atomic_load(&l->at[at - 1].bytes));
    ALM_ASSERT(at == n || from_of(l, at) - from >= bytes);
    for (uint32_t i = n; i > at; i--)
        range_copy(&l->at[i], &l->at[i - 1]);
    range_set(&l->at[at], from, bytes, owner);
    set_n(&l->n, n + 1);
}

static bool add_locked(alm_ranges *r, uintptr_t from, size_t bytes, void *owner)
{
    if (!top_room(r))
        return false;
    top *t = atomic_load(&r->top);
    uint32_t i = find_leaf(t, from);
    if (atomic_load(&t->n) == 0) {
        leaf *first = leaf_new(r);
        if (first == NULL)
            return false;
        set_n(&first->n, 0);
        leaf_put(first, from, bytes, owner);
        put_leaf(t, 0, first);
        return true;
    }
    if (i == t->cap)
        i = 0;
    if (atomic_load(&leaf_at(t, i)->n) == ALM_RANGES_LEAF) {
        if (!split(r, i))
            return false;
        i += from_of(leaf_at(t, i + 1), 0) <= from;
    }
    leaf_put(leaf_at(t, i), from, bytes, owner);
    return true;
}

bool alm_ranges_add(alm_ranges *r, const void *at, size_t bytes, void *owner)
{
    ALM_ASSERT(bytes > 0);
    ALM_ASSERT(owner != NULL);
    begin_change(r);
    const bool done = add_locked(r, (uintptr_t)at, bytes, owner);
    end_change(r);
    return done;
}

void alm_ranges_remove(alm_ranges *r, const void *at)
{
    begin_change(r);
    top *t = atomic_load(&r->top);
    ALM_ASSERT(t != NULL);
    const uint32_t i = find_leaf(t, (uintptr_t)at);
    ALM_ASSERT(i < t->cap);
    leaf *l = leaf_at(t, i);
    const uint32_t k = behind(l, (uintptr_t)at), n = atomic_load(&l->n);
    ALM_ASSERT(k > 0 && from_of(l, k - 1) == (uintptr_t)at);
    for (uint32_t m = k; m < n; m++)
        range_copy(&l->at[m - 1], &l->at[m]);
    if (n > 1) {
        set_n(&l->n, n - 1);
    } else {
        const uint32_t leaves = atomic_load(&t->n);
        for (uint32_t m = i + 1; m < leaves; m++)
            atomic_store_explicit(&t->leaves[m - 1], leaf_at(t, m), memory_order_release);
        set_n(&t->n, leaves - 1);
        set_n(&l->n, 0);
        l->next = r->spare;
        r->spare = l;
    }
    end_change(r);
}

void alm_ranges_deinit(alm_ranges *r)
{
    top *t = atomic_load(&r->top);
    for (uint32_t i = 0; t != NULL && i < atomic_load(&t->n); i++)
        free(leaf_at(t, i));
    for (top *next = NULL; t != NULL; t = next) {
        next = t->outgrown;
        free(t);
    }
    for (leaf *l = r->spare, *next = NULL; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    atomic_store(&r->top, NULL);
    r->spare = NULL;
    (void)pthread_mutex_destroy(&r->lock);
}
