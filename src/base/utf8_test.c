/*
 * utf8_test.c - goal: exactly the well-formed sequences are valid; counting, case and UTF-16 units
 * agree with Unicode. Method: every code point, all two-byte prefixes, known bad sequences.
 */
#include "base/utf8.h"

#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char text[4];
        const size_t n = alm_utf8_put(cp, text);
        const alm_str s = {text, n};
        const bool surrogate = cp >= 0xD800 && cp <= 0xDFFF;
        size_t at = 0;
        if (!alm_utf8_is_valid(s) || alm_utf8_next(s, &at) != (surrogate ? 0xFFFD : cp) ||
            at != n || alm_utf8_count(s) != 1 || alm_utf8_count_utf16(s) != (cp > 0xFFFF ? 2 : 1))
            fail_msg("code point %X", cp);
    }
    char text[4];
    assert_int_equal(alm_utf8_put(0x110000, text), 3); /* U+FFFD */
}

static void test_bad_sequences(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x80\x80",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3",
        "\xE2\x82",
        "\xF0\x9F\x98",
        "\xC3(",
        "\xE2\x28\xA1",
        "\xE2\x82(",
        "\xF8\x88\x80\x80\x80",
    };
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        for (size_t lead = 0; lead < 40; lead++) { /* at every place of the ASCII steps */
            char text[64];
            memset(text, 'a', lead);
            const size_t n = strlen(bad[i]);
            memcpy(text + lead, bad[i], n);
            const alm_str s = {text, lead + n};
            assert_false(alm_utf8_is_valid(s));
            assert_int_equal(alm_utf8_bad_at(s), lead);
            size_t at = lead; /* decoding goes on and stays inside */
            while (at < s.len)
                (void)alm_utf8_next(s, &at);
            assert_int_equal(at, s.len);
        }
    }
    assert_true(alm_utf8_is_valid((alm_str){0}));
    assert_true(alm_utf8_is_valid(ALM_STR("plain text of more than thirty-two bytes, all ASCII")));
    assert_true(alm_utf8_is_valid(ALM_STR("žluťoučký kůň 日本語 😀 and ASCII again, for the run")));
}

static void test_counting(void **state)
{
    (void)state;
    const alm_str s = ALM_STR("až日😀b");
    assert_int_equal(alm_utf8_count(s), 5);
    assert_int_equal(alm_utf8_count_utf16(s), 6);
    assert_int_equal(alm_utf8_offset(s, 0), 0);
    assert_int_equal(alm_utf8_offset(s, 1), 1);
    assert_int_equal(alm_utf8_offset(s, 2), 3);
    assert_int_equal(alm_utf8_offset(s, 3), 6);
    assert_int_equal(alm_utf8_offset(s, 4), 10);
    assert_int_equal(alm_utf8_offset(s, 5), 11);
    assert_int_equal(alm_utf8_offset(s, 99), s.len);
    assert_int_equal(alm_utf8_offset(ALM_STR("plain"), 3), 3);
    assert_true(alm_utf8_is_ascii(ALM_STR("plain")));
    assert_false(alm_utf8_is_ascii(s));
    char bytes[100]; /* every length, one byte beyond ASCII at every place */
    memset(bytes, 'x', sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        assert_true(alm_utf8_is_ascii((alm_str){bytes, n}));
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)0xC3;
            assert_false(alm_utf8_is_ascii((alm_str){bytes, n}));
            bytes[i] = 'x';
        }
    }
}

static void expect_case(const char *text, const char *upper, const char *lower)
{
    alm_ctx cx = {0};
    alm_arena arena = {0};
    alm_str out;
    assert_int_equal(alm_utf8_upper(&cx, &arena, alm_str_of(text), &out), ALM_OK);
    assert_true(alm_str_eq(out, alm_str_of(upper)));
    assert_int_equal(alm_utf8_lower(&cx, &arena, alm_str_of(text), &out), ALM_OK);
    assert_true(alm_str_eq(out, alm_str_of(lower)));
    alm_arena_deinit(&arena);
}

static void test_case(void **state)
{
    (void)state;
    expect_case("", "", "");
    expect_case("aBc[{@`1", "ABC[{@`1", "abc[{@`1");
    expect_case("žluťoučký KŮŇ", "ŽLUŤOUČKÝ KŮŇ", "žluťoučký kůň");
    expect_case("日本語😀", "日本語😀", "日本語😀");
    expect_case("\xC8\xBA", "\xC8\xBA", "\xE2\xB1\xA5"); /* grows from two bytes to three */
    assert_int_equal(alm_utf8_unit_upper('a'), 'A');
    assert_int_equal(alm_utf8_unit_lower(0x017D), 0x017E);
    assert_int_equal(alm_utf8_unit_upper(0xD83D), 0xD83D);
    assert_int_equal(alm_utf8_fold('K'), 'k');
    assert_int_equal(alm_utf8_fold(0x03C2), alm_utf8_fold(0x03A3)); /* final sigma */
}

