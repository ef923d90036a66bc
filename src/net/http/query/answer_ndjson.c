/* answer_ndjson.c - rows as JSON lines: an object for each row, nothing before and after them. */
#include "net/http/query/answer_text.h"

static alm_status ndjson_begin(alm_query_run *run, const alm_plan_col *cols)
{
    return alm_answer_text_begin(run, cols, ALM_RESULT_NDJSON);
}

const alm_answer_ops alm_answer_ndjson = {.begin = ndjson_begin, .rows = alm_answer_text_rows};
