/*
 * crash_steps_for_test.h - what the crash test does: lists of changes on the simulated disk, and the model
 * of what a client knows after each.
 */
#ifndef ALM_STORAGE_CRASH_STEPS_FOR_TEST_H
#define ALM_STORAGE_CRASH_STEPS_FOR_TEST_H

#include "io/sim.h"
#include "storage/write/compact.h"

enum { TABLES = 3, VALUES = 1024, MANY = 150 };

/* What a client knows: which values are in which table. */
typedef struct model {
    struct {
        bool there;
        uint32_t n_cols;
        struct {
            char name[12];
            alm_type_id type;
        } cols[8];
        int64_t ttl_hours;
        char comment[16], column_comment[16]; /* of the table, of the column val */
        bool keyed;                           /* DEDUP UPSERT KEYS(ts, val) */
        uint8_t count[VALUES];                /* of rows with this value */
        int64_t gen[VALUES];                  /* of the last of them, in a table with that column */
        uint8_t apart[VALUES];                /* of those that are detached: not looked at */
    } tables[TABLES];
    char records[3][16]; /* by the keys "0" to "2"; "": there is none */
    bool damaged;        /* a row was not what its value says, or times did not ascend */
} model;

static const char *const NAMES[TABLES] = {"alpha", "beta", "gamma"};

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    alm_storage *st;
    alm_storage_conf conf;
    model known;
    int64_t gen; /* in the column gen of rows that are written now */
    int steps;
    alm_status (*step)(struct world *w, int i, model *m);
} world;

/* ----------------------------------------------------------------------- changes */

static void know_column(model *m, int table, uint32_t at, const char *name, alm_type_id type)
{
    memset(m->tables[table].cols[at].name, 0, sizeof m->tables[table].cols[at].name);
    assert_true(strlen(name) < sizeof m->tables[table].cols[at].name);
    memcpy(m->tables[table].cols[at].name, name, strlen(name));
    m->tables[table].cols[at].type = type;
}

enum { COL_GEN = 4 };
static const char GEN[] = "gen";

static alm_status make_of(world *w, int table, uint32_t n_cols, bool keyed, model *m)
{
    const alm_column cols[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}, .dedup_key = keyed},
                               {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
                               {.name = "txt", .type = {.id = ALM_T_VARCHAR}},
                               {.name = "val", .type = {.id = ALM_T_LONG}, .dedup_key = keyed},
                               {.name = GEN, .type = {.id = ALM_T_LONG}}};
    const alm_table_spec spec = {.name = alm_str_of(NAMES[table]),
                                 .cols = cols,
                                 .n_cols = n_cols,
                                 .ts_col = 0,
                                 .partition = ALM_PART_HOUR,
                                 .dedup = keyed};
    m->tables[table].there = true;
    m->tables[table].keyed = keyed;
    m->tables[table].n_cols = n_cols;
    for (uint32_t c = 0; c < n_cols; c++)
        know_column(m, table, c, cols[c].name, (alm_type_id)cols[c].type.id);
    if (w->conf.sync_files_max > 1)
        return alm_table_create(&w->cx, w->st, &spec, NULL);
    alm_table_edit edit = {.create = &spec}; /* the same as one of many */
    ALM_TRY(alm_tables_edit(&w->cx, w->st, &edit, 1));
    w->cx.err = edit.err;
    return edit.err.code;
}

static alm_status make(world *w, int table, model *m)
{
    return make_of(w, table, COL_GEN, false, m);
}

static bool has_gen(const alm_table *t)
{
    return t->n_cols > COL_GEN && strcmp(t->cols[COL_GEN].name, GEN) == 0;
}

/* Rows were written with these values. */
static void know_rows(const world *w, model *m, int table, int64_t from, int64_t n)
{
    for (int64_t v = from; v < from + n; v++) {
        uint8_t *count = &m->tables[table].count[v];
        *count = m->tables[table].keyed ? 1 : (uint8_t)(*count + 1);
        if (strcmp(m->tables[table].cols[COL_GEN].name, GEN) == 0)
            m->tables[table].gen[v] = w->gen;
    }
}

