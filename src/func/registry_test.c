/*
 * Goal: resolution picks the overload the dialect picks, and says what is wrong in its words.
 * Method: calls by types alone against the recorded results and messages; signatures at their edges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "func/registry.h"
#include "func/value/signature.h"

static alm_registry *reg;
static alm_arena arena;
static alm_ctx cx;

static void fresh(void)
{
    alm_error_clear(&cx);
    cx.arena = &arena;
}

static alm_status resolve(const char *name, alm_fn_kind kind, uint32_t argc, const uint8_t *types,
                          alm_resolved *out)
{
    alm_arg args[8] = {0};
    for (uint32_t i = 0; i < argc; i++)
        args[i] = (alm_arg){.type = {.id = types[i]}, .pos = (int32_t)i};
    fresh();
    return alm_registry_resolve(&cx, reg, alm_str_of(name), kind, 7, argc, args, out);
}

#define T(id) ALM_T_##id
#define CHECK(name, kind, result_, argc, ...)                                                      \
    do {                                                                                           \
        alm_resolved r;                                                                            \
        assert_int_equal(resolve(name, kind, argc, (const uint8_t[]){__VA_ARGS__}, &r), ALM_OK);   \
        assert_int_equal(r.result.id, result_);                                                    \
    } while (0)
#define SUM_TAKES "; it takes (LONG256), (DECIMAL), (BYTE), (SHORT), (INT), (LONG), ..."
#define REFUSED(name, kind, message, argc, ...)                                                    \
    do {                                                                                           \
        alm_resolved r;                                                                            \
        assert_int_not_equal(resolve(name, kind, argc, (const uint8_t[]){__VA_ARGS__}, &r),        \
                             ALM_OK);                                                              \
        assert_string_equal(cx.err.msg, message);                                                  \
        assert_int_equal(cx.err.sql_pos, 7);                                                       \
    } while (0)

static void operators_widen(void **state)
{
    (void)state;
    const alm_fn_kind S = ALM_FN_SCALAR;
    CHECK("+", S, T(INT), 2, T(INT), T(INT));
    CHECK("+", S, T(INT), 2, T(BYTE), T(SHORT));
    CHECK("+", S, T(LONG), 2, T(INT), T(LONG));
    CHECK("+", S, T(DOUBLE), 2, T(FLOAT), T(INT)); /* FLOAT does not hold one */
    CHECK("*", S, T(DOUBLE), 2, T(BYTE), T(FLOAT));
    CHECK("%", S, T(FLOAT), 2, T(FLOAT), T(FLOAT));
    CHECK("+", S, T(DOUBLE), 2, T(FLOAT), T(DOUBLE));
    CHECK("+", S, T(INT), 2, T(INT), T(NULL));
    CHECK("*", S, T(INT), 2, T(NULL), T(INT));
    CHECK("-", S, T(DOUBLE), 2, T(DOUBLE), T(NULL));
    CHECK("+", S, T(TIMESTAMP), 2, T(TIMESTAMP), T(INT));
    CHECK("+", S, T(TIMESTAMP_NS), 2, T(LONG), T(TIMESTAMP_NS));
    CHECK("-", S, T(LONG), 2, T(TIMESTAMP), T(TIMESTAMP));
    CHECK("-", S, T(LONG), 2, T(DATE), T(DATE));
    CHECK("neg", S, T(SHORT), 1, T(SHORT));
}

