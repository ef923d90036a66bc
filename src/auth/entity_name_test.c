/* Goal: names that read the same are found, whatever their bytes, and those of nobody here are told from them. Method: names beside a list of
 * entities, with and without an index that has many others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/entity_name.h"

enum { OTHERS = 3000 };

static alm_arena arena;
static alm_ctx cx;
static alm_acl acl;
static alm_entity entities[OTHERS + 6];
static char names[OTHERS][16];

static int by_name(const void *a, const void *b)
{
    return strcmp(((const alm_entity *)a)->name, ((const alm_entity *)b)->name);
}

static int begin(void **state)
{
    static const char *const here[] = {"Jane",  "robot",   "\xc3\x96zil",
                                       " old ", "bad\xff", "STRASSE"};
    (void)state;
    alm_arena_init(&arena, NULL);
    cx = (alm_ctx){.arena = &arena};
    for (int i = 0; i < OTHERS; i++) {
        (void)snprintf(names[i], sizeof names[i], "user%d", i);
        entities[i].name = names[i];
    }
    for (size_t i = 0; i < ALM_COUNT(here); i++)
        entities[OTHERS + i].name = here[i];
    qsort(entities, ALM_COUNT(entities), sizeof *entities, by_name);
    acl = (alm_acl){.entities = entities, .n_entities = ALM_COUNT(entities)};
    alm_arena_init(&acl.arena, NULL);
    assert_int_equal(alm_acl_index(&cx, &acl), ALM_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    alm_arena_deinit(&acl.arena);
    alm_arena_deinit(&arena);
    return 0;
}

static const char *twin(const char *name)
{
    const char *out = NULL;
    assert_int_equal(alm_entity_name_twin(&cx, &acl, "admin", alm_str_of(name), &out), ALM_OK);
    return out;
}

static bool elsewhere(const char *name)
{
    bool is = false;
    assert_int_equal(alm_entity_name_is_elsewhere(&cx, &acl, "admin", alm_str_of(name), &is),
                     ALM_OK);
    assert_int_equal(cx.err.code, ALM_OK);
    return is;
}

static void names_that_read_the_same_are_found(void **state)
{
    static const struct {
        const char *name, *twin;
    } same[] = {{"jane", "Jane"},
                {"JANE", "Jane"},
                {"\xef\xbd\x8a"
                 "ane",
                 "Jane"},                 /* full width */
                {"ja\xc2\xadne", "Jane"}, /* a soft hyphen */
                {"jane ", "Jane"},
                {"o\xcc\x88zil", "\xc3\x96zil"}, /* composed and not */
                {"old", " old "},
                {"Stra\xc3\x9f"
                 "e",
                 "STRASSE"},
                {"ADMIN", "admin"},
                {"USER2999", "user2999"}};
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(same); i++) {
        const char *found = twin(same[i].name);
        if (found == NULL || strcmp(found, same[i].twin) != 0)
            fail_msg("%s: %s, not %s", same[i].name, found != NULL ? found : "none", same[i].twin);
        assert_null(twin(same[i].twin)); /* itself is no twin */
        assert_false(elsewhere(same[i].name));
        assert_false(elsewhere(same[i].twin));
    }
    assert_null(twin("janet"));
    assert_null(twin("user3000"));
}

static void names_of_nobody_here_are_elsewhere(void **state)
{
    char longest[ALM_ENTITY_NAME_MAX + 2];
    (void)state;
    assert_true(elsewhere("janet") && elsewhere("jan") && elsewhere("jane@example.org"));
    assert_true(elsewhere("user3000") && elsewhere("\xc3\xb6zi"));
    memset(longest, 'x', sizeof longest);
    longest[ALM_ENTITY_NAME_MAX] = 0;
    assert_true(elsewhere(longest));
    /* what may be no name is nobody's */
    longest[ALM_ENTITY_NAME_MAX] = 'x';
    longest[ALM_ENTITY_NAME_MAX + 1] = 0;
    assert_false(elsewhere(longest) || elsewhere("") || elsewhere("bad\xff") || elsewhere(" ann"));
    assert_false(elsewhere("ann\n") || elsewhere("an\xe2\x80\xaen"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_that_read_the_same_are_found, begin, end),
        cmocka_unit_test_setup_teardown(names_of_nobody_here_are_elsewhere, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
