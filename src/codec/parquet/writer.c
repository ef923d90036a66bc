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

void alm_pq_options_init(alm_pq_options *o)
{
    *o = (alm_pq_options){.codec = ALM_PQ_ZSTD,
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

static alm_status put(alm_ctx *cx, alm_pq_writer *w, const void *bytes, size_t n)
{
    ALM_TRY(w->sink(cx, w->sink_arg, bytes, n));
    w->offset += (int64_t)n;
    return ALM_OK;
}

/* -------------------------------------------------------------------------- schema */

static alm_str name_of_level(uint32_t level)
{
    return level % 2 == 1 ? ALM_STR("list") : ALM_STR("element");
}

/* Names from the column to its leaf. */
static alm_status make_path(alm_ctx *cx, alm_pq_writer *w, uint32_t i)
{
    w->n_path[i] = 1 + 2 * w->shape[i].dims;
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n_path[i], &w->path[i]));
    w->path[i][0] = alm_str_of(w->column[i].name);
    for (uint32_t k = 1; k < w->n_path[i]; k++)
        w->path[i][k] = name_of_level(k);
    return ALM_OK;
}

/* The elements of one column; lists are a list group, a repeated group in it, and so on. */
static uint32_t put_elements(const alm_pq_writer *w, uint32_t i, alm_pq_schema_element *out)
{
    const alm_pq_shape *s = &w->shape[i];
    const uint32_t n = w->n_path[i];
    for (uint32_t k = 0; k + 1 < n; k++) {
        const bool repeated = k % 2 == 1;
        out[k] = (alm_pq_schema_element){
            .name = w->path[i][k],
            .physical = -1,
            .n_children = 1,
            .repetition = repeated ? ALM_PQ_REPEATED : ALM_PQ_OPTIONAL,
            .converted = repeated ? ALM_PQ_C_NONE : ALM_PQ_C_LIST,
            .logical = repeated ? ALM_PQ_L_NONE : ALM_PQ_L_LIST,
        };
    }
    out[n - 1] = s->leaf;
    out[n - 1].name = w->path[i][n - 1];
    out[n - 1].repetition = s->required ? ALM_PQ_REQUIRED : ALM_PQ_OPTIONAL;
    return n;
}

static alm_status make_schema(alm_ctx *cx, alm_pq_writer *w, alm_pq_file_meta *meta)
{
    meta->n_schema = 1;
    for (uint32_t i = 0; i < w->n; i++)
        meta->n_schema += w->n_path[i];
    ALM_TRY(ALM_NEWN(cx, &w->arena, meta->n_schema, &meta->schema));
    meta->schema[0] = (alm_pq_schema_element){.name = ALM_STR("schema"),
                                              .physical = -1,
                                              .repetition = -1,
                                              .converted = ALM_PQ_C_NONE,
                                              .n_children = (int32_t)w->n};
    uint32_t at = 1;
    for (uint32_t i = 0; i < w->n; i++)
        at += put_elements(w, i, meta->schema + at);
    return ALM_OK;
}

/* The value of ALM_PQ_KEY. */
static alm_status own_types(alm_ctx *cx, const alm_pq_writer *w, alm_buf *out)
{
    ALM_TRY(alm_buf_text(cx, out, "{\"version\":1,\"columns\":["));
    for (uint32_t i = 0; i < w->n; i++) {
        const alm_type type =
            w->column[i].type.id == ALM_T_NULL ? ALM_TY(STRING) : w->column[i].type;
        ALM_TRY(alm_buf_text(cx, out, i > 0 ? "," : ""));
        ALM_TRY(alm_json_put_string(cx, out, alm_str_of(alm_type_name(type))));
    }
    return alm_buf_printf(cx, out, "],\"timestamp\":%d}", (int)w->opt.ts_col);
}

