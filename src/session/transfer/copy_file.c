/*
 * copy_file.c - COPY t FROM 'file': a file below the folder of imports, by a thread of its own. The
 * statement answers with an id at once; sys.text_import_log has what became of it.
 *
 * Files       Relative names below cairo.sql.copy.root. The system is asked to open them so that no
 *             link leads out of the folder.
 * Threads     One for each import (job.h).
 */
#include <pthread.h>

#include "base/log.h"
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/transfer/copy.h"
#include "session/transfer/copy_jobs.h"
#include "session/transfer/copy_parquet.h"
#include "session/transfer/transfer.h"

enum { PIECE_BYTES = 1 << 20 };

/* -------------------------------------------------------------------- running */

static void copy_file_count(alm_copy_job *job, const alm_import *import)
{
    int64_t errors = 0;
    for (uint32_t i = 0; import->load.errors != NULL && i < import->load.n_cols; i++)
        errors += import->load.errors[i];
    (void)pthread_mutex_lock(&job->base.jobs->lock);
    job->handled = import->load.handled;
    job->imported = import->load.handled - import->load.rejected;
    job->errors = errors + import->load.rejected;
    (void)pthread_mutex_unlock(&job->base.jobs->lock);
}

static alm_status copy_take_file(alm_ctx *cx, alm_copy_job *job, alm_import *import)
{
    const alm_io *io = job->base.db->io;
    char *piece = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, PIECE_BYTES, &piece));
    for (int64_t offset = 0;;) {
        if (atomic_load(&job->base.session->cancel) || atomic_load(&job->base.db->stopping))
            return alm_fail(cx, ALM_E_CANCEL, -1, "cancelled by user");
        const int64_t got = io->read(io, job->handle, piece, PIECE_BYTES, offset);
        if (got < 0)
            return alm_io_fail(cx, (int)got, job->file);
        if (got == 0)
            break;
        ALM_TRY(alm_import_feed(cx, import, piece, (size_t)got));
        copy_file_count(job, import);
        offset += got;
    }
    ALM_TRY(alm_import_rest(cx, import));
    copy_file_count(job, import);
    return alm_import_commit(cx, import);
}

/* The rows of a Parquet file are counted when they are there. */
static alm_status take_parquet(alm_ctx *cx, alm_copy_job *job)
{
    int64_t rows = 0;
    ALM_TRY(alm_copy_parquet_run(cx, job->base.session, job->statement, &rows));
    (void)pthread_mutex_lock(&job->base.jobs->lock);
    job->handled = job->imported = rows;
    (void)pthread_mutex_unlock(&job->base.jobs->lock);
    return ALM_OK;
}

static alm_status run_import(alm_job *base, alm_error *err)
{
    alm_copy_job *job = (alm_copy_job *)base;
    alm_db *db = base->db;
    alm_mem mem = {.limit_bytes = job->memory_max,
                   .parent = alm_session_memory(base->session),
                   .name = "COPY",
                   .setting = "query.memory.max"};
    alm_arena arena;
    alm_import import;
    alm_arena_init(&arena, &mem);
    alm_ctx cx = {.arena = &arena,
                  .mem = &mem,
                  .conf = db->conf,
                  .io = db->io,
                  .zones = db->zones,
                  .user = base->session->user};
    alm_import_init(&cx, &import, base->session, &job->conf);
    const alm_status status =
        job->statement != NULL ? take_parquet(&cx, job) : copy_take_file(&cx, job, &import);
    alm_import_deinit(&import);
    alm_log_info("copy", "%s: '%s' into '%s' %s, %lld rows%s%s", base->id, job->file, job->table,
                 status == ALM_OK ? "finished" : "failed",
                 (long long)(status == ALM_OK ? job->imported : 0), status == ALM_OK ? "" : ": ",
                 status == ALM_OK ? "" : cx.err.msg);
    *err = cx.err;
    alm_arena_deinit(&arena);
    (void)db->io->close(db->io, job->handle);
    return status;
}

static void import_ended(alm_job *base, alm_status status)
{
    alm_copy_job *job = (alm_copy_job *)base;
    const char **const texts[] = {&job->table, &job->file, &base->owner};
    if (status != ALM_OK)
        job->imported = 0;
    if (!alm_job_keep_texts(base, texts, ALM_COUNT(texts)))
        return;
    job->conf = (alm_import_conf){0};
    job->format = (alm_copy_format){0};
    job->statement = NULL;
}

