/*
 * Goal    Damage of the medium stays where it is. Whatever bytes rot at rest or become unreadable, and whichever writes are
 *         lost or land elsewhere: no wrong row is served outside of the documented window, nothing ends the process, an
 *         error is of the table and the hour whose files are struck, other tables are whole and take rows, a start serves
 *         nothing damaged without a word, and no rewrite or backup makes wrong bytes good.
 * Method  On the simulated disk, by seed: some thirty changes of three tables (rows, late rows, loads, DDL, TRUNCATE, UPDATE,
 *         DELETE, merges, conversions, checkpoints, backups, scrubs), clean stops, kills and power cuts between and within
 *         them, and one to four strikes of the medium. After each change all tables are read and compared with what a
 *         client knows (medium_for_test.h says what may differ where).
 * Again   ALM_TEST_SEEDS=FIRST:N runs these seeds, with ALM_TEST_TRACE=1 every change and place is printed.
 * The log The last record of a log that is not synced further looks like one that was never acknowledged: where it
 *         is struck, a start may cut it (docs/internals/storage.md, section 6); no other record may go.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "storage/medium_changes_for_test.h"
#include "storage/medium_starts_for_test.h"

enum { STEPS_MAX = 34 };

/* ------------------------------------------------------------------------ a run */

/* The medium strikes soon, or at once. */
static void strike(run *r)
{
    static const char *const BELOW[] = {"r/db/tables", "r/db/tables",  "r/db/tables", "r/db/tables",
                                        "r/db/wal",    "r/db/catalog", "r",           "bk"};
    const alm_sim_damage_kind kind = (alm_sim_damage_kind)draw(r, ALM_SIM_DAMAGE_KINDS);
    const char *below = BELOW[draw(r, ALM_COUNT(BELOW))];
    int64_t nth = (int64_t)draw(r, 24);
    if (kind >= ALM_SIM_WRITE_LOST)
        nth = 1 + nth / 2;
    else if (nth > 12)
        nth = 0;
    (void)alm_sim_damage_after(r->w.sim, kind, below, nth);
}

/* Files that the change wrote, and removed when it failed, count, too: `first` is the first place that was struck meanwhile. */
static void look_at_written(run *r, size_t first, struck *s)
{
    for (size_t i = first; i < alm_sim_damage_count(r->w.sim); i++) {
        alm_sim_damage d;
        alm_sim_damage_at(r->w.sim, i, &d);
        const int table = table_of_path(r, d.was);
        if (table >= 0)
            s->any[table] = true;
        s->backup |= strncmp(d.was, "bk/", 3) == 0;
    }
}

/* Does a failure concern tables of the change that are struck? */
static bool may_fail(run *r, const chosen *c, const struck *before, size_t first)
{
    struck s;
    const char *msg = r->w.cx.err.msg;
    if (!is_damage(r->w.cx.err.code))
        return false;
    look(r, NULL, &s);
    look_at_written(r, first, &s);
    for (int i = 0; i < TABLES; i++) {
        const bool struck_here = before->any[i] || s.any[i];
        if ((c->of >> i & 1) && struck_here && says_where(r, i))
            return true;
    }
    return c->of_all && strcmp(c->name, "backup") == 0 && (before->backup || s.backup) &&
           strstr(msg, "bk/") != NULL;
}

static bool step_once(run *r)
{
    struck before;
    chosen c;
    model after = r->w.known;
    const alm_io *io = alm_sim_io(r->w.sim);
    const bool cut = draw(r, 12) == 0;
    const int64_t faults = io->map_faults(io);
    look(r, NULL, &before);
    alm_error_clear(&r->w.cx);
    if (cut)
        alm_sim_cut_after(r->w.sim, 1 + (int64_t)draw(r, 40));
    const uint64_t random = r->random;
    const size_t first = alm_sim_damage_count(r->w.sim);
    alm_status st = change_any(r, &c, &after);
    if (getenv("ALM_TEST_TRACE") != NULL)
        print_message("%s %d: %d %s\n", c.name, c.table, st, r->w.cx.err.msg);
    if (alm_sim_is_dead(r->w.sim)) {
        r->count->cuts++;
        return start_again(r, false, &after);
    }
    alm_sim_cut_after(r->w.sim, 0);
    if (st != ALM_OK && io->map_faults(io) != faults && !may_fail(r, &c, &before, first)) {
        /* Bytes of another table could not be read meanwhile: the change was refused, and succeeds now. */
        alm_error_clear(&r->w.cx);
        after = r->w.known;
        r->random = random;
        st = change_any(r, &c, &after);
    }
    if (st == ALM_OK) {
        r->w.known = after;
    } else if (may_fail(r, &c, &before, first)) {
        r->count->failed_steps++;
        alm_error_clear(&r->w.cx);
    } else {
        return broken(r, "%s of %s: %s", c.name, c.of_all ? "all" : NAMES[c.table],
                      r->w.cx.err.msg);
    }
    alm_storage_stats stats;
    alm_storage_stats_get(r->w.st, &stats);
    if (stats.read_only)
        return broken(r, "read-only after %s", c.name);
    remember(r);
    return all_is_allowed(r, &r->w.known);
}

