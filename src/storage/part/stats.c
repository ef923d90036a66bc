/*
 * stats.c - typed loops over one block; one kernel per shape of value.
 *
 * Null rule   sentinels of type.def; a null adds nothing to min, max and sum.
 */
#include "storage/part/stats.h"

#include "type/value.h"

static uint64_t part_stats_bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Integers: null sentinel NULLV where HAS_NULL; the sum of 65,536 values of up to 32 bits fits. */
#define DEFINE_NARROW(name, type, HAS_NULL, NULLV)                                                 \
    ALM_SIMD static void name(const type *restrict in, uint32_t n, alm_part_block *out)            \
    {                                                                                              \
        int64_t sum = 0, lo = INT64_MAX, hi = INT64_MIN;                                           \
        uint32_t nulls = 0;                                                                        \
        for (uint32_t i = 0; i < n; i++) {                                                         \
            const int64_t v = (int64_t)in[i];                                                      \
            const bool is_null = (HAS_NULL) && in[i] == (type)(NULLV);                             \
            nulls += is_null;                                                                      \
            sum += is_null ? 0 : v;                                                                \
            lo = !is_null && v < lo ? v : lo;                                                      \
            hi = !is_null && v > hi ? v : hi;                                                      \
        }                                                                                          \
        out->nulls = nulls;                                                                        \
        out->sum = (uint64_t)sum;                                                                  \
        out->min = (uint64_t)lo;                                                                   \
        out->max = (uint64_t)hi;                                                                   \
        out->flags = ALM_BLOCK_SUM | (nulls < n ? (uint32_t)ALM_BLOCK_MINMAX : 0u);                \
    }
DEFINE_NARROW(stats_i8, int8_t, false, 0)
DEFINE_NARROW(stats_i16, int16_t, false, 0)
DEFINE_NARROW(stats_i32, int32_t, true, ALM_INT_NULL)
DEFINE_NARROW(stats_min8, int8_t, true, INT8_MIN)
DEFINE_NARROW(stats_min16, int16_t, true, INT16_MIN)
DEFINE_NARROW(stats_code8, uint8_t, true, 0)
DEFINE_NARROW(stats_code16, uint16_t, true, 0)
DEFINE_NARROW(stats_code32, uint32_t, true, 0)

ALM_SIMD static void minmax_i64(const int64_t *restrict input, uint32_t n, alm_part_block *out)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < n; i++) {
        nulls += input[i] == ALM_LONG_NULL;
        lo = input[i] != ALM_LONG_NULL && input[i] < lo ? input[i] : lo;
        hi = input[i] > hi ? input[i] : hi; /* the null is the least of all */
    }
    out->nulls = nulls;
    out->min = (uint64_t)lo;
    out->max = (uint64_t)hi;
    out->flags = nulls < n ? (uint32_t)ALM_BLOCK_MINMAX : 0u;
}

static void stats_i64(const int64_t *input, uint32_t n, alm_part_block *out)
{
    minmax_i64(input, n, out);
    int64_t sum = 0;
    bool overflow = false;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t value = input[i] == ALM_LONG_NULL ? 0 : input[i];
        overflow |= __builtin_add_overflow(sum, value, &sum);
    }
    out->sum = overflow ? 0 : (uint64_t)sum;
    out->flags |= overflow ? (uint32_t)ALM_BLOCK_OVERFLOW : (uint32_t)ALM_BLOCK_SUM;
}

/* Floats: lanes as part.h says. Infinities leave the block without statistics but the nulls. */
#define DEFINE_FLOATING(name, type)                                                                \
    ALM_SIMD static void name(const type *restrict in, uint32_t n, alm_part_block *out)            \
    {                                                                                              \
        double sum[8] = {0}, lo[8], hi[8];                                                         \
        uint32_t nulls = 0;                                                                        \
        for (int k = 0; k < 8; k++) {                                                              \
            lo[k] = __builtin_inf();                                                               \
            hi[k] = -__builtin_inf();                                                              \
        }                                                                                          \
        for (uint32_t i = 0; i < n; i += 8) {                                                      \
            const uint32_t m = n - i < 8 ? n - i : 8;                                              \
            for (uint32_t k = 0; k < m; k++) {                                                     \
                const double v = (double)in[i + k];                                                \
                const bool is_null = v != v;                                                       \
                nulls += is_null;                                                                  \
                sum[k] += is_null ? 0.0 : v;                                                       \
                lo[k] = v < lo[k] ? v : lo[k];                                                     \
                hi[k] = v > hi[k] ? v : hi[k];                                                     \
            }                                                                                      \
        }                                                                                          \
        for (int k = 1; k < 8; k++) {                                                              \
            lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];                                                 \
            hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];                                                 \
        }                                                                                          \
        const double total =                                                                       \
            ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));     \
        const bool finite = nulls == n || (hi[0] < __builtin_inf() && lo[0] > -__builtin_inf());   \
        out->nulls = nulls;                                                                        \
        out->flags = !finite      ? 0u                                                             \
                     : nulls == n ? (uint32_t)ALM_BLOCK_SUM                                        \
                                  : (uint32_t)(ALM_BLOCK_SUM | ALM_BLOCK_MINMAX);                  \
        out->min = part_stats_bits_of(lo[0]);                                                      \
        out->max = part_stats_bits_of(hi[0]);                                                      \
        out->sum = part_stats_bits_of(total);                                                      \
    }
