/*
 * access.h - the one question of access control: may who runs this statement do that? The binder asks for tables and
 * columns, ingestion for rows, lists for what they show; auth/ knows the answer, through what session/ puts into
 * cx->access.
 *
 * Null rule   cx->access is NULL where everything is allowed: access control is off, or the server itself asks.
 * Errors      ALM_E_DENIED, "Access denied for NAME [SELECT on t(a, b)]".
 * Threads     From any thread that runs the statement.
 */
#ifndef ALM_BASE_ACCESS_H
#define ALM_BASE_ACCESS_H

#include "base/base.h"

typedef struct alm_access_ask {
    const char *permission;     /* a name of auth/permission.def */
    const char *table;          /* NULL: the database */
    const char *const *columns; /* n of them; n == 0: the table as a whole */
    const int32_t *col_pos;     /* of each, for the error; NULL: `pos` */
    uint32_t n;
    const char *ts;   /* designated timestamp: may be read where any other column may be; or NULL */
    bool any_column;  /* one column will do, whichever */
    const char *view; /* in whose query it stands: its definer is asked for; or NULL */
    int32_t pos;      /* for the error */
} alm_access_ask;

typedef struct alm_access {
    void *arg;
    alm_status (*may)(alm_ctx *cx, void *arg, const alm_access_ask *ask);
    /* Has the user any permission on the table? (lists show it only then) */
    bool (*sees)(alm_ctx *cx, void *arg, const char *table);
} alm_access;

/* The database (table NULL), or a table as a whole. */
static inline alm_status alm_access_may(alm_ctx *cx, const char *permission, const char *table,
                                        int32_t pos)
{
    const alm_access_ask ask = {.permission = permission, .table = table, .pos = pos};
    return cx->access == NULL ? ALM_OK : cx->access->may(cx, cx->access->arg, &ask);
}

/* Any column of the table. */
static inline alm_status alm_access_any(alm_ctx *cx, const char *permission, const char *table,
                                        int32_t pos)
{
    const alm_access_ask ask = {
        .permission = permission, .table = table, .any_column = true, .pos = pos};
    return cx->access == NULL ? ALM_OK : cx->access->may(cx, cx->access->arg, &ask);
}

static inline bool alm_access_sees(alm_ctx *cx, const char *table)
{
    return cx->access == NULL || cx->access->sees(cx, cx->access->arg, table);
}

#endif
