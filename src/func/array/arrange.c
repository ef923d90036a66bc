/*
 * arrange.c - array_sort, array_reverse: the numbers of the last dimension in another order; array_build:
 * an array as long as an argument says; array_cat, array_append, array_prepend: arrays end to end.
 *
 * Null rule   A null array, or a null length, gives null. Null elements are last, or first where asked. Beside
 *             another array or a number, a null array is one without elements.
 */
#include <stdlib.h>

#include "func/value/args.h"
#include "func/value/by_row.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/array.h"

/* ------------------------------------------------------------------------------------ order */

static int arrange_ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

enum { PIECE = 1 << 15 }; /* numbers between two looks at the time limit */

/* The sorted numbers [0, mid) and [mid, n) of x into `dest`. */
static alm_status arrange_merge(alm_ctx *cx, const double *x, size_t mid, size_t n, double *dest)
{
    for (size_t i = 0, j = mid, k = 0; k < n;) {
        const size_t stop = ALM_MIN(n, k + PIECE);
        ALM_TRY(alm_steps_add(cx, PIECE));
        for (; k < stop; k++)
            dest[k] = j == n || (i < mid && x[i] <= x[j]) ? x[i++] : x[j++];
    }
    return ALM_OK;
}

/* Piece by piece, then two and two of twice the length, so that the time limit ends it at any length. `spare` has room for n. */
static alm_status sort_numbers(alm_ctx *cx, double *x, size_t n, double *spare)
{
    for (size_t offset = 0; offset < n; offset += PIECE) {
        ALM_TRY(alm_check(cx));
        qsort(x + offset, ALM_MIN(n - offset, (size_t)PIECE), sizeof *x, arrange_ascending);
    }
    for (size_t len = PIECE; len < n; len *= 2) {
        for (size_t offset = 0; offset < n; offset += 2 * len) {
            const size_t both = ALM_MIN(n - offset, 2 * len);
            ALM_TRY(arrange_merge(cx, x + offset, ALM_MIN(both, len), both, spare + offset));
        }
        memcpy(x, spare, n * sizeof *x);
    }
    return ALM_OK;
}

static void arrange_reverse(double *x, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const double first = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = first;
    }
}

/* One row of numbers: those that are none go to one end, the others are sorted. */
static alm_status sort_row(alm_ctx *cx, double *x, size_t n, bool descending, bool nulls_first,
                           double *spare)
{
    size_t numbers = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] == x[i])
            x[numbers++] = x[i];
    ALM_TRY(sort_numbers(cx, x, numbers, spare));
    if (descending)
        arrange_reverse(x, numbers);
    if (nulls_first)
        memmove(x + (n - numbers), x, numbers * sizeof *x);
    for (size_t i = numbers; i < n; i++)
        x[nulls_first ? i - numbers : i] = __builtin_nan("");
    return ALM_OK;
}

typedef struct order {
    bool sort, descending, nulls_first;
} order;

static alm_status arrange_row(alm_call *call, const alm_array *array, order how, double **row,
                              alm_view *out)
{
    alm_array_out writer;
    double *spare = NULL;
    const size_t len = array->count == 0 ? 0 : array->len[array->dims - 1];
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, array->dims, array->len, &writer));
    ALM_TRY(ALM_NEWN(call->cx, call->arena, len + 1, row));
    if (how.sort && len > PIECE)
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, len * sizeof *spare, &spare));
    for (size_t offset = 0; offset < array->count; offset += len) {
        ALM_TRY(alm_check(call->cx));
        memcpy(*row, array->data + offset * sizeof **row, len * sizeof **row);
        if (how.sort)
            ALM_TRY(sort_row(call->cx, *row, len, how.descending, how.nulls_first, spare));
        else
            arrange_reverse(*row, len);
        memcpy(writer.at + offset * sizeof **row, *row, len * sizeof **row);
    }
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status arrange(alm_call *call, size_t n_rows, const alm_vec *args, bool sort,
                          alm_vec *out)
{
    alm_view *views = out->data;
    double *row = NULL;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        const order how = {.sort = sort,
                           .descending = call->argc > 1 && ALM_AT(uint8_t, args[1], i),
                           .nulls_first = call->argc > 2 && ALM_AT(uint8_t, args[2], i)};
        views[i] = alm_view_null();
        if (array.dims > 0)
            ALM_TRY(arrange_row(call, &array, how, &row, &views[i]));
    }
    return ALM_OK;
}

static alm_status array_sort(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return arrange(call, n_rows, args, true, out);
}

static alm_status array_reverse(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return arrange(call, n_rows, args, false, out);
}

/* ------------------------------------------------------------------------------------ build */

