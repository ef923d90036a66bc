/*
 * count.c - count of rows and of values.
 *
 * Null rule   count() and count(*) count rows, count(x) counts rows where x is not null. BOOLEAN,
 *             BYTE and SHORT are never null.
 */
#include "func/agg/agg.h"
#include "func/agg/fused.h"
#include "func/value/tables.h"
#include "type/value.h"

typedef int64_t tally;

ALM_AGG_INIT(count, tally, 0)
ALM_AGG_MERGE(count, tally, { *d += *p; })
ALM_AGG_FINISH(count, tally, int64_t, *s)

/* -------------------------------------------------------------------- rows */

static alm_status all_update(ALM_UNUSED alm_call *call, void *state, size_t n_rows,
                             ALM_UNUSED const alm_vec *args)
{
    *(tally *)state += (tally)n_rows;
    return ALM_OK;
}

static void all_scatter_loop(tally *restrict votes, const uint32_t *restrict group, size_t n)
{
    for (size_t i = 0; i < n; i++)
        votes[group[i]]++;
}

static alm_status all_scatter(ALM_UNUSED alm_call *call, void *states, const uint32_t *group,
                              size_t n_rows, ALM_UNUSED const alm_vec *args)
{
    all_scatter_loop(states, group, n_rows);
    return ALM_OK;
}

/* ------------------------------------------------------------------ values */

typedef struct longs {
    int64_t lo, hi;
} longs;

/* name_count(a, n): values that are there; name_scatter: the same per group. */
#define COUNTER(name, T, EXPR)                                                                     \
    static ALM_SIMD int64_t name##_count(const T *restrict a, size_t n)                            \
    {                                                                                              \
        int64_t count = 0;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            count += (EXPR);                                                                       \
        }                                                                                          \
        return count;                                                                              \
    }                                                                                              \
    static void name##_groups(const T *restrict a, const uint32_t *restrict group, size_t n,       \
                              tally *restrict s)                                                   \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            s[group[i]] += (EXPR);                                                                 \
        }                                                                                          \
    }
COUNTER(i32, int32_t, x != ALM_INT_NULL)
COUNTER(i64, int64_t, x != ALM_LONG_NULL)
COUNTER(f32, float, x == x)
COUNTER(f64, double, x == x)
COUNTER(u8, uint8_t, x != 0)
COUNTER(u16, uint16_t, x != 0)
COUNTER(u32, uint32_t, x != 0)
COUNTER(text, alm_view, x.len != ALM_VIEW_NULL)
COUNTER(wide, longs, x.lo != ALM_LONG_NULL || x.hi != ALM_LONG_NULL)

typedef enum counter { ALL, I32, I64, F32, F64, U8, U16, U32, TEXT, WIDE, OTHER } counter;

static counter counter_of(const alm_vec *vec)
{
    if (vec->dict != NULL)
        return vec->width == 1 ? U8 : vec->width == 2 ? U16 : U32;
    switch (alm_type_info_of(vec->type)->null) {
    case ALM_NULL_NONE:
        return ALL;
    case ALM_NULL_INT:
        return I32;
    case ALM_NULL_LONG:
        return I64;
    case ALM_NULL_NAN32:
        return F32;
    case ALM_NULL_NAN64:
        return F64;
    case ALM_NULL_ZERO16:
        return U16;
    case ALM_NULL_ZERO32:
        return U32;
    case ALM_NULL_LONG2:
        return WIDE;
    case ALM_NULL_MIN8:
    case ALM_NULL_MIN16:
    case ALM_NULL_MIN128:
    case ALM_NULL_MIN256:
    case ALM_NULL_LONG4:
        return OTHER;
    case ALM_NULL_VIEW:
    case ALM_NULL_CODE:
        break;
    }
    return TEXT;
}

/* Types without a loop of their own: by the mask of nulls. */
static int64_t agg_other_count(const alm_vec *vec, size_t n_rows)
{
    uint8_t mask[ALM_BATCH_ROWS];
    int64_t count = 0;
    for (size_t offset = 0; offset < n_rows; offset += ALM_BATCH_ROWS) {
        alm_vec part = *vec;
        part.data = (char *)vec->data + offset * vec->width;
        const size_t some = ALM_MIN(n_rows - offset, (size_t)ALM_BATCH_ROWS);
        count += (int64_t)(some - alm_vec_null_mask(&part, some, mask));
    }
    return count;
}

