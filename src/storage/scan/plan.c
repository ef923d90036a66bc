/*
 * plan.c - plans a scan: which rows of which parts and head chunks, in which order.
 *
 * Method      Per range: the sources that reach into it are clipped to pieces by search in their
 *             sorted times. Pieces that share no time with another become direct spans. Where pieces
 *             overlap, the time axis is cut at their ends: stretches with one piece are direct again,
 *             the others are merged, in spans of about 64 k rows so that a reader can start at any.
 * Cost        O(sources that reach into the ranges), found by bisection over the partitions; a source
 *             that lies inside a range whole is not even opened. Merged stretches are searched once
 *             per span.
 */
#include "storage/part/damage.h"
#include "storage/scan/scan.h"

#include <assert.h>
#include <stdlib.h>

typedef struct planner {
    alm_ctx *cx;
    alm_arena *arena;
    const alm_version *v;
    alm_scan *scan;
    bool any_order;
    alm_scan_piece *found; /* pieces of the range at hand */
    size_t n_found, cap_found;
} planner;

/* Ranks: the class in the top bits, below it `seq` of a part, or lane << 32 | chunk. */
enum { CLASS_BITS = 62, CLASS_LANE = 1, CLASS_OPEN = 2 };
static_assert(ALM_SEQ_OPEN == UINT64_C(1) << CLASS_BITS, "a seq and its bit lie below the class");

static bool part_is_open(const alm_part_ref *part)
{
    return (part->seq & ALM_SEQ_OPEN) != 0;
}

static bool lane_is_open(const alm_version *version, uint32_t lane)
{
    return lane >= version->n_lanes - version->n_open;
}

static uint64_t part_rank(const alm_part_ref *part)
{
    const uint64_t class = part_is_open(part) ? CLASS_OPEN : 0;
    return class << CLASS_BITS | (part->seq & ~ALM_SEQ_OPEN);
}

static uint64_t lane_rank(const alm_version *version, uint32_t lane, uint32_t chunk)
{
    const uint64_t class = CLASS_LANE | (lane_is_open(version, lane) ? CLASS_OPEN : 0);
    return class << CLASS_BITS | (uint64_t)lane << 32 | chunk;
}

/* ----------------------------------------------------------------- growing */

static alm_status scan_plan_grow(planner *self, void *array, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return ALM_OK;
    const size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = NULL, *old = NULL;
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, more * size, &grown));
    memcpy(&old, array, sizeof(old));
    if (n > 0)
        memcpy(grown, old, n * size);
    memcpy(array, &grown, sizeof(grown));
    *cap = more;
    return ALM_OK;
}

static alm_status found_push(planner *self, const alm_scan_piece *piece)
{
    ALM_TRY(
        scan_plan_grow(self, &self->found, &self->cap_found, self->n_found, sizeof(*self->found)));
    self->found[self->n_found++] = *piece;
    return ALM_OK;
}

static alm_status piece_push(planner *self, const alm_scan_piece *piece)
{
    alm_scan *scan = self->scan;
    ALM_TRY(scan_plan_grow(self, &scan->pieces, &scan->cap_pieces, scan->n_pieces,
                           sizeof(*scan->pieces)));
    scan->pieces[scan->n_pieces] = *piece;
    scan->pieces[scan->n_pieces++].last = (int32_t)(piece->hi - 1);
    return ALM_OK;
}

static alm_status span_push(planner *self, const alm_scan_span *span)
{
    alm_scan *scan = self->scan;
    ALM_TRY(
        scan_plan_grow(self, &scan->spans, &scan->cap_spans, scan->n_spans, sizeof(*scan->spans)));
    scan->spans[scan->n_spans++] = *span;
    scan->rows += span->rows;
    return ALM_OK;
}

static bool same_source(const alm_scan_piece *a, const alm_scan_piece *b)
{
    return a->part == b->part && a->chunk == b->chunk;
}

/* A direct span; rows that go on where the last span of the same source ended are joined to it. */
static alm_status direct_push(planner *self, const alm_scan_piece *piece)
{
    alm_scan *scan = self->scan;
    if (piece->lo == piece->hi)
        return ALM_OK;
    if (scan->n_spans > 0 && scan->spans[scan->n_spans - 1].n_pieces == 1) {
        alm_scan_span *last = &scan->spans[scan->n_spans - 1];
        alm_scan_piece *before = &scan->pieces[last->piece];
        if (same_source(before, piece) && before->hi == piece->lo) {
            before->hi = piece->hi;
            last->rows += piece->hi - piece->lo;
            last->max_ts = before->max_ts = piece->max_ts;
            scan->rows += piece->hi - piece->lo;
            return ALM_OK;
        }
    }
    const alm_scan_span span = {.rows = piece->hi - piece->lo,
                                .min_ts = piece->min_ts,
                                .max_ts = piece->max_ts,
                                .piece = (uint32_t)scan->n_pieces,
                                .n_pieces = 1};
    ALM_TRY(piece_push(self, piece));
    return span_push(self, &span);
}

