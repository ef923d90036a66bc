/* Method: the cache against its limits, end points from settings and documents, forms of tokens. Calls: test/oidc/oidc_test.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/oidc_state.h"

static void key_of(uint32_t n, uint8_t key[ALM_OIDC_HASH])
{
    (void)memset(key, 0, ALM_OIDC_HASH);
    (void)memcpy(key + 4, &n, sizeof n);
}

static alm_principal *person(const char *name, size_t group_bytes)
{
    alm_ctx cx = {0};
    alm_principal *who = NULL;
    char *group = calloc(1, group_bytes + 1);
    (void)memset(group, 'g', group_bytes);
    const char *const groups[] = {group};
    assert_int_equal(
        alm_principal_new(&cx, ALM_PRINCIPAL_EXTERNAL, alm_str_of(name), groups, 1, &who), ALM_OK);
    free(group);
    return who;
}

static alm_oidc_entry *add(alm_oidc_cache *cache, uint32_t n, alm_oidc_state state, size_t bytes)
{
    uint8_t key[ALM_OIDC_HASH];
    key_of(n, key);
    alm_oidc_entry *e = alm_oidc_cache_add(cache, key);
    if (state == ALM_OIDC_IS_KNOWN) {
        e->who = person("x", bytes);
        e->has_identity = true;
    }
    if (state != ALM_OIDC_IS_PENDING)
        alm_oidc_cache_move(cache, e, state);
    return e;
}

static alm_oidc_cache *cache_new(void)
{
    alm_oidc_cache *cache = calloc(1, sizeof *cache);
    cache->seed = 7;
    assert_true(alm_oidc_cache_init(cache));
    return cache;
}

static alm_oidc_entry *find(alm_oidc_cache *cache, uint32_t n)
{
    uint8_t key[ALM_OIDC_HASH];
    key_of(n, key);
    return alm_oidc_cache_find(cache, key);
}

static void test_who_goes(void **state)
{
    (void)state;
    alm_oidc_cache *cache = cache_new();
    alm_oidc_entry *pending = add(cache, 1000000, ALM_OIDC_IS_PENDING, 0);
    for (uint32_t i = 0; i < ALM_OIDC_KNOWN_MAX; i++)
        (void)add(cache, i, ALM_OIDC_IS_KNOWN, 1);
    alm_oidc_cache_move(cache, find(cache, 0), ALM_OIDC_IS_KNOWN); /* used */
    (void)add(cache, ALM_OIDC_KNOWN_MAX, ALM_OIDC_IS_KNOWN, 1);
    assert_non_null(find(cache, 0));
    const alm_oidc_entry *gone = find(cache, 1); /* the one that was used least lately */
    assert_true(gone->state == ALM_OIDC_IS_PAST && gone->who == NULL);
    assert_int_equal(cache->lists[ALM_OIDC_IS_PAST].n, 1);
    for (uint32_t i = 0; i <= 2 * ALM_OIDC_REFUSED_MAX; i++)
        (void)add(cache, 2000000 + i, ALM_OIDC_IS_REFUSED, 0);
    assert_int_equal(cache->lists[ALM_OIDC_IS_REFUSED].n, ALM_OIDC_REFUSED_MAX);
    assert_int_equal(cache->lists[ALM_OIDC_IS_KNOWN].n,
                     ALM_OIDC_KNOWN_MAX); /* made-up tokens drive out nobody */
    assert_ptr_equal(find(cache, 1000000), pending);
    alm_oidc_cache_clear(cache);
    assert_int_equal(cache->lists[ALM_OIDC_IS_KNOWN].n + cache->lists[ALM_OIDC_IS_REFUSED].n, 0);
    assert_int_equal(cache->bytes, 0);
    assert_int_equal(cache->lists[ALM_OIDC_IS_PAST].n, ALM_OIDC_KNOWN_MAX + 1);
    assert_true(pending->forgotten);
    alm_oidc_cache_drop(cache, pending);
    alm_oidc_cache_deinit(cache);
    free(cache);
}

static void test_bytes(void **state)
{
    (void)state;
    enum { EACH = 4000 };
    alm_oidc_cache *cache = cache_new();
    const uint32_t n = 2 * ALM_OIDC_BYTES_MAX / EACH;
    for (uint32_t i = 0; i < ALM_MIN(n, (uint32_t)ALM_OIDC_KNOWN_MAX); i++)
        (void)add(cache, i, ALM_OIDC_IS_KNOWN, 2 * EACH > 4096 ? 4096 : EACH);
    (void)add(cache, n, ALM_OIDC_IS_KNOWN, 4096);
    assert_true(cache->bytes <= ALM_OIDC_BYTES_MAX);
    assert_non_null(find(cache, n));
    alm_oidc_cache_deinit(cache);
    free(cache);
}

