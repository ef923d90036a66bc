/*
 * net.c - the listeners of the configuration, on one loop.
 *
 * Safe by default: a listener that lets everybody in, or that still has the factory password, takes
 * loopback addresses only.
 */
#include "net/net.h"

#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "net/http/http.h"
#include "net/ilp/ilp_tcp.h"
#include "net/pgwire/pgwire.h"

struct alm_net {
    alm_loop *loop;
    alm_pg *pg;
    alm_listener *http, *pg_listener, *health, *line;
};

static alm_status check_http(alm_ctx *cx, const struct alm_conf *conf)
{
    if (alm_address_is_loopback(conf->http_bind_to) ||
        (conf->http_user[0] != 0 && conf->http_password[0] != 0))
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_ARG, -1,
        "http.bind.to=%s is not a loopback address and HTTP has no login: set http.user "
        "and http.password, or bind to 127.0.0.1",
        conf->http_bind_to);
}

static alm_status check_pg(alm_ctx *cx, const struct alm_conf *conf)
{
    const bool factory =
        strcmp(conf->pg_password, "quest") == 0 ||
        (conf->pg_readonly_user_enabled && strcmp(conf->pg_readonly_password, "quest") == 0);
    if (alm_address_is_loopback(conf->pg_net_bind_to) || (!factory && conf->pg_password[0] != 0))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "pg.net.bind.to=%s is not a loopback address and the password is the factory "
                    "one: set pg.password%s, or bind to 127.0.0.1",
                    conf->pg_net_bind_to,
                    conf->pg_readonly_user_enabled ? " and pg.readonly.password" : "");
}

static alm_status check_line(alm_ctx *cx, const struct alm_conf *conf)
{
    if (alm_address_is_loopback(conf->line_tcp_net_bind_to))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "line.tcp.net.bind.to=%s is not a loopback address, and lines over TCP have no "
                    "login: bind to 127.0.0.1, or send them to /write over HTTP",
                    conf->line_tcp_net_bind_to);
}

static alm_status listen_all(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    if (conf->http_enabled) {
        ALM_TRY(check_http(cx, conf));
        const alm_listen_conf http = {.address = conf->http_bind_to,
                                      .protocol = &alm_http_protocol,
                                      .connection_max = conf->http_net_connection_limit,
                                      .idle_ms = conf->http_net_connection_timeout};
        ALM_TRY(alm_loop_listen(cx, net->loop, &http, &net->http));
    }
    if (conf->pg_enabled) {
        ALM_TRY(check_pg(cx, conf));
        const alm_listen_conf pg = {.address = conf->pg_net_bind_to,
                                    .protocol = &alm_pg_protocol,
                                    .arg = net->pg,
                                    .connection_max = conf->pg_net_connection_limit,
                                    .idle_ms = conf->pg_net_connection_timeout};
        ALM_TRY(alm_loop_listen(cx, net->loop, &pg, &net->pg_listener));
    }
    if (conf->line_tcp_enabled) {
        ALM_TRY(check_line(cx, conf));
        const alm_listen_conf line = {.address = conf->line_tcp_net_bind_to,
                                      .protocol = &alm_ilp_protocol,
                                      .connection_max = conf->line_tcp_net_connection_limit};
        ALM_TRY(alm_loop_listen(cx, net->loop, &line, &net->line));
    }
    if (conf->http_min_enabled) {
        const alm_listen_conf health = {.address = conf->http_min_net_bind_to,
                                        .protocol = &alm_health_protocol,
                                        .connection_max = conf->http_min_net_connection_limit,
                                        .idle_ms = conf->http_net_connection_timeout};
        ALM_TRY(alm_loop_listen(cx, net->loop, &health, &net->health));
    }
    return ALM_OK;
}

static void free_net(alm_net *net)
{
    alm_loop_free(net->loop);
    alm_pg_free(net->pg);
    free(net);
}

alm_status alm_net_start(alm_ctx *cx, alm_db *db, alm_net **out)
{
    const struct alm_conf *conf = alm_db_conf(db);
    alm_net *net = calloc(1, sizeof(*net));
    if (net == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    alm_status st = alm_loop_new(cx, db, (uint32_t)conf->query_concurrent_max, &net->loop);
    if (st == ALM_OK)
        st = alm_pg_new(cx, db, &net->pg);
    if (st == ALM_OK)
        st = listen_all(cx, net, conf);
    if (st == ALM_OK)
        st = alm_loop_start(cx, net->loop);
    if (st != ALM_OK) {
        free_net(net);
        return st;
    }
    *out = net;
    return ALM_OK;
}

void alm_net_stop(alm_net *net, int64_t grace_ms)
{
    if (net == NULL)
        return;
    alm_loop_stop(net->loop, grace_ms);
    free_net(net);
}

const char *alm_net_address(const alm_net *net, const char *listener)
{
    const alm_listener *found = strcmp(listener, "http") == 0     ? net->http
                                : strcmp(listener, "pg") == 0     ? net->pg_listener
                                : strcmp(listener, "health") == 0 ? net->health
                                : strcmp(listener, "line") == 0   ? net->line
                                                                  : NULL;
    return found != NULL ? alm_listener_address(found) : NULL;
}