/* ----------------------------------------------------------------- clipping */

/* First row of the piece's source, within [lo, hi), with a time >= bound. */
static alm_status piece_search(planner *self, const alm_scan_piece *piece, int64_t bound,
                               int64_t *row)
{
    if (piece->part != NULL) {
        alm_part *part = NULL;
        alm_status status = alm_file_part(self->cx, piece->part->file, &part);
        if (status == ALM_OK)
            status = alm_part_lower_bound(self->cx, part, bound, row);
        if (status != ALM_OK)
            return alm_damage_of_table(self->cx, self->v->table.name, piece->part->file, status);
        *row = ALM_MAX(piece->lo, ALM_MIN(*row, piece->hi));
        return ALM_OK;
    }
    const int64_t *ts = NULL;
    ALM_TRY(alm_scan_piece_times(self->cx, self->v, piece, &ts));
    *row = piece->lo + alm_times_lower_bound(ts + piece->lo, piece->hi - piece->lo, bound);
    return ALM_OK;
}

/* Rows of the piece with times in [lo, hi]. */
static alm_status piece_clip(planner *self, alm_scan_piece *piece, int64_t lo, int64_t hi)
{
    if (piece->min_ts < lo) {
        ALM_TRY(piece_search(self, piece, lo, &piece->lo));
        piece->min_ts = lo;
    }
    if (piece->max_ts > hi) { /* so that hi + 1 exists */
        ALM_TRY(piece_search(self, piece, hi + 1, &piece->hi));
        piece->max_ts = hi;
    }
    return ALM_OK;
}

static alm_status found_clipped(planner *self, alm_scan_piece piece, const alm_scan_range *range)
{
    if (piece.max_ts < range->lo || piece.min_ts > range->hi)
        return ALM_OK;
    ALM_TRY(piece_clip(self, &piece, range->lo, range->hi));
    return piece.lo < piece.hi ? found_push(self, &piece) : ALM_OK;
}

/* First part that may reach to `lo`: parts do not cross borders of partitions, so those that begin
 * in an earlier partition end there. */
