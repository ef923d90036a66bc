/*
 * wide_extreme.c - min and max of DECIMAL, LONG256, GEOHASH and UUID.
 *
 * Null rule   Nulls do not count; nothing but nulls gives null.
 * State       The bytes of the best value so far, compared as values (type/value.h).
 */
#include "func/agg/agg.h"
#include "func/value/tables.h"
#include "type/value.h"

typedef struct best {
    uint64_t value[4]; /* the width of the type of it; null at first */
} best;

static void best_init(const alm_call *call, void *states, size_t n)
{
    best *self = states, none = {{0}};
    alm_value_set_null(call->result, none.value);
    for (size_t i = 0; i < n; i++)
        self[i] = none;
}

static alm_vec vec_of(alm_type type, const best *self)
{
    return (alm_vec){.type = type,
                     .width = (uint8_t)alm_type_width(type),
                     .data = (uint64_t *)(uintptr_t)self->value};
}

/* Element i of vec into the state, if it is better. */
static void offer(best *self, const alm_vec *vec, size_t i, int sign)
{
    const alm_vec so_far = vec_of(vec->type, self);
    if (alm_vec_is_null(vec, i))
        return;
    if (alm_vec_is_null(&so_far, 0) || alm_vec_compare(vec, i, &so_far, 0) * sign > 0)
        memcpy(self->value, (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width,
               vec->width);
}

static alm_status best_finish(ALM_UNUSED alm_call *call, const void *states, size_t n_rows,
                              alm_vec *out)
{
    const best *self = states;
    for (size_t i = 0; i < n_rows; i++)
        memcpy((char *)out->data + i * out->width, self[i].value, out->width);
    return ALM_OK;
}

#define EXTREME(name, sign)                                                                        \
    static alm_status name##_update(ALM_UNUSED alm_call *call, void *state, size_t n,              \
                                    const alm_vec *args)                                           \
    {                                                                                              \
        for (size_t i = 0; i < (args[0].is_const ? 1 : n); i++)                                    \
            offer(state, &args[0], i, sign);                                                       \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_scatter(ALM_UNUSED alm_call *call, void *states,                      \
                                     const uint32_t *group, size_t n, const alm_vec *args)         \
    {                                                                                              \
        best *all = states;                                                                        \
        for (size_t i = 0; i < n; i++)                                                             \
            offer(&all[group[i]], &args[0], i, sign);                                              \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_merge(alm_call *call, void *dst, const uint32_t *index,               \
                                   const void *src, size_t n)                                      \
    {                                                                                              \
        best *to = dst;                                                                            \
        const best *from = src;                                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_vec one = vec_of(call->result, &from[i]);                                    \
            offer(&to[index != NULL ? index[i] : i], &one, 0, sign);                               \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(best),                            \
                                           .plain = true,                                          \
                                           .init = best_init,                                      \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = name##_merge,                                  \
                                           .finish = best_finish};
EXTREME(max, 1)
EXTREME(min, -1)

#define ROWS_OF(f, doc)                                                                            \
    ALM_AGG_ROW(#f, "(DECIMAL) SAME", f##_ops, 0, doc, #f "(price)"),                              \
        ALM_AGG_ROW(#f, "(LONG256) LONG256", f##_ops, 0, doc, #f "(price)"),                       \
        ALM_AGG_ROW(#f, "(GEOHASH) SAME", f##_ops, 0, doc, #f "(price)")

/* By column `kernels` of type.def; the others are in extreme.c. */
#define EXTREMES_OWN(T)
#define EXTREMES_INT64(T)
#define EXTREMES_UINT32(T)
#define EXTREMES_PAIR(T)                                                                           \
    ALM_AGG_ROW("min", "(" T ") " T, min_ops, 0, "Least value.", "min(price)"),                    \
        ALM_AGG_ROW("max", "(" T ") " T, max_ops, 0, "Greatest value.", "max(price)"),

static const alm_fn ROWS[] = {
    ROWS_OF(min, "Least value."),
    ROWS_OF(max, "Greatest value."),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) EXTREMES_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(wide_extreme, ROWS);
