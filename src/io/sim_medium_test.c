/*
 * Goal    The medium of the simulated disk does to files what it says, and to nothing else.
 * Method  Files with known bytes in two directories; each kind of damage with many seeds; what reads and maps show is
 *         compared with the bytes and with the list of places.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/sim.h"

enum { FILES = 3, SIZE = 3000, SEEDS = 60 };
static const char *const PATHS[FILES] = {"d/a", "d/b", "e/c"};

static char byte_of(int file, int64_t at)
{
    return (char)('a' + (at * 7 + file * 5) % 26);
}

static alm_sim *disk(uint64_t seed)
{
    alm_sim *sim = alm_sim_new(seed);
    const alm_io *io = alm_sim_io(sim);
    char bytes[SIZE];
    assert_int_equal(io->mkdir(io, "d"), 0);
    assert_int_equal(io->mkdir(io, "e"), 0);
    for (int f = 0; f < FILES; f++) {
        for (int64_t i = 0; i < SIZE; i++)
            bytes[i] = byte_of(f, i);
        const int h = io->open(io, PATHS[f], ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE);
        assert_int_equal(io->write(io, h, bytes, SIZE, 0), SIZE);
        if (f != 1) /* one has not been synced */
            assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->close(io, h), 0);
    }
    assert_int_equal(io->sync_dir(io, ""), 0);
    assert_int_equal(io->sync_dir(io, "d"), 0);
    assert_int_equal(io->sync_dir(io, "e"), 0);
    return sim;
}

/* Is the byte in a place of the list? */
static bool is_struck(alm_sim *sim, int file, int64_t at)
{
    for (size_t i = 0; i < alm_sim_damage_count(sim); i++) {
        alm_sim_damage d;
        alm_sim_damage_at(sim, i, &d);
        if (strcmp(d.path, PATHS[file]) == 0 && at >= d.offset && at < d.offset + d.bytes)
            return true;
    }
    return false;
}

/* Bytes that are not as they were; only struck ones may be. */
static int64_t changed(alm_sim *sim, bool other_may_be_gone)
{
    const alm_io *io = alm_sim_io(sim);
    int64_t n = 0;
    for (int f = 0; f < FILES; f++) {
        const int h = io->open(io, PATHS[f], ALM_IO_READ);
        assert_true(h >= 0);
        for (int64_t at = 0; at < io->size(io, h) && at < SIZE; at++) {
            char c = 0;
            const int64_t got = io->read(io, h, &c, 1, at);
            const bool differs = got != 1 || c != byte_of(f, at);
            if (got < 0)
                assert_int_equal(got, -EIO);
            if (differs && !(other_may_be_gone && f == 1))
                assert_true(is_struck(sim, f, at));
            n += differs;
        }
        assert_int_equal(io->close(io, h), 0);
    }
    return n;
}

static void rot_strikes_one_file(void **state)
{
    (void)state;
    int64_t seen = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const alm_sim_damage_kind kind = (alm_sim_damage_kind)(seed % 3);
        alm_sim *sim = disk(seed);
        alm_sim_damage d;
        assert_false(alm_sim_damage_after(sim, kind, "nowhere", 0));
        assert_true(alm_sim_damage_after(sim, kind, seed % 2 ? "d" : "", 0));
        assert_int_equal(alm_sim_damage_count(sim), 1);
        alm_sim_damage_at(sim, 0, &d);
        assert_true(d.is_wrong && !d.landed && !d.mapped && d.kind == kind);
        assert_true(d.path[0] == 'd' || seed % 2 == 0);
        const int64_t n = changed(sim, false);
        assert_true(n > 0 && n <= d.bytes);
        if (kind == ALM_SIM_ROT_BITS)
            assert_true(n <= 4);
        /* It is there after a power cut, whatever that took beside. */
        if (strcmp(d.path, PATHS[1]) != 0) {
            alm_sim_restart(sim);
            seen++;
            assert_true(changed(sim, true) >= n);
        }
        assert_int_equal(alm_sim_mend(sim, "nowhere"), 0);
        if (strcmp(d.path, PATHS[1]) != 0) {
            assert_int_equal(alm_sim_mend(sim, ""), 1);
            alm_sim_damage_at(sim, 0, &d);
            assert_false(d.is_wrong);
        }
        alm_sim_free(sim);
    }
    assert_true(seen > SEEDS / 4);
}

