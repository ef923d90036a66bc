/*
 * op_asof_seek.c - ASOF and LT joins over a right side that can be looked at by row number
 * (asof_right.h): streaming over the left input, so that morsels of it run in parallel.
 *
 * Ways        Left batches come in time order. Where right rows between the first and the last time of
 *             a batch are not many more than left rows, both are merged: last[key] = newest row of the
 *             key. Else each left row is a search for its position and a look back for its key. Forward
 *             and nearest joins search, and look ahead.
 * State       Of one thread (and offset of a horizon); only knowledge, so that any morsel may follow any
 *             other:
 *               last[k]    newest row of k among the rows merged since run_from, or older
 *               back[k]    newest row of k before max(floor, asof[k])
 *               complete   last[] is right for all keys at `pos`; else a key that has no row since
 *                          run_from is looked up once per run and noted in back[] and asof[]
 *             When looking up has cost as much as reading the gap since `floor`, the gap is read and
 *             the state is complete again: the work is bounded by a pass over the right side.
 * Null rule   Null keys are equal. No row: nulls on the right.
 * Order       That of the left input.
 */
#include "exec/join/asof_right.h"
#include "exec/run/op_make.h"

enum {
    NEAR_ROWS = 16384,  /* a gap of up to as many right rows is merged too */
    SPARSE_TIMES = 48,  /* right rows per left row from which on searching is cheaper */
    WALK_MIN = 1 << 18, /* rows looked at before reading the whole gap pays */
};

/* What is known for left rows in time order. */
typedef struct lane {
    int64_t offset;
    uint32_t *last, *back, *asof; /* by key; entry n_numbers: a key the right side has not */
    uint32_t *ahead;              /* first row of k at or behind ahead_at[k] - 1, 0: none */
    uint32_t *ahead_at;
    uint32_t pos, run_from, floor, ahead_pos;
    uint64_t walked;
    bool complete;
    uint32_t segment; /* of pos */
} lane;

typedef struct op_seek {
    alm_op op;
    const alm_asof_right *right;
    alm_asof_reader rd;
    bool strict;
    uint8_t direction;    /* alm_asof_direction */
    alm_join_probe probe; /* keys of the left side */
    alm_pool pool;
    lane *k;     /* of the batch under way */
    lane *lanes; /* one, or one per offset of a horizon met so far */
    uint32_t n_lanes, cap_lanes;
    /* left batch under way */
    alm_arena arena;
    const int64_t *time;
    const int64_t *bound; /* rows with a right time <= bound lie before the left row */
    uint32_t *number, *match, *later;
} op_seek;

/* ------------------------------------------------------------------------------ knowledge */

static void op_asof_seek_forget(op_seek *asof)
{
    const size_t bytes = ((size_t)asof->right->n_numbers + 1) * sizeof *asof->k->last;
    memset(asof->k->last, 0, bytes);
    memset(asof->k->back, 0, bytes);
    memset(asof->k->asof, 0, bytes);
    asof->k->pos = asof->k->run_from = asof->k->floor = 0;
    asof->k->complete = true;
}

static void op_asof_seek(op_seek *asof, uint32_t pos)
{
    if (asof->k->complete && pos != asof->k->pos) {
        memcpy(asof->k->back, asof->k->last,
               ((size_t)asof->right->n_numbers + 1) * sizeof *asof->k->last);
        asof->k->floor = asof->k->pos;
        asof->k->complete = false;
    }
    asof->k->run_from = asof->k->pos = pos;
}

#define DEFINE_FILL(bits)                                                                          \
    static void fill_##bits(const uint##bits##_t *restrict key, uint32_t lo, uint32_t hi,          \
                            uint32_t first, uint32_t *restrict back)                               \
    {                                                                                              \
        for (uint32_t r = lo; r < hi; r++)                                                         \
            back[key[r]] = ALM_MAX(back[key[r]], first + r + 1);                                   \
    }
DEFINE_FILL(8)
DEFINE_FILL(16)
DEFINE_FILL(32)

