/*
 * parquet_load.h - a Parquet file that comes in pieces, on its way into a table: kept in a temporary file until all of it is there
 * (its schema stands at its end), then read batch by batch, columns side by side on the workers. Private to session/.
 *
 * Errors      As load.h has them: a value that its column cannot hold is null and counted, or its row is left out, or the load
 *             fails and names row, column and value. Nothing is cut or rounded in silence, but floating numbers as such.
 * Columns     Those that cannot be read (maps, lists of texts) are left out.
 * Threads     One caller at a time.
 */
#ifndef ALM_SESSION_PARQUET_LOAD_H
#define ALM_SESSION_PARQUET_LOAD_H

#include "session/session.h"
#include "session/transfer/load.h"

typedef struct alm_parquet_load alm_parquet_load;

ALM_NODISCARD alm_status alm_parquet_load_new(alm_ctx *cx, alm_session *session,
                                              alm_parquet_part part, alm_parquet_load **out);
void alm_parquet_load_free(alm_parquet_load *load); /* NULL is fine */
ALM_NODISCARD alm_status alm_parquet_load_feed(alm_ctx *cx, alm_parquet_load *load,
                                               const char *bytes, size_t n);
/* No more bytes come: the columns of the file, memory from cx->arena. *left_out: a sentence about those that are not among
 * them, or NULL. */
ALM_NODISCARD alm_status alm_parquet_load_open(alm_ctx *cx, alm_parquet_load *load,
                                               alm_csv_shape *shape, const char **left_out);
/* By column of the shape: in what numbers count that become times; NONE: in the ticks of the type. */
void alm_parquet_load_units(alm_parquet_load *load, const alm_epoch *units);
int64_t alm_parquet_load_file_rows(const alm_parquet_load *load); /* once open */
/* Once open: where the first row group stands, and from where on the end must come for its rows to be read. False: there
 * are none, or they are here already. */
bool alm_parquet_load_wants(const alm_parquet_load *load, alm_parquet_part *group, int64_t *tail);
/* Of load: table, n_cols, table_col, rule, workers, sink and counts, as in load.h; its columns are those of the shape. */
ALM_NODISCARD alm_status alm_parquet_load_begin(alm_ctx *cx, alm_parquet_load *parquet_load,
                                                const alm_load *load);
/* Takes the next rows, at most `rows` (0: as many as make a piece of work). *done: there are no more. */
ALM_NODISCARD alm_status alm_parquet_load_step(alm_ctx *cx, alm_parquet_load *parquet_load,
                                               alm_load *load, uint32_t rows, bool *done);
/* Texts of the first rows of the file, by row, as many as *n: for a look at them. ptr NULL: null. */
ALM_NODISCARD alm_status alm_parquet_load_texts(alm_ctx *cx, alm_parquet_load *load, uint32_t *n,
                                                alm_str **out);

#endif
