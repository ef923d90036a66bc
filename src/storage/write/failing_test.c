/*
 * Goal    Background work that fails for one table pauses for that table and step alone, longer after damage the more often it
 *         fails, ends with a success or with the table, and is told as damage when it lasts. Errors of more than the table
 *         are returned as they are.
 */
#include "storage/write/failing.h"

#include "base/log.h"
#include "storage/table_fixture.h"

static const int64_t SECOND_NS = 1000000000;

static uint64_t table_of(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const uint64_t id = fix_table(snap)->id;
    alm_snapshot_release(snap);
    return id;
}

static alm_status fail_with(fixture *f, uint64_t id, alm_work_step step, alm_status code)
{
    const alm_status st =
        alm_work_result(&f->cx, f->st, id, "t", step, alm_fail(&f->cx, code, -1, "what happened"));
    if (st == ALM_OK)
        assert_int_equal(f->cx.err.code, ALM_OK);
    return st;
}

static int64_t pause_ns(fixture *f)
{
    return f->st->failing[0].again_ns - alm_sim_io(f->sim)->mono_ns(alm_sim_io(f->sim));
}

static void pauses_grow_after_damage(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(1);
    const uint64_t id = table_of(f);
    alm_error why = {.code = ALM_OK};
    assert_false(alm_work_fails(f->st, id, ALM_WORK_MERGE, &why));
    const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};
    for (size_t i = 0; i < ALM_COUNT(seconds); i++) {
        assert_int_equal(fail_with(f, id, ALM_WORK_MERGE, ALM_E_CORRUPT), ALM_OK);
        assert_true(alm_work_pauses(f->st, id, ALM_WORK_MERGE));
        assert_in_range(pause_ns(f), (seconds[i] - 1) * SECOND_NS, seconds[i] * SECOND_NS);
    }
    assert_true(alm_work_fails(f->st, id, ALM_WORK_MERGE, &why));
    assert_string_equal(why.msg, "what happened");
    assert_int_equal(alm_work_error(f->st).code, ALM_E_CORRUPT);
    /* another step, another table */
    assert_false(alm_work_pauses(f->st, id, ALM_WORK_FLUSH));
    assert_false(alm_work_pauses(f->st, id + 1, ALM_WORK_MERGE));
    f->st->failing[0].again_ns = 0;
    assert_false(alm_work_pauses(f->st, id, ALM_WORK_MERGE));
    assert_true(alm_work_fails(f->st, id, ALM_WORK_MERGE, NULL));
    assert_int_equal(alm_work_result(&f->cx, f->st, id, "t", ALM_WORK_MERGE, ALM_OK), ALM_OK);
    assert_false(alm_work_fails(f->st, id, ALM_WORK_MERGE, NULL));
    assert_int_equal(alm_work_error(f->st).code, ALM_OK);
    /* The read that finds damage adds it to the list, by its file; the work that fails must not add it again. */
    assert_false(alm_storage_is_damaged(f->st));
    fix_free(f);
}

static void what_lasts_is_told(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(2);
    const uint64_t id = table_of(f);
    alm_damaged *list = NULL;
    size_t n = 0;
    for (int i = 0; i < 19; i++) {
        assert_int_equal(fail_with(f, id, ALM_WORK_FLUSH, ALM_E_IO), ALM_OK);
        assert_in_range(pause_ns(f), 0, SECOND_NS / 4);
    }
    assert_false(alm_storage_is_damaged(f->st));
    assert_int_equal(fail_with(f, id, ALM_WORK_FLUSH, ALM_E_IO), ALM_OK);
    assert_int_equal(alm_storage_damage(&f->cx, &f->arena, f->st, &list, &n), ALM_OK);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].table_id, id);
    assert_string_equal(list[0].what, "table 't': new rows are not written: what happened");
    assert_int_equal(alm_work_result(&f->cx, f->st, id, "t", ALM_WORK_FLUSH, ALM_OK), ALM_OK);
    assert_false(alm_storage_is_damaged(f->st));
    fix_free(f);
}

static void it_ends_with_the_table(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(3);
    const uint64_t id = table_of(f);
    for (uint64_t other = 1; other < 20; other++) /* tables that are not there */
        assert_int_equal(fail_with(f, id + other, ALM_WORK_MERGE, ALM_E_CORRUPT), ALM_OK);
    assert_int_equal(fail_with(f, id, ALM_WORK_MERGE, ALM_E_CORRUPT), ALM_OK);
    assert_int_equal(fail_with(f, id, ALM_WORK_FLUSH, ALM_E_IO), ALM_OK);
    alm_catver *cat = alm_catver_current(f->st);
    alm_work_forget(f->st, cat);
    alm_catver_release(cat);
    assert_int_equal(f->st->n_failing, 2);
    assert_true(alm_work_fails(f->st, id, ALM_WORK_MERGE, NULL));
    assert_true(alm_work_fails(f->st, id, ALM_WORK_FLUSH, NULL));
    fix_free(f);
}

static void errors_of_more_than_the_table(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(4);
    const uint64_t id = table_of(f);
    const alm_status codes[] = {ALM_E_MEMORY, ALM_E_CANCEL, ALM_E_CONFLICT};
    for (size_t i = 0; i < ALM_COUNT(codes); i++) {
        assert_int_equal(fail_with(f, id, ALM_WORK_MERGE, codes[i]), codes[i]);
        assert_string_equal(f->cx.err.msg, "what happened");
        alm_error_clear(&f->cx);
        assert_false(alm_work_fails(f->st, id, ALM_WORK_MERGE, NULL));
    }
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_grow_after_damage),
        cmocka_unit_test(what_lasts_is_told),
        cmocka_unit_test(it_ends_with_the_table),
        cmocka_unit_test(errors_of_more_than_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
