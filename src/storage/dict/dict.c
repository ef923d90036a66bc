/*
 * dict.c - symbol dictionary in memory: append-only arrays and an open-addressed hash table, both
 * read without a lock.
 *
 * How it is safe   A writer (under the lock) fills the entry of a code, publishes the count, then the
 *                  slot of the hash table, each with release. A reader that finds a slot (acquire)
 *                  therefore sees the entry. An array that is outgrown is copied and replaced; the
 *                  old one stays valid for those who hold it, and is freed with the dictionary.
 * Cost             A hit is one hash, one or two probes and a compare of 16 bytes.
 */
#include "storage/dict/dict.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "storage/dict/impl.h"

/* A table may have thousands of SYMBOL columns without a value: an empty dictionary is small. */
enum { FIRST_VIEWS = 4, FIRST_SLOTS = 8, HEAP_FIRST = 256, HEAP_MAX = 1 << 20 };

/* ------------------------------------------------------------------ memory */

static alm_status storage_dict_no_memory(alm_ctx *cx, size_t bytes)
{
    return alm_fail(cx, ALM_E_MEMORY, -1, "symbol dictionary: no memory for %zu bytes", bytes);
}

static void storage_dict_add_bytes(alm_symbols *sym, int64_t bytes)
{
    atomic_fetch_add_explicit(&sym->bytes, bytes, memory_order_relaxed);
    if (sym->space != NULL)
        atomic_fetch_add_explicit(&sym->space->bytes, bytes, memory_order_relaxed);
}

/* Keeps an outgrown block until the dictionary goes. */
static alm_status retire(alm_ctx *cx, alm_symbols *sym, void *block)
{
    if (sym->n_retired == sym->cap_retired) {
        const uint32_t cap = ALM_MAX(4U, sym->cap_retired * 2);
        void **more = realloc((void *)sym->retired, cap * sizeof(*more));
        if (more == NULL)
            return storage_dict_no_memory(cx, cap * sizeof(*more));
        sym->retired = more;
        sym->cap_retired = cap;
    }
    sym->retired[sym->n_retired++] = block;
    return ALM_OK;
}

/* Room for `bytes` of text that never moves. */
static alm_status heap_take(alm_ctx *cx, alm_symbols *sym, size_t bytes, char **out)
{
    if (sym->heap == NULL || sym->heap->cap - sym->heap->len < bytes) {
        size_t cap = sym->heap == NULL ? HEAP_FIRST : ALM_MIN(sym->heap->cap * 2, (size_t)HEAP_MAX);
        cap = ALM_MAX(cap, bytes);
        symbols_heap *block = malloc(sizeof(*block) + cap);
        if (block == NULL)
            return storage_dict_no_memory(cx, cap);
        *block = (symbols_heap){.next = sym->heap, .cap = cap};
        sym->heap = block;
        storage_dict_add_bytes(sym, (int64_t)(sizeof(*block) + cap));
    }
    *out = sym->heap->bytes + sym->heap->len;
    sym->heap->len += bytes;
    return ALM_OK;
}

static alm_status views_grow(alm_ctx *cx, alm_symbols *sym, uint32_t count)
{
    const uint32_t cap = sym->views_cap == 0 ? FIRST_VIEWS : sym->views_cap * 2;
    alm_view *old = atomic_load_explicit(&sym->views, memory_order_relaxed);
    alm_view *grown = malloc((size_t)cap * sizeof(*grown));
    if (grown == NULL)
        return storage_dict_no_memory(cx, (size_t)cap * sizeof(*grown));
    if (old != NULL) {
        memcpy(grown, old, (size_t)count * sizeof(*grown));
        const alm_status status = retire(cx, sym, old);
        if (status != ALM_OK) {
            free(grown);
            return status;
        }
    }
    sym->views_cap = cap;
    atomic_store_explicit(&sym->views, grown, memory_order_release);
    storage_dict_add_bytes(sym, (int64_t)cap * (int64_t)sizeof(*grown));
    return ALM_OK;
}

/* ------------------------------------------------------------------ hashing */

