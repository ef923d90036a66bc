/*
 * extreme.c - min and max of everything that has an order.
 *
 * Null rule   Nulls do not count; nothing but nulls gives null.
 * State       One value. Integers: max keeps x, where the null is the least value already; min keeps
 *             x - 1, which turns the null into the greatest. Floating: minus and plus infinity stand
 *             for "none", and a comparison with NaN is false, so nulls need no mask at all.
 * Text        The state keeps its own copy of the winner, but for symbols, whose dictionary lasts.
 */
#include "func/agg/agg.h"
#include "func/agg/fused.h"
#include "func/value/tables.h"

/* ---------------------------------------------------------------- integers */

/* U is the unsigned twin of T, NONE_MAX the least value (= null). */
#define INTEGER_EXTREMES(suffix, T, U, LEAST, MOST)                                                \
    static ALM_SIMD T max_##suffix##_lanes(const T *restrict a, size_t n)                          \
    {                                                                                              \
        T best = LEAST;                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            best = a[i] > best ? a[i] : best;                                                      \
        return best;                                                                               \
    }                                                                                              \
    static ALM_SIMD T min_##suffix##_lanes(const T *restrict a, size_t n)                          \
    {                                                                                              \
        T best = MOST;                                                                             \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = (T)((U)a[i] - 1U);                                                         \
            best = x < best ? x : best;                                                            \
        }                                                                                          \
        return best;                                                                               \
    }                                                                                              \
    static alm_status max_##suffix##_update(ALM_UNUSED alm_call *call, void *state, size_t n,      \
                                            const alm_vec *args)                                   \
    {                                                                                              \
        T *s = state;                                                                              \
        const T best = max_##suffix##_lanes(args[0].data, args[0].is_const ? 1 : n);               \
        *s = best > *s ? best : *s;                                                                \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status min_##suffix##_update(ALM_UNUSED alm_call *call, void *state, size_t n,      \
                                            const alm_vec *args)                                   \
    {                                                                                              \
        T *s = state;                                                                              \
        const T best = min_##suffix##_lanes(args[0].data, args[0].is_const ? 1 : n);               \
        *s = best < *s ? best : *s;                                                                \
        return ALM_OK;                                                                             \
    }                                                                                              \
    ALM_AGG_INIT(max_##suffix, T, LEAST)                                                           \
    ALM_AGG_SCATTER(max_##suffix, T, T, { *s = x > *s ? x : *s; })                                 \
    ALM_AGG_MERGE(max_##suffix, T, { *d = *p > *d ? *p : *d; })                                    \
    ALM_AGG_FINISH(max_##suffix, T, T, *s)                                                         \
    ALM_AGG_OPS(max_##suffix, T, max_##suffix, max_##suffix)                                       \
    ALM_AGG_INIT(min_##suffix, T, MOST)                                                            \
    ALM_AGG_SCATTER(min_##suffix, T, T, {                                                          \
        const T y = (T)((U)x - 1U);                                                                \
        *s = y < *s ? y : *s;                                                                      \
    })                                                                                             \
    ALM_AGG_MERGE(min_##suffix, T, { *d = *p < *d ? *p : *d; })                                    \
    ALM_AGG_FINISH(min_##suffix, T, T, (T)((U) * s + 1U)) /* none wraps around to null */          \
    ALM_AGG_OPS(min_##suffix, T, min_##suffix, min_##suffix)
INTEGER_EXTREMES(int, int32_t, uint32_t, INT32_MIN, INT32_MAX)
INTEGER_EXTREMES(long, int64_t, uint64_t, INT64_MIN, INT64_MAX)
INTEGER_EXTREMES(char, uint16_t, uint16_t, 0, UINT16_MAX)
INTEGER_EXTREMES(ipv4, uint32_t, uint32_t, 0, UINT32_MAX)

/* BOOLEAN has no null: nothing is false. */
typedef uint8_t flag;
ALM_AGG_INIT(max_bool, flag, 0)
ALM_AGG_UPDATE(max_bool, flag, flag, { *s |= x; })
ALM_AGG_SCATTER(max_bool, flag, flag, { *s |= x; })
ALM_AGG_MERGE(max_bool, flag, { *d |= *p; })
ALM_AGG_FINISH(max_bool, flag, flag, *s)
ALM_AGG_OPS(max_bool, flag, max_bool, max_bool)
ALM_AGG_INIT(min_bool, flag, 2)
ALM_AGG_UPDATE(min_bool, flag, flag, { *s = x < *s ? x : *s; })
ALM_AGG_SCATTER(min_bool, flag, flag, { *s = x < *s ? x : *s; })
ALM_AGG_MERGE(min_bool, flag, { *d = *p < *d ? *p : *d; })
ALM_AGG_FINISH(min_bool, flag, flag, *s == 1)
ALM_AGG_OPS(min_bool, flag, min_bool, min_bool)

/* ---------------------------------------------------------------- floating */

/* Eight and sixteen independent lanes; `cmp ? x : best` is one instruction of the processor, with
 * just this treatment of NaN. The order of lanes does not matter for a minimum. */
#define FLOATING_EXTREME(name, T, CMP, NONE, FUSE)                                                 \
    static ALM_SIMD T name##_lanes(const T *restrict a, size_t n)                                  \
    {                                                                                              \
        enum { LANES = 64 / sizeof(T) * 2 };                                                       \
        T best[LANES];                                                                             \
        for (size_t k = 0; k < LANES; k++)                                                         \
            best[k] = NONE;                                                                        \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (size_t k = 0; k < LANES; k++)                                                     \
                best[k] = a[i + k] CMP best[k] ? a[i + k] : best[k];                               \
        for (; i < n; i++)                                                                         \
            best[0] = a[i] CMP best[0] ? a[i] : best[0];                                           \
        T one = NONE;                                                                              \
        for (size_t k = 0; k < LANES; k++)                                                         \
            one = best[k] CMP one ? best[k] : one;                                                 \
        return one;                                                                                \
    }                                                                                              \
    static alm_status name##_update(ALM_UNUSED alm_call *call, void *state, size_t n,              \
                                    const alm_vec *args)                                           \
    {                                                                                              \
        T *s = state;                                                                              \
        const T best = name##_lanes(args[0].data, args[0].is_const ? 1 : n);                       \
        *s = best CMP * s ? best : *s;                                                             \
        return ALM_OK;                                                                             \
    }                                                                                              \
    ALM_AGG_INIT(name, T, NONE)                                                                    \
    ALM_AGG_SCATTER(name, T, T, { *s = x CMP * s ? x : *s; })                                      \
    ALM_AGG_MERGE(name, T, { *d = *p CMP * d ? *p : *d; })                                         \
    ALM_AGG_FINISH(name, T, T, *s - (*s - *s)) /* infinite: none */                                \
    ALM_AGG_FUSED_OPS(name, T, name, name, FUSE)
FLOATING_EXTREME(max_double, double, >, -__builtin_inf(), ALM_FUSE_MAX)
FLOATING_EXTREME(min_double, double, <, __builtin_inf(), ALM_FUSE_MIN)
FLOATING_EXTREME(max_float, float, >, -__builtin_inff(), ALM_FUSE_NONE)
FLOATING_EXTREME(min_float, float, <, __builtin_inff(), ALM_FUSE_NONE)

/* -------------------------------------------------------------------- text */

typedef struct best_text {
    alm_view view; /* null: none yet */
    uint32_t cap;  /* bytes of `own` */
    char *own;     /* buffer of the state, for text that does not last */
} best_text;

ALM_AGG_INIT(text, best_text, {.view = {.len = ALM_VIEW_NULL}})

/* Text of row i in address form. */
static inline alm_view extreme_text_at(const alm_vec *vec, size_t i)
{
    if (vec->dict != NULL)
        return vec->dict->views[alm_vec_code(vec, i)];
    const alm_view view = ((const alm_view *)vec->data)[vec->is_const ? 0 : i];
    if (view.len <= ALM_VIEW_INLINE || view.len == ALM_VIEW_NULL || vec->heap == NULL)
        return view;
    return alm_view_of(alm_view_str(&view, vec->heap));
}

static inline bool wins(const alm_view *view, const alm_view *best, int sign)
{
    if (alm_view_is_null(view))
        return false;
    if (alm_view_is_null(best))
        return true;
    const int c = alm_view_cmp(view, NULL, best, NULL);
    return sign > 0 ? c > 0 : c < 0;
}

static alm_status extreme_keep(const alm_call *call, best_text *text, const alm_view *view,
                               bool lasting)
{
    if (lasting || view->len <= ALM_VIEW_INLINE) {
        text->view = *view;
        return ALM_OK;
    }
    if (text->cap < view->len) {
        const size_t cap = ALM_MAX((size_t)view->len * 2, (size_t)64);
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &text->own));
        text->cap = (uint32_t)ALM_MIN(cap, (size_t)UINT32_MAX);
    }
    memcpy(text->own, alm_view_ptr(view, NULL), view->len);
    text->view = alm_view_of((alm_str){text->own, view->len});
    return ALM_OK;
}

static alm_status text_update(const alm_call *call, void *state, size_t n, const alm_vec *args,
                              int sign)
{
    best_text *text = state;
    alm_view best = text->view;
    bool changed = false;
    for (size_t i = 0; i < (args[0].is_const ? 1 : n); i++) {
        const alm_view view = extreme_text_at(&args[0], i);
        if (wins(&view, &best, sign)) {
            best = view;
            changed = true;
        }
    }
    return changed ? extreme_keep(call, text, &best, args[0].dict != NULL) : ALM_OK;
}

static alm_status text_scatter(const alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args, int sign)
{
    best_text *all = states;
    for (size_t i = 0; i < n; i++) {
        const alm_view view = extreme_text_at(&args[0], i);
        best_text *text = &all[group[i]];
        if (wins(&view, &text->view, sign))
            ALM_TRY(extreme_keep(call, text, &view, args[0].dict != NULL));
    }
    return ALM_OK;
}

/* The parts live as long as the whole: views are taken over as they are. */
static alm_status text_merge(void *dst, const uint32_t *index, const void *src, size_t n, int sign)
{
    best_text *to = dst;
    const best_text *from = src;
    for (size_t i = 0; i < n; i++) {
        best_text *text = &to[index != NULL ? index[i] : i];
        if (wins(&from[i].view, &text->view, sign))
            *text = from[i];
    }
    return ALM_OK;
}

ALM_AGG_FINISH(text, best_text, alm_view, s->view)

#define TEXT_EXTREME(name, sign)                                                                   \
    static alm_status name##_update(alm_call *call, void *state, size_t n, const alm_vec *args)    \
    {                                                                                              \
        return text_update(call, state, n, args, sign);                                            \
    }                                                                                              \
    static alm_status name##_scatter(alm_call *call, void *states, const uint32_t *group,          \
                                     size_t n, const alm_vec *args)                                \
    {                                                                                              \
        return text_scatter(call, states, group, n, args, sign);                                   \
    }                                                                                              \
    static alm_status name##_merge(ALM_UNUSED alm_call *call, void *dst, const uint32_t *index,    \
                                   const void *src, size_t n)                                      \
    {                                                                                              \
        return text_merge(dst, index, src, n, sign);                                               \
    }                                                                                              \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(best_text),                       \
                                           .init = text_init,                                      \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = name##_merge,                                  \
                                           .finish = text_finish};
TEXT_EXTREME(max_text, 1)
TEXT_EXTREME(min_text, -1)

/* -------------------------------------------------------------------- rows */

#define ROWS_OF(f, doc)                                                                            \
    ALM_AGG_ROW(#f, "(INT) INT", f##_int_ops, 0, doc, #f "(price)"),                               \
        ALM_AGG_ROW(#f, "(LONG) LONG", f##_long_ops, 0, doc, #f "(price)"),                        \
        ALM_AGG_ROW(#f, "(FLOAT) FLOAT", f##_float_ops, 0, doc, #f "(price)"),                     \
        ALM_AGG_ROW(#f, "(DOUBLE) DOUBLE", f##_double_ops, 0, doc, #f "(price)"),                  \
        ALM_AGG_ROW(#f, "(TIMESTAMP) TIMESTAMP", f##_long_ops, 0, doc, #f "(price)"),              \
        ALM_AGG_ROW(#f, "(TIMESTAMP_NS) TIMESTAMP_NS", f##_long_ops, 0, doc, #f "(price)"),        \
        ALM_AGG_ROW(#f, "(CHAR) CHAR", f##_char_ops, 0, doc, #f "(price)"),                        \
        ALM_AGG_ROW(#f, "(BOOLEAN) BOOLEAN", f##_bool_ops, 0, doc, #f "(price)"),                  \
        ALM_AGG_ROW(#f, "(STRING) STRING", f##_text_ops, 0, doc, #f "(price)"),                    \
        ALM_AGG_ROW(#f, "(VARCHAR) VARCHAR", f##_text_ops, 0, doc, #f "(price)"),                  \
        ALM_AGG_ROW(#f, "(SYMBOL) STRING", f##_text_ops, ALM_FN_SYMBOLS, doc, #f "(price)")

/* By column `kernels` of type.def; pairs are in wide_extreme.c. */
#define EXTREMES_OF(T, of)                                                                         \
    ALM_AGG_ROW("min", "(" T ") " T, min_##of##_ops, 0, "Least value.", "min(price)"),             \
        ALM_AGG_ROW("max", "(" T ") " T, max_##of##_ops, 0, "Greatest value.", "max(price)"),
#define EXTREMES_OWN(T)
#define EXTREMES_INT64(T)  EXTREMES_OF(T, long)
#define EXTREMES_UINT32(T) EXTREMES_OF(T, ipv4)
#define EXTREMES_PAIR(T)

static const alm_fn ROWS[] = {
    ROWS_OF(min, "Least value."),
    ROWS_OF(max, "Greatest value."),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) EXTREMES_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(extreme, ROWS);
