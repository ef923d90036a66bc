/*
 * Goal    Between CHECKPOINT CREATE and RELEASE any copy of the directory, file by file in any order
 *         while writes go on, opens and has every row acknowledged before; the original loses nothing
 *         by a crash meanwhile; files that are not needed any more go at the release.
 * Method  Copies in pieces on the simulated disk, with inserts, loads, compaction and truncation
 *         between the pieces; by many seeds.
 */
#include "storage/recover/hold.h"
#include "storage/table_fixture.h"
#include "storage/tree_for_test.h"

/* It has the rows from before, and all of the later ones up to some commit. */
static void check_copy(fixture *f, alm_storage *copy, int64_t least)
{
    alm_snapshot *snap = NULL;
    assert_int_equal(alm_snapshot_acquire(&f->cx, copy, &snap), ALM_OK);
    const int64_t n = fix_table(snap)->row_count;
    alm_snapshot_release(snap);
    assert_in_range(n, least, f->n);
    fix_check_prefix(f, copy, n);
}

static uint64_t seeds(uint64_t few)
{
    return getenv("ALM_TEST_ALL") != NULL ? few * 10 : few;
}

/* One write of some kind, between two pieces of the copy. */
static void write_some(void *arg)
{
    fixture *f = arg;
    const int64_t day = (int64_t)fix_random(f, 4) * DAY;
    switch (fix_random(f, 8)) {
    case 0:
        fix_load(f, 40, day, DAY);
        break;
    case 1:
        (void)fix_compact(f);
        break;
    case 2:
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* heads only */
        break;
    default:
        fix_insert(f, 1 + (uint32_t)fix_random(f, 30), day, DAY);
    }
}

static fixture *start(uint64_t seed)
{
    fixture *f = fix_new_manual(seed);
    for (int i = 0; i < 6; i++)
        write_some(f);
    return f;
}

static alm_storage *open_copy(fixture *f)
{
    alm_storage *st = NULL;
    const alm_status code = alm_storage_open(&f->cx, alm_sim_io(f->sim), "/c", &f->conf, &st);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(code, ALM_OK);
    return st;
}

static void copies_open_with_all_rows_from_before(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(150); seed++) {
        fixture *f = start(seed);
        int64_t findings = -1;
        assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
        const int64_t before = f->n;
        tree_copy(alm_sim_io(f->sim), "/r", "/c", seed, write_some, f);
        assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK);
        assert_int_equal(alm_storage_check(&f->cx, alm_sim_io(f->sim), "/c", NULL, NULL, &findings),
                         ALM_OK);
        assert_int_equal(findings, 0);
        alm_storage *copy = open_copy(f);
        check_copy(f, copy, before);
        alm_storage_close(copy);
        copy = open_copy(f); /* a database of its own now */
        check_copy(f, copy, before);
        alm_storage_close(copy);
        fix_check(f);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

static void a_crash_while_it_is_held_loses_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(80); seed++) {
        fixture *f = start(seed);
        int64_t since = 0;
        assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
        const int64_t before = f->n;
        for (int i = 0; i < 10; i++)
            write_some(f);
        alm_sim_cut_after(f->sim, 1);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        fix_open(f);
        fix_check(f);
        assert_true(alm_storage_hold_status(f->st, &since) && since > 0); /* it goes on */
        write_some(f);
        tree_copy(alm_sim_io(f->sim), "/r", "/c", seed, write_some, f);
        assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK);
        assert_false(alm_storage_hold_status(f->st, &since));
        alm_storage *copy = open_copy(f);
        check_copy(f, copy, before);
        alm_storage_close(copy);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

static void files_wait_for_the_release(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        fixture *f = start(7);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
        const int64_t files = fix_files(f, "/r/db/tables/1");
        assert_true(files > 2);
        assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
        f->n = 0;
        assert_int_equal(fix_files(f, "/r/db/tables/1"), files);
        if (restart) {
            fix_reopen(f);
            assert_int_equal(fix_files(f, "/r/db/tables/1"), files);
        }
        tree_copy(alm_sim_io(f->sim), "/r", "/c", 1, NULL, NULL);
        assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK);
        assert_int_equal(fix_files(f, "/r/db/tables/1"), 1); /* the dictionary */
        fix_check(f);
        fix_free(f);
    }
}

