/* write_chunk.c - see write_chunk.h. */
#include "codec/parquet/write_chunk.h"

#include <libdeflate.h>

#include "codec/compress/block.h"
#include "codec/parquet/encode.h"
#include "codec/parquet/meta_write.h"
#include "codec/parquet/write_bloom.h"
#include "codec/parquet/write_dict.h"
#include "codec/parquet/write_lists.h"

enum {
    PAGE_MAX = 1 << 30,  /* what the reader takes */
    DICT_SURE = 1 << 20, /* values of a dictionary that was asked for */
    DICT_MOST = 1 << 16, /* of one that was not */
    DICT_TIMES = 8,      /* a number stands so often, or needs no dictionary; wide values: */
    DICT_TIMES_WIDE = 3,
    SAMPLE_PARTS = 4,
    SAMPLE_PART = 1024
};

typedef struct coder {
    alm_ctx *cx;
    alm_arena *arena;
    const alm_pq_options *opt;
    const alm_pq_column *column;
    const alm_pq_shape *shape;
    const alm_pq_store *store;
    alm_pq_chunk *out;
    alm_pq_values v;
    alm_pq_dict dict;  /* of numbers */
    uint32_t n_dict;   /* values of the dictionary, of numbers or texts */
    uint32_t bits;     /* of its numbers */
    uint32_t *seen_in; /* texts: the page that had it last + 1 */
    alm_pq_lists lists;
    alm_buf raw, packed;
    alm_block_codec codec;
} coder;

/* A part of the rows: [row, row_end), of which the values [at, at_end) are not null. */
typedef struct span {
    uint32_t row, row_end, at, at_end;
    size_t byte; /* of v.bytes: where the first value begins */
} span;

void alm_pq_chunk_init(alm_pq_chunk *c, alm_mem *mem)
{
    *c = (alm_pq_chunk){.dictionary_offset = -1, .data_offset = -1, .distinct = -1};
    alm_buf_init(&c->bytes, mem);
    alm_buf_init(&c->bloom, mem);
    alm_buf_init(&c->pages, mem);
}

void alm_pq_chunk_deinit(alm_pq_chunk *c)
{
    alm_buf_deinit(&c->bytes);
    alm_buf_deinit(&c->bloom);
    alm_buf_deinit(&c->pages);
}

/* -------------------------------------------------------------------------- packing */

static alm_block_form block_form(int32_t codec)
{
    switch (codec) {
    case ALM_PQ_SNAPPY:
        return ALM_BLOCK_SNAPPY;
    case ALM_PQ_GZIP:
        return ALM_BLOCK_GZIP;
    case ALM_PQ_BROTLI:
        return ALM_BLOCK_BROTLI;
    case ALM_PQ_ZSTD:
        return ALM_BLOCK_ZSTD;
    case ALM_PQ_LZ4_RAW:
        return ALM_BLOCK_LZ4;
    default:
        return ALM_BLOCK_RAW;
    }
}

/* raw[plain ..) packed behind raw[.. plain), in `packed`. */
static alm_status pack(coder *c, size_t plain)
{
    const alm_block_form form = block_form(c->opt->codec);
    const alm_str rest = {c->raw.ptr + plain, c->raw.len - plain};
    c->packed.len = 0;
    if (c->raw.len > PAGE_MAX)
        return alm_fail(c->cx, ALM_E_LIMIT, -1, "a page of column '%s' is over 1 GiB",
                        c->column->name);
    ALM_TRY(alm_buf_append(c->cx, &c->packed, c->raw.ptr, plain));
    if (form == ALM_BLOCK_RAW || rest.len == 0)
        return alm_buf_append(c->cx, &c->packed, rest.ptr, rest.len);
    return alm_block_pack(c->cx, &c->codec, form, c->opt->level < 0 ? 0 : c->opt->level, rest,
                          &c->packed);
}

