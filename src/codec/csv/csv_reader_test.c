/*
 * csv_reader_test.c - goal: records and fields come out as RFC 4180 says, whatever the pieces the
 * bytes come in. Method: each case is read whole and again in pieces of every size, and written as
 * one line of text: fields in <>, ~ for null, records ended by a semicolon, ! for ragged ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/csv/csv.h"

typedef struct reading {
    alm_ctx cx;
    alm_arena arena;
    alm_csv_reader *reader;
    alm_buf out;
} reading;

static void put(reading *r, const char *text, size_t n)
{
    assert_int_equal(alm_buf_append(&r->cx, &r->out, text, n), ALM_OK);
}

static void put_block(reading *r, const alm_csv_block *block)
{
    for (uint32_t row = 0; row < block->rows; row++) {
        for (uint32_t col = 0; col < block->cols; col++) {
            alm_str text;
            assert_int_equal(alm_csv_text(&r->cx, &r->arena, block,
                                          &block->fields[(size_t)col * block->stride + row], &text),
                             ALM_OK);
            if (text.ptr == NULL) {
                put(r, "~", 1);
                continue;
            }
            put(r, "<", 1);
            put(r, text.ptr, text.len);
            put(r, ">", 1);
        }
        if (block->ragged[row] != 0)
            put(r, block->ragged[row] == 1 ? "!less" : "!more", 5);
        char line[24];
        put(r, line,
            (size_t)snprintf(line, sizeof(line), "@%llu;", (unsigned long long)block->lines[row]));
    }
}

static void start(reading *r, char delimiter, uint32_t cols, size_t record_max)
{
    *r = (reading){0};
    alm_arena_init(&r->arena, NULL);
    r->cx.arena = &r->arena;
    alm_buf_init(&r->out, NULL);
    assert_int_equal(
        alm_csv_reader_new(&r->cx, &r->arena, NULL, delimiter, cols, record_max, &r->reader),
        ALM_OK);
}

static void stop(reading *r)
{
    alm_csv_reader_free(r->reader);
    alm_buf_deinit(&r->out);
    alm_arena_deinit(&r->arena);
}

static void drain(reading *r, bool last)
{
    alm_csv_block block = {.rows = 1};
    while (block.rows > 0) {
        assert_int_equal(alm_csv_next(&r->cx, r->reader, last, &block), ALM_OK);
        put_block(r, &block);
    }
}

static void check(char delimiter, uint32_t cols, alm_str text, const char *want)
{
    for (size_t piece = text.len + 1; piece > 0; piece--) {
        reading r;
        start(&r, delimiter, cols, 1 << 20);
        for (size_t at = 0; at < text.len; at += piece) {
            const size_t n = ALM_MIN(piece, text.len - at);
            char *copy = test_malloc(n); /* exactly as long: readers past the end show */
            (void)memcpy(copy, text.ptr + at, n);
            assert_int_equal(alm_csv_feed(&r.cx, r.reader, copy, n), ALM_OK);
            test_free(copy);
            drain(&r, false);
        }
        drain(&r, true);
        put(&r, "", 1);
        if (strcmp(r.out.ptr, want) != 0)
            fail_msg("pieces of %zu: got %s, want %s", piece, r.out.ptr, want);
        stop(&r);
    }
}

static void test_records_and_fields(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
        uint32_t cols;
    } cases[] = {
        {"a,b\n1,2\n", "<a><b>@1;<1><2>@2;", 2},
        {"a,b\r\n1,2\r\n", "<a><b>@1;<1><2>@2;", 2},
        {"a,b\n1,2", "<a><b>@1;<1><2>@2;", 2},
        {"a,b\n1,2\r", "<a><b>@1;<1><2>@2;", 2},
        {"", "", 2},
        {"\n\r\n\n", "", 2},
        {"\n\na,b\n\n1,2\n", "<a><b>@3;<1><2>@5;", 2},
        {"a\n", "<a>~!less@1;", 2},
        {"a,b,c\n", "<a><b>!more@1;", 2},
        {",\n", "~~@1;", 2},
        {"\"\",\n", "<>~@1;", 2},
        {"\"a,b\",\"c\nd\"\ne,f\n", "<a,b><c\nd>@1;<e><f>@3;", 2},
        {"\"say \"\"hi\"\"\",\"\"\"\"\n", "<say \"hi\"><\">@1;", 2},
        {"\"a\"x,b\n", "<ax><b>@1;", 2},
        {"\"a\"x\"b\",c\n1,2\n", "<ax\"b\"><c>@1;<1><2>@2;", 2},
        {"\"a\"\"\" \"\",\"b\" \n", "<a\" \"\"><b >@1;", 2},
        {"5\" disk,a\n6\" disk,b\n", "<5\" disk><a>@1;<6\" disk><b>@2;", 2},
        {"a\"b\"c,d\n", "<a\"b\"c><d>@1;", 2},
        {"\"a\"", "<a>~!less@1;", 2},
        {"\xef\xbb\xbf"
         "a,b\n",
         "<a><b>@1;", 2},
        {"\xef\xbb\xbf\"a\",b\n\"c\nd\",e\n", "<a><b>@1;<c\nd><e>@2;", 2},
        {"a,b\n\xef\xbb\xbf"
         "c,d\n",
         "<a><b>@1;<\xef\xbb\xbf"
         "c><d>@2;",
         2},
        {"one\n\"\"\ntwo\n", "<one>@1;<>@2;<two>@3;", 1},
        {" a , b \n", "< a >< b >@1;", 2},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++)
        check(',', cases[i].cols, alm_str_of(cases[i].text), cases[i].want);
    check(';', 2, ALM_STR("a,b;\"c;d\"\n"), "<a,b><c;d>@1;");
    check('\t', 3, ALM_STR("a\t\tb\n"), "<a>~<b>@1;");
}

