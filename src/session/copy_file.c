/*
 * copy_file.c - COPY t FROM 'file': a file below the folder of imports, by a thread of its own. The
 * statement answers with an id at once; sys.text_import_log has what became of it.
 *
 * Files       Relative names below cairo.sql.copy.root. The system is asked to open them so that no
 *             link leads out of the folder.
 * Threads     One for each import. `lock` of the list guards all jobs; an import has a session of its
 *             own, which is in the list of sessions, so that a stop ends it like every statement.
 * Limits      copy.jobs.max imports at once; the newest KEPT_MAX are remembered, until the process ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/copy.h"
#include "session/import.h"

enum { KEPT_MAX = 1000, PIECE_BYTES = 1 << 20, CELLS = 10 };

typedef enum job_state { JOB_RUNS, JOB_FINISHED, JOB_FAILED, JOB_CANCELLED } job_state;

static const char *const state_names[] = {"started", "finished", "failed", "cancelled"};

typedef struct copy_job {
    struct copy_job *next; /* older */
    alm_db *db;
    char id[17];
    char *table, *file;
    alm_import_conf conf; /* texts in `texts` */
    alm_arena texts;
    alm_session *session; /* while it runs */
    int handle;
    job_state state;
    int64_t start_us, end_us;
    int64_t handled, imported, errors;
    char message[1024];
} copy_job;

struct alm_copy_jobs {
    pthread_mutex_t lock;
    copy_job *newest;
    int32_t running;
};

static void job_free(copy_job *job)
{
    alm_arena_deinit(&job->texts);
    free(job);
}

alm_status alm_copy_jobs_new(alm_ctx *cx, struct alm_copy_jobs **out)
{
    struct alm_copy_jobs *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&jobs->lock, NULL);
    *out = jobs;
    return ALM_OK;
}

bool alm_copy_jobs_run(struct alm_copy_jobs *jobs)
{
    if (jobs == NULL)
        return false;
    (void)pthread_mutex_lock(&jobs->lock);
    const bool any = jobs->running > 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    return any;
}

void alm_copy_jobs_free(struct alm_copy_jobs *jobs)
{
    if (jobs == NULL)
        return;
    while (jobs->newest != NULL) {
        copy_job *next = jobs->newest->next;
        job_free(jobs->newest);
        jobs->newest = next;
    }
    (void)pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* -------------------------------------------------------------------- running */

static void count(copy_job *job, const alm_import *im)
{
    int64_t errors = 0;
    for (uint32_t i = 0; im->load.errors != NULL && i < im->load.n_cols; i++)
        errors += im->load.errors[i];
    (void)pthread_mutex_lock(&job->db->copy_jobs->lock);
    job->handled = im->load.handled;
    job->imported = im->load.handled - im->load.rejected;
    job->errors = errors + im->load.rejected;
    (void)pthread_mutex_unlock(&job->db->copy_jobs->lock);
}

static alm_status take_file(alm_ctx *cx, copy_job *job, alm_import *im)
{
    const alm_io *io = job->db->io;
    char *piece = NULL;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, PIECE_BYTES, &piece));
    for (int64_t at = 0;;) {
        if (atomic_load(&job->session->cancel) || atomic_load(&job->db->stopping))
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

static void job_done(copy_job *job, alm_status st, const alm_error *err)
{
    struct alm_copy_jobs *jobs = job->db->copy_jobs;
    alm_session *session = job->session;
    const alm_io *io = job->db->io;
    (void)pthread_mutex_lock(&jobs->lock);
    job->session = NULL;
    job->end_us = io->wall_ns(io) / 1000;
    job->state = st == ALM_OK ? JOB_FINISHED : st == ALM_E_CANCEL ? JOB_CANCELLED : JOB_FAILED;
    if (st != ALM_OK) {
        (void)snprintf(job->message, sizeof(job->message), "%s", err->msg);
        job->imported = 0;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    (void)io->close(io, job->handle);
    alm_session_free(session);
    (void)pthread_mutex_lock(&jobs->lock);
    jobs->running--; /* the job, and the process, may go now */
    (void)pthread_mutex_unlock(&jobs->lock);
}

static void *job_main(void *arg)
{
    copy_job *job = arg;
    alm_db *db = job->db;
    alm_mem mem = {.limit_bytes = db->query_mem_bytes, .parent = &db->mem, .name = "COPY"};
    alm_arena arena;
    alm_import im;
    alm_arena_init(&arena, &mem);
    alm_ctx cx = {.arena = &arena,
                  .mem = &mem,
                  .conf = db->conf,
                  .io = db->io,
                  .zones = db->zones,
                  .user = job->session->user};
    alm_import_init(&cx, &im, job->session, &job->conf);
    const alm_status st = take_file(&cx, job, &im);
    alm_import_deinit(&im);
    alm_log_info("copy", "%s: '%s' into '%s' %s, %lld rows%s%s", job->id, job->file, job->table,
                 st == ALM_OK ? "finished" : "failed",
                 (long long)(st == ALM_OK ? job->imported : 0), st == ALM_OK ? "" : ": ",
                 st == ALM_OK ? "" : cx.err.msg);
    job_done(job, st, &cx.err);
    alm_arena_deinit(&arena);
    return NULL;
}

/* ------------------------------------------------------------------- starting */

static alm_status check_path(alm_ctx *cx, const alm_copy *copy)
{
    const alm_str path = copy->file;
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
                    "file name must be relative to cairo.sql.copy.root, without '..'");
}

static alm_status open_file(alm_cursor *c, const alm_copy *copy, int *handle)
{
    alm_ctx *cx = &c->cx;
    const alm_db *db = c->session->db;
    const char *const root = db->conf != NULL ? db->conf->cairo_sql_copy_root : "";
    const char *folder = NULL, *path = NULL;
    if (root[0] == 0)
        return alm_fail(cx, ALM_E_DENIED, copy->file_pos,
                        "COPY of files is off: cairo.sql.copy.root is not set");
    ALM_TRY(check_path(cx, copy));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &folder, "%s%s%s", root[0] == '/' ? "" : db->root,
                             root[0] == '/' ? "" : "/", root));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, copy->file, &path));
    *handle = db->io->open_below(db->io, folder, path);
    if (*handle >= 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_ARG, copy->file_pos,
                    "no such file below cairo.sql.copy.root, or it leads out of it [file=%s]",
                    path);
}

