/*
 * lanes.c - where rows go in the head of a table, and merging when there are too many lanes.
 *
 * Rows go to the first lane (that is not frozen) whose newest row is not newer than they are, and behind
 * which no lane may hold their time. For rows of equal time that keeps the order of arrival: a later row never
 * goes to an earlier lane. Lanes that rows were put into end ever earlier, but the lane that recovery puts behind
 * them may end later. In a dedup table rows go to the first lane behind all lanes that may hold their time, or to
 * the last of these if their time is its newest and their keys are not there yet.
 */
#include <stdlib.h>

#include "storage/state.h"
#include "storage/version/head.h"
#include "storage/version/merge.h"
#include "storage/version/team.h"

/* What is merged at once: as many rows as cost little beside the commit (a row is copied in some 10 ns, a
 * commit waits for a sync of 50 us and more), and so many times the rows of the newest lane, so that each
 * late row pays for as many copies at the most. */
enum { MERGE_ROWS_MIN = 1024, MERGE_FACTOR = 8 };

static const int64_t *times_of(const alm_version *v, const alm_chunk *chunk)
{
    return v->table.ts_col < 0 ? NULL : chunk->cols[v->table.ts_col];
}

uint32_t alm_chunk_next_cap(const alm_schema *schema, uint32_t last_cap, uint32_t rows)
{
    const uint32_t width = ALM_MAX(schema->row_bytes, 1U);
    const uint32_t by_bytes = ALM_MAX((uint32_t)ALM_CHUNK_BYTES_MAX / width, 256U);
    const uint32_t first =
        ALM_MAX(ALM_MIN((64U << 10) / width, (uint32_t)ALM_CHUNK_ROWS_FIRST), 16U);
    const uint32_t most = ALM_MIN(by_bytes, (uint32_t)ALM_CHUNK_ROWS_MAX);
    uint32_t cap = last_cap == 0 ? first : ALM_MIN(last_cap, most) * 2;
    while (cap < rows && cap < most)
        cap *= 2;
    return ALM_MIN(cap, most);
}

alm_status alm_lane_append(alm_ctx *cx, const alm_version *v, alm_lane *lane, alm_chunk *rows,
                           uint32_t from, uint32_t n)
{
    const int64_t *ts = times_of(v, rows);
    const uint32_t total = n, start = from;
    alm_lane_chunk *chunks = realloc(lane->chunks, (lane->n_chunks + 2 + n / 256) * sizeof *chunks);
    if (chunks == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the head of table '%s'",
                        v->table.name);
    lane->chunks = chunks;
    if (from == 0 && n >= ALM_ADOPT_ROWS && n == rows->cap && rows->schema == v->schema &&
        !rows->borrowed) {
        chunks[lane->n_chunks++] = (alm_lane_chunk){alm_chunk_retain(rows), n};
        n = 0;
    }
    while (n > 0) {
        alm_lane_chunk *last = lane->n_chunks > 0 ? &chunks[lane->n_chunks - 1] : NULL;
        if (last == NULL || last->rows == last->chunk->cap ||
            last->chunk->n_cols != v->schema->n_cols) {
            alm_chunk *fresh = NULL;
            ALM_TRY(alm_chunk_new(
                cx, v->schema,
                alm_chunk_next_cap(v->schema, last == NULL ? 0 : last->chunk->cap, n), &fresh));
            chunks[lane->n_chunks++] = (alm_lane_chunk){fresh, 0};
            last = &chunks[lane->n_chunks - 1];
        }
        const uint32_t piece = ALM_MIN(n, last->chunk->cap - last->rows);
        ALM_TRY(alm_chunk_copy(cx, last->chunk, last->rows, &rows, 1, NULL, from, piece));
        last->rows += piece;
        from += piece;
        n -= piece;
    }
    const int64_t lo = ts == NULL ? 0 : ts[start], hi = ts == NULL ? 0 : ts[start + total - 1];
    lane->min_ts = lane->rows == 0 ? lo : ALM_MIN(lane->min_ts, lo);
    lane->max_ts = hi;
    lane->rows += total;
    return ALM_OK;
}

