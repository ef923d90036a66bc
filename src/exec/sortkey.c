/*
 * sortkey.c - see sortkey.h.
 *
 * Sorting is by the codes of the first key: radix by byte, least first, bytes that are the same
 * everywhere left out; short ranges by insertion. Runs of equal codes are then sorted by the next key
 * in the same way, or by comparison where codes are inexact. All steps are stable.
 */
#include "exec/sortkey.h"

#include <stdlib.h>

#include "exec/blend.h"

enum { RANK_MAX = 1 << 17, INSERTION_MAX = 48 };

/* ------------------------------------------------------------------------------ symbol ranks */

typedef struct ranked {
    const alm_view *view;
    uint32_t code;
} ranked;

static int by_text(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return alm_view_cmp(x->view, NULL, y->view, NULL);
}

alm_status alm_sort_rank(alm_ctx *cx, alm_pool *pool, const alm_vec *v, alm_sort_order *order)
{
    const alm_dict *dict = v->dict;
    if (dict == NULL || dict->count > RANK_MAX ||
        (order->rank != NULL && order->rank_dict == dict->id && order->rank_count >= dict->count))
        return ALM_OK;
    ranked *list = NULL;
    uint32_t *rank = NULL;
    ALM_TRY(alm_pool_alloc(cx, pool, dict->count * sizeof *list, &list));
    ALM_TRY(alm_pool_alloc(cx, pool, dict->count * sizeof *rank, &rank));
    for (uint32_t c = 0; c < dict->count; c++)
        list[c] = (ranked){.view = &dict->views[c], .code = c};
    qsort(list + 1, dict->count - 1, sizeof *list, by_text);
    for (uint32_t i = 0; i < dict->count; i++)
        rank[list[i].code] = i; /* code 0, null, stays first */
    alm_pool_free(pool, list);
    order->rank = rank;
    order->rank_dict = dict->id;
    order->rank_count = dict->count;
    return ALM_OK;
}

static bool has_rank(const alm_vec *v, const alm_sort_order *order)
{
    return v->dict != NULL && order->rank != NULL && order->rank_dict == v->dict->id &&
           order->rank_count >= v->dict->count;
}

bool alm_sort_exact(const alm_vec *v, const alm_sort_order *order)
{
    return has_rank(v, order) || (v->width < 16 && v->dict == NULL);
}

/* ---------------------------------------------------------------------------------- encoding */

/*
 * Places `up` (rising with the value, the value 0 is free or null) by direction. null: goes to the
 * end that nulls_first says; the other values make room by one step, which never wraps because one
 * code, that of null, is not taken by a value.
 */
static inline uint64_t placed(uint64_t up, bool null, bool desc, bool nulls_first)
{
    if (null)
        return nulls_first ? 0 : UINT64_MAX;
    if (desc)
        return nulls_first ? ~up + 1 : ~up; /* up >= 1: ~up < MAX */
    return nulls_first ? up : up - 1;
}

#define DEFINE_ENCODE(name, type, UP, NULL_TEST)                                                   \
    ALM_SIMD static void encode_##name(const type *restrict v, size_t step,                        \
                                       const uint32_t *restrict pick, uint32_t n, bool desc,       \
                                       bool nulls_first, uint64_t *restrict out)                   \
    {                                                                                              \
        if (pick == NULL && step == 1)                                                             \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                const type x = v[i];                                                               \
                out[i] = placed((UP), (NULL_TEST), desc, nulls_first);                             \
            }                                                                                      \
        else                                                                                       \
            for (uint32_t i = 0; i < n; i++) {                                                     \
                const type x = v[(pick != NULL ? pick[i] : i) * step];                             \
                out[i] = placed((UP), (NULL_TEST), desc, nulls_first);                             \
            }                                                                                      \
    }

#define SIGN UINT64_C(0x8000000000000000)

static inline uint64_t double_up(double x)
{
    /* what the comparison takes for 0 is one value, -0.0 too (func/compare.c) */
    const double y = x > -1e-300 && x < 1e-300 ? 0.0 : x;
    uint64_t bits = 0;
    memcpy(&bits, &y, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | SIGN);
}

