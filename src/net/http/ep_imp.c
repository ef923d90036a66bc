/*
 * ep_imp.c - /imp: a CSV, NDJSON or Parquet file, as multipart/form-data or as the body itself, into a table, on query threads, streaming.
 *
 * The body comes in pieces; when enough is there, a piece of work splits it into blocks, converts them
 * column by column and hands them to the load. A Parquet file goes to a temporary file instead, and its rows follow in
 * pieces of work when all of it is there. Nothing is visible before all of it is (one commit).
 * A failure answers 4xx with the same body as the reference gives with 200.
 */
#include <stdlib.h>

#include "base/conf.h"
#include "base/number.h"
#include "codec/compress/unpack.h"
#include "net/http/exchange/multipart.h"
#include "net/http/import_report.h"
#include "net/http/login/login.h"
#include "session/transfer/import.h"

enum { PIECE_BYTES = 1 << 20, SCHEMA_MAX = 1 << 20, LOOK_ROWS = 20 };

typedef enum part_kind { PART_NONE, PART_SCHEMA, PART_FILE } part_kind;

typedef struct import_run {
    alm_http *h;
    alm_session *session;
    alm_ctx cx;
    alm_mem mem;
    alm_arena arena; /* of the import */
    alm_multipart parts;
    alm_buf in; /* body bytes that wait for work */
    bool last;
    bool raw;      /* the body is the file */
    bool took_all; /* all bytes were taken; rows may still have to be */
    bool finished;
    part_kind part;
    bool had_schema, had_file;
    const char *unknown; /* a warning; NULL: none */
    alm_buf schema;
    bool json;
    bool preview; /* report what would be, and store nothing */
    alm_import import;
    alm_import_report report;
    bool failed;
} import_run;

/* ---------------------------------------------------------------- parameters */

static bool param_true(const alm_http *http, const char *name)
{
    const alm_str value = alm_http_param(&http->req, name);
    return value.ptr != NULL && alm_str_ieq(value, ALM_STR("true"));
}

static alm_status ep_imp_read_number(import_run *run, const char *name, int64_t *out)
{
    const alm_str value = alm_http_param(&run->h->req, name);
    if (value.len == 0 || (alm_int64_parse(value, out) == ALM_NUM_OK && *out >= 0))
        return ALM_OK;
    return alm_fail(&run->cx, ALM_E_ARG, -1, "invalid %s: a number expected", name);
}

static alm_status apply_schema(alm_ctx *cx, void *arg, alm_csv_shape *shape)
{
    import_run *run = arg;
    const char *unknown = NULL, *text = NULL;
    ALM_TRY(alm_schema_apply(cx, (alm_str){run->schema.ptr, run->schema.len}, shape, &unknown));
    if (unknown == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_printf(cx, &run->arena, &text, "the file has no column '%s' of the schema",
                             unknown));
    run->unknown = text;
    return ALM_OK;
}

static alm_status read_kind(import_run *run, alm_import_conf *conf)
{
    const alm_str format = alm_http_param(&run->h->req, "format");
    ALM_TRY(ep_imp_read_number(run, "fileSize", &conf->part.file_bytes));
    ALM_TRY(ep_imp_read_number(run, "groupFrom", &conf->part.from));
    ALM_TRY(ep_imp_read_number(run, "groupBytes", &conf->part.bytes));
    conf->look = run->preview ? LOOK_ROWS : 0;
    conf->kind = run->raw ? ALM_IMPORT_PARQUET : ALM_IMPORT_ANY;
    if (alm_str_ieq(format, ALM_STR("csv")))
        conf->kind = ALM_IMPORT_CSV;
    else if (alm_str_ieq(format, ALM_STR("parquet")))
        conf->kind = ALM_IMPORT_PARQUET;
    else if (alm_str_ieq(format, ALM_STR("ndjson")))
        conf->kind = ALM_IMPORT_NDJSON;
    else if (format.len > 0)
        return alm_fail(&run->cx, ALM_E_ARG, -1, "invalid format: csv, ndjson or parquet expected");
    if (run->raw && conf->kind != ALM_IMPORT_PARQUET)
        return alm_fail(&run->cx, ALM_E_ARG, -1,
                        "a file other than Parquet must come as multipart/form-data");
    if (conf->part.file_bytes > 0 && !(run->preview && conf->kind == ALM_IMPORT_PARQUET))
        return alm_fail(&run->cx, ALM_E_ARG, -1,
                        "fileSize is for preview=true and format=parquet alone");
    return ALM_OK;
}

