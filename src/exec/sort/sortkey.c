/*
 * sortkey.c - see sortkey.h. What is done with the codes: items.c.
 */
#include "exec/sort/sortkey.h"

#include <stdlib.h>

#include "exec/data/blend.h"
#include "type/value.h"

enum { RANK_MAX = 1 << 17 };

/* ------------------------------------------------------------------------------ symbol ranks */

typedef struct ranked {
    const alm_view *view;
    uint32_t code;
} ranked;

static int sortkey_by_text(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return alm_view_cmp(x->view, NULL, y->view, NULL);
}

alm_status alm_sort_rank(alm_ctx *cx, alm_pool *pool, const alm_vec *vec, alm_sort_order *order)
{
    const alm_dict *dict = vec->dict;
    if (dict == NULL || dict->count > RANK_MAX ||
        (order->rank != NULL && order->rank_dict == dict->id && order->rank_count >= dict->count))
        return ALM_OK;
    ranked *list = NULL;
    uint32_t *rank = NULL;
    ALM_TRY(alm_pool_alloc(cx, pool, dict->count * sizeof *list, &list));
    ALM_TRY(alm_pool_alloc(cx, pool, dict->count * sizeof *rank, &rank));
    for (uint32_t c = 0; c < dict->count; c++)
        list[c] = (ranked){.view = &dict->views[c], .code = c};
    qsort(list + 1, dict->count - 1, sizeof *list, sortkey_by_text);
    for (uint32_t i = 0; i < dict->count; i++)
        rank[list[i].code] = i; /* code 0, null, stays first */
    alm_pool_free(pool, list);
    order->rank = rank;
    order->rank_dict = dict->id;
    order->rank_count = dict->count;
    return ALM_OK;
}

static bool has_rank(const alm_vec *vec, const alm_sort_order *order)
{
    return vec->dict != NULL && order->rank != NULL && order->rank_dict == vec->dict->id &&
           order->rank_count >= vec->dict->count;
}

