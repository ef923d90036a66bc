/* Goal: nobody can write a line of the log by what he sends, nor hide a part of one. Method: lines into a pipe, with characters of every
 * kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/utf8.h"

static void assert_written(const char *text, const char *want)
{
    int ends[2];
    char line[8192];
    assert_int_equal(pipe(ends), 0);
    alm_log_set_fd(ends[1]);
    alm_log_warn("test", "name '%s'", text);
    alm_log_set_fd(STDERR_FILENO);
    const ssize_t n = read(ends[0], line, sizeof line - 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_true(n > 0 && line[n - 1] == '\n');
    line[n - 1] = 0;
    assert_null(strchr(line, '\n'));
    const char *at = strstr(line, "WARN test name '");
    assert_non_null(at);
    at += strlen("WARN test name '");
    if (strncmp(at, want, strlen(want)) != 0)
        fail_msg("%s, not %s", at, want);
}

static void what_is_not_seen_is_escaped(void **state)
{
    (void)state;
    assert_written("jane", "jane'");
    assert_written("J\xc3\xbcrgen \xe6\xbc\xa2", "J\xc3\xbcrgen \xe6\xbc\xa2'");
    assert_written("a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f'");
    assert_written("\xe2\x80\xae"
                   "admin",
                   "\\u202Eadmin'");
    assert_written("a\xc2\xa0"
                   "b\xf3\xa0\x80\x81",
                   "a\\u00A0b\\U000E0001'");
    assert_written("\xff\xfe\xc3", "\\xFF\\xFE\\xC3'");
    assert_written("a\\n", "a\\n'"); /* lines that are escaped already come so */
}

/* However much there is to escape, the line has an end. */
static void long_lines_end(void **state)
{
    char text[6000];
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        static const char *const what[] = {"\x01", "\xff", "\xe2\x80\xae"};
        text[0] = 0;
        for (size_t n = 0; n + 4 < sizeof text; n += strlen(what[kind]))
            memcpy(text + n, what[kind], strlen(what[kind]) + 1);
        assert_written(text, kind == 0   ? "\\x01\\x01"
                             : kind == 1 ? "\\xFF\\xFF"
                                         : "\\u202E\\u202E");
    }
}

static void escapes_are_whole(void **state)
{
    char out[8];
    (void)state;
    alm_utf8_escape(out, sizeof out, "ab\xe2\x80\xae", true);
    assert_string_equal(out, "ab");
    alm_utf8_escape(out, sizeof out, "'\\'", true);
    assert_string_equal(out, "\\'\\\\\\'");
    alm_utf8_escape(out, sizeof out, "'\\'", false);
    assert_string_equal(out, "'\\\\'");
    alm_utf8_escape(out, sizeof out, NULL, true);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_seen_is_escaped),
        cmocka_unit_test(long_lines_end),
        cmocka_unit_test(escapes_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
