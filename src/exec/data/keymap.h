/*
 * keymap.h - numbers for keys: equal key rows get equal numbers, counted from 0 in order of first
 * appearance. For GROUP BY, DISTINCT, SAMPLE BY, LATEST ON, joins and windows by arbitrary keys.
 *
 * Keys        Null equals null; -0.0 equals 0.0; all NaN are one. SYMBOL keys are kept as codes while
 *             every batch has the dictionary of the first one; when another comes, the map turns them
 *             into text by itself, and numbers stay what they were.
 * Layout      A key row is `words` 8-byte words: all fixed-width keys packed, then two words (a view)
 *             per text key; texts are copied. Open addressing over (tag, number) slots, at most half
 *             full.
 * Threads     One at a time, but for alm_keymap_probe.
 */
#ifndef ALM_EXEC_KEYMAP_H
#define ALM_EXEC_KEYMAP_H

#include "exec/run/op.h"

typedef struct alm_keymap alm_keymap;

/* Types of the keys; memory from `pool` (data) and cx->arena (a few bytes per key). */
ALM_NODISCARD alm_status alm_keymap_new(alm_ctx *cx, alm_pool *pool, const alm_type *types,
                                        uint32_t n_keys, alm_keymap **out);
/* Numbers of the n rows of dense or const key vectors; new keys are added. */
ALM_NODISCARD alm_status alm_keymap_add(alm_ctx *cx, alm_keymap *map, const alm_vec *keys,
                                        uint32_t n_rows, uint32_t *number);
/* The same without adding: UINT32_MAX where the key is not there. */
ALM_NODISCARD alm_status alm_keymap_find(alm_ctx *cx, alm_keymap *map, const alm_vec *keys,
                                         uint32_t n_rows, uint32_t *number);
/*
 * The same for several threads at once, while nobody adds. The caller sees to it that symbol keys
 * come as codes of alm_keymap_dict where that is not NULL (a code the dictionary has not: no key);
 * any form will do elsewhere.
 */
ALM_NODISCARD alm_status alm_keymap_probe(alm_ctx *cx, const alm_keymap *map, alm_arena *arena,
                                          const alm_vec *keys, uint32_t n_rows, uint32_t *number);
/* Dictionary of a key that is kept as codes, NULL for all others. */
const alm_dict *alm_keymap_dict(const alm_keymap *map, uint32_t key);
uint32_t alm_keymap_count(const alm_keymap *map);
/* Hash of key `number`: the same for the same key in all maps that see the same form of symbols. */
uint64_t alm_keymap_hash(const alm_keymap *map, uint32_t number);
/* Key column `key` of numbers [at, at + n_rows) (or of pick[0..n)) as a vector. */
ALM_NODISCARD alm_status alm_keymap_values(alm_ctx *cx, const alm_keymap *map, alm_arena *arena,
                                           uint32_t key, uint32_t place, const uint32_t *pick,
                                           uint32_t n_rows, alm_vec *out);
/* Adds keys pick[0..n) of another map (same types). */
ALM_NODISCARD alm_status alm_keymap_add_from(alm_ctx *cx, alm_keymap *map, const alm_keymap *from,
                                             const uint32_t *pick, uint32_t n, uint32_t *number);
/* Packed copies of keys pick[0..n), side by side for a merge that reads them in that order: rows of
 * alm_keymap_words words, and hashes. Text is borrowed from the map. */
uint32_t alm_keymap_words(const alm_keymap *map);
void alm_keymap_pack(const alm_keymap *map, const uint32_t *pick, uint32_t n_picks, uint64_t *rows,
                     uint64_t *hashes);
/* Decides the form of symbols from a batch of keys, as alm_keymap_add does: alm_keymap_words holds after
 * it. Then the n rows packed and hashed into the caller's memory, without adding them; texts point to
 * those of the vectors. Views stand at words at[0..result) of a row (room for all keys). */
ALM_NODISCARD alm_status alm_keymap_settle(alm_ctx *cx, alm_keymap *map, const alm_vec *keys);
void alm_keymap_pack_batch(const alm_keymap *map, const alm_vec *keys, uint32_t n_rows,
                           uint64_t *rows, uint64_t *hashes);
/* Hashes of n packed rows. */
void alm_keymap_hash_packed(const alm_keymap *map, const uint64_t *rows, uint32_t n,
                            uint64_t *hashes);
uint32_t alm_keymap_text_words(const alm_keymap *map, uint32_t *at);
/* Adds n packed keys of `from`; map is of the same form, or new. */
ALM_NODISCARD alm_status alm_keymap_add_packed(alm_ctx *cx, alm_keymap *map, const alm_keymap *from,
                                               const uint64_t *rows, const uint64_t *hashes,
                                               uint32_t n, uint32_t *number);
/* Do hashes of the two agree (the same symbols as codes)? */
bool alm_keymap_same_form(const alm_keymap *a, const alm_keymap *b);
/* Forgets all keys, keeps the memory. */
void alm_keymap_clear(alm_keymap *map);

#endif