static bool restored_is_right(run *r)
{
    static const alm_restore_spec spec = {.dir = "bk", .root = "x"};
    struct alm_storage *st = r->w.st;
    alm_restore_result result;
    struck s;
    look(r, NULL, &s);
    alm_error_clear(&r->w.cx);
    r->count->restores++;
    const alm_io *io = alm_sim_io(r->w.sim);
    alm_status e = alm_backup_restore(&r->w.cx, io, &spec, &result);
    if (e != ALM_OK && s.backup && is_damage(e)) {
        r->count->refused_restores++;
        return true;
    }
    if (e == ALM_OK)
        e = alm_storage_open(&r->w.cx, io, "x", &r->w.conf, &r->w.st);
    if (e != ALM_OK)
        return broken(r, "restore: %s", r->w.cx.err.msg);
    uint64_t ids[TABLES];
    memcpy(ids, r->ids, sizeof ids);
    const bool lost = r->tail_lost;
    r->tail_lost = false;
    alm_snapshot *snap;
    memset(&s, 0, sizeof s);
    bool good = alm_snapshot_acquire(&r->w.cx, r->w.st, &snap) == ALM_OK;
    for (int i = 0; i < TABLES && good; i++)
        good = table_is_allowed(r, snap, i, &s, &r->backed_up);
    if (!good && r->may_have_backup) {
        good = true;
        for (int i = 0; i < TABLES && good; i++)
            good = table_is_allowed(r, snap, i, &s, &r->maybe_backed_up);
    }
    alm_snapshot_release(snap);
    alm_storage_close(r->w.st);
    r->w.st = st;
    r->tail_lost = lost;
    memcpy(r->ids, ids, sizeof ids);
    return good;
}

static void count_places(run *r, const alm_damaged *list, size_t n)
{
    for (size_t i = 0; i < alm_sim_damage_count(r->w.sim); i++) {
        alm_sim_damage d;
        alm_sim_damage_at(r->w.sim, i, &d);
        const int table = table_of_path(r, d.path);
        bool told = false;
        for (size_t k = 0; k < n && table >= 0; k++)
            told |= list[k].table_id == r->ids[table];
        r->count->places++;
        r->count->kinds[d.kind] += !d.landed;
        r->count->gone += !d.is_wrong;
        r->count->told += d.is_wrong && told;
        r->count->quiet += d.is_wrong && !told;
    }
}

/* Tables of which an hour cannot be read are in the list of damage, and sound ones take rows. */
static bool end_is_right(run *r)
{
    struck s;
    alm_snapshot *snap;
    alm_damaged *list = NULL;
    size_t n = 0;
    model after = r->w.known;
    if (alm_snapshot_acquire(&r->w.cx, r->w.st, &snap) != ALM_OK ||
        alm_storage_damage(&r->w.cx, &r->w.arena, r->w.st, &list, &n) != ALM_OK)
        return broken(r, "no list of damage: %s", r->w.cx.err.msg);
    look(r, snap, &s);
    bool told = true;
    for (int i = 0; i < TABLES; i++) {
        hour h;
        const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[i]));
        if (t == NULL || read_hours(&r->w, snap, t, NULL, false, &h) == ALM_OK)
            continue;
        alm_error_clear(&r->w.cx);
        bool known = false;
        for (size_t k = 0; k < n; k++)
            known |= list[k].table_id == t->id;
        told &= known;
        r->count->closed_tables += t->closed != NULL;
    }
    alm_snapshot_release(snap);
    count_places(r, list, n);
    alm_arena_reset(&r->w.arena);
    if (!told)
        return broken(r, "a damaged table is not in the list of damage");
    for (int i = 0; i < TABLES; i++) {
        if (!after.tables[i].there || has_apart(&after, i))
            continue;
        const alm_status st = rows(&r->w, i, -1, (int64_t)draw(r, VALUES), 1, &after);
        if (st == ALM_OK)
            r->w.known = after;
        else if (!s.any[i] || !says_where(r, i))
            return broken(r, "%s takes no rows: %s", NAMES[i], r->w.cx.err.msg);
        alm_error_clear(&r->w.cx);
        after = r->w.known;
    }
    return all_is_allowed(r, &r->w.known);
}

