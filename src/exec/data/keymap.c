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

static void lay_out(alm_keymap *m)
{
    uint32_t bytes = 0;
    m->any_text = false;
    static const uint8_t widths[] = {32, 16, 8, 4, 2, 1}; /* widest first: everything is aligned */
    for (size_t w = 0; w < sizeof widths; w++)
        for (uint32_t i = 0; i < m->n_parts; i++)
            if (!m->part[i].text && m->part[i].width == widths[w]) {
                m->part[i].offset = bytes;
                bytes += widths[w];
            }
    bytes = (bytes + 7) & ~7U;
    for (uint32_t i = 0; i < m->n_parts; i++)
        if (m->part[i].text) {
            m->part[i].offset = bytes;
            bytes += (uint32_t)sizeof(alm_view);
            m->any_text = true;
        }
    m->words = ALM_MAX(bytes / 8, 1U);
}

alm_status alm_keymap_new(alm_ctx *cx, alm_pool *pool, const alm_type *types, uint32_t n_keys,
                          alm_keymap **out)
{
    alm_keymap *m = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &m));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &m->part));
    m->pool = pool;
    m->n_parts = n_keys;
    for (uint32_t i = 0; i < n_keys; i++) {
        const alm_type t = types[i];
        const bool symbol = t.id == ALM_T_SYMBOL;
        const bool text = alm_has_views(t);
        m->part[i] = (key_part){.type = t,
                                .text = text && !symbol,
                                .symbol = symbol,
                                .width = symbol ? 4
                                         : text ? 16
                                                : (uint8_t)alm_type_width(t)};
    }
    lay_out(m);
    *out = m;
    return ALM_OK;
}

void alm_keymap_clear(alm_keymap *m)
{
    if (m->slot != NULL)
        memset(m->slot, 0, ((size_t)m->mask + 1) * sizeof *m->slot);
    m->n = 0; /* chunks of text stay with the pool until it goes */
}

uint32_t alm_keymap_count(const alm_keymap *m)
{
    return m->n;
}
uint64_t alm_keymap_hash(const alm_keymap *m, uint32_t number)
{
    return m->hash[number];
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

static void pack_double(const alm_vec *v, uint32_t n, char *restrict to, size_t stride)
{
    const double *from = v->data;
    const size_t step = v->is_const ? 0 : 1;
    for (uint32_t i = 0; i < n; i++) {
        const double x = from[i * step];
        const double one = x == x ? x + 0.0 : __builtin_nan(""); /* -0.0 + 0.0 is 0.0 */
        memcpy(to + i * stride, &one, sizeof one);
    }
}

static void pack_float(const alm_vec *v, uint32_t n, char *restrict to, size_t stride)
{
    const float *from = v->data;
    const size_t step = v->is_const ? 0 : 1;
    for (uint32_t i = 0; i < n; i++) {
        const float x = from[i * step];
        const float one = x == x ? x + 0.0F : __builtin_nanf("");
        memcpy(to + i * stride, &one, sizeof one);
    }
}

static void pack_codes(const alm_vec *v, uint32_t n, char *restrict to, size_t stride)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t code = alm_vec_code(v, i);
        memcpy(to + i * stride, &code, sizeof code);
    }
}

static void pack_text(const alm_vec *v, uint32_t n, char *restrict to, size_t stride)
{
    const alm_view null = {.len = ALM_VIEW_NULL};
    for (uint32_t i = 0; i < n; i++) {
        alm_view view = null;
        if (v->dict != NULL) {
            view = v->dict->views[alm_vec_code(v, i)];
        } else {
            view = ((const alm_view *)v->data)[v->is_const ? 0 : i];
            if (view.len > ALM_VIEW_INLINE && view.len != ALM_VIEW_NULL)
                view.off += (uint64_t)(uintptr_t)v->heap;
        }
        if (view.len == ALM_VIEW_NULL)
            view = null;
        memcpy(to + i * stride, &view, sizeof view);
    }
}

