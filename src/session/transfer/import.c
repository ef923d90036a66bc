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

static alm_status session_error(alm_ctx *cx, const alm_import *import)
{
    const alm_error *err = alm_session_error(import->session);
    return alm_fail(cx, err->code, -1, "%s", err->msg);
}

static alm_status import_take_rows(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    alm_import *import = arg;
    return alm_ingest_append(import->ingest, batch) == ALM_OK ? ALM_OK : session_error(cx, import);
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

static alm_status import_check_name(alm_ctx *cx, alm_str name)
{
    if (name.len == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "no file name given");
    if (!alm_table_name_ok(name))
        return alm_fail(cx, ALM_E_ARG, -1, "invalid table name [table=%.*s]", (int)name.len,
                        name.ptr);
    return ALM_OK;
}

static alm_status find_timestamp(alm_ctx *cx, const alm_import *import, alm_column *cols,
                                 int32_t *out)
{
    const alm_str name = import->conf.timestamp;
    *out = -1;
    if (name.len == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < import->shape.n_cols; i++)
        if (alm_str_ieq(name, alm_str_of(cols[i].name)))
            *out = (int32_t)i;
    if (*out < 0)
        return alm_fail(cx, ALM_E_NAME, -1, "invalid timestamp column '%.*s'", (int)name.len,
                        name.ptr);
    alm_column *ts = &cols[*out];
    if (ts->type.id == ALM_T_DATE || ts->type.id == ALM_T_LONG || ts->type.id == ALM_T_INT ||
        ts->type.id == ALM_T_VARCHAR ||
        (ts->type.id == ALM_T_DOUBLE &&
         import->conf.unit != ALM_EPOCH_NONE)) /* seconds with a fraction */
        ts->type = ALM_TY(TIMESTAMP);
    if (!alm_type_is_timestamp(ts->type))
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' is not a timestamp [type=%s]", ts->name,
                        alm_type_name(ts->type));
    return ALM_OK;
}

/* Columns of the table: by name where there are names, else by position. */
static alm_status match_columns(alm_ctx *cx, alm_import *import)
{
    const alm_table *table = alm_ingest_table(import->ingest);
    alm_csv_shape *shape = &import->shape;
    uint8_t *taken = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &import->table_col));
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
        import->table_col[i] = (uint32_t)col;
        shape->cols[i].found &= !import->existed;
        shape->cols[i].type = table->cols[col].type;
    }
    if (table->ts_col >= 0 && !taken[table->ts_col])
        return alm_fail(cx, ALM_E_NAME, -1, "the file lacks the designated timestamp '%s'",
                        table->cols[table->ts_col].name);
    return ALM_OK;
}

void alm_import_warn(alm_import *import, const char *text)
{
    if (import->n_warnings < ALM_COUNT(import->warnings))
        import->warnings[import->n_warnings++] = text;
}

static void warn_of_table(alm_import *import, const alm_table *found, alm_partition_by partition)
{
    const alm_import_conf *conf = &import->conf;
    const char *ts = found->ts_col >= 0 ? found->cols[found->ts_col].name : "";
    if (conf->timestamp.len > 0 && !alm_str_ieq(conf->timestamp, alm_str_of(ts)))
        alm_import_warn(import, "Existing table timestamp column is used");
    if (conf->partition_by.len > 0 && found->partition != partition)
        alm_import_warn(import, "Existing table PartitionBy is used");
}

static alm_status import_open_table(alm_ctx *cx, alm_import *import, const alm_table *found)
{
    const alm_import_conf *conf = &import->conf;
    alm_column *cols = NULL;
    alm_table_spec spec = {.name = conf->table,
                           .n_cols = import->shape.n_cols,
                           .ts_col = -1,
                           .wal = true,
                           .max_uncommitted_rows = conf->max_uncommitted_rows,
                           .o3_max_lag_us = conf->o3_max_lag_us};
    ALM_TRY(partition_unit(cx, conf, &spec.partition));
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols, &cols));
    for (uint32_t i = 0; i < import->shape.n_cols; i++)
        cols[i] = (alm_column){.name = import->shape.cols[i].name,
                               .type = import->shape.cols[i].type,
                               .symbol_capacity = SYMBOL_CAPACITY,
                               .symbol_cached = true};
    spec.cols = cols;
    import->existed = found != NULL && !conf->overwrite;
    if (!import->existed)
        ALM_TRY(find_timestamp(cx, import, cols, &spec.ts_col));
    else
        warn_of_table(import, found, spec.partition);
    if (found == NULL && !conf->create)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s] and create param was set to false.",
                        (int)conf->table.len, conf->table.ptr);
    if (found == NULL)
        ALM_TRY(alm_check_new_relation(cx, alm_session_sources(), conf->table, -1));
    if (alm_ingest_begin(import->session, &spec, conf->overwrite, conf->owner, &import->ingest) !=
        ALM_OK)
        return session_error(cx, import);
    return match_columns(cx, import);
}

