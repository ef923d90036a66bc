/*
 * fuzz_csv.c - CSV bytes: detection of a shape, records in pieces, conversion to every type.
 *
 * Bytes 0 to 2 choose the size of pieces, the delimiter and the type of the last conversion. Records
 * must be the same whether the bytes come in one piece or in many.
 */
#include <stdlib.h>

#include "codec/csv/csv.h"
#include "type/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct run {
    alm_ctx cx;
    alm_arena arena;
    alm_buf text; /* of all records */
} run;

static void start(run *r)
{
    *r = (run){0};
    alm_arena_init(&r->arena, NULL);
    r->cx.arena = &r->arena;
    alm_buf_init(&r->text, NULL);
}

static void stop(run *r)
{
    alm_buf_deinit(&r->text);
    alm_arena_deinit(&r->arena);
}

static void put(run *r, const char *bytes, size_t n)
{
    ALM_ASSERT(alm_buf_append(&r->cx, &r->text, bytes, n) == ALM_OK);
}

static void use_block(run *r, const alm_csv_block *block, alm_type type)
{
    uint8_t *bad = calloc(block->rows, 1);
    ALM_ASSERT(bad != NULL);
    for (uint32_t row = 0; row < block->rows; row++) {
        ALM_ASSERT(row == 0 || block->lines[row] > block->lines[row - 1]);
        for (uint32_t col = 0; col < block->cols; col++) {
            alm_str text;
            ALM_ASSERT(alm_csv_text(&r->cx, &r->arena, block,
                                    &block->fields[(size_t)col * block->stride + row],
                                    &text) == ALM_OK);
            put(r, text.ptr == NULL ? "~" : "<", 1);
            if (text.ptr != NULL)
                put(r, text.ptr, text.len);
        }
        put(r, (const char[]){';', (char)block->ragged[row], (char)block->lines[row]}, 3);
    }
    for (uint32_t col = 0; col < block->cols && col < 4; col++) {
        uint32_t n_bad = 0, marked = 0;
        alm_vec vec;
        (void)memset(bad, 0, block->rows);
        ALM_ASSERT(alm_csv_convert(&r->cx, &r->arena, block, col, type, bad, &n_bad, &vec) ==
                   ALM_OK);
        for (uint32_t row = 0; row < block->rows; row++) {
            char scratch[ALM_VALUE_TEXT_MAX];
            alm_str text;
            marked += bad[row];
            (void)alm_value_text(&vec, row, ALM_TEXT_DIALECT, scratch, &text);
        }
        ALM_ASSERT(marked == n_bad);
    }
    free(bad);
}

static alm_status read_all(run *r, alm_str bytes, size_t piece, const alm_csv_shape *shape,
                           alm_type type)
{
    alm_csv_reader *reader = NULL;
    ALM_TRY(alm_csv_reader_new(&r->cx, &r->arena, NULL, shape->delimiter, shape->n_cols, 1 << 20,
                               &reader));
    for (size_t at = 0; at <= bytes.len; at += piece) {
        const size_t n = ALM_MIN(piece, bytes.len - at);
        char *copy = malloc(n + 1);
        ALM_ASSERT(copy != NULL);
        (void)memcpy(copy, bytes.ptr + at, n);
        ALM_ASSERT(alm_csv_feed(&r->cx, reader, copy, n) == ALM_OK);
        free(copy);
        alm_csv_block block = {.rows = 1};
        while (block.rows > 0) {
            ALM_ASSERT(alm_csv_next(&r->cx, reader, at + piece > bytes.len, &block) == ALM_OK);
            use_block(r, &block, type);
        }
    }
    alm_csv_reader_free(reader);
    return ALM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char delimiters[] = {0, ',', ';', '\t', '|', 'x', '"', '\n'};
    static const alm_type_id types[] = {
        ALM_T_BOOLEAN, ALM_T_BYTE,         ALM_T_SHORT, ALM_T_CHAR,   ALM_T_INT,    ALM_T_LONG,
        ALM_T_FLOAT,   ALM_T_DOUBLE,       ALM_T_DATE,  ALM_T_STRING, ALM_T_SYMBOL, ALM_T_TIMESTAMP,
        ALM_T_UUID,    ALM_T_TIMESTAMP_NS, ALM_T_IPV4,  ALM_T_VARCHAR};
    if (n < 3)
        return 0;
    const alm_str bytes = {(const char *)data + 3, n - 3};
    const alm_type type = {.id = (uint8_t)types[data[2] % ALM_COUNT(types)]};
    run whole, cut;
    start(&whole);
    start(&cut);
    alm_csv_shape shape;
    if (alm_csv_detect(&whole.cx, &whole.arena, bytes, true, delimiters[data[1] % 8],
                       data[1] & 8 ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_DETECT,
                       &shape) == ALM_OK) {
        if (shape.n_cols > 0 && shape.n_cols <= 64) {
            const alm_status a = read_all(&whole, bytes, bytes.len + 1, &shape, type);
            const alm_status b = read_all(&cut, bytes, data[0] % 32 + 1u, &shape, type);
            ALM_ASSERT(a == b);
            ALM_ASSERT(alm_str_eq((alm_str){whole.text.ptr, whole.text.len},
                                  (alm_str){cut.text.ptr, cut.text.len}));
        }
    }
    stop(&whole);
    stop(&cut);
    return 0;
}
