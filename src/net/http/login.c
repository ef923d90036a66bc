/* login.c - Basic credentials, compared in constant time. */
#include "net/http/login.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/conf.h"

enum { CREDENTIALS_MAX = 2048 };

static bool refuse(alm_http *h)
{
    alm_http_reply(h, 401, "text/plain; charset=utf-8",
                   "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n",
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

bool alm_http_login(alm_http *h)
{
    const struct alm_conf *conf = h->cx.conf;
    if (conf->http_user[0] == 0)
        return true;
    const alm_str header = alm_http_header(&h->req, "Authorization");
    static const size_t scheme = sizeof("Basic ") - 1;
    if (header.len <= scheme || header.len > CREDENTIALS_MAX ||
        !alm_str_ieq((alm_str){header.ptr, scheme}, ALM_STR("Basic ")))
        return refuse(h);
    unsigned char text[CREDENTIALS_MAX + 4];
    const alm_str coded = {header.ptr + scheme, header.len - scheme};
    int n = EVP_DecodeBlock(text, (const unsigned char *)coded.ptr, (int)coded.len);
    if (n < 0)
        return refuse(h);
    for (size_t i = coded.len; i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    const char *colon = n > 0 ? memchr(text, ':', (size_t)n) : NULL;
    if (colon == NULL)
        return refuse(h);
    const alm_str user = {(const char *)text, (size_t)(colon - (const char *)text)};
    const alm_str password = {colon + 1, (size_t)n - user.len - 1};
    const bool user_ok = same_secret(user, conf->http_user);
    const bool password_ok = same_secret(password, conf->http_password);
    OPENSSL_cleanse(text, sizeof(text));
    return (user_ok && password_ok) || refuse(h);
}
