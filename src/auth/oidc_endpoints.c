/*
 * oidc_endpoints.c - where the provider is: settings, and the discovery document (OpenID Connect Discovery 1.0). An end point
 * that is set counts before the document's; one that is a path is on acl.oidc.host, or beside the document.
 */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/oidc_state.h"
#include "base/log.h"

enum { STORE_BYTES_MAX = 4 << 20, ORIGIN_MAX = 300 };

typedef struct endpoint {
    size_t conf_at; /* of the text in alm_conf */
    alm_conf_id id;
    const char *member; /* of the discovery document; NULL: the setting alone counts */
    size_t at;          /* in alm_oidc_endpoints */
    bool optional;
} endpoint;

#define ENDPOINT(conf_name, field_, member_, optional_)                                            \
    {.conf_at = offsetof(alm_conf, conf_name),                                                     \
     .id = ALM_CONF_ID_##conf_name,                                                                \
     .member = member_,                                                                            \
     .at = offsetof(alm_oidc_endpoints, field_),                                                   \
     .optional = optional_}

static const endpoint ENDPOINTS[] = {
    ENDPOINT(acl_oidc_authorization_endpoint, authorization, "authorization_endpoint", false),
    ENDPOINT(acl_oidc_token_endpoint, token, "token_endpoint", false),
    ENDPOINT(acl_oidc_userinfo_endpoint, userinfo, "userinfo_endpoint", false),
    ENDPOINT(acl_oidc_public_keys_endpoint, keys, "jwks_uri", false),
    ENDPOINT(acl_oidc_device_authorization_endpoint, device, "device_authorization_endpoint", true),
    ENDPOINT(acl_oidc_introspection_endpoint, introspection, NULL, true),
};

static const char *oidc_endpoints_setting(const alm_conf *conf, const endpoint *self)
{
    const char *text = NULL;
    memcpy(&text, (const char *)conf + self->conf_at, sizeof text);
    return text;
}

static char *oidc_endpoints_field(alm_oidc_endpoints *out, const endpoint *self)
{
    return (char *)out + self->at;
}

/* "https://host:port" that paths are on. */
static void origin_of_conf(const alm_conf *conf, char out[ORIGIN_MAX])
{
    const alm_str url = alm_str_of(conf->acl_oidc_configuration_url);
    const int64_t usual = conf->acl_oidc_tls_enabled ? 443 : 80;
    const char *scheme = conf->acl_oidc_tls_enabled ? "https" : "http";
    if (conf->acl_oidc_host[0] == 0)
        (void)snprintf(out, ORIGIN_MAX, "%.*s", (int)alm_url_origin(url), url.ptr);
    else if (conf->acl_oidc_port == usual)
        (void)snprintf(out, ORIGIN_MAX, "%s://%s", scheme, conf->acl_oidc_host);
    else
        (void)snprintf(out, ORIGIN_MAX, "%s://%s:%lld", scheme, conf->acl_oidc_host,
                       (long long)conf->acl_oidc_port);
}

static bool oidc_endpoints_is_asked_for(const alm_conf *conf, const endpoint *self)
{
    const bool is_set =
        conf->source[self->id] != ALM_CONF_DEFAULT && oidc_endpoints_setting(conf, self)[0] != 0;
    return self->member != NULL && !is_set && conf->acl_oidc_configuration_url[0] != 0;
}

void alm_oidc_endpoints_of_conf(const alm_conf *conf, alm_oidc_endpoints *out)
{
    char origin[ORIGIN_MAX];
    *out = (alm_oidc_endpoints){.known = conf->acl_oidc_configuration_url[0] == 0};
    (void)snprintf(out->issuer, sizeof out->issuer, "%s", conf->acl_oidc_issuer);
    origin_of_conf(conf, origin);
    for (size_t i = 0; i < ALM_COUNT(ENDPOINTS); i++) {
        const endpoint *e = &ENDPOINTS[i];
        const char *text = oidc_endpoints_setting(conf, e);
        if (!oidc_endpoints_is_asked_for(conf, e) && text[0] != 0)
            (void)snprintf(oidc_endpoints_field(out, e), ALM_OIDC_URL_MAX, "%s%s",
                           text[0] == '/' ? origin : "", text);
    }
    if (!out->known)
        (void)snprintf(out->why, sizeof out->why, "the discovery document is not there yet");
}

