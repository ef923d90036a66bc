/*
 * merge.c - k-way merge by a heap that hands out whole runs: as long as the source on top stays
 * ahead of the next one, its rows are taken without touching the heap.
 */
#include "storage/version/merge.h"

static inline bool version_merge_before(const alm_merge *merge, uint32_t a, uint32_t b)
{
    const int64_t ta = merge->srcs[a].ts[merge->srcs[a].lo],
                  tb = merge->srcs[b].ts[merge->srcs[b].lo];
    return ta < tb || (ta == tb && a < b);
}

static void version_merge_sift_down(alm_merge *merge, uint32_t place)
{
    for (;;) {
        uint32_t least = 2 * place + 1;
        if (least >= merge->n)
            return;
        if (least + 1 < merge->n &&
            version_merge_before(merge, merge->heap[least + 1], merge->heap[least]))
            least++;
        if (!version_merge_before(merge, merge->heap[least], merge->heap[place]))
            return;
        const uint32_t swap = merge->heap[place];
        merge->heap[place] = merge->heap[least];
        merge->heap[least] = swap;
        place = least;
    }
}

void alm_merge_init(alm_merge *merge, alm_merge_src *srcs, uint32_t n_srcs, uint32_t *heap)
{
    *merge = (alm_merge){.srcs = srcs, .heap = heap};
    for (uint32_t i = 0; i < n_srcs; i++) {
        ALM_DASSERT(srcs[i].hi <= UINT32_MAX);
        if (srcs[i].lo < srcs[i].hi)
            heap[merge->n++] = i;
    }
    for (uint32_t place = merge->n / 2; place-- > 0;)
        version_merge_sift_down(merge, place);
}

/* Rows of `src` up to the turn of another source, which starts at `limit` (inclusive: rows of equal
 * time are still before it). */
static int64_t version_merge_run_length(const alm_merge_src *src, int64_t limit, bool inclusive,
                                        int64_t max)
{
    const int64_t end = src->hi - src->lo < max ? src->hi : src->lo + max;
    int64_t row = src->lo;
    if (inclusive) {
        while (row < end && src->ts[row] <= limit)
            row++;
    } else {
        while (row < end && src->ts[row] < limit)
            row++;
    }
    return row - src->lo;
}

int64_t alm_merge_next(alm_merge *merge, uint64_t *out, int64_t max)
{
    int64_t done = 0;
    while (done < max && merge->n > 0) {
        const uint32_t top = merge->heap[0];
        alm_merge_src *src = &merge->srcs[top];
        int64_t run = ALM_MIN(src->hi - src->lo, max - done);
        if (merge->n > 1) {
            const uint32_t next =
                merge->n > 2 && version_merge_before(merge, merge->heap[2], merge->heap[1])
                    ? merge->heap[2]
                    : merge->heap[1];
            run = version_merge_run_length(src, merge->srcs[next].ts[merge->srcs[next].lo],
                                           top < next, run);
        }
        ALM_DASSERT(run > 0);
        for (int64_t i = 0; i < run; i++)
            out[done + i] = (uint64_t)top << 32 | (uint64_t)(src->lo + i);
        done += run;
        src->lo += run;
        if (src->lo == src->hi)
            merge->heap[0] = merge->heap[--merge->n];
        version_merge_sift_down(merge, 0);
    }
    return done;
}
