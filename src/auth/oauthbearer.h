/*
 * oauthbearer.h - OAUTHBEARER (RFC 7628), the SASL mechanism by which PostgreSQL 18 clients send a bearer token: the client's message.
 *
 * Errors      ALM_E_PROTOCOL with the reason, in words that hold nothing of the message.
 */
#ifndef ALM_AUTH_OAUTHBEARER_H
#define ALM_AUTH_OAUTHBEARER_H

#include "base/base.h"

/* The token of the message, borrowed; len 0: the client has none, and asks where to get one. An authorization identity and
 * channel binding are refused: the token says who the user is. */
ALM_NODISCARD alm_status alm_oauthbearer_read(alm_ctx *cx, alm_str message, alm_str *token);

#endif
