/*
 * keymap.c - see keymap.h.
 *
 * A batch is packed into key rows, hashed, and looked up with prefetching; one loop per shape of key:
 * one word, two words, anything. The stored hash makes growth and partitioned merges free of
 * re-hashing; the tag (high half of the hash) in the slot keeps misses from touching the keys.
 */
#include "exec/data/keymap.h"

#include "base/hash.h"
#include "exec/data/blend.h"
#include "exec/data/wide.h"

enum { SLOTS_MIN = 256, TEXT_CHUNK = 64 * 1024, PREFETCH = 16 };

typedef struct key_part {
    alm_type type;
    bool text;            /* two words: a view in address form */
    bool symbol, settled; /* settled: the first batch decided between codes and text */
    const alm_dict *dict; /* symbol as codes */
    uint8_t width;        /* bytes in the row, if not text */
    uint32_t offset;      /* in the row */
} key_part;

struct alm_keymap {
    alm_pool *pool;
    key_part *part;
    uint32_t n_parts, words;
    bool any_text;
    bool long_texts; /* the rows that are being added may have some: count the work on them */
    uint64_t *slot;  /* tag << 32 | number + 1 */
    uint32_t mask;
    uint64_t *row; /* words per key */
    uint64_t *hash;
    uint32_t n, cap;
    char *text; /* current chunk of copied text */
    size_t text_left;
    uint64_t *batch_row, *batch_hash; /* packed keys of one batch */
    uint32_t batch_cap;
};

/* ---------------------------------------------------------------------------------- layout */

static void keymap_lay_out(alm_keymap *keymap)
{
    uint32_t bytes = 0;
    keymap->any_text = false;
    static const uint8_t widths[] = {32, 16, 8, 4, 2, 1}; /* widest first: everything is aligned */
    for (size_t w = 0; w < sizeof widths; w++)
        for (uint32_t i = 0; i < keymap->n_parts; i++)
            if (!keymap->part[i].text && keymap->part[i].width == widths[w]) {
                keymap->part[i].offset = bytes;
                bytes += widths[w];
            }
    bytes = (bytes + 7) & ~7U;
    for (uint32_t i = 0; i < keymap->n_parts; i++)
        if (keymap->part[i].text) {
            keymap->part[i].offset = bytes;
            bytes += (uint32_t)sizeof(alm_view);
            keymap->any_text = true;
        }
    keymap->words = ALM_MAX(bytes / 8, 1U);
}

alm_status alm_keymap_new(alm_ctx *cx, alm_pool *pool, const alm_type *types, uint32_t n_keys,
                          alm_keymap **out)
{
    alm_keymap *keymap = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &keymap));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &keymap->part));
    keymap->pool = pool;
    keymap->n_parts = n_keys;
    for (uint32_t i = 0; i < n_keys; i++) {
        const alm_type type = types[i];
        const bool symbol = type.id == ALM_T_SYMBOL;
        const bool text = alm_has_views(type);
        keymap->part[i] = (key_part){.type = type,
                                     .text = text && !symbol,
                                     .symbol = symbol,
                                     .width = symbol ? 4
                                              : text ? 16
                                                     : (uint8_t)alm_type_width(type)};
    }
    keymap_lay_out(keymap);
    *out = keymap;
    return ALM_OK;
}

void alm_keymap_clear(alm_keymap *keymap)
{
    if (keymap->slot != NULL)
        memset(keymap->slot, 0, ((size_t)keymap->mask + 1) * sizeof *keymap->slot);
    keymap->n = 0; /* chunks of text stay with the pool until it goes */
}

uint32_t alm_keymap_count(const alm_keymap *keymap)
{
    return keymap->n;
}
uint64_t alm_keymap_hash(const alm_keymap *keymap, uint32_t number)
{
    return keymap->hash[number];
}

/* ----------------------------------------------------------------------------- packing */

#define DEFINE_PACK(bits, type)                                                                    \
    static void pack_##bits(const alm_vec *v, uint32_t n, char *restrict to, size_t stride)        \
    {                                                                                              \
        const type *from = v->data;                                                                \
        const size_t step = v->is_const ? 0 : 1;                                                   \
        for (uint32_t i = 0; i < n; i++)                                                           \
            memcpy(to + i * stride, &from[i * step], sizeof(type));                                \
    }
