/*
 * op_asof_test.c - ASOF, LT and SPLICE joins against a search per row.
 *
 * Goal        Each left row gets the last right row before it with its key, whatever the density of the
 *             two sides, the kind of key, tolerance and units; the store forgets nothing it needs.
 */
#include "exec/join/two_tables_for_test.h"

typedef struct key_case {
    uint32_t n;
    uint32_t left[2], right[2];
} key_case;

static const key_case keys[] = {
    {0, {0}, {0}},
    {1, {COL_SYM}, {COL_SYM}},
    {1, {COL_N}, {COL_N}},
    {1, {COL_TEXT}, {COL_SYM}},
    {1, {COL_SYM}, {COL_TEXT}},
    {2, {COL_SYM, COL_FLAG}, {COL_SYM, COL_FLAG}},
};

static bool keys_equal(const side_table *l, int64_t i, const side_table *r, int64_t j,
                       const key_case *k)
{
    for (uint32_t c = 0; c < k->n; c++)
        if (!same(cell_of(l, i, k->left[c]), cell_of(r, j, k->right[c])))
            return false;
    return true;
}

/* Searches backward from the last row in time; `scale`: right ticks per left tick. */
static int64_t prevailing(const side_table *l, int64_t i, const side_table *r, const key_case *k,
                          bool strict, int64_t tolerance)
{
    const double t = cell_of(l, i, COL_TS);
    int64_t lo = 0, hi = r->rows; /* first right row after t */
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        const double rt = cell_of(r, mid, COL_TS);
        if (strict ? rt < t : rt <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (int64_t j = lo; j-- > 0;)
        if (keys_equal(l, i, r, j, k))
            return tolerance < 0 || t - cell_of(r, j, COL_TS) <= (double)tolerance ? j : -1;
    return -1;
}

/* The right row a join in some direction takes; -1: none. */
static int64_t wanted_row(const side_table *l, int64_t i, const side_table *r, const key_case *k,
                          bool strict, int64_t tolerance, uint8_t direction)
{
    const double t = cell_of(l, i, COL_TS);
    const int64_t back = prevailing(l, i, r, k, strict, tolerance);
    if (direction == ALM_ASOF_BACKWARD)
        return back;
    int64_t ahead = -1, lo = 0, hi = r->rows; /* first right row at or after t */
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        const double rt = cell_of(r, mid, COL_TS);
        if (strict ? rt <= t : rt < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (int64_t j = lo; ahead < 0 && j < r->rows; j++)
        if (keys_equal(l, i, r, j, k))
            ahead = j;
    if (ahead >= 0 && tolerance >= 0 && cell_of(r, ahead, COL_TS) - t > (double)tolerance)
        ahead = -1;
    if (direction == ALM_ASOF_FORWARD || back < 0)
        return ahead;
    return ahead >= 0 && cell_of(r, ahead, COL_TS) - t < t - cell_of(r, back, COL_TS) ? ahead
                                                                                      : back;
}

/* stream: what the merge of two streams answers, else what looking at row numbers does. */
static void check_way(const side_table *l, const side_table *r, const key_case *k, uint8_t kind,
                      int64_t tolerance, uint8_t direction, bool stream)
{
    alm_plan *plan = p_join(&w->m, kind, p_scan(&w->m, &l->t), p_scan(&w->m, &r->t));
    for (uint32_t c = 0; c < k->n; c++)
        join_key(&w->m, plan, k->left[c], k->right[c]);
    plan->join.tolerance = tolerance;
    plan->join.direction = direction;
    plan->child[1]->est_rows = stream ? 1e15 : 0;
    result res = run_with(plan, w->one);
    assert_int_equal(res.n, l->rows);
    for (int64_t i = 0; i < res.n; i++) {
        const int64_t j = wanted_row(l, i, r, k, kind == ALM_JOIN_LT, tolerance, direction);
        for (uint32_t c = 0; c < 2 * COLS; c++) {
            const double want = c < COLS               ? cell_of(l, i, c)
                                : j >= 0               ? cell_of(r, j, c - COLS)
                                : c - COLS == COL_FLAG ? 0
                                                       : NAN;
            assert_true(same(got(&res, i, c), want));
        }
    }
    free(res.v);
}

static void check(const side_table *l, const side_table *r, const key_case *k, uint8_t kind,
                  int64_t tolerance)
{
    check_way(l, r, k, kind, tolerance, ALM_ASOF_BACKWARD, true);
    check_way(l, r, k, kind, tolerance, ALM_ASOF_BACKWARD, false);
    check_way(l, r, k, kind, tolerance, ALM_ASOF_FORWARD, false);
    check_way(l, r, k, kind, tolerance, ALM_ASOF_NEAREST, false);
}

static void check_all(const side_table *l, const side_table *r)
{
    for (size_t k = 0; k < ALM_COUNT(keys); k++) {
        check(l, r, &keys[k], ALM_JOIN_ASOF, -1);
        check(l, r, &keys[k], ALM_JOIN_LT, -1);
        check(l, r, &keys[k], ALM_JOIN_ASOF, 2000);
        check(l, r, &keys[k], ALM_JOIN_LT, 5000);
    }
}

static void dense_and_sparse_sides(void **state)
{
    (void)state;
    side_table l, r, thin, none;
    fill_table(&l, 3000, 900, 1, 1, 9, 20, 1000);
    fill_table(&r, 4000, 1100, 2, 4, 14, 20, 800);
    fill_table(&thin, 25, 10, 3, 2, 6, 20, 120000);
    fill_table(&none, 0, 10, 4, 2, 6, 20, 1000);
    check_all(&l, &r);
    check_all(&r, &l);
    check_all(&l, &l);
    check_all(&thin, &r);
    check_all(&l, &thin);
    check_all(&none, &r);
    check_all(&l, &none);
}

/* Long enough for the store to be cut several times, while a left batch is under way. */
static void store_is_cut(void **state)
{
    (void)state;
    side_table l, r;
    fill_table(&r, 600000, 100000, 2, 4, 14, 300, 10);
    fill_table(&l, 2000, 900, 1, 5, 12, 300, 3000);
    check(&l, &r, &keys[0], ALM_JOIN_ASOF, -1);
    check(&l, &r, &keys[1], ALM_JOIN_LT, -1);
    check(&l, &r, &keys[2], ALM_JOIN_ASOF, -1);
    fill_table(&l, 50000, 30000, 1, 5, 12, 300, 120);
    check(&l, &r, &keys[1], ALM_JOIN_ASOF, -1);
    check(&l, &r, &keys[2], ALM_JOIN_ASOF, 100000);
}

/* Nanoseconds on one side: the same answers as with microseconds on both. */
static void units_are_mixed(void **state)
{
    (void)state;
    side_table l, r;
    fill_table(&l, 1000, 300, 1, 1, 9, 20, 1000);
    fill_table(&r, 1500, 400, 2, 4, 14, 20, 800);
    for (int side = 0; side < 2; side++) {
        side_table *s = side == 0 ? &l : &r;
        side_table save = *s;
        int64_t *ns = column((size_t)s->rows, 8);
        for (int64_t i = 0; i < s->rows; i++)
            ns[i] = ((const int64_t *)s->t.data[COL_TS])[i] * 1000;
        s->t.data[COL_TS] = ns;
        s->t.col[COL_TS].type = ALM_TY(TIMESTAMP_NS);
        s->t.table.cols = s->t.col;
        alm_plan *plan = p_join(&w->m, ALM_JOIN_ASOF, p_scan(&w->m, &l.t), p_scan(&w->m, &r.t));
        join_key(&w->m, plan, COL_SYM, COL_SYM);
        plan->join.tolerance = side == 0 ? 3000000 : 3000; /* of the left timestamp */
        result res = run_with(plan, w->one);
        for (int64_t i = 0; i < res.n; i++) {
            const int64_t j = prevailing(&l, i, &r, &keys[1], false, 3000);
            assert_true(same(got(&res, i, COLS + COL_X), cell_of(&r, j, COL_X)));
        }
        assert_int_equal(res.n, l.rows);
        free(res.v);
        *s = save;
        s->t.table.cols = s->t.col;
    }
}

static size_t small_key(const side_table *t, int64_t row, uint32_t n_keys, uint32_t col)
{
    const double v = n_keys == 0 ? 0 : cell_of(t, row, col);
    return isnan(v) ? 256 : (size_t)v;
}

/* Morsels on one and on four threads: the rows one search per row finds. */
static void morsels_agree(void **state)
{
    (void)state;
    side_table l, r, thin;
    fill_table(&l, 500000, 90000, 1, 1, 30, 50, 10);
    fill_table(&r, 700000, 170000, 2, 4, 40, 50, 8);
    fill_table(&thin, 4000, 1500, 3, 2, 200, 50, 1200);
    const side_table *pairs[][2] = {{&l, &r}, {&l, &thin}, {&thin, &r}, {&r, &l}};
    for (size_t p = 0; p < ALM_COUNT(pairs); p++)
        for (size_t k = 0; k < 3; k++) {
            const side_table *a = pairs[p][0], *b = pairs[p][1];
            alm_plan *join = p_join(&w->m, k == 1 ? ALM_JOIN_LT : ALM_JOIN_ASOF,
                                    p_scan(&w->m, &a->t), p_scan(&w->m, &b->t));
            for (uint32_t c = 0; c < keys[k].n; c++)
                join_key(&w->m, join, keys[k].left[c], keys[k].right[c]);
            double sum = 0, n = 0;
            int64_t last[257], next = 0; /* by key (a small number, null, or none at all) */
            memset(last, 0xff, sizeof last);
            for (int64_t i = 0; i < a->rows; i++) {
                const double t = cell_of(a, i, COL_TS);
                for (; next < b->rows; next++) {
                    const double rt = cell_of(b, next, COL_TS);
                    if (k == 1 ? rt >= t : rt > t)
                        break;
                    last[small_key(b, next, keys[k].n, keys[k].right[0])] = next;
                }
                const int64_t j = last[small_key(a, i, keys[k].n, keys[k].left[0])];
                const double x = cell_of(b, j, COL_X);
                n += !isnan(x);
                sum += isnan(x) ? 0 : x * (cell_of(a, i, COL_FLAG) + 1);
            }
            alm_expr *flag = x_col(&w->m, join, COL_FLAG);
            alm_agg_call aggs[] = {x_agg(&w->m, "count", x_col(&w->m, join, COLS + COL_X)),
                                   x_agg(&w->m, "sum", x_col(&w->m, join, COLS + COL_X))};
            alm_plan *group = p_group(&w->m, join, 1, &flag, 2, aggs);
            for (int threads = 0; threads < 2; threads++) {
                result res = run_with(group, threads == 0 ? w->one : w->four);
                double got_n = 0, got_sum = 0;
                for (int64_t g = 0; g < res.n; g++) {
                    got_n += got(&res, g, 1);
                    got_sum += got(&res, g, 2) * (got(&res, g, 0) + 1);
                }
                assert_true(got_n == n);
                assert_true(near(got_sum, sum));
                free(res.v);
            }
        }
}

/* ----------------------------------------------------------------------------------- splice */

/* Every row of both sides appears beside what prevails; equal times and keys share a row. */
static void splice_rows(void **state)
{
    (void)state;
    side_table l, r;
    fill_table(&l, 700, 200, 1, 1, 9, 20, 1000);
    fill_table(&r, 900, 300, 2, 4, 14, 20, 800);
    int64_t *lt = (int64_t *)l.t.data[COL_TS], *rt = (int64_t *)r.t.data[COL_TS];
    for (int64_t i = 0; i < l.rows; i++) { /* one row per time and side: odd ones; a few shared */
        lt[i] = 1700000000000000 + 14 * i + (i % 5 == 0 ? 0 : 1);
        l.cell[i * COLS] = (double)lt[i];
    }
    for (int64_t i = 0; i < r.rows; i++) {
        rt[i] = 1700000000000000 + 10 * i;
        r.cell[i * COLS] = (double)rt[i];
    }
    for (size_t k = 0; k < 3; k++) {
        alm_plan *plan = p_join(&w->m, ALM_JOIN_SPLICE, p_scan(&w->m, &l.t), p_scan(&w->m, &r.t));
        for (uint32_t c = 0; c < keys[k].n; c++)
            join_key(&w->m, plan, keys[k].left[c], keys[k].right[c]);
        plan->order = ALM_ORDER_NONE; /* the left row that prevails comes again */
        result res = run_with(plan, w->one);
        int64_t at = 0, i = 0, j = 0;
        const key_case turned = {
            keys[k].n, {keys[k].right[0], keys[k].right[1]}, {keys[k].left[0], keys[k].left[1]}};
        while (i < l.rows || j < r.rows) { /* left first where times are equal */
            const bool left = j == r.rows || (i < l.rows && lt[i] <= rt[j]);
            int64_t a, b;
            if (left) {
                a = i++;
                b = prevailing(&l, a, &r, &keys[k], false, -1);
            } else {
                b = j++;
                a = prevailing(&r, b, &l, &turned, false, -1);
                if (a >= 0 && lt[a] == rt[b])
                    continue; /* came with the left row */
            }
            assert_true(at < res.n);
            assert_true(same(got(&res, at, COL_TS), cell_of(&l, a, COL_TS)));
            assert_true(same(got(&res, at, COL_X), cell_of(&l, a, COL_X)));
            assert_true(same(got(&res, at, COLS + COL_TS), cell_of(&r, b, COL_TS)));
            assert_true(same(got(&res, at, COLS + COL_X), cell_of(&r, b, COL_X)));
            at++;
        }
        assert_int_equal(at, res.n);
        free(res.v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dense_and_sparse_sides, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(store_is_cut, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(units_are_mixed, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(morsels_agree, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(splice_rows, world_setup, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
