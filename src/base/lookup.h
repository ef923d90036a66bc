/*
 * lookup.h - what functions may ask about the session and its tables: settings, object numbers.
 *
 * Kernels see columns only. The few functions that tools of PostgreSQL call about the server itself
 * (current_setting, to_regclass, pg_table_size) ask through cx->lookup, which the session fills in.
 *
 * Null rule   cx->lookup is NULL where no session is (unit tests, the library): nothing is known.
 * Ownership   Texts are in the arena given, or live as long as the statement.
 * Threads     Called from any thread that runs the statement.
 */
#ifndef ALM_BASE_LOOKUP_H
#define ALM_BASE_LOOKUP_H

#include "base/base.h"

typedef enum alm_relation_text {
    ALM_RELATION_NAME,      /* as regclass is shown: with its schema only where it needs one */
    ALM_RELATION_INDEX,     /* CREATE INDEX ... of an index */
    ALM_RELATION_COLUMN,    /* the column of an index */
    ALM_RELATION_VIEW,      /* query of a view */
    ALM_FUNCTION_NAME,      /* of a function of pg_proc */
    ALM_FUNCTION_SIGNATURE, /* as regprocedure is shown: name(types) */
    ALM_FUNCTION_RESULT,    /* its type */
    ALM_FUNCTION_ARGUMENTS  /* their types */
} alm_relation_text;

/* Addresses of a connection as text, without ports; "" and 0: there is none. */
typedef struct alm_ends {
    char client[64], server[64];
    int32_t client_port, server_port;
} alm_ends;

typedef struct alm_lookup {
    void *arg;
    /* *out = NULL: no such setting. */
    alm_status (*setting)(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, const char **out);
    /* local: to the end of the transaction. */
    alm_status (*set)(alm_ctx *cx, void *arg, alm_arena *arena, alm_str name, alm_str value,
                      bool local);
    /* Number of a relation by name, schema and quotes allowed; 0: there is none. */
    alm_status (*relation)(alm_ctx *cx, void *arg, alm_str name, int32_t *oid);
    /* *out = NULL: no relation of that number. */
    alm_status (*relation_text)(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid,
                                alm_relation_text what, const char **out);
    /* Number of a function by its name, or by name and types, `round(double precision, bigint)`; 0: there is none;
     * `several`: which is not said. */
    alm_status (*function)(alm_ctx *cx, void *arg, alm_str name, int32_t *oid, bool *several);
    /* Bytes on disk of a table; 0 for what is none; -1: no such relation. oid 0: all tables that the user may list. */
    alm_status (*bytes)(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int64_t *out);
    /* COMMENT ON a relation, or (column > 0) on one of its columns; *out = NULL: none. */
    alm_status (*comment)(alm_ctx *cx, void *arg, alm_arena *arena, int32_t oid, int32_t column,
                          const char **out);
    /* Ends the statement of that number, or the one that runs on the connection of that number. *done:
     * it ran, and the user may. */
    void (*cancel)(void *arg, int64_t number, bool of_connection, bool *done);
    /* Closes the connection of that number of the PostgreSQL protocol. *done: it was there, and the user may. */
    void (*terminate)(void *arg, int64_t number, bool *done);
    /* Reads the settings again, or the certificates alone. *changed: something was taken over. */
    alm_status (*reload)(alm_ctx *cx, void *arg, bool certificates, int32_t pos, bool *changed);
    /* Answers of the identity provider about tokens count no more. */
    alm_status (*forget_users)(alm_ctx *cx, void *arg, int32_t pos);
    /* The folder below which files that statements name are read; an error where that is off. */
    alm_status (*import_folder)(alm_ctx *cx, void *arg, alm_arena *arena, const char **out);
    int64_t started_us; /* wall clock when the server opened the database */
    int32_t pid;        /* number of the connection, by which it is cancelled */
    const alm_ends *ends;
} alm_lookup;

#endif
