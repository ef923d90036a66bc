/*
 * make.c - DOUBLE[] literals and subscripts: ARRAY[a, b], ARRAY[[a], [b]], x[i], x[i, lo:hi].
 *
 * Subscripts  Count from 1; negative ones from the end (-1 is the last); 0 is an error. lo:hi takes lo up to
 *             but not hi. What lies outside: null for an element, cut off for a slice.
 * Null rule   A null array or a null subscript gives null; a null array among others in a literal, too.
 */
#include "func/value/args.h"
#include "func/value/by_row.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/array.h"

/* ------------------------------------------------------------------ literals */

static alm_status bind_flat(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                            ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                            ALM_UNUSED alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    *result = alm_type_array(1);
    return ALM_OK;
}

static alm_status make_flat(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    alm_view *o = out->data;
    for (size_t i = 0; i < n; i++) {
        alm_array_out w;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, 1, &call->argc, &w));
        for (uint32_t k = 0; k < call->argc; k++)
            alm_array_put(&w, k, ALM_AT(double, args[k], i));
        o[i] = alm_array_finish(&w);
    }
    return ALM_OK;
}

static alm_status bind_stack(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                             alm_arg *args, alm_type *result, void **data)
{
    int32_t *at = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, argc, &at));
    for (uint32_t k = 0; k < argc; k++) {
        at[k] = args[k].pos;
        if (args[k].type.dims != args[0].type.dims)
            return alm_fail(cx, ALM_E_TYPE, args[k].pos,
                            "sub-arrays don't have the same number of dimensions");
    }
    if (args[0].type.dims + 1 > ALM_ARRAY_DIMS_MAX)
        return alm_fail(cx, ALM_E_TYPE, pos, "an array may have %d dimensions at most",
                        ALM_ARRAY_DIMS_MAX);
    *result = alm_type_array(args[0].type.dims + 1U);
    *data = at;
    return ALM_OK;
}

static alm_status stack_row(alm_call *call, size_t row, const alm_vec *args, alm_view *out)
{
    const int32_t *at = call->data;
    const alm_array first = alm_array_of(&args[0], row);
    uint32_t len[ALM_ARRAY_DIMS_MAX] = {call->argc};
    alm_array_out w;
    *out = alm_view_null();
    if (first.dims == 0)
        return ALM_OK;
    memcpy(len + 1, first.len, first.dims * sizeof *len);
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, first.dims + 1, len, &w));
    for (uint32_t k = 0; k < call->argc; k++) {
        const alm_array a = alm_array_of(&args[k], row);
        if (a.dims == 0)
            return ALM_OK;
        const bool alike = alm_array_same_shape(&a, &first);
        if (!alike && alm_by_row(args, 0, call->argc))
            return ALM_OK;
        if (!alike)
            return alm_fail(call->cx, ALM_E_VALUE, at[k],
                            "element counts in sub-arrays don't match");
        memcpy(w.at + k * a.count * sizeof(double), a.data, a.count * sizeof(double));
    }
    *out = alm_array_finish(&w);
    return ALM_OK;
}

static alm_status make_stack(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    for (size_t i = 0; i < n; i++)
        ALM_TRY(stack_row(call, i, args, (alm_view *)out->data + i));
    return ALM_OK;
}

/* ---------------------------------------------------------------- subscripts */

/* The pattern says what each subscript is: 'i' an index (one argument), 's' a slice (two). */
typedef struct subscripts {
    uint32_t n, kept; /* dimensions subscripted; dimensions of the result */
    bool slice[ALM_ARRAY_DIMS_MAX];
    int32_t pos[ALM_ARRAY_DIMS_MAX];
} subscripts;

static alm_status bind_index(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                             ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    alm_str pattern;
    subscripts *s = NULL;
    ALM_TRY(alm_arg_text(cx, &args[0], &pattern));
    const uint32_t dims = args[1].type.dims;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    if (pattern.len > dims)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "too many array access arguments [nDims=%u, nArgs=%zu]", dims, pattern.len);
    s->n = (uint32_t)pattern.len;
    s->kept = dims;
    for (uint32_t d = 0, arg = 2; d < s->n; d++) {
        s->slice[d] = pattern.ptr[d] == 's';
        s->kept -= !s->slice[d];
        s->pos[d] = args[arg].pos;
        arg += s->slice[d] ? 2 : 1;
    }
    *result = s->kept == 0 ? ALM_TY(DOUBLE) : alm_type_array(s->kept);
    *data = s;
    return ALM_OK;
}

/* Range [from, from + n) of each dimension, from 0. */
typedef struct box {
    size_t from[ALM_ARRAY_DIMS_MAX];
    uint32_t n[ALM_ARRAY_DIMS_MAX];
    bool is_null;
} box;

static alm_status zero_index(alm_call *call, uint32_t d, int64_t lo, int64_t hi)
{
    const subscripts *s = call->data;
    if (!s->slice[d])
        return alm_fail(call->cx, ALM_E_RANGE, s->pos[d],
                        "array index must be non-zero [dim=%u, index=0]", d + 1);
    return alm_fail(
        call->cx, ALM_E_RANGE, s->pos[d],
        "array slice bounds must be non-zero [dim=%u, lowerBound=%lld, upperBound=%lld]", d + 1,
        (long long)lo, (long long)hi);
}