/* Reads all rows from floor to the begin of the run. */
static alm_status fill_gap(alm_ctx *cx, op_seek *asof)
{
    const alm_asof_right *right = asof->right;
    uint32_t segment =
        asof->k->floor < right->n ? alm_asof_segment_of(right, asof->k->floor, 0) : 0;
    for (uint32_t row = asof->k->floor; row < asof->k->run_from; segment++) {
        const alm_asof_segment *seg = &right->segment[segment];
        const uint32_t end = ALM_MIN(seg->rows, asof->k->run_from - seg->first);
        for (uint32_t place = row - seg->first; place < end; row = seg->first + place) {
            const uint32_t to = ALM_MIN(end, (place / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE);
            uint32_t width = 0;
            ALM_TRY(alm_check(cx));
            ALM_TRY(alm_asof_touch(cx, &asof->rd, segment, place, to, false));
            const void *keys = alm_asof_keys_of(&asof->rd, segment, &width);
            if (width == 0)
                asof->k->back[0] = ALM_MAX(asof->k->back[0], seg->first + to);
            else if (width == 1)
                fill_8(keys, place, to, seg->first, asof->k->back);
            else if (width == 2)
                fill_16(keys, place, to, seg->first, asof->k->back);
            else
                fill_32(keys, place, to, seg->first, asof->k->back);
            place = to;
        }
    }
    for (uint32_t number = 0; number < right->n_numbers; number++)
        asof->k->last[number] = ALM_MAX(asof->k->last[number], asof->k->back[number]);
    asof->k->complete = true;
    asof->k->walked = 0;
    return ALM_OK;
}

/* Newest row of a key before the run. */
static alm_status op_asof_seek_look_up(alm_ctx *cx, op_seek *asof, uint32_t k, uint32_t *match)
{
    if (asof->k->asof[k] != asof->k->run_from) {
        const uint32_t lo = ALM_MAX(asof->k->floor, asof->k->asof[k]);
        uint32_t found = 0;
        ALM_TRY(alm_asof_look_back(cx, &asof->rd, k, lo, asof->k->run_from, &found));
        asof->k->walked += asof->k->run_from - (found != 0 ? found : lo);
        if (found != 0)
            asof->k->back[k] = found;
        asof->k->asof[k] = asof->k->run_from;
        if (asof->k->last[k] <= asof->k->run_from)
            asof->k->last[k] = asof->k->back[k];
    }
    *match = asof->k->back[k];
    return ALM_OK;
}

static bool gap_pays(const op_seek *asof)
{
    return !asof->k->complete && asof->k->walked > WALK_MIN &&
           asof->k->walked >
               (uint64_t)(asof->k->run_from - asof->k->floor) + asof->right->n_numbers;
}

/* ----------------------------------------------------------------------------------- merge */

/*
 * Merges left rows [i, n) with right rows [r, m) of a page; returns the left row that waits for more
 * right rows (n: none). *at: the right row it came to.
 */
#define DEFINE_MERGE(bits)                                                                         \
    static uint32_t merge_##bits(const op_seek *a, const uint##bits##_t *restrict rn,              \
                                 const int64_t *restrict rt, uint32_t i, uint32_t n, uint32_t *at, \
                                 uint32_t m, uint32_t first)                                       \
    {                                                                                              \
        const int64_t *restrict bound = a->bound;                                                  \
        const uint32_t *restrict ln = a->number;                                                   \
        uint32_t *restrict last = a->k->last, *restrict match = a->match;                          \
        uint32_t r = *at;                                                                          \
        for (; i < n; i++) {                                                                       \
            const int64_t b = bound[i];                                                            \
            for (; r < m && rt[r] <= b; r++)                                                       \
                last[rn[r]] = first + r + 1;                                                       \
            if (r == m)                                                                            \
                break;                                                                             \
            match[i] = last[ln[i]];                                                                \
        }                                                                                          \
        *at = r;                                                                                   \
        return i;                                                                                  \
    }
