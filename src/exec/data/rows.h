/*
 * rows.h - rows kept in memory: one growing array per column, for operators that must hold rows (sort,
 * limit from the end, fill, join build, windows).
 *
 * Text is copied (views in address form); SYMBOL columns keep 4-byte codes while all batches come
 * with one dictionary, and become views otherwise. All memory is of the given pool and charged to it.
 * Row numbers are uint32: more than UINT32_MAX - 1 rows are an error.
 */
#ifndef ALM_EXEC_ROWS_H
#define ALM_EXEC_ROWS_H

#include "exec/run/op.h"

typedef struct alm_rows_col {
    alm_type type;
    uint8_t width;
    const alm_dict *dict; /* SYMBOL as codes */
    char *data;
} alm_rows_col;

typedef struct alm_rows {
    alm_pool *pool;
    alm_rows_col *col;
    uint32_t n_cols;
    uint32_t n, cap;
    char *text; /* current chunk of copied text */
    size_t text_left;
} alm_rows;

/* Types of the columns from `cols`; small memory from cx->arena. */
ALM_NODISCARD alm_status alm_rows_init(alm_ctx *cx, alm_rows *rows, alm_pool *pool,
                                       const alm_plan_col *cols, uint32_t n_cols);
uint8_t alm_rows_width(alm_type type); /* bytes per row; SYMBOL: as views */
/* Copies the rows of a batch (selection applied). */
ALM_NODISCARD alm_status alm_rows_append(alm_ctx *cx, alm_rows *rows, alm_arena *scratch,
                                         alm_batch *batch);
/* Copies rows pick[0..n) of dense or const vectors, one vector per column. */
ALM_NODISCARD alm_status alm_rows_append_picked(alm_ctx *cx, alm_rows *rows, const alm_vec *vecs,
                                                const uint32_t *pick, uint32_t n_rows);
/* Rows [at, at + n) of a column, borrowed until the next append. */
void alm_rows_slice(const alm_rows *rows, uint32_t col, uint32_t place, alm_vec *out);
/* Rows pick[0..n) of all columns into out[0..n_cols), memory from `arena`. */
ALM_NODISCARD alm_status alm_rows_gather(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                                         const uint32_t *pick, uint32_t n_rows, alm_vec *out);
/* The same; columns with skip[c] are left alone. */
ALM_NODISCARD alm_status alm_rows_gather_some(alm_ctx *cx, const alm_rows *rows, alm_arena *arena,
                                              const uint32_t *pick, uint32_t n, const bool *skip,
                                              alm_vec *out);
/* dest[i] = from[pick[i]] for values of `width` bytes (1 to 32): a typed loop per width. */
void alm_rows_pick(const void *from, uint8_t width, const uint32_t *pick, uint32_t n, void *dest);
/* Keeps rows pick[0..n) only, in that order. The text of the others stays until the pool goes. */
ALM_NODISCARD alm_status alm_rows_keep(alm_ctx *cx, alm_rows *rows, const uint32_t *pick,
                                       uint32_t n);
/* The same with their text: copied into the memory of `other`, which is empty and changes places with the
 * rows' own pool; what the rows held before is given back. */
ALM_NODISCARD alm_status alm_rows_keep_moved(alm_ctx *cx, alm_rows *rows, alm_pool *other,
                                             alm_arena *scratch, const uint32_t *pick, uint32_t n);
/* Drops the first n rows. */
void alm_rows_drop(alm_rows *rows, uint32_t n);

#endif
