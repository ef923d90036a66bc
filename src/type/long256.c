/*
 * long256.c - LONG256: an unsigned number of 32 bytes, least word first. Null: all words are the least LONG.
 */
#include "base/number.h"
#include "type/int256.h"
#include "type/ops.h"

size_t alm_long256_format(alm_i256 value, char out[ALM_LONG256_TEXT_MAX])
{
    static const char hex[] = "0123456789abcdef";
    int byte = 31;
    while (byte > 0 && (value.w[byte / 8] >> (byte % 8 * 8) & 0xFF) == 0)
        byte--;
    size_t count = 0;
    out[count++] = '0';
    out[count++] = 'x';
    for (; byte >= 0; byte--) {
        const uint64_t b = value.w[byte / 8] >> (byte % 8 * 8) & 0xFF;
        out[count++] = hex[b >> 4];
        out[count++] = hex[b & 15];
    }
    return count;
}

bool alm_long256_parse(alm_str text, alm_i256 *out)
{
    if (text.len < 3 || text.len > ALM_LONG256_TEXT_MAX || text.ptr[0] != '0' ||
        (text.ptr[1] | 0x20) != 'x')
        return false;
    alm_i256 value = {{0}};
    for (size_t i = 2; i < text.len; i++) {
        const int digit = alm_hex_digit(text.ptr[i]);
        if (digit < 0)
            return false;
        (void)alm_u256_mul_add(&value, 16, (uint64_t)digit);
    }
    *out = value;
    return true;
}

static size_t format_long256(ALM_UNUSED alm_type type, const void *ptr,
                             ALM_UNUSED alm_text_style style, char *out)
{
    alm_i256 value;
    memcpy(&value, ptr, sizeof value);
    return alm_long256_is_null(value) ? 0 : alm_long256_format(value, out);
}

static alm_scan_result scan_long256(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    alm_i256 value;
    if (!alm_long256_parse(text, &value))
        return ALM_SCAN_BAD;
    memcpy(out, &value, sizeof value);
    return ALM_SCAN_OK;
}

static alm_scan_result type_long256_scan_stored(alm_type type, alm_str text, void *out)
{
    char prefixed[ALM_LONG256_TEXT_MAX];
    if (text.ptr != NULL && text.len == 0) {
        alm_value_set_null(type, out);
        return ALM_SCAN_OK;
    }
    const alm_scan_result scanned = alm_value_scan(type, text, out);
    if (scanned != ALM_SCAN_BAD || text.len > sizeof prefixed - 2)
        return scanned;
    prefixed[0] = '0';
    prefixed[1] = 'x';
    if (text.len > 0)
        memcpy(prefixed + 2, text.ptr, text.len);
    return scan_long256(type, (alm_str){prefixed, text.len + 2}, out);
}

/* Least byte first. */
static alm_parquet_form parquet_long256(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_fixed(32, ALM_PQ_ORDER_NONE);
}

const alm_type_ops alm_type_ops_LONG256 = {
    .format = format_long256,
    .scan = scan_long256,
    .scan_stored = type_long256_scan_stored,
    .parquet = parquet_long256,
    .written = ALM_WRITTEN_WIDE,
};
