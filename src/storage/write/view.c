/*
 * view.c - the request that changes the description of a view.
 */
#include "storage/version/view.h"
#include "storage/write/commit.h"

static alm_status prepare_view(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const alm_view_edit *change = request->arg;
    alm_view_obj *obj = NULL;
    ALM_TRY(alm_view_edited(cx, build, change, &request->buf, &obj));
    ALM_TRY(alm_change_view(cx, build, change->view_id, obj));
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
    return ALM_OK;
}

alm_status alm_view_change(alm_ctx *cx, alm_storage *storage, uint64_t view_id, unsigned what,
                           const alm_view_def *to)
{
    alm_view_edit change = {.view_id = view_id, .what = what, .to = to};
    alm_request request = {.prepare = prepare_view, .arg = &change};
    return alm_commit(cx, storage, &request);
}
