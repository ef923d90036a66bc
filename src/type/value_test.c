/*
 * value_test.c - goal: hash, match, compare and sort keys agree with each other and with the order
 * of the dialect, for every type. Method: for each type a list of texts in ascending order (first
 * null where it sorts first); every pair of them is put to every function.
 */
#include "type/value.h"

#include "type/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX = 12 };

typedef struct ladder {
    alm_type_id type;
    const char *texts[MAX]; /* ascending; "" ends, "-" is null */
} ladder;

static const ladder LADDERS[] = {
#define ALM_LADDER(id, ...) {ALM_T_##id, {__VA_ARGS__}},
#include "type/type_samples.def"
};

static size_t ladder_count(const ladder *l)
{
    size_t n = 0;
    while (n < MAX && l->texts[n] != NULL)
        n++;
    return n;
}

static alm_vec ladder_vector(alm_ctx *cx, alm_arena *arena, const ladder *l, size_t n)
{
    alm_vec v;
    const alm_type type = {.id = (uint8_t)l->type};
    assert_int_equal(alm_vec_new(cx, arena, type, n, &v), ALM_OK);
    for (size_t i = 0; i < n; i++) {
        const bool is_null = strcmp(l->texts[i], "-") == 0;
        const alm_str text = is_null ? (alm_str){0} : alm_str_of(l->texts[i]);
        assert_int_equal(alm_value_parse(cx, 0, type, text, (char *)v.data + i * v.width), ALM_OK);
    }
    return v;
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

/* Everything that is said of one ladder in a vector. */
static void check_ladder(const alm_vec *v, const ladder *l, size_t n, bool keys_may_tie)
{
    uint64_t hash[MAX], keys[MAX], combined[MAX];
    uint8_t nulls[MAX];
    alm_vec_hash(v, n, hash);
    memcpy(combined, hash, sizeof(combined));
    alm_vec_hash_combine(v, n, combined);
    const bool exact = alm_vec_sort_keys(v, n, keys);
    assert_int_equal(exact, !keys_may_tie);
    size_t null_count = 0;
    for (size_t i = 0; i < n; i++)
        null_count += strcmp(l->texts[i], "-") == 0;
    assert_int_equal(alm_vec_null_mask(v, n, nulls), null_count);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(nulls[i], strcmp(l->texts[i], "-") == 0);
        assert_int_equal(nulls[i], alm_vec_is_null(v, i));
        for (size_t j = 0; j < n; j++) {
            const uint32_t at_i = (uint32_t)i, at_j = (uint32_t)j;
            uint8_t match = 1;
            alm_vec_match(v, &at_i, v, &at_j, 1, &match);
            assert_int_equal(match, i == j);
            assert_int_equal(alm_vec_equal(v, i, v, j), i == j);
            assert_int_equal(sign(alm_vec_compare(v, i, v, j)), sign((int)i - (int)j));
            assert_int_equal(hash[i] == hash[j], i == j);
            assert_int_equal(combined[i] == combined[j], i == j);
            if (exact)
                assert_int_equal(keys[i] < keys[j], i < j);
            else
                assert_true(i == j || (i < j) == (keys[i] <= keys[j]) || keys[i] == keys[j]);
        }
    }
    uint8_t none[MAX] = {0}; /* what did not match before does not now */
    alm_vec_match(v, NULL, v, NULL, n, none);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(none[i], 0);
}

static bool keys_tie(alm_type_id type)
{
    return type == ALM_T_STRING || type == ALM_T_VARCHAR || type == ALM_T_SYMBOL ||
           type == ALM_T_UUID || type == ALM_T_INTERVAL || type == ALM_T_LONG256 ||
           type == ALM_T_BINARY;
}

static void test_ladders(void **state)
{
    (void)state;
    bool seen[ALM_TYPE_COUNT] = {0};
    for (size_t k = 0; k < ALM_COUNT(LADDERS); k++) {
        alm_ctx cx = {0};
        alm_arena arena = {0};
        const ladder *l = &LADDERS[k];
        const size_t n = ladder_count(l);
        const alm_vec v = ladder_vector(&cx, &arena, l, n);
        check_ladder(&v, l, n, keys_tie(l->type));
        seen[l->type] = true;
        /* a constant stands for all rows */
        alm_vec one = v;
        one.is_const = true;
        uint64_t hash[MAX], first, keys[MAX], key;
        alm_vec_hash(&v, 1, &first);
        alm_vec_hash(&one, n, hash);
        (void)alm_vec_sort_keys(&v, 1, &key);
        (void)alm_vec_sort_keys(&one, n, keys);
        for (size_t i = 0; i < n; i++) {
            assert_true(hash[i] == first && keys[i] == key);
            assert_int_equal(sign(alm_vec_compare(&one, i, &v, i)), i == 0 ? 0 : -1);
        }
        alm_arena_deinit(&arena);
    }
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        if (!seen[id] && id != ALM_T_ARRAY) /* arrays are equal or not, but have no order */
            fail_msg("no ladder of %s", alm_type_name((alm_type){.id = id}));
}

