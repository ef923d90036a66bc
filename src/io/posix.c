/*
 * posix.c - the table of functions over Linux system calls.
 *
 * Errors      negative errno. EINTR is retried here; short transfers are returned as they are.
 * State       the number of syncs, process-wide (an atomic; the table itself is constant).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "io/io.h"
#include "io/maps.h"
#include "io/opened.h"
#include "io/process.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

static _Atomic int64_t posix_syncs;

/* --------------------------------------------------------------------- names that are pinned */

enum { PINS_MAX = 16 };

typedef struct pin {
    char dir[PATH_MAX];
    size_t len; /* 0: free */
    int handle;
} pin;

static struct {
    pthread_rwlock_t lock;
    _Atomic int32_t n;
    pin pins[PINS_MAX];
} pinned = {.lock = PTHREAD_RWLOCK_INITIALIZER};

typedef struct place { /* for the system calls that end in "at" */
    int dir;
    const char *path;
} place;

/* The directory that `path` begins with, or where it is relative to; of several the longest name counts. */
static place posix_place_of(const char *path)
{
    place out = {AT_FDCWD, path};
    size_t longest = 0;
    if (atomic_load_explicit(&pinned.n, memory_order_acquire) == 0)
        return out;
    const size_t len = strlen(path);
    (void)pthread_rwlock_rdlock(&pinned.lock);
    for (size_t i = 0; i < PINS_MAX; i++) {
        const pin *held = &pinned.pins[i];
        if (held->len <= longest || len < held->len || memcmp(path, held->dir, held->len) != 0 ||
            (path[held->len] != '/' && path[held->len] != 0))
            continue;
        longest = held->len;
        out.dir = held->handle;
        out.path = path + held->len + strspn(path + held->len, "/");
    }
    (void)pthread_rwlock_unlock(&pinned.lock);
    if (longest > 0 && out.path[0] == 0)
        out.path = ".";
    return out;
}

static int px_pin(const alm_io *io, const char *dir, int handle)
{
    (void)io;
    pin *free_pin = NULL;
    int code = 0;
    const size_t len = strlen(dir);
    ALM_ASSERT(len > 0);
    ALM_ASSERT(handle >= 0);
    if (len >= sizeof pinned.pins[0].dir)
        return -ENAMETOOLONG;
    (void)pthread_rwlock_wrlock(&pinned.lock);
    for (size_t i = 0; i < PINS_MAX; i++) {
        pin *held = &pinned.pins[i];
        if (held->len == 0)
            free_pin = free_pin == NULL ? held : free_pin;
        else if (held->len == len && memcmp(held->dir, dir, len) == 0)
            code = -EBUSY;
    }
    if (code == 0 && free_pin == NULL)
        code = -ENFILE;
    if (code == 0) {
        memcpy(free_pin->dir, dir, len + 1);
        free_pin->handle = handle;
        free_pin->len = len;
        atomic_fetch_add(&pinned.n, 1);
    }
    (void)pthread_rwlock_unlock(&pinned.lock);
    return code;
}

static void px_unpin(const alm_io *io, int handle)
{
    (void)io;
    (void)pthread_rwlock_wrlock(&pinned.lock);
    for (size_t i = 0; i < PINS_MAX; i++) {
        pin *held = &pinned.pins[i];
        if (held->len == 0 || held->handle != handle)
            continue;
        held->len = 0;
        atomic_fetch_sub(&pinned.n, 1);
    }
    (void)pthread_rwlock_unlock(&pinned.lock);
}

/* -------------------------------------------------------------------------- files by name */

static int mode_of(uint32_t flags)
{
    int mode = O_CLOEXEC;
    if (flags & ALM_IO_WRITE)
        mode |= flags & ALM_IO_READ ? O_RDWR : O_WRONLY;
    else
        mode |= O_RDONLY;
    if (flags & ALM_IO_CREATE)
        mode |= O_CREAT;
    if (flags & ALM_IO_EXCLUSIVE)
        mode |= O_EXCL;
    if (flags & ALM_IO_TRUNCATE)
        mode |= O_TRUNC;
    return mode;
}

