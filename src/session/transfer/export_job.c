/* export_job.c - see export_job.h. Rows are in order of time where there is a file for each partition, so that one is open
 * at a time. */
#include "session/transfer/export_job.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/conf.h"
#include "session/statement/statement.h"
#include "session/transfer/copy_parquet.h"
#include "session/transfer/export.h"
#include "session/transfer/export_owner.h"
#include "session/transfer/parquet.h"
#include "session/transfer/transfer.h"
#include "storage/version/version.h"

static const char unfinished[] = ".unfinished";

typedef struct target {
    const char *unfinished; /* its name in that folder */
    const char *place;      /* path below the folder of exports */
    struct target *next;
} target;

typedef struct run {
    alm_export_job *job;
    alm_ctx cx;
    alm_arena arena;
    const alm_io *io;
    int root,
        unfinished; /* handles of the folder of exports, and of that of files being written; -1 */
    alm_export_owner owner;
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

static alm_status leads_out(alm_ctx *cx, int code, const char *path)
{
    if (code == -EXDEV || code == -ELOOP)
        return alm_fail(cx, ALM_E_DENIED, -1, "'%s' leads out of cairo.sql.copy.export.root", path);
    return alm_io_fail(cx, code, path);
}

/* Makes the folder `part`, whose parent is `*dir`, and opens it instead. */
static alm_status enter_folder(run *r, const char *part, int *dir)
{
    const alm_io *io = r->io;
    const char *const slash = strrchr(part, '/');
    int code = io->mkdir_in(io, *dir, slash != NULL ? slash + 1 : part);
    (void)io->close(io, *dir);
    *dir = -1;
    const bool made = code >= 0;
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&r->cx, code, part);
    /* Not from the parent: a link in it may lead to another folder of exports. */
    code = io->open_dir_below(io, r->root, part, 0);
    if (code < 0)
        return leads_out(&r->cx, code, part);
    *dir = code;
    return made && slash == NULL ? alm_export_mark_folder(&r->cx, &r->owner, *dir) : ALM_OK;
}

/* The folder that `path` is in, made where it was not there. */
static alm_status open_folder_of(run *r, const char *path, int *dir)
{
    *dir = r->io->open_dir_below(r->io, r->root, "", 0);
    if (*dir < 0)
        return alm_io_fail(&r->cx, *dir, path);
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *part = NULL;
        alm_status st =
            alm_arena_zstr(&r->cx, &r->arena, (alm_str){path, (size_t)(slash - path)}, &part);
        if (st == ALM_OK && part[0] != 0 && slash[-1] != '/')
            st = enter_folder(r, part, dir);
        if (st != ALM_OK) {
            if (*dir >= 0)
                (void)r->io->close(r->io, *dir);
            return st;
        }
    }
    return ALM_OK;
}

static alm_status open_root(run *r)
{
    const char *path = NULL;
    const alm_io *io = r->io;
    ALM_TRY(root_of(&r->cx, &r->arena, r->job->base.db, &path));
    int code = io->mkdir(io, path);
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&r->cx, code, r->job->base.db->conf->cairo_sql_copy_export_root);
    r->root = io->open_dir(io, path);
    if (r->root < 0)
        return alm_io_fail(&r->cx, r->root, r->job->base.db->conf->cairo_sql_copy_export_root);
    code = io->mkdir_in(io, r->root, unfinished);
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&r->cx, code, unfinished);
    r->unfinished = io->open_dir_below(io, r->root, unfinished, ALM_IO_NO_LINKS);
    return r->unfinished < 0 ? leads_out(&r->cx, r->unfinished, unfinished) : ALM_OK;
}

static void close_root(run *r)
{
    if (r->unfinished >= 0)
        (void)r->io->close(r->io, r->unfinished);
    if (r->root >= 0)
        (void)r->io->close(r->io, r->root);
}

typedef struct clearing {
    const alm_io *io;
    int dir;
} clearing;

static int clear_one(void *arg, const char *name)
{
    const clearing *c = arg;
    (void)c->io->unlink_in(c->io, c->dir, name);
    return 0;
}

