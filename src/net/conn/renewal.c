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

static void let_go(question *q)
{
    if (atomic_fetch_sub(&q->refs, 1) != 1)
        return;
    alm_principal_release(q->wait.who);
    alm_secret_free(q->wait.token);
    free(q);
}

bool alm_renewal_begin(alm_renewal *r, char *token, char *name, char *password,
                       const alm_oidc_wait *answer)
{
    ALM_ASSERT(!alm_renewal_is_one(r) && r->beside == NULL);
    *r = (alm_renewal){.credential = alm_credential_new(token, name, password, answer->began_ns),
                       .until_ns = answer->until_ns,
                       .forgets = answer->forgets,
                       .asked_ns = alm_monotonic_ns()};
    return r->credential != NULL;
}

void alm_renewal_end(alm_renewal *r)
{
    if (r->beside != NULL)
        let_go(r->beside);
    alm_principal_release(r->newer);
    alm_credential_release(r->credential);
    *r = (alm_renewal){.credential = NULL};
}

/* ------------------------------------------------------------------------- questions */

bool alm_renewal_is_stale(const alm_renewal *r, alm_db *db)
{
    return alm_renewal_is_one(r) && (alm_monotonic_ns() >= r->until_ns ||
                                     r->forgets != alm_oidc_forgets(alm_login_oidc(db)));
}

bool alm_renewal_is_due(const alm_renewal *r, alm_db *db)
{
    return alm_renewal_is_stale(r, db) &&
           (r->forgets != alm_oidc_forgets(alm_login_oidc(db)) ||
            alm_monotonic_ns() - r->asked_ns >= ALM_CREDENTIAL_BETWEEN_NS);
}

static bool put(alm_renewal *r, alm_db *db, alm_oidc_wait *wait)
{
    r->asked_ns = alm_monotonic_ns();
    return alm_credential_ask(r->credential, db, wait);
}

bool alm_renewal_ask(alm_renewal *r, alm_db *db, alm_oidc_wait *wait)
{
    ALM_ASSERT(alm_renewal_is_one(r) && !r->asking);
    r->asking = true;
    return put(r, db, wait);
}

static bool is_same_user(const alm_principal *a, const alm_principal *b)
{
    return strcmp(a->identity, b->identity) == 0;
}

/* In the same order as a rule. */
static bool is_in(const alm_principal *who, const char *group, uint32_t like)
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
    while (i < before->n_groups && is_in(now, before->groups[i], i))
        i++;
    return i < before->n_groups;
}

static alm_renewed judge(alm_renewal *r, alm_db *db, alm_principal *who,
                         const alm_oidc_wait *answer)
{
    if (answer->verdict == ALM_OIDC_AWAY)
        return ALM_RENEWAL_AWAY;
    if (answer->verdict == ALM_OIDC_REFUSED || !is_same_user(answer->who, who)) {
        alm_login_refused(db, who);
        return ALM_RENEWAL_OVER;
    }
    r->until_ns = answer->until_ns;
    r->forgets = answer->forgets;
    alm_principal_release(r->newer);
    r->newer = answer->who != who ? alm_principal_retain(answer->who) : NULL;
    return ALM_RENEWED;
}

alm_renewed alm_renewal_take(alm_renewal *r, alm_db *db, alm_principal *who,
                             const alm_oidc_wait *answer)
{
    ALM_ASSERT(r->asking);
    r->asking = false;
    return judge(r, db, who, answer);
}

/* ---------------------------------------------------------------------------- beside */

static void came(alm_oidc_wait *wait)
{
    question *q = (question *)wait;
    atomic_store(&q->answered, true);
    let_go(q);
}

static bool begin_beside(alm_renewal *r, alm_db *db)
{
    question *q = calloc(1, sizeof *q);
    if (q == NULL)
        return false;
    q->wait.done = came;
    q->refs = 2;
    r->beside = q;
    if (put(r, db, &q->wait))
        came(&q->wait);
    return true;
}

alm_renewed alm_renewal_beside(alm_renewal *r, alm_db *db, alm_principal *who)
{
    alm_renewed how = ALM_RENEWED;
    if (r->asking)
        return ALM_RENEWED; /* the connection waits for the answer itself */
    if (r->beside == NULL && alm_renewal_is_due(r, db) && !begin_beside(r, db))
        return ALM_RENEWAL_AWAY;
    question *q = r->beside;
    if (q != NULL && atomic_load(&q->answered)) {
        r->beside = NULL;
        how = judge(r, db, who, &q->wait);
        let_go(q);
    }
    return how == ALM_RENEWED && r->newer != NULL && has_lost_a_group(r->newer, who)
               ? ALM_RENEWAL_OVER
               : how;
}