/* First row with ts >= bound (or > bound). */
static uint32_t search(const int64_t *ts, uint32_t n, int64_t bound, bool above)
{
    uint32_t lo = 0;
    while (lo < n) {
        const uint32_t mid = lo + (n - lo) / 2;
        if (ts[mid] < bound || (above && ts[mid] == bound))
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* Do rows [from, to) of one time repeat keys of the rows of that time at the end of the lane? */
static alm_status repeats_tail(alm_ctx *cx, const alm_version *v, const alm_lane *lane,
                               alm_chunk *rows, uint32_t from, uint32_t to, bool *repeats)
{
    const int64_t t = times_of(v, rows)[from];
    int64_t tail = 0;
    uint32_t n_chunks = 0;
    for (uint32_t i = lane->n_chunks; i-- > 0;) {
        const alm_lane_chunk *c = &lane->chunks[i];
        const uint32_t first = search(times_of(v, c->chunk), c->rows, t, false);
        tail += c->rows - first;
        n_chunks++;
        if (first > 0)
            break;
    }
    alm_chunk **chunks = NULL;
    uint64_t *order = NULL;
    const int64_t total = tail + (to - from);
    ALM_TRY(alm_heap_bytes(cx, (n_chunks + 1) * sizeof(alm_chunk *), "dedup", &chunks));
    alm_status st = alm_heap_bytes(cx, (size_t)total * sizeof *order, "dedup", &order);
    if (st == ALM_OK) {
        int64_t at = 0;
        for (uint32_t s = 0; s < n_chunks; s++) {
            const alm_lane_chunk *c = &lane->chunks[lane->n_chunks - n_chunks + s];
            chunks[s] = c->chunk;
            for (uint32_t i = search(times_of(v, c->chunk), c->rows, t, false); i < c->rows; i++)
                order[at++] = (uint64_t)s << 32 | i;
        }
        chunks[n_chunks] = rows;
        for (uint32_t i = from; i < to; i++)
            order[at++] = (uint64_t)n_chunks << 32 | i;
        int64_t kept = total;
        st = alm_head_dedup(cx, &v->table, chunks, n_chunks + 1, order, total, &kept);
        *repeats = kept < total;
    }
    free((void *)chunks);
    free(order);
    return st;
}

/* Where the rows begin that belong to lane i (or any before it); the rest goes further. */
static alm_status boundary(alm_ctx *cx, const alm_version *v, uint32_t i, alm_chunk *rows,
                           uint32_t n, uint32_t *out)
{
    const int64_t *ts = times_of(v, rows);
    if (ts == NULL) { /* no time: all rows in one lane */
        *out = 0;
        return ALM_OK;
    }
    int64_t newest = v->lanes[i].max_ts; /* of this lane and all behind it */
    for (uint32_t k = i + 1; k < v->n_lanes; k++)
        newest = ALM_MAX(newest, v->lanes[k].max_ts);
    bool behind = false; /* do lanes behind this one hold the newest time? */
    for (uint32_t k = i + 1; k < v->n_lanes; k++)
        behind |= v->lanes[k].max_ts >= newest;
    if (!v->table.dedup) {
        *out = search(ts, n, newest, behind);
        return ALM_OK;
    }
    const uint32_t above = search(ts, n, newest, true);
    const uint32_t equal = search(ts, n, newest, false);
    bool repeats = true;
    if (equal < above && !behind)
        ALM_TRY(repeats_tail(cx, v, &v->lanes[i], rows, equal, above, &repeats));
    *out = repeats ? above : equal;
    return ALM_OK;
}

/* ---------------------------------------------------------------------- merging */

static void merge_order(const alm_version *v, const alm_lane *a, const alm_lane *b, uint64_t *order)
{
    /* Each lane is sorted, so two cursors do; ties go to the earlier lane. */
    uint32_t ca = 0, ra = 0, cb = 0, rb = 0;
    const int64_t total = a->rows + b->rows;
    for (int64_t i = 0; i < total; i++) {
        bool left = cb == b->n_chunks;
        if (!left && ca < a->n_chunks)
            left = times_of(v, a->chunks[ca].chunk)[ra] <= times_of(v, b->chunks[cb].chunk)[rb];
        if (left) {
            order[i] = (uint64_t)ca << 32 | ra;
            if (++ra == a->chunks[ca].rows) {
                ca++;
                ra = 0;
            }
        } else {
            order[i] = (uint64_t)(a->n_chunks + cb) << 32 | rb;
            if (++rb == b->chunks[cb].rows) {
                cb++;
                rb = 0;
            }
        }
    }
}

/* The chunks of a lane of n rows, which have no rows yet. */
static alm_status empty_chunks(alm_ctx *cx, const alm_version *v, int64_t n, uint32_t most,
                               alm_lane *out)
{
    const uint32_t n_chunks = (uint32_t)((n + most - 1) / most);
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *out->chunks, "a list of chunks", &out->chunks));
    for (int64_t at = 0; at < n; at += most) {
        const uint32_t piece = (uint32_t)ALM_MIN(n - at, (int64_t)most);
        alm_chunk *chunk = NULL;
        ALM_TRY(alm_chunk_new(cx, v->schema, piece, &chunk));
        out->chunks[out->n_chunks++] = (alm_lane_chunk){chunk, piece};
    }
    out->rows = n;
    return ALM_OK;
}

