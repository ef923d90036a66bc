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

static void forget(op_seek *a)
{
    const size_t bytes = ((size_t)a->right->n_numbers + 1) * sizeof *a->k->last;
    memset(a->k->last, 0, bytes);
    memset(a->k->back, 0, bytes);
    memset(a->k->asof, 0, bytes);
    a->k->pos = a->k->run_from = a->k->floor = 0;
    a->k->complete = true;
}

static void seek(op_seek *a, uint32_t pos)
{
    if (a->k->complete && pos != a->k->pos) {
        memcpy(a->k->back, a->k->last, ((size_t)a->right->n_numbers + 1) * sizeof *a->k->last);
        a->k->floor = a->k->pos;
        a->k->complete = false;
    }
    a->k->run_from = a->k->pos = pos;
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
static alm_status fill_gap(alm_ctx *cx, op_seek *a)
{
    const alm_asof_right *right = a->right;
    uint32_t s = a->k->floor < right->n ? alm_asof_segment_of(right, a->k->floor, 0) : 0;
    for (uint32_t row = a->k->floor; row < a->k->run_from; s++) {
        const alm_asof_segment *seg = &right->segment[s];
        const uint32_t end = ALM_MIN(seg->rows, a->k->run_from - seg->first);
        for (uint32_t at = row - seg->first; at < end; row = seg->first + at) {
            const uint32_t to = ALM_MIN(end, (at / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE);
            uint32_t width = 0;
            ALM_TRY(alm_check(cx));
            ALM_TRY(alm_asof_touch(cx, &a->rd, s, at, to, false));
            const void *keys = alm_asof_keys_of(&a->rd, s, &width);
            if (width == 0)
                a->k->back[0] = ALM_MAX(a->k->back[0], seg->first + to);
            else if (width == 1)
                fill_8(keys, at, to, seg->first, a->k->back);
            else if (width == 2)
                fill_16(keys, at, to, seg->first, a->k->back);
            else
                fill_32(keys, at, to, seg->first, a->k->back);
            at = to;
        }
    }
    for (uint32_t k = 0; k < right->n_numbers; k++)
        a->k->last[k] = ALM_MAX(a->k->last[k], a->k->back[k]);
    a->k->complete = true;
    a->k->walked = 0;
    return ALM_OK;
}

/* Newest row of a key before the run. */
static alm_status look_up(alm_ctx *cx, op_seek *a, uint32_t k, uint32_t *match)
{
    if (a->k->asof[k] != a->k->run_from) {
        const uint32_t lo = ALM_MAX(a->k->floor, a->k->asof[k]);
        uint32_t found = 0;
        ALM_TRY(alm_asof_look_back(cx, &a->rd, k, lo, a->k->run_from, &found));
        a->k->walked += a->k->run_from - (found != 0 ? found : lo);
        if (found != 0)
            a->k->back[k] = found;
        a->k->asof[k] = a->k->run_from;
        if (a->k->last[k] <= a->k->run_from)
            a->k->last[k] = a->k->back[k];
    }
    *match = a->k->back[k];
    return ALM_OK;
}

static bool gap_pays(const op_seek *a)
{
    return !a->k->complete && a->k->walked > WALK_MIN &&
           a->k->walked > (uint64_t)(a->k->run_from - a->k->floor) + a->right->n_numbers;
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
static uint32_t merge_0(const op_seek *a, const int64_t *restrict rt, uint32_t i, uint32_t n,
                        uint32_t *at, uint32_t m, uint32_t first)
{
    const int64_t *restrict bound = a->bound;
    uint32_t *restrict match = a->match;
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

static uint32_t merge_page(op_seek *a, uint32_t s, uint32_t i, uint32_t n, uint32_t *at, uint32_t m)
{
    const uint32_t first = a->right->segment[s].first;
    const int64_t *rt = alm_asof_times_of(&a->rd, s);
    uint32_t width = 0;
    const void *keys = alm_asof_keys_of(&a->rd, s, &width);
    static const uint8_t zero[ALM_ASOF_PAGE];
    switch (width) {
    case 1:
        return merge_8(a, keys, rt, i, n, at, m, first);
    case 2:
        return merge_16(a, keys, rt, i, n, at, m, first);
    case 4:
        return merge_32(a, keys, rt, i, n, at, m, first);
    default:
        break;
    }
    if (a->right->keys == ALM_ASOF_NO_KEY)
        return merge_0(a, rt, i, n, at, m, first);
    /* all keys of the segment are null: zeroes, by row of the page */
    const uint32_t base = *at / ALM_ASOF_PAGE * ALM_ASOF_PAGE;
    uint32_t r = *at - base;
    i = merge_8(a, zero, rt + base, i, n, &r, m - base, first + base);
    *at = base + r;
    return i;
}

static alm_status merge(alm_ctx *cx, op_seek *a, uint32_t n)
{
    const alm_asof_right *right = a->right;
    uint32_t i = 0;
    while (i < n && a->k->pos < right->n) {
        a->k->segment = alm_asof_segment_of(right, a->k->pos, a->k->segment);
        const alm_asof_segment *seg = &right->segment[a->k->segment];
        uint32_t at = a->k->pos - seg->first;
        const uint32_t end = ALM_MIN(seg->rows, (at / ALM_ASOF_PAGE + 1) * ALM_ASOF_PAGE);
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_touch(cx, &a->rd, a->k->segment, at, end, false));
        i = merge_page(a, a->k->segment, i, n, &at, end);
        a->k->pos = seg->first + at;
    }
    const bool keyed = right->keys != ALM_ASOF_NO_KEY;
    for (; i < n; i++)
        a->match[i] = keyed ? a->k->last[a->number[i]] : a->k->pos;
    if (a->k->complete || !keyed)
        return ALM_OK;
    for (i = 0; i < n; i++) {
        if (a->match[i] > a->k->run_from || a->number[i] == right->n_numbers)
            continue;
        ALM_TRY(look_up(cx, a, a->number[i], &a->match[i]));
    }
    return gap_pays(a) ? fill_gap(cx, a) : ALM_OK;
}

/* ---------------------------------------------------------------------------------- search */

static alm_status search(alm_ctx *cx, op_seek *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pos = 0;
        if ((i & 255) == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_position(cx, &a->rd, a->bound[i], a->k->pos, &pos));
        if (a->right->keys == ALM_ASOF_NO_KEY) {
            a->match[i] = a->k->pos = pos;
            continue;
        }
        seek(a, pos);
        if (a->number[i] == a->right->n_numbers)
            a->match[i] = 0;
        else if (a->k->complete)
            a->match[i] = a->k->last[a->number[i]];
        else
            ALM_TRY(look_up(cx, a, a->number[i], &a->match[i]));
        if (gap_pays(a))
            ALM_TRY(fill_gap(cx, a));
    }
    return ALM_OK;
}

/* First rows at or behind the positions of the bounds. */
/* Does the batch begin before what position `pos` has left behind? */
static alm_status is_behind(alm_ctx *cx, op_seek *a, uint32_t pos, bool *out)
{
    *out = false;
    if (pos == 0)
        return ALM_OK;
    const uint32_t s = alm_asof_segment_of(a->right, pos - 1, a->k->segment);
    const uint32_t row = pos - 1 - a->right->segment[s].first;
    ALM_TRY(alm_asof_touch(cx, &a->rd, s, row, row + 1, false));
    *out = alm_asof_times_of(&a->rd, s)[row] > a->bound[0];
    return ALM_OK;
}

static alm_status search_ahead(alm_ctx *cx, op_seek *a, uint32_t n, uint32_t *match)
{
    bool behind = false;
    ALM_TRY(is_behind(cx, a, a->k->ahead_pos, &behind));
    if (behind) {
        memset(a->k->ahead_at, 0, ((size_t)a->right->n_numbers + 1) * sizeof *a->k->ahead_at);
        a->k->ahead_pos = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = a->number[i];
        uint32_t pos = 0;
        if ((i & 255) == 0)
            ALM_TRY(alm_check(cx));
        ALM_TRY(alm_asof_position(cx, &a->rd, a->bound[i], a->k->ahead_pos, &pos));
        a->k->ahead_pos = pos;
        if (a->right->keys == ALM_ASOF_NO_KEY) {
            match[i] = pos < a->right->n ? pos + 1 : 0;
            continue;
        }
        match[i] = 0;
        if (k == a->right->n_numbers)
            continue;
        const bool known = a->k->ahead_at[k] != 0 && a->k->ahead_at[k] - 1 <= pos &&
                           (a->k->ahead[k] == 0 || a->k->ahead[k] > pos);
        if (!known) {
            ALM_TRY(alm_asof_look_ahead(cx, &a->rd, k, pos, a->right->n, &a->k->ahead[k]));
            a->k->ahead_at[k] = pos + 1;
        }
        match[i] = a->k->ahead[k];
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ left batch */

static alm_status left_numbers(alm_ctx *cx, op_seek *a, alm_batch *in)
{
    const alm_asof_right *right = a->right;
    const uint32_t none = right->n_numbers;
    if (right->keys == ALM_ASOF_NO_KEY) {
        memset(a->number, 0, in->rows * sizeof *a->number);
        return ALM_OK;
    }
    if (right->keys == ALM_ASOF_CODE)
        ALM_TRY(alm_join_probe_dict(cx, &a->probe, right->dict, &a->arena, in, a->number));
    else
        ALM_TRY(alm_join_probe_map(cx, &a->probe, right->map, &a->arena, in, a->number));
    for (uint32_t i = 0; i < in->rows; i++)
        a->number[i] = ALM_MIN(a->number[i], none);
    return ALM_OK;
}

static alm_status match_back(alm_ctx *cx, op_seek *a, uint32_t n)
{
    uint32_t first = 0, end = 0;
    bool behind = false;
    ALM_TRY(is_behind(cx, a, a->k->pos, &behind));
    if (behind)
        forget(a);
    ALM_TRY(alm_asof_position(cx, &a->rd, a->bound[0], a->k->pos, &first));
    if (first - a->k->pos > NEAR_ROWS)
        seek(a, first);
    ALM_TRY(alm_asof_position(cx, &a->rd, a->bound[n - 1], first, &end));
    if ((uint64_t)(end - a->k->pos) > (uint64_t)n * SPARSE_TIMES)
        return search(cx, a, n);
    return merge(cx, a, n);
}

/* Of both neighbours the nearer one; the earlier one if they are equally far. */
static alm_status choose_nearest(alm_ctx *cx, op_seek *a, uint32_t n)
{
    int64_t *back = NULL, *ahead = NULL;
    ALM_TRY(alm_asof_gather_times(cx, &a->rd, &a->arena, a->match, n, &back));
    ALM_TRY(alm_asof_gather_times(cx, &a->rd, &a->arena, a->later, n, &ahead));
    for (uint32_t i = 0; i < n; i++) {
        const bool one = a->match[i] == 0 || a->later[i] == 0;
        if (one ? a->match[i] == 0
                : alm_asof_distance(&a->right->units, a->time[i], ahead[i]) <
                      alm_asof_distance(&a->right->units, a->time[i], back[i]))
            a->match[i] = a->later[i];
    }
    return ALM_OK;
}

static alm_status apply_tolerance(alm_ctx *cx, op_seek *a, uint32_t n)
{
    int64_t *at = NULL;
    if (a->right->units.tolerance < 0)
        return ALM_OK;
    ALM_TRY(alm_asof_gather_times(cx, &a->rd, &a->arena, a->match, n, &at));
    for (uint32_t i = 0; i < n; i++)
        if (a->match[i] != 0 && alm_asof_too_far(&a->right->units, a->time[i], at[i]))
            a->match[i] = 0;
    return ALM_OK;
}

static alm_status match_batch(alm_ctx *cx, op_seek *a, alm_batch *left)
{
    const alm_asof_units *units = &a->right->units;
    const uint32_t n = left->rows;
    alm_vec *ts = NULL;
    ALM_TRY(alm_batch_column(cx, &a->arena, left, a->op.plan->join.left_ts, &ts));
    ALM_TRY(alm_asof_times(cx, &a->arena, ts, n, &a->time));
    ALM_TRY(left_numbers(cx, a, left));
    if (a->direction != ALM_ASOF_FORWARD) {
        ALM_TRY(alm_asof_bounds(cx, &a->arena, ts, n, units, a->strict, &a->bound));
        ALM_TRY(match_back(cx, a, n));
    }
    if (a->direction != ALM_ASOF_BACKWARD) {
        ALM_TRY(alm_asof_bounds(cx, &a->arena, ts, n, units, !a->strict, &a->bound));
        ALM_TRY(search_ahead(cx, a, n, a->direction == ALM_ASOF_FORWARD ? a->match : a->later));
    }
    if (a->direction == ALM_ASOF_NEAREST)
        ALM_TRY(choose_nearest(cx, a, n));
    return apply_tolerance(cx, a, n);
}

/* -------------------------------------------------------------------------------- operator */

static alm_status new_lane(alm_ctx *cx, op_seek *a, int64_t offset)
{
    if (a->n_lanes == a->cap_lanes) {
        const uint32_t cap = ALM_MAX(2 * a->cap_lanes, 1U);
        ALM_TRY(alm_pool_grow(cx, &a->pool, &a->lanes, a->n_lanes * sizeof *a->lanes,
                              cap * sizeof *a->lanes));
        a->cap_lanes = cap;
    }
    lane *k = a->k = &a->lanes[a->n_lanes];
    *k = (lane){.offset = offset, .complete = true};
    const size_t bytes = ((size_t)a->right->n_numbers + 1) * sizeof *k->last;
    if (a->direction != ALM_ASOF_FORWARD) {
        ALM_TRY(alm_pool_zero(cx, &a->pool, bytes, &k->last));
        ALM_TRY(alm_pool_zero(cx, &a->pool, bytes, &k->back));
        ALM_TRY(alm_pool_zero(cx, &a->pool, bytes, &k->asof));
    }
    if (a->direction != ALM_ASOF_BACKWARD) {
        ALM_TRY(alm_pool_zero(cx, &a->pool, bytes, &k->ahead));
        ALM_TRY(alm_pool_zero(cx, &a->pool, bytes, &k->ahead_at));
    }
    a->n_lanes++;
    return ALM_OK;
}

/* Batches of a horizon are in time order among those of the same offset. */
static alm_status choose_lane(alm_ctx *cx, op_seek *a, alm_batch *left)
{
    int64_t offset = 0;
    if (a->op.plan->join.has_lane) {
        alm_vec *v = NULL;
        ALM_TRY(alm_batch_column(cx, &a->arena, left, a->op.plan->join.lane_col, &v));
        offset = *(const int64_t *)v->data;
    }
    for (uint32_t i = 0; i < a->n_lanes; i++)
        if (a->lanes[i].offset == offset) {
            a->k = &a->lanes[i];
            return ALM_OK;
        }
    return new_lane(cx, a, offset);
}

static alm_status get_ready(alm_ctx *cx, op_seek *a)
{
    const alm_join_shared *shared = NULL;
    if (a->right != NULL)
        return ALM_OK;
    ALM_TRY(alm_op_shared(cx, a->op.run, a->op.plan, &shared));
    if (a->direction != ALM_ASOF_BACKWARD)
        ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->later));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->number));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &a->match));
    ALM_TRY(alm_asof_reader_new(cx, shared->asof, &a->rd));
    a->right = shared->asof;
    return ALM_OK;
}

