/*
 * lines.c - collects rows of the line protocol by table and column, makes what is missing, commits.
 *
 * A unit sees the tables as of its begin. Rows are kept here, in the types of the columns, until the commit:
 * then tables and columns that are missing are made (each a durable change of its own, which stays), and
 * all rows go into one transaction. Should a table have changed meanwhile, its columns are looked up again.
 *
 * Cost        A line is matched against the fields of the line before it: where the names come in the same
 *             order, finding a column is one comparison of bytes.
 */
#include "session/transfer/lines.h"
#include "session/statement/statement.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "session/access/standing.h"
#include "session/core/session_state.h"
#include "session/transfer/lines_value.h"
#include "session/transfer/transfer.h"
#include "time/timestamp.h"

enum { COMMIT_TRIES = 8, MAP_MIN = 16, SYMBOL_CAPACITY = 256, NAME_MAX_BYTES = 127 };

typedef struct line_col {
    alm_str name;
    alm_type type;
    bool is_new;     /* no column of the table yet */
    uint32_t length; /* VARCHAR(n): characters at most; 0: any number */
    uint32_t width;
    uint32_t filled; /* rows that have a value; the others are null */
    uint32_t place;  /* in the table when it was looked at first; a table may have changed since */
    alm_buf data;
} line_col;

typedef struct line_table {
    struct line_table *next;
    alm_str name;
    const alm_table *table; /* of the snapshot; NULL: it is made */
    line_col *cols;
    uint32_t n_cols, cap_cols, n_new; /* n_new: of them that the table does not have */
    int32_t ts_col;                   /* in cols */
    uint32_t rows;
    uint32_t *order; /* columns of the fields of the line before */
    uint32_t n_order, cap_order;
    uint32_t *map; /* by hash of the name, column + 1; 0: free */
    uint32_t map_size;
} line_table;

struct alm_lines {
    alm_cursor c; /* context, arena and account; never executed */
    alm_lines_options options;
    alm_ilp_reader reader;
    line_table *tables, *recent;
    line_table **map; /* by hash of the name */
    uint32_t map_size, n_tables;
    int64_t line, rows, n_errors;
    /* The first n_errors; written before they are read, so that requests of one line do not clear kilobytes. */
    alm_line_error errors[ALM_LINES_ERRORS_MAX];
    char room[ALM_LINE_WHY_MAX];
};

/* ------------------------------------------------------------------------ errors */

/* Notes a bad line; what is wrong with it is not an error of the unit. */
ALM_PRINTF(3, 4)
static void bad_line(alm_lines *lines, alm_status code, const char *format, ...)
{
    const int64_t n = lines->n_errors++;
    if (n >= ALM_LINES_ERRORS_MAX)
        return;
    va_list args;
    va_start(args, format);
    lines->errors[n] = (alm_line_error){.line = lines->line, .code = code};
    (void)vsnprintf(lines->errors[n].message, sizeof lines->errors[n].message, format, args);
    va_end(args);
}

static int lines_shown(alm_str text)
{
    return (int)ALM_MIN(text.len, (size_t)100);
}

/* ------------------------------------------------------------------------- names */

static bool column_name_is_good(alm_str name)
{
    bool good = name.len > 0 && name.len <= NAME_MAX_BYTES && !alm_utf8_has_mark(name);
    for (size_t i = 0; good && i < name.len; i++) {
        const char byte = name.ptr[i];
        good = (unsigned char)byte >= 0x20 && byte != 0x7f &&
               strchr("?.,'\"\\/:)(+-*%~", byte) == NULL;
    }
    return good;
}

alm_status alm_lines_check_conf(alm_ctx *cx, const struct alm_conf *conf)
{
    if (column_name_is_good(alm_str_of(conf->line_timestamp_default_column_name)))
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, -1,
                    "line.timestamp.default.column.name=%s: no column can have that name",
                    conf->line_timestamp_default_column_name);
}

/* ----------------------------------------------------------------------- columns */

static uint32_t lines_slot_of(const line_table *table, alm_str name)
{
    uint32_t place = (uint32_t)alm_hash_str_nocase(name) & (table->map_size - 1);
    while (table->map[place] != 0 && !alm_str_ieq(table->cols[table->map[place] - 1].name, name))
        place = (place + 1) & (table->map_size - 1);
    return place;
}

static alm_status grow_map(alm_lines *lines, line_table *table)
{
    table->map_size = ALM_MAX((uint32_t)MAP_MIN, table->map_size * 2);
    ALM_TRY(ALM_NEWN(&lines->c.cx, &lines->c.arena, table->map_size, &table->map));
    for (uint32_t i = 0; i < table->n_cols; i++)
        table->map[lines_slot_of(table, table->cols[i].name)] = i + 1;
    return ALM_OK;
}