/* A pipe is not waited for, and a file that may be created is never one that a link leads to. */
static int px_open(const alm_io *io, const char *path, uint32_t flags)
{
    (void)io;
    const place at = posix_place_of(path);
    const int mode = mode_of(flags) | O_NONBLOCK | (flags & ALM_IO_CREATE ? O_NOFOLLOW : 0);
    struct stat meta;
    int fd;
    do
        fd = openat(at.dir, at.path, mode, 0640);
    while (fd < 0 && errno == EINTR);
    fd = alm_opened(fd);
    if (fd < 0 || !(flags & ALM_IO_WRITE) || (fstat(fd, &meta) == 0 && S_ISREG(meta.st_mode)))
        return fd;
    (void)close(fd);
    return -ENXIO;
}

static int px_open_dir(const alm_io *io, const char *path)
{
    (void)io;
    const place at = posix_place_of(path);
    int fd;
    do
        fd = openat(at.dir, at.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return alm_opened(fd);
}

static int px_close(const alm_io *io, int handle)
{
    (void)io;
    /* The descriptor is gone even after EINTR (Linux). */
    return close(handle) != 0 && errno != EINTR ? -errno : 0;
}

static int64_t px_size(const alm_io *io, int handle)
{
    struct stat meta;
    (void)io;
    return fstat(handle, &meta) != 0 ? -errno : meta.st_size;
}

static int64_t px_read(const alm_io *io, int handle, void *buf, size_t n, int64_t offset)
{
    (void)io;
    ssize_t done;
    do
        done = pread(handle, buf, n, offset);
    while (done < 0 && errno == EINTR);
    return done < 0 ? -errno : done;
}

/* The system cannot read bytes of a map that was let go. They come back here, and may go again before the next call. */
static bool came_back(const void *buf, size_t n)
{
    uint32_t outs;
    return n > 0 && alm_maps_use_at(buf, &outs) == 0 &&
           alm_maps_use_at((const char *)buf + n - 1, &outs) == 0;
}

static int64_t px_write(const alm_io *io, int handle, const void *buf, size_t n, int64_t offset)
{
    (void)io;
    enum { TRIES = 1000 };
    ssize_t done;
    int tries = 0;
    do
        done = pwrite(handle, buf, n, offset);
    while (done < 0 &&
           (errno == EINTR || (errno == EFAULT && tries++ < TRIES && came_back(buf, n))));
    return done < 0 ? -errno : done;
}

static int px_sync(const alm_io *io, int handle)
{
    (void)io;
    /* Not retried, whatever it says: after a failed sync the kernel may have dropped the pages. */
    if (fdatasync(handle) != 0)
        return -errno;
    atomic_fetch_add_explicit(&posix_syncs, 1, memory_order_relaxed);
    return 0;
}

static int px_sync_dir(const alm_io *io, const char *path)
{
    const int fd = px_open_dir(io, path);
    if (fd < 0)
        return fd;
    const int failed = fsync(fd) != 0 ? -errno : 0;
    (void)close(fd); /* read-only: nothing to lose */
    if (failed == 0)
        atomic_fetch_add_explicit(&posix_syncs, 1, memory_order_relaxed);
    return failed;
}

/* File systems whose syncfs waits for the disk and returns the errors of files. A network, a FUSE or a stacked file system
 * may do neither. */
static bool vouches(int64_t type)
{
    static const int64_t types[] = {0xef53 /* ext4 */, 0x58465342 /* XFS */, 0x9123683e /* Btrfs */,
                                    0xf2f52010 /* F2FS */, 0x01021994 /* tmpfs */};
    for (size_t i = 0; i < ALM_COUNT(types); i++)
        if (types[i] == type)
            return true;
    return false;
}

/* syncfs returns errors of files since Linux 5.8. */
static bool kernel_tells_errors(void)
{
    struct utsname name;
    if (uname(&name) != 0)
        return false;
    char *end = NULL;
    const long major = strtol(name.release, &end, 10);
    const long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 8);
}

static bool px_syncs_all(const alm_io *io, int dir)
{
    struct statfs fs;
    (void)io;
    return kernel_tells_errors() && fstatfs(dir, &fs) == 0 && vouches((int64_t)(uint32_t)fs.f_type);
}

static int px_sync_all(const alm_io *io, int dir)
{
    (void)io;
    if (syncfs(dir) != 0) /* not retried, as any sync */
        return -errno;
    atomic_fetch_add_explicit(&posix_syncs, 1, memory_order_relaxed);
    return 0;
}

