/*
 * Method: keys of OpenSSL sign tokens as a provider does, with each algorithm; the same tokens with one thing changed - a letter, the
 * algorithm, the key, its name, its use - are refused. Claims: by a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>

#include "auth/jwt.h"
#include "base/base64.h"

enum { TEXT = 4096 };

static struct {
    const char *alg, *type, *curve, *digest;
    bool pss;
    int half;
    EVP_PKEY *key;
} kinds[] = {
    {"RS256", "RSA", "", "SHA256", false, 0, NULL},
    {"RS384", "RSA", "", "SHA384", false, 0, NULL},
    {"RS512", "RSA", "", "SHA512", false, 0, NULL},
    {"PS256", "RSA", "", "SHA256", true, 0, NULL},
    {"ES256", "EC", "P-256", "SHA256", false, 32, NULL},
    {"ES384", "EC", "P-384", "SHA384", false, 48, NULL},
    {"EdDSA", "OKP", "Ed25519", NULL, false, 0, NULL},
};

static int make_keys(void **state)
{
    (void)state;
    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    for (size_t i = 0; i < ALM_COUNT(kinds); i++) {
        if (strcmp(kinds[i].type, "RSA") == 0) {
            kinds[i].key = rsa;
            (void)EVP_PKEY_up_ref(rsa);
        } else {
            kinds[i].key = kinds[i].half > 0 ? EVP_EC_gen(kinds[i].curve)
                                             : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        }
        assert_non_null(kinds[i].key);
    }
    EVP_PKEY_free(rsa);
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(kinds); i++)
        EVP_PKEY_free(kinds[i].key);
    return 0;
}

static char *put64(char *to, const void *bytes, size_t n)
{
    char *end = to + alm_base64_encode((alm_str){bytes, n}, to);
    while (end > to && end[-1] == '=')
        end--;
    for (char *p = to; p < end; p++)
        *p = (char)(*p == '+' ? '-' : *p == '/' ? '_' : *p);
    *end = 0;
    return end;
}

static char *put_number(char *to, const EVP_PKEY *key, const char *name, int bytes)
{
    uint8_t raw[600];
    BIGNUM *n = NULL;
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &n), 1);
    const int length = bytes > 0 ? BN_bn2binpad(n, raw, bytes) : BN_bn2bin(n, raw);
    BN_free(n);
    return put64(to, raw, (size_t)length);
}

/* The key in the form of a key set's member, with more members behind it. */
static void jwk_of(size_t kind, const char *more, char out[TEXT])
{
    char *at = out + snprintf(out, TEXT, "{\"kty\":\"%s\",\"crv\":\"%s\",\"kid\":\"k%zu\"%s,",
                              kinds[kind].type, kinds[kind].curve, kind, more);
    const EVP_PKEY *key = kinds[kind].key;
    if (strcmp(kinds[kind].type, "RSA") == 0) {
        at = put_number(stpcpy(at, "\"n\":\""), key, OSSL_PKEY_PARAM_RSA_N, 0);
        at = put_number(stpcpy(at, "\",\"e\":\""), key, OSSL_PKEY_PARAM_RSA_E, 0);
    } else if (kinds[kind].half > 0) {
        at = put_number(stpcpy(at, "\"x\":\""), key, OSSL_PKEY_PARAM_EC_PUB_X, kinds[kind].half);
        at = put_number(stpcpy(at, "\",\"y\":\""), key, OSSL_PKEY_PARAM_EC_PUB_Y, kinds[kind].half);
    } else {
        uint8_t raw[32];
        size_t n = sizeof raw;
        assert_int_equal(EVP_PKEY_get_raw_public_key(key, raw, &n), 1);
        at = put64(stpcpy(at, "\"x\":\""), raw, n);
    }
    (void)stpcpy(at, "\"}");
}

static alm_jwk_set *set_of(const char *keys)
{
    static char text[16 * TEXT];
    alm_ctx cx = {0};
    alm_jwk_set *set = NULL;
    (void)snprintf(text, sizeof text, "{\"keys\":[%s]}", keys);
    assert_int_equal(alm_jwk_set_parse(&cx, alm_str_of(text), &set), ALM_OK);
    return set;
}

