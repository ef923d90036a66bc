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

static alm_status array_make_bind_flat(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                       ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                       ALM_UNUSED alm_arg *args, alm_type *result,
                                       ALM_UNUSED void **data)
{
    *result = alm_type_array(1);
    return ALM_OK;
}

static alm_status make_flat(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        alm_array_out writer;
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, 1, &call->argc, &writer));
        for (uint32_t k = 0; k < call->argc; k++)
            alm_array_put(&writer, k, ALM_AT(double, args[k], i));
        views[i] = alm_array_finish(&writer);
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
    alm_array_out writer;
    *out = alm_view_null();
    if (first.dims == 0)
        return ALM_OK;
    memcpy(len + 1, first.len, first.dims * sizeof *len);
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, first.dims + 1, len, &writer));
    for (uint32_t k = 0; k < call->argc; k++) {
        const alm_array array = alm_array_of(&args[k], row);
        if (array.dims == 0)
            return ALM_OK;
        const bool alike = alm_array_same_shape(&array, &first);
        if (!alike && alm_by_row(args, 0, call->argc))
            return ALM_OK;
        if (!alike)
            return alm_fail(call->cx, ALM_E_VALUE, at[k],
                            "element counts in sub-arrays don't match");
        memcpy(writer.at + k * array.count * sizeof(double), array.data,
               array.count * sizeof(double));
    }
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status make_stack(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    for (size_t i = 0; i < n_rows; i++)
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
    subscripts *self = NULL;
    ALM_TRY(alm_arg_text(cx, &args[0], &pattern));
    const uint32_t dims = args[1].type.dims;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    if (pattern.len > dims)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "too many array access arguments [nDims=%u, nArgs=%zu]", dims, pattern.len);
    self->n = (uint32_t)pattern.len;
    self->kept = dims;
    for (uint32_t dim = 0, arg = 2; dim < self->n; dim++) {
        self->slice[dim] = pattern.ptr[dim] == 's';
        self->kept -= !self->slice[dim];
        self->pos[dim] = args[arg].pos;
        arg += self->slice[dim] ? 2 : 1;
    }
    *result = self->kept == 0 ? ALM_TY(DOUBLE) : alm_type_array(self->kept);
    *data = self;
    return ALM_OK;
}

/* Range [from, from + n) of each dimension, from 0. */
typedef struct box {
    size_t from[ALM_ARRAY_DIMS_MAX];
    uint32_t n[ALM_ARRAY_DIMS_MAX];
    bool is_null;
} box;

static alm_status zero_index(alm_call *call, uint32_t dim, int64_t lo, int64_t hi)
{
    const subscripts *s = call->data;
    if (!s->slice[dim])
        return alm_fail(call->cx, ALM_E_RANGE, s->pos[dim],
                        "array index must be non-zero [dim=%u, index=0]", dim + 1);
    return alm_fail(
        call->cx, ALM_E_RANGE, s->pos[dim],
        "array slice bounds must be non-zero [dim=%u, lowerBound=%lld, upperBound=%lld]", dim + 1,
        (long long)lo, (long long)hi);
}

/* Position from 0 of a subscript, not yet cut to the length. */
static inline int64_t array_make_place(int64_t index, uint32_t len)
{
    return index > 0 ? index - 1 : index + (int64_t)len;
}

