/*
 * shape.c - functions that make a DOUBLE[] of another: arithmetic by element, flatten,
 * transpose, matmul, shift, round, array_cum_sum.
 *
 * Shapes      Arithmetic takes arrays of one shape, or stretches lengths of 1 and missing outer dimensions
 *             to those of the other side.
 * Null rule   A null array gives null (flatten: an empty array). A null element gives a null element;
 *             array_cum_sum and matmul leave it out of their sums.
 */
#include <math.h>

#include "func/operator/rounding.h"
#include "func/value/by_row.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/array.h"

/* ------------------------------------------------------------------ arithmetic */

typedef double (*element_op)(double x, double y);

#define ELEMENT(name, expr)                                                                        \
    static double name(double x, double y)                                                         \
    {                                                                                              \
        return expr;                                                                               \
    }
ELEMENT(array_shape_add, x + y)
ELEMENT(array_shape_subtract, x - y)
ELEMENT(array_shape_multiply, x *y)
ELEMENT(array_shape_divide, x / y)

/* Lengths of the result; false: the shapes do not go together. */
static bool meet_shapes(const alm_array *a, const alm_array *b, uint32_t *len, uint32_t *dims)
{
    *dims = ALM_MAX(a->dims, b->dims);
    for (uint32_t dim = 0; dim < *dims; dim++) {
        const uint32_t skip_a = *dims - a->dims, skip_b = *dims - b->dims;
        const uint32_t x = dim < skip_a ? 1 : a->len[dim - skip_a];
        const uint32_t y = dim < skip_b ? 1 : b->len[dim - skip_b];
        if (x != y && x != 1 && y != 1)
            return false;
        len[dim] = x == 1 ? y : x;
    }
    return true;
}

/* How far one step in each dimension of the result goes in `array`: 0 where it is stretched. */
static void strides(const alm_array *array, uint32_t dims, size_t *step)
{
    size_t size = 1;
    for (uint32_t dim = dims; dim-- > 0;) {
        const uint32_t skip = dims - array->dims;
        const uint32_t len = dim < skip ? 1 : array->len[dim - skip];
        step[dim] = len == 1 ? 0 : size;
        size *= len;
    }
}

static void array_shape_combine(element_op op, const alm_array *a, const alm_array *b,
                                const uint32_t *len, uint32_t dims, alm_array_out *writer)
{
    size_t step_a[ALM_ARRAY_DIMS_MAX], step_b[ALM_ARRAY_DIMS_MAX], at_a = 0, at_b = 0;
    uint32_t at[ALM_ARRAY_DIMS_MAX] = {0};
    strides(a, dims, step_a);
    strides(b, dims, step_b);
    for (size_t i = 0; i < writer->count; i++) {
        alm_array_put(writer, i, op(alm_array_at(a->data, at_a), alm_array_at(b->data, at_b)));
        for (uint32_t dim = dims; dim-- > 0;) {
            at_a += step_a[dim];
            at_b += step_b[dim];
            if (++at[dim] < len[dim])
                break;
            at_a -= step_a[dim] * len[dim];
            at_b -= step_b[dim] * len[dim];
            at[dim] = 0;
        }
    }
}

static alm_status arithmetic(alm_call *call, element_op op, const alm_array *a, const alm_array *b,
                             bool by_row, alm_view *out)
{
    uint32_t len[ALM_ARRAY_DIMS_MAX], dims = 0;
    alm_array_out writer;
    *out = alm_view_null();
    if (a->dims == 0 || b->dims == 0)
        return ALM_OK;
    const bool meet = meet_shapes(a, b, len, &dims);
    if (!meet && by_row)
        return ALM_OK;
    if (!meet) {
        char left[200], right[200];
        return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                        "arrays have incompatible shapes [leftShape=%s, rightShape=%s]",
                        alm_array_shape(a, left, sizeof left),
                        alm_array_shape(b, right, sizeof right));
    }
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, dims, len, &writer));
    if (alm_array_same_shape(a, b))
        for (size_t i = 0; i < writer.count; i++)
            alm_array_put(&writer, i, op(alm_array_at(a->data, i), alm_array_at(b->data, i)));
    else
        array_shape_combine(op, a, b, len, dims, &writer);
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

/* Row i of either kind of argument; a number is an array of one element. */
static alm_array operand(const alm_vec *vec, size_t i)
{
    if (vec->type.id == ALM_T_ARRAY)
        return alm_array_of(vec, i);
    const double *x = (const double *)vec->data + (vec->is_const ? 0 : i);
    return (alm_array){.dims = 1, .len = {1}, .count = 1, .data = (const char *)x};
}

