/*
 * parquet_load.c - see parquet_load.h.
 *
 * Values      Of the same type, or text to text: as they are. Whole numbers, floating ones, times and booleans go by arithmetic
 *             with a test of the range; all others by their text, as a CSV file has it.
 */
#include "session/transfer/parquet_load.h"

#include <math.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/utf8.h"
#include "codec/parquet/reader.h"
#include "session/core/session_state.h"
#include "storage/spill/spool.h"
#include "type/array.h"
#include "type/text.h"

enum { STEP_BATCHES = 16, TAIL_MAX = 64 << 20 };

/* One column of a batch as one task has it. */
typedef struct parquet_column {
    alm_ctx cx;
    alm_arena arena;
    uint32_t of;              /* number in the file */
    const alm_column *column; /* of the table */
    alm_type to;
    alm_pq_cursor *cursor;
    alm_vec raw, vec; /* as the file has it, as the table */
    uint8_t *bad;
    uint32_t n_bad;
    alm_epoch unit; /* of numbers that become times; NONE: ticks of the type */
    alm_status status;
} parquet_column;

struct alm_parquet_load {
    const alm_db *db;
    alm_parquet_part part;
    int64_t group_left; /* bytes of the first row group that are still to come */
    alm_buf tail;       /* of a part: behind those */
    alm_spool *spool;
    const alm_pq_file *file;
    parquet_column *columns;
    uint32_t n_cols;
    uint32_t group;
    int64_t row, before; /* in the group; rows of the groups before it */
    alm_arena batch;
    struct alm_mem *mem;
};

/* -------------------------------------------------------------------- the file */

