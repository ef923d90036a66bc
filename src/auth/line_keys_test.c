/* Method: a key of OpenSSL signs a challenge as a client does; what is not its signature, or no file of keys, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include "auth/line_keys.h"
#include "base/base64.h"

static EVP_PKEY *key;
static char file[400]; /* its public part */
static char challenge[ALM_LINE_CHALLENGE];

static void coordinate(const char *name, char *out)
{
    BIGNUM *number = NULL;
    uint8_t bytes[32];
    assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
    assert_int_equal(BN_bn2binpad(number, bytes, 32), 32);
    out[alm_base64_encode((alm_str){(char *)bytes, 32}, out)] = 0;
    for (char *p = out; *p != 0; p++)
        *p = (char)(*p == '+' ? '-' : *p == '/' ? '_' : *p == '=' ? ' ' : *p);
    BN_free(number);
}

static int make_key(void **state)
{
    (void)state;
    char x[80], y[80];
    key = EVP_EC_gen("P-256");
    coordinate(OSSL_PKEY_PARAM_EC_PUB_X, x);
    coordinate(OSSL_PKEY_PARAM_EC_PUB_Y, y);
    (void)snprintf(file, sizeof file, "# keys\n\nme ec-p-256-sha256 %s %s\r\n", x, y);
    for (size_t i = 0; i < sizeof challenge; i++)
        challenge[i] = (char)(i * 37);
    alm_line_challenge(challenge);
    return key == NULL;
}

static int free_key(void **state)
{
    (void)state;
    EVP_PKEY_free(key);
    return 0;
}

/* What a client answers, as base64: r and s of 32 bytes each, or the DER form. */
static size_t sign(bool as_der, char out[100])
{
    unsigned char der[100];
    const unsigned char *at = der;
    uint8_t raw[64];
    size_t n = sizeof der;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, key), 1);
    assert_int_equal(EVP_DigestSign(md, der, &n, (unsigned char *)challenge, sizeof challenge), 1);
    EVP_MD_CTX_free(md);
    if (as_der)
        return alm_base64_encode((alm_str){(char *)der, n}, out);
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &at, (long)n);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + 32, 32), 32);
    ECDSA_SIG_free(sig);
    return alm_base64_encode((alm_str){(char *)raw, 64}, out);
}

static void signatures(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_line_keys *keys = NULL;
    char text[100];
    assert_int_equal(alm_line_keys_read(&cx, alm_str_of(file), "f", &keys), ALM_OK);
    const alm_str der = {text, sign(true, text)};
    assert_true(alm_line_keys_verify(keys, ALM_STR("me"), challenge, der));
    assert_false(alm_line_keys_verify(keys, ALM_STR("you"), challenge, der));
    for (size_t cut = 0; cut + 4 < der.len; cut++)
        assert_false(alm_line_keys_verify(keys, ALM_STR("me"), challenge, (alm_str){text, cut}));
    const alm_str good = {text, sign(false, text)};
    assert_true(alm_line_keys_verify(keys, ALM_STR("me"), challenge, good));
    assert_false(alm_line_keys_verify(keys, ALM_STR("you"), challenge, good));
    assert_false(alm_line_keys_verify(keys, ALM_STR(""), challenge, good));
    for (size_t cut = 0; cut < 86; cut++)
        assert_false(alm_line_keys_verify(keys, ALM_STR("me"), challenge, (alm_str){text, cut}));
    for (size_t i = 0; i < 85; i++) {
        const char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        assert_false(alm_line_keys_verify(keys, ALM_STR("me"), challenge, good));
        text[i] = was;
    }
    challenge[100] ^= 1;
    assert_false(alm_line_keys_verify(keys, ALM_STR("me"), challenge, good));
    alm_line_keys_free(keys);
}

static void bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {{"", "no key"},
                {"# only\n", "no key"},
                {"me", "f line 1: expected"},
                {"\nme rsa x y", "f line 2: expected"},
                {"me ec-p-256-sha256 AAAA", "f line 1: expected"},
                {"me ec-p-256-sha256 AAAA AAAA AAAA", "f line 1: expected"},
                {"me ec-p-256-sha256 AAAA AAAA", "'me' are no point"},
                {"me ec-p-256-sha256 ! !", "'me' are no point"}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        alm_ctx cx = {0};
        alm_line_keys *keys = NULL;
        assert_int_equal(alm_line_keys_read(&cx, alm_str_of(rows[i].text), "f", &keys), ALM_E_ARG);
        assert_non_null(strstr(cx.err.msg, rows[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(signatures), cmocka_unit_test(bad_files)};
    return cmocka_run_group_tests(tests, make_key, free_key);
}