static int px_allocate(const alm_io *io, int handle, int64_t offset, int64_t n)
{
    (void)io;
    int code;
    do
        code = fallocate(handle, 0, offset, n) != 0 ? errno : 0;
    while (code == EINTR);
    if (code == EOPNOTSUPP) /* file systems without fallocate: posix_fallocate writes zeros */
        code = posix_fallocate(handle, offset, n);
    return -code;
}

static int px_truncate(const alm_io *io, int handle, int64_t size)
{
    (void)io;
    int failed;
    do
        failed = ftruncate(handle, size);
    while (failed != 0 && errno == EINTR);
    return failed != 0 ? -errno : 0;
}

static int px_rename(const alm_io *io, const char *from, const char *dest)
{
    (void)io;
    const place a = posix_place_of(from), b = posix_place_of(dest);
    return renameat(a.dir, a.path, b.dir, b.path) != 0 ? -errno : 0;
}

static int px_unlink(const alm_io *io, const char *path)
{
    (void)io;
    const place at = posix_place_of(path);
    return unlinkat(at.dir, at.path, 0) != 0 ? -errno : 0;
}

static int px_mkdir(const alm_io *io, const char *path)
{
    (void)io;
    const place at = posix_place_of(path);
    if (mkdirat(at.dir, at.path, 0750) == 0)
        return 0;
    const int code = errno;
    struct stat meta;
    if (code == EEXIST && fstatat(at.dir, at.path, &meta, 0) == 0 && S_ISDIR(meta.st_mode))
        return 0;
    return code == EEXIST ? -ENOTDIR : -code;
}

static int px_rmdir(const alm_io *io, const char *path)
{
    (void)io;
    const place at = posix_place_of(path);
    return unlinkat(at.dir, at.path, AT_REMOVEDIR) != 0 ? -errno : 0;
}

static void fill_stat(const struct stat *meta, alm_io_stat *out)
{
    out->size_bytes = meta->st_size;
    out->changed_us = (int64_t)meta->st_mtim.tv_sec * 1000000 + meta->st_mtim.tv_nsec / 1000;
    out->is_dir = S_ISDIR(meta->st_mode);
    out->is_file = S_ISREG(meta->st_mode);
    out->identity = (uint64_t)meta->st_ino;
    out->device = (uint64_t)meta->st_dev;
}

static int px_stat(const alm_io *io, const char *path, alm_io_stat *out)
{
    (void)io;
    const place at = posix_place_of(path);
    struct stat meta;
    if (fstatat(at.dir, at.path, &meta, 0) != 0)
        return -errno;
    fill_stat(&meta, out);
    return 0;
}

static int px_space(const alm_io *io, const char *path, int64_t *all, int64_t *free)
{
    (void)io;
    struct statvfs volume;
    const place at = posix_place_of(path);
    const int dir = alm_opened(openat(at.dir, at.path, O_PATH | O_CLOEXEC));
    if (dir < 0)
        return dir;
    const int code = fstatvfs(dir, &volume) == 0 ? 0 : -errno;
    (void)close(dir);
    *all = (int64_t)(volume.f_blocks * volume.f_frsize);
    *free = (int64_t)(volume.f_bavail * volume.f_frsize);
    return code;
}

static int without_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int posix_by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int posix_list_at(int dir, const char *path, int (*each)(void *arg, const char *name),
                         void *arg)
{
    struct dirent **entries = NULL;
    const int n_entries = scandirat(dir, path, &entries, without_dots, posix_by_name);
    if (n_entries < 0)
        return -errno;
    int stop = 0;
    for (int i = 0; i < n_entries; i++) {
        if (stop == 0)
            stop = each(arg, entries[i]->d_name);
        free(entries[i]);
    }
    free((void *)entries);
    return stop;
}

static int px_list(const alm_io *io, const char *path, int (*each)(void *arg, const char *name),
                   void *arg)
{
    (void)io;
    const place at = posix_place_of(path);
    return posix_list_at(at.dir, at.path, each, arg);
}

/* ------------------------------------------------------- below a folder that others may change */

static int dup_dir(int dir)
{
    return alm_opened(fcntl(dir, F_DUPFD_CLOEXEC, 0));
}

