/*
 * op_window_test.c - window functions against frames listed row by row.
 *
 * Goal        Every function over every kind of frame, with and without partitions, order, filter,
 *             EXCLUDE and IGNORE NULLS, gives what the definition says; the streaming way and the way
 *             that holds rows agree with it, with times that tie within batches and across them.
 * Method      The oracle sorts each partition, lists the rows of each frame and folds them. Spans of a
 *             few rows make batches end everywhere.
 */
#include "exec/join/two_tables_for_test.h"
#include "func/window/window.h"

enum { ROWS = 96 };

static side_table t;

typedef struct window_case {
    const char *fn;
    int arg;        /* column, -1: none */
    int64_t offset; /* lag, lead, nth_value, ntile: INT64_MIN: not given */
    bool other;     /* lag, lead: default -1 */
    int part[2];    /* columns, -1 */
    int order[2];   /* columns, -1 */
    bool desc;
    uint8_t frame, lo_kind, hi_kind, exclude;
    int64_t lo, hi;
    bool ignore_nulls, filter;
} window_case;

static const window_case plain = {.arg = -1,
                                  .offset = INT64_MIN,
                                  .part = {-1, -1},
                                  .order = {-1, -1},
                                  .frame = ALM_FRAME_ROWS,
                                  .lo_kind = ALM_BOUND_UNBOUNDED_PRECEDING,
                                  .hi_kind = ALM_BOUND_UNBOUNDED_FOLLOWING};

/* ------------------------------------------------------------------------------------ oracle */

static int compare_cells(double a, double b, uint32_t col)
{
    if (isnan(a) || isnan(b)) /* nulls first; of floating columns last */
        return isnan(a) && isnan(b) ? 0 : (isnan(a) != 0) == (col == COL_X) ? 1 : -1;
    return a < b ? -1 : a > b;
}

static int by_order(const window_case *c, int64_t a, int64_t b)
{
    for (int k = 0; k < 2 && c->order[k] >= 0; k++) {
        const uint32_t col = (uint32_t)c->order[k];
        const int r = compare_cells(cell_of(&t, a, col), cell_of(&t, b, col), col);
        if (r != 0)
            return c->desc ? -r : r;
    }
    return 0;
}

static bool in_partition(const window_case *c, int64_t a, int64_t b)
{
    for (int k = 0; k < 2 && c->part[k] >= 0; k++)
        if (!same(cell_of(&t, a, (uint32_t)c->part[k]), cell_of(&t, b, (uint32_t)c->part[k])))
            return false;
    return true;
}

/* Partitions in window order, made once for a PARTITION BY and ORDER BY. */
typedef struct ordered {
    window_case of;
    int n;
    int64_t list[ROWS];
    int group[ROWS]; /* of ties, by place */
} ordered;

static ordered partition_of[ROWS]; /* by row */
static int place_of[ROWS];

/* By stable insertion. */
static void sort_partition(const window_case *c, int64_t row, ordered *p)
{
    p->n = 0;
    for (int64_t r = 0; r < t.rows; r++) {
        if (!in_partition(c, row, r))
            continue;
        int at = p->n++;
        for (; at > 0 && by_order(c, p->list[at - 1], r) > 0; at--)
            p->list[at] = p->list[at - 1];
        p->list[at] = r;
    }
    for (int i = 0; i < p->n; i++) {
        p->group[i] = i == 0 ? 0 : p->group[i - 1] + (by_order(c, p->list[i - 1], p->list[i]) != 0);
        if (p->list[i] == row)
            place_of[row] = i;
    }
    p->of = *c;
}

static const ordered *partition_rows(const window_case *c, int64_t row)
{
    ordered *p = &partition_of[row];
    if (p->n == 0 || memcmp(p->of.part, c->part, sizeof c->part) != 0 ||
        memcmp(p->of.order, c->order, sizeof c->order) != 0 || p->of.desc != c->desc)
        sort_partition(c, row, p);
    return p;
}

