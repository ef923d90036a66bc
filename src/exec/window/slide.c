/*
 * slide.c - see slide.h. One kernel per shape, operation and type of value, made from
 * slide.def: a loop over the batch in which the operation is a constant.
 */
#include "exec/window/slide.h"

#include <math.h>

#define ALWAYS      static inline __attribute__((always_inline))
#define RARELY      __attribute__((cold, noinline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { RING_MIN = 8 };

struct alm_slide {
    alm_slide_spec spec;
    alm_pool *pool;
    uint32_t n, n_last; /* partitions; rows of a ROWS frame */
    void *states;       /* by shape and type */
    int64_t *counts;    /* TOTAL: values so far, where the state does not tell */
};

/* ts - ticks */
ALWAYS int64_t before(int64_t ts, int64_t ticks)
{
    int64_t out;
    return __builtin_sub_overflow(ts, ticks, &out) ? INT64_MIN : out;
}

/* A bit per place of [0, to), those of [0, from) kept, the others 0. */
static alm_status grow_bits(alm_ctx *cx, alm_pool *pool, uint64_t **bits, uint32_t from,
                            uint32_t to)
{
    const size_t old = from / 64 + 1, all = to / 64 + 1, kept = *bits == NULL ? 0 : old;
    ALM_TRY(alm_pool_grow(cx, pool, bits, kept * sizeof **bits, all * sizeof **bits));
    memset(*bits + kept, 0, (all - kept) * sizeof **bits);
    return ALM_OK;
}

/* -------------------------------------------------------------------------- doubles, integers */

ALWAYS bool gone_f(double value)
{
    return !(value - value == 0); /* infinities are nulls too */
}

ALWAYS double none_f(alm_slide_op op)
{
    return op == ALM_SLIDE_MIN ? INFINITY : op == ALM_SLIDE_MAX ? -INFINITY : -0.0;
}

ALWAYS double join_f(alm_slide_op op, double a, double b)
{
    return op == ALM_SLIDE_MIN ? (b < a ? b : a) : op == ALM_SLIDE_MAX ? (b > a ? b : a) : a + b;
}

ALWAYS double result_f(alm_slide_op op, double sum, int64_t count)
{
    return op == ALM_SLIDE_AVG ? sum / (double)count : count > 0 ? sum : NAN;
}

ALWAYS bool gone_i(alm_slide_op op, int64_t value)
{
    return value == (op == ALM_SLIDE_COUNT ? 0 : ALM_LONG_NULL);
}

ALWAYS int64_t none_i(alm_slide_op op)
{
    return op == ALM_SLIDE_MIN ? INT64_MAX : op == ALM_SLIDE_MAX ? INT64_MIN : 0;
}

ALWAYS int64_t join_i(alm_slide_op op, int64_t a, int64_t b)
{
    return op == ALM_SLIDE_MIN ? ALM_MIN(a, b) : op == ALM_SLIDE_MAX ? ALM_MAX(a, b) : a + b;
}

ALWAYS int64_t result_i(alm_slide_op op, int64_t sum, int64_t count)
{
    return op == ALM_SLIDE_COUNT ? sum : count > 0 ? sum : ALM_LONG_NULL;
}

#define T                      double
#define FN(name)               name##_f
#define IS_GONE(op, x)         gone_f(x)
#define NONE(op)               none_f(op)
#define JOIN(op, a, b)         join_f(op, a, b)
#define RESULT(op, sum, count) result_f(op, sum, count)
#define NOTHING                NAN
#include "exec/window/slide.def"
#undef T
#undef FN
#undef IS_GONE
#undef NONE
#undef JOIN
#undef RESULT
#undef NOTHING

#define T                      int64_t
#define FN(name)               name##_i
#define IS_GONE(op, x)         gone_i(op, x)
#define NONE(op)               none_i(op)
#define JOIN(op, a, b)         join_i(op, a, b)
#define RESULT(op, sum, count) result_i(op, sum, count)
#define NOTHING                ALM_LONG_NULL
#include "exec/window/slide.def"

/* ---------------------------------------------------------------------------------- kernels */

typedef struct slide_rows {
    alm_slide *s;
    uint32_t n;
    const uint32_t *number;
    bool single;
    const int64_t *ts;
    const void *x;
    void *out;
} slide_rows;

