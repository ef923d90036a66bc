/*
 * Goal    Symbols that no commit named are given back when nobody writes to their table: those of rolled-back transactions, loads and
 *         updates. No reader and no writer gets another word for it, before a restart and after.
 * Method  Values of 100 bytes are interned and dropped in every way, and the dictionary is exchanged by hand, with snapshots, writers and
 *         rows that are older; and by a thread of its own, beside threads that commit and roll back.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "storage/dict/dict.h"
#include "storage/table_fixture.h"
#include "storage/write/interning.h"

enum { MANY = 2000 }; /* of 100 bytes: more than is given back at the least */

static uint32_t shown(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const uint32_t n = fix_table(snap)->cols[COL_SYM].dict->count;
    alm_snapshot_release(snap);
    return n;
}

static uint32_t in_memory(fixture *f)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_version *v = alm_version_of(fix_table(snap));
    const uint32_t n = alm_symbols_count(v->schema->symbols[COL_SYM]);
    alm_snapshot_release(snap);
    return n;
}

static void drop(fixture *f)
{
    assert_int_equal(alm_unused_symbols_drop(&f->cx, f->st), ALM_OK);
}

/* Rows at one time whose symbols are new: "<from + i>" and what makes them long. */
static alm_batch long_symbols(fixture *f, uint32_t n, uint32_t from)
{
    alm_vec *cols = NULL;
    int64_t *ts = NULL;
    alm_view *sym = NULL;
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, COLS, &cols), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &ts), ALM_OK);
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, n, &sym), ALM_OK);
    for (uint32_t i = 0; i < n; i++) {
        char *text = NULL;
        assert_int_equal(alm_arena_bytes(&f->cx, &f->arena, 128, &text), ALM_OK);
        sym[i] = alm_view_of((alm_str){text, (size_t)snprintf(text, 128, "%0100u", from + i)});
    }
    const uint8_t types[COLS] = {ALM_T_TIMESTAMP, ALM_T_LONG, ALM_T_SYMBOL, ALM_T_VARCHAR,
                                 ALM_T_DOUBLE};
    for (uint32_t c = 0; c < COLS; c++)
        assert_int_equal(alm_vec_null(&f->cx, &f->arena, (alm_type){.id = types[c]}, &cols[c]),
                         ALM_OK);
    cols[COL_TS] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
    cols[COL_SYM] = (alm_vec){.type = ALM_TY(SYMBOL), .width = 16, .data = sym};
    return (alm_batch){.rows = n, .n_cols = COLS, .cols = cols};
}

static alm_txn *begin_with(fixture *f, alm_snapshot *snap, uint32_t from)
{
    alm_txn *txn = NULL;
    const alm_batch batch = long_symbols(f, MANY, from);
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    alm_arena_reset(&f->arena);
    return txn;
}

static alm_txn *begin(fixture *f, uint32_t from)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = begin_with(f, snap, from);
    alm_snapshot_release(snap);
    return txn;
}

static void by_transaction(fixture *f)
{
    alm_txn_rollback(begin(f, 0));
}

static void by_load(fixture *f)
{
    alm_bulk *bulk = fix_bulk(f);
    const alm_batch batch = long_symbols(f, MANY, 0);
    assert_int_equal(alm_bulk_append(&f->cx, bulk, &batch), ALM_OK);
    alm_arena_reset(&f->arena);
    alm_bulk_rollback(bulk);
}

static void by_update(fixture *f)
{
    const uint32_t col = COL_SYM;
    alm_update *up = NULL;
    const alm_batch batch = long_symbols(f, MANY, 0);
    assert_int_equal(alm_update_begin(&f->cx, f->st, NULL, ALM_STR("t"), &col, 1, &up), ALM_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        const int64_t row = 0;
        alm_vec value = batch.cols[COL_SYM];
        value.data = (alm_view *)value.data + i;
        assert_int_equal(alm_update_rows(&f->cx, up, 0, &row, 1, &value), ALM_OK);
    }
    alm_arena_reset(&f->arena);
    alm_update_rollback(up);
}

