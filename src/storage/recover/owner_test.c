/*
 * Goal    One process has a directory, also where files of the lock were removed or the file system has no locks; owners
 *         that are gone, copies and damaged records hinder nobody.
 * Method  Two processes of the simulated disk open one directory; each way in which the first may end, and each in which
 *         its lock and its record may be lost.
 */
#include <errno.h>

#include "base/crc32c.h"
#include "storage/backup/backup.h"
#include "storage/recover/recover.h"
#include "storage/table_fixture.h"
#include "storage/tree_for_test.h"

static const char *const OWNER = "/r/db/owner";

static void ignore_line(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

/* What another process is told that opens `root`; it closes it again. */
static alm_status try_open(fixture *f, const char *root)
{
    alm_storage *st = NULL;
    alm_error_clear(&f->cx);
    const alm_status e = alm_storage_open(&f->cx, alm_sim_io(f->sim), root, &f->conf, &st);
    alm_storage_close(st);
    return e;
}

static void refused(fixture *f, const char *root, const char *text)
{
    int64_t findings = 0;
    assert_int_equal(try_open(f, root), ALM_E_BUSY);
    assert_non_null(strstr(f->cx.err.msg, text));
    alm_error_clear(&f->cx);
    assert_int_equal(
        alm_storage_check(&f->cx, alm_sim_io(f->sim), root, ignore_line, NULL, &findings),
        ALM_E_BUSY);
    alm_error_clear(&f->cx);
    assert_int_equal(
        alm_storage_repair(&f->cx, alm_sim_io(f->sim), root, ignore_line, NULL, &findings),
        ALM_E_BUSY);
    alm_error_clear(&f->cx);
}

static bool is_there(fixture *f, const char *path)
{
    alm_io_stat meta;
    return alm_sim_io(f->sim)->stat(alm_sim_io(f->sim), path, &meta) >= 0;
}

/* The owner is process 1, who asks is process 2. `f->st` is closed by the first, if it does not end by itself. */
static fixture *start(void)
{
    fixture *f = fix_new_manual(3);
    fix_insert(f, 10, 0, DAY);
    alm_sim_next_process(f->sim, false);
    return f;
}

static void a_lock_needs_no_file(void **state)
{
    static const char *const gone[] = {"/r/db/none", "/r/db/lock", "/r/db/owner", "/r/db/lock"};
    fixture *f = start();
    const alm_io *io = alm_sim_io(f->sim);
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(gone); i++) {
        (void)io->unlink(io, gone[i]);
        refused(f, "/r", "in use by");
    }
    fix_free(f);
}

static void a_record_needs_no_lock(void **state)
{
    fixture *f = fix_new_manual(4);
    const alm_io *io = alm_sim_io(f->sim);
    (void)state;
    alm_storage_close(f->st);
    alm_sim_without_locks(f->sim, true);
    fix_open(f);
    refused(f, "/r", "in use by process 1"); /* not even by itself, twice */
    alm_sim_next_process(f->sim, false);
    refused(f, "/r", "in use by process 1");
    assert_int_equal(io->unlink(io, "/r/db/lock"), 0);
    refused(f, "/r", "in use by process 1");
    fix_free(f);
}

/* The memory of a process that is killed goes, the record stays. */
static void end_without_a_word(fixture *f)
{
    f->st->owner.recorded = false;
    alm_storage_free(f->st);
    f->st = NULL;
}

static void owners_that_are_gone(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        fixture *f = fix_new_manual(5);
        alm_storage_close(f->st);
        alm_sim_without_locks(f->sim, i % 2 == 1);
        fix_open(f);
        end_without_a_word(f);
        assert_true(is_there(f, OWNER));
        if (i < 2)
            alm_sim_next_process(f->sim, true);
        else
            alm_sim_restart(f->sim);
        assert_int_equal(try_open(f, "/r"), ALM_OK);
        assert_false(is_there(f, OWNER)); /* a clean stop leaves none */
        fix_open(f);
        fix_free(f);
    }
}

/* Records that cannot be judged count only where there is no lock. */
static void another_container(void **state)
{
    fixture *f = fix_new_manual(6);
    const alm_io *io = alm_sim_io(f->sim);
    char text[512];
    (void)state;
    const int h = io->open(io, OWNER, ALM_IO_READ);
    const int64_t n = io->read(io, h, text, sizeof text - 1, 0);
    (void)io->close(io, h);
    text[n] = 0;
    alm_storage_close(f->st);
    char *space = strstr(text, "\nspace 1\n");
    assert_non_null(space);
    space[7] = '2';
    char *end = strstr(text, "\nend ");
    assert_non_null(end);
    (void)snprintf(end + 5, 16, "%08x\n", alm_crc32c(0, text, (size_t)(end + 1 - text)));
    for (int i = 0; i < 2; i++) {
        const int to = io->open(io, OWNER, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
        assert_int_equal(io->write(io, to, text, strlen(text), 0), strlen(text));
        (void)io->close(io, to);
        alm_sim_without_locks(f->sim, i == 0);
        if (i == 0)
            refused(f, "/r", "remove '/r/db/owner'");
        else
            assert_int_equal(try_open(f, "/r"), ALM_OK);
    }
    fix_open(f);
    fix_free(f);
}

/* A record that is damaged or cut is of no use to anybody, and the lock goes on to hold. */
static void damaged_records(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        fixture *f = start();
        const alm_io *io = alm_sim_io(f->sim);
        alm_io_stat meta;
        assert_int_equal(io->stat(io, OWNER, &meta), 0);
        const int64_t at = (int64_t)fix_random(f, (uint64_t)meta.size_bytes);
        if (i % 4 == 0) {
            const int h = io->open(io, OWNER, ALM_IO_READ | ALM_IO_WRITE);
            assert_int_equal(io->truncate(io, h, at), 0);
            (void)io->close(io, h);
        } else {
            assert_true(alm_sim_flip(f->sim, OWNER, at, (unsigned)i % 8));
        }
        assert_int_equal(try_open(f, "/r"), ALM_E_BUSY);
        end_without_a_word(f);
        alm_sim_next_process(f->sim, true);
        assert_int_equal(try_open(f, "/r"), ALM_OK);
        fix_open(f);
        fix_free(f);
    }
}