/* The columns behind the fourth. */
static alm_status more_columns(world *w, const alm_table *t, alm_vec *cols)
{
    for (uint32_t c = 4; c < t->n_cols; c++)
        ALM_TRY(alm_vec_null(&w->cx, &w->arena, t->cols[c].type, &cols[c]));
    if (has_gen(t))
        cols[COL_GEN] =
            (alm_vec){.type = ALM_TY(LONG), .width = 8, .is_const = true, .data = &w->gen};
    return ALM_OK;
}

/* The time of a value: mostly ascending, some late, over several hours. */
static int64_t time_of(int64_t val)
{
    return (val % 7 == 3 ? val / 2 : val) * INT64_C(60000000) * 2;
}

static alm_status put(world *w, alm_txn *txn, const alm_table *t, int64_t from, int64_t n)
{
    alm_vec cols[8] = {{.type = ALM_TY(TIMESTAMP), .width = 8},
                       {.type = ALM_TY(SYMBOL), .width = 16},
                       {.type = ALM_TY(VARCHAR), .width = 16},
                       {.type = ALM_TY(LONG), .width = 8}};
    int64_t *ts, *val;
    alm_view *sym, *txt;
    ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &ts));
    ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &val));
    ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &sym));
    ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &txt));
    for (int64_t i = 0; i < n; i++) {
        const char *s;
        ts[i] = time_of(from + i);
        val[i] = from + i;
        ALM_TRY(alm_arena_printf(&w->cx, &w->arena, &s, "sym-%d", (int)((from + i) / 5)));
        sym[i] = alm_view_of(alm_str_of(s));
        ALM_TRY(alm_arena_printf(&w->cx, &w->arena, &s, "the text of %d", (int)(from + i)));
        txt[i] = alm_view_of(alm_str_of(s));
    }
    cols[0].data = ts;
    if (t->cols[1].type.id != ALM_T_SYMBOL)
        cols[1].type = t->cols[1].type;
    cols[1].data = sym;
    cols[2].data = txt;
    cols[3].data = val;
    ALM_TRY(more_columns(w, t, cols));
    const alm_batch batch = {.rows = (uint32_t)n, .n_cols = t->n_cols, .cols = cols};
    return alm_txn_append(&w->cx, txn, t, &batch);
}

/* What the TTL of the table lets go: whole hours. */
static void age(int table, model *m)
{
    const int64_t hour = INT64_C(3600000000), ttl = m->tables[table].ttl_hours * hour;
    int64_t newest = 0;
    for (int v = 0; v < VALUES; v++)
        if (m->tables[table].count[v] > 0)
            newest = ALM_MAX(newest, time_of(v));
    for (int v = 0; v < VALUES && ttl > 0 && newest > ttl; v++)
        if (time_of(v) < (newest - ttl) / hour * hour)
            m->tables[table].count[v] = 0;
}

/* Rows into one table, or into two with one transaction (other >= 0). */
static alm_status rows(world *w, int table, int other, int64_t from, int64_t n, model *m)
{
    alm_snapshot *snap;
    alm_txn *txn;
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    alm_status st = alm_txn_begin(&w->cx, w->st, &txn);
    for (int i = 0; i < 2 && st == ALM_OK; i++) {
        const int which = i == 0 ? table : other;
        if (which < 0)
            continue;
        const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[which]));
        st = t == NULL ? alm_fail(&w->cx, ALM_E_TABLE, -1, "gone") : put(w, txn, t, from, n);
        know_rows(w, m, which, from, n);
        if (st != ALM_OK)
            alm_txn_rollback(txn);
    }
    age(table, m);
    if (st == ALM_OK)
        st = alm_txn_commit(&w->cx, txn, NULL);
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return st;
}

static alm_status widen(world *w, int table, model *m)
{
    char name[16];
    (void)snprintf(name, sizeof name, "extra%u", m->tables[table].n_cols);
    const alm_column col = {.name = name, .type = {.id = ALM_T_DOUBLE}};
    know_column(m, table, m->tables[table].n_cols++, name, ALM_T_DOUBLE);
    return alm_table_add_column(&w->cx, w->st, alm_str_of(NAMES[table]), &col);
}

