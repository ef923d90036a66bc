/* export.c - see export.h: the list of exports, and the statement. */
#include "session/transfer/export.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "session/transfer/export_job.h"
#include "session/transfer/transfer.h"

struct alm_exports {
    pthread_mutex_t lock;
    alm_db *db;
    alm_export_job *newest;
    int32_t running;
};

enum { LOG_CELLS = 9, ACTIVITY_CELLS = 8 };

static const char *const state_names[] = {"started", "finished", "failed", "cancelled"};

/* -------------------------------------------------------------------- the list */

static void job_free(alm_export_job *job)
{
    alm_arena_deinit(&job->arena);
    free(job);
}

alm_status alm_exports_new(alm_ctx *cx, alm_db *db, alm_exports **out)
{
    alm_exports *x = calloc(1, sizeof(*x));
    if (x == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&x->lock, NULL);
    x->db = db;
    alm_export_clear(db);
    *out = x;
    return ALM_OK;
}

bool alm_exports_run(alm_exports *x)
{
    if (x == NULL)
        return false;
    (void)pthread_mutex_lock(&x->lock);
    const bool any = x->running > 0;
    (void)pthread_mutex_unlock(&x->lock);
    return any;
}

void alm_exports_free(alm_exports *x)
{
    if (x == NULL)
        return;
    while (x->newest != NULL) {
        alm_export_job *next = x->newest->next;
        job_free(x->newest);
        x->newest = next;
    }
    (void)pthread_mutex_destroy(&x->lock);
    free(x);
}

/* The oldest that ended; with the lock. */
static void forget(alm_exports *x)
{
    int32_t n = 0;
    for (alm_export_job **at = &x->newest; *at != NULL;) {
        alm_export_job *job = *at;
        if (++n <= ALM_EXPORTS_KEPT || job->state == ALM_COPY_RUNS) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job_free(job);
    }
}

const char *alm_export_cancel(alm_exports *x, alm_str id, const char *identity, bool *others)
{
    const char *said = NULL;
    (void)pthread_mutex_lock(&x->lock);
    for (alm_export_job *job = x->newest; job != NULL && said == NULL; job = job->next) {
        if (!alm_str_ieq(id, alm_str_of(job->id)))
            continue;
        *others = identity != NULL && strcmp(job->owner, identity) != 0;
        if (*others)
            break;
        atomic_store(&job->cancel, true);
        if (job->session != NULL)
            atomic_store(&job->session->cancel, true);
        said = job->session != NULL ? "cancelled" : state_names[job->state];
    }
    (void)pthread_mutex_unlock(&x->lock);
    return said;
}

/* -------------------------------------------------------------------- running */

static void told(void *arg, int64_t rows, int64_t files)
{
    alm_export_job *job = arg;
    alm_exports *x = job->db->exports;
    (void)pthread_mutex_lock(&x->lock);
    job->rows = rows;
    job->files = files;
    (void)pthread_mutex_unlock(&x->lock);
}

/* With the lock, of a job that has ended. */
static void keep_little(alm_export_job *job)
{
    const char **const texts[] = {&job->label, &job->path, &job->owner};
    if (!alm_copy_keep_texts(&job->arena, texts, ALM_COUNT(texts)))
        return;
    job->query = job->label;
    job->request = (alm_pq_request){0};
}

static void job_done(alm_export_job *job, alm_status st, const alm_error *err)
{
    alm_exports *x = job->db->exports;
    alm_session *session = job->session;
    const alm_io *io = job->db->io;
    (void)pthread_mutex_lock(&x->lock);
    job->session = NULL;
    job->end_us = io->wall_ns(io) / 1000;
    job->state = st == ALM_OK         ? ALM_COPY_FINISHED
                 : st == ALM_E_CANCEL ? ALM_COPY_CANCELLED
                                      : ALM_COPY_FAILED;
    if (st != ALM_OK) {
        (void)snprintf(job->message, sizeof(job->message), "%s", err->msg);
        job->files = 0;
    }
    keep_little(job);
    (void)pthread_mutex_unlock(&x->lock);
    alm_session_free(session);
    (void)pthread_mutex_lock(&x->lock);
    x->running--; /* the job, and the process, may go now */
    (void)pthread_mutex_unlock(&x->lock);
}

static void *job_main(void *arg)
{
    alm_export_job *job = arg;
    alm_error err = {0};
    const alm_status st = alm_export_job_run(job, told, job, &err);
    alm_log_info("copy", "%s: export to '%s' %s, %lld rows%s%s", job->id, job->path,
                 st == ALM_OK ? "finished" : "failed", (long long)job->rows,
                 st == ALM_OK ? "" : ": ", st == ALM_OK ? "" : err.msg);
    job_done(job, st, &err);
    return NULL;
}

