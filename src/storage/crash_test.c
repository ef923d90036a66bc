/*
 * Goal: after a power cut at any moment every acknowledged change is there exactly once, and the one
 * that was under way wholly or not at all; errors of single calls lose nothing; recovery can crash
 * and be repeated.
 *
 * Method: one deterministic list of changes on the simulated disk. It runs once for every number k
 * of changing calls, with a power cut at the k-th; after the restart the database is read into a
 * model and compared with the model before and after the change that was cut. Without syncs the same
 * test must fail. Another loop lets the n-th call of any kind fail.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "storage/crash_world_for_test.h"
#include "storage/state.h"
#include "storage/write/flush.h"

/* One run with a power cut at the k-th changing call. *finished: there were fewer calls. */
static bool survives_cut(int list, uint64_t seed, int64_t k, bool ignore_sync, int again,
                         bool *finished)
{
    world w;
    model after, found;
    bool ok = false;
    world_init(&w, seed);
    use_list(&w, list);
    alm_sim_ignore_sync(w.sim, ignore_sync);
    alm_sim_cut_after(w.sim, k);
    memset(&after, 0, sizeof after);
    *finished = world_open(&w) == ALM_OK && !run_steps(&w, &after);
    if (reopen(&w, again) == ALM_OK && read_model(&w, &found) == ALM_OK) {
        ok = same(&found, &w.known) || same(&found, &after);
        /* The log must go on behind whatever tail the cut left. */
        if (ok && found.tables[0].there) {
            alm_error_clear(&w.cx);
            w.known = found;
            ok = rows(&w, 0, -1, 1000, 2, &w.known) == ALM_OK &&
                 rows(&w, 0, -1, 1002, 2, &w.known) == ALM_OK && reopen(&w, 0) == ALM_OK &&
                 read_model(&w, &found) == ALM_OK && same(&found, &w.known);
        }
    }
    if (!ok && !ignore_sync)
        print_error("seed %llu, cut at call %lld: %s\n", (unsigned long long)seed, (long long)k,
                    w.cx.err.msg);
    world_deinit(&w);
    return ok;
}

static void power_cut_at_every_call(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= LISTS + 1; seed++) { /* the first list with two seeds */
        const int list = seed < 3 ? 0 : (int)seed - 2;
        bool finished = false;
        for (int64_t k = 1 + (int64_t)seed % stride(); !finished; k += stride())
            assert_true(survives_cut(list, seed * 1000 + (uint64_t)k, k, false, 0, &finished));
    }
}

/* Changing calls of a whole list. */
static int64_t calls_of(int list)
{
    world w;
    model after;
    world_init(&w, 1);
    use_list(&w, list);
    assert_true(world_open(&w) == ALM_OK && !run_steps(&w, &after));
    const int64_t n = alm_sim_calls(w.sim, ALM_SIM_CHANGE);
    world_deinit(&w);
    return n;
}

/* Any list, any call, any seed; every third with cuts within recovery. */
static void power_cuts_by_seed(void **state)
{
    (void)state;
    const uint64_t seeds = getenv("ALM_TEST_ALL") != NULL ? 10000 : 500 / (uint64_t)stride();
    int64_t calls[LISTS];
    for (int list = 0; list < LISTS; list++)
        calls[list] = calls_of(list);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const uint64_t mixed = seed * UINT64_C(0x9e3779b97f4a7c15);
        const int list = (int)(seed % LISTS);
        const int64_t k = 1 + (int64_t)((mixed >> 20) % (uint64_t)calls[list]);
        bool finished = false;
        assert_true(survives_cut(list, mixed, k, false, seed % 3 == 0 ? 4 : 0, &finished));
    }
}

static void power_cuts_within_recovery(void **state)
{
    (void)state;
    for (int list = 0; list < LISTS; list++) {
        bool finished = false;
        for (int64_t k = 1; !finished; k += 3 * stride())
            assert_true(survives_cut(list, (uint64_t)k, k, false, 12, &finished));
    }
}

