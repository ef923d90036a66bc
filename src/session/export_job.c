/* export_job.c - see export_job.h. Rows are in order of time where there is a file for each partition, so that one is open
 * at a time. */
#include "session/export_job.h"

#include <errno.h>
#include <stdio.h>

#include "base/conf.h"
#include "session/copy_parquet.h"
#include "session/export.h"
#include "session/parquet.h"
#include "storage/version.h"

static const char unfinished[] = ".unfinished";

typedef struct target {
    const char *unfinished, *place; /* paths */
    struct target *next;
} target;

typedef struct run {
    alm_export_job *job;
    alm_ctx cx;
    alm_arena arena;
    const alm_io *io;
    const char *root; /* of exports */
    alm_prepared *prepared;
    alm_cursor *cursor;
    uint32_t *cols, n_cols;
    alm_pq_writer *writer; /* of the file that is open */
    int handle;            /* -1: none is */
    int64_t offset;
    int64_t bucket_end; /* of the file: first time behind it */
    target *targets;    /* all files, the open one first */
    int64_t n_targets, rows;
    void (*told)(void *arg, int64_t rows, int64_t files);
    void *told_arg;
} run;

static alm_status root_of(alm_ctx *cx, alm_arena *arena, const alm_db *db, const char **out)
{
    const char *const root = db->conf->cairo_sql_copy_export_root;
    return alm_arena_printf(cx, arena, out, "%s%s%s", root[0] == '/' ? "" : db->root,
                            root[0] == '/' ? "" : "/", root);
}

/* -------------------------------------------------------------------- places */

/* The folders on the way to `path`, one by one: none of them may be a link that leads out. */
static alm_status make_folders(run *r, const char *path)
{
    const alm_io *io = r->io;
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *part = NULL, *full = NULL;
        ALM_TRY(alm_arena_zstr(&r->cx, &r->arena, (alm_str){path, (size_t)(slash - path)}, &part));
        ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &full, "%s/%s", r->root, part));
        int code = io->mkdir(io, full);
        if (code >= 0 || code == -EEXIST)
            code = io->is_below(io, r->root, part);
        if (code == -EACCES)
            return alm_fail(&r->cx, ALM_E_DENIED, -1,
                            "'%s' leads out of cairo.sql.copy.export.root", part);
        if (code < 0)
            return alm_io_fail(&r->cx, code, part);
    }
    return ALM_OK;
}

static alm_status make_root(run *r)
{
    const char *folder = NULL;
    int code = r->io->mkdir(r->io, r->root);
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&r->cx, code, r->job->db->conf->cairo_sql_copy_export_root);
    ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &folder, "%s/%s", r->root, unfinished));
    code = r->io->mkdir(r->io, folder);
    return code < 0 && code != -EEXIST ? alm_io_fail(&r->cx, code, unfinished) : ALM_OK;
}

typedef struct clearing {
    const alm_io *io;
    const char *folder;
} clearing;

static int clear_one(void *arg, const char *name)
{
    const clearing *c = arg;
    char path[4096 + 256];
    if (snprintf(path, sizeof(path), "%s/%s", c->folder, name) < (int)sizeof(path))
        (void)c->io->unlink(c->io, path);
    return 0;
}

void alm_export_clear(const alm_db *db)
{
    alm_ctx cx = {0};
    alm_arena arena;
    const char *root = NULL, *folder = NULL;
    if (db->conf == NULL || db->conf->cairo_sql_copy_export_root[0] == 0)
        return;
    alm_arena_init(&arena, NULL);
    if (root_of(&cx, &arena, db, &root) == ALM_OK &&
        alm_arena_printf(&cx, &arena, &folder, "%s/%s", root, unfinished) == ALM_OK) {
        clearing c = {db->io, folder};
        (void)db->io->list(db->io, folder, clear_one, &c);
    }
    alm_arena_deinit(&arena);
}

/* -------------------------------------------------------------------- one file */

static alm_status take_bytes(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    run *r = arg;
    ALM_TRY(alm_io_write_all(cx, r->io, r->handle, bytes, n, r->offset, r->job->path));
    r->offset += (int64_t)n;
    return ALM_OK;
}

static alm_status name_target(run *r, int64_t bucket, bool ns, target *t)
{
    char name[64] = "";
    ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &t->unfinished, "%s/%s/%s-%lld.parquet", r->root,
                             unfinished, r->job->id, (long long)r->n_targets));
    if (r->job->by == ALM_PART_NONE)
        return alm_arena_printf(&r->cx, &r->arena, &t->place, "%s", r->job->path);
    alm_partition_name(r->job->by, ns, bucket, name, sizeof(name));
    return alm_arena_printf(&r->cx, &r->arena, &t->place, "%s/%s.parquet", r->job->path, name);
}

static alm_status open_file(run *r, int64_t bucket, bool ns)
{
    target *t = NULL;
    if (r->n_targets >= ALM_EXPORT_FILES_MAX)
        return alm_fail(&r->cx, ALM_E_LIMIT, -1, "an export has at most %d files",
                        ALM_EXPORT_FILES_MAX);
    ALM_TRY(ALM_NEW(&r->cx, &r->arena, &t));
    ALM_TRY(name_target(r, bucket, ns, t));
    r->handle = r->io->open(r->io, t->unfinished, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE);
    if (r->handle < 0)
        return alm_io_fail(&r->cx, r->handle, r->job->path);
    t->next = r->targets;
    r->targets = t;
    r->n_targets++;
    r->offset = 0;
    return alm_cursor_parquet(&r->cx, r->cursor, r->cols, r->n_cols, &r->job->request, take_bytes,
                              r, &r->writer);
}

