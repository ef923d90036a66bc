/*
 * ast_name_test.c - names of result columns without an alias, form by form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql/parse/parse.h"

static const struct row {
    const char *expr, *name;
} rows[] = {
    {"price", "price"},
    {"t.price", "price"},
    {"\"odd name\"", "odd name"},
    {"PRICE", "PRICE"},
    {"price+qty*2", "price + qty * 2"},
    {"(price + qty)*2", "(price + qty) * 2"},
    {"((price))", "price"},
    {"-price", "-(price)"},
    {"- - 5", "-(-(5))"},
    {"-a + 1", "-(a) + 1"},
    {"a * -1", "a * -(1)"},
    {"1 - (2 - 3)", "1 - (2 - 3)"},
    {"(1 - 2) - 3", "1 - 2 - 3"},
    {"5 * (3 % 2)", "5 * (3 % 2)"},
    {"a & 1 | 2", "a & 1 | 2"},
    {"a | a & 1", "a | a & 1"},
    {"t.price+t.qty", "\"t.price + t.qty\""},
    {"1.5", "\"1.5\""},
    {"'a.b'", "\"'a.b'\""},
    {"'it''s'", "'it''s'"},
    {"TRUE", "TRUE"},
    {"Null", "Null"},
    {"a <> 1", "a <> 1"},
    {"a > 1 AND b < 5 or c", "a > 1 and b < 5 or c"},
    {"(a or b) and c", "(a or b) and c"},
    {"a and (b and c)", "a and (b and c)"},
    {"not a > 1", "not(a > 1)"},
    {"a = not b", "a = (not(b))"},
    {"a IN ('A','B')", "a in ('A', 'B')"},
    {"a NOT IN ('A')", "not(a in 'A')"},
    {"a not in (1, 2)", "not(a in (1, 2))"},
    {"(a in (1,2)) = true", "a in (1, 2) = true"},
    {"a BETWEEN 1 AND 3", "a between (1, 3)"},
    {"a not between 1 and 2", "not(a between (1, 2))"},
    {"a IS NULL", "a = NULL"},
    {"a is not null and b", "a != null and b"},
    {"a is true", "a = true"},
    {"s not like 'x%'", "not(s like 'x%')"},
    {"s !~ 'x'", "s !~ 'x'"},
    {"a || b || c", "concat(a, b, c)"},
    {"a || (b || c)", "concat(a, b, c)"},
    {"concat(a,b) || c", "concat(a, b, c)"},
    {"s like 'x' || 'y'", "s like concat('x', 'y')"},
    {"Length( s )", "Length(s)"},
    {"cast(price AS INT)", "price::INT"},
    {"a::int::long", "a::int::long"},
    {"-a::long", "-(a::long)"},
    {"(a+1)::long", "(a + 1)::long"},
    {"(a between 1 and 2)::string", "(a between (1, 2))::string"},
    {"cast('1' as decimal(10,2))", "'1'::decimal_10_2"},
    {"cast('u33d8' as geohash(5c))", "'u33d8'::geohash5c"},
    {"'{1}'::double[]", "'{1}'::double[]"},
    {"timestamp '2024-01-01'", "'2024-01-01'::timestamp"},
    {"CASE WHEN a > 1 THEN 'x' ELSE 'y' END", "case when a > 1 then 'x' else 'y' end"},
    {"case a when 'A' then 1 end", "switch(a, 'A', 1)"},
    {"case a when 1 then 2 else 3 end", "switch(a, 1, 2, 3)"},
    {"case when a then 1 when b then 2 else 3 end::long",
     "(case when a then 1 when b then 2 else 3 end)::long"},
    {"extract(hour FROM ts)", "extract(hour, ts)"},
    {"EXTRACT(HOUR FROM ts)", "EXTRACT(HOUR, ts)"},
    {"count(*)", "count()"},
    {"COUNT()", "COUNT()"},
    {"Count(DISTINCT sym)", "count_distinct(sym)"},
    {"string_agg(distinct s, ',')", "string_distinct_agg(s, ',')"},
    {"avg(x) over (partition by y order by z rows 2 preceding)", "avg(x)"},
    {"first_value(a) ignore nulls over (order by ts)", "first_value(a)"},
    {"current_user", "current_user"},
    {"current_user()", "current_user"},
    {"pg_catalog.version()", "\"pg_catalog.version()\""},
    {"arr[1]", "arr[1]"},
    {"arr[-1]", "arr[-(1)]"},
    {"arr[1:2]", "arr[1 : 2]"},
    {"arr[1:]", "arr[:(1)]"},
    {"ARRAY[[1,2],[3,4]][1, 2]", "[](ARRAY[ARRAY[1, 2], ARRAY[3, 4]], 1, 2)"},
    {"array[1, 2]", "ARRAY[1, 2]"},
    {"ts at time zone 'UTC'", "to_timezone(ts, 'UTC')"},
    {"#u33d8/10", "#u33d8/10"},
    {"$1 + 1", "$1 + 1"},
    {"now()::timestamp::long % 2 = 0", "now()::timestamp::long % 2 = 0"},
    /* cut at 64 bytes; 63 with quotes; no blank at the end; no half character */
    {"price * 1000000 + qty * 2000000 - price * 3000000 + qty * 4000000",
     "price * 1000000 + qty * 2000000 - price * 3000000 + qty * 400000"},
    {"'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff   x'",
     "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"},
    {"'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg.'",
     "\"'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff\""},
    {"'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffffffff\xc3\xbc'",
     "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffffffff"},
};

