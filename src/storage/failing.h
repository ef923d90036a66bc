/*
 * failing.h - background work that fails for one table (a damaged file, a file that cannot be read or written): it is tried
 * again later, while the work on all other tables, and checkpoints, go on.
 *
 * Pauses      after damage from one second to one minute, each twice as long as the one before, as each try reads the files
 *             whole; a quarter of a second after other errors, as a full disk may have room again at once.
 * Lasting     what fails for some seconds is told with the damage of the table (damage.h), until it succeeds.
 * Ends        with the first success, or with the table.
 * Threads     any; the list is under work_lock.
 */
#ifndef ALM_STORAGE_FAILING_H
#define ALM_STORAGE_FAILING_H

#include "storage/state.h"

/* Did it fail, and is it not yet time to try again? */
bool alm_work_pauses(alm_storage *st, uint64_t table_id, alm_work_step step);
/* Did its last try fail? Then *why says so; `why` may be NULL. */
bool alm_work_fails(alm_storage *st, uint64_t table_id, alm_work_step step, alm_error *why);
/* The first of those that fail; its code is ALM_OK: none does. */
alm_error alm_work_error(alm_storage *st);

/* What a step came to for a table, with its name. An error of the table alone is remembered, and ALM_OK returned: the caller goes on with
 * other tables. What is returned as it is (a stop, no memory, CONFLICT) concerns more than the table. */
ALM_NODISCARD alm_status alm_work_result(alm_ctx *cx, alm_storage *st, uint64_t table_id,
                                         const char *table, alm_work_step step, alm_status status);
/* Tables that are gone are forgotten. */
void alm_work_forget(alm_storage *st, const alm_catver *cat);

#endif
