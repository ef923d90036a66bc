/*
 * array.h - DOUBLE[]: numbers in a block of 1 to 32 dimensions.
 *
 * Shape       A value is a view of its bytes: one uint32 per dimension (outermost first), then the
 *             numbers in row order. Elements lie at any address, so they are read by alm_array_at. All
 *             lengths of an empty array are 0.
 * Null rule   The null view is a null array. A null element is the one NaN, and zero has one sign, so that
 *             equal arrays are equal bytes.
 * Ownership   alm_array borrows the bytes of the view; made arrays belong to the arena.
 * Errors      More than ALM_ARRAY_MAX numbers: ALM_E_LIMIT.
 */
#ifndef ALM_TYPE_ARRAY_H
#define ALM_TYPE_ARRAY_H

#include "type/text.h"

enum { ALM_ARRAY_MAX = 1 << 27 }; /* numbers in one array */

typedef struct alm_array {
    uint32_t dims; /* 0: null */
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    size_t count; /* product of the lengths */
    const char *data;
} alm_array;

static inline double alm_array_at(const char *data, size_t i)
{
    double value;
    memcpy(&value, data + i * sizeof value, sizeof value);
    return value;
}

/* Row i of an ARRAY vector. Bytes that are no array of that many dimensions read as null. */
alm_array alm_array_of(const alm_vec *vec, size_t i);
bool alm_array_same_shape(const alm_array *a, const alm_array *b);

/* An array being made: fill at[0 .. count), then finish. */
typedef struct alm_array_out {
    char *bytes;
    size_t n_bytes, count;
    char *at;
} alm_array_out;

static inline void alm_array_put(alm_array_out *writer, size_t i, double value)
{
    memcpy(writer->at + i * sizeof value, &value, sizeof value);
}
ALM_NODISCARD alm_status alm_array_begin(alm_ctx *cx, alm_arena *arena, int32_t pos, uint32_t dims,
                                         const uint32_t *len, alm_array_out *out);
/* Gives nulls and zeros their one form. */
alm_view alm_array_finish(alm_array_out *writer);

/* DIALECT: [[1.0,null],[2.0,3.5]]; PG: {{1,NULL},{2,3.5}}. The array is not null. */
ALM_NODISCARD alm_status alm_array_format(alm_ctx *cx, const alm_array *array, alm_text_style style,
                                          alm_buf *out);
/* Either form, blanks allowed, null in any case, numbers in double quotes or not. *good is false for a text that is no array of that
 * many dimensions. */
ALM_NODISCARD alm_status alm_array_parse(alm_ctx *cx, alm_arena *arena, int32_t pos, uint32_t dims,
                                         alm_str text, alm_view *out, bool *good);
/* "[2,3]" for errors, cut to the room. */
const char *alm_array_shape(const alm_array *array, char *out, size_t room);

#endif
