/*
 * row_hash_for_test.h - hashes of values (FNV-1a), by which tests compare the rows of two runs.
 */
#ifndef ALM_EXEC_ROW_HASH_FOR_TEST_H
#define ALM_EXEC_ROW_HASH_FOR_TEST_H

#include "type/vector.h"

static inline uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * UINT64_C(1099511628211);
    return h;
}

static inline uint64_t mix_value(uint64_t h, const alm_vec *v, uint32_t i)
{
    if (alm_vec_is_null(v, i))
        return mix(h, "null", 4);
    if (alm_type_is_text(v->type)) {
        const alm_str s = alm_vec_text(v, i);
        return mix(h, s.ptr, s.len);
    }
    return mix(h, (const char *)v->data + (size_t)(v->is_const ? 0 : i) * v->width, v->width);
}

#endif
