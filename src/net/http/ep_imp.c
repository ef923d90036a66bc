/*
 * ep_imp.c - /imp: a CSV file as multipart/form-data into a table, on query threads, streaming.
 *
 * The body comes in pieces; when enough is there, a piece of work splits it into blocks, converts them
 * column by column and hands them to the load. Nothing is visible before all of it is (one commit).
 * A failure answers 4xx with the same body as the reference gives with 200.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "codec/csv/csv.h"
#include "net/http/import_report.h"
#include "net/http/multipart.h"
#include "net/http/query_run.h"
#include "storage/catalog.h"

/* SYMBOL_CAPACITY: what CREATE TABLE declares when nothing is said. */
enum { PIECE_BYTES = 1 << 20, RECORD_MAX = 64 << 20, SCHEMA_MAX = 1 << 20, SYMBOL_CAPACITY = 256 };

typedef enum bad_rule { BAD_SKIP_COLUMN, BAD_SKIP_ROW, BAD_ABORT } bad_rule;

typedef enum part_kind { PART_NONE, PART_SCHEMA, PART_FILE } part_kind;

typedef struct import_run {
    alm_http *h;
    alm_session *session;
    alm_ctx cx;
    alm_mem mem;
    alm_arena arena; /* of the import */
    alm_arena batch; /* of one block */
    alm_multipart parts;
    bool parts_ready;
    alm_buf in; /* body bytes that wait for work */
    bool last;
    part_kind part;
    alm_buf schema, sample; /* texts until the table is known */
    alm_str file_name;
    /* parameters */
    alm_str name, timestamp, partition_by;
    bool overwrite, force_header, create, json, skip_extra;
    char delimiter;
    bad_rule rule;
    /* once the file's shape is known */
    bool started;
    alm_csv_shape shape;
    alm_csv_reader *reader;
    alm_ingest *ingest;
    uint32_t *table_col; /* of each file column */
    bool header_pending;
    alm_import_report report;
    bool failed;
} import_run;

/* ---------------------------------------------------------------- parameters */

static bool param_true(const alm_http *h, const char *name)
{
    const alm_str value = alm_http_param(&h->req, name);
    return value.ptr != NULL && alm_str_ieq(value, ALM_STR("true"));
}

static void read_params(import_run *run)
{
    const alm_http_request *req = &run->h->req;
    run->name = alm_http_param(req, "name");
    run->timestamp = alm_http_param(req, "timestamp");
    run->partition_by = alm_http_param(req, "partitionBy");
    run->overwrite = param_true(run->h, "overwrite");
    run->force_header = param_true(run->h, "forceHeader");
    run->skip_extra = param_true(run->h, "skipLev");
    run->json = alm_http_param_is(req, "fmt", "json");
    const alm_str create = alm_http_param(req, "create");
    run->create = create.ptr == NULL || !alm_str_ieq(create, ALM_STR("false"));
    const alm_str delimiter = alm_http_param(req, "delimiter");
    run->delimiter = delimiter.len > 0 ? delimiter.ptr[0] : 0;
    const alm_str rule = alm_http_param(req, "atomicity");
    run->rule = alm_str_ieq(rule, ALM_STR("abort"))     ? BAD_ABORT
                : alm_str_ieq(rule, ALM_STR("skipRow")) ? BAD_SKIP_ROW
                                                        : BAD_SKIP_COLUMN;
}

static const struct {
    const char *name;
    alm_partition_by unit;
} units[] = {{"NONE", ALM_PART_NONE}, {"HOUR", ALM_PART_HOUR},   {"DAY", ALM_PART_DAY},
             {"WEEK", ALM_PART_WEEK}, {"MONTH", ALM_PART_MONTH}, {"YEAR", ALM_PART_YEAR}};

static alm_status partition_unit(import_run *run, alm_partition_by *out)
{
    *out = ALM_PART_NONE;
    if (run->partition_by.len == 0)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(units); i++) {
        if (!alm_str_ieq(run->partition_by, alm_str_of(units[i].name)))
            continue;
        *out = units[i].unit;
        if (*out != ALM_PART_NONE && run->timestamp.len == 0)
            return alm_fail(&run->cx, ALM_E_ARG, -1,
                            "when specifying partitionBy you must also specify timestamp");
        return ALM_OK;
    }
    return alm_fail(&run->cx, ALM_E_ARG, -1, "invalid partitionBy");
}

