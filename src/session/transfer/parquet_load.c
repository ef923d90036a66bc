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

alm_status alm_parquet_load_new(alm_ctx *cx, alm_session *s, alm_parquet_part part,
                                alm_parquet_load **out)
{
    alm_db *db = alm_session_db(s);
    const alm_spool_conf conf = {.who = "the Parquet file",
                                 .files = alm_session_files(s),
                                 .limit = "http.import.parquet.bytes.max",
                                 .bytes_max = alm_db_conf(db)->http_import_parquet_bytes_max};
    if (part.bytes > 0 && (part.from < ALM_PQ_MAGIC_BYTES || part.from > part.file_bytes ||
                           part.bytes > part.file_bytes - part.from))
        return alm_fail(cx, ALM_E_ARG, -1, "groupFrom and groupBytes are not in fileSize");
    alm_parquet_load *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory for an import");
    p->db = db;
    p->part = part;
    p->group_left = part.bytes;
    alm_buf_init(&p->tail, cx->mem);
    alm_arena_init(&p->batch, cx->mem);
    const alm_status st = alm_spool_new(cx, alm_storage_spill_space(db->storage), &conf, &p->spool);
    if (st != ALM_OK) {
        alm_parquet_load_free(p);
        return st;
    }
    *out = p;
    return ALM_OK;
}

void alm_parquet_load_free(alm_parquet_load *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->n_cols; i++) {
        alm_pq_cursor_free(p->columns[i].cursor);
        alm_arena_deinit(&p->columns[i].arena);
    }
    alm_arena_deinit(&p->batch);
    alm_buf_deinit(&p->tail);
    alm_spool_free(p->spool);
    free(p);
}

/* The magic bytes, and a hole up to the first row group. */
static alm_status put_head(alm_ctx *cx, alm_parquet_load *p, int64_t hole)
{
    if (alm_spool_bytes(p->spool) > 0)
        return ALM_OK;
    ALM_TRY(alm_spool_append(cx, p->spool, ALM_PQ_MAGIC, ALM_PQ_MAGIC_BYTES));
    return alm_spool_skip(cx, p->spool, hole);
}