/* Is the row at place k before (or at) the start of the frame of place i, and so on: by distance. */
static bool in_frame(const window_case *c, const ordered *p, int i, int k)
{
    const int64_t *list = p->list;
    const int n = p->n;
    int lo = 0, hi = n - 1;
    if (c->frame == ALM_FRAME_ROWS) {
        lo = c->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING ? 0
             : c->lo_kind == ALM_BOUND_PRECEDING         ? i - (int)c->lo
             : c->lo_kind == ALM_BOUND_FOLLOWING         ? i + (int)c->lo
                                                         : i;
        hi = c->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ? n - 1
             : c->hi_kind == ALM_BOUND_PRECEDING         ? i - (int)c->hi
             : c->hi_kind == ALM_BOUND_FOLLOWING         ? i + (int)c->hi
                                                         : i;
        return k >= lo && k <= hi;
    }
    if (c->frame == ALM_FRAME_GROUPS) {
        const int groups = p->group[k] - p->group[i];
        const bool after = c->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING ||
                           groups >= (c->lo_kind == ALM_BOUND_PRECEDING   ? -c->lo
                                      : c->lo_kind == ALM_BOUND_FOLLOWING ? c->lo
                                                                          : 0);
        const bool before = c->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ||
                            groups <= (c->hi_kind == ALM_BOUND_PRECEDING   ? -c->hi
                                       : c->hi_kind == ALM_BOUND_FOLLOWING ? c->hi
                                                                           : 0);
        return after && before;
    }
    const int tie = by_order(c, list[k], list[i]); /* RANGE */
    bool after = c->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING || tie >= 0,
         before = c->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING || tie <= 0;
    if (c->order[0] >= 0) {
        const double a = cell_of(&t, list[i], (uint32_t)c->order[0]);
        const double b = cell_of(&t, list[k], (uint32_t)c->order[0]);
        const double step = c->desc ? a - b : b - a; /* how far k lies behind i in order */
        if (c->lo_kind == ALM_BOUND_PRECEDING || c->lo_kind == ALM_BOUND_FOLLOWING) {
            const double from = c->lo_kind == ALM_BOUND_PRECEDING ? -(double)c->lo : (double)c->lo;
            after = isnan(a) ? tie >= 0 : isnan(b) ? false : step >= from;
        }
        if (c->hi_kind == ALM_BOUND_PRECEDING || c->hi_kind == ALM_BOUND_FOLLOWING) {
            const double to = c->hi_kind == ALM_BOUND_PRECEDING ? -(double)c->hi : (double)c->hi;
            before = isnan(a) ? tie <= 0 : isnan(b) ? false : step <= to;
        }
        if (isnan(b) && !isnan(a)) { /* a null is in only where that side has no bound */
            after =
                c->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING ||
                (c->lo_kind == ALM_BOUND_CURRENT && tie >= 0) ||
                (k > i && (c->lo_kind == ALM_BOUND_PRECEDING || c->lo_kind == ALM_BOUND_FOLLOWING));
            before =
                c->hi_kind == ALM_BOUND_UNBOUNDED_FOLLOWING ||
                (c->hi_kind == ALM_BOUND_CURRENT && tie <= 0) ||
                (k < i && (c->hi_kind == ALM_BOUND_PRECEDING || c->hi_kind == ALM_BOUND_FOLLOWING));
        }
    }
    return after && before;
}

static bool excluded(const window_case *c, const int64_t *list, int i, int k)
{
    if (c->exclude == ALM_EXCLUDE_CURRENT)
        return k == i;
    const bool tie = by_order(c, list[i], list[k]) == 0;
    return c->exclude == ALM_EXCLUDE_GROUP  ? tie
           : c->exclude == ALM_EXCLUDE_TIES ? tie && k != i
                                            : false;
}

static double fold(const char *fn, const double *v, int n)
{
    double sum = 0, least = INFINITY, most = -INFINITY, mean = 0, squares = 0;
    int some = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(v[i]))
            continue;
        some++;
        sum += v[i];
        least = fmin(least, v[i]);
        most = fmax(most, v[i]);
    }
    if (strcmp(fn, "count") == 0)
        return some;
    mean = sum / some;
    for (int i = 0; i < n; i++)
        squares += isnan(v[i]) ? 0 : (v[i] - mean) * (v[i] - mean);
    if (strcmp(fn, "stddev_samp") == 0)
        return some < 2 ? NAN : sqrt(squares / (some - 1));
    if (some == 0)
        return NAN;
    return strcmp(fn, "sum") == 0   ? sum
           : strcmp(fn, "avg") == 0 ? mean
           : strcmp(fn, "min") == 0 ? least
                                    : most;
}

