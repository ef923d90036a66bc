/*
 * change.h - the changes themselves: operations of a log record applied to a build. Commits prepare
 * with these functions, recovery redoes with them, so that both give the same versions.
 */
#ifndef ALM_STORAGE_CHANGE_H
#define ALM_STORAGE_CHANGE_H

#include "storage/log/payload.h"
#include "storage/version/encode.h"
#include "storage/version/head.h"
#include "storage/write/commit.h"

struct alm_pending {
    alm_storage *st;
    alm_version *v;                    /* bare; its table id is taken */
    bool replace;                      /* a table of that name goes in the same record */
    const alm_records_change *records; /* with it, or NULL */
};

/* A schema whose dictionaries show the values that n rows of the chunk have, or all values interned so far (rows NULL); NULL in *out if
 * that of the version does already. Values of others that came before those of the rows are shown with them. `ops` (may be NULL)
 * receives symbols operations for the new ones. */
ALM_NODISCARD alm_status alm_change_dicts(alm_ctx *cx, alm_storage *st, const alm_version *v,
                                          const alm_chunk *rows, uint32_t n, alm_buf *ops,
                                          alm_schema **out);
/* Columns of a description: names and types, no name twice. */
/* VARCHAR(n): ALM_E_LENGTH says which text is too long (write/text_length.c). */
ALM_NODISCARD alm_status alm_text_length_check(alm_ctx *cx, const alm_column *col, const alm_vec *v,
                                               uint32_t rows);
ALM_NODISCARD alm_status alm_columns_check(alm_ctx *cx, const alm_column *cols, uint32_t n);
/* May rows that were made for version `then` go into `now`? ALM_E_STALE if a column of theirs is gone
 * or the keys of DEDUP are others. */
ALM_NODISCARD alm_status alm_change_accepts(alm_ctx *cx, const alm_version *now,
                                            const alm_version *then);
/* Settled rows appended to the newest version, or to `v`, which the same record makes; the result is
 * not yet in the build. */
ALM_NODISCARD alm_status alm_change_rows(alm_ctx *cx, const alm_build *b, uint64_t table_id,
                                         const char *name, alm_chunk *rows, uint32_t n,
                                         alm_buf *ops, alm_version **out);
ALM_NODISCARD alm_status alm_change_rows_of(alm_ctx *cx, const alm_build *b, const alm_version *v,
                                            alm_chunk *rows, uint32_t n, alm_buf *ops,
                                            alm_version **out);
/* The parts of `v` without those of the change, and with the new ones. ALM_E_CONFLICT when one that
 * goes is not there any more. */
ALM_NODISCARD alm_status alm_change_part_set(alm_ctx *cx, const alm_version *v,
                                             const alm_parts_change *change, alm_part_set **out);
/* The version of a table that exists with its parts changed; not yet in the build. */
ALM_NODISCARD alm_status alm_change_parts_of(alm_ctx *cx, alm_build *b, const alm_version *v,
                                             const alm_parts_change *change, uint64_t flushed_lsn,
                                             bool redo, alm_buf *ops, alm_version **out);
/* The parts of a change, put on `from` (NULL: the newest version); `redo`: frozen lanes may be
 * missing, sequence numbers stand. */
ALM_NODISCARD alm_status alm_change_parts(alm_ctx *cx, alm_build *b, const alm_parts_change *change,
                                          const alm_version *from, uint64_t flushed_lsn, bool redo,
                                          alm_buf *ops);
/* A request in memory: the lanes of the table (rq->arg: uint64_t, its id) are frozen, if there are any and none is. */
ALM_NODISCARD alm_status alm_prepare_freeze(alm_ctx *cx, alm_request *rq, alm_build *b);
/* alm_parts_commit of flushes of many tables, whose maintenance locks are held: the files are synced together, and the
 * records are one group. Each has its own context and outcome, also of a sync that failed; an error that is returned means
 * that nothing was done. */
typedef struct alm_parts_job {
    alm_ctx *cx;
    const alm_parts_change *change;
    alm_status *status;
} alm_parts_job;
ALM_NODISCARD alm_status alm_parts_commit_all(alm_ctx *cx, alm_storage *st,
                                              const alm_parts_job *jobs, size_t n);
/* The parts operation of a record. */
ALM_NODISCARD alm_status alm_op_parts(alm_ctx *cx, alm_buf *buf, const alm_parts_change *change,
                                      uint64_t flushed_lsn);
/* Do rows of the head meet the new parts in time? */
bool alm_head_meets(const alm_version *v, const alm_parts_change *change);
ALM_NODISCARD alm_status alm_change_create(alm_ctx *cx, alm_build *b, alm_version *v);
ALM_NODISCARD alm_status alm_change_drop(alm_ctx *cx, alm_build *b, uint64_t table_id);
ALM_NODISCARD alm_status alm_change_rename(alm_ctx *cx, alm_build *b, uint64_t table_id,
                                           alm_str to);
/* All of these tables, or none. `ops` not NULL: their SYMBOL columns become new ones with empty dictionaries, and the operations for that are
 * put there, to be redone behind the truncation; but of no table that has detached partitions, whose files have codes. */
ALM_NODISCARD alm_status alm_change_truncate(alm_ctx *cx, alm_build *b, const uint64_t *ids,
                                             uint32_t n, alm_buf *ops);
