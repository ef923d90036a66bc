/*
 * type.c - the table of types, and the names types are known by.
 */
#include "type/type.h"

#include "base/nearest.h"
#include "type/ops.h"
#include "type/pg_oid.h"

static const alm_type_ops OPS_NONE;

static const alm_type_info INFO[ALM_TYPE_COUNT] = {
    [ALM_T_NONE] = {.name = "NONE", .arrow = "n", .ops = &OPS_NONE},
    /* NULL travels as a STRING view, and is described to clients as one. */
    [ALM_T_NULL] = {"NULL", 16, ALM_NULL_VIEW, ALM_FORM_VIEW, ALM_PG_OID_VARCHAR, -1, "n",
                    ALM_TC_NONE, true, &alm_type_ops_NULL},
#define ALM_TYPE(id, name, width, null, form, kernels, casts, oid, pg_len, arrow, cls, quoted)     \
    [ALM_T_##id] = {name,   width, ALM_NULL_##null, ALM_FORM_##form, oid,                          \
                    pg_len, arrow, ALM_TC_##cls,    quoted,          &alm_type_ops_##id},
#include "type/type.def"
#undef ALM_TYPE
};

/* Rows by width of the types whose width depends on the precision. */
enum { WIDTH_1, WIDTH_2, WIDTH_4, WIDTH_8, WIDTH_16, WIDTH_32, WIDTHS };
#define PARAMETRIC(id, width, null, oid, cls, quoted)                                              \
    {#id, width, ALM_NULL_##null, ALM_FORM_SIZED, oid,                                             \
     -1,  "u",   ALM_TC_##cls,    quoted,         &alm_type_ops_##id}
#define WIDTH_ROWS(id, oid, cls, quoted)                                                           \
    {                                                                                              \
        [WIDTH_1] = PARAMETRIC(id, 1, MIN8, oid, cls, quoted),                                     \
        [WIDTH_2] = PARAMETRIC(id, 2, MIN16, oid, cls, quoted),                                    \
        [WIDTH_4] = PARAMETRIC(id, 4, INT, oid, cls, quoted),                                      \
        [WIDTH_8] = PARAMETRIC(id, 8, LONG, oid, cls, quoted),                                     \
        [WIDTH_16] = PARAMETRIC(id, 16, MIN128, oid, cls, quoted),                                 \
        [WIDTH_32] = PARAMETRIC(id, 32, MIN256, oid, cls, quoted),                                 \
    }
static const alm_type_info GEOHASH_INFO[WIDTHS] =
    WIDTH_ROWS(GEOHASH, ALM_PG_OID_VARCHAR, OTHER, true);
static const alm_type_info DECIMAL_INFO[WIDTHS] =
    WIDTH_ROWS(DECIMAL, ALM_PG_OID_NUMERIC, DECIMAL, false);

/* A bit of each width is left for the null. */
static uint32_t geohash_width(uint32_t bits)
{
    return bits == 0   ? WIDTH_8
           : bits < 8  ? WIDTH_1
           : bits < 16 ? WIDTH_2
           : bits < 32 ? WIDTH_4
                       : WIDTH_8;
}

/* The most digits that any number of the width holds. */
static uint32_t decimal_width(uint32_t digits)
{
    static const uint8_t most[WIDTHS] = {2, 4, 9, 18, 38, ALM_DECIMAL_DIGITS_MAX};
    if (digits == 0)
        return WIDTH_8;
    uint32_t width = WIDTH_1;
    while (width < WIDTH_32 && digits > most[width])
        width++;
    return width;
}

const alm_type_info *alm_type_info_of(alm_type type)
{
    ALM_ASSERT(type.id < ALM_TYPE_COUNT);
    if (type.id == ALM_T_GEOHASH)
        return &GEOHASH_INFO[geohash_width(type.p)];
    if (type.id == ALM_T_DECIMAL)
        return &DECIMAL_INFO[decimal_width(type.p)];
    return &INFO[type.id];
}

bool alm_type_eq(alm_type a, alm_type b)
{
    return a.id == b.id && (a.p == b.p || a.id == ALM_T_STRING || a.id == ALM_T_INT) &&
           a.s == b.s && a.dims == b.dims;
}

/* ------------------------------------------------------------------- parsing */

static bool type_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static alm_str type_trimmed(alm_str text)
{
    while (text.len > 0 && type_is_blank(text.ptr[0]))
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && type_is_blank(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* Digits at the start of *text, taken off it; false: none, or too many. */
static bool type_take_number(alm_str *text, uint32_t *out)
{
    uint32_t n = 0;
    size_t i = 0;
    for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9'; i++) {
        if (i > 5)
            return false;
        n = n * 10 + (uint32_t)(text->ptr[i] - '0');
    }
    *out = n;
    *text = type_trimmed((alm_str){text->ptr + i, text->len - i});
    return i > 0;
}

/* "5c", "20b" */
static alm_status read_geohash(alm_ctx *cx, int32_t pos, alm_str inside, alm_type *out)
{
    uint32_t n = 0;
    alm_str rest = inside;
    if (!type_take_number(&rest, &n) || rest.len != 1 ||
        ((rest.ptr[0] | 0x20) != 'c' && (rest.ptr[0] | 0x20) != 'b'))
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "invalid GEOHASH size, must be number followed by 'C' or 'B' character");
    const uint32_t bits = (rest.ptr[0] | 0x20) == 'c' ? n * 5 : n;
    if (bits < 1 || bits > ALM_GEOHASH_BITS_MAX)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "invalid GEOHASH type precision range, must be [1, 60] bits, provided=%u",
                        bits);
    *out = alm_type_geohash(bits);
    return ALM_OK;
}

/* "10,2" or "10" */
static alm_status read_decimal(alm_ctx *cx, int32_t pos, alm_str inside, alm_type *out)
{
    uint32_t p = 0, s = 0;
    alm_str rest = inside;
    bool good = type_take_number(&rest, &p);
    if (good && rest.len > 0) {
        good = rest.ptr[0] == ',';
        rest = type_trimmed((alm_str){rest.ptr + 1, rest.len - 1});
        good = good && type_take_number(&rest, &s) && rest.len == 0;
    }
    if (!good)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "Invalid decimal type. The precision ('%.*s') must be "
                        "a number, with an optional scale after a comma",
                        (int)ALM_MIN(inside.len, (size_t)40), inside.ptr);
    if (p == 0)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "Invalid decimal type. The precision (0) must be greater than zero");
    if (p > ALM_DECIMAL_DIGITS_MAX)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "Invalid decimal type. The precision (%u) must be less than 76", p);
    if (s > p)
        return alm_fail(cx, ALM_E_TYPE, pos,
                        "Invalid decimal type. The precision (%u) must be greater than or equal to "
                        "the scale (%u)",
                        p, s);
    *out = alm_type_decimal(p, s);
    return ALM_OK;
}

