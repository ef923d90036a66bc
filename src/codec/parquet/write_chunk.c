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

void alm_pq_chunk_init(alm_pq_chunk *chunk, alm_mem *mem)
{
    *chunk = (alm_pq_chunk){.dictionary_offset = -1, .data_offset = -1, .distinct = -1};
    alm_buf_init(&chunk->bytes, mem);
    alm_buf_init(&chunk->bloom, mem);
    alm_buf_init(&chunk->pages, mem);
}

void alm_pq_chunk_deinit(alm_pq_chunk *chunk)
{
    alm_buf_deinit(&chunk->bytes);
    alm_buf_deinit(&chunk->bloom);
    alm_buf_deinit(&chunk->pages);
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
static alm_status write_chunk_pack(coder *self, size_t plain)
{
    const alm_block_form form = block_form(self->opt->codec);
    const alm_str rest = {self->raw.ptr + plain, self->raw.len - plain};
    self->packed.len = 0;
    if (self->raw.len > PAGE_MAX)
        return alm_fail(self->cx, ALM_E_LIMIT, -1, "a page of column '%s' is over 1 GiB",
                        self->column->name);
    ALM_TRY(alm_buf_append(self->cx, &self->packed, self->raw.ptr, plain));
    if (form == ALM_BLOCK_RAW || rest.len == 0)
        return alm_buf_append(self->cx, &self->packed, rest.ptr, rest.len);
    return alm_block_pack(self->cx, &self->codec, form, self->opt->level < 0 ? 0 : self->opt->level,
                          rest, &self->packed);
}

/* Header and bytes of the page that stands in `packed`. */
static alm_status put_page(coder *self, alm_pq_page_header *header)
{
    const size_t before = self->out->bytes.len;
    header->uncompressed_bytes = (int32_t)self->raw.len;
    header->compressed_bytes = (int32_t)self->packed.len;
    header->has_crc = !self->opt->no_checksums;
    if (header->has_crc)
        header->crc = libdeflate_crc32(0, self->packed.ptr, self->packed.len);
    ALM_TRY(alm_pq_write_page_header(self->cx, header, &self->out->bytes));
    self->out->uncompressed_bytes += (int64_t)(self->out->bytes.len - before + self->raw.len);
    return alm_buf_append(self->cx, &self->out->bytes, self->packed.ptr, self->packed.len);
}

/* -------------------------------------------------------------------------- dictionary */

static alm_status write_chunk_put_dictionary(coder *self)
{
    const alm_pq_texts *texts = &self->store->texts;
    self->raw.len = 0;
    if (self->v.index != NULL && self->dict.data == NULL)
        ALM_TRY(alm_pq_put_bytes(self->cx, texts->bytes.ptr,
                                 (const uint32_t *)(const void *)texts->len.ptr, texts->n,
                                 &self->raw));
    else
        ALM_TRY(alm_buf_append(self->cx, &self->raw, self->dict.data,
                               (size_t)self->n_dict * self->shape->width));
    ALM_TRY(write_chunk_pack(self, 0));
    alm_pq_page_header header = {.type = ALM_PQ_PAGE_DICTIONARY,
                                 .n_values = (int32_t)self->n_dict,
                                 .encoding = ALM_PQ_PLAIN};
    self->out->dictionary_offset = 0;
    self->out->distinct = self->n_dict;
    return put_page(self, &header);
}

/* -------------------------------------------------------------------------- choice */

static bool write_chunk_is_whole(const alm_pq_shape *shape)
{
    return shape->leaf.physical == ALM_PQ_INT32 || shape->leaf.physical == ALM_PQ_INT64;
}

static alm_status try_dictionary(coder *self, bool sure)
{
    const uint32_t times = self->shape->width > 8 ? DICT_TIMES_WIDE : DICT_TIMES;
    const uint32_t most = sure ? DICT_SURE : ALM_MIN(self->v.n / times, (uint32_t)DICT_MOST);
    bool found = false;
    const alm_pq_numbers values = {self->v.data, self->shape->width, self->v.n};
    ALM_TRY(alm_pq_dict_of(self->cx, self->arena, &values, most, sure, &self->dict, &found));
    if (!found)
        return ALM_OK;
    self->n_dict = self->dict.n;
    self->v.index = self->dict.index;
    self->out->encoding = ALM_PQ_RLE_DICTIONARY;
    return ALM_OK;
}

/* Bytes that DELTA_BINARY_PACKED takes of a sample, and PLAIN. */
static alm_status sample_delta(coder *self, size_t *delta, size_t *plain)
{
    const uint32_t width = self->shape->width, n = self->v.n;
    const uint32_t part = ALM_MIN((uint32_t)SAMPLE_PART, n / SAMPLE_PARTS + 1);
    self->raw.len = 0;
    *plain = 0;
    for (uint32_t k = 0; k < SAMPLE_PARTS; k++) {
        const uint32_t from = (uint32_t)((uint64_t)(n - part) * k / (SAMPLE_PARTS - 1));
        ALM_TRY(alm_pq_put_delta(self->cx, (const char *)self->v.data + (size_t)from * width, width,
                                 part, &self->raw));
        *plain += (size_t)part * width;
    }
    *delta = self->raw.len;
    return ALM_OK;
}

static alm_status choose_whole(coder *self)
{
    size_t delta = 0, plain = 0;
    ALM_TRY(sample_delta(self, &delta, &plain));
    /* bits of a delta against those of a number in the dictionary */
    if (self->out->encoding == ALM_PQ_RLE_DICTIONARY &&
        delta * 8 / (plain / self->shape->width) >= alm_pq_bits(self->n_dict))
        return ALM_OK;
    if (delta > plain / 4 * 3)
        return ALM_OK;
    self->out->encoding = ALM_PQ_DELTA_BINARY_PACKED;
    self->v.index = NULL;
    return ALM_OK;
}

static alm_status choose_numbers(coder *self)
{
    const alm_pq_hint hint = self->column->hint;
    if (self->shape->leaf.physical == ALM_PQ_BOOLEAN || hint == ALM_PQ_HINT_PLAIN)
        return ALM_OK;
    if (hint == ALM_PQ_HINT_SPLIT) {
        self->out->encoding = ALM_PQ_BYTE_STREAM_SPLIT;
        return ALM_OK;
    }
    if (hint == ALM_PQ_HINT_DELTA && write_chunk_is_whole(self->shape)) {
        self->out->encoding = ALM_PQ_DELTA_BINARY_PACKED;
        return ALM_OK;
    }
    ALM_TRY(try_dictionary(self, hint == ALM_PQ_HINT_DICTIONARY));
    return write_chunk_is_whole(self->shape) && hint == ALM_PQ_HINT_AUTO ? choose_whole(self)
                                                                         : ALM_OK;
}

static alm_status write_chunk_choose(coder *self)
{
    self->out->encoding = ALM_PQ_PLAIN;
    if (self->shape->dims > 0)
        return ALM_OK;
    if (self->v.n == 0) { /* no dictionary, no lengths: no values */
        self->v.index = self->v.len = NULL;
        return ALM_OK;
    }
    if (self->v.len != NULL) {
        if (self->column->hint != ALM_PQ_HINT_PLAIN)
            self->out->encoding = ALM_PQ_DELTA_LENGTH_BYTE_ARRAY;
        return ALM_OK;
    }
    if (self->v.index != NULL) { /* texts */
        self->n_dict = self->store->texts.n;
        self->out->encoding = ALM_PQ_RLE_DICTIONARY;
        return ALM_NEWN(self->cx, self->arena, self->n_dict + 1, &self->seen_in);
    }
    return choose_numbers(self);
}

/* -------------------------------------------------------------------------- bounds */

/* Where the values of a span begin, NULL where no row of the chunk has one. */
static const char *write_chunk_first_value(const coder *self, const span *range)
{
    return self->v.bytes == NULL ? NULL : self->v.bytes + range->byte;
}

static void bounds_of_dictionary(coder *self, const span *range, alm_pq_minmax *out)
{
    const alm_pq_texts *texts = &self->store->texts;
    const uint32_t page = alm_pq_chunk_pages(self->out) + 1;
    alm_str min = alm_pq_text(texts, self->v.index[range->at]), max = min;
    for (uint32_t i = range->at; i < range->at_end; i++) {
        const uint32_t k = self->v.index[i];
        if (self->seen_in[k] == page)
            continue;
        self->seen_in[k] = page;
        const alm_str text = alm_pq_text(texts, k);
        if (alm_str_cmp(text, min) < 0)
            min = text;
        else if (alm_str_cmp(text, max) > 0)
            max = text;
    }
    alm_pq_minmax_of_texts(self->shape->order, min, max, out);
}

static void bounds_of_bytes(coder *self, const span *range, alm_pq_minmax *out)
{
    const char *ptr = write_chunk_first_value(self, range);
    alm_str min = {ptr, self->v.len[range->at]}, max = min;
    for (uint32_t i = range->at; i < range->at_end; i++) {
        const alm_str text = {ptr, self->v.len[i]};
        ptr += text.len;
        if (alm_str_cmp(text, min) < 0)
            min = text;
        else if (alm_str_cmp(text, max) > 0)
            max = text;
    }
    alm_pq_minmax_of_texts(self->shape->order, min, max, out);
}

static void bounds_of_span(coder *self, const span *range, alm_pq_minmax *out)
{
    const size_t n = range->at_end - range->at;
    if (self->opt->no_statistics || self->shape->order == ALM_PQ_ORDER_NONE)
        return;
    if (self->shape->dims > 0) {
        const size_t numbers = self->lists.numbers.len / sizeof(double);
        if (numbers > 0)
            alm_pq_minmax_of(self->shape->order, self->shape->width, self->lists.numbers.ptr,
                             numbers, out);
    } else if (n == 0) {
        return;
    } else if (self->v.data != NULL) {
        alm_pq_minmax_of(self->shape->order, self->shape->width,
                         (const char *)self->v.data + (size_t)range->at * self->shape->width, n,
                         out);
    } else if (self->v.index != NULL) {
        bounds_of_dictionary(self, range, out);
    } else {
        bounds_of_bytes(self, range, out);
    }
}

/* -------------------------------------------------------------------------- pages */

static alm_status write_chunk_put_values(coder *self, const span *range)
{
    const size_t n = range->at_end - range->at;
    const uint32_t width = self->shape->width;
    const char *data =
        self->v.data != NULL ? (const char *)self->v.data + (size_t)range->at * width : NULL;
    const char bits = (char)self->bits;
    size_t bytes = 0;
    if (self->shape->dims > 0)
        return alm_buf_append(self->cx, &self->raw, self->lists.numbers.ptr,
                              self->lists.numbers.len);
    if (self->out->encoding == ALM_PQ_RLE_DICTIONARY) {
        ALM_TRY(alm_buf_append(self->cx, &self->raw, &bits, 1));
        return alm_pq_put_hybrid(self->cx, self->v.index + range->at, n, self->bits, &self->raw);
    }
    if (self->out->encoding == ALM_PQ_DELTA_BINARY_PACKED)
        return alm_pq_put_delta(self->cx, data, width, n, &self->raw);
    if (self->out->encoding == ALM_PQ_BYTE_STREAM_SPLIT)
        return alm_pq_put_split(self->cx, data, width, n, &self->raw);
    if (self->out->encoding == ALM_PQ_DELTA_LENGTH_BYTE_ARRAY) {
        for (uint32_t i = range->at; i < range->at_end; i++)
            bytes += self->v.len[i];
        ALM_TRY(alm_pq_put_delta(self->cx, self->v.len + range->at, 4, n, &self->raw));
        return alm_buf_append(self->cx, &self->raw, write_chunk_first_value(self, range), bytes);
    }
    if (self->v.len != NULL)
        return alm_pq_put_bytes(self->cx, write_chunk_first_value(self, range),
                                self->v.len + range->at, n, &self->raw);
    if (self->shape->leaf.physical == ALM_PQ_BOOLEAN)
        return alm_pq_put_bits(self->cx, (const uint8_t *)data, n, &self->raw);
    return alm_buf_append(self->cx, &self->raw, data, n * width);
}

/* Definition levels of a column without lists. */
static alm_status put_present(coder *self, const span *range)
{
    const uint32_t rows = range->row_end - range->row;
    uint32_t *level = NULL;
    if (range->at_end - range->at == rows || range->at_end == range->at)
        return alm_pq_put_run(self->cx, range->at_end > range->at, rows, 1, &self->raw);
    ALM_TRY(alm_arena_bytes(self->cx, self->arena, (size_t)rows * sizeof(*level), &level));
    for (uint32_t i = 0; i < rows; i++)
        level[i] = self->v.null[range->row + i] == 0;
    return alm_pq_put_hybrid(self->cx, level, rows, 1, &self->raw);
}

static alm_status put_levels_of(coder *self, const span *range, const alm_buf *list_levels,
                                uint32_t max, int32_t *bytes)
{
    const bool prefixed = self->opt->page_version == 1;
    const size_t start = self->raw.len;
    const uint32_t none = 0;
    if (prefixed)
        ALM_TRY(alm_buf_append(self->cx, &self->raw, &none, 4));
    const size_t before = self->raw.len;
    if (self->shape->dims > 0)
        ALM_TRY(alm_pq_put_hybrid(self->cx, (const uint32_t *)(void *)list_levels->ptr,
                                  self->lists.n_levels, alm_pq_bits(max), &self->raw));
    else
        ALM_TRY(put_present(self, range));
    const uint32_t n = (uint32_t)(self->raw.len - before);
    if (prefixed)
        (void)memcpy(self->raw.ptr + start, &n, 4);
    *bytes = (int32_t)(self->raw.len - start);
    return ALM_OK;
}

static alm_status write_chunk_fill_lists(coder *self, const span *range)
{
    const char *ptr = write_chunk_first_value(self, range);
    uint32_t value = range->at;
    alm_pq_lists_reset(&self->lists);
    for (uint32_t row = range->row; row < range->row_end; row++) {
        if (self->v.null != NULL && self->v.null[row] != 0) {
            ALM_TRY(alm_pq_lists_add_null(self->cx, &self->lists));
            continue;
        }
        const alm_str array = {ptr, self->v.len[value++]};
        ALM_TRY(alm_pq_lists_add(self->cx, &self->lists, self->shape->dims, array));
        ptr += array.len;
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

static alm_status put_data_page(coder *self, const span *range)
{
    const uint32_t levels = alm_pq_levels(self->shape);
    alm_pq_page_header header = {.encoding = (int8_t)self->out->encoding,
                                 .def_encoding = ALM_PQ_RLE,
                                 .rep_encoding = ALM_PQ_RLE,
                                 .is_compressed = self->opt->codec != ALM_PQ_UNCOMPRESSED};
    alm_pq_page_note note = {.offset = (int64_t)self->out->bytes.len, .first_row = range->row};
    self->raw.len = 0;
    if (self->shape->dims > 0) {
        ALM_TRY(write_chunk_fill_lists(self, range));
        ALM_TRY(put_levels_of(self, range, &self->lists.repetition, self->shape->dims,
                              &header.rep_bytes));
        ALM_TRY(put_levels_of(self, range, &self->lists.definition, levels, &header.def_bytes));
        note.values = self->lists.n_levels;
        note.nulls = self->lists.n_nulls;
    } else {
        if (levels > 0)
            ALM_TRY(put_levels_of(self, range, NULL, levels, &header.def_bytes));
        note.values = range->row_end - range->row;
        note.nulls = note.values - (range->at_end - range->at);
    }
    ALM_TRY(write_chunk_put_values(self, range));
    bounds_of_span(self, range, &note.bounds);
    header.type = self->opt->page_version == 1 ? ALM_PQ_PAGE_DATA : ALM_PQ_PAGE_DATA_V2;
    header.n_values = (int32_t)note.values;
    header.n_nulls = (int32_t)note.nulls;
    header.n_rows = (int32_t)(range->row_end - range->row);
    header.has_statistics = !self->opt->no_statistics;
    header.statistics = page_statistics(&note);
    ALM_TRY(write_chunk_pack(
        self, self->opt->page_version == 1 ? 0 : (size_t)(header.rep_bytes + header.def_bytes)));
    ALM_TRY(put_page(self, &header));
    note.bytes = (int32_t)((int64_t)self->out->bytes.len - note.offset);
    return alm_buf_append(self->cx, &self->out->pages, &note, sizeof(note));
}

/* Rows of the page that begins at range->row: its end, and the bytes of its values. */
static size_t end_page(const coder *self, span *range)
{
    const size_t page_bytes = (size_t)self->opt->page_bytes;
    const uint32_t end =
        (uint32_t)ALM_MIN((int64_t)self->v.rows, range->row + self->opt->page_rows);
    const uint32_t width = self->v.index != NULL ? 4 : self->shape->width;
    size_t bytes = 0, values = 0;
    range->row_end = range->row;
    range->at_end = range->at;
    while (range->row_end < end && bytes < page_bytes) {
        const bool null = self->v.null != NULL && self->v.null[range->row_end] != 0;
        range->row_end++;
        if (null)
            continue;
        if (self->v.len != NULL) {
            bytes += self->v.len[range->at_end] + 4;
            values += self->v.len[range->at_end];
        } else {
            bytes += width;
        }
        range->at_end++;
    }
    return values;
}

static alm_status put_pages(coder *self)
{
    self->bits = ALM_MAX(alm_pq_bits(self->n_dict > 0 ? self->n_dict - 1 : 0),
                         1U); /* 0 is not read by all */
    self->out->data_offset = (int64_t)self->out->bytes.len;
    for (span range = {0}; range.row < self->v.rows;
         range.row = range.row_end, range.at = range.at_end) {
        ALM_TRY(alm_check(self->cx));
        const size_t bytes = end_page(self, &range);
        ALM_TRY(put_data_page(self, &range));
        range.byte += bytes;
    }
    return ALM_OK;
}

/* What is known of the pages, of all of them. A page without an upper bound leaves the chunk without one. */
static void sum_up(coder *self)
{
    alm_pq_chunk *out = self->out;
    bool no_max = false;
    for (size_t i = 0; i < alm_pq_chunk_pages(out); i++) {
        const alm_pq_page_note *page = alm_pq_chunk_page(out, i);
        out->n_values += page->values;
        out->n_nulls += page->nulls;
        no_max = no_max || (page->bounds.min.set && !page->bounds.max.set);
        alm_pq_minmax_join(self->shape->order, &out->bounds, &page->bounds);
    }
    out->bounds.max.set = out->bounds.max.set && !no_max;
}

static alm_status put_bloom(coder *self)
{
    if (!self->column->bloom || self->shape->dims > 0 || self->v.n == 0 ||
        self->shape->leaf.physical == ALM_PQ_BOOLEAN)
        return ALM_OK;
    if (self->out->encoding == ALM_PQ_RLE_DICTIONARY && self->dict.data != NULL)
        return alm_pq_bloom_of(self->cx, self->arena, self->dict.data, self->shape->width,
                               self->n_dict, &self->out->bloom);
    if (self->v.data != NULL)
        return alm_pq_bloom_of(self->cx, self->arena, self->v.data, self->shape->width, self->v.n,
                               &self->out->bloom);
    if (self->v.index != NULL)
        return alm_pq_bloom_of_texts(self->cx, self->arena, self->store->texts.bytes.ptr,
                                     (const uint32_t *)(const void *)self->store->texts.len.ptr,
                                     self->n_dict, &self->out->bloom);
    return alm_pq_bloom_of_texts(self->cx, self->arena, self->v.bytes, self->v.len, self->v.n,
                                 &self->out->bloom);
}

static alm_status chunk_write(coder *self, alm_pq_store *store)
{
    ALM_TRY(alm_pq_store_end(self->cx, store));
    ALM_TRY(alm_pq_values_of(self->cx, self->arena, self->shape, self->column, store, &self->v));
    ALM_TRY(write_chunk_choose(self));
    if (self->out->encoding == ALM_PQ_RLE_DICTIONARY)
        ALM_TRY(write_chunk_put_dictionary(self));
    ALM_TRY(put_pages(self));
    sum_up(self);
    return put_bloom(self);
}

alm_status alm_pq_chunk_write(alm_ctx *cx, const alm_pq_options *options,
                              const alm_pq_column *column, const alm_pq_shape *shape,
                              alm_pq_store *store, alm_pq_chunk *out)
{
    alm_arena arena;
    alm_arena_init(&arena, options->mem);
    coder self = {.cx = cx,
                  .arena = &arena,
                  .opt = options,
                  .column = column,
                  .shape = shape,
                  .store = store,
                  .out = out};
    alm_pq_lists_init(&self.lists, options->mem);
    alm_buf_init(&self.raw, options->mem);
    alm_buf_init(&self.packed, options->mem);
    const alm_status status = chunk_write(&self, store);
    alm_pq_lists_deinit(&self.lists);
    alm_buf_deinit(&self.raw);
    alm_buf_deinit(&self.packed);
    alm_block_codec_deinit(&self.codec);
    alm_arena_deinit(&arena);
    return status;
}
