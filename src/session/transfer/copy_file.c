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

static void count(alm_copy_job *job, const alm_import *im)
{
    int64_t errors = 0;
    for (uint32_t i = 0; im->load.errors != NULL && i < im->load.n_cols; i++)
        errors += im->load.errors[i];
    (void)pthread_mutex_lock(&job->base.jobs->lock);
    job->handled = im->load.handled;
    job->imported = im->load.handled - im->load.rejected;
    job->errors = errors + im->load.rejected;
    (void)pthread_mutex_unlock(&job->base.jobs->lock);
}

static alm_status take_file(alm_ctx *cx, alm_copy_job *job, alm_import *im)
{
    const alm_io *io = job->base.db->io;
    char *piece = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, PIECE_BYTES, &piece));
    for (int64_t at = 0;;) {
        if (atomic_load(&job->base.session->cancel) || atomic_load(&job->base.db->stopping))
            return alm_fail(cx, ALM_E_CANCEL, -1, "cancelled by user");
        const int64_t n = io->read(io, job->handle, piece, PIECE_BYTES, at);
        if (n < 0)
            return alm_io_fail(cx, (int)n, job->file);
        if (n == 0)
            break;
        ALM_TRY(alm_import_feed(cx, im, piece, (size_t)n));
        count(job, im);
        at += n;
    }
    ALM_TRY(alm_import_rest(cx, im));
    count(job, im);
    return alm_import_commit(cx, im);
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
    alm_import im;
    alm_arena_init(&arena, &mem);
    alm_ctx cx = {.arena = &arena,
                  .mem = &mem,
                  .conf = db->conf,
                  .io = db->io,
                  .zones = db->zones,
                  .user = base->session->user};
    alm_import_init(&cx, &im, base->session, &job->conf);
    const alm_status st =
        job->statement != NULL ? take_parquet(&cx, job) : take_file(&cx, job, &im);
    alm_import_deinit(&im);
    alm_log_info("copy", "%s: '%s' into '%s' %s, %lld rows%s%s", base->id, job->file, job->table,
                 st == ALM_OK ? "finished" : "failed",
                 (long long)(st == ALM_OK ? job->imported : 0), st == ALM_OK ? "" : ": ",
                 st == ALM_OK ? "" : cx.err.msg);
    *err = cx.err;
    alm_arena_deinit(&arena);
    (void)db->io->close(db->io, job->handle);
    return st;
}

static void import_ended(alm_job *base, alm_status st)
{
    alm_copy_job *job = (alm_copy_job *)base;
    const char **const texts[] = {&job->table, &job->file, &base->owner};
    if (st != ALM_OK)
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
    for (size_t at = 0; good && at <= path.len;) {
        const char *slash = at < path.len ? memchr(path.ptr + at, '/', path.len - at) : NULL;
        const size_t end = slash != NULL ? (size_t)(slash - path.ptr) : path.len;
        good = !alm_str_eq((alm_str){path.ptr + at, end - at}, ALM_STR(".."));
        at = end + 1;
    }
    if (good)
        return ALM_OK;
    return alm_fail(cx, ALM_E_DENIED, copy->file_pos,
                    "file name must be relative to %s, without '..'", key);
}

