/*
 * result_text_test.c - goal: rows of every type as /exec and /exp write them. Method: two rows, a value
 * and null, of every type here, in both forms; then constants,
 * column choices, large numbers as text; then rows in pieces of any size against the same rows at once.
 */
#include "codec/result_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "type/text.h"

static const struct sample {
    const char *type, *in, *json, *json_null, *csv, *csv_null;
} samples[] = {
    {"BOOLEAN", "true", "true", "false", "true", "false"},
    {"BYTE", "-7", "-7", "0", "-7", "0"},
    {"SHORT", "300", "300", "0", "300", "0"},
    {"CHAR", "\"", "\"\\\"\"", "\"\"", "\"\"\"\"", ""},
    {"INT", "-5", "-5", "null", "-5", ""},
    {"LONG", "70000000000", "70000000000", "null", "70000000000", ""},
    {"FLOAT", "0.1", "0.1", "null", "0.1", ""},
    {"DOUBLE", "1e7", "1.0E7", "null", "1.0E7", ""},
    {"STRING", "a\"b", "\"a\\\"b\"", "null", "\"a\"\"b\"", ""},
    {"VARCHAR", "a long text with a\nline end", "\"a long text with a\\nline end\"", "null",
     "\"a long text with a\nline end\"", ""},
    {"SYMBOL", "BTC", "\"BTC\"", "null", "\"BTC\"", ""},
    {"DATE", "2024-01-02", "\"2024-01-02T00:00:00.000Z\"", "null", "\"2024-01-02T00:00:00.000Z\"",
     ""},
    {"TIMESTAMP", "1969-12-31T23:59:59.999999Z", "\"1969-12-31T23:59:59.999999Z\"", "null",
     "\"1969-12-31T23:59:59.999999Z\"", ""},
    {"TIMESTAMP_NS", "2024-01-02T03:04:05.123456789Z", "\"2024-01-02T03:04:05.123456789Z\"", "null",
     "\"2024-01-02T03:04:05.123456789Z\"", ""},
    {"UUID", "11111111-2222-3333-4444-555555555555", "\"11111111-2222-3333-4444-555555555555\"",
     "null", "11111111-2222-3333-4444-555555555555", ""},
    {"IPv4", "1.2.3.4", "\"1.2.3.4\"", "null", "1.2.3.4", ""},
};

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena;
    alm_buf out;
} fixture;

static int setup(void **state)
{
    static fixture f; /* one test at a time */
    f = (fixture){0};
    alm_arena_init(&f.arena, NULL);
    alm_buf_init(&f.out, NULL);
    f.cx.arena = &f.arena;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    alm_buf_deinit(&f->out);
    alm_arena_deinit(&f->arena);
    return 0;
}

/* A column of `in` and null. */
static alm_vec column(fixture *f, const char *type_name, const char *in)
{
    alm_type type;
    alm_vec vec;
    assert_true(alm_type_parse(alm_str_of(type_name), &type));
    assert_int_equal(alm_vec_new(&f->cx, &f->arena, type, 2, &vec), ALM_OK);
    if (type.id == ALM_T_SYMBOL)
        vec.width = sizeof(alm_view);
    assert_int_equal(alm_value_parse(&f->cx, -1, type, alm_str_of(in), vec.data), ALM_OK);
    alm_value_set_null(type, (char *)vec.data + vec.width);
    return vec;
}

static void rows(fixture *f, alm_vec *cols, uint32_t n, const alm_result_options *options,
                 const char *want)
{
    alm_type types[8];
    alm_result_writer *writer = NULL;
    for (uint32_t i = 0; i < n; i++)
        types[i] = cols[i].type;
    f->out.len = 0;
    assert_int_equal(alm_result_writer_new(&f->cx, &f->arena, types, n, options, &writer), ALM_OK);
    const alm_batch batch = {.rows = 2, .n_cols = n, .cols = cols};
    uint32_t row = 0;
    assert_int_equal(alm_result_rows(&f->cx, writer, &batch, &row, 1, SIZE_MAX, &f->out), ALM_OK);
    assert_int_equal(row, 1);
    assert_int_equal(alm_result_rows(&f->cx, writer, &batch, &row, 2, SIZE_MAX, &f->out), ALM_OK);
    assert_int_equal(row, 2);
    assert_int_equal(alm_buf_append(&f->cx, &f->out, "", 1), ALM_OK);
    assert_string_equal(f->out.ptr, want);
}

