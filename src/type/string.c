/*
 * string.c - STRING, VARCHAR and SYMBOL: views of UTF-8 text; and NULL, which travels as a view. A stored SYMBOL is the
 * code of its text in a dictionary (vector.h).
 */
#include "type/ops.h"

alm_scan_result alm_scan_view(ALM_UNUSED alm_type type, alm_str text, void *out)
{
    *(alm_view *)out = alm_view_of(text);
    return ALM_SCAN_OK;
}

alm_parquet_form alm_parquet_string(ALM_UNUSED alm_type type, ALM_UNUSED bool raw)
{
    return alm_parquet_text();
}

const alm_type_ops alm_type_ops_NULL = {
    .scan = alm_scan_view,
    .parquet = alm_parquet_string,
};
const alm_type_ops alm_type_ops_STRING = {
    .aliases = {"text"},
    .scan = alm_scan_view,
    .parquet = alm_parquet_string,
};
const alm_type_ops alm_type_ops_VARCHAR = {
    .aliases = {"character varying", "char varying", "nchar varying", "national char varying",
                "national character varying"},
    .scan = alm_scan_view,
    .parquet = alm_parquet_string,
};
const alm_type_ops alm_type_ops_SYMBOL = {
    .scan = alm_scan_view,
    .parquet = alm_parquet_string,
};