alm_status alm_parquet_load_new(alm_ctx *cx, alm_session *session, alm_parquet_part part,
                                alm_parquet_load **out)
{
    alm_db *db = alm_session_db(session);
    const alm_spool_conf conf = {.who = "the Parquet file",
                                 .files = alm_session_files(session),
                                 .limit = "http.import.parquet.bytes.max",
                                 .bytes_max = alm_db_conf(db)->http_import_parquet_bytes_max};
    if (part.bytes > 0 && (part.from < ALM_PQ_MAGIC_BYTES || part.from > part.file_bytes ||
                           part.bytes > part.file_bytes - part.from))
        return alm_fail(cx, ALM_E_ARG, -1, "groupFrom and groupBytes are not in fileSize");
    alm_parquet_load *load = calloc(1, sizeof(*load));
    if (load == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for an import");
    load->db = db;
    load->part = part;
    load->group_left = part.bytes;
    alm_buf_init(&load->tail, cx->mem);
    alm_arena_init(&load->batch, cx->mem);
    const alm_status status =
        alm_spool_new(cx, alm_storage_spill_space(db->storage), &conf, &load->spool);
    if (status != ALM_OK) {
        alm_parquet_load_free(load);
        return status;
    }
    *out = load;
    return ALM_OK;
}

void alm_parquet_load_free(alm_parquet_load *load)
{
    if (load == NULL)
        return;
    for (uint32_t i = 0; i < load->n_cols; i++) {
        alm_pq_cursor_free(load->columns[i].cursor);
        alm_arena_deinit(&load->columns[i].arena);
    }
    alm_arena_deinit(&load->batch);
    alm_buf_deinit(&load->tail);
    alm_spool_free(load->spool);
    free(load);
}

/* The magic bytes, and a hole up to the first row group. */
static alm_status parquet_load_put_head(alm_ctx *cx, alm_parquet_load *load, int64_t hole)
{
    if (alm_spool_bytes(load->spool) > 0)
        return ALM_OK;
    ALM_TRY(alm_spool_append(cx, load->spool, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES));
    return alm_spool_skip(cx, load->spool, hole);
}

alm_status alm_parquet_load_feed(alm_ctx *cx, alm_parquet_load *load, const char *bytes, size_t n)
{
    if (load->part.file_bytes == 0)
        return alm_spool_append(cx, load->spool, bytes, n);
    if (load->group_left > 0 && n > 0) {
        const size_t now = (size_t)ALM_MIN((int64_t)n, load->group_left);
        ALM_TRY(parquet_load_put_head(cx, load, load->part.from - ALM_PQ_MAGIC_BYTES));
        ALM_TRY(alm_spool_append(cx, load->spool, bytes, now));
        load->group_left -= (int64_t)now;
        bytes += now;
        n -= now;
    }
    if (load->tail.len + n > TAIL_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the end of a file is longer than %d bytes", TAIL_MAX);
    return alm_buf_append(cx, &load->tail, bytes, n);
}

/* A file that has holes where the rows are that did not come. */
static alm_status put_tail(alm_ctx *cx, alm_parquet_load *load)
{
    ALM_TRY(parquet_load_put_head(cx, load, 0));
    const int64_t hole =
        load->part.file_bytes - (int64_t)load->tail.len - alm_spool_bytes(load->spool);
    if (hole < 0 || load->tail.len < ALM_PQ_TAIL_BYTES || load->group_left > 0)
        return alm_fail(cx, ALM_E_ARG, -1, "fileSize does not fit the %zu bytes that came",
                        load->tail.len);
    ALM_TRY(alm_spool_skip(cx, load->spool, hole));
    return alm_spool_append(cx, load->spool, load->tail.ptr, load->tail.len);
}

/* Bytes [lo, hi) of a file. */
typedef struct span {
    int64_t lo, hi;
} span;

/* Makes it wider; false: it is not in the file. */
static bool parquet_load_widen(span *range, int64_t from, int64_t bytes, int64_t file_bytes)
{
    if (from < ALM_PQ_MAGIC_BYTES || bytes < 0 || bytes > file_bytes || from > file_bytes - bytes)
        return false;
    range->lo = ALM_MIN(range->lo, from);
    range->hi = ALM_MAX(range->hi, from + bytes);
    return true;
}

/* Of the first row group: its pages, and the indexes of its pages. False: it has none, or they stand outside. */
static bool first_group(const alm_parquet_load *load, span *pages, span *indexes)
{
    const int64_t all = load->part.file_bytes;
    const alm_pq_row_group *group = alm_pq_meta(load->file)->row_group;
    *pages = *indexes = (span){.lo = all, .hi = 0};
    if (alm_pq_groups(load->file) == 0)
        return false;
    for (uint32_t i = 0; i < group->n_columns; i++) {
        const alm_pq_column_chunk *chunk = &group->column[i];
        const bool dictionary =
            chunk->dictionary_offset > 0 && chunk->dictionary_offset < chunk->data_offset;
        if (chunk->encrypted || !chunk->has_meta || chunk->file_path.ptr != NULL ||
            !parquet_load_widen(pages, dictionary ? chunk->dictionary_offset : chunk->data_offset,
                                chunk->compressed_bytes, all) ||
            (chunk->offset_index_bytes > 0 &&
             !parquet_load_widen(indexes, chunk->offset_index_offset, chunk->offset_index_bytes,
                                 all)))
            return false;
    }
    return pages->lo < pages->hi;
}

bool alm_parquet_load_wants(const alm_parquet_load *load, alm_parquet_part *group, int64_t *tail)
{
    span pages, indexes;
    if (load->part.file_bytes == 0 || load->part.bytes > 0 || !first_group(load, &pages, &indexes))
        return false;
    *group = (alm_parquet_part){load->part.file_bytes, pages.lo, pages.hi - pages.lo};
    *tail = ALM_MIN(load->part.file_bytes - (int64_t)load->tail.len, indexes.lo);
    return pages.hi <= *tail;
}

/* Rows must not be read of a hole: it would look like zeros. */
static alm_status check_group(alm_ctx *cx, const alm_parquet_load *load)
{
    span pages, indexes;
    const int64_t tail = load->part.file_bytes - (int64_t)load->tail.len;
    if (load->part.bytes == 0 ||
        (first_group(load, &pages, &indexes) && pages.lo >= load->part.from &&
         pages.hi <= load->part.from + load->part.bytes && indexes.lo >= tail))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "groupFrom and groupBytes are not those of the first row group");
}

/* Are there rows to be read? */
static bool parquet_load_has_rows(const alm_parquet_load *load)
{
    return load->part.file_bytes == 0 || (load->part.bytes > 0 && load->group == 0);
}

static alm_status name_refused(alm_ctx *cx, const alm_pq_read_col *col, const char **out)
{
    return *out == NULL ? alm_arena_printf(cx, cx->arena, out, "left out: column '%s' (%s)",
                                           col->name, col->refused)
                        : alm_arena_printf(cx, cx->arena, out, "%s, '%s' (%s)", *out, col->name,
                                           col->refused);
}

/* Whole numbers of a column, by the statistics of all row groups. */
static void parquet_load_find_range(const alm_parquet_load *load, uint32_t of, alm_csv_column *col)
{
    const bool number = col->type.id == ALM_T_INT || col->type.id == ALM_T_LONG;
    const uint32_t groups = number ? alm_pq_groups(load->file) : 0;
    col->least = INT64_MAX;
    col->greatest = INT64_MIN;
    for (uint32_t group = 0; group < groups; group++) {
        alm_pq_bounds bounds;
        alm_pq_group_bounds(load->file, group, of, &bounds);
        if (bounds.rows == 0 || bounds.nulls == bounds.rows)
            continue;
        if (!bounds.has_minmax) {
            col->whole = false;
            return;
        }
        col->whole = true;
        col->least = ALM_MIN(col->least, bounds.lo_i);
        col->greatest = ALM_MAX(col->greatest, bounds.hi_i);
    }
}

static alm_status parquet_load_find_columns(alm_ctx *cx, alm_parquet_load *load,
                                            alm_csv_shape *shape, const char **left_out)
{
    uint32_t n_cols = 0;
    const alm_pq_read_col *col = alm_pq_columns(load->file, &n_cols);
    *shape = (alm_csv_shape){.header = true, .named = true};
    *left_out = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &shape->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_cols + 1, &load->columns));
    for (uint32_t i = 0; i < n_cols; i++) {
        if (col[i].refused != NULL) {
            ALM_TRY(name_refused(cx, &col[i], left_out));
            continue;
        }
        load->columns[load->n_cols].of = i;
        alm_arena_init(&load->columns[load->n_cols++].arena, cx->mem);
        shape->cols[shape->n_cols++] =
            (alm_csv_column){.name = col[i].name, .type = col[i].type, .found = true};
        parquet_load_find_range(load, i, &shape->cols[shape->n_cols - 1]);
    }
    if (shape->n_cols == 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "the file has no column that can be read%s%s",
                        *left_out != NULL ? ": " : "", *left_out != NULL ? *left_out : "");
    return ALM_OK;
}

