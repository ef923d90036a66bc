/*
 * parts_commit.h - records that add and remove parts.
 */
#ifndef ALM_STORAGE_PARTS_COMMIT_H
#define ALM_STORAGE_PARTS_COMMIT_H

#include "storage/state.h"

/* Commits one change of the parts of a table (alm_parts_change, version/version.h). */
ALM_NODISCARD alm_status alm_parts_commit(alm_ctx *cx, alm_storage *storage,
                                          const alm_parts_change *change, uint64_t *lsn);

/* alm_parts_commit of flushes of many tables, whose maintenance locks are held: the files are synced together, and the
 * records are one group. Each has its own context and outcome, also of a sync that failed; an error that is returned means
 * that nothing was done. */
typedef struct alm_parts_job {
    alm_ctx *cx;
    const alm_parts_change *change;
    alm_status *status;
} alm_parts_job;
ALM_NODISCARD alm_status alm_parts_commit_all(alm_ctx *cx, alm_storage *storage,
                                              const alm_parts_job *jobs, size_t n_jobs);
/* The parts operation of a record. */
ALM_NODISCARD alm_status alm_op_parts(alm_ctx *cx, alm_buf *buf, const alm_parts_change *change,
                                      uint64_t flushed_lsn);
/* Do rows of the head meet the new parts in time? */
bool alm_head_meets(const alm_version *version, const alm_parts_change *change);

#endif