/* Header and bytes of the page that stands in `packed`. */
static alm_status put_page(coder *c, alm_pq_page_header *header)
{
    const size_t before = c->out->bytes.len;
    header->uncompressed_bytes = (int32_t)c->raw.len;
    header->compressed_bytes = (int32_t)c->packed.len;
    header->has_crc = !c->opt->no_checksums;
    if (header->has_crc)
        header->crc = libdeflate_crc32(0, c->packed.ptr, c->packed.len);
    ALM_TRY(alm_pq_write_page_header(c->cx, header, &c->out->bytes));
    c->out->uncompressed_bytes += (int64_t)(c->out->bytes.len - before + c->raw.len);
    return alm_buf_append(c->cx, &c->out->bytes, c->packed.ptr, c->packed.len);
}

/* -------------------------------------------------------------------------- dictionary */

static alm_status put_dictionary(coder *c)
{
    const alm_pq_texts *texts = &c->store->texts;
    c->raw.len = 0;
    if (c->v.index != NULL && c->dict.data == NULL)
        ALM_TRY(alm_pq_put_bytes(c->cx, texts->bytes.ptr,
                                 (const uint32_t *)(const void *)texts->len.ptr, texts->n,
                                 &c->raw));
    else
        ALM_TRY(alm_buf_append(c->cx, &c->raw, c->dict.data, (size_t)c->n_dict * c->shape->width));
    ALM_TRY(pack(c, 0));
    alm_pq_page_header header = {
        .type = ALM_PQ_PAGE_DICTIONARY, .n_values = (int32_t)c->n_dict, .encoding = ALM_PQ_PLAIN};
    c->out->dictionary_offset = 0;
    c->out->distinct = c->n_dict;
    return put_page(c, &header);
}

/* -------------------------------------------------------------------------- choice */

static bool is_whole(const alm_pq_shape *s)
{
    return s->leaf.physical == ALM_PQ_INT32 || s->leaf.physical == ALM_PQ_INT64;
}

static alm_status try_dictionary(coder *c, bool sure)
{
    const uint32_t times = c->shape->width > 8 ? DICT_TIMES_WIDE : DICT_TIMES;
    const uint32_t most = sure ? DICT_SURE : ALM_MIN(c->v.n / times, (uint32_t)DICT_MOST);
    bool found = false;
    const alm_pq_numbers values = {c->v.data, c->shape->width, c->v.n};
    ALM_TRY(alm_pq_dict_of(c->cx, c->arena, &values, most, sure, &c->dict, &found));
    if (!found)
        return ALM_OK;
    c->n_dict = c->dict.n;
    c->v.index = c->dict.index;
    c->out->encoding = ALM_PQ_RLE_DICTIONARY;
    return ALM_OK;
}

/* Bytes that DELTA_BINARY_PACKED takes of a sample, and PLAIN. */
static alm_status sample_delta(coder *c, size_t *delta, size_t *plain)
{
    const uint32_t width = c->shape->width, n = c->v.n;
    const uint32_t part = ALM_MIN((uint32_t)SAMPLE_PART, n / SAMPLE_PARTS + 1);
    c->raw.len = 0;
    *plain = 0;
    for (uint32_t k = 0; k < SAMPLE_PARTS; k++) {
        const uint32_t from = (uint32_t)((uint64_t)(n - part) * k / (SAMPLE_PARTS - 1));
        ALM_TRY(alm_pq_put_delta(c->cx, (const char *)c->v.data + (size_t)from * width, width, part,
                                 &c->raw));
        *plain += (size_t)part * width;
    }
    *delta = c->raw.len;
    return ALM_OK;
}

static alm_status choose_whole(coder *c)
{
    size_t delta = 0, plain = 0;
    ALM_TRY(sample_delta(c, &delta, &plain));
    /* bits of a delta against those of a number in the dictionary */
    if (c->out->encoding == ALM_PQ_RLE_DICTIONARY &&
        delta * 8 / (plain / c->shape->width) >= alm_pq_bits(c->n_dict))
        return ALM_OK;
    if (delta > plain / 4 * 3)
        return ALM_OK;
    c->out->encoding = ALM_PQ_DELTA_BINARY_PACKED;
    c->v.index = NULL;
    return ALM_OK;
}

