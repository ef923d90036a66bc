/*
 * life.c - begin and end of what access control keeps for a database.
 */
#include <stdlib.h>

#include "auth/oidc.h"
#include "session/access/access.h"

alm_status alm_db_access_new(alm_ctx *cx, alm_db *db)
{
    (void)pthread_mutex_init(&db->access.lock, NULL);
    db->access.is_made = true;
    ALM_TRY(alm_audit_new(cx, db->conf != NULL ? (size_t)db->conf->acl_audit_rows_max : 1,
                          &db->access.audit));
    return alm_logins_new(cx, db, &db->access.logins);
}

void alm_db_access_free(alm_db *db)
{
    if (!db->access.is_made)
        return; /* it did not come that far */
    alm_audit_free(db->access.audit);
    for (size_t i = 0; i < db->access.n_transient; i++)
        free((char *)(uintptr_t)db->access.transient[i].entity);
    free(db->access.transient);
    alm_oidc_free(db->access.oidc);
    alm_logins_free(db->access.logins);
    alm_acl_release(db->access.acl);
    (void)pthread_mutex_destroy(&db->access.lock);
}
