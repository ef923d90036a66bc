/*
 * spans.h - where statements and tokens stand in a text that may not be one that can be parsed.
 *
 * Places are bytes of the text, which is shorter than INT32_MAX.
 */
#ifndef ALM_SQL_SPANS_H
#define ALM_SQL_SPANS_H

#include "base/base.h"

typedef struct alm_text_span {
    int32_t pos, end;
} alm_text_span;

/* Where the first token at or behind `from` stands that is no semicolon; the end of the text: there is none. */
size_t alm_text_begin(alm_str text, size_t from);
/* Behind the semicolon that ends what stands at `from`, whatever that is. */
size_t alm_text_behind(alm_str text, size_t from);
/* The token at `pos`, else the first behind it, else the last one from `from` on; {from, from} where there is none. */
alm_text_span alm_text_token(alm_str text, int32_t from, int32_t pos);
/* Does one of the names stand in [from, to), plain, quoted or as a text? Case does not matter. */
bool alm_text_names(alm_str text, int32_t from, int32_t to, const alm_str *names, uint32_t n_names);

#endif
