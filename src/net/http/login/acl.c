/*
 * acl.c - who asks, with access control on: Authorization (Basic, Bearer with a REST token, and the "Token" of InfluxDB
 * clients), or the cookie of a session. What the identity provider has to be asked about: oidc.c.
 *
 * Failures    The same 401 for a name that is not there, a wrong password, a token that is over. After several of them from one address
 *             with one name, or after many with any names, the answer waits; the connection does that, without a thread. Passwords are
 *             hashed in turns (acl.password.check.max, acl.password.check.address.max).
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/token.h"
#include "base/conf.h"
#include "net/http/exchange/cors.h"
#include "net/http/login/login.h"
#include "net/http/login/session_store.h"
#include "session/access/login.h"

enum { CREDENTIALS_MAX = 32768, ADDRESS_BYTES = 64 };

typedef struct attempt {
    alm_http *h;
    alm_db *db;
    char *text; /* decoded; wiped and freed at the end */
    size_t bytes;
    alm_str name, password; /* in it; password NULL: `token` */
    alm_str token;
    char address[ADDRESS_BYTES], net[ADDRESS_BYTES]; /* net: what failures are counted by */
    alm_login_wait wait;
    alm_principal *who;
    alm_ctx cx;
    alm_status status;
} attempt;

static void attempt_free(void *arg)
{
    attempt *self = arg;
    if (self->text != NULL)
        OPENSSL_cleanse(self->text, self->bytes);
    free(self->text);
    alm_principal_release(self->who);
    free(self);
}

/* ------------------------------------------------------------------------ answers */

bool alm_http_goes_on_as_nobody(alm_http *http)
{
    if (http->login_free)
        alm_http_let_in(http);
    return http->login_free;
}

void alm_http_unauthorized(alm_http *http, bool bearer)
{
    if (alm_http_goes_on_as_nobody(http))
        return;
    const char *headers = bearer ? "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"
                          : http->cx.conf->acl_basic_auth_realm_enabled
                              ? "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n"
                              : NULL;
    alm_http_reply(http, 401, "text/plain; charset=utf-8", headers, ALM_STR("Unauthorized\r\n"));
}

static void login_acl_log_out(alm_http *http, const alm_principal *who)
{
    char address[ADDRESS_BYTES];
    alm_conn_peer(http->conn, address, sizeof address);
    if (alm_session_store_end(http))
        alm_login_note_cookie_over(alm_conn_db(http->conn), who, address);
}

/* ...session=true asks for a cookie, session=false ends it. A user of the provider has one by a token alone. */
static void settle_session(alm_http *http, alm_principal *who, alm_str token)
{
    if (alm_http_param_is(&http->req, "session", "false") && !alm_cors_is_link(http)) {
        login_acl_log_out(http, who);
        alm_cookie_release(http->cookie); /* this request is answered still */
        http->cookie = NULL;
    } else if (http->cookie != NULL) {
        alm_session_store_used(http);
    } else if (alm_http_param_is(&http->req, "session", "true") &&
               (who->kind != ALM_PRINCIPAL_EXTERNAL || token.ptr != NULL)) {
        alm_session_store_begin(http, who, token);
    }
}

void alm_http_let_principal_in(alm_http *http, alm_principal *who, alm_str token, bool by_cookie)
{
    alm_ctx *cx = &http->cx;
    const alm_status status = alm_access_end_point(cx, alm_conn_db(http->conn), who, "HTTP");
    if (status != ALM_OK) {
        const alm_error err = cx->err; /* the answer is made with the same context */
        char address[ADDRESS_BYTES];
        alm_error_clear(cx);
        alm_conn_peer(http->conn, address, sizeof address);
        if (status == ALM_E_DENIED)
            alm_login_note(alm_conn_db(http->conn), who->name, who, "http", address,
                           "no permission HTTP", false);
        if (status == ALM_E_DENIED && alm_http_goes_on_as_nobody(http))
            return;
        if (status == ALM_E_DENIED && who->kind == ALM_PRINCIPAL_EXTERNAL)
            alm_http_deny_external(http, who, err.msg);
        else
            alm_http_reply_error(http, alm_status_http(status), (alm_str){0}, err.msg, -1);
        return;
    }
    http->cookie = by_cookie ? alm_session_store_life(http) : NULL;
    if (by_cookie && http->cookie == NULL) { /* ended while the provider was asked */
        alm_http_unauthorized(http, false);
        return;
    }
    alm_principal *kept = alm_principal_retain(who);
    alm_principal_release(http->who);
    http->who = kept;
    http->known = true;
    settle_session(http, who, token);
    alm_http_let_in(http);
}

/* --------------------------------------------------------------------- credentials */

