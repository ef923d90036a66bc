/*
 * payload.h - what log records and the catalogue file are made of: numbers, texts, and operations around them. What
 * an operation contains is written and read by version/encode.h. Layout: docs/internals/storage.md, sections 2 and 5.
 * Little-endian.
 *
 * Errors      A reader never goes beyond its end: after the first item that does not fit, `bad` is
 *             set and everything reads as zero.
 */
#ifndef ALM_STORAGE_PAYLOAD_H
#define ALM_STORAGE_PAYLOAD_H

#include "base/base.h"

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

ALM_NODISCARD alm_status alm_put_u32(alm_ctx *cx, alm_buf *buf, uint32_t value);
ALM_NODISCARD alm_status alm_put_u64(alm_ctx *cx, alm_buf *buf, uint64_t value);
ALM_NODISCARD alm_status alm_put_i64(alm_ctx *cx, alm_buf *buf, int64_t value);
ALM_NODISCARD alm_status alm_put_text(alm_ctx *cx, alm_buf *buf, alm_str text);
/* An operation around what is put between the two calls. */
ALM_NODISCARD alm_status alm_op_begin(alm_ctx *cx, alm_buf *buf, alm_op_kind kind, size_t *mark);
ALM_NODISCARD alm_status alm_op_end(alm_ctx *cx, alm_buf *buf, size_t mark);
/* Zeros behind `written` bytes, up to the next multiple of 8. */
ALM_NODISCARD alm_status alm_put_padding(alm_ctx *cx, alm_buf *buf, size_t written);
static inline uint64_t alm_padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

/* ------------------------------------------------------------------- reading */

typedef struct alm_reader {
    const char *at, *end;
    bool bad;
    uint32_t form; /* of what is described: ALM_PARTS_FORM or before */
} alm_reader;

uint8_t alm_get_u8(alm_reader *reader);
uint32_t alm_get_u32(alm_reader *reader);
uint64_t alm_get_u64(alm_reader *reader);
int64_t alm_get_i64(alm_reader *reader);
alm_str alm_get_text(alm_reader *reader);
/* n bytes, NULL if there are not that many. */
const char *alm_get_bytes(alm_reader *reader, uint64_t n);

/* One operation of a payload; false: no more (or bad). */
bool alm_get_op(alm_reader *reader, alm_op_kind *kind, alm_reader *body);

#endif
