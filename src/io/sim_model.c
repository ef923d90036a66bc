/*
 * sim_model.c - the model of the simulated disk: bytes, writes since the last sync, names and their pending changes, the
 * count of calls and which of them fail.
 */
#include "io/sim_impl.h"

uint64_t sim_draw(alm_sim *sim) /* splitmix64 */
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void sim_bytes_resize(sim_bytes *bytes, int64_t len)
{
    if (len > bytes->cap) {
        const int64_t cap = ALM_MAX(len, bytes->cap * 2);
        bytes->ptr = sim_need(realloc(bytes->ptr, (size_t)cap));
        bytes->cap = cap;
    }
    if (len > bytes->len)
        memset(bytes->ptr + bytes->len, 0, (size_t)(len - bytes->len));
    bytes->len = len;
}

void sim_bytes_put(sim_bytes *bytes, int64_t offset, const char *data, int64_t n)
{
    if (offset + n > bytes->len)
        sim_bytes_resize(bytes, offset + n);
    if (n > 0)
        memcpy(bytes->ptr + offset, data, (size_t)n);
}

static void sim_log_clear(sim_node *node)
{
    for (size_t i = 0; i < node->n_log; i++)
        free(node->log[i].data);
    node->n_log = 0;
}

void sim_log_add(sim_node *node, int64_t offset, const char *data, int64_t n)
{
    if (node->n_log == node->cap_log) {
        node->cap_log = ALM_MAX((size_t)8, node->cap_log * 2);
        node->log = sim_need(realloc(node->log, node->cap_log * sizeof *node->log));
    }
    sim_write *write = &node->log[node->n_log++];
    *write = (sim_write){.offset = offset, .n = n};
    if (n > 0) {
        write->data = sim_need(malloc((size_t)n));
        memcpy(write->data, data, (size_t)n);
    }
}

sim_node *sim_node_new(alm_sim *sim, bool is_dir)
{
    sim_node *node = sim_need(calloc(1, sizeof *node));
    node->number = ++sim->next_node;
    node->refs = 1;
    node->is_dir = is_dir;
    return node;
}

void sim_node_release(alm_sim *sim, sim_node *node)
{
    if (node == NULL || --node->refs > 0)
        return;
    sim->used -= node->live.len;
    sim_log_clear(node);
    free(node->log);
    free(node->bad.at);
    free(node->live.ptr);
    free(node->durable.ptr);
    free(node);
}

sim_entry *sim_space_find(sim_space *space, const char *path)
{
    for (size_t i = 0; i < space->n; i++)
        if (strcmp(space->entries[i].path, path) == 0)
            return &space->entries[i];
    return NULL;
}

void sim_space_remove(alm_sim *sim, sim_space *space, const char *path)
{
    sim_entry *entry = sim_space_find(space, path);
    if (entry == NULL)
        return;
    sim_node_release(sim, entry->node);
    *entry = space->entries[--space->n];
}

void sim_space_put(alm_sim *sim, sim_space *space, const char *path, sim_node *node)
{
    node->refs++;
    sim_space_remove(sim, space, path);
    if (space->n == space->cap) {
        space->cap = ALM_MAX((size_t)16, space->cap * 2);
        space->entries = sim_need(realloc(space->entries, space->cap * sizeof *space->entries));
    }
    sim_entry *entry = &space->entries[space->n++];
    (void)snprintf(entry->path, sizeof entry->path, "%s", path);
    entry->node = node;
}

static void sim_parent_of(const char *path, char *dir)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    memcpy(dir, path, n);
    dir[n] = 0;
}

bool sim_in_dir(const char *path, const char *dir)
{
    char parent[SIM_PATH_BYTES];
    sim_parent_of(path, parent);
    return path[0] != 0 && strcmp(parent, dir) == 0;
}

bool sim_parent_exists(alm_sim *sim, sim_space *space, const char *path)
{
    char dir[SIM_PATH_BYTES];
    sim_parent_of(path, dir);
    (void)sim;
    const sim_entry *entry = dir[0] == 0 ? NULL : sim_space_find(space, dir);
    return dir[0] == 0 || (entry != NULL && entry->node->is_dir);
}