static uint32_t first_part(const alm_version *version, int64_t lo)
{
    if (version->table.partition == ALM_PART_NONE || lo == INT64_MIN)
        return 0;
    const int64_t bucket =
        alm_partition_floor(version->table.partition, alm_version_is_ns(version), lo);
    const alm_part_set *set = version->parts;
    uint32_t from = 0, to = set->n;
    while (from < to) {
        const uint32_t mid = from + (to - from) / 2;
        if (set->parts[mid]->min_ts < bucket)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static alm_scan_piece part_piece(const alm_part_ref *part)
{
    return (alm_scan_piece){.part = part,
                            .rank = part_rank(part),
                            .hi = part->rows,
                            .min_ts = part->min_ts,
                            .max_ts = part->max_ts};
}

static alm_status find_parts(planner *self, const alm_scan_range *range)
{
    const alm_part_set *set = self->v->parts;
    for (uint32_t i = first_part(self->v, range->lo); i < set->n; i++) {
        const alm_part_ref *part = set->parts[i];
        if (part->min_ts > range->hi)
            break;
        ALM_TRY(found_clipped(self, part_piece(part), range));
    }
    return ALM_OK;
}

static alm_status lane_chunk_piece(planner *self, uint32_t lane, uint32_t chunk,
                                   alm_scan_piece *out)
{
    const alm_lane_chunk *lane_chunk = &self->v->lanes[lane].chunks[chunk];
    *out = (alm_scan_piece){.chunk = lane_chunk->chunk,
                            .rank = lane_rank(self->v, lane, chunk),
                            .hi = lane_chunk->rows};
    if (self->v->table.ts_col < 0)
        return ALM_OK;
    const int64_t *ts = NULL;
    ALM_TRY(alm_scan_piece_times(self->cx, self->v, out, &ts));
    out->min_ts = ts[0];
    out->max_ts = ts[lane_chunk->rows - 1];
    return ALM_OK;
}

static alm_status find_lanes(planner *self, const alm_scan_range *range)
{
    for (uint32_t l = 0; l < self->v->n_lanes; l++) {
        const alm_lane *lane = &self->v->lanes[l];
        if (lane->max_ts < range->lo || lane->min_ts > range->hi)
            continue;
        for (uint32_t chunk = 0; chunk < lane->n_chunks; chunk++) {
            alm_scan_piece piece;
            ALM_TRY(lane_chunk_piece(self, l, chunk, &piece));
            ALM_TRY(found_clipped(self, piece, range));
        }
    }
    return ALM_OK;
}

/* ------------------------------------------------------------ merged spans */

static int by_rank(const void *a, const void *b)
{
    const alm_scan_piece *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_time(const void *a, const void *b)
{
    const alm_scan_piece *x = a, *y = b;
    if (x->min_ts != y->min_ts)
        return x->min_ts < y->min_ts ? -1 : 1;
    return by_rank(a, b);
}

static bool one_lane(const alm_scan_piece *a, const alm_scan_piece *b)
{
    return (a->rank >> CLASS_BITS & CLASS_LANE) != 0 && a->rank >> 32 == b->rank >> 32;
}

/* Keeps of a merged span of a dedup table what is visible. */
static alm_status span_dedup(planner *self, alm_scan_span *span)
{
    uint64_t *order = NULL;
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, (size_t)span->rows * sizeof(*order), &order));
    const size_t i = self->scan->n_spans - 1;
    ALM_TRY(alm_scan_span_order(self->cx, self->arena, self->scan, i, order));
    uint32_t n_keys = 0;
    const alm_version *version = self->v;
    alm_dedup_src *srcs = NULL;
    ALM_TRY(ALM_NEWN(self->cx, self->arena, span->n_pieces, &srcs));
    for (uint32_t k = 0; k < span->n_pieces; k++) {
        const alm_scan_piece *piece = &self->scan->pieces[span->piece + k];
        ALM_TRY(alm_scan_piece_times(self->cx, version, piece, &srcs[k].ts));
        alm_vec *keys = NULL;
        ALM_TRY(ALM_NEWN(self->cx, self->arena, version->table.n_cols, &keys));
        n_keys = 0;
        for (uint32_t col = 0; col < version->table.n_cols; col++)
            if (version->table.cols[col].dedup_key && (int32_t)col != version->table.ts_col)
                ALM_TRY(alm_scan_piece_vec(self->cx, self->arena, version, piece, col,
                                           &keys[n_keys++]));
        srcs[k].keys = keys;
    }
    int64_t kept = 0;
    ALM_TRY(alm_dedup_rows(self->cx, ALM_DEDUP_SOURCES, srcs, n_keys, order, span->rows, &kept));
    self->scan->rows -= span->rows - kept;
    span->rows = kept;
    span->order = order;
    return ALM_OK;
}

static alm_status merged_push(planner *self, const alm_scan_piece *pieces, uint32_t n_pieces)
{
    alm_scan_span span = {.min_ts = INT64_MAX,
                          .max_ts = INT64_MIN,
                          .piece = (uint32_t)self->scan->n_pieces,
                          .n_pieces = n_pieces};
    for (uint32_t i = 0; i < n_pieces; i++) {
        span.rows += pieces[i].hi - pieces[i].lo;
        span.min_ts = ALM_MIN(span.min_ts, pieces[i].min_ts);
        span.max_ts = ALM_MAX(span.max_ts, pieces[i].max_ts);
        ALM_TRY(piece_push(self, &pieces[i]));
    }
    qsort(&self->scan->pieces[span.piece], n_pieces, sizeof(*pieces), by_rank);
    ALM_TRY(span_push(self, &span));
    return self->v->table.dedup ? span_dedup(self, &self->scan->spans[self->scan->n_spans - 1])
                                : ALM_OK;
}

static alm_status scan_plan_time_at(planner *self, const alm_scan_piece *piece, int64_t row,
                                    int64_t *ts)
{
    const alm_scan_piece one = {
        .part = piece->part, .chunk = piece->chunk, .lo = row, .hi = row + 1};
    const int64_t *times = NULL;
    ALM_TRY(alm_scan_piece_times(self->cx, self->v, &one, &times));
    *ts = times[row];
    return ALM_OK;
}

/* Cuts pieces at time time (>= time goes right); empty halves are left out. */
static alm_status split_at(planner *self, const alm_scan_piece *in, uint32_t n, int64_t time,
                           alm_scan_piece *left, uint32_t *n_left, alm_scan_piece *right,
                           uint32_t *n_right)
{
    *n_left = *n_right = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t row = 0;
        if (in[i].max_ts < time)
            row = in[i].hi;
        else if (in[i].min_ts >= time)
            row = in[i].lo;
        else
            ALM_TRY(piece_search(self, &in[i], time, &row));
        alm_scan_piece low = in[i], high = in[i];
        low.hi = high.lo = row;
        low.max_ts = ALM_MIN(low.max_ts, time - 1);
        high.min_ts = ALM_MAX(high.min_ts, time);
        if (low.lo < low.hi)
            left[(*n_left)++] = low;
        if (high.lo < high.hi)
            right[(*n_right)++] = high;
    }
    return ALM_OK;
}

