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
    leftovers *l = arg;
    char path[sizeof l->space->dir + 256];
    const int n = snprintf(path, sizeof path, "%s/%s", l->space->dir, name);
    if (n > 0 && (size_t)n < sizeof path && l->space->io->unlink(l->space->io, path) >= 0)
        l->n++;
    return 0;
}

alm_status alm_spill_space_open(alm_ctx *cx, alm_spill_space *space, const alm_io *io,
                                const char *dir)
{
    *space = (alm_spill_space){.io = io};
    const int n = snprintf(space->dir, sizeof space->dir, "%s", dir);
    if (n < 0 || (size_t)n >= sizeof space->dir)
        return alm_fail(cx, ALM_E_ARG, -1, "the path of the temporary files is too long");
    alm_io_stat meta;
    if (io->stat(io, dir, &meta) < 0 || !meta.is_dir) {
        const int e = alm_io_make_dir(io, dir);
        return e < 0 ? alm_io_fail(cx, e, dir) : ALM_OK;
    }
    leftovers l = {.space = space};
    const int e = io->list(io, dir, remove_leftover, &l);
    if (e < 0)
        return alm_io_fail(cx, e, dir);
    if (l.n > 0)
        alm_log_info("storage", "removed %lld temporary files of an earlier run", (long long)l.n);
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
    const alm_status st =
        bytes <= max - before
            ? charge_user(cx, files, bytes, who)
            : alm_fail(cx, ALM_E_SPILL, -1,
                       "temporary files would exceed query.spill.max [limit=%lld, used=%lld, "
                       "wanted=%lld, by=%s]",
                       (long long)max, (long long)before, (long long)bytes, who);
    if (st != ALM_OK)
        atomic_fetch_sub(&space->bytes, bytes);
    return st;
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
    const int e = io->unlink(io, path);
    return e < 0 ? alm_io_fail(cx, e, path) : ALM_OK;
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
    alm_spill *s = calloc(1, sizeof *s);
    if (s == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a temporary file");
    *s = (alm_spill){.space = space,
                     .who = who,
                     .mem = cx->mem,
                     .files = cx->files,
                     .handle = -1,
                     .n_cols = n_cols,
                     .block_bytes = ALM_SPILL_BLOCK_BYTES};
    const alm_status st = alm_spill_space_file(cx, space, &s->handle);
    if (st != ALM_OK) {
        alm_spill_free(s);
        return st;
    }
    *out = s;
    return ALM_OK;
}

void alm_spill_free(alm_spill *s)
{
    if (s == NULL)
        return;
    for (uint32_t r = 0; r < s->n_runs; r++) {
        alm_buf_deinit(&s->run[r].pending);
        alm_buf_deinit(&s->run[r].extents);
    }
    free(s->run);
    alm_spill_space_leave(s->space, s->files, s->handle, s->bytes);
    free(s);
}

void alm_spill_block_bytes(alm_spill *s, size_t bytes)
{
    s->block_bytes = bytes;
}

int64_t alm_spill_bytes(const alm_spill *s)
{
    return s->bytes;
}

alm_status alm_spill_run(alm_ctx *cx, alm_spill *s, uint32_t *run)
{
    if (s->n_runs == s->cap_runs) {
        const uint32_t cap = ALM_MAX(8U, 2 * s->cap_runs);
        spill_run *grown = realloc(s->run, cap * sizeof *grown);
        if (grown == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the runs of a temporary file");
        s->run = grown;
        s->cap_runs = cap;
    }
    spill_run *r = &s->run[s->n_runs];
    *r = (spill_run){0};
    alm_buf_init(&r->pending, s->mem);
    alm_buf_init(&r->extents, s->mem);
    *run = s->n_runs++;
    return ALM_OK;
}

uint32_t alm_spill_runs(const alm_spill *s)
{
    return s->n_runs;
}

int64_t alm_spill_rows(const alm_spill *s, uint32_t run)
{
    ALM_ASSERT(run < s->n_runs);
    return s->run[run].rows;
}

/* ----------------------------------------------------------------------------------- writing */

static alm_status write_block(alm_ctx *cx, alm_spill *s, spill_run *r)
{
    char what[96];
    const extent e = {.offset = s->bytes, .bytes = r->pending.len};
    if (e.bytes == 0)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_spill_space_charge(cx, s->space, s->files, (int64_t)e.bytes, s->who));
    s->bytes += (int64_t)e.bytes;
    (void)snprintf(what, sizeof what, "temporary file of %s", s->who);
    ALM_TRY(alm_io_write_all(cx, s->space->io, s->handle, r->pending.ptr, e.bytes, e.offset, what));
    r->pending.len = 0;
    return alm_buf_append(cx, &r->extents, &e, sizeof e);
}

static alm_status pad(alm_ctx *cx, alm_buf *b)
{
    static const char zeros[PIECE];
    return alm_buf_append(cx, b, zeros, (PIECE - b->len % PIECE) % PIECE);
}

/* n bytes at the end of the buffer, padded. */
static alm_status put(alm_ctx *cx, alm_buf *b, const void *bytes, size_t n)
{
    ALM_TRY(alm_buf_append(cx, b, bytes, n));
    return pad(cx, b);
}

/* The text of views [0, n) behind them; the views in the buffer then count from its start. */
static alm_status put_text(alm_ctx *cx, alm_buf *b, const alm_vec *v, size_t views_at, uint32_t n,
                           uint64_t *bytes)
{
    const size_t from = b->len;
    for (uint32_t i = 0; i < n; i++) {
        alm_view view;
        char *at = b->ptr + views_at + (size_t)i * sizeof view;
        memcpy(&view, at, sizeof view);
        if (view.len <= ALM_VIEW_INLINE || alm_view_is_null(&view))
            continue;
        const char *text = alm_view_ptr(&view, v->heap);
        view.off = b->len - from;
        memcpy(at, &view, sizeof view);
        ALM_TRY(alm_buf_append(cx, b, text, view.len));
    }
    *bytes = b->len - from;
    return pad(cx, b);
}

static bool has_views(const alm_vec *v)
{
    const uint8_t id = v->type.id;
    return v->dict == NULL && (id == ALM_T_SYMBOL || id == ALM_T_NULL ||
                               alm_type_info_of(v->type)->null == ALM_NULL_VIEW);
}

static alm_status put_column(alm_ctx *cx, alm_buf *b, const alm_vec *v, uint32_t n)
{
    ALM_ASSERT(!v->indirect);
    const uint32_t values = v->is_const ? 1 : n;
    const size_t at = b->len;
    col_head head = {.dict = v->dict,
                     .data_bytes = (uint64_t)values * v->width,
                     .type = v->type,
                     .width = v->width,
                     .is_const = v->is_const,
                     .no_nulls = v->no_nulls};
    ALM_TRY(put(cx, b, &head, sizeof head));
    const size_t data_at = b->len;
    ALM_TRY(put(cx, b, v->data, head.data_bytes));
    if (has_views(v))
        ALM_TRY(put_text(cx, b, v, data_at, values, &head.heap_bytes));
    memcpy(b->ptr + at, &head, sizeof head);
    return ALM_OK;
}

alm_status alm_spill_append(alm_ctx *cx, alm_spill *s, uint32_t run, const alm_vec *cols,
                            uint32_t n)
{
    ALM_ASSERT(run < s->n_runs && !s->run[run].ended && n <= ALM_BATCH_ROWS);
    spill_run *r = &s->run[run];
    const size_t at = r->pending.len;
    batch_head head = {.rows = n};
    if (n == 0)
        return ALM_OK;
    ALM_TRY(put(cx, &r->pending, &head, sizeof head));
    for (uint32_t c = 0; c < s->n_cols; c++)
        ALM_TRY(put_column(cx, &r->pending, &cols[c], n));
    head.bytes = r->pending.len - at;
    memcpy(r->pending.ptr + at, &head, sizeof head);
    r->rows += n;
    return r->pending.len >= s->block_bytes ? write_block(cx, s, r) : ALM_OK;
}

alm_status alm_spill_end(alm_ctx *cx, alm_spill *s, uint32_t run)
{
    ALM_ASSERT(run < s->n_runs && !s->run[run].ended);
    spill_run *r = &s->run[run];
    ALM_TRY(write_block(cx, s, r));
    alm_buf_deinit(&r->pending);
    r->ended = true;
    return ALM_OK;
}

/* ----------------------------------------------------------------------------------- reading */

alm_status alm_spill_reader_new(alm_ctx *cx, const alm_spill *s, uint32_t run,
                                alm_spill_reader **out)
{
    ALM_ASSERT(run < s->n_runs && s->run[run].ended);
    alm_spill_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read a temporary file");
    *r = (alm_spill_reader){.spill = s, .run = &s->run[run]};
    alm_buf_init(&r->block, cx->mem);
    r->batch.n_cols = s->n_cols;
    r->batch.cols = calloc((size_t)s->n_cols + 1, sizeof *r->batch.cols);
    if (r->batch.cols == NULL) {
        alm_spill_reader_free(r);
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to read a temporary file");
    }
    *out = r;
    return ALM_OK;
}

void alm_spill_reader_free(alm_spill_reader *r)
{
    if (r == NULL)
        return;
    alm_buf_deinit(&r->block);
    free(r->batch.cols);
    free(r);
}

/* The next extent into the block buffer; *more = false: there is none. */
static alm_status next_block(alm_ctx *cx, alm_spill_reader *r, bool *more)
{
    char what[96];
    extent e;
    const size_t n = r->run->extents.len / sizeof e;
    *more = r->next < n;
    if (!*more)
        return ALM_OK;
    ALM_TRY(alm_check(cx));
    memcpy(&e, r->run->extents.ptr + r->next * sizeof e, sizeof e);
    r->block.len = 0;
    r->at = 0;
    ALM_TRY(alm_buf_reserve(cx, &r->block, e.bytes));
    (void)snprintf(what, sizeof what, "temporary file of %s", r->spill->who);
    ALM_TRY(alm_io_read_all(cx, r->spill->space->io, r->spill->handle, r->block.ptr, e.bytes,
                            e.offset, what));
    r->block.len = e.bytes;
    r->next++;
    return ALM_OK;
}

static size_t padded(uint64_t n)
{
    return (size_t)(n + PIECE - 1) & ~(size_t)(PIECE - 1);
}

alm_status alm_spill_read(alm_ctx *cx, alm_spill_reader *r, alm_batch **out)
{
    batch_head head;
    *out = NULL;
    if (r->at == r->block.len) {
        bool more = false;
        ALM_TRY(next_block(cx, r, &more));
        if (!more)
            return ALM_OK;
    }
    char *at = r->block.ptr + r->at;
    memcpy(&head, at, sizeof head);
    r->at += head.bytes;
    at += padded(sizeof head);
    for (uint32_t c = 0; c < r->batch.n_cols; c++) {
        col_head col;
        memcpy(&col, at, sizeof col);
        at += padded(sizeof col);
        r->batch.cols[c] = (alm_vec){.type = col.type,
                                     .width = col.width,
                                     .is_const = col.is_const,
                                     .no_nulls = col.no_nulls,
                                     .data = at,
                                     .dict = col.dict};
        at += padded(col.data_bytes);
        if (col.heap_bytes > 0)
            r->batch.cols[c].heap = at;
        at += padded(col.heap_bytes);
    }
    ALM_ASSERT(at == r->block.ptr + r->at);
    r->batch.rows = head.rows;
    *out = &r->batch;
    return ALM_OK;
}
