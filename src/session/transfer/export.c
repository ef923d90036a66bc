/* export.c - see export.h: the list of exports, and the statement. */
#include "session/transfer/export.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/transfer/export_job.h"
#include "session/transfer/transfer.h"

enum { LOG_CELLS = 9, ACTIVITY_CELLS = 8 };

/* -------------------------------------------------------------------- running */

static void told(void *arg, int64_t rows, int64_t files)
{
    alm_export_job *job = arg;
    alm_jobs *jobs = job->base.jobs;
    (void)pthread_mutex_lock(&jobs->lock);
    job->rows = rows;
    job->files = files;
    (void)pthread_mutex_unlock(&jobs->lock);
}

static alm_status run_export(alm_job *base, alm_error *err)
{
    alm_export_job *job = (alm_export_job *)base;
    const alm_status status = alm_export_job_run(job, told, job, err);
    alm_log_info("copy", "%s: export to '%s' %s, %lld rows%s%s", base->id, job->path,
                 status == ALM_OK ? "finished" : "failed", (long long)job->rows,
                 status == ALM_OK ? "" : ": ", status == ALM_OK ? "" : err->msg);
    return status;
}

static void export_ended(alm_job *base, alm_status status)
{
    alm_export_job *job = (alm_export_job *)base;
    const char **const texts[] = {&job->label, &job->path, &base->owner};
    if (status != ALM_OK)
        job->files = 0;
    if (!alm_job_keep_texts(base, texts, ALM_COUNT(texts)))
        return;
    job->query = job->label;
    job->request = (alm_pq_request){0};
}

alm_status alm_exports_new(alm_ctx *cx, alm_db *db, alm_jobs **out)
{
    static const alm_job_kind kind = {
        .name = "exports", .kept_max = ALM_EXPORTS_KEPT, .run = run_export, .ended = export_ended};
    alm_jobs *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    alm_jobs_init(jobs, &kind, db);
    alm_export_clear(db);
    *out = jobs;
    return ALM_OK;
}

void alm_exports_free(alm_jobs *exports)
{
    if (exports == NULL)
        return;
    alm_jobs_deinit(exports);
    free(exports);
}

/* -------------------------------------------------------------------- the statement */

static alm_status query_text(alm_ctx *cx, alm_arena *arena, const alm_copy *copy, const char **out)
{
    if (copy->query.ptr != NULL)
        return alm_arena_zstr(cx, arena, copy->query, out);
    const alm_str columns = copy->columns.ptr != NULL ? copy->columns : ALM_STR("*");
    return alm_arena_printf(cx, arena, out, "SELECT %.*s FROM %.*s", (int)columns.len, columns.ptr,
                            (int)copy->table.len, copy->table.ptr);
}

/* The file, or with partitions the folder; its ending may be left out. */
static alm_status target_path(alm_ctx *cx, alm_arena *arena, alm_str file, bool folder,
                              const char **out)
{
    static const alm_str ending = {".parquet", 8};
    const bool ends = file.len > ending.len &&
                      alm_str_ieq((alm_str){file.ptr + file.len - ending.len, ending.len}, ending);
    if (ends && folder)
        file.len -= ending.len;
    while (file.len > 1 && file.ptr[file.len - 1] == '/')
        file.len--;
    return alm_arena_printf(cx, arena, out, "%.*s%s", (int)file.len, file.ptr,
                            ends || folder ? "" : ending.ptr);
}

static alm_status export_read_partition(alm_ctx *cx, const alm_copy_options *options,
                                        alm_partition_by *out)
{
    static const struct {
        const char *name;
        alm_partition_by by;
    } rows[] = {{"none", ALM_PART_NONE}, {"hour", ALM_PART_HOUR},   {"day", ALM_PART_DAY},
                {"week", ALM_PART_WEEK}, {"month", ALM_PART_MONTH}, {"year", ALM_PART_YEAR}};
    *out = ALM_PART_NONE;
    if (options->partition_by.ptr == NULL)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(options->partition_by, alm_str_of(rows[i].name))) {
            *out = rows[i].by;
            return ALM_OK;
        }
    return alm_fail(cx, ALM_E_ARG, options->partition_pos,
                    "'%.*s': NONE, HOUR, DAY, WEEK, MONTH or YEAR expected",
                    (int)ALM_MIN(options->partition_by.len, (size_t)40), options->partition_by.ptr);
}

