/*
 * answer_parquet.c - rows as a Parquet file. Its parameters are those of COPY ... TO (session/transfer/parquet.h), without
 * partition_by: an answer is one file.
 */
#include "net/http/query/run_state.h"
#include "session/transfer/parquet.h"

static alm_status read_parameters(alm_http *h, alm_pq_request *r)
{
    alm_pq_request_init(r);
    for (size_t i = 0; alm_pq_request_name(i) != NULL; i++) {
        const alm_str name = alm_str_of(alm_pq_request_name(i));
        const alm_str value = alm_http_param(&h->req, alm_pq_request_name(i));
        bool known = false;
        if (value.ptr != NULL && value.len > 0)
            ALM_TRY(alm_pq_request_read(&h->cx, 0, name, value, r, &known));
    }
    const alm_str partition = alm_http_param(&h->req, "partition_by");
    if (partition.len > 0 && !alm_str_ieq(partition, ALM_STR("none")))
        return alm_fail(&h->cx, ALM_E_ARG, 0,
                        "partition_by is for COPY: an answer over HTTP is one file");
    return alm_pq_request_check(&h->cx, r);
}

static bool parquet_read(alm_http *h, alm_str query, const void **options)
{
    alm_pq_request *r = NULL;
    alm_status st = ALM_NEW(&h->cx, &h->arena, &r);
    if (st == ALM_OK)
        st = read_parameters(h, r);
    *options = r;
    if (st == ALM_OK)
        return true;
    const alm_error err = h->cx.err;
    alm_http_reply_error(h, alm_status_http(st), query, err.msg, 0);
    return false;
}

/* run->answer: the writer, which appends to run->out. */
static alm_status parquet_begin(alm_query_run *run, const alm_plan_col *cols)
{
    alm_pq_writer *writer = NULL;
    (void)cols;
    ALM_TRY(alm_cursor_parquet(&run->cx, run->cursor, run->cols, run->n_cols, run->opt.answer,
                               alm_pq_sink_buf, &run->out, &writer));
    run->answer = writer;
    return ALM_OK;
}

/* A row group at a time, as these may be of one row. */
static alm_status parquet_rows(alm_query_run *run)
{
    const alm_pq_request *request = run->opt.answer;
    const int64_t group_rows = request->options.row_group_rows;
    const uint32_t from = run->row, left = run->row_end - from;
    const uint32_t n = (uint32_t)ALM_MIN(ALM_MAX(group_rows, INT64_C(1)), (int64_t)left);
    for (uint32_t i = 0; i < run->n_cols; i++)
        run->chosen[i] = run->batch->cols[run->cols[i]];
    const alm_batch rows = {.rows = run->batch->rows, .n_cols = run->n_cols, .cols = run->chosen};
    run->row += n;
    return alm_pq_write(&run->cx, run->answer, &rows, from, from + n);
}

static alm_status parquet_end(alm_query_run *run)
{
    return alm_pq_finish(&run->cx, run->answer);
}

static void parquet_close(alm_query_run *run)
{
    alm_pq_writer_free(run->answer);
    run->answer = NULL;
}

const alm_answer_ops alm_answer_parquet = {.read = parquet_read,
                                           .begin = parquet_begin,
                                           .rows = parquet_rows,
                                           .end = parquet_end,
                                           .close = parquet_close,
                                           .typed = true,
                                           .compressed = true};
