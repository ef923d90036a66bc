/* csv_convert.c - one column of a block at a time: a loop per type over the fields. */
#include <math.h>

#include "base/base64.h"
#include "base/number.h"
#include "base/utf8.h"
#include "codec/copy/copy.h"
#include "codec/pg/pg_value.h"
#include "time/format.h"
#include "type/array.h"

typedef struct convert {
    alm_ctx *cx;
    alm_arena *arena;
    const alm_csv_block *block;
    const alm_csv_field *fields;
    uint8_t *bad;
    uint32_t n_bad;
    alm_status st;                   /* out of memory */
    const alm_time_pattern *pattern; /* of times, or NULL */
    bool exact;                      /* times that would be cut are bad */
    alm_epoch unit;                  /* of numbers as times; NONE: ticks of the type */
} convert;

static void csv_convert_mark_bad(convert *self, uint32_t row)
{
    self->bad[row] = 1;
    self->n_bad++;
}

static alm_str csv_convert_trimmed(alm_str text)
{
    while (text.len > 0 && text.ptr[0] == ' ')
        text = (alm_str){text.ptr + 1, text.len - 1};
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

/* What stands in a field that is no text; ptr NULL: null. In a CSV file that is every empty one. */
static alm_str csv_convert_text_of(convert *self, uint32_t row)
{
    const alm_csv_field *field = &self->fields[row];
    alm_str text = {self->block->bytes + field->off, field->len};
    if (field->null || (field->len == 0 && self->block->copy == NULL))
        return (alm_str){0};
    if (field->coded) {
        const alm_status status = alm_csv_text(self->cx, self->arena, self->block, field, &text);
        if (self->st == ALM_OK)
            self->st = status;
    }
    return self->block->copy != NULL ? csv_convert_trimmed(text) : text;
}

static void csv_convert_to_double(convert *self, double *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        out[i] = (double)NAN;
        if (text.ptr != NULL && alm_double_parse(text, &out[i]) != ALM_NUM_OK) {
            out[i] = (double)NAN;
            csv_convert_mark_bad(self, i);
        }
    }
    alm_values_settle(ALM_TY(DOUBLE), out, self->block->rows);
}

static void to_long(convert *self, int64_t *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        int64_t value = ALM_LONG_NULL;
        const bool good = text.ptr == NULL || alm_int64_parse(text, &value) == ALM_NUM_OK;
        out[i] = good ? value : ALM_LONG_NULL;
        if (out[i] == ALM_LONG_NULL && text.ptr != NULL)
            csv_convert_mark_bad(self, i); /* the number of null, too: it would come back as null */
    }
}

static void to_int(convert *self, int32_t *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        int32_t value = ALM_INT_NULL;
        const bool good = text.ptr == NULL || alm_int32_parse(text, &value) == ALM_NUM_OK;
        out[i] = good ? value : ALM_INT_NULL;
        if (out[i] == ALM_INT_NULL && text.ptr != NULL)
            csv_convert_mark_bad(self, i);
    }
}

static void to_time_by(convert *self, const alm_time_pattern *pattern, alm_time_unit unit,
                       int64_t *out)
{
    alm_ctx *zones = self->cx->zones != NULL ? self->cx : NULL; /* else only offsets are known */
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        out[i] = ALM_TS_NULL;
        if (text.ptr != NULL && !alm_time_pattern_read(zones, pattern, text, unit, &out[i])) {
            out[i] = ALM_TS_NULL;
            csv_convert_mark_bad(self, i);
        }
    }
}

/* Has the text of a time more digits behind its point than that, which are not 0? */
static bool is_finer_than(alm_str text, int digits)
{
    enum { SECONDS_TEXT = 20 }; /* 2024-01-02T03:04:05. */
    const char *end = text.ptr + text.len;
    const char *ptr =
        text.len > (size_t)(SECONDS_TEXT + digits) ? memchr(text.ptr, '.', text.len) : NULL;
    if (ptr == NULL)
        return false;
    for (int digit = 1; ++ptr < end && *ptr >= '0' && *ptr <= '9'; digit++)
        if (digit > digits && *ptr != '0')
            return true;
    return false;
}

/* A plain integer in ticks of the unit (1000 is no year, but 20231114 a day), or a text. */
static void to_time(convert *self, alm_time_unit unit, int64_t *out)
{
    if (self->pattern != NULL) {
        to_time_by(self, self->pattern, unit, out);
        return;
    }
    const int digits = unit == ALM_TIME_MS ? 3 : 6;
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        int64_t value = ALM_TS_NULL;
        out[i] = ALM_TS_NULL;
        if (text.ptr == NULL)
            continue;
        const bool exact = !(self->exact && is_finer_than(text, digits));
        const bool said = self->unit != ALM_EPOCH_NONE; /* then every number is one of that unit */
        const bool good = said ? alm_epoch_read(text, self->unit, unit, &value) ||
                                     (exact && alm_time_parse(text, unit, &value))
                               : (!alm_time_is_compact_day(text) &&
                                  alm_int64_parse(text, &value) == ALM_NUM_OK) ||
                                     (exact && alm_time_read(text, unit, &value));
        out[i] = good ? value : ALM_TS_NULL;
        if (out[i] == ALM_TS_NULL)
            csv_convert_mark_bad(self, i);
    }
}

