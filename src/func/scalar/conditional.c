/*
 * conditional.c - coalesce, nullif, greatest, least, iif.
 *
 * Null rule   greatest and least leave nulls out and are null when all arguments are.
 * Types       Arguments meet in one type (alm_type_meet), which is the result.
 */
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* Address form, so that views of several heaps stand in one vector. */
static inline alm_view address_of(const alm_vec *vec, size_t i)
{
    const alm_view view = ((const alm_view *)vec->data)[vec->is_const ? 0 : i];
    if (view.len <= ALM_VIEW_INLINE || view.len == ALM_VIEW_NULL || vec->heap == NULL)
        return view;
    return alm_view_of(alm_view_str(&view, vec->heap));
}

/* -------------------------------------------------------------------- bind */

static alm_status conditional_bind_meet(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                                        alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    alm_type met = ALM_TY(NULL);
    if (argc < 2)
        return alm_fail(cx, ALM_E_FUNCTION, pos, "%s can be used with 2 or more arguments",
                        fn->name);
    for (uint32_t i = 0; i < argc; i++) {
        const alm_type with = alm_type_meet(met, args[i].type);
        if (with.id == ALM_T_NONE && args[i].type.id != ALM_T_NONE)
            return alm_fail(cx, ALM_E_TYPE, args[i].pos, "inconvertible types: %s -> %s",
                            alm_type_name(args[i].type), alm_type_name(met));
        met = with;
    }
    if (met.id == ALM_T_NULL || met.id == ALM_T_NONE)
        met = ALM_TY(STRING);
    for (uint32_t i = 0; i < argc; i++)
        args[i].type = met;
    *result = met;
    return ALM_OK;
}

/* ---------------------------------------------------------------- coalesce */

/* Fills what is null in out from v; true while something is left to fill. */
#define FILL(name, T, IS_NULL)                                                                     \
    static bool fill_##name(const alm_vec *v, T *restrict o, size_t n)                             \
    {                                                                                              \
        const T *a = v->data;                                                                      \
        const size_t step = v->is_const ? 0 : 1;                                                   \
        size_t left = 0;                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            T x = o[i];                                                                            \
            x = (IS_NULL) ? a[i * step] : x;                                                       \
            left += (IS_NULL);                                                                     \
            o[i] = x;                                                                              \
        }                                                                                          \
        return left > 0;                                                                           \
    }
typedef struct longs {
    int64_t lo, hi;
} longs;
FILL(int, int32_t, x == ALM_INT_NULL)
FILL(long, int64_t, x == ALM_LONG_NULL)
FILL(float, float, x != x)
FILL(double, double, x != x)
FILL(u16, uint16_t, x == 0)
FILL(u32, uint32_t, x == 0)
FILL(longs, longs, x.lo == ALM_LONG_NULL && x.hi == ALM_LONG_NULL)

static bool conditional_fill_text(const alm_vec *vec, alm_view *out, size_t n_rows)
{
    size_t left = 0;
    for (size_t i = 0; i < n_rows; i++) {
        if (alm_view_is_null(&out[i]))
            out[i] = address_of(vec, i);
        left += alm_view_is_null(&out[i]);
    }
    return left > 0;
}

