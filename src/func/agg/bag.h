/*
 * bag.h - values of an aggregate's state with how often each came, in order of arrival.
 *
 * Keys        16 bytes: fixed-width values zero filled, texts as views in address form. The bag keeps
 *             its own copy of long texts, unless they last as long as the states (dictionaries).
 * Memory      From the arena of the aggregate; growing leaves the old arrays behind, at most as much
 *             again. A zeroed bag is an empty one and costs nothing.
 */
#ifndef ALM_FUNC_BAG_H
#define ALM_FUNC_BAG_H

#include "func/registry.h"

typedef struct alm_bag_key {
    uint64_t half[2];
} alm_bag_key;

typedef struct alm_bag_entry {
    alm_bag_key key;
    uint64_t hash;
    int64_t count;
} alm_bag_entry;

typedef struct alm_bag {
    alm_bag_entry *entries;
    uint32_t *slots; /* 1 + index into entries, 0: free */
    uint32_t count, cap;
    uint32_t mask;
} alm_bag;

static inline alm_view alm_bag_text(alm_bag_key key)
{
    alm_view view;
    memcpy(&view, &key, sizeof view);
    return view;
}

/* `times` more of a text that is not null. lasting: no copy is needed. */
ALM_NODISCARD alm_status alm_bag_add_text(const alm_call *call, alm_bag *bag, const alm_view *text,
                                          uint64_t hash, bool lasting, int64_t times);
ALM_NODISCARD alm_status alm_bag_add(const alm_call *call, alm_bag *bag, alm_bag_key key,
                                     int64_t times);
uint64_t alm_bag_text_hash(const alm_view *text);
/* All of `from` behind what is in `to`; texts are taken over. */
ALM_NODISCARD alm_status alm_bag_join(const alm_call *call, alm_bag *to, const alm_bag *from,
                                      bool is_text);

/*
 * Rows of a text column into bags: bags[group[i] * stride bytes], or one bag where group is NULL.
 * Nulls are skipped. Codes are hashed once per distinct value where that pays.
 */
ALM_NODISCARD alm_status alm_bag_add_column(const alm_call *call, void *bags, size_t stride,
                                            const uint32_t *group, size_t n_rows,
                                            const alm_vec *vec);

#endif
