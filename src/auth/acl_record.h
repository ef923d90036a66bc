/*
 * acl_record.h - entities, tokens, grants as records of the catalogue; private to the folder. Formats:
 * docs/internals/access-control.md. Little-endian.
 *
 * Errors      Readers: ALM_E_CORRUPT. Nothing is read beyond a record.
 */
#ifndef ALM_AUTH_ACL_RECORD_H
#define ALM_AUTH_ACL_RECORD_H

#include "auth/acl.h"

enum {
    ALM_KEY_ASSUME = 'a',
    ALM_KEY_DEFINER = 'd',
    ALM_KEY_ENTITY = 'e',
    ALM_KEY_GRANT = 'g',
    ALM_KEY_MEMBER = 'm',
    ALM_KEY_SECRET = 's', /* the key is the letter alone */
    ALM_KEY_TOKEN = 't',
    ALM_KEY_ALIAS = 'x'
};

/* How what follows the definer's name begins; no text begins so. */
enum { ALM_DEFINER_GENERATION = 1, ALM_DEFINER_MAKER = 2 };

ALM_NODISCARD alm_status alm_record_entity(alm_ctx *cx, alm_arena *arena, alm_record record,
                                           alm_entity *out);
ALM_NODISCARD alm_status alm_record_pair(alm_ctx *cx, alm_arena *arena, alm_record record,
                                         alm_pair *out);
ALM_NODISCARD alm_status alm_record_token(alm_ctx *cx, alm_arena *arena, alm_record record,
                                          alm_token *out);
/* What is granted by the value; false: it is none, and nothing is. */
bool alm_record_permissions(alm_str value, alm_grant *out);
ALM_NODISCARD alm_status alm_record_grant(alm_ctx *cx, alm_arena *arena, alm_record record,
                                          alm_grant *out);
ALM_NODISCARD alm_status alm_record_assume(alm_ctx *cx, alm_arena *arena, alm_record record,
                                           alm_assume *out);
ALM_NODISCARD alm_status alm_record_definer(alm_ctx *cx, alm_arena *arena, alm_record record,
                                            alm_definer *out);
ALM_NODISCARD alm_status alm_record_secret(alm_ctx *cx, alm_record record,
                                           uint8_t out[ALM_SCRAM_KEY]);
/* Key of a letter and up to three names (NULL: no more). */
ALM_NODISCARD alm_status alm_record_key(alm_ctx *cx, char letter, const char *a, const char *b,
                                        const char *c, alm_str *out);

#endif
