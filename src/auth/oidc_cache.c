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
static alm_oidc_entry **oidc_cache_bucket_of(alm_oidc_cache *cache,
                                             const uint8_t key[ALM_OIDC_HASH])
{
    uint64_t a = 0, b = 0;
    memcpy(&a, key, sizeof a);
    memcpy(&b, key + sizeof a, sizeof b);
    return &cache->buckets[alm_hash_u128(a ^ cache->seed, b) % ALM_OIDC_BUCKETS];
}

alm_oidc_entry *alm_oidc_cache_find(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH])
{
    alm_oidc_entry *entry = *oidc_cache_bucket_of(cache, key);
    while (entry != NULL && CRYPTO_memcmp(entry->key, key, ALM_OIDC_HASH) != 0)
        entry = entry->chain;
    return entry;
}

/* ---------------------------------------------------------------------------- lists */

static alm_share *share_of(alm_oidc_cache *cache, alm_oidc_state state)
{
    return state == ALM_OIDC_IS_KNOWN  ? &cache->known
           : state == ALM_OIDC_IS_PAST ? &cache->past
                                       : NULL;
}

static void unlink_entry(alm_oidc_cache *cache, alm_oidc_entry *entry)
{
    alm_oidc_list *list = &cache->lists[entry->state];
    if (entry->node.owner != NULL)
        alm_share_remove(share_of(cache, entry->state), &entry->node);
    if (entry->prev != NULL)
        entry->prev->next = entry->next;
    else
        list->first = entry->next;
    if (entry->next != NULL)
        entry->next->prev = entry->prev;
    else
        list->last = entry->prev;
    entry->prev = entry->next = NULL;
    list->n--;
}

static void link_entry(alm_oidc_cache *cache, alm_oidc_entry *entry, alm_oidc_state state)
{
    alm_oidc_list *list = &cache->lists[state];
    entry->state = state;
    entry->next = list->first;
    if (list->first != NULL)
        list->first->prev = entry;
    else
        list->last = entry;
    list->first = entry;
    list->n++;
    if (share_of(cache, state) != NULL) {
        ALM_ASSERT(entry->has_identity);
        alm_share_add(share_of(cache, state), &entry->node, entry->identity);
    }
}

static size_t oidc_cache_bytes_of(const alm_principal *who)
{
    size_t bytes = sizeof *who + strlen(who->name) + 1;
    for (uint32_t i = 0; i < who->n_groups; i++)
        bytes += sizeof(char *) + sizeof(uint64_t) + sizeof(uint32_t) + strlen(who->groups[i]) + 1;
    return bytes;
}

alm_oidc_entry *alm_oidc_cache_add(alm_oidc_cache *cache, const uint8_t key[ALM_OIDC_HASH])
{
    alm_oidc_entry **bucket = oidc_cache_bucket_of(cache, key);
    alm_oidc_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    memcpy(entry->key, key, ALM_OIDC_HASH);
    for (size_t i = 0; i < 4; i++) {
        entry->id[2 * i] = "0123456789abcdef"[key[i] >> 4];
        entry->id[2 * i + 1] = "0123456789abcdef"[key[i] & 15];
    }
    entry->chain = *bucket;
    *bucket = entry;
    link_entry(cache, entry, ALM_OIDC_IS_PENDING);
    return entry;
}

void alm_oidc_cache_drop(alm_oidc_cache *cache, alm_oidc_entry *entry)
{
    alm_oidc_entry **at = oidc_cache_bucket_of(cache, entry->key);
    ALM_ASSERT(entry->waits == NULL);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    unlink_entry(cache, entry);
    cache->bytes -= entry->bytes;
    alm_principal_release(entry->who);
    alm_secret_free(entry->secret);
    free(entry);
}

static alm_oidc_entry *oidc_cache_entry_of(alm_share_node *node)
{
    return (alm_oidc_entry *)(void *)((char *)node - offsetof(alm_oidc_entry, node));
}

static void keep_limits(alm_oidc_cache *cache)
{
    const alm_oidc_list *refused = &cache->lists[ALM_OIDC_IS_REFUSED];
    while (alm_share_is_over(&cache->known) ||
           (cache->bytes > ALM_OIDC_BYTES_MAX && cache->known.n > 1))
        alm_oidc_cache_leave(cache, oidc_cache_entry_of(alm_share_victim(&cache->known)));
    while (refused->n > ALM_OIDC_REFUSED_MAX)
        alm_oidc_cache_leave(cache, refused->last);
}

static void set_principal(alm_oidc_cache *cache, alm_oidc_entry *entry)
{
    cache->bytes -= entry->bytes;
    entry->bytes = entry->who != NULL ? oidc_cache_bytes_of(entry->who) : 0;
    cache->bytes += entry->bytes;
}

void alm_oidc_cache_move(alm_oidc_cache *cache, alm_oidc_entry *entry, alm_oidc_state state)
{
    ALM_ASSERT(state != ALM_OIDC_IS_KNOWN || entry->who != NULL);
    unlink_entry(cache, entry);
    link_entry(cache, entry, state);
    set_principal(cache, entry);
    keep_limits(cache);
}

void alm_oidc_cache_leave(alm_oidc_cache *cache, alm_oidc_entry *entry)
{
    ALM_ASSERT(entry->waits == NULL);
    if (entry->ropc || !entry->has_identity) {
        alm_oidc_cache_drop(cache, entry);
        return;
    }
    alm_principal_release(entry->who);
    entry->who = NULL;
    entry->until_ns = 0;
    unlink_entry(cache, entry);
    link_entry(cache, entry, ALM_OIDC_IS_PAST);
    set_principal(cache, entry);
    while (alm_share_is_over(&cache->past))
        alm_oidc_cache_drop(cache, oidc_cache_entry_of(alm_share_victim(&cache->past)));
}

void alm_oidc_cache_clear(alm_oidc_cache *cache)
{
    static const alm_oidc_state answers[] = {ALM_OIDC_IS_KNOWN, ALM_OIDC_IS_REFUSED};
    for (alm_oidc_entry *entry = cache->lists[ALM_OIDC_IS_PENDING].first; entry != NULL;
         entry = entry->next)
        entry->forgotten = true;
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