static void pack_part(const key_part *p, const alm_vec *v, uint32_t n, char *to, size_t stride)
{
    if (p->text)
        pack_text(v, n, to, stride);
    else if (p->symbol)
        pack_codes(v, n, to, stride);
    else if (p->type.id == ALM_T_DOUBLE)
        pack_double(v, n, to, stride);
    else if (p->type.id == ALM_T_FLOAT)
        pack_float(v, n, to, stride);
    else if (p->width == 1)
        pack_8(v, n, to, stride);
    else if (p->width == 2)
        pack_16(v, n, to, stride);
    else if (p->width == 4)
        pack_32(v, n, to, stride);
    else if (p->width == 8)
        pack_64(v, n, to, stride);
    else if (p->width == 16)
        pack_128(v, n, to, stride);
    else
        pack_256(v, n, to, stride);
}

enum { END_BYTES = 8192 };

/* Bytes of the long texts and arrays of a packed row. */
static size_t text_bytes(const uint64_t *words)
{
    const uint32_t len = (uint32_t)words[0];
    return len == ALM_VIEW_NULL || len <= 2 * END_BYTES ? 0 : len;
}

static size_t row_text_bytes(const alm_keymap *m, const uint64_t *row)
{
    size_t bytes = 0;
    for (uint32_t i = 0; m->any_text && i < m->n_parts; i++)
        if (m->part[i].text)
            bytes += text_bytes(row + m->part[i].offset / 8);
    return bytes;
}

static bool has_long_texts(const alm_keymap *m, const uint64_t *rows, uint32_t n)
{
    uint32_t any = 0;
    for (uint32_t p = 0; p < m->n_parts; p++) {
        const uint64_t *at = rows + m->part[p].offset / 8;
        for (uint32_t i = 0; m->part[p].text && i < n; i++, at += m->words)
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
    alm_view v;
    memcpy(&v, words, sizeof v);
    if (v.len <= ALM_VIEW_INLINE || v.len == ALM_VIEW_NULL)
        return alm_hash_u128(words[0], words[1]);
    const char *text = alm_view_ptr(&v, NULL);
    return v.len <= 2 * END_BYTES ? alm_hash_bytes(text, v.len) : long_text_hash(text, v.len);
}

static uint64_t row_hash(const alm_keymap *m, const uint64_t *row)
{
    uint64_t hash = m->words;
    uint32_t fixed = m->words;
    for (uint32_t i = 0; i < m->n_parts; i++)
        if (m->part[i].text) {
            fixed -= 2;
            hash = alm_hash_combine(hash, text_hash(row + m->part[i].offset / 8));
        }
    for (uint32_t w = 0; w < fixed; w++)
        hash = alm_hash_combine(hash, row[w]);
    return hash;
}

static void hash_rows(const alm_keymap *m, const uint64_t *row, uint32_t n, uint64_t *hash)
{
    if (m->words == 1)
        for (uint32_t i = 0; i < n; i++)
            hash[i] = alm_hash_u64(row[i]);
    else if (m->words == 2 && !m->any_text)
        for (uint32_t i = 0; i < n; i++)
            hash[i] = alm_hash_u128(row[2 * i], row[2 * i + 1]);
    else if (m->n_parts == 1 && m->any_text)
        for (uint32_t i = 0; i < n; i++)
            hash[i] = text_hash(row + 2 * i);
    else
        for (uint32_t i = 0; i < n; i++)
            hash[i] = row_hash(m, row + (size_t)i * m->words);
}

static void pack_rows(const alm_keymap *m, const alm_vec *keys, uint32_t n, uint64_t *row,
                      uint64_t *hash)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < m->n_parts; i++)
        used += m->part[i].text ? 16 : m->part[i].width;
    if (used != m->words * 8 && n > 0) /* padding takes part in comparisons */
        memset(row, 0, (size_t)n * m->words * 8);
    for (uint32_t i = 0; i < m->n_parts; i++)
        pack_part(&m->part[i], &keys[i], n, (char *)row + m->part[i].offset, (size_t)m->words * 8);
    hash_rows(m, row, n, hash);
}

