/*
 * json.h - a request for /exec and /exp as a JSON object, and the values of a statement's parameters
 * out of a JSON list. Private to net/http.
 *
 * Types       A value becomes what the statement asks for at its $n, from its text: numbers by the digits
 *             that were sent, so that LONG256 and DECIMAL are exact. BINARY is base 64, as in results.
 */
#ifndef ALM_NET_HTTP_QUERY_JSON_H
#define ALM_NET_HTTP_QUERY_JSON_H

#include "net/http/exchange/http.h"

/* Members of the object become parameters of the request. The position of an error is a byte of `body`. */
ALM_NODISCARD alm_status alm_query_json_members(alm_ctx *cx, alm_arena *arena, alm_str body,
                                                alm_http_request *req);
/* One vector for each element of the JSON list, by the types of the statement; the position of an error is
 * where the parameter stands in the statement. */
ALM_NODISCARD alm_status alm_query_json_values(alm_ctx *cx, alm_session *session,
                                               alm_prepared *prepared, alm_str list, alm_vec **out,
                                               uint32_t *n);

#endif
