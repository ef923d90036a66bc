/*
 * text.c - values as text and text as values.
 */
#include "type/text.h"

#include "base/number.h"
#include "base/utf8.h"
#include "time/timestamp.h"
#include "type/array.h"
#include "type/decimal.h"
#include "type/geohash.h"

/* --------------------------------------------------------------------- UUID */

void alm_uuid_to_bytes(alm_uuid uuid, uint8_t out[16])
{
    const uint64_t hi = __builtin_bswap64(uuid.hi), lo = __builtin_bswap64(uuid.lo);
    memcpy(out, &hi, 8);
    memcpy(out + 8, &lo, 8);
}

alm_uuid alm_uuid_from_bytes(const uint8_t bytes[16])
{
    alm_uuid uuid;
    memcpy(&uuid.hi, bytes, 8);
    memcpy(&uuid.lo, bytes + 8, 8);
    return (alm_uuid){__builtin_bswap64(uuid.hi), __builtin_bswap64(uuid.lo)};
}

/* Where the two digits of each byte stand in the text. */
static const uint8_t UUID_AT[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void alm_uuid_format(alm_uuid uuid, char out[ALM_UUID_TEXT])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[16];
    alm_uuid_to_bytes(uuid, bytes);
    out[8] = out[13] = out[18] = out[23] = '-';
    for (size_t i = 0; i < 16; i++) {
        out[UUID_AT[i]] = hex[bytes[i] >> 4];
        out[UUID_AT[i] + 1] = hex[bytes[i] & 0xF];
    }
}

/* 0..15, or a larger number. */
static uint32_t hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
           : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                  : 255;
}

bool alm_uuid_parse(alm_str text, alm_uuid *out)
{
    if (text.len != ALM_UUID_TEXT || text.ptr[8] != '-' || text.ptr[13] != '-' ||
        text.ptr[18] != '-' || text.ptr[23] != '-')
        return false;
    uint8_t bytes[16];
    uint32_t bad = 0;
    for (size_t i = 0; i < 16; i++) {
        const uint32_t high = hex_digit(text.ptr[UUID_AT[i]]);
        const uint32_t low = hex_digit(text.ptr[UUID_AT[i] + 1]);
        bad |= high | low;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    if (bad > 15)
        return false;
    *out = alm_uuid_from_bytes(bytes);
    return true;
}

/* ------------------------------------------------------------------- BINARY */

static bool hex_bytes(alm_str digits, char *out, size_t *n)
{
    uint32_t bad = digits.len % 2 == 0 ? 0 : UINT32_MAX;
    *n = digits.len / 2;
    for (size_t i = 0; i < *n; i++) {
        const uint32_t high = hex_digit(digits.ptr[2 * i]), low = hex_digit(digits.ptr[2 * i + 1]);
        bad |= high | low;
        out[i] = (char)(high << 4 | low);
    }
    return bad <= 15;
}

/* Behind a backslash: how many letters are one byte; 0: none. */
static size_t escaped_byte(alm_str rest, char *out)
{
    if (rest.len > 0 && rest.ptr[0] == '\\') {
        *out = '\\';
        return 1;
    }
    uint32_t byte = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i >= rest.len || rest.ptr[i] < '0' || rest.ptr[i] > (i == 0 ? '3' : '7'))
            return 0;
        byte = byte * 8 + (uint32_t)(rest.ptr[i] - '0');
    }
    *out = (char)byte;
    return 3;
}

bool alm_bytea_parse(alm_str text, void *bytes, size_t *n)
{
    char *out = bytes;
    if (text.len >= 2 && text.ptr[0] == '\\' && text.ptr[1] == 'x')
        return hex_bytes((alm_str){text.ptr + 2, text.len - 2}, out, n);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\\') {
            out[len++] = text.ptr[i];
            continue;
        }
        const size_t used =
            escaped_byte((alm_str){text.ptr + i + 1, text.len - i - 1}, &out[len++]);
        if (used == 0)
            return false;
        i += used;
    }
    *n = len;
    return true;
}

/* --------------------------------------------------------------------- IPv4 */

size_t alm_ipv4_format(uint32_t ip, char out[ALM_IPV4_TEXT_MAX])
{
    size_t n = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        const uint32_t part = ip >> shift & 0xFF;
        if (part >= 100)
            out[n++] = (char)('0' + part / 100);
        if (part >= 10)
            out[n++] = (char)('0' + part / 10 % 10);
        out[n++] = (char)('0' + part % 10);
        if (shift > 0)
            out[n++] = '.';
    }
    return n;
}

