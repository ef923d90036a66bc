/*
 * sim.c - the simulated disk (model in sim.h).
 *
 * A file's live bytes are what reads see; its durable bytes are what a power cut leaves for sure.
 * Unsynced operations are kept in a log per file so that a cut can apply any of their sectors. The
 * name space is two lists of entries, live and durable, and the list of pending operations.
 */
#include "io/sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SECTOR = 512, HANDLES_MAX = 4096, PATH_BYTES = 512 };

typedef struct sim_bytes {
    char *ptr;
    int64_t len, cap;
} sim_bytes;

typedef struct sim_write { /* n < 0: the size becomes `offset` */
    int64_t offset, n;
    char *data;
} sim_write;

typedef struct sim_node { /* a file or a directory */
    uint64_t number;
    int32_t refs;
    bool is_dir;
    bool locked;
    bool lost; /* a sync_all dropped writes: the next sync of the file says so */
    sim_bytes live, durable;
    sim_write *log;
    size_t n_log, cap_log;
} sim_node;

typedef struct sim_entry {
    char path[PATH_BYTES];
    sim_node *node;
} sim_entry;

typedef struct sim_space {
    sim_entry *entries;
    size_t n, cap;
} sim_space;

typedef struct sim_pending { /* from: entry that goes; to: entry that comes (node) */
    char from[PATH_BYTES], to[PATH_BYTES];
    sim_node *node;
} sim_pending;

typedef struct sim_handle {
    sim_node *node;
    char *dir; /* of a directory: its path, of this handle */
    bool writable, holds_lock;
} sim_handle;

typedef struct sim_mapped { /* a map that is in use: what rots shows in it */
    char *bytes;
    size_t n;
    uint64_t node;   /* by its number: the map may outlive it */
    alm_io_map *map; /* of map_file, else NULL */
    bool lost;
} sim_mapped;

struct alm_sim {
    alm_io io;
    pthread_mutex_t lock;
    uint64_t random;
    sim_space live, durable;
    sim_pending *pending;
    size_t n_pending, cap_pending;
    sim_handle handles[HANDLES_MAX];
    sim_mapped *maps;
    size_t n_maps, cap_maps;
    uint64_t next_node;
    int64_t calls[ALM_SIM_OP_COUNT];
    int64_t syncs, map_faults;
    alm_sim_op fail_op;
    int64_t fail_nth, fail_times, fail_fired;
    int fail_err;
    int64_t cut_nth;
    bool dead, ignore_sync, no_locks, no_sync_all;
    int64_t boot, process; /* who calls; `ended`: processes up to that number do not run any more */
    int64_t ended;
    int64_t machine_bytes; /* 0: those of the real machine */
    uint32_t machine_processors;
    int64_t capacity, used;
    _Atomic int64_t sync_delay_us;
};

/* ------------------------------------------------------------------ helpers of the model */

static uint64_t next_random(alm_sim *sim) /* splitmix64 */
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A simulated disk without memory is a broken test, not a case to go on from. */
static void *need(void *ptr)
{
    ALM_ASSERT(ptr != NULL);
    return ptr;
}

static void bytes_resize(sim_bytes *b, int64_t len)
{
    if (len > b->cap) {
        const int64_t cap = ALM_MAX(len, b->cap * 2);
        b->ptr = need(realloc(b->ptr, (size_t)cap));
        b->cap = cap;
    }
    if (len > b->len)
        memset(b->ptr + b->len, 0, (size_t)(len - b->len));
    b->len = len;
}

static void bytes_put(sim_bytes *b, int64_t offset, const char *data, int64_t n)
{
    if (offset + n > b->len)
        bytes_resize(b, offset + n);
    if (n > 0)
        memcpy(b->ptr + offset, data, (size_t)n);
}

static void log_clear(sim_node *node)
{
    for (size_t i = 0; i < node->n_log; i++)
        free(node->log[i].data);
    node->n_log = 0;
}

static void log_add(sim_node *node, int64_t offset, const char *data, int64_t n)
{
    if (node->n_log == node->cap_log) {
        node->cap_log = ALM_MAX((size_t)8, node->cap_log * 2);
        node->log = need(realloc(node->log, node->cap_log * sizeof *node->log));
    }
    sim_write *w = &node->log[node->n_log++];
    *w = (sim_write){.offset = offset, .n = n};
    if (n > 0) {
        w->data = need(malloc((size_t)n));
        memcpy(w->data, data, (size_t)n);
    }
}

static sim_node *node_new(alm_sim *sim, bool is_dir)
{
    sim_node *node = need(calloc(1, sizeof *node));
    node->number = ++sim->next_node;
    node->refs = 1;
    node->is_dir = is_dir;
    return node;
}

static void node_release(alm_sim *sim, sim_node *node)
{
    if (node == NULL || --node->refs > 0)
        return;
    sim->used -= node->live.len;
    log_clear(node);
    free(node->log);
    free(node->live.ptr);
    free(node->durable.ptr);
    free(node);
}

static sim_entry *space_find(sim_space *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->entries[i].path, path) == 0)
            return &s->entries[i];
    return NULL;
}

static void space_remove(alm_sim *sim, sim_space *s, const char *path)
{
    sim_entry *e = space_find(s, path);
    if (e == NULL)
        return;
    node_release(sim, e->node);
    *e = s->entries[--s->n];
}

