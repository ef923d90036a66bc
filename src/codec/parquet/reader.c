/*
 * reader.c - cursors: rows of a column without lists, and what all columns share.
 *
 * A call takes from page after page: the definition levels say which rows have a value, the values that are
 * there are decoded side by side, and spread over the rows from the end. Values that stand in the page as they
 * are wanted, one behind the other, are given out where they are.
 */
#include <stdlib.h>

#include "codec/parquet/cursor_state.h"

alm_status alm_pq_cursor_new(alm_ctx *cx, const alm_pq_file *file, uint32_t col,
                             alm_pq_cursor **out)
{
    ALM_ASSERT(col < file->n_columns);
    const alm_pq_read_col *read_col = &file->column[col];
    if (read_col->refused != NULL)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "parquet file '%.200s', column '%.200s': %s",
                        file->name, read_col->name, read_col->refused);
    alm_pq_cursor *cur = calloc(1, sizeof *cur);
    if (cur == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read a column");
    cur->file = file;
    cur->leaf = &file->leaf[read_col->leaf];
    cur->mem = cx->mem;
    cur->group = -1;
    alm_arena_init(&cur->group_arena, cx->mem);
    alm_arena_init(&cur->scratch, cx->mem);
    alm_buf_init(&cur->page, cx->mem);
    alm_buf_init(&cur->dict_page, cx->mem);
    alm_buf_init(&cur->last, cx->mem);
    alm_buf_init(&cur->elements, cx->mem);
    *out = cur;
    return ALM_OK;
}

static void free_retired(alm_pq_cursor *cur)
{
    for (uint32_t i = 0; i < cur->n_retired; i++)
        alm_buf_deinit(&cur->retired[i]);
    cur->n_retired = 0;
}

void alm_pq_cursor_free(alm_pq_cursor *cur)
{
    if (cur == NULL)
        return;
    free_retired(cur);
    alm_buf_deinit(&cur->page);
    alm_buf_deinit(&cur->dict_page);
    alm_buf_deinit(&cur->last);
    alm_buf_deinit(&cur->elements);
    alm_arena_deinit(&cur->group_arena);
    alm_arena_deinit(&cur->scratch);
    alm_block_codec_deinit(&cur->codec);
    free(cur);
}

/* Room for a call, made once. */
static alm_status make_scratch(alm_ctx *cx, alm_pq_cursor *cur)
{
    alm_arena *arena = &cur->scratch;
    const size_t n_rows = ALM_BATCH_ROWS;
    if (cur->dense != NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_bytes(cx, arena, n_rows, &cur->defs));
    ALM_TRY(alm_arena_bytes(cx, arena, n_rows * sizeof *cur->codes, &cur->codes));
    return alm_arena_bytes(cx, arena, n_rows * ALM_MAX(cur->leaf->width, 1U), &cur->dense);
}

/* FIXED may be long: its room grows with what is asked for. */
static alm_status physical_room(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, uint32_t k,
                                void **out)
{
    const size_t width = alm_pq_physical_width(cur->leaf);
    if (width > 16)
        return alm_arena_bytes(cx, arena, k * width + 1, out);
    if (cur->physical == NULL)
        ALM_TRY(alm_arena_bytes(cx, &cur->scratch, ALM_BATCH_ROWS * width + 1, &cur->physical));
    *out = cur->physical;
    return ALM_OK;
}

/* -------------------------------------------------------------------------------------- values */

#define GATHER(type)                                                                               \
    for (uint32_t i = 0; i < k; i++)                                                               \
    ((type *)out)[i] = ((const type *)dict)[code[i]]

static void parquet_reader_gather(const void *dict, const uint32_t *code, uint32_t k,
                                  uint32_t width, void *out)
{
    typedef struct wide {
        uint64_t w[2];
    } wide;
    if (width == 1)
        GATHER(uint8_t);
    else if (width == 2)
        GATHER(uint16_t);
    else if (width == 4)
        GATHER(uint32_t);
    else if (width == 8)
        GATHER(uint64_t);
    else if (width == 16)
        GATHER(wide);
    else
        for (uint32_t i = 0; i < k; i++)
            memcpy((char *)out + (size_t)i * width, (const char *)dict + (size_t)code[i] * width,
                   width);
}