static bool scrub_at_end(run *r)
{
    r->seen = alm_sim_damage_count(r->w.sim);
    alm_error_clear(&r->w.cx);
    if (alm_scrub_all(&r->w.cx, r->w.st) != ALM_OK)
        return broken(r, "scrub: %s", r->w.cx.err.msg);
    return all_is_allowed(r, &r->w.known);
}

static int flip_part(void *arg, const char *name)
{
    run *r = arg;
    char path[128];
    for (int i = 0; i < TABLES; i++) {
        (void)snprintf(path, sizeof path, "r/db/tables/%llu/%s", (unsigned long long)r->ids[i],
                       name);
        for (int64_t at = 64; at < 400 && strstr(name, ".part") != NULL; at += 40)
            (void)alm_sim_flip(r->w.sim, path, at, 1);
    }
    return 0;
}

static void plant_one(run *r)
{
    const alm_io *io = alm_sim_io(r->w.sim);
    const int table = any_table(r, true);
    char dir[64];
    if (table < 0)
        return;
    (void)snprintf(dir, sizeof dir, "r/db/tables/%llu", (unsigned long long)r->ids[table]);
    if (r->plant == PLANT_HIDDEN)
        (void)io->list(io, dir, flip_part, r);
    if (r->plant == PLANT_EXPECTED)
        r->w.known.tables[table].count[draw(r, VALUES)]++;
}

/* Why the promises are broken, in r->why. */
static bool keeps_promises(run *r)
{
    const uint64_t steps = 12 + draw(r, STEPS_MAX - 12);
    bool good =
        alm_storage_open(&r->w.cx, alm_sim_io(r->w.sim), "r", &r->w.conf, &r->w.st) == ALM_OK;
    if (good)
        remember(r);
    for (uint64_t i = 0; i < steps && good; i++) {
        r->count->steps++;
        if (i > 4 && draw(r, 8) == 0)
            strike(r);
        if (i == steps / 2)
            plant_one(r);
        good = step_once(r);
        if (good && draw(r, 9) == 0)
            good = start_again(r, draw(r, 2) == 0, NULL);
    }
    alm_sim_damage_never(r->w.sim);
    good = good && scrub_at_end(r) && start_again(r, true, NULL) && scrub_at_end(r) &&
           end_is_right(r) && start_again(r, draw(r, 2) == 0, NULL);
    if (good && r->has_backup)
        good = restored_is_right(r);
    if (!good)
        trace(r);
    return good;
}

static _Atomic uint64_t current_seed;

static void tell_seed(int signal_number)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "signal %d in seed %llu\n", signal_number,
                           (unsigned long long)atomic_load(&current_seed));
    (void)!write(STDERR_FILENO, text, (size_t)n);
    (void)signal(signal_number, SIG_DFL);
    (void)raise(signal_number);
}

static bool run_seed(uint64_t seed, plant_kind plant, counts *count, char *why, size_t why_size)
{
    run *r = calloc(1, sizeof *r);
    world *w = &r->w;
    r->seed = r->random = seed;
    r->count = count;
    r->plant = plant;
    atomic_store(&current_seed, seed);
    (void)signal(SIGABRT, tell_seed); /* cmocka sets its own for each test */
    (void)signal(SIGSEGV, tell_seed);
    count->seeds++;
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    w->sim = alm_sim_new(seed);
    alm_storage_conf_default(&w->conf);
    w->conf.wal_segment_bytes = 8192;
    w->conf.sync_files_max = seed % 2 ? 16 : 1;
    w->conf.reserve_bytes = 0;
    w->conf.shared_parts_min = seed / 2 % 3 ? 16 : 1;
    w->conf.manual = true;
    const bool good = keeps_promises(r);
    (void)snprintf(why, why_size, "%s", r->why[0] != 0 ? r->why : w->cx.err.msg);
    if (w->st != NULL)
        alm_storage_close(w->st);
    alm_arena_deinit(&w->arena);
    alm_sim_free(w->sim);
    free(r);
    return good;
}

