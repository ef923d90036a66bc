/*
 * net.c - the listeners of the configuration, on one loop.
 *
 * Safe by default: a listener that lets everybody in, or that still has the factory password, takes
 * loopback addresses only.
 */
#include "net/net.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "io/io.h"
#include "net/http/cors.h"
#include "net/http/http.h"
#include "net/http/preferences.h"
#include "net/ilp/ilp_tcp.h"
#include "net/pgwire/pgwire.h"
#include "net/shared.h"
#include "session/lines.h"

enum { KEYS_BYTES_MAX = 1 << 20, PATH_BYTES = 8192 };

struct alm_net {
    alm_net_shared shared;
    alm_loop *loop;
    alm_pg *pg;
    alm_tls *pg_tls; /* NULL: no TLS */
    alm_listener *http, *pg_listener, *health, *line;
    alm_mem pg_input; /* messages that are still coming in */
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
    if (alm_address_is_loopback(conf->line_tcp_net_bind_to) || conf->line_tcp_auth_db_path[0] != 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "line.tcp.net.bind.to=%s is not a loopback address, and lines over TCP have no "
                    "login: set line.tcp.auth.db.path, bind to 127.0.0.1, or send them to /write "
                    "over HTTP",
                    conf->line_tcp_net_bind_to);
}

/* A file of keys: its path in full, and its text, to be freed in any case. */
static alm_status read_keys(alm_ctx *cx, const alm_net *net, const char *name,
                            char path[PATH_BYTES], alm_buf *text)
{
    (void)snprintf(path, PATH_BYTES, "%s%s%s",
                   name[0] == '/' ? "" : alm_db_root(alm_loop_db(net->loop)),
                   name[0] == '/' ? "" : "/", name);
    alm_buf_init(text, NULL);
    return alm_io_read_text(cx, alm_io_posix(), path, KEYS_BYTES_MAX, text);
}

static alm_status read_line_keys(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    char path[PATH_BYTES];
    alm_buf text;
    if (conf->line_tcp_auth_db_path[0] == 0)
        return ALM_OK;
    alm_status st = read_keys(cx, net, conf->line_tcp_auth_db_path, path, &text);
    if (st == ALM_OK)
        st = alm_line_keys_read(cx, (alm_str){text.ptr, text.len}, path, &net->shared.line_keys);
    alm_buf_deinit(&text);
    return st;
}

static alm_status make_tls(alm_ctx *cx, const alm_net *net, const char *cert_name,
                           const char *key_name, const char *alpn, alm_tls **out)
{
    char cert_path[PATH_BYTES], key_path[PATH_BYTES];
    alm_buf cert, key;
    alm_status st = read_keys(cx, net, cert_name, cert_path, &cert);
    alm_buf_init(&key, NULL);
    if (st == ALM_OK)
        st = read_keys(cx, net, key_name, key_path, &key);
    if (st == ALM_OK)
        st = alm_tls_new(cx, (alm_str){cert.ptr, cert.len}, cert_path, (alm_str){key.ptr, key.len},
                         key_path, alpn, out);
    alm_buf_deinit(&cert);
    alm_buf_deinit(&key);
    return st;
}

static alm_status set_up_pg_tls(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    if (conf->pg_tls_required && !conf->pg_tls_enabled)
        return alm_fail(cx, ALM_E_ARG, -1, "pg.tls.required=true needs pg.tls.enabled=true");
    if (!conf->pg_tls_enabled)
        return ALM_OK;
    if (conf->pg_tls_cert_path[0] == 0 || conf->pg_tls_private_key_path[0] == 0)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "pg.tls.enabled=true needs pg.tls.cert.path and pg.tls.private.key.path");
    ALM_TRY(make_tls(cx, net, conf->pg_tls_cert_path, conf->pg_tls_private_key_path, "postgresql",
                     &net->pg_tls));
    alm_pg_use_tls(net->pg, net->pg_tls);
    return ALM_OK;
}

