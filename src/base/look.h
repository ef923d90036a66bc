/*
 * look.h - in debug builds: how long a statement keeps its thread without a call of alm_check.
 *
 * Until then it heeds neither its time limit nor a cancel nor a stop of the server, and on a network thread it holds up everybody. The
 * time is that of the processor, so that it says the same on a busy machine. What takes longer than LOOK_MS is a line of
 * the log with the place (for addr2line) of the call that ended it; test/limits/query_bounds_test.py wants none.
 */
#ifndef ALM_BASE_LOOK_H
#define ALM_BASE_LOOK_H

#include "base/base.h"

#ifdef ALM_DEBUG
void alm_look_begin(void);      /* this thread works on a statement from here on */
void alm_look(const void *ptr); /* alm_check is called, at that address */
/* ... until here. The longest time in ms, and *place of the call that ended it; 0: none was longer than LOOK_MS. */
int64_t alm_look_end(uintptr_t *place);
#else
static inline void alm_look_begin(void) {}
static inline void alm_look(ALM_UNUSED const void *at) {}
static inline int64_t alm_look_end(uintptr_t *place)
{
    *place = 0;
    return 0;
}
#endif

#endif