static alm_oidc_entry *add_of(alm_oidc_cache *cache, uint32_t n, uint8_t user)
{
    uint8_t key[ALM_OIDC_HASH];
    key_of(n, key);
    alm_oidc_entry *e = alm_oidc_cache_add(cache, key);
    e->who = person("x", 1);
    e->has_identity = true;
    e->identity[0] = user;
    alm_oidc_cache_move(cache, e, ALM_OIDC_IS_KNOWN);
    return e;
}

/* One user with more tokens than there are places drives out his own, whatever others have used since. */
static void test_one_user_has_many(void **state)
{
    (void)state;
    alm_oidc_cache *cache = cache_new();
    (void)add_of(cache, 0, 1);
    for (uint32_t i = 1; i <= ALM_OIDC_KNOWN_MAX + ALM_OIDC_PAST_MAX + 10; i++)
        (void)add_of(cache, i, 2);
    assert_int_equal(find(cache, 0)->state, ALM_OIDC_IS_KNOWN);
    assert_null(find(cache, 1));
    assert_int_equal(cache->lists[ALM_OIDC_IS_KNOWN].n, ALM_OIDC_KNOWN_MAX);
    assert_int_equal(cache->lists[ALM_OIDC_IS_PAST].n, ALM_OIDC_PAST_MAX);
    alm_oidc_cache_leave(cache, find(cache, 0)); /* nor among those whose answer is gone */
    assert_int_equal(find(cache, 0)->state, ALM_OIDC_IS_PAST);
    for (uint32_t i = 0; i < 10; i++)
        (void)add_of(cache, ALM_OIDC_KNOWN_MAX + ALM_OIDC_PAST_MAX + 11 + i, 2);
    assert_non_null(find(cache, 0));
    alm_oidc_cache_deinit(cache);
    free(cache);
}

/* A password is no token: nothing of it stays. */
static void test_what_leaves(void **state)
{
    (void)state;
    alm_oidc_cache *cache = cache_new();
    add_of(cache, 1, 1)->ropc = true;
    (void)add_of(cache, 2, 1);
    (void)add(cache, 3, ALM_OIDC_IS_REFUSED, 0); /* never known */
    alm_oidc_cache_move(cache, find(cache, 2), ALM_OIDC_IS_REFUSED);
    alm_oidc_cache_clear(cache);
    assert_true(find(cache, 1) == NULL && find(cache, 3) == NULL);
    assert_int_equal(find(cache, 2)->state, ALM_OIDC_IS_PAST);
    alm_oidc_cache_deinit(cache);
    free(cache);
}

/* ------------------------------------------------------------------------- log-outs */

static alm_oidc *house(void)
{
    alm_oidc *o = calloc(1, sizeof *o);
    o->cache = cache_new();
    assert_true(alm_oidc_notes_init(&o->logouts, 100, true));
    return o;
}

static void house_free(alm_oidc *o)
{
    alm_oidc_cache_deinit(o->cache);
    free(o->cache);
    alm_oidc_notes_deinit(&o->logouts);
    free(o);
}

static alm_oidc_note *put(alm_oidc *o, uint8_t key, uint8_t owner, int64_t now_ns)
{
    const uint8_t key_bytes[ALM_OIDC_HASH] = {key}, owner_bytes[ALM_OIDC_HASH] = {owner};
    return alm_oidc_notes_put(&o->logouts, key_bytes, owner_bytes, 1000, now_ns);
}

/* Of whom, begun when, issued when, in which session (0: none). */
static bool is_out(const alm_oidc *o, uint8_t user, int64_t began_ns, int64_t issued_s,
                   uint8_t session)
{
    const alm_oidc_entry e = {.has_identity = true,
                              .identity = {user},
                              .has_session = session != 0,
                              .session = {session},
                              .began_ns = began_ns,
                              .issued_s = issued_s};
    return alm_oidc_is_out(o, &e);
}

