/*
 * base64.c - bytes as digits of 6 bits and back (RFC 4648).
 */
#include "base/base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t alm_base64_encode(alm_str bytes, char *out)
{
    const uint8_t *input = (const uint8_t *)bytes.ptr;
    const size_t len = bytes.len;
    char *results = out;
    for (size_t i = 0; i < len; i += 3) {
        const size_t left = len - i;
        const uint32_t group = (uint32_t)input[i] << 16 |
                               (left > 1 ? (uint32_t)input[i + 1] << 8 : 0) |
                               (left > 2 ? input[i + 2] : 0U);
        *results++ = DIGITS[group >> 18];
        *results++ = DIGITS[group >> 12 & 63];
        *results++ = left > 1 ? DIGITS[group >> 6 & 63] : '=';
        *results++ = left > 2 ? DIGITS[group & 63] : '=';
    }
    return (size_t)(results - out);
}

static int base64_digit_of(char byte)
{
    return byte >= 'A' && byte <= 'Z'   ? byte - 'A'
           : byte >= 'a' && byte <= 'z' ? byte - 'a' + 26
           : byte >= '0' && byte <= '9' ? byte - '0' + 52
           : byte == '+'                ? 62
           : byte == '/'                ? 63
                                        : -1;
}

/* Digits that are all of them; out of each four, three bytes. */
static bool base64_decode(alm_str text, int (*value)(char c), uint8_t *out, size_t *n,
                          uint32_t *rest)
{
    uint32_t group = 0;
    size_t offset = 0;
    if (text.len % 4 == 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const int digit = value(text.ptr[i]);
        if (digit < 0)
            return false;
        group = group << 6 | (uint32_t)digit;
        if (i % 4 == 1)
            out[offset++] = (uint8_t)(group >> 4);
        else if (i % 4 == 2)
            out[offset++] = (uint8_t)(group >> 2);
        else if (i % 4 == 3)
            out[offset++] = (uint8_t)group;
    }
    *n = offset;
    *rest = text.len % 4 == 2 ? group & 15 : text.len % 4 == 3 ? group & 3 : 0;
    return true;
}

bool alm_base64_decode(alm_str text, void *bytes, size_t *n)
{
    size_t len = text.len;
    uint32_t rest = 0;
    while (len > 0 && text.len - len < 2 && text.ptr[len - 1] == '=')
        len--;
    return base64_decode((alm_str){text.ptr, len}, base64_digit_of, bytes, n, &rest);
}

static int url_digit_of(char byte)
{
    return byte == '-'                  ? 62
           : byte == '_'                ? 63
           : byte == '+' || byte == '/' ? -1
                                        : base64_digit_of(byte);
}

bool alm_base64url_decode(alm_str text, void *bytes, size_t *n)
{
    uint32_t rest = 0;
    return base64_decode(text, url_digit_of, bytes, n, &rest) && rest == 0;
}
