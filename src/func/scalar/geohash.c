/*
 * geohash.c - GEOHASH: equality, make_geohash, within.
 *
 * Null rule   Null equals null; cells of different precision are unequal. No point has no cell. Null is neither
 *             before nor after anything.
 * Order       That of the cells as texts: by their bits from the front, a cell before those inside it.
 */
#include "type/geohash.h"
#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

static alm_status scalar_geohash_compare(size_t n_rows, const alm_vec *args, alm_vec *out,
                                         bool equal)
{
    const alm_vec *a = &args[0], *b = &args[1];
    const bool same_type = a->type.p == b->type.p;
    const char *x = a->data, *y = b->data;
    const size_t step_x = a->is_const ? 0 : a->width, step_y = b->is_const ? 0 : b->width;
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++, x += step_x, y += step_y) {
        const int64_t p = alm_geohash_load(x, a->width), q = alm_geohash_load(y, b->width);
        results[i] = (p == q && (same_type || p == ALM_LONG_NULL)) == equal;
    }
    return ALM_OK;
}

static alm_status scalar_geohash_equal(ALM_UNUSED alm_call *call, size_t n_rows,
                                       const alm_vec *args, alm_vec *out)
{
    return scalar_geohash_compare(n_rows, args, out, true);
}

static alm_status scalar_geohash_unequal(ALM_UNUSED alm_call *call, size_t n_rows,
                                         const alm_vec *args, alm_vec *out)
{
    return scalar_geohash_compare(n_rows, args, out, false);
}

/* Below 0, 0, above 0: the cell before, equal, after the other; neither is null. */
static int order_of(int64_t p, uint32_t p_bits, int64_t q, uint32_t q_bits)
{
    const int64_t x = p << (ALM_GEOHASH_BITS_MAX - p_bits),
                  y = q << (ALM_GEOHASH_BITS_MAX - q_bits);
    return x != y ? (x > y) - (x < y) : (p_bits > q_bits) - (p_bits < q_bits);
}

#define ORDER(name, op)                                                                            \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        const alm_vec *a = &args[0], *b = &args[1];                                                \
        const bool with_equal = 0 op 0;                                                            \
        uint8_t *o = out->data;                                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            const int64_t p = alm_geohash_load(                                                    \
                (const char *)a->data + (a->is_const ? 0 : i * a->width), a->width);               \
            const int64_t q = alm_geohash_load(                                                    \
                (const char *)b->data + (b->is_const ? 0 : i * b->width), b->width);               \
            if (p == ALM_LONG_NULL || q == ALM_LONG_NULL)                                          \
                o[i] = with_equal && p == q;                                                       \
            else                                                                                   \
                o[i] = order_of(p, a->type.p, q, b->type.p) op 0;                                  \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
ORDER(less, <)
ORDER(at_most, <=)
ORDER(greater, >)
ORDER(at_least, >=)

/* ------------------------------------------------------------ make_geohash */

static alm_status scalar_geohash_check_range(alm_ctx *cx, const alm_arg *arg, double most,
                                             const char *message)
{
    double at = 0;
    if (arg->value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_double(cx, arg, &at));
    if (at > most || at < -most)
        return alm_fail(cx, ALM_E_ARG, arg->pos, "%s", message);
    return ALM_OK;
}

static alm_status bind_make(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                            ALM_UNUSED void **data)
{
    int64_t bits = 1;
    if (args[2].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[2], &bits));
    if (bits < 1 || bits > ALM_GEOHASH_BITS_MAX)
        return alm_fail(cx, ALM_E_ARG, args[2].pos, "precision must be in [1..60] range");
    ALM_TRY(scalar_geohash_check_range(cx, &args[0], 180,
                                       "longitude must be in [-180.0..180.0] range"));
    ALM_TRY(
        scalar_geohash_check_range(cx, &args[1], 90, "latitude must be in [-90.0..90.0] range"));
    *result = alm_type_geohash((uint32_t)bits);
    return ALM_OK;
}

