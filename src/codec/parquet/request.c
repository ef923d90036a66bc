/* request.c - see request.h. */
#include "codec/parquet/request.h"

#include "base/number.h"
#include "codec/parquet/format.h"
#include "type/text.h"

typedef struct reader {
    alm_ctx *cx;
    int32_t pos;
    alm_pq_request *r;
} reader;

enum { SHOWN_MAX = 64, PAGE_BYTES_MAX = 1 << 29, ROW_GROUP_MAX = 1 << 30 };

static alm_status bad(const reader *in, const char *what, alm_str value)
{
    return alm_fail(in->cx, ALM_E_ARG, in->pos, "invalid %s:%.*s", what,
                    (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
}

static alm_status read_int(const reader *in, const char *what, alm_str value, int64_t max,
                           int64_t *out)
{
    int64_t x = 0;
    if (value.ptr == NULL || alm_int64_parse(value, &x) != ALM_NUM_OK || x > max)
        return bad(in, what, value);
    *out = x;
    return ALM_OK;
}

static alm_status read_bool(const reader *in, const char *what, alm_str value, bool *out)
{
    *out = true;
    if (value.ptr == NULL || alm_str_ieq(value, ALM_STR("on")) || alm_bool_parse(value, out))
        return ALM_OK;
    if (!alm_str_ieq(value, ALM_STR("off")))
        return bad(in, what, value);
    *out = false;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- one function each */

static alm_status read_codec(const reader *in, alm_str value)
{
    static const struct {
        const char *name;
        int32_t codec;
    } rows[] = {{"uncompressed", ALM_PQ_UNCOMPRESSED},
                {"none", ALM_PQ_UNCOMPRESSED},
                {"snappy", ALM_PQ_SNAPPY},
                {"gzip", ALM_PQ_GZIP},
                {"brotli", ALM_PQ_BROTLI},
                {"zstd", ALM_PQ_ZSTD},
                {"lz4_raw", ALM_PQ_LZ4_RAW}};
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (value.ptr != NULL && alm_str_ieq(value, alm_str_of(rows[i].name))) {
            in->r->options.codec = rows[i].codec;
            return ALM_OK;
        }
    return alm_fail(in->cx, ALM_E_ARG, in->pos,
                    "invalid compression codec[%.*s], expected one of: uncompressed, snappy, gzip, "
                    "brotli, zstd, lz4_raw",
                    (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
}

static alm_status read_level(const reader *in, alm_str value)
{
    int64_t level = 0;
    ALM_TRY(read_int(in, "compression level", value, INT32_MAX, &level));
    if (level < 0)
        return bad(in, "compression level", value);
    in->r->options.level = (int32_t)level;
    in->r->level_pos = in->pos;
    return ALM_OK;
}

static alm_status read_row_group(const reader *in, alm_str value)
{
    int64_t rows = 0;
    ALM_TRY(read_int(in, "row group size", value, ROW_GROUP_MAX, &rows));
    in->r->options.row_group_rows = rows > 0 ? rows : ALM_PQ_ROW_GROUP_ROWS;
    return ALM_OK;
}

static alm_status read_page(const reader *in, alm_str value)
{
    int64_t bytes = 0;
    ALM_TRY(read_int(in, "data page size", value, PAGE_BYTES_MAX, &bytes));
    in->r->options.page_bytes = bytes > 0 ? bytes : ALM_PQ_PAGE_BYTES;
    return ALM_OK;
}

static alm_status read_statistics(const reader *in, alm_str value)
{
    bool on = true;
    ALM_TRY(read_bool(in, "statistics enabled", value, &on));
    in->r->options.no_statistics = !on;
    return ALM_OK;
}

static alm_status read_version(const reader *in, alm_str value)
{
    int64_t version = 0;
    if (value.ptr == NULL || alm_int64_parse(value, &version) != ALM_NUM_OK || version < 1 ||
        version > 2)
        return alm_fail(in->cx, ALM_E_ARG, in->pos,
                        "invalid parquet version: %.*s, supported versions: 1, 2",
                        (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
    in->r->options.page_version = (int32_t)version;
    return ALM_OK;
}

static alm_status read_raw(const reader *in, alm_str value)
{
    return read_bool(in, "raw array encoding", value, &in->r->raw_arrays);
}

static alm_status read_bloom(const reader *in, alm_str value)
{
    if (value.ptr == NULL || value.len == 0)
        return bad(in, "bloom filter columns", value);
    in->r->bloom_columns = value;
    in->r->bloom_pos = in->pos;
    return ALM_OK;
}

static const struct {
    const char *name;
    alm_status (*read)(const reader *in, alm_str value);
} rows[] = {{"compression_codec", read_codec},   {"compression", read_codec},
            {"compression_level", read_level},   {"row_group_size", read_row_group},
            {"data_page_size", read_page},       {"statistics_enabled", read_statistics},
            {"parquet_version", read_version},   {"raw_array_encoding", read_raw},
            {"bloom_filter_columns", read_bloom}};

/* -------------------------------------------------------------------------- together */

void alm_pq_request_init(alm_pq_request *r)
{
    *r = (alm_pq_request){.level_pos = -1, .bloom_pos = -1};
    alm_pq_options_init(&r->options);
}

const char *alm_pq_request_name(size_t i)
{
    return i < ALM_COUNT(rows) ? rows[i].name : NULL;
}

alm_status alm_pq_request_read(alm_ctx *cx, int32_t pos, alm_str name, alm_str value,
                               alm_pq_request *r, bool *known)
{
    const reader in = {cx, pos, r};
    *known = false;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_str_ieq(name, alm_str_of(rows[i].name)))
            continue;
        *known = true;
        return rows[i].read(&in, value);
    }
    return ALM_OK;
}

alm_status alm_pq_request_check(alm_ctx *cx, const alm_pq_request *r)
{
    static const struct {
        int32_t codec, least, most;
        const char *name;
    } levels[] = {{ALM_PQ_ZSTD, 1, 22, "ZSTD"},
                  {ALM_PQ_GZIP, 0, 9, "GZIP"},
                  {ALM_PQ_BROTLI, 0, 11, "BROTLI"}};
    const alm_pq_options *o = &r->options;
    if (o->level < 0)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(levels); i++)
        if (o->codec == levels[i].codec &&
            (o->level < levels[i].least || o->level > levels[i].most))
            return alm_fail(cx, ALM_E_ARG, r->level_pos,
                            "%s compression level must be between %d and %d", levels[i].name,
                            levels[i].least, levels[i].most);
    return ALM_OK;
}

static alm_status set_bloom(alm_ctx *cx, const alm_pq_request *r, alm_str name,
                            alm_pq_column *columns, uint32_t n)
{
    while (name.len > 0 && name.ptr[0] == ' ')
        name = (alm_str){name.ptr + 1, name.len - 1};
    while (name.len > 0 && name.ptr[name.len - 1] == ' ')
        name.len--;
    for (uint32_t i = 0; i < n; i++)
        if (alm_str_ieq(name, alm_str_of(columns[i].name))) {
            columns[i].bloom = true;
            return ALM_OK;
        }
    return alm_fail(cx, ALM_E_NAME, r->bloom_pos, "bloom filter column '%.*s' not found",
                    (int)ALM_MIN(name.len, (size_t)SHOWN_MAX), name.ptr);
}

alm_status alm_pq_request_columns(alm_ctx *cx, const alm_pq_request *r, alm_pq_column *columns,
                                  uint32_t n)
{
    const alm_str list = r->bloom_columns;
    for (uint32_t i = 0; i < n; i++)
        columns[i].raw = r->raw_arrays && columns[i].type.id == ALM_T_ARRAY;
    for (size_t at = 0; list.ptr != NULL && at <= list.len;) {
        const char *comma = memchr(list.ptr + at, ',', list.len - at);
        const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
        ALM_TRY(set_bloom(cx, r, (alm_str){list.ptr + at, end - at}, columns, n));
        at = end + 1;
    }
    return ALM_OK;
}