/* Decimals and geohashes of every width. */
static void test_widths(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        ladder l;
        bool ties;
    } rows[] = {
        {"decimal(2,1)", {ALM_T_DECIMAL, {"-", "-9.9", "-1", "0", "0.1", "9.9"}}, false},
        {"decimal(4,2)", {ALM_T_DECIMAL, {"-", "-99.99", "-1", "0", "0.01", "99.99"}}, false},
        {"decimal(9,3)", {ALM_T_DECIMAL, {"-", "-999999", "-1", "0", "0.001", "9"}}, false},
        {"decimal(38,0)",
         {ALM_T_DECIMAL,
          {"-", "-99999999999999999999999999999999999999", "-18446744073709551616", "-1", "0", "1",
           "18446744073709551615", "18446744073709551616",
           "99999999999999999999999999999999999999"}},
         true},
        {"decimal(76,0)",
         {ALM_T_DECIMAL,
          {"-", "-9e75", "-99999999999999999999999999999999999999", "-18446744073709551616", "-1",
           "0", "1", "18446744073709551615", "1e40", "9e75"}},
         true},
        {"geohash(1c)", {ALM_T_GEOHASH, {"-", "0", "1", "u", "z"}}, false},
        {"geohash(15b)", {ALM_T_GEOHASH, {"-", "000", "u33", "zzz"}}, false},
        {"geohash(30b)", {ALM_T_GEOHASH, {"-", "000000", "u33d8b", "zzzzzz"}}, false},
    };
    for (size_t k = 0; k < ALM_COUNT(rows); k++) {
        alm_ctx cx = {0};
        alm_arena arena = {0};
        alm_type type;
        alm_vec v;
        assert_true(alm_type_parse(alm_str_of(rows[k].type), &type));
        const size_t n = ladder_count(&rows[k].l);
        assert_int_equal(alm_vec_new(&cx, &arena, type, n, &v), ALM_OK);
        for (size_t i = 0; i < n; i++) {
            const char *text = rows[k].l.texts[i];
            const alm_str in = strcmp(text, "-") == 0 ? (alm_str){0} : alm_str_of(text);
            assert_int_equal(alm_value_parse(&cx, 0, type, in, (char *)v.data + i * v.width),
                             ALM_OK);
        }
        check_ladder(&v, &rows[k].l, n, rows[k].ties);
        alm_arena_deinit(&arena);
    }
}

/* Symbols by code, in every width; the dictionary is not in order of text. */
static void test_symbol_codes(void **state)
{
    (void)state;
    const alm_view views[] = {alm_view_null(), alm_view_of(ALM_STR("b")), alm_view_of(ALM_STR("A")),
                              alm_view_of(ALM_STR("aaaaaaaabaaaaaaaaa")),
                              alm_view_of(ALM_STR("aaaaaaaab"))};
    const alm_dict dict = {.views = views, .count = 5, .id = 9};
    static const ladder l = {ALM_T_SYMBOL, {"-", "A", "aaaaaaaab", "aaaaaaaabaaaaaaaaa", "b"}};
    uint8_t codes8[] = {0, 2, 4, 3, 1};
    uint16_t codes16[] = {0, 2, 4, 3, 1};
    uint32_t codes32[] = {0, 2, 4, 3, 1};
    const alm_vec v8 = {.type = ALM_TY(SYMBOL), .width = 1, .data = codes8, .dict = &dict};
    const alm_vec v16 = {.type = ALM_TY(SYMBOL), .width = 2, .data = codes16, .dict = &dict};
    const alm_vec v32 = {.type = ALM_TY(SYMBOL), .width = 4, .data = codes32, .dict = &dict};
    check_ladder(&v8, &l, 5, true);
    check_ladder(&v16, &l, 5, true);
    check_ladder(&v32, &l, 5, true);
    uint64_t h8[5], h32[5];
    alm_vec_hash(&v8, 5, h8);
    alm_vec_hash(&v32, 5, h32);
    assert_memory_equal(h8, h32, sizeof(h8)); /* whatever the width of the part */
    uint8_t match[5] = {1, 1, 1, 1, 1};
    alm_vec_match(&v8, NULL, &v32, NULL, 5, match);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(match[i], 1);
    /* text on the other side */
    alm_view texts[] = {alm_view_of(ALM_STR("A"))};
    const alm_vec text = {.type = ALM_TY(VARCHAR), .width = 16, .data = texts, .is_const = true};
    assert_true(alm_vec_equal(&v16, 1, &text, 0));
    assert_true(alm_vec_compare(&v16, 4, &text, 0) > 0);
}

