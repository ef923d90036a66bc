/*
 * parquet.c - read_parquet(file): rows of Parquet files, by row group on all threads.
 *
 * Parts       The row groups of all files in the order of the files, less those that cannot have a row which passes
 *             a comparison with = (statistics, bloom filters, values of folders). Ranges are tested as rows
 *             are read, by the bounds of pages where the file has them.
 * Reader      A cursor for each column, of one file at a time: one page unpacked for each.
 */
#include <stdlib.h>

#include "exec/source/parquet_codes.h"

typedef struct part {
    uint32_t file, group;
} part;

typedef struct parquet_reader {
    const alm_plan *plan;
    const alm_parquet_set *set;
    const part *part;
    const part *at;         /* the part read last, or NULL */
    alm_pq_cursor **cursor; /* by column that is read, of the file of `at` */
    alm_vec *null;          /* by column: for files without it */
    int64_t *page_part;     /* by column: of which part the pages are, -1 */
    alm_pq_page_bounds **page;
    uint32_t *n_pages;
    alm_arena *pages; /* by column */
} parquet_reader;

static alm_status parquet_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    const alm_pq_file *const *file = NULL;
    const char *const *path = NULL;
    uint32_t n = 0;
    alm_parquet_set *set = NULL;
    ALM_TRY(alm_parquet_files(cx, "read_parquet", call, &file, &path, &n));
    ALM_TRY(alm_parquet_unite(cx, call->args[0]->pos, file, path, n, &set));
    *out = (alm_source_bound){.cols = set->col,
                              .n_cols = set->n_cols,
                              .ts_col = -1,
                              .est_rows = set->rows,
                              .data = set,
                              .n_hidden = set->n_cols};
    return ALM_OK;
}

/* ---------------------------------------------------------------------------------------- codes */

static alm_status parquet_codes(alm_ctx *cx, void *data, uint32_t col, int32_t *twin)
{
    alm_parquet_set *set = data;
    const alm_parquet_codes *codes = NULL;
    ALM_TRY(alm_parquet_codes_of(cx, set, col, &codes));
    *twin = codes != NULL ? (int32_t)(set->n_cols + col) : -1;
    return ALM_OK;
}

static const alm_dict *parquet_dict(const void *data, uint32_t col)
{
    const alm_parquet_set *set = data;
    return col < set->n_cols ? NULL : &set->codes[col - set->n_cols]->dict;
}

/* The column of the files that a column of the source is, as it is or as codes. */
static uint32_t source_parquet_column_of(const alm_parquet_set *set, uint32_t col)
{
    return col < set->n_cols ? col : col - set->n_cols;
}

/* ---------------------------------------------------------------------------------------- parts */

/* col = constant, either way round. */
static bool is_equality(const alm_expr *expr, const alm_expr **col, const alm_expr **value)
{
    if (expr->kind != ALM_X_CALL || expr->n_args != 2 || strcmp(expr->fn->name, "=") != 0)
        return false;
    const bool first = expr->args[0]->kind == ALM_X_COL;
    *col = expr->args[first ? 0 : 1];
    *value = expr->args[first ? 1 : 0];
    return (*col)->kind == ALM_X_COL && (*value)->kind == ALM_X_CONST &&
           !alm_vec_is_null(&(*value)->value, 0);
}

/* A whole number of the types of columns that have bloom filters; comparisons with others are not looked at. */
static bool source_parquet_integer_of(const alm_expr *value, int64_t *out)
{
    if (value->type.id == ALM_T_INT)
        *out = *(const int32_t *)value->value.data;
    else if (value->type.id == ALM_T_LONG)
        *out = *(const int64_t *)value->value.data;
    else
        return false;
    return true;
}

static bool may_equal(const alm_plan *plan, const alm_parquet_file *file, uint32_t group,
                      const alm_expr *col, const alm_expr *value)
{
    const uint32_t of = source_parquet_column_of(plan->source.data, plan->source.cols[col->col]);
    const int32_t place = file->col[of];
    const alm_type type = plan->source.all[of].type;
    int64_t x = 0;
    if (place == ALM_PARQUET_NONE)
        return true; /* nulls: what the comparison says of them is its matter */
    if (alm_type_is_text(type) && alm_type_is_text(value->type)) {
        const alm_str text = alm_vec_text(&value->value, 0);
        if (place == ALM_PARQUET_FOLDER)
            return alm_vec_is_null(&file->folder[of], 0) ||
                   alm_str_eq(alm_vec_text(&file->folder[of], 0), text);
        return alm_pq_maybe_text(file->file, group, (uint32_t)place, text);
    }
    if (place >= 0 && (type.id == ALM_T_INT || type.id == ALM_T_LONG) &&
        source_parquet_integer_of(value, &x))
        return alm_pq_maybe_integer(file->file, group, (uint32_t)place, x);
    return true;
}