static alm_status pack_batch(alm_ctx *cx, alm_keymap *m, const alm_vec *keys, uint32_t n)
{
    if (n > m->batch_cap) {
        ALM_TRY(alm_pool_grow(cx, m->pool, &m->batch_row, 0, (size_t)n * m->words * 8));
        ALM_TRY(alm_pool_grow(cx, m->pool, &m->batch_hash, 0, (size_t)n * 8));
        m->batch_cap = n;
    }
    pack_rows(m, keys, n, m->batch_row, m->batch_hash);
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

static bool rows_equal(const alm_keymap *m, const uint64_t *a, const uint64_t *b)
{
    uint32_t fixed = m->words;
    for (uint32_t i = 0; m->any_text && i < m->n_parts; i++)
        if (m->part[i].text) {
            fixed -= 2;
            if (!text_equal(a + m->part[i].offset / 8, b + m->part[i].offset / 8))
                return false;
        }
    for (uint32_t w = 0; w < fixed; w++)
        if (a[w] != b[w])
            return false;
    return true;
}

/* ------------------------------------------------------------------------------ growth */

static alm_status grow_slots(alm_ctx *cx, alm_keymap *m)
{
    const size_t size = m->slot == NULL ? SLOTS_MIN : 4 * ((size_t)m->mask + 1);
    uint64_t *slot = NULL;
    if (size > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "%s: too many distinct keys", m->pool->who);
    ALM_TRY(alm_pool_zero(cx, m->pool, size * sizeof *slot, &slot));
    alm_pool_free(m->pool, m->slot);
    m->slot = slot;
    m->mask = (uint32_t)(size - 1);
    for (uint32_t k = 0; k < m->n; k++) {
        uint32_t at = (uint32_t)m->hash[k] & m->mask;
        while (slot[at] != 0)
            at = (at + 1) & m->mask;
        slot[at] = (m->hash[k] & 0xffffffff00000000U) | (k + 1);
    }
    return ALM_OK;
}

static alm_status grow_rows(alm_ctx *cx, alm_keymap *m)
{
    const uint32_t cap = m->cap == 0 ? 128 : 2 * m->cap;
    ALM_TRY(alm_pool_grow(cx, m->pool, &m->row, (size_t)m->n * m->words * 8,
                          (size_t)cap * m->words * 8));
    ALM_TRY(alm_pool_grow(cx, m->pool, &m->hash, (size_t)m->n * 8, (size_t)cap * 8));
    m->cap = cap;
    return ALM_OK;
}

static alm_status own_texts(alm_ctx *cx, alm_keymap *m, uint64_t *row)
{
    for (uint32_t i = 0; i < m->n_parts; i++) {
        if (!m->part[i].text)
            continue;
        alm_view v;
        memcpy(&v, row + m->part[i].offset / 8, sizeof v);
        if (v.len <= ALM_VIEW_INLINE || v.len == ALM_VIEW_NULL)
            continue;
        if (v.len > m->text_left) {
            const size_t bytes = ALM_MAX((size_t)TEXT_CHUNK, v.len);
            ALM_TRY(alm_pool_alloc(cx, m->pool, bytes, &m->text));
            m->text_left = bytes;
        }
        memcpy(m->text, alm_view_ptr(&v, NULL), v.len);
        v.off = (uint64_t)(uintptr_t)m->text;
        m->text += v.len;
        m->text_left -= v.len;
        memcpy(row + m->part[i].offset / 8, &v, sizeof v);
    }
    return ALM_OK;
}

/* memcpy of a few words, without the call */
static inline void copy_words(uint64_t *restrict to, const uint64_t *restrict from, uint32_t words)
{
    to[0] = from[0];
    for (uint32_t w = 1; w < words; w++)
        to[w] = from[w];
}

static alm_status append_key(alm_ctx *cx, alm_keymap *m, const uint64_t *row, uint64_t hash)
{
    if (m->long_texts)
        ALM_TRY(alm_text_work(cx, row_text_bytes(m, row)));
    if (m->n == m->cap)
        ALM_TRY(grow_rows(cx, m));
    uint64_t *to = m->row + (size_t)m->n * m->words;
    copy_words(to, row, m->words);
    if (m->any_text)
        ALM_TRY(own_texts(cx, m, to));
    m->hash[m->n++] = hash;
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
                    ALM_TRY(grow_slots(cx, m));                                                    \
            }                                                                                      \
            number[i] = found;                                                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
DEFINE_ADD(one, 1, PREFETCH_SLOT, 0, m->row[k] == r[0])
DEFINE_ADD(two, 2, PREFETCH_SLOT, 0,
           m->row[2 * (size_t)k] == r[0] && m->row[2 * (size_t)k + 1] == r[1])
/* A text: its own bytes, and those of the key in the first slot, are called for ahead of time. */
static inline void prefetch_text(const alm_keymap *m, const uint64_t *rows, const uint64_t *hash,
                                 uint32_t i, uint32_t n)
{
    if (i + 3 * PREFETCH < n)
        __builtin_prefetch(&m->slot[(uint32_t)hash[i + 3 * PREFETCH] & m->mask]);
    if (i + 2 * PREFETCH < n) {
        const uint32_t k = (uint32_t)m->slot[(uint32_t)hash[i + 2 * PREFETCH] & m->mask];
        if (k != 0)
            __builtin_prefetch(m->row + 2 * (size_t)(k - 1));
    }
    if (i + PREFETCH < n) {
        const uint64_t *r = rows + 2 * (size_t)(i + PREFETCH);
        const uint32_t k = (uint32_t)m->slot[(uint32_t)hash[i + PREFETCH] & m->mask];
        const uint32_t len = (uint32_t)r[0];
        if (k == 0 || len <= ALM_VIEW_INLINE || len == ALM_VIEW_NULL)
            return;
        __builtin_prefetch((const void *)(uintptr_t)r[1]);
        __builtin_prefetch((const void *)(uintptr_t)(r[1] + len - 1));
        const uint64_t *known = m->row + 2 * (size_t)(k - 1);
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

static alm_status add_rows(alm_ctx *cx, alm_keymap *m, const uint64_t *rows, const uint64_t *hash,
                           uint32_t n, bool add, uint32_t *number)
{
    if (m->slot == NULL)
        ALM_TRY(grow_slots(cx, m));
    m->long_texts = m->any_text && has_long_texts(m, rows, n);
    if (m->words == 1)
        return add_one(cx, m, rows, hash, n, add, number);
    if (m->words == 2 && !m->any_text)
        return add_two(cx, m, rows, hash, n, add, number);
    if (m->n_parts == 1 && m->any_text)
        return add_text(cx, m, rows, hash, n, add, number);
    return add_any(cx, m, rows, hash, n, add, number);
}

/* ----------------------------------------------------------------- symbols: codes or text */

/* Rebuilds the map with symbol part `p` as text; numbers stay. */
static alm_status symbols_to_text(alm_ctx *cx, alm_keymap *m, uint32_t p)
{
    alm_keymap old = *m;
    key_part *part = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, m->n_parts + 1, &part));
    memcpy(part, old.part, m->n_parts * sizeof *part);
    part[p].text = true;
    part[p].width = 16;
    part[p].settled = true;
    m->part = part;
    lay_out(m);
    m->long_texts = true;
    m->row = m->hash = m->slot = NULL;
    m->batch_row = m->batch_hash = NULL;
    m->n = m->cap = m->batch_cap = m->mask = 0;
    uint64_t *row = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, m->words, &row));
    for (uint32_t k = 0; k < old.n; k++) {
        const char *from = (const char *)(old.row + (size_t)k * old.words);
        memset(row, 0, (size_t)m->words * 8);
        for (uint32_t i = 0; i < m->n_parts; i++) {
            char *to = (char *)row + m->part[i].offset;
            uint32_t code = 0;
            if (i == p) {
                memcpy(&code, from + old.part[i].offset, sizeof code);
                memcpy(to, &old.part[i].dict->views[code], sizeof(alm_view));
            } else {
                memcpy(to, from + old.part[i].offset, m->part[i].text ? 16 : m->part[i].width);
            }
        }
        ALM_TRY(append_key(cx, m, row, row_hash(m, row)));
    }
    hash_rows(m, m->row, m->n, m->hash); /* the fast paths hash in their own way */
    m->mask = SLOTS_MIN - 1;
    while ((m->mask + 1) / 4 <= m->n)
        m->mask = 2 * m->mask + 1;
    m->mask = (m->mask + 1) / 4 - 1; /* grow_slots takes four times as many */
    m->slot = old.slot;
    ALM_TRY(grow_slots(cx, m));
    alm_pool_free(m->pool, old.row);
    alm_pool_free(m->pool, old.hash);
    alm_pool_free(m->pool, old.batch_row);
    alm_pool_free(m->pool, old.batch_hash);
    return ALM_OK;
}

