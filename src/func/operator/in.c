/*
 * in.c - x in (a, b, ...): is x one of the values?
 *
 * Null rule   Null is in the list if the list has a null; the result is never null.
 * Types       The list takes the type of x; a number that has no equal there is left out, a text is
 *             read as the type of x (a time, an address) or refused. Floating values in the list of
 *             an integer make both DOUBLE. Doubles are compared exactly.
 * Method      Constants become a set at bind: up to 8 values one pass of comparisons each, more a
 *             hash set. A SYMBOL column looks the values up in its dictionary once a batch and marks
 *             codes in a byte table. Lists that are not constant are compared value by value.
 */
#include "base/hash.h"
#include "func/value/args.h"
#include "func/value/dict.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "time/timestamp.h"

enum { FEW = 8 };

typedef struct wide {
    uint64_t half[2]; /* all of most types */
    uint64_t more[2];
} wide;

/* All values in slots of 32 bytes; fixed-width ones zero filled above their width. */
typedef struct value_set {
    uint32_t count;
    uint8_t width; /* of the element: 1, 2, 4, 8, 16, 32 */
    bool is_text;
    wide *values;    /* count, distinct not required */
    uint32_t mask;   /* slots - 1; 0: no hash set */
    uint32_t *slots; /* 1 + index into values, 0: free */
} value_set;

/* -------------------------------------------------------------------- bind */

static bool operator_in_is_floating(alm_type type)
{
    return alm_type_info_of(type)->cls == ALM_TC_FLOATING;
}

/* The type in which x and the list are compared. */
static alm_type common_type(uint32_t argc, const alm_arg *args)
{
    const alm_type type = args[0].type;
    const alm_type_class cls = alm_type_info_of(type)->cls;
    bool text = false, floating = operator_in_is_floating(type);
    for (uint32_t i = 1; i < argc; i++) {
        text = text || alm_type_is_text(args[i].type);
        floating = floating || operator_in_is_floating(args[i].type);
    }
    if (cls == ALM_TC_TEXT)
        return type;
    if (cls == ALM_TC_CHAR)
        return text ? ALM_TY(STRING) : type;
    if (cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING)
        return floating ? ALM_TY(DOUBLE) : type;
    return type.id == ALM_T_NULL || type.id == ALM_T_NONE ? ALM_TY(STRING) : type;
}

static alm_view view_of_slot(wide slot)
{
    alm_view view;
    memcpy(&view, &slot, sizeof view);
    return view;
}

static uint64_t hash_slot(const value_set *set, wide slot)
{
    if (!set->is_text)
        return alm_hash_combine(alm_hash_u128(slot.half[0], slot.half[1]),
                                slot.more[0] ^ slot.more[1]);
    const alm_view view = view_of_slot(slot);
    return alm_view_is_null(&view) ? 0 : alm_hash_str(alm_view_str(&view, NULL));
}

static bool same_slot(const value_set *set, wide a, wide b)
{
    if (!set->is_text)
        return memcmp(&a, &b, sizeof a) == 0;
    const alm_view x = view_of_slot(a), y = view_of_slot(b);
    return alm_view_eq(&x, NULL, &y, NULL);
}

static bool hash_has(const value_set *set, wide slot)
{
    for (uint32_t place = (uint32_t)hash_slot(set, slot) & set->mask; set->slots[place] != 0;
         place = (place + 1) & set->mask)
        if (same_slot(set, set->values[set->slots[place] - 1], slot))
            return true;
    return false;
}

static alm_status operator_in_make_hash(alm_ctx *cx, value_set *set)
{
    uint32_t slots = 32;
    while (slots < set->count * 2)
        slots *= 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, slots, &set->slots));
    set->mask = slots - 1;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t place = (uint32_t)hash_slot(set, set->values[i]) & set->mask;
        while (set->slots[place] != 0 &&
               !same_slot(set, set->values[set->slots[place] - 1], set->values[i]))
            place = (place + 1) & set->mask;
        if (set->slots[place] == 0)
            set->slots[place] = i + 1;
    }
    return ALM_OK;
}

/* One bit pattern per value: -0 is 0, all NaNs are one. */
static wide canonical(alm_type type, wide slot)
{
    if (type.id == ALM_T_DOUBLE) {
        double value;
        memcpy(&value, &slot, sizeof value);
        value = value == value ? value + 0.0 : __builtin_nan("");
        memcpy(&slot, &value, sizeof value);
    } else if (type.id == ALM_T_FLOAT) {
        float value;
        memcpy(&value, &slot, sizeof value);
        value = value == value ? value + 0.0F : __builtin_nanf("");
        memcpy(&slot, &value, sizeof value);
    }
    return slot;
}