static bool may_pass(const alm_plan *plan, const alm_parquet_file *file, uint32_t group)
{
    const alm_expr *col = NULL, *value = NULL;
    for (uint32_t i = 0; i < plan->source.n_filters; i++)
        if (is_equality(plan->source.filter[i], &col, &value) &&
            !may_equal(plan, file, group, col, value))
            return false;
    return true;
}

/* A column that cannot be read is an error only where it is read. */
static alm_status source_parquet_check_columns(alm_ctx *cx, const alm_plan *plan,
                                               const alm_parquet_file *file)
{
    uint32_t n = 0;
    const alm_pq_read_col *col = alm_pq_columns(file->file, &n);
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        const int32_t place =
            file->col[source_parquet_column_of(plan->source.data, plan->source.cols[i])];
        if (place >= 0 && col[place].refused != NULL)
            return alm_fail(cx, ALM_E_UNSUPPORTED, plan->pos, "parquet file '%s', column '%s': %s",
                            alm_pq_name(file->file), col[place].name, col[place].refused);
    }
    return ALM_OK;
}

/* A page that two threads need is unpacked twice: parts are cut between the pages of the column with the most bytes. */
static int64_t parquet_step(const alm_plan *plan, const alm_source_parts *parts, uint32_t number)
{
    const alm_parquet_set *set = plan->source.data;
    const part *piece = &((const part *)parts->data)[number];
    const alm_parquet_file *file = &set->file[piece->file];
    const alm_pq_row_group *group = &alm_pq_meta(file->file)->row_group[piece->group];
    int64_t most = -1;
    int32_t widest = -1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->source.n_cols; i++) {
        const int32_t place = file->col[source_parquet_column_of(set, plan->source.cols[i])];
        if (place < 0)
            continue;
        const int64_t bytes =
            group->column[alm_pq_columns(file->file, &n)[place].leaf].uncompressed_bytes;
        if (bytes <= most)
            continue;
        most = bytes;
        widest = place;
    }
    return widest < 0 ? 0 : alm_pq_page_rows(file->file, piece->group, (uint32_t)widest);
}

static alm_status parquet_prepare(alm_ctx *cx, const alm_plan *plan, alm_source_parts *out)
{
    const alm_parquet_set *set = plan->source.data;
    part *parts = NULL;
    size_t count = 0;
    for (uint32_t f = 0; f < set->n_files; f++)
        count += alm_pq_groups(set->file[f].file);
    *out = (alm_source_parts){0};
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &parts));
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &out->rows));
    for (uint32_t f = 0; f < set->n_files; f++) {
        const alm_parquet_file *file = &set->file[f];
        ALM_TRY(alm_check(cx));
        ALM_TRY(source_parquet_check_columns(cx, plan, file));
        for (uint32_t group = 0; group < alm_pq_groups(file->file); group++) {
            if (alm_pq_group_rows(file->file, group) == 0 || !may_pass(plan, file, group))
                continue;
            parts[out->n] = (part){f, group};
            out->rows[out->n++] = alm_pq_group_rows(file->file, group);
        }
    }
    out->data = parts;
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------- reader */

static alm_status parquet_reader_new(alm_ctx *cx, const alm_plan *plan,
                                     const alm_source_parts *parts, void **out)
{
    parquet_reader *reader = NULL;
    const uint32_t n_cols = plan->source.n_cols;
    ALM_TRY(ALM_NEW(cx, cx->arena, &reader));
    reader->plan = plan;
    reader->set = plan->source.data;
    reader->part = parts->data;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->cursor));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->null));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->page_part));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->page));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->n_pages));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &reader->pages));
    for (uint32_t i = 0; i < n_cols; i++) {
        reader->page_part[i] = -1;
        alm_arena_init(&reader->pages[i], cx->mem);
        ALM_TRY(alm_vec_null(cx, cx->arena, plan->source.all[plan->source.cols[i]].type,
                             &reader->null[i]));
    }
    *out = reader;
    return ALM_OK;
}

