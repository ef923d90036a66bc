/* Method: the share against a list that is searched: random things of few owners, added, used and removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/share.h"

typedef struct thing {
    alm_share_node node; /* first: the victim is a thing */
    uint32_t owner;
    uint64_t used;
    bool in;
} thing;

static void key_of(uint32_t owner, uint8_t key[ALM_SHARE_KEY])
{
    (void)memset(key, 0, ALM_SHARE_KEY);
    (void)memcpy(key, &owner, sizeof owner);
}

static void add(alm_share *share, thing *t, uint32_t owner)
{
    uint8_t key[ALM_SHARE_KEY];
    key_of(owner, key);
    t->owner = owner;
    t->in = true;
    alm_share_add(share, &t->node, key);
}

static void take(alm_share *share, thing *t)
{
    alm_share_remove(share, &t->node);
    t->in = false;
}

static void test_who_has_most_gives(void **state)
{
    (void)state;
    enum { LIMIT = 100 };
    alm_share share;
    thing of_one[LIMIT], of_others[LIMIT];
    (void)memset(of_one, 0, sizeof of_one);
    (void)memset(of_others, 0, sizeof of_others);
    assert_true(alm_share_init(&share, LIMIT));
    for (uint32_t i = 0; i < LIMIT; i++)
        add(&share, &of_one[i], 1);
    for (uint32_t i = 0; i < LIMIT - 1; i++) { /* each a user of his own */
        add(&share, &of_others[i], 2 + i);
        assert_true(alm_share_is_over(&share));
        assert_ptr_equal(alm_share_victim(&share), &of_one[i].node);
        take(&share, &of_one[i]);
    }
    alm_share_used(&share, &of_others[0].node); /* all have one: the least lately */
    alm_share_used(&share, &of_one[LIMIT - 1].node);
    assert_ptr_equal(alm_share_victim(&share), &of_others[1].node);
    take(&share, &of_one[LIMIT - 1]);
    for (uint32_t i = 0; i < LIMIT - 1; i++)
        take(&share, &of_others[i]);
    assert_null(alm_share_victim(&share));
    alm_share_deinit(&share);
}

static size_t count_of(const thing *things, size_t n, uint32_t owner)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += things[i].in && things[i].owner == owner;
    return count;
}

/* The victim is of an owner who has as many as any, and the oldest of his. */
static void check_victim(const alm_share *share, const thing *things, size_t n)
{
    const thing *victim = (const thing *)(const void *)alm_share_victim(share);
    if (victim == NULL) {
        for (size_t i = 0; i < n; i++)
            assert_false(things[i].in);
        return;
    }
    const size_t most = count_of(things, n, victim->owner);
    assert_int_equal(most, share->most);
    for (size_t i = 0; i < n; i++) {
        if (!things[i].in)
            continue;
        assert_true(count_of(things, n, things[i].owner) <= most);
        if (things[i].owner == victim->owner)
            assert_true(things[i].used >= victim->used);
    }
}

static void test_random(void **state)
{
    (void)state;
    enum { LIMIT = 40, THINGS = 41, OWNERS = 9, STEPS = 20000 };
    alm_share share;
    thing things[THINGS];
    uint64_t clock = 0, random = 88172645463325252U;
    (void)memset(things, 0, sizeof things);
    assert_true(alm_share_init(&share, LIMIT));
    for (uint32_t step = 0; step < STEPS; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thing *t = &things[random % THINGS];
        t->used = ++clock;
        if (!t->in)
            add(&share, t, (uint32_t)(random >> 32) % OWNERS);
        else if (random >> 60 > 4)
            alm_share_used(&share, &t->node);
        else
            take(&share, t);
        check_victim(&share, things, THINGS);
        if (alm_share_is_over(&share))
            take(&share, (thing *)(void *)alm_share_victim(&share));
    }
    for (size_t i = 0; i < THINGS; i++)
        if (things[i].in)
            take(&share, &things[i]);
    alm_share_deinit(&share);
}

static void test_addresses_of_a_network(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
                {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
                {"::1", "::ffff", true},
                {"::1", "127.0.0.1", false},
                {"10.0.0.1", "10.0.0.1", true},
                {"10.0.0.1", "10.0.0.2", false},
                {"", "", true},
                {"no address", "none", false}};
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        uint8_t a[ALM_SHARE_KEY], b[ALM_SHARE_KEY];
        alm_share_key_of_address(rows[i].a, a);
        alm_share_key_of_address(rows[i].b, b);
        assert_int_equal(memcmp(a, b, sizeof a) == 0, rows[i].same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_has_most_gives),
                                       cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_addresses_of_a_network)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
