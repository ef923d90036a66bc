/*
 * blend.h - typed moves of the expression evaluator: choose between vectors, look up by code, copy.
 *
 * Vectors are dense or const. Text is views; outputs are in address form. No kernel allocates.
 */
#ifndef ALM_EXEC_BLEND_H
#define ALM_EXEC_BLEND_H

#include "type/vector.h"

/* Are elements without a dictionary views? */
static inline bool alm_has_views(alm_type type)
{
    return type.id == ALM_T_SYMBOL || type.id == ALM_T_NULL ||
           alm_type_info_of(type)->null == ALM_NULL_VIEW;
}

/* args: when, then, when, then ..., else (n_args is odd); conditions are BOOLEAN. out is flat. */
void alm_blend_case(const alm_vec *args, uint32_t n_args, size_t n_rows, alm_vec *out);
/* out[i] = table[code of row i]; elements of `width` bytes. Codes below `count`. */
void alm_blend_lookup(const alm_vec *codes, const void *table, uint32_t width, uint32_t count,
                      size_t n_rows, void *out);
/* n elements of a dense or const vector (codes are decoded) to out, `width` bytes each. */
void alm_blend_copy(const alm_vec *vec, size_t n_rows, void *out, uint32_t width);

#endif
