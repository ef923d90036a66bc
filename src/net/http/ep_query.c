/*
 * ep_query.c - /query: the statements that run, as /exec answers query_activity(); DELETE /query/ID ends the one
 * with that number, which answers carry as X-Query-Id. Who may: see alm_session_cancel_query.
 */
#include "base/number.h"
#include "net/http/query_run.h"

static void list(alm_http *h)
{
    const alm_query_options opt = {.form = ALM_RESULT_JSON,
                                   .window = {.hi = INT64_MAX},
                                   .type = "application/json; charset=utf-8",
                                   .headers = "Cache-Control: no-store\r\n"};
    alm_query_run_start(h, ALM_STR("SELECT * FROM query_activity()"), &opt);
}

static void reply_cancelled(alm_http *h, alm_cancelled how)
{
    if (how == ALM_CANCEL_DONE)
        alm_http_reply(h, 200, "application/json; charset=utf-8", NULL,
                       ALM_STR("{\"status\":\"OK\"}"));
    else if (how == ALM_CANCEL_DENIED)
        alm_http_reply_error(h, 403, (alm_str){0}, "the query is that of another user", -1);
    else
        alm_http_reply_error(h, 404, (alm_str){0}, "no query of that number runs", -1);
}

static void end_query(alm_http *h)
{
    static const alm_str prefix = ALM_STR("/query/");
    const alm_session *session = alm_http_session(h);
    const alm_str id = {h->req.path.ptr + prefix.len, h->req.path.len - prefix.len};
    int64_t number = 0;
    if (session == NULL)
        return;
    if (alm_int64_parse(id, &number) != ALM_NUM_OK || number <= 0)
        alm_http_reply_error(h, 400, (alm_str){0}, "the number of a query expected: /query/17", -1);
    else
        reply_cancelled(h, alm_session_cancel_query(session, number));
}

const alm_http_handler alm_ep_queries = {
    .begin = list, .close = alm_query_run_close, .drained = alm_query_run_drained};
const alm_http_handler alm_ep_query = {.begin = end_query};
