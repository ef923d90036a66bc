/* renewal.c - see renewal.h. */
#include "net/conn/renewal.h"

#include <stdlib.h>

#include "auth/token.h"

/* Freed by who lets go of it last: the connection, or the thread of the answer. */
typedef struct alm_renewal_question {
    alm_oidc_wait wait; /* first: `done` has no other */
    _Atomic uint32_t refs;
    atomic_bool answered;
} question;

static void conn_renewal_let_go(question *asked)
{
    if (atomic_fetch_sub(&asked->refs, 1) != 1)
        return;
    alm_principal_release(asked->wait.who);
    alm_secret_free(asked->wait.token);
    free(asked);
}

bool alm_renewal_begin(alm_renewal *renewal, char *token, char *name, char *password,
                       const alm_oidc_wait *answer)
{
    ALM_ASSERT(!alm_renewal_is_one(renewal) && renewal->beside == NULL);
    *renewal =
        (alm_renewal){.credential = alm_credential_new(token, name, password, answer->began_ns),
                      .until_ns = answer->until_ns,
                      .forgets = answer->forgets,
                      .asked_ns = alm_monotonic_ns()};
    return renewal->credential != NULL;
}

void alm_renewal_end(alm_renewal *renewal)
{
    if (renewal->beside != NULL)
        conn_renewal_let_go(renewal->beside);
    alm_principal_release(renewal->newer);
    alm_credential_release(renewal->credential);
    *renewal = (alm_renewal){.credential = NULL};
}

/* ------------------------------------------------------------------------- questions */

bool alm_renewal_is_stale(const alm_renewal *renewal, alm_db *db)
{
    return alm_renewal_is_one(renewal) &&
           (alm_monotonic_ns() >= renewal->until_ns ||
            renewal->forgets != alm_oidc_forgets(alm_login_oidc(db)));
}

bool alm_renewal_is_due(const alm_renewal *renewal, alm_db *db)
{
    return alm_renewal_is_stale(renewal, db) &&
           (renewal->forgets != alm_oidc_forgets(alm_login_oidc(db)) ||
            alm_monotonic_ns() - renewal->asked_ns >= ALM_CREDENTIAL_BETWEEN_NS);
}

static bool conn_renewal_put(alm_renewal *renewal, alm_db *db, alm_oidc_wait *wait)
{
    renewal->asked_ns = alm_monotonic_ns();
    return alm_credential_ask(renewal->credential, db, wait);
}

bool alm_renewal_ask(alm_renewal *renewal, alm_db *db, alm_oidc_wait *wait)
{
    ALM_ASSERT(alm_renewal_is_one(renewal) && !renewal->asking);
    renewal->asking = true;
    return conn_renewal_put(renewal, db, wait);
}

static bool is_same_user(const alm_principal *a, const alm_principal *b)
{
    return strcmp(a->identity, b->identity) == 0;
}

/* In the same order as a rule. */
static bool conn_renewal_is_in(const alm_principal *who, const char *group, uint32_t like)
{
    if (like < who->n_groups && strcmp(who->groups[like], group) == 0)
        return true;
    uint32_t i = 0;
    while (i < who->n_groups && strcmp(who->groups[i], group) != 0)
        i++;
    return i < who->n_groups;
}

static bool has_lost_a_group(const alm_principal *now, const alm_principal *before)
{
    uint32_t i = 0;
    while (i < before->n_groups && conn_renewal_is_in(now, before->groups[i], i))
        i++;
    return i < before->n_groups;
}

static alm_renewed conn_renewal_judge(alm_renewal *renewal, alm_db *db, alm_principal *who,
                                      const alm_oidc_wait *answer)
{
    if (answer->verdict == ALM_OIDC_AWAY)
        return ALM_RENEWAL_AWAY;
    if (answer->verdict == ALM_OIDC_REFUSED || !is_same_user(answer->who, who)) {
        alm_login_refused(db, who);
        return ALM_RENEWAL_OVER;
    }
    renewal->until_ns = answer->until_ns;
    renewal->forgets = answer->forgets;
    alm_principal_release(renewal->newer);
    renewal->newer = answer->who != who ? alm_principal_retain(answer->who) : NULL;
    return ALM_RENEWED;
}

alm_renewed alm_renewal_take(alm_renewal *renewal, alm_db *db, alm_principal *who,
                             const alm_oidc_wait *answer)
{
    ALM_ASSERT(renewal->asking);
    renewal->asking = false;
    return conn_renewal_judge(renewal, db, who, answer);
}

/* ---------------------------------------------------------------------------- beside */

static void came(alm_oidc_wait *wait)
{
    question *asked = (question *)wait;
    atomic_store(&asked->answered, true);
    conn_renewal_let_go(asked);
}

static bool begin_beside(alm_renewal *renewal, alm_db *db)
{
    question *asked = calloc(1, sizeof *asked);
    if (asked == NULL)
        return false;
    asked->wait.done = came;
    asked->refs = 2;
    renewal->beside = asked;
    if (conn_renewal_put(renewal, db, &asked->wait))
        came(&asked->wait);
    return true;
}

alm_renewed alm_renewal_beside(alm_renewal *renewal, alm_db *db, alm_principal *who)
{
    alm_renewed how = ALM_RENEWED;
    if (renewal->asking)
        return ALM_RENEWED; /* the connection waits for the answer itself */
    if (renewal->beside == NULL && alm_renewal_is_due(renewal, db) && !begin_beside(renewal, db))
        return ALM_RENEWAL_AWAY;
    question *asked = renewal->beside;
    if (asked != NULL && atomic_load(&asked->answered)) {
        renewal->beside = NULL;
        how = conn_renewal_judge(renewal, db, who, &asked->wait);
        conn_renewal_let_go(asked);
    }
    return how == ALM_RENEWED && renewal->newer != NULL && has_lost_a_group(renewal->newer, who)
               ? ALM_RENEWAL_OVER
               : how;
}
