/*
 * site.c - what HTTP answers: the routes, who is let in, and the health check. The protocol itself is in exchange/.
 */
#include "base/conf.h"
#include "net/http/exchange/cors.h"
#include "net/http/login/login.h"
#include "net/http/login/session_store.h"
#include "net/http/route.h"
#include "net/shared.h"

/* -------------------------------------------------------------------- routes */

/* 405 with what the path takes. */
static void reply_method(alm_http *http, const char *methods)
{
    const char *body = NULL;
    alm_http_add_headers(http, "Allow: %s\r\n", methods);
    if (alm_arena_printf(&http->cx, &http->arena, &body, "Method %.*s not supported\r\n",
                         (int)ALM_MIN(http->req.method.len, (size_t)32),
                         http->req.method.ptr) != ALM_OK)
        body = "Method not supported\r\n";
    alm_http_reply(http, 405, "text/plain; charset=utf-8", NULL, alm_str_of(body));
}

static void reply_options(alm_http *http, const char *methods)
{
    alm_http_add_headers(http, "Allow: %s\r\n", methods);
    alm_cors_preflight(http, methods);
    alm_http_reply(http, 204, NULL, NULL, (alm_str){0});
}

/* Who asks may. Damage of some files lets the server go on with all others. */
static void answer_health(alm_http *http)
{
    const struct alm_conf *conf = http->cx.conf;
    alm_db *db = alm_conn_db(http->conn);
    const bool damaged = alm_storage_is_damaged(alm_db_storage(db));
    alm_conn_known(http->conn);
    if (alm_str_eq(http->req.path, ALM_STR("/metrics")) && conf->metrics_enabled)
        alm_http_metrics(http);
    else if (conf->http_pessimistic_health_check_enabled &&
             (damaged || alm_db_unhandled_errors(db) > 0))
        alm_http_reply(http, 500, "text/plain; charset=utf-8", NULL,
                       ALM_STR("Status: Unhealthy\n"));
    else
        alm_http_reply(http, 200, "text/plain; charset=utf-8", NULL,
                       damaged ? ALM_STR("Status: Degraded") : ALM_STR("Status: Healthy"));
}

static void login(alm_http *http)
{
    if (http->cx.conf->acl_enabled)
        alm_http_login_acl(http);
    else
        alm_http_login(http);
}

static void begin_health(alm_http *http)
{
    static const char methods[] = "GET, HEAD, OPTIONS";
    const struct alm_conf *conf = http->cx.conf;
    const alm_str method = http->req.method;
    if (alm_str_eq(method, ALM_STR("OPTIONS")))
        reply_options(http, methods);
    else if (!alm_str_eq(method, ALM_STR("GET")) && !alm_str_eq(method, ALM_STR("HEAD")))
        reply_method(http, methods);
    else if (conf->http_health_check_authentication_required)
        login(http); /* goes on with answer_health */
    else
        answer_health(http);
}

static bool has_public_dir(const alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    return shared != NULL && shared->public_dir != NULL;
}

static bool has_own_path(alm_str path)
{
    return alm_str_eq(path, ALM_STR("/write")) || alm_str_eq(path, ALM_STR("/api/v2/write")) ||
           alm_str_eq(path, ALM_STR("/ping")) || alm_str_eq(path, ALM_STR("*"));
}

/* The path below http.context.web.console, where all is but what clients of the line protocol ask for. False:
 * it is not below it. */
static bool enter_context(alm_http *http)
{
    const alm_str context = alm_str_of(http->cx.conf->http_context_web_console);
    alm_str *path = &http->req.path;
    if (context.len <= 1 || has_own_path(*path))
        return true;
    if (path->len < context.len || memcmp(path->ptr, context.ptr, context.len) != 0)
        return false;
    if (path->len > context.len && path->ptr[context.len] != '/')
        return false;
    *path = path->len == context.len ? ALM_STR("/")
                                     : (alm_str){path->ptr + context.len, path->len - context.len};
    return true;
}

/* The row that answers; NULL: the answer was sent. */
static const alm_http_route *find_route(alm_http *http)
{
    char methods[ALM_HTTP_METHODS_BYTES];
    const alm_str method = http->req.method;
    bool known = false;
    const bool here = enter_context(http);
    const alm_str path = http->req.path;
    const alm_http_route *route = here ? alm_http_route_find(path, method, &known) : NULL;
    if (here && route == NULL && !known && has_public_dir(http))
        route = alm_http_route_public(method);
    if (route != NULL)
        return route;
    alm_http_route_methods(path, methods);
    if (!known && !alm_str_eq(path, ALM_STR("*")))
        alm_http_reply_text(http, 404, "Not Found");
    else if (alm_str_eq(method, ALM_STR("OPTIONS")))
        reply_options(http, methods);
    else
        reply_method(http, methods);
    return NULL;
}

/* --------------------------------------------------------------------- login */

static void forget_login(alm_http *http)
{
    alm_cookie_release(http->cookie);
    http->cookie = NULL;
}

/* ----------------------------------------------------------------- protocols */

static const alm_http_site SITE = {.find_route = find_route,
                                   .login = login,
                                   .forget_login = forget_login,
                                   .piece_may = alm_http_piece_may,
                                   .is_cut = alm_http_is_cut,
                                   .health = begin_health,
                                   .answer_health = answer_health};

static void http_open(alm_conn *conn)
{
    alm_http_open(conn, &SITE, false);
}

static void health_open(alm_conn *conn)
{
    alm_http_open(conn, &SITE, true);
}

const alm_protocol alm_http_protocol = {.name = "http",
                                        .state_bytes = sizeof(alm_http),
                                        .open = http_open,
                                        .data = alm_http_data,
                                        .starved = alm_http_starved,
                                        .drained = alm_http_drained,
                                        .closing = alm_http_closing,
                                        .close = alm_http_close,
                                        .idle = alm_http_idle,
                                        .over = alm_http_over,
                                        .refuse = alm_http_refuse};

const alm_protocol alm_health_protocol = {.name = "health",
                                          .state_bytes = sizeof(alm_http),
                                          .open = health_open,
                                          .data = alm_http_data,
                                          .drained = alm_http_drained,
                                          .closing = alm_http_closing,
                                          .close = alm_http_close,
                                          .idle = alm_http_idle,
                                          .refuse = alm_http_refuse};