/* Two heads are written to parts; their records are one group. True: the second record began a new segment. */
static bool flush_over_two_segments(world *w, int filler, alm_wal_segment *first, int64_t *at)
{
    const alm_wal *wal = &w->st->wal;
    for (int table = 0; table < TABLES; table++)
        assert_int_equal(make(w, table, &w->known), ALM_OK);
    assert_int_equal(rows(w, 0, 1, 0, 10, &w->known), ALM_OK);
    for (int i = 0; i < filler; i++)
        assert_int_equal(comment(w, 2, false, "a comment", &w->known), ALM_OK);
    *first = wal->segments[wal->n_segments - 1];
    *at = wal->at;
    assert_int_equal(alm_heads_flush(&w->cx, w->st, 0), ALM_OK);
    return wal->segments[wal->n_segments - 1].prev_lsn == first->last_lsn + 1 &&
           wal->segments[wal->n_segments - 1].number == first->number + 1;
}

static void segment_path(uint64_t number, char *path, size_t size)
{
    (void)snprintf(path, size, "r/db/wal/%016llx.wal", (unsigned long long)number);
}

/*
 * What a power cut leaves of a group may be the mark behind its record alone. A record of the same length comes to stand before it: the
 * segment that the mark named is gone, and is not missed.
 */
static void a_mark_of_a_torn_group_is_none(void **state)
{
    (void)state;
    int torn = 0;
    for (int filler = 0; filler < 30; filler++) {
        world w;
        model found;
        alm_wal_segment seg;
        char path[64];
        int64_t at = 0;
        world_init(&w, 1);
        assert_int_equal(world_open(&w), ALM_OK);
        if (flush_over_two_segments(&w, filler, &seg, &at)) {
            alm_sim_cut_after(w.sim, 1);
            alm_storage_close(w.st);
            alm_sim_restart(w.sim);
            segment_path(seg.number, path, sizeof path);
            assert_true(alm_sim_flip(w.sim, path, at + ALM_REC_HEADER + 8, 1));
            segment_path(seg.number + 1, path, sizeof path);
            assert_int_equal(alm_sim_io(w.sim)->unlink(alm_sim_io(w.sim), path), 0);
            assert_int_equal(world_open(&w), ALM_OK);
            assert_int_equal(w.st->wal.at, at);
            assert_int_equal(alm_head_flush(&w.cx, w.st, 1), ALM_OK);
            assert_int_equal(reopen(&w, 0), ALM_OK);
            assert_int_equal(read_model(&w, &found), ALM_OK);
            assert_true(same(&found, &w.known));
            torn++;
        }
        world_deinit(&w);
    }
    assert_true(torn > 0);
}

static void without_syncs_the_test_fails(void **state)
{
    (void)state;
    int failed = 0;
    bool finished = false;
    for (int64_t k = 1; !finished; k += 5)
        failed += !survives_cut(0, (uint64_t)k, k, true, 0, &finished);
    assert_true(failed > 5);
}

/* What expires goes with the record of the rows: no reader, and no crash, finds these without that. */
static void expiring_takes_no_record_of_its_own(void **state)
{
    (void)state;
    world w;
    model found;
    alm_storage_stats stats;
    world_init(&w, 1);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, 0, &w.known), ALM_OK);
    assert_int_equal(shorten_life(&w, 0, 1, &w.known), ALM_OK);
    assert_int_equal(rows(&w, 0, -1, 0, 20, &w.known), ALM_OK);
    alm_storage_stats_get(w.st, &stats);
    const int64_t before = stats.commits;
    assert_int_equal(rows(&w, 0, -1, 200, 20, &w.known), ALM_OK); /* from the head */
    assert_int_equal(load(&w, 0, 400, 20, &w.known), ALM_OK);
    assert_int_equal(load(&w, 0, 600, 20, &w.known), ALM_OK);   /* from parts */
    assert_int_equal(rows(&w, 0, -1, 5, 20, &w.known), ALM_OK); /* too late themselves */
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known));
    assert_int_equal(found.tables[0].count[19], 0);
    assert_int_equal(found.tables[0].count[600], 1);
    alm_storage_stats_get(w.st, &stats);
    assert_int_equal(stats.commits - before, 5); /* with the flush of what the first load meets */
    world_deinit(&w);
}

