/*
 * value.c - hash, equality and order of values.
 *
 * One loop per alm_value_form of element, reached through a switch on the type. Before they are hashed or
 * compared, floating values are made canonical (one null, one zero).
 */
#include "type/value.h"

#include "base/hash.h"
#include "type/int256.h"
#include "type/text.h"

const uint8_t alm_type_forms[ALM_TYPE_COUNT] = {
    [ALM_T_NULL] = ALM_FORM_VIEW,
#define ALM_TYPE(id, name, width, null, form, ...) [ALM_T_##id] = ALM_FORM_##form,
#include "type/type.def"
#undef ALM_TYPE
};

#define F64_NULL_BITS UINT64_C(0x7FF8000000000000)
#define F32_NULL_BITS UINT32_C(0x7FC00000)

/* Bits of a floating value with one null and one zero; equal values have equal bits. */
static inline uint64_t canonical64(uint64_t bits)
{
    const bool is_null = (bits & UINT64_C(0x7FF0000000000000)) == UINT64_C(0x7FF0000000000000);
    return is_null ? F64_NULL_BITS : (bits << 1) == 0 ? 0 : bits;
}
static inline uint32_t canonical32(uint32_t bits)
{
    const bool is_null = (bits & UINT32_C(0x7F800000)) == UINT32_C(0x7F800000);
    return is_null ? F32_NULL_BITS : (bits << 1) == 0 ? 0 : bits;
}

/* -------------------------------------------------------------------- hash */

static inline uint64_t hash_u8(uint8_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(value);
}
static inline uint64_t hash_u16(uint16_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(value);
}
static inline uint64_t hash_u32(uint32_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(value);
}
static inline uint64_t hash_u64(uint64_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(value);
}
static inline uint64_t hash_f32(uint32_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(canonical32(value));
}
static inline uint64_t hash_f64(uint64_t value, const char *heap)
{
    (void)heap;
    return alm_hash_u64(canonical64(value));
}
static inline uint64_t hash_uuid(alm_uuid uuid, const char *heap)
{
    (void)heap;
    return alm_hash_u128(uuid.hi, uuid.lo);
}
static inline uint64_t hash_256(alm_i256 value, const char *heap)
{
    (void)heap;
    return alm_hash_combine(alm_hash_u128(value.w[3], value.w[2]),
                            alm_hash_u128(value.w[1], value.w[0]));
}
/* Short text is hashed as the 16 bytes of its view: length, prefix and zero-filled tail. */
static inline uint64_t type_value_hash_view(alm_view view, const char *heap)
{
    if (alm_view_is_null(&view))
        return alm_hash_u64(ALM_VIEW_NULL);
    if (view.len <= ALM_VIEW_INLINE) {
        uint64_t head;
        memcpy(&head, &view, sizeof(head));
        return alm_hash_u128(head, view.off);
    }
    return alm_hash_bytes(alm_view_ptr(&view, heap), view.len);
}

#define DEFINE_HASH(name, elem, one)                                                               \
    static void name##_all(const elem *restrict x, const char *heap, size_t n,                     \
                           uint64_t *restrict hash)                                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            hash[i] = one(x[i], heap);                                                             \
    }                                                                                              \
    static void name##_more(const elem *restrict x, const char *heap, size_t n,                    \
                            uint64_t *restrict hash)                                               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            hash[i] = alm_hash_combine(hash[i], one(x[i], heap));                                  \
    }
DEFINE_HASH(u8, uint8_t, hash_u8)
DEFINE_HASH(u16, uint16_t, hash_u16)
DEFINE_HASH(u32, uint32_t, hash_u32)
DEFINE_HASH(u64, uint64_t, hash_u64)
DEFINE_HASH(f32, uint32_t, hash_f32)
DEFINE_HASH(f64, uint64_t, hash_f64)
DEFINE_HASH(uuid, alm_uuid, hash_uuid)
DEFINE_HASH(i256, alm_i256, hash_256)
DEFINE_HASH(view, alm_view, type_value_hash_view)

