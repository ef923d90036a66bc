/*
 * acl_target.c - whose account may be changed by whom. Who sets a password, a token or a key becomes that user, who adds a user or an
 * alias to a group gives what it has, and who drops, disables or limits somebody takes it away: so nobody does that to whom holds more
 * than he does himself. Permissions like ADD PASSWORD say which of these changes somebody may make, not to whom.
 */
#include <stdio.h>

#include "auth/entity_name.h"
#include "session/access/access.h"

/* All that is granted to one entity, with grant option where it has that. */
static bool covers_grants(const alm_rights *mine, const alm_acl *acl, const char *entity)
{
    uint32_t place;
    const uint32_t end = alm_acl_grants_of(acl, entity, &place);
    for (; place < end; place++) {
        const alm_grant grant = alm_acl_grant_at(acl, place);
        for (uint8_t number = 1; number <= ALM_PERMISSION_MAX; number++) {
            const alm_rights_ask ask = {.number = number,
                                        .table = grant.table[0] != 0 ? grant.table : NULL,
                                        .column = grant.column[0] != 0 ? grant.column : NULL,
                                        .option = alm_permission_in(&grant.option, number)};
            if (alm_permission_in(&grant.may, number) && !alm_rights_may(mine, &ask))
                return false;
        }
    }
    for (uint32_t i = 0; i < acl->n_assumes; i++)
        if (strcmp(acl->assumes[i].entity, entity) == 0 &&
            !alm_rights_assumes(mine, acl->assumes[i].account, acl->assumes[i].option))
            return false;
    return true;
}

static bool covers(const alm_rights *mine, const alm_acl *acl, const char *entity)
{
    if (mine->all || (mine->kind == ALM_PRINCIPAL_LOCAL && strcmp(mine->name, entity) == 0) ||
        alm_rights_assumes(mine, entity, true)) /* he may hand it on as it is */
        return true;
    if (!covers_grants(mine, acl, entity))
        return false;
    for (uint32_t i = 0; i < acl->n_members; i++)
        if (strcmp(acl->members[i].first, entity) == 0 &&
            !covers_grants(mine, acl, acl->members[i].second))
            return false;
    return true;
}

alm_status alm_acl_may_change(alm_cursor *cursor, const alm_acl *acl, const char *entity,
                              int32_t pos)
{
    char what[400];
    if (covers(cursor->rights, acl, entity))
        return ALM_OK;
    (void)snprintf(what, sizeof what, "%.255s holds permissions that are not yours", entity);
    return alm_access_denied(cursor, pos, what);
}

alm_status alm_acl_name_of(alm_cursor *cursor, const alm_acl_name *name, const char **out)
{
    const size_t max = (size_t)cursor->session->db->conf->acl_entity_name_max_length;
    if (name->text.len > max)
        return alm_fail(&cursor->cx, ALM_E_LIMIT, name->pos,
                        "the name has %zu bytes, more than acl.entity.name.max.length (%zu)",
                        name->text.len, max);
    ALM_TRY(alm_entity_name_check(&cursor->cx, name->text, name->pos, "a name"));
    return alm_arena_zstr(&cursor->cx, cursor->cx.arena, name->text, out);
}

alm_status alm_acl_grantee_of(alm_cursor *cursor, const alm_acl *acl, const alm_acl_name *name,
                              const char **out)
{
    const alm_str text = name->text;
    if (text.len > 0 && text.len <= ALM_ENTITY_NAME_MAX && memchr(text.ptr, 0, text.len) == NULL) {
        ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, text, out));
        if (alm_acl_entity(acl, *out) != NULL)
            return ALM_OK;
        uint32_t first = 0;
        if (alm_acl_grants_of(acl, *out, &first) > first)
            return ALM_OK;
    }
    return alm_acl_name_of(cursor, name, out);
}

static const char *kind_name(char kind)
{
    return kind == 'u'   ? "user"
           : kind == 'g' ? "group"
           : kind == 's' ? "service account"
                         : "entity";
}

static char letter_of(const alm_entity *entity)
{
    return entity->kind == ALM_ENTITY_USER ? 'u' : entity->kind == ALM_ENTITY_GROUP ? 'g' : 's';
}

alm_status alm_acl_need(alm_cursor *cursor, const alm_acl *acl, const alm_acl_name *name, char kind,
                        const alm_entity **out)
{
    const char *text = NULL;
    ALM_TRY(alm_arena_zstr(&cursor->cx, cursor->cx.arena, name->text, &text));
    const alm_entity *entity = alm_acl_entity(acl, text);
    if (entity == NULL || (kind != 0 && letter_of(entity) != kind))
        return alm_fail(&cursor->cx, ALM_E_SETTING, name->pos, "%s does not exist [name=%s]",
                        kind_name(kind), text);
    *out = entity;
    return ALM_OK;
}
