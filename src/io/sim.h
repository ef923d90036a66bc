/*
 * sim.h - a simulated disk in memory behind alm_io: seeded, with power cuts, torn writes, errors on
 * the n-th call and a count of everything. For tests; it runs exactly the code that ships.
 *
 * Model       A file is an inode: the bytes that are durable, and the list of writes, truncations
 *             and allocations since its last sync. A directory entry is durable once sync_dir of its
 *             directory returned; until then it is one of the pending operations (create, rename,
 *             unlink, mkdir, rmdir). sync_all makes all files and entries durable; when it fails, it keeps of each file
 *             what the seed says, and the next sync of a file that lost something fails, too.
 * Power cut   alm_sim_cut_after(n): the n-th changing call from now takes part or no effect and
 *             fails, and so does every later call, until alm_sim_restart. The restart keeps what was
 *             durable and, of the rest, what the seed says: each 512-byte sector of each unsynced
 *             write by itself, pending directory operations as a prefix or as any subset.
 * Medium      alm_sim_damage_after: bytes that were written change at rest, cannot be read any more, or were
 *             acknowledged and then lost, or written to another place. Only reads of unreadable bytes return an error, because a real
 *             disk reports nothing else.
 * Clock       real, so that threads and time-outs work.
 * Threads     one lock; all functions are thread safe.
 */
#ifndef ALM_IO_SIM_H
#define ALM_IO_SIM_H

#include "io/io.h"

typedef struct alm_sim alm_sim;

typedef enum alm_sim_op {
    ALM_SIM_OPEN,
    ALM_SIM_READ,
    ALM_SIM_WRITE,
    ALM_SIM_SYNC,
    ALM_SIM_SYNC_DIR,
    ALM_SIM_SYNC_ALL,
    ALM_SIM_ALLOCATE,
    ALM_SIM_TRUNCATE,
    ALM_SIM_RENAME,
    ALM_SIM_UNLINK,
    ALM_SIM_MKDIR,
    ALM_SIM_RMDIR,
    ALM_SIM_STAT,
    ALM_SIM_LIST,
    ALM_SIM_MAP,
    ALM_SIM_ANY, /* any of the above */
    ALM_SIM_CHANGE, /* any that changes the disk: write, sync, sync_dir, sync_all, allocate ... rmdir */
    ALM_SIM_OP_COUNT
} alm_sim_op;

/* What becomes of bytes, synced or not, some time after they were written; and of a write. */
typedef enum alm_sim_damage_kind {
    ALM_SIM_ROT_BITS,  /* one to four of sixteen bytes */
    ALM_SIM_ROT_ZEROS, /* one to four sectors are zeros */
    ALM_SIM_ROT_UNREADABLE, /* they cannot be read: -EIO, of maps -EFAULT of prefetch; until they are written again */
    ALM_SIM_WRITE_LOST, /* acknowledged; the place keeps the older bytes, and the file its new size */
    ALM_SIM_WRITE_MISPLACED,   /* lost, and at another sector of the file what fits there */
    ALM_SIM_WRITE_MISDIRECTED, /* lost, and in another file of the directory */
    ALM_SIM_DAMAGE_KINDS
} alm_sim_damage_kind;

typedef struct alm_sim_damage { /* of one place */
    alm_sim_damage_kind kind;
    bool landed;   /* where a write came that should have come elsewhere */
    bool mapped;   /* maps that were in use then show it */
    bool is_wrong; /* its bytes are still not what they should be, and the file has a name */
    int64_t offset, bytes;
    char path[512]; /* current name of the file; "" if it was unlinked */
    char was[512];  /* when it was struck */
} alm_sim_damage;

/* NULL: no memory. */
alm_sim *alm_sim_new(uint64_t seed);
void alm_sim_free(alm_sim *sim);
const alm_io *alm_sim_io(alm_sim *sim);

/* Calls of a kind so far (ANY and CHANGE are sums). */
int64_t alm_sim_calls(alm_sim *sim, alm_sim_op op);
/* The nth call of the kind from now (1: the next) fails with -err; `times` calls in all (0: for
 * ever). err 0: a write that is cut short to half its bytes. One such rule at a time; nth 0 clears
 * it. A failed sync leaves its writes unsynced and forgets them for good, as Linux does. */
void alm_sim_fail(alm_sim *sim, alm_sim_op op, int64_t nth, int err, int64_t times);
/* How often the rule of alm_sim_fail fired. */
int64_t alm_sim_failed(alm_sim *sim);
/* Power goes at the nth changing call from now; 0: never. */
void alm_sim_cut_after(alm_sim *sim, int64_t nth);
bool alm_sim_is_dead(alm_sim *sim);
/* Power is back (a cut now if there was none): handles and locks are gone, unsynced state is
 * resolved. */
void alm_sim_restart(alm_sim *sim);
/* sync and sync_dir return 0 and do nothing: what a server without syncs would be. */
void alm_sim_ignore_sync(alm_sim *sim, bool ignore);
/* A file system without sync_all. */
void alm_sim_without_sync_all(alm_sim *sim, bool without);
/* Each sync takes that long. */
void alm_sim_sync_delay(alm_sim *sim, int64_t micros);
/* Bytes of all files together; more gives -ENOSPC. 0: no limit. */
void alm_sim_capacity(alm_sim *sim, int64_t bytes);
int64_t alm_sim_used(alm_sim *sim);
/* Whoever calls from now on is another process; `others_end`: those before do not run any more and have no locks. A restart
 * is another boot. */
void alm_sim_next_process(alm_sim *sim, bool others_end);
/* A file system without locks. */
void alm_sim_without_locks(alm_sim *sim, bool without);
/* What the machine has; 0: what the real one has. */
void alm_sim_machine(alm_sim *sim, int64_t memory_bytes, uint32_t processors);
/* Flips one bit, durably, also in the maps of the file that are in use; false: no such file or offset. */
bool alm_sim_flip(alm_sim *sim, const char *path, int64_t offset, unsigned bit);
/* The bytes of the maps of the file that are in use cannot be read any more: they become zeros, as after SIGBUS. Later maps are
 * sound. False: there is no such map. */
bool alm_sim_lose(alm_sim *sim, const char *path);

/*
 * Strikes one file with bytes that is `below` this path ("": any) and is chosen by the seed, as the place in it is: rot at the
 * nth changing call from now (0: now; true: it did), else the nth write to such a file. One at a time.
 */
bool alm_sim_damage_after(alm_sim *sim, alm_sim_damage_kind kind, const char *below, int64_t nth);
void alm_sim_damage_never(alm_sim *sim);
/* The places that were struck so far; a write that landed elsewhere has two. */
size_t alm_sim_damage_count(alm_sim *sim);
void alm_sim_damage_at(alm_sim *sim, size_t i, alm_sim_damage *out);
/* Places below this path that are still wrong have what they should have again; how many did. */
int64_t alm_sim_mend(alm_sim *sim, const char *below);

#endif
