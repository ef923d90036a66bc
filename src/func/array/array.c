/*
 * array.c - functions that read a DOUBLE[] and give a number: array_sum, array_avg,
 * dim_length, array_position, insertion_point, dot_product, l2price, =, != ...
 *
 * Null rule   Null elements do not count, whatever the function. A null or empty array: array_count and
 *             dim_length give 0, so does dot_product of two arrays, or of a number and an empty one;
 *             everything else null. Null equals null.
 */
#include <math.h>
#include <stdio.h>

#include "func/value/args.h"
#include "func/value/by_row.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/array.h"

/* ------------------------------------------------------------- one pass over the elements */

typedef struct summary {
    size_t n; /* not null */
    double sum, min, max;
} summary;

/* Four sums, so that additions do not wait for one another; the order is fixed. */
static summary summarize(const alm_array *array)
{
    summary result = {.min = INFINITY, .max = -INFINITY};
    double sum[4] = {0};
    for (size_t i = 0; i < array->count; i++) {
        const double value = alm_array_at(array->data, i);
        const bool there = value == value;
        result.n += there;
        sum[i % 4] += there ? value : 0;
        result.min = value < result.min ? value : result.min;
        result.max = value > result.max ? value : result.max;
    }
    result.sum = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return result;
}

#define REDUCE(name, T, EXPR)                                                                      \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const alm_array a = alm_array_of(&args[0], i);                                         \
            const summary s = summarize(&a);                                                       \
            o[i] = (T)(EXPR);                                                                      \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
#define OR_NULL(least, x) (s.n < (least) ? __builtin_nan("") : ALM_FINITE(x))

/* Sum of squared distances from the mean, which is summed as distances from the first element: equal
 * elements have none to the last bit. */
static double squares(const alm_array *array, size_t n)
{
    double base = __builtin_nan(""), apart = 0, sum = 0;
    for (size_t i = 0; i < array->count && base != base; i++)
        base = alm_array_at(array->data, i);
    for (size_t i = 0; i < array->count; i++) {
        const double value = alm_array_at(array->data, i) - base;
        apart += value == value ? value : 0;
    }
    const double mean = base + apart / (double)n;
    for (size_t i = 0; i < array->count; i++) {
        const double value = alm_array_at(array->data, i) - mean;
        sum += value == value ? value * value : 0;
    }
    return sum;
}

REDUCE(sum, double, OR_NULL(1, s.sum))
REDUCE(avg, double, OR_NULL(1, s.sum / (double)s.n))
REDUCE(min, double, OR_NULL(1, s.min))
REDUCE(max, double, OR_NULL(1, s.max))
REDUCE(func_array_count, int32_t, s.n)
REDUCE(stddev_pop, double, OR_NULL(1, sqrt(squares(&a, s.n) / (double)s.n)))
REDUCE(stddev_samp, double, OR_NULL(2, sqrt(squares(&a, s.n) / (double)(s.n - 1))))

/* ------------------------------------------------------------------ lengths and places */

static alm_status dim_length(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        const int32_t dim = ALM_AT(int32_t, args[1], i);
        const bool out_of_bounds = dim < 1 || dim > args[0].type.dims;
        if (out_of_bounds && !args[1].is_const) {
            results[i] = ALM_INT_NULL;
            continue;
        }
        if (out_of_bounds) {
            char shown[16] = "null";
            if (dim != ALM_INT_NULL)
                (void)snprintf(shown, sizeof shown, "%d", dim);
            return alm_fail(call->cx, ALM_E_RANGE, call->pos,
                            "array dimension out of bounds [dim=%s]", shown);
        }
        results[i] = array.dims == 0 ? 0 : (int32_t)array.len[dim - 1];
    }
    return ALM_OK;
}

static alm_status bind_one_dim(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                               ALM_UNUSED void **data)
{
    return args[0].type.dims <= 1
               ? ALM_OK
               : alm_fail(cx, ALM_E_TYPE, args[0].pos, "array is not one-dimensional");
}

static alm_status func_array_position(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        const double want = ALM_AT(double, args[1], i);
        results[i] = ALM_INT_NULL;
        for (size_t k = 0; k < array.count; k++) {
            const double value = alm_array_at(array.data, k);
            if (value == want || (value != value && want != want)) {
                results[i] = (int32_t)(k + 1);
                break;
            }
        }
    }
    return ALM_OK;
}

