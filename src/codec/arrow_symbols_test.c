/*
 * arrow_symbols_test.c - goal: a dictionary made from codes is the one made from the texts of the same rows.
 * Method: vectors of codes of each width over dictionaries that are smaller and larger than the rows, with nulls,
 * without, and constant; each value is read back by the rules of the Arrow format.
 */
#include "codec/arrow_symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "almanac.h"
#include "codec/arrow.h"

enum { ROWS = 1000, CODES = 70000, TEXT = 40 };

static char texts[CODES][TEXT];
static alm_view views[CODES];

static alm_dict dictionary_of(uint32_t count)
{
    views[0] = alm_view_null();
    for (uint32_t i = 1; i < count; i++) {
        const int n =
            snprintf(texts[i], TEXT, i % 2 == 0 ? "s%u" : "a symbol of some length %u", i);
        views[i] = alm_view_of((alm_str){texts[i], (size_t)n});
    }
    return (alm_dict){.views = views, .count = count, .id = 1};
}

static void put_code(alm_vec *vec, uint32_t row, uint32_t code)
{
    (void)memcpy((char *)vec->data + (size_t)row * vec->width, &code, vec->width);
}

static void check_value(const alm_arrow_symbols *d, const alm_vec *vec, uint32_t row)
{
    const alm_str want = alm_vec_text(vec, row);
    const int32_t index = ((const int32_t *)(const void *)d->indices.ptr)[row];
    const bool valid = ((const uint8_t *)d->valid.ptr)[row / 8] >> (row % 8) & 1;
    assert_int_equal(valid, want.ptr != NULL);
    if (!valid) {
        assert_int_equal(index, 0);
        return;
    }
    assert_in_range(index, 0, d->n - 1);
    const int32_t *offsets = (const int32_t *)(const void *)d->offsets.ptr;
    assert_int_equal(offsets[index + 1] - offsets[index], want.len);
    assert_memory_equal(d->bytes.ptr + offsets[index], want.ptr, want.len);
}

/* Both ways give the same bytes, and of_codes gives each row its text. */
static void check_both(alm_ctx *cx, const alm_vec *vec)
{
    struct ArrowArray array;
    alm_arrow_symbols codes, from_texts;
    assert_int_equal(alm_arrow_symbols_of_codes(cx, vec, ROWS, &codes), ALM_OK);
    for (uint32_t i = 0; i < ROWS; i++)
        check_value(&codes, vec, i);
    assert_int_equal(alm_arrow_column(cx, vec, ROWS, &array), ALM_OK);
    assert_int_equal(alm_arrow_symbols_of_texts(cx, &array, &from_texts), ALM_OK);
    array.release(&array);
    assert_int_equal(codes.n, from_texts.n);
    assert_int_equal(codes.nulls, from_texts.nulls);
    assert_int_equal(codes.indices.len, from_texts.indices.len);
    assert_memory_equal(codes.indices.ptr, from_texts.indices.ptr, codes.indices.len);
    assert_int_equal(codes.offsets.len, from_texts.offsets.len);
    assert_memory_equal(codes.offsets.ptr, from_texts.offsets.ptr, codes.offsets.len);
    assert_int_equal(codes.bytes.len, from_texts.bytes.len);
    if (codes.bytes.len > 0)
        assert_memory_equal(codes.bytes.ptr, from_texts.bytes.ptr, codes.bytes.len);
    alm_arrow_symbols_deinit(&codes);
    alm_arrow_symbols_deinit(&from_texts);
}

static void codes_of_each_width(void **state)
{
    (void)state;
    static const struct {
        uint32_t count;
        uint8_t width;
        uint32_t step; /* between the codes of neighbouring rows */
    } cases[] = {{1, 1, 1}, {2, 1, 1},     {6, 1, 1},        {256, 1, 7},
                 {6, 2, 1}, {CODES, 4, 1}, {CODES, 4, 2048}, {CODES, 4, 61}};
    alm_arena arena;
    alm_arena_init(&arena, NULL);
    alm_ctx cx = {.arena = &arena};
    for (size_t k = 0; k < ALM_COUNT(cases); k++) {
        const alm_dict dict = dictionary_of(cases[k].count);
        alm_vec vec;
        assert_int_equal(alm_vec_new(&cx, &arena, (alm_type){.id = ALM_T_SYMBOL}, ROWS, &vec),
                         ALM_OK);
        vec.dict = &dict;
        vec.width = cases[k].width;
        for (uint32_t i = 0; i < ROWS; i++)
            put_code(&vec, i, (uint32_t)((uint64_t)i * cases[k].step % dict.count));
        check_both(&cx, &vec);
        for (uint32_t i = 0; i < ROWS && dict.count > 1; i++) /* no nulls */
            put_code(&vec, i, 1 + i * cases[k].step % (dict.count - 1));
        check_both(&cx, &vec);
        vec.is_const = true;
        check_both(&cx, &vec);
        put_code(&vec, 0, 0);
        check_both(&cx, &vec);
    }
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes_of_each_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