static alm_status build_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             uint32_t argc, alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    int64_t arrays = argc - 2;
    if (args[0].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[0], &arrays));
    if (arrays < 1 || arrays != argc - 2)
        return alm_fail(cx, ALM_E_ARG, args[0].pos,
                        "array_build: one filler for each array: %lld arrays, %u fillers",
                        (long long)arrays, argc - 2);
    for (uint32_t i = 1; i < argc; i++) {
        if (args[i].type.id != ALM_T_ARRAY)
            args[i].type = i == 1 ? ALM_TY(LONG) : ALM_TY(DOUBLE);
        else if (args[i].type.dims > 1)
            return alm_fail(cx, ALM_E_TYPE, args[i].pos, "array is not one-dimensional");
    }
    *result = alm_type_array(argc == 3 ? 1 : 2);
    return ALM_OK;
}

/* Numbers of one array of the result; *none: there is no length. */
static alm_status length_of(alm_call *call, const alm_vec *arg, size_t i, uint32_t *len, bool *none)
{
    int64_t n = ALM_LONG_NULL;
    if (arg->type.id == ALM_T_ARRAY) {
        const alm_array array = alm_array_of(arg, i);
        *none = array.dims == 0;
        n = (int64_t)array.count;
    } else {
        n = ALM_AT(int64_t, *arg, i);
        *none = n == ALM_LONG_NULL;
    }
    const bool bad = !*none && (n < 0 || n > ALM_ARRAY_MAX);
    *none |= bad && !arg->is_const;
    if (bad && arg->is_const)
        return alm_fail(call->cx, ALM_E_VALUE, call->pos, "length of an array: 0 to %d, not %lld",
                        ALM_ARRAY_MAX, (long long)n);
    *len = *none ? 0 : (uint32_t)n;
    return ALM_OK;
}

static alm_status arrange_fill(alm_ctx *cx, const alm_vec *arg, size_t i, uint32_t len, char *dest)
{
    const bool from_array = arg->type.id == ALM_T_ARRAY;
    const alm_array array = from_array ? alm_array_of(arg, i) : (alm_array){0};
    for (uint32_t k = 0; k < len; k++) {
        const double value = !from_array       ? ALM_AT(double, *arg, i)
                             : k < array.count ? alm_array_at(array.data, k)
                                               : __builtin_nan("");
        memcpy(dest + k * sizeof value, &value, sizeof value);
        if (k % PIECE == 0)
            ALM_TRY(alm_steps_add(cx, PIECE));
    }
    return ALM_OK;
}

static alm_status array_build(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    const uint32_t arrays = call->argc - 2;
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t len[2] = {arrays, 0};
        bool none = false;
        alm_array_out writer;
        views[i] = alm_view_null();
        ALM_TRY(length_of(call, &args[1], i, &len[1], &none));
        if (none)
            continue;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, call->result.dims,
                                arrays == 1 ? &len[1] : len, &writer));
        for (uint32_t k = 0; k < arrays && writer.count > 0; k++)
            ALM_TRY(arrange_fill(call->cx, &args[k + 2], i, len[1],
                                 writer.at + (size_t)k * len[1] * sizeof(double)));
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- end to end */

/* array_cat: of arrays with the same dimensions, or of an array and one of its elements. */
static alm_status cat_bind(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                           ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                           ALM_UNUSED void **data)
{
    for (uint32_t i = 0; i < 2; i++)
        if (args[i].type.id != ALM_T_ARRAY) /* a null without a type */
            args[i].type =
                args[1 - i].type.id == ALM_T_ARRAY ? args[1 - i].type : alm_type_array(1);
    const uint32_t a = args[0].type.dims, b = args[1].type.dims;
    if (a > b + 1 || b > a + 1)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "arrays of %u and %u dimensions cannot be concatenated", a, b);
    *result = alm_type_array(ALM_MAX(a, b));
    return ALM_OK;
}

/* One element of an array of `dims` dimensions, as an array with the length 1 before its own lengths. */
static alm_array as_element(alm_array array, uint32_t dims)
{
    if (array.dims != 0 && array.dims < dims) {
        memmove(&array.len[1], &array.len[0], array.dims * sizeof array.len[0]);
        array.len[0] = array.count > 0;
        array.dims = dims;
    }
    return array;
}

