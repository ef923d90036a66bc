/*
 * ranges.c - sets of closed time ranges: sorted, disjoint, not touching.
 */
#include "time/interval.h"

#include <stdlib.h>

static int compare_lo(const void *a, const void *b)
{
    const alm_time_range *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

uint32_t alm_ranges_normalise(alm_time_range *items, uint32_t n_items)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_items; i++)
        if (items[i].lo <= items[i].hi)
            items[kept++] = items[i];
    if (kept < 2)
        return kept;
    qsort(items, kept, sizeof(*items), compare_lo);
    uint32_t last = 0;
    for (uint32_t i = 1; i < kept; i++) {
        if (items[last].hi == INT64_MAX || items[i].lo <= items[last].hi + 1)
            items[last].hi = ALM_MAX(items[last].hi, items[i].hi);
        else
            items[++last] = items[i];
    }
    return last + 1;
}

alm_status alm_ranges_intersect(alm_ctx *cx, alm_arena *arena, const alm_time_ranges *a,
                                const alm_time_ranges *b, alm_time_ranges *out)
{
    alm_time_range *items;
    uint32_t count = 0, i = 0, j = 0;
    ALM_TRY(ALM_NEWN(cx, arena, a->n + b->n + 1, &items));
    while (i < a->n && j < b->n) {
        const int64_t lo = ALM_MAX(a->items[i].lo, b->items[j].lo);
        const int64_t hi = ALM_MIN(a->items[i].hi, b->items[j].hi);
        if (lo <= hi)
            items[count++] = (alm_time_range){lo, hi};
        if (a->items[i].hi < b->items[j].hi)
            i++;
        else
            j++;
    }
    *out = (alm_time_ranges){items, count};
    return ALM_OK;
}

alm_status alm_ranges_union(alm_ctx *cx, alm_arena *arena, const alm_time_ranges *a,
                            const alm_time_ranges *b, alm_time_ranges *out)
{
    alm_time_range *items;
    ALM_TRY(ALM_NEWN(cx, arena, a->n + b->n + 1, &items));
    if (a->n > 0)
        memcpy(items, a->items, a->n * sizeof(*items));
    if (b->n > 0)
        memcpy(items + a->n, b->items, b->n * sizeof(*items));
    *out = (alm_time_ranges){items, alm_ranges_normalise(items, a->n + b->n)};
    return ALM_OK;
}

alm_status alm_ranges_complement(alm_ctx *cx, alm_arena *arena, const alm_time_ranges *ranges,
                                 alm_time_ranges *out)
{
    alm_time_range *items;
    uint32_t count = 0;
    int64_t next = ALM_TS_NULL + 1;
    ALM_TRY(ALM_NEWN(cx, arena, ranges->n + 1, &items));
    for (uint32_t i = 0; i < ranges->n; i++) {
        if (ranges->items[i].lo > next)
            items[count++] = (alm_time_range){next, ranges->items[i].lo - 1};
        if (ranges->items[i].hi == INT64_MAX) {
            *out = (alm_time_ranges){items, count};
            return ALM_OK;
        }
        next = ranges->items[i].hi + 1;
    }
    items[count++] = (alm_time_range){next, INT64_MAX};
    *out = (alm_time_ranges){items, count};
    return ALM_OK;
}

/* First range that ends at or after time. */
static uint32_t time_find_range(const alm_time_ranges *set, int64_t time)
{
    uint32_t lo = 0, hi = set->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (set->items[mid].hi < time)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void alm_ranges_contain(const alm_time_ranges *set, const int64_t *input, size_t n, uint8_t *out)
{
    if (set->n == 1) { /* nearly always: a loop without branches */
        const int64_t lo = ALM_MAX(set->items[0].lo, ALM_TS_NULL + 1), hi = set->items[0].hi;
        for (size_t i = 0; i < n; i++)
            out[i] = input[i] >= lo && input[i] <= hi;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t place = time_find_range(set, input[i]);
        out[i] = input[i] != ALM_TS_NULL && place < set->n && set->items[place].lo <= input[i];
    }
}