static void test_who_is_out(void **state)
{
    (void)state;
    alm_oidc *o = house();
    put(o, 1, 1, 50)->all = (alm_oidc_moment){.at_s = 1000, .at_ns = 50};
    put(o, 2, 2, 50)->anonymous = (alm_oidc_moment){.at_s = 1000, .at_ns = 50};
    put(o, 200, 2, 50)->all = (alm_oidc_moment){.at_s = 1000, .at_ns = 50};
    static const struct {
        uint8_t user;
        int64_t began_ns, issued_s;
        uint8_t session;
        bool out;
    } rows[] = {{1, 50, 0, 0, true},     {1, 51, 0, 0, false},
                {1, 51, 1000, 0, true},                          /* seen later, issued before */
                {1, 51, 1001, 0, false}, {1, 40, 1030, 0, true}, /* clocks that differ */
                {1, 40, 1031, 0, false},                         /* the log-out came late */
                {1, 50, 0, 9, true},     {2, 50, 0, 0, true},
                {2, 50, 0, 9, false}, /* another session */
                {2, 50, 0, 200, true},   {2, 51, 0, 200, false},
                {3, 1, 1, 0, false}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        assert_int_equal(
            is_out(o, rows[i].user, rows[i].began_ns, rows[i].issued_s, rows[i].session),
            rows[i].out);
    house_free(o);
}

/* Who logs out often gives up his own sessions, and what he began before their end is over; with one for each there is no room. */
static void test_room_for_log_outs(void **state)
{
    (void)state;
    alm_oidc *o = house();
    const alm_oidc_moment at = {.at_s = 1000, .at_ns = 10};
    put(o, 255, 255, 10)->all = at;
    for (uint8_t i = 0; i < 150; i++) {
        alm_oidc_note *user = put(o, 1, 1, 20 + i),
                      *session = put(o, (uint8_t)(100 + i), 1, 20 + i);
        assert_true(user != NULL && session != NULL);
        alm_oidc_notes_touch(&o->logouts, user);
        session->all = (alm_oidc_moment){.at_s = 2000 + i, .at_ns = 20 + i};
    }
    assert_int_equal(o->logouts.share.n, 100);
    assert_true(is_out(o, 255, 10, 0, 0));
    assert_true(is_out(o, 1, 200, 2149, 249) && is_out(o, 1, 200, 2000, 100));
    assert_true(is_out(o, 1, 1, 2000, 99)); /* not that session, but before one that is forgotten */
    assert_false(is_out(o, 1, 200, 2149, 99));
    house_free(o);
    o = house();
    for (uint8_t i = 0; i < 100; i++)
        put(o, i, i, 10)->all = at;
    assert_null(put(o, 100, 100, 1010)); /* all are kept for their time */
    assert_non_null(put(o, 0, 0, 1010));
    assert_non_null(put(o, 100, 100, 1011));
    assert_true(is_out(o, 0, 10, 0, 0) && !is_out(o, 1, 10, 0, 0));
    house_free(o);
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"a", true},          {"a.b-c_d~e+f/g==", true},
                {"", false},          {"=", false},
                {"a=b", false},       {"a b", false},
                {"a\r\nX: y", false}, {"a\"b", false},
                {"\xc3\xb6", false},  {"a,b", false}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        assert_int_equal(alm_oidc_is_token(alm_str_of(rows[i].text)), rows[i].is);
    assert_false(alm_oidc_is_token((alm_str){"a\0b", 3}));
    char *longest = malloc(ALM_OIDC_TOKEN_MAX + 1);
    (void)memset(longest, 'a', ALM_OIDC_TOKEN_MAX + 1);
    assert_true(alm_oidc_is_token((alm_str){longest, ALM_OIDC_TOKEN_MAX}));
    assert_false(alm_oidc_is_token((alm_str){longest, ALM_OIDC_TOKEN_MAX + 1}));
    free(longest);
}

static void conf_of(const char *text, alm_conf *conf)
{
    alm_ctx cx = {0};
    const alm_conf_input input = {.text = alm_str_of(text), .file = "server.conf"};
    assert_int_equal(alm_conf_init(&cx, conf), ALM_OK);
    assert_int_equal(alm_conf_read(&cx, conf, &input), ALM_OK);
}

static void test_single_end_points(void **state)
{
    (void)state;
    alm_conf conf;
    alm_oidc_endpoints at;
    conf_of("acl.oidc.host=id.example\nacl.oidc.token.endpoint=https://t.example/x", &conf);
    alm_oidc_endpoints_of_conf(&conf, &at);
    assert_true(at.known);
    assert_string_equal(at.authorization, "https://id.example/as/authorization.oauth2");
    assert_string_equal(at.token, "https://t.example/x");
    assert_string_equal(at.userinfo, "https://id.example/idp/userinfo.openid");
    assert_string_equal(at.device, "");
    alm_conf_deinit(&conf);
    conf_of("acl.oidc.host=h\nacl.oidc.port=81\nacl.oidc.tls.enabled=false", &conf);
    alm_oidc_endpoints_of_conf(&conf, &at);
    assert_string_equal(at.keys, "http://h:81/pf/JWKS");
    alm_conf_deinit(&conf);
}

#define DOCUMENT(issuer, token)                                                                    \
    "{\"issuer\":\"" issuer                                                                        \
    "\",\"authorization_endpoint\":\"https://h/a\",\"token_endpoint\":\"" token                    \
    "\",\"userinfo_endpoint\":\"https://h/u\"}"

