/*
 * number.h - numbers for kept rows by the values of their keys: equal keys, equal number. Joins list
 * rows under these numbers.
 */
#ifndef ALM_EXEC_NUMBER_H
#define ALM_EXEC_NUMBER_H

#include "exec/data/keymap.h"
#include "exec/data/rows.h"

/*
 * number[i] of row i, from 0 in the order in which keys appear; `keys` are n_keys expressions over the
 * columns of `rows`, compared as types[k]. *map (memory from rows->pool) finds numbers for other rows.
 */
ALM_NODISCARD alm_status alm_rows_number(alm_ctx *cx, const alm_rows *rows,
                                         const alm_expr *const *keys, const alm_type *types,
                                         uint32_t n_keys, uint32_t *number, alm_keymap **map);

#endif
