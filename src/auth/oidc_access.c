/*
 * oidc_access.c - was an access token issued for this server? The user info end point does not tell: it answers for tokens of every
 * client of the provider. What is asked before it:
 *
 * acl.oidc.introspection.endpoint   The provider (RFC 7662), about opaque tokens too.
 * acl.oidc.audience                 The token: a JWT that the provider signed (RFC 9068), whose `aud` has that audience.
 * neither                           A JWT that names another client is refused. An opaque token passes: nothing can be read in it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "auth/oidc_state.h"
#include "auth/token.h"
#include "base/base64.h"

static const int64_t SECOND_NS = INT64_C(1000000000);

/* Without an audience of its own, the server takes what was issued for the client that is the console. */
static bool is_ours(const alm_conf *conf, const alm_json *claims)
{
    const alm_str client = alm_str_of(conf->acl_oidc_client_id);
    const alm_json *aud = alm_json_get(claims, "aud");
    if (conf->acl_oidc_audience[0] != 0)
        return alm_jwt_audience_has(aud, conf->acl_oidc_audience);
    return alm_str_eq(alm_json_text(alm_json_get(claims, "client_id")), client) ||
           alm_str_eq(alm_json_text(alm_json_get(claims, "azp")), client) ||
           alm_jwt_audience_has(aud, conf->acl_oidc_client_id);
}

/* ------------------------------------------------------------------ introspection */

static alm_status check_answer(alm_ctx *cx, alm_oidc_entry *entry, const alm_json *answer)
{
    const alm_oidc *oidc = entry->oidc;
    const alm_json *exp = alm_json_get(answer, "exp");
    const int64_t now_s = oidc->io->wall_ns(oidc->io) / SECOND_NS;
    if (!alm_json_is_object(answer) || alm_json_get(answer, "active") == NULL)
        return alm_fail(cx, ALM_E_VALUE, -1, "the answer of introspection has no member active");
    if (!alm_json_is_true(alm_json_get(answer, "active")))
        return alm_fail(cx, ALM_E_AUTH, -1, "the identity provider says that it is not active");
    if (!is_ours(oidc->conf, answer))
        return alm_fail(cx, ALM_E_AUTH, -1, "the token was issued for another %s",
                        oidc->conf->acl_oidc_audience[0] != 0 ? "audience (aud)"
                                                              : "client (client_id, aud)");
    if (exp != NULL && (!alm_json_seconds(exp, &entry->expires_s) || entry->expires_s <= now_s))
        return alm_fail(cx, ALM_E_AUTH, -1, "the token is over (exp)");
    if (!alm_json_seconds(alm_json_get(answer, "iat"), &entry->issued_s))
        entry->issued_s = 0;
    return ALM_OK;
}

static void introspection_came(void *arg, const alm_http_answer *answer)
{
    alm_oidc_entry *entry = arg;
    alm_ctx cx = {0};
    alm_json *document = NULL;
    char why[200];
    if (answer->status == 401 || answer->status == 403) {
        alm_oidc_give_up(entry, ALM_OIDC_AWAY,
                         "its introspection end point refuses the client id and secret of this "
                         "server (acl.oidc.introspection.client.secret)");
        return;
    }
    if (answer->status != 200) {
        (void)snprintf(why, sizeof why, "introspection: %s (status %d)",
                       answer->error != NULL ? answer->error : "no answer", answer->status);
        alm_oidc_give_up(entry, ALM_OIDC_AWAY, why);
        return;
    }
    alm_status status = alm_json_parse(&cx, answer->body, &document);
    if (status == ALM_OK)
        status = check_answer(&cx, entry, document);
    else
        cx.err = (alm_error){.code = status, .msg = "the answer of introspection is no JSON"};
    alm_json_free(document);
    if (status == ALM_OK)
        alm_oidc_ask_user_info(entry);
    else
        alm_oidc_give_up(entry, status == ALM_E_AUTH ? ALM_OIDC_REFUSED : ALM_OIDC_AWAY,
                         cx.err.msg);
}