alm_status alm_parquet_load_open(alm_ctx *cx, alm_parquet_load *load, alm_csv_shape *shape,
                                 const char **left_out)
{
    alm_str bytes = {0};
    if (load->part.file_bytes > 0)
        ALM_TRY(put_tail(cx, load));
    ALM_TRY(alm_spool_map(cx, load->spool, &bytes));
    ALM_TRY(alm_pq_open(cx, cx->arena, "upload", bytes, &load->file));
    ALM_TRY(check_group(cx, load));
    return parquet_load_find_columns(cx, load, shape, left_out);
}

void alm_parquet_load_units(alm_parquet_load *load, const alm_epoch *units)
{
    for (uint32_t i = 0; i < load->n_cols; i++)
        load->columns[i].unit = units[i];
}

int64_t alm_parquet_load_file_rows(const alm_parquet_load *load)
{
    return alm_pq_rows(load->file);
}

/* Only as they are: their texts are no texts of other types. */
static bool parquet_load_is_whole(alm_type type)
{
    return type.id == ALM_T_ARRAY || type.id == ALM_T_BINARY;
}

alm_status alm_parquet_load_begin(alm_ctx *cx, alm_parquet_load *parquet_load, const alm_load *load)
{
    uint32_t n = 0;
    const alm_pq_read_col *col = alm_pq_columns(parquet_load->file, &n);
    for (uint32_t i = 0; i < parquet_load->n_cols; i++) {
        parquet_column *column = &parquet_load->columns[i];
        const alm_type from = col[column->of].type;
        column->column = &load->table->cols[load->table_col[i]];
        column->to = column->column->type;
        if ((parquet_load_is_whole(from) || parquet_load_is_whole(column->to)) &&
            !alm_type_eq(from, column->to))
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' of the file is %s and cannot be %s",
                            col[column->of].name, alm_type_name(from), alm_type_name(column->to));
        if (parquet_load_has_rows(parquet_load))
            ALM_TRY(alm_pq_cursor_new(cx, parquet_load->file, column->of, &column->cursor));
    }
    return ALM_OK;
}

