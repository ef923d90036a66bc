/* ep_small.c - /ping, /chk, /warnings, the start page and its files. */
#include "base/conf.h"
#include "codec/json_text.h"
#include "io/process.h"
#include "net/http/asset.h"
#include "session/access/login.h"

static void ping(alm_http *http)
{
    const char *headers = NULL;
    if (alm_arena_printf(&http->cx, &http->arena, &headers, "X-Influxdb-Version: %s\r\n",
                         http->cx.conf->line_http_ping_version) != ALM_OK)
        headers = NULL;
    alm_http_reply(http, 204, NULL, headers, (alm_str){0});
}

static void chk(alm_http *http)
{
    const alm_str name = alm_http_param(&http->req, "j");
    const bool json = alm_http_param_is(&http->req, "f", "json");
    if (name.ptr == NULL || name.len == 0) {
        alm_http_reply_text(http, 400, "table name missing");
        return;
    }
    alm_snapshot *snap = NULL;
    if (alm_snapshot_acquire(&http->cx, alm_db_storage(alm_conn_db(http->conn)), &snap) != ALM_OK) {
        alm_http_reply_text(http, alm_status_http(http->cx.err.code), http->cx.err.msg);
        return;
    }
    const alm_table *table = alm_snapshot_find(snap, name);
    alm_session *session =
        table != NULL && http->cx.conf->acl_enabled ? alm_http_session(http) : NULL;
    const bool exists =
        table != NULL && (session == NULL || alm_session_sees(session, table->name));
    alm_snapshot_release(snap);
    if (http->answered)
        return;
    if (json)
        alm_http_reply(http, 200, "application/json", NULL,
                       exists ? ALM_STR("{\"status\":\"Exists\"}")
                              : ALM_STR("{\"status\":\"Does not exist\"}"));
    else
        alm_http_reply_text(http, 200, exists ? "Exists" : "Does not exist");
}

/* A connection takes a file; a part of a table that is read a map, or more work where there are few. */
enum { FILES_ENOUGH = 16384, MAPS_ENOUGH = 65530 };

/* Of a limit of the system that is lower than it should be; 0: it is not known. */
static alm_status put_warning(alm_ctx *cx, alm_buf *out, const char *tag, const char *what,
                              int64_t limit, int64_t enough)
{
    if (limit <= 0 || limit >= enough)
        return ALM_OK;
    return alm_buf_printf(cx, out,
                          "%s{\"tag\":\"%s\",\"warning\":\"the limit of %s is low "
                          "[current=%lld, recommended=%lld]\"}",
                          out->len > 1 ? "," : "", tag, what, (long long)limit, (long long)enough);
}

/* The sign-on that cannot work yet, and why. */
static alm_status ep_small_put_sign_on(alm_http *http, alm_buf *out)
{
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(http->conn));
    alm_oidc_endpoints at;
    if (oidc == NULL)
        return ALM_OK;
    alm_oidc_endpoints_get(oidc, &at);
    if (at.known)
        return ALM_OK;
    ALM_TRY(alm_buf_printf(&http->cx, out,
                           "%s{\"tag\":\"SIGN-ON\",\"warning\":", out->len > 1 ? "," : ""));
    ALM_TRY(alm_buf_text(&http->cx, out,
                         "\"no sign-on yet: the identity provider's discovery document "
                         "could not be read\""));
    return alm_buf_text(&http->cx, out, "}");
}

/* Only loopback addresses are listened on then. */
static alm_status put_factory(const alm_http *http, alm_ctx *cx, alm_buf *out)
{
    const struct alm_conf *conf = http->cx.conf;
    if (!conf->acl_enabled || !conf->acl_admin_user_enabled ||
        strcmp(conf->acl_admin_password, "quest") != 0)
        return ALM_OK;
    return alm_buf_printf(
        cx, out,
        "%s{\"tag\":\"FACTORY PASSWORD\",\"warning\":\"the administrator's password "
        "is the factory one: set acl.admin.password\"}",
        out->len > 1 ? "," : "");
}

/* Names of tables and files are for those who may ask anything without a login; others learn how many there are. */
static alm_status put_damage(alm_http *http, alm_ctx *cx, alm_buf *out)
{
    const struct alm_conf *conf = http->cx.conf;
    const bool open = !conf->acl_enabled && conf->http_user[0] == 0;
    alm_damaged *list = NULL;
    const char *text = NULL;
    int64_t files = 0;
    size_t n = 0;
    ALM_TRY(
        alm_storage_damage(cx, &http->arena, alm_db_storage(alm_conn_db(http->conn)), &list, &n));
    for (size_t i = 0; i < n; i++)
        files += list[i].files;
    for (size_t i = 0; i < (open ? n : ALM_MIN(n, (size_t)1)); i++) {
        if (open)
            ALM_TRY(alm_arena_printf(cx, &http->arena, &text, "%s [damaged files=%lld]",
                                     list[i].what, (long long)list[i].files));
        else
            ALM_TRY(alm_arena_printf(cx, &http->arena, &text,
                                     "files are damaged, the log of the server says which [damaged "
                                     "files=%lld]",
                                     (long long)files));
        ALM_TRY(
            alm_buf_printf(cx, out, "%s{\"tag\":\"DAMAGE\",\"warning\":", out->len > 1 ? "," : ""));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(text)));
        ALM_TRY(alm_buf_text(cx, out, "}"));
    }
    return ALM_OK;
}

static void warnings(alm_http *http)
{
    alm_process_use use;
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_process_use_get(&use);
    alm_status status = alm_buf_text(&http->cx, &out, "[");
    if (status == ALM_OK)
        status = put_warning(&http->cx, &out, "TOO MANY OPEN FILES", "open files (ulimit -n)",
                             use.files_max, FILES_ENOUGH);
    if (status == ALM_OK)
        status = put_warning(&http->cx, &out, "TOO MANY MAPS", "mapped files (vm.max_map_count)",
                             alm_process_maps_max(), MAPS_ENOUGH);
    if (status == ALM_OK)
        status = ep_small_put_sign_on(http, &out);
    if (status == ALM_OK)
        status = put_factory(http, &http->cx, &out);
    if (status == ALM_OK)
        status = put_damage(http, &http->cx, &out);
    if (status == ALM_OK)
        status = alm_buf_text(&http->cx, &out, "]");
    if (status == ALM_OK)
        alm_http_reply(http, 200, "application/json; charset=utf-8", NULL,
                       (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void to_index(alm_http *http)
{
    const char *context = http->cx.conf->http_context_web_console;
    const alm_str query =
        http->req.query; /* what an identity provider sends back to the page stands there */
    alm_http_add_headers(http, "Location: %s/index.html%s%.*s\r\n", context[1] != 0 ? context : "",
                         query.len > 0 ? "?" : "", (int)query.len, query.len > 0 ? query.ptr : "");
    alm_http_reply(http, 301, NULL, NULL, (alm_str){"", 0});
}

static void asset(alm_http *http)
{
    alm_asset_reply(http, alm_asset_find(http->req.path));
}

const alm_http_handler alm_ep_ping = {.begin = ping};
const alm_http_handler alm_ep_chk = {.begin = chk};
const alm_http_handler alm_ep_warnings = {.begin = warnings};
const alm_http_handler alm_ep_index = {.begin = to_index};
const alm_http_handler alm_ep_asset = {.begin = asset};