static double rank_value(const window_case *c, const int64_t *list, int n, int i)
{
    int rank = 1, dense = 1, upto = 0;
    for (int k = 0; k < n; k++) {
        if (by_order(c, list[k], list[i]) <= 0)
            upto++;
        if (by_order(c, list[k], list[i]) < 0) {
            rank++;
            dense += k == 0 || by_order(c, list[k - 1], list[k]) != 0;
        }
    }
    if (strcmp(c->fn, "row_number") == 0)
        return i + 1;
    if (strcmp(c->fn, "rank") == 0)
        return rank;
    if (strcmp(c->fn, "dense_rank") == 0)
        return dense;
    if (strcmp(c->fn, "percent_rank") == 0)
        return n == 1 ? 0 : (rank - 1) / (n - 1.0);
    if (strcmp(c->fn, "cume_dist") == 0)
        return upto / (double)n;
    const int k = (int)c->offset, small = n / k, larger = n % k; /* ntile */
    int bucket = 1, left = small + (larger > 0);
    for (int p = 0; p < i; p++)
        if (--left == 0) {
            bucket++;
            left = small + (bucket <= larger);
        }
    return bucket;
}

static double shifted(const window_case *c, const int64_t *list, int n, int i)
{
    const int step = strcmp(c->fn, "lag") == 0 ? -1 : 1;
    int64_t left = c->offset == INT64_MIN ? 1 : c->offset;
    if (left == 0)
        return cell_of(&t, list[i], (uint32_t)c->arg);
    for (int k = i + step; k >= 0 && k < n; k += step) {
        const double v = cell_of(&t, list[k], (uint32_t)c->arg);
        if (c->ignore_nulls && isnan(v))
            continue;
        if (--left == 0)
            return v;
    }
    return c->other ? -1 : NAN;
}

static double expected(const window_case *c, int64_t row)
{
    double v[ROWS];
    const ordered *p = partition_rows(c, row);
    const int64_t *list = p->list;
    const int n = p->n, i = place_of[row];
    int m = 0;
    static const char *const ranks[] = {"row_number",   "rank",      "dense_rank",
                                        "percent_rank", "cume_dist", "ntile"};
    for (size_t k = 0; k < ALM_COUNT(ranks); k++)
        if (strcmp(c->fn, ranks[k]) == 0)
            return rank_value(c, list, n, i);
    if (strcmp(c->fn, "lag") == 0 || strcmp(c->fn, "lead") == 0)
        return shifted(c, list, n, i);
    for (int k = 0; k < n; k++) {
        if (!in_frame(c, p, i, k) || excluded(c, list, i, k))
            continue;
        if (c->filter && cell_of(&t, list[k], COL_FLAG) == 0)
            continue;
        const double x = c->arg < 0 ? 0 : cell_of(&t, list[k], (uint32_t)c->arg);
        if (!c->ignore_nulls || !isnan(x))
            v[m++] = x;
    }
    if (strcmp(c->fn, "first_value") == 0)
        return m > 0 ? v[0] : NAN;
    if (strcmp(c->fn, "last_value") == 0)
        return m > 0 ? v[m - 1] : NAN;
    if (strcmp(c->fn, "nth_value") == 0)
        return m >= c->offset ? v[c->offset - 1] : NAN;
    return fold(c->fn, v, m);
}

/* ------------------------------------------------------------------------------------- plans */

static alm_window_call call_of(const alm_plan *scan, const window_case *c, bool order_is_ts)
{
    plan_maker *m = &w->m;
    alm_expr *args[3];
    uint32_t n = 0;
    if (c->arg >= 0)
        args[n++] = x_col(m, scan, (uint32_t)c->arg);
    if (c->offset != INT64_MIN || c->other)
        args[n++] = x_long(m, c->offset == INT64_MIN ? 1 : c->offset);
    if (c->other)
        args[n++] = c->arg == COL_N ? x_long(m, -1) : x_double(m, -1);
    const bool window = alm_registry_has(m->registry, alm_str_of(c->fn), ALM_FN_WINDOW);
    const alm_resolved r = x_resolve(m, c->fn, window ? ALM_FN_WINDOW : ALM_FN_AGGREGATE, n, args);
    alm_window_call call = {.fn = r.fn,
                            .data = r.data,
                            .n_args = n,
                            .ignore_nulls = c->ignore_nulls,
                            .type = r.result,
                            .frame = c->frame,
                            .lo_kind = c->lo_kind,
                            .hi_kind = c->hi_kind,
                            .lo = c->lo,
                            .hi = c->hi,
                            .exclude = c->exclude,
                            .order_is_ts = order_is_ts,
                            .pos = -1};
    must(m, ALM_NEWN(m->cx, m->cx->arena, 4, &call.args));
    must(m, ALM_NEWN(m->cx, m->cx->arena, 2, &call.partition));
    must(m, ALM_NEWN(m->cx, m->cx->arena, 2, &call.order));
    memcpy(call.args, args, n * sizeof *args);
    for (int k = 0; k < 2 && c->part[k] >= 0; k++)
        call.partition[call.n_partition++] = x_col(m, scan, (uint32_t)c->part[k]);
    for (int k = 0; k < 2 && c->order[k] >= 0; k++)
        call.order[call.n_order++] =
            (alm_sort_key){.expr = x_col(m, scan, (uint32_t)c->order[k]),
                           .desc = c->desc,
                           .nulls_first = (c->order[k] == COL_X) == c->desc};
    if (c->filter)
        call.filter = x_col(m, scan, COL_FLAG);
    return call;
}