static void space_put(alm_sim *sim, sim_space *s, const char *path, sim_node *node)
{
    node->refs++;
    space_remove(sim, s, path);
    if (s->n == s->cap) {
        s->cap = ALM_MAX((size_t)16, s->cap * 2);
        s->entries = need(realloc(s->entries, s->cap * sizeof *s->entries));
    }
    sim_entry *e = &s->entries[s->n++];
    (void)snprintf(e->path, sizeof e->path, "%s", path);
    e->node = node;
}

static void parent_of(const char *path, char *dir)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    memcpy(dir, path, n);
    dir[n] = 0;
}

static bool in_dir(const char *path, const char *dir)
{
    char parent[PATH_BYTES];
    parent_of(path, parent);
    return path[0] != 0 && strcmp(parent, dir) == 0;
}

/* The top of the simulated disk is there without mkdir: "" and relative names without a slash. */
static bool parent_exists(alm_sim *sim, sim_space *s, const char *path)
{
    char dir[PATH_BYTES];
    parent_of(path, dir);
    (void)sim;
    const sim_entry *e = dir[0] == 0 ? NULL : space_find(s, dir);
    return dir[0] == 0 || (e != NULL && e->node->is_dir);
}

static void pending_add(alm_sim *sim, const char *from, const char *to, sim_node *node)
{
    if (sim->n_pending == sim->cap_pending) {
        sim->cap_pending = ALM_MAX((size_t)16, sim->cap_pending * 2);
        sim->pending = need(realloc(sim->pending, sim->cap_pending * sizeof *sim->pending));
    }
    sim_pending *p = &sim->pending[sim->n_pending++];
    (void)snprintf(p->from, sizeof p->from, "%s", from);
    (void)snprintf(p->to, sizeof p->to, "%s", to);
    p->node = node;
    if (node != NULL)
        node->refs++;
}

static void pending_apply(alm_sim *sim, sim_pending *p)
{
    if (p->from[0] != 0)
        space_remove(sim, &sim->durable, p->from);
    if (p->to[0] != 0)
        space_put(sim, &sim->durable, p->to, p->node);
}

static void pending_clear(alm_sim *sim)
{
    for (size_t i = 0; i < sim->n_pending; i++)
        node_release(sim, sim->pending[i].node);
    sim->n_pending = 0;
}

/* Counts a call; the errno it must fail with (0: none, -1: short write). */
static int enter(alm_sim *sim, alm_sim_op op)
{
    const bool changes = op == ALM_SIM_WRITE || op == ALM_SIM_SYNC || op == ALM_SIM_SYNC_DIR ||
                         op == ALM_SIM_SYNC_ALL || (op >= ALM_SIM_ALLOCATE && op <= ALM_SIM_RMDIR);
    sim->calls[op]++;
    sim->calls[ALM_SIM_ANY]++;
    if (changes)
        sim->calls[ALM_SIM_CHANGE]++;
    if (sim->dead)
        return EIO;
    if (sim->fail_nth > 0 && (sim->fail_op == op || sim->fail_op == ALM_SIM_ANY ||
                              (sim->fail_op == ALM_SIM_CHANGE && changes))) {
        if (sim->fail_nth > 1) {
            sim->fail_nth--;
        } else {
            sim->fail_fired++;
            if (sim->fail_times > 0 && --sim->fail_times == 0)
                sim->fail_nth = 0;
            return sim->fail_err == 0 ? (op == ALM_SIM_WRITE ? -1 : EIO) : sim->fail_err;
        }
    }
    return 0;
}

/* True: the power goes during this call. */
static bool cut_now(alm_sim *sim)
{
    if (sim->cut_nth == 0 || --sim->cut_nth > 0)
        return false;
    sim->dead = true;
    return true;
}

/* Applies the sectors of unsynced operations that the seed picks. */
static void log_settle(alm_sim *sim, sim_node *node)
{
    const uint64_t mode = next_random(sim) % 4; /* none, all, else each by itself */
    for (size_t i = 0; i < node->n_log; i++) {
        const sim_write *w = &node->log[i];
        if (w->n < 0) {
            if (mode == 1 || (mode > 1 && next_random(sim) % 2))
                bytes_resize(&node->durable, w->offset);
            continue;
        }
        for (int64_t at = w->offset; at < w->offset + w->n;) {
            const int64_t next = ALM_MIN((at / SECTOR + 1) * SECTOR, w->offset + w->n);
            if (mode == 1 || (mode > 1 && next_random(sim) % 2))
                bytes_put(&node->durable, at, w->data + (at - w->offset), next - at);
            at = next;
        }
    }
    log_clear(node);
}

static void make_durable(sim_node *node)
{
    for (size_t i = 0; i < node->n_log; i++) {
        const sim_write *w = &node->log[i];
        if (w->n < 0)
            bytes_resize(&node->durable, w->offset);
        else
            bytes_put(&node->durable, w->offset, w->data, w->n);
    }
    log_clear(node);
}

static sim_handle *handle_at(alm_sim *sim, int handle)
{
    ALM_ASSERT(handle >= 0 && handle < HANDLES_MAX);
    ALM_ASSERT(sim->handles[handle].node != NULL);
    return &sim->handles[handle];
}

static int64_t room(alm_sim *sim, int64_t more)
{
    return sim->capacity > 0 && sim->used + more > sim->capacity ? -ENOSPC : 0;
}

/* -------------------------------------------------------------------- the functions of alm_io */

static alm_sim *enter_locked(const alm_io *io)
{
    alm_sim *sim = io->self;
    (void)pthread_mutex_lock(&sim->lock);
    return sim;
}

static int64_t leave(alm_sim *sim, int64_t result)
{
    (void)pthread_mutex_unlock(&sim->lock);
    return result;
}

