/*
 * arrow_symbols.h - the distinct values of a SYMBOL column in one record batch, as an Arrow dictionary.
 *
 * Shapes      offsets: n + 1 x int32, bytes: the texts as UTF-8, indices: one int32 per row, valid: a bitmap of the
 *             rows, lowest bit first; only of_codes fills it. Values are in the order of their first row.
 * Null rule   A null row has index 0, counts in `nulls` and has no bit in `valid`.
 * Memory      Charged to cx->mem. alm_arrow_symbols_deinit frees it, also after an error.
 */
#ifndef ALM_CODEC_ARROW_SYMBOLS_H
#define ALM_CODEC_ARROW_SYMBOLS_H

#include "base/base.h"
#include "type/vector.h"

struct ArrowArray;

typedef struct alm_arrow_symbols {
    alm_buf offsets, bytes, indices, valid;
    alm_buf codes;  /* of_codes: the code of each value, uint32 */
    int32_t *slots; /* open addressing: number of a value + 1, 0 where free */
    uint32_t mask;  /* slots - 1; there are more slots than values */
    uint32_t n;     /* distinct values */
    int64_t nulls;
} alm_arrow_symbols;

/* `a` is an array of utf8. ALM_E_MEMORY. */
ALM_NODISCARD alm_status alm_arrow_symbols_of_texts(alm_ctx *cx, const struct ArrowArray *a,
                                                    alm_arrow_symbols *out);
/* `vec` has a dictionary. ALM_E_MEMORY; ALM_E_LIMIT when the distinct texts pass 2 GiB. */
ALM_NODISCARD alm_status alm_arrow_symbols_of_codes(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                                    alm_arrow_symbols *out);
void alm_arrow_symbols_deinit(alm_arrow_symbols *symbols);

#endif