static alm_status lines_add_col(alm_lines *lines, line_table *table, alm_str name, alm_type type,
                                bool is_new, uint32_t *out)
{
    alm_ctx *cx = &lines->c.cx;
    if (table->n_cols == table->cap_cols) {
        const uint32_t cap = ALM_MAX(16U, table->cap_cols * 2);
        line_col *bigger = NULL;
        ALM_TRY(ALM_NEWN(cx, &lines->c.arena, cap, &bigger));
        if (table->n_cols > 0)
            memcpy(bigger, table->cols, table->n_cols * sizeof *bigger);
        table->cols = bigger;
        table->cap_cols = cap;
    }
    if (2 * (table->n_cols + 1) > table->map_size)
        ALM_TRY(grow_map(lines, table));
    line_col *col = &table->cols[table->n_cols];
    *col = (line_col){.type = type,
                      .is_new = is_new,
                      .width = type.id == ALM_T_SYMBOL ? sizeof(alm_view) : alm_type_width(type)};
    ALM_TRY(alm_arena_copy(cx, &lines->c.arena, name, &col->name));
    alm_buf_init(&col->data, &lines->c.mem);
    *out = table->n_cols++;
    table->n_new += is_new;
    table->map[lines_slot_of(table, col->name)] = *out + 1;
    return ALM_OK;
}

/* Room for row table->rows of the column, nulls before it. */
static alm_status open_cell(alm_lines *lines, line_table *table, line_col *col, void **ptr)
{
    const size_t rows = (size_t)table->rows + 1;
    if (rows * col->width > col->data.len) {
        const size_t want = ALM_MAX(rows, 2 * col->data.len / col->width);
        ALM_TRY(alm_buf_reserve(&lines->c.cx, &col->data, want * col->width - col->data.len));
        col->data.len = want * col->width;
    }
    for (; col->filled < table->rows; col->filled++)
        alm_value_set_null(col->type, col->data.ptr + (size_t)col->filled * col->width);
    *ptr = col->data.ptr + (size_t)table->rows * col->width;
    return ALM_OK;
}

static alm_status add_known(alm_lines *lines, line_table *table, const alm_column *known,
                            uint32_t *out)
{
    ALM_TRY(lines_add_col(lines, table, alm_str_of(known->name), known->type, false, out));
    table->cols[*out].length = known->length;
    table->cols[*out].place = (uint32_t)(known - table->table->cols);
    return ALM_OK;
}

/* VARCHAR(n): *why says so where a text is longer. */
static void lines_check_length(alm_lines *lines, const line_col *col, const alm_view *text,
                               const char **why)
{
    const alm_column column = {.length = col->length};
    size_t chars = 0;
    if (alm_view_is_null(text) || !alm_text_exceeds(&column, alm_view_str(text, NULL), &chars))
        return;
    (void)snprintf(lines->room, sizeof lines->room,
                   "value too long for type character varying(%u) [length=%zu]", col->length,
                   chars);
    *why = lines->room;
}

/* The column of a field, made known or made anew; *out UINT32_MAX: the line is bad. */
static alm_status lines_find_col(alm_lines *lines, line_table *table, const alm_ilp_field *field,
                                 uint32_t *out)
{
    const struct alm_conf *conf = lines->c.session->db->conf;
    *out = UINT32_MAX;
    if (table->map_size > 0) {
        const uint32_t place = table->map[lines_slot_of(table, field->name)];
        if (place != 0) {
            *out = place - 1;
            return ALM_OK;
        }
    }
    const int32_t there = table->table != NULL ? alm_table_col(table->table, field->name) : -1;
    if (there >= 0)
        return add_known(lines, table, &table->table->cols[there], out);
    const alm_type type = alm_line_type(conf, field);
    if (!column_name_is_good(field->name))
        bad_line(lines, ALM_E_NAME, "table: %.*s; invalid column name: %.*s",
                 lines_shown(table->name), table->name.ptr, lines_shown(field->name),
                 field->name.ptr);
    else if (type.id == ALM_T_NONE)
        bad_line(lines, ALM_E_TYPE,
                 "table: %.*s, column: %.*s; decimal columns must be created manually",
                 lines_shown(table->name), table->name.ptr, lines_shown(field->name),
                 field->name.ptr);
    else if (table->table != NULL && !conf->line_auto_create_new_columns)
        bad_line(lines, ALM_E_NAME,
                 "table: %.*s, column: %.*s does not exist, creating new columns is disabled",
                 lines_shown(table->name), table->name.ptr, lines_shown(field->name),
                 field->name.ptr);
    else if ((table->table != NULL ? table->table->n_cols : 0) + table->n_new >= ALM_TABLE_COLS_MAX)
        bad_line(lines, ALM_E_LIMIT, "table: %.*s; a table may have %d columns, no more for: %.*s",
                 lines_shown(table->name), table->name.ptr, ALM_TABLE_COLS_MAX,
                 lines_shown(field->name), field->name.ptr);
    else
        return lines_add_col(lines, table, field->name, type, true, out);
    return ALM_OK;
}

