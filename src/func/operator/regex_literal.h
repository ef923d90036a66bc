/*
 * regex_literal.h - plain bytes that every match of a regular expression needs.
 *
 * Read off patterns that are plain enough to be sure: what stands outside of groups, classes and repeats.
 * Alternatives and inline options at the top level give nothing.
 */
#ifndef ALM_FUNC_REGEX_LITERAL_H
#define ALM_FUNC_REGEX_LITERAL_H

#include "base/base.h"

typedef struct alm_regex_literals {
    alm_str inside; /* the text contains it; empty: nothing known */
    alm_str end;    /* the text ends with it */
} alm_regex_literals;

/* Memory from cx->arena. The pattern is one that the library accepts. */
ALM_NODISCARD alm_status alm_regex_literals_of(alm_ctx *cx, alm_str pattern,
                                               alm_regex_literals *out);

#endif
