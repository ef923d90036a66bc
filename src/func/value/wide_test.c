/*
 * wide_test.c - goal: DECIMAL, GEOHASH, LONG256 and BINARY through the registry: result types,
 * values, nulls and errors. Method: calls over constants given as text, expected as text; random
 * decimals against naive 128-bit arithmetic.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "func/registry.h"
#include "type/decimal.h"
#include "type/text.h"

static alm_registry *reg;
static alm_arena arena;
static alm_ctx cx;

static int set_up(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    return alm_registry_new(&cx, &reg) != ALM_OK;
}

static int tear_down(void **state)
{
    (void)state;
    alm_registry_free(reg);
    alm_arena_deinit(&arena);
    return 0;
}

static alm_vec value(const char *type, const char *text)
{
    alm_type t;
    alm_vec v;
    assert_true(alm_type_parse(alm_str_of(type), &t));
    const alm_str in = text == NULL ? (alm_str){0} : alm_str_of(text);
    assert_int_equal(alm_vec_parse(&cx, &arena, 0, t, in, &v), ALM_OK);
    return v;
}

static alm_status cast(alm_vec *v, alm_type to)
{
    if (alm_type_eq(v->type, to))
        return ALM_OK;
    const alm_fn *fn = alm_implicit_fn(reg, v->type, to);
    assert_non_null(fn);
    alm_call call = {.cx = &cx, .fn = fn, .arena = &arena, .result = to, .argc = 1};
    alm_vec out;
    ALM_TRY(alm_vec_new(&cx, &arena, to, 1, &out));
    ALM_TRY(fn->kernel(&call, 1, v, &out));
    out.is_const = true;
    *v = out;
    return ALM_OK;
}

static alm_status call_fn(const char *name, uint32_t argc, alm_vec *args, alm_vec *out)
{
    alm_arg list[4] = {0};
    alm_resolved r;
    for (uint32_t i = 0; i < argc; i++)
        list[i] = (alm_arg){.type = args[i].type, .value = &args[i]};
    ALM_TRY(alm_registry_resolve(&cx, reg, alm_str_of(name), ALM_FN_SCALAR, 0, argc, list, &r));
    for (uint32_t i = 0; i < argc; i++)
        ALM_TRY(cast(&args[i], list[i].type));
    alm_call call = {
        .cx = &cx, .fn = r.fn, .data = r.data, .arena = &arena, .result = r.result, .argc = argc};
    ALM_TRY(alm_vec_new(&cx, &arena, r.result, 1, out));
    out->is_const = true;
    return r.fn->kernel(&call, 1, args, out);
}

typedef struct row {
    const char *fn;
    const char *type[3], *text[3]; /* NULL type ends */
    const char *result, *want; /* want NULL: null; result NULL: an error that has `want` in it */
} row;

