/*
 * principal.c - who a session is of: who logged in, and the service account that was assumed. What that one may: access/.
 */
#include <stdio.h>

#include "session/core/credential.h"
#include "session/core/session_state.h"

void alm_session_assume(alm_session *session, alm_principal *account)
{
    alm_principal *old = session->assumed;
    (void)pthread_mutex_lock(&session->activity.lock); /* others list the name */
    session->assumed = account != NULL ? alm_principal_retain(account) : NULL;
    (void)pthread_mutex_unlock(&session->activity.lock);
    alm_principal_release(old);
    alm_rights_release(session->rights);
    session->rights = NULL;
    session->turn++;
    session->plan_key[0] = 0;
}

/* Another answer of the provider about the same user: what he has assumed is looked at again by the next statement. */
static bool principal_goes_on(const alm_session *session, const alm_principal *who)
{
    return session->assumed != NULL && who != NULL &&
           strcmp(session->who->identity, who->identity) == 0;
}

void alm_session_become(alm_session *session, alm_principal *who)
{
    if (session->who == who)
        return;
    alm_principal *old = session->who;
    if (old == NULL || who == NULL || strcmp(old->identity, who->identity) != 0) {
        alm_session_requests_over(session);
        alm_session_lives_by(session, NULL);
    }
    if (!principal_goes_on(session, who))
        alm_session_assume(session, NULL);
    alm_rights_release(session->rights);
    session->rights = NULL;
    session->turn++;
    session->plan_key[0] = 0;
    (void)pthread_mutex_lock(&session->activity.lock);
    session->who = who != NULL ? alm_principal_retain(who) : NULL;
    if (who != NULL)
        (void)snprintf(session->user, sizeof session->user, "%s", who->name);
    session->identity = who != NULL ? session->who->identity : session->user;
    (void)pthread_mutex_unlock(&session->activity.lock);
    if (who != NULL) /* else it ends: what it has is given back before */
        alm_account_change(session);
    alm_principal_release(old);
}

void alm_session_become_as(alm_session *session, const alm_session *other)
{
    alm_session_become(session, other->who);
    alm_session_assume(session, other->assumed);
    alm_session_lives_by(session, other->credential);
    session->renews = true;
}

const char *alm_session_shown_user(const alm_session *session)
{
    const bool external = session->who != NULL && session->who->kind == ALM_PRINCIPAL_EXTERNAL;
    return external && (session->by_identity || session->assumed != NULL) ? session->who->identity
                                                                          : session->user;
}

const alm_principal *alm_session_principal(const alm_session *session)
{
    return session->assumed != NULL ? session->assumed : session->who;
}
