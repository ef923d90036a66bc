/*
 * text_list.h - lists written as texts: "{a,b}" as PostgreSQL writes arrays, and "1 2" as it writes
 * the vectors of its catalogue. array_agg over texts, ARRAY(select ...) and columns of pg_catalog
 * give them; a STRING that is one says so in its type (alm_list_of), so that drivers get an array.
 *
 * Null        An element NULL without quotes is null, in letters of any size.
 * Blanks      Around the elements of {a, b} they do not count, as in PostgreSQL.
 * Quotes      An element with a blank, a brace, a comma, a quote or a backslash in it, an empty one and
 *             one that reads NULL stand in quotes; \ takes the byte behind it as it is.
 */
#ifndef ALM_TYPE_TEXT_LIST_H
#define ALM_TYPE_TEXT_LIST_H

#include "type/type.h"

enum { ALM_UNNEST_MAX = 128 }; /* most elements that unnest makes rows of */

typedef struct alm_text_list {
    const char *at, *end; /* at NULL: no element is left */
    char gap;             /* between elements: ',' or ' ' */
} alm_text_list;

typedef struct alm_list_element {
    alm_str raw; /* between its quotes, escapes not resolved */
    bool quoted;
} alm_list_element;

/* A text without braces is a vector. ptr NULL: a list without elements. */
alm_text_list alm_text_list_of(alm_str text);
/* false: there are no more. */
bool alm_text_list_next(alm_text_list *list, alm_list_element *out);
bool alm_list_element_is_null(const alm_list_element *element);
/* Its text into `dest`, which has room for raw.len bytes; gives the length. */
size_t alm_list_element_text(const alm_list_element *element, char *dest);
/* The element as it stands in a list, into `dest` with room for 2 * len + 4 bytes; ptr NULL: NULL. */
size_t alm_list_element_write(alm_str text, char *dest);

#endif
