/*
 * fuzz_ndjson.c - lines of JSON objects: what the file is, the columns by their keys, records in pieces, conversion.
 *
 * Byte 0 is the size of pieces, byte 1 chooses the type of the conversion. Records must be the same whether the bytes come in one
 * piece or in many; a file that was taken for NDJSON has columns.
 */
#include <stdlib.h>

#include "codec/file_kind.h"
#include "codec/ndjson/ndjson.h"
#include "type/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put(alm_buf *out, const char *bytes, size_t n)
{
    alm_ctx cx = {0};
    ALM_ASSERT(alm_buf_append(&cx, out, bytes, n) == ALM_OK);
}

static void use_block(alm_ctx *cx, const alm_csv_block *block, alm_type type, alm_buf *out)
{
    uint8_t *bad = calloc(block->rows + 1, 1);
    ALM_ASSERT(bad != NULL);
    for (uint32_t row = 0; row < block->rows; row++) {
        for (uint32_t col = 0; col < block->cols; col++) {
            alm_str text;
            ALM_ASSERT(alm_csv_text(cx, cx->arena, block,
                                    &block->fields[(size_t)col * block->stride + row],
                                    &text) == ALM_OK);
            put(out, text.ptr == NULL ? "~" : "<", 1);
            if (text.ptr != NULL)
                put(out, text.ptr, text.len);
        }
        put(out, (const char[]){';', (char)block->ragged[row], (char)block->lines[row]}, 3);
    }
    for (uint32_t col = 0; col < block->cols && col < 4; col++) {
        uint32_t n_bad = 0;
        alm_vec vec;
        (void)memset(bad, 0, block->rows);
        ALM_ASSERT(alm_csv_convert(cx, cx->arena, block, col, type, bad, &n_bad, &vec) == ALM_OK);
        ALM_ASSERT(n_bad <= block->rows);
    }
    free(bad);
}

static void read_all(alm_str bytes, size_t piece, const alm_str *keys, uint32_t n, alm_type type,
                     alm_buf *out)
{
    alm_ctx cx = {0};
    alm_arena arena;
    alm_csv_reader *reader = NULL;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    ALM_ASSERT(alm_ndjson_reader_new(&cx, &arena, NULL, keys, n, 1 << 20, &reader) == ALM_OK);
    for (size_t at = 0; at <= bytes.len; at += piece) {
        const size_t m = ALM_MIN(piece, bytes.len - at);
        ALM_ASSERT(alm_csv_feed(&cx, reader, bytes.ptr + at, m) == ALM_OK);
        alm_csv_block block = {.rows = 1};
        while (block.rows > 0) {
            ALM_ASSERT(alm_csv_next(&cx, reader, at + piece > bytes.len, &block) == ALM_OK);
            use_block(&cx, &block, type, out);
        }
    }
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const alm_type_id types[] = {ALM_T_BOOLEAN,   ALM_T_INT,  ALM_T_LONG, ALM_T_DOUBLE,
                                        ALM_T_TIMESTAMP, ALM_T_UUID, ALM_T_IPV4, ALM_T_VARCHAR};
    if (n < 2)
        return 0;
    const alm_str bytes = {(const char *)data + 2, n - 2};
    const alm_type type = {.id = (uint8_t)types[data[1] % ALM_COUNT(types)]};
    const char *name = NULL;
    const alm_str *keys = NULL;
    alm_ctx cx = {0};
    alm_arena arena;
    alm_csv_shape shape;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    const alm_file_kind kind = alm_file_kind_of(bytes, true, true, &name);
    ALM_ASSERT((kind == ALM_FILE_FOREIGN) == (name != NULL) && kind != ALM_FILE_MORE);
    const alm_status st = alm_ndjson_detect(&cx, &arena, bytes, true, &shape, &keys);
    if (st == ALM_OK && shape.n_cols <= 64) {
        alm_buf whole, cut;
        alm_buf_init(&whole, NULL);
        alm_buf_init(&cut, NULL);
        read_all(bytes, bytes.len + 1, keys, shape.n_cols, type, &whole);
        read_all(bytes, data[0] % 32 + 1u, keys, shape.n_cols, type, &cut);
        ALM_ASSERT(alm_str_eq((alm_str){whole.ptr, whole.len}, (alm_str){cut.ptr, cut.len}));
        alm_buf_deinit(&whole);
        alm_buf_deinit(&cut);
    }
    alm_arena_deinit(&arena);
    return 0;
}