/* ------------------------------------------------------------------ failing calls */

/* A commit that cannot expire rows, because a flush failed that writes them, leaves them to a later one,
 * or to the next start. */
static bool same_but_late(const model *found, const model *known)
{
    model aged = *found;
    for (int i = 0; i < TABLES; i++)
        age(i, &aged);
    return same(&aged, known);
}

static bool survives_error(int list, alm_sim_op op, int64_t n, int err, bool *finished)
{
    world w;
    model after, possible, found;
    bool maybe = false, ok = true;
    world_init(&w, (uint64_t)n);
    use_list(&w, list);
    alm_sim_fail(w.sim, op, n, err, 1);
    alm_status st = world_open(&w);
    if (st != ALM_OK)
        st = world_open(&w); /* the error has passed */
    ok = st == ALM_OK;
    for (int i = 0; i < w.steps && ok; i++) {
        after = w.known;
        st = w.step(&w, i, &after);
        if (st != ALM_OK) {
            ok = w.cx.err.msg[0] != 0;
            alm_error_clear(&w.cx);
            if (!maybe) /* the first that failed may have reached the disk */
                possible = after;
            maybe = true;
            after = w.known;
        }
        w.known = after;
        if (st != ALM_OK) { /* what failed is not seen, what was there is readable */
            ok = ok && read_model(&w, &found) == ALM_OK && same_but_late(&found, &w.known);
            alm_storage_stats stats;
            alm_storage_stats_get(w.st, &stats);
            if (stats.read_only)
                break;
            maybe = false;
        }
    }
    *finished = alm_sim_failed(w.sim) == 0;
    alm_sim_fail(w.sim, op, 0, 0, 0);
    ok = ok && reopen(&w, 0) == ALM_OK && read_model(&w, &found) == ALM_OK &&
         (same(&found, &w.known) || (maybe && same(&found, &possible)));
    int64_t findings = -1;
    if (ok) {
        alm_storage_close(w.st);
        w.st = NULL;
        ok = alm_storage_check(&w.cx, alm_sim_io(w.sim), "r", NULL, NULL, &findings) == ALM_OK &&
             findings == 0;
    }
    if (!ok)
        print_error("call %lld of kind %d, errno %d: %lld findings, %s\n", (long long)n, (int)op,
                    err, (long long)findings, w.cx.err.msg);
    world_deinit(&w);
    return ok;
}

static void every_call_may_fail(void **state)
{
    (void)state;
    static const struct {
        alm_sim_op op;
        int err;
    } kinds[] = {{ALM_SIM_ANY, EIO},      {ALM_SIM_CHANGE, ENOSPC}, {ALM_SIM_SYNC, EIO},
                 {ALM_SIM_SYNC_ALL, EIO}, {ALM_SIM_WRITE, 0},       {ALM_SIM_ALLOCATE, ENOSPC},
                 {ALM_SIM_OPEN, EMFILE}};
    for (size_t i = 0; i < LISTS * ALM_COUNT(kinds); i++) {
        const size_t k = i / LISTS;
        bool finished = false;
        for (int64_t n = 1; !finished; n += stride())
            assert_true(survives_error((int)(i % LISTS), kinds[k].op, n, kinds[k].err, &finished));
    }
}

