/*
 * expire.h - TTL: the partitions that a table lets go.
 */
#ifndef ALM_STORAGE_EXPIRE_H
#define ALM_STORAGE_EXPIRE_H

#include "storage/state.h"

/* The start of the oldest partition that a TTL (as alm_table.ttl_hours) leaves; INT64_MIN: all stay. */
int64_t alm_oldest_kept(const alm_table *table, int64_t ttl);
/* What goes with the expired rows: those before `keep`, the start of a partition. Rows from there to `hide` stay
 * for materialized views alone. */
typedef struct alm_expiry {
    int64_t keep, hide;
} alm_expiry;
alm_expiry alm_expiry_of(const alm_catver *cat, const alm_version *version);
/* A version that is not published yet. Frozen lanes may lose rows: nobody writes them. */
ALM_NODISCARD alm_status alm_version_cut(alm_ctx *cx, alm_version *version, alm_expiry expiry);
ALM_NODISCARD alm_status alm_op_expire(alm_ctx *cx, alm_buf *ops, uint64_t table_id,
                                       alm_expiry expiry);
ALM_NODISCARD alm_status alm_change_expire(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                           alm_expiry e);
/* What a table's TTL lets go, in the record that is made: an operation behind its others. Never fails:
 * what cannot go with it is left to alm_table_expire. The caller holds SHARE or MAINT of the table. */
void alm_expire_with(alm_build *build, alm_buf *ops, uint64_t table_id);
/* alm_table_expire behind a commit, which stands whatever becomes of it: the background thread tries
 * again. */
void alm_table_expire_after(alm_ctx *cx, alm_storage *storage, uint64_t table_id);
/* The same for all tables; *busy: some are held by statements. */
ALM_NODISCARD alm_status alm_tables_expire(alm_ctx *cx, alm_storage *storage, bool *busy);

#endif
