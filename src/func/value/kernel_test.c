/*
 * Goal: scalar kernels give what a naive reading of the rules gives, row by row, for dense, constant
 * and SYMBOL arguments, at the edges of each type and for nulls.
 * Method: calls go through the registry (resolution, bind, casts of arguments) as in a query; values
 * are small pools of edge cases in all combinations, expected values are worked out with plain C.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "func/registry.h"

static alm_registry *reg;
static alm_arena arena;
static alm_ctx cx;

#define NAN_D __builtin_nan("")

/* ------------------------------------------------------------------ making */

static alm_vec column(alm_type type, const void *data)
{
    alm_vec v = {.type = type, .width = (uint8_t)alm_type_width(type)};
    memcpy(&v.data, &data, sizeof(void *));
    return v;
}

static alm_vec constant(alm_type type, const void *data)
{
    alm_vec v = column(type, data);
    v.is_const = true;
    return v;
}

static alm_vec texts(alm_type type, const char *const *all, size_t n)
{
    alm_view *views = NULL;
    assert_int_equal(ALM_NEWN(&cx, &arena, n, &views), ALM_OK);
    for (size_t i = 0; i < n; i++)
        views[i] = all[i] == NULL ? alm_view_null() : alm_view_of(alm_str_of(all[i]));
    alm_vec v = column(type, views);
    v.width = sizeof(alm_view);
    return v;
}

static alm_vec text(const char *one)
{
    alm_vec v = texts(ALM_TY(STRING), &one, 1);
    v.is_const = true;
    return v;
}

static alm_vec long_of(int64_t x)
{
    int64_t *p = NULL;
    assert_int_equal(ALM_NEW(&cx, &arena, &p), ALM_OK);
    *p = x;
    return constant(ALM_TY(LONG), p);
}

static alm_vec int_of(int32_t x)
{
    int32_t *p = NULL;
    assert_int_equal(ALM_NEW(&cx, &arena, &p), ALM_OK);
    *p = x;
    return constant(ALM_TY(INT), p);
}

static alm_vec double_of(double x)
{
    double *p = NULL;
    assert_int_equal(ALM_NEW(&cx, &arena, &p), ALM_OK);
    *p = x;
    return constant(ALM_TY(DOUBLE), p);
}

static alm_vec null_of(alm_type type)
{
    alm_vec v = {.type = type, .is_const = true};
    if (type.id != ALM_T_NULL)
        assert_int_equal(alm_vec_null(&cx, &arena, type, &v), ALM_OK);
    return v;
}

/* A dictionary of up to 8 texts. */
typedef struct test_dict {
    alm_dict dict;
    alm_view views[9];
} test_dict;

static uint32_t test_find(const alm_dict *dict, alm_str what)
{
    for (uint32_t code = 1; code < dict->count; code++)
        if (alm_str_eq(alm_view_str(&dict->views[code], NULL), what))
            return code;
    return 0;
}

static const alm_dict *dict_of(const char *const *all, uint32_t n)
{
    test_dict *d = NULL;
    assert_int_equal(ALM_NEW(&cx, &arena, &d), ALM_OK);
    d->views[0] = alm_view_null();
    for (uint32_t i = 0; i < n; i++)
        d->views[i + 1] = alm_view_of(alm_str_of(all[i]));
    d->dict = (alm_dict){.views = d->views, .count = n + 1, .id = 7, .find = test_find};
    return &d->dict;
}

static alm_vec symbols(const alm_dict *dict, const uint8_t *codes)
{
    alm_vec v = column(ALM_TY(SYMBOL), codes);
    v.width = 1;
    v.dict = dict;
    return v;
}

/* ----------------------------------------------------------------- calling */

static alm_status run_cast(const alm_fn *fn, alm_type to, size_t n, const alm_vec *in, alm_vec *out)
{
    alm_call call = {.cx = &cx, .fn = fn, .arena = &arena, .result = to, .argc = 1};
    const size_t rows = in->is_const ? 1 : n;
    alm_vec plain = *in;
    if ((fn->flags & ALM_FN_SYMBOLS) == 0)
        ALM_TRY(alm_vec_decode(&cx, &arena, in, n, &plain));
    ALM_TRY(alm_vec_new(&cx, &arena, to, rows, out));
    ALM_TRY(fn->kernel(&call, rows, &plain, out));
    out->is_const = in->is_const;
    return ALM_OK;
}

/* As the binder and the evaluator do it. */
static alm_status invoke(const char *name, size_t n, uint32_t argc, const alm_vec *given,
                         alm_vec *out)
{
    alm_arg args[8] = {0};
    alm_vec vecs[8];
    alm_resolved r;
    alm_error_clear(&cx);
    for (uint32_t i = 0; i < argc; i++)
        args[i] = (alm_arg){.type = given[i].type, .value = given[i].is_const ? &given[i] : NULL};
    ALM_TRY(alm_registry_resolve(&cx, reg, alm_str_of(name), ALM_FN_SCALAR, 0, argc, args, &r));
    for (uint32_t i = 0; i < argc; i++) {
        vecs[i] = given[i];
        if (!alm_type_eq(given[i].type, r.arg_types[i])) {
            const alm_fn *fn = alm_implicit_fn(reg, given[i].type, r.arg_types[i]);
            assert_non_null(fn);
            ALM_TRY(run_cast(fn, r.arg_types[i], n, &given[i], &vecs[i]));
        }
        if ((r.fn->flags & ALM_FN_SYMBOLS) == 0)
            ALM_TRY(alm_vec_decode(&cx, &arena, &vecs[i], n, &vecs[i]));
    }
    alm_call call = {
        .cx = &cx, .fn = r.fn, .data = r.data, .arena = &arena, .result = r.result, .argc = argc};
    ALM_TRY(alm_vec_new(&cx, &arena, r.result, n, out));
    return r.fn->kernel(&call, n, vecs, out);
}

#define CALL(out, name, n, ...)                                                                    \
    do {                                                                                           \
        const alm_vec call_args_[] = {__VA_ARGS__};                                                \
        if (invoke(name, n, ALM_COUNT(call_args_), call_args_, &(out)) != ALM_OK)                  \
            fail_msg("%s: %s", name, cx.err.msg);                                                  \
    } while (0)
