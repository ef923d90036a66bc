/*
 * op_asof_test.c - ASOF, LT and SPLICE joins against a search per row.
 *
 * Goal        Each left row gets the last right row before it with its key, whatever the density of the
 *             two sides, the kind of key, tolerance and units; the store forgets nothing it needs.
 */
#include "exec/two_tables_for_test.h"

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

static void check(const side_table *l, const side_table *r, const key_case *k, uint8_t kind,
                  int64_t tolerance)
{
    alm_plan *plan = p_join(&w->m, kind, p_scan(&w->m, &l->t), p_scan(&w->m, &r->t));
    for (uint32_t c = 0; c < k->n; c++)
        join_key(&w->m, plan, k->left[c], k->right[c]);
    plan->join.tolerance = tolerance;
    result res = run_with(plan, w->one);
    assert_int_equal(res.n, l->rows);
    for (int64_t i = 0; i < res.n; i++) {
        const int64_t j = prevailing(l, i, r, k, kind == ALM_JOIN_LT, tolerance);
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
        cmocka_unit_test_setup_teardown(splice_rows, world_setup, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