/* Patterns of times, of the columns that have one. */
static alm_status compile_patterns(alm_ctx *cx, alm_import *import)
{
    const alm_io *io = alm_session_db(import->session)->io;
    const alm_table *table = alm_ingest_table(import->ingest);
    const int32_t year = (int32_t)(1970 + io->wall_ns(io) / INT64_C(31556952000000000));
    const alm_time_pattern **patterns = NULL;
    bool any = false;
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols, &patterns));
    for (uint32_t i = 0; i < import->shape.n_cols; i++) {
        alm_csv_column *col = &import->shape.cols[i];
        if ((int32_t)import->table_col[i] == table->ts_col && import->conf.pattern.len > 0)
            col->pattern = import->conf.pattern;
        if (col->pattern.len == 0)
            continue;
        if (alm_type_info_of(col->type)->cls != ALM_TC_TIME)
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has a pattern, but is %s", col->name,
                            alm_type_name(col->type));
        any = true;
        ALM_TRY(alm_time_pattern_compile(cx, cx->arena, col->pattern, year, -1, &patterns[i]));
    }
    if (any)
        alm_csv_reader_patterns(import->load.reader, patterns);
    return ALM_OK;
}

/* Numbers of another unit would be times of 1970, or of no year: a word about them. The designated timestamp refuses what is
 * beyond its years, so the load would end there: in words that help; a look goes on by the unit that is meant. */
static alm_status look_at_numbers(alm_ctx *cx, alm_import *import, alm_csv_column *col,
                                  bool designated, alm_epoch *unit)
{
    const char *text = NULL;
    const alm_time_unit ticks = alm_type_unit(col->type);
    const alm_epoch guess = alm_epoch_guess(col->least, col->greatest);
    const bool as_days =
        guess == ALM_EPOCH_DAYS && col->unit == ALM_EPOCH_NONE && import->parquet == NULL;
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
        if (import->conf.look == 0)
            return alm_fail(cx, ALM_E_TIME_RANGE, -1, "%s", text);
        *unit = guess;
    }
    alm_import_warn(import, text);
    return ALM_OK;
}

/* Units of numbers as times, of the columns that have one. */
static alm_status set_units(alm_ctx *cx, alm_import *import)
{
    const alm_table *table = alm_ingest_table(import->ingest);
    alm_epoch *counts = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols, &counts));
    for (uint32_t i = 0; i < import->shape.n_cols; i++) {
        alm_csv_column *col = &import->shape.cols[i];
        const bool designated = (int32_t)import->table_col[i] == table->ts_col;
        if (designated && import->conf.unit != ALM_EPOCH_NONE)
            col->unit = import->conf.unit;
        counts[i] = col->unit;
        if (alm_type_info_of(col->type)->cls == ALM_TC_TIME)
            ALM_TRY(look_at_numbers(cx, import, col, designated, &counts[i]));
        else if (col->unit != ALM_EPOCH_NONE)
            return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' has a unit, but is %s", col->name,
                            alm_type_name(col->type));
        if (col->unit != ALM_EPOCH_NONE && col->pattern.len > 0)
            return alm_fail(cx, ALM_E_ARG, -1, "column '%s' has a pattern and a unit", col->name);
    }
    if (import->parquet != NULL)
        alm_parquet_load_units(import->parquet, counts);
    else
        alm_csv_reader_units(import->load.reader, counts);
    return ALM_OK;
}