#define REFUSED(name, message, n, ...)                                                             \
    do {                                                                                           \
        const alm_vec call_args_[] = {__VA_ARGS__};                                                \
        alm_vec call_out_;                                                                         \
        assert_int_not_equal(invoke(name, n, ALM_COUNT(call_args_), call_args_, &call_out_),       \
                             ALM_OK);                                                              \
        assert_non_null(strstr(cx.err.msg, message));                                              \
    } while (0)

static void expect_text(const alm_vec *v, size_t i, const char *want)
{
    const alm_str got = alm_vec_text(v, i);
    if (want == NULL)
        assert_null(got.ptr);
    else if (got.ptr == NULL || !alm_str_eq(got, alm_str_of(want)))
        fail_msg("row %zu: got '%.*s', want '%s'", i, (int)got.len, got.ptr, want);
}

#define TEXT_IS(want, name, ...)                                                                   \
    do {                                                                                           \
        alm_vec text_out_;                                                                         \
        CALL(text_out_, name, 1, __VA_ARGS__);                                                     \
        expect_text(&text_out_, 0, want);                                                          \
    } while (0)
#define ONE(type, out) (((const type *)(out).data)[0])

/* -------------------------------------------------------------- arithmetic */

/* What is beyond the range is null. */
static int64_t within(__int128 x, int64_t least, int64_t null)
{
    return x > least && x < -(__int128)least ? (int64_t)x : null;
}

static void long_arithmetic_is_naive(void **state)
{
    (void)state;
    static const int64_t pool[] = {ALM_LONG_NULL, ALM_LONG_NULL + 1, -7,       -1, 0, 1, 2, 3,
                                   1000000007,    4000000000,        INT64_MAX};
    enum { N = ALM_COUNT(pool) };
    for (size_t k = 0; k < N; k++) {
        int64_t a[N], y = pool[k];
        memcpy(a, pool, sizeof a);
        const alm_vec va = column(ALM_TY(LONG), a), vy = constant(ALM_TY(LONG), &y);
        alm_vec sum, quotient, rest, mirrored, product;
        CALL(sum, "+", N, va, vy);
        CALL(quotient, "/", N, va, vy);
        CALL(rest, "%", N, va, vy);
        CALL(mirrored, "-", N, vy, va);
        CALL(product, "*", N, va, vy);
        for (size_t i = 0; i < N; i++) {
            const bool null = a[i] == ALM_LONG_NULL || y == ALM_LONG_NULL;
#define LONG_IS(vec, x)                                                                            \
    assert_int_equal(((int64_t *)(vec).data)[i],                                                   \
                     null ? ALM_LONG_NULL : within((x), INT64_MIN, ALM_LONG_NULL))
            LONG_IS(sum, (__int128)a[i] + y);
            LONG_IS(mirrored, (__int128)y - a[i]);
            LONG_IS(product, (__int128)a[i] * y);
            assert_int_equal(((int64_t *)quotient.data)[i],
                             null || y == 0 ? ALM_LONG_NULL : a[i] / y);
            assert_int_equal(((int64_t *)rest.data)[i], null || y == 0 ? ALM_LONG_NULL : a[i] % y);
        }
    }
}

static void int_arithmetic_is_naive(void **state)
{
    (void)state;
    static const int32_t pool[] = {ALM_INT_NULL, -INT32_MAX, -46341,   -1, 0, 1,
                                   46340,        46341,      INT32_MAX};
    enum { N = ALM_COUNT(pool) };
    for (size_t k = 0; k < N; k++) {
        const int32_t y = pool[k];
        const alm_vec va = column(ALM_TY(INT), pool), vy = constant(ALM_TY(INT), &y);
        alm_vec sum, difference, product;
        CALL(sum, "+", N, va, vy);
        CALL(difference, "-", N, va, vy);
        CALL(product, "*", N, va, vy);
        for (size_t i = 0; i < N; i++) {
            const bool null = pool[i] == ALM_INT_NULL || y == ALM_INT_NULL;
#define INT_IS(vec, x)                                                                             \
    assert_int_equal(((int32_t *)(vec).data)[i],                                                   \
                     null ? ALM_INT_NULL : within((x), INT32_MIN, ALM_INT_NULL))
            INT_IS(sum, (__int128)pool[i] + y);
            INT_IS(difference, (__int128)pool[i] - y);
            INT_IS(product, (__int128)pool[i] * y);
        }
    }
}

static void small_negatives_fit_or_are_refused(void **state)
{
    (void)state;
    static const int8_t bytes[] = {0, 127, -127, -128};
    static const int16_t shorts[] = {0, 32767, -32767, INT16_MIN};
    alm_vec r;
    CALL(r, "-", 3, column(ALM_TY(BYTE), bytes));
    assert_int_equal(((int8_t *)r.data)[2], 127);
    CALL(r, "-", 3, column(ALM_TY(SHORT), shorts));
    assert_int_equal(((int16_t *)r.data)[1], -32767);
    REFUSED("-", "inconvertible value: 128 [INT -> BYTE]", 4, column(ALM_TY(BYTE), bytes));
    alm_error_clear(&cx);
    REFUSED("-", "inconvertible value: 32768 [INT -> SHORT]", 4, column(ALM_TY(SHORT), shorts));
    alm_error_clear(&cx);
}

static void int_division_is_exact(void **state)
{
    (void)state;
    static const int32_t pool[] = {
        ALM_INT_NULL, -INT32_MAX,    -INT32_MAX + 1, -7, -2, -1, 0, 1, 2, 3, 7,
        46341,        INT32_MAX - 1, INT32_MAX};
    enum { N = ALM_COUNT(pool) };
    for (size_t k = 0; k < N; k++) {
        int32_t b[N];
        for (size_t i = 0; i < N; i++)
            b[i] = pool[k];
        const alm_vec va = column(ALM_TY(INT), pool), vb = column(ALM_TY(INT), b);
        alm_vec quotient, rest;
        CALL(quotient, "/", N, va, vb);
        CALL(rest, "%", N, va, vb);
        for (size_t i = 0; i < N; i++) {
            const bool null = pool[i] == ALM_INT_NULL || b[i] == ALM_INT_NULL || b[i] == 0;
            assert_int_equal(((int32_t *)quotient.data)[i], null ? ALM_INT_NULL : pool[i] / b[i]);
            assert_int_equal(((int32_t *)rest.data)[i], null ? ALM_INT_NULL : pool[i] % b[i]);
        }
    }
}

