/*
 * login.h - HTTP Basic login (http.user, http.password). Without http.user everybody is let in, and
 * the listener then takes loopback addresses only (net.c).
 */
#ifndef ALM_NET_HTTP_LOGIN_H
#define ALM_NET_HTTP_LOGIN_H

#include "net/http/http.h"

/* False: a 401 with a challenge was sent. */
bool alm_http_login(alm_http *h);

#endif
