/*
 * session_cookie.h - a login kept in a cookie, for pages: whoever was let in by user and password and asks for it
 * (session=true) gets one, and each request with it renews it. Private to net/.
 *
 * Form        qs1, then in hexadecimal: when it ends, when the session began, its random number (8 bytes each), HMAC-SHA256 of these
 *             under a key that is made when the server starts. A restart ends all of them.
 * Time        http.session.timeout without a request, http.session.lifetime.max in all.
 * End         session=false: the number is kept until the last cookie that was given under it is over, too.
 * Threads     Any loop thread; the key is read-only, the list of ended sessions has a lock.
 */
#ifndef ALM_NET_HTTP_SESSION_COOKIE_H
#define ALM_NET_HTTP_SESSION_COOKIE_H

#include "net/http/exchange/http.h"

/* Does the request have one that holds? */
bool alm_session_cookie_is_good(const alm_http *http);
/* The answer has a new one, of the request's session if it has one. */
void alm_session_cookie_give(alm_http *http);
/* The session of the request's cookie is over, and the browser is told to forget it. */
void alm_session_cookie_take(alm_http *http);

struct alm_ended_sessions;
struct alm_ended_sessions *alm_ended_sessions_new(void); /* NULL: no memory */
void alm_ended_sessions_free(struct alm_ended_sessions *ended);

#endif
