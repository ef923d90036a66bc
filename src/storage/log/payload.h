/*
 * payload.h - operations as bytes: what log records and the catalogue file are made of. Layout:
 * docs/internals/storage.md, sections 2 and 5. Little-endian.
 *
 * Errors      A reader never goes beyond its end: after the first item that does not fit, `bad` is
 *             set and everything reads as zero. Decoders return ALM_E_CORRUPT.
 */
#ifndef ALM_STORAGE_PAYLOAD_H
#define ALM_STORAGE_PAYLOAD_H

#include "storage/state.h"

typedef enum alm_op_kind {
    ALM_OP_ROWS = 1,
    ALM_OP_SYMBOLS,
    ALM_OP_CREATE,
    ALM_OP_DROP,
    ALM_OP_RENAME,
    ALM_OP_TRUNCATE,
    ALM_OP_ADD_COLUMN,
    ALM_OP_PARTS,
    ALM_OP_ALTER,
    ALM_OP_MOVE,
    ALM_OP_VIEW,
    ALM_OP_TOUCH,
    ALM_OP_COMMENT,
    ALM_OP_EXPIRE,
    ALM_OP_TIME,
    ALM_OP_RECORDS,
    ALM_OP_LAST = ALM_OP_RECORDS
} alm_op_kind;

/*
 * Descriptions of parts have three forms: 0 without checksums of footers, 1 with them, 2 with their place in a file that they
 * share. An operation says in its head which it has; the catalogue file by its version.
 */
enum { ALM_PARTS_FORM = 2 };

/* ------------------------------------------------------------------- writing */

ALM_NODISCARD alm_status alm_put_u32(alm_ctx *cx, alm_buf *buf, uint32_t v);
ALM_NODISCARD alm_status alm_put_u64(alm_ctx *cx, alm_buf *buf, uint64_t v);
ALM_NODISCARD alm_status alm_put_i64(alm_ctx *cx, alm_buf *buf, int64_t v);
ALM_NODISCARD alm_status alm_put_text(alm_ctx *cx, alm_buf *buf, alm_str text);
ALM_NODISCARD alm_status alm_put_column(alm_ctx *cx, alm_buf *buf, const alm_column *col,
                                        uint32_t dict_count);
/* Name, schema, options; neither parts nor rows. */
ALM_NODISCARD alm_status alm_put_table(alm_ctx *cx, alm_buf *buf, const alm_version *v);
/* The whole operation ALM_OP_ALTER: the table is described as `v` has it. */
ALM_NODISCARD alm_status alm_op_alter(alm_ctx *cx, alm_buf *buf, const alm_version *v);
ALM_NODISCARD alm_status alm_put_part(alm_ctx *cx, alm_buf *buf, const alm_part_ref *part);
ALM_NODISCARD alm_status alm_put_view(alm_ctx *cx, alm_buf *buf, const alm_view_def *view);
/* Body of rows [0, rows) of a chunk. */
ALM_NODISCARD alm_status alm_put_rows(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                      const alm_chunk *chunk, uint32_t rows);
/* An operation around what is put between the two calls. */
ALM_NODISCARD alm_status alm_op_begin(alm_ctx *cx, alm_buf *buf, alm_op_kind kind, size_t *mark);
ALM_NODISCARD alm_status alm_op_end(alm_ctx *cx, alm_buf *buf, size_t mark);
/* Codes [from, to) of a column. */
ALM_NODISCARD alm_status alm_op_symbols(alm_ctx *cx, alm_buf *buf, uint64_t table_id,
                                        uint32_t col_id, const struct alm_symbols *symbols,
                                        uint32_t from, uint32_t to);

/* ------------------------------------------------------------------- reading */

typedef struct alm_reader {
    const char *at, *end;
    bool bad;
    uint32_t form; /* of what is described: ALM_PARTS_FORM or before */
} alm_reader;

uint8_t alm_get_u8(alm_reader *r);
uint32_t alm_get_u32(alm_reader *r);
uint64_t alm_get_u64(alm_reader *r);
int64_t alm_get_i64(alm_reader *r);
alm_str alm_get_text(alm_reader *r);
/* n bytes, NULL if there are not that many. */
const char *alm_get_bytes(alm_reader *r, uint64_t n);

/* One operation of a payload; false: no more (or bad). */
bool alm_get_op(alm_reader *r, alm_op_kind *kind, alm_reader *body);

/* Fills col (name is copied into the table's memory) and its dictionary count. */
ALM_NODISCARD alm_status alm_get_column(alm_ctx *cx, alm_reader *r, alm_tab *tab, alm_column *col,
                                        uint32_t *dict_count);
/* One reference to the caller. */
ALM_NODISCARD alm_status alm_get_view(alm_ctx *cx, alm_reader *r, struct alm_view_obj **out);
/* The description of a table as it was written. Names are in the memory of the table. */
typedef struct alm_description {
    alm_table table; /* cols: malloc */
    uint32_t next_col_id;
    uint32_t *counts;          /* per column, codes of its dictionary; malloc */
    struct alm_view_obj *view; /* or NULL */
} alm_description;
ALM_NODISCARD alm_status alm_get_description(alm_ctx *cx, alm_reader *r, alm_tab *tab,
                                             alm_description *out);
void alm_description_free(alm_description *d);
/* A version without parts and rows, with new dictionaries; counts[] (malloc, n_cols) says how many
 * codes the dictionaries must get before the version is used. */
ALM_NODISCARD alm_status alm_get_table(alm_ctx *cx, alm_storage *st, alm_reader *r,
                                       alm_version **out, uint32_t **counts);
/* The file of a part or overlay, as it stands within a description. */
struct alm_part_claim;
void alm_get_file(alm_reader *r, struct alm_part_claim *claim);
ALM_NODISCARD alm_status alm_get_part(alm_ctx *cx, alm_storage *st, uint64_t table_id,
                                      alm_reader *r, alm_part_ref **out);
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
ALM_NODISCARD alm_status alm_get_rows_body(alm_ctx *cx, alm_reader *r, const alm_schema *schema,
                                           alm_rows_body *out);
void alm_rows_body_free(alm_rows_body *body);
/* Rows [from, from + n) of it become rows [at, at + n) of the chunk, whose schema it was read for. */
ALM_NODISCARD alm_status alm_rows_body_copy(alm_ctx *cx, const alm_rows_body *body, uint32_t from,
                                            uint32_t n, alm_chunk *chunk, uint32_t at);
/* Can its bytes be read as arrays where they stand? */
bool alm_rows_body_is_aligned(const alm_rows_body *body);
/* A chunk whose columns, and texts, are the bytes of the operation where that is possible: it must not outlive them. */
ALM_NODISCARD alm_status alm_rows_body_borrow(alm_ctx *cx, const alm_rows_body *body,
                                              alm_schema *schema, alm_chunk **out);
/* The same read and copied into a chunk of its own. */
ALM_NODISCARD alm_status alm_get_rows(alm_ctx *cx, alm_reader *r, alm_schema *schema,
                                      alm_chunk **out, uint32_t *rows);
/* Are rows [at, at + rows) in order of time, and has each SYMBOL column only codes that the dictionaries of the schema have, now? A
 * checksum does not say so of bytes that somebody else wrote. ts_col: -1, there is no time. */
bool alm_rows_fit(const alm_chunk *chunk, uint32_t at, uint32_t rows, int32_t ts_col);

#endif