static alm_status open_file(alm_cursor *c, const alm_copy *copy, int *handle)
{
    alm_ctx *cx = &c->cx;
    const alm_db *db = c->session->db;
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

static alm_status keep_text(alm_ctx *cx, alm_copy_job *job, alm_str text, alm_str *out)
{
    return text.len == 0 ? ALM_OK : alm_arena_copy(cx, &job->base.texts, text, out);
}

static alm_status job_fill(alm_ctx *cx, alm_copy_job *job, const alm_stmt *stmt,
                           const alm_copy_options *o)
{
    const alm_copy *copy = stmt->ext;
    job->conf =
        (alm_import_conf){.create = true,
                          .header = o->format.header ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_NO,
                          .delimiter = o->delimiter_given ? o->format.delimiter : (char)0,
                          .rule = o->rule,
                          .skip_max = o->reject_limit};
    ALM_TRY(alm_arena_zstr(cx, &job->base.texts, stmt->table, &job->table));
    ALM_TRY(alm_arena_zstr(cx, &job->base.texts, copy->file, &job->file));
    job->conf.table = alm_str_of(job->table);
    ALM_TRY(keep_text(cx, job, o->timestamp, &job->conf.timestamp));
    ALM_TRY(keep_text(cx, job, o->partition_by, &job->conf.partition_by));
    return keep_text(cx, job, o->pattern, &job->conf.pattern);
}

/* Nothing was said that a file could not say itself. */
static bool is_plain(const alm_stmt *stmt, const alm_copy_options *o)
{
    return o->format.kind == ALM_COPY_CSV && o->format.quote == '"' && o->format.escape == '"' &&
           o->format.null.len == 0 && !o->match && !o->forced && stmt->n_insert_cols == 0;
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
static alm_status job_form(alm_cursor *c, alm_copy_job *job, const alm_stmt *stmt,
                           const alm_copy_options *o)
{
    alm_ctx *cx = &c->cx;
    const alm_table *table = alm_snapshot_find(c->snapshot, stmt->table);
    const char **names = NULL;
    uint32_t *cols = NULL, n = 0;
    if (table == NULL)
        return alm_no_table(cx, c->snapshot, stmt->table, stmt->table_pos);
    ALM_TRY(alm_copy_columns(cx, stmt, table, &cols, &n));
    ALM_TRY(ALM_NEWN(cx, &job->base.texts, n, &names));
    for (uint32_t i = 0; i < n; i++)
        ALM_TRY(
            alm_arena_zstr(cx, &job->base.texts, alm_str_of(table->cols[cols[i]].name), &names[i]));
    job->format = o->format;
    ALM_TRY(keep_text(cx, job, o->format.null, &job->format.null));
    ALM_TRY(alm_copy_options_columns(cx, stmt, (const char *const *)names, n, &job->format));
    ALM_TRY(keep_flags(cx, job, n, &job->format.force_null));
    ALM_TRY(keep_flags(cx, job, n, &job->format.force_not_null));
    job->conf.format = &job->format;
    job->conf.columns = (const char *const *)names;
    job->conf.n_columns = n;
    job->conf.listed = stmt->n_insert_cols > 0;
    job->conf.match = o->match;
    return ALM_OK;
}

static alm_status job_prepare(alm_cursor *c, alm_copy_job *job, const alm_stmt *stmt,
                              const alm_copy_options *options)
{
    alm_job *base = &job->base;
    ALM_TRY(job_fill(&c->cx, job, stmt, options));
    if (!options->parquet && !is_plain(stmt, options))
        ALM_TRY(job_form(c, job, stmt, options));
    if (options->parquet)
        ALM_TRY(
            alm_copy_parquet_text(c, base->session, &base->texts, stmt, options, &job->statement));
    alm_job_become(base, c);
    job->memory_max = alm_session_memory_max(c->session);
    return ALM_OK;
}

/* The file is the job's once it runs. */
static alm_status begin_import(alm_cursor *c, const alm_stmt *stmt, const alm_copy_options *options,
                               int handle)
{
    alm_job *base = NULL;
    ALM_TRY(alm_job_new(c, &c->session->db->copy_jobs->base, sizeof(alm_copy_job), &base));
    alm_copy_job *job = (alm_copy_job *)base;
    job->handle = handle;
    alm_status st = job_prepare(c, job, stmt, options);
    if (st == ALM_OK)
        st = alm_job_start(c, base);
    if (st != ALM_OK)
        alm_job_drop(base);
    return st;
}

alm_status alm_run_copy_file(alm_cursor *c, const alm_stmt *stmt)
{
    alm_ctx *cx = &c->cx;
    alm_db *db = c->session->db;
    alm_copy_options options;
    int handle = -1;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, stmt->pos));
    const alm_access_ask into_or_make = {
        .permission = "INSERT", .instead = "CREATE TABLE", .pos = stmt->table_pos};
    ALM_TRY(alm_access_gate(cx, &into_or_make, stmt->table, NULL, 0));
    const alm_table *into = alm_snapshot_find(c->snapshot, stmt->table);
    if (into != NULL)
        ALM_TRY(alm_access_may(cx, "INSERT", into->name, stmt->table_pos));
    else
        ALM_TRY(alm_check_new_relation(cx, alm_session_sources(), stmt->table, stmt->table_pos));
    ALM_TRY(alm_copy_options_read(cx, stmt, &options));
    if (c->session->tx_state == ALM_TX_BLOCK)
        return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY of a file cannot take part in a transaction block");
    ALM_TRY(open_file(c, stmt->ext, &handle));
    const alm_status st = begin_import(c, stmt, &options, handle);
    if (st != ALM_OK)
        (void)db->io->close(db->io, handle);
    return st;
}