static void what_was_rolled_back_is_given_back(void **state)
{
    (void)state;
    void (*const ways[])(fixture *) = {by_transaction, by_load, by_update};
    for (size_t way = 0; way < ALM_COUNT(ways); way++) {
        fixture *f = fix_new_manual(700 + way);
        fix_insert(f, 2000, 0, 3 * DAY); /* all symbols of the fixture */
        const uint32_t n = shown(f);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        fix_insert(f, 20, 0, 3 * DAY);
        alm_snapshot *before = fix_snapshot(f);
        ways[way](f);
        assert_int_equal(in_memory(f), n + MANY);
        assert_int_equal(shown(f), n);
        drop(f);
        assert_int_equal(in_memory(f), n);
        fix_check(f);
        fix_check_rows(f, before, f->rows, f->n);
        alm_snapshot_release(before);
        fix_insert(f, 20, 0, 3 * DAY);
        fix_check(f);
        assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        fix_check(f);
        fix_reopen(f);
        assert_int_equal(in_memory(f), n);
        fix_check(f);
        fix_free(f);
    }
}

static void writers_keep_their_dictionary(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(710);
    uint64_t lsn = 0;
    fix_insert(f, 200, 0, 3 * DAY);
    const uint32_t n = shown(f);
    alm_txn *open = begin(f, 0);
    alm_txn_rollback(begin(f, MANY));
    drop(f);
    assert_int_equal(in_memory(f), n + 2 * MANY);
    assert_int_equal(alm_txn_commit(&f->cx, open, &lsn), ALM_OK);
    assert_int_equal(shown(f), n + MANY);
    drop(f); /* what was left is looked at again */
    assert_int_equal(in_memory(f), n + MANY);
    fix_free(f);
}

/* A dictionary that is much larger than what could be given back is not copied. */
static void little_is_left(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(711);
    uint64_t lsn = 0;
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(alm_txn_commit(&f->cx, begin(f, i * MANY), &lsn), ALM_OK);
    const uint32_t n = shown(f);
    alm_txn_rollback(begin(f, 10 * MANY));
    drop(f);
    assert_int_equal(in_memory(f), n + MANY);
    alm_txn_rollback(begin(f, 11 * MANY));
    alm_txn_rollback(begin(f, 12 * MANY));
    drop(f);
    assert_int_equal(in_memory(f), n);
    fix_free(f);
}

static void a_commit_shows_what_its_rows_have(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(712);
    fix_insert(f, 2000, 0, 3 * DAY); /* all symbols of the fixture */
    const uint32_t n = shown(f);
    alm_txn *open = begin(f, 0);
    fix_insert(f, 200, 0, 3 * DAY);
    assert_int_equal(shown(f), n);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
    while (fix_compact(f))
        ;
    assert_int_equal(shown(f), n);
    alm_snapshot *own = NULL;
    assert_int_equal(alm_txn_snapshot(&f->cx, open, &own), ALM_OK);
    assert_int_equal(fix_table(own)->cols[COL_SYM].dict->count, n + MANY);
    alm_snapshot_release(own);
    alm_txn_rollback(open);
    drop(f);
    assert_int_equal(in_memory(f), n);
    fix_check(f);
    fix_free(f);
}

/* A writer that begins with a snapshot of before the exchange gets the new dictionary. */
static void older_snapshots_can_be_written_with(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(713);
    fix_insert(f, 200, 0, 3 * DAY);
    alm_snapshot *old = fix_snapshot(f);
    by_transaction(f);
    drop(f);
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    const alm_batch batch = fix_batch(f, 300, 0, 3 * DAY);
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(old), &batch), ALM_OK);
    alm_snapshot *own = NULL;
    fix_sort(f);
    assert_int_equal(alm_txn_snapshot(&f->cx, txn, &own), ALM_OK);
    fix_check_rows(f, own, f->rows, f->n);
    alm_snapshot_release(own);
    assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    alm_snapshot_release(old);
    alm_arena_reset(&f->arena);
    fix_check(f);
    fix_reopen(f);
    fix_check(f);
    fix_free(f);
}

