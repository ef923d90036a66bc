/*
 * host.h - is the name in the Host header one of this server? A page of any site can let its own name stand for
 * 127.0.0.1 (DNS rebinding): its requests are then of the same origin for the browser, and no rule about other sites
 * holds them. What cannot be such a name is taken: addresses, localhost, names without a dot; others by
 * http.host.names. Private to net/.
 */
#ifndef ALM_NET_HTTP_HOST_H
#define ALM_NET_HTTP_HOST_H

#include "base/conf.h"

/* The value of the Host header, ptr NULL: there is none, which no browser does. */
bool alm_http_host_is_ours(const struct alm_conf *conf, alm_str host);

#endif