/* A folder that is not there at the start is none. */
static void find_public_dir(alm_net *net, const struct alm_conf *conf)
{
    const alm_io *io = alm_io_posix();
    alm_io_stat meta;
    const char *name = conf->http_static_public_directory;
    if (name[0] == 0 || asprintf(&net->shared.public_dir, "%s%s%s",
                                 name[0] == '/' ? "" : alm_db_root(alm_loop_db(net->loop)),
                                 name[0] == '/' ? "" : "/", name) < 0) {
        net->shared.public_dir = NULL;
        return;
    }
    if (io->stat(io, net->shared.public_dir, &meta) < 0 || !meta.is_dir) {
        free(net->shared.public_dir);
        net->shared.public_dir = NULL;
    }
}

static alm_status listen_all(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    ALM_TRY(alm_lines_check_conf(cx, conf));
    if (conf->http_enabled) {
        ALM_TRY(check_http(cx, conf));
        ALM_TRY(alm_http_check_conf(cx, conf));
        find_public_dir(net, conf);
        if (alm_io_posix()->random(alm_io_posix(), net->shared.session_key,
                                   sizeof(net->shared.session_key)) < 0)
            return alm_fail(cx, ALM_E_IO, -1, "the system gives no random bytes");
        ALM_TRY(alm_preferences_open(cx, alm_io_posix(), alm_db_root(alm_loop_db(net->loop)),
                                     conf->http_settings_bytes_max, &net->shared.preferences));
        const alm_listen_conf http = {.address = conf->http_bind_to,
                                      .protocol = &alm_http_protocol,
                                      .arg = &net->shared,
                                      .connection_max = conf->http_net_connection_limit,
                                      .limit_name = "http.net.connection.limit",
                                      .idle_ms = conf->http_net_connection_timeout,
                                      .traffic = &net->shared.traffic[ALM_NET_HTTP]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &http, &net->http));
    }
    if (conf->pg_enabled) {
        ALM_TRY(check_pg(cx, conf));
        net->pg_input =
            (alm_mem){.limit_bytes = conf->pg_input_memory_max, .name = "pg.input.memory.max"};
        ALM_TRY(set_up_pg_tls(cx, net, conf));
        const alm_listen_conf pg = {.address = conf->pg_net_bind_to,
                                    .protocol = &alm_pg_protocol,
                                    .arg = net->pg,
                                    .connection_max = conf->pg_net_connection_limit,
                                    .limit_name = "pg.net.connection.limit",
                                    .input_mem = &net->pg_input,
                                    .idle_ms = conf->pg_net_connection_timeout,
                                    .traffic = &net->shared.traffic[ALM_NET_PG]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &pg, &net->pg_listener));
    }
    if (conf->line_tcp_enabled) {
        ALM_TRY(check_line(cx, conf));
        ALM_TRY(read_line_keys(cx, net, conf));
        const alm_listen_conf line = {.address = conf->line_tcp_net_bind_to,
                                      .protocol = &alm_ilp_protocol,
                                      .arg = &net->shared,
                                      .connection_max = conf->line_tcp_net_connection_limit,
                                      .limit_name = "line.tcp.net.connection.limit",
                                      .idle_ms = conf->line_tcp_net_connection_timeout,
                                      .traffic = &net->shared.traffic[ALM_NET_LINE]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &line, &net->line));
    }
    if (conf->http_min_enabled) {
        const alm_listen_conf health = {.address = conf->http_min_net_bind_to,
                                        .protocol = &alm_health_protocol,
                                        .arg = &net->shared,
                                        .connection_max = conf->http_min_net_connection_limit,
                                        .limit_name = "http.min.net.connection.limit",
                                        .idle_ms = conf->http_net_connection_timeout,
                                        .traffic = &net->shared.traffic[ALM_NET_HEALTH]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &health, &net->health));
    }
    return ALM_OK;
}

static void free_net(alm_net *net)
{
    alm_loop_free(net->loop);
    alm_pg_free(net->pg);
    alm_tls_free(net->pg_tls);
    alm_line_keys_free(net->shared.line_keys);
    alm_preferences_free(net->shared.preferences);
    free(net->shared.public_dir);
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