/* b behind a, along the first dimension. */
static alm_status cat_row(alm_call *call, const alm_vec *args, const alm_array *a,
                          const alm_array *b, alm_view *out)
{
    alm_array_out writer;
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    const alm_array *shape = a->count > 0 ? a : b;
    if (a->count > 0 && b->count > 0 &&
        memcmp(&a->len[1], &b->len[1], (a->dims - 1) * sizeof a->len[0]) != 0) {
        char left[200], right[200];
        if (alm_by_row(args, 0, 2))
            return ALM_OK;
        return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                        "arrays have different shapes [leftShape=%s, rightShape=%s]",
                        alm_array_shape(a, left, sizeof left),
                        alm_array_shape(b, right, sizeof right));
    }
    memcpy(len, shape->len, sizeof len);
    if (a->count > 0 && b->count > 0)
        len[0] = a->len[0] + b->len[0]; /* each below ALM_ARRAY_MAX */
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, shape->dims, len, &writer));
    ALM_ASSERT(writer.count == a->count + b->count);
    memcpy(writer.at, a->data, a->count * sizeof(double));
    memcpy(writer.at + a->count * sizeof(double), b->data, b->count * sizeof(double));
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status array_cat(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const uint32_t dims = call->result.dims;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array a = as_element(alm_array_of(&args[0], i), dims);
        const alm_array b = as_element(alm_array_of(&args[1], i), dims);
        const alm_array none = {.dims = dims, .data = ""};
        views[i] = alm_view_null();
        if (a.dims != 0 || b.dims != 0)
            ALM_TRY(
                cat_row(call, args, a.dims != 0 ? &a : &none, b.dims != 0 ? &b : &none, &views[i]));
    }
    return ALM_OK;
}

/* The numbers of an array with one more, before or behind them; a null array has none. */
static alm_status arrange_add_number(alm_call *call, size_t n_rows, const alm_vec *array,
                                     const alm_vec *number, bool before, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_array a = alm_array_of(array, i);
        const uint32_t len = (uint32_t)a.count + 1;
        alm_array_out writer;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, 1, &len, &writer));
        if (a.count > 0)
            memcpy(writer.at + (before ? sizeof(double) : 0), a.data, a.count * sizeof(double));
        alm_array_put(&writer, before ? 0 : a.count, ALM_AT(double, *number, i));
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

static alm_status array_append(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return arrange_add_number(call, n_rows, &args[0], &args[1], false, out);
}

static alm_status array_prepend(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return arrange_add_number(call, n_rows, &args[1], &args[0], true, out);
}

static alm_status flat_bind(alm_ctx *cx, const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                            ALM_UNUSED void **data)
{
    const alm_arg *array = &args[strcmp(fn->name, "array_prepend") == 0];
    if (array->type.dims > 1)
        return alm_fail(cx, ALM_E_TYPE, array->pos,
                        "a number is no element of an array with %u dimensions", array->type.dims);
    *result = alm_type_array(1);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------- rows */

#define ROW(name_, sig, bind_, kernel_, doc_, example_)                                            \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("array_sort", "(ARRAY) SAME", NULL, array_sort,
        "Elements of the last dimension in ascending order, nulls last.",
        "array_sort(ARRAY[3, null, 1, 2])"),
    ROW("array_sort", "(ARRAY, descending BOOLEAN) SAME", NULL, array_sort,
        "In descending order, if asked; a null array gives null.",
        "array_sort(ARRAY[3, 1, 2], true)"),
    ROW("array_sort", "(ARRAY, descending BOOLEAN, nulls_first BOOLEAN) SAME", NULL, array_sort,
        "Nulls first, if asked.", "array_sort(ARRAY[3, null, 1, 2], true, true)"),
    ROW("array_reverse", "(ARRAY) SAME", NULL, array_reverse,
        "Elements of the last dimension from the last to the first; null for a null array.",
        "array_reverse(ARRAY[[1, 2], [3, 4]])"),
    ROW("array_build", "(arrays INT const, length ANY, filler ANY, ANY...) ?", build_bind,
        array_build,
        "An array of a length that is known only now: a number, or the length of another array. A "
        "filler is a number that fills it, or an array that is cut or filled up with nulls. With "
        "two arrays or more the result has two dimensions.",
        "array_build(2, 3, 0.5, ARRAY[1, 2])"),
    ROW("array_cat", "(ARRAY, ARRAY) ?", cat_bind, array_cat,
        "The elements of both arrays as one array, as `a || b`. One of them may have a dimension "
        "less: it is an element of the other. A null array has no elements; two give null.",
        "array_cat(ARRAY[1, 2], ARRAY[3])"),
    ROW("array_append", "(ARRAY, DOUBLE) ?", flat_bind, array_append,
        "The array with the number as its last element, as `a || x`; a null array has no elements.",
        "array_append(ARRAY[1, 2], 3)"),
    ROW("array_prepend", "(DOUBLE, ARRAY) ?", flat_bind, array_prepend,
        "The array with the number as its first element, as `x || a`; a null array has no "
        "elements.",
        "array_prepend(1, ARRAY[2, 3])"),
};
ALM_FN_TABLE(array_arrange, ROWS);
