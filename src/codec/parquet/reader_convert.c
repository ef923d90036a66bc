/*
 * reader_convert.c - values as Parquet has them to values of Almanac: a loop per way.
 *
 * Source      LogicalTypes.md; INT96 as Impala and Spark write it: nanoseconds of the day, then the Julian day.
 */
#include <stdio.h>

#include "base/utf8.h"
#include "codec/parquet/decode.h"
#include "type/decimal.h"
#include "type/text.h"

static const char beyond_time[] = "a time is beyond the range of its type";
static const char beyond_digits[] = "a decimal has more digits than its type";

static void reader_convert_narrow(const int32_t *restrict in, size_t n, uint32_t width,
                                  void *restrict out)
{
    if (width == 1)
        for (size_t i = 0; i < n; i++)
            ((int8_t *)out)[i] = (int8_t)in[i];
    else
        for (size_t i = 0; i < n; i++)
            ((int16_t *)out)[i] = (int16_t)in[i];
}

static const char *times(const alm_pq_leaf *leaf, const void *input, size_t n, int64_t *out)
{
    bool over = false;
    if (leaf->physical == ALM_PQ_INT32) { /* no product of theirs is beyond */
        for (size_t i = 0; i < n; i++)
            out[i] = ((const int32_t *)input)[i] * leaf->factor;
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        over |= __builtin_mul_overflow(((const int64_t *)input)[i], leaf->factor, &out[i]);
    return over ? beyond_time : NULL;
}

static const char *int96(const uint8_t *input, size_t n, int64_t *out)
{
    enum { UNIX_EPOCH_DAY = 2440588, NS_PER_US = 1000 };
    static const int64_t us_per_day = 86400000000;
    bool over = false;
    for (size_t i = 0; i < n; i++, input += 12) {
        int64_t nanos;
        int32_t julian;
        memcpy(&nanos, input, sizeof nanos);
        memcpy(&julian, input + sizeof nanos, sizeof julian);
        const int64_t day = julian;
        const int64_t micros = nanos / NS_PER_US - (nanos % NS_PER_US < 0);
        const alm_i128 sum = (alm_i128)(day - UNIX_EPOCH_DAY) * us_per_day + micros;
        over |= sum > INT64_MAX || sum < INT64_MIN;
        out[i] = (int64_t)sum;
    }
    return over ? beyond_time : NULL;
}

static float half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 0x1F, fraction = h & 0x3FF, bits;
    if (exponent == 0x1F) {
        bits = 0x7F800000 | fraction << 13;
    } else if (exponent != 0) {
        bits = (exponent + 112) << 23 | fraction << 13;
    } else if (fraction == 0) {
        bits = 0;
    } else {
        exponent = 113;
        for (; (fraction & 0x400) == 0; exponent--)
            fraction <<= 1;
        bits = exponent << 23 | (fraction & 0x3FF) << 13;
    }
    bits |= sign;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ------------------------------------------------------------------------------------ decimals */

static int64_t power_of_10(uint32_t n)
{
    int64_t value = 1;
    for (uint32_t i = 0; i < n; i++)
        value *= 10;
    return value;
}

static void store_narrow(int64_t value, uint32_t width, uint8_t *ptr)
{
    memcpy(ptr, &value, width); /* little-endian: the low bytes */
}

/* Carriers of whole numbers; at most 18 digits of a wider type. */
static const char *decimal_ints(const alm_pq_leaf *leaf, const void *input, size_t n, uint8_t *out)
{
    const int64_t limit = leaf->type.p <= 18 ? power_of_10(leaf->type.p) : INT64_MAX;
    const bool narrow_in = leaf->physical == ALM_PQ_INT32;
    bool over = false;
    for (size_t i = 0; i < n; i++, out += leaf->width) {
        const int64_t value = narrow_in ? ((const int32_t *)input)[i] : ((const int64_t *)input)[i];
        over |= value >= limit || value <= -limit;
        if (leaf->width <= sizeof value)
            store_narrow(value, leaf->width, out);
        else
            alm_decimal_store(leaf->type, alm_i256_of(value), out);
    }
    return over ? beyond_digits : NULL;
}

/* Two's complement, the greatest byte first; *fits: within 256 bits. */
static alm_i256 reader_convert_big_endian(const uint8_t *ptr, size_t n_bytes, bool *fits)
{
    alm_i256 value = {{0, 0, 0, 0}};
    const uint8_t sign = n_bytes > 0 && ptr[0] >= 0x80 ? 0xFF : 0;
    uint8_t bytes[sizeof value];
    for (; n_bytes > sizeof bytes; n_bytes--, ptr++)
        *fits &= *ptr == sign && (ptr[1] >= 0x80) == (sign != 0);
    memset(bytes, sign, sizeof bytes);
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = ptr[n_bytes - 1 - i];
    memcpy(&value, bytes, sizeof value);
    return value;
}

static const char *decimal_bytes(const alm_pq_leaf *leaf, const void *input, size_t n, uint8_t *out)
{
    bool fits = true;
    for (size_t i = 0; i < n; i++, out += leaf->width) {
        alm_str text = {(const char *)input + i * leaf->length, leaf->length};
        if (leaf->physical == ALM_PQ_BYTE_ARRAY)
            text = alm_view_str((const alm_view *)input + i, NULL);
        const alm_i256 value =
            reader_convert_big_endian((const uint8_t *)text.ptr, text.len, &fits);
        if (!alm_decimal_fits(value, leaf->type.p))
            return beyond_digits;
        alm_decimal_store(leaf->type, value, out);
    }
    return fits ? NULL : beyond_digits;
}

static void unsigned_64(const uint64_t *in, size_t n, alm_u128 *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i];
}