static size_t to_raw(const uint8_t *der, size_t n, int half, uint8_t *out)
{
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
    assert_non_null(sig);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, half), half);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + half, half), half);
    ECDSA_SIG_free(sig);
    return 2 * (size_t)half;
}

static void sign(size_t kind, const char *header, const char *claims, char out[TEXT])
{
    uint8_t sig[600], raw[100];
    size_t n = sizeof sig;
    EVP_PKEY_CTX *how = NULL;
    char *at = put64(out, header, strlen(header));
    *at++ = '.';
    at = put64(at, claims, strlen(claims));
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(
        EVP_DigestSignInit_ex(ctx, &how, kinds[kind].digest, NULL, NULL, kinds[kind].key, NULL), 1);
    if (kinds[kind].pss) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST), 1);
    }
    assert_int_equal(EVP_DigestSign(ctx, sig, &n, (uint8_t *)out, (size_t)(at - out)), 1);
    EVP_MD_CTX_free(ctx);
    *at++ = '.';
    if (kinds[kind].half > 0)
        (void)put64(at, raw, to_raw(sig, n, kinds[kind].half, raw));
    else
        (void)put64(at, sig, n);
}

static alm_status verify_as(const char *text, const alm_jwk_set *set, alm_jwt_use use,
                            bool *unknown)
{
    alm_ctx cx = {0};
    alm_jwt jwt;
    *unknown = false;
    ALM_TRY(alm_jwt_parse(&cx, alm_str_of(text), &jwt));
    const alm_status st = alm_jwt_verify(&cx, &jwt, set, use, unknown);
    alm_jwt_deinit(&jwt);
    return st;
}

static alm_status verify(const char *text, const alm_jwk_set *set, bool *unknown)
{
    return verify_as(text, set, ALM_JWT_ID, unknown);
}

static void test_uses(void **state)
{
    (void)state;
    static const struct {
        const char *typ;
        bool id, access, logout;
    } rows[] = {{"", true, true, true},
                {",\"typ\":\"JWT\"", true, true, true},
                {",\"typ\":\"application/jwt\"", true, true, true},
                {",\"typ\":\"at+jwt\"", false, true, false},
                {",\"typ\":\"application/AT+JWT\"", false, true, false},
                {",\"typ\":\"logout+jwt\"", false, false, true},
                {",\"typ\":\"application/\"", false, false, false},
                {",\"typ\":\"dpop+jwt\"", false, false, false}};
    char key[TEXT];
    jwk_of(0, ",\"use\":\"sig\"", key);
    alm_jwk_set *set = set_of(key);
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char header[200], text[TEXT];
        bool unknown = false;
        (void)snprintf(header, sizeof header, "{\"alg\":\"RS256\",\"kid\":\"k0\"%s}", rows[i].typ);
        sign(0, header, "{}", text);
        const bool want[] = {rows[i].id, rows[i].access, rows[i].logout};
        for (int use = ALM_JWT_ID; use <= ALM_JWT_LOGOUT; use++)
            if ((verify_as(text, set, (alm_jwt_use)use, &unknown) == ALM_OK) != want[use])
                fail_msg("%s for use %d", rows[i].typ, use);
    }
    alm_jwk_set_release(set);
}

static void test_each_algorithm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALM_COUNT(kinds); i++) {
        char key[TEXT], header[200], text[TEXT], bad[TEXT];
        bool unknown = false;
        jwk_of(i, ",\"use\":\"sig\"", key);
        alm_jwk_set *set = set_of(key);
        assert_int_equal(alm_jwk_set_count(set), 1);
        (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k%zu\"}", kinds[i].alg, i);
        sign(i, header, "{\"sub\":\"x\"}", text);
        assert_int_equal(verify(text, set, &unknown), ALM_OK);
        const size_t n = strlen(text);
        for (size_t at = 0; at < n; at += at > 100 ? 29 : 7) { /* any letter: another token */
            (void)snprintf(bad, sizeof bad, "%s", text);
            bad[at] = bad[at] == 'A' ? 'B' : 'A';
            assert_int_equal(verify(bad, set, &unknown), ALM_E_AUTH);
        }
        for (size_t cut = 1; cut < 20; cut++) {
            (void)snprintf(bad, sizeof bad, "%s", text);
            bad[n - cut] = 0;
            assert_int_equal(verify(bad, set, &unknown), ALM_E_AUTH);
        }
        alm_jwk_set_release(set);
    }
}

