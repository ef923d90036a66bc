/*
 * copy_test.c - goal: the formats of COPY are read as PostgreSQL's documentation says, whatever the
 * pieces they come in, and what is written is read back. Method: each case is read whole and in
 * pieces of every size, as one line of text: fields in <>, ~ for null, records ended by a semicolon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/copy/copy.h"
#include "codec/pg/pg_value.h"
#include "type/text.h"

static const alm_copy_format text_format = {
    .kind = ALM_COPY_TEXT, .delimiter = '\t', .null = {"\\N", 2}};
static const alm_copy_format csv_format = {
    .kind = ALM_COPY_CSV, .delimiter = ',', .quote = '"', .escape = '"', .null = {"", 0}};

typedef struct reading {
    alm_ctx cx;
    alm_arena arena;
    alm_csv_reader *reader;
    alm_buf out;
} reading;

static void start(reading *r, const alm_copy_format *format, uint32_t cols)
{
    *r = (reading){0};
    alm_arena_init(&r->arena, NULL);
    r->cx.arena = &r->arena;
    alm_buf_init(&r->out, NULL);
    assert_int_equal(
        alm_copy_reader_new(&r->cx, &r->arena, NULL, format, cols, 1 << 20, &r->reader), ALM_OK);
}

static void stop(reading *r)
{
    alm_csv_reader_free(r->reader);
    alm_buf_deinit(&r->out);
    alm_arena_deinit(&r->arena);
}

static void put(reading *r, const char *text, size_t n)
{
    assert_int_equal(alm_buf_append(&r->cx, &r->out, text, n), ALM_OK);
}

static void put_block(reading *r, const alm_csv_block *block)
{
    for (uint32_t row = 0; row < block->rows; row++) {
        for (uint32_t col = 0; col < block->cols; col++) {
            alm_str text;
            const alm_csv_field *field = &block->fields[(size_t)col * block->stride + row];
            assert_int_equal(alm_csv_text(&r->cx, &r->arena, block, field, &text), ALM_OK);
            put(r, text.ptr == NULL ? "~" : "<", 1);
            if (text.ptr != NULL) {
                put(r, text.ptr, text.len);
                put(r, ">", 1);
            }
        }
        char tail[48];
        const char *const ragged[] = {"", "!less", "!more"};
        put(r, tail,
            (size_t)snprintf(tail, sizeof(tail), "%s@%llu;", ragged[block->ragged[row]],
                             (unsigned long long)block->lines[row]));
    }
}

static alm_status read_pieces(reading *r, alm_str bytes, size_t piece)
{
    for (size_t at = 0;; at += piece) {
        const size_t n = at < bytes.len ? ALM_MIN(piece, bytes.len - at) : 0;
        const bool last = at + n >= bytes.len;
        char *copy = malloc(n + 1);
        assert_non_null(copy);
        (void)memcpy(copy, bytes.ptr + at, n);
        assert_int_equal(alm_csv_feed(&r->cx, r->reader, copy, n), ALM_OK);
        free(copy);
        for (alm_csv_block block = {.rows = 1}; block.rows > 0;) {
            ALM_TRY(alm_csv_next(&r->cx, r->reader, last, &block));
            put_block(r, &block);
        }
        if (last)
            return alm_copy_complete(&r->cx, r->reader);
    }
}

/* want NULL: it fails. */
static void check(const alm_copy_format *format, uint32_t cols, alm_str bytes, const char *want)
{
    for (size_t piece = bytes.len + 1; piece > 0; piece--) {
        reading r;
        start(&r, format, cols);
        const alm_status st = read_pieces(&r, bytes, piece);
        if (want == NULL)
            assert_int_equal(st, ALM_E_COPY_FORMAT);
        else if (st != ALM_OK)
            fail_msg("%.*s in pieces of %zu: %s", (int)bytes.len, bytes.ptr, piece, r.cx.err.msg);
        else if (r.out.len != strlen(want) ||
                 (r.out.len > 0 && memcmp(r.out.ptr, want, r.out.len) != 0))
            fail_msg("%.*s in pieces of %zu: got %.*s, want %s", (int)bytes.len, bytes.ptr, piece,
                     (int)r.out.len, r.out.ptr, want);
        stop(&r);
    }
}

static void check_text(uint32_t cols, const char *bytes, const char *want)
{
    check(&text_format, cols, alm_str_of(bytes), want);
}

