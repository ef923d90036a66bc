/*
 * Goal    A backup restores to the database as it was, whatever was written meanwhile; a second one
 *         copies what is new; a backup that fails or is cut off leaves the older ones; every damage
 *         is named.
 * Method  On the simulated disk: backups between writes, restored and compared with the oracle; each
 *         call made to fail in turn; the power cut at each call in turn; bits flipped, files cut and
 *         removed by seed.
 */
#include <errno.h>
#include <string.h>

#include "base/crc32c.h"
#include "storage/backup/backup.h"
#include "storage/table_fixture.h"
#include "storage/tree_for_test.h"

static const char *const DIR = "/b";

static alm_status back_up(fixture *f, alm_backup_result *out)
{
    const alm_backup_spec spec = {.dir = DIR};
    return alm_storage_backup(&f->cx, f->st, &spec, out);
}

static alm_backup_result back_up_now(fixture *f)
{
    alm_backup_result r;
    const alm_status st = back_up(f, &r);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    return r;
}

static fixture *start(uint64_t seed)
{
    fixture *f = fix_new_manual(seed);
    fix_load(f, 300, 0, 2 * DAY);
    fix_insert(f, 40, 0, DAY);
    return f;
}

/* The newest backup, or one of `generation`, restored: its table holds the first n rows. */
static void check_restored(fixture *f, const char *root, uint32_t generation, int64_t n)
{
    const alm_restore_spec spec = {.dir = DIR, .root = root, .generation = generation};
    alm_restore_result r;
    int64_t findings = -1;
    alm_storage *st = NULL;
    const alm_status code = alm_backup_restore(&f->cx, alm_sim_io(f->sim), &spec, &r);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(code, ALM_OK);
    assert_int_equal(r.rows, n);
    assert_int_equal(alm_storage_check(&f->cx, alm_sim_io(f->sim), root, NULL, NULL, &findings),
                     ALM_OK);
    assert_int_equal(findings, 0);
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), root, &f->conf, &st), ALM_OK);
    fix_check_prefix(f, st, n);
    alm_storage_close(st);
}

static int64_t findings_of(fixture *f)
{
    int64_t n = -1;
    assert_int_equal(alm_backup_check(&f->cx, alm_sim_io(f->sim), DIR, false, NULL, NULL, &n),
                     ALM_OK);
    return n;
}

static void a_backup_restores_to_what_was(void **state)
{
    (void)state;
    fixture *f = start(1);
    const int64_t first = f->n;
    const alm_backup_result one = back_up_now(f);
    assert_int_equal(one.generation, 1);
    assert_true(one.files_copied == one.files && one.files > 3);
    fix_insert(f, 20, 0, 5 * DAY);
    fix_load(f, 50, 3 * DAY, DAY);
    const int64_t second = f->n;
    const alm_backup_result two = back_up_now(f);
    assert_int_equal(two.generation, 2);
    assert_true(two.files_copied > 0 && two.files_copied < two.files);
    assert_int_equal(alm_table_truncate(&f->cx, f->st, ALM_STR("t")), ALM_OK);
    check_restored(f, "/n", 0, second);
    check_restored(f, "/o", 1, first);
    assert_int_equal(findings_of(f), 0);
    const alm_restore_spec again = {.dir = DIR, .root = "/n"};
    alm_restore_result r;
    assert_int_equal(alm_backup_restore(&f->cx, alm_sim_io(f->sim), &again, &r), ALM_E_EXISTS);
    alm_error_clear(&f->cx);
    fix_free(f);
}

static void nothing_new_copies_no_part(void **state)
{
    (void)state;
    fixture *f = start(2);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    (void)back_up_now(f);
    const alm_backup_result two = back_up_now(f);
    assert_int_equal(two.files_copied, 0); /* the catalogue is the same, too */
    check_restored(f, "/n", 0, f->n);
    fix_free(f);
}

/* Names have eight digits: there is no backup behind the last of them. */
static void numbers_end(void **state)
{
    (void)state;
    fixture *f = start(5);
    alm_backup_result r;
    const alm_io *io = alm_sim_io(f->sim);
    (void)back_up_now(f);
    assert_int_equal(io->rename(io, "/b/00000001.manifest", "/b/99999998.manifest"), 0);
    assert_int_equal(back_up(f, &r), ALM_OK);
    assert_int_equal(back_up(f, &r), ALM_E_LIMIT);
    alm_error_clear(&f->cx);
    check_restored(f, "/n", 99999999, f->n);
    fix_free(f);
}

/* It ends at the next look, and leaves no manifest. */
static void a_cancel_ends_it(void **state)
{
    (void)state;
    fixture *f = start(3);
    alm_backup_result r;
    atomic_bool cancel = true;
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    f->cx.cancel = &cancel;
    assert_int_equal(back_up(f, &r), ALM_E_CANCEL);
    f->cx.cancel = NULL;
    alm_error_clear(&f->cx);
    assert_int_equal(findings_of(f), 1); /* there is no manifest */
    (void)back_up_now(f);
    check_restored(f, "/n", 1, f->n);
    fix_free(f);
}