/* ---------------------------------------------------------------------- values */

/* A number, a time or a boolean. */
typedef struct number {
    enum { NUMBER_NULL, NUMBER_WHOLE, NUMBER_REAL } kind;
    int64_t whole;
    double real;
} number;

static alm_type_class class_of(alm_type type)
{
    return (alm_type_class)alm_type_info_of(type)->cls;
}

static bool parquet_load_is_number(alm_type type)
{
    const alm_type_class cls = class_of(type);
    return cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING || cls == ALM_TC_TIME ||
           cls == ALM_TC_BOOL;
}

static number whole_or_null(int64_t value, int64_t null)
{
    return (number){.kind = value == null ? NUMBER_NULL : NUMBER_WHOLE, .whole = value};
}

static number parquet_load_number_at(const alm_vec *vec, uint32_t i)
{
    const uint32_t place = vec->is_const ? 0 : i;
    double real;
    switch (vec->type.id) {
    case ALM_T_BOOLEAN:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const uint8_t *)vec->data)[place] != 0};
    case ALM_T_BYTE:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const int8_t *)vec->data)[place]};
    case ALM_T_SHORT:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const int16_t *)vec->data)[place]};
    case ALM_T_INT:
        return whole_or_null(((const int32_t *)vec->data)[place], ALM_INT_NULL);
    case ALM_T_FLOAT:
    case ALM_T_DOUBLE:
        real = vec->type.id == ALM_T_FLOAT ? (double)((const float *)vec->data)[place]
                                           : ((const double *)vec->data)[place];
        return (number){.kind = isfinite(real) ? NUMBER_REAL : NUMBER_NULL, .real = real};
    default: /* LONG and times */
        return whole_or_null(((const int64_t *)vec->data)[place], ALM_LONG_NULL);
    }
}

/* Ticks in a second. */
static int64_t ticks_of(alm_type type)
{
    return type.id == ALM_T_DATE           ? 1000
           : type.id == ALM_T_TIMESTAMP    ? 1000000
           : type.id == ALM_T_TIMESTAMP_NS ? 1000000000
                                           : 0;
}

static bool change_unit(int64_t value, int64_t from, int64_t to, int64_t *out)
{
    if (from == 0 || to == 0 || from == to) {
        *out = value; /* a whole number is ticks */
        return true;
    }
    if (to > from)
        return !__builtin_mul_overflow(value, to / from, out);
    *out = value / (from / to);
    return value % (from / to) == 0;
}

static bool as_whole(const number *parsed, int64_t *out)
{
    if (parsed->kind == NUMBER_WHOLE) {
        *out = parsed->whole;
        return true;
    }
    if (parsed->real != trunc(parsed->real) || parsed->real < -9223372036854775808.0 ||
        parsed->real >= 9223372036854775808.0)
        return false;
    *out = (int64_t)parsed->real;
    return true;
}

static bool put_real(const number *parsed, alm_type target, void *out)
{
    const double real = parsed->kind == NUMBER_WHOLE ? (double)parsed->whole : parsed->real;
    if (target.id == ALM_T_DOUBLE) {
        *(double *)out = real;
        return true;
    }
    *(float *)out = (float)real;
    return isfinite(*(float *)out) != 0;
}

/* False: the type has no such value; the number of null is none either. */
static bool put_whole(int64_t value, alm_type target, void *out)
{
    switch (target.id) {
    case ALM_T_BOOLEAN:
        *(uint8_t *)out = value == 1;
        return value == 0 || value == 1;
    case ALM_T_BYTE:
        *(int8_t *)out = (int8_t)value;
        return value >= INT8_MIN && value <= INT8_MAX;
    case ALM_T_SHORT:
        *(int16_t *)out = (int16_t)value;
        return value >= INT16_MIN && value <= INT16_MAX;
    case ALM_T_INT:
        *(int32_t *)out = (int32_t)value;
        return value > INT32_MIN && value <= INT32_MAX;
    default:
        *(int64_t *)out = value;
        return value != INT64_MIN;
    }
}