DEFINE_FLOATING(stats_f32, float)
DEFINE_FLOATING(stats_f64, double)

static uint32_t part_stats_nulls_long2(const int64_t *input, uint32_t n)
{
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < n; i++)
        nulls += input[2 * i] == ALM_LONG_NULL && input[2 * i + 1] == ALM_LONG_NULL;
    return nulls;
}

static uint32_t nulls_any(alm_type type, uint32_t width, const void *input, uint32_t n)
{
    enum { STEP = 1024 };
    uint8_t mask[STEP];
    size_t nulls = 0;
    for (uint32_t i = 0; i < n; i += STEP) {
        const alm_vec part = {.type = type,
                              .width = (uint8_t)width,
                              .data = (char *)(uintptr_t)input + (size_t)i * width};
        nulls += alm_vec_null_mask(&part, ALM_MIN(n - i, (uint32_t)STEP), mask);
    }
    return (uint32_t)nulls;
}

static uint32_t part_stats_nulls_view(const alm_view *in, uint32_t n)
{
    uint32_t nulls = 0;
    for (uint32_t i = 0; i < n; i++)
        nulls += alm_view_is_null(&in[i]);
    return nulls;
}

/* Values that are not summed: times, codes, characters, addresses, booleans. */
static void drop_sum(alm_part_block *out)
{
    out->sum = 0;
    out->flags &= (uint32_t)ALM_BLOCK_MINMAX;
}

/* Numbers of the width of the precision. The sum would want the scale: it is left out. */
static void number_stats(alm_type type, uint32_t width, const void *data, uint32_t n,
                         alm_part_block *out)
{
    if (width == 1)
        stats_min8(data, n, out);
    else if (width == 2)
        stats_min16(data, n, out);
    else if (width == 4)
        stats_i32(data, n, out);
    else if (width == 8)
        minmax_i64(data, n, out);
    else
        out->nulls = nulls_any(type, width, data, n);
    drop_sum(out);
}

static void code_stats(uint32_t width, const void *data, uint32_t n, alm_part_block *out)
{
    if (width == 1)
        stats_code8(data, n, out);
    else if (width == 2)
        stats_code16(data, n, out);
    else
        stats_code32(data, n, out);
    drop_sum(out);
}

void alm_part_block_stats(alm_type type, uint32_t width, const void *data, uint32_t n,
                          alm_part_block *out)
{
    out->flags = 0;
    out->min = out->max = out->sum = 0;
    switch (alm_type_info_of(type)->form) {
    case ALM_FORM_U8:
        stats_i8(data, n, out);
        drop_sum(out);
        break;
    case ALM_FORM_I8:
        stats_i8(data, n, out);
        break;
    case ALM_FORM_I16:
        stats_i16(data, n, out);
        break;
    case ALM_FORM_U16:
        stats_code16(data, n, out);
        drop_sum(out);
        break;
    case ALM_FORM_I32:
        stats_i32(data, n, out);
        break;
    case ALM_FORM_I64:
        if (alm_type_info_of(type)->cls == ALM_TC_INTEGER)
            stats_i64(data, n, out);
        else
            minmax_i64(data, n, out);
        break;
    case ALM_FORM_F32:
        stats_f32(data, n, out);
        break;
    case ALM_FORM_F64:
        stats_f64(data, n, out);
        break;
    case ALM_FORM_U32:
        stats_code32(data, n, out);
        drop_sum(out);
        break;
    case ALM_FORM_UUID:
    case ALM_FORM_INTERVAL:
        out->nulls = part_stats_nulls_long2(data, n);
        break;
    case ALM_FORM_I128:
    case ALM_FORM_I256:
    case ALM_FORM_U256:
        out->nulls = nulls_any(type, width, data, n);
        break;
    case ALM_FORM_SIZED:
        number_stats(type, width, data, n, out);
        break;
    case ALM_FORM_VIEW:
        if (alm_type_info_of(type)->null == ALM_NULL_CODE)
            code_stats(width, data, n, out);
        else
            out->nulls = part_stats_nulls_view(data, n);
        break;
    case ALM_FORM_NONE:
        ALM_ASSERT(false); /* never stored */
        break;
    }
    if ((out->flags & ALM_BLOCK_MINMAX) == 0)
        out->min = out->max = 0;
}
