/*
 * writer_test.c - the writer by itself: the same bytes whatever the batches, what it tells of symbols, what it refuses, and that a
 * failure of the sink or of memory at any place is an error and nothing else. What others read of its files: test/parquet/write_test.py.
 */
#include "codec/parquet/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/parquet/encode.h"
#include "codec/parquet/format.h"
#include "codec/parquet/meta.h"
#include "codec/parquet/request.h"
#include "codec/parquet/write_bounds.h"

enum { ROWS = 30000, SYMBOLS = 40, COLUMNS = 6 };

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena;
    int64_t ts[ROWS], id[ROWS];
    double price[ROWS];
    uint16_t code[ROWS];
    alm_view text[ROWS], label[ROWS];
    char bytes[ROWS][24];
    alm_view symbol[SYMBOLS + 1];
    alm_dict dict;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    static const char *const names[SYMBOLS] = {"BTC-USD", "ETH-USD", "SOL-USD"};
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
    for (uint32_t i = 0; i < ROWS; i++) {
        f->ts[i] = INT64_C(1700000000000000) + (int64_t)i * 1000 + i % 7;
        f->id[i] = i % 11 == 0 ? ALM_LONG_NULL : (int64_t)(i % 100);
        f->price[i] = i % 13 == 0 ? __builtin_nan("") : 100 + (double)(i * 7919 % ROWS) / 3;
        f->code[i] = (uint16_t)(i % 17 == 0 ? 0 : SYMBOLS - i % SYMBOLS);
        (void)snprintf(f->bytes[i], sizeof(f->bytes[i]), "a text of row %u", i);
        f->text[i] = i % 19 == 0 ? alm_view_null() : alm_view_of(alm_str_of(f->bytes[i]));
        f->label[i] = alm_view_of(alm_str_of(i % 3 == 0 ? "first" : "second, a longer one"));
    }
    for (uint32_t i = 1; i <= SYMBOLS; i++)
        f->symbol[i] = alm_view_of(alm_str_of(i <= 3 ? names[i - 1] : f->bytes[i]));
    f->symbol[0] = alm_view_null();
    f->dict = (alm_dict){.views = f->symbol, .count = SYMBOLS + 1, .id = 7};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    alm_arena_deinit(&f->arena);
    free(f);
    return 0;
}

static const alm_pq_column columns[COLUMNS] = {
    {.name = "ts", .type = ALM_TY(TIMESTAMP), .required = true},
    {.name = "id", .type = ALM_TY(LONG), .bloom = true},
    {.name = "price", .type = ALM_TY(DOUBLE)},
    {.name = "symbol", .type = ALM_TY(SYMBOL), .bloom = true},
    {.name = "text", .type = ALM_TY(VARCHAR)},
    {.name = "label", .type = ALM_TY(STRING)}};

static void batch_of(fixture *f, uint32_t from, uint32_t rows, alm_vec *cols, alm_batch *batch)
{
    cols[0] = (alm_vec){.type = ALM_TY(TIMESTAMP), .width = 8, .data = f->ts + from};
    cols[1] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = f->id + from};
    cols[2] = (alm_vec){.type = ALM_TY(DOUBLE), .width = 8, .data = f->price + from};
    cols[3] =
        (alm_vec){.type = ALM_TY(SYMBOL), .width = 2, .data = f->code + from, .dict = &f->dict};
    cols[4] = (alm_vec){.type = ALM_TY(VARCHAR), .width = 16, .data = f->text + from};
    cols[5] = (alm_vec){.type = ALM_TY(STRING), .width = 16, .data = f->label + from};
    *batch = (alm_batch){.rows = rows, .n_cols = COLUMNS, .cols = cols};
}

static alm_status write_all(fixture *f, const alm_pq_options *options, uint32_t step,
                            alm_pq_sink sink, void *arg)
{
    alm_pq_writer *w = NULL;
    alm_vec cols[COLUMNS];
    alm_batch batch;
    ALM_TRY(alm_pq_writer_new(&f->cx, columns, COLUMNS, options, sink, arg, &w));
    alm_status st = ALM_OK;
    for (uint32_t at = 0; st == ALM_OK && at < ROWS; at += step) {
        batch_of(f, at, ALM_MIN(step, ROWS - at), cols, &batch);
        st = alm_pq_write(&f->cx, w, &batch, 0, batch.rows);
    }
    if (st == ALM_OK)
        st = alm_pq_finish(&f->cx, w);
    alm_pq_writer_free(w);
    return st;
}

/* -------------------------------------------------------------------------- bytes */

