/*
 * reserve.h - space on the disk that is kept for what ends a full disk.
 *
 * Method      `ROOT/db/reserve` is allocated and holds nothing. When the disk is full, the administrator's changes that free space or
 *             take permissions away (alm_ctx.frees) need a log segment, as all others do. Then the file is removed, and they go on in
 *             the space that it had. Until it is there again all other changes of clients are refused, or they would take that space.
 * Threads     alm_reserve_admits: any. The rest: the leader of a commit group, and the open.
 */
#ifndef ALM_STORAGE_RESERVE_H
#define ALM_STORAGE_RESERVE_H

#include "storage/state.h"

/* Allocates it where it is not there; without space for it storage opens all the same, as after alm_reserve_spend. */
void alm_reserve_open(alm_storage *st);
/* False: it is spent already. */
bool alm_reserve_spend(alm_storage *st);
/* May a client (cx->session) take space now, by a commit, a load or an export? ALM_E_DISK_FULL: the reserve is spent, and there is no space for it (looked at each second). */
ALM_NODISCARD alm_status alm_reserve_admits(alm_ctx *cx, alm_storage *st);

#endif
