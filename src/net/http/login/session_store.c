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

static void session_store_drop(entry *item)
{
    alm_cookie_release(item->life);
    alm_principal_release(item->who);
    alm_secret_free(item->token);
    *item = (entry){.who = NULL};
}

/* All ids of a session, and what has begun by it. */
static void end_all(struct alm_session_store *store, uint64_t number)
{
    for (size_t i = 0; i < store->n; i++) {
        entry *item = &store->at[i];
        if (item->who == NULL || item->life->number != number)
            continue;
        atomic_store_explicit(&item->life->ended, true, memory_order_release);
        session_store_drop(item);
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
        session_store_drop(&store->at[i]);
    free(store->at);
    free(store);
}

static alm_net_shared *shared_of(const alm_http *http)
{
    return alm_conn_arg(http->conn);
}

static bool session_store_hash_of(alm_str text, uint8_t out[ID])
{
    unsigned int n = 0;
    return text.len == 3 + ID_TEXT && memcmp(text.ptr, "qs1", 3) == 0 &&
           EVP_Digest(text.ptr, text.len, out, &n, EVP_sha256(), NULL) == 1;
}

static bool session_store_is_over(const struct alm_conf *conf, const entry *item, int64_t now_ns)
{
    const int64_t timeout_ns = conf->http_session_timeout * 1000000;
    if (is_too_old(item->life, conf, now_ns))
        return true;
    /* an id that was replaced is used no more: it goes before the newest, which is the one that is listed */
    return now_ns - item->used_ns >= timeout_ns ||
           (item->until_ns != 0 && now_ns >= item->until_ns);
}

static entry *session_store_find(const alm_http *http)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    uint8_t hash[ID];
    const int64_t now_ns = alm_monotonic_ns();
    const alm_str text = alm_http_cookie(&http->req, alm_http_session_cookie(http));
    if (text.ptr == NULL || !session_store_hash_of(text, hash))
        return NULL;
    for (size_t i = 0; i < store->n; i++) {
        entry *item = &store->at[i];
        if (item->who == NULL || CRYPTO_memcmp(item->hash, hash, ID) != 0)
            continue;
        if (!session_store_is_over(http->cx.conf, item, now_ns))
            return item;
        session_store_drop(item);
        return NULL;
    }
    return NULL;
}

alm_cookie_life *alm_session_store_life(const alm_http *http)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *item = session_store_find(http);
    alm_cookie_life *life = item != NULL ? life_retain(item->life) : NULL;
    (void)pthread_mutex_unlock(&store->lock);
    return life;
}

/* *seen: what was known about its login, to be looked at by the caller. */
static alm_principal *session_store_take(alm_http *http, char **token, alm_seen *seen)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *item = session_store_find(http);
    bool whole = item != NULL;
    if (item != NULL && item->token != NULL)
        whole = (*token = strdup(item->token)) != NULL; /* never without its token */
    alm_principal *who = whole ? alm_principal_retain(item->who) : NULL;
    if (whole)
        *seen = item->seen;
    (void)pthread_mutex_unlock(&store->lock);
    return who;
}

/* The login counts still, as of `seen`, or the session ends; of what could not be found out nothing is kept. */
static void session_store_settle(alm_http *http, alm_status status, const alm_seen *seen)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    entry *item = session_store_find(http);
    if (item != NULL && status == ALM_E_LOGIN_OVER)
        end_all(store, item->life->number);
    else if (item != NULL && status == ALM_OK)
        item->seen = *seen;
    (void)pthread_mutex_unlock(&store->lock);
}

alm_principal *alm_session_store_find(alm_http *http, char **token)
{
    alm_ctx cx = {.conf = http->cx.conf};
    alm_seen seen, before;
    *token = NULL;
    if (!http->cx.conf->http_server_cookies_enabled)
        return NULL;
    alm_principal *who = session_store_take(http, token, &seen);
    if (who == NULL)
        return NULL;
    before = seen;
    const alm_status status = alm_login_stands(&cx, alm_conn_db(http->conn), who, &seen);
    if (status != ALM_OK || memcmp(&before, &seen, sizeof seen) != 0)
        session_store_settle(http, status, &seen);
    if (status == ALM_OK)
        return who;
    alm_secret_free(*token);
    *token = NULL;
    alm_principal_release(who);
    return NULL;
}