/* ------------------------------------------------------------------------- tests */

static void tell(const counts *c)
{
    print_message(
        "%lld seeds, %lld changes, %lld power cuts, %lld starts, %lld scrubs, %lld backups, "
        "%lld restores\n",
        (long long)c->seeds, (long long)c->steps, (long long)c->cuts, (long long)c->starts,
        (long long)c->scrubs, (long long)c->backups, (long long)c->restores);
    print_message(
        "%lld places struck: bits %lld, zeros %lld, unreadable %lld, lost %lld, misplaced "
        "%lld, misdirected %lld; at the end %lld gone, %lld told, %lld where nobody reads\n",
        (long long)c->places, (long long)c->kinds[ALM_SIM_ROT_BITS],
        (long long)c->kinds[ALM_SIM_ROT_ZEROS], (long long)c->kinds[ALM_SIM_ROT_UNREADABLE],
        (long long)c->kinds[ALM_SIM_WRITE_LOST], (long long)c->kinds[ALM_SIM_WRITE_MISPLACED],
        (long long)c->kinds[ALM_SIM_WRITE_MISDIRECTED], (long long)c->gone, (long long)c->told,
        (long long)c->quiet);
    print_message(
        "refused: %lld changes, %lld reads of an hour, %lld starts, %lld restores; %lld "
        "tables closed, %lld hours wrong before a scrub, %lld last records lost; %lld starts "
        "from the catalogue before\n",
        (long long)c->failed_steps, (long long)c->failed_reads, (long long)c->refused_starts,
        (long long)c->refused_restores, (long long)c->closed_tables, (long long)c->wrong_reads,
        (long long)c->lost_tails, (long long)c->previous_starts);
}

/* "FIRST:N" of ALM_TEST_SEEDS, or all of the default. */
static void seeds_of(uint64_t *first, uint64_t *n)
{
    const char *text = getenv("ALM_TEST_SEEDS");
    unsigned long long from = 1, many = getenv("ALM_TEST_ALL") != NULL ? 10000 : 300;
#ifdef ALM_SANITIZED
    many /= 25;
#endif
    if (text != NULL)
        assert_int_equal(sscanf(text, "%llu:%llu", &from, &many), 2);
    *first = from;
    *n = many;
}

static void damage_stays_where_it_is(void **state)
{
    (void)state;
    counts c = {0};
    uint64_t first, n, failed = 0;
    char why[1280];
    seeds_of(&first, &n);
    for (uint64_t seed = first; seed < first + n; seed++) {
        if (run_seed(seed, PLANT_NOTHING, &c, why, sizeof why))
            continue;
        print_error("seed %llu: %s\n", (unsigned long long)seed, why);
        failed++;
    }
    tell(&c);
    assert_int_equal(failed, 0);
}

static int found_of(plant_kind plant, const char *text, uint64_t seeds)
{
    counts c = {0};
    int found = 0;
    char why[1280];
    for (uint64_t seed = 1; seed <= seeds; seed++)
        found += !run_seed(seed, plant, &c, why, sizeof why) && strstr(why, text) != NULL;
    return found;
}

/* Wrong rows that were read from rotten blocks, errors of tables that have no listed damage, and rows that are missing. */
static void planted_defects_are_found(void **state)
{
    (void)state;
    assert_true(found_of(PLANT_NO_WINDOW, "is wrong", 200) >= 3);
    assert_true(found_of(PLANT_HIDDEN, "has no damage", 40) >= 5);
    assert_true(found_of(PLANT_EXPECTED, "", 40) >= 35);
}

int main(void)
{
    alm_log_set_level(getenv("ALM_TEST_TRACE") != NULL ? ALM_LOG_INFO : ALM_LOG_OFF);
    (void)all_steps;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_stays_where_it_is),
        cmocka_unit_test(planted_defects_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
