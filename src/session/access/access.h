/*
 * access.h - access control of sessions: who they are for, what that one may, lists and statements about it. Private to
 * session/, but for what session.h offers.
 *
 * Off         acl.enabled=false, and sessions that nobody logged in to (the server's own, the library): cx->access is NULL
 *             and none of this runs.
 * Epoch       Rights are looked up again when the records of the snapshot are newer than those they were made of: a
 *             statement sees every GRANT that was acknowledged before it began.
 */
#ifndef ALM_SESSION_ACCESS_H
#define ALM_SESSION_ACCESS_H

#include "auth/rights.h"
#include "base/conf.h"
#include "session/core/session_state.h"

/* Puts the rights of the session's principal into the context, and asks for the end point. Needs cursor->snapshot. */
ALM_NODISCARD alm_status alm_cursor_access(alm_cursor *cursor);
/* From here on the cursor asks for the definer of the (materialized) view, whoever runs it; for the administrator where the view has
 * none. */
ALM_NODISCARD alm_status alm_cursor_as_definer(alm_cursor *cursor, const char *view);
/* Whom the refreshes of a view count for, as alm_definer.maker; 0: the administrator, or access control is off (acl NULL). */
uint64_t alm_view_maker(const alm_db *db, const alm_acl *acl, const char *view);
/* The rights of whoever the statement runs for; NULL: everything is allowed. */
const alm_rights *alm_cursor_rights(const alm_cursor *cursor);
static inline bool alm_is_for_all(const alm_cursor *cursor)
{
    return alm_cursor_rights(cursor) == NULL;
}
/* In small letters, as grants have it; from cx->arena. */
ALM_NODISCARD alm_status alm_lower_name(alm_ctx *cx, alm_str name, const char **out);
/* "Access denied for NAME [PERMISSION]" at pos, and a line in the audit log. */
alm_status alm_access_denied(alm_cursor *cursor, int32_t pos, const char *what);
/* Lists and ends statements of others? Of a session whose rights are known. */
bool alm_may_see_others(const alm_session *session);

/* The rights of the session are those of now; of one that has a principal. ALM_E_LOGIN_OVER, ALM_E_DENIED (the interface). */
ALM_NODISCARD alm_status alm_session_refresh(alm_ctx *cx, alm_session *session);
/* The answer for cursor->rights (not NULL) or the definer of ask->view; the question is not kept. */
ALM_NODISCARD alm_status alm_access_answer(alm_cursor *cursor, const alm_access_ask *ask);
/* login.c: why the login is over, or NULL. */
const char *alm_admin_over(alm_db *db, const alm_principal *who);
const char *alm_token_over(alm_db *db, const alm_acl *acl, const alm_principal *who,
                           int64_t *until_us);
/* Runs fn until its change of records was made on what is there (somebody else may change them meanwhile). */
typedef alm_status (*alm_acl_fn)(alm_cursor *c, alm_acl_edit *edit, void *arg);
ALM_NODISCARD alm_status alm_acl_change(alm_cursor *cursor, alm_acl_fn fn, void *arg);
/* The edit as a change that goes with another; NULL: nothing changes. blind: it only adds, whatever was changed
 * meanwhile; else ALM_E_STALE then, and the statement has to look again. */
ALM_NODISCARD alm_status alm_acl_with(alm_ctx *cx, const alm_acl_edit *edit, bool blind,
                                      const alm_records_change **out);
/* An empty edit on the newest state; NULL in edit->acl: access control is off. */
ALM_NODISCARD alm_status alm_acl_edit_begin(alm_cursor *cursor, alm_acl_edit *edit);

/* Owner's grants on a new table or view (begins the edit), or on new columns of a table (goes on with it); who owns it:
 * OWNED BY or the user. */
ALM_NODISCARD alm_status alm_own_table(alm_cursor *cursor, const alm_stmt *stmt, const char *table,
                                       alm_acl_edit *edit);
/* The table goes, and with it what its owner had as owner; of whoever is no administrator, and with `cascade`, all grants on it. */
ALM_NODISCARD alm_status alm_disown(alm_cursor *cursor, alm_str table, bool cascade,
                                    alm_acl_edit *edit);
ALM_NODISCARD alm_status alm_own_columns(alm_cursor *cursor, const alm_stmt *stmt,
                                         const char *table, const alm_column *cols, uint32_t n_cols,
                                         alm_acl_edit *edit);
/* ALM_E_SYNTAX at the end of the statement where OWNED BY is needed and missing; checks the owner. *owner NULL: nobody. */
ALM_NODISCARD alm_status alm_find_owner(alm_cursor *cursor, const alm_stmt *stmt,
                                        const char **owner);

/* execute_acl.c */
alm_status alm_run_acl(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n);
/* acl_target.c: ALM_E_DENIED where the entity holds anything that the user does not: itself, by its groups, by service accounts. */
ALM_NODISCARD alm_status alm_acl_may_change(alm_cursor *cursor, const alm_acl *acl,
                                            const char *entity, int32_t pos);
