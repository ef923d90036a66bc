/*
 * text.c - casts from and to STRING, VARCHAR and SYMBOL: numbers, BOOLEAN, CHAR, times. (UUID,
 * IPv4 and INTERVAL are in net.c.)
 *
 * Null rule   Null to null; to 0, false or no character where the target has no null. A text that
 *             does not say such a value gives the same in an explicit cast, and is refused by the
 *             strict ones (=>).
 * Forms       Integers may carry underscores between digits; floating numbers may stand between
 *             blanks; true is "true" in any case, everything else is false.
 */
#include "base/number.h"
#include "base/utf8.h"
#include "func/value/cast_rules.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"
#include "time/timestamp.h"

/* --------------------------------------------------------- text to a value */

/* [+-]digits with underscores between digits. False: it is none, or does not fit. */
static bool parse_long(alm_str text, int64_t *out)
{
    if (memchr(text.ptr, '_', text.len) == NULL)
        return alm_int64_parse(text, out) == ALM_NUM_OK;
    char plain[ALM_LONG_TEXT_MAX + 1];
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '_') {
            const bool between = i > 0 && i + 1 < text.len && text.ptr[i - 1] >= '0' &&
                                 text.ptr[i - 1] <= '9' && text.ptr[i + 1] >= '0' &&
                                 text.ptr[i + 1] <= '9';
            if (!between)
                return false;
        } else if (count == sizeof plain) {
            return false;
        } else {
            plain[count++] = text.ptr[i];
        }
    }
    return alm_int64_parse((alm_str){plain, count}, out) == ALM_NUM_OK;
}

static bool parse_limited(alm_str text, int64_t lo, int64_t hi, int64_t *out)
{
    return parse_long(text, out) && *out >= lo && *out <= hi;
}

static bool cast_text_read_byte(alm_str text, int8_t *out)
{
    int64_t value;
    const bool ok = parse_limited(text, INT8_MIN, INT8_MAX, &value);
    *out = ok ? (int8_t)value : 0;
    return ok;
}

static bool read_short(alm_str text, int16_t *out)
{
    int64_t value;
    const bool ok = parse_limited(text, INT16_MIN, INT16_MAX, &value);
    *out = ok ? (int16_t)value : 0;
    return ok;
}

static bool cast_text_read_int(alm_str text, int32_t *out)
{
    int64_t value;
    const bool ok =
        parse_limited(text, -INT32_MAX, INT32_MAX, &value); /* the least one is the null */
    *out = ok ? (int32_t)value : ALM_INT_NULL;
    return ok;
}

static bool read_long(alm_str text, int64_t *out)
{
    const bool ok = parse_limited(text, -INT64_MAX, INT64_MAX, out);
    if (!ok)
        *out = ALM_LONG_NULL;
    return ok;
}

