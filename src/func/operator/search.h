/*
 * search.h - which texts of a vector contain a given text.
 *
 * Method      Where the texts of a batch lie one behind the other (as storage and most producers leave
 *             them) all of them are searched as one piece, many positions at a time: the first and the
 *             last byte are compared, and what lies between where both agree. A hit belongs to the text
 *             that holds all of it. Else text by text.
 * Time        Batches of long texts are searched in pieces, with a look at cancel and the time limit between them.
 */
#ifndef ALM_FUNC_SEARCH_H
#define ALM_FUNC_SEARCH_H

#include "type/vector.h"

/* Position of the first occurrence of `what` (not empty) in n bytes at `input`; n: none. */
size_t alm_search_find(const char *input, size_t n, alm_str what);
/* found[i] = 1 where text i contains `what`, else 0; 0 for null. `what` may be empty. Views only. */
ALM_NODISCARD alm_status alm_search_views(alm_ctx *cx, const alm_view *views, const char *heap,
                                          size_t n, alm_str what, uint8_t *found);

/* The same with A-Z as a-z; `what` in lower case. Only where all is ASCII: *done is false if it is not, and found is not set
 * then. */
ALM_NODISCARD alm_status alm_search_views_nocase(alm_ctx *cx, const alm_view *views,
                                                 const char *heap, size_t n, alm_str what,
                                                 uint8_t *found, bool *done);

#endif