/* After a crash the n-th call of the start fails: it says so, or gives all rows; the next start does. */
static bool recovers_beside_error(int list, alm_sim_op op, int64_t n, int err, bool *finished)
{
    world w;
    model after, found;
    world_init(&w, (uint64_t)n);
    use_list(&w, list);
    bool ok = world_open(&w) == ALM_OK && !run_steps(&w, &after);
    alm_sim_cut_after(w.sim, 1);
    alm_storage_close(w.st);
    alm_sim_restart(w.sim);
    alm_sim_fail(w.sim, op, n, err, 1);
    if (ok && world_open(&w) == ALM_OK) {
        ok = read_model(&w, &found) == ALM_OK ? same(&found, &w.known) : w.cx.err.msg[0] != 0;
        alm_storage_close(w.st);
    } else {
        ok = ok && w.cx.err.msg[0] != 0;
    }
    *finished = alm_sim_failed(w.sim) == 0;
    alm_sim_fail(w.sim, op, 0, 0, 0);
    ok = ok && world_open(&w) == ALM_OK && read_model(&w, &found) == ALM_OK &&
         same(&found, &w.known);
    if (!ok)
        print_error("list %d, call %lld of kind %d, errno %d: %s\n", list, (long long)n, (int)op,
                    err, w.cx.err.msg);
    world_deinit(&w);
    return ok;
}

static void errors_within_recovery(void **state)
{
    (void)state;
    static const struct {
        alm_sim_op op;
        int err;
    } kinds[] = {{ALM_SIM_ANY, EIO},
                 {ALM_SIM_CHANGE, ENOSPC},
                 {ALM_SIM_OPEN, EMFILE},
                 {ALM_SIM_MAP, ENOMEM},
                 {ALM_SIM_WRITE, 0}};
    for (size_t i = 0; i < LISTS * ALM_COUNT(kinds); i++) {
        bool finished = false;
        for (int64_t n = 1; !finished; n += stride())
            assert_true(recovers_beside_error((int)(i % LISTS), kinds[i / LISTS].op, n,
                                              kinds[i / LISTS].err, &finished));
    }
}

static void a_full_disk_is_an_ordinary_error(void **state)
{
    (void)state;
    world w;
    model after, found;
    world_init(&w, 1);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, 0, &w.known), ALM_OK);
    alm_sim_capacity(w.sim, alm_sim_used(w.sim) + 1000); /* the segment in use goes on */
    int failed = 0;
    for (int i = 0; i < 60; i++) {
        after = w.known;
        const alm_status st = rows(&w, 0, -1, i * 5, 5, &after);
        if (st == ALM_OK) {
            w.known = after;
            continue;
        }
        assert_int_equal(st, ALM_E_DISK_FULL);
        alm_error_clear(&w.cx);
        failed++;
        if (failed == 3)
            alm_sim_capacity(w.sim, 0); /* somebody made room */
    }
    assert_int_equal(failed, 3);
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known));
    assert_int_equal(reopen(&w, 0), ALM_OK);
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known));
    world_deinit(&w);
}

static void a_failed_sync_refuses_writes_until_restart(void **state)
{
    (void)state;
    world w;
    model found;
    alm_storage_stats stats;
    world_init(&w, 1);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, 0, &w.known), ALM_OK);
    assert_int_equal(rows(&w, 0, -1, 0, 5, &w.known), ALM_OK);
    model lost = w.known;
    alm_sim_fail(w.sim, ALM_SIM_SYNC, 1, EIO, 1);
    assert_int_equal(rows(&w, 0, -1, 10, 5, &lost), ALM_E_IO);
    alm_error_clear(&w.cx);
    for (int i = 0; i < 3; i++) {
        model no = w.known;
        assert_int_equal(rows(&w, 0, -1, 20, 5, &no), ALM_E_IO);
        assert_non_null(strstr(w.cx.err.msg, "restart"));
        alm_error_clear(&w.cx);
    }
    alm_storage_stats_get(w.st, &stats);
    assert_true(stats.read_only);
    assert_int_equal(read_model(&w, &found), ALM_OK); /* reads go on */
    assert_true(same(&found, &w.known));
    assert_int_equal(reopen(&w, 0), ALM_OK);
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known) || same(&found, &lost));
    w.known = found;
    assert_int_equal(rows(&w, 0, -1, 30, 5, &w.known), ALM_OK);
    world_deinit(&w);
}