/* --------------------------------------------------------------------------------------- texts */

static alm_status fixed_views(alm_ctx *cx, alm_arena *arena, const alm_pq_leaf *leaf,
                              const uint8_t *input, size_t n, alm_view *out)
{
    uint8_t *bytes = NULL; /* `input` is scratch of the reader */
    const size_t all = n * leaf->length;
    if (leaf->length > ALM_VIEW_INLINE) {
        ALM_TRY(alm_arena_bytes(cx, arena, all, &bytes));
        memcpy(bytes, input, all);
        input = bytes;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = alm_pq_view(input + i * leaf->length, leaf->length, all - i * leaf->length);
    return ALM_OK;
}

enum { CLOCK_MAX = 24, DURATION_MAX = 64 };

static alm_status clocks(alm_ctx *cx, alm_arena *arena, const alm_pq_leaf *leaf, const void *input,
                         size_t n, alm_view *out, const char **bad)
{
    static const int64_t ns_per_s = 1000000000;
    char *room = NULL;
    const int digits = leaf->factor == 1 ? 9 : leaf->factor == 1000 ? 6 : 3;
    const int64_t units = ns_per_s / leaf->factor;
    ALM_TRY(alm_arena_bytes(cx, arena, n * CLOCK_MAX, &room));
    for (size_t i = 0; i < n; i++, room += CLOCK_MAX) {
        const int64_t value = leaf->physical == ALM_PQ_INT32 ? ((const int32_t *)input)[i]
                                                             : ((const int64_t *)input)[i];
        if (value < 0 || value / units >= 86400) {
            *bad = "a time of day is beyond 24 hours";
            return ALM_OK;
        }
        const int s = (int)(value / units);
        const int len = snprintf(room, CLOCK_MAX, "%02d:%02d:%02d.%0*lld", s / 3600, s / 60 % 60,
                                 s % 60, digits, (long long)(value % units));
        out[i] = alm_pq_view((const uint8_t *)room, (uint32_t)len, CLOCK_MAX);
    }
    return ALM_OK;
}

/* ISO 8601: months, days, seconds. */
static alm_status durations(alm_ctx *cx, alm_arena *arena, const uint8_t *input, size_t n,
                            alm_view *out)
{
    char *room = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, n * DURATION_MAX, &room));
    for (size_t i = 0; i < n; i++, input += 12, room += DURATION_MAX) {
        uint32_t part[3];
        memcpy(part, input, sizeof part);
        const int len = snprintf(room, DURATION_MAX, "P%uM%uDT%u.%03uS", part[0], part[1],
                                 part[2] / 1000, part[2] % 1000);
        out[i] = alm_pq_view((const uint8_t *)room, (uint32_t)len, DURATION_MAX);
    }
    return ALM_OK;
}