/* Position from 0 of a subscript, not yet cut to the length. */
static inline int64_t place(int64_t index, uint32_t len)
{
    return index > 0 ? index - 1 : index + (int64_t)len;
}

static alm_status find_box(alm_call *call, const alm_array *a, size_t row, const alm_vec *args,
                           box *b)
{
    const subscripts *s = call->data;
    b->is_null = a->dims == 0;
    uint32_t arg = 2;
    for (uint32_t d = 0; d < s->n; d++) {
        const int64_t lo = ALM_AT(int64_t, args[arg], row);
        const int64_t hi = s->slice[d] ? ALM_AT(int64_t, args[arg + 1], row) : 1;
        const uint32_t at = arg;
        arg += s->slice[d] ? 2 : 1;
        b->is_null |= lo == ALM_LONG_NULL || hi == ALM_LONG_NULL;
        const alm_vec *zero = lo == 0 ? &args[at] : hi == 0 ? &args[at + 1] : NULL;
        if (zero != NULL && zero->is_const)
            return zero_index(call, d, lo, hi);
        b->is_null |= zero != NULL;
        if (b->is_null)
            continue;
        const uint32_t len = a->len[d];
        const int64_t from = place(lo, len), to = s->slice[d] ? place(hi, len) : from + 1;
        if (!s->slice[d] && (from < 0 || from >= (int64_t)len)) {
            b->is_null = true;
            continue;
        }
        const int64_t first = ALM_MAX(from, (int64_t)0), end = ALM_MIN(to, (int64_t)len);
        b->from[d] = (size_t)first;
        b->n[d] = end > first ? (uint32_t)(end - first) : 0;
    }
    for (uint32_t d = s->n; d < a->dims; d++) {
        b->from[d] = 0;
        b->n[d] = a->len[d];
    }
    return ALM_OK;
}

/* Copies the box in row order; runs of the last dimension at once. */
static void copy_box(const alm_array *a, const box *b, alm_array_out *w)
{
    uint32_t at[ALM_ARRAY_DIMS_MAX] = {0};
    const uint32_t last = a->dims - 1;
    for (size_t done = 0; done < w->count; done += b->n[last]) {
        size_t from = 0;
        for (uint32_t d = 0; d <= last; d++)
            from = from * a->len[d] + b->from[d] + at[d];
        memcpy(w->at + done * sizeof(double), a->data + from * sizeof(double),
               b->n[last] * sizeof(double));
        for (uint32_t d = last; d-- > 0;) {
            if (++at[d] < b->n[d])
                break;
            at[d] = 0;
        }
    }
}

static alm_status index_row(alm_call *call, size_t row, const alm_vec *args, alm_vec *out)
{
    const subscripts *s = call->data;
    const alm_array a = alm_array_of(&args[1], row);
    uint32_t len[ALM_ARRAY_DIMS_MAX], kept = 0;
    alm_array_out w;
    box b;
    ALM_TRY(find_box(call, &a, row, args, &b));
    alm_view *o = (alm_view *)out->data + row;
    *o = alm_view_null();
    if (b.is_null)
        return ALM_OK;
    for (uint32_t d = 0; d < a.dims; d++)
        if (d >= s->n || s->slice[d])
            len[kept++] = b.n[d];
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, kept, len, &w));
    copy_box(&a, &b, &w);
    *o = alm_array_finish(&w);
    return ALM_OK;
}

static alm_status element_row(alm_call *call, size_t row, const alm_vec *args, double *out)
{
    const alm_array a = alm_array_of(&args[1], row);
    box b;
    size_t at = 0;
    ALM_TRY(find_box(call, &a, row, args, &b));
    *out = __builtin_nan("");
    if (b.is_null)
        return ALM_OK;
    for (uint32_t d = 0; d < a.dims; d++)
        at = at * a.len[d] + b.from[d];
    *out = alm_array_at(a.data, at);
    return ALM_OK;
}

static alm_status take_index(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    const subscripts *s = call->data;
    for (size_t i = 0; i < n; i++) {
        if (s->kept == 0)
            ALM_TRY(element_row(call, i, args, (double *)out->data + i));
        else
            ALM_TRY(index_row(call, i, args, out));
    }
    return ALM_OK;
}

#define ROW(name_, sig, bind_, kernel_, doc_, example_)                                            \
    {.name = name_,                                                                                \
     .signature = sig,                                                                             \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("array_of", "(DOUBLE...) ?", bind_flat, make_flat, "Array of numbers.", "ARRAY[1, 2.5]"),
    ROW("array_stack", "(ARRAY, ARRAY...) ?", bind_stack, make_stack,
        "Array of arrays of one shape.", "ARRAY[[1, 2], [3, 4]]"),
    ROW("[]", "(STRING const, ARRAY, LONG...) ?", bind_index, take_index,
        "Element or part of an array; counted from 1, or from the end if negative.",
        "(ARRAY[1, 2, 3, 4])[2:-1]"),
};
ALM_FN_TABLE(array_make, ROWS);