static alm_status keep_text(alm_ctx *cx, copy_job *job, alm_str text, alm_str *out)
{
    return text.len == 0 ? ALM_OK : alm_arena_copy(cx, &job->texts, text, out);
}

static alm_status job_fill(alm_ctx *cx, copy_job *job, const alm_stmt *stmt,
                           const alm_copy_options *o)
{
    const alm_copy *copy = stmt->ext;
    const char *table = NULL, *file = NULL;
    job->conf =
        (alm_import_conf){.create = true,
                          .header = o->format.header ? ALM_CSV_HEADER_YES : ALM_CSV_HEADER_NO,
                          .delimiter = o->delimiter_given ? o->format.delimiter : (char)0,
                          .rule = o->rule};
    ALM_TRY(alm_arena_zstr(cx, &job->texts, stmt->table, &table));
    ALM_TRY(alm_arena_zstr(cx, &job->texts, copy->file, &file));
    job->table = (char *)(uintptr_t)table;
    job->file = (char *)(uintptr_t)file;
    job->conf.table = alm_str_of(table);
    ALM_TRY(keep_text(cx, job, o->timestamp, &job->conf.timestamp));
    ALM_TRY(keep_text(cx, job, o->partition_by, &job->conf.partition_by));
    return keep_text(cx, job, o->pattern, &job->conf.pattern);
}

/* Forgets the oldest that ended; with the lock. */
static void forget_old(struct alm_copy_jobs *jobs)
{
    int32_t n = 0;
    for (copy_job **at = &jobs->newest; *at != NULL;) {
        copy_job *job = *at;
        if (++n <= KEPT_MAX || job->state == JOB_RUNS) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job_free(job);
    }
}

/* Puts the job into the list and starts it; the job is the list's then. */
static alm_status job_start(alm_ctx *cx, copy_job *job)
{
    struct alm_copy_jobs *jobs = job->db->copy_jobs;
    const int64_t max = job->db->conf->copy_jobs_max;
    pthread_t thread;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&jobs->lock);
    if (jobs->running >= max)
        st = alm_fail(cx, ALM_E_BUSY, -1, "%d imports run already: the limit is copy.jobs.max",
                      jobs->running);
    else if (pthread_create(&thread, NULL, job_main, job) != 0)
        st = alm_fail(cx, ALM_E_BUSY, -1, "cannot start a thread for COPY");
    if (st == ALM_OK) {
        (void)pthread_detach(thread);
        jobs->running++;
        job->next = jobs->newest;
        jobs->newest = job;
        forget_old(jobs);
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return st;
}