static void double_arithmetic_has_no_infinity(void **state)
{
    (void)state;
    static const double a[] = {1.5, -2.5, 0.0, -0.0, NAN_D, 1e308, -1e308, 5e-324};
    enum { N = ALM_COUNT(a) };
    const alm_vec va = column(ALM_TY(DOUBLE), a);
    alm_vec zero, big, negative;
    CALL(zero, "/", N, va, double_of(0));
    CALL(big, "*", N, va, double_of(10));
    CALL(negative, "-", N, va);
    for (size_t i = 0; i < N; i++) {
        assert_true(isnan(((double *)zero.data)[i]));
        const double want = a[i] * 10;
        const double got = ((double *)big.data)[i];
        assert_true(isfinite(want) ? got == want && signbit(got) == signbit(want) : isnan(got));
        assert_int_equal(signbit(((double *)negative.data)[i]), !signbit(a[i]));
    }
}

/* -------------------------------------------------------------- comparisons */

static void null_logic_is_two_valued(void **state)
{
    (void)state;
    static const int32_t pool[] = {ALM_INT_NULL, -INT32_MAX, -1, 0, 5, INT32_MAX};
    enum { N = ALM_COUNT(pool) };
    static const char *const ops[] = {"=", "!=", "<", "<=", ">", ">="};
    for (size_t op = 0; op < ALM_COUNT(ops); op++) {
        for (size_t k = 0; k < N; k++) {
            double reals[N];
            int32_t wide[N];
            for (size_t i = 0; i < N; i++) {
                reals[i] = pool[i] == ALM_INT_NULL ? NAN_D : pool[i];
                wide[i] = pool[k];
            }
            alm_vec got[4];
            CALL(got[0], ops[op], N, column(ALM_TY(INT), pool), constant(ALM_TY(INT), &pool[k]));
            CALL(got[1], ops[op], N, column(ALM_TY(INT), pool), column(ALM_TY(INT), wide));
            CALL(got[2], ops[op], N, column(ALM_TY(DOUBLE), reals),
                 constant(ALM_TY(DOUBLE), &reals[k]));
            CALL(got[3], ops[op], N, column(ALM_TY(DOUBLE), reals), column(ALM_TY(INT), wide));
            for (size_t i = 0; i < N; i++) {
                const int32_t x = pool[i], y = pool[k];
                const bool nx = x == ALM_INT_NULL, ny = y == ALM_INT_NULL;
                const bool eq = nx || ny ? nx && ny : x == y;
                const bool lt = !nx && !ny && x < y, gt = !nx && !ny && x > y;
                const bool want[] = {eq, !eq, lt, lt || eq, gt, gt || eq};
                for (size_t g = 0; g < 4; g++)
                    assert_int_equal(((uint8_t *)got[g].data)[i], want[op]);
            }
            alm_vec left;
            CALL(left, ops[op], N, constant(ALM_TY(DOUBLE), &reals[k]),
                 column(ALM_TY(DOUBLE), reals));
            for (size_t i = 0; i < N; i++) { /* mirrored */
                const size_t mirror[] = {0, 1, 4, 5, 2, 3};
                alm_vec right;
                CALL(right, ops[mirror[op]], N, column(ALM_TY(DOUBLE), reals),
                     constant(ALM_TY(DOUBLE), &reals[k]));
                assert_int_equal(((uint8_t *)left.data)[i], ((uint8_t *)right.data)[i]);
            }
        }
    }
}

static void doubles_equal_but_for_rounding(void **state)
{
    (void)state;
    alm_vec r;
    CALL(r, "=", 1, double_of(0.1 + 0.2), double_of(0.3));
    assert_int_equal(ONE(uint8_t, r), 1);
    CALL(r, "<", 1, double_of(0.3), double_of(0.1 + 0.2));
    assert_int_equal(ONE(uint8_t, r), 0);
    CALL(r, ">", 1, double_of(2.2250738585072014e-308), double_of(0));
    assert_int_equal(ONE(uint8_t, r), 0);
    CALL(r, "=", 1, double_of(1e-12), double_of(2e-12)); /* small is not equal to small */
    assert_int_equal(ONE(uint8_t, r), 0);
    CALL(r, "=", 1, double_of(9007199254740992.0), double_of(9007199254740994.0));
    assert_int_equal(ONE(uint8_t, r), 0);
}