static void test_algorithm_is_the_keys(void **state)
{
    (void)state;
    char keys[8 * TEXT] = "", one[TEXT], header[200], text[TEXT];
    for (size_t i = 0; i < ALM_COUNT(kinds); i++) {
        jwk_of(i, "", one);
        (void)stpcpy(stpcpy(keys + strlen(keys), i > 0 ? "," : ""), one);
    }
    alm_jwk_set *set = set_of(keys);
    assert_int_equal(alm_jwk_set_count(set), ALM_COUNT(kinds));
    for (size_t i = 0; i < ALM_COUNT(kinds); i++) {
        bool unknown = false;
        for (size_t k = 0; k < ALM_COUNT(kinds); k++) { /* it says k, i has signed it */
            (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"k%zu\"}", kinds[k].alg,
                           i);
            sign(i, header, "{}", text);
            assert_int_equal(verify(text, set, &unknown), i == k ? ALM_OK : ALM_E_AUTH);
            assert_false(unknown);
        }
        (void)snprintf(header, sizeof header, "{\"alg\":\"%s\"}", kinds[i].alg);
        sign(i, header, "{}", text); /* no name: any key of its kind */
        assert_int_equal(verify(text, set, &unknown), ALM_OK);
        (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"other\"}", kinds[i].alg);
        sign(i, header, "{}", text);
        assert_int_equal(verify(text, set, &unknown), ALM_E_AUTH);
        assert_true(unknown);
    }
    alm_jwk_set_release(set);
}

static void test_headers_that_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"alg\":\"none\",\"kid\":\"k0\"}",
        "{\"alg\":\"HS256\",\"kid\":\"k0\"}",
        "{\"alg\":\"rs256\",\"kid\":\"k0\"}",
        "{\"alg\":\"RS256\",\"kid\":\"k0\",\"crit\":[\"b64\"]}",
        "{\"kid\":\"k0\"}",
        "{\"alg\":[\"RS256\"]}",
        "{\"alg\":\"RS256\",\"alg\":\"RS256\"}",
        "[]",
        "{\"alg\":\"RS256\",\"typ\":\"at+jwt\"}",
        "x",
    };
    char key[TEXT], text[TEXT];
    bool unknown = false;
    jwk_of(0, "", key);
    alm_jwk_set *set = set_of(key);
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        sign(0, bad[i], "{}", text);
        assert_int_equal(verify(text, set, &unknown), ALM_E_AUTH);
    }
    sign(0, "{\"alg\":\"RS256\",\"typ\":\"jwt\"}", "{}", text);
    assert_int_equal(verify(text, set, &unknown), ALM_OK);
    sign(0, "{\"alg\":\"RS256\"}", "[1]", text);
    assert_int_equal(verify(text, set, &unknown), ALM_E_AUTH);
    static const char *const forms[] = {"",    ".",       "..",       "...",
                                        "a.b", "a.b.c.d", "e30.e30.", "e30.e30.e30"};
    for (size_t i = 0; i < ALM_COUNT(forms); i++)
        assert_int_equal(verify(forms[i], set, &unknown), ALM_E_AUTH);
    static char longer[ALM_JWT_BYTES_MAX + 2];
    (void)memset(longer, 'a', sizeof longer - 1);
    assert_int_equal(verify(longer, set, &unknown), ALM_E_AUTH);
    alm_jwk_set_release(set);
}