alm_status alm_parquet_load_feed(alm_ctx *cx, alm_parquet_load *p, const char *bytes, size_t n)
{
    if (p->part.file_bytes == 0)
        return alm_spool_append(cx, p->spool, bytes, n);
    if (p->group_left > 0 && n > 0) {
        const size_t now = (size_t)ALM_MIN((int64_t)n, p->group_left);
        ALM_TRY(put_head(cx, p, p->part.from - ALM_PQ_MAGIC_BYTES));
        ALM_TRY(alm_spool_append(cx, p->spool, bytes, now));
        p->group_left -= (int64_t)now;
        bytes += now;
        n -= now;
    }
    if (p->tail.len + n > TAIL_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the end of a file is longer than %d bytes", TAIL_MAX);
    return alm_buf_append(cx, &p->tail, bytes, n);
}

/* A file that has holes where the rows are that did not come. */
static alm_status put_tail(alm_ctx *cx, alm_parquet_load *p)
{
    ALM_TRY(put_head(cx, p, 0));
    const int64_t hole = p->part.file_bytes - (int64_t)p->tail.len - alm_spool_bytes(p->spool);
    if (hole < 0 || p->tail.len < ALM_PQ_TAIL_BYTES || p->group_left > 0)
        return alm_fail(cx, ALM_E_ARG, -1, "fileSize does not fit the %zu bytes that came",
                        p->tail.len);
    ALM_TRY(alm_spool_skip(cx, p->spool, hole));
    return alm_spool_append(cx, p->spool, p->tail.ptr, p->tail.len);
}

/* Bytes [lo, hi) of a file. */
typedef struct span {
    int64_t lo, hi;
} span;

/* Makes it wider; false: it is not in the file. */
static bool widen(span *s, int64_t from, int64_t bytes, int64_t file_bytes)
{
    if (from < ALM_PQ_MAGIC_BYTES || bytes < 0 || bytes > file_bytes || from > file_bytes - bytes)
        return false;
    s->lo = ALM_MIN(s->lo, from);
    s->hi = ALM_MAX(s->hi, from + bytes);
    return true;
}

/* Of the first row group: its pages, and the indexes of its pages. False: it has none, or they stand outside. */
static bool first_group(const alm_parquet_load *p, span *pages, span *indexes)
{
    const int64_t all = p->part.file_bytes;
    const alm_pq_row_group *g = alm_pq_meta(p->file)->row_group;
    *pages = *indexes = (span){.lo = all, .hi = 0};
    if (alm_pq_groups(p->file) == 0)
        return false;
    for (uint32_t i = 0; i < g->n_columns; i++) {
        const alm_pq_column_chunk *c = &g->column[i];
        const bool dictionary = c->dictionary_offset > 0 && c->dictionary_offset < c->data_offset;
        if (c->encrypted || !c->has_meta || c->file_path.ptr != NULL ||
            !widen(pages, dictionary ? c->dictionary_offset : c->data_offset, c->compressed_bytes,
                   all) ||
            (c->offset_index_bytes > 0 &&
             !widen(indexes, c->offset_index_offset, c->offset_index_bytes, all)))
            return false;
    }
    return pages->lo < pages->hi;
}

bool alm_parquet_load_wants(const alm_parquet_load *p, alm_parquet_part *group, int64_t *tail)
{
    span pages, indexes;
    if (p->part.file_bytes == 0 || p->part.bytes > 0 || !first_group(p, &pages, &indexes))
        return false;
    *group = (alm_parquet_part){p->part.file_bytes, pages.lo, pages.hi - pages.lo};
    *tail = ALM_MIN(p->part.file_bytes - (int64_t)p->tail.len, indexes.lo);
    return pages.hi <= *tail;
}

/* Rows must not be read of a hole: it would look like zeros. */
static alm_status check_group(alm_ctx *cx, const alm_parquet_load *p)
{
    span pages, indexes;
    const int64_t tail = p->part.file_bytes - (int64_t)p->tail.len;
    if (p->part.bytes == 0 || (first_group(p, &pages, &indexes) && pages.lo >= p->part.from &&
                               pages.hi <= p->part.from + p->part.bytes && indexes.lo >= tail))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "groupFrom and groupBytes are not those of the first row group");
}

/* Are there rows to be read? */
static bool has_rows(const alm_parquet_load *p)
{
    return p->part.file_bytes == 0 || (p->part.bytes > 0 && p->group == 0);
}

static alm_status name_refused(alm_ctx *cx, const alm_pq_read_col *col, const char **out)
{
    return *out == NULL ? alm_arena_printf(cx, cx->arena, out, "left out: column '%s' (%s)",
                                           col->name, col->refused)
                        : alm_arena_printf(cx, cx->arena, out, "%s, '%s' (%s)", *out, col->name,
                                           col->refused);
}

/* Whole numbers of a column, by the statistics of all row groups. */
static void find_range(const alm_parquet_load *p, uint32_t of, alm_csv_column *col)
{
    const bool number = col->type.id == ALM_T_INT || col->type.id == ALM_T_LONG;
    const uint32_t groups = number ? alm_pq_groups(p->file) : 0;
    col->least = INT64_MAX;
    col->greatest = INT64_MIN;
    for (uint32_t g = 0; g < groups; g++) {
        alm_pq_bounds b;
        alm_pq_group_bounds(p->file, g, of, &b);
        if (b.rows == 0 || b.nulls == b.rows)
            continue;
        if (!b.has_minmax) {
            col->whole = false;
            return;
        }
        col->whole = true;
        col->least = ALM_MIN(col->least, b.lo_i);
        col->greatest = ALM_MAX(col->greatest, b.hi_i);
    }
}

static alm_status find_columns(alm_ctx *cx, alm_parquet_load *p, alm_csv_shape *shape,
                               const char **left_out)
{
    uint32_t n = 0;
    const alm_pq_read_col *col = alm_pq_columns(p->file, &n);
    *shape = (alm_csv_shape){.header = true, .named = true};
    *left_out = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &shape->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &p->columns));
    for (uint32_t i = 0; i < n; i++) {
        if (col[i].refused != NULL) {
            ALM_TRY(name_refused(cx, &col[i], left_out));
            continue;
        }
        p->columns[p->n_cols].of = i;
        alm_arena_init(&p->columns[p->n_cols++].arena, cx->mem);
        shape->cols[shape->n_cols++] =
            (alm_csv_column){.name = col[i].name, .type = col[i].type, .found = true};
        find_range(p, i, &shape->cols[shape->n_cols - 1]);
    }
    if (shape->n_cols == 0)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1, "the file has no column that can be read%s%s",
                        *left_out != NULL ? ": " : "", *left_out != NULL ? *left_out : "");
    return ALM_OK;
}

