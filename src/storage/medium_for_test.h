/*
 * medium_for_test.h - for medium_test.c: what of the disk is wrong now and whom that concerns, and what the tables hold,
 * hour by hour, compared with what a client knows.
 *
 * Promises    Of a table without a wrong byte in its files, every answer is right. Of one with, an hour whose parts have none
 *             is right. Elsewhere a read is right or an error that names the table or the file.
 * The window  A block is compared with its checksum when it is touched first. So where a part was in memory when it was
 *             struck, reads of that hour may be wrong until a scrub or a start; nothing else may.
 */
#ifndef ALM_STORAGE_MEDIUM_FOR_TEST_H
#define ALM_STORAGE_MEDIUM_FOR_TEST_H

#include "storage/crash_steps_for_test.h"
#include "storage/part/pack.h"
#include "storage/recover/generation.h"

#define HOUR INT64_C(3600000000)
enum { HOURS = VALUES / 30 + 1, PAST = 48 };

typedef enum hour_state { HOUR_SOUND, HOUR_STRUCK, HOUR_OPEN /* the window */ } hour_state;

typedef struct struck {  /* what the wrong bytes of the disk concern, now */
    bool any[TABLES];    /* a file in the directory of the table */
    bool closed[TABLES]; /* a dictionary: the table may be closed by a start */
    hour_state hours[TABLES][HOURS];
    bool catalogue, previous, log, backup;
} struck;

typedef struct counts {
    int64_t seeds, steps, cuts, starts, scrubs, backups, restores;
    int64_t places, kinds[ALM_SIM_DAMAGE_KINDS];
    int64_t gone, told,
        quiet; /* places at the end: right again or without a file; of a table in the list of damage; others */
    int64_t failed_steps, failed_reads, wrong_reads, closed_tables;
    int64_t refused_starts, previous_starts, lost_tails, refused_restores;
} counts;

/* What the test must find: defects that are planted. */
typedef enum plant_kind {
    PLANT_NOTHING,
    PLANT_NO_WINDOW, /* reads of rotten blocks that were good at their first touch count as wrong */
    PLANT_HIDDEN,    /* a bit of a table flips that the disk does not list */
    PLANT_EXPECTED   /* a row is expected that nobody wrote */
} plant_kind;

typedef struct past { /* what was known when the log was that long */
    model known;
    uint64_t segment;
    int64_t at;
} past;

typedef struct run {
    world w;
    uint64_t seed, random;
    uint64_t ids[TABLES]; /* of the tables, 0: not there */
    size_t
        seen; /* places that were struck before the last start or scrub: their window is closed */
    plant_kind plant;
    bool tail_lost; /* files of changes that the log has lost are gone, too */
    past history[PAST];
    size_t n_history;
    model backed_up;
    bool has_backup;
    model maybe_backed_up; /* by a backup that a power cut met */
    bool may_have_backup;
    counts *count;
    char why[1280]; /* "": all promises were kept */
} run;

static uint64_t draw(run *r, uint64_t below)
{
    r->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = r->random;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

ALM_PRINTF(2, 3) static bool broken(run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->why[0] == 0)
        (void)vsnprintf(r->why, sizeof r->why, format, args);
    va_end(args);
    return false;
}

/* --------------------------------------------------------------------- what is wrong */

static int table_of_path(const run *r, const char *path)
{
    for (int i = 0; i < TABLES; i++) {
        char dir[64];
        const int n = snprintf(dir, sizeof dir, "r/db/tables/%llu/", (unsigned long long)r->ids[i]);
        if (r->ids[i] != 0 && strncmp(path, dir, (size_t)n) == 0)
            return i;
    }
    return -1;
}

static void file_hours(struck *s, int table, const alm_part_ref *part, const alm_file *file,
                       const alm_sim_damage *d, bool is_open)
{
    char path[ALM_PATH_MAX];
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    const bool whole = !shared || d->kind == ALM_SIM_ROT_UNREADABLE; /* a map breaks as a whole */
    if (strcmp(path, d->path) != 0 || (!whole && (d->offset >= place.offset + place.bytes ||
                                                  d->offset + d->bytes <= place.offset)))
        return;
    hour_state *hour = &s->hours[table][part->bucket / HOUR];
    *hour = ALM_MAX(*hour, is_open ? HOUR_OPEN : HOUR_STRUCK);
}

static void part_hours(struck *s, int table, const alm_table *t, const alm_sim_damage *d,
                       bool is_open)
{
    const alm_part_set *set = alm_version_of(t)->parts;
    for (uint32_t i = 0; i < set->n; i++) {
        const alm_part_ref *part = set->parts[i];
        file_hours(s, table, part, part->file, d, is_open);
        for (uint32_t j = 0; j < part->n_overlays; j++)
            file_hours(s, table, part, part->overlays[j].file, d, is_open);
    }
}

