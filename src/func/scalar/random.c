/*
 * random.c - rnd_*: values made up per row.
 *
 * Method      A value is a function of the statement's seed, the place of the call in its text and the
 *             row number in the stream: the same seed gives the same rows whatever the batch size and
 *             the number of threads, and two calls in one statement differ. Mixer: alm_hash_u128.
 * Rates       A null rate of n makes about one row in n null, 0 none.
 */
#include <math.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "func/scalar/network.h"
#include "func/value/args.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "type/array.h"
#include "type/decimal.h"
#include "type/geohash.h"

/* What bind reads: lo, hi, rate; or a list of texts; or sizes of generated texts or arrays. */
typedef struct params {
    int64_t lo, hi;
    const double *reach;                    /* of the text: its weight and those before it */
    uint32_t dims, len[ALM_ARRAY_DIMS_MAX]; /* len[0] = 0: any length up to hi */
    int64_t rate;                           /* one null in so many; 0: none */
    uint32_t n_texts;
    alm_view *texts;
    int64_t len_lo, len_hi;
} params;

static inline uint64_t random_draw(const alm_call *call, uint64_t row, uint64_t salt)
{
    const uint64_t place = (uint64_t)(uint32_t)call->pos << 32 | (salt & UINT32_MAX);
    return alm_hash_u128(call->cx->seed ^ place * ALM_HASH_K1, row);
}

static inline bool is_null_row(const alm_call *call, const params *given, uint64_t row)
{
    return given != NULL && given->rate > 0 &&
           random_draw(call, row, 1) % (uint64_t)given->rate == 0;
}

/* lo..hi, both included; the bias of the fold is below 2^-32 for ranges up to 2^32. */
static inline int64_t between(uint64_t bits, int64_t lo, int64_t hi)
{
    const uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    if (span == 0)
        return (int64_t)bits;
    const uint64_t off = (uint64_t)(((unsigned __int128)bits * span) >> 64);
    return (int64_t)((uint64_t)lo + off);
}

static inline double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* -------------------------------------------------------------------- bind */

static alm_status new_params(alm_ctx *cx, params **out)
{
    ALM_TRY(ALM_NEW(cx, cx->arena, out));
    (*out)->lo = INT64_MIN;
    (*out)->hi = INT64_MAX;
    return ALM_OK;
}

static alm_status read_rate(alm_ctx *cx, const alm_arg *arg, int64_t *out)
{
    ALM_TRY(alm_arg_long(cx, arg, out));
    if (*out < 0)
        return alm_fail(cx, ALM_E_ARG, arg->pos, "invalid null rate: %lld", (long long)*out);
    return ALM_OK;
}

/* (lo, hi[, rate]) or (rate) or () */
static alm_status bind_range(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                             uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    params *given = NULL;
    ALM_TRY(new_params(cx, &given));
    *data = given;
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].value == NULL)
            return ALM_OK;
    if (argc >= 2) {
        bool fits;
        int64_t ends[2][2] = {{0}, {0}};
        const bool time = alm_type_info_of(args[0].type)->cls == ALM_TC_TIME;
        for (uint32_t i = 0; i < 2 && time; i++)
            ALM_TRY(alm_arg_value(cx, &args[i], args[i].type, ends[i], &fits));
        for (uint32_t i = 0; i < 2 && !time; i++)
            ALM_TRY(alm_arg_long(cx, &args[i], ends[i]));
        given->lo = ends[0][0];
        given->hi = ends[1][0];
        if (given->lo > given->hi || given->lo == ALM_LONG_NULL)
            return alm_fail(cx, ALM_E_ARG, args[0].pos, "invalid range");
    }
    if (argc == 1 || argc == 3)
        ALM_TRY(read_rate(cx, &args[argc - 1], &given->rate));
    return ALM_OK;
}

/* Into the query arena: constants of a bind variable do not last. */
static alm_status random_copy_text(alm_ctx *cx, const alm_arg *arg, alm_view *out)
{
    alm_str text, copy;
    ALM_TRY(alm_arg_text(cx, arg, &text));
    if (text.ptr != NULL) {
        ALM_TRY(alm_arena_copy(cx, cx->arena, text, &copy));
        text = copy;
    }
    *out = alm_view_of(text);
    return ALM_OK;
}