#define DEFINE_SHAPES(name, op, type)                                                              \
    static alm_status total_##name(alm_ctx *cx, const slide_rows *r)                               \
    {                                                                                              \
        (void)cx;                                                                                  \
        if (r->single)                                                                             \
            total_one_##type(op, r->s->states, r->s->counts, r->n, r->x, r->out);                  \
        else                                                                                       \
            total_##type(op, r->s->states, r->s->counts, r->n, r->number, r->x, r->out);           \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status rows_##name(alm_ctx *cx, const slide_rows *r)                                \
    {                                                                                              \
        return rows_##type(cx, op, r->s, r->n, r->number, r->x, r->out);                           \
    }                                                                                              \
    static alm_status range_##name(alm_ctx *cx, const slide_rows *r)                               \
    {                                                                                              \
        return range_##type(cx, op, false, r->s, r->n, r->number, r->ts, r->x, r->out);            \
    }                                                                                              \
    static alm_status late_##name(alm_ctx *cx, const slide_rows *r)                                \
    {                                                                                              \
        return range_##type(cx, op, true, r->s, r->n, r->number, r->ts, r->x, r->out);             \
    }
DEFINE_SHAPES(count, ALM_SLIDE_COUNT, i)
DEFINE_SHAPES(sum, ALM_SLIDE_SUM, f)
DEFINE_SHAPES(avg, ALM_SLIDE_AVG, f)
DEFINE_SHAPES(min, ALM_SLIDE_MIN, f)
DEFINE_SHAPES(max, ALM_SLIDE_MAX, f)
DEFINE_SHAPES(least, ALM_SLIDE_MIN, i)
DEFINE_SHAPES(most, ALM_SLIDE_MAX, i)

typedef alm_status (*slide_kernel)(alm_ctx *cx, const slide_rows *r);

#define SHAPES(name) {total_##name, rows_##name, range_##name, late_##name}
static const slide_kernel kernels[][4] = {SHAPES(count), SHAPES(sum), SHAPES(avg), SHAPES(min),
                                          SHAPES(max)};
static const slide_kernel whole_kernels[][4] = {SHAPES(least), SHAPES(most)}; /* integers */

/* --------------------------------------------------------------------------------- interface */

bool alm_slide_op_of(const alm_window_call *call, alm_slide_op *op, bool *floating)
{
    *floating = false;
    static const struct {
        const char *name;
        alm_slide_op op;
    } known[] = {{"count", ALM_SLIDE_COUNT},
                 {"sum", ALM_SLIDE_SUM},
                 {"avg", ALM_SLIDE_AVG},
                 {"min", ALM_SLIDE_MIN},
                 {"max", ALM_SLIDE_MAX}};
    for (size_t i = 0; i < ALM_COUNT(known); i++) {
        if (strcmp(call->fn->name, known[i].name) != 0)
            continue;
        *op = known[i].op;
        if (*op == ALM_SLIDE_COUNT)
            return call->n_args <= 1 && call->type.id == ALM_T_LONG;
        if (call->n_args != 1)
            return false;
        const alm_type type = call->args[0]->type;
        const bool extreme = *op == ALM_SLIDE_MIN || *op == ALM_SLIDE_MAX;
        const bool whole =
            type.id == ALM_T_LONG || alm_type_is_timestamp(type) || type.id == ALM_T_DATE;
        *floating = type.id == ALM_T_DOUBLE;
        return (*floating || (extreme && whole)) && alm_type_eq(call->type, type);
    }
    return false;
}

alm_status alm_slide_new(alm_ctx *cx, alm_pool *pool, const alm_slide_spec *spec, alm_slide **out)
{
    alm_slide *slide = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &slide));
    ALM_ASSERT(spec->shape != ALM_SLIDE_ROWS ||
               (spec->back >= 0 && spec->back < ALM_SLIDE_ROWS_MAX));
    slide->spec = *spec;
    slide->pool = pool;
    slide->n_last = spec->shape == ALM_SLIDE_ROWS ? (uint32_t)spec->back + 1 : 0;
    *out = slide;
    return ALM_OK;
}

static size_t state_bytes(const alm_slide *slide)
{
    switch (slide->spec.shape) {
    case ALM_SLIDE_TOTAL:
        break;
    case ALM_SLIDE_ROWS:
        return slide->spec.floating ? sizeof(last_f) : sizeof(last_i);
    case ALM_SLIDE_RANGE:
        return slide->spec.floating ? sizeof(span_f) : sizeof(span_i);
    }
    return sizeof(int64_t);
}

/* States without a value yet; those of frames are zeros until their first row. */
static void clear_totals(alm_slide *slide, uint32_t from, uint32_t to)
{
    const alm_slide_op op = slide->spec.op;
    double *f = slide->states;
    int64_t *i = slide->states;
    for (uint32_t k = from; k < to; k++) {
        if (slide->spec.floating)
            f[k] = op == ALM_SLIDE_AVG ? -0.0 : NAN;
        else
            i[k] = op == ALM_SLIDE_COUNT ? 0 : ALM_LONG_NULL;
    }
}