/* Puts the job into the list and starts it; the job is the list's then. */
static alm_status job_start(alm_ctx *cx, alm_export_job *job)
{
    alm_exports *x = job->db->exports;
    const int64_t max = job->db->conf->copy_jobs_max;
    pthread_t thread;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&x->lock);
    if (x->running >= max)
        st = alm_fail(cx, ALM_E_BUSY, -1, "%d exports run already: the limit is copy.jobs.max",
                      x->running);
    else if (pthread_create(&thread, NULL, job_main, job) != 0)
        st = alm_fail(cx, ALM_E_BUSY, -1, "cannot start a thread for COPY");
    if (st == ALM_OK) {
        (void)pthread_detach(thread);
        x->running++;
        job->next = x->newest;
        x->newest = job;
        forget(x);
    }
    (void)pthread_mutex_unlock(&x->lock);
    return st;
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

static alm_status read_partition(alm_ctx *cx, const alm_copy_options *o, alm_partition_by *out)
{
    static const struct {
        const char *name;
        alm_partition_by by;
    } rows[] = {{"none", ALM_PART_NONE}, {"hour", ALM_PART_HOUR},   {"day", ALM_PART_DAY},
                {"week", ALM_PART_WEEK}, {"month", ALM_PART_MONTH}, {"year", ALM_PART_YEAR}};
    *out = ALM_PART_NONE;
    if (o->partition_by.ptr == NULL)
        return ALM_OK;
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_ieq(o->partition_by, alm_str_of(rows[i].name))) {
            *out = rows[i].by;
            return ALM_OK;
        }
    return alm_fail(cx, ALM_E_ARG, o->partition_pos,
                    "'%.*s': NONE, HOUR, DAY, WEEK, MONTH or YEAR expected",
                    (int)ALM_MIN(o->partition_by.len, (size_t)40), o->partition_by.ptr);
}

