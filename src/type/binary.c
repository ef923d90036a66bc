/*
 * binary.c - BINARY: views of bytes.
 */
#include "base/number.h"
#include "type/ops.h"

static bool hex_bytes(alm_str digits, char *out, size_t *n)
{
    uint32_t bad = digits.len % 2 == 0 ? 0 : UINT32_MAX;
    *n = digits.len / 2;
    for (size_t i = 0; i < *n; i++) {
        const uint32_t high = (uint32_t)alm_hex_digit(digits.ptr[2 * i]),
                       low = (uint32_t)alm_hex_digit(digits.ptr[2 * i + 1]);
        bad |= high | low;
        out[i] = (char)(high << 4 | low);
    }
    return bad <= 15;
}

/* Behind a backslash: how many letters are one byte; 0: none. */
static size_t escaped_byte(alm_str rest, char *out)
{
    if (rest.len > 0 && rest.ptr[0] == '\\') {
        *out = '\\';
        return 1;
    }
    uint32_t byte = 0;
    for (size_t i = 0; i < 3; i++) {
        if (i >= rest.len || rest.ptr[i] < '0' || rest.ptr[i] > (i == 0 ? '3' : '7'))
            return 0;
        byte = byte * 8 + (uint32_t)(rest.ptr[i] - '0');
    }
    *out = (char)byte;
    return 3;
}

bool alm_bytea_parse(alm_str text, void *bytes, size_t *n)
{
    char *out = bytes;
    if (text.len >= 2 && text.ptr[0] == '\\' && text.ptr[1] == 'x')
        return hex_bytes((alm_str){text.ptr + 2, text.len - 2}, out, n);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\\') {
            out[len++] = text.ptr[i];
            continue;
        }
        const size_t used =
            escaped_byte((alm_str){text.ptr + i + 1, text.len - i - 1}, &out[len++]);
        if (used == 0)
            return false;
        i += used;
    }
    *n = len;
    return true;
}

static alm_parquet_form parquet_binary(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_of(ALM_PQ_BYTE_ARRAY, ALM_PQ_ORDER_BYTES);
}

const alm_type_ops alm_type_ops_BINARY = {
    .aliases = {"bytea"},
    .scan = alm_scan_view,
    .parquet = parquet_binary,
};