/* ------------------------------------------------------------------------ tables */

static alm_status grow_tables(alm_lines *lines)
{
    lines->map_size = ALM_MAX((uint32_t)MAP_MIN, lines->map_size * 2);
    ALM_TRY(ALM_NEWN(&lines->c.cx, &lines->c.arena, lines->map_size, &lines->map));
    for (line_table *table = lines->tables; table != NULL; table = table->next) {
        uint32_t place = (uint32_t)alm_hash_str_nocase(table->name) & (lines->map_size - 1);
        while (lines->map[place] != NULL)
            place = (place + 1) & (lines->map_size - 1);
        lines->map[place] = table;
    }
    return ALM_OK;
}

/* The designated timestamp comes first of all columns: every row has it. */
static alm_status lines_open_table(alm_lines *lines, line_table *table, const alm_ilp_line *line)
{
    uint32_t col = 0;
    if (table->table == NULL) {
        const struct alm_conf *conf = lines->c.session->db->conf;
        ALM_TRY(lines_add_col(lines, table, alm_str_of(conf->line_timestamp_default_column_name),
                              alm_line_time_type(conf, line->time_unit), true, &col));
    } else if (table->table->ts_col >= 0) {
        const alm_column *ts = &table->table->cols[table->table->ts_col];
        ALM_TRY(lines_add_col(lines, table, alm_str_of(ts->name), ts->type, false, &col));
    } else {
        table->ts_col = -1;
    }
    return ALM_OK;
}

/* Why the table takes no lines; NULL: it does. */
static const char *table_refusal(const alm_lines *lines, alm_str name, const alm_table *table)
{
    const struct alm_conf *conf = lines->c.session->db->conf;
    if (table != NULL)
        return table->kind == ALM_TABLE_MATVIEW ? "cannot modify materialized view"
               : table->kind == ALM_TABLE_VIEW  ? "cannot modify view"
                                                : NULL;
    if (!alm_table_name_ok(name))
        return "invalid table name";
    if (alm_is_reserved_relation(alm_session_sources(), name))
        return "the name is reserved: the server has a relation of that name";
    if (!conf->line_auto_create_new_tables || !conf->line_auto_create_new_columns)
        return "table does not exist, creating new tables is disabled";
    return NULL;
}

/* *out NULL: the line is bad. */
static alm_status lines_find_table(alm_lines *lines, const alm_ilp_line *line, line_table **out)
{
    const alm_str name = line->table;
    *out = lines->recent;
    if (lines->recent != NULL && alm_str_eq(lines->recent->name, name))
        return ALM_OK;
    if (2 * (lines->n_tables + 1) > lines->map_size)
        ALM_TRY(grow_tables(lines));
    uint32_t place = (uint32_t)alm_hash_str_nocase(name) & (lines->map_size - 1);
    while (lines->map[place] != NULL && !alm_str_ieq(lines->map[place]->name, name))
        place = (place + 1) & (lines->map_size - 1);
    *out = lines->recent = lines->map[place];
    if (*out != NULL)
        return ALM_OK;
    const alm_access_ask into_or_make = {
        .permission = "INSERT", .instead = "CREATE TABLE", .pos = -1};
    ALM_TRY(
        alm_access_gate(&lines->c.cx, &into_or_make, name, NULL, 0)); /* errors tell of columns */
    const alm_table *table = alm_snapshot_find(lines->c.snapshot, name);
    const char *why = table_refusal(lines, name, table);
    if (why != NULL) {
        bad_line(lines, ALM_E_TABLE, "table: %.*s; %s", lines_shown(name), name.ptr, why);
        return ALM_OK;
    }
    if (table != NULL) /* before a row of it is kept */
        ALM_TRY(alm_access_may(&lines->c.cx, "INSERT", table->name, -1));
    else
        ALM_TRY(alm_access_may(&lines->c.cx, "CREATE TABLE", NULL, -1));
    line_table *t = NULL;
    ALM_TRY(ALM_NEW(&lines->c.cx, &lines->c.arena, &t));
    ALM_TRY(alm_arena_copy(&lines->c.cx, &lines->c.arena, name, &t->name));
    t->table = table;
    if (table != NULL)
        ALM_TRY(lines_open_table(lines, t, line));
    t->next = lines->tables;
    lines->tables = lines->map[place] = *out = lines->recent = t;
    lines->n_tables++;
    return ALM_OK;
}

