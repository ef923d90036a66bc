/*
 * backpressure.h - what writers and the background thread (worker.c) owe each other: a writer wakes the thread when there
 * is work for it, and waits while the thread is too far back.
 *
 * Threads     any. A wait ends with an error when the statement is cancelled, the storage becomes read-only, or the work
 *             that would make room fails.
 */
#ifndef ALM_STORAGE_BACKPRESSURE_H
#define ALM_STORAGE_BACKPRESSURE_H

#include "storage/state.h"

/* Wakes the background thread. */
void alm_storage_poke(alm_storage *storage);
/* Wakes it if heads are over their limits or a checkpoint is due. Cheap: after every commit. */
void alm_storage_nudge(alm_storage *storage);
/* A commit left late rows in a lane of their own: the background thread will soon merge it. */
void alm_storage_untidy(alm_storage *storage);
/* The log is over its limit, or the start found damage that a checkpoint ends; never while a checkpoint is held. */
bool alm_checkpoint_is_due(alm_storage *storage);
/* True if alm_head_wait would wait. */
bool alm_head_is_full(alm_storage *storage, uint64_t table_id);
/* Waits while the heads, or the overlapping parts of the table, are far over their limits. */
ALM_NODISCARD alm_status alm_head_wait(alm_ctx *cx, alm_storage *storage, uint64_t table_id);

#endif
