/*
 * net.c - the listeners of the configuration.
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
#include "net/certs.h"
#include "net/http/exchange/cors.h"
#include "net/http/exchange/http.h"
#include "net/http/login/session_cookie.h"
#include "net/http/login/session_store.h"
#include "net/http/preferences.h"
#include "net/http/query/held.h"
#include "net/http/query/places.h"
#include "net/http/query/tagged.h"
#include "net/ilp/ilp_tcp.h"
#include "net/pgwire/pgwire.h"
#include "net/shared.h"
#include "session/access/login.h"
#include "session/transfer/lines.h"

enum { KEYS_BYTES_MAX = 1 << 20, PATH_BYTES = 8192 };

struct alm_net {
    alm_net_shared shared;
    alm_loop *loop;
    alm_pg *pg;
    alm_tls_slot tls[ALM_NET_PROTOCOLS]; /* by ALM_NET_HTTP ... */
    alm_listener *http, *pg_listener, *health, *line;
    alm_mem pg_input; /* messages that are still coming in */
};

/* Who logs in is known, and the administrator's password is not the one that everybody knows. */
static bool has_access_control(const struct alm_conf *conf)
{
    const bool factory =
        conf->acl_admin_user_enabled &&
        (strcmp(conf->acl_admin_password, "quest") == 0 || conf->acl_admin_password[0] == 0);
    return conf->acl_enabled && !factory;
}

static alm_status check_acl(alm_ctx *cx, const struct alm_conf *conf, const char *key,
                            const char *address)
{
    if (alm_address_is_loopback(address) || has_access_control(conf))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "%s=%s is not a loopback address and the administrator's password is the "
                    "factory one: set acl.admin.password, or bind to 127.0.0.1",
                    key, address);
}

static alm_status check_http(alm_ctx *cx, const struct alm_conf *conf)
{
    if (conf->acl_enabled)
        return check_acl(cx, conf, "http.bind.to", conf->http_bind_to);
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
    if (conf->acl_enabled)
        return check_acl(cx, conf, "pg.net.bind.to", conf->pg_net_bind_to);
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
    if (conf->acl_enabled && conf->line_tcp_acl_enabled)
        return ALM_OK; /* keys of users */
    if (alm_address_is_loopback(conf->line_tcp_net_bind_to) || conf->line_tcp_auth_db_path[0] != 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "line.tcp.net.bind.to=%s is not a loopback address, and lines over TCP have no "
                    "login: set line.tcp.auth.db.path, bind to 127.0.0.1, or send them to /write "
                    "over HTTP",
                    conf->line_tcp_net_bind_to);
}

/* A line for each interface on which passwords and tokens can be read on the way. */
static void warn_of_clear(const struct alm_conf *conf)
{
    if (!conf->acl_enabled)
        return;
    if (conf->http_enabled && !alm_certs_enabled(conf, ALM_NET_HTTP))
        alm_log_warn("http", "passwords and tokens travel in clear: http.tls.enabled is not set");
    if (conf->pg_enabled && conf->pg_auth_cleartext && !alm_certs_enabled(conf, ALM_NET_PG))
        alm_log_warn("pg", "passwords and tokens travel in clear: pg.auth.cleartext is set, and "
                           "pg.tls.enabled is not");
}

static alm_status read_line_keys(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    const char *name = conf->line_tcp_auth_db_path;
    char path[PATH_BYTES];
    alm_buf text;
    if (name[0] == 0)
        return ALM_OK;
    (void)snprintf(path, PATH_BYTES, "%s%s%s",
                   name[0] == '/' ? "" : alm_db_root(alm_loop_db(net->loop)),
                   name[0] == '/' ? "" : "/", name);
    alm_buf_init(&text, NULL);
    alm_status status = alm_io_read_text(cx, alm_io_posix(), path, KEYS_BYTES_MAX, &text);
    if (status == ALM_OK)
        status =
            alm_line_keys_read(cx, (alm_str){text.ptr, text.len}, path, &net->shared.line_keys);
    alm_buf_deinit(&text);
    return status;
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

static alm_status net_check_all(alm_ctx *cx, const struct alm_conf *conf)
{
    ALM_TRY(alm_lines_check_conf(cx, conf));
    if (conf->http_enabled) {
        ALM_TRY(check_http(cx, conf));
        ALM_TRY(alm_http_check_conf(cx, conf));
    }
    if (conf->pg_enabled)
        ALM_TRY(check_pg(cx, conf));
    return conf->line_tcp_enabled ? check_line(cx, conf) : ALM_OK;
}

/* Where the settings say TLS, there is something in the slot. */
static void take_certs(alm_net *net, alm_certs *certs)
{
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++) {
        alm_tls_slot_set(&net->tls[i], certs->of[i]);
        certs->of[i] = NULL;
    }
}