DEFINE_PACK(8, uint8_t)
DEFINE_PACK(16, uint16_t)
DEFINE_PACK(32, uint32_t)
DEFINE_PACK(64, uint64_t)
DEFINE_PACK(128, alm_wide16)
DEFINE_PACK(256, alm_wide32)

static void pack_double(const alm_vec *vec, uint32_t n_rows, char *restrict dest, size_t stride)
{
    const double *from = vec->data;
    const size_t step = vec->is_const ? 0 : 1;
    for (uint32_t i = 0; i < n_rows; i++) {
        const double value = from[i * step];
        const double one = value == value ? value + 0.0 : __builtin_nan(""); /* -0.0 + 0.0 is 0.0 */
        memcpy(dest + i * stride, &one, sizeof one);
    }
}

static void pack_float(const alm_vec *vec, uint32_t n_rows, char *restrict dest, size_t stride)
{
    const float *from = vec->data;
    const size_t step = vec->is_const ? 0 : 1;
    for (uint32_t i = 0; i < n_rows; i++) {
        const float value = from[i * step];
        const float one = value == value ? value + 0.0F : __builtin_nanf("");
        memcpy(dest + i * stride, &one, sizeof one);
    }
}

static void pack_codes(const alm_vec *vec, uint32_t n_rows, char *restrict dest, size_t stride)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        const uint32_t code = alm_vec_code(vec, i);
        memcpy(dest + i * stride, &code, sizeof code);
    }
}

static void pack_text(const alm_vec *vec, uint32_t n_rows, char *restrict dest, size_t stride)
{
    const alm_view null = {.len = ALM_VIEW_NULL};
    for (uint32_t i = 0; i < n_rows; i++) {
        alm_view view = null;
        if (vec->dict != NULL) {
            view = vec->dict->views[alm_vec_code(vec, i)];
        } else {
            view = ((const alm_view *)vec->data)[vec->is_const ? 0 : i];
            if (view.len > ALM_VIEW_INLINE && view.len != ALM_VIEW_NULL)
                view.off += (uint64_t)(uintptr_t)vec->heap;
        }
        if (view.len == ALM_VIEW_NULL)
            view = null;
        memcpy(dest + i * stride, &view, sizeof view);
    }
}

static void pack_part(const key_part *p, const alm_vec *vec, uint32_t n_rows, char *dest,
                      size_t stride)
{
    if (p->text)
        pack_text(vec, n_rows, dest, stride);
    else if (p->symbol)
        pack_codes(vec, n_rows, dest, stride);
    else if (p->type.id == ALM_T_DOUBLE)
        pack_double(vec, n_rows, dest, stride);
    else if (p->type.id == ALM_T_FLOAT)
        pack_float(vec, n_rows, dest, stride);
    else if (p->width == 1)
        pack_8(vec, n_rows, dest, stride);
    else if (p->width == 2)
        pack_16(vec, n_rows, dest, stride);
    else if (p->width == 4)
        pack_32(vec, n_rows, dest, stride);
    else if (p->width == 8)
        pack_64(vec, n_rows, dest, stride);
    else if (p->width == 16)
        pack_128(vec, n_rows, dest, stride);
    else
        pack_256(vec, n_rows, dest, stride);
}

enum { END_BYTES = 8192 };

/* Bytes of the long texts and arrays of a packed row. */
static size_t text_bytes(const uint64_t *words)
{
    const uint32_t len = (uint32_t)words[0];
    return len == ALM_VIEW_NULL || len <= 2 * END_BYTES ? 0 : len;
}

static size_t row_text_bytes(const alm_keymap *keymap, const uint64_t *row)
{
    size_t bytes = 0;
    for (uint32_t i = 0; keymap->any_text && i < keymap->n_parts; i++)
        if (keymap->part[i].text)
            bytes += text_bytes(row + keymap->part[i].offset / 8);
    return bytes;
}