static int step_below(int dir, alm_str name, int mode)
{
    char step[NAME_MAX + 1];
    struct stat meta;
    int fd;
    if (name.len > NAME_MAX)
        return -ENAMETOOLONG;
    if (alm_str_eq(name, ALM_STR("..")))
        return -EXDEV;
    memcpy(step, name.ptr, name.len);
    step[name.len] = 0;
    do
        fd = openat(dir, step, O_NOFOLLOW | O_CLOEXEC | mode, 0640);
    while (fd < 0 && errno == EINTR);
    const int code = alm_opened(fd);
    if (code != -ENOTDIR) /* said of a link, too, where a directory is asked for */
        return code;
    const bool is_other = fstatat(dir, step, &meta, AT_SYMLINK_NOFOLLOW) == 0 &&
                          !S_ISLNK(meta.st_mode) && !S_ISDIR(meta.st_mode);
    return is_other ? code : -ELOOP; /* a directory by now: it was a link */
}

/*
 * What openat2 does with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS: each step is taken from the descriptor of the one before,
 * never by a name that was looked at earlier, and no step is a link or "..".
 */
static int walk_below(int dir, const char *path, int mode)
{
    int at = dir;
    if (path[0] == '/')
        return -EXDEV;
    for (const char *name = path;;) {
        const size_t len = strcspn(name, "/");
        const char *const rest = name + len + strspn(name + len, "/");
        const bool is_last = *rest == 0;
        const int fd = step_below(at, (alm_str){name, len}, is_last ? mode : O_PATH | O_DIRECTORY);
        if (at != dir)
            (void)close(at);
        if (fd < 0 || is_last)
            return fd;
        at = fd;
        name = rest;
    }
}

static int resolve_below(const alm_io *io, int dir, const char *path, int mode, bool links)
{
    static atomic_bool
        is_missing; /* the kernel, or a filter of system calls, does not know openat2 */
    enum { TRIES = 64 };
    if (path[0] == 0)
        return -ENOENT;
    if (io->self != NULL || atomic_load_explicit(&is_missing, memory_order_relaxed))
        return walk_below(dir, path, mode);
    const struct open_how how = {.flags = (unsigned)(mode | O_CLOEXEC),
                                 .mode = mode & O_CREAT ? 0640 : 0,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                                            (links ? 0 : RESOLVE_NO_SYMLINKS)};
    /* EAGAIN: something was renamed while a ".." of a link was resolved, and the kernel cannot be sure. */
    for (int i = 0; i < TRIES; i++) {
        const int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
        if (fd >= 0)
            return alm_opened(fd);
        if (errno == ENOSYS || errno == EPERM || errno == E2BIG) {
            if (errno == ENOSYS)
                atomic_store_explicit(&is_missing, true, memory_order_relaxed);
            return walk_below(dir, path, mode);
        }
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    }
    return -EAGAIN;
}

static int px_open_dir_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    if (path[0] == 0)
        return dup_dir(dir);
    return resolve_below(io, dir, path, O_RDONLY | O_DIRECTORY, !(flags & ALM_IO_NO_LINKS));
}

static int px_open_below(const alm_io *io, int dir, const char *path, uint32_t flags)
{
    struct stat meta;
    /* A pipe is not waited for. */
    const int fd =
        resolve_below(io, dir, path, mode_of(flags) | O_NONBLOCK, !(flags & ALM_IO_NO_LINKS));
    if (fd < 0)
        return fd;
    if (fstat(fd, &meta) == 0 && S_ISREG(meta.st_mode))
        return fd;
    (void)close(fd);
    return -EINVAL;
}

