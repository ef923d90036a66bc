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

static alm_status export_job_root_of(alm_ctx *cx, alm_arena *arena, const alm_db *db,
                                     const char **out)
{
    const char *const root = db->conf->cairo_sql_copy_export_root;
    return alm_arena_printf(cx, arena, out, "%s%s%s", root[0] == '/' ? "" : db->root,
                            root[0] == '/' ? "" : "/", root);
}

/* -------------------------------------------------------------------- places */

static alm_status export_job_leads_out(alm_ctx *cx, int code, const char *path)
{
    if (code == -EXDEV || code == -ELOOP)
        return alm_fail(cx, ALM_E_DENIED, -1, "'%s' leads out of cairo.sql.copy.export.root", path);
    return alm_io_fail(cx, code, path);
}

/* Makes the folder `part`, whose parent is `*dir`, and opens it instead. */
static alm_status enter_folder(run *self, const char *part, int *dir)
{
    const alm_io *io = self->io;
    const char *const slash = strrchr(part, '/');
    int code = io->mkdir_in(io, *dir, slash != NULL ? slash + 1 : part);
    (void)io->close(io, *dir);
    *dir = -1;
    const bool made = code >= 0;
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&self->cx, code, part);
    /* Not from the parent: a link in it may lead to another folder of exports. */
    code = io->open_dir_below(io, self->root, part, 0);
    if (code < 0)
        return export_job_leads_out(&self->cx, code, part);
    *dir = code;
    return made && slash == NULL ? alm_export_mark_folder(&self->cx, &self->owner, *dir) : ALM_OK;
}

/* The folder that `path` is in, made where it was not there. */
static alm_status open_folder_of(run *self, const char *path, int *dir)
{
    *dir = self->io->open_dir_below(self->io, self->root, "", 0);
    if (*dir < 0)
        return alm_io_fail(&self->cx, *dir, path);
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *part = NULL;
        alm_status status =
            alm_arena_zstr(&self->cx, &self->arena, (alm_str){path, (size_t)(slash - path)}, &part);
        if (status == ALM_OK && part[0] != 0 && slash[-1] != '/')
            status = enter_folder(self, part, dir);
        if (status != ALM_OK) {
            if (*dir >= 0)
                (void)self->io->close(self->io, *dir);
            return status;
        }
    }
    return ALM_OK;
}

static alm_status export_job_open_root(run *self)
{
    const char *path = NULL;
    const alm_io *io = self->io;
    ALM_TRY(export_job_root_of(&self->cx, &self->arena, self->job->base.db, &path));
    int code = io->mkdir(io, path);
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&self->cx, code, self->job->base.db->conf->cairo_sql_copy_export_root);
    self->root = io->open_dir(io, path);
    if (self->root < 0)
        return alm_io_fail(&self->cx, self->root,
                           self->job->base.db->conf->cairo_sql_copy_export_root);
    code = io->mkdir_in(io, self->root, unfinished);
    if (code < 0 && code != -EEXIST)
        return alm_io_fail(&self->cx, code, unfinished);
    self->unfinished = io->open_dir_below(io, self->root, unfinished, ALM_IO_NO_LINKS);
    return self->unfinished < 0 ? export_job_leads_out(&self->cx, self->unfinished, unfinished)
                                : ALM_OK;
}

static void close_root(run *self)
{
    if (self->unfinished >= 0)
        (void)self->io->close(self->io, self->unfinished);
    if (self->root >= 0)
        (void)self->io->close(self->io, self->root);
}

typedef struct clearing {
    const alm_io *io;
    int dir;
} clearing;

static int clear_one(void *arg, const char *name)
{
    const clearing *self = arg;
    (void)self->io->unlink_in(self->io, self->dir, name);
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
    const int root =
        export_job_root_of(&cx, &arena, db, &path) == ALM_OK ? io->open_dir(io, path) : -ENOENT;
    clearing self = {io,
                     root >= 0 ? io->open_dir_below(io, root, unfinished, ALM_IO_NO_LINKS) : -1};
    if (self.dir >= 0) {
        (void)io->list_in(io, self.dir, clear_one, &self);
        (void)io->close(io, self.dir);
    }
    if (root >= 0)
        (void)io->close(io, root);
    alm_arena_deinit(&arena);
}

/* -------------------------------------------------------------------- one file */

static alm_status export_job_take_bytes(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    run *self = arg;
    ALM_TRY(alm_io_write_all(cx, self->io, self->handle, bytes, n, self->offset, self->job->path));
    self->offset += (int64_t)n;
    return ALM_OK;
}