static bool parquet_load_put_number(const number *parsed, alm_type from, alm_type target, void *out)
{
    int64_t whole = 0;
    if (class_of(target) == ALM_TC_FLOATING)
        return put_real(parsed, target, out);
    return as_whole(parsed, &whole) &&
           change_unit(whole, ticks_of(from), ticks_of(target), &whole) &&
           put_whole(whole, target, out);
}

static void parquet_load_mark_bad(parquet_column *col, uint32_t row, uint8_t *ptr)
{
    alm_value_set_null(col->to, ptr);
    col->bad[row] = 1;
    col->n_bad++;
}

/* A number of a unit that somebody chose as a time: what is finer is cut. */
static bool put_epoch(const number *parsed, alm_epoch unit, alm_type target, int64_t *out)
{
    const int64_t ticks = ticks_of(target), second = alm_epoch_second(unit);
    if (parsed->kind == NUMBER_WHOLE && ticks >= second)
        return !__builtin_mul_overflow(parsed->whole, ticks / second, out) && *out != ALM_LONG_NULL;
    if (parsed->kind == NUMBER_WHOLE) {
        *out = alm_floor_div(parsed->whole, second / ticks);
        return true;
    }
    const double real = floor(parsed->real * (double)ticks / (double)second + 1e-6);
    if (!(real > -9.2e18 && real < 9.2e18))
        return false;
    *out = (int64_t)real;
    return true;
}

static void convert_numbers(parquet_column *col, uint32_t n)
{
    const bool epoch = col->unit != ALM_EPOCH_NONE && class_of(col->raw.type) != ALM_TC_TIME;
    const uint32_t width = alm_type_width(col->to);
    uint8_t *ptr = col->vec.data;
    for (uint32_t i = 0; i < n; i++, ptr += width) {
        const number parsed = parquet_load_number_at(&col->raw, i);
        if (parsed.kind == NUMBER_NULL)
            alm_value_set_null(col->to, ptr);
        else if (epoch ? !put_epoch(&parsed, col->unit, col->to, (int64_t *)(void *)ptr)
                       : !parquet_load_put_number(&parsed, col->raw.type, col->to, ptr))
            parquet_load_mark_bad(col, i, ptr);
    }
}

/* 7.00 is a whole number, too. */
static alm_str without_zeros(alm_str text)
{
    const char *const point = memchr(text.ptr, '.', text.len);
    size_t len = text.len;
    while (point != NULL && len > 0 && text.ptr[len - 1] == '0')
        len--;
    return point != NULL && text.ptr + len == point + 1 ? (alm_str){text.ptr, len - 1} : text;
}

static alm_status convert_texts(parquet_column *col, uint32_t n)
{
    const uint32_t width = col->vec.width;
    const bool to_text = alm_type_is_text(col->to), to_whole = class_of(col->to) == ALM_TC_INTEGER;
    uint8_t *ptr = col->vec.data;
    for (uint32_t i = 0; i < n; i++, ptr += width) {
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text = {0};
        if (!alm_value_text(&col->raw, i, ALM_TEXT_DIALECT, scratch, &text)) {
            alm_value_set_null(col->to, ptr);
            continue;
        }
        if (to_whole && class_of(col->raw.type) == ALM_TC_DECIMAL)
            text = without_zeros(text);
        if (to_text) /* the scratch goes */
            ALM_TRY(alm_arena_copy(&col->cx, &col->arena, text, &text));
        if (alm_value_scan(col->to, text, ptr) != ALM_SCAN_OK || alm_vec_is_null(&col->vec, i))
            parquet_load_mark_bad(col, i, ptr);
    }
    return ALM_OK;
}

