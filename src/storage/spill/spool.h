/*
 * spool.h - a file that comes from elsewhere piece by piece and is read when all of it is there.
 *
 * Space       A temporary file of the space of spills (spill.h): it has no name, goes with its handle whatever happens, and
 *             counts against query.spill.max (ALM_E_SPILL).
 * Memory      None but the map; its pages are the system's to keep or not.
 * Threads     A spool belongs to one thread at a time; what is mapped may be read by any number.
 * Errors      ALM_E_SPILL, ALM_E_LIMIT (longer than bytes_max), ALM_E_DISK_FULL and ALM_E_IO.
 */
#ifndef ALM_STORAGE_SPOOL_H
#define ALM_STORAGE_SPOOL_H

#include "storage/spill/spill.h"

typedef struct alm_spool alm_spool;

typedef struct alm_spool_conf {
    const char *who;   /* for errors: "the Parquet file" */
    const char *limit; /* name of the setting behind bytes_max */
    int64_t bytes_max;
    alm_mem *files; /* of the user who sends it (alm_ctx.files), or NULL; outlives the spool */
} alm_spool_conf;

/* The space and the texts must outlive the spool. query.spill.max 0: ALM_E_SPILL. */
ALM_NODISCARD alm_status alm_spool_new(alm_ctx *cx, alm_spill_space *space,
                                       const alm_spool_conf *conf, alm_spool **out);
ALM_NODISCARD alm_status alm_spool_append(alm_ctx *cx, alm_spool *spool, const void *bytes,
                                          size_t n);
/* So many bytes are left out here: they read as zero and take no space. */
ALM_NODISCARD alm_status alm_spool_skip(alm_ctx *cx, alm_spool *spool, int64_t bytes);
int64_t alm_spool_bytes(const alm_spool *spool);
/* All of it, in memory as long as the spool lives; nothing is appended after it. Empty: ptr NULL. */
ALM_NODISCARD alm_status alm_spool_map(alm_ctx *cx, alm_spool *spool, alm_str *bytes);
void alm_spool_free(alm_spool *spool); /* NULL is fine */

#endif
