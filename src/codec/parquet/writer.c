/*
 * writer.c - see writer.h. Rows wait in a store for each column until the row group is full; then the columns are
 * encoded, each by a thread of its own, and written one after another.
 *
 * File        magic, row groups, indexes of columns, indexes of offsets, footer, its length, magic. Bloom filters stand
 *             behind the columns of their row group.
 */
#include "codec/parquet/writer.h"

#include <stdlib.h>

#include "almanac.h"
#include "codec/json_text.h"
#include "codec/parquet/meta_write.h"
#include "codec/parquet/write_chunk.h"

enum { ROW_GROUP_ROWS_MAX = 1 << 30, PAGE_BYTES_MAX = 1 << 29, BROTLI_LEVEL_MAX = 11 };

typedef struct groups { /* of alm_pq_row_group */
    alm_pq_row_group *list;
    uint32_t n, cap;
} groups;

struct alm_pq_writer {
    alm_pq_options opt;
    alm_pq_sink sink;
    void *sink_arg;
    alm_arena arena; /* what lives until the footer */
    alm_pq_column *column;
    alm_pq_shape *shape;
    alm_pq_store *store;
    alm_pq_chunk *chunk;
    alm_str **path; /* of each column */
    uint32_t *n_path;
    uint32_t n;
    uint32_t group_rows; /* that wait */
    int64_t rows, offset;
    groups groups;
    alm_pq_key_value *pair;
    uint32_t n_pairs, cap_pairs;
    alm_buf column_index, offset_index; /* their bytes so far */
    bool failed;
};

void alm_pq_options_init(alm_pq_options *options)
{
    *options = (alm_pq_options){.codec = ALM_PQ_ZSTD,
                                .level = -1,
                                .row_group_rows = ALM_PQ_ROW_GROUP_ROWS,
                                .row_group_bytes = ALM_PQ_ROW_GROUP_BYTES,
                                .page_bytes = ALM_PQ_PAGE_BYTES,
                                .page_rows = ALM_PQ_PAGE_ROWS,
                                .page_version = 1,
                                .ts_col = -1};
}

alm_status alm_pq_sink_buf(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    return alm_buf_append(cx, arg, bytes, n);
}

static alm_status parquet_writer_put(alm_ctx *cx, alm_pq_writer *writer, const void *bytes,
                                     size_t n)
{
    ALM_TRY(writer->sink(cx, writer->sink_arg, bytes, n));
    writer->offset += (int64_t)n;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- schema */

static alm_str name_of_level(uint32_t level)
{
    return level % 2 == 1 ? ALM_STR("list") : ALM_STR("element");
}

/* Names from the column to its leaf. */
static alm_status make_path(alm_ctx *cx, alm_pq_writer *writer, uint32_t i)
{
    writer->n_path[i] = 1 + 2 * writer->shape[i].dims;
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n_path[i], &writer->path[i]));
    writer->path[i][0] = alm_str_of(writer->column[i].name);
    for (uint32_t k = 1; k < writer->n_path[i]; k++)
        writer->path[i][k] = name_of_level(k);
    return ALM_OK;
}

/* The elements of one column; lists are a list group, a repeated group in it, and so on. */
static uint32_t put_elements(const alm_pq_writer *writer, uint32_t i, alm_pq_schema_element *out)
{
    const alm_pq_shape *shape = &writer->shape[i];
    const uint32_t n = writer->n_path[i];
    for (uint32_t k = 0; k + 1 < n; k++) {
        const bool repeated = k % 2 == 1;
        out[k] = (alm_pq_schema_element){
            .name = writer->path[i][k],
            .physical = -1,
            .n_children = 1,
            .repetition = repeated ? ALM_PQ_REPEATED : ALM_PQ_OPTIONAL,
            .converted = repeated ? ALM_PQ_C_NONE : ALM_PQ_C_LIST,
            .logical = repeated ? ALM_PQ_L_NONE : ALM_PQ_L_LIST,
        };
    }
    out[n - 1] = shape->leaf;
    out[n - 1].name = writer->path[i][n - 1];
    out[n - 1].repetition = shape->required ? ALM_PQ_REQUIRED : ALM_PQ_OPTIONAL;
    return n;
}

