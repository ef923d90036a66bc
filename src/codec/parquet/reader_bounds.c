/*
 * reader_bounds.c - what is known of values without reading them: statistics, page indexes, bloom filters.
 *
 * Order       min_value and max_value as the type orders; the deprecated min and max only for signed numbers.
 * Null rule   NaN is null here and none in the file: nulls of FLOAT and DOUBLE are never known. BOOLEAN, BYTE and
 *             SHORT have no null: what is null in the file reads as 0, which the bounds hold then.
 * Source      parquet.thrift, PageIndex.md, BloomFilter.md of parquet-format.
 */
#include <math.h>

#include <xxhash.h>

#include "codec/parquet/meta.h"
#include "codec/parquet/reader_state.h"

/* ------------------------------------------------------------------------------------ one value */

static bool read_fixed(alm_str text, size_t n, void *out)
{
    if (text.ptr == NULL || text.len != n)
        return false;
    memcpy(out, text.ptr, n);
    return true;
}

static bool reader_bounds_big_endian(alm_str text, int64_t *out)
{
    const uint8_t *ptr = (const uint8_t *)text.ptr;
    if (text.ptr == NULL || text.len == 0)
        return false;
    const uint8_t sign = ptr[0] >= 0x80 ? 0xFF : 0;
    uint64_t value = sign != 0 ? UINT64_MAX : 0;
    size_t i = 0;
    for (; text.len - i > sizeof value; i++)
        if (ptr[i] != sign)
            return false;
    for (; i < text.len; i++)
        value = value << 8 | ptr[i];
    *out = (int64_t)value;
    return true;
}

static bool read_integer(const alm_pq_leaf *leaf, alm_str text, int64_t *out)
{
    int32_t narrow;
    if (leaf->physical == ALM_PQ_BOOLEAN && text.len == 1 && text.ptr != NULL)
        *out = text.ptr[0] != 0;
    else if (leaf->physical == ALM_PQ_INT32 && read_fixed(text, sizeof narrow, &narrow))
        *out = leaf->way == ALM_PQ_WAY_WIDEN_U ? (int64_t)(uint32_t)narrow : narrow;
    else if (leaf->physical != ALM_PQ_INT64 || !read_fixed(text, sizeof *out, out))
        return false;
    return leaf->way != ALM_PQ_WAY_TIMES || !__builtin_mul_overflow(*out, leaf->factor, out);
}

static bool read_real(const alm_pq_leaf *leaf, alm_str text, double *out)
{
    float narrow;
    if (leaf->physical == ALM_PQ_DOUBLE)
        return read_fixed(text, sizeof *out, out) && !isnan(*out);
    if (!read_fixed(text, sizeof narrow, &narrow))
        return false;
    *out = (double)narrow;
    return !isnan(narrow);
}

/* -------------------------------------------------------------------------------------- bounds */

static bool is_unsigned(const alm_pq_leaf *leaf)
{
    const alm_pq_schema_element *element = leaf->element;
    return (element->logical == ALM_PQ_L_INTEGER && !element->is_signed) ||
           (element->converted >= ALM_PQ_C_UINT_8 && element->converted <= ALM_PQ_C_UINT_64);
}

static bool reader_bounds_is_int(alm_pq_physical physical)
{
    return physical == ALM_PQ_INT32 || physical == ALM_PQ_INT64;
}

static void integer_bounds(const alm_pq_leaf *leaf, alm_str lo, alm_str hi, alm_pq_bounds *bounds)
{
    if (leaf->way == ALM_PQ_WAY_DECIMAL && !reader_bounds_is_int(leaf->physical))
        bounds->has_minmax = leaf->type.p <= 18 && reader_bounds_big_endian(lo, &bounds->lo_i) &&
                             reader_bounds_big_endian(hi, &bounds->hi_i);
    else
        bounds->has_minmax =
            read_integer(leaf, lo, &bounds->lo_i) && read_integer(leaf, hi, &bounds->hi_i);
    bounds->has_minmax = bounds->has_minmax && bounds->lo_i <= bounds->hi_i;
}

static void no_null_type(const alm_pq_leaf *leaf, alm_pq_bounds *bounds)
{
    if (alm_type_info_of(leaf->type)->null != ALM_NULL_NONE)
        return;
    if (bounds->nulls != 0 && bounds->has_minmax) {
        bounds->lo_i = ALM_MIN(bounds->lo_i, 0);
        bounds->hi_i = ALM_MAX(bounds->hi_i, 0);
    }
    bounds->nulls = 0;
}

