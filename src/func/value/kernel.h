/*
 * kernel.h - the shapes of kernel loops, stamped per element type.
 *
 * A kernel is written once as an expression over x (and y); the macros make the loops over two
 * vectors, vector and constant, constant and vector, each cloned per instruction set, and the
 * function that chooses between them. Loops carry no branch on data, so that compilers vectorise
 * them. Arguments and result never overlap (registry.h), hence restrict.
 */
#ifndef ALM_FUNC_KERNEL_H
#define ALM_FUNC_KERNEL_H

#include "func/registry.h"

/* static alm_status name(call, n, args, out): out[i] = EXPR(x = args[0][i]) */
#define ALM_UNARY(name, T, R, EXPR)                                                                \
    static ALM_SIMD void name##_loop(const T *restrict a, R *restrict o, size_t n)                 \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            o[i] = (R)(EXPR);                                                                      \
        }                                                                                          \
    }                                                                                              \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        name##_loop(args[0].data, out->data, n);                                                   \
        return ALM_OK;                                                                             \
    }

/* static alm_status name(call, n, args, out): out[i] = EXPR(x = args[0][i], y = args[1][i]) */
#define ALM_BINARY(name, T, U, R, EXPR)                                                            \
    static ALM_SIMD void name##_vv(const T *restrict a, const U *restrict b, R *restrict o,        \
                                   size_t n)                                                       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            const U y = b[i];                                                                      \
            o[i] = (R)(EXPR);                                                                      \
        }                                                                                          \
    }                                                                                              \
    static ALM_SIMD void name##_vc(const T *restrict a, const U y, R *restrict o, size_t n)        \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i];                                                                      \
            o[i] = (R)(EXPR);                                                                      \
        }                                                                                          \
    }                                                                                              \
    static ALM_SIMD void name##_cv(const T x, const U *restrict b, R *restrict o, size_t n)        \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const U y = b[i];                                                                      \
            o[i] = (R)(EXPR);                                                                      \
        }                                                                                          \
    }                                                                                              \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        if (n == 1 || (!args[0].is_const && !args[1].is_const))                                    \
            name##_vv(args[0].data, args[1].data, out->data, n);                                   \
        else if (args[1].is_const)                                                                 \
            name##_vc(args[0].data, *(const U *)args[1].data, out->data, n);                       \
        else                                                                                       \
            name##_cv(*(const T *)args[0].data, args[1].data, out->data, n);                       \
        return ALM_OK;                                                                             \
    }

/* Infinity is no value of the dialect: it becomes null. Exact for the rest, the sign of 0 too. */
#define ALM_FINITE(r) ((r) - ((r) - (r)))

/* Element i of an argument that may be constant. */
#define ALM_AT(T, vec, i) (((const T *)(vec).data)[(vec).is_const ? 0 : (i)])

/* bind for (TIME, TIME ...): all arguments that are times get one type, TIMESTAMP_NS if any is. */
alm_status alm_bind_meet_times(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                               alm_arg *args, alm_type *result, void **data);

#endif
