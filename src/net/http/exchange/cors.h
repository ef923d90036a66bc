/*
 * cors.h - which pages of other origins may read answers (the CORS protocol of the Fetch standard), by http.cors.*.
 * Without http.cors.origins no such header is sent, and browsers keep answers from other pages. What they send gets
 * here all the same: such a request may read only (Fetch Metadata, W3C). Private to net/.
 */
#ifndef ALM_NET_HTTP_CORS_H
#define ALM_NET_HTTP_CORS_H

#include "net/http/exchange/http.h"

/* At the start: ALM_E_ARG for settings that cannot be together, or in a header. */
ALM_NODISCARD alm_status alm_http_check_conf(alm_ctx *cx, const struct alm_conf *conf);
/*
 * Did a browser send it for a page of another site, without being allowed to by http.cors.origins? Told by
 * Sec-Fetch-Site, else by Origin beside Host; programs send neither. Credentials that no browser adds by
 * itself (any Authorization but Basic) show that somebody meant it.
 */
bool alm_cors_is_foreign(const alm_http *http);
/*
 * May a browser have sent it without a script of a page that meant to: a link, a form, an image, the address bar? Then it has no
 * effect, but for reading. Scripts say that they mean it by X-Requested-With, which no page of another origin can set unless
 * http.cors.origins lists it. Programs that bring their credentials, and none of what browsers add, need not.
 */
bool alm_cors_is_unmarked(const alm_http *http);
/* Of these, what shows signs of a browser: that ends no session either. */
bool alm_cors_is_link(const alm_http *http);
/* Headers of any answer to this request. */
void alm_cors_answer(alm_http *http);
/* Headers of the answer to OPTIONS that asks whether a request may be sent. */
void alm_cors_preflight(alm_http *http, const char *methods);

#endif
