/*
 * Goal: the simulated disk loses exactly what a disk may lose. Method: small files, power cuts under
 * many seeds, and the set of outcomes that must and must not occur.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/sim.h"

enum { RW = ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE };

static int64_t size_of(const alm_io *io, const char *path)
{
    alm_io_stat meta;
    return io->stat(io, path, &meta) == 0 ? meta.size_bytes : -1;
}

static void synced_survives_unsynced_may_not(void **state)
{
    (void)state;
    int lost = 0, kept = 0, torn = 0;
    for (uint64_t seed = 0; seed < 64; seed++) {
        alm_sim *sim = alm_sim_new(seed);
        const alm_io *io = alm_sim_io(sim);
        char first[1024], second[2048], got[3072];
        memset(first, 'a', sizeof first);
        memset(second, 'b', sizeof second);
        int h = io->open(io, "f", RW);
        assert_int_equal(io->write(io, h, first, sizeof first, 0), sizeof first);
        assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->sync_dir(io, ""), 0);
        assert_int_equal(io->write(io, h, second, sizeof second, 1024), sizeof second);
        alm_sim_restart(sim);
        h = io->open(io, "f", ALM_IO_READ);
        assert_true(h >= 0);
        memset(got, 0, sizeof got);
        const int64_t n = io->read(io, h, got, sizeof got, 0);
        assert_true(n >= 1024);
        assert_memory_equal(got, first, sizeof first);
        int sectors = 0;
        for (int i = 0; i < 4; i++) {
            const char c = got[1024 + i * 512];
            assert_true(c == 0 || c == 'b');
            assert_int_equal(c, got[1024 + i * 512 + 511]); /* a sector is whole or not there */
            sectors += c == 'b';
        }
        lost += sectors == 0;
        kept += sectors == 4;
        torn += sectors > 0 && sectors < 4;
        alm_sim_free(sim);
    }
    assert_true(lost > 0 && kept > 0 && torn > 0);
}

static void names_need_a_synced_directory(void **state)
{
    (void)state;
    int lost = 0, kept = 0, old = 0, new = 0;
    for (uint64_t seed = 0; seed < 64; seed++) {
        alm_sim *sim = alm_sim_new(seed);
        const alm_io *io = alm_sim_io(sim);
        assert_int_equal(io->mkdir(io, "d"), 0);
        assert_int_equal(io->sync_dir(io, ""), 0);
        int h = io->open(io, "d/x", RW);
        assert_int_equal(io->write(io, h, "1", 1, 0), 1);
        assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->sync_dir(io, "d"), 0);
        h = io->open(io, "d/tmp", RW);
        assert_int_equal(io->write(io, h, "22", 2, 0), 2);
        assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->sync_dir(io, "d"), 0);
        assert_int_equal(io->rename(io, "d/tmp", "d/x"), 0);
        h = io->open(io, "d/fresh", RW);
        assert_int_equal(io->sync(io, h), 0);
        alm_sim_restart(sim);
        const int64_t x = size_of(io, "d/x");
        assert_true(x == 1 || x == 2); /* the rename is atomic: never gone */
        old += x == 1;
        new += x == 2;
        const int64_t fresh = size_of(io, "d/fresh");
        lost += fresh < 0;
        kept += fresh >= 0;
        alm_sim_free(sim);
    }
    assert_true(lost > 0 && kept > 0 && old > 0 && new > 0);
}

static void power_cut_stops_everything(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    int h = io->open(io, "f", RW);
    alm_sim_cut_after(sim, 2);
    assert_int_equal(io->write(io, h, "1", 1, 0), 1);
    assert_int_equal(io->write(io, h, "2", 1, 1), -EIO);
    char c;
    assert_int_equal(io->read(io, h, &c, 1, 0), -EIO);
    assert_int_equal(io->sync(io, h), -EIO);
    assert_true(alm_sim_is_dead(sim));
    alm_sim_restart(sim);
    assert_false(alm_sim_is_dead(sim));
    assert_true(io->open(io, "g", RW) >= 0);
    alm_sim_free(sim);
}

static void errors_on_the_nth_call(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    alm_ctx cx = {0};
    int h = io->open(io, "f", RW);
    alm_sim_fail(sim, ALM_SIM_WRITE, 2, ENOSPC, 1);
    assert_int_equal(alm_io_write_all(&cx, io, h, "abcd", 4, 0, "write f"), ALM_OK);
    assert_int_equal(alm_io_write_all(&cx, io, h, "efgh", 4, 4, "write f"), ALM_E_DISK_FULL);
    assert_non_null(strstr(cx.err.msg, "write f: "));
    alm_error_clear(&cx);
    alm_sim_fail(sim, ALM_SIM_WRITE, 1, 0, 1); /* short: write_all goes on */
    assert_int_equal(alm_io_write_all(&cx, io, h, "efgh", 4, 4, "write f"), ALM_OK);
    assert_int_equal(alm_sim_failed(sim), 1);
    char got[8];
    assert_int_equal(alm_io_read_all(&cx, io, h, got, 8, 0, "read f"), ALM_OK);
    assert_memory_equal(got, "abcdefgh", 8);
    assert_int_equal(alm_io_read_all(&cx, io, h, got, 8, 4, "read f"), ALM_E_CORRUPT);
    alm_sim_fail(sim, ALM_SIM_SYNC, 1, EIO, 1);
    assert_int_equal(io->sync(io, h), -EIO);
    assert_int_equal(io->sync(io, h), 0);
    assert_int_equal(io->sync_count(io), 1);
    alm_sim_capacity(sim, 16);
    assert_int_equal(io->allocate(io, h, 0, 17), -ENOSPC);
    assert_int_equal(io->allocate(io, h, 0, 16), 0);
    assert_int_equal(io->write(io, h, "x", 1, 16), -ENOSPC);
    alm_sim_free(sim);
}

