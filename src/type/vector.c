/*
 * vector.c - views, and the moves of column vectors: new, null, expand, gather, decode.
 *
 * Each move is one typed loop per element width; all of them keep the order of rows and never look
 * at values, so the null rule does not matter here (but for views, whose heap offsets become
 * addresses).
 */
#include "type/vector.h"

#include "type/int256.h"

/* ------------------------------------------------------------------- views */

/* Bytes 0-7 and 8-11 of a short text, zero behind its end, without a loop or a call for its few bytes. */
static inline void load_short(const char *text, size_t n, uint64_t *low, uint32_t *high)
{
    uint64_t a = 0, b = 0;
    uint32_t c = 0, d = 0;
    if (n >= 8) { /* the last eight bytes have the rest at their top */
        memcpy(&a, text, sizeof a);
        memcpy(&b, text + n - 8, sizeof b);
        *low = a;
        *high = n == 8 ? 0 : (uint32_t)(b >> (16 - n) * 8);
        return;
    }
    *high = 0;
    if (n >= 4) {
        memcpy(&c, text, sizeof c);
        memcpy(&d, text + n - 4, sizeof d);
        *low = c | (uint64_t)d << (n - 4) * 8;
        return;
    }
    for (size_t i = 0; i < n; i++)
        a |= (uint64_t)(uint8_t)text[i] << i * 8;
    *low = a;
}

alm_view alm_view_of(alm_str text)
{
    if (text.ptr == NULL)
        return alm_view_null();
    ALM_ASSERT(text.len < ALM_VIEW_NULL);
    alm_view view = {.len = (uint32_t)text.len};
    if (text.len <= ALM_VIEW_INLINE) {
        uint64_t low;
        uint32_t high;
        load_short(text.ptr, text.len, &low, &high);
        const uint64_t head = view.len | low << 32;
        memcpy(&view, &head, sizeof head); /* length and prefix at once */
        view.off = low >> 32 | (uint64_t)high << 32;
    } else {
        memcpy(view.prefix, text.ptr, sizeof(view.prefix));
        view.off = (uint64_t)(uintptr_t)text.ptr;
    }
    return view;
}

bool alm_view_eq(const alm_view *a, const char *heap_a, const alm_view *b, const char *heap_b)
{
    uint64_t head_a, head_b; /* length and prefix at once */
    memcpy(&head_a, a, sizeof(head_a));
    memcpy(&head_b, b, sizeof(head_b));
    if (head_a != head_b)
        return a->len == b->len && alm_view_is_null(a);
    if (a->len <= ALM_VIEW_INLINE)
        return a->off == b->off; /* the zero-filled tail */
    if (alm_view_is_null(a))
        return true;
    return memcmp(alm_view_ptr(a, heap_a), alm_view_ptr(b, heap_b), a->len) == 0;
}

int alm_view_cmp(const alm_view *a, const char *heap_a, const alm_view *b, const char *heap_b)
{
    if (alm_view_is_null(a) || alm_view_is_null(b))
        return (int)alm_view_is_null(b) - (int)alm_view_is_null(a); /* null first */
    uint32_t prefix_a, prefix_b;
    memcpy(&prefix_a, a->prefix, sizeof(prefix_a));
    memcpy(&prefix_b, b->prefix, sizeof(prefix_b));
    /* Prefixes of short texts are zero filled: a difference there decides, unless it is between
     * the end of one text and a zero byte of the other, which compare equal here. */
    if (prefix_a != prefix_b)
        return __builtin_bswap32(prefix_a) < __builtin_bswap32(prefix_b) ? -1 : 1;
    return alm_str_cmp(alm_view_str(a, heap_a), alm_view_str(b, heap_b));
}

/* --------------------------------------------------------------------- new */

static uint8_t fresh_width(alm_type type)
{
    return type.id == ALM_T_SYMBOL ? (uint8_t)sizeof(alm_view) : (uint8_t)alm_type_width(type);
}

alm_status alm_vec_new(alm_ctx *cx, alm_arena *arena, alm_type type, size_t n_rows, alm_vec *out)
{
    /* Room for views, also for symbols: enough for 4-byte codes, should a dictionary be set. */
    const uint8_t width = fresh_width(type);
    void *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, n_rows * width, &data));
    *out = (alm_vec){.type = type, .width = width, .data = data};
    return ALM_OK;
}