/* --------------------------------------------------------------------- table */

static alm_status check_name(import_run *run)
{
    const alm_str name = run->name;
    if (name.len == 0)
        return alm_fail(&run->cx, ALM_E_ARG, -1, "no file name given");
    if (!alm_table_name_ok(name))
        return alm_fail(&run->cx, ALM_E_ARG, -1, "invalid table name [table=%.*s]", (int)name.len,
                        name.ptr);
    return ALM_OK;
}

static alm_status find_timestamp(import_run *run, alm_column *cols, int32_t *out)
{
    *out = -1;
    if (run->timestamp.len == 0)
        return ALM_OK;
    for (uint32_t i = 0; i < run->shape.n_cols; i++)
        if (alm_str_ieq(run->timestamp, alm_str_of(cols[i].name)))
            *out = (int32_t)i;
    if (*out < 0)
        return alm_fail(&run->cx, ALM_E_NAME, -1, "invalid timestamp column '%.*s'",
                        (int)run->timestamp.len, run->timestamp.ptr);
    alm_column *ts = &cols[*out];
    if (ts->type.id == ALM_T_DATE || ts->type.id == ALM_T_LONG || ts->type.id == ALM_T_INT ||
        ts->type.id == ALM_T_VARCHAR)
        ts->type = ALM_TY(TIMESTAMP);
    if (!alm_type_is_timestamp(ts->type))
        return alm_fail(&run->cx, ALM_E_TYPE, -1, "column '%s' is not a timestamp [type=%s]",
                        ts->name, alm_type_name(ts->type));
    return ALM_OK;
}

/* Columns of an existing table: by name when the file has a header, else by position. */
static alm_status match_columns(import_run *run)
{
    const alm_table *table = alm_ingest_table(run->ingest);
    uint8_t *taken = NULL;
    ALM_TRY(ALM_NEWN(&run->cx, &run->arena, table->n_cols + 1, &taken));
    if (!run->shape.header && run->shape.n_cols > table->n_cols)
        return alm_fail(&run->cx, ALM_E_ARG, -1,
                        "the file has %u columns and no header, table '%s' has %u columns",
                        run->shape.n_cols, table->name, table->n_cols);
    for (uint32_t i = 0; i < run->shape.n_cols; i++) {
        int32_t col = (int32_t)i;
        if (run->shape.header)
            col = alm_table_col(table, alm_str_of(run->shape.cols[i].name));
        if (col < 0)
            return alm_fail(&run->cx, ALM_E_NAME, -1, "table '%s' has no column '%s'", table->name,
                            run->shape.cols[i].name);
        if (taken[col])
            return alm_fail(&run->cx, ALM_E_DUPLICATE, -1, "column '%s' comes twice",
                            table->cols[col].name);
        taken[col] = 1;
        run->table_col[i] = (uint32_t)col;
        run->shape.cols[i].type = table->cols[col].type;
    }
    if (table->ts_col >= 0 && !taken[table->ts_col])
        return alm_fail(&run->cx, ALM_E_NAME, -1, "the file lacks the designated timestamp '%s'",
                        table->cols[table->ts_col].name);
    return ALM_OK;
}

static alm_status open_table(import_run *run)
{
    alm_ctx *cx = &run->cx;
    alm_column *cols = NULL;
    alm_table_spec spec = {.name = run->name, .n_cols = run->shape.n_cols, .wal = true};
    ALM_TRY(partition_unit(run, &spec.partition));
    ALM_TRY(ALM_NEWN(cx, &run->arena, run->shape.n_cols, &cols));
    for (uint32_t i = 0; i < run->shape.n_cols; i++)
        cols[i] = (alm_column){.name = run->shape.cols[i].name,
                               .type = run->shape.cols[i].type,
                               .symbol_capacity = SYMBOL_CAPACITY,
                               .symbol_cached = true};
    spec.cols = cols;
    alm_snapshot *snap = NULL;
    ALM_TRY(alm_snapshot_acquire(cx, alm_db_storage(alm_conn_db(run->h->conn)), &snap));
    const alm_table *found = alm_snapshot_find(snap, run->name);
    run->report.existed = found != NULL && !run->overwrite;
    alm_status st = ALM_OK;
    if (!run->report.existed)
        st = find_timestamp(run, cols, &spec.ts_col);
    else if (run->partition_by.len > 0 && found->partition != spec.partition)
        run->report.warning = "Existing table PartitionBy is used";
    alm_snapshot_release(snap);
    ALM_TRY(st);
    if (found == NULL && !run->create)
        return alm_fail(cx, ALM_E_TABLE, -1,
                        "table does not exist [table=%.*s] and create param was set to false.",
                        (int)run->name.len, run->name.ptr);
    if (alm_ingest_begin(run->session, &spec, run->overwrite, &run->ingest) != ALM_OK) {
        const alm_error *err = alm_session_error(run->session);
        return alm_fail(cx, err->code, -1, "%s", err->msg);
    }
    ALM_TRY(ALM_NEWN(cx, &run->arena, run->shape.n_cols, &run->table_col));
    return match_columns(run);
}

