/*
 * sim_medium.c - the simulated disk: what the medium does to bytes that it has acknowledged. Sectors rot or become
 * unreadable, writes are lost or land elsewhere.
 *
 * Where     The place is changed in what reads see, in what is durable, and in the maps in use, as if no page of
 *           the file were cached. Unsynced writes of the place are followed by one of the changed bytes.
 * Kept      Of each place what it should have and what it has, so that a test can ask whether it is still wrong, and
 *           put it right.
 */
#include "io/sim_impl.h"

static char *sim_medium_copy_of(const void *bytes, int64_t n)
{
    char *copy = sim_need(malloc((size_t)ALM_MAX(n, INT64_C(1))));
    if (n > 0)
        memcpy(copy, bytes, (size_t)n);
    return copy;
}

/* ---------------------------------------------------------------- unreadable sectors */

bool sim_is_readable(const sim_sectors *bad, int64_t offset, int64_t n)
{
    for (size_t i = 0; i < bad->n; i++)
        if (bad->at[i] < offset + n && bad->at[i] + SIM_SECTOR > offset)
            return false;
    return true;
}

static void sectors_add(sim_sectors *bad, int64_t offset)
{
    if (bad->n == bad->cap) {
        bad->cap = ALM_MAX((size_t)4, bad->cap * 2);
        bad->at = sim_need(realloc(bad->at, bad->cap * sizeof *bad->at));
    }
    bad->at[bad->n++] = offset;
}

static void make_readable(sim_node *node, int64_t offset, int64_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->bad.n; i++) {
        const int64_t at = node->bad.at[i];
        if (at + SIM_SECTOR <= offset || at - offset >= n)
            node->bad.at[kept++] = at;
    }
    node->bad.n = kept;
}

/* Bytes of the file have come anew: they are neither unreadable nor wrong. */
void sim_written(alm_sim *sim, sim_node *node, int64_t offset, int64_t n)
{
    make_readable(node, offset, n);
    for (size_t i = 0; i < sim->n_damages; i++) {
        sim_damage *damage = &sim->damages[i];
        const int64_t from = ALM_MAX(damage->offset, offset),
                      to = ALM_MIN(damage->offset + damage->n, offset + n);
        if (damage->node == node->number && from < to)
            memcpy(damage->right + (from - damage->offset), damage->wrong + (from - damage->offset),
                   (size_t)(to - from));
    }
}

void sim_sectors_copy(sim_sectors *to, const sim_sectors *from)
{
    for (size_t i = 0; i < from->n; i++)
        sectors_add(to, from->at[i]);
}

/* ------------------------------------------------------------------------ places */

static int64_t show_in_maps(alm_sim *sim, const sim_node *node, int64_t offset, const char *bytes,
                            int64_t n)
{
    int64_t maps = 0;
    for (size_t i = 0; i < sim->n_maps; i++) {
        const sim_mapped *map = &sim->maps[i];
        if (map->node != node->number || offset >= (int64_t)map->n)
            continue;
        memcpy(map->bytes + offset, bytes, (size_t)ALM_MIN(n, (int64_t)map->n - offset));
        maps++;
    }
    return maps;
}

/* Overwrites bytes of the file at rest: in its unsynced and durable contents and in all maps of it. Returns how many maps changed. */
static int64_t sim_medium_change(alm_sim *sim, sim_node *node, int64_t offset, const char *bytes,
                                 int64_t n)
{
    const int64_t durable = ALM_MIN(n, node->durable.len - offset);
    sim_bytes_put(&node->live, offset, bytes, n);
    if (durable > 0)
        sim_bytes_put(&node->durable, offset, bytes, durable);
    if (node->n_log > 0)
        sim_log_add(node, offset, bytes, n);
    return show_in_maps(sim, node, offset, bytes, n);
}

static const sim_entry *sim_medium_entry_of(alm_sim *sim, uint64_t number)
{
    for (size_t i = 0; i < sim->live.n; i++)
        if (sim->live.entries[i].node->number == number)
            return &sim->live.entries[i];
    return NULL;
}

static sim_damage *damage_add(alm_sim *sim, const sim_node *node, int64_t offset, const char *right,
                              const char *wrong, int64_t n)
{
    if (sim->n_damages == sim->cap_damages) {
        sim->cap_damages = ALM_MAX((size_t)4, sim->cap_damages * 2);
        sim->damages = sim_need(realloc(sim->damages, sim->cap_damages * sizeof *sim->damages));
    }
    sim_damage *damage = &sim->damages[sim->n_damages++];
    *damage =
        (sim_damage){.kind = sim->medium.kind, .node = node->number, .offset = offset, .n = n};
    const sim_entry *entry = sim_medium_entry_of(sim, node->number);
    (void)snprintf(damage->was, sizeof damage->was, "%s", entry != NULL ? entry->path : "");
    damage->right = sim_medium_copy_of(right, n);
    damage->wrong = sim_medium_copy_of(wrong, n);
    return damage;
}

