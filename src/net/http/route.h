/*
 * route.h - the endpoints of route.def: which of them answers a path and a method. Private to net/http.
 */
#ifndef ALM_NET_HTTP_ROUTE_H
#define ALM_NET_HTTP_ROUTE_H

#include "net/http/exchange/http.h"

enum { ALM_HTTP_METHODS_BYTES = 128 };

/* Rows in the order of route.def. */
size_t alm_http_route_count(void);
const alm_http_route *alm_http_route_at(size_t i);
/* The row of a path that takes the method; NULL: none, and *known tells whether the path is there at all. */
const alm_http_route *alm_http_route_find(alm_str path, alm_str method, bool *known);
/* Where nothing else has the path: a file of the folder for it. NULL: not by this method. */
const alm_http_route *alm_http_route_public(alm_str method);
/* "GET, HEAD, OPTIONS": all that a path takes, `path` "*": all that any does. */
void alm_http_route_methods(alm_str path, char out[ALM_HTTP_METHODS_BYTES]);

#endif