static alm_status start_table(import_run *run, bool whole)
{
    alm_ctx *cx = &run->cx;
    ALM_TRY(alm_csv_detect(
        cx, &run->arena, (alm_str){run->sample.ptr, run->sample.len}, whole, run->delimiter,
        run->force_header ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_DETECT, &run->shape));
    if (run->name.len == 0)
        run->name = run->file_name;
    ALM_TRY(check_name(run));
    run->started = true;
    run->report.name = run->name;
    run->report.header = run->shape.header;
    run->report.delimiter = run->shape.delimiter;
    if (run->shape.n_cols == 0)
        return ALM_OK; /* an empty file: a report of nothing */
    ALM_TRY(alm_schema_apply(cx, &run->arena, (alm_str){run->schema.ptr, run->schema.len},
                             &run->shape));
    ALM_TRY(open_table(run));
    ALM_TRY(alm_import_report_init(cx, &run->arena, &run->report, &run->shape,
                                   alm_ingest_table(run->ingest)));
    ALM_TRY(alm_csv_reader_new(cx, &run->arena, &run->mem, run->shape.delimiter, run->shape.n_cols,
                               RECORD_MAX, &run->reader));
    run->header_pending = run->shape.header;
    ALM_TRY(alm_csv_feed(cx, run->reader, run->sample.ptr, run->sample.len));
    alm_buf_deinit(&run->sample);
    alm_buf_init(&run->sample, NULL);
    return ALM_OK;
}

/* ---------------------------------------------------------------------- rows */

/* Which rows of the block go into the table; idx gets their numbers. */
static alm_status choose_rows(import_run *run, const alm_csv_block *block, const uint8_t *bad,
                              const uint8_t *bad_ts, uint32_t *idx, uint32_t *n)
{
    *n = 0;
    for (uint32_t i = run->header_pending ? 1 : 0; i < block->rows; i++) {
        const bool ragged = block->ragged[i] == 2 && !run->skip_extra;
        if (!ragged && !bad_ts[i] && (!bad[i] || run->rule == BAD_SKIP_COLUMN)) {
            idx[(*n)++] = i;
            continue;
        }
        run->report.rejected++;
        if (run->rule == BAD_ABORT)
            return alm_fail(&run->cx, ALM_E_VALUE, -1, "line %llu: %s",
                            (unsigned long long)block->lines[i],
                            ragged ? "more values than columns"
                                   : "a value does not fit the type of its column");
    }
    return ALM_OK;
}

static alm_status convert_block(import_run *run, const alm_csv_block *block, alm_vec *vecs,
                                uint8_t *bad, uint8_t *bad_ts)
{
    alm_ctx *cx = &run->cx;
    const alm_table *table = alm_ingest_table(run->ingest);
    const uint32_t header = run->header_pending ? 1 : 0;
    uint8_t *bad_col = NULL;
    ALM_TRY(ALM_NEWN(cx, &run->batch, block->rows, &bad_col));
    for (uint32_t i = 0; i < run->shape.n_cols; i++) {
        const uint32_t col = run->table_col[i];
        uint32_t n_bad = 0;
        (void)memset(bad_col, 0, block->rows);
        ALM_TRY(alm_csv_convert(cx, &run->batch, block, i, table->cols[col].type, bad_col, &n_bad,
                                &vecs[col]));
        if (n_bad > 0)
            for (uint32_t row = header; row < block->rows; row++) {
                bad[row] |= bad_col[row];
                run->report.errors[i] += bad_col[row];
            }
        if ((int32_t)col == table->ts_col) {
            const int64_t *ts = vecs[col].data;
            for (uint32_t row = 0; row < block->rows; row++)
                bad_ts[row] = ts[row] == ALM_TS_NULL;
        }
    }
    return ALM_OK;
}

