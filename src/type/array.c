/*
 * array.c - DOUBLE[] values: reading, making, text.
 */
#include "type/array.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "type/ops.h"

alm_array alm_array_of(const alm_vec *vec, size_t i)
{
    alm_array array = {0};
    const alm_view *view = (const alm_view *)vec->data + (vec->is_const ? 0 : i);
    const uint32_t dims = vec->type.dims;
    if (alm_view_is_null(view) || dims == 0 || dims > ALM_ARRAY_DIMS_MAX)
        return array;
    const alm_str bytes = alm_view_str(view, vec->heap);
    const size_t head = dims * sizeof(uint32_t);
    if (bytes.len < head)
        return array;
    memcpy(array.len, bytes.ptr, head);
    array.count = 1;
    for (uint32_t dim = 0; dim < dims; dim++) {
        array.count *= array.len[dim];
        if (array.count > ALM_ARRAY_MAX)
            return (alm_array){0};
    }
    if (bytes.len != head + array.count * sizeof(double))
        return (alm_array){0};
    array.dims = dims;
    array.data = bytes.ptr + head;
    return array;
}

bool alm_array_same_shape(const alm_array *a, const alm_array *b)
{
    return a->dims == b->dims && memcmp(a->len, b->len, a->dims * sizeof a->len[0]) == 0;
}

alm_status alm_array_begin(alm_ctx *cx, alm_arena *arena, int32_t pos, uint32_t dims,
                           const uint32_t *len, alm_array_out *out)
{
    const size_t head = dims * sizeof(uint32_t);
    size_t count = 1, lists = 1; /* without numbers there may be many empty lists */
    ALM_ASSERT(dims >= 1 && dims <= ALM_ARRAY_DIMS_MAX);
    for (uint32_t dim = 0; dim < dims; dim++) {
        count *= len[dim];
        lists *= ALM_MAX(len[dim], 1U);
        if (lists > ALM_ARRAY_MAX)
            return alm_fail(cx, ALM_E_LIMIT, pos, "an array may have %d numbers at most",
                            ALM_ARRAY_MAX);
    }
    *out = (alm_array_out){.count = count, .n_bytes = head + count * sizeof(double)};
    ALM_TRY(alm_steps_add(cx, 1 + (int64_t)count)); /* that whoever asks for them fills */
    /* views of up to 12 bytes are made from these bytes, so there is always room for 12 */
    ALM_TRY(alm_arena_bytes(cx, arena, ALM_MAX(out->n_bytes, (size_t)16), &out->bytes));
    memcpy(out->bytes, len, head);
    out->at = out->bytes + head;
    return ALM_OK;
}

alm_view alm_array_finish(alm_array_out *writer)
{
    for (size_t i = 0; i < writer->count; i++) {
        const double value = alm_array_at(writer->at, i);
        alm_array_put(writer, i, isfinite(value) ? value + 0.0 : __builtin_nan(""));
    }
    return alm_view_of((alm_str){writer->bytes, writer->n_bytes});
}

/* -------------------------------------------------------------------- text out */

typedef struct formatter {
    const alm_array *a;
    bool pg;
    size_t next;
    char *out;
} formatter;

/* Without numbers an array is the empty list, whatever its shape. */
static void put_level(formatter *self, uint32_t dim)
{
    *self->out++ = self->pg ? '{' : '[';
    for (uint32_t i = 0; self->a->count > 0 && i < self->a->len[dim]; i++) {
        if (i > 0)
            *self->out++ = ',';
        if (dim + 1 < self->a->dims) {
            put_level(self, dim + 1);
            continue;
        }
        const double value = alm_array_at(self->a->data, self->next++);
        if (isfinite(value)) {
            self->out +=
                alm_double_format(value, self->pg ? ALM_NUM_PG : ALM_NUM_DIALECT, self->out);
        } else {
            memcpy(self->out, self->pg ? "NULL" : "null", 4);
            self->out += 4;
        }
    }
    *self->out++ = self->pg ? '}' : ']';
}

alm_status alm_array_format(alm_ctx *cx, const alm_array *array, alm_text_style style, alm_buf *out)
{
    /* brackets: no level has more lists than there are numbers, but for the empty one */
    const size_t room =
        array->count * (ALM_DOUBLE_TEXT_MAX + 1 + 3 * (size_t)array->dims) + 2 * array->dims + 2;
    ALM_TRY(alm_buf_reserve(cx, out, room));
    formatter self = {.a = array, .pg = style == ALM_TEXT_PG, .out = out->ptr + out->len};
    put_level(&self, 0);
    out->len = (size_t)(self.out - out->ptr);
    return ALM_OK;
}

