/* copy_jobs.c - see copy_jobs.h. */
#include "session/transfer/copy_jobs.h"
#include "session/access/access.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "codec/json.h"
#include "codec/json_text.h"
#include "session/statement/statement.h"
#include "session/transfer/copy.h"
#include "session/transfer/export.h"
#include "session/transfer/transfer.h"

enum { CELLS = 10 };

static const char file_name[] = "imports.json", file_format[] = "almanac imports 1";

/* -------------------------------------------------------------------- the file */

/* Numbers of a job, by their names in the file. */
static const struct {
    const char *name;
    size_t at;
} numbers[] = {{"start", offsetof(alm_copy_job, base.start_us)},
               {"end", offsetof(alm_copy_job, base.end_us)},
               {"handled", offsetof(alm_copy_job, handled)},
               {"imported", offsetof(alm_copy_job, imported)},
               {"errors", offsetof(alm_copy_job, errors)}};

static alm_status copy_jobs_put_text(alm_ctx *cx, alm_buf *out, const char *key, const char *text)
{
    ALM_TRY(alm_buf_printf(cx, out, "\"%s\":", key));
    return alm_json_put_string(cx, out, alm_str_of(text));
}

static alm_status put_job(alm_ctx *cx, alm_buf *out, const alm_copy_job *job)
{
    ALM_TRY(alm_buf_printf(cx, out, "{\"id\":\"%s\",\"status\":\"%s\",", job->base.id,
                           alm_job_state_name(job->base.state)));
    ALM_TRY(copy_jobs_put_text(cx, out, "table", job->table));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(copy_jobs_put_text(cx, out, "file", job->file));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(copy_jobs_put_text(cx, out, "owner", job->base.owner));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(copy_jobs_put_text(cx, out, "message", job->base.message));
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        int64_t value;
        (void)memcpy(&value, (const char *)job + numbers[i].at, sizeof(value));
        ALM_TRY(alm_buf_printf(cx, out, ",\"%s\":\"%lld\"", numbers[i].name, (long long)value));
    }
    return alm_buf_text(cx, out, "}");
}

/* Newest first, as the list is. */
static alm_status put_jobs(alm_ctx *cx, alm_buf *out, alm_jobs *jobs)
{
    alm_status status = alm_buf_printf(cx, out, "{\"format\":\"%s\",\"imports\":[", file_format);
    (void)pthread_mutex_lock(&jobs->lock);
    for (const alm_job *job = jobs->newest; status == ALM_OK && job != NULL; job = job->next) {
        status = alm_buf_text(cx, out, job == jobs->newest ? "\n" : ",\n");
        if (status == ALM_OK)
            status = put_job(cx, out, (const alm_copy_job *)job);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return status == ALM_OK ? alm_buf_text(cx, out, "]}\n") : status;
}

void alm_copy_jobs_keep(alm_jobs *jobs)
{
    pthread_mutex_t *file_lock = &((alm_copy_jobs *)jobs)->file_lock;
    alm_ctx cx = {0};
    alm_buf text;
    alm_buf_init(&text, NULL);
    (void)pthread_mutex_lock(file_lock);
    alm_status status = put_jobs(&cx, &text, jobs);
    if (status == ALM_OK)
        status = alm_io_replace(&cx, jobs->db->io, jobs->db->root, file_name, text.ptr, text.len);
    (void)pthread_mutex_unlock(file_lock);
    alm_buf_deinit(&text);
    if (status != ALM_OK)
        alm_log_warn("copy", "the list of imports is not kept: %s", cx.err.msg);
}

static alm_status copy_jobs_member(alm_ctx *cx, alm_copy_job *job, const alm_json *node,
                                   const char *key, const char **out)
{
    return alm_arena_zstr(cx, &job->base.texts, alm_json_text(alm_json_get(node, key)), out);
}

static alm_status fill_job(alm_ctx *cx, alm_copy_job *job, const alm_json *node)
{
    const char *id = NULL, *message = NULL, *number = NULL;
    ALM_TRY(copy_jobs_member(cx, job, node, "id", &id));
    ALM_TRY(copy_jobs_member(cx, job, node, "table", &job->table));
    ALM_TRY(copy_jobs_member(cx, job, node, "file", &job->file));
    ALM_TRY(copy_jobs_member(cx, job, node, "owner", &job->base.owner));
    ALM_TRY(copy_jobs_member(cx, job, node, "message", &message));
    (void)snprintf(job->base.id, sizeof(job->base.id), "%s", id);
    (void)snprintf(job->base.message, sizeof(job->base.message), "%s", message);
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        ALM_TRY(copy_jobs_member(cx, job, node, numbers[i].name, &number));
        const int64_t value = strtoll(number, NULL, 10);
        (void)memcpy((char *)job + numbers[i].at, &value, sizeof(value));
    }
    const alm_str status = alm_json_text(alm_json_get(node, "status"));
    for (uint32_t i = ALM_JOB_FINISHED; i < ALM_JOB_STATES; i++)
        if (alm_str_eq(status, alm_str_of(alm_job_state_name((alm_job_state)i))))
            job->base.state = (alm_job_state)i;
    if (job->base.state != ALM_JOB_RUNS)
        return ALM_OK;
    job->base.state = ALM_JOB_FAILED;
    job->base.end_us = job->base.db->started_us;
    (void)snprintf(job->base.message, sizeof(job->base.message),
                   "the server ended before the import was known to: all of its rows are there, "
                   "or none");
    return ALM_OK;
}