/* (text, text, ...) */
static alm_status random_bind_texts(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                    uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                                    void **data)
{
    params *given = NULL;
    ALM_TRY(new_params(cx, &given));
    *data = given;
    if (argc == 0)
        return alm_fail(cx, ALM_E_ARG, pos, "a list of texts is expected");
    ALM_TRY(ALM_NEWN(cx, cx->arena, argc, &given->texts));
    for (uint32_t i = 0; i < argc; i++) {
        if (args[i].value == NULL)
            return ALM_OK;
        ALM_TRY(random_copy_text(cx, &args[i], &given->texts[i]));
    }
    given->n_texts = argc;
    return ALM_OK;
}

/* Texts of letters: (count, shortest, longest, rate) keeps so many different ones; without count all
 * differ. */
static alm_status bind_made_texts(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                  uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                                  void **data)
{
    enum { LENGTH_MAX = 10000 };
    params *given = NULL;
    int64_t v[4] = {0};
    ALM_TRY(new_params(cx, &given));
    *data = given;
    for (uint32_t i = 0; i < argc; i++) {
        if (args[i].value == NULL)
            return ALM_OK;
        ALM_TRY(alm_arg_long(cx, &args[i], &v[i + 4 - argc]));
    }
    if (argc == 0) {
        given->hi = 0;
        given->len_lo = 3;
        given->len_hi = 10;
        return ALM_OK;
    }
    given->hi = argc == 4 ? v[0] : 0; /* how many different ones; 0: no limit */
    given->len_lo = v[1];
    given->len_hi = v[2];
    given->rate = v[3];
    if (given->hi < 0 || given->len_lo < 1 || given->len_hi < given->len_lo ||
        given->len_hi > LENGTH_MAX || given->rate < 0)
        return alm_fail(cx, ALM_E_ARG, pos, "invalid range of text lengths or null rate");
    return ALM_OK;
}

/* ----------------------------------------------------------------- kernels */