static void test_floating_zero_and_nan(void **state)
{
    (void)state;
    double d[] = {
        0.0, -0.0, __builtin_nan("1"), -__builtin_nan("7"), __builtin_inf(), -__builtin_inf()};
    float f[] = {0.0F,
                 -0.0F,
                 __builtin_nanf("1"),
                 -__builtin_nanf("7"),
                 __builtin_inff(),
                 -__builtin_inff()};
    const alm_vec vectors[] = {{.type = ALM_TY(DOUBLE), .width = 8, .data = d},
                               {.type = ALM_TY(FLOAT), .width = 4, .data = f}};
    for (size_t k = 0; k < 2; k++) {
        const alm_vec *v = &vectors[k];
        uint64_t hash[6], keys[6];
        uint8_t nulls[6];
        alm_vec_hash(v, 6, hash);
        assert_true(alm_vec_sort_keys(v, 6, keys));
        assert_int_equal(alm_vec_null_mask(v, 6, nulls), 4);
        for (size_t i = 0; i < 6; i++) {
            const size_t same = i < 2 ? 0 : 2; /* both zeros; all that is not finite */
            assert_true(hash[i] == hash[same] && keys[i] == keys[same]);
            assert_true(alm_vec_equal(v, i, v, same));
            assert_int_equal(nulls[i], i >= 2);
        }
        assert_true(hash[0] != hash[2] && keys[0] < keys[2]);
    }
}

static void test_long_text_in_heaps(void **state)
{
    (void)state;
    static const char heap_a[] = "....the same text of many bytes";
    static const char heap_b[] = "the same text of many bytes|the same text of many bytez";
    alm_view a = alm_view_of((alm_str){heap_a + 4, 27}), b[2];
    a.off = 4;
    b[0] = alm_view_of((alm_str){heap_b, 27});
    b[0].off = 0;
    b[1] = alm_view_of((alm_str){heap_b + 28, 27});
    b[1].off = 28;
    const alm_vec va = {.type = ALM_TY(STRING), .width = 16, .data = &a, .heap = heap_a};
    const alm_vec vb = {.type = ALM_TY(STRING), .width = 16, .data = b, .heap = heap_b};
    uint64_t ha, hb[2];
    alm_vec_hash(&va, 1, &ha);
    alm_vec_hash(&vb, 2, hb);
    assert_true(ha == hb[0] && ha != hb[1]);
    assert_true(alm_vec_equal(&va, 0, &vb, 0));
    assert_true(alm_vec_compare(&va, 0, &vb, 1) < 0);
    const uint32_t zero[2] = {0, 0};
    uint8_t match[2] = {1, 1};
    alm_vec_match(&va, zero, &vb, NULL, 2, match);
    assert_true(match[0] == 1 && match[1] == 0);
}

static void test_speed(void **state)
{
    (void)state;
    if (getenv("ALM_BENCH") == NULL)
        skip();
    enum { N = ALM_BATCH_ROWS, ROUNDS = 2000 };
    alm_ctx cx = {0};
    alm_arena arena = {0};
    const double values = (double)((int64_t)N * ROUNDS);
    static uint64_t hash[N];
    static uint32_t idx[N];
    for (uint32_t i = 0; i < N; i++)
        idx[i] = i * 3 % N;
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        alm_vec v, out;
        const alm_type type = {.id = id};
        assert_int_equal(alm_vec_new(&cx, &arena, type, N, &v), ALM_OK);
        memset(v.data, 0, (size_t)N * v.width);
        const int64_t t0 = alm_monotonic_ns();
        for (int r = 0; r < ROUNDS; r++)
            alm_vec_hash(&v, N, hash);
        const int64_t t1 = alm_monotonic_ns();
        alm_arena scratch = {0};
        for (int r = 0; r < ROUNDS; r++) {
            assert_int_equal(alm_vec_gather(&cx, &scratch, &v, idx, N, &out), ALM_OK);
            alm_arena_reset(&scratch);
        }
        const int64_t t2 = alm_monotonic_ns();
        for (int r = 0; r < ROUNDS; r++)
            (void)alm_vec_sort_keys(&v, N, hash);
        const int64_t t3 = alm_monotonic_ns();
        alm_arena_deinit(&scratch);
        print_message("%-12s hash %.2f gather %.2f sort key %.2f ns/row\n", alm_type_name(type),
                      (double)(t1 - t0) / values, (double)(t2 - t1) / values,
                      (double)(t3 - t2) / values);
    }
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ladders),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_symbol_codes),
        cmocka_unit_test(test_floating_zero_and_nan),
        cmocka_unit_test(test_long_text_in_heaps),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