/* ------------------------------------------------------------------------ damage */

/* Bits of the log flipped: never a wrong row; a hole is refused by name. */
static void damage_of_the_log_is_noticed(void **state)
{
    (void)state;
    int refused = 0;
    for (int64_t offset = 70; offset < 3000; offset += 37) {
        world w;
        model found;
        world_init(&w, 5);
        w.conf.wal_segment_bytes = 64 << 10;
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(make(&w, 0, &w.known), ALM_OK);
        for (int i = 0; i < 10; i++)
            assert_int_equal(rows(&w, 0, -1, i * 5, 3, &w.known), ALM_OK);
        alm_sim_cut_after(w.sim, 1);
        alm_storage_close(w.st);
        w.st = NULL;
        alm_sim_restart(w.sim);
        assert_true(alm_sim_flip(w.sim, "r/db/wal/0000000000000001.wal", offset, 3));
        const alm_status st = world_open(&w);
        if (st == ALM_OK) {
            /* Only the last group may be taken for a torn tail. */
            assert_int_equal(read_model(&w, &found), ALM_OK);
            assert_false(found.damaged);
            for (int v = 0; v < 43; v++)
                assert_true(found.tables[0].count[v] == w.known.tables[0].count[v] || v >= 45);
        } else {
            assert_int_equal(st, ALM_E_CORRUPT);
            assert_non_null(strstr(w.cx.err.msg, "0000000000000001.wal"));
            refused++;
        }
        world_deinit(&w);
    }
    assert_true(refused > 30);
}

static void catalogue_of_one_row(world *w)
{
    world_init(w, 5);
    assert_int_equal(world_open(w), ALM_OK);
    assert_int_equal(make(w, 0, &w->known), ALM_OK);
    assert_int_equal(rows(w, 0, -1, 0, 5, &w->known), ALM_OK);
    alm_storage_close(w->st);
    w->st = NULL;
    const alm_io *io = alm_sim_io(w->sim); /* recover/generation_test.c has what takes its place */
    assert_int_equal(io->unlink(io, "r/db/catalog.1"), 0);
}

static void damage_of_the_catalogue_is_noticed(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 400; offset += 7) {
        world w;
        catalogue_of_one_row(&w);
        assert_true(alm_sim_flip(w.sim, "r/db/catalog", offset, (unsigned)offset));
        const alm_status st = world_open(&w);
        assert_true(st == ALM_E_CORRUPT || st == ALM_E_UNSUPPORTED);
        assert_non_null(strstr(w.cx.err.msg, "catalog"));
        int64_t n = 0;
        alm_error_clear(&w.cx);
        assert_int_equal(alm_storage_check(&w.cx, alm_sim_io(w.sim), "r", NULL, NULL, &n), ALM_OK);
        assert_true(n > 0);
        world_deinit(&w);
    }
}

/* A version number that rots is damage, and not a format of later or of before. */
static void bits_of_the_first_bytes_of_the_catalogue_are_damage(void **state)
{
    (void)state;
    world w;
    catalogue_of_one_row(&w);
    for (unsigned bit = 0; bit < 16 * 8; bit++) {
        assert_true(alm_sim_flip(w.sim, "r/db/catalog", bit / 8, bit % 8));
        assert_int_equal(world_open(&w), ALM_E_CORRUPT);
        assert_non_null(strstr(w.cx.err.msg, "its checksum does not match"));
        assert_true(alm_sim_flip(w.sim, "r/db/catalog", bit / 8, bit % 8));
    }
    assert_int_equal(world_open(&w), ALM_OK);
    world_deinit(&w);
}

