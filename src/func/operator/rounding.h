/*
 * rounding.h - round(x, scale) for callers other than its kernel.
 */
#ifndef ALM_FUNC_ROUNDING_H
#define ALM_FUNC_ROUNDING_H

#include "base/base.h"

/* Null (NaN, ALM_INT_NULL) gives null. */
double alm_round_to(double value, int32_t scale);

#endif
