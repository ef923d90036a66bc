/* entity_name.c - see entity_name.h. */
#include "auth/entity_name.h"

#include "base/utf8.h"

alm_status alm_entity_name_check(alm_ctx *cx, alm_str name, int32_t pos, const char *what)
{
    size_t at = alm_utf8_hidden_at(name);
    if (name.len == 0)
        return alm_fail(cx, ALM_E_ARG, pos, "%s must not be empty", what);
    if (name.len > ALM_ENTITY_NAME_MAX)
        return alm_fail(cx, ALM_E_ARG, pos, "%s has %zu bytes, %d may be", what, name.len,
                        ALM_ENTITY_NAME_MAX);
    if (at < name.len && !alm_utf8_is_valid(name))
        return alm_fail(cx, ALM_E_ARG, pos, "%s must be valid UTF-8", what);
    if (at < name.len)
        return alm_fail(
            cx, ALM_E_ARG, pos,
            "%s must not have control characters, nor others that are not seen (U+%04X)", what,
            alm_utf8_next(name, &at));
    if (name.ptr[0] == ' ' || name.ptr[name.len - 1] == ' ')
        return alm_fail(cx, ALM_E_ARG, pos, "%s must not begin or end with a blank", what);
    return ALM_OK;
}

/* Most names are ASCII, and are compared as they are. */
static alm_status reads_as(alm_ctx *cx, const char *other, alm_str name, alm_str key, bool *same)
{
    alm_str other_key = alm_str_of(other);
    *same = false;
    if (alm_str_eq(other_key, name) || !alm_utf8_is_valid(other_key))
        return ALM_OK;
    if (alm_utf8_is_ascii(other_key)) {
        *same = alm_str_ieq(other_key, key);
        return ALM_OK;
    }
    ALM_TRY(alm_utf8_name_key(cx, cx->arena, other_key, &other_key));
    *same = alm_str_eq(other_key, key);
    return ALM_OK;
}

alm_status alm_entity_name_twin(alm_ctx *cx, const alm_acl *acl, const char *admin, alm_str name,
                                const char **out)
{
    alm_str key;
    bool same = false;
    *out = NULL;
    ALM_TRY(alm_utf8_name_key(cx, cx->arena, name, &key));
    if (admin != NULL)
        ALM_TRY(reads_as(cx, admin, name, key, &same));
    if (same)
        *out = admin;
    for (uint32_t i = 0; i < acl->n_entities && *out == NULL; i++) {
        ALM_TRY(reads_as(cx, acl->entities[i].name, name, key, &same));
        if (same)
            *out = acl->entities[i].name;
    }
    return ALM_OK;
}