static void a_later_version_of_the_catalogue_is_refused_by_name(void **state)
{
    (void)state;
    world w;
    unsigned char bytes[4096];
    catalogue_of_one_row(&w);
    const alm_io *io = alm_sim_io(w.sim);
    const int h = io->open(io, "r/db/catalog", ALM_IO_READ | ALM_IO_WRITE);
    const int64_t n = io->read(io, h, bytes, sizeof bytes, 0);
    assert_true(n > 64 && n < (int64_t)sizeof bytes);
    bytes[8]++;
    uint32_t crc = alm_crc32c(0, bytes + 64, (size_t)n - 64);
    crc = alm_crc32c(alm_crc32c(crc, bytes + 16, 48), bytes, 12);
    memcpy(bytes + 12, &crc, sizeof crc);
    assert_int_equal(io->write(io, h, bytes, 64, 0), 64);
    assert_int_equal(io->close(io, h), 0);
    assert_int_equal(world_open(&w), ALM_E_UNSUPPORTED);
    assert_non_null(strstr(w.cx.err.msg, "format version"));
    world_deinit(&w);
}

/* ---------------------------------------------------------------- group commit */

typedef struct client {
    world *w;
    int64_t from;
    int acknowledged;
} client;

static void *client_main(void *arg)
{
    client *c = arg;
    world own = {.st = c->w->st}; /* a context and an arena of its own */
    alm_arena_init(&own.arena, NULL);
    own.cx.arena = &own.arena;
    for (int i = 0; i < 40; i++)
        c->acknowledged += rows(&own, 0, -1, c->from + i, 1, &own.known) == ALM_OK;
    alm_arena_deinit(&own.arena);
    return NULL;
}

static void syncs_are_shared(void **state)
{
    (void)state;
    enum { CLIENTS = 12 };
    world w;
    model found;
    world_init(&w, 1);
    w.conf.wal_segment_bytes = 1 << 20;
    w.conf.manual = false;
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(make(&w, 0, &w.known), ALM_OK);
    const alm_io *io = alm_sim_io(w.sim);
    int64_t before = io->sync_count(io);
    for (int i = 0; i < 20; i++)
        assert_int_equal(rows(&w, 0, -1, 900 + i, 1, &w.known), ALM_OK);
    assert_int_equal(io->sync_count(io) - before, 20); /* one each: no more, no less */
    alm_sim_sync_delay(w.sim, 500);
    before = io->sync_count(io);
    pthread_t threads[CLIENTS];
    client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (client){.w = &w, .from = i * 40};
        assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(clients[i].acknowledged, 40);
    }
    const int64_t syncs = io->sync_count(io) - before;
    assert_true(syncs > 0 && syncs < CLIENTS * 40 / 2);
    for (int v = 0; v < CLIENTS * 40; v++)
        w.known.tables[0].count[v]++;
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known));
    assert_int_equal(reopen(&w, 0), ALM_OK);
    assert_int_equal(read_model(&w, &found), ALM_OK);
    assert_true(same(&found, &w.known));
    world_deinit(&w);
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_cut_at_every_call),
        cmocka_unit_test(power_cuts_by_seed),
        cmocka_unit_test(power_cuts_within_recovery),
        cmocka_unit_test(a_mark_of_a_torn_group_is_none),
        cmocka_unit_test(without_syncs_the_test_fails),
        cmocka_unit_test(expiring_takes_no_record_of_its_own),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(errors_within_recovery),
        cmocka_unit_test(a_full_disk_is_an_ordinary_error),
        cmocka_unit_test(a_failed_sync_refuses_writes_until_restart),
        cmocka_unit_test(damage_of_the_log_is_noticed),
        cmocka_unit_test(damage_of_the_catalogue_is_noticed),
        cmocka_unit_test(bits_of_the_first_bytes_of_the_catalogue_are_damage),
        cmocka_unit_test(a_later_version_of_the_catalogue_is_refused_by_name),
        cmocka_unit_test(syncs_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
