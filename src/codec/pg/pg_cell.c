/*
 * pg_cell.c - see pg_cell.h. Types that fill large results have a writer of their own; all others, and
 * forms that are rare, go through alm_pg_put_cell.
 */
#include "codec/pg/pg_cell.h"

#include <math.h>

#include "base/conf.h"
#include "base/number.h"

enum { CELL_HEAD = 4, FIXED_MAX = 48 }; /* length; no number and no time is longer */

static size_t pg_cell_row_of(const alm_vec *vec, size_t row)
{
    return vec->is_const ? 0 : row;
}

/* The bytes stand behind the place for their length already. */
static alm_status put_length(alm_buf *out, size_t n)
{
    alm_be_put32(out->ptr + out->len, (uint32_t)n);
    out->len += CELL_HEAD + n;
    return ALM_OK;
}

static alm_status pg_cell_put_null(alm_buf *out)
{
    alm_be_put32(out->ptr + out->len, UINT32_MAX);
    out->len += CELL_HEAD;
    return ALM_OK;
}

static char *pg_cell_place(const alm_buf *out)
{
    return out->ptr + out->len + CELL_HEAD;
}

static alm_status put_any(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *vec, size_t row,
                          alm_buf *out)
{
    return alm_pg_put_cell(cx, vec, row, cell->binary, out);
}

static alm_status pg_cell_put_text(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *vec, size_t row,
                                   alm_buf *out)
{
    (void)cell;
    const alm_str text = alm_vec_text(vec, row);
    ALM_TRY(alm_buf_reserve(cx, out, CELL_HEAD + text.len));
    if (text.ptr == NULL)
        return pg_cell_put_null(out);
    if (text.len > 0)
        memcpy(pg_cell_place(out), text.ptr, text.len);
    return put_length(out, text.len);
}

/* A number: null rule, text, and its bits in network order. */
#define NUMBER_CELL(name, type, bits_type, is_null, format, put_bits)                              \
    static alm_status name(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *v, size_t row,           \
                           alm_buf *out)                                                           \
    {                                                                                              \
        const type value = ((const type *)v->data)[pg_cell_row_of(v, row)];                        \
        bits_type bits;                                                                            \
        ALM_TRY(alm_buf_reserve(cx, out, CELL_HEAD + FIXED_MAX));                                  \
        if (is_null)                                                                               \
            return pg_cell_put_null(out);                                                          \
        if (!cell->binary)                                                                         \
            return put_length(out, format);                                                        \
        memcpy(&bits, &value, sizeof bits);                                                        \
        put_bits(pg_cell_place(out), bits);                                                        \
        return put_length(out, sizeof bits);                                                       \
    }

NUMBER_CELL(pg_cell_put_int, int32_t, uint32_t, value == ALM_INT_NULL,
            alm_int32_format(value, pg_cell_place(out)), alm_be_put32)
NUMBER_CELL(pg_cell_put_long, int64_t, uint64_t, value == ALM_LONG_NULL,
            alm_int64_format(value, pg_cell_place(out)), alm_be_put64)
NUMBER_CELL(pg_cell_put_double, double, uint64_t, !isfinite(value),
            alm_double_format(value, ALM_NUM_PG, pg_cell_place(out)), alm_be_put64)

static alm_status pg_cell_put_time(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *vec, size_t row,
                                   alm_buf *out)
{
    const int64_t value = ((const int64_t *)vec->data)[pg_cell_row_of(vec, row)];
    ALM_TRY(alm_buf_reserve(cx, out, CELL_HEAD + FIXED_MAX));
    if (value == ALM_TS_NULL)
        return pg_cell_put_null(out);
    const size_t n = alm_time_writer_put(&cell->time, value, pg_cell_place(out));
    if (!cell->zone)
        return put_length(out, n);
    memcpy(pg_cell_place(out) + n, "+00", 3);
    return put_length(out, n + 3);
}

static alm_status pg_cell_put_escaped(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *vec,
                                      size_t row, alm_buf *out)
{
    (void)cell;
    const alm_str bytes = alm_vec_text(vec, row);
    ALM_TRY(alm_buf_reserve(cx, out, CELL_HEAD + 4 * bytes.len));
    if (bytes.ptr == NULL)
        return pg_cell_put_null(out);
    char *dest = pg_cell_place(out);
    for (size_t i = 0; i < bytes.len; i++) {
        const unsigned char byte = (unsigned char)bytes.ptr[i];
        if (byte >= 0x20 && byte < 0x7f) {
            *dest++ = (char)byte;
            if (byte == '\\')
                *dest++ = '\\';
            continue;
        }
        *dest++ = '\\';
        for (int shift = 6; shift >= 0; shift -= 3)
            *dest++ = (char)('0' + (byte >> shift & 7));
    }
    return put_length(out, (size_t)(dest - pg_cell_place(out)));
}

void alm_pg_cell_escapes(alm_pg_cell *cell)
{
    if (cell->type == ALM_T_BINARY && !cell->binary)
        cell->put = pg_cell_put_escaped;
}

void alm_pg_cell_init(const struct alm_conf *conf, alm_pg_cell *cell, alm_type type, bool binary)
{
    *cell = (alm_pg_cell){.put = put_any, .type = (alm_type_id)type.id, .binary = binary};
    if (alm_type_is_text(type)) { /* lists are arrays in binary */
        cell->put = binary && type.p != 0 ? put_any : pg_cell_put_text;
        cell->form = cell->put == pg_cell_put_text ? ALM_PG_FORM_TEXT : ALM_PG_FORM_OWN;
        return;
    }
    switch ((int)type.id) {
    case ALM_T_INT:
        cell->put = pg_cell_put_int;
        cell->form = binary ? ALM_PG_FORM_INT : ALM_PG_FORM_OWN;
        return;
    case ALM_T_LONG:
        cell->put = pg_cell_put_long;
        cell->form = binary ? ALM_PG_FORM_LONG : ALM_PG_FORM_OWN;
        return;
    case ALM_T_DOUBLE:
        cell->put = pg_cell_put_double;
        cell->form = binary ? ALM_PG_FORM_DOUBLE : ALM_PG_FORM_OWN;
        return;
    case ALM_T_TIMESTAMP:
    case ALM_T_TIMESTAMP_NS:
        cell->form = binary ? ALM_PG_FORM_TIME : ALM_PG_FORM_OWN;
        if (binary)
            return;
        cell->put = pg_cell_put_time;
        alm_time_writer_init(&cell->time, type.id == ALM_T_TIMESTAMP ? ALM_TIME_US : ALM_TIME_NS,
                             conf != NULL && conf->pg_timestamp_nanoseconds ? ALM_TIME_PG_FULL
                                                                            : ALM_TIME_PG);
        cell->zone = conf != NULL && conf->pg_timestamp_zone;
        return;
    default:
        return;
    }
}
