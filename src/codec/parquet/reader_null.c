/*
 * reader_null.c - values of a file that are nulls here: NaN and the infinities, the least integers, zero of IPv4.
 *
 * A file says which rows lack a value. That there is none says nothing about nulls where the type has one among its values,
 * so the values are looked at: a pass over a batch, which the kernels read next.
 */
#include "codec/parquet/reader_state.h"

static const uint32_t exponent32 = UINT32_C(0x7F800000);
static const uint64_t exponent64 = UINT64_C(0x7FF0000000000000);

#define DEFINE_ANY(name, elem, is_null)                                                            \
    static ALM_SIMD bool any_##name(const void *data, size_t n)                                    \
    {                                                                                              \
        const elem *restrict x = data;                                                             \
        uint32_t found = 0;                                                                        \
        for (size_t i = 0; i < n; i++)                                                             \
            found |= is_null;                                                                      \
        return found != 0;                                                                         \
    }
DEFINE_ANY(min8, int8_t, x[i] == INT8_MIN)
DEFINE_ANY(min16, int16_t, x[i] == INT16_MIN)
DEFINE_ANY(zero16, uint16_t, x[i] == 0)
DEFINE_ANY(zero32, uint32_t, x[i] == 0)
DEFINE_ANY(i32, int32_t, x[i] == ALM_INT_NULL)
DEFINE_ANY(i64, int64_t, x[i] == ALM_LONG_NULL)
DEFINE_ANY(f32, uint32_t, (x[i] & exponent32) == exponent32)
DEFINE_ANY(f64, uint64_t, (x[i] & exponent64) == exponent64)

bool alm_pq_has_null(alm_type type, const void *values, size_t n)
{
    switch (alm_type_info_of(type)->null) {
    case ALM_NULL_MIN8:
        return any_min8(values, n);
    case ALM_NULL_MIN16:
        return any_min16(values, n);
    case ALM_NULL_INT:
        return any_i32(values, n);
    case ALM_NULL_LONG:
        return any_i64(values, n);
    case ALM_NULL_NAN32:
        return any_f32(values, n);
    case ALM_NULL_NAN64:
        return any_f64(values, n);
    case ALM_NULL_ZERO16:
        return any_zero16(values, n);
    case ALM_NULL_ZERO32:
        return any_zero32(values, n);
    case ALM_NULL_LONG2:
    case ALM_NULL_LONG4:
    case ALM_NULL_MIN128:
    case ALM_NULL_MIN256:
        return n > 0; /* kernels look at each of these anyhow */
    case ALM_NULL_NONE:
    case ALM_NULL_VIEW:
    case ALM_NULL_CODE:
    default:
        return false;
    }
}

bool alm_pq_settle_nulls(alm_type type, void *values, size_t n)
{
    const bool nulls = alm_pq_has_null(type, values, n);
    if (nulls)
        alm_values_settle(type, values, n);
    return nulls;
}