static bool has_long_texts(const alm_keymap *keymap, const uint64_t *rows, uint32_t n)
{
    uint32_t any = 0;
    for (uint32_t part = 0; part < keymap->n_parts; part++) {
        const uint64_t *at = rows + keymap->part[part].offset / 8;
        for (uint32_t i = 0; keymap->part[part].text && i < n; i++, at += keymap->words)
            any |= text_bytes(at) > 0;
    }
    return any != 0;
}

/* Hashes both ends only, so that the time for a batch of long texts stays bounded. */
static __attribute__((noinline)) uint64_t long_text_hash(const char *text, uint32_t len)
{
    const uint64_t hash = alm_hash_combine(alm_hash_bytes(text, END_BYTES), len);
    return alm_hash_combine(hash, alm_hash_bytes(text + len - END_BYTES, END_BYTES));
}

static inline uint64_t text_hash(const uint64_t *words)
{
    alm_view view;
    memcpy(&view, words, sizeof view);
    if (view.len <= ALM_VIEW_INLINE || view.len == ALM_VIEW_NULL)
        return alm_hash_u128(words[0], words[1]);
    const char *text = alm_view_ptr(&view, NULL);
    return view.len <= 2 * END_BYTES ? alm_hash_bytes(text, view.len)
                                     : long_text_hash(text, view.len);
}

static uint64_t row_hash(const alm_keymap *keymap, const uint64_t *row)
{
    uint64_t hash = keymap->words;
    uint32_t fixed = keymap->words;
    for (uint32_t i = 0; i < keymap->n_parts; i++)
        if (keymap->part[i].text) {
            fixed -= 2;
            hash = alm_hash_combine(hash, text_hash(row + keymap->part[i].offset / 8));
        }
    for (uint32_t word = 0; word < fixed; word++)
        hash = alm_hash_combine(hash, row[word]);
    return hash;
}

static void keymap_hash_rows(const alm_keymap *keymap, const uint64_t *row, uint32_t n_rows,
                             uint64_t *hash)
{
    if (keymap->words == 1)
        for (uint32_t i = 0; i < n_rows; i++)
            hash[i] = alm_hash_u64(row[i]);
    else if (keymap->words == 2 && !keymap->any_text)
        for (uint32_t i = 0; i < n_rows; i++)
            hash[i] = alm_hash_u128(row[2 * i], row[2 * i + 1]);
    else if (keymap->n_parts == 1 && keymap->any_text)
        for (uint32_t i = 0; i < n_rows; i++)
            hash[i] = text_hash(row + 2 * i);
    else
        for (uint32_t i = 0; i < n_rows; i++)
            hash[i] = row_hash(keymap, row + (size_t)i * keymap->words);
}

static void pack_rows(const alm_keymap *keymap, const alm_vec *keys, uint32_t n, uint64_t *row,
                      uint64_t *hash)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < keymap->n_parts; i++)
        used += keymap->part[i].text ? 16 : keymap->part[i].width;
    if (used != keymap->words * 8 && n > 0) /* padding takes part in comparisons */
        memset(row, 0, (size_t)n * keymap->words * 8);
    for (uint32_t i = 0; i < keymap->n_parts; i++)
        pack_part(&keymap->part[i], &keys[i], n, (char *)row + keymap->part[i].offset,
                  (size_t)keymap->words * 8);
    keymap_hash_rows(keymap, row, n, hash);
}

static alm_status pack_batch(alm_ctx *cx, alm_keymap *keymap, const alm_vec *keys, uint32_t n_rows)
{
    if (n_rows > keymap->batch_cap) {
        ALM_TRY(alm_pool_grow(cx, keymap->pool, &keymap->batch_row, 0,
                              (size_t)n_rows * keymap->words * 8));
        ALM_TRY(alm_pool_grow(cx, keymap->pool, &keymap->batch_hash, 0, (size_t)n_rows * 8));
        keymap->batch_cap = n_rows;
    }
    pack_rows(keymap, keys, n_rows, keymap->batch_row, keymap->batch_hash);
    return ALM_OK;
}

/* -------------------------------------------------------------------------- comparing */