static alm_status load(world *w, int table, int64_t from, int64_t n, model *m)
{
    alm_snapshot *snap;
    alm_bulk *bulk = NULL;
    int64_t loaded;
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &snap));
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[table]));
    alm_status st = t == NULL ? alm_fail(&w->cx, ALM_E_TABLE, -1, "gone")
                              : alm_bulk_begin(&w->cx, w->st, t, &bulk);
    if (st == ALM_OK) {
        alm_vec cols[8] = {{.type = ALM_TY(TIMESTAMP), .width = 8}};
        int64_t ts[64], val[64];
        alm_view sym[64], txt[64];
        char texts[64][32], names[64][32];
        for (int64_t i = 0; i < n; i++) {
            ts[i] = time_of(from + i);
            val[i] = from + i;
            (void)snprintf(names[i], 32, "sym-%d", (int)((from + i) / 5));
            sym[i] = alm_view_of(alm_str_of(names[i]));
            (void)snprintf(texts[i], 32, "the text of %d", (int)(from + i));
            txt[i] = alm_view_of(alm_str_of(texts[i]));
        }
        know_rows(w, m, table, from, n);
        age(table, m);
        cols[0] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
        cols[1] = (alm_vec){.type = t->cols[1].type, .width = 16, .data = sym};
        cols[2] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = txt};
        cols[3] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = val};
        st = more_columns(w, t, cols);
        const alm_batch batch = {.rows = (uint32_t)n, .n_cols = t->n_cols, .cols = cols};
        if (st == ALM_OK)
            st = alm_bulk_append(&w->cx, bulk, &batch);
        if (st == ALM_OK)
            st = alm_bulk_commit(&w->cx, bulk, &loaded);
        else
            alm_bulk_rollback(bulk);
    }
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return st;
}

static alm_status drop(world *w, int table, model *m)
{
    memset(&m->tables[table], 0, sizeof m->tables[table]);
    return alm_table_drop(&w->cx, w->st, alm_str_of(NAMES[table]), NULL);
}

static alm_status truncate_table(world *w, int table, model *m)
{
    memset(m->tables[table].count, 0, sizeof m->tables[table].count);
    return alm_table_truncate(&w->cx, w->st, alm_str_of(NAMES[table]));
}

static alm_status swap_name(world *w, int from, int to, model *m)
{
    m->tables[to] = m->tables[from];
    memset(&m->tables[from], 0, sizeof m->tables[from]);
    return alm_table_rename(&w->cx, w->st, alm_str_of(NAMES[from]), alm_str_of(NAMES[to]), NULL);
}

/* ---- ALTER TABLE, DROP PARTITION, DELETE */

typedef struct edit { /* a table of the newest snapshot, and what shall become of it */
    alm_snapshot *snap;
    const alm_table *table;
    alm_column cols[8];
    alm_table_spec spec;
} edit;

static alm_status edit_begin(world *w, int table, edit *e)
{
    ALM_TRY(alm_snapshot_acquire(&w->cx, w->st, &e->snap));
    const alm_table *t = e->table = alm_snapshot_find(e->snap, alm_str_of(NAMES[table]));
    if (t == NULL) {
        alm_snapshot_release(e->snap);
        return alm_fail(&w->cx, ALM_E_TABLE, -1, "gone");
    }
    memcpy(e->cols, t->cols, t->n_cols * sizeof *t->cols);
    e->spec = (alm_table_spec){.name = alm_str_of(t->name),
                               .cols = e->cols,
                               .n_cols = t->n_cols,
                               .ts_col = t->ts_col,
                               .partition = t->partition,
                               .dedup = t->dedup,
                               .ttl_hours = t->ttl_hours};
    return ALM_OK;
}

static alm_status edit_end(world *w, edit *e)
{
    const alm_status st = alm_table_alter(&w->cx, w->st, e->table, &e->spec);
    alm_snapshot_release(e->snap);
    return st;
}

/* One name changes, two columns come, and an option, all at once. */
static alm_status reshape(world *w, int table, model *m)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    e.cols[2].name = "words";
    know_column(m, table, 2, "words", ALM_T_VARCHAR);
    e.cols[e.spec.n_cols++] = (alm_column){.name = "side", .type = {.id = ALM_T_SYMBOL}};
    e.cols[e.spec.n_cols++] = (alm_column){.name = "size", .type = {.id = ALM_T_INT}};
    know_column(m, table, m->tables[table].n_cols++, "side", ALM_T_SYMBOL);
    know_column(m, table, m->tables[table].n_cols++, "size", ALM_T_INT);
    e.spec.ttl_hours = m->tables[table].ttl_hours = 1000;
    return edit_end(w, &e);
}