static alm_status make_schema(alm_ctx *cx, alm_pq_writer *writer, alm_pq_file_meta *meta)
{
    meta->n_schema = 1;
    for (uint32_t i = 0; i < writer->n; i++)
        meta->n_schema += writer->n_path[i];
    ALM_TRY(ALM_NEWN(cx, &writer->arena, meta->n_schema, &meta->schema));
    meta->schema[0] = (alm_pq_schema_element){.name = ALM_STR("schema"),
                                              .physical = -1,
                                              .repetition = -1,
                                              .converted = ALM_PQ_C_NONE,
                                              .n_children = (int32_t)writer->n};
    uint32_t place = 1;
    for (uint32_t i = 0; i < writer->n; i++)
        place += put_elements(writer, i, meta->schema + place);
    return ALM_OK;
}

/* The value of ALM_PQ_KEY. */
static alm_status own_types(alm_ctx *cx, const alm_pq_writer *writer, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, "{\"version\":1,\"columns\":["));
    for (uint32_t i = 0; i < writer->n; i++) {
        const alm_type type =
            writer->column[i].type.id == ALM_T_NULL ? ALM_TY(STRING) : writer->column[i].type;
        ALM_TRY(alm_buf_text(cx, out, i > 0 ? "," : ""));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(alm_type_name(type))));
    }
    return alm_buf_printf(cx, out, "],\"timestamp\":%d}", (int)writer->opt.ts_col);
}

alm_status alm_pq_put_key_value(alm_ctx *cx, alm_pq_writer *writer, alm_str key, alm_str value)
{
    if (writer->n_pairs == writer->cap_pairs) {
        const uint32_t cap = writer->cap_pairs * 2 + 4;
        alm_pq_key_value *more = NULL;
        ALM_TRY(ALM_NEWN(cx, &writer->arena, cap, &more));
        if (writer->n_pairs > 0)
            (void)memcpy(more, writer->pair, writer->n_pairs * sizeof(*more));
        writer->pair = more;
        writer->cap_pairs = cap;
    }
    alm_pq_key_value *pair = &writer->pair[writer->n_pairs];
    ALM_TRY(alm_arena_copy(cx, &writer->arena, key, &pair->key));
    ALM_TRY(alm_arena_copy(cx, &writer->arena, value, &pair->value));
    if (pair->value.ptr == NULL)
        pair->value = ALM_STR("");
    writer->n_pairs++;
    return ALM_OK;
}

static alm_status put_own_types(alm_ctx *cx, alm_pq_writer *writer)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status status = own_types(cx, writer, &text);
    if (status == ALM_OK)
        status =
            alm_pq_put_key_value(cx, writer, ALM_STR(ALM_PQ_KEY), (alm_str){text.ptr, text.len});
    alm_buf_deinit(&text);
    return status;
}

/* -------------------------------------------------------------------------- new, free */

static alm_status bad_option(alm_ctx *cx, const char *name, int64_t value)
{
    return alm_fail(cx, ALM_E_ARG, -1, "%s cannot be %lld", name, (long long)value);
}

static bool is_level(int32_t codec, int32_t level)
{
    switch (codec) {
    case ALM_PQ_ZSTD:
        return level >= 1 && level <= 22;
    case ALM_PQ_GZIP:
        return level >= 0 && level <= 9;
    case ALM_PQ_BROTLI:
        return level >= 0 && level <= BROTLI_LEVEL_MAX;
    default:
        return true; /* they have none */
    }
}

static alm_status check_options(alm_ctx *cx, const alm_pq_options *options, uint32_t n)
{
    static const uint32_t writable = 1U << ALM_PQ_UNCOMPRESSED | 1U << ALM_PQ_SNAPPY |
                                     1U << ALM_PQ_GZIP | 1U << ALM_PQ_BROTLI | 1U << ALM_PQ_ZSTD |
                                     1U << ALM_PQ_LZ4_RAW;
    if (options->codec < 0 || options->codec >= ALM_PQ_CODEC_COUNT ||
        (writable >> options->codec & 1) == 0)
        return bad_option(cx, "the codec", options->codec);
    if (options->level != -1 && !is_level(options->codec, options->level))
        return bad_option(cx, "the level of compression", options->level);
    if (options->row_group_rows < 1 || options->row_group_rows > ROW_GROUP_ROWS_MAX)
        return bad_option(cx, "rows of a row group", options->row_group_rows);
    if (options->row_group_bytes < 1)
        return bad_option(cx, "bytes of a row group", options->row_group_bytes);
    if (options->page_bytes < 1 || options->page_bytes > PAGE_BYTES_MAX)
        return bad_option(cx, "bytes of a page", options->page_bytes);
    if (options->page_rows < 1 || options->page_rows > ROW_GROUP_ROWS_MAX)
        return bad_option(cx, "rows of a page", options->page_rows);
    if (options->page_version != 1 && options->page_version != 2)
        return bad_option(cx, "the version of pages", options->page_version);
    for (uint32_t i = 0; i < options->n_sorting; i++)
        if (options->sorting[i].column >= n)
            return bad_option(cx, "a sorting column", options->sorting[i].column);
    return ALM_OK;
}

