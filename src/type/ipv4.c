/*
 * ipv4.c - IPv4: an address as an unsigned number of 4 bytes, the first part of the text on top. Null is 0.
 */
#include "type/ops.h"

size_t alm_ipv4_format(uint32_t ip, char out[ALM_IPV4_TEXT_MAX])
{
    size_t count = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        const uint32_t part = ip >> shift & 0xFF;
        if (part >= 100)
            out[count++] = (char)('0' + part / 100);
        if (part >= 10)
            out[count++] = (char)('0' + part / 10 % 10);
        out[count++] = (char)('0' + part % 10);
        if (shift > 0)
            out[count++] = '.';
    }
    return count;
}

bool alm_ipv4_parse(alm_str text, uint32_t *out)
{
    uint32_t ip = 0;
    size_t offset = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (offset >= text.len || text.ptr[offset++] != '.'))
            return false;
        uint32_t value = 0;
        const size_t start = offset;
        for (; offset < text.len && text.ptr[offset] >= '0' && text.ptr[offset] <= '9' &&
               offset - start < 3;
             offset++)
            value = value * 10 + (uint32_t)(text.ptr[offset] - '0');
        if (offset == start || value > 255)
            return false;
        ip = ip << 8 | value;
    }
    if (offset != text.len)
        return false;
    *out = ip;
    return true;
}

static size_t format_ipv4(ALM_UNUSED alm_type type, const void *ptr,
                          ALM_UNUSED alm_text_style style, char *out)
{
    const uint32_t ip = *(const uint32_t *)ptr;
    return ip == 0 ? 0 : alm_ipv4_format(ip, out);
}

static alm_scan_result scan_ipv4(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    return alm_ipv4_parse(text, out) ? ALM_SCAN_OK : ALM_SCAN_BAD;
}

static alm_parquet_form parquet_ipv4(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_integer(32, false);
}

const alm_type_ops alm_type_ops_IPV4 = {
    .aliases = {"inet"},
    .bad_text = "invalid IPv4 format",
    .format = format_ipv4,
    .scan = scan_ipv4,
    .parquet = parquet_ipv4,
    .written = ALM_WRITTEN_TEXT,
};
