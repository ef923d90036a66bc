/*
 * rights.c - what the principal of a session may: the interfaces, permissions on the database; looked up again when records are newer.
 */
#include <stdio.h>

#include "auth/entity_name.h"
#include "base/hash.h"
#include "session/access/access.h"
#include "session/access/renewal.h"
#include "session/access/standing.h"

static const char *end_point(const alm_session *session)
{
    return session->by == ALM_BY_HTTP   ? "HTTP"
           : session->by == ALM_BY_PG   ? "PGWIRE"
           : session->by == ALM_BY_LINE ? "ILP"
                                        : NULL; /* a job of a session that was let in */
}

static bool access_rights_holds(const alm_rights *rights, const char *permission)
{
    const alm_permission *row = alm_permission_find(alm_str_of(permission));
    ALM_ASSERT(row != NULL);
    const alm_rights_ask ask = {.number = row->number};
    return rights->enabled && alm_rights_may(rights, &ask);
}

/* May the principal use the interface? Both may who has assumed another. */
static alm_status check_end_point(alm_ctx *cx, alm_acl *acl, const alm_principal *who,
                                  const char *point)
{
    alm_rights *rights = NULL;
    if (point == NULL)
        return ALM_OK;
    ALM_TRY(alm_rights_new(cx, acl, who, &rights));
    const bool may = access_rights_holds(rights, point);
    alm_rights_release(rights);
    return may ? ALM_OK
               : alm_fail(cx, ALM_E_DENIED, -1, "Access denied for %s [%s]", who->name, point);
}

alm_status alm_access_end_point(alm_ctx *cx, alm_db *db, const alm_principal *who,
                                const char *point)
{
    alm_acl *acl = NULL;
    ALM_TRY(alm_db_acl(cx, db, &acl));
    const alm_status status = check_end_point(cx, acl, who, point);
    alm_acl_release(acl);
    return status;
}

/* Plans are for equal rights: external users of one name may be in different groups, and so may one user from one token to
 * the next, with no change here. */
static uint64_t groups_hash(const alm_rights *rights)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < rights->n; i++)
        hash = alm_hash_u128(hash + 1, alm_hash_str(alm_str_of(rights->of[i])));
    return hash;
}

static alm_status new_rights(alm_ctx *cx, alm_session *session, alm_acl *acl)
{
    alm_rights *rights = NULL;
    bool elsewhere = true;
    ALM_TRY(check_end_point(cx, acl, session->who, end_point(session)));
    if (session->assumed != NULL)
        ALM_TRY(check_end_point(cx, acl, session->assumed, end_point(session)));
    ALM_TRY(alm_rights_new(cx, acl, alm_session_principal(session), &rights));
    const alm_status status =
        rights->kind == ALM_PRINCIPAL_EXTERNAL
            ? alm_entity_name_is_elsewhere(cx, acl, session->db->conf->acl_admin_user,
                                           alm_str_of(rights->name), &elsewhere)
            : ALM_OK;
    if (status != ALM_OK) {
        alm_rights_release(rights);
        return status;
    }
    alm_rights_release(session->rights);
    session->rights = rights;
    session->by_identity = !elsewhere;
    session->turn++;
    (void)snprintf(session->plan_key, sizeof session->plan_key, "%d:%llu:%016llx:%s",
                   (int)rights->kind, (unsigned long long)rights->acl->epoch,
                   (unsigned long long)groups_hash(rights),
                   elsewhere ? rights->name : session->who->identity);
    return ALM_OK;
}

/* A job asks the provider itself, so it has to come back for that. */
static void look_again_when_stale(const alm_session *session, alm_seen *seen)
{
    if (session->credential == NULL || !session->renews)
        return;
    const int64_t left_ns =
        ALM_MAX(session->answer_until_ns - alm_monotonic_ns(), (int64_t)ALM_CREDENTIAL_BETWEEN_NS);
    const int64_t due_us = (session->db->io->wall_ns(session->db->io) + left_ns) / 1000;
    seen->until_us = seen->until_us == 0 ? due_us : ALM_MIN(seen->until_us, due_us);
}

/* The rights that the session had, or new ones where records are newer; none where its login is over. */
alm_status alm_session_refresh(alm_ctx *cx, alm_session *session)
{
    alm_acl *acl = NULL;
    ALM_TRY(alm_session_is_halted(cx, session));
    ALM_TRY(alm_session_renew(cx, session));
    if (session->rights != NULL && alm_seen_holds(session->db, &session->seen))
        return ALM_OK;
    alm_seen seen = alm_seen_now(session->db);
    alm_status status = alm_db_acl(cx, session->db, &acl);
    if (status != ALM_OK)
        return status;
    status = alm_session_stands(cx, session, acl, &seen);
    if (status == ALM_OK && (session->rights == NULL || session->rights->acl->epoch != acl->epoch))
        status = new_rights(cx, session, acl);
    if (status == ALM_OK) {
        seen.records = acl->epoch;
        look_again_when_stale(session, &seen);
        session->seen = seen;
    } else {
        alm_rights_release(session->rights);
        session->rights = NULL; /* asked again by the next statement */
        session->plan_key[0] = 0;
    }
    alm_acl_release(acl);
    return status;
}

alm_status alm_session_still(alm_ctx *cx, alm_session *session)
{
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return ALM_OK;
    return alm_session_refresh(cx, session);
}

int64_t alm_session_memory_max(const alm_session *session)
{
    return session->rights != NULL && session->rights->memory_max > 0
               ? session->rights->memory_max
               : __atomic_load_n(&session->db->query_mem_bytes, __ATOMIC_ACQUIRE);
}

bool alm_session_holds(alm_session *session, const char *permission)
{
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return true;
    alm_ctx cx = {0};
    return alm_session_refresh(&cx, session) == ALM_OK &&
           access_rights_holds(session->rights, permission);
}

bool alm_may_see_others(const alm_session *session)
{
    if (session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled)
        return true;
    return session->rights != NULL && access_rights_holds(session->rights, "SQL ENGINE ADMIN");
}

alm_status alm_session_may_ingest(alm_session *session, bool overwrite)
{
    static const char *const ways[] = {"INSERT", "CREATE TABLE", "DROP TABLE"};
    alm_ctx cx = {.conf = session->db->conf,
                  .io = session->db->io,
                  .user = session->user,
                  .session = session};
    bool may = session->who == NULL || session->db->conf == NULL || !session->db->conf->acl_enabled;
    alm_status status = may ? ALM_OK : alm_session_refresh(&cx, session);
    for (size_t i = 0; status == ALM_OK && !may && i < (overwrite ? 3 : 2); i++)
        may =
            session->rights->enabled &&
            alm_rights_anywhere(session->rights, alm_permission_find(alm_str_of(ways[i]))->number);
    if (status == ALM_OK && !may)
        status = alm_session_denied(&cx, session, ways[0], -1);
    return status == ALM_OK ? ALM_OK : alm_session_failed(session, &cx);
}
