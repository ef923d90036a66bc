/* session_cookie.c - see session_cookie.h. */
#include "net/http/login/session_cookie.h"

#include <pthread.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/conf.h"
#include "base/hash.h"
#include "io/io.h"
#include "net/shared.h"

enum {
    FACTS_BYTES = 24,
    MAC_BYTES = 32,
    TOKEN_BYTES = FACTS_BYTES + MAC_BYTES,
    ENDED_MAX = 100000
};

typedef struct facts {
    int64_t until_ns; /* of the monotonic clock: a token is of this process */
    int64_t born_ns;  /* of the first cookie of the session */
    uint64_t session;
} facts;
_Static_assert(sizeof(facts) == FACTS_BYTES, "what is signed");

/* Sessions that were ended, until all their cookies are over. */
struct alm_ended_sessions {
    pthread_mutex_t lock;
    facts *rows;
    size_t n, cap;
};

static const alm_str form = ALM_STR("qs1");

/* The name and the password are part of what is signed: cookies that began with others are none. */
static bool session_cookie_sign(const alm_http *http, unsigned char token[TOKEN_BYTES])
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    const uint64_t login = alm_hash_u128(alm_hash_str(alm_str_of(http->cx.conf->http_user)),
                                         alm_hash_str(alm_str_of(http->cx.conf->http_password)));
    unsigned char text[FACTS_BYTES + sizeof(login)];
    unsigned int n = 0;
    (void)memcpy(text, token, FACTS_BYTES);
    (void)memcpy(text + FACTS_BYTES, &login, sizeof(login));
    return HMAC(EVP_sha256(), shared->session_key, sizeof(shared->session_key), text, sizeof(text),
                token + FACTS_BYTES, &n) != NULL &&
           n == MAC_BYTES;
}

static int digit(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                                        : -1;
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

/* -------------------------------------------------------------- ended sessions */

struct alm_ended_sessions *alm_ended_sessions_new(void)
{
    struct alm_ended_sessions *ended = calloc(1, sizeof(*ended));
    if (ended != NULL)
        (void)pthread_mutex_init(&ended->lock, NULL);
    return ended;
}

void alm_ended_sessions_free(struct alm_ended_sessions *ended)
{
    if (ended == NULL)
        return;
    (void)pthread_mutex_destroy(&ended->lock);
    free(ended->rows);
    free(ended);
}

static bool is_ended(struct alm_ended_sessions *ended, uint64_t session)
{
    bool found = false;
    if (ended == NULL) /* a connection without a server */
        return false;
    (void)pthread_mutex_lock(&ended->lock);
    for (size_t i = 0; i < ended->n && !found; i++)
        found = ended->rows[i].session == session;
    (void)pthread_mutex_unlock(&ended->lock);
    return found;
}

/* A place for one more: what is over anyway goes, then the list grows; when it is full the first goes. */
static facts *session_cookie_place_for(struct alm_ended_sessions *ended)
{
    const int64_t now_ns = alm_monotonic_ns();
    size_t kept = 0;
    for (size_t i = 0; i < ended->n; i++)
        if (ended->rows[i].until_ns > now_ns)
            ended->rows[kept++] = ended->rows[i];
    ended->n = kept;
    if (ended->n == ended->cap && ended->cap < ENDED_MAX) {
        const size_t cap = ended->cap == 0 ? 16 : 2 * ended->cap;
        facts *grown = realloc(ended->rows, cap * sizeof(*grown));
        if (grown != NULL) {
            ended->rows = grown;
            ended->cap = cap;
        }
    }
    if (ended->n < ended->cap)
        return &ended->rows[ended->n++];
    return ended->n > 0 ? &ended->rows[0] : NULL;
}

static void cookie_end_session(struct alm_ended_sessions *ended, facts of)
{
    (void)pthread_mutex_lock(&ended->lock);
    facts *row = session_cookie_place_for(ended);
    if (row != NULL)
        *row = of;
    (void)pthread_mutex_unlock(&ended->lock);
}

/* --------------------------------------------------------------------- cookies */

static bool session_cookie_holds(const alm_http *http, alm_str text, facts *out)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    unsigned char got[TOKEN_BYTES], want[TOKEN_BYTES];
    if (!read_token(text, got))
        return false;
    (void)memcpy(want, got, FACTS_BYTES);
    if (!session_cookie_sign(http, want) || CRYPTO_memcmp(got, want, TOKEN_BYTES) != 0)
        return false;
    (void)memcpy(out, got, sizeof(*out)); /* our own bytes, of this process */
    const int64_t now_ns = alm_monotonic_ns();
    const int64_t life_ns = http->cx.conf->http_session_lifetime_max * 1000000;
    ALM_ASSERT(out->born_ns <= out->until_ns && out->born_ns <= now_ns);
    return now_ns < out->until_ns && (life_ns <= 0 || now_ns - out->born_ns < life_ns) &&
           !is_ended(shared->ended, out->session);
}

static bool session_cookie_find(const alm_http *http, facts *out)
{
    const alm_str found = alm_http_cookie(&http->req, alm_http_session_cookie(http));
    return http->cx.conf->http_server_cookies_enabled && found.ptr != NULL &&
           session_cookie_holds(http, found, out);
}

bool alm_session_cookie_is_good(const alm_http *http)
{
    facts of;
    return session_cookie_find(http, &of);
}

void alm_session_cookie_give(alm_http *http)
{
    const struct alm_conf *conf = http->cx.conf;
    const alm_io *io = alm_io_posix();
    unsigned char token[TOKEN_BYTES];
    char text[2 * TOKEN_BYTES + 1];
    facts of;
    if (!conf->http_server_cookies_enabled)
        return;
    const int64_t now_ns = alm_monotonic_ns();
    if (!session_cookie_find(http, &of)) {
        of.born_ns = now_ns;
        if (io->random(io, &of.session, sizeof(of.session)) < 0)
            return;
    }
    of.until_ns = now_ns + conf->http_session_timeout * 1000000;
    (void)memcpy(token, &of, sizeof(of));
    if (!session_cookie_sign(http, token))
        return;
    int64_t age_ms = conf->http_session_timeout;
    if (conf->http_session_lifetime_max > 0)
        age_ms = ALM_MIN(age_ms, conf->http_session_lifetime_max - (now_ns - of.born_ns) / 1000000);
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[token[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[token[i] & 15];
    }
    text[sizeof(text) - 1] = 0;
    alm_http_add_headers(
        http, "Set-Cookie: %s%s%s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=%lld\r\n",
        alm_http_session_cookie(http).ptr, form.ptr, text,
        alm_conn_has_tls(http->conn) ? " Secure;" : "",
        (long long)ALM_MAX(age_ms / 1000, INT64_C(0)));
}

void alm_session_cookie_take(alm_http *http)
{
    const alm_net_shared *shared = alm_conn_arg(http->conn);
    facts of;
    if (shared->ended != NULL && session_cookie_find(http, &of)) {
        /* a cookie that a request under way gets in this moment is no longer good than one that is given now */
        of.until_ns = alm_monotonic_ns() + http->cx.conf->http_session_timeout * 1000000;
        cookie_end_session(shared->ended, of);
    }
    alm_http_add_headers(http, "Set-Cookie: %s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=0\r\n",
                         alm_http_session_cookie(http).ptr,
                         alm_conn_has_tls(http->conn) ? " Secure;" : "");
}