/* The query is planned, so that its faults are told at once and at their place. */
static alm_status check_query(alm_cursor *cursor, const alm_stmt *stmt,
                              const alm_copy_options *options, alm_partition_by by)
{
    alm_plan_env env;
    alm_plan *plan = NULL;
    if (stmt->n_params > 0)
        return alm_fail(&cursor->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY TO a file of the server cannot have parameters");
    alm_plan_env_init(&env, cursor, NULL, 0);
    ALM_TRY(alm_plan_select(&cursor->cx, &env, stmt->select, &plan));
    if (by != ALM_PART_NONE && (plan->ts_col < 0 || plan->order != ALM_ORDER_ASC))
        return alm_fail(&cursor->cx, ALM_E_ARG, options->partition_pos,
                        "PARTITION_BY needs rows in ascending order of a designated timestamp");
    return ALM_OK;
}

static alm_status export_job_fill(alm_cursor *cursor, alm_export_job *job, const alm_stmt *stmt,
                                  const alm_copy_options *options)
{
    alm_ctx *cx = &cursor->cx;
    const alm_copy *copy = stmt->ext;
    ALM_TRY(export_read_partition(cx, options, &job->by));
    ALM_TRY(check_query(cursor, stmt, options, job->by));
    ALM_TRY(query_text(cx, &job->base.texts, copy, &job->query));
    job->label = job->query;
    job->secured = cursor->rights != NULL;
    job->any = job->secured && cursor->rights->all;
    if (copy->query.ptr == NULL)
        ALM_TRY(alm_arena_zstr(cx, &job->base.texts, stmt->table, &job->label));
    ALM_TRY(target_path(cx, &job->base.texts, copy->file, job->by != ALM_PART_NONE, &job->path));
    job->request = options->parquet_request;
    if (job->request.bloom_columns.ptr != NULL)
        ALM_TRY(alm_arena_copy(cx, &job->base.texts, job->request.bloom_columns,
                               &job->request.bloom_columns));
    alm_job_become(&job->base, cursor);
    return ALM_OK;
}

static alm_status export_refuse(alm_cursor *cursor, const alm_stmt *stmt,
                                const alm_copy_options *options)
{
    alm_ctx *cx = &cursor->cx;
    const alm_copy *copy = stmt->ext;
    const alm_session *session = cursor->session;
    if (!options->parquet)
        return alm_fail(cx, ALM_E_UNSUPPORTED, copy->file_pos,
                        "COPY TO a file of the server writes FORMAT PARQUET only");
    ALM_TRY(alm_session_may_write(cx, session, stmt->pos));
    if (session->tx_state == ALM_TX_BLOCK)
        return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY of a file cannot take part in a transaction block");
    return alm_copy_check_path(
        cx, copy, "cairo.sql.copy.export.root",
        session->db->conf != NULL ? session->db->conf->cairo_sql_copy_export_root : "");
}

alm_status alm_run_export(alm_cursor *cursor, const alm_stmt *stmt, const alm_copy_options *options)
{
    alm_ctx *cx = &cursor->cx;
    alm_job *base = NULL;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, stmt->pos));
    ALM_TRY(export_refuse(cursor, stmt, options));
    ALM_TRY(alm_job_new(cursor, cursor->session->db->exports, sizeof(alm_export_job), &base));
    alm_status status = export_job_fill(cursor, (alm_export_job *)base, stmt, options);
    if (status == ALM_OK)
        status = alm_job_start(cursor, base);
    if (status != ALM_OK)
        alm_job_drop(base);
    return status;
}

/* -------------------------------------------------------------------- listing */

static alm_status export_number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static alm_status export_text(alm_ctx *cx, const char *value, const char **out)
{
    return alm_arena_zstr(cx, cx->arena, alm_str_of(value), out);
}

static alm_status log_row(alm_ctx *cx, const alm_job *base, bool end, const char **cell)
{
    const alm_export_job *job = (const alm_export_job *)base;
    ALM_TRY(export_number(cx, end ? job->base.end_us : job->base.start_us, &cell[0]));
    ALM_TRY(export_text(cx, job->base.id, &cell[1]));
    ALM_TRY(export_text(cx, job->label, &cell[2]));
    ALM_TRY(export_text(cx, job->path, &cell[3]));
    cell[4] = cell[6] = cell[7] = cell[8] = NULL;
    if (end || job->base.state == ALM_JOB_RUNS)
        ALM_TRY(export_number(cx, job->files, &cell[4]));
    if (end || job->base.state == ALM_JOB_RUNS)
        ALM_TRY(export_number(cx, job->rows, &cell[8]));
    cell[5] = NULL; /* no phases */
    cell[6] = alm_job_state_name(end ? base->state : ALM_JOB_RUNS);
    return end && job->base.message[0] != 0 ? export_text(cx, job->base.message, &cell[7]) : ALM_OK;
}

alm_status alm_export_log_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    return alm_jobs_log(cx, cx->session->db->exports, LOG_CELLS, log_row, cells, rows);
}

static alm_status activity_row(alm_ctx *cx, const alm_export_job *job, const char **cell)
{
    ALM_TRY(export_text(cx, job->base.id, &cell[0]));
    ALM_TRY(export_text(cx, job->base.session->user, &cell[1]));
    ALM_TRY(export_number(cx, job->base.start_us, &cell[2]));
    cell[3] = "exporting";
    cell[4] = "copy";
    ALM_TRY(export_text(cx, job->path, &cell[5]));
    ALM_TRY(export_text(cx, job->query, &cell[6]));
    return alm_arena_printf(cx, cx->arena, &cell[7], "rows: %lld", (long long)job->rows);
}

alm_status alm_export_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_jobs *jobs = cx->session->db->exports;
    const char **out = NULL;
    size_t count = 0;
    const bool all = alm_jobs_shows_all(cx->session);
    (void)pthread_mutex_lock(&jobs->lock);
    alm_status status = ALM_NEWN(cx, cx->arena, (size_t)jobs->running * ACTIVITY_CELLS + 1, &out);
    for (const alm_job *job = jobs->newest; status == ALM_OK && job != NULL; job = job->next)
        if (job->session != NULL && alm_job_is_shown(cx->session, all, job->owner))
            status = activity_row(cx, (const alm_export_job *)job, out + count++ * ACTIVITY_CELLS);
    (void)pthread_mutex_unlock(&jobs->lock);
    ALM_TRY(status);
    *cells = out;
    *rows = count;
    return ALM_OK;
}