/* Columns whose type was found in the sample. */
static alm_status mark_exact(alm_ctx *cx, alm_import *import)
{
    bool *exact = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols, &exact));
    for (uint32_t i = 0; i < import->shape.n_cols; i++)
        exact[i] = import->shape.cols[i].found;
    alm_csv_reader_exact(import->load.reader, exact);
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
static alm_status import_read_names(alm_ctx *cx, alm_import *import, alm_str sample, bool whole)
{
    alm_csv_reader *reader = NULL;
    alm_csv_block block = {0};
    alm_csv_shape *shape = &import->shape;
    alm_arena arena;
    alm_arena_init(&arena, cx->mem);
    alm_status status = alm_copy_reader_new(cx, &arena, cx->mem, import->conf.format,
                                            ALM_CSV_COLS_MAX, sample.len + 1, &reader);
    if (status == ALM_OK)
        status = alm_csv_feed(cx, reader, sample.ptr, sample.len);
    if (status == ALM_OK)
        status = alm_csv_next(cx, reader, whole, &block);
    if (status == ALM_OK && block.rows > 0)
        status = ALM_NEWN(cx, cx->arena, ALM_CSV_COLS_MAX, &shape->cols);
    for (uint32_t i = 0; status == ALM_OK && block.rows > 0 && i < block.cols; i++) {
        const alm_csv_field *field = &block.fields[(size_t)i * block.stride];
        alm_str text = {0};
        if (i > 0 && field->off <= block.fields[0].off)
            break; /* missing ones begin where the record does */
        status = alm_csv_text(cx, &arena, &block, field, &text);
        if (status == ALM_OK)
            status = alm_arena_zstr(cx, cx->arena, text, &shape->cols[shape->n_cols++].name);
    }
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
    return status;
}

/* The columns of a file in a form of COPY: those of the statement, of the header, or of the table. */
static alm_status form_shape(alm_ctx *cx, alm_import *import, bool whole, const alm_table *found)
{
    const alm_import_conf *conf = &import->conf;
    alm_csv_shape *shape = &import->shape;
    alm_str sample = {import->sample.ptr, import->sample.len};
    if (found == NULL)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s]: a file in this form cannot make it",
                        (int)conf->table.len, conf->table.ptr);
    *shape = (alm_csv_shape){
        .delimiter = conf->format->delimiter, .header = conf->format->header, .named = true};
    if (sample.len == 0 && conf->format->kind != ALM_COPY_BINARY)
        return ALM_OK; /* an empty file */
    if (shape->header && !conf->listed && !conf->match)
        return import_read_names(cx, import, sample, whole);
    shape->n_cols = conf->listed ? conf->n_columns : found->n_cols;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &shape->cols));
    for (uint32_t i = 0; i < shape->n_cols; i++) {
        const char *name = conf->listed ? conf->columns[i] : found->cols[i].name;
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(name), &shape->cols[i].name));
    }
    return ALM_OK;
}

/* As the file has them, whatever they become. */
static alm_status import_keep_names(alm_ctx *cx, alm_import *import)
{
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols + 1, &import->source));
    for (uint32_t i = 0; i < import->shape.n_cols; i++)
        import->source[i] = import->shape.cols[i].name;
    return ALM_OK;
}

/* The columns of a file of JSON objects are their keys. */
static alm_status object_shape(alm_ctx *cx, alm_import *import, bool whole, const alm_table *table)
{
    const alm_import_conf *conf = &import->conf;
    const alm_str sample = {import->sample.ptr, import->sample.len};
    ALM_TRY(alm_ndjson_detect(cx, cx->arena, sample, whole, &import->shape, &import->keys));
    if (table != NULL)
        take_written_names(table, &import->shape);
    ALM_TRY(import_keep_names(cx, import));
    return conf->adjust != NULL ? conf->adjust(cx, conf->arg, &import->shape) : ALM_OK;
}

/* found: the table, NULL: there is none. */
static alm_status find_shape(alm_ctx *cx, alm_import *import, bool whole, const alm_table *found)
{
    const alm_import_conf *conf = &import->conf;
    const alm_str sample = {import->sample.ptr, import->sample.len};
    alm_csv_shape *shape = &import->shape, named;
    const alm_table *const table = conf->overwrite ? NULL : found; /* that the rows go into */
    if (conf->format != NULL)
        return form_shape(cx, import, whole, found);
    if (import->ndjson)
        return object_shape(cx, import, whole, table);
    /* the export of no rows is a header; of a table that is there, the names tell */
    const bool lone = conf->header == ALM_CSV_HEADER_DETECT && table == NULL && whole;
    ALM_TRY(alm_csv_detect(cx, cx->arena, sample, whole, conf->delimiter,
                           lone ? ALM_CSV_HEADER_DETECT_LONE : conf->header, shape));
    if (lone && shape->header && shape->sample_rows == 1)
        alm_import_warn(import, "the only line is taken as the header: there are no rows");
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
        ALM_TRY(import_keep_names(cx, import));
    return shape->n_cols > 0 && conf->adjust != NULL ? conf->adjust(cx, conf->arg, shape) : ALM_OK;
}

