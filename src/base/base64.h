/*
 * base64.h - bytes as text of 64 digits and back (RFC 4648): the text form of BINARY.
 */
#ifndef ALM_BASE_BASE64_H
#define ALM_BASE_BASE64_H

#include "base/base.h"

/* Letters of n bytes, padding included; most bytes of n letters. */
static inline size_t alm_base64_len(size_t n)
{
    return (n + 2) / 3 * 4;
}
static inline size_t alm_base64_bytes_max(size_t n)
{
    return n / 4 * 3 + 3;
}

/* Writes alm_base64_len letters and returns how many. */
size_t alm_base64_encode(alm_str bytes, char *out);
/* Padding may be missing. Room for alm_base64_bytes_max; false: not base 64. */
bool alm_base64_decode(alm_str text, void *bytes, size_t *n);
/* The alphabet for addresses (- and _), without padding, each text one form of its bytes: for tokens. */
bool alm_base64url_decode(alm_str text, void *bytes, size_t *n);

#endif
