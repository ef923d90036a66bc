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

static bool lane_is_open(const alm_version *v, uint32_t lane)
{
    return lane >= v->n_lanes - v->n_open;
}

static uint64_t part_rank(const alm_part_ref *part)
{
    const uint64_t class = part_is_open(part) ? CLASS_OPEN : 0;
    return class << CLASS_BITS | (part->seq & ~ALM_SEQ_OPEN);
}

static uint64_t lane_rank(const alm_version *v, uint32_t lane, uint32_t chunk)
{
    const uint64_t class = CLASS_LANE | (lane_is_open(v, lane) ? CLASS_OPEN : 0);
    return class << CLASS_BITS | (uint64_t)lane << 32 | chunk;
}

/* ----------------------------------------------------------------- growing */

static alm_status grow(planner *p, void *array, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return ALM_OK;
    const size_t more = *cap == 0 ? 16 : *cap * 2;
    void *grown = NULL, *old = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->arena, more * size, &grown));
    memcpy(&old, array, sizeof(old));
    if (n > 0)
        memcpy(grown, old, n * size);
    memcpy(array, &grown, sizeof(grown));
    *cap = more;
    return ALM_OK;
}

static alm_status found_push(planner *p, const alm_scan_piece *piece)
{
    ALM_TRY(grow(p, &p->found, &p->cap_found, p->n_found, sizeof(*p->found)));
    p->found[p->n_found++] = *piece;
    return ALM_OK;
}

static alm_status piece_push(planner *p, const alm_scan_piece *piece)
{
    alm_scan *s = p->scan;
    ALM_TRY(grow(p, &s->pieces, &s->cap_pieces, s->n_pieces, sizeof(*s->pieces)));
    s->pieces[s->n_pieces] = *piece;
    s->pieces[s->n_pieces++].last = (int32_t)(piece->hi - 1);
    return ALM_OK;
}

static alm_status span_push(planner *p, const alm_scan_span *span)
{
    alm_scan *s = p->scan;
    ALM_TRY(grow(p, &s->spans, &s->cap_spans, s->n_spans, sizeof(*s->spans)));
    s->spans[s->n_spans++] = *span;
    s->rows += span->rows;
    return ALM_OK;
}

static bool same_source(const alm_scan_piece *a, const alm_scan_piece *b)
{
    return a->part == b->part && a->chunk == b->chunk;
}

/* A direct span; rows that go on where the last span of the same source ended are joined to it. */
static alm_status direct_push(planner *p, const alm_scan_piece *piece)
{
    alm_scan *s = p->scan;
    if (piece->lo == piece->hi)
        return ALM_OK;
    if (s->n_spans > 0 && s->spans[s->n_spans - 1].n_pieces == 1) {
        alm_scan_span *last = &s->spans[s->n_spans - 1];
        alm_scan_piece *before = &s->pieces[last->piece];
        if (same_source(before, piece) && before->hi == piece->lo) {
            before->hi = piece->hi;
            last->rows += piece->hi - piece->lo;
            last->max_ts = before->max_ts = piece->max_ts;
            s->rows += piece->hi - piece->lo;
            return ALM_OK;
        }
    }
    const alm_scan_span span = {.rows = piece->hi - piece->lo,
                                .min_ts = piece->min_ts,
                                .max_ts = piece->max_ts,
                                .piece = (uint32_t)s->n_pieces,
                                .n_pieces = 1};
    ALM_TRY(piece_push(p, piece));
    return span_push(p, &span);
}

/* ----------------------------------------------------------------- clipping */

/* First row of the piece's source, within [lo, hi), with a time >= bound. */
static alm_status piece_search(planner *p, const alm_scan_piece *piece, int64_t bound, int64_t *row)
{
    if (piece->part != NULL) {
        alm_part *part = NULL;
        alm_status st = alm_file_part(p->cx, piece->part->file, &part);
        if (st == ALM_OK)
            st = alm_part_lower_bound(p->cx, part, bound, row);
        if (st != ALM_OK)
            return alm_damage_of_table(p->cx, p->v->table.name, piece->part->file, st);
        *row = ALM_MAX(piece->lo, ALM_MIN(*row, piece->hi));
        return ALM_OK;
    }
    const int64_t *ts = NULL;
    ALM_TRY(alm_scan_piece_times(p->cx, p->v, piece, &ts));
    *row = piece->lo + alm_times_lower_bound(ts + piece->lo, piece->hi - piece->lo, bound);
    return ALM_OK;
}

