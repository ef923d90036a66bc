/*
 * Goal    A transaction sees what it wrote and nobody else does until the commit, which brings all of
 *         it or nothing; marks bring back what was; of two that change the same rows the first to
 *         commit wins.
 * Method  Random inserts, updates and deletes in one transaction beside inserts of others, each step
 *         compared with an oracle; the same after a restart; conflicts made on purpose.
 */
#include <pthread.h>

#include "storage/spill/spill.h"
#include "storage/table_fixture.h"

/* The rows of the oracle that are published; the rest of f->rows is the transaction's. */
typedef struct oracle {
    fix_row *rows;
    int64_t n;
} oracle;

static oracle keep(const fixture *f)
{
    oracle o = {.rows = malloc((size_t)(f->n + 1) * sizeof(fix_row)), .n = f->n};
    memcpy(o.rows, f->rows, (size_t)f->n * sizeof(fix_row));
    return o;
}

static void restore(fixture *f, oracle *o)
{
    free(f->rows);
    f->rows = o->rows;
    f->n = f->cap = o->n;
    o->rows = NULL;
}

static alm_txn *begin(fixture *f)
{
    alm_txn *txn = NULL;
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    return txn;
}

static void insert(fixture *f, alm_txn *txn, uint32_t n, int64_t lo, int64_t width)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_batch batch = fix_batch(f, n, lo, width);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    alm_snapshot_release(snap);
    alm_arena_reset(&f->arena);
}

static void check_own(fixture *f, alm_txn *txn)
{
    alm_snapshot *snap = NULL;
    fix_sort(f);
    assert_int_equal(alm_txn_snapshot(&f->cx, txn, &snap), ALM_OK);
    fix_check_rows(f, snap, f->rows, f->n);
    alm_snapshot_release(snap);
}

/* Gives every `every`-th row to the update; its new x, or NULL: the row goes. The oracle is in order. */
static void choose(fixture *f, alm_update *up, int64_t every, bool remove)
{
    alm_scan *scan = NULL;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_snapshot *snap = alm_update_snapshot(up);
    const uint32_t col = COL_X;
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = &col, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_rows(scan), f->n);
    int64_t at = 0, kept = 0;
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const int64_t n = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; row < n; row++, at++) {
            fix_row r = f->rows[at];
            const bool chosen = at % every == 0;
            const double x = 7000 + (double)at;
            const alm_vec value = {
                .type = ALM_TY(DOUBLE), .width = 8, .data = (void *)(uintptr_t)&x};
            if (chosen)
                assert_int_equal(alm_update_rows(&f->cx, up, i, &row, 1, remove ? NULL : &value),
                                 ALM_OK);
            if (chosen && !remove)
                r.x = x;
            if (!chosen || !remove)
                f->rows[kept++] = r;
        }
    }
    f->n = kept;
    alm_arena_deinit(&arena);
}

static void change(fixture *f, alm_txn *txn, int64_t every, bool remove)
{
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    int64_t rows = 0;
    const alm_status st = remove ? alm_delete_begin(&f->cx, f->st, txn, ALM_STR("t"), &up)
                                 : alm_update_begin(&f->cx, f->st, txn, ALM_STR("t"), &col, 1, &up);
    assert_string_equal(f->cx.err.msg, "");
    assert_int_equal(st, ALM_OK);
    fix_sort(f);
    choose(f, up, every, remove);
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    assert_true(rows > 0);
}

/* Nobody else sees anything of it. */
static void check_others(fixture *f, const oracle *published)
{
    fixture view = *f;
    view.rows = published->rows;
    view.n = published->n;
    fix_check(&view);
}

static void sees_its_own(void **state)
{
    (void)state;
    fixture *f = fix_new(31, false, true);
    fix_load(f, 2500, 0, 2 * DAY);
    fix_insert(f, 300, DAY, 2 * DAY);
    fix_sort(f);
    oracle published = keep(f);
    alm_txn *txn = begin(f);
    check_own(f, txn);
    for (int i = 0; i < 12; i++) {
        insert(f, txn, 1 + (uint32_t)fix_random(f, 60), -DAY, 5 * DAY);
        check_own(f, txn);
        if (i % 3 == 1)
            change(f, txn, 3 + i, i % 2 == 0);
        check_own(f, txn);
        check_others(f, &published);
    }
    uint64_t lsn = 0;
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    free(published.rows);
    fix_free(f);
}

