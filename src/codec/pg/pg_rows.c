/*
 * pg_rows.c - see pg_rows.h. A few rows at a time, so that their places and texts stay in the cache: first how long
 * each message becomes, then each column down the messages.
 */
#include "codec/pg/pg_rows.h"

#include "codec/pg/pg_protocol.h"

#include <endian.h>
#include <math.h>

enum { BLOCK_ROWS = 128, TEXT_COLS_MAX = 16, ROW_HEAD = 7, CELL_HEAD = 4 };

typedef struct block {
    const alm_batch *batch;
    uint32_t from, n;
    size_t bytes[BLOCK_ROWS];
    char *at[BLOCK_ROWS]; /* where the next cell of a row goes */
    alm_str texts[TEXT_COLS_MAX][BLOCK_ROWS];
} block;

/* As alm_be_put32 and its like, in line. */
static inline void put16(char *dest, uint16_t v)
{
    v = htobe16(v);
    memcpy(dest, &v, sizeof v);
}

static inline void put32(char *dest, uint32_t value)
{
    value = htobe32(value);
    memcpy(dest, &value, sizeof value);
}

static inline void put64(char *dest, uint64_t value)
{
    value = htobe64(value);
    memcpy(dest, &value, sizeof value);
}

static inline int64_t wire_time(alm_type type, int64_t value)
{
    int64_t micros = 0;
    if (type.id != ALM_T_TIMESTAMP)
        return alm_pg_time(type, value);
    if (value == INT64_MAX) /* infinity, see alm_pg_time; the other end does not fit */
        return value;
    return __builtin_sub_overflow(value, ALM_PG_EPOCH_US, &micros) ? INT64_MIN : micros;
}

bool alm_pg_rows_can(const alm_pg_cell *cells, uint32_t n_cols)
{
    uint32_t n_texts = 0;
    for (uint32_t i = 0; i < n_cols; i++) {
        if (cells[i].form == ALM_PG_FORM_OWN)
            return false;
        n_texts += cells[i].form == ALM_PG_FORM_TEXT;
    }
    return n_texts <= TEXT_COLS_MAX;
}

/* ------------------------------------------------------------------------ length */

static void find_texts(block *self, const alm_vec *vec, alm_str *texts)
{
    for (uint32_t i = 0; i < self->n; i++) {
        texts[i] = alm_vec_text(vec, self->from + i);
        self->bytes[i] += texts[i].len;
    }
}

#define LENGTHS(type, width, is_null)                                                              \
    do {                                                                                           \
        const type *values = v->data;                                                              \
        for (uint32_t i = 0; i < b->n; i++) {                                                      \
            const type value = values[v->is_const ? 0 : b->from + i];                              \
            b->bytes[i] += (is_null) ? 0 : (width);                                                \
        }                                                                                          \
    } while (0)

static void pg_rows_add_lengths(block *b, const alm_pg_cell *cell, const alm_vec *v, alm_str *texts)
{
    switch (cell->form) {
    case ALM_PG_FORM_INT:
        LENGTHS(int32_t, 4, value == ALM_INT_NULL);
        break;
    case ALM_PG_FORM_LONG:
    case ALM_PG_FORM_TIME:
        LENGTHS(int64_t, 8, value == ALM_LONG_NULL);
        break;
    case ALM_PG_FORM_DOUBLE:
        LENGTHS(double, 8, !isfinite(value));
        break;
    case ALM_PG_FORM_TEXT:
        find_texts(b, v, texts);
        break;
    case ALM_PG_FORM_OWN:
        break;
    }
}

/* ------------------------------------------------------------------------- bytes */

static char *pg_rows_put_null(char *ptr)
{
    put32(ptr, UINT32_MAX);
    return ptr + CELL_HEAD;
}

static void pg_rows_put_texts(block *self, const alm_str *texts)
{
    for (uint32_t i = 0; i < self->n; i++) {
        char *ptr = self->at[i];
        const alm_str text = texts[i];
        if (text.ptr == NULL) {
            self->at[i] = pg_rows_put_null(ptr);
            continue;
        }
        put32(ptr, (uint32_t)text.len);
        memcpy(ptr + CELL_HEAD, text.ptr, text.len);
        self->at[i] = ptr + CELL_HEAD + text.len;
    }
}

