/*
 * pg_value_test.c - goal: values of every type go to a client and come back as parameters unchanged, in
 * text and in binary; malformed parameters are errors. Method: samples of every type there and back by
 * the OID the client is told; then a table of bad bytes; then random bytes for every OID.
 */
#include "codec/pg/pg_cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "type/text.h"

static const struct {
    alm_type_id type;
    const char *text;
} samples[] = {
    {ALM_T_BOOLEAN, "t"},
    {ALM_T_BOOLEAN, "f"},
    {ALM_T_BYTE, "-128"},
    {ALM_T_SHORT, "-32768"},
    {ALM_T_CHAR, "\xc3\xbc"},
    {ALM_T_INT, "-2147483647"},
    {ALM_T_LONG, "9223372036854775807"},
    {ALM_T_FLOAT, "0.1"},
    {ALM_T_FLOAT, "-3.4028235e+38"},
    {ALM_T_DOUBLE, "0.1"},
    {ALM_T_DOUBLE, "5e-324"},
    {ALM_T_STRING, "a text of more than twelve bytes"},
    {ALM_T_VARCHAR, ""},
    {ALM_T_SYMBOL, "BTC-USD"},
    {ALM_T_DATE, "1969-12-31 23:59:59.999"},
    {ALM_T_TIMESTAMP, "2024-01-02 03:04:05.678901"},
    {ALM_T_TIMESTAMP, "0001-01-01 00:00:00.000000"},
    {ALM_T_TIMESTAMP_NS, "2024-01-02 03:04:05.678901"},
    {ALM_T_UUID, "00112233-4455-6677-8899-aabbccddeeff"},
    {ALM_T_IPV4, "1.2.3.4"},
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

/* The writer of a column makes the same bytes, the second time, too. */
static void same_by_column(fixture *f, const alm_vec *v, bool binary)
{
    alm_pg_cell column;
    alm_buf twice;
    alm_buf_init(&twice, NULL);
    alm_pg_cell_init(NULL, &column, v->type, binary);
    for (int i = 0; i < 2; i++)
        assert_int_equal(alm_pg_cell_put(&f->cx, &column, v, 0, &twice), ALM_OK);
    assert_int_equal(twice.len, 2 * f->out.len);
    assert_memory_equal(twice.ptr, f->out.ptr, f->out.len);
    assert_memory_equal(twice.ptr + f->out.len, f->out.ptr, f->out.len);
    alm_buf_deinit(&twice);
}

/* The bytes of a cell; ptr NULL: null. */
static alm_str cell(fixture *f, const alm_vec *v, bool binary)
{
    f->out.len = 0;
    assert_int_equal(alm_pg_put_cell(&f->cx, v, 0, binary, &f->out), ALM_OK);
    same_by_column(f, v, binary);
    const int32_t n = (int32_t)alm_be_get32(f->out.ptr);
    if (n < 0) {
        assert_int_equal(n, -1);
        assert_int_equal(f->out.len, 4);
        return (alm_str){0};
    }
    assert_int_equal(f->out.len, (size_t)n + 4);
    return (alm_str){f->out.ptr + 4, (size_t)n};
}

static void test_there_and_back(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(samples); i++) {
        const alm_type type = {.id = (uint8_t)samples[i].type};
        for (int binary = 0; binary < 2; binary++) {
            alm_vec value, back;
            const uint32_t oid = (uint32_t)alm_pg_oid(NULL, type);
            assert_int_equal(alm_pg_param(&f->cx, &f->arena, 0, 0, type, false,
                                          alm_str_of(samples[i].text), &value),
                             ALM_OK);
            const alm_str sent = cell(f, &value, binary != 0);
            assert_non_null(sent.ptr);
            if (binary != 0 && alm_pg_size(type) > 0)
                assert_int_equal(sent.len, alm_pg_size(type));
            char kept[128];
            (void)memcpy(kept, sent.ptr, sent.len);
            assert_int_equal(alm_pg_param(&f->cx, &f->arena, 0, oid, type, binary != 0,
                                          (alm_str){kept, sent.len}, &back),
                             ALM_OK);
            const alm_str text = cell(f, &back, false);
            assert_int_equal(text.len, strlen(samples[i].text));
            assert_memory_equal(text.ptr, samples[i].text, text.len);
        }
    }
}

