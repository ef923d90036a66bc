/*
 * top.h - the rows of a window's input that rank first in their partition: all others are dropped
 * as they come.
 *
 * Each thread keeps the rows of its morsels that may be among the first, with a threshold per partition:
 * the code of the first ORDER BY key of the last row that is among the first so far. What comes out is
 * in input order, a little more than asked for at the most, and does not depend on threads.
 */
#ifndef ALM_EXEC_WINDOW_TOP_H
#define ALM_EXEC_WINDOW_TOP_H

#include "exec/run/op.h"

typedef struct alm_window_top alm_window_top;

/* For a WINDOW with window.top > 0; reads its child by itself. */
ALM_NODISCARD alm_status alm_window_top_new(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                            alm_window_top **out);
/* The next rows, columns of the child; NULL: the end. Borrowed until the next call. */
ALM_NODISCARD alm_status alm_window_top_next(alm_ctx *cx, alm_window_top *top, alm_batch **out);
void alm_window_top_free(alm_window_top *top); /* NULL is fine */

#endif
