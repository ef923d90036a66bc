/*
 * durable.h - files reach the disk in groups: a file is written without a sync, and synced together with all others that
 * one log record, or one checkpoint, names.
 *
 * Order       The files, their names, and the names of new directories are durable before the record that names them is
 *             written. alm_put_part asserts it.
 * Cost        A few files are synced one by one, and each directory once. A group that would need more syncs than
 *             `sync_files_max` is one alm_io.sync_all, where the file system has it. A large file is synced when it is
 *             written, so that no group leaves more to the end than it can write in a short time.
 * Errors      A sync that failed is never repeated, because the kernel may have dropped what it could not write. So the
 *             file is lost, and its owner gives it up. A handle keeps the error of its own file: it stays open from the
 *             last write to the sync. A file whose handle was closed (UNSYNCED_HANDLES_MAX) is left to sync_all, which has
 *             the errors of all files; after one such error, all files that were begun before are lost.
 * Threads     An alm_unsynced belongs to one thread at a time; the rest of the functions is thread safe.
 */
#ifndef ALM_STORAGE_DURABLE_H
#define ALM_STORAGE_DURABLE_H

#include <pthread.h>

#include "base/base.h"
#include "io/io.h"

struct alm_storage;
struct alm_part_ref;

/* What a file still needs. */
typedef enum alm_unsynced_state {
    ALM_SYNC_DONE,
    ALM_SYNC_NAME,  /* its bytes are durable */
    ALM_SYNC_BYTES, /* bytes and name */
    ALM_SYNC_LOST   /* a sync failed */
} alm_unsynced_state;

typedef struct alm_unsynced {
    alm_unsynced_state state;
    int handle;        /* open, to be synced and closed; -1: none */
    bool named;        /* the name of the file is durable: set by who appends to a file */
    bool elsewhere;    /* on another file system than the database */
    uint64_t table_id; /* in whose directory the file lies */
    uint64_t failures; /* of sync_all, before the first write */
} alm_unsynced;

typedef struct alm_durable {
    pthread_mutex_t lock; /* of the directories that are made */
    pthread_mutex_t
        sync_lock; /* one sync_all at a time; outside of `lock`, so that files can be begun meanwhile */
    int dir;       /* handle of tables/; -1: none, no sync_all */
    bool whole;      /* there is sync_all */
    uint64_t device; /* of tables/ */
    uint64_t made,
        named; /* directories of tables that were made; of them whose names are durable */
    _Atomic uint64_t failures;
    _Atomic int32_t handles; /* that are open in alm_unsynced */
} alm_durable;

/* Before anything is written below tables/. */
ALM_NODISCARD alm_status alm_durable_open(alm_ctx *cx, struct alm_storage *storage);
void alm_durable_close(struct alm_storage *storage);

/* The directory of the table is there, and a file may be begun in it. */
ALM_NODISCARD alm_status alm_unsynced_begin(alm_ctx *cx, struct alm_storage *storage,
                                            uint64_t table_id, alm_unsynced *out);
/* The file was written whole through this handle, which is taken over, also after an error. `path` is for messages. */
ALM_NODISCARD alm_status alm_unsynced_written(alm_ctx *cx, struct alm_storage *storage,
                                              alm_unsynced *unsynced, int handle, int64_t bytes,
                                              const char *path);
/* The file is given up. */
void alm_unsynced_drop(struct alm_storage *storage, alm_unsynced *unsynced);

/* All of them are durable when it returns ALM_OK. Files of one table stand together. */
ALM_NODISCARD alm_status alm_unsynced_sync(alm_ctx *cx, struct alm_storage *storage,
                                           alm_unsynced *const *list, size_t n);
/* The same for all files of these parts. */
ALM_NODISCARD alm_status alm_parts_sync(alm_ctx *cx, struct alm_storage *storage,
                                        struct alm_part_ref *const *parts, size_t n_parts);

#endif