static void source_parquet_close_file(parquet_reader *reader)
{
    for (uint32_t i = 0; i < reader->plan->source.n_cols; i++) {
        alm_pq_cursor_free(reader->cursor[i]);
        reader->cursor[i] = NULL;
    }
}

static void parquet_reader_free(void *reader)
{
    parquet_reader *r = reader;
    if (r == NULL)
        return;
    source_parquet_close_file(r);
    for (uint32_t i = 0; i < r->plan->source.n_cols; i++)
        alm_arena_deinit(&r->pages[i]);
}

static alm_status source_parquet_read_column(alm_ctx *cx, parquet_reader *reader,
                                             const alm_parquet_rows *rows, uint32_t i,
                                             alm_arena *arena, alm_vec *out)
{
    const alm_parquet_file *file = rows->file;
    const uint32_t is = reader->plan->source.cols[i],
                   of = source_parquet_column_of(reader->set, is);
    const int32_t place = file->col[of];
    alm_vec own = {0};
    if (place >= 0 && reader->cursor[i] == NULL)
        ALM_TRY(alm_pq_cursor_new(cx, file->file, (uint32_t)place, &reader->cursor[i]));
    if (is != of)
        return alm_parquet_codes_read(cx, reader->set, of, reader->cursor[i], rows, arena, out);
    if (place == ALM_PARQUET_NONE || place == ALM_PARQUET_FOLDER) {
        *out = place == ALM_PARQUET_NONE ? reader->null[i] : file->folder[of];
        return ALM_OK;
    }
    ALM_TRY(alm_pq_read(cx, reader->cursor[i], rows->group, rows->row, rows->n, arena, &own));
    return alm_parquet_cast(cx, arena, &own, rows->n, reader->plan->source.all[of].type, out);
}

/* Whoever reads a file as a whole does not keep all of it in memory. Others may still read the part: they wait a
 * little for its bytes. */
static void leave_part(const alm_ctx *cx, const parquet_reader *reader)
{
    const part *piece = reader->at;
    if (cx->io == NULL)
        return;
    const alm_parquet_file *file = &reader->set->file[piece->file];
    for (uint32_t i = 0; i < reader->plan->source.n_cols; i++) {
        const int32_t col =
            file->col[source_parquet_column_of(reader->set, reader->plan->source.cols[i])];
        const alm_str bytes =
            col >= 0 ? alm_pq_chunk_bytes(file->file, piece->group, (uint32_t)col) : (alm_str){0};
        if (bytes.len > 0)
            cx->io->release(cx->io, bytes.ptr, bytes.len);
    }
}

static alm_status source_parquet_read(alm_ctx *cx, void *reader, uint32_t number, int64_t row,
                                      uint32_t n, const bool *wanted, alm_arena *arena,
                                      alm_vec *out)
{
    parquet_reader *r = reader;
    const part *piece = &r->part[number];
    if (r->at != NULL && r->at != piece)
        leave_part(cx, r);
    if (r->at != NULL && r->at->file != piece->file)
        source_parquet_close_file(r);
    r->at = piece;
    const alm_parquet_rows rows = {&r->set->file[piece->file], piece->group, row, n};
    for (uint32_t i = 0; i < r->plan->source.n_cols; i++)
        if (wanted[i])
            ALM_TRY(source_parquet_read_column(cx, r, &rows, i, arena, &out[i]));
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- statistics */

static void stats_of(const alm_pq_bounds *bounds, alm_col_stats *out)
{
    *out = (alm_col_stats){.valid = true,
                           .has_minmax = bounds->has_minmax,
                           .rows = bounds->rows,
                           .nulls = bounds->nulls,
                           .min_i = bounds->lo_i,
                           .max_i = bounds->hi_i,
                           .min_f = bounds->lo_f,
                           .max_f = bounds->hi_f};
}

static alm_status page_stats(alm_ctx *cx, parquet_reader *reader, uint32_t number, uint32_t i,
                             uint32_t col, int64_t row, int64_t *rows, alm_col_stats *out)
{
    const part *piece = &reader->part[number];
    const alm_pq_file *file = reader->set->file[piece->file].file;
    alm_pq_bounds bounds;
    if (reader->page_part[i] != number) {
        alm_arena_reset(&reader->pages[i]);
        reader->page_part[i] = -1;
        ALM_TRY(alm_pq_pages(cx, &reader->pages[i], file, piece->group, col, &reader->page[i],
                             &reader->n_pages[i]));
        reader->page_part[i] = number;
    }
    if (reader->n_pages[i] == 0) {
        alm_pq_group_bounds(file, piece->group, col, &bounds);
        stats_of(&bounds, out);
        return ALM_OK;
    }
    uint32_t lo = 0, hi = reader->n_pages[i]; /* the last page that begins at or before the row */
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (reader->page[i][mid].first_row <= row)
            lo = mid;
        else
            hi = mid;
    }
    const alm_pq_page_bounds *page = &reader->page[i][lo];
    *rows = page->first_row + page->bounds.rows - row;
    if (*rows <= 0) { /* an empty page; cannot be, pages cover the row group */
        *rows = 1;
        return ALM_OK;
    }
    stats_of(&page->bounds, out);
    return ALM_OK;
}

