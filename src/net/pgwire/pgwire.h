/*
 * pgwire.h - the PostgreSQL frontend/backend protocol, version 3.0, on a connection of the loop.
 */
#ifndef ALM_NET_PGWIRE_PGWIRE_H
#define ALM_NET_PGWIRE_PGWIRE_H

#include "net/loop.h"

extern const alm_protocol alm_pg_protocol;

/* What the connections of one listener share (password verifiers, cancel keys); alm_conn_arg. */
typedef struct alm_pg alm_pg;
ALM_NODISCARD alm_status alm_pg_new(alm_ctx *cx, alm_db *db, alm_pg **out);
void alm_pg_free(alm_pg *pg);
/* From here on clients may ask for TLS. It must outlive the listener. */
void alm_pg_use_tls(alm_pg *pg, const alm_tls *tls);

#endif
