/* oidc_cache.c - entries by hash, and by last use (oidc_state.h). */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "auth/oidc_state.h"
#include "auth/token.h"
#include "base/hash.h"

bool alm_oidc_cache_init(alm_oidc_cache *cache)
{
    const bool known = alm_share_init(&cache->known, ALM_OIDC_KNOWN_MAX);
    return alm_share_init(&cache->past, ALM_OIDC_PAST_MAX) && known;
}

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

static alm_share *share_of(alm_oidc_cache *cache, alm_oidc_state state)
{
    return state == ALM_OIDC_IS_KNOWN  ? &cache->known
           : state == ALM_OIDC_IS_PAST ? &cache->past
                                       : NULL;
}

static void unlink_entry(alm_oidc_cache *cache, alm_oidc_entry *e)
{
    alm_oidc_list *list = &cache->lists[e->state];
    if (e->node.owner != NULL)
        alm_share_remove(share_of(cache, e->state), &e->node);
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
    if (share_of(cache, state) != NULL) {
        ALM_ASSERT(e->has_identity);
        alm_share_add(share_of(cache, state), &e->node, e->identity);
    }
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

static alm_oidc_entry *entry_of(alm_share_node *node)
{
    return (alm_oidc_entry *)(void *)((char *)node - offsetof(alm_oidc_entry, node));
}

static void keep_limits(alm_oidc_cache *cache)
{
    const alm_oidc_list *refused = &cache->lists[ALM_OIDC_IS_REFUSED];
    while (alm_share_is_over(&cache->known) ||
           (cache->bytes > ALM_OIDC_BYTES_MAX && cache->known.n > 1))
        alm_oidc_cache_leave(cache, entry_of(alm_share_victim(&cache->known)));
    while (refused->n > ALM_OIDC_REFUSED_MAX)
        alm_oidc_cache_leave(cache, refused->last);
}

static void set_principal(alm_oidc_cache *cache, alm_oidc_entry *e)
{
    cache->bytes -= e->bytes;
    e->bytes = e->who != NULL ? bytes_of(e->who) : 0;
    cache->bytes += e->bytes;
}

void alm_oidc_cache_move(alm_oidc_cache *cache, alm_oidc_entry *e, alm_oidc_state state)
{
    ALM_ASSERT(state != ALM_OIDC_IS_KNOWN || e->who != NULL);
    unlink_entry(cache, e);
    link_entry(cache, e, state);
    set_principal(cache, e);
    keep_limits(cache);
}

void alm_oidc_cache_leave(alm_oidc_cache *cache, alm_oidc_entry *e)
{
    ALM_ASSERT(e->waits == NULL);
    if (e->ropc || !e->has_identity) {
        alm_oidc_cache_drop(cache, e);
        return;
    }
    alm_principal_release(e->who);
    e->who = NULL;
    e->until_ns = 0;
    unlink_entry(cache, e);
    link_entry(cache, e, ALM_OIDC_IS_PAST);
    set_principal(cache, e);
    while (alm_share_is_over(&cache->past))
        alm_oidc_cache_drop(cache, entry_of(alm_share_victim(&cache->past)));
}

void alm_oidc_cache_clear(alm_oidc_cache *cache)
{
    static const alm_oidc_state answers[] = {ALM_OIDC_IS_KNOWN, ALM_OIDC_IS_REFUSED};
    for (alm_oidc_entry *e = cache->lists[ALM_OIDC_IS_PENDING].first; e != NULL; e = e->next)
        e->forgotten = true;
    for (size_t i = 0; i < ALM_COUNT(answers); i++)
        while (cache->lists[answers[i]].first != NULL)
            alm_oidc_cache_leave(cache, cache->lists[answers[i]].first);
}

void alm_oidc_cache_deinit(alm_oidc_cache *cache)
{
    alm_oidc_cache_clear(cache);
    while (cache->lists[ALM_OIDC_IS_PAST].first != NULL)
        alm_oidc_cache_drop(cache, cache->lists[ALM_OIDC_IS_PAST].first);
    ALM_ASSERT(cache->lists[ALM_OIDC_IS_PENDING].n == 0 && cache->lists[ALM_OIDC_IS_LOGOUT].n == 0);
    alm_share_deinit(&cache->known);
    alm_share_deinit(&cache->past);
}