/* `v` with the columns and options of `to`: columns keep what they have by id; id 0 is a new column.
 * `made` (may be NULL) has the dictionaries of new columns. The result is not yet in the build. */
ALM_NODISCARD alm_status alm_change_alter(alm_ctx *cx, const alm_build *b, const alm_version *v,
                                          const alm_table *to, uint32_t next_col_id,
                                          const alm_schema *made, alm_version **out);
/* Parts with these ids are detached, attached, or forgotten wherever they are. */
ALM_NODISCARD alm_status alm_change_move(alm_ctx *cx, alm_build *b, uint64_t table_id,
                                         alm_partition_move move, const uint64_t *ids, uint32_t n);
/* The start of the oldest partition that a TTL (as alm_table.ttl_hours) leaves; INT64_MIN: all stay. */
int64_t alm_oldest_kept(const alm_table *t, int64_t ttl);
/* What goes with the expired rows: those before `keep`, the start of a partition. Rows from there to `hide` stay
 * for materialized views alone. */
typedef struct alm_expiry {
    int64_t keep, hide;
} alm_expiry;
alm_expiry alm_expiry_of(const alm_catver *cat, const alm_version *v);
/* A version that is not published yet. Frozen lanes may lose rows: nobody writes them. */
ALM_NODISCARD alm_status alm_version_cut(alm_ctx *cx, alm_version *v, alm_expiry e);
ALM_NODISCARD alm_status alm_op_expire(alm_ctx *cx, alm_buf *ops, uint64_t table_id, alm_expiry e);
ALM_NODISCARD alm_status alm_change_expire(alm_ctx *cx, alm_build *b, uint64_t table_id,
                                           alm_expiry e);
/* What a table's TTL lets go, in the record that is made: an operation behind its others. Never fails:
 * what cannot go with it is left to alm_table_expire. The caller holds SHARE or MAINT of the table. */
void alm_expire_with(alm_build *b, alm_buf *ops, uint64_t table_id);
ALM_NODISCARD alm_status alm_change_add_column(alm_ctx *cx, alm_build *b, uint64_t table_id,
                                               const alm_column *col);

/* LSN up to which rows of tables are in parts, collected by the first pass of recovery. */
typedef struct alm_flush_marks {
    struct alm_flush_mark {
        uint64_t table_id, lsn;
    } *rows;
    size_t n, cap; /* open addressing, cap a power of two; table_id 0: free */
} alm_flush_marks;
uint64_t alm_flush_marks_get(const alm_flush_marks *m, uint64_t table_id);
ALM_NODISCARD alm_status alm_flush_marks_raise(alm_ctx *cx, alm_flush_marks *m, uint64_t table_id,
                                               uint64_t lsn);
void alm_flush_marks_free(alm_flush_marks *m);

/* Rows that the second pass has read, by table, until they are put into the head (recover/redo_rows.c). */
typedef struct alm_redo_table {
    uint64_t table_id; /* 0: free */
    uint64_t lsn;      /* of the last row */
    alm_lane rows;     /* as they came: in no order of time */
    uint32_t cap;      /* of rows.chunks */
    int64_t bytes;
} alm_redo_table;
typedef struct alm_redo_rows {
    alm_redo_table *tables; /* open addressing, cap a power of two */
    size_t n, cap;
    uint32_t threads;   /* that put rows in order; 0: one */
    bool borrow;        /* the bytes of records stay until alm_redo_rows_own */
    alm_rows_body body; /* of the record that is redone */
    int64_t moved;      /* how often rows were copied: the work of recovery */
} alm_redo_rows;
/* Rows of the record that is redone, r->body, for `v`, the newest version of its table. */
ALM_NODISCARD alm_status alm_redo_rows_put(alm_ctx *cx, alm_build *b, alm_redo_rows *r,
                                           const alm_version *v);
/* From now on no row needs the bytes of a record that has been read. */
ALM_NODISCARD alm_status alm_redo_rows_own(alm_ctx *cx, alm_build *b, alm_redo_rows *r);
/* Before an operation that needs the head of the table, and at the end of the log. */
ALM_NODISCARD alm_status alm_redo_rows_settle(alm_ctx *cx, alm_build *b, alm_redo_rows *r,
                                              uint64_t table_id);
ALM_NODISCARD alm_status alm_redo_rows_settle_all(alm_ctx *cx, alm_build *b, alm_redo_rows *r);
/* The table, or all that is in it, goes. */
void alm_redo_rows_forget(alm_redo_rows *r, uint64_t table_id);
void alm_redo_rows_free(alm_redo_rows *r);
/* ALM_E_CORRUPT: a record that says what cannot be. */
ALM_NODISCARD alm_status alm_redo_bad(alm_ctx *cx, uint64_t lsn, const char *what);
/* First pass over one record. */
ALM_NODISCARD alm_status alm_redo_marks(alm_ctx *cx, alm_flush_marks *m, const char *payload,
                                        size_t bytes);
/* Second pass: applies one record. */
ALM_NODISCARD alm_status alm_redo(alm_ctx *cx, alm_build *b, const alm_flush_marks *m,
                                  alm_redo_rows *rows, const char *payload, size_t bytes);

#endif
