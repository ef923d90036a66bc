/*
 * vector_test.c - goal: columns keep their values through gather, selection, expansion and
 * decoding, for every type of the table and every code width; nulls stay nulls. Method: each type's
 * elements are filled with distinct bytes and moved; results are compared with a plain loop.
 */
#include "type/vector.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 300 };

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f = (fixture){0};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(f->cx.err.code, ALM_OK);
    alm_arena_deinit(&f->arena);
    return 0;
}

static bool holds_text(alm_type type)
{
    return alm_type_is_text(type) || type.id == ALM_T_BINARY;
}

/* N distinct elements; texts of 0 to 40 bytes in a heap, every seventh null. */
static alm_vec make(fixture *f, alm_type type, char *heap, size_t heap_bytes)
{
    alm_vec v;
    assert_int_equal(alm_vec_new(&f->cx, &f->arena, type, N, &v), ALM_OK);
    uint8_t *bytes = v.data;
    for (size_t i = 0; i < (size_t)N * v.width; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 251);
    if (!holds_text(type))
        return v;
    alm_view *views = v.data;
    size_t used = 0;
    for (size_t i = 0; i < N; i++) {
        char text[48];
        const size_t len = i % 41;
        for (size_t k = 0; k < len; k++)
            text[k] = (char)('a' + (i + k) % 26);
        if (i % 7 == 6) {
            views[i] = alm_view_null();
            continue;
        }
        views[i] = alm_view_of((alm_str){text, len});
        if (len > ALM_VIEW_INLINE) {
            assert_true(used + len <= heap_bytes);
            memcpy(heap + used, text, len);
            views[i].off = used;
            used += len;
        }
    }
    v.heap = heap;
    return v;
}

static void expect_same(const alm_vec *a, size_t i, const alm_vec *b, size_t j)
{
    if (holds_text(a->type)) {
        const alm_str x = alm_vec_text(a, i), y = alm_vec_text(b, j);
        assert_true((x.ptr == NULL) == (y.ptr == NULL));
        assert_true(alm_str_eq(x, y));
        return;
    }
    const char *p = (const char *)a->data + (a->is_const ? 0 : i) * a->width;
    const char *q = (const char *)b->data + (b->is_const ? 0 : j) * b->width;
    assert_memory_equal(p, q, a->width);
}

static void check_moves(fixture *f, alm_type type)
{
    char heap[N * 48];
    const alm_vec v = make(f, type, heap, sizeof(heap));
    uint32_t idx[N];
    uint16_t sel[N];
    for (uint32_t i = 0; i < N; i++)
        idx[i] = i * 37 % N;
    alm_vec got;
    assert_int_equal(alm_vec_gather(&f->cx, &f->arena, &v, idx, N, &got), ALM_OK);
    if (holds_text(type))
        assert_null(got.heap);
    for (size_t i = 0; i < N; i++)
        expect_same(&got, i, &v, idx[i]);

    for (size_t gap = 1; gap <= 3; gap++) { /* gap 1: one run, which is pointed at */
        uint32_t rows = 0;
        for (size_t i = 5; i < N; i += gap)
            sel[rows++] = (uint16_t)i;
        alm_vec col = v;
        col.indirect = true;
        alm_batch batch = {.rows = rows, .n_cols = 1, .cols = &col, .sel = sel};
        alm_vec *dense = NULL;
        assert_int_equal(alm_batch_column(&f->cx, &f->arena, &batch, 0, &dense), ALM_OK);
        assert_ptr_equal(dense, &col);
        assert_false(dense->indirect);
        for (size_t i = 0; i < rows; i++)
            expect_same(dense, i, &v, sel[i]);
        const void *data = dense->data; /* the second time costs nothing */
        assert_int_equal(alm_batch_column(&f->cx, &f->arena, &batch, 0, &dense), ALM_OK);
        assert_ptr_equal(dense->data, data);
    }

    alm_vec one = v, flat;
    one.is_const = true;
    assert_int_equal(alm_vec_expand(&f->cx, &f->arena, &one, N, &flat), ALM_OK);
    assert_false(flat.is_const);
    for (size_t i = 0; i < N; i++)
        expect_same(&flat, i, &v, 0);
    assert_int_equal(alm_vec_expand(&f->cx, &f->arena, &v, N, &flat), ALM_OK);
    assert_ptr_equal(flat.data, v.data);
    assert_int_equal(alm_vec_gather(&f->cx, &f->arena, &one, idx, N, &got), ALM_OK);
    assert_true(got.is_const);
    assert_ptr_not_equal(got.data, v.data);
    expect_same(&got, 5, &v, 0);
}