/* --------------------------------------------------------------------- text in */

typedef struct reader {
    const char *at, *end;
    double *number;
    size_t count;
    uint32_t dims;
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    bool known[ALM_ARRAY_DIMS_MAX];
} reader;

static char next_char(reader *self)
{
    while (self->at < self->end && (uint8_t)*self->at <= ' ')
        self->at++;
    return self->at < self->end ? *self->at : '\0';
}

static bool type_array_read_number(reader *self)
{
    const char *start = self->at;
    while (self->at < self->end && *self->at != ',' && *self->at != '}' && *self->at != ']')
        self->at++;
    alm_str text = {start, (size_t)(self->at - start)};
    while (text.len > 0 && (uint8_t)text.ptr[text.len - 1] <= ' ')
        text.len--;
    double value = __builtin_nan("");
    const bool quoted = text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
    if (quoted) /* as node-postgres and others write every element; NULL in quotes is no null */
        text = (alm_str){text.ptr + 1, text.len - 2};
    if ((quoted || !alm_str_ieq(text, ALM_STR("null"))) &&
        alm_double_parse(text, &value) != ALM_NUM_OK)
        return false;
    self->number[self->count++] = value;
    return true;
}

static bool type_array_read_level(reader *self, uint32_t dim)
{
    const char open = next_char(self);
    const char close = open == '{' ? '}' : ']';
    uint32_t count = 0;
    if (open != '{' && open != '[')
        return false;
    self->at++;
    for (; next_char(self) != close; count++) {
        if (count > 0) {
            if (next_char(self) != ',')
                return false;
            self->at++;
            (void)next_char(self);
        }
        if (self->at >= self->end || !(dim + 1 < self->dims ? type_array_read_level(self, dim + 1)
                                                            : type_array_read_number(self)))
            return false;
    }
    self->at++;
    const bool fits = !self->known[dim] || self->len[dim] == count;
    self->known[dim] = true;
    self->len[dim] = count;
    return fits;
}

alm_status alm_array_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, uint32_t dims, alm_str text,
                           alm_view *out, bool *good)
{
    reader self = {.at = text.ptr, .end = text.ptr + text.len, .dims = dims};
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++)
        most += text.ptr[i] == ',';
    ALM_TRY(alm_arena_bytes(cx, arena, most * sizeof *self.number, &self.number));
    *good = type_array_read_level(&self, 0) && next_char(&self) == '\0' && self.at == self.end;
    if (!*good)
        return ALM_OK;
    alm_array_out writer;
    ALM_TRY(alm_array_begin(cx, arena, pos, dims, self.len, &writer));
    *good = writer.count == self.count;
    for (size_t i = 0; *good && i < writer.count; i++)
        alm_array_put(&writer, i, self.number[i]);
    if (*good)
        *out = alm_array_finish(&writer);
    return ALM_OK;
}

const char *alm_array_shape(const alm_array *array, char *out, size_t room)
{
    size_t count = 0;
    for (uint32_t dim = 0; dim < array->dims && count + 16 < room; dim++)
        count += (size_t)snprintf(out + count, room - count, "%c%u", dim == 0 ? '[' : ',',
                                  array->len[dim]);
    (void)snprintf(out + count, room - count, "]");
    return out;
}

/* ------------------------------------------------------------------------- the type */

static alm_status append_array(alm_ctx *cx, const alm_vec *vec, size_t i, alm_text_style style,
                               alm_buf *out, bool *is_null)
{
    const alm_array array = alm_array_of(vec, i);
    *is_null = array.dims == 0;
    return *is_null ? ALM_OK : alm_array_format(cx, &array, style, out);
}

static alm_status type_parse_array(alm_ctx *cx, int32_t pos, alm_type type, alm_str text, void *out,
                                   bool *good)
{
    return alm_array_parse(cx, cx->arena, pos, type.dims, text, out, good);
}

/* LIST, one in the other, of DOUBLE; raw: its bytes. */
static alm_parquet_form parquet_array(alm_type type, bool raw)
{
    if (raw)
        return alm_parquet_of(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_NONE);
    alm_parquet_form parquet_form = alm_parquet_of(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    parquet_form.dims = type.dims;
    return parquet_form;
}

const alm_type_ops alm_type_ops_ARRAY = {
    .append = append_array,
    .parse = type_parse_array,
    .parquet = parquet_array,
};