static int free_handle(alm_sim *sim)
{
    for (int handle = 0; handle < HANDLES_MAX; handle++)
        if (sim->handles[handle].node == NULL)
            return handle;
    return -EMFILE;
}

static int64_t open_locked(alm_sim *sim, const char *path, uint32_t flags)
{
    const int e = enter(sim, ALM_SIM_OPEN);
    if (e != 0)
        return -EIO * (e == -1) - (e == -1 ? 0 : e);
    sim_entry *entry = space_find(&sim->live, path);
    if (entry == NULL) {
        if (!(flags & ALM_IO_CREATE) || !parent_exists(sim, &sim->live, path))
            return -ENOENT;
        sim->calls[ALM_SIM_CHANGE]++;
        if (cut_now(sim))
            return -EIO;
        sim_node *node = node_new(sim, false);
        space_put(sim, &sim->live, path, node);
        pending_add(sim, "", path, node);
        node_release(sim, node);
        entry = space_find(&sim->live, path);
    } else if (flags & ALM_IO_EXCLUSIVE) {
        return -EEXIST;
    }
    sim_node *node = ((sim_entry *)need(entry))->node;
    if (node->is_dir)
        return -EISDIR;
    const int handle = free_handle(sim);
    if (handle < 0)
        return handle;
    if ((flags & ALM_IO_TRUNCATE) && node->live.len > 0) {
        sim->used -= node->live.len;
        bytes_resize(&node->live, 0);
        log_add(node, 0, NULL, -1);
    }
    sim->handles[handle] = (sim_handle){.node = node, .writable = (flags & ALM_IO_WRITE) != 0};
    node->refs++;
    return handle;
}

static int sim_open(const alm_io *io, const char *path, uint32_t flags)
{
    alm_sim *sim = enter_locked(io);
    return (int)leave(sim, open_locked(sim, path, flags));
}

static int sim_close(const alm_io *io, int handle)
{
    alm_sim *sim = enter_locked(io);
    if (sim->handles[handle].node != NULL) { /* a restart may have taken it away */
        sim_handle *h = handle_at(sim, handle);
        if (h->holds_lock)
            h->node->locked = false;
        node_release(sim, h->node);
        free(h->dir);
        *h = (sim_handle){0};
    }
    return (int)leave(sim, 0);
}

static int64_t sim_bytes_of(const alm_io *io, int handle)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_STAT);
    if (e != 0)
        return leave(sim, e > 0 ? -e : -EIO);
    return leave(sim, handle_at(sim, handle)->node->live.len);
}

static int64_t sim_read(const alm_io *io, int handle, void *buf, size_t n, int64_t offset)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_READ);
    if (e != 0)
        return leave(sim, -e);
    const sim_bytes *b = &handle_at(sim, handle)->node->live;
    const int64_t left = offset >= b->len ? 0 : b->len - offset;
    const int64_t got = ALM_MIN(left, (int64_t)n);
    if (got > 0)
        memcpy(buf, b->ptr + offset, (size_t)got);
    return leave(sim, got);
}

static int64_t write_locked(alm_sim *sim, int handle, const void *buf, size_t n, int64_t offset)
{
    const int e = enter(sim, ALM_SIM_WRITE);
    if (e > 0)
        return -e;
    if (e == -1 && n > 1)
        n /= 2;
    const sim_handle *h = handle_at(sim, handle);
    if (!h->writable)
        return -EBADF;
    sim_node *node = h->node;
    const int64_t more = ALM_MAX(INT64_C(0), offset + (int64_t)n - node->live.len);
    if (room(sim, more) != 0)
        return -ENOSPC;
    const bool cut = cut_now(sim);
    sim->used += more;
    bytes_put(&node->live, offset, buf, (int64_t)n);
    log_add(node, offset, buf, (int64_t)n);
    return cut ? -EIO : (int64_t)n;
}

static int64_t sim_write_(const alm_io *io, int handle, const void *buf, size_t n, int64_t offset)
{
    alm_sim *sim = enter_locked(io);
    return leave(sim, write_locked(sim, handle, buf, n, offset));
}

/* A sync that has entered with `e`, 0 or what a fault said: does it make anything durable? *code: what the call returns. */
static bool sync_counts(alm_sim *sim, int e, int *code)
{
    *code = e > 0 ? -e : e < 0 || cut_now(sim) ? -EIO : 0;
    if (*code != 0)
        return false;
    sim->syncs++;
    return !sim->ignore_sync;
}

static int sim_sync(const alm_io *io, int handle)
{
    const alm_sim *slow = io->self;
    const int64_t us = slow->sync_delay_us;
    if (us > 0) {
        const struct timespec nap = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        (void)nanosleep(&nap, NULL); /* not under the lock: other calls go on */
    }
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_SYNC);
    if (sim->dead)
        return (int)leave(sim, -EIO);
    sim_node *node = handle_at(sim, handle)->node;
    if (e != 0) {
        log_settle(sim, node); /* the kernel drops what it could not write and calls it clean */
        return (int)leave(sim, e > 0 ? -e : -EIO);
    }
    if (cut_now(sim))
        return (int)leave(sim, -EIO);
    if (node->lost) {
        node->lost = false;
        return (int)leave(sim, -EIO);
    }
    sim->syncs++;
    if (!sim->ignore_sync)
        make_durable(node);
    return (int)leave(sim, 0);
}

