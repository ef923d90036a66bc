/*
 * str.c - comparison of byte slices. Byte order, which for UTF-8 is code point order.
 */
#include "base/base.h"

alm_str alm_str_of(const char *zstr)
{
    return (alm_str){zstr, zstr == NULL ? 0 : strlen(zstr)};
}

bool alm_str_eq(alm_str a, alm_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static unsigned char ascii_lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
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
