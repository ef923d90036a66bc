/*
 * array_test.c - DOUBLE[]: type names, text both ways, equality by bytes, bytes that are no array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "type/array.h"
#include "type/value.h"

typedef struct world {
    alm_ctx cx;
    alm_arena arena;
} world;

static int set_up(void **state)
{
    static world w;
    w = (world){0};
    alm_arena_init(&w.arena, NULL);
    w.cx.arena = &w.arena;
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    alm_arena_deinit(&w->arena);
    return 0;
}

static void test_types(void **state)
{
    world *w = *state;
    alm_type t;
    for (uint32_t dims = 1; dims <= ALM_ARRAY_DIMS_MAX; dims++) {
        const char *name = alm_type_name(alm_type_array(dims));
        assert_int_equal(strlen(name), strlen("DOUBLE") + 2 * (size_t)dims);
        assert_true(alm_type_parse(alm_str_of(name), &t));
        assert_true(alm_type_eq(t, alm_type_array(dims)));
        assert_true(alm_type_is_valid(t));
    }
    assert_true(alm_type_parse(ALM_STR("float8 [ ] []"), &t));
    assert_true(alm_type_eq(t, alm_type_array(2)));
    assert_false(alm_type_parse(ALM_STR("array"), &t));
    assert_false(alm_type_parse(ALM_STR("[]"), &t));
    assert_false(alm_type_parse(ALM_STR("double]"), &t));
    assert_false(alm_type_is_valid((alm_type){.id = ALM_T_ARRAY}));
    assert_int_equal(alm_type_read(&w->cx, 7, ALM_STR("varchar[]"), &t), ALM_E_TYPE);
    assert_int_equal(w->cx.err.sql_pos, 7);
}

static bool parse(world *w, uint32_t dims, const char *text, alm_view *out)
{
    bool good = false;
    assert_int_equal(alm_array_parse(&w->cx, &w->arena, 0, dims, alm_str_of(text), out, &good),
                     ALM_OK);
    return good;
}

static void test_text(void **state)
{
    static const struct {
        uint32_t dims;
        const char *in, *dialect, *pg;
    } rows[] = {
        {1, "{1,2.5}", "[1.0,2.5]", "{1,2.5}"},
        {1, " [ 1 , NULL , -0.0, nan ] ", "[1.0,null,0.0,null]", "{1,NULL,0,NULL}"},
        {1, "{}", "[]", "{}"},
        {1, "{\"1.5\", NULL ,\"-2\" }", "[1.5,null,-2.0]", "{1.5,NULL,-2}"},
        {2, "{{\"1\"},{\"nan\"}}", "[[1.0],[null]]", "{{1},{NULL}}"},
        {1, "{\"1}", NULL, NULL},
        {1, "{1\"}", NULL, NULL},
        {1, "{\"}", NULL, NULL},
        {1, "{\"\"}", NULL, NULL},
        {1, "{\"null\"}", NULL, NULL},
        {1, "{\"1,2\"}", NULL, NULL},
        {1, "{1e300}", "[1.0E300]", "{1e+300}"},
        {2, "{{1,2},{3,4},{5,6}}", "[[1.0,2.0],[3.0,4.0],[5.0,6.0]]", "{{1,2},{3,4},{5,6}}"},
        {3, "[[[1],[2]]]", "[[[1.0],[2.0]]]", "{{{1},{2}}}"},
        {2, "{{},{}}", "[]", "{}"},
        {1, "", NULL, NULL},
        {1, "1", NULL, NULL},
        {1, "{1", NULL, NULL},
        {1, "{1}}", NULL, NULL},
        {1, "{1]", NULL, NULL},
        {1, "{1,}", NULL, NULL},
        {1, "{,1}", NULL, NULL},
        {1, "{x}", NULL, NULL},
        {1, "{{1}}", NULL, NULL},
        {2, "{1}", NULL, NULL},
        {2, "{{1,2},{3}}", NULL, NULL},
        {2, "{{1},2}", NULL, NULL},
    };
    world *w = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_view view;
        assert_int_equal(parse(w, rows[i].dims, rows[i].in, &view), rows[i].dialect != NULL);
        if (rows[i].dialect == NULL)
            continue;
        const alm_vec v = {.type = alm_type_array(rows[i].dims), .width = 16, .data = &view};
        const alm_array a = alm_array_of(&v, 0);
        assert_int_equal(a.dims, rows[i].dims);
        for (int style = ALM_TEXT_DIALECT; style <= ALM_TEXT_PG; style++) {
            const char *want = style == ALM_TEXT_PG ? rows[i].pg : rows[i].dialect;
            alm_buf out;
            alm_buf_init(&out, NULL);
            assert_int_equal(alm_array_format(&w->cx, &a, (alm_text_style)style, &out), ALM_OK);
            assert_int_equal(out.len, strlen(want));
            assert_memory_equal(out.ptr, want, out.len);
            alm_buf_deinit(&out);
        }
    }
}

/* Every prefix of a text, in memory that ends where it ends: sanitizers see a byte too many. */
static void test_cut_text(void **state)
{
    world *w = *state;
    const alm_str whole = ALM_STR("[[1.5, null],[-3,4]]");
    for (size_t n = 0; n <= whole.len; n++) {
        char *copy = malloc(n + !n);
        assert_non_null(copy);
        (void)memcpy(copy, whole.ptr, n);
        alm_view v;
        bool good = false;
        assert_int_equal(alm_array_parse(&w->cx, &w->arena, 0, 2, (alm_str){copy, n}, &v, &good),
                         ALM_OK);
        assert_int_equal(good, n == whole.len);
        free(copy);
    }
}

