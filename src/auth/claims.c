/* claims.c - see claims.h. */
#include "auth/claims.h"

#include <stdlib.h>

#include "auth/entity_name.h"

static alm_status claims_find_name(alm_ctx *cx, const alm_json *claims, const char *wanted,
                                   alm_str *out)
{
    if (wanted[0] != 0) {
        *out = alm_json_text(alm_json_get(claims, wanted));
        return out->len > 0
                   ? ALM_OK
                   : alm_fail(cx, ALM_E_AUTH, -1,
                              "the claim '%.64s' (acl.oidc.sub.claim) is missing, or no text",
                              wanted);
    }
    *out = alm_json_text(alm_json_get(claims, "name"));
    if (out->len == 0)
        *out = alm_json_text(alm_json_get(claims, "sub"));
    return ALM_OK;
}

static bool are_texts(const alm_json *list)
{
    for (size_t i = 0; i < alm_json_count(list); i++)
        if (alm_json_text(alm_json_at(list, i)).ptr == NULL)
            return false;
    return true;
}

alm_status alm_claims_read(alm_ctx *cx, const alm_json *claims, const alm_claim_names *names,
                           alm_principal **out, bool *odd)
{
    alm_str name;
    const alm_json *list = alm_json_get(claims, names->groups);
    const alm_str one = alm_json_text(list);
    const alm_str subject = alm_json_text(alm_json_get(claims, "sub"));
    if (subject.len == 0)
        return alm_fail(cx, ALM_E_AUTH, -1, "the claim sub is missing, or no text");
    ALM_TRY(claims_find_name(cx, claims, names->name, &name));
    ALM_ASSERT(name.len > 0);
    if (alm_entity_name_check(cx, name, -1, "the user's name") != ALM_OK) {
        cx->err.code = ALM_E_AUTH;
        return ALM_E_AUTH;
    }
    const bool good = alm_json_is_array(list) && are_texts(list);
    const size_t n_groups = good ? alm_json_count(list) : one.len > 0 ? 1 : 0;
    *odd = !good && one.ptr == NULL && !alm_json_is_null(list);
    if (n_groups > ALM_GROUPS_OF_MAX)
        return alm_fail(cx, ALM_E_AUTH, -1, "the user has %zu groups, %d may be", n_groups,
                        ALM_GROUPS_OF_MAX);
    const char *groups[ALM_GROUPS_OF_MAX];
    for (size_t i = 0; i < n_groups; i++)
        groups[i] = good ? alm_json_text(alm_json_at(list, i)).ptr : one.ptr; /* terminated */
    const alm_status status =
        alm_principal_external(cx, name, subject, groups, (uint32_t)n_groups, out);
    if (status != ALM_E_LIMIT)
        return status;
    cx->err.code = ALM_E_AUTH; /* a group's name is too long: of the provider's making */
    return ALM_E_AUTH;
}

alm_status alm_claims_of_text(alm_ctx *cx, alm_str json, const alm_claim_names *names,
                              alm_principal **out, bool *odd)
{
    alm_json *document = NULL;
    if (alm_json_parse(cx, json, &document) != ALM_OK || !alm_json_is_object(document)) {
        alm_json_free(document);
        alm_error_clear(cx); /* would quote the answer */
        return alm_fail(cx, ALM_E_VALUE, -1, "the answer is no JSON object");
    }
    const alm_status status = alm_claims_read(cx, document, names, out, odd);
    alm_json_free(document);
    return status;
}
