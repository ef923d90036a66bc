/*
 * reader_page.c - the pages of a column chunk: found, checked, unpacked, their parts set up.
 *
 * Bounds      A page lies in the bytes before the footer. What it says it unpacks to is held against
 *             ALM_PQ_PAGE_MAX and ALM_PQ_RATIO_MAX before room for it is made.
 */
#include <libdeflate.h>

#include "codec/parquet/cursor_state.h"
#include "codec/parquet/meta.h"

alm_status alm_pq_cursor_fail(alm_ctx *cx, const alm_pq_cursor *cur, const char *reason)
{
    return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path, "%s", reason);
}

/* ---------------------------------------------------------------------------------- the chunk */

/* Some writers say 0 where there is no dictionary, some give only its place. */
static int64_t chunk_begin(const alm_pq_column_chunk *chunk)
{
    const bool dict = chunk->dictionary_offset >= ALM_PQ_MAGIC_BYTES &&
                      (chunk->dictionary_offset < chunk->data_offset || chunk->data_offset <= 0);
    return dict ? chunk->dictionary_offset : chunk->data_offset;
}

alm_status alm_pq_cursor_enter(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group)
{
    const alm_pq_file *file = cur->file;
    const uint32_t leaf = (uint32_t)(cur->leaf - file->leaf);
    const alm_pq_column_chunk *chunk = &file->meta.row_group[group].column[leaf];
    cur->group = group;
    cur->chunk = chunk;
    cur->in_page = cur->has_dict = cur->index_read = false;
    cur->dict_views = NULL;
    cur->index = (alm_pq_offset_index){0};
    cur->index_rows = -1;
    cur->row = 0;
    cur->level = cur->n_levels = 0;
    alm_arena_reset(&cur->group_arena);
    if (chunk->encrypted || (!chunk->has_meta && file->meta.encrypted))
        return alm_pq_cursor_fail(cx, cur, "it is encrypted, which is not supported");
    if (!chunk->has_meta)
        return alm_pq_cursor_fail(cx, cur, "it has no metadata");
    if (chunk->file_path.ptr != NULL && chunk->file_path.len > 0)
        return alm_pq_cursor_fail(cx, cur, "it is in another file, which is not supported");
    if (chunk->codec < 0 || chunk->codec >= ALM_PQ_CODEC_COUNT)
        return alm_pq_cursor_fail(cx, cur, "a compression that is not known");
    if (chunk->codec == ALM_PQ_LZO)
        return alm_pq_cursor_fail(cx, cur, "the compression LZO is not supported");
    cur->begin = chunk_begin(chunk);
    if (cur->begin < ALM_PQ_MAGIC_BYTES || cur->begin > file->data_end ||
        chunk->compressed_bytes < 0 || chunk->compressed_bytes > file->data_end - cur->begin)
        return alm_pq_cursor_fail(cx, cur, "its place is not within the file");
    /* Sizes of some writers leave out the header of the dictionary: values are counted, the end is that of data. */
    cur->end = file->data_end;
    cur->at = cur->begin;
    cur->values_left = chunk->n_values;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- one page */

static alm_block_form reader_page_form_of(int8_t codec)
{
    static const alm_block_form form[] = {
        [ALM_PQ_UNCOMPRESSED] = ALM_BLOCK_RAW, [ALM_PQ_SNAPPY] = ALM_BLOCK_SNAPPY,
        [ALM_PQ_GZIP] = ALM_BLOCK_GZIP,        [ALM_PQ_BROTLI] = ALM_BLOCK_BROTLI,
        [ALM_PQ_LZ4] = ALM_BLOCK_LZ4_HADOOP,   [ALM_PQ_ZSTD] = ALM_BLOCK_ZSTD,
        [ALM_PQ_LZ4_RAW] = ALM_BLOCK_LZ4};
    ALM_ASSERT(codec >= 0 && codec < ALM_PQ_CODEC_COUNT && codec != ALM_PQ_LZO);
    return form[codec];
}

static alm_status page_header(alm_ctx *cx, alm_pq_cursor *cur, alm_pq_page_header *header,
                              const uint8_t **data)
{
    alm_str text = {0};
    size_t used = 0;
    if (!alm_pq_slice(cur->file, cur->at, cur->end - cur->at, &text))
        return alm_pq_cursor_fail(cx, cur, "a page is not within the file");
    const char *bad = alm_pq_read_page_header(text, header, &used);
    if (bad != NULL)
        return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path,
                           "the header of the page at %lld is damaged: %s", (long long)cur->at,
                           bad);
    if ((size_t)header->compressed_bytes > text.len - used)
        return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path,
                           "the page at %lld has %d bytes and the file only %zu for it",
                           (long long)cur->at, header->compressed_bytes, text.len - used);
    const bool raw = cur->chunk->codec == ALM_PQ_UNCOMPRESSED;
    const int64_t free_bytes = 1 << 20;
    if (header->uncompressed_bytes > ALM_PQ_PAGE_MAX ||
        (raw && header->uncompressed_bytes != header->compressed_bytes) ||
        (header->uncompressed_bytes > free_bytes &&
         header->uncompressed_bytes / ALM_PQ_RATIO_MAX > header->compressed_bytes))
        return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path,
                           "the page at %lld says that its %d bytes unpack to %d",
                           (long long)cur->at, header->compressed_bytes,
                           header->uncompressed_bytes);
    *data = (const uint8_t *)text.ptr + used;
    cur->at += (int64_t)used + header->compressed_bytes;
    return ALM_OK;
}

