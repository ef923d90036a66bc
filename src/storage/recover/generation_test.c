/*
 * Goal: no committed change is lost when the catalogue file is damaged or missing. The start recovers the same state from the previous
 * generation and the log behind it and raises a warning, and the next checkpoint writes a valid catalogue; if the previous
 * generation cannot be used, the start is refused.
 * Method: the lists of changes of crash_test.c, cut off by the power at every call; then the catalogue is damaged, and the power is cut
 * within the start as well.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "storage/check/scrub.h"
#include "storage/crash_world_for_test.h"
#include "storage/recover/generation.h"
#include "storage/recover/recover.h"

#define CATALOG  "r/db/" ALM_CATALOG
#define PREVIOUS "r/db/" ALM_CATALOG_PREVIOUS
#define ASIDE    "r/db/" ALM_CATALOG_ASIDE

static int64_t size_of(const world *w, const char *path)
{
    alm_io_stat meta;
    const alm_io *io = alm_sim_io(w->sim);
    return io->stat(io, path, &meta) < 0 ? -1 : meta.size_bytes;
}

static int64_t known_damage(const world *w)
{
    alm_storage_stats stats;
    alm_storage_stats_get(w->st, &stats);
    return stats.damaged_files;
}

/* A bit of a file, but not of what the header says of its checkpoint: that has a test of its own. */
static bool flip_any(world *w, const char *path, uint64_t random)
{
    const int64_t n = size_of(w, path);
    if (n <= 0)
        return false;
    int64_t at = (int64_t)(random % (uint64_t)n);
    if (at >= 24 && at < 32)
        at = 0;
    return alm_sim_flip(w->sim, path, at, (unsigned)(random >> 32) % 8);
}

static bool is_same(world *w, const model *after)
{
    model found;
    alm_sweep(w->st, UINT64_MAX); /* nothing that the state needs goes */
    return read_model(w, &found) == ALM_OK && (same(&found, &w->known) || same(&found, after));
}

/* Ends as in a crash. */
static void cut(world *w)
{
    if (!alm_sim_is_dead(w->sim))
        alm_sim_cut_after(w->sim, 1);
    if (w->st != NULL)
        alm_storage_close(w->st);
    w->st = NULL;
    alm_sim_restart(w->sim);
}

/* From a checkpoint on the catalogue is sound, and nothing is told any more. */
static bool is_sound_again(world *w, const model *after)
{
    int64_t findings = 0;
    alm_error_clear(&w->cx);
    if (w->st->hold.held && alm_storage_hold_release(&w->cx, w->st) != ALM_OK)
        return false;
    if (alm_storage_checkpoint(&w->cx, w->st) != ALM_OK || known_damage(w) != 0)
        return false;
    cut(w);
    if (alm_storage_check(&w->cx, alm_sim_io(w->sim), "r", NULL, NULL, &findings) != ALM_OK ||
        findings != 0)
        return false;
    return world_open(w) == ALM_OK && known_damage(w) == 0 && is_same(w, after);
}

typedef struct counts {
    int starts, taken, refused;
} counts;

/*
 * One run: power cut at the k-th call, a start or none, damage of the catalogue, a start with cuts in it. True: it is as it was, or there
 * was no other catalogue yet.
 */
static bool survives(int list, uint64_t seed, int64_t k, int64_t log_max, bool *finished, counts *n)
{
    world w;
    model after;
    const uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
    bool ok = true;
    world_init(&w, seed);
    w.conf.previous_wal_bytes = log_max;
    use_list(&w, list);
    alm_sim_cut_after(w.sim, k);
    memset(&after, 0, sizeof after);
    *finished = world_open(&w) == ALM_OK && !run_steps(&w, &after);
    cut(&w);
    if (seed % 2 == 0) { /* a start with a sound catalogue must leave what the other one needs */
        ok = world_open(&w) == ALM_OK && is_same(&w, &after);
        cut(&w);
    }
    const bool previous = size_of(&w, PREVIOUS) >= 0, struck = flip_any(&w, CATALOG, random);
    n->starts++;
    if (ok && reopen(&w, seed % 3 == 0 ? 8 : 0) == ALM_OK) {
        n->taken += struck;
        ok = is_same(&w, &after) && known_damage(&w) == struck && is_sound_again(&w, &after);
    } else {
        n->refused++;
        ok = ok && struck && !previous && strstr(w.cx.err.msg, CATALOG) != NULL;
    }
    if (!ok)
        print_error("list %d, seed %llu, cut at call %lld: %s\n", list, (unsigned long long)seed,
                    (long long)k, w.cx.err.msg);
    world_deinit(&w);
    return ok;
}

