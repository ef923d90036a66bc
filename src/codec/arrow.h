/*
 * arrow.h - batches as Arrow C data interface arrays (https://arrow.apache.org, "C data interface").
 *
 * Shapes      A batch becomes a struct array with one child per column. Text becomes utf8 with
 *             32-bit offsets, CHAR, IPV4 and INTERVAL become utf8 too, BOOLEAN becomes bits.
 * Ownership   Arrays and schemas own copies of everything; the consumer calls release.
 */
#ifndef ALM_CODEC_ARROW_H
#define ALM_CODEC_ARROW_H

#include "type/vector.h"

struct ArrowSchema;
struct ArrowArray;

/* How the formats of the C data interface begin (column `arrow` of type.def) that more than one place looks at. */
typedef enum alm_arrow_form {
    ALM_ARROW_BOOL = 'b',
    ALM_ARROW_FLOAT = 'f',
    ALM_ARROW_DOUBLE = 'g',
    ALM_ARROW_FIXED = 'w', /* w:16 */
    ALM_ARROW_LIST = '+',  /* +l */
    ALM_ARROW_TIME = 't',  /* tsm, tsu, tsn */
    ALM_ARROW_UTF8 = 'u',
    ALM_ARROW_BINARY = 'z'
} alm_arrow_form;
/* Bytes of any length, with offsets? */
static inline bool alm_arrow_is_text(char form)
{
    return form == ALM_ARROW_UTF8 || form == ALM_ARROW_BINARY;
}

typedef struct alm_arrow_field {
    const char *name;
    alm_type type;
} alm_arrow_field;

ALM_NODISCARD alm_status alm_arrow_schema(alm_ctx *cx, const alm_arrow_field *fields, uint32_t n,
                                          struct ArrowSchema *out);
/* ALM_E_MEMORY; ALM_E_LIMIT when the text of one column passes 2 GiB. */
ALM_NODISCARD alm_status alm_arrow_array(alm_ctx *cx, const alm_batch *batch,
                                         struct ArrowArray *out);
/* One column alone, with the errors of alm_arrow_array. */
ALM_NODISCARD alm_status alm_arrow_column(alm_ctx *cx, const alm_vec *vec, uint32_t rows,
                                          struct ArrowArray *out);

#endif