static alm_status load_block(import_run *run, const alm_csv_block *block)
{
    alm_ctx *cx = &run->cx;
    const alm_table *table = alm_ingest_table(run->ingest);
    alm_vec *vecs = NULL;
    uint8_t *bad = NULL, *bad_ts = NULL;
    uint32_t *idx = NULL, n = 0;
    ALM_TRY(ALM_NEWN(cx, &run->batch, table->n_cols, &vecs));
    ALM_TRY(ALM_NEWN(cx, &run->batch, block->rows, &bad));
    ALM_TRY(ALM_NEWN(cx, &run->batch, block->rows, &bad_ts));
    ALM_TRY(ALM_NEWN(cx, &run->batch, block->rows, &idx));
    ALM_TRY(convert_block(run, block, vecs, bad, bad_ts));
    ALM_TRY(choose_rows(run, block, bad, bad_ts, idx, &n));
    run->report.handled += block->rows - (run->header_pending ? 1 : 0);
    run->header_pending = false;
    for (uint32_t i = 0; i < table->n_cols; i++) {
        if (vecs[i].data == NULL)
            ALM_TRY(alm_vec_null(cx, &run->batch, table->cols[i].type, &vecs[i]));
        else if (n < block->rows)
            ALM_TRY(alm_vec_gather(cx, &run->batch, &vecs[i], idx, n, &vecs[i]));
    }
    if (n == 0)
        return ALM_OK;
    const alm_batch batch = {.rows = n, .n_cols = table->n_cols, .cols = vecs};
    if (alm_ingest_append(run->ingest, &batch) != ALM_OK) {
        const alm_error *err = alm_session_error(run->session);
        return alm_fail(cx, err->code, -1, "%s", err->msg);
    }
    return ALM_OK;
}

static alm_status load_rows(import_run *run, bool last)
{
    for (;;) {
        alm_csv_block block;
        ALM_TRY(alm_csv_next(&run->cx, run->reader, last, &block));
        if (block.rows == 0)
            return ALM_OK;
        alm_arena_reset(&run->batch);
        ALM_TRY(load_block(run, &block));
    }
}

/* ------------------------------------------------------------------ the body */

static alm_status on_part(alm_ctx *cx, void *arg, alm_str name, alm_str filename)
{
    import_run *run = arg;
    if (alm_str_eq(name, ALM_STR("schema"))) {
        run->part = PART_SCHEMA;
        if (run->sample.len > 0 || run->started)
            return alm_fail(cx, ALM_E_ARG, -1, "part 'schema' must come before part 'data'");
        return ALM_OK;
    }
    if (!alm_str_eq(name, ALM_STR("data")))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "invalid value in 'Content-Disposition' multipart header");
    run->part = PART_FILE;
    if (filename.ptr == NULL)
        return ALM_OK;
    return alm_arena_copy(cx, &run->arena, filename, &run->file_name);
}

static alm_status on_bytes(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    import_run *run = arg;
    if (run->part == PART_SCHEMA) {
        if (run->schema.len + n > SCHEMA_MAX)
            return alm_fail(cx, ALM_E_LIMIT, -1, "part 'schema' is longer than 1 MiB");
        return alm_buf_append(cx, &run->schema, bytes, n);
    }
    if (!run->started) {
        ALM_TRY(alm_buf_append(cx, &run->sample, bytes, n));
        return run->sample.len >= ALM_CSV_SAMPLE_BYTES ? start_table(run, false) : ALM_OK;
    }
    if (run->reader == NULL)
        return ALM_OK;
    ALM_TRY(alm_csv_feed(cx, run->reader, bytes, n));
    return load_rows(run, false);
}

static alm_status finish(import_run *run)
{
    alm_ctx *cx = &run->cx;
    ALM_TRY(alm_multipart_end(cx, &run->parts));
    if (!run->started)
        ALM_TRY(start_table(run, true));
    if (run->reader == NULL)
        return ALM_OK;
    ALM_TRY(load_rows(run, true));
    alm_ingest *ingest = run->ingest;
    const alm_table *table = alm_ingest_table(ingest);
    ALM_TRY(alm_import_report_table(cx, &run->arena, &run->report, table));
    run->ingest = NULL;
    if (alm_ingest_commit(ingest, &run->report.imported) != ALM_OK) {
        const alm_error *err = alm_session_error(run->session);
        return alm_fail(cx, err->code, -1, "%s", err->msg);
    }
    return ALM_OK;
}