/* VALUE over uint64_t r (the draw) and const params *p. */
#define RANDOM(name, T, none, VALUE)                                                               \
    static alm_status name(alm_call *call, size_t n, ALM_UNUSED const alm_vec *args, alm_vec *out) \
    {                                                                                              \
        const params *p = call->data;                                                              \
        T *o = out->data;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const uint64_t row = call->row_base + i, r = random_draw(call, row, 0);                \
            o[i] = is_null_row(call, p, row) ? (T)(none) : (T)(VALUE);                             \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
RANDOM(rnd_boolean, uint8_t, 0, r & 1)
RANDOM(rnd_byte, int8_t, 0, between(r, ALM_MAX(p->lo, INT8_MIN), ALM_MIN(p->hi, INT8_MAX)))
RANDOM(rnd_short, int16_t, 0, between(r, ALM_MAX(p->lo, INT16_MIN), ALM_MIN(p->hi, INT16_MAX)))
RANDOM(rnd_int, int32_t, ALM_INT_NULL,
       between(r, ALM_MAX(p->lo, -INT32_MAX), ALM_MIN(p->hi, INT32_MAX)))
RANDOM(rnd_long, int64_t, ALM_LONG_NULL, between(r, ALM_MAX(p->lo, -INT64_MAX), p->hi))
RANDOM(rnd_time, int64_t, ALM_TS_NULL, between(r, ALM_MAX(p->lo, 0), p->hi))
RANDOM(rnd_double, double, __builtin_nan(""), unit(r))
RANDOM(rnd_float, float, __builtin_nanf(""), unit(r))
RANDOM(rnd_char, uint16_t, 0, 'A' + r % 26)
RANDOM(rnd_ipv4, uint32_t, 0, between(r, ALM_MAX(p->lo, 1), ALM_MIN(p->hi, UINT32_MAX)))

typedef struct uuid_halves {
    uint64_t hi, lo;
} uuid_halves;

/* Version 4, variant 1 (RFC 9562). */
static alm_status rnd_uuid4(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                            alm_vec *out)
{
    const params *given = call->data;
    uuid_halves *halves = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        const uint64_t a = random_draw(call, row, 0), b = random_draw(call, row, 2);
        halves[i].hi = (a & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
        halves[i].lo = (b >> 2) | (UINT64_C(1) << 63);
        if (is_null_row(call, given, row))
            halves[i] = (uuid_halves){(uint64_t)ALM_LONG_NULL, (uint64_t)ALM_LONG_NULL};
    }
    return ALM_OK;
}

static alm_status rnd_of_list(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    const params *given = call->data;
    alm_view *views = out->data;
    ALM_ASSERT(given->n_texts > 0);
    for (size_t i = 0; i < n_rows; i++)
        views[i] =
            given->texts[between(random_draw(call, call->row_base + i, 0), 0, given->n_texts - 1)];
    return ALM_OK;
}

static alm_status rnd_made_text(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                alm_vec *out)
{
    const params *given = call->data;
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        views[i] = alm_view_null();
        if (is_null_row(call, given, row))
            continue;
        /* a limited number of texts: the text is a function of its number instead of the row */
        const uint64_t which =
            given->hi == 0 ? row : random_draw(call, row, 0) % (uint64_t)given->hi;
        const size_t len =
            (size_t)between(random_draw(call, which, 3), given->len_lo, given->len_hi);
        char *text;
        ALM_TRY(alm_text_room(&writer, len, &text));
        for (size_t k = 0; k < len; k++)
            text[k] = (char)('A' + random_draw(call, which, 4 + k) % 26);
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* ------------------------------------------- LONG256, GEOHASH, DECIMAL, BINARY */

static alm_i256 draw_256(const alm_call *call, uint64_t row)
{
    alm_i256 value;
    for (uint32_t k = 0; k < 4; k++)
        value.w[k] = random_draw(call, row, 16 + k);
    return value;
}

static alm_status rnd_long256(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    alm_i256 *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        results[i] = is_null_row(call, call->data, row) ? alm_long256_null() : draw_256(call, row);
    }
    return ALM_OK;
}

static alm_status random_bind_geohash(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                      ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                      alm_arg *args, alm_type *result, ALM_UNUSED void **data)
{
    int64_t bits = 1;
    if (args[0].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[0], &bits));
    if (bits < 1 || bits > ALM_GEOHASH_BITS_MAX)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "precision must be in [1..60] range");
    *result = alm_type_geohash((uint32_t)bits);
    return ALM_OK;
}

static alm_status rnd_geohash(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    char *results = out->data;
    for (size_t i = 0; i < n_rows; i++, results += out->width)
        alm_geohash_store(
            (int64_t)(random_draw(call, call->row_base + i, 0) >> (64 - call->result.p)), results,
            out->width);
    return ALM_OK;
}

/* precision, scale, null rate */
static alm_status bind_decimal(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               ALM_UNUSED uint32_t argc, alm_arg *args, alm_type *result,
                               void **data)
{
    int64_t sizes[2] = {1, 0};
    params *given = NULL;
    ALM_TRY(new_params(cx, &given));
    for (uint32_t i = 0; i < 2; i++)
        if (args[i].value != NULL)
            ALM_TRY(alm_arg_long(cx, &args[i], &sizes[i]));
    if (sizes[0] < 1 || sizes[0] > ALM_DECIMAL_DIGITS_MAX)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "precision must be in [1..76] range");
    if (sizes[1] < 0 || sizes[1] > sizes[0])
        return alm_fail(cx, ALM_E_ARG, args[1].pos, "scale must be in [0..precision] range");
    if (args[2].value != NULL)
        ALM_TRY(read_rate(cx, &args[2], &given->rate));
    *result = alm_type_decimal((uint32_t)sizes[0], (uint32_t)sizes[1]);
    *data = given;
    return ALM_OK;
}

