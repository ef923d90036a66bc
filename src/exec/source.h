/*
 * source.h - table functions. A source is a row of source.def and a file source_<name>.c.
 *
 * bind checks the arguments (constants, ALM_X_CONST) and says the columns; what it leaves in *data is
 * read-only afterwards and given to open. Errors carry `pos` of the argument.
 */
#ifndef ALM_EXEC_SOURCE_H
#define ALM_EXEC_SOURCE_H

#include "exec/op.h"

typedef struct alm_source_bound {
    alm_plan_col *cols;
    uint32_t n_cols;
    int32_t ts_col;
    double est_rows;
    void *data;
} alm_source_bound;

struct alm_source {
    const char *name;
    const char *signature, *doc, *example;
    alm_status (*bind)(alm_ctx *cx, alm_snapshot *snap, int32_t pos, const alm_expr *const *args,
                       uint32_t n_args, alm_source_bound *out);
    /* State of one reading; memory from cx->arena. */
    alm_status (*open)(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state);
    /* Fills out (cols, rows; n_cols is set); rows = 0: the end. Memory of the batch from `arena`. */
    alm_status (*next)(alm_ctx *cx, void *state, alm_arena *arena, alm_batch *out);
    void (*close)(void *state);              /* may be NULL */
    int64_t (*count)(const void *state);     /* rows still to come; may be NULL: unknown */
    void (*skip)(void *state, int64_t rows); /* with count */
};

#endif