static void comparisons_meet(void **state)
{
    (void)state;
    alm_resolved r;
    const uint8_t int_text[] = {T(INT), T(STRING)}, time_text[] = {T(TIMESTAMP), T(STRING)},
                  text_date[] = {T(SYMBOL), T(DATE)}, nanos_text[] = {T(TIMESTAMP_NS), T(VARCHAR)},
                  mixed[] = {T(TIMESTAMP), T(TIMESTAMP_NS)}, dates[] = {T(DATE), T(TIMESTAMP_NS)},
                  symbol[] = {T(SYMBOL), T(CHAR)}, uuid[] = {T(UUID), T(STRING)},
                  dbl[] = {T(INT), T(DOUBLE)};
    assert_int_equal(resolve("=", ALM_FN_SCALAR, 2, int_text, &r), ALM_OK);
    assert_int_equal(r.arg_types[1].id, T(INT));
    assert_int_equal(resolve(">", ALM_FN_SCALAR, 2, time_text, &r), ALM_OK);
    assert_int_equal(r.arg_types[1].id, T(TIMESTAMP));
    assert_int_equal(resolve("<=", ALM_FN_SCALAR, 2, text_date, &r), ALM_OK);
    assert_int_equal(r.arg_types[0].id, T(DATE));
    assert_int_equal(resolve("!=", ALM_FN_SCALAR, 2, nanos_text, &r), ALM_OK);
    assert_int_equal(r.arg_types[1].id, T(TIMESTAMP_NS));
    /* Times of two units are compared as they are, without a cast that could lose one. */
    assert_int_equal(resolve(">", ALM_FN_SCALAR, 2, mixed, &r), ALM_OK);
    assert_int_equal(r.arg_types[0].id, T(TIMESTAMP));
    assert_int_equal(r.arg_types[1].id, T(TIMESTAMP_NS));
    assert_int_equal(resolve("=", ALM_FN_SCALAR, 2, dates, &r), ALM_OK);
    assert_int_equal(r.arg_types[0].id, T(DATE));
    assert_int_equal(r.arg_types[1].id, T(TIMESTAMP_NS));
    assert_int_equal(resolve("=", ALM_FN_SCALAR, 2, symbol, &r), ALM_OK);
    assert_int_equal(r.arg_types[0].id, T(SYMBOL));
    assert_int_equal(r.arg_types[1].id, T(STRING));
    assert_int_equal(resolve("=", ALM_FN_SCALAR, 2, uuid, &r), ALM_OK);
    assert_int_equal(r.arg_types[1].id, T(UUID));
    assert_int_equal(resolve("<", ALM_FN_SCALAR, 2, dbl, &r), ALM_OK);
    assert_int_equal(r.arg_types[0].id, T(DOUBLE));
}

static void messages_are_the_recorded_ones(void **state)
{
    (void)state;
    const alm_fn_kind S = ALM_FN_SCALAR, A = ALM_FN_AGGREGATE;
    REFUSED("nope", S, "unknown function name: nope(INT)", 1, T(INT));
    REFUSED("nope", S, "unknown function name: nope()", 0, T(INT));
    REFUSED("+", S, "there is no matching operator `+` with the argument types: BOOLEAN + INT", 2,
            T(BOOLEAN), T(INT));
    REFUSED("=", S, "there is no matching operator `=` with the argument types: BOOLEAN = INT", 2,
            T(BOOLEAN), T(INT));
    REFUSED("sum", A, "function `sum` requires arguments" SUM_TAKES, 0, T(INT));
    REFUSED("sum", A,
            "there is no matching function `sum` with the argument types: (DOUBLE, INT)" SUM_TAKES,
            2, T(DOUBLE), T(INT));
    REFUSED("sum", A,
            "there is no matching function `sum` with the argument types: (BOOLEAN)" SUM_TAKES, 1,
            T(BOOLEAN));
    REFUSED("ksum", A, "function `ksum` requires arguments: ksum(DOUBLE)", 0, T(INT));
    REFUSED("ksum", A,
            "wrong number of arguments for function `ksum`; expected: 1, provided: 2; it takes "
            "(DOUBLE)",
            2, T(INT), T(INT));
    alm_resolved r;
    assert_int_not_equal(resolve("not", S, 1, (const uint8_t[]){T(INT)}, &r), ALM_OK);
    assert_string_equal(cx.err.msg, "argument type mismatch for function `not` at #1 expected: "
                                    "BOOLEAN, actual: INT");
    assert_int_equal(cx.err.sql_pos, 0); /* of the argument */
}

