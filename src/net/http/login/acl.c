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
    attempt *a = arg;
    if (a->text != NULL)
        OPENSSL_cleanse(a->text, a->bytes);
    free(a->text);
    alm_principal_release(a->who);
    free(a);
}

/* ------------------------------------------------------------------------ answers */

bool alm_http_goes_on_as_nobody(alm_http *h)
{
    if (h->login_free)
        alm_http_let_in(h);
    return h->login_free;
}

void alm_http_unauthorized(alm_http *h, bool bearer)
{
    if (alm_http_goes_on_as_nobody(h))
        return;
    const char *headers = bearer ? "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n"
                          : h->cx.conf->acl_basic_auth_realm_enabled
                              ? "WWW-Authenticate: Basic realm=\"almanac\", charset=\"UTF-8\"\r\n"
                              : NULL;
    alm_http_reply(h, 401, "text/plain; charset=utf-8", headers, ALM_STR("Unauthorized\r\n"));
}

static void log_out(alm_http *h, const alm_principal *who)
{
    char address[ADDRESS_BYTES];
    alm_conn_peer(h->conn, address, sizeof address);
    if (alm_session_store_end(h))
        alm_login_note_cookie_over(alm_conn_db(h->conn), who, address);
}

/* ...session=true asks for a cookie, session=false ends it. A user of the provider has one by a token alone. */
static void settle_session(alm_http *h, alm_principal *who, alm_str token)
{
    if (alm_http_param_is(&h->req, "session", "false") && !alm_cors_is_link(h)) {
        log_out(h, who);
        alm_cookie_release(h->cookie); /* this request is answered still */
        h->cookie = NULL;
    } else if (h->cookie != NULL) {
        alm_session_store_used(h);
    } else if (alm_http_param_is(&h->req, "session", "true") &&
               (who->kind != ALM_PRINCIPAL_EXTERNAL || token.ptr != NULL)) {
        alm_session_store_begin(h, who, token);
    }
}

void alm_http_let_principal_in(alm_http *h, alm_principal *who, alm_str token, bool by_cookie)
{
    alm_ctx *cx = &h->cx;
    const alm_status st = alm_access_end_point(cx, alm_conn_db(h->conn), who, "HTTP");
    if (st != ALM_OK) {
        const alm_error err = cx->err; /* the answer is made with the same context */
        char address[ADDRESS_BYTES];
        alm_error_clear(cx);
        alm_conn_peer(h->conn, address, sizeof address);
        if (st == ALM_E_DENIED)
            alm_login_note(alm_conn_db(h->conn), who->name, who, "http", address,
                           "no permission HTTP", false);
        if (st == ALM_E_DENIED && alm_http_goes_on_as_nobody(h))
            return;
        if (st == ALM_E_DENIED && who->kind == ALM_PRINCIPAL_EXTERNAL)
            alm_http_deny_external(h, who, err.msg);
        else
            alm_http_reply_error(h, alm_status_http(st), (alm_str){0}, err.msg, -1);
        return;
    }
    h->cookie = by_cookie ? alm_session_store_life(h) : NULL;
    if (by_cookie && h->cookie == NULL) { /* ended while the provider was asked */
        alm_http_unauthorized(h, false);
        return;
    }
    alm_principal *kept = alm_principal_retain(who);
    alm_principal_release(h->who);
    h->who = kept;
    h->known = true;
    settle_session(h, who, token);
    alm_http_let_in(h);
}

/* --------------------------------------------------------------------- credentials */

static alm_str behind(alm_str header, alm_str scheme)
{
    if (header.len <= scheme.len || !alm_str_ieq((alm_str){header.ptr, scheme.len}, scheme))
        return (alm_str){0};
    header = (alm_str){header.ptr + scheme.len, header.len - scheme.len};
    while (header.len > 0 && header.ptr[0] == ' ')
        header = (alm_str){header.ptr + 1, header.len - 1};
    return header;
}

