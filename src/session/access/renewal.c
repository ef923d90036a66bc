/* renewal.c - see renewal.h. */
#include "session/access/renewal.h"

#include <pthread.h>

#include "auth/token.h"
#include "session/access/login.h"
#include "session/core/session_state.h"

bool alm_credential_ask(const alm_credential *credential, alm_db *db, alm_oidc_wait *wait)
{
    alm_oidc *oidc = alm_login_oidc(db);
    wait->began_ns = credential->began_ns;
    return credential->token != NULL
               ? alm_oidc_ask(oidc, alm_str_of(credential->token), wait)
               : alm_oidc_ask_password(oidc, alm_str_of(credential->name),
                                       alm_str_of(credential->password), wait);
}

typedef struct question {
    alm_oidc_wait wait; /* first: `done` has no other */
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool answered;
} question;

static void access_renewal_tell(alm_oidc_wait *wait)
{
    question *asked = (question *)wait;
    (void)pthread_mutex_lock(&asked->lock);
    asked->answered = true;
    (void)pthread_cond_signal(&asked->came);
    (void)pthread_mutex_unlock(&asked->lock);
}

/* As long as the provider may take (acl.oidc.http.timeout). */
static void ask_and_wait(const alm_session *session, question *asked)
{
    (void)pthread_mutex_init(&asked->lock, NULL);
    (void)pthread_cond_init(&asked->came, NULL);
    asked->wait.done = access_renewal_tell;
    const bool now = alm_credential_ask(session->credential, session->db, &asked->wait);
    (void)pthread_mutex_lock(&asked->lock);
    asked->answered |= now; /* or told, before the question returned */
    while (!asked->answered)
        (void)pthread_cond_wait(&asked->came, &asked->lock);
    (void)pthread_mutex_unlock(&asked->lock);
    (void)pthread_cond_destroy(&asked->came);
    (void)pthread_mutex_destroy(&asked->lock);
}

static alm_status access_renewal_take(alm_ctx *cx, alm_session *session,
                                      const alm_oidc_wait *answer)
{
    if (answer->verdict == ALM_OIDC_AWAY)
        return alm_fail(cx, ALM_E_PROVIDER, -1, "identity provider not reachable");
    if (answer->verdict == ALM_OIDC_REFUSED ||
        strcmp(answer->who->identity, session->who->identity) != 0) {
        alm_login_refused(session->db, session->who);
        return ALM_OK; /* who looks at the login now finds it over */
    }
    session->answer_until_ns = answer->until_ns;
    session->answer_forgets = answer->forgets;
    alm_session_become(session, answer->who);
    return ALM_OK;
}

alm_status alm_session_renew(alm_ctx *cx, alm_session *session)
{
    question asked = {.answered = false};
    const int64_t now_ns = alm_monotonic_ns();
    if (session->credential == NULL || !session->renews)
        return ALM_OK;
    const bool forgotten = session->answer_forgets != alm_oidc_forgets(alm_login_oidc(session->db));
    if (!forgotten && (now_ns < session->answer_until_ns ||
                       now_ns - session->answer_asked_ns < ALM_CREDENTIAL_BETWEEN_NS))
        return ALM_OK;
    session->answer_asked_ns = now_ns;
    ask_and_wait(session, &asked);
    const alm_status status = access_renewal_take(cx, session, &asked.wait);
    alm_principal_release(asked.wait.who);
    alm_secret_free(asked.wait.token);
    return status;
}