static int sim_sync_dir(const alm_io *io, const char *path)
{
    alm_sim *sim = enter_locked(io);
    int code = 0;
    if (!sync_counts(sim, enter(sim, ALM_SIM_SYNC_DIR), &code))
        return (int)leave(sim, code);
    if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        path = ""; /* what parent_of says */
    size_t kept = 0;
    for (size_t i = 0; i < sim->n_pending; i++) {
        sim_pending *p = &sim->pending[i];
        if (in_dir(p->from, path) || in_dir(p->to, path)) {
            pending_apply(sim, p);
            node_release(sim, p->node);
        } else {
            sim->pending[kept++] = *p;
        }
    }
    sim->n_pending = kept;
    return (int)leave(sim, 0);
}

/* The kernel wrote what it could, and calls the rest clean. */
static void lose_some(alm_sim *sim)
{
    for (size_t i = 0; i < sim->live.n; i++) {
        sim_node *node = sim->live.entries[i].node;
        if (node->n_log == 0)
            continue;
        if (next_random(sim) % 2) {
            make_durable(node);
        } else {
            log_settle(sim, node);
            node->lost = true;
        }
    }
}

static int sim_sync_all(const alm_io *io, int dir)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_SYNC_ALL);
    ALM_ASSERT(sim->dead || handle_at(sim, dir)->node->is_dir);
    int code = 0;
    if (e != 0 && !sim->dead)
        lose_some(sim);
    if (!sync_counts(sim, e, &code))
        return (int)leave(sim, code);
    for (size_t i = 0; i < sim->live.n; i++)
        make_durable(sim->live.entries[i].node);
    for (size_t i = 0; i < sim->n_pending; i++)
        pending_apply(sim, &sim->pending[i]);
    pending_clear(sim);
    return (int)leave(sim, 0);
}

static bool sim_syncs_all(const alm_io *io, int dir)
{
    alm_sim *sim = enter_locked(io);
    (void)dir;
    return leave(sim, !sim->no_sync_all) != 0;
}

static int sim_size(const alm_io *io, int handle, int64_t size, alm_sim_op op)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, op);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    sim_node *node = handle_at(sim, handle)->node;
    if (op == ALM_SIM_ALLOCATE && size <= node->live.len)
        return (int)leave(sim, 0);
    if (room(sim, size - node->live.len) != 0)
        return (int)leave(sim, -ENOSPC);
    const bool cut = cut_now(sim);
    sim->used += size - node->live.len;
    bytes_resize(&node->live, size);
    log_add(node, size, NULL, -1);
    return (int)leave(sim, cut ? -EIO : 0);
}

static int sim_allocate(const alm_io *io, int handle, int64_t offset, int64_t n)
{
    return sim_size(io, handle, offset + n, ALM_SIM_ALLOCATE);
}

static int sim_truncate(const alm_io *io, int handle, int64_t size)
{
    return sim_size(io, handle, size, ALM_SIM_TRUNCATE);
}

static int sim_rename(const alm_io *io, const char *from, const char *to)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_RENAME);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_entry *entry = space_find(&sim->live, from);
    if (entry == NULL || !parent_exists(sim, &sim->live, to))
        return (int)leave(sim, -ENOENT);
    const bool cut = cut_now(sim);
    sim_node *node = entry->node;
    node->refs++;
    pending_add(sim, from, to, node);
    space_remove(sim, &sim->live, from);
    space_put(sim, &sim->live, to, node);
    node_release(sim, node);
    return (int)leave(sim, cut ? -EIO : 0);
}

static int remove_entry(const alm_io *io, const char *path, alm_sim_op op)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, op);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_entry *entry = space_find(&sim->live, path);
    if (entry == NULL)
        return (int)leave(sim, -ENOENT);
    if (entry->node->is_dir != (op == ALM_SIM_RMDIR))
        return (int)leave(sim, op == ALM_SIM_RMDIR ? -ENOTDIR : -EISDIR);
    for (size_t i = 0; i < sim->live.n && op == ALM_SIM_RMDIR; i++)
        if (in_dir(sim->live.entries[i].path, path))
            return (int)leave(sim, -ENOTEMPTY);
    const bool cut = cut_now(sim);
    pending_add(sim, path, "", NULL);
    space_remove(sim, &sim->live, path);
    return (int)leave(sim, cut ? -EIO : 0);
}

static int sim_unlink(const alm_io *io, const char *path)
{
    return remove_entry(io, path, ALM_SIM_UNLINK);
}

static int sim_rmdir(const alm_io *io, const char *path)
{
    return remove_entry(io, path, ALM_SIM_RMDIR);
}

static int sim_mkdir(const alm_io *io, const char *path)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_MKDIR);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_entry *entry = space_find(&sim->live, path);
    if (entry != NULL)
        return (int)leave(sim, entry->node->is_dir ? 0 : -EEXIST);
    if (!parent_exists(sim, &sim->live, path))
        return (int)leave(sim, -ENOENT);
    const bool cut = cut_now(sim);
    sim_node *node = node_new(sim, true);
    space_put(sim, &sim->live, path, node);
    pending_add(sim, "", path, node);
    node_release(sim, node);
    return (int)leave(sim, cut ? -EIO : 0);
}

static int sim_stat(const alm_io *io, const char *path, alm_io_stat *out)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_STAT);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_entry *entry = space_find(&sim->live, path);
    if (entry == NULL)
        return (int)leave(sim, -ENOENT);
    *out = (alm_io_stat){.size_bytes = entry->node->live.len,
                         .is_dir = entry->node->is_dir,
                         .is_file = !entry->node->is_dir,
                         .identity = (uint64_t)(uintptr_t)entry->node,
                         .device = (uint64_t)(uintptr_t)sim};
    return (int)leave(sim, 0);
}