/* With the snapshot that the table stands in. */
static alm_status import_prepare(alm_ctx *cx, alm_import *import, bool whole,
                                 const alm_table *found)
{
    ALM_TRY(find_shape(cx, import, whole, found));
    ALM_TRY(import_check_name(cx, import->conf.table));
    import->started = true;
    return import->shape.n_cols > 0 ? import_open_table(cx, import, found) : ALM_OK;
}

/* A flag of each column of the file, from those of conf.columns. */
static alm_status order_flags(alm_ctx *cx, const alm_import *import, const bool **flags)
{
    const alm_import_conf *conf = &import->conf;
    bool *ordered = NULL;
    if (*flags == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, import->shape.n_cols, &ordered));
    for (uint32_t i = 0; i < import->shape.n_cols; i++)
        for (uint32_t column = 0; column < conf->n_columns; column++)
            if (alm_str_ieq(alm_str_of(import->shape.cols[i].name),
                            alm_str_of(conf->columns[column])))
                ordered[i] = (*flags)[column];
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
static alm_status file_reader(alm_ctx *cx, alm_arena *arena, const alm_import *import,
                              size_t record_max, alm_csv_reader **out)
{
    if (import->ndjson)
        return alm_ndjson_reader_new(cx, arena, cx->mem, import->keys, import->shape.n_cols,
                                     record_max, out);
    return alm_csv_reader_new(cx, arena, cx->mem, import->shape.delimiter, import->shape.n_cols,
                              record_max, out);
}

static alm_status open_reader(alm_ctx *cx, alm_import *import, size_t record_max)
{
    alm_copy_format *format = NULL;
    if (import->conf.format == NULL)
        return file_reader(cx, cx->arena, import, record_max, &import->load.reader);
    ALM_TRY(ALM_NEW(cx, cx->arena, &format));
    *format = *import->conf.format;
    ALM_TRY(order_flags(cx, import, &format->force_null));
    ALM_TRY(order_flags(cx, import, &format->force_not_null));
    return alm_copy_reader_new(cx, cx->arena, cx->mem, format, import->shape.n_cols, record_max,
                               &import->load.reader);
}

static alm_status keep_texts(alm_ctx *cx, alm_import *import, const alm_csv_block *block)
{
    const uint32_t n_cols = import->shape.n_cols,
                   first = import->shape.header && !import->ndjson ? 1 : 0;
    const uint32_t rows = block->rows > first ? block->rows - first : 0;
    alm_str text;
    import->n_texts = ALM_MIN(rows, import->conf.look);
    ALM_TRY(ALM_NEWN(cx, cx->arena, (size_t)n_cols * import->n_texts + 1, &import->texts));
    for (uint32_t row = 0; row < import->n_texts; row++)
        for (uint32_t i = 0; i < n_cols; i++) {
            const alm_csv_field *field = &block->fields[(size_t)i * block->stride + first + row];
            ALM_TRY(alm_csv_text(cx, cx->arena, block, field, &text));
            if (text.ptr != NULL)
                ALM_TRY(
                    alm_arena_copy(cx, cx->arena, text, &import->texts[(size_t)row * n_cols + i]));
        }
    return ALM_OK;
}

/* The first rows as texts, of files that a client cannot read as it reads CSV. */
static alm_status show_rows(alm_ctx *cx, alm_import *import, bool whole)
{
    alm_csv_reader *reader = NULL;
    alm_csv_block block = {0};
    alm_arena arena;
    if (import->conf.look == 0 || !(import->ndjson || import->unpacker != NULL))
        return ALM_OK;
    alm_arena_init(&arena, cx->mem);
    alm_status status = file_reader(cx, &arena, import, import->sample.len + 1, &reader);
    if (status == ALM_OK)
        status = alm_csv_feed(cx, reader, import->sample.ptr, import->sample.len);
    if (status == ALM_OK)
        status = alm_csv_next(cx, reader, whole, &block);
    if (status == ALM_OK)
        status = keep_texts(cx, import, &block);
    alm_csv_reader_free(reader);
    alm_arena_deinit(&arena);
    return status;
}