static alm_status shorten_life(world *w, int table, int64_t hours, model *m)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    e.spec.ttl_hours = m->tables[table].ttl_hours = hours;
    age(table, m);
    return edit_end(w, &e);
}

static void know_comment(char to[16], const char *text)
{
    memset(to, 0, 16); /* models are compared as bytes */
    (void)snprintf(to, 16, "%s", text == NULL ? "" : text);
}

/* On the table, or on its column val. */
static alm_status comment(world *w, int table, bool column, const char *text, model *m)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    know_comment(column ? m->tables[table].column_comment : m->tables[table].comment, text);
    const alm_status st = alm_table_set_comment(&w->cx, w->st, e.table->id,
                                                column ? e.cols[3].id : 0, alm_str_of(text));
    alm_snapshot_release(e.snap);
    return st;
}

static alm_status truncate_two(world *w, model *m)
{
    const alm_str names[] = {alm_str_of(NAMES[0]), alm_str_of(NAMES[1])};
    for (int i = 0; i < 2; i++)
        memset(m->tables[i].count, 0, sizeof m->tables[i].count);
    return alm_tables_truncate(&w->cx, w->st, names, 2, true);
}

/* The column behind the fourth goes. */
static alm_status narrow(world *w, int table, model *m)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    if (e.spec.n_cols <= 4) { /* those that should have come have not */
        alm_snapshot_release(e.snap);
        return alm_fail(&w->cx, ALM_E_ARG, -1, "nothing to drop");
    }
    const uint32_t n = --e.spec.n_cols;
    memmove(&e.cols[4], &e.cols[5], (n - 4) * sizeof *e.cols);
    memmove(&m->tables[table].cols[4], &m->tables[table].cols[5],
            (n - 4) * sizeof m->tables[table].cols[4]);
    memset(&m->tables[table].cols[n], 0, sizeof m->tables[table].cols[n]);
    m->tables[table].n_cols--;
    return edit_end(w, &e);
}

typedef enum feeding { FEED_NOTHING, FEED_TEXTS, FEED_GEN } feeding;

/* Hands the rows of a scan to an update: those that `takes`, alone, with the texts of column 1, or with gen. */
static alm_status feed(world *w, alm_update *up, int table, bool (*takes)(int64_t val),
                       feeding what)
{
    static const uint32_t cols[2] = {1, 3};
    const bool wanted[2] = {true, true};
    alm_scan *scan;
    alm_scan_cursor *cur;
    alm_snapshot *snap = alm_update_snapshot(up);
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[table]));
    ALM_TRY(alm_scan_new(&w->cx, &w->arena, snap, t,
                         &(alm_scan_spec){.cols = cols, .n_cols = 2, .all = true}, &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const uint32_t n = (uint32_t)alm_scan_span_at(scan, s).rows;
        alm_vec v[2];
        int64_t *at, *gens;
        alm_view *views;
        uint32_t k = 0;
        ALM_TRY(alm_scan_read(&w->cx, cur, s, 0, n, wanted, v));
        ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &at));
        ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &views));
        ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &gens));
        for (uint32_t i = 0; i < n; i++) {
            if (takes != NULL && !takes(((const int64_t *)v[1].data)[i]))
                continue;
            views[k] = alm_view_of(alm_vec_text(&v[0], i));
            gens[k] = w->gen;
            at[k++] = i;
        }
        const alm_vec texts = {.type = ALM_TY(VARCHAR), .width = 16, .data = views};
        const alm_vec numbers = {.type = ALM_TY(LONG), .width = 8, .data = gens};
        const alm_vec *const values[] = {NULL, &texts, &numbers};
        ALM_TRY(alm_update_rows(&w->cx, up, s, at, k, values[what]));
    }
    return ALM_OK;
}

static alm_status feed_and_commit(world *w, alm_update *up, int table, bool (*takes)(int64_t val),
                                  feeding what)
{
    int64_t n = 0;
    alm_status st = feed(w, up, table, takes, what);
    if (st == ALM_OK)
        st = alm_update_commit(&w->cx, up, &n);
    else
        alm_update_rollback(up);
    return st;
}

