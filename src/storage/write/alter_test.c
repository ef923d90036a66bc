/*
 * Goal: ALTER TABLE keeps what columns hold, refuses rows and changes that were made for a table that
 * is another by now, and enabling or disabling DEDUP hides and shows no row that was there.
 * Method: a small table on the simulated disk, changed and read again, also after a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "io/sim.h"
#include "storage/write/compact.h"

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena;
    alm_sim *sim;
    alm_storage *st;
    alm_snapshot *snap;
    const alm_table *t;
} fixture;

static void open_it(fixture *f)
{
    alm_storage_conf conf;
    alm_storage_conf_default(&conf);
    conf.manual = true;
    conf.wal_segment_bytes = 1 << 16;
    assert_int_equal(alm_storage_open(&f->cx, alm_sim_io(f->sim), "r", &conf, &f->st), ALM_OK);
}

/* The newest snapshot. */
static const alm_table *look(fixture *f)
{
    if (f->snap != NULL)
        alm_snapshot_release(f->snap);
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &f->snap), ALM_OK);
    return f->t = alm_snapshot_find(f->snap, ALM_STR("t"));
}

static int setup(void **state)
{
    static fixture fixed;
    fixture *f = &fixed;
    memset(f, 0, sizeof *f);
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
    f->sim = alm_sim_new(7);
    open_it(f);
    const alm_column cols[] = {{.name = "ts", .type = {.id = ALM_T_TIMESTAMP}},
                               {.name = "key", .type = {.id = ALM_T_INT}},
                               {.name = "val", .type = {.id = ALM_T_INT}}};
    const alm_table_spec spec = {.name = ALM_STR("t"),
                                 .cols = cols,
                                 .n_cols = 3,
                                 .ts_col = 0,
                                 .wal = true,
                                 .partition = ALM_PART_DAY};
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    (void)look(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    alm_snapshot_release(f->snap);
    alm_storage_close(f->st);
    alm_sim_free(f->sim);
    alm_arena_deinit(&f->arena);
    return 0;
}

static void restart(fixture *f)
{
    alm_snapshot_release(f->snap);
    f->snap = NULL;
    alm_storage_close(f->st);
    open_it(f);
    (void)look(f);
}

/* A row in the columns of a table; columns behind the third are null. */
static alm_status append(fixture *f, alm_txn *txn, const alm_table *t, int64_t ts, int32_t key,
                         int32_t val)
{
    alm_vec cols[8];
    for (uint32_t c = 0; c < t->n_cols; c++) {
        const alm_type type = t->cols[c].type;
        if (strcmp(t->cols[c].name, "ts") == 0)
            cols[c] = (alm_vec){.type = type, .width = 8, .data = &ts};
        else if (strcmp(t->cols[c].name, "key") == 0)
            cols[c] = (alm_vec){.type = type, .width = 4, .data = &key};
        else if (strcmp(t->cols[c].name, "val") == 0)
            cols[c] = (alm_vec){.type = type, .width = 4, .data = &val};
        else
            ALM_TRY(alm_vec_null(&f->cx, &f->arena, type, &cols[c]));
    }
    const alm_batch batch = {.rows = 1, .n_cols = t->n_cols, .cols = cols};
    return alm_txn_append(&f->cx, txn, t, &batch);
}

static void put(fixture *f, int64_t ts, int32_t key, int32_t val)
{
    alm_txn *txn = NULL;
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(append(f, txn, look(f), ts, key, val), ALM_OK);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
}

/* "1 2 3": values of a column in scan order. */
static void column_is(fixture *f, const char *name, const char *want)
{
    char got[256] = "";
    size_t len = 0;
    const alm_table *t = look(f);
    const int32_t col = alm_table_col(t, alm_str_of(name));
    assert_true(col >= 0);
    const uint32_t c = (uint32_t)col;
    const bool wanted = true;
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    assert_int_equal(alm_scan_new(&f->cx, &f->arena, f->snap, t,
                                  &(alm_scan_spec){.cols = &c, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&f->cx, &f->arena, scan, &cur), ALM_OK);
    for (size_t s = 0; s < alm_scan_span_count(scan); s++) {
        const uint32_t n = (uint32_t)alm_scan_span_at(scan, s).rows;
        alm_vec v;
        assert_int_equal(alm_scan_read(&f->cx, cur, s, 0, n, &wanted, &v), ALM_OK);
        for (uint32_t i = 0; i < n; i++) {
            const int32_t x = ((const int32_t *)v.data)[v.is_const ? 0 : i];
            len += (size_t)snprintf(got + len, sizeof got - len, len > 0 ? " %d" : "%d",
                                    x == ALM_INT_NULL ? -1 : x);
        }
    }
    assert_string_equal(got, want);
}

/* The table as it is, to be changed. */
static alm_table_spec spec_of(const alm_table *t, alm_column *cols)
{
    memcpy(cols, t->cols, t->n_cols * sizeof *cols);
    return (alm_table_spec){.cols = cols,
                            .n_cols = t->n_cols,
                            .ts_col = t->ts_col,
                            .wal = t->wal,
                            .dedup = t->dedup,
                            .partition = t->partition};
}

static alm_status set_keys(fixture *f, bool on, bool with_key)
{
    alm_column cols[8];
    const alm_table *t = look(f);
    alm_table_spec spec = spec_of(t, cols);
    spec.dedup = on;
    cols[0].dedup_key = on;
    cols[1].dedup_key = on && with_key;
    return alm_table_alter(&f->cx, f->st, t, &spec);
}

static alm_status drop_column(fixture *f, const alm_table *t, uint32_t c)
{
    alm_column cols[8];
    alm_table_spec spec = spec_of(t, cols);
    memmove(&cols[c], &cols[c + 1], (spec.n_cols - c - 1) * sizeof *cols);
    spec.n_cols--;
    return alm_table_alter(&f->cx, f->st, t, &spec);
}

static void columns_keep_their_values(void **state)
{
    fixture *f = *state;
    put(f, 10, 1, 100);
    const alm_column more = {.name = "more", .type = {.id = ALM_T_INT}};
    assert_int_equal(alm_table_add_column(&f->cx, f->st, ALM_STR("t"), &more), ALM_OK);
    put(f, 20, 2, 200);
    assert_int_equal(drop_column(f, look(f), 1), ALM_OK);
    put(f, 15, 0, 150);
    column_is(f, "val", "100 150 200");
    column_is(f, "more", "-1 -1 -1");
    assert_int_equal(alm_table_col(f->t, ALM_STR("key")), -1);
    const alm_column key = {.name = "key", .type = {.id = ALM_T_INT}};
    assert_int_equal(alm_table_add_column(&f->cx, f->st, ALM_STR("t"), &key), ALM_OK);
    column_is(f, "key", "-1 -1 -1"); /* another column of the same name */
    restart(f);
    column_is(f, "val", "100 150 200");
    column_is(f, "key", "-1 -1 -1");
}

static void readers_keep_their_snapshot(void **state)
{
    fixture *f = *state;
    alm_snapshot *old = NULL;
    put(f, 10, 1, 100);
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &old), ALM_OK);
    assert_int_equal(drop_column(f, look(f), 2), ALM_OK);
    const alm_table *t = alm_snapshot_find(old, ALM_STR("t"));
    assert_int_equal(t->n_cols, 3);
    assert_int_equal(look(f)->n_cols, 2);
    assert_true(f->t->schema_version > t->schema_version);
    alm_snapshot_release(old);
}