static void test_every_type(void **state)
{
    fixture *f = *state;
    char want[256];
    for (size_t i = 0; i < ALM_COUNT(samples); i++) {
        const struct sample *s = &samples[i];
        alm_vec col = column(f, s->type, s->in);
        (void)snprintf(want, sizeof(want), "[%s],[%s]", s->json, s->json_null);
        rows(f, &col, 1, &(alm_result_options){.form = ALM_RESULT_JSON}, want);
        (void)snprintf(want, sizeof(want), "%s\r\n%s\r\n", s->csv, s->csv_null);
        rows(f, &col, 1, &(alm_result_options){.form = ALM_RESULT_CSV}, want);
    }
}

static void test_not_finite_is_null(void **state)
{
    fixture *f = *state;
    alm_vec col = column(f, "DOUBLE", "1");
    ((double *)col.data)[0] = (double)__builtin_inf();
    rows(f, &col, 1, &(alm_result_options){.form = ALM_RESULT_JSON}, "[null],[null]");
    col = column(f, "FLOAT", "1");
    ((float *)col.data)[0] = -__builtin_inff();
    rows(f, &col, 1, &(alm_result_options){.form = ALM_RESULT_CSV}, "\r\n\r\n");
}

static void test_constants_choices_and_large_numbers(void **state)
{
    fixture *f = *state;
    alm_vec cols[] = {column(f, "INT", "1"), column(f, "LONG", "2"), column(f, "VARCHAR", "x;y")};
    cols[2].is_const = true;
    static const uint32_t order[] = {2, 0, 2};
    rows(f, cols, 3, &(alm_result_options){.form = ALM_RESULT_JSON},
         "[1,2,\"x;y\"],[null,null,\"x;y\"]");
    rows(f, cols, 3, &(alm_result_options){.form = ALM_RESULT_JSON, .quote_long = true},
         "[1,\"2\",\"x;y\"],[null,null,\"x;y\"]");
    rows(
        f, cols, 3,
        &(alm_result_options){.form = ALM_RESULT_CSV, .delimiter = ';', .cols = order, .n_cols = 3},
        "\"x;y\";1;\"x;y\"\r\n\"x;y\";;\"x;y\"\r\n");
}

static void test_json_lines(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"i", "a \"b\"", "c"};
    static const uint32_t order[] = {2, 1};
    alm_vec cols[] = {column(f, "INT", "1"), column(f, "LONG", "2"), column(f, "CHAR", "x")};
    const alm_result_options all = {.form = ALM_RESULT_NDJSON, .names = names};
    rows(f, cols, 3, &all,
         "{\"i\":1,\"a \\\"b\\\"\":2,\"c\":\"x\"}\n"
         "{\"i\":null,\"a \\\"b\\\"\":null,\"c\":null}\n");
    const alm_result_options two = {
        .form = ALM_RESULT_NDJSON, .names = names, .cols = order, .n_cols = 2, .quote_long = true};
    rows(f, cols, 3, &two,
         "{\"c\":\"x\",\"a \\\"b\\\"\":\"2\"}\n{\"c\":null,\"a \\\"b\\\"\":null}\n");
}

static void test_quoted_fields(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", "\"\""}, {"\"", "\"\"\"\""}, {"a\"", "\"a\"\"\""}, {"\"\"b", "\"\"\"\"\"b\""}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        f->out.len = 0;
        assert_int_equal(alm_csv_put_quoted(&f->cx, &f->out, alm_str_of(cases[i].in)), ALM_OK);
        assert_int_equal(alm_buf_append(&f->cx, &f->out, "", 1), ALM_OK);
        assert_string_equal(f->out.ptr, cases[i].want);
    }
}

enum { PIECE_ROWS = 3, LONG_BYTES = 70000 };

