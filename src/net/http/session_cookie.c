/* session_cookie.c - see session_cookie.h. */
#include "net/http/session_cookie.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/conf.h"
#include "io/io.h"
#include "net/shared.h"

enum { FACTS_BYTES = 16, MAC_BYTES = 32, TOKEN_BYTES = FACTS_BYTES + MAC_BYTES };

static const alm_str name = ALM_STR("qdb_session=");
static const alm_str form = ALM_STR("qs1");

static bool sign(const alm_http *h, unsigned char token[TOKEN_BYTES])
{
    const alm_net_shared *shared = alm_conn_arg(h->conn);
    unsigned int n = 0;
    return HMAC(EVP_sha256(), shared->session_key, sizeof(shared->session_key), token, FACTS_BYTES,
                token + FACTS_BYTES, &n) != NULL &&
           n == MAC_BYTES;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_token(alm_str text, unsigned char out[TOKEN_BYTES])
{
    if (text.len != form.len + 2 * TOKEN_BYTES || memcmp(text.ptr, form.ptr, form.len) != 0)
        return false;
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        const int high = digit(text.ptr[form.len + 2 * i]);
        const int low = digit(text.ptr[form.len + 2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static bool holds(const alm_http *h, alm_str text)
{
    unsigned char got[TOKEN_BYTES], want[TOKEN_BYTES];
    int64_t until_ns = 0;
    if (!read_token(text, got))
        return false;
    (void)memcpy(want, got, FACTS_BYTES);
    if (!sign(h, want) || CRYPTO_memcmp(got, want, TOKEN_BYTES) != 0)
        return false;
    (void)memcpy(&until_ns, got, sizeof(until_ns)); /* our own bytes, of this process */
    return alm_monotonic_ns() < until_ns;
}

bool alm_session_cookie_is_good(const alm_http *h)
{
    const alm_str found = alm_http_cookie(&h->req, name);
    return h->cx.conf->http_server_cookies_enabled && found.ptr != NULL && holds(h, found);
}

void alm_session_cookie_give(alm_http *h)
{
    const struct alm_conf *conf = h->cx.conf;
    const alm_io *io = alm_io_posix();
    unsigned char token[TOKEN_BYTES];
    char text[2 * TOKEN_BYTES + 1];
    const int64_t until_ns = alm_monotonic_ns() + conf->http_session_timeout * 1000000;
    if (!conf->http_server_cookies_enabled)
        return;
    (void)memcpy(token, &until_ns, sizeof(until_ns));
    if (io->random(io, token + sizeof(until_ns), FACTS_BYTES - sizeof(until_ns)) < 0 ||
        !sign(h, token))
        return;
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[token[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[token[i] & 15];
    }
    text[sizeof(text) - 1] = 0;
    alm_http_add_headers(h,
                         "Set-Cookie: %s%s%s; HttpOnly; Path=/; SameSite=Strict; Max-Age=%lld\r\n",
                         name.ptr, form.ptr, text, (long long)(conf->http_session_timeout / 1000));
}

void alm_session_cookie_take(alm_http *h)
{
    alm_http_add_headers(h, "Set-Cookie: %s; HttpOnly; Path=/; SameSite=Strict; Max-Age=0\r\n",
                         name.ptr);
}