/* "user:password": the first colon parts them. */
static bool split(attempt *a, size_t n)
{
    const char *colon = memchr(a->text, ':', n);
    if (colon == NULL)
        return false;
    a->name = (alm_str){a->text, (size_t)(colon - a->text)};
    a->password = (alm_str){colon + 1, n - a->name.len - 1};
    return memchr(a->text, 0, n) == NULL;
}

static bool decode_basic(attempt *a, alm_str coded)
{
    int n =
        EVP_DecodeBlock((unsigned char *)a->text, (const unsigned char *)coded.ptr, (int)coded.len);
    for (size_t i = coded.len; n > 0 && i > 0 && coded.ptr[i - 1] == '='; i--)
        n--;
    return n > 0 && split(a, (size_t)n);
}

static bool read_header(attempt *a, alm_str header, bool *bearer)
{
    const alm_str basic = behind(header, ALM_STR("Basic "));
    const alm_str token = behind(header, ALM_STR("Token "));
    const alm_str bear = behind(header, ALM_STR("Bearer "));
    *bearer = bear.ptr != NULL;
    if (header.len > CREDENTIALS_MAX)
        return false;
    a->bytes = header.len + 4;
    a->text = malloc(a->bytes);
    if (a->text == NULL)
        return false;
    if (basic.ptr != NULL)
        return decode_basic(a, basic);
    const alm_str rest = token.ptr != NULL ? token : bear;
    if (rest.ptr == NULL)
        return false;
    memcpy(a->text, rest.ptr, rest.len);
    if (token.ptr != NULL && memchr(rest.ptr, ':', rest.len) != NULL)
        return split(a, rest.len);
    a->token = (alm_str){a->text, rest.len};
    return true;
}

/* -------------------------------------------------------------------------- checks */

static void check(void *arg)
{
    attempt *a = arg;
    a->status = a->token.ptr != NULL
                    ? alm_login_token(&a->cx, a->db, (alm_str){0}, a->token, NULL, &a->who)
                    : alm_login_password(&a->cx, a->db, a->name, a->password, &a->who);
}

static void settle(alm_http *h, attempt *a)
{
    char name[ALM_ENTITY_NAME_MAX + 1];
    const bool bearer = a->token.ptr != NULL, ok = a->who != NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)ALM_MIN(a->name.len, sizeof name - 1),
                   a->name.len > 0 ? a->name.ptr : "");
    if (a->status != ALM_OK) {
        alm_http_reply_error(h, alm_status_http(a->status), (alm_str){0}, a->cx.err.msg, -1);
        return;
    }
    alm_login_result(a->db, alm_str_of(a->net), a->name, ok);
    if (!ok || !bearer) /* each use of a token is no login */
        alm_login_note(a->db, name, a->who, "http", a->address, bearer ? "token" : "password", ok);
    if (ok)
        alm_http_let_principal_in(h, a->who, (alm_str){0}, false);
    else
        alm_http_unauthorized(h, bearer);
}

static void checked(alm_conn *conn, void *arg)
{
    attempt *a = arg;
    alm_http *h = a->h;
    (void)conn;
    settle(h, a);
    attempt_free(a);
    alm_http_begun(h);
    alm_http_finished(h);
}

/* A token costs a look-up, but its use may wait for the disk. */
static void start_check(alm_conn *conn, void *arg)
{
    attempt *a = arg;
    const struct alm_conf *conf = alm_db_conf(a->db);
    if (a->token.ptr != NULL)
        alm_conn_work_now(conn, check, checked, attempt_free, a);
    else
        alm_conn_work_in_turn(conn, conf->acl_password_check_max,
                              conf->acl_password_check_address_max, check, checked, attempt_free,
                              a);
}

/* What needs no work and no waiting is settled here. A password that was right lately does not wait for what others of its address
 * got wrong. */