static alm_status rnd_decimal(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                              alm_vec *out)
{
    const alm_i256 limit = alm_pow10_256(call->result.p);
    char *results = out->data;
    for (size_t i = 0; i < n_rows; i++, results += out->width) {
        const uint64_t row = call->row_base + i;
        alm_i256 whole, value = draw_256(call, row);
        value.w[3] >>= 1; /* not below zero */
        alm_i256_divmod(value, limit, &whole, &value);
        alm_decimal_store(call->result, is_null_row(call, call->data, row) ? alm_i256_min() : value,
                          results);
    }
    return ALM_OK;
}

/* least and most bytes, null rate */
static alm_status bind_bin(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                           alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    enum { USUAL = 32, MOST = 1 << 20 };
    params *given = NULL;
    ALM_TRY(new_params(cx, &given));
    given->len_lo = given->len_hi = USUAL;
    if (argc > 0 && args[0].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[0], &given->len_lo));
    if (argc > 0 && args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &given->len_hi));
    if (argc > 0 && args[2].value != NULL)
        ALM_TRY(read_rate(cx, &args[2], &given->rate));
    if (given->len_lo < 1 || given->len_hi < given->len_lo || given->len_hi > MOST)
        return alm_fail(cx, ALM_E_ARG, pos, "sizes must be in [1..%d] range, the least first",
                        MOST);
    *data = given;
    return ALM_OK;
}

static alm_status rnd_bin(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                          alm_vec *out)
{
    const params *given = call->data;
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        views[i] = alm_view_null();
        if (is_null_row(call, given, row))
            continue;
        const size_t len = (size_t)between(random_draw(call, row, 3), given->len_lo, given->len_hi);
        char *bytes;
        ALM_TRY(alm_text_room(&writer, len, &bytes));
        for (size_t k = 0; k < len; k++)
            bytes[k] = (char)random_draw(call, row, 4 + k);
        views[i] = alm_text_take(&writer, len);
    }
    return ALM_OK;
}

/* -------------------------------------------------------- texts by weight */

/* Texts and weights in turn. */
static alm_status bind_weighted(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                                void **data)
{
    params *given = NULL;
    double *reach = NULL, sum = 0;
    ALM_TRY(new_params(cx, &given));
    *data = given;
    if (argc == 0 || argc % 2 != 0)
        return alm_fail(cx, ALM_E_ARG, pos, "texts and their weights are expected in turn");
    ALM_TRY(ALM_NEWN(cx, cx->arena, argc / 2, &given->texts));
    ALM_TRY(ALM_NEWN(cx, cx->arena, argc / 2, &reach));
    for (uint32_t i = 0; i < argc; i += 2) {
        double weight = 0;
        if (args[i].value == NULL || args[i + 1].value == NULL)
            return ALM_OK;
        ALM_TRY(random_copy_text(cx, &args[i], &given->texts[i / 2]));
        ALM_TRY(alm_arg_double(cx, &args[i + 1], &weight));
        if (!(weight >= 0))
            return alm_fail(cx, ALM_E_ARG, args[i + 1].pos, "a weight must be a number from 0");
        sum += weight;
        reach[i / 2] = sum;
    }
    if (!(sum > 0 && sum < __builtin_inf()))
        return alm_fail(cx, ALM_E_ARG, pos, "the weights must have a sum above 0");
    given->n_texts = argc / 2;
    given->reach = reach;
    return ALM_OK;
}

/* (count, exponent): sym0, sym1 ...; (text, text ..., exponent) */
static alm_status zipf_texts(alm_ctx *cx, uint32_t argc, const alm_arg *args, params *given)
{
    enum { COUNT_MAX = 1000000 };
    int64_t count = argc - 1;
    const bool made =
        argc == 2 && !alm_type_is_text(args[0].value->type) && args[0].value->type.id != ALM_T_CHAR;
    if (made)
        ALM_TRY(alm_arg_long(cx, &args[0], &count));
    if (count < 1 || count > COUNT_MAX)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "the number of symbols must be in [1..%d]",
                        COUNT_MAX);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)count, &given->texts));
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        const char *name = NULL;
        if (!made) {
            ALM_TRY(random_copy_text(cx, &args[i], &given->texts[i]));
            continue;
        }
        ALM_TRY(alm_arena_printf(cx, cx->arena, &name, "sym%u", i));
        given->texts[i] = alm_view_of(alm_str_of(name));
    }
    given->n_texts = (uint32_t)count;
    return ALM_OK;
}

