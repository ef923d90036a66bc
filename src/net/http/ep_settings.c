/*
 * ep_settings.c - /settings: facts for clients, and the preferences that pages keep here (preferences.h): all of them
 * for whoever has a login, those that name the server for the others.
 * PUT replaces them, POST merges; `version` is the one that the page has seen.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "codec/json_text.h"
#include "net/http/exchange/http.h"
#include "net/http/preferences.h"
#include "net/shared.h"
#include "session/access/login.h"

static const char json_type[] = "application/json; charset=utf-8";

/* ------------------------------------------------------------------------ GET */

static alm_status ep_settings_put_text(alm_ctx *cx, alm_buf *out, const char *key, const char *text)
{
    ALM_TRY(alm_buf_printf(cx, out, "\"%s\":", key));
    ALM_TRY(text[0] != 0 ? alm_json_put_string(cx, out, alm_str_of(text))
                         : alm_buf_text(cx, out, "null"));
    return alm_buf_text(cx, out, ",");
}

/* What the console needs for the sign-on; null: not there, or not known yet. */
static alm_status ep_settings_put_sign_on(alm_http *http, alm_buf *out)
{
    const struct alm_conf *conf = http->cx.conf;
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(http->conn));
    alm_oidc_endpoints at = {.known = false};
    ALM_TRY(alm_buf_printf(&http->cx, out,
                           "\"acl.enabled\":true,\"acl.basic.auth.realm.enabled\":%s,"
                           "\"acl.oidc.enabled\":%s,",
                           conf->acl_basic_auth_realm_enabled ? "true" : "false",
                           oidc != NULL ? "true" : "false"));
    if (oidc == NULL)
        return ALM_OK;
    alm_oidc_endpoints_get(oidc, &at);
    ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.client.id", conf->acl_oidc_client_id));
    ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.scope", conf->acl_oidc_scope));
    ALM_TRY(
        ep_settings_put_text(&http->cx, out, "acl.oidc.redirect.uri", conf->acl_oidc_redirect_uri));
    ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.issuer", at.issuer));
    ALM_TRY(
        ep_settings_put_text(&http->cx, out, "acl.oidc.authorization.endpoint", at.authorization));
    ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.token.endpoint", at.token));
    ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.end.session.endpoint", at.end_session));
    if (at.device[0] != 0)
        ALM_TRY(ep_settings_put_text(&http->cx, out, "acl.oidc.device.authorization.endpoint",
                                     at.device));
    return alm_buf_printf(&http->cx, out,
                          "\"acl.oidc.pkce.required\":%s,\"acl.oidc.state.required\":%s,"
                          "\"acl.oidc.groups.encoded.in.token\":%s,",
                          conf->acl_oidc_pkce_required ? "true" : "false",
                          conf->acl_oidc_state_required ? "true" : "false",
                          conf->acl_oidc_groups_encoded_in_token ? "true" : "false");
}

/* What anybody may know: a page says whose server it is before there is a login. */
static const char *const PUBLIC[] = {"instance_name", "instance_type", "instance_rgb", NULL};

static alm_status put_facts(alm_http *http, alm_buf *out)
{
    const struct alm_conf *conf = http->cx.conf;
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    int64_t version = 0;
    alm_buf json;
    ALM_TRY(alm_buf_printf(&http->cx, out,
                           "{\"config\":{\"release.type\":\"%s\",\"release.version\":\"" ALM_VERSION
                           "\",\"http.settings.readonly\":%s,",
                           conf->acl_enabled ? "EE" : "OSS",
                           conf->http_settings_readonly ? "true" : "false"));
    if (conf->acl_enabled)
        ALM_TRY(ep_settings_put_sign_on(http, out));
    else if (conf->http_user[0] != 0)
        ALM_TRY(alm_buf_text(&http->cx, out, "\"acl.enabled\":true,"));
    ALM_TRY(alm_buf_printf(
        &http->cx, out,
        "\"accepting.writes\":[%s%s\"pgwire\"],"
        "\"line.proto.support.versions\":[1,2,3],\"ilp.proto.transports\":[%s\"http\"],"
        "\"posthog.enabled\":false,\"posthog.api.key\":null,\"cairo.max.file.name.length\":127},",
        conf->http_security_readonly ? "" : "\"http\",", conf->line_tcp_enabled ? "\"tcp\"," : "",
        conf->line_tcp_enabled ? "\"tcp\"," : ""));
    alm_buf_init(&json, NULL);
    alm_status status = alm_preferences_get(&http->cx, shared != NULL ? shared->preferences : NULL,
                                            http->known ? NULL : PUBLIC, &version, &json);
    if (status == ALM_OK)
        status = alm_buf_printf(
            &http->cx, out, "\"preferences.version\":%lld,%s\"preferences\":", (long long)version,
            http->known ? "" : "\"preferences.public\":true,");
    if (status == ALM_OK)
        status = alm_buf_append(&http->cx, out, json.ptr, json.len);
    alm_buf_deinit(&json);
    return status == ALM_OK ? alm_buf_text(&http->cx, out, "}") : status;
}

