/*
 * bag.c - see bag.h. Open addressing with linear probing over indices, at most half full.
 */
#include "func/agg/bag.h"

#include "base/hash.h"

enum { SLOTS_MIN = 16 };

uint64_t alm_bag_text_hash(const alm_view *text)
{
    return alm_hash_str(alm_view_str(text, NULL));
}

static alm_status bag_grow_slots(const alm_call *call, alm_bag *bag)
{
    const uint32_t slots = bag->mask == 0 ? SLOTS_MIN : (bag->mask + 1) * 2;
    if (slots == 0 || slots > (UINT32_C(1) << 30))
        return alm_fail(call->cx, ALM_E_LIMIT, call->pos, "too many distinct values in %s",
                        call->fn->name);
    ALM_TRY(ALM_NEWN(call->cx, call->arena, slots, &bag->slots));
    bag->mask = slots - 1;
    for (uint32_t i = 0; i < bag->count; i++) {
        uint32_t place = (uint32_t)bag->entries[i].hash & bag->mask;
        while (bag->slots[place] != 0)
            place = (place + 1) & bag->mask;
        bag->slots[place] = i + 1;
    }
    return ALM_OK;
}

static alm_status grow_entries(const alm_call *call, alm_bag *bag)
{
    const uint32_t cap = bag->cap == 0 ? 4 : bag->cap * 2;
    alm_bag_entry *more = NULL;
    ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap * sizeof *more, &more));
    if (bag->count > 0)
        memcpy(more, bag->entries, bag->count * sizeof *more);
    bag->entries = more;
    bag->cap = cap;
    return ALM_OK;
}

static bool bag_same(const alm_bag_entry *entry, alm_bag_key key, uint64_t hash, bool is_text)
{
    if (entry->hash != hash)
        return false;
    if (!is_text)
        return entry->key.half[0] == key.half[0] && entry->key.half[1] == key.half[1];
    const alm_view a = alm_bag_text(entry->key), b = alm_bag_text(key);
    return alm_view_eq(&a, NULL, &b, NULL);
}

/* The entry of a key, new ones with count 0; *fresh says which. */
static alm_status bag_entry_of(const alm_call *call, alm_bag *bag, alm_bag_key key, uint64_t hash,
                               bool is_text, alm_bag_entry **out, bool *fresh)
{
    if (bag->count * 2 >= bag->mask)
        ALM_TRY(bag_grow_slots(call, bag));
    uint32_t place = (uint32_t)hash & bag->mask;
    for (; bag->slots[place] != 0; place = (place + 1) & bag->mask) {
        alm_bag_entry *entry = &bag->entries[bag->slots[place] - 1];
        if (bag_same(entry, key, hash, is_text)) {
            *out = entry;
            *fresh = false;
            return ALM_OK;
        }
    }
    if (bag->count == bag->cap)
        ALM_TRY(grow_entries(call, bag));
    bag->slots[place] = ++bag->count;
    *out = &bag->entries[bag->count - 1];
    **out = (alm_bag_entry){.key = key, .hash = hash};
    *fresh = true;
    return ALM_OK;
}

alm_status alm_bag_add(const alm_call *call, alm_bag *bag, alm_bag_key key, int64_t times)
{
    alm_bag_entry *entry;
    bool fresh;
    const uint64_t hash = alm_hash_u128(key.half[0], key.half[1]);
    ALM_TRY(bag_entry_of(call, bag, key, hash, false, &entry, &fresh));
    entry->count += times;
    return ALM_OK;
}

alm_status alm_bag_add_text(const alm_call *call, alm_bag *bag, const alm_view *text, uint64_t hash,
                            bool lasting, int64_t times)
{
    alm_bag_entry *entry;
    alm_bag_key key;
    bool fresh;
    memcpy(&key, text, sizeof key);
    ALM_TRY(bag_entry_of(call, bag, key, hash, true, &entry, &fresh));
    entry->count += times;
    if (fresh && !lasting && text->len > ALM_VIEW_INLINE) {
        alm_str copy = {0};
        ALM_TRY(alm_arena_copy(call->cx, call->arena, alm_view_str(text, NULL), &copy));
        const alm_view kept = alm_view_of(copy);
        memcpy(&entry->key, &kept, sizeof kept);
    }
    return ALM_OK;
}

alm_status alm_bag_join(const alm_call *call, alm_bag *to, const alm_bag *from, bool is_text)
{
    for (uint32_t i = 0; i < from->count; i++) {
        alm_bag_entry *entry;
        bool fresh;
        ALM_TRY(bag_entry_of(call, to, from->entries[i].key, from->entries[i].hash, is_text, &entry,
                             &fresh));
        entry->count += from->entries[i].count;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ columns */

static alm_bag *bag_at(void *bags, size_t stride, const uint32_t *group, size_t i)
{
    return (alm_bag *)(void *)((char *)bags + (group == NULL ? 0 : group[i] * stride));
}

/* One bag: rows per code first, then one entry per code. Many: hashes of the codes first. */
static alm_status bag_add_codes(const alm_call *call, void *bags, size_t stride,
                                const uint32_t *group, size_t n_rows, const alm_vec *vec)
{
    const alm_view *values = vec->dict->views;
    uint64_t *per_code = NULL;
    ALM_TRY(ALM_NEWN(call->cx, call->arena, vec->dict->count, &per_code));
    if (group == NULL) {
        for (size_t i = 0; i < n_rows; i++)
            per_code[alm_vec_code(vec, i)]++;
        /* in order of arrival, which is what the bag promises */
        for (size_t i = 0; i < n_rows; i++) {
            const uint32_t code = alm_vec_code(vec, i);
            if (code == 0 || per_code[code] == 0)
                continue;
            ALM_TRY(alm_bag_add_text(call, bags, &values[code], alm_bag_text_hash(&values[code]),
                                     true, (int64_t)per_code[code]));
            per_code[code] = 0;
        }
        return ALM_OK;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        if (code == 0)
            continue;
        if (per_code[code] == 0)
            per_code[code] = alm_bag_text_hash(&values[code]);
        ALM_TRY(alm_bag_add_text(call, bag_at(bags, stride, group, i), &values[code],
                                 per_code[code], true, 1));
    }
    return ALM_OK;
}

alm_status alm_bag_add_column(const alm_call *call, void *bags, size_t stride,
                              const uint32_t *group, size_t n_rows, const alm_vec *vec)
{
    if (vec->dict != NULL && !vec->is_const && vec->dict->count <= n_rows / 2)
        return bag_add_codes(call, bags, stride, group, n_rows, vec);
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(vec, i);
        if (text.ptr == NULL)
            continue;
        const alm_view view = alm_view_of(text);
        ALM_TRY(alm_bag_add_text(call, bag_at(bags, stride, group, i), &view,
                                 alm_bag_text_hash(&view), vec->dict != NULL, 1));
    }
    return ALM_OK;
}