/* Text number k (from 1) has the weight 1 / k^exponent. */
static alm_status bind_zipf(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos, uint32_t argc,
                            alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    params *given = NULL;
    double *reach = NULL, exponent = 0, sum = 0;
    ALM_TRY(new_params(cx, &given));
    *data = given;
    if (argc < 2)
        return alm_fail(cx, ALM_E_ARG, pos, "symbols or their number, and the exponent, expected");
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].value == NULL)
            return ALM_OK;
    ALM_TRY(alm_arg_double(cx, &args[argc - 1], &exponent));
    if (!(exponent > 0))
        return alm_fail(cx, ALM_E_ARG, args[argc - 1].pos, "the exponent must be above 0");
    ALM_TRY(zipf_texts(cx, argc, args, given));
    ALM_TRY(ALM_NEWN(cx, cx->arena, given->n_texts, &reach));
    for (uint32_t i = 0; i < given->n_texts; i++)
        reach[i] = sum += pow(i + 1.0, -exponent);
    given->reach = reach;
    return ALM_OK;
}

static alm_status rnd_weighted(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                               alm_vec *out)
{
    const params *given = call->data;
    alm_view *views = out->data;
    ALM_ASSERT(given->n_texts > 0);
    for (size_t i = 0; i < n_rows; i++) {
        const double value =
            unit(random_draw(call, call->row_base + i, 0)) * given->reach[given->n_texts - 1];
        uint32_t lo = 0, hi = given->n_texts - 1;
        while (lo < hi) {
            const uint32_t mid = lo + (hi - lo) / 2;
            if (given->reach[mid] > value)
                hi = mid;
            else
                lo = mid + 1;
        }
        views[i] = given->texts[lo];
    }
    return ALM_OK;
}

/* ------------------------------------------------------- arrays, intervals, networks */

/* dimensions[, null rate[, greatest length]]; dimensions, null rate, 0, length, length ... */
static alm_status random_bind_array(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                    uint32_t argc, alm_arg *args, alm_type *result, void **data)
{
    enum { LENGTH = 16 };
    params *given = NULL;
    int64_t dims = 1;
    ALM_TRY(new_params(cx, &given));
    *data = given;
    *result = alm_type_array(1);
    for (uint32_t i = 0; i < argc; i++)
        if (args[i].value == NULL)
            return ALM_OK;
    ALM_TRY(alm_arg_long(cx, &args[0], &dims));
    if (dims < 1 || dims > ALM_ARRAY_DIMS_MAX)
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "the number of dimensions must be in [1..%d]",
                        ALM_ARRAY_DIMS_MAX);
    if (argc > 3 && argc != 3 + dims)
        return alm_fail(cx, ALM_E_ARG, pos, "a length for each of the %lld dimensions is expected",
                        (long long)dims);
    given->dims = (uint32_t)dims;
    given->hi = LENGTH;
    if (argc > 1)
        ALM_TRY(read_rate(cx, &args[1], &given->rate));
    for (uint32_t i = 2; i < argc; i++) {
        int64_t length = 0;
        ALM_TRY(alm_arg_long(cx, &args[i], &length));
        if (length > ALM_ARRAY_MAX || length < (i == 2 && argc > 3 ? 0 : 1))
            return alm_fail(cx, ALM_E_ARG, args[i].pos, "a length must be in [1..%d]",
                            ALM_ARRAY_MAX);
        if (i == 2)
            given->hi = length;
        else
            given->len[i - 3] = (uint32_t)length;
    }
    *result = alm_type_array(given->dims);
    return ALM_OK;
}