static void show(alm_http *http)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    if (put_facts(http, &out) == ALM_OK)
        alm_http_reply(http, 200, json_type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

/* ------------------------------------------------------------------- PUT, POST */

typedef struct settings_run {
    alm_http *h;
    alm_preferences *preferences;
    int64_t version;
    alm_preferences_change how;
    alm_buf body;
    alm_arena arena;
    alm_ctx cx;
    alm_status code;
} settings_run;

/* {"error":...}, and where in the body. */
static void reply_error(alm_http *http, int status, const char *message, int32_t position)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_error_clear(&http->cx);
    alm_status outcome = alm_buf_text(&http->cx, &out, "{\"error\":");
    if (outcome == ALM_OK)
        outcome = alm_json_put_string(&http->cx, &out, alm_str_of(message));
    if (outcome == ALM_OK && position >= 0)
        outcome = alm_buf_printf(&http->cx, &out, ",\"position\":%d", (int)position);
    if (outcome == ALM_OK)
        outcome = alm_buf_text(&http->cx, &out, "}");
    if (outcome == ALM_OK)
        alm_http_reply(http, status, json_type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void ep_settings_work(void *arg)
{
    settings_run *run = arg;
    run->code =
        alm_preferences_put(&run->cx, run->preferences, (alm_str){run->body.ptr, run->body.len},
                            run->how, run->version);
}

static void ep_settings_work_done(alm_conn *conn, void *arg)
{
    settings_run *run = arg;
    alm_http *http = run->h;
    const alm_error *err = &run->cx.err;
    (void)conn;
    if (run->code == ALM_OK)
        alm_http_reply(http, 200, json_type, NULL, ALM_STR("{\"status\":\"OK\"}\r\n"));
    else
        reply_error(http, run->code == ALM_E_LIMIT ? 413 : alm_status_http(run->code), err->msg,
                    err->sql_pos);
    alm_http_finished(http);
}

/* NULL: the answer was sent. */
static settings_run *new_run(alm_http *http, int64_t version)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    settings_run *run =
        shared != NULL && shared->preferences != NULL ? calloc(1, sizeof(*run)) : NULL;
    if (run == NULL) {
        alm_http_reply_text(http, 503, "out of memory");
        return NULL;
    }
    run->h = http;
    run->preferences = shared->preferences;
    run->version = version;
    run->how = alm_str_eq(http->req.method, ALM_STR("PUT")) ? ALM_PREFERENCES_REPLACE
                                                            : ALM_PREFERENCES_MERGE;
    alm_buf_init(&run->body, NULL);
    alm_arena_init(&run->arena, NULL);
    run->cx = (alm_ctx){.arena = &run->arena, .conf = http->cx.conf};
    return run;
}

static void reply_too_long(alm_http *http)
{
    reply_error(http, 413, "the body is longer than http.settings.bytes.max", -1);
}

/* False: that was said. Asked when the request comes, and again when all of it is there. */
static bool may_change(alm_http *http)
{
    alm_session *session = http->cx.conf->acl_enabled ? alm_http_session(http) : NULL;
    if (!http->cx.conf->acl_enabled || (session != NULL && alm_session_holds(session, "SETTINGS")))
        return true;
    if (session != NULL && alm_session_denied(&http->cx, session, "SETTINGS", -1) != ALM_OK) {
        const alm_error why = http->cx.err;
        reply_error(http, 403, why.msg, -1);
    }
    return false;
}

static void ep_settings_begin_change(alm_http *http)
{
    const struct alm_conf *conf = http->cx.conf;
    const alm_str text = alm_http_param(&http->req, "version");
    int64_t version = 0;
    if (conf->http_settings_readonly) {
        reply_error(http, 401, "The /settings endpoint is read-only", -1);
    } else if (conf->http_security_readonly) {
        reply_error(http, 403, "Write permission denied", -1);
    } else if (!may_change(http)) {
        return;
    } else if (text.len == 0 || alm_int64_parse(text, &version) != ALM_NUM_OK || version < 0) {
        const char *message = "Invalid version, numeric value expected";
        if (alm_arena_printf(&http->cx, &http->arena, &message,
                             "Invalid version, numeric value expected [version='%.*s']",
                             (int)ALM_MIN(text.len, (size_t)64),
                             text.ptr != NULL ? text.ptr : "") != ALM_OK)
            message = "Invalid version, numeric value expected";
        reply_error(http, 400, message, -1);
    } else if (!http->req.has_body) {
        reply_error(http, 400, "the preferences must be a JSON object", 0);
    } else if (http->req.content_length > conf->http_settings_bytes_max) {
        reply_too_long(http);
    } else {
        http->work = new_run(http, version);
    }
}

static bool ep_settings_take_body(alm_http *http, const char *bytes, size_t n)
{
    settings_run *run = http->work;
    if ((int64_t)(run->body.len + n) > http->cx.conf->http_settings_bytes_max) {
        reply_too_long(http);
        return false;
    }
    if (alm_buf_append(&http->cx, &run->body, bytes, n) == ALM_OK)
        return true;
    alm_http_reply_text(http, 503, "out of memory");
    return false;
}

static void ep_settings_end_body(alm_http *http)
{
    if (may_change(http))
        alm_conn_work(http->conn, ep_settings_work, ep_settings_work_done, NULL, http->work);
}

static void ep_settings_close_run(alm_http *http)
{
    settings_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->body);
    alm_arena_deinit(&run->arena);
    free(run);
}

const alm_http_handler alm_ep_settings = {.begin = show, .tells_users = true};
const alm_http_handler alm_ep_preferences = {.begin = ep_settings_begin_change,
                                             .body = ep_settings_take_body,
                                             .end = ep_settings_end_body,
                                             .close = ep_settings_close_run};
