/*
 * renewal.h - what goes on for a user of the identity provider: a body that comes in, a COPY, a statement, an answer that goes out. What the
 * provider said about him counts for acl.oidc.cache.ttl alone, so it is asked again meanwhile, with what he logged in with.
 *
 * Due         The answer is stale, or somebody logged out or had the answers forgotten since (alm_oidc_forgets). While one thing goes on, at
 *             most four times a second, however short an answer counts.
 * Ways        Between pieces the connection waits for the answer (alm_renewal_ask, alm_renewal_take). Beside a piece that runs, the tick of
 *             the connection asks and looks (alm_renewal_beside); who he is by then is taken over before the next piece.
 * Ends        A refusal ends all that began with that principal (alm_login_refused). Without an answer what goes on ends: what is stale is
 *             never served.
 * Threads     The loop thread of the connection; an answer beside comes on another, which touches nothing but the question.
 */
#ifndef ALM_NET_RENEWAL_H
#define ALM_NET_RENEWAL_H

#include "session/access/login.h"
#include "session/access/renewal.h"

typedef enum alm_renewed {
    ALM_RENEWED, /* he may go on, maybe as alm_renewal.newer */
    ALM_RENEWAL_AWAY,
    ALM_RENEWAL_OVER
} alm_renewed;

struct alm_renewal_question;

typedef struct alm_renewal {
    alm_credential *credential; /* NULL: it is of no user of the provider */
    int64_t until_ns, asked_ns;
    uint64_t forgets;
    bool asking;          /* alm_renewal_ask is under way */
    alm_principal *newer; /* who he is now: in other groups, say; NULL: as before */
    struct alm_renewal_question *beside;
} alm_renewal;

/* The texts are taken (alm_credential_new); `answer` is that to them. False: no memory. */
bool alm_renewal_begin(alm_renewal *renewal, char *token, char *name, char *password,
                       const alm_oidc_wait *answer);
/* Zeroed again; of one that was not begun, too. */
void alm_renewal_end(alm_renewal *renewal);
static inline bool alm_renewal_is_one(const alm_renewal *renewal)
{
    return renewal->credential != NULL;
}

bool alm_renewal_is_stale(const alm_renewal *renewal, alm_db *db);
bool alm_renewal_is_due(const alm_renewal *renewal, alm_db *db);
/* As alm_oidc_ask. */
bool alm_renewal_ask(alm_renewal *renewal, alm_db *db, alm_oidc_wait *wait);
/* The answer about who was `who`. */
alm_renewed alm_renewal_take(alm_renewal *renewal, alm_db *db, alm_principal *who,
                             const alm_oidc_wait *answer);
/* For the tick, while a piece runs for `who`: asks where that is due; what was heard since. Who has left a group since the piece began
 * may have no more of it: OVER. */
alm_renewed alm_renewal_beside(alm_renewal *renewal, alm_db *db, alm_principal *who);

#endif