static alm_plan *p_window(alm_plan *child, const alm_window_call *calls, uint32_t n)
{
    plan_maker *m = &w->m;
    alm_plan *p = p_new(m, ALM_P_WINDOW, child);
    must(m, ALM_NEWN(m->cx, m->cx->arena, n, &p->window.calls));
    must(m, ALM_NEWN(m->cx, m->cx->arena, child->n_cols + n + 1, &p->cols));
    memcpy(p->window.calls, calls, n * sizeof *calls);
    memcpy(p->cols, child->cols, child->n_cols * sizeof *p->cols);
    for (uint32_t i = 0; i < n; i++)
        p->cols[child->n_cols + i] = (alm_plan_col){"", calls[i].type};
    p->window.n_calls = n;
    p->n_cols = child->n_cols + n;
    return p;
}

static void describe(const window_case *c, int64_t row, double is, double want, bool streams)
{
    fprintf(stderr,
            "%s arg %d part %d order %d%s frame %d %d:%lld %d:%lld x%d nulls %d filter %d %s: "
            "row %lld is %g, want %g\n",
            c->fn, c->arg, c->part[0], c->order[0], c->desc ? " desc" : "", c->frame, c->lo_kind,
            (long long)c->lo, c->hi_kind, (long long)c->hi, c->exclude, c->ignore_nulls, c->filter,
            streams ? "in input order" : "", (long long)row, is, want);
}

/* All cases in one plan per way; the child's columns must come through. */
static void check_cases(const window_case *cases, uint32_t n, bool order_is_ts)
{
    alm_plan *scan = p_scan(&w->m, &t.t);
    alm_window_call *calls = calloc(n, sizeof *calls);
    for (uint32_t i = 0; i < n; i++)
        calls[i] = call_of(scan, &cases[i],
                           order_is_ts && cases[i].order[0] == COL_TS && cases[i].order[1] < 0 &&
                               !cases[i].desc);
    result r = run_with(p_window(scan, calls, n), w->one);
    assert_int_equal(r.n, t.rows);
    for (int64_t row = 0; row < r.n; row++) {
        for (uint32_t c = 0; c < COLS; c++)
            assert_true(same(got(&r, row, c), cell_of(&t, row, c)));
        for (uint32_t i = 0; i < n; i++) {
            const double is = got(&r, row, COLS + i), want = expected(&cases[i], row);
            if (!near(is, want))
                describe(&cases[i], row, is, want, order_is_ts);
            assert_true(near(is, want));
        }
    }
    free(r.v);
    free(calls);
}

/* Both ways where there are two, each call on its own and so on its own way. */
static void check_case(const window_case *c)
{
    check_cases(c, 1, false);
    if (c->order[0] == COL_TS && !c->desc && c->order[1] < 0)
        check_cases(c, 1, true);
}

static int setup(void **state)
{
    const int r = world_setup(state);
    fill_table(&t, ROWS, 7, 1, 1, 3, 12, 1000);
    memset(partition_of, 0, sizeof partition_of);
    return r;
}

/* ------------------------------------------------------------------------------------- cases */

static const int parts[][2] = {{-1, -1}, {COL_SYM, -1}, {COL_TEXT, -1}, {COL_SYM, COL_FLAG}};
static const int orders[][2] = {{-1, -1}, {COL_TS, -1}, {COL_N, -1}, {COL_X, COL_N}, {COL_SYM, -1}};