/* Where x would go into sorted numbers, rising or falling, counted from 1. */
static int32_t func_array_insertion(const alm_array *array, double value, bool before_equal)
{
    const bool falling = array->count > 1 &&
                         alm_array_at(array->data, 0) > alm_array_at(array->data, array->count - 1);
    size_t lo = 0, hi = array->count;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        const double at = alm_array_at(array->data, mid);
        const bool ahead = falling ? at > value : at < value;
        if (ahead || (!before_equal && at == value))
            lo = mid + 1;
        else
            hi = mid;
    }
    return (int32_t)(lo + 1);
}

static alm_status insertion_point(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        const double value = ALM_AT(double, args[1], i);
        const bool before = call->argc > 2 && ALM_AT(uint8_t, args[2], i);
        results[i] = array.dims == 0 || value != value
                         ? ALM_INT_NULL
                         : func_array_insertion(&array, value, before);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- products */

static alm_status bind_same_dims(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                 ALM_UNUSED uint32_t argc, alm_arg *args,
                                 ALM_UNUSED alm_type *result, ALM_UNUSED void **data)
{
    if (args[0].type.dims == args[1].type.dims || args[0].type.dims == 0 || args[1].type.dims == 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_TYPE, pos,
                    "arrays have different number of dimensions [nDimsLeft=%u, nDimsRight=%u]",
                    args[0].type.dims, args[1].type.dims);
}

static alm_status dot(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array a = alm_array_of(&args[0], i), b = alm_array_of(&args[1], i);
        double sum = 0;
        results[i] = 0;
        if (a.dims == 0 || b.dims == 0)
            continue;
        const bool alike = alm_array_same_shape(&a, &b);
        if (!alike && alm_by_row(args, 0, 2)) {
            results[i] = __builtin_nan("");
            continue;
        }
        if (!alike) {
            char left[200], right[200];
            return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                            "arrays have different shapes [leftShape=%s, rightShape=%s]",
                            alm_array_shape(&a, left, sizeof left),
                            alm_array_shape(&b, right, sizeof right));
        }
        for (size_t k = 0; k < a.count; k++) {
            const double value = alm_array_at(a.data, k) * alm_array_at(b.data, k);
            sum += value == value ? value : 0;
        }
        results[i] = ALM_FINITE(sum);
    }
    return ALM_OK;
}

static void dot_number(size_t n_rows, const alm_vec *arrays, const alm_vec *numbers, double *out)
{
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(arrays, i);
        const summary self = summarize(&array);
        out[i] = array.dims == 0 ? __builtin_nan("")
                                 : ALM_FINITE(self.sum * ALM_AT(double, *numbers, i));
    }
}

static alm_status dot_right(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                            alm_vec *out)
{
    dot_number(n_rows, &args[0], &args[1], out->data);
    return ALM_OK;
}

static alm_status dot_left(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                           alm_vec *out)
{
    dot_number(n_rows, &args[1], &args[0], out->data);
    return ALM_OK;
}