static alm_str without_blanks(alm_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* NaN and the infinities are read and are null. */
static bool read_double(alm_str text, double *out)
{
    double value = 0;
    const bool ok = alm_double_parse(without_blanks(text), &value) == ALM_NUM_OK;
    *out = ok ? ALM_FINITE(value) : __builtin_nan("");
    return ok;
}

static bool cast_text_read_float(alm_str text, float *out)
{
    float value = 0;
    const bool ok = alm_float_parse(without_blanks(text), &value) == ALM_NUM_OK;
    *out = ok ? ALM_FINITE(value) : __builtin_nanf("");
    return ok;
}

static bool read_boolean(alm_str text, uint8_t *out)
{
    *out = alm_str_ieq(text, ALM_STR("true"));
    return *out || alm_str_ieq(text, ALM_STR("false"));
}

static bool read_char(alm_str text, uint16_t *out)
{
    *out = alm_utf8_first_unit(text);
    return text.len <= 1 || alm_utf8_count_utf16(text) <= 1;
}

static bool read_time(alm_str text, alm_time_unit unit, int64_t *out)
{
    const bool ok = alm_time_parse(text, unit, out);
    if (!ok)
        *out = ALM_TS_NULL;
    return ok;
}
static bool cast_text_read_date(alm_str text, int64_t *out)
{
    return read_time(text, ALM_TIME_MS, out);
}
static bool read_micros(alm_str text, int64_t *out)
{
    return read_time(text, ALM_TIME_US, out);
}
static bool read_nanos(alm_str text, int64_t *out)
{
    return read_time(text, ALM_TIME_NS, out);
}

/* Where a time is expected, and not asked for by a cast, a number counts and eight digits are a day. */
static bool expect_time(alm_str text, alm_time_unit unit, int64_t *out)
{
    const bool ok = alm_time_read(text, unit, out);
    if (!ok)
        *out = ALM_TS_NULL;
    return ok;
}
static bool expect_date(alm_str text, int64_t *out)
{
    return expect_time(text, ALM_TIME_MS, out);
}
static bool expect_micros(alm_str text, int64_t *out)
{
    return expect_time(text, ALM_TIME_US, out);
}
static bool expect_nanos(alm_str text, int64_t *out)
{
    return expect_time(text, ALM_TIME_NS, out);
}

/* Does it read as an integer of any size? Then it was its size that was refused. */
static bool cast_text_is_integer(alm_str text)
{
    const size_t first = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    for (size_t i = first; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > first;
}

static alm_status cast_text_refuse(const alm_call *call, alm_type from, alm_str text,
                                   alm_type target)
{
    enum { SHOWN = 100 };
    const bool large =
        alm_type_info_of(target)->cls == ALM_TC_INTEGER && cast_text_is_integer(text);
    return alm_fail(call->cx, large ? ALM_E_RANGE : ALM_E_VALUE, call->pos,
                    "inconvertible value: `%.*s` [%s -> %s]", (int)ALM_MIN(text.len, (size_t)SHOWN),
                    text.ptr, alm_type_name(from), alm_type_name(target));
}

/* read(text, T *) for each row. A text that is not wholly taken becomes what `read` makes of it, or ends the statement
 * where the cast is strict. */
#define READ_TEXT(name, T, read, none, strict)                                                     \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        const alm_view *views = args[0].data;                                                      \
        T *to = out->data;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[i] = (none);                                                                        \
            if (alm_view_is_null(&views[i]))                                                       \
                continue;                                                                          \
            const alm_str text = alm_view_str(&views[i], args[0].heap);                            \
            if (!read(text, &to[i]) && strict)                                                     \
                return cast_text_refuse(call, args[0].type, text, out->type);                      \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
#define FROM_TEXT(name, T, read, none)                                                             \
    READ_TEXT(name, T, read, none, false)                                                          \
    READ_TEXT(name##_strict, T, read, none, true)
/* A cast to a time reads what is written as one; where a time is expected without a cast, a number counts, too. */
#define TIME_FROM_TEXT(name, read, expect)                                                         \
    READ_TEXT(name, int64_t, read, ALM_TS_NULL, false)                                             \
    READ_TEXT(name##_lenient, int64_t, expect, ALM_TS_NULL, false)                                 \
    READ_TEXT(name##_strict, int64_t, expect, ALM_TS_NULL, true)
FROM_TEXT(text_to_byte, int8_t, cast_text_read_byte, 0)
FROM_TEXT(text_to_short, int16_t, read_short, 0)
FROM_TEXT(text_to_int, int32_t, cast_text_read_int, ALM_INT_NULL)
FROM_TEXT(text_to_long, int64_t, read_long, ALM_LONG_NULL)
FROM_TEXT(text_to_float, float, cast_text_read_float, __builtin_nanf(""))
FROM_TEXT(text_to_double, double, read_double, __builtin_nan(""))
FROM_TEXT(text_to_boolean, uint8_t, read_boolean, 0)
FROM_TEXT(text_to_char, uint16_t, read_char, 0)
TIME_FROM_TEXT(text_to_date, cast_text_read_date, expect_date)
TIME_FROM_TEXT(text_to_micros, read_micros, expect_micros)
TIME_FROM_TEXT(text_to_nanos, read_nanos, expect_nanos)

/* --------------------------------------------------------- a value to text */

/* One text per row: `put` writes x into p (room for `max` bytes) and gives its length. */
#define TO_TEXT(name, T, max, null, put)                                                           \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        alm_text_out w = alm_text_out_of(call);                                                    \
        const T *from = args[0].data;                                                              \
        alm_view *to = out->data;                                                                  \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = from[i];                                                                   \
            if (null) {                                                                            \
                to[i] = alm_view_null();                                                           \
                continue;                                                                          \
            }                                                                                      \
            char *p;                                                                               \
            ALM_TRY(alm_text_room(&w, max, &p));                                                   \
            to[i] = alm_text_take(&w, put);                                                        \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }
TO_TEXT(byte_to_text, int8_t, ALM_INT_TEXT_MAX, false, alm_int32_format(x, p))
TO_TEXT(short_to_text, int16_t, ALM_INT_TEXT_MAX, false, alm_int32_format(x, p))
TO_TEXT(int_to_text, int32_t, ALM_INT_TEXT_MAX, x == ALM_INT_NULL, alm_int32_format(x, p))
TO_TEXT(long_to_text, int64_t, ALM_LONG_TEXT_MAX, x == ALM_LONG_NULL, alm_int64_format(x, p))
TO_TEXT(float_to_text, float, ALM_FLOAT_TEXT_MAX, x != x, alm_float_format(x, ALM_NUM_DIALECT, p))
TO_TEXT(double_to_text, double, ALM_DOUBLE_TEXT_MAX, x != x,
        alm_double_format(x, ALM_NUM_DIALECT, p))
TO_TEXT(char_to_text, uint16_t, 3, x == 0, alm_utf8_from_unit(x, p))

static alm_status boolean_to_text(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args,
                                  alm_vec *out)
{
    const alm_view words[2] = {alm_view_of(ALM_STR("false")), alm_view_of(ALM_STR("true"))};
    const uint8_t *from = args[0].data;
    alm_view *dest = out->data;
    for (size_t i = 0; i < n_rows; i++)
        dest[i] = words[from[i] != 0];
    return ALM_OK;
}

static alm_status time_to_text(const alm_call *call, size_t n_rows, const alm_vec *args,
                               alm_vec *out, alm_time_unit unit)
{
    alm_text_out text_out = alm_text_out_of(call);
    alm_time_writer writer;
    alm_time_writer_init(&writer, unit, ALM_TIME_ISO);
    const int64_t *from = args[0].data;
    alm_view *dest = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        dest[i] = alm_view_null();
        if (from[i] == ALM_TS_NULL)
            continue;
        char *ptr;
        ALM_TRY(alm_text_room(&text_out, ALM_TIME_TEXT_MAX, &ptr));
        dest[i] = alm_text_take(&text_out, alm_time_writer_put(&writer, from[i], ptr));
    }
    return ALM_OK;
}

static alm_status date_to_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return time_to_text(call, n_rows, args, out, ALM_TIME_MS);
}
static alm_status micros_to_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return time_to_text(call, n_rows, args, out, ALM_TIME_US);
}
static alm_status nanos_to_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return time_to_text(call, n_rows, args, out, ALM_TIME_NS);
}

