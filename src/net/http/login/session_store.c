/* session_store.c - see session_store.h. */
#include "net/http/login/session_store.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>

#include "auth/token.h"
#include "base/conf.h"
#include "base/hash.h"
#include "io/io.h"
#include "net/shared.h"

enum { ID = 32, ID_TEXT = 43 };

static const int64_t OLD_NS = INT64_C(60) * 1000000000;

/* Of a session, whatever its id; counted. */
struct alm_cookie_life {
    _Atomic uint32_t refs;
    atomic_bool ended;
    int64_t born_ns;
    uint64_t number;
};

typedef struct entry {
    uint8_t hash[ID];
    alm_principal *who; /* NULL: free */
    uint64_t owner;     /* a hash of his identity, by a secret of the store */
    char *token;        /* it lives by; or NULL */
    int64_t made_ns, used_ns;
    int64_t
        until_ns; /* of an id that was replaced: no later than this; 0: it is the newest of its session */
    alm_cookie_life *life;
    char address[64]; /* of its login */
    alm_seen seen;    /* of its login */
} entry;

struct alm_session_store {
    pthread_mutex_t lock;
    uint64_t seed;
    size_t n, cap;
    entry *at;
    uint64_t logins;
    const struct alm_conf *conf;
    alm_db *db;          /* that lists them; NULL: none does */
    alm_cookies cookies; /* that the database lists */
};

static alm_cookie_life *life_new(uint64_t number)
{
    alm_cookie_life *life = calloc(1, sizeof *life);
    if (life == NULL)
        return NULL;
    life->refs = 1;
    life->number = number;
    life->born_ns = alm_monotonic_ns();
    return life;
}

static alm_cookie_life *life_retain(alm_cookie_life *life)
{
    (void)atomic_fetch_add_explicit(&life->refs, 1, memory_order_relaxed);
    return life;
}

void alm_cookie_release(alm_cookie_life *life)
{
    if (life != NULL && atomic_fetch_sub_explicit(&life->refs, 1, memory_order_acq_rel) == 1)
        free(life);
}

static bool is_too_old(const alm_cookie_life *life, const struct alm_conf *conf, int64_t now_ns)
{
    const int64_t life_ns = conf->http_session_lifetime_max * 1000000;
    return life_ns > 0 && now_ns - life->born_ns >= life_ns;
}

bool alm_cookie_is_over(const alm_cookie_life *life, const struct alm_conf *conf)
{
    return atomic_load_explicit(&life->ended, memory_order_acquire) ||
           is_too_old(life, conf, alm_monotonic_ns());
}

static void drop(entry *e)
{
    alm_cookie_release(e->life);
    alm_principal_release(e->who);
    alm_secret_free(e->token);
    *e = (entry){.who = NULL};
}

/* All ids of a session, and what has begun by it. */
static void end_all(struct alm_session_store *store, uint64_t number)
{
    for (size_t i = 0; i < store->n; i++) {
        entry *e = &store->at[i];
        if (e->who == NULL || e->life->number != number)
            continue;
        atomic_store_explicit(&e->life->ended, true, memory_order_release);
        drop(e);
    }
}

struct alm_session_store *alm_session_store_new(void)
{
    struct alm_session_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    (void)pthread_mutex_init(&store->lock, NULL);
    if (alm_io_posix()->random(alm_io_posix(), &store->seed, sizeof store->seed) < 0)
        store->seed = (uint64_t)alm_monotonic_ns();
    return store;
}

void alm_session_store_free(struct alm_session_store *store)
{
    if (store == NULL)
        return;
    if (store->db != NULL)
        alm_db_cookies_by(store->db, NULL);
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

static bool is_over(const struct alm_conf *conf, const entry *e, int64_t now_ns)
{
    const int64_t timeout_ns = conf->http_session_timeout * 1000000;
    if (is_too_old(e->life, conf, now_ns))
        return true;
    /* an id that was replaced is used no more: it goes before the newest, which is the one that is listed */
    return now_ns - e->used_ns >= timeout_ns || (e->until_ns != 0 && now_ns >= e->until_ns);
}

static entry *find(const alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    uint8_t hash[ID];
    const int64_t now_ns = alm_monotonic_ns();
    const alm_str text = alm_http_cookie(&h->req, alm_http_session_cookie(h));
    if (text.ptr == NULL || !hash_of(text, hash))
        return NULL;
    for (size_t i = 0; i < store->n; i++) {
        entry *e = &store->at[i];
        if (e->who == NULL || CRYPTO_memcmp(e->hash, hash, ID) != 0)
            continue;
        if (!is_over(h->cx.conf, e, now_ns))
            return e;
        drop(e);
        return NULL;
    }
    return NULL;
}

alm_cookie_life *alm_session_store_life(const alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *e = find(h);
    alm_cookie_life *life = e != NULL ? life_retain(e->life) : NULL;
    (void)pthread_mutex_unlock(&store->lock);
    return life;
}

/* *seen: what was known about its login, to be looked at by the caller. */
static alm_principal *take(alm_http *h, char **token, alm_seen *seen)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *e = find(h);
    bool whole = e != NULL;
    if (e != NULL && e->token != NULL)
        whole = (*token = strdup(e->token)) != NULL; /* never without its token */
    alm_principal *who = whole ? alm_principal_retain(e->who) : NULL;
    if (whole)
        *seen = e->seen;
    (void)pthread_mutex_unlock(&store->lock);
    return who;
}

