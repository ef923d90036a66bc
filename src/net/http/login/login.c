/*
 * login.c - Basic credentials, and "Token user:password" as InfluxDB clients send it; compared in constant time. Guesses wait and
 * are noted as those with access control are (session/access/login.h).
 */
#include "net/http/login/login.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "net/http/exchange/cors.h"
#include "net/http/login/session_cookie.h"
#include "net/http/route.h"
#include "session/access/login.h"

enum { CREDENTIALS_MAX = 2048, NAME_BYTES = 256, ADDRESS_BYTES = 64 };

typedef struct attempt {
    alm_http *h;
    char name[NAME_BYTES]; /* that was said */
    bool good, waited;
} attempt;

/* A script that asks in the name of a page has a form of its own: the browser must not ask beside it. */
static void refuse(alm_http *h)
{
    if (h->login_free) {
        alm_http_let_in(h);
        return;
    }
    const bool by_script =
        alm_str_ieq(alm_http_header(&h->req, "X-Requested-With"), ALM_STR("XMLHttpRequest"));
    alm_http_reply(h, 401, "text/plain; charset=utf-8",
                   by_script ? "WWW-Authenticate: Form realm=\"almanac\"\r\n"
                             : "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n",
                   ALM_STR("Unauthorized\r\n"));
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
static bool is_right(alm_str text, const struct alm_conf *conf, attempt *a)
{
    const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
    if (colon == NULL)
        return false;
    const alm_str user = {text.ptr, (size_t)(colon - text.ptr)};
    (void)snprintf(a->name, sizeof a->name, "%.*s", (int)ALM_MIN(user.len, sizeof a->name - 1),
                   user.ptr);
    const bool user_ok = same_secret(user, conf->http_user);
    const bool password_ok =
        same_secret((alm_str){colon + 1, text.len - user.len - 1}, conf->http_password);
    return user_ok && password_ok;
}

static bool basic_is_right(alm_str coded, const struct alm_conf *conf, attempt *a)
{
    unsigned char text[CREDENTIALS_MAX + 4];
    int n = EVP_DecodeBlock(text, (const unsigned char *)coded.ptr, (int)coded.len);
    for (size_t i = coded.len; n > 0 && i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    const bool good = n > 0 && is_right((alm_str){(const char *)text, (size_t)n}, conf, a);
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

static void let_in(alm_http *h)
{
    h->known = true;
    alm_http_let_in(h);
}

/* ...session=true asks for a cookie, session=false ends it. */
static void settle_cookie(alm_http *h)
{
    if (h->route_wanted == NULL || !h->route_wanted->handler->gives_cookie)
        return;
    if (alm_http_param_is(&h->req, "session", "true"))
        alm_session_cookie_give(h);
    else if (alm_http_param_is(&h->req, "session", "false") && !alm_cors_is_link(h) &&
             alm_session_cookie_is_good(h))
        alm_session_cookie_take(h);
}

/* Credentials come with each request: those that are right are noted after failures alone. */
static void settle(alm_http *h, const attempt *a)
{
    alm_db *db = alm_conn_db(h->conn);
    char address[ADDRESS_BYTES], net[ADDRESS_BYTES];
    if (!a->good || a->waited) {
        alm_conn_peer(h->conn, address, sizeof address);
        alm_conn_net_text(h->conn, net, sizeof net);
        alm_login_result(db, alm_str_of(net), alm_str_of(a->name), a->good);
        alm_login_note(db, a->name, NULL, "http", address, "http.user", a->good);
    }
    if (!a->good) {
        refuse(h);
        return;
    }
    settle_cookie(h);
    let_in(h);
}

static void waited(alm_conn *conn, void *arg)
{
    attempt *a = arg;
    alm_http *h = a->h;
    (void)conn;
    settle(h, a);
    free(a);
    alm_http_begun(h);
    alm_http_finished(h);
}

static void try_credentials(alm_http *h, const attempt *a)
{
    char net[ADDRESS_BYTES];
    alm_login_wait wait;
    alm_conn_net_text(h->conn, net, sizeof net);
    alm_login_delays(alm_conn_db(h->conn), alm_str_of(net), alm_str_of(a->name), &wait);
    /* who is right does not wait for what others of his address got wrong */
    const int64_t ms = a->good ? wait.name_ms : wait.ms;
    if (ms == 0) {
        settle(h, a);
        return;
    }
    attempt *later = malloc(sizeof *later);
    if (later == NULL) {
        alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
        return;
    }
    *later = *a;
    later->waited = true;
    alm_conn_sleep(h->conn, ms, waited, free, later);
}

void alm_http_login(alm_http *h)
{
    const struct alm_conf *conf = h->cx.conf;
    attempt a = {.h = h};
    if (conf->http_user[0] == 0) {
        let_in(h);
        return;
    }
    const alm_str header = alm_http_header(&h->req, "Authorization");
    const alm_str basic = behind_scheme(header, ALM_STR("Basic "));
    const alm_str token = behind_scheme(header, ALM_STR("Token ")); /* of InfluxDB clients */
    if (basic.ptr == NULL && token.ptr == NULL) {
        if (by_cookie(h))
            let_in(h);
        else
            refuse(h);
        return;
    }
    a.good = basic.ptr != NULL ? basic_is_right(basic, conf, &a) : is_right(token, conf, &a);
    try_credentials(h, &a);
}
