/*
 * quote.h - names and texts as they are written in SQL: in quotes, a quote inside doubled.
 */
#ifndef ALM_FUNC_QUOTE_H
#define ALM_FUNC_QUOTE_H

#include "base/base.h"

/* Letters, digits and underscores, no digit first: a name that needs no quotes (keywords aside). */
static inline bool alm_name_is_plain(alm_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i > 0 && ((c >= '0' && c <= '9') || c == '$')))
            return false;
    }
    return name.len > 0;
}

/* The text between two marks into `to`, which has room for 2 * len + 2 bytes; gives the bytes. */
static inline size_t alm_quote(alm_str text, char mark, char *to)
{
    char *at = to;
    *at++ = mark;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == mark)
            *at++ = mark;
        *at++ = text.ptr[i];
    }
    *at++ = mark;
    return (size_t)(at - to);
}

#endif