/* A numeric fills its last group of four digits with zeros, which are no digits of the value. */
static void test_numeric_of_all_digits(void **state)
{
    fixture *f = *state;
    alm_type type;
    alm_vec value, back;
    const char *text =
        "-9999999999999999999999999999999999999999999999999999999999999999999.999999999";
    assert_int_equal(alm_pg_param_type(&f->cx, 1700, &type), ALM_OK);
    assert_int_equal(
        alm_pg_param(&f->cx, &f->arena, 0, 1700, type, false, alm_str_of(text), &value), ALM_OK);
    assert_int_equal(value.type.p, 76);
    const alm_str sent = cell(f, &value, true);
    char kept[128];
    (void)memcpy(kept, sent.ptr, sent.len);
    assert_int_equal(
        alm_pg_param(&f->cx, &f->arena, 0, 1700, type, true, (alm_str){kept, sent.len}, &back),
        ALM_OK);
    assert_true(alm_type_eq(back.type, value.type));
    const alm_str shown = cell(f, &back, false);
    assert_int_equal(shown.len, strlen(text));
    assert_memory_equal(shown.ptr, text, shown.len);
    assert_int_equal(alm_pg_typmod(back.type), (76 << 16 | 9) + 4);
}

/* Arrays that are lists here: binary there and back, and what is none. */
static void test_lists(void **state)
{
    fixture *f = *state;
#define OIDS        "\0\0\0\1\0\0\0\1\0\0\0\x1A\0\0\0\3\0\0\0\1"
#define OIDS_VALUES "\0\0\0\4\0\0\3\xFE\xFF\xFF\xFF\xFF\0\0\0\4\xFF\xFF\xFF\xFF"
    static const struct {
        uint32_t oid;
        const char *text, *wire;
        size_t len;
    } rows[] = {
        {1028, "{1022,NULL,4294967295}", OIDS OIDS_VALUES, 40},
        {1028, "{}", "\0\0\0\0\0\0\0\0\0\0\0\x1A", 12},
        {1009, "{a,\"b,c\"}", "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\1a\0\0\0\3b,c", 32},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_type type;
        alm_vec value;
        assert_int_equal(alm_pg_param_type(&f->cx, rows[i].oid, &type), ALM_OK);
        assert_int_equal(alm_pg_oid(NULL, type), rows[i].oid);
        for (size_t len = 0; len <= rows[i].len; len++) {
            alm_error_clear(&f->cx);
            const alm_status st = alm_pg_param(&f->cx, &f->arena, 0, rows[i].oid, type, true,
                                               (alm_str){rows[i].wire, len}, &value);
            assert_int_equal(st, len == rows[i].len ? ALM_OK : ALM_E_FORMAT);
        }
        const alm_str text = alm_vec_text(&value, 0);
        assert_int_equal(text.len, strlen(rows[i].text));
        assert_memory_equal(text.ptr, rows[i].text, text.len);
        const alm_str sent = cell(f, &value, true);
        assert_int_equal(sent.len, rows[i].len);
        assert_memory_equal(sent.ptr, rows[i].wire, sent.len);
    }
}