static alm_status take_jobs(alm_ctx *cx, alm_copy_jobs *jobs, const alm_json *document)
{
    const alm_json *list = alm_json_get(document, "imports");
    alm_job **end = &jobs->base.newest;
    if (!alm_str_eq(alm_json_text(alm_json_get(document, "format")), alm_str_of(file_format)))
        return alm_fail(cx, ALM_E_VALUE, -1, "its format is not '%s'", file_format);
    for (size_t i = 0; i < alm_json_count(list); i++) {
        alm_copy_job *job = calloc(1, sizeof(*job));
        if (job == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
        job->base.jobs = &jobs->base;
        job->base.db = jobs->base.db;
        alm_arena_init(&job->base.texts, NULL);
        *end = &job->base;
        end = &job->base.next;
        ALM_TRY(fill_job(cx, job, alm_json_at(list, i)));
    }
    return ALM_OK;
}

static alm_status copy_jobs_read_file(alm_ctx *cx, const alm_db *db, const char *path, alm_buf *out)
{
    alm_io_stat stat;
    const alm_io *io = db->io;
    if (io->stat(io, path, &stat) < 0)
        return ALM_OK; /* no import yet */
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status status = alm_buf_reserve(cx, out, (size_t)stat.size_bytes);
    if (status == ALM_OK)
        status = alm_io_read_all(cx, io, handle, out->ptr, (size_t)stat.size_bytes, 0, path);
    if (status == ALM_OK)
        out->len = (size_t)stat.size_bytes;
    (void)io->close(io, handle);
    return status;
}

/* What cannot be read is left out: the list is no reason not to start. */
static void copy_jobs_load(alm_copy_jobs *jobs)
{
    alm_ctx cx = {0};
    char path[sizeof(jobs->base.db->root) + sizeof(file_name) + 1];
    alm_json *document = NULL;
    alm_buf text;
    alm_buf_init(&text, NULL);
    (void)snprintf(path, sizeof(path), "%s/%s", jobs->base.db->root, file_name);
    alm_status status = copy_jobs_read_file(&cx, jobs->base.db, path, &text);
    if (status == ALM_OK && text.len > 0)
        status = alm_json_parse(&cx, (alm_str){text.ptr, text.len}, &document);
    if (status == ALM_OK && document != NULL)
        status = take_jobs(&cx, jobs, document);
    if (document != NULL)
        alm_json_free(document);
    alm_buf_deinit(&text);
    if (status != ALM_OK)
        alm_log_warn("copy", "the list of imports, '%s', cannot be read: %s", path, cx.err.msg);
}

alm_status alm_copy_jobs_new(alm_ctx *cx, alm_db *db, alm_copy_jobs **out)
{
    alm_copy_jobs *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    alm_jobs_init(&jobs->base, &alm_import_jobs, db);
    (void)pthread_mutex_init(&jobs->file_lock, NULL);
    *out = jobs;
    copy_jobs_load(jobs);
    return ALM_OK;
}

bool alm_copy_jobs_run(alm_copy_jobs *jobs)
{
    return jobs != NULL && alm_jobs_run(&jobs->base);
}

void alm_copy_jobs_free(alm_copy_jobs *jobs)
{
    if (jobs == NULL)
        return;
    alm_jobs_deinit(&jobs->base);
    (void)pthread_mutex_destroy(&jobs->file_lock);
    free(jobs);
}

/* ------------------------------------------------------------- cancel, listing */

alm_status alm_run_copy_cancel(alm_cursor *cursor, const alm_stmt *stmt)
{
    const alm_copy *copy = stmt->ext;
    alm_db *db = cursor->session->db;
    alm_jobs *const lists[] = {&db->copy_jobs->base, db->exports};
    const char *said = NULL;
    bool others = false;
    const bool any = alm_session_holds(cursor->session, "CANCEL ANY COPY");
    for (size_t i = 0; i < ALM_COUNT(lists) && said == NULL && !others; i++)
        said =
            alm_job_cancel(lists[i], copy->file, any ? NULL : cursor->session->identity, &others);
    if (others)
        return alm_access_may(&cursor->cx, "CANCEL ANY COPY", NULL, copy->file_pos);
    if (said == NULL)
        return alm_fail(&cursor->cx, ALM_E_ARG, copy->file_pos,
                        "no active import to cancel [id=%.*s]",
                        (int)ALM_MIN(copy->file.len, (size_t)40), copy->file.ptr);
    return alm_cursor_texts(cursor, "status", &said, 1);
}

static alm_status copy_jobs_number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static alm_status job_row(alm_ctx *cx, const alm_job *base, bool end, const char **cell)
{
    const alm_copy_job *job = (const alm_copy_job *)base;
    const bool counts = end || job->base.state == ALM_JOB_RUNS;
    ALM_TRY(copy_jobs_number(cx, end ? job->base.end_us : job->base.start_us, &cell[0]));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[1], "%s", job->base.id));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->table), &cell[2]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->file), &cell[3]));
    cell[4] = NULL; /* no phases */
    cell[5] = alm_job_state_name(end ? base->state : ALM_JOB_RUNS);
    cell[6] = NULL;
    if (end && job->base.message[0] != 0)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->base.message), &cell[6]));
    if (!counts)
        return ALM_OK;
    ALM_TRY(copy_jobs_number(cx, job->handled, &cell[7]));
    ALM_TRY(copy_jobs_number(cx, job->imported, &cell[8]));
    return copy_jobs_number(cx, job->errors, &cell[9]);
}

alm_status alm_copy_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    return alm_jobs_log(cx, &cx->session->db->copy_jobs->base, CELLS, job_row, cells, rows);
}
