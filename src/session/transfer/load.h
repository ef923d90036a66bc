/*
 * load.h - records of a file, or of what a client sends, on their way into a table: a block of them is
 * converted column by column (columns side by side on the workers) and handed on as a batch of the
 * table.
 *
 * Errors      A value that is not of its column's type is null and counted (SKIP_COLUMN), or its record
 *             is left out (SKIP_ROW), or the load fails and names line, column and value (ABORT). A
 *             record whose designated timestamp is null is left out, or fails likewise.
 * Memory      One block and its values; both go with the next block.
 * Threads     One caller at a time.
 */
#ifndef ALM_SESSION_LOAD_H
#define ALM_SESSION_LOAD_H

#include "codec/copy/copy.h"
#include "exec/eval/eval.h"
#include "exec/exec.h"

enum { ALM_LOAD_FAULTS_MAX = 100 };

typedef enum alm_bad_rule { ALM_BAD_SKIP_COLUMN, ALM_BAD_SKIP_ROW, ALM_BAD_ABORT } alm_bad_rule;

/*
 * Not all of a Parquet file, to be looked at. file_bytes > 0: what comes is the end of a file of that length, which has a schema
 * and no rows to be read. from, bytes > 0: so many bytes of the first row group come before it, which stand there.
 */
typedef struct alm_parquet_part {
    int64_t file_bytes, from, bytes;
} alm_parquet_part;

typedef struct alm_load {
    const alm_table *table;
    alm_csv_reader *reader;
    uint32_t n_cols;           /* of the records */
    const uint32_t *table_col; /* of each of them */
    alm_bad_rule rule;
    bool skip_extra;          /* values behind the last column are left out, not their record */
    bool strict;              /* a record has exactly n_cols values */
    bool header;              /* the first record holds names */
    const char *const *names; /* that they must be; NULL: any */
    alm_str what;             /* begins error messages: "COPY t, " */
    alm_workers *workers;     /* NULL: none */
    alm_filter *where; /* rows it does not take are left out; symbols as texts; NULL: none. Freed */
    int64_t skip_max;  /* SKIP_ROW: more rejected lines than that are a failure; 0: any number */
    alm_status (*sink)(alm_ctx *cx, void *arg, const alm_batch *batch);
    void *arg;
    /* counts so far */
    int64_t handled, rejected;
    int64_t *errors;     /* per column */
    const char **faults; /* the first of them in words; NULL: not wanted */
    int64_t n_faulty;    /* lines with a fault: as many of the first as fit are in `faults` */
    /* private */
    alm_arena *kept;
    alm_arena batch;
    struct alm_load_column *columns;
} alm_load;

/* All fields above `private` are set, but the counts. Memory from the arena, which is kept. faults:
 * lines with faults are to be told, too. */
ALM_NODISCARD alm_status alm_load_init(alm_ctx *cx, alm_arena *arena, alm_load *load, bool faults);
void alm_load_deinit(alm_load *load); /* the reader too; of a zeroed one: nothing */
/* VARCHAR(n): a text of more characters is no value of the column; it is null then, and marked in `bad`. */
ALM_NODISCARD alm_status alm_load_check_length(alm_ctx *cx, alm_arena *arena, const alm_column *to,
                                               alm_vec *vec, uint32_t rows, uint8_t *bad,
                                               uint32_t *n_bad);
/* Takes what was fed to the reader. last: there will be no more. */
ALM_NODISCARD alm_status alm_load_rows(alm_ctx *cx, alm_load *load, bool last);

#endif