static void texts_compare_in_every_form(void **state)
{
    (void)state;
    static const char *const pool[] = {
        NULL, "",        "a", "abc", "abd", "abcdefghijkl", "abcdefghijklm", "abcdefghijkln",
        "b",  "\xc5\xbe"};
    enum { N = ALM_COUNT(pool), SYMBOLS = 6, ROWS = 40 };
    static const char *const ops[] = {"=", "!=", "<", "<=", ">", ">="};
    const alm_dict *dict = dict_of(pool + 1, SYMBOLS);
    uint8_t codes[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        codes[i] = (uint8_t)(i % (SYMBOLS + 1));
    for (size_t op = 0; op < ALM_COUNT(ops); op++) {
        for (size_t k = 0; k < N; k++) {
            alm_vec got, coded;
            CALL(got, ops[op], N, texts(ALM_TY(VARCHAR), pool, N), text(pool[k]));
            CALL(coded, ops[op], ROWS, symbols(dict, codes), text(pool[k]));
            for (size_t i = 0; i < ROWS; i++) {
                const char *x = pool[i < N ? i : 0], *s = pool[codes[i]], *y = pool[k];
                const char *const sides[2] = {x, s};
                for (size_t g = i < N ? 0 : 1; g < 2; g++) {
                    const char *z = sides[g];
                    const int c = z != NULL && y != NULL ? strcmp(z, y) : 0;
                    const bool eq = z == NULL || y == NULL ? z == y : c == 0;
                    const bool both = z != NULL && y != NULL;
                    const bool want[] = {eq,
                                         !eq,
                                         both && c < 0,
                                         (both && c < 0) || eq,
                                         both && c > 0,
                                         (both && c > 0) || eq};
                    assert_int_equal(((uint8_t *)(g == 0 ? got : coded).data)[i], want[op]);
                }
            }
        }
    }
    alm_vec same;
    CALL(same, "=", ROWS, symbols(dict, codes), symbols(dict, codes));
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(((uint8_t *)same.data)[i], 1);
}

/* -------------------------------------------------------------- in, between */

static void in_lists_of_all_sizes(void **state)
{
    (void)state;
    int32_t rows[64];
    for (int i = 0; i < 64; i++)
        rows[i] = i == 5 ? ALM_INT_NULL : i;
    alm_vec got;
    CALL(got, "in", 64, column(ALM_TY(INT), rows), int_of(3), int_of(60), null_of(ALM_TY(NULL)));
    for (int i = 0; i < 64; i++)
        assert_int_equal(((uint8_t *)got.data)[i], i == 3 || i == 60 || i == 5);
    CALL(got, "in", 64, column(ALM_TY(INT), rows), long_of(3000000000), double_of(4.0),
         double_of(4.5));
    for (int i = 0; i < 64; i++)
        assert_int_equal(((uint8_t *)got.data)[i], i == 4);

    /* many values: the hash set, against arithmetic */
    alm_arg args[41] = {{.type = ALM_TY(INT)}};
    alm_vec values[41];
    for (int i = 1; i <= 40; i++) {
        values[i] = int_of(i * 3);
        args[i] = (alm_arg){.type = ALM_TY(INT), .value = &values[i]};
    }
    alm_resolved r;
    values[0] = column(ALM_TY(INT), rows);
    assert_int_equal(alm_registry_resolve(&cx, reg, ALM_STR("in"), ALM_FN_SCALAR, 0, 41, args, &r),
                     ALM_OK);
    alm_call call = {.cx = &cx, .fn = r.fn, .data = r.data, .arena = &arena, .argc = 41};
    assert_int_equal(alm_vec_new(&cx, &arena, ALM_TY(BOOLEAN), 64, &got), ALM_OK);
    assert_int_equal(r.fn->kernel(&call, 64, values, &got), ALM_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(((uint8_t *)got.data)[i], i != 5 && i > 0 && i % 3 == 0);
}

static void in_over_texts_and_symbols(void **state)
{
    (void)state;
    static const char *const pool[] = {"BTC", "ETH", "a longer text than twelve"};
    const alm_dict *dict = dict_of(pool, 3);
    const uint8_t codes[] = {0, 1, 2, 3, 1, 0, 2, 3, 1, 1};
    alm_vec got;
    CALL(got, "in", 10, symbols(dict, codes), text("ETH"), text("none"), null_of(ALM_TY(NULL)));
    for (int i = 0; i < 10; i++)
        assert_int_equal(((uint8_t *)got.data)[i], codes[i] == 2 || codes[i] == 0);
    CALL(got, "in", 3, texts(ALM_TY(VARCHAR), pool, 3), text("a longer text than twelve"),
         text("BTC"));
    assert_int_equal(((uint8_t *)got.data)[0], 1);
    assert_int_equal(((uint8_t *)got.data)[1], 0);
    assert_int_equal(((uint8_t *)got.data)[2], 1);
}

static void between_takes_bounds_in_any_order(void **state)
{
    (void)state;
    const int32_t rows[] = {100, 50, 10, 200, ALM_INT_NULL, -5};
    alm_vec got;
    CALL(got, "between", 6, column(ALM_TY(INT), rows), int_of(100), int_of(10));
    const uint8_t want[] = {1, 1, 1, 0, 0, 0};
    assert_memory_equal(got.data, want, 6);
    CALL(got, "between", 6, column(ALM_TY(INT), rows), null_of(ALM_TY(INT)), int_of(500));
    for (int i = 0; i < 6; i++)
        assert_int_equal(((uint8_t *)got.data)[i], 0);
}

/* ------------------------------------------------------------- times of two units */

/* x op y over nanoseconds of any size; null equals null, and is neither below nor above anything. */
static bool times_compared(const char *op, __int128 x, bool x_null, __int128 y, bool y_null)
{
    const bool values = !x_null && !y_null;
    const bool equal = values ? x == y : x_null == y_null;
    if (op[0] == '=')
        return equal;
    if (op[0] == '!' || strcmp(op, "<>") == 0)
        return !equal;
    const bool strict = values && (op[0] == '<' ? x < y : x > y);
    return strict || (op[1] == '=' && equal);
}

static void times_of_two_units_have_unlimited_range(void **state)
{
    (void)state;
    static const alm_type types[] = {
        {.id = ALM_T_DATE}, {.id = ALM_T_TIMESTAMP}, {.id = ALM_T_TIMESTAMP_NS}};
    static const int64_t nanos[] = {1000000, 1000, 1};
    static const char *const ops[] = {"=", "!=", "<>", "<", "<=", ">", ">="};
    static const int64_t edges[] = {INT64_MIN,
                                    INT64_MIN + 1,
                                    -9223372036854776,
                                    -9223372036854775,
                                    -9223372036855,
                                    -9223372036854,
                                    -1001,
                                    -1000,
                                    -1,
                                    0,
                                    1,
                                    1000,
                                    1000000,
                                    9223372036854,
                                    9223372036855,
                                    9223372036854775,
                                    9223372036854776,
                                    9223372036854775000,
                                    INT64_MAX};
    enum { N = ALM_COUNT(edges) };
    int64_t left[N * N], right[N * N];
    for (size_t i = 0; i < (size_t)N * N; i++) {
        left[i] = edges[i / N];
        right[i] = edges[i % N];
    }
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++)
            for (size_t o = 0; a != b && o < ALM_COUNT(ops); o++) {
                alm_vec got;
                CALL(got, ops[o], (size_t)N * N, column(types[a], left), column(types[b], right));
                for (size_t i = 0; i < (size_t)N * N; i++)
                    assert_int_equal(
                        ((const uint8_t *)got.data)[i],
                        times_compared(ops[o], (__int128)left[i] * nanos[a], left[i] == INT64_MIN,
                                       (__int128)right[i] * nanos[b], right[i] == INT64_MIN));
                CALL(got, ops[o], N, column(types[a], edges), constant(types[b], &edges[11]));
                for (size_t i = 0; i < N; i++)
                    assert_int_equal(((const uint8_t *)got.data)[i],
                                     times_compared(ops[o], (__int128)edges[i] * nanos[a],
                                                    edges[i] == INT64_MIN,
                                                    (__int128)edges[11] * nanos[b], false));
            }
}

/* Keys are equal where the times are, whatever the units. */
static void keys_of_joins_are_equal_where_times_are(void **state)
{
    (void)state;
    const int64_t us[] = {INT64_MIN,        -9223372036854776, -1,       0, 1,
                          9223372036854775, 9223372036854776,  INT64_MAX};
    const int64_t ns[] = {INT64_MIN, INT64_MIN + 1,       -1000,    -1, 0, 1, 2,
                          1000,      9223372036854775000, INT64_MAX};
    alm_vec coarse, fine;
    CALL(coarse, "time key", ALM_COUNT(us), column(ALM_TY(TIMESTAMP), us), long_of(1000));
    CALL(fine, "time key", ALM_COUNT(ns), column(ALM_TY(TIMESTAMP_NS), ns), long_of(-1000));
    for (size_t i = 0; i < ALM_COUNT(us); i++)
        for (size_t k = 0; k < ALM_COUNT(ns); k++)
            assert_int_equal(((const int64_t *)coarse.data)[i] == ((const int64_t *)fine.data)[k],
                             times_compared("=", (__int128)us[i] * 1000, us[i] == INT64_MIN, ns[k],
                                            ns[k] == INT64_MIN));
}

/* ---------------------------------------------------------------- matching */

/* The definition of LIKE, by recursion. */
static bool like_naive(const char *text, const char *p)
{
    if (*p == '\0')
        return *text == '\0';
    if (*p == '%')
        return like_naive(text, p + 1) || (*text != '\0' && like_naive(text + 1, p));
    if (*text == '\0')
        return false;
    if (*p == '_')
        return like_naive(text + 1, p + 1);
    if (*p == '\\' && p[1] != '\0')
        p++;
    return *p == *text && like_naive(text + 1, p + 1);
}

static void like_agrees_with_its_definition(void **state)
{
    (void)state;
    static const char *const rows[] = {"",    "a",   "ab",  "abc", "aab", "abab",
                                       "a_b", "a%b", "b",   "ba",  "bbb", "abcabcabcabcabc",
                                       "xyz", "aXb", "a\\", "aabb"};
    static const char *const patterns[] = {
        "",      "%",     "a",     "a%",  "%a",   "%ab%",   "a%b", "a_b", "_",     "__", "a\\_b",
        "a\\%b", "%b%a%", "ab%ab", "%_b", "abc%", "abcab%", "%%",  "_%",  "a%c%c", "a\\"};
    enum { N = ALM_COUNT(rows) };
    for (size_t p = 0; p < ALM_COUNT(patterns); p++) {
        alm_vec got, nocase;
        CALL(got, "like", N, texts(ALM_TY(VARCHAR), rows, N), text(patterns[p]));
        CALL(nocase, "ilike", N, texts(ALM_TY(VARCHAR), rows, N), text(patterns[p]));
        for (size_t i = 0; i < N; i++) {
            if (((uint8_t *)got.data)[i] != like_naive(rows[i], patterns[p]))
                fail_msg("'%s' like '%s'", rows[i], patterns[p]);
            if (strchr(rows[i], 'X') == NULL)
                assert_int_equal(((uint8_t *)nocase.data)[i], ((uint8_t *)got.data)[i]);
        }
    }
    static const char *const upper[] = {"Apricot", "\xc5\xbdLU\xc5\xa4", NULL};
    alm_vec r;
    CALL(r, "ilike", 3, texts(ALM_TY(STRING), upper, 3), text("%\xc5\xbelu\xc5\xa5"));
    assert_memory_equal(r.data, ((uint8_t[]){0, 1, 0}), 3);
    CALL(r, "like", 3, texts(ALM_TY(STRING), upper, 3), text(NULL));
    assert_memory_equal(r.data, ((uint8_t[]){0, 0, 0}), 3);
}

static void regular_expressions(void **state)
{
    (void)state;
    static const char *const rows[] = {"apple", "Apricot", NULL, "BTC-USDT"};
    alm_vec r;
    CALL(r, "~", 4, texts(ALM_TY(VARCHAR), rows, 4), text("(?i)^ap"));
    assert_memory_equal(r.data, ((uint8_t[]){1, 1, 0, 0}), 4);
    CALL(r, "!~", 4, texts(ALM_TY(VARCHAR), rows, 4), text("^a"));
    assert_memory_equal(r.data, ((uint8_t[]){0, 1, 1, 1}), 4);
    REFUSED("~", "near index", 1, text("x"), text("["));
    TEXT_IS("smith john", "regexp_replace", text("john smith"), text("(\\w+) (\\w+)"),
            text("$2 $1"));
    TEXT_IS("abc#", "regexp_replace", text("abc123"), text("[0-9]+"), text("#"));
    TEXT_IS(NULL, "regexp_replace", text(NULL), text("a"), text("b"));
    TEXT_IS("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "regexp_replace", text("aaaa"), text("a"), text("xxxxxxxxxxxxxxxxxxxxx"));
    /* a hostile pattern ends in an error */
    REFUSED("~", "gave up", 1, text("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
            text("^(a|a|aa)+$"));
}

/* -------------------------------------------------------------------- text */

static void text_functions_as_recorded(void **state)
{
    (void)state;
    TEXT_IS("He", "left", text("Hello"), int_of(2));
    TEXT_IS("Hell", "left", text("Hello"), int_of(-1));
    TEXT_IS("", "left", text("Hello"), int_of(-10));
    TEXT_IS("\xc5\xbel", "left", text("\xc5\xbelu\xc5\xa5"), int_of(2));
    TEXT_IS("u\xc5\xa5", "right", text("\xc5\xbelu\xc5\xa5"), int_of(2));
    TEXT_IS("ello", "right", text("Hello"), int_of(-1));
    TEXT_IS("Lor", "substring", text("Lorem ipsum"), int_of(-5), int_of(9));
    TEXT_IS("Lo", "substring", text("Lorem ipsum"), int_of(0), int_of(3));
    TEXT_IS("World", "substring", text("Hello World"), int_of(7), int_of(100));
    TEXT_IS("", "substring", text("Hello"), int_of(10), int_of(2));
    TEXT_IS(NULL, "substring", text("Hello"), null_of(ALM_TY(NULL)), int_of(2));
    REFUSED("substring", "negative", 1, text("Hello"), int_of(2), int_of(-1));
    TEXT_IS("xyxyxabc", "lpad", text("abc"), int_of(8), text("xy"));
    TEXT_IS("abcxyxyx", "rpad", text("abc"), int_of(8), text("xy"));
    TEXT_IS("ab", "lpad", text("abc"), int_of(2), text("*"));
    TEXT_IS(NULL, "lpad", text("abc"), int_of(-1), text("x"));
    TEXT_IS("  abc", "lpad", text("abc"), int_of(5));
    TEXT_IS("x y", "trim", text("  x y  "));
    TEXT_IS("xyz ", "ltrim", text("  xyz "));
    TEXT_IS(" xyz", "rtrim", text(" xyz  "));
    TEXT_IS("\xc5\xbdLU\xc5\xa4", "upper", text("\xc5\xbelu\xc5\xa5"));
    TEXT_IS("HELLO1", "to_uppercase", text("Hello1"));
    TEXT_IS("bbbbbb", "replace", text("aaa"), text("a"), text("bb"));
    TEXT_IS("abc", "replace", text("abc"), text(""), text("y"));
    TEXT_IS("aXaX", "replace", text("abcabc"), text("bc"), text("X"));
    TEXT_IS(NULL, "replace", text("abc"), text("a"), text(NULL));
    TEXT_IS("c", "split_part", text("a,b,c"), text(","), int_of(-1));
    TEXT_IS("", "split_part", text("a,b,c"), text(","), int_of(4));
    TEXT_IS("b", "split_part", text("a::b::c"), text("::"), int_of(2));
    REFUSED("split_part", "field position", 1, text("a"), text(","), int_of(0));
    TEXT_IS("\"a\"\"b\"", "quote_ident", text("a\"b"));
    TEXT_IS("abc", "quote_ident", text("abc"));
    TEXT_IS("390.7 KiB", "size_pretty", int_of(400032));
    TEXT_IS("900150983cd24fb0d6963f7d28e17f72", "md5", text("abc"));
    TEXT_IS("a9993e364706816aba3e25717850c26c9cd0d89d", "sha1", text("abc"));
    TEXT_IS("a12.5b", "concat", text("a"), int_of(1), double_of(2.5), null_of(ALM_TY(NULL)),
            text("b"));
    TEXT_IS("", "||", null_of(ALM_TY(NULL)), null_of(ALM_TY(NULL)));
    TEXT_IS("DOUBLE", "typeOf", double_of(1));
    TEXT_IS("NULL", "typeof", null_of(ALM_TY(NULL)));
    alm_vec r;
    CALL(r, "length", 1, text(NULL));
    assert_int_equal(ONE(int32_t, r), -1);
    CALL(r, "length", 1, text("\xc5\xbelu\xc5\xa5"));
    assert_int_equal(ONE(int32_t, r), 4);
    CALL(r, "strpos", 1, text("\xc5\xbelu\xc5\xa5"), text("u"));
    assert_int_equal(ONE(int32_t, r), 3);
    CALL(r, "strpos", 1, text("Hello"), text(""));
    assert_int_equal(ONE(int32_t, r), 1);
    CALL(r, "starts_with", 1, text("abc"), text("abcd"));
    assert_int_equal(ONE(uint8_t, r), 0);
}

static void functions_over_dictionaries(void **state)
{
    (void)state;
    static const char *const pool[] = {"btc", "a text of more than twelve bytes"};
    static const char *const upper[] = {NULL, "BTC", "A TEXT OF MORE THAN TWELVE BYTES"};
    const alm_dict *dict = dict_of(pool, 2);
    const uint8_t codes[] = {0, 1, 2, 1, 0, 2, 2, 1};
    for (size_t n = 1; n <= 8; n += 7) { /* per row, and per distinct value */
        alm_vec r;
        CALL(r, "upper", n, symbols(dict, codes));
        for (size_t i = 0; i < n; i++)
            expect_text(&r, i, upper[codes[i]]);
        CALL(r, "length", n, symbols(dict, codes));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(((int32_t *)r.data)[i], codes[i] == 0 ? -1 : codes[i] == 1 ? 3 : 32);
        CALL(r, "like", n, symbols(dict, codes), text("%text%"));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(((uint8_t *)r.data)[i], codes[i] == 2);
        CALL(r, "is null", n, symbols(dict, codes));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(((uint8_t *)r.data)[i], codes[i] == 0);
        CALL(r, "coalesce", n, symbols(dict, codes), text("none"));
        for (size_t i = 0; i < n; i++)
            expect_text(&r, i, codes[i] == 0 ? "none" : pool[codes[i] - 1]);
    }
}

/* ------------------------------------------------------------------ numeric */

static double rounded(const char *name, double x, int scale)
{
    alm_vec r;
    CALL(r, name, 1, double_of(x), int_of(scale));
    return ONE(double, r);
}

static void rounding_as_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double x;
        int scale;
        double want;
    } cases[] = {{"round", 2.345, 2, 2.35},
                 {"round", 1.005, 2, 1.01},
                 {"round", -2.345, 2, -2.35},
                 {"round", -2.5, 0, -2.0},
                 {"round", 2.5, 0, 3.0},
                 {"round", 1234.5678, -2, 1200},
                 {"round", 1234.5678, 1, 1234.6},
                 {"round_up", 1.01, 1, 1.1},
                 {"round_up", -1.01, 1, -1.1},
                 {"round_up", 2.5, 1, 2.5},
                 {"round_up", 1.1, 1, 1.1},
                 {"round_up", -3.0, 0, -3.0},
                 {"round_up", 0.3, 1, 0.3},
                 {"round_up", 1.05, 1, 1.1},
                 {"round_up", 300, -2, 300},
                 {"round_up", 301, -2, 400},
                 {"round_up", 0.0, 1, 0.0},
                 {"round_down", 1.99, 1, 1.9},
                 {"round_down", -1.99, 1, -1.9},
                 {"round_down", 2.5, 1, 2.5},
                 {"round_half_even", 2.5, 0, 2},
                 {"round_half_even", 1.5, 0, 2},
                 {"round_half_even", 2.345, 2, 2.34},
                 {"round_half_even", 0.5, 0, 0},
                 {"round", 1e300, 5, 1e300},
                 {"round", 123.0, 22, 123.0}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        const double got = rounded(cases[i].name, cases[i].x, cases[i].scale);
        if (fabs(got - cases[i].want) > 1e-9 * fabs(cases[i].want))
            fail_msg("%s(%g, %d) = %.17g", cases[i].name, cases[i].x, cases[i].scale, got);
    }
    alm_vec r;
    CALL(r, "round", 1, double_of(-0.5));
    assert_true(ONE(double, r) == 0 && !signbit(ONE(double, r)));
    CALL(r, "sqrt", 1, double_of(-1));
    assert_true(isnan(ONE(double, r)));
    CALL(r, "exp", 1, double_of(1000));
    assert_true(isnan(ONE(double, r)));
    CALL(r, "greatest", 1, int_of(1), null_of(ALM_TY(NULL)), int_of(3));
    assert_int_equal(ONE(int32_t, r), 3);
    CALL(r, "least", 1, int_of(2), null_of(ALM_TY(NULL)), long_of(1));
    assert_int_equal(ONE(int64_t, r), 1);
    CALL(r, "nullif", 1, double_of(1.5), double_of(1.5));
    assert_true(isnan(ONE(double, r)));
}

/* -------------------------------------------------------------------- casts */

static alm_vec cast(const alm_vec *in, alm_type to, bool strict, alm_status *st)
{
    alm_vec out = {0};
    const alm_fn *fn = strict ? alm_assign_fn(reg, in->type, to) : alm_cast_fn(reg, in->type, to);
    assert_non_null(fn);
    alm_error_clear(&cx);
    *st = run_cast(fn, to, 1, in, &out);
    return out;
}

#define CAST_IS(ctype, want, in, to)                                                               \
    do {                                                                                           \
        alm_status cast_st_;                                                                       \
        const alm_vec cast_in_ = in;                                                               \
        const alm_vec cast_out_ = cast(&cast_in_, to, false, &cast_st_);                           \
        assert_int_equal(cast_st_, ALM_OK);                                                        \
        assert_true(ONE(ctype, cast_out_) == (want));                                              \
    } while (0)
#define CAST_TEXT(want, in, to)                                                                    \
    do {                                                                                           \
        alm_status cast_st_;                                                                       \
        const alm_vec cast_in_ = in;                                                               \
        const alm_vec cast_out_ = cast(&cast_in_, to, false, &cast_st_);                           \
        assert_int_equal(cast_st_, ALM_OK);                                                        \
        expect_text(&cast_out_, 0, want);                                                          \
    } while (0)
#define CAST_REFUSED(message, in, to)                                                              \
    do {                                                                                           \
        alm_status cast_st_;                                                                       \
        const alm_vec cast_in_ = in;                                                               \
        (void)cast(&cast_in_, to, true, &cast_st_);                                                \
        assert_int_not_equal(cast_st_, ALM_OK);                                                    \
        assert_string_equal(cx.err.msg, message);                                                  \
    } while (0)

static void casts_as_recorded(void **state)
{
    (void)state;
    CAST_IS(int32_t, ALM_INT_NULL, double_of(1e10), ALM_TY(INT));
    CAST_IS(int32_t, -1, double_of(-1.999), ALM_TY(INT));
    CAST_IS(int64_t, ALM_LONG_NULL, double_of(1e19), ALM_TY(LONG));
    CAST_IS(int32_t, ALM_INT_NULL, long_of(2147483648), ALM_TY(INT));
    CAST_IS(int8_t, 0, null_of(ALM_TY(INT)), ALM_TY(BYTE));
    CAST_IS(uint8_t, 0, null_of(ALM_TY(LONG)), ALM_TY(BOOLEAN));
    CAST_IS(uint16_t, 'a', int_of(97), ALM_TY(CHAR));
    CAST_IS(int32_t, 1000, text("1_000"), ALM_TY(INT));
    CAST_IS(int32_t, ALM_INT_NULL, text("_1000"), ALM_TY(INT));
    CAST_IS(int32_t, ALM_INT_NULL, text("12abc"), ALM_TY(INT));
    CAST_IS(int32_t, ALM_INT_NULL, text("2147483648"), ALM_TY(INT));
    CAST_IS(int32_t, 12, text("+12"), ALM_TY(INT));
    CAST_IS(double, 5.0, text(" 5"), ALM_TY(DOUBLE));
    CAST_IS(double, -1500.0, text("-1.5E3"), ALM_TY(DOUBLE));
    CAST_IS(uint8_t, 1, text("tRuE"), ALM_TY(BOOLEAN));
    CAST_IS(uint8_t, 0, text("12"), ALM_TY(BOOLEAN));
    CAST_IS(uint16_t, 'a', text("abc"), ALM_TY(CHAR));
    CAST_IS(int64_t, INT64_C(1704153600000000), text("2024-01-02"), ALM_TY(TIMESTAMP));
    CAST_IS(int64_t, ALM_TS_NULL, text("2024-1-2"), ALM_TY(TIMESTAMP));
    CAST_IS(uint32_t, 0x01020304U, text("1.2.3.4"), ALM_TY(IPV4));
    CAST_IS(uint32_t, 0, text("1.2.3.256"), ALM_TY(IPV4));
    CAST_TEXT("1.0E20", double_of(1e20), ALM_TY(STRING));
    CAST_TEXT("12", int_of(12), ALM_TY(VARCHAR));
    CAST_TEXT(NULL, null_of(ALM_TY(NULL)), ALM_TY(VARCHAR));
    const int64_t ts = INT64_C(1704164645006007);
    CAST_TEXT("2024-01-02T03:04:05.006007Z", constant(ALM_TY(TIMESTAMP), &ts), ALM_TY(STRING));
    CAST_REFUSED("inconvertible value: 128 [LONG -> BYTE]", long_of(128), ALM_TY(BYTE));
    CAST_REFUSED("inconvertible value: `99999999999` [STRING -> INT]", text("99999999999"),
                 ALM_TY(INT));
    CAST_REFUSED("inconvertible value: `nope` [STRING -> DATE]", text("nope"), ALM_TY(DATE));
    CAST_REFUSED("inconvertible value: 1.0E39 [DOUBLE -> FLOAT]", double_of(1e39), ALM_TY(FLOAT));
    CAST_REFUSED("inconvertible value: `nope` [STRING -> UUID]", text("nope"), ALM_TY(UUID));
    CAST_REFUSED("inconvertible value: `ab` [STRING -> CHAR]", text("ab"), ALM_TY(CHAR));
}

/* Every cast of the matrix runs over nulls and small values without touching what is not its own. */
static void every_cast_runs(void **state)
{
    (void)state;
    for (int from = ALM_T_BOOLEAN; from < ALM_TYPE_COUNT; from++) {
        for (int to = ALM_T_BOOLEAN; to < ALM_TYPE_COUNT; to++) {
            const alm_type f = {.id = (uint8_t)from, .dims = from == ALM_T_ARRAY},
                           t = {.id = (uint8_t)to, .dims = to == ALM_T_ARRAY};
            const alm_fn *fn = alm_cast_fn(reg, f, t);
            if (fn == NULL)
                continue;
            alm_vec in = null_of(f), out = {0};
            assert_int_equal(run_cast(fn, t, 1, &in, &out), ALM_OK);
            const bool has_null = alm_type_info_of(t)->null != ALM_NULL_NONE;
            if (has_null && alm_type_info_of(f)->null != ALM_NULL_NONE && !alm_vec_is_null(&out, 0))
                fail_msg("null of %s as %s is not null", alm_type_name(f), alm_type_name(t));
        }
    }
}

/* --------------------------------------------------------------- networks, random */

static void networks(void **state)
{
    (void)state;
    const uint32_t ip[] = {0x0a000001, 0, 0xc0a8010a};
    alm_vec r;
    CALL(r, "<<", 3, column(ALM_TY(IPV4), ip), text("10.0.0.0/8"));
    assert_memory_equal(r.data, ((uint8_t[]){1, 0, 0}), 3);
    CALL(r, "<<", 3, column(ALM_TY(IPV4), ip), text("10.0.0.1"));
    assert_memory_equal(r.data, ((uint8_t[]){0, 0, 0}), 3);
    CALL(r, "<<=", 3, column(ALM_TY(IPV4), ip), text("10.0.0.1"));
    assert_memory_equal(r.data, ((uint8_t[]){1, 0, 0}), 3);
    REFUSED("<<", "invalid argument: 10.0.0.0/33", 3, column(ALM_TY(IPV4), ip),
            text("10.0.0.0/33"));
    REFUSED("<<", "invalid argument: bad", 3, column(ALM_TY(IPV4), ip), text("bad"));
    CALL(r, "+", 3, column(ALM_TY(IPV4), ip), int_of(5));
    assert_int_equal(((uint32_t *)r.data)[0], 0x0a000006);
    assert_int_equal(((uint32_t *)r.data)[1], 0);
    CALL(r, "netmask", 1, text("10.0.0.0/24"));
    assert_int_equal(ONE(uint32_t, r), 0xffffff00U);
}

static void random_depends_on_seed_and_row_only(void **state)
{
    (void)state;
    alm_arg none = {0};
    alm_resolved r;
    alm_vec all, part;
    cx.seed = 42;
    assert_int_equal(
        alm_registry_resolve(&cx, reg, ALM_STR("rnd_int"), ALM_FN_SCALAR, 3, 0, &none, &r), ALM_OK);
    alm_call call = {.cx = &cx, .fn = r.fn, .data = r.data, .arena = &arena, .pos = 3};
    assert_int_equal(alm_vec_new(&cx, &arena, ALM_TY(INT), 100, &all), ALM_OK);
    assert_int_equal(alm_vec_new(&cx, &arena, ALM_TY(INT), 40, &part), ALM_OK);
    assert_int_equal(r.fn->kernel(&call, 100, NULL, &all), ALM_OK);
    call.row_base = 60;
    assert_int_equal(r.fn->kernel(&call, 40, NULL, &part), ALM_OK);
    assert_memory_equal((int32_t *)all.data + 60, part.data, 40 * sizeof(int32_t));
    cx.seed = 43;
    assert_int_equal(r.fn->kernel(&call, 40, NULL, &part), ALM_OK);
    assert_memory_not_equal((int32_t *)all.data + 60, part.data, 40 * sizeof(int32_t));
}

static int start(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    return alm_registry_new(&cx, &reg) == ALM_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    alm_registry_free(reg);
    alm_arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_arithmetic_is_naive),
                                       cmocka_unit_test(int_arithmetic_is_naive),
                                       cmocka_unit_test(small_negatives_fit_or_are_refused),
                                       cmocka_unit_test(int_division_is_exact),
                                       cmocka_unit_test(double_arithmetic_has_no_infinity),
                                       cmocka_unit_test(null_logic_is_two_valued),
                                       cmocka_unit_test(doubles_equal_but_for_rounding),
                                       cmocka_unit_test(texts_compare_in_every_form),
                                       cmocka_unit_test(in_lists_of_all_sizes),
                                       cmocka_unit_test(in_over_texts_and_symbols),
                                       cmocka_unit_test(between_takes_bounds_in_any_order),
                                       cmocka_unit_test(like_agrees_with_its_definition),
                                       cmocka_unit_test(regular_expressions),
                                       cmocka_unit_test(text_functions_as_recorded),
                                       cmocka_unit_test(functions_over_dictionaries),
                                       cmocka_unit_test(rounding_as_recorded),
                                       cmocka_unit_test(casts_as_recorded),
                                       cmocka_unit_test(every_cast_runs),
                                       cmocka_unit_test(networks),
                                       cmocka_unit_test(times_of_two_units_have_unlimited_range),
                                       cmocka_unit_test(keys_of_joins_are_equal_where_times_are),
                                       cmocka_unit_test(random_depends_on_seed_and_row_only)};
    return cmocka_run_group_tests(tests, start, end);
}