/* The login counts still, as of `seen`, or the session ends; of what could not be found out nothing is kept. */
static void settle(alm_http *h, alm_status st, const alm_seen *seen)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    entry *e = find(h);
    if (e != NULL && st == ALM_E_LOGIN_OVER)
        end_all(store, e->life->number);
    else if (e != NULL && st == ALM_OK)
        e->seen = *seen;
    (void)pthread_mutex_unlock(&store->lock);
}

alm_principal *alm_session_store_find(alm_http *h, char **token)
{
    alm_ctx cx = {.conf = h->cx.conf};
    alm_seen seen, before;
    *token = NULL;
    if (!h->cx.conf->http_server_cookies_enabled)
        return NULL;
    alm_principal *who = take(h, token, &seen);
    if (who == NULL)
        return NULL;
    before = seen;
    const alm_status st = alm_login_stands(&cx, alm_conn_db(h->conn), who, &seen);
    if (st != ALM_OK || memcmp(&before, &seen, sizeof seen) != 0)
        settle(h, st, &seen);
    if (st == ALM_OK)
        return who;
    alm_secret_free(*token);
    *token = NULL;
    alm_principal_release(who);
    return NULL;
}

int64_t alm_session_store_born(alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *e = find(h);
    const int64_t born_ns = e != NULL ? e->life->born_ns : 0;
    (void)pthread_mutex_unlock(&store->lock);
    return born_ns;
}

/* With all places taken: the session idle longest of the user who has most. */
static entry *of_most(struct alm_session_store *store)
{
    typedef struct owner {
        uint64_t id;
        size_t n;
        entry *oldest;
    } owner;
    size_t slots = 16;
    while (slots < 2 * store->n)
        slots *= 2;
    owner *owners = calloc(slots, sizeof *owners);
    owner most = {.oldest = &store->at[0]};
    for (size_t i = 0; owners != NULL && i < store->n; i++) {
        entry *e = &store->at[i];
        size_t at = e->owner % slots;
        while (owners[at].n > 0 && owners[at].id != e->owner)
            at = (at + 1) % slots;
        owner *o = &owners[at];
        o->id = e->owner;
        o->n++;
        if (o->oldest == NULL || e->used_ns < o->oldest->used_ns)
            o->oldest = e;
        if (o->n > most.n || o->id == most.id)
            most = *o;
    }
    free(owners);
    return most.oldest;
}

/* A free place: never used, over, of this user's session that was idle longest where he has http.session.user.max, or else of the
 * user who has most. */
static entry *place(alm_http *h, struct alm_session_store *store, uint64_t owner)
{
    const int64_t now_ns = alm_monotonic_ns();
    entry *oldest = NULL, *free_one = NULL;
    int64_t own = 0;
    for (size_t i = 0; i < store->n; i++) {
        entry *e = &store->at[i];
        if (e->who == NULL || is_over(h->cx.conf, e, now_ns)) {
            drop(e);
            free_one = free_one == NULL ? e : free_one;
        } else if (e->owner == owner) {
            own++;
            oldest = oldest == NULL || e->used_ns < oldest->used_ns ? e : oldest;
        }
    }
    if (own < h->cx.conf->http_session_user_max) {
        if (free_one != NULL)
            return free_one;
        oldest = (int64_t)store->n >= h->cx.conf->http_session_max ? of_most(store) : NULL;
    }
    if (oldest != NULL) {
        drop(oldest);
        return oldest;
    }
    if (store->n == store->cap) {
        const size_t cap = ALM_MAX((size_t)16, 2 * store->cap);
        entry *bigger = realloc(store->at, cap * sizeof *bigger);
        if (bigger == NULL)
            return NULL;
        store->at = bigger;
        store->cap = cap;
    }
    store->at[store->n] = (entry){.who = NULL};
    return &store->at[store->n++];
}

static uint64_t owner_of(const struct alm_session_store *store, const alm_principal *who)
{
    const alm_str identity = alm_str_of(who->identity);
    return alm_hash_u128(alm_hash_bytes(identity.ptr, identity.len), store->seed);
}