/* Rows of the piece with times in [lo, hi]. */
static alm_status piece_clip(planner *p, alm_scan_piece *piece, int64_t lo, int64_t hi)
{
    if (piece->min_ts < lo) {
        ALM_TRY(piece_search(p, piece, lo, &piece->lo));
        piece->min_ts = lo;
    }
    if (piece->max_ts > hi) { /* so that hi + 1 exists */
        ALM_TRY(piece_search(p, piece, hi + 1, &piece->hi));
        piece->max_ts = hi;
    }
    return ALM_OK;
}

static alm_status found_clipped(planner *p, alm_scan_piece piece, const alm_scan_range *range)
{
    if (piece.max_ts < range->lo || piece.min_ts > range->hi)
        return ALM_OK;
    ALM_TRY(piece_clip(p, &piece, range->lo, range->hi));
    return piece.lo < piece.hi ? found_push(p, &piece) : ALM_OK;
}

/* First part that may reach to `lo`: parts do not cross borders of partitions, so those that begin
 * in an earlier partition end there. */
static uint32_t first_part(const alm_version *v, int64_t lo)
{
    if (v->table.partition == ALM_PART_NONE || lo == INT64_MIN)
        return 0;
    const int64_t bucket = alm_partition_floor(v->table.partition, alm_version_is_ns(v), lo);
    const alm_part_set *set = v->parts;
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

static alm_status find_parts(planner *p, const alm_scan_range *range)
{
    const alm_part_set *set = p->v->parts;
    for (uint32_t i = first_part(p->v, range->lo); i < set->n; i++) {
        const alm_part_ref *part = set->parts[i];
        if (part->min_ts > range->hi)
            break;
        ALM_TRY(found_clipped(p, part_piece(part), range));
    }
    return ALM_OK;
}

static alm_status lane_chunk_piece(planner *p, uint32_t lane, uint32_t chunk, alm_scan_piece *out)
{
    const alm_lane_chunk *lc = &p->v->lanes[lane].chunks[chunk];
    *out =
        (alm_scan_piece){.chunk = lc->chunk, .rank = lane_rank(p->v, lane, chunk), .hi = lc->rows};
    if (p->v->table.ts_col < 0)
        return ALM_OK;
    const int64_t *ts = NULL;
    ALM_TRY(alm_scan_piece_times(p->cx, p->v, out, &ts));
    out->min_ts = ts[0];
    out->max_ts = ts[lc->rows - 1];
    return ALM_OK;
}

static alm_status find_lanes(planner *p, const alm_scan_range *range)
{
    for (uint32_t l = 0; l < p->v->n_lanes; l++) {
        const alm_lane *lane = &p->v->lanes[l];
        if (lane->max_ts < range->lo || lane->min_ts > range->hi)
            continue;
        for (uint32_t c = 0; c < lane->n_chunks; c++) {
            alm_scan_piece piece;
            ALM_TRY(lane_chunk_piece(p, l, c, &piece));
            ALM_TRY(found_clipped(p, piece, range));
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
static alm_status span_dedup(planner *p, alm_scan_span *span)
{
    uint64_t *order = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->arena, (size_t)span->rows * sizeof(*order), &order));
    const size_t i = p->scan->n_spans - 1;
    ALM_TRY(alm_scan_span_order(p->cx, p->arena, p->scan, i, order));
    uint32_t n_keys = 0;
    const alm_version *v = p->v;
    alm_dedup_src *srcs = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->arena, span->n_pieces, &srcs));
    for (uint32_t k = 0; k < span->n_pieces; k++) {
        const alm_scan_piece *piece = &p->scan->pieces[span->piece + k];
        ALM_TRY(alm_scan_piece_times(p->cx, v, piece, &srcs[k].ts));
        alm_vec *keys = NULL;
        ALM_TRY(ALM_NEWN(p->cx, p->arena, v->table.n_cols, &keys));
        n_keys = 0;
        for (uint32_t c = 0; c < v->table.n_cols; c++)
            if (v->table.cols[c].dedup_key && (int32_t)c != v->table.ts_col)
                ALM_TRY(alm_scan_piece_vec(p->cx, p->arena, v, piece, c, &keys[n_keys++]));
        srcs[k].keys = keys;
    }
    int64_t kept = 0;
    ALM_TRY(alm_dedup_rows(p->cx, ALM_DEDUP_SOURCES, srcs, n_keys, order, span->rows, &kept));
    p->scan->rows -= span->rows - kept;
    span->rows = kept;
    span->order = order;
    return ALM_OK;
}