static alm_status copy_columns(alm_ctx *cx, alm_pq_writer *writer, const alm_pq_column *columns)
{
    alm_pq_sorting *sorting = NULL;
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &writer->column));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &writer->shape));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &writer->path));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &writer->n_path));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->opt.n_sorting + 1, &sorting));
    if (writer->opt.n_sorting > 0)
        (void)memcpy(sorting, writer->opt.sorting, writer->opt.n_sorting * sizeof(*sorting));
    writer->opt.sorting = sorting;
    for (uint32_t i = 0; i < writer->n; i++) {
        writer->column[i] = columns[i];
        ALM_TRY(alm_arena_zstr(cx, &writer->arena, alm_str_of(columns[i].name),
                               &writer->column[i].name));
        writer->shape[i] = alm_pq_shape_of(&columns[i]);
        ALM_TRY(make_path(cx, writer, i));
    }
    return ALM_OK;
}

static alm_status make_stores(alm_ctx *cx, alm_pq_writer *writer)
{
    alm_pq_store *store = NULL;
    alm_pq_chunk *chunk = NULL;
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &store));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &chunk));
    for (uint32_t i = 0; i < writer->n; i++) {
        alm_pq_store_init(&store[i], &writer->column[i], writer->opt.mem);
        alm_pq_chunk_init(&chunk[i], writer->opt.mem);
    }
    writer->store = store; /* from here on they are freed */
    writer->chunk = chunk;
    return ALM_OK;
}

alm_status alm_pq_writer_new(alm_ctx *cx, const alm_pq_column *columns, uint32_t n,
                             const alm_pq_options *options, alm_pq_sink sink, void *arg,
                             alm_pq_writer **out)
{
    ALM_TRY(check_options(cx, options, n));
    alm_pq_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for a Parquet writer");
    writer->opt = *options;
    writer->sink = sink;
    writer->sink_arg = arg;
    writer->n = n;
    alm_arena_init(&writer->arena, options->mem);
    alm_buf_init(&writer->column_index, options->mem);
    alm_buf_init(&writer->offset_index, options->mem);
    alm_status status = copy_columns(cx, writer, columns);
    if (status == ALM_OK)
        status = make_stores(cx, writer);
    if (status == ALM_OK)
        status = put_own_types(cx, writer);
    if (status == ALM_OK)
        status = parquet_writer_put(cx, writer, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES);
    if (status != ALM_OK) {
        alm_pq_writer_free(writer);
        return status;
    }
    *out = writer;
    return ALM_OK;
}

void alm_pq_writer_free(alm_pq_writer *writer)
{
    if (writer == NULL)
        return;
    for (uint32_t i = 0; writer->store != NULL && i < writer->n; i++) {
        alm_pq_store_deinit(&writer->store[i]);
        alm_pq_chunk_deinit(&writer->chunk[i]);
    }
    alm_buf_deinit(&writer->column_index);
    alm_buf_deinit(&writer->offset_index);
    alm_arena_deinit(&writer->arena);
    free(writer);
}

int64_t alm_pq_writer_bytes(const alm_pq_writer *writer)
{
    return writer->offset;
}

int64_t alm_pq_writer_rows(const alm_pq_writer *writer)
{
    return writer->rows;
}

/* -------------------------------------------------------------------------- indexes of a chunk */

