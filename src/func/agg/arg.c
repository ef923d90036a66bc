/*
 * arg.c - arg_max, arg_min: the value of the row in which another expression is greatest or least.
 *
 * Null rule   A row counts when neither is null; of equal keys the first row counts. No such row: null.
 * Shapes      Keys are int64 or double. Values are bits of up to 32 bytes; texts, arrays and bytes are
 *             copied, which happens once a batch at most where there is one group.
 */
#include "func/agg/agg.h"
#include "func/value/tables.h"

enum { VALUE_BYTES = 32, NO_ROW = -1 };

typedef struct arg_pick {
    char value[VALUE_BYTES]; /* of a text: its view */
    char *own;               /* bytes of that view */
    uint32_t cap;
    bool seen;
    union {
        int64_t whole;
        double real;
    } key;
} arg_pick;

static void arg_init(const alm_call *call, void *states, size_t n)
{
    arg_pick *picks = states, none = {0};
    alm_value_set_null(call->result, none.value);
    for (size_t i = 0; i < n; i++)
        picks[i] = none;
}

static alm_status keep_view(const alm_call *call, arg_pick *pick, const alm_vec *vec, size_t i)
{
    const alm_str text = alm_vec_text(vec, i); /* of a code of a SYMBOL too */
    alm_view view = alm_view_of(text);
    if (text.len > ALM_VIEW_INLINE) {
        if (pick->cap < text.len) {
            const size_t cap = ALM_MAX(text.len + text.len / 2, (size_t)64);
            ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &pick->own));
            pick->cap = (uint32_t)ALM_MIN(cap, (size_t)UINT32_MAX);
        }
        memcpy(pick->own, text.ptr, text.len);
        view = alm_view_of((alm_str){pick->own, text.len});
    }
    memcpy(pick->value, &view, sizeof view);
    return ALM_OK;
}

static alm_status arg_keep(const alm_call *call, arg_pick *pick, const alm_vec *vec, size_t i)
{
    ALM_ASSERT(vec->width <= VALUE_BYTES);
    pick->seen = true;
    if (alm_type_info_of(vec->type)->null == ALM_NULL_VIEW || vec->type.id == ALM_T_SYMBOL)
        return keep_view(call, pick, vec, i);
    memcpy(pick->value, (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width, vec->width);
    return ALM_OK;
}

/* Best row of a batch first, then one copy; a key counts only where its value is not null. */
#define PICK(name, T, field, none, better)                                                         \
    static alm_status name##_update(alm_call *call, void *state, size_t n, const alm_vec *args)    \
    {                                                                                              \
        arg_pick *s = state;                                                                       \
        const T *key = args[1].data;                                                               \
        const size_t step = args[1].is_const ? 0 : 1;                                              \
        int64_t best = NO_ROW;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = key[i * step], y = s->key.field;                                           \
            if (!(none) && (!s->seen || (better)) && !alm_vec_is_null(&args[0], i)) {              \
                best = (int64_t)i;                                                                 \
                s->key.field = x;                                                                  \
                s->seen = true;                                                                    \
            }                                                                                      \
        }                                                                                          \
        return best == NO_ROW ? ALM_OK : arg_keep(call, s, &args[0], (size_t)best);                \
    }                                                                                              \
    static alm_status name##_scatter(alm_call *call, void *states, const uint32_t *group,          \
                                     size_t n, const alm_vec *args)                                \
    {                                                                                              \
        const T *key = args[1].data;                                                               \
        const size_t step = args[1].is_const ? 0 : 1;                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            arg_pick *s = (arg_pick *)states + group[i];                                           \
            const T x = key[i * step], y = s->key.field;                                           \
            if (!(none) && (!s->seen || (better)) && !alm_vec_is_null(&args[0], i)) {              \
                s->key.field = x;                                                                  \
                ALM_TRY(arg_keep(call, s, &args[0], i));                                           \
            }                                                                                      \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    ALM_AGG_MERGE(name, arg_pick, {                                                                \
        const T x = p->key.field;                                                                  \
        const T y = d->key.field;                                                                  \
        if (p->seen && (!d->seen || (better)))                                                     \
            *d = *p;                                                                               \
    })                                                                                             \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(arg_pick),                        \
                                           .init = arg_init,                                       \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = name##_merge,                                  \
                                           .finish = arg_finish};

static alm_status arg_finish(ALM_UNUSED alm_call *call, const void *states, size_t n_rows,
                             alm_vec *out)
{
    const arg_pick *all = states;
    char *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        memcpy(results + i * out->width, all[i].value, out->width);
    return ALM_OK;
}

PICK(arg_max_long, int64_t, whole, x == ALM_LONG_NULL, x > y)
PICK(arg_min_long, int64_t, whole, x == ALM_LONG_NULL, x < y)
PICK(arg_max_double, double, real, x != x, x > y)
PICK(arg_min_double, double, real, x != x, x < y)

static alm_status arg_bind_first(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                 ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc, alm_arg *args,
                                 alm_type *result, ALM_UNUSED void **data)
{
    if (args[0].type.id == ALM_T_NULL || args[0].type.id == ALM_T_NONE)
        args[0].type = ALM_TY(STRING);
    *result = args[0].type;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, T, ops, doc_, example_)                                                             \
    {.name = f,                                                                                    \
     .signature = "(ANY, " T ") ?",                                                                \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = ALM_FN_ROW_ORDER | ALM_FN_SYMBOLS,                                                   \
     .bind = arg_bind_first,                                                                       \
     .agg = &(ops),                                                                                \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define ROWS_OF(f, which, doc)                                                                     \
    ROW(f, "LONG", which##_long_ops, doc, f "(symbol, price)"),                                    \
        ROW(f, "DATE", which##_long_ops, doc, f "(symbol, price)"),                                \
        ROW(f, "TIME", which##_long_ops, doc, f "(price, timestamp)"),                             \
        ROW(f, "DOUBLE", which##_double_ops, doc, f "(symbol, price)")
#define MAX_DOC                                                                                    \
    "First argument of the row where the second is greatest; rows with a null in either are left " \
    "out, of equal ones the first row counts."
#define MIN_DOC                                                                                    \
    "First argument of the row where the second is least; rows with a null in either are left "    \
    "out, of equal ones the first row counts."

static const alm_fn ROWS[] = {
    ROWS_OF("arg_max", arg_max, MAX_DOC),
    ROWS_OF("max_by", arg_max, MAX_DOC),
    ROWS_OF("arg_min", arg_min, MIN_DOC),
    ROWS_OF("min_by", arg_min, MIN_DOC),
};
ALM_FN_TABLE(arg, ROWS);