void alm_value_set_null(alm_type type, void *ptr)
{
    const alm_view view = alm_view_null();
    switch (alm_type_info_of(type)->null) {
    case ALM_NULL_NONE:
    case ALM_NULL_ZERO16:
    case ALM_NULL_ZERO32:
        memset(ptr, 0, alm_type_width(type));
        return;
    case ALM_NULL_MIN8:
        memcpy(ptr, &(int8_t){INT8_MIN}, sizeof(int8_t));
        return;
    case ALM_NULL_MIN16:
        memcpy(ptr, &(int16_t){INT16_MIN}, sizeof(int16_t));
        return;
    case ALM_NULL_INT:
        memcpy(ptr, &(int32_t){ALM_INT_NULL}, sizeof(int32_t));
        return;
    case ALM_NULL_LONG:
        memcpy(ptr, &(int64_t){ALM_LONG_NULL}, sizeof(int64_t));
        return;
    case ALM_NULL_NAN32:
        memcpy(ptr, &(float){__builtin_nanf("")}, sizeof(float));
        return;
    case ALM_NULL_NAN64:
        memcpy(ptr, &(double){__builtin_nan("")}, sizeof(double));
        return;
    case ALM_NULL_LONG2:
        memcpy(ptr, (int64_t[2]){ALM_LONG_NULL, ALM_LONG_NULL}, 2 * sizeof(int64_t));
        return;
    case ALM_NULL_LONG4:
        memcpy(ptr, &(alm_i256[1]){alm_long256_null()}, sizeof(alm_i256));
        return;
    case ALM_NULL_MIN128:
        memcpy(ptr, (int64_t[2]){0, INT64_MIN}, 2 * sizeof(int64_t));
        return;
    case ALM_NULL_MIN256:
        memcpy(ptr, &(alm_i256[1]){alm_i256_min()}, sizeof(alm_i256));
        return;
    case ALM_NULL_VIEW:
    case ALM_NULL_CODE: /* without a dictionary a symbol is a view */
        memcpy(ptr, &view, sizeof(view));
        return;
    }
}

alm_status alm_vec_null(alm_ctx *cx, alm_arena *arena, alm_type type, alm_vec *out)
{
    ALM_TRY(alm_vec_new(cx, arena, type, 1, out));
    alm_value_set_null(type, out->data);
    out->is_const = true;
    return ALM_OK;
}

/* ------------------------------------------------------------------ expand */

#define DEFINE_FILL(bits)                                                                          \
    static void fill_##bits(uint##bits##_t *restrict to, uint##bits##_t value, size_t n)           \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = value;                                                                         \
    }
DEFINE_FILL(16)
DEFINE_FILL(32)
DEFINE_FILL(64)

typedef struct wide {
    uint64_t half[2];
} wide;
_Static_assert(sizeof(wide) == 16, "one element of 16 bytes");

static void fill_wide(wide *restrict to, wide value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = value;
}

static void vector_fill_256(alm_i256 *restrict dest, alm_i256 value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dest[i] = value;
}

static void vector_fill(void *dest, const void *value, uint8_t width, size_t n)
{
    switch (width) {
    case 1:
        memset(dest, *(const uint8_t *)value, n);
        return;
    case 2:
        fill_16(dest, *(const uint16_t *)value, n);
        return;
    case 4:
        fill_32(dest, *(const uint32_t *)value, n);
        return;
    case 8:
        fill_64(dest, *(const uint64_t *)value, n);
        return;
    case 16:
        fill_wide(dest, *(const wide *)value, n);
        return;
    case 32:
        vector_fill_256(dest, *(const alm_i256 *)value, n);
        return;
    default:
        ALM_UNREACHABLE("element width");
    }
}

alm_status alm_vec_expand(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, size_t n_rows,
                          alm_vec *out)
{
    alm_vec flat = *vec;
    if (vec->is_const) {
        ALM_TRY(alm_arena_bytes(cx, arena, n_rows * vec->width, &flat.data));
        vector_fill(flat.data, vec->data, vec->width, n_rows);
        flat.is_const = false;
    }
    flat.indirect = false;
    *out = flat;
    return ALM_OK;
}

/* ------------------------------------------------------------------ gather */

/* Moves by 32-bit row numbers and by 16-bit selection, one loop per element width. */
#define DEFINE_GATHER(name, elem, index)                                                           \
    ALM_SIMD static void name(elem *restrict to, const elem *restrict from,                        \
                              const index *restrict idx, size_t n)                                 \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = from[idx[i]];                                                                  \
    }