alm_status alm_pq_put_key_value(alm_ctx *cx, alm_pq_writer *w, alm_str key, alm_str value)
{
    if (w->n_pairs == w->cap_pairs) {
        const uint32_t cap = w->cap_pairs * 2 + 4;
        alm_pq_key_value *more = NULL;
        ALM_TRY(ALM_NEWN(cx, &w->arena, cap, &more));
        if (w->n_pairs > 0)
            (void)memcpy(more, w->pair, w->n_pairs * sizeof(*more));
        w->pair = more;
        w->cap_pairs = cap;
    }
    alm_pq_key_value *pair = &w->pair[w->n_pairs];
    ALM_TRY(alm_arena_copy(cx, &w->arena, key, &pair->key));
    ALM_TRY(alm_arena_copy(cx, &w->arena, value, &pair->value));
    if (pair->value.ptr == NULL)
        pair->value = ALM_STR("");
    w->n_pairs++;
    return ALM_OK;
}

static alm_status put_own_types(alm_ctx *cx, alm_pq_writer *w)
{
    alm_buf text;
    alm_buf_init(&text, NULL);
    alm_status st = own_types(cx, w, &text);
    if (st == ALM_OK)
        st = alm_pq_put_key_value(cx, w, ALM_STR(ALM_PQ_KEY), (alm_str){text.ptr, text.len});
    alm_buf_deinit(&text);
    return st;
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

static alm_status check_options(alm_ctx *cx, const alm_pq_options *o, uint32_t n)
{
    static const uint32_t writable = 1U << ALM_PQ_UNCOMPRESSED | 1U << ALM_PQ_SNAPPY |
                                     1U << ALM_PQ_GZIP | 1U << ALM_PQ_BROTLI | 1U << ALM_PQ_ZSTD |
                                     1U << ALM_PQ_LZ4_RAW;
    if (o->codec < 0 || o->codec >= ALM_PQ_CODEC_COUNT || (writable >> o->codec & 1) == 0)
        return bad_option(cx, "the codec", o->codec);
    if (o->level != -1 && !is_level(o->codec, o->level))
        return bad_option(cx, "the level of compression", o->level);
    if (o->row_group_rows < 1 || o->row_group_rows > ROW_GROUP_ROWS_MAX)
        return bad_option(cx, "rows of a row group", o->row_group_rows);
    if (o->row_group_bytes < 1)
        return bad_option(cx, "bytes of a row group", o->row_group_bytes);
    if (o->page_bytes < 1 || o->page_bytes > PAGE_BYTES_MAX)
        return bad_option(cx, "bytes of a page", o->page_bytes);
    if (o->page_rows < 1 || o->page_rows > ROW_GROUP_ROWS_MAX)
        return bad_option(cx, "rows of a page", o->page_rows);
    if (o->page_version != 1 && o->page_version != 2)
        return bad_option(cx, "the version of pages", o->page_version);
    for (uint32_t i = 0; i < o->n_sorting; i++)
        if (o->sorting[i].column >= n)
            return bad_option(cx, "a sorting column", o->sorting[i].column);
    return ALM_OK;
}

static alm_status copy_columns(alm_ctx *cx, alm_pq_writer *w, const alm_pq_column *columns)
{
    alm_pq_sorting *sorting = NULL;
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &w->column));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &w->shape));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &w->path));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &w->n_path));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->opt.n_sorting + 1, &sorting));
    if (w->opt.n_sorting > 0)
        (void)memcpy(sorting, w->opt.sorting, w->opt.n_sorting * sizeof(*sorting));
    w->opt.sorting = sorting;
    for (uint32_t i = 0; i < w->n; i++) {
        w->column[i] = columns[i];
        ALM_TRY(alm_arena_zstr(cx, &w->arena, alm_str_of(columns[i].name), &w->column[i].name));
        w->shape[i] = alm_pq_shape_of(&columns[i]);
        ALM_TRY(make_path(cx, w, i));
    }
    return ALM_OK;
}

static alm_status make_stores(alm_ctx *cx, alm_pq_writer *w)
{
    alm_pq_store *store = NULL;
    alm_pq_chunk *chunk = NULL;
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &store));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &chunk));
    for (uint32_t i = 0; i < w->n; i++) {
        alm_pq_store_init(&store[i], &w->column[i], w->opt.mem);
        alm_pq_chunk_init(&chunk[i], w->opt.mem);
    }
    w->store = store; /* from here on they are freed */
    w->chunk = chunk;
    return ALM_OK;
}