static alm_status import_start(alm_ctx *cx, alm_import *import, bool whole)
{
    const alm_import_conf *conf = &import->conf;
    const alm_str sample = {import->sample.ptr, import->sample.len};
    const struct alm_conf *settings = alm_db_conf(alm_session_db(import->session));
    const char *const *names = NULL;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_session_db(import->session)), &snap));
    const alm_status status =
        import_prepare(cx, import, whole, alm_snapshot_find(snap, conf->table));
    alm_snapshot_release(snap);
    ALM_TRY(status);
    if (import->shape.n_cols == 0)
        return ALM_OK; /* an empty file */
    ALM_TRY(open_reader(cx, import, (size_t)settings->copy_record_bytes_max));
    ALM_TRY(compile_patterns(cx, import));
    if (conf->format == NULL)
        ALM_TRY(set_units(cx, import));
    ALM_TRY(mark_exact(cx, import));
    if (conf->match)
        ALM_TRY(shape_names(cx, &import->shape, &names));
    import->load = (alm_load){.table = alm_ingest_table(import->ingest),
                              .reader = import->load.reader,
                              .n_cols = import->shape.n_cols,
                              .table_col = import->table_col,
                              .rule = conf->rule,
                              .skip_max = conf->skip_max,
                              .skip_extra = conf->skip_extra,
                              .strict = conf->format != NULL,
                              .header = import->shape.header && !import->ndjson,
                              .names = names,
                              .what = conf->what,
                              .workers = alm_session_db(import->session)->workers,
                              .sink = import_take_rows,
                              .arg = import};
    ALM_TRY(alm_load_init(cx, cx->arena, &import->load, true));
    ALM_TRY(show_rows(cx, import, whole));
    ALM_TRY(alm_csv_feed(cx, import->load.reader, sample.ptr, sample.len));
    alm_buf_deinit(&import->sample);
    alm_buf_init(&import->sample, cx->mem);
    return ALM_OK;
}

/* ----------------------------------------------------------------------- bytes */

void alm_import_init(alm_ctx *cx, alm_import *import, alm_session *session,
                     const alm_import_conf *conf)
{
    *import = (alm_import){.conf = *conf, .session = session, .file_rows = -1};
    alm_buf_init(&import->sample, cx->mem);
}

/* The byte order mark of a file in a form of COPY, which has none. */
static void drop_mark(alm_import *import)
{
    if (import->conf.format == NULL || import->conf.format->kind == ALM_COPY_BINARY ||
        import->marked || import->sample.len < 3)
        return;
    import->marked = true;
    if (memcmp(import->sample.ptr, "\xef\xbb\xbf", 3) != 0)
        return;
    import->sample.len -= 3;
    (void)memmove(import->sample.ptr, import->sample.ptr + 3, import->sample.len);
}

static alm_status begin_parquet(alm_ctx *cx, alm_import *import)
{
    ALM_TRY(alm_parquet_load_new(cx, import->session, import->conf.part, &import->parquet));
    ALM_TRY(alm_parquet_load_feed(cx, import->parquet, import->sample.ptr, import->sample.len));
    alm_buf_deinit(&import->sample);
    alm_buf_init(&import->sample, cx->mem);
    return ALM_OK;
}

static alm_status feed_plain(alm_ctx *cx, alm_import *import, const char *bytes, size_t n);

static alm_status import_take_unpacked(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    return feed_plain(cx, arg, bytes, n);
}

/* What came is the beginning of a packed file; what it holds is looked at in its turn. */
static alm_status begin_unpacking(alm_ctx *cx, alm_import *import, alm_pack_form form)
{
    alm_buf packed = import->sample;
    if (import->unpacker != NULL)
        return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file holds another packed file",
                        alm_unpacker_name(import->unpacker));
    alm_buf_init(&import->sample, cx->mem);
    const struct alm_conf *conf = alm_db_conf(alm_session_db(import->session));
    alm_status status = alm_unpacker_new(cx, form, (uint64_t)conf->http_request_body_max,
                                         "http.request.body.max", &import->unpacker);
    if (status == ALM_OK)
        status = alm_unpack(cx, import->unpacker, (alm_str){packed.ptr, packed.len},
                            import_take_unpacked, import);
    alm_buf_deinit(&packed);
    return status;
}

