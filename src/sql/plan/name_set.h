/*
 * name_set.h - names of one list by hash, ASCII letters without case: duplicates and look-ups in statements of many names.
 * Private to sql/. Names are borrowed; memory is the arena's, twice the names at most. One thread.
 */
#ifndef ALM_SQL_NAME_SET_H
#define ALM_SQL_NAME_SET_H

#include "base/base.h"

typedef struct alm_name_entry {
    alm_str name;
    uint32_t hash;
    uint32_t number; /* as it was added; an entry without a name is free */
} alm_name_entry;

typedef struct alm_name_set { /* zero: empty */
    alm_name_entry *entries;
    uint32_t cap, n;
} alm_name_set;

enum { ALM_NAME_NONE = UINT32_MAX };

/* The number that a name was added with; ALM_NAME_NONE: it is not there. */
uint32_t alm_name_set_find(const alm_name_set *set, alm_str name);
/* *had: what alm_name_set_find gives before; a name that is there keeps its number. */
ALM_NODISCARD alm_status alm_name_set_add(alm_ctx *cx, alm_name_set *set, alm_str name,
                                          uint32_t number, uint32_t *had);

#endif