static bool has_column_index(const alm_pq_writer *writer, const alm_pq_chunk *chunk, uint32_t i)
{
    if (writer->opt.no_statistics || writer->shape[i].order == ALM_PQ_ORDER_NONE)
        return false;
    for (uint32_t k = 0; k < alm_pq_chunk_pages(chunk); k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        if (page->nulls < page->values && (!page->bounds.min.set || !page->bounds.max.set))
            return false; /* a page without bounds: the format has no word for it */
    }
    return true;
}

/* How the bounds of pages follow one another, those of nulls left out. */
static uint8_t parquet_writer_boundary(alm_pq_order order, const alm_pq_chunk *chunk)
{
    const alm_pq_minmax *last = NULL;
    bool up = true, down = true;
    for (uint32_t k = 0; k < alm_pq_chunk_pages(chunk); k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        if (page->nulls == page->values)
            continue;
        if (last != NULL) {
            const int min = alm_pq_bound_compare(order, &last->min, &page->bounds.min);
            const int max = alm_pq_bound_compare(order, &last->max, &page->bounds.max);
            up = up && min <= 0 && max <= 0;
            down = down && min >= 0 && max >= 0;
        }
        last = &page->bounds;
    }
    return up ? ALM_PQ_ASCENDING : down ? ALM_PQ_DESCENDING : ALM_PQ_UNORDERED;
}

static alm_status add_column_index(alm_ctx *cx, alm_arena *arena, alm_pq_writer *writer, uint32_t i)
{
    const alm_pq_chunk *chunk = &writer->chunk[i];
    const uint32_t n = alm_pq_chunk_pages(chunk);
    alm_pq_column_index index = {.n_pages = n};
    ALM_TRY(ALM_NEWN(cx, arena, n + 1, &index.null_page));
    ALM_TRY(ALM_NEWN(cx, arena, n + 1, &index.min));
    ALM_TRY(ALM_NEWN(cx, arena, n + 1, &index.max));
    ALM_TRY(ALM_NEWN(cx, arena, n + 1, &index.null_count));
    for (uint32_t k = 0; k < n; k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        index.null_page[k] = page->nulls == page->values;
        index.null_count[k] = page->nulls;
        index.min[k] = alm_pq_bound_text(&page->bounds.min);
        index.max[k] = alm_pq_bound_text(&page->bounds.max);
    }
    index.boundary = parquet_writer_boundary(writer->shape[i].order, chunk);
    return alm_pq_write_column_index(cx, &index, &writer->column_index);
}

static alm_status add_offset_index(alm_ctx *cx, alm_arena *arena, alm_pq_writer *writer, uint32_t i)
{
    const alm_pq_chunk *chunk = &writer->chunk[i];
    alm_pq_offset_index index = {.n_pages = alm_pq_chunk_pages(chunk)};
    ALM_TRY(ALM_NEWN(cx, arena, index.n_pages + 1, &index.page));
    for (uint32_t k = 0; k < index.n_pages; k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        index.page[k] = (alm_pq_page_location){.offset = writer->offset + page->offset,
                                               .bytes = page->bytes,
                                               .first_row = page->first_row};
    }
    return alm_pq_write_offset_index(cx, &index, &writer->offset_index);
}

/* Their places are those among the indexes until the footer is written. */
static alm_status add_indexes(alm_ctx *cx, alm_pq_writer *writer, uint32_t i,
                              alm_pq_column_chunk *meta)
{
    alm_arena arena;
    alm_status status = ALM_OK;
    if (writer->opt.no_page_index)
        return ALM_OK;
    alm_arena_init(&arena, writer->opt.mem);
    if (has_column_index(writer, &writer->chunk[i], i)) {
        meta->column_index_offset = (int64_t)writer->column_index.len;
        status = add_column_index(cx, &arena, writer, i);
        meta->column_index_bytes =
            (int32_t)((int64_t)writer->column_index.len - meta->column_index_offset);
    }
    if (status == ALM_OK) {
        meta->offset_index_offset = (int64_t)writer->offset_index.len;
        status = add_offset_index(cx, &arena, writer, i);
        meta->offset_index_bytes =
            (int32_t)((int64_t)writer->offset_index.len - meta->offset_index_offset);
    }
    alm_arena_deinit(&arena);
    return status;
}

/* -------------------------------------------------------------------------- row groups */

static alm_status parquet_writer_encode_one(alm_ctx *cx, void *arg, uint32_t i)
{
    alm_pq_writer *writer = arg;
    return alm_pq_chunk_write(cx, &writer->opt, &writer->column[i], &writer->shape[i],
                              &writer->store[i], &writer->chunk[i]);
}

