/* oidc_cache.c - entries by hash, and by last use (oidc_state.h). */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "auth/oidc_state.h"
#include "auth/token.h"
#include "base/hash.h"

static const size_t LIMITS[ALM_OIDC_STATES] = {
    [ALM_OIDC_IS_PENDING] = SIZE_MAX, /* who adds one has looked */
    [ALM_OIDC_IS_KNOWN] = ALM_OIDC_KNOWN_MAX,
    [ALM_OIDC_IS_REFUSED] = ALM_OIDC_REFUSED_MAX,
    [ALM_OIDC_IS_ENDED] = ALM_OIDC_ENDED_MAX,
};

/* By a seed of the process: nobody can choose tokens that fall into one bucket. */
static alm_oidc_entry **bucket_of(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH])
{
    uint64_t a = 0, b = 0;
    memcpy(&a, key, sizeof a);
    memcpy(&b, key + sizeof a, sizeof b);
    return &cache->buckets[alm_hash_u128(a ^ cache->seed, b) % ALM_OIDC_BUCKETS];
}

alm_oidc_entry *alm_oidc_cache_find(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH])
{
    alm_oidc_entry *e = *bucket_of(cache, key);
    while (e != NULL && CRYPTO_memcmp(e->key, key, ALM_OIDC_HASH) != 0)
        e = e->chain;
    return e;
}

/* ---------------------------------------------------------------------------- lists */

static void unlink_entry(alm_oidc_cache *cache, alm_oidc_entry *e)
{
    alm_oidc_list *list = &cache->lists[e->state];
    if (e->prev != NULL)
        e->prev->next = e->next;
    else
        list->first = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    else
        list->last = e->prev;
    e->prev = e->next = NULL;
    list->n--;
}

static void link_entry(alm_oidc_cache *cache, alm_oidc_entry *e, alm_oidc_state state)
{
    alm_oidc_list *list = &cache->lists[state];
    e->state = state;
    e->next = list->first;
    if (list->first != NULL)
        list->first->prev = e;
    else
        list->last = e;
    list->first = e;
    list->n++;
}

static size_t bytes_of(const alm_principal *who)
{
    size_t bytes = sizeof *who + strlen(who->name) + 1;
    for (uint32_t i = 0; i < who->n_groups; i++)
        bytes += sizeof(char *) + sizeof(uint64_t) + sizeof(uint32_t) + strlen(who->groups[i]) + 1;
    return bytes;
}

alm_oidc_entry *alm_oidc_cache_add(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH])
{
    alm_oidc_entry **bucket = bucket_of(cache, key);
    alm_oidc_entry *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    memcpy(e->key, key, ALM_OIDC_HASH);
    for (size_t i = 0; i < 4; i++) {
        e->id[2 * i] = "0123456789abcdef"[key[i] >> 4];
        e->id[2 * i + 1] = "0123456789abcdef"[key[i] & 15];
    }
    e->chain = *bucket;
    *bucket = e;
    link_entry(cache, e, ALM_OIDC_IS_PENDING);
    return e;
}

void alm_oidc_cache_drop(alm_oidc_cache *cache, alm_oidc_entry *e)
{
    alm_oidc_entry **at = bucket_of(cache, e->key);
    ALM_ASSERT(e->waits == NULL);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_entry(cache, e);
    cache->bytes -= e->bytes;
    alm_principal_release(e->who);
    alm_secret_free(e->secret);
    free(e);
}

void alm_oidc_cache_move(alm_oidc_cache *cache, alm_oidc_entry *e, alm_oidc_state state)
{
    alm_oidc_list *known = &cache->lists[ALM_OIDC_IS_KNOWN];
    unlink_entry(cache, e);
    link_entry(cache, e, state);
    cache->bytes -= e->bytes;
    e->bytes = e->who != NULL ? bytes_of(e->who) : 0;
    cache->bytes += e->bytes;
    while (cache->lists[state].n > LIMITS[state])
        alm_oidc_cache_drop(cache, cache->lists[state].last);
    while (cache->bytes > ALM_OIDC_BYTES_MAX && known->last != NULL && known->last != e)
        alm_oidc_cache_drop(cache, known->last);
}

void alm_oidc_cache_clear(alm_oidc_cache *cache)
{
    for (alm_oidc_entry *e = cache->lists[ALM_OIDC_IS_PENDING].first; e != NULL; e = e->next)
        e->forgotten = true;
    while (cache->lists[ALM_OIDC_IS_KNOWN].first != NULL)
        alm_oidc_cache_drop(cache, cache->lists[ALM_OIDC_IS_KNOWN].first);
    while (cache->lists[ALM_OIDC_IS_REFUSED].first != NULL)
        alm_oidc_cache_drop(cache, cache->lists[ALM_OIDC_IS_REFUSED].first);
}

void alm_oidc_cache_deinit(alm_oidc_cache *cache)
{
    alm_oidc_cache_clear(cache);
    while (cache->lists[ALM_OIDC_IS_ENDED].first != NULL)
        alm_oidc_cache_drop(cache, cache->lists[ALM_OIDC_IS_ENDED].first);
    ALM_ASSERT(cache->lists[ALM_OIDC_IS_PENDING].n == 0);
}