static alm_status name_target(run *self, int64_t bucket, bool nanos, target *goal)
{
    char name[64] = "";
    ALM_TRY(alm_arena_printf(&self->cx, &self->arena, &goal->unfinished, "%s-%lld.parquet",
                             self->job->base.id, (long long)self->n_targets));
    if (self->job->by == ALM_PART_NONE)
        return alm_arena_printf(&self->cx, &self->arena, &goal->place, "%s", self->job->path);
    alm_partition_name(self->job->by, nanos, bucket, name, sizeof(name));
    return alm_arena_printf(&self->cx, &self->arena, &goal->place, "%s/%s.parquet", self->job->path,
                            name);
}

static alm_status export_job_open_file(run *self, int64_t bucket, bool nanos)
{
    target *goal = NULL;
    if (self->n_targets >= ALM_EXPORT_FILES_MAX)
        return alm_fail(&self->cx, ALM_E_LIMIT, -1, "an export has at most %d files",
                        ALM_EXPORT_FILES_MAX);
    ALM_TRY(ALM_NEW(&self->cx, &self->arena, &goal));
    ALM_TRY(name_target(self, bucket, nanos, goal));
    self->handle =
        self->io->open_below(self->io, self->unfinished, goal->unfinished,
                             ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_EXCLUSIVE | ALM_IO_NO_LINKS);
    if (self->handle < 0)
        return alm_io_fail(&self->cx, self->handle, self->job->path);
    goal->next = self->targets;
    self->targets = goal;
    self->n_targets++;
    self->offset = 0;
    ALM_TRY(alm_cursor_parquet(&self->cx, self->cursor, self->cols, self->n_cols,
                               &self->job->request, export_job_take_bytes, self, &self->writer));
    return alm_export_mark_file(&self->cx, &self->owner, self->writer);
}

static alm_status export_job_close_file(run *self)
{
    ALM_TRY(alm_pq_finish(&self->cx, self->writer));
    alm_pq_writer_free(self->writer);
    self->writer = NULL;
    const int code = self->io->sync(self->io, self->handle);
    if (code < 0)
        return alm_io_fail(&self->cx, code, self->job->path);
    (void)self->io->close(self->io, self->handle);
    self->handle = -1;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

static int64_t export_job_time_at(const alm_vec *vec, uint32_t i)
{
    return ((const int64_t *)vec->data)[vec->is_const ? 0 : i];
}

/* First row at or behind `from` that is not before `end`. */
static uint32_t rows_before(const alm_vec *vec, uint32_t from, uint32_t rows, int64_t end)
{
    while (from < rows) {
        const uint32_t middle = from + (rows - from) / 2;
        if (export_job_time_at(vec, middle) < end)
            from = middle + 1;
        else
            rows = middle;
    }
    return from;
}

static alm_status take_partitions(run *self, const alm_batch *batch, uint32_t ts)
{
    const alm_vec *vec = &batch->cols[ts];
    const bool nanos = vec->type.id == ALM_T_TIMESTAMP_NS;
    for (uint32_t place = 0; place < batch->rows;) {
        const int64_t first = export_job_time_at(vec, place);
        if (self->writer == NULL || first >= self->bucket_end) {
            if (self->writer != NULL)
                ALM_TRY(export_job_close_file(self));
            self->bucket_end = alm_partition_next(self->job->by, nanos, first);
            ALM_TRY(export_job_open_file(self, alm_partition_floor(self->job->by, nanos, first),
                                         nanos));
        }
        const uint32_t end = rows_before(vec, place, batch->rows, self->bucket_end);
        ALM_ASSERT(end > place); /* rows come in order */
        ALM_TRY(alm_pq_write(&self->cx, self->writer, batch, place, end));
        place = end;
    }
    return ALM_OK;
}

static alm_status export_job_take_rows(run *self)
{
    const int32_t ts = alm_cursor_ts_col(self->cursor);
    if (self->job->by == ALM_PART_NONE)
        ALM_TRY(export_job_open_file(self, 0, false));
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_storage_takes_space(&self->cx, self->job->base.db->storage));
        if (atomic_load(&self->job->base.cancel))
            return alm_fail(&self->cx, ALM_E_CANCEL, -1, "cancelled by user");
        if (alm_cursor_next(self->cursor, &batch) != ALM_OK) {
            self->cx.err = *alm_session_error(self->job->base.session);
            return self->cx.err.code;
        }
        if (batch == NULL)
            return self->writer != NULL ? export_job_close_file(self) : ALM_OK;
        if (self->job->by == ALM_PART_NONE)
            ALM_TRY(alm_pq_write(&self->cx, self->writer, batch, 0, batch->rows));
        else
            ALM_TRY(take_partitions(self, batch, (uint32_t)ts));
        self->rows += batch->rows;
        self->told(self->told_arg, self->rows, self->n_targets);
    }
}

