/* jwt.c - see jwt.h. Signatures are OpenSSL's, reached by its provider interface alone. */
#include "auth/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdlib.h>

#include "base/base64.h"

enum {
    LEEWAY_S = 30,
    NUMBER_BYTES = 1024,
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    POINT_MAX = 48
};

typedef struct algorithm {
    const char *name, *type, *curve; /* kty, crv of the key; curve "": of no kind */
    const char *digest;              /* NULL: the algorithm has its own */
    bool pss;
    size_t half; /* bytes of each of the two numbers of a signature; 0: it is one */
} algorithm;

static const algorithm ALGORITHMS[] = {
    {"RS256", "RSA", "", "SHA256", false, 0},      {"RS384", "RSA", "", "SHA384", false, 0},
    {"RS512", "RSA", "", "SHA512", false, 0},      {"PS256", "RSA", "", "SHA256", true, 0},
    {"ES256", "EC", "P-256", "SHA256", false, 32}, {"ES384", "EC", "P-384", "SHA384", false, 48},
    {"EdDSA", "OKP", "Ed25519", NULL, false, 0},
};

typedef struct jwk {
    EVP_PKEY *key;
    const char *type, *curve;
    alm_str kid, alg; /* of the document; ptr NULL: not said */
} jwk;

struct alm_jwk_set {
    _Atomic uint32_t refs;
    alm_json *document;
    size_t n;
    jwk keys[ALM_JWK_MAX];
};

static alm_status jwt_refuse(alm_ctx *cx, const char *why)
{
    return alm_fail(cx, ALM_E_AUTH, -1, "%s", why);
}

/* ---------------------------------------------------------------------------- keys */

static BIGNUM *jwt_number_of(const alm_json *key, const char *name)
{
    uint8_t bytes[NUMBER_BYTES + 4];
    size_t n = 0;
    const alm_str text = alm_json_text(alm_json_get(key, name));
    if (text.len == 0 || text.len > NUMBER_BYTES / 3 * 4 || !alm_base64url_decode(text, bytes, &n))
        return NULL;
    return BN_bin2bn(bytes, (int)n, NULL);
}

