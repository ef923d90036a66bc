/*
 * base64.c - bytes as digits of 6 bits and back (RFC 4648).
 */
#include "base/base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t alm_base64_encode(alm_str bytes, char *out)
{
    const uint8_t *in = (const uint8_t *)bytes.ptr;
    const size_t n = bytes.len;
    char *o = out;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                               (left > 2 ? in[i + 2] : 0U);
        *o++ = DIGITS[group >> 18];
        *o++ = DIGITS[group >> 12 & 63];
        *o++ = left > 1 ? DIGITS[group >> 6 & 63] : '=';
        *o++ = left > 2 ? DIGITS[group & 63] : '=';
    }
    return (size_t)(o - out);
}

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Digits that are all of them; out of each four, three bytes. */
static bool decode(alm_str in, int (*value)(char c), uint8_t *out, size_t *n, uint32_t *rest)
{
    uint32_t group = 0;
    size_t at = 0;
    if (in.len % 4 == 1)
        return false;
    for (size_t i = 0; i < in.len; i++) {
        const int digit = value(in.ptr[i]);
        if (digit < 0)
            return false;
        group = group << 6 | (uint32_t)digit;
        if (i % 4 == 1)
            out[at++] = (uint8_t)(group >> 4);
        else if (i % 4 == 2)
            out[at++] = (uint8_t)(group >> 2);
        else if (i % 4 == 3)
            out[at++] = (uint8_t)group;
    }
    *n = at;
    *rest = in.len % 4 == 2 ? group & 15 : in.len % 4 == 3 ? group & 3 : 0;
    return true;
}

bool alm_base64_decode(alm_str in, void *bytes, size_t *n)
{
    size_t len = in.len;
    uint32_t rest = 0;
    while (len > 0 && in.len - len < 2 && in.ptr[len - 1] == '=')
        len--;
    return decode((alm_str){in.ptr, len}, digit_of, bytes, n, &rest);
}

static int url_digit_of(char c)
{
    return c == '-' ? 62 : c == '_' ? 63 : c == '+' || c == '/' ? -1 : digit_of(c);
}

bool alm_base64url_decode(alm_str in, void *bytes, size_t *n)
{
    uint32_t rest = 0;
    return decode(in, url_digit_of, bytes, n, &rest) && rest == 0;
}