static alm_status close_file(run *r)
{
    ALM_TRY(alm_pq_finish(&r->cx, r->writer));
    alm_pq_writer_free(r->writer);
    r->writer = NULL;
    const int code = r->io->sync(r->io, r->handle);
    if (code < 0)
        return alm_io_fail(&r->cx, code, r->job->path);
    (void)r->io->close(r->io, r->handle);
    r->handle = -1;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

static int64_t time_at(const alm_vec *vec, uint32_t i)
{
    return ((const int64_t *)vec->data)[vec->is_const ? 0 : i];
}

/* First row at or behind `from` that is not before `end`. */
static uint32_t rows_before(const alm_vec *vec, uint32_t from, uint32_t rows, int64_t end)
{
    while (from < rows) {
        const uint32_t middle = from + (rows - from) / 2;
        if (time_at(vec, middle) < end)
            from = middle + 1;
        else
            rows = middle;
    }
    return from;
}

static alm_status take_partitions(run *r, const alm_batch *batch, uint32_t ts)
{
    const alm_vec *vec = &batch->cols[ts];
    const bool ns = vec->type.id == ALM_T_TIMESTAMP_NS;
    for (uint32_t at = 0; at < batch->rows;) {
        const int64_t first = time_at(vec, at);
        if (r->writer == NULL || first >= r->bucket_end) {
            if (r->writer != NULL)
                ALM_TRY(close_file(r));
            r->bucket_end = alm_partition_next(r->job->by, ns, first);
            ALM_TRY(open_file(r, alm_partition_floor(r->job->by, ns, first), ns));
        }
        const uint32_t end = rows_before(vec, at, batch->rows, r->bucket_end);
        ALM_ASSERT(end > at); /* rows come in order */
        ALM_TRY(alm_pq_write(&r->cx, r->writer, batch, at, end));
        at = end;
    }
    return ALM_OK;
}

static alm_status take_rows(run *r)
{
    const int32_t ts = alm_cursor_ts_col(r->cursor);
    if (r->job->by == ALM_PART_NONE)
        ALM_TRY(open_file(r, 0, false));
    for (;;) {
        alm_batch *batch = NULL;
        if (atomic_load(&r->job->cancel))
            return alm_fail(&r->cx, ALM_E_CANCEL, -1, "cancelled by user");
        if (alm_cursor_next(r->cursor, &batch) != ALM_OK) {
            r->cx.err = *alm_session_error(r->job->session);
            return r->cx.err.code;
        }
        if (batch == NULL)
            return r->writer != NULL ? close_file(r) : ALM_OK;
        if (r->job->by == ALM_PART_NONE)
            ALM_TRY(alm_pq_write(&r->cx, r->writer, batch, 0, batch->rows));
        else
            ALM_TRY(take_partitions(r, batch, (uint32_t)ts));
        r->rows += batch->rows;
        r->told(r->told_arg, r->rows, r->n_targets);
    }
}

/* -------------------------------------------------------------------- all files */

/* Every file is there and synced: now they get their names. */
static alm_status place_files(run *r)
{
    for (const target *t = r->targets; t != NULL; t = t->next) {
        const char *place = NULL;
        ALM_TRY(make_folders(r, t->place));
        ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &place, "%s/%s", r->root, t->place));
        const int code = r->io->rename(r->io, t->unfinished, place);
        if (code < 0)
            return alm_io_fail(&r->cx, code, t->place);
        char *const slash = strrchr((char *)(uintptr_t)place, '/');
        *slash = 0;
        const int synced = r->io->sync_dir(r->io, place);
        if (synced < 0)
            return alm_io_fail(&r->cx, synced, t->place);
    }
    return ALM_OK;
}

static alm_status open_cursor(run *r)
{
    alm_session *s = r->job->session;
    alm_session_timeout_max(s, ALM_COPY_TIMEOUT_MS);
    alm_status st = alm_prepare(s, alm_str_of(r->job->query), NULL, &r->prepared);
    if (st == ALM_OK)
        st = alm_execute(s, r->prepared, NULL, 0, &r->cursor);
    if (st != ALM_OK) {
        r->cx.err = *alm_session_error(s);
        return st;
    }
    (void)alm_cursor_cols(r->cursor, &r->n_cols);
    ALM_TRY(ALM_NEWN(&r->cx, &r->arena, r->n_cols + 1, &r->cols));
    for (uint32_t i = 0; i < r->n_cols; i++)
        r->cols[i] = i;
    return ALM_OK;
}

static alm_status export_all(run *r)
{
    ALM_TRY(root_of(&r->cx, &r->arena, r->job->db, &r->root));
    ALM_TRY(make_root(r));
    ALM_TRY(open_cursor(r));
    ALM_TRY(take_rows(r));
    return place_files(r);
}

alm_status alm_export_job_run(alm_export_job *job,
                              void (*told)(void *arg, int64_t rows, int64_t files), void *arg,
                              alm_error *err)
{
    run r = {.job = job, .io = job->db->io, .handle = -1, .told = told, .told_arg = arg};
    alm_arena_init(&r.arena, NULL);
    r.cx = (alm_ctx){.arena = &r.arena,
                     .conf = job->db->conf,
                     .io = job->db->io,
                     .cancel = &job->session->cancel};
    const alm_status st = export_all(&r);
    alm_pq_writer_free(r.writer);
    alm_cursor_close(r.cursor);
    alm_prepared_free(r.prepared);
    if (r.handle >= 0)
        (void)r.io->close(r.io, r.handle);
    for (const target *t = r.targets; st != ALM_OK && t != NULL; t = t->next)
        (void)r.io->unlink(r.io, t->unfinished);
    *err = r.cx.err;
    alm_arena_deinit(&r.arena);
    return st;
}
