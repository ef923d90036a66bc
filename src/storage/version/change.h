/*
 * change.h - the changes themselves: operations of a log record applied to a build. Commits prepare
 * with these functions, recovery redoes with them, so that both give the same versions.
 */
#ifndef ALM_STORAGE_CHANGE_H
#define ALM_STORAGE_CHANGE_H

#include "storage/state.h"
#include "storage/version/head.h"

struct alm_pending {
    alm_storage *st;
    alm_version *v;                    /* bare; its table id is taken */
    bool replace;                      /* a table of that name goes in the same record */
    const alm_records_change *records; /* with it, or NULL */
};

/* A schema whose dictionaries show the values that n rows of the chunk have, or all values interned so far (rows NULL); NULL in *out if
 * that of the version does already. Values of others that came before those of the rows are shown with them. `ops` (may be NULL)
 * receives symbols operations for the new ones. */
ALM_NODISCARD alm_status alm_change_dicts(alm_ctx *cx, alm_storage *storage,
                                          const alm_version *version, const alm_chunk *rows,
                                          uint32_t n, alm_buf *ops, alm_schema **out);
/* May rows that were made for version `then` go into `now`? ALM_E_STALE if a column of theirs is gone
 * or the keys of DEDUP are others. */
ALM_NODISCARD alm_status alm_change_accepts(alm_ctx *cx, const alm_version *now,
                                            const alm_version *then);
/* Settled rows appended to the newest version, or to `v`, which the same record makes; the result is
 * not yet in the build. */
ALM_NODISCARD alm_status alm_change_rows(alm_ctx *cx, const alm_build *build, uint64_t table_id,
                                         const char *name, alm_chunk *rows, uint32_t n,
                                         alm_buf *ops, alm_version **out);
ALM_NODISCARD alm_status alm_change_rows_of(alm_ctx *cx, const alm_build *build,
                                            const alm_version *version, alm_chunk *rows, uint32_t n,
                                            alm_buf *ops, alm_version **out);
/* The parts of `version` without those of the change, and with the new ones. ALM_E_CONFLICT when one that
 * goes is not there any more. */
ALM_NODISCARD alm_status alm_change_part_set(alm_ctx *cx, const alm_version *version,
                                             const alm_parts_change *change, alm_part_set **out);
/* The version of a table that exists with its parts changed; not yet in the build. */
ALM_NODISCARD alm_status alm_change_parts_of(alm_ctx *cx, alm_build *build,
                                             const alm_version *version,
                                             const alm_parts_change *change, uint64_t flushed_lsn,
                                             bool redo, alm_buf *ops, alm_version **out);
/* The parts of a change, put on `from` (NULL: the newest version); `redo`: frozen lanes may be
 * missing, sequence numbers stand. */
ALM_NODISCARD alm_status alm_change_parts(alm_ctx *cx, alm_build *build,
                                          const alm_parts_change *change, const alm_version *from,
                                          uint64_t flushed_lsn, bool redo, alm_buf *ops);
ALM_NODISCARD alm_status alm_change_create(alm_ctx *cx, alm_build *build, alm_version *version);
ALM_NODISCARD alm_status alm_change_drop(alm_ctx *cx, alm_build *build, uint64_t table_id);
ALM_NODISCARD alm_status alm_change_rename(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                           alm_str to);
/* All of these tables, or none. `ops` not NULL: their SYMBOL columns become new ones with empty dictionaries, and the operations for that are
 * put there, to be redone behind the truncation; but of no table that has detached partitions, whose files have codes. */
ALM_NODISCARD alm_status alm_change_truncate(alm_ctx *cx, alm_build *build, const uint64_t *ids,
                                             uint32_t n, alm_buf *ops);
/* `version` with the columns and options of `to`: columns keep what they have by id; id 0 is a new column.
 * `made` (may be NULL) has the dictionaries of new columns. The result is not yet in the build. */
ALM_NODISCARD alm_status alm_change_alter(alm_ctx *cx, const alm_build *build,
                                          const alm_version *version, const alm_table *to,
                                          uint32_t next_col_id, const alm_schema *made,
                                          alm_version **out);
ALM_NODISCARD alm_status alm_change_add_column(alm_ctx *cx, alm_build *build, uint64_t table_id,
                                               const alm_column *col);

#endif