/* Numbers in the dictionary, checked. */
static alm_status take_codes(alm_ctx *cx, alm_pq_cursor *cur, uint32_t k, uint32_t *code)
{
    uint32_t most = 0;
    if (k == 0)
        return ALM_OK;
    if (!alm_pq_runs_take(&cur->index_runs, k, code))
        return alm_pq_cursor_fail(cx, cur, "its values end too early");
    for (uint32_t i = 0; code != NULL && i < k; i++)
        most = ALM_MAX(most, code[i]);
    if (code != NULL && most >= cur->n_dict)
        return alm_pq_fail(cx, cur->file, cur->group, cur->leaf->path,
                           "a value is number %u of a dictionary of %u", most, cur->n_dict);
    return ALM_OK;
}

alm_status alm_pq_cursor_values(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, uint32_t k,
                                void *out)
{
    const alm_pq_leaf *leaf = cur->leaf;
    const char *bad = NULL;
    void *physical = NULL;
    if (cur->coded) {
        ALM_TRY(take_codes(cx, cur, k, out != NULL ? cur->codes : NULL));
        if (out != NULL)
            parquet_reader_gather(cur->dict, cur->codes, k, leaf->width, out);
        return ALM_OK;
    }
    if (out == NULL || leaf->way == ALM_PQ_WAY_COPY) {
        ALM_TRY(alm_pq_decode(cx, arena, &cur->decoder, k, out, &bad));
        if (bad == NULL && out != NULL)
            bad = alm_pq_check_texts(leaf, out, k);
    } else {
        ALM_TRY(physical_room(cx, cur, arena, k, &physical));
        ALM_TRY(alm_pq_decode(cx, arena, &cur->decoder, k, physical, &bad));
        if (bad == NULL)
            ALM_TRY(alm_pq_convert(cx, arena, leaf, physical, k, out, &bad));
    }
    return bad != NULL ? alm_pq_cursor_fail(cx, cur, bad) : ALM_OK;
}

/* ------------------------------------------------------------------------------- rows, no lists */

/* Definition levels of k rows: how many have a value; *all: they all have, cur->defs is not filled. */
static alm_status take_levels(alm_ctx *cx, alm_pq_cursor *cur, uint32_t k, uint32_t *present,
                              bool *all)
{
    const uint32_t full = cur->leaf->max_def;
    uint32_t count = 0, most = 0;
    *present = k;
    *all = true;
    if (full == 0)
        return ALM_OK;
    if (!alm_pq_runs_levels(&cur->def, k, full, cur->defs, all))
        return alm_pq_cursor_fail(cx, cur, "its levels end too early");
    if (*all)
        return ALM_OK;
    for (uint32_t i = 0; i < k; i++) {
        count += cur->defs[i] == full;
        most = ALM_MAX(most, (uint32_t)cur->defs[i]);
    }
    if (most > full)
        return alm_pq_cursor_fail(cx, cur, "a level is beyond the schema");
    *present = count;
    *all = count == k;
    return ALM_OK;
}

#define SPREAD(type)                                                                               \
    for (uint32_t i = 0; i < k; i++) {                                                             \
        const bool has = def[i] == full;                                                           \
        ((type *)out)[i] = has ? ((const type *)dense)[at] : *(const type *)null;                  \
        at += has;                                                                                 \
    }

/* The values that are there at their rows, null at the others. One more of `dense` may be read. */
static void parquet_reader_spread(const uint8_t *def, uint32_t full, uint32_t k, uint32_t width,
                                  const void *dense, const void *null, void *out)
{
    typedef struct wide {
        uint64_t w[2];
    } wide;
    uint32_t at = 0;
    if (width == 1)
        SPREAD(uint8_t)
    else if (width == 2)
        SPREAD(uint16_t)
    else if (width == 4)
        SPREAD(uint32_t)
    else if (width == 8)
        SPREAD(uint64_t)
    else if (width == 16)
        SPREAD(wide)
    else
        for (uint32_t i = 0; i < k; i++) {
            const bool has = def[i] == full;
            memcpy((char *)out + (size_t)i * width,
                   has ? (const char *)dense + (size_t)at * width : null, width);
            at += has;
        }
}

/* Enough of the current page for at most n rows; the page holds some. */
static alm_status page_rows(alm_ctx *cx, alm_pq_cursor *cur, int64_t row, uint32_t n, uint32_t *k)
{
    if (!cur->in_page || cur->page_left == 0)
        ALM_TRY(alm_pq_cursor_page(cx, cur, row));
    *k = ALM_MIN(n, cur->page_left);
    return ALM_OK;
}

static void passed(alm_pq_cursor *cur, uint32_t k)
{
    cur->page_left -= k;
    cur->row += k;
}

