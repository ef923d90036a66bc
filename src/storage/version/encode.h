/*
 * encode.h - versions as bytes, for log records and the catalogue file, and back: tables, columns, parts, rows, symbols,
 * views, comments, records. Layout: docs/internals/storage.md, sections 2 and 5; log/payload.h has the numbers and texts.
 *
 * Errors      Decoders return ALM_E_CORRUPT. They check what they read although a checksum covers it, because a program
 *             with an error may have written it.
 */
#ifndef ALM_STORAGE_ENCODE_H
#define ALM_STORAGE_ENCODE_H

#include "storage/log/payload.h"
#include "storage/state.h"

struct alm_comments;
struct alm_records;

/* ------------------------------------------------------------------- writing */

ALM_NODISCARD alm_status alm_put_column(alm_ctx *cx, alm_buf *buf, const alm_column *col,
                                        uint32_t dict_count);
/* Name, schema, options; neither parts nor rows. */
ALM_NODISCARD alm_status alm_put_table(alm_ctx *cx, alm_buf *buf, const alm_version *version);
/* The whole operation ALM_OP_ALTER: the table is described as `version` has it. */
ALM_NODISCARD alm_status alm_op_alter(alm_ctx *cx, alm_buf *buf, const alm_version *version);
ALM_NODISCARD alm_status alm_put_part(alm_ctx *cx, alm_buf *buf, const alm_part_ref *part);
ALM_NODISCARD alm_status alm_put_view(alm_ctx *cx, alm_buf *buf, const alm_view_def *view);
/* Body of rows [0, rows) of a chunk. */
ALM_NODISCARD alm_status alm_put_rows(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                      const alm_chunk *chunk, uint32_t rows);
/* Codes [from, to) of a column. */
ALM_NODISCARD alm_status alm_op_symbols(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                        uint32_t col_id, const struct alm_symbols *symbols,
                                        uint32_t from, uint32_t to);
/* Times of a table that were touched, at most ALM_TOUCH_MAX ranges. */
ALM_NODISCARD alm_status alm_op_touch(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                      const alm_scan_range *ranges, uint32_t n_ranges);
/* A comment of a column, or of the table (col_id 0). */
ALM_NODISCARD alm_status alm_op_comment(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                        uint32_t col_id, alm_str text);
/* All comments of a version: as operations, and in the catalogue file. */
ALM_NODISCARD alm_status alm_op_comments(alm_ctx *cx, alm_buf *buf, const alm_version *version);
ALM_NODISCARD alm_status alm_put_comments(alm_ctx *cx, alm_buf *buf, const alm_version *version);
/* A change of the records, and all of them in the catalogue file. */
ALM_NODISCARD alm_status alm_op_records(alm_ctx *cx, alm_buf *buf,
                                        const alm_records_change *change);
ALM_NODISCARD alm_status alm_put_records(alm_ctx *cx, alm_buf *buf,
                                         const struct alm_records *records);

/* ------------------------------------------------------------------- reading */

/* Fills col (name is copied into the table's memory) and its dictionary count. */
ALM_NODISCARD alm_status alm_get_column(alm_ctx *cx, alm_reader *reader, alm_tab *tab,
                                        alm_column *col, uint32_t *dict_count);
/* One reference to the caller. */
ALM_NODISCARD alm_status alm_get_view(alm_ctx *cx, alm_reader *reader, struct alm_view_obj **out);
/* The description of a table as it was written. Names are in the memory of the table. */
typedef struct alm_description {
    alm_table table; /* cols: malloc */
    uint32_t next_col_id;
    uint32_t *counts;          /* per column, codes of its dictionary; malloc */
    struct alm_view_obj *view; /* or NULL */
} alm_description;
ALM_NODISCARD alm_status alm_get_description(alm_ctx *cx, alm_reader *reader, alm_tab *tab,
                                             alm_description *out);
void alm_description_free(alm_description *description);
/* A version without parts and rows, with new dictionaries; counts[] (malloc, n_cols) says how many
 * codes the dictionaries must get before the version is used. */
ALM_NODISCARD alm_status alm_get_table(alm_ctx *cx, alm_storage *storage, alm_reader *reader,
                                       alm_version **out, uint32_t **counts);
/* The file of a part or overlay, as it stands within a description. */
struct alm_part_claim;
void alm_get_file(alm_reader *reader, struct alm_part_claim *claim);
ALM_NODISCARD alm_status alm_get_part(alm_ctx *cx, alm_storage *storage, uint64_t table_id,
                                      alm_reader *reader, alm_part_ref **out);
/* Where the values of a rows operation stand. Reused from operation to operation, freed by alm_rows_body_free. */
typedef struct alm_rows_body {
    uint32_t rows, n_cols, cap;
    struct alm_rows_col {   /* as the columns of the schema */
        const char *values; /* NULL: not in the operation */
        const char *heap;
        uint64_t heap_bytes;
    } *cols;
} alm_rows_body;
/* The body of a rows operation behind its table id. */
ALM_NODISCARD alm_status alm_get_rows_body(alm_ctx *cx, alm_reader *reader,
                                           const alm_schema *schema, alm_rows_body *out);
void alm_rows_body_free(alm_rows_body *body);
/* Rows [from, from + n) of it become rows [at, at + n) of the chunk, whose schema it was read for. */
ALM_NODISCARD alm_status alm_rows_body_copy(alm_ctx *cx, const alm_rows_body *body, uint32_t from,
                                            uint32_t n, alm_chunk *chunk, uint32_t place);
/* Can its bytes be read as arrays where they stand? */
bool alm_rows_body_is_aligned(const alm_rows_body *body);
/* A chunk whose columns, and texts, are the bytes of the operation where that is possible: it must not outlive them. */
ALM_NODISCARD alm_status alm_rows_body_borrow(alm_ctx *cx, const alm_rows_body *body,
                                              alm_schema *schema, alm_chunk **out);
/* The same read and copied into a chunk of its own. */
ALM_NODISCARD alm_status alm_get_rows(alm_ctx *cx, alm_reader *reader, alm_schema *schema,
                                      alm_chunk **out, uint32_t *rows);
/* Are rows [at, at + rows) in order of time, and has each SYMBOL column only codes that the dictionaries of the schema have, now? A
 * checksum does not say so of bytes that somebody else wrote. ts_col: -1, there is no time. */
bool alm_rows_fit(const alm_chunk *chunk, uint32_t place, uint32_t rows, int32_t ts_col);
/* The comments of a table in the catalogue file. */
ALM_NODISCARD alm_status alm_get_comments(alm_ctx *cx, alm_reader *reader, alm_version *version);
/* A change of the records from the log; all of them from the catalogue file. Both go into the build. */
ALM_NODISCARD alm_status alm_redo_records(alm_ctx *cx, alm_build *build, alm_reader *reader);
ALM_NODISCARD alm_status alm_get_records(alm_ctx *cx, alm_build *build, alm_reader *reader);

/* Flags of a view that is stored: it is deferred; the length of its buckets comes behind the rest. */
enum { ALM_STORED_VIEW_DEFERRED = 1, ALM_STORED_VIEW_BUCKET = 2 };

#endif
