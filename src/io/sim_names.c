/* sim_names.c - the simulated disk: names and directories, also below a folder. */
#include "io/sim_impl.h"

static int sim_rename(const alm_io *io, const char *from, const char *dest)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_RENAME);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_entry *entry = sim_space_find(&sim->live, from);
    if (entry == NULL || !sim_parent_exists(sim, &sim->live, dest))
        return (int)sim_leave(sim, -ENOENT);
    const sim_entry *there = sim_space_find(&sim->live, dest);
    if (there != NULL && there->node->is_dir && !entry->node->is_dir)
        return (int)sim_leave(sim, -EISDIR);
    const bool cut = sim_cut_now(sim);
    sim_node *node = entry->node;
    node->refs++;
    sim_pending_add(sim, from, dest, node);
    sim_space_remove(sim, &sim->live, from);
    sim_space_put(sim, &sim->live, dest, node);
    sim_node_release(sim, node);
    return (int)sim_leave(sim, cut ? -EIO : 0);
}

static int remove_entry(const alm_io *io, const char *path, alm_sim_op op)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, op);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_entry *entry = sim_space_find(&sim->live, path);
    if (entry == NULL)
        return (int)sim_leave(sim, -ENOENT);
    if (entry->node->is_dir != (op == ALM_SIM_RMDIR))
        return (int)sim_leave(sim, op == ALM_SIM_RMDIR ? -ENOTDIR : -EISDIR);
    for (size_t i = 0; i < sim->live.n && op == ALM_SIM_RMDIR; i++)
        if (sim_in_dir(sim->live.entries[i].path, path))
            return (int)sim_leave(sim, -ENOTEMPTY);
    const bool cut = sim_cut_now(sim);
    sim_pending_add(sim, path, "", NULL);
    sim_space_remove(sim, &sim->live, path);
    return (int)sim_leave(sim, cut ? -EIO : 0);
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
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_MKDIR);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_entry *entry = sim_space_find(&sim->live, path);
    if (entry != NULL)
        return (int)sim_leave(sim, entry->node->is_dir ? 0 : -ENOTDIR);
    if (!sim_parent_exists(sim, &sim->live, path))
        return (int)sim_leave(sim, -ENOENT);
    const bool cut = sim_cut_now(sim);
    sim_node *node = sim_node_new(sim, true);
    sim_space_put(sim, &sim->live, path, node);
    sim_pending_add(sim, "", path, node);
    sim_node_release(sim, node);
    return (int)sim_leave(sim, cut ? -EIO : 0);
}

static int sim_stat(const alm_io *io, const char *path, alm_io_stat *out)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_STAT);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_entry *entry = sim_space_find(&sim->live, path);
    if (entry == NULL)
        return (int)sim_leave(sim, -ENOENT);
    *out = (alm_io_stat){.size_bytes = entry->node->live.len,
                         .is_dir = entry->node->is_dir,
                         .is_file = !entry->node->is_dir,
                         .identity = (uint64_t)(uintptr_t)entry->node,
                         .device = (uint64_t)(uintptr_t)sim};
    return (int)sim_leave(sim, 0);
}

static int sim_names_by_text(const void *a, const void *b)
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
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_LIST);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_entry *dir = sim_space_find(&sim->live, path);
    if (dir == NULL || !dir->node->is_dir)
        return (int)sim_leave(sim, -ENOENT);
    char **names = sim_need(malloc((sim->live.n + 1) * sizeof *names));
    size_t count = 0;
    for (size_t i = 0; i < sim->live.n; i++)
        if (sim_in_dir(sim->live.entries[i].path, path))
            names[count++] = sim_need(strdup(sim->live.entries[i].path + strlen(path) + 1));
    (void)sim_leave(sim, 0); /* `each` may call back into the disk */
    qsort((void *)names, count, sizeof *names, sim_names_by_text);
    int stop = 0;
    for (size_t i = 0; i < count; i++) {
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
    const int code = sim_enter(sim, ALM_SIM_OPEN);
    if (code != 0)
        return code > 0 ? -code : -EIO;
    sim_entry *entry = sim_space_find(&sim->live, path);
    if (entry == NULL)
        return -ENOENT;
    if (!entry->node->is_dir)
        return -ENOTDIR;
    const int handle = sim_free_handle(sim);
    if (handle < 0)
        return handle;
    sim->handles[handle] = (sim_handle){.node = entry->node, .dir = sim_need(strdup(path))};
    entry->node->refs++;
    return handle;
}

