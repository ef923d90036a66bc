/*
 * agg.h - the shapes of aggregates, stamped per state and element type.
 *
 * An aggregate is described by what one row does to one state; ALM_AGG_OPS makes the five functions
 * of alm_agg_ops from it. Where the loop over one state is worth SIMD (sums, extremes) update is
 * written by hand and only scatter and merge come from here.
 *
 * Lanes       Floating sums run in ALM_LANES accumulators, whatever the instruction set, and are added
 *             up in one fixed order: the result is the same on every machine.
 * Constants   Arguments may be constant vectors; the stamped loops read them with stride 0.
 */
#ifndef ALM_FUNC_AGG_H
#define ALM_FUNC_AGG_H

#include "func/registry.h"

enum { ALM_LANES = 16 };

/* Eight lanes; compilers cut them to what the machine has. Loads need no alignment. */
typedef double alm_f64x8 __attribute__((vector_size(64), aligned(8)));
typedef int64_t alm_i64x8 __attribute__((vector_size(64), aligned(8)));

/* init: every state is a copy of one value. */
#define ALM_AGG_INIT(name, S, ...)                                                                 \
    static void name##_init(ALM_UNUSED const alm_call *call, void *states, size_t n)               \
    {                                                                                              \
        S *s = states;                                                                             \
        for (size_t i = 0; i < n; i++)                                                             \
            s[i] = (S)__VA_ARGS__;                                                                 \
    }

/* scatter over one argument of type T: ROW is a statement over S *s and const T x. */
#define ALM_AGG_SCATTER(name, S, T, ROW)                                                           \
    static alm_status name##_scatter(ALM_UNUSED alm_call *call, void *states,                      \
                                     const uint32_t *restrict group, size_t n,                     \
                                     const alm_vec *args)                                          \
    {                                                                                              \
        S *restrict all = states;                                                                  \
        const T *restrict a = args[0].data;                                                        \
        if (args[0].is_const) {                                                                    \
            for (size_t i = 0; i < n; i++) {                                                       \
                S *s = &all[group[i]];                                                             \
                const T x = a[0];                                                                  \
                ROW                                                                                \
            }                                                                                      \
            return ALM_OK;                                                                         \
        }                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            S *s = &all[group[i]];                                                                 \
            const T x = a[i];                                                                      \
            ROW                                                                                    \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

/* update by the same ROW, one state; for aggregates that go row by row anyway. */
#define ALM_AGG_UPDATE(name, S, T, ROW)                                                            \
    static alm_status name##_update(ALM_UNUSED alm_call *call, void *state, size_t n,              \
                                    const alm_vec *args)                                           \
    {                                                                                              \
        S *s = state;                                                                              \
        const T *restrict a = args[0].data;                                                        \
        const size_t step = args[0].is_const ? 0 : 1;                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i * step];                                                               \
            ROW                                                                                    \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

/* merge: PART is a statement over S *d and const S *p; the rows of p come after those of d. */
#define ALM_AGG_MERGE(name, S, PART)                                                               \
    static alm_status name##_merge(ALM_UNUSED alm_call *call, void *dst, const uint32_t *index,    \
                                   const void *src, size_t n)                                      \
    {                                                                                              \
        S *to = dst;                                                                               \
        const S *from = src;                                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            S *d = &to[index != NULL ? index[i] : i];                                              \
            const S *p = &from[i];                                                                 \
            PART                                                                                   \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

/* finish: out[i] = EXPR over const S *s. */
#define ALM_AGG_FINISH(name, S, R, EXPR)                                                           \
    static alm_status name##_finish(ALM_UNUSED alm_call *call, const void *states, size_t n,       \
                                    alm_vec *out)                                                  \
    {                                                                                              \
        const S *all = states;                                                                     \
        R *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const S *s = &all[i];                                                                  \
            o[i] = (R)(EXPR);                                                                      \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

/* The table of operations; finish may come from another stamp. fuse_: see fused.h. */
#define ALM_AGG_OPS(name, S, base, end) ALM_AGG_FUSED_OPS(name, S, base, end, 0)
#define ALM_AGG_FUSED_OPS(name, S, base, end, fuse_)                                               \
    ALM_AGG_ALL_OPS(name, S, base, end, fuse_, true)
/* States that point to memory of their own. */
#define ALM_AGG_OWNING_OPS(name, S, base, end) ALM_AGG_ALL_OPS(name, S, base, end, 0, false)
#define ALM_AGG_ALL_OPS(name, S, base, end, fuse_, plain_)                                         \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(S),                               \
                                           .fuse = (fuse_),                                        \
                                           .plain = (plain_),                                      \
                                           .init = base##_init,                                    \
                                           .update = base##_update,                                \
                                           .scatter = base##_scatter,                              \
                                           .merge = base##_merge,                                  \
                                           .finish = end##_finish};

#define ALM_AGG_ROW(name_, sig, ops, flags_, doc_, example_)                                       \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = (flags_),                                                                            \
     .agg = &(ops),                                                                                \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

#endif
