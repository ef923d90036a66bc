/*
 * pgwire.h - the PostgreSQL frontend/backend protocol, version 3.0, on a connection of the loop.
 */
#ifndef ALM_NET_PGWIRE_PGWIRE_H
#define ALM_NET_PGWIRE_PGWIRE_H

#include "auth/scram.h"
#include "net/conn/loop.h"

extern const alm_protocol alm_pg_protocol;

/* What the connections of one listener share (password verifiers, cancel keys); alm_conn_arg. */
typedef struct alm_pg alm_pg;
ALM_NODISCARD alm_status alm_pg_new(alm_ctx *cx, alm_db *db, alm_pg **out);
void alm_pg_free(alm_pg *pg);
/* Clients may ask for TLS while there is something in the slot, which outlives the listener. */
void alm_pg_use_tls(alm_pg *pg, alm_tls_slot *tls);
/* Verifiers of the passwords of `conf`; to be taken over when all else of a new configuration is sound. */
typedef struct alm_pg_accounts {
    alm_scram_verifier admin, reader;
} alm_pg_accounts;
ALM_NODISCARD alm_status alm_pg_accounts_make(alm_ctx *cx, const alm_pg *pg,
                                              const struct alm_conf *conf, alm_pg_accounts *out);
void alm_pg_accounts_take(alm_pg *pg, const alm_pg_accounts *accounts);

#endif