static alm_str login_acl_behind(alm_str header, alm_str scheme)
{
    if (header.len <= scheme.len || !alm_str_ieq((alm_str){header.ptr, scheme.len}, scheme))
        return (alm_str){0};
    header = (alm_str){header.ptr + scheme.len, header.len - scheme.len};
    while (header.len > 0 && header.ptr[0] == ' ')
        header = (alm_str){header.ptr + 1, header.len - 1};
    return header;
}

/* "user:password": the first colon parts them. */
static bool login_acl_split(attempt *self, size_t n)
{
    const char *colon = memchr(self->text, ':', n);
    if (colon == NULL)
        return false;
    self->name = (alm_str){self->text, (size_t)(colon - self->text)};
    self->password = (alm_str){colon + 1, n - self->name.len - 1};
    return memchr(self->text, 0, n) == NULL;
}

static bool decode_basic(attempt *self, alm_str coded)
{
    int n = EVP_DecodeBlock((unsigned char *)self->text, (const unsigned char *)coded.ptr,
                            (int)coded.len);
    for (size_t i = coded.len; n > 0 && i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    return n > 0 && login_acl_split(self, (size_t)n);
}

static bool login_acl_read_header(attempt *self, alm_str header, bool *bearer)
{
    const alm_str basic = login_acl_behind(header, ALM_STR("Basic "));
    const alm_str token = login_acl_behind(header, ALM_STR("Token "));
    const alm_str bear = login_acl_behind(header, ALM_STR("Bearer "));
    *bearer = bear.ptr != NULL;
    if (header.len > CREDENTIALS_MAX)
        return false;
    self->bytes = header.len + 4;
    self->text = malloc(self->bytes);
    if (self->text == NULL)
        return false;
    if (basic.ptr != NULL)
        return decode_basic(self, basic);
    const alm_str rest = token.ptr != NULL ? token : bear;
    if (rest.ptr == NULL)
        return false;
    memcpy(self->text, rest.ptr, rest.len);
    if (token.ptr != NULL && memchr(rest.ptr, ':', rest.len) != NULL)
        return login_acl_split(self, rest.len);
    self->token = (alm_str){self->text, rest.len};
    return true;
}

/* -------------------------------------------------------------------------- checks */

static void login_acl_check(void *arg)
{
    attempt *self = arg;
    self->status =
        self->token.ptr != NULL
            ? alm_login_token(&self->cx, self->db, (alm_str){0}, self->token, NULL, &self->who)
            : alm_login_password(&self->cx, self->db, self->name, self->password, &self->who);
}

static void login_acl_settle(alm_http *http, attempt *self)
{
    char name[ALM_ENTITY_NAME_MAX + 1];
    const bool bearer = self->token.ptr != NULL, ok = self->who != NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)ALM_MIN(self->name.len, sizeof name - 1),
                   self->name.len > 0 ? self->name.ptr : "");
    if (self->status != ALM_OK) {
        alm_http_reply_error(http, alm_status_http(self->status), (alm_str){0}, self->cx.err.msg,
                             -1);
        return;
    }
    alm_login_result(self->db, alm_str_of(self->net), self->name, ok);
    if (!ok || !bearer) /* each use of a token is no login */
        alm_login_note(self->db, name, self->who, "http", self->address,
                       bearer ? "token" : "password", ok);
    if (ok)
        alm_http_let_principal_in(http, self->who, (alm_str){0}, false);
    else
        alm_http_unauthorized(http, bearer);
}

static void checked(alm_conn *conn, void *arg)
{
    attempt *self = arg;
    alm_http *http = self->h;
    (void)conn;
    login_acl_settle(http, self);
    attempt_free(self);
    alm_http_begun(http);
    alm_http_finished(http);
}

/* A token costs a look-up, but its use may wait for the disk. */
static void start_check(alm_conn *conn, void *arg)
{
    attempt *self = arg;
    const struct alm_conf *conf = alm_db_conf(self->db);
    if (self->token.ptr != NULL)
        alm_conn_work_now(conn, login_acl_check, checked, attempt_free, self);
    else
        alm_conn_work_in_turn(conn, conf->acl_password_check_max,
                              conf->acl_password_check_address_max, login_acl_check, checked,
                              attempt_free, self);
}

/* What needs no work and no waiting is settled here. A password that was right lately does not wait for what others of its address
 * got wrong. */