int64_t alm_session_store_born(alm_http *http)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *item = session_store_find(http);
    const int64_t born_ns = item != NULL ? item->life->born_ns : 0;
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
        entry *item = &store->at[i];
        size_t offset = item->owner % slots;
        while (owners[offset].n > 0 && owners[offset].id != item->owner)
            offset = (offset + 1) % slots;
        owner *o = &owners[offset];
        o->id = item->owner;
        o->n++;
        if (o->oldest == NULL || item->used_ns < o->oldest->used_ns)
            o->oldest = item;
        if (o->n > most.n || o->id == most.id)
            most = *o;
    }
    free(owners);
    return most.oldest;
}

/* A free place: never used, over, of this user's session that was idle longest where he has http.session.user.max, or else of the
 * user who has most. */
static entry *session_store_place(alm_http *http, struct alm_session_store *store, uint64_t owner)
{
    const int64_t now_ns = alm_monotonic_ns();
    entry *oldest = NULL, *free_one = NULL;
    int64_t own = 0;
    for (size_t i = 0; i < store->n; i++) {
        entry *item = &store->at[i];
        if (item->who == NULL || session_store_is_over(http->cx.conf, item, now_ns)) {
            session_store_drop(item);
            free_one = free_one == NULL ? item : free_one;
        } else if (item->owner == owner) {
            own++;
            oldest = oldest == NULL || item->used_ns < oldest->used_ns ? item : oldest;
        }
    }
    if (own < http->cx.conf->http_session_user_max) {
        if (free_one != NULL)
            return free_one;
        oldest = (int64_t)store->n >= http->cx.conf->http_session_max ? of_most(store) : NULL;
    }
    if (oldest != NULL) {
        session_store_drop(oldest);
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

static uint64_t session_store_owner_of(const struct alm_session_store *store,
                                       const alm_principal *who)
{
    const alm_str identity = alm_str_of(who->identity);
    return alm_hash_u128(alm_hash_bytes(identity.ptr, identity.len), store->seed);
}

/* like: of the session that it goes on with; NULL: a new one. */
static void session_store_begin(alm_http *http, alm_principal *who, alm_str token,
                                const entry *like)
{
    alm_net_shared *shared = shared_of(http);
    const struct alm_conf *conf = http->cx.conf;
    const alm_io *io = alm_io_posix();
    uint8_t random[ID];
    char text[ALM_TOKEN_TEXT + 1];
    if (!conf->http_server_cookies_enabled || io->random(io, random, sizeof random) < 0)
        return;
    const uint64_t owner = session_store_owner_of(shared->sessions, who);
    entry *item = session_store_place(http, shared->sessions, owner);
    alm_rest_token_text(random, text);
    text[1] = 's'; /* "qs1" */
    char *copy = token.ptr != NULL ? strndup(token.ptr, token.len) : NULL;
    if (item == NULL || (token.ptr != NULL && copy == NULL) ||
        !session_store_hash_of(alm_str_of(text), item->hash)) {
        alm_secret_free(copy);
        return;
    }
    item->life = like != NULL ? life_retain(like->life) : life_new(++shared->sessions->logins);
    if (item->life == NULL) {
        alm_secret_free(copy);
        return;
    }
    item->token = copy;
    item->who = alm_principal_retain(who);
    item->owner = owner;
    item->made_ns = item->used_ns = alm_monotonic_ns();
    item->until_ns = 0;
    item->seen = (alm_seen){0};
    if (like != NULL)
        memcpy(item->address, like->address, sizeof item->address);
    else
        alm_conn_peer(http->conn, item->address, sizeof item->address);
    int64_t age_ms = conf->http_session_timeout;
    if (conf->http_session_lifetime_max > 0)
        age_ms = ALM_MIN(age_ms, conf->http_session_lifetime_max -
                                     (item->made_ns - item->life->born_ns) / 1000000);
    alm_http_add_headers(
        http, "Set-Cookie: %s%s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=%lld\r\n",
        alm_http_session_cookie(http).ptr, text, alm_conn_has_tls(http->conn) ? " Secure;" : "",
        (long long)ALM_MAX(age_ms / 1000, (int64_t)0));
    OPENSSL_cleanse(text, sizeof text);
}

void alm_session_store_begin(alm_http *http, alm_principal *who, alm_str token)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    ALM_ASSERT(who->kind != ALM_PRINCIPAL_EXTERNAL || token.ptr != NULL);
    (void)pthread_mutex_lock(&store->lock);
    const entry *before = session_store_find(http);
    if (before != NULL)
        end_all(store, before->life->number);
    session_store_begin(http, who, token, NULL);
    (void)pthread_mutex_unlock(&store->lock);
}

static void used(alm_http *http)
{
    entry *item = session_store_find(http);
    const int64_t now_ns = alm_monotonic_ns();
    if (item == NULL || item->until_ns != 0)
        return;
    item->used_ns = now_ns;
    if (now_ns - item->made_ns < http->cx.conf->http_session_timeout * 1000000 / 2)
        return;
    item->until_ns = now_ns + OLD_NS;
    /* the list may move */
    alm_principal *who = alm_principal_retain(item->who);
    char *token = item->token != NULL ? strdup(item->token) : NULL;
    alm_cookie_life *life = life_retain(item->life);
    const entry like = *item;
    if (item->token == NULL || token != NULL)
        session_store_begin(http, who, token != NULL ? alm_str_of(token) : (alm_str){0}, &like);
    alm_cookie_release(life);
    alm_secret_free(token);
    alm_principal_release(who);
}

void alm_session_store_used(alm_http *http)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    used(http);
    (void)pthread_mutex_unlock(&store->lock);
}