static alm_type plain_type(alm_str text)
{
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        if (id != ALM_T_ARRAY && alm_str_ieq(text, alm_str_of(INFO[id].name)))
            return (alm_type){.id = id};
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        for (const char *const *alias = INFO[id].ops->aliases; *alias != NULL; alias++)
            if (alm_str_ieq(text, alm_str_of(*alias)))
                return (alm_type){.id = id};
    if (alm_str_ieq(text, ALM_STR("numeric")) || alm_str_ieq(text, ALM_STR("dec")))
        return ALM_TY(DECIMAL);
    return ALM_TY(NONE);
}

/* plain_type of "timestamp(3) with time zone" without the brackets: the words of a name with one blank between. */
static alm_type split_type(alm_str before, alm_str behind)
{
    char name[48];
    size_t count = 0;
    const alm_str parts[2] = {before, behind};
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < parts[i].len; k++) {
            const char byte = parts[i].ptr[k];
            const bool blank = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
            if (blank && (count == 0 || name[count - 1] == ' '))
                continue;
            if (count == sizeof name)
                return ALM_TY(NONE);
            name[count++] = blank ? ' ' : byte;
        }
        if (i == 0 && behind.len > 0 && count > 0 && count < sizeof name && name[count - 1] != ' ')
            name[count++] = ' ';
    }
    while (count > 0 && name[count - 1] == ' ')
        count--;
    return plain_type((alm_str){name, count});
}