static alm_status find_box(alm_call *call, const alm_array *array, size_t row, const alm_vec *args,
                           box *self)
{
    const subscripts *s = call->data;
    self->is_null = array->dims == 0;
    uint32_t arg = 2;
    for (uint32_t dim = 0; dim < s->n; dim++) {
        const int64_t lo = ALM_AT(int64_t, args[arg], row);
        const int64_t hi = s->slice[dim] ? ALM_AT(int64_t, args[arg + 1], row) : 1;
        const uint32_t at = arg;
        arg += s->slice[dim] ? 2 : 1;
        self->is_null |= lo == ALM_LONG_NULL || hi == ALM_LONG_NULL;
        const alm_vec *zero = lo == 0 ? &args[at] : hi == 0 ? &args[at + 1] : NULL;
        if (zero != NULL && zero->is_const)
            return zero_index(call, dim, lo, hi);
        self->is_null |= zero != NULL;
        if (self->is_null)
            continue;
        const uint32_t len = array->len[dim];
        const int64_t from = array_make_place(lo, len),
                      to = s->slice[dim] ? array_make_place(hi, len) : from + 1;
        if (!s->slice[dim] && (from < 0 || from >= (int64_t)len)) {
            self->is_null = true;
            continue;
        }
        const int64_t first = ALM_MAX(from, (int64_t)0), end = ALM_MIN(to, (int64_t)len);
        self->from[dim] = (size_t)first;
        self->n[dim] = end > first ? (uint32_t)(end - first) : 0;
    }
    for (uint32_t dim = s->n; dim < array->dims; dim++) {
        self->from[dim] = 0;
        self->n[dim] = array->len[dim];
    }
    return ALM_OK;
}

/* Copies the box in row order; runs of the last dimension at once. */
static void copy_box(const alm_array *array, const box *self, alm_array_out *writer)
{
    uint32_t at[ALM_ARRAY_DIMS_MAX] = {0};
    const uint32_t last = array->dims - 1;
    for (size_t done = 0; done < writer->count; done += self->n[last]) {
        size_t from = 0;
        for (uint32_t dim = 0; dim <= last; dim++)
            from = from * array->len[dim] + self->from[dim] + at[dim];
        memcpy(writer->at + done * sizeof(double), array->data + from * sizeof(double),
               self->n[last] * sizeof(double));
        for (uint32_t dim = last; dim-- > 0;) {
            if (++at[dim] < self->n[dim])
                break;
            at[dim] = 0;
        }
    }
}

static alm_status index_row(alm_call *call, size_t row, const alm_vec *args, alm_vec *out)
{
    const subscripts *s = call->data;
    const alm_array array = alm_array_of(&args[1], row);
    uint32_t len[ALM_ARRAY_DIMS_MAX], kept = 0;
    alm_array_out writer;
    box self;
    ALM_TRY(find_box(call, &array, row, args, &self));
    alm_view *views = (alm_view *)out->data + row;
    *views = alm_view_null();
    if (self.is_null)
        return ALM_OK;
    for (uint32_t dim = 0; dim < array.dims; dim++)
        if (dim >= s->n || s->slice[dim])
            len[kept++] = self.n[dim];
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, kept, len, &writer));
    copy_box(&array, &self, &writer);
    *views = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status array_make_element_row(alm_call *call, size_t row, const alm_vec *args,
                                         double *out)
{
    const alm_array array = alm_array_of(&args[1], row);
    box self;
    size_t offset = 0;
    ALM_TRY(find_box(call, &array, row, args, &self));
    *out = __builtin_nan("");
    if (self.is_null)
        return ALM_OK;
    for (uint32_t dim = 0; dim < array.dims; dim++)
        offset = offset * array.len[dim] + self.from[dim];
    *out = alm_array_at(array.data, offset);
    return ALM_OK;
}

static alm_status array_make_take_index(alm_call *call, size_t n_rows, const alm_vec *args,
                                        alm_vec *out)
{
    const subscripts *s = call->data;
    for (size_t i = 0; i < n_rows; i++) {
        if (s->kept == 0)
            ALM_TRY(array_make_element_row(call, i, args, (double *)out->data + i));
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
    ROW("array_of", "(DOUBLE...) ?", array_make_bind_flat, make_flat, "Array of numbers.",
        "ARRAY[1, 2.5]"),
    ROW("array_stack", "(ARRAY, ARRAY...) ?", bind_stack, make_stack,
        "Array of arrays of one shape.", "ARRAY[[1, 2], [3, 4]]"),
    ROW("[]", "(STRING const, ARRAY, LONG...) ?", bind_index, array_make_take_index,
        "Element or part of an array; counted from 1, or from the end if negative.",
        "(ARRAY[1, 2, 3, 4])[2:-1]"),
};
ALM_FN_TABLE(array_make, ROWS);
