/* share.c - see share.h. Owners stand in lists by how many things they have; one more or less moves an owner to the list beside. */
#include "auth/share.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include <openssl/evp.h>

enum { BUCKETS = 1 << 12 };

struct alm_share_owner {
    uint8_t key[ALM_SHARE_KEY];
    alm_share_owner *chain;
    alm_share_owner *prev, *next; /* of those with as many */
    alm_share_node *first, *last; /* the newest, the oldest */
    size_t n;
};

/* Keys are hashes. */
static alm_share_owner **auth_share_bucket_of(const alm_share *share,
                                              const uint8_t key[ALM_SHARE_KEY])
{
    uint64_t hash = 0;
    memcpy(&hash, key, sizeof hash);
    return &share->buckets[hash % BUCKETS];
}

bool alm_share_init(alm_share *share, size_t limit)
{
    ALM_ASSERT(limit >= 2);
    *share = (alm_share){.limit = limit};
    share->by_count = calloc(limit + 2, sizeof(alm_share_owner *));
    share->last = calloc(limit + 2, sizeof(alm_share_owner *));
    share->buckets = calloc(BUCKETS, sizeof(alm_share_owner *));
    share->spare = calloc(1, sizeof(alm_share_owner));
    return share->by_count != NULL && share->last != NULL && share->buckets != NULL &&
           share->spare != NULL;
}

void alm_share_deinit(alm_share *share)
{
    ALM_ASSERT(share->n == 0 && share->most == 0);
    free(share->by_count);
    free(share->last);
    free(share->buckets);
    free(share->spare);
    *share = (alm_share){.n = 0};
}

/* -------------------------------------------------------------------- owners by count */

static void link_owner(alm_share *share, alm_share_owner *owner)
{
    ALM_ASSERT(owner->n <= share->limit + 1);
    alm_share_owner **first = &share->by_count[owner->n];
    owner->prev = NULL;
    owner->next = *first;
    if (owner->next != NULL)
        owner->next->prev = owner;
    else
        share->last[owner->n] = owner;
    *first = owner;
    share->most = ALM_MAX(share->most, owner->n);
}

static void unlink_owner(alm_share *share, alm_share_owner *owner)
{
    if (owner->prev != NULL)
        owner->prev->next = owner->next;
    else
        share->by_count[owner->n] = owner->next;
    if (owner->next != NULL)
        owner->next->prev = owner->prev;
    else
        share->last[owner->n] = owner->prev;
    owner->prev = owner->next = NULL;
}

static void find_most(alm_share *share)
{
    while (share->most > 0 && share->by_count[share->most] == NULL)
        share->most--;
}

static alm_share_owner *auth_share_owner_of(alm_share *share, const uint8_t key[ALM_SHARE_KEY])
{
    alm_share_owner **bucket = auth_share_bucket_of(share, key), *owner = *bucket;
    while (owner != NULL && memcmp(owner->key, key, ALM_SHARE_KEY) != 0)
        owner = owner->chain;
    if (owner != NULL)
        return owner;
    owner = calloc(1, sizeof *owner);
    if (owner == NULL)
        return share->spare;
    memcpy(owner->key, key, ALM_SHARE_KEY);
    owner->chain = *bucket;
    *bucket = owner;
    return owner;
}

static void free_owner(alm_share *share, alm_share_owner *owner)
{
    ALM_ASSERT(owner->n == 0 && owner->first == NULL && owner->last == NULL);
    if (owner == share->spare)
        return;
    alm_share_owner **at = auth_share_bucket_of(share, owner->key);
    while (*at != owner)
        at = &(*at)->chain;
    *at = owner->chain;
    free(owner);
}

/* ----------------------------------------------------------------------------- things */

static void auth_share_push(alm_share_owner *owner, alm_share_node *node)
{
    node->newer = NULL;
    node->older = owner->first;
    if (owner->first != NULL)
        owner->first->newer = node;
    else
        owner->last = node;
    owner->first = node;
}

static void pull(alm_share_owner *owner, alm_share_node *node)
{
    if (node->newer != NULL)
        node->newer->older = node->older;
    else
        owner->first = node->older;
    if (node->older != NULL)
        node->older->newer = node->newer;
    else
        owner->last = node->newer;
    node->newer = node->older = NULL;
}

void alm_share_key_of(alm_str text, uint8_t key[ALM_SHARE_KEY])
{
    const int done = EVP_Q_digest(NULL, "SHA256", NULL, text.ptr, text.len, key, NULL);
    ALM_ASSERT(done == 1);
}

void alm_share_key_of_address(const char *address, uint8_t key[ALM_SHARE_KEY])
{
    enum { NETWORK_BYTES = 8 };
    struct in6_addr parsed;
    const bool v6 = inet_pton(AF_INET6, address, &parsed) == 1;
    alm_share_key_of(
        v6 ? (alm_str){(const char *)parsed.s6_addr, NETWORK_BYTES} : alm_str_of(address), key);
}

void alm_share_add(alm_share *share, alm_share_node *node, const uint8_t owner[ALM_SHARE_KEY])
{
    ALM_ASSERT(node->owner == NULL && share->n <= share->limit);
    alm_share_owner *share_owner = auth_share_owner_of(share, owner);
    if (share_owner->n > 0)
        unlink_owner(share, share_owner);
    auth_share_push(share_owner, node);
    node->owner = share_owner;
    share_owner->n++;
    share->n++;
    link_owner(share, share_owner);
}

void alm_share_used(alm_share *share, alm_share_node *node)
{
    alm_share_owner *owner = node->owner;
    ALM_ASSERT(owner != NULL);
    pull(owner, node);
    auth_share_push(owner, node);
    unlink_owner(share, owner);
    link_owner(share, owner);
}

void alm_share_remove(alm_share *share, alm_share_node *node)
{
    alm_share_owner *owner = node->owner;
    ALM_ASSERT(owner != NULL && owner->n > 0 && share->n > 0);
    unlink_owner(share, owner);
    pull(owner, node);
    node->owner = NULL;
    owner->n--;
    share->n--;
    if (owner->n > 0)
        link_owner(share, owner);
    else
        free_owner(share, owner);
    find_most(share);
}

alm_share_node *alm_share_victim(const alm_share *share)
{
    if (share->n == 0)
        return NULL;
    ALM_ASSERT(share->most > 0 && share->last[share->most] != NULL);
    return share->last[share->most]->last;
}

const uint8_t *alm_share_key(const alm_share_node *node)
{
    ALM_ASSERT(node->owner != NULL);
    return node->owner->key;
}
