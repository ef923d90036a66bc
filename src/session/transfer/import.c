/* import.c - see import.h. */
#include "session/transfer/import.h"

#include "base/conf.h"
#include "codec/compress/unpack.h"
#include "codec/file_kind.h"
#include "codec/ndjson/ndjson.h"
#include "codec/parquet/format.h"
#include "session/core/session_state.h"
#include "session/statement/statement.h"
#include "session/transfer/parquet_load.h"
#include "session/transfer/transfer.h"
#include "time/format.h"
#include "type/ops.h"

enum { SYMBOL_CAPACITY = 256 }; /* what CREATE TABLE declares when nothing is said */

static alm_status session_error(alm_ctx *cx, const alm_import *im)
{
    const alm_error *err = alm_session_error(im->session);
    return alm_fail(cx, err->code, -1, "%s", err->msg);
}

static alm_status take_rows(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    alm_import *im = arg;
    return alm_ingest_append(im->ingest, batch) == ALM_OK ? ALM_OK : session_error(cx, im);
}

/* --------------------------------------------------------------------- table */

static const struct {
    const char *name;
    alm_partition_by unit;
} units[] = {{"NONE", ALM_PART_NONE}, {"HOUR", ALM_PART_HOUR},   {"DAY", ALM_PART_DAY},
             {"WEEK", ALM_PART_WEEK}, {"MONTH", ALM_PART_MONTH}, {"YEAR", ALM_PART_YEAR}};

static alm_status partition_unit(alm_ctx *cx, const alm_import_conf *conf, alm_partition_by *out)
{
    *out = ALM_PART_NONE;
    if (conf->partition_by.len == 0)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(units); i++) {
        if (!alm_str_ieq(conf->partition_by, alm_str_of(units[i].name)))
            continue;
        *out = units[i].unit;
        if (*out != ALM_PART_NONE && conf->timestamp.len == 0)
            return alm_fail(cx, ALM_E_ARG, -1,
                            "when specifying partitionBy you must also specify timestamp");
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_ARG, -1, "invalid partitionBy");
}

static alm_status check_name(alm_ctx *cx, alm_str name)
{
    if (name.len == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "no file name given");
    if (!alm_table_name_ok(name))
        return alm_fail(cx, ALM_E_ARG, -1, "invalid table name [table=%.*s]", (int)name.len,
                        name.ptr);
    return ALM_OK;
}

static alm_status find_timestamp(alm_ctx *cx, const alm_import *im, alm_column *cols, int32_t *out)
{
    const alm_str name = im->conf.timestamp;
    *out = -1;
    if (name.len == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < im->shape.n_cols; i++)
        if (alm_str_ieq(name, alm_str_of(cols[i].name)))
            *out = (int32_t)i;
    if (*out < 0)
        return alm_fail(cx, ALM_E_NAME, -1, "invalid timestamp column '%.*s'", (int)name.len,
                        name.ptr);
    alm_column *ts = &cols[*out];
    if (ts->type.id == ALM_T_DATE || ts->type.id == ALM_T_LONG || ts->type.id == ALM_T_INT ||
        ts->type.id == ALM_T_VARCHAR ||
        (ts->type.id == ALM_T_DOUBLE &&
         im->conf.unit != ALM_EPOCH_NONE)) /* seconds with a fraction */
        ts->type = ALM_TY(TIMESTAMP);
    if (!alm_type_is_timestamp(ts->type))
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' is not a timestamp [type=%s]", ts->name,
                        alm_type_name(ts->type));
    return ALM_OK;
}

/* Columns of the table: by name where there are names, else by position. */
static alm_status match_columns(alm_ctx *cx, alm_import *im)
{
    const alm_table *table = alm_ingest_table(im->ingest);
    alm_csv_shape *shape = &im->shape;
    uint8_t *taken = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &im->table_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols + 1, &taken));
    if (!shape->named && shape->n_cols > table->n_cols)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "the file has %u columns and no header, table '%s' has %u columns",
                        shape->n_cols, table->name, table->n_cols);
    for (uint32_t i = 0; i < shape->n_cols; i++) {
        int32_t col = (int32_t)i;
        if (shape->named)
            col = alm_table_col(table, alm_str_of(shape->cols[i].name));
        if (col < 0)
            return alm_fail(cx, ALM_E_NAME, -1, "table '%s' has no column '%s'", table->name,
                            shape->cols[i].name);
        if (taken[col])
            return alm_fail(cx, ALM_E_DUPLICATE, -1, "column '%s' comes twice",
                            table->cols[col].name);
        taken[col] = 1;
        im->table_col[i] = (uint32_t)col;
        shape->cols[i].found &= !im->existed;
        shape->cols[i].type = table->cols[col].type;
    }
    if (table->ts_col >= 0 && !taken[table->ts_col])
        return alm_fail(cx, ALM_E_NAME, -1, "the file lacks the designated timestamp '%s'",
                        table->cols[table->ts_col].name);
    return ALM_OK;
}

