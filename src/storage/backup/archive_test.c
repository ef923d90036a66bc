/*
 * Goal    With an archive of the log, a backup goes on to any later record or time; an archive that
 *         fails or hangs loses nothing and stops nobody; a power cut at any call leaves an archive that is good.
 * Method  Writes of every kind behind a backup, the LSN and time of each noted; restores to each of
 *         them, compared with the oracle.
 */
#include <errno.h>
#include <pthread.h>

#include "base/log.h"
#include "storage/backup/archive.h"
#include "storage/part/pack.h"
#include "storage/recover/recover.h"
#include "storage/table_fixture.h"

enum { STEPS = 14 };

typedef struct moment {
    uint64_t lsn;
    int64_t us, n;
} moment;

static fixture *start(uint64_t seed)
{
    fixture *f = fix_new_manual(seed);
    alm_storage_close(f->st);
    f->conf.archive_dir = "/a";
    f->conf.archive_interval_ms = INT64_C(1000000000);
    fix_open(f);
    fix_load(f, 200, 0, 2 * DAY);
    fix_insert(f, 20, 0, DAY);
    return f;
}

static alm_status back_up(fixture *f)
{
    const alm_backup_spec spec = {.dir = "/b"};
    alm_backup_result r;
    return alm_storage_backup(&f->cx, f->st, &spec, &r);
}

static void write_step(fixture *f, int i)
{
    switch (i % 7) {
    case 1:
        fix_load(f, 40, 3 * DAY, DAY);
        break;
    case 3:
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* flushes */
        break;
    case 4:
        (void)fix_compact(f);
        fix_convert(f, true, 2, 0); /* the archive has Parquet files, too */
        break;
    case 5:
        assert_int_equal(alm_archive_roll(&f->cx, f->st), ALM_OK);
        alm_archive_round(&f->cx, f->st);
        break;
    default:
        fix_insert(f, 30, 0, 4 * DAY);
    }
}

static moment now(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const moment m = {alm_snapshot_lsn(snap), f->cx.now_ns, f->n};
    alm_snapshot_release(snap);
    return m;
}

/* Microseconds pass, so that each record has a time of its own. */
static int64_t next_us(const alm_io *io)
{
    const int64_t from = io->wall_ns(io) / 1000;
    while (io->wall_ns(io) / 1000 < from + 2)
        continue;
    return from + 1;
}

static void check_restored(fixture *f, const char *root, const alm_restore_spec *spec, int64_t n)
{
    alm_restore_result r;
    alm_storage *st = NULL;
    int64_t findings = -1;
    const alm_status code = alm_backup_restore(&f->cx, alm_sim_io(f->sim), spec, &r);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(code, ALM_OK);
    assert_int_equal(alm_storage_check(&f->cx, alm_sim_io(f->sim), root, NULL, NULL, &findings),
                     ALM_OK);
    assert_int_equal(findings, 0);
    alm_storage_conf conf = f->conf;
    conf.archive_dir = NULL;
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), root, &conf, &st), ALM_OK);
    fix_check_prefix(f, st, n);
    alm_storage_close(st);
}

static void any_moment_can_be_restored(void **state)
{
    (void)state;
    fixture *f = start(1);
    const alm_io *io = alm_sim_io(f->sim);
    moment moments[STEPS];
    assert_int_equal(back_up(f), ALM_OK);
    for (int i = 0; i < STEPS; i++) {
        write_step(f, i);
        moments[i] = now(f);
        moments[i].us = next_us(io);
    }
    assert_true(alm_archive_catch_up(f->st, NULL));
    for (int i = 0; i < STEPS; i++) {
        char root[16];
        (void)snprintf(root, sizeof root, "/n%d", i);
        const alm_restore_spec by_lsn = {.dir = "/b", .root = root, .until_lsn = moments[i].lsn};
        check_restored(f, root, &by_lsn, moments[i].n);
        (void)snprintf(root, sizeof root, "/t%d", i);
        const alm_restore_spec by_time = {.dir = "/b",
                                          .root = root,
                                          .until_us = moments[i].us,
                                          .allow_earlier =
                                              i == STEPS - 1, /* nothing comes behind */
                                          .log = "/a"};
        check_restored(f, root, &by_time, moments[i].n);
    }
    const alm_restore_spec far = {.dir = "/b", .root = "/far", .until_lsn = 1000000000};
    alm_restore_result r;
    assert_int_equal(alm_backup_restore(&f->cx, io, &far, &r), ALM_E_ARG);
    assert_non_null(strstr(f->cx.err.msg, "ends at lsn"));
    alm_error_clear(&f->cx);
    fix_free(f);
}