/* A backup whose n-th call fails names the reason; older ones and the database are as they were. */
static void every_call_may_fail(void **state)
{
    (void)state;
    static const struct {
        alm_sim_op op;
        int err;
    } kinds[] = {{ALM_SIM_ANY, EIO}, {ALM_SIM_CHANGE, ENOSPC}, {ALM_SIM_WRITE, 0}};
    for (size_t k = 0; k < ALM_COUNT(kinds); k++) {
        for (int64_t nth = 1, done = 0; !done; nth++) {
            fixture *f = start((uint64_t)nth);
            const int64_t before = f->n;
            alm_backup_result r;
            (void)back_up_now(f);
            fix_load(f, 30, 4 * DAY, DAY);
            assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
            alm_sim_fail(f->sim, kinds[k].op, nth, kinds[k].err, 1);
            const alm_status st = back_up(f, &r);
            done = alm_sim_failed(f->sim) == 0;
            alm_sim_fail(f->sim, ALM_SIM_ANY, 0, 0, 0);
            assert_true(st == ALM_OK || f->cx.err.msg[0] != 0);
            alm_error_clear(&f->cx);
            assert_int_equal(findings_of(f), 0);
            if (st == ALM_OK)
                check_restored(f, "/n", 0, f->n);
            else
                check_restored(f, "/o", 1, before);
            fix_insert(f, 3, 0, DAY); /* the server goes on */
            fix_check(f);
            (void)back_up_now(f);
            check_restored(f, "/p", 0, f->n);
            fix_free(f);
        }
    }
}

/* The power goes at the k-th call of a backup, a checkpoint that is held, and what is between. */
static bool cut_at(uint64_t seed, int64_t k)
{
    fixture *f = start(seed);
    alm_backup_result r;
    const int64_t first = f->n;
    (void)back_up_now(f);
    fix_load(f, 30, 4 * DAY, DAY);
    const int64_t second = f->n;
    alm_sim_cut_after(f->sim, k);
    (void)(alm_storage_hold(&f->cx, f->st) == ALM_OK && back_up(f, &r) == ALM_OK &&
           alm_storage_hold_release(&f->cx, f->st) == ALM_OK && back_up(f, &r) == ALM_OK &&
           alm_storage_checkpoint(&f->cx, f->st) == ALM_OK);
    const bool finished = !alm_sim_is_dead(f->sim);
    alm_error_clear(&f->cx);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    fix_open(f);
    fix_check(f);
    assert_int_equal(findings_of(f), 0);
    uint32_t *all = NULL;
    size_t n = 0;
    assert_int_equal(alm_manifest_list(&f->cx, alm_sim_io(f->sim), DIR, &all, &n), ALM_OK);
    assert_true(n >= 1);
    check_restored(f, "/n", all[n - 1], n == 1 ? first : second);
    free(all);
    (void)back_up_now(f);
    check_restored(f, "/o", 0, second);
    assert_int_equal(alm_storage_hold_release(&f->cx, f->st), ALM_OK);
    fix_free(f);
    return finished;
}

static void power_cuts(void **state)
{
    (void)state;
    for (int64_t k = 1; !cut_at((uint64_t)k, k); k++)
        continue;
}

/* The power goes within a restore: the directory does not open, or it is whole. */
static void restores_are_cut(void **state)
{
    (void)state;
    bool finished = false;
    for (int64_t k = 1; !finished; k++) {
        fixture *f = start((uint64_t)k);
        (void)back_up_now(f);
        const alm_restore_spec spec = {.dir = DIR, .root = "/n"};
        alm_restore_result r;
        alm_storage *st = NULL;
        alm_sim_cut_after(f->sim, k);
        finished = alm_backup_restore(&f->cx, alm_sim_io(f->sim), &spec, &r) == ALM_OK;
        alm_error_clear(&f->cx);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        fix_open(f);
        alm_io_stat meta;
        const bool begun =
            alm_sim_io(f->sim)->stat(alm_sim_io(f->sim), "/n/restoring", &meta) == 0 ||
            alm_sim_io(f->sim)->stat(alm_sim_io(f->sim), "/n/db", &meta) == 0;
        if (begun && alm_storage_open(&f->cx, alm_sim_io(f->sim), "/n", &f->conf, &st) == ALM_OK) {
            fix_check_prefix(f, st, f->n);
            alm_storage_close(st);
        }
        alm_error_clear(&f->cx);
        fix_free(f);
    }
}

