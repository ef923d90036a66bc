/* login.c - Basic credentials, and "Token user:password" as InfluxDB clients send it; compared in constant time. */
#include "net/http/login.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/conf.h"
#include "net/http/cors.h"
#include "net/http/route.h"
#include "net/http/session_cookie.h"

enum { CREDENTIALS_MAX = 2048 };

/* A script that asks in the name of a page has a form of its own: the browser must not ask beside it. */
static bool refuse(alm_http *h)
{
    if (h->login_free)
        return false;
    const bool by_script =
        alm_str_ieq(alm_http_header(&h->req, "X-Requested-With"), ALM_STR("XMLHttpRequest"));
    alm_http_reply(h, 401, "text/plain; charset=utf-8",
                   by_script ? "WWW-Authenticate: Form realm=\"almanac\"\r\n"
                             : "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n",
                   ALM_STR("Unauthorized\r\n"));
    return false;
}

/* Equal without telling where they differ. */
static bool same_secret(alm_str a, const char *b)
{
    unsigned char x[32], y[32];
    unsigned int n = 0;
    return EVP_Digest(a.ptr, a.len, x, &n, EVP_sha256(), NULL) == 1 &&
           EVP_Digest(b, strlen(b), y, &n, EVP_sha256(), NULL) == 1 &&
           CRYPTO_memcmp(x, y, sizeof(x)) == 0;
}

/* What stands behind the name of the scheme; ptr NULL: it is another scheme. */
static alm_str behind_scheme(alm_str header, alm_str scheme)
{
    if (header.len <= scheme.len || header.len > CREDENTIALS_MAX ||
        !alm_str_ieq((alm_str){header.ptr, scheme.len}, scheme))
        return (alm_str){0};
    return (alm_str){header.ptr + scheme.len, header.len - scheme.len};
}

/* "user:password" in plain text. */
static bool is_right(alm_str text, const struct alm_conf *conf)
{
    const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
    if (colon == NULL)
        return false;
    const alm_str user = {text.ptr, (size_t)(colon - text.ptr)};
    const bool user_ok = same_secret(user, conf->http_user);
    const bool password_ok =
        same_secret((alm_str){colon + 1, text.len - user.len - 1}, conf->http_password);
    return user_ok && password_ok;
}

static bool basic_is_right(alm_str coded, const struct alm_conf *conf)
{
    unsigned char text[CREDENTIALS_MAX + 4];
    int n = EVP_DecodeBlock(text, (const unsigned char *)coded.ptr, (int)coded.len);
    for (size_t i = coded.len; n > 0 && i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    const bool good = n > 0 && is_right((alm_str){(const char *)text, (size_t)n}, conf);
    OPENSSL_cleanse(text, sizeof(text));
    return good;
}

/* Each request renews it, and session=false ends it. Wrong credentials beside it do not pass. */
static bool by_cookie(alm_http *h)
{
    if (alm_http_header(&h->req, "Authorization").ptr != NULL || !alm_session_cookie_is_good(h))
        return false;
    if (alm_http_param_is(&h->req, "session", "false") && !alm_cors_is_link(h))
        alm_session_cookie_take(h);
    else
        alm_session_cookie_give(h);
    return true;
}

bool alm_http_login(alm_http *h)
{
    const struct alm_conf *conf = h->cx.conf;
    if (conf->http_user[0] == 0)
        return true;
    const alm_str header = alm_http_header(&h->req, "Authorization");
    const alm_str basic = behind_scheme(header, ALM_STR("Basic "));
    const alm_str token = behind_scheme(header, ALM_STR("Token ")); /* of InfluxDB clients */
    const bool good = basic.ptr != NULL   ? basic_is_right(basic, conf)
                      : token.ptr != NULL ? is_right(token, conf)
                                          : false;
    if (good && h->route_wanted != NULL &&
        h->route_wanted->handler == &alm_ep_exec) { /* by either name */
        if (alm_http_param_is(&h->req, "session", "true"))
            alm_session_cookie_give(h);
        else if (alm_http_param_is(&h->req, "session", "false") && !alm_cors_is_link(h) &&
                 alm_session_cookie_is_good(h))
            alm_session_cookie_take(h);
        return true;
    }
    return good || by_cookie(h) || refuse(h);
}
