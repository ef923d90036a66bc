/*
 * worker.h - the background threads of an open storage.
 */
#ifndef ALM_STORAGE_WORKER_H
#define ALM_STORAGE_WORKER_H

#include "storage/state.h"

ALM_NODISCARD alm_status alm_worker_start(alm_ctx *cx, alm_storage *storage);
void alm_worker_stop(alm_storage *storage);

#endif
