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
#include "session/session_state.h"

/* Puts the rights of the session's principal into the context, and asks for the end point. Needs c->snapshot. */
ALM_NODISCARD alm_status alm_cursor_access(alm_cursor *c);
void alm_cursor_access_over(alm_cursor *c);
/* The rights of whoever the statement runs for; NULL: everything is allowed. */
const alm_rights *alm_cursor_rights(const alm_cursor *c);
static inline bool alm_is_for_all(const alm_cursor *c)
{
    return alm_cursor_rights(c) == NULL;
}
/* In small letters, as grants have it; from cx->arena. */
ALM_NODISCARD alm_status alm_lower_name(alm_ctx *cx, alm_str name, const char **out);
/* "Access denied for NAME [PERMISSION]" at pos, and a line in the audit log. */
alm_status alm_access_denied(alm_cursor *c, int32_t pos, const char *what);
/* Lists and ends statements of others? Of a session whose rights are known. */
bool alm_may_see_others(const alm_session *s);

/* Runs fn until its change of records was made on what is there (somebody else may change them meanwhile). */
typedef alm_status (*alm_acl_fn)(alm_cursor *c, alm_acl_edit *edit, void *arg);
ALM_NODISCARD alm_status alm_acl_change(alm_cursor *c, alm_acl_fn fn, void *arg);
/* The edit as a change that goes with another; NULL: nothing changes. blind: it only adds, whatever was changed
 * meanwhile; else ALM_E_STALE then, and the statement has to look again. */
ALM_NODISCARD alm_status alm_acl_with(alm_ctx *cx, const alm_acl_edit *edit, bool blind,
                                      const alm_records_change **out);
/* An empty edit on the newest state; NULL in edit->acl: access control is off. */
ALM_NODISCARD alm_status alm_acl_edit_begin(alm_cursor *c, alm_acl_edit *edit);

/* Owner's grants on a new table or view (begins the edit), or on new columns of a table (goes on with it); who owns it:
 * OWNED BY or the user. */
ALM_NODISCARD alm_status alm_own_table(alm_cursor *c, const alm_stmt *stmt, const char *table,
                                       alm_acl_edit *edit);
ALM_NODISCARD alm_status alm_own_columns(alm_cursor *c, const alm_stmt *stmt, const char *table,
                                         const alm_column *cols, uint32_t n, alm_acl_edit *edit);
/* ALM_E_SYNTAX at the end of the statement where OWNED BY is needed and missing; checks the owner. *owner NULL: nobody. */
ALM_NODISCARD alm_status alm_find_owner(alm_cursor *c, const alm_stmt *stmt, const char **owner);

/* execute_acl.c */
alm_status alm_run_acl(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n);
/* acl_grant.c */
alm_status alm_run_grant(alm_cursor *c, const alm_acl_words *w);
/* acl_token.c: CREATE TOKEN as one row; its columns. */
alm_status alm_run_add_token(alm_cursor *c, const alm_acl_words *w);
alm_status alm_run_drop_token(alm_cursor *c, const alm_acl_words *w);
alm_status alm_token_cols(alm_ctx *cx, const alm_acl_words *w, const alm_plan_col **cols,
                          uint32_t *n);
/* acl_lists.c: rows for table functions. */
alm_status alm_acl_texts(alm_ctx *cx, const char *what, const char *const **cells, size_t *rows);
/* acl_ddl.c: statements, one text each; what: ddl_groups, ddl_users, ddl_accounts, ddl_members, ddl_permissions. */
alm_status alm_acl_ddl(alm_cursor *c, const char *what, const char *const **cells, size_t *n);

/* The entity, or ALM_E_SETTING "user does not exist [name=x]" at its name. kind 0: any. */
alm_status alm_acl_need(alm_cursor *c, const alm_acl *acl, const alm_acl_name *name, char kind,
                        const alm_entity **out);
alm_status alm_acl_name_of(alm_cursor *c, const alm_acl_name *name, const char **out);
bool alm_is_admin_name(const alm_cursor *c, const char *name);

/* The audit log: one line of the server's log, one row of sys.audit_log. Nothing secret goes in. */
typedef struct alm_audit {
    const char *event; /* login, denied, acl */
    const char *user, *interface, *address, *detail;
    bool ok;
} alm_audit;
void alm_audit_add(alm_db *db, const alm_audit *a);
alm_status alm_audit_texts(alm_ctx *cx, const char *const **cells, size_t *rows);
/* login.c */
struct alm_logins;
ALM_NODISCARD alm_status alm_logins_new(alm_ctx *cx, const alm_db *db, struct alm_logins **out);
void alm_logins_free(struct alm_logins *l);
ALM_NODISCARD alm_status alm_db_access_new(alm_ctx *cx, alm_db *db);
void alm_db_access_free(alm_db *db);

#endif