static alm_status settle_symbols(alm_ctx *cx, alm_keymap *m, const alm_vec *keys)
{
    for (uint32_t i = 0; i < m->n_parts; i++) {
        key_part *p = &m->part[i];
        if (!p->symbol || p->text)
            continue;
        if (!p->settled && keys[i].dict != NULL) {
            p->dict = keys[i].dict;
            p->settled = true;
        } else if (keys[i].dict == NULL || keys[i].dict->id != p->dict->id) {
            ALM_TRY(symbols_to_text(cx, m, i));
        } else if (keys[i].dict->count > p->dict->count) {
            p->dict = keys[i].dict; /* the same dictionary, grown */
        }
    }
    return ALM_OK;
}

alm_status alm_keymap_settle(alm_ctx *cx, alm_keymap *m, const alm_vec *keys)
{
    return settle_symbols(cx, m, keys);
}

void alm_keymap_pack_batch(const alm_keymap *m, const alm_vec *keys, uint32_t n, uint64_t *rows,
                           uint64_t *hashes)
{
    pack_rows(m, keys, n, rows, hashes);
}

void alm_keymap_hash_packed(const alm_keymap *m, const uint64_t *rows, uint32_t n, uint64_t *hashes)
{
    hash_rows(m, rows, n, hashes);
}