static void test_text(void **state)
{
    (void)state;
    check_text(2, "a\tb\nc\td\n", "<a><b>@1;<c><d>@2;");
    check_text(2, "a\tb\r\nc\td", "<a><b>@1;<c><d>@2;");
    check_text(2, "\\N\t\n\\\\N\tN\n", "~<>@1;<\\N><N>@2;");
    check_text(1, "\\b\\f\\n\\r\\t\\v\\\\\\q\n", "<\b\f\n\r\t\v\\q>@1;");
    check_text(1, "\\101\\x41\\x4g\\18\\xg\n",
               "<AA\x04g\x01"
               "8xg>@1;");
    check_text(2, "a\\\tb\tc\\\nd\ne\tf\n", "<a\tb><c\nd>@1;<e><f>@3;");
    check_text(2, "a\\\\\tb\n", "<a\\><b>@1;");
    check_text(1, "\nx\n", "<>@1;<x>@2;");
    check_text(3, "a\tb\na\tb\tc\td\n", "<a><b>~!less@1;<a><b><c>!more@2;");
    check_text(1, "a\n\\.\nb\n", "<a>@1;");
    check_text(1, "a\n\\.", "<a>@1;");
    check_text(1, "a\n\\.x\n\xc3\xbc\n", "<a>@1;<.x>@2;<\xc3\xbc>@3;");
    check_text(1, "", "");
    const alm_copy_format bar = {.kind = ALM_COPY_TEXT, .delimiter = '|', .null = {"", 0}};
    check(&bar, 3, ALM_STR("a||\\N\n"), "<a>~<N>@1;");
}

static void check_csv(uint32_t cols, const char *bytes, const char *want)
{
    check(&csv_format, cols, alm_str_of(bytes), want);
}

static void test_csv(void **state)
{
    (void)state;
    check_csv(3, "a,,\"\"\nb,c,d\n", "<a>~<>@1;<b><c><d>@2;");
    check_csv(2, "\"a,\"\"b\"\"\",\"c\nd\"\ne,f", "<a,\"b\"><c\nd>@1;<e><f>@3;");
    check_csv(2, "a\"b,c\"d,x\"\"y\n", "<ab,cd><xy>@1;");
    check_csv(2, "\"a\"b,\"\"c\n", "<ab><c>@1;");
    check_csv(1, "\n\"\"\n", "~@1;<>@2;");
    check_csv(2, "a\n", "<a>~!less@1;");
    check_csv(1, "a\r\n\\.\r\nb\n", "<a>@1;");
    check_csv(1, "\"\\.\"\n", "<\\.>@1;");
    check_csv(1, "a\n\"b\n", NULL);
    const alm_copy_format slash = {
        .kind = ALM_COPY_CSV, .delimiter = ';', .quote = '\'', .escape = '\\', .null = {"NULL", 4}};
    check(&slash, 3, ALM_STR("'a\\'b;\\\\c';NULL;'NULL'\n"), "<a'b;\\c>~<NULL>@1;");
    check(&slash, 2, ALM_STR("'a\\b';c\\d\n"), "<a\\b><c\\d>@1;");
    static const bool yes[2] = {true, true};
    alm_copy_format forced = csv_format;
    forced.force_null = yes;
    check(&forced, 2, ALM_STR("\"\",x\n"), "~<x>@1;");
    forced = csv_format;
    forced.force_not_null = yes;
    check(&forced, 2, ALM_STR(",x\n"), "<><x>@1;");
}

#define HEAD "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"

static void test_binary(void **state)
{
    (void)state;
    const alm_copy_format format = {.kind = ALM_COPY_BINARY};
    check(&format, 2, ALM_STR(HEAD "\0\2\0\0\0\1a\377\377\377\377\0\2\0\0\0\0\0\0\0\2bc\377\377"),
          "<a>~@1;<><bc>@2;");
    check(&format, 1, ALM_STR(HEAD), "");
    check(&format, 1, ALM_STR("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\2xx\377\377"), "");
    check(&format, 1, ALM_STR(HEAD "\377\377x"), NULL);
    check(&format, 1, ALM_STR("PGCOPY\r\n"), NULL);
    check(&format, 1, ALM_STR("PGCOPY\n"), NULL);
    check(&format, 1, ALM_STR(HEAD "\0\2\0\0\0\1a\377\377"), NULL);
    check(&format, 1, ALM_STR(HEAD "\0\1\0\0\0\2a"), NULL);
    check(&format, 1, ALM_STR(HEAD "\0\1\377\377\377\376"), NULL);
    check(&format, 1, ALM_STR(HEAD "\0\1\177\377\377\377"), NULL);
    check(&format, 1, ALM_STR(""), NULL);
}

/* Column 0 of what is read, as text. */
static void check_values(const alm_copy_format *format, alm_type type, alm_str bytes,
                         const char *want)
{
    reading r;
    alm_csv_block block;
    uint8_t bad[64] = {0};
    uint32_t n_bad = 0;
    alm_vec vec;
    char got[512] = "";
    int n = 0;
    start(&r, format, 1);
    assert_int_equal(alm_csv_feed(&r.cx, r.reader, bytes.ptr, bytes.len), ALM_OK);
    assert_int_equal(alm_csv_next(&r.cx, r.reader, true, &block), ALM_OK);
    assert_int_equal(alm_csv_convert(&r.cx, &r.arena, &block, 0, type, bad, &n_bad, &vec), ALM_OK);
    for (uint32_t i = 0; i < block.rows; i++) {
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text = {0};
        if (!alm_value_text(&vec, i, ALM_TEXT_PG, scratch, &text))
            text = ALM_STR("~");
        n += snprintf(got + n, sizeof(got) - (size_t)n, "%s%.*s%s", i > 0 ? " " : "", (int)text.len,
                      text.ptr, bad[i] ? "!" : "");
    }
    assert_string_equal(got, want);
    stop(&r);
}

