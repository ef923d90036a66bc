/*
 * spill.c - see spill.h.
 *
 * Block       Some batches of one run one after the other, written with one call. Batch: head, then per
 *             column its head, its values and its text, each padded to 16 bytes. The file belongs to
 *             this process, so dictionaries are addresses and nothing is versioned or checksummed.
 */
#include "storage/spill/spill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/conf.h"
#include "base/log.h"

enum { PIECE = 16 };

typedef struct batch_head {
    uint32_t rows, pad;
    uint64_t bytes; /* with this head */
} batch_head;

typedef struct col_head {
    const alm_dict *dict;
    uint64_t data_bytes, heap_bytes;
    alm_type type;
    uint8_t width;
    bool is_const, no_nulls;
    uint8_t pad;
} col_head;

typedef struct extent {
    int64_t offset;
    uint64_t bytes;
} extent;

typedef struct spill_run {
    alm_buf pending, extents;
    int64_t rows;
    bool ended;
} spill_run;

struct alm_spill {
    alm_spill_space *space;
    const char *who;
    alm_mem *mem, *files;
    int handle;
    uint32_t n_cols, n_runs, cap_runs;
    size_t block_bytes;
    int64_t bytes; /* of the file, all charged to the space */
    spill_run *run;
};

struct alm_spill_reader {
    const alm_spill *spill;
    const spill_run *run;
    size_t next; /* extent */
    alm_buf block;
    size_t at; /* in the block */
    alm_batch batch;
};

/* ------------------------------------------------------------------------------------ space */

typedef struct leftovers {
    alm_spill_space *space;
    int64_t n;
} leftovers;

static int remove_leftover(void *arg, const char *name)
{
    leftovers *self = arg;
    char path[sizeof self->space->dir + 256];
    const int len = snprintf(path, sizeof path, "%s/%s", self->space->dir, name);
    if (len > 0 && (size_t)len < sizeof path && self->space->io->unlink(self->space->io, path) >= 0)
        self->n++;
    return 0;
}

alm_status alm_spill_space_open(alm_ctx *cx, alm_spill_space *space, const alm_io *io,
                                const char *dir)
{
    *space = (alm_spill_space){.io = io};
    const int len = snprintf(space->dir, sizeof space->dir, "%s", dir);
    if (len < 0 || (size_t)len >= sizeof space->dir)
        return alm_fail(cx, ALM_E_ARG, -1, "the path of the temporary files is too long");
    alm_io_stat meta;
    if (io->stat(io, dir, &meta) < 0 || !meta.is_dir) {
        const int code = alm_io_make_dir(io, dir);
        return code < 0 ? alm_io_fail(cx, code, dir) : ALM_OK;
    }
    leftovers self = {.space = space};
    const int error = io->list(io, dir, remove_leftover, &self);
    if (error < 0)
        return alm_io_fail(cx, error, dir);
    if (self.n > 0)
        alm_log_info("storage", "removed %lld temporary files of an earlier run",
                     (long long)self.n);
    return ALM_OK;
}

int64_t alm_spill_bytes_max(const alm_ctx *cx)
{
    return cx->conf != NULL ? cx->conf->query_spill_max : INT64_MAX;
}

bool alm_spill_allowed(const alm_ctx *cx, const alm_spill_space *space)
{
    return space != NULL && alm_spill_bytes_max(cx) > 0;
}

/* Looks once in so many bytes: the free space of a volume changes by others, too, and is no exact bound. */
static alm_status check_free(alm_ctx *cx, alm_spill_space *space, int64_t bytes, const char *who)
{
    enum { LOOK_BYTES = 8 << 20, PARTS = 10 };
    const int64_t min = cx->conf != NULL ? cx->conf->query_spill_free_min : 0;
    int64_t all = 0, free = 0;
    if (min == 0 || atomic_fetch_add(&space->unlooked, bytes) + bytes < LOOK_BYTES)
        return ALM_OK;
    if (space->io->space(space->io, space->dir, &all, &free) < 0)
        return ALM_OK; /* the write says what is wrong */
    if (free >= ALM_MIN(min, all / PARTS)) {
        atomic_store(&space->unlooked, 0);
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_SPILL, -1,
                    "temporary files leave query.spill.free.min free on the disk [limit=%lld, "
                    "free=%lld, by=%s]",
                    (long long)ALM_MIN(min, all / PARTS), (long long)free, who);
}