uint32_t alm_keymap_text_words(const alm_keymap *m, uint32_t *at)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_parts; i++)
        if (m->part[i].text)
            at[n++] = m->part[i].offset / 8;
    return n;
}

alm_status alm_keymap_add(alm_ctx *cx, alm_keymap *m, const alm_vec *keys, uint32_t n,
                          uint32_t *number)
{
    ALM_TRY(settle_symbols(cx, m, keys));
    ALM_TRY(pack_batch(cx, m, keys, n));
    return add_rows(cx, m, m->batch_row, m->batch_hash, n, true, number);
}

alm_status alm_keymap_find(alm_ctx *cx, alm_keymap *m, const alm_vec *keys, uint32_t n,
                           uint32_t *number)
{
    ALM_TRY(settle_symbols(cx, m, keys));
    ALM_TRY(pack_batch(cx, m, keys, n));
    return add_rows(cx, m, m->batch_row, m->batch_hash, n, false, number);
}

const alm_dict *alm_keymap_dict(const alm_keymap *m, uint32_t key)
{
    const key_part *p = &m->part[key];
    return p->symbol && !p->text ? p->dict : NULL;
}

alm_status alm_keymap_probe(alm_ctx *cx, const alm_keymap *m, alm_arena *arena, const alm_vec *keys,
                            uint32_t n, uint32_t *number)
{
    uint64_t *row = NULL, *hash = NULL;
    if (m->slot == NULL || n == 0) { /* no key was ever added */
        memset(number, 0xff, n * sizeof *number);
        return ALM_OK;
    }
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * m->words * 8, &row));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * sizeof *hash, &hash));
    pack_rows(m, keys, n, row, hash);
    alm_keymap same = *m; /* look-ups change nothing */
    return add_rows(cx, &same, row, hash, n, false, number);
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

