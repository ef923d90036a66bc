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
static void http_login_refuse(alm_http *http)
{
    if (http->login_free) {
        alm_http_let_in(http);
        return;
    }
    const bool by_script =
        alm_str_ieq(alm_http_header(&http->req, "X-Requested-With"), ALM_STR("XMLHttpRequest"));
    alm_http_reply(http, 401, "text/plain; charset=utf-8",
                   by_script ? "WWW-Authenticate: Form realm=\"almanac\"\r\n"
                             : "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n",
                   ALM_STR("Unauthorized\r\n"));
}

/* Equal without telling where they differ. */
static bool same_secret(alm_str text, const char *bytes)
{
    unsigned char x[32], y[32];
    unsigned int n = 0;
    return EVP_Digest(text.ptr, text.len, x, &n, EVP_sha256(), NULL) == 1 &&
           EVP_Digest(bytes, strlen(bytes), y, &n, EVP_sha256(), NULL) == 1 &&
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
static bool http_login_is_right(alm_str text, const struct alm_conf *conf, attempt *self)
{
    const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;
    if (colon == NULL)
        return false;
    const alm_str user = {text.ptr, (size_t)(colon - text.ptr)};
    (void)snprintf(self->name, sizeof self->name, "%.*s",
                   (int)ALM_MIN(user.len, sizeof self->name - 1), user.ptr);
    const bool user_ok = same_secret(user, conf->http_user);
    const bool password_ok =
        same_secret((alm_str){colon + 1, text.len - user.len - 1}, conf->http_password);
    return user_ok && password_ok;
}

static bool basic_is_right(alm_str coded, const struct alm_conf *conf, attempt *self)
{
    unsigned char text[CREDENTIALS_MAX + 4];
    int n = EVP_DecodeBlock(text, (const unsigned char *)coded.ptr, (int)coded.len);
    for (size_t i = coded.len; n > 0 && i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    const bool good =
        n > 0 && http_login_is_right((alm_str){(const char *)text, (size_t)n}, conf, self);
    OPENSSL_cleanse(text, sizeof(text));
    return good;
}

/* Each request renews it, and session=false ends it. Wrong credentials beside it do not pass. */
static bool http_login_by_cookie(alm_http *http)
{
    if (alm_http_header(&http->req, "Authorization").ptr != NULL ||
        !alm_session_cookie_is_good(http))
        return false;
    if (alm_http_param_is(&http->req, "session", "false") && !alm_cors_is_link(http))
        alm_session_cookie_take(http);
    else
        alm_session_cookie_give(http);
    return true;
}

static void let_in(alm_http *http)
{
    http->known = true;
    alm_http_let_in(http);
}

/* ...session=true asks for a cookie, session=false ends it. */
static void settle_cookie(alm_http *http)
{
    if (http->route_wanted == NULL || !http->route_wanted->handler->gives_cookie)
        return;
    if (alm_http_param_is(&http->req, "session", "true"))
        alm_session_cookie_give(http);
    else if (alm_http_param_is(&http->req, "session", "false") && !alm_cors_is_link(http) &&
             alm_session_cookie_is_good(http))
        alm_session_cookie_take(http);
}

/* Credentials come with each request: those that are right are noted after failures alone. */
static void http_login_settle(alm_http *http, const attempt *self)
{
    alm_db *db = alm_conn_db(http->conn);
    char address[ADDRESS_BYTES], net[ADDRESS_BYTES];
    if (!self->good || self->waited) {
        alm_conn_peer(http->conn, address, sizeof address);
        alm_conn_net_text(http->conn, net, sizeof net);
        alm_login_result(db, alm_str_of(net), alm_str_of(self->name), self->good);
        alm_login_note(db, self->name, NULL, "http", address, "http.user", self->good);
    }
    if (!self->good) {
        http_login_refuse(http);
        return;
    }
    settle_cookie(http);
    let_in(http);
}

static void http_login_waited(alm_conn *conn, void *arg)
{
    attempt *self = arg;
    alm_http *http = self->h;
    (void)conn;
    http_login_settle(http, self);
    free(self);
    alm_http_begun(http);
    alm_http_finished(http);
}

static void try_credentials(alm_http *http, const attempt *self)
{
    char net[ADDRESS_BYTES];
    alm_login_wait wait;
    alm_conn_net_text(http->conn, net, sizeof net);
    alm_login_delays(alm_conn_db(http->conn), alm_str_of(net), alm_str_of(self->name), &wait);
    /* who is right does not wait for what others of his address got wrong */
    const int64_t millis = self->good ? wait.name_ms : wait.ms;
    if (millis == 0) {
        http_login_settle(http, self);
        return;
    }
    attempt *later = malloc(sizeof *later);
    if (later == NULL) {
        alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
        return;
    }
    *later = *self;
    later->waited = true;
    alm_conn_sleep(http->conn, millis, http_login_waited, free, later);
}

void alm_http_login(alm_http *http)
{
    const struct alm_conf *conf = http->cx.conf;
    attempt self = {.h = http};
    if (conf->http_user[0] == 0) {
        let_in(http);
        return;
    }
    const alm_str header = alm_http_header(&http->req, "Authorization");
    const alm_str basic = behind_scheme(header, ALM_STR("Basic "));
    const alm_str token = behind_scheme(header, ALM_STR("Token ")); /* of InfluxDB clients */
    if (basic.ptr == NULL && token.ptr == NULL) {
        if (http_login_by_cookie(http))
            let_in(http);
        else
            http_login_refuse(http);
        return;
    }
    self.good = basic.ptr != NULL ? basic_is_right(basic, conf, &self)
                                  : http_login_is_right(token, conf, &self);
    try_credentials(http, &self);
}