void alm_import_warn(alm_import *im, const char *text)
{
    if (im->n_warnings < ALM_COUNT(im->warnings))
        im->warnings[im->n_warnings++] = text;
}

static void warn_of_table(alm_import *im, const alm_table *found, alm_partition_by partition)
{
    const alm_import_conf *conf = &im->conf;
    const char *ts = found->ts_col >= 0 ? found->cols[found->ts_col].name : "";
    if (conf->timestamp.len > 0 && !alm_str_ieq(conf->timestamp, alm_str_of(ts)))
        alm_import_warn(im, "Existing table timestamp column is used");
    if (conf->partition_by.len > 0 && found->partition != partition)
        alm_import_warn(im, "Existing table PartitionBy is used");
}

static alm_status open_table(alm_ctx *cx, alm_import *im, const alm_table *found)
{
    const alm_import_conf *conf = &im->conf;
    alm_column *cols = NULL;
    alm_table_spec spec = {.name = conf->table,
                           .n_cols = im->shape.n_cols,
                           .ts_col = -1,
                           .wal = true,
                           .max_uncommitted_rows = conf->max_uncommitted_rows,
                           .o3_max_lag_us = conf->o3_max_lag_us};
    ALM_TRY(partition_unit(cx, conf, &spec.partition));
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols, &cols));
    for (uint32_t i = 0; i < im->shape.n_cols; i++)
        cols[i] = (alm_column){.name = im->shape.cols[i].name,
                               .type = im->shape.cols[i].type,
                               .symbol_capacity = SYMBOL_CAPACITY,
                               .symbol_cached = true};
    spec.cols = cols;
    im->existed = found != NULL && !conf->overwrite;
    if (!im->existed)
        ALM_TRY(find_timestamp(cx, im, cols, &spec.ts_col));
    else
        warn_of_table(im, found, spec.partition);
    if (found == NULL && !conf->create)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s] and create param was set to false.",
                        (int)conf->table.len, conf->table.ptr);
    if (found == NULL)
        ALM_TRY(alm_check_new_relation(cx, alm_session_sources(), conf->table, -1));
    if (alm_ingest_begin(im->session, &spec, conf->overwrite, conf->owner, &im->ingest) != ALM_OK)
        return session_error(cx, im);
    return match_columns(cx, im);
}

/* Patterns of times, of the columns that have one. */
static alm_status compile_patterns(alm_ctx *cx, alm_import *im)
{
    const alm_io *io = alm_session_db(im->session)->io;
    const alm_table *table = alm_ingest_table(im->ingest);
    const int32_t year = (int32_t)(1970 + io->wall_ns(io) / INT64_C(31556952000000000));
    const alm_time_pattern **patterns = NULL;
    bool any = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols, &patterns));
    for (uint32_t i = 0; i < im->shape.n_cols; i++) {
        alm_csv_column *col = &im->shape.cols[i];
        if ((int32_t)im->table_col[i] == table->ts_col && im->conf.pattern.len > 0)
            col->pattern = im->conf.pattern;
        if (col->pattern.len == 0)
            continue;
        if (alm_type_info_of(col->type)->cls != ALM_TC_TIME)
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has a pattern, but is %s", col->name,
                            alm_type_name(col->type));
        any = true;
        ALM_TRY(alm_time_pattern_compile(cx, cx->arena, col->pattern, year, -1, &patterns[i]));
    }
    if (any)
        alm_csv_reader_patterns(im->load.reader, patterns);
    return ALM_OK;
}

/* Numbers of another unit would be times of 1970, or of no year: a word about them. The designated timestamp refuses what is
 * beyond its years, so the load would end there: in words that help; a look goes on by the unit that is meant. */
