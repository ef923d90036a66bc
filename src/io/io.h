/*
 * io.h - the only door to files, clocks and randomness: a table of functions, so that the disk can
 * be replaced by a simulated one (sim.c: seeded errors, torn writes, lost syncs, power cuts) that
 * runs exactly the code that ships.
 *
 * Errors      Functions return >= 0 or a negative errno. EINTR and short writes are handled here
 *             (write_all, read_all); nobody else loops.
 * Threads     All functions are thread safe, as the system calls are.
 */
#ifndef ALM_IO_IO_H
#define ALM_IO_IO_H

#include "base/base.h"
#include "io/machine.h"

typedef struct alm_io alm_io;

enum {
    ALM_IO_READ = 1 << 0,
    ALM_IO_WRITE = 1 << 1,
    ALM_IO_CREATE = 1 << 2,
    ALM_IO_EXCLUSIVE = 1 << 3,
    ALM_IO_TRUNCATE = 1 << 4,
    ALM_IO_NO_LINKS = 1 << 5 /* of the calls below a folder: no symbolic link at any step */
};

typedef struct alm_io_stat {
    int64_t size_bytes;
    int64_t changed_us;   /* since 1970; 0: not known */
    bool is_dir, is_file; /* neither: a link, a pipe, a device */
    uint64_t identity;    /* of the file, whatever its name; a copy has another */
    uint64_t device;      /* of the file system: identities are unique within one */
} alm_io_stat;

/* A process of this machine, so that no later one can be taken for it. What the system does not tell is empty or 0. */
typedef struct alm_io_process {
    char boot[40];   /* id of the boot; an earlier one had another */
    int64_t pid;     /* within `space` */
    int64_t started; /* ticks after the boot: numbers of processes come again */
    uint64_t space;  /* the name space of process numbers (containers have their own) */
} alm_io_process;

/*
 * A whole file in memory, read-only. A process may have so many maps only that a file may be let go while it is open here,
 * and its bytes come back when they are wanted: pointers into it stay good until unmap_file (maps.h).
 */
typedef enum alm_map_state {
    ALM_MAP_FREE,
    ALM_MAP_IN,
    ALM_MAP_OUT,
    ALM_MAP_BUSY,  /* a thread changes it */
    ALM_MAP_STAYS, /* in, and never let go */
    ALM_MAP_BROKEN /* some bytes could not be read and are zeros */
} alm_map_state;

typedef struct alm_io_map {
    const void *at;
    size_t bytes;
    _Atomic uint32_t state; /* alm_map_state */
    atomic_bool used;       /* since it was last thought of to let it go */
} alm_io_map;

typedef struct alm_io_map_counts {
    int64_t open, in, limit;  /* of map_file; of these in memory; so many may be */
    int64_t let_go, returns;  /* since the start */
    int64_t returns_by_fault; /* of the returns: who read had not asked */
} alm_io_map_counts;