static void ranks_and_shifts(void **state)
{
    (void)state;
    static const struct {
        const char *fn;
        int arg;
        int64_t offset;
        bool other, nulls;
    } fns[] = {{"row_number", -1, INT64_MIN, 0, 0},
               {"rank", -1, INT64_MIN, 0, 0},
               {"dense_rank", -1, INT64_MIN, 0, 0},
               {"percent_rank", -1, INT64_MIN, 0, 0},
               {"cume_dist", -1, INT64_MIN, 0, 0},
               {"ntile", -1, 4, 0, 0},
               {"lag", COL_X, INT64_MIN, 0, 0},
               {"lag", COL_N, 3, 0, 0},
               {"lag", COL_N, 2, 1, 1},
               {"lag", COL_SYM, INT64_MIN, 0, 0},
               {"lag", COL_TEXT, 2, 0, 1},
               {"lag", COL_X, 0, 0, 0},
               {"lead", COL_X, INT64_MIN, 1, 0},
               {"lead", COL_N, 5, 0, 1},
               {"lead", COL_TEXT, INT64_MIN, 0, 0},
               {"lag", COL_TS, 40, 0, 0}};
    for (size_t p = 0; p < ALM_COUNT(parts); p++)
        for (size_t o = 0; o < ALM_COUNT(orders); o++)
            for (int desc = 0; desc < 2; desc++) {
                window_case c[ALM_COUNT(fns)];
                uint32_t n = 0;
                for (size_t f = 0; f < ALM_COUNT(fns); f++) {
                    c[n] = plain;
                    c[n].fn = fns[f].fn;
                    c[n].arg = fns[f].arg;
                    c[n].offset = fns[f].offset;
                    c[n].other = fns[f].other;
                    c[n].ignore_nulls = fns[f].nulls;
                    c[n].desc = desc;
                    memcpy(c[n].part, parts[p], sizeof parts[p]);
                    memcpy(c[n].order, orders[o], sizeof orders[o]);
                    if (c[n].order[0] >= 0) {
                        c[n].frame = ALM_FRAME_RANGE;
                        c[n].hi_kind = ALM_BOUND_CURRENT;
                    }
                    if (orders[o][0] == COL_TS && !desc)
                        check_case(&c[n]);
                    n++;
                }
                check_cases(c, n, false);
            }
}

typedef struct frame_case {
    uint8_t frame, lo_kind, hi_kind, exclude;
    int64_t lo, hi;
} frame_case;

static const frame_case frames[] = {
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_UNBOUNDED_FOLLOWING, ALM_EXCLUDE_NONE,
     0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 3, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_CURRENT, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 4, 2},
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 0, 2},
    {ALM_FRAME_ROWS, ALM_BOUND_FOLLOWING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 1, 3},
    {ALM_FRAME_ROWS, ALM_BOUND_CURRENT, ALM_BOUND_UNBOUNDED_FOLLOWING, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 2, 2},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_CURRENT, 2, 2},
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_UNBOUNDED_FOLLOWING,
     ALM_EXCLUDE_GROUP, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_TIES, 5, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 100, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_CURRENT, ALM_BOUND_UNBOUNDED_FOLLOWING, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 3000, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 0, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 9000, 900},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 2000, 2000},
    {ALM_FRAME_RANGE, ALM_BOUND_FOLLOWING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 1, 4000},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_CURRENT, 4000, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_GROUP, 4000, 9},
    {ALM_FRAME_GROUPS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_NONE, 2, 0},
    {ALM_FRAME_GROUPS, ALM_BOUND_CURRENT, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 0, 2},
    {ALM_FRAME_GROUPS, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 3, 1},
    {ALM_FRAME_GROUPS, ALM_BOUND_FOLLOWING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_NONE, 1, 2},
    {ALM_FRAME_GROUPS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_TIES, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_CURRENT, 3, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, ALM_EXCLUDE_CURRENT, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 9, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 2, 2},
    {ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 0,
     3000},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 3000, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, ALM_EXCLUDE_NONE, 3000, 3000},
    {ALM_FRAME_ROWS, ALM_BOUND_CURRENT, ALM_BOUND_CURRENT, ALM_EXCLUDE_CURRENT, 0, 0},
    {ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_UNBOUNDED_FOLLOWING, ALM_EXCLUDE_TIES,
     0, 0},
    {ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_UNBOUNDED_FOLLOWING,
     ALM_EXCLUDE_CURRENT, 0, 0},
    {ALM_FRAME_GROUPS, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, ALM_EXCLUDE_GROUP, 1, 1}};