/* Of a copy whose log is lost to a directory the catalogue counts. */
static void a_copy_without_a_log_opens(void **state)
{
    (void)state;
    fixture *f = start(7);
    char log[64];
    (void)snprintf(log, sizeof log, "/c/db/wal/%016llx.wal",
                   (unsigned long long)f->st->wal.segments[0].number);
    const alm_io *io = alm_sim_io(f->sim);
    alm_storage *st = NULL;
    assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
    tree_copy(io, "/r", "/c", 1, NULL, NULL);
    assert_int_equal(io->unlink(io, log), 0);
    assert_int_equal(io->mkdir(io, log), 0);
    const alm_status code = alm_storage_open(&f->cx, io, "/c", &f->conf, &st);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(code, ALM_OK);
    fix_check_prefix(f, st, f->n);
    alm_storage_close(st);
    fix_free(f);
}

/* A directory in the place of the marker ends no hold, and keeps none from ending. */
static void a_directory_is_no_marker(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(9);
    const alm_io *io = alm_sim_io(f->sim);
    fix_load(f, 30, 0, DAY);
    assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
    assert_int_equal(io->unlink(io, "/r/db/hold"), 0);
    assert_int_equal(io->mkdir(io, "/r/db/hold"), 0);
    const alm_status st = alm_storage_hold_release(&f->cx, f->st);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

static void one_at_a_time_and_not_for_ever(void **state)
{
    (void)state;
    fixture *f = start(3);
    int64_t since = 0;
    assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK); /* there is none */
    assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
    assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_E_ARG);
    assert_non_null(strstr(f->cx.err.msg, "CHECKPOINT RELEASE"));
    alm_error_clear(&f->cx);
    alm_storage_close(f->st);
    f->conf.hold_age_max_ms = 1;
    fix_open(f);
    const int64_t until = alm_monotonic_ns() + 5000000;
    while (alm_monotonic_ns() < until)
        continue;
    assert_int_equal(alm_hold_expire(&f->cx, f->st), ALM_OK);
    assert_false(alm_storage_hold_status(f->st, &since));
    assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_E_LIMIT);
    assert_non_null(strstr(f->cx.err.msg, "storage.checkpoint.hold.max"));
    alm_error_clear(&f->cx);
    assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK);
    fix_check(f);
    fix_free(f);
}

/* A hole in the log of the original is still refused. */
static void the_original_is_not_taken_for_a_copy(void **state)
{
    (void)state;
    fixture *f = start(5);
    assert_int_equal(alm_storage_hold(&f->cx, f->st), ALM_OK);
    char path[64] = "";
    const int64_t behind = f->st->wal.at + 60; /* in the next record */
    const uint64_t number = f->st->wal.segments[f->st->wal.n_segments - 1].number;
    for (int i = 0; i < 12; i++)
        fix_insert(f, 5, 0, DAY);
    (void)snprintf(path, sizeof path, "/r/db/wal/%016llx.wal", (unsigned long long)number);
    alm_storage_close(f->st);
    f->st = NULL;
    assert_true(alm_sim_flip(f->sim, path, behind, 1));
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), "/r", &f->conf, &f->st),
                     ALM_E_CORRUPT);
    alm_error_clear(&f->cx);
    assert_true(alm_sim_flip(f->sim, path, behind, 1));
    fix_open(f);
    fix_check(f);
    fix_free(f);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_open_with_all_rows_from_before),
        cmocka_unit_test(a_crash_while_it_is_held_loses_nothing),
        cmocka_unit_test(files_wait_for_the_release),
        cmocka_unit_test(a_copy_without_a_log_opens),
        cmocka_unit_test(a_directory_is_no_marker),
        cmocka_unit_test(one_at_a_time_and_not_for_ever),
        cmocka_unit_test(the_original_is_not_taken_for_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