static int by_text(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

static int sim_volume(const alm_io *io, const char *path, int64_t *all, int64_t *free)
{
    (void)io;
    (void)path;
    *all = *free = INT64_C(1) << 50;
    return 0;
}

static int sim_list(const alm_io *io, const char *path, int (*each)(void *arg, const char *name),
                    void *arg)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_LIST);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_entry *dir = space_find(&sim->live, path);
    if (dir == NULL || !dir->node->is_dir)
        return (int)leave(sim, -ENOENT);
    char **names = need(malloc((sim->live.n + 1) * sizeof *names));
    size_t n = 0;
    for (size_t i = 0; i < sim->live.n; i++)
        if (in_dir(sim->live.entries[i].path, path))
            names[n++] = need(strdup(sim->live.entries[i].path + strlen(path) + 1));
    (void)leave(sim, 0); /* `each` may call back into the disk */
    qsort((void *)names, n, sizeof *names, by_text);
    int stop = 0;
    for (size_t i = 0; i < n; i++) {
        if (stop == 0)
            stop = each(arg, names[i]);
        free(names[i]);
    }
    free((void *)names);
    return stop;
}

/* --------------------------------------------------- below a folder: there are no links here */

static int64_t open_dir_locked(alm_sim *sim, const char *path)
{
    const int e = enter(sim, ALM_SIM_OPEN);
    if (e != 0)
        return e > 0 ? -e : -EIO;
    sim_entry *entry = space_find(&sim->live, path);
    if (entry == NULL)
        return -ENOENT;
    if (!entry->node->is_dir)
        return -ENOTDIR;
    const int handle = free_handle(sim);
    if (handle < 0)
        return handle;
    sim->handles[handle] = (sim_handle){.node = entry->node, .dir = need(strdup(path))};
    entry->node->refs++;
    return handle;
}

static int sim_open_dir(const alm_io *io, const char *path)
{
    alm_sim *sim = enter_locked(io);
    return (int)leave(sim, open_dir_locked(sim, path));
}

/* The path of a name below the directory of a handle; 0, or an errno. */
static int path_in(const alm_io *io, int dir, const char *name, char path[PATH_BYTES])
{
    alm_sim *sim = enter_locked(io);
    const char *folder = handle_at(sim, dir)->dir;
    ALM_ASSERT(folder != NULL);
    const int n = name[0] == 0 || strcmp(name, ".") == 0
                      ? snprintf(path, PATH_BYTES, "%s", folder)
                      : snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return (int)leave(sim, n < PATH_BYTES ? 0 : -ENAMETOOLONG);
}

static bool leads_out(const char *path)
{
    for (const char *at = path; *at != 0;) {
        const size_t n = strcspn(at, "/");
        if (n == 0 || (n == 2 && memcmp(at, "..", 2) == 0))
            return true;
        at += n + (at[n] == '/');
    }
    return false;
}

static int sim_open_dir_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    char full[PATH_BYTES];
    (void)flags;
    if (leads_out(path))
        return -EXDEV;
    const int code = path_in(io, dir, path, full);
    return code < 0 ? code : sim_open_dir(io, full);
}

static int sim_open_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    char full[PATH_BYTES];
    if (path[0] == 0)
        return -ENOENT;
    if (leads_out(path))
        return -EXDEV;
    const int code = path_in(io, dir, path, full);
    const int handle = code < 0 ? code : sim_open(io, full, flags);
    return handle == -EISDIR ? -EINVAL : handle;
}

static int sim_stat_in(const alm_io *io, int dir, const char *name, alm_io_stat *out)
{
    char full[PATH_BYTES];
    const int code = path_in(io, dir, name, full);
    return code < 0 ? code : io->stat(io, full, out);
}

static int sim_list_in(const alm_io *io, int dir, int (*each)(void *arg, const char *name),
                       void *arg)
{
    char full[PATH_BYTES];
    const int code = path_in(io, dir, "", full);
    return code < 0 ? code : io->list(io, full, each, arg);
}

static int sim_mkdir_in(const alm_io *io, int dir, const char *name)
{
    char full[PATH_BYTES];
    alm_io_stat meta;
    const int code = path_in(io, dir, name, full);
    if (code < 0)
        return code;
    return io->stat(io, full, &meta) == 0 ? -EEXIST : io->mkdir(io, full);
}

static int sim_rename_in(const alm_io *io, int from_dir, const char *from, int to_dir,
                         const char *to)
{
    char full_from[PATH_BYTES], full_to[PATH_BYTES];
    int code = path_in(io, from_dir, from, full_from);
    if (code == 0)
        code = path_in(io, to_dir, to, full_to);
    return code < 0 ? code : io->rename(io, full_from, full_to);
}

static int sim_unlink_in(const alm_io *io, int dir, const char *name)
{
    char full[PATH_BYTES];
    const int code = path_in(io, dir, name, full);
    return code < 0 ? code : io->unlink(io, full);
}

static int sim_sync_in(const alm_io *io, int dir)
{
    char full[PATH_BYTES];
    const int code = path_in(io, dir, "", full);
    return code < 0 ? code : io->sync_dir(io, full);
}

static void maps_add(alm_sim *sim, char *bytes, size_t n, uint64_t node)
{
    if (sim->n_maps == sim->cap_maps) {
        sim->cap_maps = ALM_MAX((size_t)64, sim->cap_maps * 2);
        sim->maps = need(realloc(sim->maps, sim->cap_maps * sizeof *sim->maps));
    }
    sim->maps[sim->n_maps++] = (sim_mapped){.bytes = bytes, .n = n, .node = node};
}