static void each_call(int64_t log_max)
{
    counts n = {0};
    for (int list = 0; list < LISTS; list++) {
        bool finished = false;
        for (int64_t k = 1 + list % stride(); !finished; k += stride())
            assert_true(survives(list, (uint64_t)(list * 1000 + k), k, log_max, &finished, &n));
    }
    print_message("%d starts, %d from the catalogue before, %d refused\n", n.starts, n.taken,
                  n.refused);
    assert_true(n.taken > n.starts / 3 && n.refused < n.starts / 20);
}

static void the_one_before_takes_its_place(void **state)
{
    (void)state;
    each_call(INT64_C(32) << 20);
}

/* Where the log may not be kept, the previous catalogue is a copy of the last one. */
static void a_copy_takes_its_place(void **state)
{
    (void)state;
    each_call(0);
}

/* Two checkpoints with changes between and behind. The number of the first segment of the log. */
static uint64_t two_checkpoints(world *w, int64_t log_max)
{
    world_init(w, 1);
    w->conf.previous_wal_bytes = log_max;
    assert_int_equal(world_open(w), ALM_OK);
    assert_int_equal(make(w, 0, &w->known), ALM_OK);
    assert_int_equal(make(w, 1, &w->known), ALM_OK);
    assert_int_equal(rows(w, 0, 1, 0, 50, &w->known), ALM_OK);
    assert_int_equal(alm_storage_checkpoint(&w->cx, w->st), ALM_OK);
    assert_int_equal(rows(w, 0, -1, 50, 50, &w->known), ALM_OK);
    assert_int_equal(truncate_table(w, 1, &w->known), ALM_OK);
    assert_int_equal(rows(w, 1, -1, 200, 20, &w->known), ALM_OK);
    assert_int_equal(merge_parts(w, 0), ALM_OK);
    assert_int_equal(alm_storage_checkpoint(&w->cx, w->st), ALM_OK);
    assert_int_equal(rows(w, 0, 1, 300, 20, &w->known), ALM_OK);
    const uint64_t first = w->st->wal.segments[0].number;
    cut(w);
    return first;
}

static void replace(world *w, const char *path, const void *bytes, size_t n)
{
    const alm_io *io = alm_sim_io(w->sim);
    const int h = io->open(io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    assert_true(h >= 0);
    assert_int_equal(io->write(io, h, bytes, n, 0), (int64_t)n);
    assert_int_equal(io->sync(io, h), 0);
    assert_int_equal(io->close(io, h), 0);
    assert_int_equal(io->sync_dir(io, "r/db"), 0);
}

static size_t contents(const world *w, const char *path, char *bytes, size_t size)
{
    const alm_io *io = alm_sim_io(w->sim);
    const int h = io->open(io, path, ALM_IO_READ);
    assert_true(h >= 0);
    const int64_t n = io->read(io, h, bytes, size, 0);
    assert_int_equal(io->close(io, h), 0);
    assert_true(n > 64 && n < (int64_t)size);
    return (size_t)n;
}

typedef enum ruin { RUIN_GONE, RUIN_EMPTY, RUIN_SHORT, RUIN_ZEROS, RUIN_FOLDER, RUINS } ruin;

static void ruin_catalog(world *w, ruin how)
{
    static const char zeros[512];
    static char bytes[65536];
    const alm_io *io = alm_sim_io(w->sim);
    const size_t n = contents(w, CATALOG, bytes, sizeof bytes);
    if (how == RUIN_GONE || how == RUIN_FOLDER)
        assert_int_equal(io->unlink(io, CATALOG), 0);
    if (how == RUIN_FOLDER)
        assert_int_equal(io->mkdir(io, CATALOG), 0);
    assert_int_equal(io->sync_dir(io, "r/db"), 0);
    if (how == RUIN_EMPTY)
        replace(w, CATALOG, "", 0);
    if (how == RUIN_SHORT)
        replace(w, CATALOG, bytes, n - 1);
    if (how == RUIN_ZEROS)
        replace(w, CATALOG, zeros, sizeof zeros);
}

/* For each kind of damage: the start falls back, `check` reports the damaged file, and the file is kept for analysis. */
static void whatever_is_in_its_place(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * RUINS; i++) {
        world w;
        int64_t findings = 0;
        (void)two_checkpoints(&w, i < RUINS ? INT64_C(32) << 20 : 0);
        ruin_catalog(&w, (ruin)(i % RUINS));
        const int64_t size = size_of(&w, CATALOG);
        assert_int_equal(alm_storage_check(&w.cx, alm_sim_io(w.sim), "r", NULL, NULL, &findings),
                         ALM_OK);
        assert_int_equal(findings, 1);
        for (int again = 0; again < 2; again++) { /* told by each start until a checkpoint */
            assert_int_equal(world_open(&w), ALM_OK);
            assert_int_equal(known_damage(&w), 1);
            assert_true(w.st->generation.alone && is_same(&w, &w.known));
            cut(&w);
        }
        assert_int_equal(size_of(&w, ASIDE), i % RUINS == RUIN_GONE ? -1 : size);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_sound_again(&w, &w.known));
        world_deinit(&w);
    }
}

