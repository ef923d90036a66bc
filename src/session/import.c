/* import.c - see import.h. */
#include "session/import.h"

#include "session/session_state.h"
#include "time/format.h"

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
        ts->type.id == ALM_T_VARCHAR)
        ts->type = ALM_TY(TIMESTAMP);
    if (!alm_type_is_timestamp(ts->type))
        return alm_fail(cx, ALM_E_TYPE, -1, "column '%s' is not a timestamp [type=%s]", ts->name,
                        alm_type_name(ts->type));
    return ALM_OK;
}

/* Columns of the table: by name when the file has a header, else by position. */
static alm_status match_columns(alm_ctx *cx, alm_import *im)
{
    const alm_table *table = alm_ingest_table(im->ingest);
    alm_csv_shape *shape = &im->shape;
    uint8_t *taken = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, shape->n_cols, &im->table_col));
    ALM_TRY(ALM_NEWN(cx, cx->arena, table->n_cols + 1, &taken));
    if (!shape->header && shape->n_cols > table->n_cols)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "the file has %u columns and no header, table '%s' has %u columns",
                        shape->n_cols, table->name, table->n_cols);
    for (uint32_t i = 0; i < shape->n_cols; i++) {
        int32_t col = (int32_t)i;
        if (shape->header)
            col = alm_table_col(table, alm_str_of(shape->cols[i].name));
        if (col < 0)
            return alm_fail(cx, ALM_E_NAME, -1, "table '%s' has no column '%s'", table->name,
                            shape->cols[i].name);
        if (taken[col])
            return alm_fail(cx, ALM_E_DUPLICATE, -1, "column '%s' comes twice",
                            table->cols[col].name);
        taken[col] = 1;
        im->table_col[i] = (uint32_t)col;
        shape->cols[i].type = table->cols[col].type;
    }
    if (table->ts_col >= 0 && !taken[table->ts_col])
        return alm_fail(cx, ALM_E_NAME, -1, "the file lacks the designated timestamp '%s'",
                        table->cols[table->ts_col].name);
    return ALM_OK;
}

static alm_status open_table(alm_ctx *cx, alm_import *im)
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
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_session_db(im->session)), &snap));
    const alm_table *found = alm_snapshot_find(snap, conf->table);
    im->existed = found != NULL && !conf->overwrite;
    alm_status st = ALM_OK;
    if (!im->existed)
        st = find_timestamp(cx, im, cols, &spec.ts_col);
    else if (conf->partition_by.len > 0 && found->partition != spec.partition)
        im->warning = "Existing table PartitionBy is used";
    alm_snapshot_release(snap);
    ALM_TRY(st);
    if (found == NULL && !conf->create)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s] and create param was set to false.",
                        (int)conf->table.len, conf->table.ptr);
    if (alm_ingest_begin(im->session, &spec, conf->overwrite, &im->ingest) != ALM_OK)
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

static alm_status start(alm_ctx *cx, alm_import *im, bool whole)
{
    const alm_import_conf *conf = &im->conf;
    const alm_str sample = {im->sample.ptr, im->sample.len};
    const struct alm_conf *settings = alm_db_conf(alm_session_db(im->session));
    ALM_TRY(
        alm_csv_detect(cx, cx->arena, sample, whole, conf->delimiter, conf->header, &im->shape));
    ALM_TRY(check_name(cx, conf->table));
    im->started = true;
    if (im->shape.n_cols == 0)
        return ALM_OK; /* an empty file */
    if (conf->adjust != NULL)
        ALM_TRY(conf->adjust(cx, conf->arg, &im->shape));
    ALM_TRY(open_table(cx, im));
    ALM_TRY(alm_csv_reader_new(cx, cx->arena, cx->mem, im->shape.delimiter, im->shape.n_cols,
                               (size_t)settings->copy_record_bytes_max, &im->load.reader));
    ALM_TRY(compile_patterns(cx, im));
    im->load = (alm_load){.table = alm_ingest_table(im->ingest),
                          .reader = im->load.reader,
                          .n_cols = im->shape.n_cols,
                          .table_col = im->table_col,
                          .rule = conf->rule,
                          .skip_extra = conf->skip_extra,
                          .header = im->shape.header,
                          .what = conf->what,
                          .workers = alm_session_db(im->session)->workers,
                          .sink = take_rows,
                          .arg = im};
    ALM_TRY(alm_load_init(cx, cx->arena, &im->load));
    ALM_TRY(alm_csv_feed(cx, im->load.reader, sample.ptr, sample.len));
    alm_buf_deinit(&im->sample);
    alm_buf_init(&im->sample, cx->mem);
    return ALM_OK;
}

/* ----------------------------------------------------------------------- bytes */

void alm_import_init(alm_ctx *cx, alm_import *im, alm_session *session, const alm_import_conf *conf)
{
    *im = (alm_import){.conf = *conf, .session = session};
    alm_buf_init(&im->sample, cx->mem);
}

alm_status alm_import_feed(alm_ctx *cx, alm_import *im, const char *bytes, size_t n)
{
    if (!im->started) {
        ALM_TRY(alm_buf_append(cx, &im->sample, bytes, n));
        if (im->sample.len < ALM_CSV_SAMPLE_BYTES)
            return ALM_OK;
        ALM_TRY(start(cx, im, false));
    } else if (im->load.reader != NULL) {
        ALM_TRY(alm_csv_feed(cx, im->load.reader, bytes, n));
    }
    return im->load.reader != NULL ? alm_load_rows(cx, &im->load, false) : ALM_OK;
}

alm_status alm_import_rest(alm_ctx *cx, alm_import *im)
{
    if (!im->started)
        ALM_TRY(start(cx, im, true));
    return im->load.reader != NULL ? alm_load_rows(cx, &im->load, true) : ALM_OK;
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
    alm_buf_deinit(&im->sample);
}