/* A value of the file that is the null of the type here. */
static bool reader_bounds_may_be_null(const alm_pq_leaf *leaf, const alm_pq_bounds *bounds)
{
    const alm_null_kind null = alm_type_info_of(leaf->type)->null;
    if (null == ALM_NULL_NAN32 || null == ALM_NULL_NAN64)
        return true;
    if (null == ALM_NULL_INT)
        return !bounds->has_minmax || bounds->lo_i == ALM_INT_NULL;
    if (null == ALM_NULL_LONG)
        return !bounds->has_minmax || bounds->lo_i == ALM_LONG_NULL;
    return null != ALM_NULL_VIEW && null != ALM_NULL_CODE && null != ALM_NULL_NONE;
}

/* bounds->rows and bounds->nulls are set. */
static void value_bounds(const alm_pq_leaf *leaf, alm_str lo, alm_str hi, alm_pq_bounds *bounds)
{
    const alm_value_form form = alm_type_info_of(leaf->type)->form;
    bounds->has_minmax = false;
    if (leaf->max_rep > 0) {
        bounds->nulls = -1;
        return;
    }
    switch (leaf->way) {
    case ALM_PQ_WAY_COPY:
        if (leaf->physical == ALM_PQ_BYTE_ARRAY && alm_type_is_text(leaf->type)) {
            bounds->lo_s = lo;
            bounds->hi_s = hi;
            bounds->has_minmax = lo.ptr != NULL && hi.ptr != NULL && alm_str_cmp(lo, hi) <= 0;
        } else if (leaf->physical == ALM_PQ_FLOAT || leaf->physical == ALM_PQ_DOUBLE) {
            bounds->has_minmax = read_real(leaf, lo, &bounds->lo_f) &&
                                 read_real(leaf, hi, &bounds->hi_f) && bounds->lo_f <= bounds->hi_f;
        } else if (form != ALM_FORM_U32 && form != ALM_FORM_SIZED) {
            integer_bounds(leaf, lo, hi, bounds);
        }
        break;
    case ALM_PQ_WAY_NARROW:
        if (form == ALM_FORM_SIZED || form == ALM_FORM_U16)
            break;
        integer_bounds(leaf, lo, hi, bounds);
        break;
    case ALM_PQ_WAY_WIDEN:
    case ALM_PQ_WAY_WIDEN_U:
    case ALM_PQ_WAY_TIMES:
    case ALM_PQ_WAY_DECIMAL:
        integer_bounds(leaf, lo, hi, bounds);
        break;
    case ALM_PQ_WAY_U64:
    case ALM_PQ_WAY_INT96:
    case ALM_PQ_WAY_FLOAT16:
    case ALM_PQ_WAY_UUID:
    case ALM_PQ_WAY_BYTES:
    case ALM_PQ_WAY_CHAR:
    case ALM_PQ_WAY_CLOCK:
    case ALM_PQ_WAY_DURATION:
    case ALM_PQ_WAY_NULL:
    default:
        break;
    }
    if (bounds->nulls == 0 && reader_bounds_may_be_null(leaf, bounds))
        bounds->nulls = -1;
    no_null_type(leaf, bounds);
}

static int64_t known_nulls(const alm_pq_leaf *leaf, int64_t said, int64_t rows)
{
    if (leaf->max_def == 0)
        return 0;
    return said >= 0 && said <= rows ? said : -1;
}

void alm_pq_group_bounds(const alm_pq_file *file, uint32_t group, uint32_t col, alm_pq_bounds *out)
{
    ALM_ASSERT(group < file->meta.n_row_groups && col < file->n_columns);
    const alm_pq_leaf *leaf = &file->leaf[file->column[col].leaf];
    const alm_pq_row_group *row_group = &file->meta.row_group[group];
    const alm_pq_column_chunk *chunk = &row_group->column[file->column[col].leaf];
    const alm_pq_statistics *statistics = &chunk->statistics;
    const bool signed_number =
        !is_unsigned(leaf) &&
        (reader_bounds_is_int(leaf->physical) || leaf->physical == ALM_PQ_FLOAT ||
         leaf->physical == ALM_PQ_DOUBLE || leaf->physical == ALM_PQ_BOOLEAN);
    alm_str lo = statistics->min_value, hi = statistics->max_value;
    *out = (alm_pq_bounds){.rows = row_group->n_rows, .nulls = -1};
    if (file->column[col].refused != NULL || !chunk->has_meta)
        return;
    if (lo.ptr == NULL && signed_number)
        lo = statistics->min;
    if (hi.ptr == NULL && signed_number)
        hi = statistics->max;
    out->nulls = known_nulls(leaf, statistics->null_count, row_group->n_rows);
    value_bounds(leaf, lo, hi, out);
}