alm_status alm_parquet_load_open(alm_ctx *cx, alm_parquet_load *p, alm_csv_shape *shape,
                                 const char **left_out)
{
    alm_str bytes = {0};
    if (p->part.file_bytes > 0)
        ALM_TRY(put_tail(cx, p));
    ALM_TRY(alm_spool_map(cx, p->spool, &bytes));
    ALM_TRY(alm_pq_open(cx, cx->arena, "upload", bytes, &p->file));
    ALM_TRY(check_group(cx, p));
    return find_columns(cx, p, shape, left_out);
}

void alm_parquet_load_units(alm_parquet_load *p, const alm_epoch *units)
{
    for (uint32_t i = 0; i < p->n_cols; i++)
        p->columns[i].unit = units[i];
}

int64_t alm_parquet_load_file_rows(const alm_parquet_load *p)
{
    return alm_pq_rows(p->file);
}

/* Only as they are: their texts are no texts of other types. */
static bool is_whole(alm_type t)
{
    return t.id == ALM_T_ARRAY || t.id == ALM_T_BINARY;
}

alm_status alm_parquet_load_begin(alm_ctx *cx, alm_parquet_load *p, const alm_load *load)
{
    uint32_t n = 0;
    const alm_pq_read_col *col = alm_pq_columns(p->file, &n);
    for (uint32_t i = 0; i < p->n_cols; i++) {
        parquet_column *c = &p->columns[i];
        const alm_type from = col[c->of].type;
        c->column = &load->table->cols[load->table_col[i]];
        c->to = c->column->type;
        if ((is_whole(from) || is_whole(c->to)) && !alm_type_eq(from, c->to))
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' of the file is %s and cannot be %s",
                            col[c->of].name, alm_type_name(from), alm_type_name(c->to));
        if (has_rows(p))
            ALM_TRY(alm_pq_cursor_new(cx, p->file, c->of, &c->cursor));
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

static alm_type_class class_of(alm_type t)
{
    return (alm_type_class)alm_type_info_of(t)->cls;
}

static bool is_number(alm_type t)
{
    const alm_type_class cls = class_of(t);
    return cls == ALM_TC_INTEGER || cls == ALM_TC_FLOATING || cls == ALM_TC_TIME ||
           cls == ALM_TC_BOOL;
}

static number whole_or_null(int64_t x, int64_t null)
{
    return (number){.kind = x == null ? NUMBER_NULL : NUMBER_WHOLE, .whole = x};
}

static number number_at(const alm_vec *v, uint32_t i)
{
    const uint32_t at = v->is_const ? 0 : i;
    double real;
    switch (v->type.id) {
    case ALM_T_BOOLEAN:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const uint8_t *)v->data)[at] != 0};
    case ALM_T_BYTE:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const int8_t *)v->data)[at]};
    case ALM_T_SHORT:
        return (number){.kind = NUMBER_WHOLE, .whole = ((const int16_t *)v->data)[at]};
    case ALM_T_INT:
        return whole_or_null(((const int32_t *)v->data)[at], ALM_INT_NULL);
    case ALM_T_FLOAT:
    case ALM_T_DOUBLE:
        real = v->type.id == ALM_T_FLOAT ? (double)((const float *)v->data)[at]
                                         : ((const double *)v->data)[at];
        return (number){.kind = isfinite(real) ? NUMBER_REAL : NUMBER_NULL, .real = real};
    default: /* LONG and times */
        return whole_or_null(((const int64_t *)v->data)[at], ALM_LONG_NULL);
    }
}

/* Ticks in a second. */
static int64_t ticks_of(alm_type t)
{
    return t.id == ALM_T_DATE           ? 1000
           : t.id == ALM_T_TIMESTAMP    ? 1000000
           : t.id == ALM_T_TIMESTAMP_NS ? 1000000000
                                        : 0;
}