/* k values that stand in the page as they are wanted. */
static bool lend(alm_pq_cursor *cur, uint32_t k, void **out, bool *no_nulls)
{
    const alm_pq_leaf *leaf = cur->leaf;
    alm_pq_decoder *decoder = &cur->decoder;
    const size_t bytes = (size_t)k * leaf->width;
    if (cur->coded || leaf->way != ALM_PQ_WAY_COPY || leaf->physical == ALM_PQ_BYTE_ARRAY ||
        leaf->physical == ALM_PQ_BOOLEAN || decoder->encoding != ALM_PQ_PLAIN)
        return false;
    if (bytes > (size_t)(decoder->end - decoder->at) ||
        (uintptr_t)decoder->at % ALM_MIN(leaf->width, (uint32_t)ALM_PQ_ALIGN) != 0)
        return false;
    ALM_ASSERT(leaf->width == alm_pq_plain_width(leaf));
    const bool nulls = alm_pq_has_null(leaf->type, decoder->at, k);
    if (nulls && alm_type_info_of(leaf->type)->cls == ALM_TC_FLOATING)
        return false; /* they are settled in a copy */
    *no_nulls &= !nulls;
    memcpy(out, &decoder->at, sizeof *out); /* as const */
    decoder->at += bytes;
    return true;
}

static alm_status read_flat(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, uint32_t n,
                            void **out, bool *no_nulls)
{
    const uint32_t width = cur->leaf->width;
    uint8_t null[64] = {0};
    alm_value_set_null(cur->leaf->type, null);
    ALM_ASSERT(width <= sizeof null);
    *out = NULL;
    for (uint32_t done = 0, k = 0; done < n; done += k) {
        uint32_t present = 0;
        bool all = true;
        ALM_TRY(page_rows(cx, cur, cur->row, n - done, &k));
        ALM_TRY(take_levels(cx, cur, k, &present, &all));
        if (k == n && all && lend(cur, k, out, no_nulls)) {
            passed(cur, k);
            return ALM_OK;
        }
        if (*out == NULL)
            ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * width + 1, out));
        char *dest = (char *)*out + (size_t)done * width;
        void *values = all ? dest : cur->dense;
        ALM_TRY(alm_pq_cursor_values(cx, cur, arena, present, values));
        const bool nulls =
            cur->coded ? cur->dict_nulls : alm_pq_settle_nulls(cur->leaf->type, values, present);
        *no_nulls &= all && !nulls;
        if (!all)
            parquet_reader_spread(cur->defs, cur->leaf->max_def, k, width, cur->dense, null, dest);
        passed(cur, k);
    }
    return ALM_OK;
}

static alm_status skip_flat(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, int64_t row)
{
    while (cur->row < row) {
        uint32_t k = 0, present = 0;
        bool all = true;
        const uint32_t n_rows = (uint32_t)ALM_MIN(row - cur->row, (int64_t)ALM_BATCH_ROWS);
        if (!cur->in_page || cur->page_left == 0) {
            ALM_TRY(alm_pq_cursor_page(cx, cur, row));
            continue;
        }
        if (cur->row + cur->page_left <= row) { /* all the rest of the page */
            cur->row += cur->page_left;
            cur->in_page = false;
            continue;
        }
        ALM_TRY(page_rows(cx, cur, row, n_rows, &k));
        ALM_TRY(take_levels(cx, cur, k, &present, &all));
        ALM_TRY(alm_pq_cursor_values(cx, cur, arena, present, NULL));
        passed(cur, k);
    }
    return ALM_OK;
}

/* To a row of a row group. */
static alm_status parquet_reader_seek(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena,
                                      uint32_t group, int64_t row)
{
    ALM_TRY(make_scratch(cx, cur));
    if (cur->group != group || row < cur->row) {
        if (cur->group == group && cur->has_dict) { /* back in the same row group */
            cur->in_page = false;
            cur->row = 0;
            cur->level = cur->n_levels = 0;
            cur->at = cur->begin;
            cur->values_left = cur->chunk->n_values;
        } else {
            ALM_TRY(alm_pq_cursor_enter(cx, cur, group));
        }
    }
    if (row > cur->row)
        ALM_TRY(alm_pq_cursor_jump(cx, cur, row));
    if (cur->leaf->max_rep == 0)
        return skip_flat(cx, cur, arena, row);
    while (cur->row < row)
        ALM_TRY(alm_pq_cursor_lists(
            cx, cur, arena, (uint32_t)ALM_MIN(row - cur->row, (int64_t)ALM_BATCH_ROWS), NULL));
    return ALM_OK;
}

static void parquet_reader_check_range(const alm_pq_cursor *cur, uint32_t group, int64_t row,
                                       uint32_t n)
{
    ALM_ASSERT(group < cur->file->meta.n_row_groups && n <= ALM_BATCH_ROWS);
    ALM_ASSERT(row >= 0 && row + n <= cur->file->meta.row_group[group].n_rows);
}