static void check_frames(const char *const *fns, const int *args, size_t n_fns, bool ignore_nulls,
                         bool filter)
{
    for (size_t p = 0; p < 2; p++)
        for (size_t o = 1; o < 3; o++) /* ts, n */
            for (size_t k = 0; k < ALM_COUNT(frames); k++) {
                window_case c = plain;
                const frame_case *f = &frames[k];
                c.frame = f->frame;
                c.lo_kind = f->lo_kind;
                c.hi_kind = f->hi_kind;
                c.exclude = f->exclude;
                c.lo = o == 2 && f->frame == ALM_FRAME_RANGE ? f->lo / 1000 : f->lo;
                c.hi = o == 2 && f->frame == ALM_FRAME_RANGE ? f->hi / 1000 : f->hi;
                c.desc = o == 2 && k % 2 == 1;
                c.ignore_nulls = ignore_nulls;
                c.filter = filter;
                memcpy(c.part, parts[p], sizeof parts[p]);
                memcpy(c.order, orders[o], sizeof orders[o]);
                if (c.lo_kind == c.hi_kind && c.lo_kind == ALM_BOUND_PRECEDING && c.lo < c.hi)
                    continue;
                window_case all[8];
                for (size_t i = 0; i < n_fns; i++) {
                    all[i] = c;
                    all[i].fn = fns[i];
                    all[i].arg = args[i];
                    if (strcmp(fns[i], "nth_value") == 0)
                        all[i].offset = 2;
                }
                check_cases(all, (uint32_t)n_fns, false);
                check_cases(all, (uint32_t)n_fns, true);
            }
}

static void aggregates_over_frames(void **state)
{
    (void)state;
    static const char *const fns[] = {"sum", "avg", "min", "max", "count", "stddev_samp", "max"};
    static const int args[] = {COL_X, COL_X, COL_X, COL_N, COL_N, COL_X, COL_TS};
    check_frames(fns, args, ALM_COUNT(fns), false, false);
    static const char *const streamed[] = {"sum", "avg", "min", "max", "count", "count"};
    static const int some[] = {COL_X, COL_X, COL_X, COL_N, COL_TEXT, -1};
    check_frames(streamed, some, ALM_COUNT(streamed), false, false);
    check_frames(fns, args, 3, false, true);
}

static void values_over_frames(void **state)
{
    (void)state;
    static const char *const fns[] = {"first_value", "last_value", "nth_value", "first_value",
                                      "last_value"};
    static const int args[] = {COL_X, COL_N, COL_X, COL_TEXT, COL_SYM};
    check_frames(fns, args, ALM_COUNT(fns), false, false);
    check_frames(fns, args, ALM_COUNT(fns), true, false);
    check_frames(fns, args, 1, false, false); /* these alone may stream */
    check_frames(fns + 1, args + 1, 1, false, false);
    check_frames(fns, args, 1, true, false);
    check_frames(fns + 1, args + 1, 1, true, false);
}

/* One time for thousands of rows: they wait over several batches, and see each other. */
static void ties_over_many_batches(void **state)
{
    (void)state;
    enum { MANY = 30000, SAME_FROM = 100, SAME_TO = 25000 };
    side_table many;
    fill_table(&many, MANY, 9000, 1, 1, 3, 12, 1000);
    int64_t *ts = (int64_t *)many.t.data[COL_TS];
    for (int i = 0; i < MANY; i++)
        ts[i] = 1700000000000000 + (i < SAME_FROM ? i : i < SAME_TO ? SAME_FROM : i);
    t = many;
    window_case c = plain;
    c.fn = "count";
    c.order[0] = COL_TS;
    c.frame = ALM_FRAME_RANGE;
    c.hi_kind = ALM_BOUND_CURRENT;
    alm_plan *scan = p_scan(&w->m, &t.t);
    const alm_window_call call = call_of(scan, &c, true);
    result r = run_with(p_window(scan, &call, 1), w->one);
    assert_int_equal(r.n, MANY);
    for (int64_t i = 0; i < r.n; i++) {
        const double want = i < SAME_FROM || i >= SAME_TO ? (double)(i + 1) : (double)SAME_TO;
        assert_true(got(&r, i, COLS) == want);
        assert_true(same(got(&r, i, COL_X), cell_of(&t, i, COL_X)));
    }
    free(r.v);
}