static alm_status rnd_array(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                            alm_vec *out)
{
    const params *given = call->data;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        uint32_t len[ALM_ARRAY_DIMS_MAX];
        alm_array_out writer;
        for (uint32_t dim = 0; dim < given->dims; dim++)
            len[dim] = given->len[0] != 0
                           ? given->len[dim]
                           : (uint32_t)between(random_draw(call, row, 2 + dim), 1, given->hi);
        ALM_TRY(alm_array_begin(call->cx, call->arena, call->pos, given->dims, len, &writer));
        const uint64_t base = random_draw(call, row, 0);
        for (size_t k = 0; k < writer.count; k++) {
            const uint64_t r = alm_hash_u128(base, k);
            const bool null =
                given->rate > 0 && alm_hash_u128(~base, k) % (uint64_t)given->rate == 0;
            alm_array_put(&writer, k, null ? __builtin_nan("") : unit(r));
        }
        views[i] = alm_array_finish(&writer);
    }
    return ALM_OK;
}

typedef struct ends {
    int64_t lo, hi;
} ends;

static alm_status rnd_interval(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                               alm_vec *out)
{
    static const int64_t last_us = INT64_C(4102444800000000); /* 2100-01-01 */
    ends *o = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const uint64_t row = call->row_base + i;
        o[i].lo = between(random_draw(call, row, 0), 0, last_us);
        o[i].hi = between(random_draw(call, row, 2), o[i].lo, last_us);
    }
    return ALM_OK;
}

static alm_status random_bind_network(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                      ALM_UNUSED int32_t pos, ALM_UNUSED uint32_t argc,
                                      alm_arg *args, ALM_UNUSED alm_type *result, void **data)
{
    params *given = NULL;
    alm_str text = {0};
    alm_network net = {0};
    ALM_TRY(new_params(cx, &given));
    *data = given;
    if (args[0].value == NULL || args[1].value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, &args[0], &text));
    if (text.ptr == NULL || !alm_network_parse(text, &net))
        return alm_fail(cx, ALM_E_ARG, args[0].pos, "a network is expected, as '10.0.0.0/8'");
    given->lo = ALM_MAX((int64_t)net.base, 1); /* 0.0.0.0 is null */
    given->hi = ALM_MAX((int64_t)(net.base | ~net.mask), 1);
    return read_rate(cx, &args[1], &given->rate);
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, bind, kernel, doc, example) ROW_OF(f, sig, 0, bind, kernel, doc, example)
/* As long as it is asked for. */
#define LONG_ROW(f, sig, bind, kernel, doc, example)                                               \
    ROW_OF(f, sig, ALM_FN_WAITS, bind, kernel, doc, example)
#define ROW_OF(f, sig, flags_, bind_, kernel_, doc_, example_)                                     \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = ALM_FN_VOLATILE | (flags_),                                                          \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define RANGE(f, T, A, kernel, doc)                                                                \
    ROW(f, "() " T, bind_range, kernel, doc, f "()"),                                              \
        ROW(f, "(" A " const, " A " const) " T, bind_range, kernel, doc, f "(1, 9)"),              \
        ROW(f, "(" A " const, " A " const, INT const) " T, bind_range, kernel, doc, f "(1, 9, 2)")
#define RATED(f, T, kernel, doc)                                                                   \
    ROW(f, "() " T, bind_range, kernel, doc, f "()"),                                              \
        ROW(f, "(INT const) " T, bind_range, kernel, doc, f "(2)")
#define TEXTS(f, T, doc)                                                                           \
    ROW(f, "(TEXT const, TEXT const...) " T, random_bind_texts, rnd_of_list, doc,                  \
        f "('ab', 'cd')"),                                                                         \
        LONG_ROW(f, "(INT const, INT const, INT const) " T, bind_made_texts, rnd_made_text, doc,   \
                 f "(3, 5, 0)"),                                                                   \
        LONG_ROW(f, "(INT const, INT const, INT const, INT const) " T, bind_made_texts,            \
                 rnd_made_text, doc, f "(10, 3, 5, 0)")

