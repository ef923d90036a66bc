/* sources.c - hands exec's table functions and constant folding to sql/, which may not include it. */
#include "session/session_state.h"

static bool source_exists(alm_str name)
{
    return alm_source_find(name) != NULL;
}

static alm_status source_bind(alm_ctx *cx, alm_str name, alm_snapshot *snap, int32_t pos,
                              const alm_expr *const *args, uint32_t n_args, alm_plan_col **cols,
                              uint32_t *n_cols, int32_t *ts_col, double *est_rows, void **data)
{
    const alm_source *source = alm_source_find(name);
    ALM_ASSERT(source != NULL);
    return alm_source_bind(cx, source, snap, pos, args, n_args, cols, n_cols, ts_col, est_rows,
                           data);
}

const alm_source_if *alm_session_sources(void)
{
    static const alm_source_if table = {
        .exists = source_exists, .bind = source_bind, .constant = alm_exec_constant};
    return &table;
}