alm_status alm_pq_writer_new(alm_ctx *cx, const alm_pq_column *columns, uint32_t n,
                             const alm_pq_options *options, alm_pq_sink sink, void *arg,
                             alm_pq_writer **out)
{
    ALM_TRY(check_options(cx, options, n));
    alm_pq_writer *w = calloc(1, sizeof(*w));
    if (w == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for a Parquet writer");
    w->opt = *options;
    w->sink = sink;
    w->sink_arg = arg;
    w->n = n;
    alm_arena_init(&w->arena, options->mem);
    alm_buf_init(&w->column_index, options->mem);
    alm_buf_init(&w->offset_index, options->mem);
    alm_status st = copy_columns(cx, w, columns);
    if (st == ALM_OK)
        st = make_stores(cx, w);
    if (st == ALM_OK)
        st = put_own_types(cx, w);
    if (st == ALM_OK)
        st = put(cx, w, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES);
    if (st != ALM_OK) {
        alm_pq_writer_free(w);
        return st;
    }
    *out = w;
    return ALM_OK;
}

void alm_pq_writer_free(alm_pq_writer *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; w->store != NULL && i < w->n; i++) {
        alm_pq_store_deinit(&w->store[i]);
        alm_pq_chunk_deinit(&w->chunk[i]);
    }
    alm_buf_deinit(&w->column_index);
    alm_buf_deinit(&w->offset_index);
    alm_arena_deinit(&w->arena);
    free(w);
}

int64_t alm_pq_writer_bytes(const alm_pq_writer *w)
{
    return w->offset;
}

int64_t alm_pq_writer_rows(const alm_pq_writer *w)
{
    return w->rows;
}

/* -------------------------------------------------------------------------- indexes of a chunk */

static bool has_column_index(const alm_pq_writer *w, const alm_pq_chunk *chunk, uint32_t i)
{
    if (w->opt.no_statistics || w->shape[i].order == ALM_PQ_ORDER_NONE)
        return false;
    for (uint32_t k = 0; k < alm_pq_chunk_pages(chunk); k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        if (page->nulls < page->values && (!page->bounds.min.set || !page->bounds.max.set))
            return false; /* a page without bounds: the format has no word for it */
    }
    return true;
}

/* How the bounds of pages follow one another, those of nulls left out. */
static uint8_t boundary(alm_pq_order order, const alm_pq_chunk *chunk)
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

static alm_status add_column_index(alm_ctx *cx, alm_arena *arena, alm_pq_writer *w, uint32_t i)
{
    const alm_pq_chunk *chunk = &w->chunk[i];
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
    index.boundary = boundary(w->shape[i].order, chunk);
    return alm_pq_write_column_index(cx, &index, &w->column_index);
}

static alm_status add_offset_index(alm_ctx *cx, alm_arena *arena, alm_pq_writer *w, uint32_t i)
{
    const alm_pq_chunk *chunk = &w->chunk[i];
    alm_pq_offset_index index = {.n_pages = alm_pq_chunk_pages(chunk)};
    ALM_TRY(ALM_NEWN(cx, arena, index.n_pages + 1, &index.page));
    for (uint32_t k = 0; k < index.n_pages; k++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(chunk, k);
        index.page[k] = (alm_pq_page_location){
            .offset = w->offset + page->offset, .bytes = page->bytes, .first_row = page->first_row};
    }
    return alm_pq_write_offset_index(cx, &index, &w->offset_index);
}

/* Their places are those among the indexes until the footer is written. */
static alm_status add_indexes(alm_ctx *cx, alm_pq_writer *w, uint32_t i, alm_pq_column_chunk *meta)
{
    alm_arena arena;
    alm_status st = ALM_OK;
    if (w->opt.no_page_index)
        return ALM_OK;
    alm_arena_init(&arena, w->opt.mem);
    if (has_column_index(w, &w->chunk[i], i)) {
        meta->column_index_offset = (int64_t)w->column_index.len;
        st = add_column_index(cx, &arena, w, i);
        meta->column_index_bytes =
            (int32_t)((int64_t)w->column_index.len - meta->column_index_offset);
    }
    if (st == ALM_OK) {
        meta->offset_index_offset = (int64_t)w->offset_index.len;
        st = add_offset_index(cx, &arena, w, i);
        meta->offset_index_bytes =
            (int32_t)((int64_t)w->offset_index.len - meta->offset_index_offset);
    }
    alm_arena_deinit(&arena);
    return st;
}