static alm_status refuse_kind(alm_ctx *cx, const alm_import *import, const char *name)
{
    return alm_fail(
        cx, ALM_E_FORMAT, -1,
        "the file is %s%s%s: CSV, NDJSON (a JSON object on each line) and Parquet files "
        "are read, packed by gzip or zstd or as they are",
        name, import->unpacker != NULL ? " packed by " : "",
        import->unpacker != NULL ? alm_unpacker_name(import->unpacker) : "");
}

/* What is the file? whole: no more of it will come. */
static alm_status import_look(alm_ctx *cx, alm_import *import, bool whole)
{
    const alm_import_kind said = import->conf.kind;
    const alm_str head = {import->sample.ptr, import->sample.len};
    const char *name = NULL;
    if (said == ALM_IMPORT_PARQUET) {
        import->looked = true;
        return begin_parquet(cx, import);
    }
    alm_file_kind kind = ALM_FILE_TEXT;
    if (import->conf.format == NULL)
        kind = alm_file_kind_of(head, whole || head.len >= ALM_CSV_SAMPLE_BYTES,
                                said == ALM_IMPORT_ANY, &name);
    import->looked = kind != ALM_FILE_MORE;
    import->ndjson = kind == ALM_FILE_NDJSON || said == ALM_IMPORT_NDJSON;
    switch (kind) {
    case ALM_FILE_GZIP:
    case ALM_FILE_ZSTD:
        import->looked = import->ndjson = false;
        return begin_unpacking(cx, import, kind == ALM_FILE_GZIP ? ALM_PACK_GZIP : ALM_PACK_ZSTD);
    case ALM_FILE_PARQUET:
        return said == ALM_IMPORT_ANY ? begin_parquet(cx, import)
                                      : ALM_OK; /* letters, in a CSV file */
    case ALM_FILE_FOREIGN:
        return refuse_kind(cx, import, name);
    case ALM_FILE_TEXT:
    case ALM_FILE_NDJSON:
    case ALM_FILE_MORE:
    default:
        return ALM_OK;
    }
}

static alm_status feed_plain(alm_ctx *cx, alm_import *import, const char *bytes, size_t n)
{
    if (import->parquet != NULL)
        return alm_parquet_load_feed(cx, import->parquet, bytes, n);
    if (!import->started) {
        ALM_TRY(alm_buf_append(cx, &import->sample, bytes, n));
        const alm_unpacker *const unpacker = import->unpacker;
        if (!import->looked &&
            (import->conf.kind == ALM_IMPORT_PARQUET || import->sample.len >= ALM_FILE_LOOK_BYTES))
            ALM_TRY(import_look(cx, import, false));
        if (import->parquet != NULL || import->unpacker != unpacker)
            return ALM_OK; /* the bytes went there */
        drop_mark(import);
        if (import->sample.len < ALM_CSV_SAMPLE_BYTES)
            return ALM_OK;
        ALM_TRY(import_start(cx, import, false));
    } else if (import->load.reader != NULL) {
        ALM_TRY(alm_csv_feed(cx, import->load.reader, bytes, n));
    }
    return import->load.reader != NULL ? alm_load_rows(cx, &import->load, false) : ALM_OK;
}

/* May the table be written, before any byte is kept? */
static alm_status import_ask(alm_ctx *cx, alm_import *import)
{
    if (import->asked)
        return ALM_OK;
    import->asked = true;
    ALM_TRY(import_check_name(cx, import->conf.table));
    if (alm_ingest_may(import->session, import->conf.table, import->conf.overwrite) != ALM_OK)
        return session_error(cx, import);
    return ALM_OK;
}

alm_status alm_import_may(alm_ctx *cx, alm_import *import)
{
    if (import->conf.table.len > 0)
        return import_ask(cx, import);
    if (alm_session_may_ingest(import->session, import->conf.overwrite) != ALM_OK)
        return session_error(cx, import);
    return ALM_OK;
}

