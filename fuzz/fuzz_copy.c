/*
 * fuzz_copy.c - what clients send to COPY: text, CSV and binary, in pieces, converted to every type.
 *
 * Bytes 0 to 3 choose the size of pieces, format, number of columns and type. Records must be the same
 * whether the bytes come in one piece or in many, and so must the failure, if there is one.
 */
#include <stdlib.h>

#include "codec/copy/copy.h"
#include "type/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct run {
    alm_ctx cx;
    alm_arena arena;
    alm_buf text; /* of all records */
    alm_status status;
} run;

static void put(run *r, const void *bytes, size_t n)
{
    ALM_ASSERT(alm_buf_append(&r->cx, &r->text, bytes, n) == ALM_OK);
}

static void put_records(run *r, const alm_csv_block *block)
{
    for (uint32_t row = 0; row < block->rows; row++) {
        ALM_ASSERT(row == 0 || block->lines[row] > block->lines[row - 1]);
        for (uint32_t col = 0; col < block->cols; col++) {
            const alm_csv_field *field = &block->fields[(size_t)col * block->stride + row];
            alm_str text;
            ALM_ASSERT(alm_csv_text(&r->cx, &r->arena, block, field, &text) == ALM_OK);
            put(r, text.ptr == NULL ? "~" : "<", 1);
            if (text.ptr != NULL)
                put(r, text.ptr, text.len);
        }
        put(r, &block->ragged[row], 1);
        put(r, &block->lines[row], sizeof(block->lines[row]));
    }
}

static void convert(run *r, const alm_csv_block *block, alm_type type)
{
    uint8_t *bad = calloc(block->rows + 1, 1);
    ALM_ASSERT(bad != NULL);
    for (uint32_t col = 0; col < block->cols; col++) {
        uint32_t n_bad = 0, marked = 0;
        alm_vec vec;
        (void)memset(bad, 0, block->rows);
        ALM_ASSERT(alm_csv_convert(&r->cx, &r->arena, block, col, type, bad, &n_bad, &vec) ==
                   ALM_OK);
        for (uint32_t row = 0; row < block->rows; row++) {
            char scratch[ALM_VALUE_TEXT_MAX];
            alm_str text;
            marked += bad[row];
            if (type.id != ALM_T_ARRAY)
                (void)alm_value_text(&vec, row, ALM_TEXT_PG, scratch, &text);
        }
        ALM_ASSERT(marked == n_bad);
    }
    free(bad);
}

static void read_all(run *r, const alm_copy_format *format, uint32_t cols, alm_type type,
                     alm_str bytes, size_t piece)
{
    alm_csv_reader *reader = NULL;
    *r = (run){0};
    alm_arena_init(&r->arena, NULL);
    r->cx.arena = &r->arena;
    alm_buf_init(&r->text, NULL);
    ALM_ASSERT(alm_copy_reader_new(&r->cx, &r->arena, NULL, format, cols, 1 << 20, &reader) ==
               ALM_OK);
    for (size_t at = 0; at <= bytes.len && r->status == ALM_OK; at += piece) {
        const size_t n = ALM_MIN(piece, bytes.len - at);
        char *copy = malloc(n + 1);
        ALM_ASSERT(copy != NULL);
        (void)memcpy(copy, bytes.ptr + at, n);
        ALM_ASSERT(alm_csv_feed(&r->cx, reader, copy, n) == ALM_OK);
        free(copy);
        for (alm_csv_block block = {.rows = 1}; block.rows > 0 && r->status == ALM_OK;) {
            r->status = alm_csv_next(&r->cx, reader, at + piece > bytes.len, &block);
            if (r->status != ALM_OK)
                break;
            put_records(r, &block);
            convert(r, &block, type);
        }
    }
    if (r->status == ALM_OK)
        r->status = alm_copy_complete(&r->cx, reader);
    alm_csv_reader_free(reader);
}

static void stop(run *r)
{
    alm_buf_deinit(&r->text);
    alm_arena_deinit(&r->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const alm_copy_format formats[] = {
        {.kind = ALM_COPY_TEXT, .delimiter = '\t', .null = {"\\N", 2}},
        {.kind = ALM_COPY_CSV, .delimiter = ',', .quote = '"', .escape = '"', .null = {"", 0}},
        {.kind = ALM_COPY_CSV, .delimiter = ';', .quote = '\'', .escape = '\\', .null = {"N", 1}},
        {.kind = ALM_COPY_BINARY},
        {.kind = ALM_COPY_TEXT, .delimiter = ',', .null = {"", 0}}};
    static const alm_type types[] = {{.id = ALM_T_BOOLEAN},
                                     {.id = ALM_T_BYTE},
                                     {.id = ALM_T_SHORT},
                                     {.id = ALM_T_CHAR},
                                     {.id = ALM_T_INT},
                                     {.id = ALM_T_LONG},
                                     {.id = ALM_T_FLOAT},
                                     {.id = ALM_T_DOUBLE},
                                     {.id = ALM_T_DATE},
                                     {.id = ALM_T_STRING},
                                     {.id = ALM_T_SYMBOL},
                                     {.id = ALM_T_TIMESTAMP},
                                     {.id = ALM_T_UUID},
                                     {.id = ALM_T_BINARY},
                                     {.id = ALM_T_IPV4},
                                     {.id = ALM_T_VARCHAR},
                                     {.id = ALM_T_LONG256},
                                     {.id = ALM_T_DECIMAL, .p = 18, .s = 3},
                                     {.id = ALM_T_ARRAY, .dims = 1}};
    if (n < 4)
        return 0;
    const alm_copy_format *format = &formats[data[1] % ALM_COUNT(formats)];
    const alm_type type = types[data[3] % ALM_COUNT(types)];
    const uint32_t cols = 1 + data[2] % 4;
    const alm_str bytes = {(const char *)data + 4, n - 4};
    run whole, cut;
    read_all(&whole, format, cols, type, bytes, bytes.len + 1);
    read_all(&cut, format, cols, type, bytes, data[0] % 32 + 1U);
    ALM_ASSERT(whole.status == cut.status);
    /* what came before a failure depends on the pieces */
    if (whole.status == ALM_OK)
        ALM_ASSERT(alm_str_eq((alm_str){whole.text.ptr, whole.text.len},
                              (alm_str){cut.text.ptr, cut.text.len}));
    stop(&whole);
    stop(&cut);
    return 0;
}