static alm_status charge_user(alm_ctx *cx, alm_mem *files, int64_t bytes, const char *who)
{
    if (files == NULL)
        return ALM_OK;
    const int64_t max = __atomic_load_n(&files->limit_bytes, __ATOMIC_ACQUIRE);
    const int64_t before = atomic_fetch_add(&files->used_bytes, bytes);
    if (bytes <= max - before)
        return ALM_OK;
    atomic_fetch_sub(&files->used_bytes, bytes);
    return alm_fail(cx, ALM_E_SPILL, -1,
                    "temporary files of this user would exceed query.spill.user.max [limit=%lld, "
                    "used=%lld, wanted=%lld, by=%s]",
                    (long long)max, (long long)before, (long long)bytes, who);
}

alm_status alm_spill_space_charge(alm_ctx *cx, alm_spill_space *space, alm_mem *files,
                                  int64_t bytes, const char *who)
{
    ALM_TRY(check_free(cx, space, bytes, who));
    const int64_t max = alm_spill_bytes_max(cx), before = atomic_fetch_add(&space->bytes, bytes);
    const alm_status status =
        bytes <= max - before
            ? charge_user(cx, files, bytes, who)
            : alm_fail(cx, ALM_E_SPILL, -1,
                       "temporary files would exceed query.spill.max [limit=%lld, used=%lld, "
                       "wanted=%lld, by=%s]",
                       (long long)max, (long long)before, (long long)bytes, who);
    if (status != ALM_OK)
        atomic_fetch_sub(&space->bytes, bytes);
    return status;
}