alm_status alm_import_feed(alm_ctx *cx, alm_import *import, const char *bytes, size_t n)
{
    ALM_TRY(import_ask(cx, import));
    if (import->unpacker != NULL)
        return alm_unpack(cx, import->unpacker, (alm_str){bytes, n}, import_take_unpacked, import);
    return feed_plain(cx, import, bytes, n);
}

/* All of the file is there: its table is found or made. */
static alm_status start_parquet(alm_ctx *cx, alm_import *import)
{
    alm_csv_shape *shape = &import->shape;
    const char *left_out = NULL;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_parquet_load_open(cx, import->parquet, shape, &left_out));
    import->file_rows = alm_parquet_load_file_rows(import->parquet);
    if (!alm_parquet_load_wants(import->parquet, &import->wanted, &import->wanted_tail))
        import->wanted = (alm_parquet_part){0};
    if (left_out != NULL)
        alm_import_warn(import, left_out);
    ALM_TRY(import_keep_names(cx, import));
    if (import->conf.adjust != NULL)
        ALM_TRY(import->conf.adjust(cx, import->conf.arg, shape));
    for (uint32_t i = 0; i < shape->n_cols; i++)
        if (shape->cols[i].pattern.len > 0)
            return alm_fail(cx, ALM_E_ARG, -1, "column '%s' has a pattern: those are for CSV files",
                            shape->cols[i].name);
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_session_db(import->session)), &snap));
    const alm_status status =
        import_open_table(cx, import, alm_snapshot_find(snap, import->conf.table));
    alm_snapshot_release(snap);
    ALM_TRY(status);
    import->started = true;
    import->load = (alm_load){.table = alm_ingest_table(import->ingest),
                              .n_cols = shape->n_cols,
                              .table_col = import->table_col,
                              .rule = import->conf.rule,
                              .workers = alm_session_db(import->session)->workers,
                              .sink = import_take_rows,
                              .arg = import};
    ALM_TRY(set_units(cx, import));
    ALM_TRY(alm_load_init(cx, cx->arena, &import->load, true));
    return alm_parquet_load_begin(cx, import->parquet, &import->load);
}

alm_status alm_import_step(alm_ctx *cx, alm_import *import, bool *done)
{
    *done = true;
    if (import->parquet == NULL)
        return ALM_OK;
    ALM_TRY(alm_parquet_load_step(cx, import->parquet, &import->load, import->conf.look, done));
    if (import->conf.look == 0)
        return ALM_OK;
    *done = true;
    import->n_texts = import->conf.look;
    return alm_parquet_load_texts(cx, import->parquet, &import->n_texts, &import->texts);
}

alm_status alm_import_rest(alm_ctx *cx, alm_import *import)
{
    ALM_TRY(import_ask(cx, import));
    for (int packed = 0; packed < 2 && !import->looked; packed++)
        ALM_TRY(import_look(
            cx, import,
            true)); /* few bytes came, perhaps none; of a packed file they are looked at, too */
    if (import->unpacker != NULL && !alm_unpacker_is_whole(import->unpacker)) {
        if (import->conf.look == 0)
            return alm_fail(cx, ALM_E_FORMAT, -1, "the %s file is cut off: its end is missing",
                            alm_unpacker_name(import->unpacker));
        import->cut = true;
    }
    if (import->parquet != NULL)
        return start_parquet(cx, import);
    if (!import->started)
        ALM_TRY(import_start(cx, import, !import->cut));
    if (import->load.reader == NULL)
        return ALM_OK;
    ALM_TRY(alm_load_rows(cx, &import->load, !import->cut));
    return import->conf.format != NULL ? alm_copy_complete(cx, import->load.reader) : ALM_OK;
}

alm_status alm_import_commit(alm_ctx *cx, alm_import *import)
{
    alm_ingest *ingest = import->ingest;
    import->ingest = NULL;
    if (ingest == NULL || alm_ingest_commit(ingest, &import->imported) == ALM_OK)
        return ALM_OK;
    return session_error(cx, import);
}

void alm_import_deinit(alm_import *import)
{
    if (import->ingest != NULL)
        alm_ingest_rollback(import->ingest);
    import->ingest = NULL;
    alm_load_deinit(&import->load);
    alm_parquet_load_free(import->parquet);
    import->parquet = NULL;
    alm_unpacker_free(import->unpacker);
    import->unpacker = NULL;
    alm_buf_deinit(&import->sample);
}