static alm_status look_at_numbers(alm_ctx *cx, alm_import *im, alm_csv_column *col, bool designated,
                                  alm_epoch *unit)
{
    const char *text = NULL;
    const alm_time_unit ticks = alm_type_unit(col->type);
    const alm_epoch guess = alm_epoch_guess(col->least, col->greatest);
    const bool as_days =
        guess == ALM_EPOCH_DAYS && col->unit == ALM_EPOCH_NONE && im->parquet == NULL;
    if (!col->whole || col->pattern.len > 0 || guess == ALM_EPOCH_NONE || as_days ||
        guess == (col->unit != ALM_EPOCH_NONE ? col->unit : alm_epoch_of_ticks(ticks)))
        return ALM_OK;
    col->looks = guess;
    const char *const read =
        alm_epoch_words(col->unit != ALM_EPOCH_NONE ? col->unit : alm_epoch_of_ticks(ticks));
    ALM_TRY(alm_arena_printf(
        cx, cx->arena, &text,
        guess == ALM_EPOCH_DAYS ? "column %s: its numbers look like %s, and are read as %s; in the "
                                  "schema \"pattern\":\"%s\" reads them so"
        : designated            ? "column %s: its numbers look like %s, and are read as %s; "
                                  "timestampUnit=%s reads them so"
                                : "column %s: its numbers look like %s, and are read as %s; in the "
                                  "schema \"unit\":\"%s\" reads them so",
        col->name, alm_epoch_words(guess), read, alm_epoch_text(guess)));
    if (designated && guess == ALM_EPOCH_NS && col->unit == ALM_EPOCH_NONE &&
        alm_designated_fault(col->greatest, ticks == ALM_TIME_NS) != NULL) {
        if (im->conf.look == 0)
            return alm_fail(cx, ALM_E_TIME_RANGE, -1, "%s", text);
        *unit = guess;
    }
    alm_import_warn(im, text);
    return ALM_OK;
}

/* Units of numbers as times, of the columns that have one. */
static alm_status set_units(alm_ctx *cx, alm_import *im)
{
    const alm_table *table = alm_ingest_table(im->ingest);
    alm_epoch *counts = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols, &counts));
    for (uint32_t i = 0; i < im->shape.n_cols; i++) {
        alm_csv_column *col = &im->shape.cols[i];
        const bool designated = (int32_t)im->table_col[i] == table->ts_col;
        if (designated && im->conf.unit != ALM_EPOCH_NONE)
            col->unit = im->conf.unit;
        counts[i] = col->unit;
        if (alm_type_info_of(col->type)->cls == ALM_TC_TIME)
            ALM_TRY(look_at_numbers(cx, im, col, designated, &counts[i]));
        else if (col->unit != ALM_EPOCH_NONE)
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has a unit, but is %s", col->name,
                            alm_type_name(col->type));
        if (col->unit != ALM_EPOCH_NONE && col->pattern.len > 0)
            return alm_fail(cx, ALM_E_ARG, -1, "column '%s' has a pattern and a unit", col->name);
    }
    if (im->parquet != NULL)
        alm_parquet_load_units(im->parquet, counts);
    else
        alm_csv_reader_units(im->load.reader, counts);
    return ALM_OK;
}

/* Columns whose type was found in the sample. */
static alm_status mark_exact(alm_ctx *cx, alm_import *im)
{
    bool *exact = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols, &exact));
    for (uint32_t i = 0; i < im->shape.n_cols; i++)
        exact[i] = im->shape.cols[i].found;
    alm_csv_reader_exact(im->load.reader, exact);
    return ALM_OK;
}

/* ----------------------------------------------------------------------- shape */

/* Columns that are called what the header says, letter by letter ("a b" where a new table would have aB). */
static void take_written_names(const alm_table *table, alm_csv_shape *shape)
{
    for (uint32_t i = 0; shape->header && i < shape->n_cols; i++) {
        alm_csv_column *col = &shape->cols[i];
        if (col->written != NULL && alm_table_col(table, alm_str_of(col->name)) < 0 &&
            alm_table_col(table, alm_str_of(col->written)) >= 0)
            col->name = col->written;
    }
}

static bool has_columns(const alm_table *table, const alm_csv_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_cols; i++)
        if (alm_table_col(table, alm_str_of(shape->cols[i].name)) < 0)
            return false;
    return shape->n_cols > 0;
}

