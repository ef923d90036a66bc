/*
 * backup.h - backups: a directory with the files of the database and one manifest per backup. Format,
 * crashes: docs/internals/storage.md, section 15.
 *
 * A file in it never changes: its name says what it is, and its bytes are whole and synced before it
 * has that name. So a later backup into the same directory copies only what is not there yet, and a
 * backup that ends early leaves the older ones as they were. The manifest comes last.
 */
#ifndef ALM_STORAGE_BACKUP_H
#define ALM_STORAGE_BACKUP_H

#include "storage/state.h"

enum { ALM_BACKUP_NAME = 96, ALM_BACKUP_PIECE = 1 << 20 };

typedef struct alm_backup_file {
    char name[ALM_BACKUP_NAME]; /* in the directory of the backup */
    char path[ALM_BACKUP_NAME]; /* below ROOT/db */
    int64_t bytes;
    uint32_t crc;
} alm_backup_file;

enum { ALM_BACKUP_GENERATION_MAX = 99999999 };

typedef struct alm_manifest {
    uint32_t generation;  /* 1 to ALM_BACKUP_GENERATION_MAX: names have eight digits */
    uint64_t database_id; /* 0: an older program did not say */
    uint64_t lsn;
    int64_t time_us;
    char archive[1024];     /* where the log of the database was archived, "": nowhere */
    alm_backup_file *files; /* malloc; the catalogue is the last */
    size_t n, cap;
} alm_manifest;

ALM_NODISCARD alm_status alm_manifest_add(alm_ctx *cx, alm_manifest *manifest,
                                          const alm_backup_file *file);
void alm_manifest_free(alm_manifest *manifest);
/* Sorts the files by name, but the last, for alm_manifest_find. */
const alm_backup_file *alm_manifest_find(const alm_manifest *manifest, const char *name);
ALM_NODISCARD alm_status alm_manifest_write(alm_ctx *cx, const alm_io *io, const char *dir,
                                            alm_manifest *manifest);
/* ALM_E_CORRUPT when it is damaged. */
ALM_NODISCARD alm_status alm_manifest_read(alm_ctx *cx, const alm_io *io, const char *dir,
                                           uint32_t generation, alm_manifest *out);
/* Generations of which there is a manifest, ascending; malloc. */
ALM_NODISCARD alm_status alm_manifest_list(alm_ctx *cx, const alm_io *io, const char *dir,
                                           uint32_t **out, size_t *n);

/* Copies `most` bytes of `from` to `dest` (synced; `dest` is removed when that fails) in pieces, with a look for cancel
 * between them. */
ALM_NODISCARD alm_status alm_backup_copy(alm_ctx *cx, const alm_io *io, const char *from,
                                         int64_t first, const char *dest, int64_t most,
                                         int64_t *bytes, uint32_t *crc);
/* The directory is there, on disk too; its parent must be. */
ALM_NODISCARD alm_status alm_backup_dir(alm_ctx *cx, const alm_io *io, const char *dir);
/* Size and checksum of a file; `to` NULL. */
ALM_NODISCARD alm_status alm_backup_sum(alm_ctx *cx, const alm_io *io, const char *path,
                                        int64_t *bytes, uint32_t *crc);

/* Where what the archived log `log` has behind the backup ends, by the spec. *until: LSN of the last record, 0: there is
 * none. ALM_E_CORRUPT, too, where a segment is of another database. Reads only. */
ALM_NODISCARD alm_status alm_restore_log_find(alm_ctx *cx, const alm_io *io,
                                              const alm_restore_spec *spec, const char *log,
                                              const alm_manifest *backup, uint64_t *until,
                                              int64_t *last_us);
/* It goes to `db`, up to that record. */
ALM_NODISCARD alm_status alm_restore_log_copy(alm_ctx *cx, const alm_io *io, const char *log,
                                              const char *db, const alm_manifest *backup,
                                              uint64_t until);

/* The marker ROOT/restoring: it is written before the first file of a restore and removed after the last; cancel: nothing was
 * written. */
ALM_NODISCARD alm_status alm_restoring_begin(alm_ctx *cx, const alm_io *io, const char *root);
void alm_restoring_cancel(const alm_io *io, const char *root);
ALM_NODISCARD alm_status alm_restoring_end(alm_ctx *cx, const alm_io *io, const char *root);
/* ALM_E_CORRUPT if the marker is there: the restore was cut off, and the directory is not complete. */
ALM_NODISCARD alm_status alm_restore_refuse(alm_ctx *cx, const alm_io *io, const char *root);

#endif
