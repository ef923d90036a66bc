/* Method: storage on the simulated disk whose reserve was spent a moment ago; who may commit, by each way, and when it is there again. */
#include "storage/table_fixture.h"

#include "storage/write/reserve.h"

static void on_the_way(void *arg)
{
    *(bool *)arg = true;
}

/* One row, by a thread that waits or by one that is told; what the commit says. */
static alm_status insert(fixture *f, bool waits)
{
    alm_snapshot *snap = fix_snapshot(f);
    alm_txn *txn = NULL;
    alm_txn_commit_run *run = NULL;
    uint64_t lsn = 0;
    bool over = false;
    const alm_batch batch = fix_batch(f, 1, 0, DAY);
    assert_int_equal(alm_txn_begin(&f->cx, f->st, &txn), ALM_OK);
    assert_int_equal(alm_txn_append(&f->cx, txn, fix_table(snap), &batch), ALM_OK);
    alm_snapshot_release(snap);
    alm_status st = ALM_OK;
    if (!waits)
        st = alm_txn_commit_start(&f->cx, txn, on_the_way, &over, &run);
    if (run != NULL) {
        alm_storage_lead(f->st);
        assert_true(over);
        st = alm_txn_commit_end(&f->cx, run);
    } else if (st == ALM_OK) {
        st = alm_txn_commit(&f->cx, txn, &lsn);
    }
    alm_error_clear(&f->cx);
    alm_arena_reset(&f->arena);
    return st;
}

static void lead_now(void *arg)
{
    alm_storage_lead(arg);
}

static void the_rest_waits_until_it_is_there_again(void **state)
{
    int client = 0; /* stands for a session */
    (void)state;
    fixture *f = fix_new_manual(1);
    alm_storage_lead_by(f->st, lead_now, f->st);
    f->st->conf.reserve_bytes = 64 << 10;
    alm_reserve_open(f->st);
    assert_false(f->st->reserve_spent);
    f->cx.session = (struct alm_session *)(void *)&client;
    assert_int_equal(insert(f, true), ALM_OK);
    assert_int_equal(insert(f, false), ALM_OK);
    assert_true(alm_reserve_spend(f->st));
    assert_false(alm_reserve_spend(f->st));  /* once */
    f->st->reserve_tried_ns = INT64_MAX / 2; /* it is not allocated again for now */
    assert_int_equal(insert(f, true), ALM_E_DISK_FULL);
    assert_int_equal(insert(f, false), ALM_E_DISK_FULL);
    f->cx.frees = true;
    assert_int_equal(insert(f, true), ALM_OK);
    f->cx.frees = false;
    f->cx.session = NULL; /* storage's own */
    assert_int_equal(insert(f, true), ALM_OK);
    f->cx.session = (struct alm_session *)(void *)&client;
    f->st->reserve_tried_ns = INT64_MIN / 2;
    assert_int_equal(insert(f, false), ALM_OK);
    assert_false(f->st->reserve_spent);
    f->cx.session = NULL;
    fix_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rest_waits_until_it_is_there_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