DEFINE_ENCODE(i64, int64_t, (uint64_t)x ^ SIGN, x == ALM_LONG_NULL)
DEFINE_ENCODE(i32, int32_t, (uint64_t)(int64_t)x ^ SIGN, x == ALM_INT_NULL)
DEFINE_ENCODE(i16, int16_t, (uint64_t)(int64_t)x ^ SIGN, false)
DEFINE_ENCODE(i8, int8_t, (uint64_t)(int64_t)x ^ SIGN, false)
DEFINE_ENCODE(null16, int16_t, (uint64_t)(int64_t)x ^ SIGN, x == INT16_MIN)
DEFINE_ENCODE(null8, int8_t, (uint64_t)(int64_t)x ^ SIGN, x == INT8_MIN)
DEFINE_ENCODE(bool, uint8_t, (uint64_t)x + 1, false)
DEFINE_ENCODE(u16, uint16_t, (uint64_t)x, x == 0)
DEFINE_ENCODE(u32, uint32_t, (uint64_t)x, x == 0)
DEFINE_ENCODE(double, double, double_up(x), x != x)
DEFINE_ENCODE(float, float, double_up((double)x), x != x)

static uint64_t view_up(const alm_view *v, const char *heap)
{
    char head[8] = {0};
    uint64_t up = 0;
    memcpy(head, alm_view_ptr(v, heap), ALM_MIN(v->len, 8U));
    memcpy(&up, head, sizeof up);
    return __builtin_bswap64(up);
}

static void encode_text(const alm_vec *v, const alm_sort_order *o, const uint32_t *pick, uint32_t n,
                        uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = pick != NULL ? pick[i] : i;
        const alm_view *view = v->dict != NULL
                                   ? &v->dict->views[alm_vec_code(v, row)]
                                   : &((const alm_view *)v->data)[v->is_const ? 0 : row];
        if (alm_view_is_null(view)) {
            out[i] = o->nulls_first ? 0 : UINT64_MAX;
            continue;
        }
        const uint64_t up = view_up(view, v->dict != NULL ? NULL : v->heap);
        out[i] = o->desc ? ~up : up; /* inexact anyway: no room is made for null */
    }
}

static void encode_ranks(const alm_vec *v, const alm_sort_order *o, const uint32_t *pick,
                         uint32_t n, uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t code = alm_vec_code(v, pick != NULL ? pick[i] : i);
        out[i] = placed(o->rank[code], code == 0, o->desc, o->nulls_first);
    }
}

/*
 * Values of 16 and 32 bytes: INTERVAL by its start, then its end; the others are numbers, least word
 * first: UUID and LONG256 without sign.
 */
static uint64_t wide_word(const alm_vec *v, uint32_t row, uint32_t place)
{
    const uint32_t words = v->width / 8U;
    const uint64_t *x = (const uint64_t *)v->data + (v->is_const ? 0 : (size_t)row * words);
    const uint8_t id = v->type.id;
    if (id == ALM_T_INTERVAL)
        return x[place] ^ SIGN;
    const bool sign = place == 0 && alm_type_info_of(v->type)->cls != ALM_TC_OTHER;
    return x[words - 1 - place] ^ (sign ? SIGN : 0);
}

static void encode_wide(const alm_vec *v, const alm_sort_order *o, const uint32_t *pick, uint32_t n,
                        uint64_t *out)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = pick != NULL ? pick[i] : i;
        const uint64_t up = wide_word(v, row, 0);
        out[i] = alm_vec_is_null(v, row) ? (o->nulls_first ? 0 : UINT64_MAX) : o->desc ? ~up : up;
    }
}

