/*
 * entity_name.h - names of users, groups and service accounts, and of groups and users at an identity provider: what people
 * see in lists, logs and views must tell one from the other.
 *
 * Rule        1 to ALM_ENTITY_NAME_MAX bytes of valid UTF-8, no blank at either end, no character that is hidden
 *             (alm_utf8_hidden_at). No two entities have names that read the same (alm_utf8_name_key, and no blanks at the ends).
 */
#ifndef ALM_AUTH_ENTITY_NAME_H
#define ALM_AUTH_ENTITY_NAME_H

#include "auth/acl.h"

/* ALM_E_ARG at `pos` with the reason; `what` begins the message, as "a name". */
ALM_NODISCARD alm_status alm_entity_name_check(alm_ctx *cx, alm_str name, int32_t pos,
                                               const char *what);
/* The entity of another name that reads the same, or `admin` (not NULL) if that does; NULL: none. */
ALM_NODISCARD alm_status alm_entity_name_twin(alm_ctx *cx, const alm_acl *acl, const char *admin,
                                              alm_str name, const char **out);
/* Does the name begin with `sub:`, as the identities do that current_user() returns for some users of the provider? No entity may have
 * such a name. */
bool alm_entity_name_is_identity(alm_str name);
/* *is: a user of the provider may be shown by this name. False if the name is not valid, begins with `sub:`, or is equal to, or reads
 * the same as, the name of an entity here or `admin`. */
ALM_NODISCARD alm_status alm_entity_name_is_elsewhere(alm_ctx *cx, const alm_acl *acl,
                                                      const char *admin, alm_str name, bool *is);
/* Equal for names that read the same. */
ALM_NODISCARD alm_status alm_entity_name_hash(alm_ctx *cx, alm_arena *arena, alm_str name,
                                              uint64_t *out);

#endif