static void test_units(void **state)
{
    (void)state;
    char text[4];
    assert_int_equal(alm_utf8_from_unit(0, text), 0);
    assert_int_equal(alm_utf8_from_unit(0xD83D, text), 1);
    assert_int_equal(text[0], '?');
    assert_int_equal(alm_utf8_first_unit(ALM_STR("")), 0);
    assert_int_equal(alm_utf8_first_unit(ALM_STR("ab")), 'a');
    assert_int_equal(alm_utf8_first_unit(ALM_STR("😀")), 0xD83D);
    for (uint32_t unit = 1; unit <= 0xFFFF; unit++) {
        const size_t n = alm_utf8_from_unit((uint16_t)unit, text);
        if (unit < 0xD800 || unit > 0xDFFF)
            assert_int_equal(alm_utf8_first_unit((alm_str){text, n}), unit);
    }
}

static void test_log_lines(void **state)
{
    (void)state;
    int ends[2];
    char line[8192];
    assert_int_equal(pipe(ends), 0);
    alm_log_set_fd(ends[1]);
    alm_log_info("test", "value %d\nfake line", 7);
    ssize_t n = read(ends[0], line, sizeof(line) - 1);
    assert_true(n > 0);
    line[n] = '\0';
    assert_string_equal(strstr(line, "Z INFO "), "Z INFO test value 7\\x0afake line\n");
    assert_int_equal(line[4], '-');
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[26], 'Z');
    alm_log_set_level(ALM_LOG_ERROR);
    alm_log_warn("test", "not seen");
    alm_log_error("test", "%s", "seen");
    n = read(ends[0], line, sizeof(line) - 1);
    line[n] = '\0';
    assert_string_equal(strstr(line, "ERROR"), "ERROR test seen\n");
    char flood[6000];
    memset(flood, '\n',
           sizeof(flood)); /* four bytes each once escaped: must be cut, not overflow */
    flood[sizeof(flood) - 1] = '\0';
    alm_log_error("test", "%s", flood);
    n = read(ends[0], line, sizeof(line) - 1);
    assert_true(n > 4000 && n <= 4096);
    assert_int_equal(line[n - 1], '\n');
    alm_log_level level;
    assert_true(alm_log_level_parse(ALM_STR("Warn"), &level));
    assert_int_equal(level, ALM_LOG_WARN);
    assert_false(alm_log_level_parse(ALM_STR("loud"), &level));
    alm_log_set_fd(STDERR_FILENO);
    alm_log_set_level(ALM_LOG_INFO);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_hidden_characters(void **state)
{
    (void)state;
    static const char *const seen[] = {"admin",        "a b",     "m\u00fcller",
                                       "\u7530\u4e2d", "e\u0301", ""};
    static const char *const hidden[] = {"x\u202e", "x\u200b", "x\t",       "x\u00a0", "x\u3000",
                                         "x\u2028", "x\u00ad", "x\u3164",   "x\u2800", "x\ufe0f",
                                         "x\ue000", "x\x7f",   "x\xc2\x85", "x\xff",   "x\u034f"};
    for (size_t i = 0; i < ALM_COUNT(seen); i++)
        assert_int_equal(alm_utf8_hidden_at(alm_str_of(seen[i])), strlen(seen[i]));
    for (size_t i = 0; i < ALM_COUNT(hidden); i++)
        if (alm_utf8_hidden_at(alm_str_of(hidden[i])) != 1)
            fail_msg("row %zu", i);
}

static void test_names_that_read_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"admin", "ADMIN", true},         {"\u00dcber", "u\u0308ber", true},
                {"\uff41dmin", "admin", true},    {"stra\u00dfe", "STRASSE", true},
                {"ad\u00admin", "admin", true},   {"admin", "admin2", false},
                {"m\u00fcller", "muller", false}, {"a b", "ab", false}};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_str a, b;
        assert_int_equal(alm_utf8_name_key(&cx, &arena, alm_str_of(rows[i].a), &a), ALM_OK);
        assert_int_equal(alm_utf8_name_key(&cx, &arena, alm_str_of(rows[i].b), &b), ALM_OK);
        if (alm_str_eq(a, b) != rows[i].same)
            fail_msg("%s, %s", rows[i].a, rows[i].b);
    }
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_characters),
        cmocka_unit_test(test_names_that_read_the_same),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_bad_sequences),
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_case),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_log_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
