/* reload.c - a new configuration while the server runs: who does it is told by the server. */
#include "session/core/session_state.h"

void alm_db_reload_by(alm_db *db, alm_reload_fn run, void *arg)
{
    (void)pthread_mutex_lock(&db->reload.lock);
    db->reload.run = run;
    db->reload.arg = arg;
    (void)pthread_mutex_unlock(&db->reload.lock);
}

alm_status alm_db_reload(alm_ctx *cx, alm_db *db, alm_reload what, bool *changed)
{
    (void)pthread_mutex_lock(&db->reload.lock);
    const alm_status status = db->reload.run != NULL
                                  ? db->reload.run(cx, db->reload.arg, what, changed)
                                  : alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                                             "there is no configuration that could be read again");
    (void)pthread_mutex_unlock(&db->reload.lock);
    return status;
}

/* Read by statements that start meanwhile: one store each. */
void alm_db_conf_changed(alm_db *db)
{
    alm_db_look_at_machine(db);
    const int64_t ram = alm_db_ram_bytes(db);
    const int64_t total = db->conf != NULL ? db->conf->query_memory_total_max : 0;
    const int64_t one = db->conf != NULL ? db->conf->query_memory_max : 0;
    __atomic_store_n(&db->mem.limit_bytes, total > 0 ? total : ram / 2, __ATOMIC_RELEASE);
    __atomic_store_n(&db->query_mem_bytes, one > 0 ? one : ram / 4, __ATOMIC_RELEASE);
    alm_requests_conf(db);
    alm_accounts_limit(db);
    alm_access_changed(db); /* acl.admin.* */
}
