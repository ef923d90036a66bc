/*
 * Goal    What is appended to runs comes back in order, whatever the types and the turns; files are
 *         gone at once, the bound and a full disk are errors by name, nothing stays of an earlier
 *         process.
 * Method  Simulated disk; several runs written in turns, compared with what they were made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/conf.h"
#include "io/sim.h"
#include "storage/spill/spill.h"

enum { COLS = 4, ROWS = 1000, RUNS = 3, BATCHES = 60 };

typedef struct world {
    alm_ctx cx;
    struct alm_conf conf;
    alm_mem mem;
    alm_arena arena;
    alm_sim *sim;
    alm_spill_space space;
    atomic_bool cancel;
    alm_view names[3];
    alm_dict dict;
} world;

static int open_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    w->sim = alm_sim_new(1);
    w->cx.arena = &w->arena;
    w->cx.mem = &w->mem;
    w->cx.conf = &w->conf;
    w->cx.cancel = &w->cancel;
    w->conf.query_spill_max = INT64_C(1) << 40;
    alm_arena_init(&w->arena, NULL);
    w->names[0] = alm_view_null();
    w->names[1] = alm_view_of(ALM_STR("BTC"));
    w->names[2] = alm_view_of(ALM_STR("a symbol with a long name"));
    w->dict = (alm_dict){.views = w->names, .count = 3, .id = 1};
    assert_int_equal(alm_sim_io(w->sim)->mkdir(alm_sim_io(w->sim), "/r"), 0);
    assert_int_equal(alm_spill_space_open(&w->cx, &w->space, alm_sim_io(w->sim), "/r/spill"),
                     ALM_OK);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    world *w = *state;
    assert_int_equal(w->mem.used_bytes, 0);
    assert_int_equal(w->space.bytes, 0);
    assert_int_equal(w->space.files, 0);
    alm_arena_deinit(&w->arena);
    alm_sim_free(w->sim);
    free(w);
    return 0;
}

static alm_view text_of(world *w, int64_t i)
{
    alm_str text = {NULL, 0};
    char buf[300];
    if (i % 7 == 0)
        return alm_view_null();
    const int n = snprintf(buf, sizeof buf, "%0*lld", (int)(i % 90), (long long)i);
    assert_int_equal(alm_arena_copy(&w->cx, &w->arena, (alm_str){buf, (size_t)n}, &text), ALM_OK);
    return alm_view_of(text);
}

/* Columns of batch `b` of run `r`: LONG, DOUBLE (a constant in odd batches), VARCHAR, SYMBOL. */
static void make(world *w, int64_t r, int64_t b, alm_vec *cols)
{
    int64_t *id = NULL;
    double *x = NULL;
    uint8_t *code = NULL;
    alm_view *text = NULL;
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, ROWS, &id), ALM_OK);
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, ROWS, &x), ALM_OK);
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, ROWS, &code), ALM_OK);
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, ROWS, &text), ALM_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        id[i] = (r << 40) + b * ROWS + i;
        x[i] = (double)id[i] / 3;
        code[i] = (uint8_t)(id[i] % 3);
        text[i] = text_of(w, id[i]);
    }
    cols[0] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = id};
    cols[1] = (alm_vec){.type = ALM_TY(DOUBLE), .width = 8, .data = x, .is_const = b % 2 == 1};
    cols[2] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = text};
    cols[3] = (alm_vec){.type = ALM_TY(SYMBOL), .width = 1, .data = code, .dict = &w->dict};
}

static void write_all(world *w, alm_spill *spill)
{
    alm_vec cols[COLS];
    for (uint32_t r = 0; r < RUNS; r++) {
        uint32_t run = 9;
        assert_int_equal(alm_spill_run(&w->cx, spill, &run), ALM_OK);
        assert_int_equal(run, r);
    }
    for (int64_t b = 0; b < BATCHES; b++) {
        for (uint32_t r = 0; r < RUNS; r++) {
            make(w, r, b, cols);
            assert_int_equal(alm_spill_append(&w->cx, spill, r, cols, ROWS), ALM_OK);
        }
        alm_arena_reset(&w->arena);
    }
    for (uint32_t r = 0; r < RUNS; r++)
        assert_int_equal(alm_spill_end(&w->cx, spill, r), ALM_OK);
}

