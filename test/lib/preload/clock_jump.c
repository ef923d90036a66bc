/*
 * clock_jump.c - preloaded into a server under test: the wall clock is off by as many seconds as the file
 * CLOCK_JUMP_FILE says (a 64-bit number that the test changes while the server runs). The monotonic clock is
 * what it is, as when somebody sets the clock of a machine; waits until a wall time end by the new one.
 *
 *   CLOCK_JUMP_FILE=path LD_PRELOAD=clock_jump.so almanac ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long none;
static volatile const long *off = &none;

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("CLOCK_JUMP_FILE");
    const int fd = path != NULL ? open(path, O_RDONLY) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        off = at;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    const int code = (int)syscall(SYS_clock_gettime, id, out);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        out->tv_sec += *off;
    return code;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* A wait until a wall time: the kernel knows nothing of the jump. Short steps look at the clock again. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock,
                           const struct timespec *restrict until)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    for (;;) {
        struct timespec now, step;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_sec > until->tv_sec ||
            (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec))
            return 110; /* ETIMEDOUT */
        (void)clock_gettime(CLOCK_MONOTONIC, &step);
        step.tv_nsec += 20000000;
        step.tv_sec += step.tv_nsec / 1000000000;
        step.tv_nsec %= 1000000000;
        const int code = real(cond, lock, CLOCK_MONOTONIC, &step);
        if (code != 110)
            return code;
    }
}
