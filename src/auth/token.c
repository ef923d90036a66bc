/* token.c - see token.h. */
#include "auth/token.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <stdlib.h>

enum { COORDINATE = 32 };

/* Without padding; returns the length. */
static size_t base64url(const uint8_t *input, size_t n, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t to = 0;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = ALM_MIN(n - i, (size_t)3);
        uint32_t value = (uint32_t)input[i] << 16;
        value |= left > 1 ? (uint32_t)input[i + 1] << 8 : 0;
        value |= left > 2 ? input[i + 2] : 0;
        for (size_t k = 0; k <= left; k++)
            out[to++] = digits[value >> (18 - 6 * k) & 63];
    }
    out[to] = 0;
    return to;
}

void alm_rest_token_text(const uint8_t random[ALM_TOKEN_HASH], char text[ALM_TOKEN_TEXT + 1])
{
    memcpy(text, "qt1", 3);
    const size_t n = base64url(random, ALM_TOKEN_HASH, text + 3);
    ALM_ASSERT(n + 3 == ALM_TOKEN_TEXT);
}

alm_status alm_sha256_text(alm_ctx *cx, alm_str text, char hex[ALM_TOKEN_HEX + 1])
{
    uint8_t hash[ALM_TOKEN_HASH];
    unsigned int n = 0;
    if (EVP_Digest(text.ptr, text.len, hash, &n, EVP_sha256(), NULL) != 1)
        return alm_fail(cx, ALM_E_INTERNAL, -1, "SHA-256 failed");
    for (size_t i = 0; i < ALM_TOKEN_HASH; i++) {
        hex[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    hex[ALM_TOKEN_HEX] = 0;
    return ALM_OK;
}

alm_status alm_rest_token_hash(alm_ctx *cx, alm_str text, char hex[ALM_TOKEN_HEX + 1])
{
    return alm_sha256_text(cx, text, hex);
}

bool alm_rest_token_is_one(alm_str text)
{
    return text.len >= 3 && memcmp(text.ptr, "qt1", 3) == 0;
}

bool alm_rest_token_ttl(alm_str text, int64_t *us)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    const int64_t least = 60, most = INT64_C(86400) * 365 * 10;
    int64_t n = 0, seconds = 0;
    if (text.len < 2 || text.len > 10)
        return false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        n = 10 * n + (text.ptr[i] - '0');
    }
    for (size_t i = 0; i < ALM_COUNT(units); i++)
        if (text.ptr[text.len - 1] == units[i].unit)
            seconds = n * units[i].seconds;
    if (seconds < least || seconds > most)
        return false;
    *us = seconds * 1000000;
    return true;
}

static bool number_text(const EVP_PKEY *key, const char *name, char out[ALM_KEY_TEXT])
{
    uint8_t bytes[COORDINATE];
    BIGNUM *n = NULL;
    const bool ok = EVP_PKEY_get_bn_param(key, name, &n) == 1 &&
                    BN_bn2binpad(n, bytes, COORDINATE) == COORDINATE;
    if (ok)
        (void)base64url(bytes, sizeof bytes, out);
    OPENSSL_cleanse(bytes, sizeof bytes);
    BN_clear_free(n);
    return ok;
}

alm_status alm_key_make(alm_ctx *cx, alm_key_texts *out)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    const bool ok = key != NULL && number_text(key, OSSL_PKEY_PARAM_EC_PUB_X, out->x) &&
                    number_text(key, OSSL_PKEY_PARAM_EC_PUB_Y, out->y) &&
                    number_text(key, OSSL_PKEY_PARAM_PRIV_KEY, out->d);
    EVP_PKEY_free(key);
    return ok ? ALM_OK : alm_fail(cx, ALM_E_INTERNAL, -1, "no key could be made");
}

void alm_secret_free(char *secret)
{
    if (secret != NULL)
        OPENSSL_cleanse(secret, strlen(secret));
    free(secret);
}