/* Nothing is archived for a while, or ever; writers do not notice. */
static void an_archive_that_fails_stops_nobody(void **state)
{
    (void)state;
    fixture *f = start(2);
    const alm_io *io = alm_sim_io(f->sim);
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_int_equal(back_up(f), ALM_OK);
    const uint64_t lsn = now(f).lsn;
    f->st->conf.archive_dir = "/none/a";
    for (int i = 0; i < STEPS; i++)
        write_step(f, i % 7 == 1 ? 0 : i);
    assert_true(f->st->archive.failing);
    assert_true(f->st->wal.n_segments > 3); /* they wait */
    f->st->conf.archive_dir = "/a";
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
    check_restored(f, "/n", &spec, m.n);
    /* Beyond the bound the oldest goes, and the gap is named. */
    f->st->conf.archive_dir = "/none/a";
    f->st->conf.archive_backlog_max = 1;
    for (int i = 0; i < 30; i++)
        write_step(f, i % 7 == 1 ? 0 : i);
    f->st->conf.archive_dir = "/a";
    const alm_restore_spec over = {.dir = "/b", .root = "/o", .until_lsn = now(f).lsn};
    assert_true(alm_archive_catch_up(f->st, NULL));
    fix_check(f);
    alm_restore_result r;
    assert_true(alm_backup_restore(&f->cx, io, &over, &r) != ALM_OK);
    assert_true(f->cx.err.msg[0] != 0 && now(f).lsn > lsn);
    alm_error_clear(&f->cx);
    fix_free(f);
}

/* Parts that merges replaced before they were in the archive. */
static void a_sweep_leaves_what_waits_for_the_archive(void **state)
{
    (void)state;
    fixture *f = start(4);
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_int_equal(back_up(f), ALM_OK);
    fix_load(f, 40, 3 * DAY, DAY);
    fix_load(f, 40, 3 * DAY, DAY);
    const moment m = now(f);
    assert_true(fix_compact(f));
    alm_sweep(f->st, UINT64_MAX);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
    check_restored(f, "/n", &spec, m.n);
    fix_free(f);
}