typedef struct fixture {
    alm_arena arena;
    alm_ctx cx;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
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

static alm_ast *expression(fixture *f, const char *text)
{
    const char *sql = NULL;
    alm_stmt *s = NULL;
    size_t offset = 0;
    assert_int_equal(alm_arena_printf(&f->cx, &f->arena, &sql, "select %s from t", text), ALM_OK);
    if (alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s) != ALM_OK)
        fail_msg("%s: %s", sql, f->cx.err.msg);
    assert_int_equal(s->select->n_items, 1);
    return s->select->items[0].expr;
}

static void every_form(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const char *name = NULL;
        assert_int_equal(alm_ast_name(&f->cx, expression(f, rows[i].expr), &name), ALM_OK);
        if (strcmp(name, rows[i].name) != 0)
            fail_msg("%s: got %s, want %s", rows[i].expr, name, rows[i].name);
    }
}

static void numbers_go_inside_limit_and_quotes(void **state)
{
    fixture *f = *state;
    const char *name = NULL;
    assert_int_equal(alm_ast_name_nth(&f->cx, expression(f, "sum(a)"), 2, &name), ALM_OK);
    assert_string_equal(name, "sum(a)_2");
    assert_int_equal(alm_ast_name_nth(&f->cx, expression(f, "'1.5'"), 12, &name), ALM_OK);
    assert_string_equal(name, "\"'1.5'_12\"");
    const char *eighty = "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg'";
    assert_int_equal(alm_ast_name_nth(&f->cx, expression(f, eighty), 2, &name), ALM_OK);
    assert_string_equal(name, "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg_2");
    assert_int_equal(strlen(name), 64);
    const char *dotted = "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff.'";
    assert_int_equal(alm_ast_name_nth(&f->cx, expression(f, dotted), 2, &name), ALM_OK);
    assert_string_equal(name, "\"'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffff_2\"");
}

static void text_is_whole(void **state)
{
    fixture *f = *state;
    const char *text = NULL;
    const char *sql = "t.a + 1000000000000000000 * 1000000000000000000 - 1000000000000000000";
    assert_int_equal(alm_ast_text(&f->cx, expression(f, sql), &text), ALM_OK);
    assert_string_equal(text, sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_go_inside_limit_and_quotes, setup, teardown),
        cmocka_unit_test_setup_teardown(text_is_whole, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