static void test_key_sets(void **state)
{
    (void)state;
    char key[TEXT], text[TEXT];
    bool unknown = false;
    sign(0, "{\"alg\":\"RS256\",\"kid\":\"k0\"}", "{}", text);
    jwk_of(0, ",\"use\":\"enc\"", key); /* not for signatures */
    alm_jwk_set *set = set_of(key);
    assert_int_equal(alm_jwk_set_count(set), 0);
    alm_jwk_set_release(set);
    jwk_of(0, ",\"alg\":\"PS256\"", key); /* for another algorithm */
    set = set_of(key);
    assert_int_equal(verify(text, set, &unknown), ALM_E_AUTH);
    alm_jwk_set_release(set);
    static const char *const useless[] = {
        "{\"kty\":\"oct\",\"k\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"RSA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQ\",\"y\":\"AQ\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-521\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AQ\"}",
        "{}",
        "7",
        "null",
        "[]"};
    for (size_t i = 0; i < ALM_COUNT(useless); i++) {
        set = set_of(useless[i]);
        assert_int_equal(alm_jwk_set_count(set), 0);
        alm_jwk_set_release(set);
    }
    static const char *const none[] = {
        "", "[]", "{}", "{\"keys\":{}}", "{\"keys\":7}", "{\"keys\":[}"};
    for (size_t i = 0; i < ALM_COUNT(none); i++) {
        alm_ctx cx = {0};
        assert_int_equal(alm_jwk_set_parse(&cx, alm_str_of(none[i]), &set), ALM_E_VALUE);
    }
}

static void test_claims(void **state)
{
    (void)state;
    enum { NOW = 1000000 };
    static const struct {
        const char *claims;
        bool good;
    } rows[] = {
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000001", true},
        {"\"iss\":\"I\",\"aud\":[\"A\"],\"exp\":1000001", true},
        {"\"iss\":\"I\",\"aud\":[\"B\",\"A\"],\"azp\":\"C\",\"exp\":1000001.5", true},
        {"\"iss\":\"I\",\"aud\":[\"B\",\"A\"],\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"azp\":\"D\",\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"azp\":7,\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":[\"B\"],\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":[],\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":{\"A\":1},\"exp\":1000001", false},
        {"\"iss\":\"I\",\"exp\":1000001", false},
        {"\"iss\":\"i\",\"aud\":\"A\",\"exp\":1000001", false},
        {"\"aud\":\"A\",\"exp\":1000001", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000000", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":-1", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":\"1000001\"", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1e300", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":null", false},
        {"\"iss\":\"I\",\"aud\":\"A\"", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000001,\"nbf\":1000030,\"iat\":1000030", true},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000001,\"nbf\":1000031", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000001,\"iat\":1000031", false},
        {"\"iss\":\"I\",\"aud\":\"A\",\"exp\":1000001,\"nbf\":\"x\"", false},
    };
    const alm_jwt_wanted wanted = {.issuer = "I", .audience = "A", .client_id = "C", .now_s = NOW};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char claims[300], text[TEXT];
        alm_ctx cx = {0};
        alm_jwt jwt;
        int64_t expires_s = 0;
        (void)snprintf(claims, sizeof claims, "{%s}", rows[i].claims);
        sign(6, "{\"alg\":\"EdDSA\"}", claims, text);
        assert_int_equal(alm_jwt_parse(&cx, alm_str_of(text), &jwt), ALM_OK);
        const alm_status st = alm_jwt_check(&cx, &jwt, &wanted, &expires_s);
        if ((st == ALM_OK) != rows[i].good)
            fail_msg("%s: %s", rows[i].claims, cx.err.msg);
        if (st == ALM_OK)
            assert_int_equal(expires_s, NOW + 1);
        else
            assert_int_equal(st, ALM_E_AUTH);
        alm_jwt_deinit(&jwt);
    }
}

static void put_hex(const char *hex, char *out)
{
    uint8_t raw[32];
    for (size_t i = 0; i < sizeof raw; i++) {
        unsigned int byte = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        raw[i] = (uint8_t)byte;
    }
    (void)put64(out, raw, sizeof raw);
}

