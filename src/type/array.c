/*
 * array.c - DOUBLE[] values: reading, making, text.
 */
#include "type/array.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "type/ops.h"

alm_array alm_array_of(const alm_vec *v, size_t i)
{
    alm_array a = {0};
    const alm_view *view = (const alm_view *)v->data + (v->is_const ? 0 : i);
    const uint32_t dims = v->type.dims;
    if (alm_view_is_null(view) || dims == 0 || dims > ALM_ARRAY_DIMS_MAX)
        return a;
    const alm_str bytes = alm_view_str(view, v->heap);
    const size_t head = dims * sizeof(uint32_t);
    if (bytes.len < head)
        return a;
    memcpy(a.len, bytes.ptr, head);
    a.count = 1;
    for (uint32_t d = 0; d < dims; d++) {
        a.count *= a.len[d];
        if (a.count > ALM_ARRAY_MAX)
            return (alm_array){0};
    }
    if (bytes.len != head + a.count * sizeof(double))
        return (alm_array){0};
    a.dims = dims;
    a.data = bytes.ptr + head;
    return a;
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
    for (uint32_t d = 0; d < dims; d++) {
        count *= len[d];
        lists *= ALM_MAX(len[d], 1U);
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

alm_view alm_array_finish(alm_array_out *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const double x = alm_array_at(w->at, i);
        alm_array_put(w, i, isfinite(x) ? x + 0.0 : __builtin_nan(""));
    }
    return alm_view_of((alm_str){w->bytes, w->n_bytes});
}

/* -------------------------------------------------------------------- text out */

typedef struct formatter {
    const alm_array *a;
    bool pg;
    size_t next;
    char *out;
} formatter;

/* Without numbers an array is the empty list, whatever its shape. */
static void put_level(formatter *f, uint32_t dim)
{
    *f->out++ = f->pg ? '{' : '[';
    for (uint32_t i = 0; f->a->count > 0 && i < f->a->len[dim]; i++) {
        if (i > 0)
            *f->out++ = ',';
        if (dim + 1 < f->a->dims) {
            put_level(f, dim + 1);
            continue;
        }
        const double x = alm_array_at(f->a->data, f->next++);
        if (isfinite(x)) {
            f->out += alm_double_format(x, f->pg ? ALM_NUM_PG : ALM_NUM_DIALECT, f->out);
        } else {
            memcpy(f->out, f->pg ? "NULL" : "null", 4);
            f->out += 4;
        }
    }
    *f->out++ = f->pg ? '}' : ']';
}

alm_status alm_array_format(alm_ctx *cx, const alm_array *a, alm_text_style style, alm_buf *out)
{
    /* brackets: no level has more lists than there are numbers, but for the empty one */
    const size_t room =
        a->count * (ALM_DOUBLE_TEXT_MAX + 1 + 3 * (size_t)a->dims) + 2 * a->dims + 2;
    ALM_TRY(alm_buf_reserve(cx, out, room));
    formatter f = {.a = a, .pg = style == ALM_TEXT_PG, .out = out->ptr + out->len};
    put_level(&f, 0);
    out->len = (size_t)(f.out - out->ptr);
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

static char next_char(reader *r)
{
    while (r->at < r->end && (uint8_t)*r->at <= ' ')
        r->at++;
    return r->at < r->end ? *r->at : '\0';
}

static bool read_number(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at != ',' && *r->at != '}' && *r->at != ']')
        r->at++;
    alm_str text = {start, (size_t)(r->at - start)};
    while (text.len > 0 && (uint8_t)text.ptr[text.len - 1] <= ' ')
        text.len--;
    double x = __builtin_nan("");
    const bool quoted = text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"';
    if (quoted) /* as node-postgres and others write every element; NULL in quotes is no null */
        text = (alm_str){text.ptr + 1, text.len - 2};
    if ((quoted || !alm_str_ieq(text, ALM_STR("null"))) && alm_double_parse(text, &x) != ALM_NUM_OK)
        return false;
    r->number[r->count++] = x;
    return true;
}

static bool read_level(reader *r, uint32_t dim)
{
    const char open = next_char(r);
    const char close = open == '{' ? '}' : ']';
    uint32_t n = 0;
    if (open != '{' && open != '[')
        return false;
    r->at++;
    for (; next_char(r) != close; n++) {
        if (n > 0) {
            if (next_char(r) != ',')
                return false;
            r->at++;
            (void)next_char(r);
        }
        if (r->at >= r->end || !(dim + 1 < r->dims ? read_level(r, dim + 1) : read_number(r)))
            return false;
    }
    r->at++;
    const bool fits = !r->known[dim] || r->len[dim] == n;
    r->known[dim] = true;
    r->len[dim] = n;
    return fits;
}

alm_status alm_array_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, uint32_t dims, alm_str text,
                           alm_view *out, bool *good)
{
    reader r = {.at = text.ptr, .end = text.ptr + text.len, .dims = dims};
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++)
        most += text.ptr[i] == ',';
    ALM_TRY(alm_arena_bytes(cx, arena, most * sizeof *r.number, &r.number));
    *good = read_level(&r, 0) && next_char(&r) == '\0' && r.at == r.end;
    if (!*good)
        return ALM_OK;
    alm_array_out w;
    ALM_TRY(alm_array_begin(cx, arena, pos, dims, r.len, &w));
    *good = w.count == r.count;
    for (size_t i = 0; *good && i < w.count; i++)
        alm_array_put(&w, i, r.number[i]);
    if (*good)
        *out = alm_array_finish(&w);
    return ALM_OK;
}

const char *alm_array_shape(const alm_array *a, char *out, size_t room)
{
    size_t n = 0;
    for (uint32_t d = 0; d < a->dims && n + 16 < room; d++)
        n += (size_t)snprintf(out + n, room - n, "%c%u", d == 0 ? '[' : ',', a->len[d]);
    (void)snprintf(out + n, room - n, "]");
    return out;
}

/* ------------------------------------------------------------------------- the type */

static alm_status append_array(alm_ctx *cx, const alm_vec *v, size_t i, alm_text_style style,
                               alm_buf *out, bool *is_null)
{
    const alm_array a = alm_array_of(v, i);
    *is_null = a.dims == 0;
    return *is_null ? ALM_OK : alm_array_format(cx, &a, style, out);
}

static alm_status parse_array(alm_ctx *cx, int32_t pos, alm_type type, alm_str text, void *out,
                              bool *good)
{
    return alm_array_parse(cx, cx->arena, pos, type.dims, text, out, good);
}

/* LIST, one in the other, of DOUBLE; raw: its bytes. */
static alm_parquet_form parquet_array(alm_type type, bool raw)
{
    if (raw)
        return alm_parquet_of(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_NONE);
    alm_parquet_form f = alm_parquet_of(ALM_PQ_DOUBLE, ALM_PQ_ORDER_DOUBLE);
    f.dims = type.dims;
    return f;
}

const alm_type_ops alm_type_ops_ARRAY = {
    .append = append_array,
    .parse = parse_array,
    .parquet = parquet_array,
};