static bool text_equal(const uint64_t *a, const uint64_t *b)
{
    if (a[0] != b[0])
        return false;
    alm_view x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (x.len <= ALM_VIEW_INLINE || x.len == ALM_VIEW_NULL)
        return a[1] == b[1];
    return a[1] == b[1] || memcmp(alm_view_ptr(&x, NULL), alm_view_ptr(&y, NULL), x.len) == 0;
}

static bool rows_equal(const alm_keymap *keymap, const uint64_t *a, const uint64_t *b)
{
    uint32_t fixed = keymap->words;
    for (uint32_t i = 0; keymap->any_text && i < keymap->n_parts; i++)
        if (keymap->part[i].text) {
            fixed -= 2;
            if (!text_equal(a + keymap->part[i].offset / 8, b + keymap->part[i].offset / 8))
                return false;
        }
    for (uint32_t word = 0; word < fixed; word++)
        if (a[word] != b[word])
            return false;
    return true;
}

/* ------------------------------------------------------------------------------ growth */

static alm_status keymap_grow_slots(alm_ctx *cx, alm_keymap *keymap)
{
    const size_t size = keymap->slot == NULL ? SLOTS_MIN : 4 * ((size_t)keymap->mask + 1);
    uint64_t *slot = NULL;
    if (size > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "%s: too many distinct keys", keymap->pool->who);
    ALM_TRY(alm_pool_zero(cx, keymap->pool, size * sizeof *slot, &slot));
    alm_pool_free(keymap->pool, keymap->slot);
    keymap->slot = slot;
    keymap->mask = (uint32_t)(size - 1);
    for (uint32_t k = 0; k < keymap->n; k++) {
        uint32_t place = (uint32_t)keymap->hash[k] & keymap->mask;
        while (slot[place] != 0)
            place = (place + 1) & keymap->mask;
        slot[place] = (keymap->hash[k] & 0xffffffff00000000U) | (k + 1);
    }
    return ALM_OK;
}

static alm_status grow_rows(alm_ctx *cx, alm_keymap *keymap)
{
    const uint32_t cap = keymap->cap == 0 ? 128 : 2 * keymap->cap;
    ALM_TRY(alm_pool_grow(cx, keymap->pool, &keymap->row, (size_t)keymap->n * keymap->words * 8,
                          (size_t)cap * keymap->words * 8));
    ALM_TRY(alm_pool_grow(cx, keymap->pool, &keymap->hash, (size_t)keymap->n * 8, (size_t)cap * 8));
    keymap->cap = cap;
    return ALM_OK;
}

static alm_status keymap_own_texts(alm_ctx *cx, alm_keymap *keymap, uint64_t *row)
{
    for (uint32_t i = 0; i < keymap->n_parts; i++) {
        if (!keymap->part[i].text)
            continue;
        alm_view view;
        memcpy(&view, row + keymap->part[i].offset / 8, sizeof view);
        if (view.len <= ALM_VIEW_INLINE || view.len == ALM_VIEW_NULL)
            continue;
        if (view.len > keymap->text_left) {
            const size_t bytes = ALM_MAX((size_t)TEXT_CHUNK, view.len);
            ALM_TRY(alm_pool_alloc(cx, keymap->pool, bytes, &keymap->text));
            keymap->text_left = bytes;
        }
        memcpy(keymap->text, alm_view_ptr(&view, NULL), view.len);
        view.off = (uint64_t)(uintptr_t)keymap->text;
        keymap->text += view.len;
        keymap->text_left -= view.len;
        memcpy(row + keymap->part[i].offset / 8, &view, sizeof view);
    }
    return ALM_OK;
}

/* memcpy of a few words, without the call */
static inline void copy_words(uint64_t *restrict to, const uint64_t *restrict from, uint32_t words)
{
    to[0] = from[0];
    for (uint32_t word = 1; word < words; word++)
        to[word] = from[word];
}