struct alm_io {
    void *self;
    /* A handle. To write: of a regular file, -ENXIO for anything else. With ALM_IO_CREATE a link is -ELOOP. */
    int (*open)(const alm_io *io, const char *path, uint32_t flags);
    /*
     * Below a folder in which others may change files and links at any time. `dir` is a handle of open_dir or
     * open_dir_below and stands for that folder, whatever becomes of its name. A path is relative; the kernel resolves it
     * in one call, so that no change made meanwhile leads out of the folder. What would lead out is -EXDEV or -ELOOP, and
     * nothing outside is looked at. Links to places inside are followed, except with ALM_IO_NO_LINKS and on systems
     * without openat2, where every link is -ELOOP. A `name` has no '/', and is never followed.
     */
    int (*open_dir)(const alm_io *io,
                    const char *path); /* itself trusted: its links are followed */
    int (*open_dir_below)(const alm_io *io, int dir, const char *path, uint32_t flags);
    /* A regular file; -EINVAL for anything else. */
    int (*open_below)(const alm_io *io, int dir, const char *path, uint32_t flags);
    int (*stat_in)(const alm_io *io, int dir, const char *name, alm_io_stat *out);
    int (*list_in)(const alm_io *io, int dir, int (*each)(void *arg, const char *name), void *arg);
    int (*mkdir_in)(const alm_io *io, int dir, const char *name); /* -EEXIST if the name is taken */
    int (*rename_in)(const alm_io *io, int from_dir, const char *from, int to_dir, const char *to);
    int (*unlink_in)(const alm_io *io, int dir, const char *name);
    int (*sync_in)(const alm_io *io, int dir); /* fsync of the folder */
    int (*close)(const alm_io *io, int handle);
    int64_t (*size)(const alm_io *io, int handle); /* bytes of the file */
    int64_t (*read)(const alm_io *io, int handle, void *buf, size_t n, int64_t offset);
    int64_t (*write)(const alm_io *io, int handle, const void *buf, size_t n, int64_t offset);
    int (*sync)(const alm_io *io, int handle);           /* fdatasync */
    int (*sync_dir)(const alm_io *io, const char *path); /* fsync of a directory */
    /*
     * One call for any number of files: all files and names of the file system on which the directory `dir` lies are
     * durable. A write that failed since the handle was opened is an error, which is told once for each handle: so who
     * wrote files opens the handle before, and believes no later call after an error. May only be called if syncs_all is
     * true: other file systems do not wait, or do not tell of errors.
     */
    int (*sync_all)(const alm_io *io, int dir);
    bool (*syncs_all)(const alm_io *io, int dir);
    int (*allocate)(const alm_io *io, int handle, int64_t offset, int64_t n); /* real space */
    int (*truncate)(const alm_io *io, int handle, int64_t size);
    int (*rename)(const alm_io *io, const char *from, const char *to);
    int (*unlink)(const alm_io *io, const char *path);
    int (*mkdir)(const alm_io *io,
                 const char *path); /* 0 if it is there; -ENOTDIR: as something else */
    int (*rmdir)(const alm_io *io, const char *path);
    int (*stat)(const alm_io *io, const char *path, alm_io_stat *out);
    /* Bytes of the volume that `path` is on, and those of them that are free for this process. */
    int (*space)(const alm_io *io, const char *path, int64_t *all, int64_t *free);
    /* Calls each for every entry but . and .., in order of name; stops at a non-zero return. */
    int (*list)(const alm_io *io, const char *path, int (*each)(void *arg, const char *name),
                void *arg);
    /* Read-only map of a whole range; *out stays valid after close of the handle. */
    int (*map)(const alm_io *io, int handle, size_t n, const void **out);
    int (*unmap)(const alm_io *io, const void *addr, size_t n);
    /* A map of a whole file that may be let go for a time. -ENODATA: it is empty. */
    int (*map_file)(const alm_io *io, const char *path, alm_io_map **out);
    void (*unmap_file)(const alm_io *io, alm_io_map *map);
    /* It is about to be read: what was let go comes back, if it is the same file still. -EIO: its bytes are broken. */
    int (*use_map)(const alm_io *io, alm_io_map *map);
    /* Most maps of map_file at one time, of the whole process; 0: a third of what the system allows. */
    void (*limit_maps)(const alm_io *io, int64_t n);
    void (*map_counts)(const alm_io *io, alm_io_map_counts *out);
    /*
     * Memory that is zero until it is written and takes none before: a range of addresses to fill bit by
     * bit. `back` makes whole pages of it those of a file from this offset on, which the system may write out
     * and read again (the file is real space: allocate); they stay when the handle is closed. `forget` makes
     * pages zero again and gives the memory back, or the file's space if it has no name any more. All of
     * it goes with unmap.
     */
    int (*reserve)(const alm_io *io, size_t n, void **out);
    int (*back)(const alm_io *io, void *addr, size_t n, int handle, int64_t offset);
    int (*forget)(const alm_io *io, void *addr, size_t n);
    /* MADV_POPULATE_READ: -EFAULT: the bytes cannot be read; other errors mean nothing. */
    int (*prefetch)(const alm_io *io, const void *addr, size_t n);
    /* Bytes of a map that are not needed for now need take no memory: who reads them gets them from the file
     * again. A hint. */
    void (*release)(const alm_io *io, const void *addr, size_t n);
    /* How often mapped bytes could not be read, and whether that was in the map of this address: what was
     * read of it since is zeros. */
    int64_t (*map_faults)(const alm_io *io);
    bool (*map_is_broken)(const alm_io *io, const void *addr);
    /*
     * An exclusive lock of the file or directory itself, whatever names lead to it, held by the handle until it is closed
     * or the process ends. -EWOULDBLOCK: another handle has it. -ENOLCK, -EOPNOTSUPP: the file system has no locks.
     */
    int (*lock)(const alm_io *io, int handle);
    /*
     * From now on names that begin with `dir`/ mean what lies in the directory of `handle`, whatever gets the name `dir`
     * meanwhile: who has locked a directory reads and writes that one and no other. unpin before the handle is closed.
     * -EBUSY: the name is pinned already. -ENFILE: too many are.
     */
    int (*pin)(const alm_io *io, const char *dir, int handle);
    void (*unpin)(const alm_io *io, int handle);
    /* The process that calls, and whether a process still runs: 1, 0, or -1 if that cannot be known from here. */
    void (*process_self)(const alm_io *io, alm_io_process *out);
    int (*process_runs)(const alm_io *io, const alm_io_process *process);
    int64_t (*wall_ns)(const alm_io *io); /* since 1970 */
    int64_t (*mono_ns)(const alm_io *io);
    void (*machine)(const alm_io *io, alm_machine *out); /* memory and processors there are now */
    void (*pause)(const alm_io *io, int64_t ns); /* the thread waits; a simulated disk does not */
    int (*random)(const alm_io *io, void *buf, size_t n);
    int64_t (*sync_count)(const alm_io *io); /* sync calls that returned */
};

