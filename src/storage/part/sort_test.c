/*
 * Goal    alm_part_sort gives the stable order of rows by time, whatever the times and the sizes of the chunks are.
 * Method  Times of many shapes in chunks of random sizes, with a plain sort as oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "storage/part/part.h"

enum { ROWS = 150000, CHUNK_MAX = 4000 };

typedef struct rows {
    int64_t ts[ROWS];
    alm_part_chunk chunks[ROWS];
    alm_vec vecs[ROWS];
    size_t n_chunks;
} rows;

static uint64_t seed = 7;

static uint64_t draw(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Chunks of 1 to `most` rows over the first n times; each seventh has one time for all of its rows. */
static void cut(rows *r, uint32_t n, uint32_t most)
{
    r->n_chunks = 0;
    for (uint32_t at = 0; at < n;) {
        const uint32_t some = 1 + (uint32_t)(draw() % most), size = ALM_MIN(some, n - at);
        alm_vec *v = &r->vecs[r->n_chunks];
        *v = (alm_vec){.type = ALM_TY(TIMESTAMP),
                       .width = 8,
                       .is_const = r->n_chunks % 7 == 3,
                       .data = r->ts + at};
        r->chunks[r->n_chunks++] = (alm_part_chunk){.rows = size, .cols = v};
        at += size;
    }
}

static int64_t time_of(const rows *r, uint64_t row)
{
    const alm_vec *v = &r->vecs[row >> 32];
    return ((const int64_t *)v->data)[v->is_const ? 0 : (uint32_t)row];
}

static const rows *sorted;

static int by_time(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    const int64_t tx = time_of(sorted, x), ty = time_of(sorted, y);
    if (tx != ty)
        return tx < ty ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void check(const rows *r, uint32_t n)
{
    alm_ctx cx = {0};
    uint64_t *order = NULL;
    int64_t got = 0;
    uint64_t *want = calloc(n, sizeof *want);
    size_t k = 0;
    for (size_t c = 0; c < r->n_chunks; c++)
        for (uint32_t i = 0; i < r->chunks[c].rows; i++)
            want[k++] = (uint64_t)c << 32 | i;
    assert_int_equal(alm_part_sort(&cx, r->chunks, r->n_chunks, 0, &order, &got), ALM_OK);
    assert_int_equal(got, n);
    sorted = r;
    qsort(want, n, sizeof *want, by_time);
    bool same = true, as_they_come = true;
    for (size_t i = 0; i < n; i++) {
        same &= order == NULL || order[i] == want[i];
        as_they_come &= i == 0 || want[i] > want[i - 1];
    }
    assert_true(order == NULL ? as_they_come : same);
    free(want);
    free(order);
}

typedef int64_t shape(uint32_t i);

static int64_t of_an_hour(uint32_t i)
{
    (void)i;
    return INT64_C(1750000000000000) + (int64_t)(draw() % UINT64_C(3600000000));
}

static int64_t of_all_times(uint32_t i)
{
    (void)i;
    return (int64_t)draw();
}

/* One row of another century: all the others have the highest bits in common. */
static int64_t with_one_far_away(uint32_t i)
{
    return i == 777 ? INT64_MIN + 5 : of_an_hour(i);
}

static int64_t of_few_times(uint32_t i)
{
    (void)i;
    return (int64_t)(draw() % 3) * INT64_C(86400000000);
}

static int64_t mostly_of_one_time(uint32_t i)
{
    return draw() % 100 == 0 ? of_all_times(i) : 42;
}

static int64_t nearly_in_order(uint32_t i)
{
    return (int64_t)i * 1000 + (int64_t)(draw() % 5000);
}

static int64_t in_order(uint32_t i)
{
    return (int64_t)i / 3;
}

static void any_times_are_sorted(void **state)
{
    (void)state;
    shape *const shapes[] = {of_an_hour,         of_all_times,    with_one_far_away, of_few_times,
                             mostly_of_one_time, nearly_in_order, in_order};
    const uint32_t sizes[] = {1, 2, 20, 1000, 32768, 32769, ROWS};
    rows *r = calloc(1, sizeof *r);
    for (size_t s = 0; s < ALM_COUNT(shapes); s++)
        for (size_t k = 0; k < ALM_COUNT(sizes); k++)
            for (uint32_t most = 1; most <= CHUNK_MAX; most *= 63) {
                for (uint32_t i = 0; i < sizes[k]; i++)
                    r->ts[i] = shapes[s](i);
                cut(r, sizes[k], most);
                check(r, sizes[k]);
            }
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_times_are_sorted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