bool alm_pq_is_coded(const alm_pq_file *file, uint32_t group, uint32_t col)
{
    const uint32_t leaf = file->column[col].leaf;
    const alm_pq_leaf *l = &file->leaf[leaf];
    const alm_pq_column_chunk *chunk = &file->meta.row_group[group].column[leaf];
    bool coded = file->column[col].refused == NULL && l->physical == ALM_PQ_BYTE_ARRAY &&
                 l->way == ALM_PQ_WAY_COPY && l->max_rep == 0 && chunk->n_encoding_stats > 0;
    for (uint32_t i = 0; i < chunk->n_encoding_stats; i++) {
        const alm_pq_encoding_stats *stats = &chunk->encoding_stats[i];
        if (stats->page_type == ALM_PQ_PAGE_DATA || stats->page_type == ALM_PQ_PAGE_DATA_V2)
            coded &= stats->encoding == ALM_PQ_RLE_DICTIONARY ||
                     stats->encoding == ALM_PQ_PLAIN_DICTIONARY;
    }
    return coded;
}

bool alm_pq_is_sorted(const alm_pq_file *file, uint32_t col)
{
    const uint32_t leaf = file->column[col].leaf;
    int64_t last = INT64_MIN;
    if (file->column[col].refused != NULL || file->leaf[leaf].max_rep > 0)
        return false;
    for (uint32_t row_group = 0; row_group < file->meta.n_row_groups; row_group++) {
        const alm_pq_row_group *group = &file->meta.row_group[row_group];
        alm_pq_bounds bounds;
        alm_pq_group_bounds(file, row_group, col, &bounds);
        if (bounds.rows == 0)
            continue;
        const bool by_rows = group->n_sorting > 0 && group->sorting[0].column == (int32_t)leaf &&
                             !group->sorting[0].descending;
        if (!(by_rows || bounds.rows == 1 || (bounds.has_minmax && bounds.lo_i == bounds.hi_i)) ||
            !bounds.has_minmax || bounds.nulls != 0 || bounds.lo_i < last)
            return false;
        last = bounds.hi_i;
    }
    return alm_type_is_timestamp(file->column[col].type) ||
           alm_type_info_of(file->column[col].type)->cls == ALM_TC_INTEGER;
}

/* --------------------------------------------------------------------------------------- pages */

/* Both indexes of a chunk, where they agree. */
static alm_status read_indexes(alm_ctx *cx, alm_arena *arena, const alm_pq_file *file,
                               const alm_pq_column_chunk *chunk, alm_pq_offset_index *offsets,
                               alm_pq_column_index *values, bool *good)
{
    alm_str at = {0};
    const char *bad = NULL;
    *good = false;
    if (chunk->offset_index_bytes <= 0 || chunk->column_index_bytes <= 0 ||
        !alm_pq_slice(file, chunk->offset_index_offset, chunk->offset_index_bytes, &at))
        return ALM_OK;
    ALM_TRY(alm_pq_read_offset_index(cx, arena, at, offsets, &bad));
    if (bad != NULL ||
        !alm_pq_slice(file, chunk->column_index_offset, chunk->column_index_bytes, &at))
        return ALM_OK;
    ALM_TRY(alm_pq_read_column_index(cx, arena, at, values, &bad));
    *good = bad == NULL && offsets->n_pages == values->n_pages && values->n_pages > 0 &&
            offsets->page[0].first_row == 0;
    return ALM_OK;
}