/* Where to cut: the time in the middle of the largest piece, or the next one, so that both sides have
 * rows. *ok == false: all rows share one time. */
static alm_status split_point(planner *self, const alm_scan_piece *pieces, uint32_t n_pieces,
                              int64_t *t, bool *ok)
{
    const alm_scan_piece *largest = &pieces[0];
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < n_pieces; i++) {
        if (pieces[i].hi - pieces[i].lo > largest->hi - largest->lo)
            largest = &pieces[i];
        int64_t lo = 0, hi = 0;
        ALM_TRY(scan_plan_time_at(self, &pieces[i], pieces[i].lo, &lo));
        ALM_TRY(scan_plan_time_at(self, &pieces[i], pieces[i].hi - 1, &hi));
        first = ALM_MIN(first, lo);
        last = ALM_MAX(last, hi);
    }
    *ok = first < last;
    ALM_TRY(scan_plan_time_at(self, largest, largest->lo + (largest->hi - largest->lo) / 2, t));
    if (*ok && *t == first)
        *t = first + 1;
    return ALM_OK;
}

/* All rows have one time: one source after the other is the order, nothing to merge. */
static alm_status push_in_turn(planner *self, alm_scan_piece *pieces, uint32_t n_pieces)
{
    qsort(pieces, n_pieces, sizeof(*pieces), by_rank);
    for (uint32_t i = 0; i < n_pieces; i++)
        ALM_TRY(direct_push(self, &pieces[i]));
    return ALM_OK;
}

/* Spans of a stretch where pieces overlap. Depth: each cut halves the largest piece, or takes off
 * one time; bounded by DEPTH_MAX, after which a span may be larger. */
static alm_status merge_stretch(planner *self, alm_scan_piece *pieces, uint32_t n_pieces, int depth)
{
    enum { DEPTH_MAX = 64 };
    int64_t rows = 0;
    for (uint32_t i = 0; i < n_pieces; i++)
        rows += pieces[i].hi - pieces[i].lo;
    if (n_pieces <= 1)
        return n_pieces == 0 ? ALM_OK : direct_push(self, &pieces[0]);
    if (rows <= ALM_SCAN_SPAN_ROWS || depth >= DEPTH_MAX)
        return merged_push(self, pieces, n_pieces);
    ALM_TRY(alm_check(self->cx));
    int64_t time = 0;
    bool ok = false;
    ALM_TRY(split_point(self, pieces, n_pieces, &time, &ok));
    if (!ok)
        return self->v->table.dedup ? merged_push(self, pieces, n_pieces)
                                    : push_in_turn(self, pieces, n_pieces);
    alm_scan_piece *left = NULL, *right = NULL;
    uint32_t n_left = 0, n_right = 0;
    ALM_TRY(ALM_NEWN(self->cx, self->arena, n_pieces, &left));
    ALM_TRY(ALM_NEWN(self->cx, self->arena, n_pieces, &right));
    ALM_TRY(split_at(self, pieces, n_pieces, time, left, &n_left, right, &n_right));
    ALM_TRY(merge_stretch(self, left, n_left, depth + 1));
    return merge_stretch(self, right, n_right, depth + 1);
}

/* ---------------------------------------------------------------- clusters */