/* numeric and bytea as PostgreSQL sends them, and back. */
static void test_decimals_and_bytes(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *type, *text, *wire;
        size_t len;
    } rows[] = {
        {"decimal(4,2)", "12.34", "\0\2\0\0\0\0\0\2\0\x0C\x0D\x48", 12},
        {"decimal(4,2)", "-0.05", "\0\1\xFF\xFF\x40\0\0\2\x01\xF4", 10},
        {"decimal(4,2)", "0.00", "\0\0\0\0\0\0\0\2", 8},
        {"decimal(9,0)", "10000", "\0\1\0\1\0\0\0\0\0\1", 10},
        {"decimal(18,5)", "12345678.00001", "\0\4\0\1\0\0\0\5\x04\xD2\x16\x2E\0\0\x03\xE8", 16},
        {"decimal(10,8)", "0.00000001", "\0\1\xFF\xFE\0\0\0\x08\0\1", 10},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_type type;
        alm_vec value, back;
        assert_true(alm_type_parse(alm_str_of(rows[i].type), &type));
        assert_int_equal(
            alm_pg_param(&f->cx, &f->arena, 0, 0, type, false, alm_str_of(rows[i].text), &value),
            ALM_OK);
        const alm_str sent = cell(f, &value, true);
        assert_int_equal(sent.len, rows[i].len);
        assert_memory_equal(sent.ptr, rows[i].wire, sent.len);
        assert_int_equal(alm_pg_param(&f->cx, &f->arena, 0, 0, type, true,
                                      (alm_str){rows[i].wire, rows[i].len}, &back),
                         ALM_OK);
        const alm_str text = cell(f, &back, false);
        assert_int_equal(text.len, strlen(rows[i].text));
        assert_memory_equal(text.ptr, rows[i].text, text.len);
    }
    alm_vec bytes;
    assert_int_equal(
        alm_pg_param(&f->cx, &f->arena, 0, 17, ALM_TY(BINARY), false, ALM_STR("\\x00fF7f"), &bytes),
        ALM_OK);
    const alm_str raw = cell(f, &bytes, true);
    assert_int_equal(raw.len, 3);
    assert_memory_equal(raw.ptr, "\x00\xFF\x7F", 3);
    const alm_str text = cell(f, &bytes, false);
    assert_true(alm_str_eq(text, ALM_STR("\\x00ff7f")));
    assert_int_not_equal(
        alm_pg_param(&f->cx, &f->arena, 0, 17, ALM_TY(BINARY), false, ALM_STR("\\x0"), &bytes),
        ALM_OK);
}

static void test_nulls(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(samples); i++) {
        const alm_type type = {.id = (uint8_t)samples[i].type};
        alm_vec value;
        assert_int_equal(
            alm_pg_param(&f->cx, &f->arena, 0, 0, type, i % 2 == 0, (alm_str){0}, &value), ALM_OK);
        const bool has_null =
            type.id != ALM_T_BOOLEAN && type.id != ALM_T_BYTE && type.id != ALM_T_SHORT;
        assert_int_equal(cell(f, &value, false).ptr == NULL, has_null);
        assert_int_equal(cell(f, &value, true).ptr == NULL, has_null);
    }
    double not_finite[] = {(double)__builtin_nan(""), (double)__builtin_inf()};
    for (size_t i = 0; i < 2; i++) {
        const alm_vec v = {.type = ALM_TY(DOUBLE), .width = 8, .data = &not_finite[i]};
        assert_null(cell(f, &v, true).ptr);
        assert_null(cell(f, &v, false).ptr);
    }
}

static void test_times_at_the_ends(void **state)
{
    fixture *f = *state;
    int64_t values[] = {INT64_MAX, INT64_MIN + 1, 0, -1};
    static const alm_type types[] = {
        {.id = ALM_T_DATE}, {.id = ALM_T_TIMESTAMP}, {.id = ALM_T_TIMESTAMP_NS}};
    for (size_t t = 0; t < ALM_COUNT(types); t++)
        for (size_t i = 0; i < ALM_COUNT(values); i++) {
            const alm_vec v = {.type = types[t], .width = 8, .data = &values[i]};
            assert_int_equal(cell(f, &v, true).len, 8);
        }
    const alm_vec last = {.type = ALM_TY(TIMESTAMP_NS), .width = 8, .data = &values[3]};
    assert_int_equal((int64_t)alm_be_get64(cell(f, &last, true).ptr), -ALM_PG_EPOCH_US - 1);
}

static void test_big_endian(void **state)
{
    (void)state;
    char bytes[8];
    alm_be_put64(bytes, 0x0102030405060708);
    assert_memory_equal(bytes, "\1\2\3\4\5\6\7\10", 8);
    assert_int_equal(alm_be_get64(bytes), 0x0102030405060708);
    assert_int_equal(alm_be_get32(bytes + 4), 0x05060708);
    assert_int_equal(alm_be_get16(bytes + 6), 0x0708);
}