#define OPERATOR(name, op)                                                                         \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_array a = operand(&args[0], i), b = operand(&args[1], i);                    \
            ALM_TRY(                                                                               \
                arithmetic(call, op, &a, &b, alm_by_row(args, 0, 2), (alm_view *)out->data + i));  \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
OPERATOR(array_shape_add_all, array_shape_add)
OPERATOR(subtract_all, array_shape_subtract)
OPERATOR(array_shape_multiply_all, array_shape_multiply)
OPERATOR(array_shape_divide_all, array_shape_divide)

/* As many dimensions as the larger side has. */
static alm_status array_shape_bind_meet(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                        ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                                        alm_type *result, ALM_UNUSED void **data)
{
    uint32_t dims = 1;
    for (uint32_t i = 0; i < argc; i++)
        dims = ALM_MAX(dims, (uint32_t)args[i].type.dims);
    *result = alm_type_array(dims);
    return ALM_OK;
}

/* ------------------------------------------------------------ the same shape again */

/* Element i of the result from the array, i being its place; `arg` is what the function was given. */
#define MAP(name, PREPARE, EXPR)                                                                   \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        alm_view *o = out->data;                                                                   \
        for (size_t row = 0; row < n; row++) {                                                     \
            const alm_array a = alm_array_of(&args[0], row);                                       \
            alm_array_out w;                                                                       \
            o[row] = alm_view_null();                                                              \
            if (a.dims == 0)                                                                       \
                continue;                                                                          \
            ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, a.dims, a.len, &w));         \
            PREPARE                                                                                \
            for (size_t i = 0; i < a.count; i++)                                                   \
                alm_array_put(&w, i, EXPR);                                                        \
            o[row] = alm_array_finish(&w);                                                         \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }

MAP(array_shape_negate, , -alm_array_at(a.data, i))
MAP(array_shape_round_all, const int32_t scale = ALM_AT(int32_t, args[1], row);
    , alm_round_to(alm_array_at(a.data, i), scale))
MAP(shift, const int32_t by = ALM_AT(int32_t, args[1], row);
    const double fill = call->argc > 2 ? ALM_AT(double, args[2], row) : __builtin_nan("");
    const int64_t len = a.len[a.dims - 1];
    , by == ALM_INT_NULL || (int64_t)i % len - by < 0 || (int64_t)i % len - by >= len
          ? fill
          : alm_array_at(a.data, (size_t)((int64_t)i - by)))

/* ------------------------------------------------------------------ other shapes */

static alm_status array_shape_bind_flat(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                        ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                        ALM_UNUSED alm_arg *args, alm_type *result,
                                        ALM_UNUSED void **data)
{
    *result = alm_type_array(1);
    return ALM_OK;
}

static alm_status new_flat(alm_call *call, size_t count, alm_array_out *writer)
{
    const uint32_t len = (uint32_t)count;
    return alm_array_begin(call->cx, call->arena, call->pos, 1, &len, writer);
}

static alm_status flatten(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        alm_array_out writer;
        ALM_TRY(new_flat(call, array.count, &writer));
        if (array.count > 0)
            memcpy(writer.at, array.data, array.count * sizeof(double));
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

/* Null elements carry the sum so far on; before the first number there is none. */
static alm_status cum_sum(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        alm_array_out writer;
        double sum = __builtin_nan("");
        views[i] = alm_view_null();
        if (array.count == 0)
            continue;
        ALM_TRY(new_flat(call, array.count, &writer));
        for (size_t k = 0; k < array.count; k++) {
            const double value = alm_array_at(array.data, k);
            if (value == value)
                sum = sum == sum ? sum + value : value;
            alm_array_put(&writer, k, sum);
        }
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

static alm_status transpose_row(alm_call *call, const alm_array *array, alm_view *out)
{
    uint32_t len[ALM_ARRAY_DIMS_MAX], at[ALM_ARRAY_DIMS_MAX] = {0};
    size_t step[ALM_ARRAY_DIMS_MAX], size = 1, from = 0;
    alm_array_out writer;
    for (uint32_t dim = 0; dim < array->dims;
         dim++) { /* dimension dim of the result is the d-th from the end */
        len[dim] = array->len[array->dims - 1 - dim];
        step[dim] = size;
        size *= len[dim];
    }
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, array->dims, len, &writer));
    for (size_t i = 0; i < writer.count; i++) {
        alm_array_put(&writer, i, alm_array_at(array->data, from));
        for (uint32_t dim = array->dims; dim-- > 0;) {
            from += step[dim];
            if (++at[dim] < len[dim])
                break;
            from -= step[dim] * len[dim];
            at[dim] = 0;
        }
    }
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status transpose(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        views[i] = alm_view_null();
        if (array.dims > 0)
            ALM_TRY(transpose_row(call, &array, &views[i]));
    }
    return ALM_OK;
}

