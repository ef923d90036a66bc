/*
 * fuzz_parquet.c - the bytes as a Parquet file: footer, statistics, indexes, every column of every row group.
 *
 * Rows that are read on from the start, and the same rows found by going there, must be the same bytes; texts by their numbers in the
 * dictionary must be the texts. Memory is bounded: what asks for more gets an error.
 */
#include <stdlib.h>

#include "codec/parquet/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { ROWS_MAX = 3000, STEP = 700, COLUMNS = 40, GROUPS = 6, MEMORY = 64 << 20 };

typedef struct run {
    alm_ctx cx;
    alm_arena arena;
    alm_mem mem;
    const alm_pq_file *file;
} run;

/* Bytes of row i, wherever they are. */
static alm_str cell(const alm_vec *v, size_t i)
{
    const char *at = (const char *)v->data + i * v->width;
    alm_view view;
    if (!alm_type_has_heap(v->type) && v->type.id != ALM_T_SYMBOL)
        return (alm_str){at, v->width};
    memcpy(&view, at, sizeof view);
    return alm_view_is_null(&view) ? (alm_str){0}
                                   : alm_view_str((const alm_view *)(const void *)at, NULL);
}

static void must_equal(const alm_vec *a, size_t i, const alm_vec *b, size_t k)
{
    const alm_str x = cell(a, i), y = cell(b, k);
    ALM_ASSERT((x.ptr == NULL) == (y.ptr == NULL) && alm_str_eq(x, y));
}

/* An index is part of the file: one that says rows are in other pages, all of it in itself right, gives other rows. */
static bool has_index(const run *r, uint32_t group, uint32_t col)
{
    uint32_t n = 0;
    const uint32_t leaf = alm_pq_columns(r->file, &n)[col].leaf;
    return alm_pq_meta(r->file)->row_group[group].column[leaf].offset_index_bytes > 0;
}

/* The last rows of what was read, found by a cursor of its own. */
static void read_again(run *r, uint32_t group, uint32_t col, int64_t row, uint32_t k,
                       const alm_vec *want)
{
    alm_pq_cursor *cur = NULL;
    alm_vec got;
    const uint32_t skip = k / 2;
    if (alm_pq_cursor_new(&r->cx, r->file, col, &cur) != ALM_OK)
        return;
    if (alm_pq_read(&r->cx, cur, group, row + skip, k - skip, &r->arena, &got) == ALM_OK)
        for (uint32_t i = 0; i < k - skip && !has_index(r, group, col); i++)
            must_equal(&got, i, want, skip + i);
    alm_pq_cursor_free(cur);
}

static void read_codes(run *r, uint32_t group, uint32_t col, int64_t row, uint32_t k,
                       const alm_vec *want)
{
    static uint32_t code[STEP];
    alm_pq_cursor *cur = NULL;
    const alm_view *views = NULL;
    uint32_t n = 0;
    bool coded = false;
    if (alm_pq_cursor_new(&r->cx, r->file, col, &cur) != ALM_OK)
        return;
    if (alm_pq_dictionary(&r->cx, cur, group, &views, &n) == ALM_OK && n > 0 &&
        alm_pq_read_codes(&r->cx, cur, group, row, k, code, &coded) == ALM_OK && coded)
        for (uint32_t i = 0; i < k; i++) {
            ALM_ASSERT(code[i] < n);
            if (has_index(r, group, col))
                continue;
            const alm_vec one = {.type = want->type,
                                 .width = sizeof *views,
                                 .data = (void *)(uintptr_t)(views + code[i])};
            must_equal(&one, 0, want, i);
        }
    alm_pq_cursor_free(cur);
}

static void read_column(run *r, uint32_t group, uint32_t col, alm_pq_cursor *cur)
{
    const int64_t rows = ALM_MIN(alm_pq_group_rows(r->file, group), (int64_t)ROWS_MAX);
    for (int64_t row = 0; row < rows; row += STEP) {
        const uint32_t k = (uint32_t)ALM_MIN((int64_t)STEP, rows - row);
        alm_vec v;
        if (alm_pq_read(&r->cx, cur, group, row, k, &r->arena, &v) != ALM_OK) {
            ALM_ASSERT(r->cx.err.msg[0] != 0);
            alm_error_clear(&r->cx);
            return;
        }
        if (row + STEP >= rows) {
            read_again(r, group, col, row, k, &v);
            read_codes(r, group, col, row, k, &v);
            alm_error_clear(&r->cx);
        }
    }
}

static void use_column(run *r, uint32_t col)
{
    alm_pq_cursor *cur = NULL;
    alm_pq_page_bounds *page = NULL;
    uint32_t n_pages = 0;
    (void)alm_pq_is_sorted(r->file, col);
    if (alm_pq_cursor_new(&r->cx, r->file, col, &cur) != ALM_OK)
        alm_error_clear(&r->cx);
    for (uint32_t g = 0; g < alm_pq_groups(r->file) && g < GROUPS; g++) {
        alm_pq_bounds b;
        alm_pq_group_bounds(r->file, g, col, &b);
        (void)alm_pq_maybe_text(r->file, g, col, ALM_STR("a"));
        (void)alm_pq_maybe_integer(r->file, g, col, 7);
        if (alm_pq_pages(&r->cx, &r->arena, r->file, g, col, &page, &n_pages) != ALM_OK)
            alm_error_clear(&r->cx);
        if (cur != NULL)
            read_column(r, g, col, cur);
    }
    alm_pq_cursor_free(cur);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    run r = {.mem = {.limit_bytes = MEMORY, .name = "fuzz"}};
    uint32_t n_cols = 0;
    char *bytes = malloc(n + 1); /* of its size, for the sanitizer */
    ALM_ASSERT(bytes != NULL);
    memcpy(bytes, data, n);
    alm_arena_init(&r.arena, &r.mem);
    r.cx.arena = &r.arena;
    r.cx.mem = &r.mem;
    if (alm_pq_open(&r.cx, &r.arena, "x.parquet", (alm_str){bytes, n}, &r.file) == ALM_OK) {
        (void)alm_pq_columns(r.file, &n_cols);
        for (uint32_t c = 0; c < n_cols && c < COLUMNS; c++)
            use_column(&r, c);
    }
    alm_arena_deinit(&r.arena);
    ALM_ASSERT(r.mem.used_bytes == 0);
    free(bytes);
    return 0;
}
