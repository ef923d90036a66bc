/*
 * statement.h - the statements: what they share, and what runs each kind. Private to session/.
 *
 * A runner (alm_run_*) is called by alm_execute through the table of kinds, when the statement may run, with its snapshot taken and its
 * parameters in place. It leaves on the cursor what the client is told: rows, affected rows, tag, notices.
 */
#ifndef ALM_SESSION_STATEMENT_H
#define ALM_SESSION_STATEMENT_H

#include "session/core/session_state.h"

/* ---------------------------------------------------------------- planning */

/* lookup.c. Lets functions of this execution ask for settings and object numbers. */
void alm_cursor_lookup(alm_cursor *cursor);
/* plan_env.c */
void alm_plan_env_init(alm_plan_env *env, alm_cursor *cursor, alm_param *params, uint32_t n_params);
/* What the operators of every plan are given, so that SELECT and statements that write read the same rows. */
alm_exec_env alm_db_exec_env(const alm_db *db, alm_snapshot *snapshot);
/* prepared.c. The tree of a statement whose plan was found by its text. */
ALM_NODISCARD alm_status alm_prepared_parse(alm_ctx *cx, alm_prepared *prepared);
/* alm_look_end of a statement of that text; what took too long is a line of the log. */
void alm_statement_looked(alm_str text);
/* show.c. The query that answers SHOW what; NULL where it is a setting. Fails if it names an unknown table. */
alm_status alm_show_select(alm_cursor *cursor, const alm_stmt *stmt, alm_select **out);

/* check.c. Names, types and permissions of the statement, without running it. */
ALM_NODISCARD alm_status alm_stmt_check(alm_cursor *cursor, const alm_plan_env *env,
                                        const alm_stmt *stmt, alm_checked *out);

/* ---------------------------------------------------------------- running */

/* select.c. Plans the query, or takes the plan that is kept for the statement, and opens it. */
alm_status alm_run_select(alm_cursor *cursor, alm_select *select, alm_param *params, uint32_t n);
ALM_NODISCARD alm_status alm_run_prepared(alm_cursor *cursor, alm_param *params, uint32_t n);
/* Limit of the plan of that statement with cursor->options; 0: all rows. */
int64_t alm_cursor_plan_limit(const alm_cursor *cursor);
/* Operators for cursor->plan, at their first row. */
ALM_NODISCARD alm_status alm_cursor_open_plan(alm_cursor *cursor);
/* fetch.c. One STRING column with n texts as the cursor's result. */
alm_status alm_cursor_texts(alm_cursor *cursor, const char *column, const char *const *texts,
                            size_t n);
/* Leaves out the rows before the last options.last_rows, where the plan does not. */
ALM_NODISCARD alm_status alm_cursor_skip_to_last(alm_cursor *cursor);
/* ALM_E_IO: rows that were read since the statement began may be zeros in the place of bytes that were gone. */
ALM_NODISCARD alm_status alm_cursor_check_maps(alm_cursor *cursor);
/* dml.c. Rows of one plan run to the end and handed to `sink`. */
alm_status alm_run_plan(alm_cursor *cursor, const alm_plan *plan, alm_snapshot *snapshot,
                        alm_status (*sink)(alm_ctx *cx, void *arg, const alm_batch *batch),
                        void *arg);
/* New values of n_set columns and then the position of the row, as the plan of an UPDATE gives them,
 * to the update; n_set == 0: the rows of a DELETE. */
alm_status alm_run_update_plan(alm_cursor *cursor, const alm_plan *plan, const alm_table *table,
                               uint32_t n_set, alm_update *update);
/* returning.c. Before a plan runs whose columns from `first` on are those of RETURNING, if the statement has that; again when
 * it is planned anew. Then each batch; then, when the change is made, the rows. */
alm_status alm_returning_begin(alm_cursor *cursor, const alm_stmt *stmt, const alm_plan *plan,
                               uint32_t first);
alm_status alm_returning_keep(alm_cursor *cursor, const alm_batch *batch);
void alm_returning_next(alm_cursor *cursor, alm_batch **out);
int64_t alm_returning_rows(const alm_cursor *cursor); /* that are still to come */

/* ---------------------------------------------------------------- changes of the catalogue */

/* ddl.c. IF NOT EXISTS, IF EXISTS: the statement leaves this out. `what`: "table", "view" ... */
void alm_note_exists(alm_cursor *cursor, alm_str relation);
void alm_note_missing(alm_cursor *cursor, const char *what, alm_str name);
/* The same of what IF EXISTS named in schemas that are not there. */
void alm_note_absent(alm_cursor *cursor, const char *what, const alm_stmt *stmt);
/* The table; NULL: it is not there, or IF EXISTS and who asks may not list it. Without IF EXISTS that is ALM_E_DENIED. */
alm_status alm_find_listed(alm_cursor *cursor, const alm_stmt *stmt, alm_str name, int32_t pos,
                           const alm_table **out);
/* alter.c. ALTER TABLE on what the cursor sees, with records of the catalogue; ALM_E_STALE: look again. */
ALM_NODISCARD alm_status alm_alter_with(alm_cursor *cursor, const alm_stmt *stmt,
                                        const alm_records_change *records);
/* view.c. After a change of the catalogue: columns and validity of the views that read what changed. */
alm_status alm_views_settle(alm_cursor *cursor, alm_stmt_kind kind);
/* refresher.c. The threads that refresh materialized views by themselves. */
alm_status alm_refresher_start(alm_ctx *cx, alm_db *db);
void alm_refresher_stop(alm_db *db);

/* ---------------------------------------------------------------- other sessions */

/* activity_list.c. Ends the statement of that number, or that on the connection of that number. A read-only session may end
 * those of its user. */
alm_cancelled alm_activity_cancel(const alm_session *session, int64_t number, bool of_connection);
/* Rows of ALM_ACTIVITY_CELLS texts: statement, connection, begin, user, protocol, state, text, application, address and port of the
 * client (NULL: none), begin of the session. */
enum { ALM_ACTIVITY_CELLS = 11 };
alm_status alm_activity_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* Rows of two texts: name of an account of memory, bytes. */
alm_status alm_memory_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* session_list.c */
alm_status alm_sessions_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* The connection of the PostgreSQL protocol of that number. False: there is none, or the user may not end it. */
bool alm_session_terminate(alm_session *session, int64_t pid);

/* ---------------------------------------------------------------- each kind */

#define ALM_STATEMENT(kind, tag, words, at, parse, does, permission, check, run)                   \
    alm_status check(alm_cursor *c, const alm_plan_env *env, const alm_stmt *stmt,                 \
                     alm_checked *out);                                                            \
    alm_status run(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n);
#include "sql/parse/statement.def"
#undef ALM_STATEMENT

#endif
