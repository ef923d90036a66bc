/*
 * merge.c - k-way merge by a heap that hands out whole runs: as long as the source on top stays
 * ahead of the next one, its rows are taken without touching the heap.
 */
#include "storage/version/merge.h"

static inline bool before(const alm_merge *m, uint32_t a, uint32_t b)
{
    const int64_t ta = m->srcs[a].ts[m->srcs[a].lo], tb = m->srcs[b].ts[m->srcs[b].lo];
    return ta < tb || (ta == tb && a < b);
}

static void sift_down(alm_merge *m, uint32_t at)
{
    for (;;) {
        uint32_t least = 2 * at + 1;
        if (least >= m->n)
            return;
        if (least + 1 < m->n && before(m, m->heap[least + 1], m->heap[least]))
            least++;
        if (!before(m, m->heap[least], m->heap[at]))
            return;
        const uint32_t swap = m->heap[at];
        m->heap[at] = m->heap[least];
        m->heap[least] = swap;
        at = least;
    }
}

void alm_merge_init(alm_merge *m, alm_merge_src *srcs, uint32_t n_srcs, uint32_t *heap)
{
    *m = (alm_merge){.srcs = srcs, .heap = heap};
    for (uint32_t i = 0; i < n_srcs; i++) {
        ALM_DASSERT(srcs[i].hi <= UINT32_MAX);
        if (srcs[i].lo < srcs[i].hi)
            heap[m->n++] = i;
    }
    for (uint32_t at = m->n / 2; at-- > 0;)
        sift_down(m, at);
}

/* Rows of `src` up to the turn of another source, which starts at `limit` (inclusive: rows of equal
 * time are still before it). */
static int64_t run_length(const alm_merge_src *src, int64_t limit, bool inclusive, int64_t max)
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

int64_t alm_merge_next(alm_merge *m, uint64_t *out, int64_t max)
{
    int64_t done = 0;
    while (done < max && m->n > 0) {
        const uint32_t top = m->heap[0];
        alm_merge_src *src = &m->srcs[top];
        int64_t run = ALM_MIN(src->hi - src->lo, max - done);
        if (m->n > 1) {
            const uint32_t next =
                m->n > 2 && before(m, m->heap[2], m->heap[1]) ? m->heap[2] : m->heap[1];
            run = run_length(src, m->srcs[next].ts[m->srcs[next].lo], top < next, run);
        }
        ALM_DASSERT(run > 0);
        for (int64_t i = 0; i < run; i++)
            out[done + i] = (uint64_t)top << 32 | (uint64_t)(src->lo + i);
        done += run;
        src->lo += run;
        if (src->lo == src->hi)
            m->heap[0] = m->heap[--m->n];
        sift_down(m, 0);
    }
    return done;
}