static bool change_unit(int64_t x, int64_t from, int64_t to, int64_t *out)
{
    if (from == 0 || to == 0 || from == to) {
        *out = x; /* a whole number is ticks */
        return true;
    }
    if (to > from)
        return !__builtin_mul_overflow(x, to / from, out);
    *out = x / (from / to);
    return x % (from / to) == 0;
}

static bool as_whole(const number *x, int64_t *out)
{
    if (x->kind == NUMBER_WHOLE) {
        *out = x->whole;
        return true;
    }
    if (x->real != trunc(x->real) || x->real < -9223372036854775808.0 ||
        x->real >= 9223372036854775808.0)
        return false;
    *out = (int64_t)x->real;
    return true;
}

static bool put_real(const number *x, alm_type to, void *out)
{
    const double real = x->kind == NUMBER_WHOLE ? (double)x->whole : x->real;
    if (to.id == ALM_T_DOUBLE) {
        *(double *)out = real;
        return true;
    }
    *(float *)out = (float)real;
    return isfinite(*(float *)out) != 0;
}

/* False: the type has no such value; the number of null is none either. */
static bool put_whole(int64_t x, alm_type to, void *out)
{
    switch (to.id) {
    case ALM_T_BOOLEAN:
        *(uint8_t *)out = x == 1;
        return x == 0 || x == 1;
    case ALM_T_BYTE:
        *(int8_t *)out = (int8_t)x;
        return x >= INT8_MIN && x <= INT8_MAX;
    case ALM_T_SHORT:
        *(int16_t *)out = (int16_t)x;
        return x >= INT16_MIN && x <= INT16_MAX;
    case ALM_T_INT:
        *(int32_t *)out = (int32_t)x;
        return x > INT32_MIN && x <= INT32_MAX;
    default:
        *(int64_t *)out = x;
        return x != INT64_MIN;
    }
}

static bool put_number(const number *x, alm_type from, alm_type to, void *out)
{
    int64_t whole = 0;
    if (class_of(to) == ALM_TC_FLOATING)
        return put_real(x, to, out);
    return as_whole(x, &whole) && change_unit(whole, ticks_of(from), ticks_of(to), &whole) &&
           put_whole(whole, to, out);
}

static void mark_bad(parquet_column *c, uint32_t row, uint8_t *at)
{
    alm_value_set_null(c->to, at);
    c->bad[row] = 1;
    c->n_bad++;
}

/* A number of a unit that somebody chose as a time: what is finer is cut. */
static bool put_epoch(const number *x, alm_epoch unit, alm_type to, int64_t *out)
{
    const int64_t ticks = ticks_of(to), second = alm_epoch_second(unit);
    if (x->kind == NUMBER_WHOLE && ticks >= second)
        return !__builtin_mul_overflow(x->whole, ticks / second, out) && *out != ALM_LONG_NULL;
    if (x->kind == NUMBER_WHOLE) {
        *out = alm_floor_div(x->whole, second / ticks);
        return true;
    }
    const double real = floor(x->real * (double)ticks / (double)second + 1e-6);
    if (!(real > -9.2e18 && real < 9.2e18))
        return false;
    *out = (int64_t)real;
    return true;
}

static void convert_numbers(parquet_column *c, uint32_t n)
{
    const bool epoch = c->unit != ALM_EPOCH_NONE && class_of(c->raw.type) != ALM_TC_TIME;
    const uint32_t width = alm_type_width(c->to);
    uint8_t *at = c->vec.data;
    for (uint32_t i = 0; i < n; i++, at += width) {
        const number x = number_at(&c->raw, i);
        if (x.kind == NUMBER_NULL)
            alm_value_set_null(c->to, at);
        else if (epoch ? !put_epoch(&x, c->unit, c->to, (int64_t *)(void *)at)
                       : !put_number(&x, c->raw.type, c->to, at))
            mark_bad(c, i, at);
    }
}

/* 7.00 is a whole number, too. */
static alm_str without_zeros(alm_str text)
{
    const char *const point = memchr(text.ptr, '.', text.len);
    size_t n = text.len;
    while (point != NULL && n > 0 && text.ptr[n - 1] == '0')
        n--;
    return point != NULL && text.ptr + n == point + 1 ? (alm_str){text.ptr, n - 1} : text;
}