/* Marks it as used. True: it can be read; else use_map says. */
static inline bool alm_io_map_is_ready(alm_io_map *map)
{
    if (!atomic_load_explicit(&map->used, memory_order_relaxed))
        atomic_store_explicit(&map->used, true, memory_order_relaxed);
    return atomic_load_explicit(&map->state, memory_order_relaxed) == ALM_MAP_IN;
}

const alm_io *alm_io_posix(void);
/* The same as on a kernel without openat2. For tests. */
alm_io alm_io_posix_without_openat2(void);

/* Whole-buffer transfer; short and interrupted calls are continued. ALM_E_DISK_FULL for ENOSPC and
 * EDQUOT, ALM_E_READONLY for EROFS, ALM_E_IO else; the message has `what` and the errno text. */
ALM_NODISCARD alm_status alm_io_write_all(alm_ctx *cx, const alm_io *io, int handle,
                                          const void *buf, size_t n, int64_t offset,
                                          const char *what);
ALM_NODISCARD alm_status alm_io_read_all(alm_ctx *cx, const alm_io *io, int handle, void *buf,
                                         size_t n, int64_t offset, const char *what);
/* The whole of a small file into `out`, which is empty (ALM_E_LIMIT: it is larger than `max`). */
ALM_NODISCARD alm_status alm_io_read_text(alm_ctx *cx, const alm_io *io, const char *path,
                                          int64_t max, alm_buf *out);
/* Variants of open, rename and unlink for paths that this program alone creates, always as regular files. If there is a directory, a
 * link, a pipe or a device at the path, which only an outside process can have made, it is renamed to NAME.damaged, or where that is taken to
 * NAME.damaged.2 to .9; otherwise the call would fail each time, and with it every checkpoint. They return what io's functions return. */
int alm_io_create(const alm_io *io, const char *path, uint32_t flags);
int alm_io_rename_over(const alm_io *io, const char *from, const char *dest);
int alm_io_remove(const alm_io *io, const char *path);
int alm_io_make_dir(const alm_io *io, const char *path); /* moves aside what is no directory */
/* The file `dir`/`name` has these bytes, all of them or what it had before: written beside it, synced,
 * renamed, and the directory synced. */
ALM_NODISCARD alm_status alm_io_replace(alm_ctx *cx, const alm_io *io, const char *dir,
                                        const char *name, const void *buf, size_t n);
/* open_below of a path below the folder of that name, to read. */
int alm_io_open_below(const alm_io *io, const char *folder, const char *path);
/* `path` as alm_io_open_below(folder) wants it: an absolute path inside the folder by its part below it, any other as it is.
 * Only the texts are compared; open_below still says what may be opened. */
const char *alm_io_path_below(const char *folder, const char *path);
/* Maps a negative errno of any call to a status with a message "<what>: <errno text>". */
alm_status alm_io_fail(alm_ctx *cx, int negative_errno, const char *what);

#endif