bool alm_ipv4_parse(alm_str text, uint32_t *out)
{
    uint32_t ip = 0;
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (at >= text.len || text.ptr[at++] != '.'))
            return false;
        uint32_t value = 0;
        const size_t start = at;
        for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && at - start < 3; at++)
            value = value * 10 + (uint32_t)(text.ptr[at] - '0');
        if (at == start || value > 255)
            return false;
        ip = ip << 8 | value;
    }
    if (at != text.len)
        return false;
    *out = ip;
    return true;
}

bool alm_bool_parse(alm_str text, bool *out)
{
    static const struct {
        alm_str word;
        bool value;
    } words[] = {
        {{"true", 4}, true}, {{"false", 5}, false}, {{"t", 1}, true}, {{"f", 1}, false},
        {{"yes", 3}, true},  {{"no", 2}, false},    {{"y", 1}, true}, {{"n", 1}, false},
        {{"on", 2}, true},   {{"off", 3}, false},   {{"1", 1}, true}, {{"0", 1}, false},
    };
    for (size_t i = 0; i < ALM_COUNT(words); i++) {
        if (alm_str_ieq(text, words[i].word)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- text out */

static alm_time_unit unit_of(alm_type type)
{
    return type.id == ALM_T_DATE        ? ALM_TIME_MS
           : type.id == ALM_T_TIMESTAMP ? ALM_TIME_US
                                        : ALM_TIME_NS;
}

static size_t format_interval(const int64_t *us, char *out)
{
    size_t n = 0;
    out[n++] = '(';
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            out[n++] = ',';
            out[n++] = ' ';
        }
        out[n++] = '\'';
        n += alm_time_format(alm_time_rescale(us[i], ALM_TIME_US, ALM_TIME_MS), ALM_TIME_MS,
                             ALM_TIME_ISO, out + n);
        out[n++] = '\'';
    }
    out[n++] = ')';
    return n;
}

static bool is_number(double d)
{
    return __builtin_isfinite(d) != 0;
}

static uint32_t geohash_bits(alm_type type)
{
    return type.p == 0 ? ALM_GEOHASH_BITS_MAX : type.p;
}

/* Bytes written, 0 for null: no value has an empty text but a null one. Not for text types. */
static size_t format_fixed(alm_type type, const void *at, alm_text_style style, char *out)
{
    const bool pg = style == ALM_TEXT_PG;
    const alm_num_form form = pg ? ALM_NUM_PG : ALM_NUM_DIALECT;
    const int64_t *longs = at;
    switch ((alm_type_id)type.id) {
    case ALM_T_BOOLEAN:
        if (pg) {
            out[0] = *(const uint8_t *)at != 0 ? 't' : 'f';
            return 1;
        }
        memcpy(out, *(const uint8_t *)at != 0 ? "true\0" : "false", 5);
        return *(const uint8_t *)at != 0 ? 4 : 5;
    case ALM_T_BYTE:
        return alm_int32_format(*(const int8_t *)at, out);
    case ALM_T_SHORT:
        return alm_int32_format(*(const int16_t *)at, out);
    case ALM_T_CHAR:
        return alm_utf8_from_unit(*(const uint16_t *)at, out);
    case ALM_T_INT:
        return *(const int32_t *)at == ALM_INT_NULL ? 0
                                                    : alm_int32_format(*(const int32_t *)at, out);
    case ALM_T_LONG:
        return longs[0] == ALM_LONG_NULL ? 0 : alm_int64_format(longs[0], out);
    case ALM_T_FLOAT:
        return is_number((double)*(const float *)at)
                   ? alm_float_format(*(const float *)at, form, out)
                   : 0;
    case ALM_T_DOUBLE:
        return is_number(*(const double *)at) ? alm_double_format(*(const double *)at, form, out)
                                              : 0;
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        return longs[0] == ALM_TS_NULL
                   ? 0
                   : alm_time_format(longs[0], unit_of(type), pg ? ALM_TIME_PG : ALM_TIME_ISO, out);
    case ALM_T_UUID: {
        alm_uuid uuid;
        memcpy(&uuid, at, sizeof(uuid));
        if (alm_uuid_is_null(uuid))
            return 0;
        alm_uuid_format(uuid, out);
        return ALM_UUID_TEXT;
    }
    case ALM_T_IPV4:
        return *(const uint32_t *)at == 0 ? 0 : alm_ipv4_format(*(const uint32_t *)at, out);
    case ALM_T_INTERVAL:
        return longs[0] == ALM_TS_NULL && longs[1] == ALM_TS_NULL ? 0 : format_interval(longs, out);
    case ALM_T_LONG256: {
        alm_i256 x;
        memcpy(&x, at, sizeof x);
        return alm_long256_is_null(x) ? 0 : alm_long256_format(x, out);
    }
    case ALM_T_GEOHASH: {
        const int64_t bits = alm_geohash_load(at, alm_type_width(type));
        return bits == ALM_LONG_NULL ? 0 : alm_geohash_format(bits, geohash_bits(type), out);
    }
    case ALM_T_DECIMAL: {
        const alm_i256 x = alm_decimal_load(type, at);
        return alm_i256_is_min(x) ? 0 : alm_decimal_format(x, type.s, out);
    }
    case ALM_T_STRING:
    case ALM_T_VARCHAR:
    case ALM_T_SYMBOL:
    case ALM_T_BINARY:
    case ALM_T_ARRAY:
    case ALM_T_NULL:
    case ALM_T_NONE:
    case ALM_TYPE_COUNT:
        break;
    }
    ALM_UNREACHABLE("a type that formats");
}

bool alm_value_text(const alm_vec *v, size_t i, alm_text_style style,
                    char scratch[ALM_VALUE_TEXT_MAX], alm_str *out)
{
    ALM_DASSERT(!v->indirect);
    if (alm_type_is_text(v->type) || v->type.id == ALM_T_NULL || v->type.id == ALM_T_BINARY) {
        *out = alm_vec_text(v, i);
        return out->ptr != NULL;
    }
    if (v->type.id == ALM_T_ARRAY) { /* as long as it is: alm_value_format */
        *out = (alm_str){0};
        return false;
    }
    const char *at = (const char *)v->data + (v->is_const ? 0 : i) * v->width;
    *out = (alm_str){scratch, format_fixed(v->type, at, style, scratch)};
    ALM_DASSERT(out->len <= ALM_VALUE_TEXT_MAX);
    return out->len > 0;
}

alm_status alm_value_format(alm_ctx *cx, const alm_vec *v, size_t i, alm_text_style style,
                            alm_buf *out, bool *is_null)
{
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text;
    if (v->type.id == ALM_T_ARRAY) {
        const alm_array a = alm_array_of(v, i);
        *is_null = a.dims == 0;
        return *is_null ? ALM_OK : alm_array_format(cx, &a, style, out);
    }
    *is_null = !alm_value_text(v, i, style, scratch, &text);
    return *is_null ? ALM_OK : alm_buf_append(cx, out, text.ptr, text.len);
}

/* ----------------------------------------------------------------- text in */

static alm_scan_result from_number(alm_num_parse got)
{
    return got == ALM_NUM_OK ? ALM_SCAN_OK : got == ALM_NUM_BAD ? ALM_SCAN_BAD : ALM_SCAN_RANGE;
}

/* A whole number within [min, max]. */
static alm_scan_result scan_integer(alm_str text, int64_t min, int64_t max, int64_t *out)
{
    int64_t value = 0;
    const alm_scan_result got = from_number(alm_int64_parse(text, &value));
    if (got != ALM_SCAN_OK)
        return got;
    if (value < min || value > max)
        return ALM_SCAN_RANGE;
    *out = value;
    return ALM_SCAN_OK;
}

/* Blanks around, and the letter of a literal (1.5d, 1.5f) behind, do not count. */
static alm_str number_core(alm_str text)
{
    while (text.len > 0 && (uint8_t)text.ptr[0] <= ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && (uint8_t)text.ptr[text.len - 1] <= ' ')
        text.len--;
    if (text.len > 1) {
        const char last = (char)(text.ptr[text.len - 1] | 0x20), before = text.ptr[text.len - 2];
        if ((last == 'd' || last == 'f') && ((before >= '0' && before <= '9') || before == '.'))
            text.len--;
    }
    return text;
}

static alm_scan_result scan_double(alm_str text, double *out)
{
    double value = 0;
    const alm_num_parse got = alm_double_parse(number_core(text), &value);
    if (got == ALM_NUM_OK)
        *out = is_number(value) ? value : __builtin_nan("");
    return from_number(got);
}

static alm_scan_result scan_float(alm_str text, float *out)
{
    float value = 0;
    const alm_num_parse got = alm_float_parse(number_core(text), &value);
    if (got == ALM_NUM_OK)
        *out = is_number((double)value) ? value : __builtin_nanf("");
    return from_number(got);
}

static alm_scan_result scan_char(alm_str text, uint16_t *out)
{
    if (alm_utf8_count_utf16(text) > 1 || !alm_utf8_is_valid(text))
        return ALM_SCAN_BAD;
    *out = alm_utf8_first_unit(text);
    return ALM_SCAN_OK;
}

/* The form of text out: ('lo', 'hi'). */
static alm_scan_result scan_interval(alm_str text, alm_interval_us *out)
{
    alm_interval_us got;
    const char *end = text.ptr + text.len;
    const char *comma = text.len < 4 ? NULL : memchr(text.ptr, ',', text.len);
    if (comma == NULL || text.ptr[0] != '(' || end[-1] != ')')
        return ALM_SCAN_BAD;
    alm_str lo = {text.ptr + 1, (size_t)(comma - text.ptr) - 1};
    alm_str hi = {comma + 1, (size_t)(end - 1 - (comma + 1))};
    while (hi.len > 0 && hi.ptr[0] == ' ')
        hi = (alm_str){hi.ptr + 1, hi.len - 1};
    alm_str *const sides[2] = {&lo, &hi};
    for (int i = 0; i < 2; i++) {
        alm_str *s = sides[i];
        if (s->len < 2 || s->ptr[0] != '\'' || s->ptr[s->len - 1] != '\'')
            return ALM_SCAN_BAD;
        *s = (alm_str){s->ptr + 1, s->len - 2};
    }
    if (!alm_time_parse(lo, ALM_TIME_US, &got.lo_us) ||
        !alm_time_parse(hi, ALM_TIME_US, &got.hi_us) || got.lo_us > got.hi_us)
        return ALM_SCAN_BAD;
    *out = got;
    return ALM_SCAN_OK;
}

/* Letters, as many as the type wants at least: what is behind them is cut off. Where five does not
 * divide the bits, also as many 0 and 1: the form of text out. */
static alm_scan_result scan_geohash(alm_type type, alm_str text, void *out)
{
    const uint32_t want = geohash_bits(type);
    const size_t most = ALM_GEOHASH_BITS_MAX / 5;
    int64_t bits = 0;
    uint32_t n = 0;
    const bool as_bits =
        want % 5 != 0 && text.len == want && alm_geohash_parse_bits(text, &bits, &n);
    text.len = ALM_MIN(text.len, most);
    if (!as_bits && (!alm_geohash_parse(text, &bits, &n) || n < want))
        return ALM_SCAN_BAD;
    alm_geohash_store(bits >> (n - want), out, alm_type_width(type));
    return ALM_SCAN_OK;
}

static alm_scan_result scan_decimal(alm_type type, alm_str text, void *out)
{
    const uint32_t most = type.p == 0 ? 18 : type.p;
    alm_i256 x;
    uint32_t precision = 0, scale = 0;
    if (!alm_decimal_parse(text, &x, &precision, &scale) ||
        !alm_decimal_rescale(x, scale, type.s, ALM_ROUND_EXACT, &x))
        return ALM_SCAN_BAD;
    if (!alm_decimal_fits(x, most))
        return ALM_SCAN_RANGE;
    alm_decimal_store(type, x, out);
    return ALM_SCAN_OK;
}

alm_scan_result alm_value_scan(alm_type type, alm_str text, void *out)
{
    alm_scan_result got = ALM_SCAN_BAD;
    int64_t number = 0;
    bool flag = false;
    if (text.ptr == NULL) {
        alm_value_set_null(type, out);
        return ALM_SCAN_OK;
    }
    switch ((alm_type_id)type.id) {
    case ALM_T_BOOLEAN:
        if (!alm_bool_parse(text, &flag))
            return ALM_SCAN_BAD;
        *(uint8_t *)out = flag;
        return ALM_SCAN_OK;
    case ALM_T_BYTE:
        got = scan_integer(text, INT8_MIN, INT8_MAX, &number);
        if (got == ALM_SCAN_OK)
            *(int8_t *)out = (int8_t)number;
        return got;
    case ALM_T_SHORT:
        got = scan_integer(text, INT16_MIN, INT16_MAX, &number);
        if (got == ALM_SCAN_OK)
            *(int16_t *)out = (int16_t)number;
        return got;
    case ALM_T_INT: /* the least number is the null: no text says it */
        got = scan_integer(text, -INT32_MAX, INT32_MAX, &number);
        if (got == ALM_SCAN_OK)
            *(int32_t *)out = (int32_t)number;
        return got;
    case ALM_T_LONG:
        got = scan_integer(text, -INT64_MAX, INT64_MAX, &number);
        if (got == ALM_SCAN_OK)
            *(int64_t *)out = number;
        return got;
    case ALM_T_FLOAT:
        return scan_float(text, out);
    case ALM_T_DOUBLE:
        return scan_double(text, out);
    case ALM_T_CHAR:
        return scan_char(text, out);
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        return alm_time_read(text, unit_of(type), out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
    case ALM_T_UUID:
        return alm_uuid_parse(text, out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
    case ALM_T_IPV4:
        return alm_ipv4_parse(text, out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
    case ALM_T_INTERVAL:
        return scan_interval(text, out);
    case ALM_T_LONG256: {
        alm_i256 x;
        if (!alm_long256_parse(text, &x))
            return ALM_SCAN_BAD;
        memcpy(out, &x, sizeof x);
        return ALM_SCAN_OK;
    }
    case ALM_T_GEOHASH:
        return scan_geohash(type, text, out);
    case ALM_T_DECIMAL:
        return scan_decimal(type, text, out);
    case ALM_T_STRING:
    case ALM_T_VARCHAR:
    case ALM_T_SYMBOL:
    case ALM_T_BINARY:
    case ALM_T_NULL:
        *(alm_view *)out = alm_view_of(text);
        return ALM_SCAN_OK;
    case ALM_T_ARRAY: /* needs memory: alm_array_parse */
        if (text.ptr != NULL)
            return ALM_SCAN_BAD;
        *(alm_view *)out = alm_view_null();
        return ALM_SCAN_OK;
    case ALM_T_NONE:
    case ALM_TYPE_COUNT:
        break;
    }
    ALM_UNREACHABLE("a type that can be read");
}

alm_status alm_value_parse(alm_ctx *cx, int32_t pos, alm_type type, alm_str text, void *out)
{
    alm_scan_result got = alm_value_scan(type, text, out);
    if (type.id == ALM_T_ARRAY && text.ptr != NULL) {
        bool good = false;
        ALM_TRY(alm_array_parse(cx, cx->arena, pos, type.dims, text, out, &good));
        got = good ? ALM_SCAN_OK : ALM_SCAN_BAD;
    }
    if (got == ALM_SCAN_OK)
        return ALM_OK;
    const int shown = (int)ALM_MIN(text.len, (size_t)200);
    if (type.id == ALM_T_IPV4)
        return alm_fail(cx, ALM_E_VALUE, pos, "invalid IPv4 format: %.*s", shown, text.ptr);
    return alm_fail(cx, got == ALM_SCAN_RANGE ? ALM_E_RANGE : ALM_E_VALUE, pos,
                    "inconvertible value: `%.*s` [STRING -> %s]", shown, text.ptr,
                    alm_type_name(type));
}

alm_status alm_vec_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, alm_type type, alm_str text,
                         alm_vec *out)
{
    alm_vec one;
    alm_str copy = text;
    ALM_TRY(alm_vec_null(cx, arena, type, &one));
    if ((alm_type_is_text(type) || type.id == ALM_T_BINARY) && text.ptr != NULL)
        ALM_TRY(alm_arena_copy(cx, arena, text, &copy));
    ALM_TRY(alm_value_parse(cx, pos, type, copy, one.data));
    *out = one;
    return ALM_OK;
}

alm_scan_result alm_value_scan_stored(alm_type type, alm_str text, void *out)
{
    char prefixed[ALM_LONG256_TEXT_MAX];
    const bool wide = type.id == ALM_T_UUID || type.id == ALM_T_LONG256;
    if (wide && text.ptr != NULL && text.len == 0) {
        alm_value_set_null(type, out);
        return ALM_SCAN_OK;
    }
    const alm_scan_result scanned = alm_value_scan(type, text, out);
    if (scanned != ALM_SCAN_BAD || type.id != ALM_T_LONG256 || text.len > sizeof prefixed - 2)
        return scanned;
    prefixed[0] = '0';
    prefixed[1] = 'x';
    if (text.len > 0)
        memcpy(prefixed + 2, text.ptr, text.len);
    return alm_value_scan(type, (alm_str){prefixed, text.len + 2}, out);
}
