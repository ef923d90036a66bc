/* format.c - names of the numbers of the format. */
#include "codec/parquet/format.h"

static const char *parquet_format_name_of(const char *const *name, size_t n, int32_t value)
{
    return value < 0 || (size_t)value >= n || name[value] == NULL ? "?" : name[value];
}

const char *alm_pq_physical_name(int32_t value)
{
    static const char *const name[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                       "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    return parquet_format_name_of(name, ALM_COUNT(name), value);
}

const char *alm_pq_converted_name(int32_t value)
{
    static const char *const name[] = {"UTF8",
                                       "MAP",
                                       "MAP_KEY_VALUE",
                                       "LIST",
                                       "ENUM",
                                       "DECIMAL",
                                       "DATE",
                                       "TIME_MILLIS",
                                       "TIME_MICROS",
                                       "TIMESTAMP_MILLIS",
                                       "TIMESTAMP_MICROS",
                                       "UINT_8",
                                       "UINT_16",
                                       "UINT_32",
                                       "UINT_64",
                                       "INT_8",
                                       "INT_16",
                                       "INT_32",
                                       "INT_64",
                                       "JSON",
                                       "BSON",
                                       "INTERVAL"};
    _Static_assert(ALM_COUNT(name) == ALM_PQ_C_COUNT, "a name for each");
    return parquet_format_name_of(name, ALM_COUNT(name), value);
}

const char *alm_pq_logical_name(int32_t value)
{
    static const char *const name[ALM_PQ_L_COUNT] = {
        [ALM_PQ_L_STRING] = "STRING",      [ALM_PQ_L_MAP] = "MAP",
        [ALM_PQ_L_LIST] = "LIST",          [ALM_PQ_L_ENUM] = "ENUM",
        [ALM_PQ_L_DECIMAL] = "DECIMAL",    [ALM_PQ_L_DATE] = "DATE",
        [ALM_PQ_L_TIME] = "TIME",          [ALM_PQ_L_TIMESTAMP] = "TIMESTAMP",
        [ALM_PQ_L_INTEGER] = "INTEGER",    [ALM_PQ_L_UNKNOWN] = "UNKNOWN",
        [ALM_PQ_L_JSON] = "JSON",          [ALM_PQ_L_BSON] = "BSON",
        [ALM_PQ_L_UUID] = "UUID",          [ALM_PQ_L_FLOAT16] = "FLOAT16",
        [ALM_PQ_L_VARIANT] = "VARIANT",    [ALM_PQ_L_GEOMETRY] = "GEOMETRY",
        [ALM_PQ_L_GEOGRAPHY] = "GEOGRAPHY"};
    return parquet_format_name_of(name, ALM_COUNT(name), value);
}

const char *alm_pq_encoding_name(int32_t value)
{
    static const char *const name[] = {"PLAIN",
                                       NULL,
                                       "PLAIN_DICTIONARY",
                                       "RLE",
                                       "BIT_PACKED",
                                       "DELTA_BINARY_PACKED",
                                       "DELTA_LENGTH_BYTE_ARRAY",
                                       "DELTA_BYTE_ARRAY",
                                       "RLE_DICTIONARY",
                                       "BYTE_STREAM_SPLIT"};
    return parquet_format_name_of(name, ALM_COUNT(name), value);
}

const char *alm_pq_codec_name(int32_t value)
{
    static const char *const name[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                       "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
    return parquet_format_name_of(name, ALM_COUNT(name), value);
}