/* l2price over two arrays: sizes and prices of the levels, best first; the last level takes the rest. */
static alm_status func_array_l2price(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    double *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const double want = ALM_AT(double, args[0], i);
        const alm_array sizes = alm_array_of(&args[1], i), prices = alm_array_of(&args[2], i);
        const size_t levels = ALM_MIN(sizes.count, prices.count);
        double left = want, cost = 0;
        size_t k = 0;
        for (; k < levels; k++) {
            const double size = alm_array_at(sizes.data, k), price = alm_array_at(prices.data, k);
            if (size != size || price != price)
                continue;
            if (size >= left)
                break;
            cost += size * price;
            left -= size;
        }
        const double last = k < levels ? alm_array_at(prices.data, k) : __builtin_nan("");
        results[i] = want == 0 ? last : ALM_FINITE((cost + left * last) / want);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ comparison */

static void func_array_compare(size_t n, const alm_vec *args, uint8_t *out, bool equal)
{
    const bool same_dims = args[0].type.dims == args[1].type.dims;
    const alm_view *x = args[0].data, *y = args[1].data;
    const size_t step_x = args[0].is_const ? 0 : 1, step_y = args[1].is_const ? 0 : 1;
    for (size_t i = 0; i < n; i++, x += step_x, y += step_y) {
        const bool nulls = alm_view_is_null(x) && alm_view_is_null(y);
        out[i] = (nulls || (same_dims && alm_view_eq(x, args[0].heap, y, args[1].heap))) == equal;
    }
}

static alm_status func_array_equal(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                   alm_vec *out)
{
    func_array_compare(n_rows, args, out->data, true);
    return ALM_OK;
}

static alm_status func_array_unequal(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    func_array_compare(n_rows, args, out->data, false);
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
#define REDUCTION(name_, T, kernel_, doc_)                                                         \
    ROW(name_, "(ARRAY) " T, 0, NULL, kernel_, doc_, name_ "(ARRAY[1, 2, 3])")

static const alm_fn ROWS[] = {
    REDUCTION("array_sum", "DOUBLE", sum,
              "Sum of the elements, nulls left out; null if there is none."),
    REDUCTION("array_avg", "DOUBLE", avg,
              "Average of the elements, nulls left out; null if there is none."),
    REDUCTION("array_min", "DOUBLE", min, "Least element; null if there is none."),
    REDUCTION("array_max", "DOUBLE", max, "Greatest element; null if there is none."),
    REDUCTION("array_count", "INT", func_array_count,
              "Number of elements that are not null; 0 for a null array."),
    REDUCTION("array_stddev", "DOUBLE", stddev_samp,
              "Standard deviation of a sample, nulls left out; null for fewer than two."),
    REDUCTION("array_stddev_samp", "DOUBLE", stddev_samp,
              "Standard deviation of a sample, nulls left out; null for fewer than two."),
    REDUCTION("array_stddev_pop", "DOUBLE", stddev_pop,
              "Standard deviation of a population, nulls left out; null if there is none."),
    ROW("dim_length", "(ARRAY, INT) INT", 0, NULL, dim_length,
        "Length in a dimension, the outermost is 1; 0 for null.", "dim_length(ARRAY[[1, 2]], 2)"),
    ROW("array_position", "(ARRAY, DOUBLE) INT", 0, bind_one_dim, func_array_position,
        "Place of the first such element, from 1; null if there is none.",
        "array_position(ARRAY[5, 7], 7)"),
    ROW("insertion_point", "(ARRAY, DOUBLE) INT", 0, bind_one_dim, insertion_point,
        "Place in a sorted array to insert a number at, behind equal ones; null for null.",
        "insertion_point(ARRAY[1, 2, 3], 2.5)"),
    ROW("insertion_point", "(ARRAY, DOUBLE, BOOLEAN) INT", 0, bind_one_dim, insertion_point,
        "Place in a sorted array to insert a number at; true: before equal ones; null for null.",
        "insertion_point(ARRAY[1, 2, 3], 2, true)"),
    ROW("dot_product", "(ARRAY, ARRAY) DOUBLE", 0, bind_same_dims, dot,
        "Sum of the products of elements at the same place, nulls left out; 0 for a null array.",
        "dot_product(ARRAY[1, 2], ARRAY[3, 4])"),
    ROW("dot_product", "(ARRAY, DOUBLE) DOUBLE", 0, NULL, dot_right,
        "Sum of the elements, times a number; null if either is.", "dot_product(ARRAY[1, 2], 3)"),
    ROW("dot_product", "(DOUBLE, ARRAY) DOUBLE", 0, NULL, dot_left,
        "Sum of the elements, times a number; null if either is.", "dot_product(3, ARRAY[1, 2])"),
    ROW("l2price", "(DOUBLE, ARRAY, ARRAY) DOUBLE", ALM_FN_NULL_OUT, NULL, func_array_l2price,
        "Average price of an amount taken from levels: their sizes, their prices.",
        "l2price(100, ARRAY[50, 100], ARRAY[10.0, 11.0])"),
    ROW("=", "(ARRAY, ARRAY) BOOLEAN", ALM_FN_INTERNAL, NULL, func_array_equal,
        "The same shape and elements; null equals null.", "ARRAY[1, 2] = ARRAY[1, 2]"),
    ROW("!=", "(ARRAY, ARRAY) BOOLEAN", ALM_FN_INTERNAL, NULL, func_array_unequal,
        "Another shape or other elements.", "ARRAY[1, 3] != ARRAY[1, 2]"),
    ROW("<>", "(ARRAY, ARRAY) BOOLEAN", ALM_FN_INTERNAL, NULL, func_array_unequal,
        "Another shape or other elements.", "ARRAY[1, 3] <> ARRAY[1, 2]"),
};
ALM_FN_TABLE(array, ROWS);