/* The query is planned, so that its faults are told at once and at their place. */
static alm_status check_query(alm_cursor *c, const alm_stmt *stmt, const alm_copy_options *o,
                              alm_partition_by by)
{
    alm_plan_env env;
    alm_plan *plan = NULL;
    if (stmt->n_params > 0)
        return alm_fail(&c->cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY TO a file of the server cannot have parameters");
    alm_plan_env_init(&env, c, NULL, 0);
    ALM_TRY(alm_plan_select(&c->cx, &env, stmt->select, &plan));
    if (by != ALM_PART_NONE && (plan->ts_col < 0 || plan->order != ALM_ORDER_ASC))
        return alm_fail(&c->cx, ALM_E_ARG, o->partition_pos,
                        "PARTITION_BY needs rows in ascending order of a designated timestamp");
    return ALM_OK;
}

static alm_status job_fill(alm_cursor *c, alm_export_job *job, const alm_stmt *stmt,
                           const alm_copy_options *o)
{
    alm_ctx *cx = &c->cx;
    const alm_copy *copy = stmt->ext;
    alm_db *db = c->session->db;
    uint64_t id = 0;
    ALM_TRY(read_partition(cx, o, &job->by));
    ALM_TRY(check_query(c, stmt, o, job->by));
    ALM_TRY(query_text(cx, &job->arena, copy, &job->query));
    job->label = job->query;
    ALM_TRY(alm_arena_zstr(cx, &job->arena, alm_str_of(c->session->identity), &job->owner));
    job->secured = c->rights != NULL;
    job->any = job->secured && c->rights->all;
    if (copy->query.ptr == NULL)
        ALM_TRY(alm_arena_zstr(cx, &job->arena, stmt->table, &job->label));
    ALM_TRY(target_path(cx, &job->arena, copy->file, job->by != ALM_PART_NONE, &job->path));
    job->request = o->parquet_request;
    if (job->request.bloom_columns.ptr != NULL)
        ALM_TRY(alm_arena_copy(cx, &job->arena, job->request.bloom_columns,
                               &job->request.bloom_columns));
    (void)db->io->random(db->io, &id, sizeof(id));
    (void)snprintf(job->id, sizeof(job->id), "%016llx", (unsigned long long)id);
    ALM_TRY(alm_session_new(cx, db, c->session->user, "copy", &job->session));
    alm_session_become_as(job->session, c->session);
    job->session->ends = c->session->ends;
    alm_activity_fix(job->session, alm_str_of(c->session->activity.text), job->start_us);
    return ALM_OK;
}

static alm_status refuse(alm_cursor *c, const alm_stmt *stmt, const alm_copy_options *o)
{
    alm_ctx *cx = &c->cx;
    const alm_copy *copy = stmt->ext;
    const alm_session *s = c->session;
    if (!o->parquet)
        return alm_fail(cx, ALM_E_UNSUPPORTED, copy->file_pos,
                        "COPY TO a file of the server writes FORMAT PARQUET only");
    ALM_TRY(alm_session_may_write(cx, s, stmt->pos));
    if (s->tx_state == 'T')
        return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY of a file cannot take part in a transaction block");
    return alm_copy_check_path(cx, copy, "cairo.sql.copy.export.root",
                               s->db->conf != NULL ? s->db->conf->cairo_sql_copy_export_root : "");
}

alm_status alm_run_export(alm_cursor *c, const alm_stmt *stmt, const alm_copy_options *options)
{
    alm_ctx *cx = &c->cx;
    const char *id = NULL;
    ALM_TRY(alm_access_may(cx, "READ FILE", NULL, stmt->pos));
    ALM_TRY(refuse(c, stmt, options));
    alm_export_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    *job = (alm_export_job){.db = c->session->db, .start_us = cx->now_ns / 1000};
    alm_arena_init(&job->arena, NULL);
    alm_status st = job_fill(c, job, stmt, options);
    if (st == ALM_OK)
        st = alm_arena_printf(cx, cx->arena, &id, "%s", job->id); /* the job may end any time */
    if (st == ALM_OK)
        st = alm_cursor_texts(c, "id", &id, 1);
    if (st == ALM_OK)
        st = job_start(cx, job);
    if (st != ALM_OK) {
        if (job->session != NULL)
            alm_session_free(job->session);
        job_free(job);
    }
    return st;
}

/* -------------------------------------------------------------------- listing */

static alm_status number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static alm_status text(alm_ctx *cx, const char *value, const char **out)
{
    return alm_arena_zstr(cx, cx->arena, alm_str_of(value), out);
}

static alm_status log_row(alm_ctx *cx, const alm_export_job *job, bool end, const char **cell)
{
    ALM_TRY(number(cx, end ? job->end_us : job->start_us, &cell[0]));
    ALM_TRY(text(cx, job->id, &cell[1]));
    ALM_TRY(text(cx, job->label, &cell[2]));
    ALM_TRY(text(cx, job->path, &cell[3]));
    cell[4] = cell[6] = cell[7] = cell[8] = NULL;
    if (end || job->state == ALM_COPY_RUNS)
        ALM_TRY(number(cx, job->files, &cell[4]));
    if (end || job->state == ALM_COPY_RUNS)
        ALM_TRY(number(cx, job->rows, &cell[8]));
    cell[5] = NULL; /* no phases */
    cell[6] = state_names[end ? job->state : ALM_COPY_RUNS];
    return end && job->message[0] != 0 ? text(cx, job->message, &cell[7]) : ALM_OK;
}

alm_status alm_export_log_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_exports *x = cx->session->db->exports;
    const char **out = NULL;
    size_t n = 0, at = 0;
    const bool all = alm_copy_shows_all(cx->session);
    *rows = 0;
    (void)pthread_mutex_lock(&x->lock);
    for (const alm_export_job *job = x->newest; job != NULL; job = job->next)
        if (alm_copy_is_shown(cx->session, all, job->owner))
            n += job->state == ALM_COPY_RUNS ? 1 : 2;
    alm_status st = ALM_NEWN(cx, cx->arena, n * LOG_CELLS + 1, &out);
    at = n; /* newest last */
    for (const alm_export_job *job = x->newest; st == ALM_OK && job != NULL; job = job->next) {
        if (!alm_copy_is_shown(cx->session, all, job->owner))
            continue;
        if (job->state != ALM_COPY_RUNS)
            st = log_row(cx, job, true, out + --at * LOG_CELLS);
        if (st == ALM_OK)
            st = log_row(cx, job, false, out + --at * LOG_CELLS);
    }
    (void)pthread_mutex_unlock(&x->lock);
    ALM_TRY(st);
    *cells = out;
    *rows = n;
    return ALM_OK;
}

static alm_status activity_row(alm_ctx *cx, const alm_export_job *job, const char **cell)
{
    ALM_TRY(text(cx, job->id, &cell[0]));
    ALM_TRY(text(cx, job->session->user, &cell[1]));
    ALM_TRY(number(cx, job->start_us, &cell[2]));
    cell[3] = "exporting";
    cell[4] = "copy";
    ALM_TRY(text(cx, job->path, &cell[5]));
    ALM_TRY(text(cx, job->query, &cell[6]));
    return alm_arena_printf(cx, cx->arena, &cell[7], "rows: %lld", (long long)job->rows);
}

alm_status alm_export_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_exports *x = cx->session->db->exports;
    const char **out = NULL;
    size_t n = 0;
    const bool all = alm_copy_shows_all(cx->session);
    (void)pthread_mutex_lock(&x->lock);
    alm_status st = ALM_NEWN(cx, cx->arena, (size_t)x->running * ACTIVITY_CELLS + 1, &out);
    for (const alm_export_job *job = x->newest; st == ALM_OK && job != NULL; job = job->next)
        if (job->session != NULL && alm_copy_is_shown(cx->session, all, job->owner))
            st = activity_row(cx, job, out + n++ * ACTIVITY_CELLS);
    (void)pthread_mutex_unlock(&x->lock);
    ALM_TRY(st);
    *cells = out;
    *rows = n;
    return ALM_OK;
}