/* like: of the session that it goes on with; NULL: a new one. */
static void begin(alm_http *h, alm_principal *who, alm_str token, const entry *like)
{
    alm_net_shared *shared = shared_of(h);
    const struct alm_conf *conf = h->cx.conf;
    const alm_io *io = alm_io_posix();
    uint8_t random[ID];
    char text[ALM_TOKEN_TEXT + 1];
    if (!conf->http_server_cookies_enabled || io->random(io, random, sizeof random) < 0)
        return;
    const uint64_t owner = owner_of(shared->sessions, who);
    entry *e = place(h, shared->sessions, owner);
    alm_rest_token_text(random, text);
    text[1] = 's'; /* "qs1" */
    char *copy = token.ptr != NULL ? strndup(token.ptr, token.len) : NULL;
    if (e == NULL || (token.ptr != NULL && copy == NULL) || !hash_of(alm_str_of(text), e->hash)) {
        alm_secret_free(copy);
        return;
    }
    e->life = like != NULL ? life_retain(like->life) : life_new(++shared->sessions->logins);
    if (e->life == NULL) {
        alm_secret_free(copy);
        return;
    }
    e->token = copy;
    e->who = alm_principal_retain(who);
    e->owner = owner;
    e->made_ns = e->used_ns = alm_monotonic_ns();
    e->until_ns = 0;
    e->seen = (alm_seen){0};
    if (like != NULL)
        memcpy(e->address, like->address, sizeof e->address);
    else
        alm_conn_peer(h->conn, e->address, sizeof e->address);
    int64_t age_ms = conf->http_session_timeout;
    if (conf->http_session_lifetime_max > 0)
        age_ms = ALM_MIN(age_ms, conf->http_session_lifetime_max -
                                     (e->made_ns - e->life->born_ns) / 1000000);
    alm_http_add_headers(
        h, "Set-Cookie: %s%s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=%lld\r\n",
        alm_http_session_cookie(h).ptr, text, alm_conn_has_tls(h->conn) ? " Secure;" : "",
        (long long)ALM_MAX(age_ms / 1000, (int64_t)0));
    OPENSSL_cleanse(text, sizeof text);
}

void alm_session_store_begin(alm_http *h, alm_principal *who, alm_str token)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    ALM_ASSERT(who->kind != ALM_PRINCIPAL_EXTERNAL || token.ptr != NULL);
    (void)pthread_mutex_lock(&store->lock);
    const entry *before = find(h);
    if (before != NULL)
        end_all(store, before->life->number);
    begin(h, who, token, NULL);
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
    alm_cookie_life *life = life_retain(e->life);
    const entry like = *e;
    if (e->token == NULL || token != NULL)
        begin(h, who, token != NULL ? alm_str_of(token) : (alm_str){0}, &like);
    alm_cookie_release(life);
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

bool alm_session_store_end(alm_http *h)
{
    struct alm_session_store *store = shared_of(h)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *e = find(h);
    const bool is_there = e != NULL;
    if (is_there) /* the id before this one would be good for a moment still */
        end_all(store, e->life->number);
    (void)pthread_mutex_unlock(&store->lock);
    alm_http_add_headers(h, "Set-Cookie: %s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=0\r\n",
                         alm_http_session_cookie(h).ptr,
                         alm_conn_has_tls(h->conn) ? " Secure;" : "");
    return is_there;
}

/* ---------------------------------------------------------------- lists of sessions */

static alm_status list(void *arg, alm_status (*each)(void *row_arg, const alm_cookie *cookie),
                       void *row_arg)
{
    struct alm_session_store *store = arg;
    const alm_io *io = alm_io_posix();
    const int64_t now_ns = alm_monotonic_ns(), wall_us = io->wall_ns(io) / 1000;
    const int64_t life_ns = store->conf->http_session_lifetime_max * 1000000;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&store->lock);
    for (size_t i = 0; st == ALM_OK && i < store->n; i++) {
        const entry *e = &store->at[i];
        if (e->who == NULL || e->until_ns != 0 || is_over(store->conf, e, now_ns))
            continue;
        int64_t end_ns = e->used_ns + store->conf->http_session_timeout * 1000000;
        if (life_ns > 0)
            end_ns = ALM_MIN(end_ns, e->life->born_ns + life_ns);
        const alm_cookie cookie = {.number = e->life->number,
                                   .who = e->who,
                                   .address = e->address,
                                   .begun_us = wall_us - (now_ns - e->life->born_ns) / 1000,
                                   .used_us = wall_us - (now_ns - e->used_ns) / 1000,
                                   .end_us = wall_us + (end_ns - now_ns) / 1000};
        st = each(row_arg, &cookie);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return st;
}

static void end(void *arg, uint64_t number)
{
    struct alm_session_store *store = arg;
    (void)pthread_mutex_lock(&store->lock);
    end_all(store, number);
    (void)pthread_mutex_unlock(&store->lock);
}

void alm_session_store_listed(struct alm_session_store *store, alm_db *db)
{
    store->conf = alm_db_conf(db);
    store->db = db;
    store->cookies = (alm_cookies){.arg = store, .list = list, .end = end};
    alm_db_cookies_by(db, &store->cookies);
}
