/*
 * generation.h - a second catalogue on the disk: the one before, as long as the log leads from it to the present, or another copy of the
 * present one. A start whose catalogue is damaged recovers from it, and comes to the same state. Protocol: docs/internals/storage.md,
 * section 5.
 *
 * Threads     alm_generation_write, _compare: the caller holds checkpoint_lock. The rest: recovery and the start, before others.
 */
#ifndef ALM_STORAGE_GENERATION_H
#define ALM_STORAGE_GENERATION_H

#include "storage/state.h"

/* Files in `db`. */
#define ALM_CATALOG          "catalog"
#define ALM_CATALOG_PREVIOUS "catalog.1"
#define ALM_CATALOG_NEXT     "catalog.tmp"
#define ALM_CATALOG_ASIDE    "catalog.damaged"

/*
 * Writes the catalogue file and syncs it and its directory. The replaced file is kept as the previous generation if its checksum is
 * right and the log from it on is undamaged, as far as known, and no longer than storage.checkpoint.previous.wal.bytes; otherwise the
 * previous generation is a second copy of the new file. copies: it is always a second copy. After a successful return, log
 * segments up to alm_generation_log may be removed.
 */
ALM_NODISCARD alm_status alm_generation_write(alm_ctx *cx, alm_storage *storage,
                                              const alm_catver *cat, bool copies);
/* Both generations begin behind that record of the log or before it. `lsn`: of the catalogue. */
uint64_t alm_generation_log(const alm_storage *storage, uint64_t lsn);
/* Is the previous one what a checkpoint wrote? ALM_E_CORRUPT. *bytes 0: there is none. */
ALM_NODISCARD alm_status alm_generation_compare(alm_ctx *cx, alm_storage *storage, int64_t *bytes);

/* Recovery. Is there a previous catalogue, be it sound or not? */
bool alm_generation_is_there(alm_storage *storage);
/* Is the previous one of a later record than the catalogue that was read? No checkpoint leaves that: the catalogue is an older copy. */
bool alm_generation_is_newer(alm_storage *storage);
/*
 * The start was possible from the catalogue and the log that was read: keeps the log back to the previous one, if that is sound. ALM_E_CORRUPT: the
 * previous one is of a record behind the end of the log, so the catalogue and the log are older copies. Reads only.
 */
ALM_NODISCARD alm_status alm_generation_look(alm_ctx *cx, alm_storage *storage,
                                             const alm_wal_scan *scan);
/*
 * The state was recovered from the previous catalogue and the log up to `end`, because of `why`. ALM_E_CORRUPT: the damaged
 * catalogue is of a later record than that. Reads only.
 */
ALM_NODISCARD alm_status alm_generation_took_over(alm_ctx *cx, alm_storage *storage,
                                                  const char *why, uint64_t end);
/* After recovery, when the log is ready: keeps the damaged catalogue under another name, and tells. */
ALM_NODISCARD alm_status alm_generation_settle(alm_ctx *cx, alm_storage *storage);

#endif