static void test_bad_parameters(void **state)
{
    fixture *f = *state;
    static const struct {
        uint32_t oid;
        bool binary;
        alm_str bytes;
        alm_status want;
    } cases[] = {
        {16, true, {"\1\1", 2}, ALM_E_FORMAT},
        {21, true, {"\1", 1}, ALM_E_FORMAT},
        {23, true, {"", 0}, ALM_E_FORMAT},
        {20, true, {"1234", 4}, ALM_E_FORMAT},
        {700, true, {"12345678", 8}, ALM_E_FORMAT},
        {1082, true, {"12", 2}, ALM_E_FORMAT},
        {1114, true, {"1234567", 7}, ALM_E_FORMAT},
        {2950, true, {"12345678", 8}, ALM_E_FORMAT},
        {1700, true, {"1234567", 7}, ALM_E_FORMAT},
        {1700, true, {"\0\2\0\0\0\0\0\0\0\1", 10}, ALM_E_FORMAT},
        {1700, true, {"\0\1\0\0\0\0\0\0\x27\x10", 10}, ALM_E_FORMAT},
        {23, false, {"x", 1}, ALM_E_VALUE},
        {23, false, {"", 0}, ALM_E_VALUE},
        {23, false, {"2147483648", 10}, ALM_E_RANGE},
        {16, false, {"maybe", 5}, ALM_E_VALUE},
        {1114, false, {"soon", 4}, ALM_E_TIME},
        {1043, false, {"\xff", 1}, ALM_E_UTF8},
        {1043, true, {"\xc0\xaf", 2}, ALM_E_UTF8},
        {2950, false, {"1234", 4}, ALM_E_VALUE},
        {2950, false, {"{11111111222233334444555555555555", 33}, ALM_E_VALUE},
        {2950, false, {"1111-1111222233334444555555555555-", 34}, ALM_E_VALUE},
        {17, false, {"\\x0", 3}, ALM_E_VALUE},
        {17, false, {"\\xzz", 4}, ALM_E_VALUE},
        {17, false, {"a\\b", 3}, ALM_E_VALUE},
        {17, false, {"a\\07", 4}, ALM_E_VALUE},
        {1082, true, {"\x7f\xff\xff\xfe", 4}, ALM_E_TIME_RANGE},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_type type;
        alm_vec value;
        alm_error_clear(&f->cx);
        assert_int_equal(alm_pg_param_type(&f->cx, cases[i].oid, &type), ALM_OK);
        const alm_status st = alm_pg_param(&f->cx, &f->arena, 0, cases[i].oid, type,
                                           cases[i].binary, cases[i].bytes, &value);
        if (st != cases[i].want)
            fail_msg("case %zu (OID %u): %d, not %d", i, cases[i].oid, st, cases[i].want);
    }
    alm_type type;
    alm_error_clear(&f->cx);
    assert_int_equal(alm_pg_param_type(&f->cx, 1083, &type), ALM_E_UNSUPPORTED);
    assert_non_null(strstr(f->cx.err.msg, "1083"));
    alm_error_clear(&f->cx);
    alm_vec value; /* a short of the wire that is no BYTE */
    assert_int_equal(
        alm_pg_param(&f->cx, &f->arena, 0, 21, ALM_TY(BYTE), true, (alm_str){"\1\0", 2}, &value),
        ALM_E_RANGE);
}

static void test_random_bytes(void **state)
{
    fixture *f = *state;
    static const uint32_t oids[] = {0,   16,  18,   19,   20,   21,   23,   25,   26,   114, 700,
                                    701, 705, 1042, 1043, 1082, 1114, 1184, 1700, 2950, 3802};
    uint32_t seed = 99;
    for (int turn = 0; turn < 20000; turn++) {
        char bytes[24];
        seed = seed * 1664525 + 1013904223;
        const size_t n = (seed >> 20) % sizeof(bytes);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)((seed >> 16) % 3 == 0 ? seed >> 24 : (seed >> 24) % 4);
        }
        alm_type type;
        alm_vec value;
        alm_error_clear(&f->cx);
        const uint32_t oid = oids[(seed >> 8) % ALM_COUNT(oids)];
        assert_int_equal(alm_pg_param_type(&f->cx, oid, &type), ALM_OK);
        if (alm_pg_param(&f->cx, &f->arena, 3, oid, type, turn % 2 == 0, (alm_str){bytes, n},
                         &value) == ALM_OK) {
            (void)cell(f, &value, true);
            (void)cell(f, &value, false);
        }
        alm_arena_reset(&f->arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numeric_of_all_digits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decimals_and_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nulls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_times_at_the_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_big_endian, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_bytes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
