/*
 * io_fault.c - preloaded into a server under test: file calls fail on demand. The file IO_FAULT_FILE
 * holds one byte that the test changes while the server runs:
 *
 *   's'  syncs fail with EIO          'w'  writes fail with EIO
 *   'f'  new space is refused with ENOSPC: a full disk      anything else: nothing fails
 *
 *   IO_FAULT_FILE=path LD_PRELOAD=io_fault.so almanac ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile const char *what = "";

__attribute__((constructor)) static void open_switch(void)
{
    const char *path = getenv("IO_FAULT_FILE");
    const int fd = path != NULL ? open(path, O_RDONLY) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        what = at;
}

static int fails(char kind, int error)
{
    if (*what != kind)
        return 0;
    errno = error;
    return 1;
}

#define REAL(name) (real != NULL ? real : (real = (name##_fn)dlsym(RTLD_NEXT, #name)))

typedef int (*fdatasync_fn)(int);
int fdatasync(int fd)
{
    static fdatasync_fn real;
    return fails('s', EIO) ? -1 : REAL(fdatasync)(fd);
}

typedef int (*syncfs_fn)(int);
int syncfs(int fd)
{
    static syncfs_fn real;
    return fails('s', EIO) ? -1 : REAL(syncfs)(fd);
}

typedef int (*fsync_fn)(int);
int fsync(int fd)
{
    static fsync_fn real;
    return fails('s', EIO) ? -1 : REAL(fsync)(fd);
}

typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);
ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
    static pwrite_fn real;
    return fails('w', EIO) ? -1 : REAL(pwrite)(fd, buf, n, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t at)
{
    return pwrite(fd, buf, n, at);
}

typedef int (*fallocate_fn)(int, int, off_t, off_t);
int fallocate(int fd, int mode, off_t at, off_t n)
{
    static fallocate_fn real;
    return fails('f', ENOSPC) ? -1 : REAL(fallocate)(fd, mode, at, n);
}
