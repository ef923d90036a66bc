/*
 * login.h - HTTP Basic login (http.user, http.password). Without http.user everybody is let in, and
 * the listener then takes loopback addresses only (net.c).
 */
#ifndef ALM_NET_HTTP_LOGIN_H
#define ALM_NET_HTTP_LOGIN_H

#include "auth/rights.h"
#include "net/http/exchange/http.h"

/* Calls alm_http_let_in, http->known if he is, or sends a 401 with a challenge; after failures that happens later, with the connection
 * paused until then. */
void alm_http_login(alm_http *http);
/*
 * With access control: Basic and REST tokens of the users of the catalogue, and cookies (session_store.h). Sets http->who and calls
 * alm_http_let_in, or answers 400, 401, 403; where http->login_free, whom it does not take is let in as nobody. A password that has to be hashed is checked on another thread: then that happens
 * after this has returned, with the connection paused until it does.
 */
void alm_http_login_acl(alm_http *http);

/* ------------------------------------------------------ between acl.c and oidc.c */

/* 401, or on without a user where that will do (http->login_free). bearer: a token was not taken. */
void alm_http_unauthorized(alm_http *http, bool bearer);
/* On, if the end point HTTP may be used. token: what a session that begins here lives by; ptr NULL: by nothing. */
void alm_http_let_principal_in(alm_http *http, alm_principal *who, alm_str token, bool by_cookie);
/* A token of the identity provider, from the header or from a session: goes on as alm_http_login_acl does, maybe later. */
void alm_http_login_external(alm_http *http, alm_str token, bool by_cookie);
/* Name and password of a user of the provider (acl.oidc.ropc.flow.enabled), likewise; delay_ms: after failures. */
void alm_http_login_password(alm_http *http, alm_str name, alm_str password, int64_t delay_ms);
/* Whom the login does not take may go on as nobody? True: he has. */
bool alm_http_goes_on_as_nobody(alm_http *http);
/* 403, with the reason beside it: no groups, none that is known here, none that has the end point. */
void alm_http_deny_external(alm_http *http, const alm_principal *who, const char *message);

/* ----------------------------------------------------------- again.c: what has begun */

/* Before a piece of the body, and its end, are looked at. False: the connection waits for the provider, and the bytes come again. Whose
 * login or session is over, or whom the provider cannot be asked about, is refused by what the piece does. */
bool alm_http_piece_may(alm_http *http);
/* As alm_conn_work, for another piece of the answer or of what came: who asks is asked about again first, where that is due. */
void alm_http_work(alm_http *http, void (*work)(void *arg), void (*done)(alm_conn *conn, void *arg),
                   void *arg);
/* For the tick: true: what goes on for the request has been told to end. */
bool alm_http_is_cut(alm_http *http);

#endif
