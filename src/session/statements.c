/*
 * statements.c - how each kind of statement is checked and run (sql/parse/statement.def). On top of the wings, so that alm_execute needs
 * none of the runners: COPY runs queries, and is one.
 */
#include "session/statement/statement.h"
#include "session/tables.h"

const alm_statement alm_statements[] = {
#define ALM_STATEMENT(kind, tag, words, at, parse, does, permission, check, run)                   \
    [ALM_STMT_##kind] = {check, run},
#include "sql/parse/statement.def"
#undef ALM_STATEMENT
};