/* A private copy: a map of the real thing would not see later writes in time either. What rots it shows. */
static int sim_map(const alm_io *io, int handle, size_t n, const void **out)
{
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_MAP);
    if (e != 0)
        return (int)leave(sim, e > 0 ? -e : -EIO);
    const sim_node *node = handle_at(sim, handle)->node;
    const sim_bytes *b = &node->live;
    const size_t cap = (n + 4095) / 4096 * 4096;
    char *copy = need(aligned_alloc(4096, ALM_MAX(cap, (size_t)4096)));
    memset(copy, 0, ALM_MAX(cap, (size_t)4096));
    if (b->len > 0)
        memcpy(copy, b->ptr, ALM_MIN(n, (size_t)b->len));
    maps_add(sim, copy, n, node->number);
    *out = copy;
    return (int)leave(sim, 0);
}

/* Of a file, or of reserved memory, which is not listed. */
static int sim_unmap(const alm_io *io, const void *addr, size_t n)
{
    alm_sim *sim = enter_locked(io);
    (void)n;
    for (size_t i = 0; i < sim->n_maps; i++) {
        if (sim->maps[i].bytes == addr) {
            sim->maps[i] = sim->maps[--sim->n_maps];
            break;
        }
    }
    void *plain;
    memcpy(&plain, &addr, sizeof plain);
    free(plain);
    return (int)leave(sim, 0);
}

/* The map that an address lies in, NULL: none. */
static sim_mapped *mapped_at(alm_sim *sim, const void *addr)
{
    for (size_t i = 0; i < sim->n_maps; i++)
        if ((uintptr_t)addr - (uintptr_t)sim->maps[i].bytes < sim->maps[i].n)
            return &sim->maps[i];
    return NULL;
}

/* Nothing limits the maps of memory, so none is ever let go. */
static int sim_map_file(const alm_io *io, const char *path, alm_io_map **out)
{
    const void *at = NULL;
    alm_io_stat meta = {0};
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return handle;
    int code = io->stat(io, path, &meta);
    if (code >= 0)
        code = meta.size_bytes > 0 ? io->map(io, handle, (size_t)meta.size_bytes, &at) : -ENODATA;
    (void)io->close(io, handle);
    if (code < 0)
        return code;
    alm_io_map *map = need(calloc(1, sizeof *map));
    map->at = at;
    map->bytes = (size_t)meta.size_bytes;
    map->state = ALM_MAP_IN;
    alm_sim *sim = enter_locked(io);
    sim_mapped *mapped = mapped_at(sim, at);
    ALM_ASSERT(mapped != NULL);
    mapped->map = map;
    *out = map;
    return (int)leave(sim, 0);
}

static void sim_unmap_file(const alm_io *io, alm_io_map *map)
{
    (void)io->unmap(io, map->at, map->bytes);
    free(map);
}

static int sim_use_map(const alm_io *io, alm_io_map *map)
{
    (void)io;
    return map->state == ALM_MAP_IN ? 0 : -EIO;
}

static void sim_limit_maps(const alm_io *io, int64_t n)
{
    (void)io, (void)n;
}

static void sim_map_counts(const alm_io *io, alm_io_map_counts *out)
{
    (void)io;
    *out = (alm_io_map_counts){0};
}

/* Memory is memory; what is written to the file of a range is not looked at by anybody. */
static int sim_reserve(const alm_io *io, size_t n, void **out)
{
    (void)io;
    const size_t cap = (n + 4095) / 4096 * 4096;
    *out = need(aligned_alloc(4096, ALM_MAX(cap, (size_t)4096)));
    memset(*out, 0, ALM_MAX(cap, (size_t)4096));
    return 0;
}

static int sim_back(const alm_io *io, void *addr, size_t n, int handle, int64_t offset)
{
    (void)addr, (void)n, (void)handle, (void)offset;
    alm_sim *sim = enter_locked(io);
    const int e = enter(sim, ALM_SIM_MAP);
    return (int)leave(sim, e > 0 ? -e : e < 0 ? -EIO : 0);
}

static int sim_forget(const alm_io *io, void *addr, size_t n)
{
    (void)io;
    memset(addr, 0, n);
    return 0;
}

static int sim_prefetch(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    (void)addr;
    (void)n;
    return 0;
}

static void sim_release(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    (void)addr;
    (void)n;
}

static int sim_lock(const alm_io *io, int handle)
{
    alm_sim *sim = enter_locked(io);
    sim_handle *h = handle_at(sim, handle);
    if (sim->no_locks)
        return (int)leave(sim, -EOPNOTSUPP);
    if (h->node->locked && !h->holds_lock)
        return (int)leave(sim, -EWOULDBLOCK);
    h->node->locked = h->holds_lock = true;
    return (int)leave(sim, 0);
}

/* Directories of this disk are not renamed, so a name goes on to mean the same one. */
static int sim_pin(const alm_io *io, const char *dir, int handle)
{
    (void)io, (void)dir, (void)handle;
    return 0;
}

static void sim_unpin(const alm_io *io, int handle)
{
    (void)io, (void)handle;
}

static void sim_process_self(const alm_io *io, alm_io_process *out)
{
    alm_sim *sim = enter_locked(io);
    *out = (alm_io_process){.pid = sim->process, .started = sim->process, .space = 1};
    (void)snprintf(out->boot, sizeof out->boot, "boot-%lld", (long long)sim->boot);
    (void)leave(sim, 0);
}

