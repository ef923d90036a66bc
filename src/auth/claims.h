/*
 * claims.h - who a user of the identity provider is: name and groups, out of a user info answer or an ID token.
 *
 * Name        The claim that is configured; without one `name`, or `sub` where that is missing or empty.
 * Groups      A list of texts; one text is a list of one. Missing, null, empty: none. Anything else counts as missing (*odd).
 * Subject     `sub` is needed, a text that is not empty: it alone tells users apart.
 * Errors      ALM_E_AUTH with the reason: no subject, no name, a name that is none (entity_name.h), a list that is too long.
 */
#ifndef ALM_AUTH_CLAIMS_H
#define ALM_AUTH_CLAIMS_H

#include "auth/rights.h"
#include "codec/json.h"

typedef struct alm_claim_names {
    const char *name; /* "": as above */
    const char *groups;
} alm_claim_names;

ALM_NODISCARD alm_status alm_claims_read(alm_ctx *cx, const alm_json *claims,
                                         const alm_claim_names *names, alm_principal **out,
                                         bool *odd);
/* A user info answer: a JSON object. ALM_E_VALUE: it is none. */
ALM_NODISCARD alm_status alm_claims_of_text(alm_ctx *cx, alm_str json, const alm_claim_names *names,
                                            alm_principal **out, bool *odd);

#endif