static alm_status fill_in_turn(alm_ctx *cx, const alm_sources *from, const uint64_t *order,
                               const alm_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_chunks; i++) {
        const alm_lane_chunk *c = &lane->chunks[i];
        ALM_TRY(alm_sources_copy(cx, from, c->chunk, 0, order, 0, c->rows));
        order += c->rows;
    }
    return ALM_OK;
}

typedef struct filling {
    const alm_sources *from;
    const uint64_t *order;
    const alm_lane *lane;
    uint32_t most; /* rows of all chunks but the last one */
    alm_scatter members[ALM_TEAM_MAX];
} filling;

static alm_status fill_chunk(alm_ctx *cx, void *arg, uint32_t member, uint32_t i)
{
    filling *f = arg;
    const alm_lane_chunk *c = &f->lane->chunks[i];
    if (f->members[member].rows_max == 0)
        ALM_TRY(alm_scatter_new(cx, f->from, f->most, &f->members[member]));
    return alm_sources_scatter(cx, f->from, &f->members[member], c->chunk,
                               f->order + (size_t)i * f->most, c->rows);
}

static alm_status fill_mixed(alm_ctx *cx, const alm_sources *from, const uint64_t *order,
                             uint32_t most, uint32_t threads, const alm_lane *lane)
{
    filling f = {.from = from, .order = order, .lane = lane, .most = most};
    const alm_status e = alm_team_run(cx, threads, lane->n_chunks, fill_chunk, &f);
    for (uint32_t m = 0; m < ALM_TEAM_MAX; m++)
        alm_scatter_free(&f.members[m]);
    return e;
}

alm_status alm_lane_fill(alm_ctx *cx, const alm_version *v, alm_chunk *const *sources,
                         uint32_t n_sources, const uint64_t *order, int64_t n, uint32_t mixed,
                         alm_lane *out)
{
    const uint32_t most = alm_chunk_next_cap(v->schema, ALM_CHUNK_ROWS_MAX, ALM_CHUNK_ROWS_MAX);
    alm_sources from;
    ALM_TRY(alm_sources_new(cx, v->schema, sources, n_sources, &from));
    alm_status e = empty_chunks(cx, v, n, most, out);
    if (e == ALM_OK)
        e = mixed == 0 ? fill_in_turn(cx, &from, order, out)
                       : fill_mixed(cx, &from, order, most, mixed, out);
    alm_sources_free(&from);
    return e;
}

/*
 * First chunk of lane i that a merge with the next lane takes: the first with rows that come behind any
 * of its rows, and chunks before that are small beside what is merged, lest they become many. *rows: of
 * the merged lane.
 */
static uint32_t merge_start(const alm_version *v, uint32_t i, int64_t *rows)
{
    const alm_lane *a = &v->lanes[i], *b = &v->lanes[i + 1];
    uint32_t k = 0;
    int64_t n = b->rows;
    for (; k < a->n_chunks; k++) {
        const alm_lane_chunk *c = &a->chunks[k];
        if (times_of(v, c->chunk)[c->rows - 1] >= b->min_ts)
            break;
    }
    for (uint32_t c = k; c < a->n_chunks; c++)
        n += a->chunks[c].rows;
    for (; k > 0 && a->chunks[k - 1].rows < ALM_MIN(n, (int64_t)ALM_CHUNK_ROWS_MAX / 2); k--)
        n += a->chunks[k - 1].rows;
    *rows = n;
    return k;
}

/* The chunks of lane i before `start`, then the merged ones. */
static alm_status join_chunks(alm_ctx *cx, alm_version *v, uint32_t i, uint32_t start,
                              alm_lane *merged)
{
    const alm_lane *a = &v->lanes[i];
    alm_lane_chunk *chunks = NULL;
    ALM_TRY(alm_heap_bytes(cx, (start + merged->n_chunks) * sizeof *chunks, "a list of chunks",
                           &chunks));
    for (uint32_t c = 0; c < start; c++) {
        chunks[c] = a->chunks[c];
        (void)alm_chunk_retain(chunks[c].chunk);
        merged->rows += chunks[c].rows;
    }
    if (merged->n_chunks > 0)
        memcpy(chunks + start, merged->chunks, merged->n_chunks * sizeof *chunks);
    free(merged->chunks);
    merged->chunks = chunks;
    merged->n_chunks += start;
    return ALM_OK;
}

