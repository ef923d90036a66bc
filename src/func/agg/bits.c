/*
 * bits.c - bit_and, bit_or, bit_xor of whole numbers; bool_and, bool_or; isordered.
 *
 * Null rule   Nulls are left out; no value at all gives null. BOOLEAN has no null: false then. For isordered a
 *             null is the least value.
 */
#include "func/agg/agg.h"
#include "func/value/tables.h"

typedef struct bits {
    int64_t value;
    bool seen;
} bits;

ALM_AGG_INIT(bits, bits, {0})

#define BITS(name, T, null, OP)                                                                    \
    ALM_AGG_UPDATE(name, bits, T, {                                                                \
        if (x != (null)) {                                                                         \
            s->value = s->seen ? s->value OP x : x;                                                \
            s->seen = true;                                                                        \
        }                                                                                          \
    })                                                                                             \
    ALM_AGG_SCATTER(name, bits, T, {                                                               \
        if (x != (null)) {                                                                         \
            s->value = s->seen ? s->value OP x : x;                                                \
            s->seen = true;                                                                        \
        }                                                                                          \
    })                                                                                             \
    ALM_AGG_MERGE(name, bits, {                                                                    \
        if (p->seen) {                                                                             \
            d->value = d->seen ? d->value OP p->value : p->value;                                  \
            d->seen = true;                                                                        \
        }                                                                                          \
    })                                                                                             \
    ALM_AGG_FINISH(name, bits, T, s->seen ? s->value : (null))                                     \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(bits),                            \
                                           .plain = true,                                          \
                                           .init = bits_init,                                      \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = name##_merge,                                  \
                                           .finish = name##_finish};
BITS(and_int, int32_t, ALM_INT_NULL, &)
BITS(and_long, int64_t, ALM_LONG_NULL, &)
BITS(or_int, int32_t, ALM_INT_NULL, |)
BITS(or_long, int64_t, ALM_LONG_NULL, |)
BITS(xor_int, int32_t, ALM_INT_NULL, ^)
BITS(xor_long, int64_t, ALM_LONG_NULL, ^)

typedef struct truth {
    int64_t all, yes;
} truth;

ALM_AGG_INIT(truth, truth, {0})
ALM_AGG_UPDATE(truth, truth, uint8_t, {
    s->all++;
    s->yes += x;
})
ALM_AGG_SCATTER(truth, truth, uint8_t, {
    s->all++;
    s->yes += x;
})
ALM_AGG_MERGE(truth, truth, {
    d->all += p->all;
    d->yes += p->yes;
})
ALM_AGG_FINISH(every, truth, uint8_t, s->all > 0 && s->yes == s->all)
ALM_AGG_FINISH(any, truth, uint8_t, s->yes > 0)
ALM_AGG_OPS(every, truth, truth, every)
ALM_AGG_OPS(any, truth, truth, any)

/* Values in row order; they ascend until they are broken. */
typedef struct run {
    int64_t first, last;
    bool seen, broken;
} run;

ALM_AGG_INIT(run, run, {0})
#define NEXT_OF_RUN                                                                                \
    {                                                                                              \
        s->broken |= s->seen && x < s->last;                                                       \
        s->first = s->seen ? s->first : x;                                                         \
        s->last = x;                                                                               \
        s->seen = true;                                                                            \
    }
ALM_AGG_UPDATE(run, run, int64_t, NEXT_OF_RUN)
ALM_AGG_SCATTER(run, run, int64_t, NEXT_OF_RUN)
ALM_AGG_MERGE(run, run, {
    if (p->seen) {
        d->broken |= p->broken || (d->seen && p->first < d->last);
        d->first = d->seen ? d->first : p->first;
        d->last = p->last;
        d->seen = true;
    }
})
ALM_AGG_FINISH(run, run, uint8_t, !s->broken)
ALM_AGG_OPS(run, run, run, run)

/* -------------------------------------------------------------------- rows */

#define ORDERED(T)                                                                                 \
    ALM_AGG_ROW("isordered", "(" T ") BOOLEAN", run_ops, ALM_FN_ROW_ORDER,                         \
                "True if no value is less than the one of the row before; a null is the least.",   \
                "isordered(x) from long_sequence(3)")

#define ROWS_OF(f, stem, doc, example)                                                             \
    ALM_AGG_ROW(f, "(INT) INT", stem##_int_ops, 0, doc, example),                                  \
        ALM_AGG_ROW(f, "(LONG) LONG", stem##_long_ops, 0, doc, example)

static const alm_fn ROWS[] = {
    ROWS_OF("bit_and", and, "Bits that are set in all values.",
            "bit_and(x + 12) from long_sequence(2)"),
    ROWS_OF("bit_or", or, "Bits that are set in any value.", "bit_or(x) from long_sequence(5)"),
    ROWS_OF("bit_xor", xor, "Bits that are set in an odd number of values.",
            "bit_xor(x) from long_sequence(5)"),
    ALM_AGG_ROW("bool_and", "(BOOLEAN) BOOLEAN", every_ops, 0,
                "True if it is true in every row; false if there is no row.",
                "bool_and(price > 0)"),
    ALM_AGG_ROW("every", "(BOOLEAN) BOOLEAN", every_ops, 0,
                "True if it is true in every row; false if there is no row.", "every(price > 0)"),
    ALM_AGG_ROW("bool_or", "(BOOLEAN) BOOLEAN", any_ops, 0,
                "True if it is true in any row; false if there is no row.",
                "bool_or(price > 100000)"),
    ORDERED("LONG"),
    ORDERED("DATE"),
    ORDERED("TIMESTAMP"),
    ORDERED("TIMESTAMP_NS"),
};
ALM_FN_TABLE(agg_bits, ROWS);