static alm_status job_make(alm_cursor *c, const alm_stmt *stmt, const alm_copy_options *options,
                           int handle, copy_job **out)
{
    alm_ctx *cx = &c->cx;
    alm_db *db = c->session->db;
    uint64_t id = 0;
    copy_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    *job = (copy_job){.db = db, .handle = handle, .start_us = cx->now_ns / 1000};
    alm_arena_init(&job->texts, NULL);
    (void)db->io->random(db->io, &id, sizeof(id));
    (void)snprintf(job->id, sizeof(job->id), "%016llx", (unsigned long long)id);
    alm_status st = job_fill(cx, job, stmt, options);
    if (st == ALM_OK)
        st = alm_session_new(cx, db, c->session->user, "copy", &job->session);
    if (st != ALM_OK) {
        job_free(job);
        return st;
    }
    alm_activity_begin(job->session, (alm_str){"COPY", 4}, job->start_us);
    *out = job;
    return ALM_OK;
}

/* Options that only the bytes of a client may have. */
static alm_status check_options(alm_ctx *cx, const alm_stmt *stmt, const alm_copy_options *o)
{
    const alm_copy *copy = stmt->ext;
    const bool plain = o->format.kind == ALM_COPY_CSV && o->format.quote == '"' &&
                       o->format.escape == '"' && o->format.null.len == 0 && !o->match;
    if (plain && stmt->n_insert_cols == 0)
        return ALM_OK;
    return alm_fail(cx, ALM_E_UNSUPPORTED, copy->file_pos,
                    "a file of the server must be CSV with the quotes and nulls of RFC 4180, and "
                    "fill columns by its header");
}

alm_status alm_run_copy_file(alm_cursor *c, const alm_stmt *stmt)
{
    alm_ctx *cx = &c->cx;
    alm_db *db = c->session->db;
    alm_copy_options options;
    copy_job *job = NULL;
    int handle = -1;
    ALM_TRY(alm_copy_options_read(cx, stmt, &options));
    ALM_TRY(check_options(cx, stmt, &options));
    if (c->session->tx_state == 'T')
        return alm_fail(cx, ALM_E_UNSUPPORTED, stmt->pos,
                        "COPY of a file cannot take part in a transaction block");
    ALM_TRY(open_file(c, stmt->ext, &handle));
    alm_status st = job_make(c, stmt, &options, handle, &job);
    if (st != ALM_OK) {
        (void)db->io->close(db->io, handle);
        return st;
    }
    const char *id = NULL;
    st = alm_arena_printf(cx, cx->arena, &id, "%s", job->id); /* the job may end any time */
    if (st == ALM_OK)
        st = alm_cursor_texts(c, "id", &id, 1);
    if (st == ALM_OK)
        st = job_start(cx, job);
    if (st != ALM_OK) {
        alm_session_free(job->session);
        (void)db->io->close(db->io, handle);
        job_free(job);
    }
    return st;
}

/* ------------------------------------------------------------- cancel, listing */

alm_status alm_run_copy_cancel(alm_cursor *c, const alm_stmt *stmt)
{
    const alm_copy *copy = stmt->ext;
    struct alm_copy_jobs *jobs = c->session->db->copy_jobs;
    const char *said = NULL;
    (void)pthread_mutex_lock(&jobs->lock);
    for (copy_job *job = jobs->newest; job != NULL && said == NULL; job = job->next) {
        if (!alm_str_ieq(copy->file, alm_str_of(job->id)))
            continue;
        if (job->session != NULL)
            atomic_store(&job->session->cancel, true);
        said = job->session != NULL ? "cancelled" : state_names[job->state];
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    if (said == NULL)
        return alm_fail(&c->cx, ALM_E_ARG, copy->file_pos, "no active import to cancel [id=%.*s]",
                        (int)ALM_MIN(copy->file.len, (size_t)40), copy->file.ptr);
    return alm_cursor_texts(c, "status", &said, 1);
}

static alm_status number(alm_ctx *cx, int64_t value, const char **out)
{
    return alm_arena_printf(cx, cx->arena, out, "%lld", (long long)value);
}

static alm_status job_row(alm_ctx *cx, const copy_job *job, bool end, const char **cell)
{
    const bool counts = end || job->state == JOB_RUNS;
    ALM_TRY(number(cx, end ? job->end_us : job->start_us, &cell[0]));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[1], "%s", job->id));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->table), &cell[2]));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(job->file), &cell[3]));
    cell[4] = NULL; /* no phases */
    cell[5] = state_names[end ? job->state : JOB_RUNS];
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
    struct alm_copy_jobs *jobs = cx->session->db->copy_jobs;
    const char **out = NULL;
    size_t n = 0, at = 0;
    alm_status st = ALM_OK;
    *rows = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (const copy_job *job = jobs->newest; job != NULL; job = job->next)
        n += job->state == JOB_RUNS ? 1 : 2;
    st = ALM_NEWN(cx, cx->arena, n * CELLS + 1, &out);
    at = n; /* newest last */
    for (const copy_job *job = jobs->newest; st == ALM_OK && job != NULL; job = job->next) {
        if (job->state != JOB_RUNS)
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
