/*
 * archive.h - the log kept for restores to a point in time: finished segments, and the part files that
 * their records name, are copied to a directory before they go. Layout, crashes, what happens when it
 * fails: docs/internals/storage.md, section 16.
 *
 * Threads     one of its own, so that a slow disk of the archive holds up nothing else;
 *             alm_archive_at_open before there is one, alm_archive_limit on the background thread.
 */
#ifndef ALM_STORAGE_ARCHIVE_H
#define ALM_STORAGE_ARCHIVE_H

#include "storage/state.h"

/* Before the log is made ready: segments that the start would remove are archived first. */
void alm_archive_at_open(alm_ctx *cx, alm_storage *storage);
/* Between two rounds: so that what was written is in the archive after wal.archive.interval. */
int64_t alm_archive_round_ms(const alm_storage *storage);
/* Copies what is finished; begins a new segment when the last time is long ago; lets go of files that
 * waited for it. What fails is told and tried again. */
void alm_archive_round(alm_ctx *cx, alm_storage *storage);
/* More of the log waits than may: the oldest segments go without having been archived. */
void alm_archive_limit(alm_storage *storage);
/* At the start: archives all of the log there is, so that files of which only the log knows may go.
 * False: it failed, and they must not. */
bool alm_archive_catch_up(alm_storage *storage, const atomic_bool *cancel);
/* Begins a new segment, so that all of the log so far can be archived. */
ALM_NODISCARD alm_status alm_archive_roll(alm_ctx *cx, alm_storage *storage);
/* Writes the path of a part file in the archive `dir` to `path`. */
void alm_archive_part_path(const char *dir, uint64_t table_id, uint64_t file_id,
                           char path[ALM_PATH_MAX]);
/* Calls each for every part file that parts operations of a record add. */
struct alm_part_claim;
typedef alm_status (*alm_record_file)(void *arg, const struct alm_part_claim *file);
ALM_NODISCARD alm_status alm_record_files(const char *payload, size_t bytes, alm_record_file each,
                                          void *arg);

#endif