static void test_batches_do_not_matter(void **state)
{
    fixture *f = *state;
    static const uint32_t steps[] = {1, 7, 4096, 8192, ROWS};
    alm_pq_options options;
    alm_buf first, other;
    alm_pq_options_init(&options);
    options.row_group_rows = 9999;
    alm_buf_init(&first, NULL);
    alm_buf_init(&other, NULL);
    assert_int_equal(write_all(f, &options, 1000, alm_pq_sink_buf, &first), ALM_OK);
    for (size_t i = 0; i < ALM_COUNT(steps); i++) {
        other.len = 0;
        assert_int_equal(write_all(f, &options, steps[i], alm_pq_sink_buf, &other), ALM_OK);
        assert_int_equal(other.len, first.len);
        assert_memory_equal(other.ptr, first.ptr, first.len);
    }
    /* row groups by bytes end at the same rows too */
    options.row_group_bytes = 400000;
    first.len = other.len = 0;
    assert_int_equal(write_all(f, &options, 1, alm_pq_sink_buf, &first), ALM_OK);
    assert_int_equal(write_all(f, &options, ROWS, alm_pq_sink_buf, &other), ALM_OK);
    assert_int_equal(other.len, first.len);
    assert_memory_equal(other.ptr, first.ptr, first.len);
    alm_buf_deinit(&first);
    alm_buf_deinit(&other);
}

static void test_footer_says_what_was_written(void **state)
{
    fixture *f = *state;
    alm_pq_options options;
    alm_pq_file_meta meta;
    const char *bad = NULL;
    alm_buf out;
    const alm_pq_sorting sorting = {.column = 0};
    alm_pq_options_init(&options);
    options.row_group_rows = 8000;
    options.sorting = &sorting;
    options.n_sorting = 1;
    options.ts_col = 0;
    alm_buf_init(&out, NULL);
    assert_int_equal(write_all(f, &options, 5000, alm_pq_sink_buf, &out), ALM_OK);
    uint32_t bytes;
    (void)memcpy(&bytes, out.ptr + out.len - 8, 4);
    const alm_str footer = {out.ptr + out.len - 8 - bytes, bytes};
    assert_int_equal(alm_pq_read_file_meta(&f->cx, &f->arena, footer, &meta, &bad), ALM_OK);
    assert_null(bad);
    assert_int_equal(meta.n_rows, ROWS);
    assert_int_equal(meta.n_row_groups, 4);
    assert_int_equal(meta.n_schema, 1 + COLUMNS);
    assert_int_equal(meta.schema[1].repetition, ALM_PQ_REQUIRED);
    assert_int_equal(meta.schema[2].repetition, ALM_PQ_OPTIONAL);
    assert_true(alm_str_eq(meta.key_value[0].key, ALM_STR(ALM_PQ_KEY)));
    const alm_pq_row_group *g = &meta.row_group[3];
    assert_int_equal(g->n_rows, ROWS - 3 * 8000);
    assert_int_equal(g->n_sorting, 1);
    assert_int_equal(g->column[0].encodings, 1U << ALM_PQ_DELTA_BINARY_PACKED);
    assert_true((g->column[3].encodings & 1U << ALM_PQ_RLE_DICTIONARY) != 0);
    assert_int_equal(g->column[3].statistics.distinct_count, SYMBOLS);
    assert_true((g->column[4].encodings & 1U << ALM_PQ_DELTA_LENGTH_BYTE_ARRAY) != 0);
    assert_int_equal(g->column[0].statistics.null_count, 0);
    assert_true(g->column[1].bloom_offset > 0 && g->column[2].bloom_offset < 0);
    assert_true(g->column[1].column_index_offset > 0 && g->column[1].offset_index_offset > 0);
    int64_t least;
    (void)memcpy(&least, g->column[0].statistics.min_value.ptr, sizeof(least));
    assert_int_equal(least, f->ts[3 * 8000]);
    alm_buf_deinit(&out);
}

/* -------------------------------------------------------------------------- symbols */

typedef struct told {
    const fixture *f;
    uint32_t calls, groups;
} told;

static alm_status on_symbols(alm_ctx *cx, void *arg, uint32_t row_group, uint32_t column,
                             const alm_dict *dict, const uint32_t *code, uint32_t n)
{
    told *t = arg;
    (void)cx;
    assert_int_equal(column, 3);
    assert_int_equal(row_group, t->groups++);
    assert_ptr_equal(dict, &t->f->dict);
    assert_int_equal(n, SYMBOLS);
    /* by first row: row 0 of the first row group is null, row 1 has the next code */
    if (row_group == 0)
        assert_int_equal(code[0], SYMBOLS - 1);
    bool seen[SYMBOLS + 1] = {false};
    for (uint32_t i = 0; i < n; i++) {
        assert_in_range(code[i], 1, SYMBOLS);
        assert_false(seen[code[i]]);
        seen[code[i]] = true;
    }
    t->calls++;
    return ALM_OK;
}

