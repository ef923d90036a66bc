/*
 * source.h - table functions. A source is a row of source.def and a file <name>.c.
 *
 * bind checks the arguments (constants, ALM_X_CONST) and says the columns; what it leaves in *data is
 * read-only afterwards and given to open. Errors carry `pos` of the argument.
 */
#ifndef ALM_EXEC_SOURCE_H
#define ALM_EXEC_SOURCE_H

#include "exec/run/op.h"
#include "storage/storage.h"

/*
 * A source that is scanned as a table is: it is told which columns are read, gets the conditions, and
 * gives its rows by parts that threads take as morsels (op_source_scan.c). Columns are counted as plan->source.all.
 */
typedef struct alm_source_parts {
    uint32_t n;    /* parts, in the order of the rows */
    int64_t *rows; /* of each */
    void *data;
} alm_source_parts;

typedef struct alm_source_scan {
    /* Do all rows come in ascending order of the column, without nulls? `data` is that of bind. */
    alm_status (*ordered)(alm_ctx *cx, const void *data, uint32_t col, bool *out);
    /* The number of another column that is this one as codes of a dictionary; *twin = -1: there is none. While the
     * statement is planned. May be NULL, as the next. */
    alm_status (*codes)(alm_ctx *cx, void *data, uint32_t col, int32_t *twin);
    const alm_dict *(*dict)(const void *data,
                            uint32_t col); /* NULL: of a column that is not such a one */
    /* Once per run, on one thread. Parts of which no row can pass the conditions may be left out. `columns` in the
     * order of plan->source.cols are what will be read. */
    alm_status (*prepare)(alm_ctx *cx, const alm_plan *plan, alm_source_parts *out);
    /* Rows at whose multiples the part is best cut, 0: anywhere. May be NULL. */
    int64_t (*step)(const alm_plan *plan, const alm_source_parts *parts, uint32_t part);
    /* State of one thread; memory that lasts from cx->arena. */
    alm_status (*reader)(alm_ctx *cx, const alm_plan *plan, const alm_source_parts *parts,
                         void **out);
    /* Rows [row, row + n) of a part, n <= ALM_BATCH_ROWS: out[i] for each wanted[i] of plan->source.cols. Good until
     * the same column is read again. */
    alm_status (*read)(alm_ctx *cx, void *reader, uint32_t part, int64_t row, uint32_t n,
                       const bool *wanted, alm_arena *arena, alm_vec *out);
    /* What is known of plan->source.cols[i] from `row` on, and for how many rows. */
    alm_status (*stats)(alm_ctx *cx, void *reader, uint32_t part, int64_t row, uint32_t i,
                        int64_t *rows, alm_col_stats *out);
    /* The same for a whole part, without a reader; bounds are values of it. May be NULL. */
    void (*part_stats)(const alm_plan *plan, const alm_source_parts *parts, uint32_t part,
                       uint32_t i, alm_col_stats *out);
    void (*free)(void *reader); /* NULL is fine */
} alm_source_scan;

struct alm_source {
    const char *name;
    const char *signature, *doc, *example;
    alm_status (*bind)(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out);
    /* State of one reading; memory from cx->arena. */
    alm_status (*open)(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state);
    /* Fills out (cols, rows; n_cols is set); rows = 0: the end. Memory of the batch from `arena`. */
    alm_status (*next)(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out);
    void (*close)(void *state);              /* may be NULL */
    int64_t (*count)(const void *state);     /* rows still to come; may be NULL: unknown */
    void (*skip)(void *state, int64_t rows); /* with count */
    const alm_source_scan *scan;             /* instead of open to skip */
};

#endif
