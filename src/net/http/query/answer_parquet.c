/*
 * answer_parquet.c - rows as a Parquet file. Its parameters are those of COPY ... TO (session/transfer/parquet.h), without
 * partition_by: an answer is one file.
 */
#include "net/http/query/run_state.h"
#include "session/transfer/parquet.h"

static alm_status answer_parquet_read_parameters(alm_http *http, alm_pq_request *request)
{
    alm_pq_request_init(request);
    for (size_t i = 0; alm_pq_request_name(i) != NULL; i++) {
        const alm_str name = alm_str_of(alm_pq_request_name(i));
        const alm_str value = alm_http_param(&http->req, alm_pq_request_name(i));
        bool known = false;
        if (value.ptr != NULL && value.len > 0)
            ALM_TRY(alm_pq_request_read(&http->cx, 0, name, value, request, &known));
    }
    const alm_str partition = alm_http_param(&http->req, "partition_by");
    if (partition.len > 0 && !alm_str_ieq(partition, ALM_STR("none")))
        return alm_fail(&http->cx, ALM_E_ARG, 0,
                        "partition_by is for COPY: an answer over HTTP is one file");
    return alm_pq_request_check(&http->cx, request);
}

static bool answer_parquet_read(alm_http *http, alm_str query, const void **options)
{
    alm_pq_request *request = NULL;
    alm_status status = ALM_NEW(&http->cx, &http->arena, &request);
    if (status == ALM_OK)
        status = answer_parquet_read_parameters(http, request);
    *options = request;
    if (status == ALM_OK)
        return true;
    const alm_error err = http->cx.err;
    alm_http_reply_error(http, alm_status_http(status), query, err.msg, 0);
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

const alm_answer_ops alm_answer_parquet = {.read = answer_parquet_read,
                                           .begin = parquet_begin,
                                           .rows = parquet_rows,
                                           .end = parquet_end,
                                           .close = parquet_close,
                                           .typed = true,
                                           .compressed = true};