/* --------------------------------------------------------------------------- rows */

static alm_status guess_col(alm_lines *lines, line_table *table, uint32_t i,
                            const alm_ilp_field *field, uint32_t *col)
{
    if (i < table->n_order) {
        *col = table->order[i];
        if (alm_str_eq(table->cols[*col].name, field->name))
            return ALM_OK;
    }
    ALM_TRY(lines_find_col(lines, table, field, col));
    if (*col == UINT32_MAX)
        return ALM_OK;
    if (i == table->cap_order) {
        uint32_t *bigger = NULL;
        table->cap_order = ALM_MAX(16U, table->cap_order * 2);
        ALM_TRY(ALM_NEWN(&lines->c.cx, &lines->c.arena, table->cap_order, &bigger));
        if (table->n_order > 0)
            memcpy(bigger, table->order, table->n_order * sizeof *bigger);
        table->order = bigger;
    }
    table->order[i] = *col;
    table->n_order = ALM_MAX(table->n_order, i + 1);
    return ALM_OK;
}

/* Of a column that is named twice in a line, the first value counts. *good false: the line is bad. */
static alm_status lines_put_field(alm_lines *lines, line_table *table, uint32_t i,
                                  const alm_ilp_field *field, bool *good)
{
    uint32_t place = 0;
    void *cell = NULL;
    const char *why = NULL;
    const int64_t errors = lines->n_errors;
    ALM_TRY(guess_col(lines, table, i, field, &place));
    *good = lines->n_errors == errors;
    if (!*good || table->cols[place].filled > table->rows)
        return ALM_OK;
    line_col *col = &table->cols[place];
    ALM_TRY(open_cell(lines, table, col, &cell));
    ALM_TRY(
        alm_line_store(&lines->c.cx, &lines->c.arena, field, col->type, cell, lines->room, &why));
    if (why == NULL && col->length > 0)
        lines_check_length(lines, col, cell, &why);
    if (why == NULL) {
        col->filled = table->rows + 1;
        return ALM_OK;
    }
    bad_line(lines, ALM_E_VALUE, "table: %.*s, column: %.*s; %s", lines_shown(table->name),
             table->name.ptr, lines_shown(field->name), field->name.ptr, why);
    *good = false;
    return ALM_OK;
}

/* A field of that name wins over the time at the end of the line; without either it is now. */
static alm_status put_stamp(alm_lines *lines, line_table *table, const alm_ilp_line *line,
                            bool *good)
{
    if (table->ts_col < 0)
        return ALM_OK;
    line_col *col = &table->cols[table->ts_col];
    void *cell = NULL;
    int64_t ticks = 0;
    if (col->filled <= table->rows) {
        const bool given = line->has_time && line->time != ALM_LONG_NULL;
        const alm_ilp_unit unit = !given                               ? ALM_ILP_NS
                                  : line->time_unit != ALM_ILP_NO_UNIT ? line->time_unit
                                                                       : lines->options.unit;
        const int64_t time =
            given ? line->time : lines->c.session->db->io->wall_ns(lines->c.session->db->io);
        *good = alm_line_time(time, unit, col->type, &ticks);
        if (!*good) {
            bad_line(lines, ALM_E_TIME, "long overflow, timestamp: %lld", (long long)time);
            return ALM_OK;
        }
        ALM_TRY(open_cell(lines, table, col, &cell));
        memcpy(cell, &ticks, sizeof ticks);
        col->filled = table->rows + 1;
    } else {
        memcpy(&ticks, col->data.ptr + (size_t)table->rows * col->width, sizeof ticks);
    }
    const char *why = ticks < 0 ? "designated timestamp before 1970-01-01 is not allowed"
                                : alm_designated_fault(ticks, col->type.id == ALM_T_TIMESTAMP_NS);
    *good = why == NULL;
    if (!*good)
        bad_line(lines, ALM_E_TIME, "%s", why);
    return ALM_OK;
}

/* The row that was begun goes, and the columns from `n_cols` that only it named: the next line may have
 * another type for them. A table that is not there yet and has no row begins anew. */
static void take_back(line_table *table, uint32_t n_cols)
{
    const uint32_t keep = table->table == NULL && table->rows == 0 ? 0 : n_cols;
    for (uint32_t i = 0; i < table->n_cols; i++)
        table->cols[i].filled = ALM_MIN(table->cols[i].filled, table->rows);
    if (keep == table->n_cols)
        return;
    for (uint32_t i = keep; i < table->n_cols; i++) {
        table->n_new -= table->cols[i].is_new;
        alm_buf_deinit(&table->cols[i].data);
    }
    table->n_cols = keep;
    table->n_order = 0;
    memset(table->map, 0, table->map_size * sizeof *table->map);
    for (uint32_t i = 0; i < keep; i++)
        table->map[lines_slot_of(table, table->cols[i].name)] = i + 1;
}