static void test_moves_of_every_type(void **state)
{
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        check_moves(*state, (alm_type){.id = id});
}

static void test_null_of_every_type(void **state)
{
    fixture *f = *state;
    for (uint8_t id = ALM_T_NULL; id < ALM_TYPE_COUNT; id++) {
        const alm_type type = {.id = id};
        alm_vec v, flat;
        assert_int_equal(alm_vec_null(&f->cx, &f->arena, type, &v), ALM_OK);
        assert_true(v.is_const);
        const bool has_null = alm_type_info_of(type)->null != ALM_NULL_NONE;
        assert_int_equal(alm_vec_is_null(&v, 17), has_null);
        assert_int_equal(alm_vec_expand(&f->cx, &f->arena, &v, 10, &flat), ALM_OK);
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(alm_vec_is_null(&flat, i), has_null);
        memset(flat.data, 0x01, 10 * (size_t)flat.width);
        if (!holds_text(type) && id != ALM_T_NULL)
            assert_false(alm_vec_is_null(&flat, 3));
    }
}

static void test_symbols_of_every_width(void **state)
{
    fixture *f = *state;
    const alm_view views[] = {alm_view_null(), alm_view_of(ALM_STR("BTC")),
                              alm_view_of(ALM_STR("a symbol of more than twelve bytes")),
                              alm_view_of(ALM_STR(""))};
    const alm_dict dict = {.views = views, .count = 4, .id = 1};
    uint8_t codes8[N];
    uint16_t codes16[N];
    uint32_t codes32[N], idx[N];
    for (uint32_t i = 0; i < N; i++) {
        codes8[i] = (uint8_t)(i * 7 % 4);
        codes16[i] = codes8[i];
        codes32[i] = codes8[i];
        idx[i] = N - 1 - i;
    }
    void *const data[] = {codes8, codes16, codes32};
    for (size_t w = 0; w < 3; w++) {
        const alm_vec v = {
            .type = ALM_TY(SYMBOL), .width = (uint8_t)(1 << w), .data = data[w], .dict = &dict};
        alm_vec text, back;
        assert_int_equal(alm_vec_decode(&f->cx, &f->arena, &v, N, &text), ALM_OK);
        assert_null(text.dict);
        assert_int_equal(text.width, sizeof(alm_view));
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(alm_vec_code(&v, i), codes8[i]);
            assert_int_equal(alm_vec_is_null(&v, i), codes8[i] == 0);
            assert_int_equal(alm_vec_is_null(&text, i), codes8[i] == 0);
            assert_true(alm_str_eq(alm_vec_text(&v, i), alm_vec_text(&text, i)));
        }
        assert_int_equal(alm_vec_gather(&f->cx, &f->arena, &v, idx, N, &back), ALM_OK);
        assert_ptr_equal(back.dict, &dict);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(alm_vec_code(&back, i), codes8[N - 1 - i]);
        alm_vec one = v;
        one.is_const = true;
        assert_int_equal(alm_vec_decode(&f->cx, &f->arena, &one, N, &text), ALM_OK);
        assert_true(text.is_const);
        assert_true(alm_vec_is_null(&text, 9));
    }
}