/* A null among values of a type that has none. */
static bool operator_in_never_equal(const alm_arg *arg, alm_type type)
{
    return alm_type_info_of(type)->null == ALM_NULL_NONE &&
           (arg->value->type.id == ALM_T_NULL || alm_vec_is_null(arg->value, 0));
}

static alm_status bind_in(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                          uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    const alm_type type = common_type(argc, args);
    bool constant = true;
    for (uint32_t i = 1; i < argc; i++)
        constant = constant && args[i].value != NULL;
    value_set *set = NULL;
    if (constant) {
        ALM_TRY(ALM_NEW(cx, cx->arena, &set));
        set->is_text = alm_type_is_text(type);
        set->width = set->is_text ? (uint8_t)sizeof(alm_view) : (uint8_t)alm_type_width(type);
        ALM_TRY(ALM_NEWN(cx, cx->arena, argc, &set->values));
        for (uint32_t i = 1; i < argc; i++) {
            wide slot = {0};
            bool fits = true;
            ALM_TRY(alm_arg_value(cx, &args[i], type, &slot, &fits));
            if (fits && !operator_in_never_equal(&args[i], type))
                set->values[set->count++] = canonical(type, slot);
        }
        if (set->count > FEW)
            ALM_TRY(operator_in_make_hash(cx, set));
        *data = set;
    }
    args[0].type = type;
    for (uint32_t i = 1; i < argc; i++)
        args[i].type = constant ? args[i].type : type; /* constants are in the set already */
    return ALM_OK;
}

/* ------------------------------------------------------------- fixed width */

#define PASSES(w, T)                                                                               \
    static ALM_SIMD void pass_##w(const T *restrict a, const T value, uint8_t *restrict o,         \
                                  size_t n)                                                        \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = (uint8_t)(o[i] | (a[i] == value));                                              \
    }
PASSES(8, uint8_t)
PASSES(16, uint16_t)
PASSES(32, uint32_t)
PASSES(64, uint64_t)
PASSES(double, double)

static ALM_SIMD void pass_nan_double(const double *restrict a, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(out[i] | (a[i] != a[i]));
}

static void few_doubles(const double *a, double value, uint8_t *out, size_t n)
{
    if (value == value)
        pass_double(a, value, out, n);
    else
        pass_nan_double(a, out, n);
}

static void one_pass(const alm_vec *vec, wide value, uint8_t *out, size_t n_rows)
{
    double real;
    memcpy(&real, &value, sizeof real);
    if (vec->type.id == ALM_T_DOUBLE)
        few_doubles(vec->data, real, out, n_rows);
    else if (vec->width == 1)
        pass_8(vec->data, (uint8_t)value.half[0], out, n_rows);
    else if (vec->width == 2)
        pass_16(vec->data, (uint16_t)value.half[0], out, n_rows);
    else if (vec->width == 4)
        pass_32(vec->data, (uint32_t)value.half[0], out, n_rows);
    else if (vec->width == 8)
        pass_64(vec->data, value.half[0], out, n_rows);
    else
        for (size_t i = 0; i < n_rows; i++)
            out[i] |= memcmp((const char *)vec->data + i * vec->width, &value, vec->width) == 0;
}

static void in_fixed(const value_set *set, const alm_vec *vec, uint8_t *out, size_t n_rows)
{
    if (set->mask == 0) {
        memset(out, 0, n_rows);
        for (uint32_t k = 0; k < set->count; k++)
            one_pass(vec, set->values[k], out, n_rows);
        return;
    }
    for (size_t i = 0; i < n_rows; i++) {
        wide slot = {0};
        memcpy(&slot, (const char *)vec->data + i * vec->width, vec->width);
        out[i] = hash_has(set, canonical(vec->type, slot));
    }
}

/* -------------------------------------------------------------------- text */

static void in_text(const value_set *set, const alm_vec *vec, uint8_t *out, size_t n_rows)
{
    const alm_view *views = vec->data;
    for (size_t i = 0; i < n_rows; i++) {
        alm_view view = views[i];
        if (vec->heap != NULL && view.len > ALM_VIEW_INLINE && view.len != ALM_VIEW_NULL)
            view = alm_view_of(alm_view_str(&views[i], vec->heap));
        wide slot = {0};
        memcpy(&slot, &view, sizeof view);
        if (set->mask != 0) {
            out[i] = hash_has(set, slot);
            continue;
        }
        out[i] = 0;
        for (uint32_t k = 0; k < set->count; k++)
            out[i] |= same_slot(set, set->values[k], slot);
    }
}

#define MARKED(C)                                                                                  \
    do {                                                                                           \
        const C *codes = v->data;                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = marks[codes[i]];                                                                \
    } while (0)