static alm_status keep_statistics(alm_ctx *cx, alm_pq_writer *writer, const alm_pq_chunk *chunk,
                                  alm_pq_column_chunk *meta)
{
    alm_pq_statistics *statistics = &meta->statistics;
    meta->has_statistics = !writer->opt.no_statistics;
    statistics->null_count = chunk->n_nulls;
    statistics->distinct_count = chunk->distinct;
    statistics->min_inexact = chunk->bounds.min.inexact;
    statistics->max_inexact = chunk->bounds.max.inexact;
    if (chunk->bounds.min.set)
        ALM_TRY(alm_arena_copy(cx, &writer->arena, alm_pq_bound_text(&chunk->bounds.min),
                               &statistics->min_value));
    if (chunk->bounds.max.set)
        ALM_TRY(alm_arena_copy(cx, &writer->arena, alm_pq_bound_text(&chunk->bounds.max),
                               &statistics->max_value));
    if (chunk->bounds.min.set && statistics->min_value.ptr == NULL) /* an empty text */
        statistics->min_value = ALM_STR("");
    if (chunk->bounds.max.set && statistics->max_value.ptr == NULL)
        statistics->max_value = ALM_STR("");
    return ALM_OK;
}

static alm_status keep_encodings(alm_ctx *cx, alm_pq_writer *writer, uint32_t i,
                                 alm_pq_column_chunk *meta)
{
    const alm_pq_chunk *chunk = &writer->chunk[i];
    const int8_t page = writer->opt.page_version == 1 ? ALM_PQ_PAGE_DATA : ALM_PQ_PAGE_DATA_V2;
    alm_pq_encoding_stats *stats = NULL;
    ALM_TRY(ALM_NEWN(cx, &writer->arena, 2, &stats));
    meta->encodings = 1U << chunk->encoding;
    if (alm_pq_levels(&writer->shape[i]) > 0)
        meta->encodings |= 1U << ALM_PQ_RLE;
    if (chunk->dictionary_offset >= 0) {
        meta->encodings |= 1U << ALM_PQ_PLAIN;
        stats[meta->n_encoding_stats++] =
            (alm_pq_encoding_stats){ALM_PQ_PAGE_DICTIONARY, ALM_PQ_PLAIN, 1};
    }
    stats[meta->n_encoding_stats++] =
        (alm_pq_encoding_stats){page, (int8_t)chunk->encoding, (int32_t)alm_pq_chunk_pages(chunk)};
    meta->encoding_stats = stats;
    return ALM_OK;
}

/* The pages of a column go out; what the footer says of them is kept. */
static alm_status parquet_writer_put_chunk(alm_ctx *cx, alm_pq_writer *writer, uint32_t i,
                                           alm_pq_row_group *group)
{
    const alm_pq_chunk *chunk = &writer->chunk[i];
    alm_pq_column_chunk *meta = &group->column[i];
    *meta = (alm_pq_column_chunk){
        .path = writer->path[i],
        .n_path = writer->n_path[i],
        .physical = writer->shape[i].leaf.physical,
        .codec = (int8_t)writer->opt.codec,
        .has_meta = true,
        .n_values = chunk->n_values,
        .uncompressed_bytes = chunk->uncompressed_bytes,
        .compressed_bytes = (int64_t)chunk->bytes.len,
        .data_offset = writer->offset + chunk->data_offset,
        .index_offset = -1,
        .dictionary_offset =
            chunk->dictionary_offset >= 0 ? writer->offset + chunk->dictionary_offset : -1,
        .bloom_offset = -1,
        .offset_index_offset = -1,
        .column_index_offset = -1,
    };
    ALM_TRY(keep_statistics(cx, writer, chunk, meta));
    ALM_TRY(keep_encodings(cx, writer, i, meta));
    ALM_TRY(add_indexes(cx, writer, i, meta));
    group->uncompressed_bytes += meta->uncompressed_bytes;
    group->compressed_bytes += meta->compressed_bytes;
    return parquet_writer_put(cx, writer, chunk->bytes.ptr, chunk->bytes.len);
}