/* The symbols become texts, or symbols again. */
static alm_status retype(world *w, int table, alm_type_id to, model *m)
{
    edit e;
    alm_update *up = NULL;
    const alm_column col = {.name = "sym", .type = {.id = (uint8_t)to}};
    ALM_TRY(edit_begin(w, table, &e));
    know_column(m, table, 1, "sym", to);
    alm_status st = alm_retype_begin(&w->cx, w->st, e.table, 1, &col, &up);
    if (st == ALM_OK)
        st = feed_and_commit(w, up, table, NULL, FEED_TEXTS);
    alm_snapshot_release(e.snap);
    alm_arena_reset(&w->arena);
    return st;
}

static bool is_third(int64_t val)
{
    return val % 3 == 0;
}

static alm_status delete_thirds(world *w, int table, model *m)
{
    alm_update *up = NULL;
    for (int v = 0; v < VALUES; v += 3)
        m->tables[table].count[v] = 0;
    ALM_TRY(alm_delete_begin(&w->cx, w->st, NULL, alm_str_of(NAMES[table]), &up));
    const alm_status st = feed_and_commit(w, up, table, is_third, FEED_NOTHING);
    alm_arena_reset(&w->arena);
    return st;
}

/* Of every third row that is there, in a transaction or alone. */
static alm_status update_thirds(world *w, alm_txn *txn, int table, model *m)
{
    static const uint32_t col = COL_GEN;
    alm_update *up = NULL;
    for (int v = 0; v < VALUES; v += 3)
        m->tables[table].gen[v] = w->gen;
    ALM_TRY(alm_update_begin(&w->cx, w->st, txn, alm_str_of(NAMES[table]), &col, 1, &up));
    const alm_status st = feed_and_commit(w, up, table, is_third, FEED_GEN);
    alm_arena_reset(&w->arena);
    return st;
}

/* One step of compaction, as the background thread takes it. */
static alm_status merge_parts(world *w, int table)
{
    edit e;
    bool did = false;
    ALM_TRY(edit_begin(w, table, &e));
    const uint64_t id = e.table->id;
    alm_tab *tab = alm_tab_retain(alm_version_of(e.table)->tab);
    alm_snapshot_release(e.snap);
    alm_status st = alm_tab_lock(&w->cx, w->st, tab, ALM_TAB_MAINT);
    if (st == ALM_OK) {
        st = alm_compact_table(&w->cx, w->st, id, &did);
        alm_tab_unlock(w->st, tab, ALM_TAB_MAINT);
    }
    alm_tab_release(tab);
    return st;
}

/* The oldest hour goes. */
static alm_status drop_oldest(world *w, int table, model *m)
{
    const int64_t hour = INT64_C(3600000000);
    int64_t oldest = INT64_MAX;
    for (int v = 0; v < VALUES; v++)
        if (m->tables[table].count[v] > 0)
            oldest = ALM_MIN(oldest, time_of(v) / hour * hour);
    for (int v = 0; v < VALUES; v++)
        if (time_of(v) >= oldest && time_of(v) < oldest + hour)
            m->tables[table].count[v] = 0;
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    const alm_status st = alm_table_drop_partitions(&w->cx, w->st, e.table, &oldest, 1);
    alm_snapshot_release(e.snap);
    return st;
}

/* The oldest hour is detached, or attached again. */
static alm_status move_oldest(world *w, int table, alm_partition_move move, model *m)
{
    static const uint32_t one = 1;
    edit e;
    alm_partition_info *info = NULL;
    size_t n = 0;
    const int64_t hour = INT64_C(3600000000);
    ALM_TRY(edit_begin(w, table, &e));
    alm_status st = alm_table_partitions(&w->cx, &w->arena, e.snap, e.table, &info, &n);
    const size_t at = move == ALM_PARTITION_DETACH ? 0 : n - 1;
    if (st == ALM_OK && (n == 0 || info[at].detached != (move == ALM_PARTITION_ATTACH)))
        st = alm_fail(&w->cx, ALM_E_ARG, -1, "no such partition");
    for (int v = 0; v < VALUES && st == ALM_OK; v++) {
        const bool here = time_of(v) >= info[at].bucket && time_of(v) < info[at].bucket + hour;
        if (here && move == ALM_PARTITION_DETACH) {
            m->tables[table].apart[v] = m->tables[table].count[v];
            m->tables[table].count[v] = 0;
        } else if (here) {
            m->tables[table].count[v] = m->tables[table].apart[v];
            m->tables[table].apart[v] = 0;
        }
    }
    if (st == ALM_OK)
        st = alm_table_move_partitions(&w->cx, w->st, e.table, move, &info[at].bucket, one);
    alm_snapshot_release(e.snap);
    alm_arena_reset(&w->arena);
    return st;
}