/* Address-form view of a text, and its hash: equal texts give equal 16 bytes up to 12 bytes. */
static inline uint64_t storage_dict_hash_view(const alm_view *view, const char *ptr)
{
    if (view->len > ALM_VIEW_INLINE)
        return alm_hash_bytes(ptr, view->len);
    uint64_t half[2];
    memcpy(half, view, sizeof(half));
    return alm_hash_u128(half[0], half[1]);
}

static void slot_insert(symbols_table *table, uint64_t hash, uint32_t code)
{
    uint64_t i = hash & table->mask;
    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i], (hash >> 32) << 32 | code, memory_order_release);
}

static alm_status table_new(alm_ctx *cx, uint64_t slots, symbols_table **out)
{
    const size_t bytes = sizeof(symbols_table) + (size_t)slots * sizeof(uint64_t);
    symbols_table *table = calloc(1, bytes);
    if (table == NULL)
        return storage_dict_no_memory(cx, bytes);
    table->mask = slots - 1;
    *out = table;
    return ALM_OK;
}

/* Doubles the hash table when it is more than half full. */
static alm_status table_grow(alm_ctx *cx, alm_symbols *sym, uint32_t count)
{
    symbols_table *old = atomic_load_explicit(&sym->table, memory_order_relaxed);
    if ((uint64_t)count * 2 <= old->mask + 1)
        return ALM_OK;
    symbols_table *grown = NULL;
    ALM_TRY(table_new(cx, (old->mask + 1) * 2, &grown));
    const alm_view *views = atomic_load_explicit(&sym->views, memory_order_relaxed);
    for (uint32_t code = 1; code < count; code++)
        slot_insert(grown, storage_dict_hash_view(&views[code], alm_view_ptr(&views[code], NULL)),
                    code);
    const alm_status status = retire(cx, sym, old);
    if (status != ALM_OK) {
        free(grown);
        return status;
    }
    atomic_store_explicit(&sym->table, grown, memory_order_release);
    storage_dict_add_bytes(sym, (int64_t)(grown->mask + 1) * 8);
    return ALM_OK;
}

/* Code of a text, 0: none. Lock-free. */
static inline uint32_t find_hashed(const alm_symbols *sym, uint64_t hash, const alm_view *view,
                                   const char *ptr)
{
    const symbols_table *table = atomic_load_explicit(&sym->table, memory_order_acquire);
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        const uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (slot == 0)
            return 0;
        if ((uint32_t)(slot >> 32) != tag)
            continue;
        const uint32_t code = (uint32_t)slot;
        const alm_view *at = &atomic_load_explicit(&sym->views, memory_order_acquire)[code];
        if (memcmp(at, view, 8) != 0)
            continue;
        if (view->len <= ALM_VIEW_INLINE ? memcmp(at->tail, view->tail, 8) == 0
                                         : memcmp(alm_view_ptr(at, NULL), ptr, view->len) == 0)
            return code;
    }
}

/* Adds a text that is not there; under the lock. */
static alm_status storage_dict_append(alm_ctx *cx, alm_symbols *sym, uint64_t hash, alm_str text,
                                      uint32_t *out)
{
    const uint32_t code = atomic_load_explicit(&sym->count, memory_order_relaxed);
    ALM_ASSERT(!atomic_load_explicit(&sym->replaced, memory_order_relaxed));
    if (code == UINT32_MAX - 1)
        return alm_fail(cx, ALM_E_LIMIT, -1, "symbol dictionary: more than %u values", code);
    if (code == sym->views_cap)
        ALM_TRY(views_grow(cx, sym, code));
    ALM_TRY(table_grow(cx, sym, code));
    if (text.len > ALM_VIEW_INLINE) {
        char *copy = NULL;
        ALM_TRY(heap_take(cx, sym, text.len, &copy));
        memcpy(copy, text.ptr, text.len);
        text.ptr = copy;
    }
    alm_view *views = atomic_load_explicit(&sym->views, memory_order_relaxed);
    views[code] = alm_view_of(text);
    atomic_store_explicit(&sym->count, code + 1, memory_order_release);
    slot_insert(atomic_load_explicit(&sym->table, memory_order_relaxed), hash, code);
    *out = code;
    return ALM_OK;
}

