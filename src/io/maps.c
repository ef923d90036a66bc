/*
 * maps.c - see maps.h.
 *
 * ThreadSanitizer takes a call of mmap for a write of all bytes of the range, and would report readers of the same bytes.
 * A file that goes and comes back changes no byte for its readers, so these calls are made without its knowledge.
 */
#include "io/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "io/opened.h"
#include "io/process.h"
#include "io/ranges.h"

enum { PAGE = 4096 };

/* Memory of a map is never freed, only used again: handlers and the hand look at any of them at any time. */
typedef struct map {
    alm_io_map shown; /* first: what others have of it */
    _Atomic uint32_t outs;
    int dir;
    char *path; /* of `dir` */
    dev_t device;
    ino_t inode;
    struct map *next_free;
} map;

/* Maps by number: blocks of FIRST, 2 FIRST, 4 FIRST ... so that none ever moves. */
enum { FIRST = 1024, BLOCKS = 24 };

static struct {
    alm_ranges ranges;
    pthread_mutex_t lock; /* free maps, and new blocks */
    map *free;
    _Atomic(map *) blocks[BLOCKS];
    _Atomic uint32_t n;    /* maps that were ever made */
    _Atomic uint32_t hand; /* number of the next map to look at */
    _Atomic int64_t limit, in, open;
    _Atomic int64_t let_go, returns, returns_by_fault, faults;
    atomic_bool caught;
    struct sigaction bus_before, segv_before;
} maps = {.ranges = ALM_RANGES_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .limit = INT64_MAX};

static map *map_of(alm_io_map *shown)
{
    return (map *)(void *)shown;
}

static map *map_at(uint32_t number)
{
    const uint32_t block = 31U - (uint32_t)__builtin_clz(number / FIRST + 1);
    map *first = atomic_load_explicit(&maps.blocks[block], memory_order_acquire);
    return first + (number - FIRST * ((1U << block) - 1));
}

/* ---------------------------------------------------------------------- memory of maps */

static bool add_block(uint32_t n)
{
    const uint32_t block = 31U - (uint32_t)__builtin_clz(n / FIRST + 1);
    if (n != FIRST * ((1U << block) - 1))
        return true; /* there is room in the last one */
    map *fresh = block < BLOCKS ? calloc((size_t)FIRST << block, sizeof *fresh) : NULL;
    if (fresh != NULL)
        atomic_store_explicit(&maps.blocks[block], fresh, memory_order_release);
    return fresh != NULL;
}

static map *io_map_new(void)
{
    (void)pthread_mutex_lock(&maps.lock);
    map *mapping = maps.free;
    const uint32_t n = atomic_load(&maps.n);
    if (mapping != NULL) {
        maps.free = mapping->next_free;
    } else if (add_block(n)) {
        mapping = map_at(n);
        atomic_store_explicit(&maps.n, n + 1, memory_order_release);
    }
    (void)pthread_mutex_unlock(&maps.lock);
    return mapping;
}

static void map_free(map *mapping)
{
    free(mapping->path);
    mapping->path = NULL;
    mapping->shown.at = NULL;
    mapping->shown.bytes = 0;
    atomic_store(&mapping->shown.state, ALM_MAP_FREE);
    (void)pthread_mutex_lock(&maps.lock);
    mapping->next_free = maps.free;
    maps.free = mapping;
    (void)pthread_mutex_unlock(&maps.lock);
}

/* ------------------------------------------------------------------------- going, coming back */

static void *map_raw(const void *ptr, size_t bytes, int prot, int flags, int fd)
{
    return (void *)syscall(SYS_mmap, ptr, bytes, prot, flags | MAP_FIXED, fd, (off_t)0);
}

static bool maps_take(map *mapping, uint32_t state)
{
    return atomic_compare_exchange_strong(&mapping->shown.state, &state, ALM_MAP_BUSY);
}

static void maps_give(map *mapping, uint32_t state)
{
    ALM_DASSERT(atomic_load(&mapping->shown.state) == ALM_MAP_BUSY);
    atomic_store(&mapping->shown.state, state);
}