enum { STEPS = 31, ALTER_STEPS = 21, KEEP_STEPS = 20, BLOCK_STEPS = 12 };

static alm_status step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
        return make(w, 0, m);
    case 1:
        return make(w, 1, m);
    case 6:
    case 24:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 7:
        return widen(w, 0, m);
    case 10:
        return rows(w, 0, 1, 600, 40, m);
    case 12:
        return truncate_table(w, 1, m);
    case 13:
        return rows(w, 1, -1, 700, 5, m);
    case 15:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 16:
        return swap_name(w, 1, 2, m);
    case 17:
        return make(w, 1, m);
    case 18:
        return load(w, 2, 710, 20, m);
    case 20:
        return drop(w, 2, m);
    case 22:
        return rows(w, 0, -1, 750, MANY, m); /* longer than a segment */
    case 23:
        return widen(w, 1, m);
    case 26:
        return load(w, 1, 930, 10, m);
    case 28:
        return alm_storage_checkpoint(&w->cx, w->st);
    default:
        return rows(w, i % 4 == 1 ? 1 : 0, -1, i * 10, 3, m);
    }
}

/* What changes the shape of a table, and all its rows. */
static alm_status alter_step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
        return make(w, 0, m);
    case 2:
        return reshape(w, 0, m);
    case 4:
        return delete_thirds(w, 0, m);
    case 5:
        return retype(w, 0, ALM_T_VARCHAR, m);
    case 7:
        return narrow(w, 0, m); /* a symbol column */
    case 9:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 11:
        return retype(w, 0, ALM_T_SYMBOL, m);
    case 13:
        return drop_oldest(w, 0, m);
    case 14:
        return narrow(w, 0, m);
    case 15:
        return delete_thirds(w, 0, m);
    case 16:
        return move_oldest(w, 0, ALM_PARTITION_DETACH, m);
    case 18:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 19:
        return move_oldest(w, 0, ALM_PARTITION_ATTACH, m);
    default:
        return rows(w, 0, -1, i * 20, 10, m);
    }
}

/* Comments, TTL, several tables at once. */
static alm_status keep_step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
        return make(w, 0, m);
    case 1:
        return make(w, 1, m);
    case 3:
        return comment(w, 0, false, "first", m);
    case 4:
        return comment(w, 0, true, "of val", m);
    case 6:
        return shorten_life(w, 0, 3, m);
    case 8:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 9:
        return comment(w, 0, false, "second", m);
    case 10:
        return retype(w, 0, ALM_T_VARCHAR, m);
    case 12:
        return comment(w, 0, true, "", m);
    case 13:
        return shorten_life(w, 0, 1, m);
    case 15:
        return comment(w, 1, false, "other", m);
    case 16:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 18:
        return truncate_two(w, m);
    default:
        return rows(w, i == 17 ? 1 : 0, -1, i * 30, 30, m);
    }
}

static alm_status put_known(world *w, alm_txn *txn, int table, int64_t from, int64_t n, model *m)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    const alm_status st = put(w, txn, e.table, from, n);
    know_rows(w, m, table, from, n);
    alm_snapshot_release(e.snap);
    return st;
}

/* Rows into two tables; of the first, with them, every third goes, and then some come back. */
static alm_status write_block(world *w, alm_txn *txn, int64_t from, model *m)
{
    alm_update *up = NULL;
    ALM_TRY(put_known(w, txn, 0, from, 12, m));
    ALM_TRY(put_known(w, txn, 1, from, 6, m));
    for (int v = 0; v < VALUES; v += 3)
        m->tables[0].count[v] = 0;
    ALM_TRY(alm_delete_begin(&w->cx, w->st, txn, alm_str_of(NAMES[0]), &up));
    ALM_TRY(feed_and_commit(w, up, 0, is_third, FEED_NOTHING));
    return put_known(w, txn, 0, from, 5, m);
}