static int sim_process_runs(const alm_io *io, const alm_io_process *process)
{
    char boot[sizeof process->boot];
    alm_sim *sim = enter_locked(io);
    (void)snprintf(boot, sizeof boot, "boot-%lld", (long long)sim->boot);
    if (strcmp(boot, process->boot) != 0)
        return (int)leave(sim, 0);
    if (process->space != 1)
        return (int)leave(sim, -1);
    return (int)leave(sim, process->pid > sim->ended && process->started == process->pid);
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t sim_wall_ns(const alm_io *io)
{
    (void)io;
    return clock_ns(CLOCK_REALTIME);
}

static int64_t sim_mono_ns(const alm_io *io)
{
    (void)io;
    return clock_ns(CLOCK_MONOTONIC);
}

static void sim_machine(const alm_io *io, alm_machine *out)
{
    const alm_sim *sim = enter_locked(io);
    alm_machine_get(out);
    if (sim->machine_bytes > 0)
        out->memory_bytes = sim->machine_bytes;
    if (sim->machine_processors > 0)
        out->processors = sim->machine_processors;
    (void)leave(io->self, 0);
}

static void sim_pause(const alm_io *io, int64_t ns)
{
    (void)io, (void)ns;
}

static int sim_random(const alm_io *io, void *buf, size_t n)
{
    alm_sim *sim = enter_locked(io);
    unsigned char *at = buf;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)next_random(sim);
    return (int)leave(sim, 0);
}

static int64_t sim_sync_count(const alm_io *io)
{
    alm_sim *sim = enter_locked(io);
    return leave(sim, sim->syncs);
}

static int64_t sim_map_faults(const alm_io *io)
{
    alm_sim *sim = enter_locked(io);
    return leave(sim, sim->map_faults);
}

static bool sim_map_is_broken(const alm_io *io, const void *addr)
{
    alm_sim *sim = enter_locked(io);
    const sim_mapped *map = mapped_at(sim, addr);
    return leave(sim, map != NULL && map->lost) != 0;
}

/* ------------------------------------------------------------------------------ the controls */

alm_sim *alm_sim_new(uint64_t seed)
{
    alm_sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return NULL;
    sim->random = seed;
    sim->process = 1;
    (void)pthread_mutex_init(&sim->lock, NULL);
    sim->io = (alm_io){
        .self = sim,
        .open = sim_open,
        .open_dir = sim_open_dir,
        .open_dir_below = sim_open_dir_below,
        .open_below = sim_open_below,
        .stat_in = sim_stat_in,
        .list_in = sim_list_in,
        .mkdir_in = sim_mkdir_in,
        .rename_in = sim_rename_in,
        .unlink_in = sim_unlink_in,
        .sync_in = sim_sync_in,
        .close = sim_close,
        .size = sim_bytes_of,
        .read = sim_read,
        .write = sim_write_,
        .sync = sim_sync,
        .sync_dir = sim_sync_dir,
        .sync_all = sim_sync_all,
        .syncs_all = sim_syncs_all,
        .allocate = sim_allocate,
        .truncate = sim_truncate,
        .rename = sim_rename,
        .unlink = sim_unlink,
        .mkdir = sim_mkdir,
        .rmdir = sim_rmdir,
        .stat = sim_stat,
        .space = sim_volume,
        .list = sim_list,
        .map = sim_map,
        .unmap = sim_unmap,
        .map_file = sim_map_file,
        .unmap_file = sim_unmap_file,
        .use_map = sim_use_map,
        .limit_maps = sim_limit_maps,
        .map_counts = sim_map_counts,
        .reserve = sim_reserve,
        .back = sim_back,
        .forget = sim_forget,
        .prefetch = sim_prefetch,
        .release = sim_release,
        .map_faults = sim_map_faults,
        .map_is_broken = sim_map_is_broken,
        .lock = sim_lock,
        .pin = sim_pin,
        .unpin = sim_unpin,
        .process_self = sim_process_self,
        .process_runs = sim_process_runs,
        .wall_ns = sim_wall_ns,
        .mono_ns = sim_mono_ns,
        .machine = sim_machine,
        .pause = sim_pause,
        .random = sim_random,
        .sync_count = sim_sync_count,
    };
    return sim;
}

static void drop_handles(alm_sim *sim)
{
    for (int i = 0; i < HANDLES_MAX; i++) {
        if (sim->handles[i].node != NULL)
            node_release(sim, sim->handles[i].node);
        free(sim->handles[i].dir);
        sim->handles[i] = (sim_handle){0};
    }
}

static void space_free(alm_sim *sim, sim_space *s)
{
    for (size_t i = 0; i < s->n; i++)
        node_release(sim, s->entries[i].node);
    free(s->entries);
    *s = (sim_space){0};
}

void alm_sim_free(alm_sim *sim)
{
    if (sim == NULL)
        return;
    drop_handles(sim);
    pending_clear(sim);
    free(sim->pending);
    space_free(sim, &sim->live);
    space_free(sim, &sim->durable);
    (void)pthread_mutex_destroy(&sim->lock);
    free(sim->maps);
    free(sim);
}

const alm_io *alm_sim_io(alm_sim *sim)
{
    return &sim->io;
}

int64_t alm_sim_calls(alm_sim *sim, alm_sim_op op)
{
    (void)enter_locked(&sim->io);
    return leave(sim, sim->calls[op]);
}

void alm_sim_fail(alm_sim *sim, alm_sim_op op, int64_t nth, int err, int64_t times)
{
    (void)enter_locked(&sim->io);
    sim->fail_op = op;
    sim->fail_nth = nth;
    sim->fail_err = err;
    sim->fail_times = times;
    sim->fail_fired = 0;
    (void)leave(sim, 0);
}