/* The same calls as streams, over held rows in input order (beside a call that does not stream), and
 * dealt to partitions and sorted by one to four threads. */
static void streams_and_held_rows_agree(void **state)
{
    (void)state;
    enum { MANY = 60000, N = 10 };
    static const struct {
        const char *fn;
        int arg;
        uint8_t frame, lo_kind, hi_kind;
        int64_t lo, hi;
    } rows[N] = {
        {"sum", COL_X, ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, 20, 0},
        {"min", COL_N, ALM_FRAME_RANGE, ALM_BOUND_PRECEDING, ALM_BOUND_CURRENT, 90000, 0},
        {"avg", COL_X, ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_PRECEDING, 9, 3},
        {"count", -1, ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, 0, 0},
        {"rank", -1, ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, 0, 0},
        {"lag", COL_TS, ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, 0, 0},
        {"lead", COL_X, ALM_FRAME_RANGE, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_CURRENT, 0, 0},
        {"last_value", COL_N, ALM_FRAME_ROWS, ALM_BOUND_CURRENT, ALM_BOUND_UNBOUNDED_FOLLOWING, 0,
         0},
        {"max", COL_X, ALM_FRAME_ROWS, ALM_BOUND_UNBOUNDED_PRECEDING, ALM_BOUND_UNBOUNDED_FOLLOWING,
         0, 0},
        {"sum", COL_N, ALM_FRAME_ROWS, ALM_BOUND_PRECEDING, ALM_BOUND_FOLLOWING, 2, 2}};
    side_table many;
    fill_table(&many, MANY, 7001, 1, 1, 3, 12, 1000);
    t = many;
    alm_plan *scan = p_scan(&w->m, &t.t);
    for (size_t p = 0; p < 3; p++) {
        alm_window_call as_it_comes[N], sorted[N];
        for (int i = 0; i < N; i++) {
            window_case c = plain;
            c.fn = rows[i].fn;
            c.arg = rows[i].arg;
            c.frame = rows[i].frame;
            c.lo_kind = rows[i].lo_kind;
            c.hi_kind = rows[i].hi_kind;
            c.lo = rows[i].lo;
            c.hi = rows[i].hi;
            c.order[0] = COL_TS;
            memcpy(c.part, parts[p], sizeof parts[p]);
            as_it_comes[i] = call_of(scan, &c, true);
            sorted[i] = call_of(scan, &c, false);
        }
        result want = run_with(p_window(scan, sorted, N), w->one);
        result streamed = run_with(p_window(scan, as_it_comes, 6), w->one);
        for (uint32_t threads = 1; threads <= 4; threads++) {
            alm_workers *workers = NULL;
            must(&w->m, alm_workers_new(&w->cx, threads, &workers));
            result held = run_with(p_window(scan, as_it_comes, N), workers);
            result again = run_with(p_window(scan, sorted, N), workers);
            for (int64_t row = 0; row < MANY; row++)
                for (uint32_t i = COLS; i < COLS + N; i++) {
                    assert_true(same(got(&again, row, i), got(&want, row, i)));
                    assert_true(near(got(&held, row, i), got(&want, row, i)));
                    if (i < COLS + 6)
                        assert_true(same(got(&held, row, i), got(&streamed, row, i)));
                }
            free(held.v);
            free(again.v);
            alm_workers_free(workers);
        }
        free(want.v);
        free(streamed.v);
    }
}

/* Held rows count against the limit of the query. */
static void a_limit_of_memory_is_named(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    side_table many;
    fill_table(&many, MANY, 7001, 1, 1, 3, 12, 1000);
    t = many;
    alm_plan *scan = p_scan(&w->m, &t.t);
    window_case c = plain;
    c.fn = "lead";
    c.arg = COL_X;
    c.order[0] = COL_N;
    const alm_window_call call = call_of(scan, &c, false);
    const alm_exec_env env = {.scans = &fake_scans, .workers = w->four, .registry = w->m.registry};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->mem.limit_bytes = atomic_load(&w->mem.used_bytes) + (1 << 21);
    alm_status st = alm_exec_open(&w->cx, p_window(scan, &call, 1), &env, &ex);
    while (st == ALM_OK && (st = alm_exec_next(&w->cx, ex, &b)) == ALM_OK && b != NULL)
        ;
    assert_int_equal(st, ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "window"));
    alm_exec_close(ex);
    alm_error_clear(&w->cx);
    w->mem.limit_bytes = 0;
}

