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

static void list(alm_http *h)
{
    const alm_query_options opt = {
        .format = &alm_answer_formats[ALM_ANSWER_JSON], .window = {.hi = INT64_MAX}, .headers = ""};
    alm_query_run_start(h, ALM_STR("SELECT * FROM query_activity()"), &opt);
}

static void reply_denied(alm_http *h, const alm_session *session)
{
    alm_error why = {.msg = "the query is that of another user"};
    if (h->cx.conf->acl_enabled &&
        alm_session_denied(&h->cx, session, "SQL ENGINE ADMIN", -1) != ALM_OK)
        why = h->cx.err;
    alm_http_reply_error(h, 403, (alm_str){0}, why.msg, -1);
}

static void reply_cancelled(alm_http *h, const alm_session *session, alm_cancelled how)
{
    if (how == ALM_CANCEL_DONE)
        alm_http_reply(h, 200, "application/json; charset=utf-8", NULL,
                       ALM_STR("{\"status\":\"OK\"}"));
    else if (how == ALM_CANCEL_DENIED)
        reply_denied(h, session);
    else
        alm_http_reply_error(h, 404, (alm_str){0}, "no query of that number runs", -1);
}

/* What stands behind the prefix of the route. */
static alm_str name_of(const alm_http *h)
{
    const size_t prefix = strlen(h->route->path);
    return (alm_str){h->req.path.ptr + prefix, h->req.path.len - prefix};
}

static void end_query(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    alm_session *session = alm_http_session(h);
    const alm_str id = name_of(h);
    int64_t number = 0;
    if (session == NULL)
        return;
    if (alm_tag_is_good(id))
        reply_cancelled(h, session,
                        alm_tagged_end(shared->tagged, id, session) ? ALM_CANCEL_DONE
                                                                    : ALM_CANCEL_NONE);
    else if (alm_int64_parse(id, &number) != ALM_NUM_OK || number <= 0)
        alm_http_reply_error(h, 400, (alm_str){0},
                             "the number or tag of a query expected: /query/17", -1);
    else
        reply_cancelled(h, session, alm_session_cancel_query(session, number));
}

static void show_progress(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    const alm_session *session = alm_http_session(h);
    int64_t rows = 0, elapsed_ns = 0;
    uint64_t statement = 0;
    const char *json = NULL;
    if (session == NULL)
        return;
    if (!alm_tag_is_good(name_of(h)))
        alm_http_reply_error(h, 400, (alm_str){0}, "the tag of a query expected: /query/my-tag",
                             -1);
    else if (!alm_tagged_progress(shared->tagged, name_of(h), session, &rows, &elapsed_ns,
                                  &statement))
        alm_http_reply(h, 204, NULL, NULL, (alm_str){0});
    else if (alm_arena_printf(
                 &h->cx, &h->arena, &json, "{\"query_id\":%llu,\"rows\":%lld,\"elapsed\":%lld}",
                 (unsigned long long)statement, (long long)rows, (long long)elapsed_ns) == ALM_OK)
        alm_http_reply(h, 200, "application/json; charset=utf-8", NULL, alm_str_of(json));
    else
        alm_http_reply_text(h, 503, "out of memory");
}

/* False: it was answered, and the result goes. */
static bool may_still(alm_http *h, alm_session *session, const alm_held *held)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    const alm_status st = alm_questions_again(&h->cx, session, alm_held_questions(held));
    const alm_error err = h->cx.err;
    if (st == ALM_OK)
        return true;
    alm_error_clear(&h->cx);
    if (st == ALM_E_DENIED || st == ALM_E_LOGIN_OVER)
        (void)alm_held_drop(shared->held, name_of(h), alm_session_identity(session));
    /* the login of this request is another one, and good */
    alm_http_reply_error(h, st == ALM_E_LOGIN_OVER ? 403 : alm_status_http(st), (alm_str){0},
                         err.msg, -1);
    return false;
}

/* A page: what it is of, its columns and their form were settled when the result was made. */
static void read_snapshot(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    alm_session *session = alm_http_session(h);
    alm_query_options opt = {.format = &alm_answer_formats[ALM_ANSWER_JSON],
                             .headers = "",
                             .no_meta = alm_http_param_is(&h->req, "nm", "true")};
    if (session == NULL || !alm_row_window_read(h, true, (alm_str){0}, &opt.window))
        return;
    opt.held = alm_held_find(shared->held, h->cx.conf, name_of(h), alm_session_identity(session));
    if (opt.held == NULL)
        alm_http_reply_error(h, 404, (alm_str){0},
                             "the snapshot is not held any more: run the query again", -1);
    else if (may_still(h, session, opt.held))
        alm_query_run_start(h, (alm_str){"", 0}, &opt);
    else
        alm_held_release(opt.held);
}

static void drop_snapshot(alm_http *h)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    const alm_session *session = alm_http_session(h);
    if (session == NULL)
        return;
    if (alm_held_drop(shared->held, name_of(h), alm_session_identity(session)))
        alm_http_reply(h, 200, "application/json; charset=utf-8", NULL,
                       ALM_STR("{\"status\":\"OK\"}"));
    else
        alm_http_reply_error(h, 404, (alm_str){0}, "no snapshot of that name is held", -1);
}

const alm_http_handler alm_ep_queries = {.begin = list,
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