static void test_discovery(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_conf conf;
    alm_oidc_endpoints at;
    conf_of("acl.oidc.configuration.url=https://h/d/.well-known/openid-configuration\n"
            "acl.oidc.userinfo.endpoint=/mine",
            &conf);
    alm_oidc_endpoints_of_conf(&conf, &at);
    assert_false(at.known);
    assert_int_equal(alm_oidc_endpoints_of_json(
                         &cx, &conf, alm_str_of(DOCUMENT("https://h", "https://h/t")), &at),
                     ALM_OK);
    assert_true(at.known);
    assert_string_equal(at.issuer, "https://h");
    assert_string_equal(at.authorization, "https://h/a");
    assert_string_equal(at.userinfo, "https://h/mine"); /* what is set counts */
    assert_false(alm_oidc_issuer_fits(&at, conf.acl_oidc_configuration_url));
    assert_true(alm_oidc_issuer_fits(&at, "https://h/.well-known/openid-configuration"));
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        DOCUMENT("https://h", "http://h/t"), /* no way down from TLS */
        DOCUMENT("https://h", "javascript:x"),
        DOCUMENT("h", "https://h/t"),
        DOCUMENT("https://h", "https://u:p@h/t"),
        DOCUMENT("https://h", "https://h /t")};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        alm_error_clear(&cx);
        alm_oidc_endpoints_of_conf(&conf, &at);
        assert_int_equal(alm_oidc_endpoints_of_json(&cx, &conf, alm_str_of(bad[i]), &at),
                         ALM_E_VALUE);
        assert_false(at.known);
    }
    alm_conf_deinit(&conf);
}

/* What a document of that issuer is for ID tokens, and for others. */
static alm_status document_of(const char *settings, const char *json, alm_oidc_endpoints *at)
{
    alm_ctx cx = {0};
    alm_conf conf;
    conf_of(settings, &conf);
    alm_oidc_endpoints_of_conf(&conf, at);
    const alm_status st = alm_oidc_endpoints_of_json(&cx, &conf, alm_str_of(json), at);
    alm_conf_deinit(&conf);
    return st;
}

#define AT        "acl.oidc.configuration.url=https://h/d/.well-known/openid-configuration"
#define ID_TOKENS "\nacl.oidc.groups.encoded.in.token=true\nacl.oidc.public.keys.endpoint=/keys"

static void test_issuer(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *issuer;
        bool good;
    } rows[] = {
        {AT, "https://h/d", true},
        {AT, "https://other", true}, /* a warning */
        {AT ID_TOKENS, "https://h/d", true},
        {AT ID_TOKENS, "https://h/d/", true}, /* a '/' at its end is not in the address */
        {AT ID_TOKENS, "https://h", false},
        {AT ID_TOKENS, "https://h/d/x", false},
        {AT ID_TOKENS, "https://H/d", false},
        {AT ID_TOKENS, "http://h/d", false},
        {AT "?appid=1" ID_TOKENS, "https://h/d", true},
        {AT "/more" ID_TOKENS, "https://h/d", false},
        {AT "\nacl.oidc.issuer=https://outside" ID_TOKENS, "https://outside", true},
        {AT "\nacl.oidc.issuer=https://outside" ID_TOKENS, "https://outside/", false},
        {AT "\nacl.oidc.issuer=https://outside" ID_TOKENS, "https://h/d", false},
        {AT "\nacl.oidc.issuer=https://outside", "https://h/d", false},
    };
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_oidc_endpoints at;
        char json[400];
        (void)snprintf(json, sizeof json,
                       "{\"issuer\":\"%s\",\"authorization_endpoint\":\"https://h/a\","
                       "\"token_endpoint\":\"https://h/t\",\"userinfo_endpoint\":\"https://h/u\"}",
                       rows[i].issuer);
        assert_int_equal(document_of(rows[i].settings, json, &at),
                         rows[i].good ? ALM_OK : ALM_E_VALUE);
        assert_int_equal(at.known, rows[i].good);
    }
    alm_conf conf; /* without a document, the setting alone */
    alm_oidc_endpoints at;
    conf_of("acl.oidc.host=h\nacl.oidc.issuer=https://outside", &conf);
    alm_oidc_endpoints_of_conf(&conf, &at);
    assert_string_equal(at.issuer, "https://outside");
    alm_conf_deinit(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_goes),
                                       cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_one_user_has_many),
                                       cmocka_unit_test(test_what_leaves),
                                       cmocka_unit_test(test_who_is_out),
                                       cmocka_unit_test(test_room_for_log_outs),
                                       cmocka_unit_test(test_tokens),
                                       cmocka_unit_test(test_single_end_points),
                                       cmocka_unit_test(test_discovery),
                                       cmocka_unit_test(test_issuer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