static alm_status block(world *w, int64_t from, model *m)
{
    alm_txn *txn = NULL;
    ALM_TRY(alm_txn_begin(&w->cx, w->st, &txn));
    alm_status st = write_block(w, txn, from, m);
    if (st == ALM_OK)
        st = alm_txn_commit(&w->cx, txn, NULL);
    else
        alm_txn_rollback(txn);
    alm_arena_reset(&w->arena);
    return st;
}

/* Transactions that insert and delete. */
static alm_status block_step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
        return make(w, 0, m);
    case 1:
        return make(w, 1, m);
    case 3:
    case 5:
    case 9:
        return block(w, i * 40, m);
    case 6:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 8:
        return load(w, 0, i * 40, 30, m);
    default:
        return rows(w, i % 2, -1, i * 40, 10, m);
    }
}

/* What changes behind a savepoint is taken back. */
static alm_status take_back(world *w, alm_txn *txn, const model *m)
{
    alm_txn_mark *mark = NULL;
    model gone = *m;
    const int64_t gen = w->gen;
    ALM_TRY(alm_txn_mark_new(&w->cx, txn, &mark));
    w->gen = gen + 1;
    alm_status st = update_thirds(w, txn, 0, &gone);
    if (st == ALM_OK)
        st = alm_txn_back_to(&w->cx, txn, mark);
    w->gen = gen;
    alm_txn_mark_free(mark);
    return st;
}

/* Rows into two tables with and without keys, and changes of them, at once. */
static alm_status change_block(world *w, int64_t from, model *m)
{
    alm_txn *txn = NULL;
    ALM_TRY(alm_txn_begin(&w->cx, w->st, &txn));
    alm_status st = put_known(w, txn, 0, from, 20, m);
    if (st == ALM_OK)
        st = put_known(w, txn, 1, from, 8, m);
    if (st == ALM_OK)
        st = update_thirds(w, txn, 0, m);
    if (st == ALM_OK)
        st = take_back(w, txn, m);
    if (st == ALM_OK)
        st = update_thirds(w, txn, 1, m);
    if (st == ALM_OK)
        st = alm_txn_commit(&w->cx, txn, NULL);
    else
        alm_txn_rollback(txn);
    alm_arena_reset(&w->arena);
    return st;
}

/* Keys that are written again and again, in memory and in parts; UPDATE; merges; loads and TTL. */
static alm_status keyed_step(world *w, int i, model *m)
{
    w->gen = i;
    switch (i) {
    case 0:
        return make_of(w, 0, COL_GEN + 1, true, m);
    case 1:
        return make_of(w, 1, COL_GEN + 1, false, m);
    case 2:
        return rows(w, 0, -1, 0, 40, m);
    case 3:
        return rows(w, 0, 1, 30, 20, m);
    case 4:
    case 12:
    case 21:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 5:
        return rows(w, 0, -1, 10, 60, m);
    case 6:
        return update_thirds(w, NULL, 0, m);
    case 7:
        return load(w, 0, 25, 50, m);
    case 8:
    case 15:
        return merge_parts(w, 0);
    case 9:
        return update_thirds(w, NULL, 1, m);
    case 10:
        return change_block(w, 35, m);
    case 11:
        return load(w, 1, 30, 30, m);
    case 13:
        return delete_thirds(w, 0, m);
    case 16:
        return merge_parts(w, 1);
    case 17:
        return shorten_life(w, 0, 1, m);
    case 18:
        return load(w, 0, 300, 20, m);
    case 19:
        return load(w, 0, 5, 50, m); /* too late, most of them */
    default:
        return rows(w, i % 2, -1, i * 10, 25, m);
    }
}

static alm_status back_up(world *w)
{
    const alm_backup_spec spec = {.dir = "bk"};
    alm_backup_result result;
    return alm_storage_backup(&w->cx, w->st, &spec, &result);
}

/* Backups, and a checkpoint that is held while the table changes. */
static alm_status hold_step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
        return make(w, 0, m);
    case 2:
    case 8:
        return back_up(w);
    case 3:
        return alm_storage_hold(&w->cx, w->st);
    case 5:
        return delete_thirds(w, 0, m);
    case 6:
        return alm_storage_checkpoint(&w->cx, w->st); /* the heads only */
    case 9:
        return truncate_table(w, 0, m);
    case 11:
        return alm_storage_hold_release(&w->cx, w->st);
    case 13:
        return alm_storage_checkpoint(&w->cx, w->st);
    default:
        return rows(w, 0, -1, i * 40, 20, m);
    }
}

