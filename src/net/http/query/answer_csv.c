/* answer_csv.c - rows as a CSV file (RFC 4180), with the names of the columns in the first line unless nm=true. */
#include "net/http/query/answer_text.h"

static alm_status answer_csv_begin(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    ALM_TRY(alm_answer_text_begin(run, cols, ALM_RESULT_CSV));
    if (run->opt.no_meta)
        return ALM_OK;
    for (uint32_t i = 0; i < run->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_append(cx, &run->out, &run->opt.delimiter, 1));
        ALM_TRY(alm_csv_put_quoted(cx, &run->out, alm_str_of(cols[run->cols[i]].name)));
    }
    return alm_buf_text(cx, &run->out, "\r\n");
}

const alm_answer_ops alm_answer_csv = {.begin = answer_csv_begin, .rows = alm_answer_text_rows};