static alm_status append_key(alm_ctx *cx, alm_keymap *keymap, const uint64_t *row, uint64_t hash)
{
    if (keymap->long_texts)
        ALM_TRY(alm_text_work(cx, row_text_bytes(keymap, row)));
    if (keymap->n == keymap->cap)
        ALM_TRY(grow_rows(cx, keymap));
    uint64_t *to = keymap->row + (size_t)keymap->n * keymap->words;
    copy_words(to, row, keymap->words);
    if (keymap->any_text)
        ALM_TRY(keymap_own_texts(cx, keymap, to));
    keymap->hash[keymap->n++] = hash;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- look-ups */

/* Finds or adds n packed rows. SAME compares row `k` of the map with the packed row `r`; LONG is how many bytes that may take, if
 * they are many. */
#define PREFETCH_SLOT                                                                              \
    if (i + PREFETCH < n)                                                                          \
    __builtin_prefetch(&m->slot[(uint32_t)hash[i + PREFETCH] & m->mask])
#define DEFINE_ADD(name, STRIDE, AHEAD, LONG, SAME)                                                \
    static alm_status add_##name(alm_ctx *cx, alm_keymap *m, const uint64_t *rows,                 \
                                 const uint64_t *hash, uint32_t n, bool add, uint32_t *number)     \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            AHEAD;                                                                                 \
            const uint64_t *r = rows + (size_t)i * (STRIDE);                                       \
            const uint64_t h = hash[i], tag = h & 0xffffffff00000000U;                             \
            uint32_t at = (uint32_t)h & m->mask, found = UINT32_MAX;                               \
            for (uint64_t s = m->slot[at]; s != 0; s = m->slot[at]) {                              \
                const uint32_t k = (uint32_t)s - 1;                                                \
                if (m->long_texts && (s & 0xffffffff00000000U) == tag)                             \
                    ALM_TRY(alm_text_work(cx, (LONG)));                                            \
                if ((s & 0xffffffff00000000U) == tag && (SAME)) {                                  \
                    found = k;                                                                     \
                    break;                                                                         \
                }                                                                                  \
                at = (at + 1) & m->mask;                                                           \
            }                                                                                      \
            if (found == UINT32_MAX && add) {                                                      \
                found = m->n;                                                                      \
                m->slot[at] = tag | (m->n + 1);                                                    \
                ALM_TRY(append_key(cx, m, r, h));                                                  \
                if (m->n > m->mask / 2)                                                            \
                    ALM_TRY(keymap_grow_slots(cx, m));                                             \
            }                                                                                      \
            number[i] = found;                                                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
DEFINE_ADD(one, 1, PREFETCH_SLOT, 0, m->row[k] == r[0])
DEFINE_ADD(two, 2, PREFETCH_SLOT, 0,
           m->row[2 * (size_t)k] == r[0] && m->row[2 * (size_t)k + 1] == r[1])
/* A text: its own bytes, and those of the key in the first slot, are called for ahead of time. */
static inline void prefetch_text(const alm_keymap *keymap, const uint64_t *rows,
                                 const uint64_t *hash, uint32_t i, uint32_t n)
{
    if (i + 3 * PREFETCH < n)
        __builtin_prefetch(&keymap->slot[(uint32_t)hash[i + 3 * PREFETCH] & keymap->mask]);
    if (i + 2 * PREFETCH < n) {
        const uint32_t k = (uint32_t)keymap->slot[(uint32_t)hash[i + 2 * PREFETCH] & keymap->mask];
        if (k != 0)
            __builtin_prefetch(keymap->row + 2 * (size_t)(k - 1));
    }
    if (i + PREFETCH < n) {
        const uint64_t *r = rows + 2 * (size_t)(i + PREFETCH);
        const uint32_t k = (uint32_t)keymap->slot[(uint32_t)hash[i + PREFETCH] & keymap->mask];
        const uint32_t len = (uint32_t)r[0];
        if (k == 0 || len <= ALM_VIEW_INLINE || len == ALM_VIEW_NULL)
            return;
        __builtin_prefetch((const void *)(uintptr_t)r[1]);
        __builtin_prefetch((const void *)(uintptr_t)(r[1] + len - 1));
        const uint64_t *known = keymap->row + 2 * (size_t)(k - 1);
        if (known[0] == r[0]) {
            __builtin_prefetch((const void *)(uintptr_t)known[1]);
            __builtin_prefetch((const void *)(uintptr_t)(known[1] + len - 1));
        }
    }
}
DEFINE_ADD(text, 2, prefetch_text(m, rows, hash, i, n), text_bytes(r),
           text_equal(m->row + 2 * (size_t)k, r))