/* A cursor that failed stands nowhere. */
static alm_status parquet_reader_failed(alm_pq_cursor *cur, alm_status status)
{
    if (status != ALM_OK)
        cur->group = -1;
    return status;
}

alm_status alm_pq_read(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group, int64_t row,
                       uint32_t n_rows, alm_arena *arena, alm_vec *out)
{
    const alm_pq_leaf *leaf = cur->leaf;
    const bool list = leaf->max_rep > 0;
    void *data = NULL;
    bool no_nulls = true;
    parquet_reader_check_range(cur, group, row, n_rows);
    free_retired(cur);
    ALM_TRY(parquet_reader_failed(cur, parquet_reader_seek(cx, cur, arena, group, row)));
    const uint32_t width = list ? (uint32_t)sizeof(alm_view) : leaf->width;
    if (list || n_rows == 0)
        ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * width + 1, &data));
    if (list)
        ALM_TRY(parquet_reader_failed(cur, alm_pq_cursor_lists(cx, cur, arena, n_rows, data)));
    else if (n_rows > 0)
        ALM_TRY(parquet_reader_failed(cur, read_flat(cx, cur, arena, n_rows, &data, &no_nulls)));
    *out = (alm_vec){.type = list ? alm_type_array(leaf->max_rep) : leaf->type,
                     .width = (uint8_t)width,
                     .no_nulls = no_nulls && !list,
                     .data = data};
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------- codes */

alm_status alm_pq_dictionary(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group,
                             const alm_view **views, uint32_t *n)
{
    *n = 0;
    *views = NULL;
    if (cur->leaf->physical != ALM_PQ_BYTE_ARRAY || cur->leaf->way != ALM_PQ_WAY_COPY ||
        cur->leaf->max_rep > 0)
        return ALM_OK;
    if (cur->group != group)
        ALM_TRY(parquet_reader_failed(cur, alm_pq_cursor_enter(cx, cur, group)));
    ALM_TRY(parquet_reader_failed(cur, alm_pq_cursor_dictionary(cx, cur)));
    if (!cur->has_dict)
        return ALM_OK;
    if (cur->dict_views == NULL) {
        ALM_TRY(alm_arena_bytes(cx, &cur->group_arena,
                                ((size_t)cur->n_dict + 1) * sizeof *cur->dict_views,
                                &cur->dict_views));
        cur->dict_views[0] = alm_view_null();
        if (cur->n_dict > 0)
            memcpy(cur->dict_views + 1, cur->dict, cur->n_dict * sizeof *cur->dict_views);
    }
    *views = cur->dict_views;
    *n = cur->n_dict + 1;
    return ALM_OK;
}

/* Numbers of k rows of the page, moved up by one: 0 is null. */
static alm_status page_codes(alm_ctx *cx, alm_pq_cursor *cur, uint32_t k, uint32_t *out)
{
    uint32_t present = 0;
    bool all = true;
    ALM_TRY(take_levels(cx, cur, k, &present, &all));
    ALM_TRY(take_codes(cx, cur, present, cur->codes));
    if (all) {
        for (uint32_t i = 0; i < k; i++)
            out[i] = cur->codes[i] + 1;
        return ALM_OK;
    }
    for (uint32_t i = 0, place = 0; i < k; i++)
        out[i] = cur->defs[i] == cur->leaf->max_def ? cur->codes[place++] + 1 : 0;
    return ALM_OK;
}

alm_status alm_pq_read_codes(alm_ctx *cx, alm_pq_cursor *cur, uint32_t group, int64_t row,
                             uint32_t n, uint32_t *codes, bool *coded)
{
    parquet_reader_check_range(cur, group, row, n);
    free_retired(cur);
    *coded = cur->leaf->physical == ALM_PQ_BYTE_ARRAY && cur->leaf->max_rep == 0;
    if (!*coded)
        return ALM_OK;
    ALM_TRY(parquet_reader_failed(cur, parquet_reader_seek(cx, cur, &cur->scratch, group, row)));
    for (uint32_t done = 0, k = 0; done < n && *coded; done += k) {
        ALM_TRY(parquet_reader_failed(cur, page_rows(cx, cur, cur->row, n - done, &k)));
        *coded = cur->coded;
        if (!*coded)
            break;
        ALM_TRY(parquet_reader_failed(cur, page_codes(cx, cur, k, codes + done)));
        passed(cur, k);
    }
    return ALM_OK;
}