static alm_status read_params(import_run *run, alm_import_conf *conf)
{
    const alm_http_request *req = &run->h->req;
    const alm_str create = alm_http_param(req, "create");
    const alm_str delimiter = alm_http_param(req, "delimiter");
    const alm_str rule = alm_http_param(req, "atomicity");
    run->json = alm_http_param_is(req, "fmt", "json");
    run->preview = param_true(run->h, "preview");
    *conf = (alm_import_conf){
        .table = alm_http_param(req, "name"),
        .timestamp = alm_http_param(req, "timestamp"),
        .partition_by = alm_http_param(req, "partitionBy"),
        .owner = alm_http_param(req, "owner"),
        .overwrite = param_true(run->h, "overwrite"),
        .create = create.ptr == NULL || !alm_str_ieq(create, ALM_STR("false")),
        .skip_extra = param_true(run->h, "skipLev"),
        .header = param_true(run->h, "forceHeader") ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_DETECT,
        .delimiter = alm_str_eq(delimiter, ALM_STR("\\t")) ? '\t'
                     : delimiter.len > 0                   ? delimiter.ptr[0]
                                                           : (char)0,
        .rule = alm_str_ieq(rule, ALM_STR("abort"))     ? ALM_BAD_ABORT
                : alm_str_ieq(rule, ALM_STR("skipRow")) ? ALM_BAD_SKIP_ROW
                                                        : ALM_BAD_SKIP_COLUMN,
        .adjust = apply_schema,
        .arg = run};
    const alm_str unit = alm_http_param(req, "timestampUnit");
    conf->unit = alm_epoch_of(unit);
    if (unit.len > 0 && conf->unit == ALM_EPOCH_NONE)
        return alm_fail(&run->cx, ALM_E_ARG, -1, "invalid timestampUnit: s, ms, us or ns expected");
    ALM_TRY(read_kind(run, conf));
    ALM_TRY(ep_imp_read_number(run, "maxUncommittedRows", &conf->max_uncommitted_rows));
    return ep_imp_read_number(run, "o3MaxLag", &conf->o3_max_lag_us);
}

/* As lists of what runs show it. */
static alm_status ep_imp_tell(import_run *run)
{
    const alm_str table = run->import.conf.table;
    const char *text = NULL;
    ALM_TRY(alm_arena_printf(&run->cx, &run->arena, &text, "/imp into '%.*s'", (int)table.len,
                             table.len > 0 ? table.ptr : ""));
    alm_session_work_text(run->session, alm_str_of(text));
    return ALM_OK;
}

/* ------------------------------------------------------------------ the body */

static alm_status come_once(alm_ctx *cx, bool *had, const char *part)
{
    if (*had)
        return alm_fail(cx, ALM_E_ARG, -1, "more than one part '%s'", part);
    *had = true;
    return ALM_OK;
}

static alm_status ep_imp_on_part(alm_ctx *cx, void *arg, alm_str name, alm_str filename)
{
    import_run *run = arg;
    if (alm_str_eq(name, ALM_STR("schema"))) {
        run->part = PART_SCHEMA;
        ALM_TRY(come_once(cx, &run->had_schema, "schema"));
        if (run->had_file)
            return alm_fail(cx, ALM_E_ARG, -1, "part 'schema' must come before part 'data'");
        return ALM_OK;
    }
    if (!alm_str_eq(name, ALM_STR("data")))
        return alm_fail(cx, ALM_E_ARG, -1,
                        "invalid value in 'Content-Disposition' multipart header");
    run->part = PART_FILE;
    ALM_TRY(come_once(cx, &run->had_file, "data"));
    if (filename.ptr == NULL || run->import.conf.table.len > 0)
        return ALM_OK;
    ALM_TRY(alm_arena_copy(cx, &run->arena, filename, &run->import.conf.table));
    return ep_imp_tell(run);
}

static alm_status ep_imp_on_bytes(alm_ctx *cx, void *arg, const char *bytes, size_t n)
{
    import_run *run = arg;
    if (run->part == PART_SCHEMA) {
        if (run->schema.len + n > SCHEMA_MAX)
            return alm_fail(cx, ALM_E_LIMIT, -1, "part 'schema' is longer than 1 MiB");
        return alm_buf_append(cx, &run->schema, bytes, n);
    }
    return alm_import_feed(cx, &run->import, bytes, n);
}