static void what_was_made_for_another_table_is_refused(void **state)
{
    fixture *f = *state;
    alm_txn *txn = NULL;
    alm_snapshot *old = NULL;
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &old), ALM_OK);
    const alm_table *was = alm_snapshot_find(old, ALM_STR("t"));
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(append(f, txn, was, 10, 1, 100), ALM_OK);
    assert_int_equal(drop_column(f, look(f), 1), ALM_OK);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_E_STALE);
    alm_error_clear(&f->cx);
    assert_int_equal(drop_column(f, was, 2), ALM_E_STALE);
    alm_error_clear(&f->cx);
    /* Rows for a table that only grew are taken. */
    was = look(f);
    alm_snapshot_release(old);
    assert_int_equal(alm_snapshot_acquire(&f->cx, f->st, &old), ALM_OK);
    was = alm_snapshot_find(old, ALM_STR("t"));
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(append(f, txn, was, 20, 0, 200), ALM_OK);
    const alm_column more = {.name = "more", .type = {.id = ALM_T_INT}};
    assert_int_equal(alm_table_add_column(&f->cx, f->st, ALM_STR("t"), &more), ALM_OK);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    column_is(f, "val", "200");
    column_is(f, "more", "-1");
    alm_snapshot_release(old);
}

static void dedup_touches_newer_rows_only(void **state)
{
    fixture *f = *state;
    put(f, 10, 1, 1);
    put(f, 10, 1, 2);
    put(f, 10, 2, 3);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    put(f, 5, 9, 0);
    put(f, 10, 1, 4);
    assert_int_equal(set_keys(f, true, true), ALM_OK);
    column_is(f, "val", "0 1 2 3 4");
    put(f, 10, 2, 5);
    column_is(f, "val", "0 1 2 4 5");
    restart(f);
    column_is(f, "val", "0 1 2 4 5");
    put(f, 10, 1, 6);
    column_is(f, "val", "0 5 6");
    assert_int_equal(set_keys(f, true, false), ALM_OK); /* time alone */
    column_is(f, "val", "0 5 6");
    assert_int_equal(set_keys(f, false, false), ALM_OK);
    column_is(f, "val", "0 5 6"); /* what was replaced does not come back */
    put(f, 10, 1, 7);
    column_is(f, "val", "0 5 6 7");
    restart(f);
    column_is(f, "val", "0 5 6 7");
}