/* Texts, and bytes, that are long enough to be cut anywhere; null in the second row. */
static alm_vec long_column(fixture *f, alm_type type, const char *pattern)
{
    alm_vec vec;
    char *text = NULL;
    const size_t n = strlen(pattern);
    assert_int_equal(alm_vec_new(&f->cx, &f->arena, type, PIECE_ROWS, &vec), ALM_OK);
    vec.width = sizeof(alm_view);
    assert_int_equal(alm_arena_bytes(&f->cx, &f->arena, LONG_BYTES + n, &text), ALM_OK);
    size_t len = 0;
    for (; len < LONG_BYTES; len += n)
        (void)memcpy(text + len, pattern, n);
    alm_view *views = vec.data;
    views[0] = alm_view_of((alm_str){text, len});
    views[1] = alm_view_null();
    views[2] = alm_view_of((alm_str){text, len - n});
    return vec;
}

/* The rows in pieces of `enough` bytes, or a step of a long text more. */
static void put_pieces(fixture *f, const alm_vec *cols, uint32_t n,
                       const alm_result_options *options, size_t enough, alm_buf *out)
{
    enum { STEP_MOST = 6 * (12 << 10) + 256 };
    alm_type types[8];
    alm_result_writer *writer = NULL;
    alm_buf piece;
    for (uint32_t i = 0; i < n; i++)
        types[i] = cols[i].type;
    assert_int_equal(alm_result_writer_new(&f->cx, &f->arena, types, n, options, &writer), ALM_OK);
    const alm_batch batch = {.rows = PIECE_ROWS, .n_cols = n, .cols = (alm_vec *)(uintptr_t)cols};
    alm_buf_init(&piece, NULL);
    out->len = 0;
    for (uint32_t row = 0; row < PIECE_ROWS;) {
        piece.len = 0;
        assert_int_equal(alm_result_rows(&f->cx, writer, &batch, &row, PIECE_ROWS, enough, &piece),
                         ALM_OK);
        assert_true(piece.len > 0 && (enough == SIZE_MAX || piece.len < enough + STEP_MOST));
        assert_true(row < PIECE_ROWS || !alm_result_in_row(writer));
        assert_int_equal(alm_buf_append(&f->cx, out, piece.ptr, piece.len), ALM_OK);
    }
    alm_buf_deinit(&piece);
}

static void test_pieces_make_the_rows(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static const size_t steps[] = {1, 2, 50, 12288, 12289, 100000, 300000};
    const alm_vec one = column(f, "INT", "7");
    alm_vec number = one;
    number.is_const = true;
    const alm_vec cols[] = {
        long_column(f, ALM_TY(VARCHAR), "x\"\n\x01\xe2\x82\xac\xf0\x9f\x98\x80"), number,
        long_column(f, ALM_TY(BINARY), "bytes\x02\xff"),
        long_column(f, ALM_TY(STRING), "\"\"\xc3\xa4"), number};
    const alm_result_options forms[] = {{.form = ALM_RESULT_JSON},
                                        {.form = ALM_RESULT_JSON, .lines = true},
                                        {.form = ALM_RESULT_CSV},
                                        {.form = ALM_RESULT_NDJSON, .names = names}};
    alm_buf pieces;
    alm_buf_init(&pieces, NULL);
    for (size_t i = 0; i < ALM_COUNT(forms); i++) {
        put_pieces(f, cols, ALM_COUNT(cols), &forms[i], SIZE_MAX, &f->out);
        assert_true(f->out.len > (size_t)6 * LONG_BYTES);
        for (size_t k = 0; k < ALM_COUNT(steps); k++) {
            put_pieces(f, cols, ALM_COUNT(cols), &forms[i], steps[k], &pieces);
            assert_int_equal(pieces.len, f->out.len);
            assert_memory_equal(pieces.ptr, f->out.ptr, pieces.len);
        }
    }
    alm_buf_deinit(&pieces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_finite_is_null, setup, teardown),
        cmocka_unit_test_setup_teardown(test_constants_choices_and_large_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quoted_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pieces_make_the_rows, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
