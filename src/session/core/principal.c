/*
 * principal.c - who a session is of: who logged in, and the service account that was assumed. What that one may: access/.
 */
#include <stdio.h>

#include "session/core/credential.h"
#include "session/core/session_state.h"

void alm_session_assume(alm_session *s, alm_principal *account)
{
    alm_principal *old = s->assumed;
    (void)pthread_mutex_lock(&s->activity.lock); /* others list the name */
    s->assumed = account != NULL ? alm_principal_retain(account) : NULL;
    (void)pthread_mutex_unlock(&s->activity.lock);
    alm_principal_release(old);
    alm_rights_release(s->rights);
    s->rights = NULL;
    s->turn++;
    s->plan_key[0] = 0;
}

/* Another answer of the provider about the same user: what he has assumed is looked at again by the next statement. */
static bool goes_on(const alm_session *s, const alm_principal *who)
{
    return s->assumed != NULL && who != NULL && strcmp(s->who->identity, who->identity) == 0;
}

void alm_session_become(alm_session *s, alm_principal *who)
{
    if (s->who == who)
        return;
    alm_principal *old = s->who;
    if (old == NULL || who == NULL || strcmp(old->identity, who->identity) != 0) {
        alm_session_requests_over(s);
        alm_session_lives_by(s, NULL);
    }
    if (!goes_on(s, who))
        alm_session_assume(s, NULL);
    alm_rights_release(s->rights);
    s->rights = NULL;
    s->turn++;
    s->plan_key[0] = 0;
    (void)pthread_mutex_lock(&s->activity.lock);
    s->who = who != NULL ? alm_principal_retain(who) : NULL;
    if (who != NULL)
        (void)snprintf(s->user, sizeof s->user, "%s", who->name);
    s->identity = who != NULL ? s->who->identity : s->user;
    (void)pthread_mutex_unlock(&s->activity.lock);
    if (who != NULL) /* else it ends: what it has is given back before */
        alm_account_change(s);
    alm_principal_release(old);
}

void alm_session_become_as(alm_session *s, const alm_session *other)
{
    alm_session_become(s, other->who);
    alm_session_assume(s, other->assumed);
    alm_session_lives_by(s, other->credential);
    s->renews = true;
}

const char *alm_session_shown_user(const alm_session *s)
{
    const bool external = s->who != NULL && s->who->kind == ALM_PRINCIPAL_EXTERNAL;
    return external && (s->by_identity || s->assumed != NULL) ? s->who->identity : s->user;
}

const alm_principal *alm_session_principal(const alm_session *s)
{
    return s->assumed != NULL ? s->assumed : s->who;
}