/* Without a snapshot (nothing is open) the tables are not looked into. */
static void look(run *r, alm_snapshot *snap, struck *s)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < alm_sim_damage_count(r->w.sim); i++) {
        alm_sim_damage d;
        alm_sim_damage_at(r->w.sim, i, &d);
        if (!d.is_wrong)
            continue;
        const int table = table_of_path(r, d.path);
        if (table >= 0) {
            s->any[table] = true;
            s->closed[table] |= strstr(d.path, ".dict") != NULL;
            const alm_table *t =
                snap == NULL ? NULL : alm_snapshot_find(snap, alm_str_of(NAMES[table]));
            if (t != NULL)
                part_hours(s, table, t, &d, d.mapped && i >= r->seen);
        }
        s->catalogue |= strcmp(d.path, "r/db/" ALM_CATALOG) == 0;
        s->previous |= strcmp(d.path, "r/db/" ALM_CATALOG_PREVIOUS) == 0;
        s->log |= strncmp(d.path, "r/db/wal/", 9) == 0;
        s->backup |= strncmp(d.path, "bk/", 3) == 0;
    }
    for (int i = 0; i < TABLES; i++)
        s->any[i] |= r->tail_lost;
}

static bool is_damage(alm_status st)
{
    return st == ALM_E_CORRUPT || st == ALM_E_IO || st == ALM_E_UNSUPPORTED;
}

/* An error of damage that says where. */
static bool says_where(const run *r, int table)
{
    const char *msg = r->w.cx.err.msg;
    char dir[64];
    (void)snprintf(dir, sizeof dir, "tables/%llu/", (unsigned long long)r->ids[table]);
    return is_damage(r->w.cx.err.code) &&
           (strstr(msg, NAMES[table]) != NULL || strstr(msg, dir) != NULL);
}

/* ------------------------------------------------------------------------- reading */

typedef struct hour { /* what a read of a stretch of time gave */
    uint8_t count[VALUES];
    int64_t gen[VALUES];
    bool wrong; /* a row is not what its value says, or is not in order */
} hour;

/* In the window no offset of a text is followed. */
static bool text_is(const alm_vec *v, size_t i, const char *want, bool is_open)
{
    if (v->dict != NULL) {
        const uint32_t code = alm_vec_code(v, i);
        return code < v->dict->count && alm_str_eq(alm_vec_text(v, i), alm_str_of(want));
    }
    if (is_open && ((const alm_view *)v->data)[v->is_const ? 0 : i].len != strlen(want))
        return false;
    return is_open || alm_str_eq(alm_vec_text(v, i), alm_str_of(want));
}

static bool row_is_right(const alm_vec *v, size_t i, int64_t val, bool is_open)
{
    char want[32];
    if (v[0].is_const || ((const int64_t *)v[0].data)[i] != time_of(val))
        return false;
    (void)snprintf(want, sizeof want, "sym-%d", (int)(val / 5));
    if (!text_is(&v[1], i, want, is_open))
        return false;
    (void)snprintf(want, sizeof want, "the text of %d", (int)val);
    return text_is(&v[2], i, want, is_open);
}

static int64_t number_at(const alm_vec *v, size_t i)
{
    return ((const int64_t *)v->data)[v->is_const ? 0 : i];
}