/* Rows that rank first are all there, with the ranks they have among all rows. */
static void check_top(const alm_plan *all, const alm_plan *some, alm_workers *workers, bool ties,
                      int64_t top)
{
    const uint32_t rank = COLS + (ties ? 1 : 0);
    result a = run_with(all, w->one), b = run_with(some, workers);
    int64_t k = 0;
    assert_true(b.n <= a.n);
    for (int64_t row = 0; row < a.n; row++) {
        if (got(&a, row, rank) > (double)top)
            continue;
        while (k < b.n && got(&b, k, rank) > (double)top)
            k++;
        assert_true(k < b.n);
        for (uint32_t c = 0; c < COLS + 3; c++)
            assert_true(same(got(&a, row, c), got(&b, k, c)));
        k++;
    }
    for (; k < b.n; k++)
        assert_true(got(&b, k, rank) > (double)top);
    free(a.v);
    free(b.v);
}

static void first_rows_of_each_partition(void **state)
{
    (void)state;
    enum { MANY = 12000 };
    static const int by[][2] = {{COL_N, -1}, {COL_X, COL_N}, {COL_TEXT, COL_X}, {COL_TS, -1}};
    static const int64_t tops[] = {1, 3, 50};
    static const char *const fns[] = {"row_number", "rank", "lag"};
    side_table many;
    fill_table(&many, MANY, 4000, 1, 1, 3, 12, 1000);
    t = many;
    alm_plan *scan = p_scan(&w->m, &t.t);
    for (size_t p = 0; p < ALM_COUNT(parts); p++)
        for (size_t o = 0; o < ALM_COUNT(by); o++)
            for (size_t k = 0; k < ALM_COUNT(tops) * 2; k++) {
                alm_window_call calls[3];
                for (int i = 0; i < 3; i++) {
                    window_case c = plain;
                    c.fn = fns[i];
                    c.arg = i == 2 ? COL_N : -1;
                    c.desc = (o + k) % 2 == 1;
                    memcpy(c.part, parts[p], sizeof parts[p]);
                    memcpy(c.order, by[o], sizeof by[o]);
                    calls[i] = call_of(scan, &c, false);
                }
                alm_plan *all = p_window(scan, calls, 3), *some = p_window(scan, calls, 3);
                some->window.top = tops[k / 2];
                some->window.top_ties = k % 2 == 1;
                check_top(all, some, k % 3 == 0 ? w->one : w->four, k % 2 == 1, tops[k / 2]);
            }
}

static void no_rows(void **state)
{
    (void)state;
    side_table none;
    fill_table(&none, 0, 17, 1, 1, 3, 12, 1000);
    t = none;
    window_case c[2] = {plain, plain};
    c[0].fn = "row_number";
    c[1].fn = "sum";
    c[1].arg = COL_X;
    check_cases(c, 1, false);
    check_cases(c, 2, false);
}

static void a_lag_of_nothing_is_refused(void **state)
{
    (void)state;
    alm_arg args[2] = {{.type = ALM_TY(DOUBLE), .pos = 3}, {.type = ALM_TY(LONG), .pos = 7}};
    const int64_t offset = -1;
    const alm_vec v = {
        .type = ALM_TY(LONG), .width = 8, .is_const = true, .data = (void *)(uintptr_t)&offset};
    alm_resolved r;
    args[1].value = &v;
    assert_int_equal(
        alm_registry_resolve(&w->cx, w->m.registry, ALM_STR("lag"), ALM_FN_WINDOW, 0, 2, args, &r),
        ALM_E_ARG);
    assert_int_equal(w->cx.err.sql_pos, 7);
    assert_string_equal(w->cx.err.msg, "offset must be a positive integer");
    alm_error_clear(&w->cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_and_shifts, setup, world_teardown),
        cmocka_unit_test_setup_teardown(aggregates_over_frames, setup, world_teardown),
        cmocka_unit_test_setup_teardown(values_over_frames, setup, world_teardown),
        cmocka_unit_test_setup_teardown(ties_over_many_batches, setup, world_teardown),
        cmocka_unit_test_setup_teardown(streams_and_held_rows_agree, setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_limit_of_memory_is_named, setup, world_teardown),
        cmocka_unit_test_setup_teardown(first_rows_of_each_partition, setup, world_teardown),
        cmocka_unit_test_setup_teardown(no_rows, setup, world_teardown),
        cmocka_unit_test_setup_teardown(a_lag_of_nothing_is_refused, setup, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