static alm_status scalar_geohash_make(alm_call *call, size_t n_rows, const alm_vec *args,
                                      alm_vec *out)
{
    char *results = out->data;
    for (size_t i = 0; i < n_rows; i++, results += out->width) {
        const double x = ALM_AT(double, args[0], i), y = ALM_AT(double, args[1], i);
        const bool valid = x >= -180 && x <= 180 && y >= -90 && y <= 90; /* not of NaN */
        alm_geohash_store(valid ? alm_geohash_of(x, y, call->result.p) : ALM_LONG_NULL, results,
                          out->width);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ within */

static alm_status bind_within(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                              uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                              ALM_UNUSED void **data)
{
    if (argc < 2)
        return alm_fail(cx, ALM_E_ARG, pos, "within needs at least one geohash to look for");
    for (uint32_t i = 1; i < argc; i++)
        if (args[i].type.p > args[0].type.p && args[0].type.p != 0)
            return alm_fail(cx, ALM_E_TYPE, args[i].pos,
                            "the cell of %s is finer than the column of %s",
                            alm_type_name(args[i].type), alm_type_name(args[0].type));
    return ALM_OK;
}

/* Is the cell inside one of the coarser ones: do its leading bits equal theirs? */
static alm_status scalar_geohash_within(alm_call *call, size_t n_rows, const alm_vec *args,
                                        alm_vec *out)
{
    const alm_vec *a = &args[0];
    uint8_t *results = out->data;
    memset(results, 0, n_rows);
    for (uint32_t k = 1; k < call->argc; k++) {
        if (a->type.p < args[k].type.p)
            continue; /* no cell is inside a finer one: a column of no precision, whose values are all null, is not refused before */
        const uint32_t cut = (uint32_t)a->type.p - args[k].type.p;
        const char *x = a->data, *y = args[k].data;
        const size_t step_x = a->is_const ? 0 : a->width;
        const size_t step_y = args[k].is_const ? 0 : args[k].width;
        for (size_t i = 0; i < n_rows; i++, x += step_x, y += step_y) {
            const int64_t p = alm_geohash_load(x, a->width);
            const int64_t q = alm_geohash_load(y, args[k].width);
            results[i] |= p != ALM_LONG_NULL && q != ALM_LONG_NULL && p >> cut == q;
        }
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define OP(op, kernel_, doc_)                                                                      \
    {.name = op,                                                                                   \
     .signature = "(GEOHASH, GEOHASH) BOOLEAN",                                                    \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "#u33d " op " #u33e",                                                              \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("=", scalar_geohash_equal, "The same cell, in the same precision; null equals null."),
    OP("!=", scalar_geohash_unequal, "Not the same cell."),
    OP("<>", scalar_geohash_unequal, "Not the same cell."),
    OP("<", less, "Before as a text."),
    OP("<=", at_most, "The same cell, or before it as a text."),
    OP(">", greater, "After as a text."),
    OP(">=", at_least, "The same cell, or after it as a text."),
    {.name = "make_geohash",
     .signature = "(lon DOUBLE, lat DOUBLE, bits INT const) ?",
     .flags = ALM_FN_NULL_OUT,
     .bind = bind_make,
     .kernel = scalar_geohash_make,
     .doc = "Cell of 1 to 60 bits around a point given in degrees, longitude first.",
     .example = "make_geohash(13.4, 52.5, 30)",
     .since = "0.1"},
    {.name = "within",
     .signature = "(GEOHASH, GEOHASH...) BOOLEAN",
     .bind = bind_within,
     .kernel = scalar_geohash_within,
     .doc = "Is the cell inside one of the others? False for null.",
     .example = "within(#u33d8, #u33, #u09)",
     .since = "0.1"},
};
ALM_FN_TABLE(geohash, ROWS);
