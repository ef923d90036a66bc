/* answer_arrow.c - rows as an Arrow IPC stream (codec/arrow_ipc.h): the schema, a message for some rows each, the end mark. */
#include "codec/arrow_ipc.h"
#include "net/http/query/run_state.h"

/* Columns that are null in every row are sent as texts. */
static alm_type arrow_type(alm_type type)
{
    return type.id == ALM_T_NULL ? ALM_TY(STRING) : type;
}

/* run->answer: a field for each chosen column. */
static alm_status arrow_begin(alm_query_run *run, const alm_plan_col *cols)
{
    alm_arrow_field *fields = NULL;
    ALM_TRY(ALM_NEWN(&run->cx, &run->arena, run->n_cols + 1, &fields));
    for (uint32_t i = 0; i < run->n_cols; i++) {
        const alm_plan_col *col = &cols[run->cols[i]];
        fields[i] = (alm_arrow_field){.name = col->name, .type = arrow_type(col->type)};
    }
    run->answer = fields;
    return alm_arrow_ipc_schema(&run->cx, fields, run->n_cols, &run->out);
}

static alm_status arrow_rows(alm_query_run *run)
{
    for (uint32_t i = 0; i < run->n_cols; i++) {
        alm_vec *vec = &run->chosen[i];
        *vec = run->batch->cols[run->cols[i]];
        vec->type = arrow_type(vec->type);
        if (!vec->is_const)
            vec->data = (char *)vec->data + (size_t)run->row * vec->width;
    }
    const alm_batch rows = {
        .rows = run->row_end - run->row, .n_cols = run->n_cols, .cols = run->chosen};
    uint32_t n = 0;
    ALM_TRY(alm_arrow_ipc_batch(&run->cx, run->answer, &rows, &n, &run->out));
    run->row += n;
    return ALM_OK;
}

static alm_status arrow_end(alm_query_run *run)
{
    return alm_arrow_ipc_end(&run->cx, &run->out);
}

const alm_answer_ops alm_answer_arrow = {
    .begin = arrow_begin, .rows = arrow_rows, .end = arrow_end, .typed = true};