alm_status alm_keymap_values(alm_ctx *cx, const alm_keymap *m, alm_arena *arena, uint32_t key,
                             uint32_t at, const uint32_t *pick, uint32_t n, alm_vec *out)
{
    const key_part *p = &m->part[key];
    const uint8_t width = p->text ? (uint8_t)sizeof(alm_view) : p->width;
    void *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)ALM_MAX(n, 1U) * width, &data));
    const char *from = (const char *)m->row + p->offset;
    const size_t stride = (size_t)m->words * 8;
    if (width == 1)
        unpack_8(from, stride, at, pick, n, data);
    else if (width == 2)
        unpack_16(from, stride, at, pick, n, data);
    else if (width == 4)
        unpack_32(from, stride, at, pick, n, data);
    else if (width == 8)
        unpack_64(from, stride, at, pick, n, data);
    else if (width == 16)
        unpack_128(from, stride, at, pick, n, data);
    else
        unpack_256(from, stride, at, pick, n, data);
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

static alm_status add_vectors_from(alm_ctx *cx, alm_keymap *m, const alm_keymap *from,
                                   const uint32_t *pick, uint32_t n, uint32_t *number)
{
    alm_arena arena;
    alm_vec *keys = NULL;
    alm_arena_init(&arena, cx->mem);
    alm_status st = ALM_NEWN(cx, &arena, m->n_parts + 1, &keys);
    for (uint32_t i = 0; i < m->n_parts && st == ALM_OK; i++)
        st = alm_keymap_values(cx, from, &arena, i, 0, pick, n, &keys[i]);
    if (st == ALM_OK)
        st = alm_keymap_add(cx, m, keys, n, number);
    alm_arena_deinit(&arena);
    return st;
}

/* An unused map takes the form of the other. */
static void adopt_form(alm_keymap *m, const alm_keymap *from)
{
    if (m->n > 0 || m->slot != NULL)
        return;
    memcpy(m->part, from->part, m->n_parts * sizeof *m->part);
    m->words = from->words;
    m->any_text = from->any_text;
}

alm_status alm_keymap_add_from(alm_ctx *cx, alm_keymap *m, const alm_keymap *from,
                               const uint32_t *pick, uint32_t n, uint32_t *number)
{
    adopt_form(m, from);
    if (!same_form(m, from))
        return add_vectors_from(cx, m, from, pick, n, number);
    if (n > m->batch_cap) {
        ALM_TRY(alm_pool_grow(cx, m->pool, &m->batch_row, 0, (size_t)n * m->words * 8));
        ALM_TRY(alm_pool_grow(cx, m->pool, &m->batch_hash, 0, (size_t)n * 8));
        m->batch_cap = n;
    }
    alm_keymap_pack(from, pick, n, m->batch_row, m->batch_hash);
    return add_rows(cx, m, m->batch_row, m->batch_hash, n, true, number);
}

uint32_t alm_keymap_words(const alm_keymap *m)
{
    return m->words;
}

void alm_keymap_pack(const alm_keymap *m, const uint32_t *pick, uint32_t n, uint64_t *rows,
                     uint64_t *hashes)
{
    const uint32_t words = m->words;
    for (uint32_t i = 0; i < n; i++) {
        copy_words(rows + (size_t)i * words, m->row + (size_t)pick[i] * words, words);
        hashes[i] = m->hash[pick[i]];
    }
}

alm_status alm_keymap_add_packed(alm_ctx *cx, alm_keymap *m, const alm_keymap *from,
                                 const uint64_t *rows, const uint64_t *hashes, uint32_t n,
                                 uint32_t *number)
{
    adopt_form(m, from);
    ALM_ASSERT(same_form(m, from));
    return add_rows(cx, m, rows, hashes, n, true, number);
}
