/*
 * ddl.h - what other changes use of CREATE TABLE and TRUNCATE.
 */
#ifndef ALM_STORAGE_DDL_H
#define ALM_STORAGE_DDL_H

#include "storage/state.h"

/* Columns of a description: names and types, no name twice. */
ALM_NODISCARD alm_status alm_columns_check(alm_ctx *cx, const alm_column *cols, uint32_t n);
/* TRUNCATE by id. The caller holds MAINT and ALONE, so that the rows that it looked at are all that go. */
ALM_NODISCARD alm_status alm_table_empty(alm_ctx *cx, alm_storage *storage, uint64_t table_id);

/* A table that is not in the catalogue yet: version without rows to intern and write parts for. */
struct alm_pending;
alm_version *alm_pending_version(struct alm_pending *pending);
void alm_pending_free(struct alm_pending *pending);

#endif