int64_t alm_sim_failed(alm_sim *sim)
{
    (void)enter_locked(&sim->io);
    return leave(sim, sim->fail_fired);
}

void alm_sim_cut_after(alm_sim *sim, int64_t nth)
{
    (void)enter_locked(&sim->io);
    sim->cut_nth = nth;
    (void)leave(sim, 0);
}

bool alm_sim_is_dead(alm_sim *sim)
{
    (void)enter_locked(&sim->io);
    return leave(sim, sim->dead) != 0;
}

static void settle_names(alm_sim *sim)
{
    const uint64_t mode = next_random(sim) % 4; /* none, all, a prefix, any subset */
    const size_t prefix =
        sim->n_pending > 0 ? (size_t)(next_random(sim) % (sim->n_pending + 1)) : 0;
    for (size_t i = 0; i < sim->n_pending; i++) {
        const bool kept =
            mode == 1 || (mode == 2 && i < prefix) || (mode == 3 && next_random(sim) % 2 == 0);
        if (kept)
            pending_apply(sim, &sim->pending[i]);
    }
    pending_clear(sim);
}

/* An entry in a directory that is not there itself cannot be reached. */
static void drop_unreachable(alm_sim *sim)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sim->durable.n; i++) {
            if (parent_exists(sim, &sim->durable, sim->durable.entries[i].path))
                continue;
            char path[PATH_BYTES];
            memcpy(path, sim->durable.entries[i].path, sizeof path);
            space_remove(sim, &sim->durable, path);
            again = true;
        }
    }
}

void alm_sim_restart(alm_sim *sim)
{
    (void)enter_locked(&sim->io);
    drop_handles(sim);
    settle_names(sim);
    drop_unreachable(sim);
    space_free(sim, &sim->live);
    sim->used = 0;
    for (size_t i = 0; i < sim->durable.n; i++) {
        const sim_entry *e = &sim->durable.entries[i];
        log_settle(sim, e->node);
        bytes_resize(&e->node->live, 0);
        bytes_put(&e->node->live, 0, e->node->durable.ptr, e->node->durable.len);
        e->node->locked = false;
        sim->used += e->node->live.len;
        space_put(sim, &sim->live, e->path, e->node);
    }
    sim->dead = false;
    sim->cut_nth = 0;
    sim->boot++;
    (void)leave(sim, 0);
}

void alm_sim_ignore_sync(alm_sim *sim, bool ignore)
{
    (void)enter_locked(&sim->io);
    sim->ignore_sync = ignore;
    (void)leave(sim, 0);
}

void alm_sim_without_sync_all(alm_sim *sim, bool without)
{
    (void)enter_locked(&sim->io);
    sim->no_sync_all = without;
    (void)leave(sim, 0);
}

void alm_sim_sync_delay(alm_sim *sim, int64_t us)
{
    sim->sync_delay_us = us;
}

void alm_sim_capacity(alm_sim *sim, int64_t bytes)
{
    (void)enter_locked(&sim->io);
    sim->capacity = bytes;
    (void)leave(sim, 0);
}

int64_t alm_sim_used(alm_sim *sim)
{
    (void)enter_locked(&sim->io);
    return leave(sim, sim->used);
}

bool alm_sim_lose(alm_sim *sim, const char *path)
{
    (void)enter_locked(&sim->io);
    const sim_entry *e = space_find(&sim->live, path);
    int64_t lost = 0;
    for (size_t i = 0; e != NULL && i < sim->n_maps; i++) {
        sim_mapped *map = &sim->maps[i];
        if (map->node != e->node->number || map->lost)
            continue;
        lost++;
        map->lost = true;
        memset(map->bytes, 0, map->n);
        if (map->map != NULL)
            map->map->state = ALM_MAP_BROKEN;
    }
    sim->map_faults += lost;
    return leave(sim, lost) > 0;
}

bool alm_sim_flip(alm_sim *sim, const char *path, int64_t offset, unsigned bit)
{
    (void)enter_locked(&sim->io);
    sim_entry *e = space_find(&sim->live, path);
    const bool there = e != NULL && offset >= 0 && offset < e->node->live.len;
    if (there) {
        const char mask = (char)(1 << (bit & 7));
        e->node->live.ptr[offset] ^= mask;
        if (offset < e->node->durable.len)
            e->node->durable.ptr[offset] ^= mask;
        for (size_t i = 0; i < sim->n_maps; i++)
            if (sim->maps[i].node == e->node->number && (uint64_t)offset < sim->maps[i].n)
                sim->maps[i].bytes[offset] ^= mask;
    }
    return leave(sim, there) != 0;
}

void alm_sim_without_locks(alm_sim *sim, bool without)
{
    (void)enter_locked(&sim->io);
    sim->no_locks = without;
    (void)leave(sim, 0);
}

void alm_sim_next_process(alm_sim *sim, bool others_end)
{
    (void)enter_locked(&sim->io);
    if (others_end) {
        sim->ended = sim->process;
        for (int i = 0; i < HANDLES_MAX; i++) {
            sim_handle *h = &sim->handles[i];
            if (h->holds_lock)
                h->node->locked = h->holds_lock = false;
        }
    }
    sim->process++;
    (void)leave(sim, 0);
}

void alm_sim_machine(alm_sim *sim, int64_t memory_bytes, uint32_t processors)
{
    (void)enter_locked(&sim->io);
    sim->machine_bytes = memory_bytes;
    sim->machine_processors = processors;
    (void)leave(sim, 0);
}
