/*
 * sync_count.c - preloaded into a server under test: counts its sync calls in a shared file, so that
 * a test can hold them against acknowledgements without trusting the server's own figures.
 *
 *   SYNC_COUNT_FILE=path LD_PRELOAD=sync_count.so almanac ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic int64_t *counter;

__attribute__((constructor)) static void open_counter(void)
{
    const char *path = getenv("SYNC_COUNT_FILE");
    const int fd = path != NULL ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, 8) != 0)
        return;
    void *at = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        counter = at;
}

static void count(void)
{
    if (counter != NULL)
        atomic_fetch_add(counter, 1);
}

int fdatasync(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    count();
    return real(fd);
}

int fsync(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    count();
    return real(fd);
}

int syncfs(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        real = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    count();
    return real(fd);
}