/* Refused restores leave nothing; what is there is as far as the archive goes. */
static void a_restore_does_not_end_early(void **state)
{
    (void)state;
    fixture *f = start(8);
    const alm_io *io = alm_sim_io(f->sim);
    alm_restore_result r;
    alm_io_stat meta;
    int64_t findings = -1;
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_int_equal(back_up(f), ALM_OK);
    const int64_t first = f->n;
    fix_insert(f, 12, 0, DAY);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const uint64_t number = f->st->wal.segments[f->st->wal.n_segments - 1].number - 1;
    fix_insert(f, 12, 0, DAY);
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const int64_t us = next_us(io) + 1000000;
    const alm_restore_spec refused[] = {
        {.dir = "/b", .root = "/n", .until_us = us},
        {.dir = "/b", .root = "/n", .until_lsn = m.lsn + 1000000},
        {.dir = "/b", .root = "/n", .until_lsn = m.lsn, .log = "/none"},
    };
    for (size_t i = 0; i < ALM_COUNT(refused); i++) {
        assert_int_equal(alm_backup_restore(&f->cx, io, &refused[i], &r), ALM_E_ARG);
        assert_non_null(strstr(f->cx.err.msg, "--allow-earlier"));
        alm_error_clear(&f->cx);
        assert_true(io->stat(io, "/n", &meta) < 0);
    }
    alm_restore_spec earlier = refused[0];
    earlier.allow_earlier = true;
    check_restored(f, "/n", &earlier, m.n);
    assert_int_equal(alm_archive_check(&f->cx, io, "/a", NULL, NULL, &findings), ALM_OK);
    assert_int_equal(findings, 0);
    assert_true(alm_archive_is(io, "/a") && !alm_archive_is(io, "/b"));
    /* Of a segment that rots in the archive not a part is taken for the whole. */
    char path[64];
    (void)snprintf(path, sizeof path, "/a/%016llx.wal", (unsigned long long)number);
    for (int64_t at = 20; at < 600; at += 37) {
        assert_true(alm_sim_flip(f->sim, path, at, 1));
        assert_int_equal(alm_archive_check(&f->cx, io, "/a", NULL, NULL, &findings), ALM_OK);
        assert_true(findings > 0);
        const alm_restore_spec spec = {.dir = "/b", .root = "/o", .until_lsn = m.lsn};
        assert_int_equal(alm_backup_restore(&f->cx, io, &spec, &r), ALM_E_CORRUPT);
        alm_error_clear(&f->cx);
        assert_true(io->stat(io, "/o", &meta) < 0);
        assert_true(alm_sim_flip(f->sim, path, at, 1));
    }
    assert_int_equal(io->unlink(io, path), 0);
    const alm_restore_spec spec = {.dir = "/b", .root = "/o", .until_lsn = m.lsn};
    assert_int_equal(alm_backup_restore(&f->cx, io, &spec, &r), ALM_E_CORRUPT);
    assert_non_null(strstr(f->cx.err.msg, "gap"));
    alm_error_clear(&f->cx);
    assert_true(io->stat(io, "/o", &meta) < 0);
    assert_int_equal(alm_archive_check(&f->cx, io, "/a", NULL, NULL, &findings), ALM_OK);
    assert_int_equal(findings, 1);
    earlier =
        (alm_restore_spec){.dir = "/b", .root = "/o", .until_lsn = m.lsn, .allow_earlier = true};
    check_restored(f, "/o", &earlier, first); /* up to the gap */
    fix_free(f);
}

typedef struct names {
    char of[64][64];
    size_t n;
} names;

static int add_name(void *arg, const char *name)
{
    names *list = arg;
    assert_true(list->n < ALM_COUNT(list->of) && strlen(name) < sizeof list->of[0]);
    (void)snprintf(list->of[list->n++], sizeof list->of[0], "%s", name);
    return 0;
}

/* The table keeps so many hours from now on: what is older expires with this record, and the rest does not. */
static void live(fixture *f, int64_t hours)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_table *t = fix_table(snap);
    const alm_table_spec spec = {.name = alm_str_of(t->name),
                                 .cols = t->cols,
                                 .n_cols = t->n_cols,
                                 .ts_col = t->ts_col,
                                 .partition = t->partition,
                                 .dedup = t->dedup,
                                 .ttl_hours = hours};
    assert_int_equal(alm_table_alter(&f->cx, f->st, t, &spec), ALM_OK);
    alm_snapshot_release(snap);
}