/* Merges change no row: they make no transaction fail that changes rows, at none of its moments. */
static void merges_let_a_transaction_pass(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(35);
    const uint32_t col = COL_X;
    alm_update *up = NULL;
    int64_t rows = 0;
    for (int i = 0; i < 3; i++)
        fix_load(f, 300, 0, DAY);
    alm_txn *txn = begin(f);
    assert_int_equal(alm_update_begin(&f->cx, f->st, txn, ALM_STR("t"), &col, 1, &up), ALM_OK);
    assert_false(fix_compact(f));
    fix_sort(f);
    choose(f, up, 3, false);
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    assert_false(fix_compact(f));
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    assert_true(fix_compact(f));
    fix_check(f);
    fix_free(f);
}

static void a_rollback_leaves_nothing(void **state)
{
    (void)state;
    fixture *f = fix_new(32, false, true);
    fix_load(f, 1500, 0, DAY);
    fix_sort(f);
    const int64_t files = fix_files(f, "/r/db/tables/1");
    oracle published = keep(f);
    alm_txn *txn = begin(f);
    insert(f, txn, 200, 0, DAY);
    change(f, txn, 2, false);
    change(f, txn, 5, true);
    alm_txn_rollback(txn);
    restore(f, &published);
    fix_check(f);
    assert_int_equal(fix_files(f, "/r/db/tables/1"), files);
    fix_free(f);
}