static void hash_column(const alm_vec *vec, size_t n_rows, bool combine, uint64_t *hash)
{
    const void *x = vec->data;
    const char *h = vec->heap;
    switch (alm_vec_form(vec)) {
    case ALM_FORM_U8:
    case ALM_FORM_I8:
        combine ? u8_more(x, h, n_rows, hash) : u8_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_U16:
    case ALM_FORM_I16:
        combine ? u16_more(x, h, n_rows, hash) : u16_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_U32:
    case ALM_FORM_I32:
        combine ? u32_more(x, h, n_rows, hash) : u32_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_I64:
        combine ? u64_more(x, h, n_rows, hash) : u64_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_F32:
        combine ? f32_more(x, h, n_rows, hash) : f32_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_F64:
        combine ? f64_more(x, h, n_rows, hash) : f64_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_UUID:
    case ALM_FORM_INTERVAL:
    case ALM_FORM_I128:
        combine ? uuid_more(x, h, n_rows, hash) : uuid_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_I256:
    case ALM_FORM_U256:
        combine ? i256_more(x, h, n_rows, hash) : i256_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_VIEW:
        combine ? view_more(x, h, n_rows, hash) : view_all(x, h, n_rows, hash);
        return;
    case ALM_FORM_NONE:
    case ALM_FORM_SIZED:
        break;
    }
    ALM_UNREACHABLE("a form of values");
}

void alm_vec_hash(const alm_vec *vec, size_t n_rows, uint64_t *hash)
{
    if (!vec->is_const) {
        hash_column(vec, n_rows, false, hash);
        return;
    }
    uint64_t one;
    hash_column(vec, 1, false, &one);
    for (size_t i = 0; i < n_rows; i++)
        hash[i] = one;
}

void alm_vec_hash_combine(const alm_vec *vec, size_t n_rows, uint64_t *hash)
{
    if (!vec->is_const) {
        hash_column(vec, n_rows, true, hash);
        return;
    }
    uint64_t one;
    hash_column(vec, 1, false, &one);
    for (size_t i = 0; i < n_rows; i++)
        hash[i] = alm_hash_combine(hash[i], one);
}

/* ------------------------------------------------------------------- match */

/* One side of a match: the element of number k is data[index ? index[k] : k], or data[0]. */
typedef struct side {
    const void *data;
    const char *heap;
    const uint32_t *index;
    bool is_const;
} side;

static inline size_t side_at(const side *half, size_t k)
{
    return half->is_const ? 0 : half->index != NULL ? half->index[k] : k;
}

#define DEFINE_MATCH(name, elem, equal)                                                            \
    static void match_##name(const side *a, const side *b, size_t n, uint8_t *match)               \
    {                                                                                              \
        const elem *x = a->data, *y = b->data;                                                     \
        for (size_t k = 0; k < n; k++) {                                                           \
            const elem *p = &x[side_at(a, k)], *q = &y[side_at(b, k)];                             \
            match[k] = (uint8_t)(match[k] & (equal));                                              \
        }                                                                                          \
    }
DEFINE_MATCH(8, uint8_t, *p == *q)
DEFINE_MATCH(16, uint16_t, *p == *q)
DEFINE_MATCH(32, uint32_t, *p == *q)
DEFINE_MATCH(64, uint64_t, *p == *q)
DEFINE_MATCH(f32, uint32_t, canonical32(*p) == canonical32(*q))
DEFINE_MATCH(f64, uint64_t, canonical64(*p) == canonical64(*q))
DEFINE_MATCH(128, alm_uuid, (p->hi == q->hi) & (p->lo == q->lo))
DEFINE_MATCH(256, alm_i256, alm_i256_eq(*p, *q))
DEFINE_MATCH(view, alm_view, alm_view_eq(p, a->heap, q, b->heap))

