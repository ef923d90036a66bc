/*
 * Goal    What comes in pieces is there as a whole, holes read as zero, the file has no name; its bounds and a full disk are errors
 *         by name, and nothing of it stays.
 * Method  Simulated disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/conf.h"
#include "io/sim.h"
#include "storage/spill/spool.h"

typedef struct world {
    alm_ctx cx;
    struct alm_conf conf;
    alm_sim *sim;
    alm_spill_space space;
} world;

static const alm_spool_conf conf = {
    .who = "the file", .limit = "some.setting", .bytes_max = 3000000};

static int open_world(void **state)
{
    world *w = calloc(1, sizeof(*w));
    w->sim = alm_sim_new(1);
    w->cx.conf = &w->conf;
    w->conf.query_spill_max = INT64_C(1) << 40;
    assert_int_equal(alm_sim_io(w->sim)->mkdir(alm_sim_io(w->sim), "/r"), 0);
    assert_int_equal(alm_spill_space_open(&w->cx, &w->space, alm_sim_io(w->sim), "/r/spill"),
                     ALM_OK);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    world *w = *state;
    assert_int_equal(w->space.bytes, 0);
    assert_int_equal(w->space.files, 0);
    alm_sim_free(w->sim);
    free(w);
    return 0;
}

static int count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

static void pieces_are_a_whole(void **state)
{
    world *w = *state;
    const alm_io *io = alm_sim_io(w->sim);
    alm_spool *spool = NULL;
    alm_str all = {0};
    int files = 0;
    assert_int_equal(alm_spool_new(&w->cx, &w->space, &conf, &spool), ALM_OK);
    assert_int_equal(alm_spool_map(&w->cx, spool, &all), ALM_OK);
    assert_null(all.ptr); /* nothing yet */
    assert_int_equal(alm_spool_append(&w->cx, spool, "PAR1", 4), ALM_OK);
    assert_int_equal(alm_spool_skip(&w->cx, spool, 100000), ALM_OK);
    assert_int_equal(alm_spool_append(&w->cx, spool, "the end", 7), ALM_OK);
    assert_int_equal(alm_spool_bytes(spool), 100011);
    assert_int_equal(w->space.bytes, 11); /* a hole takes no space */
    assert_int_equal(io->list(io, "/r/spill", count_entry, &files), 0);
    assert_int_equal(files, 0);
    assert_int_equal(alm_spool_map(&w->cx, spool, &all), ALM_OK);
    assert_int_equal(all.len, 100011);
    assert_memory_equal(all.ptr, "PAR1\0\0", 6);
    assert_memory_equal(all.ptr + 100003, "\0the end", 8);
    alm_spool_free(spool);
    alm_spool_free(NULL);
}

/* Appends until an error comes. */
static alm_status fill(world *w, alm_spool *spool)
{
    static const char piece[65536];
    for (int i = 0; i < 1000; i++) {
        const alm_status st = alm_spool_append(&w->cx, spool, piece, sizeof(piece));
        if (st != ALM_OK)
            return st;
    }
    return ALM_OK;
}

static void expect_error(world *w, alm_status want, const char *text)
{
    alm_spool *spool = NULL;
    assert_int_equal(alm_spool_new(&w->cx, &w->space, &conf, &spool), ALM_OK);
    assert_int_equal(fill(w, spool), want);
    assert_non_null(strstr(w->cx.err.msg, text));
    alm_spool_free(spool);
    alm_error_clear(&w->cx);
}

static void bounds_have_names(void **state)
{
    world *w = *state;
    alm_spool *spool = NULL;
    expect_error(w, ALM_E_LIMIT, "the file is longer than some.setting [limit=3000000]");
    w->conf.query_spill_max = 2000000;
    expect_error(w, ALM_E_SPILL, "query.spill.max [limit=2000000");
    w->conf.query_spill_max = INT64_MAX;
    alm_sim_capacity(w->sim, 1000000);
    expect_error(w, ALM_E_DISK_FULL, "the file");
    assert_int_equal(alm_spool_new(&w->cx, &w->space, &conf, &spool), ALM_OK);
    assert_int_equal(alm_spool_skip(&w->cx, spool, 3000001), ALM_E_LIMIT);
    alm_spool_free(spool);
    alm_error_clear(&w->cx);
    w->conf.query_spill_max = 0;
    assert_int_equal(alm_spool_new(&w->cx, &w->space, &conf, &spool), ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "the file needs a temporary file: query.spill.max is 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_are_a_whole, open_world, close_world),
        cmocka_unit_test_setup_teardown(bounds_have_names, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