bool alm_sort_exact(const alm_vec *vec, const alm_sort_order *order)
{
    return has_rank(vec, order) || (vec->width < 16 && vec->dict == NULL);
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

#define SIGN UINT64_C(0x8000000000000000)

static inline uint64_t double_up(double x)
{
    /* what the comparison takes for 0 is one value, -0.0 too (func/operator/compare.c) */
    const double y = x > -1e-300 && x < 1e-300 ? 0.0 : x;
    uint64_t bits = 0;
    memcpy(&bits, &y, sizeof bits);
    return bits ^ ((uint64_t)((int64_t)bits >> 63) | SIGN);
}

/* FORM(name, type of elements, rising number of element x, is x null) */
#define EXACT_FORMS(FORM)                                                                          \
    FORM(i64, int64_t, (uint64_t)x ^ SIGN, x == ALM_LONG_NULL)                                     \
    FORM(i32, int32_t, (uint64_t)(int64_t)x ^ SIGN, x == ALM_INT_NULL)                             \
    FORM(i16, int16_t, (uint64_t)(int64_t)x ^ SIGN, false)                                         \
    FORM(i8, int8_t, (uint64_t)(int64_t)x ^ SIGN, false)                                           \
    FORM(null16, int16_t, (uint64_t)(int64_t)x ^ SIGN, x == INT16_MIN)                             \
    FORM(null8, int8_t, (uint64_t)(int64_t)x ^ SIGN, x == INT8_MIN)                                \
    FORM(bool, uint8_t, (uint64_t)x + 1, false)                                                    \
    FORM(u16, uint16_t, (uint64_t)x, x == 0)                                                       \
    FORM(u32, uint32_t, (uint64_t)x, x == 0)                                                       \
    FORM(double, double, double_up(x), x != x)                                                     \
    FORM(float, float, double_up((double)x), x != x)

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
EXACT_FORMS(DEFINE_ENCODE)

typedef enum sort_form {
#define FORM_ID(name, type, UP, NULL_TEST) FORM_##name,
    EXACT_FORMS(FORM_ID)
#undef FORM_ID
        FORM_wide,
    FORM_text,
    FORM_rank
} sort_form;

static sort_form sortkey_form_of(const alm_vec *vec, const alm_sort_order *order)
{
    if (has_rank(vec, order))
        return FORM_rank;
    if (alm_has_views(vec->type))
        return FORM_text;
    switch (alm_type_forms[vec->type.id]) {
    case ALM_FORM_F64:
        return FORM_double;
    case ALM_FORM_F32:
        return FORM_float;
    case ALM_FORM_I32:
        return FORM_i32;
    case ALM_FORM_I16:
        return FORM_i16;
    case ALM_FORM_I8:
        return FORM_i8;
    case ALM_FORM_U8:
        return FORM_bool;
    case ALM_FORM_U16:
        return FORM_u16;
    case ALM_FORM_U32:
        return FORM_u32;
    default:
        break;
    }
    return vec->width >= 16  ? FORM_wide
           : vec->width == 4 ? FORM_i32
           : vec->width == 2 ? FORM_null16
           : vec->width == 1 ? FORM_null8
                             : FORM_i64;
}

/* Bytes [8 * level, 8 * level + 8) of a text, first byte highest; zeros behind its end. */
static uint64_t view_up(const alm_view *view, const char *heap, uint32_t level)
{
    char head[8] = {0};
    uint64_t up = 0;
    if (view->len <= 8 * level)
        return 0;
    memcpy(head, alm_view_ptr(view, heap) + 8 * (size_t)level, ALM_MIN(view->len - 8 * level, 8U));
    memcpy(&up, head, sizeof up);
    return __builtin_bswap64(up);
}

static const alm_view *view_at(const alm_vec *vec, uint32_t row)
{
    return vec->dict != NULL ? &vec->dict->views[alm_vec_code(vec, row)]
                             : &((const alm_view *)vec->data)[vec->is_const ? 0 : row];
}

static void encode_text(const alm_vec *vec, const alm_sort_order *order, uint32_t level,
                        const uint32_t *pick, uint32_t n_picks, uint64_t *out)
{
    const char *heap = vec->dict != NULL ? NULL : vec->heap;
    for (uint32_t i = 0; i < n_picks; i++) {
        const alm_view *view = view_at(vec, pick != NULL ? pick[i] : i);
        if (alm_view_is_null(view)) {
            out[i] = order->nulls_first ? 0 : UINT64_MAX;
            continue;
        }
        const uint64_t up = view_up(view, heap, level);
        out[i] = order->desc ? ~up : up; /* inexact anyway: no room is made for null */
    }
}

static void encode_ranks(const alm_vec *vec, const alm_sort_order *order, const uint32_t *pick,
                         uint32_t n_picks, uint64_t *out)
{
    for (uint32_t i = 0; i < n_picks; i++) {
        const uint32_t code = alm_vec_code(vec, pick != NULL ? pick[i] : i);
        out[i] = placed(order->rank[code], code == 0, order->desc, order->nulls_first);
    }
}

/*
 * Values of 16 and 32 bytes: INTERVAL by its start, then its end; UUID by its halves; the others are numbers,
 * least word first, LONG256 without sign.
 */
static uint64_t wide_word(const alm_vec *vec, alm_value_form form, uint32_t row, uint32_t place)
{
    const uint32_t words = vec->width / 8U;
    const uint64_t *x = (const uint64_t *)vec->data + (vec->is_const ? 0 : (size_t)row * words);
    if (form == ALM_FORM_INTERVAL)
        return x[place] ^ SIGN;
    if (form == ALM_FORM_UUID) /* its first half first */
        return x[place];
    const bool sign = place == 0 && form != ALM_FORM_U256;
    return x[words - 1 - place] ^ (sign ? SIGN : 0);
}

static void encode_wide(const alm_vec *vec, const alm_sort_order *order, uint32_t place,
                        const uint32_t *pick, uint32_t n_picks, uint64_t *out)
{
    const alm_value_form form = alm_vec_form(vec);
    for (uint32_t i = 0; i < n_picks; i++) {
        const uint32_t row = pick != NULL ? pick[i] : i;
        const uint64_t up = wide_word(vec, form, row, place);
        out[i] = alm_vec_is_null(vec, row) ? (order->nulls_first ? 0 : UINT64_MAX)
                 : order->desc             ? ~up
                                           : up;
    }
}

static void encode_nulls(const alm_vec *vec, const alm_sort_order *order, const uint32_t *pick,
                         uint32_t n_picks, uint64_t *out)
{
    for (uint32_t i = 0; i < n_picks; i++)
        out[i] = alm_vec_is_null(vec, pick != NULL ? pick[i] : i) != order->nulls_first;
}

bool alm_sort_is_text(const alm_vec *vec)
{
    return alm_has_views(vec->type);
}

uint32_t alm_sort_text_len(const alm_vec *vec, uint32_t row)
{
    return view_at(vec, row)->len;
}

void alm_sort_encode_at(const alm_vec *vec, const alm_sort_order *order, uint32_t level,
                        const uint32_t *pick, uint32_t n_rows, uint64_t *out)
{
    if (alm_sort_exact(vec, order))
        alm_sort_encode(vec, order, pick, n_rows, out);
    else if (level == 0)
        encode_nulls(vec, order, pick, n_rows, out);
    else if (alm_has_views(vec->type))
        encode_text(vec, order, level - 1, pick, n_rows, out);
    else
        encode_wide(vec, order, level - 1, pick, n_rows, out);
}

void alm_sort_encode(const alm_vec *v, const alm_sort_order *o, const uint32_t *pick, uint32_t n,
                     uint64_t *out)
{
    switch (sortkey_form_of(v, o)) {
#define ENCODE(name, type, UP, NULL_TEST)                                                          \
    case FORM_##name:                                                                              \
        encode_##name(v->data, v->is_const ? 0 : 1, pick, n, o->desc, o->nulls_first, out);        \
        return;
        EXACT_FORMS(ENCODE)
#undef ENCODE
    case FORM_rank:
        encode_ranks(v, o, pick, n, out);
        return;
    case FORM_text:
        encode_text(v, o, 0, pick, n, out);
        return;
    case FORM_wide:
        encode_wide(v, o, 0, pick, n, out);
        return;
    }
}

/* The same for one row, without the cost of starting a vector loop. */
static uint64_t sortkey_encode_one(const alm_vec *v, const alm_sort_order *o, uint32_t row)
{
    uint64_t out = 0;
    switch (sortkey_form_of(v, o)) {
#define ONE(name, type, UP, NULL_TEST)                                                             \
    case FORM_##name: {                                                                            \
        const type x = ((const type *)v->data)[v->is_const ? 0 : row];                             \
        return placed((UP), (NULL_TEST), o->desc, o->nulls_first);                                 \
    }
        EXACT_FORMS(ONE)
#undef ONE
    case FORM_rank:
        encode_ranks(v, o, &row, 1, &out);
        break;
    case FORM_text:
        encode_text(v, o, 0, &row, 1, &out);
        break;
    case FORM_wide:
        encode_wide(v, o, 0, &row, 1, &out);
        break;
    }
    return out;
}