void sim_damages_free(alm_sim *sim)
{
    for (size_t i = 0; i < sim->n_damages; i++) {
        free(sim->damages[i].right);
        free(sim->damages[i].wrong);
    }
    free(sim->damages);
    sim->damages = NULL;
    sim->n_damages = sim->cap_damages = 0;
}

/* ---------------------------------------------------------------------- files */

static bool sim_medium_is_below(const char *path, const char *below)
{
    const size_t len = strlen(below);
    return len == 0 || (strncmp(path, below, len) == 0 && (path[len] == 0 || path[len] == '/'));
}

static bool is_eligible(const sim_entry *entry, const char *below, const char *dir,
                        const sim_node *besides)
{
    return !entry->node->is_dir && entry->node->live.len > 0 && entry->node != besides &&
           sim_medium_is_below(entry->path, below) && (dir == NULL || sim_in_dir(entry->path, dir));
}

/* Any file that has bytes, by the seed; in the directory `dir` itself, if it is not NULL. */
static sim_node *any_file(alm_sim *sim, const char *below, const char *dir, const sim_node *besides)
{
    size_t count = 0;
    for (size_t i = 0; i < sim->live.n; i++)
        count += is_eligible(&sim->live.entries[i], below, dir, besides);
    if (count == 0)
        return NULL;
    size_t left = (size_t)(sim_draw(sim) % count);
    for (size_t i = 0; i < sim->live.n; i++)
        if (is_eligible(&sim->live.entries[i], below, dir, besides) && left-- == 0)
            return sim->live.entries[i].node;
    return NULL;
}

/* ------------------------------------------------------------------------- rot */

static void rot_bits(alm_sim *sim, sim_node *node)
{
    const int64_t offset = (int64_t)(sim_draw(sim) % (uint64_t)node->live.len);
    const int64_t n = ALM_MIN(INT64_C(16), node->live.len - offset);
    char wrong[16];
    memcpy(wrong, node->live.ptr + offset, (size_t)n);
    for (uint64_t bits = 1 + sim_draw(sim) % 4; bits > 0; bits--) {
        const uint64_t bit = sim_draw(sim) % (uint64_t)(n * 8);
        wrong[bit / 8] ^= (char)(1 << bit % 8);
    }
    sim_damage *damage = damage_add(sim, node, offset, node->live.ptr + offset, wrong, n);
    damage->maps = sim_medium_change(sim, node, offset, wrong, n);
}

/* One to four sectors: zeros, or they cannot be read any more. */
static void rot_sectors(alm_sim *sim, sim_node *node, bool unreadable)
{
    const int64_t sectors = (node->live.len + SIM_SECTOR - 1) / SIM_SECTOR;
    const int64_t first = (int64_t)(sim_draw(sim) % (uint64_t)sectors);
    const int64_t many = ALM_MIN(1 + (int64_t)(sim_draw(sim) % 4), sectors - first);
    const int64_t offset = first * SIM_SECTOR;
    const int64_t n = ALM_MIN(many * SIM_SECTOR, node->live.len - offset);
    char zeros[4 * SIM_SECTOR] = {0};
    sim_damage *damage = damage_add(sim, node, offset, node->live.ptr + offset,
                                    unreadable ? node->live.ptr + offset : zeros, n);
    if (!unreadable) {
        damage->maps = sim_medium_change(sim, node, offset, zeros, n);
        return;
    }
    for (int64_t at = offset; at < offset + n; at += SIM_SECTOR)
        sectors_add(&node->bad, at);
    damage->maps = sim_lose_maps(sim, node, offset, n);
}

static bool rot_now(alm_sim *sim)
{
    sim_node *node = any_file(sim, sim->medium.below, NULL, NULL);
    if (node == NULL)
        return false;
    if (sim->medium.kind == ALM_SIM_ROT_BITS)
        rot_bits(sim, node);
    else
        rot_sectors(sim, node, sim->medium.kind == ALM_SIM_ROT_UNREADABLE);
    return true;
}

void sim_rot(alm_sim *sim)
{
    sim_medium *medium = &sim->medium;
    if (medium->nth == 0 || medium->kind > ALM_SIM_ROT_UNREADABLE || sim->dead || --medium->nth > 0)
        return;
    medium->nth = rot_now(sim) ? 0 : 1; /* without a file at the next call */
}

/* ---------------------------------------------------------------------- writes */

static void land(alm_sim *sim, sim_node *node, const char *bytes, int64_t n)
{
    const int64_t sectors = (node->live.len + SIM_SECTOR - 1) / SIM_SECTOR;
    const int64_t offset = (int64_t)(sim_draw(sim) % (uint64_t)sectors) * SIM_SECTOR;
    const int64_t fits = ALM_MIN(n, node->live.len - offset);
    sim_damage *damage = damage_add(sim, node, offset, node->live.ptr + offset, bytes, fits);
    damage->landed = true;
    damage->maps = sim_medium_change(sim, node, offset, bytes, fits);
}