bool alm_session_store_end(alm_http *http)
{
    struct alm_session_store *store = shared_of(http)->sessions;
    (void)pthread_mutex_lock(&store->lock);
    const entry *item = session_store_find(http);
    const bool is_there = item != NULL;
    if (is_there) /* the id before this one would be good for a moment still */
        end_all(store, item->life->number);
    (void)pthread_mutex_unlock(&store->lock);
    alm_http_add_headers(http, "Set-Cookie: %s; HttpOnly; Path=/; SameSite=Strict;%s Max-Age=0\r\n",
                         alm_http_session_cookie(http).ptr,
                         alm_conn_has_tls(http->conn) ? " Secure;" : "");
    return is_there;
}

/* ---------------------------------------------------------------- lists of sessions */

static alm_status session_store_list(void *arg,
                                     alm_status (*each)(void *row_arg, const alm_cookie *cookie),
                                     void *row_arg)
{
    struct alm_session_store *store = arg;
    const alm_io *io = alm_io_posix();
    const int64_t now_ns = alm_monotonic_ns(), wall_us = io->wall_ns(io) / 1000;
    const int64_t life_ns = store->conf->http_session_lifetime_max * 1000000;
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&store->lock);
    for (size_t i = 0; status == ALM_OK && i < store->n; i++) {
        const entry *item = &store->at[i];
        if (item->who == NULL || item->until_ns != 0 ||
            session_store_is_over(store->conf, item, now_ns))
            continue;
        int64_t end_ns = item->used_ns + store->conf->http_session_timeout * 1000000;
        if (life_ns > 0)
            end_ns = ALM_MIN(end_ns, item->life->born_ns + life_ns);
        const alm_cookie cookie = {.number = item->life->number,
                                   .who = item->who,
                                   .address = item->address,
                                   .begun_us = wall_us - (now_ns - item->life->born_ns) / 1000,
                                   .used_us = wall_us - (now_ns - item->used_ns) / 1000,
                                   .end_us = wall_us + (end_ns - now_ns) / 1000};
        status = each(row_arg, &cookie);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return status;
}

static void session_store_end(void *arg, uint64_t number)
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
    store->cookies =
        (alm_cookies){.arg = store, .list = session_store_list, .end = session_store_end};
    alm_db_cookies_by(db, &store->cookies);
}
