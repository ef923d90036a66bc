/*
 * ilp_tcp.h - the line protocol over TCP. Private to net/.
 *
 * What has arrived is committed at once, as one transaction; while that runs, more arrives and makes the next
 * one larger. With line.tcp.auth.db.path the client first proves that it owns a key (auth/line_keys.h); there
 * is no other answer. A bad line is logged with its reason; the lines before it are stored, and
 * the client is told why and disconnected, unless line.tcp.disconnect.on.error is off: then only the bad
 * lines are left out.
 */
#ifndef ALM_NET_ILP_ILP_TCP_H
#define ALM_NET_ILP_ILP_TCP_H

#include "net/conn/loop.h"

extern const alm_protocol alm_ilp_protocol;

#endif