static int px_stat_in(const alm_io *io, int dir, const char *name, alm_io_stat *out)
{
    (void)io;
    struct stat meta;
    ALM_ASSERT(strchr(name, '/') == NULL);
    if (fstatat(dir, name, &meta, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    fill_stat(&meta, out);
    return 0;
}

static int px_list_in(const alm_io *io, int dir, int (*each)(void *arg, const char *name),
                      void *arg)
{
    (void)io;
    return posix_list_at(dir, ".", each, arg);
}

static int px_mkdir_in(const alm_io *io, int dir, const char *name)
{
    (void)io;
    ALM_ASSERT(strchr(name, '/') == NULL);
    return mkdirat(dir, name, 0750) != 0 ? -errno : 0;
}

static int px_rename_in(const alm_io *io, int from_dir, const char *from, int to_dir,
                        const char *dest)
{
    (void)io;
    ALM_ASSERT(strchr(from, '/') == NULL);
    ALM_ASSERT(strchr(dest, '/') == NULL);
    return renameat(from_dir, from, to_dir, dest) != 0 ? -errno : 0;
}

static int px_unlink_in(const alm_io *io, int dir, const char *name)
{
    (void)io;
    ALM_ASSERT(strchr(name, '/') == NULL);
    return unlinkat(dir, name, 0) != 0 ? -errno : 0;
}

static int px_sync_in(const alm_io *io, int dir)
{
    (void)io;
    if (fsync(dir) != 0)
        return -errno;
    atomic_fetch_add_explicit(&posix_syncs, 1, memory_order_relaxed);
    return 0;
}

static int px_map(const alm_io *io, int handle, size_t n, const void **out)
{
    (void)io;
    void *addr = mmap(NULL, n, PROT_READ, MAP_SHARED, handle, 0);
    if (addr == MAP_FAILED)
        return -errno;
    if (alm_maps_add(addr, n) < 0) {
        (void)munmap(addr, n);
        return -ENOMEM;
    }
    *out = addr;
    return 0;
}

static int px_map_file(const alm_io *io, const char *path, alm_io_map **out)
{
    (void)io;
    const place at = posix_place_of(path);
    return alm_maps_open(at.dir, at.path, out);
}

static void px_unmap_file(const alm_io *io, alm_io_map *map)
{
    (void)io;
    alm_maps_close(map);
}

static int px_use_map(const alm_io *io, alm_io_map *map)
{
    (void)io;
    return alm_maps_use(map);
}

static void px_limit_maps(const alm_io *io, int64_t n)
{
    (void)io;
    alm_maps_limit(n);
}

static void px_map_counts(const alm_io *io, alm_io_map_counts *out)
{
    (void)io;
    alm_maps_counts(out);
}

static int px_unmap(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    void *plain;
    memcpy(&plain, &addr, sizeof plain); /* munmap takes no const */
    alm_maps_remove_within(addr, n);
    return munmap(plain, n) != 0 ? -errno : 0;
}

static int px_reserve(const alm_io *io, size_t n, void **out)
{
    (void)io;
    void *addr =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addr == MAP_FAILED)
        return -errno;
    *out = addr;
    return 0;
}

static int px_back(const alm_io *io, void *addr, size_t n, int handle, int64_t offset)
{
    (void)io;
    if (mmap(addr, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, handle, offset) == MAP_FAILED)
        return -errno;
    return alm_maps_add(addr, n);
}

/* A new map over the old one: the pages of a file go with it, too. */
static int px_forget(const alm_io *io, void *addr, size_t n)
{
    (void)io;
    alm_maps_remove_within(addr, n);
    return mmap(addr, n, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED
               ? -errno
               : 0;
}

static int populate(uintptr_t lo, uintptr_t hi)
{
    if (madvise((void *)lo, hi - lo, MADV_POPULATE_READ) == 0)
        return 0;
    return errno == EHWPOISON ? -EFAULT : -errno;
}

/* What cannot be read: bytes of a disk that fails, or a map that is out? It comes back, and if it then stays, it is the bytes. */
static int populate_again(uintptr_t lo, uintptr_t hi, const void *addr)
{
    for (;;) {
        uint32_t before = 0, after = 0;
        const bool known = alm_maps_use_at(addr, &before) == 0;
        const int code = populate(lo, hi);
        if ((code != -EFAULT && code != -EINVAL) || !known || alm_maps_use_at(addr, &after) < 0 ||
            after == before)
            return code;
    }
}

static int px_prefetch(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    const uintptr_t page = 4096;
    const uintptr_t lo = (uintptr_t)addr & ~(page - 1);
    const uintptr_t hi = ((uintptr_t)addr + n + page - 1) & ~(page - 1);
    if (hi <= lo)
        return 0;
    int code = populate(lo, hi);
    if (code == -EFAULT || code == -EINVAL) /* the system says the one or the other */
        code = populate_again(lo, hi, addr);
    if (code == -EINVAL) /* older kernel: a hint will do */
        return madvise((void *)lo, hi - lo, MADV_WILLNEED) != 0 ? -errno : 0;
    return code;
}

static void px_release(const alm_io *io, const void *addr, size_t n)
{
    (void)io;
    const uintptr_t page = 4096; /* only whole ones: others may be read at the edges */
    const uintptr_t lo = ((uintptr_t)addr + page - 1) & ~(page - 1);
    const uintptr_t hi = ((uintptr_t)addr + n) & ~(page - 1);
    if (hi > lo)
        (void)madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

static int64_t px_map_faults(const alm_io *io)
{
    (void)io;
    return alm_maps_faults();
}

static bool px_map_is_broken(const alm_io *io, const void *addr)
{
    (void)io;
    return alm_maps_is_broken(addr);
}

static int px_lock(const alm_io *io, int handle)
{
    (void)io;
    int failed;
    /* Of the open file description, like F_OFD_SETLK, which takes no exclusive lock of a directory: that would have to
     * be open for writing. */
    do
        failed = flock(handle, LOCK_EX | LOCK_NB);
    while (failed != 0 && errno == EINTR);
    if (failed == 0)
        return 0;
    return errno == ENOSYS || errno == EINVAL || errno == EBADF ? -EOPNOTSUPP : -errno;
}

static void px_process_self(const alm_io *io, alm_io_process *out)
{
    (void)io;
    alm_process_self(out);
}

static int px_process_runs(const alm_io *io, const alm_io_process *process)
{
    (void)io;
    return alm_process_runs(process);
}

static int64_t posix_clock_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for these clocks */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t px_wall_ns(const alm_io *io)
{
    (void)io;
    return posix_clock_ns(CLOCK_REALTIME);
}

static int64_t px_mono_ns(const alm_io *io)
{
    (void)io;
    return posix_clock_ns(CLOCK_MONOTONIC);
}

static void px_machine(const alm_io *io, alm_machine *out)
{
    (void)io;
    alm_machine_get(out);
}

static void px_pause(const alm_io *io, int64_t nanos)
{
    (void)io;
    const struct timespec pause = {.tv_sec = nanos / 1000000000, .tv_nsec = nanos % 1000000000};
    (void)nanosleep(&pause, NULL);
}

static int px_random(const alm_io *io, void *buf, size_t n)
{
    (void)io;
    char *ptr = buf;
    while (n > 0) {
        const ssize_t got = getrandom(ptr, n, 0);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0) {
            ptr += got;
            n -= (size_t)got;
        }
    }
    return 0;
}

static int64_t px_sync_count(const alm_io *io)
{
    (void)io;
    return atomic_load_explicit(&posix_syncs, memory_order_relaxed);
}

static const alm_io posix_table = {
    .self = NULL,
    .open = px_open,
    .open_dir = px_open_dir,
    .open_dir_below = px_open_dir_below,
    .open_below = px_open_below,
    .stat_in = px_stat_in,
    .list_in = px_list_in,
    .mkdir_in = px_mkdir_in,
    .rename_in = px_rename_in,
    .unlink_in = px_unlink_in,
    .sync_in = px_sync_in,
    .close = px_close,
    .size = px_size,
    .read = px_read,
    .write = px_write,
    .sync = px_sync,
    .sync_dir = px_sync_dir,
    .sync_all = px_sync_all,
    .syncs_all = px_syncs_all,
    .allocate = px_allocate,
    .truncate = px_truncate,
    .rename = px_rename,
    .unlink = px_unlink,
    .mkdir = px_mkdir,
    .rmdir = px_rmdir,
    .stat = px_stat,
    .space = px_space,
    .list = px_list,
    .map = px_map,
    .unmap = px_unmap,
    .map_file = px_map_file,
    .unmap_file = px_unmap_file,
    .use_map = px_use_map,
    .limit_maps = px_limit_maps,
    .map_counts = px_map_counts,
    .reserve = px_reserve,
    .back = px_back,
    .forget = px_forget,
    .prefetch = px_prefetch,
    .release = px_release,
    .map_faults = px_map_faults,
    .map_is_broken = px_map_is_broken,
    .lock = px_lock,
    .pin = px_pin,
    .unpin = px_unpin,
    .process_self = px_process_self,
    .process_runs = px_process_runs,
    .wall_ns = px_wall_ns,
    .mono_ns = px_mono_ns,
    .machine = px_machine,
    .pause = px_pause,
    .random = px_random,
    .sync_count = px_sync_count,
};

const alm_io *alm_io_posix(void)
{
    return &posix_table;
}

alm_io alm_io_posix_without_openat2(void)
{
    static const bool without = true;
    alm_io table = posix_table;
    table.self = (void *)(uintptr_t)&without;
    return table;
}
