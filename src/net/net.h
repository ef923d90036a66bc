/*
 * net.h - the listeners of the server: HTTP (REST), PostgreSQL wire, health port. Turns bytes into
 * calls of session/ and results into bytes, and nothing else.
 *
 * Threads     Event loops (libuv) own the sockets; statements that are not short run on query threads.
 *             start and stop are called by the main thread.
 */
#ifndef ALM_NET_NET_H
#define ALM_NET_NET_H

#include "session/session.h"

typedef struct alm_net alm_net;

/* Binds every enabled listener of the configuration and serves. Fails without leaving anything
 * behind: address in use, bad address, or an address that is not loopback while the listener has no
 * authentication or factory credentials (the message says which keys to set). */
ALM_NODISCARD alm_status alm_net_start(alm_ctx *cx, alm_db *db, alm_net **out);
/*
 * A new configuration while it serves. `next` is what the settings would be: it is checked like that of a start, and
 * the files of certificates are read; then `take` makes the settings so; then certificates, accounts and the number of
 * query threads follow. On an error nothing has changed. *changed is set where certificates were read.
 */
ALM_NODISCARD alm_status alm_net_reload(alm_ctx *cx, alm_net *net, const struct alm_conf *next,
                                        alm_status (*take)(alm_ctx *cx, void *arg), void *arg,
                                        bool *changed);
/* The files of certificates alone. */
ALM_NODISCARD alm_status alm_net_certificates(alm_ctx *cx, alm_net *net, bool *changed);
/* Stops listening, gives running statements grace_ms, then cancels them; closes all connections. */
void alm_net_stop(alm_net *net, int64_t grace_ms);
/* "127.0.0.1:9000" of a listener ("http", "pg", "health", "line") as bound; NULL: not enabled. */
const char *alm_net_address(const alm_net *net, const char *listener);

#endif
