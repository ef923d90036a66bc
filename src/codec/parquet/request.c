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

static alm_status request_bad(const reader *self, const char *what, alm_str value)
{
    return alm_fail(self->cx, ALM_E_ARG, self->pos, "invalid %s:%.*s", what,
                    (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
}

static alm_status request_read_int(const reader *self, const char *what, alm_str value, int64_t max,
                                   int64_t *out)
{
    int64_t x = 0;
    if (value.ptr == NULL || alm_int64_parse(value, &x) != ALM_NUM_OK || x > max)
        return request_bad(self, what, value);
    *out = x;
    return ALM_OK;
}

static alm_status read_bool(const reader *self, const char *what, alm_str value, bool *out)
{
    *out = true;
    if (value.ptr == NULL || alm_str_ieq(value, ALM_STR("on")) || alm_bool_parse(value, out))
        return ALM_OK;
    if (!alm_str_ieq(value, ALM_STR("off")))
        return request_bad(self, what, value);
    *out = false;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- one function each */

static alm_status read_codec(const reader *self, alm_str value)
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
            self->r->options.codec = rows[i].codec;
            return ALM_OK;
        }
    return alm_fail(self->cx, ALM_E_ARG, self->pos,
                    "invalid compression codec[%.*s], expected one of: uncompressed, snappy, gzip, "
                    "brotli, zstd, lz4_raw",
                    (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
}

static alm_status request_read_level(const reader *self, alm_str value)
{
    int64_t level = 0;
    ALM_TRY(request_read_int(self, "compression level", value, INT32_MAX, &level));
    if (level < 0)
        return request_bad(self, "compression level", value);
    self->r->options.level = (int32_t)level;
    self->r->level_pos = self->pos;
    return ALM_OK;
}

static alm_status request_read_row_group(const reader *self, alm_str value)
{
    int64_t rows = 0;
    ALM_TRY(request_read_int(self, "row group size", value, ROW_GROUP_MAX, &rows));
    self->r->options.row_group_rows = rows > 0 ? rows : ALM_PQ_ROW_GROUP_ROWS;
    return ALM_OK;
}

static alm_status read_page(const reader *self, alm_str value)
{
    int64_t bytes = 0;
    ALM_TRY(request_read_int(self, "data page size", value, PAGE_BYTES_MAX, &bytes));
    self->r->options.page_bytes = bytes > 0 ? bytes : ALM_PQ_PAGE_BYTES;
    return ALM_OK;
}

static alm_status request_read_statistics(const reader *self, alm_str value)
{
    bool on = true;
    ALM_TRY(read_bool(self, "statistics enabled", value, &on));
    self->r->options.no_statistics = !on;
    return ALM_OK;
}

static alm_status read_version(const reader *self, alm_str value)
{
    int64_t version = 0;
    if (value.ptr == NULL || alm_int64_parse(value, &version) != ALM_NUM_OK || version < 1 ||
        version > 2)
        return alm_fail(self->cx, ALM_E_ARG, self->pos,
                        "invalid parquet version: %.*s, supported versions: 1, 2",
                        (int)ALM_MIN(value.len, (size_t)SHOWN_MAX), value.ptr);
    self->r->options.page_version = (int32_t)version;
    return ALM_OK;
}

static alm_status read_raw(const reader *self, alm_str value)
{
    return read_bool(self, "raw array encoding", value, &self->r->raw_arrays);
}

static alm_status read_bloom(const reader *self, alm_str value)
{
    if (value.ptr == NULL || value.len == 0)
        return request_bad(self, "bloom filter columns", value);
    self->r->bloom_columns = value;
    self->r->bloom_pos = self->pos;
    return ALM_OK;
}

static const struct {
    const char *name;
    alm_status (*read)(const reader *in, alm_str value);
} rows[] = {{"compression_codec", read_codec},
            {"compression", read_codec},
            {"compression_level", request_read_level},
            {"row_group_size", request_read_row_group},
            {"data_page_size", read_page},
            {"statistics_enabled", request_read_statistics},
            {"parquet_version", read_version},
            {"raw_array_encoding", read_raw},
            {"bloom_filter_columns", read_bloom}};

/* -------------------------------------------------------------------------- together */

void alm_pq_request_init(alm_pq_request *request)
{
    *request = (alm_pq_request){.level_pos = -1, .bloom_pos = -1};
    alm_pq_options_init(&request->options);
}

const char *alm_pq_request_name(size_t i)
{
    return i < ALM_COUNT(rows) ? rows[i].name : NULL;
}

alm_status alm_pq_request_read(alm_ctx *cx, int32_t pos, alm_str name, alm_str value,
                               alm_pq_request *request, bool *known)
{
    const reader self = {cx, pos, request};
    *known = false;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        if (!alm_str_ieq(name, alm_str_of(rows[i].name)))
            continue;
        *known = true;
        return rows[i].read(&self, value);
    }
    return ALM_OK;
}

alm_status alm_pq_request_check(alm_ctx *cx, const alm_pq_request *request)
{
    static const struct {
        int32_t codec, least, most;
        const char *name;
    } levels[] = {{ALM_PQ_ZSTD, 1, 22, "ZSTD"},
                  {ALM_PQ_GZIP, 0, 9, "GZIP"},
                  {ALM_PQ_BROTLI, 0, 11, "BROTLI"}};
    const alm_pq_options *options = &request->options;
    if (options->level < 0)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(levels); i++)
        if (options->codec == levels[i].codec &&
            (options->level < levels[i].least || options->level > levels[i].most))
            return alm_fail(cx, ALM_E_ARG, request->level_pos,
                            "%s compression level must be between %d and %d", levels[i].name,
                            levels[i].least, levels[i].most);
    return ALM_OK;
}

static alm_status set_bloom(alm_ctx *cx, const alm_pq_request *request, alm_str name,
                            alm_pq_column *columns, uint32_t n_columns)
{
    while (name.len > 0 && name.ptr[0] == ' ')
        name = (alm_str){name.ptr + 1, name.len - 1};
    while (name.len > 0 && name.ptr[name.len - 1] == ' ')
        name.len--;
    for (uint32_t i = 0; i < n_columns; i++)
        if (alm_str_ieq(name, alm_str_of(columns[i].name))) {
            columns[i].bloom = true;
            return ALM_OK;
        }
    return alm_fail(cx, ALM_E_NAME, request->bloom_pos, "bloom filter column '%.*s' not found",
                    (int)ALM_MIN(name.len, (size_t)SHOWN_MAX), name.ptr);
}

alm_status alm_pq_request_columns(alm_ctx *cx, const alm_pq_request *request,
                                  alm_pq_column *columns, uint32_t n_columns)
{
    const alm_str list = request->bloom_columns;
    for (uint32_t i = 0; i < n_columns; i++)
        columns[i].raw = request->raw_arrays && columns[i].type.id == ALM_T_ARRAY;
    for (size_t offset = 0; list.ptr != NULL && offset <= list.len;) {
        const char *comma = memchr(list.ptr + offset, ',', list.len - offset);
        const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
        ALM_TRY(
            set_bloom(cx, request, (alm_str){list.ptr + offset, end - offset}, columns, n_columns));
        offset = end + 1;
    }
    return ALM_OK;
}
