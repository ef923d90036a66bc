/*
 * owner.h - one process has a directory: nobody else opens it while that one runs.
 *
 * Two things say so. A lock of the directory itself, which goes with the process, and which every name of the directory
 * leads to: links, mounts, the name after a rename. And a record in it, `owner`, with the process and its boot: it refuses
 * where the file system has no locks, or where they do not reach. The file `lock` is locked too, for programs that know
 * nothing else, and for network file systems, whose locks of files hold between machines.
 *
 * A record of a process that has ended, of another boot, or of another directory (a copy) hinders nobody. Where there are no
 * locks and the record is of another name space of processes (a container), it cannot be known whether its process
 * runs: then the directory is refused, by the name of the record.
 *
 * While it is owned, its names are pinned (alm_io.pin): a directory that is renamed takes its owner along.
 */
#ifndef ALM_STORAGE_OWNER_H
#define ALM_STORAGE_OWNER_H

#include "io/io.h"

enum { ALM_OWNER_PATH_MAX = 4096 - 128 };

typedef struct alm_owner {
    const alm_io *io; /* NULL: owns nothing */
    char dir[ALM_OWNER_PATH_MAX];
    int handle, lock; /* -1: none; of the directory, of the file `lock` */
    bool pinned, locked, recorded;
} alm_owner;

/*
 * Takes the directory, which is there, or fails with ALM_E_BUSY. `writes`: the lock file and the record are written; else
 * nothing is, unless there are no locks.
 */
ALM_NODISCARD alm_status alm_owner_take(alm_ctx *cx, const alm_io *io, const char *dir, bool writes,
                                        alm_owner *out);
/* Removes the record and unlocks. Of one that owns nothing: does nothing. */
void alm_owner_leave(alm_owner *owner);
/* `to` owns what `from` did. */
void alm_owner_move(alm_owner *to, alm_owner *from);
/* A name in the directory that is of the owner, not of what it owns. */
bool alm_owner_is_name(const char *name);

#endif