/* The column of the file whose statistics are those of the source's column; -1: there is none. */
static int32_t source_parquet_plain_column(const alm_plan *plan, const alm_parquet_file *file,
                                           uint32_t i)
{
    const alm_parquet_set *set = plan->source.data;
    const uint32_t of = plan->source.cols[i];
    uint32_t n = 0;
    if (of >= set->n_cols || file->col[of] < 0 ||
        !alm_type_eq(alm_pq_columns(file->file, &n)[file->col[of]].type, set->col[of].type))
        return -1;
    return file->col[of];
}

static bool folder_bounds(const alm_plan *plan, const part *piece, uint32_t i, alm_col_stats *out)
{
    const alm_parquet_set *set = plan->source.data;
    const alm_parquet_file *file = &set->file[piece->file];
    const uint32_t of = plan->source.cols[i];
    const int64_t rows = alm_pq_group_rows(file->file, piece->group);
    if (of >= set->n_cols || file->col[of] != ALM_PARQUET_FOLDER ||
        set->col[of].type.id != ALM_T_LONG)
        return false;
    const int64_t value = *(const int64_t *)file->folder[of].data;
    *out = (alm_col_stats){.valid = true,
                           .has_minmax = value != ALM_LONG_NULL,
                           .rows = rows,
                           .nulls = value == ALM_LONG_NULL ? rows : 0,
                           .min_i = value,
                           .max_i = value};
    return true;
}

static void parquet_part_stats(const alm_plan *plan, const alm_source_parts *parts, uint32_t number,
                               uint32_t i, alm_col_stats *out)
{
    const alm_parquet_set *set = plan->source.data;
    const part *piece = &((const part *)parts->data)[number];
    const int32_t col = source_parquet_plain_column(plan, &set->file[piece->file], i);
    alm_pq_bounds bounds;
    *out = (alm_col_stats){0};
    if (folder_bounds(plan, piece, i, out) || col < 0)
        return;
    alm_pq_group_bounds(set->file[piece->file].file, piece->group, (uint32_t)col, &bounds);
    stats_of(&bounds, out);
}

static alm_status parquet_stats(alm_ctx *cx, void *reader, uint32_t number, int64_t row, uint32_t i,
                                int64_t *rows, alm_col_stats *out)
{
    parquet_reader *r = reader;
    const part *piece = &r->part[number];
    const alm_parquet_file *file = &r->set->file[piece->file];
    *rows = INT64_MAX;
    *out = (alm_col_stats){0};
    if (folder_bounds(r->plan, piece, i, out))
        return ALM_OK;
    const int32_t col = source_parquet_plain_column(r->plan, file, i);
    return col < 0 ? ALM_OK : page_stats(cx, r, number, i, (uint32_t)col, row, rows, out);
}

/* ---------------------------------------------------------------------------------------- order */

