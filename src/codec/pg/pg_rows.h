/*
 * pg_rows.h - DataRow messages of many rows, written column by column: for results of plain types, which is
 * most exports. What it writes is byte for byte what alm_pg_cell_put would.
 *
 * Threads     As pg_cell.h.
 */
#ifndef ALM_CODEC_PG_ROWS_H
#define ALM_CODEC_PG_ROWS_H

#include "codec/pg/pg_cell.h"

/* Can the columns be written so? Integers, doubles and times in binary; texts in both forms. */
bool alm_pg_rows_can(const alm_pg_cell *cells, uint32_t n_cols);
/*
 * Appends messages of rows [from, to) of the batch, at least one, until `room` bytes are passed; *end is the row
 * behind the last. On failure (memory) nothing is appended. Only where alm_pg_rows_can, to > from.
 */
ALM_NODISCARD alm_status alm_pg_rows_put(alm_ctx *cx, const alm_pg_cell *cells,
                                         const alm_batch *batch, uint32_t from, uint32_t to,
                                         size_t room, alm_buf *out, uint32_t *end);

#endif
