/*
 * op_join_test.c - hash and cross joins against all pairs.
 *
 * Goal        Every kind of join, with keys of every kind (symbols of other dictionaries, texts against
 *             symbols, numbers, several), with and without residual conditions, gives exactly the
 *             pairs that a loop over all pairs finds, in the order promised; on one thread and four.
 */
#include "exec/join/two_tables_for_test.h"

static const uint8_t kinds[] = {ALM_JOIN_INNER, ALM_JOIN_LEFT, ALM_JOIN_RIGHT,
                                ALM_JOIN_FULL,  ALM_JOIN_SEMI, ALM_JOIN_ANTI};

typedef struct key_case {
    uint32_t n;
    uint32_t left[2], right[2];
} key_case;

static const key_case keys[] = {
    {1, {COL_SYM}, {COL_SYM}},
    {1, {COL_N}, {COL_N}},
    {1, {COL_X}, {COL_X}},
    {1, {COL_TEXT}, {COL_TEXT}},
    {1, {COL_SYM}, {COL_TEXT}},
    {1, {COL_TEXT}, {COL_SYM}},
    {1, {COL_FLAG}, {COL_FLAG}},
    {2, {COL_SYM, COL_N}, {COL_SYM, COL_N}},
    {2, {COL_TEXT, COL_FLAG}, {COL_SYM, COL_FLAG}},
    {0, {0}, {0}},
};

static bool pair_joins(const side_table *l, int64_t i, const side_table *r, int64_t j,
                       const key_case *k, bool residual)
{
    for (uint32_t c = 0; c < k->n; c++)
        if (!same(cell_of(l, i, k->left[c]), cell_of(r, j, k->right[c])))
            return false;
    return !residual || cell_of(l, i, COL_X) < cell_of(r, j, COL_X);
}

/* Rows as pairs of row numbers, -1 for nulls. */
typedef struct pairs {
    int64_t (*row)[2];
    int64_t n, cap;
} pairs;

static void add_pair(pairs *p, int64_t i, int64_t j)
{
    if (p->n == p->cap) {
        p->cap = 2 * p->cap + 100;
        p->row = realloc(p->row, (size_t)p->cap * sizeof *p->row);
    }
    p->row[p->n][0] = i;
    p->row[p->n++][1] = j;
}

static pairs all_pairs(const side_table *l, const side_table *r, uint8_t kind, const key_case *k,
                       bool residual)
{
    pairs p = {0};
    bool *met = calloc((size_t)r->rows + 1, sizeof *met);
    for (int64_t i = 0; i < l->rows; i++) {
        bool any = false;
        for (int64_t j = 0; j < r->rows; j++) {
            if (!pair_joins(l, i, r, j, k, residual))
                continue;
            if (kind != ALM_JOIN_ANTI && !(kind == ALM_JOIN_SEMI && any))
                add_pair(&p, i, j);
            any = met[j] = true;
        }
        if (!any && (kind == ALM_JOIN_LEFT || kind == ALM_JOIN_FULL || kind == ALM_JOIN_ANTI))
            add_pair(&p, i, -1);
    }
    for (int64_t j = 0; j < r->rows; j++)
        if (!met[j] && (kind == ALM_JOIN_RIGHT || kind == ALM_JOIN_FULL))
            add_pair(&p, -1, j);
    free(met);
    return p;
}

static alm_plan *make_plan(const side_table *l, const side_table *r, uint8_t kind,
                           const key_case *k, bool residual, bool filtered)
{
    alm_plan *left = p_scan(&w->m, &l->t), *right = p_scan(&w->m, &r->t);
    if (filtered) /* true for all rows, but the batch comes with a selection */
        p_where(&w->m, left, x_two(&w->m, ">", x_col(&w->m, left, COL_N), x_long(&w->m, -5)));
    alm_plan *join = p_join(&w->m, kind, left, right);
    for (uint32_t c = 0; c < k->n; c++)
        join_key(&w->m, join, k->left[c], k->right[c]);
    if (residual) {
        alm_expr *right_x = x_new(&w->m, ALM_X_COL, ALM_TY(DOUBLE));
        right_x->col = COLS + COL_X;
        join->join.residual[join->join.n_residual++] =
            x_two(&w->m, "<", x_col(&w->m, left, COL_X), right_x);
    }
    return join;
}