static alm_status find_or_append(alm_ctx *cx, alm_symbols *sym, uint64_t hash, const alm_view *view,
                                 const char *ptr, uint32_t *code)
{
    (void)pthread_mutex_lock(&sym->lock);
    alm_status status = ALM_OK;
    const uint32_t found = find_hashed(sym, hash, view, ptr);
    if (found != 0)
        *code = found;
    else if ((status = alm_symbols_admit(cx, sym, view->len)) == ALM_OK &&
             (status = storage_dict_append(cx, sym, hash, (alm_str){ptr, view->len}, code)) ==
                 ALM_OK)
        alm_symbols_charge(cx, sym, *code, view->len);
    (void)pthread_mutex_unlock(&sym->lock);
    return status;
}

/* ---------------------------------------------------------------- interface */

alm_status alm_symbols_new(alm_ctx *cx, uint32_t id, uint64_t table_id, uint32_t col_id,
                           alm_symbols **out)
{
    alm_symbols *sym = calloc(1, sizeof(*sym));
    if (sym == NULL)
        return storage_dict_no_memory(cx, sizeof(*sym));
    sym->refs = 1;
    sym->id = id;
    sym->table_id = table_id;
    sym->col_id = col_id;
    sym->saved_count = 1;
    (void)pthread_mutex_init(&sym->lock, NULL);
    symbols_table *table = NULL;
    storage_dict_add_bytes(sym, (int64_t)sizeof(*sym));
    alm_status status = table_new(cx, FIRST_SLOTS, &table);
    atomic_store(&sym->table, table);
    if (status == ALM_OK)
        storage_dict_add_bytes(sym, (int64_t)sizeof(*table) + FIRST_SLOTS * 8);
    if (status == ALM_OK)
        status = views_grow(cx, sym, 0);
    if (status != ALM_OK) {
        alm_symbols_release(sym);
        return status;
    }
    atomic_load(&sym->views)[0] = alm_view_null();
    atomic_store(&sym->count, 1);
    *out = sym;
    return ALM_OK;
}

void alm_symbols_identify(alm_symbols *sym, uint64_t database_id)
{
    sym->database_id = database_id;
}

void alm_symbols_join(alm_symbols *sym, alm_symbols_space *space, alm_mem *maker)
{
    ALM_ASSERT(sym->space == NULL);
    sym->space = space;
    atomic_fetch_add(&space->bytes, atomic_load(&sym->bytes));
    sym->maker = maker;
    if (maker != NULL)
        atomic_fetch_add(&maker->used_bytes, ALM_SYMBOLS_EMPTY_BYTES);
}

