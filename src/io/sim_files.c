/* sim_files.c - the simulated disk: handles, reads, writes, sizes and syncs. */
#include "io/sim_impl.h"

#include <time.h>

static int64_t open_locked(alm_sim *sim, const char *path, uint32_t flags)
{
    const int code = sim_enter(sim, ALM_SIM_OPEN);
    if (code != 0)
        return -EIO * (code == -1) - (code == -1 ? 0 : code);
    sim_entry *entry = sim_space_find(&sim->live, path);
    if (entry == NULL) {
        if (!(flags & ALM_IO_CREATE) || !sim_parent_exists(sim, &sim->live, path))
            return -ENOENT;
        sim->calls[ALM_SIM_CHANGE]++;
        if (sim_cut_now(sim))
            return -EIO;
        sim_node *node = sim_node_new(sim, false);
        sim_space_put(sim, &sim->live, path, node);
        sim_pending_add(sim, "", path, node);
        sim_node_release(sim, node);
        entry = sim_space_find(&sim->live, path);
    } else if (flags & ALM_IO_EXCLUSIVE) {
        return -EEXIST;
    }
    sim_node *node = ((sim_entry *)sim_need(entry))->node;
    if (node->is_dir)
        return -EISDIR;
    const int handle = sim_free_handle(sim);
    if (handle < 0)
        return handle;
    if ((flags & ALM_IO_TRUNCATE) && node->live.len > 0) {
        sim->used -= node->live.len;
        sim_written(sim, node, 0, node->live.len);
        sim_bytes_resize(&node->live, 0);
        sim_log_add(node, 0, NULL, -1);
    }
    sim->handles[handle] = (sim_handle){.node = node, .writable = (flags & ALM_IO_WRITE) != 0};
    node->refs++;
    return handle;
}

static int sim_open(const alm_io *io, const char *path, uint32_t flags)
{
    alm_sim *sim = sim_enter_locked(io);
    return (int)sim_leave(sim, open_locked(sim, path, flags));
}

static int sim_close(const alm_io *io, int handle)
{
    alm_sim *sim = sim_enter_locked(io);
    if (sim->handles[handle].node != NULL) { /* a restart may have taken it away */
        sim_handle *h = sim_handle_at(sim, handle);
        if (h->holds_lock)
            h->node->locked = false;
        sim_node_release(sim, h->node);
        free(h->dir);
        *h = (sim_handle){0};
    }
    return (int)sim_leave(sim, 0);
}

static int64_t sim_bytes_of(const alm_io *io, int handle)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_STAT);
    if (code != 0)
        return sim_leave(sim, code > 0 ? -code : -EIO);
    return sim_leave(sim, sim_handle_at(sim, handle)->node->live.len);
}

static int64_t sim_read(const alm_io *io, int handle, void *buf, size_t n, int64_t offset)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_READ);
    if (code != 0)
        return sim_leave(sim, -code);
    const sim_bytes *bytes = &sim_handle_at(sim, handle)->node->live;
    const int64_t left = offset >= bytes->len ? 0 : bytes->len - offset;
    const int64_t got = ALM_MIN(left, (int64_t)n);
    if (got > 0 && !sim_is_readable(&sim_handle_at(sim, handle)->node->bad, offset, got))
        return sim_leave(sim, -EIO);
    if (got > 0)
        memcpy(buf, bytes->ptr + offset, (size_t)got);
    return sim_leave(sim, got);
}

static int64_t sim_files_write_locked(alm_sim *sim, int handle, const void *buf, size_t n,
                                      int64_t offset)
{
    const int code = sim_enter(sim, ALM_SIM_WRITE);
    if (code > 0)
        return -code;
    if (code == -1 && n > 1)
        n /= 2;
    const sim_handle *h = sim_handle_at(sim, handle);
    if (!h->writable)
        return -EBADF;
    sim_node *node = h->node;
    const int64_t more = ALM_MAX(INT64_C(0), offset + (int64_t)n - node->live.len);
    if (sim_room(sim, more) != 0)
        return -ENOSPC;
    const bool cut = sim_cut_now(sim);
    sim->used += more;
    sim_written(sim, node, offset, (int64_t)n);
    char *other = cut ? NULL : sim_misdirect(sim, node, buf, (int64_t)n, offset);
    const char *bytes = other != NULL ? other : buf;
    sim_bytes_put(&node->live, offset, bytes, (int64_t)n);
    sim_log_add(node, offset, bytes, (int64_t)n);
    free(other);
    return cut ? -EIO : (int64_t)n;
}

static int64_t sim_write_(const alm_io *io, int handle, const void *buf, size_t n, int64_t offset)
{
    alm_sim *sim = sim_enter_locked(io);
    return sim_leave(sim, sim_files_write_locked(sim, handle, buf, n, offset));
}

/* A sync that has entered with `error`, 0 or what a fault said: does it make anything durable? *code: what the call returns. */
static bool sync_counts(alm_sim *sim, int error, int *code)
{
    *code = error > 0 ? -error : error < 0 || sim_cut_now(sim) ? -EIO : 0;
    if (*code != 0)
        return false;
    sim->syncs++;
    return !sim->ignore_sync;
}