/* The counts, and what the table is like while it is known. */
static alm_status make_report(import_run *run)
{
    alm_import *import = &run->import;
    if (run->unknown != NULL)
        alm_import_warn(import, run->unknown);
    run->report = (alm_import_report){
        .name = import->conf.table,
        .header = import->shape.header,
        .existed = import->existed,
        .format = import->parquet != NULL ? "parquet"
                  : import->ndjson        ? "ndjson"
                                          : NULL,
        .packed = import->unpacker != NULL ? alm_unpacker_name(import->unpacker) : NULL,
        .file_rows = import->file_rows,
        .wanted_from = import->wanted.from,
        .wanted_bytes = import->wanted.bytes,
        .wanted_tail = import->wanted_tail,
        .source = import->source,
        .texts = import->texts,
        .n_texts = import->n_texts,
        .delimiter = import->shape.delimiter,
        .warnings = import->warnings,
        .n_warnings = import->n_warnings,
        .faults = import->load.faults,
        .n_faulty = import->load.n_faulty,
        .handled = import->load.handled,
        .rejected = import->load.rejected,
        .errors = import->load.errors};
    if (import->ingest == NULL)
        return ALM_OK; /* an empty file: a report of nothing */
    return alm_import_report_init(&run->cx, &run->arena, &run->report, &import->shape,
                                  alm_ingest_table(import->ingest));
}

/* All bytes came. */
static alm_status take_rest(import_run *run)
{
    alm_ctx *cx = &run->cx;
    if (!run->raw)
        ALM_TRY(alm_multipart_end(cx, &run->parts));
    if (!run->raw && !run->had_file)
        return alm_fail(cx, ALM_E_ARG, -1, "no part 'data'");
    run->took_all = true;
    return alm_import_rest(cx, &run->import);
}

static alm_status ep_imp_finish(import_run *run)
{
    alm_ctx *cx = &run->cx;
    bool done = false;
    if (!run->took_all)
        ALM_TRY(take_rest(run));
    ALM_TRY(alm_import_step(cx, &run->import, &done));
    if (!done)
        return ALM_OK; /* another piece of work */
    run->finished = true;
    ALM_TRY(make_report(run));
    if (run->preview)
        return ALM_OK; /* ep_imp_close_run drops what was not committed */
    ALM_TRY(alm_import_commit(cx, &run->import));
    run->report.imported = run->import.imported;
    return ALM_OK;
}

static void ep_imp_work(void *arg)
{
    import_run *run = arg;
    alm_status status = alm_check(&run->cx);
    if (status != ALM_OK)
        run->in.len = 0;
    else if (run->raw && run->in.len > 0)
        status = alm_import_feed(&run->cx, &run->import, run->in.ptr, run->in.len);
    else if (!run->raw && !run->took_all)
        status = alm_multipart_feed(&run->cx, &run->parts, run->in.ptr, run->in.len);
    run->in.len = 0;
    if (status == ALM_OK && run->last)
        status = ep_imp_finish(run);
    if (status != ALM_OK) {
        run->failed = true;
        alm_import_deinit(&run->import);
    }
}

static void ep_imp_answer(import_run *run)
{
    alm_http *http = run->h;
    alm_buf out;
    alm_session_work_end(run->session); /* a rest of the body may still come */
    alm_buf_init(&out, NULL);
    alm_error_clear(&http->cx);
    alm_status outcome = ALM_OK;
    const int status = run->failed ? alm_status_http(run->cx.err.code) : 200;
    const char *type = run->json ? "application/json; charset=utf-8" : "text/plain; charset=utf-8";
    if (run->failed)
        outcome = alm_import_report_failure(&http->cx, run->json, run->cx.err.msg, &out);
    else
        outcome = alm_import_report_write(&http->cx, &run->report, run->json, &out);
    if (outcome == ALM_OK)
        alm_http_reply(http, status, type, NULL, (alm_str){out.ptr, out.len});
    else
        alm_http_reply_text(http, 503, "out of memory");
    alm_buf_deinit(&out);
}

