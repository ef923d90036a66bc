/*
 * failing.h - the list of tables whose background work failed because of a damaged file, or of a file that could not be read
 * or written. The background thread retries each after a pause, and meanwhile works on all other tables and makes checkpoints.
 *
 * Pauses      after damage one second, doubled with each failure up to a minute, because each attempt reads the files whole;
 *             after other errors a quarter of a second, because a full disk may have space again at any time.
 * Lasting     an error other than damage that repeats 20 times is added to the list of damage (part/damage.h) until an attempt
 *             succeeds. Damage is in that list already, by its file.
 * Ends        an entry is removed by the first success, or when the table is dropped.
 * Threads     all functions may be called by any thread; work_lock protects the list.
 */
#ifndef ALM_STORAGE_FAILING_H
#define ALM_STORAGE_FAILING_H

#include "storage/state.h"

/* Returns true while the step of the table must not be retried, because it failed a short time ago. */
bool alm_work_pauses(alm_storage *storage, uint64_t table_id, alm_work_step step);
/* Returns true if the last attempt failed, and then copies its error to *why, unless `why` is NULL. */
bool alm_work_fails(alm_storage *storage, uint64_t table_id, alm_work_step step, alm_error *why);
/* Returns the error of one entry; its code is ALM_OK if the list is empty. */
alm_error alm_work_error(alm_storage *storage);

/* Records the status of a step for the table; `table` is its name. Damage and I/O errors concern this table alone: they are
 * kept, cleared in `cx`, and ALM_OK is returned, so that the caller continues with other tables. Any other error (cancelled,
 * out of memory, conflict) is returned unchanged. */
ALM_NODISCARD alm_status alm_work_result(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                         const char *table, alm_work_step step, alm_status status);
/* Removes the entries of tables that `cat` does not have. */
void alm_work_forget(alm_storage *storage, const alm_catver *cat);

#endif
