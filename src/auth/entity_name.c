/* entity_name.c - see entity_name.h. */
#include "auth/entity_name.h"

#include "base/hash.h"
#include "base/utf8.h"

alm_status alm_entity_name_check(alm_ctx *cx, alm_str name, int32_t pos, const char *what)
{
    size_t offset = alm_utf8_hidden_at(name);
    if (name.len == 0)
        return alm_fail(cx, ALM_E_ARG, pos, "%s must not be empty", what);
    if (name.len > ALM_ENTITY_NAME_MAX)
        return alm_fail(cx, ALM_E_ARG, pos, "%s has %zu bytes, %d may be", what, name.len,
                        ALM_ENTITY_NAME_MAX);
    if (offset < name.len && !alm_utf8_is_valid(name))
        return alm_fail(cx, ALM_E_ARG, pos, "%s must be valid UTF-8", what);
    if (offset < name.len)
        return alm_fail(
            cx, ALM_E_ARG, pos,
            "%s must not have control characters, nor others that are not seen (U+%04X)", what,
            alm_utf8_next(name, &offset));
    if (name.ptr[0] == ' ' || name.ptr[name.len - 1] == ' ')
        return alm_fail(cx, ALM_E_ARG, pos, "%s must not begin or end with a blank", what);
    return ALM_OK;
}

/* What names that read the same have alike; blanks at the ends do not count: older versions took them. Bytes that are no text stay as they
 * are. */
static alm_status entity_name_key_of(alm_ctx *cx, alm_arena *arena, alm_str name, alm_str *key)
{
    while (name.len > 0 && name.ptr[0] == ' ')
        name = (alm_str){name.ptr + 1, name.len - 1};
    while (name.len > 0 && name.ptr[name.len - 1] == ' ')
        name.len--;
    *key = name;
    return alm_utf8_is_valid(name) ? alm_utf8_name_key(cx, arena, name, key) : ALM_OK;
}

alm_status alm_entity_name_hash(alm_ctx *cx, alm_arena *arena, alm_str name, uint64_t *out)
{
    alm_str key = name;
    if (!alm_utf8_is_ascii(name) ||
        (name.len > 0 && (name.ptr[0] == ' ' || name.ptr[name.len - 1] == ' ')))
        ALM_TRY(entity_name_key_of(cx, arena, name, &key));
    *out = alm_hash_str_nocase(key); /* of most names, which are ASCII, without the key */
    return ALM_OK;
}

/* Is it the name, or one that reads the same? */
static alm_status reads_as(alm_ctx *cx, alm_arena *arena, const char *other, alm_str key,
                           bool *same)
{
    alm_str other_key;
    ALM_TRY(entity_name_key_of(cx, arena, alm_str_of(other), &other_key));
    *same = alm_str_eq(other_key, key);
    return ALM_OK;
}

/* With or without the one that is written the same. */
static alm_status entity_name_find(alm_ctx *cx, alm_arena *arena, const alm_acl *acl,
                                   const char *admin, alm_str name, bool itself, const char **out)
{
    uint64_t hash = 0;
    alm_str key;
    bool same = false;
    *out = NULL;
    ALM_TRY(entity_name_key_of(cx, arena, name, &key));
    ALM_TRY(alm_entity_name_hash(cx, arena, name, &hash));
    if (admin != NULL && (itself || !alm_str_eq(alm_str_of(admin), name)))
        ALM_TRY(reads_as(cx, arena, admin, key, &same));
    if (same)
        *out = admin;
    const alm_entity *entity = NULL;
    for (uint32_t place = 0;
         *out == NULL && (entity = alm_acl_entity_next(acl, hash, &place)) != NULL;) {
        if (!itself && alm_str_eq(alm_str_of(entity->name), name))
            continue;
        ALM_TRY(reads_as(cx, arena, entity->name, key, &same));
        if (same)
            *out = entity->name;
    }
    return ALM_OK;
}

alm_status alm_entity_name_twin(alm_ctx *cx, const alm_acl *acl, const char *admin, alm_str name,
                                const char **out)
{
    return entity_name_find(cx, cx->arena, acl, admin, name, false, out);
}

bool alm_entity_name_is_identity(alm_str name)
{
    return name.len >= 4 && alm_str_ieq((alm_str){name.ptr, 4}, ALM_STR("sub:"));
}

alm_status alm_entity_name_is_elsewhere(alm_ctx *cx, const alm_acl *acl, const char *admin,
                                        alm_str name, bool *is)
{
    alm_arena arena;
    const char *here = NULL;
    *is = !alm_entity_name_is_identity(name) &&
          alm_entity_name_check(cx, name, -1, "a name") == ALM_OK;
    if (!*is) {
        alm_error_clear(cx);
        return ALM_OK;
    }
    alm_arena_init(&arena, NULL);
    const alm_status status = entity_name_find(cx, &arena, acl, admin, name, true, &here);
    alm_arena_deinit(&arena);
    *is = status == ALM_OK && here == NULL;
    return status;
}