static alm_status transfer_put_line(alm_lines *lines, const alm_ilp_line *line)
{
    line_table *table = NULL;
    bool good = true;
    ALM_TRY(lines_find_table(lines, line, &table));
    if (table == NULL)
        return ALM_OK;
    if (table->table == NULL && table->n_cols == 0)
        ALM_TRY(lines_open_table(lines, table, line));
    const uint32_t n_cols = table->n_cols;
    for (uint32_t i = 0; good && i < line->n_fields; i++)
        ALM_TRY(lines_put_field(lines, table, i, &line->fields[i], &good));
    if (good)
        ALM_TRY(put_stamp(lines, table, line, &good));
    if (good) {
        table->rows++;
        lines->rows++;
        return ALM_OK;
    }
    take_back(table, n_cols);
    return ALM_OK;
}

static alm_status lines_feed(alm_lines *l, const char *bytes, size_t n, bool last, size_t *used)
{
    enum { CHECK_LINES = 1024 };
    alm_ilp_line line;
    alm_ilp_result result;
    for (uint32_t lines = 0; *used < n; lines++) {
        size_t taken = 0;
        if (lines % CHECK_LINES == 0)
            ALM_TRY(alm_check(&l->c.cx));
        const bool skipping = l->reader.skipping;
        l->line += !skipping;
        ALM_TRY(alm_ilp_next(&l->reader, bytes + *used, n - *used, last, &taken, &line, &result));
        if (result == ALM_ILP_MORE) {
            l->line--;
            return ALM_OK;
        }
        if (result == ALM_ILP_BAD)
            bad_line(l, ALM_E_SYNTAX, "%s", l->reader.reason);
        else if (result == ALM_ILP_LINE)
            ALM_TRY(transfer_put_line(l, &line));
        *used += taken;
        if (l->options.stop_at_error && l->n_errors > 0)
            return ALM_OK;
    }
    return ALM_OK;
}

alm_status alm_lines_feed(alm_lines *lines, const char *bytes, size_t n, bool last, size_t *used)
{
    *used = 0;
    const alm_status status = lines_feed(lines, bytes, n, last, used);
    return status == ALM_OK ? ALM_OK : alm_session_failed(lines->c.session, &lines->c.cx);
}

int64_t alm_lines_rows(const alm_lines *lines)
{
    return lines->rows;
}

int64_t alm_lines_error_count(const alm_lines *lines)
{
    return lines->n_errors;
}

bool alm_lines_within_bad(const alm_lines *lines)
{
    return lines->reader.skipping;
}

const alm_line_error *alm_lines_error_at(const alm_lines *lines, size_t i)
{
    return i < ALM_LINES_ERRORS_MAX && (int64_t)i < lines->n_errors ? &lines->errors[i] : NULL;
}

/* --------------------------------------------------------------------- the commit */

static alm_column lines_column_of(const line_col *col, const char *name)
{
    const bool symbol = col->type.id == ALM_T_SYMBOL;
    return (alm_column){.name = name,
                        .type = col->type,
                        .symbol_capacity = symbol ? SYMBOL_CAPACITY : 0,
                        .symbol_cached = symbol};
}

static alm_partition_by lines_partition_of(const char *name)
{
    static const struct {
        const char *name;
        alm_partition_by by;
    } units[] = {{"HOUR", ALM_PART_HOUR},
                 {"DAY", ALM_PART_DAY},
                 {"WEEK", ALM_PART_WEEK},
                 {"MONTH", ALM_PART_MONTH},
                 {"YEAR", ALM_PART_YEAR}};
    for (size_t i = 0; i < ALM_COUNT(units); i++)
        if (alm_str_ieq(alm_str_of(name), alm_str_of(units[i].name)))
            return units[i].by;
    return ALM_PART_DAY;
}

/* What a unit makes: tables and columns that are missing. */
typedef struct making {
    alm_table_edit *edits;
    const line_col **cols; /* NULL: the edit makes a table */
    uint32_t n;
} making;