static alm_status convert_texts(parquet_column *c, uint32_t n)
{
    const uint32_t width = c->vec.width;
    const bool to_text = alm_type_is_text(c->to), to_whole = class_of(c->to) == ALM_TC_INTEGER;
    uint8_t *at = c->vec.data;
    for (uint32_t i = 0; i < n; i++, at += width) {
        char scratch[ALM_VALUE_TEXT_MAX];
        alm_str text = {0};
        if (!alm_value_text(&c->raw, i, ALM_TEXT_DIALECT, scratch, &text)) {
            alm_value_set_null(c->to, at);
            continue;
        }
        if (to_whole && class_of(c->raw.type) == ALM_TC_DECIMAL)
            text = without_zeros(text);
        if (to_text) /* the scratch goes */
            ALM_TRY(alm_arena_copy(&c->cx, &c->arena, text, &text));
        if (alm_value_scan(c->to, text, at) != ALM_SCAN_OK || alm_vec_is_null(&c->vec, i))
            mark_bad(c, i, at);
    }
    return ALM_OK;
}

/* Bytes that are called text and are not UTF-8. */
static alm_status check_utf8(parquet_column *c, uint32_t n)
{
    const alm_view *views = c->raw.data;
    alm_view *own = NULL;
    for (uint32_t i = 0; i < n && !c->raw.is_const; i++) {
        if (alm_view_is_null(&views[i]) || alm_utf8_is_valid(alm_view_str(&views[i], c->raw.heap)))
            continue;
        if (own == NULL) {
            ALM_TRY(ALM_NEWN(&c->cx, &c->arena, n, &own));
            (void)memcpy(own, views, n * sizeof(*own));
            c->vec.data = own;
        }
        mark_bad(c, i, (uint8_t *)&own[i]);
    }
    return ALM_OK;
}

static alm_status convert(parquet_column *c, uint32_t n)
{
    const bool texts = alm_type_is_text(c->raw.type) && alm_type_is_text(c->to);
    if (texts || alm_type_eq(c->raw.type, c->to)) {
        c->vec = c->raw;
        c->vec.type = c->to;
        return texts ? check_utf8(c, n) : ALM_OK;
    }
    ALM_TRY(alm_vec_new(&c->cx, &c->arena, c->to, n, &c->vec));
    if (!is_number(c->raw.type) || !is_number(c->to))
        return convert_texts(c, n);
    convert_numbers(c, n);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- batches */

typedef struct batch_task {
    alm_parquet_load *p;
    uint32_t n;
} batch_task;

static alm_status read_column(const batch_task *task, parquet_column *c)
{
    const alm_parquet_load *p = task->p;
    alm_arena_reset(&c->arena);
    c->n_bad = 0;
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, task->n, &c->bad));
    ALM_TRY(alm_pq_read(&c->cx, c->cursor, p->group, p->row, task->n, &c->arena, &c->raw));
    ALM_TRY(convert(c, task->n));
    return alm_load_check_length(&c->cx, &c->arena, c->column, &c->vec, task->n, c->bad, &c->n_bad);
}

static void column_task(void *arg, uint32_t i, uint32_t slot)
{
    const batch_task *task = arg;
    parquet_column *c = &task->p->columns[i];
    (void)slot;
    c->status = read_column(task, c);
}

static alm_status read_batch(alm_ctx *cx, alm_parquet_load *p, alm_workers *workers, uint32_t n)
{
    batch_task task = {p, n};
    for (uint32_t i = 0; i < p->n_cols; i++) {
        alm_ctx_fork(cx, &p->columns[i].cx);
        p->columns[i].cx.arena = &p->columns[i].arena;
    }
    if (workers != NULL && n > 256)
        alm_workers_run(workers, p->n_cols, column_task, &task);
    else
        for (uint32_t i = 0; i < p->n_cols; i++)
            column_task(&task, i, 0);
    for (uint32_t i = 0; i < p->n_cols; i++)
        if (p->columns[i].status != ALM_OK)
            return alm_ctx_join(cx, &p->columns[i].cx);
    return ALM_OK;
}

/* What is wrong with a row: 0 nothing; its first bad column, from 1; or its time is null. */
enum { NULL_TIME = UINT32_MAX };

