/*
 * char.c - CHAR: one UTF-16 unit; null is 0.
 */
#include "base/utf8.h"
#include "type/ops.h"

static size_t format_char(ALM_UNUSED alm_type type, const void *ptr,
                          ALM_UNUSED alm_text_style style, char *out)
{
    return alm_utf8_from_unit(*(const uint16_t *)ptr, out);
}

static alm_scan_result scan_char(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    if (alm_utf8_count_utf16(text) > 1 || !alm_utf8_is_valid(text))
        return ALM_SCAN_BAD;
    *(uint16_t *)out = alm_utf8_first_unit(text);
    return ALM_SCAN_OK;
}

static alm_parquet_form parquet_char(ALM_UNUSED alm_type type, bool raw)
{
    return raw ? alm_parquet_integer(16, false) : alm_parquet_text();
}

const alm_type_ops alm_type_ops_CHAR = {
    .aliases = {"bpchar", "character", "nchar", "national char", "national character"},
    .format = format_char,
    .scan = scan_char,
    .parquet = parquet_char,
};
