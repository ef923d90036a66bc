/*
 * op_setop_test.c - UNION ALL, EXCEPT, INTERSECT, with and without ALL, against a search per row.
 */
#include "exec/join/two_tables_for_test.h"

static const uint32_t picked[] = {COL_SYM, COL_N, COL_TEXT};
enum { PICKED = 3 };

static alm_plan *some_columns(const side_table *t)
{
    alm_plan *scan = p_scan(&w->m, &t->t);
    alm_expr *e[PICKED];
    for (uint32_t i = 0; i < PICKED; i++)
        e[i] = x_col(&w->m, scan, picked[i]);
    return p_project(&w->m, scan, PICKED, e);
}

static bool rows_equal(const side_table *a, int64_t i, const side_table *b, int64_t j)
{
    for (uint32_t c = 0; c < PICKED; c++)
        if (!same(cell_of(a, i, picked[c]), cell_of(b, j, picked[c])))
            return false;
    return true;
}

static bool appears(const side_table *a, int64_t i, const side_table *b, int64_t below)
{
    for (int64_t j = 0; j < below; j++)
        if (rows_equal(a, i, b, j))
            return true;
    return false;
}

static bool stays(const side_table *a, int64_t i, const side_table *b, enum alm_set_kind kind)
{
    const bool there = appears(a, i, b, b->rows);
    switch (kind) {
    case ALM_SETOP_EXCEPT:
        return !there && !appears(a, i, a, i);
    case ALM_SETOP_EXCEPT_ALL:
        return !there;
    case ALM_SETOP_INTERSECT:
        return there && !appears(a, i, a, i);
    case ALM_SETOP_INTERSECT_ALL:
        return there;
    case ALM_SETOP_UNION_ALL:
        break;
    }
    return true;
}

static void check(const side_table *a, const side_table *b, enum alm_set_kind kind)
{
    alm_plan *left = some_columns(a), *plan = p_new(&w->m, ALM_P_SETOP, left);
    must(&w->m, ALM_NEWN(&w->cx, &w->arena, 2, &plan->child));
    plan->child[0] = left;
    plan->child[1] = some_columns(b);
    plan->n_children = 2;
    plan->setop.kind = kind;
    result res = run_with(plan, w->four);
    int64_t at = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        if (!stays(a, i, b, kind))
            continue;
        assert_true(at < res.n);
        for (uint32_t c = 0; c < PICKED; c++)
            assert_true(same(got(&res, at, c), cell_of(a, i, picked[c])));
        at++;
    }
    for (int64_t i = 0; kind == ALM_SETOP_UNION_ALL && i < b->rows; i++, at++)
        for (uint32_t c = 0; c < PICKED; c++)
            assert_true(same(got(&res, at, c), cell_of(b, i, picked[c])));
    assert_int_equal(at, res.n);
    free(res.v);
}

static void all_kinds(void **state)
{
    (void)state;
    static const enum alm_set_kind kinds[] = {ALM_SETOP_UNION_ALL, ALM_SETOP_EXCEPT,
                                              ALM_SETOP_EXCEPT_ALL, ALM_SETOP_INTERSECT,
                                              ALM_SETOP_INTERSECT_ALL};
    side_table a, b, none;
    fill_table(&a, 900, 250, 1, 1, 4, 3, 1000);
    fill_table(&b, 120, 50, 2, 2, 6, 3, 1000);
    fill_table(&none, 0, 50, 3, 2, 6, 3, 1000);
    for (size_t k = 0; k < ALM_COUNT(kinds); k++) {
        check(&a, &b, kinds[k]);
        check(&b, &a, kinds[k]);
        check(&a, &a, kinds[k]);
        check(&a, &none, kinds[k]);
        check(&none, &a, kinds[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_kinds, world_setup, world_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
