/* Method: the exchange of RFC 7677 section 3, and the ways a client can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "auth/scram.h"

static const uint8_t salt[ALM_SCRAM_SALT] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t random_bytes[18] = {42};

static alm_str z(const char *text)
{
    return alm_str_of(text);
}

/* What a client does, written out by the RFC. */
static void client_final(const char *password, const alm_scram *s, char *out, size_t out_size)
{
    uint8_t salted[32], key[32], stored[32], signature[32], proof[32];
    unsigned int n = 0;
    char without[512], auth[4096], text[64] = "";
    assert_int_equal(PKCS5_PBKDF2_HMAC(password, (int)strlen(password), salt, 16,
                                       ALM_SCRAM_ITERATIONS, EVP_sha256(), 32, salted),
                     1);
    assert_non_null(
        HMAC(EVP_sha256(), salted, 32, (const unsigned char *)"Client Key", 10, key, &n));
    assert_int_equal(EVP_Digest(key, 32, stored, &n, EVP_sha256(), NULL), 1);
    (void)snprintf(without, sizeof(without), "c=biws,r=%s", s->nonce);
    (void)snprintf(auth, sizeof(auth), "%s,%s,%s", s->client_first_bare, s->server_first, without);
    assert_non_null(
        HMAC(EVP_sha256(), stored, 32, (unsigned char *)auth, strlen(auth), signature, &n));
    for (int i = 0; i < 32; i++)
        proof[i] = key[i] ^ signature[i];
    (void)EVP_EncodeBlock((unsigned char *)text, proof, 32);
    (void)snprintf(out, out_size, "%s,p=%s", without, text);
}

static alm_status exchange(const char *real, const char *typed, bool known)
{
    alm_ctx cx = {0};
    alm_scram s = {.known = known};
    char message[1024], answer[ALM_SCRAM_MSG_MAX];
    assert_int_equal(alm_scram_verifier_make(&cx, z(real), salt, ALM_SCRAM_ITERATIONS, &s.verifier),
                     ALM_OK);
    assert_int_equal(alm_scram_first(&cx, &s, z("n,,n=,r=abcdefghijklmnopqr"), false, random_bytes),
                     ALM_OK);
    client_final(typed, &s, message, sizeof(message));
    return alm_scram_final(&cx, &s, z(message), answer);
}

static void right_and_wrong_passwords(void **state)
{
    (void)state;
    assert_int_equal(exchange("quest", "quest", true), ALM_OK);
    assert_int_equal(exchange("quest", "Quest", true), ALM_E_AUTH);
    assert_int_equal(exchange("quest", "quest", false), ALM_E_AUTH); /* unknown user */
}

static void nonces_of_clients_may_be_long(void **state)
{
    (void)state;
    for (size_t n = 8; n <= ALM_SCRAM_NONCE_MAX + 1; n += n < 256 ? 31 : 1) {
        alm_ctx cx = {0};
        alm_scram s = {.known = true};
        char nonce[512] = "", first[600], message[1024], answer[ALM_SCRAM_MSG_MAX];
        (void)memset(nonce, '~', n);
        (void)snprintf(first, sizeof(first), "n,,n=,r=%s", nonce);
        assert_int_equal(
            alm_scram_verifier_make(&cx, z("quest"), salt, ALM_SCRAM_ITERATIONS, &s.verifier),
            ALM_OK);
        assert_int_equal(alm_scram_first(&cx, &s, z(first), false, random_bytes),
                         n <= ALM_SCRAM_NONCE_MAX ? ALM_OK : ALM_E_PROTOCOL);
        if (n > ALM_SCRAM_NONCE_MAX)
            break;
        client_final("quest", &s, message, sizeof(message));
        assert_int_equal(alm_scram_final(&cx, &s, z(message), answer), ALM_OK);
    }
}

static void malformed_messages_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "n", "p=tls-unique,,n=,r=abcdefghij", "n,,n=,r=short",
                                      "n,,n=user"};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        alm_ctx cx = {0};
        alm_scram s = {.known = true};
        assert_int_equal(alm_scram_first(&cx, &s, z(bad[i]), false, random_bytes), ALM_E_PROTOCOL);
    }
    alm_ctx cx = {0};
    alm_scram s = {.known = true};
    char answer[ALM_SCRAM_MSG_MAX];
    assert_int_equal(alm_scram_verifier_make(&cx, z("x"), salt, ALM_SCRAM_ITERATIONS, &s.verifier),
                     ALM_OK);
    assert_int_equal(alm_scram_first(&cx, &s, z("n,,n=,r=abcdefghijklmnopqr"), false, random_bytes),
                     ALM_OK);
    assert_int_equal(alm_scram_final(&cx, &s, z("c=biws,r=other,p=AAAA"), answer), ALM_E_PROTOCOL);
}