void alm_sort_encode(const alm_vec *v, const alm_sort_order *o, const uint32_t *pick, uint32_t n,
                     uint64_t *out)
{
    const size_t step = v->is_const ? 0 : 1;
    if (has_rank(v, o)) {
        encode_ranks(v, o, pick, n, out);
        return;
    }
    if (alm_has_views(v->type)) {
        encode_text(v, o, pick, n, out);
        return;
    }
    switch (v->type.id) {
    case ALM_T_DOUBLE:
        encode_double(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_FLOAT:
        encode_float(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_INT:
        encode_i32(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_SHORT:
        encode_i16(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_BYTE:
        encode_i8(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_BOOLEAN:
        encode_bool(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_CHAR:
        encode_u16(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    case ALM_T_IPV4:
        encode_u32(v->data, step, pick, n, o->desc, o->nulls_first, out);
        return;
    default:
        break;
    }
    if (v->width >= 16)
        encode_wide(v, o, pick, n, out);
    else if (v->width == 4)
        encode_i32(v->data, step, pick, n, o->desc, o->nulls_first, out);
    else if (v->width == 2)
        encode_null16(v->data, step, pick, n, o->desc, o->nulls_first, out);
    else if (v->width == 1)
        encode_null8(v->data, step, pick, n, o->desc, o->nulls_first, out);
    else
        encode_i64(v->data, step, pick, n, o->desc, o->nulls_first, out);
}

/* -------------------------------------------------------------------------------- comparing */

static int compare_text(const alm_vec *v, const alm_sort_order *o, uint32_t a, uint32_t b)
{
    const alm_view *x, *y;
    const char *heap = v->dict != NULL ? NULL : v->heap;
    if (v->dict != NULL) {
        x = &v->dict->views[alm_vec_code(v, a)];
        y = &v->dict->views[alm_vec_code(v, b)];
    } else {
        x = &((const alm_view *)v->data)[v->is_const ? 0 : a];
        y = &((const alm_view *)v->data)[v->is_const ? 0 : b];
    }
    const bool null_x = alm_view_is_null(x), null_y = alm_view_is_null(y);
    if (null_x || null_y)
        return o->nulls_first ? (int)null_y - (int)null_x : (int)null_x - (int)null_y;
    const int c = alm_view_cmp(x, heap, y, heap);
    return o->desc ? -c : c;
}

int alm_sort_compare(const alm_vec *v, const alm_sort_order *o, uint32_t a, uint32_t b)
{
    if (!has_rank(v, o) && alm_has_views(v->type))
        return compare_text(v, o, a, b);
    const uint32_t rows[2] = {a, b};
    uint64_t code[2];
    alm_sort_encode(v, o, rows, 2, code);
    if (code[0] != code[1])
        return code[0] < code[1] ? -1 : 1;
    if (v->width < 16 || v->is_const)
        return 0;
    const bool null_a = alm_vec_is_null(v, a), null_b = alm_vec_is_null(v, b);
    if (null_a || null_b)
        return o->nulls_first ? (int)null_b - (int)null_a : (int)null_a - (int)null_b;
    for (uint32_t place = 1; place < v->width / 8U; place++) {
        const uint64_t p = wide_word(v, a, place), q = wide_word(v, b, place);
        if (p != q)
            return (p < q) == !o->desc ? -1 : 1;
    }
    return 0;
}

/* ----------------------------------------------------------------------------------- sorting */

static void insertion(alm_sort_item *item, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const alm_sort_item x = item[i];
        uint32_t at = i;
        for (; at > 0 && item[at - 1].code > x.code; at--)
            item[at] = item[at - 1];
        item[at] = x;
    }
}

/* Least byte first; the result is in `item` again. */
static void radix(alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    uint64_t all_and = UINT64_MAX, all_or = 0;
    for (uint32_t i = 0; i < n; i++) {
        all_and &= item[i].code;
        all_or |= item[i].code;
    }
    const uint64_t varies = all_and ^ all_or;
    alm_sort_item *from = item, *to = spare;
    for (uint32_t shift = 0; shift < 64; shift += 8) {
        uint32_t at[256] = {0}, sum = 0;
        if (((varies >> shift) & 255) == 0)
            continue;
        for (uint32_t i = 0; i < n; i++)
            at[(from[i].code >> shift) & 255]++;
        for (uint32_t b = 0; b < 256; b++) {
            const uint32_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[at[(from[i].code >> shift) & 255]++] = from[i];
        alm_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != item)
        memcpy(item, from, n * sizeof *item);
}

typedef struct sort_run {
    alm_ctx *cx;
    const alm_vec *key;
    const alm_sort_order *order;
    uint32_t n_keys;
} sort_run;

static int compare_rows(const sort_run *r, uint32_t key, uint32_t a, uint32_t b)
{
    for (uint32_t k = key; k < r->n_keys; k++) {
        const int c = alm_sort_compare(&r->key[k], &r->order[k], a, b);
        if (c != 0)
            return c;
    }
    return 0;
}

/* Merge sort by comparison of keys `key` and later. */
static alm_status merge_sort(const sort_run *r, uint32_t key, alm_sort_item *item,
                             alm_sort_item *spare, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += 8) /* short runs first */
        for (uint32_t j = i + 1; j < ALM_MIN(i + 8, n); j++) {
            const alm_sort_item x = item[j];
            uint32_t at = j;
            for (; at > i && compare_rows(r, key, item[at - 1].row, x.row) > 0; at--)
                item[at] = item[at - 1];
            item[at] = x;
        }
    for (uint64_t width = 8; width < n; width *= 2) {
        ALM_TRY(alm_check(r->cx));
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            const uint64_t mid = ALM_MIN(lo + width, n), hi = ALM_MIN(lo + 2 * width, n);
            uint64_t a = lo, b = mid, to = lo;
            while (a < mid && b < hi)
                spare[to++] =
                    compare_rows(r, key, item[a].row, item[b].row) <= 0 ? item[a++] : item[b++];
            memcpy(spare + to, item + a, (mid - a) * sizeof *item);
            memcpy(spare + to + (mid - a), item + b, (hi - b) * sizeof *item);
        }
        memcpy(item, spare, n * sizeof *item);
    }
    return ALM_OK;
}

/* Recursion depth is the number of keys. */
static alm_status sort_by(const sort_run *r, uint32_t key, alm_sort_item *item,
                          alm_sort_item *spare, uint32_t n)
{
    enum { CHUNK = 1024 };
    uint32_t pick[CHUNK];
    uint64_t code[CHUNK];
    ALM_TRY(alm_check(r->cx));
    for (uint32_t at = 0; at < n; at += CHUNK) {
        const uint32_t m = ALM_MIN((uint32_t)CHUNK, n - at);
        for (uint32_t i = 0; i < m; i++)
            pick[i] = item[at + i].row;
        alm_sort_encode(&r->key[key], &r->order[key], pick, m, code);
        for (uint32_t i = 0; i < m; i++)
            item[at + i].code = code[i];
    }
    if (n <= INSERTION_MAX)
        insertion(item, n);
    else
        radix(item, spare, n);
    const bool exact = alm_sort_exact(&r->key[key], &r->order[key]);
    if (exact && key + 1 == r->n_keys)
        return ALM_OK;
    for (uint32_t lo = 0, hi = 0; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && item[hi].code == item[lo].code;)
            hi++;
        if (hi - lo < 2)
            continue;
        ALM_TRY(exact && hi - lo > 8
                    ? sort_by(r, key + 1, item + lo, spare + lo, hi - lo)
                    : merge_sort(r, exact ? key + 1 : key, item + lo, spare + lo, hi - lo));
    }
    return ALM_OK;
}

alm_status alm_sort_items(alm_ctx *cx, const alm_vec *key, const alm_sort_order *order,
                          uint32_t n_keys, alm_sort_item *item, alm_sort_item *spare, uint32_t n)
{
    const sort_run r = {.cx = cx, .key = key, .order = order, .n_keys = n_keys};
    if (n < 2 || n_keys == 0)
        return ALM_OK;
    return sort_by(&r, 0, item, spare, n);
}