/* ------------------------------------------------------------------------ discovery */

/* An address of the document: no way down from TLS. */
static bool oidc_endpoints_fits(const alm_conf *conf, alm_str url)
{
    const bool tls = strncmp(conf->acl_oidc_configuration_url, "https://", 8) == 0;
    return alm_url_origin(url) > 0 && url.len < ALM_OIDC_URL_MAX &&
           (!tls || strncmp(url.ptr, "https://", 8) == 0);
}

static alm_status oidc_endpoints_take(alm_ctx *cx, const alm_conf *conf, const alm_json *document,
                                      const char *member, bool optional, char out[ALM_OIDC_URL_MAX])
{
    const alm_str url = alm_json_text(alm_json_get(document, member));
    if (url.ptr == NULL && optional)
        return ALM_OK;
    if (url.ptr == NULL || !oidc_endpoints_fits(conf, url))
        return alm_fail(cx, ALM_E_VALUE, -1, "its member %s is missing, or no address that may be",
                        member);
    (void)snprintf(out, ALM_OIDC_URL_MAX, "%s", url.ptr);
    return ALM_OK;
}

static alm_status oidc_endpoints_take_all(alm_ctx *cx, const alm_conf *conf,
                                          const alm_json *document, alm_oidc_endpoints *out)
{
    ALM_TRY(oidc_endpoints_take(cx, conf, document, "issuer", false, out->issuer));
    ALM_TRY(
        oidc_endpoints_take(cx, conf, document, "end_session_endpoint", true, out->end_session));
    for (size_t i = 0; i < ALM_COUNT(ENDPOINTS); i++) {
        const endpoint *e = &ENDPOINTS[i];
        const bool unused =
            conf->acl_oidc_groups_encoded_in_token
                ? e->id == ALM_CONF_ID_acl_oidc_userinfo_endpoint
                : e->id == ALM_CONF_ID_acl_oidc_public_keys_endpoint && !alm_oidc_needs_keys(conf);
        if (oidc_endpoints_is_asked_for(conf, e))
            ALM_TRY(oidc_endpoints_take(cx, conf, document, e->member, e->optional || unused,
                                        oidc_endpoints_field(out, e)));
    }
    return ALM_OK;
}

/* OpenID Connect Discovery 1.0, 4.3: a document of another issuer must not be used. Without acl.oidc.issuer only
 * signed tokens depend on the issuer: for others, a provider may be reached by an inner name. */
static alm_status check_issuer(alm_ctx *cx, const alm_conf *conf, const alm_oidc_endpoints *found)
{
    const char *wanted = conf->acl_oidc_issuer;
    if (wanted[0] != 0)
        return strcmp(found->issuer, wanted) == 0
                   ? ALM_OK
                   : alm_fail(cx, ALM_E_VALUE, -1, "its issuer is '%.80s', not acl.oidc.issuer",
                              found->issuer);
    if (!alm_oidc_needs_keys(conf) || alm_oidc_issuer_fits(found, conf->acl_oidc_configuration_url))
        return ALM_OK;
    return alm_fail(cx, ALM_E_VALUE, -1,
                    "its issuer '%.80s' is not of its address: if it is right, set acl.oidc.issuer",
                    found->issuer);
}

alm_status alm_oidc_endpoints_of_json(alm_ctx *cx, const alm_conf *conf, alm_str json,
                                      alm_oidc_endpoints *out)
{
    alm_json *document = NULL;
    alm_oidc_endpoints found = *out;
    ALM_TRY(alm_json_parse(cx, json, &document));
    alm_status status = oidc_endpoints_take_all(cx, conf, document, &found);
    alm_json_free(document);
    if (status == ALM_OK)
        status = check_issuer(cx, conf, &found);
    ALM_TRY(status);
    found.known = true;
    found.why[0] = 0;
    *out = found;
    return ALM_OK;
}

bool alm_oidc_issuer_fits(const alm_oidc_endpoints *endpoints, const char *url)
{
    static const char well_known[] = "/.well-known/openid-configuration";
    size_t len = strlen(endpoints->issuer);
    len -= len > 0 && endpoints->issuer[len - 1] == '/';
    const size_t more = sizeof well_known - 1;
    return strncmp(url, endpoints->issuer, len) == 0 && strncmp(url + len, well_known, more) == 0 &&
           (url[len + more] == 0 || url[len + more] == '?');
}