static void work(void *arg)
{
    import_run *run = arg;
    alm_status st = alm_multipart_feed(&run->cx, &run->parts, run->in.ptr, run->in.len);
    run->in.len = 0;
    if (st == ALM_OK && run->last)
        st = finish(run);
    if (st != ALM_OK) {
        run->failed = true;
        if (run->ingest != NULL)
            alm_ingest_rollback(run->ingest);
        run->ingest = NULL;
    }
}

static void answer(import_run *run)
{
    alm_http *h = run->h;
    alm_buf out;
    alm_buf_init(&out, NULL);
    alm_error_clear(&h->cx);
    alm_status st = ALM_OK;
    const int status = run->failed ? alm_status_http(run->cx.err.code) : 200;
    const char *type = run->json ? "application/json; charset=utf-8" : "text/plain; charset=utf-8";
    if (run->failed)
        st = alm_import_report_failure(&h->cx, run->json, run->cx.err.msg, &out);
    else
        st = alm_import_report_write(&h->cx, &run->report, run->json, &out);
    if (st == ALM_OK)
        alm_http_reply(h, status, type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(h, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void work_done(alm_conn *conn, void *arg)
{
    import_run *run = arg;
    alm_http *h = run->h;
    (void)conn;
    if (!run->failed && !run->last)
        return;
    answer(run);
    if (h->state == ALM_HTTP_BODY)
        h->state = ALM_HTTP_DISCARD;
    alm_http_finished(h);
}

static bool take_body(alm_http *h, const char *bytes, size_t n)
{
    import_run *run = h->work;
    if (alm_buf_append(&run->cx, &run->in, bytes, n) != ALM_OK) {
        alm_http_reply_text(h, 503, "out of memory");
        return false;
    }
    const bool is_last =
        !h->req.chunked && h->body_left == (int64_t)n; /* end_body follows at once */
    if (run->in.len >= PIECE_BYTES && !is_last)
        alm_conn_work(h->conn, work, work_done, NULL, run);
    return true;
}

static void end_body(alm_http *h)
{
    import_run *run = h->work;
    run->last = true;
    alm_conn_work(h->conn, work, work_done, NULL, run);
}

static void begin(alm_http *h)
{
    const alm_str boundary = alm_multipart_boundary(alm_http_header(&h->req, "Content-Type"));
    if (boundary.ptr == NULL) {
        alm_http_reply_text(h, 400, "Non-multipart POST not supported");
        return;
    }
    if (!h->req.has_body) {
        alm_http_reply_text(h, 400, "Content-length not specified for POST/PUT request");
        return;
    }
    alm_session *session = alm_http_session(h);
    if (session == NULL)
        return;
    import_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        alm_http_reply_text(h, 503, "out of memory");
        return;
    }
    run->h = h;
    run->session = session;
    run->mem = (alm_mem){.name = "import", .limit_bytes = INT64_C(1) << 30};
    alm_arena_init(&run->arena, &run->mem);
    alm_arena_init(&run->batch, &run->mem);
    run->cx = (alm_ctx){.arena = &run->arena, .mem = &run->mem, .conf = h->cx.conf};
    h->work = run;
    read_params(run);
    const alm_multipart_events events = {.part = on_part, .bytes = on_bytes, .arg = run};
    if (alm_multipart_init(&run->cx, &run->parts, boundary, &events) != ALM_OK)
        alm_http_reply_text(h, 503, "out of memory");
    alm_conn_input_max(h->conn, 256 << 10);
}

static void close_run(alm_http *h)
{
    import_run *run = h->work;
    h->work = NULL;
    if (run == NULL)
        return;
    if (run->ingest != NULL)
        alm_ingest_rollback(run->ingest);
    alm_csv_reader_free(run->reader);
    alm_multipart_deinit(&run->parts);
    alm_buf_deinit(&run->in);
    alm_buf_deinit(&run->schema);
    alm_buf_deinit(&run->sample);
    alm_arena_deinit(&run->batch);
    alm_arena_deinit(&run->arena);
    free(run);
}

const alm_http_handler alm_ep_imp = {
    .begin = begin, .body = take_body, .end = end_body, .close = close_run};