/* Every byte; of what the header says of its checkpoint, one that is beyond the end of the log is not taken for damage of these bytes alone. */
static void every_byte(void **state)
{
    (void)state;
    int refused = 0;
    world w;
    (void)two_checkpoints(&w, INT64_C(32) << 20);
    const int64_t n = size_of(&w, CATALOG);
    static char bytes[65536];
    const size_t size = contents(&w, CATALOG, bytes, sizeof bytes);
    for (int64_t at = 0; at < n; at += at < 64 ? 1 : 1 + 10 * (stride() - 1)) {
        assert_true(alm_sim_flip(w.sim, CATALOG, at, (unsigned)at % 8));
        if (world_open(&w) == ALM_OK) {
            assert_true(is_same(&w, &w.known));
        } else {
            assert_true(at >= 24 && at < 32);
            assert_non_null(strstr(w.cx.err.msg, "the damaged catalogue is of lsn"));
            refused++;
        }
        cut(&w);
        replace(&w, CATALOG, bytes, size);
    }
    assert_true(refused > 0 && refused <= 8);
    world_deinit(&w);
}

/* Names and contents of a directory, in one number. */
typedef struct summing {
    const world *w;
    const char *dir;
    uint32_t sum;
} summing;

static int sum_file(void *arg, const char *name)
{
    summing *s = arg;
    char path[256];
    static char bytes[65536];
    (void)snprintf(path, sizeof path, "%s/%s", s->dir, name);
    const alm_io *io = alm_sim_io(s->w->sim);
    const int h = io->open(io, path, ALM_IO_READ);
    const int64_t n = h < 0 ? 0 : io->read(io, h, bytes, sizeof bytes, 0);
    if (h >= 0)
        assert_int_equal(io->close(io, h), 0);
    s->sum += alm_crc32c(alm_crc32c(0, name, strlen(name)), bytes, (size_t)ALM_MAX(n, 0));
    return 0;
}

static uint32_t sum_of(const world *w, const char *dir)
{
    summing s = {.w = w, .dir = dir};
    const alm_io *io = alm_sim_io(w->sim);
    assert_int_equal(io->list(io, dir, sum_file, &s), 0);
    return s.sum;
}

static void is_refused(world *w, alm_status status, const char *why)
{
    const uint32_t log = sum_of(w, "r/db/wal"), parts = sum_of(w, "r/db/tables/1");
    assert_int_equal(world_open(w), status);
    assert_non_null(strstr(w->cx.err.msg, why));
    assert_int_equal(sum_of(w, "r/db/wal"), log);
    assert_int_equal(sum_of(w, "r/db/tables/1"), parts);
    alm_sim_restart(w->sim);
}