DEFINE_MERGE(8)
DEFINE_MERGE(16)
DEFINE_MERGE(32)

/* Without keys: positions are matches. */
static uint32_t merge_0(const op_seek *asof, const int64_t *restrict rt, uint32_t i, uint32_t n,
                        uint32_t *at, uint32_t m, uint32_t first)
{
    const int64_t *restrict bound = asof->bound;
    uint32_t *restrict match = asof->match;
    uint32_t r = *at;
    for (; i < n; i++) {
        while (r < m && rt[r] <= bound[i])
            r++;
        if (r == m)
            break;
        match[i] = first + r;
    }
    *at = r;
    return i;
}

static uint32_t merge_page(op_seek *asof, uint32_t segment, uint32_t i, uint32_t n, uint32_t *at,
                           uint32_t m)
{
    const uint32_t first = asof->right->segment[segment].first;
    const int64_t *rt = alm_asof_times_of(&asof->rd, segment);
    uint32_t width = 0;
    const void *keys = alm_asof_keys_of(&asof->rd, segment, &width);
    static const uint8_t zero[ALM_ASOF_PAGE];
    switch (width) {
    case 1:
        return merge_8(asof, keys, rt, i, n, at, m, first);
    case 2:
        return merge_16(asof, keys, rt, i, n, at, m, first);
    case 4:
        return merge_32(asof, keys, rt, i, n, at, m, first);
    default:
        break;
    }
    if (asof->right->keys == ALM_ASOF_NO_KEY)
        return merge_0(asof, rt, i, n, at, m, first);
    /* all keys of the segment are null: zeroes, by row of the page */
    const uint32_t base = *at / ALM_ASOF_PAGE * ALM_ASOF_PAGE;
    uint32_t row = *at - base;
    i = merge_8(asof, zero, rt + base, i, n, &row, m - base, first + base);
    *at = base + row;
    return i;
}

static alm_status op_asof_seek_merge(alm_ctx *cx, op_seek *asof, uint32_t n)
{
    const alm_asof_right *right = asof->right;
    uint32_t i = 0;
    while (i < n && asof->k->pos < right->n) {
        asof->k->segment = alm_asof_segment_of(right, asof->k->pos, asof->k->segment);
        const alm_asof_segment *seg = &right->segment[asof->k->segment];
        uint32_t place = asof->k->pos - seg->first;
        const uint32_t end = ALM_MIN(seg->rows, (place / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE);
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_touch(cx, &asof->rd, asof->k->segment, place, end, false));
        i = merge_page(asof, asof->k->segment, i, n, &place, end);
        asof->k->pos = seg->first + place;
    }
    const bool keyed = right->keys != ALM_ASOF_NO_KEY;
    for (; i < n; i++)
        asof->match[i] = keyed ? asof->k->last[asof->number[i]] : asof->k->pos;
    if (asof->k->complete || !keyed)
        return ALM_OK;
    for (i = 0; i < n; i++) {
        if (asof->match[i] > asof->k->run_from || asof->number[i] == right->n_numbers)
            continue;
        ALM_TRY(op_asof_seek_look_up(cx, asof, asof->number[i], &asof->match[i]));
    }
    return gap_pays(asof) ? fill_gap(cx, asof) : ALM_OK;
}

/* ---------------------------------------------------------------------------------- search */

static alm_status op_asof_seek_search(alm_ctx *cx, op_seek *asof, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pos = 0;
        if ((i & 255) == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_position(cx, &asof->rd, asof->bound[i], asof->k->pos, &pos));
        if (asof->right->keys == ALM_ASOF_NO_KEY) {
            asof->match[i] = asof->k->pos = pos;
            continue;
        }
        op_asof_seek(asof, pos);
        if (asof->number[i] == asof->right->n_numbers)
            asof->match[i] = 0;
        else if (asof->k->complete)
            asof->match[i] = asof->k->last[asof->number[i]];
        else
            ALM_TRY(op_asof_seek_look_up(cx, asof, asof->number[i], &asof->match[i]));
        if (gap_pays(asof))
            ALM_TRY(fill_gap(cx, asof));
    }
    return ALM_OK;
}