DEFINE_ADD(any, m->words, PREFETCH_SLOT, row_text_bytes(m, r),
           rows_equal(m, m->row + (size_t)k * m->words, r))

static alm_status keymap_add_rows(alm_ctx *cx, alm_keymap *keymap, const uint64_t *rows,
                                  const uint64_t *hash, uint32_t n, bool add, uint32_t *number)
{
    if (keymap->slot == NULL)
        ALM_TRY(keymap_grow_slots(cx, keymap));
    keymap->long_texts = keymap->any_text && has_long_texts(keymap, rows, n);
    if (keymap->words == 1)
        return add_one(cx, keymap, rows, hash, n, add, number);
    if (keymap->words == 2 && !keymap->any_text)
        return add_two(cx, keymap, rows, hash, n, add, number);
    if (keymap->n_parts == 1 && keymap->any_text)
        return add_text(cx, keymap, rows, hash, n, add, number);
    return add_any(cx, keymap, rows, hash, n, add, number);
}

/* ----------------------------------------------------------------- symbols: codes or text */

/* Rebuilds the map with symbol part `p` as text; numbers stay. */
static alm_status symbols_to_text(alm_ctx *cx, alm_keymap *keymap, uint32_t p)
{
    alm_keymap old = *keymap;
    key_part *part = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, keymap->n_parts + 1, &part));
    memcpy(part, old.part, keymap->n_parts * sizeof *part);
    part[p].text = true;
    part[p].width = 16;
    part[p].settled = true;
    keymap->part = part;
    keymap_lay_out(keymap);
    keymap->long_texts = true;
    keymap->row = keymap->hash = keymap->slot = NULL;
    keymap->batch_row = keymap->batch_hash = NULL;
    keymap->n = keymap->cap = keymap->batch_cap = keymap->mask = 0;
    uint64_t *row = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, keymap->words, &row));
    for (uint32_t k = 0; k < old.n; k++) {
        const char *from = (const char *)(old.row + (size_t)k * old.words);
        memset(row, 0, (size_t)keymap->words * 8);
        for (uint32_t i = 0; i < keymap->n_parts; i++) {
            char *dest = (char *)row + keymap->part[i].offset;
            uint32_t code = 0;
            if (i == p) {
                memcpy(&code, from + old.part[i].offset, sizeof code);
                memcpy(dest, &old.part[i].dict->views[code], sizeof(alm_view));
            } else {
                memcpy(dest, from + old.part[i].offset,
                       keymap->part[i].text ? 16 : keymap->part[i].width);
            }
        }
        ALM_TRY(append_key(cx, keymap, row, row_hash(keymap, row)));
    }
    keymap_hash_rows(keymap, keymap->row, keymap->n,
                     keymap->hash); /* the fast paths hash in their own way */
    keymap->mask = SLOTS_MIN - 1;
    while ((keymap->mask + 1) / 4 <= keymap->n)
        keymap->mask = 2 * keymap->mask + 1;
    keymap->mask = (keymap->mask + 1) / 4 - 1; /* keymap_grow_slots takes four times as many */
    keymap->slot = old.slot;
    ALM_TRY(keymap_grow_slots(cx, keymap));
    alm_pool_free(keymap->pool, old.row);
    alm_pool_free(keymap->pool, old.hash);
    alm_pool_free(keymap->pool, old.batch_row);
    alm_pool_free(keymap->pool, old.batch_hash);
    return ALM_OK;
}

static alm_status keymap_settle_symbols(alm_ctx *cx, alm_keymap *keymap, const alm_vec *keys)
{
    for (uint32_t i = 0; i < keymap->n_parts; i++) {
        key_part *p = &keymap->part[i];
        if (!p->symbol || p->text)
            continue;
        if (!p->settled && keys[i].dict != NULL) {
            p->dict = keys[i].dict;
            p->settled = true;
        } else if (keys[i].dict == NULL || keys[i].dict->id != p->dict->id) {
            ALM_TRY(symbols_to_text(cx, keymap, i));
        } else if (keys[i].dict->count > p->dict->count) {
            p->dict = keys[i].dict; /* the same dictionary, grown */
        }
    }
    return ALM_OK;
}