static void test_values(void **state)
{
    (void)state;
    const alm_copy_format binary = {.kind = ALM_COPY_BINARY};
    check_values(&text_format, ALM_TY(INT), ALM_STR("1\n\\N\n\n 7 \nx\n\\x31\n"), "1 ~ ~! 7 ~! 1");
    check_values(&csv_format, ALM_TY(BOOLEAN), ALM_STR("t\nno\n1\n\"\"\n"), "t f t f!");
    check_values(&text_format, ALM_TY(BINARY), ALM_STR("\\\\x6162\n\\\\x\nx\n\\\\x6\n\\\\q\n"),
                 "ab  x ~! ~!");
    check_values(&binary, ALM_TY(INT), ALM_STR(HEAD "\0\1\0\0\0\4\0\0\1\0\0\1\0\0\0\2ab"),
                 "256 ~!");
    check_values(&binary, ALM_TY(DOUBLE),
                 ALM_STR(HEAD "\0\1\0\0\0\10\77\370\0\0\0\0\0\0\0\1\377\377\377\377"), "1.5 ~");
    check_values(&binary, ALM_TY(TIMESTAMP), ALM_STR(HEAD "\0\1\0\0\0\10\0\0\0\0\0\0\0\1"),
                 "2000-01-01 00:00:00.000001");
    check_values(&binary, ALM_TY(VARCHAR), ALM_STR(HEAD "\0\1\0\0\0\1\377\0\1\0\0\0\2ok"), "~! ok");
}

/* Two columns, written and read back. */
static void check_round(const alm_copy_format *format, const char *want)
{
    reading r;
    start(&r, format, 2);
    alm_vec cols[2];
    assert_int_equal(alm_vec_new(&r.cx, &r.arena, ALM_TY(VARCHAR), 3, &cols[0]), ALM_OK);
    assert_int_equal(alm_vec_new(&r.cx, &r.arena, ALM_TY(DOUBLE), 3, &cols[1]), ALM_OK);
    ((alm_view *)cols[0].data)[0] = alm_view_of(ALM_STR("a\t\\b,\"c\"\nd\r"));
    ((alm_view *)cols[0].data)[1] = alm_view_of(ALM_STR(""));
    ((alm_view *)cols[0].data)[2] = alm_view_null();
    const double numbers[3] = {1.5, (double)__builtin_nanf(""), -2};
    (void)memcpy(cols[1].data, numbers, sizeof(numbers));
    const alm_batch batch = {.rows = 3, .n_cols = 2, .cols = cols};
    static const char *const names[] = {"a", "b"};
    alm_buf out, scratch;
    alm_buf_init(&out, NULL);
    alm_buf_init(&scratch, NULL);
    assert_int_equal(alm_copy_put_head(&r.cx, format, names, 2, &out), ALM_OK);
    for (uint32_t row = 0; row < 3; row++)
        assert_int_equal(alm_copy_put_row(&r.cx, format, &batch, row, &scratch, &out), ALM_OK);
    assert_int_equal(alm_copy_put_tail(&r.cx, format, &out), ALM_OK);
    if (want != NULL) {
        if (out.len != strlen(want))
            fail_msg("got %.*s", (int)out.len, out.ptr);
        assert_memory_equal(out.ptr, want, out.len);
    }
    if (format->kind != ALM_COPY_BINARY) {
        assert_int_equal(read_pieces(&r, (alm_str){out.ptr, out.len}, out.len), ALM_OK);
        r.out.ptr[r.out.len - 1] = 0;
        assert_non_null(strstr(r.out.ptr, "<a\t\\b,\"c\"\nd\r>"));
    }
    alm_buf_deinit(&out);
    alm_buf_deinit(&scratch);
    stop(&r);
}

static void test_written(void **state)
{
    (void)state;
    check_round(&text_format, "a\\t\\\\b,\"c\"\\nd\\r\t1.5\n\t\\N\n\\N\t-2\n");
    alm_copy_format header = csv_format;
    header.header = true;
    check_round(&header, "a,b\n\"a\t\\b,\"\"c\"\"\nd\r\",1.5\n\"\",\n,-2\n");
    static const bool first[2] = {true, false};
    header.force_quote = first;
    header.null = ALM_STR("-2");
    check_round(&header, "a,b\n\"a\t\\b,\"\"c\"\"\nd\r\",1.5\n\"\",-2\n-2,\"-2\"\n");
    check_round(&(alm_copy_format){.kind = ALM_COPY_BINARY}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_csv),
        cmocka_unit_test(test_binary),  cmocka_unit_test(test_values),
        cmocka_unit_test(test_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