static alm_status csv_convert_to_text(convert *self, alm_view *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        alm_str text;
        ALM_TRY(alm_csv_text(self->cx, self->arena, self->block, &self->fields[i], &text));
        out[i] = alm_view_of(text);
        if (text.ptr != NULL && !alm_utf8_is_valid(text)) {
            out[i] = alm_view_null();
            csv_convert_mark_bad(self, i);
        }
    }
    return ALM_OK;
}

static alm_status to_binary(convert *self, alm_view *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        alm_str text;
        char *bytes;
        size_t n = 0;
        ALM_TRY(alm_csv_text(self->cx, self->arena, self->block, &self->fields[i], &text));
        out[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_arena_bytes(self->cx, self->arena, alm_base64_bytes_max(text.len), &bytes));
        if (alm_base64_decode(text, bytes, &n))
            out[i] = alm_view_of((alm_str){bytes, n});
        else
            csv_convert_mark_bad(self, i);
    }
    return ALM_OK;
}

static alm_status to_other(convert *self, alm_type type, uint8_t *out)
{
    const uint32_t width = alm_type_width(type);
    for (uint32_t i = 0; i < self->block->rows; i++) {
        alm_str text = {0};
        if (type.id == ALM_T_CHAR) { /* a blank is one */
            ALM_TRY(alm_csv_text(self->cx, self->arena, self->block, &self->fields[i], &text));
            if (text.len == 0)
                text.ptr = NULL;
        } else {
            text = csv_convert_text_of(self, i);
        }
        if (alm_value_scan(type, text, out + (size_t)i * width) == ALM_SCAN_OK)
            continue;
        const alm_str null = {0};
        if (alm_value_scan(type, null, out + (size_t)i * width) != ALM_SCAN_OK)
            (void)memset(out + (size_t)i * width, 0, width);
        csv_convert_mark_bad(self, i);
    }
    return ALM_OK;
}

static alm_status to_array(convert *self, alm_type type, alm_view *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        bool good = true;
        out[i] = alm_view_null();
        if (text.ptr != NULL)
            ALM_TRY(alm_array_parse(self->cx, self->arena, -1, type.dims, text, &out[i], &good));
        if (!good)
            csv_convert_mark_bad(self, i);
    }
    return ALM_OK;
}

/* What COPY sends for bytes: \x and digits. */
static alm_status to_bytea(convert *self, alm_view *out)
{
    for (uint32_t i = 0; i < self->block->rows; i++) {
        const alm_str text = csv_convert_text_of(self, i);
        char *bytes = NULL;
        size_t n = 0;
        out[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        ALM_TRY(alm_arena_bytes(self->cx, self->arena, text.len + 1, &bytes));
        if (alm_bytea_parse(text, bytes, &n))
            out[i] = alm_view_of((alm_str){bytes, n});
        else
            csv_convert_mark_bad(self, i);
    }
    return ALM_OK;
}

alm_status alm_csv_convert(alm_ctx *cx, alm_arena *arena, const alm_csv_block *block, uint32_t col,
                           alm_type type, uint8_t *bad, uint32_t *n_bad, alm_vec *out)
{
    ALM_ASSERT(col < block->cols);
    convert self = {.cx = cx,
                    .arena = arena,
                    .block = block,
                    .fields = block->fields + (size_t)col * block->stride,
                    .bad = bad};
    if (block->patterns != NULL)
        self.pattern = block->patterns[col];
    if (block->units != NULL)
        self.unit = block->units[col];
    /* a type that was found in the first lines must not cut what comes later; and no DATE does */
    self.exact = (block->exact != NULL && block->exact[col] && type.id != ALM_T_TIMESTAMP_NS) ||
                 (block->copy == NULL && type.id == ALM_T_DATE);
    alm_status status = ALM_OK;
    ALM_TRY(alm_vec_new(cx, arena, type, block->rows, out));
    if (block->copy != NULL && block->copy->kind == ALM_COPY_BINARY)
        return alm_copy_convert_binary(cx, arena, block, col, bad, n_bad, out);
    if (block->copy != NULL && type.id == ALM_T_BINARY) {
        status = to_bytea(&self, out->data);
        *n_bad = self.n_bad;
        return status != ALM_OK ? status : self.st;
    }
    switch (type.id) {
    case ALM_T_DOUBLE:
        csv_convert_to_double(&self, out->data);
        break;
    case ALM_T_LONG:
        to_long(&self, out->data);
        break;
    case ALM_T_INT:
        to_int(&self, out->data);
        break;
    case ALM_T_DATE:
        to_time(&self, ALM_TIME_MS, out->data);
        break;
    case ALM_T_TIMESTAMP:
        to_time(&self, ALM_TIME_US, out->data);
        break;
    case ALM_T_TIMESTAMP_NS:
        to_time(&self, ALM_TIME_NS, out->data);
        break;
    case ALM_T_STRING:
    case ALM_T_VARCHAR:
    case ALM_T_SYMBOL:
        out->width = sizeof(alm_view); /* SYMBOL as views: the load interns them */
        status = csv_convert_to_text(&self, out->data);
        break;
    case ALM_T_BINARY:
        status = to_binary(&self, out->data);
        break;
    case ALM_T_ARRAY:
        status = to_array(&self, type, out->data);
        break;
    default:
        status = to_other(&self, type, out->data);
        break;
    }
    *n_bad = self.n_bad;
    return status != ALM_OK ? status : self.st;
}
