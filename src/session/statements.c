/*
 * statements.c - the kinds of statements: how each is run, its command tag, what it does. On top of the wings, so that alm_execute needs
 * none of the runners: COPY runs queries, and is one.
 */
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/tables.h"
#include "session/transfer/transfer.h"

const alm_statement alm_statements[] = {
    [ALM_STMT_EMPTY] = {alm_run_empty, "", false},
    [ALM_STMT_SELECT] = {alm_run_query, "SELECT", false, true},
    [ALM_STMT_EXPLAIN] = {alm_run_explain, "EXPLAIN", false, true},
    [ALM_STMT_CREATE_TABLE] = {alm_run_create, "CREATE TABLE", true},
    [ALM_STMT_INSERT] = {alm_run_insert, "INSERT", true, true},
    [ALM_STMT_UPDATE] = {alm_run_update, "UPDATE", true, true},
    [ALM_STMT_DELETE] = {alm_run_delete, "DELETE", true, true},
    [ALM_STMT_DROP_TABLE] = {alm_run_drop, "DROP TABLE", true},
    [ALM_STMT_TRUNCATE] = {alm_run_truncate, "TRUNCATE TABLE", true},
    [ALM_STMT_RENAME_TABLE] = {alm_run_rename, "RENAME TABLE", true},
    [ALM_STMT_ALTER_TABLE] = {alm_run_alter, "ALTER TABLE", true},
    [ALM_STMT_CREATE_VIEW] = {alm_run_create_view, "CREATE VIEW", true},
    [ALM_STMT_ALTER_VIEW] = {alm_run_create_view, "ALTER VIEW", true},
    [ALM_STMT_DROP_VIEW] = {alm_run_drop_view, "DROP VIEW", true},
    [ALM_STMT_ALTER_MATVIEW] = {alm_run_alter_matview, "ALTER MATERIALIZED VIEW", true},
    [ALM_STMT_DROP_MATVIEW] = {alm_run_drop_view, "DROP MATERIALIZED VIEW", true},
    [ALM_STMT_REFRESH] = {alm_run_refresh, "REFRESH MATERIALIZED VIEW", true},
    [ALM_STMT_BACKUP] = {alm_run_backup, "BACKUP", true},
    [ALM_STMT_CHECKPOINT] = {alm_run_checkpoint, "CHECKPOINT", true},
    [ALM_STMT_CREATE_INDEX] = {alm_run_create_index, "CREATE INDEX", true},
    [ALM_STMT_DROP_INDEX] = {alm_run_drop_index, "DROP INDEX", true},
    [ALM_STMT_MAINTAIN] = {alm_run_maintain, "VACUUM", true},
    [ALM_STMT_COMMENT] = {alm_run_comment, "COMMENT", true},
    [ALM_STMT_SHOW] = {alm_run_show, "SHOW", false, true},
    [ALM_STMT_SET] = {alm_run_set, "SET", false},
    [ALM_STMT_SET_TRANSACTION] = {alm_run_set_transaction, "SET", false},
    [ALM_STMT_BEGIN] = {alm_run_transaction, "BEGIN", false},
    [ALM_STMT_COMMIT] = {alm_run_transaction, "COMMIT", false},
    [ALM_STMT_ROLLBACK] = {alm_run_transaction, "ROLLBACK", false},
    [ALM_STMT_SAVEPOINT] = {alm_run_transaction, "SAVEPOINT", false},
    [ALM_STMT_COPY_FROM] = {alm_run_copy_from, "COPY", true},
    [ALM_STMT_COPY_TO] = {alm_run_copy_to, "COPY", false, true},
    [ALM_STMT_DECLARE_CURSOR] = {alm_run_declare, "DECLARE CURSOR", false, true},
    [ALM_STMT_FETCH] = {alm_run_fetch, "FETCH", false},
    [ALM_STMT_CANCEL] = {alm_run_cancel, "CANCEL QUERY", false},
    [ALM_STMT_DROP_SESSION] = {alm_run_drop_session, "DROP SESSION", false},
    [ALM_STMT_PREPARE] = {alm_run_prepare, "PREPARE", false},
    [ALM_STMT_EXECUTE] = {alm_run_execute, "EXECUTE", false},
    [ALM_STMT_ACL] = {alm_run_acl, "", true},
    [ALM_STMT_OTHER] = {alm_run_other, "", false},
};