static alm_status check_crc(alm_ctx *cx, const alm_pq_cursor *cur, const alm_pq_page_header *header,
                            const uint8_t *data)
{
    if (!header->has_crc ||
        libdeflate_crc32(0, data, (size_t)header->compressed_bytes) == header->crc)
        return ALM_OK;
    return alm_pq_cursor_fail(cx, cur, "a page fails its checksum");
}

/* n bytes of a page unpacked to `buf`, or where they are. The byte behind the first `lead` is to be aligned. */
static alm_status reader_page_unpack(alm_ctx *cx, alm_pq_cursor *cur, alm_str packed, size_t n,
                                     size_t lead, bool is_packed, alm_buf *buf, const uint8_t **out)
{
    const alm_block_form form = is_packed ? reader_page_form_of(cur->chunk->codec) : ALM_BLOCK_RAW;
    const size_t pad = -lead % ALM_PQ_ALIGN;
    buf->len = 0;
    if (form == ALM_BLOCK_RAW && packed.len == n) {
        *out = (const uint8_t *)packed.ptr;
        return ALM_OK;
    }
    ALM_TRY(alm_buf_reserve(cx, buf, pad + n + 1));
    const char *bad = alm_block_unpack(&cur->codec, form, packed, buf->ptr + pad, n);
    if (bad != NULL)
        return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path,
                           "a page packed as %s is damaged: %s",
                           alm_pq_codec_name(cur->chunk->codec), bad);
    buf->len = pad + n;
    *out = (const uint8_t *)buf->ptr + pad;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- dictionary */

static alm_status read_dictionary(alm_ctx *cx, alm_pq_cursor *cur, const alm_pq_page_header *header,
                                  const uint8_t *data)
{
    const uint8_t *raw = NULL;
    const char *bad = NULL;
    void *physical = NULL;
    const alm_pq_leaf *leaf = cur->leaf;
    const uint32_t n_values = (uint32_t)header->n_values;
    if (cur->has_dict)
        return alm_pq_cursor_fail(cx, cur, "it has two dictionaries");
    if (header->encoding != ALM_PQ_PLAIN && header->encoding != ALM_PQ_PLAIN_DICTIONARY)
        return alm_pq_cursor_fail(cx, cur, "the dictionary is not PLAIN");
    ALM_TRY(check_crc(cx, cur, header, data));
    ALM_TRY(reader_page_unpack(cx, cur,
                               (alm_str){(const char *)data, (size_t)header->compressed_bytes},
                               (size_t)header->uncompressed_bytes, 0, true, &cur->dict_page, &raw));
    const uint32_t width = alm_pq_plain_width(leaf); /* a text has its length, a boolean is a bit */
    const uint64_t least = leaf->physical == ALM_PQ_BYTE_ARRAY ? 4 : width;
    if (leaf->physical == ALM_PQ_BOOLEAN ? n_values > 8 * (uint64_t)header->uncompressed_bytes
                                         : n_values * least > (uint64_t)header->uncompressed_bytes)
        return alm_pq_cursor_fail(cx, cur, "the dictionary has fewer bytes than values");
    alm_pq_decoder decoder;
    bad = alm_pq_decoder_init(&decoder, leaf, ALM_PQ_PLAIN, raw, raw + header->uncompressed_bytes,
                              &cur->last);
    ALM_TRY(alm_arena_bytes(cx, &cur->group_arena,
                            (size_t)n_values * alm_pq_physical_width(leaf) + 1, &physical));
    ALM_TRY(alm_arena_bytes(cx, &cur->group_arena, (size_t)n_values * leaf->width + 1, &cur->dict));
    if (bad == NULL)
        ALM_TRY(alm_pq_decode(cx, &cur->group_arena, &decoder, n_values, physical, &bad));
    if (bad == NULL)
        ALM_TRY(alm_pq_convert(cx, &cur->group_arena, leaf, physical, n_values, cur->dict, &bad));
    if (bad == NULL)
        bad = alm_pq_check_texts(leaf, cur->dict, n_values);
    if (bad != NULL)
        return alm_pq_fail(cx, cur->file, cur->group, leaf->path, "the dictionary is damaged: %s",
                           bad);
    cur->dict_nulls = alm_pq_settle_nulls(leaf->type, cur->dict, n_values);
    cur->n_dict = n_values;
    cur->has_dict = true;
    return ALM_OK;
}

