/* Method: records that older versions wrote, byte by byte, and what is written now read again; bytes that are none are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "auth/acl_record.h"
#include "auth/rights.h"

static alm_arena arena;
static alm_ctx cx;

static int begin(void **state)
{
    (void)state;
    alm_arena_init(&arena, NULL);
    cx = (alm_ctx){.arena = &arena};
    return 0;
}

static int end(void **state)
{
    (void)state;
    alm_arena_deinit(&arena);
    return 0;
}

static alm_record record(const char *key, const char *value, size_t n)
{
    return (alm_record){alm_str_of(key), {value, n}};
}

static void users_of_before_have_no_moments(void **state)
{
    alm_entity e = {0};
    (void)state;
    assert_int_equal(alm_record_entity(&cx, &arena, record("ejane", "\1\1", 2), &e), ALM_OK);
    assert_string_equal(e.name, "jane");
    assert_true(e.enabled && e.generation == 0 && e.ended == 0);
}

static void users_come_back_with_their_moments(void **state)
{
    alm_entity e = {
        .name = "jane", .kind = ALM_ENTITY_USER, .enabled = true, .memory_max = 1 << 20};
    alm_entity got = {0};
    alm_acl_edit edit = {.cx = &cx};
    (void)state;
    e.generation = 258;
    e.ended = UINT64_C(1) << 40;
    assert_int_equal(alm_edit_entity(&edit, &e), ALM_OK);
    assert_int_equal(alm_record_entity(&cx, &arena, edit.rows[0], &got), ALM_OK);
    assert_true(got.generation == e.generation && got.ended == e.ended &&
                got.memory_max == 1 << 20);
    edit.rows[0].value.len--; /* cut */
    assert_int_equal(alm_record_entity(&cx, &arena, edit.rows[0], &got), ALM_E_CORRUPT);
}

static void definers_of_before_have_no_generation(void **state)
{
    static const char with_reads[] = "jane\0pay\0\0pay\0sal";
    alm_definer d = {0};
    (void)state;
    assert_int_equal(
        alm_record_definer(&cx, &arena, record("dv", with_reads, sizeof with_reads), &d), ALM_OK);
    assert_string_equal(d.name, "jane");
    assert_string_equal(d.view, "v");
    assert_int_equal(d.generation, 0);
    assert_int_equal(alm_record_definer(&cx, &arena, record("dv", "jane", 5), &d), ALM_OK);
    assert_int_equal(alm_record_definer(&cx, &arena, record("dv", "", 1), &d), ALM_OK);
    assert_string_equal(d.name, "");
    assert_int_equal(alm_record_definer(&cx, &arena, record("dv", "jane", 4), &d), ALM_E_CORRUPT);
    alm_error_clear(&cx);
    assert_int_equal(alm_record_definer(&cx, &arena, record("dv", "jane\0pay", 8), &d),
                     ALM_E_CORRUPT);
}

static void definers_come_back_with_their_generation(void **state)
{
    const alm_definer d = {.view = "v",
                           .name = "jane",
                           .generation = UINT64_C(0x0102030405060700),
                           .maker = UINT64_C(0x1112131415161700)};
    alm_definer got = {0};
    alm_acl_edit edit = {.cx = &cx};
    (void)state;
    assert_int_equal(alm_edit_definer(&edit, &d), ALM_OK);
    assert_int_equal(alm_record_definer(&cx, &arena, edit.rows[0], &got), ALM_OK);
    assert_string_equal(got.name, "jane");
    assert_true(got.generation == d.generation && got.maker == d.maker);
    edit.rows[0].value.len -= 8; /* cut */
    assert_int_equal(alm_record_definer(&cx, &arena, edit.rows[0], &got), ALM_E_CORRUPT);
    alm_error_clear(&cx);
    assert_int_equal(alm_record_definer(&cx, &arena, record("dv", "jane\0\1abcdefgh", 14), &got),
                     ALM_OK);
    assert_true(got.generation == UINT64_C(0x6867666564636261) && got.maker == 0);
}

static void the_secret_comes_back(void **state)
{
    uint8_t out[ALM_SCRAM_KEY], secret[ALM_SCRAM_KEY];
    alm_acl acl = {.epoch = 3};
    alm_acl_edit edit = {.cx = &cx, .acl = &acl};
    (void)state;
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)(i * 7);
    assert_int_equal(alm_edit_secret(&edit, secret), ALM_OK);
    assert_int_equal(edit.n, 1);
    assert_true(edit.rows[0].key.len == 1 && edit.rows[0].key.ptr[0] == ALM_KEY_SECRET);
    assert_int_equal(alm_record_secret(&cx, edit.rows[0], out), ALM_OK);
    assert_memory_equal(out, secret, sizeof out);
    assert_int_equal(alm_record_secret(&cx, record("s", "short", 5), out), ALM_E_CORRUPT);
    alm_error_clear(&cx);
    assert_int_equal(alm_record_secret(&cx, record("sx", (const char *)secret, 32), out),
                     ALM_E_CORRUPT);
}

/* What a login began is over by the entity, not by its name. */
static void logins_end(void **state)
{
    alm_entity e = {.name = "jane",
                    .kind = ALM_ENTITY_USER,
                    .enabled = true,
                    .has_password = true,
                    .generation = 7};
    alm_acl acl = {.entities = &e, .n_entities = 1};
    alm_principal *who = NULL;
    (void)state;
    memset(&e.verifier, 1, sizeof e.verifier);
    const alm_began began = {.proof = ALM_PROOF_PASSWORD,
                             .credential = alm_password_version(&e.verifier)};
    assert_int_equal(alm_principal_local(&cx, &e, &began, &who), ALM_OK);
    assert_string_equal(who->identity, "local 7:jane");
    assert_null(alm_principal_over(who, &acl));
    e.verifier.salt[3] ^= 1;
    assert_string_equal(alm_principal_over(who, &acl), "the password has changed");
    e.verifier.salt[3] ^= 1;
    e.has_password = false;
    assert_string_equal(alm_principal_over(who, &acl), "the password has changed");
    e.has_password = true;
    e.enabled = false;
    assert_string_equal(alm_principal_over(who, &acl), "the user was disabled");
    e.enabled = true;
    e.ended = 9;
    assert_string_equal(alm_principal_over(who, &acl), "the user was disabled");
    e.ended = 0;
    e.generation = 8;
    assert_string_equal(alm_principal_over(who, &acl), "the user was dropped");
    acl.n_entities = 0;
    assert_string_equal(alm_principal_over(who, &acl), "the user was dropped");
    alm_principal_release(who);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(users_of_before_have_no_moments, begin, end),
        cmocka_unit_test_setup_teardown(users_come_back_with_their_moments, begin, end),
        cmocka_unit_test_setup_teardown(definers_of_before_have_no_generation, begin, end),
        cmocka_unit_test_setup_teardown(definers_come_back_with_their_generation, begin, end),
        cmocka_unit_test_setup_teardown(the_secret_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(logins_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
