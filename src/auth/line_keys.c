/*
 * line_keys.c - the file of public keys, and signatures by them (FIPS 186-4, by OpenSSL).
 */
#include "auth/line_keys.h"

#include <stdlib.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/base64.h"

enum { COORDINATE = 32, TEXT_MAX = 128, POINT = 1 + 2 * COORDINATE };

typedef struct line_key {
    char kid[ALM_LINE_KID_MAX + 1];
    EVP_PKEY *key;
} line_key;

struct alm_line_keys {
    line_key *rows;
    size_t n;
};

/* ------------------------------------------------------------------------ the file */

/* The next word of the line; empty: there is none. */
static alm_str line_keys_word_of(alm_str *line)
{
    while (line->len > 0 && (line->ptr[0] == ' ' || line->ptr[0] == '\t'))
        *line = (alm_str){line->ptr + 1, line->len - 1};
    alm_str word = {line->ptr, 0};
    while (word.len < line->len && line->ptr[word.len] != ' ' && line->ptr[word.len] != '\t' &&
           line->ptr[word.len] != '\r')
        word.len++;
    *line = (alm_str){line->ptr + word.len, line->len - word.len};
    return word;
}

/* Base64url of at most 32 bytes, highest first, filled up in front. */
static bool coordinate(alm_str text, uint8_t out[COORDINATE])
{
    char plain[TEXT_MAX];
    uint8_t bytes[TEXT_MAX];
    size_t n = 0;
    if (text.len == 0 || text.len > TEXT_MAX / 2)
        return false;
    for (size_t i = 0; i < text.len; i++)
        plain[i] = (char)(text.ptr[i] == '-' ? '+' : text.ptr[i] == '_' ? '/' : text.ptr[i]);
    if (!alm_base64_decode((alm_str){plain, text.len}, bytes, &n) || n > COORDINATE)
        return false;
    memset(out, 0, COORDINATE);
    memcpy(out + COORDINATE - n, bytes, n);
    return true;
}

/* NULL: the point is not on the curve, or no memory. */
static EVP_PKEY *public_key(alm_str x, alm_str y)
{
    uint8_t point[POINT] = {POINT_CONVERSION_UNCOMPRESSED};
    char group[] = "P-256";
    EVP_PKEY *key = NULL;
    if (!coordinate(x, point + 1) || !coordinate(y, point + 1 + COORDINATE))
        return NULL;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point),
        OSSL_PARAM_construct_end()};
    EVP_PKEY_CTX *make = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (make == NULL || EVP_PKEY_fromdata_init(make) != 1 ||
        EVP_PKEY_fromdata(make, &key, EVP_PKEY_PUBLIC_KEY, (OSSL_PARAM *)(uintptr_t)params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(make);
    return key;
}

static alm_status line_add_key(alm_ctx *cx, alm_line_keys *keys, alm_str line, const char *file,
                               size_t number)
{
    const alm_str kid = line_keys_word_of(&line), kind = line_keys_word_of(&line),
                  x = line_keys_word_of(&line), y = line_keys_word_of(&line);
    if (kid.len == 0 || kid.ptr[0] == '#')
        return ALM_OK;
    if (kid.len > ALM_LINE_KID_MAX)
        return alm_fail(cx, ALM_E_ARG, -1, "%s line %zu: a name of more than %d bytes", file,
                        number, ALM_LINE_KID_MAX);
    if (!alm_str_eq(kind, ALM_STR("ec-p-256-sha256")) || y.len == 0 ||
        line_keys_word_of(&line).len > 0)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "%s line %zu: expected a name, 'ec-p-256-sha256' and the two coordinates "
                        "of a public key",
                        file, number);
    line_key *bigger = realloc(keys->rows, (keys->n + 1) * sizeof *bigger);
    if (bigger == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    keys->rows = bigger;
    line_key *row = &keys->rows[keys->n];
    *row = (line_key){.key = public_key(x, y)};
    if (row->key == NULL)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "%s line %zu: the coordinates of '%.*s' are no point of P-256 in base64url",
                        file, number, (int)kid.len, kid.ptr);
    memcpy(row->kid, kid.ptr, kid.len);
    keys->n++;
    return ALM_OK;
}