/* The check finds a part that is missing exactly if a restore of all of the log does. */
static void missing_parts(bool expires)
{
    fixture *f = start(11);
    const alm_io *io = alm_sim_io(f->sim);
    names files = {.n = 0};
    int64_t n[2] = {0, 0};
    assert_int_equal(back_up(f), ALM_OK);
    for (int i = 0; i < STEPS; i++)
        write_step(f, i);
    while (fix_compact(f))
        continue;
    fix_load(f, 30, 5 * DAY, DAY);
    if (expires) {
        live(f, 72);
        fix_load(f, 30, 6 * DAY, DAY);
    }
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_true(io->list(io, "/a/files", add_name, &files) >= 0);
    for (size_t i = 0; i < files.n; i++) {
        char path[160], root[32];
        int64_t findings = -1;
        alm_restore_result r;
        (void)snprintf(path, sizeof path, "/a/files/%s", files.of[i]);
        (void)snprintf(root, sizeof root, "/m%zu", i);
        assert_int_equal(io->rename(io, path, "/a/away"), 0);
        assert_int_equal(alm_archive_check(&f->cx, io, "/a", NULL, NULL, &findings), ALM_OK);
        const alm_restore_spec spec = {.dir = "/b", .root = root, .until_lsn = m.lsn};
        alm_status whole = alm_backup_restore(&f->cx, io, &spec, &r);
        if (whole == ALM_OK) {
            int64_t of_root = -1;
            assert_int_equal(alm_storage_check(&f->cx, io, root, NULL, NULL, &of_root), ALM_OK);
            whole = of_root == 0 ? ALM_OK : ALM_E_CORRUPT;
        }
        alm_error_clear(&f->cx);
        assert_int_equal(findings > 0, whole != ALM_OK);
        n[findings > 0]++;
        assert_int_equal(io->rename(io, "/a/away", path), 0);
    }
    assert_true(n[0] > 0 && n[1] > 0);
    fix_free(f);
}

static void a_part_that_is_missing_in_the_archive(void **state)
{
    (void)state;
    missing_parts(false);
    missing_parts(true);
}

/* The power goes at the k-th call of a restore with a log: what is there does not open, or is whole. */
static bool cut_restore(int64_t k, int32_t *opened)
{
    fixture *f = start(9);
    alm_storage *st = NULL;
    alm_restore_result r;
    alm_io_stat meta;
    const alm_io *io = alm_sim_io(f->sim);
    assert_int_equal(back_up(f), ALM_OK);
    fix_load(f, 30, 5 * DAY, DAY);
    fix_insert(f, 12, 0, DAY);
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
    alm_sim_cut_after(f->sim, k);
    const bool finished = alm_backup_restore(&f->cx, io, &spec, &r) == ALM_OK;
    alm_error_clear(&f->cx);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    f->conf.archive_dir = NULL;
    fix_open(f);
    const bool there =
        io->stat(io, "/n/db", &meta) == 0 || io->stat(io, "/n/restoring", &meta) == 0;
    if (there && alm_storage_open(&f->cx, io, "/n", &f->conf, &st) == ALM_OK) {
        fix_check_prefix(f, st, m.n);
        alm_storage_close(st);
        ++*opened;
    }
    alm_error_clear(&f->cx);
    fix_free(f);
    return finished;
}

static void restores_are_cut(void **state)
{
    (void)state;
    int32_t opened = 0;
    int64_t k = 1;
    while (!cut_restore(k, &opened))
        k++;
    if (k < 40 || opened < 1 || opened > 5)
        fail_msg("%lld cuts, %d opened", (long long)k, opened);
}

/* The power goes when a restore has come to its end: the directory is there, with its name, and whole. */
static void restores_are_durable(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        fixture *f = start(seed);
        alm_storage *st = NULL;
        alm_restore_result r;
        const alm_io *io = alm_sim_io(f->sim);
        assert_int_equal(back_up(f), ALM_OK);
        const moment m = now(f);
        const alm_restore_spec spec = {.dir = "/b", .root = "/n"};
        assert_int_equal(alm_backup_restore(&f->cx, io, &spec, &r), ALM_OK);
        alm_sim_cut_after(f->sim, 1);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        f->conf.archive_dir = NULL;
        fix_open(f);
        assert_int_equal(io->stat(io, "/n/db/catalog", &(alm_io_stat){0}), 0);
        assert_int_equal(alm_storage_open(&f->cx, io, "/n", &f->conf, &st), ALM_OK);
        fix_check_prefix(f, st, m.n);
        alm_storage_close(st);
        fix_free(f);
    }
}

/* A bit of each byte of a finished segment in turn: not one record less is archived without a word, and a backup behind it
 * lets the archive go on. */