static void expect_pairs(const alm_plan *plan, const side_table *l, const side_table *r,
                         const pairs *want)
{
    alm_workers *const workers[] = {w->one, w->four};
    for (int t = 0; t < 2; t++) {
        result res = run_with(plan, workers[t]);
        assert_int_equal(res.n, want->n);
        for (int64_t i = 0; i < res.n; i++)
            for (uint32_t c = 0; c < res.n_cols; c++) {
                const double x = c < COLS ? cell_of(l, want->row[i][0], c)
                                          : cell_of(r, want->row[i][1], c - COLS);
                const double null = c % COLS == COL_FLAG ? 0 : NAN; /* BOOLEAN has none */
                const bool no_row = want->row[i][c >= COLS] < 0;
                assert_true(same(got(&res, i, c), no_row ? null : x));
            }
        free(res.v);
    }
}

static void check_all(const side_table *l, const side_table *r)
{
    for (size_t k = 0; k < ALM_COUNT(keys); k++)
        for (size_t kind = 0; kind < sizeof kinds; kind++)
            for (int residual = 0; residual < 2; residual++) {
                if (keys[k].n == 0 && residual == 0 && kinds[kind] >= ALM_JOIN_SEMI)
                    continue; /* never planned */
                pairs want = all_pairs(l, r, kinds[kind], &keys[k], residual);
                alm_plan *plan = make_plan(l, r, kinds[kind], &keys[k], residual, false);
                expect_pairs(plan, l, r, &want);
                free(want.row);
            }
}

static void joins_agree_with_all_pairs(void **state)
{
    (void)state;
    side_table l, r;
    fill_table(&l, 240, 90, 1, 1, 9, 40, 1000);
    fill_table(&r, 90, 40, 2, 4, 14, 40, 1000);
    check_all(&l, &r);
    check_all(&r, &l);
    check_all(&l, &l); /* one dictionary */
}

static void joins_with_empty_sides(void **state)
{
    (void)state;
    side_table l, none;
    fill_table(&l, 50, 20, 1, 1, 9, 10, 1000);
    fill_table(&none, 0, 20, 2, 1, 3, 10, 1000);
    check_all(&l, &none);
    check_all(&none, &l);
    check_all(&none, &none);
}

static void left_rows_under_a_selection(void **state)
{
    (void)state;
    side_table l, r, some;
    fill_table(&l, 500, 200, 1, 1, 9, 40, 1000);
    fill_table(&r, 60, 40, 2, 4, 14, 40, 1000);
    some = l; /* the rows that pass the filter: n is not null */
    some.cell = malloc((size_t)l.rows * COLS * sizeof(double));
    some.rows = 0;
    for (int64_t i = 0; i < l.rows; i++)
        if (!isnan(cell_of(&l, i, COL_N)))
            memcpy(some.cell + some.rows++ * COLS, l.cell + i * COLS, COLS * sizeof(double));
    for (size_t k = 0; k < ALM_COUNT(keys); k++)
        for (size_t kind = 0; kind < 2; kind++) {
            pairs want = all_pairs(&some, &r, kinds[kind], &keys[k], false);
            alm_plan *plan = make_plan(&l, &r, kinds[kind], &keys[k], false, true);
            expect_pairs(plan, &some, &r, &want);
            free(want.row);
        }
    free(some.cell);
}