static const alm_fn ROWS[] = {
    ROW("rnd_boolean", "() BOOLEAN", bind_range, rnd_boolean, "True or false.", "rnd_boolean()"),
    RANGE("rnd_byte", "BYTE", "INT", rnd_byte, "A BYTE, of a range or any."),
    RANGE("rnd_short", "SHORT", "INT", rnd_short, "A SHORT, of a range or any."),
    RANGE("rnd_int", "INT", "INT", rnd_int, "An INT, of a range or any."),
    RANGE("rnd_long", "LONG", "LONG", rnd_long, "A LONG, of a range or any."),
    RATED("rnd_double", "DOUBLE", rnd_double, "A number from 0 to below 1."),
    RATED("rnd_float", "FLOAT", rnd_float, "A number from 0 to below 1."),
    ROW("rnd_char", "() CHAR", bind_range, rnd_char, "A capital letter.", "rnd_char()"),
    RATED("rnd_uuid4", "UUID", rnd_uuid4, "A UUID of version 4."),
    ROW("rnd_ipv4", "() IPv4", bind_range, rnd_ipv4, "An address.", "rnd_ipv4()"),
    ROW("rnd_ipv4", "(TEXT const, INT const) IPv4", random_bind_network, rnd_ipv4,
        "An address of a network; null rate.", "rnd_ipv4('10.0.0.0/8', 0)"),
    ROW("rnd_interval", "() INTERVAL", bind_range, rnd_interval,
        "An interval between 1970 and 2100.", "rnd_interval()"),
    LONG_ROW("rnd_double_array", "(LONG const, LONG const...) ?", random_bind_array, rnd_array,
             "Array of numbers from 0 to below 1: dimensions, null rate of the elements, greatest "
             "length of "
             "a dimension (16); or dimensions, null rate, 0 and the length of each dimension.",
             "rnd_double_array(2, 0, 0, 2, 3)"),
    ROW("rnd_symbol_weighted", "(ANY const, ANY const...) SYMBOL", bind_weighted, rnd_weighted,
        "One of the texts, as often as the weight behind it says.",
        "rnd_symbol_weighted('buy', 3, 'sell', 1)"),
    ROW("rnd_symbol_zipf", "(ANY const, ANY const...) SYMBOL", bind_zipf, rnd_weighted,
        "One of the texts, or of so many symbols sym0, sym1 ...; number k of them with weight 1 / "
        "k^exponent. The last argument is the exponent.",
        "rnd_symbol_zipf(100, 1.1)"),
    RANGE("rnd_date", "DATE", "DATE", rnd_time, "A DATE of a range."),
    RANGE("rnd_timestamp", "TIMESTAMP", "TIMESTAMP", rnd_time, "A TIMESTAMP of a range."),
    RANGE("rnd_timestamp_ns", "TIMESTAMP_NS", "TIMESTAMP_NS", rnd_time,
          "A TIMESTAMP_NS of a range."),
    TEXTS("rnd_symbol", "SYMBOL", "One of the texts, or letters: number, lengths, null rate."),
    ROW("rnd_str", "() STRING", bind_made_texts, rnd_made_text, "3 to 10 letters.", "rnd_str()"),
    TEXTS("rnd_str", "STRING", "One of the texts, or letters: lengths from, to, null rate."),
    ROW("rnd_varchar", "() VARCHAR", bind_made_texts, rnd_made_text, "3 to 10 letters.",
        "rnd_varchar()"),
    TEXTS("rnd_varchar", "VARCHAR", "One of the texts, or letters: lengths from, to, null rate."),
    RATED("rnd_long256", "LONG256", rnd_long256, "A LONG256."),
    ROW("rnd_geohash", "(INT const) ?", random_bind_geohash, rnd_geohash, "A cell of so many bits.",
        "rnd_geohash(30)"),
    ROW("rnd_decimal", "(INT const, INT const, INT const) ?", bind_decimal, rnd_decimal,
        "A decimal from 0: precision, scale, null rate.", "rnd_decimal(10, 2, 0)"),
    ROW("rnd_bin", "() BINARY", bind_bin, rnd_bin, "32 bytes.", "rnd_bin()"),
    LONG_ROW("rnd_bin", "(LONG const, LONG const, INT const) BINARY", bind_bin, rnd_bin,
             "Bytes: least and most, null rate.", "rnd_bin(5, 10, 2)"),
};
ALM_FN_TABLE(random, ROWS);
