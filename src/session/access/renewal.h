/*
 * renewal.h - asks the identity provider again about who logged in with a credential (core/credential.h).
 */
#ifndef ALM_SESSION_RENEWAL_H
#define ALM_SESSION_RENEWAL_H

#include "session/core/credential.h"

/* As alm_oidc_ask. */
bool alm_credential_ask(const alm_credential *credential, alm_db *db, alm_oidc_wait *wait);
/* Of a job, on its thread: the provider is asked where that is due; the session is for who that is now. ALM_E_LOGIN_OVER, ALM_E_PROVIDER. */
ALM_NODISCARD alm_status alm_session_renew(alm_ctx *cx, alm_session *session);

#endif