/* First rows at or behind the positions of the bounds. */
/* Does the batch begin before what position `pos` has left behind? */
static alm_status op_asof_seek_is_behind(alm_ctx *cx, op_seek *asof, uint32_t pos, bool *out)
{
    *out = false;
    if (pos == 0)
        return ALM_OK;
    const uint32_t segment = alm_asof_segment_of(asof->right, pos - 1, asof->k->segment);
    const uint32_t row = pos - 1 - asof->right->segment[segment].first;
    ALM_TRY(alm_asof_touch(cx, &asof->rd, segment, row, row + 1, false));
    *out = alm_asof_times_of(&asof->rd, segment)[row] > asof->bound[0];
    return ALM_OK;
}

static alm_status search_ahead(alm_ctx *cx, op_seek *asof, uint32_t n, uint32_t *match)
{
    bool behind = false;
    ALM_TRY(op_asof_seek_is_behind(cx, asof, asof->k->ahead_pos, &behind));
    if (behind) {
        memset(asof->k->ahead_at, 0,
               ((size_t)asof->right->n_numbers + 1) * sizeof *asof->k->ahead_at);
        asof->k->ahead_pos = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = asof->number[i];
        uint32_t pos = 0;
        if ((i & 255) == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_position(cx, &asof->rd, asof->bound[i], asof->k->ahead_pos, &pos));
        asof->k->ahead_pos = pos;
        if (asof->right->keys == ALM_ASOF_NO_KEY) {
            match[i] = pos < asof->right->n ? pos + 1 : 0;
            continue;
        }
        match[i] = 0;
        if (k == asof->right->n_numbers)
            continue;
        const bool known = asof->k->ahead_at[k] != 0 && asof->k->ahead_at[k] - 1 <= pos &&
                           (asof->k->ahead[k] == 0 || asof->k->ahead[k] > pos);
        if (!known) {
            ALM_TRY(alm_asof_look_ahead(cx, &asof->rd, k, pos, asof->right->n, &asof->k->ahead[k]));
            asof->k->ahead_at[k] = pos + 1;
        }
        match[i] = asof->k->ahead[k];
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ left batch */

static alm_status op_asof_seek_left_numbers(alm_ctx *cx, op_seek *asof, alm_batch *batch)
{
    const alm_asof_right *right = asof->right;
    const uint32_t none = right->n_numbers;
    if (right->keys == ALM_ASOF_NO_KEY) {
        memset(asof->number, 0, batch->rows * sizeof *asof->number);
        return ALM_OK;
    }
    if (right->keys == ALM_ASOF_CODE)
        ALM_TRY(
            alm_join_probe_dict(cx, &asof->probe, right->dict, &asof->arena, batch, asof->number));
    else
        ALM_TRY(
            alm_join_probe_map(cx, &asof->probe, right->map, &asof->arena, batch, asof->number));
    for (uint32_t i = 0; i < batch->rows; i++)
        asof->number[i] = ALM_MIN(asof->number[i], none);
    return ALM_OK;
}

static alm_status match_back(alm_ctx *cx, op_seek *asof, uint32_t n)
{
    uint32_t first = 0, end = 0;
    bool behind = false;
    ALM_TRY(op_asof_seek_is_behind(cx, asof, asof->k->pos, &behind));
    if (behind)
        op_asof_seek_forget(asof);
    ALM_TRY(alm_asof_position(cx, &asof->rd, asof->bound[0], asof->k->pos, &first));
    if (first - asof->k->pos > NEAR_ROWS)
        op_asof_seek(asof, first);
    ALM_TRY(alm_asof_position(cx, &asof->rd, asof->bound[n - 1], first, &end));
    if ((uint64_t)(end - asof->k->pos) > (uint64_t)n * SPARSE_TIMES)
        return op_asof_seek_search(cx, asof, n);
    return op_asof_seek_merge(cx, asof, n);
}

/* Of both neighbours the nearer one; the earlier one if they are equally far. */
static alm_status choose_nearest(alm_ctx *cx, op_seek *asof, uint32_t n)
{
    int64_t *back = NULL, *ahead = NULL;
    ALM_TRY(alm_asof_gather_times(cx, &asof->rd, &asof->arena, asof->match, n, &back));
    ALM_TRY(alm_asof_gather_times(cx, &asof->rd, &asof->arena, asof->later, n, &ahead));
    for (uint32_t i = 0; i < n; i++) {
        const bool one = asof->match[i] == 0 || asof->later[i] == 0;
        if (one ? asof->match[i] == 0
                : alm_asof_distance(&asof->right->units, asof->time[i], ahead[i]) <
                      alm_asof_distance(&asof->right->units, asof->time[i], back[i]))
            asof->match[i] = asof->later[i];
    }
    return ALM_OK;
}

static alm_status op_asof_seek_apply_tolerance(alm_ctx *cx, op_seek *asof, uint32_t n)
{
    int64_t *at = NULL;
    if (asof->right->units.tolerance < 0)
        return ALM_OK;
    ALM_TRY(alm_asof_gather_times(cx, &asof->rd, &asof->arena, asof->match, n, &at));
    for (uint32_t i = 0; i < n; i++)
        if (asof->match[i] != 0 && alm_asof_too_far(&asof->right->units, asof->time[i], at[i]))
            asof->match[i] = 0;
    return ALM_OK;
}

static alm_status op_asof_seek_match_batch(alm_ctx *cx, op_seek *asof, alm_batch *left)
{
    const alm_asof_units *units = &asof->right->units;
    const uint32_t n_rows = left->rows;
    alm_vec *ts = NULL;
    ALM_TRY(alm_batch_column(cx, &asof->arena, left, asof->op.plan->join.left_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &asof->arena, ts, n_rows, &asof->time));
    ALM_TRY(op_asof_seek_left_numbers(cx, asof, left));
    if (asof->direction != ALM_ASOF_FORWARD) {
        ALM_TRY(alm_asof_bounds(cx, &asof->arena, ts, n_rows, units, asof->strict, &asof->bound));
        ALM_TRY(match_back(cx, asof, n_rows));
    }
    if (asof->direction != ALM_ASOF_BACKWARD) {
        ALM_TRY(alm_asof_bounds(cx, &asof->arena, ts, n_rows, units, !asof->strict, &asof->bound));
        ALM_TRY(search_ahead(cx, asof, n_rows,
                             asof->direction == ALM_ASOF_FORWARD ? asof->match : asof->later));
    }
    if (asof->direction == ALM_ASOF_NEAREST)
        ALM_TRY(choose_nearest(cx, asof, n_rows));
    return op_asof_seek_apply_tolerance(cx, asof, n_rows);
}

/* -------------------------------------------------------------------------------- operator */

static alm_status new_lane(alm_ctx *cx, op_seek *asof, int64_t offset)
{
    if (asof->n_lanes == asof->cap_lanes) {
        const uint32_t cap = ALM_MAX(2 * asof->cap_lanes, 1U);
        ALM_TRY(alm_pool_grow(cx, &asof->pool, &asof->lanes, asof->n_lanes * sizeof *asof->lanes,
                              cap * sizeof *asof->lanes));
        asof->cap_lanes = cap;
    }
    lane *k = asof->k = &asof->lanes[asof->n_lanes];
    *k = (lane){.offset = offset, .complete = true};
    const size_t bytes = ((size_t)asof->right->n_numbers + 1) * sizeof *k->last;
    if (asof->direction != ALM_ASOF_FORWARD) {
        ALM_TRY(alm_pool_zero(cx, &asof->pool, bytes, &k->last));
        ALM_TRY(alm_pool_zero(cx, &asof->pool, bytes, &k->back));
        ALM_TRY(alm_pool_zero(cx, &asof->pool, bytes, &k->asof));
    }
    if (asof->direction != ALM_ASOF_BACKWARD) {
        ALM_TRY(alm_pool_zero(cx, &asof->pool, bytes, &k->ahead));
        ALM_TRY(alm_pool_zero(cx, &asof->pool, bytes, &k->ahead_at));
    }
    asof->n_lanes++;
    return ALM_OK;
}

/* Batches of a horizon are in time order among those of the same offset. */
static alm_status choose_lane(alm_ctx *cx, op_seek *asof, alm_batch *left)
{
    int64_t offset = 0;
    if (asof->op.plan->join.has_lane) {
        alm_vec *vec = NULL;
        ALM_TRY(alm_batch_column(cx, &asof->arena, left, asof->op.plan->join.lane_col, &vec));
        offset = *(const int64_t *)vec->data;
    }
    for (uint32_t i = 0; i < asof->n_lanes; i++)
        if (asof->lanes[i].offset == offset) {
            asof->k = &asof->lanes[i];
            return ALM_OK;
        }
    return new_lane(cx, asof, offset);
}

static alm_status op_asof_seek_get_ready(alm_ctx *cx, op_seek *asof)
{
    const alm_join_shared *shared = NULL;
    if (asof->right != NULL)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, asof->op.run, asof->op.plan, &shared));
    if (asof->direction != ALM_ASOF_BACKWARD)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->later));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &asof->match));
    ALM_TRY(alm_asof_reader_new(cx, shared->asof, &asof->rd));
    asof->right = shared->asof;
    return ALM_OK;
}

