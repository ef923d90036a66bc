/*
 * sketch.c - approx_count_distinct: HyperLogLog.
 *
 * Null rule   Nulls are no values; nothing but nulls gives 0.
 * Method      A value is its 64-bit hash. Up to 1/16 of the registers (32 at least) the hashes themselves
 *             are kept and counted, which is exact; then 2^precision registers of one byte hold the
 *             longest run of zeros of their share of the hashes (Flajolet and others, 2007), and the
 *             count comes from the multiplicities of registers (Ertl, 2017: no tables of corrections, good
 *             from the first value on). The standard error is 1.04 / sqrt(2^precision): 0.8 % at 14.
 * Merging     Registers take the greater of two. The result does not depend on the order of rows nor on
 *             how they were cut.
 * Memory      2^precision bytes per group with many values, 16 KiB at 14; few values cost 8 to 32 bytes
 *             each.
 */
#include <math.h>

#include "base/hash.h"
#include "func/agg/agg.h"
#include "func/agg/bag.h"
#include "func/value/args.h"
#include "func/value/tables.h"

enum { PRECISION_MIN = 4, PRECISION_MAX = 18, PRECISION_USUAL = 14, FEW_MIN = 32 };

typedef struct sketch {
    uint64_t *set;        /* hashes, 0: free; NULL with registers */
    uint8_t *registers;   /* NULL while there are few values */
    uint32_t mask, count; /* of the set */
    bool zero;            /* the hash 0 was there */
} sketch;

ALM_AGG_INIT(sketch, sketch, {0})

static uint32_t precision_of(const alm_call *call)
{
    const uint32_t *p = call->data;
    return p == NULL ? PRECISION_USUAL : *p;
}

static alm_status bind_precision(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                                 uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                                 void **data)
{
    int64_t precision = PRECISION_USUAL;
    uint32_t *kept = NULL;
    if (argc > 1 && args[1].value != NULL)
        ALM_TRY(alm_arg_long(cx, &args[1], &precision));
    if (precision < PRECISION_MIN || precision > PRECISION_MAX)
        return alm_fail(cx, ALM_E_ARG, pos, "precision must be between %d and %d", PRECISION_MIN,
                        PRECISION_MAX);
    ALM_TRY(ALM_NEW(cx, cx->arena, &kept));
    *kept = (uint32_t)precision;
    *data = kept;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- adding */

static inline void register_put(uint8_t *registers, uint32_t precision, uint64_t hash)
{
    const uint64_t place = hash >> (64 - precision);
    /* zeros before the first one of the other bits, counted from 1; a guard ends all zeros */
    const uint64_t rest = hash << precision | UINT64_C(1) << (precision - 1);
    const uint8_t run = (uint8_t)(__builtin_clzll(rest) + 1);
    registers[place] = run > registers[place] ? run : registers[place];
}

static void set_put(sketch *self, uint64_t hash)
{
    uint32_t place = (uint32_t)hash & self->mask;
    while (self->set[place] != 0 && self->set[place] != hash)
        place = (place + 1) & self->mask;
    self->count += self->set[place] == 0;
    self->set[place] = hash;
}

static alm_status grow_set(const alm_call *call, sketch *self)
{
    const uint64_t *old = self->set;
    const uint32_t old_slots = old == NULL ? 0 : self->mask + 1;
    const uint32_t slots = old == NULL ? 8 : 2 * old_slots;
    ALM_TRY(ALM_NEWN(call->cx, call->arena, slots, &self->set));
    self->mask = slots - 1;
    self->count = 0;
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i] != 0)
            set_put(self, old[i]);
    return ALM_OK;
}

/* Registers instead of the set. */
static alm_status make_registers(const alm_call *call, sketch *self)
{
    const uint32_t precision = precision_of(call);
    ALM_TRY(ALM_NEWN(call->cx, call->arena, (size_t)1 << precision, &self->registers));
    for (uint32_t i = 0; self->set != NULL && i <= self->mask; i++)
        if (self->set[i] != 0)
            register_put(self->registers, precision, self->set[i]);
    if (self->zero)
        register_put(self->registers, precision, 0);
    self->set = NULL;
    return ALM_OK;
}

