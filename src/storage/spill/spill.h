/*
 * spill.h - rows that do not fit in memory, in temporary files: appended in runs, read back in order.
 *
 * Space       A directory of the data directory where the temporary files of all statements are. It is
 *             emptied at start; a file is unlinked as soon as it is open, so that it goes with its
 *             last handle whatever happens. The bytes of all files together are bounded by
 *             query.spill.max (ALM_E_SPILL names it; 0: no spilling at all), those of a user by
 *             query.spill.user.max, and query.spill.free.min stays free on the volume.
 * Spill       One file of one operator on one thread, with any number of runs that may be written in
 *             turns. A run keeps blocks of batches in the order they were appended.
 * Columns     Dense or const vectors of any type; a column may change its form (codes, views, const)
 *             from batch to batch. Text is copied. Dictionaries are kept by address: they must live
 *             until the spill goes, as those of a snapshot do.
 * Memory      About ALM_SPILL_BLOCK_BYTES per run that is written and per reader, charged to the
 *             account of the context that made the spill.
 * Threads     A spill belongs to one thread at a time. When all its runs are ended, any number of
 *             threads may read, each with readers of its own.
 * Errors      ALM_E_SPILL, ALM_E_DISK_FULL and ALM_E_IO with the purpose in the text; alm_check is
 *             called before each block is written or read.
 */
#ifndef ALM_STORAGE_SPILL_H
#define ALM_STORAGE_SPILL_H

#include "io/io.h"
#include "type/vector.h"

enum { ALM_SPILL_BLOCK_BYTES = 128 * 1024 };

typedef struct alm_spill_space {
    const alm_io *io;
    char dir[1024];
    _Atomic int64_t bytes, files; /* now */
    _Atomic uint64_t next;        /* number of the next file */
    _Atomic int64_t unlooked;     /* bytes charged since the free space was looked at */
} alm_spill_space;

/* Makes the directory, or removes what an earlier process left in it. */
ALM_NODISCARD alm_status alm_spill_space_open(alm_ctx *cx, alm_spill_space *space, const alm_io *io,
                                              const char *dir);

/* A file of the space that has no name any more, for others who keep bytes there (spool.h). Charge takes part of the bound
 * before bytes are written, and of that of `files`, the user's account (alm_ctx.files; NULL: none); leave closes the handle (-1: there
 * is none) and gives back what was charged to both. */
ALM_NODISCARD alm_status alm_spill_space_file(alm_ctx *cx, alm_spill_space *space, int *handle);
ALM_NODISCARD alm_status alm_spill_space_charge(alm_ctx *cx, alm_spill_space *space, alm_mem *files,
                                                int64_t bytes, const char *who);
void alm_spill_space_leave(alm_spill_space *space, alm_mem *files, int handle, int64_t bytes);

/* The space of an open storage. */
struct alm_storage;
alm_spill_space *alm_storage_spill_space(struct alm_storage *storage);

typedef struct alm_spill alm_spill;

/* query.spill.max, for all temporary files together. */
int64_t alm_spill_bytes_max(const alm_ctx *cx);
/* May anything be spilled? space may be NULL. */
bool alm_spill_allowed(const alm_ctx *cx, const alm_spill_space *space);
/* who: the operator, for errors. The space must outlive the spill. */
ALM_NODISCARD alm_status alm_spill_new(alm_ctx *cx, alm_spill_space *space, uint32_t n_cols,
                                       const char *who, alm_spill **out);
void alm_spill_free(alm_spill *spill); /* NULL is fine */
/* Smaller blocks than ALM_SPILL_BLOCK_BYTES, where many runs are written at once. */
void alm_spill_block_bytes(alm_spill *spill, size_t bytes);
int64_t alm_spill_bytes(const alm_spill *spill);

/* A new empty run; its number. Runs are numbered from 0. */
ALM_NODISCARD alm_status alm_spill_run(alm_ctx *cx, alm_spill *spill, uint32_t *run);
ALM_NODISCARD alm_status alm_spill_append(alm_ctx *cx, alm_spill *spill, uint32_t run,
                                          const alm_vec *cols, uint32_t n);
/* Writes what is still held; nothing can be appended after it. */
ALM_NODISCARD alm_status alm_spill_end(alm_ctx *cx, alm_spill *spill, uint32_t run);
uint32_t alm_spill_runs(const alm_spill *spill);
int64_t alm_spill_rows(const alm_spill *spill, uint32_t run);

/* Reads a run that is ended, from its first batch. */
typedef struct alm_spill_reader alm_spill_reader;
ALM_NODISCARD alm_status alm_spill_reader_new(alm_ctx *cx, const alm_spill *spill, uint32_t run,
                                              alm_spill_reader **out);
/* Batches as they were appended, borrowed until the next call; *out = NULL: the end. */
ALM_NODISCARD alm_status alm_spill_read(alm_ctx *cx, alm_spill_reader *reader, alm_batch **out);
void alm_spill_reader_free(alm_spill_reader *reader); /* NULL is fine */

#endif