/* Columns in the order of the first line, the designated timestamp at the end. */
static alm_status make_table(alm_lines *lines, const line_table *table, making *self)
{
    alm_ctx *cx = &lines->c.cx;
    alm_column *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &lines->c.arena, table->n_cols, &cols));
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        const line_col *col = &table->cols[(i + 1) % table->n_cols];
        const char *name = NULL;
        if (col->filled == 0) /* only bad lines name it */
            continue;
        ALM_TRY(alm_arena_zstr(cx, &lines->c.arena, col->name, &name));
        cols[count++] = lines_column_of(col, name);
    }
    const alm_stmt nobody = {.end = -1}; /* no OWNED BY here */
    alm_acl_edit owner;
    alm_table_spec *spec = NULL;
    const char *name = NULL;
    const alm_records_change *records = NULL;
    ALM_TRY(ALM_NEW(cx, &lines->c.arena, &spec));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, table->name, &name));
    ALM_TRY(alm_own_table(&lines->c, &nobody, name, &owner));
    ALM_TRY(alm_acl_with(cx, &owner, true, &records)); /* whatever others change meanwhile */
    *spec = (alm_table_spec){.name = table->name,
                             .records = records,
                             .cols = cols,
                             .n_cols = count,
                             .ts_col = (int32_t)count - 1,
                             .partition = lines_partition_of(cx->conf->line_default_partition_by),
                             .wal = true};
    self->edits[self->n++] = (alm_table_edit){.create = spec, .table = table->name};
    return ALM_OK;
}

static alm_status make_column(alm_lines *lines, const line_table *table, const line_col *col,
                              making *self)
{
    alm_ctx *cx = &lines->c.cx;
    const char *name = NULL;
    alm_column *made = NULL;
    ALM_TRY(ALM_NEW(cx, &lines->c.arena, &made));
    ALM_TRY(alm_arena_zstr(cx, &lines->c.arena, col->name, &name));
    *made = lines_column_of(col, name);
    self->cols[self->n] = col;
    self->edits[self->n++] = (alm_table_edit){.table = table->name, .col = made};
    return ALM_OK;
}

/* Returns the index of the column in `table`, or -1 if the table has no such column. `table` may be a later version than the one in
 * which col->place was found, so the name at that index is compared before the index is used. */
static int32_t lines_place_of(const alm_table *table, const line_col *col)
{
    if (col->place < table->n_cols &&
        alm_str_ieq(alm_str_of(table->cols[col->place].name), col->name))
        return (int32_t)col->place;
    return alm_table_col(table, col->name);
}

static bool is_missing(const alm_table *table, const line_col *col)
{
    return col->filled > 0 && lines_place_of(table, col) < 0;
}

/* May all of the unit be written? Asked before anything is made: what is made stays. */
static alm_status may_write(alm_lines *lines)
{
    const alm_access_ask into_or_make = {
        .permission = "INSERT", .instead = "CREATE TABLE", .pos = -1};
    alm_ctx *cx = &lines->c.cx;
    for (const line_table *t = lines->tables; t != NULL; t = t->next) {
        uint32_t missing = 0;
        if (t->rows == 0)
            continue;
        ALM_TRY(alm_access_gate(cx, &into_or_make, t->name, NULL, 0));
        const alm_table *table = alm_snapshot_find(lines->c.snapshot, t->name);
        if (table == NULL) {
            ALM_TRY(alm_access_may(cx, "CREATE TABLE", NULL, -1));
            continue;
        }
        ALM_TRY(alm_access_may(cx, "INSERT", table->name, -1));
        for (uint32_t i = 0; i < t->n_cols; i++)
            missing += is_missing(table, &t->cols[i]);
        if (missing > 0)
            ALM_TRY(alm_access_may(cx, "ADD COLUMN", table->name, -1));
        if (table->n_cols + missing > ALM_TABLE_COLS_MAX)
            return alm_fail(cx, ALM_E_LIMIT, -1, "table: %.*s; a table may have %d columns, not %u",
                            lines_shown(t->name), t->name.ptr, ALM_TABLE_COLS_MAX,
                            table->n_cols + missing);
    }
    return ALM_OK;
}

static uint32_t count_missing(const alm_lines *lines)
{
    uint32_t count = 0;
    for (const line_table *t = lines->tables; t != NULL; t = t->next) {
        const alm_table *table = t->rows > 0 ? alm_snapshot_find(lines->c.snapshot, t->name) : NULL;
        if (t->rows > 0 && table == NULL)
            count++;
        for (uint32_t i = 0; table != NULL && i < t->n_cols; i++)
            count += is_missing(table, &t->cols[i]);
    }
    return count;
}

static alm_status list_missing(alm_lines *lines, making *self)
{
    for (line_table *t = lines->tables; t != NULL; t = t->next) {
        const alm_table *table = t->rows > 0 ? alm_snapshot_find(lines->c.snapshot, t->name) : NULL;
        if (t->rows > 0 && table == NULL)
            ALM_TRY(make_table(lines, t, self));
        for (uint32_t i = 0; table != NULL && i < t->n_cols; i++)
            if (is_missing(table, &t->cols[i]))
                ALM_TRY(make_column(lines, t, &t->cols[i], self));
    }
    return ALM_OK;
}

