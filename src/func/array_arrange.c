/*
 * array_arrange.c - array_sort, array_reverse: the numbers of the last dimension in another order; array_build:
 * an array as long as an argument says.
 *
 * Null rule   A null array, or a null length, gives null. Null elements are last, or first where asked.
 */
#include <stdlib.h>

#include "func/args.h"
#include "func/kernel.h"
#include "func/tables.h"
#include "type/array.h"

/* ------------------------------------------------------------------------------------ order */

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void reverse(double *x, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const double first = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = first;
    }
}

/* One row of numbers: those that are none go to one end, the others are sorted. */
static void sort_row(double *x, size_t n, bool descending, bool nulls_first)
{
    size_t numbers = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] == x[i])
            x[numbers++] = x[i];
    qsort(x, numbers, sizeof *x, ascending);
    if (descending)
        reverse(x, numbers);
    if (nulls_first)
        memmove(x + (n - numbers), x, numbers * sizeof *x);
    for (size_t i = numbers; i < n; i++)
        x[nulls_first ? i - numbers : i] = __builtin_nan("");
}

typedef struct order {
    bool sort, descending, nulls_first;
} order;

static alm_status arrange_row(alm_call *call, const alm_array *a, order how, double **row,
                              alm_view *out)
{
    alm_array_out w;
    const size_t len = a->count == 0 ? 0 : a->len[a->dims - 1];
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, a->dims, a->len, &w));
    ALM_TRY(ALM_NEWN(call->cx, call->arena, len + 1, row));
    for (size_t at = 0; at < a->count; at += len) {
        ALM_TRY(alm_check(call->cx));
        memcpy(*row, a->data + at * sizeof **row, len * sizeof **row);
        if (how.sort)
            sort_row(*row, len, how.descending, how.nulls_first);
        else
            reverse(*row, len);
        memcpy(w.at + at * sizeof **row, *row, len * sizeof **row);
    }
    *out = alm_array_finish(&w);
    return ALM_OK;
}

static alm_status arrange(alm_call *call, size_t n, const alm_vec *args, bool sort, alm_vec *out)
{
    alm_view *o = out->data;
    double *row = NULL;
    for (size_t i = 0; i < n; i++) {
        const alm_array a = alm_array_of(&args[0], i);
        const order how = {.sort = sort,
                           .descending = call->argc > 1 && ALM_AT(uint8_t, args[1], i),
                           .nulls_first = call->argc > 2 && ALM_AT(uint8_t, args[2], i)};
        o[i] = alm_view_null();
        if (a.dims > 0)
            ALM_TRY(arrange_row(call, &a, how, &row, &o[i]));
    }
    return ALM_OK;
}

static alm_status array_sort(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    return arrange(call, n, args, true, out);
}

static alm_status array_reverse(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    return arrange(call, n, args, false, out);
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
        const alm_array a = alm_array_of(arg, i);
        *none = a.dims == 0;
        n = (int64_t)a.count;
    } else {
        n = ALM_AT(int64_t, *arg, i);
        *none = n == ALM_LONG_NULL;
    }
    if (!*none && (n < 0 || n > ALM_ARRAY_MAX))
        return alm_fail(call->cx, ALM_E_VALUE, call->pos, "length of an array: 0 to %d, not %lld",
                        ALM_ARRAY_MAX, (long long)n);
    *len = *none ? 0 : (uint32_t)n;
    return ALM_OK;
}

static void fill(const alm_vec *arg, size_t i, uint32_t len, char *to)
{
    const bool from_array = arg->type.id == ALM_T_ARRAY;
    const alm_array a = from_array ? alm_array_of(arg, i) : (alm_array){0};
    for (uint32_t k = 0; k < len; k++) {
        const double x = !from_array   ? ALM_AT(double, *arg, i)
                         : k < a.count ? alm_array_at(a.data, k)
                                       : __builtin_nan("");
        memcpy(to + k * sizeof x, &x, sizeof x);
    }
}

static alm_status array_build(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    alm_view *o = out->data;
    const uint32_t arrays = call->argc - 2;
    for (size_t i = 0; i < n; i++) {
        uint32_t len[2] = {arrays, 0};
        bool none = false;
        alm_array_out w;
        o[i] = alm_view_null();
        ALM_TRY(length_of(call, &args[1], i, &len[1], &none));
        if (none)
            continue;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, call->result.dims,
                                arrays == 1 ? &len[1] : len, &w));
        for (uint32_t k = 0; k < arrays && w.count > 0; k++)
            fill(&args[k + 2], i, len[1], w.at + (size_t)k * len[1] * sizeof(double));
        o[i] = alm_array_finish(&w);
    }
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
};
ALM_FN_TABLE(array_arrange, ROWS);