static void test_codes_of_symbols_are_told(void **state)
{
    fixture *f = *state;
    told t = {.f = f};
    alm_pq_options options;
    alm_buf out;
    alm_pq_options_init(&options);
    options.row_group_rows = 10000;
    options.on_symbols = on_symbols;
    options.symbols_arg = &t;
    alm_buf_init(&out, NULL);
    assert_int_equal(write_all(f, &options, 8192, alm_pq_sink_buf, &out), ALM_OK);
    assert_int_equal(t.calls, 3);
    alm_buf_deinit(&out);
}

/* -------------------------------------------------------------------------- failures */

typedef struct failing {
    uint32_t left;
    size_t bytes;
} failing;

static alm_status fail_later(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    failing *s = arg;
    (void)bytes;
    if (s->left-- == 0)
        return alm_fail(cx, ALM_E_DISK_FULL, -1, "no room");
    s->bytes += n;
    return ALM_OK;
}

static void test_every_failure_of_the_sink_is_told(void **state)
{
    fixture *f = *state;
    alm_pq_options options;
    alm_pq_options_init(&options);
    options.row_group_rows = 15000;
    uint32_t calls = 0;
    for (;; calls++) {
        failing s = {.left = calls};
        alm_error_clear(&f->cx);
        const alm_status st = write_all(f, &options, 8192, fail_later, &s);
        if (st == ALM_OK)
            break;
        assert_int_equal(st, ALM_E_DISK_FULL);
        assert_true(calls < 1000);
    }
    assert_true(calls > 2 * COLUMNS);
}

static void test_memory_is_bounded(void **state)
{
    fixture *f = *state;
    alm_mem mem = {.name = "query"};
    alm_pq_options options;
    failing s = {.left = UINT32_MAX};
    alm_pq_options_init(&options);
    options.mem = &mem;
    assert_int_equal(write_all(f, &options, 8192, fail_later, &s), ALM_OK);
    assert_int_equal(mem.used_bytes, 0);
    const int64_t peak = mem.peak_bytes;
    assert_true(peak > 100000);
    for (int64_t limit = 1000; limit < peak; limit = limit * 5 / 4) {
        alm_mem less = {.name = "query", .limit_bytes = limit};
        options.mem = &less;
        alm_error_clear(&f->cx);
        assert_int_equal(write_all(f, &options, 8192, fail_later, &s), ALM_E_MEMORY);
        assert_int_equal(less.used_bytes, 0);
    }
}

static void test_what_is_refused(void **state)
{
    fixture *f = *state;
    alm_pq_writer *w = NULL;
    alm_pq_options options;
    failing s = {.left = UINT32_MAX};
    const struct {
        size_t at;
        int64_t value;
    } bad[] = {{offsetof(alm_pq_options, row_group_rows), 0},
               {offsetof(alm_pq_options, row_group_bytes), 0},
               {offsetof(alm_pq_options, page_bytes), -1},
               {offsetof(alm_pq_options, page_rows), 0}};
    for (size_t i = 0; i < ALM_COUNT(bad); i++) {
        alm_pq_options_init(&options);
        (void)memcpy((char *)&options + bad[i].at, &bad[i].value, sizeof(bad[i].value));
        alm_error_clear(&f->cx);
        assert_int_equal(alm_pq_writer_new(&f->cx, columns, COLUMNS, &options, fail_later, &s, &w),
                         ALM_E_ARG);
    }
    alm_pq_options_init(&options);
    options.codec = ALM_PQ_LZO;
    alm_error_clear(&f->cx);
    assert_int_equal(alm_pq_writer_new(&f->cx, columns, COLUMNS, &options, fail_later, &s, &w),
                     ALM_E_ARG);
    /* a null where none may be; behind it the writer takes nothing more */
    alm_pq_options_init(&options);
    f->ts[5] = ALM_TS_NULL;
    alm_error_clear(&f->cx);
    assert_int_equal(write_all(f, &options, 8192, fail_later, &s), ALM_E_VALUE);
    assert_non_null(strstr(f->cx.err.msg, "'ts'"));
    f->ts[5] = f->ts[4];
}

/* -------------------------------------------------------------------------- bounds, requests */

static alm_pq_minmax bounds_of(alm_pq_order order, alm_str text)
{
    alm_pq_minmax out = {0};
    alm_pq_minmax_of_texts(order, text, text, &out);
    return out;
}