alm_status alm_keymap_settle(alm_ctx *cx, alm_keymap *keymap, const alm_vec *keys)
{
    return keymap_settle_symbols(cx, keymap, keys);
}

void alm_keymap_pack_batch(const alm_keymap *keymap, const alm_vec *keys, uint32_t n_rows,
                           uint64_t *rows, uint64_t *hashes)
{
    pack_rows(keymap, keys, n_rows, rows, hashes);
}

void alm_keymap_hash_packed(const alm_keymap *keymap, const uint64_t *rows, uint32_t n,
                            uint64_t *hashes)
{
    keymap_hash_rows(keymap, rows, n, hashes);
}

uint32_t alm_keymap_text_words(const alm_keymap *keymap, uint32_t *at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < keymap->n_parts; i++)
        if (keymap->part[i].text)
            at[count++] = keymap->part[i].offset / 8;
    return count;
}

alm_status alm_keymap_add(alm_ctx *cx, alm_keymap *keymap, const alm_vec *keys, uint32_t n_rows,
                          uint32_t *number)
{
    ALM_TRY(keymap_settle_symbols(cx, keymap, keys));
    ALM_TRY(pack_batch(cx, keymap, keys, n_rows));
    return keymap_add_rows(cx, keymap, keymap->batch_row, keymap->batch_hash, n_rows, true, number);
}

alm_status alm_keymap_find(alm_ctx *cx, alm_keymap *keymap, const alm_vec *keys, uint32_t n_rows,
                           uint32_t *number)
{
    ALM_TRY(keymap_settle_symbols(cx, keymap, keys));
    ALM_TRY(pack_batch(cx, keymap, keys, n_rows));
    return keymap_add_rows(cx, keymap, keymap->batch_row, keymap->batch_hash, n_rows, false,
                           number);
}

const alm_dict *alm_keymap_dict(const alm_keymap *keymap, uint32_t key)
{
    const key_part *p = &keymap->part[key];
    return p->symbol && !p->text ? p->dict : NULL;
}

alm_status alm_keymap_probe(alm_ctx *cx, const alm_keymap *keymap, alm_arena *arena,
                            const alm_vec *keys, uint32_t n_rows, uint32_t *number)
{
    uint64_t *row = NULL, *hash = NULL;
    if (keymap->slot == NULL || n_rows == 0) { /* no key was ever added */
        memset(number, 0xff, n_rows * sizeof *number);
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * keymap->words * 8, &row));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * sizeof *hash, &hash));
    pack_rows(keymap, keys, n_rows, row, hash);
    alm_keymap same = *keymap; /* look-ups change nothing */
    return keymap_add_rows(cx, &same, row, hash, n_rows, false, number);
}

/* ------------------------------------------------------------------------------ reading back */

#define DEFINE_UNPACK(bits, type)                                                                  \
    static void unpack_##bits(const char *restrict from, size_t stride, uint32_t at,               \
                              const uint32_t *pick, uint32_t n, type *restrict to)                 \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++)                                                           \
            memcpy(&to[i], from + (pick != NULL ? pick[i] : at + i) * stride, sizeof(type));       \
    }
DEFINE_UNPACK(8, uint8_t)
DEFINE_UNPACK(16, uint16_t)
DEFINE_UNPACK(32, uint32_t)
DEFINE_UNPACK(64, uint64_t)
DEFINE_UNPACK(128, alm_wide16)
DEFINE_UNPACK(256, alm_wide32)

alm_status alm_keymap_values(alm_ctx *cx, const alm_keymap *keymap, alm_arena *arena, uint32_t key,
                             uint32_t place, const uint32_t *pick, uint32_t n_rows, alm_vec *out)
{
    const key_part *p = &keymap->part[key];
    const uint8_t width = p->text ? (uint8_t)sizeof(alm_view) : p->width;
    void *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)ALM_MAX(n_rows, 1U) * width, &data));
    const char *from = (const char *)keymap->row + p->offset;
    const size_t stride = (size_t)keymap->words * 8;
    if (width == 1)
        unpack_8(from, stride, place, pick, n_rows, data);
    else if (width == 2)
        unpack_16(from, stride, place, pick, n_rows, data);
    else if (width == 4)
        unpack_32(from, stride, place, pick, n_rows, data);
    else if (width == 8)
        unpack_64(from, stride, place, pick, n_rows, data);
    else if (width == 16)
        unpack_128(from, stride, place, pick, n_rows, data);
    else
        unpack_256(from, stride, place, pick, n_rows, data);
    *out =
        (alm_vec){.type = p->type, .width = width, .dict = p->text ? NULL : p->dict, .data = data};
    return ALM_OK;
}

