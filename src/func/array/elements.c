/*
 * elements.c - array_elem_sum, array_elem_avg, array_elem_min, array_elem_max: arrays taken together
 * element by element, those of a row or those of a group.
 *
 * Shapes      The result is as long as the longest array in each dimension; an array with fewer dimensions is
 *             the first one of the outer dimensions it lacks.
 * Null rule   Null arrays and null elements are left out; an element that no array has is null. Nothing but
 *             null arrays: null.
 * Sums        Compensated (Neumaier), in row order.
 */
#include <math.h>

#include "func/agg/agg.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "type/array.h"

typedef enum take { TAKE_SUM, TAKE_AVG, TAKE_MIN, TAKE_MAX } take;

typedef struct cell {
    double value, rest; /* sums: what rounding left */
    int64_t count;
} cell;

typedef struct grid {
    uint32_t dims; /* 0: no array yet */
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    size_t count;
    cell *cells;
} grid;

static void elements_add_number(take how, cell *box, double value)
{
    if (box->count++ == 0) {
        box->value = value;
        return;
    }
    if (how == TAKE_MIN || how == TAKE_MAX) {
        box->value = (how == TAKE_MIN) == (value < box->value) ? value : box->value;
        return;
    }
    const double sum = box->value + value;
    box->rest +=
        fabs(box->value) >= fabs(value) ? box->value - sum + value : value - sum + box->value;
    box->value = sum;
}

static double elements_number_of(take how, const cell *box)
{
    if (box->count == 0)
        return __builtin_nan("");
    const double sum = box->value + box->rest;
    return how == TAKE_AVG ? sum / (double)box->count : sum;
}

/* Length of dimension dim of `dims` of an array with perhaps fewer. */
static uint32_t length_at(const uint32_t *len, uint32_t own, uint32_t dims, uint32_t dim)
{
    return dim < dims - own ? 1 : len[dim - (dims - own)];
}

/* How far a step in each dimension goes. */
static void steps_of(const uint32_t *len, uint32_t dims, size_t *step)
{
    size_t size = 1;
    for (uint32_t dim = dims; dim-- > 0; size *= len[dim])
        step[dim] = size;
}

/* A walk over all elements of one shape; `at` is the place of the element in another. */
typedef struct walk {
    uint32_t dims;
    const uint32_t *len;
    const size_t *step;
    uint32_t index[ALM_ARRAY_DIMS_MAX];
    size_t at;
} walk;

static void walk_on(walk *self)
{
    for (uint32_t dim = self->dims; dim-- > 0;) {
        self->at += self->step[dim];
        if (++self->index[dim] < self->len[dim])
            return;
        self->at -= self->step[dim] * self->len[dim];
        self->index[dim] = 0;
    }
}

/* Makes room for an array of that shape; what is there keeps its places. */
static alm_status elements_reserve(alm_call *call, grid *self, const uint32_t *own_len,
                                   uint32_t own, uint32_t dims)
{
    grid wide = {.dims = dims, .count = 1};
    bool grows = self->dims == 0;
    for (uint32_t dim = 0; dim < dims; dim++) {
        const uint32_t len = length_at(own_len, own, dims, dim);
        wide.len[dim] = self->dims == 0 ? len : ALM_MAX(len, self->len[dim]);
        grows = grows || wide.len[dim] != self->len[dim];
        if (__builtin_mul_overflow(wide.count, wide.len[dim], &wide.count) ||
            wide.count > ALM_ARRAY_MAX)
            return alm_fail(call->cx, ALM_E_LIMIT, call->pos, "array of more than %d numbers",
                            ALM_ARRAY_MAX);
    }
    if (!grows)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(call->cx, call->arena, wide.count + 1, &wide.cells));
    size_t step[ALM_ARRAY_DIMS_MAX];
    steps_of(wide.len, dims, step);
    walk w = {.dims = dims, .len = self->len, .step = step};
    for (size_t i = 0; self->dims > 0 && i < self->count; i++, walk_on(&w))
        wide.cells[w.at] = self->cells[i];
    *self = wide;
    return ALM_OK;
}

static alm_status add_array(alm_call *call, take how, grid *self, const alm_array *array,
                            uint32_t dims)
{
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    size_t step[ALM_ARRAY_DIMS_MAX];
    if (array->dims == 0)
        return ALM_OK;
    ALM_TRY(elements_reserve(call, self, array->len, array->dims, dims));
    for (uint32_t dim = 0; dim < dims; dim++)
        len[dim] = length_at(array->len, array->dims, dims, dim);
    steps_of(self->len, dims, step);
    walk w = {.dims = dims, .len = len, .step = step};
    for (size_t i = 0; i < array->count; i++, walk_on(&w)) {
        const double value = alm_array_at(array->data, i);
        if (isfinite(value))
            elements_add_number(how, &self->cells[w.at], value);
    }
    return ALM_OK;
}

