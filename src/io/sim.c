/* sim.c - the simulated disk (model in sim.h): locks, processes, clocks, and the controls. */
#include "io/sim_impl.h"

#include <time.h>

static int sim_lock(const alm_io *io, int handle)
{
    alm_sim *sim = sim_enter_locked(io);
    sim_handle *h = sim_handle_at(sim, handle);
    if (sim->no_locks)
        return (int)sim_leave(sim, -EOPNOTSUPP);
    if (h->node->locked && !h->holds_lock)
        return (int)sim_leave(sim, -EWOULDBLOCK);
    h->node->locked = h->holds_lock = true;
    return (int)sim_leave(sim, 0);
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
    alm_sim *sim = sim_enter_locked(io);
    *out = (alm_io_process){.pid = sim->process, .started = sim->process, .space = 1};
    (void)snprintf(out->boot, sizeof out->boot, "boot-%lld", (long long)sim->boot);
    (void)sim_leave(sim, 0);
}

static int sim_process_runs(const alm_io *io, const alm_io_process *process)
{
    char boot[sizeof process->boot];
    alm_sim *sim = sim_enter_locked(io);
    (void)snprintf(boot, sizeof boot, "boot-%lld", (long long)sim->boot);
    if (strcmp(boot, process->boot) != 0)
        return (int)sim_leave(sim, 0);
    if (process->space != 1)
        return (int)sim_leave(sim, -1);
    return (int)sim_leave(sim, process->pid > sim->ended && process->started == process->pid);
}

static int64_t sim_clock_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t sim_wall_ns(const alm_io *io)
{
    (void)io;
    return sim_clock_ns(CLOCK_REALTIME);
}

static int64_t sim_mono_ns(const alm_io *io)
{
    (void)io;
    return sim_clock_ns(CLOCK_MONOTONIC);
}

static void sim_machine(const alm_io *io, alm_machine *out)
{
    const alm_sim *sim = sim_enter_locked(io);
    alm_machine_get(out);
    if (sim->machine_bytes > 0)
        out->memory_bytes = sim->machine_bytes;
    if (sim->machine_processors > 0)
        out->processors = sim->machine_processors;
    (void)sim_leave(io->self, 0);
}

static void sim_pause(const alm_io *io, int64_t nanos)
{
    (void)io, (void)nanos;
}

static int sim_random(const alm_io *io, void *buf, size_t n)
{
    alm_sim *sim = sim_enter_locked(io);
    unsigned char *at = buf;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)sim_draw(sim);
    return (int)sim_leave(sim, 0);
}

static int64_t sim_sync_count(const alm_io *io)
{
    alm_sim *sim = sim_enter_locked(io);
    return sim_leave(sim, sim->syncs);
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
    sim_offer_files(&sim->io);
    sim_offer_names(&sim->io);
    sim_offer_maps(&sim->io);
    return sim;
}

static void drop_handles(alm_sim *sim)
{
    for (int i = 0; i < SIM_HANDLES_MAX; i++) {
        if (sim->handles[i].node != NULL)
            sim_node_release(sim, sim->handles[i].node);
        free(sim->handles[i].dir);
        sim->handles[i] = (sim_handle){0};
    }
}

void alm_sim_free(alm_sim *sim)
{
    if (sim == NULL)
        return;
    drop_handles(sim);
    sim_pending_clear(sim);
    free(sim->pending);
    sim_space_free(sim, &sim->live);
    sim_space_free(sim, &sim->durable);
    (void)pthread_mutex_destroy(&sim->lock);
    for (size_t i = 0; i < sim->n_maps; i++)
        free(sim->maps[i].bad.at);
    free(sim->maps);
    sim_damages_free(sim);
    free(sim);
}

const alm_io *alm_sim_io(alm_sim *sim)
{
    return &sim->io;
}

int64_t alm_sim_calls(alm_sim *sim, alm_sim_op op)
{
    (void)sim_enter_locked(&sim->io);
    return sim_leave(sim, sim->calls[op]);
}

void alm_sim_fail(alm_sim *sim, alm_sim_op op, int64_t nth, int err, int64_t times)
{
    (void)sim_enter_locked(&sim->io);
    sim->fail_op = op;
    sim->fail_nth = nth;
    sim->fail_err = err;
    sim->fail_times = times;
    sim->fail_fired = 0;
    (void)sim_leave(sim, 0);
}

int64_t alm_sim_failed(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    return sim_leave(sim, sim->fail_fired);
}

void alm_sim_cut_after(alm_sim *sim, int64_t nth)
{
    (void)sim_enter_locked(&sim->io);
    sim->cut_nth = nth;
    (void)sim_leave(sim, 0);
}

bool alm_sim_is_dead(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    return sim_leave(sim, sim->dead) != 0;
}