/* ------------------------------------------------------------------------- settings */

static alm_status oidc_endpoints_bad(alm_ctx *cx, const char *key, const char *why)
{
    return alm_fail(cx, ALM_E_ARG, -1, "acl.oidc.enabled=true: %s %s", key, why);
}

static bool has_openid(const char *scope)
{
    for (const char *ptr = scope; *ptr != 0;) {
        const size_t len = strcspn(ptr, " ");
        if (len == 6 && memcmp(ptr, "openid", 6) == 0)
            return true;
        ptr += len + (ptr[len] == ' ');
    }
    return false;
}

static alm_status check_addresses(alm_ctx *cx, const alm_conf *conf)
{
    const alm_str url = alm_str_of(conf->acl_oidc_configuration_url),
                  back = alm_str_of(conf->acl_oidc_redirect_uri);
    if (url.len == 0 && conf->acl_oidc_host[0] == 0)
        return oidc_endpoints_bad(cx, "acl.oidc.configuration.url or acl.oidc.host", "must be set");
    if (url.len > 0 && (alm_url_origin(url) == 0 || url.len >= ALM_OIDC_URL_MAX))
        return oidc_endpoints_bad(cx, "acl.oidc.configuration.url",
                                  "is no address like https://host/path");
    if (strlen(conf->acl_oidc_host) > 255 || strpbrk(conf->acl_oidc_host, "/ @?#\\") != NULL)
        return oidc_endpoints_bad(cx, "acl.oidc.host", "is no host name");
    if (back.len > 0 && (alm_url_origin(back) == 0 || back.len >= ALM_OIDC_URL_MAX))
        return oidc_endpoints_bad(cx, "acl.oidc.redirect.uri",
                                  "is no address like https://host/path");
    if (strlen(conf->acl_oidc_issuer) >= ALM_OIDC_URL_MAX ||
        (conf->acl_oidc_issuer[0] != 0 && alm_url_origin(alm_str_of(conf->acl_oidc_issuer)) == 0))
        return oidc_endpoints_bad(cx, "acl.oidc.issuer", "is no address like https://host/path");
    for (size_t i = 0; i < ALM_COUNT(ENDPOINTS); i++) {
        const alm_str text = alm_str_of(oidc_endpoints_setting(conf, &ENDPOINTS[i]));
        if (text.len > 0 && ((text.ptr[0] != '/' && alm_url_origin(text) == 0) ||
                             text.len >= ALM_OIDC_URL_MAX - ORIGIN_MAX))
            return oidc_endpoints_bad(cx, alm_conf_row_at(ENDPOINTS[i].id)->key,
                                      "is neither a path (/...) nor an address");
        if (text.len == 0 && !ENDPOINTS[i].optional &&
            !oidc_endpoints_is_asked_for(conf, &ENDPOINTS[i]))
            return oidc_endpoints_bad(cx, alm_conf_row_at(ENDPOINTS[i].id)->key, "must be set");
    }
    return ALM_OK;
}

static void warn_of_risks(const alm_conf *conf)
{
    const char *url = conf->acl_oidc_configuration_url;
    char origin[ORIGIN_MAX];
    origin_of_conf(conf, origin);
    const bool clear =
        (url[0] != 0 && strncmp(url, "http://", 7) == 0 && !alm_url_is_loopback(alm_str_of(url))) ||
        (strncmp(origin, "http://", 7) == 0 && !alm_url_is_loopback(alm_str_of(origin)));
    if (clear)
        alm_log_warn("oidc", "tokens go to the identity provider in clear: use TLS");
    if (!conf->acl_oidc_tls_validation_enabled)
        alm_log_warn("oidc", "acl.oidc.tls.validation.enabled=false: anybody can stand in for the "
                             "identity provider");
    if (!conf->acl_oidc_pkce_required)
        alm_log_warn("oidc",
                     "acl.oidc.pkce.required=false: stolen authorization codes can be used");
    if (!conf->acl_oidc_state_required)
        alm_log_warn("oidc",
                     "acl.oidc.state.required=false: the console takes sign-ons that it did "
                     "not begin");
    if (alm_oidc_needs_keys(conf) && url[0] == 0 && conf->acl_oidc_issuer[0] == 0)
        alm_log_warn("oidc", "without acl.oidc.configuration.url or acl.oidc.issuer the issuer of "
                             "tokens is not checked");
}

