/*
 * crash_world_for_test.h - a storage on the simulated disk that runs a list of changes, ends, and opens again; and what is read of it.
 */
#ifndef ALM_STORAGE_CRASH_WORLD_FOR_TEST_H
#define ALM_STORAGE_CRASH_WORLD_FOR_TEST_H

#include "storage/crash_steps_for_test.h"

/* By night every call; else, and where each takes ten times as long, a sample. */
static int64_t stride(void)
{
    const bool all = getenv("ALM_TEST_ALL") != NULL;
#ifdef ALM_SANITIZED
    return all ? 4 : 17;
#else
    return all ? 1 : 3;
#endif
}

/* ----------------------------------------------------------------------- reading */

static bool row_is_right(const alm_vec *v, size_t i, int64_t val)
{
    char want[32];
    (void)snprintf(want, sizeof want, "sym-%d", (int)(val / 5));
    if (!alm_str_eq(alm_vec_text(&v[1], i), alm_str_of(want)))
        return false;
    (void)snprintf(want, sizeof want, "the text of %d", (int)val);
    return alm_str_eq(alm_vec_text(&v[2], i), alm_str_of(want)) &&
           ((const int64_t *)v[0].data)[i] == time_of(val);
}

static alm_status read_table(world *w, alm_snapshot *snap, const alm_table *t, int table, model *m)
{
    static const uint32_t cols[5] = {0, 1, 2, 3, COL_GEN};
    const bool wanted[5] = {true, true, true, true, true};
    const uint32_t n_cols = has_gen(t) ? 5 : 4;
    alm_scan *scan;
    alm_scan_cursor *cur;
    int64_t last = INT64_MIN;
    ALM_TRY(alm_scan_new(&w->cx, &w->arena, snap, t,
                         &(alm_scan_spec){.cols = cols, .n_cols = n_cols, .all = true}, &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const int64_t n = alm_scan_span_at(scan, s).rows;
        alm_vec v[5];
        assert_true(n <= ALM_BATCH_ROWS);
        ALM_TRY(alm_scan_read(&w->cx, cur, s, 0, (uint32_t)n, wanted, v));
        for (size_t i = 0; i < (size_t)n; i++) {
            const int64_t val = ((const int64_t *)v[3].data)[i];
            const int64_t ts = ((const int64_t *)v[0].data)[i];
            if (val < 0 || val >= VALUES || ts < last || !row_is_right(v, i, val))
                m->damaged = true;
            else
                m->tables[table].count[val]++;
            if (n_cols > 4 && !m->damaged)
                m->tables[table].gen[val] = ((const int64_t *)v[4].data)[i];
            last = ts;
        }
    }
    return ALM_OK;
}

static alm_status read_model(world *w, model *m)
{
    alm_snapshot *snap;
    alm_status st = ALM_OK;
    memset(m, 0, sizeof *m);
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    for (size_t i = 0; i < alm_snapshot_record_count(snap); i++) {
        const alm_record r = alm_snapshot_record_at(snap, i);
        memcpy(m->records[r.key.ptr[0] - '0'], r.value.ptr, r.value.len);
    }
    for (int i = 0; i < TABLES && st == ALM_OK; i++) {
        const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[i]));
        if (t == NULL)
            continue;
        m->tables[i].there = true;
        m->tables[i].n_cols = t->n_cols;
        m->tables[i].ttl_hours = t->ttl_hours;
        m->tables[i].keyed = t->dedup;
        know_comment(m->tables[i].comment, alm_table_comment(t, 0));
        know_comment(m->tables[i].column_comment, alm_table_comment(t, t->cols[3].id));
        for (uint32_t c = 0; c < t->n_cols; c++)
            know_column(m, i, c, t->cols[c].name, (alm_type_id)t->cols[c].type.id);
        st = read_table(w, snap, t, i, m);
    }
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return st;
}

/* What cannot be read is not compared. */
static void seen(model *m)
{
    for (int i = 0; i < TABLES; i++) {
        memset(m->tables[i].apart, 0, sizeof m->tables[i].apart);
        for (int v = 0; v < VALUES; v++)
            if (m->tables[i].count[v] == 0)
                m->tables[i].gen[v] = 0;
    }
}

static bool same(const model *a, const model *b)
{
    model x = *a, y = *b;
    seen(&x);
    seen(&y);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* ------------------------------------------------------------------------- runs */

static void world_init(world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->steps = STEPS;
    w->step = step;
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    w->sim = alm_sim_new(seed);
    alm_storage_conf_default(&w->conf);
    w->conf.wal_segment_bytes = 4096;
    w->conf.sync_files_max = seed % 2 ? 16 : 1; /* files one by one, or the file system */
    w->conf.reserve_bytes = seed % 3 == 0 ? 64 << 10 : 0;
    w->conf.shared_parts_min = seed / 2 % 2 ? 1 : 16; /* small parts share files, or not */
    w->conf.manual = true;
}

/* One of all_steps. */
static void use_list(world *w, int list)
{
    static const int steps[LISTS] = {STEPS,      ALTER_STEPS, KEEP_STEPS,    BLOCK_STEPS,
                                     HOLD_STEPS, KEYED_STEPS, RECORDS_STEPS, CONVERT_STEPS};
    w->steps = steps[list];
    w->step = all_steps[list];
}

static alm_status world_open(world *w)
{
    w->st = NULL;
    alm_error_clear(&w->cx);
    return alm_storage_open(&w->cx, alm_sim_io(w->sim), "r", &w->conf, &w->st);
}

static void world_deinit(world *w)
{
    if (w->st != NULL)
        alm_storage_close(w->st);
    alm_arena_deinit(&w->arena);
    alm_sim_free(w->sim);
}

/* Runs the steps until one fails; *after is the model with that step. False: none failed. */
static bool run_steps(world *w, model *after)
{
    for (int i = 0; i < w->steps; i++) {
        *after = w->known;
        if (w->step(w, i, after) != ALM_OK)
            return true;
        w->known = *after;
    }
    return false;
}

/* Opens after the power came back; cuts it again `again` times within recovery. */
static alm_status reopen(world *w, int again)
{
    if (w->st != NULL)
        alm_storage_close(w->st); /* on a dead disk */
    alm_sim_restart(w->sim);
    for (int n = 1; n <= again; n++) {
        alm_sim_cut_after(w->sim, n);
        if (world_open(w) == ALM_OK)
            alm_storage_close(w->st);
        alm_sim_restart(w->sim);
    }
    return world_open(w);
}

#endif