static void made_up_salts_are_stable(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    static const uint8_t secret[ALM_SCRAM_KEY] = {7};
    alm_scram_verifier a, b, c;
    bool fits = true;
    assert_int_equal(alm_scram_verifier_fake(&cx, secret, z("nobody"), ALM_SCRAM_ITERATIONS, &a),
                     ALM_OK);
    assert_int_equal(alm_scram_verifier_fake(&cx, secret, z("nobody"), ALM_SCRAM_ITERATIONS, &b),
                     ALM_OK);
    assert_int_equal(alm_scram_verifier_fake(&cx, secret, z("other"), ALM_SCRAM_ITERATIONS, &c),
                     ALM_OK);
    assert_memory_equal(a.salt, b.salt, sizeof(a.salt));
    assert_memory_not_equal(a.salt, c.salt, sizeof(a.salt));
    assert_int_equal(alm_scram_check_password(&cx, &a, z("quest"), &fits), ALM_OK);
    assert_false(fits);
    assert_int_equal(alm_scram_verifier_fake(&cx, secret, z("nobody"), 9000, &c), ALM_OK);
    assert_int_equal(c.iterations, 9000);
    assert_memory_not_equal(a.salt, c.salt, sizeof(a.salt));
}

/* Names that nobody has are spread over the rounds as users are; one user more changes few of them. */
static void made_up_rounds(void **state)
{
    enum { NAMES = 4000 };
    static const uint8_t secret[ALM_SCRAM_KEY] = {9};
    const alm_rounds one[] = {{4096, 3}};
    const alm_rounds before[] = {{4096, 60}, {8192, 30}, {600000, 10}};
    const alm_rounds after[] = {{600000, 11}, {4096, 60}, {8192, 30}};
    int n[3] = {0, 0, 0}, changed = 0;
    alm_ctx cx = {0};
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        char name[20];
        int32_t a = 0, again = 0, b = 0, only = 0;
        (void)snprintf(name, sizeof name, "name%d", i);
        assert_int_equal(alm_scram_fake_rounds(&cx, secret, z(name), one, 1, &only), ALM_OK);
        assert_int_equal(only, 4096);
        assert_int_equal(alm_scram_fake_rounds(&cx, secret, z(name), before, 3, &a), ALM_OK);
        assert_int_equal(alm_scram_fake_rounds(&cx, secret, z(name), before, 3, &again), ALM_OK);
        assert_int_equal(a, again);
        assert_int_equal(alm_scram_fake_rounds(&cx, secret, z(name), after, 3, &b), ALM_OK);
        assert_true(a == b || b == 600000);
        changed += a != b;
        n[a == 4096 ? 0 : a == 8192 ? 1 : 2]++;
    }
    assert_in_range(n[0], NAMES * 56 / 100, NAMES * 64 / 100);
    assert_in_range(n[1], NAMES * 26 / 100, NAMES * 34 / 100);
    assert_in_range(n[2], NAMES * 7 / 100, NAMES * 13 / 100);
    assert_in_range(changed, 1, NAMES * 3 / 100);
}

/* The client has to name the channel it sees; c= stands for header and binding together. */
static void channel_binding(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        bool bound;
        alm_status want;
        const char *bound_text;
    } cases[] = {
        {"p=tls-server-end-point,,n=,r=abcdefghijkl", true, ALM_OK,
         "cD10bHMtc2VydmVyLWVuZC1wb2ludCwsSEFTSA=="},
        {"n,,n=,r=abcdefghijkl", false, ALM_OK, "biws"},
        {"y,,n=,r=abcdefghijkl", false, ALM_E_PROTOCOL, NULL}, /* it was offered */
        {"n,,n=,r=abcdefghijkl", true, ALM_E_PROTOCOL, NULL},
        {"p=tls-unique,,n=,r=abcdefghijkl", true, ALM_E_PROTOCOL, NULL},
        {"p=tls-server-end-point,,n=,r=abcdefghijkl", false, ALM_E_PROTOCOL, NULL},
    };
    for (size_t i = 0; i < ALM_COUNT(cases); i++) {
        alm_ctx cx = {0};
        alm_scram s = {.known = true, .binding = ALM_STR("HASH")};
        assert_int_equal(
            alm_scram_first(&cx, &s, z(cases[i].message), cases[i].bound, random_bytes),
            cases[i].want);
        if (cases[i].bound_text != NULL)
            assert_string_equal(s.bound, cases[i].bound_text);
    }
    alm_ctx cx = {0};
    alm_scram without = {.known = true};
    assert_int_equal(alm_scram_first(&cx, &without, z("y,,n=,r=abcdefghijkl"), false, random_bytes),
                     ALM_OK);
    char header[400] = "n,a=", *end = header + 4;
    (void)memset(end, 'x', 300);
    (void)memcpy(end + 300, ",n=,r=abcdefghijkl", 19);
    assert_int_equal(alm_scram_first(&cx, &without, z(header), false, random_bytes),
                     ALM_E_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_and_wrong_passwords),
                                       cmocka_unit_test(nonces_of_clients_may_be_long),
                                       cmocka_unit_test(malformed_messages_are_refused),
                                       cmocka_unit_test(channel_binding),
                                       cmocka_unit_test(made_up_salts_are_stable),
                                       cmocka_unit_test(made_up_rounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