/* Names of the first record, as many as it has. */
static alm_status read_names(alm_ctx *cx, alm_import *im, alm_str sample, bool whole)
{
    alm_csv_reader *reader = NULL;
    alm_csv_block block = {0};
    alm_csv_shape *shape = &im->shape;
    alm_arena arena;
    alm_arena_init(&arena, cx->mem);
    alm_status st = alm_copy_reader_new(cx, &arena, cx->mem, im->conf.format, ALM_CSV_COLS_MAX,
                                        sample.len + 1, &reader);
    if (st == ALM_OK)
        st = alm_csv_feed(cx, reader, sample.ptr, sample.len);
    if (st == ALM_OK)
        st = alm_csv_next(cx, reader, whole, &block);
    if (st == ALM_OK && block.rows > 0)
        st = ALM_NEWN(cx, cx->arena, ALM_CSV_COLS_MAX, &shape->cols);
    for (uint32_t i = 0; st == ALM_OK && block.rows > 0 && i < block.cols; i++) {
        const alm_csv_field *field = &block.fields[(size_t)i * block.stride];
        alm_str text = {0};
        if (i > 0 && field->off <= block.fields[0].off)
            break; /* missing ones begin where the record does */
        st = alm_csv_text(cx, &arena, &block, field, &text);
        if (st == ALM_OK)
            st = alm_arena_zstr(cx, cx->arena, text, &shape->cols[shape->n_cols++].name);
    }
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
    return st;
}

/* The columns of a file in a form of COPY: those of the statement, of the header, or of the table. */
static alm_status form_shape(alm_ctx *cx, alm_import *im, bool whole, const alm_table *found)
{
    const alm_import_conf *conf = &im->conf;
    alm_csv_shape *shape = &im->shape;
    alm_str sample = {im->sample.ptr, im->sample.len};
    if (found == NULL)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s]: a file in this form cannot make it",
                        (int)conf->table.len, conf->table.ptr);
    *shape = (alm_csv_shape){
        .delimiter = conf->format->delimiter, .header = conf->format->header, .named = true};
    if (sample.len == 0 && conf->format->kind != ALM_COPY_BINARY)
        return ALM_OK; /* an empty file */
    if (shape->header && !conf->listed && !conf->match)
        return read_names(cx, im, sample, whole);
    shape->n_cols = conf->listed ? conf->n_columns : found->n_cols;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &shape->cols));
    for (uint32_t i = 0; i < shape->n_cols; i++) {
        const char *name = conf->listed ? conf->columns[i] : found->cols[i].name;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(name), &shape->cols[i].name));
    }
    return ALM_OK;
}

/* As the file has them, whatever they become. */
static alm_status keep_names(alm_ctx *cx, alm_import *im)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols + 1, &im->source));
    for (uint32_t i = 0; i < im->shape.n_cols; i++)
        im->source[i] = im->shape.cols[i].name;
    return ALM_OK;
}

/* The columns of a file of JSON objects are their keys. */
static alm_status object_shape(alm_ctx *cx, alm_import *im, bool whole, const alm_table *table)
{
    const alm_import_conf *conf = &im->conf;
    const alm_str sample = {im->sample.ptr, im->sample.len};
    ALM_TRY(alm_ndjson_detect(cx, cx->arena, sample, whole, &im->shape, &im->keys));
    if (table != NULL)
        take_written_names(table, &im->shape);
    ALM_TRY(keep_names(cx, im));
    return conf->adjust != NULL ? conf->adjust(cx, conf->arg, &im->shape) : ALM_OK;
}

/* found: the table, NULL: there is none. */
static alm_status find_shape(alm_ctx *cx, alm_import *im, bool whole, const alm_table *found)
{
    const alm_import_conf *conf = &im->conf;
    const alm_str sample = {im->sample.ptr, im->sample.len};
    alm_csv_shape *shape = &im->shape, named;
    const alm_table *const table = conf->overwrite ? NULL : found; /* that the rows go into */
    if (conf->format != NULL)
        return form_shape(cx, im, whole, found);
    if (im->ndjson)
        return object_shape(cx, im, whole, table);
    /* the export of no rows is a header; of a table that is there, the names tell */
    const bool lone = conf->header == ALM_CSV_HEADER_DETECT && table == NULL && whole;
    ALM_TRY(alm_csv_detect(cx, cx->arena, sample, whole, conf->delimiter,
                           lone ? ALM_CSV_HEADER_DETECT_LONE : conf->header, shape));
    if (lone && shape->header && shape->sample_rows == 1)
        alm_import_warn(im, "the only line is taken as the header: there are no rows");
    if (!shape->header && conf->header == ALM_CSV_HEADER_DETECT && table != NULL) {
        /* what looks like values may be the names of the table */
        alm_ctx probe;
        alm_ctx_fork(cx, &probe);
        probe.arena = cx->arena;
        if (alm_csv_detect(&probe, cx->arena, sample, whole, conf->delimiter, ALM_CSV_HEADER_YES,
                           &named) == ALM_OK) {
            take_written_names(table, &named);
            if (has_columns(table, &named))
                *shape = named;
        }
    } else if (table != NULL) {
        take_written_names(table, shape);
    }
    if (shape->hollow && shape->n_cols > 1 && table != NULL &&
        alm_table_col(table, alm_str_of(shape->cols[shape->n_cols - 1].name)) < 0)
        shape->n_cols--; /* empty fields behind the last column are no values */
    shape->named = shape->header;
    if (shape->header)
        ALM_TRY(keep_names(cx, im));
    return shape->n_cols > 0 && conf->adjust != NULL ? conf->adjust(cx, conf->arg, shape) : ALM_OK;
}