/* Text to text: the same views. Codes of a symbol to a symbol are passed on as they are. */
static alm_status text_to_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_vec *vec = &args[0];
    alm_vec decoded = *vec;
    if (vec->dict != NULL && out->type.id == ALM_T_SYMBOL) {
        memcpy(out->data, vec->data, n_rows * vec->width);
        out->width = vec->width;
        out->dict = vec->dict;
        return ALM_OK;
    }
    if (vec->dict != NULL)
        ALM_TRY(alm_vec_decode(call->cx, call->arena, vec, n_rows, &decoded));
    memcpy(out->data, decoded.data, n_rows * sizeof(alm_view));
    out->heap = decoded.heap;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(name_, from, to, flags_, kernel_)                                                      \
    {.name = name_,                                                                                \
     .signature = "(" from ") " to,                                                                \
     .flags = ALM_FN_INTERNAL | (flags_),                                                          \
     .kernel = kernel_,                                                                            \
     .doc = "Cast of " from " to " to ".",                                                         \
     .example = "cast(x as " to ")",                                                               \
     .since = "0.1"}
#define FROM(text)                                                                                 \
    ROW("::byte", text, "BYTE", 0, text_to_byte), ROW("::short", text, "SHORT", 0, text_to_short), \
        ROW("::int", text, "INT", 0, text_to_int), ROW("::long", text, "LONG", 0, text_to_long),   \
        ROW("::float", text, "FLOAT", 0, text_to_float),                                           \
        ROW("::double", text, "DOUBLE", 0, text_to_double),                                        \
        ROW("::boolean", text, "BOOLEAN", 0, text_to_boolean),                                     \
        ROW("::char", text, "CHAR", 0, text_to_char),                                              \
        ROW("::date", text, "DATE", 0, text_to_date),                                              \
        ROW("::timestamp", text, "TIMESTAMP", 0, text_to_micros),                                  \
        ROW("::timestamp_ns", text, "TIMESTAMP_NS", 0, text_to_nanos),                             \
        ROW("=>byte", text, "BYTE", 0, text_to_byte_strict),                                       \
        ROW("=>short", text, "SHORT", 0, text_to_short_strict),                                    \
        ROW("=>int", text, "INT", 0, text_to_int_strict),                                          \
        ROW("=>long", text, "LONG", 0, text_to_long_strict),                                       \
        ROW("=>float", text, "FLOAT", 0, text_to_float_strict),                                    \
        ROW("=>double", text, "DOUBLE", 0, text_to_double_strict),                                 \
        ROW("=>boolean", text, "BOOLEAN", 0, text_to_boolean_strict),                              \
        ROW("=>char", text, "CHAR", 0, text_to_char_strict),                                       \
        ROW("?>date", text, "DATE", 0, text_to_date_lenient),                                      \
        ROW("?>timestamp", text, "TIMESTAMP", 0, text_to_micros_lenient),                          \
        ROW("?>timestamp_ns", text, "TIMESTAMP_NS", 0, text_to_nanos_lenient),                     \
        ROW("=>date", text, "DATE", 0, text_to_date_strict),                                       \
        ROW("=>timestamp", text, "TIMESTAMP", 0, text_to_micros_strict),                           \
        ROW("=>timestamp_ns", text, "TIMESTAMP_NS", 0, text_to_nanos_strict),                      \
        ROW("::string", text, "STRING", ALM_FN_SYMBOLS | ALM_FN_LEAKPROOF, text_to_text),          \
        ROW("::varchar", text, "VARCHAR", ALM_FN_SYMBOLS | ALM_FN_LEAKPROOF, text_to_text),        \
        ROW("::symbol", text, "SYMBOL", ALM_FN_SYMBOLS | ALM_FN_LEAKPROOF, text_to_text)
#define TO(name, text)                                                                             \
    ROW(name, "BYTE", text, 0, byte_to_text), ROW(name, "SHORT", text, 0, short_to_text),          \
        ROW(name, "INT", text, 0, int_to_text), ROW(name, "LONG", text, 0, long_to_text),          \
        ROW(name, "FLOAT", text, 0, float_to_text), ROW(name, "DOUBLE", text, 0, double_to_text),  \
        ROW(name, "CHAR", text, 0, char_to_text), ROW(name, "BOOLEAN", text, 0, boolean_to_text),  \
        ROW(name, "DATE", text, 0, date_to_text), ROW(name, "TIMESTAMP", text, 0, micros_to_text), \
        ROW(name, "TIMESTAMP_NS", text, 0, nanos_to_text)

static const alm_fn ROWS[] = {FROM("STRING"),
                              FROM("VARCHAR"),
                              FROM("SYMBOL"),
                              TO("::string", "STRING"),
                              TO("::varchar", "VARCHAR"),
                              TO("::symbol", "SYMBOL")};
ALM_FN_TABLE(cast_text, ROWS);