static alm_status merged_push(planner *p, const alm_scan_piece *pieces, uint32_t n)
{
    alm_scan_span span = {.min_ts = INT64_MAX,
                          .max_ts = INT64_MIN,
                          .piece = (uint32_t)p->scan->n_pieces,
                          .n_pieces = n};
    for (uint32_t i = 0; i < n; i++) {
        span.rows += pieces[i].hi - pieces[i].lo;
        span.min_ts = ALM_MIN(span.min_ts, pieces[i].min_ts);
        span.max_ts = ALM_MAX(span.max_ts, pieces[i].max_ts);
        ALM_TRY(piece_push(p, &pieces[i]));
    }
    qsort(&p->scan->pieces[span.piece], n, sizeof(*pieces), by_rank);
    ALM_TRY(span_push(p, &span));
    return p->v->table.dedup ? span_dedup(p, &p->scan->spans[p->scan->n_spans - 1]) : ALM_OK;
}

static alm_status time_at(planner *p, const alm_scan_piece *piece, int64_t row, int64_t *ts)
{
    const alm_scan_piece one = {
        .part = piece->part, .chunk = piece->chunk, .lo = row, .hi = row + 1};
    const int64_t *times = NULL;
    ALM_TRY(alm_scan_piece_times(p->cx, p->v, &one, &times));
    *ts = times[row];
    return ALM_OK;
}

/* Cuts pieces at time t (>= t goes right); empty halves are left out. */
static alm_status split_at(planner *p, const alm_scan_piece *in, uint32_t n, int64_t t,
                           alm_scan_piece *left, uint32_t *n_left, alm_scan_piece *right,
                           uint32_t *n_right)
{
    *n_left = *n_right = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t row = 0;
        if (in[i].max_ts < t)
            row = in[i].hi;
        else if (in[i].min_ts >= t)
            row = in[i].lo;
        else
            ALM_TRY(piece_search(p, &in[i], t, &row));
        alm_scan_piece low = in[i], high = in[i];
        low.hi = high.lo = row;
        low.max_ts = ALM_MIN(low.max_ts, t - 1);
        high.min_ts = ALM_MAX(high.min_ts, t);
        if (low.lo < low.hi)
            left[(*n_left)++] = low;
        if (high.lo < high.hi)
            right[(*n_right)++] = high;
    }
    return ALM_OK;
}

/* Where to cut: the time in the middle of the largest piece, or the next one, so that both sides have
 * rows. *ok == false: all rows share one time. */
static alm_status split_point(planner *p, const alm_scan_piece *pieces, uint32_t n, int64_t *t,
                              bool *ok)
{
    const alm_scan_piece *largest = &pieces[0];
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        if (pieces[i].hi - pieces[i].lo > largest->hi - largest->lo)
            largest = &pieces[i];
        int64_t lo = 0, hi = 0;
        ALM_TRY(time_at(p, &pieces[i], pieces[i].lo, &lo));
        ALM_TRY(time_at(p, &pieces[i], pieces[i].hi - 1, &hi));
        first = ALM_MIN(first, lo);
        last = ALM_MAX(last, hi);
    }
    *ok = first < last;
    ALM_TRY(time_at(p, largest, largest->lo + (largest->hi - largest->lo) / 2, t));
    if (*ok && *t == first)
        *t = first + 1;
    return ALM_OK;
}

