/* ep_small.c - /ping, /chk, /settings, /warnings, the start page and its files. */
#include "base/conf.h"
#include "net/http/asset.h"

static void ping(alm_http *h)
{
    const char *headers = NULL;
    if (alm_arena_printf(&h->cx, &h->arena, &headers, "X-Influxdb-Version: %s\r\n",
                         h->cx.conf->line_http_ping_version) != ALM_OK)
        headers = NULL;
    alm_http_reply(h, 204, NULL, headers, (alm_str){0});
}

static void chk(alm_http *h)
{
    const alm_str name = alm_http_param(&h->req, "j");
    const bool json = alm_http_param_is(&h->req, "f", "json");
    if (name.ptr == NULL || name.len == 0) {
        alm_http_reply_text(h, 400, "table name missing");
        return;
    }
    alm_snapshot *snap = NULL;
    if (alm_snapshot_acquire(&h->cx, alm_db_storage(alm_conn_db(h->conn)), &snap) != ALM_OK) {
        alm_http_reply_text(h, alm_status_http(h->cx.err.code), h->cx.err.msg);
        return;
    }
    const bool exists = alm_snapshot_find(snap, name) != NULL;
    alm_snapshot_release(snap);
    if (json)
        alm_http_reply(h, 200, "application/json", NULL,
                       exists ? ALM_STR("{\"status\":\"Exists\"}")
                              : ALM_STR("{\"status\":\"Does not exist\"}"));
    else
        alm_http_reply_text(h, 200, exists ? "Exists" : "Does not exist");
}

static void settings(alm_http *h)
{
    const char *body = NULL;
    const bool readonly = h->cx.conf->http_security_readonly;
    if (alm_arena_printf(&h->cx, &h->arena, &body,
                         "{\"config\":{\"release.type\":\"OSS\",\"release.version\":\"" ALM_VERSION
                         "\",\"http.settings.readonly\":true,%s\"accepting.writes\":[%s\"pgwire\"],"
                         "\"line.proto.support.versions\":[1,2,3],"
                         "\"ilp.proto.transports\":[%s\"http\"],"
                         "\"cairo.max.file.name.length\":127},"
                         "\"preferences.version\":0,\"preferences\":{}}",
                         h->cx.conf->http_user[0] != 0 ? "\"acl.enabled\":true," : "",
                         readonly ? "" : "\"http\",",
                         h->cx.conf->line_tcp_enabled ? "\"tcp\"," : "") != ALM_OK) {
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    alm_http_reply(h, 200, "application/json; charset=utf-8", NULL, alm_str_of(body));
}

static void warnings(alm_http *h)
{
    alm_http_reply(h, 200, "application/json; charset=utf-8", NULL, ALM_STR("[]"));
}

static void to_index(alm_http *h)
{
    alm_http_reply(h, 301, NULL, "Location: /index.html\r\n", (alm_str){"", 0});
}

static void asset(alm_http *h)
{
    alm_asset_reply(h, alm_asset_find(h->req.path));
}

const alm_http_handler alm_ep_ping = {.begin = ping};
const alm_http_handler alm_ep_chk = {.begin = chk};
const alm_http_handler alm_ep_settings = {.begin = settings};
const alm_http_handler alm_ep_warnings = {.begin = warnings};
const alm_http_handler alm_ep_index = {.begin = to_index};
const alm_http_handler alm_ep_asset = {.begin = asset};
