/*
 * lines_value.c - which value of the line protocol goes into which column, and how.
 *
 * Ranges      Integers are checked against the column, decimals must not lose digits. Infinity and NaN are
 *             null. Texts that do not read as the type of the column are refused, an empty one is null
 *             where the type is not text.
 */
#include "session/transfer/lines_value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/conf.h"
#include "base/number.h"
#include "base/utf8.h"
#include "type/array.h"
#include "type/decimal.h"
#include "type/ops.h"

typedef struct sink {
    alm_ctx *cx;
    alm_arena *texts;
    const alm_ilp_field *f;
    alm_type type;
    void *at;
    char *room;
    const char **why;
} sink;

static const char *const KIND_NAMES[ALM_ILP_KINDS] = {
    [ALM_ILP_SYMBOL] = "SYMBOL",   [ALM_ILP_LONG] = "INTEGER",    [ALM_ILP_DOUBLE] = "FLOAT",
    [ALM_ILP_BOOLEAN] = "BOOLEAN", [ALM_ILP_STRING] = "STRING",   [ALM_ILP_TIME] = "TIMESTAMP",
    [ALM_ILP_LONG256] = "LONG256", [ALM_ILP_DECIMAL] = "DECIMAL", [ALM_ILP_ARRAY] = "ARRAY"};

/* The type of that name, one of the choices of a setting. */
static alm_type type_named(const char *name)
{
    static const struct {
        const char *name;
        uint8_t id;
    } rows[] = {{"DOUBLE", ALM_T_DOUBLE},       {"FLOAT", ALM_T_FLOAT},
                {"LONG", ALM_T_LONG},           {"INT", ALM_T_INT},
                {"SHORT", ALM_T_SHORT},         {"BYTE", ALM_T_BYTE},
                {"TIMESTAMP", ALM_T_TIMESTAMP}, {"TIMESTAMP_NS", ALM_T_TIMESTAMP_NS}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(alm_str_of(name), alm_str_of(rows[i].name)))
            return (alm_type){.id = rows[i].id};
    return ALM_TY(NONE);
}

alm_type alm_line_time_type(const struct alm_conf *conf, alm_ilp_unit unit)
{
    return unit == ALM_ILP_NS ? ALM_TY(TIMESTAMP_NS)
                              : type_named(conf->line_timestamp_default_column_type);
}

alm_type alm_line_type(const struct alm_conf *conf, const alm_ilp_field *field)
{
    switch ((alm_ilp_kind)field->kind) {
    case ALM_ILP_SYMBOL:
        return ALM_TY(SYMBOL);
    case ALM_ILP_LONG:
        return type_named(conf->line_integer_default_column_type);
    case ALM_ILP_DOUBLE:
        return type_named(conf->line_float_default_column_type);
    case ALM_ILP_BOOLEAN:
        return ALM_TY(BOOLEAN);
    case ALM_ILP_STRING:
        return ALM_TY(VARCHAR);
    case ALM_ILP_TIME:
        return alm_line_time_type(conf, (alm_ilp_unit)field->unit);
    case ALM_ILP_LONG256:
        return ALM_TY(LONG256);
    case ALM_ILP_ARRAY:
        return alm_type_array(field->dims);
    case ALM_ILP_DECIMAL:
    case ALM_ILP_KINDS:
        break;
    }
    return ALM_TY(NONE);
}

static alm_status lines_value_refuse(const sink *self)
{
    const char *from = self->f->kind == ALM_ILP_ARRAY ? alm_type_name(alm_type_array(self->f->dims))
                                                      : KIND_NAMES[self->f->kind];
    (void)snprintf(self->room, ALM_LINE_WHY_MAX,
                   "cast error from protocol type: %s to column type: %s", from,
                   alm_type_name(self->type));
    *self->why = self->room;
    return ALM_OK;
}