/* What is no damage of the catalogue, or cannot be made good by the one before: nothing is changed. */
static void what_is_refused(void **state)
{
    (void)state;
    static char bytes[65536], segment[64];
    world w;
    const uint64_t first = two_checkpoints(&w, INT64_C(32) << 20);
    const size_t n = contents(&w, CATALOG, bytes, sizeof bytes);
    bytes[8]++; /* of a later version */
    uint32_t crc =
        alm_crc32c(alm_crc32c(alm_crc32c(0, bytes + 64, n - 64), bytes + 16, 48), bytes, 12);
    memcpy(bytes + 12, &crc, sizeof crc);
    replace(&w, CATALOG, bytes, n);
    is_refused(&w, ALM_E_UNSUPPORTED, "format version");
    bytes[8]--;
    bytes[64] ^= 1; /* of another database */
    crc = alm_crc32c(alm_crc32c(alm_crc32c(0, bytes + 64, n - 64), bytes + 16, 48), bytes, 12);
    memcpy(bytes + 12, &crc, sizeof crc);
    replace(&w, CATALOG, bytes, n);
    is_refused(&w, ALM_E_CORRUPT, "another database");
    bytes[64] ^= 1;
    bytes[200] ^= 1; /* damaged, and so is the one before */
    replace(&w, CATALOG, bytes, n);
    assert_true(alm_sim_flip(w.sim, PREVIOUS, 100, 1));
    is_refused(&w, ALM_E_CORRUPT, "nor can it be recovered from the one before");
    assert_true(alm_sim_flip(w.sim, PREVIOUS, 100, 1));
    (void)snprintf(segment, sizeof segment, "r/db/wal/%016llx.wal",
                   (unsigned long long)first); /* or the log between them */
    assert_true(size_of(&w, segment) > 0 && alm_sim_flip(w.sim, segment, 2000, 1));
    is_refused(&w, ALM_E_CORRUPT, "nor can it be recovered from the one before: the log");
    assert_true(alm_sim_flip(w.sim, segment, 2000, 1));
    assert_int_equal(world_open(&w), ALM_OK);
    assert_true(is_same(&w, &w.known));
    world_deinit(&w);
}

/* An older copy is in its place: where the log does not go back to that, the one before does. */
static void an_older_copy(void **state)
{
    (void)state;
    for (int far = 0; far < 2; far++) {
        static char bytes[65536];
        world w;
        (void)two_checkpoints(&w, far ? 0 : INT64_C(32) << 20);
        const size_t n = contents(&w, CATALOG, bytes, sizeof bytes);
        assert_int_equal(world_open(&w), ALM_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(rows(&w, 0, 1, 400 + 60 * i, 60, &w.known), ALM_OK);
            assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK);
        }
        cut(&w);
        replace(&w, CATALOG, bytes, n);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known) && known_damage(&w) == 1);
        assert_true(is_sound_again(&w, &w.known));
        world_deinit(&w);
    }
}

/* All but the previous catalogue are older copies: what was changed since is missing, and the parts that it named are not removed. */
static void older_copies_of_all_others(void **state)
{
    (void)state;
    static char bytes[65536];
    world w;
    (void)two_checkpoints(&w, INT64_C(32) << 20);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_int_equal(rows(&w, 0, 1, 400, 60, &w.known), ALM_OK);
    assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK);
    const size_t n = contents(&w, CATALOG, bytes, sizeof bytes);
    cut(&w);
    world_deinit(&w);
    (void)two_checkpoints(&w, INT64_C(32) << 20); /* the same database, as its random numbers are */
    replace(&w, PREVIOUS, bytes, n);
    is_refused(&w, ALM_E_CORRUPT, "they are older copies");
    const alm_io *io = alm_sim_io(w.sim);
    assert_int_equal(io->unlink(io, PREVIOUS), 0);
    assert_int_equal(world_open(&w), ALM_OK);
    assert_true(is_same(&w, &w.known));
    world_deinit(&w);
}

