/* Goal: tokens in memory are found by hash, end with DROP whatever happens meanwhile, and nobody takes all places. Method: the list alone,
 * with an alm_acl of its own; what a log-in found before a DROP comes back after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "session/access/access.h"
#include "session/world_for_test.h"

enum { PLACES = 10000, NOW = 1000, LATER = 5000 };

static alm_entity people[] = {{.name = "ann", .generation = 3},
                              {.name = "bob", .generation = 4},
                              {.name = "cy", .generation = 5}};
static alm_acl acl = {.entities = people, .n_entities = 3};

static alm_token token_of(const alm_entity *e, uint32_t number, int64_t expires_us)
{
    alm_token t = {.entity = e->name,
                   .expires_us = expires_us,
                   .ttl_us = LATER,
                   .refresh = true,
                   .generation = e->generation};
    /* neither in order nor backwards */
    (void)snprintf(t.hash, sizeof t.hash, "%08x%056x", number * 2654435761u, number);
    return t;
}

static void add(world *w, const alm_entity *e, uint32_t number, int64_t expires_us)
{
    const alm_token t = token_of(e, number, expires_us);
    assert_int_equal(alm_transient_add(&w->cx, w->db, &acl, &t, NOW), ALM_OK);
}

static bool is_there(world *w, const alm_entity *e, uint32_t number, alm_token *out)
{
    static char name[ALM_ENTITY_NAME_MAX + 1];
    const alm_token t = token_of(e, number, 0);
    const bool found = alm_transient_find(w->db, t.hash, out, name);
    assert_true(!found || (strcmp(out->entity, e->name) == 0 && strcmp(out->hash, t.hash) == 0));
    return found;
}

/* A use that began before DROP TOKEN moves nothing, nor the end of what another use has moved. */
static void dropped_tokens_stay_dropped(void **state)
{
    world *w = *state;
    alm_token found, again;
    add(w, &people[0], 1, LATER);
    add(w, &people[0], 2, LATER);
    add(w, &people[1], 3, LATER);
    assert_true(is_there(w, &people[0], 1, &found));
    alm_transient_move(w->db, &found, LATER + 10);
    assert_true(is_there(w, &people[0], 1, &again) && again.expires_us == LATER + 10);
    alm_transient_move(w->db, &found, LATER + 90); /* it had another end */
    assert_true(is_there(w, &people[0], 1, &found) && found.expires_us == LATER + 10);
    const uint64_t version = w->db->access.version;
    assert_int_equal(alm_transient_drop(w->db, "ann", found.hash), 1);
    assert_true(w->db->access.version != version);
    alm_transient_move(w->db, &found, LATER + 90);
    assert_false(is_there(w, &people[0], 1, &again));
    assert_int_equal(alm_transient_drop(w->db, "bob", found.hash), 0);
    assert_int_equal(alm_transient_drop(w->db, "ann", ""), 1);
    assert_false(is_there(w, &people[0], 2, &again));
    assert_true(is_there(w, &people[1], 3, &again));
    assert_int_equal(alm_transient_count(w->db, &people[0], NOW), 0);
    assert_int_equal(alm_transient_count(w->db, &people[1], NOW), 1);
}

static void tokens_count_for_one_entity(void **state)
{
    world *w = *state;
    alm_entity another = people[0];
    add(w, &people[0], 1, LATER);
    add(w, &people[0], 2, NOW + 1);
    another.generation++; /* one of the name who came after DROP USER */
    assert_int_equal(alm_transient_count(w->db, &people[0], NOW), 2);
    assert_int_equal(alm_transient_count(w->db, &people[0], NOW + 1), 1);
    assert_int_equal(alm_transient_count(w->db, &another, NOW), 0);
}

/* Ended ones and those of who is gone give their places first, then those of whoever has most. */
static void nobody_takes_all_places(void **state)
{
    world *w = *state;
    alm_token found;
    const alm_entity gone = {.name = "gone", .generation = 2};
    for (uint32_t i = 0; i < PLACES - 20; i++)
        add(w, &people[0], i, LATER + i);
    for (uint32_t i = 0; i < 10; i++) {
        add(w, &gone, 20000 + i, LATER);
        add(w, &people[1], 30000 + i, NOW);
    }
    assert_int_equal(w->db->access.n_transient, PLACES);
    for (uint32_t i = 0; i < 20; i++)
        add(w, &people[1], 40000 + i, LATER);
    assert_true(is_there(w, &people[0], 0, &found));
    add(w, &people[1], 50000, LATER);
    add(w, &people[2], 50001, LATER);
    assert_false(is_there(w, &people[0], 0, &found));
    assert_false(is_there(w, &people[0], 1, &found));
    assert_true(is_there(w, &people[0], 2, &found));
    assert_int_equal(w->db->access.n_transient, PLACES);
    const alm_token more = token_of(&people[0], 60000, LATER); /* he has most himself */
    assert_int_equal(alm_transient_add(&w->cx, w->db, &acl, &more, NOW), ALM_E_LIMIT);
    for (uint32_t i = 2; i < PLACES - 20; i++)
        assert_true(is_there(w, &people[0], i, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dropped_tokens_stay_dropped, world_new, world_free),
        cmocka_unit_test_setup_teardown(tokens_count_for_one_entity, world_new, world_free),
        cmocka_unit_test_setup_teardown(nobody_takes_all_places, world_new, world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