static const char *chars(const alm_view *in, size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++)
        if (alm_value_scan(ALM_TY(CHAR), alm_view_str(&in[i], NULL), &out[i]) != ALM_SCAN_OK)
            return "a text is no single character";
    return NULL;
}

alm_status alm_pq_convert(alm_ctx *cx, alm_arena *arena, const alm_pq_leaf *leaf, const void *input,
                          size_t n, void *out, const char **bad)
{
    *bad = NULL;
    switch (leaf->way) {
    case ALM_PQ_WAY_COPY:
        if (n > 0)
            memcpy(out, input, n * leaf->width);
        return ALM_OK;
    case ALM_PQ_WAY_NARROW:
        reader_convert_narrow(input, n, leaf->width, out);
        return ALM_OK;
    case ALM_PQ_WAY_WIDEN:
        for (size_t i = 0; i < n; i++)
            ((int64_t *)out)[i] = ((const int32_t *)input)[i];
        return ALM_OK;
    case ALM_PQ_WAY_WIDEN_U:
        for (size_t i = 0; i < n; i++)
            ((int64_t *)out)[i] = ((const uint32_t *)input)[i];
        return ALM_OK;
    case ALM_PQ_WAY_TIMES:
        *bad = times(leaf, input, n, out);
        return ALM_OK;
    case ALM_PQ_WAY_U64:
        unsigned_64(input, n, out);
        return ALM_OK;
    case ALM_PQ_WAY_INT96:
        *bad = int96(input, n, out);
        return ALM_OK;
    case ALM_PQ_WAY_FLOAT16:
        for (size_t i = 0; i < n; i++)
            ((float *)out)[i] = half_to_float(((const uint16_t *)input)[i]);
        return ALM_OK;
    case ALM_PQ_WAY_DECIMAL:
        *bad = leaf->physical == ALM_PQ_INT32 || leaf->physical == ALM_PQ_INT64
                   ? decimal_ints(leaf, input, n, out)
                   : decimal_bytes(leaf, input, n, out);
        return ALM_OK;
    case ALM_PQ_WAY_UUID:
        for (size_t i = 0; i < n; i++)
            ((alm_uuid *)out)[i] =
                alm_uuid_from_bytes((const uint8_t *)input + i * sizeof(alm_uuid));
        return ALM_OK;
    case ALM_PQ_WAY_BYTES:
        return fixed_views(cx, arena, leaf, input, n, out);
    case ALM_PQ_WAY_CHAR:
        *bad = chars(input, n, out);
        return ALM_OK;
    case ALM_PQ_WAY_CLOCK:
        return clocks(cx, arena, leaf, input, n, out, bad);
    case ALM_PQ_WAY_DURATION:
        return durations(cx, arena, input, n, out);
    case ALM_PQ_WAY_NULL:
        *bad = n > 0 ? "a column of nulls has a value" : NULL;
        return ALM_OK;
    default:
        ALM_UNREACHABLE("all ways are above");
    }
}

/* Bytes of a short view lie in it, zeroes behind them. */
static bool is_short_ascii(const alm_view *view)
{
    uint64_t words[2];
    memcpy(words, view, sizeof words);
    return ((words[0] >> 32 | words[1]) & UINT64_C(0x8080808080808080)) == 0;
}

const char *alm_pq_check_texts(const alm_pq_leaf *leaf, const void *values, uint32_t n)
{
    const alm_view *views = values;
    if (leaf->physical != ALM_PQ_BYTE_ARRAY || !alm_type_is_text(leaf->type))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (views[i].len <= ALM_VIEW_INLINE && is_short_ascii(&views[i]))
            continue;
        const alm_str text = alm_view_str(&views[i], NULL);
        if (!alm_utf8_is_ascii(text) && !alm_utf8_is_valid(text))
            return "a text is not UTF-8";
    }
    return NULL;
}