/* A checkpoint in the middle of a segment. The offset in it behind the last record that the catalogue has. */
static int64_t within_a_segment(world *w)
{
    world_init(w, 1);
    w->conf.wal_segment_bytes = 65536;
    assert_int_equal(world_open(w), ALM_OK);
    assert_int_equal(make(w, 0, &w->known), ALM_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(rows(w, 0, -1, 10 * i, 10, &w->known), ALM_OK);
    assert_int_equal(alm_storage_checkpoint(&w->cx, w->st), ALM_OK);
    const int64_t end = w->st->wal.at;
    assert_int_equal(rows(w, 0, -1, 100, 10, &w->known), ALM_OK);
    assert_int_equal(rows(w, 0, -1, 200, 10, &w->known), ALM_OK);
    assert_true(w->st->wal.n_segments == 1 && end > 1000 && w->st->wal.at > end + 200);
    cut(w);
    return end;
}

/* Of the last segment of the log what the catalogue has may be damaged: a start knows where it ends. */
static void damage_of_the_log_before_the_checkpoint(void **state)
{
    (void)state;
    static const char path[] = "r/db/wal/0000000000000001.wal";
    int passed = 0, refused = 0;
    world w;
    const int64_t step = 8 * (2 * stride() - 1); /* behind the header */
    int64_t end = 1;
    for (int64_t at = 0; at < end; at += at < 64 ? 8 : step) {
        int64_t findings = 0;
        end = within_a_segment(&w);
        assert_true(alm_sim_flip(w.sim, path, at + at / 8 % 8, (unsigned)(at / 8 % 8)));
        assert_int_equal(alm_storage_check(&w.cx, alm_sim_io(w.sim), "r", NULL, NULL, &findings),
                         ALM_OK);
        assert_true(findings > 0);
        if (reopen(&w, at % 3 == 0 ? 8 : 0) != ALM_OK) {
            assert_true(at < 64);
            refused++;
        } else {
            passed++;
            assert_true(is_same(&w, &w.known));
            assert_int_equal(known_damage(&w), 1);
            assert_int_equal(rows(&w, 0, -1, 300, 10, &w.known), ALM_OK);
            assert_true(is_sound_again(&w, &w.known));
        }
        world_deinit(&w);
    }
    assert_true(passed >= (end - 64) / step && passed > 8 && refused <= 8);
}

/* A stop leaves nothing in the log that the next start needs, but the header of an empty segment. */
static void damage_of_the_log_after_a_stop(void **state)
{
    (void)state;
    world w;
    for (int64_t k = 0; k < 40; k++) {
        alm_sim *sim;
        world_init(&w, (uint64_t)k);
        w.conf.wal_segment_bytes = k % 2 ? 65536 : 4096;
        w.conf.previous_wal_bytes = k % 4 < 2 ? 0 : INT64_C(32) << 20;
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(make(&w, 0, &w.known), ALM_OK);
        for (int i = 0; i < 6; i++)
            assert_int_equal(rows(&w, 0, -1, 10 * i, 10, &w.known), ALM_OK);
        const uint64_t last = w.st->wal.segments[w.st->wal.n_segments - 1].number;
        alm_storage_close(w.st);
        sim = w.sim;
        alm_sim_restart(sim);
        for (uint64_t i = 1; i <= last; i++) {
            char path[64];
            (void)snprintf(path, sizeof path, "r/db/wal/%016llx.wal", (unsigned long long)i);
            for (int64_t at = k; size_of(&w, path) > 0 && at < size_of(&w, path); at += 100)
                assert_true(alm_sim_flip(sim, path, at, (unsigned)k % 8));
        }
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known));
        assert_int_equal(rows(&w, 0, -1, 300, 10, &w.known), ALM_OK);
        cut(&w);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known) && is_sound_again(&w, &w.known));
        world_deinit(&w);
    }
}