/* acl_grant.c */
alm_status alm_run_grant(alm_cursor *cursor, const alm_acl_words *words);
/* acl_token.c: CREATE TOKEN as one row; its columns. */
alm_status alm_run_add_token(alm_cursor *cursor, const alm_acl_words *words);
alm_status alm_run_drop_token(alm_cursor *cursor, const alm_acl_words *words);
alm_status alm_token_cols(alm_ctx *cx, const alm_acl_words *words, const alm_plan_col **cols,
                          uint32_t *n);
/* transient.c. ALM_E_LIMIT: there are too many, and nobody has more than the token's entity. */
ALM_NODISCARD alm_status alm_transient_add(alm_ctx *cx, alm_db *db, const alm_acl *acl,
                                           const alm_token *token, int64_t now_us);
/* Those of the entity that have not ended. */
uint32_t alm_transient_count(alm_db *db, const alm_entity *entity, int64_t now_us);
bool alm_transient_find(alm_db *db, const char *hash, alm_token *out,
                        char name[ALM_ENTITY_NAME_MAX + 1]);
/* The end of the token that was found, if it is still that one. */
void alm_transient_move(alm_db *db, const alm_token *found, int64_t expires_us);
/* hash "": all of the entity. How many. */
uint32_t alm_transient_drop(alm_db *db, const char *entity, const char *hash);
/* acl_lists.c: rows for table functions. */
alm_status alm_acl_texts(alm_ctx *cx, const char *what, const char *const **cells, size_t *rows);
/* acl_ddl.c: statements, one text each; what: ddl_groups, ddl_users, ddl_accounts, ddl_members, ddl_permissions. */
alm_status alm_acl_ddl(alm_cursor *cursor, const char *what, const char *const **cells, size_t *n);

/* The entity, or ALM_E_SETTING "user does not exist [name=x]" at its name. kind 0: any. */
alm_status alm_acl_need(alm_cursor *cursor, const alm_acl *acl, const alm_acl_name *name, char kind,
                        const alm_entity **out);
/* A name that may be given (auth/entity_name.h). */
alm_status alm_acl_name_of(alm_cursor *cursor, const alm_acl_name *name, const char **out);
/* The same, or any name that an entity or a grant has: by an older version it could be another. */
alm_status alm_acl_grantee_of(alm_cursor *cursor, const alm_acl *acl, const alm_acl_name *name,
                              const char **out);
bool alm_is_admin_name(const alm_cursor *cursor, const char *name);

/* The audit log (audit.c): lines of the server's log, rows of sys.audit_log. Nothing secret goes in; texts are escaped there. */
typedef struct alm_audit_log alm_audit_log;
enum { ALM_AUDIT_DETAIL_BYTES = 2500 }; /* more is cut: say it in several rows */

typedef struct alm_audit {
    const char *event; /* login, logout, denied, acl, ddl, export, read */
    const char *user,
        *identity; /* who it counts for; identity of the principal, or NULL: not known */
    const char *real, *real_identity; /* under ASSUME: who logged in */
    const char *interface, *address, *detail;
    bool ok;
    bool own;       /* acl: of his own account */
    bool by_option; /* acl: GRANT or REVOKE of who is no administrator */
} alm_audit;
void alm_audit_add(alm_db *db, const alm_audit *audit);
/* Fills in who is behind the session, and from where. */
void alm_audit_session(const alm_session *session, alm_audit *audit);
/* audit_text.c. What a statement about users and grants did, in as many rows as it takes. */
void alm_audit_acl(alm_cursor *cursor, const alm_stmt *stmt, bool ok);
/* The same of any statement that the settings audit.* name; its rights were asked for. */
void alm_audit_statement(alm_cursor *cursor, const alm_stmt *stmt);
/* The tables and views of audit.read.tables that the plan scans; if that is set. */
void alm_audit_reads(alm_cursor *cursor, const alm_plan *plan);
/* The same of a BACKUP: of n tables; 0: of all. */
void alm_audit_backup(alm_cursor *cursor, const alm_str *tables, size_t n);
static inline void alm_audit_plan(alm_cursor *cursor, const alm_plan *plan)
{
    const struct alm_conf *conf = cursor->session->db->conf;
    if (conf != NULL && conf->audit_read_tables[0] != 0)
        alm_audit_reads(cursor, plan);
}
/* The same of a plan that runs while the session's statement is planned: its rows are constants of that. */
void alm_audit_planned(alm_ctx *cx, const alm_plan *plan);
/* What lines and files make; column len 0: the table. */
void alm_audit_made(alm_session *session, const char *what, alm_str table, alm_str column);
ALM_NODISCARD alm_status alm_audit_new(alm_ctx *cx, size_t rows_max, alm_audit_log **out);
void alm_audit_free(alm_audit_log *log);
alm_status alm_audit_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* login.c */
struct alm_logins;
ALM_NODISCARD alm_status alm_logins_new(alm_ctx *cx, const alm_db *db, struct alm_logins **out);
void alm_logins_free(struct alm_logins *logins);
/* What the first log-in needs, before there is one. */
void alm_logins_prepare(alm_db *db);
ALM_NODISCARD alm_status alm_db_access_new(alm_ctx *cx, alm_db *db);
void alm_db_access_free(alm_db *db);

#endif
