/*
 * newest.c - the newest records of access control, shared by all sessions until there are newer ones.
 */
#include "session/access/access.h"

alm_status alm_db_acl(alm_ctx *cx, alm_db *db, alm_acl **out)
{
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, db->storage, &snap));
    (void)pthread_mutex_lock(&db->access.lock);
    alm_status status = ALM_OK;
    alm_acl *made = NULL;
    if (db->access.acl == NULL || db->access.acl->epoch != alm_snapshot_records_lsn(snap))
        status = alm_acl_load(cx, snap, &made);
    if (status == ALM_OK && made != NULL) {
        /* a snapshot taken before a change may come here behind one taken after it: never back */
        const bool newer = db->access.acl == NULL || db->access.acl->epoch <= made->epoch;
        if (newer) {
            alm_acl_release(db->access.acl);
            db->access.acl = made;
        } else {
            alm_acl_release(made);
        }
    }
    if (status == ALM_OK)
        *out = alm_acl_retain(db->access.acl);
    (void)pthread_mutex_unlock(&db->access.lock);
    alm_snapshot_release(snap);
    return status;
}
