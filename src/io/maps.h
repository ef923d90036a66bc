/*
 * maps.h - all files in memory: which address belongs to which, what becomes of bytes that cannot be read, and files that
 * are let go and come back.
 *
 * SIGBUS      The kernel sends it to a thread that reads a page which the disk cannot deliver, or which lies beyond the end of a
 *             truncated file. The handler increments the count of faults, marks the map as broken, and maps a page of
 *             zeros in that place, so that the thread continues. It increments the count first, because other threads can read
 *             the zeros as soon as they are mapped. A reader compares the count before and after: if it has changed, the
 *             values that were read may be zeros.
 * Limit       A process may have vm.max_map_count maps, which it needs for memory and stacks, too. Maps made by
 *             alm_maps_open count towards a limit of their own. Over it one that was not used lately is let go (second chance: a hand goes round, takes
 *             the mark of use away, and lets go what has none). Its addresses stay reserved, without access;
 *             neighbours that were let go are one map to the system. So `limit` maps and, between them, as many
 *             reserved ranges at most are what the system counts.
 * Return      A reader calls alm_maps_use before it reads, unless alm_io_map_is_ready. Pointers into a map stay valid as
 *             long as it is open: an access to a map that was let go meanwhile raises SIGSEGV, and the handler
 *             maps the file again, if it is the same file (device and inode). A map whose file cannot be mapped
 *             again is broken. System calls fail with EFAULT instead of raising the signal: posix.c repeats them.
 * Signals     The handlers search (ranges.h), exchange atomics, and call openat, fstat, mmap, close, nanosleep and sched_yield. They
 *             take no lock. A fault of no map is none of their business: it goes to the handler that was there before.
 * State       process-wide, because a signal handler can reach nothing else. The state of a map is the lock of it:
 *             who has set BUSY changes it.
 * Private to io/, but for the installation at the start of a program.
 */
#ifndef ALM_IO_MAPS_H
#define ALM_IO_MAPS_H

#include "io/io.h"

/* From now on faults of maps are caught, and maps can be let go. Before threads are made. */
void alm_maps_catch(void);

/* A map that was made elsewhere, which stays. -ENOMEM: no memory to remember it. */
ALM_NODISCARD int alm_maps_add(const void *addr, size_t bytes);
/* Those of alm_maps_add that begin in the range. */
void alm_maps_remove_within(const void *addr, size_t bytes);

/* The file `path` below the directory `dir`, which stays open as long (AT_FDCWD will do). -ENODATA: it is empty. */
ALM_NODISCARD int alm_maps_open(int dir, const char *path, alm_io_map **out);
void alm_maps_close(alm_io_map *map);
/* Maps it again, if need be. -EIO: it is broken. Others: of openat and mmap; it stays as it is. */
ALM_NODISCARD int alm_maps_use(alm_io_map *map);
/* The same for a byte of any map: *outs tells, when asked again, whether it was let go meanwhile. -ENOENT: it is of none. */
ALM_NODISCARD int alm_maps_use_at(const void *addr, uint32_t *outs);

/* Maps of alm_maps_open at one time; 0: the third of vm.max_map_count. */
void alm_maps_limit(int64_t n);
void alm_maps_counts(alm_io_map_counts *out);

int64_t alm_maps_faults(void);
bool alm_maps_is_broken(const void *addr);

#endif
