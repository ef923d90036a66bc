/*
 * decoded_test.c - who may lose decoded columns: readings that begin while a search for room goes on.
 *
 * Method      Columns without a part: memory of their own, and a `drop` that plays the reader who comes in between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "storage/part/decoded.h"

enum { COLS = 2, BYTES = 1 << 16 };

typedef struct world {
    alm_arena arena;
    alm_ctx cx;
    alm_decoded decoded;
    alm_decoded_col col[COLS];
    alm_reading late;
    bool late_reads;      /* while the first column goes, somebody begins to read the other */
    uint32_t drops[COLS]; /* how often each was asked to go */
} world;

/* As parquet.c: a touch that came in between keeps the column. */
static bool drop(void *arg, alm_decoded_col *col, uint64_t touched)
{
    world *w = arg;
    const size_t which = (size_t)(col - w->col);
    w->drops[which]++;
    if (which == 0 && w->late_reads) {
        alm_reading_begin(&w->decoded, &w->late);
        alm_decoded_touch(&w->decoded, &w->col[1]);
    }
    return atomic_load(&col->touched) == touched;
}

static void take(world *w, uint32_t which)
{
    alm_decoded_touch(&w->decoded, &w->col[which]);
    assert_int_equal(alm_decoded_take(&w->cx, &w->decoded, &w->col[which], 0, BYTES), ALM_OK);
    memset(w->col[which].at, 'x', BYTES);
}

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    void *memory = NULL;
    const alm_io *io = alm_io_posix();
    assert_non_null(w);
    alm_arena_init(&w->arena, NULL);
    w->cx.arena = &w->arena;
    alm_decoded_init(&w->decoded, io, NULL, COLS * BYTES);
    for (size_t i = 0; i < COLS; i++) {
        assert_int_equal(io->reserve(io, BYTES, &memory), 0);
        w->col[i] = (alm_decoded_col){.at = memory, .size = BYTES, .drop = drop, .arg = w};
    }
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world *w = *state;
    const alm_io *io = alm_io_posix();
    for (size_t i = 0; i < COLS; i++) {
        alm_decoded_give(&w->decoded, &w->col[i]);
        assert_int_equal(io->unmap(io, w->col[i].at, BYTES), 0);
    }
    alm_decoded_deinit(&w->decoded);
    alm_arena_deinit(&w->arena);
    free(w);
    return 0;
}

static void unread_columns_go(void **state)
{
    world *w = *state;
    take(w, 0);
    take(w, 1);
    alm_decoded_drop_all(&w->decoded);
    assert_int_equal(w->decoded.bytes, 0);
    assert_int_equal(w->col[1].at[0], 0);
}

static void read_columns_stay(void **state)
{
    world *w = *state;
    alm_reading reading;
    take(w, 0);
    alm_reading_begin(&w->decoded, &reading);
    take(w, 1);
    alm_decoded_drop_all(&w->decoded);
    assert_int_equal(w->drops[0], 1);
    assert_int_equal(w->drops[1], 0);
    assert_int_equal(w->col[1].at[0], 'x');
    alm_reading_end(&w->decoded, &reading);
}

/* Nobody reads when the search begins; somebody begins in the middle of it. */
static void a_reading_that_begins_meanwhile(void **state)
{
    world *w = *state;
    take(w, 1);
    take(w, 0); /* the list begins with the newest */
    w->late_reads = true;
    alm_decoded_drop_all(&w->decoded);
    assert_int_equal(w->drops[0], 1);
    assert_int_equal(w->col[1].at[0], 'x');
    assert_true(w->col[1].bytes > 0);
    alm_reading_end(&w->decoded, &w->late);
    w->late_reads = false;
    alm_decoded_drop_all(&w->decoded);
    assert_int_equal(w->decoded.bytes, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(unread_columns_go),
        CASE(read_columns_stay),
        CASE(a_reading_that_begins_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