void alm_vec_match(const alm_vec *a, const uint32_t *ia, const alm_vec *b, const uint32_t *ib,
                   size_t n_rows, uint8_t *match)
{
    const side left = {a->data, a->heap, ia, a->is_const};
    const side right = {b->data, b->heap, ib, b->is_const};
    const bool codes = a->dict != NULL && b->dict != NULL;
    ALM_DASSERT((a->dict == NULL) == (b->dict == NULL));
    ALM_DASSERT(!codes || a->dict->id == b->dict->id);
    if (codes && a->width != b->width) { /* code widths are chosen part by part */
        for (size_t k = 0; k < n_rows; k++)
            match[k] = (uint8_t)(match[k] & (alm_vec_code(a, side_at(&left, k)) ==
                                             alm_vec_code(b, side_at(&right, k))));
        return;
    }
    const alm_value_form of = alm_vec_form(a);
    ALM_DASSERT(of == alm_vec_form(b));
    switch (of) {
    case ALM_FORM_U8:
    case ALM_FORM_I8:
        match_8(&left, &right, n_rows, match);
        return;
    case ALM_FORM_U16:
    case ALM_FORM_I16:
        match_16(&left, &right, n_rows, match);
        return;
    case ALM_FORM_U32:
    case ALM_FORM_I32:
        match_32(&left, &right, n_rows, match);
        return;
    case ALM_FORM_I64:
        match_64(&left, &right, n_rows, match);
        return;
    case ALM_FORM_F32:
        match_f32(&left, &right, n_rows, match);
        return;
    case ALM_FORM_F64:
        match_f64(&left, &right, n_rows, match);
        return;
    case ALM_FORM_UUID:
    case ALM_FORM_INTERVAL:
    case ALM_FORM_I128:
        match_128(&left, &right, n_rows, match);
        return;
    case ALM_FORM_I256:
    case ALM_FORM_U256:
        match_256(&left, &right, n_rows, match);
        return;
    case ALM_FORM_VIEW:
        match_view(&left, &right, n_rows, match);
        return;
    case ALM_FORM_NONE:
    case ALM_FORM_SIZED:
        break;
    }
    ALM_UNREACHABLE("a form of values");
}

/* --------------------------------------------------------------- sort keys */