static bool at_once(alm_http *h, attempt *a)
{
    bool later = false;
    if (a->token.ptr != NULL)
        a->status = alm_login_token(&h->cx, a->db, (alm_str){0}, a->token, &later, &a->who);
    else if (a->wait.name_ms == 0)
        a->status = alm_login_password_lately(&h->cx, a->db, a->name, a->password, &a->who);
    if (a->status != ALM_OK) {
        a->cx.err = h->cx.err;
        alm_error_clear(&h->cx);
        settle(h, a);
        return true;
    }
    if (a->who != NULL) { /* known from before: no line in the audit log for each request */
        alm_http_let_principal_in(h, a->who, (alm_str){0}, false);
        return true;
    }
    if (a->token.ptr == NULL || later || a->wait.ms > 0)
        return false;
    settle(h, a);
    return true;
}

/* What the identity provider knows more about. True: it is on its way. */
static bool is_external(alm_http *h, attempt *a, bool bearer)
{
    bool external = false;
    if (alm_login_oidc(a->db) == NULL)
        return false;
    if (bearer && !alm_rest_token_is_one(a->token)) {
        alm_http_login_external(h, a->token, false);
        return true;
    }
    if (a->token.ptr != NULL ||
        alm_login_is_external(&h->cx, a->db, a->name, &external) != ALM_OK || !external)
        return false;
    alm_http_login_password(h, a->name, a->password, a->wait.ms);
    return true;
}

static void try_header(alm_http *h, alm_str header)
{
    attempt *a = calloc(1, sizeof *a);
    bool bearer = false;
    if (a == NULL) {
        alm_http_reply_error(h, 503, (alm_str){0}, "out of memory", -1);
        return;
    }
    a->h = h;
    a->db = alm_conn_db(h->conn);
    alm_conn_peer(h->conn, a->address, sizeof a->address);
    alm_conn_net_text(h->conn, a->net, sizeof a->net);
    if (!read_header(a, header, &bearer)) {
        alm_http_unauthorized(h, bearer);
        attempt_free(a);
        return;
    }
    alm_login_delays(a->db, alm_str_of(a->net), a->name, &a->wait);
    if (is_external(h, a, bearer) || at_once(h, a)) {
        attempt_free(a);
        return;
    }
    if (a->wait.ms > 0)
        alm_conn_sleep(h->conn, a->wait.ms, start_check, attempt_free, a);
    else
        start_check(h->conn, a);
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
    const alm_str http = behind(origin, ALM_STR("http://")),
                  https = behind(origin, ALM_STR("https://"));
    const alm_str of = http.ptr != NULL ? http : https;
    return of.ptr == NULL || !alm_str_ieq(of, host);
}

/* A session of an external user is as good as the token that it began with. */
static void by_cookie(alm_http *h)
{
    char *token = NULL;
    alm_principal *who = alm_session_store_find(h, &token);
    if (who == NULL)
        alm_http_unauthorized(h, false);
    else if (is_cross_site(h)) {
        static const char why[] = "a session of another site may not be used";
        alm_http_fault(h, 403, why);
        if (!alm_http_goes_on_as_nobody(h))
            alm_http_reply_error(h, 403, (alm_str){0}, why, -1);
    } else if (token != NULL)
        alm_http_login_external(h, alm_str_of(token), true);
    else
        alm_http_let_principal_in(h, who, (alm_str){0}, true);
    alm_secret_free(token);
    alm_principal_release(who);
}

void alm_http_login_acl(alm_http *h)
{
    uint32_t n = 0;
    char peer[ADDRESS_BYTES];
    for (uint32_t i = 0; i < h->req.n_headers; i++)
        n += alm_str_ieq(h->req.headers[i].name, ALM_STR("Authorization"));
    alm_conn_peer(h->conn, peer, sizeof peer);
    if (h->cx.conf->acl_require_tls && !alm_conn_is_local(h->conn) && !alm_conn_has_tls(h->conn)) {
        if (alm_http_goes_on_as_nobody(h))
            return;
        alm_http_reply_error(h, 403, (alm_str){0}, "acl.require.tls: logins need TLS", -1);
        return;
    }
    if (n > 1) {
        alm_http_reply_text(h, 400, "More than one Authorization header");
        return;
    }
    if (n == 1) {
        try_header(h, alm_http_header(&h->req, "Authorization"));
        return;
    }
    by_cookie(h);
}