/* One left row has more candidates than a batch holds. */
static void candidates_over_several_batches(void **state)
{
    (void)state;
    side_table l, r;
    const key_case none = {0}, flag = {1, {COL_FLAG}, {COL_FLAG}};
    fill_table(&l, 6, 4, 1, 1, 9, 40, 1000);
    fill_table(&r, 20000, 7000, 2, 4, 14, 40, 1000);
    for (size_t kind = 0; kind < sizeof kinds; kind++)
        for (int keyed = 0; keyed < 2; keyed++) {
            pairs want = all_pairs(&l, &r, kinds[kind], keyed ? &flag : &none, true);
            expect_pairs(make_plan(&l, &r, kinds[kind], keyed ? &flag : &none, true, false), &l, &r,
                         &want);
            free(want.row);
        }
    pairs want = all_pairs(&l, &r, ALM_JOIN_CROSS, &none, false);
    expect_pairs(make_plan(&l, &r, ALM_JOIN_CROSS, &none, false, false), &l, &r, &want);
    free(want.row);
}

/* The join as part of a parallel pipeline gives one answer for any number of threads. */
static void group_over_a_join(void **state)
{
    (void)state;
    side_table l, r;
    fill_table(&l, 300000, 70000, 1, 1, 9, 5000, 1000);
    fill_table(&r, 3000, 1000, 2, 4, 14, 5000, 1000);
    const key_case n = {1, {COL_N}, {COL_N}};
    alm_plan *join = make_plan(&l, &r, ALM_JOIN_INNER, &n, false, false);
    alm_expr *group_keys[] = {x_col(&w->m, join, COLS + COL_SYM)};
    const alm_agg_call aggs[] = {x_agg(&w->m, "count", NULL),
                                 x_agg(&w->m, "sum", x_col(&w->m, join, COL_X))};
    alm_plan *group = p_group(&w->m, join, 1, group_keys, 2, aggs);
    result a = run_with(group, w->one), b = run_with(group, w->four);
    double total = 0, count[5001] = {0}, want = 0;
    for (int64_t j = 0; j < r.rows; j++)
        count[isnan(cell_of(&r, j, COL_N)) ? 5000 : (int)cell_of(&r, j, COL_N)]++;
    for (int64_t i = 0; i < l.rows; i++)
        want += count[isnan(cell_of(&l, i, COL_N)) ? 5000 : (int)cell_of(&l, i, COL_N)];
    assert_int_equal(a.n, b.n);
    for (int64_t i = 0; i < a.n; i++) {
        total += got(&a, i, 1);
        for (uint32_t c = 0; c < 3; c++)
            assert_true(same(got(&a, i, c), got(&b, i, c)));
    }
    assert_true(total == want);
    free(a.v);
    free(b.v);
}

static void memory_limit_names_the_join(void **state)
{
    (void)state;
    side_table l, r;
    const key_case n = {1, {COL_N}, {COL_N}};
    fill_table(&l, 10, 10, 1, 1, 9, 40, 1000);
    fill_table(&r, 100000, 70000, 2, 4, 14, 40, 1000);
    alm_plan *plan = make_plan(&l, &r, ALM_JOIN_INNER, &n, false, false);
    const alm_exec_env env = {.scans = &fake_scans, .workers = w->one, .registry = w->m.registry};
    alm_exec *ex = NULL;
    alm_batch *b = NULL;
    w->mem.limit_bytes = w->mem.used_bytes + 2000000;
    must(&w->m, alm_exec_open(&w->cx, plan, &env, &ex));
    assert_int_equal(alm_exec_next(&w->cx, ex, &b), ALM_E_MEMORY);
    assert_non_null(strstr(w->cx.err.msg, "join"));
    alm_exec_close(ex);
    w->mem.limit_bytes = 0;
    alm_error_clear(&w->cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(joins_agree_with_all_pairs, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(joins_with_empty_sides, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(left_rows_under_a_selection, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(candidates_over_several_batches, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(group_over_a_join, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(memory_limit_names_the_join, world_setup, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