/* What a user brought for nothing does not count for him any more, when the last reader of the old dictionary has gone. */
static void accounts_get_it_back(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(714);
    alm_mem one = {.limit_bytes = 1 << 30}, other = {.limit_bytes = 1 << 30};
    uint64_t lsn = 0;
    f->cx.symbols = &one;
    assert_int_equal(alm_txn_commit(&f->cx, begin(f, 0), &lsn), ALM_OK);
    const int64_t of_one = one.used_bytes;
    f->cx.symbols = &other;
    alm_txn_rollback(begin(f, MANY));
    f->cx.symbols = &one;
    alm_txn_rollback(begin(f, 2 * MANY));
    assert_int_equal(other.used_bytes, of_one);
    f->cx.symbols = NULL;
    drop(f);
    assert_int_equal(alm_storage_checkpoint(&f->cx, f->st),
                     ALM_OK); /* rows in memory know the old one */
    assert_int_equal(one.used_bytes, of_one);
    assert_int_equal(other.used_bytes, 0);
    fix_free(f);
    assert_int_equal(one.used_bytes, 0);
}

/* A limit that was lowered refuses new values, and no start. */
static void a_lower_limit_stops_no_start(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(716);
    uint64_t lsn = 0;
    assert_int_equal(alm_txn_commit(&f->cx, begin(f, 0), &lsn), ALM_OK);
    const uint32_t n = shown(f);
    f->conf.symbols_bytes_max = 1;
    for (int i = 0; i < 2; i++) { /* values of the log, then of a file */
        if (i == 0)
            alm_sim_cut_after(f->sim, 1);
        alm_storage_close(f->st);
        alm_sim_restart(f->sim);
        fix_open(f);
        assert_int_equal(shown(f), n);
    }
    alm_txn *txn = NULL;
    alm_snapshot *snap = fix_snapshot(f);
    const alm_batch batch = long_symbols(f, 1, MANY);
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_E_LIMIT);
    alm_error_clear(&f->cx);
    alm_txn_rollback(txn);
    alm_snapshot_release(snap);
    fix_free(f);
}

/* ------------------------------------------------------------------------ threads */

enum { WRITERS = 3, ROUNDS = 60, SOME = 50 };

typedef struct writer {
    alm_storage *st;
    uint32_t number;
    _Atomic int *left; /* writers that go on */
    pthread_t thread;
} writer;

/* The symbol of a row says its id. */
static void append_rows(fixture *f, alm_txn *txn, uint32_t n, uint32_t first)
{
    alm_snapshot *snap = fix_snapshot(f);
    const alm_batch batch = long_symbols(f, n, first);
    int64_t *ids = NULL;
    assert_int_equal(ALM_NEWN(&f->cx, &f->arena, batch.rows, &ids), ALM_OK);
    for (uint32_t i = 0; i < batch.rows; i++)
        ids[i] = first + i;
    batch.cols[COL_ID] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = ids};
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    alm_snapshot_release(snap);
}

static void write_rows(fixture *f, uint32_t first, bool commit)
{
    alm_txn *txn = NULL;
    uint64_t lsn = 0;
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    append_rows(f, txn, commit ? SOME : 10 * SOME, first);
    if (commit)
        assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
    else
        alm_txn_rollback(txn);
    alm_arena_reset(&f->arena);
}

static void *writer_main(void *arg)
{
    const writer *w = arg;
    fixture f = {.st = w->st};
    alm_arena_init(&f.arena, NULL);
    f.cx.arena = &f.arena;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        write_rows(&f, (w->number * ROUNDS + i) * 1000, i % 3 == w->number % 3);
        (void)usleep(1000); /* moments in which nobody writes */
    }
    (void)atomic_fetch_sub(w->left, 1);
    alm_arena_deinit(&f.arena);
    return NULL;
}

