/*
 * reserve.h - space on the disk that is kept for what ends a full disk.
 *
 * Method      `ROOT/db/reserve` is allocated and holds nothing. When the disk is full, the administrator's changes that free space or
 *             take permissions away (alm_ctx.frees) need a log segment, as all others do. Then the file is removed, and they go on in
 *             the space that it had. Until it is there again all other changes of clients are refused, or they would take that space.
 * Threads     alm_storage_takes_space (storage.h): any. The rest: the leader of a commit group, and the open.
 */
#ifndef ALM_STORAGE_RESERVE_H
#define ALM_STORAGE_RESERVE_H

#include "storage/state.h"

/* Allocates it where it is not there; without space for it storage opens all the same, as after alm_reserve_spend. */
void alm_reserve_open(alm_storage *storage);
/* False: it is spent already. */
bool alm_reserve_spend(alm_storage *storage);

#endif
