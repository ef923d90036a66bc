/*
 * text_test.c - goal: every type of the table shows its values as the dialect and as PostgreSQL do,
 * and reads both forms back as the same value. Method: a table of samples with at least one row for
 * each type (a type without one fails), then random values of every type there and back.
 */
#include "type/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct sample {
    alm_type_id type;
    const char *in;      /* what is read */
    const char *dialect; /* what is shown; NULL: null */
    const char *pg;
} sample;

static const sample SAMPLES[] = {
#define ALM_SAMPLE(id, in, dialect, pg) {ALM_T_##id, in, dialect, pg},
#include "type/type_samples.def"
};

static const struct {
    alm_type_id type;
    const char *text;
    alm_scan_result why;
} BAD[] = {
#define ALM_BAD_TEXT(id, text, why) {ALM_T_##id, text, why},
#include "type/type_samples.def"
};

/* The text of one value, "<null>" for null, terminated. */
static void show(const alm_vec *v, alm_text_style style, char out[256])
{
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = ALM_STR("<null>");
    if (!alm_value_text(v, 0, style, scratch, &text))
        text = ALM_STR("<null>");
    assert_true(text.len < 256);
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

static void check_sample(const sample *s)
{
    alm_ctx cx = {0};
    alm_arena arena = {0};
    const alm_type type = {.id = (uint8_t)s->type};
    alm_vec v, back;
    char text[256];
    assert_int_equal(alm_vec_parse(&cx, &arena, 3, type, alm_str_of(s->in), &v), ALM_OK);
    show(&v, ALM_TEXT_DIALECT, text);
    assert_string_equal(text, s->dialect != NULL ? s->dialect : "<null>");
    assert_int_equal(alm_vec_is_null(&v, 0), s->dialect == NULL);
    if (s->dialect != NULL) {
        assert_int_equal(alm_vec_parse(&cx, &arena, 3, type, alm_str_of(text), &back), ALM_OK);
        show(&back, ALM_TEXT_DIALECT, text);
        assert_string_equal(text, s->dialect);
    }
    show(&v, ALM_TEXT_PG, text);
    assert_string_equal(text, s->pg != NULL ? s->pg : "<null>");
    if (s->pg != NULL) {
        assert_int_equal(alm_vec_parse(&cx, &arena, 3, type, alm_str_of(text), &back), ALM_OK);
        show(&back, ALM_TEXT_PG, text);
        assert_string_equal(text, s->pg);
    }
    alm_arena_deinit(&arena);
}

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(SAMPLES); i++)
        check_sample(&SAMPLES[i]);
}

static void test_every_type_has_a_sample(void **state)
{
    (void)state;
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        bool found = false;
        for (size_t i = 0; i < ALM_COUNT(SAMPLES); i++)
            found |= SAMPLES[i].type == id;
        if (!found && id != ALM_T_ARRAY) /* array_test.c has them */
            fail_msg("no sample of %s", alm_type_name((alm_type){.id = id}));
    }
}

/* Random bits of every type: text out, text in, the same bits (or both null). */
static void test_random_round_trip(void **state)
{
    (void)state;
    static const uint64_t below[ALM_TYPE_COUNT] = {
#define ALM_RANDOM(id, below) [ALM_T_##id] = (below),
#include "type/type_samples.def"
    };
    uint64_t seed = 42;
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        const alm_type type = {.id = id};
        if (alm_type_is_text(type) || id == ALM_T_INTERVAL || id == ALM_T_BINARY ||
            id == ALM_T_ARRAY)
            continue; /* text is its own; intervals show milliseconds only; array_test.c */
        for (int round = 0; round < 20000; round++) {
            uint64_t bits[4], back[4] = {0, 0, 0, 0};
            char scratch[ALM_VALUE_TEXT_MAX];
            alm_str text;
            for (int k = 0; k < 4; k++) {
                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                bits[k] = seed ^ seed >> 29;
            }
            if (id == ALM_T_CHAR && (bits[0] & 0xF800) == 0xD800)
                continue; /* half a pair has no text of its own */
            if (below[id] != 0)
                bits[0] %= below[id];
            const alm_vec v = {.type = type, .width = (uint8_t)alm_type_width(type), .data = bits};
            const bool shown = alm_value_text(&v, 0, ALM_TEXT_DIALECT, scratch, &text);
            assert_true(shown || alm_vec_is_null(&v, 0) || id == ALM_T_FLOAT || id == ALM_T_DOUBLE);
            if (!shown)
                continue;
            assert_true(text.len <= ALM_VALUE_TEXT_MAX);
            if (alm_value_scan(type, text, back) != ALM_SCAN_OK)
                fail_msg("%s '%.*s'", alm_type_name(type), (int)text.len, text.ptr);
            assert_memory_equal(bits, back, v.width);
        }
    }
}

