/*
 * alloc_fault.c - preloaded into a server under test: the n-th request for memory fails, once. The file
 * ALLOC_FAULT_FILE holds two 64-bit numbers that the test reads and writes while the server runs: how many
 * requests may still succeed (negative: all), and how many have failed.
 *
 *   ALLOC_FAULT_FILE=path LD_PRELOAD=alloc_fault.so almanac ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct control {
    _Atomic long left, failed;
} control;

static control *volatile page;
static char early[1 << 16]; /* for dlsym itself */
static size_t early_used;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned)(size_t, size_t);
static void (*real_free)(void *);
static int looking;

static void look_up(void)
{
    looking = 1;
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real_aligned = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    looking = 0;
}

/* The first request comes while the program has one thread. */
static int is_early(void)
{
    if (real_free == NULL && !looking)
        look_up();
    return looking;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("ALLOC_FAULT_FILE");
    const int fd = path != NULL ? open(path, O_RDWR) : -1;
    void *at = fd < 0 ? MAP_FAILED
                      : mmap(NULL, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        page = at;
}

static int fails(void)
{
    control *c = page;
    if (c == NULL || atomic_load_explicit(&c->left, memory_order_relaxed) < 0)
        return 0;
    if (atomic_fetch_sub(&c->left, 1) != 0)
        return 0;
    atomic_fetch_add(&c->failed, 1);
    errno = ENOMEM;
    return 1;
}

static void *early_bytes(size_t n)
{
    void *at = early + early_used;
    early_used += (n + 15) & ~(size_t)15;
    return early_used <= sizeof early ? at : NULL;
}

void *malloc(size_t n)
{
    return is_early() ? early_bytes(n) : fails() ? NULL : real_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return is_early() ? early_bytes(n * size) : fails() ? NULL : real_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    return is_early() ? early_bytes(n) : fails() ? NULL : real_realloc(at, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    (void)is_early();
    return fails() ? NULL : real_aligned(align, n);
}

void free(void *at)
{
    const char *p = at;
    if (p < early || p >= early + sizeof early) {
        (void)is_early();
        real_free(at);
    }
}