alm_status alm_spill_space_file(alm_ctx *cx, alm_spill_space *space, int *handle)
{
    const alm_io *io = space->io;
    char path[sizeof space->dir + 64];
    const uint64_t number = atomic_fetch_add(&space->next, 1);
    (void)snprintf(path, sizeof path, "%s/%llu.tmp", space->dir, (unsigned long long)number);
    *handle = io->open(io, path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (*handle < 0)
        return alm_io_fail(cx, *handle, path);
    atomic_fetch_add(&space->files, 1);
    const int code = io->unlink(io, path);
    return code < 0 ? alm_io_fail(cx, code, path) : ALM_OK;
}

void alm_spill_space_leave(alm_spill_space *space, alm_mem *files, int handle, int64_t bytes)
{
    if (handle >= 0) {
        (void)space->io->close(space->io, handle);
        atomic_fetch_sub(&space->files, 1);
    }
    atomic_fetch_sub(&space->bytes, bytes);
    if (files != NULL)
        alm_mem_release(files, bytes);
}

/* ------------------------------------------------------------------------------------ spills */

alm_status alm_spill_new(alm_ctx *cx, alm_spill_space *space, uint32_t n_cols, const char *who,
                         alm_spill **out)
{
    ALM_ASSERT(alm_spill_allowed(cx, space));
    alm_spill *spill = calloc(1, sizeof *spill);
    if (spill == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a temporary file");
    *spill = (alm_spill){.space = space,
                         .who = who,
                         .mem = cx->mem,
                         .files = cx->files,
                         .handle = -1,
                         .n_cols = n_cols,
                         .block_bytes = ALM_SPILL_BLOCK_BYTES};
    const alm_status status = alm_spill_space_file(cx, space, &spill->handle);
    if (status != ALM_OK) {
        alm_spill_free(spill);
        return status;
    }
    *out = spill;
    return ALM_OK;
}

void alm_spill_free(alm_spill *spill)
{
    if (spill == NULL)
        return;
    for (uint32_t run = 0; run < spill->n_runs; run++) {
        alm_buf_deinit(&spill->run[run].pending);
        alm_buf_deinit(&spill->run[run].extents);
    }
    free(spill->run);
    alm_spill_space_leave(spill->space, spill->files, spill->handle, spill->bytes);
    free(spill);
}

void alm_spill_block_bytes(alm_spill *spill, size_t bytes)
{
    spill->block_bytes = bytes;
}

int64_t alm_spill_bytes(const alm_spill *spill)
{
    return spill->bytes;
}

alm_status alm_spill_run(alm_ctx *cx, alm_spill *spill, uint32_t *run)
{
    if (spill->n_runs == spill->cap_runs) {
        const uint32_t cap = ALM_MAX(8U, 2 * spill->cap_runs);
        spill_run *grown = realloc(spill->run, cap * sizeof *grown);
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the runs of a temporary file");
        spill->run = grown;
        spill->cap_runs = cap;
    }
    spill_run *r = &spill->run[spill->n_runs];
    *r = (spill_run){0};
    alm_buf_init(&r->pending, spill->mem);
    alm_buf_init(&r->extents, spill->mem);
    *run = spill->n_runs++;
    return ALM_OK;
}

uint32_t alm_spill_runs(const alm_spill *spill)
{
    return spill->n_runs;
}

int64_t alm_spill_rows(const alm_spill *spill, uint32_t run)
{
    ALM_ASSERT(run < spill->n_runs);
    return spill->run[run].rows;
}

/* ----------------------------------------------------------------------------------- writing */

static alm_status write_block(alm_ctx *cx, alm_spill *spill, spill_run *r)
{
    char what[96];
    const extent self = {.offset = spill->bytes, .bytes = r->pending.len};
    if (self.bytes == 0)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    ALM_TRY(
        alm_spill_space_charge(cx, spill->space, spill->files, (int64_t)self.bytes, spill->who));
    spill->bytes += (int64_t)self.bytes;
    (void)snprintf(what, sizeof what, "temporary file of %s", spill->who);
    ALM_TRY(alm_io_write_all(cx, spill->space->io, spill->handle, r->pending.ptr, self.bytes,
                             self.offset, what));
    r->pending.len = 0;
    return alm_buf_append(cx, &r->extents, &self, sizeof self);
}

static alm_status storage_spill_pad(alm_ctx *cx, alm_buf *buf)
{
    static const char zeros[PIECE];
    return alm_buf_append(cx, buf, zeros, (PIECE - buf->len % PIECE) % PIECE);
}

/* n bytes at the end of the buffer, padded. */
static alm_status storage_spill_put(alm_ctx *cx, alm_buf *buf, const void *bytes, size_t n)
{
    ALM_TRY(alm_buf_append(cx, buf, bytes, n));
    return storage_spill_pad(cx, buf);
}

/* The text of views [0, n_rows) behind them; the views in the buffer then count from its start. */
static alm_status storage_spill_put_text(alm_ctx *cx, alm_buf *buf, const alm_vec *vec,
                                         size_t views_at, uint32_t n_rows, uint64_t *bytes)
{
    const size_t from = buf->len;
    for (uint32_t i = 0; i < n_rows; i++) {
        alm_view view;
        char *ptr = buf->ptr + views_at + (size_t)i * sizeof view;
        memcpy(&view, ptr, sizeof view);
        if (view.len <= ALM_VIEW_INLINE || alm_view_is_null(&view))
            continue;
        const char *text = alm_view_ptr(&view, vec->heap);
        view.off = buf->len - from;
        memcpy(ptr, &view, sizeof view);
        ALM_TRY(alm_buf_append(cx, buf, text, view.len));
    }
    *bytes = buf->len - from;
    return storage_spill_pad(cx, buf);
}

static bool has_views(const alm_vec *vec)
{
    const uint8_t id = vec->type.id;
    return vec->dict == NULL && (id == ALM_T_SYMBOL || id == ALM_T_NULL ||
                                 alm_type_info_of(vec->type)->null == ALM_NULL_VIEW);
}

static alm_status storage_spill_put_column(alm_ctx *cx, alm_buf *buf, const alm_vec *vec,
                                           uint32_t n_rows)
{
    ALM_ASSERT(!vec->indirect);
    const uint32_t values = vec->is_const ? 1 : n_rows;
    const size_t offset = buf->len;
    col_head head = {.dict = vec->dict,
                     .data_bytes = (uint64_t)values * vec->width,
                     .type = vec->type,
                     .width = vec->width,
                     .is_const = vec->is_const,
                     .no_nulls = vec->no_nulls};
    ALM_TRY(storage_spill_put(cx, buf, &head, sizeof head));
    const size_t data_at = buf->len;
    ALM_TRY(storage_spill_put(cx, buf, vec->data, head.data_bytes));
    if (has_views(vec))
        ALM_TRY(storage_spill_put_text(cx, buf, vec, data_at, values, &head.heap_bytes));
    memcpy(buf->ptr + offset, &head, sizeof head);
    return ALM_OK;
}

alm_status alm_spill_append(alm_ctx *cx, alm_spill *spill, uint32_t run, const alm_vec *cols,
                            uint32_t n)
{
    ALM_ASSERT(run < spill->n_runs && !spill->run[run].ended && n <= ALM_BATCH_ROWS);
    spill_run *r = &spill->run[run];
    const size_t offset = r->pending.len;
    batch_head head = {.rows = n};
    if (n == 0)
        return ALM_OK;
    ALM_TRY(storage_spill_put(cx, &r->pending, &head, sizeof head));
    for (uint32_t col = 0; col < spill->n_cols; col++)
        ALM_TRY(storage_spill_put_column(cx, &r->pending, &cols[col], n));
    head.bytes = r->pending.len - offset;
    memcpy(r->pending.ptr + offset, &head, sizeof head);
    r->rows += n;
    return r->pending.len >= spill->block_bytes ? write_block(cx, spill, r) : ALM_OK;
}

alm_status alm_spill_end(alm_ctx *cx, alm_spill *spill, uint32_t run)
{
    ALM_ASSERT(run < spill->n_runs && !spill->run[run].ended);
    spill_run *r = &spill->run[run];
    ALM_TRY(write_block(cx, spill, r));
    alm_buf_deinit(&r->pending);
    r->ended = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

alm_status alm_spill_reader_new(alm_ctx *cx, const alm_spill *spill, uint32_t run,
                                alm_spill_reader **out)
{
    ALM_ASSERT(run < spill->n_runs && spill->run[run].ended);
    alm_spill_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read a temporary file");
    *reader = (alm_spill_reader){.spill = spill, .run = &spill->run[run]};
    alm_buf_init(&reader->block, cx->mem);
    reader->batch.n_cols = spill->n_cols;
    reader->batch.cols = calloc((size_t)spill->n_cols + 1, sizeof *reader->batch.cols);
    if (reader->batch.cols == NULL) {
        alm_spill_reader_free(reader);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read a temporary file");
    }
    *out = reader;
    return ALM_OK;
}

void alm_spill_reader_free(alm_spill_reader *reader)
{
    if (reader == NULL)
        return;
    alm_buf_deinit(&reader->block);
    free(reader->batch.cols);
    free(reader);
}

/* The next extent into the block buffer; *more = false: there is none. */
static alm_status storage_spill_next_block(alm_ctx *cx, alm_spill_reader *reader, bool *more)
{
    char what[96];
    extent self;
    const size_t n = reader->run->extents.len / sizeof self;
    *more = reader->next < n;
    if (!*more)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    memcpy(&self, reader->run->extents.ptr + reader->next * sizeof self, sizeof self);
    reader->block.len = 0;
    reader->at = 0;
    ALM_TRY(alm_buf_reserve(cx, &reader->block, self.bytes));
    (void)snprintf(what, sizeof what, "temporary file of %s", reader->spill->who);
    ALM_TRY(alm_io_read_all(cx, reader->spill->space->io, reader->spill->handle, reader->block.ptr,
                            self.bytes, self.offset, what));
    reader->block.len = self.bytes;
    reader->next++;
    return ALM_OK;
}

static size_t storage_spill_padded(uint64_t n)
{
    return (size_t)(n + PIECE - 1) & ~(size_t)(PIECE - 1);
}

alm_status alm_spill_read(alm_ctx *cx, alm_spill_reader *reader, alm_batch **out)
{
    batch_head head;
    *out = NULL;
    if (reader->at == reader->block.len) {
        bool more = false;
        ALM_TRY(storage_spill_next_block(cx, reader, &more));
        if (!more)
            return ALM_OK;
    }
    char *ptr = reader->block.ptr + reader->at;
    memcpy(&head, ptr, sizeof head);
    reader->at += head.bytes;
    ptr += storage_spill_padded(sizeof head);
    for (uint32_t c = 0; c < reader->batch.n_cols; c++) {
        col_head col;
        memcpy(&col, ptr, sizeof col);
        ptr += storage_spill_padded(sizeof col);
        reader->batch.cols[c] = (alm_vec){.type = col.type,
                                          .width = col.width,
                                          .is_const = col.is_const,
                                          .no_nulls = col.no_nulls,
                                          .data = ptr,
                                          .dict = col.dict};
        ptr += storage_spill_padded(col.data_bytes);
        if (col.heap_bytes > 0)
            reader->batch.cols[c].heap = ptr;
        ptr += storage_spill_padded(col.heap_bytes);
    }
    ALM_ASSERT(ptr == reader->block.ptr + reader->at);
    reader->batch.rows = head.rows;
    *out = &reader->batch;
    return ALM_OK;
}
