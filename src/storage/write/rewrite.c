/*
 * rewrite.c - rewrites: what a statement reads is written again, so it is compared with its checksums once more, and
 * nothing is committed if a file could not be read meanwhile.
 */
#include "storage/write/commit.h"

uint64_t alm_rewrite_begin(alm_ctx *cx, alm_storage *storage)
{
    const uint64_t before = cx->rewrite;
    if (before == 0)
        cx->map_faults = storage->io->map_faults(storage->io);
    cx->rewrite = atomic_fetch_add(&storage->rewrites, 1) + 1;
    ALM_ASSERT(cx->rewrite > before);
    return before;
}

void alm_rewrite_end(alm_ctx *cx, uint64_t before)
{
    ALM_ASSERT(cx->rewrite > before); /* in pairs: the inner one began later */
    cx->rewrite = before;
}

alm_status alm_faults_refuse(alm_ctx *cx, alm_storage *storage, int64_t before)
{
    if (storage->io->map_faults(storage->io) == before)
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_IO, -1,
        "nothing was changed, because meanwhile a file of the database could not be read: the disk "
        "failed, or the file was cut");
}
