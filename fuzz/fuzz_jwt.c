/*
 * fuzz_jwt.c - what an identity provider, or who stands in for it, may send: any bytes as an ID token, as the claims and the header of
 * one, as a key set, as a user info answer, as a discovery document. Nothing that is not signed is ever let in.
 */
#include <stdio.h>
#include <stdlib.h>

#include "auth/oidc_state.h"
#include "base/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char KEYS[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k\",\"x\":"
                           "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                           "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
                           "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"e\",\"x\":"
                           "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";

static alm_jwk_set *known;

/* Nobody who fuzzes has the private keys. */
static void token(alm_str text, const alm_jwk_set *set)
{
    alm_ctx cx = {0};
    alm_jwt jwt;
    bool unknown = false, odd = false;
    int64_t expires_s = 0;
    alm_principal *who = NULL;
    const alm_jwt_wanted wanted = {.issuer = "i", .audience = "a", .client_id = "c", .now_s = 1};
    const alm_claim_names names = {"", "groups"};
    const bool canonical = alm_jwt_is_canonical(text);
    if (alm_jwt_parse(&cx, text, &jwt) != ALM_OK)
        return;
    if (alm_jwt_verify(&cx, &jwt, set, (alm_jwt_use)(text.len % 3), &unknown) == ALM_OK)
        ALM_ASSERT(set != known && canonical);
    alm_error_clear(&cx);
    if (alm_jwt_check(&cx, &jwt, &wanted, &expires_s) == ALM_OK)
        ALM_ASSERT(expires_s > wanted.now_s);
    alm_error_clear(&cx);
    if (alm_claims_read(&cx, jwt.claims, &names, &who, &odd) == ALM_OK)
        ALM_ASSERT(who->kind == ALM_PRINCIPAL_EXTERNAL && who->n_groups <= ALM_GROUPS_OF_MAX &&
                   who->name[0] != 0);
    alm_principal_release(who);
    alm_jwt_deinit(&jwt);
}

/* Both parts of a token of the bytes, so that what is behind base64 is reached. */
static void as_parts(alm_str text)
{
    static const char *const heads[] = {"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ",
                                        "eyJhbGciOiJFZERTQSJ9"};
    char *coded = malloc(alm_base64_len(text.len) + 1),
         *all = malloc(3 * alm_base64_len(text.len) + 300);
    size_t len = alm_base64_encode(text, coded);
    while (len > 0 && coded[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++)
        coded[i] = (char)(coded[i] == '+' ? '-' : coded[i] == '/' ? '_' : coded[i]);
    for (size_t i = 0; i < ALM_COUNT(heads); i++) {
        const int n = snprintf(all, 3 * alm_base64_len(text.len) + 300, "%s.%.*s.%.*s", heads[i],
                               (int)len, coded, (int)len, coded);
        token((alm_str){all, (size_t)n}, known);
    }
    const int n = snprintf(all, 3 * alm_base64_len(text.len) + 300, "%.*s.%.*s.AAAA", (int)len,
                           coded, (int)len, coded);
    token((alm_str){all, (size_t)n}, known);
    free(coded);
    free(all);
}

static void documents(alm_str text)
{
    alm_ctx cx = {0};
    alm_jwk_set *set = NULL;
    alm_principal *who = NULL;
    alm_oidc_endpoints at = {.known = false};
    alm_conf conf = {.acl_oidc_configuration_url = "https://h/x",
                     .acl_oidc_issuer = "",
                     .acl_oidc_authorization_endpoint = "",
                     .acl_oidc_token_endpoint = "",
                     .acl_oidc_userinfo_endpoint = "",
                     .acl_oidc_public_keys_endpoint = "",
                     .acl_oidc_device_authorization_endpoint = "",
                     .acl_oidc_introspection_endpoint = "",
                     .acl_oidc_audience = text.len % 2 == 0 ? "" : "a"};
    const alm_claim_names names = {"", "groups"};
    bool odd = false;
    if (alm_jwk_set_parse(&cx, text, &set) == ALM_OK) {
        ALM_ASSERT(alm_jwk_set_count(set) <= ALM_JWK_MAX);
        token(ALM_STR("eyJhbGciOiJFUzI1NiJ9.e30.AAAA"), set);
        alm_jwk_set_release(set);
    }
    alm_error_clear(&cx);
    (void)!alm_claims_of_text(&cx, text, &names, &who, &odd);
    alm_principal_release(who);
    alm_error_clear(&cx);
    if (alm_oidc_endpoints_of_json(&cx, &conf, text, &at) == ALM_OK)
        ALM_ASSERT(strncmp(at.token, "https://", 8) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const alm_str text = {(const char *)data, n};
    alm_ctx cx = {0};
    if (known == NULL)
        ALM_ASSERT(alm_jwk_set_parse(&cx, alm_str_of(KEYS), &known) == ALM_OK);
    token(text, known);
    as_parts(text);
    documents(text);
    (void)alm_url_origin(text);
    ALM_ASSERT(!alm_oidc_is_token(text) || memchr(text.ptr, '\n', text.len) == NULL);
    return 0;
}