static void ep_imp_work_done(alm_conn *conn, void *arg)
{
    import_run *run = arg;
    alm_http *http = run->h;
    (void)conn;
    if (!run->failed && !run->last)
        return;
    if (!run->failed && !run->finished) {
        alm_http_work(http, ep_imp_work, ep_imp_work_done, run);
        return;
    }
    ep_imp_answer(run);
    if (http->state == ALM_HTTP_BODY)
        http->state = ALM_HTTP_DISCARD;
    alm_http_finished(http);
}

static bool ep_imp_take_body(alm_http *http, const char *bytes, size_t n)
{
    import_run *run = http->work;
    if (alm_buf_append(&run->cx, &run->in, bytes, n) != ALM_OK) {
        alm_http_reply_text(http, 503, "out of memory");
        return false;
    }
    const bool is_last =
        !http->req.chunked && http->body_left == (int64_t)n; /* ep_imp_end_body follows at once */
    if (!is_last && (run->in.len >= PIECE_BYTES || atomic_load(run->cx.cancel)))
        alm_http_work(http, ep_imp_work, ep_imp_work_done, run);
    return true;
}

static void ep_imp_end_body(alm_http *http)
{
    import_run *run = http->work;
    run->last = true;
    alm_http_work(http, ep_imp_work, ep_imp_work_done, run);
}

/* Types that say the body is the file. A CSV file comes as a part alone, as the reference has it. */
static bool is_parquet_type(alm_str type)
{
    static const char *const types[] = {"application/vnd.apache.parquet",
                                        "application/octet-stream"};
    const char *const end = type.len > 0 ? memchr(type.ptr, ';', type.len) : NULL;
    if (end != NULL)
        type.len = (size_t)(end - type.ptr);
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        if (alm_str_ieq(type, alm_str_of(types[i])))
            return true;
    return false;
}

static void ep_imp_begin(alm_http *http)
{
    const alm_str type = alm_http_header(&http->req, "Content-Type");
    const alm_str boundary = alm_multipart_boundary(type);
    const bool raw = boundary.ptr == NULL && is_parquet_type(type);
    if (boundary.ptr == NULL && !raw) {
        alm_http_reply_text(http, 400, "Non-multipart POST not supported");
        return;
    }
    if (!http->req.has_body) {
        alm_http_reply_text(http, 400, "Content-length not specified for POST/PUT request");
        return;
    }
    alm_session *session = alm_http_session(http);
    if (session == NULL)
        return;
    import_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        alm_http_reply_text(http, 503, "out of memory");
        return;
    }
    run->h = http;
    run->session = session;
    run->raw = raw;
    run->mem = (alm_mem){
        .name = "import", .limit_bytes = INT64_C(1) << 30, .parent = alm_session_memory(session)};
    alm_arena_init(&run->arena, &run->mem);
    run->cx = (alm_ctx){.arena = &run->arena, .mem = &run->mem, .conf = http->cx.conf};
    http->work = run;
    alm_import_conf conf;
    alm_session_work_begin(session, &run->cx, ALM_STR("/imp"));
    alm_status status = read_params(run, &conf);
    alm_import_init(&run->cx, &run->import, session, &conf);
    if (status == ALM_OK)
        status = alm_import_may(&run->cx, &run->import);
    if (status == ALM_OK && conf.table.len > 0)
        status = ep_imp_tell(run);
    alm_http_add_headers(http, "X-Query-Id: %llu\r\n",
                         (unsigned long long)alm_session_last_statement(session));
    if (status != ALM_OK) {
        run->failed = true;
        ep_imp_answer(run);
        return;
    }
    const alm_multipart_events events = {
        .part = ep_imp_on_part, .bytes = ep_imp_on_bytes, .arg = run};
    if (!raw && alm_multipart_init(&run->cx, &run->parts, boundary, &events) != ALM_OK)
        alm_http_reply_text(http, 503, "out of memory");
    alm_conn_input_max(http->conn, 256 << 10);
}

static void ep_imp_close_run(alm_http *http)
{
    import_run *run = http->work;
    http->work = NULL;
    if (run == NULL)
        return;
    alm_import_deinit(&run->import);
    alm_session_work_end(run->session);
    alm_multipart_deinit(&run->parts);
    alm_buf_deinit(&run->in);
    alm_buf_deinit(&run->schema);
    alm_arena_deinit(&run->arena);
    free(run);
}

const alm_http_handler alm_ep_imp = {.begin = ep_imp_begin,
                                     .body = ep_imp_take_body,
                                     .end = ep_imp_end_body,
                                     .close = ep_imp_close_run};