static void damage_of_the_log_is_not_archived(void **state)
{
    (void)state;
    int32_t told = 0;
    for (int64_t at = 3; at < 4000; at += 61) {
        fixture *f = start(6);
        const alm_io *io = alm_sim_io(f->sim);
        char path[64], archived[64];
        alm_io_stat meta;
        assert_true(alm_archive_catch_up(f->st, NULL));
        assert_int_equal(back_up(f), ALM_OK);
        for (int i = 0; i < 3; i++)
            fix_insert(f, 12, 0, DAY);
        const alm_wal_segment *last = &f->st->wal.segments[f->st->wal.n_segments - 1];
        const uint64_t number = last->number;
        const bool inside = at < f->st->wal.at;
        (void)snprintf(path, sizeof path, "/r/db/wal/%016llx.wal", (unsigned long long)number);
        (void)snprintf(archived, sizeof archived, "/a/%016llx.wal", (unsigned long long)number);
        assert_int_equal(alm_archive_roll(&f->cx, f->st), ALM_OK);
        assert_true(alm_sim_flip(f->sim, path, at, (unsigned)at % 8));
        const moment m = now(f);
        const bool done = alm_archive_catch_up(f->st, NULL);
        if (inside && at >= 16) {
            assert_false(done);
            assert_true(io->stat(io, archived, &meta) < 0);
            assert_true(f->st->archive.failing && alm_storage_is_damaged(f->st));
            told++;
            assert_int_equal(back_up(f), ALM_OK);
            assert_true(alm_archive_catch_up(f->st, NULL)); /* the gap is needless */
            assert_true(io->stat(io, archived, &meta) < 0);
            assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
            assert_false(alm_storage_is_damaged(f->st)); /* it went */
        } else if (done) {
            const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
            check_restored(f, "/n", &spec, m.n);
        }
        fix_check(f);
        fix_free(f);
    }
    assert_true(told > 20);
}

/* It goes into the archive as it is, so that all else can be restored, and it is told. */
static void damage_of_a_part_is_told(void **state)
{
    (void)state;
    fixture *f = start(7);
    char path[ALM_PATH_MAX];
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_int_equal(back_up(f), ALM_OK);
    fix_load(f, 40, 9 * DAY, DAY);
    alm_snapshot *snap = fix_snapshot(f);
    const alm_part_set *set = alm_version_of(fix_table(snap))->parts;
    alm_part_place place;
    bool shared = false;
    alm_file_where(set->parts[set->n - 1]->file, path, sizeof path, &place, &shared);
    alm_snapshot_release(snap);
    assert_true(alm_sim_flip(f->sim, path, place.offset + ALM_PART_HEADER, 0));
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    assert_true(alm_storage_is_damaged(f->st));
    const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
    alm_restore_result r;
    int64_t findings = 0;
    assert_int_equal(alm_backup_restore(&f->cx, alm_sim_io(f->sim), &spec, &r), ALM_OK);
    assert_int_equal(r.rows, m.n);
    assert_int_equal(alm_storage_check(&f->cx, alm_sim_io(f->sim), "/n", NULL, NULL, &findings),
                     ALM_OK);
    assert_int_equal(findings, 1);
    fix_free(f);
}

