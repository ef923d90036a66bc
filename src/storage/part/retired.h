/*
 * retired.h - files that no version names any more, but which may not be removed yet: while a checkpoint is held
 * (recover/hold.h), because the catalogue file may name them; while the archive of the log (backup/archive.h) has not
 * copied the records that name them.
 *
 * Threads     any; file_lock.
 */
#ifndef ALM_STORAGE_RETIRED_H
#define ALM_STORAGE_RETIRED_H

#include "storage/state.h"

/* The last reference to a file goes. True: it stays on the disk until alm_retired_remove; false: the caller removes it now.
 * The caller holds file_lock. */
bool alm_file_retire(alm_storage *storage, const alm_file *file);
/* Is the file one that waits? */
bool alm_retired_waits(alm_storage *storage, uint64_t file_id);
/* Removes those that nothing needs any more: none while a checkpoint is held, none that the archive still needs. */
void alm_retired_remove(alm_storage *storage);
/* Frees the list; the files stay for the sweep of the next start. */
void alm_retired_free(alm_storage *storage);

#endif