static void other_groups(const alm_vec *vec, const uint32_t *restrict group, size_t n_rows,
                         tally *restrict votes)
{
    uint8_t mask[ALM_BATCH_ROWS];
    for (size_t offset = 0; offset < n_rows; offset += ALM_BATCH_ROWS) {
        alm_vec part = *vec;
        part.data = (char *)vec->data + offset * vec->width;
        const size_t some = ALM_MIN(n_rows - offset, (size_t)ALM_BATCH_ROWS);
        (void)alm_vec_null_mask(&part, some, mask);
        for (size_t i = 0; i < some; i++)
            votes[group[offset + i]] += mask[i] == 0;
    }
}

static int64_t count_values(const alm_vec *vec, size_t n_rows)
{
    switch (counter_of(vec)) {
    case ALL:
        break;
    case I32:
        return i32_count(vec->data, n_rows);
    case I64:
        return i64_count(vec->data, n_rows);
    case F32:
        return f32_count(vec->data, n_rows);
    case F64:
        return f64_count(vec->data, n_rows);
    case U8:
        return u8_count(vec->data, n_rows);
    case U16:
        return u16_count(vec->data, n_rows);
    case U32:
        return u32_count(vec->data, n_rows);
    case TEXT:
        return text_count(vec->data, n_rows);
    case WIDE:
        return wide_count(vec->data, n_rows);
    case OTHER:
        return agg_other_count(vec, n_rows);
    }
    return (int64_t)n_rows;
}

/* A constant counts for all rows or for none. */
static bool counts_all(const alm_vec *vec)
{
    return vec->type.id != ALM_T_NULL &&
           (vec->no_nulls || (vec->is_const && !alm_vec_is_null(vec, 0)));
}

static alm_status value_update(ALM_UNUSED alm_call *call, void *state, size_t n,
                               const alm_vec *args)
{
    if (counts_all(&args[0]))
        *(tally *)state += (tally)n;
    else if (args[0].type.id != ALM_T_NULL && !args[0].is_const)
        *(tally *)state += count_values(&args[0], n);
    return ALM_OK;
}

static alm_status value_scatter(ALM_UNUSED alm_call *call, void *states, const uint32_t *group,
                                size_t n, const alm_vec *args)
{
    const alm_vec *vec = &args[0];
    if (counts_all(vec)) {
        all_scatter_loop(states, group, n);
        return ALM_OK;
    }
    if (vec->type.id == ALM_T_NULL || vec->is_const)
        return ALM_OK;
    switch (counter_of(vec)) {
    case ALL:
        all_scatter_loop(states, group, n);
        break;
    case I32:
        i32_groups(vec->data, group, n, states);
        break;
    case I64:
        i64_groups(vec->data, group, n, states);
        break;
    case F32:
        f32_groups(vec->data, group, n, states);
        break;
    case F64:
        f64_groups(vec->data, group, n, states);
        break;
    case U8:
        u8_groups(vec->data, group, n, states);
        break;
    case U16:
        u16_groups(vec->data, group, n, states);
        break;
    case U32:
        u32_groups(vec->data, group, n, states);
        break;
    case TEXT:
        text_groups(vec->data, group, n, states);
        break;
    case WIDE:
        wide_groups(vec->data, group, n, states);
        break;
    case OTHER:
        other_groups(vec, group, n, states);
        break;
    }
    return ALM_OK;
}

static const alm_agg_ops all_ops = {.state_bytes = sizeof(tally),
                                    .plain = true,
                                    .fuse = ALM_FUSE_ROWS,
                                    .init = count_init,
                                    .update = all_update,
                                    .scatter = all_scatter,
                                    .merge = count_merge,
                                    .finish = count_finish};
static const alm_agg_ops value_ops = {.state_bytes = sizeof(tally),
                                      .plain = true,
                                      .init = count_init,
                                      .update = value_update,
                                      .scatter = value_scatter,
                                      .merge = count_merge,
                                      .finish = count_finish};

static const alm_fn ROWS[] = {
    ALM_AGG_ROW("count", "() LONG", all_ops, 0, "Number of rows.", "count()"),
    ALM_AGG_ROW("count", "(ANY) LONG", value_ops, ALM_FN_SYMBOLS,
                "Number of values that are not null.", "count(price)"),
};
ALM_FN_TABLE(count, ROWS);