alm_status alm_slide_reserve(alm_ctx *cx, alm_slide *slide, uint32_t n)
{
    const uint32_t old = slide->n;
    const size_t bytes = state_bytes(slide);
    if (n <= old)
        return ALM_OK;
    n = ALM_MAX(n, 2 * old);
    ALM_TRY(alm_pool_grow(cx, slide->pool, &slide->states, old * bytes, n * bytes));
    memset((char *)slide->states + old * bytes, 0, (n - old) * bytes);
    if (slide->spec.shape == ALM_SLIDE_TOTAL) {
        clear_totals(slide, old, n);
        ALM_TRY(alm_pool_grow(cx, slide->pool, &slide->counts, old * sizeof(int64_t),
                              n * sizeof(int64_t)));
        memset(slide->counts + old, 0, (n - old) * sizeof(int64_t));
    }
    slide->n = n;
    return ALM_OK;
}

alm_status alm_slide_run(alm_ctx *cx, alm_slide *slide, uint32_t n, const uint32_t *number,
                         bool single, const int64_t *ts, const void *values, void *out)
{
    const slide_rows r = {
        .s = slide, .n = n, .number = number, .single = single, .ts = ts, .x = values, .out = out};
    const alm_slide_op op = slide->spec.op;
    const uint32_t shape = slide->spec.shape == ALM_SLIDE_RANGE && slide->spec.ahead > 0
                               ? 3
                               : (uint32_t)slide->spec.shape;
    if (slide->spec.floating || op == ALM_SLIDE_COUNT)
        return kernels[op][shape](cx, &r);
    return whole_kernels[op == ALM_SLIDE_MIN ? 0 : 1][shape](cx, &r);
}

/* ------------------------------------------------------------------- frames of rows in memory */

/* One body for each operation and type, op a constant in it. */
#define BY_OP(p, f, ...)                                                                           \
    do {                                                                                           \
        const alm_slide_op by_op = (p)->op;                                                        \
        if (by_op == ALM_SLIDE_COUNT)                                                              \
            break;                                                                                 \
        if ((p)->floating && by_op == ALM_SLIDE_MIN)                                               \
            f##_f(ALM_SLIDE_MIN, __VA_ARGS__);                                                     \
        else if ((p)->floating && by_op == ALM_SLIDE_MAX)                                          \
            f##_f(ALM_SLIDE_MAX, __VA_ARGS__);                                                     \
        else if ((p)->floating && by_op == ALM_SLIDE_AVG)                                          \
            f##_f(ALM_SLIDE_AVG, __VA_ARGS__);                                                     \
        else if ((p)->floating)                                                                    \
            f##_f(ALM_SLIDE_SUM, __VA_ARGS__);                                                     \
        else if (by_op == ALM_SLIDE_MIN)                                                           \
            f##_i(ALM_SLIDE_MIN, __VA_ARGS__);                                                     \
        else                                                                                       \
            f##_i(ALM_SLIDE_MAX, __VA_ARGS__);                                                     \
    } while (0)

static void slide_count_rows(const uint8_t *pass, uint32_t n_befores, uint32_t *before)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n_befores; i++) {
        before[i] = count;
        count += pass == NULL || pass[i];
    }
    before[n_befores] = count;
}

void alm_slide_prepare(const alm_slide_part *slide_part)
{
    if (slide_part->op == ALM_SLIDE_COUNT)
        slide_count_rows(slide_part->pass, slide_part->n, slide_part->before);
    BY_OP(slide_part, plain, slide_part->n, slide_part->value, slide_part->pass, slide_part->plain,
          slide_part->before);
}

void alm_slide_frames(const alm_slide_part *slide_part, const uint32_t *lo, const uint32_t *hi,
                      void *out)
{
    if (slide_part->n > 0)
        BY_OP(slide_part, frames, slide_part->n, lo, hi, slide_part->plain, slide_part->suffix,
              out);
}

void alm_slide_merge(const alm_slide_part *slide_part, const void *b, void *a)
{
    BY_OP(slide_part, merge, slide_part->n, b, a);
}

void alm_slide_settle(const alm_slide_part *slide_part, const uint32_t *count, void *out)
{
    if (slide_part->op == ALM_SLIDE_COUNT)
        for (uint32_t i = 0; i < slide_part->n; i++)
            ((int64_t *)out)[i] = count[i];
    BY_OP(slide_part, settle, slide_part->n, count, out);
}
