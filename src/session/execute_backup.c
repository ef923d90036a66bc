/*
 * execute_backup.c - CHECKPOINT: the files of the database held still for a copy.
 */
#include "session/session_state.h"

alm_status alm_run_checkpoint(alm_cursor *c, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    (void)params;
    (void)n;
    alm_ctx *cx = &c->cx;
    alm_storage *st = c->session->db->storage;
    ALM_TRY(alm_arena_zstr(cx, cx->arena, stmt->text, &c->tag));
    ALM_TRY(alm_outside_block(c, stmt));
    if (alm_str_eq(stmt->what, ALM_STR("create")))
        return alm_storage_hold(cx, st);
    return alm_storage_hold_release(cx, st);
}
