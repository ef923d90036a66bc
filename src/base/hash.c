/*
 * hash.c - hashes of bytes: XXH3 of the xxhash library, compiled in.
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t alm_hash_bytes(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}

uint64_t alm_hash_str_nocase(alm_str text)
{
    char folded[128]; /* names are short; what is longer is hashed piece by piece */
    uint64_t hash = 0;
    size_t at = 0;
    do {
        const size_t n = ALM_MIN(text.len - at, sizeof(folded));
        for (size_t i = 0; i < n; i++) {
            const char c = text.ptr[at + i];
            folded[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        hash = alm_hash_combine(hash, XXH3_64bits(folded, n));
        at += n;
    } while (at < text.len);
    return hash;
}