static void settle_names(alm_sim *sim)
{
    const uint64_t mode = sim_draw(sim) % 4; /* none, all, a prefix, any subset */
    const size_t prefix = sim->n_pending > 0 ? (size_t)(sim_draw(sim) % (sim->n_pending + 1)) : 0;
    for (size_t i = 0; i < sim->n_pending; i++) {
        const bool kept =
            mode == 1 || (mode == 2 && i < prefix) || (mode == 3 && sim_draw(sim) % 2 == 0);
        if (kept)
            sim_pending_apply(sim, &sim->pending[i]);
    }
    sim_pending_clear(sim);
}

/* An entry in a directory that is not there itself cannot be reached. */
static void drop_unreachable(alm_sim *sim)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sim->durable.n; i++) {
            if (sim_parent_exists(sim, &sim->durable, sim->durable.entries[i].path))
                continue;
            char path[SIM_PATH_BYTES];
            memcpy(path, sim->durable.entries[i].path, sizeof path);
            sim_space_remove(sim, &sim->durable, path);
            again = true;
        }
    }
}

void alm_sim_restart(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    drop_handles(sim);
    settle_names(sim);
    drop_unreachable(sim);
    sim_space_free(sim, &sim->live);
    sim->used = 0;
    for (size_t i = 0; i < sim->durable.n; i++) {
        const sim_entry *entry = &sim->durable.entries[i];
        sim_log_settle(sim, entry->node);
        sim_bytes_resize(&entry->node->live, 0);
        sim_bytes_put(&entry->node->live, 0, entry->node->durable.ptr, entry->node->durable.len);
        entry->node->locked = false;
        sim->used += entry->node->live.len;
        sim_space_put(sim, &sim->live, entry->path, entry->node);
    }
    sim->dead = false;
    sim->cut_nth = 0;
    sim->boot++;
    (void)sim_leave(sim, 0);
}

void alm_sim_ignore_sync(alm_sim *sim, bool ignore)
{
    (void)sim_enter_locked(&sim->io);
    sim->ignore_sync = ignore;
    (void)sim_leave(sim, 0);
}

void alm_sim_without_sync_all(alm_sim *sim, bool without)
{
    (void)sim_enter_locked(&sim->io);
    sim->no_sync_all = without;
    (void)sim_leave(sim, 0);
}

void alm_sim_sync_delay(alm_sim *sim, int64_t micros)
{
    sim->sync_delay_us = micros;
}

void alm_sim_capacity(alm_sim *sim, int64_t bytes)
{
    (void)sim_enter_locked(&sim->io);
    sim->capacity = bytes;
    (void)sim_leave(sim, 0);
}

int64_t alm_sim_used(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    return sim_leave(sim, sim->used);
}

bool alm_sim_lose(alm_sim *sim, const char *path)
{
    (void)sim_enter_locked(&sim->io);
    const sim_entry *entry = sim_space_find(&sim->live, path);
    const int64_t lost =
        entry == NULL ? 0 : sim_lose_maps(sim, entry->node, 0, entry->node->live.len);
    return sim_leave(sim, lost) > 0;
}

bool alm_sim_flip(alm_sim *sim, const char *path, int64_t offset, unsigned bit)
{
    (void)sim_enter_locked(&sim->io);
    sim_entry *entry = sim_space_find(&sim->live, path);
    const bool there = entry != NULL && offset >= 0 && offset < entry->node->live.len;
    if (there) {
        const char mask = (char)(1 << (bit & 7));
        entry->node->live.ptr[offset] ^= mask;
        if (offset < entry->node->durable.len)
            entry->node->durable.ptr[offset] ^= mask;
        for (size_t i = 0; i < sim->n_maps; i++)
            if (sim->maps[i].node == entry->node->number && (uint64_t)offset < sim->maps[i].n)
                sim->maps[i].bytes[offset] ^= mask;
    }
    return sim_leave(sim, there) != 0;
}

void alm_sim_without_locks(alm_sim *sim, bool without)
{
    (void)sim_enter_locked(&sim->io);
    sim->no_locks = without;
    (void)sim_leave(sim, 0);
}

void alm_sim_next_process(alm_sim *sim, bool others_end)
{
    (void)sim_enter_locked(&sim->io);
    if (others_end) {
        sim->ended = sim->process;
        for (int i = 0; i < SIM_HANDLES_MAX; i++) {
            sim_handle *handle = &sim->handles[i];
            if (handle->holds_lock)
                handle->node->locked = handle->holds_lock = false;
        }
    }
    sim->process++;
    (void)sim_leave(sim, 0);
}

void alm_sim_machine(alm_sim *sim, int64_t memory_bytes, uint32_t processors)
{
    (void)sim_enter_locked(&sim->io);
    sim->machine_bytes = memory_bytes;
    sim->machine_processors = processors;
    (void)sim_leave(sim, 0);
}
