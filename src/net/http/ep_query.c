/*
 * ep_query.c - /query: the statements that run, as /exec answers query_activity(); DELETE /query/ID ends the one
 * with that number, which answers carry as X-Query-Id (who may: see alm_session_cancel_query), or with the tag that its
 * client gave it; GET /query/TAG tells how far it is. /snapshot/NAME: pages of a result that is held, DELETE lets it go.
 */
#include "base/conf.h"
#include "base/number.h"
#include "net/http/query/held.h"
#include "net/http/query/run.h"
#include "net/http/query/tagged.h"
#include "net/shared.h"

static void ep_query_list(alm_http *http)
{
    const alm_query_options opt = {
        .format = &alm_answer_formats[ALM_ANSWER_JSON], .window = {.hi = INT64_MAX}, .headers = ""};
    alm_query_run_start(http, ALM_STR("SELECT * FROM query_activity()"), &opt);
}

static void reply_denied(alm_http *http, const alm_session *session)
{
    alm_error why = {.msg = "the query is that of another user"};
    if (http->cx.conf->acl_enabled &&
        alm_session_denied(&http->cx, session, "SQL ENGINE ADMIN", -1) != ALM_OK)
        why = http->cx.err;
    alm_http_reply_error(http, 403, (alm_str){0}, why.msg, -1);
}

static void reply_cancelled(alm_http *http, const alm_session *session, alm_cancelled how)
{
    if (how == ALM_CANCEL_DONE)
        alm_http_reply(http, 200, "application/json; charset=utf-8", NULL,
                       ALM_STR("{\"status\":\"OK\"}"));
    else if (how == ALM_CANCEL_DENIED)
        reply_denied(http, session);
    else
        alm_http_reply_error(http, 404, (alm_str){0}, "no query of that number runs", -1);
}

/* What stands behind the prefix of the route. */
static alm_str ep_query_name_of(const alm_http *http)
{
    const size_t prefix = strlen(http->route->path);
    return (alm_str){http->req.path.ptr + prefix, http->req.path.len - prefix};
}

static void end_query(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    alm_session *session = alm_http_session(http);
    const alm_str id = ep_query_name_of(http);
    int64_t number = 0;
    if (session == NULL)
        return;
    if (alm_tag_is_good(id))
        reply_cancelled(http, session,
                        alm_tagged_end(shared->tagged, id, session) ? ALM_CANCEL_DONE
                                                                    : ALM_CANCEL_NONE);
    else if (alm_int64_parse(id, &number) != ALM_NUM_OK || number <= 0)
        alm_http_reply_error(http, 400, (alm_str){0},
                             "the number or tag of a query expected: /query/17", -1);
    else
        reply_cancelled(http, session, alm_session_cancel_query(session, number));
}

static void show_progress(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    const alm_session *session = alm_http_session(http);
    int64_t rows = 0, elapsed_ns = 0;
    uint64_t statement = 0;
    const char *json = NULL;
    if (session == NULL)
        return;
    if (!alm_tag_is_good(ep_query_name_of(http)))
        alm_http_reply_error(http, 400, (alm_str){0}, "the tag of a query expected: /query/my-tag",
                             -1);
    else if (!alm_tagged_progress(shared->tagged, ep_query_name_of(http), session, &rows,
                                  &elapsed_ns, &statement))
        alm_http_reply(http, 204, NULL, NULL, (alm_str){0});
    else if (alm_arena_printf(&http->cx, &http->arena, &json,
                              "{\"query_id\":%llu,\"rows\":%lld,\"elapsed\":%lld}",
                              (unsigned long long)statement, (long long)rows,
                              (long long)elapsed_ns) == ALM_OK)
        alm_http_reply(http, 200, "application/json; charset=utf-8", NULL, alm_str_of(json));
    else
        alm_http_reply_text(http, 503, "out of memory");
}

/* False: it was answered, and the result goes. */
static bool may_still(alm_http *http, alm_session *session, const alm_held *held)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    const alm_status status = alm_questions_again(&http->cx, session, alm_held_questions(held));
    const alm_error err = http->cx.err;
    if (status == ALM_OK)
        return true;
    alm_error_clear(&http->cx);
    if (status == ALM_E_DENIED || status == ALM_E_LOGIN_OVER)
        (void)alm_held_drop(shared->held, ep_query_name_of(http), alm_session_identity(session));
    /* the login of this request is another one, and good */
    alm_http_reply_error(http, status == ALM_E_LOGIN_OVER ? 403 : alm_status_http(status),
                         (alm_str){0}, err.msg, -1);
    return false;
}

/* A page: what it is of, its columns and their form were settled when the result was made. */
static void read_snapshot(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    alm_session *session = alm_http_session(http);
    alm_query_options opt = {.format = &alm_answer_formats[ALM_ANSWER_JSON],
                             .headers = "",
                             .no_meta = alm_http_param_is(&http->req, "nm", "true")};
    if (session == NULL || !alm_row_window_read(http, true, (alm_str){0}, &opt.window))
        return;
    opt.held = alm_held_find(shared->held, http->cx.conf, ep_query_name_of(http),
                             alm_session_identity(session));
    if (opt.held == NULL)
        alm_http_reply_error(http, 404, (alm_str){0},
                             "the snapshot is not held any more: run the query again", -1);
    else if (may_still(http, session, opt.held))
        alm_query_run_start(http, (alm_str){"", 0}, &opt);
    else
        alm_held_release(opt.held);
}

static void drop_snapshot(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    const alm_session *session = alm_http_session(http);
    if (session == NULL)
        return;
    if (alm_held_drop(shared->held, ep_query_name_of(http), alm_session_identity(session)))
        alm_http_reply(http, 200, "application/json; charset=utf-8", NULL,
                       ALM_STR("{\"status\":\"OK\"}"));
    else
        alm_http_reply_error(http, 404, (alm_str){0}, "no snapshot of that name is held", -1);
}

const alm_http_handler alm_ep_queries = {.begin = ep_query_list,
                                         .close = alm_query_run_close,
                                         .drained = alm_query_run_drained,
                                         .stuck = alm_query_run_is_stuck};
const alm_http_handler alm_ep_query = {.begin = end_query};
const alm_http_handler alm_ep_progress = {.begin = show_progress};
const alm_http_handler alm_ep_snapshot = {.begin = read_snapshot,
                                          .close = alm_query_run_close,
                                          .drained = alm_query_run_drained,
                                          .stuck = alm_query_run_is_stuck};
const alm_http_handler alm_ep_snapshot_end = {.begin = drop_snapshot};
