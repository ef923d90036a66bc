/*
 * long256.c - LONG256: comparisons, to_long256, sum.
 *
 * Null rule   Null equals null, and is neither below nor above anything. Sums skip nulls; one that 256
 *             bits do not hold, or that would be the null, is refused.
 */
#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/int256.h"

static inline bool scalar_long256_below(alm_i256 x, alm_i256 y)
{
    return alm_u256_cmp(x, y) < 0 && !alm_long256_is_null(x) && !alm_long256_is_null(y);
}
ALM_BINARY(eq_long256, alm_i256, alm_i256, uint8_t, alm_i256_eq(x, y))
ALM_BINARY(ne_long256, alm_i256, alm_i256, uint8_t, !alm_i256_eq(x, y))
ALM_BINARY(lt_long256, alm_i256, alm_i256, uint8_t, scalar_long256_below(x, y))
ALM_BINARY(gt_long256, alm_i256, alm_i256, uint8_t, scalar_long256_below(y, x))
ALM_BINARY(le_long256, alm_i256, alm_i256, uint8_t, alm_i256_eq(x, y) || scalar_long256_below(x, y))
ALM_BINARY(ge_long256, alm_i256, alm_i256, uint8_t, alm_i256_eq(x, y) || scalar_long256_below(y, x))

static alm_status to_long256(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                             alm_vec *out)
{
    alm_i256 *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        bool null = false;
        for (size_t k = 0; k < 4; k++) {
            const int64_t word = ALM_AT(int64_t, args[k], i);
            null |= word == ALM_LONG_NULL;
            results[i].w[k] = (uint64_t)word;
        }
        if (null)
            results[i] = alm_long256_null();
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------- sum */

typedef struct total {
    alm_i256 sum;
    bool seen, lost;
} total;

static inline void total_add(total *self, alm_i256 value)
{
    const alm_i256 sum = alm_i256_add(self->sum, value);
    self->lost |= alm_u256_cmp(sum, value) < 0;
    self->sum = sum;
    self->seen = true;
}

ALM_AGG_INIT(total, total, {{{0}}, false, false})
#define TOTAL_ROW                                                                                  \
    {                                                                                              \
        if (!alm_long256_is_null(x))                                                               \
            total_add(s, x);                                                                       \
    }
ALM_AGG_UPDATE(total, total, alm_i256, TOTAL_ROW)
ALM_AGG_SCATTER(total, total, alm_i256, TOTAL_ROW)
ALM_AGG_MERGE(total, total, {
    d->lost |= p->lost;
    if (p->seen)
        total_add(d, p->sum);
})

static alm_status total_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const total *self = states;
    alm_i256 *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        if (self[i].lost || (self[i].seen && alm_long256_is_null(self[i].sum)))
            return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                            "sum aggregation failed: result exceeds the range of LONG256");
        results[i] = self[i].seen ? self[i].sum : alm_long256_null();
    }
    return ALM_OK;
}
ALM_AGG_OPS(total, total, total, total)

/* -------------------------------------------------------------------- rows */

#define OP(op, kernel_, doc_)                                                                      \
    {.name = op,                                                                                   \
     .signature = "(LONG256, LONG256) BOOLEAN",                                                    \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "0x01 " op " 0x02",                                                                \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("=", eq_long256, "Equal; null equals null."),
    OP("!=", ne_long256, "Not equal."),
    OP("<>", ne_long256, "Not equal."),
    OP("<", lt_long256, "Less; false for null."),
    OP("<=", le_long256, "Less or equal."),
    OP(">", gt_long256, "Greater; false for null."),
    OP(">=", ge_long256, "Greater or equal."),
    {.name = "to_long256",
     .signature = "(LONG, LONG, LONG, LONG) LONG256",
     .flags = ALM_FN_NULL_OUT,
     .kernel = to_long256,
     .doc = "Number of four words, the lowest first.",
     .example = "to_long256(1, 0, 0, 0)",
     .since = "0.1"},
    ALM_AGG_ROW("sum", "(LONG256) LONG256", total_ops, 0, "Sum.",
                "sum(0x0a) from long_sequence(3)"),
};
ALM_FN_TABLE(long256, ROWS);