/* Same layout and, for symbols, the same dictionaries: rows and hashes can be taken as they are. */
static bool same_form(const alm_keymap *a, const alm_keymap *b)
{
    for (uint32_t i = 0; i < a->n_parts; i++) {
        const key_part *x = &a->part[i], *y = &b->part[i];
        if (x->text != y->text || (x->dict != NULL) != (y->dict != NULL) ||
            (x->dict != NULL && x->dict->id != y->dict->id))
            return false;
    }
    return true;
}

bool alm_keymap_same_form(const alm_keymap *a, const alm_keymap *b)
{
    return same_form(a, b);
}

static alm_status add_vectors_from(alm_ctx *cx, alm_keymap *keymap, const alm_keymap *from,
                                   const uint32_t *pick, uint32_t n, uint32_t *number)
{
    alm_arena arena;
    alm_vec *keys = NULL;
    alm_arena_init(&arena, cx->mem);
    alm_status status = ALM_NEWN(cx, &arena, keymap->n_parts + 1, &keys);
    for (uint32_t i = 0; i < keymap->n_parts && status == ALM_OK; i++)
        status = alm_keymap_values(cx, from, &arena, i, 0, pick, n, &keys[i]);
    if (status == ALM_OK)
        status = alm_keymap_add(cx, keymap, keys, n, number);
    alm_arena_deinit(&arena);
    return status;
}

/* An unused map takes the form of the other. */
static void adopt_form(alm_keymap *keymap, const alm_keymap *from)
{
    if (keymap->n > 0 || keymap->slot != NULL)
        return;
    memcpy(keymap->part, from->part, keymap->n_parts * sizeof *keymap->part);
    keymap->words = from->words;
    keymap->any_text = from->any_text;
}

alm_status alm_keymap_add_from(alm_ctx *cx, alm_keymap *keymap, const alm_keymap *from,
                               const uint32_t *pick, uint32_t n, uint32_t *number)
{
    adopt_form(keymap, from);
    if (!same_form(keymap, from))
        return add_vectors_from(cx, keymap, from, pick, n, number);
    if (n > keymap->batch_cap) {
        ALM_TRY(
            alm_pool_grow(cx, keymap->pool, &keymap->batch_row, 0, (size_t)n * keymap->words * 8));
        ALM_TRY(alm_pool_grow(cx, keymap->pool, &keymap->batch_hash, 0, (size_t)n * 8));
        keymap->batch_cap = n;
    }
    alm_keymap_pack(from, pick, n, keymap->batch_row, keymap->batch_hash);
    return keymap_add_rows(cx, keymap, keymap->batch_row, keymap->batch_hash, n, true, number);
}

uint32_t alm_keymap_words(const alm_keymap *keymap)
{
    return keymap->words;
}

void alm_keymap_pack(const alm_keymap *keymap, const uint32_t *pick, uint32_t n_picks,
                     uint64_t *rows, uint64_t *hashes)
{
    const uint32_t words = keymap->words;
    for (uint32_t i = 0; i < n_picks; i++) {
        copy_words(rows + (size_t)i * words, keymap->row + (size_t)pick[i] * words, words);
        hashes[i] = keymap->hash[pick[i]];
    }
}

alm_status alm_keymap_add_packed(alm_ctx *cx, alm_keymap *keymap, const alm_keymap *from,
                                 const uint64_t *rows, const uint64_t *hashes, uint32_t n,
                                 uint32_t *number)
{
    adopt_form(keymap, from);
    ALM_ASSERT(same_form(keymap, from));
    return keymap_add_rows(cx, keymap, rows, hashes, n, true, number);
}