/* One damage of any kind to any file of the backup: named, and never restored. */
static void every_damage_is_named(void **state)
{
    (void)state;
    fixture *f = start(9);
    (void)back_up_now(f);
    fix_load(f, 50, 3 * DAY, DAY);
    (void)back_up_now(f);
    const alm_io *io = alm_sim_io(f->sim);
    tree t;
    tree_list(io, DIR, &t);
    for (int i = 0; i < 300; i++) {
        const char *path = t.paths[fix_random(f, (uint64_t)t.n)];
        alm_io_stat meta;
        char moved[TREE_PATH + 8];
        if (strstr(path, "lock") != NULL || io->stat(io, path, &meta) < 0 || meta.is_dir)
            continue;
        const int64_t at = (int64_t)fix_random(f, (uint64_t)meta.size_bytes);
        (void)snprintf(moved, sizeof moved, "%s", path);
        if (i % 5 != 0) {
            assert_true(alm_sim_flip(f->sim, path, at, (unsigned)i % 8));
        } else {
            (void)snprintf(moved, sizeof moved, "%s.was", path);
            assert_int_equal(io->rename(io, path, moved), 0);
        }
        if ((strstr(path, "manifest") == NULL || i % 5 != 0) && findings_of(f) == 0)
            fail_msg("'%s', offset %lld: not noticed", path, (long long)at);
        if (i % 5 != 0)
            assert_true(alm_sim_flip(f->sim, path, at, (unsigned)i % 8));
        else
            assert_int_equal(io->rename(io, moved, path), 0);
    }
    assert_int_equal(findings_of(f), 0);
    free(t.paths);
    fix_free(f);
}

/* A dictionary of another database, or of another column, with the same symbols: its file has the same checksum, as its header ends with
 * its own. */
static void a_dictionary_of_elsewhere_is_named(void **state)
{
    (void)state;
    enum { COLUMN_AT = 12, DATABASE_AT = 24, CRC_AT = 32 };
    for (int of_database = 0; of_database < 2; of_database++) {
        fixture *f = start(9);
        (void)back_up_now(f);
        const alm_io *io = alm_sim_io(f->sim);
        uint8_t head[CRC_AT];
        tree t;
        tree_list(io, DIR, &t);
        int32_t i = 0;
        while (i < (int32_t)t.n && strstr(t.paths[i], ".dict") == NULL)
            i++;
        assert_true(i < (int32_t)t.n);
        const int h = io->open(io, t.paths[i], ALM_IO_READ | ALM_IO_WRITE);
        assert_int_equal(io->read(io, h, head, sizeof head, 0), CRC_AT);
        head[of_database ? DATABASE_AT : COLUMN_AT] ^= 1;
        const uint32_t crc = alm_crc32c(0, head, CRC_AT);
        assert_int_equal(io->write(io, h, head, CRC_AT, 0), CRC_AT);
        assert_int_equal(io->write(io, h, &crc, sizeof crc, CRC_AT), sizeof crc);
        (void)io->close(io, h);
        assert_true(findings_of(f) > 0);
        (void)back_up_now(f);
        assert_int_equal(findings_of(f), 0);
        check_restored(f, "/n", 0, f->n);
        free(t.paths);
        fix_free(f);
    }
}

/* A directory in the place of a file of an earlier backup: the next one puts the file there again. */
static void a_directory_in_the_place_of_a_file(void **state)
{
    (void)state;
    fixture *f = start(9);
    (void)back_up_now(f);
    const alm_io *io = alm_sim_io(f->sim);
    tree t;
    tree_list(io, DIR, &t);
    for (int32_t i = 0; i < (int32_t)t.n; i++) {
        alm_io_stat meta;
        if (strstr(t.paths[i], "/files/") == NULL || io->stat(io, t.paths[i], &meta) < 0 ||
            meta.is_dir)
            continue;
        assert_int_equal(io->unlink(io, t.paths[i]), 0);
        assert_int_equal(io->mkdir(io, t.paths[i]), 0);
        assert_true(findings_of(f) > 0);
        (void)back_up_now(f);
        assert_true(io->stat(io, t.paths[i], &meta) >= 0 && meta.is_file);
    }
    check_restored(f, "/n", 0, f->n);
    free(t.paths);
    fix_free(f);
}

/* Its directory is durable, too: made now, or by who ended before it was; by a name with and without a parent. */
static void a_backup_outlives_a_power_cut(void **state)
{
    (void)state;
    static const char *const dirs[] = {"bk", "/bk"};
    for (uint64_t i = 0; i < 40; i++) {
        fixture *f = start(i);
        const char *dir = dirs[i % 2];
        const alm_backup_spec spec = {.dir = dir};
        const alm_restore_spec back = {.dir = dir, .root = "/n"};
        alm_backup_result done;
        alm_restore_result r;
        if (i % 4 > 1)
            assert_int_equal(alm_sim_io(f->sim)->mkdir(alm_sim_io(f->sim), dir), 0);
        assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &done), ALM_OK);
        alm_sim_cut_after(f->sim, 1);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        fix_open(f);
        assert_int_equal(alm_backup_restore(&f->cx, alm_sim_io(f->sim), &back, &r), ALM_OK);
        assert_int_equal(r.rows, f->n);
        fix_free(f);
    }
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_restores_to_what_was),
        cmocka_unit_test(nothing_new_copies_no_part),
        cmocka_unit_test(numbers_end),
        cmocka_unit_test(a_cancel_ends_it),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(power_cuts),
        cmocka_unit_test(restores_are_cut),
        cmocka_unit_test(every_damage_is_named),
        cmocka_unit_test(a_dictionary_of_elsewhere_is_named),
        cmocka_unit_test(a_directory_in_the_place_of_a_file),
        cmocka_unit_test(a_backup_outlives_a_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