static alm_status bind_matrices(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                                ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                                ALM_UNUSED void **data)
{
    for (uint32_t i = 0; i < 2; i++)
        if (args[i].type.dims != 2 && args[i].type.dims != 0)
            return alm_fail(cx, ALM_E_TYPE, args[i].pos, "%s array is not two-dimensional",
                            i == 0 ? "left" : "right");
    *result = alm_type_array(2);
    return ALM_OK;
}

static alm_status multiply_row(alm_call *call, const alm_array *a, const alm_array *b,
                               alm_view *out)
{
    const uint32_t rows = a->len[0], inner = a->len[1], cols = b->len[1];
    const uint32_t len[2] = {rows, cols};
    alm_array_out writer;
    if (inner != b->len[0])
        return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                        "left array row length doesn't match right array column length "
                        "[leftRowLen=%u, rightColLen=%u]",
                        inner, b->len[0]);
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, 2, len, &writer));
    for (size_t i = 0; i < writer.count; i++) {
        const size_t row = i / cols, col = i % cols;
        double sum = 0;
        if (col == 0)
            ALM_TRY(alm_check(call->cx));
        for (size_t k = 0; k < inner; k++)
            sum += alm_array_at(a->data, row * inner + k) * alm_array_at(b->data, k * cols + col);
        alm_array_put(&writer, i, sum);
    }
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status matmul(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array a = alm_array_of(&args[0], i), b = alm_array_of(&args[1], i);
        views[i] = alm_view_null();
        const bool fit = a.dims == 0 || b.dims == 0 || a.len[1] == b.len[0];
        if (a.dims > 0 && b.dims > 0 && (fit || !alm_by_row(args, 0, 2)))
            ALM_TRY(multiply_row(call, &a, &b, &views[i]));
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(name_, sig, flags_, bind_, kernel_, doc_, example_)                                    \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define OPERATIONS(op, kernel, doc)                                                                \
    ROW(op, "(ARRAY, ARRAY) ?", ALM_FN_INTERNAL, array_shape_bind_meet, kernel, doc,               \
        "a " op " ARRAY[1, 2]"),                                                                   \
        ROW(op, "(ARRAY, DOUBLE) ?", ALM_FN_INTERNAL, array_shape_bind_meet, kernel, doc,          \
            "a " op " 2"),                                                                         \
        ROW(op, "(DOUBLE, ARRAY) ?", ALM_FN_INTERNAL, array_shape_bind_meet, kernel, doc,          \
            "2 " op " a")
#define SAME(name, sig, kernel, doc, example) ROW(name, sig " SAME", 0, NULL, kernel, doc, example)

static const alm_fn ROWS[] = {
    OPERATIONS("+", array_shape_add_all, "Sums of elements."),
    OPERATIONS("-", subtract_all, "Differences of elements."),
    OPERATIONS("*", array_shape_multiply_all, "Products of elements."),
    OPERATIONS("/", array_shape_divide_all, "Quotients of elements."),
    ROW("-", "(ARRAY) SAME", ALM_FN_INTERNAL, NULL, array_shape_negate, "Negative elements.", "-a"),
    ROW("neg", "(ARRAY) SAME", ALM_FN_INTERNAL, NULL, array_shape_negate, "Negative elements.",
        "-a"),
    SAME("round", "(ARRAY, INT)", array_shape_round_all,
         "Elements rounded to so many decimal places; nulls stay.",
         "round(ARRAY[1.234, 5.678], 1)"),
    SAME("shift", "(ARRAY, INT)", shift,
         "Elements moved on in the last dimension, null where none came.",
         "shift(ARRAY[1, 2, 3], 1)"),
    SAME(
        "shift", "(ARRAY, INT, DOUBLE)", shift,
        "Elements moved on in the last dimension, a number where none came; null for a null array.",
        "shift(ARRAY[1, 2, 3], 1, 0.0)"),
    SAME("transpose", "(ARRAY)", transpose,
         "The dimensions in the opposite order; null for a null array.",
         "transpose(ARRAY[[1, 2], [3, 4]])"),
    ROW("flatten", "(ARRAY) ?", 0, array_shape_bind_flat, flatten,
        "All elements in one dimension; an empty array for a null one.",
        "flatten(ARRAY[[1, 2], [3, 4]])"),
    ROW("array_cum_sum", "(ARRAY) ?", 0, array_shape_bind_flat, cum_sum,
        "Sums of the elements up to each, in one dimension; null elements count as 0.",
        "array_cum_sum(ARRAY[1, 2, 3])"),
    ROW("matmul", "(ARRAY, ARRAY) ?", 0, bind_matrices, matmul,
        "Product of two matrices; null if one is.", "matmul(ARRAY[[1, 2]], ARRAY[[3], [4]])"),
};
ALM_FN_TABLE(array_shape, ROWS);
