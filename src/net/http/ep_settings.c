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

static alm_status put_text(alm_ctx *cx, alm_buf *out, const char *key, const char *text)
{
    ALM_TRY(alm_buf_printf(cx, out, "\"%s\":", key));
    ALM_TRY(text[0] != 0 ? alm_json_put_string(cx, out, alm_str_of(text))
                         : alm_buf_text(cx, out, "null"));
    return alm_buf_text(cx, out, ",");
}

/* What the console needs for the sign-on; null: not there, or not known yet. */
static alm_status put_sign_on(alm_http *h, alm_buf *out)
{
    const struct alm_conf *conf = h->cx.conf;
    alm_oidc *oidc = alm_login_oidc(alm_conn_db(h->conn));
    alm_oidc_endpoints at = {.known = false};
    ALM_TRY(alm_buf_printf(&h->cx, out,
                           "\"acl.enabled\":true,\"acl.basic.auth.realm.enabled\":%s,"
                           "\"acl.oidc.enabled\":%s,",
                           conf->acl_basic_auth_realm_enabled ? "true" : "false",
                           oidc != NULL ? "true" : "false"));
    if (oidc == NULL)
        return ALM_OK;
    alm_oidc_endpoints_get(oidc, &at);
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.client.id", conf->acl_oidc_client_id));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.scope", conf->acl_oidc_scope));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.redirect.uri", conf->acl_oidc_redirect_uri));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.issuer", at.issuer));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.authorization.endpoint", at.authorization));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.token.endpoint", at.token));
    ALM_TRY(put_text(&h->cx, out, "acl.oidc.end.session.endpoint", at.end_session));
    if (at.device[0] != 0)
        ALM_TRY(put_text(&h->cx, out, "acl.oidc.device.authorization.endpoint", at.device));
    return alm_buf_printf(&h->cx, out,
                          "\"acl.oidc.pkce.required\":%s,\"acl.oidc.state.required\":%s,"
                          "\"acl.oidc.groups.encoded.in.token\":%s,",
                          conf->acl_oidc_pkce_required ? "true" : "false",
                          conf->acl_oidc_state_required ? "true" : "false",
                          conf->acl_oidc_groups_encoded_in_token ? "true" : "false");
}

/* What anybody may know: a page says whose server it is before there is a login. */
static const char *const PUBLIC[] = {"instance_name", "instance_type", "instance_rgb", NULL};

static alm_status put_facts(alm_http *h, alm_buf *out)
{
    const struct alm_conf *conf = h->cx.conf;
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    int64_t version = 0;
    alm_buf json;
    ALM_TRY(alm_buf_printf(&h->cx, out,
                           "{\"config\":{\"release.type\":\"%s\",\"release.version\":\"" ALM_VERSION
                           "\",\"http.settings.readonly\":%s,",
                           conf->acl_enabled ? "EE" : "OSS",
                           conf->http_settings_readonly ? "true" : "false"));
    if (conf->acl_enabled)
        ALM_TRY(put_sign_on(h, out));
    else if (conf->http_user[0] != 0)
        ALM_TRY(alm_buf_text(&h->cx, out, "\"acl.enabled\":true,"));
    ALM_TRY(alm_buf_printf(
        &h->cx, out,
        "\"accepting.writes\":[%s%s\"pgwire\"],"
        "\"line.proto.support.versions\":[1,2,3],\"ilp.proto.transports\":[%s\"http\"],"
        "\"posthog.enabled\":false,\"posthog.api.key\":null,\"cairo.max.file.name.length\":127},",
        conf->http_security_readonly ? "" : "\"http\",", conf->line_tcp_enabled ? "\"tcp\"," : "",
        conf->line_tcp_enabled ? "\"tcp\"," : ""));
    alm_buf_init(&json, NULL);
    alm_status st = alm_preferences_get(&h->cx, shared != NULL ? shared->preferences : NULL,
                                        h->known ? NULL : PUBLIC, &version, &json);
    if (st == ALM_OK)
        st = alm_buf_printf(&h->cx, out,
                            "\"preferences.version\":%lld,%s\"preferences\":", (long long)version,
                            h->known ? "" : "\"preferences.public\":true,");
    if (st == ALM_OK)
        st = alm_buf_append(&h->cx, out, json.ptr, json.len);
    alm_buf_deinit(&json);
    return st == ALM_OK ? alm_buf_text(&h->cx, out, "}") : st;
}