/* Registers from the first value on that is one too many: that depends on the values alone. */
static inline alm_status add_hash(const alm_call *call, sketch *self, uint64_t hash)
{
    if (self->registers != NULL) {
        register_put(self->registers, precision_of(call), hash);
        return ALM_OK;
    }
    if (self->set == NULL || 2 * self->count >= self->mask)
        ALM_TRY(grow_set(call, self));
    if (hash == 0)
        self->zero = true;
    else
        set_put(self, hash);
    const uint32_t few = ALM_MAX((uint32_t)FEW_MIN, (UINT32_C(1) << precision_of(call)) / 16);
    return self->count + self->zero > few ? make_registers(call, self) : ALM_OK;
}

/* The hash of tables is even for numbers in a row, too even for counting zeros: mixed once more. */
static inline uint64_t sketch_hash_of(uint64_t key)
{
    uint64_t hash = alm_hash_u64(key);
    hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
    return hash ^ (hash >> 31);
}

static inline uint64_t sketch_bits_of(double value)
{
    uint64_t bits;
    value += 0.0; /* -0.0 + 0.0 is 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Hash of a value that is known not to be null. */
#define SKETCH(name, T, NULL_TEST, HASH)                                                           \
    static alm_status name##_update(alm_call *call, void *state, size_t n, const alm_vec *args)    \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        for (size_t i = 0; i < (args[0].is_const && n > 0 ? 1 : n); i++) {                         \
            const T x = a[i];                                                                      \
            if (!(NULL_TEST))                                                                      \
                ALM_TRY(add_hash(call, state, HASH));                                              \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_scatter(alm_call *call, void *states, const uint32_t *group,          \
                                     size_t n, const alm_vec *args)                                \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        sketch *all = states;                                                                      \
        const size_t step = args[0].is_const ? 0 : 1;                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i * step];                                                               \
            if (!(NULL_TEST))                                                                      \
                ALM_TRY(add_hash(call, &all[group[i]], HASH));                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
SKETCH(sketch_int, int32_t, x == ALM_INT_NULL, sketch_hash_of((uint64_t)x))
SKETCH(sketch_long, int64_t, x == ALM_LONG_NULL, sketch_hash_of((uint64_t)x))
SKETCH(sketch_ipv4, uint32_t, x == 0, sketch_hash_of(x))
SKETCH(sketch_double, double, x != x, sketch_hash_of(sketch_bits_of(x)))
SKETCH(sketch_float, float, x != x, sketch_hash_of(sketch_bits_of((double)x)))

/* Text of any kind, and UUID by its bytes. */
static alm_status sketch_add_value(const alm_call *call, sketch *self, const alm_vec *vec, size_t i)
{
    if (alm_vec_is_null(vec, i))
        return ALM_OK;
    if (!alm_type_is_text(vec->type))
        return add_hash(
            call, self,
            alm_hash_bytes((const char *)vec->data + (vec->is_const ? 0 : i) * vec->width,
                           vec->width));
    return add_hash(call, self, alm_hash_str(alm_vec_text(vec, i)));
}

static alm_status sketch_any_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < (args[0].is_const && n > 0 ? 1 : n); i++)
        ALM_TRY(sketch_add_value(call, state, &args[0], i));
    return ALM_OK;
}

