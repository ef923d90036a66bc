/* ep_small.c - /ping, /chk, /settings, /warnings and the start page. */
#include "base/conf.h"
#include "net/http/http.h"

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

static const char page[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<title>Almanac</title></head>\n<body style=\"font:16px/1.5 system-ui,sans-serif;"
    "max-width:46em;margin:3em auto;padding:0 1em\">\n"
    "<h1>Almanac " ALM_VERSION "</h1>\n"
    "<p>The server is running. It answers SQL over HTTP here and over the PostgreSQL wire "
    "protocol.</p>\n<ul>\n"
    "<li><a href=\"/exec?query=select%20*%20from%20tables()\"><code>/exec?query=select * from "
    "tables()</code></a>: JSON</li>\n"
    "<li><a href=\"/exec?query=SELECT%20*%20FROM%20trades%20LIMIT%20-10\"><code>/exec?query=SELECT "
    "* FROM trades LIMIT -10</code></a>: the newest trades of the demo table</li>\n"
    "<li><a "
    "href=\"/exp?query=SELECT%20timestamp,%20symbol,%20avg(price)%20FROM%20trades%20SAMPLE%20"
    "BY%201d\"><code>/exp?query=SELECT timestamp, symbol, avg(price) FROM trades SAMPLE BY 1d"
    "</code></a>: CSV</li>\n"
    "<li><code>curl -F data=@file.csv 'http://host:port/imp?name=table'</code>: load a CSV "
    "file</li>\n"
    "</ul>\n</body></html>\n";

static void index_page(alm_http *h)
{
    if (alm_str_eq(h->req.path, ALM_STR("/"))) {
        alm_http_reply(h, 301, NULL, "Location: /index.html\r\n", (alm_str){"", 0});
        return;
    }
    alm_http_reply(h, 200, "text/html; charset=utf-8",
                   "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
                   "frame-ancestors 'none'\r\nCache-Control: no-cache\r\n",
                   (alm_str){page, sizeof(page) - 1});
}

const alm_http_handler alm_ep_ping = {.begin = ping};
const alm_http_handler alm_ep_chk = {.begin = chk};
const alm_http_handler alm_ep_settings = {.begin = settings};
const alm_http_handler alm_ep_warnings = {.begin = warnings};
const alm_http_handler alm_ep_index = {.begin = index_page};
