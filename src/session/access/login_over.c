/* login_over.c - whether a login that began something still holds (standing.h). */
#include "session/access/standing.h"

/* NULL: it goes on. Users of the provider are asked about there, by their connections; here counts what they heard. */
static const char *login_over(alm_db *db, const alm_acl *acl, const alm_principal *who,
                              int64_t *until_us)
{
    const char *why = NULL;
    if (who->kind == ALM_PRINCIPAL_ADMIN)
        return alm_admin_over(db, who);
    if (who->kind == ALM_PRINCIPAL_LOCAL)
        why = alm_principal_over(who, acl);
    if (who->kind == ALM_PRINCIPAL_EXTERNAL && atomic_load(&who->over))
        why = "the identity provider takes the token no more, or the user has logged out there";
    if (why == NULL && who->began.proof == ALM_PROOF_TOKEN)
        why = alm_token_over(db, acl, who, until_us);
    return why;
}

static alm_status fail_over(alm_ctx *cx, const alm_principal *who, const char *why)
{
    return alm_fail(cx, ALM_E_LOGIN_OVER, -1, "the login of \"%s\" has ended: %s", who->name, why);
}

alm_status alm_login_stands(alm_ctx *cx, alm_db *db, const alm_principal *who, alm_seen *seen)
{
    alm_acl *acl = NULL;
    if (alm_seen_holds(db, seen))
        return ALM_OK;
    alm_seen now = alm_seen_now(db);
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const char *why = login_over(db, acl, who, &now.until_us);
    alm_acl_release(acl);
    if (why != NULL)
        return fail_over(cx, who, why);
    *seen = now;
    return ALM_OK;
}

static alm_status check_assumed(alm_ctx *cx, const alm_session *session, const alm_acl *acl)
{
    alm_rights *own = NULL;
    const char *why = alm_principal_over(session->assumed, acl);
    if (why == NULL) {
        ALM_TRY(alm_rights_new(cx, (alm_acl *)(uintptr_t)acl, session->who, &own));
        if (!alm_rights_assumes(own, session->assumed->name, false))
            why = "it may not be assumed any more";
        alm_rights_release(own);
    }
    return why == NULL ? ALM_OK
                       : alm_fail(cx, ALM_E_LOGIN_OVER, -1,
                                  "the service account \"%s\" has ended for \"%s\": %s",
                                  session->assumed->name, session->who->name, why);
}

alm_status alm_session_stands(alm_ctx *cx, const alm_session *session, const alm_acl *acl,
                              alm_seen *seen)
{
    const char *why = login_over(session->db, acl, session->who, &seen->until_us);
    if (why != NULL)
        return fail_over(cx, session->who, why);
    return session->assumed != NULL ? check_assumed(cx, session, acl) : ALM_OK;
}