/* With the snapshot that the table stands in. */
static alm_status prepare(alm_ctx *cx, alm_import *im, bool whole, const alm_table *found)
{
    ALM_TRY(find_shape(cx, im, whole, found));
    ALM_TRY(check_name(cx, im->conf.table));
    im->started = true;
    return im->shape.n_cols > 0 ? open_table(cx, im, found) : ALM_OK;
}

/* A flag of each column of the file, from those of conf.columns. */
static alm_status order_flags(alm_ctx *cx, const alm_import *im, const bool **flags)
{
    const alm_import_conf *conf = &im->conf;
    bool *ordered = NULL;
    if (*flags == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, im->shape.n_cols, &ordered));
    for (uint32_t i = 0; i < im->shape.n_cols; i++)
        for (uint32_t k = 0; k < conf->n_columns; k++)
            if (alm_str_ieq(alm_str_of(im->shape.cols[i].name), alm_str_of(conf->columns[k])))
                ordered[i] = (*flags)[k];
    *flags = ordered;
    return ALM_OK;
}

static alm_status shape_names(alm_ctx *cx, const alm_csv_shape *shape, const char *const **out)
{
    const char **names = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &names));
    for (uint32_t i = 0; i < shape->n_cols; i++)
        names[i] = shape->cols[i].name;
    *out = (const char *const *)names;
    return ALM_OK;
}

/* Of a file that says itself what it holds. */
static alm_status file_reader(alm_ctx *cx, alm_arena *arena, const alm_import *im,
                              size_t record_max, alm_csv_reader **out)
{
    if (im->ndjson)
        return alm_ndjson_reader_new(cx, arena, cx->mem, im->keys, im->shape.n_cols, record_max,
                                     out);
    return alm_csv_reader_new(cx, arena, cx->mem, im->shape.delimiter, im->shape.n_cols, record_max,
                              out);
}

static alm_status open_reader(alm_ctx *cx, alm_import *im, size_t record_max)
{
    alm_copy_format *format = NULL;
    if (im->conf.format == NULL)
        return file_reader(cx, cx->arena, im, record_max, &im->load.reader);
    ALM_TRY(ALM_NEW(cx, cx->arena, &format));
    *format = *im->conf.format;
    ALM_TRY(order_flags(cx, im, &format->force_null));
    ALM_TRY(order_flags(cx, im, &format->force_not_null));
    return alm_copy_reader_new(cx, cx->arena, cx->mem, format, im->shape.n_cols, record_max,
                               &im->load.reader);
}

static alm_status keep_texts(alm_ctx *cx, alm_import *im, const alm_csv_block *block)
{
    const uint32_t n_cols = im->shape.n_cols, first = im->shape.header && !im->ndjson ? 1 : 0;
    const uint32_t rows = block->rows > first ? block->rows - first : 0;
    alm_str text;
    im->n_texts = ALM_MIN(rows, im->conf.look);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)n_cols * im->n_texts + 1, &im->texts));
    for (uint32_t row = 0; row < im->n_texts; row++)
        for (uint32_t i = 0; i < n_cols; i++) {
            const alm_csv_field *field = &block->fields[(size_t)i * block->stride + first + row];
            ALM_TRY(alm_csv_text(cx, cx->arena, block, field, &text));
            if (text.ptr != NULL)
                ALM_TRY(alm_arena_copy(cx, cx->arena, text, &im->texts[(size_t)row * n_cols + i]));
        }
    return ALM_OK;
}