alm_symbols *alm_symbols_retain(alm_symbols *sym)
{
    const uint32_t before = atomic_fetch_add_explicit(&sym->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return sym;
}

void alm_symbols_release(alm_symbols *sym)
{
    if (sym == NULL || atomic_fetch_sub_explicit(&sym->refs, 1, memory_order_acq_rel) > 1)
        return;
    alm_symbols_uncharge(sym);
    for (size_t i = 0; i < sym->n_retired; i++)
        free(sym->retired[i]);
    free((void *)sym->retired);
    for (symbols_heap *block = sym->heap; block != NULL;) {
        symbols_heap *next = block->next;
        free(block);
        block = next;
    }
    free(atomic_load(&sym->views));
    free(atomic_load(&sym->table));
    (void)pthread_mutex_destroy(&sym->lock);
    free(sym->lost);
    free(sym);
}

uint32_t alm_symbols_count(const alm_symbols *sym)
{
    return atomic_load_explicit(&sym->count, memory_order_acquire);
}

alm_str alm_symbols_text(const alm_symbols *sym, uint32_t code)
{
    ALM_ASSERT(code < alm_symbols_count(sym));
    if (code == 0)
        return (alm_str){NULL, 0};
    return alm_view_str(&atomic_load_explicit(&sym->views, memory_order_acquire)[code], NULL);
}

uint32_t alm_symbols_find(const alm_symbols *sym, alm_str text)
{
    if (text.ptr == NULL || text.len >= ALM_VIEW_NULL)
        return 0;
    const alm_view view = alm_view_of(text);
    return find_hashed(sym, storage_dict_hash_view(&view, text.ptr), &view, text.ptr);
}

static uint32_t find_in_view(const alm_dict *dict, alm_str text)
{
    const uint32_t code = alm_symbols_find(dict->owner, text);
    return code < dict->count ? code : 0;
}

void alm_symbols_view(const alm_symbols *sym, uint32_t count, alm_dict *out)
{
    ALM_ASSERT(count >= 1 && count <= alm_symbols_count(sym));
    *out = (alm_dict){.views = atomic_load_explicit(&sym->views, memory_order_acquire),
                      .count = count,
                      .id = sym->id,
                      .find = find_in_view,
                      .owner = (void *)(uintptr_t)sym};
}

int64_t alm_symbols_bytes(const alm_symbols *sym)
{
    return atomic_load_explicit(&sym->bytes, memory_order_relaxed);
}

alm_status alm_symbols_intern_one(alm_ctx *cx, alm_symbols *sym, alm_str text, uint32_t *code)
{
    if (text.ptr == NULL) {
        *code = 0;
        return ALM_OK;
    }
    if (text.len >= ALM_VIEW_NULL)
        return alm_fail(cx, ALM_E_LIMIT, -1, "symbol of %zu bytes is too long", text.len);
    const alm_view view = alm_view_of(text);
    const uint64_t hash = storage_dict_hash_view(&view, text.ptr);
    const uint32_t found = find_hashed(sym, hash, &view, text.ptr);
    if (found == 0)
        return find_or_append(cx, sym, hash, &view, text.ptr, code);
    *code = found;
    return ALM_OK;
}

alm_status alm_symbols_intern(alm_ctx *cx, alm_symbols *sym, const alm_view *views,
                              const char *heap, size_t n, uint32_t *codes)
{
    for (size_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i])) {
            codes[i] = 0;
            continue;
        }
        const char *ptr = alm_view_ptr(&views[i], heap);
        const uint64_t hash = storage_dict_hash_view(&views[i], ptr);
        codes[i] = find_hashed(sym, hash, &views[i], ptr);
        if (codes[i] == 0)
            ALM_TRY(find_or_append(cx, sym, hash, &views[i], ptr, &codes[i]));
    }
    return ALM_OK;
}

/* Codes of a foreign dictionary: its values in use are looked up once. */
static alm_status translate(alm_ctx *cx, alm_symbols *sym, const alm_vec *vec, size_t n_rows,
                            uint32_t *codes)
{
    uint32_t *map = calloc(vec->dict->count, sizeof(*map)); /* 0: not looked up yet */
    if (map == NULL)
        return storage_dict_no_memory(cx, vec->dict->count * sizeof(*map));
    alm_status status = ALM_OK;
    for (size_t i = 0; i < n_rows && status == ALM_OK; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        if (code != 0 && map[code] == 0)
            status = alm_symbols_intern_one(cx, sym, alm_view_str(&vec->dict->views[code], NULL),
                                            &map[code]);
        codes[i] = map[code];
    }
    free(map);
    return status;
}

alm_status alm_symbols_encode(alm_ctx *cx, alm_symbols *sym, const alm_vec *vec, size_t n_rows,
                              uint32_t *codes)
{
    if (n_rows == 0)
        return ALM_OK;
    ALM_TRY(alm_symbols_usable(cx, sym));
    if (vec->is_const) {
        ALM_TRY(alm_symbols_intern_one(cx, sym, alm_vec_text(vec, 0), &codes[0]));
        for (size_t i = 1; i < n_rows; i++)
            codes[i] = codes[0];
        return ALM_OK;
    }
    if (vec->dict == NULL)
        return alm_symbols_intern(cx, sym, vec->data, vec->heap, n_rows, codes);
    if (vec->dict->id == sym->id && vec->dict->owner == sym) {
        for (size_t i = 0; i < n_rows; i++)
            codes[i] = alm_vec_code(vec, i);
        return ALM_OK;
    }
    if (vec->dict->count <= n_rows * 4 + 1024)
        return translate(cx, sym, vec, n_rows, codes);
    for (size_t i = 0; i < n_rows;
         i++) { /* a large dictionary, few rows: no array over its codes */
        const uint32_t code = alm_vec_code(vec, i);
        codes[i] = 0;
        if (code != 0)
            ALM_TRY(alm_symbols_intern_one(cx, sym, alm_view_str(&vec->dict->views[code], NULL),
                                           &codes[i]));
    }
    return ALM_OK;
}

