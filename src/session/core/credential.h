/*
 * credential.h - what a user of the identity provider logged in with, while something goes on by it: the provider is asked with it again. His
 * connection has it, and the jobs that this one began (COPY from and to files), which ask themselves: each has a thread of its own.
 *
 * Secrets     Wiped when the last lets go of it.
 * Threads     Counted; immutable.
 */
#ifndef ALM_SESSION_CREDENTIAL_H
#define ALM_SESSION_CREDENTIAL_H

#include "auth/oidc.h"
#include "session/session.h"

typedef struct alm_credential {
    _Atomic uint32_t refs;
    char *token;           /* of the provider; or NULL */
    char *name, *password; /* where there is no token; or NULL */
    int64_t began_ns;      /* alm_oidc_wait.began_ns of the log-in: a log-out since then ends it */
} alm_credential;

/* The least time between two questions about one thing that goes on, however short an answer counts. */
#define ALM_CREDENTIAL_BETWEEN_NS INT64_C(250000000)

/* The texts are malloc'd, and taken: a token, or name and password. NULL: no memory. */
alm_credential *alm_credential_new(char *token, char *name, char *password, int64_t began_ns);
alm_credential *alm_credential_retain(alm_credential *credential); /* NULL: NULL */
void alm_credential_release(alm_credential *credential);           /* NULL: nothing */

/* Who the session is for now logged in with it; NULL: not with the provider. Kept until it becomes somebody else. */
void alm_session_lives_by(alm_session *session, alm_credential *credential);

#endif
