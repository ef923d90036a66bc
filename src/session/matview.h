/*
 * matview.h - when and how far materialized views are refreshed: what REFRESH and the refresher share.
 * Private to session/.
 */
#ifndef ALM_SESSION_MATVIEW_H
#define ALM_SESSION_MATVIEW_H

#include "session/session_state.h"

/* The last time at or before now when the timer of the view went off, and the next one. */
ALM_NODISCARD alm_status alm_matview_timer(alm_ctx *cx, const alm_view_def *view, int64_t now_us,
                                           int64_t *last, int64_t *next);
/* Up to where rows of the base belong to periods that have ended; INT64_MAX: the view has none. */
ALM_NODISCARD alm_status alm_matview_period_hi(alm_ctx *cx, const alm_view_def *view,
                                               const alm_table *base, int64_t now_us, int64_t *out);

#endif