/* Statistics of a row group that begins before the last one ended say no at once. */
static bool groups_in_order(const alm_pq_file *file, uint32_t col, int64_t *last)
{
    for (uint32_t group = 0; group < alm_pq_groups(file); group++) {
        alm_pq_bounds bounds;
        alm_pq_group_bounds(file, group, col, &bounds);
        if (bounds.rows > 0 && (bounds.nulls > 0 || (bounds.has_minmax && bounds.lo_i < *last)))
            return false;
        if (bounds.has_minmax)
            *last = bounds.hi_i;
    }
    return true;
}

static bool values_in_order(const int64_t *at, uint32_t n, int64_t *last)
{
    bool good = true;
    int64_t before = *last;
    for (uint32_t i = 0; i < n; i++) {
        good &= at[i] >= before;
        before = at[i];
    }
    *last = before;
    return good && n > 0 && at[0] != ALM_TS_NULL;
}

/* Reads the column: what files say of their order is not enough, operators rely on it. */
static alm_status rows_in_order(alm_ctx *cx, const alm_pq_file *file, uint32_t col, int64_t *last,
                                bool *out)
{
    alm_pq_cursor *cur = NULL;
    alm_arena arena;
    alm_status status = alm_pq_cursor_new(cx, file, col, &cur);
    alm_arena_init(&arena, cx->mem);
    for (uint32_t group = 0; status == ALM_OK && *out && group < alm_pq_groups(file); group++) {
        const int64_t rows = alm_pq_group_rows(file, group);
        for (int64_t row = 0; status == ALM_OK && *out && row < rows; row += ALM_BATCH_ROWS) {
            const uint32_t n_rows = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, rows - row);
            alm_vec vec;
            alm_arena_reset(&arena);
            status = alm_check(cx);
            if (status == ALM_OK)
                status = alm_pq_read(cx, cur, group, row, n_rows, &arena, &vec);
            *out = status == ALM_OK && values_in_order(vec.data, n_rows, last);
        }
    }
    alm_pq_cursor_free(cur);
    alm_arena_deinit(&arena);
    return status;
}

static alm_status parquet_ordered(alm_ctx *cx, const void *data, uint32_t col, bool *out)
{
    const alm_parquet_set *set = data;
    int64_t last = INT64_MIN;
    uint32_t n = 0;
    *out = alm_type_is_timestamp(set->col[col].type);
    for (uint32_t file = 0; file < set->n_files && *out; file++) {
        const int32_t place = set->file[file].col[col];
        *out = place >= 0;
        if (!*out)
            break;
        const alm_pq_read_col *own = &alm_pq_columns(set->file[file].file, &n)[place];
        *out = own->refused == NULL && alm_type_eq(own->type, set->col[col].type) &&
               groups_in_order(set->file[file].file, (uint32_t)place, &last);
    }
    last = INT64_MIN;
    for (uint32_t file = 0; file < set->n_files && *out; file++)
        ALM_TRY(rows_in_order(cx, set->file[file].file, (uint32_t)set->file[file].col[col], &last,
                              out));
    return ALM_OK;
}

static const alm_source_scan scan_calls = {.ordered = parquet_ordered,
                                           .codes = parquet_codes,
                                           .dict = parquet_dict,
                                           .prepare = parquet_prepare,
                                           .step = parquet_step,
                                           .reader = parquet_reader_new,
                                           .read = source_parquet_read,
                                           .stats = parquet_stats,
                                           .part_stats = parquet_part_stats,
                                           .free = parquet_reader_free};

const alm_source alm_source_read_parquet = {
    .name = "read_parquet",
    .signature = "(file STRING)",
    .doc = "Rows of Parquet files below the folder of imports (cairo.sql.copy.root): the name of "
           "one, or a "
           "pattern with * for many. Folders like year=2024 are columns.",
    .example = "select count() from read_parquet('trades.parquet')",
    .bind = parquet_bind,
    .scan = &scan_calls};

const alm_source alm_source_parquet_read = {
    .name = "parquet_read",
    .signature = "(file STRING)",
    .doc = "The same as read_parquet.",
    .example = "select count() from parquet_read('trades.parquet')",
    .bind = parquet_bind,
    .scan = &scan_calls};

const alm_source alm_source_parquet_scan = {
    .name = "parquet_scan",
    .signature = "(file STRING)",
    .doc = "The same as read_parquet.",
    .example = "select count() from parquet_scan('trades.parquet')",
    .bind = parquet_bind,
    .scan = &scan_calls};
