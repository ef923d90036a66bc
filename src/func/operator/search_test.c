/*
 * search_test.c - search.h against memmem, regex_literal.h against a table.
 *
 * Goal        Every text that contains the needle is found and no other, whatever the layout: one piece,
 *             with gaps, out of order, short and null texts between; needles across two texts do not
 *             count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "func/operator/regex_literal.h"
#include "func/operator/search.h"

enum { TEXTS = 600, BYTES = 1 << 18 };

static uint32_t next(uint64_t *r)
{
    *r = *r * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*r >> 33);
}

/* Texts over few letters, so that parts of needles are everywhere. */
static void fill(char *heap, alm_view *views, uint64_t *r, int layout)
{
    uint64_t at = 0;
    for (int i = 0; i < TEXTS; i++) {
        const uint32_t len = layout == 0 ? 13 + next(r) % 150 : next(r) % 150;
        char *to = heap + at;
        for (uint32_t k = 0; k < len; k++)
            to[k] = (char)('a' + next(r) % 3);
        views[i] = alm_view_of((alm_str){to, len});
        if (len > ALM_VIEW_INLINE)
            views[i].off = at;
        if (layout > 0 && next(r) % 20 == 0)
            views[i] = alm_view_null();
        at += len + (layout == 2 ? next(r) % 400 : 0);
    }
    if (layout == 3) { /* out of order */
        const alm_view swap = views[7];
        views[7] = views[500];
        views[500] = swap;
    }
    assert_true(at < BYTES);
}

static void test_views_like_memmem(void **state)
{
    (void)state;
    static const char *const needles[] = {"a",       "ab",        "abc",         "cabba",
                                          "aaaaaaa", "abcabcabc", "bacbacbacba", "d"};
    char *heap = calloc(1, BYTES + 1024);
    alm_view *views = calloc(TEXTS, sizeof *views);
    uint8_t found[TEXTS];
    uint64_t r = 99;
    alm_ctx cx = {0};
    for (int round = 0; round < 40; round++) {
        fill(heap, views, &r, round % 4);
        for (size_t k = 0; k < ALM_COUNT(needles); k++) {
            const alm_str what = alm_str_of(needles[k]);
            const size_t n = round % 5 == 0 ? 1 : TEXTS;
            assert_int_equal(alm_search_views(&cx, views, heap, n, what, found), ALM_OK);
            for (size_t i = 0; i < n; i++) {
                const bool want =
                    !alm_view_is_null(&views[i]) &&
                    memmem(alm_view_ptr(&views[i], heap), views[i].len, what.ptr, what.len) != NULL;
                assert_int_equal(found[i], want);
            }
        }
        assert_int_equal(alm_search_views(&cx, views, heap, TEXTS, (alm_str){"", 0}, found),
                         ALM_OK);
        for (size_t i = 0; i < TEXTS; i++)
            assert_int_equal(found[i], !alm_view_is_null(&views[i]));
    }
    free(views);
    free(heap);
}

static bool in_either_case(const alm_view *views, size_t n, alm_str what, uint8_t *found)
{
    alm_ctx cx = {0};
    bool done = false;
    assert_int_equal(alm_search_views_nocase(&cx, views, NULL, n, what, found, &done), ALM_OK);
    return done;
}

static void test_either_case(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "https://Google.example/Item?x=1", "GOOGLE",       "no such thing here", "goo",
        "aGoOgLeb and some more",          "go@gle go`gle"};
    alm_view views[ALM_COUNT(texts) + 1];
    uint8_t found[ALM_COUNT(texts) + 1];
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        views[i] = alm_view_of(alm_str_of(texts[i]));
    views[ALM_COUNT(texts)] = alm_view_null();
    assert_true(in_either_case(views, ALM_COUNT(texts) + 1, ALM_STR("google"), found));
    static const uint8_t want[] = {1, 1, 0, 0, 1, 0, 0};
    assert_memory_equal(found, want, sizeof want);
    assert_true(in_either_case(views, 1, ALM_STR("item?x=1"), found));
    assert_int_equal(found[0], 1);
    assert_false(in_either_case(views, 1, ALM_STR("\xc3\xa4"), found));
    views[3] = alm_view_of(ALM_STR("g\xc3\xb6"));
    assert_false(in_either_case(views, 5, ALM_STR("google"), found));
}

static void test_find_at_every_place(void **state)
{
    (void)state;
    char in[600];
    for (size_t n = 0; n < sizeof in; n += 7)
        for (size_t at = 0; at + 3 <= n; at += 5) {
            memset(in, 'x', n);
            memcpy(in + at, "xyz", 3);
            assert_int_equal(alm_search_find(in, n, ALM_STR("xyz")), at);
            assert_int_equal(alm_search_find(in, n, ALM_STR("xyzz")), n);
        }
}

static void test_literals_of_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *inside, *end;
    } cases[] = {
        {"item/[0-9]+7$", "item/", "7"},
        {"abc", "abc", ""},
        {"^abc$", "abc", "abc"},
        {"abc*", "ab", ""},
        {"abc?de", "ab", ""},
        {"abc+de", "abc", ""},
        {"abc{2}de", "ab", ""},
        {"a|b", "", ""},
        {"(a|b)cde", "cde", ""},
        {"(?i)abc", "", ""},
        {"x(?:y)z", "", ""},
        {"x[)|]yz", "yz", ""},
        {"a\\.b\\d+cdef", "cdef", ""},
        {"a\\.b", "a.b", ""},
        {"a\\x41", "", ""},
        {"\\Qa|b\\E", "", ""},
        {"[[:alpha:]]abc", "", ""},
        {"[^]a]bc", "bc", ""},
        {"ab\xc3\xa4?c", "ab", ""},
        {"a.*bcd$", "bcd", "bcd"},
        {"abc$d", "abc", ""},
        {"ab.$", "ab", ""},
        {"(a(b|c)d)*xyz", "xyz", ""},
        {"", "", ""},
    };
    alm_arena arena;
    alm_mem mem = {.name = "test"};
    alm_arena_init(&arena, &mem);
    alm_ctx cx = {.arena = &arena, .mem = &mem};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_regex_literals got;
        assert_int_equal(alm_regex_literals_of(&cx, alm_str_of(cases[i].pattern), &got), ALM_OK);
        if (!alm_str_eq(got.inside, alm_str_of(cases[i].inside)) ||
            !alm_str_eq(got.end, alm_str_of(cases[i].end)))
            fail_msg("%s: inside %.*s, end %.*s", cases[i].pattern, (int)got.inside.len,
                     got.inside.ptr, (int)got.end.len, got.end.ptr);
    }
    alm_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_like_memmem),
        cmocka_unit_test(test_either_case),
        cmocka_unit_test(test_find_at_every_place),
        cmocka_unit_test(test_literals_of_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
