/*
 * value.h - hash, equality and order of values, a column at a time: what grouping, joins, sorting
 * and DISTINCT stand on.
 *
 * Equality    The one of the dialect: null equals null, -0.0 equals 0.0, NaN and the infinities are
 *             all null. Hashes agree with it.
 * Order       Ascending: nulls first; but last for FLOAT and DOUBLE (a null is the largest number
 *             there), as the reference has it. Text by bytes. CHAR, IPv4, UUID and LONG256 unsigned.
 * Symbols     With a dictionary they are hashed and matched by code: vectors that are compared with
 *             each other must have the same dict->id, else decode them first (alm_vec_decode).
 *             alm_vec_compare and alm_vec_equal look at the text and need no such care.
 * Shapes      Vectors are dense or const (not indirect).
 */
#ifndef ALM_TYPE_VALUE_H
#define ALM_TYPE_VALUE_H

#include "type/vector.h"

/* By type. */
extern const uint8_t alm_type_forms[ALM_TYPE_COUNT];

/* What the elements are: that of codes where there is a dictionary, and never SIZED. */
static inline alm_value_form alm_vec_form(const alm_vec *vec)
{
    if (vec->dict != NULL)
        return vec->width == 1 ? ALM_FORM_U8 : vec->width == 2 ? ALM_FORM_U16 : ALM_FORM_U32;
    const alm_value_form form = (alm_value_form)alm_type_forms[vec->type.id];
    if (form != ALM_FORM_SIZED)
        return form;
    switch (vec->width) {
    case 1:
        return ALM_FORM_I8;
    case 2:
        return ALM_FORM_I16;
    case 4:
        return ALM_FORM_I32;
    case 8:
        return ALM_FORM_I64;
    case 16:
        return ALM_FORM_I128;
    default:
        return ALM_FORM_I256;
    }
}

/* hash[i] of element i, i < n_rows. */
void alm_vec_hash(const alm_vec *vec, size_t n_rows, uint64_t *hash);
/* hash[i] = combination of hash[i] and element i: for the second and further key columns. */
void alm_vec_hash_combine(const alm_vec *vec, size_t n_rows, uint64_t *hash);

/* match[k] &= a[ia[k]] equals b[ib[k]], k < n_rows; ia or ib NULL: k itself. Types must be the same. */
void alm_vec_match(const alm_vec *a, const uint32_t *ia, const alm_vec *b, const uint32_t *ib,
                   size_t n_rows, uint8_t *match);

/* Two single values of the same type; text types compare with each other. */
bool alm_vec_equal(const alm_vec *a, size_t i, const alm_vec *b, size_t j);
/* < 0, 0, > 0. */
int alm_vec_compare(const alm_vec *a, size_t i, const alm_vec *b, size_t j);

/*
 * Keys whose unsigned order is the order of the values (bit by bit inverted: the descending order).
 * True: equal keys mean equal values, and the keys alone sort the column. False (text, UUID,
 * INTERVAL, numbers over 64 bits): values with equal keys must be compared.
 */
bool alm_vec_sort_keys(const alm_vec *vec, size_t n_rows, uint64_t *keys);

/* out[i] = 1 where element i is null. Returns how many are. */
size_t alm_vec_null_mask(const alm_vec *vec, size_t n_rows, uint8_t *out);

#endif