/* The first rows as texts, of files that a client cannot read as it reads CSV. */
static alm_status show_rows(alm_ctx *cx, alm_import *im, bool whole)
{
    alm_csv_reader *reader = NULL;
    alm_csv_block block = {0};
    alm_arena arena;
    if (im->conf.look == 0 || !(im->ndjson || im->unpacker != NULL))
        return ALM_OK;
    alm_arena_init(&arena, cx->mem);
    alm_status st = file_reader(cx, &arena, im, im->sample.len + 1, &reader);
    if (st == ALM_OK)
        st = alm_csv_feed(cx, reader, im->sample.ptr, im->sample.len);
    if (st == ALM_OK)
        st = alm_csv_next(cx, reader, whole, &block);
    if (st == ALM_OK)
        st = keep_texts(cx, im, &block);
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
    return st;
}

static alm_status start(alm_ctx *cx, alm_import *im, bool whole)
{
    const alm_import_conf *conf = &im->conf;
    const alm_str sample = {im->sample.ptr, im->sample.len};
    const struct alm_conf *settings = alm_db_conf(alm_session_db(im->session));
    const char *const *names = NULL;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_session_db(im->session)), &snap));
    const alm_status st = prepare(cx, im, whole, alm_snapshot_find(snap, conf->table));
    alm_snapshot_release(snap);
    ALM_TRY(st);
    if (im->shape.n_cols == 0)
        return ALM_OK; /* an empty file */
    ALM_TRY(open_reader(cx, im, (size_t)settings->copy_record_bytes_max));
    ALM_TRY(compile_patterns(cx, im));
    if (conf->format == NULL)
        ALM_TRY(set_units(cx, im));
    ALM_TRY(mark_exact(cx, im));
    if (conf->match)
        ALM_TRY(shape_names(cx, &im->shape, &names));
    im->load = (alm_load){.table = alm_ingest_table(im->ingest),
                          .reader = im->load.reader,
                          .n_cols = im->shape.n_cols,
                          .table_col = im->table_col,
                          .rule = conf->rule,
                          .skip_max = conf->skip_max,
                          .skip_extra = conf->skip_extra,
                          .strict = conf->format != NULL,
                          .header = im->shape.header && !im->ndjson,
                          .names = names,
                          .what = conf->what,
                          .workers = alm_session_db(im->session)->workers,
                          .sink = take_rows,
                          .arg = im};
    ALM_TRY(alm_load_init(cx, cx->arena, &im->load, true));
    ALM_TRY(show_rows(cx, im, whole));
    ALM_TRY(alm_csv_feed(cx, im->load.reader, sample.ptr, sample.len));
    alm_buf_deinit(&im->sample);
    alm_buf_init(&im->sample, cx->mem);
    return ALM_OK;
}

/* ----------------------------------------------------------------------- bytes */

void alm_import_init(alm_ctx *cx, alm_import *im, alm_session *session, const alm_import_conf *conf)
{
    *im = (alm_import){.conf = *conf, .session = session, .file_rows = -1};
    alm_buf_init(&im->sample, cx->mem);
}

/* The byte order mark of a file in a form of COPY, which has none. */
static void drop_mark(alm_import *im)
{
    if (im->conf.format == NULL || im->conf.format->kind == ALM_COPY_BINARY || im->marked ||
        im->sample.len < 3)
        return;
    im->marked = true;
    if (memcmp(im->sample.ptr, "\xef\xbb\xbf", 3) != 0)
        return;
    im->sample.len -= 3;
    (void)memmove(im->sample.ptr, im->sample.ptr + 3, im->sample.len);
}

static alm_status begin_parquet(alm_ctx *cx, alm_import *im)
{
    ALM_TRY(alm_parquet_load_new(cx, im->session, im->conf.part, &im->parquet));
    ALM_TRY(alm_parquet_load_feed(cx, im->parquet, im->sample.ptr, im->sample.len));
    alm_buf_deinit(&im->sample);
    alm_buf_init(&im->sample, cx->mem);
    return ALM_OK;
}

static alm_status feed_plain(alm_ctx *cx, alm_import *im, const char *bytes, size_t n);

static alm_status take_unpacked(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    return feed_plain(cx, arg, bytes, n);
}