/* -------------------------------------------------------------------------- row groups */

static alm_status encode_one(alm_ctx *cx, void *arg, uint32_t i)
{
    alm_pq_writer *w = arg;
    return alm_pq_chunk_write(cx, &w->opt, &w->column[i], &w->shape[i], &w->store[i], &w->chunk[i]);
}

static alm_status keep_statistics(alm_ctx *cx, alm_pq_writer *w, const alm_pq_chunk *chunk,
                                  alm_pq_column_chunk *meta)
{
    alm_pq_statistics *s = &meta->statistics;
    meta->has_statistics = !w->opt.no_statistics;
    s->null_count = chunk->n_nulls;
    s->distinct_count = chunk->distinct;
    s->min_inexact = chunk->bounds.min.inexact;
    s->max_inexact = chunk->bounds.max.inexact;
    if (chunk->bounds.min.set)
        ALM_TRY(
            alm_arena_copy(cx, &w->arena, alm_pq_bound_text(&chunk->bounds.min), &s->min_value));
    if (chunk->bounds.max.set)
        ALM_TRY(
            alm_arena_copy(cx, &w->arena, alm_pq_bound_text(&chunk->bounds.max), &s->max_value));
    if (chunk->bounds.min.set && s->min_value.ptr == NULL) /* an empty text */
        s->min_value = ALM_STR("");
    if (chunk->bounds.max.set && s->max_value.ptr == NULL)
        s->max_value = ALM_STR("");
    return ALM_OK;
}

static alm_status keep_encodings(alm_ctx *cx, alm_pq_writer *w, uint32_t i,
                                 alm_pq_column_chunk *meta)
{
    const alm_pq_chunk *chunk = &w->chunk[i];
    const int8_t page = w->opt.page_version == 1 ? ALM_PQ_PAGE_DATA : ALM_PQ_PAGE_DATA_V2;
    alm_pq_encoding_stats *stats = NULL;
    ALM_TRY(ALM_NEWN(cx, &w->arena, 2, &stats));
    meta->encodings = 1U << chunk->encoding;
    if (alm_pq_levels(&w->shape[i]) > 0)
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
static alm_status put_chunk(alm_ctx *cx, alm_pq_writer *w, uint32_t i, alm_pq_row_group *group)
{
    const alm_pq_chunk *chunk = &w->chunk[i];
    alm_pq_column_chunk *meta = &group->column[i];
    *meta = (alm_pq_column_chunk){
        .path = w->path[i],
        .n_path = w->n_path[i],
        .physical = w->shape[i].leaf.physical,
        .codec = (int8_t)w->opt.codec,
        .has_meta = true,
        .n_values = chunk->n_values,
        .uncompressed_bytes = chunk->uncompressed_bytes,
        .compressed_bytes = (int64_t)chunk->bytes.len,
        .data_offset = w->offset + chunk->data_offset,
        .index_offset = -1,
        .dictionary_offset =
            chunk->dictionary_offset >= 0 ? w->offset + chunk->dictionary_offset : -1,
        .bloom_offset = -1,
        .offset_index_offset = -1,
        .column_index_offset = -1,
    };
    ALM_TRY(keep_statistics(cx, w, chunk, meta));
    ALM_TRY(keep_encodings(cx, w, i, meta));
    ALM_TRY(add_indexes(cx, w, i, meta));
    group->uncompressed_bytes += meta->uncompressed_bytes;
    group->compressed_bytes += meta->compressed_bytes;
    return put(cx, w, chunk->bytes.ptr, chunk->bytes.len);
}

static alm_status put_blooms(alm_ctx *cx, alm_pq_writer *w, alm_pq_row_group *group)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const alm_buf *bloom = &w->chunk[i].bloom;
        if (bloom->len == 0)
            continue;
        group->column[i].bloom_offset = w->offset;
        group->column[i].bloom_bytes = (int32_t)bloom->len;
        ALM_TRY(put(cx, w, bloom->ptr, bloom->len));
    }
    return ALM_OK;
}