/* A file that ends inside of quotes is cut off somewhere: not a value that goes on to its end. */
static void test_open_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"\"", "line 1: a quote that is not closed"},
        {"\"a\"\"", "line 1: a quote that is not closed"},
        {"a,b\nc,\"open\n1,2\n", "line 2: a quote that is not closed"},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        reading r;
        alm_csv_block block;
        const size_t n = strlen(cases[i].text);
        start(&r, ',', 2, 1 << 20);
        assert_int_equal(alm_csv_feed(&r.cx, r.reader, cases[i].text, n), ALM_OK);
        assert_int_equal(alm_csv_next(&r.cx, r.reader, true, &block), ALM_E_VALUE);
        assert_string_equal(r.cx.err.msg, cases[i].why);
        stop(&r);
    }
}

/* More records than a block has, wide files: every record once, in order. */
static void test_blocks(void **state)
{
    (void)state;
    for (uint32_t cols = 1; cols <= ALM_CSV_COLS_MAX; cols *= 4) {
        const uint32_t rows = cols > 64 ? 3000 : 20000;
        reading r;
        start(&r, ',', cols, 1 << 20);
        char cell[16];
        uint64_t sum = 0, want = 0;
        uint32_t seen = 0;
        for (uint32_t i = 0; i < rows; i++) {
            const int n = snprintf(cell, sizeof(cell), "%u\n", i);
            want += i;
            assert_int_equal(alm_csv_feed(&r.cx, r.reader, cell, (size_t)n), ALM_OK);
            if (i % 7000 != 0 && i + 1 != rows)
                continue;
            for (;;) {
                alm_csv_block block;
                assert_int_equal(alm_csv_next(&r.cx, r.reader, i + 1 == rows, &block), ALM_OK);
                if (block.rows == 0)
                    break;
                for (uint32_t k = 0; k < block.rows; k++) {
                    assert_int_equal(block.lines[k], ++seen);
                    sum += strtoul(block.bytes + block.fields[k].off, NULL, 10);
                }
            }
        }
        assert_int_equal(seen, rows);
        assert_int_equal(sum, want);
        stop(&r);
    }
}

static void test_limits(void **state)
{
    (void)state;
    reading r;
    alm_csv_block block;
    start(&r, ',', 2, 100);
    char text[201];
    (void)memset(text, 'x', sizeof(text));
    text[0] = '"';
    assert_int_equal(alm_csv_feed(&r.cx, r.reader, "a,b\n", 4), ALM_OK);
    assert_int_equal(alm_csv_feed(&r.cx, r.reader, text, sizeof(text)), ALM_OK);
    assert_int_equal(alm_csv_next(&r.cx, r.reader, false, &block), ALM_E_LIMIT);
    assert_non_null(strstr(r.cx.err.msg, "line 2"));
    alm_error_clear(&r.cx);
    alm_csv_reader *bad = NULL;
    assert_int_equal(alm_csv_reader_new(&r.cx, &r.arena, NULL, ',', 0, 9, &bad), ALM_E_LIMIT);
    alm_error_clear(&r.cx);
    assert_int_equal(alm_csv_reader_new(&r.cx, &r.arena, NULL, ',', ALM_CSV_COLS_MAX + 1, 9, &bad),
                     ALM_E_LIMIT);
    alm_error_clear(&r.cx);
    assert_int_equal(alm_csv_reader_new(&r.cx, &r.arena, NULL, '"', 2, 9, &bad), ALM_E_ARG);
    stop(&r);
}

/* A line of very many quoted fields is read in time linear in its length. */
static void test_long_lines_are_linear(void **state)
{
    (void)state;
    enum { FIELDS = 500000 };
    reading r;
    start(&r, ',', 2, 1 << 30);
    for (uint32_t i = 0; i < FIELDS; i++)
        assert_int_equal(alm_csv_feed(&r.cx, r.reader, "\"a\",", 4), ALM_OK);
    assert_int_equal(alm_csv_feed(&r.cx, r.reader, "x\n", 2), ALM_OK);
    alm_csv_block block;
    const int64_t start_ns = alm_monotonic_ns();
    assert_int_equal(alm_csv_next(&r.cx, r.reader, false, &block), ALM_OK);
    assert_int_equal(block.rows, 1);
    assert_int_equal(block.ragged[0], 2);
    assert_true(alm_monotonic_ns() - start_ns < INT64_C(3000000000));
    stop(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_and_fields),
        cmocka_unit_test(test_open_quotes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long_lines_are_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
