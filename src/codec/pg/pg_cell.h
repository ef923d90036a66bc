/*
 * pg_cell.h - the cells of a column, one after the other: what is the same for all of them (the form, the
 * text of the current minute) is settled once. Same bytes as alm_pg_put_cell.
 */
#ifndef ALM_CODEC_PG_PG_CELL_H
#define ALM_CODEC_PG_PG_CELL_H

#include "codec/pg/pg_value.h"
#include "time/timestamp.h"

typedef struct alm_pg_cell alm_pg_cell;
typedef alm_status (*alm_pg_cell_fn)(alm_ctx *cx, alm_pg_cell *cell, const alm_vec *v, size_t row,
                                     alm_buf *out);

/* How pg_rows.h writes a column; OWN: it does not, `put` does. */
typedef enum alm_pg_form {
    ALM_PG_FORM_OWN,
    ALM_PG_FORM_INT,
    ALM_PG_FORM_LONG,
    ALM_PG_FORM_DOUBLE,
    ALM_PG_FORM_TIME, /* TIMESTAMP, TIMESTAMP_NS */
    ALM_PG_FORM_TEXT
} alm_pg_form;

struct alm_pg_cell {
    alm_pg_cell_fn put; /* NULL: not set up */
    alm_type_id type;
    alm_pg_form form;
    bool binary, zone;
    alm_time_writer time;
};

void alm_pg_cell_init(const struct alm_conf *conf, alm_pg_cell *cell, alm_type type, bool binary);

/* Of BINARY as text: \\ and \ooo, as PostgreSQL's bytea_output = escape has it. */
void alm_pg_cell_escapes(alm_pg_cell *cell);

/* Appends the cell of a row: 4-byte length and bytes. */
ALM_NODISCARD static inline alm_status alm_pg_cell_put(alm_ctx *cx, alm_pg_cell *cell,
                                                       const alm_vec *vec, size_t row, alm_buf *out)
{
    return cell->put(cx, cell, vec, row, out);
}

#endif