static bool at_once(alm_http *http, attempt *self)
{
    bool later = false;
    if (self->token.ptr != NULL)
        self->status =
            alm_login_token(&http->cx, self->db, (alm_str){0}, self->token, &later, &self->who);
    else if (self->wait.name_ms == 0)
        self->status =
            alm_login_password_lately(&http->cx, self->db, self->name, self->password, &self->who);
    if (self->status != ALM_OK) {
        self->cx.err = http->cx.err;
        alm_error_clear(&http->cx);
        login_acl_settle(http, self);
        return true;
    }
    if (self->who != NULL) { /* known from before: no line in the audit log for each request */
        alm_http_let_principal_in(http, self->who, (alm_str){0}, false);
        return true;
    }
    if (self->token.ptr == NULL || later || self->wait.ms > 0)
        return false;
    login_acl_settle(http, self);
    return true;
}

/* What the identity provider knows more about. True: it is on its way. */
static bool is_external(alm_http *http, attempt *self, bool bearer)
{
    bool external = false;
    if (alm_login_oidc(self->db) == NULL)
        return false;
    if (bearer && !alm_rest_token_is_one(self->token)) {
        alm_http_login_external(http, self->token, false);
        return true;
    }
    if (self->token.ptr != NULL ||
        alm_login_is_external(&http->cx, self->db, self->name, &external) != ALM_OK || !external)
        return false;
    alm_http_login_password(http, self->name, self->password, self->wait.ms);
    return true;
}

static void try_header(alm_http *http, alm_str header)
{
    attempt *a = calloc(1, sizeof *a);
    bool bearer = false;
    if (a == NULL) {
        alm_http_reply_error(http, 503, (alm_str){0}, "out of memory", -1);
        return;
    }
    a->h = http;
    a->db = alm_conn_db(http->conn);
    alm_conn_peer(http->conn, a->address, sizeof a->address);
    alm_conn_net_text(http->conn, a->net, sizeof a->net);
    if (!login_acl_read_header(a, header, &bearer)) {
        alm_http_unauthorized(http, bearer);
        attempt_free(a);
        return;
    }
    alm_login_delays(a->db, alm_str_of(a->net), a->name, &a->wait);
    if (is_external(http, a, bearer) || at_once(http, a)) {
        attempt_free(a);
        return;
    }
    if (a->wait.ms > 0)
        alm_conn_sleep(http->conn, a->wait.ms, start_check, attempt_free, a);
    else
        start_check(http->conn, a);
}

/* From another site? Absent headers are those of clients that are no browsers. */
static bool is_cross_site(const alm_http *h)
{
    const alm_str site = alm_http_header(&h->req, "Sec-Fetch-Site");
    const alm_str origin = alm_http_header(&h->req, "Origin"), host = h->req.host;
    if (site.ptr != NULL && !alm_str_eq(site, ALM_STR("same-origin")) &&
        !alm_str_eq(site, ALM_STR("none")))
        return true;
    if (origin.ptr == NULL)
        return false;
    const alm_str http = login_acl_behind(origin, ALM_STR("http://")),
                  https = login_acl_behind(origin, ALM_STR("https://"));
    const alm_str of = http.ptr != NULL ? http : https;
    return of.ptr == NULL || !alm_str_ieq(of, host);
}

/* A session of an external user is as good as the token that it began with. */
static void login_acl_by_cookie(alm_http *http)
{
    char *token = NULL;
    alm_principal *who = alm_session_store_find(http, &token);
    if (who == NULL)
        alm_http_unauthorized(http, false);
    else if (is_cross_site(http)) {
        static const char why[] = "a session of another site may not be used";
        alm_http_fault(http, 403, why);
        if (!alm_http_goes_on_as_nobody(http))
            alm_http_reply_error(http, 403, (alm_str){0}, why, -1);
    } else if (token != NULL)
        alm_http_login_external(http, alm_str_of(token), true);
    else
        alm_http_let_principal_in(http, who, (alm_str){0}, true);
    alm_secret_free(token);
    alm_principal_release(who);
}

void alm_http_login_acl(alm_http *http)
{
    uint32_t count = 0;
    char peer[ADDRESS_BYTES];
    for (uint32_t i = 0; i < http->req.n_headers; i++)
        count += alm_str_ieq(http->req.headers[i].name, ALM_STR("Authorization"));
    alm_conn_peer(http->conn, peer, sizeof peer);
    if (http->cx.conf->acl_require_tls && !alm_conn_is_local(http->conn) &&
        !alm_conn_has_tls(http->conn)) {
        if (alm_http_goes_on_as_nobody(http))
            return;
        alm_http_reply_error(http, 403, (alm_str){0}, "acl.require.tls: logins need TLS", -1);
        return;
    }
    if (count > 1) {
        alm_http_reply_text(http, 400, "More than one Authorization header");
        return;
    }
    if (count == 1) {
        try_header(http, alm_http_header(&http->req, "Authorization"));
        return;
    }
    login_acl_by_cookie(http);
}