static void aggregates_have_recorded_types(void **state)
{
    (void)state;
    const alm_fn_kind A = ALM_FN_AGGREGATE;
    CHECK("SUM", A, T(LONG), 1, T(INT));
    CHECK("sum", A, T(LONG), 1, T(SHORT));
    CHECK("sum", A, T(FLOAT), 1, T(FLOAT));
    CHECK("sum", A, T(DOUBLE), 1, T(VARCHAR));
    CHECK("avg", A, T(DOUBLE), 1, T(BOOLEAN));
    CHECK("min", A, T(INT), 1, T(BYTE));
    CHECK("max", A, T(STRING), 1, T(SYMBOL));
    CHECK("max", A, T(VARCHAR), 1, T(VARCHAR));
    CHECK("count", A, T(LONG), 1, T(UUID));
    CHECK("count", A, T(LONG), 0, T(INT));
    assert_true(alm_registry_has(reg, ALM_STR("Count"), A));
    assert_false(alm_registry_has(reg, ALM_STR("count"), ALM_FN_SCALAR));
    assert_false(alm_registry_has(reg, ALM_STR("coun"), A));
}

static void casts_form_a_matrix(void **state)
{
    (void)state;
    for (int from = T(BOOLEAN); from < ALM_TYPE_COUNT; from++) {
        const alm_type f = {.id = (uint8_t)from};
        const alm_fn *to_self = alm_cast_fn(reg, f, f);
        assert_non_null(to_self);
        const alm_fn *of_null = alm_cast_fn(reg, ALM_TY(NULL), f);
        assert_non_null(of_null);
        assert_int_equal(alm_cast_cost(f, f), 0);
    }
    assert_null(alm_cast_fn(reg, ALM_TY(TIMESTAMP), ALM_TY(UUID)));
    /* implicit is strict where it can fail, and refused where it would surprise */
    assert_non_null(alm_implicit_fn(reg, ALM_TY(VARCHAR), ALM_TY(DOUBLE)));
    /* a number counts as a time where no cast is written: the three forms of that cast differ, of others two do */
    assert_ptr_not_equal(alm_lenient_fn(reg, ALM_TY(SYMBOL), ALM_TY(DATE)),
                         alm_cast_fn(reg, ALM_TY(SYMBOL), ALM_TY(DATE)));
    assert_ptr_not_equal(alm_lenient_fn(reg, ALM_TY(SYMBOL), ALM_TY(DATE)),
                         alm_implicit_fn(reg, ALM_TY(SYMBOL), ALM_TY(DATE)));
    assert_ptr_equal(alm_lenient_fn(reg, ALM_TY(VARCHAR), ALM_TY(DOUBLE)),
                     alm_cast_fn(reg, ALM_TY(VARCHAR), ALM_TY(DOUBLE)));
    assert_ptr_not_equal(alm_implicit_fn(reg, ALM_TY(VARCHAR), ALM_TY(DOUBLE)),
                         alm_cast_fn(reg, ALM_TY(VARCHAR), ALM_TY(DOUBLE)));
    assert_true(alm_cast_cost(ALM_TY(SYMBOL), ALM_TY(DOUBLE)) < 0);
    assert_true(alm_cast_cost(ALM_TY(INT), ALM_TY(STRING)) < 0);
    assert_non_null(alm_assign_fn(reg, ALM_TY(LONG), ALM_TY(BYTE)));
    assert_null(alm_assign_fn(reg, ALM_TY(INT), ALM_TY(STRING)));
    assert_null(alm_assign_fn(reg, ALM_TY(BOOLEAN), ALM_TY(BYTE)));
    assert_null(alm_assign_fn(reg, ALM_TY(DOUBLE), ALM_TY(TIMESTAMP)));
    assert_null(alm_assign_fn(reg, ALM_TY(STRING), ALM_TY(BOOLEAN)));
    assert_null(alm_assign_fn(reg, ALM_TY(UUID), ALM_TY(INT)));
}

