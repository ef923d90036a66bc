/*
 * answer_json.c - rows as one JSON object: what is known before the rows, "dataset" with an array for each row, what is known
 * after them. Rows that are held are sent in the same form (answer_held.c).
 */
#include "base/number.h"
#include "codec/json_text.h"
#include "net/http/query/answer_text.h"

static const char *type_name(alm_type type)
{
    return type.id == ALM_T_NULL ? "STRING" : alm_type_name(type);
}

alm_status alm_answer_json_column(alm_ctx *cx, alm_buf *out, const alm_plan_col *col)
{
    ALM_TRY(alm_buf_text(cx, out, "{\"name\":"));
    ALM_TRY(alm_json_put_string(cx, out, alm_str_of(col->name)));
    if (col->type.id == ALM_T_ARRAY)
        return alm_buf_printf(cx, out, ",\"type\":\"ARRAY\",\"dim\":%u,\"elemType\":\"DOUBLE\"}",
                              col->type.dims);
    ALM_TRY(alm_buf_text(cx, out, ",\"type\":\""));
    ALM_TRY(alm_buf_text(cx, out, type_name(col->type)));
    return alm_buf_text(cx, out, "\"}");
}

static alm_status answer_json_put_columns(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    ALM_TRY(alm_buf_text(cx, out, "\"columns\":["));
    for (uint32_t i = 0; i < run->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, out, ","));
        ALM_TRY(alm_answer_json_column(cx, out, &cols[run->cols[i]]));
    }
    return alm_buf_text(cx, out, "],");
}

alm_status alm_answer_json_facts(alm_query_run *run, const alm_plan_col *cols)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    ALM_TRY(alm_buf_text(cx, out, "\"query\":"));
    ALM_TRY(alm_json_put_string(cx, out, run->query));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(answer_json_put_columns(run, cols));
    int32_t ts = -1;
    for (uint32_t i = 0; i < run->n_cols; i++)
        if ((int32_t)run->cols[i] == alm_cursor_ts_col(run->cursor))
            ts = (int32_t)i;
    ALM_TRY(alm_buf_text(cx, out, "\"timestamp\":"));
    ALM_TRY(alm_buf_int64(cx, out, ts));
    return alm_buf_text(cx, out, ",");
}

static alm_status json_begin(alm_query_run *run, const alm_plan_col *cols)
{
    /* a small answer in one go */
    enum { FACTS_BYTES = 512, COLUMN_BYTES = 64 };
    ALM_TRY(alm_answer_text_begin(run, cols, ALM_RESULT_JSON));
    const size_t room = FACTS_BYTES + 2 * run->query.len + (size_t)run->n_cols * COLUMN_BYTES;
    ALM_TRY(alm_buf_reserve(&run->cx, &run->out, room));
    ALM_TRY(alm_buf_text(&run->cx, &run->out, "{"));
    if (!run->opt.no_meta)
        ALM_TRY(alm_answer_json_facts(run, cols));
    return alm_buf_text(&run->cx, &run->out, "\"dataset\":[");
}

alm_status alm_answer_json_end(alm_query_run *run)
{
    alm_ctx *cx = &run->cx;
    alm_buf *out = &run->out;
    const int64_t count = run->held != NULL    ? alm_held_rows(run->held)
                          : run->opt.count_all ? run->rows_seen
                                               : run->rows_sent;
    ALM_TRY(alm_buf_text(cx, out, "],\"count\":"));
    ALM_TRY(alm_buf_int64(cx, out, count));
    if (run->held != NULL)
        ALM_TRY(alm_buf_printf(cx, out, ",\"snapshot\":\"%s\",\"complete\":%s",
                               alm_held_name(run->held),
                               alm_held_complete(run->held) ? "true" : "false"));
    if (run->opt.timings && run->cursor != NULL) {
        int64_t compile_ns = 0, execute_ns = 0;
        alm_cursor_times(run->cursor, &compile_ns, &execute_ns);
        ALM_TRY(alm_buf_printf(cx, out,
                               ",\"timings\":{\"authentication\":0,\"compiler\":%lld,"
                               "\"execute\":%lld,\"count\":0",
                               (long long)compile_ns, (long long)execute_ns));
        if (run->held != NULL)
            ALM_TRY(alm_buf_printf(cx, out, ",\"hold\":%lld",
                                   (long long)ALM_MAX(run->held_ns - execute_ns, (int64_t)0)));
        ALM_TRY(alm_buf_text(cx, out, "}"));
    }
    if (run->opt.explain)
        ALM_TRY(alm_buf_text(cx, out, ",\"explain\":{\"jitCompiled\":false}"));
    return alm_buf_text(cx, out, "}");
}

static alm_status json_begin_held(alm_query_run *run, const alm_plan_col *cols)
{
    ALM_TRY(alm_answer_text_begin(run, cols, ALM_RESULT_JSON));
    return alm_query_held_head(run, cols);
}

const alm_answer_ops alm_answer_json = {.begin = json_begin,
                                        .rows = alm_answer_text_rows,
                                        .end = alm_answer_json_end,
                                        .begin_held = json_begin_held};
