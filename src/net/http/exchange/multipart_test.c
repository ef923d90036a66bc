/*
 * multipart_test.c - goal: parts and their bytes come out whole whatever the pieces the body comes in,
 * nothing of a boundary gets into them. Method: each body is fed in pieces of every size; parts are
 * written as one line of text: name/filename(bytes).
 */
#include "net/http/exchange/multipart.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct seen {
    char text[4096];
    size_t n;
    bool open;
} seen;

static void put(seen *s, const char *bytes, size_t n)
{
    assert_true(s->n + n < sizeof(s->text));
    (void)memcpy(s->text + s->n, bytes, n);
    s->n += n;
    s->text[s->n] = 0;
}

static alm_status on_part(alm_ctx *cx, void *arg, alm_str name, alm_str filename)
{
    seen *s = arg;
    (void)cx;
    if (s->open)
        put(s, ")", 1);
    s->open = true;
    put(s, name.ptr != NULL ? name.ptr : "-", name.ptr != NULL ? name.len : 1);
    if (filename.ptr != NULL) {
        put(s, "/", 1);
        put(s, filename.ptr, filename.len);
    }
    put(s, "(", 1);
    return ALM_OK;
}

static alm_status on_bytes(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    (void)cx;
    put(arg, bytes, n);
    return ALM_OK;
}

/* want NULL: an error. */
static void check(const char *boundary, alm_str body, const char *want)
{
    for (size_t piece = body.len + 1; piece > 0; piece--) {
        alm_ctx cx = {0};
        alm_multipart m;
        seen s = {0};
        const alm_multipart_events events = {.part = on_part, .bytes = on_bytes, .arg = &s};
        assert_int_equal(alm_multipart_init(&cx, &m, alm_str_of(boundary), &events), ALM_OK);
        alm_status st = ALM_OK;
        for (size_t at = 0; st == ALM_OK && at < body.len; at += piece) {
            const size_t n = ALM_MIN(piece, body.len - at);
            char *copy = test_malloc(n);
            (void)memcpy(copy, body.ptr + at, n);
            st = alm_multipart_feed(&cx, &m, copy, n);
            test_free(copy);
        }
        if (st == ALM_OK)
            st = alm_multipart_end(&cx, &m);
        if (st == ALM_OK && s.open)
            put(&s, ")", 1);
        if ((st == ALM_OK) != (want != NULL) || (want != NULL && strcmp(s.text, want) != 0))
            fail_msg("pieces of %zu: got %s (%d), want %s", piece, s.text, (int)st,
                     want != NULL ? want : "an error");
        alm_multipart_deinit(&m);
    }
}

#define HEAD(name) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static void test_bodies(void **state)
{
    (void)state;
    check("B", ALM_STR("--B\r\n" HEAD("a") "one\r\n--B\r\n" HEAD("b") "two\r\n--B--\r\n"),
          "a(one)b(two)");
    check("B", ALM_STR("--B\r\n" HEAD("a") "\r\n--B--"), "a()");
    check("B", ALM_STR("--B\r\n" HEAD("a") "--B--"), "a()");
    check("B", ALM_STR("--B--\r\n"), "");
    check("B", ALM_STR("preamble\r\n--B\r\n" HEAD("a") "x\r\n--B--\r\nepilogue --B\r\n"), "a(x)");
    check("B", ALM_STR("--B\r\n" HEAD("a") "\r\n-\r\n--\r\n--A\r\n\r\n--B--"),
          "a(\r\n-\r\n--\r\n--A\r\n)");
    check("B", ALM_STR("--B\r\n" HEAD("a") "x--B\r\n--B--"), "a(x--B)");
    check(
        "longer-boundary_1",
        ALM_STR("--longer-boundary_1\r\n" HEAD("a") "--longer-boundary_\r\n--longer-boundary_1--"),
        "a(--longer-boundary_)");
    check("B",
          ALM_STR("--B\r\nX: y\r\ncontent-disposition: form-data; filename=\"f;1.csv\"; "
                  "name=data\r\n\r\nx\r\n--B--"),
          "data/f;1.csv(x)");
    check("B", ALM_STR("--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--"), "-(x)");
    check("B", ALM_STR("--B\r\n" HEAD("a") "a\0b\r\n--B--"), "a(a");
}

static void test_errors(void **state)
{
    (void)state;
    check("B", ALM_STR(""), NULL);
    check("B", ALM_STR("nothing here"), NULL);
    check("B", ALM_STR("--B\r\n" HEAD("a") "x"), NULL);
    check("B", ALM_STR("--B\r\n" HEAD("a") "x\r\n--B"), NULL);
    check("B", ALM_STR("--B\r\nX: y\r\n\r\nx\r\n--B--"), NULL);
    alm_ctx cx = {0};
    alm_multipart m;
    seen s = {0};
    const alm_multipart_events events = {.part = on_part, .bytes = on_bytes, .arg = &s};
    assert_int_equal(alm_multipart_init(&cx, &m, ALM_STR("B"), &events), ALM_OK);
    assert_int_equal(alm_multipart_feed(&cx, &m, "--B\r\n", 5), ALM_OK);
    alm_status st = ALM_OK;
    for (int i = 0; st == ALM_OK && i < 1000; i++)
        st = alm_multipart_feed(&cx, &m, "X: 0123456789012345678901234567890123456789\r\n", 45);
    assert_int_equal(st, ALM_E_LIMIT);
    alm_multipart_deinit(&m);
}

static void test_boundaries(void **state)
{
    (void)state;
    static const struct {
        const char *type, *want;
    } cases[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"Multipart/Form-Data;boundary=\"a b\"", "a b"},
        {"multipart/form-data; charset=utf-8; boundary=abc; x=y", "abc"},
        {"multipart/form-data; BOUNDARY=abc", "abc"},
        {"multipart/form-data", NULL},
        {"multipart/form-data; boundary=", NULL},
        {"multipart/form-data; boundary=\"", NULL},
        {"multipart/form-data; boundary=\"\"", NULL},
        {"multipart/form-data; boundary", NULL},
        {"multipart/mixed; boundary=abc", NULL},
        {"text/csv; boundary=abc", NULL},
        {"", NULL},
        {"multipart/form-data; "
         "boundary=0123456789012345678901234567890123456789012345678901234567890123456789x",
         NULL},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        const alm_str got = alm_multipart_boundary(alm_str_of(cases[i].type));
        assert_int_equal(got.ptr != NULL, cases[i].want != NULL);
        if (got.ptr != NULL) {
            assert_int_equal(got.len, strlen(cases[i].want));
            assert_memory_equal(got.ptr, cases[i].want, got.len);
        }
    }
    assert_null(alm_multipart_boundary((alm_str){0}).ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
