/*
 * str.c - comparison of byte slices. Byte order, which for UTF-8 is code point order.
 */
#include "base/base.h"

/* Two texts of n bytes: the first and the last word, which may overlap. */
#define SAME_WORDS(type, a, b, n)                                                                  \
    do {                                                                                           \
        type a0, a1, b0, b1;                                                                       \
        memcpy(&a0, (a), sizeof a0);                                                               \
        memcpy(&b0, (b), sizeof b0);                                                               \
        memcpy(&a1, (a) + (n) - sizeof a1, sizeof a1);                                             \
        memcpy(&b1, (b) + (n) - sizeof b1, sizeof b1);                                             \
        return a0 == b0 && a1 == b1;                                                               \
    } while (0)

/* Names are short: a call for each would cost more than the comparison. */
bool alm_str_eq(alm_str a, alm_str b)
{
    const size_t len = a.len;
    if (len != b.len)
        return false;
    if (len > 16)
        return memcmp(a.ptr, b.ptr, len) == 0;
    if (len >= 8)
        SAME_WORDS(uint64_t, a.ptr, b.ptr, len);
    if (len >= 4)
        SAME_WORDS(uint32_t, a.ptr, b.ptr, len);
    for (size_t i = 0; i < len; i++)
        if (a.ptr[i] != b.ptr[i])
            return false;
    return true;
}

static unsigned char ascii_lower(char byte)
{
    return (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
}

bool alm_str_ieq(alm_str a, alm_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i]))
            return false;
    return true;
}

int alm_str_cmp(alm_str a, alm_str b)
{
    const size_t n = ALM_MIN(a.len, b.len);
    const int order = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    if (order != 0)
        return order < 0 ? -1 : 1;
    return a.len < b.len ? -1 : a.len > b.len;
}