static EVP_PKEY *key_from(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *rsa_key(const alm_json *json)
{
    BIGNUM *n = jwt_number_of(json, "n"), *e = jwt_number_of(json, "e");
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (n != NULL && e != NULL && build != NULL && BN_num_bits(n) >= RSA_BITS_MIN &&
        BN_num_bits(n) <= RSA_BITS_MAX && BN_is_odd(n) && BN_num_bits(e) <= 64 && BN_is_odd(e) &&
        BN_num_bits(e) > 16 && /* 65537 at least (FIPS 186-5): by e = 1 anybody can sign */
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        key = key_from("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(n);
    BN_free(e);
    return key;
}

/* The point is on the curve, or it is no key. */
static EVP_PKEY *ec_key(const alm_json *json, size_t half, const char *group)
{
    uint8_t point[1 + 2 * POINT_MAX] = {4}; /* not compressed */
    BIGNUM *x = jwt_number_of(json, "x"), *y = jwt_number_of(json, "y");
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (x != NULL && y != NULL && build != NULL &&
        BN_bn2binpad(x, point + 1, (int)half) == (int)half &&
        BN_bn2binpad(y, point + 1 + half, (int)half) == (int)half &&
        OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * half) == 1)
        key = key_from("EC", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(x);
    BN_free(y);
    return key;
}

/* Points of small order, by which anybody can sign: the y that they are written with, without the sign of x. */
static bool jwt_is_small(const uint8_t point[32])
{
    static const uint8_t first[][32] = {
        {0}, /* order 4 */
        {1}, /* 1 */
        {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4,
         0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6,
         0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05}, /* 8 */
        {0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b,
         0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39,
         0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a}, /* 8 */
    };
    uint8_t y[32];
    memcpy(y, point, sizeof y);
    y[31] &= 0x7f;
    for (size_t i = 0; i < ALM_COUNT(first); i++)
        if (memcmp(y, first[i], sizeof y) == 0)
            return true;
    /* 2^255 - 20, of order 2, and from 2^255 - 19 on, which are 0 and 1 again, and other points that are not written so */
    bool high = y[31] == 0x7f && y[0] >= 0xec;
    for (size_t i = 1; i < 31; i++)
        high &= y[i] == 0xff;
    return high;
}

static EVP_PKEY *ed_key(const alm_json *json)
{
    uint8_t bytes[64];
    size_t n = 0;
    const alm_str text = alm_json_text(alm_json_get(json, "x"));
    if (text.len != 43 || !alm_base64url_decode(text, bytes, &n) || n != 32 || jwt_is_small(bytes))
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, n);
}

/* NULL: a key of another kind, or for another use. */
static EVP_PKEY *read_key(const alm_json *json, const char **type, const char **curve)
{
    const alm_str kty = alm_json_text(alm_json_get(json, "kty")),
                  crv = alm_json_text(alm_json_get(json, "crv")),
                  use = alm_json_text(alm_json_get(json, "use"));
    if (use.ptr != NULL && !alm_str_eq(use, ALM_STR("sig")))
        return NULL;
    for (size_t i = 0; i < ALM_COUNT(ALGORITHMS); i++) {
        const algorithm *a = &ALGORITHMS[i];
        if (!alm_str_eq(kty, alm_str_of(a->type)) ||
            (a->curve[0] != 0 && !alm_str_eq(crv, alm_str_of(a->curve))))
            continue;
        *type = a->type;
        *curve = a->curve;
        return a->half > 0        ? ec_key(json, a->half, a->curve)
               : a->curve[0] != 0 ? ed_key(json)
                                  : rsa_key(json);
    }
    return NULL;
}

alm_status alm_jwk_set_parse(alm_ctx *cx, alm_str json, alm_jwk_set **out)
{
    alm_json *document = NULL;
    ALM_TRY(alm_json_parse(cx, json, &document));
    const alm_json *list = alm_json_get(document, "keys");
    alm_jwk_set *set = alm_json_is_array(list) ? calloc(1, sizeof *set) : NULL;
    if (set == NULL) {
        const bool bad = !alm_json_is_array(list);
        alm_json_free(document);
        return bad ? alm_fail(cx, ALM_E_VALUE, -1, "a key set must be an object with the list keys")
                   : alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    }
    set->refs = 1;
    set->document = document;
    for (size_t i = 0; i < alm_json_count(list) && set->n < ALM_JWK_MAX; i++) {
        const alm_json *at = alm_json_at(list, i);
        jwk *k = &set->keys[set->n];
        k->key = read_key(at, &k->type, &k->curve);
        k->kid = alm_json_text(alm_json_get(at, "kid"));
        k->alg = alm_json_text(alm_json_get(at, "alg"));
        set->n += k->key != NULL;
    }
    *out = set;
    return ALM_OK;
}

alm_jwk_set *alm_jwk_set_retain(alm_jwk_set *set)
{
    (void)atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

void alm_jwk_set_release(alm_jwk_set *set)
{
    if (set == NULL || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < set->n; i++)
        EVP_PKEY_free(set->keys[i].key);
    alm_json_free(set->document);
    free(set);
}

size_t alm_jwk_set_count(const alm_jwk_set *set)
{
    return set->n;
}

alm_str alm_jwk_set_kid(const alm_jwk_set *set, size_t i)
{
    ALM_ASSERT(i < set->n);
    return set->keys[i].kid;
}

/* --------------------------------------------------------------------------- tokens */

static alm_status read_part(alm_ctx *cx, alm_str text, const char *what, alm_json **out)
{
    size_t n = 0;
    alm_json *json = NULL;
    char *bytes = malloc(alm_base64_bytes_max(text.len));
    if (bytes == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    alm_status status = alm_base64url_decode(text, bytes, &n)
                            ? alm_json_parse(cx, (alm_str){bytes, n}, &json)
                            : ALM_E_AUTH;
    free(bytes);
    if (status == ALM_OK && alm_json_is_object(json)) {
        *out = json;
        return ALM_OK;
    }
    alm_json_free(json);
    alm_error_clear(cx); /* may hold words of the token */
    return alm_fail(cx, ALM_E_AUTH, -1, "the %s of the token is no JSON object", what);
}

alm_status alm_jwt_parse(alm_ctx *cx, alm_str text, alm_jwt *out)
{
    if (text.len == 0 || text.len > ALM_JWT_BYTES_MAX)
        return alm_fail(cx, ALM_E_AUTH, -1, "a token must have 1 to %d bytes", ALM_JWT_BYTES_MAX);
    const char *first = memchr(text.ptr, '.', text.len), *end = text.ptr + text.len;
    const char *second = first != NULL ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL)
        return jwt_refuse(cx, "the token is not of the form of an ID token");
    alm_jwt jwt = {.text = text,
                   .signed_part = {text.ptr, (size_t)(second - text.ptr)},
                   .signature = {second + 1, (size_t)(end - second - 1)}};
    ALM_TRY(read_part(cx, (alm_str){text.ptr, (size_t)(first - text.ptr)}, "header", &jwt.header));
    const alm_status status =
        read_part(cx, (alm_str){first + 1, (size_t)(second - first - 1)}, "body", &jwt.claims);
    if (status != ALM_OK) {
        alm_jwt_deinit(&jwt);
        return status;
    }
    jwt.algorithm = alm_json_text(alm_json_get(jwt.header, "alg"));
    jwt.kid = alm_json_text(alm_json_get(jwt.header, "kid"));
    *out = jwt;
    return ALM_OK;
}

void alm_jwt_deinit(alm_jwt *jwt)
{
    alm_json_free(jwt->header);
    alm_json_free(jwt->claims);
    jwt->header = jwt->claims = NULL;
}

static bool jwt_is_object(alm_str part, char *bytes)
{
    size_t n = 0;
    return alm_base64url_decode(part, bytes, &n) && n >= 2 && bytes[0] == '{' &&
           bytes[n - 1] == '}';
}

/* The first part; ptr NULL: it is no header. bytes: as many as the text has. */
static alm_str header_of(alm_str text, char *bytes)
{
    const char *dot = text.len > 0 ? memchr(text.ptr, '.', text.len) : NULL;
    const alm_str part = {text.ptr, dot != NULL ? (size_t)(dot - text.ptr) : 0};
    return dot != NULL && jwt_is_object(part, bytes) ? part : (alm_str){0};
}

bool alm_jwt_is_canonical(alm_str text)
{
    size_t n = 0;
    const size_t room = alm_base64_bytes_max(text.len);
    char *bytes = text.len > 0 ? malloc(room) : NULL;
    if (bytes == NULL)
        return text.len == 0;
    bool ok = true;
    const alm_str header = header_of(text, bytes);
    const char *end = text.ptr + text.len;
    for (const char *ptr = header.ptr, *dot = NULL; ok && ptr != NULL && ptr <= end;
         ptr = dot + 1) {
        dot = memchr(ptr, '.', (size_t)(end - ptr));
        dot = dot != NULL ? dot : end;
        ok = alm_base64url_decode((alm_str){ptr, (size_t)(dot - ptr)}, bytes, &n);
    }
    OPENSSL_cleanse(bytes, room);
    free(bytes);
    return ok;
}

alm_str alm_jwt_signed_part(alm_str text)
{
    char *bytes = malloc(alm_base64_bytes_max(text.len));
    const alm_str header = bytes != NULL ? header_of(text, bytes) : (alm_str){0};
    free(bytes);
    if (header.ptr == NULL)
        return (alm_str){0};
    const char *end = text.ptr + text.len, *body = header.ptr + header.len + 1;
    const char *dot = memchr(body, '.', (size_t)(end - body));
    if (dot == NULL || memchr(dot + 1, '.', (size_t)(end - dot - 1)) != NULL)
        return (alm_str){0};
    return (alm_str){text.ptr, (size_t)(dot - text.ptr)};
}

/* -------------------------------------------------------------------- signatures */

/* r and s as JWS has them, in DER as OpenSSL wants them; 0: they are not. */
static int to_der(const algorithm *self, const uint8_t *raw, size_t n, uint8_t **der)
{
    int length = 0;
    *der = NULL;
    if (n != 2 * self->half)
        return 0;
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, (int)self->half, NULL),
           *s = BN_bin2bn(raw + self->half, (int)self->half, NULL);
    if (sig != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(sig, r, s) == 1) {
        r = s = NULL; /* they are its own now */
        length = i2d_ECDSA_SIG(sig, der);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(sig);
    return length > 0 ? length : 0;
}

static bool jwt_fits(const algorithm *self, EVP_PKEY *key, alm_str text, const uint8_t *sig,
                     size_t n)
{
    EVP_PKEY_CTX *how = NULL;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok =
        ctx != NULL &&
        EVP_DigestVerifyInit_ex(ctx, &how, self->digest, NULL, NULL, key, NULL) == 1 &&
        (!self->pss || (EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
                        EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1)) &&
        EVP_DigestVerify(ctx, sig, n, (const uint8_t *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static bool is_signed_by(const algorithm *self, EVP_PKEY *key, const alm_jwt *jwt)
{
    uint8_t raw[NUMBER_BYTES + 4], *der = NULL;
    size_t n = 0;
    if (jwt->signature.len == 0 || jwt->signature.len > NUMBER_BYTES / 3 * 4 ||
        !alm_base64url_decode(jwt->signature, raw, &n))
        return false;
    if (self->half == 0)
        return jwt_fits(self, key, jwt->signed_part, raw, n);
    const int length = to_der(self, raw, n, &der);
    const bool ok = length > 0 && jwt_fits(self, key, jwt->signed_part, der, (size_t)length);
    OPENSSL_free(der);
    return ok;
}

static const algorithm *find_algorithm(alm_str name)
{
    for (size_t i = 0; i < ALM_COUNT(ALGORITHMS); i++)
        if (alm_str_eq(name, alm_str_of(ALGORITHMS[i].name)))
            return &ALGORITHMS[i];
    return NULL;
}

/* A token that names no key may be by any of its kind. */
static bool may_be_by(const jwk *self, const algorithm *a, const alm_jwt *jwt)
{
    const bool named =
        jwt->kid.ptr == NULL || (self->kid.ptr != NULL && alm_str_eq(self->kid, jwt->kid));
    return named && strcmp(self->type, a->type) == 0 && strcmp(self->curve, a->curve) == 0 &&
           (self->alg.ptr == NULL || alm_str_eq(self->alg, alm_str_of(a->name)));
}

/* RFC 9068, 4 asks for at+jwt in access tokens; providers that were there before it write JWT. */
static bool may_be_for(alm_str typ, alm_jwt_use use)
{
    static const char *const names[] = {
        [ALM_JWT_ID] = "JWT", [ALM_JWT_ACCESS] = "at+jwt", [ALM_JWT_LOGOUT] = "logout+jwt"};
    static const alm_str prefix = ALM_STR("application/");
    if (typ.len > prefix.len && alm_str_ieq((alm_str){typ.ptr, prefix.len}, prefix))
        typ = (alm_str){typ.ptr + prefix.len, typ.len - prefix.len};
    return typ.ptr == NULL || alm_str_ieq(typ, ALM_STR("JWT")) ||
           alm_str_ieq(typ, alm_str_of(names[use]));
}

alm_status alm_jwt_verify(alm_ctx *cx, const alm_jwt *jwt, const alm_jwk_set *set, alm_jwt_use use,
                          bool *unknown)
{
    enum { TRIES = 8 };
    const algorithm *a = find_algorithm(jwt->algorithm);
    *unknown = false;
    if (a == NULL)
        return alm_fail(cx, ALM_E_AUTH, -1, "the token is signed with '%.*s', which is not taken",
                        (int)ALM_MIN(jwt->algorithm.len, (size_t)16),
                        jwt->algorithm.len > 0 ? jwt->algorithm.ptr : "");
    if (alm_json_get(jwt->header, "crit") != NULL)
        return jwt_refuse(cx, "the token has critical header members");
    if (!may_be_for(alm_json_text(alm_json_get(jwt->header, "typ")), use))
        return jwt_refuse(cx, "the token is of another kind (typ)");
    int tries = 0;
    bool named = false;
    for (size_t i = 0; i < set->n && tries < TRIES; i++) {
        const jwk *k = &set->keys[i];
        named |= jwt->kid.ptr != NULL && k->kid.ptr != NULL && alm_str_eq(k->kid, jwt->kid);
        if (!may_be_by(k, a, jwt))
            continue;
        tries++;
        if (is_signed_by(a, k->key, jwt))
            return ALM_OK;
    }
    *unknown = jwt->kid.ptr != NULL && !named;
    return jwt_refuse(cx, *unknown    ? "the provider has no key of that name"
                          : tries > 0 ? "the signature is wrong"
                                      : "the provider has no key for this algorithm");
}

/* ---------------------------------------------------------------------------- claims */

bool alm_jwt_audience_has(const alm_json *aud, const char *audience)
{
    const alm_str wanted = alm_str_of(audience);
    bool found = !alm_json_is_array(aud) && alm_str_eq(alm_json_text(aud), wanted);
    for (size_t i = 0; alm_json_is_array(aud) && i < alm_json_count(aud); i++)
        found |= alm_str_eq(alm_json_text(alm_json_at(aud, i)), wanted);
    return wanted.len > 0 && found;
}

static alm_status check_audience(alm_ctx *cx, const alm_jwt *jwt, const alm_jwt_wanted *wanted)
{
    const alm_json *azp = alm_json_get(jwt->claims, "azp"), *aud = alm_json_get(jwt->claims, "aud");
    if (!alm_jwt_audience_has(aud, wanted->audience))
        return jwt_refuse(cx, "the token is for another audience (aud)");
    const bool several = alm_json_is_array(aud) && alm_json_count(aud) > 1;
    if (wanted->client_id[0] != 0 && (several || azp != NULL) &&
        !alm_str_eq(alm_json_text(azp), alm_str_of(wanted->client_id)))
        return jwt_refuse(cx, "the token was made for another client (azp)");
    return ALM_OK;
}

/* Seconds since 1970; some providers write them with a fraction. */
static bool jwt_time_of(const alm_jwt *jwt, const char *name, int64_t *out)
{
    return alm_json_seconds(alm_json_get(jwt->claims, name), out);
}

static alm_status jwt_check_times(alm_ctx *cx, const alm_jwt *jwt, int64_t now_s,
                                  int64_t *expires_s)
{
    static const char *const starts[] = {"nbf", "iat"};
    if (!jwt_time_of(jwt, "exp", expires_s))
        return jwt_refuse(cx, "the token does not say when it ends (exp)");
    if (*expires_s <= now_s)
        return jwt_refuse(cx, "the token is over (exp)");
    for (size_t i = 0; i < ALM_COUNT(starts); i++) {
        int64_t from_s = 0;
        if (alm_json_get(jwt->claims, starts[i]) == NULL)
            continue;
        if (!jwt_time_of(jwt, starts[i], &from_s) || from_s > now_s + LEEWAY_S)
            return alm_fail(cx, ALM_E_AUTH, -1, "the token is not valid yet (%s)", starts[i]);
    }
    return ALM_OK;
}

alm_status alm_jwt_check(alm_ctx *cx, const alm_jwt *jwt, const alm_jwt_wanted *wanted,
                         int64_t *expires_s)
{
    const alm_str issuer = alm_json_text(alm_json_get(jwt->claims, "iss"));
    if (wanted->issuer[0] != 0 && !alm_str_eq(issuer, alm_str_of(wanted->issuer)))
        return jwt_refuse(cx, "the token is of another issuer (iss)");
    ALM_TRY(check_audience(cx, jwt, wanted));
    return jwt_check_times(cx, jwt, wanted->now_s, expires_s);
}