/* All are told to the audit that were made, also beside one that failed. Where somebody else was faster, columns are
 * compared later. */
static alm_status look_at_made(alm_lines *lines, const making *self)
{
    alm_ctx *cx = &lines->c.cx;
    for (uint32_t i = 0; i < self->n; i++) {
        const alm_table_edit *edit = &self->edits[i];
        const bool table = self->cols[i] == NULL;
        if (edit->err.code == ALM_OK)
            alm_audit_made(lines->c.session, table ? "CREATE TABLE" : "ALTER TABLE", edit->table,
                           table ? (alm_str){0} : self->cols[i]->name);
        else if (edit->err.code != (table ? ALM_E_EXISTS : ALM_E_DUPLICATE) &&
                 cx->err.code == ALM_OK)
            cx->err = edit->err;
    }
    return cx->err.code;
}

/* Makes what is not there in the snapshot, with one sync; *made: look again. */
static alm_status make_missing(alm_lines *lines, bool *made)
{
    alm_ctx *cx = &lines->c.cx;
    making self = {0};
    ALM_TRY(may_write(lines));
    const uint32_t n = count_missing(lines);
    *made = n > 0;
    if (n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, &lines->c.arena, n, &self.edits));
    ALM_TRY(ALM_NEWN(cx, &lines->c.arena, n, &self.cols));
    memset((void *)self.cols, 0, n * sizeof *self.cols);
    ALM_TRY(list_missing(lines, &self));
    ALM_ASSERT(self.n == n);
    ALM_TRY(alm_tables_edit(cx, lines->c.session->db->storage, self.edits, n));
    return look_at_made(lines, &self);
}

static alm_status lines_look(alm_lines *lines)
{
    if (lines->c.snapshot != NULL)
        alm_snapshot_release(lines->c.snapshot);
    lines->c.snapshot = NULL;
    alm_cursor_ages(
        &lines->c); /* a unit is as long as its client sends; this is longer than any needs */
    return alm_snapshot_acquire(&lines->c.cx, lines->c.session->db->storage, &lines->c.snapshot);
}

/* Where the columns lie in the table as it is now. */
static alm_status lines_match(alm_lines *lines, const line_table *t, const alm_table *table,
                              int32_t *from)
{
    for (uint32_t i = 0; i < table->n_cols; i++)
        from[i] = -1;
    for (uint32_t i = 0; i < t->n_cols; i++) {
        const line_col *col = &t->cols[i];
        const int32_t place = lines_place_of(table, col);
        if (place < 0)
            continue; /* it has no value in any row */
        if (!alm_type_eq(table->cols[place].type, col->type))
            return alm_fail(&lines->c.cx, ALM_E_CONFLICT, -1,
                            "table: %.*s, column: %.*s; its type changed to %s meanwhile",
                            lines_shown(t->name), t->name.ptr, lines_shown(col->name),
                            col->name.ptr, alm_type_name(table->cols[place].type));
        from[place] = (int32_t)i;
    }
    if (table->ts_col >= 0 && from[table->ts_col] < 0)
        return alm_fail(&lines->c.cx, ALM_E_CONFLICT, -1,
                        "table: %.*s; its designated timestamp changed meanwhile",
                        lines_shown(t->name), t->name.ptr);
    return ALM_OK;
}

static alm_status lines_append_table(alm_lines *lines, alm_txn *txn, line_table *t)
{
    alm_ctx *cx = &lines->c.cx;
    const alm_table *table = alm_snapshot_find(lines->c.snapshot, t->name);
    int32_t *from = NULL;
    alm_vec *vecs = NULL;
    if (table == NULL)
        return alm_fail(cx, ALM_E_STALE, -1, "table '%.*s' was dropped meanwhile",
                        lines_shown(t->name), t->name.ptr);
    ALM_TRY(ALM_NEWN(cx, &lines->c.arena, table->n_cols, &from));
    ALM_TRY(ALM_NEWN(cx, &lines->c.arena, table->n_cols, &vecs));
    ALM_TRY(lines_match(lines, t, table, from));
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (from[i] < 0) {
            ALM_TRY(alm_vec_null(cx, &lines->c.arena, table->cols[i].type, &vecs[i]));
            continue;
        }
        void *end = NULL;
        line_col *col = &t->cols[from[i]];
        ALM_TRY(open_cell(lines, t, col, &end)); /* nulls up to the last row */
        vecs[i] = (alm_vec){.type = col->type, .width = (uint8_t)col->width, .data = col->data.ptr};
    }
    for (uint32_t row = 0; row < t->rows; row += ALM_BATCH_ROWS) {
        const uint32_t n_rows = ALM_MIN(t->rows - row, (uint32_t)ALM_BATCH_ROWS);
        const alm_batch batch = {.rows = n_rows, .n_cols = table->n_cols, .cols = vecs};
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_txn_append(cx, txn, table, &batch));
        for (uint32_t i = 0; i < table->n_cols; i++)
            if (!vecs[i].is_const)
                vecs[i].data = (char *)vecs[i].data + (size_t)n_rows * vecs[i].width;
    }
    return ALM_OK;
}