static alm_status choose_numbers(coder *c)
{
    const alm_pq_hint hint = c->column->hint;
    if (c->shape->leaf.physical == ALM_PQ_BOOLEAN || hint == ALM_PQ_HINT_PLAIN)
        return ALM_OK;
    if (hint == ALM_PQ_HINT_SPLIT) {
        c->out->encoding = ALM_PQ_BYTE_STREAM_SPLIT;
        return ALM_OK;
    }
    if (hint == ALM_PQ_HINT_DELTA && is_whole(c->shape)) {
        c->out->encoding = ALM_PQ_DELTA_BINARY_PACKED;
        return ALM_OK;
    }
    ALM_TRY(try_dictionary(c, hint == ALM_PQ_HINT_DICTIONARY));
    return is_whole(c->shape) && hint == ALM_PQ_HINT_AUTO ? choose_whole(c) : ALM_OK;
}

static alm_status choose(coder *c)
{
    c->out->encoding = ALM_PQ_PLAIN;
    if (c->shape->dims > 0)
        return ALM_OK;
    if (c->v.n == 0) { /* no dictionary, no lengths: no values */
        c->v.index = c->v.len = NULL;
        return ALM_OK;
    }
    if (c->v.len != NULL) {
        if (c->column->hint != ALM_PQ_HINT_PLAIN)
            c->out->encoding = ALM_PQ_DELTA_LENGTH_BYTE_ARRAY;
        return ALM_OK;
    }
    if (c->v.index != NULL) { /* texts */
        c->n_dict = c->store->texts.n;
        c->out->encoding = ALM_PQ_RLE_DICTIONARY;
        return ALM_NEWN(c->cx, c->arena, c->n_dict + 1, &c->seen_in);
    }
    return choose_numbers(c);
}

/* -------------------------------------------------------------------------- bounds */

/* Where the values of a span begin, NULL where no row of the chunk has one. */
static const char *first_value(const coder *c, const span *s)
{
    return c->v.bytes == NULL ? NULL : c->v.bytes + s->byte;
}

static void bounds_of_dictionary(coder *c, const span *s, alm_pq_minmax *out)
{
    const alm_pq_texts *texts = &c->store->texts;
    const uint32_t page = alm_pq_chunk_pages(c->out) + 1;
    alm_str min = alm_pq_text(texts, c->v.index[s->at]), max = min;
    for (uint32_t i = s->at; i < s->at_end; i++) {
        const uint32_t k = c->v.index[i];
        if (c->seen_in[k] == page)
            continue;
        c->seen_in[k] = page;
        const alm_str text = alm_pq_text(texts, k);
        if (alm_str_cmp(text, min) < 0)
            min = text;
        else if (alm_str_cmp(text, max) > 0)
            max = text;
    }
    alm_pq_minmax_of_texts(c->shape->order, min, max, out);
}

static void bounds_of_bytes(coder *c, const span *s, alm_pq_minmax *out)
{
    const char *at = first_value(c, s);
    alm_str min = {at, c->v.len[s->at]}, max = min;
    for (uint32_t i = s->at; i < s->at_end; i++) {
        const alm_str text = {at, c->v.len[i]};
        at += text.len;
        if (alm_str_cmp(text, min) < 0)
            min = text;
        else if (alm_str_cmp(text, max) > 0)
            max = text;
    }
    alm_pq_minmax_of_texts(c->shape->order, min, max, out);
}

