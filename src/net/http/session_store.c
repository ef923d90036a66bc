/* session_store.c - see session_store.h. */
#include "net/http/session_store.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

#include "auth/token.h"
#include "base/conf.h"
#include "io/io.h"
#include "net/shared.h"

enum { ID = 32, ID_TEXT = 43 };

static const alm_str name = ALM_STR("qdb_session=");
static const int64_t OLD_NS = INT64_C(60) * 1000000000;

typedef struct entry {
    uint8_t hash[ID];
    alm_principal *who; /* NULL: free */
    char *token;        /* it lives by; or NULL */
    int64_t made_ns, used_ns;
    int64_t until_ns; /* of an id that was replaced; 0: it goes by its use */
} entry;

struct alm_session_store {
    pthread_mutex_t lock;
    size_t n, cap;
    entry *at;
};

static void drop(entry *e)
{
    alm_principal_release(e->who);
    alm_secret_free(e->token);
    *e = (entry){.who = NULL};
}

struct alm_session_store *alm_session_store_new(void)
{
    struct alm_session_store *store = calloc(1, sizeof *store);
    if (store != NULL)
        (void)pthread_mutex_init(&store->lock, NULL);
    return store;
}

void alm_session_store_free(struct alm_session_store *store)
{
    if (store == NULL)
        return;
    (void)pthread_mutex_destroy(&store->lock);
    for (size_t i = 0; i < store->n; i++)
        drop(&store->at[i]);
    free(store->at);
    free(store);
}

static alm_net_shared *shared_of(const alm_http *h)
{
    return alm_conn_arg(h->conn);
}

static bool hash_of(alm_str text, uint8_t out[ID])
{
    unsigned int n = 0;
    return text.len == 3 + ID_TEXT && memcmp(text.ptr, "qs1", 3) == 0 &&
           EVP_Digest(text.ptr, text.len, out, &n, EVP_sha256(), NULL) == 1;
}

static bool is_over(const alm_http *h, const entry *e, int64_t now_ns)
{
    const int64_t timeout_ns = h->cx.conf->http_session_timeout * 1000000;
    return e->until_ns != 0 ? now_ns >= e->until_ns : now_ns - e->used_ns >= timeout_ns;
}

static entry *find(const alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    uint8_t hash[ID];
    const int64_t now_ns = alm_monotonic_ns();
    const alm_str text = alm_http_cookie(&h->req, name);
    if (text.ptr == NULL || !hash_of(text, hash))
        return NULL;
    for (size_t i = 0; i < store->n; i++) {
        entry *e = &store->at[i];
        if (e->who == NULL || CRYPTO_memcmp(e->hash, hash, ID) != 0)
            continue;
        if (!is_over(h, e, now_ns))
            return e;
        drop(e);
        return NULL;
    }
    return NULL;
}

alm_principal *alm_session_store_find(alm_http *h, char **token)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    *token = NULL;
    if (!h->cx.conf->http_server_cookies_enabled)
        return NULL;
    (void)pthread_mutex_lock(&store->lock);
    const entry *e = find(h);
    bool whole = e != NULL;
    if (e != NULL && e->token != NULL)
        whole = (*token = strdup(e->token)) != NULL; /* never without its token */
    alm_principal *who = whole ? alm_principal_retain(e->who) : NULL;
    (void)pthread_mutex_unlock(&store->lock);
    return who;
}

/* A free place: never used, over, or of the one that was idle longest. */
static entry *place(alm_http *h, struct alm_session_store *store)
{
    const int64_t now_ns = alm_monotonic_ns();
    entry *oldest = NULL;
    for (size_t i = 0; i < store->n; i++) {
        entry *e = &store->at[i];
        if (e->who == NULL || is_over(h, e, now_ns)) {
            drop(e);
            return e;
        }
        if (oldest == NULL || e->used_ns < oldest->used_ns)
            oldest = e;
    }
    if (store->n == ALM_SESSIONS_MAX) {
        drop(oldest);
        return oldest;
    }
    if (store->n == store->cap) {
        const size_t cap = ALM_MIN(ALM_MAX((size_t)16, 2 * store->cap), (size_t)ALM_SESSIONS_MAX);
        entry *bigger = realloc(store->at, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        store->at = bigger;
        store->cap = cap;
    }
    store->at[store->n] = (entry){.who = NULL};
    return &store->at[store->n++];
}

static void begin(alm_http *h, alm_principal *who, alm_str token)
{
    alm_net_shared *shared = shared_of(h);
    const struct alm_conf *conf = h->cx.conf;
    const alm_io *io = alm_io_posix();
    uint8_t random[ID];
    char text[ALM_TOKEN_TEXT + 1];
    if (!conf->http_server_cookies_enabled || io->random(io, random, sizeof random) < 0)
        return;
    entry *e = place(h, shared->sessions);
    alm_rest_token_text(random, text);
    text[1] = 's'; /* "qs1" */
    char *copy = token.ptr != NULL ? strndup(token.ptr, token.len) : NULL;
    if (e == NULL || (token.ptr != NULL && copy == NULL) || !hash_of(alm_str_of(text), e->hash)) {
        free(copy);
        return;
    }
    e->token = copy;
    e->who = alm_principal_retain(who);
    e->made_ns = e->used_ns = alm_monotonic_ns();
    e->until_ns = 0;
    alm_http_add_headers(h,
                         "Set-Cookie: %s%s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=%lld\r\n",
                         name.ptr, text, alm_conn_has_tls(h->conn) ? " Secure;" : "",
                         (long long)(conf->http_session_timeout / 1000));
    OPENSSL_cleanse(text, sizeof text);
}

void alm_session_store_begin(alm_http *h, alm_principal *who, alm_str token)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    begin(h, who, token);
    (void)pthread_mutex_unlock(&store->lock);
}

static void used(alm_http *h)
{
    entry *e = find(h);
    const int64_t now_ns = alm_monotonic_ns();
    if (e == NULL || e->until_ns != 0)
        return;
    e->used_ns = now_ns;
    if (now_ns - e->made_ns < h->cx.conf->http_session_timeout * 1000000 / 2)
        return;
    e->until_ns = now_ns + OLD_NS;
    /* the list may move */
    alm_principal *who = alm_principal_retain(e->who);
    char *token = e->token != NULL ? strdup(e->token) : NULL;
    if (e->token == NULL || token != NULL)
        begin(h, who, token != NULL ? alm_str_of(token) : (alm_str){0});
    alm_secret_free(token);
    alm_principal_release(who);
}

void alm_session_store_used(alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    used(h);
    (void)pthread_mutex_unlock(&store->lock);
}

void alm_session_store_end(alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    entry *e = find(h);
    if (e != NULL)
        drop(e);
    (void)pthread_mutex_unlock(&store->lock);
    alm_http_add_headers(h, "Set-Cookie: %s; HttpOnly; Path=/; SameSite=Strict; Max-Age=0\r\n",
                         name.ptr);
}
