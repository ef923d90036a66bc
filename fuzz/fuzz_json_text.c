/*
 * fuzz_json_text.c - any bytes as a JSON string and as a CSV field: what is written is valid, and reads
 * back as the same text; and any bytes as a JSON document.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "codec/csv/csv.h"
#include "codec/json.h"
#include "codec/json_scan.h"
#include "codec/json_text.h"
#include "codec/result_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void json_there_and_back(alm_str text)
{
    alm_ctx cx = {0};
    alm_buf out;
    alm_buf_init(&out, NULL);
    ALM_ASSERT(alm_buf_text(&cx, &out, "[") == ALM_OK);
    ALM_ASSERT(alm_json_put_string(&cx, &out, text) == ALM_OK);
    ALM_ASSERT(alm_buf_text(&cx, &out, "]") == ALM_OK);
    ALM_ASSERT(alm_utf8_is_valid((alm_str){out.ptr, out.len}));
    for (size_t i = 0; i < out.len; i++)
        ALM_ASSERT((unsigned char)out.ptr[i] >= 0x20);
    if (memchr(text.ptr, 0, text.len) == NULL) {
        alm_json *doc = NULL;
        ALM_ASSERT(alm_json_parse(&cx, (alm_str){out.ptr, out.len}, &doc) == ALM_OK);
        const alm_str back = alm_json_text(alm_json_at(doc, 0));
        if (alm_utf8_is_valid(text))
            ALM_ASSERT(alm_str_eq(back, text));
        alm_json_free(doc);
    }
    alm_buf_deinit(&out);
}

static void csv_there_and_back(alm_str text)
{
    alm_arena arena;
    alm_ctx cx = {.arena = &arena};
    alm_buf out;
    alm_arena_init(&arena, NULL);
    alm_buf_init(&out, NULL);
    alm_csv_reader *reader = NULL;
    alm_csv_block block;
    alm_str back;
    ALM_ASSERT(alm_csv_put_quoted(&cx, &out, text) == ALM_OK);
    ALM_ASSERT(alm_buf_text(&cx, &out, "\r\n") == ALM_OK);
    ALM_ASSERT(alm_csv_reader_new(&cx, &arena, NULL, ',', 1, 1 << 30, &reader) == ALM_OK);
    ALM_ASSERT(alm_csv_feed(&cx, reader, out.ptr, out.len) == ALM_OK);
    ALM_ASSERT(alm_csv_next(&cx, reader, true, &block) == ALM_OK);
    ALM_ASSERT(block.rows == 1 && block.ragged[0] == 0);
    ALM_ASSERT(alm_csv_text(&cx, &arena, &block, &block.fields[0], &back) == ALM_OK);
    ALM_ASSERT(alm_str_eq(back, text));
    alm_csv_reader_free(reader);
    alm_buf_deinit(&out);
    alm_arena_deinit(&arena);
}

/* The scanner takes what the parser takes, but for its depth, and its walk ends. */
static bool scanned(alm_str text)
{
    alm_ctx cx = {0};
    alm_arena arena;
    alm_json_value root, value;
    alm_str key = {0}, said;
    if (alm_json_check(&cx, text, &root) != ALM_OK)
        return strstr(cx.err.msg, "nesting") != NULL;
    alm_arena_init(&arena, NULL);
    for (size_t at = 0; root.kind >= ALM_JSON_ARRAY && alm_json_next(root, &at, &key, &value);) {
        if (root.kind == ALM_JSON_OBJECT)
            ALM_ASSERT(alm_json_unquote(&cx, &arena, key, &said) == ALM_OK);
        if (value.kind == ALM_JSON_STRING)
            ALM_ASSERT(alm_json_unquote(&cx, &arena, value.raw, &said) == ALM_OK);
    }
    alm_arena_deinit(&arena);
    return true;
}

static void document(alm_str text)
{
    alm_ctx cx = {0};
    alm_json *doc = NULL;
    const bool good = scanned(text);
    if (alm_json_parse(&cx, text, &doc) != ALM_OK)
        return;
    ALM_ASSERT(good);
    for (size_t i = 0; i < alm_json_count(doc); i++)
        (void)alm_json_text(alm_json_get(alm_json_at(doc, i), "name"));
    alm_json_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const alm_str text = {(const char *)data, n};
    if (n == 0)
        return 0;
    json_there_and_back(text);
    csv_there_and_back(text);
    document(text);
    return 0;
}
