/*
 * arrow_test.c - goal: batches as Arrow arrays that own their bytes: formats, validity, values, release.
 * Method: columns of a few types read back by the rules of the C data interface.
 */
#include "codec/arrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "almanac.h"
#include "type/text.h"

enum { ROWS = 11 };

static bool valid(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *bits = a->buffers[0];
    return bits == NULL || ((bits[i / 8] >> (i % 8)) & 1) != 0;
}

static alm_str text_at(const struct ArrowArray *a, int64_t i)
{
    const int32_t *offsets = a->buffers[1];
    return (alm_str){(const char *)a->buffers[2] + offsets[i],
                     (size_t)(offsets[i + 1] - offsets[i])};
}

/* Row i is a value of i, every third row is null where the type has null. */
static alm_vec column(alm_ctx *cx, alm_type_id id)
{
    alm_vec vec;
    const alm_type type = {.id = (uint8_t)id};
    assert_int_equal(alm_vec_new(cx, cx->arena, type, ROWS, &vec), ALM_OK);
    if (id == ALM_T_SYMBOL)
        vec.width = sizeof(alm_view);
    for (uint32_t i = 0; i < ROWS; i++) {
        char text[64], *kept = NULL;
        const char *format = id == ALM_T_UUID   ? "00112233-4455-6677-8899-aabbccddee%02u"
                             : id == ALM_T_IPV4 ? "10.0.0.%u"
                             : id == ALM_T_CHAR ? "%u"
                             : id == ALM_T_BOOLEAN && i % 2 == 0 ? "t"
                             : id == ALM_T_BOOLEAN               ? "f"
                             : alm_type_is_text(type)            ? "a text that is a bit longer %u"
                                                                 : "%u";
        const int n = snprintf(text, sizeof(text), format, id == ALM_T_CHAR ? i % 10 : i + 10);
        assert_int_equal(alm_arena_bytes(cx, cx->arena, 64, &kept), ALM_OK);
        (void)memcpy(kept, text, (size_t)n);
        char *at = (char *)vec.data + (size_t)i * vec.width;
        if (i % 3 == 2)
            alm_value_set_null(type, at);
        else if (alm_type_info_of(type)->cls == ALM_TC_TIME)
            (void)memcpy(at, &(int64_t){i + 10}, 8);
        else
            assert_int_equal(alm_value_parse(cx, -1, type, (alm_str){kept, (size_t)n}, at), ALM_OK);
    }
    return vec;
}

static void check_column(const struct ArrowArray *a, const alm_vec *vec)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    int64_t nulls = 0;
    const char form = alm_type_info_of(vec->type)->arrow[0];
    assert_int_equal(a->length, ROWS);
    assert_int_equal(a->offset, 0);
    assert_int_equal(a->n_buffers, form == 'u' ? 3 : 2);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t row = vec->is_const ? 0 : i;
        const bool null = alm_vec_is_null(vec, row);
        nulls += null;
        assert_int_equal(valid(a, i), !null);
        if (null)
            continue;
        if (form == 'u') {
            alm_str want;
            const alm_str got = text_at(a, i);
            assert_true(alm_value_text(vec, row, ALM_TEXT_DIALECT, scratch, &want));
            assert_int_equal(got.len, want.len);
            assert_memory_equal(got.ptr, want.ptr, want.len);
        } else if (form == 'b') {
            assert_int_equal((((const uint8_t *)a->buffers[1])[i / 8] >> (i % 8)) & 1,
                             ((const uint8_t *)vec->data)[row]);
        } else if (vec->type.id == ALM_T_UUID) {
            uint8_t want[16];
            alm_uuid_to_bytes(((const alm_uuid *)vec->data)[row], want);
            assert_memory_equal((const char *)a->buffers[1] + i * 16, want, 16);
        } else {
            assert_memory_equal((const char *)a->buffers[1] + (size_t)i * vec->width,
                                (const char *)vec->data + (size_t)row * vec->width, vec->width);
        }
    }
    assert_int_equal(a->null_count, nulls);
}

static void test_columns(void **state)
{
    (void)state;
    static const alm_type_id types[] = {
        ALM_T_BOOLEAN, ALM_T_BYTE,   ALM_T_SHORT,  ALM_T_CHAR,      ALM_T_INT,          ALM_T_LONG,
        ALM_T_FLOAT,   ALM_T_DOUBLE, ALM_T_STRING, ALM_T_VARCHAR,   ALM_T_SYMBOL,       ALM_T_DATE,
        ALM_T_UUID,    ALM_T_IPV4,   ALM_T_DATE,   ALM_T_TIMESTAMP, ALM_T_TIMESTAMP_NS,
    };
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_arena_init(&arena, NULL);
    alm_vec cols[2 * ALM_COUNT(types)];
    alm_arrow_field fields[2 * ALM_COUNT(types)];
    for (size_t i = 0; i < ALM_COUNT(types); i++) {
        cols[2 * i] = column(&cx, types[i]);
        cols[2 * i + 1] = cols[2 * i];
        cols[2 * i + 1].is_const = true;
        fields[2 * i] = fields[2 * i + 1] = (alm_arrow_field){"name", cols[2 * i].type};
    }
    const alm_batch batch = {.rows = ROWS, .n_cols = ALM_COUNT(cols), .cols = cols};
    struct ArrowArray array;
    struct ArrowSchema schema;
    assert_int_equal(alm_arrow_array(&cx, &batch, &array), ALM_OK);
    assert_int_equal(alm_arrow_schema(&cx, fields, ALM_COUNT(fields), &schema), ALM_OK);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, ALM_COUNT(cols));
    assert_int_equal(array.n_children, ALM_COUNT(cols));
    assert_int_equal(array.length, ROWS);
    for (size_t i = 0; i < ALM_COUNT(cols); i++) {
        assert_string_equal(schema.children[i]->format, alm_type_info_of(cols[i].type)->arrow);
        assert_string_equal(schema.children[i]->name, "name");
        check_column(array.children[i], &cols[i]);
    }
    schema.release(&schema);
    array.release(&array);
    assert_true(schema.release == NULL);
    assert_true(array.release == NULL);
    alm_arena_deinit(&arena);
}

static void test_nothing(void **state)
{
    (void)state;
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_arena_init(&arena, NULL);
    struct ArrowArray array;
    struct ArrowSchema schema;
    alm_vec col = column(&cx, ALM_T_VARCHAR);
    const alm_batch none = {0}, no_rows = {.n_cols = 1, .cols = &col};
    assert_int_equal(alm_arrow_array(&cx, &none, &array), ALM_OK);
    assert_int_equal(array.n_children, 0);
    array.release(&array);
    assert_int_equal(alm_arrow_array(&cx, &no_rows, &array), ALM_OK);
    assert_int_equal(array.children[0]->length, 0);
    assert_int_equal(((const int32_t *)array.children[0]->buffers[1])[0], 0);
    array.release(&array);
    assert_int_equal(alm_arrow_schema(&cx, NULL, 0, &schema), ALM_OK);
    schema.release(&schema);
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
