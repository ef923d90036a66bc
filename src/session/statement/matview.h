/*
 * matview.h - when and how far materialized views are refreshed: what REFRESH and the refresher share.
 * Private to session/.
 */
#ifndef ALM_SESSION_MATVIEW_H
#define ALM_SESSION_MATVIEW_H

#include "session/core/session_state.h"

/* The last time at or before now when the timer of the view went off, and the next one. */
ALM_NODISCARD alm_status alm_matview_timer(alm_ctx *cx, const alm_view_def *view, int64_t now_us,
                                           int64_t *last, int64_t *next);
/*
 * A refresh that runs, by the refresher or by REFRESH: listed in the database, so that who drops its view, its base or its maker
 * need not wait for its end. Lives on the stack of who runs it.
 */
typedef struct alm_refresh_run {
    struct alm_refresh_run *next;
    alm_session *session;
    uint64_t statement;
    const char *view, *base; /* names, in the arena of the statement that runs it */
    uint64_t view_id, base_id;
    const char *why; /* it was ended: under the lock of the list */
} alm_refresh_run;
/* Ends refreshes that have become useless since they began. */
void alm_refreshes_watch(alm_ctx *cx, alm_db *db);

typedef struct alm_refreshers alm_refreshers;

/* Up to where rows of the base belong to periods that have ended; INT64_MAX: the view has none. */
ALM_NODISCARD alm_status alm_matview_period_hi(alm_ctx *cx, const alm_view_def *view,
                                               const alm_table *base, int64_t now_us, int64_t *out);

#endif
