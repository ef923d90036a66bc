/*
 * scrub.h - the scrub: every file of the database is read from end to end and compared with its checksums, so that rot is
 * found where nobody reads, while a backup still has the bytes.
 *
 * Reads       with maps of its own, a column at a time, which go behind it: what readers have open stays. What the
 *             system has of a file in memory is what is compared.
 * Finds       in parts what `almanac check` finds; in dictionaries and the log damage of what the server knows from
 *             memory; in the catalogue file. The last three are written anew, as memory has what they said: the damage
 *             is told, and gone. Damage of a part stays known until the file goes.
 * Schedule    a thread of its own; storage.scrub.interval after the last pass began, at storage.scrub.rate. When
 *             that was stands in the file ROOT/db/scrub, so that restarts put nothing off.
 * SCRUB TABLE the same for one table, on the thread of the statement and without a rate.
 */
#ifndef ALM_STORAGE_SCRUB_H
#define ALM_STORAGE_SCRUB_H

#include "storage/state.h"

ALM_NODISCARD alm_status alm_scrub_start(alm_ctx *cx, alm_storage *storage);
void alm_scrub_stop(alm_storage *storage);
/* One whole pass, without a rate; what the thread does. */
ALM_NODISCARD alm_status alm_scrub_all(alm_ctx *cx, alm_storage *storage);

#endif