static int by_value(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* Sorted times at which the set of pieces that are under way changes. */
static alm_status cut_times(planner *self, const alm_scan_piece *pieces, size_t n_pieces,
                            int64_t **out, size_t *n_out)
{
    int64_t *cuts = NULL;
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, 2 * n_pieces * sizeof(*cuts), &cuts));
    size_t count = 0;
    for (size_t i = 0; i < n_pieces; i++) {
        cuts[count++] = pieces[i].min_ts;
        if (pieces[i].max_ts < INT64_MAX)
            cuts[count++] = pieces[i].max_ts + 1;
    }
    qsort(cuts, count, sizeof(*cuts), by_value);
    size_t unique = 0;
    for (size_t i = 0; i < count; i++)
        if (unique == 0 || cuts[unique - 1] != cuts[i])
            cuts[unique++] = cuts[i];
    *out = cuts;
    *n_out = unique;
    return ALM_OK;
}

/* Hands out what gathered in a stretch: one source directly, several merged. */
static alm_status flush_stretch(planner *self, alm_scan_piece *stretch, uint32_t *n)
{
    const uint32_t count = *n;
    *n = 0;
    return merge_stretch(self, stretch, count, 0);
}

/* Appends rows of a source to a stretch: to its piece there, or as a new one. */
static void stretch_add(alm_scan_piece *stretch, uint32_t *n, const alm_scan_piece *piece)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (same_source(&stretch[i], piece)) {
            stretch[i].hi = piece->hi;
            stretch[i].max_ts = piece->max_ts;
            return;
        }
    }
    stretch[(*n)++] = *piece;
}

/*
 * Pieces that overlap (sorted by time): sweeps over the cut times. Between two cuts the same pieces
 * are under way; neighbouring intervals of several pieces are one stretch, which a lone piece ends.
 */
static alm_status resolve_cluster(planner *self, alm_scan_piece *pieces, size_t n)
{
    int64_t *cuts = NULL;
    size_t n_cuts = 0;
    ALM_TRY(cut_times(self, pieces, n, &cuts, &n_cuts));
    alm_scan_piece **active = NULL, *stretch = NULL, *slice = NULL;
    ALM_TRY(ALM_NEWN(self->cx, self->arena, n, &active));
    ALM_TRY(ALM_NEWN(self->cx, self->arena, n, &stretch));
    ALM_TRY(ALM_NEWN(self->cx, self->arena, n, &slice));
    uint32_t n_active = 0, n_stretch = 0;
    size_t next = 0;
    for (size_t cut = 0; cut < n_cuts; cut++) {
        uint32_t stay = 0;
        for (uint32_t i = 0; i < n_active; i++)
            if (active[i]->max_ts >= cuts[cut])
                active[stay++] = active[i];
        n_active = stay;
        while (next < n && pieces[next].min_ts == cuts[cut])
            active[n_active++] = &pieces[next++];
        uint32_t n_slice = 0;
        for (uint32_t i = 0; i < n_active; i++) { /* pieces[].lo moves on: what is left of it */
            alm_scan_piece part = *active[i];
            part.min_ts = ALM_MAX(part.min_ts, cuts[cut]);
            if (cut + 1 < n_cuts && part.max_ts >= cuts[cut + 1]) {
                ALM_TRY(piece_search(self, active[i], cuts[cut + 1], &part.hi));
                part.max_ts = cuts[cut + 1] - 1;
            }
            active[i]->lo = part.hi;
            if (part.lo < part.hi)
                slice[n_slice++] = part;
        }
        if (n_slice == 1) {
            ALM_TRY(flush_stretch(self, stretch, &n_stretch));
            ALM_TRY(direct_push(self, &slice[0]));
        } else {
            for (uint32_t i = 0; i < n_slice; i++)
                stretch_add(stretch, &n_stretch, &slice[i]);
        }
    }
    return flush_stretch(self, stretch, &n_stretch);
}

/* Do pieces that meet at one time have to be merged there? `met`: a piece that ends at the time. */
static bool tie_conflict(const planner *self, const alm_scan_piece *met,
                         const alm_scan_piece *piece)
{
    if (met->rank > piece->rank)
        return true;
    return self->v->table.dedup && !one_lane(met, piece);
}

