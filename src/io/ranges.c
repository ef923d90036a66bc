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

static uintptr_t io_ranges_from_of(const leaf *element, uint32_t i)
{
    return atomic_load_explicit(&element->at[i].from, memory_order_acquire);
}

static leaf *leaf_at(const top *self, uint32_t i)
{
    return atomic_load_explicit(&self->leaves[i], memory_order_acquire);
}

/* The last leaf that begins at or before the address; cap: none. */
static uint32_t find_leaf(const top *self, uintptr_t at)
{
    uint32_t lo = 0, hi = atomic_load_explicit(&self->n, memory_order_acquire);
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (io_ranges_from_of(leaf_at(self, mid), 0) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? self->cap : lo - 1;
}

/* The first range of the leaf that begins behind the address. */
static uint32_t io_ranges_behind(const leaf *element, uintptr_t at)
{
    uint32_t lo = 0, hi = atomic_load_explicit(&element->n, memory_order_acquire);
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (io_ranges_from_of(element, mid) <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ------------------------------------------------------------------ searching */

static void *find_once(const alm_ranges *ranges, uintptr_t at)
{
    const top *t = atomic_load_explicit(&ranges->top, memory_order_acquire);
    const uint32_t i = t != NULL ? find_leaf(t, at) : 0;
    if (t == NULL || i == t->cap)
        return NULL;
    const leaf *element = leaf_at(t, i);
    const uint32_t next = io_ranges_behind(element, at);
    if (next == 0) /* the leaf has changed meanwhile */
        return NULL;
    const range *found = &element->at[next - 1];
    const uintptr_t from = atomic_load_explicit(&found->from, memory_order_acquire);
    void *owner = atomic_load_explicit(&found->owner, memory_order_acquire);
    return at - from < atomic_load_explicit(&found->bytes, memory_order_acquire) ? owner : NULL;
}

void *alm_ranges_find(alm_ranges *ranges, const void *ptr)
{
    for (;;) {
        const uint32_t before = atomic_load_explicit(&ranges->changes, memory_order_acquire);
        void *owner = before % 2 == 0 ? find_once(ranges, (uintptr_t)ptr) : NULL;
        if (before % 2 == 0 &&
            atomic_load_explicit(&ranges->changes, memory_order_relaxed) == before)
            return owner;
        (void)sched_yield();
    }
}

void *alm_ranges_first(alm_ranges *ranges, const void *ptr, size_t bytes)
{
    void *owner = NULL;
    (void)pthread_mutex_lock(&ranges->lock);
    const top *t = atomic_load(&ranges->top);
    const uint32_t n = t != NULL ? atomic_load(&t->n) : 0;
    if (n > 0) {
        uint32_t i = find_leaf(t, (uintptr_t)ptr), k = 0;
        if (i == t->cap)
            i = 0; /* every range begins after `ptr` */
        else if ((k = io_ranges_behind(leaf_at(t, i), (uintptr_t)ptr)) > 0 &&
                 io_ranges_from_of(leaf_at(t, i), k - 1) == (uintptr_t)ptr)
            k--;
        if (k == atomic_load(&leaf_at(t, i)->n)) {
            i++;
            k = 0;
        }
        if (i < n && io_ranges_from_of(leaf_at(t, i), k) - (uintptr_t)ptr < bytes)
            owner = atomic_load(&leaf_at(t, i)->at[k].owner);
    }
    (void)pthread_mutex_unlock(&ranges->lock);
    return owner;
}

/* ------------------------------------------------------------------- changing */

static void io_ranges_begin_change(alm_ranges *ranges)
{
    (void)pthread_mutex_lock(&ranges->lock);
    const uint32_t before = atomic_fetch_add_explicit(&ranges->changes, 1, memory_order_acq_rel);
    ALM_ASSERT(before % 2 == 0);
}

static void end_change(alm_ranges *ranges)
{
    (void)atomic_fetch_add_explicit(&ranges->changes, 1, memory_order_release);
    (void)pthread_mutex_unlock(&ranges->lock);
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

static leaf *leaf_new(alm_ranges *ranges)
{
    leaf *element = ranges->spare;
    if (element == NULL)
        return calloc(1, sizeof *element);
    ranges->spare = element->next;
    return element;
}

static bool top_room(alm_ranges *ranges)
{
    top *t = atomic_load(&ranges->top);
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
    atomic_store(&ranges->top, bigger);
    return true;
}

static void put_leaf(top *self, uint32_t place, leaf *element)
{
    const uint32_t n = atomic_load(&self->n);
    for (uint32_t i = n; i > place; i--)
        atomic_store_explicit(&self->leaves[i], leaf_at(self, i - 1), memory_order_release);
    atomic_store_explicit(&self->leaves[place], element, memory_order_release);
    set_n(&self->n, n + 1);
}

/* Moves the upper half of a full leaf to a new leaf, which follows it. */
static bool io_ranges_split(alm_ranges *ranges, uint32_t place)
{
    enum { HALF = ALM_RANGES_LEAF / 2 };
    leaf *right = leaf_new(ranges);
    if (right == NULL)
        return false;
    leaf *left = leaf_at(atomic_load(&ranges->top), place);
    for (uint32_t i = 0; i < HALF; i++)
        range_copy(&right->at[i], &left->at[HALF + i]);
    set_n(&right->n, HALF);
    set_n(&left->n, HALF);
    put_leaf(atomic_load(&ranges->top), place + 1, right);
    return true;
}

static void leaf_put(leaf *element, uintptr_t from, size_t bytes, void *owner)
{
    const uint32_t n = atomic_load(&element->n), place = io_ranges_behind(element, from);
    ALM_ASSERT(n < ALM_RANGES_LEAF);
    ALM_ASSERT(place == 0 || from - io_ranges_from_of(element, place - 1) >=
                                 atomic_load(&element->at[place - 1].bytes));
    ALM_ASSERT(place == n || io_ranges_from_of(element, place) - from >= bytes);
    for (uint32_t i = n; i > place; i--)
        range_copy(&element->at[i], &element->at[i - 1]);
    range_set(&element->at[place], from, bytes, owner);
    set_n(&element->n, n + 1);
}

static bool add_locked(alm_ranges *ranges, uintptr_t from, size_t bytes, void *owner)
{
    if (!top_room(ranges))
        return false;
    top *t = atomic_load(&ranges->top);
    uint32_t i = find_leaf(t, from);
    if (atomic_load(&t->n) == 0) {
        leaf *first = leaf_new(ranges);
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
        if (!io_ranges_split(ranges, i))
            return false;
        i += io_ranges_from_of(leaf_at(t, i + 1), 0) <= from;
    }
    leaf_put(leaf_at(t, i), from, bytes, owner);
    return true;
}

bool alm_ranges_add(alm_ranges *ranges, const void *ptr, size_t bytes, void *owner)
{
    ALM_ASSERT(bytes > 0);
    ALM_ASSERT(owner != NULL);
    io_ranges_begin_change(ranges);
    const bool done = add_locked(ranges, (uintptr_t)ptr, bytes, owner);
    end_change(ranges);
    return done;
}

void alm_ranges_remove(alm_ranges *ranges, const void *ptr)
{
    io_ranges_begin_change(ranges);
    top *t = atomic_load(&ranges->top);
    ALM_ASSERT(t != NULL);
    const uint32_t i = find_leaf(t, (uintptr_t)ptr);
    ALM_ASSERT(i < t->cap);
    leaf *element = leaf_at(t, i);
    const uint32_t k = io_ranges_behind(element, (uintptr_t)ptr), n = atomic_load(&element->n);
    ALM_ASSERT(k > 0 && io_ranges_from_of(element, k - 1) == (uintptr_t)ptr);
    for (uint32_t m = k; m < n; m++)
        range_copy(&element->at[m - 1], &element->at[m]);
    if (n > 1) {
        set_n(&element->n, n - 1);
    } else {
        const uint32_t leaves = atomic_load(&t->n);
        for (uint32_t m = i + 1; m < leaves; m++)
            atomic_store_explicit(&t->leaves[m - 1], leaf_at(t, m), memory_order_release);
        set_n(&t->n, leaves - 1);
        set_n(&element->n, 0);
        element->next = ranges->spare;
        ranges->spare = element;
    }
    end_change(ranges);
}

void alm_ranges_deinit(alm_ranges *ranges)
{
    top *t = atomic_load(&ranges->top);
    for (uint32_t i = 0; t != NULL && i < atomic_load(&t->n); i++)
        free(leaf_at(t, i));
    for (top *next = NULL; t != NULL; t = next) {
        next = t->outgrown;
        free(t);
    }
    for (leaf *element = ranges->spare, *next = NULL; element != NULL; element = next) {
        next = element->next;
        free(element);
    }
    atomic_store(&ranges->top, NULL);
    ranges->spare = NULL;
    (void)pthread_mutex_destroy(&ranges->lock);
}
