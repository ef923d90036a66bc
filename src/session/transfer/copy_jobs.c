/* copy_jobs.c - see copy_jobs.h. */
#include "session/transfer/copy_jobs.h"
#include "session/access/access.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "codec/json_text.h"
#include "session/statement/statement.h"
#include "session/transfer/copy.h"
#include "session/transfer/export.h"
#include "session/transfer/transfer.h"

enum { CELLS = 10 };

static const char file_name[] = "imports.json", file_format[] = "almanac imports 1";
static const char *const state_names[] = {"started", "finished", "failed", "cancelled"};

void alm_copy_job_free(alm_copy_job *job)
{
    alm_arena_deinit(&job->texts);
    free(job);
}

bool alm_copy_keep_texts(alm_arena *texts_of, const char **const *texts, size_t n)
{
    enum { TEXTS_MAX = 4 };
    alm_ctx cx = {0};
    alm_arena little;
    const char *kept[TEXTS_MAX] = {0};
    alm_status st = ALM_OK;
    ALM_ASSERT(n <= TEXTS_MAX);
    alm_arena_init_small(&little, NULL);
    for (size_t i = 0; i < n && st == ALM_OK; i++) {
        alm_str text = alm_str_of(*texts[i]);
        text.len = ALM_MIN(text.len, (size_t)ALM_COPY_TEXT_KEPT);
        text.len = alm_utf8_bad_at(text); /* whole characters */
        st = alm_arena_zstr(&cx, &little, text, &kept[i]);
    }
    if (st != ALM_OK) {
        alm_arena_deinit(&little);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        *texts[i] = kept[i];
    alm_arena_deinit(texts_of);
    *texts_of = little;
    return true;
}

bool alm_copy_jobs_run(alm_copy_jobs *jobs)
{
    if (jobs == NULL)
        return false;
    (void)pthread_mutex_lock(&jobs->lock);
    const bool any = jobs->running > 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    return any;
}

void alm_copy_jobs_free(alm_copy_jobs *jobs)
{
    if (jobs == NULL)
        return;
    while (jobs->newest != NULL) {
        alm_copy_job *next = jobs->newest->next;
        alm_copy_job_free(jobs->newest);
        jobs->newest = next;
    }
    (void)pthread_mutex_destroy(&jobs->lock);
    (void)pthread_mutex_destroy(&jobs->file_lock);
    free(jobs);
}

void alm_copy_jobs_forget(alm_copy_jobs *jobs)
{
    int32_t n = 0;
    for (alm_copy_job **at = &jobs->newest; *at != NULL;) {
        alm_copy_job *job = *at;
        if (++n <= ALM_COPY_KEPT_MAX || job->state == ALM_COPY_RUNS) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        alm_copy_job_free(job);
    }
}

/* -------------------------------------------------------------------- the file */

/* Numbers of a job, by their names in the file. */
static const struct {
    const char *name;
    size_t at;
} numbers[] = {{"start", offsetof(alm_copy_job, start_us)},
               {"end", offsetof(alm_copy_job, end_us)},
               {"handled", offsetof(alm_copy_job, handled)},
               {"imported", offsetof(alm_copy_job, imported)},
               {"errors", offsetof(alm_copy_job, errors)}};

static alm_status put_text(alm_ctx *cx, alm_buf *out, const char *key, const char *text)
{
    ALM_TRY(alm_buf_printf(cx, out, "\"%s\":", key));
    return alm_json_put_string(cx, out, alm_str_of(text));
}

static alm_status put_job(alm_ctx *cx, alm_buf *out, const alm_copy_job *job)
{
    ALM_TRY(alm_buf_printf(cx, out, "{\"id\":\"%s\",\"status\":\"%s\",", job->id,
                           state_names[job->state]));
    ALM_TRY(put_text(cx, out, "table", job->table));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(put_text(cx, out, "file", job->file));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(put_text(cx, out, "owner", job->owner));
    ALM_TRY(alm_buf_text(cx, out, ","));
    ALM_TRY(put_text(cx, out, "message", job->message));
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        int64_t value;
        (void)memcpy(&value, (const char *)job + numbers[i].at, sizeof(value));
        ALM_TRY(alm_buf_printf(cx, out, ",\"%s\":\"%lld\"", numbers[i].name, (long long)value));
    }
    return alm_buf_text(cx, out, "}");
}