/* Bytes that are called text and are not UTF-8. */
static alm_status check_utf8(parquet_column *col, uint32_t n)
{
    const alm_view *views = col->raw.data;
    alm_view *own = NULL;
    for (uint32_t i = 0; i < n && !col->raw.is_const; i++) {
        if (alm_view_is_null(&views[i]) ||
            alm_utf8_is_valid(alm_view_str(&views[i], col->raw.heap)))
            continue;
        if (own == NULL) {
            ALM_TRY(ALM_NEWN(&col->cx, &col->arena, n, &own));
            (void)memcpy(own, views, n * sizeof(*own));
            col->vec.data = own;
        }
        parquet_load_mark_bad(col, i, (uint8_t *)&own[i]);
    }
    return ALM_OK;
}

static alm_status parquet_load_convert(parquet_column *col, uint32_t n)
{
    const bool texts = alm_type_is_text(col->raw.type) && alm_type_is_text(col->to);
    if (texts || alm_type_eq(col->raw.type, col->to)) {
        col->vec = col->raw;
        col->vec.type = col->to;
        return texts ? check_utf8(col, n) : ALM_OK;
    }
    ALM_TRY(alm_vec_new(&col->cx, &col->arena, col->to, n, &col->vec));
    if (!parquet_load_is_number(col->raw.type) || !parquet_load_is_number(col->to))
        return convert_texts(col, n);
    convert_numbers(col, n);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- batches */

typedef struct batch_task {
    alm_parquet_load *p;
    uint32_t n;
} batch_task;

static alm_status parquet_load_read_column(const batch_task *task, parquet_column *col)
{
    const alm_parquet_load *load = task->p;
    alm_arena_reset(&col->arena);
    col->n_bad = 0;
    ALM_TRY(ALM_NEWN(&col->cx, &col->arena, task->n, &col->bad));
    ALM_TRY(alm_pq_read(&col->cx, col->cursor, load->group, load->row, task->n, &col->arena,
                        &col->raw));
    ALM_TRY(parquet_load_convert(col, task->n));
    return alm_load_check_length(&col->cx, &col->arena, col->column, &col->vec, task->n, col->bad,
                                 &col->n_bad);
}

static void parquet_load_column_task(void *arg, uint32_t i, uint32_t slot)
{
    const batch_task *task = arg;
    parquet_column *col = &task->p->columns[i];
    (void)slot;
    col->status = parquet_load_read_column(task, col);
}

static alm_status read_batch(alm_ctx *cx, alm_parquet_load *load, alm_workers *workers, uint32_t n)
{
    batch_task task = {load, n};
    for (uint32_t i = 0; i < load->n_cols; i++) {
        alm_ctx_fork(cx, &load->columns[i].cx);
        load->columns[i].cx.arena = &load->columns[i].arena;
    }
    if (workers != NULL && n > 256)
        alm_workers_run(workers, load->n_cols, parquet_load_column_task, &task);
    else
        for (uint32_t i = 0; i < load->n_cols; i++)
            parquet_load_column_task(&task, i, 0);
    for (uint32_t i = 0; i < load->n_cols; i++)
        if (load->columns[i].status != ALM_OK)
            return alm_ctx_join(cx, &load->columns[i].cx);
    return ALM_OK;
}

/* What is wrong with a row: 0 nothing; its first bad column, from 1; or its time is null. */
enum { NULL_TIME = UINT32_MAX };

static void parquet_load_find_bad(const alm_parquet_load *parquet_load, const alm_load *load,
                                  uint32_t n, uint32_t *why)
{
    for (uint32_t i = 0; i < parquet_load->n_cols; i++) {
        const parquet_column *col = &parquet_load->columns[i];
        for (uint32_t row = 0; col->n_bad > 0 && row < n; row++)
            if (col->bad[row] && why[row] == 0)
                why[row] = i + 1;
        if ((int32_t)load->table_col[i] != load->table->ts_col)
            continue;
        for (uint32_t row = 0; row < n; row++)
            if (alm_vec_is_null(&col->vec, row) &&
                (why[row] == 0 || load->rule == ALM_BAD_SKIP_COLUMN))
                why[row] = NULL_TIME;
    }
}

/* A value as a message can show it. */
static alm_status value_text(alm_ctx *cx, const alm_vec *vec, uint32_t row, alm_str *out)
{
    enum { SHOWN_MAX = 100 };
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = {0};
    *out = (alm_str){0};
    if (vec->type.id == ALM_T_ARRAY) {
        bool null = false;
        alm_buf buf;
        alm_buf_init(&buf, cx->mem);
        alm_status status = alm_value_format(cx, vec, row, ALM_TEXT_DIALECT, &buf, &null);
        if (status == ALM_OK && !null)
            status = alm_arena_copy(cx, cx->arena,
                                    (alm_str){buf.ptr, ALM_MIN(buf.len, (size_t)SHOWN_MAX)}, out);
        alm_buf_deinit(&buf);
        return status;
    }
    if (!alm_value_text(vec, row, ALM_TEXT_DIALECT, scratch, &text))
        return ALM_OK;
    if (vec->type.id == ALM_T_BINARY) {
        const char *size = NULL;
        ALM_TRY(alm_arena_printf(cx, cx->arena, &size, "%zu bytes", text.len));
        *out = alm_str_of(size);
        return ALM_OK;
    }
    if (text.len > SHOWN_MAX) {
        text.len = SHOWN_MAX;
        while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
            text.len--; /* not in the middle of a character */
    }
    return alm_arena_copy(cx, cx->arena, alm_utf8_is_valid(text) ? text : ALM_STR(""), out);
}

static alm_status parquet_load_bad_value(alm_ctx *cx, const alm_parquet_load *parquet_load,
                                         const alm_load *load, uint32_t row, uint32_t i)
{
    const alm_column *to = &load->table->cols[load->table_col[i]];
    alm_ctx own = *cx;
    alm_str text = {0};
    own.arena = &parquet_load->columns[i].arena;
    if (value_text(&own, &parquet_load->columns[i].raw, row, &text) != ALM_OK)
        text = (alm_str){0};
    size_t chars = 0;
    const alm_vec *raw = &parquet_load->columns[i].raw;
    if (alm_type_is_text(raw->type) && alm_text_exceeds(to, alm_vec_text(raw, row), &chars))
        return alm_fail(
            cx, ALM_E_LENGTH, -1,
            "row %lld, column %s: value too long for type character varying(%u) [length=%zu]",
            (long long)(parquet_load->before + parquet_load->row + row + 1), to->name, to->length,
            chars);
    return alm_fail(cx, ALM_E_VALUE, -1, "row %lld, column %s: \"%.*s\" is not a value of type %s",
                    (long long)(parquet_load->before + parquet_load->row + row + 1), to->name,
                    (int)text.len, text.len > 0 ? text.ptr : "", alm_type_name(to->type));
}

static alm_status parquet_load_fail_row(alm_ctx *cx, const alm_parquet_load *parquet_load,
                                        const alm_load *load, uint32_t row, uint32_t why)
{
    if (why != NULL_TIME)
        return parquet_load_bad_value(cx, parquet_load, load, row, why - 1);
    for (uint32_t i = 0; i < parquet_load->n_cols; i++)
        if ((int32_t)load->table_col[i] == load->table->ts_col && parquet_load->columns[i].bad[row])
            return parquet_load_bad_value(cx, parquet_load, load, row, i);
    return alm_fail(cx, ALM_E_VALUE, -1, "row %lld: null in the designated timestamp \"%s\"",
                    (long long)(parquet_load->before + parquet_load->row + row + 1),
                    load->table->cols[load->table->ts_col].name);
}

static alm_status parquet_load_note_fault(alm_ctx *cx, const alm_parquet_load *parquet_load,
                                          alm_load *load, uint32_t row, uint32_t why)
{
    const int64_t n = load->n_faulty++;
    alm_ctx probe;
    if (load->faults == NULL || n >= ALM_LOAD_FAULTS_MAX)
        return ALM_OK;
    alm_ctx_fork(cx, &probe);
    (void)parquet_load_fail_row(&probe, parquet_load, load, row, why);
    return alm_arena_printf(cx, load->kept, &load->faults[n], "%s", probe.err.msg);
}

/* Which rows go into the table; idx gets their numbers. */
static alm_status parquet_load_choose_rows(alm_ctx *cx, alm_parquet_load *parquet_load,
                                           alm_load *load, uint32_t n, uint32_t *idx,
                                           uint32_t *taken)
{
    uint32_t *why = NULL;
    ALM_TRY(ALM_NEWN(cx, &parquet_load->batch, n, &why));
    parquet_load_find_bad(parquet_load, load, n, why);
    *taken = 0;
    for (uint32_t row = 0; row < n; row++) {
        if (why[row] == 0 || (why[row] != NULL_TIME && load->rule == ALM_BAD_SKIP_COLUMN))
            idx[(*taken)++] = row;
        else
            load->rejected++;
        if (why[row] == 0)
            continue;
        if (load->rule == ALM_BAD_ABORT)
            return parquet_load_fail_row(cx, parquet_load, load, row, why[row]);
        ALM_TRY(parquet_load_note_fault(cx, parquet_load, load, row, why[row]));
    }
    return ALM_OK;
}

static alm_status parquet_load_take_batch(alm_ctx *cx, alm_parquet_load *parquet_load,
                                          alm_load *load, uint32_t n)
{
    const alm_table *table = load->table;
    alm_vec *vecs = NULL;
    uint32_t *idx = NULL, taken = 0;
    alm_arena_reset(&parquet_load->batch);
    ALM_TRY(ALM_NEWN(cx, &parquet_load->batch, table->n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &parquet_load->batch, n, &idx));
    ALM_TRY(read_batch(cx, parquet_load, load->workers, n));
    ALM_TRY(parquet_load_choose_rows(cx, parquet_load, load, n, idx, &taken));
    for (uint32_t i = 0; i < parquet_load->n_cols; i++) {
        vecs[load->table_col[i]] = parquet_load->columns[i].vec;
        load->errors[i] += parquet_load->columns[i].n_bad;
    }
    load->handled += n;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (vecs[i].data == NULL)
            ALM_TRY(alm_vec_null(cx, &parquet_load->batch, table->cols[i].type, &vecs[i]));
        else if (taken < n)
            ALM_TRY(alm_vec_gather(cx, &parquet_load->batch, &vecs[i], idx, taken, &vecs[i]));
    }
    const alm_batch batch = {.rows = taken, .n_cols = table->n_cols, .cols = vecs};
    return taken > 0 ? load->sink(cx, load->arg, &batch) : ALM_OK;
}

