/*
 * tables.h - the tables on top of the wings, which open.c hands to the database. Private to session/.
 */
#ifndef ALM_SESSION_TABLES_H
#define ALM_SESSION_TABLES_H

#include "session/core/session_state.h"

extern const alm_statement alm_statements[]; /* by alm_stmt_kind */
/* Lists for table functions: alm_exec_env.texts. */
alm_status alm_session_texts(alm_ctx *cx, const char *what, const char *const **cells,
                             size_t *rows);

#endif