static void marks_bring_back(void **state)
{
    (void)state;
    fixture *f = fix_new(33, false, true);
    alm_txn_mark *mark = NULL;
    fix_load(f, 1200, 0, DAY);
    alm_txn *txn = begin(f);
    insert(f, txn, 50, 0, DAY);
    change(f, txn, 4, false);
    insert(f, txn, 20, 0, DAY);
    assert_int_equal(alm_txn_mark_new(&f->cx, txn, &mark), ALM_OK);
    fix_sort(f);
    for (int i = 0; i < 3; i++) { /* as often as one likes */
        oracle then = keep(f);
        insert(f, txn, 30, 0, 2 * DAY);
        change(f, txn, 3, i == 1);
        insert(f, txn, 30, 0, 2 * DAY);
        check_own(f, txn);
        assert_int_equal(alm_txn_back_to(&f->cx, txn, mark), ALM_OK);
        restore(f, &then);
        check_own(f, txn);
    }
    alm_txn_mark_free(mark);
    insert(f, txn, 5, 0, DAY);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

/* Rows that others insert meanwhile stay as they are, and are no conflict. */
static void others_insert_meanwhile(void **state)
{
    (void)state;
    fixture *f = fix_new(34, false, true);
    fix_load(f, 1000, 0, DAY);
    alm_txn *txn = begin(f);
    change(f, txn, 2, false);
    fix_insert(f, 100, 0, 2 * DAY);
    check_own(f, txn);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK); /* to parts */
    check_own(f, txn);
    fix_load(f, 50, 0, DAY);
    check_own(f, txn);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

static void the_first_commit_wins(void **state)
{
    (void)state;
    fixture *f = fix_new(35, false, true);
    fix_load(f, 1000, 0, DAY);
    fix_sort(f);
    oracle before = keep(f);
    alm_snapshot *snap = NULL;
    alm_txn *loser = begin(f), *winner = begin(f);
    change(f, loser, 2, false);
    insert(f, loser, 10, 0, DAY);
    restore(f, &before);
    change(f, winner, 3, false);
    assert_int_equal(alm_txn_commit(&f->cx, winner, NULL), ALM_OK);
    fix_check(f);
    assert_int_equal(alm_txn_snapshot(&f->cx, loser, &snap), ALM_E_CONFLICT);
    alm_error_clear(&f->cx);
    assert_int_equal(alm_txn_commit(&f->cx, loser, NULL), ALM_E_CONFLICT);
    alm_error_clear(&f->cx);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

static void dedup_keeps_the_last(void **state)
{
    (void)state;
    fixture *f = fix_new(36, true, true);
    alm_update *up = NULL;
    fix_load(f, 600, 0, 300);
    fix_insert(f, 100, 0, 300);
    alm_txn *txn = begin(f);
    insert(f, txn, 80, 0, 300);
    check_own(f, txn);
    change(f, txn, 3, false); /* x is no key: own rows become parts */
    check_own(f, txn);
    insert(f, txn, 80, 0, 300);
    check_own(f, txn);
    assert_int_equal(alm_delete_begin(&f->cx, f->st, txn, ALM_STR("t"), &up), ALM_E_UNSUPPORTED);
    alm_error_clear(&f->cx);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    fix_check(f);
    txn = begin(f);
    change(f, txn, 4, true);
    check_own(f, txn);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

/* A bulk load that becomes part of the transaction. */
static void load(fixture *f, alm_txn *txn, uint32_t n, int64_t lo, int64_t width)
{
    alm_bulk *bulk = NULL;
    int64_t rows = 0;
    alm_snapshot *snap = fix_snapshot(f);
    assert_int_equal(alm_bulk_begin(&f->cx, f->st, fix_table(snap), &bulk), ALM_OK);
    const alm_batch batch = fix_batch(f, n, lo, width);
    assert_int_equal(alm_bulk_append(&f->cx, bulk, &batch), ALM_OK);
    assert_int_equal(alm_bulk_into_txn(&f->cx, bulk, txn, &rows), ALM_OK);
    assert_int_equal(rows, n);
    alm_snapshot_release(snap);
    alm_arena_reset(&f->arena);
}

static void loads_take_part(void **state)
{
    (void)state;
    for (int dedup = 0; dedup < 2; dedup++) {
        fixture *f = fix_new(37, dedup == 1, true);
        fix_load(f, 500, 0, 2 * DAY);
        fix_insert(f, 50, 0, 2 * DAY);
        fix_sort(f);
        oracle before = keep(f);
        alm_txn *txn = begin(f);
        load(f, txn, 300, DAY / 2, 2 * DAY);
        alm_txn_rollback(txn);
        restore(f, &before);
        fix_check(f);
        txn = begin(f);
        insert(f, txn, 80, 0, 2 * DAY);
        load(f, txn, 300, DAY / 2, 2 * DAY);
        check_own(f, txn);
        insert(f, txn, 80, 0, 2 * DAY);
        load(f, txn, 100, 0, DAY);
        check_own(f, txn);
        assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
        fix_check(f);
        fix_insert(f, 50, 0, 2 * DAY);
        fix_check(f);
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

/* ------------------------------------------------------------------------ savepoints */

/* A stack of marks, with what the transaction had at each. */
typedef struct saved {
    alm_txn_mark *mark;
    oracle then;
} saved;

enum { SAVED_MAX = 24 };

typedef struct block {
    fixture *f;
    alm_txn *txn;
    saved stack[SAVED_MAX];
    int n;
} block;

static void set_mark(block *b)
{
    saved *s = &b->stack[b->n];
    if (b->n == SAVED_MAX)
        return;
    assert_int_equal(alm_txn_mark_new(&b->f->cx, b->txn, &s->mark), ALM_OK);
    s->then = keep(b->f);
    b->n++;
}

static void release_down_to(block *b, int n)
{
    while (b->n > n) {
        saved *s = &b->stack[--b->n];
        alm_txn_mark_free(s->mark);
        free(s->then.rows);
    }
}

static void back_to(block *b, int at)
{
    release_down_to(b, at + 1);
    assert_int_equal(alm_txn_back_to(&b->f->cx, b->txn, b->stack[at].mark), ALM_OK);
    free(b->f->rows);
    b->f->n = b->stack[at].then.n;
    b->f->rows = keep(&(fixture){.rows = b->stack[at].then.rows, .n = b->f->n}).rows;
    b->f->cap = b->f->n;
}

/* A new value of column `col` for the row; the oracle learns it. */
static alm_vec new_value(fixture *f, uint32_t col, fix_row *r, void *into)
{
    const uint32_t number = (uint32_t)fix_random(f, 4000);
    if (col == COL_X) {
        r->x = number;
        memcpy(into, &r->x, sizeof r->x);
        return (alm_vec){.type = ALM_TY(DOUBLE), .width = 8, .data = into};
    }
    if (col == COL_SYM)
        r->sym = number % 90;
    else
        r->text = (int64_t)number - 300;
    const alm_view view = col == COL_SYM ? fix_symbol(f, r->sym) : fix_text(f, r->text);
    memcpy(into, &view, sizeof view);
    return (alm_vec){
        .type = col == COL_SYM ? ALM_TY(SYMBOL) : ALM_TY(VARCHAR), .width = 16, .data = into};
}

/* UPDATE of one or two columns of every `every`-th row. */
static void set_values(fixture *f, alm_txn *txn, const uint32_t *cols, uint32_t n_cols,
                       int64_t every)
{
    alm_update *up = NULL;
    alm_scan *scan = NULL;
    int64_t at = 0, rows = 0;
    fix_sort(f);
    assert_int_equal(alm_update_begin(&f->cx, f->st, txn, ALM_STR("t"), cols, n_cols, &up), ALM_OK);
    alm_snapshot *snap = alm_update_snapshot(up);
    assert_int_equal(alm_scan_new(&f->cx, &f->arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = cols, .n_cols = 1, .all = true}, &scan),
                     ALM_OK);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const int64_t n = alm_scan_span_at(scan, i).rows;
        for (int64_t row = 0; row < n; row++, at++) {
            alm_vec values[2];
            alm_view into[2];
            for (uint32_t c = 0; c < n_cols && at % every == 0; c++)
                values[c] = new_value(f, cols[c], &f->rows[at], &into[c]);
            if (at % every == 0)
                assert_int_equal(alm_update_rows(&f->cx, up, i, &row, 1, values), ALM_OK);
        }
    }
    assert_int_equal(alm_update_commit(&f->cx, up, &rows), ALM_OK);
    alm_arena_reset(&f->arena);
}

static void update_something(fixture *f, alm_txn *txn)
{
    static const uint32_t columns[] = {COL_X, COL_TEXT, COL_SYM, COL_X};
    const uint64_t first = fix_random(f, 3);
    const int64_t every = 1 + (int64_t)fix_random(f, fix_random(f, 2) == 0 ? 3 : 90);
    set_values(f, txn, columns + first, 1 + (uint32_t)fix_random(f, 2), every);
}

/* Updates choose few rows or many, so that undos are kept, or files. */
static void random_step(block *b)
{
    fixture *f = b->f;
    const uint64_t what = fix_random(f, 10);
    if (what < 3)
        update_something(f, b->txn);
    else if (what == 3 && f->n > 200)
        change(f, b->txn, 2 + (int64_t)fix_random(f, 60), true);
    else if (what == 4)
        insert(f, b->txn, 1 + (uint32_t)fix_random(f, 40), -DAY, 4 * DAY);
    else if (what < 8)
        set_mark(b);
    else if (b->n > 0 && what == 8)
        back_to(b, (int)fix_random(f, (uint64_t)b->n));
    else if (b->n > 0)
        release_down_to(b, (int)fix_random(f, (uint64_t)b->n));
}

static void marks_are_a_stack(void **state)
{
    (void)state;
    for (uint64_t seed = 60; seed < 84; seed++) {
        fixture *f = fix_new(seed, false, true);
        alm_mem account = {0};
        fix_load(f, 900, 0, 2 * DAY);
        fix_insert(f, 100, 0, DAY);
        fix_sort(f);
        oracle published = keep(f);
        const int64_t files = fix_files(f, "/r/db/tables/1");
        f->cx.lasting = &account;
        block b = {.f = f, .txn = begin(f)};
        for (int i = 0; i < 60; i++) {
            random_step(&b);
            if (fix_random(f, 3) == 0) /* parts are made again then, or by what comes next */
                check_own(f, b.txn);
        }
        check_others(f, &published);
        const bool commits = seed % 4 != 0;
        if (!commits) {
            alm_txn_rollback(b.txn);
            release_down_to(&b, 0);
            restore(f, &published);
        } else {
            release_down_to(&b, 0);
            assert_int_equal(alm_txn_commit(&f->cx, b.txn, NULL), ALM_OK);
            free(published.rows);
        }
        fix_check(f);
        assert_int_equal(alm_storage_spill_space(f->st)->bytes, 0);
        if (!commits) {
            assert_int_equal(account.used_bytes, 0);
            assert_true(fix_files(f, "/r/db/tables/1") <= files + 2); /* the head's */
        }
        fix_reopen(f);
        fix_check(f);
        fix_free(f);
    }
}

/* Values that a statement writes and that were there already. */
static void what_stays_the_same_takes_nothing(void **state)
{
    (void)state;
    fixture *f = fix_new(38, false, true);
    alm_txn_mark *marks[40];
    alm_mem account = {0};
    fix_load(f, 900, 0, DAY);
    f->cx.lasting = &account;
    alm_txn *txn = begin(f);
    change(f, txn, 1, false);
    oracle then = keep(f);
    const int64_t files = fix_files(f, "/r/db/tables/1");
    for (size_t i = 0; i < ALM_COUNT(marks); i++) {
        assert_int_equal(alm_txn_mark_new(&f->cx, txn, &marks[i]), ALM_OK);
        change(f, txn, 1, false);
    }
    assert_int_equal(fix_files(f, "/r/db/tables/1"), files);
    assert_int_equal(alm_storage_spill_space(f->st)->bytes, 0);
    assert_int_equal(alm_txn_back_to(&f->cx, txn, marks[3]), ALM_OK);
    restore(f, &then);
    check_own(f, txn);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    for (size_t i = 0; i < ALM_COUNT(marks); i++)
        alm_txn_mark_free(marks[i]);
    assert_int_equal(account.used_bytes, 0);
    fix_check(f);
    fix_free(f);
}

/* What a mark takes for its lists is of the parts, however many statements changed them. */
static void marks_do_not_grow_with_statements(void **state)
{
    (void)state;
    enum { STATEMENTS = 400 };
    fixture *f = fix_new(40, false, true);
    alm_mem account = {0};
    int64_t most[2] = {0, 0};
    fix_load(f, 200, 0, DAY);
    f->cx.lasting = &account;
    alm_txn *txn = begin(f);
    for (int i = 0; i < STATEMENTS; i++) {
        alm_txn_mark *mark = NULL;
        change(f, txn, 100, false);
        const int64_t before = account.used_bytes;
        assert_int_equal(alm_txn_mark_new(&f->cx, txn, &mark), ALM_OK);
        int64_t *m = &most[i >= STATEMENTS / 2];
        *m = ALM_MAX(*m, account.used_bytes - before);
        alm_txn_mark_free(mark);
    }
    assert_true(most[0] > 0);
    assert_true(most[1] <= most[0]);
    assert_int_equal(alm_txn_commit(&f->cx, txn, NULL), ALM_OK);
    fix_check(f);
    fix_free(f);
}

static int64_t published_bytes(fixture *f)
{
    int64_t bytes = 0;
    alm_snapshot *snap = fix_snapshot(f);
    const alm_part_set *set = alm_version_of(fix_table(snap))->parts;
    for (uint32_t i = 0; i < set->n; i++)
        bytes += set->parts[i]->file->bytes;
    alm_snapshot_release(snap);
    return bytes;
}

/* The files of published parts are there without savepoints, too; and those that the transaction went back to are its own. */
static void savepoints_are_charged_for_their_own_files(void **state)
{
    (void)state;
    fixture *f = fix_new(39, false, true);
    alm_txn_mark *marks[8];
    alm_mem account = {0};
    alm_spill_space *space = alm_storage_spill_space(f->st);
    fix_load(f, 3000, 0, DAY);
    const int64_t base = published_bytes(f);
    fix_sort(f);
    oracle published = keep(f);
    f->cx.lasting = &account;
    alm_txn *txn = begin(f);
    for (size_t i = 0; i < ALM_COUNT(marks); i++) {
        change(f, txn, 3, false);
        oracle then = keep(f);
        assert_int_equal(alm_txn_mark_new(&f->cx, txn, &marks[i]), ALM_OK);
        change(f, txn, 1, true);
        assert_int_equal(f->n, 0);
        assert_true(space->bytes > 0); /* the overlay of the values */
        assert_true(space->bytes < base);
        assert_int_equal(alm_txn_back_to(&f->cx, txn, marks[i]), ALM_OK);
        assert_int_equal(space->bytes, 0);
        restore(f, &then);
        check_own(f, txn);
    }
    restore(f, &published);
    alm_txn_rollback(txn);
    for (size_t i = 0; i < ALM_COUNT(marks); i++)
        alm_txn_mark_free(marks[i]);
    assert_int_equal(account.used_bytes, 0);
    fix_check(f);
    fix_free(f);
}

/* ------------------------------------------------------------------------- threads */

enum { BESIDE_COMMITS = 500, BESIDE_ROWS = 20 };

typedef struct beside {
    alm_storage *st;
    const alm_batch *batch;
    _Atomic bool over;
    alm_status status;
} beside;

static void *commit_beside(void *arg)
{
    beside *b = arg;
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    for (int i = 0; i < BESIDE_COMMITS && b->status == ALM_OK; i++) {
        alm_snapshot *snap = NULL;
        alm_txn *txn = NULL;
        b->status = alm_snapshot_acquire(&cx, b->st, &snap);
        if (b->status != ALM_OK)
            break;
        b->status = alm_txn_begin(&cx, b->st, &txn);
        if (b->status == ALM_OK)
            b->status = alm_txn_append(&cx, txn, fix_table(snap), b->batch);
        if (b->status == ALM_OK)
            b->status = alm_txn_commit(&cx, txn, NULL);
        alm_snapshot_release(snap);
        alm_arena_reset(&arena);
    }
    alm_arena_deinit(&arena);
    atomic_store(&b->over, true);
    return NULL;
}

/* The chunks of the published head grow while a transaction puts its rows on top of them: a case for TSan. */
static void sees_its_rows_beside_commits(void **state)
{
    (void)state;
    fixture *f = fix_new(91, false, true);
    alm_txn *txn = begin(f);
    insert(f, txn, 10, 0, DAY);
    const alm_batch batch =
        fix_batch(f, BESIDE_ROWS, 0, 1); /* of one time, so that they go to one lane */
    beside b = {.st = f->st, .batch = &batch};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, commit_beside, &b), 0);
    int64_t seen = 10;
    for (bool over = false; !over;) {
        alm_snapshot *snap = NULL;
        over = atomic_load(&b.over);
        assert_int_equal(alm_txn_snapshot(&f->cx, txn, &snap), ALM_OK);
        const int64_t rows = fix_table(snap)->row_count;
        assert_true(rows >= seen && rows % BESIDE_ROWS == 10);
        seen = rows;
        alm_snapshot_release(snap);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(b.status, ALM_OK);
    assert_int_equal(seen, 10 + BESIDE_COMMITS * BESIDE_ROWS);
    alm_txn_rollback(txn);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sees_its_own),
                                       cmocka_unit_test(a_rollback_leaves_nothing),
                                       cmocka_unit_test(merges_let_a_transaction_pass),
                                       cmocka_unit_test(marks_bring_back),
                                       cmocka_unit_test(others_insert_meanwhile),
                                       cmocka_unit_test(the_first_commit_wins),
                                       cmocka_unit_test(dedup_keeps_the_last),
                                       cmocka_unit_test(sees_its_rows_beside_commits),
                                       cmocka_unit_test(loads_take_part),
                                       cmocka_unit_test(marks_are_a_stack),
                                       cmocka_unit_test(what_stays_the_same_takes_nothing),
                                       cmocka_unit_test(savepoints_are_charged_for_their_own_files),
                                       cmocka_unit_test(marks_do_not_grow_with_statements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