const alm_job_kind alm_import_jobs = {.name = "imports",
                                      .kept_max = ALM_COPY_KEPT_MAX,
                                      .run = run_import,
                                      .ended = import_ended,
                                      .changed = alm_copy_jobs_keep};

/* ------------------------------------------------------------------- starting */

alm_status alm_copy_check_path(alm_ctx *cx, const alm_copy *copy, const char *key, const char *root)
{
    const alm_str path = copy->file;
    if (root[0] == 0)
        return alm_fail(cx, ALM_E_DENIED, copy->file_pos, "COPY of files is off: %s is not set",
                        key);
    bool good = path.len > 0 && path.ptr[0] != '/' && memchr(path.ptr, 0, path.len) == NULL;
    for (size_t offset = 0; good && offset <= path.len;) {
        const char *slash =
            offset < path.len ? memchr(path.ptr + offset, '/', path.len - offset) : NULL;
        const size_t end = slash != NULL ? (size_t)(slash - path.ptr) : path.len;
        good = !alm_str_eq((alm_str){path.ptr + offset, end - offset}, ALM_STR(".."));
        offset = end + 1;
    }
    if (good)
        return ALM_OK;
    return alm_fail(cx, ALM_E_DENIED, copy->file_pos,
                    "file name must be relative to %s, without '..'", key);
}

static alm_status copy_open_file(alm_cursor *cursor, const alm_copy *copy, int *handle)
{
    alm_ctx *cx = &cursor->cx;
    const alm_db *db = cursor->session->db;
    const char *const root = db->conf != NULL ? db->conf->cairo_sql_copy_root : "";
    const char *folder = NULL, *path = NULL;
    alm_copy below = *copy;
    ALM_TRY(alm_arena_printf(cx, cx->arena, &folder, "%s%s%s", root[0] == '/' ? "" : db->root,
                             root[0] == '/' ? "" : "/", root));
    if (memchr(copy->file.ptr, 0, copy->file.len) == NULL) {
        ALM_TRY(alm_arena_zstr(cx, cx->arena, copy->file, &path));
        below.file = alm_str_of(alm_io_path_below(folder, path));
    }
    ALM_TRY(alm_copy_check_path(cx, &below, "cairo.sql.copy.root", root));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, below.file, &path));
    *handle = alm_io_open_below(db->io, folder, path);
    if (*handle >= 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, copy->file_pos,
                    "no such file below cairo.sql.copy.root, or it leads out of it [file=%s]",
                    path);
}

static alm_status copy_file_keep_text(alm_ctx *cx, alm_copy_job *job, alm_str text, alm_str *out)
{
    return text.len == 0 ? ALM_OK : alm_arena_copy(cx, &job->base.texts, text, out);
}

static alm_status copy_file_job_fill(alm_ctx *cx, alm_copy_job *job, const alm_stmt *stmt,
                                     const alm_copy_options *options)
{
    const alm_copy *copy = stmt->ext;
    job->conf = (alm_import_conf){
        .create = true,
        .header = options->format.header ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_NO,
        .delimiter = options->delimiter_given ? options->format.delimiter : (char)0,
        .rule = options->rule,
        .skip_max = options->reject_limit};
    ALM_TRY(alm_arena_zstr(cx, &job->base.texts, stmt->table, &job->table));
    ALM_TRY(alm_arena_zstr(cx, &job->base.texts, copy->file, &job->file));
    job->conf.table = alm_str_of(job->table);
    ALM_TRY(copy_file_keep_text(cx, job, options->timestamp, &job->conf.timestamp));
    ALM_TRY(copy_file_keep_text(cx, job, options->partition_by, &job->conf.partition_by));
    return copy_file_keep_text(cx, job, options->pattern, &job->conf.pattern);
}

/* Nothing was said that a file could not say itself. */
static bool copy_file_is_plain(const alm_stmt *stmt, const alm_copy_options *options)
{
    return options->format.kind == ALM_COPY_CSV && options->format.quote == '"' &&
           options->format.escape == '"' && options->format.null.len == 0 && !options->match &&
           !options->forced && stmt->n_insert_cols == 0;
}

static alm_status keep_flags(alm_ctx *cx, alm_copy_job *job, uint32_t n, const bool **flags)
{
    bool *kept = NULL;
    if (*flags == NULL)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, &job->base.texts, n, &kept));
    (void)memcpy(kept, *flags, n);
    *flags = kept;
    return ALM_OK;
}