/* Newest first, as the list is. */
static alm_status put_jobs(alm_ctx *cx, alm_buf *out, alm_copy_jobs *jobs)
{
    alm_status st = alm_buf_printf(cx, out, "{\"format\":\"%s\",\"imports\":[", file_format);
    (void)pthread_mutex_lock(&jobs->lock);
    for (const alm_copy_job *job = jobs->newest; st == ALM_OK && job != NULL; job = job->next) {
        st = alm_buf_text(cx, out, job == jobs->newest ? "\n" : ",\n");
        if (st == ALM_OK)
            st = put_job(cx, out, job);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return st == ALM_OK ? alm_buf_text(cx, out, "]}\n") : st;
}

void alm_copy_jobs_keep(alm_copy_jobs *jobs)
{
    alm_ctx cx = {0};
    alm_buf text;
    alm_buf_init(&text, NULL);
    (void)pthread_mutex_lock(&jobs->file_lock);
    alm_status st = put_jobs(&cx, &text, jobs);
    if (st == ALM_OK)
        st = alm_io_replace(&cx, jobs->db->io, jobs->db->root, file_name, text.ptr, text.len);
    (void)pthread_mutex_unlock(&jobs->file_lock);
    alm_buf_deinit(&text);
    if (st != ALM_OK)
        alm_log_warn("copy", "the list of imports is not kept: %s", cx.err.msg);
}

static alm_status member(alm_ctx *cx, alm_copy_job *job, const alm_json *node, const char *key,
                         const char **out)
{
    return alm_arena_zstr(cx, &job->texts, alm_json_text(alm_json_get(node, key)), out);
}

static alm_status fill_job(alm_ctx *cx, alm_copy_job *job, const alm_json *node)
{
    const char *id = NULL, *message = NULL, *number = NULL;
    ALM_TRY(member(cx, job, node, "id", &id));
    ALM_TRY(member(cx, job, node, "table", &job->table));
    ALM_TRY(member(cx, job, node, "file", &job->file));
    ALM_TRY(member(cx, job, node, "owner", &job->owner));
    ALM_TRY(member(cx, job, node, "message", &message));
    (void)snprintf(job->id, sizeof(job->id), "%s", id);
    (void)snprintf(job->message, sizeof(job->message), "%s", message);
    for (size_t i = 0; i < ALM_COUNT(numbers); i++) {
        ALM_TRY(member(cx, job, node, numbers[i].name, &number));
        const int64_t value = strtoll(number, NULL, 10);
        (void)memcpy((char *)job + numbers[i].at, &value, sizeof(value));
    }
    const alm_str status = alm_json_text(alm_json_get(node, "status"));
    for (uint32_t i = ALM_COPY_FINISHED; i < ALM_COUNT(state_names); i++)
        if (alm_str_eq(status, alm_str_of(state_names[i])))
            job->state = (alm_copy_state)i;
    if (job->state != ALM_COPY_RUNS)
        return ALM_OK;
    job->state = ALM_COPY_FAILED;
    job->end_us = job->db->started_us;
    (void)snprintf(job->message, sizeof(job->message),
                   "the server ended before the import was known to: all of its rows are there, "
                   "or none");
    return ALM_OK;
}

static alm_status take_jobs(alm_ctx *cx, alm_copy_jobs *jobs, const alm_json *document)
{
    const alm_json *list = alm_json_get(document, "imports");
    alm_copy_job **end = &jobs->newest;
    if (!alm_str_eq(alm_json_text(alm_json_get(document, "format")), alm_str_of(file_format)))
        return alm_fail(cx, ALM_E_VALUE, -1, "its format is not '%s'", file_format);
    for (size_t i = 0; i < alm_json_count(list); i++) {
        alm_copy_job *job = calloc(1, sizeof(*job));
        if (job == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
        job->db = (alm_db *)(uintptr_t)jobs->db;
        alm_arena_init(&job->texts, NULL);
        *end = job;
        end = &job->next;
        ALM_TRY(fill_job(cx, job, alm_json_at(list, i)));
    }
    return ALM_OK;
}

static alm_status read_file(alm_ctx *cx, const alm_db *db, const char *path, alm_buf *out)
{
    alm_io_stat stat;
    const alm_io *io = db->io;
    if (io->stat(io, path, &stat) < 0)
        return ALM_OK; /* no import yet */
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status st = alm_buf_reserve(cx, out, (size_t)stat.size_bytes);
    if (st == ALM_OK)
        st = alm_io_read_all(cx, io, handle, out->ptr, (size_t)stat.size_bytes, 0, path);
    if (st == ALM_OK)
        out->len = (size_t)stat.size_bytes;
    (void)io->close(io, handle);
    return st;
}

/* What cannot be read is left out: the list is no reason not to start. */
static void load(alm_copy_jobs *jobs)
{
    alm_ctx cx = {0};
    char path[sizeof(jobs->db->root) + sizeof(file_name) + 1];
    alm_json *document = NULL;
    alm_buf text;
    alm_buf_init(&text, NULL);
    (void)snprintf(path, sizeof(path), "%s/%s", jobs->db->root, file_name);
    alm_status st = read_file(&cx, jobs->db, path, &text);
    if (st == ALM_OK && text.len > 0)
        st = alm_json_parse(&cx, (alm_str){text.ptr, text.len}, &document);
    if (st == ALM_OK && document != NULL)
        st = take_jobs(&cx, jobs, document);
    if (document != NULL)
        alm_json_free(document);
    alm_buf_deinit(&text);
    if (st != ALM_OK)
        alm_log_warn("copy", "the list of imports, '%s', cannot be read: %s", path, cx.err.msg);
}

alm_status alm_copy_jobs_new(alm_ctx *cx, const alm_db *db, alm_copy_jobs **out)
{
    alm_copy_jobs *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&jobs->lock, NULL);
    (void)pthread_mutex_init(&jobs->file_lock, NULL);
    jobs->db = db;
    *out = jobs;
    load(jobs);
    return ALM_OK;
}

/* ------------------------------------------------------------- cancel, listing */

alm_status alm_run_copy_cancel(alm_cursor *c, const alm_stmt *stmt)
{
    const alm_copy *copy = stmt->ext;
    alm_copy_jobs *jobs = c->session->db->copy_jobs;
    const char *said = NULL;
    bool others = false;
    const bool any = alm_session_holds(c->session, "CANCEL ANY COPY");
    (void)pthread_mutex_lock(&jobs->lock);
    for (alm_copy_job *job = jobs->newest; job != NULL && said == NULL; job = job->next) {
        if (!alm_str_ieq(copy->file, alm_str_of(job->id)))
            continue;
        others = !alm_copy_is_shown(c->session, any, job->owner);
        if (others)
            break;
        if (job->session != NULL)
            atomic_store(&job->session->cancel, true);
        said = job->session != NULL ? "cancelled" : state_names[job->state];
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    if (others)
        return alm_access_may(&c->cx, "CANCEL ANY COPY", NULL, copy->file_pos);
    if (said == NULL)
        said = alm_export_cancel(c->session->db->exports, copy->file,
                                 any ? NULL : c->session->identity, &others);
    if (others)
        return alm_access_may(&c->cx, "CANCEL ANY COPY", NULL, copy->file_pos);
    if (said == NULL)
        return alm_fail(&c->cx, ALM_E_ARG, copy->file_pos, "no active import to cancel [id=%.*s]",
                        (int)ALM_MIN(copy->file.len, (size_t)40), copy->file.ptr);
    return alm_cursor_texts(c, "status", &said, 1);
}

bool alm_copy_is_shown(const alm_session *me, bool all, const char *owner)
{
    return all || strcmp(owner, me->identity) == 0;
}

bool alm_copy_shows_all(alm_session *me)
{
    return alm_session_holds(me, "SQL ENGINE ADMIN") || alm_session_holds(me, "CANCEL ANY COPY");
}

static alm_status number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static alm_status job_row(alm_ctx *cx, const alm_copy_job *job, bool end, const char **cell)
{
    const bool counts = end || job->state == ALM_COPY_RUNS;
    ALM_TRY(number(cx, end ? job->end_us : job->start_us, &cell[0]));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[1], "%s", job->id));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->table), &cell[2]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->file), &cell[3]));
    cell[4] = NULL; /* no phases */
    cell[5] = state_names[end ? job->state : ALM_COPY_RUNS];
    cell[6] = NULL;
    if (end && job->message[0] != 0)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->message), &cell[6]));
    if (!counts)
        return ALM_OK;
    ALM_TRY(number(cx, job->handled, &cell[7]));
    ALM_TRY(number(cx, job->imported, &cell[8]));
    return number(cx, job->errors, &cell[9]);
}

alm_status alm_copy_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_copy_jobs *jobs = cx->session->db->copy_jobs;
    const char **out = NULL;
    size_t n = 0, at = 0;
    alm_status st = ALM_OK;
    const bool all = alm_copy_shows_all(cx->session);
    *rows = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (const alm_copy_job *job = jobs->newest; job != NULL; job = job->next)
        if (alm_copy_is_shown(cx->session, all, job->owner))
            n += job->state == ALM_COPY_RUNS ? 1 : 2;
    st = ALM_NEWN(cx, cx->arena, n * CELLS + 1, &out);
    at = n; /* newest last */
    for (const alm_copy_job *job = jobs->newest; st == ALM_OK && job != NULL; job = job->next) {
        if (!alm_copy_is_shown(cx->session, all, job->owner))
            continue;
        if (job->state != ALM_COPY_RUNS)
            st = job_row(cx, job, true, out + --at * CELLS);
        if (st == ALM_OK)
            st = job_row(cx, job, false, out + --at * CELLS);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    ALM_TRY(st);
    *cells = out;
    *rows = n;
    return ALM_OK;
}
