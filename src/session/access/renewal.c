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

static void tell(alm_oidc_wait *wait)
{
    question *q = (question *)wait;
    (void)pthread_mutex_lock(&q->lock);
    q->answered = true;
    (void)pthread_cond_signal(&q->came);
    (void)pthread_mutex_unlock(&q->lock);
}

/* As long as the provider may take (acl.oidc.http.timeout). */
static void ask_and_wait(const alm_session *s, question *q)
{
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->came, NULL);
    q->wait.done = tell;
    const bool now = alm_credential_ask(s->credential, s->db, &q->wait);
    (void)pthread_mutex_lock(&q->lock);
    q->answered |= now; /* or told, before the question returned */
    while (!q->answered)
        (void)pthread_cond_wait(&q->came, &q->lock);
    (void)pthread_mutex_unlock(&q->lock);
    (void)pthread_cond_destroy(&q->came);
    (void)pthread_mutex_destroy(&q->lock);
}

static alm_status take(alm_ctx *cx, alm_session *s, const alm_oidc_wait *answer)
{
    if (answer->verdict == ALM_OIDC_AWAY)
        return alm_fail(cx, ALM_E_PROVIDER, -1, "identity provider not reachable");
    if (answer->verdict == ALM_OIDC_REFUSED ||
        strcmp(answer->who->identity, s->who->identity) != 0) {
        alm_login_refused(s->db, s->who);
        return ALM_OK; /* who looks at the login now finds it over */
    }
    s->answer_until_ns = answer->until_ns;
    s->answer_forgets = answer->forgets;
    alm_session_become(s, answer->who);
    return ALM_OK;
}

alm_status alm_session_renew(alm_ctx *cx, alm_session *s)
{
    question q = {.answered = false};
    const int64_t now_ns = alm_monotonic_ns();
    if (s->credential == NULL || !s->renews)
        return ALM_OK;
    const bool forgotten = s->answer_forgets != alm_oidc_forgets(alm_login_oidc(s->db));
    if (!forgotten &&
        (now_ns < s->answer_until_ns || now_ns - s->answer_asked_ns < ALM_CREDENTIAL_BETWEEN_NS))
        return ALM_OK;
    s->answer_asked_ns = now_ns;
    ask_and_wait(s, &q);
    const alm_status st = take(cx, s, &q.wait);
    alm_principal_release(q.wait.who);
    alm_secret_free(q.wait.token);
    return st;
}