static alm_status lines_commit_once(alm_lines *lines)
{
    alm_ctx *cx = &lines->c.cx;
    alm_txn *txn = NULL;
    bool made = false;
    uint64_t lsn = 0;
    ALM_TRY(make_missing(lines, &made));
    if (made)
        ALM_TRY(lines_look(lines));
    ALM_TRY(alm_txn_begin(cx, lines->c.session->db->storage, &txn));
    for (line_table *table = lines->tables; table != NULL; table = table->next) {
        const alm_status status = table->rows > 0 ? lines_append_table(lines, txn, table) : ALM_OK;
        if (status != ALM_OK) {
            alm_txn_rollback(txn);
            return status;
        }
    }
    return alm_txn_commit(cx, txn, &lsn);
}

static void lines_free(alm_lines *lines)
{
    if (lines->c.snapshot != NULL)
        alm_snapshot_release(lines->c.snapshot);
    for (line_table *table = lines->tables; table != NULL; table = table->next)
        for (uint32_t i = 0; i < table->n_cols; i++)
            alm_buf_deinit(&table->cols[i].data);
    alm_ilp_deinit(&lines->reader);
    alm_cursor_over(&lines->c);
    free(lines);
}

alm_status alm_lines_commit(alm_lines *lines)
{
    alm_status status = alm_cursor_check(&lines->c);
    if (status == ALM_OK && lines->rows > 0)
        status = alm_cursor_access(&lines->c); /* the unit may have taken as long as its client */
    if (status == ALM_OK && lines->rows > 0)
        status = lines_commit_once(lines);
    for (int tries = 1; status == ALM_E_STALE && tries < COMMIT_TRIES; tries++) {
        alm_error_clear(&lines->c.cx);
        status = lines_look(lines);
        if (status == ALM_OK)
            status = lines_commit_once(lines);
    }
    if (status != ALM_OK)
        status = alm_session_failed(lines->c.session, &lines->c.cx);
    lines_free(lines);
    return status;
}

void alm_lines_drop(alm_lines *lines)
{
    if (lines != NULL)
        lines_free(lines);
}

alm_status alm_lines_begin(alm_session *session, const alm_lines_options *options, alm_lines **out)
{
    alm_lines *lines = malloc(sizeof *lines);
    if (lines == NULL) {
        session->err = (alm_error){.code = ALM_E_MEMORY, .sql_pos = -1, .msg = "out of memory"};
        return ALM_E_MEMORY;
    }
    memset(lines, 0, offsetof(alm_lines, errors));
    lines->c.session = session;
    lines->options = *options;
    atomic_store(&session->cancel, atomic_load(&session->db->stopping));
    lines->c.statement = atomic_fetch_add(&session->db->next_statement, 1) + 1;
    atomic_store(&session->statement, lines->c.statement);
    alm_cursor_context(&lines->c);
    alm_cursor_lookup(&lines->c);
    lines->c.cx.deadline_ns = 0; /* as long as the client sends */
    alm_ilp_init(&lines->reader, &lines->c.cx);
    lines->reader.skipping = options->within_bad;
    alm_status status = alm_session_goes_on(&lines->c.cx, session);
    alm_request_user *user = alm_session_requests(session);
    ALM_ASSERT(atomic_load(&lines->c.mem.used_bytes) == 0);
    if (user != NULL)
        lines->c.mem.parent = &user->requests;
    if (status == ALM_OK && user == NULL)
        status = alm_fail(&lines->c.cx, ALM_E_MEMORY, -1, "out of memory");
    if (status == ALM_OK)
        status = alm_session_may_write(&lines->c.cx, session, -1);
    if (status == ALM_OK)
        status = lines_look(lines);
    if (status == ALM_OK)
        status = alm_cursor_access(&lines->c);
    if (status != ALM_OK) {
        status = alm_session_failed(session, &lines->c.cx);
        lines_free(lines);
        return status;
    }
    *out = lines;
    return ALM_OK;
}