static void test_bad_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(BAD); i++) {
        alm_ctx cx = {0};
        const alm_type type = {.id = (uint8_t)BAD[i].type};
        uint64_t out[4];
        const alm_scan_result got = alm_value_scan(type, alm_str_of(BAD[i].text), out);
        if (got != BAD[i].why)
            fail_msg("%s '%s': %d", alm_type_name(type), BAD[i].text, got);
        assert_int_equal(alm_value_parse(&cx, 9, type, alm_str_of(BAD[i].text), out),
                         got == ALM_SCAN_RANGE ? ALM_E_RANGE : ALM_E_VALUE);
        assert_int_equal(cx.err.sql_pos, 9);
    }
    alm_ctx cx = {0};
    int32_t out;
    assert_int_equal(alm_value_parse(&cx, 0, ALM_TY(INT), ALM_STR("abc"), &out), ALM_E_VALUE);
    assert_string_equal(cx.err.msg, "inconvertible value: `abc` [STRING -> INT]");
}

static void test_null_text(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_arena arena = {0};
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++) {
        alm_vec v;
        const alm_type type = {.id = id};
        assert_int_equal(alm_vec_parse(&cx, &arena, 0, type, (alm_str){0}, &v), ALM_OK);
        assert_int_equal(alm_vec_is_null(&v, 0), alm_type_info_of(type)->null != ALM_NULL_NONE);
        alm_buf buf;
        alm_buf_init(&buf, NULL);
        bool is_null = false;
        assert_int_equal(alm_value_format(&cx, &v, 0, ALM_TEXT_DIALECT, &buf, &is_null), ALM_OK);
        assert_int_equal(is_null, alm_vec_is_null(&v, 0));
        assert_int_equal(buf.len == 0, is_null);
        alm_buf_deinit(&buf);
    }
    alm_arena_deinit(&arena);
}

static void test_uuid_bytes(void **state)
{
    (void)state;
    alm_uuid uuid;
    uint8_t bytes[16];
    assert_true(alm_uuid_parse(ALM_STR("00112233-4455-6677-8899-aabbccddeeff"), &uuid));
    assert_true(uuid.hi == UINT64_C(0x0011223344556677) && uuid.lo == UINT64_C(0x8899aabbccddeeff));
    alm_uuid_to_bytes(uuid, bytes);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(bytes[i], i * 0x11);
    const alm_uuid back = alm_uuid_from_bytes(bytes);
    assert_true(back.hi == uuid.hi && back.lo == uuid.lo);
}

/* Parameters decide the width, the null and the digits. */
static void test_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *type, *in, *out;
        uint32_t width;
    } rows[] = {
        {"geohash(1b)", "1", "1", 1},
        {"geohash(1c)", "u33", "u", 1},
        {"geohash(7b)", "u33d8", "1101000", 1},
        {"geohash(8b)", "11010000", "11010000", 2},
        {"GEOHASH(15b)", "u33", "u33", 2},
        {"geohash(16b)", "u33d", "1101000011000110", 4},
        {"geohash( 31 b )", "u33d8b1", "1101000011000110110001000010100", 4},
        {"geohash(32b)", "u33d8b1", "11010000110001101100010000101000", 8},
        {"geohash(12c)", "zzzzzzzzzzzz", "zzzzzzzzzzzz", 8},
        {"decimal(2,2)", "-0.99", "-0.99", 1},
        {"decimal(3)", "-999", "-999", 2},
        {"decimal(5,2)", "1.5", "1.50", 4},
        {"decimal", "1.5m", "1.500", 8},
        {"decimal(18,18)", "0.000000000000000001", "0.000000000000000001", 8},
        {"decimal(19,0)", "-9999999999999999999", "-9999999999999999999", 16},
        {"decimal(38,10)", "123456789012345678901234567.0123456789",
         "123456789012345678901234567.0123456789", 16},
        {"decimal(76,76)",
         "-0.9999999999999999999999999999999999999999999999999999999999999999999999999999",
         "-0.9999999999999999999999999999999999999999999999999999999999999999999999999999", 32},
        {"numeric(39,0)", "1e38", "100000000000000000000000000000000000000", 32},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_type type, again;
        uint64_t value[4];
        char text[256];
        assert_true(alm_type_parse(alm_str_of(rows[i].type), &type));
        assert_true(alm_type_parse(alm_str_of(alm_type_name(type)), &again));
        assert_true(alm_type_eq(type, again));
        assert_int_equal(alm_type_width(type), rows[i].width);
        const alm_vec v = {.type = type, .width = (uint8_t)rows[i].width, .data = value};
        assert_int_equal(alm_value_scan(type, alm_str_of(rows[i].in), value), ALM_SCAN_OK);
        assert_false(alm_vec_is_null(&v, 0));
        show(&v, ALM_TEXT_DIALECT, text);
        assert_string_equal(text, rows[i].out);
        assert_int_equal(alm_value_scan(type, (alm_str){0}, value), ALM_SCAN_OK);
        assert_true(alm_vec_is_null(&v, 0));
        show(&v, ALM_TEXT_DIALECT, text);
        assert_string_equal(text, "<null>");
    }
    static const char *const bad[] = {"geohash",      "geohash(13c)", "geohash(61b)",
                                      "geohash(0c)",  "geohash(5)",   "decimal(77,0)",
                                      "decimal(5,6)", "decimal(0,0)", "decimal(,)",
                                      "decimal(5,2",  "int(5)",       "decimal(99999999)"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        alm_type type;
        if (alm_type_parse(alm_str_of(bad[i]), &type))
            fail_msg("%s is a type", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_has_a_sample),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_random_round_trip),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_null_text),
        cmocka_unit_test(test_uuid_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