static alm_status tell_symbols(alm_ctx *cx, alm_pq_writer *w)
{
    for (uint32_t i = 0; w->opt.on_symbols != NULL && i < w->n; i++) {
        const alm_pq_store *s = &w->store[i];
        const bool coded = s->one_dict && s->dict != NULL;
        if (w->column[i].type.id == ALM_T_SYMBOL)
            ALM_TRY(w->opt.on_symbols(
                cx, w->opt.symbols_arg, w->groups.n, i, coded ? s->dict : NULL,
                coded ? (const uint32_t *)(const void *)s->code_of.ptr : NULL, s->texts.n));
    }
    return ALM_OK;
}

static alm_status new_group(alm_ctx *cx, alm_pq_writer *w, alm_pq_row_group **out)
{
    groups *g = &w->groups;
    if (g->n == g->cap) {
        const uint32_t cap = g->cap * 2 + 4;
        alm_pq_row_group *more = NULL;
        ALM_TRY(ALM_NEWN(cx, &w->arena, cap, &more));
        if (g->n > 0)
            (void)memcpy(more, g->list, g->n * sizeof(*more));
        g->list = more;
        g->cap = cap;
    }
    *out = &g->list[g->n];
    **out = (alm_pq_row_group){.n_columns = w->n,
                               .n_rows = w->group_rows,
                               .file_offset = w->offset,
                               .ordinal = (int32_t)g->n,
                               .n_sorting = w->opt.n_sorting};
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->n + 1, &(*out)->column));
    ALM_TRY(ALM_NEWN(cx, &w->arena, w->opt.n_sorting + 1, &(*out)->sorting));
    for (uint32_t i = 0; i < w->opt.n_sorting; i++) {
        const alm_pq_sorting *s = &w->opt.sorting[i];
        (*out)->sorting[i] = (alm_pq_sorting_column){.column = (int32_t)s->column,
                                                     .descending = s->descending,
                                                     .nulls_first = s->nulls_first};
    }
    return ALM_OK;
}

static alm_status put_chunks(alm_ctx *cx, alm_pq_writer *w, alm_pq_row_group *group)
{
    const bool beside = w->opt.each != NULL && w->group_rows > ALM_PQ_STEP; /* else not worth it */
    if (beside)
        ALM_TRY(w->opt.each(cx, w->opt.pool, w->n, encode_one, w));
    for (uint32_t i = 0; i < w->n; i++) {
        if (!beside)
            ALM_TRY(encode_one(cx, w, i));
        ALM_TRY(put_chunk(cx, w, i, group));
        alm_buf_deinit(&w->chunk[i].bytes);
    }
    return ALM_OK;
}

static alm_status end_row_group(alm_ctx *cx, alm_pq_writer *w)
{
    alm_pq_row_group *group = NULL;
    ALM_TRY(new_group(cx, w, &group));
    ALM_TRY(put_chunks(cx, w, group));
    ALM_TRY(put_blooms(cx, w, group));
    ALM_TRY(tell_symbols(cx, w));
    for (uint32_t i = 0; i < w->n; i++) {
        alm_pq_chunk_deinit(&w->chunk[i]);
        alm_pq_chunk_init(&w->chunk[i], w->opt.mem);
        alm_pq_store_reset(&w->store[i]);
    }
    w->groups.n++;
    w->group_rows = 0;
    return ALM_OK;
}

static alm_status check_alive(alm_ctx *cx, const alm_pq_writer *w)
{
    return w->failed ? alm_fail(cx, ALM_E_ARG, -1, "this Parquet file failed before") : ALM_OK;
}

