/*
 * permission.h - the table of permissions (permission.def) and sets of them.
 *
 * Null rule   A number is 1 to ALM_PERMISSION_MAX; 0: there is no such permission.
 * Threads     Pure.
 */
#ifndef ALM_AUTH_PERMISSION_H
#define ALM_AUTH_PERMISSION_H

#include "base/base.h"

enum { ALM_PERMISSION_MAX = 126 };
/* No permission, but a mark in the set of a grant: it was given with what it is on, to the owner. No GRANT and no REVOKE changes it. */
enum { ALM_GRANT_OF_OWNER = ALM_PERMISSION_MAX + 1 };

/* The lowest level on which a permission can be granted; those above it are possible too. */
typedef enum alm_level { ALM_LEVEL_D, ALM_LEVEL_T, ALM_LEVEL_C } alm_level;

typedef struct alm_permission {
    uint8_t number;
    const char *name;
    alm_level level;
    const char *doc;
} alm_permission;

size_t alm_permission_count(void);
const alm_permission *alm_permission_at(size_t i);
/* By name, without case, one blank between words; NULL: there is none. */
const alm_permission *alm_permission_find(alm_str name);
const alm_permission *alm_permission_by_number(uint8_t number); /* NULL: there is none */
const char *alm_level_name(alm_level level);                    /* "Database | Table | Column" */

typedef struct alm_permission_set {
    uint64_t word[2];
} alm_permission_set;

static inline bool alm_permission_in(const alm_permission_set *set, uint8_t number)
{
    return (set->word[number >> 6] >> (number & 63) & 1) != 0;
}
static inline void alm_permission_put(alm_permission_set *set, uint8_t number)
{
    set->word[number >> 6] |= UINT64_C(1) << (number & 63);
}
static inline void alm_permission_take(alm_permission_set *set, uint8_t number)
{
    set->word[number >> 6] &= ~(UINT64_C(1) << (number & 63));
}
static inline bool alm_permission_none(const alm_permission_set *set)
{
    return (set->word[0] | set->word[1]) == 0;
}

#endif