static void check_batch(world *w, int64_t r, int64_t b, const alm_batch *in)
{
    alm_vec cols[COLS];
    make(w, r, b, cols);
    assert_int_equal(in->rows, ROWS);
    assert_int_equal(in->n_cols, COLS);
    assert_memory_equal(in->cols[0].data, cols[0].data, ROWS * 8);
    assert_int_equal(in->cols[1].is_const, b % 2 == 1);
    assert_memory_equal(in->cols[1].data, cols[1].data, b % 2 == 1 ? 8 : ROWS * 8);
    assert_ptr_equal(in->cols[3].dict, &w->dict);
    for (size_t i = 0; i < ROWS; i++) {
        const alm_str want = alm_vec_text(&cols[2], i), got = alm_vec_text(&in->cols[2], i);
        assert_int_equal(want.ptr == NULL, got.ptr == NULL);
        assert_true(want.ptr == NULL || alm_str_eq(want, got));
        assert_int_equal(alm_vec_code(&cols[3], i), alm_vec_code(&in->cols[3], i));
    }
    alm_arena_reset(&w->arena);
}

static int count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(int *)arg;
    return 0;
}

static void runs_come_back(void **state)
{
    world *w = *state;
    const alm_io *io = alm_sim_io(w->sim);
    alm_spill *spill = NULL;
    int files = 0;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &spill), ALM_OK);
    write_all(w, spill);
    assert_int_equal(io->list(io, "/r/spill", count_entry, &files), 0);
    assert_int_equal(files, 0); /* the open file has no name any more */
    assert_true(w->space.bytes > BATCHES * RUNS * ROWS * 33 && w->space.files == 1);
    assert_true(w->mem.used_bytes < 3 * 2 * ALM_SPILL_BLOCK_BYTES);
    for (uint32_t r = RUNS; r-- > 0;) {
        alm_spill_reader *reader = NULL;
        alm_batch *in = NULL;
        assert_int_equal(alm_spill_rows(spill, r), BATCHES * ROWS);
        assert_int_equal(alm_spill_reader_new(&w->cx, spill, r, &reader), ALM_OK);
        for (int64_t b = 0; b < BATCHES; b++) {
            assert_int_equal(alm_spill_read(&w->cx, reader, &in), ALM_OK);
            assert_non_null(in);
            check_batch(w, r, b, in);
        }
        assert_int_equal(alm_spill_read(&w->cx, reader, &in), ALM_OK);
        assert_null(in);
        alm_spill_reader_free(reader);
    }
    alm_spill_free(spill);
}

/* Appends until an error comes. */
static alm_status fill(world *w, alm_spill *spill)
{
    alm_vec cols[COLS];
    uint32_t run = 0;
    assert_int_equal(alm_spill_run(&w->cx, spill, &run), ALM_OK);
    for (int64_t b = 0; b < 10000; b++) {
        make(w, 0, b, cols);
        const alm_status st = alm_spill_append(&w->cx, spill, run, cols, ROWS);
        alm_arena_reset(&w->arena);
        if (st != ALM_OK)
            return st;
    }
    return ALM_OK;
}

static void bounds_have_names(void **state)
{
    world *w = *state;
    alm_spill *spill = NULL;
    w->conf.query_spill_max = 3 * 1000 * 1000;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &spill), ALM_OK);
    assert_int_equal(fill(w, spill), ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "query.spill.max [limit=3000000"));
    assert_non_null(strstr(w->cx.err.msg, "by=sort"));
    assert_true(w->space.bytes <= 3 * 1000 * 1000);
    alm_spill_free(spill);
    alm_error_clear(&w->cx);

    w->conf.query_spill_max = 0;
    assert_false(alm_spill_allowed(&w->cx, &w->space));
    assert_false(alm_spill_allowed(&w->cx, NULL));

    w->conf.query_spill_max = INT64_MAX;
    alm_sim_capacity(w->sim, 2 * 1000 * 1000);
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &spill), ALM_OK);
    assert_int_equal(fill(w, spill), ALM_E_DISK_FULL);
    assert_non_null(strstr(w->cx.err.msg, "temporary file of sort"));
    alm_spill_free(spill);
    alm_error_clear(&w->cx);
}