static int sim_open_dir(const alm_io *io, const char *path)
{
    alm_sim *sim = sim_enter_locked(io);
    return (int)sim_leave(sim, open_dir_locked(sim, path));
}

/* The path of a name below the directory of a handle; 0, or an errno. */
static int path_in(const alm_io *io, int dir, const char *name, char path[SIM_PATH_BYTES])
{
    alm_sim *sim = sim_enter_locked(io);
    const char *folder = sim_handle_at(sim, dir)->dir;
    ALM_ASSERT(folder != NULL);
    const int n = name[0] == 0 || strcmp(name, ".") == 0
                      ? snprintf(path, SIM_PATH_BYTES, "%s", folder)
                      : snprintf(path, SIM_PATH_BYTES, "%s/%s", folder, name);
    return (int)sim_leave(sim, n < SIM_PATH_BYTES ? 0 : -ENAMETOOLONG);
}

static bool sim_names_leads_out(const char *path)
{
    for (const char *ptr = path; *ptr != 0;) {
        const size_t len = strcspn(ptr, "/");
        if (len == 0 || (len == 2 && memcmp(ptr, "..", 2) == 0))
            return true;
        ptr += len + (ptr[len] == '/');
    }
    return false;
}

static int sim_open_dir_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    char full[SIM_PATH_BYTES];
    (void)flags;
    if (sim_names_leads_out(path))
        return -EXDEV;
    const int code = path_in(io, dir, path, full);
    return code < 0 ? code : sim_open_dir(io, full);
}

static int sim_open_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    char full[SIM_PATH_BYTES];
    if (path[0] == 0)
        return -ENOENT;
    if (sim_names_leads_out(path))
        return -EXDEV;
    const int code = path_in(io, dir, path, full);
    const int handle = code < 0 ? code : io->open(io, full, flags);
    return handle == -EISDIR ? -EINVAL : handle;
}

static int sim_stat_in(const alm_io *io, int dir, const char *name, alm_io_stat *out)
{
    char full[SIM_PATH_BYTES];
    const int code = path_in(io, dir, name, full);
    return code < 0 ? code : io->stat(io, full, out);
}

static int sim_list_in(const alm_io *io, int dir, int (*each)(void *arg, const char *name),
                       void *arg)
{
    char full[SIM_PATH_BYTES];
    const int code = path_in(io, dir, "", full);
    return code < 0 ? code : io->list(io, full, each, arg);
}

static int sim_mkdir_in(const alm_io *io, int dir, const char *name)
{
    char full[SIM_PATH_BYTES];
    alm_io_stat meta;
    const int code = path_in(io, dir, name, full);
    if (code < 0)
        return code;
    return io->stat(io, full, &meta) == 0 ? -EEXIST : io->mkdir(io, full);
}

static int sim_rename_in(const alm_io *io, int from_dir, const char *from, int to_dir,
                         const char *dest)
{
    char full_from[SIM_PATH_BYTES], full_to[SIM_PATH_BYTES];
    int code = path_in(io, from_dir, from, full_from);
    if (code == 0)
        code = path_in(io, to_dir, dest, full_to);
    return code < 0 ? code : io->rename(io, full_from, full_to);
}

static int sim_unlink_in(const alm_io *io, int dir, const char *name)
{
    char full[SIM_PATH_BYTES];
    const int code = path_in(io, dir, name, full);
    return code < 0 ? code : io->unlink(io, full);
}

static int sim_sync_in(const alm_io *io, int dir)
{
    char full[SIM_PATH_BYTES];
    const int code = path_in(io, dir, "", full);
    return code < 0 ? code : io->sync_dir(io, full);
}

void sim_offer_names(alm_io *io)
{
    io->open_dir = sim_open_dir;
    io->open_dir_below = sim_open_dir_below;
    io->open_below = sim_open_below;
    io->stat_in = sim_stat_in;
    io->list_in = sim_list_in;
    io->mkdir_in = sim_mkdir_in;
    io->rename_in = sim_rename_in;
    io->unlink_in = sim_unlink_in;
    io->sync_in = sim_sync_in;
    io->rename = sim_rename;
    io->unlink = sim_unlink;
    io->mkdir = sim_mkdir;
    io->rmdir = sim_rmdir;
    io->stat = sim_stat;
    io->space = sim_volume;
    io->list = sim_list;
}
