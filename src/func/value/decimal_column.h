/*
 * decimal_column.h - columns of DECIMAL as arrays of 128 or 256 bits, for kernels that compute.
 *
 * Scale       Loading multiplies by a power of ten, so that the operands of one kernel have one scale.
 *             On 128 bits the caller has made sure that it fits (38 digits); on 256 bits what does not
 *             fit becomes the greatest number of its sign, which is beyond every DECIMAL.
 * Null rule   The least number stands for null: ALM_I128_MIN, alm_i256_min().
 * Memory      From call->arena. A constant gives one element.
 */
#ifndef ALM_FUNC_DECIMAL_COLUMN_H
#define ALM_FUNC_DECIMAL_COLUMN_H

#include "func/registry.h"
#include "type/decimal.h"

/* Columns on disk and in maps are aligned to 8 bytes. */
typedef alm_i128 alm_i128u __attribute__((aligned(8)));

typedef struct alm_dec128 {
    alm_i128u *at;
    size_t step; /* 0: constant */
} alm_dec128;

typedef struct alm_dec256 {
    alm_i256 *at;
    size_t step;
} alm_dec256;

ALM_NODISCARD alm_status alm_dec128_load(const alm_call *call, const alm_vec *v, size_t n_rows,
                                         uint32_t up, alm_dec128 *out);
ALM_NODISCARD alm_status alm_dec256_load(const alm_call *call, const alm_vec *vec, size_t n_rows,
                                         uint32_t up, alm_dec256 *out);
/* Numbers that fit the type of `out`. */
void alm_dec128_store(const alm_i128u *x, size_t n, alm_vec *out);
void alm_dec256_store(const alm_i256 *value, size_t n_rows, alm_vec *out);

/* Digits of a type; one without a precision has those of 8 bytes. */
static inline uint32_t alm_decimal_digits(alm_type type)
{
    return type.p == 0 ? 18 : type.p;
}

#endif