/* RFC 6749, 2.3.1: both are written as in forms, then joined by ":". NULL: no memory. */
static char *basic_of(const char *id, const char *secret)
{
    ALM_ASSERT(strlen(id) <= ALM_OIDC_ID_MAX && strlen(secret) <= ALM_OIDC_ID_MAX);
    char plain[2 * 3 * ALM_OIDC_ID_MAX + 2];
    char *end = alm_oidc_put_form(plain, "", alm_str_of(id));
    end = alm_oidc_put_form(end, ":", alm_str_of(secret));
    const size_t len = (size_t)(end - plain);
    char *out = malloc(alm_base64_len(len) + 1);
    if (out != NULL)
        out[alm_base64_encode((alm_str){plain, len}, out)] = 0;
    explicit_bzero(plain, sizeof plain);
    return out;
}

static void introspect(alm_oidc_entry *entry)
{
    static const char hint[] = "&token_type_hint=access_token";
    const alm_conf *conf = entry->oidc->conf;
    alm_oidc_endpoints endpoints;
    alm_oidc_endpoints_get(entry->oidc, &endpoints);
    const char *id = conf->acl_oidc_introspection_client_id[0] != 0
                         ? conf->acl_oidc_introspection_client_id
                         : conf->acl_oidc_client_id;
    const alm_str token = alm_str_of(entry->secret);
    char *form = malloc(3 * (token.len + strlen(id)) + sizeof hint + 32);
    const bool secret = conf->acl_oidc_introspection_client_secret[0] != 0;
    char *basic = secret ? basic_of(id, conf->acl_oidc_introspection_client_secret) : NULL;
    if (form != NULL) {
        char *end = alm_oidc_put_form(form, "token=", token);
        end = stpcpy(end, hint);
        if (!secret)
            (void)alm_oidc_put_form(end, "&client_id=", alm_str_of(id));
    }
    const alm_http_call call = {.url = endpoints.introspection,
                                .basic = basic,
                                .form = form != NULL ? alm_str_of(form) : (alm_str){0},
                                .done = introspection_came,
                                .arg = entry};
    const bool sent =
        form != NULL && (!secret || basic != NULL) && alm_oidc_send(entry->oidc, &call);
    alm_secret_free(form);
    alm_secret_free(basic);
    if (!sent)
        alm_oidc_give_up(entry, ALM_OIDC_AWAY, "too many calls at once");
}

/* ------------------------------------------------------------------------- tokens */

/* Unsigned claims count here only to refuse: the provider confirms the token itself afterwards. */
static bool names_another(const alm_conf *conf, alm_oidc_entry *entry)
{
    alm_ctx cx = {0};
    alm_jwt jwt;
    if (alm_jwt_parse(&cx, alm_str_of(entry->secret), &jwt) != ALM_OK)
        return false;
    alm_oidc_note_session(entry, &jwt);
    const bool named = !alm_json_is_null(alm_json_get(jwt.claims, "client_id")) ||
                       !alm_json_is_null(alm_json_get(jwt.claims, "azp"));
    const bool other = named && !is_ours(conf, jwt.claims);
    alm_jwt_deinit(&jwt);
    return other;
}

void alm_oidc_check_access(alm_oidc_entry *entry)
{
    const alm_conf *conf = entry->oidc->conf;
    if (conf->acl_oidc_introspection_endpoint[0] != 0)
        introspect(entry);
    else if (conf->acl_oidc_audience[0] != 0)
        alm_oidc_check_token(entry); /* goes on to the user info end point */
    else if (names_another(conf, entry))
        alm_oidc_give_up(entry, ALM_OIDC_REFUSED,
                         "the token was issued for another client (client_id, azp): "
                         "acl.oidc.audience takes those of several");
    else
        alm_oidc_ask_user_info(entry);
}
