/*
 * map.c - hash map from text to pointer.
 */
#include "base/map.h"

#include "base/hash.h"

#include <stdlib.h>

enum { CAP_MIN = 16 };

void alm_map_init(alm_map *map, bool nocase)
{
    *map = (alm_map){.nocase = nocase};
}

void alm_map_deinit(alm_map *map)
{
    free(map->entries);
    alm_map_init(map, map->nocase);
}

static uint64_t base_map_hash_of(const alm_map *map, alm_str key)
{
    return map->nocase ? alm_hash_str_nocase(key) : alm_hash_str(key);
}

/* The entry of the key, or the free one where it belongs. cap > count. */
static alm_map_entry *base_map_locate(const alm_map *map, alm_str key, uint64_t hash)
{
    const size_t mask = map->cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        alm_map_entry *entry = &map->entries[i];
        if (entry->key.ptr == NULL)
            return entry;
        if (entry->hash == hash &&
            (map->nocase ? alm_str_ieq(entry->key, key) : alm_str_eq(entry->key, key)))
            return entry;
    }
}

void *alm_map_get(const alm_map *map, alm_str key)
{
    if (map->count == 0)
        return NULL;
    const alm_map_entry *entry = base_map_locate(map, key, base_map_hash_of(map, key));
    return entry->key.ptr == NULL ? NULL : entry->value;
}

static alm_status base_map_grow(alm_ctx *cx, alm_map *map)
{
    const size_t cap = map->cap == 0 ? CAP_MIN : map->cap * 2;
    alm_map bigger = {.cap = cap, .count = map->count, .nocase = map->nocase};
    bigger.entries = calloc(cap, sizeof(alm_map_entry));
    if (bigger.entries == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "the machine has no memory left for %zu map entries",
                        cap);
    for (size_t i = 0; i < map->cap; i++)
        if (map->entries[i].key.ptr != NULL)
            *base_map_locate(&bigger, map->entries[i].key, map->entries[i].hash) = map->entries[i];
    free(map->entries);
    *map = bigger;
    return ALM_OK;
}

alm_status alm_map_put(alm_ctx *cx, alm_map *map, alm_str key, void *value, void **old)
{
    if (key.ptr == NULL)
        key.ptr = ""; /* an empty text is a key; a null pointer marks free entries */
    if (4 * (map->count + 1) > 3 * map->cap)
        ALM_TRY(base_map_grow(cx, map));
    const uint64_t hash = base_map_hash_of(map, key);
    alm_map_entry *entry = base_map_locate(map, key, hash);
    if (old != NULL)
        *old = entry->key.ptr == NULL ? NULL : entry->value;
    map->count += entry->key.ptr == NULL;
    *entry = (alm_map_entry){.key = key, .hash = hash, .value = value};
    return ALM_OK;
}

void *alm_map_remove(alm_map *map, alm_str key)
{
    if (map->count == 0)
        return NULL;
    alm_map_entry *entry = base_map_locate(map, key, base_map_hash_of(map, key));
    if (entry->key.ptr == NULL)
        return NULL;
    void *value = entry->value;
    /* Entries behind move up when the gap lies between their home and them. */
    const size_t mask = map->cap - 1;
    size_t gap = (size_t)(entry - map->entries);
    for (size_t i = (gap + 1) & mask; map->entries[i].key.ptr != NULL; i = (i + 1) & mask) {
        const size_t home = map->entries[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            map->entries[gap] = map->entries[i];
            gap = i;
        }
    }
    map->entries[gap] = (alm_map_entry){0};
    map->count--;
    return value;
}

const alm_map_entry *alm_map_next(const alm_map *map, size_t *at)
{
    while (*at < map->cap) {
        const alm_map_entry *entry = &map->entries[(*at)++];
        if (entry->key.ptr != NULL)
            return entry;
    }
    return NULL;
}