static const row ROWS[] = {
    {"+", {"decimal(10,2)", "decimal(18,6)"}, {"12.34", "1.5"}, "DECIMAL(19,6)", "13.840000"},
    {"-", {"decimal(10,2)", "int"}, {"12.34", "1"}, "DECIMAL(11,2)", "11.34"},
    {"+", {"decimal(10,2)", "decimal(1,0)"}, {NULL, "1"}, "DECIMAL(11,2)", NULL},
    {"*", {"decimal(2,1)", "decimal(3,2)"}, {"1.1", "2.25"}, "DECIMAL(76,3)", "2.475"},
    {"*", {"decimal(40,0)", "decimal(40,0)"}, {"1e39", "1e39"}, NULL, "Overflow in multiplication"},
    {"+", {"decimal(76,0)", "decimal(76,0)"}, {"9e75", "9e75"}, NULL, "Overflow in addition"},
    {"%", {"decimal(3,1)", "decimal(1,0)"}, {"-10.5", "3"}, "DECIMAL(3,1)", "-1.5"},
    {"%", {"decimal(3,1)", "decimal(1,0)"}, {"10.5", "0"}, "DECIMAL(3,1)", NULL},
    {"/", {"decimal(3,2)", "decimal(1,0)"}, {"1.00", "3"}, "DECIMAL(76,2)", "0.33"},
    {"/", {"decimal(3,2)", "decimal(1,0)"}, {"0.05", "2"}, "DECIMAL(76,2)", "0.02"},
    {"/", {"decimal(3,2)", "decimal(1,0)"}, {"1.00", "0"}, "DECIMAL(76,2)", NULL},
    {"=", {"decimal(2,1)", "decimal(3,2)"}, {"1.0", "1.00"}, "BOOLEAN", "true"},
    {"<", {"decimal(2,1)", "decimal(76,75)"}, {"1.5", "1.5"}, "BOOLEAN", "false"},
    {"<", {"decimal(76,0)", "decimal(76,75)"}, {"-9e75", "1.5"}, "BOOLEAN", "true"},
    {"<", {"decimal(2,1)", "decimal(2,1)"}, {NULL, "1"}, "BOOLEAN", "false"},
    {"<=", {"decimal(2,1)", "decimal(2,1)"}, {NULL, NULL}, "BOOLEAN", "true"},
    {"!=", {"decimal(2,1)", "decimal(40,1)"}, {NULL, "1"}, "BOOLEAN", "true"},
    {"round", {"decimal(5,3)", "int"}, {"-12.345", "2"}, "DECIMAL(5,2)", "-12.35"},
    {"round", {"decimal(5,3)", "int"}, {"15.000", "-1"}, "DECIMAL(3,0)", "20"},
    {"round_half_even", {"decimal(3,2)", "int"}, {"1.25", "1"}, "DECIMAL(3,1)", "1.2"},
    {"floor", {"decimal(3,1)"}, {"-12.1"}, "DECIMAL(3,0)", "-13"},
    {"greatest", {"decimal(2,1)", "int"}, {"1.5", "2"}, "DECIMAL(2,1)", "2.0"},
    {"=", {"geohash(3c)", "geohash(15b)"}, {"u33", "u33"}, "BOOLEAN", "true"},
    {"=", {"geohash(3c)", "geohash(4c)"}, {"u33", "u33d"}, "BOOLEAN", "false"},
    {"=", {"geohash(3c)", "geohash(4c)"}, {NULL, NULL}, "BOOLEAN", "true"},
    {"within", {"geohash(6c)", "geohash(3c)"}, {"u33dbm", "u33"}, "BOOLEAN", "true"},
    {"within", {"geohash(6c)", "geohash(3c)"}, {"u09tvw", "u33"}, "BOOLEAN", "false"},
    {"within", {"geohash(2c)", "geohash(3c)"}, {"u3", "u33"}, NULL, "finer"},
    {"make_geohash", {"double", "double", "int"}, {"13.4", "52.5", "30"}, "GEOHASH(6c)", "u33d8v"},
    {"make_geohash", {"double", "double", "int"}, {"13.4", "91", "30"}, NULL, "latitude"},
    {"=", {"long256", "long256"}, {"0xff", "0x00ff"}, "BOOLEAN", "true"},
    {"<", {"long256", "long256"}, {NULL, "0x01"}, "BOOLEAN", "false"},
    {"base64", {"binary", "int"}, {"abcd", "3"}, "STRING", "YWJj"},
    {"base64", {"binary", "int"}, {"abcd", "100"}, "STRING", "YWJjZA=="},
    {"from_base64", {"string"}, {"YWJjZA"}, "BINARY", "abcd"},
    {"from_base64", {"string"}, {"Y"}, "BINARY", NULL},
    {"from_base64", {"string"}, {"Y*Jj"}, "BINARY", NULL},
    {"to_char", {"binary"}, {"abc"}, "STRING", "00000000 61 62 63"},
    {"length", {"binary"}, {NULL}, "LONG", "-1"},
    {"md5", {"binary"}, {"abc"}, "VARCHAR", "900150983cd24fb0d6963f7d28e17f72"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(ROWS); i++) {
        const row *r = &ROWS[i];
        alm_vec args[3], out;
        uint32_t argc = 0;
        for (; argc < 3 && r->type[argc] != NULL; argc++)
            args[argc] = value(r->type[argc], r->text[argc]);
        const alm_status st = call_fn(r->fn, argc, args, &out);
        if (r->result == NULL) {
            if (st == ALM_OK || strstr(cx.err.msg, r->want) == NULL)
                fail_msg("row %zu (%s): %d %s", i, r->fn, st, cx.err.msg);
            cx.err = (alm_error){0};
            continue;
        }
        if (st != ALM_OK)
            fail_msg("row %zu (%s): %s", i, r->fn, cx.err.msg);
        assert_string_equal(alm_type_name(out.type), r->result);
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text = {0};
        const bool shown = alm_value_text(&out, 0, ALM_TEXT_DIALECT, scratch, &text);
        const alm_str want = r->want == NULL ? (alm_str){0} : alm_str_of(r->want);
        if (shown != (r->want != NULL) || (shown && !alm_str_eq(text, want)))
            fail_msg("row %zu (%s): '%.*s'", i, r->fn, (int)text.len, text.ptr);
    }
}

/* Columns of two widths against plain 128-bit arithmetic. */
static void test_columns(void **state)
{
    (void)state;
    enum { N = 500 };
    static int32_t a[N];
    static int64_t b[N], sum[N];
    uint64_t seed = 11;
    for (int i = 0; i < N; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        a[i] = i % 17 == 0 ? INT32_MIN : (int32_t)((int64_t)(seed >> 33) % 1000000000);
        b[i] = i % 13 == 0 ? INT64_MIN : (int64_t)(seed >> 8) % INT64_C(1000000000000000);
    }
    alm_vec args[2] = {{.type = alm_type_decimal(9, 4), .width = 4, .data = a},
                       {.type = alm_type_decimal(15, 2), .width = 8, .data = b}};
    alm_arg list[2] = {{.type = args[0].type}, {.type = args[1].type}};
    alm_resolved r;
    assert_int_equal(alm_registry_resolve(&cx, reg, ALM_STR("+"), ALM_FN_SCALAR, 0, 2, list, &r),
                     ALM_OK);
    assert_string_equal(alm_type_name(r.result), "DECIMAL(18,4)");
    alm_vec out = {.type = r.result, .width = 8, .data = sum};
    alm_call call = {
        .cx = &cx, .fn = r.fn, .data = r.data, .arena = &arena, .result = r.result, .argc = 2};
    assert_int_equal(r.fn->kernel(&call, N, args, &out), ALM_OK);
    for (int i = 0; i < N; i++) {
        const bool null = a[i] == INT32_MIN || b[i] == INT64_MIN;
        assert_int_equal(sum[i], null ? INT64_MIN : a[i] + b[i] * 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