static void test_equality(void **state)
{
    static const char *const texts[] = {"{0}", "{-0.0}", "{null}", "{nan}", "{0,0}", "{}"};
    static const int class_of[] = {0, 0, 1, 1, 2, 3};
    world *w = *state;
    alm_view views[ALM_COUNT(texts)];
    uint64_t hash[ALM_COUNT(texts)];
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        assert_true(parse(w, 1, texts[i], &views[i]));
    const alm_vec v = {.type = alm_type_array(1), .width = 16, .data = views};
    alm_vec_hash(&v, ALM_COUNT(texts), hash);
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        for (size_t j = 0; j < ALM_COUNT(texts); j++) {
            assert_int_equal(alm_vec_equal(&v, i, &v, j), class_of[i] == class_of[j]);
            assert_int_equal(hash[i] == hash[j], class_of[i] == class_of[j]);
        }
}

/* What is read from outside is not trusted: lengths that do not fit the bytes give null. */
static void test_bad_bytes(void **state)
{
    (void)state;
    uint32_t bytes[8] = {2, 1, 0, 0, 0, 0, 0, 0};
    for (size_t n = 0; n <= sizeof bytes; n++) {
        alm_view view = alm_view_of((alm_str){(const char *)bytes, n});
        for (uint32_t dims = 1; dims <= 3; dims++) {
            const alm_vec v = {.type = alm_type_array(dims), .width = 16, .data = &view};
            const alm_array a = alm_array_of(&v, 0);
            assert_true(a.dims == 0 || n == dims * 4 + a.count * 8);
        }
    }
    uint32_t large[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 4};
    alm_view view = alm_view_of((alm_str){(const char *)large, sizeof large});
    const alm_vec v = {.type = alm_type_array(4), .width = 16, .data = &view};
    assert_int_equal(alm_array_of(&v, 0).dims, 0);
}

static void test_too_large(void **state)
{
    world *w = *state;
    alm_array_out out;
    const uint32_t len[2] = {1 << 16, 1 << 16};
    assert_int_equal(alm_array_begin(&w->cx, &w->arena, 3, 2, len, &out), ALM_E_LIMIT);
    assert_int_equal(w->cx.err.sql_pos, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equality, set_up, tear_down),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test_setup_teardown(test_too_large, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