static alm_status sketch_any_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                     const alm_vec *args)
{
    sketch *all = states;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(sketch_add_value(call, &all[group[i]], &args[0], i));
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ merging */

static alm_status sketch_join(const alm_call *call, sketch *to, const sketch *from)
{
    const size_t n = (size_t)1 << precision_of(call);
    for (uint32_t i = 0; from->set != NULL && i <= from->mask; i++)
        if (from->set[i] != 0)
            ALM_TRY(add_hash(call, to, from->set[i]));
    if (from->zero)
        ALM_TRY(add_hash(call, to, 0));
    if (from->registers == NULL)
        return ALM_OK;
    if (to->registers == NULL)
        ALM_TRY(make_registers(call, to));
    for (size_t i = 0; i < n; i++)
        to->registers[i] = ALM_MAX(to->registers[i], from->registers[i]);
    return ALM_OK;
}

static alm_status sketch_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                               size_t n)
{
    sketch *to = dst;
    const sketch *from = src;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(sketch_join(call, &to[index != NULL ? index[i] : i], &from[i]));
    return ALM_OK;
}

/* ----------------------------------------------------------------------------- counting */

static double sigma(double x)
{
    double y = 1, z = x, before;
    if (x >= 1)
        return (double)INFINITY;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z > before);
    return z;
}

static double tau(double x)
{
    double y = 1, z = 1 - x, before;
    if (x <= 0 || x >= 1)
        return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z < before);
    return z / 3;
}

static int64_t estimate(const uint8_t *registers, uint32_t precision)
{
    const uint32_t q = 64 - precision;
    const double m = (double)((size_t)1 << precision);
    uint32_t with[66] = {0};
    for (size_t i = 0; i < (size_t)1 << precision; i++)
        with[registers[i]]++;
    double z = m * tau(1 - with[q + 1] / m);
    for (uint32_t k = q; k >= 1; k--)
        z = 0.5 * (z + with[k]);
    z += m * sigma(with[0] / m);
    return llround(m * m / (2 * log(2) * z));
}

static alm_status sketch_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const sketch *all = states;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = all[i].registers != NULL ? estimate(all[i].registers, precision_of(call))
                                              : (int64_t)all[i].count + all[i].zero;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------- rows */

#define OPS(name)                                                                                  \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(sketch),                          \
                                           .init = sketch_init,                                    \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = sketch_merge,                                  \
                                           .finish = sketch_finish};
OPS(sketch_int)
OPS(sketch_long)
OPS(sketch_ipv4)
OPS(sketch_double)
OPS(sketch_float)
OPS(sketch_any)

#define ROW(sig, ops, flags_, doc_, example_)                                                      \
    {.name = "approx_count_distinct",                                                              \
     .signature = "(" sig ") LONG",                                                                \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = (flags_),                                                                            \
     .agg = &(ops),                                                                                \
     .bind = bind_precision,                                                                       \
     .doc = doc_,                                                                                  \
     .example = example_,                                                                          \
     .since = "0.1"}
#define APPROX(T, ops, flags)                                                                      \
    ROW(T, ops, flags, "Number of different values, estimated (HyperLogLog, 0.8 % off).",          \
        "approx_count_distinct(amount)"),                                                          \
        ROW(T ", INT const", ops, flags, "The same with 2^precision registers, 4 to 18.",          \
            "approx_count_distinct(amount, 8)")

/* By column `kernels` of type.def. */
#define APPROX_OWN(T)
#define APPROX_INT64(T)  APPROX(T, sketch_long_ops, 0),
#define APPROX_UINT32(T) APPROX(T, sketch_ipv4_ops, 0),
#define APPROX_PAIR(T)   APPROX(T, sketch_any_ops, 0),

static const alm_fn ROWS[] = {
    APPROX("INT", sketch_int_ops, 0),
    APPROX("LONG", sketch_long_ops, 0),
    APPROX("FLOAT", sketch_float_ops, 0),
    APPROX("DOUBLE", sketch_double_ops, 0),
    APPROX("TIMESTAMP", sketch_long_ops, 0),
    APPROX("TIMESTAMP_NS", sketch_long_ops, 0),
    APPROX("STRING", sketch_any_ops, 0),
    APPROX("VARCHAR", sketch_any_ops, 0),
    APPROX("SYMBOL", sketch_any_ops, ALM_FN_SYMBOLS),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) APPROX_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(sketch, ROWS);