static alm_tls_slot *net_slot_of(alm_net *net, const struct alm_conf *conf, int listener)
{
    return alm_certs_enabled(conf, listener) ? &net->tls[listener] : NULL;
}

static alm_status listen_all(alm_ctx *cx, alm_net *net, const struct alm_conf *conf)
{
    alm_certs certs = {0};
    ALM_TRY(net_check_all(cx, conf));
    ALM_TRY(alm_certs_read(cx, alm_db_root(alm_loop_db(net->loop)), conf, &certs));
    take_certs(net, &certs);
    if (conf->http_enabled) {
        find_public_dir(net, conf);
        if (alm_io_posix()->random(alm_io_posix(), net->shared.session_key,
                                   sizeof(net->shared.session_key)) < 0)
            return alm_fail(cx, ALM_E_IO, -1, "the system gives no random bytes");
        ALM_TRY(alm_preferences_open(cx, alm_io_posix(), alm_db_root(alm_loop_db(net->loop)),
                                     conf->http_settings_bytes_max, &net->shared.preferences));
        ALM_TRY(alm_held_store_new(
            cx, alm_db_memory_share(alm_loop_db(net->loop), 0, INT64_C(256) << 20, 16),
            &net->shared.held));
        ALM_TRY(alm_tagged_list_new(cx, &net->shared.tagged));
        net->shared.sessions = alm_session_store_new();
        net->shared.ended = alm_ended_sessions_new();
        net->shared.exports = alm_places_new();
        net->shared.json_queries = alm_places_new();
        if (net->shared.sessions == NULL || net->shared.ended == NULL ||
            net->shared.exports == NULL || net->shared.json_queries == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
        alm_session_store_listed(net->shared.sessions, alm_loop_db(net->loop));
        const alm_listen_conf http = {.address = conf->http_bind_to,
                                      .protocol = &alm_http_protocol,
                                      .arg = &net->shared,
                                      .connection_max = &conf->http_net_connection_limit,
                                      .limit_name = "http.net.connection.limit",
                                      .address_max = &conf->http_net_connection_address_limit,
                                      .address_name = "http.net.connection.address.limit",
                                      .reserve_percent = &conf->net_connection_reserve,
                                      .silent_ms = &conf->net_connection_silent_timeout,
                                      .logins = conf->acl_enabled || conf->http_user[0] != 0,
                                      .idle_ms = &conf->http_net_connection_timeout,
                                      .input_mem = alm_db_request_memory(alm_loop_db(net->loop)),
                                      .tls = net_slot_of(net, conf, ALM_NET_HTTP),
                                      .tls_ms = &conf->http_request_head_timeout,
                                      .rcvbuf = &conf->http_net_connection_rcvbuf,
                                      .sndbuf = &conf->http_net_connection_sndbuf,
                                      .traffic = &net->shared.traffic[ALM_NET_HTTP]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &http, &net->http));
    }
    if (conf->pg_enabled) {
        net->pg_input =
            (alm_mem){.limit_bytes = conf->pg_input_memory_max, .name = "pg.input.memory.max"};
        alm_pg_use_tls(net->pg, net_slot_of(net, conf, ALM_NET_PG));
        const alm_listen_conf listen_conf = {.address = conf->pg_net_bind_to,
                                             .protocol = &alm_pg_protocol,
                                             .arg = net->pg,
                                             .connection_max = &conf->pg_net_connection_limit,
                                             .limit_name = "pg.net.connection.limit",
                                             .address_max = &conf->pg_net_connection_address_limit,
                                             .address_name = "pg.net.connection.address.limit",
                                             .reserve_percent = &conf->net_connection_reserve,
                                             .silent_ms = &conf->net_connection_silent_timeout,
                                             .logins = true,
                                             .input_mem = &net->pg_input,
                                             .idle_ms = &conf->pg_net_connection_timeout,
                                             .rcvbuf = &conf->pg_net_connection_rcvbuf,
                                             .sndbuf = &conf->pg_net_connection_sndbuf,
                                             .traffic = &net->shared.traffic[ALM_NET_PG]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &listen_conf, &net->pg_listener));
    }
    if (conf->line_tcp_enabled) {
        ALM_TRY(read_line_keys(cx, net, conf));
        const bool keys =
            net->shared.line_keys != NULL || (conf->acl_enabled && conf->line_tcp_acl_enabled);
        const alm_listen_conf line = {.address = conf->line_tcp_net_bind_to,
                                      .protocol = &alm_ilp_protocol,
                                      .arg = &net->shared,
                                      .connection_max = &conf->line_tcp_net_connection_limit,
                                      .limit_name = "line.tcp.net.connection.limit",
                                      .address_max = &conf->line_tcp_net_connection_address_limit,
                                      .address_name = "line.tcp.net.connection.address.limit",
                                      .reserve_percent = &conf->net_connection_reserve,
                                      .silent_ms = &conf->net_connection_silent_timeout,
                                      .logins = keys,
                                      .login_ms = keys ? &conf->line_tcp_login_timeout : NULL,
                                      .idle_ms = &conf->line_tcp_net_connection_timeout,
                                      .tls = net_slot_of(net, conf, ALM_NET_LINE),
                                      .tls_ms = &conf->http_request_head_timeout,
                                      .rcvbuf = &conf->line_tcp_net_connection_rcvbuf,
                                      .traffic = &net->shared.traffic[ALM_NET_LINE]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &line, &net->line));
    }
    if (conf->http_min_enabled) {
        const alm_listen_conf health = {.address = conf->http_min_net_bind_to,
                                        .protocol = &alm_health_protocol,
                                        .arg = &net->shared,
                                        .connection_max = &conf->http_min_net_connection_limit,
                                        .limit_name = "http.min.net.connection.limit",
                                        .address_max = &conf->http_min_net_connection_address_limit,
                                        .address_name = "http.min.net.connection.address.limit",
                                        .reserve_percent = &conf->net_connection_reserve,
                                        .silent_ms = &conf->net_connection_silent_timeout,
                                        .idle_ms = &conf->http_net_connection_timeout,
                                        .tls = net_slot_of(net, conf, ALM_NET_HEALTH),
                                        .tls_ms = &conf->http_request_head_timeout,
                                        .traffic = &net->shared.traffic[ALM_NET_HEALTH]};
        ALM_TRY(alm_loop_listen(cx, net->loop, &health, &net->health));
    }
    return ALM_OK;
}

