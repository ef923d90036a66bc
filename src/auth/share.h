/*
 * share.h - limited places that are taken for somebody: where all are taken, who has most gives the one that he used least lately,
 * so that nobody drives out what is of others.
 *
 * Owner       32 bytes (a hash of who it is). Things of one owner stand in the order of their use.
 * Memory      An owner is allocated with his first thing and freed with his last. Without memory for that the thing counts for an
 *             owner that all such have together.
 * Threads     None of its own: the lock is the caller's.
 * Cost        Constant for each call, whatever there is.
 */
#ifndef ALM_AUTH_SHARE_H
#define ALM_AUTH_SHARE_H

#include "base/base.h"

enum { ALM_SHARE_KEY = 32 };

typedef struct alm_share_owner alm_share_owner;

/* Embedded in the thing. owner NULL: it is in no share. */
typedef struct alm_share_node {
    alm_share_owner *owner;
    struct alm_share_node *newer, *older;
} alm_share_node;

typedef struct alm_share {
    size_t limit, n;
    size_t most;                /* that one owner has; 0: there is nothing */
    alm_share_owner **by_count; /* who has so many; the one that was used last in front */
    alm_share_owner **last;     /* the other end of each */
    alm_share_owner **buckets;
    alm_share_owner *spare;
} alm_share;

/* False: no memory; alm_share_deinit is right then, too. */
bool alm_share_init(alm_share *share, size_t limit);
/* Nothing may be in it. */
void alm_share_deinit(alm_share *share);

/* The key of an owner who is known by a text: no text can be found that has the key of another. */
void alm_share_key_of(alm_str text, uint8_t key[ALM_SHARE_KEY]);
/* The same of an address of a client: of IPv6 its network of 64 bits, whose holder has as many addresses as he likes. */
void alm_share_key_of_address(const char *address, uint8_t key[ALM_SHARE_KEY]);
/* The newest of its owner. One above the limit may be there, until the caller has taken out the victim. */
void alm_share_add(alm_share *share, alm_share_node *node, const uint8_t owner[ALM_SHARE_KEY]);
void alm_share_used(alm_share *share, alm_share_node *node);
void alm_share_remove(alm_share *share, alm_share_node *node);
static inline bool alm_share_is_over(const alm_share *share)
{
    return share->n > share->limit;
}
/* What goes next: of who has most, what he used least lately. NULL: there is nothing. */
alm_share_node *alm_share_victim(const alm_share *share);
const uint8_t *alm_share_key(const alm_share_node *node);

#endif
