/*
 * plan_env.c - what planning and running are given by the database: the planner's view of it, and that of the operators.
 */
#include "base/conf.h"
#include "session/statement/plan_texts.h"
#include "session/statement/statement.h"
#include "storage/spill/spill.h"

void alm_plan_env_init(alm_plan_env *env, alm_cursor *cursor, alm_param *params, uint32_t n_params)
{
    *env = (alm_plan_env){.snapshot = cursor->snapshot,
                          .registry = cursor->session->db->registry,
                          .sources = alm_session_sources(),
                          .texts = alm_plan_texts,
                          .params = params,
                          .n_params = n_params,
                          .opt_off = cursor->cx.conf != NULL ? cursor->cx.conf->debug_optimiser_off
                                                             : NULL};
}

alm_exec_env alm_db_exec_env(const alm_db *db, alm_snapshot *snapshot)
{
    return (alm_exec_env){.workers = db->workers,
                          .snapshot = snapshot,
                          .spill = alm_storage_spill_space(db->storage),
                          .registry = db->registry,
                          .texts = db->texts};
}
