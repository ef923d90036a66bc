/*
 * Goal    What a load keeps of its snapshot keeps no files.
 * Method  A table with parts is dropped while a snapshot, and then one that was narrowed to it, is held.
 */
#include "storage/state.h"
#include "storage/table_fixture.h"

static int count_parts(void *arg, const char *name)
{
    *(int *)arg += strstr(name, ".part") != NULL || strstr(name, ".pack") != NULL;
    return 0;
}

static int parts_of(fixture *f)
{
    int n = 0;
    (void)alm_sim_io(f->sim)->list(alm_sim_io(f->sim), "/r/db/tables/1", count_parts, &n);
    return n;
}

static void a_narrow_snapshot_keeps_no_files(void **state)
{
    fixture *f = fix_new_manual(1);
    alm_snapshot *wide = NULL, *narrow = NULL, *none = NULL;
    (void)state;
    fix_load(f, 300, 0, DAY);
    assert_true(parts_of(f) > 0);
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &wide), ALM_OK);
    const alm_table *t = alm_snapshot_find(wide, ALM_STR("t"));
    assert_int_equal(alm_snapshot_narrow(&f->cx, wide, t, &narrow), ALM_OK);
    assert_int_equal(alm_snapshot_narrow(&f->cx, wide, NULL, &none), ALM_OK);
    assert_int_equal(alm_table_drop(&f->cx, f->st, ALM_STR("t"), NULL), ALM_OK);
    assert_true(parts_of(f) > 0); /* the wide one reads them */
    alm_snapshot_release(wide);
    assert_int_equal(parts_of(f), 0);
    t = alm_snapshot_find(narrow, ALM_STR("t"));
    assert_non_null(t);
    assert_int_equal(t->n_cols, COLS);
    assert_string_equal(t->cols[COL_SYM].name, "sym");
    assert_int_equal(alm_snapshot_count(narrow), 1);
    assert_int_equal(alm_snapshot_count(none), 0);
    assert_null(alm_snapshot_find(none, ALM_STR("t")));
    alm_snapshot_release(narrow);
    alm_snapshot_release(none);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_narrow_snapshot_keeps_no_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