/* Types without a loop of their own; vec has the type of the result. */
static bool fill_other(const alm_vec *vec, void *out, size_t n_rows)
{
    alm_vec so_far = {.type = vec->type, .width = vec->width, .data = out};
    size_t left = 0;
    for (size_t i = 0; i < n_rows; i++) {
        if (!alm_vec_is_null(&so_far, i))
            continue;
        memcpy((char *)out + i * vec->width,
               (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width, vec->width);
        left += alm_vec_is_null(&so_far, i);
    }
    return left > 0;
}

static bool fill_nulls(const alm_vec *vec, alm_null_kind kind, void *out, size_t n_rows)
{
    switch (kind) {
    case ALM_NULL_NONE:
        return false; /* the first argument is never null */
    case ALM_NULL_INT:
        return fill_int(vec, out, n_rows);
    case ALM_NULL_LONG:
        return fill_long(vec, out, n_rows);
    case ALM_NULL_NAN32:
        return fill_float(vec, out, n_rows);
    case ALM_NULL_NAN64:
        return fill_double(vec, out, n_rows);
    case ALM_NULL_ZERO16:
        return fill_u16(vec, out, n_rows);
    case ALM_NULL_ZERO32:
        return fill_u32(vec, out, n_rows);
    case ALM_NULL_LONG2:
        return fill_longs(vec, out, n_rows);
    case ALM_NULL_MIN8:
    case ALM_NULL_MIN16:
    case ALM_NULL_MIN128:
    case ALM_NULL_MIN256:
    case ALM_NULL_LONG4:
        return fill_other(vec, out, n_rows);
    case ALM_NULL_VIEW:
    case ALM_NULL_CODE:
        break;
    }
    return conditional_fill_text(vec, out, n_rows);
}

static alm_status coalesce(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_null_kind kind = alm_type_info_of(call->result)->null;
    if (kind == ALM_NULL_VIEW) {
        for (size_t i = 0; i < n_rows; i++)
            ((alm_view *)out->data)[i] = address_of(&args[0], i);
    } else {
        const size_t width = alm_type_width(call->result);
        if (args[0].is_const)
            for (size_t i = 0; i < n_rows; i++)
                memcpy((char *)out->data + i * width, args[0].data, width);
        else
            memcpy(out->data, args[0].data, n_rows * width);
    }
    for (uint32_t k = 1; k < call->argc; k++)
        if (!fill_nulls(&args[k], kind, out->data, n_rows))
            break;
    return ALM_OK;
}

/* ------------------------------------------------------------------ nullif */

#define NULL_IF(name, T, null) ALM_BINARY(nullif_##name, T, T, T, x == y ? (T)(null) : x)
NULL_IF(int, int32_t, ALM_INT_NULL)
NULL_IF(long, int64_t, ALM_LONG_NULL)
NULL_IF(float, float, __builtin_nanf(""))
NULL_IF(double, double, __builtin_nan(""))
NULL_IF(char, uint16_t, 0)
NULL_IF(ipv4, uint32_t, 0)

static alm_status nullif_text(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                              alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_view x = address_of(&args[0], i), y = address_of(&args[1], i);
        views[i] = alm_view_eq(&x, NULL, &y, NULL) ? alm_view_null() : x;
    }
    return ALM_OK;
}

static alm_status nullif_longs(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                               alm_vec *out)
{
    longs *o = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const longs x = ALM_AT(longs, args[0], i), y = ALM_AT(longs, args[1], i);
        o[i] = x.lo == y.lo && x.hi == y.hi ? (longs){ALM_LONG_NULL, ALM_LONG_NULL} : x;
    }
    return ALM_OK;
}

/* --------------------------------------------------------- greatest, least */

/* Argument by argument over the batch: out keeps the better of itself and x. The null of integers is
 * the least value, so greatest needs no test; a comparison with NaN is false. */
#define EXTREME(name, T, START, BETTER)                                                            \
    static ALM_SIMD void name##_fold(const T *restrict a, const size_t step, T *restrict o,        \
                                     size_t n)                                                     \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i * step], y = o[i];                                                     \
            o[i] = (BETTER) ? x : y;                                                               \
        }                                                                                          \
    }                                                                                              \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = START;                                                                          \
        for (uint32_t k = 0; k < call->argc; k++)                                                  \
            name##_fold(args[k].data, args[k].is_const ? 0 : 1, o, n);                             \
        return ALM_OK;                                                                             \
    }
EXTREME(greatest_int, int32_t, ALM_INT_NULL, x > y)
EXTREME(greatest_long, int64_t, ALM_LONG_NULL, x > y)
EXTREME(greatest_float, float, __builtin_nanf(""), x > y || y != y)
EXTREME(greatest_double, double, __builtin_nan(""), x > y || y != y)
EXTREME(least_int, int32_t, ALM_INT_NULL, x != ALM_INT_NULL && (x < y || y == ALM_INT_NULL))
EXTREME(least_long, int64_t, ALM_LONG_NULL, x != ALM_LONG_NULL && (x < y || y == ALM_LONG_NULL))
EXTREME(least_float, float, __builtin_nanf(""), x < y || y != y)
EXTREME(least_double, double, __builtin_nan(""), x < y || y != y)

/* --------------------------------------------------------------------- iif */

static alm_status bind_choice(alm_ctx *cx, const alm_fn *fn, int32_t pos, uint32_t argc,
                              alm_arg *args, alm_type *result, void **data)
{
    return conditional_bind_meet(cx, fn, pos, argc - 1, args + 1, result, data);
}

static void conditional_choose_views(size_t n, const alm_vec *args, alm_view *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = address_of(&args[ALM_AT(uint8_t, args[0], i) ? 1 : 2], i);
}