/* Spans of the pieces found for one range. */
static alm_status resolve_found(planner *self)
{
    alm_scan_piece *pieces = self->found;
    bool sorted = true;
    for (size_t i = 1; i < self->n_found && sorted; i++)
        sorted = by_time(&pieces[i - 1], &pieces[i]) <= 0;
    if (!sorted)
        qsort(pieces, self->n_found, sizeof(*pieces), by_time);
    for (size_t i = 0; i < self->n_found;) {
        int64_t max_ts = pieces[i].max_ts;
        bool overlap = false;
        size_t end = i + 1;
        for (; !self->any_order && end < self->n_found && pieces[end].min_ts <= max_ts; end++) {
            if (pieces[end].min_ts == max_ts) { /* all earlier pieces that end here, newest first */
                bool conflict = false;
                for (size_t k = i; k < end && !conflict; k++)
                    conflict =
                        pieces[k].max_ts == max_ts && tie_conflict(self, &pieces[k], &pieces[end]);
                if (!conflict)
                    break;
            }
            overlap = true;
            max_ts = ALM_MAX(max_ts, pieces[end].max_ts);
        }
        ALM_TRY(alm_check(self->cx));
        ALM_TRY(overlap ? resolve_cluster(self, pieces + i, end - i)
                        : direct_push(self, &pieces[i]));
        i = end;
    }
    self->n_found = 0;
    return ALM_OK;
}

/* --------------------------------------------------------------- interface */

static alm_status plan_insertions(planner *self, bool open)
{
    for (uint32_t i = 0; i < self->v->parts->n; i++) {
        if (part_is_open(self->v->parts->parts[i]) != open)
            continue;
        alm_scan_piece piece = part_piece(self->v->parts->parts[i]);
        ALM_TRY(direct_push(self, &piece));
    }
    for (uint32_t lane = 0; lane < self->v->n_lanes; lane++) {
        if (lane_is_open(self->v, lane) != open)
            continue;
        for (uint32_t chunk = 0; chunk < self->v->lanes[lane].n_chunks; chunk++) {
            alm_scan_piece piece;
            ALM_TRY(lane_chunk_piece(self, lane, chunk, &piece));
            ALM_TRY(direct_push(self, &piece));
        }
    }
    return ALM_OK;
}

/* Tables without designated timestamp: parts by seq, then lanes, of what is published and then of the transaction. */
static alm_status plan_unordered(planner *self)
{
    ALM_TRY(plan_insertions(self, false));
    return plan_insertions(self, true);
}

alm_status alm_scan_new_version(alm_ctx *cx, alm_arena *arena, const alm_version *version,
                                const alm_scan_spec *spec, alm_scan **out)
{
    const alm_scan_range whole = {INT64_MIN, INT64_MAX};
    const alm_scan_range *ranges = spec->all ? &whole : spec->ranges;
    const uint32_t n_ranges = spec->all ? 1 : spec->n_ranges, n_cols = spec->n_cols;
    alm_scan *scan = NULL;
    uint32_t *copy = NULL;
    ALM_TRY(ALM_NEW(cx, arena, &scan));
    ALM_TRY(ALM_NEWN(cx, arena, n_cols + 1, &copy));
    if (n_cols > 0)
        memcpy(copy, spec->cols, n_cols * sizeof(*copy));
    scan->version = version;
    scan->cols = copy;
    scan->n_cols = n_cols;
    scan->rewrite = cx->rewrite;
    planner self = {.cx = cx,
                    .arena = arena,
                    .v = version,
                    .scan = scan,
                    .any_order = spec->order == ALM_SCAN_ANY_ORDER && !version->table.dedup};
    if (version->table.ts_col < 0) {
        if (n_ranges > 0)
            ALM_TRY(plan_unordered(&self));
        *out = scan;
        return ALM_OK;
    }
    for (uint32_t range = 0; range < n_ranges; range++) {
        if (ranges[range].lo > ranges[range].hi)
            continue;
        ALM_TRY(find_parts(&self, &ranges[range]));
        ALM_TRY(find_lanes(&self, &ranges[range]));
        ALM_TRY(resolve_found(&self));
    }
    *out = scan;
    return ALM_OK;
}

alm_status alm_scan_new(alm_ctx *cx, alm_arena *arena, alm_snapshot *snap, const alm_table *table,
                        const alm_scan_spec *spec, alm_scan **out)
{
    (void)snap; /* keeps the version alive; the caller holds it */
    ALM_TRY(alm_table_is_open(cx, table, -1));
    return alm_scan_new_version(cx, arena, alm_version_of(table), spec, out);
}

size_t alm_scan_span_count(const alm_scan *scan)
{
    return scan->n_spans;
}

alm_span alm_scan_span_at(const alm_scan *scan, size_t i)
{
    ALM_ASSERT(i < scan->n_spans);
    const alm_scan_span *span = &scan->spans[i];
    return (alm_span){.rows = span->rows,
                      .min_ts = span->min_ts,
                      .max_ts = span->max_ts,
                      .direct = span->n_pieces == 1};
}

int64_t alm_scan_rows(const alm_scan *scan)
{
    return scan->rows;
}