/* What came is the beginning of a packed file; what it holds is looked at in its turn. */
static alm_status begin_unpacking(alm_ctx *cx, alm_import *im, alm_pack_form form)
{
    alm_buf packed = im->sample;
    if (im->unpacker != NULL)
        return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file holds another packed file",
                        alm_unpacker_name(im->unpacker));
    alm_buf_init(&im->sample, cx->mem);
    const struct alm_conf *conf = alm_db_conf(alm_session_db(im->session));
    alm_status st = alm_unpacker_new(cx, form, (uint64_t)conf->http_request_body_max,
                                     "http.request.body.max", &im->unpacker);
    if (st == ALM_OK)
        st = alm_unpack(cx, im->unpacker, (alm_str){packed.ptr, packed.len}, take_unpacked, im);
    alm_buf_deinit(&packed);
    return st;
}

static alm_status refuse_kind(alm_ctx *cx, const alm_import *im, const char *name)
{
    return alm_fail(
        cx, ALM_E_FORMAT, -1,
        "the file is %s%s%s: CSV, NDJSON (a JSON object on each line) and Parquet files "
        "are read, packed by gzip or zstd or as they are",
        name, im->unpacker != NULL ? " packed by " : "",
        im->unpacker != NULL ? alm_unpacker_name(im->unpacker) : "");
}

/* What is the file? whole: no more of it will come. */
static alm_status look(alm_ctx *cx, alm_import *im, bool whole)
{
    const alm_import_kind said = im->conf.kind;
    const alm_str head = {im->sample.ptr, im->sample.len};
    const char *name = NULL;
    if (said == ALM_IMPORT_PARQUET) {
        im->looked = true;
        return begin_parquet(cx, im);
    }
    alm_file_kind kind = ALM_FILE_TEXT;
    if (im->conf.format == NULL)
        kind = alm_file_kind_of(head, whole || head.len >= ALM_CSV_SAMPLE_BYTES,
                                said == ALM_IMPORT_ANY, &name);
    im->looked = kind != ALM_FILE_MORE;
    im->ndjson = kind == ALM_FILE_NDJSON || said == ALM_IMPORT_NDJSON;
    switch (kind) {
    case ALM_FILE_GZIP:
    case ALM_FILE_ZSTD:
        im->looked = im->ndjson = false;
        return begin_unpacking(cx, im, kind == ALM_FILE_GZIP ? ALM_PACK_GZIP : ALM_PACK_ZSTD);
    case ALM_FILE_PARQUET:
        return said == ALM_IMPORT_ANY ? begin_parquet(cx, im) : ALM_OK; /* letters, in a CSV file */
    case ALM_FILE_FOREIGN:
        return refuse_kind(cx, im, name);
    case ALM_FILE_TEXT:
    case ALM_FILE_NDJSON:
    case ALM_FILE_MORE:
    default:
        return ALM_OK;
    }
}

static alm_status feed_plain(alm_ctx *cx, alm_import *im, const char *bytes, size_t n)
{
    if (im->parquet != NULL)
        return alm_parquet_load_feed(cx, im->parquet, bytes, n);
    if (!im->started) {
        ALM_TRY(alm_buf_append(cx, &im->sample, bytes, n));
        const alm_unpacker *const unpacker = im->unpacker;
        if (!im->looked &&
            (im->conf.kind == ALM_IMPORT_PARQUET || im->sample.len >= ALM_FILE_LOOK_BYTES))
            ALM_TRY(look(cx, im, false));
        if (im->parquet != NULL || im->unpacker != unpacker)
            return ALM_OK; /* the bytes went there */
        drop_mark(im);
        if (im->sample.len < ALM_CSV_SAMPLE_BYTES)
            return ALM_OK;
        ALM_TRY(start(cx, im, false));
    } else if (im->load.reader != NULL) {
        ALM_TRY(alm_csv_feed(cx, im->load.reader, bytes, n));
    }
    return im->load.reader != NULL ? alm_load_rows(cx, &im->load, false) : ALM_OK;
}

/* May the table be written, before any byte is kept? */
static alm_status ask(alm_ctx *cx, alm_import *im)
{
    if (im->asked)
        return ALM_OK;
    im->asked = true;
    ALM_TRY(check_name(cx, im->conf.table));
    if (alm_ingest_may(im->session, im->conf.table, im->conf.overwrite) != ALM_OK)
        return session_error(cx, im);
    return ALM_OK;
}

alm_status alm_import_may(alm_ctx *cx, alm_import *im)
{
    if (im->conf.table.len > 0)
        return ask(cx, im);
    if (alm_session_may_ingest(im->session, im->conf.overwrite) != ALM_OK)
        return session_error(cx, im);
    return ALM_OK;
}

