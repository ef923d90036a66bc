/*
 * link.h - where the statements of the client run: a server over the PostgreSQL protocol, or a data
 * directory in this process. Both give cells as the texts of the PostgreSQL protocol.
 *
 * Errors      The status of the context; sql_pos counts bytes of the statement. What the server said has
 *             its SQLSTATE in link->sqlstate; "" there: the client itself failed.
 * Threads     One, but for cancel, which may be called in a signal handler.
 */
#ifndef ALM_CLI_LINK_H
#define ALM_CLI_LINK_H

#include <stdio.h>

#include "cli/output.h"

typedef struct alm_link alm_link;

struct alm_link {
    /* One statement: its rows go to `out`; *tag, borrowed until the next run, is what it did. */
    alm_status (*run)(alm_ctx *cx, alm_link *link, alm_str sql, alm_out *out, const char **tag);
    void (*cancel)(alm_link *link);
    void (*close)(alm_link *link);
    FILE *input; /* rows of COPY FROM STDIN; NULL: there are none */
    char sqlstate[6];
    bool lost; /* the connection is gone */
};

typedef struct alm_link_options {
    const char *dir; /* NULL: a server */
    const char *host, *port, *user;
} alm_link_options;

ALM_NODISCARD alm_status alm_link_wire(alm_ctx *cx, const alm_link_options *options,
                                       alm_link **out);
ALM_NODISCARD alm_status alm_link_dir(alm_ctx *cx, const char *dir, alm_link **out);
/* How cells of a type with this OID are to be read. */
alm_cell_kind alm_link_kind(uint32_t oid);

#endif
