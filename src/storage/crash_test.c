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

#include "base/log.h"
#include "io/sim.h"
#include "storage/storage.h"

enum { TABLES = 3, VALUES = 1024, MANY = 150 };
#ifdef ALM_SANITIZED
enum { STRIDE = 4 }; /* ten times slower: every fourth call */
#else
enum { STRIDE = 1 };
#endif

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
        uint8_t count[VALUES]; /* of rows with this value */
        uint8_t apart[VALUES]; /* of those that are detached: not looked at */
    } tables[TABLES];
    bool damaged; /* a row was not what its value says, or times did not ascend */
} model;

static const char *const NAMES[TABLES] = {"alpha", "beta", "gamma"};

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    alm_storage *st;
    alm_storage_conf conf;
    model known;
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

static alm_status make(world *w, int table, model *m)
{
    const alm_column cols[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
                               {.name = "sym", .type = {.id = ALM_T_SYMBOL}},
                               {.name = "txt", .type = {.id = ALM_T_VARCHAR}},
                               {.name = "val", .type = {.id = ALM_T_LONG}}};
    const alm_table_spec spec = {.name = alm_str_of(NAMES[table]),
                                 .cols = cols,
                                 .n_cols = 4,
                                 .ts_col = 0,
                                 .partition = ALM_PART_HOUR};
    m->tables[table].there = true;
    m->tables[table].n_cols = 4;
    for (uint32_t c = 0; c < 4; c++)
        know_column(m, table, c, cols[c].name, (alm_type_id)cols[c].type.id);
    return alm_table_create(&w->cx, w->st, &spec, NULL);
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
    for (uint32_t c = 4; c < t->n_cols; c++)
        ALM_TRY(alm_vec_null(&w->cx, &w->arena, t->cols[c].type, &cols[c]));
    const alm_batch batch = {.rows = (uint32_t)n, .n_cols = t->n_cols, .cols = cols};
    return alm_txn_append(&w->cx, txn, t, &batch);
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
        for (int64_t v = from; v < from + n; v++)
            m->tables[which].count[v]++;
        if (st != ALM_OK)
            alm_txn_rollback(txn);
    }
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
            m->tables[table].count[from + i]++;
        }
        cols[0] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
        cols[1] = (alm_vec){.type = t->cols[1].type, .width = 16, .data = sym};
        cols[2] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = txt};
        cols[3] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = val};
        for (uint32_t c = 4; c < t->n_cols && st == ALM_OK; c++)
            st = alm_vec_null(&w->cx, &w->arena, t->cols[c].type, &cols[c]);
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
    return alm_table_drop(&w->cx, w->st, alm_str_of(NAMES[table]));
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
    return alm_table_rename(&w->cx, w->st, alm_str_of(NAMES[from]), alm_str_of(NAMES[to]));
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

/* Hands the rows of a scan to an update: those that `takes`, with the texts of column 1. */
static alm_status feed(world *w, alm_update *up, int table, bool (*takes)(int64_t val), bool texts)
{
    static const uint32_t cols[2] = {1, 3};
    const bool wanted[2] = {true, true};
    alm_scan *scan;
    alm_scan_cursor *cur;
    alm_snapshot *snap = alm_update_snapshot(up);
    const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[table]));
    ALM_TRY(alm_scan_new(&w->cx, &w->arena, snap, t, cols, 2, NULL, 0, true, &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const uint32_t n = (uint32_t)alm_scan_span_at(scan, s).rows;
        alm_vec v[2];
        int64_t *at;
        alm_view *views;
        uint32_t k = 0;
        ALM_TRY(alm_scan_read(&w->cx, cur, s, 0, n, wanted, v));
        ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &at));
        ALM_TRY(ALM_NEWN(&w->cx, &w->arena, n, &views));
        for (uint32_t i = 0; i < n; i++) {
            if (takes != NULL && !takes(((const int64_t *)v[1].data)[i]))
                continue;
            views[k] = alm_view_of(alm_vec_text(&v[0], i));
            at[k++] = i;
        }
        const alm_vec values = {.type = ALM_TY(VARCHAR), .width = 16, .data = views};
        ALM_TRY(alm_update_rows(&w->cx, up, s, at, k, texts ? &values : NULL));
    }
    return ALM_OK;
}

