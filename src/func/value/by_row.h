/*
 * by_row.h - values that a function cannot take. A constant is refused where it stands; the value of a row makes the result
 * of that row null (false for a test), so that one row does not end a statement.
 */
#ifndef ALM_FUNC_BY_ROW_H
#define ALM_FUNC_BY_ROW_H

#include "func/registry.h"

/* Has one of the arguments [first, end) a value of its own in each row? */
static inline bool alm_by_row(const alm_vec *args, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!args[i].is_const)
            return true;
    return false;
}

/* Is `status` what a value of this row was refused with? Then the error is taken back, and the row is null. */
static inline bool alm_row_is_null(const alm_call *call, alm_status status, bool by_row)
{
    if (!by_row || (status != ALM_E_VALUE && status != ALM_E_ARG && status != ALM_E_RANGE))
        return false;
    alm_error_clear(call->cx);
    return true;
}

#endif