/* Puts records and takes them away: alone, or with a change of table 0. */
static alm_status put_records(world *w, const char *first, const char *third, const char *with,
                              model *m)
{
    alm_record rows[2] = {{.key = ALM_STR("0"), .value = alm_str_of(first)}, {.key = ALM_STR("2")}};
    if (third != NULL)
        rows[1].value = alm_str_of(third);
    const alm_records_change change = {
        .seen_lsn = (uint64_t)ALM_RECORDS_BLIND, .rows = rows, .n = 2};
    know_comment(m->records[0], first);
    know_comment(m->records[2], third);
    if (with == NULL)
        return alm_records_put(&w->cx, w->st, &change);
    if (strcmp(with, "rename") == 0)
        m->tables[1] = m->tables[0];
    memset(&m->tables[0], 0, sizeof m->tables[0]);
    if (strcmp(with, "drop") == 0)
        return alm_table_drop(&w->cx, w->st, alm_str_of(NAMES[0]), &change);
    return alm_table_rename(&w->cx, w->st, alm_str_of(NAMES[0]), alm_str_of(NAMES[1]), &change);
}

static alm_status records_step(world *w, int i, model *m)
{
    switch (i) {
    case 0:
    case 5:
        return make(w, 0, m);
    case 1:
        return put_records(w, "one", "two", NULL, m);
    case 3:
        return put_records(w, "three", NULL, "rename", m);
    case 4:
    case 9:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 6:
        return put_records(w, "", "four", NULL, m);
    case 7:
        return put_records(w, "five", "six", NULL, m);
    case 8:
        return drop(w, 1, m);
    case 10:
        return put_records(w, "seven", NULL, "drop", m);
    default:
        return rows(w, 0, -1, i * 40, 20, m);
    }
}

/* The partitions of a table, but every third, become Parquet files or native ones: no row changes. */
static alm_status convert(world *w, int table, bool parquet)
{
    edit e;
    alm_partition_info *parts = NULL;
    size_t n = 0;
    int64_t starts[VALUES];
    uint32_t n_starts = 0;
    ALM_TRY(edit_begin(w, table, &e));
    alm_status st = alm_table_partitions(&w->cx, &w->arena, e.snap, e.table, &parts, &n);
    for (size_t i = 0; i < n && st == ALM_OK; i++)
        if (i % 3 != 2)
            starts[n_starts++] = parts[i].bucket;
    if (st == ALM_OK)
        st = alm_table_convert_partitions(&w->cx, w->st, e.table, parquet, starts, n_starts);
    alm_snapshot_release(e.snap);
    alm_arena_reset(&w->arena);
    return st;
}

/* Partitions in Parquet, and all that happens to them. */
static alm_status convert_step(world *w, int i, model *m)
{
    w->gen = i;
    switch (i) {
    case 0:
        return make_of(w, 0, COL_GEN + 1, true, m);
    case 1:
        return make_of(w, 1, COL_GEN + 1, false, m);
    case 2:
        return rows(w, 0, 1, 0, 70, m);
    case 3:
        return convert(w, 0, true);
    case 4:
    case 13:
        return convert(w, 1, true);
    case 5:
        return rows(w, 0, 1, 20, 30, m); /* late, and other values of keys */
    case 6:
        return update_thirds(w, NULL, 0, m);
    case 7:
        return alm_storage_checkpoint(&w->cx, w->st);
    case 8:
        return delete_thirds(w, 1, m);
    case 9:
        return merge_parts(w, 0);
    case 10:
        return load(w, 1, 40, 30, m);
    case 11:
        return change_block(w, 35, m);
    case 12:
        return back_up(w);
    case 14:
        return convert(w, 0, false);
    case 15:
        return shorten_life(w, 0, 1, m);
    case 16:
        return convert(w, 1, false);
    default:
        return rows(w, i % 2, -1, i * 10, 25, m);
    }
}

static alm_status (*const all_steps[])(world *w, int i, model *m) = {
    step, alter_step, keep_step, block_step, hold_step, keyed_step, records_step, convert_step};
enum { LISTS = 8, HOLD_STEPS = 15, KEYED_STEPS = 24, RECORDS_STEPS = 11, CONVERT_STEPS = 19 };

#endif