static void find_bad(const alm_parquet_load *p, const alm_load *load, uint32_t n, uint32_t *why)
{
    for (uint32_t i = 0; i < p->n_cols; i++) {
        const parquet_column *c = &p->columns[i];
        for (uint32_t row = 0; c->n_bad > 0 && row < n; row++)
            if (c->bad[row] && why[row] == 0)
                why[row] = i + 1;
        if ((int32_t)load->table_col[i] != load->table->ts_col)
            continue;
        for (uint32_t row = 0; row < n; row++)
            if (alm_vec_is_null(&c->vec, row) &&
                (why[row] == 0 || load->rule == ALM_BAD_SKIP_COLUMN))
                why[row] = NULL_TIME;
    }
}

/* A value as a message can show it. */
static alm_status value_text(alm_ctx *cx, const alm_vec *v, uint32_t row, alm_str *out)
{
    enum { SHOWN_MAX = 100 };
    char scratch[ALM_VALUE_TEXT_MAX];
    alm_str text = {0};
    *out = (alm_str){0};
    if (v->type.id == ALM_T_ARRAY) {
        bool null = false;
        alm_buf buf;
        alm_buf_init(&buf, cx->mem);
        alm_status st = alm_value_format(cx, v, row, ALM_TEXT_DIALECT, &buf, &null);
        if (st == ALM_OK && !null)
            st = alm_arena_copy(cx, cx->arena,
                                (alm_str){buf.ptr, ALM_MIN(buf.len, (size_t)SHOWN_MAX)}, out);
        alm_buf_deinit(&buf);
        return st;
    }
    if (!alm_value_text(v, row, ALM_TEXT_DIALECT, scratch, &text))
        return ALM_OK;
    if (v->type.id == ALM_T_BINARY) {
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

static alm_status bad_value(alm_ctx *cx, const alm_parquet_load *p, const alm_load *load,
                            uint32_t row, uint32_t i)
{
    const alm_column *to = &load->table->cols[load->table_col[i]];
    alm_ctx own = *cx;
    alm_str text = {0};
    own.arena = &p->columns[i].arena;
    if (value_text(&own, &p->columns[i].raw, row, &text) != ALM_OK)
        text = (alm_str){0};
    size_t chars = 0;
    const alm_vec *raw = &p->columns[i].raw;
    if (alm_type_is_text(raw->type) && alm_text_exceeds(to, alm_vec_text(raw, row), &chars))
        return alm_fail(
            cx, ALM_E_LENGTH, -1,
            "row %lld, column %s: value too long for type character varying(%u) [length=%zu]",
            (long long)(p->before + p->row + row + 1), to->name, to->length, chars);
    return alm_fail(cx, ALM_E_VALUE, -1, "row %lld, column %s: \"%.*s\" is not a value of type %s",
                    (long long)(p->before + p->row + row + 1), to->name, (int)text.len,
                    text.len > 0 ? text.ptr : "", alm_type_name(to->type));
}

static alm_status fail_row(alm_ctx *cx, const alm_parquet_load *p, const alm_load *load,
                           uint32_t row, uint32_t why)
{
    if (why != NULL_TIME)
        return bad_value(cx, p, load, row, why - 1);
    for (uint32_t i = 0; i < p->n_cols; i++)
        if ((int32_t)load->table_col[i] == load->table->ts_col && p->columns[i].bad[row])
            return bad_value(cx, p, load, row, i);
    return alm_fail(cx, ALM_E_VALUE, -1, "row %lld: null in the designated timestamp \"%s\"",
                    (long long)(p->before + p->row + row + 1),
                    load->table->cols[load->table->ts_col].name);
}

static alm_status note_fault(alm_ctx *cx, const alm_parquet_load *p, alm_load *load, uint32_t row,
                             uint32_t why)
{
    const int64_t n = load->n_faulty++;
    alm_ctx probe;
    if (load->faults == NULL || n >= ALM_LOAD_FAULTS_MAX)
        return ALM_OK;
    alm_ctx_fork(cx, &probe);
    (void)fail_row(&probe, p, load, row, why);
    return alm_arena_printf(cx, load->kept, &load->faults[n], "%s", probe.err.msg);
}

/* Which rows go into the table; idx gets their numbers. */
static alm_status choose_rows(alm_ctx *cx, alm_parquet_load *p, alm_load *load, uint32_t n,
                              uint32_t *idx, uint32_t *taken)
{
    uint32_t *why = NULL;
    ALM_TRY(ALM_NEWN(cx, &p->batch, n, &why));
    find_bad(p, load, n, why);
    *taken = 0;
    for (uint32_t row = 0; row < n; row++) {
        if (why[row] == 0 || (why[row] != NULL_TIME && load->rule == ALM_BAD_SKIP_COLUMN))
            idx[(*taken)++] = row;
        else
            load->rejected++;
        if (why[row] == 0)
            continue;
        if (load->rule == ALM_BAD_ABORT)
            return fail_row(cx, p, load, row, why[row]);
        ALM_TRY(note_fault(cx, p, load, row, why[row]));
    }
    return ALM_OK;
}

static alm_status take_batch(alm_ctx *cx, alm_parquet_load *p, alm_load *load, uint32_t n)
{
    const alm_table *table = load->table;
    alm_vec *vecs = NULL;
    uint32_t *idx = NULL, taken = 0;
    alm_arena_reset(&p->batch);
    ALM_TRY(ALM_NEWN(cx, &p->batch, table->n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &p->batch, n, &idx));
    ALM_TRY(read_batch(cx, p, load->workers, n));
    ALM_TRY(choose_rows(cx, p, load, n, idx, &taken));
    for (uint32_t i = 0; i < p->n_cols; i++) {
        vecs[load->table_col[i]] = p->columns[i].vec;
        load->errors[i] += p->columns[i].n_bad;
    }
    load->handled += n;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (vecs[i].data == NULL)
            ALM_TRY(alm_vec_null(cx, &p->batch, table->cols[i].type, &vecs[i]));
        else if (taken < n)
            ALM_TRY(alm_vec_gather(cx, &p->batch, &vecs[i], idx, taken, &vecs[i]));
    }
    const alm_batch batch = {.rows = taken, .n_cols = table->n_cols, .cols = vecs};
    return taken > 0 ? load->sink(cx, load->arg, &batch) : ALM_OK;
}

/* Goes behind the groups that are done; false: there is none left. */
static bool find_group(alm_parquet_load *p)
{
    while (p->group < alm_pq_groups(p->file) && p->row >= alm_pq_group_rows(p->file, p->group)) {
        p->before += p->row;
        p->row = 0;
        p->group++;
    }
    return p->group < alm_pq_groups(p->file) && has_rows(p);
}

alm_status alm_parquet_load_step(alm_ctx *cx, alm_parquet_load *p, alm_load *load, uint32_t rows,
                                 bool *done)
{
    int64_t left = rows > 0 ? rows : (int64_t)STEP_BATCHES * ALM_BATCH_ROWS;
    while (left > 0 && find_group(p)) {
        const int64_t rest = alm_pq_group_rows(p->file, p->group) - p->row;
        const int64_t n = ALM_MIN(ALM_MIN(rest, left), (int64_t)ALM_BATCH_ROWS);
        ALM_TRY(alm_check(cx));
        if (atomic_load(&p->db->stopping))
            return alm_fail(cx, ALM_E_CANCEL, -1, "the server stops");
        ALM_TRY(take_batch(cx, p, load, (uint32_t)n));
        p->row += n;
        left -= n;
    }
    *done = !find_group(p);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- a look */

alm_status alm_parquet_load_texts(alm_ctx *cx, alm_parquet_load *p, uint32_t *n, alm_str **out)
{
    const uint32_t wanted = *n;
    *n = 0;
    p->group = 0;
    p->row = p->before = 0;
    if (!find_group(p))
        return ALM_OK;
    const uint32_t rows = (uint32_t)ALM_MIN(alm_pq_group_rows(p->file, p->group), (int64_t)wanted);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)rows * p->n_cols + 1, out));
    ALM_TRY(read_batch(cx, p, NULL, rows));
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t i = 0; i < p->n_cols; i++)
            ALM_TRY(value_text(cx, &p->columns[i].raw, row, &(*out)[(size_t)row * p->n_cols + i]));
    *n = rows;
    return ALM_OK;
}
