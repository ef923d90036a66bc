/*
 * sim_impl.h - the state of the simulated disk, and what its files share. Private to sim*.c.
 *
 * A file's live bytes are what reads see; its durable bytes are what a power cut leaves for sure.
 * Unsynced operations are kept in a log per file so that a cut can apply any of their sectors. The
 * name space is two lists of entries, live and durable, and the list of pending operations.
 */
#ifndef ALM_IO_SIM_IMPL_H
#define ALM_IO_SIM_IMPL_H

#include "io/sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIM_SECTOR = 512, SIM_HANDLES_MAX = 4096, SIM_PATH_BYTES = 512 };

typedef struct sim_bytes {
    char *ptr;
    int64_t len, cap;
} sim_bytes;

typedef struct sim_write { /* n < 0: the size becomes `offset` */
    int64_t offset, n;
    char *data;
} sim_write;

typedef struct sim_sectors { /* that cannot be read: their offsets */
    int64_t *at;
    size_t n, cap;
} sim_sectors;

typedef struct sim_node { /* a file or a directory */
    uint64_t number;
    int32_t refs;
    bool is_dir;
    bool locked;
    bool lost; /* a failed sync_all dropped writes: the next sync of the file must fail */
    sim_bytes live, durable;
    sim_write *log;
    size_t n_log, cap_log;
    sim_sectors bad;
} sim_node;

typedef struct sim_entry {
    char path[SIM_PATH_BYTES];
    sim_node *node;
} sim_entry;

typedef struct sim_space {
    sim_entry *entries;
    size_t n, cap;
} sim_space;

typedef struct sim_pending { /* from: entry that goes; to: entry that comes (node) */
    char from[SIM_PATH_BYTES], to[SIM_PATH_BYTES];
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
    sim_sectors bad; /* when it was mapped */
    bool told;       /* prefetch said so */
} sim_mapped;

typedef struct sim_damage { /* a place that the medium struck */
    alm_sim_damage_kind kind;
    bool landed;
    uint64_t node; /* by its number */
    char was[SIM_PATH_BYTES];
    int64_t offset, n, maps;
    char *right, *wrong; /* what it should have, and has had since */
} sim_damage;

typedef struct sim_medium { /* the next one */
    alm_sim_damage_kind kind;
    int64_t nth;
    char below[SIM_PATH_BYTES];
} sim_medium;

struct alm_sim {
    alm_io io;
    pthread_mutex_t lock;
    uint64_t random;
    sim_space live, durable;
    sim_pending *pending;
    size_t n_pending, cap_pending;
    sim_handle handles[SIM_HANDLES_MAX];
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
    sim_medium medium;
    sim_damage *damages;
    size_t n_damages, cap_damages;
};

/* A simulated disk without memory is a broken test, not a case to go on from. */
static inline void *sim_need(void *ptr)
{
    ALM_ASSERT(ptr != NULL);
    return ptr;
}

/* ---------------------------------------------------------------- sim_model.c */

uint64_t sim_draw(alm_sim *sim); /* the next random number of the seed */
void sim_bytes_resize(sim_bytes *bytes, int64_t len);
void sim_bytes_put(sim_bytes *bytes, int64_t offset, const char *data, int64_t n);
void sim_log_add(sim_node *node, int64_t offset, const char *data, int64_t n);
sim_node *sim_node_new(alm_sim *sim, bool is_dir);
void sim_node_release(alm_sim *sim, sim_node *node);
sim_entry *sim_space_find(sim_space *space, const char *path);
void sim_space_remove(alm_sim *sim, sim_space *space, const char *path);
void sim_space_put(alm_sim *sim, sim_space *space, const char *path, sim_node *node);
bool sim_in_dir(const char *path, const char *dir);
/* The top of the simulated disk is there without mkdir: "" and relative names without a slash. */
bool sim_parent_exists(alm_sim *sim, sim_space *space, const char *path);
void sim_pending_add(alm_sim *sim, const char *from, const char *dest, sim_node *node);
void sim_pending_apply(alm_sim *sim, sim_pending *pending);
void sim_pending_clear(alm_sim *sim);
/* Counts a call; the errno it must fail with (0: none, -1: short write). */
int sim_enter(alm_sim *sim, alm_sim_op op);
/* True: the power goes during this call. */
bool sim_cut_now(alm_sim *sim);
/* Applies the sectors of unsynced operations that the seed picks. */
void sim_log_settle(alm_sim *sim, sim_node *node);
void sim_make_durable(sim_node *node);
int sim_free_handle(alm_sim *sim); /* -EMFILE: there is none */
sim_handle *sim_handle_at(alm_sim *sim, int handle);
int64_t sim_room(alm_sim *sim, int64_t more);
/* Each function of alm_io takes the lock first, and gives it back with its result. */
alm_sim *sim_enter_locked(const alm_io *io);
int64_t sim_leave(alm_sim *sim, int64_t result);
void sim_space_free(alm_sim *sim, sim_space *space);

/* ---------------------------------------------------------------- sim_medium.c */

bool sim_is_readable(const sim_sectors *bad, int64_t offset, int64_t n);
void sim_sectors_copy(sim_sectors *to, const sim_sectors *from);
/* What was unreadable there can be read again, what was wrong is not wrong any more. */
void sim_written(alm_sim *sim, sim_node *node, int64_t offset, int64_t n);
/* A changing call: rot may strike. */
void sim_rot(alm_sim *sim);
/* A write: NULL, or the n bytes that come to its place instead (owned by the caller). */
char *sim_misdirect(alm_sim *sim, sim_node *node, const void *bytes, int64_t n, int64_t offset);
void sim_damages_free(alm_sim *sim);

/* ---------------------------------------------------------------- sim_maps.c */

/* The bytes of the maps of a file that are in use cannot be read any more; how many maps. */
int64_t sim_lose_maps(alm_sim *sim, const sim_node *node, int64_t offset, int64_t n);

/* -------------------------------------- functions of alm_io, put into the table */

void sim_offer_files(alm_io *io); /* sim_files.c */
void sim_offer_names(alm_io *io); /* sim_names.c */
void sim_offer_maps(alm_io *io);  /* sim_maps.c */

#endif
