/* name_set.c - see name_set.h: open addressing with linear probing, at most half full. */
#include "sql/plan/name_set.h"

enum { CAP_LEAST = 16 };

static uint32_t hash_of(alm_str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++) {
        const uint8_t c = (uint8_t)s.ptr[i];
        h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20u : c)) * 16777619u;
    }
    return h;
}

/* The entry of the name, or the free one where it belongs. */
static alm_name_entry *entry_of(const alm_name_set *set, alm_str name, uint32_t hash)
{
    ALM_DASSERT(set->n < set->cap);
    for (uint32_t i = hash & (set->cap - 1);; i = (i + 1) & (set->cap - 1)) {
        alm_name_entry *e = &set->entries[i];
        if (e->name.ptr == NULL || (e->hash == hash && alm_str_ieq(e->name, name)))
            return e;
    }
}

static alm_status grow(alm_ctx *cx, alm_name_set *set)
{
    alm_name_set more = {.cap = set->cap == 0 ? CAP_LEAST : 2 * set->cap, .n = set->n};
    ALM_TRY(ALM_NEWN(cx, cx->arena, more.cap, &more.entries));
    for (uint32_t i = 0; i < set->cap; i++)
        if (set->entries[i].name.ptr != NULL)
            *entry_of(&more, set->entries[i].name, set->entries[i].hash) = set->entries[i];
    *set = more;
    return ALM_OK;
}

uint32_t alm_name_set_find(const alm_name_set *set, alm_str name)
{
    if (set->n == 0)
        return ALM_NAME_NONE;
    const alm_name_entry *e = entry_of(set, name, hash_of(name));
    return e->name.ptr != NULL ? e->number : ALM_NAME_NONE;
}

alm_status alm_name_set_add(alm_ctx *cx, alm_name_set *set, alm_str name, uint32_t number,
                            uint32_t *had)
{
    ALM_ASSERT(number != ALM_NAME_NONE);
    if (2 * set->n >= set->cap)
        ALM_TRY(grow(cx, set));
    if (name.ptr == NULL)
        name.ptr = "";
    const uint32_t hash = hash_of(name);
    alm_name_entry *e = entry_of(set, name, hash);
    *had = e->name.ptr != NULL ? e->number : ALM_NAME_NONE;
    if (*had != ALM_NAME_NONE)
        return ALM_OK;
    *e = (alm_name_entry){.name = name, .hash = hash, .number = number};
    set->n++;
    return ALM_OK;
}
