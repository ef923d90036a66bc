/*
 * pow10.c - the table of powers of ten (pow10.def).
 */
#include "base/pow10.h"

const alm_pow10_row alm_pow10_rows[ALM_POW10_MAX - ALM_POW10_MIN + 1] = {
#define ALM_POW10(hi, lo) {UINT64_C(hi), UINT64_C(lo)},
#include "base/pow10.def"
#undef ALM_POW10
};
