/*
 * hold.h - CHECKPOINT CREATE to CHECKPOINT RELEASE: the files that the catalogue file names stay as
 * they are, so that any tool can copy the directory while writes go on. Format of the marker and
 * opening of a copy: docs/internals/storage.md, section 5.
 *
 * While it is held, no other checkpoint is written, and retired files (part/retired.h) wait for the release.
 * A restart keeps a hold: the marker is on disk.
 *
 * Threads     create, release, expire: checkpoint_lock. `held` changes under file_lock, too.
 */
#ifndef ALM_STORAGE_HOLD_H
#define ALM_STORAGE_HOLD_H

#include "storage/state.h"

/* Reads the marker into storage->hold. Changes nothing. ALM_E_CORRUPT: it is damaged. */
ALM_NODISCARD alm_status alm_hold_read(alm_ctx *cx, alm_storage *storage);
/* The directory is a copy that was made while the checkpoint was held, or a backup: its log need not
 * be whole, only the catalogue is. */
bool alm_hold_is_copy(const alm_storage *storage);
/* Are all files there that the build names, as long as they shall be? Else ALM_E_CORRUPT. */
ALM_NODISCARD alm_status alm_hold_files_there(alm_ctx *cx, const alm_build *build);
/* After recovery, when the log is ready: a copy becomes a database of its own; else the hold goes on. */
ALM_NODISCARD alm_status alm_hold_resume(alm_ctx *cx, alm_storage *storage);
/* Writes a marker that says so: the catalogue alone counts. For restored directories. */
ALM_NODISCARD alm_status alm_hold_mark_copy(alm_ctx *cx, const alm_io *io, const char *root,
                                            uint64_t lsn);
/* Ends a hold that is older than the limit. */
ALM_NODISCARD alm_status alm_hold_expire(alm_ctx *cx, alm_storage *storage);

#endif