static alm_status conditional_choose(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    char *results = out->data;
    if (alm_type_info_of(call->result)->null == ALM_NULL_VIEW) {
        conditional_choose_views(n_rows, args, out->data);
        return ALM_OK;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const alm_vec *vec = &args[ALM_AT(uint8_t, args[0], i) ? 1 : 2];
        memcpy(results + i * vec->width,
               (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width, vec->width);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------- rows of subqueries */

/* True for the first row of a subquery that may give one; a second one is an error. */
static alm_status single_row(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const int64_t *number = args[0].data;
    const size_t step = args[0].is_const ? 0 : 1;
    int64_t most = 0;
    for (size_t i = 0; i < n_rows; i++)
        most = ALM_MAX(most, number[i * step]);
    if (most > 1)
        return alm_fail(call->cx, ALM_E_LIMIT, call->pos, "the subquery gives more than one row");
    memset(out->data, 1, n_rows);
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, flags_, bind_, kernel_, doc_, example_)                                        \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define NULLIF(T, kernel)                                                                          \
    ROW("nullif", "(" T ", " T ") " T, 0, NULL, kernel, "The first, or null if both are equal.",   \
        "nullif(5, 5)")
#define COALESCE_OF_TWO(f)                                                                         \
    ROW(f, "(ANY, ANY) ?", 0, conditional_bind_meet, coalesce,                                     \
        "The first, or the second if the first is null.", f "(null, 5)")
#define IIF(f)                                                                                     \
    ROW(f, "(BOOLEAN, ANY, ANY) ?", 0, bind_choice, conditional_choose,                            \
        "The second where the first is true, else the third. Either may be null.",                 \
        f "(2 > 1, 'yes', 'no')")
#define EXTREMES(f, doc, example)                                                                  \
    ROW(#f, "(INT, INT...) INT", 0, NULL, f##_int, doc, example),                                  \
        ROW(#f, "(LONG, LONG...) LONG", 0, NULL, f##_long, doc, example),                          \
        ROW(#f, "(FLOAT, FLOAT...) FLOAT", 0, NULL, f##_float, doc, example),                      \
        ROW(#f, "(DOUBLE, DOUBLE...) DOUBLE", 0, NULL, f##_double, doc, example),                  \
        ROW(#f, "(TIME, TIME...) TIME", 0, alm_bind_meet_times, f##_long, doc, example)

/* By column `kernels` of type.def. */
#define NULLIFS_OWN(T)
#define NULLIFS_INT64(T)  NULLIF(T, nullif_long),
#define NULLIFS_UINT32(T) NULLIF(T, nullif_ipv4),
#define NULLIFS_PAIR(T)   NULLIF(T, nullif_longs),
#define EXTREMES_OWN(T)
#define EXTREMES_INT64(T)                                                                          \
    ROW("greatest", "(" T ", " T "...) " T, 0, NULL, greatest_long, GREATEST_DOC,                  \
        "greatest(1, 2, 3)"),                                                                      \
        ROW("least", "(" T ", " T "...) " T, 0, NULL, least_long, LEAST_DOC, "least(1, 2, 3)"),
#define EXTREMES_UINT32(T)
#define EXTREMES_PAIR(T)
#define GREATEST_DOC "Greatest argument, nulls left out."
#define LEAST_DOC    "Least argument, nulls left out."

static const alm_fn ROWS[] = {
    ROW("coalesce", "(ANY...) ?", 0, conditional_bind_meet, coalesce,
        "First argument that is not null.", "coalesce(null, 0, 1)"),
    NULLIF("CHAR", nullif_char),
    NULLIF("STRING", nullif_text),
    NULLIF("VARCHAR", nullif_text),
    NULLIF("INT", nullif_int),
    NULLIF("LONG", nullif_long),
    NULLIF("FLOAT", nullif_float),
    NULLIF("DOUBLE", nullif_double),
    NULLIF("TIMESTAMP", nullif_long),
    NULLIF("TIMESTAMP_NS", nullif_long),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) NULLIFS_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
    EXTREMES(greatest, GREATEST_DOC, "greatest(1, 2, 3)"),
    EXTREMES(least, LEAST_DOC, "least(1, 2, 3)"),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) EXTREMES_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
    COALESCE_OF_TWO("ifnull"),
    COALESCE_OF_TWO("nvl"),
    IIF("iif"),
    IIF("if"),
    ROW("single row", "(LONG) BOOLEAN", ALM_FN_INTERNAL, NULL, single_row,
        "Fails if the number of a row is not 1.", ""),
};
ALM_FN_TABLE(conditional, ROWS);
