/* validate.c - see validate.h. */
#include "net/http/validate.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "codec/json_text.h"
#include "net/http/query/run.h"
#include "session/statement/validate.h"

typedef struct validate_run {
    alm_http *h;
    alm_session *session;
    alm_str query;
    alm_ctx cx;
    alm_arena arena;
    alm_buf out;
    alm_status status; /* of the first mistake */
    alm_error err;     /* why there is no answer */
} validate_run;

static alm_status http_validate_put_columns(validate_run *run, const alm_validated *found)
{
    alm_ctx *cx = &run->cx;
    if (!found->has_cols)
        return ALM_OK;
    ALM_TRY(alm_buf_text(cx, &run->out, ",\"columns\":["));
    for (uint32_t i = 0; i < found->n_cols; i++) {
        if (i > 0)
            ALM_TRY(alm_buf_text(cx, &run->out, ","));
        ALM_TRY(alm_answer_json_column(cx, &run->out, &found->cols[i]));
    }
    return alm_buf_printf(cx, &run->out, "],\"timestamp\":%d", (int)found->ts_col);
}

/* Positions are counted on from the mistake before: the text is gone through once. */
static alm_status put_mistakes(validate_run *run, const alm_validated *found)
{
    alm_ctx *cx = &run->cx;
    int32_t place = 0;
    int64_t units = 0;
    ALM_TRY(alm_buf_text(cx, &run->out, ",\"errors\":["));
    for (uint32_t i = 0; i < found->n_mistakes; i++) {
        const alm_mistake *mistake = &found->mistakes[i];
        const alm_str rest = {run->query.ptr + place, run->query.len - (size_t)place};
        units += alm_http_units_before(rest, mistake->pos - place);
        place = mistake->pos;
        const int64_t length = alm_http_units_before(
            (alm_str){run->query.ptr + place, run->query.len - (size_t)place}, mistake->bytes);
        ALM_TRY(alm_buf_printf(cx, &run->out, "%s{\"position\":%lld,\"length\":%lld,\"error\":",
                               i > 0 ? "," : "", (long long)units, (long long)length));
        ALM_TRY(alm_json_put_string(cx, &run->out, alm_str_of(mistake->message)));
        ALM_TRY(alm_buf_text(cx, &run->out, "}"));
    }
    return alm_buf_text(cx, &run->out, "]");
}

/* The first of them once more, where clients that know of one look. */
static alm_status http_validate_put_first(validate_run *run, const alm_mistake *first)
{
    ALM_TRY(alm_buf_text(&run->cx, &run->out, ",\"error\":"));
    ALM_TRY(alm_json_put_string(&run->cx, &run->out, alm_str_of(first->message)));
    return alm_buf_printf(&run->cx, &run->out, ",\"position\":%lld",
                          (long long)alm_http_units_before(run->query, first->pos));
}

static alm_status http_validate_put_answer(validate_run *run, const alm_validated *found)
{
    alm_ctx *cx = &run->cx;
    ALM_TRY(alm_buf_text(cx, &run->out, "{\"query\":"));
    ALM_TRY(alm_json_put_string(cx, &run->out, run->query));
    ALM_TRY(
        alm_buf_printf(cx, &run->out, ",\"statements\":%lu", (unsigned long)found->n_statements));
    if (found->type != NULL) {
        ALM_TRY(alm_buf_text(cx, &run->out, ",\"queryType\":"));
        ALM_TRY(alm_json_put_string(cx, &run->out, alm_str_of(found->type)));
    }
    ALM_TRY(http_validate_put_columns(run, found));
    if (found->n_mistakes > 0)
        ALM_TRY(http_validate_put_first(run, &found->mistakes[0]));
    ALM_TRY(put_mistakes(run, found));
    return alm_buf_text(cx, &run->out, "}");
}

static void http_validate_work(void *arg)
{
    validate_run *run = arg;
    alm_validated found;
    alm_session_timeout(run->session, 0);
    alm_session_timeout_max(run->session, 0);
    if (alm_validate(run->session, run->query, &run->arena, &found) != ALM_OK) {
        run->err = *alm_session_error(run->session);
        return;
    }
    run->status = found.n_mistakes > 0 ? found.mistakes[0].code : ALM_OK;
    if (http_validate_put_answer(run, &found) != ALM_OK)
        run->err = run->cx.err;
}

static void http_validate_work_done(alm_conn *conn, void *arg)
{
    validate_run *run = arg;
    alm_http *http = run->h;
    (void)conn;
    const bool good = run->status == ALM_OK || alm_http_param_is(&http->req, "report", "true");
    if (run->err.code != ALM_OK)
        alm_http_reply_error(http, alm_status_http(run->err.code), run->query, run->err.msg,
                             ALM_MAX(run->err.sql_pos, 0));
    else
        alm_http_reply(http, good ? 200 : alm_status_http(run->status),
                       "application/json; charset=utf-8", NULL,
                       (alm_str){run->out.ptr, run->out.len});
    alm_http_finished(http);
}

void alm_validate_run(alm_http *http)
{
    const alm_str query = alm_http_param(&http->req, "query");
    if (query.len == 0) {
        alm_http_reply_error(http, 400, (alm_str){"", 0}, "No query text", 0);
        return;
    }
    if (!alm_utf8_is_valid(query)) {
        alm_http_reply_error(http, 400, (alm_str){"", 0}, "Bad UTF8 encoding in query text", 0);
        return;
    }
    alm_session *session = alm_http_session(http);
    validate_run *run = session != NULL ? calloc(1, sizeof(*run)) : NULL;
    if (run == NULL) {
        if (session != NULL)
            alm_http_reply_text(http, 503, "out of memory");
        return;
    }
    run->h = http;
    run->session = session;
    run->query = query;
    alm_arena_init(&run->arena, NULL);
    alm_buf_init(&run->out, NULL);
    run->cx = (alm_ctx){.arena = &run->arena, .conf = http->cx.conf};
    http->work = run;
    alm_conn_work(http->conn, http_validate_work, http_validate_work_done, NULL, run);
}

void alm_validate_close(alm_http *http)
{
    validate_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->out);
    alm_arena_deinit(&run->arena);
    free(run);
}