alm_status alm_pq_pages(alm_ctx *cx, alm_arena *arena, const alm_pq_file *file, uint32_t group,
                        uint32_t col, alm_pq_page_bounds **out, uint32_t *n)
{
    ALM_ASSERT(group < file->meta.n_row_groups && col < file->n_columns);
    const alm_pq_leaf *leaf = &file->leaf[file->column[col].leaf];
    const alm_pq_row_group *row_group = &file->meta.row_group[group];
    const alm_pq_column_chunk *chunk = &row_group->column[file->column[col].leaf];
    alm_pq_offset_index offsets = {0};
    alm_pq_column_index values = {0};
    alm_pq_page_bounds *page = NULL;
    bool good = false;
    *n = 0;
    if (file->column[col].refused != NULL || !chunk->has_meta || leaf->max_rep > 0)
        return ALM_OK;
    ALM_TRY(read_indexes(cx, arena, file, chunk, &offsets, &values, &good));
    if (!good)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, arena, values.n_pages, &page));
    for (uint32_t i = 0; i < values.n_pages; i++) {
        const int64_t row = offsets.page[i].first_row;
        const int64_t next =
            i + 1 < values.n_pages ? offsets.page[i + 1].first_row : row_group->n_rows;
        if (next < row || next > row_group->n_rows)
            return ALM_OK;
        alm_pq_bounds *bounds = &page[i].bounds;
        page[i].first_row = row;
        *bounds = (alm_pq_bounds){.rows = next - row, .nulls = -1};
        if (values.null_page[i]) {
            bounds->nulls = bounds->rows;
            no_null_type(leaf, bounds);
            continue;
        }
        if (values.null_count != NULL || leaf->max_def == 0)
            bounds->nulls = known_nulls(leaf, values.null_count != NULL ? values.null_count[i] : 0,
                                        bounds->rows);
        value_bounds(leaf, values.min[i], values.max[i], bounds);
    }
    *out = page;
    *n = values.n_pages;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------- bloom filters */

enum { BLOOM_BLOCK = 32, BLOOM_WORDS = 8 };

static bool block_has(const char *block, uint32_t key)
{
    static const uint32_t salt[BLOOM_WORDS] = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                               0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
    bool all = true;
    for (uint32_t i = 0; i < BLOOM_WORDS; i++) {
        uint32_t word;
        memcpy(&word, block + i * sizeof word, sizeof word);
        all &= (word >> ((key * salt[i]) >> 27) & 1U) != 0;
    }
    return all;
}

static bool in_bloom(const alm_pq_file *file, uint32_t group, uint32_t col, alm_str plain)
{
    const alm_pq_column_chunk *chunk = &file->meta.row_group[group].column[file->column[col].leaf];
    alm_str at = {0};
    size_t used = 0;
    int32_t bytes = 0;
    if (chunk->bloom_offset < 0 || chunk->encrypted || chunk->bloom_offset > file->data_end ||
        !alm_pq_slice(file, chunk->bloom_offset, file->data_end - chunk->bloom_offset, &at) ||
        alm_pq_read_bloom_header(at, &used, &bytes) != NULL || (size_t)bytes > at.len - used)
        return true;
    const uint64_t hash = XXH64(plain.ptr, plain.len, 0);
    const uint64_t block = (hash >> 32) * (uint64_t)(bytes / BLOOM_BLOCK) >> 32;
    return block_has(at.ptr + used + block * BLOOM_BLOCK, (uint32_t)hash);
}

/* Only values that are kept as they are: what is converted may differ as PLAIN. */
static bool is_kept(const alm_pq_file *file, uint32_t group, uint32_t col)
{
    ALM_ASSERT(group < file->meta.n_row_groups && col < file->n_columns);
    const alm_pq_read_col *read_col = &file->column[col];
    const alm_pq_leaf *leaf = &file->leaf[read_col->leaf];
    return read_col->refused == NULL && leaf->way == ALM_PQ_WAY_COPY && leaf->max_rep == 0 &&
           file->meta.row_group[group].column[read_col->leaf].has_meta;
}

bool alm_pq_maybe_text(const alm_pq_file *file, uint32_t group, uint32_t col, alm_str value)
{
    alm_pq_bounds bounds;
    if (!is_kept(file, group, col) || !alm_type_is_text(file->column[col].type))
        return true;
    alm_pq_group_bounds(file, group, col, &bounds);
    if (bounds.has_minmax &&
        (alm_str_cmp(value, bounds.lo_s) < 0 || alm_str_cmp(value, bounds.hi_s) > 0))
        return false;
    return in_bloom(file, group, col, value);
}

bool alm_pq_maybe_integer(const alm_pq_file *file, uint32_t group, uint32_t col, int64_t value)
{
    char plain[sizeof value];
    if (!is_kept(file, group, col))
        return true;
    const alm_pq_leaf *leaf = &file->leaf[file->column[col].leaf];
    if (!reader_bounds_is_int(leaf->physical))
        return true;
    const size_t n = alm_pq_plain_width(leaf);
    if (n < sizeof value && (value < INT32_MIN || value > INT32_MAX))
        return true; /* the conditions say what such a comparison means */
    memcpy(plain, &value, sizeof plain);
    return in_bloom(file, group, col, (alm_str){plain, n});
}