static void bounds_of_span(coder *c, const span *s, alm_pq_minmax *out)
{
    const size_t n = s->at_end - s->at;
    if (c->opt->no_statistics || c->shape->order == ALM_PQ_ORDER_NONE)
        return;
    if (c->shape->dims > 0) {
        const size_t numbers = c->lists.numbers.len / sizeof(double);
        if (numbers > 0)
            alm_pq_minmax_of(c->shape->order, c->shape->width, c->lists.numbers.ptr, numbers, out);
    } else if (n == 0) {
        return;
    } else if (c->v.data != NULL) {
        alm_pq_minmax_of(c->shape->order, c->shape->width,
                         (const char *)c->v.data + (size_t)s->at * c->shape->width, n, out);
    } else if (c->v.index != NULL) {
        bounds_of_dictionary(c, s, out);
    } else {
        bounds_of_bytes(c, s, out);
    }
}

/* -------------------------------------------------------------------------- pages */

static alm_status put_values(coder *c, const span *s)
{
    const size_t n = s->at_end - s->at;
    const uint32_t width = c->shape->width;
    const char *data = c->v.data != NULL ? (const char *)c->v.data + (size_t)s->at * width : NULL;
    const char bits = (char)c->bits;
    size_t bytes = 0;
    if (c->shape->dims > 0)
        return alm_buf_append(c->cx, &c->raw, c->lists.numbers.ptr, c->lists.numbers.len);
    if (c->out->encoding == ALM_PQ_RLE_DICTIONARY) {
        ALM_TRY(alm_buf_append(c->cx, &c->raw, &bits, 1));
        return alm_pq_put_hybrid(c->cx, c->v.index + s->at, n, c->bits, &c->raw);
    }
    if (c->out->encoding == ALM_PQ_DELTA_BINARY_PACKED)
        return alm_pq_put_delta(c->cx, data, width, n, &c->raw);
    if (c->out->encoding == ALM_PQ_BYTE_STREAM_SPLIT)
        return alm_pq_put_split(c->cx, data, width, n, &c->raw);
    if (c->out->encoding == ALM_PQ_DELTA_LENGTH_BYTE_ARRAY) {
        for (uint32_t i = s->at; i < s->at_end; i++)
            bytes += c->v.len[i];
        ALM_TRY(alm_pq_put_delta(c->cx, c->v.len + s->at, 4, n, &c->raw));
        return alm_buf_append(c->cx, &c->raw, first_value(c, s), bytes);
    }
    if (c->v.len != NULL)
        return alm_pq_put_bytes(c->cx, first_value(c, s), c->v.len + s->at, n, &c->raw);
    if (c->shape->leaf.physical == ALM_PQ_BOOLEAN)
        return alm_pq_put_bits(c->cx, (const uint8_t *)data, n, &c->raw);
    return alm_buf_append(c->cx, &c->raw, data, n * width);
}

/* Definition levels of a column without lists. */
static alm_status put_present(coder *c, const span *s)
{
    const uint32_t rows = s->row_end - s->row;
    uint32_t *level = NULL;
    if (s->at_end - s->at == rows || s->at_end == s->at)
        return alm_pq_put_run(c->cx, s->at_end > s->at, rows, 1, &c->raw);
    ALM_TRY(alm_arena_bytes(c->cx, c->arena, (size_t)rows * sizeof(*level), &level));
    for (uint32_t i = 0; i < rows; i++)
        level[i] = c->v.null[s->row + i] == 0;
    return alm_pq_put_hybrid(c->cx, level, rows, 1, &c->raw);
}

static alm_status put_levels_of(coder *c, const span *s, const alm_buf *list_levels, uint32_t max,
                                int32_t *bytes)
{
    const bool prefixed = c->opt->page_version == 1;
    const size_t start = c->raw.len;
    const uint32_t none = 0;
    if (prefixed)
        ALM_TRY(alm_buf_append(c->cx, &c->raw, &none, 4));
    const size_t before = c->raw.len;
    if (c->shape->dims > 0)
        ALM_TRY(alm_pq_put_hybrid(c->cx, (const uint32_t *)(void *)list_levels->ptr,
                                  c->lists.n_levels, alm_pq_bits(max), &c->raw));
    else
        ALM_TRY(put_present(c, s));
    const uint32_t n = (uint32_t)(c->raw.len - before);
    if (prefixed)
        (void)memcpy(c->raw.ptr + start, &n, 4);
    *bytes = (int32_t)(c->raw.len - start);
    return ALM_OK;
}