void alm_export_clear(const alm_db *db)
{
    alm_ctx cx = {0};
    alm_arena arena;
    const alm_io *io = db->io;
    const char *path = NULL;
    if (db->conf == NULL || db->conf->cairo_sql_copy_export_root[0] == 0)
        return;
    alm_arena_init(&arena, NULL);
    const int root = root_of(&cx, &arena, db, &path) == ALM_OK ? io->open_dir(io, path) : -ENOENT;
    clearing c = {io, root >= 0 ? io->open_dir_below(io, root, unfinished, ALM_IO_NO_LINKS) : -1};
    if (c.dir >= 0) {
        (void)io->list_in(io, c.dir, clear_one, &c);
        (void)io->close(io, c.dir);
    }
    if (root >= 0)
        (void)io->close(io, root);
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
    ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &t->unfinished, "%s-%lld.parquet", r->job->base.id,
                             (long long)r->n_targets));
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
    r->handle =
        r->io->open_below(r->io, r->unfinished, t->unfinished,
                          ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE | ALM_IO_NO_LINKS);
    if (r->handle < 0)
        return alm_io_fail(&r->cx, r->handle, r->job->path);
    t->next = r->targets;
    r->targets = t;
    r->n_targets++;
    r->offset = 0;
    ALM_TRY(alm_cursor_parquet(&r->cx, r->cursor, r->cols, r->n_cols, &r->job->request, take_bytes,
                               r, &r->writer));
    return alm_export_mark_file(&r->cx, &r->owner, r->writer);
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
        ALM_TRY(alm_storage_takes_space(&r->cx, r->job->base.db->storage));
        if (atomic_load(&r->job->base.cancel))
            return alm_fail(&r->cx, ALM_E_CANCEL, -1, "cancelled by user");
        if (alm_cursor_next(r->cursor, &batch) != ALM_OK) {
            r->cx.err = *alm_session_error(r->job->base.session);
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

static alm_status place_file(run *r, const target *t)
{
    const alm_io *io = r->io;
    const char *const slash = strrchr(t->place, '/');
    int dir = -1;
    ALM_TRY(alm_export_may_place(&r->cx, &r->owner, t->place));
    ALM_TRY(open_folder_of(r, t->place, &dir));
    int code =
        io->rename_in(io, r->unfinished, t->unfinished, dir, slash != NULL ? slash + 1 : t->place);
    if (code >= 0)
        code = io->sync_in(io, dir);
    (void)io->close(io, dir);
    return code < 0 ? alm_io_fail(&r->cx, code, t->place) : ALM_OK;
}

/* Every file is there and synced: now they get their names. One export at a time, so that none places a file between the look of
 * another and its rename. */
static alm_status place_files(run *r)
{
    static pthread_mutex_t placing = PTHREAD_MUTEX_INITIALIZER;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&placing);
    for (const target *t = r->targets; t != NULL && st == ALM_OK; t = t->next)
        st = place_file(r, t);
    (void)pthread_mutex_unlock(&placing);
    return st;
}

/* Before the query runs; looked at again when the files get their names. */
static alm_status check_owner(run *r)
{
    const alm_export_job *job = r->job;
    const char *place = job->path;
    r->owner =
        (alm_export_owner){.io = r->io, .arena = &r->arena, .root = r->root, .any = job->any};
    ALM_TRY(alm_export_owner_init(&r->cx, &r->owner, job->secured ? job->base.owner : NULL));
    if (job->by != ALM_PART_NONE) /* a file that is nowhere, in the folder that the files come to */
        ALM_TRY(alm_arena_printf(&r->cx, &r->arena, &place, "%s/.parquet", job->path));
    return alm_export_may_place(&r->cx, &r->owner, place);
}

static alm_status open_cursor(run *r)
{
    alm_session *s = r->job->base.session;
    alm_session_timeout_max(s, ALM_COPY_TIMEOUT_MS);
    s->copies = true;
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
    ALM_TRY(open_root(r));
    ALM_TRY(check_owner(r));
    ALM_TRY(open_cursor(r));
    ALM_TRY(take_rows(r));
    return place_files(r);
}

alm_status alm_export_job_run(alm_export_job *job,
                              void (*told)(void *arg, int64_t rows, int64_t files), void *arg,
                              alm_error *err)
{
    run r = {.job = job,
             .io = job->base.db->io,
             .handle = -1,
             .root = -1,
             .unfinished = -1,
             .told = told,
             .told_arg = arg};
    alm_arena_init(&r.arena, NULL);
    r.cx = (alm_ctx){.arena = &r.arena,
                     .conf = job->base.db->conf,
                     .io = job->base.db->io,
                     .session = job->base.session,
                     .cancel = &job->base.session->cancel};
    const alm_status st = export_all(&r);
    alm_pq_writer_free(r.writer);
    alm_cursor_close(r.cursor);
    alm_prepared_free(r.prepared);
    if (r.handle >= 0)
        (void)r.io->close(r.io, r.handle);
    for (const target *t = r.targets; st != ALM_OK && t != NULL; t = t->next)
        (void)r.io->unlink_in(r.io, r.unfinished, t->unfinished);
    close_root(&r);
    *err = r.cx.err;
    alm_arena_deinit(&r.arena);
    return st;
}
