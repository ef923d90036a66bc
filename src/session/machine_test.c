/*
 * Goal    Defaults are parts of the memory that there is for this process, threads follow its processors; what is set holds.
 * Method  A database on a machine that the test makes up, and that changes while it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/world_for_test.h"
#include "storage/storage.h"

#define MB (INT64_C(1) << 20)

static alm_machine made_up = {
    .memory_bytes = 1024 * MB, .memory_by = "cgroup", .processors = 3, .processors_by = "cgroup"};

static void machine(const alm_io *io, alm_machine *out)
{
    (void)io;
    *out = made_up;
}

static void reopen(world *w, const alm_io *io)
{
    alm_session_free(w->s);
    alm_db_free(w->db, 0);
    assert_int_equal(alm_db_new(&w->cx, io, w->root, &w->conf, &w->db), ALM_OK);
    w->s = connect_as(w, "admin");
}

static void expect_parts(const alm_db *db, int64_t ram)
{
    assert_int_equal(db->query_mem_bytes, ram / 4);
    assert_int_equal(db->mem.limit_bytes, ram / 2);
    assert_int_equal(db->requests.all.limit_bytes, ram / 4);
}

static void parts_of_the_memory(void **state)
{
    world *w = *state;
    alm_io io = *alm_io_posix();
    io.machine = machine;
    made_up.memory_bytes = 1024 * MB;
    reopen(w, &io);
    const alm_storage_conf *storage = alm_storage_conf_of(w->db->storage);
    expect_parts(w->db, 1024 * MB);
    assert_int_equal(storage->txn_bytes_max, 256 * MB);
    assert_int_equal(storage->decoded_bytes_max, 256 * MB);
    assert_int_equal(storage->head_bytes_max, 128 * MB);
    assert_int_equal(storage->table_head_bytes_max, 32 * MB);
    assert_int_equal(alm_db_processors(w->db), 3);
    assert_int_equal(alm_db_memory_share(w->db, 0, 256 * MB, 16), 64 * MB);
    made_up.memory_bytes = 512 * MB; /* the limit of the container is changed */
    made_up.processors = 2;
    alm_db_conf_changed(w->db);
    expect_parts(w->db, 512 * MB);
    assert_int_equal(alm_db_processors(w->db), 2);
    made_up.memory_bytes = 1024 * 1024 * MB; /* on a large one some are no larger than is of use */
    made_up.processors = 3;
    reopen(w, &io);
    storage = alm_storage_conf_of(w->db->storage);
    assert_int_equal(storage->head_bytes_max, 512 * MB);
    assert_int_equal(storage->table_head_bytes_max, 128 * MB);
    made_up.memory_bytes = 4 * MB; /* and on a tiny one not smaller */
    reopen(w, &io);
    assert_int_equal(alm_storage_conf_of(w->db->storage)->table_head_bytes_max, MB);
    reopen(w, alm_io_posix());
}

static void what_is_set_holds(void **state)
{
    world *w = *state;
    alm_io io = *alm_io_posix();
    io.machine = machine;
    made_up.memory_bytes = 1024 * MB;
    w->conf.query_memory_max = 700 * MB;
    w->conf.storage_head_bytes_max = 900 * MB;
    w->conf.transaction_memory_max = 5 * MB;
    reopen(w, &io);
    assert_int_equal(w->db->query_mem_bytes, 700 * MB);
    assert_int_equal(alm_storage_conf_of(w->db->storage)->head_bytes_max, 900 * MB);
    assert_int_equal(alm_storage_conf_of(w->db->storage)->txn_bytes_max, 5 * MB);
    reopen(w, alm_io_posix());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_of_the_memory, world_new, world_free),
        cmocka_unit_test_setup_teardown(what_is_set_holds, world_new, world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