static alm_status fill_lists(coder *c, const span *s)
{
    const char *at = first_value(c, s);
    uint32_t value = s->at;
    alm_pq_lists_reset(&c->lists);
    for (uint32_t row = s->row; row < s->row_end; row++) {
        if (c->v.null != NULL && c->v.null[row] != 0) {
            ALM_TRY(alm_pq_lists_add_null(c->cx, &c->lists));
            continue;
        }
        const alm_str array = {at, c->v.len[value++]};
        ALM_TRY(alm_pq_lists_add(c->cx, &c->lists, c->shape->dims, array));
        at += array.len;
    }
    return ALM_OK;
}

static alm_pq_statistics page_statistics(const alm_pq_page_note *note)
{
    return (alm_pq_statistics){.min_value = alm_pq_bound_text(&note->bounds.min),
                               .max_value = alm_pq_bound_text(&note->bounds.max),
                               .min_inexact = note->bounds.min.inexact,
                               .max_inexact = note->bounds.max.inexact,
                               .null_count = note->nulls,
                               .distinct_count = -1};
}

static alm_status put_data_page(coder *c, const span *s)
{
    const uint32_t levels = alm_pq_levels(c->shape);
    alm_pq_page_header h = {.encoding = (int8_t)c->out->encoding,
                            .def_encoding = ALM_PQ_RLE,
                            .rep_encoding = ALM_PQ_RLE,
                            .is_compressed = c->opt->codec != ALM_PQ_UNCOMPRESSED};
    alm_pq_page_note note = {.offset = (int64_t)c->out->bytes.len, .first_row = s->row};
    c->raw.len = 0;
    if (c->shape->dims > 0) {
        ALM_TRY(fill_lists(c, s));
        ALM_TRY(put_levels_of(c, s, &c->lists.repetition, c->shape->dims, &h.rep_bytes));
        ALM_TRY(put_levels_of(c, s, &c->lists.definition, levels, &h.def_bytes));
        note.values = c->lists.n_levels;
        note.nulls = c->lists.n_nulls;
    } else {
        if (levels > 0)
            ALM_TRY(put_levels_of(c, s, NULL, levels, &h.def_bytes));
        note.values = s->row_end - s->row;
        note.nulls = note.values - (s->at_end - s->at);
    }
    ALM_TRY(put_values(c, s));
    bounds_of_span(c, s, &note.bounds);
    h.type = c->opt->page_version == 1 ? ALM_PQ_PAGE_DATA : ALM_PQ_PAGE_DATA_V2;
    h.n_values = (int32_t)note.values;
    h.n_nulls = (int32_t)note.nulls;
    h.n_rows = (int32_t)(s->row_end - s->row);
    h.has_statistics = !c->opt->no_statistics;
    h.statistics = page_statistics(&note);
    ALM_TRY(pack(c, c->opt->page_version == 1 ? 0 : (size_t)(h.rep_bytes + h.def_bytes)));
    ALM_TRY(put_page(c, &h));
    note.bytes = (int32_t)((int64_t)c->out->bytes.len - note.offset);
    return alm_buf_append(c->cx, &c->out->pages, &note, sizeof(note));
}

/* Rows of the page that begins at s->row: its end, and the bytes of its values. */
static size_t end_page(const coder *c, span *s)
{
    const size_t page_bytes = (size_t)c->opt->page_bytes;
    const uint32_t end = (uint32_t)ALM_MIN((int64_t)c->v.rows, s->row + c->opt->page_rows);
    const uint32_t width = c->v.index != NULL ? 4 : c->shape->width;
    size_t bytes = 0, values = 0;
    s->row_end = s->row;
    s->at_end = s->at;
    while (s->row_end < end && bytes < page_bytes) {
        const bool null = c->v.null != NULL && c->v.null[s->row_end] != 0;
        s->row_end++;
        if (null)
            continue;
        if (c->v.len != NULL) {
            bytes += c->v.len[s->at_end] + 4;
            values += c->v.len[s->at_end];
        } else {
            bytes += width;
        }
        s->at_end++;
    }
    return values;
}

