/*
 * token.h - REST tokens and the keys of line clients.
 *
 * REST token  "qt1" and 32 random bytes in base64url (43 characters). Kept as SHA-256 only, in hexadecimal.
 * Key         P-256, in base64url: the two coordinates of its point are kept, the private number is shown once.
 * Errors      ALM_E_INTERNAL when OpenSSL fails.
 */
#ifndef ALM_AUTH_TOKEN_H
#define ALM_AUTH_TOKEN_H

#include "auth/acl.h"

enum { ALM_TOKEN_TEXT = 46, ALM_KEY_TEXT = 48 };

/* text: terminated, from 32 random bytes; hex: terminated. */
void alm_rest_token_text(const uint8_t random[ALM_TOKEN_HASH], char text[ALM_TOKEN_TEXT + 1]);
/* SHA-256 in hexadecimal. */
ALM_NODISCARD alm_status alm_sha256_text(alm_ctx *cx, alm_str text, char hex[ALM_TOKEN_HEX + 1]);
ALM_NODISCARD alm_status alm_rest_token_hash(alm_ctx *cx, alm_str text,
                                             char hex[ALM_TOKEN_HEX + 1]);
bool alm_rest_token_is_one(alm_str text); /* has it the form of a REST token? */
/* "30d", "12h", "90m", "3600s" in microseconds; false: it is none, or not from one minute to ten years. */
bool alm_rest_token_ttl(alm_str text, int64_t *us);

typedef struct alm_key_texts {
    char x[ALM_KEY_TEXT], y[ALM_KEY_TEXT], d[ALM_KEY_TEXT]; /* terminated; d is secret */
} alm_key_texts;
ALM_NODISCARD alm_status alm_key_make(alm_ctx *cx, alm_key_texts *out);

/* Overwrites and frees a text from malloc; NULL is fine. */
void alm_secret_free(char *secret);

#endif
