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
        const char byte = name.ptr[i];
        const bool letter =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        if (!letter && !(i > 0 && ((byte >= '0' && byte <= '9') || byte == '$')))
            return false;
    }
    return name.len > 0;
}

/* The text between two marks into `dest`, which has room for 2 * len + 2 bytes; gives the bytes. */
static inline size_t alm_quote(alm_str text, char mark, char *dest)
{
    char *ptr = dest;
    *ptr++ = mark;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == mark)
            *ptr++ = mark;
        *ptr++ = text.ptr[i];
    }
    *ptr++ = mark;
    return (size_t)(ptr - dest);
}

#endif