static alm_status seek_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_seek *asof = (op_seek *)op;
    alm_batch *left = NULL;
    *out = NULL;
    ALM_TRY(op_asof_seek_get_ready(cx, asof));
    alm_arena_reset(&op->batch);
    alm_arena_reset(&asof->arena);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    if (left == NULL)
        return ALM_OK;
    ALM_TRY(choose_lane(cx, asof, left));
    ALM_TRY(op_asof_seek_match_batch(cx, asof, left));
    memcpy(op->out.cols, left->cols, left->n_cols * sizeof *left->cols);
    op->out.rows = left->rows;
    op->out.sel = left->sel;
    *out = &op->out;
    return alm_asof_gather(cx, &asof->rd, &op->batch, asof->match, left->rows,
                           op->out.cols + left->n_cols);
}

static void seek_close(alm_op *op)
{
    op_seek *asof = (op_seek *)op;
    alm_join_probe_free(&asof->probe);
    alm_pool_deinit(&asof->pool);
    alm_arena_deinit(&asof->arena);
}

static void seek_hint(alm_op *op, int64_t rows)
{
    alm_op_hint(op->child[0], rows);
}

static int64_t seek_count(alm_ctx *cx, alm_op *op)
{
    return alm_op_count(cx, op->child[0]);
}

static bool seek_skip(alm_op *op, int64_t rows)
{
    return alm_op_skip(op->child[0], rows);
}

static const alm_op_vt seek_vt = {.name = "asof join",
                                  .next = seek_next,
                                  .close = seek_close,
                                  .hint = seek_hint,
                                  .count = seek_count,
                                  .skip = seek_skip};

alm_status alm_op_asof_seek_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                                 alm_op **out)
{
    op_seek *asof = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &asof));
    ALM_TRY(alm_op_init(cx, &asof->op, &seek_vt, run, plan, pipe));
    alm_arena_init(&asof->arena, cx->mem);
    alm_pool_init(&asof->pool, cx->mem, seek_vt.name);
    *out = &asof->op;
    asof->strict = plan->join.kind == ALM_JOIN_LT;
    asof->direction = plan->join.direction;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols + plan->child[1]->n_cols);
    ALM_TRY(alm_op_child(cx, &asof->op, 0));
    return alm_join_probe_new(cx, plan, seek_vt.name, &asof->probe);
}