static void show(alm_http *h)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    if (put_facts(h, &out) == ALM_OK)
        alm_http_reply(h, 200, json_type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(h, 503, "out of memory");
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
static void reply_error(alm_http *h, int status, const char *message, int32_t position)
{
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_error_clear(&h->cx);
    alm_status st = alm_buf_text(&h->cx, &out, "{\"error\":");
    if (st == ALM_OK)
        st = alm_json_put_string(&h->cx, &out, alm_str_of(message));
    if (st == ALM_OK && position >= 0)
        st = alm_buf_printf(&h->cx, &out, ",\"position\":%d", (int)position);
    if (st == ALM_OK)
        st = alm_buf_text(&h->cx, &out, "}");
    if (st == ALM_OK)
        alm_http_reply(h, status, json_type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(h, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void work(void *arg)
{
    settings_run *run = arg;
    run->code =
        alm_preferences_put(&run->cx, run->preferences, (alm_str){run->body.ptr, run->body.len},
                            run->how, run->version);
}

static void work_done(alm_conn *conn, void *arg)
{
    settings_run *run = arg;
    alm_http *h = run->h;
    const alm_error *err = &run->cx.err;
    (void)conn;
    if (run->code == ALM_OK)
        alm_http_reply(h, 200, json_type, NULL, ALM_STR("{\"status\":\"OK\"}\r\n"));
    else
        reply_error(h, run->code == ALM_E_LIMIT ? 413 : alm_status_http(run->code), err->msg,
                    err->sql_pos);
    alm_http_finished(h);
}

/* NULL: the answer was sent. */
static settings_run *new_run(alm_http *h, int64_t version)
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    settings_run *run =
        shared != NULL && shared->preferences != NULL ? calloc(1, sizeof(*run)) : NULL;
    if (run == NULL) {
        alm_http_reply_text(h, 503, "out of memory");
        return NULL;
    }
    run->h = h;
    run->preferences = shared->preferences;
    run->version = version;
    run->how =
        alm_str_eq(h->req.method, ALM_STR("PUT")) ? ALM_PREFERENCES_REPLACE : ALM_PREFERENCES_MERGE;
    alm_buf_init(&run->body, NULL);
    alm_arena_init(&run->arena, NULL);
    run->cx = (alm_ctx){.arena = &run->arena, .conf = h->cx.conf};
    return run;
}

static void reply_too_long(alm_http *h)
{
    reply_error(h, 413, "the body is longer than http.settings.bytes.max", -1);
}

/* False: that was said. Asked when the request comes, and again when all of it is there. */
static bool may_change(alm_http *h)
{
    alm_session *s = h->cx.conf->acl_enabled ? alm_http_session(h) : NULL;
    if (!h->cx.conf->acl_enabled || (s != NULL && alm_session_holds(s, "SETTINGS")))
        return true;
    if (s != NULL && alm_session_denied(&h->cx, s, "SETTINGS", -1) != ALM_OK) {
        const alm_error why = h->cx.err;
        reply_error(h, 403, why.msg, -1);
    }
    return false;
}

static void begin_change(alm_http *h)
{
    const struct alm_conf *conf = h->cx.conf;
    const alm_str text = alm_http_param(&h->req, "version");
    int64_t version = 0;
    if (conf->http_settings_readonly) {
        reply_error(h, 401, "The /settings endpoint is read-only", -1);
    } else if (conf->http_security_readonly) {
        reply_error(h, 403, "Write permission denied", -1);
    } else if (!may_change(h)) {
        return;
    } else if (text.len == 0 || alm_int64_parse(text, &version) != ALM_NUM_OK || version < 0) {
        const char *message = "Invalid version, numeric value expected";
        if (alm_arena_printf(&h->cx, &h->arena, &message,
                             "Invalid version, numeric value expected [version='%.*s']",
                             (int)ALM_MIN(text.len, (size_t)64),
                             text.ptr != NULL ? text.ptr : "") != ALM_OK)
            message = "Invalid version, numeric value expected";
        reply_error(h, 400, message, -1);
    } else if (!h->req.has_body) {
        reply_error(h, 400, "the preferences must be a JSON object", 0);
    } else if (h->req.content_length > conf->http_settings_bytes_max) {
        reply_too_long(h);
    } else {
        h->work = new_run(h, version);
    }
}

static bool take_body(alm_http *h, const char *bytes, size_t n)
{
    settings_run *run = h->work;
    if ((int64_t)(run->body.len + n) > h->cx.conf->http_settings_bytes_max) {
        reply_too_long(h);
        return false;
    }
    if (alm_buf_append(&h->cx, &run->body, bytes, n) == ALM_OK)
        return true;
    alm_http_reply_text(h, 503, "out of memory");
    return false;
}

static void end_body(alm_http *h)
{
    if (may_change(h))
        alm_conn_work(h->conn, work, work_done, NULL, h->work);
}

static void close_run(alm_http *h)
{
    settings_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    alm_buf_deinit(&run->body);
    alm_arena_deinit(&run->arena);
    free(run);
}

const alm_http_handler alm_ep_settings = {.begin = show, .tells_users = true};
const alm_http_handler alm_ep_preferences = {
    .begin = begin_change, .body = take_body, .end = end_body, .close = close_run};