/* A record that could not be removed does not keep the same process out. */
static void a_record_stays(void **state)
{
    fixture *f = fix_new_manual(11);
    (void)state;
    end_without_a_word(f);
    assert_true(is_there(f, OWNER));
    fix_open(f);
    refused(f, "/r", "in use by");
    fix_free(f);
}

static void a_copy_has_no_owner(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture *f = fix_new_manual(7);
        alm_storage_close(f->st);
        alm_sim_without_locks(f->sim, i == 1);
        fix_open(f);
        tree_copy(alm_sim_io(f->sim), "/r", "/q", 1, NULL, NULL);
        assert_true(is_there(f, "/q/db/owner"));
        assert_int_equal(try_open(f, "/q"), ALM_OK);
        assert_false(is_there(f, "/q/db/owner"));
        assert_true(is_there(f, OWNER));
        fix_free(f);
    }
}

/* A disk without room for a record does not keep a server from its data: the lock does. */
static void a_full_disk(void **state)
{
    fixture *f = fix_new_manual(8);
    (void)state;
    alm_storage_close(f->st);
    for (int64_t nth = 1; nth < 6; nth++) { /* each call on the record may fail */
        alm_sim_fail(f->sim, nth < 4 ? ALM_SIM_WRITE : ALM_SIM_RENAME, 1, ENOSPC, 1);
        fix_open(f);
        assert_int_equal(alm_sim_failed(f->sim), 1);
        alm_sim_next_process(f->sim, false);
        refused(f, "/r", "in use by");
        alm_storage_close(f->st);
    }
    fix_open(f);
    fix_free(f);
}

/* A check leaves the directory as it is, and keeps others out while it runs. */
typedef struct during {
    fixture *f;
    int64_t tries;
} during;

static void try_meanwhile(void *arg, const char *line)
{
    during *d = arg;
    alm_ctx cx = {0};
    alm_storage *st = NULL;
    (void)line;
    d->tries++;
    assert_false(is_there(d->f, OWNER));
    assert_int_equal(alm_storage_open(&cx, alm_sim_io(d->f->sim), "/r", &d->f->conf, &st),
                     ALM_E_BUSY);
}

static void a_check_keeps_others_out(void **state)
{
    fixture *f = fix_new_manual(9);
    const alm_io *io = alm_sim_io(f->sim);
    during d = {.f = f};
    int64_t findings = 0;
    (void)state;
    fix_load(f, 300, 0, DAY);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    alm_storage_close(f->st);
    const int h =
        io->open(io, "/r/db/tables/1/00000000000000ff.part", ALM_IO_WRITE | ALM_IO_CREATE);
    (void)io->close(io, h); /* something to report */
    assert_int_equal(io->unlink(io, "/r/db/lock"), 0);
    assert_int_equal(alm_storage_check(&f->cx, io, "/r", try_meanwhile, &d, &findings), ALM_OK);
    assert_true(d.tries > 0);
    fix_open(f);
    fix_free(f);
}

static void a_restore_keeps_others_out(void **state)
{
    fixture *f = fix_new_manual(10);
    const alm_io *io = alm_sim_io(f->sim);
    alm_owner owner = {.io = NULL};
    alm_backup_result done;
    alm_restore_result restored;
    const alm_backup_spec spec = {.dir = "/b"};
    const alm_restore_spec to = {.dir = "/b", .root = "/q"};
    (void)state;
    fix_insert(f, 10, 0, DAY);
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &done), ALM_OK);
    assert_int_equal(io->mkdir(io, "/q"), 0);
    assert_int_equal(io->mkdir(io, "/q/db"), 0);
    assert_int_equal(alm_owner_take(&f->cx, io, "/q/db", true, &owner), ALM_OK);
    assert_int_equal(alm_backup_restore(&f->cx, io, &to, &restored), ALM_E_BUSY);
    alm_error_clear(&f->cx);
    alm_owner_leave(&owner);
    assert_int_equal(alm_backup_restore(&f->cx, io, &to, &restored), ALM_OK);
    assert_int_equal(restored.rows, 10);
    assert_false(is_there(f, "/q/db/owner"));
    /* and two backups to one directory */
    assert_int_equal(alm_owner_take(&f->cx, io, "/b", true, &owner), ALM_OK);
    assert_int_equal(io->unlink(io, "/b/lock"), 0);
    assert_int_equal(alm_storage_backup(&f->cx, f->st, &spec, &done), ALM_E_BUSY);
    assert_non_null(strstr(f->cx.err.msg, "another backup to '/b' is running"));
    alm_error_clear(&f->cx);
    alm_owner_leave(&owner);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_needs_no_file),
        cmocka_unit_test(a_record_needs_no_lock),
        cmocka_unit_test(owners_that_are_gone),
        cmocka_unit_test(another_container),
        cmocka_unit_test(damaged_records),
        cmocka_unit_test(a_copy_has_no_owner),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(a_check_keeps_others_out),
        cmocka_unit_test(a_restore_keeps_others_out),
        cmocka_unit_test(a_record_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