/* All rows have one time: one source after the other is the order, nothing to merge. */
static alm_status push_in_turn(planner *p, alm_scan_piece *pieces, uint32_t n)
{
    qsort(pieces, n, sizeof(*pieces), by_rank);
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(direct_push(p, &pieces[i]));
    return ALM_OK;
}

/* Spans of a stretch where pieces overlap. Depth: each cut halves the largest piece, or takes off
 * one time; bounded by DEPTH_MAX, after which a span may be larger. */
static alm_status merge_stretch(planner *p, alm_scan_piece *pieces, uint32_t n, int depth)
{
    enum { DEPTH_MAX = 64 };
    int64_t rows = 0;
    for (uint32_t i = 0; i < n; i++)
        rows += pieces[i].hi - pieces[i].lo;
    if (n <= 1)
        return n == 0 ? ALM_OK : direct_push(p, &pieces[0]);
    if (rows <= ALM_SCAN_SPAN_ROWS || depth >= DEPTH_MAX)
        return merged_push(p, pieces, n);
    ALM_TRY(alm_check(p->cx));
    int64_t t = 0;
    bool ok = false;
    ALM_TRY(split_point(p, pieces, n, &t, &ok));
    if (!ok)
        return p->v->table.dedup ? merged_push(p, pieces, n) : push_in_turn(p, pieces, n);
    alm_scan_piece *left = NULL, *right = NULL;
    uint32_t n_left = 0, n_right = 0;
    ALM_TRY(ALM_NEWN(p->cx, p->arena, n, &left));
    ALM_TRY(ALM_NEWN(p->cx, p->arena, n, &right));
    ALM_TRY(split_at(p, pieces, n, t, left, &n_left, right, &n_right));
    ALM_TRY(merge_stretch(p, left, n_left, depth + 1));
    return merge_stretch(p, right, n_right, depth + 1);
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
static alm_status cut_times(planner *p, const alm_scan_piece *pieces, size_t n, int64_t **out,
                            size_t *n_out)
{
    int64_t *cuts = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->arena, 2 * n * sizeof(*cuts), &cuts));
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
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
static alm_status flush_stretch(planner *p, alm_scan_piece *stretch, uint32_t *n)
{
    const uint32_t count = *n;
    *n = 0;
    return merge_stretch(p, stretch, count, 0);
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
static alm_status resolve_cluster(planner *p, alm_scan_piece *pieces, size_t n)
{
    int64_t *cuts = NULL;
    size_t n_cuts = 0;
    ALM_TRY(cut_times(p, pieces, n, &cuts, &n_cuts));
    alm_scan_piece **active = NULL, *stretch = NULL, *slice = NULL;
    ALM_TRY(ALM_NEWN(p->cx, p->arena, n, &active));
    ALM_TRY(ALM_NEWN(p->cx, p->arena, n, &stretch));
    ALM_TRY(ALM_NEWN(p->cx, p->arena, n, &slice));
    uint32_t n_active = 0, n_stretch = 0;
    size_t next = 0;
    for (size_t c = 0; c < n_cuts; c++) {
        uint32_t stay = 0;
        for (uint32_t i = 0; i < n_active; i++)
            if (active[i]->max_ts >= cuts[c])
                active[stay++] = active[i];
        n_active = stay;
        while (next < n && pieces[next].min_ts == cuts[c])
            active[n_active++] = &pieces[next++];
        uint32_t n_slice = 0;
        for (uint32_t i = 0; i < n_active; i++) { /* pieces[].lo moves on: what is left of it */
            alm_scan_piece part = *active[i];
            part.min_ts = ALM_MAX(part.min_ts, cuts[c]);
            if (c + 1 < n_cuts && part.max_ts >= cuts[c + 1]) {
                ALM_TRY(piece_search(p, active[i], cuts[c + 1], &part.hi));
                part.max_ts = cuts[c + 1] - 1;
            }
            active[i]->lo = part.hi;
            if (part.lo < part.hi)
                slice[n_slice++] = part;
        }
        if (n_slice == 1) {
            ALM_TRY(flush_stretch(p, stretch, &n_stretch));
            ALM_TRY(direct_push(p, &slice[0]));
        } else {
            for (uint32_t i = 0; i < n_slice; i++)
                stretch_add(stretch, &n_stretch, &slice[i]);
        }
    }
    return flush_stretch(p, stretch, &n_stretch);
}

/* Do pieces that meet at one time have to be merged there? `met`: a piece that ends at the time. */
static bool tie_conflict(const planner *p, const alm_scan_piece *met, const alm_scan_piece *piece)
{
    if (met->rank > piece->rank)
        return true;
    return p->v->table.dedup && !one_lane(met, piece);
}

/* Spans of the pieces found for one range. */
static alm_status resolve_found(planner *p)
{
    alm_scan_piece *f = p->found;
    bool sorted = true;
    for (size_t i = 1; i < p->n_found && sorted; i++)
        sorted = by_time(&f[i - 1], &f[i]) <= 0;
    if (!sorted)
        qsort(f, p->n_found, sizeof(*f), by_time);
    for (size_t i = 0; i < p->n_found;) {
        int64_t max_ts = f[i].max_ts;
        bool overlap = false;
        size_t end = i + 1;
        for (; !p->any_order && end < p->n_found && f[end].min_ts <= max_ts; end++) {
            if (f[end].min_ts == max_ts) { /* all earlier pieces that end here, newest first */
                bool conflict = false;
                for (size_t k = i; k < end && !conflict; k++)
                    conflict = f[k].max_ts == max_ts && tie_conflict(p, &f[k], &f[end]);
                if (!conflict)
                    break;
            }
            overlap = true;
            max_ts = ALM_MAX(max_ts, f[end].max_ts);
        }
        ALM_TRY(alm_check(p->cx));
        ALM_TRY(overlap ? resolve_cluster(p, f + i, end - i) : direct_push(p, &f[i]));
        i = end;
    }
    p->n_found = 0;
    return ALM_OK;
}

/* --------------------------------------------------------------- interface */

static alm_status plan_insertions(planner *p, bool open)
{
    for (uint32_t i = 0; i < p->v->parts->n; i++) {
        if (part_is_open(p->v->parts->parts[i]) != open)
            continue;
        alm_scan_piece piece = part_piece(p->v->parts->parts[i]);
        ALM_TRY(direct_push(p, &piece));
    }
    for (uint32_t l = 0; l < p->v->n_lanes; l++) {
        if (lane_is_open(p->v, l) != open)
            continue;
        for (uint32_t c = 0; c < p->v->lanes[l].n_chunks; c++) {
            alm_scan_piece piece;
            ALM_TRY(lane_chunk_piece(p, l, c, &piece));
            ALM_TRY(direct_push(p, &piece));
        }
    }
    return ALM_OK;
}

/* Tables without designated timestamp: parts by seq, then lanes, of what is published and then of the transaction. */
static alm_status plan_unordered(planner *p)
{
    ALM_TRY(plan_insertions(p, false));
    return plan_insertions(p, true);
}

alm_status alm_scan_new_version(alm_ctx *cx, alm_arena *arena, const alm_version *v,
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
    scan->version = v;
    scan->cols = copy;
    scan->n_cols = n_cols;
    scan->rewrite = cx->rewrite;
    planner p = {.cx = cx,
                 .arena = arena,
                 .v = v,
                 .scan = scan,
                 .any_order = spec->order == ALM_SCAN_ANY_ORDER && !v->table.dedup};
    if (v->table.ts_col < 0) {
        if (n_ranges > 0)
            ALM_TRY(plan_unordered(&p));
        *out = scan;
        return ALM_OK;
    }
    for (uint32_t r = 0; r < n_ranges; r++) {
        if (ranges[r].lo > ranges[r].hi)
            continue;
        ALM_TRY(find_parts(&p, &ranges[r]));
        ALM_TRY(find_lanes(&p, &ranges[r]));
        ALM_TRY(resolve_found(&p));
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
    const alm_scan_span *s = &scan->spans[i];
    return (alm_span){
        .rows = s->rows, .min_ts = s->min_ts, .max_ts = s->max_ts, .direct = s->n_pieces == 1};
}

int64_t alm_scan_rows(const alm_scan *scan)
{
    return scan->rows;
}
