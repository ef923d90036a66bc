/*
 * Goal    Sorting gives the one stable order, for every kind of key, any distribution of values, any
 *         number of threads, short and long inputs; it can be cancelled.
 * Method  Random keys against a merge sort by alm_sort_compare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exec/sort/sortkey.h"

enum { BIG_ROWS = 300000, KINDS = 8 };

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
    alm_pool pool;
    alm_workers *workers;
    atomic_bool cancel;
    uint64_t seed;
} world;

static uint64_t next_random(world *w)
{
    w->seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = w->seed;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static int open_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    w->cx.arena = &w->arena;
    w->cx.cancel = &w->cancel;
    alm_arena_init(&w->arena, NULL);
    alm_pool_init(&w->pool, NULL, "sort");
    assert_int_equal(alm_workers_new(&w->cx, 3, &w->workers), ALM_OK);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    world *w = *state;
    alm_workers_free(w->workers);
    alm_pool_deinit(&w->pool);
    alm_arena_deinit(&w->arena);
    free(w);
    return 0;
}

static alm_view random_text(world *w, uint64_t r)
{
    static const char *const heads[] = {"", "a", "http://www.example.com/a/long/prefix/of/a/path/",
                                        "http://www.example.com/"};
    char buf[128];
    alm_str text = {NULL, 0};
    if (r % 11 == 0)
        return alm_view_null();
    int n = snprintf(buf, sizeof buf, "%s%llu", heads[r % 4], (unsigned long long)(r >> 8 & 1023));
    if (r % 13 == 0)
        n = 0;
    if (r % 17 == 0)
        buf[n++] = 0;
    assert_int_equal(alm_arena_copy(&w->cx, &w->arena, (alm_str){buf, (size_t)n}, &text), ALM_OK);
    return alm_view_of(text);
}

/* Kinds: random and few LONGs, DOUBLEs of all sizes, one far away, rising TIMESTAMPs, VARCHAR, UUID,
 * BOOLEAN. */
static alm_vec random_key(world *w, uint32_t kind, uint32_t n)
{
    static const uint8_t widths[KINDS] = {8, 8, 8, 8, 8, 16, 16, 1};
    static const uint8_t types[KINDS] = {ALM_T_LONG, ALM_T_LONG,      ALM_T_DOUBLE,
                                         ALM_T_LONG, ALM_T_TIMESTAMP, ALM_T_VARCHAR,
                                         ALM_T_UUID, ALM_T_BOOLEAN};
    char *data = NULL;
    assert_int_equal(alm_arena_zero(&w->cx, &w->arena, (size_t)n * widths[kind] + 1, &data),
                     ALM_OK);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t r = next_random(w);
        int64_t word = (int64_t)r;
        switch (kind) {
        case 1:
            word = r % 10 == 0 ? ALM_LONG_NULL : (int64_t)(r % 7);
            break;
        case 2: {
            const double x =
                r % 19 == 0 ? __builtin_nan("") : (double)(int64_t)r * 1e-15 * (double)(r % 5);
            memcpy(&word, &x, sizeof x);
            break;
        }
        case 3:
            word = i == n / 2 ? INT64_MAX : (int64_t)(r % 100000);
            break;
        case 4:
            word = i;
            break;
        case 5: {
            const alm_view v = random_text(w, r);
            memcpy(data + (size_t)i * 16, &v, sizeof v);
            continue;
        }
        case 6: {
            const uint64_t half[2] = {next_random(w) % 3, r % 4 == 0 ? 0 : r % 3};
            memcpy(data + (size_t)i * 16, half, sizeof half);
            continue;
        }
        case 7:
            data[i] = r & 1;
            continue;
        default:
            break;
        }
        memcpy(data + (size_t)i * 8, &word, sizeof word);
    }
    return (alm_vec){.type = {.id = types[kind]}, .width = widths[kind], .data = data};
}

static bool before(const alm_vec *key, const alm_sort_order *order, uint32_t n_keys, uint32_t a,
                   uint32_t b)
{
    for (uint32_t k = 0; k < n_keys; k++) {
        const int c = alm_sort_compare(&key[k], &order[k], a, b);
        if (c != 0)
            return c < 0;
    }
    return a < b;
}

