/*
 * null.c - which columns of a part, or of rows in the log, need no bytes: those whose rows all have the value that a
 * source without the column reads as. That is null, or 0 for the types without null, in the very bits that a reader makes of it.
 *
 * Cost        The look ends at the first row with another value, which mostly is the first row. Only a column that is
 *             null to its end is read to its end, and then it is not written.
 */
#include "storage/part/format.h"
#include "storage/part/inner.h"

enum { CHECK_ROWS = 1 << 20 }; /* between two looks at the time limit */

/* What a reader makes of a column that the source lacks. */
typedef struct missing {
    bool views; /* any null view counts: the writer makes them all the same */
    uint8_t width;
    uint64_t bytes[4];
} missing;

static missing missing_of(alm_type type)
{
    missing result = {.views = alm_part_has_heap(type), .width = (uint8_t)alm_type_width(type)};
    ALM_ASSERT(result.width <= sizeof result.bytes);
    if (type.id != ALM_T_SYMBOL) /* code 0, whatever the width of the codes is */
        alm_value_set_null(type, result.bytes);
    return result;
}

/* Symbols come as codes of any width, or as a const null view: then all rows are null. */
static bool is_null_symbols(alm_type type, const alm_vec *vec)
{
    return type.id == ALM_T_SYMBOL && vec->width == sizeof(alm_view);
}

/* Row `row` of a vector of values, of which a const one has one. */
static bool row_is_missing(const missing *self, alm_type type, const alm_vec *vec, uint32_t row)
{
    const size_t offset = vec->is_const ? 0 : row;
    if (self->views)
        return alm_view_is_null((const alm_view *)vec->data + offset);
    return is_null_symbols(type, vec) ||
           memcmp((const char *)vec->data + offset * vec->width, self->bytes, vec->width) == 0;
}

static bool views_are_null(const alm_view *views, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!alm_view_is_null(&views[i]))
            return false;
    return true;
}

bool alm_values_are_missing(alm_type type, const alm_vec *vec, uint32_t rows)
{
    const missing self = missing_of(type);
    if (rows == 0)
        return true;
    if (!row_is_missing(&self, type, vec, 0))
        return false;
    if (vec->is_const || is_null_symbols(type, vec))
        return true;
    if (self.views)
        return views_are_null(vec->data, rows);
    /* The first value is that of a missing one, and each is equal to the one before. */
    const char *bytes = vec->data;
    return memcmp(bytes, bytes + vec->width, (size_t)(rows - 1) * vec->width) == 0;
}

static alm_status chunks_are_missing(alm_ctx *cx, const alm_part_spec *spec, uint32_t col,
                                     bool *out)
{
    const alm_type type = spec->cols[col].type;
    *out = true;
    for (size_t chunk = 0; chunk < spec->n_chunks && *out; chunk++) {
        ALM_TRY(alm_check(cx));
        *out =
            alm_values_are_missing(type, &spec->chunks[chunk].cols[col], spec->chunks[chunk].rows);
    }
    return ALM_OK;
}

/* The rows that the order names may all be null though others of the chunks are not. */
static alm_status ordered_are_missing(alm_ctx *cx, const alm_part_spec *spec, uint32_t col,
                                      const uint64_t *order, int64_t rows, bool *out)
{
    const alm_type type = spec->cols[col].type;
    const missing self = missing_of(type);
    *out = true;
    for (int64_t i = 0; i < rows && *out; i++) {
        if (i % CHECK_ROWS == 0)
            ALM_TRY(alm_check(cx));
        *out = row_is_missing(&self, type, &spec->chunks[order[i] >> 32].cols[col],
                              (uint32_t)order[i]);
    }
    return ALM_OK;
}

alm_status alm_part_is_missing(alm_ctx *cx, const alm_part_spec *spec, uint32_t col,
                               const uint64_t *order, int64_t rows, bool *out)
{
    ALM_TRY(chunks_are_missing(cx, spec, col, out));
    if (*out || order == NULL)
        return ALM_OK;
    return ordered_are_missing(cx, spec, col, order, rows, out);
}