static alm_status seek_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_seek *a = (op_seek *)op;
    alm_batch *left = NULL;
    *out = NULL;
    ALM_TRY(get_ready(cx, a));
    alm_arena_reset(&op->batch);
    alm_arena_reset(&a->arena);
    ALM_TRY(alm_op_next(cx, op->child[0], &left));
    if (left == NULL)
        return ALM_OK;
    ALM_TRY(choose_lane(cx, a, left));
    ALM_TRY(match_batch(cx, a, left));
    memcpy(op->out.cols, left->cols, left->n_cols * sizeof *left->cols);
    op->out.rows = left->rows;
    op->out.sel = left->sel;
    *out = &op->out;
    return alm_asof_gather(cx, &a->rd, &op->batch, a->match, left->rows,
                           op->out.cols + left->n_cols);
}

static void seek_close(alm_op *op)
{
    op_seek *a = (op_seek *)op;
    alm_join_probe_free(&a->probe);
    alm_pool_deinit(&a->pool);
    alm_arena_deinit(&a->arena);
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
    op_seek *a = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &a));
    ALM_TRY(alm_op_init(cx, &a->op, &seek_vt, run, plan, pipe));
    alm_arena_init(&a->arena, cx->mem);
    alm_pool_init(&a->pool, cx->mem, seek_vt.name);
    *out = &a->op;
    a->strict = plan->join.kind == ALM_JOIN_LT;
    a->direction = plan->join.direction;
    ALM_ASSERT(plan->n_cols == plan->child[0]->n_cols + plan->child[1]->n_cols);
    ALM_TRY(alm_op_child(cx, &a->op, 0));
    return alm_join_probe_new(cx, plan, seek_vt.name, &a->probe);
}