DEFINE_GATHER(gather_1, uint8_t, uint32_t)
DEFINE_GATHER(gather_2, uint16_t, uint32_t)
DEFINE_GATHER(gather_4, uint32_t, uint32_t)
DEFINE_GATHER(vector_gather_8, uint64_t, uint32_t)
DEFINE_GATHER(vector_gather_16, wide, uint32_t)
DEFINE_GATHER(vector_gather_32, alm_i256, uint32_t)
DEFINE_GATHER(select_1, uint8_t, uint16_t)
DEFINE_GATHER(select_2, uint16_t, uint16_t)
DEFINE_GATHER(select_4, uint32_t, uint16_t)
DEFINE_GATHER(select_8, uint64_t, uint16_t)
DEFINE_GATHER(select_16, wide, uint16_t)
DEFINE_GATHER(select_32, alm_i256, uint16_t)

static void vector_gather(void *dest, const void *from, uint8_t width, const uint32_t *idx,
                          size_t n)
{
    switch (width) {
    case 1:
        gather_1(dest, from, idx, n);
        return;
    case 2:
        gather_2(dest, from, idx, n);
        return;
    case 4:
        gather_4(dest, from, idx, n);
        return;
    case 8:
        vector_gather_8(dest, from, idx, n);
        return;
    case 16:
        vector_gather_16(dest, from, idx, n);
        return;
    case 32:
        vector_gather_32(dest, from, idx, n);
        return;
    default:
        ALM_UNREACHABLE("element width");
    }
}

static void vector_select_rows(void *dest, const void *from, uint8_t width, const uint16_t *sel,
                               size_t n)
{
    switch (width) {
    case 1:
        select_1(dest, from, sel, n);
        return;
    case 2:
        select_2(dest, from, sel, n);
        return;
    case 4:
        select_4(dest, from, sel, n);
        return;
    case 8:
        select_8(dest, from, sel, n);
        return;
    case 16:
        select_16(dest, from, sel, n);
        return;
    case 32:
        select_32(dest, from, sel, n);
        return;
    default:
        ALM_UNREACHABLE("element width");
    }
}

static bool holds_views(const alm_vec *vec)
{
    const alm_null_kind null = alm_type_info_of(vec->type)->null;
    return vec->dict == NULL && (null == ALM_NULL_VIEW || null == ALM_NULL_CODE);
}

/* Offsets into `heap` become addresses. */
static void views_to_addresses(alm_view *views, const char *heap, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool outside = views[i].len > ALM_VIEW_INLINE && !alm_view_is_null(&views[i]);
        views[i].off += outside ? (uint64_t)(uintptr_t)heap : 0;
    }
}

alm_status alm_vec_gather(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, const uint32_t *idx,
                          size_t n_rows, alm_vec *out)
{
    ALM_DASSERT(!vec->indirect);
    alm_vec got = *vec;
    const size_t moved = vec->is_const ? 1 : n_rows;
    ALM_TRY(alm_arena_bytes(cx, arena, moved * vec->width, &got.data));
    if (vec->is_const)
        memcpy(got.data, vec->data, vec->width);
    else
        vector_gather(got.data, vec->data, vec->width, idx, n_rows);
    if (vec->heap != NULL && holds_views(vec)) {
        views_to_addresses(got.data, vec->heap, moved);
        got.heap = NULL;
    }
    *out = got;
    return ALM_OK;
}

alm_status alm_batch_column(alm_ctx *cx, alm_arena *arena, alm_batch *batch, uint32_t col,
                            alm_vec **out)
{
    ALM_DASSERT(col < batch->n_cols);
    alm_vec *vec = &batch->cols[col];
    *out = vec;
    if (!vec->indirect)
        return ALM_OK;
    const uint32_t n_rows = batch->rows;
    const uint16_t *sel = batch->sel;
    if (!vec->is_const && sel != NULL && n_rows > 0) {
        if ((uint32_t)(sel[n_rows - 1] - sel[0]) == n_rows - 1) { /* one run of rows: point at it */
            vec->data = (char *)vec->data + (size_t)sel[0] * vec->width;
        } else {
            void *dense = NULL;
            ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * vec->width, &dense));
            vector_select_rows(dense, vec->data, vec->width, sel, n_rows);
            vec->data = dense; /* views keep their heap, and with it their offsets */
        }
    }
    vec->indirect = false;
    return ALM_OK;
}

/* ------------------------------------------------------------------ decode */