static int little_space(const alm_io *io, const char *path, int64_t *all, int64_t *free)
{
    (void)io;
    (void)path;
    *all = INT64_C(100) << 30;
    *free = (INT64_C(1) << 30) - 1;
    return 0;
}

/* Of a user, and what others need of the volume. What is given back is free for both. */
static void others_keep_their_space(void **state)
{
    world *w = *state;
    alm_spill *spill = NULL, *second = NULL;
    alm_mem files = {.limit_bytes = 3 * 1000 * 1000};
    w->cx.files = &files;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &spill), ALM_OK);
    assert_int_equal(fill(w, spill), ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "query.spill.user.max [limit=3000000"));
    assert_int_equal(files.used_bytes, w->space.bytes);
    alm_error_clear(&w->cx);
    w->cx.files = NULL; /* somebody else */
    w->conf.query_spill_max = 6 * 1000 * 1000;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &second), ALM_OK);
    assert_int_equal(fill(w, second), ALM_E_SPILL);
    assert_non_null(strstr(w->cx.err.msg, "query.spill.max [limit=6000000"));
    assert_true(files.used_bytes <= 3 * 1000 * 1000);
    alm_error_clear(&w->cx);
    alm_spill_free(spill);
    alm_spill_free(second);
    assert_int_equal(files.used_bytes, 0);
    assert_int_equal(w->space.bytes, 0);

    alm_io io = *w->space.io;
    io.space = little_space;
    const alm_io *own = w->space.io;
    w->space.io = &io;
    w->conf.query_spill_max = INT64_C(1) << 40;
    w->conf.query_spill_free_min = INT64_C(1) << 30;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "sort", &spill), ALM_OK);
    assert_int_equal(fill(w, spill), ALM_E_SPILL);
    assert_non_null(
        strstr(w->cx.err.msg, "query.spill.free.min free on the disk [limit=1073741824"));
    alm_error_clear(&w->cx);
    alm_spill_free(spill);
    w->space.io = own;
    w->conf.query_spill_free_min = 0;
}

static void cancel_ends_it(void **state)
{
    world *w = *state;
    alm_spill *spill = NULL;
    assert_int_equal(alm_spill_new(&w->cx, &w->space, COLS, "group by", &spill), ALM_OK);
    atomic_store(&w->cancel, true);
    assert_int_equal(fill(w, spill), ALM_E_CANCEL);
    assert_true(w->space.bytes == 0); /* before the first block was written */
    alm_spill_free(spill);
    alm_error_clear(&w->cx);
}

static void leftovers_go(void **state)
{
    world *w = *state;
    const alm_io *io = alm_sim_io(w->sim);
    const int h = io->open(io, "/r/spill/17.tmp", ALM_IO_WRITE | ALM_IO_CREATE);
    int files = 0;
    assert_true(h >= 0);
    assert_int_equal(io->close(io, h), 0);
    assert_int_equal(alm_spill_space_open(&w->cx, &w->space, io, "/r/spill"), ALM_OK);
    assert_int_equal(io->list(io, "/r/spill", count_entry, &files), 0);
    assert_int_equal(files, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_come_back, open_world, close_world),
        cmocka_unit_test_setup_teardown(bounds_have_names, open_world, close_world),
        cmocka_unit_test_setup_teardown(others_keep_their_space, open_world, close_world),
        cmocka_unit_test_setup_teardown(cancel_ends_it, open_world, close_world),
        cmocka_unit_test_setup_teardown(leftovers_go, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