/* Codes through a table of marks, while that is no larger than a few batches. */
static alm_status in_codes(alm_call *call, const value_set *set, const alm_vec *v, uint8_t *o,
                           size_t n)
{
    uint8_t *marks = NULL;
    ALM_TRY(alm_arena_zero(call->cx, call->arena, v->dict->count, &marks));
    for (uint32_t k = 0; k < set->count; k++) {
        const alm_view view = view_of_slot(set->values[k]);
        if (alm_view_is_null(&view)) {
            marks[0] = 1;
            continue;
        }
        const uint32_t code = v->dict->find(v->dict, alm_view_str(&view, NULL));
        if (code != 0 && code < v->dict->count)
            marks[code] = 1;
    }
    if (v->width == 1)
        MARKED(uint8_t);
    else if (v->width == 2)
        MARKED(uint16_t);
    else
        MARKED(uint32_t);
    return ALM_OK;
}

/* ------------------------------------------------------------------ kernels */

/* The list is not constant: compare with each value. */
static alm_status operator_in_values(alm_call *call, size_t n_rows, const alm_vec *args,
                                     alm_vec *out)
{
    uint8_t *results = out->data;
    const bool text = alm_type_is_text(args[0].type);
    for (size_t i = 0; i < n_rows; i++) {
        results[i] = 0;
        const char *x = (const char *)args[0].data + (args[0].is_const ? 0 : i) * args[0].width;
        for (uint32_t k = 1; k < call->argc && !results[i]; k++) {
            const alm_vec *vec = &args[k];
            const char *y = (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width;
            if (alm_vec_is_null(&args[0], i) || alm_vec_is_null(vec, i))
                results[i] = alm_vec_is_null(&args[0], i) && alm_vec_is_null(vec, i);
            else if (text)
                results[i] = alm_str_eq(alm_vec_text(&args[0], i), alm_vec_text(vec, i));
            else if (args[0].type.id == ALM_T_DOUBLE)
                results[i] = *(const double *)(const void *)x == *(const double *)(const void *)y;
            else if (args[0].type.id == ALM_T_FLOAT)
                results[i] = *(const float *)(const void *)x == *(const float *)(const void *)y;
            else
                results[i] = memcmp(x, y, vec->width) == 0;
        }
    }
    return ALM_OK;
}

static alm_status in_set(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    enum { DICT_PER_ROW = 4 };
    const value_set *set = call->data;
    alm_vec vec = args[0];
    uint8_t *results = out->data;
    if (set == NULL) {
        for (uint32_t i = 0; i < call->argc; i++)
            ALM_ASSERT(args[i].dict == NULL || call->argc <= 64);
        ALM_OVER_DICT(in_set, call, n_rows, args, out);
        return operator_in_values(call, n_rows, args, out);
    }
    if (vec.is_const) { /* all of it is constant: n is 1, or every row is the same */
        ALM_TRY(alm_vec_decode(call->cx, call->arena, &vec, 1, &vec));
        if (set->is_text)
            in_text(set, &vec, results, 1);
        else
            in_fixed(set, &vec, results, 1);
        memset(results, results[0], n_rows);
        return ALM_OK;
    }
    if (vec.dict != NULL && vec.dict->count <= n_rows * DICT_PER_ROW)
        return in_codes(call, set, &vec, results, n_rows);
    if (vec.dict != NULL)
        ALM_TRY(alm_vec_decode(call->cx, call->arena, &args[0], n_rows, &vec));
    if (set->is_text)
        in_text(set, &vec, results, n_rows);
    else
        in_fixed(set, &vec, results, n_rows);
    return ALM_OK;
}

/* ts in interval: closed at both ends. */
typedef struct ends {
    int64_t lo, hi;
} ends;
static inline bool operator_in_within(int64_t t_us, ends self)
{
    return t_us != ALM_TS_NULL && self.lo != ALM_TS_NULL && t_us >= self.lo && t_us <= self.hi;
}
ALM_BINARY(in_interval_us, int64_t, ends, uint8_t, operator_in_within(x, y))
ALM_BINARY(in_interval_ns, int64_t, ends, uint8_t,
           operator_in_within(alm_time_rescale(x, ALM_TIME_NS, ALM_TIME_US), y))

#define ROW(sig, flags_, bind_, kernel_, doc_, example_)                                           \
    {.name = "in",                                                                                 \
     .signature = sig " BOOLEAN",                                                                  \
     .flags = ALM_FN_INTERNAL | ALM_FN_LEAKPROOF | (flags_),                                       \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    ROW("(TIMESTAMP, INTERVAL)", 0, NULL, in_interval_us, "Within an interval, its ends included.",
        "now() in today()"),
    ROW("(TIMESTAMP_NS, INTERVAL)", 0, NULL, in_interval_ns,
        "Within an interval, its ends included.", "now() in today()"),
    ROW("(ANY, ANY...)", ALM_FN_SYMBOLS, bind_in, in_set, "One of the values?",
        "'BTC' in ('BTC', 'ETH')"),
};
ALM_FN_TABLE(in, ROWS);
