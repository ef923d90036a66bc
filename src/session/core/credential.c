/* credential.c - see credential.h. */
#include "session/core/credential.h"

#include <stdlib.h>

#include "auth/token.h"
#include "session/core/session_state.h"

alm_credential *alm_credential_new(char *token, char *name, char *password, int64_t began_ns)
{
    ALM_ASSERT((token != NULL) != (name != NULL && password != NULL));
    alm_credential *credential = calloc(1, sizeof *credential);
    if (credential == NULL) {
        alm_secret_free(token);
        alm_secret_free(password);
        free(name);
        return NULL;
    }
    credential->refs = 1;
    credential->token = token;
    credential->name = name;
    credential->password = password;
    credential->began_ns = began_ns;
    return credential;
}

alm_credential *alm_credential_retain(alm_credential *credential)
{
    if (credential != NULL)
        (void)atomic_fetch_add_explicit(&credential->refs, 1, memory_order_relaxed);
    return credential;
}

void alm_credential_release(alm_credential *credential)
{
    if (credential == NULL ||
        atomic_fetch_sub_explicit(&credential->refs, 1, memory_order_acq_rel) != 1)
        return;
    alm_secret_free(credential->token);
    alm_secret_free(credential->password);
    free(credential->name);
    free(credential);
}

void alm_session_lives_by(alm_session *session, alm_credential *credential)
{
    alm_credential *old = session->credential;
    session->credential = alm_credential_retain(credential);
    alm_credential_release(old);
}