/* Lanes i and i + 1 become one. What comes before all of lane i + 1 is shared, not copied. */
static alm_status merge_pair(alm_ctx *cx, alm_version *v, uint32_t i)
{
    int64_t n = 0;
    const uint32_t start = merge_start(v, i, &n);
    const alm_lane *a = &v->lanes[i], *b = &v->lanes[i + 1];
    const alm_lane tail = {
        .chunks = a->chunks + start, .n_chunks = a->n_chunks - start, .rows = n - b->rows};
    const uint32_t n_sources = tail.n_chunks + b->n_chunks;
    alm_chunk **sources = NULL;
    uint64_t *order = NULL;
    alm_lane merged = {.min_ts = ALM_MIN(a->min_ts, b->min_ts),
                       .max_ts = ALM_MAX(a->max_ts, b->max_ts)};
    ALM_TRY(alm_heap_bytes(cx, n_sources * sizeof *sources, "a merge", &sources));
    alm_status st = alm_heap_bytes(cx, (size_t)n * sizeof *order, "a merge", &order);
    if (st == ALM_OK)
        merge_order(v, &tail, b, order);
    for (uint32_t s = 0; s < n_sources && st == ALM_OK; s++)
        sources[s] = s < tail.n_chunks ? tail.chunks[s].chunk : b->chunks[s - tail.n_chunks].chunk;
    if (st == ALM_OK && v->table.dedup)
        st = alm_head_dedup(cx, &v->table, sources, n_sources, order, n, &n);
    if (st == ALM_OK)
        st = alm_lane_fill(cx, v, sources, n_sources, order, n, 0, &merged);
    free((void *)sources);
    free(order);
    if (st == ALM_OK)
        st = join_chunks(cx, v, i, start, &merged);
    if (st != ALM_OK) {
        alm_lanes_clear(&merged, 1);
        return st;
    }
    alm_lanes_clear(&v->lanes[i], 2);
    v->lanes[i] = merged;
    memmove(&v->lanes[i + 1], &v->lanes[i + 2], (v->n_lanes - i - 2) * sizeof *v->lanes);
    v->n_lanes--;
    return ALM_OK;
}

alm_status alm_lanes_merge(alm_ctx *cx, alm_version *v, int64_t rows)
{
    while (v->n_lanes - v->n_frozen > 1) {
        const int64_t newest = v->lanes[v->n_lanes - 1].rows;
        int64_t cost = 0;
        (void)merge_start(v, v->n_lanes - 2, &cost);
        if (cost > ALM_MAX(rows, MERGE_ROWS_MIN + newest * MERGE_FACTOR))
            break;
        ALM_TRY(merge_pair(cx, v, v->n_lanes - 2));
    }
    return ALM_OK;
}

static alm_status merge_smallest(alm_ctx *cx, alm_version *v)
{
    uint32_t best = v->n_frozen;
    for (uint32_t i = v->n_frozen; i + 1 < v->n_lanes; i++)
        if (v->lanes[i].rows + v->lanes[i + 1].rows < v->lanes[best].rows + v->lanes[best + 1].rows)
            best = i;
    return merge_pair(cx, v, best);
}

alm_status alm_lanes_settle(alm_ctx *cx, alm_version *v)
{
    const alm_lane *last = &v->lanes[v->n_lanes - 1];
    alm_status st = alm_lanes_merge(cx, v, last->rows * MERGE_FACTOR);
    if (st == ALM_OK && v->n_lanes - v->n_frozen > ALM_LANES_MAX)
        st = merge_smallest(cx, v);
    return st;
}

alm_status alm_version_append(alm_ctx *cx, const alm_version *v, alm_chunk *rows, uint32_t n,
                              uint64_t lsn, alm_version **out)
{
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, v, 1, &next));
    alm_status st = ALM_OK;
    const uint32_t had = next->n_lanes, came = n;
    for (uint32_t i = next->n_frozen; i < had && n > 0 && st == ALM_OK; i++) {
        uint32_t from = n;
        st = boundary(cx, next, i, rows, n, &from);
        if (st == ALM_OK && from < n)
            st = alm_lane_append(cx, next, &next->lanes[i], rows, from, n - from);
        n = from;
    }
    if (st == ALM_OK && n > 0) {
        st = alm_lane_append(cx, next, &next->lanes[next->n_lanes], rows, 0, n);
        next->n_lanes++; /* also when it failed: the release frees it */
    }
    if (st == ALM_OK)
        st = alm_lanes_merge(cx, next, (int64_t)came * MERGE_FACTOR);
    if (st == ALM_OK && next->n_lanes - next->n_frozen > ALM_LANES_MAX)
        st = merge_smallest(cx, next);
    if (st != ALM_OK) {
        alm_version_release(next);
        return st;
    }
    next->lsn = lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}