/* ------------------------------------------------------------------------------- statistics */

bool alm_sort_has_stats(alm_type type)
{
    const uint8_t id = type.id;
    return id == ALM_T_DOUBLE || id == ALM_T_FLOAT || id == ALM_T_LONG || id == ALM_T_INT ||
           id == ALM_T_SHORT || id == ALM_T_BYTE || id == ALM_T_TIMESTAMP || id == ALM_T_DATE;
}

uint64_t alm_sort_best_code(alm_type type, const alm_sort_order *order, const alm_col_stats *stats)
{
    const bool floating = type.id == ALM_T_DOUBLE || type.id == ALM_T_FLOAT;
    if (stats->nulls > 0 && order->nulls_first)
        return 0;
    if (!stats->has_minmax) /* nulls alone, at the end; or it is not known */
        return stats->nulls == stats->rows ? UINT64_MAX : 0;
    const uint64_t up = floating ? double_up(order->desc ? stats->max_f : stats->min_f)
                                 : (uint64_t)(order->desc ? stats->max_i : stats->min_i) ^ SIGN;
    return placed(up, false, order->desc, order->nulls_first);
}

/* -------------------------------------------------------------------------------- comparing */

static int sortkey_compare_text(const alm_vec *vec, const alm_sort_order *order, const alm_view *x,
                                const alm_vec *w, const alm_view *y)
{
    const char *heap_x = vec->dict != NULL ? NULL : vec->heap,
               *heap_y = w->dict != NULL ? NULL : w->heap;
    const bool null_x = alm_view_is_null(x), null_y = alm_view_is_null(y);
    if (null_x || null_y)
        return order->nulls_first ? (int)null_y - (int)null_x : (int)null_x - (int)null_y;
    const int c = alm_view_cmp(x, heap_x, y, heap_y);
    return order->desc ? -c : c;
}

int alm_sort_compare_two(const alm_vec *vec, uint32_t a, const alm_vec *w, uint32_t b,
                         const alm_sort_order *order)
{
    if (alm_has_views(vec->type))
        return sortkey_compare_text(vec, order, view_at(vec, a), w, view_at(w, b));
    uint64_t x = 0, y = 0;
    if (vec->width < 16) {
        x = sortkey_encode_one(vec, order, a);
        y = sortkey_encode_one(w, order, b);
    }
    for (uint32_t level = 0; vec->width >= 16 && level <= vec->width / 8U && x == y; level++) {
        alm_sort_encode_at(vec, order, level, &a, 1, &x);
        alm_sort_encode_at(w, order, level, &b, 1, &y);
    }
    return x == y ? 0 : x < y ? -1 : 1;
}

int alm_sort_compare(const alm_vec *vec, const alm_sort_order *order, uint32_t a, uint32_t b)
{
    if (!has_rank(vec, order) && alm_has_views(vec->type))
        return sortkey_compare_text(vec, order, view_at(vec, a), vec, view_at(vec, b));
    const uint64_t x = sortkey_encode_one(vec, order, a), y = sortkey_encode_one(vec, order, b);
    if (x != y)
        return x < y ? -1 : 1;
    if (vec->width < 16 || vec->is_const)
        return 0;
    const bool null_a = alm_vec_is_null(vec, a), null_b = alm_vec_is_null(vec, b);
    if (null_a || null_b)
        return order->nulls_first ? (int)null_b - (int)null_a : (int)null_a - (int)null_b;
    const alm_value_form form = alm_vec_form(vec);
    for (uint32_t place = 1; place < vec->width / 8U; place++) {
        const uint64_t p = wide_word(vec, form, a, place), q = wide_word(vec, form, b, place);
        if (p != q)
            return (p < q) == !order->desc ? -1 : 1;
    }
    return 0;
}