static alm_status read_hours(world *w, alm_snapshot *snap, const alm_table *t,
                             const alm_scan_range *range, bool is_open, hour *out)
{
    static const uint32_t cols[5] = {0, 1, 2, 3, COL_GEN};
    const bool wanted[5] = {true, true, true, true, true};
    const uint32_t n_cols = has_gen(t) ? 5 : 4;
    alm_scan *scan;
    alm_scan_cursor *cur;
    int64_t last = INT64_MIN;
    memset(out, 0, sizeof *out);
    ALM_TRY(alm_scan_new(&w->cx, &w->arena, snap, t,
                         &(alm_scan_spec){.cols = cols,
                                          .n_cols = n_cols,
                                          .ranges = range,
                                          .n_ranges = range != NULL,
                                          .all = range == NULL},
                         &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const int64_t rows = alm_scan_span_at(scan, s).rows;
        for (int64_t row = 0; row < rows; row += ALM_BATCH_ROWS) {
            const uint32_t n = (uint32_t)ALM_MIN(rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec v[5];
            ALM_TRY(alm_scan_read(&w->cx, cur, s, row, n, wanted, v));
            for (size_t i = 0; i < n; i++) {
                const int64_t val = number_at(&v[3], i), ts = number_at(&v[0], i);
                const bool right =
                    val >= 0 && val < VALUES && ts >= last && row_is_right(v, i, val, is_open);
                out->wrong |= !right;
                last = ts;
                if (!right)
                    continue;
                out->count[val]++;
                if (n_cols > 4)
                    out->gen[val] = number_at(&v[4], i);
            }
        }
    }
    return ALM_OK;
}

static bool has_gens(const model *m, int table)
{
    return strcmp(m->tables[table].cols[COL_GEN].name, GEN) == 0;
}

static bool is_known(const model *m, int table, const hour *h, int64_t only)
{
    for (int v = 0; v < VALUES && !h->wrong; v++) {
        const bool here = only < 0 || time_of(v) / HOUR == only;
        const uint8_t want = here ? m->tables[table].count[v] : 0;
        if (h->count[v] != want ||
            (want > 0 && has_gens(m, table) && h->gen[v] != m->tables[table].gen[v]))
            return false;
    }
    return !h->wrong;
}

/* One hour of a table whose whole could not be read, or was not what is known. */
static bool hour_is_allowed(run *r, alm_snapshot *snap, const alm_table *t, int table, int at,
                            const struck *s, const model *m)
{
    hour h;
    const alm_scan_range range = {at * HOUR, (at + 1) * HOUR - 1};
    const hour_state state = s->hours[table][at];
    const alm_status st = read_hours(&r->w, snap, t, &range, state == HOUR_OPEN, &h);
    alm_arena_reset(&r->w.arena);
    if (st == ALM_OK && is_known(m, table, &h, at))
        return true;
    if (st == ALM_OK && state == HOUR_OPEN && r->plant != PLANT_NO_WINDOW) {
        r->count->wrong_reads++;
        return true;
    }
    if (st == ALM_OK)
        return broken(r, "hour %d of %s is wrong (state %d)", at, NAMES[table], state);
    const bool allowed =
        (state != HOUR_SOUND || s->closed[table] || r->tail_lost) && says_where(r, table);
    r->count->failed_reads++;
    if (!allowed)
        return broken(r, "hour %d of %s (state %d): %s", at, NAMES[table], state, r->w.cx.err.msg);
    alm_error_clear(&r->w.cx);
    return true;
}

static bool shape_is_known(const alm_table *t, const model *m, int table)
{
    if (t->n_cols != m->tables[table].n_cols || t->dedup != m->tables[table].keyed)
        return false;
    for (uint32_t c = 0; c < t->n_cols; c++)
        if (strcmp(t->cols[c].name, m->tables[table].cols[c].name) != 0 ||
            t->cols[c].type.id != m->tables[table].cols[c].type)
            return false;
    return true;
}

static bool table_is_allowed(run *r, alm_snapshot *snap, int table, const struck *s, const model *m)
{
    hour h;
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[table]));
    if (t == NULL || !m->tables[table].there)
        return t == NULL && !m->tables[table].there
                   ? true
                   : broken(r, "table %s is %s", NAMES[table], t == NULL ? "gone" : "there");
    if (!shape_is_known(t, m, table))
        return broken(r, "the columns of %s are others", NAMES[table]);
    bool open = false;
    for (int i = 0; i < HOURS; i++)
        open |= s->hours[table][i] == HOUR_OPEN;
    const alm_status st = read_hours(&r->w, snap, t, NULL, open, &h);
    alm_arena_reset(&r->w.arena);
    if (st == ALM_OK && is_known(m, table, &h, -1))
        return true;
    if (!s->any[table])
        return broken(r, "%s has no damage: %s", NAMES[table],
                      st == ALM_OK ? "its rows are others" : r->w.cx.err.msg);
    if (st != ALM_OK && !says_where(r, table))
        return broken(r, "of %s, but: %s", NAMES[table], r->w.cx.err.msg);
    alm_error_clear(&r->w.cx);
    for (int i = 0; i < HOURS; i++)
        if (!hour_is_allowed(r, snap, t, table, i, s, m))
            return false;
    return true;
}

/* All tables are what is known, or what the promises allow. */
static bool all_is_allowed(run *r, const model *m)
{
    alm_snapshot *snap;
    struck s;
    if (alm_snapshot_acquire(&r->w.cx, r->w.st, &snap) != ALM_OK)
        return broken(r, "no snapshot: %s", r->w.cx.err.msg);
    for (int i = 0; i < TABLES; i++) {
        const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[i]));
        r->ids[i] = t == NULL ? 0 : t->id;
    }
    look(r, snap, &s);
    bool good = true;
    for (int i = 0; i < TABLES && good; i++)
        good = table_is_allowed(r, snap, i, &s, m);
    alm_snapshot_release(snap);
    return good;
}

#endif
