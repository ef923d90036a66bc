/* name_set.c - see name_set.h: open addressing with linear probing, at most half full. */
#include "sql/plan/name_set.h"

enum { CAP_LEAST = 16 };

static uint32_t name_set_hash_of(alm_str text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++) {
        const uint8_t byte = (uint8_t)text.ptr[i];
        hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte | 0x20u : byte)) * 16777619u;
    }
    return hash;
}

/* The entry of the name, or the free one where it belongs. */
static alm_name_entry *name_set_entry_of(const alm_name_set *set, alm_str name, uint32_t hash)
{
    ALM_DASSERT(set->n < set->cap);
    for (uint32_t i = hash & (set->cap - 1);; i = (i + 1) & (set->cap - 1)) {
        alm_name_entry *entry = &set->entries[i];
        if (entry->name.ptr == NULL || (entry->hash == hash && alm_str_ieq(entry->name, name)))
            return entry;
    }
}

static alm_status name_set_grow(alm_ctx *cx, alm_name_set *set)
{
    alm_name_set more = {.cap = set->cap == 0 ? CAP_LEAST : 2 * set->cap, .n = set->n};
    ALM_TRY(ALM_NEWN(cx, cx->arena, more.cap, &more.entries));
    for (uint32_t i = 0; i < set->cap; i++)
        if (set->entries[i].name.ptr != NULL)
            *name_set_entry_of(&more, set->entries[i].name, set->entries[i].hash) = set->entries[i];
    *set = more;
    return ALM_OK;
}

uint32_t alm_name_set_find(const alm_name_set *set, alm_str name)
{
    if (set->n == 0)
        return ALM_NAME_NONE;
    const alm_name_entry *entry = name_set_entry_of(set, name, name_set_hash_of(name));
    return entry->name.ptr != NULL ? entry->number : ALM_NAME_NONE;
}

alm_status alm_name_set_add(alm_ctx *cx, alm_name_set *set, alm_str name, uint32_t number,
                            uint32_t *had)
{
    ALM_ASSERT(number != ALM_NAME_NONE);
    if (2 * set->n >= set->cap)
        ALM_TRY(name_set_grow(cx, set));
    if (name.ptr == NULL)
        name.ptr = "";
    const uint32_t hash = name_set_hash_of(name);
    alm_name_entry *entry = name_set_entry_of(set, name, hash);
    *had = entry->name.ptr != NULL ? entry->number : ALM_NAME_NONE;
    if (*had != ALM_NAME_NONE)
        return ALM_OK;
    *entry = (alm_name_entry){.name = name, .hash = hash, .number = number};
    set->n++;
    return ALM_OK;
}