static alm_status put_blooms(alm_ctx *cx, alm_pq_writer *writer, alm_pq_row_group *group)
{
    for (uint32_t i = 0; i < writer->n; i++) {
        const alm_buf *bloom = &writer->chunk[i].bloom;
        if (bloom->len == 0)
            continue;
        group->column[i].bloom_offset = writer->offset;
        group->column[i].bloom_bytes = (int32_t)bloom->len;
        ALM_TRY(parquet_writer_put(cx, writer, bloom->ptr, bloom->len));
    }
    return ALM_OK;
}

static alm_status tell_symbols(alm_ctx *cx, alm_pq_writer *writer)
{
    for (uint32_t i = 0; writer->opt.on_symbols != NULL && i < writer->n; i++) {
        const alm_pq_store *store = &writer->store[i];
        const bool coded = store->one_dict && store->dict != NULL;
        if (writer->column[i].type.id == ALM_T_SYMBOL)
            ALM_TRY(writer->opt.on_symbols(
                cx, writer->opt.symbols_arg, writer->groups.n, i, coded ? store->dict : NULL,
                coded ? (const uint32_t *)(const void *)store->code_of.ptr : NULL, store->texts.n));
    }
    return ALM_OK;
}

static alm_status new_group(alm_ctx *cx, alm_pq_writer *writer, alm_pq_row_group **out)
{
    groups *g = &writer->groups;
    if (g->n == g->cap) {
        const uint32_t cap = g->cap * 2 + 4;
        alm_pq_row_group *more = NULL;
        ALM_TRY(ALM_NEWN(cx, &writer->arena, cap, &more));
        if (g->n > 0)
            (void)memcpy(more, g->list, g->n * sizeof(*more));
        g->list = more;
        g->cap = cap;
    }
    *out = &g->list[g->n];
    **out = (alm_pq_row_group){.n_columns = writer->n,
                               .n_rows = writer->group_rows,
                               .file_offset = writer->offset,
                               .ordinal = (int32_t)g->n,
                               .n_sorting = writer->opt.n_sorting};
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->n + 1, &(*out)->column));
    ALM_TRY(ALM_NEWN(cx, &writer->arena, writer->opt.n_sorting + 1, &(*out)->sorting));
    for (uint32_t i = 0; i < writer->opt.n_sorting; i++) {
        const alm_pq_sorting *sorting = &writer->opt.sorting[i];
        (*out)->sorting[i] = (alm_pq_sorting_column){.column = (int32_t)sorting->column,
                                                     .descending = sorting->descending,
                                                     .nulls_first = sorting->nulls_first};
    }
    return ALM_OK;
}

static alm_status put_chunks(alm_ctx *cx, alm_pq_writer *writer, alm_pq_row_group *group)
{
    const bool beside =
        writer->opt.each != NULL && writer->group_rows > ALM_PQ_STEP; /* else not worth it */
    if (beside)
        ALM_TRY(
            writer->opt.each(cx, writer->opt.pool, writer->n, parquet_writer_encode_one, writer));
    for (uint32_t i = 0; i < writer->n; i++) {
        if (!beside)
            ALM_TRY(parquet_writer_encode_one(cx, writer, i));
        ALM_TRY(parquet_writer_put_chunk(cx, writer, i, group));
        alm_buf_deinit(&writer->chunk[i].bytes);
    }
    return ALM_OK;
}

static alm_status end_row_group(alm_ctx *cx, alm_pq_writer *writer)
{
    alm_pq_row_group *group = NULL;
    ALM_TRY(new_group(cx, writer, &group));
    ALM_TRY(put_chunks(cx, writer, group));
    ALM_TRY(put_blooms(cx, writer, group));
    ALM_TRY(tell_symbols(cx, writer));
    for (uint32_t i = 0; i < writer->n; i++) {
        alm_pq_chunk_deinit(&writer->chunk[i]);
        alm_pq_chunk_init(&writer->chunk[i], writer->opt.mem);
        alm_pq_store_reset(&writer->store[i]);
    }
    writer->groups.n++;
    writer->group_rows = 0;
    return ALM_OK;
}

static alm_status check_alive(alm_ctx *cx, const alm_pq_writer *writer)
{
    return writer->failed ? alm_fail(cx, ALM_E_ARG, -1, "this Parquet file failed before") : ALM_OK;
}