static void free_net(alm_net *net)
{
    alm_loop_free(net->loop);
    alm_pg_free(net->pg);
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++)
        alm_tls_slot_deinit(&net->tls[i]);
    alm_line_keys_free(net->shared.line_keys);
    alm_preferences_free(net->shared.preferences);
    alm_held_store_free(net->shared.held);
    alm_tagged_list_free(net->shared.tagged);
    alm_session_store_free(net->shared.sessions);
    alm_ended_sessions_free(net->shared.ended);
    alm_places_free(net->shared.exports);
    alm_places_free(net->shared.json_queries);
    free(net->shared.public_dir);
    free(net);
}

alm_status alm_net_start(alm_ctx *cx, alm_db *db, alm_net **out)
{
    const struct alm_conf *conf = alm_db_conf(db);
    alm_net *net = calloc(1, sizeof(*net));
    if (net == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++)
        alm_tls_slot_init(&net->tls[i]);
    alm_status status = alm_login_begin(cx, db);
    if (status == ALM_OK)
        status = alm_loop_new(cx, db, (uint32_t)conf->net_loop_count,
                              (uint32_t)conf->query_concurrent_max, &net->loop);
    if (status == ALM_OK)
        status = alm_pg_new(cx, db, &net->pg);
    if (status == ALM_OK)
        status = listen_all(cx, net, conf);
    if (status == ALM_OK)
        status = alm_loop_start(cx, net->loop);
    if (status != ALM_OK) {
        free_net(net);
        return status;
    }
    warn_of_clear(conf);
    *out = net;
    return ALM_OK;
}

alm_status alm_net_certificates(alm_ctx *cx, alm_net *net, bool *changed)
{
    alm_certs certs = {0};
    const alm_db *db = alm_loop_db(net->loop);
    ALM_TRY(alm_certs_read(cx, alm_db_root(db), alm_db_conf(db), &certs));
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++)
        *changed |= certs.of[i] != NULL;
    take_certs(net, &certs);
    return ALM_OK;
}

alm_status alm_net_reload(alm_ctx *cx, alm_net *net, const struct alm_conf *next,
                          alm_status (*take)(alm_ctx *cx, void *arg), void *arg, bool *changed)
{
    alm_certs certs = {0};
    alm_pg_accounts accounts;
    ALM_TRY(net_check_all(cx, next));
    ALM_TRY(alm_pg_accounts_make(cx, net->pg, next, &accounts));
    ALM_TRY(alm_certs_read(cx, alm_db_root(alm_loop_db(net->loop)), next, &certs));
    const alm_status status = take(cx, arg);
    if (status != ALM_OK) {
        alm_certs_release(&certs);
        return status;
    }
    for (int i = 0; i < ALM_NET_PROTOCOLS; i++)
        *changed |= certs.of[i] != NULL;
    take_certs(net, &certs);
    alm_pg_accounts_take(net->pg, &accounts);
    alm_loop_query_threads(net->loop,
                           (uint32_t)alm_db_conf(alm_loop_db(net->loop))->query_concurrent_max);
    return ALM_OK;
}

void alm_net_stop(alm_net *net, int64_t grace_ms)
{
    if (net == NULL)
        return;
    alm_login_end(alm_loop_db(net->loop));
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
