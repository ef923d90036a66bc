/*
 * map.h - hash map from text to pointer: tables by name, zones, statements, settings.
 *
 * Open addressing with linear probing, at most 3/4 full; removal shifts entries back, so there are
 * no tombstones. Keys are borrowed: they must live as long as the entry. Heap memory (malloc).
 * Threads     as any plain struct: readers together, or one writer.
 */
#ifndef ALM_BASE_MAP_H
#define ALM_BASE_MAP_H

#include "base/base.h"

typedef struct alm_map_entry {
    alm_str key; /* ptr NULL: free */
    uint64_t hash;
    void *value;
} alm_map_entry;

typedef struct alm_map {
    alm_map_entry *entries;
    size_t cap; /* a power of two, or 0 */
    size_t count;
    bool nocase; /* ASCII letters without case */
} alm_map;

void alm_map_init(alm_map *map, bool nocase);
void alm_map_deinit(alm_map *map);
/* NULL: not there (values should not be NULL). */
void *alm_map_get(const alm_map *map, alm_str key);
/* Adds or replaces; *old (may be NULL) receives the value replaced, else NULL. The key of an entry
 * that is replaced is replaced too. */
ALM_NODISCARD alm_status alm_map_put(alm_ctx *cx, alm_map *map, alm_str key, void *value,
                                     void **old);
/* Returns the value that was there, or NULL. */
void *alm_map_remove(alm_map *map, alm_str key);
/* for (size_t at = 0; (e = alm_map_next(map, &at)) != NULL;) ... in no order. */
const alm_map_entry *alm_map_next(const alm_map *map, size_t *at);

#endif