#define DEFINE_DECODE(bits)                                                                        \
    static void decode_##bits(alm_view *restrict to, const uint##bits##_t *restrict codes,         \
                              const alm_view *restrict views, size_t n)                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = views[codes[i]];                                                               \
    }
DEFINE_DECODE(8)
DEFINE_DECODE(16)
DEFINE_DECODE(32)

alm_status alm_vec_decode(alm_ctx *cx, alm_arena *arena, const alm_vec *vec, size_t n_rows,
                          alm_vec *out)
{
    ALM_DASSERT(!vec->indirect);
    alm_vec text = *vec;
    if (vec->dict != NULL) {
        const size_t count = vec->is_const ? 1 : n_rows;
        const alm_view *views = vec->dict->views;
        ALM_TRY(alm_arena_bytes(cx, arena, count * sizeof(alm_view), &text.data));
        if (vec->width == 1)
            decode_8(text.data, vec->data, views, count);
        else if (vec->width == 2)
            decode_16(text.data, vec->data, views, count);
        else
            decode_32(text.data, vec->data, views, count);
        text.width = sizeof(alm_view);
        text.dict = NULL;
        text.heap = NULL;
    }
    *out = text;
    return ALM_OK;
}

/* ----------------------------------------------------------- single values */

static bool value_is_null(alm_null_kind kind, const void *ptr)
{
    switch (kind) {
    case ALM_NULL_NONE:
        return false;
    case ALM_NULL_MIN8:
        return *(const int8_t *)ptr == INT8_MIN;
    case ALM_NULL_MIN16:
        return *(const int16_t *)ptr == INT16_MIN;
    case ALM_NULL_INT:
        return *(const int32_t *)ptr == ALM_INT_NULL;
    case ALM_NULL_LONG:
        return *(const int64_t *)ptr == ALM_LONG_NULL;
    case ALM_NULL_NAN32:
        return __builtin_isfinite(*(const float *)ptr) == 0;
    case ALM_NULL_NAN64:
        return __builtin_isfinite(*(const double *)ptr) == 0;
    case ALM_NULL_ZERO16:
        return *(const uint16_t *)ptr == 0;
    case ALM_NULL_ZERO32:
    case ALM_NULL_CODE:
        return *(const uint32_t *)ptr == 0;
    case ALM_NULL_LONG2:
        return ((const int64_t *)ptr)[0] == ALM_LONG_NULL &&
               ((const int64_t *)ptr)[1] == ALM_LONG_NULL;
    case ALM_NULL_LONG4:
        return alm_long256_is_null(*(const alm_i256 *)ptr);
    case ALM_NULL_MIN128:
        return ((const int64_t *)ptr)[0] == 0 && ((const int64_t *)ptr)[1] == INT64_MIN;
    case ALM_NULL_MIN256:
        return alm_i256_is_min(*(const alm_i256 *)ptr);
    case ALM_NULL_VIEW:
        return alm_view_is_null(ptr);
    }
    return false;
}

void alm_values_settle(alm_type type, void *values, size_t n)
{
    if (type.id == ALM_T_FLOAT)
        for (size_t i = 0; i < n; i++) {
            float *x = (float *)values + i;
            *x = __builtin_isfinite(*x) ? *x : __builtin_nanf("");
        }
    if (type.id == ALM_T_DOUBLE)
        for (size_t i = 0; i < n; i++) {
            double *x = (double *)values + i;
            *x = __builtin_isfinite(*x) ? *x : __builtin_nan("");
        }
}

bool alm_vec_is_null(const alm_vec *vec, size_t i)
{
    ALM_DASSERT(!vec->indirect);
    if (vec->dict != NULL)
        return alm_vec_code(vec, i) == 0;
    const char *ptr = (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width;
    if (vec->type.id == ALM_T_SYMBOL)
        return value_is_null(ALM_NULL_VIEW, ptr);
    return value_is_null(alm_type_info_of(vec->type)->null, ptr);
}

alm_str alm_vec_text(const alm_vec *vec, size_t i)
{
    ALM_DASSERT(!vec->indirect);
    const alm_view *view;
    const char *heap = vec->heap;
    if (vec->dict != NULL) {
        view = &vec->dict->views[alm_vec_code(vec, i)];
        heap = NULL;
    } else {
        ALM_ASSERT(vec->width == sizeof(alm_view));
        view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    }
    return alm_view_is_null(view) ? (alm_str){0} : alm_view_str(view, heap);
}
