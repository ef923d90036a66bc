/*
 * access.h - the one question of access control: may who runs this statement do that? The binder asks for tables and
 * columns, ingestion for rows, lists for what they show; auth/ knows the answer, through what session/ puts into
 * cx->access.
 *
 * Names       A name that a client wrote goes through alm_access_gate before it is looked for: who may not list what it
 *             is of gets the answer of a table that is there and not allowed, whether it is there or not.
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
    const char *ts;  /* designated timestamp: may be read where any other column may be; or NULL */
    bool any_column; /* one column will do, whichever */
    const char *instead; /* a permission on the database that will do as well; or NULL */
    const char *view;    /* in whose query it stands: its definer is asked for; or NULL */
    int32_t pos;         /* for the error */
    bool quiet; /* what to show is asked, nobody tried anything: a refusal is not recorded */
} alm_access_ask;

typedef struct alm_access {
    void *arg;
    alm_status (*may)(alm_ctx *cx, void *arg, const alm_access_ask *ask);
    /* Has the user any permission on the table? (lists show it only then) */
    bool (*sees)(alm_ctx *cx, void *arg, const char *table);
    /* Does the view have another definer than who reads it (`reader`: the view that does; NULL: the user)? Then it may hide
     * rows from him. */
    bool (*hides)(alm_ctx *cx, void *arg, const char *view, const char *reader);
} alm_access;

/* The database (table NULL), or a table as a whole. */
static inline alm_status alm_access_may(alm_ctx *cx, const char *permission, const char *table,
                                        int32_t pos)
{
    const alm_access_ask ask = {.permission = permission, .table = table, .pos = pos};
    return cx->access == NULL ? ALM_OK : cx->access->may(cx, cx->access->arg, &ask);
}

/* Is it granted on the database? */
static inline bool alm_access_has(alm_ctx *cx, const char *permission)
{
    const alm_access_ask ask = {.permission = permission, .pos = -1, .quiet = true};
    if (cx->access == NULL || cx->access->may(cx, cx->access->arg, &ask) == ALM_OK)
        return true;
    alm_error_clear(cx);
    return false;
}

/* Any column of the table. */
static inline alm_status alm_access_any(alm_ctx *cx, const char *permission, const char *table,
                                        int32_t pos)
{
    const alm_access_ask ask = {
        .permission = permission, .table = table, .any_column = true, .pos = pos};
    return cx->access == NULL ? ALM_OK : cx->access->may(cx, cx->access->arg, &ask);
}

static inline bool alm_access_hides(alm_ctx *cx, const char *view, const char *reader)
{
    return cx->access != NULL && cx->access->hides(cx, cx->access->arg, view, reader);
}

static inline bool alm_access_sees(alm_ctx *cx, const char *table)
{
    return cx->access == NULL || cx->access->sees(cx, cx->access->arg, table);
}

/* `text`, the query of a view or why that fails, if the user has SELECT on the whole view, else NULL: it names the tables and columns
 * that the view reads, which the user may not be allowed to list. */
static inline const char *alm_access_text(alm_ctx *cx, const char *view, const char *text)
{
    const alm_access_ask ask = {.permission = "SELECT", .table = view, .pos = -1, .quiet = true};
    if (cx->access == NULL || cx->access->may(cx, cx->access->arg, &ask) == ALM_OK)
        return text;
    alm_error_clear(cx);
    return NULL;
}

/* May who asks list a table of that name, if there is one? By any permission on it, which may have been granted before it is made. */
ALM_NODISCARD alm_status alm_access_lists(alm_ctx *cx, alm_str name, bool *out);
/*
 * ALM_E_DENIED for the permission of `ask` (whose table and columns count for nothing) on the table `name` and `columns`, if who asks
 * may not list the table. ALM_OK: look for it, and ask alm_access_may of what is found.
 */
ALM_NODISCARD alm_status alm_access_gate(alm_ctx *cx, const alm_access_ask *ask, alm_str name,
                                         const alm_str *columns, uint32_t n_columns);

static inline alm_status alm_access_name(alm_ctx *cx, const char *permission, alm_str name,
                                         int32_t pos)
{
    const alm_access_ask ask = {.permission = permission, .pos = pos};
    return cx->access == NULL ? ALM_OK : alm_access_gate(cx, &ask, name, NULL, 0);
}

#endif
