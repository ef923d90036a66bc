/*
 * plan_texts.c - runs a small plan while a statement is planned: the values of its only column, a
 * text. One thread's work within the statement: its snapshot, memory account, cancel and time-out.
 */
#include "session/statement/plan_texts.h"

#include "session/access/access.h"
#include "session/statement/statement.h"

static alm_status plan_copy_text(alm_ctx *cx, const alm_vec *vec, size_t i, alm_str *out)
{
    const size_t offset = vec->is_const ? 0 : i;
    const alm_view *view = vec->dict != NULL ? &vec->dict->views[alm_vec_code(vec, offset)]
                                             : &((const alm_view *)vec->data)[offset];
    const char *text = NULL;
    *out = (alm_str){0};
    if (alm_view_is_null(view))
        return ALM_OK;
    const alm_str s = {alm_view_ptr(view, vec->dict != NULL ? NULL : vec->heap), view->len};
    ALM_TRY(alm_arena_zstr(cx, cx->arena, s, &text));
    *out = (alm_str){text, s.len};
    return ALM_OK;
}

static alm_status plan_texts_take_rows(alm_ctx *cx, alm_exec *exec, uint32_t max, alm_str *out,
                                       uint32_t *n)
{
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_exec_next(cx, exec, &batch));
        if (batch == NULL)
            return ALM_OK;
        for (uint32_t i = 0; i < batch->rows; i++) {
            ALM_TRY(plan_copy_text(cx, &batch->cols[0], i, &out[*n]));
            if ((*n)++ == max)
                return ALM_OK;
        }
    }
}

alm_status alm_plan_texts(alm_ctx *cx, alm_snapshot *snapshot, const alm_registry *registry,
                          const alm_plan *plan, uint32_t max, alm_str **out, uint32_t *n)
{
    alm_session *session = cx->session;
    alm_exec_env env = alm_db_exec_env(session->db, snapshot);
    env.registry = registry;
    alm_exec *exec = NULL;
    *n = 0;
    alm_audit_planned(cx, plan);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)max + 1, out));
    ALM_TRY(alm_exec_open(cx, plan, &env, &exec));
    const alm_status code = plan_texts_take_rows(cx, exec, max, *out, n);
    alm_exec_close(exec);
    return code;
}