static void check_order(world *w, alm_workers *workers, const alm_vec *key,
                        const alm_sort_order *order, uint32_t n_keys, uint32_t n)
{
    alm_sort_item *item = NULL;
    uint8_t *seen = NULL;
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, 2 * (size_t)n + 1, &item), ALM_OK);
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, n + 1, &seen), ALM_OK);
    for (uint32_t i = 0; i < n; i++)
        item[i].row = i;
    assert_int_equal(alm_sort_items_on(&w->cx, workers, key, order, n_keys, item, item + n, n),
                     ALM_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(item[i].row < n && !seen[item[i].row]);
        seen[item[i].row] = 1;
        if (i > 0) /* the order is total, so neighbours suffice */
            assert_true(before(key, order, n_keys, item[i - 1].row, item[i].row));
    }
}

static void every_kind_and_pair_is_ordered(void **state)
{
    world *w = *state;
    static const uint32_t sizes[] = {0, 1, 2, 39, 300, 9000, 40000};
    for (size_t s = 0; s < ALM_COUNT(sizes); s++)
        for (uint32_t a = 0; a < KINDS; a++) {
            const uint32_t b = (a + 1 + (uint32_t)s) % KINDS;
            const alm_vec key[2] = {random_key(w, a, sizes[s]), random_key(w, b, sizes[s])};
            const alm_sort_order order[2] = {{.desc = s % 2 == 1, .nulls_first = a % 2 == 1},
                                             {.desc = a % 2 == 1, .nulls_first = s % 2 == 1}};
            check_order(w, NULL, key, order, 2, sizes[s]);
            check_order(w, NULL, key, order, 1, sizes[s]);
            alm_arena_reset(&w->arena);
        }
}

static void big_inputs_take_all_threads(void **state)
{
    world *w = *state;
    for (uint32_t a = 0; a < KINDS; a++) {
        const alm_vec key[2] = {random_key(w, a, BIG_ROWS),
                                random_key(w, (a + 3) % KINDS, BIG_ROWS)};
        const alm_sort_order order[2] = {{.desc = a % 2 == 0}, {.nulls_first = true}};
        check_order(w, w->workers, key, order, 2, BIG_ROWS);
        alm_arena_reset(&w->arena);
    }
}

static void symbols_are_ordered_by_text(void **state)
{
    world *w = *state;
    enum { N = 5000 };
    alm_view names[4] = {alm_view_null(), alm_view_of(ALM_STR("b")), alm_view_of(ALM_STR("a")),
                         alm_view_of(ALM_STR("c"))};
    const alm_dict dict = {.views = names, .count = 4, .id = 1};
    uint8_t code[N];
    for (uint32_t i = 0; i < N; i++)
        code[i] = (uint8_t)(next_random(w) % 4);
    const alm_vec key = {.type = ALM_TY(SYMBOL), .width = 1, .data = code, .dict = &dict};
    alm_sort_order order = {.desc = true};
    check_order(w, NULL, &key, &order, 1, N); /* without ranks */
    assert_int_equal(alm_sort_rank(&w->cx, &w->pool, &key, &order), ALM_OK);
    assert_true(alm_sort_exact(&key, &order));
    check_order(w, NULL, &key, &order, 1, N);
}

static void a_running_sort_is_cancelled(void **state)
{
    world *w = *state;
    alm_sort_item *item = NULL;
    const alm_vec key = random_key(w, 0, BIG_ROWS);
    const alm_sort_order order = {0};
    assert_int_equal(ALM_NEWN(&w->cx, &w->arena, 2 * (size_t)BIG_ROWS, &item), ALM_OK);
    for (uint32_t i = 0; i < BIG_ROWS; i++)
        item[i].row = i;
    atomic_store(&w->cancel, true);
    assert_int_equal(
        alm_sort_items_on(&w->cx, w->workers, &key, &order, 1, item, item + BIG_ROWS, BIG_ROWS),
        ALM_E_CANCEL);
    alm_error_clear(&w->cx);
    assert_int_equal(alm_sort_items(&w->cx, &key, &order, 1, item, item + 100, 100), ALM_E_CANCEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_and_pair_is_ordered, open_world, close_world),
        cmocka_unit_test_setup_teardown(big_inputs_take_all_threads, open_world, close_world),
        cmocka_unit_test_setup_teardown(symbols_are_ordered_by_text, open_world, close_world),
        cmocka_unit_test_setup_teardown(a_running_sort_is_cancelled, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