alm_status alm_pq_end_row_group(alm_ctx *cx, alm_pq_writer *writer)
{
    ALM_TRY(check_alive(cx, writer));
    if (writer->group_rows == 0)
        return ALM_OK;
    const alm_status status = end_row_group(cx, writer);
    writer->failed = status != ALM_OK;
    return status;
}

/* -------------------------------------------------------------------------- rows */

/* Up to the next multiple of a step, or the end of the row group. */
static alm_status parquet_writer_add_step(alm_ctx *cx, alm_pq_writer *writer,
                                          const alm_batch *batch, uint32_t from, uint32_t to,
                                          uint32_t *end)
{
    const uint32_t step = ALM_PQ_STEP - writer->group_rows % ALM_PQ_STEP;
    const uint32_t left = (uint32_t)writer->opt.row_group_rows - writer->group_rows;
    const uint32_t n = ALM_MIN(ALM_MIN(step, left), to - from);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < writer->n; i++) {
        ALM_TRY(alm_pq_store_add(cx, &writer->store[i], &batch->cols[i], from, from + n));
        bytes += alm_pq_store_bytes(&writer->store[i]);
    }
    writer->group_rows += n;
    writer->rows += n;
    *end = from + n;
    if (n < left && (n < step || bytes < writer->opt.row_group_bytes))
        return ALM_OK;
    return end_row_group(cx, writer);
}

alm_status alm_pq_write(alm_ctx *cx, alm_pq_writer *writer, const alm_batch *batch, uint32_t from,
                        uint32_t to)
{
    ALM_ASSERT(batch->sel == NULL && batch->n_cols == writer->n && to <= batch->rows);
    ALM_TRY(check_alive(cx, writer));
    while (from < to) {
        alm_status status = alm_check(cx);
        if (status == ALM_OK)
            status = parquet_writer_add_step(cx, writer, batch, from, to, &from);
        writer->failed = status != ALM_OK;
        ALM_TRY(status);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- the end */

/* Behind the row groups; the places in the metadata become those in the file. */
static alm_status put_indexes(alm_ctx *cx, alm_pq_writer *writer)
{
    const int64_t columns_at = writer->offset;
    const int64_t offsets_at = writer->offset + (int64_t)writer->column_index.len;
    for (uint32_t group = 0; group < writer->groups.n; group++)
        for (uint32_t i = 0; i < writer->n; i++) {
            alm_pq_column_chunk *meta = &writer->groups.list[group].column[i];
            meta->column_index_offset += meta->column_index_offset >= 0 ? columns_at : 0;
            meta->offset_index_offset += meta->offset_index_offset >= 0 ? offsets_at : 0;
        }
    ALM_TRY(parquet_writer_put(cx, writer, writer->column_index.ptr, writer->column_index.len));
    return parquet_writer_put(cx, writer, writer->offset_index.ptr, writer->offset_index.len);
}

static alm_status put_footer(alm_ctx *cx, alm_pq_writer *writer, alm_buf *footer)
{
    alm_pq_file_meta meta = {.version = writer->opt.page_version,
                             .n_rows = writer->rows,
                             .row_group = writer->groups.list,
                             .n_row_groups = writer->groups.n,
                             .key_value = writer->pair,
                             .n_key_value = writer->n_pairs,
                             .created_by = ALM_STR("almanac version " ALM_VERSION),
                             .has_column_orders = true};
    ALM_TRY(make_schema(cx, writer, &meta));
    ALM_TRY(alm_pq_write_file_meta(cx, &meta, footer));
    if (footer->len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the footer of the Parquet file is over 2 GiB");
    const uint32_t bytes = (uint32_t)footer->len;
    ALM_TRY(alm_buf_append(cx, footer, &bytes, sizeof(bytes)));
    ALM_TRY(alm_buf_append(cx, footer, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES));
    return parquet_writer_put(cx, writer, footer->ptr, footer->len);
}

alm_status alm_pq_finish(alm_ctx *cx, alm_pq_writer *writer)
{
    alm_buf footer;
    ALM_TRY(alm_pq_end_row_group(cx, writer));
    alm_buf_init(&footer, writer->opt.mem);
    alm_status status = put_indexes(cx, writer);
    if (status == ALM_OK)
        status = put_footer(cx, writer, &footer);
    alm_buf_deinit(&footer);
    writer->failed = true; /* nothing comes behind the footer */
    return status;
}
