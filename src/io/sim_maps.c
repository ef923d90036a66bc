/* sim_maps.c - the simulated disk: maps of files, and reserved memory. */
#include "io/sim_impl.h"

static void sim_maps_add(alm_sim *sim, char *bytes, size_t n, const sim_node *node)
{
    if (sim->n_maps == sim->cap_maps) {
        sim->cap_maps = ALM_MAX((size_t)64, sim->cap_maps * 2);
        sim->maps = sim_need(realloc(sim->maps, sim->cap_maps * sizeof *sim->maps));
    }
    sim_mapped *map = &sim->maps[sim->n_maps++];
    *map = (sim_mapped){.bytes = bytes, .n = n, .node = node->number};
    sim_sectors_copy(&map->bad, &node->bad);
}

/* A private copy: a map of the real thing would not see later writes in time either. What rots it shows. */
static int sim_map(const alm_io *io, int handle, size_t n, const void **out)
{
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_MAP);
    if (code != 0)
        return (int)sim_leave(sim, code > 0 ? -code : -EIO);
    const sim_node *node = sim_handle_at(sim, handle)->node;
    const sim_bytes *bytes = &node->live;
    const size_t cap = (n + 4095) / 4096 * 4096;
    char *copy = sim_need(aligned_alloc(4096, ALM_MAX(cap, (size_t)4096)));
    memset(copy, 0, ALM_MAX(cap, (size_t)4096));
    if (bytes->len > 0)
        memcpy(copy, bytes->ptr, ALM_MIN(n, (size_t)bytes->len));
    for (size_t i = 0; i < node->bad.n; i++)
        if (node->bad.at[i] < (int64_t)n)
            memset(copy + node->bad.at[i], 0,
                   ALM_MIN((size_t)SIM_SECTOR, n - (size_t)node->bad.at[i]));
    sim_maps_add(sim, copy, n, node);
    *out = copy;
    return (int)sim_leave(sim, 0);
}

/* Of a file, or of reserved memory, which is not listed. */
static int sim_unmap(const alm_io *io, const void *addr, size_t n)
{
    alm_sim *sim = sim_enter_locked(io);
    (void)n;
    for (size_t i = 0; i < sim->n_maps; i++) {
        if (sim->maps[i].bytes == addr) {
            /* Who did not ask before has read it all: the log. */
            sim->map_faults +=
                sim->maps[i].bad.n > 0 && sim->maps[i].map == NULL && !sim->maps[i].told;
            free(sim->maps[i].bad.at);
            sim->maps[i] = sim->maps[--sim->n_maps];
            break;
        }
    }
    void *plain;
    memcpy(&plain, &addr, sizeof plain);
    free(plain);
    return (int)sim_leave(sim, 0);
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
    const void *ptr = NULL;
    alm_io_stat meta = {0};
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return handle;
    int code = io->stat(io, path, &meta);
    if (code >= 0)
        code = meta.size_bytes > 0 ? io->map(io, handle, (size_t)meta.size_bytes, &ptr) : -ENODATA;
    (void)io->close(io, handle);
    if (code < 0)
        return code;
    alm_io_map *map = sim_need(calloc(1, sizeof *map));
    map->at = ptr;
    map->bytes = (size_t)meta.size_bytes;
    map->state = ALM_MAP_IN;
    alm_sim *sim = sim_enter_locked(io);
    sim_mapped *mapped = mapped_at(sim, ptr);
    ALM_ASSERT(mapped != NULL);
    mapped->map = map;
    *out = map;
    return (int)sim_leave(sim, 0);
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
    *out = sim_need(aligned_alloc(4096, ALM_MAX(cap, (size_t)4096)));
    memset(*out, 0, ALM_MAX(cap, (size_t)4096));
    return 0;
}

static int sim_back(const alm_io *io, void *addr, size_t n, int handle, int64_t offset)
{
    (void)addr, (void)n, (void)handle, (void)offset;
    alm_sim *sim = sim_enter_locked(io);
    const int code = sim_enter(sim, ALM_SIM_MAP);
    return (int)sim_leave(sim, code > 0 ? -code : code < 0 ? -EIO : 0);
}

static int sim_forget(const alm_io *io, void *addr, size_t n)
{
    (void)io;
    memset(addr, 0, n);
    return 0;
}

static int sim_prefetch(const alm_io *io, const void *addr, size_t n)
{
    alm_sim *sim = sim_enter_locked(io);
    sim_mapped *map = mapped_at(sim, addr);
    const bool whole =
        map == NULL || sim_is_readable(&map->bad, (const char *)addr - map->bytes, (int64_t)n);
    if (!whole)
        map->told = true;
    return (int)sim_leave(sim, whole ? 0 : -EFAULT);
}

int64_t sim_lose_maps(alm_sim *sim, const sim_node *node, int64_t offset, int64_t n)
{
    int64_t lost = 0;
    for (size_t i = 0; i < sim->n_maps; i++) {
        sim_mapped *map = &sim->maps[i];
        const int64_t end = ALM_MIN(offset + n, (int64_t)map->n);
        if (map->node != node->number || map->lost || offset >= end)
            continue;
        lost++;
        map->lost = true;
        memset(map->bytes + offset, 0, (size_t)(end - offset));
        if (map->map != NULL)
            map->map->state = ALM_MAP_BROKEN;
    }
    sim->map_faults += lost;
    return lost;
}

static void sim_release(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    (void)addr;
    (void)n;
}

static int64_t sim_map_faults(const alm_io *io)
{
    alm_sim *sim = sim_enter_locked(io);
    return sim_leave(sim, sim->map_faults);
}

static bool sim_map_is_broken(const alm_io *io, const void *addr)
{
    alm_sim *sim = sim_enter_locked(io);
    const sim_mapped *map = mapped_at(sim, addr);
    return sim_leave(sim, map != NULL && map->lost) != 0;
}

void sim_offer_maps(alm_io *io)
{
    io->map = sim_map;
    io->unmap = sim_unmap;
    io->map_file = sim_map_file;
    io->unmap_file = sim_unmap_file;
    io->use_map = sim_use_map;
    io->limit_maps = sim_limit_maps;
    io->map_counts = sim_map_counts;
    io->reserve = sim_reserve;
    io->back = sim_back;
    io->forget = sim_forget;
    io->prefetch = sim_prefetch;
    io->release = sim_release;
    io->map_faults = sim_map_faults;
    io->map_is_broken = sim_map_is_broken;
}