static alm_status put_pages(coder *c)
{
    c->bits =
        ALM_MAX(alm_pq_bits(c->n_dict > 0 ? c->n_dict - 1 : 0), 1U); /* 0 is not read by all */
    c->out->data_offset = (int64_t)c->out->bytes.len;
    for (span s = {0}; s.row < c->v.rows; s.row = s.row_end, s.at = s.at_end) {
        ALM_TRY(alm_check(c->cx));
        const size_t bytes = end_page(c, &s);
        ALM_TRY(put_data_page(c, &s));
        s.byte += bytes;
    }
    return ALM_OK;
}

/* What is known of the pages, of all of them. A page without an upper bound leaves the chunk without one. */
static void sum_up(coder *c)
{
    alm_pq_chunk *out = c->out;
    bool no_max = false;
    for (size_t i = 0; i < alm_pq_chunk_pages(out); i++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(out, i);
        out->n_values += page->values;
        out->n_nulls += page->nulls;
        no_max = no_max || (page->bounds.min.set && !page->bounds.max.set);
        alm_pq_minmax_join(c->shape->order, &out->bounds, &page->bounds);
    }
    out->bounds.max.set = out->bounds.max.set && !no_max;
}

static alm_status put_bloom(coder *c)
{
    if (!c->column->bloom || c->shape->dims > 0 || c->v.n == 0 ||
        c->shape->leaf.physical == ALM_PQ_BOOLEAN)
        return ALM_OK;
    if (c->out->encoding == ALM_PQ_RLE_DICTIONARY && c->dict.data != NULL)
        return alm_pq_bloom_of(c->cx, c->arena, c->dict.data, c->shape->width, c->n_dict,
                               &c->out->bloom);
    if (c->v.data != NULL)
        return alm_pq_bloom_of(c->cx, c->arena, c->v.data, c->shape->width, c->v.n, &c->out->bloom);
    if (c->v.index != NULL)
        return alm_pq_bloom_of_texts(c->cx, c->arena, c->store->texts.bytes.ptr,
                                     (const uint32_t *)(const void *)c->store->texts.len.ptr,
                                     c->n_dict, &c->out->bloom);
    return alm_pq_bloom_of_texts(c->cx, c->arena, c->v.bytes, c->v.len, c->v.n, &c->out->bloom);
}

static alm_status write(coder *c, alm_pq_store *store)
{
    ALM_TRY(alm_pq_store_end(c->cx, store));
    ALM_TRY(alm_pq_values_of(c->cx, c->arena, c->shape, c->column, store, &c->v));
    ALM_TRY(choose(c));
    if (c->out->encoding == ALM_PQ_RLE_DICTIONARY)
        ALM_TRY(put_dictionary(c));
    ALM_TRY(put_pages(c));
    sum_up(c);
    return put_bloom(c);
}

alm_status alm_pq_chunk_write(alm_ctx *cx, const alm_pq_options *options,
                              const alm_pq_column *column, const alm_pq_shape *shape,
                              alm_pq_store *store, alm_pq_chunk *out)
{
    alm_arena arena;
    alm_arena_init(&arena, options->mem);
    coder c = {.cx = cx,
               .arena = &arena,
               .opt = options,
               .column = column,
               .shape = shape,
               .store = store,
               .out = out};
    alm_pq_lists_init(&c.lists, options->mem);
    alm_buf_init(&c.raw, options->mem);
    alm_buf_init(&c.packed, options->mem);
    const alm_status st = write(&c, store);
    alm_pq_lists_deinit(&c.lists);
    alm_buf_deinit(&c.raw);
    alm_buf_deinit(&c.packed);
    alm_block_codec_deinit(&c.codec);
    alm_arena_deinit(&arena);
    return st;
}
