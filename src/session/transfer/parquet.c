/* parquet.c - see parquet.h. */
#include "session/transfer/parquet.h"

#include <stdlib.h>

#include "session/core/session_state.h"
#include "session/statement/statement.h"
#include "session/transfer/transfer.h"

/* -------------------------------------------------------------------------- columns side by side */

typedef struct side_by_side {
    alm_ctx *cx; /* one each */
    alm_status (*one)(alm_ctx *cx, void *arg, uint32_t i);
    void *arg;
} side_by_side;

static void transfer_parquet_run_one(void *arg, uint32_t i, uint32_t slot)
{
    side_by_side *side = arg;
    (void)slot;
    if (side->one(&side->cx[i], side->arg, i) != ALM_OK)
        ALM_ASSERT(side->cx[i].err.code != ALM_OK);
}

static alm_status transfer_parquet_each(alm_ctx *cx, void *pool, uint32_t n,
                                        alm_status (*one)(alm_ctx *cx, void *arg, uint32_t i),
                                        void *arg)
{
    side_by_side side = {.cx = calloc((size_t)n + 1, sizeof(*side.cx)), .one = one, .arg = arg};
    alm_status status = ALM_OK;
    if (side.cx == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for the columns of a row group");
    for (uint32_t i = 0; i < n; i++)
        alm_ctx_fork(cx, &side.cx[i]);
    alm_workers_run(pool, n, transfer_parquet_run_one, &side);
    for (uint32_t i = 0; i < n && status == ALM_OK; i++)
        status = alm_ctx_join(cx, &side.cx[i]);
    free(side.cx);
    return status;
}

/* -------------------------------------------------------------------------- the writer of a cursor */

/* Number of a column among those that are written, -1: it is not one. */
static int32_t transfer_parquet_place_of(int32_t col, const uint32_t *cols, uint32_t n)
{
    for (uint32_t i = 0; col >= 0 && i < n; i++)
        if ((int32_t)cols[i] == col)
            return (int32_t)i;
    return -1;
}

alm_status alm_cursor_parquet(alm_ctx *cx, alm_cursor *cursor, const uint32_t *cols,
                              uint32_t n_cols, const alm_pq_request *request, alm_pq_sink sink,
                              void *arg, alm_pq_writer **out)
{
    const alm_ts_order order = cursor->plan != NULL ? cursor->plan->order : ALM_ORDER_NONE;
    const int32_t ts = transfer_parquet_place_of(cursor->ts_col, cols, n_cols);
    const alm_pq_sorting sorting = {.column = (uint32_t)ALM_MAX(ts, 0),
                                    .descending = order == ALM_ORDER_DESC,
                                    .nulls_first = order == ALM_ORDER_ASC};
    alm_pq_options options = request->options;
    alm_pq_column *columns = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &columns));
    for (uint32_t i = 0; i < n_cols; i++)
        columns[i] =
            (alm_pq_column){.name = cursor->cols[cols[i]].name, .type = cursor->cols[cols[i]].type};
    ALM_TRY(alm_pq_request_columns(cx, request, columns, n_cols));
    if (ts >= 0 && order != ALM_ORDER_NONE) {
        options.sorting = &sorting;
        options.n_sorting = 1;
    }
    options.ts_col = order == ALM_ORDER_ASC ? ts : -1;
    options.mem = &cursor->mem;
    options.each = transfer_parquet_each;
    options.pool = cursor->session->db->workers;
    return alm_pq_writer_new(cx, columns, n_cols, &options, sink, arg, out);
}

/* -------------------------------------------------------------------------- COPY TO STDOUT */

static alm_status begin_copy(alm_ctx *cx, alm_cursor *cursor, alm_buf *out)
{
    uint32_t *cols = NULL;
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, cursor->n_cols + 1, &cols));
    for (uint32_t i = 0; i < cursor->n_cols; i++)
        cols[i] = i;
    alm_ctx own = *cx;
    own.arena = &cursor->arena;
    const alm_status status =
        alm_cursor_parquet(&own, cursor, cols, cursor->n_cols, cursor->parquet_request,
                           alm_pq_sink_buf, out, &cursor->parquet);
    cx->err = own.err;
    return status;
}

alm_status alm_copy_parquet(alm_ctx *cx, alm_cursor *cursor, size_t enough, alm_buf *out,
                            int64_t *rows, bool *done)
{
    *done = false;
    if (cursor->parquet == NULL)
        ALM_TRY(begin_copy(cx, cursor, out));
    while (out->len < enough) {
        alm_batch *batch = NULL;
        if (alm_cursor_next(cursor, &batch) != ALM_OK) {
            cx->err = *alm_session_error(cursor->session);
            return cx->err.code;
        }
        if (batch == NULL) {
            *done = true;
            return alm_pq_finish(cx, cursor->parquet);
        }
        ALM_TRY(alm_pq_write(cx, cursor->parquet, batch, 0, batch->rows));
        *rows += batch->rows;
    }
    return ALM_OK;
}