char *sim_misdirect(alm_sim *sim, sim_node *node, const void *bytes, int64_t n, int64_t offset)
{
    sim_medium *medium = &sim->medium;
    const sim_entry *entry = sim_medium_entry_of(sim, node->number);
    if (medium->nth == 0 || medium->kind < ALM_SIM_WRITE_LOST || n == 0 || entry == NULL ||
        !sim_medium_is_below(entry->path, medium->below) || --medium->nth > 0)
        return NULL;
    char dir[SIM_PATH_BYTES];
    (void)snprintf(dir, sizeof dir, "%s", entry->path);
    char *slash = strrchr(dir, '/');
    *(slash != NULL ? slash : dir) = 0;
    /* The right place keeps what it had; behind the end of the file that is zeros. */
    sim_bytes old = {0};
    sim_bytes_resize(&old, n);
    const int64_t had = ALM_MIN(n, node->live.len - offset);
    if (had > 0)
        memcpy(old.ptr, node->live.ptr + offset, (size_t)had);
    (void)damage_add(sim, node, offset, bytes, old.ptr, n);
    sim_node *other = medium->kind == ALM_SIM_WRITE_MISPLACED ? (node->live.len > 0 ? node : NULL)
                      : medium->kind == ALM_SIM_WRITE_MISDIRECTED ? any_file(sim, "", dir, node)
                                                                  : NULL;
    if (other != NULL) {
        land(sim, other, bytes, n);
        if (other == node && had > 0) /* it may have landed there in part */
            memcpy(old.ptr, node->live.ptr + offset, (size_t)had);
    }
    return old.ptr;
}

/* -------------------------------------------------------------------- controls */

bool alm_sim_damage_after(alm_sim *sim, alm_sim_damage_kind kind, const char *below, int64_t nth)
{
    (void)sim_enter_locked(&sim->io);
    sim->medium = (sim_medium){.kind = kind, .nth = nth};
    (void)snprintf(sim->medium.below, sizeof sim->medium.below, "%s", below);
    const bool now = nth == 0 && kind <= ALM_SIM_ROT_UNREADABLE && rot_now(sim);
    return sim_leave(sim, now) != 0;
}

void alm_sim_damage_never(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    sim->medium.nth = 0;
    (void)sim_leave(sim, 0);
}

size_t alm_sim_damage_count(alm_sim *sim)
{
    (void)sim_enter_locked(&sim->io);
    return (size_t)sim_leave(sim, (int64_t)sim->n_damages);
}

static bool is_wrong(const sim_damage *damage, const sim_node *node)
{
    if (damage->kind == ALM_SIM_ROT_UNREADABLE)
        return !sim_is_readable(&node->bad, damage->offset, damage->n);
    for (int64_t i = 0; i < damage->n && damage->offset + i < node->live.len; i++)
        if (damage->right[i] != damage->wrong[i] &&
            node->live.ptr[damage->offset + i] == damage->wrong[i])
            return true;
    return false;
}

void alm_sim_damage_at(alm_sim *sim, size_t i, alm_sim_damage *out)
{
    (void)sim_enter_locked(&sim->io);
    ALM_ASSERT(i < sim->n_damages);
    const sim_damage *damage = &sim->damages[i];
    const sim_entry *entry = sim_medium_entry_of(sim, damage->node);
    *out = (alm_sim_damage){.kind = damage->kind,
                            .landed = damage->landed,
                            .mapped = damage->maps > 0,
                            .offset = damage->offset,
                            .bytes = damage->n,
                            .is_wrong = entry != NULL && is_wrong(damage, entry->node)};
    (void)snprintf(out->path, sizeof out->path, "%s", entry != NULL ? entry->path : "");
    (void)snprintf(out->was, sizeof out->was, "%s", damage->was);
    (void)sim_leave(sim, 0);
}

int64_t alm_sim_mend(alm_sim *sim, const char *below)
{
    int64_t mended = 0;
    (void)sim_enter_locked(&sim->io);
    for (size_t i = sim->n_damages; i-- > 0;) { /* the last first: places may meet */
        const sim_damage *damage = &sim->damages[i];
        const sim_entry *entry = sim_medium_entry_of(sim, damage->node);
        if (entry == NULL || !sim_medium_is_below(entry->path, below) ||
            !is_wrong(damage, entry->node))
            continue;
        for (int64_t offset = 0;
             offset < damage->n && damage->offset + offset < entry->node->live.len; offset++)
            if (damage->right[offset] != damage->wrong[offset] &&
                entry->node->live.ptr[damage->offset + offset] == damage->wrong[offset])
                (void)sim_medium_change(sim, entry->node, damage->offset + offset,
                                        damage->right + offset, 1);
        make_readable(entry->node, damage->offset, damage->n);
        mended++;
    }
    return sim_leave(sim, mended);
}