static void test_bounds_of_long_texts(void **state)
{
    char text[200];
    (void)state;
    (void)memset(text, 'a', sizeof(text));
    alm_pq_minmax b = bounds_of(ALM_PQ_ORDER_TEXT, (alm_str){text, sizeof(text)});
    assert_true(b.min.inexact && b.max.inexact && b.min.len == 64 && b.max.len == 64);
    assert_int_equal(b.min.bytes[63], 'a');
    assert_int_equal(b.max.bytes[63], 'b');
    b = bounds_of(ALM_PQ_ORDER_TEXT, (alm_str){text, 64});
    assert_true(!b.min.inexact && !b.max.inexact && b.max.bytes[63] == 'a');
    for (size_t i = 0; i + 2 < sizeof(text); i += 3) /* U+D7FF: the next one is U+E000 */
        (void)memcpy(text + i, "\xED\x9F\xBF", 3);
    b = bounds_of(ALM_PQ_ORDER_TEXT, (alm_str){text, 198});
    assert_int_equal(b.min.len, 63);
    assert_memory_equal(b.max.bytes + b.max.len - 3, "\xEE\x80\x80", 3);
    for (size_t i = 0; i + 3 < sizeof(text); i += 4)
        (void)memcpy(text + i, "\xF4\x8F\xBF\xBF", 4);
    b = bounds_of(ALM_PQ_ORDER_TEXT, (alm_str){text, sizeof(text)});
    assert_true(b.min.set && !b.max.set); /* nothing is above */
    (void)memset(text, 0xFF, sizeof(text));
    text[0] = 1;
    b = bounds_of(ALM_PQ_ORDER_BYTES, (alm_str){text, sizeof(text)});
    assert_true(b.max.set && b.max.len == 1 && b.max.bytes[0] == 2);
}

static void test_hybrid_runs(void **state)
{
    fixture *f = *state;
    alm_buf out;
    uint32_t value[40];
    alm_buf_init(&out, NULL);
    for (uint32_t i = 0; i < 40; i++)
        value[i] = i < 20 ? 5 : i % 4;
    assert_int_equal(alm_pq_put_hybrid(&f->cx, value, 40, 3, &out), ALM_OK);
    /* 20 times 5; then 20 numbers in three groups of 8, 3 bytes each */
    assert_int_equal(out.len, 2 + 1 + 9);
    assert_int_equal((uint8_t)out.ptr[0], 20 << 1);
    assert_int_equal((uint8_t)out.ptr[1], 5);
    assert_int_equal((uint8_t)out.ptr[2], 3 << 1 | 1);
    assert_int_equal((uint8_t)out.ptr[3],
                     0x88); /* 0 1 2 3 ...: 000 100 010 110, the least bits first */
    alm_buf_deinit(&out);
}

static void test_requests(void **state)
{
    fixture *f = *state;
    alm_pq_request r;
    bool known = false;
    alm_error_clear(&f->cx);
    alm_pq_request_init(&r);
    assert_int_equal(r.options.codec, ALM_PQ_ZSTD);
    assert_int_equal(
        alm_pq_request_read(&f->cx, 3, ALM_STR("Compression_Codec"), ALM_STR("GZip"), &r, &known),
        ALM_OK);
    assert_true(known && r.options.codec == ALM_PQ_GZIP);
    assert_int_equal(
        alm_pq_request_read(&f->cx, 3, ALM_STR("compression_level"), ALM_STR("10"), &r, &known),
        ALM_OK);
    assert_int_equal(alm_pq_request_check(&f->cx, &r), ALM_E_ARG);
    assert_int_equal(f->cx.err.sql_pos, 3);
    alm_error_clear(&f->cx);
    assert_int_equal(
        alm_pq_request_read(&f->cx, 0, ALM_STR("row_group_size"), ALM_STR("0"), &r, &known),
        ALM_OK);
    assert_int_equal(r.options.row_group_rows, ALM_PQ_ROW_GROUP_ROWS);
    assert_int_equal(alm_pq_request_read(&f->cx, 0, ALM_STR("other"), ALM_STR("0"), &r, &known),
                     ALM_OK);
    assert_false(known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches_do_not_matter),
                                       cmocka_unit_test(test_footer_says_what_was_written),
                                       cmocka_unit_test(test_codes_of_symbols_are_told),
                                       cmocka_unit_test(test_every_failure_of_the_sink_is_told),
                                       cmocka_unit_test(test_memory_is_bounded),
                                       cmocka_unit_test(test_what_is_refused),
                                       cmocka_unit_test(test_bounds_of_long_texts),
                                       cmocka_unit_test(test_hybrid_runs),
                                       cmocka_unit_test(test_requests)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