static int sim_sync(const alm_io *io, int handle)
{
    const alm_sim *slow = io->self;
    const int64_t micros = slow->sync_delay_us;
    if (micros > 0) {
        const struct timespec nap = {.tv_sec = micros / 1000000,
                                     .tv_nsec = micros % 1000000 * 1000};
        (void)nanosleep(&nap, NULL); /* not under the lock: other calls go on */
    }
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_SYNC);
    if (sim->dead)
        return (int)sim_leave(sim, -EIO);
    sim_node *node = sim_handle_at(sim, handle)->node;
    if (code != 0) {
        sim_log_settle(sim, node); /* the kernel drops what it could not write and calls it clean */
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    }
    if (sim_cut_now(sim))
        return (int)sim_leave(sim, -EIO);
    if (node->lost) {
        node->lost = false;
        return (int)sim_leave(sim, -EIO);
    }
    sim->syncs++;
    if (!sim->ignore_sync)
        sim_make_durable(node);
    return (int)sim_leave(sim, 0);
}

static int sim_size(const alm_io *io, int handle, int64_t size, alm_sim_op op)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, op);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    sim_node *node = sim_handle_at(sim, handle)->node;
    if (op == ALM_SIM_ALLOCATE && size <= node->live.len)
        return (int)sim_leave(sim, 0);
    if (sim_room(sim, size - node->live.len) != 0)
        return (int)sim_leave(sim, -ENOSPC);
    const bool cut = sim_cut_now(sim);
    sim->used += size - node->live.len;
    sim_written(sim, node, size, INT64_MAX - size);
    sim_bytes_resize(&node->live, size);
    sim_log_add(node, size, NULL, -1);
    return (int)sim_leave(sim, cut ? -EIO : 0);
}

static int sim_allocate(const alm_io *io, int handle, int64_t offset, int64_t n)
{
    return sim_size(io, handle, offset + n, ALM_SIM_ALLOCATE);
}

static int sim_truncate(const alm_io *io, int handle, int64_t size)
{
    return sim_size(io, handle, size, ALM_SIM_TRUNCATE);
}

static int sim_sync_dir(const alm_io *io, const char *path)
{
    alm_sim *sim = sim_enter_locked(io);
    int code = 0;
    if (!sync_counts(sim, sim_enter(sim, ALM_SIM_SYNC_DIR), &code))
        return (int)sim_leave(sim, code);
    if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
        path = ""; /* what parent_of says */
    size_t kept = 0;
    for (size_t i = 0; i < sim->n_pending; i++) {
        sim_pending *pending = &sim->pending[i];
        if (sim_in_dir(pending->from, path) || sim_in_dir(pending->to, path)) {
            sim_pending_apply(sim, pending);
            sim_node_release(sim, pending->node);
        } else {
            sim->pending[kept++] = *pending;
        }
    }
    sim->n_pending = kept;
    return (int)sim_leave(sim, 0);
}

/* The kernel wrote what it could, and calls the rest clean. */
static void lose_some(alm_sim *sim)
{
    for (size_t i = 0; i < sim->live.n; i++) {
        sim_node *node = sim->live.entries[i].node;
        if (node->n_log == 0)
            continue;
        if (sim_draw(sim) % 2) {
            sim_make_durable(node);
        } else {
            sim_log_settle(sim, node);
            node->lost = true;
        }
    }
}

static int sim_sync_all(const alm_io *io, int dir)
{
    alm_sim *sim = sim_enter_locked(io);
    const int error = sim_enter(sim, ALM_SIM_SYNC_ALL);
    ALM_ASSERT(sim->dead || sim_handle_at(sim, dir)->node->is_dir);
    int code = 0;
    if (error != 0 && !sim->dead)
        lose_some(sim);
    if (!sync_counts(sim, error, &code))
        return (int)sim_leave(sim, code);
    for (size_t i = 0; i < sim->live.n; i++)
        sim_make_durable(sim->live.entries[i].node);
    for (size_t i = 0; i < sim->n_pending; i++)
        sim_pending_apply(sim, &sim->pending[i]);
    sim_pending_clear(sim);
    return (int)sim_leave(sim, 0);
}

static bool sim_syncs_all(const alm_io *io, int dir)
{
    alm_sim *sim = sim_enter_locked(io);
    (void)dir;
    return sim_leave(sim, !sim->no_sync_all) != 0;
}

void sim_offer_files(alm_io *io)
{
    io->open = sim_open;
    io->close = sim_close;
    io->size = sim_bytes_of;
    io->read = sim_read;
    io->write = sim_write_;
    io->sync = sim_sync;
    io->sync_dir = sim_sync_dir;
    io->sync_all = sim_sync_all;
    io->syncs_all = sim_syncs_all;
    io->allocate = sim_allocate;
    io->truncate = sim_truncate;
}
