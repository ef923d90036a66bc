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
static alm_share_owner **bucket_of(const alm_share *share, const uint8_t key[ALM_SHARE_KEY])
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

static void link_owner(alm_share *share, alm_share_owner *o)
{
    ALM_ASSERT(o->n <= share->limit + 1);
    alm_share_owner **first = &share->by_count[o->n];
    o->prev = NULL;
    o->next = *first;
    if (o->next != NULL)
        o->next->prev = o;
    else
        share->last[o->n] = o;
    *first = o;
    share->most = ALM_MAX(share->most, o->n);
}

static void unlink_owner(alm_share *share, alm_share_owner *o)
{
    if (o->prev != NULL)
        o->prev->next = o->next;
    else
        share->by_count[o->n] = o->next;
    if (o->next != NULL)
        o->next->prev = o->prev;
    else
        share->last[o->n] = o->prev;
    o->prev = o->next = NULL;
}

static void find_most(alm_share *share)
{
    while (share->most > 0 && share->by_count[share->most] == NULL)
        share->most--;
}

static alm_share_owner *owner_of(alm_share *share, const uint8_t key[ALM_SHARE_KEY])
{
    alm_share_owner **bucket = bucket_of(share, key), *o = *bucket;
    while (o != NULL && memcmp(o->key, key, ALM_SHARE_KEY) != 0)
        o = o->chain;
    if (o != NULL)
        return o;
    o = calloc(1, sizeof *o);
    if (o == NULL)
        return share->spare;
    memcpy(o->key, key, ALM_SHARE_KEY);
    o->chain = *bucket;
    *bucket = o;
    return o;
}

static void free_owner(alm_share *share, alm_share_owner *o)
{
    ALM_ASSERT(o->n == 0 && o->first == NULL && o->last == NULL);
    if (o == share->spare)
        return;
    alm_share_owner **at = bucket_of(share, o->key);
    while (*at != o)
        at = &(*at)->chain;
    *at = o->chain;
    free(o);
}

/* ----------------------------------------------------------------------------- things */

static void push(alm_share_owner *o, alm_share_node *node)
{
    node->newer = NULL;
    node->older = o->first;
    if (o->first != NULL)
        o->first->newer = node;
    else
        o->last = node;
    o->first = node;
}

static void pull(alm_share_owner *o, alm_share_node *node)
{
    if (node->newer != NULL)
        node->newer->older = node->older;
    else
        o->first = node->older;
    if (node->older != NULL)
        node->older->newer = node->newer;
    else
        o->last = node->newer;
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
    alm_share_owner *o = owner_of(share, owner);
    if (o->n > 0)
        unlink_owner(share, o);
    push(o, node);
    node->owner = o;
    o->n++;
    share->n++;
    link_owner(share, o);
}

void alm_share_used(alm_share *share, alm_share_node *node)
{
    alm_share_owner *o = node->owner;
    ALM_ASSERT(o != NULL);
    pull(o, node);
    push(o, node);
    unlink_owner(share, o);
    link_owner(share, o);
}

void alm_share_remove(alm_share *share, alm_share_node *node)
{
    alm_share_owner *o = node->owner;
    ALM_ASSERT(o != NULL && o->n > 0 && share->n > 0);
    unlink_owner(share, o);
    pull(o, node);
    node->owner = NULL;
    o->n--;
    share->n--;
    if (o->n > 0)
        link_owner(share, o);
    else
        free_owner(share, o);
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