/* The [] behind the name of a type, taken off it. */
static uint32_t take_dimensions(alm_str *text)
{
    uint32_t dims = 0;
    while (text->len > 0 && text->ptr[text->len - 1] == ']') {
        const alm_str before = type_trimmed((alm_str){text->ptr, text->len - 1});
        if (before.len == 0 || before.ptr[before.len - 1] != '[')
            break;
        *text = type_trimmed((alm_str){before.ptr, before.len - 1});
        dims++;
    }
    return dims;
}

static alm_status read_array(alm_ctx *cx, int32_t pos, alm_str element, uint32_t dims,
                             alm_type *out)
{
    const alm_type type = plain_type(element);
    if (type.id == ALM_T_NONE)
        return ALM_OK;
    if (type.id != ALM_T_DOUBLE)
        return alm_fail(cx, ALM_E_TYPE, pos, "unsupported array element type [type=%s]",
                        alm_type_name(type));
    if (dims > ALM_ARRAY_DIMS_MAX)
        return alm_fail(cx, ALM_E_TYPE, pos, "too many array dimensions [nDims=%u, maxNDims=%d]",
                        dims, ALM_ARRAY_DIMS_MAX);
    *out = alm_type_array(dims);
    return ALM_OK;
}

/* float(n) has at least n binary digits: a FLOAT has 24 of them, a DOUBLE 53. */
static alm_status type_read_float(alm_ctx *cx, int32_t place, alm_str all, size_t before,
                                  alm_type *out)
{
    enum { FLOAT_DIGITS = 24, DOUBLE_DIGITS = 53 };
    int32_t digits = 0;
    const bool closed = all.ptr[all.len - 1] == ')';
    if (!closed ||
        alm_int32_parse(type_trimmed((alm_str){all.ptr + before + 1, all.len - before - 2}),
                        &digits) != ALM_NUM_OK ||
        digits < 1 || digits > DOUBLE_DIGITS)
        return alm_fail(cx, ALM_E_TYPE, place, "FLOAT takes 1 to %d binary digits", DOUBLE_DIGITS);
    *out = digits <= FLOAT_DIGITS ? ALM_TY(FLOAT) : ALM_TY(DOUBLE);
    return ALM_OK;
}

/* varchar(n), char(n): a text of n characters, without the blanks that PostgreSQL fills up a char(n) with. */
static alm_status type_read_length(alm_ctx *cx, int32_t place, alm_type type, alm_str inside,
                                   alm_type *out, alm_type_mod *mod)
{
    const char *const name = type.id == ALM_T_CHAR ? "char" : "varchar";
    int32_t n = 0;
    const alm_num_parse parse = alm_int32_parse(inside, &n);
    if (parse == ALM_NUM_BAD)
        return alm_fail(cx, ALM_E_TYPE, place, "length for type %s must be a number", name);
    if (parse == ALM_NUM_OK && n < 1)
        return alm_fail(cx, ALM_E_ARG, place, "length for type %s must be at least 1", name);
    if (parse == ALM_NUM_OVERFLOW || n > ALM_TEXT_LENGTH_MAX)
        return alm_fail(cx, ALM_E_ARG, place, "length for type %s cannot exceed %d", name,
                        ALM_TEXT_LENGTH_MAX);
    *out = type;
    if (type.id == ALM_T_CHAR && n == 1)
        return ALM_OK;
    *out = ALM_TY(VARCHAR);
    mod->length = (uint32_t)n;
    return ALM_OK;
}

/* timestamp(n): up to six digits are microseconds, up to nine nanoseconds. */
static alm_status type_read_digits(alm_ctx *cx, int32_t place, alm_type type, alm_str inside,
                                   alm_type *out, alm_type_mod *mod)
{
    enum { MICRO = 6, NANO = 9 };
    int32_t n = 0;
    if (alm_int32_parse(inside, &n) != ALM_NUM_OK || n < 0 || n > NANO)
        return alm_fail(cx, ALM_E_ARG, place, "TIMESTAMP precision must be between 0 and %d", NANO);
    *out = n > MICRO ? ALM_TY(TIMESTAMP_NS) : type;
    mod->digits = (int8_t)n;
    return ALM_OK;
}