static void all_tables_go_at_once(void **state)
{
    fixture *f = *state;
    const alm_column cols[] = {{.name = "a", .type = {.id = ALM_T_INT}}};
    const alm_table_spec spec = {.name = ALM_STR("other"), .cols = cols, .n_cols = 1, .ts_col = -1};
    put(f, 10, 1, 1);
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    assert_int_equal(alm_tables_drop_all(&f->cx, f->st), ALM_OK);
    assert_null(look(f));
    assert_int_equal(alm_snapshot_count(f->snap), 0);
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    restart(f);
    assert_int_equal(alm_snapshot_count(f->snap), 1);
    assert_int_equal(alm_tables_drop_all(&f->cx, f->st), ALM_OK);
    assert_int_equal(alm_tables_drop_all(&f->cx, f->st), ALM_OK); /* of none */
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    alm_sim_cut_after(f->sim, 1); /* no checkpoint: the log is read */
    alm_snapshot_release(f->snap);
    f->snap = NULL;
    alm_storage_close(f->st);
    alm_sim_restart(f->sim);
    open_it(f);
    (void)look(f);
    assert_int_equal(alm_snapshot_count(f->snap), 1);
}

/* What changes rows puts those in memory into parts first. */
static void to_parts(fixture *f)
{
    alm_update *up = NULL;
    assert_int_equal(alm_delete_begin(&f->cx, f->st, NULL, ALM_STR("t"), &up), ALM_OK);
    alm_update_rollback(up);
}

static alm_status merge(fixture *f, bool *did)
{
    alm_tab *tab = alm_version_of(look(f))->tab;
    assert_int_equal(alm_tab_lock(&f->cx, f->st, tab, ALM_TAB_MAINT), ALM_OK);
    const alm_status st = alm_compact_table(&f->cx, f->st, f->t->id, did);
    alm_tab_unlock(f->st, tab, ALM_TAB_MAINT);
    return st;
}

/* Every column that the parts hold was dropped: their rows are null, and still there. */
static void rows_without_any_column_are_merged(void **state)
{
    enum { PARTS = 5 };
    fixture *f = *state;
    bool did = false;
    const alm_column key = {.name = "key", .type = {.id = ALM_T_INT}};
    const alm_column val = {.name = "val", .type = {.id = ALM_T_INT}};
    const alm_table_spec spec = {.name = ALM_STR("t"), .cols = &key, .n_cols = 1, .ts_col = -1};
    assert_int_equal(alm_tables_drop_all(&f->cx, f->st), ALM_OK);
    assert_int_equal(alm_table_create(&f->cx, f->st, &spec, NULL), ALM_OK);
    for (int32_t i = 0; i < PARTS; i++) {
        put(f, 0, i, 0);
        to_parts(f);
    }
    assert_int_equal(alm_table_add_column(&f->cx, f->st, ALM_STR("t"), &val), ALM_OK);
    assert_int_equal(drop_column(f, look(f), 0), ALM_OK);
    assert_int_equal(alm_version_of(look(f))->parts->n, PARTS);
    assert_int_equal(merge(f, &did), ALM_OK);
    assert_true(did);
    assert_int_equal(alm_version_of(look(f))->parts->n, 1);
    column_is(f, "val", "-1 -1 -1 -1 -1");
    put(f, 0, 0, 7);
    restart(f);
    column_is(f, "val", "-1 -1 -1 -1 -1 7");
}

int main(void)
{
    alm_log_set_level(ALM_LOG_OFF);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_keep_their_values, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_keep_their_snapshot, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_made_for_another_table_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(dedup_touches_newer_rows_only, setup, teardown),
        cmocka_unit_test_setup_teardown(all_tables_go_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_without_any_column_are_merged, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