/* One call for all files and names; when it fails, each file that lost something says so at its next sync. */
static void all_at_once(void **state)
{
    (void)state;
    int lost = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        alm_sim *sim = alm_sim_new(seed);
        const alm_io *io = alm_sim_io(sim);
        int files[8];
        char path[16];
        assert_int_equal(io->mkdir(io, "d"), 0);
        const int dir = io->open_dir(io, "d");
        assert_true(io->syncs_all(io, dir));
        for (int i = 0; i < 8; i++) {
            (void)snprintf(path, sizeof path, "d/%d", i);
            files[i] = io->open(io, path, RW);
            assert_int_equal(io->write(io, files[i], "abcd", 4, 0), 4);
        }
        if (seed % 2) {
            alm_sim_fail(sim, ALM_SIM_SYNC_ALL, 1, EIO, 1);
            assert_int_equal(io->sync_all(io, dir), -EIO);
            for (int i = 0; i < 8; i++)
                lost += io->sync(io, files[i]) == -EIO;
            for (int i = 0; i < 8; i++)
                assert_int_equal(io->sync(io, files[i]), 0);
        } else {
            assert_int_equal(io->sync_all(io, dir), 0);
            assert_int_equal(io->sync_count(io), 1);
            alm_sim_restart(sim);
            for (int i = 0; i < 8; i++) {
                (void)snprintf(path, sizeof path, "d/%d", i);
                assert_int_equal(size_of(io, path), 4);
            }
        }
        alm_sim_free(sim);
    }
    assert_in_range(lost, 16, 112);
}

static void ignored_sync_loses(void **state)
{
    (void)state;
    int lost = 0;
    for (uint64_t seed = 0; seed < 16; seed++) {
        alm_sim *sim = alm_sim_new(seed);
        const alm_io *io = alm_sim_io(sim);
        alm_sim_ignore_sync(sim, true);
        const int h = io->open(io, "f", RW);
        assert_int_equal(io->write(io, h, "1", 1, 0), 1);
        assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->sync_dir(io, ""), 0);
        alm_sim_restart(sim);
        lost += size_of(io, "f") != 1;
        alm_sim_free(sim);
    }
    assert_true(lost > 0);
}

static int count_names(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

/* The same calls on both disks: what callers see must not differ. */
static void walk(const alm_io *io, const char *root)
{
    alm_ctx cx = {0};
    char a[256], b[256];
    (void)snprintf(a, sizeof a, "%s/a", root);
    (void)snprintf(b, sizeof b, "%s/b", root);
    assert_int_equal(io->mkdir(io, root), 0);
    assert_int_equal(io->mkdir(io, root), 0);
    assert_int_equal(io->open(io, a, ALM_IO_READ), -ENOENT);
    const int h = io->open(io, a, RW | ALM_IO_EXCLUSIVE);
    assert_true(h >= 0);
    assert_int_equal(io->open(io, a, RW | ALM_IO_EXCLUSIVE), -EEXIST);
    assert_int_equal(io->lock(io, h), 0);
    const int again = io->open(io, a, RW);
    assert_int_equal(io->lock(io, again), -EWOULDBLOCK);
    assert_int_equal(io->close(io, again), 0);
    assert_int_equal(alm_io_write_all(&cx, io, h, "hello", 5, 3, "write"), ALM_OK);
    assert_int_equal(size_of(io, a), 8);
    assert_int_equal(io->allocate(io, h, 0, 8192), 0);
    assert_int_equal(size_of(io, a), 8192);
    assert_int_equal(io->truncate(io, h, 8), 0);
    assert_int_equal(io->sync(io, h), 0);
    const void *map = NULL;
    assert_int_equal(io->map(io, h, 8, &map), 0);
    assert_int_equal(io->close(io, h), 0);
    assert_memory_equal(map, "\0\0\0hello", 8);
    assert_int_equal(io->prefetch(io, map, 8), 0);
    assert_int_equal(io->unmap(io, map, 8), 0);
    assert_int_equal(io->rename(io, a, b), 0);
    assert_int_equal(io->sync_dir(io, root), 0);
    int n = 0;
    assert_int_equal(io->list(io, root, count_names, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(io->rmdir(io, root), -ENOTEMPTY);
    assert_int_equal(io->unlink(io, a), -ENOENT);
    assert_int_equal(io->unlink(io, b), 0);
    assert_int_equal(io->rmdir(io, root), 0);
}

static void both_disks_agree(void **state)
{
    (void)state;
    char root[] = "/tmp/alm_io_XXXXXX";
    assert_non_null(mkdtemp(root));
    char sub[64];
    (void)snprintf(sub, sizeof sub, "%s/db", root);
    walk(alm_io_posix(), sub);
    assert_int_equal(rmdir(root), 0);
    alm_sim *sim = alm_sim_new(7);
    walk(alm_sim_io(sim), "db");
    alm_sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synced_survives_unsynced_may_not),
        cmocka_unit_test(names_need_a_synced_directory),
        cmocka_unit_test(power_cut_stops_everything),
        cmocka_unit_test(errors_on_the_nth_call),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(ignored_sync_loses),
        cmocka_unit_test(both_disks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
