/*
 * value.h - rows of casts to and from text that several tables of casts share. Private to func/.
 */
#ifndef ALM_FUNC_CAST_VALUE_H
#define ALM_FUNC_CAST_VALUE_H

#include "func/registry.h"

/* Any type that alm_value_text knows, as text; null gives null. */
alm_status alm_cast_value_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out);

#define ALM_CAST_ROW(name_, from, to, bind_, kernel_)                                              \
    {.name = name_,                                                                                \
     .signature = "(" from ") " to,                                                                \
     .flags = ALM_FN_INTERNAL,                                                                     \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = "Cast of " from " to " to ".",                                                         \
     .example = "cast(x as " to ")",                                                               \
     .since = "0.1"}
#define ALM_CASTS_TO_TEXT(from)                                                                    \
    ALM_CAST_ROW("::string", from, "STRING", NULL, alm_cast_value_text),                           \
        ALM_CAST_ROW("::varchar", from, "VARCHAR", NULL, alm_cast_value_text),                     \
        ALM_CAST_ROW("::symbol", from, "SYMBOL", NULL, alm_cast_value_text)

#endif