/* Goes behind the groups that are done; false: there is none left. */
static bool find_group(alm_parquet_load *load)
{
    while (load->group < alm_pq_groups(load->file) &&
           load->row >= alm_pq_group_rows(load->file, load->group)) {
        load->before += load->row;
        load->row = 0;
        load->group++;
    }
    return load->group < alm_pq_groups(load->file) && parquet_load_has_rows(load);
}

alm_status alm_parquet_load_step(alm_ctx *cx, alm_parquet_load *parquet_load, alm_load *load,
                                 uint32_t rows, bool *done)
{
    int64_t left = rows > 0 ? rows : (int64_t)STEP_BATCHES * ALM_BATCH_ROWS;
    while (left > 0 && find_group(parquet_load)) {
        const int64_t rest =
            alm_pq_group_rows(parquet_load->file, parquet_load->group) - parquet_load->row;
        const int64_t n_rows = ALM_MIN(ALM_MIN(rest, left), (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        if (atomic_load(&parquet_load->db->stopping))
            return alm_fail(cx, ALM_E_CANCEL, -1, "the server stops");
        ALM_TRY(parquet_load_take_batch(cx, parquet_load, load, (uint32_t)n_rows));
        parquet_load->row += n_rows;
        left -= n_rows;
    }
    *done = !find_group(parquet_load);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- a look */

alm_status alm_parquet_load_texts(alm_ctx *cx, alm_parquet_load *load, uint32_t *n, alm_str **out)
{
    const uint32_t wanted = *n;
    *n = 0;
    load->group = 0;
    load->row = load->before = 0;
    if (!find_group(load))
        return ALM_OK;
    const uint32_t rows =
        (uint32_t)ALM_MIN(alm_pq_group_rows(load->file, load->group), (int64_t)wanted);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)rows * load->n_cols + 1, out));
    ALM_TRY(read_batch(cx, load, NULL, rows));
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < load->n_cols; i++)
            ALM_TRY(value_text(cx, &load->columns[i].raw, row,
                               &(*out)[(size_t)row * load->n_cols + i]));
    *n = rows;
    return ALM_OK;
}
