/* login_external.c - users of the identity provider: the life of auth/oidc.h beside a database, and its lines in the audit log. */
#include <stdio.h>

#include "base/conf.h"
#include "session/access.h"
#include "session/login.h"

alm_status alm_login_begin(alm_ctx *cx, alm_db *db)
{
    ALM_TRY(alm_oidc_check_conf(cx, db->conf));
    if (!db->conf->acl_oidc_enabled)
        return ALM_OK;
    ALM_ASSERT(db->access.oidc == NULL);
    return alm_oidc_new(cx, db->conf, db->io, db->root, &db->access.oidc);
}

void alm_login_end(alm_db *db)
{
    if (db->access.oidc != NULL)
        alm_oidc_stop(db->access.oidc);
}

alm_oidc *alm_login_oidc(const alm_db *db)
{
    return db->access.oidc;
}

alm_status alm_login_is_external(alm_ctx *cx, alm_db *db, alm_str name, bool *is)
{
    alm_acl *acl = NULL;
    char text[ALM_ENTITY_NAME_MAX + 1];
    *is = false;
    if (db->access.oidc == NULL || !db->conf->acl_oidc_ropc_flow_enabled || name.len == 0 ||
        alm_str_eq(name, alm_str_of(db->conf->acl_admin_user)))
        return ALM_OK;
    *is = name.len > ALM_ENTITY_NAME_MAX;
    if (*is)
        return ALM_OK; /* no name here is that long */
    ALM_TRY(alm_db_acl(cx, db, &acl));
    (void)snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
    *is = alm_acl_entity(acl, text) == NULL;
    alm_acl_release(acl);
    return ALM_OK;
}

/* "token 0123abcd, sub:alice, groups: a, b" */
static void describe(const alm_oidc_wait *w, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "token %s", w->id);
    if (w->who == NULL) {
        (void)snprintf(out + n, size - n, ", %s", w->why);
        return;
    }
    n += (size_t)snprintf(out + n, size - n, ", %.100s, groups:", w->who->identity);
    for (uint32_t i = 0; i < w->who->n_groups && n + 1 < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s %s", i > 0 ? "," : "", w->who->groups[i]);
}

void alm_login_note_external(alm_db *db, const alm_oidc_wait *w, const char *user,
                             const char *interface, const char *address)
{
    char detail[500];
    if (!w->fresh || w->verdict == ALM_OIDC_AWAY)
        return;
    describe(w, detail, sizeof detail);
    const alm_audit audit = {.event = "login",
                             .user = w->who != NULL ? w->who->name
                                     : user != NULL ? user
                                                    : "",
                             .interface = interface,
                             .address = address,
                             .detail = detail,
                             .ok = w->verdict == ALM_OIDC_KNOWN};
    alm_audit_add(db, &audit);
}
