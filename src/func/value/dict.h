/*
 * dict.h - text functions over SYMBOL columns: work per distinct value, not per row.
 *
 * A kernel whose row has ALM_FN_SYMBOLS gets dictionary codes. ALM_OVER_DICT at its top turns them
 * into text in the cheaper of two ways: the dictionary is smaller than the batch: the kernel runs
 * over the dictionary and results are picked by code; else the codes of the batch are decoded. Either
 * way the kernel proper sees views only.
 */
#ifndef ALM_FUNC_DICT_H
#define ALM_FUNC_DICT_H

#include "func/registry.h"

/* True if any argument is codes; then *status is the outcome of the whole call and out is filled. */
bool alm_over_dict(alm_scalar_kernel kernel, alm_call *call, size_t n_rows, const alm_vec *args,
                   alm_vec *out, alm_status *status);

#define ALM_OVER_DICT(kernel, call, n, args, out)                                                  \
    do {                                                                                           \
        alm_status alm_over_dict_st_;                                                              \
        if (alm_over_dict((kernel), (call), (n), (args), (out), &alm_over_dict_st_))               \
            return alm_over_dict_st_;                                                              \
    } while (0)

#endif