alm_status alm_line_keys_read(alm_ctx *cx, alm_str text, const char *file, alm_line_keys **out)
{
    alm_line_keys *keys = calloc(1, sizeof *keys);
    if (keys == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    alm_status status = ALM_OK;
    size_t number = 0;
    for (size_t offset = 0; status == ALM_OK && offset < text.len;) {
        const char *line_end = memchr(text.ptr + offset, '\n', text.len - offset);
        const size_t end = line_end != NULL ? (size_t)(line_end - text.ptr) : text.len;
        status = line_add_key(cx, keys, (alm_str){text.ptr + offset, end - offset}, file, ++number);
        offset = end + 1;
    }
    if (status == ALM_OK && keys->n == 0)
        status = alm_fail(cx, ALM_E_ARG, -1, "%s: no key is in it", file);
    if (status != ALM_OK) {
        alm_line_keys_free(keys);
        return status;
    }
    *out = keys;
    return ALM_OK;
}

void alm_line_keys_free(alm_line_keys *keys)
{
    if (keys == NULL)
        return;
    for (size_t i = 0; i < keys->n; i++)
        EVP_PKEY_free(keys->rows[i].key);
    free(keys->rows);
    free(keys);
}

/* ------------------------------------------------------------------------ the exchange */

void alm_line_challenge(char bytes[ALM_LINE_CHALLENGE])
{
    for (size_t i = 0; i < ALM_LINE_CHALLENGE;
         i++) /* 64 letters: no byte is likelier than others */
        bytes[i] = (char)('0' + ((uint8_t)bytes[i] & 63));
}

/* r and s as the DER form that OpenSSL reads; its length, 0: they are none. */
static int der_of(const uint8_t raw[2 * COORDINATE], unsigned char **out)
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, COORDINATE, NULL),
           *s = BN_bin2bn(raw + COORDINATE, COORDINATE, NULL);
    int n = 0;
    *out = NULL;
    if (sig != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(sig, r, s) == 1) {
        n = i2d_ECDSA_SIG(sig, out);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(sig);
    return ALM_MAX(n, 0);
}

static bool verify_der(EVP_PKEY *key, const char *challenge, const uint8_t *der, size_t n)
{
    EVP_MD_CTX *CTX = EVP_MD_CTX_new();
    const bool good =
        CTX != NULL && EVP_DigestVerifyInit(CTX, NULL, EVP_sha256(), NULL, key) == 1 &&
        EVP_DigestVerify(CTX, der, n, (const unsigned char *)challenge, ALM_LINE_CHALLENGE) == 1;
    EVP_MD_CTX_free(CTX);
    return good;
}

/* Some clients send r and s as they are, some the DER form. */
static bool line_keys_verify(EVP_PKEY *key, const char *challenge, const uint8_t *bytes, size_t n)
{
    unsigned char *der = NULL;
    if (n != 2 * (size_t)COORDINATE)
        return verify_der(key, challenge, bytes, n);
    const int len = der_of(bytes, &der);
    const bool good = len > 0 && verify_der(key, challenge, der, (size_t)len);
    OPENSSL_free(der);
    return good;
}

bool alm_line_keys_verify(const alm_line_keys *keys, alm_str kid,
                          const char challenge[ALM_LINE_CHALLENGE], alm_str signature)
{
    uint8_t bytes[TEXT_MAX];
    size_t n = 0;
    const line_key *found = NULL;
    for (size_t i = 0; i < keys->n; i++)
        if (alm_str_eq(alm_str_of(keys->rows[i].kid), kid))
            found = &keys->rows[i];
    if (signature.len > TEXT_MAX || !alm_base64_decode(signature, bytes, &n))
        return false;
    const bool good =
        line_keys_verify(found != NULL ? found->key : keys->rows[0].key, challenge, bytes, n);
    return good && found != NULL;
}

bool alm_line_key_verify(alm_str x, alm_str y, const char challenge[ALM_LINE_CHALLENGE],
                         alm_str signature)
{
    /* the base point of P-256: nobody's key */
    static const alm_str base_x = ALM_STR("axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY");
    static const alm_str base_y = ALM_STR("T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU");
    uint8_t bytes[TEXT_MAX];
    size_t n = 0;
    const bool there = x.len > 0;
    if (signature.len > TEXT_MAX || !alm_base64_decode(signature, bytes, &n))
        return false;
    EVP_PKEY *key = public_key(there ? x : base_x, there ? y : base_y);
    const bool good = key != NULL && line_keys_verify(key, challenge, bytes, n);
    EVP_PKEY_free(key);
    return good && there;
}
