/*
 * jwt.h - signed JSON (JWS compact form, RFC 7515 and 7519) of the identity provider - ID tokens, access tokens (RFC 9068),
 * logout tokens - and the provider's keys (RFC 7517).
 *
 * Algorithms  RS256 RS384 RS512 PS256 ES256 ES384 EdDSA (Ed25519). none and those with a shared secret are refused, and an
 *             algorithm that is not the key's. Keys named in the token itself (jwk, jku, x5u, x5c) are never looked at; a token
 *             with `crit` is refused.
 * Limits      ALM_JWT_BYTES_MAX of a token, ALM_JWK_MAX keys (those behind are left out), RSA keys of 2048 to 8192 bits.
 * Errors      ALM_E_AUTH with the reason, in words that hold nothing of the token but names of algorithms.
 * Threads     A key set is immutable and counted.
 * Cost        40 us for RS256, 110 us for ES256 (one core, OpenSSL 3.0).
 */
#ifndef ALM_AUTH_JWT_H
#define ALM_AUTH_JWT_H

#include "codec/json.h"

enum { ALM_JWT_BYTES_MAX = 16384, ALM_JWK_MAX = 64 };

typedef struct alm_jwk_set alm_jwk_set;
/* {"keys":[...]}: those that verify signatures; others are left out. ALM_E_VALUE: it is no key set. */
ALM_NODISCARD alm_status alm_jwk_set_parse(alm_ctx *cx, alm_str json, alm_jwk_set **out);
alm_jwk_set *alm_jwk_set_retain(alm_jwk_set *set);
void alm_jwk_set_release(alm_jwk_set *set); /* NULL: nothing */
size_t alm_jwk_set_count(const alm_jwk_set *set);

typedef struct alm_jwt {
    alm_json *header, *claims;            /* owned */
    alm_str text, signed_part, signature; /* borrowed of the text */
    alm_str algorithm, kid;               /* of the header; kid.ptr NULL: it names none */
} alm_jwt;

/* Three parts, two of them JSON objects. Nothing is verified. On success: alm_jwt_deinit. */
ALM_NODISCARD alm_status alm_jwt_parse(alm_ctx *cx, alm_str text, alm_jwt *out);
void alm_jwt_deinit(alm_jwt *jwt);
/* False: a JWT or JWE with a part that is not base64url in its one form: what others may take for the same token is another text. What
 * does not begin with the header of one is no such token. */
bool alm_jwt_is_canonical(alm_str text);
/* What the signature of a JWT is of; ptr NULL: the text has not the form of one. */
alm_str alm_jwt_signed_part(alm_str text);
/* What a token is for. The header member `typ` of another use is refused; many providers write JWT, or nothing, for all of them. */
typedef enum alm_jwt_use { ALM_JWT_ID, ALM_JWT_ACCESS, ALM_JWT_LOGOUT } alm_jwt_use;
/* Signature, algorithm and use. *unknown: the set has no such key: another set may have it. */
ALM_NODISCARD alm_status alm_jwt_verify(alm_ctx *cx, const alm_jwt *jwt, const alm_jwk_set *set,
                                        alm_jwt_use use, bool *unknown);

typedef struct alm_jwt_wanted {
    const char *issuer; /* "": any */
    const char *audience;
    const char *client_id; /* the authorized party (azp); "": any */
    int64_t now_s;         /* since 1970 */
} alm_jwt_wanted;
/* iss, aud, azp, exp, nbf, iat. *expires_s: when it ends. */
ALM_NODISCARD alm_status alm_jwt_check(alm_ctx *cx, const alm_jwt *jwt,
                                       const alm_jwt_wanted *wanted, int64_t *expires_s);
/* The name of a key; ptr NULL: it has none. */
alm_str alm_jwk_set_kid(const alm_jwk_set *set, size_t i);
/* Is the audience a text that equals `audience`, or a list that has it? `aud` may be NULL. */
bool alm_jwt_audience_has(const alm_json *aud, const char *audience);

#endif
