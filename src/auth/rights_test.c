/* Goal: what a user of the provider may follows from his groups, whatever their order and number, and is found without comparing each
 * with each. Method: the rights beside a plain double loop; many long names that begin the same, with a bound on the time; changes that
 * come with another epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "auth/rights.h"

enum { MANY = 10000, LONG = 240, PER_GROUP = 5 };

static alm_arena arena;
static alm_ctx cx;
static alm_acl *acl;

static char *text(const char *form, int number)
{
    char *out = NULL;
    assert_int_equal(alm_arena_bytes(&cx, &arena, LONG + 20, &out), ALM_OK);
    int n = 0;
    for (; form[0] == '~' && n < LONG; n++)
        out[n] = 'x';
    (void)snprintf(out + n, 20, form[0] == '~' ? form + 1 : form, number);
    return out;
}

/* On the database: to every fourth group, HTTP and its neighbours in turn; `more` to the first. */
static void set_grants(uint32_t n, uint8_t more)
{
    alm_acl_edit edit = {.cx = &cx, .acl = acl};
    for (uint32_t i = 0; i < n; i++) {
        alm_grant g = {.entity = acl->aliases[4 * i * PER_GROUP].first, .table = "", .column = ""};
        alm_permission_put(&g.may, (uint8_t)(10 + 4 * i % 3));
        if (i == 0 && more > 0)
            alm_permission_put(&g.may, more);
        assert_int_equal(alm_edit_grant(&edit, &g), ALM_OK);
    }
    alm_records_release(acl->records);
    acl->records = NULL;
    assert_int_equal(alm_records_new(&cx, edit.rows, edit.n, &acl->records), ALM_OK);
    acl->n_grants = n;
}

/* Groups g00000 ..., each with PER_GROUP aliases, and alias 0 of all of them: "shared". Every third has HTTP, one has everything. */
static int begin(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    cx = (alm_ctx){.arena = &arena};
    acl = calloc(1, sizeof *acl);
    assert_non_null(acl);
    acl->refs = 1;
    acl->epoch = 7;
    alm_arena_init(&acl->arena, NULL);
    acl->n_aliases = MANY;
    assert_int_equal(ALM_NEWN(&cx, &arena, acl->n_aliases, &acl->aliases), ALM_OK);
    for (int i = 0; i < MANY; i++) {
        const int g = i / PER_GROUP;
        acl->aliases[i].first = text("g%05d", g);
        acl->aliases[i].second = i % PER_GROUP == 0 ? "shared" : text("~alias%05d", i);
    }
    set_grants(MANY / PER_GROUP / 4, 0);
    assert_int_equal(alm_acl_index(&cx, acl), ALM_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    alm_acl_release(acl);
    alm_arena_deinit(&arena);
    return 0;
}

static alm_principal *user_of(const char *const *groups, uint32_t n)
{
    alm_principal *who = NULL;
    assert_int_equal(alm_principal_external(&cx, ALM_STR("jane"), ALM_STR("s1"), groups, n, &who),
                     ALM_OK);
    return who;
}

/* Each with each, as the rule has it. */
static void assert_rights(alm_principal *who)
{
    alm_rights *r = NULL;
    uint32_t n = 0;
    alm_permission_set db = {{0, 0}};
    assert_int_equal(alm_rights_new(&cx, acl, who, &r), ALM_OK);
    for (uint32_t i = 0; i < acl->n_aliases; i++) {
        bool has = false;
        for (uint32_t g = 0; g < who->n_groups; g++)
            has |= strcmp(acl->aliases[i].second, who->groups[g]) == 0;
        if (!has || n == ALM_GROUPS_OF_MAX ||
            (n > 0 && strcmp(r->of[n - 1], acl->aliases[i].first) == 0))
            continue;
        assert_true(n < r->n);
        assert_string_equal(r->of[n], acl->aliases[i].first);
        alm_grant g;
        (void)alm_acl_grant(acl, r->of[n++], "", "", &g);
        for (uint8_t p = 10; p < 13; p++)
            if (alm_permission_in(&g.may, p))
                alm_permission_put(&db, p);
    }
    assert_int_equal(r->n, n);
    assert_int_equal(alm_principal_is_mapped(who, acl), n > 0);
    for (uint8_t p = 10; p < 14; p++) {
        const alm_rights_ask ask = {.number = p};
        assert_int_equal(alm_rights_may(r, &ask), alm_permission_in(&db, p));
        assert_int_equal(alm_rights_anywhere(r, p), alm_permission_in(&db, p));
    }
    alm_rights_release(r);
}

static void groups_count_by_their_aliases(void **state)
{
    const char *const none[] = {"", "alias00001", "g00000", "shared "};
    const char *some[40];
    const char *const all[] = {"other", "shared"};
    alm_principal *who = NULL;
    (void)state;
    for (int i = 0; i < 40; i++) /* backwards, pairs of one group, some twice, some of nothing */
        some[i] = i % 7 == 0 ? "?" : acl->aliases[MANY - 1 - 3 * (i / 2)].second;
    const struct {
        const char *const *groups;
        uint32_t n;
    } cases[] = {{NULL, 0}, {none, 4}, {some, 40}, {all, 2}};
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        who = user_of(cases[i].groups, cases[i].n);
        assert_rights(who);
        assert_rights(who); /* as they were kept */
        alm_principal_release(who);
    }
}

/* What was kept is of one epoch. */
static void another_epoch_is_looked_up_again(void **state)
{
    const char *const groups[] = {"shared"};
    alm_principal *who = user_of(groups, 1);
    (void)state;
    assert_rights(who);
    acl->epoch++;
    acl->n_aliases = PER_GROUP * 3;
    set_grants(1, 12);
    assert_int_equal(alm_acl_index(&cx, acl), ALM_OK);
    assert_rights(who);
    acl->epoch++;
    acl->n_aliases = 0;
    assert_int_equal(alm_acl_index(&cx, acl), ALM_OK);
    assert_rights(who);
    alm_principal_release(who);
}

static int64_t cpu_ms(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Threads of the network ask for each request. Each with each took half a second for one. */
static void many_groups_are_quick(void **state)
{
    enum { TIMES = 20, LIMIT_MS = 4000 };
    const char *groups[ALM_GROUPS_OF_MAX];
    (void)state;
    for (int mapped = 0; mapped < 2; mapped++) {
        for (int i = 0; i < ALM_GROUPS_OF_MAX; i++)
            groups[i] = mapped ? acl->aliases[i * 9 + 1].second : text("~other%05d", i);
        const int64_t start_ms = cpu_ms();
        for (int i = 0; i < TIMES; i++) {
            alm_principal *who = user_of(groups, ALM_GROUPS_OF_MAX);
            for (int k = 0; k < 3; k++) {
                alm_rights *r = NULL;
                assert_int_equal(alm_rights_new(&cx, acl, who, &r), ALM_OK);
                assert_int_equal(r->n > 0, mapped);
                alm_rights_release(r);
            }
            alm_principal_release(who);
        }
        const int64_t ms = cpu_ms() - start_ms;
        if (ms > LIMIT_MS)
            fail_msg("%d look-ups of %d groups in %d aliases: %lld ms", 3 * TIMES,
                     ALM_GROUPS_OF_MAX, MANY, (long long)ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_count_by_their_aliases, begin, end),
        cmocka_unit_test_setup_teardown(another_epoch_is_looked_up_again, begin, end),
        cmocka_unit_test_setup_teardown(many_groups_are_quick, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