/* The one before is damaged: the start tells it, and the next checkpoint, or a scrub, writes it anew. */
static void damage_of_the_one_before(void **state)
{
    (void)state;
    for (int scrubbed = 0; scrubbed < 2; scrubbed++) {
        world w;
        (void)two_checkpoints(&w, INT64_C(32) << 20);
        if (scrubbed)
            assert_int_equal(world_open(&w), ALM_OK);
        assert_true(alm_sim_flip(w.sim, PREVIOUS, 100, 1));
        if (scrubbed) {
            assert_int_equal(alm_scrub_all(&w.cx, w.st), ALM_OK);
            assert_int_equal(alm_counted(&w.st->damages.found), 1);
            assert_int_equal(known_damage(&w), 0);
        } else {
            assert_int_equal(world_open(&w), ALM_OK);
            assert_int_equal(known_damage(&w), 1);
        }
        assert_true(is_same(&w, &w.known) && is_sound_again(&w, &w.known));
        cut(&w);
        assert_true(flip_any(&w, CATALOG, 1000));
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known));
        world_deinit(&w);
    }
}

/* A catalogue that rots under a server does not take the place of the one before. */
static void a_rotten_one_is_no_generation(void **state)
{
    (void)state;
    world w;
    (void)two_checkpoints(&w, INT64_C(32) << 20);
    assert_int_equal(world_open(&w), ALM_OK);
    const uint64_t before = w.st->generation.lsn;
    assert_true(w.st->generation.kept && flip_any(&w, CATALOG, 1000));
    assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK);
    assert_int_equal(alm_counted(&w.st->damages.found), 1);
    assert_int_equal(known_damage(&w), 0);
    assert_true(w.st->generation.kept && w.st->generation.lsn == before);
    cut(&w);
    assert_true(flip_any(&w, CATALOG, 1000));
    assert_int_equal(world_open(&w), ALM_OK);
    assert_true(is_same(&w, &w.known));
    world_deinit(&w);
}

/* Not more of the log than is allowed, and not more than one catalogue more. */
static void the_disk_is_bounded(void **state)
{
    (void)state;
    for (int64_t segments = 0; segments < 4; segments++) {
        world w;
        size_t most = 0;
        world_init(&w, 1);
        w.conf.previous_wal_bytes = segments * w.conf.wal_segment_bytes;
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(make(&w, 0, &w.known), ALM_OK);
        for (int i = 0; i < 12; i++) {
            for (int j = 0; j <= i % 4; j++)
                assert_int_equal(rows(&w, 0, -1, 80 * i + 20 * j, 20, &w.known), ALM_OK);
            assert_int_equal(alm_storage_checkpoint(&w.cx, w.st), ALM_OK);
            most = ALM_MAX(most, w.st->wal.n_segments);
            assert_true(w.st->wal.n_segments <= 1 + (size_t)segments);
            assert_true(w.st->generation.kept);
        }
        assert_true(segments == 0 || most > 1);
        cut(&w);
        assert_true(flip_any(&w, CATALOG, 1000));
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known));
        world_deinit(&w);
    }
}

/* No room for a second copy: the checkpoint stands without it. */
static void a_full_disk_costs_the_copy_alone(void **state)
{
    (void)state;
    for (int64_t nth = 1; nth < 12; nth++) {
        world w;
        (void)two_checkpoints(&w, 0);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(rows(&w, 0, -1, 400, 5, &w.known), ALM_OK);
        alm_sim_fail(w.sim, ALM_SIM_CHANGE, nth, ENOSPC, 0);
        const bool done = alm_storage_checkpoint(&w.cx, w.st) == ALM_OK;
        alm_sim_fail(w.sim, ALM_SIM_ANY, 0, 0, 0);
        assert_true(!done || w.st->checkpoint_lsn == w.st->current->lsn);
        cut(&w);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_true(is_same(&w, &w.known) && is_sound_again(&w, &w.known));
        assert_true(w.st->generation.kept);
        world_deinit(&w);
    }
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_before_takes_its_place),
        cmocka_unit_test(a_copy_takes_its_place),
        cmocka_unit_test(whatever_is_in_its_place),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(an_older_copy),
        cmocka_unit_test(older_copies_of_all_others),
        cmocka_unit_test(damage_of_the_log_before_the_checkpoint),
        cmocka_unit_test(damage_of_the_log_after_a_stop),
        cmocka_unit_test(damage_of_the_one_before),
        cmocka_unit_test(a_rotten_one_is_no_generation),
        cmocka_unit_test(the_disk_is_bounded),
        cmocka_unit_test(a_full_disk_costs_the_copy_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
