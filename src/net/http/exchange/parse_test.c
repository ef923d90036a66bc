/*
 * parse_test.c - goal: request heads by RFC 9112 and forms by the URL standard; what is neither is
 * refused with a status, and needs no more bytes than it has. Method: each case is parsed at every
 * length of its prefix, from memory that ends where the bytes end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "net/http/exchange/http.h"

enum { LIMIT = 1000 };

typedef struct parsed {
    alm_ctx cx;
    alm_arena arena;
    alm_http_request req;
    alm_http_parse result;
    size_t taken;
    int status;
    const char *why;
} parsed;

static void parse(parsed *p, alm_str bytes)
{
    *p = (parsed){0};
    alm_arena_init(&p->arena, NULL);
    p->cx.arena = &p->arena;
    char *copy = test_malloc(bytes.len);
    (void)memcpy(copy, bytes.ptr, bytes.len);
    p->result = alm_http_parse_head(&p->cx, &p->arena, (alm_str){copy, bytes.len}, LIMIT, &p->req,
                                    &p->taken, &p->status, &p->why);
    test_free(copy);
}

static void done(parsed *p)
{
    alm_arena_deinit(&p->arena);
}

static void expect_str(alm_str got, const char *want)
{
    assert_non_null(got.ptr);
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static void test_heads(void **state)
{
    (void)state;
    static const alm_str text = ALM_STR(
        "\r\nPOST /a%20b/\xc3\xbc?query=select+1%2B1&nm=&&x&query=2&%C3%BC=%e2%82%ac HTTP/1.1\r\n"
        "Host: a\r\ncontent-LENGTH:  5 \r\nX-Empty:\r\nExpect: 100-continue\r\n\r\nhello");
    for (size_t n = 0; n <= text.len; n++) {
        parsed p;
        parse(&p, (alm_str){text.ptr, n});
        assert_int_equal(p.result, n + 5 < text.len ? ALM_HTTP_MORE : ALM_HTTP_DONE);
        if (p.result == ALM_HTTP_DONE) {
            assert_int_equal(p.taken, text.len - 5);
            expect_str(p.req.method, "POST");
            expect_str(p.req.path, "/a b/\xc3\xbc");
            expect_str(alm_http_param(&p.req, "query"), "2");
            expect_str(alm_http_param(&p.req, "nm"), "");
            expect_str(alm_http_param(&p.req, "x"), "");
            expect_str(alm_http_param(&p.req, "\xc3\xbc"), "\xe2\x82\xac");
            assert_null(alm_http_param(&p.req, "NM").ptr);
            assert_true(alm_http_param_is(&p.req, "query", "2"));
            assert_int_equal(p.req.n_params, 5);
            expect_str(p.req.params[0].value, "select 1+1");
            expect_str(alm_http_header(&p.req, "x-empty"), "");
            assert_null(alm_http_header(&p.req, "X-None").ptr);
            assert_int_equal(p.req.content_length, 5);
            assert_int_equal(p.req.minor, 1);
            assert_true(p.req.keep_alive);
            assert_true(p.req.expect_continue);
            assert_true(p.req.has_body);
            assert_false(p.req.chunked);
        }
        done(&p);
    }
}

static void test_connections(void **state)
{
    (void)state;
    static const struct {
        alm_str text;
        bool keep_alive, chunked;
        int minor;
    } cases[] = {
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), true, false, 1},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), false, false, 1},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n"), false, false, 1},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nConnection: closer\r\n\r\n"), true, false, 1},
        {ALM_STR("GET / HTTP/1.0\r\n\r\n"), false, false, 0},
        {ALM_STR("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), true, false, 0},
        {ALM_STR("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"), true, true,
         1},
        {ALM_STR("GET http://host:9000/ HTTP/1.1\r\nHost: a\r\n\r\n"), true, false, 1},
        {ALM_STR("GET http://host HTTP/1.1\r\nHost: a\r\n\r\n"), true, false, 1},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        parsed p;
        parse(&p, cases[i].text);
        assert_int_equal(p.result, ALM_HTTP_DONE);
        expect_str(p.req.path, "/");
        assert_int_equal(p.req.keep_alive, cases[i].keep_alive);
        assert_int_equal(p.req.chunked, cases[i].chunked);
        assert_int_equal(p.req.minor, cases[i].minor);
        done(&p);
    }
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        alm_str text;
        const char *host, *path, *query;
    } cases[] = {
        {ALM_STR("GET /x?q HTTP/1.1\r\nHost: a:9000\r\n\r\n"), "a:9000", "/x", "q"},
        {ALM_STR("GET /x?q HTTP/1.1\r\nHost:\r\n\r\n"), "", "/x", "q"},
        {ALM_STR("GET /x?q HTTP/1.1\r\nHost: [::1]:9000\r\n\r\n"), "[::1]:9000", "/x", "q"},
        {ALM_STR("GET /x?q HTTP/1.1\r\nHost: %61(b)\r\n\r\n"), "%61(b)", "/x", "q"},
        {ALM_STR("GET HTTP://b:1/x?q HTTP/1.1\r\nHost: a\r\n\r\n"), "b:1", "/x", "q"},
        {ALM_STR("GET https://b?q HTTP/1.1\r\nHost: a\r\n\r\n"), "b", "/", "q"},
        {ALM_STR("GET http://b/x?q HTTP/1.0\r\n\r\n"), "b", "/x", "q"},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        parsed p;
        parse(&p, cases[i].text);
        assert_int_equal(p.result, ALM_HTTP_DONE);
        expect_str(p.req.host, cases[i].host);
        expect_str(p.req.path, cases[i].path);
        expect_str(p.req.query, cases[i].query);
        done(&p);
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        alm_str text;
        int status;
    } cases[] = {
        {ALM_STR("GARBAGE\r\n\r\n"), 400},
        {ALM_STR("GET /\r\n\r\n"), 400},
        {ALM_STR("GET  HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\n\r\n"), 400}, /* no Host */
        {ALM_STR("GET http://a/ HTTP/1.1\r\nX: b\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a:\xc3\xbc\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: []\r\n\r\n"), 400},
        {ALM_STR("GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET http://a#b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET http://a#/b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET ws://a/x HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/2.0\r\n\r\n"), 505},
        {ALM_STR("GET / HTTP/1.2\r\n\r\n"), 505},
        {ALM_STR("GET / JUNK/1.1\r\n\r\n"), 400},
        {ALM_STR("G\xc3\x84T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /\t HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET a HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /% HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET /?a=%4 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\nHost: a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\nHost: a\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\nHost: a\rb\n\n"), 400},
        {ALM_STR("GET / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n"), 400},
        {ALM_STR("\nGET / HTTP/1.1\nHost: a\n\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\nb: c\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nA: \1\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
         400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n"), 400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n"),
         400},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501},
        {ALM_STR("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n"),
         400},
        {ALM_STR("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
        {ALM_STR("\x16\x03\x01\x02"), 400},
        {ALM_STR("\0"), 400},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        parsed p;
        parse(&p, cases[i].text);
        if (p.result != ALM_HTTP_BAD || p.status != cases[i].status)
            fail_msg("%s: result %d, status %d", cases[i].text.ptr, (int)p.result, p.status);
        assert_non_null(p.why);
        done(&p);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char text[LIMIT + 200];
    parsed p;
    (void)memset(text, 'a', sizeof(text));
    parse(&p, (alm_str){text, LIMIT});
    assert_int_equal(p.result, ALM_HTTP_MORE);
    done(&p);
    parse(&p, (alm_str){text, LIMIT + 1});
    assert_int_equal(p.result, ALM_HTTP_BAD);
    assert_int_equal(p.status, 414);
    done(&p);
    (void)memcpy(text, "GET / HTTP/1.1\r\nHost: a\r\nX: ", 28);
    parse(&p, (alm_str){text, LIMIT + 1});
    assert_int_equal(p.status, 431);
    done(&p);
    /* many headers, many parameters */
    for (int over = 0; over < 2; over++) {
        char many[LIMIT];
        int n = snprintf(many, sizeof(many), "GET / HTTP/1.1\r\nHost: a\r\n");
        for (int i = 1; i < ALM_HTTP_HEADERS_MAX + over; i++)
            n += snprintf(many + n, sizeof(many) - (size_t)n, "a:b\r\n");
        n += snprintf(many + n, sizeof(many) - (size_t)n, "\r\n");
        parse(&p, (alm_str){many, (size_t)n});
        assert_int_equal(p.result, over ? ALM_HTTP_BAD : ALM_HTTP_DONE);
        assert_int_equal(p.status == 431, over);
        done(&p);
        n = snprintf(many, sizeof(many), "GET /?");
        for (int i = 0; i < ALM_HTTP_PARAMS_MAX + over; i++)
            n += snprintf(many + n, sizeof(many) - (size_t)n, "a&&");
        n += snprintf(many + n, sizeof(many) - (size_t)n, " HTTP/1.1\r\nHost: a\r\n\r\n");
        parse(&p, (alm_str){many, (size_t)n});
        assert_int_equal(p.result, over ? ALM_HTTP_BAD : ALM_HTTP_DONE);
        done(&p);
    }
}

static void test_quality(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int q;
    } cases[] = {{"", -1},         {"b", -1},          {"a", 1000},         {"b, A", 1000},
                 {"a;q=0.5", 500}, {"a ; Q=0.001", 1}, {"a;q=0", 0},        {"a;q=2", 0},
                 {"a;q=x", 0},     {"a;q=", 0},        {"a;x=1;q=.2", 200}, {",,;, a,", 1000},
                 {"a;", 1000},     {"aa", -1},         {"a;q=-1", 0},       {"a;q=nan", 0}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++)
        if (alm_http_quality(alm_str_of(cases[i].list), ALM_STR("a")) != cases[i].q)
            fail_msg("'%s'", cases[i].list);
    assert_int_equal(alm_http_quality((alm_str){0}, ALM_STR("a")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quality),         cmocka_unit_test(test_heads),
        cmocka_unit_test(test_connections),     cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