#define NUMBERS(type, bits_type, is_null, put, to_send)                                            \
    do {                                                                                           \
        const type *values = v->data;                                                              \
        for (uint32_t i = 0; i < b->n; i++) {                                                      \
            const type value = values[v->is_const ? 0 : b->from + i];                              \
            char *at = b->at[i];                                                                   \
            if (is_null) {                                                                         \
                b->at[i] = pg_rows_put_null(at);                                                   \
                continue;                                                                          \
            }                                                                                      \
            const type sent = to_send;                                                             \
            bits_type bits;                                                                        \
            memcpy(&bits, &sent, sizeof bits);                                                     \
            put32(at, (uint32_t)sizeof bits);                                                      \
            put(at + CELL_HEAD, bits);                                                             \
            b->at[i] = at + CELL_HEAD + sizeof bits;                                               \
        }                                                                                          \
    } while (0)

static void pg_rows_put_column(block *b, const alm_pg_cell *cell, const alm_vec *v,
                               const alm_str *texts)
{
    switch (cell->form) {
    case ALM_PG_FORM_INT:
        NUMBERS(int32_t, uint32_t, value == ALM_INT_NULL, put32, value);
        break;
    case ALM_PG_FORM_LONG:
        NUMBERS(int64_t, uint64_t, value == ALM_LONG_NULL, put64, value);
        break;
    case ALM_PG_FORM_TIME:
        NUMBERS(int64_t, uint64_t, value == ALM_TS_NULL, put64, wire_time(v->type, value));
        break;
    case ALM_PG_FORM_DOUBLE:
        NUMBERS(double, uint64_t, !isfinite(value), put64, value);
        break;
    case ALM_PG_FORM_TEXT:
        pg_rows_put_texts(b, texts);
        break;
    case ALM_PG_FORM_OWN:
        break;
    }
}

static void put_heads(block *self, char *dest)
{
    for (uint32_t i = 0; i < self->n; i++) {
        dest[0] = ALM_PG_SERVER_DATA_ROW;
        put32(dest + 1, (uint32_t)(self->bytes[i] - 1));
        put16(dest + 5, (uint16_t)self->batch->n_cols);
        self->at[i] = dest + ROW_HEAD;
        dest += self->bytes[i];
    }
}

/* ------------------------------------------------------------------------ blocks */

/* How long its rows become; rows behind `room` are left for later. */
static size_t measure(block *self, const alm_pg_cell *cells, size_t room)
{
    const alm_batch *batch = self->batch;
    uint32_t text = 0, count = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < self->n; i++)
        self->bytes[i] = ROW_HEAD + (size_t)CELL_HEAD * batch->n_cols;
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        pg_rows_add_lengths(self, &cells[col], &batch->cols[col], self->texts[text]);
        text += cells[col].form == ALM_PG_FORM_TEXT && text + 1 < TEXT_COLS_MAX;
    }
    while (count < self->n && (count == 0 || bytes < room))
        bytes += self->bytes[count++];
    self->n = count;
    return bytes;
}

static void pg_write_rows(block *self, const alm_pg_cell *cells, char *dest)
{
    const alm_batch *batch = self->batch;
    uint32_t text = 0;
    put_heads(self, dest);
    for (uint32_t col = 0; col < batch->n_cols; col++) {
        pg_rows_put_column(self, &cells[col], &batch->cols[col], self->texts[text]);
        text += cells[col].form == ALM_PG_FORM_TEXT && text + 1 < TEXT_COLS_MAX;
    }
}

alm_status alm_pg_rows_put(alm_ctx *cx, const alm_pg_cell *cells, const alm_batch *batch,
                           uint32_t from, uint32_t to, size_t room, alm_buf *out, uint32_t *end)
{
    block self;
    self.batch = batch;
    self.from = from;
    const size_t start = out->len;
    while (self.from < to && (self.from == from || out->len - start < room)) {
        self.n = ALM_MIN(to - self.from, (uint32_t)BLOCK_ROWS);
        const size_t bytes = measure(&self, cells, room - (out->len - start));
        const alm_status status = alm_buf_reserve(cx, out, bytes);
        if (status != ALM_OK) {
            out->len = start;
            return status;
        }
        pg_write_rows(&self, cells, out->ptr + out->len);
        out->len += bytes;
        self.from += self.n;
    }
    *end = self.from;
    return ALM_OK;
}