/* -------------------------------------------------------------------- all files */

static alm_status place_file(run *self, const target *goal)
{
    const alm_io *io = self->io;
    const char *const slash = strrchr(goal->place, '/');
    int dir = -1;
    ALM_TRY(alm_export_may_place(&self->cx, &self->owner, goal->place));
    ALM_TRY(open_folder_of(self, goal->place, &dir));
    int code = io->rename_in(io, self->unfinished, goal->unfinished, dir,
                             slash != NULL ? slash + 1 : goal->place);
    if (code >= 0)
        code = io->sync_in(io, dir);
    (void)io->close(io, dir);
    return code < 0 ? alm_io_fail(&self->cx, code, goal->place) : ALM_OK;
}

/* Every file is there and synced: now they get their names. One export at a time, so that none places a file between the look of
 * another and its rename. */
static alm_status place_files(run *self)
{
    static pthread_mutex_t placing = PTHREAD_MUTEX_INITIALIZER;
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&placing);
    for (const target *goal = self->targets; goal != NULL && status == ALM_OK; goal = goal->next)
        status = place_file(self, goal);
    (void)pthread_mutex_unlock(&placing);
    return status;
}

/* Before the query runs; looked at again when the files get their names. */
static alm_status check_owner(run *self)
{
    const alm_export_job *job = self->job;
    const char *place = job->path;
    self->owner = (alm_export_owner){
        .io = self->io, .arena = &self->arena, .root = self->root, .any = job->any};
    ALM_TRY(alm_export_owner_init(&self->cx, &self->owner, job->secured ? job->base.owner : NULL));
    if (job->by != ALM_PART_NONE) /* a file that is nowhere, in the folder that the files come to */
        ALM_TRY(alm_arena_printf(&self->cx, &self->arena, &place, "%s/.parquet", job->path));
    return alm_export_may_place(&self->cx, &self->owner, place);
}

static alm_status open_cursor(run *self)
{
    alm_session *session = self->job->base.session;
    alm_session_timeout_max(session, ALM_COPY_TIMEOUT_MS);
    session->copies = true;
    alm_status status = alm_prepare(session, alm_str_of(self->job->query), NULL, &self->prepared);
    if (status == ALM_OK)
        status = alm_execute(session, self->prepared, NULL, 0, &self->cursor);
    if (status != ALM_OK) {
        self->cx.err = *alm_session_error(session);
        return status;
    }
    (void)alm_cursor_cols(self->cursor, &self->n_cols);
    ALM_TRY(ALM_NEWN(&self->cx, &self->arena, self->n_cols + 1, &self->cols));
    for (uint32_t i = 0; i < self->n_cols; i++)
        self->cols[i] = i;
    return ALM_OK;
}

static alm_status export_all(run *self)
{
    ALM_TRY(export_job_open_root(self));
    ALM_TRY(check_owner(self));
    ALM_TRY(open_cursor(self));
    ALM_TRY(export_job_take_rows(self));
    return place_files(self);
}

alm_status alm_export_job_run(alm_export_job *job,
                              void (*told)(void *arg, int64_t rows, int64_t files), void *arg,
                              alm_error *err)
{
    run self = {.job = job,
                .io = job->base.db->io,
                .handle = -1,
                .root = -1,
                .unfinished = -1,
                .told = told,
                .told_arg = arg};
    alm_arena_init(&self.arena, NULL);
    self.cx = (alm_ctx){.arena = &self.arena,
                        .conf = job->base.db->conf,
                        .io = job->base.db->io,
                        .session = job->base.session,
                        .cancel = &job->base.session->cancel};
    const alm_status status = export_all(&self);
    alm_pq_writer_free(self.writer);
    alm_cursor_close(self.cursor);
    alm_prepared_free(self.prepared);
    if (self.handle >= 0)
        (void)self.io->close(self.io, self.handle);
    for (const target *goal = self.targets; status != ALM_OK && goal != NULL; goal = goal->next)
        (void)self.io->unlink_in(self.io, self.unfinished, goal->unfinished);
    close_root(&self);
    *err = self.cx.err;
    alm_arena_deinit(&self.arena);
    return status;
}