static void types_meet_alike_from_both_sides(void **state)
{
    (void)state;
    for (int a = T(NULL); a < ALM_TYPE_COUNT; a++)
        for (int b = T(NULL); b < ALM_TYPE_COUNT; b++) {
            const alm_type x = {.id = (uint8_t)a}, y = {.id = (uint8_t)b};
            assert_true(alm_type_eq(alm_type_meet(x, y), alm_type_meet(y, x)));
        }
    assert_int_equal(alm_type_meet(ALM_TY(INT), ALM_TY(LONG)).id, T(LONG));
    assert_int_equal(alm_type_meet(ALM_TY(STRING), ALM_TY(VARCHAR)).id, T(VARCHAR));
    assert_int_equal(alm_type_meet(ALM_TY(SYMBOL), ALM_TY(SYMBOL)).id, T(STRING));
    assert_int_equal(alm_type_meet(ALM_TY(CHAR), ALM_TY(CHAR)).id, T(CHAR));
    assert_int_equal(alm_type_meet(ALM_TY(CHAR), ALM_TY(INT)).id, T(NONE));
    assert_int_equal(alm_type_union(ALM_TY(STRING), ALM_TY(VARCHAR)).id, T(STRING));
    assert_int_equal(alm_type_union(ALM_TY(INT), ALM_TY(STRING)).id, T(STRING));
    assert_string_equal(alm_fn_negated("<"), ">=");
    assert_null(alm_fn_negated("like"));
}

static void signatures_at_their_edges(void **state)
{
    (void)state;
    alm_signature s;
    assert_true(alm_signature_parse("() LONG", &s));
    assert_int_equal(s.max_args, 0);
    assert_true(alm_signature_parse("(unit STRING const, ts TIME) TIME", &s));
    assert_int_equal(s.n_params, 2);
    assert_true(s.params[0].is_const && !s.params[1].is_const);
    assert_true(alm_signature_parse("(ANY, x SAME...) ?", &s));
    assert_int_equal(s.min_args, 1);
    assert_true(alm_signature_param(&s, 9)->family == ALM_FAM_SAME);
    static const char *const bad[] = {
        "",       "LONG", "(LONG", "(LONG)", "(NOPE) INT", "(INT..., INT) INT", "(a b INT) INT",
        "(,) INT"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++)
        assert_false(alm_signature_parse(bad[i], &s));
}

static int start(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    fresh();
    return alm_registry_new(&cx, &reg) == ALM_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    alm_registry_free(reg);
    alm_arena_deinit(&arena);
    return 0;
}

/* An operator answers the second time as the first, for any two types and what a parameter leaves open. */
static void operators_answer_alike_again(void **state)
{
    (void)state;
    static const char *const names[] = {"=", "!=", "<", ">=", "+", "-",
                                        "*", "/",  "%", "||", "&", "~"};
    uint32_t found = 0;
    for (size_t k = 0; k < ALM_COUNT(names); k++) {
        for (uint8_t a = 0; a < ALM_TYPE_COUNT; a++) {
            for (uint8_t b = 0; b < ALM_TYPE_COUNT; b++) {
                alm_resolved one = {0}, two = {0};
                const uint8_t types[2] = {a, b};
                const alm_status st = resolve(names[k], ALM_FN_SCALAR, 2, types, &one);
                assert_int_equal(resolve(names[k], ALM_FN_SCALAR, 2, types, &two), st);
                assert_int_not_equal(resolve(names[k], ALM_FN_AGGREGATE, 2, types, &two), ALM_OK);
                if (st != ALM_OK)
                    continue;
                assert_int_equal(resolve(names[k], ALM_FN_SCALAR, 2, types, &two), ALM_OK);
                assert_ptr_equal(one.fn, two.fn);
                assert_true(alm_type_eq(one.result, two.result));
                assert_true(alm_type_eq(one.arg_types[0], two.arg_types[0]));
                assert_true(alm_type_eq(one.arg_types[1], two.arg_types[1]));
                found++;
            }
        }
    }
    assert_true(found > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_widen),
                                       cmocka_unit_test(comparisons_meet),
                                       cmocka_unit_test(operators_answer_alike_again),
                                       cmocka_unit_test(messages_are_the_recorded_ones),
                                       cmocka_unit_test(aggregates_have_recorded_types),
                                       cmocka_unit_test(casts_form_a_matrix),
                                       cmocka_unit_test(types_meet_alike_from_both_sides),
                                       cmocka_unit_test(signatures_at_their_edges)};
    return cmocka_run_group_tests(tests, start, end);
}