alm_status alm_oidc_check_conf(alm_ctx *cx, const alm_conf *conf)
{
    if (!conf->acl_oidc_enabled)
        return ALM_OK;
    if (!conf->acl_enabled)
        return oidc_endpoints_bad(cx, "acl.enabled", "must not be false");
    if (conf->acl_oidc_client_id[0] == 0)
        return oidc_endpoints_bad(cx, "acl.oidc.client.id", "must be set");
    if (!has_openid(conf->acl_oidc_scope))
        return oidc_endpoints_bad(cx, "acl.oidc.scope", "must have openid among its words");
    if (strlen(conf->acl_oidc_introspection_client_id) > ALM_OIDC_ID_MAX ||
        strlen(conf->acl_oidc_introspection_client_secret) > ALM_OIDC_ID_MAX)
        return oidc_endpoints_bad(cx, "acl.oidc.introspection.client.id or .secret", "is too long");
    if (conf->acl_oidc_introspection_endpoint[0] != 0 && conf->acl_oidc_groups_encoded_in_token)
        return oidc_endpoints_bad(
            cx, "acl.oidc.introspection.endpoint",
            "is about access tokens, and acl.oidc.groups.encoded.in.token=true takes ID "
            "tokens");
    if (conf->acl_oidc_groups_claim[0] == 0)
        return oidc_endpoints_bad(cx, "acl.oidc.groups.claim", "must be set");
    ALM_TRY(check_addresses(cx, conf));
    warn_of_risks(conf);
    return ALM_OK;
}

/* --------------------------------------------------------------------- certificates */

static bool put_certificates(BIO *out, PKCS12 *p12, const char *password)
{
    EVP_PKEY *key = NULL;
    X509 *own = NULL;
    STACK_OF(X509) *others = NULL;
    if (PKCS12_parse(p12, password, &key, &own, &others) != 1)
        return false;
    bool any = own != NULL && PEM_write_bio_X509(out, own) == 1;
    for (int i = 0; others != NULL && i < sk_X509_num(others); i++)
        any |= PEM_write_bio_X509(out, sk_X509_value(others, i)) == 1;
    EVP_PKEY_free(key);
    X509_free(own);
    sk_X509_pop_free(others, X509_free);
    return any;
}

/* A PKCS#12 file as PEM; NULL: it is none, the password does not fit, or no certificate is in it. */
static char *open_store(const alm_buf *file, const char *password)
{
    const unsigned char *at = (const unsigned char *)file->ptr;
    PKCS12 *p12 = d2i_PKCS12(NULL, &at, (long)file->len);
    BIO *out = BIO_new(BIO_s_mem());
    char *text = NULL, *pem = NULL;
    if (p12 != NULL && out != NULL && put_certificates(out, p12, password)) {
        const long n = BIO_get_mem_data(out, &text);
        pem = strndup(text, (size_t)n);
    }
    BIO_free(out);
    PKCS12_free(p12);
    ERR_clear_error();
    return pem;
}

alm_status alm_oidc_trusted(alm_ctx *cx, const alm_conf *conf, const alm_io *io, const char *root,
                            char **pem)
{
    char path[8192];
    alm_buf file;
    const char *name = conf->acl_oidc_tls_keystore_path;
    *pem = NULL;
    if (name[0] == 0)
        return ALM_OK;
    (void)snprintf(path, sizeof path, "%s%s%s", name[0] == '/' ? "" : root,
                   name[0] == '/' ? "" : "/", name);
    alm_buf_init(&file, NULL);
    alm_status status = alm_io_read_text(cx, io, path, STORE_BYTES_MAX, &file);
    if (status == ALM_OK) {
        const bool is_pem = memmem(file.ptr, file.len, "-----BEGIN CERTIFICATE", 22) != NULL;
        *pem = is_pem ? strndup(file.ptr, file.len)
                      : open_store(&file, conf->acl_oidc_tls_keystore_password);
        if (*pem == NULL)
            status = alm_fail(
                cx, ALM_E_ARG, -1,
                "acl.oidc.tls.keystore.path=%s: neither PEM certificates nor a PKCS#12 file "
                "that acl.oidc.tls.keystore.password opens",
                name);
    }
    alm_buf_deinit(&file);
    return status;
}
