/* Goal: what the writer puts the reader gets, and no bytes make it read beyond their end or recurse without
 * bound. Method: a message with every kind of value, cut at every place and with every byte changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/parquet/thrift.h"

static void write_message(alm_ctx *cx, alm_buf *buf)
{
    alm_thrift_out w = {.cx = cx, .buf = buf};
    alm_thrift_begin(&w);
    alm_thrift_put_bool(&w, 1, true);
    alm_thrift_put_i32(&w, 2, INT32_MIN);
    alm_thrift_put_i64(&w, 40, INT64_MAX);
    alm_thrift_put_binary(&w, 41, ALM_STR("text"));
    alm_thrift_put_struct(&w, 42);
    alm_thrift_put_byte(&w, 1, -5);
    alm_thrift_put_i16(&w, 2, 1000);
    alm_thrift_end(&w);
    alm_thrift_put_list(&w, 43, ALM_THRIFT_I64, 20);
    for (int64_t i = 0; i < 20; i++)
        alm_thrift_elem_put_int(&w, i - 10);
    alm_thrift_put_list(&w, 44, ALM_THRIFT_TRUE, 2);
    alm_thrift_elem_put_bool(&w, true);
    alm_thrift_elem_put_bool(&w, false);
    alm_thrift_end(&w);
    assert_int_equal(w.st, ALM_OK);
}

static void round_trip(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    write_message(&cx, &buf);
    const uint8_t *at = (const uint8_t *)buf.ptr;
    alm_thrift_in in = {.at = at, .end = at + buf.len};
    alm_thrift_field f = {0}, g = {0};
    alm_thrift_enter(&in);
    assert_true(alm_thrift_next(&in, &f) && f.id == 1 && alm_thrift_bool(&in, &f));
    assert_true(alm_thrift_next(&in, &f) && f.id == 2);
    assert_int_equal(alm_thrift_i32(&in, &f), INT32_MIN);
    assert_true(alm_thrift_next(&in, &f) && f.id == 40);
    assert_true(alm_thrift_int(&in, &f) == INT64_MAX);
    assert_true(alm_thrift_next(&in, &f) && f.id == 41);
    assert_true(alm_str_eq(alm_thrift_binary(&in, &f), ALM_STR("text")));
    assert_true(alm_thrift_next(&in, &f) && f.id == 42 && f.type == ALM_THRIFT_STRUCT);
    alm_thrift_enter(&in);
    assert_true(alm_thrift_next(&in, &g) && alm_thrift_int(&in, &g) == -5);
    assert_true(alm_thrift_next(&in, &g) && alm_thrift_int(&in, &g) == 1000);
    assert_false(alm_thrift_next(&in, &g));
    alm_thrift_leave(&in);
    assert_true(alm_thrift_next(&in, &f) && f.id == 43);
    assert_int_equal(alm_thrift_list(&in, &f, ALM_THRIFT_I64, 1), 20);
    for (int64_t i = 0; i < 20; i++)
        assert_int_equal(alm_thrift_elem_int(&in), i - 10);
    assert_true(alm_thrift_next(&in, &f) && f.id == 44);
    assert_int_equal(alm_thrift_list(&in, &f, ALM_THRIFT_TRUE, 1), 2);
    assert_true(alm_thrift_elem_bool(&in));
    assert_false(alm_thrift_elem_bool(&in));
    assert_false(alm_thrift_next(&in, &f));
    assert_null(in.bad);
    assert_ptr_equal(in.at, in.end);
    alm_buf_deinit(&buf);
}

static const char *skip_all(const char *bytes, size_t n)
{
    uint8_t *room = malloc(n + 1); /* of its size, for the sanitizer */
    assert_non_null(room);
    memcpy(room, bytes, n);
    alm_thrift_in in = {.at = room, .end = room + n};
    alm_thrift_field f = {.type = ALM_THRIFT_STRUCT};
    alm_thrift_skip(&in, &f);
    free(room);
    return in.bad;
}

static void cut_and_changed(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    write_message(&cx, &buf);
    assert_null(skip_all(buf.ptr, buf.len));
    for (size_t i = 0; i < buf.len; i++)
        assert_non_null(skip_all(buf.ptr, i));
    for (size_t i = 0; i < buf.len; i++)
        for (uint32_t b = 1; b < 256; b++) {
            buf.ptr[i] = (char)(buf.ptr[i] ^ (char)b);
            (void)skip_all(buf.ptr, buf.len);
            buf.ptr[i] = (char)(buf.ptr[i] ^ (char)b);
        }
    alm_buf_deinit(&buf);
}

static void absurd(void **state)
{
    (void)state;
    char deep[1000];
    memset(deep, 0x1C, sizeof deep); /* a struct in a struct ... */
    assert_string_equal(skip_all(deep, sizeof deep), "it is nested too deeply");
    memset(deep, 0x19, sizeof deep); /* a list of lists of one list ... */
    assert_string_equal(skip_all(deep, sizeof deep), "it is nested too deeply");
    static const uint8_t huge[] = {0x19, 0xF6, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0};
    assert_non_null(skip_all((const char *)huge, sizeof huge));
    static const uint8_t maps[] = {0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                   0xFF, 0xFF, 0xFF, 0x7F, 0x11};
    assert_non_null(skip_all((const char *)maps, sizeof maps));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip),
                                       cmocka_unit_test(cut_and_changed), cmocka_unit_test(absurd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