/* Keys by which anybody can sign are none. */
static void test_weak_keys(void **state)
{
    static const char *const exponents[] = {"AQ", "Aw", "EQ", "AQAA", "AAE"};
    static const char *const points[] = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};
    char key[2 * TEXT], token[TEXT], n[TEXT], x[64];
    (void)state;
    (void)put_number(n, kinds[0].key, OSSL_PKEY_PARAM_RSA_N, 0);
    for (size_t i = 0; i < ALM_COUNT(exponents) + ALM_COUNT(points); i++) {
        const bool rsa = i < ALM_COUNT(exponents);
        alm_ctx cx = {0};
        alm_jwt jwt;
        bool unknown = false;
        if (rsa) {
            (void)snprintf(key, sizeof key,
                           "{\"kty\":\"RSA\",\"kid\":\"w\",\"n\":\"%s\",\"e\":\"%s\"}", n,
                           exponents[i]);
        } else {
            put_hex(points[i - ALM_COUNT(exponents)], x);
            (void)snprintf(key, sizeof key,
                           "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"w\",\"x\":\"%s\"}", x);
        }
        sign(rsa ? 0 : 6,
             rsa ? "{\"alg\":\"RS256\",\"kid\":\"w\"}" : "{\"alg\":\"EdDSA\",\"kid\":\"w\"}", "{}",
             token);
        alm_jwk_set *set = set_of(key);
        assert_int_equal(alm_jwt_parse(&cx, alm_str_of(token), &jwt), ALM_OK);
        assert_int_equal(alm_jwt_verify(&cx, &jwt, set, ALM_JWT_ID, &unknown), ALM_E_AUTH);
        if (!unknown)
            fail_msg("a key that is taken: %s", key);
        alm_jwt_deinit(&jwt);
        alm_jwk_set_release(set);
    }
}

/* What a lenient reader takes for the same token is another text. */
static void test_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"eyJhIjoxfQ.e30.AAAA", true},
                {"eyJhIjoxfQ.e30.AAA", true},
                {"eyJhIjoxfQ.e30.AAB", false}, /* bits that mean nothing */
                {"eyJhIjoxfQ.e31.AAAA", false},
                {"eyJhIjoxfQ.e30.AAA=", false},
                {"eyJhIjoxfQ.e30.AA~A", false},
                {"eyJhIjoxfQ.e30.A+/A", false},
                {"eyJhIjoxfQ.e30.AAAAA", false},
                {"eyJhIjoxfQ.e30.", true},
                {"eyJhIjoxfQ..AA.AAA.AAAA", true}, /* encrypted (JWE) */
                {"eyJhIjoxfQ..AB.AAA.AAAA", false},
                {"eyJhIjoxfQ", true},
                {"opaque", true},
                {"a.b.c~", true},
                {"AAAA.e31.AAB", true}, /* no object in front */
                {"", true}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        assert_int_equal(alm_jwt_is_canonical(alm_str_of(rows[i].text)), rows[i].is);
    assert_true(
        alm_str_eq(alm_jwt_signed_part(ALM_STR("eyJhIjoxfQ.e30.AAAA")), ALM_STR("eyJhIjoxfQ.e30")));
    static const char *const none[] = {
        "", "a", "a.b.c", "eyJhIjoxfQ", "eyJhIjoxfQ.e30", "eyJhIjoxfQ.e30.A.A"};
    for (size_t i = 0; i < ALM_COUNT(none); i++)
        assert_null(alm_jwt_signed_part(alm_str_of(none[i])).ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_algorithm),
                                       cmocka_unit_test(test_algorithm_is_the_keys),
                                       cmocka_unit_test(test_headers_that_are_refused),
                                       cmocka_unit_test(test_key_sets),
                                       cmocka_unit_test(test_weak_keys),
                                       cmocka_unit_test(test_claims),
                                       cmocka_unit_test(test_uses),
                                       cmocka_unit_test(test_spellings)};
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