static alm_status lines_value_bad_text(const sink *self, alm_str text)
{
    (void)snprintf(self->room, ALM_LINE_WHY_MAX, "value error: '%.*s' is no %s",
                   (int)ALM_MIN(text.len, (size_t)60), text.ptr, alm_type_name(self->type));
    *self->why = self->room;
    return ALM_OK;
}

static alm_status lines_value_put_text(const sink *self, alm_str text)
{
    alm_str kept = text;
    if (text.len > ALM_VIEW_INLINE)
        ALM_TRY(alm_arena_copy(self->cx, self->texts, text, &kept));
    if (kept.ptr == NULL)
        kept.ptr = ""; /* an empty text is not null */
    *(alm_view *)self->at = alm_view_of(kept);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- numbers */

static alm_status out_of_bounds(const sink *self)
{
    (void)snprintf(self->room, ALM_LINE_WHY_MAX,
                   "line protocol value: %lld is out bounds of column type: %s",
                   (long long)self->f->i, alm_type_name(self->type));
    *self->why = self->room;
    return ALM_OK;
}

static alm_status beyond_float(const sink *self)
{
    (void)snprintf(self->room, ALM_LINE_WHY_MAX,
                   "line protocol value: %g is out bounds of column type: FLOAT", self->f->f);
    *self->why = self->room;
    return ALM_OK;
}

#define PUT(T, value)                                                                              \
    do {                                                                                           \
        const T put_ = (T)(value);                                                                 \
        memcpy(s->at, &put_, sizeof put_);                                                         \
        return ALM_OK;                                                                             \
    } while (0)

static alm_status lines_value_put_decimal(const sink *self, alm_i256 value, uint32_t scale)
{
    alm_i256 scaled;
    if (alm_decimal_rescale(value, scale, self->type.s, ALM_ROUND_EXACT, &scaled) &&
        alm_decimal_fits(scaled, self->type.p)) {
        alm_decimal_store(self->type, scaled, self->at);
        return ALM_OK;
    }
    char text[ALM_DECIMAL_TEXT_MAX];
    const int n = (int)alm_decimal_format(value, scale, text);
    (void)snprintf(self->room, ALM_LINE_WHY_MAX,
                   "value error: converting %.*s to %s will result in loss of precision", n, text,
                   alm_type_name(self->type));
    *self->why = self->room;
    return ALM_OK;
}

static alm_status lines_value_put_long(const sink *s)
{
    const int64_t value = s->f->i;
    switch (s->type.id) {
    case ALM_T_BYTE:
        if (value < INT8_MIN || value > INT8_MAX)
            return out_of_bounds(s);
        PUT(int8_t, value);
    case ALM_T_SHORT:
        if (value < INT16_MIN || value > INT16_MAX)
            return out_of_bounds(s);
        PUT(int16_t, value);
    case ALM_T_INT:
        if (value == ALM_LONG_NULL)
            PUT(int32_t, ALM_INT_NULL);
        if (value <= INT32_MIN || value > INT32_MAX)
            return out_of_bounds(s);
        PUT(int32_t, value);
    case ALM_T_LONG:
    case ALM_T_DATE:
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        PUT(int64_t, value);
    case ALM_T_FLOAT:
        PUT(float, value == ALM_LONG_NULL ? __builtin_nanf("") : (float)value);
    case ALM_T_DOUBLE:
        PUT(double, value == ALM_LONG_NULL ? __builtin_nan("") : (double)value);
    case ALM_T_DECIMAL:
        if (value == ALM_LONG_NULL) {
            alm_value_set_null(s->type, s->at);
            return ALM_OK;
        }
        return lines_value_put_decimal(s, alm_i256_of(value), 0);
    default:
        return lines_value_refuse(s);
    }
}

static alm_status lines_value_put_double(const sink *s)
{
    const double value = s->f->f;
    alm_i256 x;
    switch (s->type.id) {
    case ALM_T_DOUBLE:
        PUT(double, isfinite(value) ? value : __builtin_nan(""));
    case ALM_T_FLOAT:
        if (isfinite(value) &&
            fabs(value) >= 0x1.ffffffp127) /* else it rounds to the greatest float */
            return beyond_float(s);
        PUT(float, isfinite(value) ? (float)value : __builtin_nanf(""));
    case ALM_T_DECIMAL:
        if (!isfinite(value)) {
            alm_value_set_null(s->type, s->at);
            return ALM_OK;
        }
        if (!alm_decimal_of_double(value, s->type.s, &x) ||
            alm_decimal_to_double(x, s->type.s) != value)
            return lines_value_bad_text(s, s->f->text);
        return lines_value_put_decimal(s, x, s->type.s);
    default:
        return lines_value_refuse(s);
    }
}

static alm_status lines_value_put_boolean(const sink *s)
{
    switch (s->type.id) {
    case ALM_T_BOOLEAN:
    case ALM_T_BYTE:
    case ALM_T_SHORT:
    case ALM_T_INT:
    case ALM_T_LONG:
    case ALM_T_FLOAT:
    case ALM_T_DOUBLE:
        break;
    default:
        return lines_value_refuse(s);
    }
    if (s->type.id == ALM_T_BOOLEAN)
        PUT(uint8_t, s->f->i);
    if (s->type.id == ALM_T_FLOAT)
        PUT(float, s->f->i);
    if (s->type.id == ALM_T_DOUBLE)
        PUT(double, s->f->i);
    return lines_value_put_long(s);
}

/* ------------------------------------------------------------------------ texts */

static alm_status lines_value_put_char(const sink *s, alm_str text)
{
    if (text.len > 0 && alm_utf8_count_utf16(text) != 1)
        return lines_value_bad_text(s, text);
    PUT(uint16_t, alm_utf8_first_unit(text)); /* empty: null */
}

static alm_status lines_value_put_string(const sink *self)
{
    const alm_str text = self->f->text;
    bool good = true;
    switch (self->type.id) {
    case ALM_T_VARCHAR:
    case ALM_T_STRING:
    case ALM_T_SYMBOL:
        return lines_value_put_text(self, text);
    case ALM_T_CHAR:
        return lines_value_put_char(self, text);
    case ALM_T_LONG256: /* has fields of its own */
        return lines_value_refuse(self);
    default:
        if (alm_type_written(self->type) == ALM_WRITTEN_BY_CLASS)
            return lines_value_refuse(self);
        good = alm_value_scan(self->type, text.len == 0 ? (alm_str){0} : text, self->at) ==
               ALM_SCAN_OK;
        return good ? ALM_OK : lines_value_bad_text(self, text);
    }
}

static alm_status put_symbol(const sink *self)
{
    return alm_type_is_text(self->type) ? lines_value_put_text(self, self->f->text)
                                        : lines_value_refuse(self);
}

/* ------------------------------------------------------------------------ times */

bool alm_line_time(int64_t time, alm_ilp_unit unit, alm_type type, int64_t *out)
{
    static const int64_t unit_ns[ALM_ILP_UNITS] = {
        [ALM_ILP_NS] = 1,
        [ALM_ILP_US] = 1000,
        [ALM_ILP_MS] = 1000000,
        [ALM_ILP_SECOND] = INT64_C(1000000000),
        [ALM_ILP_MINUTE] = INT64_C(60000000000),
        [ALM_ILP_HOUR] = INT64_C(3600000000000),
    };
    const int64_t nanos = unit_ns[unit];
    ALM_ASSERT(nanos > 0);
    const int64_t tick = type.id == ALM_T_TIMESTAMP_NS ? 1
                         : type.id == ALM_T_TIMESTAMP  ? 1000
                                                       : 1000000;
    if (nanos >= tick)
        return !__builtin_mul_overflow(time, nanos / tick, out);
    const int64_t by = tick / nanos;
    *out = time / by - (time % by < 0); /* towards the past, before 1970 too */
    return true;
}

static alm_status lines_value_put_time(const sink *s)
{
    int64_t ticks = ALM_TS_NULL;
    if (alm_type_info_of(s->type)->cls != ALM_TC_TIME)
        return lines_value_refuse(s);
    if (s->f->i != ALM_LONG_NULL &&
        !alm_line_time(s->f->i, (alm_ilp_unit)s->f->unit, s->type, &ticks))
        return lines_value_bad_text(s, s->f->text);
    PUT(int64_t, ticks);
}

/* ----------------------------------------------------------------------- others */

static alm_status lines_value_put_array(const sink *self)
{
    alm_array_out writer;
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    const size_t head = sizeof *len * self->f->dims;
    if (self->type.id != ALM_T_ARRAY || self->type.dims != self->f->dims)
        return lines_value_refuse(self);
    memcpy(len, self->f->text.ptr, head);
    ALM_TRY(alm_array_begin(self->cx, self->texts, -1, self->f->dims, len, &writer));
    if (writer.count > 0)
        memcpy(writer.at, self->f->text.ptr + head, writer.count * sizeof(double));
    *(alm_view *)self->at = alm_array_finish(&writer);
    return ALM_OK;
}

static alm_status lines_value_put_wide(const sink *self)
{
    if (self->type.id != ALM_T_LONG256)
        return lines_value_refuse(self);
    memcpy(self->at, &self->f->wide, sizeof self->f->wide);
    return ALM_OK;
}

static alm_status put_fixed_point(const sink *self)
{
    if (self->type.id != ALM_T_DECIMAL)
        return lines_value_refuse(self);
    if (!self->f->is_null)
        return lines_value_put_decimal(self, self->f->wide, self->f->scale);
    alm_value_set_null(self->type, self->at);
    return ALM_OK;
}

/* SYMBOL takes what is no text by the way it was written; binary numbers by their shortest digits. */
static alm_status put_as_symbol(const sink *self)
{
    char text[ALM_DOUBLE_TEXT_MAX];
    alm_str t = self->f->text;
    switch ((alm_ilp_kind)self->f->kind) {
    case ALM_ILP_BOOLEAN:
        return lines_value_put_text(self, self->f->i != 0 ? ALM_STR("t") : ALM_STR("f"));
    case ALM_ILP_LONG:
    case ALM_ILP_TIME:
    case ALM_ILP_LONG256:
        t.len--; /* the letter of the type */
        return lines_value_put_text(self, t);
    case ALM_ILP_DOUBLE:
        if (t.len == 0)
            t = (alm_str){text, alm_double_format(self->f->f, ALM_NUM_DIALECT, text)};
        return lines_value_put_text(self, t);
    case ALM_ILP_SYMBOL:
    case ALM_ILP_STRING:
        return lines_value_put_text(self, t);
    case ALM_ILP_DECIMAL:
    case ALM_ILP_ARRAY:
    case ALM_ILP_KINDS:
        break;
    }
    return lines_value_refuse(self);
}

alm_status alm_line_store(alm_ctx *cx, alm_arena *texts, const alm_ilp_field *field, alm_type type,
                          void *ptr, char room[ALM_LINE_WHY_MAX], const char **why)
{
    static alm_status (*const puts[ALM_ILP_KINDS])(const sink *s) = {
        [ALM_ILP_SYMBOL] = put_symbol,
        [ALM_ILP_LONG] = lines_value_put_long,
        [ALM_ILP_DOUBLE] = lines_value_put_double,
        [ALM_ILP_BOOLEAN] = lines_value_put_boolean,
        [ALM_ILP_STRING] = lines_value_put_string,
        [ALM_ILP_TIME] = lines_value_put_time,
        [ALM_ILP_LONG256] = lines_value_put_wide,
        [ALM_ILP_DECIMAL] = put_fixed_point,
        [ALM_ILP_ARRAY] = lines_value_put_array};
    const sink self = {
        .cx = cx, .texts = texts, .f = field, .type = type, .at = ptr, .room = room, .why = why};
    *why = NULL;
    return type.id == ALM_T_SYMBOL ? put_as_symbol(&self) : puts[field->kind](&self);
}