/* A file in a form of COPY: what it needs of the statement goes into the job. */
static alm_status job_form(alm_cursor *cursor, alm_copy_job *job, const alm_stmt *stmt,
                           const alm_copy_options *options)
{
    alm_ctx *cx = &cursor->cx;
    const alm_table *table = alm_snapshot_find(cursor->snapshot, stmt->table);
    const char **names = NULL;
    uint32_t *cols = NULL, n_cols = 0;
    if (table == NULL)
        return alm_no_table(cx, cursor->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_copy_columns(cx, stmt, table, &cols, &n_cols));
    ALM_TRY(ALM_NEWN(cx, &job->base.texts, n_cols, &names));
    for (uint32_t i = 0; i < n_cols; i++)
        ALM_TRY(
            alm_arena_zstr(cx, &job->base.texts, alm_str_of(table->cols[cols[i]].name), &names[i]));
    job->format = options->format;
    ALM_TRY(copy_file_keep_text(cx, job, options->format.null, &job->format.null));
    ALM_TRY(alm_copy_options_columns(cx, stmt, (const char *const *)names, n_cols, &job->format));
    ALM_TRY(keep_flags(cx, job, n_cols, &job->format.force_null));
    ALM_TRY(keep_flags(cx, job, n_cols, &job->format.force_not_null));
    job->conf.format = &job->format;
    job->conf.columns = (const char *const *)names;
    job->conf.n_columns = n_cols;
    job->conf.listed = stmt->n_insert_cols > 0;
    job->conf.match = options->match;
    return ALM_OK;
}

static alm_status job_prepare(alm_cursor *cursor, alm_copy_job *job, const alm_stmt *stmt,
                              const alm_copy_options *options)
{
    alm_job *base = &job->base;
    ALM_TRY(copy_file_job_fill(&cursor->cx, job, stmt, options));
    if (!options->parquet && !copy_file_is_plain(stmt, options))
        ALM_TRY(job_form(cursor, job, stmt, options));
    if (options->parquet)
        ALM_TRY(alm_copy_parquet_text(cursor, base->session, &base->texts, stmt, options,
                                      &job->statement));
    alm_job_become(base, cursor);
    job->memory_max = alm_session_memory_max(cursor->session);
    return ALM_OK;
}

/* The file is the job's once it runs. */
static alm_status begin_import(alm_cursor *cursor, const alm_stmt *stmt,
                               const alm_copy_options *options, int handle)
{
    alm_job *base = NULL;
    ALM_TRY(
        alm_job_new(cursor, &cursor->session->db->copy_jobs->base, sizeof(alm_copy_job), &base));
    alm_copy_job *job = (alm_copy_job *)base;
    job->handle = handle;
    alm_status status = job_prepare(cursor, job, stmt, options);
    if (status == ALM_OK)
        status = alm_job_start(cursor, base);
    if (status != ALM_OK)
        alm_job_drop(base);
    return status;
}

alm_status alm_run_copy_file(alm_cursor *cursor, const alm_stmt *stmt)
{
    alm_ctx *cx = &cursor->cx;
    alm_db *db = cursor->session->db;
    alm_copy_options options;
    int handle = -1;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, stmt->pos));
    const alm_access_ask into_or_make = {
        .permission = "INSERT", .instead = "CREATE TABLE", .pos = stmt->table_pos};
    ALM_TRY(alm_access_gate(cx, &into_or_make, stmt->table, NULL, 0));
    const alm_table *into = alm_snapshot_find(cursor->snapshot, stmt->table);
    if (into != NULL)
        ALM_TRY(alm_access_may(cx, "INSERT", into->name, stmt->table_pos));
    else
        ALM_TRY(alm_check_new_relation(cx, alm_session_sources(), stmt->table, stmt->table_pos));
    ALM_TRY(alm_copy_options_read(cx, stmt, &options));
    if (cursor->session->tx_state == ALM_TX_BLOCK)
        return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY of a file cannot take part in a transaction block");
    ALM_TRY(copy_open_file(cursor, stmt->ext, &handle));
    const alm_status status = begin_import(cursor, stmt, &options, handle);
    if (status != ALM_OK)
        (void)db->io->close(db->io, handle);
    return status;
}
