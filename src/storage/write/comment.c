/*
 * comment.c - COMMENT ON: the request that sets or removes a comment.
 */
#include "storage/version/comment.h"
#include "storage/version/encode.h"
#include "storage/write/commit.h"

enum { COMMENT_BYTES_MAX = 1 << 16 };

typedef struct comment_arg {
    uint64_t table_id;
    uint32_t col_id;
    alm_str text;
} comment_arg;

static alm_status prepare_comment(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const comment_arg *arg = request->arg;
    ALM_TRY(alm_op_comment(cx, &request->buf, arg->table_id, arg->col_id, arg->text));
    request->pieces[0] = (alm_wal_piece){request->buf.ptr, request->buf.len};
    request->n_pieces = 1;
    return alm_change_comment(cx, build, arg->table_id, arg->col_id, arg->text);
}

alm_status alm_table_set_comment(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                 uint32_t col_id, alm_str text)
{
    if (text.len > COMMENT_BYTES_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "a comment may have %d bytes, not %zu",
                        COMMENT_BYTES_MAX, text.len);
    comment_arg arg = {.table_id = table_id, .col_id = col_id, .text = text};
    alm_request request = {.prepare = prepare_comment, .arg = &arg};
    ALM_TRY(alm_storage_writable(cx, storage));
    return alm_commit(cx, storage, &request);
}
