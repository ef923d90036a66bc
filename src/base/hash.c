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
    size_t offset = 0;
    do {
        const size_t n = ALM_MIN(text.len - offset, sizeof(folded));
        for (size_t i = 0; i < n; i++) {
            const char byte = text.ptr[offset + i];
            folded[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
        }
        hash = alm_hash_combine(hash, XXH3_64bits(folded, n));
        offset += n;
    } while (offset < text.len);
    return hash;
}