static int64_t check_words(fixture *f)
{
    const uint32_t cols[2] = {COL_ID, COL_SYM};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_scan *scan = NULL;
    alm_scan_cursor *cur = NULL;
    alm_snapshot *snap = fix_snapshot(f);
    assert_int_equal(alm_scan_new(&f->cx, &arena, snap, fix_table(snap),
                                  &(alm_scan_spec){.cols = cols, .n_cols = 2, .all = true}, &scan),
                     ALM_OK);
    assert_int_equal(alm_scan_cursor_new(&f->cx, &arena, scan, &cur), ALM_OK);
    for (size_t i = 0; i < alm_scan_span_count(scan); i++) {
        const alm_span span = alm_scan_span_at(scan, i);
        for (int64_t row = 0; row < span.rows; row += ALM_BATCH_ROWS) {
            const uint32_t m = (uint32_t)ALM_MIN(span.rows - row, (int64_t)ALM_BATCH_ROWS);
            alm_vec vecs[2];
            assert_int_equal(alm_scan_read(&f->cx, cur, i, row, m, NULL, vecs), ALM_OK);
            for (uint32_t k = 0; k < m; k++) {
                char want[128];
                const int n = snprintf(want, sizeof want, "%0100u",
                                       (unsigned)((const int64_t *)vecs[0].data)[k]);
                const alm_str got =
                    alm_view_str(&vecs[1].dict->views[alm_vec_code(&vecs[1], k)], NULL);
                assert_true(alm_str_eq(got, (alm_str){want, (size_t)n}));
            }
        }
    }
    const int64_t rows = alm_scan_rows(scan);
    alm_snapshot_release(snap);
    alm_arena_deinit(&arena);
    return rows;
}

/* Who went back to a mark still writes: the rows before it have their codes. */
static void a_transaction_that_went_back_keeps_its_dictionary(void **state)
{
    (void)state;
    for (int free_mark = 0; free_mark < 2; free_mark++) {
        fixture *f = fix_new_manual(717);
        alm_txn *txn = NULL;
        alm_txn_mark *mark = NULL;
        uint64_t lsn = 0;
        write_rows(f, 0, true);
        assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
        append_rows(f, txn, MANY, MANY);
        assert_int_equal(alm_txn_mark_new(&f->cx, txn, &mark), ALM_OK);
        append_rows(f, txn, MANY, 2 * MANY);
        assert_int_equal(alm_txn_back_to(&f->cx, txn, mark), ALM_OK);
        if (free_mark) {
            alm_txn_mark_free(mark);
            mark = NULL;
        }
        drop(f);
        write_rows(f, 3 * MANY, true);
        append_rows(f, txn, SOME, 4 * MANY);
        assert_int_equal(alm_txn_commit(&f->cx, txn, &lsn), ALM_OK);
        alm_txn_mark_free(mark);
        assert_int_equal(check_words(f), MANY + 3 * SOME);
        alm_txn_rollback(begin(f, 5 * MANY)); /* nobody is counted as a writer any more */
        alm_txn_rollback(begin(f, 6 * MANY));
        drop(f);
        assert_int_equal(in_memory(f), shown(f));
        fix_reopen(f);
        assert_int_equal(check_words(f), MANY + 3 * SOME);
        fix_free(f);
    }
}

static void exchanges_beside_writers_change_no_word(void **state)
{
    (void)state;
    fixture *f = fix_new_manual(715);
    writer writers[WRITERS];
    _Atomic int left = WRITERS;
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.st = f->st, .number = i, .left = &left};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    uint32_t exchanges = 0;
    for (int i = 0; atomic_load(&left) > 0; i++) {
        const uint32_t before = in_memory(f);
        drop(f);
        exchanges += in_memory(f) < before;
        if (i % 20 == 0)
            (void)check_words(f);
        if (i % 50 == 0)
            assert_int_equal(alm_storage_checkpoint(&f->cx, f->st), ALM_OK);
        (void)usleep(100);
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
    drop(f);
    print_message("%u exchanges beside writers\n", exchanges);
    for (uint32_t i = 0; i < 80; i++) /* enough, whatever stayed before */
        write_rows(f, (WRITERS * ROUNDS + i) * 1000, false);
    assert_true(in_memory(f) > shown(f));
    drop(f);
    assert_int_equal(in_memory(f), shown(f));
    assert_int_equal(check_words(f), WRITERS * ROUNDS / 3 * SOME);
    fix_reopen(f);
    assert_int_equal(check_words(f), WRITERS * ROUNDS / 3 * SOME);
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_rolled_back_is_given_back),
        cmocka_unit_test(writers_keep_their_dictionary),
        cmocka_unit_test(little_is_left),
        cmocka_unit_test(a_commit_shows_what_its_rows_have),
        cmocka_unit_test(older_snapshots_can_be_written_with),
        cmocka_unit_test(accounts_get_it_back),
        cmocka_unit_test(a_lower_limit_stops_no_start),
        cmocka_unit_test(a_transaction_that_went_back_keeps_its_dictionary),
        cmocka_unit_test(exchanges_beside_writers_change_no_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