alm_status alm_symbols_name(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text)
{
    ALM_ASSERT(code > 0 && code < alm_symbols_count(sym));
    (void)pthread_mutex_lock(&sym->lock);
    char *copy = NULL;
    const alm_status status =
        text.len > ALM_VIEW_INLINE ? heap_take(cx, sym, text.len, &copy) : ALM_OK;
    if (copy != NULL) {
        memcpy(copy, text.ptr, text.len);
        text.ptr = copy;
    }
    if (status == ALM_OK) {
        atomic_load_explicit(&sym->views, memory_order_relaxed)[code] = alm_view_of(text);
        if (code < sym->summed)
            sym->summed = sym->crc = 0;
    }
    (void)pthread_mutex_unlock(&sym->lock);
    return status;
}

alm_status alm_symbols_put(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text)
{
    const uint32_t count = alm_symbols_count(sym);
    if (code == 0 || text.ptr == NULL || text.len >= ALM_VIEW_NULL || code > count)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "symbol dictionary of column %u: code %u after %u codes", sym->col_id, code,
                        count - 1);
    if (code < count) {
        if (!alm_str_eq(alm_symbols_text(sym, code), text))
            return alm_fail(cx, ALM_E_CORRUPT, -1,
                            "symbol dictionary of column %u: code %u stands for two values",
                            sym->col_id, code);
        return ALM_OK;
    }
    uint32_t got = 0;
    ALM_TRY(alm_symbols_intern_one(cx, sym, text, &got));
    if (got != code)
        return alm_fail(cx, ALM_E_CORRUPT, -1,
                        "symbol dictionary of column %u: one value has codes %u and %u",
                        sym->col_id, got, code);
    return ALM_OK;
}

alm_status alm_symbols_copy(alm_ctx *cx, alm_symbols *from, uint32_t id, uint32_t count,
                            alm_symbols **out)
{
    alm_symbols *copy = NULL;
    ALM_ASSERT(count >= 1 && count <= alm_symbols_count(from) && from->lost == NULL);
    ALM_TRY(alm_symbols_new(cx, id, from->table_id, from->col_id, &copy));
    alm_status status = ALM_OK;
    for (uint32_t code = 1; code < count && status == ALM_OK; code++)
        status = alm_symbols_put(cx, copy, code, alm_symbols_text(from, code));
    (void)pthread_mutex_lock(&from->lock);
    copy->database_id = from->database_id;
    copy->saved_count = from->saved_count;
    copy->saved_bytes = from->saved_bytes;
    copy->saved_version = from->saved_version;
    if (status == ALM_OK && from->saved_count > count)
        status = alm_fail(cx, ALM_E_INTERNAL, -1,
                          "symbol dictionary of column %u: the file has %u codes, of which %u stay",
                          from->col_id, from->saved_count - 1, count - 1);
    if (status == ALM_OK)
        status = alm_symbols_share_charges(cx, from, copy);
    (void)pthread_mutex_unlock(&from->lock);
    if (status != ALM_OK) {
        alm_symbols_release(copy);
        return status;
    }
    if (from->space != NULL)
        alm_symbols_join(copy, from->space, from->maker);
    *out = copy;
    return ALM_OK;
}

void alm_symbols_replace(alm_symbols *sym)
{
    (void)pthread_mutex_lock(&sym->lock); /* who adds a value has added it */
    const bool before = atomic_exchange(&sym->replaced, true);
    (void)pthread_mutex_unlock(&sym->lock);
    ALM_ASSERT(!before);
}

bool alm_symbols_is_replaced(const alm_symbols *sym)
{
    return atomic_load(&sym->replaced);
}

uint32_t alm_codes_largest(const void *codes, uint32_t width, size_t n)
{
    uint32_t most = 0;
    if (width == 1)
        for (size_t i = 0; i < n; i++)
            most = ALM_MAX(most, ((const uint8_t *)codes)[i]);
    else if (width == 2)
        for (size_t i = 0; i < n; i++)
            most = ALM_MAX(most, ((const uint16_t *)codes)[i]);
    else
        for (size_t i = 0; i < n; i++)
            most = ALM_MAX(most, ((const uint32_t *)codes)[i]);
    return most;
}