static bool maps_let_go(map *mapping)
{
    if (!maps_take(mapping, ALM_MAP_IN))
        return false;
    const void *got = map_raw(mapping->shown.at, mapping->shown.bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (got == MAP_FAILED) {
        maps_give(mapping, ALM_MAP_IN);
        return false;
    }
    atomic_fetch_add(&mapping->outs, 1);
    atomic_fetch_sub(&maps.in, 1);
    atomic_fetch_add_explicit(&maps.let_go, 1, memory_order_relaxed);
    maps_give(mapping, ALM_MAP_OUT);
    return true;
}

/* The next one that was not used since the hand came by last. False: there is none, others may be at it. */
static bool let_one_go(void)
{
    const uint32_t n = atomic_load_explicit(&maps.n, memory_order_acquire);
    for (uint64_t i = 0; i < 2 * (uint64_t)n; i++) {
        map *mapping = map_at(atomic_fetch_add_explicit(&maps.hand, 1, memory_order_relaxed) % n);
        if (atomic_load_explicit(&mapping->shown.state, memory_order_relaxed) != ALM_MAP_IN ||
            atomic_exchange_explicit(&mapping->shown.used, false, memory_order_relaxed))
            continue;
        if (maps_let_go(mapping))
            return true;
    }
    return false;
}

/* Room for one more. Several threads at once may be over the limit by their number. */
static void maps_make_room(void)
{
    const int64_t limit = atomic_load_explicit(&maps.limit, memory_order_relaxed);
    while (atomic_load(&maps.in) >= limit && atomic_load(&maps.caught) && let_one_go()) {
    }
}

static int maps_open_file(int dir, const char *path)
{
    int fd;
    do
        fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return alm_opened(fd);
}

/* Whoever calls has made it BUSY. */
static int come_back(map *mapping)
{
    struct stat meta;
    int code = 0;
    const int fd = maps_open_file(mapping->dir, mapping->path);
    if (fd < 0)
        return fd;
    if (fstat(fd, &meta) != 0)
        code = -errno;
    else if (meta.st_dev != mapping->device || meta.st_ino != mapping->inode)
        code = -ESTALE; /* another file has the name by now */
    else if (map_raw(mapping->shown.at, mapping->shown.bytes, PROT_READ, MAP_SHARED, fd) ==
             MAP_FAILED)
        code = -errno;
    (void)close(fd); /* read-only: nothing to lose */
    if (code == 0) {
        atomic_fetch_add(&maps.in, 1);
        atomic_fetch_add_explicit(&maps.returns, 1, memory_order_relaxed);
    }
    return code;
}

int alm_maps_use(alm_io_map *shown)
{
    map *mapping = map_of(shown);
    for (;;) {
        const uint32_t state = atomic_load(&shown->state);
        ALM_ASSERT(state != ALM_MAP_FREE);
        if (state == ALM_MAP_BROKEN)
            return -EIO;
        if (state == ALM_MAP_IN || state == ALM_MAP_STAYS)
            return 0;
        if (state == ALM_MAP_OUT) {
            maps_make_room();
            atomic_store_explicit(&shown->used, true, memory_order_relaxed);
            if (maps_take(mapping, ALM_MAP_OUT)) {
                const int code = come_back(mapping);
                maps_give(mapping, code == 0 ? ALM_MAP_IN : ALM_MAP_OUT);
                return code;
            }
        }
        (void)sched_yield();
    }
}

int alm_maps_use_at(const void *addr, uint32_t *outs)
{
    map *mapping = alm_ranges_find(&maps.ranges, addr);
    *outs = mapping != NULL ? atomic_load(&mapping->outs) : 0;
    return mapping != NULL ? alm_maps_use(&mapping->shown) : -ENOENT;
}

/* ---------------------------------------------------------------------------- open and close */

static int maps_put_in(map *mapping, const void *ptr, size_t bytes, uint32_t state)
{
    mapping->shown.at = ptr;
    mapping->shown.bytes = bytes;
    atomic_store(&mapping->outs, 0);
    atomic_store(&mapping->shown.used, true);
    atomic_store(&mapping->shown.state, state);
    return alm_ranges_add(&maps.ranges, ptr, bytes, mapping) ? 0 : -ENOMEM;
}

int alm_maps_add(const void *addr, size_t bytes)
{
    map *mapping = io_map_new();
    if (mapping == NULL)
        return -ENOMEM;
    const int code = maps_put_in(mapping, addr, bytes, ALM_MAP_STAYS);
    if (code < 0)
        map_free(mapping);
    return code;
}

/* Makes it BUSY for good and forgets its range. */
static uint32_t take_for_good(map *mapping)
{
    for (;;) {
        const uint32_t state = atomic_load(&mapping->shown.state);
        ALM_ASSERT(state != ALM_MAP_FREE);
        if (state != ALM_MAP_BUSY && maps_take(mapping, state)) {
            alm_ranges_remove(&maps.ranges, mapping->shown.at);
            return state;
        }
        (void)sched_yield();
    }
}

void alm_maps_remove_within(const void *addr, size_t bytes)
{
    for (map *mapping; (mapping = alm_ranges_first(&maps.ranges, addr, bytes)) != NULL;) {
        (void)take_for_good(mapping);
        map_free(mapping);
    }
}

static int map_whole(map *mapping, int fd)
{
    struct stat meta;
    if (fstat(fd, &meta) != 0)
        return -errno;
    if (meta.st_size == 0)
        return -ENODATA;
    mapping->device = meta.st_dev;
    mapping->inode = meta.st_ino;
    const size_t bytes = (size_t)meta.st_size;
    void *ptr = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (ptr == MAP_FAILED && errno == ENOMEM && let_one_go())
        ptr = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (ptr == MAP_FAILED)
        return -errno;
    atomic_fetch_add(&maps.in, 1);
    const int code = maps_put_in(mapping, ptr, bytes, ALM_MAP_IN);
    if (code < 0) {
        atomic_fetch_sub(&maps.in, 1);
        (void)munmap(ptr, bytes);
    }
    return code;
}

int alm_maps_open(int dir, const char *path, alm_io_map **out)
{
    maps_make_room();
    map *mapping = io_map_new();
    if (mapping == NULL)
        return -ENOMEM;
    mapping->dir = dir;
    mapping->path = strdup(path);
    const int fd = mapping->path != NULL ? maps_open_file(dir, path) : -ENOMEM;
    const int code = fd >= 0 ? map_whole(mapping, fd) : fd;
    if (fd >= 0)
        (void)close(fd);
    if (code < 0) {
        map_free(mapping);
        return code;
    }
    atomic_fetch_add_explicit(&maps.open, 1, memory_order_relaxed);
    *out = &mapping->shown;
    return 0;
}

void alm_maps_close(alm_io_map *shown)
{
    map *mapping = map_of(shown);
    void *plain;
    memcpy(&plain, &shown->at, sizeof plain); /* munmap takes no const */
    if (take_for_good(mapping) == ALM_MAP_IN)
        atomic_fetch_sub(&maps.in, 1);
    (void)munmap(plain, shown->bytes);
    map_free(mapping);
    atomic_fetch_sub_explicit(&maps.open, 1, memory_order_relaxed);
}

void alm_maps_limit(int64_t n)
{
    enum { SHARE = 3, USUAL = 65530 /* of Linux */ };
    if (n <= 0) {
        n = alm_process_maps_max();
        n = (n > 0 ? n : USUAL) / SHARE;
    }
    atomic_store(&maps.limit, ALM_MAX(n, INT64_C(1)));
}

void alm_maps_counts(alm_io_map_counts *out)
{
    *out = (alm_io_map_counts){.limit = atomic_load(&maps.limit),
                               .open = atomic_load(&maps.open),
                               .in = atomic_load(&maps.in),
                               .let_go = atomic_load(&maps.let_go),
                               .returns = atomic_load(&maps.returns),
                               .returns_by_fault = atomic_load(&maps.returns_by_fault)};
}

int64_t alm_maps_faults(void)
{
    return atomic_load_explicit(&maps.faults, memory_order_relaxed);
}

bool alm_maps_is_broken(const void *addr)
{
    const map *mapping = alm_maps_faults() > 0 ? alm_ranges_find(&maps.ranges, addr) : NULL;
    return mapping != NULL && atomic_load(&mapping->shown.state) == ALM_MAP_BROKEN;
}

/* ------------------------------------------------------------------------------- the handlers */

static bool put_zeros(const void *ptr, size_t bytes)
{
    return map_raw(ptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1) != MAP_FAILED;
}

/* Zeros in the place of the page. True: the thread may go on. */
static bool mend_page(map *mapping, uintptr_t addr)
{
    const uint32_t state = atomic_load(&mapping->shown.state);
    if (state == ALM_MAP_BUSY || state == ALM_MAP_OUT || !maps_take(mapping, state)) {
        (void)sched_yield();
        return true; /* the page is touched again */
    }
    const uintptr_t from = (uintptr_t)mapping->shown.at; /* so that the pointer is one of the map */
    atomic_fetch_add(&maps.faults, 1);                   /* before others can read the zeros */
    const bool done =
        put_zeros((const char *)mapping->shown.at + (addr - from) / PAGE * PAGE, (size_t)PAGE);
    if (state == ALM_MAP_IN)
        atomic_fetch_sub(&maps.in, 1); /* it stays from now on */
    maps_give(mapping, ALM_MAP_BROKEN);
    return done;
}

/* What is short now may be there a moment later. */
static bool maps_is_passing(int code)
{
    return code == -EMFILE || code == -ENFILE || code == -ENOMEM || code == -EAGAIN;
}

/* The thread that holds it BUSY brings it back, or marks it as broken. */
static bool come_back_or_break(map *mapping)
{
    enum { TRIES = 10000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    int code = come_back(mapping);
    for (int i = 0; i < TRIES && maps_is_passing(code); i++) {
        if (code == -ENOMEM)
            (void)let_one_go();
        (void)nanosleep(&pause, NULL);
        code = come_back(mapping);
    }
    if (code == 0) {
        atomic_fetch_add_explicit(&maps.returns_by_fault, 1, memory_order_relaxed);
        maps_give(mapping, ALM_MAP_IN);
        return true;
    }
    atomic_fetch_add(&maps.faults, 1);
    const bool done = put_zeros(mapping->shown.at, mapping->shown.bytes);
    maps_give(mapping, ALM_MAP_BROKEN);
    return done;
}

/*
 * The same address again and again, though the map is there: no access that is allowed, as a write. A map that comes and
 * goes may look so a few times.
 */
static bool is_hopeless(uintptr_t addr)
{
    enum { TIMES = 10000 };
    static _Thread_local uintptr_t last;
    static _Thread_local uint32_t times;
    times = last == addr ? times + 1 : 0;
    last = addr;
    return times > TIMES;
}

static bool mend_map(map *mapping, uintptr_t addr)
{
    const uint32_t state = atomic_load(&mapping->shown.state);
    if (state == ALM_MAP_STAYS || state == ALM_MAP_BROKEN || state == ALM_MAP_FREE)
        return false;
    if (state == ALM_MAP_IN)
        return !is_hopeless(addr);
    if (state == ALM_MAP_BUSY) {
        (void)sched_yield();
        return true;
    }
    maps_make_room();
    atomic_store_explicit(&mapping->shown.used, true, memory_order_relaxed);
    return maps_take(mapping, ALM_MAP_OUT) ? come_back_or_break(mapping) : true;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int before = errno;
    const uintptr_t addr = (uintptr_t)info->si_addr;
    map *mapping = alm_ranges_find(&maps.ranges, info->si_addr);
    const bool done =
        mapping != NULL && (number == SIGBUS ? mend_page(mapping, addr) : mend_map(mapping, addr));
    if (!done) /* comes again, and goes to who was there before */
        (void)sigaction(number, number == SIGBUS ? &maps.bus_before : &maps.segv_before, NULL);
    errno = before;
}

static void catch (int number, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER}, was;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, &was);
    if (was.sa_sigaction != on_fault)
        *before = was;
}

void alm_maps_catch(void)
{
    catch (SIGBUS, &maps.bus_before);
    catch (SIGSEGV, &maps.segv_before);
    atomic_store(&maps.caught, true);
}
