/*
 * session_cookie.h - a login kept in a cookie, for pages: whoever was let in by user and password and asks for it
 * (session=true) gets one, and each request with it renews it. Private to net/.
 *
 * Form        qs1, then in hexadecimal: when it ends (8 bytes), 8 random bytes, HMAC-SHA256 of these under a key that
 *             is made when the server starts. Nothing is kept: a restart ends all of them.
 * Time        http.session.timeout without a request. Threads: the loop thread; the key is read-only.
 */
#ifndef ALM_NET_HTTP_SESSION_COOKIE_H
#define ALM_NET_HTTP_SESSION_COOKIE_H

#include "net/http/http.h"

/* Does the request have one that holds? */
bool alm_session_cookie_is_good(const alm_http *h);
/* The answer has a new one; or tells the browser to forget it. */
void alm_session_cookie_give(alm_http *h);
void alm_session_cookie_take(alm_http *h);

#endif
