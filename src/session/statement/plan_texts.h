/* plan_texts.h - runs a plan of one text column while a statement is planned (alm_plan_env.texts). */
#ifndef ALM_SESSION_PLAN_TEXTS_H
#define ALM_SESSION_PLAN_TEXTS_H

#include "session/core/session_state.h"

/* At most max + 1 values, memory from cx->arena. */
ALM_NODISCARD alm_status alm_plan_texts(alm_ctx *cx, alm_snapshot *snapshot,
                                        const alm_registry *registry, const alm_plan *plan,
                                        uint32_t max, alm_str **out, uint32_t *n);

#endif
