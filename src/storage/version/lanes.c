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

static const int64_t *times_of(const alm_version *version, const alm_chunk *chunk)
{
    return version->table.ts_col < 0 ? NULL : chunk->cols[version->table.ts_col];
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

alm_status alm_lane_append(alm_ctx *cx, const alm_version *version, alm_lane *lane, alm_chunk *rows,
                           uint32_t from, uint32_t n)
{
    const int64_t *ts = times_of(version, rows);
    const uint32_t total = n, start = from;
    alm_lane_chunk *chunks = realloc(lane->chunks, (lane->n_chunks + 2 + n / 256) * sizeof *chunks);
    if (chunks == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the head of table '%s'",
                        version->table.name);
    lane->chunks = chunks;
    if (from == 0 && n >= ALM_ADOPT_ROWS && n == rows->cap && rows->schema == version->schema &&
        !rows->borrowed) {
        chunks[lane->n_chunks++] = (alm_lane_chunk){alm_chunk_retain(rows), n};
        n = 0;
    }
    while (n > 0) {
        alm_lane_chunk *last = lane->n_chunks > 0 ? &chunks[lane->n_chunks - 1] : NULL;
        if (last == NULL || last->rows == last->chunk->cap ||
            last->chunk->n_cols != version->schema->n_cols) {
            alm_chunk *fresh = NULL;
            ALM_TRY(alm_chunk_new(
                cx, version->schema,
                alm_chunk_next_cap(version->schema, last == NULL ? 0 : last->chunk->cap, n),
                &fresh));
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
static uint32_t lanes_search(const int64_t *ts, uint32_t n, int64_t bound, bool above)
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
static alm_status repeats_tail(alm_ctx *cx, const alm_version *version, const alm_lane *lane,
                               alm_chunk *rows, uint32_t from, uint32_t to, bool *repeats)
{
    const int64_t time = times_of(version, rows)[from];
    int64_t tail = 0;
    uint32_t n_chunks = 0;
    for (uint32_t i = lane->n_chunks; i-- > 0;) {
        const alm_lane_chunk *chunk = &lane->chunks[i];
        const uint32_t first =
            lanes_search(times_of(version, chunk->chunk), chunk->rows, time, false);
        tail += chunk->rows - first;
        n_chunks++;
        if (first > 0)
            break;
    }
    alm_chunk **chunks = NULL;
    uint64_t *order = NULL;
    const int64_t total = tail + (to - from);
    ALM_TRY(alm_heap_bytes(cx, (n_chunks + 1) * sizeof(alm_chunk *), "dedup", &chunks));
    alm_status status = alm_heap_bytes(cx, (size_t)total * sizeof *order, "dedup", &order);
    if (status == ALM_OK) {
        int64_t offset = 0;
        for (uint32_t chunk = 0; chunk < n_chunks; chunk++) {
            const alm_lane_chunk *lane_chunk = &lane->chunks[lane->n_chunks - n_chunks + chunk];
            chunks[chunk] = lane_chunk->chunk;
            for (uint32_t i = lanes_search(times_of(version, lane_chunk->chunk), lane_chunk->rows,
                                           time, false);
                 i < lane_chunk->rows; i++)
                order[offset++] = (uint64_t)chunk << 32 | i;
        }
        chunks[n_chunks] = rows;
        for (uint32_t i = from; i < to; i++)
            order[offset++] = (uint64_t)n_chunks << 32 | i;
        int64_t kept = total;
        status = alm_head_dedup(cx, &version->table, chunks, n_chunks + 1, order, total, &kept);
        *repeats = kept < total;
    }
    free((void *)chunks);
    free(order);
    return status;
}

/* Where the rows begin that belong to lane i (or any before it); the rest goes further. */
static alm_status lanes_boundary(alm_ctx *cx, const alm_version *version, uint32_t i,
                                 alm_chunk *rows, uint32_t n, uint32_t *out)
{
    const int64_t *ts = times_of(version, rows);
    if (ts == NULL) { /* no time: all rows in one lane */
        *out = 0;
        return ALM_OK;
    }
    int64_t newest = version->lanes[i].max_ts; /* of this lane and all behind it */
    for (uint32_t lane = i + 1; lane < version->n_lanes; lane++)
        newest = ALM_MAX(newest, version->lanes[lane].max_ts);
    bool behind = false; /* do lanes behind this one hold the newest time? */
    for (uint32_t lane = i + 1; lane < version->n_lanes; lane++)
        behind |= version->lanes[lane].max_ts >= newest;
    if (!version->table.dedup) {
        *out = lanes_search(ts, n, newest, behind);
        return ALM_OK;
    }
    const uint32_t above = lanes_search(ts, n, newest, true);
    const uint32_t equal = lanes_search(ts, n, newest, false);
    bool repeats = true;
    if (equal < above && !behind)
        ALM_TRY(repeats_tail(cx, version, &version->lanes[i], rows, equal, above, &repeats));
    *out = repeats ? above : equal;
    return ALM_OK;
}

/* ---------------------------------------------------------------------- merging */

static void merge_order(const alm_version *version, const alm_lane *a, const alm_lane *b,
                        uint64_t *order)
{
    /* Each lane is sorted, so two cursors do; ties go to the earlier lane. */
    uint32_t ca = 0, ra = 0, cb = 0, rb = 0;
    const int64_t total = a->rows + b->rows;
    for (int64_t i = 0; i < total; i++) {
        bool left = cb == b->n_chunks;
        if (!left && ca < a->n_chunks)
            left = times_of(version, a->chunks[ca].chunk)[ra] <=
                   times_of(version, b->chunks[cb].chunk)[rb];
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
static alm_status empty_chunks(alm_ctx *cx, const alm_version *version, int64_t n, uint32_t most,
                               alm_lane *out)
{
    const uint32_t n_chunks = (uint32_t)((n + most - 1) / most);
    ALM_TRY(alm_heap_bytes(cx, n_chunks * sizeof *out->chunks, "a list of chunks", &out->chunks));
    for (int64_t offset = 0; offset < n; offset += most) {
        const uint32_t piece = (uint32_t)ALM_MIN(n - offset, (int64_t)most);
        alm_chunk *chunk = NULL;
        ALM_TRY(alm_chunk_new(cx, version->schema, piece, &chunk));
        out->chunks[out->n_chunks++] = (alm_lane_chunk){chunk, piece};
    }
    out->rows = n;
    return ALM_OK;
}

static alm_status fill_in_turn(alm_ctx *cx, const alm_sources *from, const uint64_t *order,
                               const alm_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_chunks; i++) {
        const alm_lane_chunk *chunk = &lane->chunks[i];
        ALM_TRY(alm_sources_copy(cx, from, chunk->chunk, 0, order, 0, chunk->rows));
        order += chunk->rows;
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
    filling *self = arg;
    const alm_lane_chunk *chunk = &self->lane->chunks[i];
    if (self->members[member].rows_max == 0)
        ALM_TRY(alm_scatter_new(cx, self->from, self->most, &self->members[member]));
    return alm_sources_scatter(cx, self->from, &self->members[member], chunk->chunk,
                               self->order + (size_t)i * self->most, chunk->rows);
}

static alm_status fill_mixed(alm_ctx *cx, const alm_sources *from, const uint64_t *order,
                             uint32_t most, uint32_t threads, const alm_lane *lane)
{
    filling self = {.from = from, .order = order, .lane = lane, .most = most};
    const alm_status status = alm_team_run(cx, threads, lane->n_chunks, fill_chunk, &self);
    for (uint32_t m = 0; m < ALM_TEAM_MAX; m++)
        alm_scatter_free(&self.members[m]);
    return status;
}

alm_status alm_lane_fill(alm_ctx *cx, const alm_version *version, alm_chunk *const *sources,
                         uint32_t n_sources, const uint64_t *order, int64_t n, uint32_t mixed,
                         alm_lane *out)
{
    const uint32_t most =
        alm_chunk_next_cap(version->schema, ALM_CHUNK_ROWS_MAX, ALM_CHUNK_ROWS_MAX);
    alm_sources from;
    ALM_TRY(alm_sources_new(cx, version->schema, sources, n_sources, &from));
    alm_status status = empty_chunks(cx, version, n, most, out);
    if (status == ALM_OK)
        status = mixed == 0 ? fill_in_turn(cx, &from, order, out)
                            : fill_mixed(cx, &from, order, most, mixed, out);
    alm_sources_free(&from);
    return status;
}

/*
 * First chunk of lane i that a merge with the next lane takes: the first with rows that come behind any
 * of its rows, and chunks before that are small beside what is merged, lest they become many. *rows: of
 * the merged lane.
 */
static uint32_t merge_start(const alm_version *version, uint32_t i, int64_t *rows)
{
    const alm_lane *a = &version->lanes[i], *b = &version->lanes[i + 1];
    uint32_t k = 0;
    int64_t n_rows = b->rows;
    for (; k < a->n_chunks; k++) {
        const alm_lane_chunk *chunk = &a->chunks[k];
        if (times_of(version, chunk->chunk)[chunk->rows - 1] >= b->min_ts)
            break;
    }
    for (uint32_t chunk = k; chunk < a->n_chunks; chunk++)
        n_rows += a->chunks[chunk].rows;
    for (; k > 0 && a->chunks[k - 1].rows < ALM_MIN(n_rows, (int64_t)ALM_CHUNK_ROWS_MAX / 2); k--)
        n_rows += a->chunks[k - 1].rows;
    *rows = n_rows;
    return k;
}

/* The chunks of lane i before `start`, then the merged ones. */
static alm_status join_chunks(alm_ctx *cx, alm_version *version, uint32_t i, uint32_t start,
                              alm_lane *merged)
{
    const alm_lane *lane = &version->lanes[i];
    alm_lane_chunk *chunks = NULL;
    ALM_TRY(alm_heap_bytes(cx, (start + merged->n_chunks) * sizeof *chunks, "a list of chunks",
                           &chunks));
    for (uint32_t c = 0; c < start; c++) {
        chunks[c] = lane->chunks[c];
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
static alm_status merge_pair(alm_ctx *cx, alm_version *version, uint32_t i)
{
    int64_t n = 0;
    const uint32_t start = merge_start(version, i, &n);
    const alm_lane *a = &version->lanes[i], *b = &version->lanes[i + 1];
    const alm_lane tail = {
        .chunks = a->chunks + start, .n_chunks = a->n_chunks - start, .rows = n - b->rows};
    const uint32_t n_sources = tail.n_chunks + b->n_chunks;
    alm_chunk **sources = NULL;
    uint64_t *order = NULL;
    alm_lane merged = {.min_ts = ALM_MIN(a->min_ts, b->min_ts),
                       .max_ts = ALM_MAX(a->max_ts, b->max_ts)};
    ALM_TRY(alm_heap_bytes(cx, n_sources * sizeof *sources, "a merge", &sources));
    alm_status status = alm_heap_bytes(cx, (size_t)n * sizeof *order, "a merge", &order);
    if (status == ALM_OK)
        merge_order(version, &tail, b, order);
    for (uint32_t source = 0; source < n_sources && status == ALM_OK; source++)
        sources[source] = source < tail.n_chunks ? tail.chunks[source].chunk
                                                 : b->chunks[source - tail.n_chunks].chunk;
    if (status == ALM_OK && version->table.dedup)
        status = alm_head_dedup(cx, &version->table, sources, n_sources, order, n, &n);
    if (status == ALM_OK)
        status = alm_lane_fill(cx, version, sources, n_sources, order, n, 0, &merged);
    free((void *)sources);
    free(order);
    if (status == ALM_OK)
        status = join_chunks(cx, version, i, start, &merged);
    if (status != ALM_OK) {
        alm_lanes_clear(&merged, 1);
        return status;
    }
    alm_lanes_clear(&version->lanes[i], 2);
    version->lanes[i] = merged;
    memmove(&version->lanes[i + 1], &version->lanes[i + 2],
            (version->n_lanes - i - 2) * sizeof *version->lanes);
    version->n_lanes--;
    return ALM_OK;
}

alm_status alm_lanes_merge(alm_ctx *cx, alm_version *version, int64_t rows)
{
    while (version->n_lanes - version->n_frozen > 1) {
        const int64_t newest = version->lanes[version->n_lanes - 1].rows;
        int64_t cost = 0;
        (void)merge_start(version, version->n_lanes - 2, &cost);
        if (cost > ALM_MAX(rows, MERGE_ROWS_MIN + newest * MERGE_FACTOR))
            break;
        ALM_TRY(merge_pair(cx, version, version->n_lanes - 2));
    }
    return ALM_OK;
}

static alm_status merge_smallest(alm_ctx *cx, alm_version *version)
{
    uint32_t best = version->n_frozen;
    for (uint32_t i = version->n_frozen; i + 1 < version->n_lanes; i++)
        if (version->lanes[i].rows + version->lanes[i + 1].rows <
            version->lanes[best].rows + version->lanes[best + 1].rows)
            best = i;
    return merge_pair(cx, version, best);
}

alm_status alm_lanes_settle(alm_ctx *cx, alm_version *version)
{
    const alm_lane *last = &version->lanes[version->n_lanes - 1];
    alm_status status = alm_lanes_merge(cx, version, last->rows * MERGE_FACTOR);
    if (status == ALM_OK && version->n_lanes - version->n_frozen > ALM_LANES_MAX)
        status = merge_smallest(cx, version);
    return status;
}

alm_status alm_version_append(alm_ctx *cx, const alm_version *version, alm_chunk *rows, uint32_t n,
                              uint64_t lsn, alm_version **out)
{
    alm_version *next = NULL;
    ALM_TRY(alm_version_copy(cx, version, 1, &next));
    alm_status status = ALM_OK;
    const uint32_t had = next->n_lanes, came = n;
    for (uint32_t i = next->n_frozen; i < had && n > 0 && status == ALM_OK; i++) {
        uint32_t from = n;
        status = lanes_boundary(cx, next, i, rows, n, &from);
        if (status == ALM_OK && from < n)
            status = alm_lane_append(cx, next, &next->lanes[i], rows, from, n - from);
        n = from;
    }
    if (status == ALM_OK && n > 0) {
        status = alm_lane_append(cx, next, &next->lanes[next->n_lanes], rows, 0, n);
        next->n_lanes++; /* also when it failed: the release frees it */
    }
    if (status == ALM_OK)
        status = alm_lanes_merge(cx, next, (int64_t)came * MERGE_FACTOR);
    if (status == ALM_OK && next->n_lanes - next->n_frozen > ALM_LANES_MAX)
        status = merge_smallest(cx, next);
    if (status != ALM_OK) {
        alm_version_release(next);
        return status;
    }
    next->lsn = lsn;
    alm_version_settle(next);
    *out = next;
    return ALM_OK;
}