alm_status alm_type_read(alm_ctx *cx, int32_t pos, alm_str text, alm_type *out)
{
    alm_type_mod mod;
    return alm_type_read_mod(cx, pos, text, out, &mod);
}

alm_status alm_type_read_mod(alm_ctx *cx, int32_t pos, alm_str text, alm_type *out,
                             alm_type_mod *mod)
{
    enum { PRECISION = 18, SCALE = 3 };
    *out = ALM_TY(NONE);
    *mod = (alm_type_mod){.digits = -1};
    alm_str all = type_trimmed(text);
    const uint32_t dims = take_dimensions(&all);
    if (dims > 0)
        return read_array(cx, pos, all, dims, out);
    const char *open = all.len == 0 ? NULL : memchr(all.ptr, '(', all.len);
    const size_t before = open == NULL ? all.len : (size_t)(open - all.ptr);
    const char *close = open == NULL ? NULL : memchr(open, ')', all.len - before);
    const size_t end = close == NULL ? all.len : (size_t)(close - all.ptr) + 1;
    const alm_type type = split_type(type_trimmed((alm_str){all.ptr, before}),
                                     type_trimmed((alm_str){all.ptr + end, all.len - end}));
    const int32_t place = pos < 0 ? pos : pos + (int32_t)before;
    if (open == NULL) {
        if (type.id == ALM_T_GEOHASH)
            return alm_fail(cx, ALM_E_TYPE, place, "'(' expected");
        *out = type.id == ALM_T_DECIMAL ? alm_type_decimal(PRECISION, SCALE) : type;
        return ALM_OK;
    }
    if (type.id == ALM_T_FLOAT)
        return type_read_float(cx, place, all, before, out);
    const bool text_type = type.id == ALM_T_VARCHAR || type.id == ALM_T_CHAR;
    const bool parametric = type.id == ALM_T_GEOHASH || type.id == ALM_T_DECIMAL || text_type ||
                            type.id == ALM_T_TIMESTAMP;
    if (!parametric)
        return ALM_OK;
    if (close == NULL)
        return alm_fail(cx, ALM_E_TYPE, place, "')' expected");
    const alm_str inside = type_trimmed((alm_str){open + 1, end - before - 2});
    if (text_type)
        return type_read_length(cx, place, type, inside, out, mod);
    if (type.id == ALM_T_TIMESTAMP)
        return type_read_digits(cx, place, type, inside, out, mod);
    return type.id == ALM_T_GEOHASH ? read_geohash(cx, place, inside, out)
                                    : read_decimal(cx, place, inside, out);
}

bool alm_type_parse(alm_str text, alm_type *out)
{
    alm_ctx quiet = {0};
    alm_type type = ALM_TY(NONE);
    if (alm_type_read(&quiet, -1, text, &type) != ALM_OK || type.id == ALM_T_NONE)
        return false;
    *out = type;
    return true;
}

alm_status alm_no_type(alm_ctx *cx, int32_t pos, const char *what, alm_str text)
{
    alm_nearest near = alm_nearest_of(text);
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        if (id != ALM_T_ARRAY)
            alm_nearest_offer(&near, alm_str_of(INFO[id].name));
    for (uint8_t id = ALM_T_NULL + 1; id < ALM_TYPE_COUNT; id++)
        for (const char *const *alias = INFO[id].ops->aliases; *alias != NULL; alias++)
            alm_nearest_offer(&near, alm_str_of(*alias));
    return alm_fail_near(cx, ALM_E_SETTING, pos, &near, "%s: %.*s", what, (int)text.len, text.ptr);
}

alm_status alm_pg_length(alm_ctx *cx, uint32_t index, size_t want, size_t got)
{
    if (want == got)
        return ALM_OK;
    return alm_fail(cx, ALM_E_FORMAT, -1,
                    "bad parameter value length [sizeRequired=%zu, sizeActual=%zu, "
                    "variableIndex=%u]",
                    want, got, index);
}