/* A disk for the archive that takes nothing while it is shut: the call waits. */
static struct gate {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool shut, waited;
    const alm_io *io;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static int rename_at_gate(const alm_io *io, const char *from, const char *to)
{
    (void)pthread_mutex_lock(&gate.lock);
    while (gate.shut && strncmp(to, "/a/", 3) == 0) {
        gate.waited = true;
        (void)pthread_cond_broadcast(&gate.cond);
        (void)pthread_cond_wait(&gate.cond, &gate.lock);
    }
    (void)pthread_mutex_unlock(&gate.lock);
    return gate.io->rename(io, from, to);
}

static void set_gate(bool shut)
{
    (void)pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    (void)pthread_cond_broadcast(&gate.cond);
    (void)pthread_mutex_unlock(&gate.lock);
}

static void wait_at_gate(void)
{
    (void)pthread_mutex_lock(&gate.lock);
    while (!gate.waited)
        (void)pthread_cond_wait(&gate.cond, &gate.lock);
    (void)pthread_mutex_unlock(&gate.lock);
}

static size_t segments_of(alm_storage *st)
{
    (void)pthread_mutex_lock(&st->wal.lock);
    const size_t n = st->wal.n_segments;
    (void)pthread_mutex_unlock(&st->wal.lock);
    return n;
}

/* Rows until the background thread has flushed and merged, and the log is short again. */
static bool goes_on(fixture *f, size_t segments_max)
{
    for (int i = 0; i < 400; i++) {
        alm_storage_stats stats;
        fix_insert(f, 200, 0, 2 * DAY);
        alm_storage_stats_get(f->st, &stats);
        if (i > 40 && stats.parts > 0 && stats.head_bytes < 4 * f->conf.table_head_bytes_max &&
            segments_of(f->st) <= segments_max)
            return true;
    }
    return false;
}

/* Merges, checkpoints and writers go on while a call on the archive's disk does not come back; the log
 * that waits stays below the limit. */
static void an_archive_that_hangs_holds_up_nobody(void **state)
{
    (void)state;
    fixture *f = fix_new(3, false, true);
    alm_storage_close(f->st);
    gate.io = alm_sim_io(f->sim);
    alm_io io = *gate.io;
    io.rename = rename_at_gate;
    f->conf.archive_dir = "/a";
    f->conf.archive_interval_ms = 20;
    f->conf.archive_backlog_max = 256 << 10;
    f->conf.table_head_bytes_max = 64 << 10;
    f->conf.checkpoint_wal_bytes = 128 << 10;
    f->conf.overlap_max = 4;
    set_gate(true);
    assert_int_equal(alm_storage_open(&f->cx, &io, "/r", &f->conf, &f->st), ALM_OK);
    wait_at_gate();
    const int64_t from_ns = io.mono_ns(&io);
    const bool goes = goes_on(f, 12); /* of 64 kB */
    const double seconds = (double)(io.mono_ns(&io) - from_ns) / 1e9;
    set_gate(false);
    assert_true(goes);
    assert_true(seconds < 30);
    alm_storage_close(f->st);
    fix_open(f);
    fix_check(f);
    fix_free(f);
}

static bool cut_at(int64_t k)
{
    fixture *f = start((uint64_t)k);
    assert_int_equal(back_up(f), ALM_OK);
    alm_sim_cut_after(f->sim, k);
    const bool done = alm_archive_catch_up(f->st, NULL) &&
                      alm_storage_checkpoint(&f->cx, f->st) == ALM_OK &&
                      alm_table_truncate(&f->cx, f->st, ALM_STR("none")) != ALM_OK &&
                      alm_archive_catch_up(f->st, NULL) && !alm_sim_is_dead(f->sim);
    alm_error_clear(&f->cx);
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    fix_open(f);
    fix_check(f);
    fix_insert(f, 5, 0, DAY);
    const moment m = now(f);
    assert_true(alm_archive_catch_up(f->st, NULL));
    const alm_restore_spec spec = {.dir = "/b", .root = "/n", .until_lsn = m.lsn};
    check_restored(f, "/n", &spec, m.n);
    fix_free(f);
    return done;
}

static void power_cuts(void **state)
{
    (void)state;
    for (int64_t k = 1; !cut_at(k); k++)
        continue;
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_moment_can_be_restored),
        cmocka_unit_test(an_archive_that_fails_stops_nobody),
        cmocka_unit_test(an_archive_that_hangs_holds_up_nobody),
        cmocka_unit_test(a_restore_does_not_end_early),
        cmocka_unit_test(a_part_that_is_missing_in_the_archive),
        cmocka_unit_test(restores_are_cut),
        cmocka_unit_test(restores_are_durable),
        cmocka_unit_test(damage_of_the_log_is_not_archived),
        cmocka_unit_test(damage_of_a_part_is_told),
        cmocka_unit_test(a_sweep_leaves_what_waits_for_the_archive),
        cmocka_unit_test(power_cuts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