alm_status alm_pq_cursor_dictionary(alm_ctx *cx, alm_pq_cursor *cur)
{
    alm_pq_page_header header;
    const uint8_t *data = NULL;
    const int64_t at = cur->at;
    if (cur->has_dict || cur->chunk->n_values == 0)
        return ALM_OK;
    cur->at = cur->begin;
    ALM_TRY(page_header(cx, cur, &header, &data));
    if (header.type == ALM_PQ_PAGE_DICTIONARY)
        ALM_TRY(read_dictionary(cx, cur, &header, data));
    cur->at = at == cur->begin && cur->has_dict ? cur->at : at;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------- data pages */

static uint32_t reader_page_bits_of(uint32_t max)
{
    return max == 0 ? 0 : 32 - (uint32_t)__builtin_clz(max);
}

/* Levels of a v1 page: behind their length, or packed without one. */
static const char *levels_v1(alm_pq_runs *runs, uint32_t max, int8_t encoding, uint32_t n,
                             const uint8_t **ptr, const uint8_t *end)
{
    const size_t room = (size_t)(end - *ptr);
    uint32_t bytes;
    if (max == 0)
        return NULL;
    if (encoding == ALM_PQ_BIT_PACKED) {
        const uint64_t need = ((uint64_t)n * reader_page_bits_of(max) + 7) / 8;
        if (need > room)
            return "its levels end too early";
        alm_pq_runs_init(runs, *ptr, *ptr + need, reader_page_bits_of(max));
        runs->high_first = true;
        runs->packed = n;
        *ptr += need;
        return NULL;
    }
    if (encoding != ALM_PQ_RLE)
        return "levels in an encoding that is not known";
    if (room < sizeof bytes)
        return "its levels end too early";
    memcpy(&bytes, *ptr, sizeof bytes);
    *ptr += sizeof bytes;
    if (bytes > room - sizeof bytes)
        return "its levels are longer than the page";
    alm_pq_runs_init(runs, *ptr, *ptr + bytes, reader_page_bits_of(max));
    *ptr += bytes;
    return NULL;
}

static const char *begin_values(alm_pq_cursor *cur, int8_t encoding, const uint8_t *ptr,
                                const uint8_t *end)
{
    cur->coded = encoding == ALM_PQ_RLE_DICTIONARY || encoding == ALM_PQ_PLAIN_DICTIONARY;
    if (!cur->coded)
        return alm_pq_decoder_init(&cur->decoder, cur->leaf, encoding, ptr, end, &cur->last);
    if (ptr == end) { /* a page of nulls */
        alm_pq_runs_init(&cur->index_runs, ptr, end, 1);
        return NULL;
    }
    if (*ptr > 32)
        return "numbers in the dictionary have more than 32 bits";
    alm_pq_runs_init(&cur->index_runs, ptr + 1, end, *ptr);
    return cur->has_dict ? NULL : "it needs a dictionary and has none";
}

static alm_status page_v1(alm_ctx *cx, alm_pq_cursor *cur, const alm_pq_page_header *header,
                          const uint8_t *data)
{
    const uint8_t *raw = NULL;
    const alm_pq_leaf *leaf = cur->leaf;
    ALM_TRY(
        reader_page_unpack(cx, cur, (alm_str){(const char *)data, (size_t)header->compressed_bytes},
                           (size_t)header->uncompressed_bytes, cur->lead, true, &cur->page, &raw));
    const uint8_t *const begin = raw, *const end = raw + header->uncompressed_bytes;
    const uint32_t n_values = (uint32_t)header->n_values;
    const char *bad =
        levels_v1(&cur->rep, leaf->max_rep, header->rep_encoding, n_values, &raw, end);
    if (bad == NULL)
        bad = levels_v1(&cur->def, leaf->max_def, header->def_encoding, n_values, &raw, end);
    cur->lead = (size_t)(raw - begin); /* levels of full pages are equally long */
    if (bad == NULL)
        bad = begin_values(cur, header->encoding, raw, end);
    return bad != NULL ? alm_pq_cursor_fail(cx, cur, bad) : ALM_OK;
}

static alm_status page_v2(alm_ctx *cx, alm_pq_cursor *cur, const alm_pq_page_header *header,
                          const uint8_t *data)
{
    const alm_pq_leaf *leaf = cur->leaf;
    const uint8_t *raw = NULL;
    const int64_t levels = (int64_t)header->rep_bytes + header->def_bytes;
    if (levels > header->compressed_bytes || levels > header->uncompressed_bytes)
        return alm_pq_cursor_fail(cx, cur, "its levels are longer than the page");
    const uint8_t *const def = data + header->rep_bytes, *const values = def + header->def_bytes;
    const size_t packed = (size_t)(header->compressed_bytes - levels);
    const size_t n = (size_t)(header->uncompressed_bytes - levels);
    alm_pq_runs_init(&cur->rep, data, def, reader_page_bits_of(leaf->max_rep));
    alm_pq_runs_init(&cur->def, def, values, reader_page_bits_of(leaf->max_def));
    ALM_TRY(reader_page_unpack(cx, cur, (alm_str){(const char *)values, packed}, n, 0,
                               header->is_compressed, &cur->page, &raw));
    const char *bad = begin_values(cur, header->encoding, raw, raw + n);
    return bad != NULL ? alm_pq_cursor_fail(cx, cur, bad) : ALM_OK;
}

/* Views that were given out in this call point into the page: it stays until the next one. */
static alm_status retire_page(alm_ctx *cx, alm_pq_cursor *cur)
{
    if (cur->leaf->physical != ALM_PQ_BYTE_ARRAY || cur->page.len == 0)
        return ALM_OK;
    if (cur->n_retired == cur->cap_retired) {
        alm_buf *wider = NULL;
        const uint32_t cap = ALM_MAX(2 * cur->cap_retired, 8U);
        ALM_TRY(ALM_NEWN(cx, &cur->scratch, cap, &wider));
        if (cur->n_retired > 0)
            memcpy(wider, cur->retired, cur->n_retired * sizeof *wider);
        cur->retired = wider;
        cur->cap_retired = cap;
    }
    cur->retired[cur->n_retired++] = cur->page;
    alm_buf_init(&cur->page, cur->mem);
    return ALM_OK;
}

static alm_status data_page(alm_ctx *cx, alm_pq_cursor *cur, const alm_pq_page_header *header,
                            const uint8_t *data)
{
    ALM_TRY(check_crc(cx, cur, header, data));
    ALM_TRY(retire_page(cx, cur));
    ALM_TRY(header->type == ALM_PQ_PAGE_DATA ? page_v1(cx, cur, header, data)
                                             : page_v2(cx, cur, header, data));
    cur->page_values = cur->page_left = (uint32_t)header->n_values;
    cur->in_page = true;
    return ALM_OK;
}

alm_status alm_pq_cursor_page(alm_ctx *cx, alm_pq_cursor *cur, int64_t row)
{
    alm_pq_page_header header;
    const uint8_t *data = NULL;
    cur->in_page = false;
    for (;;) {
        if (cur->values_left <= 0)
            return alm_pq_cursor_fail(cx, cur, "it has fewer values than it says");
        ALM_TRY(alm_check(cx));
        ALM_TRY(page_header(cx, cur, &header, &data));
        if (header.type == ALM_PQ_PAGE_DICTIONARY) {
            if (!cur->has_dict)
                ALM_TRY(read_dictionary(cx, cur, &header, data));
            continue;
        }
        if (header.type != ALM_PQ_PAGE_DATA && header.type != ALM_PQ_PAGE_DATA_V2)
            continue;
        if (header.n_values > cur->values_left)
            return alm_pq_cursor_fail(cx, cur, "its pages have more values than it says");
        if (cur->index_rows >= 0 && header.n_values != cur->index_rows)
            return alm_pq_cursor_fail(cx, cur, "its offset index contradicts its pages");
        cur->index_rows = -1;
        cur->values_left -= header.n_values;
        if (cur->leaf->max_rep == 0 && cur->row + header.n_values <= row) {
            cur->row += header.n_values;
            continue;
        }
        if (header.n_values > 0)
            return data_page(cx, cur, &header, data);
    }
}

alm_str alm_pq_chunk_bytes(const alm_pq_file *file, uint32_t group, uint32_t col)
{
    const alm_pq_column_chunk *chunk = &file->meta.row_group[group].column[file->column[col].leaf];
    alm_str out = {0};
    if (!alm_pq_slice(file, chunk_begin(chunk), chunk->compressed_bytes, &out))
        out = (alm_str){0};
    return out;
}

int64_t alm_pq_page_rows(const alm_pq_file *file, uint32_t group, uint32_t col)
{
    const uint32_t leaf = file->column[col].leaf;
    const alm_pq_column_chunk *chunk = &file->meta.row_group[group].column[leaf];
    int64_t offset = chunk->data_offset;
    if (file->column[col].refused != NULL || file->leaf[leaf].max_rep > 0 || !chunk->has_meta)
        return 0;
    for (int i = 0; i < 2; i++) { /* for some writers the dictionary is the first data page */
        alm_pq_page_header header;
        alm_str text = {0};
        size_t used = 0;
        if (offset < ALM_PQ_MAGIC_BYTES || offset >= file->data_end ||
            !alm_pq_slice(file, offset, file->data_end - offset, &text) ||
            alm_pq_read_page_header(text, &header, &used) != NULL)
            return 0;
        if (header.type == ALM_PQ_PAGE_DATA || header.type == ALM_PQ_PAGE_DATA_V2)
            return header.n_values;
        offset += (int64_t)used + header.compressed_bytes;
    }
    return 0;
}

/* ----------------------------------------------------------------------------- the offset index */

static alm_status read_index(alm_ctx *cx, alm_pq_cursor *cur)
{
    alm_str bytes = {0};
    const char *bad = NULL;
    const alm_pq_column_chunk *chunk = cur->chunk;
    const int64_t rows = cur->file->meta.row_group[cur->group].n_rows;
    cur->index_read = true;
    if (chunk->offset_index_bytes <= 0 ||
        !alm_pq_slice(cur->file, chunk->offset_index_offset, chunk->offset_index_bytes, &bytes))
        return ALM_OK;
    ALM_TRY(alm_pq_read_offset_index(cx, &cur->group_arena, bytes, &cur->index, &bad));
    int64_t row = -1;
    for (uint32_t i = 0; bad == NULL && i < cur->index.n_pages; i++) {
        const alm_pq_page_location *location = &cur->index.page[i];
        const bool good = location->first_row >= row && location->first_row <= rows &&
                          location->offset >= cur->begin && location->offset < cur->end &&
                          (i > 0 || location->first_row == 0);
        row = location->first_row;
        if (!good)
            bad = "";
    }
    if (bad != NULL) /* it only makes things fast */
        cur->index.n_pages = 0;
    return ALM_OK;
}

alm_status alm_pq_cursor_jump(alm_ctx *cx, alm_pq_cursor *cur, int64_t row)
{
    if (!cur->index_read)
        ALM_TRY(read_index(cx, cur));
    uint32_t lo = 0, hi = cur->index.n_pages; /* the last page that begins at or before the row */
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (cur->index.page[mid].first_row <= row)
            lo = mid;
        else
            hi = mid;
    }
    if (hi == 0)
        return ALM_OK;
    const alm_pq_page_location *location = &cur->index.page[lo];
    const int64_t next = lo + 1 < cur->index.n_pages ? cur->index.page[lo + 1].first_row
                                                     : cur->file->meta.row_group[cur->group].n_rows;
    if (location->first_row <= cur->row + (cur->in_page ? cur->page_left : 0) && cur->row <= row)
        return ALM_OK; /* it is this page or the next one */
    ALM_TRY(alm_pq_cursor_dictionary(cx, cur));
    cur->at = location->offset;
    cur->index_rows = cur->leaf->max_rep == 0 ? next - location->first_row : -1;
    cur->row = location->first_row;
    cur->in_page = false;
    cur->level = cur->n_levels = 0;
    cur->values_left =
        cur->leaf->max_rep == 0 ? cur->chunk->n_values - location->first_row : cur->chunk->n_values;
    return ALM_OK;
}