/* Flips a sign bit so that unsigned order is signed order. */
static inline uint64_t key_signed(int64_t value)
{
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

/* Negative numbers downwards, null above all. */
static inline uint64_t key_f64(uint64_t bits)
{
    const uint64_t c = canonical64(bits);
    return c >> 63 != 0 ? ~c : c | (UINT64_C(1) << 63);
}
static inline uint64_t key_f32(uint32_t bits)
{
    const uint32_t c = canonical32(bits);
    return c >> 31 != 0 ? ~c : c | (UINT32_C(1) << 31);
}

/* The first eight bytes, big-endian. Null is 0; the empty text, which has no bytes, is 1 (as a text
 * of zero bytes is): equal keys are compared anyway. */
static inline uint64_t key_view(const alm_view *view, const char *heap)
{
    if (alm_view_is_null(view))
        return 0;
    uint64_t first = 0;
    if (view->len <= ALM_VIEW_INLINE)
        memcpy(&first, (const char *)view + offsetof(alm_view, prefix), sizeof(first));
    else
        memcpy(&first, alm_view_ptr(view, heap), sizeof(first));
    first = __builtin_bswap64(first);
    return first == 0 ? 1 : first;
}

#define DEFINE_KEYS(name, elem, key)                                                               \
    static void keys_##name(const void *data, const char *heap, size_t n, uint64_t *restrict keys) \
    {                                                                                              \
        const elem *restrict x = data;                                                             \
        (void)heap;                                                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            keys[i] = key;                                                                         \
    }
DEFINE_KEYS(u8, uint8_t, x[i])
DEFINE_KEYS(i8, int8_t, key_signed(x[i]))
DEFINE_KEYS(u16, uint16_t, x[i])
DEFINE_KEYS(i16, int16_t, key_signed(x[i]))
DEFINE_KEYS(u32, uint32_t, x[i])
DEFINE_KEYS(i32, int32_t, key_signed(x[i]))
DEFINE_KEYS(i64, int64_t, key_signed(x[i]))
DEFINE_KEYS(f32, uint32_t, key_f32(x[i]))
DEFINE_KEYS(f64, uint64_t, key_f64(x[i]))
DEFINE_KEYS(uuid, alm_uuid, alm_uuid_is_null(x[i]) ? 0 : x[i].hi)
DEFINE_KEYS(interval, alm_interval_us, key_signed(x[i].lo_us))
DEFINE_KEYS(i128, alm_interval_us, key_signed(x[i].hi_us)) /* the second word is the high one */
DEFINE_KEYS(i256, alm_i256, key_signed((int64_t)x[i].w[3]))
DEFINE_KEYS(u256, alm_i256, alm_long256_is_null(x[i]) ? 0 : x[i].w[3])
DEFINE_KEYS(view, alm_view, key_view(&x[i], heap))

/* Symbols sort by text: the keys of the dictionary's texts, looked up by code. */
static void keys_symbol(const alm_vec *vec, size_t n_rows, uint64_t *keys)
{
    const alm_view *views = vec->dict->views;
    for (size_t i = 0; i < n_rows; i++)
        keys[i] = key_view(&views[alm_vec_code(vec, i)], NULL);
}

static void sort_keys(const alm_vec *vec, alm_value_form of, size_t n_rows, uint64_t *keys)
{
    static void (*const all[])(const void *, const char *, size_t, uint64_t *) = {
        [ALM_FORM_U8] = keys_u8,     [ALM_FORM_I8] = keys_i8,
        [ALM_FORM_U16] = keys_u16,   [ALM_FORM_I16] = keys_i16,
        [ALM_FORM_U32] = keys_u32,   [ALM_FORM_I32] = keys_i32,
        [ALM_FORM_I64] = keys_i64,   [ALM_FORM_F32] = keys_f32,
        [ALM_FORM_F64] = keys_f64,   [ALM_FORM_UUID] = keys_uuid,
        [ALM_FORM_VIEW] = keys_view, [ALM_FORM_INTERVAL] = keys_interval,
        [ALM_FORM_I128] = keys_i128, [ALM_FORM_I256] = keys_i256,
        [ALM_FORM_U256] = keys_u256,
    };
    if (vec->dict != NULL)
        keys_symbol(vec, n_rows, keys);
    else
        all[of](vec->data, vec->heap, n_rows, keys);
}

/* Do different values have equal keys? */
static bool has_ties(alm_value_form of)
{
    return of == ALM_FORM_VIEW || of == ALM_FORM_UUID || of == ALM_FORM_INTERVAL ||
           of == ALM_FORM_I128 || of == ALM_FORM_I256 || of == ALM_FORM_U256;
}

bool alm_vec_sort_keys(const alm_vec *vec, size_t n_rows, uint64_t *keys)
{
    const alm_value_form of = alm_vec_form(vec);
    if (n_rows > 0)
        sort_keys(vec, of, vec->is_const ? 1 : n_rows, keys);
    for (size_t i = 1; vec->is_const && i < n_rows; i++)
        keys[i] = keys[0];
    return vec->dict == NULL && !has_ties(of);
}

/* ----------------------------------------------------------- single values */

static const void *type_value_element(const alm_vec *vec, size_t i)
{
    return (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width;
}

static int type_value_compare_text(const alm_vec *a, size_t i, const alm_vec *b, size_t j)
{
    const alm_view *x =
        a->dict != NULL ? &a->dict->views[alm_vec_code(a, i)] : type_value_element(a, i);
    const alm_view *y =
        b->dict != NULL ? &b->dict->views[alm_vec_code(b, j)] : type_value_element(b, j);
    return alm_view_cmp(x, a->dict != NULL ? NULL : a->heap, y, b->dict != NULL ? NULL : b->heap);
}

static bool type_value_is_text(const alm_vec *vec)
{
    return alm_type_forms[vec->type.id] == ALM_FORM_VIEW && vec->type.id != ALM_T_ARRAY;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Two of 16 or 32 bytes whose keys are equal. */
static int compare_wide(alm_value_form of, const void *a, const void *b)
{
    const alm_uuid *uuid = a, *q = b;
    if (of == ALM_FORM_I256)
        return alm_i256_cmp(*(const alm_i256 *)a, *(const alm_i256 *)b);
    if (of == ALM_FORM_I128) /* the words of a number, the low one first */
        return compare_u64(uuid->hi, q->hi);
    if (of == ALM_FORM_INTERVAL)
        return compare_u64(key_signed((int64_t)uuid->lo), key_signed((int64_t)q->lo));
    const alm_i256 *x = a, *y = b;
    const bool wide = of == ALM_FORM_U256;
    const bool null_a = wide ? alm_long256_is_null(*x) : alm_uuid_is_null(*uuid);
    const bool null_b = wide ? alm_long256_is_null(*y) : alm_uuid_is_null(*q);
    if (null_a || null_b)
        return (int)null_b - (int)null_a;
    return wide ? alm_u256_cmp(*x, *y) : compare_u64(uuid->lo, q->lo);
}

int alm_vec_compare(const alm_vec *a, size_t i, const alm_vec *b, size_t j)
{
    if (type_value_is_text(a) && type_value_is_text(b))
        return type_value_compare_text(a, i, b, j);
    ALM_DASSERT(a->type.id == b->type.id);
    const alm_value_form of = alm_vec_form(a);
    const alm_vec one_a = {.type = a->type, .width = a->width, .data = a->data};
    const alm_vec one_b = {.type = b->type, .width = b->width, .data = b->data};
    alm_vec x = one_a, y = one_b;
    x.data = (char *)x.data + (a->is_const ? 0 : i) * a->width;
    y.data = (char *)y.data + (b->is_const ? 0 : j) * b->width;
    uint64_t key_a = 0, key_b = 0;
    sort_keys(&x, of, 1, &key_a);
    sort_keys(&y, of, 1, &key_b);
    if (key_a != key_b || !has_ties(of))
        return compare_u64(key_a, key_b);
    return compare_wide(of, x.data, y.data);
}

bool alm_vec_equal(const alm_vec *a, size_t i, const alm_vec *b, size_t j)
{
    return alm_vec_compare(a, i, b, j) == 0;
}

/* ------------------------------------------------------------------- nulls */

#define DEFINE_NULLS(name, elem, is_null)                                                          \
    static size_t nulls_##name(const void *data, size_t n, uint8_t *restrict out)                  \
    {                                                                                              \
        const elem *restrict x = data;                                                             \
        size_t count = 0;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            out[i] = is_null;                                                                      \
            count += out[i];                                                                       \
        }                                                                                          \
        return count;                                                                              \
    }
DEFINE_NULLS(code8, uint8_t, x[i] == 0)
DEFINE_NULLS(min8, int8_t, x[i] == INT8_MIN)
DEFINE_NULLS(min16, int16_t, x[i] == INT16_MIN)
DEFINE_NULLS(zero16, uint16_t, x[i] == 0)
DEFINE_NULLS(zero32, uint32_t, x[i] == 0)
DEFINE_NULLS(i32, int32_t, x[i] == ALM_INT_NULL)
DEFINE_NULLS(i64, int64_t, x[i] == ALM_LONG_NULL)
DEFINE_NULLS(f32, uint32_t, (x[i] & UINT32_C(0x7F800000)) == UINT32_C(0x7F800000))
DEFINE_NULLS(f64, uint64_t, (x[i] & UINT64_C(0x7FF0000000000000)) == UINT64_C(0x7FF0000000000000))
DEFINE_NULLS(long2, alm_uuid, alm_uuid_is_null(x[i]))
DEFINE_NULLS(min128, alm_interval_us, x[i].lo_us == 0 && x[i].hi_us == INT64_MIN)
DEFINE_NULLS(min256, alm_i256, alm_i256_is_min(x[i]))
DEFINE_NULLS(long4, alm_i256, alm_long256_is_null(x[i]))
DEFINE_NULLS(view, alm_view, alm_view_is_null(&x[i]))

static size_t nulls_none(const void *data, size_t n, uint8_t *restrict out)
{
    (void)data;
    memset(out, 0, n);
    return 0;
}

size_t alm_vec_null_mask(const alm_vec *vec, size_t n_rows, uint8_t *out)
{
    static size_t (*const all[])(const void *, size_t, uint8_t *) = {
        [ALM_NULL_NONE] = nulls_none,     [ALM_NULL_INT] = nulls_i32,
        [ALM_NULL_LONG] = nulls_i64,      [ALM_NULL_NAN32] = nulls_f32,
        [ALM_NULL_NAN64] = nulls_f64,     [ALM_NULL_ZERO16] = nulls_zero16,
        [ALM_NULL_ZERO32] = nulls_zero32, [ALM_NULL_VIEW] = nulls_view,
        [ALM_NULL_LONG2] = nulls_long2,   [ALM_NULL_CODE] = nulls_view,
        [ALM_NULL_MIN8] = nulls_min8,     [ALM_NULL_MIN16] = nulls_min16,
        [ALM_NULL_MIN128] = nulls_min128, [ALM_NULL_MIN256] = nulls_min256,
        [ALM_NULL_LONG4] = nulls_long4,
    };
    ALM_DASSERT(!vec->indirect);
    if (n_rows == 0)
        return 0;
    const size_t count = vec->is_const ? 1 : n_rows;
    size_t nulls;
    if (vec->dict != NULL)
        nulls = vec->width == 1   ? nulls_code8(vec->data, count, out)
                : vec->width == 2 ? nulls_zero16(vec->data, count, out)
                                  : nulls_zero32(vec->data, count, out);
    else
        nulls = all[alm_type_info_of(vec->type)->null](vec->data, count, out);
    if (!vec->is_const)
        return nulls;
    memset(out, out[0], n_rows);
    return nulls * n_rows;
}