void sim_pending_add(alm_sim *sim, const char *from, const char *dest, sim_node *node)
{
    if (sim->n_pending == sim->cap_pending) {
        sim->cap_pending = ALM_MAX((size_t)16, sim->cap_pending * 2);
        sim->pending = sim_need(realloc(sim->pending, sim->cap_pending * sizeof *sim->pending));
    }
    sim_pending *pending = &sim->pending[sim->n_pending++];
    (void)snprintf(pending->from, sizeof pending->from, "%s", from);
    (void)snprintf(pending->to, sizeof pending->to, "%s", dest);
    pending->node = node;
    if (node != NULL)
        node->refs++;
}

void sim_pending_apply(alm_sim *sim, sim_pending *pending)
{
    if (pending->from[0] != 0)
        sim_space_remove(sim, &sim->durable, pending->from);
    if (pending->to[0] != 0)
        sim_space_put(sim, &sim->durable, pending->to, pending->node);
}

void sim_pending_clear(alm_sim *sim)
{
    for (size_t i = 0; i < sim->n_pending; i++)
        sim_node_release(sim, sim->pending[i].node);
    sim->n_pending = 0;
}

int sim_enter(alm_sim *sim, alm_sim_op op)
{
    const bool changes = op == ALM_SIM_WRITE || op == ALM_SIM_SYNC || op == ALM_SIM_SYNC_DIR ||
                         op == ALM_SIM_SYNC_ALL || (op >= ALM_SIM_ALLOCATE && op <= ALM_SIM_RMDIR);
    sim->calls[op]++;
    sim->calls[ALM_SIM_ANY]++;
    if (changes)
        sim->calls[ALM_SIM_CHANGE]++;
    if (sim->dead)
        return EIO;
    if (changes)
        sim_rot(sim);
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

bool sim_cut_now(alm_sim *sim)
{
    if (sim->cut_nth == 0 || --sim->cut_nth > 0)
        return false;
    sim->dead = true;
    return true;
}

void sim_log_settle(alm_sim *sim, sim_node *node)
{
    const uint64_t mode = sim_draw(sim) % 4; /* none, all, else each by itself */
    for (size_t i = 0; i < node->n_log; i++) {
        const sim_write *write = &node->log[i];
        if (write->n < 0) {
            if (mode == 1 || (mode > 1 && sim_draw(sim) % 2))
                sim_bytes_resize(&node->durable, write->offset);
            continue;
        }
        for (int64_t offset = write->offset; offset < write->offset + write->n;) {
            const int64_t next =
                ALM_MIN((offset / SIM_SECTOR + 1) * SIM_SECTOR, write->offset + write->n);
            if (mode == 1 || (mode > 1 && sim_draw(sim) % 2))
                sim_bytes_put(&node->durable, offset, write->data + (offset - write->offset),
                              next - offset);
            offset = next;
        }
    }
    sim_log_clear(node);
}

void sim_make_durable(sim_node *node)
{
    for (size_t i = 0; i < node->n_log; i++) {
        const sim_write *write = &node->log[i];
        if (write->n < 0)
            sim_bytes_resize(&node->durable, write->offset);
        else
            sim_bytes_put(&node->durable, write->offset, write->data, write->n);
    }
    sim_log_clear(node);
}

sim_handle *sim_handle_at(alm_sim *sim, int handle)
{
    ALM_ASSERT(handle >= 0 && handle < SIM_HANDLES_MAX);
    ALM_ASSERT(sim->handles[handle].node != NULL);
    return &sim->handles[handle];
}

int64_t sim_room(alm_sim *sim, int64_t more)
{
    return sim->capacity > 0 && sim->used + more > sim->capacity ? -ENOSPC : 0;
}

int sim_free_handle(alm_sim *sim)
{
    for (int handle = 0; handle < SIM_HANDLES_MAX; handle++)
        if (sim->handles[handle].node == NULL)
            return handle;
    return -EMFILE;
}

alm_sim *sim_enter_locked(const alm_io *io)
{
    alm_sim *sim = io->self;
    (void)pthread_mutex_lock(&sim->lock);
    return sim;
}

int64_t sim_leave(alm_sim *sim, int64_t result)
{
    (void)pthread_mutex_unlock(&sim->lock);
    return result;
}

void sim_space_free(alm_sim *sim, sim_space *space)
{
    for (size_t i = 0; i < space->n; i++)
        sim_node_release(sim, space->entries[i].node);
    free(space->entries);
    *space = (sim_space){0};
}
