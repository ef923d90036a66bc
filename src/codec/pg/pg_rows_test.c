/*
 * pg_rows_test.c - rows written column by column are those written cell by cell.
 *
 * Method      Batches of every form of column, with nulls, extremes, constants and long texts, at many borders of rows and
 *             of room; the messages of alm_pg_cell_put are the oracle.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/pg/pg_rows.h"

enum { ROWS = 1000, COLS = 7 };

typedef struct fixture {
    alm_arena arena;
    alm_ctx cx;
    alm_batch batch;
    alm_vec cols[COLS];
    alm_pg_cell cells[COLS];
    int32_t ints[ROWS];
    int64_t longs[ROWS], times[ROWS], nanos[ROWS];
    double doubles[ROWS];
    alm_view texts[ROWS], constant;
    char long_text[5000];
} fixture;

static void column(fixture *f, uint32_t i, alm_type type, void *data, bool is_const)
{
    f->cols[i] = (alm_vec){
        .type = type, .width = (uint8_t)alm_type_width(type), .data = data, .is_const = is_const};
    alm_pg_cell_init(NULL, &f->cells[i], type, true);
}

static void fill(fixture *f)
{
    static const double reals[] = {0, -0.0, 1.5, -1e300, INFINITY, NAN, 5e-324};
    static const char *const words[] = {"",       "a", "sell", "twelve bytes", "thirteen byte",
                                        "BTC-USD"};
    uint64_t seed = 42;
    memset(f->long_text, 'x', sizeof f->long_text);
    for (uint32_t i = 0; i < ROWS; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const uint32_t r = (uint32_t)(seed >> 33);
        f->ints[i] = r % 5 == 0 ? ALM_INT_NULL : (int32_t)r - (1 << 30);
        f->longs[i] = r % 7 == 0 ? ALM_LONG_NULL : r % 7 == 1 ? INT64_MAX : (int64_t)seed;
        f->times[i] = r % 6 == 0 ? ALM_TS_NULL : r % 6 == 1 ? INT64_MIN + 1 : (int64_t)(seed >> 12);
        f->nanos[i] = r % 6 == 2 ? ALM_TS_NULL : (int64_t)(seed >> 2);
        f->doubles[i] = r % 3 == 0 ? reals[r % ALM_COUNT(reals)] : (double)r / 7;
        f->texts[i] = r % 9 == 0    ? alm_view_null()
                      : r % 50 == 1 ? alm_view_of((alm_str){f->long_text, r % sizeof f->long_text})
                                    : alm_view_of(alm_str_of(words[r % ALM_COUNT(words)]));
    }
    f->constant = alm_view_of(ALM_STR("the same in every row"));
    column(f, 0, ALM_TY(TIMESTAMP), f->times, false);
    column(f, 1, ALM_TY(VARCHAR), f->texts, false);
    column(f, 2, ALM_TY(INT), f->ints, false);
    column(f, 3, ALM_TY(DOUBLE), f->doubles, false);
    column(f, 4, ALM_TY(STRING), &f->constant, true);
    column(f, 5, ALM_TY(LONG), f->longs, false);
    column(f, 6, ALM_TY(TIMESTAMP_NS), f->nanos, false);
    f->batch = (alm_batch){.rows = ROWS, .n_cols = COLS, .cols = f->cols};
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    alm_arena_init(&f->arena, NULL);
    f->cx = (alm_ctx){.arena = &f->arena};
    fill(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    alm_arena_deinit(&f->arena);
    free(f);
    return 0;
}

/* Messages of rows [from, to), cell by cell. */
static void by_cells(fixture *f, uint32_t from, uint32_t to, alm_buf *out)
{
    for (uint32_t row = from; row < to; row++) {
        const size_t at = out->len;
        assert_int_equal(alm_buf_append(&f->cx, out, "D\0\0\0\0\0\0", 7), ALM_OK);
        alm_be_put16(out->ptr + at + 5, COLS);
        for (uint32_t c = 0; c < COLS; c++)
            assert_int_equal(alm_pg_cell_put(&f->cx, &f->cells[c], &f->cols[c], row, out), ALM_OK);
        alm_be_put32(out->ptr + at + 1, (uint32_t)(out->len - at - 1));
    }
}

static void same_bytes(void **state)
{
    static const uint32_t ranges[][2] = {{0, 1},   {0, 127},  {0, 128},
                                         {1, 130}, {3, 1000}, {999, 1000}};
    fixture *f = *state;
    assert_true(alm_pg_rows_can(f->cells, COLS));
    for (size_t i = 0; i < ALM_COUNT(ranges); i++) {
        alm_buf want, got;
        uint32_t end = 0;
        alm_buf_init(&want, NULL);
        alm_buf_init(&got, NULL);
        assert_int_equal(alm_buf_append(&f->cx, &got, "before", 6), ALM_OK);
        by_cells(f, ranges[i][0], ranges[i][1], &want);
        assert_int_equal(alm_pg_rows_put(&f->cx, f->cells, &f->batch, ranges[i][0], ranges[i][1],
                                         SIZE_MAX, &got, &end),
                         ALM_OK);
        assert_int_equal(end, ranges[i][1]);
        assert_int_equal(got.len, want.len + 6);
        assert_memory_equal(got.ptr + 6, want.ptr, want.len);
        alm_buf_deinit(&want);
        alm_buf_deinit(&got);
    }
}

/* Pieces of any room are the whole, and pass the room by one row at most. */
static void room_is_kept(void **state)
{
    fixture *f = *state;
    alm_buf want, got;
    alm_buf_init(&want, NULL);
    by_cells(f, 0, ROWS, &want);
    for (size_t room = 1; room < 200000; room = room * 3 + 1) {
        alm_buf_init(&got, NULL);
        for (uint32_t at = 0, end = 0; at < ROWS; at = end) {
            const size_t start = got.len;
            assert_int_equal(
                alm_pg_rows_put(&f->cx, f->cells, &f->batch, at, ROWS, room, &got, &end), ALM_OK);
            assert_true(end > at);
            assert_true(got.len - start < room + sizeof f->long_text + 200);
            assert_true(end == ROWS || got.len - start >= room);
        }
        assert_int_equal(got.len, want.len);
        assert_memory_equal(got.ptr, want.ptr, want.len);
        alm_buf_deinit(&got);
    }
    alm_buf_deinit(&want);
}

static void which_columns(void **state)
{
    fixture *f = *state;
    alm_pg_cell cells[20];
    for (size_t i = 0; i < ALM_COUNT(cells); i++)
        alm_pg_cell_init(NULL, &cells[i], ALM_TY(VARCHAR), false);
    assert_true(alm_pg_rows_can(cells, 16));
    assert_false(alm_pg_rows_can(cells, 17));
    alm_pg_cell_init(NULL, &cells[0], ALM_TY(DOUBLE),
                     false); /* a text whose length is not known before */
    assert_false(alm_pg_rows_can(cells, 2));
    alm_pg_cell_init(NULL, &cells[0], ALM_TY(UUID), true);
    assert_false(alm_pg_rows_can(cells, 2));
    (void)f;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(same_bytes), CASE(room_is_kept), CASE(which_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