static void test_empty_columns(void **state)
{
    fixture *f = *state;
    alm_vec v, got;
    assert_int_equal(alm_vec_new(&f->cx, &f->arena, ALM_TY(LONG), 0, &v), ALM_OK);
    assert_int_equal(alm_vec_gather(&f->cx, &f->arena, &v, NULL, 0, &got), ALM_OK);
    v.indirect = true;
    alm_batch batch = {.rows = 0, .n_cols = 1, .cols = &v, .sel = (const uint16_t[]){0}};
    alm_vec *dense = NULL;
    assert_int_equal(alm_batch_column(&f->cx, &f->arena, &batch, 0, &dense), ALM_OK);
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

static void test_views(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "a",
                                        "ab",
                                        "abc",
                                        "abcd",
                                        "abcde",
                                        "abcdefghijkl",
                                        "abcdefghijklm",
                                        "abcdefghijklmn",
                                        "abcdefghijklo",
                                        "abce",
                                        "b",
                                        "\xC5\xBE",
                                        "\xF0\x9F\x98\x80 and a long tail"};
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        for (size_t j = 0; j < ALM_COUNT(texts); j++) {
            const alm_view a = alm_view_of(alm_str_of(texts[i]));
            const alm_view b = alm_view_of(alm_str_of(texts[j]));
            assert_int_equal(alm_view_eq(&a, NULL, &b, NULL), i == j);
            assert_int_equal(sign(alm_view_cmp(&a, NULL, &b, NULL)), sign((int)i - (int)j));
        }
        const alm_view null = alm_view_null(), text = alm_view_of(alm_str_of(texts[i]));
        assert_false(alm_view_eq(&null, NULL, &text, NULL));
        assert_true(alm_view_cmp(&null, NULL, &text, NULL) < 0);
        assert_true(alm_view_cmp(&text, NULL, &null, NULL) > 0);
    }
    const alm_view null = alm_view_of((alm_str){0}), other = alm_view_null();
    assert_true(alm_view_is_null(&null));
    assert_true(alm_view_eq(&null, NULL, &other, NULL));
    assert_int_equal(alm_view_cmp(&null, NULL, &other, NULL), 0);
    alm_view garbage = alm_view_null(); /* equal whatever else stands in it */
    memset(garbage.prefix, 0x55, sizeof(garbage.prefix));
    assert_true(alm_view_eq(&null, NULL, &garbage, NULL));
    const alm_view zero = alm_view_of((alm_str){"ab\0", 3}), none = alm_view_of(ALM_STR("ab"));
    assert_false(alm_view_eq(&zero, NULL, &none, NULL));
    assert_true(alm_view_cmp(&zero, NULL, &none, NULL) > 0);
}

static void test_type_names(void **state)
{
    (void)state;
    alm_type t;
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        assert_true(alm_type_width((alm_type){.id = id}) > 0);
        if (alm_type_is_sized((alm_type){.id = id}))
            continue; /* text_test.c and array_test.c have their parameters */
        assert_true(alm_type_parse(alm_str_of(alm_type_name((alm_type){.id = id})), &t));
        assert_true(alm_type_eq(t, (alm_type){.id = id}));
    }
    assert_true(alm_type_parse(ALM_STR("BigInt"), &t));
    assert_int_equal(t.id, ALM_T_LONG);
    assert_true(alm_type_parse(ALM_STR("double precision"), &t));
    assert_int_equal(t.id, ALM_T_DOUBLE);
    assert_true(alm_type_parse(ALM_STR("text"), &t));
    assert_int_equal(t.id, ALM_T_STRING);
    assert_false(alm_type_parse(ALM_STR("nope"), &t));
    assert_false(alm_type_parse(ALM_STR("null"), &t));
    assert_false(alm_type_parse(ALM_STR(""), &t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_moves_of_every_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_of_every_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_symbols_of_every_width, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_columns, set_up, tear_down),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_type_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