static alm_status feed_and_commit(world *w, alm_update *up, int table, bool (*takes)(int64_t val),
                                  bool texts)
{
    int64_t n = 0;
    alm_status st = feed(w, up, table, takes, texts);
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
        st = feed_and_commit(w, up, table, NULL, true);
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
    ALM_TRY(alm_delete_begin(&w->cx, w->st, alm_str_of(NAMES[table]), &up));
    const alm_status st = feed_and_commit(w, up, table, is_third, false);
    alm_arena_reset(&w->arena);
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

enum { STEPS = 31, ALTER_STEPS = 21 };

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
    static const uint32_t cols[4] = {0, 1, 2, 3};
    const bool wanted[4] = {true, true, true, true};
    alm_scan *scan;
    alm_scan_cursor *cur;
    int64_t last = INT64_MIN;
    ALM_TRY(alm_scan_new(&w->cx, &w->arena, snap, t, cols, 4, NULL, 0, true, &scan));
    ALM_TRY(alm_scan_cursor_new(&w->cx, &w->arena, scan, &cur));
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const int64_t n = alm_scan_span_at(scan, s).rows;
        alm_vec v[4];
        assert_true(n <= ALM_BATCH_ROWS);
        ALM_TRY(alm_scan_read(&w->cx, cur, s, 0, (uint32_t)n, wanted, v));
        for (size_t i = 0; i < (size_t)n; i++) {
            const int64_t val = ((const int64_t *)v[3].data)[i];
            const int64_t ts = ((const int64_t *)v[0].data)[i];
            if (val < 0 || val >= VALUES || ts < last || !row_is_right(v, i, val))
                m->damaged = true;
            else
                m->tables[table].count[val]++;
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
    for (int i = 0; i < TABLES && st == ALM_OK; i++) {
        const alm_table *t = alm_snapshot_find(snap, alm_str_of(NAMES[i]));
        if (t == NULL)
            continue;
        m->tables[i].there = true;
        m->tables[i].n_cols = t->n_cols;
        m->tables[i].ttl_hours = t->ttl_hours;
        for (uint32_t c = 0; c < t->n_cols; c++)
            know_column(m, i, c, t->cols[c].name, (alm_type_id)t->cols[c].type.id);
        st = read_table(w, snap, t, i, m);
    }
    alm_snapshot_release(snap);
    alm_arena_reset(&w->arena);
    return st;
}

static bool same(const model *a, const model *b)
{
    model x = *a, y = *b;
    for (int i = 0; i < TABLES; i++) {
        memset(x.tables[i].apart, 0, sizeof x.tables[i].apart);
        memset(y.tables[i].apart, 0, sizeof y.tables[i].apart);
    }
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
    w->conf.manual = true;
}

static void use_alter(world *w)
{
    w->steps = ALTER_STEPS;
    w->step = alter_step;
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

/* One run with a power cut at the k-th changing call. *finished: there were fewer calls. */
static bool survives_cut(bool alter, uint64_t seed, int64_t k, bool ignore_sync, int again,
                         bool *finished)
{
    world w;
    model after, found;
    bool ok = false;
    world_init(&w, seed);
    if (alter)
        use_alter(&w);
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
    for (uint64_t seed = 1; seed <= 3; seed++) { /* the third time ALTER TABLE and its like */
        bool finished = false;
        for (int64_t k = 1 + (int64_t)(seed % STRIDE); !finished; k += STRIDE)
            assert_true(survives_cut(seed == 3, seed * 1000 + (uint64_t)k, k, false, 0, &finished));
    }
}

static void power_cuts_within_recovery(void **state)
{
    (void)state;
    for (int alter = 0; alter < 2; alter++) {
        bool finished = false;
        for (int64_t k = 1; !finished; k += 3 * STRIDE)
            assert_true(survives_cut(alter == 1, (uint64_t)k, k, false, 12, &finished));
    }
}

static void without_syncs_the_test_fails(void **state)
{
    (void)state;
    int failed = 0;
    bool finished = false;
    for (int64_t k = 1; !finished; k += 5)
        failed += !survives_cut(false, (uint64_t)k, k, true, 0, &finished);
    assert_true(failed > 5);
}

/* ------------------------------------------------------------------ failing calls */

static bool survives_error(bool alter, alm_sim_op op, int64_t n, int err, bool *finished)
{
    world w;
    model after, possible, found;
    bool maybe = false, ok = true;
    world_init(&w, (uint64_t)n);
    if (alter)
        use_alter(&w);
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
            ok = ok && read_model(&w, &found) == ALM_OK && same(&found, &w.known);
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
    } kinds[] = {{ALM_SIM_ANY, EIO}, {ALM_SIM_CHANGE, ENOSPC},   {ALM_SIM_SYNC, EIO},
                 {ALM_SIM_WRITE, 0}, {ALM_SIM_ALLOCATE, ENOSPC}, {ALM_SIM_OPEN, EMFILE}};
    for (size_t i = 0; i < 2 * ALM_COUNT(kinds); i++) {
        const size_t k = i / 2;
        bool finished = false;
        for (int64_t n = 1; !finished; n += STRIDE)
            assert_true(survives_error(i % 2 == 1, kinds[k].op, n, kinds[k].err, &finished));
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

static void damage_of_the_catalogue_is_noticed(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 400; offset += 7) {
        world w;
        world_init(&w, 5);
        assert_int_equal(world_open(&w), ALM_OK);
        assert_int_equal(make(&w, 0, &w.known), ALM_OK);
        assert_int_equal(rows(&w, 0, -1, 0, 5, &w.known), ALM_OK);
        alm_storage_close(w.st);
        w.st = NULL;
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
        cmocka_unit_test(power_cuts_within_recovery),
        cmocka_unit_test(without_syncs_the_test_fails),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(a_full_disk_is_an_ordinary_error),
        cmocka_unit_test(a_failed_sync_refuses_writes_until_restart),
        cmocka_unit_test(damage_of_the_log_is_noticed),
        cmocka_unit_test(damage_of_the_catalogue_is_noticed),
        cmocka_unit_test(syncs_are_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