static alm_status add_grid(alm_call *call, take how, grid *self, const grid *from)
{
    size_t step[ALM_ARRAY_DIMS_MAX];
    if (from->dims == 0)
        return ALM_OK;
    ALM_TRY(elements_reserve(call, self, from->len, from->dims, from->dims));
    steps_of(self->len, self->dims, step);
    walk w = {.dims = from->dims, .len = from->len, .step = step};
    for (size_t i = 0; i < from->count; i++, walk_on(&w)) {
        const cell *box = &from->cells[i];
        cell *to = &self->cells[w.at];
        if (box->count == 0)
            continue;
        elements_add_number(how, to, box->value);
        to->rest += box->rest;
        to->count += box->count - 1;
    }
    return ALM_OK;
}

static alm_status finish_grid(alm_call *call, take how, const grid *self, alm_view *out)
{
    alm_array_out writer;
    *out = alm_view_null();
    if (self->dims == 0)
        return ALM_OK;
    ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, self->dims, self->len, &writer));
    for (size_t i = 0; i < writer.count; i++)
        alm_array_put(&writer, i, elements_number_of(how, &self->cells[i]));
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- of a row */

static alm_status elem_bind(alm_ctx *cx, const alm_fn *fn, ALM_UNUSED int32_t pos, uint32_t argc,
                            alm_arg *args, alm_type *result, void **data)
{
    static const char *const names[] = {[TAKE_SUM] = "array_elem_sum",
                                        [TAKE_AVG] = "array_elem_avg",
                                        [TAKE_MIN] = "array_elem_min",
                                        [TAKE_MAX] = "array_elem_max"};
    take *how = NULL;
    uint32_t dims = 1;
    ALM_TRY(ALM_NEW(cx, cx->arena, &how));
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (strcmp(fn->name, names[i]) == 0)
            *how = (take)i;
    for (uint32_t i = 0; i < argc; i++)
        dims = ALM_MAX(dims, (uint32_t)args[i].type.dims);
    *result = alm_type_array(dims);
    *data = how;
    return ALM_OK;
}

static alm_status elem_of_row(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const take how = *(const take *)call->data;
    for (size_t i = 0; i < n_rows; i++) {
        grid self = {0};
        for (uint32_t k = 0; k < call->argc; k++) {
            const alm_array array = alm_array_of(&args[k], i);
            ALM_TRY(add_array(call, how, &self, &array, call->result.dims));
        }
        ALM_TRY(finish_grid(call, how, &self, (alm_view *)out->data + i));
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------------- of a group */

ALM_AGG_INIT(elem, grid, {0})

static alm_status elem_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args)
{
    grid *all = states;
    for (size_t i = 0; i < n; i++) {
        const alm_array array = alm_array_of(&args[0], i);
        ALM_TRY(add_array(call, *(const take *)call->data, &all[group != NULL ? group[i] : 0],
                          &array, call->result.dims));
    }
    return ALM_OK;
}

static alm_status elem_update(alm_call *call, void *state, size_t n_rows, const alm_vec *args)
{
    return elem_scatter(call, state, NULL, n_rows, args);
}

static alm_status elem_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    grid *to = dst;
    const grid *from = src;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(
            add_grid(call, *(const take *)call->data, &to[index != NULL ? index[i] : i], &from[i]));
    return ALM_OK;
}

static alm_status elem_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const grid *all = states;
    for (size_t i = 0; i < n_rows; i++)
        ALM_TRY(finish_grid(call, *(const take *)call->data, &all[i], (alm_view *)out->data + i));
    return ALM_OK;
}

ALM_AGG_OWNING_OPS(elem, grid, elem, elem)

/* ------------------------------------------------------------------------------------- rows */

#define TOGETHER(name_, doc_)                                                                      \
    {.name = name_,                                                                                \
     .signature = "(ARRAY, ARRAY, ARRAY...) ?",                                                    \
     .bind = elem_bind,                                                                            \
     .kernel = elem_of_row,                                                                        \
     .doc = doc_ " of several arrays, element by element; nulls are left out.",                    \
     .example = name_ "(ARRAY[1, 2, 3], ARRAY[10, null])",                                         \
     .since = "0.1"},                                                                              \
        {.name = name_,                                                                            \
         .signature = "(ARRAY) ?",                                                                 \
         .kind = ALM_FN_AGGREGATE,                                                                 \
         .flags = ALM_FN_ROW_ORDER,                                                                \
         .bind = elem_bind,                                                                        \
         .agg = &elem_ops,                                                                         \
         .doc = "With one argument an aggregate: the arrays of a group, element by element.",      \
         .example = name_ "(ARRAY[price, amount]) from (select * from trades limit 4)",            \
         .since = "0.1"}

static const alm_fn ROWS[] = {
    TOGETHER("array_elem_sum", "Sum"),
    TOGETHER("array_elem_avg", "Mean"),
    TOGETHER("array_elem_min", "Least"),
    TOGETHER("array_elem_max", "Greatest"),
};
ALM_FN_TABLE(array_elements, ROWS);