static void rot_shows_in_maps(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const alm_sim_damage_kind kind = (alm_sim_damage_kind)(seed % 3);
        alm_sim *sim = disk(seed);
        const alm_io *io = alm_sim_io(sim);
        alm_io_map *map = NULL, *later = NULL;
        alm_sim_damage d;
        assert_int_equal(io->map_file(io, PATHS[0], &map), 0);
        assert_int_equal(io->prefetch(io, map->at, SIZE), 0);
        assert_true(alm_sim_damage_after(sim, kind, PATHS[0], 0));
        alm_sim_damage_at(sim, 0, &d);
        assert_true(d.mapped);
        int64_t others = 0;
        for (int64_t i = 0; i < SIZE; i++)
            others += ((const char *)map->at)[i] != byte_of(0, i);
        assert_true(others > 0 && others <= d.bytes);
        const bool lost = kind == ALM_SIM_ROT_UNREADABLE;
        assert_int_equal(io->use_map(io, map), lost ? -EIO : 0);
        assert_int_equal(io->map_faults(io), lost);
        /* A map that is made later has it, too. */
        assert_int_equal(io->map_file(io, PATHS[0], &later), 0);
        assert_int_equal(io->prefetch(io, (const char *)later->at + d.offset, 1),
                         lost ? -EFAULT : 0);
        assert_int_equal(io->prefetch(io, later->at, SIZE), lost ? -EFAULT : 0);
        io->unmap_file(io, map);
        io->unmap_file(io, later);
        /* What is written again can be read. */
        const int h = io->open(io, PATHS[0], ALM_IO_READ | ALM_IO_WRITE);
        char bytes[SIZE];
        for (int64_t i = 0; i < SIZE; i++)
            bytes[i] = byte_of(0, i);
        assert_int_equal(io->write(io, h, bytes, SIZE, 0), SIZE);
        assert_int_equal(io->close(io, h), 0);
        assert_int_equal(changed(sim, false), 0);
        alm_sim_damage_at(sim, 0, &d);
        assert_false(d.is_wrong);
        alm_sim_free(sim);
    }
}

/* A write of 700 bytes at 500, or behind the end: acknowledged, and not there. */
static void writes_go_astray(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static const int64_t n = 700;
        const alm_sim_damage_kind kind = (alm_sim_damage_kind)(ALM_SIM_WRITE_LOST + seed % 3);
        const int64_t at = seed % 2 ? 500 : SIZE;
        alm_sim *sim = disk(seed);
        const alm_io *io = alm_sim_io(sim);
        char bytes[700];
        memset(bytes, '#', sizeof bytes);
        (void)alm_sim_damage_after(sim, kind, "d/a", 2);
        const int h = io->open(io, PATHS[0], ALM_IO_READ | ALM_IO_WRITE);
        const int other = io->open(io, PATHS[2], ALM_IO_READ | ALM_IO_WRITE);
        char first = byte_of(0, 0);
        assert_int_equal(io->write(io, h, &first, 1, 0), 1); /* the first one is good */
        char same = byte_of(2, 1);
        assert_int_equal(io->write(io, other, &same, 1, 1), 1); /* not below that path */
        assert_int_equal(alm_sim_damage_count(sim), 0);
        assert_int_equal(io->write(io, h, bytes, (size_t)n, at), n);
        assert_int_equal(io->sync(io, h), 0);
        assert_int_equal(io->size(io, h), ALM_MAX(at + n, (int64_t)SIZE));
        const bool lands = kind != ALM_SIM_WRITE_LOST;
        assert_int_equal(alm_sim_damage_count(sim), lands ? 2 : 1);
        alm_sim_damage d;
        for (size_t i = 0; i < alm_sim_damage_count(sim); i++) {
            alm_sim_damage_at(sim, i, &d);
            assert_true(d.landed == (i == 1) && d.is_wrong);
            assert_string_equal(d.path, PATHS[kind == ALM_SIM_WRITE_MISDIRECTED && i == 1 ? 1 : 0]);
        }
        if (lands)
            assert_true(changed(sim, false) > 0);
        else
            assert_int_equal(changed(sim, false), 0); /* the older bytes */
        if (kind != ALM_SIM_WRITE_MISPLACED) {
            char got[700];
            assert_int_equal(io->read(io, h, got, (size_t)n, at), n);
            for (int64_t i = 0; i < n; i++)
                assert_int_equal(got[i], at + i < SIZE ? byte_of(0, at + i) : 0);
        }
        assert_true(alm_sim_mend(sim, "") >= 1);
        char got[700];
        assert_int_equal(io->read(io, h, got, (size_t)n, at), n);
        assert_memory_equal(got, bytes, (size_t)n);
        assert_int_equal(io->close(io, h), 0);
        assert_int_equal(io->close(io, other), 0);
        alm_sim_free(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rot_strikes_one_file),
        cmocka_unit_test(rot_shows_in_maps),
        cmocka_unit_test(writes_go_astray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