alm_status alm_pq_end_row_group(alm_ctx *cx, alm_pq_writer *w)
{
    ALM_TRY(check_alive(cx, w));
    if (w->group_rows == 0)
        return ALM_OK;
    const alm_status st = end_row_group(cx, w);
    w->failed = st != ALM_OK;
    return st;
}

/* -------------------------------------------------------------------------- rows */

/* Up to the next multiple of a step, or the end of the row group. */
static alm_status add_step(alm_ctx *cx, alm_pq_writer *w, const alm_batch *batch, uint32_t from,
                           uint32_t to, uint32_t *end)
{
    const uint32_t step = ALM_PQ_STEP - w->group_rows % ALM_PQ_STEP;
    const uint32_t left = (uint32_t)w->opt.row_group_rows - w->group_rows;
    const uint32_t n = ALM_MIN(ALM_MIN(step, left), to - from);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        ALM_TRY(alm_pq_store_add(cx, &w->store[i], &batch->cols[i], from, from + n));
        bytes += alm_pq_store_bytes(&w->store[i]);
    }
    w->group_rows += n;
    w->rows += n;
    *end = from + n;
    if (n < left && (n < step || bytes < w->opt.row_group_bytes))
        return ALM_OK;
    return end_row_group(cx, w);
}

alm_status alm_pq_write(alm_ctx *cx, alm_pq_writer *w, const alm_batch *batch, uint32_t from,
                        uint32_t to)
{
    ALM_ASSERT(batch->sel == NULL && batch->n_cols == w->n && to <= batch->rows);
    ALM_TRY(check_alive(cx, w));
    while (from < to) {
        alm_status st = alm_check(cx);
        if (st == ALM_OK)
            st = add_step(cx, w, batch, from, to, &from);
        w->failed = st != ALM_OK;
        ALM_TRY(st);
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- the end */

/* Behind the row groups; the places in the metadata become those in the file. */
static alm_status put_indexes(alm_ctx *cx, alm_pq_writer *w)
{
    const int64_t columns_at = w->offset;
    const int64_t offsets_at = w->offset + (int64_t)w->column_index.len;
    for (uint32_t g = 0; g < w->groups.n; g++)
        for (uint32_t i = 0; i < w->n; i++) {
            alm_pq_column_chunk *meta = &w->groups.list[g].column[i];
            meta->column_index_offset += meta->column_index_offset >= 0 ? columns_at : 0;
            meta->offset_index_offset += meta->offset_index_offset >= 0 ? offsets_at : 0;
        }
    ALM_TRY(put(cx, w, w->column_index.ptr, w->column_index.len));
    return put(cx, w, w->offset_index.ptr, w->offset_index.len);
}

static alm_status put_footer(alm_ctx *cx, alm_pq_writer *w, alm_buf *footer)
{
    alm_pq_file_meta meta = {.version = w->opt.page_version,
                             .n_rows = w->rows,
                             .row_group = w->groups.list,
                             .n_row_groups = w->groups.n,
                             .key_value = w->pair,
                             .n_key_value = w->n_pairs,
                             .created_by = ALM_STR("almanac version " ALM_VERSION),
                             .has_column_orders = true};
    ALM_TRY(make_schema(cx, w, &meta));
    ALM_TRY(alm_pq_write_file_meta(cx, &meta, footer));
    if (footer->len > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the footer of the Parquet file is over 2 GiB");
    const uint32_t bytes = (uint32_t)footer->len;
    ALM_TRY(alm_buf_append(cx, footer, &bytes, sizeof(bytes)));
    ALM_TRY(alm_buf_append(cx, footer, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES));
    return put(cx, w, footer->ptr, footer->len);
}

alm_status alm_pq_finish(alm_ctx *cx, alm_pq_writer *w)
{
    alm_buf footer;
    ALM_TRY(alm_pq_end_row_group(cx, w));
    alm_buf_init(&footer, w->opt.mem);
    alm_status st = put_indexes(cx, w);
    if (st == ALM_OK)
        st = put_footer(cx, w, &footer);
    alm_buf_deinit(&footer);
    w->failed = true; /* nothing comes behind the footer */
    return st;
}
