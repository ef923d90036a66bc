/*
 * csv_convert_test.c - goal: a column of fields becomes values of its type; what does not fit is null,
 * marked and counted, and never cut. Method: one column a case, values shown as text again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "codec/csv/csv.h"
#include "type/text.h"

static void convert(const char *type_name, const char *lines, const char *want)
{
    alm_ctx cx = {0};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    alm_csv_reader *reader = NULL;
    alm_csv_block block;
    alm_type type;
    assert_true(alm_type_parse(alm_str_of(type_name), &type));
    assert_int_equal(alm_csv_reader_new(&cx, &arena, NULL, ',', 2, 1 << 20, &reader), ALM_OK);
    assert_int_equal(alm_csv_feed(&cx, reader, lines, strlen(lines)), ALM_OK);
    assert_int_equal(alm_csv_next(&cx, reader, true, &block), ALM_OK);
    uint8_t bad[64] = {0};
    uint32_t n_bad = 0, marked = 0;
    alm_vec vec;
    assert_true(block.rows <= sizeof(bad));
    assert_int_equal(alm_csv_convert(&cx, &arena, &block, 0, type, bad, &n_bad, &vec), ALM_OK);
    char got[1024] = "";
    int n = 0;
    for (uint32_t i = 0; i < block.rows; i++) {
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text = {0};
        if (!alm_value_text(&vec, i, ALM_TEXT_DIALECT, scratch, &text))
            text = ALM_STR("~");
        n += snprintf(got + n, sizeof(got) - (size_t)n, "%s%.*s%s", i > 0 ? " " : "", (int)text.len,
                      text.ptr, bad[i] ? "!" : "");
        marked += bad[i];
    }
    assert_int_equal(marked, n_bad);
    if (strcmp(got, want) != 0)
        fail_msg("%s of %s: got %s, want %s", type_name, lines, got, want);
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
}

static void test_numbers(void **state)
{
    (void)state;
    convert("INT", "1,\n-2147483647,\n2147483648,\n\"7\",\n\"\",\n,\nx,\n1.5,\n",
            "1 -2147483647 ~! 7 ~ ~ ~! ~!");
    convert("LONG", "9223372036854775807,\n9223372036854775808,\n,\n-1,\n",
            "9223372036854775807 ~! ~ -1");
    convert("DOUBLE", "1e300,\n.5,\nabc,\n,\n12,\n", "1.0E300 0.5 ~! ~ 12.0");
    convert("FLOAT", "0.1,\nx,\n,\n", "0.1 ~! ~");
    convert("BINARY", "QUJD,\n\"\",\n,\nQ,\n", "ABC  ~ ~!");
    convert("SHORT", "32767,\n32768,\n,\n", "32767 0! 0");
    convert("BYTE", "-128,\n128,\n,\n", "-128 0! 0");
    convert("BOOLEAN", "true,\nF,\n1,\nmaybe,\n,\n", "true false true false! false");
}

static void test_times(void **state)
{
    (void)state;
    convert("TIMESTAMP", "2024-01-02,\n2024-01-02T03:04:05.123456Z,\n1000000,\n,\n2024-13-01,\n",
            "2024-01-02T00:00:00.000000Z 2024-01-02T03:04:05.123456Z "
            "1970-01-01T00:00:01.000000Z ~ ~!");
    convert("DATE", "2024-01-02T03:04:05.678Z,\n1000,\nx,\n",
            "2024-01-02T03:04:05.678Z 1970-01-01T00:00:01.000Z ~!");
    convert("DATE",
            "2024-01-02T03:04:05.678900Z,\n2024-01-02T03:04:05.678000Z,\n"
            "2024-01-02T03:04:05.6780001,\n",
            "~! 2024-01-02T03:04:05.678Z ~!");
    convert("TIMESTAMP_NS", "2024-01-02T03:04:05.123456789Z,\n1,\n",
            "2024-01-02T03:04:05.123456789Z 1970-01-01T00:00:00.000000001Z");
}

static void test_texts_and_others(void **state)
{
    (void)state;
    convert("VARCHAR", "a,\n\"b \"\"c\"\"\",\n\"\",\n,\na text that does not fit inside a view,\n",
            "a b \"c\"  ~ a text that does not fit inside a view");
    convert("SYMBOL", "BTC,\n,\n", "BTC ~");
    convert("STRING", "\xff,\nok,\n", "~! ok");
    convert("CHAR", "x,\nhello,\n,\n\xc3\xbc,\n", "x ~! ~ \xc3\xbc");
    convert("UUID", "11111111-2222-3333-4444-555555555555,\nx,\n,\n",
            "11111111-2222-3333-4444-555555555555 ~! ~");
    convert("IPv4", "1.2.3.4,\n1.2.3,\n,\n", "1.2.3.4 ~! ~");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_texts_and_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