alm_status alm_import_feed(alm_ctx *cx, alm_import *im, const char *bytes, size_t n)
{
    ALM_TRY(ask(cx, im));
    if (im->unpacker != NULL)
        return alm_unpack(cx, im->unpacker, (alm_str){bytes, n}, take_unpacked, im);
    return feed_plain(cx, im, bytes, n);
}

/* All of the file is there: its table is found or made. */
static alm_status start_parquet(alm_ctx *cx, alm_import *im)
{
    alm_csv_shape *shape = &im->shape;
    const char *left_out = NULL;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_parquet_load_open(cx, im->parquet, shape, &left_out));
    im->file_rows = alm_parquet_load_file_rows(im->parquet);
    if (!alm_parquet_load_wants(im->parquet, &im->wanted, &im->wanted_tail))
        im->wanted = (alm_parquet_part){0};
    if (left_out != NULL)
        alm_import_warn(im, left_out);
    ALM_TRY(keep_names(cx, im));
    if (im->conf.adjust != NULL)
        ALM_TRY(im->conf.adjust(cx, im->conf.arg, shape));
    for (uint32_t i = 0; i < shape->n_cols; i++)
        if (shape->cols[i].pattern.len > 0)
            return alm_fail(cx, ALM_E_ARG, -1, "column '%s' has a pattern: those are for CSV files",
                            shape->cols[i].name);
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_session_db(im->session)), &snap));
    const alm_status st = open_table(cx, im, alm_snapshot_find(snap, im->conf.table));
    alm_snapshot_release(snap);
    ALM_TRY(st);
    im->started = true;
    im->load = (alm_load){.table = alm_ingest_table(im->ingest),
                          .n_cols = shape->n_cols,
                          .table_col = im->table_col,
                          .rule = im->conf.rule,
                          .workers = alm_session_db(im->session)->workers,
                          .sink = take_rows,
                          .arg = im};
    ALM_TRY(set_units(cx, im));
    ALM_TRY(alm_load_init(cx, cx->arena, &im->load, true));
    return alm_parquet_load_begin(cx, im->parquet, &im->load);
}

alm_status alm_import_step(alm_ctx *cx, alm_import *im, bool *done)
{
    *done = true;
    if (im->parquet == NULL)
        return ALM_OK;
    ALM_TRY(alm_parquet_load_step(cx, im->parquet, &im->load, im->conf.look, done));
    if (im->conf.look == 0)
        return ALM_OK;
    *done = true;
    im->n_texts = im->conf.look;
    return alm_parquet_load_texts(cx, im->parquet, &im->n_texts, &im->texts);
}

alm_status alm_import_rest(alm_ctx *cx, alm_import *im)
{
    ALM_TRY(ask(cx, im));
    for (int packed = 0; packed < 2 && !im->looked; packed++)
        ALM_TRY(look(
            cx, im,
            true)); /* few bytes came, perhaps none; of a packed file they are looked at, too */
    if (im->unpacker != NULL && !alm_unpacker_is_whole(im->unpacker)) {
        if (im->conf.look == 0)
            return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file is cut off: its end is missing",
                            alm_unpacker_name(im->unpacker));
        im->cut = true;
    }
    if (im->parquet != NULL)
        return start_parquet(cx, im);
    if (!im->started)
        ALM_TRY(start(cx, im, !im->cut));
    if (im->load.reader == NULL)
        return ALM_OK;
    ALM_TRY(alm_load_rows(cx, &im->load, !im->cut));
    return im->conf.format != NULL ? alm_copy_complete(cx, im->load.reader) : ALM_OK;
}

alm_status alm_import_commit(alm_ctx *cx, alm_import *im)
{
    alm_ingest *ingest = im->ingest;
    im->ingest = NULL;
    if (ingest == NULL || alm_ingest_commit(ingest, &im->imported) == ALM_OK)
        return ALM_OK;
    return session_error(cx, im);
}

void alm_import_deinit(alm_import *im)
{
    if (im->ingest != NULL)
        alm_ingest_rollback(im->ingest);
    im->ingest = NULL;
    alm_load_deinit(&im->load);
    alm_parquet_load_free(im->parquet);
    im->parquet = NULL;
    alm_unpacker_free(im->unpacker);
    im->unpacker = NULL;
    alm_buf_deinit(&im->sample);
}
