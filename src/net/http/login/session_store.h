/*
 * session_store.h - cookie sessions of users, with access control: who it is stands here, the cookie has a random id.
 *
 * Cookie      "qdb_session=qs1" and 32 random bytes in base64url; HttpOnly, SameSite=Strict, Secure under TLS. Kept is its SHA-256.
 * Life        http.session.timeout since the last use. A used id is replaced once half of that is over; the old one is good
 *             for another minute, for requests under way. session=false ends it at once. Nothing outlives the process.
 *             It ends http.session.lifetime.max after the login, and with the login: another password, DISABLE, DROP USER, the end
 *             of the token (alm_login_stands). Each request looks.
 * Under way   A request by cookie has the life of its session: DROP SESSION, session=false and http.session.lifetime.max end what has begun by
 *             it, too. A session that is idle, or gives its place to another, ends for requests to come alone.
 * Tokens      A session of an external user is as good as the token of the identity provider that it began with, no longer: that is kept
 *             beside it, here alone, and wiped with it.
 * Limits      http.session.user.max of one user, http.session.max of all: the one that he used longest ago goes for a new one of his; where
 *             all places are taken, that of the user who has most.
 * Threads     Any loop thread; the store has a lock.
 */
#ifndef ALM_NET_HTTP_SESSION_STORE_H
#define ALM_NET_HTTP_SESSION_STORE_H

#include "auth/rights.h"
#include "net/http/exchange/http.h"

struct alm_session_store;
struct alm_session_store *alm_session_store_new(void);        /* NULL: no memory */
void alm_session_store_free(struct alm_session_store *store); /* NULL: nothing */

/* SHOW SESSIONS lists them, and DROP SESSION ends one, until the store is freed. */
void alm_session_store_listed(struct alm_session_store *store, alm_db *db);
/* Who the request's cookie stands for, one reference to the caller; NULL: none, or it is over. *token: what the session was begun with,
 * if it lives by that, malloc'd; else NULL. */
alm_principal *alm_session_store_find(alm_http *http, char **token);
/* alm_monotonic_ns() of the login with which the session of the request's cookie began; 0: there is none. */
int64_t alm_session_store_born(alm_http *http);
/* The life of the session that the request's cookie is of, one reference to the caller; NULL: there is none. */
alm_cookie_life *alm_session_store_life(const alm_http *http);
/* Has somebody ended it, or is it as old as it may be? */
bool alm_cookie_is_over(const alm_cookie_life *life, const struct alm_conf *conf);
void alm_cookie_release(alm_cookie_life *life); /* NULL: nothing */
/* A cookie of this user with the answer; the session of the cookie that the request has is over. token.ptr NULL: the session lives by itself,
 * as none of a user of the provider may. */
void alm_session_store_begin(alm_http *http, alm_principal *who, alm_str token);
/* The request's session goes on: with another id, if it is time for that. */
void alm_session_store_used(alm_http *http);
/* The request's session is over; false: it had none. */
bool alm_session_store_end(alm_http *http);

#endif
